"""Exact prices of all pairs of agents: gossip after noise among 100 agents for 50 rounds, every agent a listener.

Each agent adds Gaussian noise once to a private number and then mixes, with momentum: without it the messages of late
rounds differ by less than the digits that a float has, and prices are not decided. One probe serves all listeners;
each costs one factorization. The ratio is to one dense singular value decomposition for each listener.

Then the law of data processing, on random networks of 3 to 7 agents with random algorithms, pairs and listeners (on
links, at doors, inside agents): no view is charged more than one that has more, none more than the victim's door, and
none more than is claimed; and a view finds a planted fault if it has all messages that show it, and only then.
"""

import argparse
import json
import math
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from attacks.audit.exact_views import Ends, Priced
from attacks.audit.verdict import exceeds
from attacks.audit.view_price import GaussianView
from attacks.probe import Field, message_map, recorded
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import (
    Algorithm,
    DAdmm,
    Decor,
    DPRecal,
    Muffliato,
    MuffliatoDescent,
    PrivateGradientDescent,
    RwAdmm,
    Setting,
    ZipDL,
)
from netsim.algorithms.algorithm import InRounds
from netsim.algorithms.average_consensus import (
    EdgePerturbation,
    StateDecomposition,
    SubspacePerturbation,
    ZeroSumNoise,
)
from netsim.algorithms.composition import zcdp_epsilon
from netsim.arrays import Array, Mask
from netsim.claims import Adjacency, Claim
from netsim.mechanisms import Gaussian
from netsim.node import Node
from netsim.problems import LeastSquares, Objective, Problem, Tilted
from netsim.schedules import Constant
from netsim.settings import Recording
from netsim.simulation import Run, Simulation
from netsim.topology import Topology, random_regular

STDDEV = 1.7


def listeners(graph: Topology) -> tuple[Adversary, ...]:
    """Every agent by itself, honest but curious."""
    return tuple(Adversary(f"agent {i}", insiders=(i,)) for i in range(graph.agents))


def run_of(graph: Topology, gossip: Muffliato, adversaries: Sequence[Adversary]) -> Run:
    """A run whose last view, after those of the `adversaries`, has every message."""
    problem = Problem(tuple(LeastSquares(np.eye(1), np.array([float(i)])) for i in range(graph.agents)))
    everything = Adversary("everything", links=(), nodes=tuple(range(graph.agents)))
    quiet = Recording(measure=False, private="nothing")
    return Simulation(problem, graph, gossip, adversaries=(*adversaries, everything), recording=quiet).run()


def dense(graph: Topology, gossip: Muffliato, listener: int) -> Array:
    """μ of a unit change of each agent, (agents,), from powers of W and an SVD: an oracle without a probe."""
    W, n = graph.weights, graph.agents
    heard, rows = [listener, *graph.neighbors(listener)], list[Array]()
    before = now = np.eye(n)
    for k in range(gossip.rounds):
        rows.append(now[heard])
        m = gossip.momentum if k else 0.0
        before, now = now, (1 + m) * (W @ now) - m * before
    seen = np.delete(np.concatenate(rows), listener, axis=1)
    seen /= np.maximum(np.linalg.norm(seen, axis=1, keepdims=True), 1e-300)
    _, sizes, right = np.linalg.svd(seen)
    kept = right[: np.count_nonzero(sizes > 1e-12)]
    return np.insert(np.linalg.norm(kept, axis=0) / STDDEV, listener, np.inf)


def ends_of(design: Array, noise: Array, scale: Array) -> tuple[Array, Mask]:
    """μ of a unit change of each agent, from above, and whether it is decided, (agents,)."""
    found = GaussianView.of(noise, scale).prices(design)
    return found.most, found.decided


# ── random networks ───────────────────────────────────────────────────────────────────────────────────────────
DELTA, SLACK = 1e-3, 1e-7
Known = tuple[frozenset[Field], frozenset[int]]
"""What a listener has: fields of messages, and the agents that it is inside of."""


