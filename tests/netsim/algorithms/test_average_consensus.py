"""Muffliato and masked average consensus against matrix forms, their claims, and what views show of them."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.exact_views import Priced
from attacks.audit.view_price import GaussianView
from attacks.probe import message_map, probe_network
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import (
    EdgePerturbation,
    LaplacianConsensus,
    Muffliato,
    MuffliatoDescent,
    StateDecomposition,
    SubspacePerturbation,
    ZeroSumNoise,
)
from netsim.claims import Adjacency, Clip, Standpoint
from netsim.network.laws import UniformDelay
from netsim.network.links import LinkLaw
from netsim.problems import LeastSquares, LogisticLoss, Problem
from netsim.randomness import Streams, noise_of
from netsim.schedules import Constant, Geometric
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Simulation
from tests.oracles import average_consensus as oracle

GRAPH = topology.from_edges(5, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)])
ROUNDS, SEED = 30, 4
STEP = 0.2
B = Adjacency(0.5, "what one agent holds", constant=True)


def numbers(agents, dimension=3):
    return np.random.default_rng(1).normal(size=(agents, dimension)) + 2


def problem_of(c):
    """f_i = ½‖x − c_i‖², so that −∇f_i(0) = c_i and the optimum is the mean."""
    return Problem(
        tuple(LeastSquares(np.eye(len(one)) * math.sqrt(len(one)), one * math.sqrt(len(one))) for one in c)
    )


def run_of(graph, algorithm, adversaries=(), settings=None):
    c = numbers(graph.agents)
    quiet = Recording(measure=False, private="nothing")
    return Simulation(
        problem_of(c), graph, algorithm, settings or NetworkSettings(), adversaries=adversaries, recording=quiet,
        seed=SEED,
    ).run()  # fmt: skip


class Spy:
    """A node that keeps what is estimated."""

    def __init__(self, node, seen):
        self.node, self.seen = node, seen

    def __getattr__(self, name):
        return getattr(self.node, name)

    def estimate(self, x):
        self.seen.setdefault(self.node.id, []).append(x[0].copy())
        self.node.estimate(x)


def estimates(algorithm):
    """Every agent's estimate of every round, (rounds, n, d)."""
    seen = {}

    class Spied(type(algorithm)):
        async def run(self, node):
            await super().run(Spy(node, seen))

    run_of(GRAPH, Spied(**{one.name: getattr(algorithm, one.name) for one in fields(algorithm)}))
    return np.swapaxes(np.array([seen[i] for i in range(GRAPH.agents)]), 0, 1)


def draws(law, calls):
    """What each agent draws, (calls, n, d), of standard deviation or scale 1."""
    streams = [noise_of(Streams(SEED), 0, i) for i in range(GRAPH.agents)]
    return np.array([[getattr(one, law)(size=(1, 3))[0] for one in streams] for _ in range(calls)])


def dealt():
    """What each agent draws for each neighbor, (n, n, d)."""
    found = np.zeros((GRAPH.agents, GRAPH.agents, 3))
    for i in range(GRAPH.agents):
        stream = noise_of(Streams(SEED), 0, i)
        for j in GRAPH.neighbors(i):
            found[i, j] = stream.normal(size=(1, 3))[0]
    return found


