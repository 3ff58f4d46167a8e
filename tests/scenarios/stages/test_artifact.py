"""An artifact repeats its verdicts by itself: in a folder of its own, with the code and data that it needs."""

import json
import subprocess
import sys

import pytest

from scenarios.stages.outputs import take_files
from tests.scenarios.command import cli

OWN = """\
from dataclasses import dataclass

from helper import STEP
from netsim import Algorithm, Laplace


@dataclass(frozen=True)
class Mine(Algorithm):
    rounds: int = 2

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            sent = node.privatize(await node.gradient(x), Laplace(2.0))
            x = x - STEP * (await node.exchange(g=sent)).mix("g")
            node.estimate(x)
"""
SCENARIO = """\
name: paper
problem: {kind: ridge, data: {name: synthetic, kind: regression, records: 20, dimension: 2}, ridge: 0.5}
topology: {kind: file, path: links.csv}
algorithms: [{kind: python, path: "own.py:Mine", claim: {epsilon: 0.01}}]
attacks: {gradients: false}
audit: {adjacency: {change: 1.0}, trials: 50, chunk: 50, search: null}
"""


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    place = tmp_path_factory.mktemp("paper")
    (place / "own.py").write_text(OWN)
    (place / "helper.py").write_text("STEP = 0.1\n")
    (place / "links.csv").write_text("0,1\n1,2\n2,0\n")
    (place / "paper.yaml").write_text(SCENARIO)
    cli("run", place / "paper.yaml", "--out", place / "run", ends=1)
    cli("artifact", place / "run", "--out", place / "artifact", ends=0)
    for name in ("own.py", "helper.py", "links.csv"):
        (place / name).unlink()
    return place / "artifact"


def repeated(artifact):
    command = [sys.executable, "run.py"]
    return subprocess.run(command, cwd=artifact, env={"PATH": ""}, capture_output=True, text=True, check=False)


def test_it_repeats_every_verdict_and_number(artifact):
    assert not [name for name in (artifact / "scenario.yaml").read_text().split() if str(artifact.parent) in name]
    expected = json.loads((artifact / "expected.json").read_text())
    assert [one["verdict"] for one in expected.values()] == ["refuted"]
    assert "numpy==" in (artifact / "requirements.txt").read_text()
    done = repeated(artifact)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "as expected, refuted; every number to the last digit" in done.stdout
    expected = {name: one | {"verdict": "proven"} for name, one in expected.items()}
    (artifact / "expected.json").write_text(json.dumps(expected))
    assert repeated(artifact).returncode == 1


def test_files_of_one_name_stay_apart(tmp_path):
    tree = {}
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "links.csv").write_text(name)
        tree[name] = {"path": str(tmp_path / name / "links.csv")}
    (tmp_path / "files").mkdir()
    take_files(tree, tmp_path / "files")
    assert [(tmp_path / tree[name]["path"]).read_text() for name in ("a", "b")] == ["a", "b"]


def test_nothing_is_written_over(artifact):
    cli("artifact", artifact.parent / "run", "--out", artifact, ends=2, output="not empty")
