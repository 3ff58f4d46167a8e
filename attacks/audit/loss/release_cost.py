"""Privacy cost of one release: its worst case, and the average loss as a share of it.

The worst case, per transcript: ‖Δ‖₂²/σ² for Gaussian noise, which gives ε at every δ; the same on a grid (Δ of the
rounded values), where it is 2ρ of zCDP and no more; ‖Δ‖₁/b for Laplace noise, on the line or on a grid, the exact
pure ε; Σ max(|Δ|, |Δ + Δω|)/b for uniform plus Laplace noise, which bounds its loss and is not its ε; 0 for uniform
noise modulo p. For every other law, and where the worlds do not share one, it is ∞: no cost is known.

Of a few transcripts of each sample there are four numbers for each release, sums over its coordinates: the |loss| of
the pair; its mean given the shift (a closed form or quadrature, `netsim.mechanisms`); the supremum of the |loss| over
all pairs whose values differ by no more than this pair's; and the worst case, Σ_c |Δ_c|/b. All are of the same
transcripts: the first has the mean of the second. Losses of coordinates are added without their signs: the loss of
all together, where signs cancel, is smaller.

The mean supremum over the worst case is γ of H. Xiao, Local Differential Privacy in Decentralized Optimization, MIT
2019, Definition 2, by (2.5): max over |t| ≤ B∞/D of the loss of a coordinate, the interval of means moved by t; added
up as in Theorem 2.2.1. It is the thesis' where |Δ_c| is the sensitivity in every coordinate (an even change), and 1
for Laplace noise alone. The laws are symmetric, their densities log-concave: the maximum is that of the value moved
away from what was observed, by all of |Δ_c| (from the middle m of the law by u ≥ 0, ln p(u) − ln p(u + |Δ_c|)).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from attacks.audit.accounting.intervals import Interval, normal_mean
from attacks.replay import Release
from netsim.arrays import Array
from netsim.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    UniformLaplace,
    UniformModulo,
    gaussian_average_loss,
    laplace_average_loss,
    mixture_average_loss,
)

PURE = frozenset({Laplace, DiscreteLaplace})
"""Laws whose cost is the exact pure ε: the largest loss is attained."""
UNBOUNDED = frozenset({Gaussian, DiscreteGaussian})
"""Laws of unbounded loss at any finite cost above 0: pure ε is ∞."""
SCALED = PURE | UNBOUNDED | {UniformLaplace}
"""Laws of unbounded loss where the scale, or the law, is another one in the other world: there the cost is ∞."""


def cost_and_shifts(a: Release, b: Release) -> tuple[Array, Array | None]:
    """Cost of a release in the two worlds, (replicas,), and shifts |Δ|/b, (replicas, dimension); 0 where not judged.

    Shifts are None but for Laplace noise of one scale: they are the law of its loss. Of a Gaussian release the cost
    is.
    """
    cost = _cost_per_coordinate(a, b)
    if cost is None:
        return np.full(len(a.value), math.inf), None
    laplace = isinstance(a.mechanism, Laplace) and isinstance(b.mechanism, Laplace)
    each = np.where(a.judged[:, None], cost, 0.0) if laplace else None
    return np.where(a.judged, np.sum(cost, axis=-1), 0.0), each


def laws_with_cost(laws: Iterable[type]) -> set[type]:
    """Laws that a finite cost is made of: all but uniform noise modulo p, which costs nothing or ∞."""
    return set(laws) - {UniformModulo}


def _cost_per_coordinate(a: Release, b: Release) -> Array | None:
    """Cost per coordinate, (replicas, dimension); None where none is known."""
    match a.mechanism, b.mechanism:
        case Laplace(scale), Laplace(other):
            return _ratio(a.value - b.value, scale) if np.array_equal(scale, other) else None
        case Gaussian(stddev), Gaussian(other):
            return _ratio(a.value - b.value, stddev) ** 2 if np.array_equal(stddev, other) else None
        case DiscreteLaplace() as one, DiscreteLaplace() as two:
            same = np.array_equal(one.scale, two.scale) and one.step == two.step
            return _ratio(a.covered - b.covered, one.scale) if same else None
        case DiscreteGaussian() as one, DiscreteGaussian() as two:
            same = np.array_equal(one.stddev, two.stddev) and one.step == two.step
            return _ratio(a.covered - b.covered, one.stddev) ** 2 if same else None
        case UniformLaplace() as one, UniformLaplace() as two:
            if not np.array_equal(one.scale, two.scale):
                return None
            difference = a.value - b.value  # the larger shift of the two ends of the interval
            ends = np.maximum(np.abs(difference), np.abs(difference + (one.width - two.width)))
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(ends == 0, 0.0, ends / one.scale)
        case UniformModulo(modulus), UniformModulo(other):
            return np.zeros_like(a.value) if modulus == other else None
        case _:
            return None


def _ratio(difference: Array, scale: float | Array) -> Array:
    """|Δ|/scale, 0 where the scale is 0: a difference there is an unprotected message."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.equal(scale, 0), 0.0, np.abs(difference) / scale)


_CLOSED, _QUADRATURE, _FEWEST = 20_000, 2_000, 32
"""Numbers of each sample that are averaged, where there is a closed form and where there is none, and the fewest
transcripts of which they are, however many numbers these have."""

_LOST, _COMPUTED, _SUPREMUM, _WORST = range(4)
_Averaged = Laplace | Gaussian | UniformLaplace


