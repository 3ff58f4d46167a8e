"""Lessons of the lab: where they are, what they say they are about, how one is run as a program; and the answers of a
student, put on the score sheet as they are given in a lesson."""

import ast
import importlib.util
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from netsim.errors import ScenarioError, install
from scenarios.files.folders import held

if TYPE_CHECKING:
    from scenarios.challenge.sheet import Sheet

Notebook = Mapping[str, Any]
"""What the cells of a lesson define, by name; marimo gives it no types."""
SHIPPED = Path(__file__).parent / "lessons"
ORDER = (
    "eavesdropper", "pictures", "noise", "second-message", "composition", "norms", "how-sure", "your-own",
    "tap-your-own", "every-view", "a-reviewers-hour",
)  # fmt: skip
"""The shipped lessons, in the order of the course."""


@dataclass(frozen=True)
class Lesson:
    """One notebook: its name on the command line and in addresses, its file, and what it says it is about."""

    name: str
    path: Path
    title: str
    sentence: str

    @classmethod
    def of(cls, path: Path) -> "Lesson | None":
        """The lesson in a file; None where the file is no marimo notebook."""
        text = path.read_text(encoding="utf-8")
        if not re.search(r"^\w+ = marimo\.App\(", text, re.MULTILINE):
            return None
        try:
            about = ast.get_docstring(ast.parse(text)) or ""
        except SyntaxError as error:
            why = f"line {error.lineno} is no Python ({error.msg})"
            raise ScenarioError("lesson", str(path), why, "a marimo notebook") from None
        name = path.stem.replace("_", "-")
        title, _, rest = about.partition("\n")
        return cls(name, path, title.rstrip(".") or name, " ".join(rest.strip().partition("\n\n")[0].split()))

    def run(self, values: Mapping[str, object] | None = None) -> Notebook:
        """What all cells define, with these values in place of widgets; a cell that raises raises here.

        A cell that makes widgets is given values for all of them, or for none.
        """
        import marimo

        spec = importlib.util.spec_from_file_location(f"lesson_{self.path.stem}", self.path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        app = next(one for one in vars(module).values() if isinstance(one, marimo.App))
        placed = {name: SimpleNamespace(value=value) for name, value in (values or {}).items()}
        _, defined = app.run(defs=placed)
        return defined

    def cells(self) -> list[set[str]]:
        """Names that each cell defines."""
        found: list[set[str]] = []
        for cell in ast.parse(self.path.read_text(encoding="utf-8")).body:
            returned = cell.body[-1] if isinstance(cell, ast.FunctionDef) else None
            if isinstance(returned, ast.Return) and returned.value is not None:
                found.append({one.id for one in ast.walk(returned.value) if isinstance(one, ast.Name)})
        return found


def lessons(folder: Path = SHIPPED) -> tuple[Lesson, ...]:
    """The lessons of a folder, or those that come with netsim: the course in its order, then the others by name."""
    found = [one for path in sorted(folder.glob("*.py")) if (one := Lesson.of(path)) is not None]
    return tuple(
        sorted(found, key=lambda one: (ORDER.index(one.name) if one.name in ORDER else len(ORDER), one.name))
    )


def chosen(name: str, among: Sequence[Lesson]) -> Lesson:
    """A lesson by its number in the course (from 1), its name, or the beginning of it that no other name has."""
    if name.isdigit() and 1 <= int(name) <= len(among):
        return among[int(name) - 1]
    plain = name.replace("_", "-")
    exact = [one for one in among if one.name == plain]
    begun = exact or [one for one in among if plain and one.name.startswith(plain)]
    if len(begun) == 1:
        return begun[0]
    names = ", ".join(f"{k} {one.name}" for k, one in enumerate(among, 1))
    why = "begins the names of several lessons" if begun else "no such lesson"
    raise ScenarioError("lesson", name, why, f"{names}, or a notebook's file or folder")


NEEDED = ("marimo", "uvicorn", "zmq")


def need_marimo(opened: str) -> None:
    """You get a `ScenarioError` that names the extra where marimo is not installed."""
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        raise ScenarioError("lesson", opened, "needs marimo, which is not installed", install("lab"))


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────
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


class _Keeper:
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


keeper: _Keeper | None = None
"""Who keeps answers; None where nobody asked for it."""


def keep(folder: Path, student: str | None) -> _Keeper:
    """Keep answers from now on, in the sheet of a folder, whoever's key made its challenges, or in a new one.

    You get a `ScenarioError` where the sheet is another student's or was edited, or where there is neither a sheet
    nor a name.
    """
    from scenarios.challenge.sheet import begun, joined

    global keeper  # the lessons run in threads of this process
    keeper = _Keeper(folder, joined(folder, student) or begun(folder, student, None))
    return keeper
