"""What rounding alone may do to an estimate is stated, and an estimate that it may spoil is not called exact."""

import numpy as np
import pytest

from attacks.inference import evidence, probed, through_probe
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import DiaDSP, Dpp2, GradientTracking, Nids, PrivateGradientDescent, Walkman
from netsim.schedules import Constant, Geometric
from netsim.settings import Recording
from netsim.simulation import Simulation
from tests.worlds import heard, synthetic_problem

DOOR = Adversary("door", links=(), nodes=(1,))
SHRINKING = PrivateGradientDescent(16, Geometric(0.5, 0.2))
"""η falls to 2e-11: what it multiplies is lost among the digits of x."""


def errors(found, run):
    asked = np.array([q.gradient for q in run.truth.queries[1]])
    return np.max(np.abs(found.gradients - asked), axis=(1, 2))


def test_what_a_small_step_makes_of_rounding_is_stated_and_is_the_deviation_of_what_is_not_exact():
    run = heard(SHRINKING, DOOR)
    found = probed(run.views[0], 1)
    assert found.identifiable.tolist() == [True] * 15 + [False]
    error, stated = errors(found, run)[:-1], found.rounding[:-1]
    assert np.all(error <= stated)
    assert np.max(error / stated) > 1e-3  # and it is no exaggeration
    size = np.max(np.abs(found.gradients), axis=(1, 2))[:-1]
    assert found.exact[:8].all()
    assert not found.exact[13:].any()
    assert error[-1] > 1e-8 * size[-1]
    assert np.all(found.exact[:-1] == (stated <= 1e-6 * size))
    assert found.condition == pytest.approx(0.2**-14, rel=1e-6)
    estimates = [e for e in through_probe(run.views[0]) if e.agent == 1]
    assert [e.stddev == 0 for e in estimates] == found.exact[:-1].tolist()
    told = next(one for one in evidence(run.views[0]) if one.agent == 1)
    assert not told.exact
    assert told.only(range(8)).exact
    np.testing.assert_array_equal(told.only([2, 14]).rounding, found.rounding[[2, 14]])


@pytest.mark.few(2)
@pytest.mark.parametrize("algorithm", [
    Dpp2(60, 0.1, 0.02, 0.5, eta=Constant(0.9)), Nids(60, 0.1), DiaDSP(60, 0.02, 0.0, 0.0, 0.9),
    Walkman(penalty=4.0, activations=400), PrivateGradientDescent(60, Constant(1e-6)),
])  # fmt: skip
@pytest.mark.parametrize("seed", [0, 1])
def test_long_runs_stay_within_what_is_stated(algorithm, seed):
    run = heard(algorithm, DOOR, seed=seed)
    found = probed(run.views[0], 1)
    kept = found.identifiable
    error, stated = errors(found, run)[kept], found.rounding[kept]
    assert np.all(error <= stated)
    assert np.max(stated) < 1e-6


@pytest.mark.few(1)
@pytest.mark.parametrize("algorithm", [
    GradientTracking(45, 0.02, Geometric(1e6, 0.4), Geometric(1e6, 0.4)), DiaDSP(60, 0.02, 10.0, 10.0, 0.5),
    GradientTracking(20, 0.02, Geometric(1e3, 0.2), Geometric(1e3, 0.2)),
])  # fmt: skip
def test_noise_that_fades_by_many_digits_is_stated_right(algorithm):
    run = Simulation(
        synthetic_problem(), topology.ring(5), algorithm, adversaries=(DOOR,), seed=1, replicas=20,
        recording=Recording(measure=False),
    ).run()  # fmt: skip
    found = probed(run.views[0], 1)
    assert found.identifiable.sum() >= 20
    for t in np.flatnonzero(found.identifiable):
        error = found.gradients[t] - run.truth.queries[1][t].gradient
        stated = np.hypot(found.stddev[t], found.rounding[t])
        assert 0.6 < np.sqrt(np.mean((error / stated) ** 2)) < 1.5


@pytest.mark.parametrize("algorithm", [
    PrivateGradientDescent(22, Constant(0.05), Geometric(1.0, 0.1)),
    GradientTracking(22, 0.02, Geometric(1.0, 0.1), Geometric(1.0, 0.1)),
])  # fmt: skip
def test_noise_that_counts_as_none_counts_as_rounding(algorithm):
    found = probed(heard(algorithm, DOOR).views[0], 1)
    deviation = np.max(np.linalg.norm(found.mixing, axis=1), axis=-1)
    stated = np.hypot(np.max(found.stddev, axis=-1), found.rounding)
    assert np.all(deviation[found.identifiable] <= (1 + 1e-6) * stated[found.identifiable])
    if isinstance(algorithm, PrivateGradientDescent):
        scales = 2**0.5 * 0.1 ** np.arange(1, 22) / 0.05
        assert scales[-1] < 1e-13 * scales[0]
        assert np.all(0.999 * scales <= found.stddev[:-1, 0])  # no equation shares its unknown: none hides another's
