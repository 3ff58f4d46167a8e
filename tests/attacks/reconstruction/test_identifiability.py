"""How many directions a gradient leaves open: against theory, and against a Jacobian by differences."""

import numpy as np
import pytest

from attacks.reconstruction.gradient_matching import free_directions, logistic_twins, narrowed
from netsim.models import MLP, Linear, Logistic, Softmax


def world(model, records, rounds, seed=0):
    rng = np.random.default_rng(seed)
    parameters, features = rng.standard_normal((rounds, model.dimension)), rng.random((records, model.width))
    targets = rng.dirichlet(np.ones(model.outputs), records) if model.outputs > 1 else rng.random((records, 1))
    return parameters, features, targets


@pytest.mark.parametrize("records", [1, 2, 3])
def test_least_squares_is_known_up_to_an_orthogonal_map(records):
    """However many rounds: m(m − 1)/2 directions, features and values together."""
    model = Linear(5)
    assert free_directions(model, *world(model, records, 8), soft=True) == records * (records - 1) // 2


def test_logistic_batches_are_told_by_many_rounds():
    model = Logistic(6)
    assert free_directions(model, *world(model, 1, 1), soft=True) == 1
    assert free_directions(model, *world(model, 2, 1), soft=True) == 8
    assert free_directions(model, *world(model, 2, 6), soft=True) == 0


def test_targets_at_a_corner_can_only_move_inwards():
    """Two softmax records: with targets inside the simplex two directions are open; with hard labels none is, though
    as many would be if a probability could be negative."""
    model = Softmax(12, 5)
    parameters, features, targets = world(model, 2, 1)
    assert free_directions(model, parameters, features, targets, soft=True) == 2
    assert free_directions(model, parameters, features, np.eye(5)[:2], soft=True) == 0
    assert free_directions(model, parameters, features, np.eye(5)[:2], soft=False) == 0


@pytest.mark.parametrize("model", [Softmax(40, 3), MLP((40, 4, 3)), MLP((40, 4, 3), "relu"), Logistic(40)], ids=str)
@pytest.mark.parametrize("records", [1, 3, 5])
def test_narrow_it_is_the_rank_of_the_whole_jacobian(model, records):
    parameters, features, targets = world(model, records, 1, seed=records)
    wanted = model.gradient(parameters, features, targets)
    small = narrowed(model, parameters[None], wanted[None], features[None, None])
    beyond = model.width - small.model.width
    down = small.down(features[None, None])[0, 0]
    found = free_directions(small.model, small.parameters[0], down, targets, soft=False, beyond=beyond)
    columns = []
    for direction in np.eye(features.size).reshape(-1, *features.shape):
        h = 1e-5
        ahead, behind = (model.gradient(parameters, features + s * h * direction, targets) for s in (1, -1))
        columns.append(((ahead - behind) / (2 * h)).ravel())
    rank = np.linalg.matrix_rank(np.array(columns), tol=1e-6)
    assert found == features.size - rank


@pytest.mark.parametrize("scale", [0.1, 0.6, 1.5])
@pytest.mark.parametrize("sign", [-1, 1])
def test_every_twin_has_the_gradient(scale, sign):
    model, rng = Logistic(8), np.random.default_rng(3)
    record = rng.random((1, 8))
    y = sign * scale * record[0]
    gradient = model.gradient(y, record, np.ones((1, 1)))
    twins = logistic_twins(gradient, y)
    assert len(twins) == (4 if sign > 0 else 2)
    for label, t in twins:
        other = -label * t * gradient[None]
        np.testing.assert_allclose(model.gradient(y, other, model.targets(np.array([label]))), gradient, atol=1e-10)
    assert any(np.allclose(-label * t * gradient, record[0], atol=1e-8) for label, t in twins)
