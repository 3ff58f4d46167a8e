"""RECAL and DP-RECAL against an independent stacked oracle, their optimum, and their laws."""

import math
from dataclasses import replace

import numpy as np
import pytest

from netsim import topology
from netsim.algorithms import DPRecal, Recal
from netsim.claims import Adjacency
from netsim.problems import Problem
from netsim.randomness import Streams
from netsim.settings import Recording
from netsim.simulation import Simulation, setting_of
from tests.oracles.recal import recal as oracle
from tests.worlds import READINGS, digits_problem, dp_recal, synthetic_problem, tapped_ring

ORACLE_NAMES = {"fresh_noise": "shielded", "sent_state": "told"}


def sent_batons(run):
    return run.views[0].transcript.on_links()


def by_oracle(problem: Problem, run, noise, shield, reading):
    algorithm = run.simulation.algorithm
    x_first, y_first = algorithm.starts(problem.agents, problem.dimension)

    def gradient_of(objective):
        return lambda x: objective.gradient(x[None])[0]

    return oracle(
        [gradient_of(f) for f in problem.objectives],
        lambda v, step: problem.regularizer.proximal(v[None], step)[0],
        [row.sender for row in sent_batons(run)],
        algorithm.steps or [algorithm.step] * problem.agents,
        problem.dimension,
        noise=noise,
        shield=shield,
        reading=ORACLE_NAMES.get(reading, reading),
        x_first=x_first,
        y_first=y_first,
    )


EVEN = {"step": 0.5}
UNEVEN = {"step": 0.5, "steps": (0.9, 0.2, 1.1, 0.05, 0.6), "start": 2.0, "start_seed": 7}
"""Uncoordinated steps, and x¹ and y_i¹ drawn."""


@pytest.mark.parametrize("parameters", [EVEN, UNEVEN])
def test_recal_iterates_are_the_oracles(parameters):
    problem = synthetic_problem()
    algorithm = Recal(activations=50, **parameters)
    run = tapped_ring(problem, algorithm).run()
    expected = by_oracle(problem, run, None, None, "as_deployable")
    for name in ("u", "x"):
        ours = np.array([row.values[name][0] for row in sent_batons(run)])
        np.testing.assert_allclose(ours, expected[name], rtol=0, atol=1e-12)
    asked = [query for queries in run.truth.queries for query in queries]
    ours = np.array([query.point[0] for query in sorted(asked, key=lambda q: q.time)])
    assert ours.shape == expected["point"].shape