W, A, C = GRAPH.weights, GRAPH.adjacency.toarray(), numbers(GRAPH.agents)
CASES = {
    "gossip": (Muffliato(ROUNDS, 0.7), lambda: oracle.gossip(C, W, ROUNDS, 0.7 * draws("normal", 1)[0])),
    "momentum": (Muffliato(ROUNDS, 0.7, 0.4), lambda: oracle.gossip(C, W, ROUNDS, 0.7 * draws("normal", 1)[0], 0.4)),
    "descent": (
        MuffliatoDescent(ROUNDS, 0.7, 0.3),
        lambda: oracle.descent([lambda x, c=c: x - c for c in C], W, 0.3, 0 * C, -0.7 * draws("normal", ROUNDS)),
    ),
    "laplacian": (
        LaplacianConsensus(ROUNDS, 0.8, Geometric(0.7, 0.9)),
        lambda: oracle.laplacian(C, W, 0.8, draws("laplace", ROUNDS) * 0.7 * 0.9 ** np.arange(ROUNDS)[:, None, None]),
    ),
    "decomposition": (
        StateDecomposition(ROUNDS, STEP, 0.7),
        lambda: oracle.decomposition(C, A, STEP, ROUNDS, 0.7 * draws("normal", 1)[0]),
    ),
    "zero sum": (ZeroSumNoise(ROUNDS, 0.8, 0.7), lambda: oracle.zero_sum(C, W, 0.8, 0.7 * draws("normal", ROUNDS))),
    "edges": (EdgePerturbation(ROUNDS, 0.7), lambda: oracle.edges(C, W, ROUNDS, 0.7 * dealt())),
    "pdmm": (SubspacePerturbation(ROUNDS, 0.4, 0.7), lambda: oracle.pdmm(C, A, 0.4, ROUNDS, 0.7 * dealt())),
}


@pytest.mark.parametrize("name", CASES)
def test_rounds_are_those_of_the_matrix_form(name):
    algorithm, expected = CASES[name]
    np.testing.assert_allclose(estimates(algorithm), expected(), atol=1e-10)


# ── claims at the door ──────────────────────────────────────────────────────────────────────────────
def test_claims_are_compositions_worked_by_hand():
    setting = Simulation(problem_of(C), GRAPH, Muffliato(3, 2.0)).setting(3)

    def rho(rho):
        return rho + 2 * math.sqrt(rho * math.log(1e3))

    assert Muffliato(3, 2.0).claim(B, setting, 1e-3).epsilon == pytest.approx(rho(0.25**2 / 2))
    assert MuffliatoDescent(3, 2.0, 0.1).claim(B, setting, 1e-3).epsilon == pytest.approx(rho(3 * 0.25**2 / 2))
    anything = replace(B, gradient_change=math.inf)
    clipped = MuffliatoDescent(3, 2.0, 0.1, Clip(1.0, "l2")).claim(anything, setting, 1e-3)
    assert clipped.epsilon == pytest.approx(rho(3 / 2))
    ell_one = math.sqrt(3) * 0.5
    assert LaplacianConsensus(9, 1.0, Constant(2.0)).claim(B, setting, 0.0).epsilon == pytest.approx(ell_one / 2)
    fed = LaplacianConsensus(3, 0.8, Geometric(2.0, 0.5)).claim(B, setting, 0.0)
    assert fed.epsilon == pytest.approx(ell_one / 2 * (1 + 0.4 + 0.16))


def test_labels_move_a_gradient_farther_than_the_descent_of_the_authors_code_has_noise_for():
    """A record of norm 1 and an intercept: √2 at every point, and not ½."""
    record, x = np.array([[0.6, 0.8, 1.0]]), np.random.default_rng(2).normal(size=(5, 3)) * 3
    one, other = (LogisticLoss(record, np.array([label])) for label in (1.0, -1.0))
    np.testing.assert_allclose(np.linalg.norm(one.gradient(x) - other.gradient(x), axis=1), math.sqrt(2))


# ── pairs ───────────────────────────────────────────────────────────────────────────────────────────
def exact_costs(graph, algorithm):
    """S (agents, agents): μ² of a unit change of u's number at v over that at u's own door; lower and upper ends."""
    listeners = tuple(Adversary(f"agent {v}", insiders=(v,)) for v in range(graph.agents))
    everything = Adversary("everything", links=(), nodes=tuple(range(graph.agents)))
    run = run_of(graph, algorithm, (*listeners, everything))
    messages, ends = message_map(run.views[-1]), []
    for view in run.views[:-1]:
        design, noise, scale = messages.seen_by(view)
        prices = GaussianView.of(noise, scale).prices(design)
        ends.append((prices.least**2, prices.most**2))
    return np.moveaxis(np.array(ends), 0, -1) * algorithm.stddev**2


HYPERCUBE = topology.hypercube(4)
PAIRS = [(u, v) for u in range(16) for v in range(16) if u != v]