@dataclass(frozen=True)
class Ratio:
    """Average losses of one release, or of all: means over transcripts, in nats, and their shares of the worst case.

    `lost` is the mean of Σ_c |loss of coordinate c| with an interval (normal, by itself); `computed` its mean by the
    law; `supremum` the mean of Σ_c of the largest |loss| over pairs (module docstring); `worst` the mean worst case,
    ∞ for Gaussian noise, which has none. `gap` is the mean of lost − computed of the same transcripts: 0 lies in its
    interval if the law is right.
    """

    lost: Interval
    computed: float
    supremum: Interval
    worst: float
    gap: Interval
    transcripts: int

    @classmethod
    def of(cls, samples: Iterable[Array], release: int | None, confidence: float) -> "Ratio | None":
        """Averages of one release, or of all (None), from the samples' `averages`; None where a value is missing."""
        one = [s.sum(axis=1) if release is None else s[:, release] for s in samples if s.shape[1] > (release or 0)]
        if not one:
            return None
        pooled: Array = np.concatenate(one, axis=1)
        if pooled.shape[1] < 2 or np.any(np.isnan(pooled)):
            return None
        means: list[float] = np.mean(pooled, axis=1).tolist()
        return cls(
            normal_mean(pooled[_LOST], confidence),
            means[_COMPUTED],
            normal_mean(pooled[_SUPREMUM], confidence),
            means[_WORST],
            normal_mean(pooled[_LOST] - pooled[_COMPUTED], confidence),
            pooled.shape[1],
        )

    @staticmethod
    def averages(pairs: Sequence[tuple[Release, Release]], replicas: int) -> Array:
        """(4, releases, some replicas): lost, computed, supremum, worst; nan where a release has no such numbers.

        Those are releases of other laws than the three, or of another one in the other world.
        """
        numbers = max(1, sum(a.value.shape[-1] for a, _ in pairs))
        mixed = any(isinstance(a.mechanism, UniformLaplace) for a, _ in pairs)
        rows = min(replicas, max(_FEWEST, (_QUADRATURE if mixed else _CLOSED) // numbers))
        return np.array([_row(a, b, rows) for a, b in pairs]).reshape(len(pairs), 4, rows).transpose(1, 0, 2)

    @property
    def measured_share(self) -> Interval | None:
        """`lost` over the worst case, of this pair alone; None where there is no worst case, or it is 0."""
        return self._share(self.lost)

    @property
    def computed_share(self) -> float | None:
        return self.computed / self.worst if 0 < self.worst < np.inf else None

    @property
    def gamma(self) -> Interval | None:
        """γ of Xiao 2019, Definition 2: `supremum` over the worst case."""
        return self._share(self.supremum)

    def _share(self, mean: Interval) -> Interval | None:
        worst = self.worst
        if not 0 < worst < np.inf:
            return None
        return Interval(mean.lower / worst, mean.estimate / worst, mean.upper / worst, mean.confidence)


def _row(a: Release, b: Release, rows: int) -> Array:
    """(4, rows)."""
    here = _narrowed(a, rows)
    one, two = a.mechanism, b.mechanism
    both = zip(vars(one).values(), vars(two).values(), strict=False)
    if here is None or type(one) is not type(two) or not all(np.array_equal(x, y) for x, y in both):
        return np.full((4, rows), np.nan)
    seen, value, other = a.observed[:rows], a.value[:rows], b.value[:rows]
    counted = np.broadcast_to(a.judged[:rows, None], value.shape)
    shift, densities = np.abs(value - other), _coordinates(here, seen, value)
    middle = value + here.mean() if isinstance(here, UniformLaplace) else value
    outward = value - np.where(seen >= middle, shift, -shift)
    with np.errstate(invalid="ignore"):
        losses = np.abs(densities - _coordinates(here, seen, other))
        supremum = densities - _coordinates(here, seen, outward)
    average, worst = _by_law(here, shift)
    per_number = np.stack([losses, average, supremum, worst])
    return np.sum(np.where(counted & np.isfinite(losses), per_number, 0.0), axis=-1)


def _narrowed(release: Release, rows: int) -> _Averaged | None:
    """Law with a parameter for each number of the first replicas, (rows, dimension)."""
    law = release.mechanism
    shape = release.value.shape

    def each(parameter: float | Array) -> Array:
        return np.broadcast_to(np.asarray(parameter, dtype=np.float64), shape)[:rows]

    match law:
        case Laplace(scale):
            return Laplace(each(scale))
        case Gaussian(stddev):
            return Gaussian(each(stddev))
        case UniformLaplace(width, scale):
            return UniformLaplace(each(width), each(scale))
        case _:
            return None


def _coordinates(law: _Averaged, observed: Array, value: Array) -> Array:
    """Log-density of each number: every one as a replica of its own."""
    alone = type(law)(**{name: parameter.reshape(-1, 1) for name, parameter in vars(law).items()})
    with np.errstate(divide="ignore", invalid="ignore"):
        return alone.log_density(observed.reshape(-1, 1), value.reshape(-1, 1)).reshape(value.shape)


def _by_law(law: _Averaged, shift: Array) -> tuple[Array, Array]:
    """Average and worst-case loss of each number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        match law:
            case Laplace(scale):
                return laplace_average_loss(shift, scale), np.where(np.equal(scale, 0), 0.0, shift / scale)
            case Gaussian(stddev):
                unbounded = np.where((shift > 0) & np.greater(stddev, 0), np.inf, 0.0)
                return gaussian_average_loss(shift, stddev), unbounded
            case UniformLaplace(width, scale):
                worst = np.where(np.equal(scale, 0), np.where(shift > 0, np.inf, 0.0), shift / scale)
                return mixture_average_loss(shift, width, scale), worst
