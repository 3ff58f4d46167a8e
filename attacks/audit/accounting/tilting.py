"""ε(δ) of a product of releases from tilted samples of its loss, with both ends proven by betting.

Under P few losses exceed ε when δ(ε) is small. Under the density ∝ P·e^{θL} many do, and with the cumulant κ

    δ(ε) = E_P[(1 − e^{ε−L})₊] = E_θ[e^{κ(θ) − θL} (1 − e^{ε−L})₊].

Two things narrow the interval and bias nothing. The loss G of all Gaussian releases is not drawn but integrated: with
L the loss of the Laplace coordinates alone and κ theirs,

    W_ε = e^{κ(θ) − θL} D(ε − L),   D(u) = E[(1 − e^{u−G})₊],   δ(ε) = E_θ[W_ε].

And a control variate is subtracted, H(L) − E_θ[H], for a sum H of waves e^{ihkL}, whose means are known (the
characteristic function): the first ones of the quadrature of `attacks.audit.accounting.products`. The rest, V_ε,
has mean δ(ε). With a Gaussian release a few dozen waves leave nothing but a bounded remainder, and the interval is
the quadrature with a bound of its error. Without waves the samples judge alone, independently of the quadrature.

**Every choice precedes the samples.** θ, the guess ε₀ = `product_epsilon`, the waves and the bounds of V come from κ.
A bad choice makes the interval wide, not wrong.

**No union over ε is paid.** H belongs to ε₀, not to the ε that is tested, and D falls: so V_ε falls with ε in every
sample, and with it the bet Π(1 + ν_i(V_ε − δ)) against "δ(ε) ≤ δ", for the stake ν_i is one for all ε: it comes from
κ and, at ε₀, from the samples before i. If the lower end lay above ε*, the one true hypothesis at ε* would have been
rejected: probability at most α/2. From above alike, with Π(1 + ν_i(δ − V_ε)). The ε that neither rejects are an
interval, and it is returned.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from attacks.audit.accounting.formulas import gaussian_delta
from attacks.audit.accounting.intervals import Interval, boundary, error_rate
from attacks.audit.accounting.products import ComplexArray, Product, kernel, product_epsilon, saddle_for
from netsim.arrays import Array
from netsim.errors import PrivacyError

_WAVES = 256
"""Waves in a control variate, at most."""
_EVALUATIONS = 10_000_000
"""Evaluations of one Laplace factor at one wave, at most."""
_BLOCK = 4_000_000
"""Losses of single coordinates held at a time."""
_NEVER = 60.0
"""−ln of the probability of events that are taken for impossible."""
_ROUNDING = 1e-10
"""Relative error that rounding may make in a mean; both ends are moved outwards by it."""
_SUMMING = 1e-13
"""Error that rounding may make in a loss, relative to ε and the sum of the shifts."""
_BOLDEST = 0.75
"""Largest share of the wealth that a bet may lose."""


def tilted_losses(product: Product, theta: float, samples: int, rng: np.random.Generator) -> Array:
    """Independent losses of the Laplace coordinates together, (samples,), from the density ∝ P·e^{θL}; θ > −½.

    One uniform number per coordinate and sample. Noise y ≤ 0 has loss s: an atom of weight ½e^{θs}. Noise y ≥ s has
    loss −s: ½e^{−(1+θ)s}. In between the loss is s − 2y, and the density of y is ∝ e^{−(1+2θ)y}. With r =
    e^{−(1+2θ)s} the weights are as 1 : r : (1 − r)/(1 + 2θ).
    """
    if not theta > -0.5:
        raise PrivacyError(f"theta = {theta!r}: must be above -1/2")
    shifts = np.asarray(product.shifts, dtype=np.float64)
    rate = 1 + 2 * theta
    gone = -np.expm1(-rate * shifts)  # 1 − r
    total = 2 - gone + gone / rate
    atom, between = 1 / total, gone / rate / total
    losses = np.empty(samples)
    rows = max(1, _BLOCK // max(1, shifts.size))
    for start in range(0, samples, rows):
        u = rng.random((min(rows, samples - start), shifts.size))
        u -= atom
        u /= between
        np.clip(u, 0.0, 1.0, out=u)
        u *= -gone
        np.log1p(u, out=u)  # −(1 + 2θ)·y
        u *= 2 / rate
        u += shifts
        losses[start : start + len(u)] = np.sum(u, axis=1)
    return losses


def epsilon_interval(
    product: Product,
    delta: float,
    confidence: float,
    samples: int,
    rng: np.random.Generator,
    waves: int = _WAVES,
) -> Interval:
    """Interval of the smallest ε ≥ 0 with δ(ε) ≤ δ, in both directions of the pair; the estimate is the sample's.

    Without Laplace coordinates, or for δ = 0 or 1, it is the formula's value and nothing is drawn. `waves` is the
    most that a control is made of; 0 leaves it out: then the quadrature is only a guess of where to look. Time: about
    10 ns per sample and coordinate, and half a second. Raises `PrivacyError` for a δ outside [0, 1].
    """
    alpha = error_rate(confidence) / 2
    known = product.closed_epsilon(delta)
    if known is not None and (not product.shifts or delta in (0, 1) or not product.finite):
        return Interval(known, known, known, confidence)
    plan = planned(product, product_epsilon(product, delta), waves)
    sample = Sample.of(plan, samples, rng)
    unit, of_values = plan.unit(delta), _ROUNDING * plan.most
    # lower end: 0 where nothing is proven; upper end: at most what Chernoff's bound and the largest loss give
    low, high = unit * (1 + _ROUNDING) + of_values, unit * (1 - _ROUNDING) - of_values
    lower = _edge(lambda e: sample.above(sample.values(e), low, alpha), 0.0, plan.epsilon + plan.reach)
    nearest = max(plan.epsilon - plan.reach, 0.0)
    chernoff = (product.cumulants(plan.theta)[0] - math.log(delta)) / plan.theta
    farthest = min(max(chernoff, nearest), product.pure)
    upper = _edge(lambda e: sample.below(sample.values(e), high, alpha), farthest, nearest)
    middle = boundary(lambda e: float(sample.values(e).mean()) <= unit, upper, lower)
    of_losses = _SUMMING * (math.fsum(product.shifts) + upper)
    return Interval(max(lower - of_losses, 0.0), middle, min(upper + of_losses, product.pure), confidence)


@dataclass(frozen=True)
class _Plan:
    """Choices that precede the samples. With B = e^{κ(θ) + κ_G(θ) − θε₀} and x = L − ε₀, V_ε₀/B is

        w(x) − H(x) + E_θ[H],   w(x) = e^{−θx − κ_G(θ)} D(−x) ≤ θ^θ/(1 + θ)^{1+θ},   H(x) = Re Σ_k a_k e^{ihkx}.

    V_ε/B is at least `least` for ε ≤ ε₀ + `reach`, and at most `most` for ε ≥ ε₀ − `reach`.
    """

    product: Product
    theta: float
    epsilon: float
    step: float
    waves: ComplexArray
    mean: float
    least: float
    most: float
    reach: float

    @property
    def log_scale(self) -> float:
        """ln B."""
        return self.product.cumulants(self.theta)[0] - self.theta * self.epsilon

    def unit(self, delta: float) -> float:
        """δ/B."""
        return math.exp(math.log(delta) - self.log_scale)

    def values(self, losses: Array, epsilon: float) -> Array:
        """W_ε/B = e^{−θ(L − ε₀) − κ_G(θ)} D(ε − L) at each loss."""
        theta, m = self.theta, self.product.mu_squared
        with np.errstate(divide="ignore", over="ignore"):
            log_d = np.log(_hockey_stick(math.sqrt(m), epsilon - losses))
            return np.exp(log_d - theta * (losses - self.epsilon) - m * theta * (1 + theta) / 2)

    def control(self, losses: Array) -> Array:
        """H − E_θ[H] at each loss, by Horner's rule."""
        if not self.waves.size:
            return np.zeros_like(losses)
        turn = np.exp(1j * self.step * (losses - self.epsilon))
        result = np.full(losses.shape, self.waves[-1], dtype=np.complex128)
        for wave in self.waves[-2::-1]:
            result *= turn
            result += wave
        return np.real(result) - self.mean


