"""results.json: the tree as text and back, its version and its JSON Schema.

JSON has no infinities: they are the texts "inf" and "-inf", and NaN is "nan": so every JSON reader takes the file.
"""

from functools import cache
from pathlib import Path
from typing import TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from netsim.errors import ScenarioError
from netsim.files import parse_json
from scenarios.files.folders import MANIFEST, RESULTS
from scenarios.results.base import TEXTS, as_json, numbers_of, write_text
from scenarios.results.tree import SCHEMA_VERSION, Manifest, Results
from scenarios.schema.spec import docstrings

T = TypeVar("T")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
REMEDY = f"schema_version {SCHEMA_VERSION}: the {RESULTS} of this version of netsim, or netsim run again"


def dumps(results: object) -> str:
    """A tree, or a part of it, as JSON, without a line end."""
    # Python mode, not pydantic's JSON: that would write "Infinity" and round-trip neither tuples nor our texts.
    return as_json(_adapter(type(results)).dump_python(results, by_alias=True))


@cache  # of the whole tree an adapter takes a quarter of a second to make
def _adapter(kind: type[object]) -> TypeAdapter[object]:
    return TypeAdapter(kind)


def save(folder: Path, results: Results) -> None:
    """Write results.json, whole or not at all."""
    write_text(folder / RESULTS, dumps(results))


def plain(found: object) -> dict[str, object]:
    """Any result as the mapping that JSON has of it, infinities and NaN as numbers."""
    return cast("dict[str, object]", _adapter(type(found)).dump_python(found, by_alias=True))


def loads(text: str, file: str = RESULTS) -> Results:
    """The tree that `dumps` wrote; trees without NaN are equal to the one written.

    You get a `ScenarioError` for text that is no JSON, for results of another schema version, and for keys or values
    that this version does not know; it names the `file` and the first such field.
    """
    tree = _mapping(text, file)
    version = tree.get("schema_version", 1)
    if version != SCHEMA_VERSION:
        newer = isinstance(version, int) and version > SCHEMA_VERSION
        why = "written by a newer netsim" if newer else "written by an older netsim"
        raise ScenarioError("schema_version", version, why, REMEDY, file)
    return _validated(Results, tree, file)


def loads_manifest(text: str, file: str = MANIFEST) -> Manifest:
    """The manifest that `dumps` wrote. Errors as those of `loads`."""
    return _validated(Manifest, _mapping(text, file), file)


def _mapping(text: str, file: str) -> dict[str, object]:
    try:
        raw = parse_json(text)
    except ValueError as error:
        raise ScenarioError("results", file, f"not JSON: {error}", REMEDY, file) from None
    if not isinstance(raw, dict):
        raise ScenarioError("results", file, "not the results of a run", REMEDY, file)
    return cast("dict[str, object]", raw)


def _validated(kind: type[T], tree: dict[str, object], file: str) -> T:
    # The scenario is validated strictly, and takes no text for a number.
    tree["scenario"] = numbers_of(tree.get("scenario"))
    try:
        return cast("T", _adapter(kind).validate_python(tree))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ScenarioError(where or "results", first["input"], first["msg"], REMEDY, file) from None


def schema() -> JsonSchemaValue:
    """The JSON Schema of results.json."""
    found = _adapter(Results).json_schema(mode="validation", by_alias=True, schema_generator=_Schema)
    return {"$schema": DIALECT, "title": RESULTS, **found}


class _Schema(GenerateJsonSchema):
    """A number may be infinite or NaN, which is a text then; fields have their docstrings."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        found = super().float_schema(schema)
        return {"anyOf": [found, {"enum": list(TEXTS)}]}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        # Pydantic's `use_attribute_docstrings` reads them for every adapter, and parses a file once for each of its
        # classes: three quarters of the time that an adapter takes, and only the schema shows them.
        found = super().dataclass_schema(schema)
        for name, text in docstrings(schema["cls"]).items():
            if name in found["properties"]:
                found["properties"][name].setdefault("description", text)
        return found
