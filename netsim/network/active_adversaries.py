"""Active adversaries: their links and actions as data, and the interception of packets at a wire's far end.

They drop, delay, replay and alter. All of it is outside the threat model of the papers, and runs are marked so.
"""

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Literal, cast

import numpy as np
from annotated_types import MinLen

from netsim.adversary import Adversary, Wiretaps
from netsim.arrays import Array, whole
from netsim.bounds import Checked, Count, Index, NonNegative, Probability, check
from netsim.clock import VirtualEnvironment
from netsim.codecs import FLOAT64, Codec
from netsim.errors import ScenarioError, SimulationError
from netsim.network.laws import ConstantDelay, DelayLaw
from netsim.network.wires import LossyWire
from netsim.randomness import Streams
from netsim.topology import Topology
from netsim.transcript.message import Packet, Segment, Tagged, Values, as_sent

Edge = tuple[int, int]

# ── alterations ─────────────────────────────────────────────────────────────────────────────────────────


class Alteration(ABC):
    """What becomes of one field's value."""

    @abstractmethod
    def apply(self, value: Array, rng: np.random.Generator) -> Array:
        """A new array of the same shape (replicas, dimension); `rng` is the adversary's own, on this link."""


@dataclass(frozen=True)
class AddGaussian(Alteration, Checked):
    """Adds independent noise N(0, stddev²) to every coordinate of every replica."""

    stddev: NonNegative
    """The standard deviation σ of the noise."""

    def apply(self, value: Array, rng: np.random.Generator) -> Array:
        return value + self.stddev * rng.standard_normal(value.shape)


@dataclass(frozen=True)
class ScaleBy(Alteration):
    """Multiplies by `factor`."""

    factor: float
    """By what values are multiplied."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.factor):
            raise ScenarioError("factor", self.factor, "not finite", "a finite number")

    def apply(self, value: Array, rng: np.random.Generator) -> Array:  # noqa: ARG002
        return self.factor * value


@dataclass(frozen=True)
class SetTo(Alteration):
    """Puts `value` into every coordinate."""

    value: float
    """What values become."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ScenarioError("value", self.value, "not finite", "a finite number")

    def apply(self, value: Array, rng: np.random.Generator) -> Array:  # noqa: ARG002
        return np.full_like(value, self.value)


@dataclass(frozen=True)
class FlipSign(Alteration):
    """Turns x into −x."""

    def apply(self, value: Array, rng: np.random.Generator) -> Array:  # noqa: ARG002
        return -value


_Rewrite = Callable[[Values], Mapping[str, Array]]
"""Values by field, read-only, ↦ what takes their place: the same names, shapes and float64."""

# ── actions ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Drop(Checked):
    """A packet that comes by is gone with `probability`."""

    probability: Probability = 1.0
    """The probability that a packet that comes by is dropped, each by itself."""


@dataclass(frozen=True)
class Delay:
    """With `probability` a packet is held back for `seconds`, a number or a law; others may overtake it then."""

    seconds: NonNegative | DelayLaw
    """For how long, in seconds: a number or a law."""
    probability: Probability = 1.0
    """The probability that a packet that comes by is held back, each by itself."""

    def __post_init__(self) -> None:
        check(self)
        if isinstance(self.seconds, int | float):
            ConstantDelay(self.seconds)  # checks the number

    @property
    def law(self) -> DelayLaw:
        return ConstantDelay(self.seconds) if isinstance(self.seconds, int | float) else self.seconds


@dataclass(frozen=True)
class Replay:
    """With `probability` `copies` of a packet follow it, `after`, 2·`after`, … seconds after it came by.

    A copy is the packet as it was when this action met it; the adversary's other actions do nothing to it.
    """

    after: NonNegative = 0.0
    """How much later a copy follows, in seconds."""
    probability: Probability = 1.0
    """The probability that a packet that comes by is replayed, each by itself."""
    copies: Count = 1
    """How many copies follow a packet."""

    def __post_init__(self) -> None:
        whole(self.copies, "copies")
        check(self)


