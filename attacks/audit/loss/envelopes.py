"""Envelopes of adaptive releases: ε(δ) between the products of the least and the greatest differences seen.

The difference that two worlds make in a release is a function of what was seen before it. Let, in all but a share p
of transcripts, each Laplace coordinate's shift |Δ|/b stay between s_min and s_max, and the cost Σ‖Δ_t‖₂²/σ_t² of the
Gaussian releases between m and M. Then

    δ(ε) ≤ δ_product(M, s_max)(ε) + p   and   δ(ε) ≥ δ_product(m, s_min)(ε) − p,   and so ε(δ) lies between
    ε_product(m, s_min)(δ + p)          and   ε_product(M, s_max)(δ − p).

From above: let the mechanism go silent where it would leave the envelope. It differs from the real one on an event of
probability p under P, so δ differs by at most p. Each of its releases, whatever came before, is dominated by the pair
of the largest shift: for Laplace noise 1 − e^{(ε−s)/2} rises with s, for Gaussian noise `gaussian_delta` with μ (at
negative ε as well, by symmetry), and by Blackwell's theorem the smaller shift is the larger one seen through a
channel. Dominated releases compose, adaptively too (Zhu, Dong, Wang 2022, Theorem 10). Gaussian releases share M as
they come: after a first one that costs c, the rest is dominated by the product with M − c (induction), and Gaussian
costs add. Laplace coordinates share nothing: each has its own largest shift, and a bound of their sum is not enough.

From below: let the mechanism, where it would leave, go on as the product of the least would. Each release then makes
the one of the least shift, through a channel that what came before chooses, so that it loses at least as much.

**p is not that of 0 in N for an envelope of many ends**: minima and maxima of thousands of coordinates leave out a
share of about (ends)/N of new transcripts. Here an envelope has two ends: all differences of a transcript are
measured by those of a reference that was fixed before, and the envelope lies between the reference times the least
and the greatest factor of N transcripts. The next one has a greater factor than all N with probability above p only
with probability (1 − p)^N, Clopper–Pearson's 0 of N; likewise a lesser.

Memory does not grow with the transcripts: of a chunk the reference is kept, one number a coordinate, and two factors.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from zlib import crc32

import numpy as np

from attacks.audit.accounting.intervals import Interval, check_delta, clopper_pearson, error_rate
from attacks.audit.accounting.products import Product, product_epsilon
from attacks.audit.accounting.tilting import epsilon_interval
from attacks.replay import Release
from netsim.arrays import Array
from netsim.errors import PrivacyError
from netsim.mechanisms import Gaussian

CONSTANT = 1e-6
"""Relative: costs that differ by less count as equal."""
SLACK = 1e-5
"""Error that rounding may make in √cost, or in a shift: noise is judged down to 1e-10 of the values it covers."""
_FIRST = 4
"""One transcript in so many of a first chunk makes the reference, and is not counted."""
_DIGITS = 12
"""After the point, of the numbers of a product; fewer where `SLACK` was added or taken off."""
_SAMPLES = 10_000
"""Losses drawn from a product."""
_STREAM = crc32(b"attacks.audit.loss.laplace_releases")
"""Seed of these draws; the text is fixed, or published intervals would change in their last digits."""


def enclosed(
    least: Product,
    most: Product,
    delta: float,
    unseen: float,
    confidence: float,
    samples: int,
    rng: np.random.Generator,
) -> Interval:
    """Interval of ε(δ) of a mechanism whose differences stay between two products in all but `unseen` of transcripts.

    `unseen` holds for leaving at each end by itself; `confidence` is that of the sampling, α/2 on each side. The
    upper end is ∞ where `unseen` ≥ δ > 0: transcripts never seen may cost more. The estimate is ε of `most`, or the
    end nearest to it. Raises `PrivacyError` for `delta` or `unseen` outside [0, 1].
    """
    if not 0 <= unseen <= 1:
        raise PrivacyError(f"unseen = {unseen!r}: must lie in [0, 1]")
    check_delta(delta)
    lower = epsilon_interval(least, min(delta + unseen, 1.0), confidence, samples, rng).lower
    upper = math.inf
    if unseen < delta or unseen == 0:
        upper = max(epsilon_interval(most, delta - unseen, confidence, samples, rng).upper, lower)
    return Interval(lower, min(max(product_epsilon(most, delta), lower), upper), upper, confidence)


@dataclass(frozen=True)
class Measured:
    """Laplace and Gaussian releases of many transcripts, measured by a reference: the largest of the first ones.

    The reference has, of each release, the Gaussian cost ‖Δ‖₂²/σ² and the number of Laplace coordinates, (releases,),
    and of each of those, in order, |Δ|/b, (coordinates,). Of the `transcripts` counted after it, no shift, and not
    the root of the total Gaussian cost, was less than `least` or more than `greatest` times the reference's (but for
    `SLACK`).
    """

    costs: Array
    coordinates: Array
    shifts: Array
    least: float
    greatest: float
    transcripts: int

    @classmethod
    def of(
        cls,
        pairs: Sequence[tuple[Release, Release]],
        charges: Sequence[tuple[Array, Array | None]],
        reference: "Measured | None",
    ) -> "Measured | None":
        """Measure one sample's releases; `charges` has the cost (replicas,) and the shifts (replicas, dimension).

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
            start = -(-len(shifts) // _FIRST)
            sizes = np.array([0 if s is None else s.shape[1] for _, s in charges])
            first = np.max(costs[:, :start], axis=1), sizes, np.max(shifts[:start], axis=0)
            reference = cls(*first, np.inf, 0.0, 0)
        least, greatest = _factors(reference, np.sum(costs[:, start:], axis=0), shifts[start:])
        return replace(reference, least=least, greatest=greatest, transcripts=len(shifts) - start)

    @staticmethod
    def pooled(parts: "Iterable[Measured | None]") -> "Measured | None":
        """Pool all chunks; None where one has no measure, or another reference."""
        pooled: Measured | None = None
        for part in parts:
            names = ("costs", "coordinates", "shifts") if pooled is not None else ()
            if part is None or not all(np.array_equal(getattr(pooled, name), getattr(part, name)) for name in names):
                return None
            pooled = part if pooled is None else replace(
                pooled,
                least=min(pooled.least, part.least),
                greatest=max(pooled.greatest, part.greatest),
                transcripts=pooled.transcripts + part.transcripts,
            )  # fmt: skip
        return pooled

    @property
    def known(self) -> bool:
        """Whether some transcript was counted, and the reference bounds them all."""
        return self.transcripts > 0 and bool(np.isfinite(self.greatest))

    @property
    def constant(self) -> bool:
        """Whether all transcripts differ by the same factor."""
        return self.known and abs(self.greatest - self.least) <= CONSTANT * self.greatest

    def until(self, releases: int) -> Product:
        """Product of so many first releases, where all transcripts differ by the same factor."""
        shifts = self.shifts[: int(np.sum(self.coordinates[:releases]))]
        return _product(np.sqrt(np.sum(self.costs[:releases])) * self.greatest, shifts * self.greatest, _DIGITS)

    def enclosed(self, delta: float, confidence: float) -> Interval:
        """Interval of ε(δ); α in four equal parts: leaving the envelope below and above, sampling below and above."""
        alpha = error_rate(confidence)
        unseen = clopper_pearson(0, self.transcripts, 1 - alpha / 4, "upper").upper
        mu, shifts = np.sqrt(np.sum(self.costs)), self.shifts
        low, lows = (np.where(s > SLACK, np.maximum(s * self.least - SLACK, 0.0), 0.0) for s in (mu, shifts))
        high, highs = (np.maximum(s, SLACK) * self.greatest + SLACK for s in (mu, shifts))
        least, most = _product(low, lows, _DIGITS - 3), _product(high if mu > 0 else 0.0, highs, _DIGITS - 3)
        return _enclosed(least, most, delta, unseen, confidence)


def _product(mu: float | Array, shifts: Array, digits: int) -> Product:
    """Rounded, so that products equal but for the last bits, as in the two directions, are computed once."""
    return Product(round(float(mu), digits) ** 2, tuple(np.round(shifts, digits).tolist()))


@lru_cache(maxsize=8)
def _enclosed(least: Product, most: Product, delta: float, unseen: float, confidence: float) -> Interval:
    rng = np.random.default_rng(_STREAM)
    return replace(
        enclosed(least, most, delta, unseen, 1 - error_rate(confidence) / 2, _SAMPLES, rng), confidence=confidence
    )


def _factors(reference: Measured, mu_squared: Array, shifts: Array) -> tuple[float, float]:
    """Least and greatest factor of some transcripts, (transcripts,) and (transcripts, coordinates).

    What is below `SLACK` in the reference is no measure from below. Coordinates that a transcript lacks count as 0;
    those that the reference lacks are bounded by nothing, so the greatest factor is ∞ where one is above 0.
    """
    if not len(shifts):
        return np.inf, 0.0
    size = reference.shifts.size
    padded = np.pad(shifts[:, :size], ((0, 0), (0, max(size - shifts.shape[1], 0))))
    here = np.concatenate([np.sqrt(mu_squared)[:, None], padded], axis=1)
    mu = float(np.sqrt(np.sum(reference.costs)))
    there = np.concatenate([[math.sqrt(max(mu, SLACK) ** 2) if mu > 0 else 0.0], np.maximum(reference.shifts, SLACK)])
    lower_bounded = np.concatenate([[mu > SLACK], reference.shifts > SLACK])
    bounded = there > 0
    low = here[:, lower_bounded] / there[lower_bounded]
    high = here[:, bounded] / there[bounded]
    beyond = np.any(shifts[:, size:] > 0) or np.any(here[:, ~bounded] > 0)
    least = float(np.min(low)) if low.size else 1.0
    return least, np.inf if beyond else float(np.max(high)) if high.size else 1.0
