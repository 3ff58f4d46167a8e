"""The ADMM family against its oracles, the optimum, replay, its conditions and its laws."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from attacks.replay import replay
from netsim.algorithms import DAdmm, DpAdmm, IcAdmm, MrAdmm, RAdmm, RwAdmm, Walkman, rw_admm
from netsim.errors import DeadlockError, ScenarioError
from netsim.network.laws import ExponentialDelay, Scheduled, UniformDelay
from netsim.network.links import LinkLaw
from netsim.randomness import Streams
from netsim.readers.live import Downtime
from netsim.schedules import Constant, Geometric, Polynomial
from netsim.settings import NetworkSettings, Recording, Timing
from netsim.simulation import Simulation
from tests.netsim.algorithms.admm_family import (
    AGENTS,
    DIMENSION,
    GRAPHS,
    MEMBERS,
    PENALTY,
    SEED,
    drawn_noise,
    in_rounds,
    noisy,
    problem_of,
    sent_by,
    tapped,
)
from tests.worlds import ROUGH, coins


def everything_sent(run, member):
    return np.array([value for _, value in sent_by(run)]) if member.walk else in_rounds(run)


@pytest.mark.few(2)
@pytest.mark.parametrize(("name", "graph"), [(n, g) for n, m in MEMBERS.items() for g in m.graphs])
def test_iterates_are_the_oracles(name, graph):
    """50 rounds or activations, relative to the largest value."""
    member, problem = MEMBERS[name], problem_of("logistic")
    run = tapped(problem, GRAPHS[graph], noisy(member.make(problem, 50)))
    noise = drawn_noise(run, member, 50 // member.share)
    expected, ours = member.expected(problem, GRAPHS[graph], noise, run), everything_sent(run, member)
    assert ours.shape == expected.shape
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.few(3)
@pytest.mark.parametrize("name", [name for name, member in MEMBERS.items() if member.r])
def test_iterates_are_the_oracles_with_l1(name):
    """Both solve their inner problems with r to 1e-12 by the same map; the iterates' map does not expand it much."""
    member, problem = MEMBERS[name], problem_of("lasso")
    graph = GRAPHS[member.graphs[0]]
    run = tapped(problem, graph, noisy(member.make(problem, 20)))
    expected = member.expected(problem, graph, drawn_noise(run, member, 20), run)
    np.testing.assert_allclose(everything_sent(run, member), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


CONVERGENT = [
    (name, graph, kind)
    for name, member in MEMBERS.items()
    for graph, kind in (
        (("star", "logistic"), ("star", "ridge"))
        if member.graphs == ("star",)
        else (("geometric", "logistic"), ("complete", "ridge"))
    )
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("name", "graph", "kind"), CONVERGENT)
def test_without_noise_it_reaches_the_optimum(name, graph, kind):
    """Within the rounds or activations that the table of members states."""
    member, problem = MEMBERS[name], problem_of(kind)
    run = Simulation(
        problem, GRAPHS[graph], member.make(problem, member.steps), seed=2, recording=Recording(private="nothing")
    ).run()
    assert run.metrics.relative_errors()[-AGENTS:].max() < 1e-8


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [n for n, m in MEMBERS.items() if m.r and n != "everybody"])
def test_without_noise_it_reaches_the_lasso(name):
    member, problem = MEMBERS[name], problem_of("lasso")
    assert not problem.optimum().is_zero
    graph = GRAPHS["star" if member.graphs == ("star",) else "complete"]
    steps = {"pvp": 100, "rw_admm": 700}.get(name, member.steps)
    run = Simulation(
        problem, graph, member.make(problem, steps), seed=2, recording=Recording(private="nothing")
    ).run()
    assert run.metrics.relative_errors()[-AGENTS:].max() < 1e-8


@pytest.mark.parametrize("name", ["pvp", "rw_admm"])
def test_replay_with_l1(name):
    member, problem = MEMBERS[name], problem_of("lasso")
    run = tapped(problem, GRAPHS["ring"], noisy(member.make(problem, 12)), replicas=2)
    assert replay(run.views[0], 1, problem.objectives[1], coins(run, 1)).identical


