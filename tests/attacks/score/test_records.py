"""Records through one matching: laws of the matching, baselines by hand, and what only least squares leaves open."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from attacks.reconstruction import Known, Prior
from attacks.reconstruction.attack import Reconstruction, Way
from attacks.score import score_image, score_records, success
from attacks.score.records import MEAN, PUBLIC, TOLD, guess_rate
from netsim.errors import AttackError
from netsim.models import Linear, Logistic
from netsim.problems import load
from tests.attacks.score.truths import truth_of


def rebuilt(features, targets, agent=0, queries=(0,)):
    replicas = len(features)
    return Reconstruction("test", agent, features, targets, np.zeros(replicas), np.ones(replicas, bool), queries)


@pytest.fixture(scope="module")
def digits():
    data = load("digits", norm_bound=4.0)
    return data, Prior.of(data.features[100:], data.labels[100:])


@pytest.mark.parametrize("m", [1, 2, 4])
def test_matching_is_the_best_of_all_orders(m):
    rng = np.random.default_rng(m)
    records, guess = rng.standard_normal((m, 3)), rng.standard_normal((20, m, 3))
    labels, known, points = np.ones(m), Known(Logistic(3), m), np.zeros((1, 20, 3))
    truth, rng = truth_of(records, labels, points), np.random.default_rng(0)
    score = score_records(rebuilt(guess, np.ones((20, m, 1))), truth, known, rng, modulo_sign=False).attack_score
    found, order = score.features, score.order
    for r in range(20):
        costs = [np.sum((guess[r, list(p)] - records) ** 2) for p in itertools.permutations(range(m))]
        assert np.sum((found[r] - records) ** 2) == pytest.approx(min(costs))
        assert sorted(order[r]) == list(range(m))


def test_iterates_are_scored_as_the_answer_is():
    rng = np.random.default_rng(3)
    records, labels, targets = rng.standard_normal((2, 3)), np.ones(2), np.ones((5, 2, 1))
    way = np.linspace(rng.standard_normal((5, 2, 3)), np.broadcast_to(records[::-1], (5, 2, 3)), 4, axis=1)
    found = replace(rebuilt(way[:, -1], targets), way=Way((0, 1, 5, 9), way))
    truth, known = truth_of(records, labels, np.zeros((1, 5, 3))), Known(Logistic(3), 2)
    score = score_records(found, truth, known, np.random.default_rng(0), modulo_sign=False)
    assert score.way[0] == (0, 1, 5, 9)
    errors = np.array([one.mse.mean(axis=-1) for one in score.way[1]])
    assert (np.diff(errors, axis=0) < 0).all()
    np.testing.assert_allclose(errors[-1], 0, atol=1e-30)
    best = [min(np.mean((way[r, 0, list(p)] - records) ** 2) for p in ((0, 1), (1, 0))) for r in range(5)]
    np.testing.assert_allclose(errors[0], best)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0, 2.0])
def test_an_image_that_is_a_share_of_the_way_to_the_priors_guess(digits, share):
    """Its error is share² of the guess's: skill 1 for the record itself, 0 for the guess, negative beyond."""
    data, prior = digits
    record, labels = data.features[:1], data.labels[:1]
    guess = prior.mean[int(labels[0])]
    found = rebuilt((record + share * (guess - record))[None], np.array([[[float(labels[0])]]]))
    score = score_image(found, truth_of(record, labels, np.zeros((1, 1, record.shape[1]))), prior)
    assert score.agent == 0
    assert score.skill == pytest.approx(1 - share**2)
    assert score.mse == pytest.approx(share**2 * score.mse_prior)
    assert score.largest_error == pytest.approx(share * np.abs(guess - record).max())
    assert score.label_correct == 1
    np.testing.assert_array_equal([score.truth, score.guess], [record[0], guess])
    np.testing.assert_allclose(score.rebuilt, record[0] + share * (guess - record[0]))


