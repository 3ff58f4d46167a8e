"""Which code an algorithm of somebody's own is: every file of the user's own that decides what it does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from netsim.errors import ScenarioError
from scenarios.build.duration import Silent
from scenarios.results.folder import RunFolder
from scenarios.schema import own_code as owncode
from scenarios.schema.load import parse
from scenarios.stages.runner import checked, run_scenario
from scenarios.stages.worlds import AuditOptions
from scenarios.stages.worst_pair import pair_for
from tests.scenarios.own_algorithm import MINE

CODE = """
from dataclasses import dataclass
from netsim.algorithms import Algorithm
from netsim.mechanisms import Laplace
{at_the_top}

@dataclass(frozen=True)
class Mine(Algorithm):
    rounds: int

    async def run(self, node):
        {within}
        x = node.zeros()
        for _ in range(self.rounds):
            told = node.privatize(x, Laplace({scale}))
            heard = await node.exchange(x=told)
            x = heard.mix("x") - 0.3 * await node.gradient(x)
            node.estimate(x)
"""
YAML = """
name: own
topology: {kind: ring, agents: 4}
problem: {kind: logistic, data: {name: synthetic, records: 24, dimension: 3, norm_bound: 1.0}, ridge: 0.5}
algorithms:
  - {kind: python, path: "mine.py:Mine", parameters: {rounds: 2}, claim: {epsilon: 3.0}}
