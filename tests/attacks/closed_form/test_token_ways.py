"""A walk heard in part: what is certain of its way, by trying all ways; what follows, by plain linear algebra."""

import itertools

import numpy as np
import pytest

from attacks.closed_form.recal import through_duals
from attacks.closed_form.token_ways import Bounds, Pass, Unseen, agreed
from attacks.probe import probe_network
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Recal
from netsim.network.laws import UniformDelay
from netsim.network.links import LinkLaw
from netsim.simulation import Run
from tests.worlds import simulated, synthetic_problem

STEP, START = 0.5, (-1, 0)
PLAIN, RELIABLE = LinkLaw(), LinkLaw(UniformDelay(0.01, 0.03), loss=0.2, reliable=True)


def heard(graph: topology.Topology, loss: float, links: LinkLaw, seed: int, activations: int = 200) -> Run:
    problem = synthetic_problem(agents=graph.agents)
    listening = Adversary("all"), Adversary("deaf", capture_loss=loss)
    algorithm = Recal(step=STEP, activations=activations)
    return simulated(problem, graph, algorithm, links, adversaries=listening, seed=seed, measure=False).run()


def determined(run: Run) -> dict[tuple[int, int], bool]:
    """Whether the messages that were heard determine each gradient, if the way is known; by rank.

    Unknown are the copies y⁺ of every visit; u, x, λ and gradients are linear in them (Appendix A's recursion).
    """
    way = [(row.sender, row.number) for row in run.views[0].messages()]
    observed = {(row.sender, row.number) for row in run.views[1].messages()}
    agents, unknowns = run.views[0].public.agents, len(way)
    beta, zero = 1 / (2 * (agents + 1)), np.zeros(len(way))
    y, dual = [zero] * agents, [zero] * agents
    u = x = zero
    rows, gradients = [], []
    for t, (i, k) in enumerate(way):
        half = dual[i] + beta * (x - y[i])
        x_new = x - (u + half - dual[i])
        y_new = np.eye(unknowns)[t]
        gradients.append(half - (y_new - y[i]) / STEP)
        dual_new = half + beta * ((x_new - x) - (y_new - y[i]))
        u, x, y[i], dual[i] = u + dual_new - dual[i], x_new, y_new, dual_new
        if (i, k) in observed:
            rows += [u, x]
    _, sizes, right = np.linalg.svd(np.array(rows))
    free = right[int(np.count_nonzero(sizes > 1e-12 * sizes[0])) :]
    return {
        name: bool(np.linalg.norm(free @ g) < 1e-7 * np.linalg.norm(g))
        for name, g in zip(way, gradients, strict=True)
    }


GRAPHS = {
    "ring": topology.ring(5), "complete": topology.complete(5), "random": topology.erdos_renyi(6, 0.4, seed=2),
    "large": topology.ring(12),
}  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize(("links", "loss", "share"), [
    (PLAIN, 0.05, 0.97), (PLAIN, 0.2, 0.4), (RELIABLE, 0.2, 0.95), (RELIABLE, 0.4, 0.5),
])  # fmt: skip
def test_what_follows_is_found_and_nothing_else(graph, links, loss, share):
    """Exact to 1e-6 of the largest coordinate, which is what `exact` states."""
    found = there = 0
    for seed in range(2):
        run = heard(GRAPHS[graph], loss, links, seed)
        follows = determined(run)
        for e in through_duals(run.views[1]):
            assert follows[e.agent, e.query]
            assert e.stddev == 0
            truth = run.truth.queries[e.agent][e.query]
            assert np.max(np.abs(e.gradient - truth.gradient)) <= 1e-6 * np.max(np.abs(truth.gradient))
            assert np.max(np.abs(e.point - truth.point)) <= 1e-6 * np.max(np.abs(truth.point), initial=1e-3)
            found += 1
        there += sum(follows.values())
    assert found >= share * there


@pytest.mark.parametrize(("loss", "seed"), [(0.1, 0), (0.15, 1)])
def test_a_joint_probe_that_is_told_the_way_finds_the_same(loss, seed):
    run = heard(GRAPHS["ring"], loss, RELIABLE, seed, activations=120)
    missed = 120 - len(run.views[1].messages())
    assert missed >= 5
    there = {name for name, follows in determined(run).items() if follows}
    assert len(there) > 110
    assert {(e.agent, e.query) for e in through_duals(run.views[1])} >= {name for name in there if name[1] < 10}
    joint = probe_network(run.views[1])
    assert sum(len(queries) for queries in joint.seen.values()) >= 0.95 * len(there)
    for agent, queries in joint.seen.items():
        assert {(agent, k) for k in queries} <= there
        for k in queries:
            truth = run.truth.queries[agent][k].gradient
            assert np.max(np.abs(joint.agents[agent].gradients[k] - truth)) < 1e-6 * np.max(np.abs(truth))


def walk(rng: np.random.Generator, graph: topology.Topology, length: int) -> list[int]:
    way = [0]
    for _ in range(length):
        way.append(int(rng.choice(list(graph.neighbors(way[-1])))))
    return way


def named(way: list[int]) -> list[tuple[int, int]]:
    return [(holder, way[:t].count(holder)) for t, holder in enumerate(way)]


@pytest.mark.slow
@pytest.mark.parametrize("graph", [topology.ring(4), topology.complete(4), topology.path(4)], ids=lambda g: g.name)
def test_what_is_certain_is_what_all_walks_agree_on_that_fit(graph):
    """Every walk of the same length is tried; those fit that made the same messages at the places observed."""
    rng, length, certain = np.random.default_rng(0), 8, 0
    for _ in range(25):
        way = walk(rng, graph, length)
        tokens = named(way[:-1])
        places = [t for t in range(length) if rng.random() > 0.4]
        if not places:
            continue
        observed = [(*tokens[t], way[t + 1]) for t in places]
        known = [max([k + 1 for i, k, _ in observed if i == agent], default=0) for agent in range(graph.agents)]
        inside = {(i, k) for i, k, _ in observed}
        passes = [Pass(i, receiver, k, (i, k)) for i, k, receiver in observed]
        open_ = Bounds((0,) * graph.agents, (None,) * graph.agents)
        unseen = Unseen(tuple(known), lambda i, k, at=inside: () if (i, k) in at else graph.neighbors(i))
        found = agreed(passes, [open_] * len(passes), 0, START, unseen)
        came = []
        for rest in itertools.product(range(graph.agents), repeat=length):
            other = [0, *rest]
            if all(b in graph.neighbors(a) for a, b in itertools.pairwise(other)):
                names = named(other)
                steps = [(*name, after) for name, after in zip(names, rest, strict=False)]
                if [step for step in steps if step[:2] in inside] == observed:
                    came.append(dict(zip(names[1:], names, strict=False)) | {(0, 0): START})
        assert came
        for visit, token in found.came.items():
            assert all(other.get(visit, token) == token for other in came)
            certain += 1
        sure = {v for v in came[0] if all(other.get(v) == came[0][v] for other in came)}
        within = {v for v in sure if v in inside and came[0][v] in inside | {START}}
        assert len(within - found.came.keys()) <= 1  # walks longer than those tried may fit
    assert certain > 60
