"""Shell completion, as a shell requests it; and that nothing heavy is loaded for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.files.library import library
from tests.scenarios.command import cli

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def request(line):
    """The environment in which a shell asks for completions of a line."""
    words = line.split(" ")
    return {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_NETSIM_COMPLETE": "complete_bash"}


def completions(line):
    return cli(prog_name="netsim", env=request(line)).output.split()


def test_scenarios_are_shipped_ones_and_files(here):
    (here / "lossier.yaml").write_text("")
    (here / "lossier.txt").write_text("")
    assert completions("netsim run los") == ["lossy-tap", "lossier.yaml"]
    own = [name for name in sorted(library()) if name.startswith("dp")]
    assert completions("netsim show dp") == [*own, "dp_admm", "dp_recal", "dpp2"]


def test_fields_come_level_by_level_from_the_scenario():
    line = "netsim run lossy-tap -o "
    top = completions(line)
    assert {"seed=", "links.", "algorithms[0]", "medium="} <= set(top)
    assert "algorithms[1]" not in top
    assert completions(f"{line}links.lo") == ["links.loss=", "links.loss=0.0"]
    assert "algorithms[0].activations=" in completions(f"{line}algorithms[0].")  # of RECAL
    assert "algorithms[0].rounds=" not in completions(f"{line}algorithms[0].")
    assert "topology.probability=" in completions(f"{line}topology.")  # of an Erdős–Rényi graph
    assert completions(f"{line}links.delay.s") == ["links.delay.seconds=", "links.delay.seconds=…"]
    assert completions(f"{line}nothing.at") == []


def test_values_are_offered_where_there_is_a_list_of_them():
    assert completions("netsim run lossy-tap -o links.reliable=") == ["links.reliable=true", "links.reliable=false"]
    assert "problem.kind=ridge" in completions("netsim check lossy-tap -o problem.kind=r")


def test_variants_of_the_scenario_on_the_line():
    assert completions("netsim run walks-against-rounds --variant weight-one-h") == ["weight-one-half"]
    assert completions("netsim run nothing --variant wei") == []


def test_results_folders(here):
    folder = here / "results" / "small" / "20260101"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    for command in ("run private-descent --out", "report", "audit", "attack", "compare", "trace"):
        assert "results/small/20260101" in completions(f"netsim {command} res")


def test_kinds_and_data_sets():
    assert completions("netsim new mine --algorithm dp") == ["dp_admm", "dp_recal", "dpp2"]
    assert completions("netsim data fetch ") == [
        "mnist", "fashion_mnist", "cifar10_cat_dog", "ijcnn1", "covtype", "adult",
    ]  # fmt: skip


def test_a_shell_is_answered_without_loading_what_computes():
    code = (
        "import sys; sys.argv = ['netsim']\n"
        "from scenarios.cli.app import app\n"
        "try: app(prog_name='netsim')\n"
        "finally: print([m for m in ('numpy', 'scipy', 'scenarios.schema', 'netsim.algorithms') if m in sys.modules])"
    )
    env = os.environ | request("netsim run lossy-tap -o links.lo") | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["links.loss=", "links.loss=0.0", "[]"], done.stderr
