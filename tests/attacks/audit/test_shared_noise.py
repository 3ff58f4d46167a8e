"""Noise that cancels, priced: every coalition against dense covariances and exact rationals, and every transcript."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Literal

import numpy as np
import pytest

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.loss.comparison import Sample
from attacks.audit.proof import bound_at_door
from attacks.audit.view_price import GaussianView, worst_change
from attacks.audit.witness_values import Witness
from attacks.probe import message_map
from attacks.replay import replay
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, Clip, Decor, Setting, ZipDL
from netsim.arrays import Array
from netsim.claims import Adjacency
from netsim.errors import AttackError, TranscriptError
from netsim.problems import LeastSquares, Problem
from netsim.randomness import Streams
from netsim.schedules import Constant
from netsim.settings import Recording
from netsim.simulation import Run, Simulation

N, STEP, OWN, SHARED = 5, 0.25, 0.5, 2.0
GRAPHS = {
    "ring": topology.ring(N), "path": topology.path(N), "star": topology.star(N), "complete": topology.complete(N),
}  # fmt: skip
TARGETS = np.random.default_rng(3).standard_normal((N, 2))
PROBLEM = Problem(tuple(LeastSquares(np.eye(2), target) for target in TARGETS))
OTHER = LeastSquares(np.eye(2), np.array([2.0, -1.0]))
COALITIONS = [held for size in range(N) for held in combinations(range(N), size)]


def run_of(graph: topology.Topology, algorithm: Algorithm, *taps: Adversary, replicas: int = 1) -> Run:
    """A run whose last view has every message, and agent 0's door."""
    everything = Adversary("everything", links="all", nodes=(0,))
    recording = Recording(measure=False, private="releases")
    made = Simulation(
        PROBLEM, graph, algorithm, adversaries=(*taps, everything), recording=recording, replicas=replicas, seed=5
    )
    return made.run()


def laplacian(graph: topology.Topology, kept: list[int]) -> Array:
    links = graph.adjacency.toarray()[np.ix_(kept, kept)]
    return np.asarray(np.diag(links.sum(axis=1)) - links, dtype=np.float64)


