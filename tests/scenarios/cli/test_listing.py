"""`netsim list` and `netsim show`: nothing that the code knows is missing."""

import json
import re
from typing import get_args

import pytest

from netsim.problems.data import LOADERS
from netsim.problems.problem import Kind
from scenarios.cli import catalogue
from scenarios.cli.catalogue import models
from scenarios.files.library import library, plain_tree, variant_names
from scenarios.schema.attacks import KINDS as RECORDS
from scenarios.schema.load import expanded, load_scenario, parse
from tests.scenarios.command import cli


@pytest.fixture(scope="module")
def everything():
    done = cli("list", "--json", ends=0)
    return json.loads(done.stdout)


def names(rows):
    return [row["name"] for row in rows]


def test_every_registry_is_listed_whole(everything):
    assert names(everything["scenarios"]) == sorted(library(), key=names(everything["scenarios"]).index)
    assert names(everything["algorithms"]) == list(models())
    assert [row["kind"] for row in everything["attacks"] if row["on"] == "records"] == list(RECORDS)
    assert names(everything["problems"]) == list(get_args(Kind))
    assert names(everything["data"]) == list(LOADERS)
    assert {"topologies", "codecs", "faults", "ledger"} < set(everything)
    assert list(everything) == list(catalogue.Kind)


def test_an_algorithm_has_its_class_claim_and_attacks(everything):
    found = {row["kind"]: row for row in everything["algorithms"]}
    assert found["dp_recal"]["class"] == "DPRecal"
    assert found["dp_recal"]["claim"] == {"source": "DP-RECAL, Theorem 4", "norm": "ℓ2"}
    assert found["dp_recal"]["attacks"] == ["through_iterates", "through_probe"]
    assert found["extra"]["claim"] is None
    assert all(row["class"] or "path" in models()[kind].model_fields for kind, row in found.items())
    assert {"name": "per_agent", "required": True, "default": None} in found["dp_recal"]["parameters"]


def test_an_attack_has_what_it_needs_and_whose_it_is(everything):
    found = {row["kind"]: row for row in everything["attacks"]}
    assert found["idlg"]["needs"] == ["one record an agent"]
    assert "Zhao" in found["idlg"]["source"]


@pytest.mark.slow
def test_variants_are_named_as_they_are_run():
    for name in library():
        assert variant_names(plain_tree(name)) == [one.name for one in expanded(load_scenario(name))]


def test_scenarios_are_read_in_groups_with_a_title_each():
    text = cli("list").output
    assert text.index("First steps") < text.index("Threat gallery") < text.index("Papers: DP-RECAL")
    assert all(name in text for name in library())
    assert "A baton walks a random graph" not in text  # descriptions are for show


@pytest.mark.parametrize("kind", ["data", "problems", "codecs", "faults"])
def test_a_kind_is_a_table(kind, everything):
    cli("list", kind, ends=0, output=everything[kind][0]["name"])
    cli("list", "nothing", ends=2)


def test_show_of_an_algorithm_says_its_update_parameters_and_claim():
    text = cli("show", "private_gradient_descent").output
    assert "x_i ← Σ_j w_ij x̃_j" in text
    assert "Claim: Laplace composition over the rounds" in text
    assert re.search(r"rounds +required", text)
    cli("show", "privat_gradient_descent", ends=2, stderr="did you mean 'private_gradient_descent'?")


def test_show_of_a_file_that_extends_is_the_same_scenario_and_says_from_where(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("extends: lossy-tap\nname: mine\nlinks: {loss: 0.1}\n")
    for more in ([], ["--resolved"]):
        text = cli("show", "mine.yaml", *more).output
        assert parse(text).scenario == load_scenario("mine.yaml").scenario
    assert "# The file itself says: name, links.loss. The rest is from lossy-tap." in cli("show", "mine.yaml").output


def test_algorithms_and_attacks_of_one_module_each_say_their_own(everything):
    said = {row["kind"]: row["update"] for row in everything["algorithms"]}
    assert len(set(said.values())) == len(said)
    assert "Gaussian noise" not in said["recal"]
    assert said["dp_recal"].startswith("DP-RECAL")
    assert "Planted faults" in said["planted_fault"]
    attacks = {row["kind"]: row["what"] for row in everything["attacks"] if row["kind"]}
    assert len(set(attacks.values())) == len(attacks)
    assert all("`" not in what for what in attacks.values())
    shown = {kind: cli("show", kind).output for kind in ("recal", "dp_recal", "neighbor_range")}
    assert all("u⁺ = u + λ⁺ − λ_i" in shown[kind] for kind in ("recal", "dp_recal"))
    assert "Theorem 4" in shown["dp_recal"]
    assert " ".join(shown["dp_recal"].split()).count("RECAL whose baton carries") == 1
    assert "Theorem 4" not in shown["recal"]
    assert "Algorithm 2*" in shown["neighbor_range"]
    assert "penalties" not in shown["neighbor_range"]


def test_ten_scenarios_stand_first_and_each_stands_once():
    text = cli("list", env={"COLUMNS": "140"}).output
    first, _, others = text.partition("Comparisons")
    assert [name for name in first.split() if name in library()] == list(catalogue.FIRST)
    assert len(catalogue.FIRST) == 10
    listed = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.split()]
    assert sorted(name for name in listed if name in library()) == sorted(library())
    assert "private-descent " not in others
