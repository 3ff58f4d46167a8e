"""Lessons of the lab: where they are, what they say they are about, and how one is run as a program."""

import ast
import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from netsim.errors import ScenarioError, install
from scenarios.lab.answers import Notebook

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
