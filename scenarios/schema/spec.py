"""The closed model that every part of a scenario is, numbers with bounds, and specs: models whose fields are those of
a core dataclass or function, with its bounds, defaults and documentation; and the JSON Schema of a file of models.

    class FixedPoint(Spec, of=codecs.FixedPoint, kind="fixed_point"):
        limit: Positive

A spec declares only the fields that differ from the core's, and calls `of` in `build`; one that declares none is
made by `derived`. A law, a schedule or a codec of the core is in a scenario the union that `OF_TYPE` has for it.
"""

import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, PydanticKnownError, PydanticUndefined

from netsim.bounds import LARGEST, Auto
from netsim.errors import ScenarioError
from scenarios.files.mistakes import mistakes
from scenarios.files.models import differing, literals, places, tag_field

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class _DeclaredModel(ModelMetaclass):
    """Mistakes made in Python raise the errors of a file's mistakes."""

    if not TYPE_CHECKING:

        def __call__(cls, *args: Any, **said: Any) -> Any:  # noqa: N805
            if args:
                fields = cls.model_fields.items()
                of = [(not one.is_required(), name) for name, one in fields if name != tag_field(cls)]
                name = public_name(cls)
                why = "a value without the name of its field"
                raise ScenarioError(name, args[0], why, f"{name}({min(of)[1]}=…): every value by name")
            try:
                return super().__call__(**said)
            except ValidationError as error:
                raise mistakes(error, said, None, cls) from None


class Model(BaseModel, metaclass=_DeclaredModel):
    """Closed and frozen; numbers are numbers (no text is turned into one).

    Made from Python, `Ring(agents=8)`, it raises one `ScenarioError` with every mistake, as a file would.
    Its repr is Python that makes it again, from the names of `scenarios.schema`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True, defer_build=True)

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

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            if name in type(self).model_fields:
                what = public_name(type(self))
                why = f"a {what} is not changed: replace gives another one that has it"
                raise ScenarioError(name, value, why, f"{what.lower()} = {what.lower()}.replace({name}=…)")
            super().__setattr__(name, value)

    def __repr_name__(self) -> str:
        return public_name(type(self))

    def __repr_args__(self) -> "Iterator[tuple[str | None, Any]]":
        return ((name, getattr(self, name)) for name in differing(self) if name != tag_field(type(self), alone=True))


def _each_once(values: list[Any]) -> list[Any]:
    places: dict[str, int] = {}
    for k, value in enumerate(values):
        if (first := places.setdefault(_as_number(value), k)) < k:
            words = {"problem": f"there twice: it is entry {first}, too", "allowed": "each value once", "entry": k}
            raise PydanticCustomError("twice", "{problem}", words)
    return values


def _as_number(value: Any) -> str:
    """A value's text, which is the same of 1 and 1.0, and not of 1 and true."""
    if isinstance(value, Mapping):
        named = ((str(name), _as_number(one)) for name, one in cast("Mapping[Any, Any]", value).items())
        return repr(dict(sorted(named)))
    if isinstance(value, list | tuple):
        return repr([*map(_as_number, cast("Sequence[Any]", value))])
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return repr(float(value) if number and abs(value) <= LARGEST else value)


Values = Annotated[list[Any], Field(min_length=1), AfterValidator(_each_once)]
"""The values that a field takes one after the other, each of them once."""


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
Place = Annotated[list[Finite], Field(min_length=2, max_length=2)]
"""x and y."""
Edge = Annotated[list[Index], Field(min_length=2, max_length=2)]


def built(field: str, spec: Any) -> Any:
    """The core's object for a part; an error that has no place in another file is one of this field."""
    try:
        return spec.build()
    except ScenarioError as error:
        raise error if error.file is not None else error.under(field) from None


OF_TYPE: dict[Any, Any] = {}
"""The annotation by which a scenario says a value of a core type: `Schedule` is a number or a kind of schedule."""
OF_VALUE: dict[Any, Any] = {}
"""By the type of a core default: the function that makes the scenario's form of it."""
KINDS: list[Any] = []
"""Every spec that has a kind, in the order of their classes."""
NEITHER: tuple[Any, ...] = (Path, get_origin(Callable[..., Any]))
"""Types that a file cannot hold; they are left out of unions."""

