"""Measures of whole runs, against a log of every estimate, captured packets and queries; which points are kept."""

import math
import pickle
from bisect import bisect_right
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from netsim import metrics, topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, DPRecal, PrivateGradientDescent, Recal
from netsim.errors import ScenarioError
from netsim.metrics import COLUMNS, Measures, Metrics
from netsim.network.laws import LognormalDelay, UniformDelay
from netsim.network.links import LinkLaw
from netsim.network.radio import Radio
from netsim.network.wires import Air
from netsim.problems import L1, Problem, least_squares, load, logistic, objective
from netsim.schedules import Constant
from netsim.simulation import Run, Simulation
from netsim.transcript.message import TAG_BYTES
from tests.worlds import simulated

AGENTS, DIMENSION, REPLICAS = 5, 4, 3
DATA = load("synthetic", records=60, dimension=DIMENSION, seed=2)
PROBLEM = logistic(DATA.split(AGENTS), 0.2)
LASSO = logistic(DATA.split(AGENTS), 0.2, L1(0.02))
LOSSY = LinkLaw(LognormalDelay(0.2, 1.0), loss=0.3, reliable=True)
REORDERED = replace(LOSSY, reordering=True)
WALK = DPRecal(0.3, per_agent=40, stddev=1e-4)
ROUNDS = PrivateGradientDescent(30, Constant(0.3), Constant(0.01))
NODES = [SimpleNamespace(queries=0, messages=0, message_bytes=0) for _ in range(AGENTS)]
ALL = Adversary("everywhere", "all")


def world(algorithm: Algorithm, problem: Problem = PROBLEM, links: LinkLaw = LOSSY, **options) -> Simulation:
    return simulated(
        problem, options.pop("topology", topology.ring(AGENTS)), algorithm, links, replicas=REPLICAS, **options
    )


def logged(monkeypatch: pytest.MonkeyPatch, simulation: Simulation) -> tuple[Run, list[tuple[int, np.ndarray]]]:
    """The run, and every estimate in order."""
    log: list[tuple[int, np.ndarray]] = []
    closed = Metrics.closed
    monkeypatch.setattr(
        Metrics, "closed", lambda self, t, i, x: (log.append((i, x.copy())), closed(self, t, i, x))[1]
    )
    return simulation.run(), log


def worlds_of_a_point(log, walk: bool, count: int) -> tuple[list[np.ndarray], np.ndarray]:
    """The estimates that count at a point, and the answer that is judged there."""
    if walk:
        return list(dict(log[:count]).values()), log[count - 1][1]
    each = [[x for i, x in log if i == agent][count - 1] for agent in range(AGENTS)]
    return each, sum(each) / AGENTS


@pytest.mark.few(1)
@pytest.mark.parametrize("problem", [PROBLEM, LASSO], ids=["smooth", "lasso"])
@pytest.mark.parametrize("algorithm", [WALK, ROUNDS], ids=["walk", "rounds"])
def test_every_measure_from_a_log_of_the_estimates(monkeypatch, algorithm, problem):
    run, log = logged(monkeypatch, world(algorithm, problem))
    measures, walk = run.measures, algorithm is WALK
    best, value = problem.optimum().point, problem.optimum().value
    assert measures.unit == ("activations" if walk else "rounds")
    assert ("stationarity_gap" in measures.names) == (problem is PROBLEM)
    values = {name: measures.values(name) for name in measures.names}
    for k, count in enumerate(measures.counts("mean_error")):
        each, answer = worlds_of_a_point(log, walk, count)
        mean = sum(each) / len(each)
        errors = [np.linalg.norm(x - best, axis=1) / np.linalg.norm(best) for x in ([answer] if walk else each)]
        np.testing.assert_allclose(values["relative_error"][count - 1], np.max(errors, axis=0), rtol=1e-13)
        error = np.linalg.norm(mean - best, axis=1) / np.linalg.norm(best)
        np.testing.assert_allclose(values["mean_error"][k], error, rtol=1e-12)
        consensus = sum(((x - mean) ** 2).sum(axis=1) for x in each) / len(each)
        np.testing.assert_allclose(values["consensus_error"][k], consensus, rtol=1e-11, atol=1e-30)
        np.testing.assert_allclose(values["consensus_distance"][k], np.sqrt(consensus), rtol=1e-11, atol=1e-15)
        np.testing.assert_allclose(values["objective_gap"][k], problem.value(answer) - value, atol=1e-13)
        np.testing.assert_allclose(values["relative_gap"][k], (problem.value(answer) - value) / value, atol=1e-13)
        gradient = problem.mean_gradient(answer)
        if problem is PROBLEM:
            gap = (gradient**2).sum(axis=1) + consensus
            np.testing.assert_allclose(values["stationarity_gap"][k], gap, rtol=1e-11)
        moved = answer - problem.regularizer.proximal(answer - gradient, 1.0)
        np.testing.assert_allclose(values["proximal_residual"][k], np.linalg.norm(moved, axis=1), rtol=1e-11)
        right = [np.mean(np.sign(DATA.features @ row) == DATA.labels) for row in answer]
        np.testing.assert_array_equal(values["training_accuracy"][k], right)


