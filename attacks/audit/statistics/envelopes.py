"""ε(δ) where differences depend on earlier noise: between the products at the ends of an envelope.

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
they come: what follows a first one that costs c is dominated by the product with M − c (induction), and Gaussian
costs add. Laplace coordinates share nothing: each has its own largest shift, and a bound of their sum is not enough.

From below: let the mechanism, where it would leave, go on as the product of the least would. Each release then makes
the one of the least shift, through a channel that what came before chooses, so that it loses at least as much.

**p is not that of 0 in N for an envelope of many ends**: minima and maxima of thousands of coordinates leave out a
share of about (ends)/N of new transcripts. Here an envelope has two ends: all differences of a transcript are
measured by those of a `Reference` that was fixed before, and the envelope lies between the reference times the least
and the greatest factor of N transcripts. The next one has a greater factor than all N with probability above p only
with probability (1 − p)^N, Clopper–Pearson's 0 of N; likewise a lesser.
"""

import math
from dataclasses import dataclass

import numpy as np

from attacks.audit.statistics.intervals import Interval, clopper_pearson, error_rate
from attacks.audit.statistics.inversion import product_epsilon
from attacks.audit.statistics.products import Product
from attacks.audit.statistics.tilting import epsilon_interval
from netsim.arrays import Array
from netsim.errors import PrivacyError


@dataclass(frozen=True)
class Reference:
    """What transcripts are measured by: the cost of the Gaussian releases, and each Laplace coordinate's shift.

    `shifts` is (coordinates,), in the order of the releases. It must not depend on the transcripts that it measures.
    """

    mu_squared: float
    shifts: Array

    @classmethod
    def of(cls, mu_squared: Array, shifts: Array) -> "Reference":
        """The largest of each in some first transcripts: (transcripts,) and (transcripts, coordinates)."""
        return cls(float(np.max(mu_squared)), np.max(shifts, axis=0))

    def factors(self, mu_squared: Array, shifts: Array) -> tuple[Array, Array]:
        """The least and the greatest factor of each transcript, (transcripts,): of μ and of every shift.

        What is 0 in the reference is no measure: the greatest factor is ∞ for a transcript where it is not 0.
        """
        here = np.concatenate([np.sqrt(mu_squared)[:, None], shifts], axis=1)
        there = np.concatenate([[math.sqrt(self.mu_squared)], self.shifts])
        if not (np.all(here >= 0) and here.shape[1] == there.size):
            raise PrivacyError(f"shifts of shape {shifts.shape}: need (transcripts, {self.shifts.size}), at least 0")
        measured = there > 0
        if not np.any(measured):
            unity = np.where(np.any(here > 0, axis=1), math.inf, 1.0)
            return np.ones(len(here)), unity
        ratios = here[:, measured] / there[measured]
        beyond = np.any(here[:, ~measured] > 0, axis=1)
        return np.min(ratios, axis=1), np.where(beyond, math.inf, np.max(ratios, axis=1))

    def times(self, factor: float) -> Product:
        """The product with all differences `factor` times those of the reference; ∞ where nothing bounds them."""
        if math.isinf(factor):
            return Product(math.inf)
        return Product(self.mu_squared, tuple(self.shifts.tolist())).scaled(factor)


def enclosed(
    least: Product,
    most: Product,
    delta: float,
    unseen: float,
    confidence: float,
    samples: int,
    rng: np.random.Generator,
) -> Interval:
    """Encloses ε(δ) of a mechanism whose differences stay between two products in all but `unseen` of transcripts.

    `unseen` holds for leaving at each end by itself; `confidence` is that of the sampling, α/2 on each side. The
    upper end is ∞ where `unseen` ≥ δ > 0: what was never seen may cost more. The estimate is ε of `most`, or the end
    that is nearest to it.
    """
    if not 0 <= unseen <= 1:
        raise PrivacyError(f"unseen = {unseen!r}: must lie in [0, 1]")
    if not 0 <= delta <= 1:
        raise PrivacyError(f"delta = {delta!r}: must lie in [0, 1]")
    lower = epsilon_interval(least, min(delta + unseen, 1.0), confidence, samples, rng).lower
    upper = math.inf
    if unseen < delta or unseen == 0:
        upper = max(epsilon_interval(most, delta - unseen, confidence, samples, rng).upper, lower)
    return Interval(lower, min(max(product_epsilon(most, delta), lower), upper), upper, confidence)


def enclosed_by_factors(
    reference: Reference,
    least: float,
    greatest: float,
    transcripts: int,
    delta: float,
    confidence: float,
    samples: int,
    rng: np.random.Generator,
) -> Interval:
    """`enclosed` from the least and greatest factor of `transcripts`, of none of which the reference was made.

    α in four equal parts: leaving below and above, sampling below and above.
    """
    alpha = error_rate(confidence)
    unseen = clopper_pearson(0, transcripts, 1 - alpha / 4, "upper").upper
    found = enclosed(reference.times(least), reference.times(greatest), delta, unseen, 1 - alpha / 2, samples, rng)
    return Interval(found.lower, found.estimate, found.upper, confidence)
