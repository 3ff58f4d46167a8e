"""Tilted sampling: what is drawn, how narrow, how often it misses, and agreement with `dp_accounting`."""

import math

import numpy as np
import pytest
from scipy import stats

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.accounting.products import Product, product_delta, product_epsilon
from attacks.audit.accounting.tilting import (
    Sample,
    epsilon_interval,
    planned,
    predicted,
    tilted_losses,
)
from netsim.errors import PrivacyError
from tests.attacks.audit.accounting.accountants import accountant, mixes

SAMPLES = 10_000
WITHOUT_CONTROL = ("500 mixed", "10 dimensions of 20", "gauss and laplace", "three Laplace", "tiny")
"""Mixes whose interval is narrow enough with no control too."""


def rng(seed):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("theta", [0.0, 0.8, 30.0])
def test_single_losses_follow_the_tilted_law(theta):
    """Both atoms and the density between them, by χ² in twelve cells: p above 1e-6, one false alarm in a million."""
    s, n = 1.3, 100_000
    losses = tilted_losses(Product(0.0, (s,)), theta, n, rng(0))
    atom = math.exp(theta * s) / 2
    bottom = math.exp(-(1 + theta) * s) / 2
    ends = np.linspace(-s, s, 11)
    edge = np.exp((theta + 0.5) * ends)
    between = np.diff(edge) * math.exp(-s / 2) / (4 * (theta + 0.5))
    expected = np.array([bottom, *between, atom])
    below, above = losses < -s + 1e-9, losses > s - 1e-9
    seen = np.array([np.sum(below), *np.histogram(losses[~below & ~above], ends)[0], np.sum(above)])
    expected *= n / expected.sum()
    kept = expected > 5
    assert np.all(seen[~kept] <= 40)
    far = (seen - expected)[kept] ** 2 / expected[kept]
    assert stats.chi2.sf(np.sum(far), np.sum(kept) - 1) > 1e-6


@pytest.mark.few("one Gaussian")
@pytest.mark.parametrize("name", mixes)
def test_contains_the_accountants_value_and_is_narrow(name):
    """Each of 9 intervals at confidence 1 − 1e-4: all of them, but for a false alarm in 1,000 (with a fixed seed).

    The accountant is off by its discretization, 1e-4 at most; most intervals are narrower than that.
    """
    pytest.importorskip("dp_accounting")
    found = epsilon_interval(mixes[name], 1e-6, 1 - 1e-4, SAMPLES, rng(0))
    theirs = accountant(name).get_epsilon_for_delta(1e-6)
    assert found.upper - found.lower < 0.05
    assert found.lower - 1e-9 * (1 + theirs) <= theirs <= found.upper + 1e-4
    assert found.lower <= found.estimate <= found.upper


@pytest.mark.few(1)
@pytest.mark.parametrize("name", WITHOUT_CONTROL)
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_contains_the_accountants_value_without_a_control(name, delta):
    pytest.importorskip("dp_accounting")
    found = epsilon_interval(mixes[name], delta, 1 - 1e-4, SAMPLES, rng(5), waves=0)
    theirs = accountant(name).get_epsilon_for_delta(delta)
    assert found.upper - found.lower < 0.05
    assert found.lower - 1e-9 <= theirs <= found.upper + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("product", "waves"),
    [(Product(0.3, (0.8, 0.8, 0.2)), 3), (Product(0.0, (0.3,) * 20), 0)],
)
def test_misses_no_more_often_than_it_may(product, waves):
    """95% intervals over 120 repetitions of 200 samples: more than 15 misses of 120 have probability 5e-4 at 5%, 0.98
    at 20%."""
    delta = 1e-3
    truth = product_epsilon(product, delta)
    found = [epsilon_interval(product, delta, 0.95, 200, rng(seed), waves) for seed in range(120)]
    assert sum(truth not in interval for interval in found) <= stats.binom.isf(5e-4, 120, 0.05)
    if waves == 0:
        deltas = [product_delta(product, interval.estimate) for interval in found]
        assert np.mean(deltas) == pytest.approx(delta, rel=0.15)


def test_a_wrong_guess_makes_it_wide_not_wrong(monkeypatch):
    """Guesses off by a third in either direction, at 1 − 1e-4."""
    product = Product(0.5, (0.5,) * 20)
    truth = product_epsilon(product, 1e-5)
    for factor in (0.66, 1.5):
        monkeypatch.setattr("attacks.audit.accounting.tilting.product_epsilon", lambda p, d, f=factor: truth * f)
        found = epsilon_interval(product, 1e-5, 1 - 1e-4, 2000, rng(0))
        assert truth in found


@pytest.mark.few("0")
@pytest.mark.parametrize("waves", [0, 4])
def test_a_wrong_law_is_noticed(monkeypatch, waves):
    """Losses of shifts that are 5% larger than the product says are not taken for its own.

    Where a Gaussian release lets a control leave nothing to chance, no sample is asked: hence few waves.
    """
    product = Product(0.1, (0.5,) * 50)
    right = epsilon_interval(product, 1e-6, 1 - 1e-4, SAMPLES, rng(0), waves)
    monkeypatch.setattr(
        "attacks.audit.accounting.tilting.tilted_losses",
        lambda p, theta, n, r: tilted_losses(p.scaled(1.05), theta, n, r),
    )
    wrong = epsilon_interval(product, 1e-6, 1 - 1e-4, SAMPLES, rng(0), waves)
    assert product_epsilon(product, 1e-6) in right
    assert product_epsilon(product, 1e-6) not in wrong


