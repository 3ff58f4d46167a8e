"""The answer key of lessons, and the check of answers on a score sheet: both as the lessons themselves compute."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from pydantic import JsonValue

from scenarios.build.duration import LONG, Progress, Silent, duration
from scenarios.challenge.sheet import Answer, Sheet
from scenarios.lab.course import Lesson, Notebook, settings_of
from scenarios.lab.page import Choice, Number, Question, Until
from scenarios.results.base import Result
from scenarios.results.numbers import show

LATE = ("multiselect", "code_editor")
"""Widgets whose choices, or text, depend on other settings."""
REMEMBERED = 256
"""Runs of lessons whose questions are kept: most students answer at the settings at which a lesson opens."""


class _Solved(Result):
    """One question with its answers, each right by itself, `at` these settings of a lesson that is else as it opens.

    `why`: what the lesson replies to them. `settings`: those that are the answer themselves; None where no settings
    are asked for, or where the lesson names none that reach it.
    """

    question: str
    ask: str
    answers: Sequence[str]
    why: str
    settings: Mapping[str, JsonValue] | None = None
    at: Mapping[str, JsonValue]


def key_of(lesson: Lesson, progress: Progress | None = None) -> Iterator[_Solved]:
    """The answer key of one lesson, which is run as it opens, and once more for every question about its settings.

    A lesson that defines `key_at`, a list of settings, has its key at each of them. `progress` advances by questions,
    and has about how long they take, as the first run of the lesson tells, where that is long.
    """
    progress = progress or Silent()
    progress.begin(f"running {lesson.name}", 1)
    begun = time.monotonic()
    opened = lesson.run()
    places = opened.get("key_at", [{}])
    questions = _questions(opened).values()
    again = sum(isinstance(one, Until) and bool(one.by) for one in questions) * len(places) + len(places) - 1
    if (seconds := again * (time.monotonic() - begun)) > LONG:
        progress.say(f"About {duration(seconds)} more: it is run again for {again} answer{'s' * (again > 1)}.")
    progress.begin(f"{lesson.name}: answering its questions", len(questions) * len(places))
    for at in places:
        defined = lesson.run(_placed(lesson, opened, at)) if at else opened
        for name, question in _questions(defined).items():
            yield _solved(lesson, opened, at, name, question)
            progress.advance(1)


def _solved(lesson: Lesson, opened: Notebook, at: Mapping[str, JsonValue], name: str, question: Question) -> _Solved:
    answers, settings = list[str](), None
    match question:
        case Number():
            exact = question.margin < 1e-3 * abs(question.truth)
            within = "" if exact else f", within {show(question.margin, 2)}"
            answers, why = [f"{show(question.truth)}{within}"], question.why
        case Choice():
            answers = list(question.right_answers())
            why = " ".join(dict.fromkeys(question.options[one].why for one in answers))
        case Until():
            there = lesson.run(_placed(lesson, opened, {**at, **question.by})) if question.by else {name: question}
            said = _questions(there)[name].check(None)
            assert said is not None
            why = said.says if said.right else f"The lesson names no settings that reach it. {said.says}"
            settings = dict(question.by) if said.right else None
    return _Solved(question=name, ask=question.ask, answers=answers, why=why, settings=settings, at=at)


def _questions(defined: Notebook) -> dict[str, Question]:
    """The questions of a lesson that was run, by name, in their order."""
    found = {name: one for name, one in defined.items() if isinstance(one, Question)}
    return {name: found[name] for name in sorted(found, key=lambda name: (len(name), name))}


def _placed(lesson: Lesson, opened: Notebook, values: Mapping[str, object]) -> dict[str, object]:
    """Values for all widgets of the cells that these are made in."""
    own = {name: one.value for name, one in settings_of(opened).items()}
    beside = {name for cell in lesson.cells() if cell & set(values) for name in cell & set(own)}
    return {name: own[name] for name in beside} | dict(values)


# ── a student's answers ─────────────────────────────────────────────────────────────────────────────────
NOT_OFFERED = "its settings cannot be chosen in the lesson"
OWN_CODE = "it rests on code of the student's, which is not run: look at it"


def examined(sheet: Sheet, lessons: Sequence[Lesson]) -> tuple[list[str], list[str]]:
    """What is wrong with the answers of a sheet, and which somebody has to look at, a sentence each.

    Answers that are called right are graded again by the lesson, at the settings at which they were given. Code that
    a student wrote is not run.
    """
    known = {one.name: one for one in lessons}
    wrong, unread = list[str](), list[str]()
    for number, entry in enumerate(sheet.entries, 1):
        if isinstance(entry, Answer) and entry.right:
            why = "there is no such lesson" if entry.lesson not in known else _fault(known[entry.lesson], entry)
            if why is not None:
                (unread if why == OWN_CODE else wrong).append(
                    f"entry {number}: {entry.lesson} {entry.question}: {why}"
                )
    return wrong, unread


def _fault(lesson: Lesson, answer: Answer) -> str | None:
    graded = _graded(lesson, json.dumps(answer.settings, sort_keys=True))
    if isinstance(graded, str):
        return graded
    if (question := graded.get(answer.question)) is None:
        return "there is no such question"
    unread = isinstance(question, Choice) and answer.answer not in question.options
    said = None if unread else question.check(answer.answer)
    return None if said is not None and said.right else f"{answer.answer or 'its settings'!r:.60} is not right there"


@lru_cache(REMEMBERED)
def _opened(lesson: Lesson) -> Notebook:
    return lesson.run()


@lru_cache(REMEMBERED)
def _graded(lesson: Lesson, settings: str) -> Mapping[str, Question] | str:
    """The questions of a lesson at these settings, or why it cannot be run there."""
    values: dict[str, JsonValue] = json.loads(settings)
    opened = _opened(lesson)
    widgets = settings_of(opened)
    if set(values) != set(widgets):
        return "its settings are not those of the lesson"
    early = {name: value for name, value in values.items() if _kind(widgets[name]) not in LATE}
    if any(not _offers(widgets[name], value) for name, value in early.items()):
        return NOT_OFFERED
    late = {name for cell in lesson.cells() if cell & (set(values) - set(early)) for name in cell}
    before = {name: value for name, value in early.items() if name not in late}
    found = opened if _are_at(widgets, before) else lesson.run(before)
    there = settings_of(found)
    odd = [there[name] for name in set(values) - set(early) if not _offers(there[name], values[name])]
    if odd:
        return OWN_CODE if all(_kind(one) == "code_editor" for one in odd) else NOT_OFFERED
    same = _are_at(there, {name: values[name] for name in there})  # what was placed is no widget there
    return _questions(found if same else lesson.run(values))


def _are_at(widgets: Notebook, values: Mapping[str, JsonValue]) -> bool:
    return all(widgets[name].value == value for name, value in values.items())


def _kind(widget: Any) -> str:
    return type(widget).__name__


def _offers(widget: Any, value: Any) -> bool:
    """Whether a value can be chosen with a widget. A text can only be the one that is there."""
    match _kind(widget):
        case "slider" | "number":
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return number and (value in widget.steps if widget.steps else widget.start <= value <= widget.stop)
        case "dropdown" | "radio":
            return value in list(widget.options.values())
        case "multiselect":
            offered = list(widget.options.values())
            return isinstance(value, list) and all(one in offered for one in cast("list[object]", value))
        case "checkbox" | "switch":
            return isinstance(value, bool)
        case _:
            return value == widget.value
