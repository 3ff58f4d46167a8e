"""Unordered assignments of labels weigh as much as the ordered ones they stand for."""

import numpy as np
import pytest

from attacks.reconstruction import Case, Known, Prior
from attacks.reconstruction.posterior import PosteriorBatch, _multiplicity
from netsim.models import Logistic
from tests.attacks.noisy import noisy_evidence, white_noise


@pytest.mark.parametrize(("share", "m", "likeliest"), [(0.55, 2, 1), (0.55, 4, 2)])
def test_strong_noise_leaves_the_likeliest_number_of_each_label(share, m, likeliest):
    """Binomial: (−, +) of share 0.55 has probability 0.495, (−, −) only 0.3025."""
    width, model = 4, Logistic(4)
    rng = np.random.default_rng(0)
    count = int(1000 * share)
    centers = np.repeat([[0.8, 0, 0.1, 0.1], [0, 0.8, 0.1, 0.1]], [count, 1000 - count], axis=0)
    labels = np.repeat([-1.0, 1.0], [count, 1000 - count])
    pool = centers + 0.1 * rng.standard_normal(centers.shape)
    points = rng.standard_normal((6, 4, width))
    noise = white_noise(30.0, 6, width)
    records = pool[:m]
    evidence = noisy_evidence(model, points, records, model.targets(labels[:m]), noise, "gaussian", rng)
    found = PosteriorBatch().reconstruct([Case(evidence, Known(model, m, prior=Prior.of(pool, labels)))], rng)[0]
    assert np.all(np.sum(found.labels(model) > 0, axis=1) == likeliest)


def test_equal_modes_are_counted():
    """m! where the records of one label are apart, m!/∏ n_k! where they are one."""
    places = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 2], [0, 1, 0]])
    same = np.zeros((1, 4, 6))
    one = np.ones_like(same)
    np.testing.assert_allclose(np.exp(_multiplicity(same, one, places)), [[1, 3, 6, 3]])
    far = np.broadcast_to(np.repeat([0.0, 50, 100], 2), same.shape)
    np.testing.assert_allclose(np.exp(_multiplicity(far, one, places)), [[6, 6, 6, 6]])