@dataclass(frozen=True)
class Planted(InRounds):
    """Descent from states that were released, whose `agent` sends too much of its first round in round `at`: `fault`
    "bare": its gradient to `ends[0]`; "quiet": that with a hundredth of the noise; "noise": the noise of its release;
    "halves": to `ends[0]` and `ends[1]` one half each of its gradient, hidden by noise that their sum has not."""

    step: float
    stddev: float
    agent: int
    at: int
    ends: tuple[int, int]
    fault: str

    noise_fields = ("stddev",)

    async def run(self, node: Node) -> None:
        x, parts = node.zeros(), list[Array]()
        for k in range(self.rounds):
            gradient = await node.gradient(x)
            moved = x - self.step * gradient
            sent = node.privatize(moved, Gaussian(self.step * self.stddev))
            parts = parts if k else self._parts(node, gradient, sent - moved)
            if k == self.at and node.id == self.agent:
                for j, part in zip(self.ends, parts, strict=False):
                    node.send(j, part=part)
            x = (await node.exchange(x=sent)).mix("x")
            node.estimate(x)
        if node.id in self.ends[: len(parts)]:
            await node.receive()

    def _parts(self, node: Node, gradient: Array, noise: Array) -> list[Array]:
        if self.fault == "quiet":
            return [node.privatize(gradient, Gaussian(self.stddev / 100))]
        if self.fault == "halves":
            hidden = node.privatize(node.zeros(), Gaussian(1e3 * self.stddev))
            return [gradient / 2 + hidden, gradient / 2 - hidden]
        return [gradient if self.fault == "bare" else noise]

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        """Without a fault: fresh noise on one gradient in each round, from a point that all have seen."""
        del setting
        epsilon = zcdp_epsilon(self.rounds * (adjacency.gradient_change / self.stddev) ** 2 / 2, delta)
        return Claim(epsilon, delta, "composition of Gaussian releases", adjacency, "ℓ2", coins="known")

    @property
    def needed(self) -> frozenset[Field]:
        """The fields that together show the fault."""
        parts = [(self.agent, "direct", n, "part") for n in range(1 + (self.fault == "halves"))]
        release = [(self.agent, "exchange", 0, "x")] if self.fault == "noise" else []
        return frozenset(cast("list[Field]", parts + release))


FAULTS = ("bare", "quiet", "noise", "halves")