@dataclass(frozen=True)
class Alter:
    """With `probability` the values of `fields` (None: of all) of a message are changed as `how` says.

    `how` is an `Alteration`, or a function from the values of those fields to new ones. Sizes stay as they are,
    acknowledgements carry no values and pass, and so does a message without such a field. What comes out with the
    same bits was not altered, and is not counted. All replicas share one fate: the packet's.
    """

    how: Alteration | _Rewrite
    """How the values are changed."""
    probability: Probability = 1.0
    """The probability that a packet that comes by is altered, each by itself."""
    fields: Annotated[tuple[str, ...], MinLen(1)] | None = None
    """The fields of a message that are changed; none: all."""

    def __post_init__(self) -> None:
        check(self)
        if not isinstance(self.how, Alteration) and not callable(self.how):
            raise ScenarioError("how", self.how, "neither an Alteration nor a function", "AddGaussian(1.0), …")
        if self.fields is not None and not self.fields:
            raise ScenarioError("fields", self.fields, "alters nothing", "names of fields, or None for all")

    def rewritten(self, values: Values, rng: np.random.Generator) -> Values:
        """The values after it, read-only; those not meant are the same arrays.

        You get a `SimulationError` where a function gives back other names, shapes or types than it was given.
        """
        meant = {name: value for name, value in values.items() if self.fields is None or name in self.fields}
        if isinstance(self.how, Alteration):
            made: Mapping[str, Array] = {name: self.how.apply(value, rng) for name, value in meant.items()}
        else:
            made = self.how(dict(meant))
        if made.keys() != meant.keys():
            raise SimulationError(f"an Alter's function was given {sorted(meant)} and gave back {sorted(made)}")
        return values | {name: _carried(name, made[name], value) for name, value in meant.items()}


Action = Drop | Delay | Replay | Alter


def _carried(name: str, new: object, value: Array) -> Array:
    """What takes the place of `value`, as the wire carries it."""
    kind, shape = getattr(new, "dtype", type(new).__name__), getattr(new, "shape", "none")
    if type(new) is not np.ndarray or (kind, shape) != (value.dtype, value.shape):
        raise SimulationError(
            f"an Alter's function gave back {name!r} of type {kind} and shape {shape}; it was given {value.dtype} "
            f"and {value.shape}, and a packet keeps its size"
        )
    copy = as_sent(cast(Array, new))
    copy.setflags(write=False)
    return copy


# ── who ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class ActiveAdversary:
    """An adversary in the middle of `links`: "all", pairs of agents, or a rule that picks some (`netsim.adversary`).

    It sits at the far end of both directions (`directed`: of (i, j) only from i to j, and `links` are pairs), behind
    all that the link does to a packet and before the receiver's access line: taps and the link's own draws are
    before it. It acts from `start` on and before `end`, in seconds, by when a packet comes by. A packet meets the
    `actions` in their order, each with a draw of its own, until one drops it.
    """

    name: str
    """How results name it."""
    links: Literal["all"] | tuple[tuple[Index, Index], ...] | Wiretaps
    """The links that it sits on: "all", pairs of agents, or a rule."""
    actions: Annotated[tuple[Action, ...], MinLen(1)]
    """What is done to a packet, in this order."""
    start: NonNegative = 0.0
    """From when on it acts, in seconds."""
    end: float = math.inf
    """Until when it acts, in seconds; none: to the end of the run."""
    directed: bool = False
    """Only from the first agent of a pair to the second."""

    def __post_init__(self) -> None:
        if not self.actions:
            raise ScenarioError("actions", self.actions, "does nothing", "at least one action")
        for index, action in enumerate(self.actions):
            if not isinstance(action, Drop | Delay | Replay | Alter):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ScenarioError(f"actions[{index}]", action, "no action", "Drop, Delay, Replay or Alter")
        if not 0 <= self.start < math.inf:
            raise ScenarioError("start", self.start, "when it begins, in seconds", ">= 0")
        if not self.end > self.start:
            raise ScenarioError("end", self.end, "does not end after it begins", f"> {self.start}")
        if self.directed and not isinstance(self.links, tuple):
            raise ScenarioError("directed", True, "only pairs of agents have a direction", "links: [[i, j], …]")

    def tampered(self, topology: Topology) -> frozenset[Edge]:
        """The directed links it sits on. You get a `ScenarioError` for a link that is not there."""
        both = Adversary(self.name, self.links).tapped(topology)
        return frozenset(self.links) if self.directed and isinstance(self.links, tuple) else both

    def may_cut(self, *, tagged: bool) -> bool:
        """Whether what it does keeps packets of a wire from ever being let in: it drops them all, or (where the
        receiver checks a tag) alters them all, and does not end."""
        kinds = (Drop, Alter) if tagged else (Drop,)
        return self.end == math.inf and any(isinstance(a, kinds) and a.probability >= 1 for a in self.actions)


