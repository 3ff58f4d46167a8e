"""Exact prices of views against dense linear algebra, replayed losses, and runs of both worlds."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.exact_views import Priced
from attacks.probe import recorded
from benchmarks.views import FAULTS, Case, Seen, dense
from benchmarks.views import STDDEV as GOSSIPED
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, Muffliato, MuffliatoDescent, PrivateGradientDescent
from netsim.arrays import Array
from netsim.claims import Adjacency
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian
from netsim.network.laws import ConstantDelay
from netsim.network.links import LinkLaw
from netsim.problems import LeastSquares, LogisticLoss, Objective, Problem, Tilted
from netsim.schedules import Constant
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Run, Simulation
from netsim.topology import Topology

DELTA, CHANGE, STEP, STDDEV, ROUNDS = 1e-5, 0.3, 0.05, 0.5, 6
RING = topology.ring(6)
MOVED = Adjacency.within(CHANGE, "l2", 2, "the gradient of one agent moved")
DESCENT = PrivateGradientDescent(ROUNDS, Constant(STEP), Constant(STDDEV), state="released", noise="gaussian")


def quadratics(agents: int = 6, dimension: int = 2, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    return Problem(
        tuple(LeastSquares(rng.standard_normal((3, dimension)), rng.standard_normal(3), 0.1) for _ in range(agents))
    )


def run_of(problem: Problem, graph: Topology, algorithm: Algorithm, *more: Adversary, **options: object) -> Run:
    """A run seen by every agent, by who has everything, and by `more`."""
    agents = tuple(Adversary(f"agent {i}", insiders=(i,)) for i in range(graph.agents))
    everything = Adversary("everything", links=(), nodes=tuple(range(graph.agents)))
    quiet = Recording(measure=False, private="nothing")
    made = Simulation(problem, graph, algorithm, adversaries=(*agents, everything, *more), recording=quiet)
    return replace(made, **options).run()


def priced(run: Run, adjacency: Adjacency = MOVED) -> Priced:
    n = run.simulation.topology.agents
    return Priced.of(run.views[n], run.views[:n], run.simulation.problem.objectives, adjacency, DELTA)


def tilted(problem: Problem, agent: int, slope: Array) -> tuple[Objective, Objective]:
    return problem.objectives[agent], Tilted(problem.objectives[agent], slope)


def powers(problem: Problem, graph: Topology) -> tuple[Array, Array]:
    """What every agent sends in all rounds of released descent, as a matrix of all noise, (rounds·n·d, rounds·n·d),
    and of the agents' constant parts, (rounds·n·d, n·d): block matrices, no probe."""
    n, d = graph.agents, problem.dimension
    hessians = [objective.hessian(np.zeros(d)) for objective in problem.objectives]
    turn = np.kron(graph.weights, np.eye(d))
    turn -= STEP * np.block([[hessians[i] if i == j else np.zeros((d, d)) for j in range(n)] for i in range(n)])
    noise, moved = np.zeros((ROUNDS, n * d, ROUNDS, n * d)), np.zeros((ROUNDS, n * d, n * d))
    for k in range(ROUNDS):
        if k:
            noise[k], moved[k] = np.einsum("ij,jtl->itl", turn, noise[k - 1]), turn @ moved[k - 1]
            moved[k] -= STEP * np.eye(n * d)
        noise[k, :, k] += STDDEV * np.eye(n * d)
    return noise.reshape(ROUNDS * n * d, -1), moved.reshape(ROUNDS * n * d, -1)


def oracle(problem: Problem, graph: Topology, senders: list[int], inside: list[int], victim: int) -> Array:
    """V (·, d) with μ = ‖VΔ‖ for who has all that `senders` send and is `inside`: an SVD of dense matrices."""
    n, d = graph.agents, problem.dimension
    noise, moved = powers(problem, graph)
    rows = np.isin(np.tile(np.repeat(np.arange(n), d), ROUNDS), senders)
    unknown = ~np.isin(np.tile(np.repeat(np.arange(n), d), ROUNDS), inside)
    columns = moved[rows][:, victim * d : (victim + 1) * d]
    return np.linalg.pinv(noise[rows][:, unknown], rcond=1e-11) @ columns


