"""The exit status as a gate: noise that is switched off does not pass, and a scenario's baselines decide nothing."""

import json

import pytest

from tests.scenarios.command import cli
from tests.scenarios.small import TINY

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gate.yaml").write_text(TINY)


UNDEFINED = "algorithms[0]={kind: private_gradient_descent, name: mine, rounds: 3, scale: 1.0}"
SILENT, BASELINE = "algorithms[0].scale=0", "algorithms[0].baseline=true"
NOTHING = "nothing is claimed, and nothing is protected: mine is unprotected"


@pytest.mark.few("audit-settings6-1-1-nothing is claimed, and nothing is protected: mine is unprotected")
@pytest.mark.parametrize(
    ("command", "settings", "status", "strict", "reason"),
    [
        ("run", [], 0, 0, ""),
        ("audit", ["audit.search=null", "audit.adjacency.change=0.01"], 0, 0, ""),  # weak, but a bound proves it
        ("audit", [UNDEFINED, BASELINE], 0, 0, ""),
        ("audit", [UNDEFINED], 0, 3, "mine (undefined)"),
        ("run", [UNDEFINED], 0, 3, "mine (undefined)"),
        ("run", ["algorithms=[{kind: gradient_tracking, rounds: 3}]"], 0, 3, "(no claim)"),
        ("audit", [SILENT], 1, 1, NOTHING),
        ("run", [SILENT], 1, 1, NOTHING),
        ("audit", [SILENT, BASELINE], 0, 0, ""),
    ],
)
def test_the_strict_gate_lets_through_what_is_consistent_with_power(command, settings, status, strict, reason):
    words = [word for one in settings for word in ("-o", one)]
    for option, expected in (([], status), (["--strict"], strict)):
        out = ["--out", f"out{len(option)}", "--jobs", "1", "--json"]
        done = cli(command, "gate.yaml", *out, *option, *words)
        printed = json.loads(done.stdout)
        assert done.exit_code == printed["exit_status"] == expected, done.stderr
        assert printed["algorithms"][0]["baseline"] is (BASELINE in settings)
        if expected:
            assert reason in printed["exit_reason"]
