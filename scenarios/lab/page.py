"""The few widgets of a lesson's page: where answers are given, what is said to them, and how to go on.

marimo is imported when a widget is made: it is an extra, and takes its time to load.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from scenarios.lab.figures import Html, table
from scenarios.lab.questions import Question

GO_ON = "### Go on with"


def number(ask: str) -> Any:
    """A field for a number: a text, which `Number.check` reads; empty until something is typed in and entered."""
    import marimo as mo

    return mo.ui.text(label=ask, placeholder="a number, then Enter", full_width=True)


def choice(ask: str, *options: str) -> Any:
    """Options of which one can be chosen; the value is None until then."""
    import marimo as mo

    return mo.ui.radio(options=list(options), label=ask)


def reply(question: Question, answer: object = None) -> Any:
    """What the check says: nothing before there is an answer."""
    import marimo as mo

    said = question.check(answer)
    if said is None:
        return mo.md("*No answer yet.*")
    return mo.callout(mo.md(("**Right.** " if said.right else "**Not yet.** ") + said.says), kind=_kind(said.right))


def _kind(right: bool) -> Any:
    return "success" if right else "warn"


def go_on(*commands: tuple[str, str]) -> Any:
    """The end of a lesson: commands for a terminal, each with what it shows."""
    import marimo as mo

    return mo.md("\n\n".join([GO_ON, *(f"{what}\n\n```console\n$ {command}\n```" for command, what in commands)]))


def panel(*parts: object) -> Any:
    """The settings of a lesson, set off from the text."""
    import marimo as mo

    return mo.callout(mo.hstack(list(parts), justify="start", align="center", wrap=True, gap=1.5), kind="neutral")


def facts(numbers: Mapping[str, object]) -> Html:
    """A few numbers, each with what it counts."""
    return table(["", ""], [[name, value] for name, value in numbers.items()])


def stack(*parts: object) -> Any:
    """Below each other, as one output."""
    import marimo as mo

    return mo.vstack(list(parts), gap=0.75)


def side_by_side(parts: Sequence[object]) -> Any:
    """Next to each other, below each other where the page is narrow."""
    import marimo as mo

    return mo.hstack(list(parts), justify="start", align="start", wrap=True, gap=1.5)
