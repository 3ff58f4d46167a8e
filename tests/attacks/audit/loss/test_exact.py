"""Levels of a direction: by formula, proven by no more than the truth, and with all that an activation sent."""

import math

import numpy as np
import pytest

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.loss.exact import ExactLoss
from netsim.algorithms import Algorithm
from netsim.mechanisms import Gaussian, Laplace
from tests.attacks.auditing import Releases, explained

SHIFT = 1 / 8
"""Between the gradients of the two worlds at 0 in each of four coordinates."""


def test_levels_of_gaussian_releases_are_by_formula_and_proven_below_it():
    """The largest of 50 losses is far above ε(δ): it is no lower end at δ > 0."""
    stddevs, delta = (0.2, 0.1, 0.3), 0.02
    found = ExactLoss.of([explained(Releases(tuple(map(Gaussian, stddevs))), 50)], delta, 0.95)
    truths = [gaussian_epsilon(math.sqrt(mu), delta) for mu in np.cumsum([4 * SHIFT**2 / s**2 for s in stddevs])]
    assert found.by_formula
    assert [level.estimate for level in found.growth] == pytest.approx(truths, rel=1e-9)
    assert all(level.lower <= truth for level, truth in zip(found.growth, truths, strict=True))
    assert [(level.release, level.activation) for level in found.growth] == [(0, 1), (1, 1), (2, 1)]


def test_levels_of_laplace_releases_at_delta_zero():
    """Their sums of |Δ|/b by formula; proven is the largest loss seen by then, a witness."""
    scales = (0.5, 1.5, 0.8)
    part = explained(Releases(tuple(map(Laplace, scales))), 50)
    found = ExactLoss.of([part], 0.0, 0.95)
    assert [one.estimate for one in found.growth] == pytest.approx(np.cumsum([4 * SHIFT / b for b in scales]))
    seen = np.max(np.cumsum(part.steps, axis=0), axis=1)
    assert [one.lower for one in found.growth] == pytest.approx(np.maximum(seen, 0.0))


class Bare(Algorithm):
    """A release, and then the value itself."""

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        node.broadcast(x=node.privatize(gradient, Laplace(1.0)))
        node.broadcast(x=gradient)
        node.estimate(gradient)


def test_what_an_activation_sends_without_noise_after_its_last_release_counts_with_it():
    (level,) = ExactLoss.of([explained(Bare())], 0.02, 0.95).growth
    assert (level.release, level.lower, level.estimate) == (0, math.inf, math.inf)


def test_other_tosses_raise_the_last_level_and_leave_none_out():
    parts = [explained(Releases((Laplace(0.5), Laplace(0.7), Laplace(0.9))), 8, chunk=chunk) for chunk in (0, 1)]
    before = ExactLoss.of(parts[:1], 0.0, 0.95)
    after = before.with_tosses(parts[1:], 0.0)
    other = ExactLoss.of(parts[1:], 0.0, 0.95)
    assert after.growth[:-1] == before.growth[:-1]
    assert after.growth[-1].lower == after.epsilon.lower == max(before.epsilon.lower, other.epsilon.lower)
