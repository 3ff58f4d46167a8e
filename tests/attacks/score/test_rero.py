"""Bounds of reconstruction robustness: true of the best attack, met by it, and exceeded by a broken noise."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.reconstruction import Case, Known, Prior
from attacks.reconstruction.informed import Informed
from attacks.score.robustness import approximate_bound, simulated_kappa
from netsim.errors import PrivacyError
from netsim.models import Linear, Logistic
from tests.attacks.noisy import noisy_evidence, white_noise

FAMILY = 1e-3
"""Probability of one false alarm or more over all settings together (Bonferroni); the seeds are fixed."""
TRIALS = 3000
NOISES = (0.25, 0.5, 1.0, 2.0, 4.0)
SETTINGS = list(itertools.product(("gaussian", "laplace"), NOISES, (2, 3, 8, 32), (2, 6, 20), ("linear", "logistic")))


def gaussian_bound(kappa, mu):
    """Φ(Φ⁻¹(κ) + μ): what releases allow that are μ-GDP against the reference."""
    return stats.norm.cdf(stats.norm.ppf(kappa) + mu)


def play(law, noise, count, width, kind, broken=1.0, trials=TRIALS, seed=0):
    """An agent of 3 records, two of them known, the third one of `count` public ones with unequal weights.

    Its noise is `noise` times half the largest distance of the records' gradients from their middle, in the norm of
    the law, and `broken` times what is stated. Returns the interval of the best attack's success, κ and the bound.
    """
    rng = np.random.default_rng([seed, *map(ord, law[:2] + kind[:2]), count, width, int(100 * noise)])
    model = Linear(width) if kind == "linear" else Logistic(width)
    records = rng.standard_normal((count, width)) / math.sqrt(width)
    labels = rng.choice([-1.0, 1.0], count)
    labels[:2] = -1.0, 1.0
    shares = {-1.0: 0.35, 1.0: 0.65}
    groups = {label: records[labels == label] for label in shares}
    prior = Prior({}, {}, shares, groups)
    weights = np.concatenate([np.full(len(groups[b]), shares[b] / len(groups[b])) for b in prior.records])
    rows = np.concatenate(list(groups.values()))
    told = np.concatenate([np.full(len(group), label) for label, group in groups.items()])
    others = (rng.standard_normal((2, width)), np.array([1.0, -1.0]))
    point = np.zeros((1, 1, width)) if kind == "logistic" else rng.standard_normal((1, 1, width))
    released = model.gradient(point[0, 0], rows[:, None], model.targets(told)[:, None]) / 3
    order = 2 if law == "gaussian" else 1
    middle = (released[0] + released[-1]) / 2 if count == 2 else np.mean(released, axis=0)
    radius = np.max(np.linalg.norm(released - middle, ord=order, axis=1))
    stddev = noise * radius * (math.sqrt(2) if law == "laplace" else 1)
    budget = radius / stddev if law == "gaussian" else radius / (stddev / math.sqrt(2))
    chosen = rng.choice(count, trials, p=weights)
    features = np.concatenate([rows[chosen][:, None], np.broadcast_to(others[0], (trials, 2, width))], axis=1)
    answers = np.concatenate([told[chosen][:, None], np.broadcast_to(others[1], (trials, 2))], axis=1)
    points = np.broadcast_to(point, (1, trials, width)).copy()
    noisy = noisy_evidence(
        model, points, features, model.targets(answers), white_noise(broken * stddev, 1, width), law, rng
    )
    stated = noisy_evidence(  # the same gradients, with the covariance that is stated
        model, points, features, model.targets(answers), white_noise(stddev, 1, width), law, rng
    )
    evidence = type(noisy)(0, (0,), points, noisy.gradients, stated.covariance, law)
    case = Case(evidence, Known(model, 3, prior=prior, others=others))
    found = Informed().reconstruct([case], rng)[0]
    right = np.all(found.features[:, 0] == rows[chosen], axis=1)
    kappa = float(np.max(weights / np.sum(weights)))
    bound = gaussian_bound(kappa, budget) if law == "gaussian" else approximate_bound(kappa, budget, 0.0)
    interval = clopper_pearson(int(np.sum(right)), trials, 1 - FAMILY / len(SETTINGS), "lower")
    return interval, kappa, bound


@pytest.mark.slow
def test_the_best_attack_never_exceeds_the_bound_in_240_settings():
    """Against the middle of what the records release; and noise half as large as stated is found out in many."""
    assert len(SETTINGS) >= 200
    sound = [play(*setting) for setting in SETTINGS]
    assert all(rate.lower <= bound for rate, _, bound in sound)
    assert sum(rate.estimate > 2 * kappa for rate, kappa, _ in sound) > 20  # attacks that do work
    broken = [play(*setting, broken=0.5) for setting in SETTINGS if setting[2] == 2 and setting[0] == "gaussian"]
    assert sum(rate.lower > bound for rate, _, bound in broken) >= len(broken) // 3


@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0])
def test_two_records_of_equal_weight_meet_the_gaussian_bound(noise):
    """With the middle as reference μ is half the distance, and Φ(μ) is the best attack's success: within 2 %."""
    rng = np.random.default_rng(3)
    model, trials = Logistic(3), 20_000
    rows, labels = rng.standard_normal((2, 3)), np.array([-1.0, 1.0])
    prior = Prior({}, {}, {-1.0: 0.5, 1.0: 0.5}, {-1.0: rows[:1], 1.0: rows[1:]})
    points = np.zeros((1, trials, 3))
    released = model.gradient(np.zeros(3), rows[:, None], model.targets(labels)[:, None])
    radius = float(np.linalg.norm(released[0] - released[1])) / 2
    chosen = rng.integers(0, 2, trials)
    targets = model.targets(labels[chosen][:, None])
    noise_law = white_noise(noise * radius, 1, 3)
    evidence = noisy_evidence(model, points, rows[chosen][:, None], targets, noise_law, "gaussian", rng)
    known = Known(model, 1, prior=prior, others=(np.empty((0, 3)), np.empty(0)))
    found = Informed().reconstruct([Case(evidence, known)], rng)[0]
    hits = int(np.sum(np.all(found.features[:, 0] == rows[chosen], axis=1)))
    rate = clopper_pearson(hits, trials, 0.999)
    bound = gaussian_bound(0.5, 1 / noise)
    assert bound in rate
    assert rate.estimate > 0.98 * bound
    half = noisy_evidence(
        model, points, rows[chosen][:, None], targets, white_noise(noise * radius / 2, 1, 3), "gaussian", rng
    )
    best = Informed().reconstruct([Case(half, known)], rng)[0]
    exceeded = int(np.sum(np.all(best.features[:, 0] == rows[chosen], axis=1)))
    assert clopper_pearson(exceeded, trials, 0.999).lower > bound


