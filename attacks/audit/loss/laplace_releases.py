"""Laplace releases of many transcripts, measured by those of the first ones.

Kept of a chunk, however many transcripts it has: the reference, which is one number per coordinate, and the
extreme
factors by which the chunk's transcripts differ from it. `attacks.audit.accounting.tilting` says what follows
for
ε(δ).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from zlib import crc32

import numpy as np

from attacks.audit.accounting.intervals import Interval, clopper_pearson, error_rate
from attacks.audit.accounting.products import Product
from attacks.audit.accounting.tilting import Reference, enclosed
from attacks.replay import Release
from netsim.arrays import Array
from netsim.mechanisms import Gaussian

CONSTANT = 1e-6
"""Relative: costs that differ by less are called the same."""
SLACK = 1e-5
"""What rounding may do to √cost, or to a shift: noise is judged down to 1e-10 of the values it covers."""
FIRST = 4
"""One transcript in so many of a first chunk makes the reference, and is not counted."""
DIGITS = 12
"""After the point, of what a product is computed for; fewer where `SLACK` was added or taken off."""
SAMPLES = 10_000
"""Losses drawn from a product."""
_STREAM = crc32(b"attacks.audit.loss.laplace_releases")


@dataclass(frozen=True)
class Measured:
    """Of each release of the reference: the Gaussian cost ‖Δ‖₂²/σ² and the Laplace coordinates, (releases,); of each
    of those in order |Δ|/b, (coordinates,). All are the largest of the first transcripts.

    Of the `transcripts` that were counted: no shift, and not the root of the Gaussian cost, was less than `least` or
    more than `greatest` times the reference's, but for what `SLACK` takes for rounding.
    """

    costs: Array
    coordinates: Array
    shifts: Array
    least: float
    greatest: float
    transcripts: int

    @property
    def known(self) -> bool:
        """Whether some transcript was counted, and the reference bounds them all."""
        return self.transcripts > 0 and bool(np.isfinite(self.greatest))

    @property
    def constant(self) -> bool:
        """Whether all differ by the same factor."""
        return self.known and abs(self.greatest - self.least) <= CONSTANT * self.greatest

    def until(self, releases: int) -> Product:
        """So many first releases, where all transcripts differ by the same factor."""
        shifts = self.shifts[: int(np.sum(self.coordinates[:releases]))]
        return _product(np.sqrt(np.sum(self.costs[:releases])) * self.greatest, shifts * self.greatest, DIGITS)

    def unseen(self, alpha: float) -> float:
        """The share, at most, of transcripts beyond one of the extreme factors; wrong with probability α."""
        return clopper_pearson(0, self.transcripts, 1 - alpha, "upper").upper

    def enclosed(self, delta: float, confidence: float) -> Interval:
        """ε(δ); α in four equal parts: leaving the envelope below and above, sampling below and above."""
        alpha = error_rate(confidence)
        mu, shifts = np.sqrt(np.sum(self.costs)), self.shifts
        low, lows = (np.where(s > SLACK, np.maximum(s * self.least - SLACK, 0.0), 0.0) for s in (mu, shifts))
        high, highs = (np.maximum(s, SLACK) * self.greatest + SLACK for s in (mu, shifts))
        least, most = _product(low, lows, DIGITS - 3), _product(high if mu > 0 else 0.0, highs, DIGITS - 3)
        return _enclosed(least, most, delta, self.unseen(alpha / 4), confidence)


def _product(mu: float | Array, shifts: Array, digits: int) -> Product:
    """Rounded, so that what is the same but for the last bits, as in the two directions, is computed once."""
    return Product(round(float(mu), digits) ** 2, tuple(np.round(shifts, digits).tolist()))


@lru_cache(maxsize=8)
def _enclosed(least: Product, most: Product, delta: float, unseen: float, confidence: float) -> Interval:
    rng = np.random.default_rng(_STREAM)
    found = enclosed(least, most, delta, unseen, 1 - error_rate(confidence) / 2, SAMPLES, rng)
    return Interval(found.lower, found.estimate, found.upper, confidence)


def measured(
    pairs: Sequence[tuple[Release, Release]],
    charges: Sequence[tuple[Array, Array | None]],
    reference: Measured | None,
) -> Measured | None:
    """Measure the releases of one sample; `charges` has the cost (replicas,) and the shifts (replicas, dimension).

    Without a `reference` the first transcripts make one, and the others are counted. None where no release is
    Laplace, or a difference is not finite.
    """
    laplace = [t for t, (_, shifts) in enumerate(charges) if shifts is not None]
    if not laplace:
        return None
    gaussian = [type(a.mechanism) is Gaussian for a, _ in pairs]
    costs = np.array(
        [cost if mine else np.zeros_like(cost) for mine, (cost, _) in zip(gaussian, charges, strict=True)]
    )
    shifts = np.concatenate([s for _, s in charges if s is not None], axis=1)
    if not (np.all(np.isfinite(costs)) and np.all(np.isfinite(shifts))):
        return None
    start = 0
    if reference is None:
        start = -(-len(shifts) // FIRST)
        sizes = np.array([0 if s is None else s.shape[1] for _, s in charges])
        first = np.max(costs[:, :start], axis=1), sizes, np.max(shifts[:start], axis=0)
        reference = Measured(*first, np.inf, 0.0, 0)
    least, greatest = _factors(reference, np.sum(costs[:, start:], axis=0), shifts[start:])
    return replace(reference, least=least, greatest=greatest, transcripts=len(shifts) - start)


def _factors(reference: Measured, mu_squared: Array, shifts: Array) -> tuple[float, float]:
    """The extremes of transcripts. What is below `SLACK` in the reference is no measure from below.

    Coordinates that are not there tell nothing; those that the reference does not have are bounded by nothing.
    """
    if not len(shifts):
        return np.inf, 0.0
    size = reference.shifts.size
    beyond = bool(np.any(shifts[:, size:] > 0))
    here = np.pad(shifts[:, :size], ((0, 0), (0, max(size - shifts.shape[1], 0))))
    there, mu = reference.shifts, float(np.sqrt(np.sum(reference.costs)))
    low = Reference(mu**2 if mu > SLACK else 0.0, np.where(there > SLACK, there, 0.0))
    high = Reference(max(mu, SLACK) ** 2 if mu > 0 else 0.0, np.maximum(there, SLACK))
    least = np.min(low.factors(mu_squared, here)[0])
    greatest = np.max(high.factors(mu_squared, here)[1])
    return float(least), np.inf if beyond else float(greatest)


def together(parts: Iterable[Measured | None]) -> Measured | None:
    """All chunks as one; None where one has no measure, or another reference."""
    pooled: Measured | None = None
    for part in parts:
        if part is None or not (pooled is None or _same(pooled, part)):
            return None
        pooled = (
            part
            if pooled is None
            else replace(
                pooled,
                least=min(pooled.least, part.least),
                greatest=max(pooled.greatest, part.greatest),
                transcripts=pooled.transcripts + part.transcripts,
            )
        )
    return pooled


def _same(one: Measured, two: Measured) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ("costs", "coordinates", "shifts"))
