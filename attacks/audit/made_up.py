"""Made-up transcripts, at which an agent's code has to be the same affine map of its answers as in a recorded one.

Answers are of all sizes, and what was seen, and noise that nobody saw, are others. All are read beside each other,
one in each replica of a pass. What code decides once it decides for a whole pass: so each is read by itself, too.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from attacks.audit.clips import FAR, NEAR, Clips
from attacks.probe.mapping import AFFINE, ROUNDING, Map, Mapper
from attacks.probe.node import Pass
from netsim.arrays import Array, Mask
from netsim.claims import length
from netsim.errors import AttackError
from netsim.mechanisms import Laplace, UniformLaplace
from netsim.shown import show

ANSWERS, VIEWS = (NEAR, FAR), (1e-3, 1e6)
"""Sizes between which random answers, and random values of what passed the door, are drawn, evenly in logarithm."""
EXTREMES = (1e-150, 1e150), (1e-25, 1e25)
"""Between which all answers of a transcript have one size: as far as their squares are numbers, and closer to 1."""
EXTREME = slice(11, None, 16)
"""Those transcripts."""
DRAWN = 2048
"""So many transcripts are made up, at which the code has to be the same affine map of its answers."""
SPREAD = 7.0
"""Where each value has a size of its own: ln of how far it is above or below that of the others, at most."""
TURNED = slice(6, None, 8)
"""Those in which an answer is turned towards its point, or towards what was sent."""
SAME = 1e-9
"""Relative: numbers of two readings that are the same."""
SHOWS = 1e-3
"""Of the noise: what rounding may add to a number."""
STEPS = 64 * float(np.finfo(float).eps)
"""Relative: rounding of a few sums of numbers as large as a query's point."""
MILLIONTH = 1e-6
"""Of its noise: what an affine map may miss of a release, so that nobody sees it there."""

Copies = NDArray[np.int64]
"""Numbers of some of them."""


class _Reading(NamedTuple):
    """What the code did: `values` (equations, copies, dimension), `points` of its queries (queries, …), `variances`
    of its releases (releases, …), and of what hides answers in these: a mixture's Laplace noise alone, for its width
    is drawn without regard to them."""

    values: Array
    points: Array
    variances: Array
    hiding: Array

    @classmethod
    def of(cls, found: Pass, copies: int, dimension: int) -> Self:
        """Of so many copies in one pass."""
        made = [mechanism for _, some in sorted(found.mechanisms.items()) for mechanism in some]
        hiding = [Laplace(m.scale) if isinstance(m, UniformLaplace) else m for m in made]
        shape = copies, dimension
        variances, hidden = (
            np.array([np.broadcast_to(m.variance(), shape) for m in some]).reshape(-1, *shape)
            for some in (made, hiding)
        )
        points = [x for _, some in sorted(found.points.items()) for x in some]
        values = [e.value for e in found.equations]
        return cls(np.array(values).reshape(-1, *shape), np.array(points).reshape(-1, *shape), variances, hidden)

    def at(self, copies: Copies | Mask) -> Self:
        """Of some copies."""
        return type(self)(*(one[:, copies] for one in self))

    @classmethod
    def joined(cls, readings: Sequence[Self]) -> Self:
        """One beside the other."""
        return cls(*(np.concatenate(some, axis=1) for some in zip(*readings, strict=True)))


def _differ(one: Array, other: Array) -> Mask:
    """In which copies, (copies,)."""
    return ~np.all(np.isclose(one, other, rtol=SAME, atol=0.0), axis=(0, -1))