def priced(algorithm):
    """The simulation on the hypercube, and the least and largest price of every ordered pair."""
    everything = Adversary("everything", links=(), nodes=tuple(range(16)))
    views = (*(Adversary(f"agent {v}", insiders=(v,)) for v in range(16)), everything)
    run = run_of(HYPERCUBE, algorithm, views)
    prices = Priced.of(run.views[-1], run.views[:-1], run.simulation.problem.objectives, B, 1e-5)
    return run.simulation, *prices.pairs()


def test_messages_added_up_are_no_upper_bound_pair_by_pair():
    """The sum of the authors' code, at its own σ = 1 and its number of rounds, ⌈ln(16)/√0.4⌉ = 5."""
    algorithm = Muffliato(5, 1.0)
    least, most = exact_costs(HYPERCUBE, algorithm)
    hops = np.array([HYPERCUBE.hops(u) for u in range(16)])
    np.testing.assert_allclose(least[hops > 0], most[hops > 0], rtol=1e-8)
    for hop, exact, counted, sent in ((1, 1, 1, 1), (2, 2 / 3, 1, 1), (3, 1, 0.6929, 0.5155), (4, 1, 0.4127, 0.2066)):
        np.testing.assert_allclose(least[hops == hop], exact, rtol=1e-8)
        np.testing.assert_allclose(algorithm.pair_cost(HYPERCUBE)[hops == hop], counted, rtol=2e-4)
        np.testing.assert_allclose(algorithm.pair_cost(HYPERCUBE, "sent")[hops == hop], sent, rtol=3e-4)
    assert np.count_nonzero(least > algorithm.pair_cost(HYPERCUBE) * (1 + 1e-9)) == 16 * (4 + 1)


def test_the_claim_of_a_pair_is_the_formula_and_is_exceeded_by_those_pairs():
    """ε of every ordered pair, claimed and exact, over all changes of norm 0.5."""
    simulation, least, _ = priced(Muffliato(5, 0.5))
    claims = {(u, v): simulation.claim(B, 5, 1e-5, Standpoint(u, (v,))) for u, v in PAIRS}
    assert all(one.standpoint == Standpoint(*pair[:1], pair[1:]) for pair, one in claims.items())
    rho = 0.4127 / 2
    assert claims[0, 15].epsilon == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e5)), rel=1e-3)
    exceeded = {pair for pair, one in claims.items() if least[pair] > one.epsilon}
    hops = np.array([HYPERCUBE.hops(u) for u in range(16)])
    assert exceeded == {pair for pair in claims if hops[pair] >= 3}
    assert least[0, 15] == pytest.approx(gaussian_epsilon(1.0, 1e-5), rel=1e-8)
    assert simulation.claim(B, 5, 1e-5, Standpoint(0, (1, 2))) is None


def test_the_corrected_claim_of_descent_holds_for_every_pair_on_quadratics():
    """What the others answer depends on what they hear, and is in the price."""
    simulation, _, most = priced(MuffliatoDescent(5, 1.0, 0.3))
    for u, v in PAIRS:
        assert most[u, v] <= simulation.claim(B, 5, 1e-5, Standpoint(u, (v,))).epsilon


def test_the_farthest_who_is_heard_of_is_heard_of_as_if_at_the_door():
    """On a ring no one within reach is hidden, where the sum has less the farther; claimed ε is exceeded too."""
    ring, algorithm = topology.ring(16), Muffliato(7, 1.0)
    least, _ = exact_costs(ring, algorithm)
    np.testing.assert_allclose(least[7, 0], 1.0, rtol=1e-9)
    claimed = algorithm.pair_cost(ring)[7, 0]
    assert claimed == pytest.approx(9.307e-5, rel=1e-3)
    rho = claimed / 2
    assert gaussian_epsilon(1.0, 1e-5) > 4 > 0.1 > rho + 2 * math.sqrt(rho * math.log(1e5))


