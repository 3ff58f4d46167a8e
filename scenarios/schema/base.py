"""The closed model that every part of a scenario is, and numbers with bounds."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticKnownError

from netsim.bounds import LARGEST
from netsim.errors import ScenarioError
from scenarios.files.mistakes import mistakes
from scenarios.files.models import differing, tag_field

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class DeclaredModel(ModelMetaclass):
    """Mistakes made in Python raise the errors of a file's mistakes."""

    if not TYPE_CHECKING:

        def __call__(cls, *args: Any, **said: Any) -> Any:  # noqa: N805
            try:
                return super().__call__(*args, **said)
            except ValidationError as error:
                raise mistakes(error, said, None, cls) from None


class Model(BaseModel, metaclass=DeclaredModel):
    """Closed and frozen; numbers are numbers (no text is turned into one).

    Made from Python, `Ring(agents=8)`, it raises one `ScenarioError` with every mistake, as a file would.
    Its repr is Python that makes it again, from the names of `scenarios.schema`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)

    @field_validator("name", "title", "group", "source", "description", check_fields=False)
    @classmethod
    def _can_be_shown(cls, said: Any, info: ValidationInfo) -> Any:
        """Names and titles are printed: they have no characters that act on a terminal. Descriptions have lines."""
        lines = "\n\t" if info.field_name == "description" else ""
        bad = [one for one in said if not (one.isprintable() or one in lines)] if isinstance(said, str) else []
        if bad:
            raise ValueError(f"has a character that is not printable: U+{ord(bad[0]):04X}")
        return said

    def replace(self, **fields: Any) -> Self:
        """The same with these fields replaced, checked as a whole. Raises a `ScenarioError` with every mistake."""
        return type(self)(**({name: getattr(self, name) for name in self.model_fields_set} | fields))

    def __repr_name__(self) -> str:
        return public_name(type(self))

    def __repr_args__(self) -> "Iterator[tuple[str | None, Any]]":
        return ((name, getattr(self, name)) for name in differing(self) if name != tag_field(type(self), alone=True))


def public_name(model: type[BaseModel]) -> str:
    """The name of a model in `scenarios.schema`."""
    return NAMES.get(model.__name__, model.__name__.removesuffix("Spec"))


NAMES = {
    "AttackSpec": "Attacks", "DPRecalSpec": "DpRecal", "LinkSpec": "Links", "MeasureSpec": "Measures",
    "MessageSpec": "Messages",
}  # fmt: skip
"""Models whose public name is not their class's without Spec."""


def _has_a_square(number: float) -> float:
    if abs(number) > LARGEST:
        raise PydanticKnownError("less_than_equal", {"le": LARGEST})
    return number


UP_TO_LARGEST = AfterValidator(_has_a_square)
"""Of every number without an end; no schema and no page says it of each."""
Finite = Annotated[float, Field(allow_inf_nan=False), UP_TO_LARGEST]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), UP_TO_LARGEST]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), UP_TO_LARGEST]
Share = Annotated[float, Field(ge=0, lt=1)]
Probability = Annotated[float, Field(gt=0, lt=1)]

Words = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(max_length=200)]
"""Of a scenario and what is in it: it stands in tables, and in the names of files."""
Index = Annotated[int, Field(ge=0)]
MOST_AGENTS = 1_000_000
Place = Annotated[list[Finite], Field(min_length=2, max_length=2)]
"""x and y."""
Edge = Annotated[list[Index], Field(min_length=2, max_length=2)]


def built(field: str, spec: Any) -> Any:
    """The core's object for a part; an error that has no place in another file is one of this field."""
    try:
        return spec.build()
    except ScenarioError as error:
        raise error if error.file is not None else error.under(field) from None
