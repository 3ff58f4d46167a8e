"""The import graph is the threat model: the rules hold, and they catch what they are for."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.house import circles, graph

ROOT = Path(__file__).parents[2]


def lint(folder: Path) -> subprocess.CompletedProcess:
    code = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports_command as c; c()"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache", "--config", "pyproject.toml"], cwd=folder, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def copy(tmp_path):
    import shutil

    for package in ("netsim", "attacks", "scenarios"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_rules_hold(copy):
    done = lint(copy)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.few("scenarios/files/document.py-import scenarios.schema.spec")
@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("netsim/clock.py", "import attacks.replay"),
        ("attacks/replay/__init__.py", "import scenarios.stages.runner"),
        ("attacks/closed_form/recal.py", "from netsim.truth import Truth"),
        ("attacks/audit/loss/exact.py", "from netsim.problems import Problem"),
        ("attacks/reconstruction/one_record.py", "import netsim.simulation"),
        ("attacks/reconstruction/membership.py", "import attacks.score"),
        ("scenarios/files/document.py", "import scenarios.schema.spec"),
        ("scenarios/build/problem.py", "import scenarios.results.run"),
        ("scenarios/results/run.py", "def f():\n    import scenarios.render.terminal"),
    ],
)
def test_a_breach_is_caught(copy, file, line):
    path = copy / file
    path.write_text(path.read_text() + f"\n{line}\n")
    assert lint(copy).returncode != 0


@pytest.mark.slow
def test_no_modules_import_one_another_in_a_circle():
    """Imports under `TYPE_CHECKING` and inside functions included."""
    assert circles(graph()) == []
