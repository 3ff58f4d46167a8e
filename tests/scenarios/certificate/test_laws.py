"""The certificate's truths come from no part of the auditor, and agree with it."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from attacks.audit.accounting import formulas as accounting
from scenarios.certificate import worlds as laws


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.05])
def test_gaussian_noise_agrees_with_the_accountant(epsilon, delta):
    mu = laws.gaussian_mu(epsilon, delta)
    assert laws.gaussian_epsilon(mu, delta) == pytest.approx(epsilon, abs=1e-9)
    assert accounting.gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-7)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_laplace_noise_by_quadrature(epsilon):
    shift = laws.laplace_shift(epsilon, 0.05)

    def excess(t):
        return max(stats.laplace.pdf(t) - math.exp(epsilon) * stats.laplace.pdf(t - shift), 0.0)

    assert integrate.quad(excess, -40, 40, points=[0, shift / 2, shift], limit=400)[0] == pytest.approx(
        0.05, rel=1e-5
    )


def test_discrete_gaussian_noise_on_a_fine_grid_is_gaussian_noise():
    assert laws.discrete_gaussian_epsilon(1000, 800.0, 1e-3) == pytest.approx(
        laws.gaussian_epsilon(1000 / 800, 1e-3), rel=1e-3
    )


@pytest.mark.slow
def test_discrete_gaussian_noise_by_sampled_losses():
    """A million losses of noise drawn from the law's own table, from the auditor's interval."""
    shift, steps, delta = 4, 3.0, 0.05
    k = np.arange(-60, 61)
    mass = np.exp(-0.5 * (k / steps) ** 2)
    drawn = np.random.default_rng(0).choice(k, 1_000_000, p=mass / mass.sum())
    losses = (-(drawn**2) + (drawn - shift) ** 2) / (2 * steps**2)
    found = accounting.epsilon_from_losses(losses[:100_000], delta, 0.999)
    assert laws.discrete_gaussian_epsilon(shift, steps, delta) in found
    assert accounting.epsilon_estimate(losses, delta) == pytest.approx(
        laws.discrete_gaussian_epsilon(shift, steps, delta), rel=0.02
    )


def test_what_costs_nothing():
    assert laws.gaussian_epsilon(0.05, 0.05) == 0
