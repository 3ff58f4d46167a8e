"""The ADMM family beside its oracles: how each member is built, fed with the engine's own noise, and read."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import DAdmm, DpAdmm, IcAdmm, MrAdmm, RAdmm, RwAdmm, Walkman
from netsim.problems import L1, Problem, build
from netsim.problems import load as load_data
from netsim.randomness import Streams
from netsim.schedules import Constant, Geometric
from tests.netsim.algorithms.mixing import gradients
from tests.oracles.d_admm import d_admm
from tests.oracles.dp_admm import dp_admm
from tests.oracles.ic_admm import ic_admm
from tests.oracles.r_admm import mr_admm
from tests.oracles.rw_admm import rw_admm
from tests.oracles.walkman import walkman_gradient, walkman_prox
from tests.worlds import simulated, synthetic_problem

AGENTS, DIMENSION = 6, 4
PENALTY, DUAL_STEP = 0.3, 0.25
FACTORS = tuple(np.linspace(1, 1.5, AGENTS))
SEED = 5
GRAPHS = {
    "ring": topology.ring(AGENTS), "complete": topology.complete(AGENTS),
    "geometric": topology.random_geometric(AGENTS, 0.6, seed=3), "star": topology.star(AGENTS),
}  # fmt: skip


def problem_of(kind: str) -> Problem:
    """ "logistic" + ridge, "ridge" (least squares), "lasso", or "sparse" logistic."""
    if kind in ("logistic", "sparse"):
        problem = synthetic_problem(AGENTS, DIMENSION, 8)
        return problem if kind == "logistic" else replace(problem, regularizer=L1(0.02))
    parts = load_data("synthetic", kind="regression", records=48, dimension=DIMENSION, seed=1).split(AGENTS)
    return build(kind, parts, ridge=0.5, l1=0.05 if kind == "lasso" else 0.0)


@dataclass(frozen=True)
class Member:
    """`make(problem, steps)` is the algorithm; `expected(problem, graph, noise, run)` what its oracle sends."""

    make: Callable[..., object]
    expected: Callable[..., np.ndarray]
    graphs: tuple[str, ...] = ("ring", "geometric")
    walk: bool = False
    r: bool = True
    """Whether it takes an r."""
    share: int = 1
    """Rounds for each release."""


def adjacency_of(graph) -> np.ndarray:
    A = np.zeros((graph.agents, graph.agents))
    for i, j in graph.edges:
        A[i, j] = A[j, i] = 1
    return A


def exacts(problem, regularized=True):
    r = problem.regularizer if regularized else None
    return [lambda v, s, f=f: f.proximal(v[None], s, r)[0] for f in problem.objectives]


def prox(problem):
    return lambda v, s: problem.regularizer.proximal(v[None], s)[0]


ZERO = np.zeros(DIMENSION)


def _ic(problem, graph, noise, run):
    A = adjacency_of(graph)
    a = run.simulation.algorithm
    return ic_admm(gradients(problem), prox(problem), A, a.penalty, a.proximal, ZERO, len(noise), noise)["sent"]


def _d(which):
    def expected(problem, graph, noise, run):
        A, rounds = adjacency_of(graph), len(noise)
        return d_admm(exacts(problem), A, PENALTY, ZERO, rounds, **{f"noise_{which}": noise})["sent"]

    return expected


def _m(problem, graph, noise, run):
    A, rounds = adjacency_of(graph), len(noise)
    penalties = 0.6 * 1.002 ** np.arange(rounds)[:, None] / A.sum(axis=1)
    draw = Streams(4).generator
    shares = np.array([[draw("share", i, k).random(DIMENSION) for i in range(AGENTS)] for k in range(rounds)])
    options = {"noise_penalty": noise, "dual_step": DUAL_STEP, "shares": shares}
    return d_admm(exacts(problem), A, penalties, ZERO, rounds, **options)["sent"]


def _dp(problem, graph, noise, run):
    a = run.simulation.algorithm
    steps = [a.step(k) for k in range(len(noise))]
    found = dp_admm(gradients(problem), prox(problem), a.penalty, steps, ZERO, noise)
    sent = found["sent"].copy()
    sent[:, 0] = found["center"][1:]
    return sent


def _r(problem, graph, noise, run):
    gamma, penalties = run.simulation.algorithm.linearization, np.full(noise.shape[:2], PENALTY)
    return mr_admm(exacts(problem), adjacency_of(graph), penalties, PENALTY, gamma, ZERO, noise)["x"][1:]


def _mr(problem, graph, noise, run):
    a = run.simulation.algorithm
    penalties = [[min(1.0, f * 0.3 * 1.02**t) for f in FACTORS] for t in range(len(noise))]
    found = mr_admm(exacts(problem), adjacency_of(graph), penalties, DUAL_STEP, a.linearization, ZERO, noise)
    return found["x"][1:]


def _everybody(problem, graph, noise, run):
    active = [range(AGENTS)] * len(noise)
    return rw_admm(exacts(problem), adjacency_of(graph), PENALTY, active, ZERO, noise)["sent"][1:]


def _by_chance(problem, graph, noise, run):
    """Row k of `noise` is of an agent's k-th release, whatever its round."""
    turns = [sorted(run.simulation.algorithm.turns(i)) for i in range(AGENTS)]
    active = [[i for i in range(AGENTS) if t in turns[i]] for t in range(len(noise))]
    spread = np.zeros_like(noise)
    for i, rounds in enumerate(turns):
        spread[rounds, i] = noise[: len(rounds), i]
    return rw_admm(exacts(problem), adjacency_of(graph), PENALTY, active, ZERO, spread)["sent"][1:]