@dataclass(frozen=True, eq=False)
class _MadeUp:
    """Some of all transcripts: `answers` (queries, copies, dimension), `noises` (noises, …), and `views`, which makes
    another value of each that was observed."""

    mapper: Mapper
    clips: Clips
    found: Map
    noise: Array
    steps: Array
    answers: Array
    noises: Array
    views: Callable[[Array], Array]

    @property
    def copies(self) -> int:
        return self.answers.shape[1]

    def run(self, some: slice, other: bool, given: Array | None = None) -> Pass:
        """A pass of some of them, with these answers; at `other` views, or at what was seen."""

        def seen(value: Array) -> Array:
            return self.views(value)[some].copy()

        copies = len(range(self.copies)[some])
        return self.mapper.at(given, self.noises[:, some], copies, seen=seen if other else None)

    def read(self, some: slice, other: bool, given: Array | None = None) -> _Reading:
        """The same, read. You get an `AttackError` where other messages are sent than were."""
        found = self.run(some, other, given)
        if found.batches != self.mapper.base.batches:
            raise AttackError("which records are in a batch depends on what it computes with or on what was seen")
        self.mapper.check_alike(found)
        return _Reading.of(found, len(range(self.copies)[some]), self.mapper.shape[1])

    def read_alone(self, copies: Copies, other: bool, given: Array | None = None) -> _Reading:
        """Each copy in a pass of its own."""
        some = [slice(k, k + 1) for k in copies.tolist()]
        return _Reading.joined([self.read(k, other, None if given is None else given[:, k]) for k in some])

    def wrong(self, still: _Reading, there: _Reading, given: Array) -> Mask:
        """In which equations and copies two readings that differ by these answers differ otherwise than the map has
        it, (equations, copies): each to its own rounding, and to a millionth of its noise; where that is 0 they are
        the same."""
        moved, noise = self.found.applied(self.clips(given)), self.noise[:, None]
        most = np.max(np.abs([still.values, there.values, moved]), axis=(0, -1))  # of each number and copy
        most = np.where(np.isnan(most), 0.0, most)
        room = np.minimum(AFFINE * most, MILLIONTH * noise)
        through = np.max(np.abs(still.points), axis=(0, -1), initial=1.0)  # sums of what was seen round alike
        room = room + np.maximum(
            (noise > 0) * ROUNDING * np.max(most, axis=0, initial=1.0), np.fmin(STEPS * through, SHOWS * noise)
        )
        # what is divided by 0 where a made-up value is, in both alike
        same = (there.values == still.values) | (np.isnan(there.values) & np.isnan(still.values))
        same = np.all(same & (moved == 0), axis=-1)
        return ~same & ~(np.max(np.abs(there.values - still.values - moved), axis=-1) <= room)

    def moved(self, still: _Reading, there: _Reading, given: Array) -> Mask:
        """Which queries' points differ but by their own `steps`, (queries, copies)."""
        own = self.steps[:, None, None] * given
        room = SAME * (1 + np.abs(still.points) + np.abs(own))
        return np.any(~(np.abs(there.points - still.points + own) <= room), axis=-1)

    def other_noise(self, there: _Reading) -> Mask:
        """In which copies what hides answers is not what it is where nothing was made up."""
        return _differ(there.hiding, _Reading.of(self.mapper.base, *self.mapper.shape).hiding)

    def compared(self, still: _Reading, there: _Reading, given: Array) -> Mask:
        """`moved` in any copy, (queries,). You get an `AttackError` where something is wrong."""
        if np.any(_differ(there.variances, still.variances)):
            raise AttackError("how much noise there is depends on its gradients: a probe cannot invert it")
        if np.any(self.other_noise(there)):
            raise AttackError("how much noise there is depends on what was seen before")
        if np.any(wrong := self.wrong(still, there, given)):
            who, kind, number, name = self.found.fields[int(np.argmax(np.any(wrong, axis=1)))]
            raise AttackError(
                f"what agent {who} sends as {name!r} in its {kind} message {number} is no affine function of its "
                "gradients, the same whatever was seen: a probe cannot invert it"
            )
        return np.any(self.moved(still, there, given), axis=1)

    def moved_at(self, other: bool, given: Array, alone: Copies) -> Mask:
        """`compared` of all copies beside each other, and of the copies `alone`."""
        still = self.read(slice(None), other)
        moves = self.compared(still, self.read(slice(None), other, given), given)
        if not len(alone):
            return moves
        there, still, given = self.read_alone(alone, other, given), still.at(alone), given[:, alone]
        again = _differ(there.variances, still.variances) | np.any(self.wrong(still, there, given), axis=0)
        again |= np.any(self.moved(still, there, given) & ~moves[:, None], axis=0)
        if np.any(again):  # what was seen may decide how it goes on, where it is by itself
            moves |= self.compared(self.read_alone(alone[again], other), there.at(again), given[:, again])
        if not np.all(again):
            moves |= self.compared(still.at(~again), there.at(~again), given[:, ~again])
        return moves


