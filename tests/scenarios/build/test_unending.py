"""Code of the user's that waits for nothing is named with its line, in a run and in an audit."""

import time
from dataclasses import dataclass

import numpy as np
import pytest

import netsim
from netsim.algorithms import Algorithm
from netsim.mechanisms import Laplace
from netsim.problems.losses import LeastSquares
from netsim.topology import ring
from scenarios.build import duration
from scenarios.build.duration import Silent, attended, unending_named
from tests.worlds import regression_problem, simulated


@dataclass(frozen=True)
class Searches(Algorithm):
    """A line search that only an interrupt ends: most of its time goes by in NumPy."""

    rounds: int = 2

    async def run(self, node):
        gradient, begun = await node.gradient(node.zeros()), time.monotonic()
        await node.exchange(x=node.privatize(node.zeros(), Laplace(2.0)))
        while np.linalg.norm(np.outer(np.ones(300), gradient)) >= 0:
            if time.monotonic() - begun > 1.0:
                raise KeyboardInterrupt


@dataclass(frozen=True)
class Asks(Algorithm):
    """The same, and all its time goes by in the node, which it asks for one gradient after the other."""

    rounds: int = 2

    async def run(self, node):
        begun = time.monotonic()
        while time.monotonic() - begun < 2.0:
            await node.gradient(node.zeros())
        raise KeyboardInterrupt


@dataclass(frozen=True)
class Slow(Algorithm):
    """A few gradients that take long."""

    rounds: int = 2

    async def run(self, node):
        for _ in range(3):
            await node.gradient(node.zeros())
        await node.exchange(x=node.zeros())
        node.estimate(node.zeros())


@dataclass(frozen=True)
class Works(Algorithm):
    """Always at work, and waits now and then."""

    rounds: int = 40

    async def run(self, node):
        for _ in range(self.rounds):
            begun = time.monotonic()
            while time.monotonic() - begun < 0.001:
                pass
            await node.exchange(x=node.zeros())
            node.estimate(node.zeros())


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(duration, "QUIET", 0.1)


class Said(Silent):
    def __init__(self):
        self.sentences = []

    def say(self, sentence):
        self.sentences.append(sentence)


def slowed(monkeypatch, seconds):
    """Gradients take longer, in the node and in no file of the user's."""
    longer = {"sleep": time.sleep, "seconds": seconds, "gradient": LeastSquares.gradient}
    monkeypatch.setattr(LeastSquares, "gradient", eval("lambda *given: sleep(seconds) or gradient(*given)", longer))


@pytest.mark.parametrize("algorithm", [Searches(), Asks()], ids=["works", "asks"])
@pytest.mark.parametrize("watched", [attended, unending_named])
def test_the_line_is_named(watched, algorithm, monkeypatch):
    said = Said()
    slowed(monkeypatch, 0.005)
    simulation = simulated(regression_problem(), ring(5), algorithm)
    with watched(said, simulation.algorithm) as seen:
        assert simulation.run(seen, every=0.01).interrupted
    assert said.sentences[0].startswith("test_unending.py:")
    assert "in run: " in said.sentences[0]
    assert "does this loop end?" in said.sentences[0]


@pytest.mark.parametrize("algorithm", [Works(), Slow()], ids=["works", "slow"])
@pytest.mark.parametrize("watched", [attended, unending_named])
def test_nothing_is_said_of_one_that_waits(watched, algorithm, monkeypatch):
    said = Said()
    slowed(monkeypatch, 0.1 * isinstance(algorithm, Slow))
    simulation = simulated(regression_problem(), ring(5), algorithm)
    with watched(said, simulation.algorithm) as seen:
        simulation.run(seen, every=0.01)
    assert "this loop" not in "".join(said.sentences)


def test_an_audit_of_an_object_names_it(capsys):
    with pytest.raises(KeyboardInterrupt):
        netsim.audit(Searches(), 1.0, trials=60)
    assert "in run: " in capsys.readouterr().err
