"""What a shell is offered, as the shell asks for it; and that nothing heavy is loaded for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.cli import completing

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMP_WORDS", "netsim run lossy-tap -o ")
    return tmp_path


def test_scenarios_are_shipped_ones_and_files(here):
    (here / "lossier.yaml").write_text("")
    (here / "lossier.txt").write_text("")
    assert completing.scenarios("los") == [("lossy-tap", "RECAL through a lossy tap"), ("lossier.yaml", "")]


def test_fields_come_level_by_level_from_what_the_scenario_says():
    top = completing.settings("")
    assert {"seed=", "links.", "algorithms[0]", "medium="} <= set(top)
    assert "algorithms[1]" not in top
    assert completing.settings("links.lo") == ["links.loss=", "links.loss=0.0"]
    assert "algorithms[0].activations=" in completing.settings("algorithms[0].")  # of RECAL
    assert "algorithms[0].rounds=" not in completing.settings("algorithms[0].")
    assert "topology.probability=" in completing.settings("topology.")  # of an Erdős–Rényi graph
    assert completing.settings("links.delay.s") == ["links.delay.seconds=", "links.delay.seconds=…"]
    assert completing.settings("nothing.at") == []


def test_values_are_offered_where_there_is_a_list_of_them():
    assert completing.settings("links.reliable=") == ["links.reliable=true", "links.reliable=false"]
    assert "problem.kind=ridge" in completing.settings("problem.kind=r")


def test_variants_of_the_scenario_on_the_line(monkeypatch):
    monkeypatch.setenv("COMP_WORDS", "netsim run walks-against-rounds --variant ")
    assert completing.variants("weight-one-h") == ["weight-one-half"]
    monkeypatch.setenv("COMP_WORDS", "netsim run nothing --variant 'wei")
    assert completing.variants("") == []


def test_results_folders_and_what_is_in_them(here):
    folder = here / "results" / "small" / "20260101"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    (folder / "witness-x.json").write_text("{}")
    assert completing.results("res") == [("results/small/20260101", "")]
    assert completing.witnesses("") == [("results/small/20260101/witness-x.json", "")]


def test_kinds_and_data_sets():
    assert [kind for kind, _ in completing.kinds("dp")] == ["dp_admm", "dp_recal", "dpp2"]
    assert [name for name, _ in completing.fetchable("")] == [
        "mnist", "fashion_mnist", "cifar10_cat_dog", "ijcnn1", "covtype", "adult",
    ]  # fmt: skip


def test_a_shell_is_answered_without_loading_what_computes(here):
    code = (
        "import sys; sys.argv = ['netsim']\n"
        "from scenarios.cli.app import app\n"
        "try: app(prog_name='netsim')\n"
        "finally: print([m for m in ('numpy', 'scipy', 'scenarios.schema', 'netsim.algorithms') if m in sys.modules])"
    )
    asked = {"COMP_WORDS": "netsim run lossy-tap -o links.lo", "COMP_CWORD": "4", "_NETSIM_COMPLETE": "complete_bash"}
    env = os.environ | asked | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["links.loss=", "links.loss=0.0", "[]"], done.stderr