if TYPE_CHECKING:

    class Spec:
        """A part of a scenario with the fields of a dataclass or function of the core."""

        of: ClassVar[Any]
        build: Callable[..., Any]
        model_fields: ClassVar[dict[str, FieldInfo]]

        def __init_subclass__(
            cls,
            *,
            of: Any = None,
            kind: str = "",
            name: str = "",
            without: tuple[str, ...] = (),
            optional: bool = False,
        ) -> None: ...
        def __init__(self, **fields: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def made(self, **given: Any) -> Any: ...
        def model_dump(self, **options: Any) -> Any: ...

else:

    class Derived(_DeclaredModel):
        """Adds the fields of `of`, but for those `without`, to the ones that the class declares itself."""

        def __new__(
            mcs, title, bases, namespace, *, of=None, kind="", name="", without=(), optional=False, **options
        ):
            declared = dict(namespace.get("__annotations__", {}))
            fields = {"kind": Literal[kind]} if kind else {}
            if kind:
                namespace["kind"] = kind
            if name:
                fields["name"], namespace["name"] = str, name
            inherited = {field for base in bases for field in getattr(base, "model_fields", {})}
            for field, (annotation, default) in (parameters(of) if of is not None else {}).items():
                if field in without or (field in inherited and field not in declared):
                    continue
                if field in declared:
                    fields[field] = declared[field]
                    continue
                fields[field] = _adapted(annotation)
                if optional:
                    fields[field], default = fields[field] | None, None
                default = "auto" if _auto(annotation) and default is PydanticUndefined else default
                if default is not PydanticUndefined:
                    namespace[field] = _default(default)
            namespace["__annotations__"] = fields | declared
            if of is not None:
                namespace["of"] = of if isinstance(of, type) else staticmethod(of)
                namespace["__annotations__"]["of"] = ClassVar[Any]
                namespace.setdefault("__doc__", (inspect.getdoc(of) or "").partition("\n\n")[0])
            made = super().__new__(mcs, title, bases, namespace, **options)
            made.optional = optional
            if kind:
                KINDS.append(made)
            if isinstance(of, type):
                OF_VALUE.setdefault(of, made)
            return made

        def __init__(self, title, bases, namespace, **options):  # noqa: ARG002 - all is done above
            super().__init__(title, bases, namespace)

    class Spec(Model, metaclass=Derived):
        """A part of a scenario with the fields of a dataclass or function of the core."""

        of: ClassVar[Any]

        def build(self):
            """What the core has for it; a `ScenarioError` has the field's path from here."""
            return self.made()

        def made(self, **given):
            """`of`, called with the fields that it takes, and with what is `given` in their place."""
            own = [name for name in parameters(type(self).of) if name in type(self).model_fields]
            return type(self).of(**{name: core(name, getattr(self, name)) for name in own} | given)


_S = TypeVar("_S", bound=Spec)


def derived(title: str, base: type[_S], of: Any, kind: str, tag: str = "kind", **options: Any) -> type[_S]:
    """`class title(base, of=of, kind=kind, **options): ...` of the module that calls it; `tag`: a field in place of
    `kind`, which comes last."""
    fields: dict[str, object] = {
        "__module__": cast("Any", sys)._getframe(1).f_globals["__name__"],
        "__qualname__": title,
    }
    if tag == "kind":
        options["kind"] = kind
    else:
        fields |= {"__annotations__": {tag: Literal[kind]}, tag: kind}
    return cast("Any", type(base))(title, (base,), fields, of=of, **options)


def union(specs: Sequence[Any], tag: str = "kind") -> Any:
    """The annotation of a field that may be any of these specs."""
    return Annotated[Union[tuple(specs)], Field(discriminator=tag)]  # noqa: UP007


def kinds_of(base: Any) -> Any:
    """The annotation of a field that may be any spec of a base."""
    return union([one for one in KINDS if issubclass(one, base)])


def core(field: str, value: Any) -> Any:
    """A field's value as the core has it."""
    if isinstance(value, list):
        return tuple(core(f"{field}[{index}]", one) for index, one in enumerate(cast("list[Any]", value)))
    return built(field, value) if isinstance(value, Model) else value


# ── the core's declarations ──────────────────────────────────────────────────────────────────────────────


@cache
def parameters(of: Any) -> dict[str, tuple[Any, Any]]:
    """The annotation and the default of every parameter of a dataclass, or of a function up to its `*`."""
    if isinstance(of, type):
        hints = get_type_hints(of, include_extras=True)
        given = [
            (one.name, FieldInfo.from_annotated_attribute(object, one)) for one in dataclasses.fields(of) if one.init
        ]
        return {name: (hints[name], one.get_default(call_default_factory=True)) for name, one in given}
    taken = inspect.signature(of).parameters.values()
    return {
        one.name: (one.annotation, PydanticUndefined if one.default is one.empty else one.default)
        for one in taken
        if one.kind is not one.KEYWORD_ONLY
    }


def _auto(annotation: Any) -> Auto | None:
    """How the theory chooses the value, where it does."""
    return next((one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, Auto)), None)


