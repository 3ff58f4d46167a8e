"""The scenarios that set DP-RECAL beside other methods: what can be built, and where the optimum is 0."""

import pytest

from scenarios.build.experiment import Experiment
from scenarios.files.library import library
from scenarios.schema.load import load_scenario, parse
from scenarios.stages.study import planned

NAMES = ["one-budget", "walks-against-rounds"]


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
def test_it_can_be_built_and_carries_no_item_of_a_paper(name):
    plan = planned(load_scenario(name))
    here = {variant.name for variant in plan.scenario.variants} - set(plan.absent)
    assert here or not plan.scenario.variants
    assert plan.scenario.reproduces is None


@pytest.mark.parametrize(("weight", "zero"), [("0.5", True), ("0.05", False)])
def test_with_weight_one_half_nobody_has_to_move(weight, zero):
    loaded = changed("walks-against-rounds", ("l1: 0.05\n", f"l1: {weight}\n"))
    assert Experiment.of(loaded.scenario).subjects[0].simulation.problem.optimum().is_zero is zero
