"""Replay of one agent's public code on observed messages, under a hypothesis about its data.

`gradient` asks the hypothesis; `privatize` returns the value that was observed and notes the noise that would explain
it; incoming messages are those observed; every other value that is sent is compared with the one observed, and so is
which messages there are. Two replays of the same record, one per hypothesis, give the exact privacy loss of every
release and the messages that no noise protects.

The record is a node tap's: what the agent sent and what was delivered to it, in order. A release that never goes on
the wire verbatim can be replayed only if the caller grants its value; the loss is then that of an adversary who knows
it, an upper bound for one who sees the wire. Every value that is sent is encoded before it is compared.
"""

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Literal, ParamSpec, Protocol, TypeVar

import numpy as np

from attacks.replay.coins import Coins, DrawnCoins, copied
from attacks.replay.recorded import RecordedNode, Recording, check_whole
from attacks.replay.replayed import (
    ULPS,
    Answer,
    Comparison,
    Departure,
    Perturbed,
    Release,
    Replayed,
    Sending,
    bits,
    covered,
    deviation,
    scale_of,
)
from netsim.adversary import AdversaryView
from netsim.arrays import Array, Mask
from netsim.codecs import Dither, Encoder
from netsim.errors import AttackError, NetsimError, TranscriptError
from netsim.mechanisms import Gaussian, Laplace, Mechanism, UniformLaplace
from netsim.models.model import Regularizer, Zero
from netsim.node import own_share, share_factor
from netsim.randomness import SharedNoise
from netsim.transcript.message import Kind, Record, Values

__all__ = [
    "ULPS",
    "Answer",
    "CombinedReleaseError",
    "Comparison",
    "Departure",
    "Hypothesis",
    "Perturbed",
    "Release",
    "Replayed",
    "Sending",
    "attempted",
    "attempted_replay",
    "bits",
    "covered",
    "deviation",
    "replay",
    "scale_of",
]

ROUNDING = 1e-10
"""A noise below this fraction of the observed values drowns in their rounding: that replica is judged no more."""

SILENT = 1e-12
"""A conditional variance below this share of the largest counts as none."""

_Slot = tuple[str, int, str]
"""Place of a release on the wire: kind and number of the message, name of the field."""

P = ParamSpec("P")
T = TypeVar("T")


class Hypothesis(Protocol):
    """Hypothetical private objective of an agent. The caller brings it; an attack has no other."""

    def gradient(self, x: Array) -> Array:
        """∇f(x), (replicas, dimension)."""
        ...

    def hessian(self, x: Array) -> Array:
        """∇²f at one point x (dimension,); (dimension, dimension)."""
        ...

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        """argmin f + ‖· − v‖²/(2·step), with + r if there is one; (replicas, dimension)."""
        ...

    def batch(self, indices: Sequence[int]) -> "Hypothesis":
        """The mean over these of its records."""
        ...


@dataclass(frozen=True)
class Altered:
    """Hypothesis whose answers `alter` makes of those of another one, (replicas, dimension)."""

    of: Hypothesis
    alter: Callable[[Array], Array]

    def gradient(self, x: Array) -> Array:
        return self.alter(self.of.gradient(x))

    def hessian(self, x: Array) -> Array:
        return self.of.hessian(x)

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        return self.alter(self.of.proximal(v, step, regularizer))

    def batch(self, indices: Sequence[int]) -> "Altered":
        return replace(self, of=self.of.batch(indices))


def replay(
    view: AdversaryView,
    agent: int,
    hypothesis: Hypothesis,
    coins: np.random.Generator,
    releases: Sequence[Array | np.random.Generator] | None = None,
    dither: Dither | None = None,
    most_queries: float = math.inf,
) -> Replayed:
    """Rerun `agent` on what a tap at its door recorded.

    `coins` are the agent's private coins from their start (the adversary of an audit knows them); `releases`
    are the outputs of its `privatize` calls, needed only where one is not sent verbatim, and a generator in the place
    of one draws it anew, by its law; `dither` is what its codec drew, if that is random. Under another hypothesis
    than the true one (or with other coins) the agent may send other messages than were sent: `Replayed.departure`.
    You get a `TranscriptError` if no tap sat at the agent, if it may have begun anew without its state, if a release
    is neither on the wire nor granted, or a dither is missing; a `StalledError` after more than `most_queries`.

    Noise from seeds that the agent shares is priced as the view has it (`AdversaryView.shared`); without that it is a
    `TranscriptError`, for neighbors sent the same noise, and how much of it is known then depends on the listener.
    """
    if agent in view.public.forgetful:
        raise TranscriptError(f"agent {agent} may have begun anew without its state: a replay follows one life")
    rows, shared = view.at_node(agent), view.shared.get(agent)
    recording = Recording(view.public, agent, rows, view.replicas, coins, shared, view.cut, most_queries=most_queries)
    encoder = Encoder(view.public.codec, view.public.dimension, dither)
    if releases is not None:
        node = _Reader(recording, hypothesis, encoder, None, releases)
        node.read()
        return node.finish()
    traced: _Tracer | None = None
    for _ in range(2 + len(recording.rows)):
        seen = copied(coins)
        before, traced = traced, _Tracer(recording._replace(coins=seen), hypothesis, traced)
        with np.errstate(all="ignore"):
            traced.read()
        again = before is not None and traced.slots == before.slots
        tossed = copied(coins)
        node = _Reader(recording._replace(coins=tossed), hypothesis, encoder, traced, None)
        try:
            node.read()
        except TranscriptError:
            if again:
                raise
            continue
        if node.as_traced:
            if isinstance(coins, Coins | DrawnCoins):
                coins.adopt(seen if node.ended_as_traced else tossed)  # there the tracer went on to the departure
            return node.finish()
        if again:
            break
    raise TranscriptError(f"where agent {agent}'s releases are sent depends on them: grant the replay their values")


