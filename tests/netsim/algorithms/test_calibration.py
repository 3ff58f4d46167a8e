"""Noise from a target ε: the formula, put back, gives the target."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from netsim.algorithms import Algorithm, DPRecal, PrivateGradientDescent
from netsim.claims import Adjacency, Claim, Clip
from netsim.errors import PrivacyError
from netsim.schedules import Constant, Geometric, UniformDraws
from netsim.simulation import setting_of
from tests.worlds import synthetic_problem

ADJACENCY = Adjacency(1.0, "one record")


def claim(epsilon, *failed):
    return Claim(None if failed else epsilon, 0.0, "a test", ADJACENCY, "ℓ1", failed)


@dataclass(frozen=True)
class Formula(Algorithm):
    """Claims what a formula makes of its scale."""

    formula: Callable
    scale: float = 1.0
    noise_fields = ("scale",)

    async def run(self, node):
        raise NotImplementedError

    def claim(self, adjacency, setting, delta):
        return self.formula(self.scale)


def factor(formula, target, delta=0.0):
    return Formula(formula).calibrated(target, delta, ADJACENCY, None).scale


@pytest.mark.parametrize("target", [1e-6, 0.3, 1.0, 7.5, 1e4])
def test_a_formula_that_falls_as_one_over_the_noise_is_met_to_the_last_digit(target):
    assert 3.7 / factor(lambda f: claim(3.7 / f), target) == pytest.approx(target, rel=1e-15)


@pytest.mark.parametrize("target", [1e-3, 1.0, 40.0])
def test_other_formulas_are_solved(target):
    def zcdp(f):
        rho = 2 / f**2
        return claim(rho + 2 * math.sqrt(rho * math.log(1e5)))

    assert zcdp(factor(zcdp, target, 1e-5)).epsilon == pytest.approx(target, rel=1e-11)


@pytest.mark.parametrize(
    ("formula", "target", "reason"),
    [
        (lambda _: claim(1.0, "q is too small"), 1.0, "q is too small"), (lambda _: None, 1.0, "nothing is claimed"),
        (lambda _: claim(2.0), 1.0, "no noise up to"), (lambda f: claim(1 / f), 0.0, "need ε > 0"),
        (lambda f: claim((1e300 / f) ** 2), 1.0, "claim is no number"),
    ],
)  # fmt: skip
def test_what_cannot_be_calibrated_is_refused_with_its_reason(formula, target, reason):
    with pytest.raises(PrivacyError, match=reason):
        factor(formula, target)


@pytest.mark.parametrize("scale", [Constant(0.2), Geometric(3.0, 0.9), UniformDraws(0.1, 0.3, 1)])
def test_an_algorithm_keeps_the_shape_of_its_noise(scale):
    shape = PrivateGradientDescent(12, Constant(0.1), scale, Clip(1.0, "l2"))
    setting = setting_of(synthetic_problem(), None, 12)
    got = shape.calibrated(1.5, 0.0, ADJACENCY, setting)
    assert got.claim(ADJACENCY, setting, 0.0).epsilon == pytest.approx(1.5, rel=1e-12)
    assert got.scale(7) / got.scale(0) == pytest.approx(scale(7) / scale(0), rel=1e-12)


def test_an_algorithm_without_noise_has_none_to_scale():
    shape = PrivateGradientDescent(12, Constant(0.1), Constant(0.0), Clip(1.0))
    setting = setting_of(synthetic_problem(), None, 12)
    with pytest.raises(PrivacyError, match="b_1 = 0"):
        shape.calibrated(1.0, 0.0, ADJACENCY, setting)


@pytest.mark.parametrize("ratio", [1.0, 1.02, 1.05, 1.5, 4.0])
def test_theorem_4_leaves_the_last_release_a_least_noise_whatever_r_is(ratio):
    """The last of Θ releases costs no more than all of them, 8α²β²c²/σ_Θ² <= ρ(ε, δ): at ε = 12 its noise is at least
    αβc√(8/ρ), and the more, the smaller R. The DP-RECAL paper prints relative errors of 1e-15 there."""
    problem, theta = synthetic_problem(agents=6), 300
    algorithm = DPRecal(0.2, per_agent=theta, stddev=1.0, ratio=ratio)
    made = algorithm.calibrated(12.0, 1e-3, ADJACENCY, setting_of(problem, None, theta))
    rho = (math.sqrt(math.log(1e3) + 12) - math.sqrt(math.log(1e3))) ** 2
    least = 0.2 / (2 * 7) * 0.5 * math.sqrt(8 / rho)
    assert made.noise(theta).stddev >= least
    terms = theta if ratio == 1 else (1 - ratio**-theta) / (1 - 1 / ratio)
    assert made.noise(theta).stddev == pytest.approx(least * math.sqrt(terms), rel=1e-9)
