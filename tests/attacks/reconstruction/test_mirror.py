"""A record and its mirror image are told apart only by what really does."""

import numpy as np
import pytest

from attacks.reconstruction import Case, Known, Prior
from attacks.reconstruction.one_record import LeastSquaresRecord, LogisticRecord
from attacks.reconstruction.record_hypotheses import MIRRORED, preference
from attacks.reconstruction.row_space import LeastSquaresGram, RowSpace
from netsim.models import Linear, Logistic
from tests.attacks.noisy import noisy_evidence, white_noise

WIDTH = 6
SYMMETRIC = np.random.default_rng(0).standard_normal((200, WIDTH))
BALANCED = Prior.of(np.tile(np.r_[SYMMETRIC, -SYMMETRIC], (2, 1)), np.repeat([-1.0, 1.0], 400))
TELLING = Prior.of(2 + 0.3 * SYMMETRIC, np.resize([-1.0, 1.0], 200))
WIDE = {"value_range": (-1.0, 2.0)}
ATTACKS = [LogisticRecord(), LeastSquaresRecord(), LeastSquaresGram(), RowSpace(restarts=64)]


def rebuilt(attack, record, **known):
    rng = np.random.default_rng(1)
    m = len(record)
    model = Linear(WIDTH) if "squares" in attack.name else Logistic(WIDTH)
    points = rng.standard_normal((12, 2, WIDTH))
    truth = model.targets(np.resize([-1.0, 1.0], m))
    evidence = noisy_evidence(model, points, record, truth, white_noise(0.0, 12, WIDTH), "gaussian", rng)
    return attack.reconstruct([Case(evidence, Known(model, m, **known))], rng)[0]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.name)
@pytest.mark.parametrize("known", [WIDE, {"prior": BALANCED}, WIDE | {"prior": BALANCED}, {}])
def test_what_does_not_tell_leaves_it_open(attack, known):
    record = np.random.default_rng(2).uniform(-0.9, 0.9, (1, WIDTH))
    found = rebuilt(attack, record, **known)
    assert found.open == MIRRORED
    sign = np.sign(np.sum(found.features * record, axis=-1, keepdims=True))
    np.testing.assert_allclose(sign * found.features, np.broadcast_to(record, found.features.shape), atol=1e-6)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.name)
@pytest.mark.parametrize("known", [WIDE, {"prior": TELLING}, {"value_range": (0.0, 2.0)}])
def test_what_tells_tells_right(attack, known):
    """A range of one sign, a prior with odds, and a range that the mirror image lies outside of."""
    record = np.random.default_rng(3).uniform(1.2, 1.9, (1, WIDTH))
    found = rebuilt(attack, record, **known)
    assert found.open == ""
    np.testing.assert_allclose(found.features, np.broadcast_to(record, found.features.shape), atol=1e-6)


def test_every_record_of_a_batch_has_to_be_told():
    records = np.random.default_rng(2).uniform(-0.9, 0.9, (2, WIDTH))
    assert rebuilt(RowSpace(), records, **WIDE).open == MIRRORED
    assert rebuilt(RowSpace(), np.abs(records), value_range=(0.0, 2.0)).open == ""


def test_the_odds_are_those_of_the_prior():
    """Against the ratio of two normal densities, and of the shares."""
    prior = Prior(
        {-1.0: np.array([1.0]), 1.0: np.array([2.0])}, {-1.0: np.ones(1), 1.0: np.ones(1)}, {-1.0: 0.8, 1.0: 0.2}
    )
    known = Known(Logistic(1), 1, prior=prior)
    odds = preference(known, np.array([[0.5]]), np.array([1.0]), exact=True)
    assert odds == pytest.approx(np.log(0.2 / 0.8) - 0.5 * 1.5**2 + 0.5 * 1.5**2)
