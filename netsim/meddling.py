"""Active adversaries, as data: who sits in the middle of which links, and what they do to the packets that pass.

The papers' adversaries listen. A `Meddler` drops, delays, replays or alters what is sent: no theorem of this
package's algorithms speaks of that, and whatever comes of such a run says so (`outside_model`). A meddler has no
key: on an encrypted link it can drop, delay and replay, not alter. It does not listen by being there: give an
`Adversary` the same links (and, if you like, the same name) for that; its taps hear what the sender put on the air.

`netsim.tampering` does what is said here.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from netsim.adversary import Adversary
from netsim.arrays import Array
from netsim.checks import nonnegative, whole
from netsim.codecs import Codec
from netsim.errors import ScenarioError, SimulationError
from netsim.laws import ConstantDelay, DelayLaw
from netsim.links import LinkLaw
from netsim.messages import Values, as_sent
from netsim.topology import Topology
from netsim.wiretaps import Wiretaps

Edge = tuple[int, int]

# ── alterations ─────────────────────────────────────────────────────────────────────────────────────────


class Alteration(ABC):
    """What becomes of one field's value."""

    @abstractmethod
    def apply(self, value: Array, rng: np.random.Generator) -> Array:
        """A new array of the same shape (replicas, dimension); `rng` is the meddler's own, on this link."""


@dataclass(frozen=True)
class AddGaussian(Alteration):
    """Adds independent noise N(0, stddev²) to every coordinate of every replica."""

    stddev: float

    def __post_init__(self) -> None:
        nonnegative(self.stddev, "stddev")

    def apply(self, value: Array, rng: np.random.Generator) -> Array:
        return value + self.stddev * rng.standard_normal(value.shape)


@dataclass(frozen=True)
class Scale(Alteration):
    """Multiplies by `factor`."""

    factor: float

    def __post_init__(self) -> None:
        _finite("factor", self.factor)

    def apply(self, value: Array, rng: np.random.Generator) -> Array:  # noqa: ARG002
        return self.factor * value


@dataclass(frozen=True)
class SetTo(Alteration):
    """Puts `value` into every coordinate."""

    value: float

    def __post_init__(self) -> None:
        _finite("value", self.value)

    def apply(self, value: Array, rng: np.random.Generator) -> Array:  # noqa: ARG002
        return np.full_like(value, self.value)


@dataclass(frozen=True)
class FlipSign(Alteration):
    """Turns x into −x."""

    def apply(self, value: Array, rng: np.random.Generator) -> Array:  # noqa: ARG002
        return -value


Rewrite = Callable[[Values], Mapping[str, Array]]
"""Values by field, read-only, ↦ what takes their place: the same names, shapes and float64."""

# ── actions ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Drop:
    """A packet that comes by is gone with `probability`."""

    probability: float = 1.0

    def __post_init__(self) -> None:
        _probability(self.probability)


@dataclass(frozen=True)
class Delay:
    """With `probability` a packet is held back for `seconds`, a number or a law; others may overtake it then."""

    seconds: float | DelayLaw
    probability: float = 1.0

    def __post_init__(self) -> None:
        _probability(self.probability)
        if isinstance(self.seconds, int | float):
            ConstantDelay(self.seconds)  # checks the number

    @property
    def law(self) -> DelayLaw:
        """The law of how long."""
        return ConstantDelay(self.seconds) if isinstance(self.seconds, int | float) else self.seconds


@dataclass(frozen=True)
class Replay:
    """With `probability` `copies` of a packet follow it, `after`, 2·`after`, … seconds after it came by.

    A copy is the packet as it was when this action met it; the meddler's other actions do nothing to it.
    """

    after: float = 0.0
    probability: float = 1.0
    copies: int = 1

    def __post_init__(self) -> None:
        nonnegative(self.after, "after")
        _probability(self.probability)
        whole(self.copies, "copies")


@dataclass(frozen=True)
class Alter:
    """With `probability` the values of `fields` (None: of all) of a message are changed as `how` says.

    `how` is an `Alteration`, or a function from the values of those fields to new ones. Sizes stay as they are,
    acknowledgements carry no values and pass, and so does a message without such a field. What comes out with the
    same bits was not altered, and is not counted. All replicas share one fate: the packet's.
    """

    how: Alteration | Rewrite
    probability: float = 1.0
    fields: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _probability(self.probability)
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


