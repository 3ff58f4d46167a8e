"""From a YAML file to a `Scenario`, with errors that name file, line, field, value and what is allowed."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from io import StringIO
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from netsim.errors import ScenarioError
from scenarios.schema import Scenario

Key = str | int
WANTED = {
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "bool": "true or false",
    "list": "a list",
    "model": "a mapping of fields",
    "dict": "a mapping of fields",
    "model_attributes": "a mapping of fields",
}


def library() -> dict[str, str]:
    """The scenarios that come with netsim: name → YAML text."""
    folder = resources.files("scenarios") / "library"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".yaml")), key=lambda f: f.name)
    return {f.name.removesuffix(".yaml"): f.read_text(encoding="utf-8") for f in files}


def load_scenario(source: str | Path) -> "Located":
    """A scenario from a YAML file, or by name from the library.

    You get a `ScenarioError` for a file that is not there, that is no YAML, or that says what cannot be said.
    """
    shipped = library()
    if str(source) in shipped:
        return parse(shipped[str(source)], f"{source}.yaml")
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        near = difflib.get_close_matches(str(source), shipped, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ScenarioError(
            "scenario", str(source), f"no readable file and no shipped scenario ({error})",
            f"{hint}a path, or one of {', '.join(shipped)}",
        ) from error  # fmt: skip
    return parse(text, str(source))


class Located:
    """A scenario and where each of its fields stands in its file."""

    def __init__(self, scenario: Scenario, file: str, tree: Any) -> None:
        self.scenario, self.file, self._tree = scenario, file, tree

    def locate(self, error: ScenarioError) -> ScenarioError:
        """The same error with the file and the line of its field (or of the nearest enclosing one)."""
        line = _line(self._tree, _keys(error.field))
        return replace(error, file=self.file, line=line)


def parse(text: str, file: str = "<text>") -> Located:
    """A scenario from YAML text."""
    try:
        tree: Any = cast(Any, YAML(typ="rt")).load(StringIO(text))
    except MarkedYAMLError as error:
        mark, problem = cast(Any, error).problem_mark, cast(Any, error).problem
        line = mark.line + 1 if mark else 1
        raise ScenarioError("file", problem or "", "not valid YAML", "YAML 1.2", file, line) from error
    except YAMLError as error:
        raise ScenarioError("file", str(error), "not valid YAML", "YAML 1.2", file, 1) from error
    if not isinstance(tree, Mapping):
        raise ScenarioError(
            "file", type(tree).__name__, "a scenario is a mapping of fields", "name: …, topology: …", file, 1
        )
    try:
        return Located(Scenario.model_validate(_plain(tree)), file, tree)
    except ValidationError as error:
        raise _first_error(error, tree, file) from error


def _plain(tree: Any) -> Any:
    """Ruamel's containers and scalars as Python's own."""
    if isinstance(tree, Mapping):
        return {str(k): _plain(v) for k, v in cast(Mapping[Any, Any], tree).items()}
    if isinstance(tree, list):
        return [_plain(v) for v in cast(list[Any], tree)]
    for kind in (bool, int, float, str):
        if isinstance(tree, kind):
            return kind(tree)
    return tree


# ── errors ──────────────────────────────────────────────────────────────────────────────────────────────


def _first_error(error: ValidationError, tree: Any, file: str) -> ScenarioError:
    """The error that says most: one at a field that was written, the deepest first."""
    found = [(_path(tree, e["loc"]), e) for e in error.errors(include_url=False)]
    keys, chosen = max(found, key=lambda pair: (len(pair[0]), pair[1]["type"] != "missing"))
    others = len({tuple(keys) for keys, _ in found}) - 1
    problem, allowed = _explain(chosen, tree, keys)
    if others:
        problem += f" (and {others} more)"
    value = _value(tree, keys, chosen)
    if chosen["type"].startswith("union_tag"):
        context = chosen.get("ctx", {})
        keys, value = [*keys, str(context.get("discriminator")).strip("'")], context.get("tag")
    return ScenarioError(_dotted(keys), value, problem, allowed, file, _line(tree, keys))


def _path(tree: Any, loc: tuple[Key, ...]) -> list[Key]:
    """Pydantic's location without the names of union members, which are no keys of the file."""
    keys: list[Key] = []
    node = tree
    for position, key in enumerate(loc):
        last = position == len(loc) - 1
        if isinstance(node, Mapping) and key in node:
            node = cast(Mapping[Any, Any], node)[key]
            keys.append(key)
        elif isinstance(node, list) and isinstance(key, int) and key < len(cast(list[Any], node)):
            node = cast(list[Any], node)[key]
            keys.append(key)
        elif last and isinstance(node, Mapping) and isinstance(key, str) and key.isidentifier():
            keys.append(key)  # a missing field
    return keys


