"""`netsim new`: what it writes can be run as it is, and nothing is overwritten."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.cli.catalogue import models
from scenarios.schema.load import load_scenario
from scenarios.stages.runner import checked
from tests.scenarios.command import cli

pytestmark = pytest.mark.usefixtures("undrawn")
ROOT = Path(__file__).parents[3]
OWN = [kind for kind, model in models().items() if "path" not in model.model_fields]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", OWN)
def test_every_algorithm_has_a_start_that_can_be_run(kind):
    cli("new", "one", "--algorithm", kind, ends=0)
    experiment = checked(load_scenario("one.yaml"))
    assert experiment.subjects[0].spec.kind == kind


def test_an_extension_is_the_base_but_for_its_name():
    cli("new", "mine", "--from", "lossy-tap", ends=0)
    found, base = load_scenario("mine.yaml").scenario, load_scenario("lossy-tap").scenario
    changed = ("name", "title", "seed")
    assert found.model_dump(exclude=set(changed)) == base.model_dump(exclude=set(changed))


@pytest.mark.slow
def test_an_algorithm_of_ones_own_is_audited_at_once(here):
    made = cli("new", "my-descent", "--python", ends=0)
    assert 0 < made.output.index("edit my_descent.py") < made.output.index("python audit_my_descent.py")
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    script = [sys.executable, "audit_my_descent.py"]
    sound = subprocess.run(script, cwd=here, env=env, capture_output=True, text=True, timeout=120)
    assert sound.returncode == 0, sound.stderr
    assert sound.stdout.startswith("proven: ")
    code = (here / "my_descent.py").read_text()
    (here / "my_descent.py").write_text(code.replace("Laplace(self.scale))", "Laplace(self.scale / 40))"))
    broken = subprocess.run(script, cwd=here, env=env, capture_output=True, text=True, timeout=120)
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert broken.stdout.startswith("refuted: ")


@pytest.mark.parametrize(
    "words", [["first"], ["First Try"], ["x", "--algorithm", "nothing"], ["x", "--from", "nothing"]]
)
def test_nothing_is_overwritten_and_wrong_input_is_one_line(here, words):
    (here / "first.yaml").write_text("mine")
    done = cli("new", *words, ends=2)
    assert done.stderr.count("\n") == 1
    assert [file.name for file in here.iterdir()] == ["first.yaml"]
    assert (here / "first.yaml").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["class", "--python"], "a word of Python itself"),
        (["none", "--python"], "a word of Python itself"),
        (
            ["numpy", "--python"],
            "numpy.py would be imported in place of the module numpy; allowed: another name, such",
        ),
        (["scenarios", "--python"], "in place of the module scenarios"),
        (["random", "--python"], "in place of the module random; allowed: another name, such as my-random"),
        (["node", "--python"], "the class would be Node, a name that its file imports"),
        (["a", "--python", "--algorithm", "recal"], "one of the two"),
        (["a", "--python", "--from", "lossy-tap"], "one of the two"),
        (["a", "--from", "lossy-tap", "--algorithm", "recal"], "one of the two"),
    ],
)
def test_a_taken_name_and_options_of_which_one_means_nothing_are_refused(here, words, why):
    done = cli("new", *words)
    assert (done.exit_code, list(here.iterdir())) == (2, [])
    assert why in done.stderr


@pytest.mark.slow
def test_the_start_is_an_algorithm_whose_claim_can_be_tested(here):
    """As written, with no setting changed: the claim is neither vacuous nor broken, and proven in its game."""
    cli("new", "first", ends=0)
    done = cli("run", "first.yaml", "--out", "out", "--jobs", "1", "--json")
    (row,) = json.loads(done.stdout)["algorithms"]
    assert (done.exit_code, row["verdict"], row["epsilon_claimed"]) == (0, "proven", pytest.approx(2.0))
    text = (here / "first.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=file:")
    assert "epsilon: 2.0}   # the noise at which" in text
