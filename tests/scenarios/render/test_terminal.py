"""Agents that a topology's file names are named on the terminal, on the page, in results and in traces."""

import errno
import io
import json

import pytest

from scenarios.render import terminal
from scenarios.render.tables import Column, fitted
from scenarios.render.terminal import named
from scenarios.results.folder import read_results
from tests.scenarios.command import cli

SCENARIO = """\
name: cities
problem: {kind: ridge, data: {name: synthetic, kind: regression, records: 20, dimension: 2}, ridge: 0.5}
topology: {kind: file, path: cities.csv}
algorithms:
  - {kind: private_gradient_descent, name: mine, rounds: 2, clip: {bound: 1.0}, scale: 0.1}
attacks: {gradients: true}
"""
LINKS = "from,to\nLima,Oslo\nOslo,<Bern>\n<Bern>,Lima\n"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    place = tmp_path_factory.mktemp("named")
    (place / "cities.csv").write_text(LINKS)
    (place / "cities.yaml").write_text(SCENARIO)
    out = cli("run", place / "cities.yaml", "--out", place / "out", ends=0)
    return place / "out", out.output


def test_a_name_stands_behind_its_number_once():
    text = "agent 1, Agent 0's and agents 1; agent 7, agent 10"
    assert named(text, ("Lima", "Oslo")) == "agent 1 (Oslo), Agent 0 (Lima)'s and agents 1; agent 7, agent 10"
    assert named(named(text, ("Lima", "Oslo")), ("Lima", "Oslo")) == named(text, ("Lima", "Oslo"))
    assert named(text, ()) == text


def test_results_terminal_and_page_have_the_names(ran):
    folder, output = ran
    assert read_results(folder).network.names == ("Lima", "Oslo", "<Bern>")
    assert json.loads((folder / "manifest.json").read_text())["names"] == ["Lima", "Oslo", "<Bern>"]
    assert "0 Lima, 1 Oslo, 2 <Bern>" in output
    page = (folder / "report.html").read_text()
    assert 'aria-label="Agent 1 (Oslo)' in page
    assert "Agent 2 (&lt;Bern&gt;)" in page
    assert "<Bern>" not in page.partition("<script")[0]


def test_a_trace_has_the_names(ran):
    cli("trace", ran[0], env={"COLUMNS": "120"}, output=("Oslo", "<Bern>"))
    cli("trace", ran[0], "--summary", env={"COLUMNS": "120"}, output="Lima → Oslo")
    lines = cli("trace", ran[0], "--jsonl", "--limit", "1")
    row = json.loads(lines.stdout)
    assert row["from"] == ["Lima", "Oslo", "<Bern>"][row["sender"]]


def test_names_of_agents_are_those_of_one_table():
    """Nor of the next command in one process, whose agents have none."""
    with terminal.console.naming(("left", "right")), terminal.console.capture() as inside:
        terminal.line("agent 1")
    with terminal.console.capture() as after:
        terminal.line("agent 1")
    assert (inside.get(), after.get()) == ("agent 1 (right)\n", "agent 1\n")


@pytest.mark.parametrize(
    ("called", "found", "says"),
    [
        ("HERE/.venv/bin/netsim", None, ".venv/bin/netsim"),
        ("HERE/.venv/bin/netsim", "/usr/bin/netsim", ".venv/bin/netsim"),
        ("/opt/a b/netsim", None, "'/opt/a b/netsim'"), ("HERE/.venv/bin/netsim", "HERE/.venv/bin/netsim", "netsim"),
        ("/lib/netsim/__main__.py", None, ".venv/bin/python -m netsim"), ("/usr/bin/pytest", None, "netsim"),
    ],
)  # fmt: skip
def test_a_command_to_repeat_is_called_as_it_can_be_here(called, found, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(terminal.sys, "argv", [called.replace("HERE", str(tmp_path))])
    monkeypatch.setattr(terminal.sys, "executable", str(tmp_path / ".venv/bin/python"))
    monkeypatch.setattr(terminal.shutil, "which", lambda _: found and found.replace("HERE", str(tmp_path)))
    assert terminal.program() == says
    with terminal.problems.capture() as said:
        terminal.interrupted("all is kept", "netsim audit netsim.py")
        terminal.interrupted("all is kept", "netsim audit endless.py", anew=True)
    assert f"Continue with: {says} audit netsim.py\n" in said.get()
    assert f"Begin anew with: {says} audit endless.py\n" in said.get()
    cli("run", ends=2, stderr=f"Its options and an example: {says} run --help\n")


def test_lines_that_a_program_reads_are_not_filled_up():
    out = io.StringIO()
    console = type(terminal.console)(file=out, width=60)
    console.print(fitted([Column("a", ["1", "23"])], console))
    console.print("  a sentence \n in two")
    assert [line for line in out.getvalue().splitlines() if line != line.rstrip()] == []
    assert out.getvalue().endswith("  a sentence\n in two\n")


def test_a_read_only_file_system_has_no_room_to_make(capsys):
    terminal.print_error(OSError(errno.EROFS, "Read-only file system", "x"))
    said = capsys.readouterr().err
    assert "the file system is read-only: nothing can be written there; write elsewhere" in said
    assert "make room" not in said
    assert "Traceback" not in said