def moved_elsewhere(
    mapper: Mapper, clips: Clips, found: Map, noise: Array, steps: Array, part: slice, alone: Copies
) -> Mask:
    """The code does with answers of all sizes, whatever was seen, what its map says, as far as its noise shows it: in
    this `part` of all that is `drawn`, and in the copies `alone` of it by itself what it does beside others. Whether
    each query's point moves there but by its own `steps`, (queries,).

    You get an `AttackError` where it does something else.
    """
    largest = np.max([np.max(np.abs(e.value), initial=1.0) for e in mapper.base.equations])
    if ROUNDING * largest > SHOWS * np.min(noise[noise > 0]):
        raise AttackError(
            f"its numbers are up to {show(largest, 2)}: rounding is not small beside noise that is so much less"
        )
    answers, unseen = (one[:, part] for one in (_answers(mapper, clips), _unseen(mapper, found)))
    made = _MadeUp(mapper, clips, found, noise, steps, answers, unseen, _views(mapper, part))
    moves = np.zeros(len(answers), dtype=bool)
    extreme = np.arange(made.copies)[EXTREME]
    alone = np.concatenate([alone, extreme[np.linspace(0, len(extreme) - 1, 8).astype(int)[1:-1:2]]])
    for other, some in ((False, alone[::8]), (True, alone)):
        turned = _along(answers, made.run(TURNED, other, answers[:, TURNED]), mapper)
        moves |= made.moved_at(other, turned, some)
    return moves


def _unseen(mapper: Mapper, found: Map) -> Array:
    """Random noise of every release, (noises, copies, dimension), of up to a hundred deviations: code may use that
    which is in no message as coins."""
    rng, shape = np.random.default_rng(2), (len(found.stddev), drawn(mapper), mapper.shape[1])
    return found.stddev[:, None] * _sizes(rng, (1e-2, 1e2), (*shape[:2], 1)) * rng.standard_normal(shape)


def _along(answers: Array, found: Pass, mapper: Mapper) -> Array:
    """The answers, of which in the copies `TURNED` one is along its point, or along what the agent sent (in the pass
    `found` of these copies), but for a share of any size: at any size, or as long.

    The points before an answer are those of the answers before it, and stay where they are.
    """
    rng, turned = np.random.default_rng(3), answers.copy()
    some = turned[:, TURNED]
    for k in range(some.shape[1] if len(answers) else 0):
        t = int(rng.integers(len(answers)))
        i, nth = mapper.base.queries[t]
        along = found.points[i][nth][k]
        if rng.random() < 0.5 and found.equations:
            along = found.equations[rng.integers(len(found.equations))].observed[k]
        if 0 < (long := np.linalg.norm(along)) < math.inf:
            off = (rng.random() < 0.5) * np.exp(rng.uniform(math.log(SAME), 0)) * rng.standard_normal(len(along))
            size = np.linalg.norm(some[t, k]) / long if rng.random() < 0.5 else 1.0
            some[t, k] = (-1.0, 1.0)[rng.integers(2)] * size * (along + long * off)
    return turned


