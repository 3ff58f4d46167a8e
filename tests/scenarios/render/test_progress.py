"""Stages without a terminal: a name is said as it is, whatever markup it looks like."""

import io
import math
import re
import time
from contextlib import suppress

import pytest
from rich.console import Console

from scenarios.render import progress
from scenarios.render.progress import Bars
from scenarios.schema.load import parse
from scenarios.stages import beside
from tests.scenarios.files.mistaken import GOOD


@pytest.mark.parametrize("name", ["[/]", "[bold]x", "a [/red] b", "[0]"])
def test_a_stage_is_told_as_it_is(name):
    out = io.StringIO()
    with Bars(Console(file=out)) as bars:
        bars.begin(f"{name}: running", 1)
        bars.say(name)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [f"· {name}: running", f"    {name}"]


@pytest.mark.parametrize(
    ("sign", "code"), [("\\x1b[31m", "001B"), ("\\a", "0007"), ("\\n", "000A"), ("\\x9b", "009B")]
)
def test_what_acts_on_a_terminal_is_refused_in_titles_and_names(sign, code):
    why = rf"has a character that is not printable: U\+{code}"
    with pytest.raises(Exception, match=rf"title = .*: {why}"):
        parse(f'{GOOD}title: "{sign}"\n')
    with pytest.raises(Exception, match=rf"algorithms\[0\]\.name = .*: {why}"):
        parse(GOOD, settings=[f'algorithms[0].name="{sign}"'])


def test_a_description_may_have_lines_but_no_escapes():
    assert parse(f'{GOOD}description: "one\\ntwo"\n').scenario.description == "one\ntwo"
    with pytest.raises(Exception, match=r"U\+001B"):
        parse(f'{GOOD}description: "one\\e[2J"\n')


def silent(monkeypatch, stage, done):
    """Lines of a stage of 40 steps that is silent after so many are done."""
    monkeypatch.setattr(progress, "SILENCE", 0.05)
    out = io.StringIO()
    with Bars(Console(file=out, width=80)) as bars:
        bars.begin(stage, 40)
        bars.advance(done)
        time.sleep(0.5)
    return out.getvalue().splitlines()


def test_a_stage_that_is_silent_says_that_it_goes_on(monkeypatch):
    lines = silent(monkeypatch, "[b]: auditing", 10)
    assert lines[0] == "· [b]: auditing"
    assert lines[1].strip() == "… [b]: auditing: 10 of 40, 1 s"
    assert 3 <= len(lines) <= 12


def test_a_stage_whose_steps_are_all_done_says_what_takes_its_time(monkeypatch):
    assert silent(monkeypatch, "auditing", 40)[1].strip() == "… auditing: 40 of 40, evaluating, 1 s"


def test_work_in_other_processes_is_shown_within_a_stage(monkeypatch):
    monkeypatch.setattr(progress, "SILENCE", 0.05)
    monkeypatch.setattr(beside, "EVERY", 0.01)
    for terminal in (False, True):
        out = io.StringIO()
        with Bars(Console(file=out, width=80, force_terminal=terminal)) as bars, beside.followed(bars) as notes:
            bars.begin("2 variants", 2)
            one, other = (beside.Noted(notes / name, name) for name in ("first", "second"))
            one.begin("auditing", 40)
            one.advance(10)
            other.begin("running", 1)
            time.sleep(0.5)
            one.over()
            time.sleep(0.3)
        text = out.getvalue()
        assert "first: auditing: 10 of 40" in text
        assert terminal or " s; first: auditing: 10 of 40 (and 1 more)\n" in text  # a line, however long
        assert terminal or " s; second: running\n" in text
    assert not notes.exists()
    one.begin("writing", 1)  # after an interruption there is no place to say it


@pytest.mark.parametrize(
    ("done", "seconds", "after", "left"),
    [
        (0, 100.0, 40.0, "60 s left"),  # as was estimated
        (0, 30.0, 40.0, ""),
        (0, math.nan, 40.0, ""),
        (2, 1000.0, 0.0, "80 s left"),  # as long as those that are done took: 20 s each
        (2, math.nan, 10.0, "70 s left"),
        (2, math.nan, 90.0, ""),
        (6, math.nan, 1.0, ""),
    ],
)
@pytest.mark.parametrize("terminal", [False, True])
def test_how_long_a_stage_still_takes_is_said(monkeypatch, terminal, done, seconds, after, left):
    monkeypatch.setattr(progress, "SILENCE", 0.05)
    now, out = 0.0, io.StringIO()
    with Bars(Console(file=out, width=80, force_terminal=terminal, get_time=lambda: now)) as bars:
        bars.begin("6 points", 6, seconds)
        if done:
            now = 40.0
            bars.advance(done)
        now += after
        time.sleep(0.2)  # until the terminal shows that time
        out.truncate(out.seek(0))
        time.sleep(0.3)
    said = re.findall(r"\d+ (?:s|min) left", out.getvalue())
    assert said == [left] * len(said)
    assert bool(said) == bool(left)


def test_a_stage_that_is_broken_off_gets_no_tick():
    out = io.StringIO()
    with suppress(ZeroDivisionError), Bars(Console(file=out, width=80, force_terminal=True)) as bars:
        bars.begin("done", 1)
        bars.begin("running", 1)
        bars.broken()
        bars.begin("keeping", 1)
        raise ZeroDivisionError
    signs = re.findall(r"([✓✗])\S* (done|running|keeping)", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue()))
    assert signs[-3:] == [("✓", "done"), ("✗", "running"), ("✗", "keeping")]


def test_a_terminal_or_a_command_without_lines_is_left_alone(monkeypatch):
    monkeypatch.setattr(progress, "SILENCE", 0.01)
    out = io.StringIO()
    with Bars(Console(file=out), lines=False) as bars:
        bars.begin("auditing", 40)
        time.sleep(0.1)
    assert out.getvalue() == ""
