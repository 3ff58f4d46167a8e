"""Which command runs a file that a scenario names: those of the table, after a line that says so."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.cli.options import GROUPS, RUNS_CODE

MARK = """
from pathlib import Path
(Path(__file__).parent / "marker").write_text("run")
"""
ALGORITHM = """
from dataclasses import dataclass
from netsim.algorithms.algorithm import InRounds
from netsim.mechanisms import Laplace

@dataclass(frozen=True)
class Mine(InRounds):
    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            noisy = node.privatize(x, Laplace(1.0))
            x = (await node.exchange(x=noisy)).mix("x") - 0.1 * await node.gradient(x)
            node.estimate(x)
"""
SCENARIO = """\
name: foreign
problem: {kind: ridge, data: {name: synthetic, kind: regression, records: 20, dimension: 2}, ridge: 0.5}
topology: {kind: ring, agents: 4}
adversary: {links: all}
algorithms:
  - {kind: python, path: folder/mine.py:Mine, parameters: {rounds: 2}}
attacks: {gradients: false}
"""
LOOKS = {
    "show": "show s.yaml --resolved", "report": "report run --out page.html --tables --into figures",
    "compare": "compare run again --json", "trace": "trace run --summary", "list": "list",
    "new": "new n --from s.yaml", "schema": "schema", "data": "data where", "challenge": "challenge",
    "papers": "papers", "ledger": "ledger --help", "certificate": "certificate --help",
}  # fmt: skip
SAID = "The scenario has code of its own, which is run"


def netsim(folder: Path, words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scenarios.cli.app", *words.split()]
    here = {"PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **here})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario that names a file, and the results of a run of it, which left its mark."""
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "folder").mkdir()
    (folder / "folder" / "mine.py").write_text(ALGORITHM + MARK)
    (folder / "s.yaml").write_text(SCENARIO)
    done = netsim(folder, "run s.yaml --out run --jobs 1")
    assert done.returncode == 0, done.stderr
    assert SAID in done.stderr
    assert str(folder / "folder" / "mine.py") in done.stderr
    (folder / "folder" / "marker").unlink()
    shutil.copytree(folder / "run", folder / "again")
    return folder


def test_the_table_has_every_command():
    assert {*LOOKS, *RUNS_CODE, "lab"} == {name for names in GROUPS.values() for name in names}


OFFERED = [words for words in LOOKS.values() if "--help" not in words]


@pytest.mark.slow
@pytest.mark.parametrize("words", ["check s.yaml --no-code", *OFFERED])
def test_what_only_looks_runs_no_code(place: Path, words: str):
    done = netsim(place, words)
    assert done.returncode == 0, done.stderr
    assert SAID not in done.stderr
    assert not (place / "folder" / "marker").exists()
    if "--no-code" in words:
        assert "folder/mine.py:Mine" in done.stdout


@pytest.mark.slow
def test_what_runs_it_says_so(place: Path):
    done = netsim(place, "check s.yaml")
    assert done.returncode == 0, done.stderr
    assert SAID in done.stderr
    assert (place / "folder" / "marker").exists()
