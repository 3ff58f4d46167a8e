"""Adversaries as data: their taps, what taps miss, public and insider knowledge, and the view that they get.

Taps are given link by link or by a rule (`Wiretaps`). An adversary that is one of the agents has the `InsiderState`
of its members only.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, Protocol, SupportsIndex, TypeVar, cast, overload

from annotated_types import MinLen

from netsim.arguments import check_types, named
from netsim.arrays import Array
from netsim.bounds import Checked, Index, NonNegative, Probability, Share
from netsim.codecs import FLOAT64, Codec
from netsim.errors import ScenarioError, TranscriptError
from netsim.models import NOTHING, Model, Penalty
from netsim.models.model import Regularizer
from netsim.network.links import PLAIN, WAIT_FOR_ALL, ExchangePolicy, Transport
from netsim.randomness import SharedNoise
from netsim.shown import Shown
from netsim.topology import Topology
from netsim.transcript import Transcript
from netsim.transcript.message import EVERYBODY, Capture, Door, Fan, Message, Record

if TYPE_CHECKING:
    from netsim.algorithms.algorithm import Algorithm
    from netsim.transcript.stream import TranscriptStream


class Query(NamedTuple):
    """One private gradient: ∇f_agent(point) = gradient, both (replicas, dimension)."""

    time: float
    point: Array
    gradient: Array


class _Oracles(Protocol):
    """A private objective, as far as an agent queries it."""

    def gradient(self, x: Array) -> Array: ...

    def proximal(self, v: Array, step: float) -> Array: ...


@dataclass(frozen=True)
class InsiderState:
    """One insider's private state: its objective, all queries of it, and what its `privatize` calls returned."""

    objective: _Oracles
    queries: Sequence[Query]
    releases: Sequence[Array]


Edge = tuple[int, int]
T = TypeVar("T")


class Wiretaps(Protocol):
    """A rule that picks undirected links (i < j) of a graph, or transmitters, the same ones every time.

    You get a `ScenarioError` for an agent that is not there, and for a rule that makes no sense on the medium.
    """

    def pick(self, topology: Topology) -> frozenset[Edge]:
        """The links it taps, where agents have links."""
        ...

    def transmitters(self, topology: Topology) -> frozenset[int]:
        """The agents whose transmissions it captures, where agents have radios."""
        ...


@dataclass(frozen=True)
class Around:
    """Taps on every link of these agents, at their access lines. On radio, what these agents transmit."""

    agents: Annotated[tuple[Index, ...], MinLen(1)]
    """The agents whose links are tapped."""

    def pick(self, topology: Topology) -> frozenset[Edge]:
        chosen = _known(self.agents, "around", topology)
        return frozenset((min(i, j), max(i, j)) for i in chosen for j in topology.neighbors(i))

    def transmitters(self, topology: Topology) -> frozenset[int]:
        return _known(self.agents, "around", topology)


@dataclass(frozen=True)
class Within:
    """A receiver at the place `at`, for what is at most `range` away, in units of `Topology.positions`.

    On links: every link of an agent there. On radio: what the agents there transmit, and nothing else, all with
    one receiver and its one clock. You get a `ScenarioError` where the agents have no places.
    """

    at: tuple[float, float]
    """The place [x, y] of the eavesdropper, in the units of the agents' places."""
    range: NonNegative
    """How far it receives, in the units of the agents' places."""

    def __post_init__(self) -> None:
        if len(self.at) != 2 or not all(map(math.isfinite, self.at)):
            raise ScenarioError("at", list(self.at), "not a place in the plane", "two finite numbers [x, y]")
        if not 0 <= self.range < math.inf:
            raise ScenarioError("range", self.range, "a distance", ">= 0")

    def pick(self, topology: Topology) -> frozenset[Edge]:
        return Around(tuple(self.transmitters(topology))).pick(topology)

    def transmitters(self, topology: Topology) -> frozenset[int]:
        if topology.positions is None:
            raise ScenarioError(
                "within", topology.name, "its agents have no places",
                "a topology with positions: grid, torus, path, random geometric, or positions of your own",
            )  # fmt: skip
        places: list[list[float]] = topology.positions.tolist()
        return frozenset(i for i, place in enumerate(places) if math.dist(self.at, place) <= self.range)


