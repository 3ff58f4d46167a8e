"""A pydantic model's tag, the words of a literal, and the models inside an annotation or a model."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

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