@pytest.mark.parametrize("algorithm", [WALK, ROUNDS], ids=["walk", "rounds"])
def test_measures_of_the_agents_own_gradients(monkeypatch, algorithm):
    """(31) of the DPP² paper, ‖x − x̄‖² + (1/N)‖Σ∇f_i(x_i)‖², and (1/N²)Σ‖∇f_i(x_i)‖², where the run records them."""
    plain = world(algorithm)
    assert not {"optimality_gap", "local_gradients"} & set(plain.run().measures.names)
    recorded = replace(plain, recording=replace(plain.recording, own_gradients=True))
    run, log = logged(monkeypatch, recorded)
    measures, walk = run.measures, algorithm is WALK
    for k, count in enumerate(measures.counts("optimality_gap")):
        own = dict(log[:count]) if walk else {i: [x for j, x in log if j == i][count - 1] for i in range(AGENTS)}
        n, slopes = len(own), [PROBLEM.objectives[i].gradient(x) for i, x in own.items()]
        spread = sum(((x - sum(own.values()) / n) ** 2).sum(axis=1) for x in own.values())
        gap = spread + (sum(slopes) ** 2).sum(axis=1) / n
        np.testing.assert_allclose(measures.values("optimality_gap")[k], gap, rtol=1e-10)
        local = sum((g**2).sum(axis=1) for g in slopes) / n**2
        np.testing.assert_allclose(measures.values("local_gradients")[k], local, rtol=1e-10)
    assert not {"optimality_gap", "local_gradients"} & set(Measures.defined(LASSO))


# ── costs ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("links", [LinkLaw(UniformDelay(0.1, 0.3)), REORDERED], ids=["clean", "lossy"])
def test_the_costs_of_a_walk_are_what_was_on_the_air_and_queried(links):
    """On links without a queue a packet is captured when it is handed over: count the rows up to each closing. No two
    packets arrive at once where none waits for another."""
    run = world(WALK, links=links, adversaries=(ALL,)).run()
    costs, times, rows = run.measures.costs, run.metrics.times, list(run.views[0].transcript)
    captured = [row.time for row in rows]
    weights = np.cumsum([row.size for row in rows])
    queries = [[q.time for q in agent] for agent in run.truth.queries]
    closings: Counter[int] = Counter()
    for k, (time, agent) in enumerate(zip(times, run.metrics.agents, strict=True)):
        closings[agent] += 1
        packets = bisect_right(captured, time)
        assert (costs.packets[k], costs.bytes[k]) == (packets, weights[packets - 1])
        assert costs.plf[k] == max(closings.values())
        assert costs.messages[k] == k + 1
        made = [bisect_right(each, time) for each in queries]
        assert (costs.queries[k], costs.queries_of_one[k]) == (sum(made), max(made))
    assert list(costs.time) == times
    assert costs.plf[-1] == run.largest_activations
    assert (costs.packets == costs.messages).all() == (links is not REORDERED)


