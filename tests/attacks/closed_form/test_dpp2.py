"""DPP²: η known, η unknown, and what noise that dies out leaves hidden."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from attacks.closed_form.dpp2 import fit_relay, round_by_round, through_fitted_relay, through_relay
from attacks.estimates import Evidence
from attacks.inference import inferred
from attacks.score import score_gradients
from netsim import topology
from netsim.adversary import Adversary, Around
from netsim.algorithms import Dpp2, Recal
from netsim.errors import AttackError
from netsim.schedules import Constant, Geometric, UniformDraws
from netsim.simulation import Run
from tests.worlds import ROUGH, heard

PLAIN = Dpp2(24, step=0.3, beta=0.1, rho=1.0, eta=UniformDraws(0.2, 0.9, seed=3))


def noisy(scale: float, ratio: float, rounds: int = 24, **options) -> Dpp2:
    fading = Geometric(scale, ratio)
    return replace(PLAIN, rounds=rounds, scale_w=fading, scale_e=fading, **options)


def truth_of(run: Run, agent: int, queries) -> np.ndarray:
    return np.array([run.truth.queries[agent][k].gradient for k in queries])


def eta_of(run: Run) -> np.ndarray:
    algorithm = run.simulation.algorithm
    return np.array([algorithm.eta(k) for k in range(algorithm.rounds)])


@pytest.mark.parametrize("matrix", ["mixing", "laplacian"])
@pytest.mark.parametrize("graph", [topology.ring(5), topology.star(5)])
def test_without_noise_everything_is_exact_whether_eta_is_known_or_not(matrix, graph):
    run = heard(replace(PLAIN, matrix=matrix, beta=0.02), graph=graph, links=ROUGH)
    known = score_gradients(through_relay(run.views[0]), run.truth)
    fit = fit_relay(run.views[0])
    unknown = score_gradients(fit.estimates, run.truth)
    assert known.estimated == known.asked == unknown.estimated
    assert known.worst < 1e-12
    assert unknown.worst < 1e-8
    assert np.flatnonzero(~fit.identifiable[0]).tolist() == [0, 1]  # d⁰ = d¹ = 0: they hide nothing
    np.testing.assert_allclose(fit.eta[0, 2:], eta_of(run)[2:], atol=1e-8)
    assert not fit.deviations.any()


def test_where_agents_start_hides_nothing():
    """x⁰ by each agent's private coins: every gradient and decision x is exact without it, and η_1 is found, too."""
    view, truth = (run := heard(replace(PLAIN, start=3.0))).views[0], run.truth
    fit = fit_relay(view)
    for estimates, rounding in ((through_relay(view), 1e-11), (fit.estimates, 1e-8)):
        assert score_gradients(estimates, truth).worst < rounding
        for one in estimates:
            np.testing.assert_allclose(one.point, truth.queries[one.agent][one.query].point, atol=rounding)
    assert np.flatnonzero(~fit.identifiable[0]).tolist() == [0]


@pytest.mark.parametrize("scales", [(0.05, 0.05), (0.05, 0.0), (0.0, 0.05), (0.3, 0.01)])
def test_known_eta_the_errors_are_independent_with_the_stated_deviation(scales):
    w, e = (Geometric(s, 0.9) if s else Constant(0.0) for s in scales)
    run = heard(replace(PLAIN, rounds=12, scale_w=w, scale_e=e), replicas=400)
    for found in Evidence.each(through_relay(run.views[0]), law=None):
        error = found.gradients - truth_of(run, found.agent, found.queries)
        stated = found.stddev[:, None, :]
        exact = stated[:, 0, 0] == 0
        assert np.abs(error[exact]).max(initial=0.0) < 1e-9
        if exact.all():
            assert scales[1] == 0  # z holds no noise
            continue
        white = error[~exact] / stated[~exact]
        assert abs(np.mean(white**2) - 1) < 5 * np.sqrt(5 / white.size)  # a Laplace variable's square has variance 5
        between = np.atleast_2d(np.corrcoef(white.reshape(len(white), -1))) - np.eye(len(white))
        assert np.abs(between).max(initial=0.0) < 0.1
        assert found.law is None


