"""Clipping is public: what it may have changed is refused by whoever reads lengths."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.reconstruction import Case, Known
from attacks.reconstruction.attack import misfit
from attacks.reconstruction.gradient_inversion import InvertingGradients
from attacks.reconstruction.one_record import LogisticRecord
from netsim.claims import Clip
from netsim.errors import AttackError
from netsim.models import Logistic, Penalty
from tests.attacks.noisy import noisy_evidence, white_noise

WIDTH, ROUNDS, REPLICAS = 9, 3, 200
MODEL = Logistic(WIDTH)
RNG = np.random.default_rng(0)
RECORD = RNG.uniform(0.2, 1, (1, WIDTH))
KNOWN = Known(MODEL, 1, value_range=(0.0, 1.0), image_shape=(3, 3))


def clipped(clip, stddev=0.0, scale=0.3):
    rng = np.random.default_rng(1)
    points = scale * rng.standard_normal((ROUNDS, REPLICAS, WIDTH))
    noise = white_noise(stddev, ROUNDS, WIDTH)
    exact = noisy_evidence(MODEL, points, RECORD, MODEL.targets(np.ones(1)), 0 * noise, "gaussian", rng)
    gradients = clip(exact.gradients) + stddev * rng.standard_normal(exact.gradients.shape)
    return Case(replace(exact, gradients=gradients, covariance=noise), replace(KNOWN, clip=clip))


def largest(norm):
    order = {"l1": 1, "l2": 2, "linf": np.inf}[norm]
    return float(np.max(np.linalg.norm(clipped(Clip(1e9)).evidence.gradients, order, axis=-1)))


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("stddev", [0.0, 1e-3])
def test_only_a_clip_that_cannot_have_acted_is_let_pass(norm, stddev):
    low, high = Clip(0.99 * largest(norm), norm), Clip(1.5 * largest(norm), norm)
    with pytest.raises(AttackError, match=r"the algorithm clips them to a norm \(l"):
        LogisticRecord().reconstruct([clipped(low, stddev)], RNG)
    found = LogisticRecord().reconstruct([clipped(high, stddev)], RNG)[0]
    assert np.max(np.abs(found.features - RECORD)) < 1e-8 + 50 * stddev


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_every_replica_that_was_clipped_is_refused(norm):
    """Noise takes the norm of a clipped gradient below its bound, but not by several deviations."""
    case = clipped(Clip(0.05, norm), 0.003)
    for r in range(REPLICAS):
        one = case.evidence.gradients[:, r : r + 1]
        with pytest.raises(AttackError, match="the algorithm clips them"):
            LogisticRecord.needs.check("record", Case(replace(case.evidence, gradients=one), case.known))


def test_directions_are_read_all_the_same_but_for_a_penalty():
    case = clipped(Clip(0.05))
    InvertingGradients().needs.check("cosine", case)
    with pytest.raises(AttackError, match="the algorithm clips them"):
        InvertingGradients().needs.check("cosine", Case(case.evidence, replace(case.known, penalty=Penalty(0.1))))


def test_the_true_record_explains_clipped_gradients():
    case = clipped(Clip(0.05))
    features = np.repeat(RECORD[None], REPLICAS, axis=0)
    targets = np.ones((REPLICAS, 1, 1))
    assert np.max(misfit(case, features, targets).relative) < 1e-12
