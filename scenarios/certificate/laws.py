"""ε of mechanisms whose ε is known, and the noise that gives an ε; none of it by the auditor's own accounting.

δ(ε) = ∫ (p − e^ε q)₊ of one release of 0 or Δ.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import optimize, stats

FARTHEST = 200.0
"""No ε looked for is larger."""


def laplace_epsilon(shift: float, delta: float) -> float:
    """Laplace noise, shift = Δ/b: δ(ε) = 1 − e^{(ε − Δ/b)/2}, so ε = Δ/b + 2 ln(1 − δ), at least 0."""
    return max(shift + 2 * math.log1p(-delta), 0.0)


def laplace_shift(epsilon: float, delta: float) -> float:
    """The Δ/b of `laplace_epsilon`."""
    return epsilon - 2 * math.log1p(-delta)


@cache
def gaussian_epsilon(mu: float, delta: float) -> float:
    """Gaussian noise, μ = Δ/σ: the root of δ(ε) = P(N > ε/μ − μ/2) − e^ε P(N > ε/μ + μ/2)."""

    def excess(epsilon: float) -> float:
        far = math.exp(epsilon + float(stats.norm.logsf(epsilon / mu + mu / 2)))
        return float(stats.norm.sf(epsilon / mu - mu / 2)) - far - delta

    return _root(excess)


@cache
def gaussian_mu(epsilon: float, delta: float) -> float:
    """The μ of `gaussian_epsilon`."""
    return float(optimize.brentq(lambda mu: gaussian_epsilon(mu, delta) - epsilon, 0.05, 10.0, xtol=1e-12))


@cache
def discrete_gaussian_epsilon(shift: int, steps: float, delta: float) -> float:
    """Discrete Gaussian noise of σ = so many `steps`, and a difference of `shift` steps: by summing over the grid."""
    reach = math.ceil(40 * steps) + shift
    k = np.arange(-reach, reach + 1, dtype=np.float64)
    mass = np.exp(-0.5 * (k / steps) ** 2)
    here, there = mass / mass.sum(), np.exp(-0.5 * ((k - shift) / steps) ** 2) / mass.sum()

    def excess(epsilon: float) -> float:
        return float(np.sum(np.maximum(here - math.exp(epsilon) * there, 0.0))) - delta

    return _root(excess)


def _root(excess: Callable[[float], float]) -> float:
    """Where a falling function is 0; 0 if it is not positive there."""
    return float(optimize.brentq(excess, 0.0, FARTHEST, xtol=1e-12)) if excess(0.0) > 0 else 0.0
