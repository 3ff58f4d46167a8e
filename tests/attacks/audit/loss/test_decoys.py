"""Noise that no message carries, among decoys: held against integrals over it."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import roots_hermitenorm, roots_laguerre

from attacks.audit.loss.comparison import compare_worlds
from attacks.audit.loss.decoys import DECOYS, FEWEST
from netsim.algorithms import Algorithm
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import Node
from netsim.problems import LeastSquares, Problem
from netsim.simulation import Simulation
from netsim.topology import ring
from scenarios.stages.worlds import worlds

SIGMA, TRIALS, PULL = 0.8, 4000, (1.0, 2.5)
"""Deviation of what is on the wire, transcripts, and the gradient's size at 0 in either world."""
ENOUGH = 5.0
"""In standard errors: with twelve checks one fails by chance with probability below 1e-5."""


@dataclass(frozen=True)
class Bent(Algorithm):
    """Sends a noisy function of its gradient and of noise z that no message carries."""

    law: Gaussian | Laplace
    how: str = "bent"

    async def run(self, node: Node) -> None:
        gradient = await node.gradient(node.zeros())
        base = gradient if self.how == "about the data" else node.zeros()
        z = node.privatize(base, self.law)
        value = np.tanh(gradient + z)
        await node.exchange(x=node.privatize(value, Gaussian(SIGMA)))
        if self.how == "in a sign":
            await node.exchange(x=np.sign(z) + 2.0 * np.sign(z * 1e3 - 1.0) + np.rint(1e6 * z))
        node.estimate(gradient)


def objective(pull):
    return LeastSquares(np.eye(1), np.full(1, -pull), 0.0)


def compared(algorithm, trials=TRIALS, world=0):
    """A comparison, and what was sent."""
    own, other = map(objective, PULL if world == 0 else PULL[::-1])
    simulation = Simulation(Problem((own,) * 3), ring(3), algorithm)
    sample = worlds(simulation, 1, other, trials)(0, 0)
    sent = next(row for row in sample.view.at_node(1) if row.event == "sent")
    return compare_worlds(sample, 1, own, other), sent.values["x"][:, 0], sample.releases


def log_density(seen, pull, law):
    """ln p of what was sent, z integrated out."""
    if isinstance(law, Gaussian):
        nodes, weights = roots_hermitenorm(100)
        nodes, weights = nodes * law.stddev, weights / math.sqrt(2 * math.pi)
    else:
        half, weights = roots_laguerre(100)
        nodes, weights = law.scale * np.concatenate([-half, half]), np.concatenate([weights, weights]) / 2
    each = Gaussian(SIGMA).log_density(np.repeat(seen, len(nodes))[:, None],
                                       np.tile(np.tanh(pull + nodes), len(seen))[:, None])  # fmt: skip
    return np.log(np.exp(each.reshape(len(seen), -1)) @ weights)


@pytest.mark.parametrize("law", [Gaussian(1.5), Laplace(1.2)], ids=["gaussian", "laplace"])
def test_the_loss_among_decoys_is_between_that_of_the_wire_and_that_of_the_grant(law):
    """Given what was sent, e^−L has the mean of the wire's alone, as that of any mechanism of which the wire is a
    function; and L is nearer to it by far, as are the scores."""
    found, seen, releases = compared(Bent(law))
    assert found.granted_from == 0
    assert found.scores is not None
    pulls = [objective(pull).gradient(np.zeros((1, 1))).item() for pull in PULL]
    wire = log_density(seen, pulls[0], law) - log_density(seen, pulls[1], law)
    values = [np.tanh(pull + releases[0]) for pull in pulls]
    granted = np.subtract(*(Gaussian(SIGMA).log_density(seen[:, None], value) for value in values))
    mixed = found.losses()
    for part in (np.ones(TRIALS, dtype=bool), wire > np.median(wire), seen > 1, seen < 0):
        for losses in (granted, mixed):
            off = np.where(part, np.exp(-losses) - np.exp(-wire), 0.0)
            assert abs(off.mean()) < ENOUGH * off.std() / math.sqrt(TRIALS)
    far = [np.sqrt(np.mean((losses - wire) ** 2)) for losses in (granted, mixed, found.scores)]
    assert far[1] < 2 * far[0] / math.sqrt(DECOYS)
    assert far[2] < 2 * far[0] / math.sqrt(DECOYS)
    assert mixed.mean() > wire.mean()  # a divergence: what is granted, if among decoys, adds to it


@pytest.mark.parametrize("how", ["about the data", "in a sign"])
def test_noise_that_data_move_and_noise_that_decides_what_is_sent_are_granted(how):
    found, *_ = compared(Bent(Gaussian(1.5), how), 200)
    assert found.granted_from == 0
    assert found.scores is None


def test_few_transcripts_are_granted_the_noise():
    """The search for a pair compares many of these."""
    assert compared(Bent(Gaussian(1.5)), FEWEST - 1)[0].scores is None
    assert compared(Bent(Gaussian(1.5)), FEWEST)[0].scores is not None


def test_the_same_transcripts_have_the_same_decoys():
    one, other = (compared(Bent(Gaussian(1.5)), 100)[0] for _ in range(2))
    np.testing.assert_array_equal(one.steps, other.steps)
    np.testing.assert_array_equal(one.scores, other.scores)