def test_more_samples_and_a_control_narrow_it():
    product = Product(0.0, (0.2,) * 100)

    def width(samples, waves):
        found = epsilon_interval(product, 1e-5, 0.95, samples, rng(0), waves)
        return found.upper - found.lower

    assert width(16_000, 0) < 0.4 * width(1000, 0)
    assert width(1000, 256) < 0.2 * width(1000, 0)


def test_the_same_seed_gives_the_same_bits_whatever_the_order_of_the_factors():
    one = epsilon_interval(Product(0.3, (0.1, 0.5, 0.0)), 1e-4, 0.95, 1000, rng(4))
    assert one == epsilon_interval(Product(0.3, (0.5, 0.0, 0.1)), 1e-4, 0.95, 1000, rng(4))
    assert one != epsilon_interval(Product(0.3, (0.5, 0.0, 0.1)), 1e-4, 0.95, 1000, rng(5))


def test_stakes_come_from_what_was_seen_before():
    """Or else the bets would not be fair: the variance for a value knows neither it nor a later one."""
    values = rng(0).random(50)
    whole = predicted(values, 1.0)
    for k in range(50):
        changed = values.copy()
        changed[k:] += 10.0
        assert np.array_equal(predicted(changed, 1.0)[: k + 1], whole[: k + 1])
    means = [values[:k].mean() for k in range(1, 50)]
    squares = [(values[k] - means[k - 1]) ** 2 for k in range(1, 49)]
    assert whole[49] == pytest.approx((0.25 + sum(squares)) / 49)


def test_bets_fall_with_epsilon_in_every_sample():
    """So that what is proven at one ε is proven at all smaller ones."""
    for product, waves in (
        (Product(0.3, (0.5, 1.0)), 0),
        (Product(0.3, (0.5, 1.0)), 5),
        (Product(0.0, (0.4,) * 9), 99),
    ):
        epsilon = product_epsilon(product, 1e-3)
        plan = planned(product, epsilon, waves)
        sample = Sample.of(plan, 500, rng(0))
        rows = np.array([sample.values(e) for e in np.linspace(0.2 * epsilon, 1.4 * epsilon, 60)])
        assert np.all(np.diff(rows, axis=0) <= 1e-12 * np.abs(rows[:-1]))
        near = [sample.values(epsilon + d * plan.reach) for d in (-1.0, 0.0, 1.0)]
        assert plan.least <= min(np.min(v) for v in near)
        assert max(np.max(v) for v in near) <= plan.most


@pytest.mark.parametrize("waves", [8, 60, 256])
@pytest.mark.parametrize(
    "product",
    [Product(0.3, (0.5, 1.0)), Product(0.0, (0.4,) * 9), Product(400.0, (0.3,) * 50), Product(1e6, (1.0,) * 20)],
)
def test_the_control_is_as_near_as_promised(product, waves):
    """V_ε₀ keeps to its bounds at 20,000 losses drawn, and there w reaches a hundredth of θ^θ/(1 + θ)^{1+θ}."""
    epsilon = product_epsilon(product, 1e-4)
    plan = planned(product, epsilon, waves)
    losses, theta = tilted_losses(product, plan.theta, 20_000, rng(0)), plan.theta
    w = plan.values(losses, epsilon)
    rest, room = w - plan.control(losses), plan.reach * math.exp(theta * plan.reach)
    assert plan.least + room <= np.min(rest)
    assert np.max(rest) <= plan.most - room
    highest = math.exp(-theta * math.log1p(1 / theta)) / (1 + theta)
    assert 0.01 * highest <= np.max(w) <= highest


def test_where_there_is_nothing_to_draw_it_is_the_formula():
    assert epsilon_interval(Product(4.0), 1e-6, 0.95, 10, rng(0)).lower == gaussian_epsilon(2.0, 1e-6)
    assert epsilon_interval(Product(), 0.0, 0.95, 10, rng(0)).upper == 0
    assert epsilon_interval(Product(0.0, (1.0, 2.0)), 0.0, 0.95, 10, rng(0)).lower == 3.0
    assert epsilon_interval(Product(1.0, (1.0,)), 0.0, 0.95, 10, rng(0)).lower == math.inf
    assert epsilon_interval(Product(math.inf, (1.0,)), 0.5, 0.95, 10, rng(0)).lower == math.inf
    assert epsilon_interval(Product(0.0, (1e-7,)), 1e-3, 0.95, 1000, rng(0)).upper <= 1e-18


@pytest.mark.slow
def test_very_large_epsilons_are_enclosed_as_narrowly():
    """ε of 50 to 11,000, at 1 − 1e-4."""
    for product in (Product(60.0, (0.5,) * 100), Product(0.0, (1.0,) * 500), Product(1e4, (30.0,) * 200)):
        found = epsilon_interval(product, 1e-6, 1 - 1e-4, SAMPLES, rng(0))
        assert product_epsilon(product, 1e-6) in found
        assert found.lower > 50
        assert found.upper - found.lower < 0.05


@pytest.mark.parametrize(("delta", "confidence", "samples"), [(-0.1, 0.95, 10), (0.1, 1.0, 10), (0.1, 0.95, 1)])
def test_nonsense_is_refused(delta, confidence, samples):
    with pytest.raises(PrivacyError):
        epsilon_interval(Product(1.0, (1.0,)), delta, confidence, samples, rng(0))
    with pytest.raises(PrivacyError):
        tilted_losses(Product(0.0, (1.0,)), -0.5, 10, rng(0))
