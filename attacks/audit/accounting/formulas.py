"""δ(ε) and ε(δ): in closed form for Gaussian releases, and from sampled privacy losses.

The privacy loss of what was seen, y drawn under P, is L = ln p(y)/q(y) in nats, with p and q the densities under the
two adjacent worlds. The hockey-stick divergence δ(ε) = E_P[(1 − e^{ε−L})₊] is the smallest δ for which this direction
of this pair satisfies (ε, δ); a mechanism's δ is the largest over adjacent pairs and both directions.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from scipy import special

from attacks.audit.accounting.intervals import (
    Interval,
    boundary,
    check_delta,
    clopper_pearson,
    error_rate,
    exceeds,
    falls_short,
    mean_lower_bound,
)
from netsim.arrays import Array
from netsim.errors import PrivacyError

_HEAVIEST = 600.0
"""Largest ln of a weight: its exponential does not overflow."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_COUNTED = 1 / 8
"""Share of the error rate of a lower end that counts losses far above ε; the rest bets."""
_FAR = 4.0


@overload
def gaussian_delta(mu: float, epsilon: float) -> float: ...
@overload
def gaussian_delta(mu: Array, epsilon: Array | float) -> Array: ...
def gaussian_delta(mu: Array | float, epsilon: Array | float) -> Array | float:
    """δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), for Gaussian releases with μ² = Σ (‖Δ‖₂/σ)² (ℓ2 differences Δ).

    μ ≥ 0 and ε ≥ 0, either may be infinite; they broadcast. Tight for the pair whose means differ by Δ. Raises
    `PrivacyError` for negative numbers and NaN. Source: Balle, Wang 2018, Theorem 8.
    """
    # With u = (ε/μ − μ/2)/√2 and v = u + μ/√2 both terms share a factor: δ = ½e^{−u²}(erfcx(u) − erfcx(v)), which
    # does not overflow; where v − u is small the difference would cancel, so it is integrated (`_close`).
    mu_, eps = np.broadcast_arrays(np.asarray(mu, dtype=np.float64), np.asarray(epsilon, dtype=np.float64))
    if not (np.all(mu_ >= 0) and np.all(eps >= 0)):
        raise PrivacyError(f"mu = {mu!r}, epsilon = {epsilon!r}: both must be at least 0")
    usual = (mu_ > 0) & np.isfinite(mu_) & np.isfinite(eps)
    m, e = np.where(usual, mu_, 1.0), np.where(usual, eps, 0.0)
    with np.errstate(over="ignore"):
        ratio = e / m
    u = np.clip((ratio - m / 2) / math.sqrt(2), -40.0, 40.0)  # e^{−1600} is 0 already
    v = np.maximum((ratio + m / 2) / math.sqrt(2), u)
    apart = special.ndtr(-u * math.sqrt(2)) - np.exp(-(u**2)) / 2 * special.erfcx(v)  # Φ(−√2u) − ½e^{−u²}erfcx(v)
    delta = np.where(m < 0.7, _close(u, m / math.sqrt(2)), apart)
    limit = np.where(np.isinf(mu_), 1.0, 0.0)
    result = np.where(usual, np.clip(delta, 0.0, 1.0), limit)
    return float(result) if result.ndim == 0 else result


def _close(u: Array, width: Array) -> Array:
    """½e^{−u²} ∫_u^{u+width} −erfcx'(t) dt by eight Gauss–Legendre nodes; −erfcx'(t) = 2/√π − 2t·erfcx(t)."""
    start, h = np.maximum(u, -1.0), np.minimum(width, 1.0)
    t = start[..., None] + h[..., None] * (_NODES + 1) / 2
    slope = 1 / math.sqrt(math.pi) - t * special.erfcx(t)
    return np.exp(-(start**2)) * h * (slope @ _WEIGHTS) / 2