@pytest.mark.parametrize("parameters", [EVEN, UNEVEN])
@pytest.mark.parametrize("reading", READINGS)
def test_dp_recal_iterates_are_the_oracles(reading, parameters):
    """50 activations with the very noise that the agents drew, redrawn here from their named streams."""
    problem = synthetic_problem()
    algorithm = DPRecal(activations=50, ratio=1.1, stddev=0.3, reading=reading, **parameters)
    run = tapped_ring(problem, algorithm, seed=4).run()
    streams = [Streams(4).generator("agent", i, "noise", 0) for i in range(problem.agents)]
    counts = [0] * problem.agents
    noise, shield = [], []
    for row in sent_batons(run):
        deviation = 0.3 * 1.1 ** (-counts[row.sender] / 2)
        counts[row.sender] += 1
        draw = streams[row.sender].standard_normal
        if reading == "fresh_noise":
            shield.append(deviation * draw((1, problem.dimension))[0])
        noise.append(-deviation * draw((1, problem.dimension))[0])
    expected = by_oracle(problem, run, np.array(noise), np.array(shield) if shield else None, reading)
    for name in ("u_noisy", "x"):
        ours = np.array([row.values[name][0] for row in sent_batons(run)])
        np.testing.assert_allclose(ours, expected[name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("graph", [topology.ring, topology.complete])
def test_recal_converges_linearly_to_the_optimum(graph):
    """Relative error below 1e-8 on digits, and each decade takes about as long as the one before."""
    problem = digits_problem()
    algorithm = Recal(step=1 / (problem.smoothness + 1), activations=15_000)
    errors = (
        Simulation(problem, graph(8), algorithm, recording=Recording(private="nothing"))
        .run()
        .metrics.relative_errors()[:, 0]
    )
    assert errors[-1] < 1e-8
    reached = [int(np.argmax(errors < 10.0**-k)) for k in (2, 4, 6, 8)]
    decades = np.diff(reached)
    assert all(decades > 0)
    assert max(decades) < 4 * min(decades)


@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_recal_reaches_the_lasso_like_optimum(l1):
    from netsim.problems import build
    from netsim.problems import load as load_data

    parts = load_data("synthetic", kind="regression", records=40, dimension=5, seed=1).split(4)
    problem = build("lasso" if l1 else "ridge", parts, ridge=0.5, l1=l1)
    algorithm = Recal(step=1 / (problem.smoothness + 1), activations=6000)
    errors = Simulation(problem, topology.ring(4), algorithm).run().metrics.relative_errors()
    assert errors[-1, 0] < 1e-8


@pytest.mark.parametrize("reading", READINGS)
def test_without_noise_every_reading_is_recal(reading):
    """σ = 0 is RECAL: to the last bit, save for sent_state, which writes the same state in another form."""
    problem = synthetic_problem()
    plain = tapped_ring(problem, Recal(step=0.5, activations=60)).run()
    other = tapped_ring(problem, DPRecal(step=0.5, activations=60, reading=reading)).run()
    ours, theirs = (run.metrics.relative_errors() for run in (other, plain))
    if reading == "sent_state":
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    else:
        np.testing.assert_array_equal(ours, theirs)


def test_walk_visits_by_degree():
    """Lemma 1: the share of activations tends to d_i/2m. Chi-square at 1e-6 over a long walk on a star."""
    problem = synthetic_problem(agents=4)
    run = Simulation(
        problem,
        topology.star(4),
        Recal(step=0.5, activations=4000),
        recording=Recording(measure=False, private="nothing"),
    ).run()
    assert run.activations[0] == 2000  # the centre is every other stop
    leaves = np.array(run.activations[1:])
    assert np.all(np.abs(leaves - 2000 / 3) < 5 * math.sqrt(2000 * (1 / 3) * (2 / 3)))


class TestClaim:
    adjacency = Adjacency(0.2, "one record")

    def algorithm(self):
        return DPRecal(step=0.3, per_agent=10, stddev=0.5, ratio=1.2)

    def test_theorem_4_by_hand(self):
        """ρ₁ = 8α²β²c²/σ₁², ρ = ρ₁(R^Θ − 1)/(R − 1), ε = ρ + 2√(ρ ln 1/δ), with n = 5 and c = 0.1."""
        problem = synthetic_problem(agents=5)
        claim = self.algorithm().claim(self.adjacency, setting_of(problem, None, 10), 1e-3)
        rho_1 = 8 * 0.3**2 * (1 / 12) ** 2 * 0.1**2 / 0.5**2
        rho = rho_1 * (1.2**10 - 1) / 0.2
        assert claim.epsilon == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e3)), rel=1e-12)
        assert claim.failed_conditions == ()

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0])
    @pytest.mark.parametrize("ratio", [1.0, 1.05])
    def test_calibration_is_the_claim_backwards(self, epsilon, ratio):
        setting = setting_of(synthetic_problem(), None, 40)
        algorithm = replace(self.algorithm(), ratio=ratio).calibrated(epsilon, 1e-3, self.adjacency, setting)
        assert algorithm.claim(self.adjacency, setting, 1e-3).epsilon == pytest.approx(epsilon, rel=1e-9)


def test_calibrated_noise_is_what_is_added():
    problem = digits_problem()
    algorithm = dp_recal(problem, "as_deployable")
    assert algorithm.noise(1).stddev == algorithm.stddev
    assert algorithm.noise(3).stddev == pytest.approx(algorithm.stddev / 1.02)
