"""DPP²'s budget: the release that its sum leaves out, its growth, and its problem and network."""

import pytest

from netsim.errors import ScenarioError
from scenarios.build.experiment import Experiment
from scenarios.files.library import library
from scenarios.schema.load import load_scenario, parse
from scenarios.stages.study import planned, run_study

NAMES = sorted(name for name in library() if name.startswith("dpp2-"))
FIFTY = "topology: {kind: random_geometric, agents: 50, radius: 0.3, seed: 69}"
SMALL = "topology: {kind: complete, agents: 3}"


def changed(name, *changes):
    """A shipped scenario with some of its text replaced."""
    text = library()[name]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse(text, name).scenario


def reproduced(name, folder, *changes):
    """What it finds, and the results of each check."""
    found = run_study(changed(name, *changes), folder, page=False).reproduction
    return found, {c.statement: a.result for c in found.checks for a in c.answers}


@pytest.mark.parametrize("name", NAMES)
def test_everything_can_be_built_from_what_is_here(name):
    assert len(NAMES) == 2
    plan = planned(load_scenario(name))
    assert not plan.absent
    assert (plan.scenario.reproduces is not None) == (name == "dpp2-theorem-3")


def test_the_network_and_the_problem_are_the_papers():
    experiment = Experiment.of(changed("dpp2-growing-budget", (SMALL, FIFTY), ("records: 600", "records: 10000")))
    simulation = experiment.subjects[0].simulation
    assert simulation.topology.adjacency.sum() == 2 * 255
    assert simulation.problem.smoothness == pytest.approx(5.03, rel=1e-12)
    assert {o.records for o in simulation.problem.objectives} == {200}


def test_with_the_laplacian_in_its_place_the_papers_steps_are_refused():
    scenario = changed(
        "dpp2-growing-budget", (SMALL, FIFTY), ("    rho: 10\n", "    rho: 10\n    matrix: laplacian\n")
    )
    with pytest.raises(ScenarioError, match="λ_max") as caught:
        Experiment.of(scenario)
    assert caught.value.field.endswith("beta")


def test_the_first_release_is_not_in_the_sum(tmp_path):
    found, answers = reproduced("dpp2-theorem-3", tmp_path, ("trials: 1000, chunk: 500", "trials: 400, chunk: 200"))
    assert found.outcome == "differs"
    fails = {says for says, result in answers.items() if result == "fails"}
    shorter = "It holds with a shorter step"
    assert fails == {"Nothing leaks in the first round.", f"{shorter}.", f"{shorter} and more rounds."}
