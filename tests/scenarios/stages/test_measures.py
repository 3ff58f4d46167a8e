"""What a scenario's results say of how far its runs got and at what cost."""

import math
import re
from dataclasses import astuple, replace

import numpy as np
import pandas as pd
import pytest

from netsim.errors import ScenarioError
from scenarios.build.experiment import Experiment
from scenarios.render.page.report import render
from scenarios.results.curves import COLUMNS, rows, thinned
from scenarios.results.folder import read_results
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.scenarios.command import cli

TEXT = """\
name: progress
seed: 3
replicas: 5
problem: {data: {name: synthetic, records: 120, dimension: 5, norm_bound: 1.0}, ridge: 0.3, held_out: 0.25}
topology: {kind: ring, agents: 4}
links: {delay: {kind: uniform, low: 0.01, high: 0.03}, loss: 0.1, reliable: true}
algorithms:
  - {kind: recal, name: walk, activations: 1500}
  - {kind: private_gradient_descent, name: rounds, rounds: 60, scale: 0.0}
  - {kind: private_gradient_descent, name: noise, rounds: 60, scale: 5.0}
attacks: {gradients: false}
measures: {accuracies: [0.5, 1.0e-4], measure: objective_gap, every: 4}
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "progress"
    return folder, run_scenario(parse(TEXT), folder)


def entry(results, name):
    return next(e for e in results.algorithms if e.name == name)


def test_an_accuracy_is_reached_where_the_curve_stays_below_it(finished):
    for one in finished[1].algorithms:
        found = one.measures
        curve = found.curves["objective_gap"]
        assert found.measure == "objective_gap"
        for asked in found.to_accuracy:
            stays = [c for k, c in enumerate(curve.count) if max(curve.median[k:]) <= asked.accuracy]
            reached = asked.reached
            assert (reached and reached.count) == (min(stays) if stays else None)
    assert entry(finished[1], "walk").measures.to_accuracy[1].reached is not None
    assert entry(finished[1], "noise").measures.to_accuracy[1].reached is None


def test_costs_rise_to_what_the_run_says_of_itself(finished):
    for one, per_count in ((entry(finished[1], "walk"), 1), (entry(finished[1], "rounds"), 8)):
        costs, run = one.measures.costs, one.run
        assert costs.count[0] == 1
        assert costs.messages == tuple(per_count * k for k in costs.count)
        assert costs.plf[-1] == run.largest_activations == max(run.activations)
        assert costs.queries[-1] == sum(run.queries)
        assert costs.messages[-1] < costs.packets[-1] <= run.traffic["packets_sent"]
        for values in astuple(costs):
            assert (np.diff(values) >= 0).all()
            assert len(values) <= 200


def test_every_fourth_is_measured(finished):
    assert {4 * k for k in range(1, 16)} <= set(entry(finished[1], "rounds").measures.curves["mean_error"].count)


def test_what_is_held_out_nobody_holds(finished):
    problem = finished[1].problem
    assert (problem.records, problem.held_out, sum(problem.records_per_agent)) == (90, 30, 90)
    experiment = Experiment.of(parse(TEXT).scenario)
    held = {tuple(row) for row in experiment.held_out.features}
    assert not any(tuple(row) in held for f in experiment.problem.objectives for row in f.features)
    shares = entry(finished[1], "walk").measures.curves["held_out_accuracy"].median
    optimum = experiment.problem.optimum().point
    right = np.mean(np.sign(experiment.held_out.features @ optimum) == experiment.held_out.labels)
    assert shares[-1] == right
    assert "; 30 more held out" in (finished[0] / "report.html").read_text()


def test_a_scenario_that_holds_nothing_out_is_as_it_was():
    plain = Experiment.of(parse(TEXT.replace(", held_out: 0.25", "")).scenario)
    assert plain.held_out is None
    assert plain.dataset.records == 120


def test_the_files_have_it(finished):
    folder, results = finished
    written = read_results(folder)
    assert entry(written, "rounds").measures == entry(results, "rounds").measures
    frame = pd.read_parquet(folder / "metrics-rounds.parquet")
    curve = entry(results, "rounds").measures.curves["held_out_accuracy"]
    assert tuple(frame["held_out_accuracy_median"].dropna()) == curve.median
    assert frame.queries.max() == 60


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (("{accuracies", "{accuracies: [0.0], x"), "measures"),
        (("measure: objective_gap", "measure: training_accuracy"), "measures.measure"),
        (("ridge: 0.3", "ridge: 0.3, l1: 0.01"), None),
        (("held_out: 0.25", "held_out: 0.001"), "problem.held_out"),
        (("held_out: 0.25", "held_out: 1.0"), "problem.held_out"),
    ],
)
def test_what_is_wrong_is_said_before_time_0(change, field):
    text = TEXT.replace(*change)
    if field is None:
        text, field = text.replace("objective_gap", "stationarity_gap"), "measures.measure"
    with pytest.raises(ScenarioError) as caught:
        Experiment.of(parse(text).scenario)
    assert caught.value.field.startswith(field)


# ── where people read it ────────────────────────────────────────────────────────────────────────────────
def test_a_row_for_each_accuracy_and_one_for_who_reached_none(finished):
    found = rows(finished[1].algorithms)
    assert [(name, accuracy) for name, accuracy, _ in found] == [
        ("walk", 0.5), ("walk", 1e-4), ("rounds", 0.5), ("rounds", 1e-4), ("noise", None)
    ]  # fmt: skip
    assert found[-1][2] == [None] * len(COLUMNS)
    assert found[0][2][0] == entry(finished[1], "walk").measures.to_accuracy[0].reached.plf
    assert rows([replace(entry(finished[1], "walk"), name="failed", measures=None)]) == []


def test_the_page_has_small_figures_and_the_table(finished, tmp_path):
    page = (finished[0] / "report.html").read_text()
    section = page[page.index('<section id="progress"') :]
    section = section[: section.index("</section>")]
    titles = re.findall(r"<figure><h3>([^<]*)</h3>", section)
    assert titles == [
        "Error of the mean", "Consensus error", "Objective gap", "Stationarity gap", "Proximal residual",
        "Accuracy, training", "Accuracy, held out",
    ]  # fmt: skip
    reached = entry(finished[1], "walk").measures.to_accuracy[1].reached
    assert re.search(rf"<td[^>]*>{reached.bytes:,}</td>", section)
    assert "none of them" in section
    assert len(page) < 500_000
    without = tuple(replace(one, measures=None) for one in finished[1].algorithms)
    render(replace(finished[1], algorithms=without), tmp_path / "report.html")
    assert 'id="progress"' not in (tmp_path / "report.html").read_text()


def test_a_curve_of_zeros_and_infinities_has_a_figure(finished, tmp_path):
    def flat(curve, value):
        values = (value,) * len(curve.median)
        return replace(curve, low=values, median=values, high=values)

    strange = []
    for one, value in zip(finished[1].algorithms, (0.0, math.inf, math.nan), strict=True):
        curves = {name: flat(curve, value) for name, curve in one.measures.curves.items()}
        measures, convergence = replace(one.measures, curves=curves), flat(one.convergence, value)
        strange.append(replace(one, measures=measures, convergence=convergence))
    render(replace(finished[1], algorithms=tuple(strange)), tmp_path / "report.html")
    assert 'id="progress"' in (tmp_path / "report.html").read_text()


@pytest.mark.slow
def test_the_terminal_has_the_table(finished, tmp_path):
    (tmp_path / "progress.yaml").write_text(TEXT)
    said = cli("run", tmp_path / "progress.yaml", "--out", tmp_path / "out", ends=0)
    reached = entry(finished[1], "walk").measures.to_accuracy[1].reached
    line = next(line for line in said.output.splitlines() if f"{reached.bytes:,}" in line)
    assert line.split()[:2] == ["10⁻⁴", f"{reached.plf:,}"]
    assert "Accuracies not reached: " in said.output
    assert "until the objective gap stayed" in " ".join(said.output.split())


@pytest.mark.parametrize("length", [0, 1, 2, 199, 200, 201, 5000, 10**6])
def test_thinning_keeps_both_ends_and_its_measure(length):
    chosen = thinned(length, 200)
    assert len(chosen) == length if length <= 200 else 100 < len(chosen) <= 200
    if length:
        assert (chosen[0], chosen[-1]) == (0, length - 1)
    assert (np.diff(chosen) > 0).all()
