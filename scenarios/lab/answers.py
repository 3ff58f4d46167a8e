"""Answers of a student, put on the score sheet as they are given in a lesson."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scenarios.files.folders import held

if TYPE_CHECKING:
    from scenarios.challenge.sheet import Sheet

Notebook = Mapping[str, Any]
"""What the cells of a lesson define, by name; marimo gives it no types."""
KINDS = ("slider", "dropdown", "multiselect", "code_editor", "radio", "checkbox", "switch", "number")
"""Widgets of marimo, by name, that are settings of a lesson: their values can be written as JSON."""
FOLDER = "challenges"
"""Where the sheet is unless another folder is given: it is that of the challenges, too."""
FIELD = "answer"
"""Names of fields for answers begin so; all other widgets are settings."""


def settings_of(defined: Notebook) -> Notebook:
    """Widgets that a lesson defines and that are no fields for answers, by name."""
    import marimo as mo

    kinds = tuple(getattr(mo.ui, kind) for kind in KINDS)
    return {k: one for k, one in defined.items() if isinstance(one, kinds) and not k.startswith((FIELD, "_"))}


class Keeper:
    """Who adds the answers of one student to the sheet in `folder`. Lessons that are open at once take turns."""

    def __init__(self, folder: Path, sheet: "Sheet") -> None:
        from scenarios.challenge.folder import SHEET

        self.student, self.path = sheet.student, folder / SHEET
        self._turn = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            sheet.write(self.path)

    def add(self, question: object, answer: str | None, right: bool, defined: Notebook) -> None:
        """An answer to a question that a lesson defines by this name. One without a name is not kept.

        You get a `ScenarioError` where the sheet was edited meanwhile, or is somebody else's now.
        """
        from scenarios.challenge.sheet import joined

        name = next((name for name, one in defined.items() if one is question), None)
        if name is None or "__file__" not in defined:
            return
        lesson = Path(defined["__file__"]).stem.replace("_", "-")
        settings = {name: one.value for name, one in settings_of(defined).items()}
        folder = self.path.parent
        with self._turn, held(folder, "netsim lab"):
            sheet = joined(folder, self.student)
            longer = None if sheet is None else sheet.with_answer(lesson, name, answer, right, settings)
            if longer is not None and longer is not sheet:
                longer.write(self.path)


keeper: Keeper | None = None
"""Who keeps answers; None where nobody asked for it."""


def keep(folder: Path, student: str | None) -> Keeper:
    """Keep answers from now on, in the sheet of a folder, or in a new one of this student."""
    global keeper  # the lessons run in threads of this process
    keeper = Keeper(folder, _joined_or_begun(folder, student))
    return keeper


def _joined_or_begun(folder: Path, student: str | None) -> "Sheet":
    """The sheet that is in a folder, whoever's key made its challenges, or a new one.

    You get a `ScenarioError` where the sheet is another student's or was edited, or where there is neither a sheet
    nor a name.
    """
    from scenarios.challenge.sheet import begun, joined

    return joined(folder, student) or begun(folder, student, None)
