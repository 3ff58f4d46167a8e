"""A mistake in the claim of somebody's own algorithm: one line, before anything runs."""

import json

import pytest
from typer.testing import CliRunner

from scenarios.cli.app import app

MINE = """\
from dataclasses import dataclass
from netsim.algorithms import Algorithm
from netsim.claims import Claim
from netsim.mechanisms import Laplace

@dataclass(frozen=True)
class Mine(Algorithm):
    rounds: int = 2
    scale: float = 1.0

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            await node.exchange(x=node.privatize(x, Laplace(self.scale)))
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        return Claim(inverse(self.scale), 0.0, "mine", adjacency, "ℓ1")

def inverse(scale):
    return 1 / scale
"""


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_an_error_in_a_claim_is_one_line(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    done = CliRunner().invoke(app, ["audit", "mine.py:Mine", "-o", "scale=0", "--out", "out", *words])
    assert done.exit_code == 2
    assert "mine.py:21, in inverse(): float division by zero" in done.stderr
    assert "scale" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("division") == 1
    assert not (tmp_path / "out").exists()
    if words:
        assert json.loads(done.stdout)["exit_status"] == 2
