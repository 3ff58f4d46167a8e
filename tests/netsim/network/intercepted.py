"""What the tests of active adversaries and of authenticated links share."""

import numpy as np

from netsim.algorithms import PrivateGradientDescent
from netsim.network.links import LinkLaw
from netsim.problems import least_squares, load
from netsim.schedules import Constant
from netsim.simulation import Run, Simulation
from netsim.topology import ring
from netsim.transcript.message import Message
from tests.worlds import simulated

ROUNDS = 12


def descending(links: LinkLaw | None = None, adversaries=(), *, agents=5, topology=None, **options) -> Simulation:
    """Gradient descent with noise on a ring, one exchange a round."""
    data = load("synthetic", kind="regression", records=40, dimension=3)
    problem = least_squares(data.split(agents), ridge=0.1)
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
