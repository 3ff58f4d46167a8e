"""(ε, δ) of a product of releases from samples of its loss, drawn where they count: two-sided, proven by bets.

Under P few losses exceed ε when δ(ε) is small. Under the density ∝ P·e^{θL} many do, and with the cumulant κ

    δ(ε) = E_P[(1 − e^{ε−L})₊] = E_θ[e^{κ(θ) − θL} (1 − e^{ε−L})₊].

Two things narrow the interval and bias nothing. The loss G of all Gaussian releases is not drawn but integrated: with
L the loss of the Laplace coordinates alone and κ theirs,

    W_ε = e^{κ(θ) − θL} D(ε − L),   D(u) = E[(1 − e^{u−G})₊],   δ(ε) = E_θ[W_ε].

And a control is taken off, H(L) − E_θ[H], for a sum H of waves e^{ith}L, whose means e^{κ(θ+it) − κ(θ)} are known:
`attacks.audit.inversion` says which, for it is the beginning of that quadrature. What remains, V_ε, has mean δ(ε).

**Every choice precedes the samples.** θ, the guess ε₀ = `product_epsilon`, the waves and the bounds of V come from κ.
A bad choice makes the interval wide, not wrong.

**No union over ε is paid.** H belongs to ε₀ and not to the ε that is tested, D falls, and so V_ε falls with ε in every
sample. The bet Π(1 + ν_i(V_ε − δ)) against "δ(ε) ≤ δ" falls too, since ν_i is one for all ε: it comes from κ and the
samples before i, at ε₀. So what is proven at one ε is proven at all smaller ones; if the lower end lay above ε*, the
one true hypothesis at ε* would have been rejected: probability at most α/2. From above alike with Π(1 + ν_i(δ − V_ε)).
"""

import math
from dataclasses import dataclass

import numpy as np

from attacks.audit.accounting import gaussian_delta
from attacks.audit.intervals import Interval, boundary, error_rate
from attacks.audit.inversion import kernel, product_epsilon, saddle_for
from attacks.audit.products import ComplexArray, Product, closed_delta, closed_epsilon, laplace_cumulant
from netsim.arrays import Array
from netsim.errors import PrivacyError

WAVES = 256
"""In a control, at most."""
_EVALUATIONS = 20_000_000
"""Of one Laplace factor at one wave, at most."""
_BLOCK = 4_000_000
"""Losses of single coordinates held at a time."""
_NEVER = 60.0
"""Events of probability e^{−60} are taken for impossible."""
ROUNDING = 1e-10
"""Relative: what rounding may do to a mean."""
BOLDEST = 0.75
"""The largest share of the wealth that a bet may lose."""


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
    product: Product, delta: float, confidence: float, samples: int, rng: np.random.Generator
) -> Interval:
    """Encloses the smallest ε ≥ 0 with δ(ε) ≤ δ, in both directions of the pair; the estimate is the sample's.

    Without Laplace coordinates, or for δ = 0 or 1, it is the formula's value and nothing is drawn. Time: about 15 ns
    per sample and coordinate, and half a second. You get a `PrivacyError` for a δ outside [0, 1].
    """
    half = error_rate(confidence) / 2
    known = closed_epsilon(product, delta)
    if known is not None and (not product.shifts or delta in (0, 1) or not product.finite):
        return Interval(known, known, known, confidence)
    bet = _Bet.at(product, product_epsilon(product, delta), samples, rng)
    lower, upper = bet.lower(delta, half), bet.upper(delta, half)
    middle = boundary(lambda e: bet.values(e).mean() <= bet.unit(delta), upper, lower)
    return Interval(lower, min(max(middle, lower), upper), max(lower, upper), confidence)