def neyman_pearson(p, q, kappa):
    """max Σ p·φ over tests 0 ≤ φ ≤ 1 with Σ q·φ ≤ κ, as a linear program."""
    found = optimize.linprog(-p, A_ub=q[None], b_ub=[kappa], bounds=(0, 1), method="highs")
    return -found.fun


@pytest.mark.parametrize("kappa", [0.001, 0.05, 0.3, 0.5, 0.9])
def test_bounds_are_met_by_discrete_mechanisms(kappa):
    """Brute force: randomized response meets pure ε, and the pair that (ε, δ) describes meets its bound."""
    for epsilon in (0.1, 1.0, 3.0):
        p = np.array([math.exp(epsilon), 1.0]) / (1 + math.exp(epsilon))
        assert neyman_pearson(p, p[::-1], kappa) == pytest.approx(approximate_bound(kappa, epsilon, 0.0), rel=1e-9)
        delta = 0.05
        worst = np.array([delta, *(1 - delta) * p, 0.0])
        best = neyman_pearson(worst, worst[::-1], kappa)
        assert best == pytest.approx(approximate_bound(kappa, epsilon, delta), rel=1e-9)
        assert best >= approximate_bound(kappa, epsilon, 0.0) - 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_bounds_hold_for_random_discrete_pairs(seed):
    """Any pair on eight points, with its own ε and (ε, δ) curve: the best test is below every bound."""
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(8, 0.7)) + 1e-3, rng.dirichlet(np.full(8, 0.7)) + 1e-3
    p, q = p / p.sum(), q / q.sum()
    losses = np.log(p / q)
    epsilon = float(np.max(np.abs(losses)))
    for kappa in (0.01, 0.1, 0.4):
        best = neyman_pearson(p, q, kappa)
        assert best <= approximate_bound(kappa, epsilon, 0.0) + 1e-9
        for share in (0.2, 0.6):
            e = share * epsilon
            delta = max(np.sum(np.maximum(a - math.exp(e) * b, 0)) for a, b in ((p, q), (q, p)))
            assert best <= approximate_bound(kappa, e, delta) + 1e-9


def test_limits():
    assert approximate_bound(0.2, 0.0, 0.0) == pytest.approx(0.2)
    with pytest.raises(PrivacyError, match="kappa"):
        approximate_bound(1.2, 1.0, 0.0)
    with pytest.raises(PrivacyError, match="epsilon"):
        approximate_bound(0.1, -1.0, 0.0)


def test_kappa_by_simulation_bounds_the_best_guess():
    """Uniform in [0, 1]: κ of "within 0.1" is 0.2. The bound holds in 40 samples; the guess tried is no better."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        found = simulated_kappa(rng.random((200, 1)), 0.1)
        assert found.upper >= 0.2
        assert found.upper < 0.65  # twice the distance, and its interval
        assert found.tried.lower <= 0.2
    far = simulated_kappa(rng.standard_normal((300, 50)), 0.01)
    assert far.tried.estimate == 0
    assert far.upper < 0.04
    with pytest.raises(PrivacyError, match="at least four"):
        simulated_kappa(np.zeros((3, 2)), 0.1)


@pytest.mark.parametrize("crowd", [0, 4])
def test_a_guess_is_chosen_on_the_whole_of_the_first_half_and_judged_on_the_other(crowd):
    """Two of the first six records are where all of the second half is; the others are far from everything."""
    records = 100.0 * np.arange(1, 13)[:, None] ** 2
    records[[crowd, crowd + 1]] = records[6:] = 0.0
    assert simulated_kappa(records, 0.1).tried.estimate == 1
    records[6:] = -100.0 * np.arange(1, 7)[:, None]
    assert simulated_kappa(records, 0.1).tried.estimate == 0


@pytest.mark.parametrize("n", [4, 12, 100])
def test_records_that_are_all_far_apart_bound_a_guess_by_the_largest_share_that_none_may_have(n):
    found = simulated_kappa(100.0 * np.arange(n)[:, None], 0.1)
    assert found.upper == pytest.approx(1 - (0.05 / (2 * n)) ** (1 / (n - 1)))