@pytest.mark.parametrize(
    "graph",
    [topology.ring(8), topology.path(5), topology.star(5), HYPERCUBE, topology.random_regular(12, 3, seed=2), GRAPH],
    ids=str,
)
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_the_corrected_formula_of_descent_holds_on_these_graphs(graph, rounds):
    """Exact, over all changes of all rounds, from the noises that a view determines."""
    W, n = graph.weights, graph.agents
    powers = [np.linalg.matrix_power(W, k) for k in range(rounds)]
    claimed = MuffliatoDescent(rounds, 1.0, 0.1).pair_cost(graph)
    for v in range(n):
        heard = [v, *graph.neighbors(v)]
        rows = np.zeros((rounds, len(heard), rounds, n))
        for s in range(rounds):
            for t in range(s + 1):
                rows[s, :, t] = powers[s - t][heard]
        _, sizes, right = np.linalg.svd(np.delete(rows, v, axis=3).reshape(rounds * len(heard), -1))
        kept = right[: np.count_nonzero(sizes > 1e-9)].reshape(-1, rounds, n - 1)
        K = np.einsum("rtu,rsu->uts", kept, kept)
        top = np.minimum(np.abs(K).sum(axis=(1, 2)), rounds)
        assert np.all(top <= np.delete(claimed[:, v], v) * (1 + 1e-9) + 1e-9)


# ── what views show ─────────────────────────────────────────────────────────────────────────────────
def shown(graph, algorithm, *, listener=None, start=0.0):
    """Deviation of what the listener has of each c_i, ∞ where it has nothing, 0 where it has c_i itself."""
    slow = NetworkSettings(LinkLaw(UniformDelay(0.01, 0.010001)))
    ears = Adversary("ears", "all", start=start) if listener is None else Adversary("ears", insiders=(listener,))
    found = probe_network(run_of(graph, algorithm, (ears,), slow).views[0]).agents
    certain = {i: one.stddev <= one.rounding[:, None] for i, one in found.items()}
    return {i: float(np.max(np.where(certain[i], 0.0, one.stddev))) for i, one in found.items()}


PATH, STAR = topology.path(4), topology.star(4)
LATE = 0.005
"""When the first round has been sent and nothing else."""


@pytest.mark.parametrize("algorithm", [EdgePerturbation(6, 1.0), SubspacePerturbation(6, 0.1, 1.0)])
class TestMasksOfLinks:
    @pytest.mark.few("algorithm1")
    def test_a_neighbor_has_the_number_of_who_talks_to_nobody_else_and_no_other(self, algorithm):
        """The abstract of Xiong and Li says "if and only if"."""
        for graph in (PATH, STAR, topology.ring(5), GRAPH):
            for listener in range(graph.agents):
                for agent, deviation in shown(graph, algorithm, listener=listener).items():
                    assert (deviation == 0) == (graph.neighbors(agent) == (listener,))

    def test_a_wiretapper_has_all_numbers_if_it_hears_the_first_round_and_none_if_not(self, algorithm):
        for graph in (PATH, STAR, topology.ring(5)):
            assert not any(shown(graph, algorithm).values())
            assert min(shown(graph, algorithm, start=LATE).values()) > 0.3


def test_public_weights_leave_two_sub_states_for_all_to_see():
    """A neighbor at the end of a path has every number exactly after 6 rounds, and none after 5."""
    assert min(shown(PATH, StateDecomposition(5, STEP, 1.0), listener=0).values()) > 0
    assert not any(shown(PATH, StateDecomposition(6, STEP, 1.0), listener=0).values())
    assert not any(shown(PATH, StateDecomposition(2, STEP, 1.0)).values())
    leaf = shown(STAR, StateDecomposition(6, STEP, 1.0), listener=1)
    assert leaf == {0: 0.0, 2: math.inf, 3: math.inf}


def test_noise_that_is_taken_back_hides_from_who_misses_a_neighbor_and_from_nobody_else():
    short, long = (shown(PATH, ZeroSumNoise(rounds, 0.9, 1.0), listener=0) for rounds in (10, 40))
    assert short[1] == pytest.approx(0.994, abs=5e-4)
    assert long[1] == pytest.approx(0.993, abs=5e-4)
    near = shown(PATH, ZeroSumNoise(40, 0.9, 1.0), listener=1)
    assert near[0] < 0.01 < 0.7 < min(near[2], near[3])
    all_of_it = shown(PATH, ZeroSumNoise(40, 0.9, 1.0))
    assert max(all_of_it.values()) < 0.01
