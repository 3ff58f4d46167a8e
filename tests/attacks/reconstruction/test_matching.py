"""The misfit, its gradient, the narrower problem, the choice of the round."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.reconstruction import Case
from attacks.reconstruction.gradient_matching import Matching, TotalVariation, narrowed
from attacks.reconstruction.matching_descent import Stack, most_precise
from attacks.reconstruction.optimizers import LBFGS
from netsim.models import MLP, Linear, Logistic, Penalty, Softmax
from tests.attacks.reconstruction.matchings import DIGITS, digits, secret

MODELS = [
    Linear(6), Logistic(6), Softmax(6, 3), Softmax(6, 3, intercept=False), MLP((6, 4, 3)), MLP((6, 4, 3), "tanh"),
]  # fmt: skip


def problem(model, rounds=1, records=2, rows=3, seed=0, **options):
    rng = np.random.default_rng(seed)
    parameters = rng.standard_normal((rows, rounds, model.dimension))
    features, targets = rng.random((rows, 1, records, model.width)), rng.random((rows, 1, records, model.outputs))
    wanted = model.gradient(parameters, features, targets)
    return Matching(model, parameters, wanted, records, **options)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("distance", ["squared", "cosine"])
@pytest.mark.parametrize("rounds", [1, 2])
def test_its_gradient_is_that_of_its_values(model, distance, rounds):
    image = TotalVariation((2, 3), 0.1)
    matching = problem(model, rounds, distance=distance, extra=image)
    rng = np.random.default_rng(1)
    x, move = rng.standard_normal((2, 3, 2 * (model.width + model.outputs)))
    _, slope = matching(x)
    h = 1e-6
    expected = (matching(x + h * move)[0] - matching(x - h * move)[0]) / (2 * h)
    np.testing.assert_allclose(np.sum(slope * move, axis=-1), expected, rtol=2e-6, atol=1e-7)


def test_the_misfits_are_what_they_say():
    matching = problem(Softmax(6, 3), 2)
    x = np.random.default_rng(2).standard_normal((3, 18))
    features, targets = matching.parts(x)
    gradients = matching.model.gradient(matching.parameters, features[:, None], targets[:, None])
    g, w = gradients.reshape(3, -1), matching.wanted.reshape(3, -1)
    squared = np.sum((g - w) ** 2, axis=-1) / np.sum(w**2, axis=-1)
    cosine = 1 - np.sum(g * w, axis=-1) / np.linalg.norm(g, axis=-1) / np.linalg.norm(w, axis=-1)
    np.testing.assert_allclose(matching(x)[0], squared)
    np.testing.assert_allclose(problem(Softmax(6, 3), 2, distance="cosine")(x)[0], cosine)
    np.testing.assert_allclose(targets.sum(axis=-1), 1)


@pytest.mark.parametrize(
    "model", [Linear(90), Logistic(90), Softmax(90, 4), MLP((90, 8, 4)), MLP((90, 8, 4), "relu")], ids=str
)
def test_narrow_or_wide_the_iterates_are_the_same(model):
    """Ten steps of L-BFGS in the span and in the whole space: the same features, to rounding."""
    matching = problem(model, records=2, rows=4, seed=3)
    rng = np.random.default_rng(4)
    start, y = rng.standard_normal((2, 2, 2, 90)), rng.standard_normal((4, 2 * model.outputs))
    pairs = matching.parameters[::2], matching.wanted[::2]
    small = narrowed(model, *pairs, start)
    assert small.model.width < 30
    theta, wanted = (np.repeat(v, 2, axis=0) for v in pairs)
    wide = Matching(model, theta, wanted, 2)
    tight = Matching(small.model, *(np.repeat(v, 2, axis=0) for v in (small.parameters, small.wanted)), 2)
    optimizer = LBFGS(iterations=10)
    far = optimizer.minimize(wide, np.concatenate([start.reshape(4, -1), y], axis=-1))
    near = optimizer.minimize(tight, np.concatenate([small.down(start).reshape(4, -1), y], axis=-1))
    np.testing.assert_allclose(near.value, far.value, rtol=1e-6)
    features = small.up(tight.parts(near.x)[0].reshape(2, 2, 2, -1)).reshape(4, 2, 90)
    np.testing.assert_allclose(features, wide.parts(far.x)[0], atol=1e-6)


def test_noise_is_kept_where_the_problem_is_narrowed():
    """A noisy gradient has full rank: its misfit in the span is that in the whole space."""
    model = Softmax(90, 4)
    matching = problem(model, records=1, rows=1)
    noisy = matching.wanted + np.random.default_rng(0).standard_normal(matching.wanted.shape)
    start = np.random.default_rng(1).standard_normal((1, 1, 1, 90))
    small = narrowed(model, matching.parameters, noisy, start)
    y = np.zeros((1, 4))
    wide = Matching(model, matching.parameters, noisy, 1)(np.concatenate([start[0, 0], y], axis=-1))[0]
    down = np.concatenate([small.down(start)[0, 0], y], axis=-1)
    tight = Matching(small.model, small.parameters, small.wanted, 1)(down)[0]
    norms = np.linalg.norm(small.wanted), np.linalg.norm(noisy)
    assert norms[0] == pytest.approx(norms[1], rel=1e-12)
    np.testing.assert_allclose(tight, wide, rtol=1e-12)


def test_total_variation_of_colours():
    """Against a loop over pixels; colours are never neighbours."""
    rng = np.random.default_rng(0)
    images = rng.random((2, 3, 4, 5, 3))
    value, slope = TotalVariation((4, 5, 3), 0.7)(images.reshape(2, 3, 60))
    for k in range(2):
        down = np.mean([abs(images[k, s, i + 1, j, c] - images[k, s, i, j, c])
                        for s in range(3) for i in range(3) for j in range(5) for c in range(3)])  # fmt: skip
        across = np.mean([abs(images[k, s, i, j + 1, c] - images[k, s, i, j, c])
                          for s in range(3) for i in range(4) for j in range(4) for c in range(3)])  # fmt: skip
        assert value[k] == pytest.approx(0.7 * (down + across))
    move = rng.standard_normal((2, 3, 60))
    h = 1e-7
    ahead, behind = (TotalVariation((4, 5, 3), 0.7)(images.reshape(2, 3, 60) + s * h * move)[0] for s in (1, -1))
    np.testing.assert_allclose(np.sum(slope * move, axis=(1, 2)), (ahead - behind) / (2 * h), rtol=1e-6)


def test_the_most_telling_round():
    """The least noise, of equal ones the earliest; what the gradients are has no part in it."""
    model = Softmax(64, 10)
    held = secret(model, *digits(4), rounds=5, penalty=Penalty(ridge=3.0))
    evidence = held.case.evidence
    stack = Stack((held.case,), 2)
    assert stack.chosen == (most_precise(evidence, 2),) == ((0, 1),)
    private = evidence.without(held.case.known.penalty)
    np.testing.assert_allclose(stack.wanted[0], private[list(stack.chosen[0]), 0])
    noisy = secret(model, *digits(4), rounds=3, stddev=1e-3).case.evidence
    noisy.covariance[0, 0] = 100.0
    assert most_precise(noisy, 3) == (1, 2, 0)
    noisy.gradients[1] *= 1e-3
    assert most_precise(noisy, 3) == (1, 2, 0)


def test_other_replicas_have_no_part_in_what_is_rebuilt():
    held = secret(Softmax(64, 10), *digits(4), rounds=4, replicas=3, stddev=0.1)
    evidence, known = held.case
    loud = evidence.gradients.copy()
    loud[2, 1:] *= 100
    for count in (1, 2):
        assert most_precise(replace(evidence, gradients=loud), count) == most_precise(evidence, count)
        stacks = [Stack((Case(replace(evidence, gradients=g), known),), count) for g in (evidence.gradients, loud)]
        np.testing.assert_array_equal(stacks[0].wanted[0], stacks[1].wanted[0])


def test_a_network_counted_from_a_public_start_is_moved_there():
    model, seeded = MLP((64, 8, 10)), MLP((64, 8, 10), seed=5)
    features, labels = digits(2)
    held = secret(seeded, features, labels)
    stack = Stack((held.case,), 1)
    assert stack.model == model
    expected = model.gradient(stack.points[:, 0], features, model.targets(labels))
    np.testing.assert_allclose(stack.wanted[:, 0], expected, atol=1e-14)
    assert len(DIGITS.features) == 1797
