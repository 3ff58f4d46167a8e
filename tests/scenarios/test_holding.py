"""The prior of records that nobody holds."""

import numpy as np
import pytest

from attacks.reconstruction import Case, Known
from attacks.reconstruction.posterior import PosteriorMode
from netsim.models import Linear
from netsim.problems import Dataset
from scenarios.holding import _rest, prior_of
from tests.attacks.noisy import noisy_evidence, white_noise


def test_the_prior_of_a_regression_knows_the_law_of_targets():
    rng = np.random.default_rng(0)
    width, count, rounds, replicas = 8, 600, 10, 40
    features = rng.uniform(0, 1, (count, width))
    targets = 3 + features @ rng.standard_normal(width) + 0.3 * rng.standard_normal(count)
    prior = prior_of(_rest(Dataset("own", features, targets), [[0], [1]]))
    assert prior.target == pytest.approx((np.mean(targets[2:]), np.var(targets[2:])), rel=1e-3)
    assert prior.labels == (pytest.approx(np.mean(targets[2:])),)
    points = 0.3 * rng.standard_normal((rounds, replicas, width))
    model, known = Linear(width), Known(Linear(width), 1, prior=prior, value_range=(0.0, 1.0))
    noise = white_noise(0.1, rounds, width)
    evidence = noisy_evidence(model, points, features[:1], model.targets(targets[:1]), noise, "gaussian", rng)
    found = PosteriorMode().reconstruct([Case(evidence, known)], rng)[0]
    error = np.mean((found.features - features[0]) ** 2)
    assert error < 0.1 * np.mean((prior.overall - features[0]) ** 2)


def test_classes_stay_classes():
    rng = np.random.default_rng(0)
    data = Dataset("own", rng.uniform(0, 1, (60, 3)), np.resize([-1.0, 1.0], 60))
    prior = prior_of(_rest(data, [[0], [1]]))
    assert prior.labels == (-1.0, 1.0)
    assert prior.target is None