def _walk(problem, graph, noise, run):
    route = [i for i, _ in sent_by(run)]
    spread = np.zeros((len(route), AGENTS, DIMENSION))
    spread[np.arange(len(route)), route] = noise
    told = rw_admm(exacts(problem), adjacency_of(graph), PENALTY, route, ZERO, spread)["sent"]
    return told[np.arange(1, len(route) + 1), route]


def _walkman(version):
    def expected(problem, graph, noise, run):
        route, beta = [i for i, _ in sent_by(run)], run.simulation.algorithm.penalty
        if version == "prox":
            inner = exacts(problem, regularized=False)
            return walkman_prox(inner, prox(problem), route, beta, DIMENSION, noise)["sent"]
        return walkman_gradient(gradients(problem), prox(problem), route, beta, DIMENSION, noise)["sent"]

    return expected


MEMBERS = {
    "ic_admm": Member(lambda p, k: IcAdmm(k, PENALTY, p.smoothness), _ic),
    "pvp": Member(lambda p, k: DAdmm(k, PENALTY), _d("primal")),
    "dvp": Member(lambda p, k: DAdmm(k, PENALTY, "dual"), _d("dual"), r=False),
    "m_admm": Member(
        lambda p, k: DAdmm(k, 0.6, "penalty", DUAL_STEP, 1.002, divided=True, shares=4), _m, r=False,
    ),
    "dp_admm": Member(
        lambda p, k: DpAdmm(k, 0.5, Constant(1 / p.smoothness), noise="laplace"), _dp, ("star",)
    ),
    "r_admm": Member(
        lambda p, k: RAdmm(k, penalty=PENALTY, linearization=p.smoothness), _r, r=False, share=2
    ),
    "mr_admm": Member(
        lambda p, k: MrAdmm(k, p.smoothness, Geometric(0.3, 1.02), DUAL_STEP, FACTORS, 1.0), _mr, r=False, share=2,
    ),
    "everybody": Member(lambda p, k: RwAdmm(PENALTY, "everybody", per_agent=k), _everybody),
    "by_chance": Member(
        lambda p, k: RwAdmm(PENALTY, "bernoulli", rounds=k, per_agent=max(k // 2, 12)), _by_chance
    ),
    "rw_admm": Member(lambda p, k: RwAdmm(PENALTY, activations=k), _walk, walk=True),
    "walkman_gradient": Member(
        lambda p, k: Walkman(2.05 * p.smoothness, activations=k), _walkman("gradient"), walk=True
    ),
    "walkman_prox": Member(
        lambda p, k: Walkman(1.05 * p.smoothness, "prox", activations=k), _walkman("prox"), walk=True
    ),
}  # fmt: skip


def noisy(algorithm, scale=0.2, ratio=0.97, noise="laplace"):
    return replace(algorithm, scale=Geometric(scale, ratio), noise=noise)


def tapped(problem, graph, algorithm, node=1, **options):
    ears = Adversary("ears", "all", nodes=(node,))
    return simulated(problem, graph, algorithm, adversaries=(ears,), seed=SEED, **options).run()


def sent_by(run, replica=0):
    """(agent, value) of everything that was sent, each message once, in the order of sending."""
    seen, found = set(), []
    for row in run.views[0].transcript.on_links():
        if row.values and (row.sender, row.number) not in seen:
            seen.add((row.sender, row.number))
            found.append((row.sender, next(iter(row.values.values()))[replica]))
    return found


def in_rounds(run, replica=0):
    """The same by rounds, (rounds, agents, d)."""
    by_agent = [[] for _ in range(AGENTS)]
    for i, value in sent_by(run, replica):
        by_agent[i].append(value)
    return np.array(by_agent).swapaxes(0, 1)


def drawn_noise(run, member, releases=None):
    """The engine's own noise, redrawn from its named streams: by rounds, or in the order of activations."""
    algorithm = run.simulation.algorithm
    streams = [Streams(SEED).generator("agent", i, "noise", 0) for i in range(AGENTS)]

    def draw(i, k):
        return algorithm.scale(k) * streams[i].laplace(size=(1, DIMENSION))[0]

    if not member.walk:
        return np.array([[draw(i, k) for i in range(AGENTS)] for k in range(releases)])
    counts, found = [0] * AGENTS, []
    for i, _ in sent_by(run):
        found.append(draw(i, counts[i]))
        counts[i] += 1
    return np.array(found)
