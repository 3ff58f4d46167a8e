# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (dp_accounting ships no types)
"""Products of additive-noise releases with known differences: the law of their loss, δ(ε), and dp_accounting events.

A Gaussian release of σ covers a difference Δ; its loss ln p/q under P is N(μ²/2, μ²), μ = ‖Δ‖₂/σ, and losses of
several add to one with μ² = Σ ‖Δ_t‖₂²/σ_t². A Laplace coordinate of scale b covers a difference with shift s = |Δ|/b;
with noise y ~ Lap(1) its loss is |y − s| − |y|: s with probability ½ (an atom: every y ≤ 0), −s with probability
½e^{−s}, and between them density ¼e^{−(s−l)/2}. Noise is independent over factors, so that the loss L is a sum.

Both noises are symmetric: y ↦ Δ − y exchanges P and Q, so one δ(ε) = E_P[(1 − e^{ε−L})₊] speaks for both directions.
All numbers are of the mechanism, not of a transcript, and without a unit (losses in nats).

δ(ε) is computed by quadrature of the characteristic function, accurate to about 1e-9 of itself. (1 − e^{−x})₊ e^{−θx}
has the Fourier transform 1/((θ + it)(θ + 1 + it)), θ > 0; so, with κ(z) = ln E_P[e^{zL}],

    e^{θε} δ(ε) = f(ε) = 1/(2π) ∫ e^{κ(θ+it) − itε} / ((θ + it)(θ + 1 + it)) dt.

The trapezoidal sum at steps h gives Σ_m f(ε + mΛ) with Λ = 2π/h (Poisson), all terms of one sign: too much, by less
than e^{−θΛ} and Chernoff's bound. It ends at T = Kh, and the rest is at most `_tail`. θ is the saddle point of the
integrand on the real line, where its terms hardly cancel: δ keeps its relative accuracy however small it is.

The events carry the whole difference of the two worlds, whatever relation these are in: leave an accountant's
neighboring relation at its default (under REPLACE_ONE dp_accounting 0.6 doubles the difference of a Gaussian event).
dp_accounting is the extra `accounting`; without it an `ImportError` names it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attacks.audit.accounting.formulas import gaussian_delta, gaussian_epsilon
from attacks.audit.accounting.intervals import check_delta
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.errors import PrivacyError, install

ComplexArray = NDArray[np.complex128]
_BLOCK = 1_000_000
_NEGLIGIBLE = 1e-11
"""Relative error that a quadrature is made for."""
_NODES = 150_000
"""Nodes of one quadrature, at most; and so many times `_FACTORS` evaluations of one factor."""
_FACTORS = 100
_ROOTS = 1e-13
"""Tolerance of a root, relative to ε and to 1/θ."""
_DOUBLINGS = 60


@dataclass(frozen=True)
class Product:
    """Gaussian releases of total `mu_squared` = Σ(‖Δ_t‖₂/σ_t)², and Laplace coordinates of `shifts` |Δ|/b.

    Both are at least 0, and may be ∞ (no noise covers a difference). Shifts are kept in falling order and without
    zeros: products that are equal but for the order of their factors, or for factors without a difference, are equal
    and give the same numbers to the last bit. Raises `PrivacyError` for a negative number or NaN.
    """

    mu_squared: float = 0.0
    shifts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        shifts = np.asarray(self.shifts, dtype=np.float64).ravel()
        for name, value in (("mu_squared", np.asarray(self.mu_squared)), ("shifts", shifts)):
            if not np.all(value >= 0):
                raise PrivacyError(f"{name} = {value!r}: must be at least 0, and a number")
        object.__setattr__(self, "mu_squared", float(self.mu_squared))
        object.__setattr__(self, "shifts", tuple(np.sort(shifts[shifts > 0])[::-1].tolist()))

    @classmethod
    def gaussian(cls, difference: ArrayLike, stddev: ArrayLike) -> "Product":
        """Gaussian noise of `stddev` per coordinate over `difference`; any shapes that broadcast."""
        ratios = _ratios("stddev", difference, stddev)
        return cls(float(np.sum(np.sort(ratios, axis=None) ** 2)))

    @classmethod
    def laplace(cls, difference: ArrayLike, scale: ArrayLike) -> "Product":
        """Laplace noise of `scale` per coordinate over `difference`; any shapes that broadcast."""
        return cls(0.0, tuple(_ratios("scale", difference, scale).ravel().tolist()))

    @property
    def mu(self) -> float:
        """√(Σ (‖Δ_t‖₂/σ_t)²): the Gaussian releases lose as one with difference μ and σ = 1 does."""
        return math.sqrt(self.mu_squared)

    @property
    def pure(self) -> float:
        """Largest loss, that is ε at δ = 0: the sum of the shifts, or ∞ with a Gaussian release."""
        return math.inf if self.mu_squared > 0 else math.fsum(self.shifts)

    @property
    def finite(self) -> bool:
        """Whether noise covers every difference."""
        return math.isfinite(self.mu_squared) and all(map(math.isfinite, self.shifts))

    def __mul__(self, other: "Product") -> "Product":
        """Composition with another product, noise independent."""
        return Product(self.mu_squared + other.mu_squared, self.shifts + other.shifts)

    def rounds(self, count: int) -> "Product":
        """Composition of `count` copies, each with fresh noise."""
        if count < 0:
            raise PrivacyError(f"count = {count!r}: must be at least 0")
        return Product(self.mu_squared * count if count else 0.0, self.shifts * count)

    def scaled(self, factor: float) -> "Product":
        """Product with all differences times `factor`."""
        if not factor >= 0:
            raise PrivacyError(f"factor = {factor!r}: must be at least 0")
        if factor == 0:
            return Product()
        return Product(self.mu_squared * factor**2, tuple(s * factor for s in self.shifts))

    @cached_property
    def levels(self) -> tuple[Array, Array]:
        """Distinct shifts, rising, and how many coordinates have each."""
        values, counts = np.unique(np.asarray(self.shifts, dtype=np.float64), return_counts=True)
        return values, counts.astype(np.float64)

    def closed_delta(self, epsilon: float) -> float | None:
        """Hockey-stick divergence δ(ε), ε ≥ 0, where there is a formula; None elsewhere.

        Gaussian releases alone: Balle, Wang 2018, Theorem 8. One Laplace coordinate alone: 1 − e^{(ε−s)/2} for ε ≤ s,
        for its loss exceeds ε with density ¼e^{−(s−l)/2} and the atom ½ at s. Above the largest loss: 0.
        """
        if not epsilon >= 0:
            raise PrivacyError(f"epsilon = {epsilon!r}: must be at least 0")
        if epsilon >= self.pure and self.finite:
            return 0.0
        if not self.finite:
            return 1.0
        if not self.shifts:
            return gaussian_delta(self.mu, epsilon)
        if len(self.shifts) == 1 and self.mu_squared == 0:
            return -math.expm1((epsilon - self.shifts[0]) / 2)
        return None

    def closed_epsilon(self, delta: float) -> float | None:
        """Smallest ε ≥ 0 with δ(ε) ≤ δ where there is a formula; None elsewhere."""
        check_delta(delta)
        if delta == 1:
            return 0.0
        if delta == 0 or not self.finite:
            return self.pure
        if not self.shifts:
            return gaussian_epsilon(self.mu, delta)
        if len(self.shifts) == 1 and self.mu_squared == 0:
            return max(self.shifts[0] + 2 * math.log1p(-delta), 0.0)
        return None

    def cumulants(self, theta: float) -> tuple[float, float, float]:
        """κ(θ) = ln E_P[e^{θL}], κ'(θ) and κ''(θ) at real θ: mean and variance of L under the density ∝ P·e^{θL}.

        With w = θ + ½ a Laplace factor has E[e^{θl}] = e^{−s/2}(cosh ws + sinh(ws)/(2w)): κ(θ) = κ(−1 − θ).
        The derivatives lose digits next to θ = −½.
        """
        s, count = self.levels
        w, side = max(abs(theta + 0.5), 1e-8), math.copysign(1.0, theta + 0.5)
        gone = -np.expm1(-2 * w * s)
        plus, minus = 2 - gone, gone  # 2cosh(ws) and 2sinh(ws), over e^{ws}
        total = plus + minus / (2 * w)
        first = (s * minus + s * plus / (2 * w) - minus / (2 * w**2)) / total
        second = (s**2 * plus + s**2 * minus / (2 * w) - s * plus / w**2 + minus / w**3) / total - first**2
        m = self.mu_squared
        return (
            m * theta * (1 + theta) / 2 + float(np.sum(count * (w * s - s / 2 + np.log(total / 2)))),
            m * (theta + 0.5) + side * float(np.sum(count * first)),
            m + float(np.sum(count * np.maximum(second, 0.0))),
        )

    def characteristic(self, theta: float, t: Array, origin: float) -> ComplexArray:
        """E_θ[e^{it(L − origin)}] under the density ∝ P·e^{θL}, θ > −½; the shape of `t`, which is flat."""
        s, count = self.levels
        phase = math.fsum(self.shifts) - origin
        result = np.exp(1j * t * phase + self.mu_squared * (1j * t * (theta + 0.5) - t**2 / 2))
        w = (theta + 0.5 + 1j * t)[:, None]
        rows = max(1, _BLOCK // max(1, t.size))
        for start in range(0, s.size, rows):
            part = slice(start, start + rows)
            gone = -np.expm1(-(2 * theta + 1) * s[part])
            turned = 1 - np.exp(-2 * w * s[part])
            factor = (2 - turned + turned / (2 * w)) / (2 - gone + gone / (2 * theta + 1))
            result *= np.prod(factor ** count[part] if np.any(count[part] != 1) else factor, axis=1)
        return result


def _ratios(name: str, difference: ArrayLike, scale: ArrayLike) -> Array:
    """|Δ|/scale; 0 where both are 0, ∞ where only the scale is."""
    change, spread = np.broadcast_arrays(np.abs(np.asarray(difference, float)), np.asarray(scale, float))
    if not (np.all(spread >= 0) and np.all(np.isfinite(spread)) and np.all(change >= 0)):
        raise PrivacyError(f"{name} = {scale!r}, difference = {difference!r}: need finite {name} ≥ 0 and no NaN")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(change == 0, 0.0, change / spread)


class _Saddle(NamedTuple):
    """Saddle point θ > 0, and the likely ε and ln δ there: a guess from κ alone."""

    theta: float
    epsilon: float
    log_delta: float


def saddle(product: Product, delta: float) -> _Saddle:
    """Saddle point for the ε ≥ 0 at which δ(ε) is about `delta` (for ε = 0 if that much is never lost).

    `product` is finite and not empty, δ > 0.
    """
    return _where(product, lambda at: at.epsilon >= 0 and at.log_delta <= math.log(delta))


def saddle_for(product: Product, epsilon: float) -> _Saddle:
    """Saddle point for an ε ≥ 0, below the largest loss."""
    return _where(product, lambda at: at.epsilon >= epsilon)._replace(epsilon=epsilon)


def _where(product: Product, far: Callable[[_Saddle], bool]) -> _Saddle:
    """First saddle point that is `far` enough: ε rises with θ, and δ falls."""
    low, high = math.log(1e-9), math.log(1e15)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if far(_saddle_at(product, middle)) else (middle, high)
    return _saddle_at(product, high)


def _saddle_at(product: Product, log_theta: float) -> _Saddle:
    """Stationary point of the integrand: ε = κ'(θ) − 1/θ − 1/(1+θ), and with g'' = κ''(θ) + 1/θ² + 1/(1+θ)²

    δ ≈ e^{κ(θ) − θε} / (θ(1+θ)√(2πg'')).
    """
    theta = math.exp(log_theta)
    value, first, second = product.cumulants(theta)
    epsilon = first - 1 / theta - 1 / (1 + theta)
    bend = second + theta**-2 + (1 + theta) ** -2
    prefactor = math.log(theta) + math.log1p(theta) + math.log(2 * math.pi * bend) / 2
    return _Saddle(theta, epsilon, value - theta * epsilon - prefactor)


def _loss_bound(product: Product, epsilon: float, log_mass: float, theta: float) -> float:
    """Smallest found x with e^{θx}·P(L > ε + x) ≤ e^{log_mass}, by Chernoff's bound at the best of many η > θ."""
    exceed = product.pure - epsilon
    for eta in theta * (1 + np.geomspace(1e-3, 1e3, 40)):
        exceed = min(exceed, (product.cumulants(eta)[0] - eta * epsilon - log_mass) / (eta - theta))
    return max(exceed, 0.0)


