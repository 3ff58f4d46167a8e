"""The scenarios that repeat CPGT's experiment, made smaller: what they find, and that they could find otherwise."""

import json

import pytest

from scenarios.files.library import library
from scenarios.files.load import load_scenario, parse
from scenarios.stages.study import planned, run_study

NAMES = sorted(name for name in library() if name.startswith("cpgt-"))


def reproduced(name, folder, *changes):
    """What is found by a shipped scenario with some of its text replaced, and the results of each check."""
    text = library()[name]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    found = run_study(parse(text, name).scenario, folder)["reproduction"]
    return found, {(c["says"], a["variant"]): a["result"] for c in found["checks"] for a in c["answers"]}


@pytest.mark.parametrize("name", NAMES)
def test_every_variant_can_be_built_from_what_is_here(name):
    assert len(NAMES) == 4
    plan = planned(load_scenario(name))
    assert not plan.absent
    assert plan.scenario.reproduces is not None


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    return *reproduced(
        "cpgt-table-1", folder, ("rounds: 200", "rounds: 130"), ("replicas: 10", "replicas: 4")
    ), folder


def test_the_divisor_decides_whether_the_steps_are_stable(table):
    found, answers, _ = table
    assert found["outcome"] == "agrees in shape"
    assert set(answers.values()) == {"holds"}


def test_no_error_is_too_large_to_be_drawn(table):
    _, _, folder = table
    results = json.loads((folder / "divisor-6" / "results.json").read_text())
    assert results["algorithms"][0]["convergence"]["median"][-1] > 1e30
    assert (folder / "divisor-6" / "report.html").exists()


def test_with_the_other_divisor_in_its_place_the_table_differs(tmp_path):
    changes = [("divisor-6, set: {problem.divisor: 6}", "divisor-6, set: {problem.divisor: 36}")]
    found, answers = reproduced("cpgt-table-1", tmp_path, *changes, ("rounds: 200", "rounds: 40"))
    assert found["outcome"] == "differs"
    assert answers["Divided by 6, as printed, they are not.", "divisor-6"] == "fails"


def test_the_claim_holds_for_a_change_in_one_coordinate_alone(tmp_path):
    changes = [("rounds: 30", "rounds: 6"), ("trials: 1000, chunk: 500", "trials: 400, chunk: 200")]
    found, answers = reproduced("cpgt-eq-23", tmp_path, *changes)
    assert found["outcome"] == "differs"
    fail = {key for key, result in answers.items() if result == "fails"}
    assert fail == {("An even change is within it,", "even"), ("by CPGT as well.", "even")}
    assert set(answers.values()) == {"holds", "fails"}
