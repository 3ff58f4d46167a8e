"""Reference page of all scenario fields, derived from the models: `python -m scenarios.schema.reference`.

`section` and `forms` write the page of results too (`scenarios.cli.results_page`).
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from scenarios.files.models import as_mappings, places, tag_field
from scenarios.schema.scenario import Scenario
from scenarios.schema.spec import meaning, tag_of

Model = type[BaseModel]
Refer = Callable[[Any], str | None]
HEAD = """\
# Scenario reference

Every field of a scenario file. `netsim check FILE` says whether a file can be run, `netsim schema` prints the same
as JSON Schema, and `netsim show NAME` prints a whole scenario to start from. This page is written by
`python -m scenarios.schema.reference`.
"""
BOUNDS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}


def page() -> str:
    """The page as text."""
    return "\n".join([HEAD, *(_section(where, model) for where, model in places(Scenario))])


def _section(where: str, model: Model) -> str:
    tag = tag_of(model)
    title = (f"`{where}`" if where else "The file") + (f", `{tag[0]}: {tag[1]}`" if tag else "")
    rows = [
        (f"`{name}`", either(field.annotation, _refer, field.metadata), _default(model, field), meaning(model, name))
        for name, field in sorted(model.model_fields.items(), key=lambda item: item[0] != (tag or " ")[0])
    ]
    return section(f"## {title}", model.__doc__ or "", ("field", "value", "default", "meaning"), rows)


def section(title: str, about: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A heading, a text and, where there are rows, a table."""
    lines, rows = [title, "", inspect.cleandoc(about), ""], list(rows)
    if rows:
        lines += [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, ""])


def plain_stars(text: str) -> str:
    """Markdown in which the star of an optimum is no emphasis."""
    return re.sub(r"\b([fFwx2])\*(?!\w)", r"\1\\*", text)


@cache
def place_of(model: Model) -> str:
    """The path under which the page describes a model."""
    return {one: path for path, one in places(Scenario)}[model]


def _refer(annotation: Any) -> str | None:
    if annotation is NoneType:
        return ""
    if get_origin(annotation) is dict:
        return "mapping of dotted fields"
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return None
    tag = tag_of(annotation)
    return f"a `{tag[0]}` of `{place_of(annotation)}`" if tag else f"mapping, see `{place_of(annotation)}`"


def either(annotation: Any, refer: Refer, bounds: Iterable[Any] = ()) -> str:
    """What may stand in a place, with its bounds; `refer`: words for a part of an annotation, if it has some."""
    return " or ".join(dict.fromkeys(filter(None, _forms(annotation, refer, bounds))))


def _forms(annotation: Any, refer: Refer, bounds: Iterable[Any]) -> Iterator[str]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if (words := refer(annotation)) is not None:
        yield words
    elif origin is Annotated:
        base, *more = arguments
        inner = [part for one in more for part in (one.metadata if isinstance(one, FieldInfo) else [one])]
        yield from _forms(base, refer, [*bounds, *inner])
    elif origin is Literal:
        yield ", ".join(f"`{word}`" for word in arguments)
    elif origin is list or (origin is tuple and arguments[1:] == (...,)):
        entries = [f"at least {b.min_length}" for b in bounds if getattr(b, "min_length", None)]
        yield "; ".join([f"list of {either(arguments[0], refer)}", *entries])
    elif origin is tuple:
        yield f"[{', '.join(either(one, refer) for one in arguments)}]"
    elif annotation in (int, float, str, bool):
        signs = [f"{sign} {getattr(b, name):,}" for b in bounds for name, sign in BOUNDS.items() if hasattr(b, name)]
        signs += [f"like `{b.pattern}`" for b in bounds if getattr(b, "pattern", None)]
        kind = {int: "whole number", float: "number", str: "text", bool: "`true`, `false`"}[annotation]
        yield f"{kind} {', '.join(signs)}" if signs else kind
    else:
        for argument in arguments:
            yield from _forms(argument, refer, bounds)


def _default(model: Model, field: FieldInfo) -> str:
    tag = tag_field(model)
    if field.is_required() or (tag is not None and field is model.model_fields[tag]):
        return "required"
    value: Any = field.get_default(call_default_factory=True)
    if value is None:
        return "none"
    if isinstance(value, BaseModel):
        return f"`{json.dumps(words, ensure_ascii=False)}`" if (words := as_mappings(value)) else "its defaults"
    return f"`{json.dumps(value, ensure_ascii=False)}`" if value != "" else "empty"


if __name__ == "__main__":
    print(page(), end="")
