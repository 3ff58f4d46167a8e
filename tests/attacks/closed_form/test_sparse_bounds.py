"""r = w‖x‖₁: every gradient lies between its bounds, and where they meet it is exact."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.closed_form.recal import sparse_bounds, sparse_evidence, through_duals, through_iterates
from attacks.score import score_gradients
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import DPRecal, Recal
from netsim.errors import AttackError
from netsim.problems import L1
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Run, Simulation
from tests.worlds import ROUGH, dp_recal, synthetic_problem

PROBLEM = synthetic_problem()


def heard(weight: float, stddev: float, loss=0.0, graph=None, replicas=6, per_agent=20, uneven=False) -> Run:
    problem = replace(PROBLEM, regularizer=L1(weight)) if weight else PROBLEM
    algorithm = DPRecal(0.5, per_agent=per_agent, stddev=stddev)
    if uneven:
        algorithm = replace(algorithm, steps=(0.9, 0.2, 1.1, 0.05, 0.6), start=0.3)
    return Simulation(
        problem, graph or topology.ring(5), algorithm, NetworkSettings(ROUGH),
        adversaries=(Adversary(capture_loss=loss),), replicas=replicas, recording=Recording(measure=False),
    ).run()  # fmt: skip


@pytest.mark.parametrize(
    ("weight", "stddev", "loss", "uneven"),
    [
        (1e-4, 0.0, 0.0, False), (1e-4, 0.05, 0.02, False), (2e-3, 1e-3, 0.0, True), (2e-3, 0.05, 0.0, False),
        (2e-2, 0.0, 0.02, False), (2e-2, 0.05, 0.0, True),
    ],
)  # fmt: skip
def test_every_coordinate_is_inside_and_where_bounds_meet_it_is_exact(weight, stddev, loss, uneven):
    some = exact = 0
    for graph in (topology.ring(5), topology.complete(5)):
        run = heard(weight, stddev, loss=loss, graph=graph, uneven=uneven)
        for found in sparse_bounds(run.views[0]):
            truth = run.truth.queries[found.agent][found.query]
            for low, value, high in (
                (found.low, truth.gradient, found.high),
                (found.points[0], truth.point, found.points[1]),
            ):
                assert np.all(low <= value)
                assert np.all(value <= high)
            assert np.all(np.abs(found.middle - truth.gradient)[found.exact] < 1e-8)
            some += found.exact.size
            exact += int(found.exact.sum())
    assert some > 0
    assert exact > 0


@pytest.mark.parametrize(("weight", "uneven"), [(1e-4, False), (2e-3, False), (2e-3, True)])
def test_estimates_are_exact_where_y_was_told_and_have_the_stated_covariance_elsewhere(weight, uneven):
    run = heard(weight, 0.05, replicas=400, per_agent=8, uneven=uneven)
    estimates = {(e.agent, e.query): e for e in through_iterates(run.views[0])}
    assert len(estimates) == sum(len(q) for q in run.truth.queries)
    for found in sparse_evidence(run.views[0]):
        truth = np.array([run.truth.queries[found.agent][k].gradient for k in found.queries])
        error = found.gradients - truth
        measured = np.mean(error**2, axis=1)
        stated = found.stddev**2
        assert np.all(measured[stated == 0] < 1e-16)
        many = stated > 0.1 * stated.max()
        assert measured[many] == pytest.approx(stated[many], rel=0.5)
        assert np.mean(measured[many] / stated[many]) == pytest.approx(1, abs=0.1)
        for t, k in enumerate(found.queries):
            np.testing.assert_array_equal(estimates[found.agent, k].gradient, found.gradients[t])


def test_bounds_are_worth_something_and_widen_as_zeros_come():
    run = heard(2e-3, 0.05)
    found = [b for b in sparse_bounds(run.views[0]) if b.agent == 1]
    widths = np.array([np.mean(b.high - b.low) for b in found])
    assert 0.05 < np.mean([b.exact.mean() for b in found]) < 0.95
    assert np.mean(widths[-5:]) > np.mean(widths[:5])


def test_without_a_threshold_bounds_are_the_estimates():
    run = heard(0.0, 0.05)
    estimates = {(e.agent, e.query): e.gradient for e in through_iterates(run.views[0])}
    bounds = sparse_bounds(run.views[0])
    assert len(bounds) == len(estimates)
    for b in bounds:
        assert b.exact.all()
        np.testing.assert_allclose(b.middle, estimates[b.agent, b.query], atol=1e-9)


@pytest.mark.parametrize(
    "algorithm", [Recal(0.5, activations=100), DPRecal(0.5, per_agent=15, stddev=0.1, reading="as_analysed")]
)
def test_where_the_exact_u_is_on_the_wire_the_l1_term_hides_nothing(algorithm):
    problem = replace(PROBLEM, regularizer=L1(2e-2))
    run = Simulation(problem, topology.ring(5), algorithm, NetworkSettings(ROUGH), adversaries=(Adversary(),)).run()
    score = score_gradients(through_duals(run.views[0]), run.truth)
    assert score.estimated == score.asked
    assert score.worst < 1e-8


def test_what_has_no_bounds_is_refused():
    told = Simulation(PROBLEM, topology.ring(5), dp_recal(PROBLEM, "sent_state"), adversaries=(Adversary(),)).run()
    with pytest.raises(AttackError, match="as analysed or as deployable"):
        sparse_bounds(told.views[0])
