"""What clipped, projected or shrank before noise was added looks, to noise, as if it had done nothing: refused."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.inference import probed
from attacks.probe import probe_network
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Dmsp, PgExtra, PrivateGradientDescent
from netsim.claims import Clip
from netsim.errors import AttackError
from netsim.models.model import L1, Box
from netsim.problems import load, logistic
from netsim.schedules import Constant, Geometric
from netsim.settings import Recording
from netsim.simulation import Simulation


def problem(size, dimension=1, **options):
    data = load("synthetic", records=24, dimension=dimension, seed=3, norm_bound=300.0)
    parts = tuple(
        replace(part, features=part.features * size / np.max(np.abs(part.features))) for part in data.split(4)
    )
    return logistic(parts, ridge=1e-3, **options)


STEP = 1e-5
BENDS = {
    "clip": (problem(200), lambda: PrivateGradientDescent(3, Constant(STEP), Constant(STEP), clip=Clip(5.0, "l2"))),
    "box": (problem(30), lambda: Dmsp(2, Constant(0.01), Box(-0.04, 0.04), Constant(0.002))),
    "l1": (problem(25, regularizer=L1(2.0)), lambda: PgExtra(2, 0.005, scale=Geometric(0.1, 0.01))),
}


def ran(bent, algorithm, seed):
    return Simulation(
        bent, topology.ring(4), algorithm, adversaries=(Adversary(),), seed=seed, recording=Recording(measure=False)
    ).run()


@pytest.mark.slow
@pytest.mark.parametrize("name", BENDS)
def test_no_estimate_is_far_from_the_truth(name):
    bent, algorithm = BENDS[name]
    refusals = 0
    for seed in range(12):
        run = ran(bent, algorithm(), seed)
        for agent in range(4):
            try:
                found = probed(run.views[0], agent)
            except AttackError as refusal:
                refusals += "is no affine function of its gradients" in str(refusal)
                continue
            for t in np.flatnonzero(found.identifiable):
                error = np.abs(found.gradients[t] - run.truth.queries[agent][t].gradient)
                assert np.all(error <= 8 * found.stddev[t] + found.rounding[t])
    assert refusals


@pytest.mark.parametrize(("name", "dimension", "seed"), [("box", 1, 24), ("box", 1, 33), ("l1", 2, 22)])
def test_nor_does_a_joint_probe_answer(name, dimension, seed):
    bent, algorithm = BENDS[name]
    if dimension == 2:
        bent = problem(25, 2, regularizer=L1(2.0))
    with pytest.raises(AttackError, match="is no affine function of the gradients"):
        probe_network(ran(bent, algorithm(), seed).views[0])


def test_a_clip_that_is_far_away_is_no_reason_to_refuse():
    algorithm = PrivateGradientDescent(3, Constant(STEP), Constant(STEP), clip=Clip(1e4, "l2"))
    run = Simulation(problem(200, 2), topology.ring(4), algorithm, adversaries=(Adversary(),)).run()
    assert probed(run.views[0], 1).identifiable.sum() == 2
    assert probe_network(run.views[0]).identified == 8