def drawn(mapper: Mapper) -> int:
    """How many made-up transcripts: fewer where they are long."""
    return max(64, min(DRAWN, 2**24 // (1 + len(mapper.base.equations) * mapper.shape[1])))


def _sizes(rng: np.random.Generator, ends: tuple[float, float], shape: tuple[int, ...]) -> Array:
    low, high = (math.log(end) for end in ends)
    return np.exp(rng.uniform(low, high, shape))


def _answers(mapper: Mapper, clips: Clips, seed: int = 0) -> Array:
    """Random answers to all queries, (queries, copies, dimension): each of a size of its own; in half of the
    transcripts all of one size, but that in an eighth of these one is of another, and in an eighth sizes grow or
    shrink by one factor; an eighth with one coordinate that is not 0, and an eighth with some.

    In an eighth of the transcripts each all answers have one direction, at one size, or nearly, and at any, and all
    coordinates of an answer one size; half of these have signs of their own. In another eighth each is above or below
    the bound that it is clipped to by a share of it that is of any size. A sixteenth is `EXTREME`."""
    rng, copies, d = np.random.default_rng(seed), drawn(mapper), mapper.shape[1]
    shape = len(mapper.base.queries), copies, d
    size = _sizes(rng, ANSWERS, (shape[0], copies, 1))
    one = np.where(np.arange(copies) % 16 == 6, rng.integers(shape[0] or 1, size=copies), -1)  # whose size stays
    alike = np.arange(shape[0])[:, None] != one
    alike &= (np.arange(copies) % 2 == 0) & (np.arange(copies) % 16 != 2)
    size = np.where(alike[..., None], size[:1], size)
    ratios = np.exp(rng.uniform(-2, 2, (copies, 1))) ** np.arange(shape[0])[:, None, None]
    size[:, 10::16] = np.clip(size[:1, 10::16] * ratios[:, 10::16], *ANSWERS)
    answers = size * rng.standard_normal(shape)
    answers[:, ::8] *= np.arange(d) == rng.integers(d, size=(copies, 1))[::8]
    answers[:, 4::8] *= rng.random((shape[0], copies, d))[:, 4::8] < rng.random((copies, 1))[4::8]
    signs = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    signs[:, (np.arange(copies) // 8) % 2 == 0] = 1.0
    answers[:, 1::8] = answers[:1, 1::8] * signs[:, 1::8, :1]
    near = answers[:, 9::16]
    near += size[:1, 9::16] * _sizes(rng, (SAME, 1.0), (copies, 1))[9::16] * rng.standard_normal(near.shape)
    answers[:, 3::8] = answers[:1, 3::8] * signs[:, 3::8, :1] * size[:, 3::8] / size[:1, 3::8]
    answers[:, 5::8] = answers[:, 5::8, :1] * signs[:, 5::8]
    near = answers[:, 7::8]
    sides, off = rng.choice((-1.0, 1.0), near.shape[:2]), _sizes(rng, (AFFINE, 1.0), near.shape[:2])
    for clip, v, by in zip(clips.each, near, 1 + sides * off, strict=True):
        if clip is not None:
            v *= (by * clip.bound / np.maximum(length(v, clip.norm), NEAR * clip.bound))[:, None]
    extreme = answers[:, EXTREME]
    sizes, closer = (np.geomspace(*ends, extreme.shape[1])[:, None] for ends in EXTREMES)
    sizes[1::2] = closer[1::2]
    extreme *= sizes / np.maximum(np.max(np.abs(extreme), axis=-1, keepdims=True), NEAR)
    return answers


def _views(mapper: Mapper, part: slice) -> Callable[[Array], Array]:
    """Another value of each that was observed, (copies of this `part`, dimension): what was seen, at another size;
    numbers that have nothing to do with it, all of one size, each of its own, some of them 0, or such that grow or
    shrink; and numbers that are all near each other, by a share of any size. The same value always becomes the same.
    """
    rng, copies, d = np.random.default_rng(1), drawn(mapper), mapper.shape[1]
    size, kind = _sizes(rng, VIEWS, (copies, 1)), rng.integers(6, size=(copies, 1))
    pitch, phase = 1e3 * rng.standard_normal((copies, 1)), rng.uniform(0, 2 * math.pi, (copies, d))
    share = _sizes(rng, (NEAR**2, 1.0), (copies, 1))
    common = np.where(kind == 5, rng.standard_normal((copies, d)), 0.0)
    rate, kind = rng.uniform(-1, 1, (copies, 1)), kind[part]
    size, pitch, phase, share, common, rate = (one[part] for one in (size, pitch, phase, share, common, rate))
    made = dict[bytes, Array]()

    def made_up(copied: Array) -> Array:
        value = copied[:1]
        if (known := made.get(value.tobytes())) is not None:
            return known
        each = np.sin(pitch * np.sum(value, axis=-1, keepdims=True) + phase[:, :1])
        later = np.clip(size * np.exp(rate * len(made)), *VIEWS) / size
        factors = [1 + 0 * each, np.exp(SPREAD * each), 1.0 * (each > 0), later, share]
        factor = np.select([kind == k for k in range(1, 6)], factors)
        found = size * np.where(kind == 0, value, factor * np.sin(pitch * value + phase) + common)
        made[value.tobytes()] = found
        return found

    return made_up
