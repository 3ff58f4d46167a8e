"""Questions of a lesson, checked against what it has just computed, and the widgets that ask them.

`ask` is a question in words, in Markdown. Its `check` gives the reply to an answer, None where there is none yet, and
raises for no answer of its kind. `right_answers` and `wrong_answers` are so now; of the wrong ones the tempting come
first.
"""

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import JsonValue

from netsim.errors import NetsimError
from scenarios.lab import course
from scenarios.lab.figures import Html, table
from scenarios.results.numbers import show


class _Reply(NamedTuple):
    right: bool
    says: str


GROUPED = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[1-9]\d{0,2}(?P<between>[ ,])\d{3}((?P=between)\d{3})*)(?P<rest>\.\d*)?"
)
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(e[+-]?\d+)?", re.IGNORECASE)


def _number_in(text: str) -> float | None:
    """The number that a text says, None where it is none: "1,360", "2.5e-3", "−4", "∞".

    Commas, or spaces, between groups of three digits are left out; any other single comma is before decimals ("0,5").
    """
    plain = text.strip().replace("−", "-").replace("∞", "inf").replace("\u00a0", " ").replace("\u202f", " ")
    if (grouped := GROUPED.fullmatch(plain)) is not None:
        whole = grouped["whole"].replace(grouped["between"], "")
        plain = f"{grouped['sign']}{whole}{grouped['rest'] or ''}"
    elif DECIMAL_COMMA.fullmatch(plain):
        plain = plain.replace(",", ".")
    try:
        value = float(plain)
    except ValueError:
        return None
    return None if math.isnan(value) else value


@dataclass(frozen=True)
class Number:
    """A number: right within `tolerance`, a share of the truth, or within `absolute`.

    `why` is said to who is right. `traps` are tempting wrong numbers and what is wrong with each; `hint` is said of
    any other wrong number, after whether it is too large or too small.
    """

    truth: float
    why: str
    tolerance: float = 0.05
    absolute: float = 0.0
    traps: Sequence[tuple[float, str]] = ()
    hint: Callable[[float], str] | None = None
    ask: str = ""

    def __post_init__(self) -> None:
        if not math.isfinite(self.truth):
            raise ValueError(f"a question about a number needs one, and the run gave {self.truth}")

    @property
    def margin(self) -> float:
        """How far an answer may be off; rounding to what is shown is always allowed."""
        return max(self.absolute, self.tolerance * abs(self.truth), abs(self.truth - float(f"{self.truth:.4g}")))

    def check(self, answer: object) -> _Reply | None:
        if isinstance(answer, str):
            if not answer.strip():
                return None
            if (read := _number_in(answer)) is None:
                how = (
                    ": a comma stands between groups of three digits, as in 1,360, or once before decimals, as in 0,5"
                )
                return _Reply(False, f"“{answer.strip()}” is no number{how if ',' in answer else ''}.")
            answer = read
        if not isinstance(answer, int | float):
            return None
        if abs(answer - self.truth) <= self.margin:
            exactly = "" if answer == self.truth else f" Here it is {show(self.truth)}."
            return _Reply(True, f"{self.why}{exactly}")
        for trap, what in self.traps:
            if abs(answer - trap) <= max(self.absolute, 0.02 * abs(trap)):
                return _Reply(False, what)
        side = "too large" if answer > self.truth else "too small"
        hint = "" if self.hint is None else f" {self.hint(float(answer))}"
        return _Reply(False, f"{show(float(answer))} is {side}.{hint}")

    def right_answers(self) -> Sequence[float]:
        return self.truth, self.truth + 0.5 * self.margin

    def wrong_answers(self) -> Sequence[float]:
        far = 2 * self.margin + 1.0
        tempting = [trap for trap, _ in self.traps if abs(trap - self.truth) > self.margin]
        return *tempting, self.truth + far, self.truth - far


class Option(NamedTuple):
    """Whether what an option says holds, and why (not)."""

    holds: bool
    why: str