@pytest.mark.parametrize("name", ["r_admm", "mr_admm"])
def test_rounds_that_recycle_touch_no_data(name):
    """Under another hypothesis they send the same bits; and the agent asks its data every other round only."""
    member, problem = MEMBERS[name], problem_of("logistic")
    run = tapped(problem, GRAPHS["ring"], noisy(member.make(problem, 21)), replicas=2)
    own = problem.objectives[1]
    other = own.with_record(0, -own.features[0], float(own.labels[0]))
    found = replay(run.views[0], 1, other, coins(run, 1))
    assert found.identical
    assert len(found.releases) == len(run.truth.queries[1]) == 11
    assert [r.sent_in for r in found.releases] == list(range(0, 21, 2))
    assert [c.message for c in found.comparisons] == list(range(1, 21, 2))


def test_everybody_active_is_d_admm_with_noise_on_the_primal():
    problem, graph = problem_of("lasso"), GRAPHS["geometric"]
    first = in_rounds(tapped(problem, graph, noisy(RwAdmm(PENALTY, "everybody", per_agent=15))))
    second = in_rounds(tapped(problem, graph, noisy(DAdmm(15, PENALTY))))
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-10 * np.abs(second).max())
    smooth = problem_of("ridge")
    first = in_rounds(tapped(smooth, graph, noisy(RwAdmm(PENALTY, "everybody", per_agent=50))))
    second = in_rounds(tapped(smooth, graph, noisy(DAdmm(50, PENALTY))))
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-12 * np.abs(second).max())


def test_equal_penalties_make_mr_admm_r_admm():
    problem, graph = problem_of("logistic"), GRAPHS["geometric"]
    smoothness = problem.smoothness
    first = noisy(MrAdmm(20, smoothness, Constant(PENALTY), PENALTY))
    second = noisy(RAdmm(20, penalty=PENALTY, linearization=smoothness))
    np.testing.assert_array_equal(*(in_rounds(tapped(problem, graph, a)) for a in (first, second)))


def test_dual_noise_is_twice_as_much_in_the_objective():
    """2⟨w, x⟩ = ⟨b, x⟩: the b that a replay reads off is 2w of the declared scale, drawn from the agent's stream."""
    problem = problem_of("logistic")
    run = tapped(problem, GRAPHS["ring"], replace(DAdmm(10, PENALTY, "dual"), scale=Constant(0.4)))
    found = replay(run.views[0], 1, problem.objectives[1], coins(run, 1))
    stream = Streams(SEED).generator("agent", 1, "noise", 0)
    for release in found.releases:
        b = release.mechanism.pull - release.value
        np.testing.assert_allclose(b[0], 0.8 * stream.laplace(size=(1, DIMENSION))[0], rtol=0, atol=1e-12)
        assert release.mechanism.noise.scale == 0.8


@pytest.mark.parametrize("name", ["ic_admm", "dvp", "rw_admm", "walkman_prox"])
def test_replicas_are_worlds_of_their_own(name):
    """Each replica, replayed alone on what was sent in it, comes to the same bits."""
    member, problem = MEMBERS[name], problem_of("logistic")
    run = tapped(problem, GRAPHS["ring"], noisy(member.make(problem, 20)), replicas=5)
    for r in (0, 4):
        view = replace(run.views[0], transcript=run.views[0].transcript.replica(r))
        assert replay(view, 1, problem.objectives[1], coins(run, 1)).identical


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("make", "graph", "converges"),
    [
        (lambda s: IcAdmm(300, 0.02, 0.4 * s), "ring", False),
        (lambda s: IcAdmm(600, 0.1, 0.55 * s), "ring", True),
        (lambda s: RAdmm(600, penalty=0.1, linearization=0.55 * s), "ring", True),
        (lambda s: DpAdmm(600, 0.05, Constant(2.1 / s)), "star", False),
        (lambda s: DpAdmm(600, 0.05, Constant(1.9 / s)), "star", True),
        (lambda s: DpAdmm(600, 0.5, Polynomial(1 / s, 0.5)), "star", True),
        (lambda s: Walkman(s, activations=1000), "ring", False),
        (lambda s: Walkman(0.2 * s, "prox", activations=3000), "ring", True),
        (lambda s: MrAdmm(600, s, Geometric(0.3, 1.01), 0.3), "ring", True),  # grows twentyfold
    ],
)
def test_what_is_said_of_conditions(make, graph, converges, monkeypatch):
    problem = problem_of("ridge")
    algorithm = make(problem.smoothness)
    if not converges:
        with pytest.raises(ScenarioError):
            Simulation(problem, GRAPHS[graph], algorithm)
        monkeypatch.setattr(type(algorithm), "check", lambda self, setting: None)
    errors = (
        Simulation(problem, GRAPHS[graph], algorithm, seed=2, recording=Recording(private="nothing"))
        .run()
        .metrics.relative_errors()
    )
    assert errors[-AGENTS:].max() < 1e-8 if converges else errors[-AGENTS:].max() > 100


