"""The loss of codes: integrals against sixty digits and against convolutions; the law of a likelihood ratio."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.audit.loss.codes import code_loss, product_form
from netsim.codecs import FixedPoint, Float16, Quantizer, RandomK, ScaledSign, TopK
from netsim.mechanisms import DiscreteLaplace, Gaussian, Laplace

LAWS = [Laplace(0.7), Gaussian(0.7)]
CODECS = [
    Float16(), FixedPoint(4, 3.0), FixedPoint(3, 2.0, "stochastic"), RandomK(2), TopK(3), Quantizer(1, "linf"),
    Quantizer(3, "linf"), Quantizer(4), Quantizer(2), ScaledSign(),
]  # fmt: skip


def loss_of(codec, code, law, value, other):
    return code_loss(codec, np.array([code]), (law, law), (np.array([value]), np.array([other])))[0]


# ── one coordinate, sixty digits ────────────────────────────────────────────────────────────────────────
def antiderivatives(law, t):
    """∫_{−∞}^t p and ∫_{−∞}^t u p(u) du of noise of scale 1, accurate for t ≤ 0."""
    if isinstance(law, Gaussian):
        density = mpmath.exp(-t * t / 2) / mpmath.sqrt(2 * mpmath.pi)
        return mpmath.erfc(-t / mpmath.sqrt(2)) / 2, -density
    tail = mpmath.exp(-abs(t)) / 2
    return (tail, (t - 1) * tail) if t < 0 else (1 - tail, -(t + 1) * tail)


def linear(law, low, high, start, end):
    """∫ p(u)·(weight that is linear from start to end) over an interval in units of the noise."""
    if low > 0:
        low, high, start, end = -high, -low, end, start
    (m0, f0), (m1, f1) = antiderivatives(law, low), antiderivatives(law, high)
    slope = (end - start) / (high - low)
    return (start - slope * low) * (m1 - m0) + slope * (f1 - f0)


def stochastic(law, codec, k, value):
    """P(k | value) of the grid point k, with as many digits as are set."""
    value, step, scale = mpmath.mpf(value), mpmath.mpf(codec.step), mpmath.mpf(0.7)
    at = [(j * step - value) / scale for j in (k - 1, k, k + 1)]
    far = mpmath.mpf(10) ** 6
    up = linear(law, at[0], at[1], 0, 1) if k > -codec.levels else linear(law, -far, at[1], 1, 1)
    return up + (linear(law, at[1], at[2], 1, 0) if k < codec.levels else linear(law, at[1], far, 1, 1))


@pytest.mark.parametrize("law", LAWS, ids=repr)
@settings(max_examples=60, deadline=None)
@given(
    k=st.integers(-7, 7), size=st.floats(-5, 3).map(lambda power: 10.0**power), value=st.floats(-30, 30),
    apart=st.floats(-5, 5),
)  # fmt: skip
def test_a_stochastic_grid_against_sixty_digits(law, k, size, value, apart):
    """Thin and thick steps, and tails of 40 and more deviations: 1e−10 of each logarithm, but for the rounding of the
    numbers that are handed over."""
    codec = FixedPoint(4, size, "stochastic")
    with mpmath.workdps(60):
        logs = [float(mpmath.log(stochastic(law, codec, k, v))) for v in (value, value + apart)]
    found = loss_of(codec, [k * codec.step], law, [value], [value + apart])
    rounding = 1e-15 * (1 + abs(value) + abs(apart)) ** 2
    assert found == pytest.approx(logs[0] - logs[1], abs=rounding + 1e-10 * max(1, *map(abs, logs)))


@pytest.mark.parametrize("law", LAWS, ids=repr)
@settings(max_examples=40, deadline=None)
@given(value=st.floats(-3, 3), low=st.floats(-20, 20), bits=st.integers(4, 30))
def test_cells_against_sixty_digits(law, value, low, bits):
    codec = FixedPoint(bits, 20.0)
    code = codec.encode(np.array([[low]]))
    ends = [float(end[0, 0]) for end in codec.cells(code)]
    with mpmath.workdps(60):
        bounded = [min(max(mpmath.mpf(end), -100000), 100000) for end in ends]
        at = [[(end - mpmath.mpf(v)) / mpmath.mpf(0.7) for end in bounded] for v in (value, value + 0.3)]
        logs = [float(mpmath.log(linear(law, *ends, 1, 1))) for ends in at]
    found = loss_of(codec, [code[0, 0]], law, [value], [value + 0.3])
    rounding = 1e-15 * (1 + abs(low - value)) ** 2 * (1 + 1 / codec.step) * 20
    assert found == pytest.approx(logs[0] - logs[1], abs=rounding + 1e-10 * max(1, *map(abs, logs)))


# ── a norm on the wire ──────────────────────────────────────────────────────────────────────────────────
def on_a_grid(densities, points):
    """The density at 1 of a sum of numbers on [0, 1], by convolution on a grid."""
    total = densities[0]
    for density in densities[1:]:
        # trapezoids: half of both ends
        ends = total[0] * density + density[0] * total
        total = (np.convolve(total, density)[:points] - ends / 2) / (points - 1)
    return total[-1]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_integral_over_the_sphere_against_convolutions(law):
    """Levels so far from 0 that the density of each square is bounded, and no common factor."""
    rng = np.random.default_rng(0)
    value, other = rng.normal(0, 0.3, (2, 6))
    levels, codec = np.array([3, -4, 2, 5, -3, 2]), Quantizer(4)
    code, norm = levels / 4, codec.levels * codec.shrinkage(6) / 4
    logs: list[float] = []
    for v in (value, other):
        found: list[float] = []
        for points in (4001, 8001):
            u = np.linspace(0, 1, points)
            parts: list[np.ndarray] = []
            for level, mean in zip(levels, v, strict=True):
                x = np.sign(level) * np.sqrt(u)
                tent = np.maximum(1 - np.abs(codec.levels * x - level), 0.0)
                density = np.exp(law.log_density(norm * x[:, None], np.full((points, 1), mean)))
                with np.errstate(divide="ignore", invalid="ignore"):
                    parts.append(np.where(tent > 0, density * tent / (2 * np.sqrt(u)), 0.0))
            found.append(np.log(on_a_grid(parts, points)))
        logs.append(found[1] + (found[1] - found[0]) / 3)
    assert abs(logs[0] - logs[1]) > 0.1
    assert loss_of(codec, code, law, value, other) == pytest.approx(logs[0] - logs[1], abs=1e-4)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize(
    ("signs", "norm", "points", "error"),
    [([1, -1, 1, 1, -1, 1], 3.0, 8001, 1e-5), ([1] * 16, 40.0, 2001, 1e-3)], ids=["usual", "far out"],
)  # fmt: skip
def test_scaled_signs_against_convolutions(law, signs, norm, points, error):
    """And at a norm four times the usual, of probability e^−80 under Gaussian noise: a contour that does not pass the
    saddle point would have to cancel all of that."""
    value, other = np.random.default_rng(1).normal(0, 0.3, (2, len(signs)))
    u = np.linspace(0, 1, points)
    logs: list[float] = []
    for v in (value, other):
        parts = [
            np.exp(law.log_density((norm * sign * u)[:, None], np.full((points, 1), mean)))
            for sign, mean in zip(signs, v, strict=True)
        ]
        logs.append(np.log(on_a_grid(parts, points)))
    code = np.array(signs) * norm / len(signs)
    assert loss_of(ScaledSign(), code, law, value, other) == pytest.approx(logs[0] - logs[1], abs=error)


# ── what makes a likelihood ratio one ───────────────────────────────────────────────────────────────────
@pytest.mark.few(3)
@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_it_changes_one_law_into_the_other(codec, law):
    """E_D[e^{−L} f(code)] = E_D'[f(code)] for any f: that determines L. Where L is a lower bound the left side is no
    less. Eight f, two samples of up to 3,000: beyond 5 deviations once in 10,000 runs of all of them."""
    dimension, rng, size = 8, np.random.default_rng(2), 3000 if product_form(codec) else 100
    value = np.broadcast_to(rng.normal(0, 0.5, dimension), (size, dimension))
    other = value + rng.uniform(-0.4, 0.4, dimension)
    codes = [codec.encode(x, rng.random(x.shape)) for x in (law.release(v, rng) for v in (value, other))]
    losses = code_loss(codec, codes[0], (law, law), (value, other))
    tests = [
        np.ones_like, *(lambda c, k=k: c[:, k] > 0 for k in range(3)), *(lambda c, k=k: c[:, k] == 0 for k in (0, 4)),
    ]  # fmt: skip
    tests += [lambda c: np.max(np.abs(c), axis=1) > 1, lambda c: np.abs(c[:, 5]) > 0.5]
    for test in tests:
        here, there = (np.asarray(test(code), dtype=float).reshape(size, -1)[:, 0] for code in codes)
        weighted = np.exp(-losses) * here
        error = np.hypot(np.std(weighted), np.std(there)) / np.sqrt(size) + 1e-9
        gap = (np.mean(weighted) - np.mean(there)) / error
        assert gap > -5
        assert gap < 5 or not product_form(codec)


@pytest.mark.few(5)
@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_a_code_loses_no_more_than_the_release(codec, law):
    """Data processing: the mean loss (a divergence) of the codes is at most that of the releases, but for 5
    deviations; at δ = 0 no code loses more than ‖Δ‖₁/b."""
    rng, size = np.random.default_rng(3), 2000 if product_form(codec) else 50
    value = np.broadcast_to(rng.normal(0, 0.5, 8), (size, 8))
    other = value + rng.uniform(-0.4, 0.4, 8)
    x = law.release(value, rng)
    losses = code_loss(codec, codec.encode(x, rng.random(x.shape)), (law, law), (value, other))
    whole = law.log_density(x, value) - law.log_density(x, other)
    assert np.mean(losses - whole) <= 5 * np.std(losses - whole) / np.sqrt(size)
    if isinstance(law, Laplace):
        assert np.max(np.abs(losses)) <= np.sum(np.abs(value - other), axis=1)[0] / 0.7 + 1e-6


# ── what is not known, and what has no noise ────────────────────────────────────────────────────────────
def test_of_other_laws_nothing_is_said():
    zero = np.zeros((2, 3))
    for law in (DiscreteLaplace(1.0, 0.1), Laplace(np.array([1.0, 0.0, 1.0]))):
        assert code_loss(TopK(1), zero, (law, law), (zero, zero)) is None
    assert code_loss(FixedPoint(3), np.full((2, 3), np.nan), (Laplace(1.0),) * 2, (zero, zero)) is None


@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
def test_a_coordinate_without_noise_is_possible_or_not(rounding):
    codec, law = FixedPoint(3, 3.0, rounding), Laplace(np.array([0.7, 0.0]))
    whole = (
        FixedPoint(3, 3.0, rounding), np.array([[1.0]]), (Laplace(0.7),) * 2, (np.array([[0.2]]), np.array([[0.9]])),
    )  # fmt: skip
    for far, expected in ((0.1, code_loss(*whole)[0]), (2.1, np.inf)):
        values = np.array([[0.2, 1.9]]), np.array([[0.9, 1.9 + far]])
        found = code_loss(codec, np.array([[1.0, 2.0]]), (law, law), values)
        assert found[0] == pytest.approx(expected)
