"""Posterior deviations where gradients are exact or nearly so."""

import numpy as np
import pytest

from attacks.reconstruction import Case, Known, Prior
from attacks.reconstruction.map_estimate import _inverse_diagonal
from attacks.reconstruction.posterior import PosteriorMean, PosteriorMode
from netsim.models import Linear
from tests.attacks.noisy import noisy_evidence, white_noise

WIDTH = 16


@pytest.mark.parametrize("stddev", [0.0, 1e-9, 1e-8, 1e-4])
@pytest.mark.parametrize("attack", [PosteriorMode(), PosteriorMean()])
def test_a_record_of_least_squares_from_nearly_exact_gradients(attack, stddev):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        pool = rng.uniform(0, 1, (200, WIDTH))
        prior = Prior.of(pool, np.where(rng.random(200) < 0.5, -1.0, 1.0))
        record, model = rng.uniform(0, 1, (1, WIDTH)), Linear(WIDTH)
        points = rng.standard_normal((6, 6, WIDTH))
        noise = white_noise(stddev, 6, WIDTH)
        evidence = noisy_evidence(model, points, record, model.targets(np.ones(1)), noise, "gaussian", rng)
        known = Known(model, 1, prior=prior, value_range=(0.0, 1.0))
        found = attack.reconstruct([Case(evidence, known)], rng)[0]
        assert np.max(np.abs(found.features - record)) < 0.01
        assert np.all(np.isfinite(found.spread))
        assert np.all(found.spread < 0.01)


@pytest.mark.parametrize("rows", [3, 16, 40])
def test_the_diagonal_of_the_inverse(rows):
    rng = np.random.default_rng(rows)
    d, b, a = rng.uniform(1, 2, WIDTH), rng.standard_normal((rows, WIDTH)), rng.standard_normal(WIDTH)
    c = 0.9 / float(a @ a)
    direct = np.linalg.inv(np.diag(d) + b.T @ b - c * np.outer(a, a))
    assert np.allclose(_inverse_diagonal(d, b, a, c), np.diag(direct), rtol=1e-10)