S = problem_of("logistic").smoothness


@pytest.mark.parametrize(
    ("algorithm", "field", "graph"),
    [
        (IcAdmm(0, 0.3, S), "rounds", "ring"),
        (IcAdmm(5, 0.0, S), "penalty", "ring"),
        (IcAdmm(5, 0.3, 0.5 * S), "proximal", "ring"),
        (replace(IcAdmm(5, 0.3, S), scale=Constant(-1.0)), "scale", "ring"),
        (replace(IcAdmm(5, 0.3, S), noise="uniform"), "noise", "ring"),
        (DAdmm(5, -0.3), "penalty", "ring"),
        (DAdmm(5, 0.3, "both"), "perturbation", "ring"),
        (DAdmm(5, 0.3, shares=-1), "shares", "ring"),
        (DAdmm(5, 0.3, growth=0.9), "growth", "ring"),
        (DAdmm(5, 0.3, dual_step=0.0), "dual_step", "ring"),
        (DAdmm(5, 0.3, divided=True), "dual_step", "ring"),
        (DpAdmm(5, 0.3, Constant(2.0 / S)), "step", "star"),
        (DpAdmm(5, 0.0, Constant(1 / S)), "penalty", "star"),
        (DpAdmm(5, 0.3, Constant(1 / S)), "kind", "ring"),
        (RAdmm(5, penalty=0.0, linearization=S), "penalty", "ring"),
        (RAdmm(5, penalty=0.3, linearization=0.5 * S), "linearization", "ring"),
        (MrAdmm(5, S, Geometric(0.3, 0.9), 0.1), "penalty", "ring"),
        (MrAdmm(5, S, Constant(0.3), 0.4), "penalty", "ring"),
        (MrAdmm(5, S, Constant(0.3), 0.0), "dual_step", "ring"),
        (MrAdmm(5, S, Constant(0.3), 0.1, (1.0, 2.0)), "factors", "ring"),
        (RwAdmm(0.3), "activations", "ring"),
        (RwAdmm(0.3, "everybody"), "per_agent", "ring"),
        (RwAdmm(0.3, "some", activations=3), "activation", "ring"),
        (RwAdmm(0.3, activations=3, first=9), "first", "ring"),
        (Walkman(1.9 * S, activations=3), "penalty", "ring"),
        (Walkman(0.0, "prox", activations=3), "penalty", "ring"),
        (Walkman(3 * S, "newton", activations=3), "version", "ring"),
        (Walkman(3 * S), "activations", "ring"),
    ],
)
def test_conditions_are_checked_before_time_0(algorithm, field, graph):
    with pytest.raises(ScenarioError) as caught:
        Simulation(problem_of("logistic"), GRAPHS[graph], algorithm)
    assert caught.value.field == f"algorithm.{field}"


@pytest.mark.parametrize("name", ["dvp", "r_admm", "mr_admm"])
def test_objective_perturbation_refuses_a_regularizer(name):
    problem = problem_of("lasso")
    with pytest.raises(ScenarioError, match="needs a smooth one"):
        Simulation(problem, GRAPHS["ring"], MEMBERS[name].make(problem, 5))


def test_a_scale_is_read_once_a_release():
    """Every other round releases nothing: a table of ⌈rounds/2⌉ scales is all of them."""
    table = [0.1, 0.2, 0.1, 0.3]
    algorithm = replace(MEMBERS["r_admm"].make(problem_of("logistic"), 7), scale=lambda k: table[k])
    assert algorithm.noisy
    tapped(problem_of("logistic"), GRAPHS["ring"], algorithm)


