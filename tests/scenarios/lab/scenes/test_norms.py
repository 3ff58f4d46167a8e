"""Lesson 6's numbers: what noise for the wrong norm costs, by audits, against ‖Δ‖₁/b."""

import math

import numpy as np
import pytest

from attacks.audit.accounting.formulas import gaussian_delta
from attacks.audit.verdict import Verdict
from scenarios.lab.scenes import budgets as scene


@pytest.mark.few(1)
@pytest.mark.parametrize("dimension", [1, 4, 25])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_an_even_change_costs_the_root_of_the_dimension_times_the_claim(dimension: int, epsilon: float) -> None:
    found = scene.released(dimension, epsilon, "even", "Laplace", trials=400)
    assert found.l2 == pytest.approx(1.0)
    assert found.exact == pytest.approx(math.sqrt(dimension) * epsilon)
    wanted = Verdict.PROVEN if dimension == 1 else Verdict.REFUTED
    assert found.verdict == wanted
    assert found.found.epsilon_audited <= found.exact


@pytest.mark.slow
def test_a_change_in_one_coordinate_shows_nothing_and_a_random_one_nearly_all() -> None:
    one = scene.released(100, 1.0, "coordinate", "Laplace", trials=400)
    assert one.ratio == pytest.approx(1.0)
    assert one.verdict == Verdict.CONSISTENT
    anywhere = scene.released(100, 1.0, "random", "Laplace", trials=400)
    assert anywhere.ratio == pytest.approx(anywhere.l1)
    assert anywhere.ratio == pytest.approx(math.sqrt(200 / math.pi), rel=0.1)


@pytest.mark.few("random")
@pytest.mark.parametrize("way", ["even", "coordinate", "random"])
def test_both_remedies_hold_in_every_direction(way: scene.Way) -> None:
    laplace = scene.released(9, 1.0, way, "Laplace for ℓ1")
    assert laplace.exact == pytest.approx(laplace.l1 / 3)
    assert laplace.verdict == Verdict.PROVEN
    gaussian = scene.released(9, 1.0, way, "Gaussian")
    assert gaussian.exact == pytest.approx(1.0, rel=1e-6)
    assert gaussian.verdict == Verdict.PROVEN


@pytest.mark.slow
def test_the_published_claim_is_broken_by_the_root_of_the_dimension() -> None:
    even, one = scene.published(16, "even"), scene.published(16, "coordinate")
    assert even.claimed == one.claimed == pytest.approx(1.0)
    assert even.ratio == pytest.approx(4 * one.ratio, rel=1e-6)
    assert 1 <= one.ratio < 1.01
    assert even.verdict == Verdict.REFUTED


def test_the_deviation_and_the_crossover_are_what_they_say() -> None:
    sigma = scene.noise_sizes(1, 1.0, 1e-6)["Gaussian for ℓ2"]
    assert gaussian_delta(1 / sigma, 1.0) == pytest.approx(1e-6, rel=1e-6)
    for epsilon in (0.5, 1.0, 3.0):
        crossing = scene.crossover(epsilon, 1e-6)
        below, at = (scene.noise_sizes(d, epsilon, 1e-6) for d in (crossing - 1, crossing))
        assert at["Gaussian for ℓ2"] < at["Laplace for ℓ1"]
        assert below["Gaussian for ℓ2"] >= below["Laplace for ℓ1"]


def test_the_length_of_the_noise_is_that_of_draws() -> None:
    sizes, rng = scene.noise_sizes(12, 2.0, 1e-6), np.random.default_rng(0)
    laplace = rng.laplace(0, math.sqrt(12) / 2.0, (20_000, 12))
    gaussian = rng.normal(0, sizes["Gaussian for ℓ2"] / math.sqrt(12), (20_000, 12))
    for name, drawn in (("Laplace for ℓ1", laplace), ("Gaussian for ℓ2", gaussian)):
        assert math.sqrt((drawn**2).sum(axis=1).mean()) == pytest.approx(sizes[name], rel=0.02)


def test_at_a_small_delta_the_price_levels_off() -> None:
    prices = [scene.epsilon_at(d, 1.0, 1e-6) for d in (1, 9, 100, 400)]
    assert prices == sorted(prices)
    assert prices[0] == pytest.approx(1.0, abs=1e-5)
    assert prices[-1] < 5 < math.sqrt(400)
