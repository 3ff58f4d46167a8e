"""All commands: help that teaches and its page, exit codes, and one document for machines."""

import json
import shlex
import subprocess
import sys

import pytest
from typer.main import get_command

import netsim
from scenarios.cli import app as commands_of
from scenarios.cli.app import app
from scenarios.cli.options import GROUPS
from scenarios.cli.reference import PAGES
from tests.scenarios.command import cli
from tests.scenarios.small import SMALL

LEAKY = [line for line in SMALL.splitlines(keepends=True) if "name: plain" not in line and "name: told" not in line]
QUICK = (
    "".join(LEAKY)
    .replace("attacks: {images: true}\n", "")
    .replace("trials: 100, chunk: 100", "trials: 60, chunk: 60")
)


def leaves(command, *words):
    """Every command that can be run, by the words that call it."""
    inner = getattr(command, "commands", {})
    found = [leaves(inner[name], *words, name) for name in inner]
    return {key: value for one in found for key, value in one.items()} if inner else {words: command}


COMMANDS = leaves(get_command(app))


@pytest.mark.parametrize("words", list(COMMANDS), ids=" ".join)
def test_every_command_has_its_section_an_exit_status_and_an_example_that_its_parser_takes(words):
    command = COMMANDS[words]
    section = PAGES["commands"]().split(f"\n## `{' '.join(words)}`\n")[1].split("\n## ")[0]
    assert command.help.splitlines()[0] in section
    for one in command.params:
        if one.param_type_name == "option" and not one.hidden:
            assert all(f"`{name}`" in section for name in one.opts)
            assert one.help, f"{words} {one.opts}: an option without a word"
    assert "Exit status: 0 " in command.help
    examples = [
        one for part in command.epilog.split("\n\n") if (one := part.removeprefix("Example: ")).startswith("netsim ")
    ]
    assert examples
    for one in examples:
        said = shlex.split(one.partition(" > ")[0])[1:]
        assert tuple(said[: len(words)]) == words
        command.make_context(words[-1], said[len(words) :], resilient_parsing=False)


def test_the_help_is_in_groups():
    text = cli("--help").output
    places = [text.index(group) for group in GROUPS]
    assert places == sorted(places)
    assert "--install-completion" in text


@pytest.mark.slow
def test_run_as_json_is_one_document_with_verdicts_and_status_1(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leaky.yaml").write_text(QUICK)
    done = cli("run", "leaky.yaml", "--out", "out", "--jobs", "1", "--json")
    printed = json.loads(done.stdout)
    assert done.exit_code == printed["exit_status"] == 1
    (row,) = printed["algorithms"]
    assert (row["verdict"], row["epsilon_exact"]["lower"], row["claim_broken"]) == ("unprotected", "inf", True)
    assert row["theorem"] == "DP-RECAL, Theorem 4"
    assert "leaky is unprotected" in printed["exit_reason"]
    assert (tmp_path / printed["report"]).exists()
    assert "running" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["check", "--help"], "check [OPTIONS] SCENARIO "),
        (["compare", "--help"], "compare [OPTIONS] FOLDER… "),
        (["list", "--help"], "list [OPTIONS] [KIND] "),
        (["check"], "Missing argument SCENARIO."),
        (["compare"], "Missing argument FOLDER."),
    ],
)
def test_an_argument_has_the_name_of_the_docs(words, says):
    assert says in " ".join(cli(*words).output.split())


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["run", "nothing", "--json"], 2),
        (["check", "private-descent", "-o", "links.loss=2", "--json"], 2),
        (["check", "private-descent", "--json"], 0),
    ],
)
def test_an_error_is_a_document_too(words, status):
    done = cli(*words)
    printed = json.loads(done.stdout)
    assert done.exit_code == printed["exit_status"] == status
    assert ("error" in printed) == (status == 2)


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["run", "--json"], "SCENARIO"), (["run", "private-descent", "--jsn", "--json"], "--jsn"),
        (["run", "private-descent", "--jobs", "many", "--json"], "--jobs"), (["nonsense", "--json"], "command line"),
        (["list", "nonsense", "--json"], "KIND"), (["compare", "nothing", "neither", "--json"], "runs"),
    ],
)  # fmt: skip
def test_a_mistake_of_usage_is_the_same_document(words, field):
    done = cli(*words)
    printed = json.loads(done.stdout)
    assert done.exit_code == printed["exit_status"] == 2
    assert printed["error"]["message"] == printed["exit_reason"]
    (mistake,) = printed["error"]["mistakes"]
    assert set(mistake) == {"file", "line", "field", "value", "problem", "allowed"}
    assert field in (mistake["field"], "runs")
    assert done.stderr
    assert "Value error" not in done.stderr


def test_a_mistake_of_usage_is_no_document_where_none_was_asked_for():
    done = cli("run", "--jsn")
    assert (done.exit_code, done.stdout) == (2, "")


def test_a_defect_of_a_command_is_status_70_and_no_finding(monkeypatch, capsys):
    def broken():
        raise ZeroDivisionError("of its own")

    monkeypatch.setattr(commands_of, "app", broken)
    with pytest.raises(SystemExit) as ended:
        commands_of.main()
    assert ended.value.code == 70
    assert "Traceback" in capsys.readouterr().err


def test_what_the_working_folder_calls_its_own_files_is_not_taken_for_netsim(tmp_path):
    (tmp_path / "scenarios.py").write_text("raise RuntimeError('not this one')")
    done = subprocess.run(
        [sys.executable, "-m", "netsim", "--version"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"netsim {netsim.__version__}, ")