def test_rounds_of_mr_admm_are_checked_first():
    problem = problem_of("logistic")
    algorithm = replace(MEMBERS["mr_admm"].make(problem, 8), rounds=2.5)
    with pytest.raises(ScenarioError, match="not an integer"):
        Simulation(problem, GRAPHS["ring"], algorithm)


def test_a_leaf_that_begins_anew_sends_twice_and_the_hub_still_waits_for_all():
    """Without state a leaf repeats its first message; the hub has one of each leaf, or says who it waits for."""
    problem, down = problem_of("logistic"), Downtime(Scheduled(((0.3, 0.35), (0.7, 0.75))), "restart_without_state")
    for seed in range(6):
        network = NetworkSettings(links=LinkLaw(delay=ExponentialDelay(0.1)))
        timing = Timing(compute=UniformDelay(0.0, 0.05), downtimes={1: down})
        simulation = Simulation(
            problem, GRAPHS["star"], MEMBERS["dp_admm"].make(problem, 8), seed=seed, network=network, timing=timing
        )
        with contextlib.suppress(DeadlockError):
            simulation.run()


# ── laws under noise ─


class TestDuals:
    """Read off each agent's optimality condition, under noise, they sum to zero in every round."""

    rounds = 25

    def sums(self, run, graph):
        """S_i at the beginning of each round, (rounds, n, d)."""
        sent = np.concatenate([np.zeros((1, AGENTS, DIMENSION)), in_rounds(run)])
        near = [list(graph.neighbors(i)) for i in range(AGENTS)]
        return np.array([[len(near[i]) * x[i] + x[near[i]].sum(axis=0) for i in range(AGENTS)] for x in sent])

    def asked(self, run):
        queries = [[(q.point[0], q.gradient[0]) for q in own] for own in run.truth.queries]
        return np.array(queries).transpose(2, 1, 0, 3)

    def judge(self, duals):
        assert np.abs(duals).max() > 0.1
        assert np.abs(duals.sum(axis=1)).max() < 1e-12 * np.abs(duals).max() * AGENTS

    @pytest.mark.few(5)
    @pytest.mark.parametrize("name", ["pvp", "everybody", "dvp", "r_admm", "mr_admm"])
    @pytest.mark.parametrize("graph", ["ring", "geometric"])
    def test_of_exact_rounds(self, name, graph):
        """∇f_i(x⁺) + b + 2λ_i + 2ηd_i x⁺ − ηS_i = 0."""
        problem, topology, member = problem_of("logistic"), GRAPHS[graph], MEMBERS[name]
        rounds = member.share * self.rounds
        run = tapped(problem, topology, noisy(member.make(problem, rounds), 1.0, 1.0))
        x, gradient = self.asked(run)
        b = {"pvp": 0.0, "everybody": 0.0, "dvp": 2.0}.get(name, 1.0) * drawn_noise(run, member, self.rounds)
        eta = np.full((self.rounds, AGENTS, 1), PENALTY)
        if name == "mr_admm":
            algorithm = run.simulation.algorithm
            eta = np.array([[[algorithm.eta(i, t)] for i in range(AGENTS)] for t in range(self.rounds)])
        degree = np.array(topology.degrees)[None, :, None]
        sums = self.sums(run, topology)[: rounds : member.share]
        self.judge((eta * sums - 2 * eta * degree * x - gradient - b) / 2)

    @pytest.mark.parametrize("graph", ["ring", "geometric"])
    def test_of_ic_admm(self, graph):
        problem, topology = problem_of("logistic"), GRAPHS[graph]
        run = tapped(problem, topology, noisy(IcAdmm(self.rounds, PENALTY, problem.smoothness), 1.0, 1.0))
        x, gradient = self.asked(run)
        gamma = problem.smoothness + 2 * PENALTY * np.array(topology.degrees)[None, :, None]
        sums = self.sums(run, topology)[: self.rounds - 1]
        self.judge(problem.smoothness * x[:-1] - gradient[:-1] + PENALTY * sums - gamma * x[1:])

    def test_of_dp_admm(self):
        problem, algorithm = problem_of("logistic"), MEMBERS["dp_admm"].make(problem_of("logistic"), self.rounds)
        run = tapped(problem, GRAPHS["star"], noisy(algorithm, 1.0, 1.0))
        released, gradient = self.asked(run)
        noise = drawn_noise(run, MEMBERS["dp_admm"], self.rounds)
        w = released[1:] - noise[:-1]
        center = np.concatenate([np.zeros((1, DIMENSION)), in_rounds(run)[:, 0]])[: self.rounds - 1, None]
        c, step = 0.5 + problem.smoothness, 1 / problem.smoothness
        self.judge(c * w - released[:-1] / step - 0.5 * center + gradient[:-1])

    @pytest.mark.parametrize("links", [LinkLaw(), ROUGH], ids=["ideal", "rough"])
    @pytest.mark.parametrize("graph", ["ring", "geometric"])
    def test_of_a_walk(self, graph, links, monkeypatch):
        """Read where they are kept, after the last agent was confirmed."""
        states = []

        class Seen(rw_admm._State):
            def __init__(self, *args):
                super().__init__(*args)
                states.append(self)

        monkeypatch.setattr(rw_admm, "_State", Seen)
        algorithm = noisy(RwAdmm(PENALTY, activations=101), 1.0, 1.0)
        run = tapped(problem_of("logistic"), GRAPHS[graph], algorithm, links=links)
        assert sum(run.activations) == 101
        self.judge(np.array([[state.dual[0] for state in states]]))


