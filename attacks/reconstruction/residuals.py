"""Residuals in units of their noise: whitening between rounds, and the misfit of candidate records.

With candidates (A, t), model gradients ∇ℓ and estimates g̃_k at the points θ_k, the residual of coordinate c is r_kc
= g̃_kc − ∇ℓ(θ_k; A, t)_c, and χ² = Σ_c r_cᵀ Σ_c⁻¹ r_c with the full covariance Σ_c between rounds. At the true
records χ² has mean `degrees`: all rounds times all coordinates. An attack that fitted p unknowns leaves about
`degrees` − p. A much larger χ² means that the candidate is not what caused the gradients: the optimizer failed, or
the model is another one. A small one means that the candidate explains them, not that it is the only one that does.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy import fft, stats

from attacks.estimates import Evidence
from attacks.probe import Law
from attacks.reconstruction.attack import Case
from netsim.arrays import Array
from netsim.errors import AttackError

ROUNDING = 1e-9
"""Deviation that every estimate keeps, as a share of the largest gradient: what is called exact is exact up to it."""
ALIKE = 1e-9
"""Relative: covariances of two coordinates that differ by less are the same."""


@dataclass(frozen=True)
class Whitener:
    """R, in the smallest form that is exact, and the unit of each replica.

    `factor` is (rounds, rounds) where every coordinate has the same covariance, else (dimension, rounds, rounds).
    `unit` (replicas,): 1, or, where every estimate is exact, what rounding is taken to be; R is then the identity.
    """

    factor: Array
    unit: Array

    @classmethod
    def of(cls, evidence: Evidence) -> "Whitener":
        """Whitener of the errors that the evidence declares. Directions with less than rounding get rounding in its
        place."""
        sizes = np.max(np.abs(evidence.gradients), axis=(0, 2), initial=0.0)
        rounding = ROUNDING * np.where(sizes > 0, sizes, 1.0)
        if evidence.exact:
            return cls(np.eye(evidence.rounds), rounding)
        covariance = evidence.covariance
        first = covariance[..., 0]
        spread = ALIKE * float(np.max(np.abs(first), initial=0.0))
        common = evidence.alike or bool(np.all(np.abs(covariance - first[..., None]) <= spread))
        blocks = first[None] if common else np.moveaxis(covariance, -1, 0)
        floor = 2.0 ** math.ceil(math.log2(float(np.max(rounding))))
        factor = _inverse_root(blocks, floor**2)
        return cls(factor[0] if common else factor, np.ones(evidence.replicas))

    @property
    def common(self) -> bool:
        """Whether one matrix serves every coordinate."""
        return self.factor.ndim == 2

    @cached_property
    def between(self) -> Array:
        """R of the coordinates' mean covariance, (rounds, rounds): `factor` where they have the same."""
        if self.common:
            return self.factor
        roots = np.linalg.inv(self.factor)
        return _inverse_root(np.mean(roots @ np.swapaxes(roots, -1, -2), axis=0), 0.0)

    def __call__(self, values: Array) -> Array:
        """R v over the unit, for values (rounds, replicas, dimension); each replica's bits are its own."""
        spec = "st,trd->srd" if self.common else "dst,trd->srd"
        return np.einsum(spec, self.factor, values) / self.unit[:, None]


def _inverse_root(covariance: Array, least: float) -> Array:
    """R with R Σ Rᵀ = I of symmetric positive semidefinite matrices (…, n, n); no row has a variance below `least`.

    Deviations may span many orders of magnitude: rows are scaled to 1 before the decomposition.
    """
    variance = np.einsum("...tt->...t", covariance)
    lifted = np.maximum(variance, least)
    scale = 1 / np.sqrt(lifted)
    correlation = covariance * scale[..., :, None] * scale[..., None, :]
    np.einsum("...tt->...t", correlation)[...] = 1.0
    sizes, axes = np.linalg.eigh(correlation)
    roots = 1 / np.sqrt(np.maximum(sizes, np.finfo(np.float64).eps * covariance.shape[-1]))
    return roots[..., :, None] * np.swapaxes(axes, -1, -2) * scale[..., None, :]


MANY = 4096
"""Terms above which three moments are enough."""
CELL, LONGEST = 0.01, 400.0
"""Cell and length of the grid; one square is above the longest with probability e⁻²⁸."""
SKEWNESS = 592 / 20**1.5
"""Skewness of a squared Laplace variable: E[X^2k] is proportional to (2k)!."""


@lru_cache(maxsize=256)
def _laplace_tail(false_alarm: float, terms: int) -> float:
    """Quantile for independent Laplace errors, P(z² > y) = exp(−√(2y)): by convolution on a grid, squares rounded to
    the middle of their cell; with more than `MANY` terms by the gamma distribution of equal mean, variance and
    skewness."""
    if terms > MANY:
        skewness = SKEWNESS / np.sqrt(terms)
        return float(stats.pearson3.isf(false_alarm, skewness, loc=terms, scale=np.sqrt(5 * terms)))
    size = fft.next_fast_len(int((LONGEST + terms + 12 * np.sqrt(5 * terms)) / CELL), real=True)
    edges = CELL * np.arange(size + 1)
    cells = -np.diff(np.exp(-np.sqrt(2 * edges)))
    law = fft.irfft(fft.rfft(cells) ** terms, size)
    above = np.cumsum(law[::-1])[::-1]
    return CELL * (int(np.argmax(above <= false_alarm)) + terms / 2)


@dataclass(frozen=True)
class _Misfit:
    """`squared` (replicas,): χ² over `degrees` residuals, of which each has mean square 1 at the true records;
    `relative` (replicas,): ‖residual‖/‖gradients‖ over all rounds, without any weights."""

    squared: Array
    degrees: int
    relative: Array
    rounds: int
    law: Law | None

    def quantile(self, false_alarm: float) -> float:
        """Value that χ² of the true records exceeds with this probability, by the law of the errors.

        Where that is not known, errors may depend on each other between rounds, and their tails are taken for no
        heavier than Laplace's: the largest of such sums, in convex order, has equal squares in all rounds.
        """
        if self.law is None:
            return self.rounds * _laplace_tail(false_alarm, self.degrees // self.rounds)
        if self.law == "laplace":
            return _laplace_tail(false_alarm, self.degrees)
        return float(stats.chi2.isf(false_alarm, self.degrees))


def misfit(case: Case, features: Array, targets: Array) -> _Misfit:
    """Misfit of candidates: features (replicas, m, width), targets (replicas, m, outputs).

    Candidates' gradients are clipped as the agent's are. Estimates without noise count as exact up to rounding
    (`ROUNDING`). You get an `AttackError` where the shapes are not those of the case.
    """
    evidence, known = case
    shape = (evidence.replicas, known.records)
    if features.shape != (*shape, known.model.width) or targets.shape != (*shape, known.model.outputs):
        raise AttackError(f"candidates of shapes {features.shape} and {targets.shape} for {shape} records")
    given, expected = evidence.without(known.penalty), known.model.gradient(evidence.points, features, targets)
    if known.clip is not None:
        public = known.penalty.gradient(evidence.points)
        expected = known.clip(expected + public) - public
    residual = given - expected
    white = Whitener.of(evidence)(residual)
    degrees = evidence.rounds * evidence.points.shape[-1]
    norm = np.sqrt(np.einsum("trd->r", given**2))
    return _Misfit(
        np.einsum("trd->r", white**2),
        degrees,
        np.sqrt(np.einsum("trd->r", residual**2)) / np.where(norm > 0, norm, 1.0),
        evidence.rounds,
        evidence.law,
    )
