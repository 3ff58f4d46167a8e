"""Whether private data enter a program's messages in another size than the algorithm's: a test with its power.

Replays with the agent's own objective and with one whose gradients are 0 differ, at each release t, by D_t: what its
private data add to the value beneath the noise. A program with another step, or another bound on its gradients, sends
value + θ D_t + noise with a θ ≠ 0. D_t and the value depend only on what was seen before release t, so that for each
θ the product over t of p(observed | value + θ D_t) / p(observed | value) is a martingale of mean 1 where the program
is faithful, and so is the mean M over some θ. Hence P(M ≥ 1/α) ≤ α, whatever the number of releases (Ville 1939).

The power is computed on what was seen: noise is drawn again around value + θ D_t by each release's law.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import special

from attacks.replay import Hypothesis, Perturbed, Release, replay
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.errors import NetsimError
from netsim.mechanisms import Mechanism
from netsim.models.model import Regularizer

SIZES = np.concatenate([-(2.0 ** np.arange(-4, 0.5, 0.5)), 2.0 ** np.arange(-4, 5.5, 0.5)])
"""θ: by how many times of itself what the data add is larger. −1: they add nothing."""
POWER, _DRAWS = 0.9, 200
"""Probability with which a deviation is found that is called detectable, and draws of a run's noise that tell it."""


@dataclass(frozen=True)
class DeviationTest:
    """`p` is 1/M; None where data add nothing to a noisy release, or cannot be taken out of it."""

    p: float | None = None
    _known: tuple["_Step", ...] = ()

    def detects(self, alpha: float) -> float | None:
        """How many times as large what the data add would have to be (1 + θ, least of `SIZES`) to have a `p` below
        `alpha` with probability `POWER`; None where none would."""
        above, bar = [float(theta) for theta in SIZES if theta > 0], np.log(SIZES.size / alpha)

        def found(k: int) -> bool:
            rng, near = np.random.default_rng(k), np.array(above[max(0, k - 2) : k + 1])  # M is largest there
            ratios = sum((one.drawn(above[k], near, rng) for one in self._known), np.zeros((near.size, _DRAWS)))
            total = cast(Array, special.logsumexp(ratios, axis=0))
            return int(np.sum(total >= bar)) >= POWER * _DRAWS

        k = bisect_left(range(len(above)), 1, key=lambda k: int(found(k)))
        return None if k == len(above) else 1.0 + above[k]


@dataclass(frozen=True)
class _Step:
    """A release, and what the data add to its value, (replicas, dimension)."""

    release: Release
    added: Array

    def ratio(self, theta: float) -> float:
        """log p(observed | value + θ D) − log p(observed | value)."""
        one = self.release
        ratios = self._between(one.observed, one.value + theta * self.added, one.value)
        return float(np.sum(np.where(one.judged & np.logical_not(one.drowned), ratios, 0.0)))

    def drawn(self, theta: float, near: Array, rng: np.random.Generator) -> Array:
        """The same for each θ of `near` where noise is drawn again around the deviating value, (near, `_DRAWS`)."""
        found, one = np.zeros((near.size, _DRAWS)), self.release
        for value, added in zip(one.value, self.added, strict=True):
            faithful = np.broadcast_to(value, (_DRAWS, value.size))
            observed = cast(Mechanism, one.mechanism).release(faithful + theta * added, rng)
            found += [self._between(observed, faithful + other * added, faithful) for other in near]
        return found

    def _between(self, observed: Array, deviating: Array, faithful: Array) -> Array:
        with np.errstate(all="ignore"):
            law = self.release.mechanism
            ratios = law.log_density(observed, deviating) - law.log_density(observed, faithful)
        return np.nan_to_num(ratios, nan=0.0, posinf=np.inf, neginf=-np.inf)


class _NoData:
    """An objective that is 0 everywhere."""

    def gradient(self, x: Array) -> Array:
        return np.zeros_like(x)

    def hessian(self, x: Array) -> Array:
        return np.zeros((x.size, x.size))

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        return v if regularizer is None else regularizer.proximal(v, step)

    def batch(self, indices: Sequence[int]) -> Hypothesis:  # noqa: ARG002
        return self


def deviation_test(view: AdversaryView, agent: int, releases: Sequence[Release], coins: Any) -> DeviationTest:
    """Test an agent's `releases`, as a replay with its own data explains them; `coins` as for that replay."""
    try:
        others = replay(view, agent, _NoData(), coins).releases
    except NetsimError:
        return DeviationTest()
    known = list[_Step]()
    for own, other in zip(releases, others, strict=False):  # the other may send fewer
        if isinstance(own.mechanism, Perturbed) or isinstance(other.mechanism, Perturbed):
            return DeviationTest()  # there the value is a function of what was observed
        with np.errstate(all="ignore"):
            added = np.nan_to_num(own.value - other.value, nan=0.0, posinf=0.0, neginf=0.0)
        if np.all(own.stddev > 0) and np.any(added):
            known.append(_Step(own, added))
    if not known:
        return DeviationTest()
    ratios = [sum(one.ratio(theta) for one in known) for theta in SIZES]
    mean = float(special.logsumexp(ratios)) - np.log(SIZES.size)
    return DeviationTest(float(np.exp(-max(0.0, mean))), tuple(known))
