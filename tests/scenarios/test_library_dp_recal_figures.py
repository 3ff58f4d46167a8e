"""The scenarios that repeat DP-RECAL's figures and its last tables: what can be built, what a small one finds."""

import pytest

from scenarios.build.experiment import Experiment
from scenarios.files.library import library
from scenarios.files.load import load_scenario, parse
from scenarios.stages.study import planned, run_study

NAMES = [
    "dp-recal-fig-2", "dp-recal-fig-3", "dp-recal-fig-5", "dp-recal-fig-6", "dp-recal-table-4", "dp-recal-table-5",
    "dp-recal-v1-fig-2", "dp-recal-v1-fig-3", "dp-recal-v1-fig-4", "dp-recal-v1-table-5",
]  # fmt: skip


def changed(name, *changes):
    """A shipped scenario with some of its text replaced."""
    text = library()[name]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse(text, name)


@pytest.fixture(autouse=True)
def nothing_from_elsewhere(monkeypatch, tmp_path):
    """No data set but those that come along."""
    monkeypatch.setenv("NETSIM_DATA", str(tmp_path / "none"))


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_built_and_says_what_the_paper_does_not_print(name):
    plan = planned(load_scenario(name))
    here = {variant.name for variant in plan.scenario.variants} - set(plan.absent)
    assert here or not plan.scenario.variants
    assert plan.scenario.reproduces is not None
    assert plan.scenario.reproduces.missing


@pytest.mark.parametrize(("weight", "zero"), [("0.5", True), ("0.05", False)])
def test_with_weight_one_half_nobody_has_to_move(weight, zero):
    loaded = changed("dp-recal-fig-2", ("l1: 0.05\n", f"l1: {weight}\n"))
    assert Experiment.of(loaded.scenario).subjects[0].simulation.problem.optimum().is_zero is zero


def test_a_low_lci_saves_budget_and_no_error(tmp_path):
    loaded = changed("dp-recal-v1-table-5", ("records: 5000", "records: 500"), ("replicas: 10", "replicas: 4"))
    found = run_study(loaded, tmp_path)["reproduction"]
    answers = {c["says"]: {a["result"] for a in c["answers"]} for c in found["checks"]}
    assert found["outcome"] == "differs"
    assert answers["A quarter of the LCI costs at most half of the budget."] == {"holds"}
    for lci in (25, 50, 100):
        claims = f"At the same noise and an LCI of {lci} DP-RECAL claims a smaller ε than IC-ADMM."
        assert answers[claims] == {"holds"}
        assert answers[f"As it could be deployed it ends closer than IC-ADMM (LCI {lci})."] == {"fails"}
