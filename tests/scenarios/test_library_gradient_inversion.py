"""Published gradient inversions on DP-RECAL, on digits: who recovers what, and what defends."""

import pytest

from scenarios.files.library import library
from scenarios.results import attack_words as defences
from scenarios.schema.load import load_scenario, parse
from scenarios.stages.runner import run_scenario
from scenarios.stages.study import planned, run_study

NAME = "images-from-dp-recal"


@pytest.fixture(autouse=True)
def nothing_from_elsewhere(monkeypatch, tmp_path):
    """No data set but those that come along."""
    monkeypatch.setenv("NETSIM_DATA", str(tmp_path / "none"))


def alone(name):
    """The digits variant by itself, and smaller: one draw of the noise, and few iterations."""
    text = library()[name].replace("replicas: 2", "replicas: 1").replace("iterations: 1000", "iterations: 300")
    return parse(text[: text.index("variants:\n")], name)


def test_it_can_be_built_and_carries_no_item_of_a_paper():
    plan = planned(load_scenario(NAME))
    assert {variant.name for variant in plan.variants} - set(plan.absent) == {"digits"}
    assert plan.scenario.reproduces is None


def test_the_defence_holds_only_against_weak_attacks(tmp_path):
    results = run_scenario(alone(NAME), tmp_path, page=False)
    plain, noisy, repaired = (entry.reconstructions for entry in results.algorithms)
    found = [{one.attack: one for one in entry.attacks} for entry in (plain, noisy, repaired)]
    papers = [one for one in found[0] if found[0][one].inversion == "published"]
    for attack in papers:
        assert found[0][attack].verdict == "recovered", attack
        assert not {"recovered", "recovered in part"} & {*found[1][attack].verdicts, *found[2][attack].verdicts}
        assert found[1][attack].success.count == 0
        assert found[1][attack].psnr < 15
        assert found[1][f"{attack}, through x⁺"].verdict == "recovered", attack
    ours = "Closed form or posterior"
    assert found[0][ours].skill > 1 - 1e-9
    assert found[1][ours].skill > 1 - 1e-9
    success = found[1][ours].success
    assert success.count == success.of == 6
    assert success.rate > success.bound.bound  # more often than any attack if the claim held
    assert found[2][ours].verdict == "defended"
    assert defences.WEAK in noisy.sentence
    assert defences.WEAK not in plain.sentence + repaired.sentence


def test_data_that_are_not_here_stand_in_the_way_of_no_other_variant(tmp_path):
    text = library()[NAME].replace("replicas: 2", "replicas: 1").replace("iterations: 1000", "iterations: 50")
    results = run_study(parse(text, NAME), tmp_path, page=False)
    assert [v.status for v in results.variants] == ["complete", "data not present"]
