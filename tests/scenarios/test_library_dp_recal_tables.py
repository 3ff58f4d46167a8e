"""The tables of the DP-RECAL paper: built whole before time 0, and one of them run in the small."""

import pytest

from scenarios.files.library import library
from scenarios.results.folder import read_results
from scenarios.schema.checks import CostTo, Growth
from scenarios.schema.load import parse
from scenarios.stages.study import planned, run_study

TABLES = [f"dp-recal-table-{k}" for k in (1, 2)]
EXACT = {"recal", "walkman", "rw_admm", "extra", "nids", "gradient_tracking", "ic_admm", "d_admm"}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_built_whole_from_data_that_everybody_has(name):
    plan = planned(parse(library()[name]))
    assert not plan.absent
    assert len(plan.variants) == 5
    assert {spec.kind for spec in plan.scenario.algorithms} == EXACT


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_about_an_accuracy_that_its_results_have_in_a_table(name):
    scenario = parse(library()[name]).scenario
    checks = [check for check in scenario.reproduces.checks if isinstance(check, CostTo | Growth)]
    assert len(checks) == len(scenario.reproduces.checks)
    assert {check.accuracy for check in checks} <= set(scenario.measures.accuracies)
    assert {figure.y for figure in scenario.figures} == {"messages_to", "plf_to", "queries_to"}


def test_on_complete_graphs_a_round_costs_n_squared_and_an_activation_one_message(tmp_path):
    """With a condition number of 10 and with four algorithms; what the whole table finds, in seconds."""
    text = library()["dp-recal-table-1"]
    before = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("  - {kind: "))
    head, tail = before.split("algorithms:\n")
    few = [("recal", "RECAL", "per_agent: 140"), ("extra", "EXTRA", "rounds: 120"),
           ("nids", "NIDS", "rounds: 70"), ("d_admm", "D-ADMM", "rounds: 70")]  # fmt: skip
    chosen = "".join(f"  - {{kind: {kind}, name: {name}, {length}}}\n" for kind, name, length in few)
    head = head.replace("ridge: 0.04", "ridge: 0.1")
    tail = tail.replace("[3, 4, 6, 8, 12]", "[3, 4, 5, 6]").replace("agents-12", "agents-6")
    results = run_study(parse(f"{head}algorithms:\n{chosen}{tail}"), tmp_path / "table")
    answers = {check.criterion: check.answers[0] for check in results.reproduction.checks}
    grows = "growth exponent over topology.agents of {} to an error of 0.001 of {} above {} and below {}".format
    assert answers[grows("messages", "EXTRA", 1.9, 2.6)].result == "holds"
    assert answers[grows("messages", "NIDS", 1.9, 2.6)].result == "holds"
    assert answers[grows("PLF", "EXTRA", "−0.15", 0.15)].result == "holds"
    assert answers["messages to an error of 0.001 of RECAL in agents-6 below NIDS"].result == "holds"
    fewer = "messages to an error of 0.001 of RECAL in agents-6 below EXTRA"
    assert answers[fewer].result == "holds"
    [messages] = [figure for figure in results.figures if figure.title == "Messages"]
    assert messages.log_x
    assert [curve.x for curve in messages.curves] == [(3, 4, 5, 6)] * 4
    saved = read_results(tmp_path / "table")
    assert saved.reproduction == results.reproduction
