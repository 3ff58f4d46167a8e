"""A sample of damaged scenario files; `python -m tests.fuzz scenarios 10000` and `… artefacts 1000` have more."""

import random

import pytest

from tests import fuzz

pytestmark = pytest.mark.skipif(not hasattr(fuzz.os, "fork"), reason="a process for each case")


def test_damaged_scenarios_end_in_a_line(tmp_path):
    fuzz.warm()
    for k in range(25):
        name, words, prepare = next(fuzz.scenario_cases(random.Random(f"sample/{k}")))
        folder = tmp_path / str(k)
        folder.mkdir()
        prepare(folder)
        outcome = fuzz.run(words, folder)
        assert not outcome.fault, (k, name, words, outcome.words)


def test_what_is_looked_for_is_found(tmp_path, monkeypatch):
    """A command that has a traceback, never ends, takes too much, or writes elsewhere is a fault."""
    from scenarios.cli import app

    def ends(command, **limits):
        monkeypatch.setattr(app, "main", command)
        return fuzz.run([], tmp_path, **limits).fault

    def endless():
        while True:
            pass

    assert ends(lambda: print("done")) == ""
    assert "ZeroDivisionError" in ends(lambda: 1 / 0)
    assert ends(endless, seconds=1) == "no end"
    assert "MemoryError" in ends(lambda: len(bytearray(10**9)), memory=10**8)
    assert "outside" in ends(lambda: (tmp_path.parent / "elsewhere").write_text("x"))
