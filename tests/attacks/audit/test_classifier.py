"""The trained classifier: near the exact loss where that is known, and fooled by nothing that it learned by heart."""

import math

import numpy as np
import pytest

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.classifier import Classifier, Features
from attacks.audit.games.game import play
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import PrivateGradientDescent
from netsim.errors import AttackError
from netsim.problems import LeastSquares, Problem
from netsim.schedules import Constant
from netsim.simulation import Simulation

LEARN = 800


def learned(zero, one, learn=LEARN, seed=0):
    return Classifier.fit(Features.of(zero[:learn]), Features.of(one[:learn]), np.random.default_rng(seed))


def played(scores_0, scores_1, delta=0.0):
    return play(scores_0, scores_1, delta=delta, confidence=0.95, rng=np.random.default_rng(7)).epsilon_audited


def of_the_rest(classifier, zero, one, learn=LEARN):
    return (classifier.score(Features.of(values[learn:])) for values in (zero, one))


@pytest.mark.few(1)
@pytest.mark.parametrize("dimension", [1, 4])
def test_a_laplace_release(dimension):
    """ε = 2, spread evenly: the classifier gets most of what the exact loss does in the same game, and never more
    than is there."""
    rng = np.random.default_rng(dimension)
    zero, one = rng.laplace(0, 1, (2, 4000, dimension))
    one = one + 2.0 / dimension
    loss = [np.sum(np.abs(v) - np.abs(v - 2.0 / dimension), axis=1) for v in (zero[LEARN:], one[LEARN:])]
    exact = played(*loss)
    found = played(*of_the_rest(learned(zero, one), zero, one))
    assert 1.3 < exact <= 2.0
    assert 0.8 * exact < found <= 2.0


def test_a_gaussian_release():
    rng = np.random.default_rng(0)
    zero, one = rng.normal(0, 1, (2, 4000, 6))
    one = one + 1.5 * np.array([0.8, 0.6, 0, 0, 0, 0])
    found = played(*of_the_rest(learned(zero, one), zero, one), delta=0.01)
    exact = played(zero[LEARN:] @ [0.8, 0.6, 0, 0, 0, 0], one[LEARN:] @ [0.8, 0.6, 0, 0, 0, 0], delta=0.01)
    assert 0.8 * exact < found <= gaussian_epsilon(1.5, 0.01)


@pytest.mark.few("4")
@pytest.mark.parametrize("rounds", [4, 20])
def test_an_uncovered_second_message(rounds):
    """What was sent second is the mean of three noisy values that were heard, less a small gradient: no single number
    tells, one exact relation among four of many does. With 20 rounds there are two columns for three transcripts."""
    rng, d = np.random.default_rng(rounds), 10
    worlds = []
    for sign in (-1, 1):
        observed = rng.laplace(0, 1, (900, rounds, 3, d))
        second = observed.mean(axis=2)
        second[..., 0] -= sign * 0.02
        worlds.append(np.concatenate([observed.reshape(900, -1), second.reshape(900, -1)], axis=1))
    classifier = learned(*worlds, learn=600)
    scores = list(of_the_rest(classifier, *worlds, learn=600))
    assert np.mean(scores[0] < 0) > 0.99
    assert np.mean(scores[1] > 0) > 0.99
    assert played(*scores) > 4


def test_what_was_learned_by_heart_proves_nothing():
    """Both worlds are the same noise. The scores of what taught would refute anything; those of the rest do not."""
    rng = np.random.default_rng(3)
    zero, one = rng.normal(0, 1, (2, 900, 300))
    boasting = Classifier.fit(Features.of(zero[:200]), Features.of(one[:200]), rng)
    assert boasting.loss > 0.6  # and cross-validation is not fooled
    sure = LEARN_BY_HEART(zero[:200], one[:200])
    assert played(*(v[:200] @ sure for v in (zero, one))) > 2
    assert played(*(boasting.score(Features.of(v[200:])) for v in (zero, one))) == 0


def LEARN_BY_HEART(zero, one):  # noqa: N802
    """Weights that separate all that there is, 400 transcripts in 300 dimensions, without any restraint."""
    rows = np.concatenate([zero, one])
    return np.linalg.lstsq(rows, np.repeat([-1.0, 1.0], len(zero)), rcond=None)[0]


