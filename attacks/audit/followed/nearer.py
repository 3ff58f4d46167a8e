"""What lines that came out alike in a pair's transcripts do at smaller answers, where these release nothing else.

A pair may lie beyond every clip: a soft threshold is one number there, and `np.abs(g) <= 1` is false. So the answers
that the pair differs in are made smaller, together, from those of either world to hardly any. What the code hands to
the port there has to lie between what it hands to it in the two worlds: then no two such data cost more than the
pair, whose cost is known; also where what was seen is far smaller or larger. And thresholds are of one line, or
at one size: what lies between two may need data of which one number is small and another one large, on no such way.
Nor is what the code does where one of its answers is small and another one is not: it may ask for one at each toss.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from attacks.audit.followed.answers import Answers, Place, Reading
from attacks.replay import Hypothesis
from netsim.arrays import Array
from netsim.models.model import Regularizer

SIZES = np.geomspace(1e-14, 1.0, 15).tolist()
"""Of answers, by those of a pair."""
APART = 1e-12
"""Relative: thresholds that are nearer to each other are one."""
_ROUNDED, _BESIDE = 1e-9, 1e-4
"""By how much values lie outside: of their size, as they are rounded otherwise; and of how far the ends are apart."""

MOST = 512
"""Readings on the way from one world, at most."""

Read = Callable[[Hypothesis], Reading]
"""Replay under a hypothesis."""


def answers_nearer(read: Read, ends: tuple[Hypothesis, Hypothesis], alike: Answers) -> list[Answers] | None:
    """What lines answer at smaller answers of either world; None where code hands anything else to the port there,
    has several thresholds, or gets several answers. `alike`: those with one answer in all transcripts."""
    some = [read(one) for one in ends]
    if not all(map(_is_plain, some)):
        return None
    if not _differ(some[0].given, some[1].given):
        return []
    found = list[Reading]()
    for own, beside in (ends, ends[::-1]):
        way = _Way(read, _Smaller(own, beside, 1.0), alike, (some[0].given, some[1].given))
        if (there := way.walked()) is None:
            return None
        found += there
    return [one.asked for one in found]


@dataclass(frozen=True, eq=False)
class _Smaller:
    """Hypothesis whose answers are so many times those of one of two worlds, where these differ."""

    of: Hypothesis
    beside: Hypothesis
    size: float

    def gradient(self, x: Array) -> Array:
        own = self.of.gradient(x)
        return own if np.array_equal(own, self.beside.gradient(x)) else self.size * own

    def hessian(self, x: Array) -> Array:
        return self.of.hessian(x)

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        own, other = (one.proximal(v, step, regularizer) for one in (self.of, self.beside))
        return own if np.array_equal(own, other) else v - self.size * (v - own)

    def batch(self, indices: Sequence[int]) -> "_Smaller":
        return replace(self, of=self.of.batch(indices), beside=self.beside.batch(indices))


@dataclass(frozen=True)
class _Way:
    """From the answers of one world of a pair to hardly any. `ends` are what the pair hands to the port."""

    read: Read
    largest: _Smaller
    alike: Answers
    ends: tuple[Sequence[Array], Sequence[Array]]

    def walked(self) -> list[Reading] | None:
        """Readings on the way, among them one between each two thresholds; None where these are of several lines, and
        apart, or where the pair is beyond no clip: less of its answers is something else."""
        made = [(size, one) for size in SIZES if (one := self._at(size)) is not None]
        if len(made) < len(SIZES) or not all(map(_near, made[-2][1].given, made[-1][1].given)):
            return None
        found, turns, changed = [one for _, one in made], 0, set[object]()
        todo = [*pairwise(made)]
        while todo:
            (low, before), (high, after) = todo.pop()
            states = self._state(before), self._state(after)
            if states[0] == states[1]:
                continue
            if high <= low * (1 + APART):
                turns += 1
                changed |= {k for k in states[0].keys() | states[1].keys() if states[0].get(k) != states[1].get(k)}
                continue
            middle = math.sqrt(low * high)
            if len(found) == MOST or (one := self._at(middle)) is None:
                return None
            found.append(one)
            todo += [((low, before), (middle, one)), ((middle, one), (high, after))]
        return found if turns <= 1 or len(changed) == 1 else None

    def _at(self, size: float) -> Reading | None:
        """None where it hands on what is not between the ends, or does anything else."""
        one = self.read(replace(self.largest, size=size))
        within = _is_plain(one) and all(len(one.given) == len(end) for end in self.ends)
        return one if within and all(map(_between, one.given, *self.ends)) else None

    def _state(self, one: Reading) -> dict[Place, object]:
        """The answers to what is compared, and whether what is one level in the pair is another."""
        return {
            place: tuple(sorted(answers)) if not place[-1] else answers == self.alike[place]
            for place, answers in one.asked.items()
            if not place[-1] or len(self.alike.get(place, ())) == 1
        }


def _is_plain(one: Reading) -> bool:
    """Whether no line reads, none failed, and one private answer is all there is."""
    return not one.read and one.failed is None and one.answers <= 1


def _differ(some: Sequence[Array], others: Sequence[Array]) -> bool:
    """Whether two worlds hand as many values to the port, and others."""
    return len(some) == len(others) and not all(map(np.array_equal, some, others))


def _near(value: Array, other: Array) -> bool:
    """Whether two values are as good as one."""
    return value.shape == other.shape and np.allclose(
        value, other, _BESIDE, _BESIDE * np.max(np.abs(other), initial=0.0)
    )


def _between(value: Array, one: Array, other: Array) -> bool:
    if not value.shape == one.shape == other.shape:
        return False
    low, high = np.minimum(one, other), np.maximum(one, other)
    slack = _ROUNDED * np.maximum(np.abs(low), np.abs(high)) + _BESIDE * np.max(high - low, initial=0.0)
    return bool(np.all((value >= low - slack) & (value <= high + slack)))
