"""A small network, taps on a part of it, and algorithms that the joint probe has to see through."""

from dataclasses import dataclass

from attacks.estimates import Evidence, GradientEstimate
from attacks.inference import estimates_of
from attacks.probe import ProbedNetwork
from netsim import schedules, topology
from netsim.adversary import Adversary, RandomShare
from netsim.algorithms import Algorithm
from netsim.mechanisms import Gaussian, UniformLaplace
from netsim.node import Node
from tests.worlds import simulated, synthetic_problem

GRAPH = topology.erdos_renyi(8, 0.4, seed=2)
SOME = Adversary("some links", links=RandomShare(0.5, seed=4), capture_loss=0.25)
NEIGHBORS = Adversary("two that collude", insiders=GRAPH.edges[3])
EDGE = Adversary("one link", links=(GRAPH.edges[2],))


def step(eta: float) -> schedules.Constant:
    return schedules.Constant(eta)


@dataclass(frozen=True)
class Noisy(Algorithm):
    """Descent with Gaussian noise on what is sent."""

    rounds: int
    stddev: float
    eta: float = 0.5

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            heard = await node.exchange(x=node.privatize(x, Gaussian(self.stddev)))
            x = heard.mix("x") - self.eta * await node.gradient(x)
            node.estimate(x)


@dataclass(frozen=True)
class Summed(Algorithm):
    """Noise that is never on the wire by itself: v holds it, and only sums of v are sent."""

    rounds: int
    stddev: float

    async def run(self, node: Node) -> None:
        x = v = node.zeros()
        for k in range(self.rounds):
            v = 0.5 * v + node.privatize(await node.gradient(x), Gaussian(self.stddev))
            heard = await node.exchange(sum=x - 0.1 * v)
            x = heard.mix("sum") + 0.01 * k
            node.estimate(x)


@dataclass(frozen=True)
class Shifted(Algorithm):
    """Noise whose mean is half its width, on the wire or inside a sum; the width may be private."""

    rounds: int = 4
    width: float = 3.0
    hidden: bool = False
    private_width: bool = False

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            gradient = await node.gradient(x)
            told = node.privatize(gradient, UniformLaplace(gradient if self.private_width else self.width, 0.1))
            x = (await node.exchange(x=0.1 * told if self.hidden else told)).mix("x")
            node.estimate(x)


@dataclass(frozen=True)
class Proximal(Algorithm):
    """x ← prox(mean of what was heard), with noise in the objective."""

    stddev: float = 0.0
    regularized: bool = False
    rounds: int = 6

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            v = (await node.exchange(x=x)).mix("x")
            if self.stddev:
                x = await node.perturbed_proximal(v, 0.4, Gaussian(self.stddev))
            else:
                x = await node.proximal(v, 0.4, regularized=self.regularized)
            node.estimate(x)


def evidence_in(found: ProbedNetwork) -> list[Evidence]:
    return [Evidence.probed(victim) for victim in found.agents.values() if victim.usable]


def estimates_in(found: ProbedNetwork) -> list[GradientEstimate]:
    return [one for victim in found.agents.values() for one in estimates_of(victim, victim.usable)]


def ran(algorithm, adversary=SOME, replicas=1, graph=GRAPH, **options):
    problem = options.pop("problem", None) or synthetic_problem(graph.agents, dimension=4, records=3)
    return simulated(
        problem, graph, algorithm, adversaries=(adversary,), replicas=replicas, measure=False, **options
    ).run()