# ── what a coalition that hears everything is charged ───────────────────────────────────────────────
def exact_diagonal(matrix: list[list[Fraction]], at: int) -> Fraction:
    """[M⁻¹]_at,at in exact arithmetic, by Gauss–Jordan."""
    n = len(matrix)
    rows = [[*row, *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(matrix)]
    for k in range(n):
        pivot = next(r for r in range(k, n) if rows[r][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for r in range(n):
            if r != k and rows[r][k]:
                rows[r] = [a - rows[r][k] * b for a, b in zip(rows[r], rows[k], strict=True)]
    return rows[at][n + at]


@pytest.mark.parametrize("name", GRAPHS)
def test_every_coalition_pays_what_exact_covariances_say(name: str) -> None:
    """Whoever hears all and holds the seeds of some: μ² per unit of a gradient is [(σ²I + σ_cor²L)⁻¹]_ii of the rest.

    A coalition of all others has all seeds of agent 0: 1/σ² is left. One that holds none pays less by every edge.
    """
    graph = GRAPHS[name]
    taps = [Adversary("".join(map(str, held)) or "none", links="all", insiders=held) for held in COALITIONS]
    run = run_of(graph, Decor(2, Constant(STEP), OWN, SHARED), *taps)
    messages = message_map(run.views[-1])
    for held, view in zip(COALITIONS, run.views, strict=False):
        design, noise, scale = messages.seen_by(view)
        prices = GaussianView.of(noise, scale).prices(design)
        kept = [i for i in range(N) if i not in held]
        whole = OWN**2 * np.eye(len(kept)) + SHARED**2 * laplacian(graph, kept)
        exact = [[Fraction(value) for value in row] for row in whole.tolist()]
        for column, (agent, query) in enumerate(messages.found.queries):
            if query == 0 and agent not in held:
                expected = float(exact_diagonal(exact, kept.index(agent)))
                assert prices.decided[column]
                assert prices.most[column] ** 2 == pytest.approx(expected, rel=1e-9)
        if held == (1, 2, 3, 4):
            assert prices.most[0] ** 2 == pytest.approx(1 / OWN**2, rel=1e-9)


def test_a_tap_holds_no_seed_and_an_insider_those_of_its_own_edges() -> None:
    """On the path 0–1–2–3–4 the link of 1 and 2: its tap knows nothing of z_01, z_12 but what two messages say."""
    graph = GRAPHS["path"]
    run = run_of(
        graph, Decor(1, Constant(STEP), OWN, SHARED), Adversary("link", ((1, 2),)), Adversary("in", insiders=(2,))
    )
    messages = message_map(run.views[-1])
    whole = OWN**2 * np.eye(N) + SHARED**2 * laplacian(graph, list(range(N)))
    seen = whole[1:3, 1:3]
    (tap, inside) = (GaussianView.of(B, s).prices(C) for C, B, s in map(messages.seen_by, run.views[:2]))
    assert tap.most[1] ** 2 == pytest.approx(np.linalg.inv(seen)[0, 0], rel=1e-9)
    assert inside.most[1] ** 2 == pytest.approx(1 / (whole[1, 1] - SHARED**2), rel=1e-9)


def test_noise_used_again_protects_only_what_lasts() -> None:
    """Drawn once, shared noise is in no difference of rounds: a change that turns costs as if there were none."""
    rounds, graph = 4, GRAPHS["ring"]
    for seeds in ("anew", "once"):
        run = run_of(graph, Decor(rounds, Constant(STEP), OWN, SHARED, seeds=seeds))
        design, noise, scale = message_map(run.views[-1]).seen_by(run.views[-1])
        own = design[:, :rounds]
        vectors = GaussianView.of(noise, scale).prices(own).vectors
        kept = np.array(vectors) * 1.0
        lasting, turning = (
            float(np.sum((kept @ s) ** 2)) for s in (np.ones(rounds), np.array([1.0, -1.0, 1.0, -1.0]))
        )
        fresh = np.linalg.inv(OWN**2 * np.eye(N) + SHARED**2 * laplacian(graph, list(range(N))))[0, 0]
        if seeds == "once":
            summed = np.linalg.inv(OWN**2 * np.eye(N) + rounds * SHARED**2 * laplacian(graph, list(range(N))))[0, 0]
            assert lasting == pytest.approx(rounds * summed, rel=1e-9)
            assert turning == pytest.approx(rounds / OWN**2, rel=1e-9)
            assert worst_change(kept, np.ones(rounds), 2)[0] ** 2 == pytest.approx(turning, rel=1e-9)
        else:
            assert lasting == pytest.approx(turning, rel=1e-9)
            assert lasting == pytest.approx(rounds * fresh, rel=1e-9)


# ── every transcript ────────────────────────────────────────────────────────────────────────────────
def sample_of(run: Run, holders: tuple[int, ...] = ()) -> Sample:
    assert run.truth is not None
    assert run.truth.edges is not None
    law = run.truth.edges.known(0, holders)
    view = run.views[-1] if law is None else replace(run.views[-1], shared={0: law})
    return Sample(view, lambda: np.random.default_rng(0), run.truth.releases[0])


def loss(sample: Sample) -> Array:
    one, two = (replay(sample.view, 0, f, sample.coins(), sample.releases) for f in (PROBLEM.objectives[0], OTHER))
    assert one.identical
    return np.sum(
        [a.log_density() - b.log_density() for a, b in zip(one.releases, two.releases, strict=True)], axis=0
    )


@pytest.mark.parametrize("holders", [(), (1,), (1, 4)])
@pytest.mark.parametrize("seeds", ["anew", "once"])
@pytest.mark.parametrize("name", ["ring", "star"])
def test_the_replay_of_one_agent_prices_the_joint_density_of_all(
    name: str, seeds: Literal["anew", "once"], holders: tuple[int, ...]
) -> None:
    """The loss of each transcript: the Gaussian density of all messages at once, given the noise of the holders."""
    graph, rounds = GRAPHS[name], 3
    run = run_of(graph, Decor(rounds, Constant(STEP), OWN, SHARED, seeds=seeds), replicas=6)
    sent = {(r.sender, r.number): r.values["x"] for r in run.views[-1].transcript if r.kind == "exchange"}
    x, left = np.zeros((N, 6, 2)), {0: list[Array](), 1: list[Array]()}
    for t in range(rounds):
        now = np.array([sent[i, t] for i in range(N)])
        for world in (0, 1):
            answers = np.array(
                [(OTHER if world and i == 0 else f).gradient(x[i]) for i, f in enumerate(PROBLEM.objectives)]
            )
            left[world].append((now - x) / -STEP - answers)
        x = np.einsum("ij,jrd->ird", graph.weights, now)
    kept = [i for i in range(N) if i not in holders]
    edges = [(i, j) for i in range(N) for j in graph.neighbors(i) if i < j]
    known = np.zeros((rounds, N, 6, 2))  # what the holders' seeds put into the releases, from the run's own streams
    for i, j in edges:
        if i in holders or j in holders:
            for t in range(rounds):
                draw = t if seeds == "anew" else 0
                stream = Streams(5).generator("edge", i, j, "noise", 0, draw)
                z = -SHARED * stream.standard_normal((6, 2))
                known[t, i] += z
                known[t, j] -= z
    lap = SHARED**2 * laplacian(graph, kept)
    again = np.eye(rounds) if seeds == "anew" else np.ones((rounds, rounds))
    precision = np.linalg.inv(OWN**2 * np.eye(rounds * len(kept)) + np.kron(again, lap))
    logs = list[Array]()
    for world in (0, 1):
        e = (np.array(left[world]) - known)[:, kept].reshape(rounds * len(kept), 6, 2)
        logs.append(-np.einsum("ard,ab,brd->r", e, precision, e) / 2)
    np.testing.assert_allclose(loss(sample_of(run, holders)), logs[0] - logs[1], rtol=1e-8, atol=1e-8)


def test_shares_that_sum_to_zero_are_priced_by_their_joint_density() -> None:
    """What a Zip-DL agent sends to its neighbors, all at once; its own share follows from them."""
    graph, rounds, sigma = GRAPHS["star"], 3, 1.5
    run = run_of(graph, ZipDL(rounds, Constant(STEP), sigma), replicas=6)
    rows = [r for r in run.views[-1].at_node(0) if r.event == "sent"]
    got = [r for r in run.views[-1].at_node(0) if r.event == "received"]
    w, near = graph.row(0), graph.neighbors(0)
    d = len(w)
    mixing = (np.eye(d) - w / (d * w[:, None]))[1:]
    precision = np.linalg.inv(mixing @ mixing.T * (STEP * sigma) ** 2)
    logs = list[Array]()
    for f in (PROBLEM.objectives[0], OTHER):
        x, total = np.zeros((6, 2)), np.zeros(6)
        for t in range(rounds):
            half = x - STEP * f.gradient(x)
            shares = np.array([v for r in rows[t * (d - 1) : (t + 1) * (d - 1)] for v in r.values.values()])
            e = shares - half
            total -= np.einsum("ard,ab,brd->r", e, precision, e) / 2
            own = half - np.einsum("a,ard->rd", w[1:], e) / w[0]
            came = {r.sender: r.values["odd" if t % 2 else "even"] for r in got[t * (d - 1) : (t + 1) * (d - 1)]}
            x = w[0] * own + sum(weight * came[j] for weight, j in zip(w[1:], near, strict=True))
        logs.append(total)
    np.testing.assert_allclose(loss(sample_of(run)), logs[0] - logs[1], rtol=1e-8, atol=1e-8)


def test_without_what_the_listener_knows_there_is_no_loss() -> None:
    run = run_of(GRAPHS["ring"], Decor(2, Constant(STEP), OWN, SHARED))
    sample = sample_of(run)
    with pytest.raises(TranscriptError, match="seeds that it shares"):
        replay(run.views[-1], 0, OTHER, sample.coins(), sample.releases)
    silent = sample_of(run_of(GRAPHS["ring"], Decor(2, Constant(STEP), 0.0, SHARED)))
    with pytest.raises(TranscriptError, match="does not know"):
        replay(silent.view, 0, OTHER, silent.coins(), silent.releases)


# ── the bound over all pairs, and the witness ───────────────────────────────────────────────────────
@pytest.mark.parametrize("holders", [(), (1,), (1, 4)])
def test_the_bound_over_all_pairs_is_the_formula(holders: tuple[int, ...]) -> None:
    """T clipped releases, each hidden by what the listener does not know; all neighbors together leave σ alone."""
    graph, rounds, bound = GRAPHS["ring"], 3, 0.7
    algorithm = Decor(rounds, Constant(STEP), OWN, SHARED, Clip(bound, "l2"), colluders=holders)
    samples = [sample_of(run_of(graph, algorithm, replicas=2), holders) for _ in range(2)]
    anything = Adjacency(np.inf, "all data of one agent replaced")
    found = bound_at_door(samples, 0, anything, 1e-5)
    kept = [i for i in range(N) if i not in holders]
    whole = OWN**2 * np.eye(len(kept)) + SHARED**2 * laplacian(graph, kept)
    mu = float(np.sqrt(rounds * (2 * bound) ** 2 * np.linalg.inv(whole)[0, 0]))
    assert found.epsilon == pytest.approx(gaussian_epsilon(mu, 1e-5), rel=1e-9)
    claimed = algorithm.claim(anything, samples_setting(graph, algorithm), 1e-5).epsilon
    assert claimed is not None
    assert found.epsilon <= claimed
    once = [sample_of(run_of(graph, replace(algorithm, seeds="once"), replicas=2), holders) for _ in range(2)]
    if holders != (1, 4):
        with pytest.raises(AttackError, match="again"):
            bound_at_door(once, 0, anything, 1e-5)


def samples_setting(graph: topology.Topology, algorithm: Decor) -> Setting:
    return Simulation(PROBLEM, graph, algorithm).setting(algorithm.rounds)


def test_a_witness_keeps_what_the_listener_knew() -> None:
    run = run_of(GRAPHS["ring"], Decor(3, Constant(STEP), OWN, SHARED, seeds="once"), replicas=3)
    one = sample_of(run, (1,)).replica(2)
    kept = Witness.of_plain(0, Witness.of(one, 0).as_plain())
    np.testing.assert_array_equal(loss(kept.sample(one.view.public)), loss(one))