@dataclass(frozen=True)
class _Contour:
    """Integrand at θ + it_k, t_k = 0, h, …, Kh, over e^{κ(θ) − (θ+it)ε₀}, times h/π (half of that at t = 0).

    ε₀ is `origin`; what lies beyond Kh is at most `_tail`, in the same units.
    """

    product: Product
    theta: float
    origin: float
    step: float
    nodes: ComplexArray

    def delta(self, epsilon: float) -> float:
        """δ(ε); most accurate for ε near the one that the contour was made for."""
        turn = np.exp(-1j * self.step * (epsilon - self.origin) * np.arange(self.nodes.size))
        scale = math.exp(min(self.product.cumulants(self.theta)[0] - self.theta * epsilon, 700.0))  # e^{κ(θ) − θε}
        return scale * float(np.sum(self.nodes * turn).real)


def _contour(product: Product, at: _Saddle) -> _Contour:
    """Contour for ε ≥ 0 near that of a saddle point."""
    theta, epsilon, log_delta = at
    floor = math.log(_NEGLIGIBLE) + min(log_delta, 0.0)
    period = max(-floor / theta, _loss_bound(product, epsilon, floor, theta)) + 1 / theta
    step = 2 * math.pi / period
    most = min(_NODES, max(1000, _FACTORS * _NODES // max(1, product.levels[0].size)))
    wanted = floor - product.cumulants(theta)[0] + theta * epsilon
    count = 16
    while count < most and math.log(_tail(product, theta, count * step)) > wanted:
        count *= 2
    count = min(count, most)
    t = np.asarray(step * np.arange(count + 1), dtype=np.float64)
    nodes = product.characteristic(theta, t, epsilon) * kernel(theta, t) * (step / math.pi)
    nodes[0] /= 2
    return _Contour(product, theta, epsilon, step, nodes)


def kernel(theta: float, t: Array) -> ComplexArray:
    """1/(z(z+1)) at z = θ + it: the Fourier transform of e^{−θx}(1 − e^{−x})₊."""
    z = np.asarray(theta + 1j * t, dtype=np.complex128)
    return 1 / (z * (z + 1))


def _tail(product: Product, theta: float, end: float) -> float:
    """Σ_{t>T} (h/π)·|E[e^{(θ+it)L}]| e^{−κ(θ)}/t² ≤ ρ(T)/(πT), where ρ bounds the characteristic function from T on.

    A Laplace factor is at most ½e^{θs}(1 + r + (1 + r)/|1 + 2θ + 2it|), r = e^{−(1+2θ)s}, which falls with t.
    """
    s, count = product.levels
    r = np.exp(-(1 + 2 * theta) * s)
    most = (1 + r) * (1 + 1 / abs(1 + 2 * theta + 2j * end)) / (1 + r + (1 - r) / (1 + 2 * theta))
    log_rho = float(np.sum(count * np.log(most))) - product.mu_squared * end**2 / 2
    return math.exp(max(min(log_rho, 700.0), -700.0)) / (math.pi * end)


def product_delta(product: Product, epsilon: float) -> float:
    """Hockey-stick divergence δ(ε), ε ≥ 0: closed form, or else quadrature, to about 1e-9 of itself.

    For few Laplace coordinates and no Gaussian release, whose characteristic function does not vanish, to about 1e-4
    of itself.
    """
    found = product.closed_delta(epsilon)
    if found is not None:
        return found
    line = _contour(product, saddle_for(product, epsilon))
    return min(max(line.delta(epsilon), 0.0), 1.0)


def product_epsilon(product: Product, delta: float) -> float:
    """Smallest ε ≥ 0 with δ(ε) ≤ δ, in closed form or else by quadrature (see `product_delta`)."""
    found = product.closed_epsilon(delta)
    return _root(product, delta) if found is None else found


@lru_cache(maxsize=64)
def _root(product: Product, delta: float) -> float:
    """Root between bounds around the saddle point's ε that grow until they hold it; at most the largest loss."""
    at = saddle(product, delta)
    if at.epsilon >= product.pure * (1 - _ROOTS):
        return product.pure
    line = _contour(product, at)
    low = high = at.epsilon
    width = max(1 / at.theta, _ROOTS * high)
    for _ in range(_DOUBLINGS):
        if line.delta(low) > delta or low == 0:
            break
        low, width = max(low - width, 0.0), 2 * width
    if line.delta(low) <= delta:
        return 0.0
    for _ in range(_DOUBLINGS):
        if line.delta(high) <= delta or high == product.pure:
            break
        high, width = min(high + width, product.pure), 2 * width
    if line.delta(high) > delta:
        return product.pure
    from scipy import optimize  # takes its time to load

    return float(optimize.brentq(lambda e: line.delta(e) - delta, low, high, xtol=_ROOTS / at.theta))


def claimed_event(claim: Claim) -> Any:
    """DpEvent of the worst mechanism with a claim of pure ε: loses ε with probability e^ε/(1 + e^ε), and −ε else.

    That is randomized response, to which every ε-DP mechanism reduces (Kairouz, Oh, Viswanath 2015): a composition
    that dp_accounting makes with it holds for every mechanism that keeps the claim. ε = 0 is no event; ε = ∞, or a
    formula whose conditions fail, is a `NonPrivateDpEvent`. Raises `PrivacyError` for δ > 0: see `claimed_loss`.
    """
    # Written as discrete Laplace noise of parameter ε over a difference of 1, whose loss is the same: dp_accounting
    # counts a `RandomizedResponseDpEvent` once, however often it is composed.
    events = _accounting().dp_event
    if claim.epsilon is None or math.isinf(claim.epsilon):
        return events.NonPrivateDpEvent()
    if claim.delta > 0:
        raise PrivacyError(
            f"delta = {claim.delta!r}: dp_accounting has no event for (ε, δ); claimed_loss has its loss"
        )
    if claim.epsilon == 0:
        return events.NoOpDpEvent()
    return events.DiscreteLaplaceDpEvent(claim.epsilon, 1)


def claimed_loss(claim: Claim) -> Any:
    """Dominating `PrivacyLossDistribution` of mechanisms that keep the (ε, δ) claim; it composes with others.

    Raises `PrivacyError` for a claim without a finite ε.
    """
    if claim.epsilon is None or math.isinf(claim.epsilon):
        raise PrivacyError(f"epsilon = {claim.epsilon!r}: nothing is claimed of which there is a loss")
    _accounting()
    from dp_accounting.pld import common, privacy_loss_distribution

    parameters = common.DifferentialPrivacyParameters(claim.epsilon, claim.delta)
    return privacy_loss_distribution.from_privacy_parameters(parameters)


def product_event(product: Product) -> Any:
    """DpEvent of a product: one Gaussian event for all Gaussian releases, a Laplace event for each shift.

    Exact, not a bound: dp_accounting's accountants get the numbers of `product_epsilon`, up to their grid. A
    difference that no noise covers is a `NonPrivateDpEvent`, an empty product a `NoOpDpEvent`.
    """
    events = _accounting().dp_event
    if not product.finite:
        return events.NonPrivateDpEvent()
    parts: list[Any] = [events.GaussianDpEvent(1 / product.mu)] if product.mu_squared else []
    for shift, count in zip(*product.levels, strict=True):
        one = events.LaplaceDpEvent(1 / float(shift))
        parts.append(one if count == 1 else events.SelfComposedDpEvent(one, int(count)))
    if not parts:
        return events.NoOpDpEvent()
    return parts[0] if len(parts) == 1 else events.ComposedDpEvent(parts)


def _accounting() -> ModuleType:
    try:
        import dp_accounting
    except ImportError as error:
        raise ImportError(f"dp_accounting is not installed: {install('accounting')}") from error
    return dp_accounting
