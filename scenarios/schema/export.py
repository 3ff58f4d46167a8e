"""The JSON Schemas of scenario and sweep files, and the line by which an editor finds them: a title, a description
and the default of every field.

The line is that of the YAML language server (VS Code, Neovim, Emacs, JetBrains). A shipped file names its schema by
the path from itself, which works in a checkout and where the package is installed; a file that is written elsewhere
names the installed schema, by its address on this machine: no network is needed.
"""

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaValue

from scenarios.files.models import places, tag_field
from scenarios.schema.base import public_name
from scenarios.schema.spec import meaning

Kind = Literal["scenario", "sweep"]
MARK = "# yaml-language-server: $schema="


def schema_file(kind: Kind = "scenario") -> Path:
    """The installed JSON Schema of a scenario file, or of a sweep file."""
    return Path(__file__).with_name(f"{kind}.schema.json")


def schema_line(kind: Kind = "scenario", beside: Path | None = None) -> str:
    """The first line of a YAML file, with its line break, by which editors find its schema.

    `beside`: the folder of the file, which then names the schema by a relative path (for files of this package).
    Without it the line names the installed schema, for a file that may be anywhere on this machine.
    """
    file = schema_file(kind)
    return f"{MARK}{file.as_uri() if beside is None else os.path.relpath(file, beside).replace(os.sep, '/')}\n"


def with_schema_line(text: str, kind: Kind = "scenario", beside: Path | None = None) -> str:
    """A YAML text that begins with its schema line; one that it has is replaced."""
    first, _, rest = text.partition("\n")
    return schema_line(kind, beside) + (rest if first.startswith(MARK) else text)


DRAFT = "https://json-schema.org/draft/2020-12/schema"


def exported(root: type[BaseModel]) -> JsonSchemaValue:
    """The JSON Schema of a file that is a `root`, with what pydantic does not say of it."""
    schema = root.model_json_schema()
    for _, model in places(root):
        part = schema if model is root else schema["$defs"].get(model.__name__)
        if part is None:
            continue
        part["title"], tag = public_name(model), tag_field(model)
        if tag is not None and tag not in part.setdefault("required", []):
            part["required"].append(tag)
        for name, field in part["properties"].items():
            field["title"] = name.replace("_", " ").capitalize()
            field["description"] = meaning(model, name)
            if name == tag:
                field.pop("default", None)
    return {"$schema": DRAFT} | schema