# ── descent on quadratics ───────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("dimension", [1, 2])
def test_all_pairs_of_descent_on_quadratics_are_those_of_dense_matrices(dimension: int) -> None:
    problem = quadratics(dimension=dimension)
    adjacency = Adjacency.within(CHANGE, "l2", dimension, "moved")
    lower, upper = priced(run_of(problem, RING, DESCENT), adjacency).pairs()
    for victim in range(6):
        for listener in set(range(6)) - {victim}:
            near = [listener, *RING.neighbors(listener)]
            mu = CHANGE * np.linalg.norm(oracle(problem, RING, near, [listener], victim), 2)
            np.testing.assert_allclose(
                [lower[victim, listener], upper[victim, listener]], gaussian_epsilon(mu, DELTA), rtol=1e-9
            )
    np.testing.assert_array_equal(np.diag(upper), 0.0)


def test_the_door_costs_the_composition_of_its_releases_and_no_view_costs_more() -> None:
    """At the door each of the releases after the first is moved by STEP·Δ, given those before: μ² = Σ (STEP·c/σ)²."""
    problem = quadratics()
    taps = Adversary("door", links=(), nodes=(0,)), Adversary("link", links=((0, 1),))
    run = run_of(problem, RING, DESCENT, *taps)
    found, worlds = priced(run), tilted(problem, 0, np.array([0.0, CHANGE]))
    door, link = (found.price(0, recorded(view), (), worlds) for view in run.views[-2:])
    mu = STEP * CHANGE / STDDEV * np.sqrt(ROUNDS - 1)
    assert door.pair is not None
    assert link.pair is not None
    np.testing.assert_allclose(door.pair, gaussian_epsilon(mu, DELTA), rtol=1e-9)
    np.testing.assert_allclose(door.all, gaussian_epsilon(mu, DELTA), rtol=1e-9)
    single = found.price(0, found.seen[1], (1,), worlds)
    both = found.coalition(0, 2, worlds)
    assert single.pair is not None
    assert both.price.pair is not None
    assert both.exhaustive
    assert both.tried == 10
    assert link.pair.upper < single.pair.upper < both.price.pair.upper <= door.pair.upper * (1 + 1e-9)
    np.testing.assert_allclose(both.price.pair, door.pair, rtol=1e-9)  # neighbors on both sides have all of it


def test_a_greedy_search_says_so_and_finds_both_neighbors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attacks.audit.exact_views.EXHAUSTIVE", 5)
    found = priced(run_of(quadratics(), RING, DESCENT)).coalition(0, 2)
    assert not found.exhaustive
    assert found.tried == 9
    assert found.price.all is not None
    np.testing.assert_allclose(
        found.price.all.upper, gaussian_epsilon(STEP * CHANGE / STDDEV * np.sqrt(5), DELTA), rtol=1e-9
    )


def test_a_witness_is_moved_by_as_much_in_runs_of_both_worlds() -> None:
    """The sum of messages that is named, in 4,000 transcripts of either world: its mean moves by `shift`, to 5
    standard errors (false alarm 6·10⁻⁷), and its deviation is `stddev`, to 6 % (5 standard errors, 10⁻⁶)."""
    problem = quadratics()
    link = Adversary("link", links=((0, 1),))
    worlds = tilted(problem, 0, np.array([0.2, 0.1]))
    run = run_of(problem, RING, DESCENT, link)
    price = priced(run).price(0, recorded(run.views[-1]), (), worlds)
    assert price.witness is not None
    assert price.pair is not None
    assert price.witness.epsilon(DELTA) == pytest.approx(price.pair.lower, rel=1e-9)
    sums = list[Array]()
    for world, objective in enumerate(worlds):
        many = run_of(problem.replace(0, objective), RING, DESCENT, link, replicas=4000, chunk=1 + world).views[-1]
        values = {(row.sender, row.kind, row.number): row.values for row in many.transcript}
        terms = [w * values[f[:3]][f[3]][:, c] for f, c, w in price.witness.terms]
        sums.append(np.sum(terms, axis=0))
    for one in sums:
        assert np.std(one) == pytest.approx(price.witness.stddev, rel=0.06)
    shift = abs(np.mean(sums[1]) - np.mean(sums[0]))
    assert abs(shift - price.witness.shift) <= 5 * price.witness.stddev * np.sqrt(2 / 4000)


