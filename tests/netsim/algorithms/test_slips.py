"""Slips of who writes an algorithm: each is told by name, with the remedy."""

import asyncio
from dataclasses import dataclass

import numpy as np
import pytest

from attacks.audit.audit import audit
from attacks.audit.pair import Pair
from attacks.inference import through_probe
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, Extra
from netsim.claims import Adjacency
from netsim.errors import AttackError, PrivacyError, ProtocolError, ScenarioError
from netsim.node import Node
from netsim.simulation import Simulation
from scenarios.stages.worlds import worlds
from tests.attacks.auditing import replayed
from tests.worlds import synthetic_problem


@dataclass(frozen=True)
class Slip(Algorithm):
    """Three rounds with one thing wrong."""

    slip: str

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(3):
            if self.slip == "sleeps":
                await asyncio.sleep(1)
            heard = await node.exchange(x=x)
            x = heard.mix("y" if self.slip == "another name" else "x") - 0.1 * await node.gradient(x)
            if self.slip == "another name, told":
                heard.sent("y")
            if self.slip != "no estimate":
                node.estimate(x)


def simulation(algorithm):
    problem = synthetic_problem()
    door = Adversary("door", nodes=(1,))
    return Simulation(problem, topology.ring(problem.agents), algorithm, adversaries=(door,))


@pytest.mark.parametrize("slip", ["another name", "another name, told"])
def test_a_name_that_was_not_sent(slip):
    with pytest.raises(ProtocolError, match=r"agent 1 wants its own 'y' of exchange 0, in which it sent 'x'"):
        simulation(Slip(slip)).run()


def test_nobody_estimated():
    run = simulation(Slip("no estimate")).run()
    with pytest.raises(ProtocolError, match=r"ever called `node.estimate` \(Slip.run, test_slips.py:\d+\): "):
        run.metrics.worst_by_round(5)


def test_awaiting_the_loop_and_not_the_node():
    run = simulation(Slip("sleeps")).run()
    with pytest.raises(ProtocolError, match="agent 1 awaited something that is not the port's"):
        replayed(run)
    with pytest.raises(AttackError, match="agent 0 awaited something that is not the port's"):
        through_probe(run.views[0])


def test_a_number_where_a_schedule_belongs():
    with pytest.raises(ScenarioError, match=r"algorithm.scale = 0.5: is a float; allowed: a Schedule, such as"):
        simulation(Extra(5, 0.1, scale=0.5))


def test_an_audit_of_no_claim():
    here = simulation(Extra(3, 0.1))
    own, other = here.problem.objectives[1], here.problem.objectives[2]
    claim = here.claim(Adjacency(1.0, "another's data"), 3, 0.0)
    assert claim is None
    with pytest.raises(PrivacyError, match="nothing is claimed, so there is nothing to audit: hand in a claim"):
        audit(
            worlds(here, 1, other, 10), Pair(1, (own, other), "another's data"), claim,
            trials=10, chunk=10, confidence=0.95, rng=np.random.default_rng(0),
        )  # fmt: skip
