"""A scenario written back as YAML or plain mappings: the fields that differ from their defaults, or all."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import BaseModel

from scenarios.files.models import tag_field

WIDE = 110
"""Columns of a line, as far as texts and numbers let it."""
PLAIN_TEXT = re.compile(r"[^\W\d_](?:[\w .,;()/²³ε=+×·–—?!'-]*[\w.)²³?!])?")
PLAIN_KEY = re.compile(r"[A-Za-z_][\w.]*")
FOLDABLE = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\ufeff]+(?: [^\s\x00-\x1f\x7f-\x9f\ufeff]+)*")


def dump(scenario: BaseModel, full: bool = False) -> str:
    """YAML that `load` reads as the same scenario; `full`: with every default. Fields are in the schema's order."""
    return "".join(_blocks(as_mappings(scenario, full), ""))


def as_mappings(model: BaseModel, full: bool = False) -> dict[str, Any]:
    """What a file would say, as mappings and lists; `full`: with every default."""
    names = list(type(model).model_fields) if full else differing(model)
    return {name: _plain(getattr(model, name), full) for name in _in_order(type(model), names)}


def differing(model: BaseModel) -> list[str]:
    """The fields that have to be said: what tells its kind, what has no default, and what is not its default (which
    may depend on other fields: the ridge of an mlp)."""
    kind, tag = type(model), tag_field(type(model))
    fields = kind.model_fields
    names = [
        name
        for name, field in fields.items()
        if name == tag
        or field.is_required()
        or not same(getattr(model, name), field.get_default(call_default_factory=True))
    ]
    again = kind.model_validate({name: _plain(getattr(model, name), True) for name in names})
    return [name for name in fields if name in names or not same(getattr(model, name), getattr(again, name))]


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same, to the type and the last bit: −0.0 is not 0.0, nor 1 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, BaseModel):
        return all(same(getattr(one, name), getattr(other, name)) for name in type(one).model_fields)
    if isinstance(one, dict):
        ours, theirs = cast("dict[Any, Any]", one), cast("dict[Any, Any]", other)
        return list(ours) == list(theirs) and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(one, list):
        entries, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(entries) == len(others) and all(map(same, entries, others))
    return repr(one) == repr(other) if isinstance(one, float) else bool(one == other)


def _in_order(kind: type[BaseModel], names: list[str]) -> list[str]:
    first = [name for name in (tag_field(kind), "kind", "name") if name in names]
    return list(dict.fromkeys([*first, *names]))


def _plain(value: Any, full: bool) -> Any:
    if isinstance(value, BaseModel):
        return as_mappings(value, full)
    if isinstance(value, list):
        return [_plain(one, full) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _plain(one, full) for key, one in cast("dict[str, Any]", value).items()}
    return value


# ── YAML ────────────────────────────────────────────────────────────────────────────────────────────────


def _blocks(fields: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Lines of a mapping: short values beside their field, others below it."""
    for key, value in fields.items():
        head = f"{indent}{_key(key)}:"
        line = f"{head} {_flow(value)}"
        if isinstance(value, str) and len(line) > WIDE and FOLDABLE.fullmatch(value):
            yield f"{head} >-\n"
            yield from _folded(value, indent + "  ")
        elif not isinstance(value, Mapping | list) or not value or (len(line) <= WIDE and not _deep(value)):
            yield line + "\n"
        elif isinstance(value, Mapping):
            yield head + "\n"
            yield from _blocks(cast("Mapping[str, Any]", value), indent + "  ")
        else:
            yield head + "\n"
            yield from _entries(cast("list[Any]", value), indent + "  ")


def _entries(values: list[Any], indent: str) -> Iterator[str]:
    for value in values:
        line = f"{indent}- {_flow(value)}\n"
        if len(line) <= WIDE + 1 or not isinstance(value, Mapping) or not value:
            yield line
        else:
            first, *rest = _blocks(cast("Mapping[str, Any]", value), indent + "  ")
            yield f"{indent}- {first.removeprefix(indent + '  ')}"
            yield from rest


def _deep(value: Any) -> bool:
    """Whether a value is better read over several lines: a list of mappings, or a mapping with one inside of one."""
    if isinstance(value, list):
        return any(isinstance(one, Mapping) for one in cast("list[Any]", value))
    inner = [*cast("Mapping[str, Any]", value).values()] if isinstance(value, Mapping) else []
    return any(isinstance(one, Mapping) and (len(inner) > 1 or _deep(one)) for one in inner)


def _folded(text: str, indent: str) -> Iterator[str]:
    line = indent
    for word in text.split(" "):
        if len(line) + len(word) >= WIDE and line != indent:
            yield line.rstrip(" ") + "\n"
            line = indent
        line += word + " "
    yield line.rstrip(" ") + "\n"


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(k)}: {_flow(v)}" for k, v in cast("Mapping[str, Any]", value).items())
        return "{" + inner + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, cast("list[Any]", value))) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _number(value) if isinstance(value, int | float) else _text(str(value))


def _number(value: float) -> str:
    """The shortest text that reads as the same number."""
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    return ".nan" if math.isnan(value) else repr(value)


def _text(value: str) -> str:
    """A text without quotes where it reads as itself, else as JSON writes it, which YAML reads too."""
    from scenarios.files.document import plain_scalar

    bare = (
        PLAIN_TEXT.fullmatch(value) and isinstance(plain_scalar(value), str) and not re.search(r"[,?]|: | #", value)
    )
    if bare and value.lower() not in ("yes", "no", "on", "off"):
        return value
    return _in_quotes(value)


def _in_quotes(value: str) -> str:
    """Between quotation marks, what no terminal shows as an escape."""
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(one: str) -> str:
    code = ord(one)
    if one in '"\\':
        return "\\" + one
    if one.isprintable():
        return one
    return {10: "\\n", 9: "\\t"}.get(code) or (f"\\x{code:02x}" if code < 256 else f"\\U{code:08x}")


def _key(name: str) -> str:
    return name if PLAIN_KEY.fullmatch(name) and _text(name) == name else _in_quotes(name)
