"""Settings of a simulation beside its problem, graph and algorithm: the network, time, and what is recorded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from netsim.adversary import Edge
from netsim.algorithms import Algorithm
from netsim.arguments import check_types, named
from netsim.arrays import whole
from netsim.codecs import FLOAT64, Codec
from netsim.errors import ScenarioError
from netsim.network.active_adversaries import ActiveAdversary, Alter
from netsim.network.laws import ConstantDelay, DelayLaw
from netsim.network.links import WAIT_FOR_ALL, AccessLaw, ExchangePolicy, LinkLaw, Transport
from netsim.network.radio import Radio
from netsim.readers.live import Downtime, PoissonClock
from netsim.topology import Topology
from netsim.transcript.message import HEADER_BYTES


@named
@dataclass(frozen=True)
class NetworkSettings:
    """What carries messages between agents. Public, but for `active_adversaries`.

    Errors of a field come with the simulation: a `ScenarioError` before time 0.
    """

    links: LinkLaw = field(default_factory=LinkLaw)
    """The law of every directed link that has none of its own."""
    link_laws: Mapping[Edge, LinkLaw] = field(default_factory=dict[Edge, LinkLaw])
    """Directed links with a law of their own."""
    access: AccessLaw = field(default_factory=AccessLaw)
    """The access line that every agent without one of its own has."""
    access_laws: Mapping[int, AccessLaw] = field(default_factory=dict[int, AccessLaw])
    """Agents with an access line of their own."""
    exchange_policy: ExchangePolicy = WAIT_FOR_ALL
    """What an exchange does when messages are missing."""
    active_adversaries: tuple[ActiveAdversary, ...] = ()
    """In the middle of links; what such a run shows is outside the papers' threat model."""
    codec: Codec = FLOAT64
    """How values are encoded on the wire; an algorithm that compresses brings its own."""
    header_bytes: int = HEADER_BYTES
    """Bytes that a message weighs besides its encoded values."""
    medium: Literal["links"] | Radio = "links"
    """Point-to-point links, or radio (`netsim.network.radio`)."""

    def link_law(self, edge: Edge) -> LinkLaw:
        """The law of a directed link."""
        return self.link_laws.get(edge, self.links)

    def access_law(self, agent: int) -> AccessLaw:
        """The access line of an agent."""
        return self.access_laws.get(agent, self.access)

    def codec_of(self, algorithm: Algorithm) -> Codec:
        """What every value is encoded by: the algorithm's own compressor, or the network's codec."""
        return algorithm.codec or self.codec

    def transport(self, timing: "Timing", topology: Topology) -> Transport:
        """What a protocol's documents say of this network."""
        both = [edge for i, j in topology.edges for edge in ((i, j), (j, i))] if self.link_laws else []
        laws = [self.link_law(edge) for edge in both] or [self.links]
        reliable = {law.reliable for law in laws}
        access = any(line != AccessLaw() for line in (self.access, *self.access_laws.values()))
        return Transport(
            header_bytes=self.header_bytes,
            radio=self.medium != "links",
            reliable=reliable.pop() if len(reliable) == 1 else None,
            steady=not timing.downtimes and all(law.outages is None and law.buffer is None for law in laws),
            queues=access or any(law.bandwidth is not None for law in laws),
            in_order=not any(law.reordering for law in laws),
            alike=all(law == laws[0] for law in laws),
            clock_rate=None if timing.activation is None else timing.activation.rate,
            copies=any(law.duplication > 0 and not law.tagged for law in laws),
        )

    def check(self, topology: Topology, algorithm: Algorithm) -> None:
        """Laws of links and agents that exist, and parts that go together."""
        check_types(self)
        whole(self.header_bytes, "header_bytes", 0)
        for edge in self.link_laws:
            if not topology.has_edge(*edge):
                raise ScenarioError("link_laws", list(edge), "no such link", "an edge of the topology")
        _check_agents("access_laws", self.access_laws, topology)
        if isinstance(self.medium, Radio):
            names = [adversary.name for adversary in self.active_adversaries]
            self.medium.check(self.links, self.link_laws, [self.access, *self.access_laws.values()], names)
        elif self.medium != "links":
            raise ScenarioError("medium", self.medium, "no such medium", "links, or Radio(…)")
        name = type(algorithm).__name__
        if algorithm.codec is not None and not self.codec.lossless:
            raise ScenarioError("codec", str(self.codec), f"{name} brings a compressor of its own", "float64")
        if algorithm.needs_all_messages and not self.exchange_policy.endless:
            why = f"{name} needs every message: it takes no exchange.deadline"
            deadline = self.exchange_policy.deadline
            raise ScenarioError("exchange_policy.deadline", deadline, why, "none: exchanges wait for all")
        for index, adversary in enumerate(self.active_adversaries):
            field = f"active_adversaries[{index}]"
            if adversary.name in [other.name for other in self.active_adversaries[:index]]:
                raise ScenarioError(f"{field}.name", adversary.name, "used twice", "a name of its own")
            try:
                self._check_active(adversary, topology, self.codec_of(algorithm))
            except ScenarioError as error:
                raise error.under(field) from None

    def _check_active(self, adversary: ActiveAdversary, topology: Topology, codec: Codec) -> None:
        """Links that exist; nobody alters what it cannot read (there is no encryption without authentication here),
        or what a codec has made with random draws."""
        sealed = [edge for edge in sorted(adversary.tampered(topology)) if self.link_law(edge).encrypted]
        altering = [place for place, action in enumerate(adversary.actions) if isinstance(action, Alter)]
        if not altering or not (sealed or codec.random):
            return
        if sealed:
            problem = f"link {sealed[0][0]} → {sealed[0][1]} is encrypted: it takes the key to alter values there"
        else:
            problem = f"altered values go on as {codec} makes them, and an adversary has no draws for that"
        other = "links that are not encrypted" if sealed else "a codec that draws nothing"
        field = f"actions[{altering[0]}]"
        raise ScenarioError(field, "alter", problem, f"drop, delay or replay; or {other}")


