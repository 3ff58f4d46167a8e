"""The JSON Schemas of scenario and sweep files: a title, a description, the default and the unit of every field."""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from scenarios.schema.base import public_name, tag_field
from scenarios.schema.meanings import MEANINGS

EXTENDS = "A shipped scenario's name, or the path of a file from this one: what is not said here is as it says."
DRAFT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]


def exported(root: type[BaseModel]) -> Schema:
    """The JSON Schema of a file that is a `root`, with what pydantic does not say of it."""
    schema: Schema = root.model_json_schema()
    for model in models_of(root):
        part = schema if model is root else schema["$defs"].get(model.__name__)
        if part is not None:
            _complete(part, model)
    return {"$schema": DRAFT} | schema


def models_of(root: type[BaseModel]) -> list[type[BaseModel]]:
    """The root and every model in it, once."""
    found: dict[type[BaseModel], None] = {root: None}
    ahead = [root]
    while ahead:
        for field in ahead.pop().model_fields.values():
            new = [one for one in _models(field.annotation) if one not in found]
            found |= dict.fromkeys(new)
            ahead += new
    return list(found)


def meaning(model: type[BaseModel], field: str) -> str | None:
    """What a field is, in a line; None where nobody said so."""
    own = f"{public_name(model)}.{field}"
    if own not in MEANINGS and "inversion" in model.model_fields and f"attack.{field}" in MEANINGS:
        own = f"attack.{field}"
    return MEANINGS.get(own, MEANINGS.get(field))


def _complete(part: Schema, model: type[BaseModel]) -> None:
    from scenarios.files.reference import unit

    part["title"], tag = public_name(model), tag_field(model)
    if tag is not None and tag not in part.setdefault("required", []):
        part["required"].append(tag)
    for name, field in part["properties"].items():
        field["title"] = name.replace("_", " ").capitalize()
        field["description"] = meaning(model, name) or ""
        if name == tag:
            field.pop("default", None)
        elif counted := unit(model, name):
            field["description"] += f" Unit: {counted}."


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def extending(schema: Schema) -> Schema:
    """The schema of a scenario file: one that `extends` another need not say all itself, and may say `null`."""
    extends: Schema = {"title": "Extends", "type": "string", "minLength": 1, "description": EXTENDS}
    schema["properties"] = {"extends": extends} | schema["properties"]
    schema["anyOf"] = [{"required": schema.pop("required")}, {"required": ["extends"]}]
    return schema