@pytest.mark.parametrize("links", [LinkLaw(UniformDelay(0.1, 0.3)), LOSSY], ids=["clean", "lossy"])
@pytest.mark.parametrize("graph", [topology.ring(AGENTS), topology.complete(AGENTS), topology.star(AGENTS)])
def test_the_costs_of_rounds_do_not_depend_on_who_is_ahead(graph, links):
    run = world(ROUNDS, links=links, topology=graph).run()
    costs, both = run.measures.costs, 2 * len(graph.edges)
    rounds = np.arange(1, 31)
    np.testing.assert_array_equal(costs.plf, rounds)
    np.testing.assert_array_equal(costs.messages, both * rounds)
    np.testing.assert_array_equal(costs.message_bytes, both * rounds * (20 + 8 * DIMENSION))
    np.testing.assert_array_equal(costs.queries, AGENTS * rounds)
    np.testing.assert_array_equal(costs.queries_of_one, rounds)
    assert (np.diff(costs.packets) >= 0).all()
    assert (costs.packets >= costs.messages).all()
    assert costs.packets[-1] <= run.traffic["packets_sent"]
    if links is not LOSSY:
        assert (costs.packets[-1], costs.bytes[-1]) == (run.traffic["packets_sent"], run.traffic["bytes_sent"])
    assert costs.time[-1] == max(run.metrics.times)


def test_on_plain_links_too():
    """Broadcasts over constant delays are counted once for each link, in their own fast path."""
    for algorithm in (ROUNDS, Recal(0.3, activations=50)):
        run = world(algorithm, links=LinkLaw()).run()
        assert run.measures.costs.packets[-1] == run.traffic["packets_sent"] == run.measures.costs.messages[-1]
        assert run.measures.costs.bytes[-1] == run.traffic["bytes_sent"] == run.measures.costs.message_bytes[-1]


def test_on_radio_a_transmission_counts_once():
    run = world(ROUNDS, links=LinkLaw(UniformDelay(0.1, 0.3)), medium=Radio()).run()
    assert run.measures.costs.packets[-1] == run.traffic["transmissions"] == 30 * AGENTS
    assert run.measures.costs.bytes[-1] == run.traffic["transmitted_bytes"]
    assert run.measures.costs.messages[-1] == run.traffic["packets_sent"] == 2 * 30 * AGENTS


def test_tags_are_on_the_air_and_in_no_message():
    run = world(WALK, links=replace(LOSSY, authenticated=True)).run()
    plain = world(WALK).run()
    costs, bare = run.measures.costs, plain.measures.costs
    np.testing.assert_array_equal(costs.bytes - bare.bytes, TAG_BYTES * costs.packets)
    np.testing.assert_array_equal(costs.message_bytes, bare.message_bytes)


@pytest.mark.parametrize("record", ["everything", "nothing"])
@pytest.mark.parametrize("measure", [True, False])
def test_queries_are_counted_whatever_is_kept(measure, record):
    run = world(WALK, private=record, measure=measure).run()
    assert run.queries == tuple(len(agent) for agent in world(WALK).run().truth.queries)
    assert (run.measures is None) == (not measure)


def test_how_often_it_is_measured_changes_no_bit():
    runs = [world(WALK, adversaries=(ALL,), measure_every=every).run() for every in (None, 1, 7)]
    for run in runs[1:]:
        assert [repr(row) for row in run.views[0].transcript] == [repr(row) for row in runs[0].views[0].transcript]
        np.testing.assert_array_equal(run.metrics.errors, runs[0].metrics.errors)
    everywhere, some = (run.measures.values("objective_gap") for run in runs[1:])
    np.testing.assert_array_equal(some, everywhere[runs[2].measures.counts("objective_gap") - 1])
    with pytest.raises(ScenarioError, match="measure_every"):
        world(WALK, measure_every=0)