attacks: {gradients: false}
audit: {agent: 1, trials: 50, chunk: 50}
"""
WAYS = {
    "a number": ("from helper_scale import SCALE", "pass", "SCALE"),
    "within a function": ("", "from helper_scale import SCALE", "SCALE"),
    "a module": ("import helper_scale", "pass", "helper_scale.SCALE"),
    "through another": ("from helper_between import SCALE", "pass", "SCALE"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "helper_scale.py").write_text("SCALE = 8.0\n")
    (tmp_path / "helper_between.py").write_text("from helper_scale import SCALE\n")
    yield tmp_path
    for name in ("helper_scale", "helper_between", "helpers", "helpers.deep", "helpers.deep.mine", "helpers.numbers"):
        sys.modules.pop(name, None)


def written(way):
    at_the_top, within, scale = WAYS[way]
    return CODE.format(at_the_top=at_the_top, within=within, scale=scale)


@pytest.mark.parametrize("way", WAYS)
def test_a_number_in_a_file_beside_it_is_of_the_code_however_it_is_imported(folder, way):
    (folder / "mine.py").write_text(written(way))
    first = owncode.load("mine.py").sha256
    assert owncode.load("mine.py").sha256 == first
    (folder / "helper_scale.py").write_text("SCALE = 0.05\n")
    assert owncode.load("mine.py").sha256 != first
    (folder / "helper_scale.py").write_text("SCALE = 8.0\n")
    assert owncode.load("mine.py").sha256 == first


def test_what_was_changed_beside_it_is_what_is_run(folder):
    (folder / "mine.py").write_text(written("through another"))
    assert vars(sys.modules[owncode.load("mine.py").algorithm.__module__])["SCALE"] == 8.0
    (folder / "helper_scale.py").write_text("SCALE = 0.05\n")
    assert vars(sys.modules[owncode.load("mine.py").algorithm.__module__])["SCALE"] == 0.05


def test_a_module_of_a_package_has_the_code_that_it_imports_from_above_itself(folder):
    inner = folder / "helpers" / "deep"
    inner.mkdir(parents=True)
    (folder / "helpers" / "__init__.py").write_text("")
    (inner / "__init__.py").write_text("")
    (folder / "helpers" / "numbers.py").write_text("SCALE = 8.0\n")
    (inner / "mine.py").write_text(
        CODE.format(at_the_top="from ..numbers import SCALE", within="pass", scale="SCALE")
    )
    assert owncode.load("helpers.deep.mine:Mine").sha256


@pytest.mark.parametrize("place", ["mine.py", "bare.deep.mine:Mine"])
def test_packages_without_an_init_are_found_before_they_are_loaded(folder, place):
    inner = folder / "bare" / "deep"
    inner.mkdir(parents=True)
    (inner / "numbers.py").write_text("SCALE = 8.0\n")
    text = CODE.format(at_the_top="SCALE = 8.0", within="from bare.deep.numbers import SCALE", scale="SCALE")
    for file in (folder / "mine.py", inner / "mine.py"):
        file.write_text(text)
    first = owncode.load(place).sha256
    (inner / "numbers.py").write_text("SCALE = 0.05\n")
    if place == "mine.py":  # a module is loaded once
        assert owncode.load(place).sha256 != first
    assert inner / "numbers.py" in owncode.sources(folder / "mine.py", text.encode())


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("helper_runs.helper_runs", "helper_runs.helper_runs"),
        ("helpers.missing.mine", "helpers.missing"),
        ("nowhere_at_all.mine", "nowhere_at_all"),
    ],
)
def test_a_module_that_is_not_there_runs_nothing_of_what_it_would_be_in(folder, name, missing, capsys):
    (folder / "helpers").mkdir()
    for file in (folder / "helper_runs.py", folder / "helpers" / "__init__.py"):
        file.write_text("from pathlib import Path\nPath('it-ran').write_text('')\n")
    with pytest.raises(ScenarioError, match=f"no module named '{missing}'"):
        owncode.load(f"{name}:Mine")
    assert not (folder / "it-ran").exists()
    assert "is run" not in capsys.readouterr().err


def test_files_that_are_not_the_users_own_are_not_of_the_code(folder):
    (folder / "mine.py").write_text("import json, numpy, netsim\n" + written("a number"))
    found = owncode.sources(folder / "mine.py", (folder / "mine.py").read_bytes())
    assert {file.name for file in found} == {"mine.py", "helper_scale.py"}


@pytest.mark.slow
def test_an_audit_in_the_folder_of_other_code_is_refused(folder):
    (folder / "mine.py").write_text(written("a number"))
    run_scenario(parse(YAML), folder / "out", page=False)
    RunFolder.open(folder / "out").check_code("Mine")
    (folder / "helper_scale.py").write_text("SCALE = 0.05\n")
    with pytest.raises(ScenarioError, match="is another one"):
        RunFolder.open(folder / "out").check_code("Mine")


def test_evidence_is_of_the_code_that_was_run_though_its_file_was_changed_since(folder):
    (folder / "mine.py").write_text(written("a number"))
    before, experiment = owncode.load("mine.py").sha256, checked(parse(YAML))
    (folder / "mine.py").write_text(written("a number").replace("0.3", "0.4"))
    subject = experiment.subjects[0]
    claim = subject.simulation.claim(experiment.adjacency, 2, 0.0)
    pair, _ = pair_for(experiment, subject, claim, 2, Silent())
    assert json.loads(AuditOptions(experiment.scenario, subject, pair, claim).fingerprint)["own"] == before
    assert owncode.load("mine.py").sha256 != before


def test_files_called_as_the_packages_of_netsim_take_no_ones_place(tmp_path):
    """In a process that has loaded nothing yet: a worker of joblib has the path, and imports by it."""
    for name in owncode.OURS:
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')")
    (tmp_path / "mine.py").write_text(MINE)
    code = (
        "import sys; from scenarios.schema.own_code import load; load('mine.py'); path = list(sys.path);"
        "[sys.modules.pop(name) for name in list(sys.modules) if name.split('.')[0] in ('netsim', 'attacks')];"
        "import netsim.errors, attacks.audit.audit; print('both')"
    )
    here = os.environ | {"PYTHONPATH": str(Path(owncode.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, env=here, capture_output=True, text=True)
    assert done.stdout == "both\n", done.stderr