@dataclass(frozen=True)
class Cut:
    """Every link between these agents and the rest: all that crosses a border. Not on radio."""

    agents: Annotated[tuple[Index, ...], MinLen(1)]
    """The agents on one side of the cut."""

    def pick(self, topology: Topology) -> frozenset[Edge]:
        side = _known(self.agents, "cut", topology)
        if not 0 < len(side) < topology.agents:
            raise ScenarioError("cut", list(self.agents), "not one side of a cut", "some of the agents, not all")
        crossing = ((i, j) for i in side for j in topology.neighbors(i) if j not in side)
        return frozenset((min(edge), max(edge)) for edge in crossing)

    def transmitters(self, topology: Topology) -> frozenset[int]:  # noqa: ARG002
        raise ScenarioError(
            "cut", list(self.agents), "a cut is made of links, and radio has none", "around, within or random"
        )


@dataclass(frozen=True)
class RandomShare(Checked):
    """This share of the links, on radio of the agents (rounded to a whole number), drawn without replacement."""

    share: Probability
    """The share of the links, or on radio of the agents, that is tapped."""
    seed: Index = 0
    """The seed of the draw."""

    def pick(self, topology: Topology) -> frozenset[Edge]:
        count = round(self.share * topology.links)
        drawn = random.Random(self.seed).sample(range(topology.links), count)
        return frozenset((i, j) for i, j in topology.pairs[drawn].tolist())

    def transmitters(self, topology: Topology) -> frozenset[int]:
        count = round(self.share * topology.agents)
        return frozenset(random.Random(self.seed).sample(range(topology.agents), count))


def _known(agents: Sequence[int], field: str, topology: Topology) -> frozenset[int]:
    for index, agent in enumerate(agents):
        if not 0 <= agent < topology.agents:
            raise ScenarioError(f"{field}[{index}]", agent, "no such agent", f"0 … {topology.agents - 1}")
    return frozenset(agents)


@named
@dataclass(frozen=True)
class Adversary:
    """An eavesdropper outside the network, or agents that are honest but curious, or both.

    Both directions of a tapped link are captured, as packets go on the air. On radio (`netsim.network.radio`) it
    captures transmitters: all, or those that the rule picks; a broadcast is one row, for `EVERYBODY`. `insiders`
    follow the protocol and give the adversary what passes their doors, and their own private state
    (`AdversaryView.inside`); several are a coalition: what they know is united. Link taps miss packets independently,
    node taps miss none. The transcript is in order of what the taps' clocks said; what was on the air before `start`
    is missed.
    """

    name: str = "eavesdropper"
    links: Literal["all"] | tuple[tuple[Index, Index], ...] | Wiretaps | None = None
    """The tapped links: "all", pairs of agents (none on radio), or a rule; unset: all, or none by insiders."""
    nodes: tuple[Index, ...] = ()
    """Agents at whose door every message is seen, in order, as it leaves and as it is delivered."""
    insiders: tuple[Index, ...] = ()
    """Honest but curious agents, who add what they know of themselves."""
    capture_loss: Share = 0.0
    """The share of the packets on links that the taps miss."""
    clock_error: NonNegative = 0.0
    """The standard deviation of the constant errors of the taps' clocks (on radio: the receivers'), in seconds."""
    start: NonNegative = 0.0
    """From when on the taps on links capture, in seconds."""

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("links", "nodes", "insiders"):
            if isinstance(given := getattr(self, name), list):  # of pairs, or of agents
                entries = cast("list[int | Sequence[int]]", given)
                object.__setattr__(self, name, tuple(one if isinstance(one, int) else tuple(one) for one in entries))
        if not 0 <= self.clock_error < math.inf:
            raise ScenarioError("clock_error", self.clock_error, "a standard deviation in seconds", ">= 0")
        if not 0 <= self.capture_loss < 1:
            raise ScenarioError("capture_loss", self.capture_loss, "a share of packets", "0 <= capture_loss < 1")
        if not 0 <= self.start < math.inf:
            raise ScenarioError("start", self.start, "a time in seconds", ">= 0")

    @property
    def doors(self) -> tuple[int, ...]:
        """The agents whose messages it sees as they leave and as they are delivered."""
        return tuple(sorted({*self.nodes, *self.insiders}))

    def tapped(self, topology: Topology) -> frozenset[Edge]:
        """The directed links it captures. You get a `ScenarioError` for a link or an agent that is not there."""
        _known(self.nodes, "nodes", topology)
        _known(self.insiders, "insiders", topology)
        if self.links is None:
            chosen = frozenset[Edge](() if self.insiders else topology.edges)
        elif self.links == "all":
            chosen = frozenset(topology.edges)
        elif isinstance(self.links, tuple):
            for index, (i, j) in enumerate(self.links):
                if not topology.has_edge(i, j):
                    some = topology.pairs[:12].tolist()
                    shown = ", ".join(map(str, some)) + ", …" * (topology.links > len(some))
                    raise ScenarioError(f"links[{index}]", [i, j], "a tap on a link that is not there", shown)
            chosen = frozenset(self.links)
        else:
            chosen = _picked(self.links.pick, topology)
        return chosen | frozenset((j, i) for i, j in chosen)

    def transmitters(self, topology: Topology) -> frozenset[int]:
        """The agents it taps on radio. You get a `ScenarioError` for an agent that is not there, and for links."""
        _known(self.nodes, "nodes", topology)
        _known(self.insiders, "insiders", topology)
        if self.links == "all" or (self.links is None and not self.insiders):
            return frozenset(range(topology.agents))
        if not self.links:  # it only sits at doors
            return frozenset()
        if isinstance(self.links, tuple):
            shown = list(map(list, self.links))
            allowed = "all, or one of the rules around, within and random"
            raise ScenarioError("links", shown, "radio has no links: a tap captures transmitters", allowed)
        return _picked(self.links.transmitters, topology)


