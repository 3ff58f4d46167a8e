"""A run to be, as data: a problem, a topology, links, an algorithm, and who listens."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from netsim import clock, meddling
from netsim.activity import Downtime, PoissonClock
from netsim.adversary import Adversary, PublicKnowledge
from netsim.algorithms import Algorithm, Setting
from netsim.checks import whole
from netsim.claims import Adjacency, Claim
from netsim.codecs import FLOAT64, Codec
from netsim.diary import Diary
from netsim.errors import ScenarioError
from netsim.execution import Execution
from netsim.laws import ConstantDelay, DelayLaw
from netsim.links import AccessLaw, LinkLaw
from netsim.meddling import Meddler
from netsim.messages import HEADER_BYTES
from netsim.network import Edge
from netsim.patience import WAIT_FOR_ALL, Patience
from netsim.problems import Problem
from netsim.problems.objective import weak_convexity
from netsim.radio import Radio
from netsim.randomness import NoiseThrough
from netsim.run import Run
from netsim.running import Watch
from netsim.topology import Topology
from netsim.transport import Transport


@dataclass(frozen=True)
class Simulation:
    """One run to be: everything public or private that it needs, and nothing that happens yet.

    `replicas` independent draws of the noise share one network; `chunk` names which draws (chunks of one seed
    share routes, delays and losses). `link_laws` are directed links with a law of their own, `access_laws` agents
    with an access line of their own. `medium` is point-to-point links, or radio (`netsim.radio`). `compute` is the
    law of the time a private query takes, `compute_laws` gives agents one of their own (stragglers). `patience`: what
    an exchange does when messages are missing. `activation`: a clock at whose ticks agents begin their rounds (None:
    when their messages let them). `downtimes`: agents that go down and come back. A message weighs `header_bytes` and
    what the `codec` makes of each of its values (an algorithm that compresses brings its own). `meddlers` are
    active adversaries in the middle of links; what such a run shows is outside the papers' threat model. `measure`
    records convergence and costs (`Run.measures`), all but the relative error at a thinned set of rounds or
    activations, or at every `measure_every`-th. `record` says how much of the private side is kept for scoring:
    everything, only what `privatize` returned (all that an audit grants its adversary), or nothing. With a folder
    `spool` every adversary's transcript is written there while the run goes on, to NAME.spool (`netsim.spool`), and
    loaded from there when an attack asks for it: memory stays bounded, and a run that is killed leaves what was
    written. `noise_through` changes an agent's noise stream on its way to the agent: for an auditor who looks for
    rare transcripts; what comes of it is no sample of anything. Bad input is a `ScenarioError` here, before time 0.
    """

    problem: Problem
    topology: Topology
    algorithm: Algorithm
    links: LinkLaw = field(default_factory=LinkLaw)
    link_laws: Mapping[Edge, LinkLaw] = field(default_factory=dict[Edge, LinkLaw])
    access: AccessLaw = field(default_factory=AccessLaw)
    access_laws: Mapping[int, AccessLaw] = field(default_factory=dict[int, AccessLaw])
    adversaries: tuple[Adversary, ...] = ()
    replicas: int = 1
    seed: int = 0
    chunk: int = 0
    compute: DelayLaw | None = None
    compute_laws: Mapping[int, DelayLaw] = field(default_factory=dict[int, DelayLaw])
    patience: Patience = WAIT_FOR_ALL
    activation: PoissonClock | None = None
    downtimes: Mapping[int, Downtime] = field(default_factory=dict[int, Downtime])
    measure: bool = True
    measure_every: int | None = None
    record: Literal["everything", "releases", "nothing"] = "everything"
    value_range: tuple[float, float] | None = None
    spool: Path | None = None
    meddlers: tuple[Meddler, ...] = ()
    codec: Codec = FLOAT64
    header_bytes: int = HEADER_BYTES
    medium: Literal["links"] | Radio = "links"
    noise_through: Mapping[int, NoiseThrough] = field(default_factory=dict[int, NoiseThrough])

    def __post_init__(self) -> None:
        whole(self.header_bytes, "header_bytes", 0)
        if self.measure_every is not None:
            whole(self.measure_every, "measure_every")
        if self.problem.agents != self.topology.agents:
            raise ScenarioError(
                "problem",
                self.problem.agents,
                "as many objectives as agents",
                f"{self.topology.agents} objectives",
            )
        for name, least in (("replicas", 1), ("seed", 0), ("chunk", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise ScenarioError(name, value, "not a whole number in range", f"an int >= {least}")
        names = [adversary.name for adversary in self.adversaries]
        for index, name in enumerate(names if self.spool is not None else ()):
            if not name or Path(name).name != name:
                raise ScenarioError(f"adversaries[{index}].name", name, "names a file of the spool", "a file name")
        for index, name in enumerate(names):
            if name in names[:index]:
                raise ScenarioError(f"adversaries[{index}].name", name, "used twice", "a name of its own")
        for edge in self.link_laws:
            if not self.topology.has_edge(*edge):
                raise ScenarioError("link_laws", list(edge), "no such link", "an edge of the topology")
        for name in ("access_laws", "compute_laws", "downtimes"):
            for agent in getattr(self, name):
                if not 0 <= agent < self.topology.agents:
                    raise ScenarioError(name, agent, "no such agent", f"0 … {self.topology.agents - 1}")
        if isinstance(self.medium, Radio):
            access = [self.access, *self.access_laws.values()]
            self.medium.check(self.links, self.link_laws, access, [meddler.name for meddler in self.meddlers])
        elif self.medium != "links":
            raise ScenarioError("medium", self.medium, "no such medium", "links, or Radio(…)")
        for index, adversary in enumerate(self.adversaries):
            try:
                if self.medium == "links":
                    adversary.tapped(self.topology)
                else:
                    adversary.transmitters(self.topology)
            except ScenarioError as error:
                raise error.under(f"adversaries[{index}]") from None
        if self.algorithm.codec is not None and not self.codec.lossless:
            why = f"{type(self.algorithm).__name__} brings a compressor of its own"
            raise ScenarioError("codec", str(self.codec), why, "float64")
        if self.algorithm.needs_all_messages and not self.patience.endless:
            why = f"{type(self.algorithm).__name__} needs every message: it takes no exchange.deadline"
            raise ScenarioError("patience.deadline", self.patience.deadline, why, "none: exchanges wait for all")
        meddling.check(
            self.meddlers, self.topology, lambda edge: self.link_laws.get(edge, self.links), self.wire_codec
        )
        try:
            self.algorithm.check(self.setting(0))
        except ScenarioError as error:
            raise error.under("algorithm") from None

    def setting(self, releases: int) -> Setting:
        """The public facts that the algorithm's conditions and claim depend on."""
        return setting_of(self.problem, self.topology, releases)

    def claim(self, adjacency: Adjacency, releases: int, delta: float) -> Claim | None:
        """What the algorithm's paper claims here; its formula speaks of one life of every agent."""
        setting = self.setting(releases).loosened(adjacency.bending)
        claim = self.algorithm.claim(adjacency, setting, delta)
        if claim is not None and math.inf in setting.weak_convexity:
            other = self.algorithm.claim(adjacency, setting.loosened(1.0), delta)
            if other is None or other.epsilon != claim.epsilon:
                why = (
                    "the formula needs an L: that of a network is measured near its start, and none holds everywhere"
                )
                claim = replace(claim, epsilon=None, failed_conditions=(*claim.failed_conditions, why))
        if claim is None or not self.forgetful:
            return claim
        why = f"agents {sorted(self.forgetful)} may begin anew without their state: the formula counts one life"
        return replace(claim, epsilon=None, failed_conditions=(*claim.failed_conditions, why))

    def public(self) -> PublicKnowledge:
        """What everybody knows; holds no objective."""
        return PublicKnowledge(
            algorithm=self.algorithm,
            agents=self.topology.agents,
            dimension=self.problem.dimension,
            neighbors=tuple(self.topology.neighbors(i) for i in range(self.topology.agents)),
            weights=tuple(self.topology.row(i) for i in range(self.topology.agents)),
            regularizer=self.problem.regularizer,
            loss=self.problem.name,
            ridge=self.problem.ridge,
            value_range=self.value_range,
            query_times=tuple(_query_time(self.compute_law(i)) for i in range(self.topology.agents)),
            patience=self.patience,
            forgetful=self.forgetful,
            codec=self.wire_codec,
            records=self.problem.records,
            model=self.problem.model,
            penalty=self.problem.penalty,
            transport=self._transport(),
        )

    def _transport(self) -> Transport:
        both = [edge for i, j in self.topology.edges for edge in ((i, j), (j, i))] if self.link_laws else []
        lines = [self.access, *self.access_laws.values()]
        return Transport.of(
            [self.link_laws.get(edge, self.links) for edge in both] or [self.links],
            header_bytes=self.header_bytes,
            radio=self.medium != "links",
            access=any(line != AccessLaw() for line in lines),
            downtimes=bool(self.downtimes),
            clock_rate=None if self.activation is None else self.activation.rate,
        )

    @property
    def wire_codec(self) -> Codec:
        """What every value is encoded by: the algorithm's own compressor, or the network's codec."""
        return self.algorithm.codec or self.codec

    def compute_law(self, agent: int) -> DelayLaw | None:
        """The law of the time that a private query takes this agent."""
        return self.compute_laws.get(agent, self.compute)

    @property
    def forgetful(self) -> frozenset[int]:
        """The agents that may be stopped and begin anew, without their state."""
        return frozenset(i for i, down in self.downtimes.items() if down.effect == "restart_without_state")

    def run(
        self,
        watch: Watch | None = None,
        *,
        every: float | None = None,
        diary: Diary | None = None,
        rescue: Callable[[Run], None] | None = None,
    ) -> "Run":
        """Run to the end. Ctrl-C ends it early: the run that you get then has `interrupted` set.

        `watch` is called with the run as it is (`netsim.running.Running`) after every estimate; or every `every`
        seconds of real time, if that is given, also while time moves and nobody closes anything. A `diary` is told
        what becomes of every packet, and changes nothing. `rescue` is given what there is of a run that an error
        ends, as of one that is interrupted, before the error is raised.
        """
        with clock.rare_garbage_collection():
            return Execution(self, watch, every, diary, rescue).run()


def setting_of(problem: Problem, topology: Topology | None, releases: int = 0) -> Setting:
    """The public facts of a problem on a graph that conditions and claims depend on."""
    objectives = problem.objectives
    return Setting(
        agents=problem.agents,
        dimension=problem.dimension,
        smoothness=tuple(f.smoothness for f in objectives),
        releases=releases,
        topology=topology,
        strong_convexity=tuple(f.strong_convexity for f in objectives),
        records=problem.records,
        regularized=problem.regularized,
        weak_convexity=tuple(weak_convexity(f) for f in objectives),
    )


def _query_time(law: DelayLaw | None) -> float | None:
    """How many seconds a private query takes, None if that is random."""
    if law is None:
        return 0.0
    return law.seconds if isinstance(law, ConstantDelay) else None
