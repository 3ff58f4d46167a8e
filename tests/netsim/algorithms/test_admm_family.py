"""The ADMM family against its oracles, and where it converges."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from netsim.algorithms import DAdmm, DpAdmm, IcAdmm, MrAdmm, RAdmm, Walkman
from netsim.errors import DeadlockError, ScenarioError
from netsim.network.laws import ExponentialDelay, Scheduled, UniformDelay
from netsim.network.links import LinkLaw
from netsim.randomness import Streams
from netsim.readers.live import Downtime
from netsim.schedules import Constant, Geometric, Polynomial
from netsim.settings import NetworkSettings, Recording, Timing
from netsim.simulation import Simulation
from tests.attacks.auditing import replayed
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


def everything_sent(run, member):
    return np.array([value for _, value in sent_by(run)]) if member.walk else in_rounds(run)


@pytest.mark.few(*(f"{n}-{m.graphs[0]}" for n, m in MEMBERS.items()))
@pytest.mark.parametrize(("name", "graph"), [(n, g) for n, m in MEMBERS.items() for g in m.graphs])
def test_iterates_are_the_oracles(name, graph):
    """50 rounds or activations, relative to the largest value."""
    member, problem = MEMBERS[name], problem_of("logistic")
    run = tapped(problem, GRAPHS[graph], noisy(member.make(problem, 50)))
    noise = drawn_noise(run, member, 50 // member.share)
    expected, ours = member.expected(problem, GRAPHS[graph], noise, run), everything_sent(run, member)
    assert ours.shape == expected.shape
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", [name for name, member in MEMBERS.items() if member.r])
def test_iterates_are_the_oracles_with_l1(name):
    """Both solve their inner problems with r to 1e-12 by the same map; the iterates' map does not expand it much."""
    member, problem = MEMBERS[name], problem_of("lasso")
    graph = GRAPHS[member.graphs[0]]
    run = tapped(problem, graph, noisy(member.make(problem, 20)))
    expected = member.expected(problem, graph, drawn_noise(run, member, 20), run)
    np.testing.assert_allclose(everything_sent(run, member), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["pvp", "rw_admm"])
def test_replay_with_l1(name):
    member, problem = MEMBERS[name], problem_of("lasso")
    run = tapped(problem, GRAPHS["ring"], noisy(member.make(problem, 12)), replicas=2)
    assert replayed(run).identical


@pytest.mark.parametrize("name", ["r_admm", "mr_admm"])
def test_rounds_that_recycle_touch_no_data(name):
    """Under another hypothesis they send the same bits; and the agent asks its data every other round only."""
    member, problem = MEMBERS[name], problem_of("logistic")
    run = tapped(problem, GRAPHS["ring"], noisy(member.make(problem, 21)), replicas=2)
    own = problem.objectives[1]
    other = own.with_record(0, -own.features[0], float(own.labels[0]))
    found = replayed(run, other)
    assert found.identical
    assert len(found.releases) == len(run.truth.queries[1]) == 11
    assert [r.sent_in for r in found.releases] == list(range(0, 21, 2))
    assert [c.message for c in found.comparisons] == list(range(1, 21, 2))


def test_dual_noise_is_twice_as_much_in_the_objective():
    """2⟨w, x⟩ = ⟨b, x⟩: the b that a replay reads off is 2w of the declared scale, drawn from the agent's stream."""
    problem = problem_of("logistic")
    run = tapped(problem, GRAPHS["ring"], replace(DAdmm(10, PENALTY, "dual"), scale=Constant(0.4)))
    found = replayed(run)
    stream = Streams(SEED).generator("agent", 1, "noise", 0)
    for release in found.releases:
        b = release.mechanism.pull - release.value
        np.testing.assert_allclose(b[0], 0.8 * stream.laplace(size=(1, DIMENSION))[0], rtol=0, atol=1e-12)
        assert release.mechanism.noise.scale == 0.8


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


def test_a_scale_is_read_once_a_release():
    """Every other round releases nothing: a table of ⌈rounds/2⌉ scales is all of them."""
    table = [0.1, 0.2, 0.1, 0.3]
    algorithm = replace(MEMBERS["r_admm"].make(problem_of("logistic"), 7), scale=lambda k: table[k])
    assert algorithm.noisy
    tapped(problem_of("logistic"), GRAPHS["ring"], algorithm)


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