@lru_cache(maxsize=16)
def planned(product: Product, epsilon: float, waves: int) -> _Plan:
    theta = saddle_for(product, epsilon).theta
    if waves > 0:
        step, a, mean, remainder = _control(product, theta, epsilon, waves)
        least, most = mean - remainder, mean + remainder
    else:
        step, a, mean = 0.0, np.empty(0, dtype=np.complex128), 0.0
        least, most = 0.0, math.exp(-theta * math.log1p(1 / theta)) / (1 + theta)  # θ^θ/(1 + θ)^{1+θ}
    reach = min((most - least) / 8, 1 / theta)
    room = reach * math.exp(theta * reach)  # |∂W_ε/∂ε| ≤ B·e^{θ(ε₀ − ε)}
    return _Plan(product, theta, epsilon, float(step), a, mean, float(least - room), float(most + room), float(reach))


def _control(product: Product, theta: float, epsilon: float, most: int) -> tuple[float, ComplexArray, float, float]:
    """Step h, waves a_k, E_θ[H] and a bound of |w − H| where L falls.

    H is the trapezoidal sum of the Fourier integral of w: it has period Λ = 2π/h, and resembles Σ_m w(x + mΛ). The
    copies are far from where L falls: w(x) ≤ e^{−θx−κ_G(θ)}, and w(−y) ≤ e^{−(y−c)²/2μ²} for y ≥ c = μ²(½ + θ).
    """
    laplace, mu, m = Product(0.0, product.shifts), product.mu, product.mu_squared
    low, high = _window(laplace, theta)
    left, right = epsilon - low, high - epsilon
    centre, log_w = m * (0.5 + theta), -m * theta * (1 + theta) / 2
    period = max(left + (30 + log_w) / theta, right + centre + 9 * mu)
    step = 2 * math.pi / period
    count = min(most, max(8, _EVALUATIONS // product.levels[0].size))
    if mu > 0:
        count = min(count, max(8, math.ceil(8 / (mu * step))))
    t = np.asarray(step * np.arange(count + 1), dtype=np.float64)
    waves = np.exp(m * (1j * t * (theta + 0.5) - t**2 / 2)) * kernel(theta, t) * (step / math.pi)
    waves[0] /= 2
    mean = float(np.sum(waves * laplace.characteristic(theta, t, epsilon)).real)
    end = count * step
    tail = math.exp(-m * end**2 / 2) / (math.pi * end)
    copies = math.exp(log_w - theta * (period - left)) / -math.expm1(-theta * period)
    if mu > 0:
        copies += 2 * math.exp(-((period - right - centre) ** 2) / (2 * m))
    return step, waves, mean, tail + copies + _ROUNDING * float(np.sum(np.abs(waves)))


def _window(laplace: Product, theta: float) -> tuple[float, float]:
    """Range of L under the tilt, but for probability e^{−60} at each end: by Chernoff's bound, and by its ends."""
    here = laplace.cumulants(theta)[0]
    low, high = -laplace.pure, laplace.pure
    for eta in (theta + 0.5) * np.geomspace(1e-3, 1e3, 60):
        high = min(high, (laplace.cumulants(theta + eta)[0] - here + _NEVER) / eta)
        low = max(low, (here - laplace.cumulants(theta - eta)[0] - _NEVER) / eta)
    return low, high


@dataclass(frozen=True)
class Sample:
    """Losses drawn, the control at each, and the variance of V at ε₀ of the samples before each (for stakes)."""

    plan: _Plan
    losses: Array
    control: Array
    variances: Array

    @classmethod
    def of(cls, plan: _Plan, samples: int, rng: np.random.Generator) -> "Sample":
        if samples < 2:
            raise PrivacyError(f"samples = {samples!r}: must be at least 2")
        losses = tilted_losses(plan.product, plan.theta, samples, rng)
        control = plan.control(losses)
        variances = predicted(plan.values(losses, plan.epsilon) - control, (plan.most - plan.least) / 2)
        return cls(plan, losses, control, variances)

    def values(self, epsilon: float) -> Array:
        """V_ε/B of each sample."""
        return self.plan.values(self.losses, epsilon) - self.control

    def above(self, values: Array, mean: float, alpha: float) -> bool:
        """Test of E[values] > mean: whether it is proven at level α; values are independent, ≥ 0, maybe unbounded."""
        return self.plan.least > mean or self._won(values - mean, mean, alpha)

    def below(self, values: Array, mean: float, alpha: float) -> bool:
        """Test of E[values] < mean, for values of at most `most`."""
        return self.plan.most < mean or self._won(mean - values, mean, alpha)

    def _won(self, gains: Array, mean: float, alpha: float) -> bool:
        """Test whether the wealth reaches 1/α: stakes are the best for normal gains of the predicted variance."""
        room = max(self.plan.most, mean) - min(self.plan.least, mean)
        stakes = np.minimum(np.sqrt(-2 * math.log(alpha) / (gains.size * self.variances)), _BOLDEST / room)
        with np.errstate(over="ignore"):
            return float(np.sum(np.log1p(stakes * gains))) >= -math.log(alpha)


def _edge(proven: Callable[[float], bool], far: float, near: float) -> float:
    """Nearest place where a monotone `proven` is true; `far` where it is not, which holds without a proof."""
    return near if proven(near) else boundary(proven, far, near)


def _hockey_stick(mu: float, u: Array) -> Array:
    """D(u) = E[(1 − e^{u−G})₊] for G ~ N(μ²/2, μ²), u of either sign: D(−e) = 1 − e^{−e} + e^{−e}D(e)."""
    below = np.minimum(u, 0.0)
    tail = gaussian_delta(np.asarray(mu), np.abs(u)) if mu > 0 else np.zeros_like(u)
    return np.exp(below) * tail - np.expm1(below)


def predicted(values: Array, room: float) -> Array:
    """Variance of the values before each, and of no other, so that bets stay fair; room²/4 is a first guess."""
    count = np.arange(1, values.size + 1)
    means = np.cumsum(values) / count
    squares = np.cumsum((values[1:] - means[:-1]) ** 2)  # of the first two values, three, …
    return (room**2 / 4 + np.concatenate([[0.0, 0.0], squares[:-1]])) / np.maximum(count - 1, 1)
