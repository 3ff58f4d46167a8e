"""Number and names of the messages that an agent's code sends, without its data; and nothing that data decide."""

from dataclasses import dataclass

import numpy as np
import pytest

from attacks.replay.outline import outline
from attacks.replay.recorded import Recording
from netsim.algorithms import Algorithm, PrivateGradientDescent, Recal
from netsim.mechanisms import Laplace
from netsim.node import Node, choose
from netsim.schedules import Constant
from tests.worlds import synthetic_problem, tapped_ring


@dataclass(frozen=True)
class Talkative(Algorithm):
    """Two names in turn, and now and then a message more."""

    rounds: int = 4
    decides: str = "nothing"

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for k in range(self.rounds):
            gradient = await node.gradient(x)
            noisy = node.privatize(gradient, Laplace(1.0))
            more = {"nothing": False, "data": bool(gradient[0, 0] > 0), "coins": choose(node.coins, [0, 1]) == 1}
            x = (await node.exchange(**{"xy"[k % 2]: noisy})).mix("xy"[k % 2])
            if more[self.decides]:
                node.broadcast(x=noisy)
            node.estimate(x)


def outlined(algorithm, rows=None):
    """Of agent 1 of a ring, of all that passed its door or of the first rows."""
    run = tapped_ring(synthetic_problem(), algorithm, replicas=2).run()
    public = run.simulation.public()
    return outline(Recording(public, 1, run.views[0].transcript.at_node(1)[:rows], 2, np.random.default_rng(0)))


@pytest.mark.parametrize("rows", [None, 3, 0])
def test_rounds_are_counted_whatever_was_captured_of_them(rows):
    found = outlined(PrivateGradientDescent(5, Constant(0.3), Constant(0.1)), rows)
    assert found.complete
    assert found.names == {("exchange", k): {"x"} for k in range(5)}


def test_names_in_turn():
    found = outlined(Talkative())
    assert found.complete
    assert [*found.names.values()] == [{"x"}, {"y"}, {"x"}, {"y"}]


@pytest.mark.parametrize("decides", ["data", "coins"])
def test_what_data_or_coins_decide_is_not_said_to_be_complete(decides):
    found = outlined(Talkative(rounds=40, decides=decides))
    assert not found.complete
    assert all(found.names["exchange", k] == {"xy"[k % 2]} for k in range(40))


def test_a_walk_ends_with_what_was_received():
    assert not outlined(Recal(step=0.5, activations=80)).complete
