"""Verdicts on worlds that are known to be recovered, missed, open or defended; and the stated false-alarm rate."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.reconstruction import Case, Known, Prior
from attacks.reconstruction.attack import Reconstruction, misfit
from attacks.reconstruction.informed import FinitePrior
from attacks.reconstruction.verdict import seen
from attacks.score import score_records
from attacks.score.robustness import outcomes
from netsim.models import Linear, Logistic
from netsim.problems import load
from tests.attacks.noisy import noisy_evidence, white_noise
from tests.attacks.score.truths import truth_of

RNG = np.random.default_rng


def candidate(features, targets, replicas, rounds=3, **more):
    shape = (replicas, *features.shape[-2:])
    return Reconstruction(
        "test", 0, np.broadcast_to(features, shape).copy(), np.broadcast_to(targets, (*shape[:2], 1)).copy(),
        np.zeros(replicas), np.ones(replicas, bool), tuple(range(rounds)), **more,
    )  # fmt: skip


def judged(case, found, truth, distance=0.1):
    """The attacker's own verdict, and the words of who has the truth."""
    score = score_records(found, truth, case.known, RNG(0))
    return seen(case, found), set(outcomes(case, found, score, truth, distance))


def one_digit(stddev, replicas=4, rounds=3):
    data = load("digits", norm_bound=4.0)
    rng = np.random.default_rng(0)
    prior, model = Prior.of(data.features[100:], data.labels[100:]), Logistic(64)
    points = rng.standard_normal((rounds, replicas, 64)) / 8
    record, label = data.features[:1], data.labels[:1]
    found = noisy_evidence(
        model, points, record, model.targets(label), white_noise(stddev, rounds, 64), "gaussian", rng
    )
    case = Case(found, Known(model, 1, prior=prior, value_range=(0.0, 1.0)))
    return case, record, label, truth_of(record, label, points)


@pytest.mark.parametrize("stddev", [0.0, 1e-3])
def test_recovered(stddev):
    case, record, label, truth = one_digit(stddev)
    own, words = judged(case, candidate(record, case.known.model.targets(label), 4), truth)
    assert set(own.names) == words == {"recovered"}
    assert own.rank == own.unknowns == 64


def test_failed_to_optimize():
    case, record, label, truth = one_digit(1e-3)
    far = candidate(1 - record, case.known.model.targets(label), 4)
    own, words = judged(case, far, truth)
    assert set(own.names) == words == {"failed to optimize"}
    there = candidate(record, case.known.model.targets(label), 4)
    own, words = judged(case, replace(there, converged=np.zeros(4, bool)), truth)
    assert own.names[0] == "failed to optimize"
    lost = candidate(np.full_like(record, np.nan), case.known.model.targets(label), 4)
    assert seen(case, lost).names[0] == "failed to optimize"


def test_defended():
    case, _, _, truth = one_digit(100.0, replicas=50)
    found = FinitePrior().reconstruct([case], np.random.default_rng(0))[0]
    assert set(seen(case, found).names) == {"defended"}
    mean = candidate(case.known.prior.overall[None], 0.5, 50)
    assert judged(case, mean, truth)[1] == {"defended"}


def test_not_identifiable_batch_of_least_squares():
    """A rotation of the records gives the same gradients everywhere: exact, and open by one direction."""
    rng = np.random.default_rng(2)
    features, targets = rng.standard_normal((2, 8)), rng.standard_normal(2)
    points, model = rng.standard_normal((12, 3, 8)), Linear(8)
    exact = noisy_evidence(model, points, features, model.targets(targets), white_noise(0.0, 12, 8), "gaussian", rng)
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    found = candidate(turn @ features, (turn @ targets)[:, None], 3, 12)
    own, words = judged(Case(exact, Known(model, 2)), found, truth_of(features, targets, points, regression=True))
    assert own.rank == own.unknowns - 1
    assert set(own.names) == words == {"not identifiable"}
    single = noisy_evidence(
        model, points, features[:1], model.targets(targets[:1]), white_noise(0.0, 12, 8), "gaussian", rng
    )
    alone = seen(Case(single, Known(model, 1)), candidate(-features[:1], -targets[:1, None], 3, 12))
    assert alone.rank == alone.unknowns  # only a sign is open: no direction
    assert set(alone.names) == {"recovered"}


