"""Shipped scenarios, read as plain files; nothing is validated or built, so that listing them is fast."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any, cast

from netsim.errors import ScenarioError
from scenarios.files.document import keys_of
from scenarios.files.extend import EXTENDS, inherited

VARIANT_NAME = r"^[a-z0-9][a-z0-9-]*(\.[0-9]+[a-z0-9-]*)*$"
"""Dots stand in numbers only: no folder of a variant has the name of a file."""


def label(path: str, value: Any) -> str:
    """A value of the grid in a variant's name: the field's last word and the value, or what kind of thing it is."""
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        value = mapping.get("kind", mapping.get("name", "-".join(str(v) for v in mapping.values())))
    word = str(value).lower() if not isinstance(value, float) else f"{value:g}"
    named = [key for key in keys_of(path) if isinstance(key, str)]
    text = re.sub(r"[^a-z0-9.]+|\.(?![0-9])", "-", f"{named[-1]}-{word}".lower()).strip("-.")
    return text if re.match(VARIANT_NAME, text) else "value"


Tree = dict[str, Any]
OTHERS = "other"
"""The group of a scenario that names none."""


@cache
def library() -> dict[str, str]:
    """Name → YAML text, by name."""
    folder = resources.files("scenarios") / "library"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".yaml")), key=lambda f: f.name)
    return {f.name.removesuffix(".yaml"): f.read_text(encoding="utf-8") for f in files}


def plain_tree(source: str) -> Tree:
    """What a shipped scenario or a file says, with what it `extends`, as plain mappings and lists.

    You get a `ScenarioError` or an `OSError` for what cannot be read.
    """
    tree, place = _read(source)
    return cast(Tree, inherited(tree, place, _base))


def variant_names(tree: Mapping[str, Any]) -> list[str]:
    """What the variants of such a tree are called, in their order; none where it has none."""
    grid: Mapping[str, list[Any]] = tree.get("grid") or {}
    variants: list[Mapping[str, Any]] = tree.get("variants") or []
    axes = [[label(path, one) for one in values] for path, values in grid.items()]
    named = [str(one["name"]) for one in variants]
    if not axes and not named:
        return []
    return ["-".join([name] * bool(name) + list(point)) for name in named or [""] for point in product(*axes)]


@dataclass(frozen=True)
class Shipped:
    """A shipped scenario as a list has it. `fields` are those that its file says; `algorithms` kinds; `paper` and
    `item` are what it reproduces, empty where that is nothing."""

    name: str
    group: str
    title: str
    description: str
    extends: str | None
    fields: tuple[str, ...]
    variants: tuple[str, ...]
    algorithms: tuple[str, ...]
    data: str | None
    paper: str
    item: str

    @classmethod
    def of(cls, name: str) -> "Shipped":
        """From its file."""
        own, place = _read(name)
        said = tuple(own)
        tree: Tree = inherited(own, place, _base)
        reproduces: Mapping[str, Any] = tree.get("reproduces") or {}
        algorithms: list[Mapping[str, Any]] = tree.get("algorithms") or []
        problem: Mapping[str, Any] = tree.get("problem") or {}
        data: Mapping[str, Any] = problem.get("data") or {}
        return cls(
            name,
            tree.get("group") or OTHERS,
            tree.get("title") or name,
            tree.get("description") or "",
            tree.get(EXTENDS),
            said,
            tuple(variant_names(tree)),
            tuple(one["kind"] for one in algorithms),
            data.get("name"),
            reproduces.get("paper", ""),
            reproduces.get("item", ""),
        )


def shipped() -> list[Shipped]:
    """All of them: groups that are no papers first, in the order of their first names, and then by name."""
    found = [Shipped.of(name) for name in library()]
    return sorted(found, key=lambda one: (one.group == OTHERS, one.group.startswith("papers"), one.group, one.name))


def _read(source: str) -> tuple[Any, str]:
    from scenarios.files.document import read_yaml

    text = library().get(source)
    tree = read_yaml(Path(source).read_text(encoding="utf-8-sig") if text is None else text, source)
    if not isinstance(tree, dict):
        raise ScenarioError("file", source, "a mapping of fields is needed")
    return cast(Any, tree), source


def _base(name: str, file: str) -> tuple[Any, str]:
    return _read(name if name in library() else str(Path(file).parent / name))
