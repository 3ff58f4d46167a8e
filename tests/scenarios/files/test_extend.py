"""`extends` and `-o`: what is merged, what is replaced, and where errors are said to be."""

import json
from pathlib import Path

import pytest

from netsim.errors import ScenarioError
from scenarios.schema.load import expanded, load_scenario, parse
from scenarios.sweep.points import load_sweep
from tests.scenarios.command import cli
from tests.scenarios.small import TINY

BASE = """\
name: base
topology: {kind: ring, agents: 5}
links: {loss: 0.1, reliable: true}
problem: {data: {name: synthetic, records: 60, dimension: 3}, ridge: 0.5}
algorithms:
  - {kind: recal, name: RECAL, activations: 30}
  - {kind: nids, name: NIDS, rounds: 4}
audit: {agent: 1, trials: 60}
"""
pytestmark = pytest.mark.usefixtures("undrawn")


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return str(path)


def loaded(folder, text, settings=()):
    written(folder, "base.yaml", BASE)
    return load_scenario(written(folder, "own.yaml", "extends: base.yaml\n" + text), settings).scenario


def test_mappings_merge_and_lists_and_values_are_replaced(tmp_path):
    own = loaded(
        tmp_path,
        "name: own\nlinks: {loss: 0.2}\nalgorithms: [{kind: recal, name: alone, activations: 9}]\naudit: null\n",
    )
    assert (own.name, own.links.loss, own.links.reliable) == ("own", 0.2, True)
    assert [one.name for one in own.algorithms] == ["alone"]
    assert own.audit is None
    assert own.problem == parse(BASE).scenario.problem


def test_another_kind_replaces_the_base_and_the_same_kind_merges(tmp_path):
    own = loaded(tmp_path, "name: own\ntopology: {kind: star, agents: 4}\nproblem: {data: {name: breast_cancer}}\n")
    assert own.topology.kind == "star"
    assert own.problem.data.name == "breast_cancer"
    assert own.problem.ridge == 0.5
    same = loaded(tmp_path, "name: own\nproblem: {data: {name: synthetic, records: 80}}\n")
    assert (same.problem.data.records, same.problem.data.dimension) == (80, 3)


def test_nothing_of_its_own_is_the_base_itself(tmp_path):
    assert loaded(tmp_path, "") == parse(BASE).scenario


def test_a_chain_of_files_and_a_shipped_one(tmp_path):
    written(tmp_path, "a.yaml", "extends: private-descent\nname: a\nseed: 5\n")
    found = load_scenario(written(tmp_path, "b.yaml", "extends: a.yaml\nreplicas: 2\n")).scenario
    shipped = load_scenario("private-descent").scenario
    assert (found.name, found.seed, found.replicas) == ("a", 5, 2)
    assert found.algorithms == shipped.algorithms


@pytest.mark.parametrize(
    ("text", "line", "field", "says"),
    [
        ("extends: base.yaml\nname: own\nlinks: {los: 0.2}\n", 3, "links.los", "did you mean 'loss'"),
        ("name: own\nextends: base.yaml\nproblem: {kind: lasso, l1: -1}\n", 3, "problem.l1", "out of range"),
    ],
)
def test_errors_are_where_the_file_says_it_or_at_extends(tmp_path, text, line, field, says):
    written(tmp_path, "base.yaml", BASE)
    written(tmp_path, "wrong.yaml", BASE.replace("0.1", "1.1"))
    path = written(tmp_path, "own.yaml", text)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    error = caught.value
    assert (error.file, error.line, error.field) == (path, line, field)
    assert says in str(error)


@pytest.mark.parametrize(
    ("setting", "read"),
    [
        ("links.loss=0.25", lambda s: s.links.loss == 0.25),
        ("problem.ridge=1e-5", lambda s: s.problem.ridge == 1e-5),
        ("algorithms[1].rounds=7", lambda s: s.algorithms[1].rounds == 7),
        ("links.delay={kind: constant, seconds: 0.5}", lambda s: s.links.delay.seconds == 0.5),
        ("audit=null", lambda s: s.audit is None),
        ("messages.codec.kind=float32", lambda s: s.messages.codec.kind == "float32"),
    ],
)
def test_settings_are_yaml_at_a_path(setting, read):
    assert read(parse(BASE, settings=[setting]).scenario)


def test_the_command_line_sets_and_repeats_what_it_set(tmp_path):
    path = written(tmp_path, "base.yaml", BASE.replace("audit: {agent: 1, trials: 60}\n", ""))
    out = tmp_path / "out"
    cli("run", path, "--out", out, "-o", "algorithms[0].activations=20", ends=0)
    results = json.loads((out / "results.json").read_text())
    assert results["scenario"]["algorithms"][0]["activations"] == 20
    assert results["command"].endswith("-o 'algorithms[0].activations=20'")
    cli("run", path, "-o", "topology.agents=0", ends=2, output="topology.agents")


def test_paths_in_a_file_start_at_the_file_also_in_bases_grids_variants_and_sweeps(tmp_path, monkeypatch):
    """Of settings on the command line they start at the working directory; a module's name is no path."""
    monkeypatch.chdir(tmp_path)
    Path("below/deep").mkdir(parents=True)
    Path("below/data.csv").write_text("a,b\n1,2\n2,1\n3,2\n4,1\n")
    Path("below/deep/other.csv").write_text("a,b\n1,2\n2,1\n3,2\n4,1\n")
    Path("below/base.yaml").write_text(
        TINY.replace("{name: synthetic, kind: regression, records: 20, dimension: 2}",
                     "{name: csv, path: data.csv, kind: regression}")
        + "variants: [{name: a, set: {problem.data.path: deep/other.csv}}]\n"
    )  # fmt: skip
    Path("below/deep/own.yaml").write_text(
        "extends: ../base.yaml\nname: own\nlinks: {delay: {kind: trace, file: t.txt}}\n"
        "algorithms:\n  - {kind: python, path: mine.py:TwoExchanges, parameters: {rounds: 3}}\n"
        "  - {kind: python, path: package.module:TwoExchanges, parameters: {path: kept}}\n"
    )
    found = load_scenario("below/deep/own.yaml").scenario
    assert Path(found.problem.data.path).samefile("below/data.csv")
    assert found.links.delay.file == "below/deep/t.txt"
    assert [one.path for one in found.algorithms] == [
        "below/deep/mine.py:TwoExchanges",
        "package.module:TwoExchanges",
    ]
    assert found.algorithms[1].parameters == {"path": "kept"}
    (variant,) = expanded(load_scenario("below/base.yaml"))
    assert variant.located.scenario.problem.data.path == "below/deep/other.csv"
    assert load_scenario("below/base.yaml", ["problem.data.path=x.csv"]).scenario.problem.data.path == "x.csv"
    text = (
        "scenario: ../base.yaml\ngrid: {problem.data.path: [other.csv, ../data.csv]}\n"
        "random: {links.delay.file: {law: choice, values: [t.txt]}}\n"
    )
    sweep = load_sweep(text, "below/deep/sweep.yaml")
    assert sweep.grid["problem.data.path"] == ["below/deep/other.csv", "below/deep/../data.csv"]
    assert sweep.random["links.delay.file"].values == ["below/deep/t.txt"]
    assert load_scenario(tmp_path / "below" / "base.yaml").scenario.problem.data.path == str(
        tmp_path / "below/data.csv"
    )
