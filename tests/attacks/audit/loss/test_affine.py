"""Gaussian releases inside affine messages: priced as the Gaussian mechanism that they are."""

from dataclasses import dataclass

import numpy as np
import pytest

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.verdict import Verdict
from netsim.algorithms import Algorithm
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import Node
from tests.attacks.auditing import HELD, audited, explained, quadratic_world

SIGMA, DELTA = 0.4, 1e-3


@dataclass(frozen=True)
class Inside(Algorithm):
    """Sends what `how` makes of noisy gradients at 0."""

    how: str

    async def run(self, node: Node) -> None:
        gradient = await node.gradient(node.zeros())
        one = node.privatize(gradient, Gaussian(SIGMA))
        match self.how:
            case "sum":
                await node.exchange(x=one + node.privatize(gradient, Gaussian(SIGMA)))
            case "affine":
                await node.exchange(x=2 * one + 3)
            case "twice":
                await node.exchange(x=2 * one + 3)
                await node.exchange(x=5 - one)
            case "chain":
                await node.exchange(x=2 * one)
                await node.exchange(x=node.privatize(one + gradient, Gaussian(SIGMA)) - 1)
            case "beside":
                await node.exchange(x=one)
                await node.exchange(x=one + node.privatize(gradient, Gaussian(SIGMA)))
            case "under another":
                await node.exchange(x=node.privatize(one + gradient, Gaussian(SIGMA)))
            case "beside the value":
                await node.exchange(x=one + gradient)
            case "beside what cancels":
                other = node.privatize(node.zeros(), Gaussian(SIGMA))
                await node.exchange(x=2 * (one + other) - 2 * other)
            case "beside a far threshold":  # which the noise itself does not pass, nor when it is moved
                other = node.privatize(node.zeros(), Gaussian(SIGMA))
                await node.exchange(x=2 * one + np.where(other > 12 * SIGMA, gradient, 0.0))
            case "beside a narrow gate":
                other = node.privatize(node.zeros(), Gaussian(SIGMA))
                await node.exchange(x=2 * one + np.where(np.abs(other) < 1e-5 * SIGMA, gradient, 0.0))
            case "of another law in the other world":
                law = Laplace(SIGMA) if gradient[0, 0] > -0.3 else Gaussian(SIGMA * np.sqrt(2))
                await node.exchange(x=one + node.privatize(gradient, law))
            case "past a threshold":  # which the noise of no transcript passes, nor all noises moved together
                await node.exchange(x=2 * one + 3)
                name = "y" if np.any(one[:, 0] > 4 * SIGMA) else "x"
                await node.exchange(**{name: node.privatize(gradient, Gaussian(SIGMA))})
            case _:
                raise AssertionError(self.how)
        node.estimate(gradient)


MU = {
    "sum": 2 / np.sqrt(2),
    "affine": 1.0,
    "twice": 1.0,
    "chain": np.sqrt(2.0),
    "beside": np.sqrt(2.0),
    "under another": 2 / np.sqrt(2),
    "beside the value": 2.0,
    "beside what cancels": 1.0,
}
"""μ·σ/‖Δ‖: of sums, in a message or under another release, 2Δ over σ√2; of a value that is sent once more, over σ; of
the others each noise is sent once."""


@pytest.mark.slow
@pytest.mark.parametrize("how", MU)
def test_affine_messages_cost_what_their_own_law_says(how):
    """By the closed form of the Gaussian mechanism that is on the wire; a true claim stands, a false one falls."""
    simulation, pair = quadratic_world(Inside(how))
    zero = np.zeros((1, 4))
    change = float(np.linalg.norm(pair.hypotheses[0].gradient(zero) - pair.hypotheses[1].gradient(zero)))
    epsilon = gaussian_epsilon(MU[how] * change / SIGMA, DELTA)
    true = audited((simulation, pair), 1.05 * epsilon, DELTA, trials=2_000)
    assert all(e.granted_from == np.inf for e in true.exact)
    assert true.epsilon_exact == pytest.approx(epsilon, rel=1e-6)
    assert true.judgement.verdict in HELD
    false = audited((simulation, pair), 0.7 * epsilon, DELTA, trials=2_000)
    assert false.judgement.verdict is Verdict.REFUTED


def priced(how):
    simulation, pair = quadratic_world(Inside(how))
    zero = np.zeros((1, 4))
    change = float(np.linalg.norm(pair.hypotheses[0].gradient(zero) - pair.hypotheses[1].gradient(zero)))
    return explained((simulation, pair)), (change / SIGMA) ** 2


@pytest.mark.parametrize("how", MU)
def test_the_cost_of_a_message_is_put_down_to_the_last_release_in_it(how):
    found, one = priced(how)
    assert found.granted_from == np.inf
    np.testing.assert_allclose(found.cost.sum(axis=0), MU[how] ** 2 * one, rtol=1e-9)
    for t, message in enumerate(found.sent_in[:-1]):
        assert (found.cost[t, 0] == 0) == (found.sent_in[t + 1] == message)


@pytest.mark.parametrize(
    "how", ["of another law in the other world", "past a threshold", "beside a far threshold", "beside a narrow gate"]
)
def test_where_the_messages_are_no_gaussian_vector_the_release_is_granted(how):
    """Both worlds' noise has one deviation; a threshold shows in which messages there are, as the noise is moved."""
    assert explained(Inside(how)).granted_from == 0
