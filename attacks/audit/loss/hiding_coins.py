"""Whether who does not know an agent's private coins may see less than who knows them.

Coins that choose a receiver hide nothing: whom a message goes to says how they fell. A random batch hides which of
its releases, of other values, was made. So the agent is replayed at other histories of its coins, all releases
granted. One that goes on otherwise is told apart: it sends another message, or a number that depends on neither data
nor noise and is another one. Of all others the releases have to be the same.

A pair says nothing of that: where its records, but for the one that differs, have one gradient, batches of these make
one release. So the agent's answers are also drawn, for each record others.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from attacks.audit.loss.comparison import Sample
from attacks.replay import Hypothesis, Replayed, bits
from attacks.replay.coins import every, from_start
from netsim.arrays import Array
from netsim.models.model import Regularizer

HISTORIES = 64
"""Histories that are looked at, at most: where there are more, it is not known that they hide nothing."""
_SIZES = 1e-6, 1.0, 1e3
"""Of drawn answers: within every clip, and beyond."""
_MOVES = -1.0, 1e3, 0.0
"""Times as large releases are made, to see which numbers they are in."""


@dataclass(frozen=True, eq=False)
class DrawnAnswers:
    """Hypothesis whose answers are drawn, for each record others: a gradient c + s tanh(x), the mean of those of a
    batch. `constant` and `slope` are (records, dimension)."""

    constant: Array
    slope: Array

    @classmethod
    def of(cls, size: float, records: int, dimension: int) -> Self:
        """Answers of such a size."""
        drawn = size * np.random.default_rng(0).standard_normal((2, records, dimension))
        return cls(drawn[0], np.abs(drawn[1]))

    def gradient(self, x: Array) -> Array:
        return np.mean(self.constant, axis=0) + np.mean(self.slope, axis=0) * np.tanh(x)

    def hessian(self, x: Array) -> Array:
        return np.diag(np.mean(self.slope, axis=0) / np.cosh(x) ** 2)

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        moved = v - step * self.gradient(v)
        return moved if regularizer is None else regularizer.proximal(moved, step)

    def batch(self, indices: Sequence[int]) -> Self:
        some = [int(k) for k in indices]
        return replace(self, constant=self.constant[some], slope=self.slope[some])


def may_hide(samples: Iterable[Sample], agent: int, worlds: Sequence[Hypothesis]) -> bool:
    """Whether the agent's private coins hide anything in transcripts of one replica each, or it is not established
    that they do not: there are too many histories, or none that could be listed, or the code fails at some."""
    try:
        with np.errstate(all="ignore"):
            return any(_hides(one, agent, worlds) for one in samples)
    except Exception:  # whatever the code raises at data or coins that nobody has
        return True


def _hides(one: Sample, agent: int, worlds: Sequence[Hypothesis]) -> bool:
    public = one.view.public
    records = public.records[agent] if public.records else 1
    answers = [*worlds, *(DrawnAnswers.of(size, records, public.dimension) for size in _SIZES)]
    moved = [replace(one, releases=[times * release + times for release in one.releases]) for times in _MOVES]

    def at(coins: Callable[[], np.random.Generator]) -> list[Replayed]:
        found = [one.replayed_at(agent, each, coins()) for each in answers]
        return [*found, *(some.replayed_at(agent, answers[-1], coins()) for some in moved)]

    own = at(one.coins)
    return any(not _same(own, found) for _, found in every(lambda coins: at(lambda: from_start(coins)), HISTORIES))


def _same(own: Sequence[Replayed], others: Sequence[Replayed]) -> bool:
    """Whether a history, under each hypothesis, is told apart before it releases anything else, or never does."""
    shown = _shown(others)
    return all(_alike(a, b, shown) for a, b in zip(own, others, strict=True))


def _shown(found: Sequence[Replayed]) -> float:
    """The first message by which a history is told apart, whatever the data and the noise; ∞ if none. One that makes
    more releases than there were may send anything."""
    ends = (None if one.out_of_releases else one.departure for one in found)
    departed = max(math.inf if end is None else end.message for end in ends)
    sent = [{(c.message, c.name): c for c in one.comparisons} for one in found]
    places = [place for place, c in sent[0].items() if np.any(c.visible)]
    fixed = (
        message
        for message, name in places
        if all(
            (message, name) in one and np.array_equal(one[message, name].predicted, sent[0][message, name].predicted)
            for one in sent
        )
    )
    return min(departed, min(fixed, default=math.inf))


def _alike(a: Replayed, b: Replayed, shown: float) -> bool:
    """Whether two histories release the same up to the message by which one is told apart, and send the same."""
    releases = [[one for one in found.releases if one.made_before <= shown] for found in (a, b)]
    if len(releases[1]) > len(releases[0]) or (math.isinf(shown) and len(releases[1]) < len(releases[0])):
        return False
    if b.out_of_releases and math.isinf(shown):
        return a.out_of_releases
    if not all(one.alike(other) for one, other in zip(*releases, strict=False)):
        return False
    mine = {(c.message, c.name): c.predicted for c in a.comparisons}
    return all(
        (c.message, c.name) in mine and np.array_equal(bits(mine[c.message, c.name]), bits(c.predicted))
        for c in b.comparisons
        if c.message < shown
    )