# ── what it did ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class _InterceptionCounts:
    """Packets touched so far, and how many of those that were altered or replayed were rejected."""

    dropped: int = 0
    delayed: int = 0
    replayed: int = 0
    altered: int = 0
    rejected: int = 0


@dataclass(frozen=True)
class InterceptionReport:
    """Packets that one active adversary touched, and how many of those that it altered or replayed were rejected.

    Belongs to the truth of a run: no view holds it.
    """

    name: str
    """Its name."""
    links: tuple[Edge, ...]
    """Directed links that it acted on."""
    dropped: int
    """Packets that it dropped."""
    delayed: int
    """Packets that it delayed."""
    replayed: int
    """Packets that it replayed."""
    altered: int
    """Packets that it altered."""
    rejected: int
    """How many of the replayed and altered ones receivers rejected."""
    start: float = 0.0
    """Virtual seconds from which it acted."""
    end: float = math.inf
    """Virtual seconds until which it acted."""

    def __str__(self) -> str:
        did = ", ".join(f"{word} {getattr(self, word):,}" for word in ("dropped", "delayed", "replayed", "altered"))
        when = f" from {self.start:g} s" if self.start > 0 else ""
        when += f" to {self.end:g} s" if math.isfinite(self.end) else " on" if when else ""
        return f"{self.name}{when}: {did}; receivers rejected {self.rejected:,}"


_Passing = Packet | Tagged
_Onward = Callable[[_Passing], None]


class Interception:
    """All active adversaries of one run; `reports` says what each did so far. Random numbers: a stream for each of
    them on each directed link; the noise of an `AddGaussian` has another, which differs between chunks of replicas as
    the agents' does. Altered values go on as `codec` makes them: there is nothing on the wire that it could not have
    made."""

    def __init__(
        self,
        active_adversaries: Sequence[ActiveAdversary],
        topology: Topology,
        streams: Streams,
        chunk: int,
        codec: Codec = FLOAT64,
    ) -> None:
        self._streams, self._chunk, self._codec = streams, chunk, codec
        self._all: list[tuple[ActiveAdversary, tuple[Edge, ...], _InterceptionCounts]] = []
        self._on: dict[Edge, list[tuple[ActiveAdversary, _InterceptionCounts]]] = {}
        for who in active_adversaries:
            edges, counts = tuple(sorted(who.tampered(topology))), _InterceptionCounts()
            self._all.append((who, edges, counts))
            for edge in edges:
                self._on.setdefault(edge, []).append((who, counts))
        self.edges = self._on.keys()

    @property
    def reports(self) -> tuple[InterceptionReport, ...]:
        """What each did so far."""
        return tuple(
            InterceptionReport(who.name, edges, **vars(counts), start=who.start, end=who.end)
            for who, edges, counts in self._all
        )

    def sit(self, environment: VirtualEnvironment, wire: LossyWire) -> None:
        """Put those who sit on a wire there: the first one of the run's meets a packet first."""
        edge = wire.source, wire.target
        onward: _Onward = wire.onward
        for adversary, counts in reversed(self._on.get(edge, [])):
            # the name of a random stream: another word would change every transcript
            name = ("meddler", adversary.name, *edge)
            rng, noise = self._streams.plain(*name), self._streams.generator(*name, "noise", self._chunk)
            middle = _Middle(environment, wire, adversary, counts, rng, noise, self._codec, onward)
            wire.middle = onward = middle.meet

    def who_cuts(self, edge: Edge, *, tagged: bool) -> str:
        """Who may keep a reliable link from ever getting a packet through and acknowledged; empty if nobody.

        `tagged`: whether the receiver checks tags. What comes back are acknowledgements: nobody alters those.
        """
        ways = ((edge, tagged), ((edge[1], edge[0]), False))
        there = [who.name for way, checked in ways for who, _ in self._on.get(way, []) if who.may_cut(tagged=checked)]
        return ", ".join(map(repr, dict.fromkeys(there)))