def automatic(of: Any, field: str) -> Auto:
    """How the theory chooses a field that a scenario may call "auto"."""
    return cast("Auto", _auto(parameters(of)[field][0]))


# ── types of a scenario ─────────────────────────────────────────────────────────────────────────────────


def _adapted(annotation: Any, bounds: tuple[Any, ...] = ()) -> Any:
    """An annotation of the core as that of a model's field: tuples are lists, numbers finite, laws their unions."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner = _adapted(arguments[0], tuple(one for one in arguments[1:] if not isinstance(one, Auto | str)))
        return Literal["auto"] | inner if _auto(annotation) else inner
    if annotation in OF_TYPE:
        return OF_TYPE[annotation]
    if origin in (Union, UnionType):
        kept = [one for one in arguments if one not in NEITHER and get_origin(one) not in NEITHER]
        return _adapted(kept[0], bounds) if len(kept) == 1 else Union[tuple(_adapted(one) for one in kept)]  # noqa: UP007
    if origin is Sequence or (origin is tuple and arguments[-1] is Ellipsis):
        entries = list[_adapted(arguments[0])]
        return Annotated[entries, *bounds] if bounds else entries
    if origin is tuple:
        return Annotated[list[_adapted(arguments[0])], Field(min_length=len(arguments), max_length=len(arguments))]
    if annotation is float and not all(any(isinstance(one, end) for one in bounds) for end in (Ge | Gt, Le | Lt)):
        return Annotated[
            float, *bounds, Field(allow_inf_nan=False), UP_TO_LARGEST
        ]  # nothing infinite is between two bounds
    return Annotated[annotation, *bounds] if bounds else annotation


def _default(value: Any) -> Any:
    """A default of the core as a scenario says it."""
    if isinstance(value, tuple):
        return [_default(one) for one in cast("tuple[Any, ...]", value)]
    made: Any = OF_VALUE.get(cast("Any", type(value)))
    if made is None or not hasattr(made, "of"):
        return value if made is None else made(value)
    fields = {name: _default(getattr(value, name)) for name in parameters(made.of)}
    tag = made.model_fields.get("kind")
    return made(**fields if tag is None else {"kind": tag.default} | fields)


# ── documentation of fields ────────────────────────────────────────────────────────────────────────────

KIND = "Which of the possible kinds this is."


def meaning(model: type[BaseModel], field: str) -> str:
    """Documentation of a field: the text below it in the model, or in the core; empty where there is none."""
    core = getattr(model, "of", None)
    said = field_texts(model).get(field) or (field_texts(core) if isinstance(core, type) else {}).get(field)
    if core is None or field not in parameters(core):
        return said or (KIND if field == tag_field(model) else "")
    annotation = parameters(core)[field][0]
    said = said or next((one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, str)), "")
    if getattr(model, "optional", False) and field not in field_texts(model):
        said = f"{said.removesuffix('.')}; none: as published."
    auto = _auto(annotation)
    return said if auto is None else f'{said} "auto" is {auto.formula}.'


@cache
def field_texts(owner: type) -> dict[str, str]:
    """The texts below the fields of a class, its bases' included; each on one line."""
    found: dict[str, str] = {}
    for one in reversed(owner.__mro__):
        if one.__module__.partition(".")[0] in ("netsim", "attacks", "scenarios"):
            found |= {name: " ".join(text.split("\n")) for name, text in _docstrings(one).items()}
    return found


def _docstrings(owner: type) -> dict[str, str]:
    """The texts below a class's own fields, from its source."""
    body = _parsed(owner.__module__).body
    for part in owner.__qualname__.split("."):
        body = next(
            (one.body for one in body if isinstance(one, ast.ClassDef) and one.name == part), list[ast.stmt]()
        )
    found: dict[str, str] = {}
    for field, text in pairwise(body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                found[name] = inspect.cleandoc(said)
            case _:
                pass
    return found


@cache
def _parsed(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[module]))


UNITS = ("bytes per second", "seconds", "bytes")
"""What quantities of the network are counted in."""


def unit(model: type[BaseModel], name: str) -> str:
    """The unit of a number of the network, as its documentation names it."""
    annotation, said = str(model.model_fields[name].annotation), meaning(model, name).lower()
    return next((one for one in UNITS if one in said and re.search("float|int", annotation)), "")


def tag_of(model: type[BaseModel]) -> tuple[str, str] | None:
    """The field and the word by which a file says that it means this model, if there are others in its place."""
    name = tag_field(model)
    return None if name is None else (name, ", ".join(map(str, literals(model, name))))


# ── JSON Schema ─────────────────────────────────────────────────────────────────────────────────────────
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