def test_numbers_of_all_sizes_and_none():
    """±∞, NaN, powers of e, constants: scores are numbers all the same, and what is telling is found."""
    rng = np.random.default_rng(4)
    zero, one = np.exp(rng.normal(0, 30, (2, 400, 3)))
    one = np.exp(np.log(one) + np.array([60.0, 0, 0]))
    wild = []
    for values in (zero, one):
        table = np.concatenate([values, np.full((400, 1), 7.0), 1e300 * rng.normal(0, 1, (400, 1))], axis=1)
        table[rng.random(table.shape) < 0.02] = np.nan
        table[rng.random(table.shape) < 0.02] = np.inf
        table[rng.random(table.shape) < 0.02] = -np.inf
        wild.append(table)
    classifier = learned(*wild, learn=200)
    scores = [classifier.score(Features.of(values[200:])) for values in wild]
    assert np.isfinite(scores).all()
    assert np.mean(scores[1]) > np.mean(scores[0])
    assert np.mean(scores[1][:, None] > scores[0][None, :]) > 0.75
    assert np.isfinite(classifier.score(Features.of(np.full((3, 5), np.inf)))).all()


def test_rows_that_are_missing_tell():
    rng = np.random.default_rng(5)
    both = rng.normal(0, 1, (2, 60, 2))
    zero = Features(("a", "b"), both[0], {"a time": 1.0, "b time": 2.0})
    one = Features(("a",), both[1][:, :1], {"a time": 1.0})
    classifier = Classifier.fit(zero, one, rng)
    assert classifier.score(zero).max() < classifier.score(one).min()


def test_a_different_moment_tells():
    rng = np.random.default_rng(6)
    zero, one = (Features(("a",), rng.normal(0, 1, (60, 1)), {"a time": t}) for t in (1.0, 1.5))
    classifier = Classifier.fit(zero, one, rng)
    assert classifier.score(zero).max() < classifier.score(one).min()


def test_nothing_varies_nothing_is_said():
    zero = Features.of(np.ones((30, 2)))
    classifier = Classifier.fit(zero, zero, np.random.default_rng(0))
    assert classifier.score(zero).tolist() == [0.0] * 30
    assert classifier.loss == pytest.approx(math.log(2))


def test_a_transcripts_score_is_its_own_to_the_last_bit():
    rng = np.random.default_rng(8)
    zero, one = rng.normal(0, 1, (2, 100, 40))
    one = one + 0.2
    for columns in (slice(0, 40), slice(0, 1)):  # many, and few enough for ramps and trees
        classifier = learned(zero[:, columns], one[:, columns], learn=60)
        together = classifier.score(Features.of(one[60:, columns]))
        alone = [classifier.score(Features.of(row[None, columns]))[0] for row in one[60:]]
        np.testing.assert_array_equal(together, alone)


def test_the_same_seed_learns_the_same():
    rng = np.random.default_rng(9)
    zero, one = rng.laplace(0, 1, (2, 200, 5))
    ours, again = (learned(zero, one + 0.3, learn=100).score(Features.of(zero)) for _ in range(2))
    np.testing.assert_array_equal(ours, again)


def test_too_few_transcripts_are_refused():
    few = Features.of(np.zeros((5, 2)))
    with pytest.raises(AttackError, match="12"):
        Classifier.fit(few, few, np.random.default_rng(0))


def view_of(adversary, rounds=3):
    eye = np.eye(2)
    problem = Problem(tuple(LeastSquares(eye, np.full(2, float(i)), 0.5) for i in range(4)))
    algorithm = PrivateGradientDescent(rounds, Constant(0.1), Constant(1.0))
    return Simulation(problem, topology.path(4), algorithm, adversaries=(adversary,), replicas=5).run().views[0]


def test_features_are_all_that_was_recorded_once():
    """Two agents told 3 vectors of 2 numbers each on the link; an outsider hears each broadcast once."""
    on_link = Features.of_view(view_of(Adversary("a", ((0, 1),))))
    assert on_link.values.shape == (5, 2 * 3 * 2)
    assert Features.of_view(view_of(Adversary("a", "all"))).values.shape == (5, 4 * 3 * 2)
    inside = Features.of_view(view_of(Adversary("a", insiders=(1,))))
    assert inside.values.shape == (
        5,
        (3 + 3) * 3 * 2,
    )  # three agents' vectors, its queries and their answers
    assert len(set(inside.names)) == len(inside.names)
    observed = {row.values["x"].tobytes() for row in view_of(Adversary("a", ((0, 1),))).transcript}
    pairs = [on_link.values[:, k : k + 2] for k in range(0, 12, 2)]
    assert {np.ascontiguousarray(pair).tobytes() for pair in pairs} == observed