# ── data that enter once ────────────────────────────────────────────────────────────────────────────
@pytest.mark.few(1)
@pytest.mark.parametrize("graph", [topology.ring(14), topology.random_regular(16, 4, seed=1)])
def test_noise_once_then_gossip_is_the_dense_oracle_for_all_pairs(graph: Topology) -> None:
    gossip = Muffliato(6, stddev=GOSSIPED)
    problem = Problem(tuple(LeastSquares(np.eye(1), np.array([float(i)])) for i in range(graph.agents)))
    adjacency = Adjacency(1.0, "one private number moved by 1")
    lower, upper = priced(run_of(problem, graph, gossip), adjacency).pairs()
    for listener in range(graph.agents):
        others = np.arange(graph.agents) != listener
        expected = gaussian_epsilon(dense(graph, gossip, listener)[others], DELTA)
        np.testing.assert_allclose(upper[others, listener], expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(lower[others, listener], expected, rtol=1e-9, atol=1e-9)


def test_a_ring_gives_the_sum_that_cancels_all_other_noise() -> None:
    """Gossip on a ring: one round brings one agent more, and what the rounds before brought takes away all noise but
    its own. Without any noise of its own the private number itself is named, with deviation 0."""
    graph = topology.ring(8)
    problem = Problem(tuple(LeastSquares(np.eye(1), np.array([float(i)])) for i in range(8)))
    found = priced(run_of(problem, graph, Muffliato(4, stddev=GOSSIPED)), Adjacency(1.0, "moved"))
    worlds = tilted(problem, 2, np.array([1.0]))
    price = found.price(2, found.seen[0], (0,), worlds)
    assert price.pair is not None
    assert price.witness is not None
    np.testing.assert_allclose(price.pair, gaussian_epsilon(1 / GOSSIPED, DELTA), rtol=1e-9)
    assert price.witness.gradient_stddev == pytest.approx(GOSSIPED, rel=1e-9)
    silent = Silent(3)
    price = (one := priced(run_of(problem, graph, silent), Adjacency(1.0, "moved"))).price(
        1, one.seen[0], (0,), worlds
    )
    assert price.all is not None
    assert price.witness is not None
    assert price.all.lower == np.inf
    assert price.witness.stddev == price.witness.gradient_stddev == 0.0


def test_fresh_noise_in_every_round_then_a_mean_is_decided_however_far_the_listener_is() -> None:
    """Against a recursion of its own: ψ = x − γ(hx + g) + γz, x⁺ = Wψ; the listener knows its own noise and data."""
    graph, rounds, step, far = topology.ring(16), 7, 0.1, 7
    slopes = np.linspace(0.5, 1.5, graph.agents)
    problem = Problem(tuple(LeastSquares(np.array([[h]]), np.zeros(1)) for h in np.sqrt(slopes)))
    run = run_of(problem, graph, MuffliatoDescent(rounds, stddev=GOSSIPED, step=step))
    lower, upper = priced(run, Adjacency.within(1.0, "l2", 1, "moved")).pairs()
    assert np.allclose(lower, upper, rtol=1e-9)
    W, heard, unknown = graph.weights, [0, *graph.neighbors(0)], [i for i in range(graph.agents) if i]
    for victim in (1, far - 1, far):
        x, noises, rows = np.zeros(16), np.zeros((16, rounds, 16)), list[tuple[float, np.ndarray]]()
        for k in range(rounds):
            shift = x - step * (slopes * x + (np.arange(16) == victim))
            noises = noises * (1 - step * slopes)[:, None, None]
            noises[np.arange(16), k, np.arange(16)] = step * GOSSIPED
            rows += [(shift[w], noises[w][:, unknown].ravel()) for w in heard[1:]]
            x, noises = W @ shift, np.einsum("ij,jkl->ikl", W, noises)
        moved, mixed = (np.array(part) for part in zip(*rows, strict=True))
        mu = np.linalg.norm(np.linalg.lstsq(mixed, moved, rcond=None)[0])
        assert lower[victim, 0] == pytest.approx(gaussian_epsilon(mu, DELTA), rel=1e-6)


class Silent(Muffliato):
    """Gossip of which odd agents have no noise."""

    async def run(self, node) -> None:
        x = -await node.gradient(node.zeros())
        if node.id % 2 == 0:
            x = node.privatize(x, Gaussian(2.0))
        for _ in range(self.rounds):
            x = (await node.exchange(x=x)).mix("x")
            node.estimate(x)


# ── random networks ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_no_view_is_charged_more_than_one_that_has_more_than_the_door_or_than_is_claimed() -> None:
    """24 random networks, algorithms, pairs and listeners; `benchmarks.views` has 1,000."""
    found = [Seen.sound(Case.drawn(seed), listeners=4) for seed in range(24)]
    assert not [words for one in found for words in one.wrong]
    assert len({one.algorithm for one in found}) >= 9
    assert sum(one.count for one in found) < 0.05 * sum(one.views for one in found)  # prices that are not decided


@pytest.mark.slow
def test_a_planted_fault_is_seen_from_the_views_that_have_its_messages_and_from_no_other() -> None:
    cases = [Case.drawn(seed, FAULTS[seed % 4]) for seed in range(24)]
    found = [Seen.planted(case, listeners=4) for case in cases]
    assert not [words for one in found for words in one.wrong]
    assert 0 < sum(one.count for one in found) < sum(one.views for one in found)
    assert Seen.sound(cases[0]).wrong  # the law of sound mechanisms would notice


# ── the end of a run ────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Farewell(Algorithm):
    """Agent 0 sends one noisy number to agent 1, which reads it or not; nobody else does anything."""

    reads: bool

    async def run(self, node) -> None:
        x = node.privatize(await node.gradient(node.zeros()), Gaussian(2.0))
        node.estimate(x)
        if node.id == 0:
            node.send(1, x=x)
        elif self.reads and node.id == 1:
            await node.receive()


@pytest.mark.parametrize("reads", [True, False])
def test_a_message_in_flight_at_the_end_was_sent_and_not_received(reads: bool) -> None:
    problem = quadratics(agents=3, dimension=1)
    taps = (Adversary("door", links=(), nodes=(0,)), Adversary("link", links=((0, 1),)))
    delayed = NetworkSettings(links=LinkLaw(ConstantDelay(1.0)))
    run = run_of(problem, topology.path(3), Farewell(reads), *taps, network=delayed)
    found = priced(run, Adjacency(1.0, "moved"))
    worlds = tilted(problem, 0, np.array([1.0]))
    door, link, receiver = (
        found.price(0, fields, inside, worlds).pair
        for fields, inside in (*((recorded(view), ()) for view in run.views[-2:]), (found.seen[1], (1,)))
    )
    assert door == link == pytest.approx((gaussian_epsilon(0.5, DELTA),) * 2, rel=1e-9)
    assert receiver == (door if reads else (0.0, 0.0))


# ── what has no price ───────────────────────────────────────────────────────────────────────────────
def test_what_is_not_linear_is_refused_and_says_why() -> None:
    problem = quadratics()
    logistic = problem.replace(3, LogisticLoss(np.eye(2), np.array([1.0, -1.0]), 0.1))
    with pytest.raises(AttackError, match="agent 3's objective is not quadratic"):
        priced(run_of(logistic, RING, DESCENT))
    found = priced(run_of(problem, RING, DESCENT))
    other = quadratics(seed=5).objectives[0]
    with pytest.raises(AttackError, match="Hessians of the pair's worlds differ"):
        found.price(0, found.seen[1], (1,), (problem.objectives[0], other))
    records = priced(run_of(problem, RING, DESCENT), Adjacency(0.3, "one record replaced", 0.1))
    lower, upper = records.pairs()
    assert np.isnan(lower[0, 1])
    assert np.isnan(upper[0, 1])
    assert "Hessian" in str(records.unbounded(0))
    laplace = replace(DESCENT, noise="laplace")
    with pytest.raises(AttackError, match="laplace"):
        priced(run_of(problem, RING, laplace)).pairs()
