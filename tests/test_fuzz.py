"""A sample of damaged scenario files; `python -m tests.fuzz scenarios 10000` and `… artefacts 1000` have more."""

import random
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import fuzz

pytestmark = pytest.mark.skipif(not hasattr(fuzz.os, "fork"), reason="a process for each case")


@pytest.mark.slow
def test_damaged_scenarios_end_in_a_line(tmp_path):
    fuzz.warm()
    for k in range(25):
        name, words, prepare = next(fuzz.scenario_cases(random.Random(f"sample/{k}")))
        folder = tmp_path / str(k)
        folder.mkdir()
        prepare(folder)
        outcome = fuzz.run(words, folder)
        assert not outcome.fault, (k, name, words, outcome.words)


@pytest.mark.slow
def test_what_is_looked_for_is_found(tmp_path, monkeypatch):
    """A command that has a traceback, never ends, takes too much, writes elsewhere, or runs what it should not is a
    fault."""
    from scenarios.cli import app

    here = tmp_path / "above" / "case"
    here.mkdir(parents=True)
    (here / fuzz.OWN).write_text("")

    def ends(command, words=(), **limits):
        monkeypatch.setattr(app, "main", command)
        return fuzz.run(words, here, **limits).fault

    def endless():
        while True:
            pass

    assert ends(lambda: print("done")) == ""
    assert "ZeroDivisionError" in ends(lambda: 1 / 0)
    assert ends(endless, seconds=1) == "no end"
    assert "MemoryError" in ends(lambda: len(bytearray(10**9)), memory=10**8)
    assert "limit" in ends(lambda: print("MemoryError: more than is allowed"))
    assert "outside" in ends(lambda: (tmp_path.parent / "elsewhere").write_text("x"))
    assert "outside" in ends(lambda: (here.parent / "case2").write_text("x")), "a name that begins alike"
    arrow = ends(lambda: pq.write_table(pa.table({"a": [1]}), tmp_path / "beside.parquet"))
    assert "outside" in arrow, "written by a library that is not of Python"
    assert "outside" not in ends(lambda: Path("inside").write_text("x"))
    assert ends(lambda: subprocess.run(["true"])).startswith("ran: ")


def test_code_of_a_scenario_is_run_by_commands_that_may_after_a_line(tmp_path, monkeypatch):
    from scenarios.cli import app

    here = tmp_path / "above" / "case"
    here.mkdir(parents=True)
    (here / fuzz.OWN).write_text("")
    said = [f"The scenario has code of its own, which is run: {fuzz.OWN}", ""]
    for words, line, fault in zip(
        ["run", "run", "show", "check --no-code"], [*said, *said], [0, 1, 1, 1], strict=True
    ):

        def command(line=line):
            print(line)
            exec(compile(Path(fuzz.OWN).read_text(), str(here / fuzz.OWN), "exec"))

        monkeypatch.setattr(app, "main", command)
        assert fuzz.run(words.split(), here).fault == f"ran: {fuzz.OWN}" * fault


def test_a_column_of_a_thousand_million_numbers_is_small_where_it_is_made():
    """What the process of all cases holds, each case needs memory for."""
    before = pa.total_allocated_bytes()
    column = fuzz._bomb(10_000)
    assert (len(column), len(column[9_999])) == (10_000, 100_000)
    assert pa.total_allocated_bytes() - before < 2**21