def _picked(rule: Callable[[Topology], T], topology: Topology) -> T:
    try:
        return rule(topology)
    except ScenarioError as error:
        raise error.under("links") from None


@dataclass(frozen=True)
class PublicKnowledge(Shown):
    """What everybody knows before the first message, the adversary too.

    `weights[i]` is agent i's row of W, (1 + degree,): its own weight, then its neighbors'. `loss` names the kind of
    the private objectives ("logistic", "least_squares", …) and `ridge` its public quadratic term ridge/2·‖x‖²;
    `value_range` is the declared range of a feature, if any. `query_times[i]`: how many seconds a private query
    takes agent i, None if that is random. `exchange_policy`: what an exchange makes of missing messages; `forgetful`:
    the agents that may be stopped and begin anew; `codec` is how values go on the wire; `records[i]` how many records
    agent i has. `model` is the loss of a record as a function of the parameters, None where there is no one such;
    `penalty` what every objective adds to the mean of it. `transport` is how messages are carried.
    """

    algorithm: "Algorithm"
    agents: int
    dimension: int
    neighbors: Sequence[tuple[int, ...]]
    weights: Sequence[Array]
    regularizer: Regularizer
    loss: str
    ridge: float
    value_range: tuple[float, float] | None = None
    query_times: tuple[float | None, ...] = ()
    exchange_policy: ExchangePolicy = WAIT_FOR_ALL
    forgetful: frozenset[int] = frozenset()
    codec: Codec = FLOAT64
    records: tuple[int, ...] = ()
    model: Model | None = None
    penalty: Penalty = NOTHING
    transport: Transport = PLAIN

    __repr__ = Shown.__repr__

    def facts(self) -> dict[str, object]:
        """What a line of it says; the fields have the rest."""
        algorithm = type(self.algorithm).__name__
        return {"algorithm": algorithm, "agents": self.agents, "dimension": self.dimension, "loss": self.loss}

    def query_time(self, agent: int) -> float | None:
        """How many seconds a private query takes this agent, None if that is random."""
        return self.query_times[agent] if self.query_times else 0.0


@dataclass(frozen=True)
class AdversaryView(Shown):
    """All that an attack is given: the transcript the adversary recorded and what it knows.

    `inside` has the private state of its insiders, by agent; empty for an outsider. `shared`: what an audit grants it
    of the noise in an agent's releases that is from seeds shared along edges; empty where nothing is granted. `cut`:
    the transcript ends with a message of the agent at whose door it was, and what that did next is left out.
    """

    adversary: Adversary
    transcript: Transcript
    public: PublicKnowledge
    inside: Mapping[int, InsiderState] = field(default_factory=dict[int, InsiderState])
    shared: Mapping[int, SharedNoise] = field(default_factory=dict[int, SharedNoise])
    cut: bool = False

    __repr__ = Shown.__repr__

    def facts(self) -> dict[str, object]:
        """Who heard, how much, of what, and what there is to read."""
        public = self.public
        return {
            "adversary": self.adversary.name,
            "messages recorded": len(self.transcript),
            "algorithm": type(public.algorithm).__name__,
            "agents": public.agents,
            "insiders": ", ".join(map(str, self.inside)),
            "has": "transcript, public, messages(), at_node(agent)",
        }

    def at_node(self, agent: int) -> tuple[Record, ...]:
        """Messages at a tapped agent's door, in order. You get a `TranscriptError` where no tap sat there."""
        if agent not in self.adversary.doors:
            raise TranscriptError(f"no tap sat at agent {agent}: its messages were not recorded at its door")
        return self.transcript.at_node(agent)

    def messages(self) -> tuple[Record, ...]:
        """Each message in the clear once, in order: captured on a link, or at the door of an insider."""
        return self.transcript.messages(self.inside.keys())

    @property
    def replicas(self) -> int:
        """Length of the leading axis of every value."""
        return self.transcript.replicas