# ── to an accuracy ──────────────────────────────────────────────────────────────────────────────────────
def at_distances(*distances: float) -> Measures:
    """A walk whose only replica is at these distances from the optimum."""
    optimum = PROBLEM.optimum().point
    found = Metrics(PROBLEM, 1, walk=True, air=Air(), nodes=NODES)
    for k, distance in enumerate(distances):
        x = ((1 + distance) * optimum)[None]
        with np.errstate(invalid="ignore"):
            found.closed(float(k), 0, x)
    found.finish()
    return Measures(PROBLEM, found)


@pytest.mark.parametrize(
    ("distances", "count"),
    [
        ((1.0, 0.5, 0.05, 0.5, 0.05, 0.01), 5), ((1.0, 0.5, 0.05, 0.5, 0.05, 0.5), None), ((0.05, 0.01), 1),
        ((0.05, np.nan, 0.01), 3), ((0.05, np.nan), None), ((np.inf, 0.05), 2), ((), None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("measure", ["relative_error", "mean_error"])
def test_it_has_reached_an_accuracy_from_where_it_stays(distances, count, measure):
    found = at_distances(*distances).to_accuracy(0.1, measure)
    assert (None if found is None else found.count) == count
    if found is not None:
        assert (found.plf, found.time) == (count, count - 1.0)


def test_the_median_replica_decides(monkeypatch):
    run = world(WALK).run()
    monkeypatch.setitem(run.measures._found, "relative_error", np.array([[0.1, 0.1, 9.0], [0.01, 0.09, 9.0]]))
    assert run.measures.to_accuracy(0.09).count == 2
    assert run.measures.to_accuracy(0.08) is None


def test_less_takes_longer_and_costs_more():
    run = world(Recal(0.3, activations=3000), private="nothing").run()
    found = [run.measures.to_accuracy(10.0**-k) for k in range(1, 9)]
    for one, two in pairwise(found):
        assert all(getattr(one, name) <= getattr(two, name) for name in vars(one))
    assert run.measures.curve("relative_error").median[found[-1].count - 2] > 1e-8


@pytest.mark.parametrize(
    ("measure", "why"),
    [("relative_eror", "unknown"), ("training_accuracy", "more of it"), ("held_out_accuracy", "more of it")],
)
def test_what_is_no_error_cannot_be_reached(measure, why):
    with pytest.raises(ScenarioError, match=why):
        world(WALK).run().measures.to_accuracy(0.1, measure)


@pytest.mark.parametrize("tolerance", [-1, 0.0, math.nan, math.inf])
def test_a_tolerance_that_nothing_reaches_is_out_of_range(tolerance):
    with pytest.raises(ScenarioError, match="out of range; allowed: > 0, and finite"):
        world(WALK).run().measures.to_accuracy(tolerance)


# ── what is defined, and what is written ────────────────────────────────────────────────────────────────
def test_a_regression_has_no_accuracy_and_only_asked_for_records_are_held_out():
    data = load("synthetic", records=40, dimension=3, kind="regression")
    run = world(ROUNDS, least_squares(data.split(AGENTS), 0.1)).run()
    assert not any(name.endswith("accuracy") for name in run.measures.names)
    with pytest.raises(ScenarioError, match="not defined here"):
        run.measures.values("training_accuracy")
    left, held = DATA.reserve(0.25)
    measures = world(ROUNDS, logistic(left.split(AGENTS), 0.2)).run().measures
    assert "held_out_accuracy" not in measures.names
    on = measures.on(held)
    answers = on._answers[-1]
    right = [np.mean(np.sign(held.features @ row) == held.labels) for row in answers]
    np.testing.assert_array_equal(on.values("held_out_accuracy")[-1], right)


@pytest.mark.parametrize("algorithm", [WALK, ROUNDS], ids=["walk", "rounds"])
def test_a_file_has_a_row_for_each_estimate_and_values_where_a_point_is_complete(tmp_path, algorithm):
    measures = world(algorithm).run().measures
    measures.write(tmp_path / "metrics.parquet")
    frame = pd.read_parquet(tmp_path / "metrics.parquet")
    curve = measures.curve("objective_gap")
    written = frame["objective_gap_median"].dropna()
    np.testing.assert_array_equal(written, curve.median)
    assert len(frame) == len(measures._metrics.times)
    of_measures = [f"{name}_{part}" for name in measures.names[1:] for part in ("low", "median", "high")]
    assert list(frame.columns) == [*COLUMNS, *of_measures]
    assert (frame["packets"].diff().dropna() >= 0).all()
    if algorithm is WALK:
        assert list(frame["count"][written.index]) == list(curve.count)
        np.testing.assert_array_equal(frame["error_median"], measures.curve("relative_error").median)


def test_a_run_of_nothing_has_measures_of_nothing(tmp_path):
    found = at_distances()
    assert all(len(found.curve(name).count) == 0 for name in found.names)
    assert len(found.costs.plf) == 0
    found.write(tmp_path / "metrics.parquet")
    assert len(pd.read_parquet(tmp_path / "metrics.parquet")) == 0


# ── which points are kept ───────────────────────────────────────────────────────────────────────────────
def made(walk: bool, replicas: int = 2, **options) -> Metrics:
    return Metrics(PROBLEM, replicas, walk=walk, air=Air(), nodes=NODES, **options)


def x(agent: int, count: int) -> np.ndarray:
    return np.random.default_rng([agent, count]).standard_normal((2, DIMENSION))


def rounds(found: Metrics, order: list[int]) -> Metrics:
    closed = [0] * AGENTS
    for agent in order:
        closed[agent] += 1
        found.closed(0.0, agent, x(agent, closed[agent]))
    found.finish()
    return found


@pytest.mark.few(10)
@pytest.mark.parametrize("walk", [False, True])
@pytest.mark.parametrize("length", [1, 7, 199, 200, 201, 1000, 5003])
def test_points_are_a_thinned_set_with_both_ends(walk, length):
    found = made(walk, last=None if walk else length)
    for count in range(1, length + 1):
        for agent in range(1 if walk else AGENTS):
            found.closed(0.0, agent, x(agent, count % 50))
    found.finish()
    counts = [point.count for point in found.points()]
    powers = {2**k for k in range(20)}
    wanted = {k for k in range(1, length + 1) if k % found.stride == 0 or k in powers or k == length}
    assert counts == sorted(wanted)
    assert len(counts) <= metrics.MOST + length.bit_length() + 1
    assert len(counts) >= min(length, metrics.MOST // 2)


def test_a_round_is_of_the_same_round_of_all_agents_however_far_they_are_apart():
    """One agent closes all its rounds before the others begin, and they take turns in their own order."""
    order = [2] * 6 + [1, 0, 0, 1, 3, 1, 0, 4] + [3, 0, 1, 4] * 5
    found = rounds(made(False), order)
    assert [point.count for point in found.points()] == [1, 2, 3, 4, 5, 6]
    for point in found.points():
        estimates = [x(i, point.count) for i in range(AGENTS)]
        mean = sum(estimates) / AGENTS
        np.testing.assert_allclose(point.answer, mean, rtol=1e-13)
        np.testing.assert_allclose(
            point.consensus, sum(((e - mean) ** 2).sum(axis=1) for e in estimates) / AGENTS, rtol=1e-12
        )
        best = PROBLEM.optimum().point
        error = np.linalg.norm(mean - best, axis=1) / np.linalg.norm(best)
        np.testing.assert_allclose(point.mean_error, error, rtol=1e-12)
        last = max([k for k, a in enumerate(order) if a == i][point.count - 1] for i in range(AGENTS))
        assert point.at == last


def test_an_agent_that_never_closes_takes_no_memory():
    found = made(False)
    for count in range(1, 20_000):
        for agent in range(AGENTS - 1):
            found.closed(0.0, agent, np.zeros((2, DIMENSION)))
        held = len(found._points) + len(found._rounds)
        assert held <= metrics.MOST + count.bit_length() + 1
    found.finish()
    assert found.points() == []


def test_a_walk_is_of_the_latest_estimates_of_who_has_closed():
    order = [0, 1, 0, 3, 1, 1, 0, 2, 4, 3]
    found = rounds(made(True), order)
    latest, closed = {}, [0] * AGENTS
    for point, agent in zip(found.points(), order, strict=True):
        closed[agent] += 1
        latest[agent] = x(agent, closed[agent])
        mean = sum(latest.values()) / len(latest)
        np.testing.assert_array_equal(point.answer, latest[agent])
        wanted = sum(((e - mean) ** 2).sum(axis=1) for e in latest.values()) / len(latest)
        np.testing.assert_allclose(point.consensus, wanted, rtol=1e-12, atol=1e-30)


def test_every_is_obeyed_and_never_thinned():
    found = made(True, every=3)
    for count in range(1, 2001):
        found.closed(0.0, 0, x(0, count % 9))
    found.finish()
    assert {3 * k for k in range(1, 667)} <= {point.count for point in found.points()}


def test_answers_of_many_replicas_are_fewer(monkeypatch):
    assert made(False).limit == metrics.MOST
    assert made(False, 10**6).limit == metrics.FEWEST
    monkeypatch.setattr(metrics, "MEMORY", 8 * 2 * DIMENSION * 50)
    assert made(False).limit == 50


@pytest.mark.parametrize("walk", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_spread_is_that_of_exact_arithmetic(offset, walk):
    """Far from 0 too, where the mean of squares minus the square of the mean would have no digit left."""
    found, estimates = made(walk), [offset + x(agent, 1) for agent in range(AGENTS)]
    for agent, estimate in enumerate(estimates):
        found.closed(0.0, agent, estimate)
    found.finish()
    point = found.points()[-1]
    for r in range(2):
        rows = [[Fraction(float(v)) for v in estimate[r]] for estimate in estimates]
        mean = [sum(column) / AGENTS for column in zip(*rows, strict=True)]
        square = sum((v - m) ** 2 for row in rows for v, m in zip(row, mean, strict=True)) / AGENTS
        assert point.consensus[r] == pytest.approx(float(square), rel=1e-9)
        if not walk:
            np.testing.assert_allclose(point.answer[r], [float(m) for m in mean], rtol=1e-14)


def test_a_row_depends_on_itself_alone_to_the_last_bit(monkeypatch):
    run = world(ROUNDS, LASSO).run()
    together = run.measures
    monkeypatch.setattr(metrics, "BLOCK", 40)  # few rows at once
    apart = Measures(LASSO, run.metrics)
    for name in together.names:
        np.testing.assert_array_equal(apart.values(name), together.values(name))


def test_no_answer_is_a_wrong_answer_and_an_error_is_absolute_where_the_optimum_is_zero():
    found = at_distances(-1.0, np.nan)
    assert found.values("training_accuracy").tolist() == [[0.0], [0.0]]
    bowl = Problem((objective(lambda x: float(x @ x) / 2, lambda x: x, 2, smoothness=1.0, strong_convexity=1.0),))
    absolute = Metrics(bowl, 2, walk=True, air=Air(), nodes=NODES)
    absolute.closed(0.0, 0, np.array([[3.0, 4.0], [0.0, 0.0]]))
    assert absolute.relative_errors().tolist() == [[5.0, 0.0]]


class TestReserve:
    def test_it_is_a_partition(self):
        left, held = DATA.reserve(0.3, seed=5)
        assert (left.records, held.records) == (42, 18)
        rows = sorted(map(tuple, np.vstack([left.features, held.features]).tolist()))
        assert rows == sorted(map(tuple, DATA.features.tolist()))
        again = DATA.reserve(0.3, seed=5)[1]
        np.testing.assert_array_equal(held.features, again.features)
        assert (held.features != DATA.reserve(0.3, seed=6)[1].features).any()

    @pytest.mark.parametrize("share", [0.0, 0.001, 0.999, 1.0])
    def test_neither_part_is_empty(self, share):
        with pytest.raises(ScenarioError, match="share"):
            DATA.reserve(share)


def test_metrics_of_a_finished_run_hold_no_agent():
    """They are kept after the run, when nobody may look at what is private any more."""
    found = world(ROUNDS).run().metrics
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.relative_errors(), found.relative_errors())