def delta_interval(
    product: Product, epsilon: float, confidence: float, samples: int, rng: np.random.Generator
) -> Interval:
    """Encloses δ(ε), in both directions of the pair; relative to itself as narrow for small δ as for large ones.

    Without Laplace coordinates, and from the largest loss on, it is the formula's value and nothing is drawn.
    """
    half = error_rate(confidence) / 2
    known = closed_delta(product, epsilon)
    if known is not None and (not product.shifts or known in (0, 1)):
        return Interval(known, known, known, confidence)
    bet = _Bet.at(product, epsilon, samples, rng)
    values = bet.values(epsilon)
    mean = min(max(float(values.mean()), bet.least), bet.most)
    slack = ROUNDING * bet.most
    low = boundary(lambda m: bet.above(values, m, half), bet.least, mean) - slack
    high = boundary(lambda m: bet.below(values, m, half), bet.most, mean) + slack
    ends = (min(max(bet.scale * m, 0.0), 1.0) for m in (low, mean, high))
    return Interval(*ends, confidence)


@dataclass(frozen=True)
class _Window:
    """Where the Laplace loss L falls under the tilt, but for probability e^{−60}: [low, high]."""

    low: float
    high: float

    @classmethod
    def of(cls, laplace: Product, theta: float) -> "_Window":
        """By Chernoff's bound with the best of many powers, and by the largest loss there is."""
        here = laplace.cumulants(theta)[0]
        low, high = -laplace.pure, laplace.pure
        for eta in (theta + 0.5) * np.geomspace(1e-3, 1e3, 60):
            high = min(high, (laplace.cumulants(theta + eta)[0] - here + _NEVER) / eta)
            low = max(low, (here - laplace.cumulants(theta - eta)[0] - _NEVER) / eta)
        return cls(low, high)