def attempted(run: Callable[P, T]) -> Callable[P, T]:
    """The same, in which an algorithm's code may fail at coins that nobody tossed: whatever it raises is an
    `AttackError`."""

    @wraps(run)
    def attempt(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return run(*args, **kwargs)
        except NetsimError:
            raise
        except Exception as error:
            raise AttackError(f"its code fails at some toss ({type(error).__name__}: {error})") from error

    return attempt


attempted_replay = attempted(replay)
"""`replay` at coins that nobody may have tossed."""


class CombinedReleaseError(TranscriptError):
    """A release is not on the wire as it was made, but inside another number: its value can be granted."""


def _as_it_is(mechanism: Mechanism) -> Mechanism:
    """A copy of a mechanism: the code may go on with its arrays. Of one number without `deepcopy`, which is slow."""
    match mechanism:
        case Laplace(float(number)) | Gaussian(float(number)) if type(mechanism) in (Laplace, Gaussian):
            return type(mechanism)(number)
        case _:
            return deepcopy(mechanism)


class _Reader(RecordedNode):
    """The hypothesis's gradients, the observed releases, the comparisons."""

    def __init__(
        self,
        recording: Recording,
        hypothesis: Hypothesis,
        encoder: Encoder,
        traced: "_Tracer | None",
        granted: Sequence[Array | np.random.Generator] | None,
    ) -> None:
        super().__init__(recording)
        self._traced = traced
        self._found = Replayed()
        self._codec, self._encoder = recording.public.codec, encoder
        self._hypothesis, self._granted = hypothesis, granted
        self._given: dict[int, Release] = {}  # by the identity of the array that `privatize` returned
        self._most, self._rows = self.zeros(), list[Record]()
        self._judged = np.ones(self.replicas, dtype=bool)
        self._answer: Answer | None = None
        self._residuals: list[Array] = []  # all noise of the releases that hold noise from shared seeds
        self.ended_as_traced = False  # at a release after which nothing was sent that was recorded

    @property
    def as_traced(self) -> bool:
        """Whether each release was sent where its value was read."""
        assert self._traced is not None
        sent = self._found.sendings
        for t, release in enumerate(self._found.releases):
            slot = self._traced.slots.get(t)
            places = [(sent[message].kind, sent[message].number, name) for message, name in release.carriers[:1]]
            if places != [slot] and (places or self.departure is None):
                return False
        return True

    def finish(self) -> Replayed:
        """Result, with how the replay ended."""
        self._found.departure, self._found.overran = self.departure, self.overran
        return self._found

    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array:
        self._asked()
        hypothesis = self._hypothesis if batch is None else self._hypothesis.batch(batch)
        return self._answered("gradient", hypothesis.gradient(x))

    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array:
        self._asked()
        if regularized and not isinstance(self.regularizer, Zero):
            return self._answered("proximal", self._hypothesis.proximal(v, step, self.regularizer))
        return self._answered("proximal", self._hypothesis.proximal(v, step))

    def _answered(self, kind: Literal["gradient", "proximal"], value: Array) -> Array:
        self._answer = Answer(kind, self._carried(value))
        return value

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:
        if mechanism.noiseless:
            return await self.proximal(v, step)
        self._asked()

        def drawn(rng: np.random.Generator) -> Array:
            return self._hypothesis.proximal(v - step * mechanism.release(np.zeros_like(v), rng), step)

        x = self._carried(self._observed(len(self._found.releases), drawn))
        pull = (v - x) / step
        drowned = self._judge(mechanism, np.maximum(np.abs(v), np.abs(x)) / step)
        identity = np.eye(x.shape[-1]) / step
        curvature = np.array([self._hypothesis.hessian(row) + identity for row in x])
        log_jacobian = np.asarray(np.linalg.slogdet(curvature)[1], dtype=np.float64)
        law = Perturbed(_as_it_is(mechanism), pull, log_jacobian)
        return self._explained(
            Release(self.sent, law, x, self._hypothesis.gradient(x), self._judged, drowned=drowned)
        )

    def privatize(
        self, value: Array, mechanism: Mechanism, shared: Gaussian | None = None, draw: int | None = None
    ) -> Array:
        del draw  # the law that is granted says which noise is the same
        if shared is not None and not shared.noiseless:
            return self._given_others(value, self._shared_law, self._residuals)
        if mechanism.noiseless:
            return value
        check_whole(self.id, mechanism)
        observed = self._carried(self._observed(len(self._found.releases), partial(mechanism.release, value)))
        drowned = self._judge(mechanism, observed)
        made = Release(self.sent, _as_it_is(mechanism), observed, value.copy(), self._judged, drowned=drowned)
        return self._explained(made)

    def split(self, value: Array, mechanism: Gaussian) -> dict[int, Array]:
        if mechanism.noiseless:
            return dict.fromkeys((self.id, *self.neighbors), value)
        factor = share_factor(self.weights) * mechanism.stddev
        law, noise = SharedNoise(np.zeros((len(factor), *value.shape)), factor @ factor.T), list[Array]()
        shares = [self._given_others(value, law, noise) for _ in self.neighbors]
        return {self.id: own_share(value, shares, self.weights), **dict(zip(self.neighbors, shares, strict=True))}

    def _given_others(self, value: Array, law: SharedNoise | None, noise: list[Array]) -> Array:
        """A release whose noise has this law together with that of earlier ones, `noise`, which it joins."""
        index = len(self._found.releases)
        if law is None or len(noise) >= len(law.mean):
            raise TranscriptError(
                f"agent {self.id}'s release {index} has noise from seeds that it shares with its neighbors: grant "
                "what the listener knows of that noise (netsim.randomness.EdgeNoise.known)"
            )
        mean, stddev = law.given(noise)
        mechanism = Gaussian(stddev)
        observed = self._carried(self._observed(index, partial(mechanism.release, value + mean)))
        if stddev**2 <= SILENT * float(np.max(np.diag(law.covariance))):
            raise TranscriptError(f"agent {self.id}'s release {index} has no noise that the listener does not know")
        noise.append(observed - value)
        drowned = self._judge(mechanism, observed)
        made = Release(self.sent, mechanism, observed, value + mean, self._judged, drowned=drowned)
        return self._explained(made)

    def _explained(self, release: Release) -> Array:
        self._found.releases.append(release)
        self._given[id(release.observed)] = release
        return release.observed

    def _observed(self, index: int, drawn: Callable[[np.random.Generator], Array]) -> Array:
        if self._granted is not None:
            if index >= len(self._granted):
                self._found.out_of_releases = True
                raise self._end()
            granted = self._granted[index]
            return drawn(granted) if isinstance(granted, np.random.Generator) else granted
        assert self._traced is not None
        slot = self._traced.slots.get(index)
        found = None if slot is None else self._outgoing[slot[:2]].values[slot[2]]
        if found is None and self._traced.ends_with(index):
            self.departure, self.overran = self._traced.departure, self._traced.overran
            self.ended_as_traced = True
            raise self._end()
        if found is None or not self._codec.lossless:
            raise CombinedReleaseError(
                f"agent {self.id}'s release {index} (activation {self.activation}) is not on the wire as it was "
                "released: grant the replay its value (the loss is then an upper bound)"
            )
        return found

    def _judge(self, mechanism: Mechanism, observed: Array) -> Mask:
        """Where the noise drowns. A function of what was observed alone: the loss stays that of a transcript stopped
        at some time."""
        # of a mixture the Laplace noise counts, for its width is data
        law = Laplace(mechanism.scale) if isinstance(mechanism, UniformLaplace) else mechanism
        stddev = deviation(law)
        drowned = np.any((stddev > 0) & (stddev < ROUNDING * np.abs(observed)), axis=-1)
        if np.any(drowned & self._judged):
            self._judged = self._judged & ~drowned
            if self._found.unreliable_from is None:
                self._found.unreliable_from = self.activation
        return drowned

    def _seen(self, row: Record) -> None:
        self._rows.append(row)

    def _carried(self, value: Array) -> Array:
        size = np.abs(value)
        if size.shape != self._most.shape:  # a part of a vector: it may end in any coordinate
            size = np.max(size, axis=-1, keepdims=True, initial=0.0)
        np.fmax(self._most, size, out=self._most, where=np.isfinite(size))
        return value

    @property
    def _largest(self) -> Array:
        """The largest absolute number that each coordinate has carried, of what was seen once it is asked for."""
        for row in self._rows:
            for value in row.values.values():
                self._carried(value)
        self._rows.clear()
        return self._most

    def _sent(self, row: Record, values: Values) -> None:
        made = len(self._found.releases)
        which = row.receiver, row.kind, row.number, tuple(values)
        self._found.sendings.append(Sending(self.activation, self.clock, self.pace, made, *which))
        for name, encoded in self._encoder(values).items():
            value, observed = values[name], row.values[name]
            identical = np.array_equal(bits(encoded), bits(observed))
            release = self._given.get(id(value))
            if release is not None:
                release.carriers.append((self.sent, name))
            if release is not None and identical:
                if self._codec.lossless and release.sent_in is None:
                    release.sent_in = self.sent
                continue
            possible = None if identical else self._possible(value, observed)
            predicted = observed if identical else encoded
            kept = None if identical and self._codec.lossless else value.copy()
            carried = None if identical else self._largest.copy()
            what = Comparison(self.sent, name, row.receiver, observed, predicted, possible, self._judged, kept)
            self._found.comparisons.append(what._replace(answer=self._answer, carried=carried))

    def _possible(self, value: Array, observed: Array) -> Mask:
        """Mask of where the codec may have made what was observed of a value that differs from this one by
        rounding."""
        with np.errstate(over="ignore", invalid="ignore"):
            rounding = ULPS * np.finfo(float).eps * self._largest
            anything = np.isinf(rounding) & ~np.isnan(value)
            low = np.where(anything, -np.inf, value - rounding)
            high = np.where(anything, np.inf, value + rounding)
            return self._codec.could_be(observed, low, high)


class _Tracer(RecordedNode):
    """Pass that follows each array that `privatize` returned to where it is sent.

    A release whose place a pass `before` found has the value that is there, another one is empty. A branch on an
    empty one would not be followed faithfully, and the replay notices.
    """

    blind_to_receivers = True  # it follows arrays, whoever gets them

    def __init__(self, recording: Recording, hypothesis: Hypothesis, before: "_Tracer | None") -> None:
        super().__init__(recording)
        self._hypothesis, self._before = hypothesis, {} if before is None else before.slots
        self.slots: dict[int, _Slot] = {}
        self._made_before: list[int] = []  # messages that were sent before each release
        self._made: list[Array] = []  # kept alive: an id is an array's own as long as it lives
        self._index: dict[int, int] = {}

    def ends_with(self, index: int) -> bool:
        """Whether nothing more was sent after this release: another message was than would have been, or none."""
        ended = self.departure is not None or self.overran
        return ended and index < len(self._made_before) and self._made_before[index] == self.sent

    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array:
        if not np.all(np.isfinite(x)):
            return np.full_like(x, np.nan)
        return (self._hypothesis if batch is None else self._hypothesis.batch(batch)).gradient(x)

    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array:
        if not np.all(np.isfinite(v)):
            return np.full_like(v, np.nan)
        added = self.regularizer if regularized and not isinstance(self.regularizer, Zero) else None
        return self._hypothesis.proximal(v, step, *(() if added is None else (added,)))

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:  # noqa: ARG002
        empty = np.full_like(v, np.nan)
        return empty if mechanism.noiseless else self._follow(empty)

    def privatize(
        self, value: Array, mechanism: Mechanism, shared: Gaussian | None = None, draw: int | None = None
    ) -> Array:
        del draw
        silent = mechanism.noiseless and (shared is None or shared.noiseless)
        return value if silent else self._follow(np.full_like(value, np.nan))

    def split(self, value: Array, mechanism: Gaussian) -> dict[int, Array]:
        if mechanism.noiseless:
            return dict.fromkeys((self.id, *self.neighbors), value)
        followed = {j: self._follow(np.full_like(value, np.nan)) for j in self.neighbors}
        return {self.id: np.full_like(value, np.nan), **followed}

    def _follow(self, empty: Array) -> Array:
        slot = self._before.get(len(self._made))
        made = empty if slot is None else self._outgoing[slot[:2]].values[slot[2]].copy()
        self._index[id(made)] = len(self._made)
        self._made.append(made)
        self._made_before.append(self.sent)
        return made

    def _stand_in(self, sender: int, kind: Kind, number: int, name: str) -> Array:  # noqa: ARG002
        return np.full((self.replicas, self.dimension), np.nan)

    def _seen(self, row: Record) -> None:
        pass

    def _sent(self, row: Record, values: Values) -> None:
        for name, value in values.items():
            if (index := self._index.get(id(value))) is not None:
                self.slots.setdefault(index, (row.kind, row.number, name))