@overload
def gaussian_epsilon(mu: float, delta: float) -> float: ...
@overload
def gaussian_epsilon(mu: Array, delta: float) -> Array: ...
def gaussian_epsilon(mu: Array | float, delta: float) -> Array | float:
    """Smallest ε ≥ 0 with `gaussian_delta`(μ, ε) ≤ δ: 0 where δ(0) suffices, ∞ where μ = ∞ or δ = 0 < μ.

    Bisection below μ²/2 + μ√(2 ln 1/δ); the upper end is returned, so that this ε does satisfy δ.
    """
    check_delta(delta)
    mu_ = np.asarray(mu, dtype=np.float64)
    low = np.zeros_like(mu_)
    with np.errstate(over="ignore", invalid="ignore"):
        log_delta = math.log(delta) if delta > 0 else -math.inf
        high = np.where(mu_ > 0, mu_**2 / 2 + mu_ * math.sqrt(2 * -log_delta), 0.0)
    bounded = np.isfinite(high)
    high = np.where(bounded, high, 0.0)
    high = np.where(gaussian_delta(mu_, low) <= delta, low, high)
    for _ in range(120):
        middle = (low + high) / 2
        if np.all((middle == low) | (middle == high)):  # neighbors, and `high` is enough
            break
        enough = gaussian_delta(mu_, middle) <= delta
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    result = np.where(bounded | (delta >= 1), high, np.inf)
    return float(result) if result.ndim == 0 else result


def _checked_losses(losses: Array) -> Array:
    """Flat float array of losses; NaN is refused, ±∞ is allowed."""
    flat = np.asarray(losses, dtype=np.float64).ravel()
    if flat.size == 0 or np.isnan(flat).any():
        raise PrivacyError(
            f"{flat.size} losses, {int(np.isnan(flat).sum())} of them NaN: need at least one and no NaN"
        )
    return flat


def _excess(losses: Array, epsilon: float) -> Array:
    """Y = (1 − e^{ε−L})₊ in [0, 1]; 1 where L = ∞."""
    return -np.expm1(np.minimum(epsilon - losses, 0.0))


Weighted = tuple[Array, Array]
"""Losses of tilted transcripts, and ln of their likelihood ratios: P over what they were drawn from."""


def epsilon_from_losses(losses: Array, delta: float, confidence: float, tilted: Weighted | None = None) -> Interval:
    """Interval of ε* = inf{ε ≥ 0: δ(ε) ≤ δ} of this pair and direction, from independent losses drawn under P.

    `tilted` losses are for the lower end too.

    `lower` is the largest ε at which δ(ε) > δ is proven at α/2 (0 if at none, ∞ if more than δ of the mass has
    infinite loss, proven by betting or by `leaks`); `upper` the smallest at which δ(ε) < δ is (∞ if at none: too few
    losses, about 6/δ are needed). δ = 0 (pure ε): `lower` is the largest loss seen, a witness, and `upper` is ∞.
    """
    # No union over ε is paid: Y = (1 − e^{ε−L})₊ falls with ε in every sample, so "δ(ε) > δ" once proven holds at
    # every smaller ε, "δ(ε) < δ" at every larger one. lower > ε* would mean that the one fixed ε*, where δ(ε*) ≤ δ,
    # was rejected: probability at most α/2. upper < ε* likewise, as δ(ε*) = δ by continuity (for ε* = ∞ the limit of
    # a growing union of events, each of probability at most α/2).
    check_delta(delta)
    half, flat = error_rate(confidence) / 2, _checked_losses(losses)
    top = _top(flat)

    def below(epsilon: float) -> bool:
        return falls_short(_excess(flat, epsilon), delta, half)

    def counted(epsilon: float) -> bool:
        return leaks(int(np.count_nonzero(flat > epsilon + _FAR)), flat.size, delta, half)

    samples = [(flat, np.zeros_like(flat)), *([] if tilted is None or delta == 0 else [tilted])]
    lower = max(_last(counted, top), epsilon_at_least(samples, delta, (1 - _COUNTED) * half))
    return Interval(lower, epsilon_estimate(flat, delta), _first(below, top), confidence)