@dataclass(frozen=True)
class _Control:
    """H(x) = Re Σ_k a_k e^{ihkx}, x = L − ε₀, which resembles w(x) = e^{−θx}D(−x); its mean; and a bound of |w − H|."""

    step: float
    waves: ComplexArray
    mean: float
    remainder: float

    def __call__(self, x: Array) -> Array:
        turn = np.exp(1j * self.step * x)
        result = np.full(x.shape, self.waves[-1])
        for wave in self.waves[-2::-1]:
            result *= turn
            result += wave
        return result.real

    @classmethod
    def of(cls, product: Product, theta: float, epsilon: float) -> "_Control":
        """The waves of w with period Λ = 2π/h: w is far from 0 between −μ²(½ + θ) ∓ 9μ and 30/θ beyond 0."""
        laplace, mu, m = Product(0.0, product.shifts), product.mu, product.mu_squared
        window = _Window.of(laplace, theta)
        left, right = epsilon - window.low, window.high - epsilon
        centre = m * (0.5 + theta)
        step = 2 * math.pi / max(left + 30 / theta, right + centre + 9 * mu)
        count = min(WAVES, max(8, _EVALUATIONS // len(product.shifts)))
        if mu > 0:
            count = min(count, max(8, math.ceil(8 / (mu * step))))
        z = theta + 1j * step * np.arange(count + 1)
        peak = math.exp(m * theta * (1 + theta) / 2)
        waves = np.exp(m * z * (1 + z) / 2) * kernel(z) * (step / math.pi)
        waves[0] /= 2
        shifts = np.asarray(product.shifts, dtype=np.float64)
        means = np.exp(laplace_cumulant(shifts, z) - laplace.cumulants(theta)[0] - (z - theta) * epsilon)
        end = count * step
        tail = peak * math.exp(-m * end**2 / 2) / (math.pi * end)
        period = 2 * math.pi / step
        copies = math.exp(-theta * (period - left)) / -math.expm1(-theta * period)
        if mu > 0:
            copies += 2 * peak * math.exp(-((period - right - centre) ** 2) / (2 * m))
        rounding = ROUNDING * (float(np.sum(np.abs(waves))) + peak)
        return cls(step, waves, float(np.sum(waves * means).real), tail + copies + rounding)


@dataclass(frozen=True)
class _Bet:
    """V_ε/B for B = e^{κ(θ) − θε₀}, between `least` and `most` for ε within `reach` of ε₀; and the stakes' basis.

    `least` holds for ε ≤ ε₀ + reach and `most` for ε ≥ ε₀ − reach, since V falls with ε.
    """

    product: Product
    theta: float
    epsilon: float
    log_scale: float
    control: Array
    losses: Array
    least: float
    most: float
    reach: float
    variances: Array

    @classmethod
    def at(cls, product: Product, epsilon: float, samples: int, rng: np.random.Generator) -> "_Bet":
        if samples < 2:
            raise PrivacyError(f"samples = {samples!r}: must be at least 2")
        theta = saddle_for(product, epsilon).theta
        losses = tilted_losses(product, theta, samples, rng)
        control = _Control.of(product, theta, epsilon)
        peak = math.exp(product.mu_squared * theta * (1 + theta) / 2)
        reach = min(control.remainder / peak / 4, 1 / theta)
        room = control.remainder + reach * peak * math.exp(theta * reach)  # |∂W/∂ε| ≤ B·e^{κ_G(θ) + θ(ε₀ − ε)}
        least, most = control.mean - room, control.mean + room
        bet = cls(
            product,
            theta,
            epsilon,
            Product(0.0, product.shifts).cumulants(theta)[0] - theta * epsilon,
            control(losses - epsilon) - control.mean,
            losses,
            least,
            most,
            reach,
            np.empty(0),
        )
        object.__setattr__(bet, "variances", _predicted(bet.values(epsilon), (most - least) / 2))
        return bet

    @property
    def scale(self) -> float:
        return math.exp(self.log_scale)

    def unit(self, delta: float) -> float:
        return math.exp(math.log(delta) - self.log_scale)

    def values(self, epsilon: float) -> Array:
        """V_ε/B of each sample."""
        with np.errstate(divide="ignore", over="ignore"):
            log_d = np.log(_hockey_stick(self.product.mu, epsilon - self.losses))
            return np.exp(log_d - self.theta * (self.losses - self.epsilon)) - self.control

    def above(self, values: Array, mean: float, alpha: float) -> bool:
        """Whether E[values] > mean is proven."""
        return self.least > mean or self._wealth(values - mean, mean, alpha)

    def below(self, values: Array, mean: float, alpha: float) -> bool:
        """Whether E[values] < mean is proven."""
        return self.most < mean or self._wealth(mean - values, mean, alpha)

    def _wealth(self, gains: Array, mean: float, alpha: float) -> bool:
        room = max(self.most, mean) - min(self.least, mean)
        stakes = np.minimum(np.sqrt(-2 * math.log(alpha) / (gains.size * self.variances)), BOLDEST / room)
        return float(np.sum(np.log1p(stakes * gains))) >= -math.log(alpha)

    def lower(self, delta: float, alpha: float) -> float:
        """The largest ε at which δ(ε) > δ is proven; 0 if at none."""
        mean = self.unit(delta) * (1 + ROUNDING) + ROUNDING * self.most

        def proven(epsilon: float) -> bool:
            return self.above(self.values(epsilon), mean, alpha)

        farthest = self.epsilon + self.reach
        if proven(farthest):
            return farthest
        return boundary(proven, 0.0, farthest) if proven(0.0) else 0.0

    def upper(self, delta: float, alpha: float) -> float:
        """The smallest ε at which δ(ε) < δ is proven, or that Chernoff's bound gives."""
        mean = self.unit(delta) * (1 - ROUNDING) - ROUNDING * self.most

        def proven(epsilon: float) -> bool:
            return self.below(self.values(epsilon), mean, alpha)

        nearest = max(self.epsilon - self.reach, 0.0)
        if proven(nearest):
            return nearest
        top = (self.product.cumulants(self.theta)[0] - math.log(delta)) / self.theta
        top = min(max(top, nearest), self.product.pure)
        return boundary(proven, top, nearest)


def _hockey_stick(mu: float, u: Array) -> Array:
    """D(u) = E[(1 − e^{u−G})₊] for G ~ N(μ²/2, μ²), u of either sign: D(−e) = 1 − e^{−e} + e^{−e}D(e)."""
    tail = gaussian_delta(np.asarray(mu), np.abs(u))
    return np.where(u >= 0, tail, -np.expm1(np.minimum(u, 0.0)) + np.exp(np.minimum(u, 0.0)) * tail)


def _predicted(values: Array, room: float) -> Array:
    """For each value the variance of those before it, with a first guess of room²/4 that counts as one value."""
    count = np.arange(1, values.size + 1)
    means = np.cumsum(values) / count
    squares = (values[1:] - means[:-1]) ** 2
    return (room**2 / 4 + np.concatenate([[0.0], np.cumsum(squares)])) / count
