"""The residual of a candidate in units of its noise."""

import numpy as np
import pytest

from attacks.estimates import Evidence
from attacks.inference import GradientEstimate
from attacks.reconstruction import Case, Known
from attacks.reconstruction.attack import misfit
from netsim.errors import AttackError
from netsim.models import Linear, Logistic, Penalty, Softmax

MODELS = {"linear": Linear(6, 0.7), "logistic": Logistic(6), "softmax": Softmax(6, 3)}


def correlated(rounds, dimension, rng, common):
    roots = rng.standard_normal((dimension, rounds, rounds)) * 10.0 ** -rng.integers(0, 6, (1, rounds, 1))
    if common:
        roots = np.repeat(roots[:1], dimension, axis=0)
    return roots


def world(model, common, replicas=3000, rounds=5, records=2, law="gaussian"):
    rng = np.random.default_rng(3)
    penalty = Penalty(0.3)
    features = rng.standard_normal((records, model.width))
    labels = rng.choice(model.classes, records) if model.classes else rng.standard_normal(records)
    points = np.repeat(rng.standard_normal((rounds, 1, model.dimension)), replicas, axis=1)
    targets = model.targets(labels)
    roots = correlated(rounds, model.dimension, rng, common)
    noise = np.einsum("dts,srd->trd", roots, rng.standard_normal(points.shape))
    gradients = model.gradient(points, features, targets) + penalty.gradient(points) + noise
    covariance = np.einsum("dts,dus->tud", roots, roots)
    evidence = Evidence(0, tuple(range(rounds)), points, gradients, covariance, law)
    case = Case(evidence, Known(model, records, penalty))
    return case, np.repeat(features[None], replicas, 0), np.repeat(targets[None], replicas, 0)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("common", [True, False])
def test_at_the_true_records_it_is_chi_squared(name, common):
    """Mean and variance over 3000 replicas within 5 of their standard errors."""
    case, features, targets = world(MODELS[name], common)
    found = misfit(case, features, targets)
    degrees = found.degrees
    assert degrees == 5 * MODELS[name].dimension
    assert abs(found.squared.mean() - degrees) < 5 * np.sqrt(2 * degrees / 3000)
    assert np.var(found.squared) == pytest.approx(2 * degrees, rel=0.2)
    other = misfit(case, features + 1.0, targets)
    assert np.min(other.squared) > np.max(found.squared)


def test_it_is_the_naive_sum():
    """Coordinate by coordinate, with the inverse of each covariance."""
    case, features, targets = world(MODELS["logistic"], False, replicas=3)
    found = misfit(case, features + 0.1, targets)
    evidence, known = case
    for r in range(3):
        total = 0.0
        for c in range(6):
            residual = evidence.gradients[:, r, c] - known.penalty.gradient(evidence.points)[:, r, c]
            for t in range(5):
                margins = (features[r] + 0.1) @ evidence.points[t, r]
                slope = 1 / (1 + np.exp(-margins)) - targets[r, :, 0]
                residual[t] -= np.mean(slope * (features[r, :, c] + 0.1))
            total += residual @ np.linalg.solve(evidence.covariance[..., c], residual)
        assert found.squared[r] == pytest.approx(total, rel=1e-5)


def test_exact_evidence_leaves_less_than_rounding():
    model = MODELS["softmax"]
    rng = np.random.default_rng(0)
    point, features = rng.standard_normal((1, model.dimension)), rng.standard_normal((1, 1, 6))
    targets = model.targets(np.array([[2.0]]))
    gradient = model.gradient(point, features, targets)
    case = Case(Evidence.of([GradientEstimate(0, 0, point, gradient, 0.0)]), Known(model, 1))
    assert misfit(case, features, targets).squared < 1e-6 * model.dimension
    assert misfit(case, features * (1 + 1e-6), targets).squared > model.dimension
    assert misfit(case, 0 * features, targets).relative > 0.5


def test_rows_do_not_touch_each_other():
    case, features, targets = world(MODELS["linear"], False, replicas=7)
    evidence, known = case
    alone = Evidence(0, evidence.queries, evidence.points[:, 2:3], evidence.gradients[:, 2:3], evidence.covariance)
    one = misfit(Case(alone, known), features[2:3], targets[2:3])
    whole = misfit(case, features, targets)
    assert one.squared[0] == whole.squared[2]


def test_shapes_are_checked():
    case, features, targets = world(MODELS["linear"], True, replicas=2)
    with pytest.raises(AttackError, match="candidates of shapes"):
        misfit(case, features[:, :1], targets)