def leaks(infinite: int, losses: int, delta: float, alpha: float) -> bool:
    """Test of P(L = ∞) > δ, so that ε(δ) = ∞, by how many losses are infinite; or of δ(ε) > δ, by how many are above
    ε + `_FAR`, each of which counts at least 1 − e^{−`_FAR`} in δ(ε).

    Clopper–Pearson, at the part of `alpha` that a lower end has for it: bets on so rare an event are too small, two
    infinite losses of 2,000 prove more than δ = 10⁻⁵ by counting only.
    """
    share = clopper_pearson(infinite, losses, 1 - _COUNTED * alpha, "lower").lower
    return -math.expm1(-_FAR) * share > delta


def epsilon_at_least(samples: Sequence[Weighted], delta: float, alpha: float) -> float:
    """Largest ε at which δ(ε) > δ is proven at level α from these samples together (0 if at none, ∞ if at all).

    With weights w = dP/dQ of losses drawn under Q, E_Q[w (1 − e^{ε−L})₊] = δ(ε), whatever Q is.
    """

    def above(epsilon: float) -> bool:
        first, *others = (_weighted(losses, log_weights, epsilon) for losses, log_weights in samples)
        return exceeds(first, delta, alpha, *others)

    return _last(above, max(_top(losses) for losses, _ in samples))


def epsilon_estimate(losses: Array, delta: float, log_weights: Array | float = 0.0) -> float:
    """Plug-in ε of the sample: inf{ε ≥ 0: mean w (1 − e^{ε−L})₊ ≤ δ}; ∞ if too many are infinite."""
    flat = _checked_losses(losses)
    return _first(lambda epsilon: float(_weighted(flat, log_weights, epsilon).mean()) <= delta, _top(flat))


def _weighted(losses: Array, log_weights: Array | float, epsilon: float) -> Array:
    """w·Y; weights are cut off where they would overflow, which makes the mean smaller."""
    return _excess(losses, epsilon) * np.exp(np.minimum(log_weights, _HEAVIEST))


def _top(losses: Array) -> float:
    """Largest finite loss, at least 0."""
    finite = losses[np.isfinite(losses)]
    return max(float(finite.max()), 0.0) if finite.size else 0.0


def _last(proven: Callable[[float], bool], top: float) -> float:
    """Largest ε ≥ 0 with a falling `proven`, which is constant from `top` on: 0 if none, ∞ if all."""
    if proven(top):
        return math.inf
    return boundary(proven, 0.0, top) if proven(0.0) else 0.0


def _first(proven: Callable[[float], bool], top: float) -> float:
    """Smallest ε ≥ 0 with a rising `proven`, which is constant from `top` on: ∞ if none."""
    if proven(0.0):
        return 0.0
    return boundary(proven, top, 0.0) if proven(top) else math.inf


@dataclass(frozen=True)
class SelfCheck:
    """Test of E_P[e^{−L}] ≤ 1, which any privacy loss meets: sample `mean`, one-sided `lower` bound."""

    mean: float
    lower: float
    confidence: float
    passed: bool

    @classmethod
    def of(cls, losses: Array, confidence: float) -> "SelfCheck":
        """Test sampled losses against E_P[e^{−L}] = Q(p > 0) ≤ 1: fails only if the mean is proven to exceed 1.

        Correct losses fail with probability at most 1 − confidence, whatever their law: e^{−L} is nonnegative and
        unbounded, so the bound is a betting one. Failing proves that these are no ln p/q of values drawn under P (a
        wrong sign or scale, noise of another law, P and Q exchanged). Passing proves little: losses that are too
        large throughout always pass, and small mistakes need many losses.
        """
        alpha = error_rate(confidence)
        with np.errstate(over="ignore"):
            ratios = np.exp(-_checked_losses(losses))
            mean = float(ratios.mean())
        passed = not exceeds(ratios, 1.0, alpha)
        lower = mean_lower_bound(ratios, confidence, at_least=0.0 if passed else 1.0)
        return cls(mean, lower, confidence, passed)