def test_walkmans_token_is_the_mean_of_what_agents_hold_and_all_noise():
    """u⁺ = mean_i(y_i − z_i/β) + Σ w of the activations before; a proximal step tells y⁺ and z⁺ = ∇f_i(y⁺)."""
    problem = problem_of("logistic")
    member = MEMBERS["walkman_prox"]
    run = tapped(problem, GRAPHS["geometric"], noisy(member.make(problem, 60), 0.3, 1.0))
    noise, beta = drawn_noise(run, member), run.simulation.algorithm.penalty
    held, asked = np.zeros((AGENTS, DIMENSION)), [iter(own) for own in run.truth.queries]
    for k, (i, released) in enumerate(sent_by(run)):
        query = next(asked[i])
        held[i] = query.point[0] - query.gradient[0] / beta
        np.testing.assert_allclose(released, held.mean(axis=0) + noise[: k + 1].sum(axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["pvp", "rw_admm"])
def test_inner_problems_with_l1_meet_their_tolerance(name):
    """Logistic + ridge + ℓ1: −(∇f(x) + (x − v)/s) is a subgradient of r at x to 1e-11, where v follows from what was
    sent before."""
    problem = problem_of("sparse")
    run = tapped(problem, GRAPHS["ring"], MEMBERS[name].make(problem, 40 if name == "pvp" else 200))
    weight, zeros = problem.regularizer.weight, 0
    zero, neighbors = np.zeros(DIMENSION), GRAPHS["ring"].neighbors
    states = {i: [zero, zero, dict.fromkeys(neighbors(i), zero)] for i in range(AGENTS)}
    sent = sent_by(run)
    for start in range(0, len(sent), AGENTS if name == "pvp" else 1):
        batch = sent[start : start + (AGENTS if name == "pvp" else 1)]
        for i, x in batch:
            dual, own, heard = states[i]
            force = 2 * dual + PENALTY * sum(2 * x - own - other for other in heard.values())
            slope = -(problem.objectives[i].gradient(x[None])[0] + force)
            off = np.where(x != 0, slope - weight * np.sign(x), np.maximum(np.abs(slope) - weight, 0))
            assert np.abs(off).max() < 1e-11
            zeros += int(np.sum(x == 0))
        values = dict(batch)
        touched = {tuple(sorted((i, j))) for i in values for j in states[i][2]}
        for i, x in values.items():
            states[i][1] = x
            for j in states[i][2]:
                states[j][2][i] = x
        for i, j in touched:
            apart = PENALTY / 2 * (states[i][1] - states[j][1])
            states[i][0], states[j][0] = states[i][0] + apart, states[j][0] - apart
    assert zeros > 0
