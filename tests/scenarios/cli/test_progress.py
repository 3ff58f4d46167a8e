"""Stages without a terminal: a name is said as it is, whatever markup it looks like."""

import io

import pytest
from rich.console import Console

from scenarios.cli.progress import Bars
from scenarios.schema.load import parse
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