class Views(tuple[AdversaryView, ...]):
    """What each adversary saw, in the order in which they were named to the simulation."""

    __slots__ = ()

    @overload
    def __getitem__(self, which: SupportsIndex, /) -> AdversaryView: ...

    @overload
    def __getitem__(self, which: slice, /) -> tuple[AdversaryView, ...]: ...

    def __getitem__(self, which: SupportsIndex | slice, /) -> AdversaryView | tuple[AdversaryView, ...]:
        """You get a `TranscriptError` for one that is not there, with those that are."""
        try:
            return super().__getitem__(which)
        except (IndexError, TypeError):
            there = ", ".join(f"views[{k}] of {view.adversary.name!r}" for k, view in enumerate(self))
            few = f"a view of each adversary: {there}" if there else "no views: it had no adversaries=(…)"
            raise TranscriptError(f"views[{which!r}]: there is none; the run has {few}") from None


class Tap:
    """Records for one adversary while the network runs: in memory, or in a spool on disk."""

    def __init__(self, adversary: Adversary, rng: random.Random, spool: "TranscriptStream | None" = None) -> None:
        self.adversary = adversary
        self._rng, self._spool = rng, spool
        self._captured: list[Capture] = []
        self._doors: list[Door] = []
        self._keep: Callable[[Capture], object] = self._captured.append if spool is None else spool.capture
        self._keep_door: Callable[[Door], object] = self._doors.append if spool is None else spool.door

    def receiver(self, keep: Callable[[Capture], object] | None = None) -> Callable[[Capture], object]:
        """A tap on one link, to be called when a packet goes on the air. Its clock's error is drawn here. `keep` is
        what records a packet, where the tap itself does not."""
        loss, start, draw = self.adversary.capture_loss, self.adversary.start, self._rng.random
        keep = self._keep if keep is None else keep
        late = self.clock_error()
        if not loss and not late and not start:
            return keep

        def capture(captured: Capture) -> None:
            if captured[0] >= start and (not loss or draw() >= loss):
                when, sender, receiver, packet = captured
                keep((when + late, sender, receiver, packet))

        return capture

    def clock_error(self) -> float:
        """Draws the error of the next link's clock, in seconds."""
        return self._rng.gauss(0.0, self.adversary.clock_error) if self.adversary.clock_error else 0.0

    def misses(self) -> bool:
        """Draws whether the next packet is missed."""
        return bool(self.adversary.capture_loss) and self._rng.random() < self.adversary.capture_loss

    def fan_of(self, tap: Callable[[Capture], object]) -> dict[Callable[[Capture], object], Callable[[Fan], object]]:
        """What records a whole broadcast in place of a tap that misses nothing and writes to a spool."""
        return {tap: self._spool.fan} if self._spool is not None and tap is self._spool.capture else {}

    def sent(self, time: float, message: Message, receiver: int = EVERYBODY) -> None:
        """A message leaves a tapped agent."""
        self._keep_door((time, "sent", receiver, message))

    def received(self, time: float, message: Message, receiver: int) -> None:
        """A message is delivered to a tapped agent."""
        self._keep_door((time, "received", receiver, message))

    def closed(self, time: float, sent: Message) -> None:
        """The exchange in which a tapped agent sent that is over, and not all messages need be here."""
        empty = Message(sent.sender, sent.kind, sent.number, {}, size=0)
        self._keep_door((time, "closed", sent.sender, empty))

    def kept(self) -> dict[str, int]:
        """How much was recorded: `rows` on disk with how many `bytes`, and rows `in_memory`."""
        if self._spool is None:
            return {"in_memory": len(self._captured) + len(self._doors)}
        return {"rows": self._spool.rows, "bytes": self._spool.bytes, "in_memory": self._spool.held}

    def flush(self) -> None:
        """Write what was recorded so far, where it is written while the run goes on."""
        if self._spool is not None:
            self._spool.flush()

    def close(self) -> None:
        """Write the rest and finish the file, where there is one."""
        if self._spool is not None:
            self._spool.close()

    def transcript(self, replicas: int) -> Transcript:
        """Everything recorded; holds messages, and no object of the network. The tap forgets it: whatever of the
        network lives on does not keep it alive."""
        if self._spool is not None:
            return Transcript.stored(self._spool.close())
        transcript = Transcript.captured(self._captured.copy(), self._doors.copy(), replicas)
        self._captured.clear()
        self._doors.clear()
        return transcript