def test_a_permutation_of_the_truth_is_perfect_and_labels_go_with_their_records(digits):
    data, prior = digits
    features, labels = data.features[:6], data.labels[:6]
    known = Known(Logistic(64), 6, prior=prior, value_range=(0.0, 1.0), image_shape=(8, 8))
    points = np.zeros((2, 3, 64))
    order = np.array([3, 1, 5, 0, 4, 2])
    targets = known.model.targets(labels)
    found = rebuilt(
        np.repeat(features[None, order], 3, axis=0), np.repeat(targets[None, order], 3, axis=0), 0, (0, 1)
    )
    score = score_records(found, truth_of(features, labels, points), known, np.random.default_rng(0))
    assert score.mse == 0
    assert score.skill == 1
    assert score.label_accuracy == 1
    assert score.ssim == pytest.approx(1)
    assert score.psnr == np.inf
    assert np.max(score.gram_error) < 1e-14
    assert score.gradient_norm.shape == (2, 3)
    assert np.all(score.gradient_norm > 0)
    np.testing.assert_array_equal(order[score.attack_score.order[0]], np.arange(6))
    wrong = rebuilt(found.features, 1 - found.targets)
    assert (
        score_records(wrong, truth_of(features, labels, points), known, np.random.default_rng(0)).label_accuracy == 0
    )


def test_the_prior_is_the_best_honest_guess_and_the_told_one_is_not_honest(digits):
    data, prior = digits
    features, labels = data.features[:1], data.labels[:1]
    known = Known(Logistic(64), 1, prior=prior, value_range=(0.0, 1.0))
    truth = truth_of(features, labels, np.zeros((1, 50, 64)))
    same = rebuilt(np.repeat(prior.overall[None, None], 50, axis=0), np.full((50, 1, 1), 0.5))
    score = score_records(same, truth, known, np.random.default_rng(0))
    told = np.mean((prior.mean[float(labels[0])] - features[0]) ** 2)
    assert score.baselines[TOLD].mean_mse == pytest.approx(told)
    assert score.baselines[MEAN].mean_mse == pytest.approx(np.mean((prior.overall - features[0]) ** 2))
    assert score.mse_prior == min(b.mean_mse for name, b in score.baselines.items() if name != TOLD)
    assert score.baselines[PUBLIC].mse.shape == (50, 1)
    assert score.baselines[PUBLIC].mean_mse > score.baselines[MEAN].mean_mse
    public = score_records(same, truth, replace(known, labels=labels), np.random.default_rng(0))
    assert public.mse_prior == min(b.mean_mse for b in public.baselines.values())
    no_prior = score_records(same, truth, Known(Logistic(64), 1, value_range=(0.0, 1.0)), np.random.default_rng(0))
    assert no_prior.mse_prior == pytest.approx(np.mean((0.5 - features[0]) ** 2))


def test_with_many_records_different_guesses_profit_from_the_matching_as_the_attack_does(digits):
    """Why the baselines go through it too: ten public records, matched, are nearer than ten unmatched ones."""
    data, prior = digits
    features, labels = data.features[:10], data.labels[:10]
    known = Known(Logistic(64), 10, prior=prior)
    draws = np.array([prior.records[1.0][k : k + 10] for k in range(30)])
    found = rebuilt(draws, np.ones((30, 10, 1)))
    score = score_records(found, truth_of(features, labels, np.zeros((1, 30, 64))), known, np.random.default_rng(0))
    assert score.mse < 0.9 * float(np.mean((draws - features) ** 2))