def _probability(probability: float) -> None:
    if not 0 <= probability <= 1:
        raise ScenarioError("probability", probability, "a probability per packet", "0 <= probability <= 1")


def _finite(field: str, value: float) -> None:
    if not math.isfinite(value):
        raise ScenarioError(field, value, "not finite", "a finite number")


# ── who ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Meddler:
    """Somebody in the middle of `links`: "all", pairs of agents, or a rule that picks some (`netsim.wiretaps`).

    It sits at the far end of both directions (`directed`: of (i, j) only from i to j, and `links` are pairs), behind
    all that the link does to a packet and before the receiver's access line: taps and the link's own draws are
    before it. It acts from `start` on and before `end`, in seconds, by when a packet comes by. A packet meets the
    `actions` in their order, each with a draw of its own, until one drops it.
    """

    name: str
    links: Literal["all"] | tuple[Edge, ...] | Wiretaps
    actions: tuple[Action, ...]
    start: float = 0.0
    end: float = math.inf
    directed: bool = False

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


def check(meddlers: Sequence[Meddler], topology: Topology, law: Callable[[Edge], LinkLaw], codec: Codec) -> None:
    """You get a `ScenarioError` for a name used twice, a link that is not there, for who would alter what it cannot
    read (there is no encryption without authentication here), or what a codec has made with random draws."""
    names = [meddler.name for meddler in meddlers]
    for index, meddler in enumerate(meddlers):
        if meddler.name in names[:index]:
            raise ScenarioError(f"meddlers[{index}].name", meddler.name, "used twice", "a name of its own")
        try:
            edges = meddler.tampered(topology)
        except ScenarioError as error:
            raise error.under(f"meddlers[{index}]") from None
        sealed = [edge for edge in sorted(edges) if law(edge).encrypted]
        for place, action in enumerate(meddler.actions):
            if sealed and isinstance(action, Alter):
                i, j = sealed[0]
                raise ScenarioError(
                    f"meddlers[{index}].actions[{place}]", "alter", f"link {i} → {j} is encrypted: it takes the key "
                    "to alter values there", "drop, delay or replay; or links that are not encrypted",
                )  # fmt: skip
            if codec.random and isinstance(action, Alter):
                raise ScenarioError(
                    f"meddlers[{index}].actions[{place}]", "alter", f"altered values go on as {codec} makes them, "
                    "and a meddler has no draws for that", "drop, delay or replay; or a codec that draws nothing",
                )  # fmt: skip


# ── what it did ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Deeds:
    """What one meddler did to how many packets, and how many of those that it altered or replayed were rejected.

    Belongs to the truth of a run: no view holds it. `links` are directed; `start` and `end`, in seconds, are when it
    acted.
    """

    name: str
    links: tuple[Edge, ...]
    dropped: int
    delayed: int
    replayed: int
    altered: int
    rejected: int
    start: float = 0.0
    end: float = math.inf

    def __str__(self) -> str:
        did = ", ".join(f"{word} {getattr(self, word):,}" for word in ("dropped", "delayed", "replayed", "altered"))
        return f"{self.name}{self._when()}: {did}; receivers rejected {self.rejected:,}"

    def _when(self) -> str:
        since = f" from {self.start:g} s" if self.start > 0 else ""
        return since + (f" to {self.end:g} s" if math.isfinite(self.end) else " on" if since else "")


def outside_model(deeds: Sequence[Deeds]) -> str | None:
    """The line that every result of a run with meddlers carries; None for a run without."""
    if not deeds:
        return None
    ways = {edge for one in deeds for edge in one.links}
    links = sorted({(min(edge), max(edge)) for edge in ways})
    shown = ", ".join(_link(edge, ways) for edge in links[:6]) + (f" and {len(links) - 6} more" if links[6:] else "")
    where = f"link{'s' * (len(links) != 1)} {shown}" if links else "no link"
    return (
        f"outside the paper's threat model: an active adversary meddled with {where} ({'. '.join(map(str, deeds))})"
    )


def _link(edge: Edge, ways: set[Edge]) -> str:
    """A link as i–j, or with its direction where nobody meddles with the other one; `edge` is (i, j) with i < j."""
    i, j = edge
    if {(i, j), (j, i)} <= ways:
        return f"{i}–{j}"
    return f"{i} → {j} only" if (i, j) in ways else f"{j} → {i} only"