@named
@dataclass(frozen=True)
class Timing:
    """When agents act, in virtual seconds. The laws are public."""

    compute: DelayLaw | None = None
    """The law of the time that a private query takes; None: no time."""
    compute_laws: Mapping[int, DelayLaw] = field(default_factory=dict[int, DelayLaw])
    """Agents with a law of their own (stragglers)."""
    activation: PoissonClock | None = None
    """A clock at whose ticks agents begin their rounds; None: when their messages let them."""
    downtimes: Mapping[int, Downtime] = field(default_factory=dict[int, Downtime])
    """Agents that go down and come back."""

    def compute_law(self, agent: int) -> DelayLaw | None:
        """The law of the time that a private query takes this agent."""
        return self.compute_laws.get(agent, self.compute)

    def query_time(self, agent: int) -> float | None:
        """How many seconds a private query takes this agent, None if that is random."""
        law = self.compute_law(agent)
        if law is None:
            return 0.0
        return law.seconds if isinstance(law, ConstantDelay) else None

    def query_times(self, agents: int) -> tuple[float | None, ...]:
        """The same of all agents."""
        same = not self.compute_laws
        return (self.query_time(0),) * agents if same else tuple(map(self.query_time, range(agents)))

    @property
    def forgetful(self) -> frozenset[int]:
        """The agents that may be stopped and begin anew, without their state."""
        return frozenset(i for i, down in self.downtimes.items() if down.effect == "restart_without_state")

    def check(self, topology: Topology) -> None:
        """Laws of agents that exist."""
        check_types(self)
        _check_agents("compute_laws", self.compute_laws, topology)
        _check_agents("downtimes", self.downtimes, topology)


@named
@dataclass(frozen=True)
class Recording:
    """What a run keeps; it changes nothing of what happens."""

    measure: bool = True
    """Whether convergence and costs are recorded (`Run.measures`)."""
    measure_every: int | None = None
    """Measure all but the relative error at every so many rounds or activations; None: at a thinned set of them."""
    own_gradients: bool = False
    """Whether the measures include those of ∇f_i at the agents' own estimates, of which each point costs one."""
    private: Literal["everything", "releases", "nothing"] = "everything"
    """How much of the private side is kept for scoring: everything, only what `privatize` returned (all that an audit
    grants its adversary), or nothing."""
    spool: Path | None = None
    """A folder to which every adversary's transcript is written while the run goes on, to NAME.spool
    (`netsim.transcript.stream`); it is loaded from there when an attack wants it: memory stays bounded, and a run
    that is killed leaves what was written."""

    def check(self, adversaries: list[str]) -> None:
        """A whole `measure_every`; names of adversaries that can be names of files."""
        check_types(self)
        if self.measure_every is not None:
            whole(self.measure_every, "measure_every")
        for index, name in enumerate(adversaries if self.spool is not None else ()):
            if not name or Path(name).name != name:
                raise ScenarioError(f"adversaries[{index}].name", name, "names a file of the spool", "a file name")


def _check_agents(name: str, laws: Mapping[int, object], topology: Topology) -> None:
    for agent in laws:
        if not 0 <= agent < topology.agents:
            raise ScenarioError(name, agent, "no such agent", f"0 … {topology.agents - 1}")
