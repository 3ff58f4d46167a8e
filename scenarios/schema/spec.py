"""Specs: models whose fields are those of a core dataclass or function, with its bounds, defaults and documentation.

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
from collections.abc import Callable, Sequence
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
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from netsim.bounds import Auto
from scenarios.files.models import literals, tag_field
from scenarios.schema.base import UP_TO_LARGEST, DeclaredModel, Model, built

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

    class Derived(DeclaredModel):
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
    said = _below(model).get(field) or (_below(core) if isinstance(core, type) else {}).get(field)
    if core is None or field not in parameters(core):
        return said or (KIND if field == tag_field(model) else "")
    annotation = parameters(core)[field][0]
    said = said or next((one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, str)), "")
    if getattr(model, "optional", False) and field not in _below(model):
        said = f"{said.removesuffix('.')}; none: as published."
    auto = _auto(annotation)
    return said if auto is None else f'{said} "auto" is {auto.formula}.'


@cache
def _below(owner: type) -> dict[str, str]:
    """The texts below the fields of a class, its bases' included; each on one line."""
    found: dict[str, str] = {}
    for one in reversed(owner.__mro__):
        if one.__module__.partition(".")[0] in ("netsim", "attacks", "scenarios"):
            found |= {name: " ".join(text.split("\n")) for name, text in docstrings(one).items()}
    return found


def docstrings(owner: type) -> dict[str, str]:
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