def test_said_to_be_open_and_restarts_that_disagree():
    case, record, label, truth = one_digit(0.0)
    targets = case.known.model.targets(label)
    own, words = judged(case, candidate(record, targets, 4, open="up to its sign"), truth)
    assert own.names[0] == "not identifiable"
    assert words == {"recovered"}
    again = candidate(record, targets, 4)
    assert seen(case, again, [again]).names[0] == "recovered"
    bare = Case(case.evidence, Known(case.known.model, 1))
    mirrored = candidate(-record, 1 - targets, 4)  # the same gradients everywhere
    assert seen(bare, again).names[0] == "recovered"
    assert seen(bare, again, [mirrored]).names[0] == "not identifiable"
    assert seen(bare, again, [candidate(1 - record, targets, 4)]).names[0] == "recovered"  # that one does not fit
    score = score_records(mirrored, truth, bare.known, RNG(0), False)
    assert seen(bare, mirrored).names[0] == "recovered"
    assert set(outcomes(bare, mirrored, score, truth, 0.1)) == {
        "not identifiable"
    }  # the attacker could not know: it has the agent's very gradients


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_true_records_are_called_failed_as_often_as_stated(law):
    rng = np.random.default_rng(3)
    model, replicas = Logistic(10), 4000
    points, record = rng.standard_normal((8, replicas, 10)), rng.standard_normal((1, 10))
    targets = model.targets(np.array([1.0]))
    case = Case(
        noisy_evidence(model, points, record, targets, white_noise(0.1, 8, 10), law, rng),
        Known(model, 1, value_range=(-3.0, 3.0)),
    )
    found = candidate(record, targets, replicas, 8)
    fit = misfit(case, found.features, found.targets)
    alarms = clopper_pearson(int(np.sum(fit.squared > fit.quantile(0.05))), replicas, 0.999)
    if law == "gaussian":
        assert 0.05 in alarms
    else:
        assert 0.03 < alarms.estimate < 0.08  # the normal law of a sum of 80 squares: near


def test_a_word_needs_the_skill_and_the_distance():
    case, record, label, truth = one_digit(1e-3)
    targets = case.known.model.targets(label)
    there = candidate(record, targets, 4)
    assert judged(case, there, truth)[1] == {"recovered"}
    near = candidate(record + 1e-4, targets, 4)
    assert judged(case, near, truth, 1e-5)[1] == {"recovered in part"}
    half = candidate(record + 0.5 * (case.known.prior.overall - record), targets, 4)
    noisy, _, _, truth = one_digit(100.0)
    assert judged(noisy, half, truth)[1] == {"recovered in part"}
    guess = candidate(case.known.prior.overall[None], targets, 4)
    assert judged(noisy, guess, truth, 10.0)[1] == {"defended"}  # as near as any guess is
    assert judged(noisy, replace(guess, converged=np.zeros(4, bool)), truth)[1] == {"failed to optimize"}
    assert judged(noisy, replace(guess, open="a rotation"), truth)[1] == {"not identifiable"}


def test_without_noise_nothing_is_defended():
    """Two records of least squares turned into others with nearly the same gradients everywhere."""
    rng = np.random.default_rng(2)
    features, targets = rng.uniform(0, 1, (2, 8)), rng.standard_normal(2)
    points, model = rng.standard_normal((12, 3, 8)), Linear(8)
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]]) * (1 + 1e-5)
    found = candidate(turn @ features, (turn @ targets)[:, None], 3, 12)
    truth = truth_of(features, targets, points, regression=True)
    exact = noisy_evidence(model, points, features, model.targets(targets), white_noise(0.0, 12, 8), "gaussian", rng)
    case = Case(exact, Known(model, 2, value_range=(0.0, 1.0)))
    assert "defended" not in judged(case, found, truth)[1]
    noisy = noisy_evidence(model, points, features, model.targets(targets), white_noise(1.0, 12, 8), "gaussian", rng)
    few = Case(noisy.only([0]), case.known)
    assert judged(few, replace(found, queries=(0,)), truth)[1] == {"not identifiable"}  # 8 numbers, 18 unknowns


def test_the_skill_beside_a_guess_that_is_the_record():
    model, record = Logistic(4), np.full((1, 4), 0.5)
    prior = Prior.of(np.full((20, 4), 0.5), np.resize([1.0, -1.0], 20))
    known, truth = (
        Known(model, 1, prior=prior, value_range=(0.0, 1.0)),
        truth_of(record, np.ones(1), np.zeros((3, 2, 4))),
    )
    two = candidate(record, 1.0, 2)
    two.features[1] += 0.1
    scored = score_records(two, truth, known, RNG(0))
    assert scored.mse_prior == 0
    assert scored.skills.tolist() == [1.0, -np.inf]
    assert scored.skill == -np.inf
