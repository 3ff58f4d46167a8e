"""Noise aimed at the largest loss for who does not know an agent's private coins.

What was seen is a mixture over histories h of the coins, whose releases have the values v_h and w_h in the two
worlds, in scales of their Laplace noise. The loss of releases x,

    L(x) = ln Σ_h p_h e^{−‖x − v_h‖₁} − ln Σ_h q_h e^{−‖x − w_h‖₁},

is monotone in each number between the values that it has at some history, and constant beyond them: it is largest
where each is one of these. That may be far out in all of them, or between, also in numbers that one history leaves as
they are, to which noise that is aimed at one toss (`attacks.audit.loss.aimed`) never goes. Numbers are set one after
the other, from several places, as long as the loss grows: what is found is possible, and need not be the largest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy import special

from netsim.arrays import Array, evenly

SWEEPS, STARTS, PLACES = 6, 4, 16
"""How often each number is set, at most; histories at whose releases it is begun; and values that are tried."""
_WORK = 2e7
"""Densities that are computed, at most."""
_SAME = 9
"""Decimals to which values are told apart."""
BESIDE = 1e-7
"""Scales of the noise by which releases are beside a value: at one a number in the clear may be what is seen."""


@dataclass(frozen=True)
class Mixture:
    """Values of the releases of one world, (histories, numbers), in scales of their noise, and ln of their odds."""

    log_odds: Array
    values: Array

    @classmethod
    def of(cls, histories: Sequence[tuple[float, Array | None]]) -> Self | None:
        """Of ln of the odds and the values of each history, None of those that send other messages, which are left
        out; None where the others differ in their releases."""
        if len({None if values is None else values.shape for _, values in histories} - {None}) != 1:
            return None
        log_odds, values = zip(*((chance, each) for chance, each in histories if each is not None), strict=True)
        each = np.array(values, dtype=np.float64)
        some, which = np.unique(np.round(each, _SAME), axis=0, return_inverse=True)
        return cls(np.log(np.bincount(which.ravel(), np.exp(log_odds), len(some))), some)

    def sums(self, seen: Array) -> Array:
        """ln of the odds and density of each history, but for a constant."""
        return self.log_odds - np.sum(np.abs(seen - self.values), axis=1)


class Worlds(NamedTuple):
    """The mixtures of two worlds with the same numbers."""

    true: Mixture
    other: Mixture

    @classmethod
    def of(cls, *histories: Sequence[tuple[float, Array | None]]) -> "Worlds | None":
        """Of the histories of both; None where they differ in their releases."""
        one, two = (Mixture.of(some) for some in histories)
        if one is None or two is None or one.values.shape[1] != two.values.shape[1]:
            return None
        return cls(one, two)

    def loss(self, seen: Array) -> float:
        """L of these releases, (numbers,), in scales of their noise."""
        one, two = (special.logsumexp(mixture.sums(seen)) for mixture in self)
        return float(one - two)

    def largest(self) -> Array:
        """Releases of the largest loss that was found, (numbers,)."""
        both = np.concatenate([self.true.values, self.other.values])
        moved = [n for n in range(both.shape[1]) if np.any(both[:, n] != both[0, n])]
        places = [_some(np.unique(both[:, n])) for n in moved]
        work = 2.0 * max(1, sum(map(len, places))) * len(both)
        found, most = both[0], -np.inf
        for count, start in enumerate(self._starts(both)):
            if count and count * work > _WORK:
                break
            seen = self._climbed(start, list(zip(moved, places, strict=True)), max(1, min(SWEEPS, int(_WORK / work))))
            if (loss := self.loss(seen)) > most + 1e-12:
                found, most = seen, loss
        return found

    def _starts(self, both: Array) -> Iterator[Array]:
        """Far out in all numbers; and where single histories differ, with the others far out or at their values."""
        low, high = both.min(axis=0), both.max(axis=0)
        yield from (high, low)
        here, there = self
        rows = min(len(here.values), len(there.values))
        apart = here.values[:rows] - there.values[:rows]
        for k in np.argsort(-np.abs(apart).sum(axis=1), kind="stable")[:STARTS]:
            for rest in (high, low, here.values[k]):
                yield np.where(apart[k] > 0, high, np.where(apart[k] < 0, low, rest))

    def _climbed(self, seen: Array, places: Sequence[tuple[int, Array]], sweeps: int) -> Array:
        seen = seen.copy()
        for _ in range(sweeps):
            before, sums = seen.copy(), [mixture.sums(seen) for mixture in self]
            for n, tried in places:
                moved = [
                    sum_ + np.abs(seen[n] - mixture.values[:, n]) - np.abs(tried[:, None] - mixture.values[:, n])
                    for sum_, mixture in zip(sums, self, strict=True)
                ]
                one, two = (special.logsumexp(each, axis=1) for each in moved)
                best = int(np.argmax(one - two))
                seen[n], sums = tried[best], [each[best] for each in moved]
            if np.array_equal(seen, before):
                break
        return seen


def _some(values: Array) -> Array:
    return values[evenly(len(values), PLACES)]