def test_least_squares_modulo_sign_and_gram():
    rng = np.random.default_rng(5)
    features, targets = rng.standard_normal((3, 7)), rng.standard_normal(3)
    points = np.zeros((1, 2, 7))
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    truth = truth_of(features, targets, points, regression=True)
    turned = rebuilt(
        np.repeat((turn @ features)[None], 2, axis=0), np.repeat((turn @ targets)[None, :, None], 2, axis=0)
    )
    score = score_records(turned, truth, Known(Linear(7), 3), rng)
    assert np.max(score.gram_error) < 1e-14  # AᵀA is as it was
    assert score.mse > 0.1  # and the records are not
    other = rebuilt(rng.standard_normal((2, 3, 7)), turned.targets)
    guess = score_records(other, truth, Known(Linear(7), 3), rng).gram_error
    exact = features.T @ features
    for r in range(2):
        direct = np.linalg.norm(other.features[r].T @ other.features[r] - exact) / np.linalg.norm(exact)
        assert guess[r] == pytest.approx(direct)
    one = truth_of(features[:1], targets[:1], points, regression=True)
    minus = rebuilt(np.repeat(-features[None, :1], 2, axis=0), np.full((2, 1, 1), -targets[0]))
    assert score_records(minus, one, Known(Linear(7), 1), rng).mse == 0
    inside = rng.random((1, 7))
    one = truth_of(inside, targets[:1], points, regression=True)
    minus = rebuilt(np.repeat(-inside[None], 2, axis=0), np.full((2, 1, 1), -targets[0]))
    assert score_records(minus, one, Known(Linear(7), 1), rng).mse == 0
    assert score_records(minus, one, Known(Linear(7), 1, value_range=(0.0, 1.0)), rng).mse > 0.1  # the range tells


def test_a_mirrored_record_of_a_logistic_loss_has_the_mirrored_label():
    rng = np.random.default_rng(6)
    features, labels, model = rng.standard_normal((1, 5)), np.array([1.0]), Logistic(5)
    points = rng.standard_normal((3, 2, 5))
    same = model.gradient(points, -features, model.targets(-labels))
    np.testing.assert_allclose(same, model.gradient(points, features, model.targets(labels)))
    truth = truth_of(features, labels, points)
    minus = rebuilt(np.repeat(-features[None], 2, axis=0), np.zeros((2, 1, 1)))
    score = score_records(minus, truth, Known(model, 1), rng)
    assert score.mse == 0
    assert score.label_accuracy == 1
    assert score_records(minus, truth, Known(model, 1, labels=labels), rng).mse > 0.1


def test_what_is_not_a_number_is_infinitely_wrong_and_too_few_are_refused():
    rng = np.random.default_rng(0)
    features, labels = rng.standard_normal((2, 4)), np.array([1.0, -1.0])
    truth = truth_of(features, labels, np.zeros((1, 2, 4)))
    broken = np.repeat(features[None], 2, axis=0)
    broken[0, 1, 2] = np.nan
    score = score_records(rebuilt(broken, np.zeros((2, 2, 1))), truth, Known(Logistic(4), 2), rng)
    np.testing.assert_array_equal(score.attack_score.mse, [[0, np.inf], [0, 0]])
    with pytest.raises(AttackError, match="1 records were rebuilt, and there are 2"):
        score_records(rebuilt(broken[:, :1], np.zeros((2, 1, 1))), truth, Known(Logistic(4), 2), rng)


def test_success_has_the_interval_of_clopper_and_pearson():
    rng = np.random.default_rng(9)
    features, labels = rng.standard_normal((1, 16)), np.array([1.0])
    truth = truth_of(features, labels, np.zeros((1, 100, 16)))
    sizes = np.linspace(0.0, 1.0, 100)
    found = rebuilt(
        features + sizes[:, None, None] * np.sign(rng.standard_normal((100, 1, 16))), np.ones((100, 1, 1))
    )
    score = score_records(found, truth, Known(Logistic(16), 1), rng)
    rate = success([score, score], 0.25, 0.9)
    expected = stats.binomtest(50, 200).proportion_ci(0.9, "exact")
    assert (rate.lower, rate.upper) == pytest.approx((expected.low, expected.high))


def test_success_is_of_all_records_of_an_agent_and_silent_agents_count():
    """The first record alone is there in the first replica, both in the second."""
    rng = np.random.default_rng(9)
    features, labels = rng.uniform(0, 1, (2, 4)), np.array([1.0, -1.0])
    truth = truth_of(features, labels, np.zeros((1, 2, 4)))
    found = np.stack([features, features])
    found[0, 1] += 5.0
    score = score_records(rebuilt(found, np.zeros((2, 2, 1))), truth, Known(Logistic(4), 2), rng)
    assert success([score], 0.1).estimate == 0.5
    assert success([score], 0.1, silent=1).estimate == 0.25
    assert guess_rate([score], 0.1) == 0
    assert guess_rate([score], 10.0) == 1
