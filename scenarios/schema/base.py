"""What every part of a scenario is made of: a closed model, and numbers with bounds."""

from typing import Annotated, Literal, Protocol, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field

from netsim.errors import ScenarioError

Built = TypeVar("Built", covariant=True)


class Model(BaseModel):
    """Closed and frozen; numbers are numbers (no text is turned into one)."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


def tag_field(model: type[BaseModel]) -> str | None:
    """The field that tells a member of a union from the others: a literal that has to be said, or that can be only
    one thing. None of a model that is no such member."""
    return next((name for name in TAGS if name in model.model_fields and _is_tag(model, name)), None)


def _is_tag(model: type[BaseModel], name: str) -> bool:
    field = model.model_fields[name]
    words = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    return bool(words) and (field.is_required() or len(words) == 1)


TAGS = ("kind", "name", "measure", "law")
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, lt=1)]
Probability = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
Words = Annotated[str, Field(min_length=1)]
Index = Annotated[int, Field(ge=0)]
MOST_AGENTS = 1_000_000
Place = Annotated[list[Annotated[float, Field(allow_inf_nan=False)]], Field(min_length=2, max_length=2)]
"""x and y."""
Edge = Annotated[list[Index], Field(min_length=2, max_length=2)]


class Buildable(Protocol[Built]):
    """A part of a scenario that knows how to build what it describes."""

    def build(self) -> Built: ...


def built(field: str, spec: Buildable[Built]) -> Built:
    """What a part describes; an error that has no place in another file is one of this field."""
    try:
        return spec.build()
    except ScenarioError as error:
        raise error if error.file is not None else error.under(field) from None
