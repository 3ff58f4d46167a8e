"""Random penalties: unbiased through λ, with exactly the stated deviation, and between bounds."""

import numpy as np
import pytest
from scipy import stats

from attacks.closed_form.random_penalty_admm import penalty_bounds, penalty_evidence, through_penalties
from attacks.inference import infer, inversions_of
from attacks.score import score_gradients
from netsim import topology
from netsim.adversary import Adversary, Around
from netsim.algorithms import PrivateGradientDescent, RandomPenaltyAdmm
from netsim.errors import AttackError
from netsim.schedules import Constant, Geometric
from netsim.simulation import Run
from tests import worlds
from tests.worlds import ROUGH


def heard(scale: float, replicas=1, rounds=12, adversary=None, graph=None, factors=(), **options) -> Run:
    law = Geometric(scale, 1 / 1.02) if scale else Constant(0.0)
    algorithm = RandomPenaltyAdmm(rounds, 10.0, 0.5, law, factors)
    return worlds.heard(algorithm, adversary, graph, replicas=replicas, **options)


def error_of(run: Run, found) -> np.ndarray:
    truth = run.truth.queries[found.agent][found.query]
    np.testing.assert_allclose(found.points[0], truth.point, atol=1e-12)
    return found.middle - truth.gradient


@pytest.mark.parametrize(
    ("graph", "factors"),
    [(topology.ring(5), ()), (topology.star(5), ()), (topology.ring(5), (1.0, 2.0, 0.9, 1.5, 3.0))],
    ids=["ring", "star", "a penalty of each"],
)
def test_without_laplace_noise_every_gradient_is_between_its_bounds_and_the_first_exact(graph, factors):
    run = heard(0.0, 8, graph=graph, links=ROUGH, factors=factors)
    bounds = penalty_bounds(run.views[0])
    assert len(bounds) == 60
    for b in bounds:
        truth = run.truth.queries[b.agent][b.query].gradient
        assert np.all(b.low <= truth)
        assert np.all(truth <= b.high)
        if b.query == 0:
            assert b.exact.all()
            np.testing.assert_allclose(b.middle, truth, atol=1e-12)


@pytest.mark.parametrize("scale", [0.0, 1e-3, 0.05])
def test_the_errors_are_unbiased_with_the_stated_deviation(scale):
    """z-tests over replicas, round by round; a Laplace variable's square has variance 5, a uniform one's 4/5."""
    run = heard(scale, 400)
    white: dict[int, list[np.ndarray]] = {}
    for b in penalty_bounds(run.views[0]):
        error = error_of(run, b)
        if np.all(b.uniform > 0):
            white.setdefault(b.query, []).append(error / b.uniform)
        else:
            assert b.query == 0
            assert np.abs(error).max() < 1e-12
    assert len(white) >= 11
    for values in white.values():
        size = np.size(values)
        assert abs(np.mean(values)) < 4.5 / np.sqrt(size)
        assert abs(np.mean(np.square(values)) - 1) < 4.5 * np.sqrt(5 / size)
    flat = np.array([np.ravel(values) for values in white.values()])
    between = np.corrcoef(flat) - np.eye(len(flat))
    assert np.abs(between).max() < 5 / np.sqrt(flat.shape[1])


def test_the_law_is_the_mixture():
    """θ alone: the error over the width of the interval is uniform on [−½, ½]."""
    run = heard(0.0, 200)
    units = []
    for b in penalty_bounds(run.views[0]):
        if b.query > 0:
            units.append(error_of(run, b) / (b.high - b.low))
    assert stats.kstest(np.ravel(units), stats.uniform(-0.5, 1.0).cdf).pvalue > 1e-3


def test_the_random_penalty_hides_ever_less_towards_consensus():
    run = heard(0.0, 20, rounds=60)
    width = [
        np.mean([np.mean(b.high - b.low) for b in penalty_bounds(run.views[0]) if b.query == k]) for k in (3, 59)
    ]
    assert width[1] < 0.05 * width[0]
    score = score_gradients([e for e in infer(run.views[0]) if e.query == 59], run.truth)
    assert score.median < 0.02


def test_estimates_and_evidence_say_the_same():
    run = heard(0.05, 5)
    assert inversions_of(run.simulation.algorithm)[0] is through_penalties
    estimates = infer(run.views[0])
    for found in penalty_evidence(run.views[0]):
        own = [e for e in estimates if e.agent == found.agent]
        np.testing.assert_array_equal(found.gradients, [e.gradient for e in own])
        rms = np.sqrt(np.mean(found.stddev**2, axis=1))
        np.testing.assert_allclose(rms, [e.stddev for e in own], rtol=1e-12)
        assert found.law is None


def test_what_was_heard_in_part():
    door = heard(0.0, adversary=Adversary(links=(), nodes=(2,)), links=ROUGH)
    doors = penalty_bounds(door.views[0])
    assert len([b for b in doors if b.agent == 2]) == 12
    assert {b.query for b in doors if b.agent != 2} == {0}
    around = heard(0.0, adversary=Adversary(links=Around((1,))))
    found = penalty_bounds(around.views[0])
    assert len([b for b in found if b.agent == 1]) == 12
    assert {b.query for b in found if b.agent != 1} == {0}  # nothing taken in yet: λ = 0
    for view_run in (door, around):
        for b in penalty_bounds(view_run.views[0]):
            truth = view_run.truth.queries[b.agent][b.query].gradient
            assert np.all((b.low <= truth) & (truth <= b.high))
    lossy = heard(0.0, adversary=Adversary(capture_loss=0.1))
    for b in penalty_bounds(lossy.views[0]):
        truth = lossy.truth.queries[b.agent][b.query].gradient
        assert np.all((b.low <= truth + 1e-12) & (truth - 1e-12 <= b.high))


def test_another_algorithm_is_refused():
    other = worlds.heard(PrivateGradientDescent(3, Constant(0.1)))
    with pytest.raises(AttackError, match="not random-penalty ADMM"):
        through_penalties(other.views[0])
