"""A pydantic model's tag, its words and inner models; and a model as its file: mappings or YAML."""

from collections.abc import Iterator
from typing import Any, Literal, cast, get_args, get_origin

from pydantic import BaseModel

from scenarios.files.document import Tree, as_yaml

TAGS = ("kind", "name", "measure", "law")
"""Fields that tell the members of a union apart."""


def tag_field(model: type[BaseModel], alone: bool = False) -> str | None:
    """The field that distinguishes a member of a union: a literal that is required, or that has one value only
    (`alone`: only such a one). None for a model that is no such member."""
    for name in TAGS:
        words = literals(model, name) if name in model.model_fields else ()
        if len(words) == 1 or (words and not alone and model.model_fields[name].is_required()):
            return name
    return None


def literals(model: type[BaseModel], field: str) -> tuple[Any, ...]:
    """The values of a field that is a literal; none of any other field."""
    annotation = model.model_fields[field].annotation
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def places(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Every model in one, and itself, once, and the path at which a file first holds it."""
    seen: set[type[BaseModel]] = set()
    ahead = [("", model)]
    while ahead:
        path, one = ahead.pop(0)
        if one in seen:
            continue
        seen.add(one)
        yield path, one
        ahead[:0] = [
            (f"{path}.{name}{'[]' if get_origin(field.annotation) is list else ''}".lstrip("."), inner)
            for name, field in one.model_fields.items()
            for inner in models_in(field.annotation)
        ]


# ── as a file ───────────────────────────────────────────────────────────────────────────────────────────
def dump(scenario: BaseModel, full: bool = False) -> str:
    """YAML that `load` reads as the same scenario; `full`: with every default. Fields are in the schema's order."""
    return as_yaml(as_mappings(scenario, full))


def as_mappings(model: BaseModel, full: bool = False) -> Tree:
    """A model as the mappings and lists of its file; `full`: with every default."""
    names = list(type(model).model_fields) if full else differing(model)
    first = [name for name in (tag_field(type(model)), "kind", "name") if name in names]
    found = {name: _plain(getattr(model, name), full) for name in dict.fromkeys([*first, *names])}
    if full:
        return found
    again = type(model).model_validate(found)  # of two models that look alike but for a default, that has to stand
    alike = [name for name in found if type(getattr(again, name)) is not type(getattr(model, name))]
    return found | {name: _plain(getattr(model, name), True) for name in alike}


def differing(model: BaseModel) -> list[str]:
    """The fields that a file needs: the tag, those without a default, and those that differ from it (a default may
    depend on other fields: the ridge of an mlp)."""
    kind, tag = type(model), tag_field(type(model))
    own = {name: _plain(getattr(model, name), True) for name in kind.model_fields}
    known = {name: field.get_default(call_default_factory=True) for name, field in kind.model_fields.items()}
    # compared in words, to the type and the last bit: −0.0 is not 0.0, nor 1 1.0
    names = [
        name
        for name, field in kind.model_fields.items()
        if name == tag or field.is_required() or repr(own[name]) != repr(_plain(known[name], True))
    ]
    again = kind.model_validate({name: own[name] for name in names})
    return [name for name in own if name in names or repr(own[name]) != repr(_plain(getattr(again, name), True))]


def _plain(value: Any, full: bool) -> Any:
    if isinstance(value, BaseModel):
        return as_mappings(value, full)
    if isinstance(value, list):
        return [_plain(one, full) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _plain(one, full) for key, one in cast("Tree", value).items()}
    return value
