"""What a pair of releases would have been quoted: the price of a mechanism for the difference that two worlds make.

Per transcript: ‖Δ‖₂²/σ² for Gaussian noise, which gives ε at every δ; the same on a grid (Δ of the rounded values),
where it is 2ρ of zero-concentrated privacy and no more; ‖Δ‖₁/b for Laplace noise, on the line or on a grid, the exact
pure ε; Σ max(|Δ|, |Δ + Δω|)/b for uniform plus Laplace noise, which bounds its loss and is not its ε; 0 for uniform
noise modulo p. Everything else, and mechanisms that the worlds do not share, ∞: no price is known.
"""

import math
from collections.abc import Iterable

import numpy as np

from attacks.replay import Release
from netsim.arrays import Array
from netsim.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, UniformLaplace, UniformModulo

FREE = UniformModulo
"""A law that costs nothing, or ∞."""
PURE = frozenset({Laplace, DiscreteLaplace})
"""Laws whose price is the exact pure ε: the largest loss is attained."""
UNBOUNDED = frozenset({Gaussian, DiscreteGaussian})
"""Laws that lose any amount, rarely, for any finite price above 0."""


def cost(a: Release, b: Release) -> Array:
    """(replicas,), 0 where not judged."""
    return charge(a, b)[0]


def shifts(a: Release, b: Release) -> Array | None:
    """|Δ|/b of each coordinate, (replicas, dimension), 0 where not judged: the law of a Laplace release's loss.

    None for every other law (of a Gaussian release `cost` says all), and for scales that differ.
    """
    return charge(a, b)[1]


def charge(a: Release, b: Release) -> tuple[Array, Array | None]:
    """The cost and the shifts."""
    price = _price(a, b)
    if price is None:
        return np.full(len(a.value), math.inf), None
    laplace = isinstance(a.mechanism, Laplace) and isinstance(b.mechanism, Laplace)
    each = np.where(a.judged[:, None], price, 0.0) if laplace else None
    return np.where(a.judged, np.sum(price, axis=-1), 0.0), each


def covered(release: Release) -> Array:
    """The value that the noise is added to: on a grid, where the mechanism rounds first."""
    mechanism = release.mechanism
    grid = isinstance(mechanism, DiscreteLaplace | DiscreteGaussian)
    return mechanism.rounded(release.value) if grid else release.value


def priced(laws: Iterable[type]) -> set[type]:
    """The laws that a finite cost is made of."""
    return set(laws) - {FREE}


def _price(a: Release, b: Release) -> Array | None:
    """Per coordinate; None where no price is known."""
    match a.mechanism, b.mechanism:
        case Laplace(scale), Laplace(other):
            return _ratio(a.value - b.value, scale) if np.array_equal(scale, other) else None
        case Gaussian(stddev), Gaussian(other):
            return _ratio(a.value - b.value, stddev) ** 2 if np.array_equal(stddev, other) else None
        case DiscreteLaplace() as one, DiscreteLaplace() as two:
            same = np.array_equal(one.scale, two.scale) and one.step == two.step
            return _ratio(covered(a) - covered(b), one.scale) if same else None
        case DiscreteGaussian() as one, DiscreteGaussian() as two:
            same = np.array_equal(one.stddev, two.stddev) and one.step == two.step
            return _ratio(covered(a) - covered(b), one.stddev) ** 2 if same else None
        case UniformLaplace() as one, UniformLaplace() as two:
            return _mixture_bound(a.value - b.value, one, two)
        case UniformModulo(modulus), UniformModulo(other):
            return np.zeros_like(a.value) if modulus == other else None
        case _:
            return None


def _ratio(difference: Array, scale: float | Array) -> Array:
    """|Δ|/scale, 0 where the scale is 0: what shows there is an uncovered message."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.equal(scale, 0), 0.0, np.abs(difference) / scale)


def _mixture_bound(difference: Array, one: UniformLaplace, two: UniformLaplace) -> Array | None:
    """The larger shift of the two ends of the interval, over b; ∞ where only uniform noise hides a shift."""
    if not np.array_equal(one.scale, two.scale):
        return None
    ends = np.maximum(np.abs(difference), np.abs(difference + (one.width - two.width)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(ends == 0, 0.0, ends / one.scale)
