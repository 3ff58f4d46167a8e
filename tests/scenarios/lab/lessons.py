"""Run a shipped lesson as a program, with its sliders where a test puts them."""

import importlib.util
from types import SimpleNamespace
from typing import Any

from scenarios.cli import lab as catalogue
from scenarios.lab.page import Choice, Number, Until

Question = Number | Choice | Until

NAMES = [one.name for one in catalogue.lessons()]


def run(name: str, **values: Any) -> dict[str, Any]:
    """What all cells of a lesson define, with these settings and answers in place of its widgets.

    `run("noise", scale=0.5)` is the lesson with its slider `scale` at 0.5; a cell that raises raises here.
    """
    app = app_of(name)
    _, defined = app.run(defs={key: SimpleNamespace(value=value) for key, value in values.items()})
    return dict(defined)


def app_of(name: str) -> Any:
    """The lesson's marimo app, loaded afresh."""
    path = next(one.path for one in catalogue.lessons() if one.name == name)
    spec = importlib.util.spec_from_file_location(f"lesson_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.app


def questions(defined: dict[str, Any]) -> dict[str, Question]:
    """The lesson's questions as they stand after a run."""
    found = {key: value for key, value in defined.items() if isinstance(value, Question)}
    assert all(key.startswith("question_") for key in found)
    return found
