"""Which lessons there are. A file says itself what it is: its docstring's first line, and the paragraph below."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from netsim.errors import ScenarioError

SHIPPED = Path(__file__).parent / "lessons"
ORDER = (
    "eavesdropper", "pictures", "noise", "second-message", "composition", "norms", "how-sure", "your-own",
)  # fmt: skip
"""The shipped lessons, in the order of the course."""


@dataclass(frozen=True)
class Lesson:
    """One notebook: its name on the command line and in addresses, its file, and what it says it is about."""

    name: str
    path: Path
    title: str
    sentence: str


def shipped() -> tuple[Lesson, ...]:
    """The lessons that come with netsim."""
    return lessons(SHIPPED)


def lessons(folder: Path) -> tuple[Lesson, ...]:
    """The lessons of a folder: those of the course in its order, then the others by name."""
    found = [one for path in sorted(folder.glob("*.py")) if (one := lesson(path)) is not None]
    return tuple(
        sorted(found, key=lambda one: (ORDER.index(one.name) if one.name in ORDER else len(ORDER), one.name))
    )


def lesson(path: Path) -> Lesson | None:
    """The lesson in a file; None where the file is no marimo notebook."""
    text = path.read_text(encoding="utf-8")
    if "marimo.App(" not in text:
        return None
    try:
        said = ast.get_docstring(ast.parse(text)) or ""
    except SyntaxError as error:
        why = f"line {error.lineno} is no Python ({error.msg})"
        raise ScenarioError("lesson", str(path), why, "a marimo notebook") from None
    name = path.stem.replace("_", "-")
    title, _, rest = said.partition("\n")
    return Lesson(name, path, title.rstrip(".") or name, " ".join(rest.strip().partition("\n\n")[0].split()))


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