def _explain(error: Any, tree: Any, keys: Sequence[Key]) -> tuple[str, str]:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        known = _siblings(tree, keys)
        near = difflib.get_close_matches(str(keys[-1]), known, n=1)
        return "unknown field" + (f"; did you mean {near[0]!r}?" if near else ""), ", ".join(known)
    if kind == "missing":
        return "missing field", "it has no default"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        tags = str(context.get("expected_tags", "")).replace("'", "")
        return f"unknown {context['discriminator'].strip(chr(39))}", tags
    if kind == "literal_error":
        return "not one of the allowed values", str(context["expected"])
    bounds = {
        "greater_than": "> {gt}",
        "greater_than_equal": ">= {ge}",
        "less_than": "< {lt}",
        "less_than_equal": "<= {le}",
        "too_short": "at least {min_length} entries",
        "too_long": "at most {max_length} entries",
        "string_pattern_mismatch": "letters, digits and hyphens: {pattern}",
        "finite_number": "a finite number",
    }
    if kind in bounds:
        return "out of range", bounds[kind].format(**context)
    if kind.endswith(("_type", "_parsing")):
        return "wrong type", WANTED.get(kind.removesuffix("_type").removesuffix("_parsing"), str(error["msg"]))
    return str(error["msg"]).removeprefix("Value error, "), ""


def _siblings(tree: Any, keys: Sequence[Key]) -> list[str]:
    """The fields that are allowed beside an unknown one."""
    model = _model_at(Scenario, tree, list(keys[:-1]))
    return list(model.model_fields) if model is not None else []


def _model_at(model: type[BaseModel], node: Any, keys: list[Key]) -> type[BaseModel] | None:
    if not keys:
        return model
    key, rest = keys[0], keys[1:]
    field = model.model_fields.get(str(key))
    if field is None:
        return None
    child = node[key]
    if rest and isinstance(rest[0], int):
        child, rest = child[rest[0]], rest[1:]
    for candidate in _models_in(field.annotation):
        if _fits(candidate, child):
            return _model_at(candidate, child, rest)
    return None


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _fits(model: type[BaseModel], node: Any) -> bool:  # a tag is a required Literal
    """Whether a mapping is meant for this member of a union: its tag says so, or it has no tag."""
    if not isinstance(node, Mapping):
        return False
    for tag in ("kind", "name"):
        field = model.model_fields.get(tag)
        values: tuple[Any, ...] = getattr(field.annotation, "__args__", ()) if field is not None else ()
        if field is not None and values and field.is_required():
            return cast(Mapping[str, Any], node).get(tag) in values
    return True


def _value(tree: Any, keys: Sequence[Key], error: Any) -> object:
    if error["type"] == "missing":
        return None
    node = tree
    for key in keys:
        node = node[key]
    return _plain(node)


def _line(tree: Any, keys: Sequence[Key]) -> int:
    """1-based line of a field, or of the nearest enclosing one that stands in the file."""
    line, node = 1, tree
    for key in keys:
        try:
            line = node.lc.data[key][0] + 1
            node = node[key]
        except (KeyError, IndexError, AttributeError, TypeError):
            break
    return line


def _dotted(keys: Sequence[Key]) -> str:
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return text.lstrip(".") or "scenario"


def _keys(field: str) -> list[Key]:
    return [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", field)]