@dataclass(frozen=True, eq=False)
class Case:
    """A random network of 3 to 7 agents with quadratic objectives, an algorithm with Gaussian noise, a victim and a
    pair of its worlds."""

    simulation: Simulation
    victim: int
    adjacency: Adjacency
    pair: tuple[Objective, Objective]

    @classmethod
    def drawn(cls, seed: int, fault: str | None = None) -> "Case":
        """`fault`: the algorithm is `Planted`, with it."""
        rng = np.random.default_rng([seed, 7])
        n, d = int(rng.integers(3, 8)), int(rng.integers(1, 3))
        links = int(rng.integers(n - 1, n * (n - 1) // 2 + 1))
        graph, victim = topology.erdos_renyi(n, seed=seed, links=links), int(rng.integers(n))
        near = graph.neighbors(victim)
        problem = Problem(
            tuple(LeastSquares(rng.standard_normal((3, d)) / 2, rng.standard_normal(3), 0.2) for _ in range(n))
        )
        change, rounds = float(np.exp(rng.uniform(-3, 0))), int(rng.integers(1, 6))
        slope = rng.standard_normal(d)
        slope *= change * (rng.random() if rng.random() < 0.5 else 1.0) / np.linalg.norm(slope)
        stddev, step = float(np.exp(rng.uniform(-1, 1))), float(rng.uniform(0.02, 0.2))
        if fault is None:
            made = list(_algorithms(rounds, step, stddev, rng))
            algorithm = made[int(rng.integers(len(made)))]
        else:
            ends = [int(j) for j in rng.permutation(near)[:2]]
            fault = "bare" if fault == "halves" and len(ends) < 2 else fault
            algorithm = Planted(rounds, step, stddev, victim, int(rng.integers(rounds)), (ends[0], ends[-1]), fault)
        own = problem.objectives[victim]
        adjacency = Adjacency.within(change, "l2", d, "the gradient of one agent moved by a constant vector")
        return cls(Simulation(problem, graph, algorithm, seed=seed), victim, adjacency, (own, Tilted(own, slope)))

    def listeners(self, count: int) -> list[Adversary]:
        """Random ones: on links, at doors, inside one agent or several, and all of that together."""
        graph, rng = self.simulation.topology, np.random.default_rng([self.simulation.seed, 8])
        others = [i for i in range(graph.agents) if i != self.victim]
        found = list[Adversary]()
        for k in range(count):
            links: tuple[tuple[int, int], ...] = ()
            nodes: tuple[int, ...] = ()
            insiders: tuple[int, ...] = ()
            if k % 4 in (0, 3):
                some = rng.permutation(len(graph.edges))[: int(rng.integers(1, 4))]
                links = tuple(graph.edges[int(e)] for e in some)
            if k % 4 in (1, 3):
                nodes = tuple(int(i) for i in rng.permutation(others)[: int(rng.integers(1, 3))])
            if k % 4 in (2, 3):
                insiders = tuple(int(i) for i in rng.permutation(others)[: int(rng.integers(1, len(others) + 1))])
            found.append(Adversary(f"listener {k}", links, nodes, insiders))
        return found

    def priced(self, count: int) -> tuple[Priced, list[Known]]:
        """Every message, and what the victim's door has, then each of so many listeners."""
        n = self.simulation.topology.agents
        agents = tuple(Adversary(f"agent {i}", insiders=(i,)) for i in range(n))
        everything = Adversary("everything", (), nodes=tuple(range(n)))
        taps = Adversary("door", (), nodes=(self.victim,)), *self.listeners(count)
        quiet = Recording(measure=False, private="nothing")
        run = replace(self.simulation, adversaries=(*agents, everything, *taps), recording=quiet).run()
        found = Priced.of(run.views[n], run.views[:n], run.simulation.problem.objectives, self.adjacency, DELTA)
        views = run.views[n + 1 :]
        return found, [(recorded(view), frozenset(view.adversary.insiders)) for view in views]

    @property
    def claimed(self) -> float:
        """The claim of the algorithm, which holds for every listener; ∞ where it has none."""
        algorithm, n = self.simulation.algorithm, self.simulation.run().largest_activations
        if isinstance(algorithm, Decor):  # against who holds all seeds of the victim
            return zcdp_epsilon(
                algorithm.rounds * (self.adjacency.gradient_change / algorithm.stddev) ** 2 / 2, DELTA
            )
        claim = self.simulation.claim(self.adjacency, n, DELTA)
        return math.inf if claim is None or claim.epsilon is None else claim.epsilon


def _algorithms(rounds: int, step: float, stddev: float, rng: np.random.Generator) -> Iterator[Algorithm]:
    """Algorithms whose messages are linear in gradients and Gaussian noise."""
    steady = Constant(step)
    yield PrivateGradientDescent(1 + rounds, steady, Constant(step * stddev), state="released", noise="gaussian")
    yield PrivateGradientDescent(1 + rounds, steady, Constant(stddev), noise="gaussian")
    yield Muffliato(rounds, stddev, float(rng.choice([0.0, 0.4])))
    yield MuffliatoDescent(rounds, stddev, step)
    yield Decor(rounds, steady, stddev, float(rng.uniform(0.1, 5)), seeds="anew" if rng.random() < 0.7 else "once")
    yield ZipDL(rounds, steady, stddev)
    yield ZeroSumNoise(rounds, stddev=stddev)
    yield StateDecomposition(rounds, 0.1, stddev)
    yield EdgePerturbation(rounds, stddev)
    yield SubspacePerturbation(rounds, 0.3, stddev)
    scale, few = Constant(stddev), min(rounds, 3)
    yield DAdmm(rounds, 1.0, noise="gaussian", scale=scale)
    yield RwAdmm(1.0, "walk", per_agent=few, noise="gaussian", scale=scale)
    yield RwAdmm(1.0, "everybody", per_agent=few, noise="gaussian", scale=scale)
    yield DPRecal(0.1, per_agent=few, stddev=stddev, reading="sent_state")


@dataclass(frozen=True)
class Seen:
    """One case: its algorithm or fault, so many `views`, of which (prices of which) `count` show the fault (are not
    decided), and in words what is `wrong`."""

    algorithm: str
    views: int
    count: int
    wrong: tuple[str, ...]

    @classmethod
    def sound(cls, case: Case, listeners: int = 6) -> "Seen":
        """No view is charged more than the door (of shared noise: than one that has more, up to everybody together),
        none more than the claim."""
        priced, known = case.priced(listeners)
        everybody = frozenset(range(case.simulation.topology.agents)) - {case.victim}
        everything = priced.together(sorted({case.victim, *everybody})), everybody
        shared = isinstance(case.simulation.algorithm, Decor)
        wrong, undecided, claimed = list[str](), 0, case.claimed
        most = cls._prices(case, priced, everything if shared else known[0])
        for k, view in enumerate(known):
            more = (view[0] | known[k - 1][0], view[1] | known[k - 1][1])
            more = (more[0] | priced.together(sorted(more[1])), more[1])
            here, there = (cls._prices(case, priced, one) for one in (view, more))
            for what, one, other, top in zip(("pair", "all pairs"), here, there, most, strict=True):
                undecided += one.upper > one.lower * (1 + SLACK)
                if one.lower > top.upper * (1 + SLACK):
                    wrong.append(f"{what}: view {k} is charged {one.lower}, the door at most {top.upper}")
                if one.lower > other.upper * (1 + SLACK):
                    wrong.append(f"{what}: view {k} is charged {one.lower}, one that has more at most {other.upper}")
                if one.lower > claimed * (1 + SLACK):
                    wrong.append(f"{what}: view {k} is charged {one.lower}, and {claimed} is claimed")
            if here[0].lower > here[1].upper * (1 + SLACK):
                wrong.append(f"view {k}: a pair costs {here[0].lower}, all pairs at most {here[1].upper}")
        return cls(type(case.simulation.algorithm).__name__, 2 * len(known), undecided, tuple(wrong))

    @classmethod
    def planted(cls, case: Case, listeners: int = 6) -> "Seen":
        """A view is charged more than the claim where it has all messages that show the fault, and nowhere else."""
        priced, known = case.priced(listeners)
        algorithm = case.simulation.algorithm
        assert isinstance(algorithm, Planted)
        wrong, seen = list[str](), 0
        for k, view in enumerate(known):
            ends, shown = cls._prices(case, priced, view)[1], algorithm.needed <= view[0]
            seen += shown
            bare = shown and algorithm.fault != "quiet"
            if shown != exceeds(ends.lower, case.claimed) or bare != math.isinf(ends.lower):
                wrong.append(f"{algorithm.fault}: view {k} has {'all' if shown else 'not all'} of it: {ends}")
        return cls(algorithm.fault, len(known), seen, tuple(wrong))

    @staticmethod
    def _prices(case: Case, priced: Priced, known: Known) -> tuple[Ends, Ends]:
        price = priced.price(case.victim, *known, case.pair)
        assert price.pair is not None
        assert price.all is not None
        return price.pair, price.all


def cases_of(cases: int, show: bool) -> dict[str, float]:
    """Named numbers of so many sound cases, and of as many with a fault."""
    sound = [Seen.sound(Case.drawn(seed)) for seed in range(cases)]
    planted = [Seen.planted(Case.drawn(seed, FAULTS[seed % len(FAULTS)])) for seed in range(cases)]
    if show:
        for words in [*(words for one in (*sound, *planted) for words in one.wrong)][:20]:
            print(words)
        print(f"algorithms {dict(Counter(one.algorithm for one in sound))}")
    return {
        "networks": cases,
        "views_priced": sum(one.views for one in sound),
        "prices_not_decided": sum(one.count for one in sound),
        "sound_views_charged_too_much": sum(len(one.wrong) for one in sound),
        "views_of_a_fault": sum(one.count for one in planted),
        "faults_missed_or_imagined": sum(len(one.wrong) for one in planted),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--cases", type=int, default=1000, help="random networks, sound and with a fault")
    given = parser.parse_args()
    graph, gossip = random_regular(given.agents, 4, seed=1), Muffliato(given.rounds, stddev=STDDEV, momentum=0.5)
    start = time.process_time()
    run = run_of(graph, gossip, listeners(graph))
    messages = message_map(run.views[-1])
    views = [messages.seen_by(view) for view in run.views[:-1]]
    probed = time.process_time()
    prices = [ends_of(*view) for view in views]
    priced = time.process_time()
    for _, noise, _ in views:
        np.linalg.svd(noise)
    decomposed = time.process_time()
    errors, decided = list[float](), 0
    for listener, (most, sure) in enumerate(prices):
        others = np.arange(graph.agents) != listener
        decided += int(np.count_nonzero(sure & others))
        expected = dense(graph, gossip, listener)[others]
        errors.append(float(np.max(np.abs(most[others] - expected) / expected)))
    found = {
        f"pairs_{given.agents}_agents_seconds_over_svd": (priced - probed) / (decomposed - priced),
        "largest_relative_error": max(errors),
        "decided_share": decided / (graph.agents * (graph.agents - 1)),
    }
    found |= cases_of(given.cases, not given.json)
    if given.json:
        print(json.dumps(found))
        return
    print(f"run and probe {probed - start:.2f} s, prices {priced - probed:.2f} s, SVD {decomposed - priced:.2f} s")
    for name, value in found.items():
        print(f"{name:40} {value:.3g}")


if __name__ == "__main__":
    main()
