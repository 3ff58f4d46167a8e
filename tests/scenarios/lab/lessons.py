"""Run a shipped lesson as a program, with its sliders where a test puts them."""

from typing import Any

from scenarios.lab import course
from scenarios.lab.page import Question

NAMES = [one.name for one in course.lessons()]


def run(name: str, **values: Any) -> dict[str, Any]:
    """What all cells of a lesson define, with these settings and answers in place of its widgets.

    `run("noise", scale=0.5)` is the lesson with its slider `scale` at 0.5; a cell that raises raises here.
    """
    return course.chosen(name, course.lessons()).run(values)


def questions(defined: dict[str, Any]) -> dict[str, Question]:
    """The lesson's questions as they stand after a run."""
    found = {key: value for key, value in defined.items() if isinstance(value, Question)}
    assert all(key.startswith("question_") for key in found)
    return found
