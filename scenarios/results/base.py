"""Result types (frozen, closed, keyword-only, documented for the JSON Schema), and the files of a results folder."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass, fields
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeAlias,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BeforeValidator, ConfigDict, JsonValue, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticSerializationError, to_json

from netsim.errors import ScenarioError
from scenarios.files.document import dotted
from scenarios.files.folders import whole
from scenarios.files.mistakes import BOUNDS, WANTED
from scenarios.schema.checks import VERDICTS

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Result:
    """A subclass is a frozen, keyword-only dataclass that pydantic reads strictly by its keys.

    Pydantic takes the configuration from the class itself: a `TypeAdapter` passes none on to nested dataclasses.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True)

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)


class Table(Result):
    """A result whose lists are the columns of one table: they are of one length.

    `COLUMNS` names them where other lists stand beside them. A file that has a column of another length is no file of
    results, and is refused as it is read.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        own = cast("dict[str, object]", vars(self))
        columns = {name: own[name] for name in self.COLUMNS or own}
        lengths = {
            name: len(column)
            for name, column in columns.items()
            if isinstance(column, Sized) and not isinstance(column, str)
        }
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{n} {name}" for name, n in lengths.items())
            raise ValueError(f"lists of {found}: they are columns of one table")
        return self


def taken(cls: type[T], source: object, /, **others: object) -> T:
    """An instance of a result type: each field is the attribute of that name of `source`, but for `others`.

    A field that neither has keeps its default; one without a default is a `TypeError`.
    """
    names = [field.name for field in fields(cast("Any", cls)) if field.name not in others]
    own = {name: getattr(source, name) for name in names if hasattr(source, name)}
    return cast("Any", cls)(**own, **others)


def keys(kind: type[Any]) -> Iterator[tuple[str, str, Any]]:
    """Of each field of a result type its name, its key in the file, and its annotation."""
    hints = get_type_hints(kind, include_extras=True)
    for name in (one.name for one in fields(kind)):
        extras = get_args(hints[name])[1:] if get_origin(hints[name]) is Annotated else ()
        alias = next((one.alias for one in extras if isinstance(one, FieldInfo) and one.alias), None)
        yield name, alias or name, hints[name]


TEXTS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""Numbers that JSON has no word for."""


def numbers_of(value: object) -> object:
    """A value of a scenario with these texts as numbers again."""
    match value:
        case str():
            return TEXTS.get(value, value)
        case dict():
            return {key: numbers_of(one) for key, one in cast("dict[str, object]", value).items()}
        case list():
            return [numbers_of(one) for one in cast("list[object]", value)]
        case _:
            return value


Setting: TypeAlias = Annotated[JsonValue, BeforeValidator(numbers_of)]
"""The value of a field of a scenario: whatever YAML can say."""
Edge: TypeAlias = tuple[int, int]
Numbers: TypeAlias = tuple[float, ...]
Counts: TypeAlias = tuple[int, ...]
Ends: TypeAlias = tuple[float, float, float]
"""Lower end, estimate, upper end; of costs and steps smallest, mean, largest."""
Rows: TypeAlias = tuple[Numbers, ...]
Unit: TypeAlias = Literal["rounds", "activations"]
Status: TypeAlias = Literal["running", "complete", "interrupted", "failed"]
Verdict: TypeAlias = VERDICTS


class Refused(Result):
    """A stage that could not be done."""

    refused: str
    """The reason, as a sentence."""


class LeftOut(Result):
    """An agent that an attack could not be run on."""

    agent: int
    """The agent."""
    why: str
    """Why it does not grant what the attack needs."""


class Rate(Result):
    """How often something happened, with its Clopper–Pearson interval."""

    count: int
    """How often it happened."""
    of: int
    """Of how many."""
    rate: float
    """count/of."""
    low: float
    """Lower end of the Clopper–Pearson interval."""
    high: float
    """Its upper end."""


# ── files of a results folder ───────────────────────────────────────────────────────────────────────────


def first_mistake(error: ValidationError, tree: object, file: str, remedy: str) -> ScenarioError:
    """The first mistake of the tree of a file that netsim wrote, and that somebody changed, or another version
    wrote."""
    first = error.errors(include_url=False)[0]
    keys, node = list[str | int](), tree
    for key in first["loc"]:  # names of classes that a value may be are no keys
        inner = cast("Mapping[str, object]", node) if isinstance(node, Mapping) else dict[str, object]()
        if isinstance(node, list) and isinstance(key, int):
            inner = {str(k): one for k, one in enumerate(cast("list[object]", node))}
        if str(key) in inner or (key == first["loc"][-1] and isinstance(node, Mapping)):
            node = inner.get(str(key))
            keys.append(key)
    value = None if first["type"].startswith("missing") else first["input"]
    return ScenarioError(dotted(keys) or "results", value, _in_words(first), remedy, file)


def _in_words(mistake: ErrorDetails) -> str:
    kind, context = mistake["type"], mistake.get("ctx", {})
    if kind.startswith("missing"):
        return "missing"
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return "unknown field"
    if kind in ("literal_error", "enum"):
        return f"none of {context['expected']}"
    if kind in BOUNDS:
        return f"out of range: it is {BOUNDS[kind].format(**context)}"
    wanted = WANTED.get(re.sub("_(exact_)?(type|parsing)$", "", kind))
    return f"is not {wanted}" if wanted else mistake["msg"].removeprefix("Value error, ")


def as_json(value: object) -> str:
    """A document as text, without a line end; bytes of a file's name that are no UTF-8 are question marks."""
    plain = _finite(value)
    try:
        return to_json(plain, indent=1).decode()  # with an indent json.dumps is in Python, and ten times as slow
    except PydanticSerializationError:
        return json.dumps(plain, indent=1, ensure_ascii=False).encode(errors="replace").decode()


def write_text(path: Path, text: str) -> None:
    """Text and a line end as a file, written whole or not at all."""
    with whole(path) as draft:
        draft.write_text(text + "\n", encoding="utf-8")


def _finite(value: object) -> object:
    if isinstance(value, float):  # nearly all of a document, and whether it is a mapping takes longest to see
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in cast("list[object]", value)]
    return value
