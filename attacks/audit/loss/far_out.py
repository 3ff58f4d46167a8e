"""Releases of laws of somebody's own, put where they lose most at δ = 0.

A number of positive density is possible, however rare: what a law says of it in both worlds bounds pure ε from below,
as any loss seen does. From where its noise was drawn a release is moved both ways, by some of its deviations and by
what lies between the drawn ones, which leaves it on a grid if it was on one. It goes no farther than its loss grows.

A density may be computed badly where it is small, as a difference of probabilities is. So a place counts only where
the density is not small, or where its logarithm is smooth, which rounding is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

import numpy as np

from attacks.audit.loss.noise_check import is_somebodys
from attacks.replay import Release
from netsim.arrays import Array, Mask, evenly
from netsim.mechanisms import DiscreteLaplace, Gaussian, Laplace, UniformLaplace

_BY_SIGNS = Laplace | Gaussian | DiscreteLaplace | UniformLaplace

NEAR = (1.0, 2.0, 3.0)
"""Deviations by which releases are moved."""
FAR = (4.0, 5.5, 7.0, 8.5, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 30.0, 50.0, 100.0, 300.0, 1000.0)
"""And one of them."""
RANGES = (1.0, 2.0, 5.0, 20.0, 100.0)
"""Times what lies between the releases drawn."""
SOME = 8
"""Releases for which that one is looked for, at most."""
GROWS = 1e-3
"""Share by which a loss grows, at least, where a release is put farther out."""
SMALL = -15.0
"""ln of a density of a number, per deviation, below which it may be rounding."""
SMOOTH, ORDER, STEP = 1e-6, 6, 0.5
"""Differences of that order, at most, of the logarithm of a smooth density, relative to the loss; and their steps, in
deviations."""


def is_own(law: object) -> bool:
    """Whether it is a law of somebody's own, and no kind of one whose noise is aimed by its signs."""
    return is_somebodys(law) and not isinstance(law, _BY_SIGNS)


def farthest_out(pairs: Sequence[tuple[Release, Release]], moved: Sequence[Array], some: int = SOME) -> list[Array]:
    """By how much to move what the laws drew, of releases in the true and the other world that were `moved`: none
    farther than `NEAR`, but for the first one whose loss grows beyond, of `some`."""
    still: list[Array | float] = [0.0] * len(pairs)
    each = [_Places.of(a, b, by) for (a, b), by in zip(pairs, [*moved, *still[len(moved) :]], strict=False)]
    found = [one.best(NEAR, np.zeros_like(one.drawn)) for one in each]
    for t in evenly(len(each), some):
        offset = each[t].best(FAR, found[t])
        if not np.array_equal(offset, found[t]):
            found[t] = offset
            break
    return found


@dataclass(frozen=True)
class _Places:
    """Where a release can be: where its law `drew` it, and elsewhere along `away`, (replicas, dimension) both, the
    signs by which it goes away from the other world. `unit`: the deviation of its noise; `range`: what lies between
    those drawn, in each coordinate, 0 where the replicas are one."""

    true: Release
    other: Release
    drawn: Array
    away: Array
    unit: Array
    range: Array

    @classmethod
    def of(cls, true: Release, other: Release, moved: Array | float) -> Self:
        drawn = true.observed - moved
        return cls(
            true,
            other,
            drawn,
            np.where(true.value < other.value, -1.0, 1.0),
            np.where(np.isfinite(true.stddev), true.stddev, 0.0),
            np.ptp(drawn, axis=0, keepdims=True) * np.ones_like(drawn),
        )

    def best(self, deviations: Sequence[float], offset: Array) -> Array:
        """Offset with the largest loss, of this one, and of some on either side: the first of those whose loss is
        about the same."""
        steps = [times * self.unit for times in deviations]
        steps += [times * self.range for times in RANGES if (times == 1) == (deviations is NEAR)]
        tried: Array = np.array([offset, *(sign * step * self.away for step in steps for sign in (1.0, -1.0))])
        losses = self._losses(self.drawn + tried)
        most: Array = losses[0]
        for k in range(1, len(tried)):
            by, loss = cast(Array, tried[k]), cast(Array, losses[k])
            farther: Mask = loss > most + GROWS * np.abs(np.where(np.isfinite(most), most, 0.0))
            if np.any(farther):
                farther = farther & self._sure(self.drawn + by, loss)
            most, offset = np.where(farther, loss, most), np.where(farther[:, None], by, offset)
        return offset

    def _losses(self, places: Array) -> Array:
        """Losses of a release at places (places, replicas, dimension); −∞ where it is impossible, or not known."""
        here, there = self._densities(places)
        with np.errstate(all="ignore"):
            return np.where(np.isfinite(here) & ~np.isnan(there), here - there, -np.inf)

    def _sure(self, place: Array, loss: Array) -> Mask:
        """Whether the densities there are no rounding."""
        around = place + STEP * (np.arange(ORDER + 1) - ORDER // 2)[:, None, None] * self.unit
        least = np.sum(SMALL - np.log(np.where(self.unit > 0, self.unit, 1.0)), axis=-1)
        sure: Mask = np.ones(len(place), dtype=np.bool_)
        for one in self._densities(around):
            with np.errstate(all="ignore"):
                uneven = np.abs(np.diff(one, ORDER, axis=0)[0])
            smooth: Mask = uneven <= SMOOTH * (1 + np.where(np.isfinite(loss), np.abs(loss), 0.0))
            at: Array = one[ORDER // 2]
            sure = sure & (smooth | (at >= least) | np.isneginf(at))
        return sure

    def _densities(self, places: Array) -> tuple[Array, Array]:
        """Logarithms of both densities at these places, (places, replicas)."""
        return _log_densities(self.true, places), _log_densities(self.other, places)


def _log_densities(release: Release, places: Array) -> Array:
    """ln of the density at places (places, replicas, dimension): at all of them together, unless the law has numbers
    for each replica."""
    law, value = release.mechanism, release.value
    held = getattr(law, "__dict__", {"": np.empty(0)})
    with np.errstate(all="ignore"):
        if any(isinstance(one, np.ndarray) for one in held.values()):
            return np.array([law.log_density(place, value) for place in places])
        every = np.broadcast_to(value, places.shape).reshape(-1, value.shape[-1])
        return law.log_density(places.reshape(every.shape), every).reshape(places.shape[:2])