@dataclass(frozen=True)
class Choice:
    """One of several statements; those that hold are right. You get a `ValueError` where none holds, or all do."""

    options: Mapping[str, Option]
    ask: str = ""

    def __post_init__(self) -> None:
        holding = sum(option.holds for option in self.options.values())
        if holding in (0, len(self.options)):
            raise ValueError(f"{holding} of {len(self.options)} options hold: {', '.join(self.options)}")

    @classmethod
    def of(cls, widget: Any, *options: Option, ask: str) -> "Choice":
        """Of the statements of a widget that `choice` made, in their order."""
        return cls(dict(zip(widget.options, options, strict=True)), ask)

    def check(self, answer: object) -> _Reply | None:
        if not isinstance(answer, str):
            return None
        return _Reply(*self.options[answer])

    def right_answers(self) -> Sequence[str]:
        return [text for text, option in self.options.items() if option.holds]

    def wrong_answers(self) -> Sequence[str]:
        return [text for text, option in self.options.items() if not option.holds]


@dataclass(frozen=True)
class Until:
    """Change the settings until something holds: whether it does now (`reached`), and what is so now.

    The settings themselves are the answer. `now` is said until then, `why` afterwards. `by`: settings, by name of the
    widget, that reach it from where the lesson opens; the answer key sets them and looks.
    """

    reached: bool
    now: str
    why: str
    ask: str = ""
    by: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    def check(self, answer: object = None) -> _Reply:
        del answer
        return _Reply(self.reached, self.why if self.reached else self.now)

    def right_answers(self) -> Sequence[object]:
        return [None] if self.reached else []

    def wrong_answers(self) -> Sequence[object]:
        return [] if self.reached else [None]


def _mo() -> Any:
    """marimo, without which questions can be checked all the same."""
    import marimo

    return marimo


def number() -> Any:
    """A field for a number: a text, which `Number.check` reads; empty until something is typed in and entered."""
    return _mo().ui.text(placeholder="a number, then Enter", full_width=True)


def choice(*options: str) -> Any:
    """Options of which one can be chosen; the value is None until then."""
    return _mo().ui.radio(options=list(options))


Question = Number | Choice | Until


def ask(question: Question, place: Any = None) -> Any:
    """What is asked, the field for the answer, and the reply: none before there is an answer.

    Where answers are kept (`netsim lab --student`) this one is, by the name that the notebook has for the question.
    """
    said = question.check(None if place is None else place.value)
    if said is None:
        reply = [_mo().md("*No answer yet.*")]
    else:
        begin, kind = ("**Right.** ", "success") if said.right else ("**Not yet.** ", "warn")
        reply = [_mo().callout(_mo().md(begin + said.says), kind=kind)]
        if said.right or place is not None:
            notebook = sys._getframe(1).f_globals  # pyright: ignore[reportPrivateUsage]  # cells name no notebook
            reply += _kept(question, None if place is None else str(place.value), said.right, notebook)
    return stack(_mo().md(question.ask), *([] if place is None else [place]), *reply)


def _kept(question: Question, answer: str | None, right: bool, notebook: course.Notebook) -> list[Any]:
    """Keep an answer, and say so, or why not."""
    if (keeper := course.keeper) is None:
        return []
    try:
        keeper.add(question, answer, right, notebook)
    except (NetsimError, OSError) as error:
        return [_mo().callout(_mo().md(f"**Not kept.** {error}"), kind="danger")]
    return [_mo().md(f"*Kept for {keeper.student}.*")]


def go_on(commands: Mapping[str, str]) -> Any:
    """The end of a lesson: commands for a terminal, each with what it shows."""
    lines = [f"{what}\n\n```console\n$ {command}\n```" for command, what in commands.items()]
    return _mo().md("\n\n".join(["### Continue with", *lines]))


def panel(*parts: object) -> Any:
    """The settings of a lesson, set off from the text."""
    return _mo().callout(
        _mo().hstack(list(parts), justify="start", align="center", wrap=True, gap=1.5), kind="neutral"
    )


def facts(numbers: Mapping[str, object]) -> Html:
    """A few numbers, each with what it counts."""
    return table(["", ""], [[name, value] for name, value in numbers.items()])


def stack(*parts: object) -> Any:
    """Below each other, as one output."""
    return _mo().vstack(list(parts), gap=0.75)


def side_by_side(parts: Sequence[object]) -> Any:
    """Next to each other, below each other where the page is narrow."""
    return _mo().hstack(list(parts), justify="start", align="start", wrap=True, gap=1.5)
