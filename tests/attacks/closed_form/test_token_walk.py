"""RECAL and DP-RECAL heard in part: what is returned is right, and the stated errors are the errors."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from attacks.closed_form.recal import duals, iterates, through_duals, through_iterates
from attacks.closed_form.token_walk import START, observed_walk
from attacks.inference import infer, probed, through_probe
from attacks.score import score_gradients
from netsim import topology
from netsim.adversary import Adversary, Query, RandomShare
from netsim.algorithms import DPRecal, Recal, Walkman
from netsim.errors import AttackError
from netsim.network.laws import Scheduled, UniformDelay
from netsim.network.links import LinkLaw
from netsim.problems import L1, load, logistic
from netsim.readers.live import Downtime
from netsim.settings import NetworkSettings, Recording, Timing
from netsim.simulation import Run, Simulation
from tests.worlds import ROUGH, dp_recal, simulated, synthetic_problem

PROBLEM = synthetic_problem()
SPARSE = replace(PROBLEM, regularizer=L1(0.01))
GRAPHS = {"ring": topology.ring(5), "complete": topology.complete(5)}
RECAL = Recal(step=0.5, activations=150)
UNEVEN = {"steps": (0.9, 0.2, 1.1, 0.05, 0.6), "start": 0.3, "start_seed": 7}
"""Uncoordinated steps, and x¹ and y_i¹ drawn."""


def heard(adversary: Adversary, algorithm=RECAL, graph="ring", problem=PROBLEM, seed=0, **options) -> Run:
    options.setdefault("links", ROUGH)
    return simulated(
        problem, GRAPHS[graph], algorithm, adversaries=(adversary,), seed=seed, measure=False, **options
    ).run()


def asked(run: Run, agent: int, query: int) -> Query:
    assert run.truth is not None
    return run.truth.queries[agent][query]


def share_found(run: Run, found) -> float:
    """The share of gradients with an estimate, all of them right."""
    score = score_gradients(found, run.truth)
    assert not score.errors.size or score.worst < 1e-8
    for e in found:
        np.testing.assert_allclose(e.point, asked(run, e.agent, e.query).point, atol=1e-8)
    return score.estimated / score.asked


@pytest.mark.few(6)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize(
    ("algorithm", "invert", "hidden"),
    [
        (replace(RECAL, **UNEVEN), through_duals, 0),
        (DPRecal(0.5, per_agent=15, stddev=0.1, reading="as_analysed", **UNEVEN), through_duals, 0),
        (DPRecal(0.5, per_agent=15, stddev=0.1, **UNEVEN), through_iterates, 5),
        (replace(RECAL, **UNEVEN), through_probe, 0),
        (DPRecal(0.5, per_agent=15, stddev=0.1, **UNEVEN), through_probe, 5),
    ],
)
def test_uncoordinated_steps_and_drawn_starts_hide_nothing(graph, algorithm, invert, hidden):
    """Every gradient; through the iterates, which the noise is not in, all but the last of each agent."""
    run = heard(Adversary(), algorithm, graph)
    exact = [one for one in invert(run.views[0]) if one.stddev == 0]
    assert share_found(run, exact) == pytest.approx(1 - hidden / sum(run.activations))


@pytest.mark.few(2)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize(("loss", "least"), [(0.02, 0.9), (0.1, 0.6), (0.3, 0.04), (0.5, 0.003)])
def test_what_a_lossy_tap_tells_is_right_and_much_follows_from_the_rest(graph, loss, least):
    shares = []
    for seed in range(2):
        run = heard(Adversary(capture_loss=loss), graph=graph, seed=seed)
        shares.append(share_found(run, through_duals(run.views[0])))
    assert np.mean(shares) > least


@pytest.mark.few(1)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("loss", [0.1, 0.3])
def test_where_the_dual_is_lost_differences_are_left(graph, loss):
    """With r ≠ 0 line 2 says nothing: a gap costs λ for good, and the differences after it are right."""
    found = 0
    for seed in range(3):
        run = heard(Adversary(capture_loss=loss), graph=graph, problem=SPARSE, seed=seed)
        ledger = duals(run.views[0])
        share_found(run, ledger.estimates())
        known = {(e.agent, e.query) for e in ledger.estimates()}
        for agent, (before, after), points, gradient, stddev in ledger.differences():
            assert (agent, before) not in known
            assert (agent, after) not in known
            assert stddev == 0
            for query, point in zip((before, after), points, strict=True):
                np.testing.assert_allclose(point, asked(run, agent, query).point, atol=1e-8)
            truth = asked(run, agent, after).gradient - asked(run, agent, before).gradient
            np.testing.assert_allclose(gradient, truth, atol=1e-8)
            found += 1
    assert found > 40


DEPLOYABLE = dp_recal(PROBLEM, "as_deployable", 25)


@pytest.mark.parametrize(
    ("graph", "links", "algorithm"),
    [
        ("ring", ((0, 1), (1, 2)), RECAL), ("ring", RandomShare(0.7), DEPLOYABLE),
        ("complete", ((0, 1), (2, 3)), DEPLOYABLE), ("complete", RandomShare(0.7), RECAL),
    ],
)  # fmt: skip
def test_taps_on_some_links(graph, links, algorithm):
    run = heard(Adversary(links=links), algorithm, graph)
    share_found(run, infer(run.views[0]))


def test_estimates_of_many_visits_are_made_without_their_covariance_by_coordinate():
    """The deviations are those of the evidence, whose covariance would be 40 · 40 numbers for each of 300
    coordinates."""
    data = load("synthetic", records=20, dimension=300, seed=3, norm_bound=1.0)
    run = heard(Adversary(), dp_recal(PROBLEM, "sent_state", 40), problem=logistic(data.split(5), ridge=0.5))
    ledger = iterates(run.views[0])
    tracemalloc.start()
    found = ledger.estimates()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    stated = [one for evidence in ledger.evidence() for one in evidence.estimates()]
    assert [one[:2] for one in found] == [one[:2] for one in stated]
    assert [one.stddev for one in found] == [one.stddev for one in stated]
    assert len(found) > 150
    assert peak < 40 * 40 * 300 * 8 / 4


@pytest.mark.parametrize("insiders", [(1,), (1, 3)])
def test_a_coalition_is_right_about_everybody_else(insiders):
    for graph in GRAPHS:
        run = heard(Adversary(insiders=insiders), graph=graph, seed=3)
        found = infer(run.views[0])
        share_found(run, found)
        assert not {e.agent for e in found} & set(insiders)


def test_one_lost_baton_costs_at_most_the_gradient_of_who_got_it():
    """r = 0: the sender's next visit says again what it sent."""
    run = heard(Adversary())
    view = run.views[0]
    rows = view.transcript.records
    missed = [row for row in rows if row.kind == "direct"][60]
    kept = [r for r in rows if (r.sender, r.number, r.kind) != (missed.sender, missed.number, "direct")]
    cut = replace(view, transcript=type(view.transcript)(kept, 1), adversary=Adversary(capture_loss=0.01))
    found = through_duals(cut)
    share_found(run, found)
    assert sum(len(q) for q in run.truth.queries) - len(found) <= 1