@pytest.mark.slow
def test_each_agents_noise_weighs_its_own_readings():
    """Scales and ratios by agent: with η known and unknown the errors are as stated, agent by agent."""
    factors = {
        "agent_scale_w": (1, 3, 0.3, 1, 2), "agent_scale_e": (2, 0.5, 1, 4, 1), "agent_ratio": (1, 0.9, 1, 0.8, 1),
    }  # fmt: skip
    run = heard(noisy(0.05, 0.9, 12, **factors), replicas=60)
    fit = fit_relay(run.views[0])
    for agent, found in enumerate(Evidence.each(through_relay(run.views[0]), law=None)):
        error = found.gradients - truth_of(run, agent, found.queries)
        assert np.mean((error / found.stddev[:, None, :]) ** 2) == pytest.approx(1, abs=0.2)
        fitted = np.array([e.gradient for e in fit.estimates if e.agent == agent]) - truth_of(run, agent, range(12))
        assert np.mean((fitted / fit.deviations[agent]) ** 2) == pytest.approx(1, abs=0.25)


def test_an_outsider_that_fits_eta_is_chosen_by_name():
    run = heard(PLAIN)
    inversion, found = inferred(run.views[0], fitted=True)
    assert inversion is through_fitted_relay
    assert score_gradients(found, run.truth).worst < 1e-8


def test_all_eta_at_once_is_as_good_as_it_says_as_are_its_gradients_and_one_at_a_time_drifts():
    run = heard(noisy(0.1, 0.8), replicas=12)
    fit = fit_relay(run.views[0])
    truth = eta_of(run)
    known = fit.identifiable
    assert known[:, 1:].all()
    assert not known[:, 0].any()
    white = ((fit.eta - truth) / fit.stddev)[:, 1:]
    assert np.mean(white**2) == pytest.approx(1, abs=0.4)
    late = np.abs(fit.eta - truth)[:, -8:]
    drifted = np.abs(round_by_round(run.views[0]) - truth)[:, -8:]
    assert np.median(late) < 5e-3
    assert np.median(drifted) > 20 * np.median(late)
    assert fit.misfit == pytest.approx(1, abs=0.25)
    white, sizes = [], np.zeros(24)
    for e in fit.estimates:
        error = e.gradient - run.truth.queries[e.agent][e.query].gradient
        white.append(error / fit.deviations[e.agent, e.query])
        sizes[e.query] = max(sizes[e.query], np.sqrt(np.mean(error**2)))
    assert np.mean(np.square(white)) == pytest.approx(1, abs=0.1)
    slope = np.polyfit(range(24), np.log(sizes), 1)[0]
    assert slope == pytest.approx(np.log(0.8), abs=0.05)


def test_one_laplace_noise_alone_has_its_own_law():
    run = heard(replace(PLAIN, rounds=6, scale_w=Constant(0.2)), replicas=300)
    found = Evidence.each(through_relay(run.views[0]), law=None)[0]
    assert not found.stddev[:, 0].any()  # z holds no noise: exact whatever y holds
    other = heard(replace(PLAIN, rounds=6, scale_w=Constant(1e6), scale_e=Constant(0.2)), replicas=300)
    found = Evidence.each(through_relay(other.views[0]), law=None)[0]
    error = found.gradients - truth_of(other, found.agent, found.queries)
    assert stats.kstest(error.ravel(), stats.laplace(scale=0.2).cdf).pvalue > 1e-3


def test_what_was_heard_in_part():
    around = heard(PLAIN, adversary=Adversary(links=Around((1,)))).views[0]
    assert {e.agent for e in through_relay(around)} == {1}
    with pytest.raises(AttackError, match="all links"):
        fit_relay(around)
    lossy = heard(PLAIN, adversary=Adversary(capture_loss=0.05))
    found = score_gradients(through_relay(lossy.views[0]), lossy.truth)
    assert found.estimated < found.asked
    assert not found.errors.size or found.worst < 1e-9


def test_what_is_no_dpp2_is_refused():
    run = heard(Recal(0.5, activations=5))
    for attack in (through_relay, fit_relay, round_by_round):
        with pytest.raises(AttackError, match="not DPP²"):
            attack(run.views[0])
    with pytest.raises(AttackError, match="needs 3"):
        fit_relay(heard(replace(PLAIN, rounds=2)).views[0])
