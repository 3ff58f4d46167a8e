"""A witness of somebody's own algorithm replays where the algorithm is not: with the source that it carries."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.stages.witness_file import WitnessFile
from tests.scenarios.command import cli
from tests.scenarios.own_algorithm import MINE

ROOT = Path(__file__).parents[3]
AUDIT = "audit mine.py:TwoExchanges -o rounds=2 --epsilon 0.5 --trials 50 --jobs 1 --out out"


@pytest.fixture(scope="module")
def witness(tmp_path_factory):
    """Of a claim that two files make together, in a folder from which they are gone."""
    folder = tmp_path_factory.mktemp("own")
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    Path("mine.py").write_text(
        MINE.replace("Constant(0.5)", "SCALE").replace("\nfrom data", "\nfrom sizes import SCALE\nfrom data")
    )
    Path("sizes.py").write_text("from netsim.schedules import Constant\n\nSCALE = Constant(0.5)\n")
    cli(*AUDIT.split(), ends=1)
    text = Path("out/witness-twoexchanges.json").read_text()
    patch.undo()
    return text


@pytest.fixture
def elsewhere(witness, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("w.json").write_text(witness)
    return tmp_path


def test_it_carries_every_file_of_the_algorithm_and_its_seal_covers_them(elsewhere):
    file = WitnessFile.read(Path("w.json"))
    assert list(file.code) == ["mine.py", "sizes.py"]
    assert file.intact
    tree = json.loads(Path("w.json").read_text())
    tree["code"]["sizes.py"] = tree["code"]["sizes.py"].replace("0.5", "0.4")
    assert not WitnessFile.model_validate(tree).intact


def test_elsewhere_its_source_is_shown_and_run_on_request_only(elsewhere):
    cli(
        "witness", "w.json", ends=2,
        stderr=("class TwoExchanges", "SCALE = Constant(0.5)", "not run unasked; allowed: --trust-code"),
    )  # fmt: skip
    trusted = cli("witness", "w.json", "--trust-code", "--json", ends=1, stderr="class TwoExchanges")
    assert json.loads(trusted.stdout)["verdict"] in ("refuted", "unprotected")


def test_other_code_of_the_same_name_is_not_taken_for_it(elsewhere):
    Path("mine.py").write_text("raise RuntimeError('was run')")
    refused = cli("witness", "w.json", ends=2)
    assert "was run" not in refused.output


def test_code_that_hides_from_a_terminal_is_shown_as_it_is(elsewhere):
    tree = json.loads(Path("w.json").read_text())
    tree["code"] = {"mine.py": "x = 1  # \x1b[8mhidden\u202e\n"}
    Path("w.json").write_text(json.dumps(tree))
    printed = cli("witness", "w.json").stderr
    assert r"x = 1  # \x1b[8mhidden\u202e" in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize("name", ["../mine.py", "/mine.py", "mine.sh"])
def test_names_that_lead_elsewhere_are_refused(elsewhere, name):
    tree = json.loads(Path("w.json").read_text())
    tree["code"] = {name: "pass"}
    Path("w.json").write_text(json.dumps(tree))
    cli("witness", "w.json", "--trust-code", ends=2, stderr="no file of Python beside the algorithm")


def test_the_checker_proves_it_of_the_code_that_it_carries_here_and_alone(elsewhere):
    pytest.importorskip("attacks.audit.check_witness", reason="needs the extra `proof`")
    cli("witness", "w.json", "--prove", ends=2)
    done = cli(
        "witness", "w.json", "--prove", "--trust-code", "--out", "proof.json", ends=1,
        stderr="--algorithm proof-code/mine.py",
    )  # fmt: skip
    env = {"PYTHONPATH": str(ROOT)}
    for script in ("check_witness.py", "check_set.py"):
        command = [sys.executable, str(ROOT / "attacks/audit" / script)]
        alone = subprocess.run(
            [*command, "proof.json", "--algorithm", "proof-code/mine.py"], env=env, capture_output=True, text=True
        )
        assert alone.stdout.replace("Proven. ", "Proven: ").split() == done.stdout.split()
        usage = subprocess.run([*command, "--help"], env=env, capture_output=True, text=True)
        assert (usage.returncode, usage.stderr) == (0, "")
        assert "FILE [--algorithm FILE.py]" in usage.stdout
