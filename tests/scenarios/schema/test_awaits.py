"""A forgotten `await` in somebody's own algorithm is told with its line, as the last thing that is said."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from netsim.own import await_hint
from scenarios.schema import own_code as owncode
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.scenarios.command import cli

PUSH_SUM = """\
from dataclasses import dataclass

from netsim.algorithms import Algorithm
from netsim.mechanisms import Laplace
from netsim.node import Node


@dataclass(frozen=True)
class PushSum(Algorithm):
    rounds: int = 3

    async def run(self, node: Node) -> None:
        s, w = node.zeros(), node.zeros() + 1.0
        for k in range(self.rounds):
            told = node.privatize(s, Laplace(2.0))
            heard = await node.exchange(s=told, w=w)
            s = heard.mix("s")
            w = heard.mix("w")
            z = s / w
            s = s - (
                0.3 * 0.9**k
                * await node.gradient(z)
            )
            node.estimate(z)
"""
YAML = """
name: own
topology: {kind: ring, agents: 4}
problem: {kind: logistic, data: {name: synthetic, records: 24, dimension: 3, norm_bound: 1.0}, ridge: 0.5}
algorithms:
  - {kind: python, path: "mine.py:PushSum"}
"""
QUESTION = "is an `await` missing?"
FORGOTTEN = [
    ("* await node.gradient", "* node.gradient", f"mine.py:22: {QUESTION} node.gradient(...) is a coroutine"),
    ("= await node.exchange", "= node.exchange", f"mine.py:16: {QUESTION} node.exchange(...) is a coroutine"),
]
pytestmark = [
    pytest.mark.usefixtures("undrawn"),
    pytest.mark.filterwarnings(
        "ignore:coroutine .* was never awaited", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text(YAML)
    (tmp_path / "mine.py").write_text(PUSH_SUM)
    return tmp_path


@pytest.mark.parametrize(("line", "without", "said"), FORGOTTEN)
@pytest.mark.parametrize("words", [["run", "own.yaml", "--out", "out"], ["audit", "mine.py:PushSum", "--out", "out"]])
def test_a_forgotten_await_is_the_last_thing_said(here, words, line, without, said):
    (here / "mine.py").write_text(PUSH_SUM.replace(line, without))
    done = cli(*words, env={"COLUMNS": "200"}, ends=70)
    assert done.stderr.splitlines()[-1] == said
    assert str(Path("out", "report.html")) in done.stderr
    error = json.loads((here / "out" / "results.json").read_text())["error"]
    assert error["hint"] == said


@pytest.mark.slow
def test_python_says_nothing_of_its_own(here):
    """In a process of its own, which finds coroutines that nobody awaited when it ends."""
    line, without, said = FORGOTTEN[1]
    (here / "mine.py").write_text(PUSH_SUM.replace(line, without))
    words = [sys.executable, "-m", "scenarios.cli.app", "run", "own.yaml", "--out", "out"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert done.stderr.count(said) == 1
    assert "never awaited" not in done.stderr


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("z = help_(node) + 1", "{0}:7: is an `await` missing? help_(...) is a coroutine"),
        ("z = [help_][0](node)\n        z.mix()", "{0}:8: is an `await` missing? what is used there is a coroutine"),
        ("z = None + 1", ""),
        ("raise ValueError('coroutine')", ""),
    ],
)
def test_only_errors_about_a_coroutine_have_the_hint(tmp_path, body, said):
    text = f"""\
from netsim.algorithms import Algorithm
async def help_(node):
    return 1

class Mine(Algorithm):
    async def run(self, node):
        {body}
"""
    file = tmp_path / "helped.py"
    file.write_text(text)
    made = owncode.load(f"{file}:Mine").algorithm()
    with pytest.raises((TypeError, ValueError, AttributeError)) as error:
        made.run(None).send(None)
    assert await_hint(error.value) == said.format("helped.py")


def test_an_error_in_no_file_of_the_user_has_none():
    assert await_hint(TypeError("unsupported operand type(s) for *: 'float' and 'coroutine'")) == ""


@pytest.mark.slow
def test_probing_with_zeros_prints_no_warnings(here):
    """The division by a weight that is 1 in the run is one by 0 where impulses are read."""
    text = YAML + "audit: {agent: 1, trials: 100, chunk: 50}\n"
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "divide by zero", RuntimeWarning)
        results = run_scenario(parse(text, "own.yaml"), Path("out"), command="test", page=False)
    assert results.algorithms[0].audit
