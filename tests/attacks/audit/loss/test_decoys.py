"""Noise that no message carries, among decoys: held against integrals over it."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import roots_hermitenorm, roots_laguerre

from attacks.audit.loss.comparison import compare_worlds
from attacks.audit.loss.hidden_releases import DECOYS, FEWEST_AMONG_DECOYS
from attacks.audit.pair import Pair
from netsim.algorithms import Algorithm
from netsim.mechanisms import Gaussian, Laplace, UniformLaplace
from netsim.node import Node
from netsim.problems import LeastSquares, Problem
from netsim.simulation import Simulation
from netsim.topology import ring
from scenarios.stages.worlds import worlds
from tests.attacks.auditing import claim_of, judged

SIGMA, TRIALS, PULL = 0.8, 4000, (1.0, 2.5)
"""Deviation of what is on the wire, transcripts, and the gradient's size at 0 in either world."""
SELDOM = 2.9
"""Above it so rarely that few samples of 250 are."""
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
        wide = UniformLaplace(np.where(gradient > np.mean(PULL), 6.0, -6.0), 0.1)  # one deviation, two means
        z = node.privatize(base, wide if self.how == "by a law of the data" else self.law)
        value = np.tanh(gradient + z)
        sent = node.privatize(value, Gaussian(SIGMA))
        await node.exchange(x=sent)
        if self.how == "in a sign":
            await node.exchange(x=np.sign(z) + 2.0 * np.sign(z * 1e3 - 1.0) + np.rint(1e6 * z))
        if self.how == "rarely about the data":
            seldom = node.privatize(np.where(sent > SELDOM, gradient, 0.0), self.law)
            await node.exchange(x=node.privatize(np.tanh(seldom), Gaussian(5.0)))
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


@pytest.mark.parametrize("how", ["about the data", "in a sign", "by a law of the data"])
def test_noise_that_data_move_and_noise_that_decides_what_is_sent_are_granted(how):
    found, *_ = compared(Bent(Gaussian(1.5), how), 200)
    assert found.granted_from == 0
    assert found.scores is None


def test_a_game_goes_by_one_function_of_the_wire_in_both_worlds():
    """Noise that data move in few samples is granted in these alone. Scores of one world beside losses of the other
    would prove ε = 2.8, where the exact ε is 1.4, or a hair more."""
    own, other = map(objective, PULL)
    simulation = Simulation(Problem((own,) * 3), ring(3), Bent(Gaussian(1.5), "rarely about the data"))
    axis = np.linspace(-7.0, 7.0, 1401)
    here, there = (np.exp(log_density(axis, pull, Gaussian(1.5))) * (axis[1] - axis[0]) for pull in PULL)
    assert np.maximum(here - math.exp(1.41) * there, 0.0).sum() < 0.01
    assert np.maximum(there - math.exp(1.41) * here, 0.0).sum() < 0.01
    drawn = worlds(simulation, 1, other, 250, 1)
    found = judged(drawn, Pair(1, (own, other), "a pull"), claim_of(1.5, 0.01), attack=None, trials=250, chunk=250)
    assert found.epsilon_audited < 1.41
    assert [one.scores is None for one in found.exact] == [False, True]


def test_few_transcripts_are_granted_the_noise():
    """The search for a pair compares many of these."""
    assert compared(Bent(Gaussian(1.5)), FEWEST_AMONG_DECOYS - 1)[0].scores is None
    assert compared(Bent(Gaussian(1.5)), FEWEST_AMONG_DECOYS)[0].scores is not None


def test_the_same_transcripts_have_the_same_decoys():
    one, other = (compared(Bent(Gaussian(1.5)), 100)[0] for _ in range(2))
    np.testing.assert_array_equal(one.steps, other.steps)
    np.testing.assert_array_equal(one.scores, other.scores)