class _Middle:
    """One active adversary at the far end of one wire."""

    __slots__ = ("_adversary", "_codec", "_counts", "_environment", "_noise", "_onward", "_rng", "_wire")

    def __init__(
        self,
        environment: VirtualEnvironment,
        wire: LossyWire,
        adversary: ActiveAdversary,
        counts: _InterceptionCounts,
        rng: random.Random,
        noise: np.random.Generator,
        codec: Codec,
        onward: _Onward,
    ) -> None:
        self._environment, self._wire, self._adversary, self._counts = environment, wire, adversary, counts
        self._rng, self._noise, self._codec, self._onward = rng, noise, codec, onward

    def meet(self, packet: _Passing) -> None:
        """A packet comes by."""
        adversary, counts, wire, now = self._adversary, self._counts, self._wire, self._environment.now
        wait = 0.0
        for action in adversary.actions if adversary.start <= now < adversary.end else ():
            if self._rng.random() >= action.probability:
                continue
            match action:
                case Drop():
                    counts.dropped += 1
                    wire.lost += 1
                    wire.lost_bytes += packet.size
                    return
                case Delay():
                    counts.delayed += 1
                    wait += action.law.draw(self._rng)
                case Replay():
                    if isinstance(packet, Tagged):  # marked, so that what is rejected can be laid at a door
                        packet = Tagged(packet.packet, packet.number, genuine=packet.genuine, by=counts)
                    counts.replayed += action.copies
                    wire.duplicated += action.copies
                    wire.duplicated_bytes += action.copies * packet.size
                    for number in range(1, action.copies + 1):
                        self._environment.call_at(now + number * action.after, self._onward, packet)
                case Alter():
                    packet = self._altered(packet, action)
        if wait:
            self._environment.call_at(now + wait, self._onward, packet)
        else:
            self._onward(packet)

    def _altered(self, packet: _Passing, action: Alter) -> _Passing:
        inner = packet.packet if isinstance(packet, Tagged) else packet
        message = inner.message if isinstance(inner, Segment) else inner
        if message is None:
            return packet
        before = message.values
        values = action.rewritten(before, self._noise)
        if not self._codec.lossless:
            for name, value in values.items():
                if value is not before[name]:
                    values[name] = self._codec.encode(value)
                    values[name].setflags(write=False)
        if all(values[name] is value or values[name].tobytes() == value.tobytes() for name, value in before.items()):
            return packet
        self._counts.altered += 1
        other: Packet = copy(message)  # of the same size
        other.values = values
        if isinstance(inner, Segment):
            other = Segment(inner.sequence, inner.attempt, other)
        return Tagged(other, packet.number, genuine=False, by=self._counts) if isinstance(packet, Tagged) else other