def test_a_tap_that_starts_late():
    """Nothing before activation 50 or so: of everybody who was there before, only differences are left."""
    run = heard(Adversary())
    view = run.views[0]
    middle = view.transcript.records[len(view.transcript.records) // 3].time
    late = replace(view, transcript=view.transcript.select(since=middle), adversary=Adversary(capture_loss=0.01))
    ledger = duals(late)
    share_found(run, ledger.estimates())
    assert len(ledger.differences()) > 60
    for agent, (before, after), _, gradient, _ in ledger.differences():
        truth = asked(run, agent, after).gradient - asked(run, agent, before).gradient
        np.testing.assert_allclose(gradient, truth, atol=1e-8)


@pytest.mark.parametrize("error", [0.0, 0.01, 1.0])
def test_clocks_that_err_put_nothing_out_of_its_place(error):
    """With numbers from the start on nobody needs a clock."""
    run = heard(Adversary(clock_error=error))
    assert share_found(run, through_duals(run.views[0])) == 1
    torn = heard(Adversary(clock_error=error, capture_loss=0.05))
    share_found(torn, through_duals(torn.views[0]))


@pytest.mark.parametrize("loss", [0.0, 0.2, 0.5])
def test_which_baton_brought_which_visit_is_what_the_run_did(loss):
    run = heard(Adversary("deaf", capture_loss=loss), seed=5)
    full = heard(Adversary("all"), seed=5)
    walk = [r for r in full.views[0].messages() if r.kind == "direct"]
    truth, holder = {(0, 0): START}, 0
    counts = dict.fromkeys(range(5), 0)
    for row in sorted(walk, key=lambda r: r.time):
        assert row.sender == holder
        counts[holder] += 1
        truth[row.receiver, counts[row.receiver]] = (row.sender, row.number)
        holder = row.receiver
    came = observed_walk(run.views[0], 0, ("u", "x"), np.zeros(PROBLEM.dimension)).came
    assert came.items() <= truth.items()
    assert len(came) > (1 - loss) ** 2 * 50


@pytest.mark.parametrize(("reading", "weight"), [
    ("as_deployable", 0.002), ("fresh_noise", 0.0), ("fresh_noise", 0.002), ("sent_state", 0.0),
    ("sent_state", 0.002),
])  # fmt: skip
@pytest.mark.parametrize(("loss", "parameters"), [(0.0, {}), (0.1, {}), (0.0, UNEVEN)])
def test_the_errors_of_the_repaired_readings_have_the_stated_covariance(reading, weight, loss, parameters):
    """Whitened errors are white, with gaps and with r = w‖x‖₁ too. 90 such checks at 1e-4."""
    problem = replace(PROBLEM, regularizer=L1(weight)) if weight else PROBLEM
    algorithm = replace(dp_recal(PROBLEM, reading, 15), step=0.5, **parameters)
    run = heard(Adversary(capture_loss=loss), algorithm, problem=problem, replicas=200, seed=2)
    some = 0
    for found in iterates(run.views[0]).evidence():
        truth = np.array([asked(run, found.agent, k).gradient for k in found.queries])
        factor = np.linalg.inv(np.linalg.cholesky(found.covariance[..., 0]))
        white = np.einsum("ts,srd->trd", factor, found.gradients - truth)
        assert 1e-4 < stats.chi2.cdf(np.sum(white**2), white.size) < 1 - 1e-4
        assert stats.kstest(white.ravel(), "norm").pvalue > 1e-4
        some += found.rounds
    assert some > 10
    if not loss and not weight:
        assert some == sum(len(q) for q in run.truth.queries)


def test_two_readings_of_y_are_better_than_one_and_late_errors_are_correlated():
    """fresh_noise: x⁺ alone leaves √(σ_τ² + σ_{τ+1}²)/(αβ) or so; both leave less."""
    algorithm = replace(dp_recal(PROBLEM, "fresh_noise", 15), step=0.5)
    run = heard(Adversary(), algorithm, replicas=2)
    found = iterates(run.views[0]).evidence()[0]
    gain = (2 * (5 + 1)) / algorithm.step
    one = [np.hypot(*(float(algorithm.noise(k + t).stddev) for t in (1, 2))) * gain for k in found.queries]
    assert np.all(found.stddev[1:-1, 0] < 0.95 * np.array(one[1:-1]))
    covariance = found.covariance[..., 0]
    assert abs(covariance[3, 4]) > 0.1 * covariance[3, 3]  # y_4 is in both
    assert [e.stddev for e in through_iterates(run.views[0]) if e.agent == 0] == pytest.approx(found.stddev[:, 0])


DIGITS = logistic(load("synthetic", records=30, dimension=2, seed=3, norm_bound=1.0).split(5), ridge=0.5)
ANEW = {2: Downtime(Scheduled(((2.0, 2.5),)), "restart_without_state")}


def ran(algorithm, seed, adversary, graph=None):
    return Simulation(
        DIGITS, topology.star(5) if graph is None else graph, algorithm,
        NetworkSettings(links=LinkLaw(UniformDelay(0.01, 0.02), reliable=True)), adversaries=(adversary,), seed=seed,
        timing=Timing(compute=UniformDelay(0.0, 0.5), downtimes=ANEW), recording=Recording(measure=False),
    ).run()  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("algorithm", "adversary", "graph"),
    [
        (Recal(0.3, per_agent=12, first=2), Adversary(), topology.star(5)),
        (DPRecal(0.3, per_agent=12, first=2, stddev=1e-3, reading="sent_state"), Adversary(), topology.star(5)),
        (Recal(0.3, per_agent=8, first=2), Adversary(links="all", insiders=(2,)), topology.star(5)),
        (Walkman(2.0, per_agent=8, first=2), Adversary(links="all", insiders=(2,)), topology.ring(5)),
    ],
)
def test_links_tell_no_gradient_that_is_wrong(algorithm, adversary, graph):
    for seed in range(5):
        run = ran(algorithm, seed, adversary, graph)
        for agent in (0, 1, 3, 4):
            try:
                found = probed(run.views[0], agent)
            except AttackError as refusal:
                assert "nothing was observed" in str(refusal)  # noqa: PT017
                continue
            for t in np.flatnonzero(found.identifiable):
                error = np.abs(found.gradients[t] - run.truth.queries[agent][t].gradient)
                assert np.all(error <= 10 * found.stddev[t] + found.rounding[t] + 1e-9)


def test_a_door_still_tells_them():
    run = ran(Recal(0.3, per_agent=12, first=2), 0, Adversary(links=(), nodes=(0,)))
    found = probed(run.views[0], 0)
    assert found.exact.sum() >= 5
    for t in np.flatnonzero(found.exact):
        error = np.abs(found.gradients[t] - run.truth.queries[0][t].gradient)
        np.testing.assert_array_less(error, 1e-9)


@pytest.mark.parametrize("nodes", [(2,), ()])
def test_an_agent_that_may_begin_anew_is_refused(nodes):
    view = ran(Recal(0.3, per_agent=12, first=2), 0, Adversary(nodes=nodes)).views[0]
    with pytest.raises(AttackError, match="agent 2 may begin anew"):
        probed(view, 2)
