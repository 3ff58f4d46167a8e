"""A wire by itself, and small runs, for the tests of links, active adversaries and authentication."""

import random

import numpy as np

from netsim.algorithms import PrivateGradientDescent
from netsim.clock import VirtualEnvironment
from netsim.network.active_adversaries import Interception, InterceptionReport
from netsim.network.laws import Switch
from netsim.network.links import LinkLaw
from netsim.network.wires import LossyWire
from netsim.randomness import Streams
from netsim.schedules import Constant
from netsim.simulation import Run, Simulation
from netsim.topology import path, ring
from netsim.transcript.message import Message
from tests.worlds import regression_problem, simulated

ROUNDS = 12
FALSE_ALARM = 1e-8
"""Of each statistical test, over reseeding."""


def descending(links: LinkLaw | None = None, adversaries=(), *, agents=5, topology=None, **options) -> Simulation:
    """Gradient descent with noise on a ring, one exchange a round."""
    problem = regression_problem(agents)
    algorithm = PrivateGradientDescent(ROUNDS, Constant(0.1), Constant(1.0))
    options = {"seed": 4} | options
    return simulated(
        problem, topology or ring(agents), algorithm, links or LinkLaw(), adversaries=adversaries, **options
    )


def descent(links: LinkLaw | None = None, adversaries=(), **options) -> Run:
    return descending(links, adversaries, **options).run()


def estimates(run: Run) -> list[bytes]:
    """Every point at which an agent asked for its gradient, bit for bit."""
    return [query.point.tobytes() for queries in run.truth.queries for query in queries]


def message(number: int, floats: int = 10, kind="direct") -> Message:
    return Message(0, kind, number, {"x": np.full((1, floats), number + 1.0)})


def rows(run: Run) -> list[tuple]:
    """A transcript that compares by value, bit for bit."""
    return [
        (*row[:-1], *((name, v.shape, v.tobytes()) for name, v in row.values.items()))
        for row in run.views[0].transcript
    ]


class Line:
    """One wire with active adversaries at its far end, and what left it, when."""

    def __init__(self, law: LinkLaw, active_adversaries=(), seed=0, environment=None, **ends) -> None:
        self.environment, rng = environment or VirtualEnvironment(), random.Random(seed)
        switch = None if law.outages is None else Switch(law.outages.changes(random.Random(seed + 1)))
        self.wire = LossyWire(self.environment, 0, 1, law, rng, switch=switch, **ends)
        self.interception = Interception(active_adversaries, path(2), Streams(seed), 0)
        self.interception.sit(self.environment, self.wire)
        self.captured, self.arrived = [], []
        self.wire.tap(self.captured.append)
        self.wire.deliver = lambda packet: self.arrived.append((self.environment.now, packet.number, packet))

    def send_at(self, times) -> "Line":
        for number, time in enumerate(times):
            self.environment.call_at(float(time), self.wire.send, message(number))
        return self

    def run(self, until=None) -> "Line":
        self.environment.run(until)
        return self

    @property
    def when(self) -> list[tuple[float, int]]:
        return [(time, number) for time, number, _ in self.arrived]

    @property
    def numbers(self) -> list[int]:
        return [number for _, number, _ in self.arrived]

    @property
    def deeds(self) -> InterceptionReport:
        return self.interception.reports[0]
