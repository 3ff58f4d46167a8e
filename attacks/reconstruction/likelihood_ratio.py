"""Likelihood ratios of membership and property inference, and the threshold that keeps a false-alarm level.

A score is a log likelihood ratio ln p(transcript | candidate in)/p(transcript | candidate out). By Neyman
and Pearson
no rule has more power at the same level than "in where the score exceeds a threshold". Its law under both
hypotheses
gives the threshold at level α, and the power there:

- Gaussian errors and known means: N(±μ²/2, μ²), so power Φ(Φ⁻¹(α) + μ);
- Laplace errors and known means: a sum of independent bounded terms, by its characteristic function;
- unknown companions in the batch: by simulation from public records.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np
from scipy import optimize, special

from attacks.audit.accounting.products import ComplexArray, Product
from netsim.arrays import Array, Mask
from netsim.errors import AttackError

SMOOTH = 3e-3
"""Of the score's standard deviation: atoms of its law are smoothed by so much, for the inversion to converge."""
SPAN = 10.0
"""In standard deviations: no score is further from its mean, as far as the inversion is concerned."""
NEGLIGIBLE = 1e-12
_BLOCK = 64


class _RatioLaw(Protocol):
    """Of the scores under both hypotheses; all arrays (replicas, candidates)."""

    def threshold(self, level: float) -> Array:
        """What a score must exceed, so that false alarms have probability `level`."""
        ...

    def power(self, level: float) -> Array:
        """The probability of being right about what is in, at that level."""
        ...


@dataclass(frozen=True)
class GaussianRatio:
    """N(μ²/2, μ²) where the candidate is in, N(−μ²/2, μ²) where it is not; `mu` (replicas, candidates)."""

    mu: Array

    def threshold(self, level: float) -> Array:
        return -(self.mu**2) / 2 - self.mu * special.ndtri(level)

    def power(self, level: float) -> Array:
        return np.asarray(special.ndtr(special.ndtri(level) + self.mu))


@dataclass(frozen=True)
class ProductRatio:
    """The law of the loss of a product of releases (`audit.statistics.products`) for each score.

    With one to five coordinates the law has atoms, and a level between two of them is met to the mass of one.
    """

    products: tuple[tuple[Product, ...], ...]

    def threshold(self, level: float) -> Array:
        return np.array([[_threshold(product, level) for product in row] for row in self.products])

    def power(self, level: float) -> Array:
        return np.array([[_power(product, level) for product in row] for row in self.products])


@lru_cache(maxsize=4096)
def _threshold(product: Product, level: float) -> float:
    """τ with P(−L > τ) = level: under "out" the score has the law of −L, by the symmetry of the noise."""
    if product.pure == 0:
        return 0.0
    _, mean, variance = product.cumulants(0.0)
    reach = SPAN * math.sqrt(variance)
    low, high = -mean - reach, -mean + reach
    return float(optimize.brentq(lambda t: 1 - tail(product, -t) - level, low, high, xtol=1e-9 * reach))


@lru_cache(maxsize=4096)
def _power(product: Product, level: float) -> float:
    return tail(product, _threshold(product, level))


def tail(product: Product, x: float) -> float:
    """P(L > x) of the loss under "in": ½ + π⁻¹∫ Im[e^{−itx}φ(t)]/t dt (Gil-Pelaez), by midpoints.

    Further than `SPAN` from the mean it is 0 or 1: of one Laplace coordinate that leaves out less than 1e-4.
    """
    if product.pure == 0:
        return float(x < 0)
    t, values, origin = _transform(product)
    if abs(x - origin) > SPAN * math.sqrt(product.cumulants(0.0)[2]):
        return float(x < origin)
    turned = np.imag(values * np.exp(-1j * t * (x - origin)))
    return min(max(0.5 + float(np.sum(turned / t)) * 2 * t[0] / math.pi, 0.0), 1.0)


@lru_cache(maxsize=256)
def _transform(product: Product) -> tuple[Array, ComplexArray, float]:
    """Midpoints t, E[e^{it(L − mean)}] there, smoothed, and the mean."""
    _, mean, variance = product.cumulants(0.0)
    deviation = math.sqrt(variance)
    step = 2 * math.pi / (4 * SPAN * deviation)
    parts: list[Array] = []
    values: list[ComplexArray] = []
    k, block, most = 0, _BLOCK, int(8 / (SMOOTH * deviation) / step)
    while k <= most:
        t: Array = np.asarray((np.arange(k, k + block) + 0.5) * step, dtype=np.float64)
        parts.append(t)
        smooth = np.exp(-((SMOOTH * deviation * t) ** 2) / 2)
        values.append(product.characteristic(0.0, t, mean) * smooth)
        k, block = k + block, 2 * block
        if np.max(np.abs(values[-1])) < NEGLIGIBLE:
            break
    return np.concatenate(parts), np.concatenate(values), mean


@dataclass(frozen=True)
class SampledRatio:
    """Scores of simulated transcripts, (replicas, candidates, draws): `out` and `inside`."""

    out: Array = field(repr=False)
    inside: Array = field(repr=False)

    def threshold(self, level: float) -> Array:
        """The ⌈(draws + 1)(1 − level)⌉-th smallest: false alarms of one more draw have probability at most `level`.

        You get an `AttackError` where there are too few draws for the level.
        """
        draws = self.out.shape[-1]
        rank = math.ceil((draws + 1) * (1 - level))
        if rank > draws:
            raise AttackError(f"{draws} draws cannot tell a level of {level:g}: it takes {math.ceil(1 / level)}")
        return np.sort(self.out, axis=-1)[..., rank - 1]

    def power(self, level: float) -> Array:
        return np.mean(self.inside > self.threshold(level)[..., None], axis=-1)


@dataclass(frozen=True)
class Decision:
    """Of each candidate, whether it is in an agent's data.

    `scores` (replicas, candidates): log likelihood ratios, higher for "in"; `law`: theirs; `queries`: the estimates
    that were used.
    """

    attack: str
    agent: int
    scores: Array
    law: _RatioLaw
    queries: tuple[int, ...]

    def accepted(self, level: float) -> Mask:
        """Which candidates are said to be in, with false alarms at `level`; (replicas, candidates)."""
        return self.scores > self.law.threshold(level)

    def power(self, level: float) -> Array:
        """What the law says how often those that are in are found, (replicas, candidates)."""
        return self.law.power(level)


@dataclass(frozen=True)
class Choice:
    """Which of several hypotheses holds of an agent's data. `log_posterior` (replicas, hypotheses), normalized."""

    attack: str
    agent: int
    hypotheses: tuple[str, ...]
    log_posterior: Array
    queries: tuple[int, ...]

    @property
    def posterior(self) -> Array:
        return np.exp(self.log_posterior)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The likeliest, for each replica."""
        return tuple(self.hypotheses[int(np.argmax(row))] for row in self.log_posterior)
