"""Arguments of public constructors and functions against their annotations: which is wrong, and what is expected."""

import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, wraps
from numbers import Integral, Real
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from netsim.errors import ScenarioError, a_or_an, meant, together, what

P = ParamSpec("P")
R = TypeVar("R")
EXAMPLES = {
    "AccessLaw": "AccessLaw(uplink=1e6) of netsim.network.links",
    "ActiveAdversary": "ActiveAdversary(…) of netsim.network.active_adversaries",
    "Adjacency": "the one that `claim` is handed",
    "Adversary": 'netsim.Adversary(links="all")',
    "Algorithm": "Mine(rounds=20)",
    "Codec": "FLOAT64 of netsim.codecs",
    "Dataset": 'load("digits") of netsim.problems',
    "DelayLaw": "ConstantDelay(0.01) of netsim.network.laws",
    "ExchangePolicy": "WAIT_FOR_ALL of netsim.network.links",
    "Generator": "default_rng(0) of numpy.random",
    "Gaussian": "Gaussian(0.5) of netsim.mechanisms",
    "LinkLaw": "LinkLaw(loss=0.1) of netsim.network.links",
    "Mechanism": "Laplace(0.5) of netsim.mechanisms",
    "NetworkSettings": "NetworkSettings(links=LinkLaw(loss=0.1)) of netsim.settings",
    "Objective": "netsim.objective(f, gradient, dimension, smoothness=L)",
    "Path": 'pathlib.Path("folder")',
    "Problem": "logistic(data.split(5), ridge=0.1) of netsim.problems",
    "Recording": "Recording(measure=False) of netsim.settings",
    "Regularizer": "L1(0.1) of netsim.problems",
    "Schedule": "netsim.schedules.Constant(0.1), or any function of the round",
    "Truth": "the `truth` of a run",
    "Timing": "Timing(compute=ConstantDelay(0.01)) of netsim.settings",
    "Topology": "ring(5) of netsim.topology",
    "Wiretaps": "Around((0,)) of netsim.adversary",
}
"""How a value of a type is written, by the type's name."""
SEVERAL = {"Dataset": 'load("digits").split(5)'}
"""The same of a tuple of such values, where one function makes it."""
_PLAIN: dict[object, tuple[tuple[type, ...], str]] = {
    bool: ((bool, np.bool_), "True or False"),
    int: ((int, Integral), "an integer"),
    float: ((float, Real), "a number"),
    str: ((str,), "a text"),
}


def check_types(made: object, *, arrays: bool = False) -> None:
    """Raise a `ScenarioError` that names every field of a dataclass whose value is of another type than annotated.

    A value that is the field's default is right, and an annotation that cannot be resolved says nothing.
    With `arrays`, an array may stand where a number is annotated: there is one for each replica or coordinate; and
    None for what is no number or text.
    """
    hints, kind = _hints(type(made)), cast("Any", type(made))
    wrong: list[ScenarioError] = []
    for one in fields(kind) if is_dataclass(kind) else ():
        value: object = getattr(made, one.name, None)
        default = one.default is not MISSING and value is one.default
        if one.init and one.name in hints and not default:
            wrong += _mistakes(one.name, value, hints[one.name], arrays)
    if wrong:
        raise together(wrong)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which raises a `ScenarioError` for arguments of other types than annotated, and for one of a name
    that it does not have."""
    parameters = inspect.signature(function)
    single = {name for name, one in parameters.parameters.items() if one.kind not in _MANY}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        hints = _hints(function)
        try:
            given = parameters.bind(*args, **kwargs).arguments
        except TypeError:
            if wrong := [one for name, value in kwargs.items() for one in _no_argument(function, name, value)]:
                raise together(wrong) from None
            return function(*args, **kwargs)  # Python says it in its own words
        defaults = {name: one.default for name, one in parameters.parameters.items()}
        wrong = [
            mistake
            for name, value in given.items()
            if name in hints and name in single and value is not defaults[name]
            for mistake in _mistakes(name, value, hints[name], arrays=False)
        ]
        if wrong:
            raise together(wrong)
        return function(*args, **kwargs)

    return call


def named(kind: type[R]) -> type[R]:
    """The class, a dataclass, which raises a `ScenarioError` for an argument of a name that it does not have."""
    made = kind.__init__

    @wraps(made)
    def construct(self: R, *args: object, **kwargs: object) -> None:
        try:
            made(self, *args, **kwargs)
        except TypeError:
            if wrong := [one for name, value in kwargs.items() for one in _no_argument(kind, name, value)]:
                raise together(wrong) from None
            raise

    cast("Any", kind).__init__ = construct
    return kind


_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _no_argument(function: Callable[..., object], name: str, value: object) -> list[ScenarioError]:
    """The mistake of a keyword that a function does not have; none where it has it."""
    parameters = inspect.signature(function).parameters
    known = [one for one, of in parameters.items() if of.kind not in (*_MANY, inspect.Parameter.POSITIONAL_ONLY)]
    if name in known:
        return []
    known = [one for one in known if one != "self"]
    label = getattr(function, "__name__", "")
    if name in parameters:
        several = cast("Sequence[object]", value) if _is_list(value) else [value]
        return [ScenarioError(name, value, "no name", f"{label}(…, {', '.join(map(repr, several))}): without a name")]
    several = [f"*{one}" for one, of in parameters.items() if of.kind is of.VAR_POSITIONAL]
    inner = next(_further_in(function, name), "")
    hint = f"; did you mean {inner}?" if inner else meant(name, known)
    return [ScenarioError(name, value, f"no argument of {label}{hint}", ", ".join([*known, *several]))]


def _further_in(function: Callable[..., object], name: str, deep: int = 2) -> Iterator[str]:
    """The arguments of whose class, or of the class of a field of which, a name is a field."""
    for argument, kind in _hints(function).items():
        if isinstance(kind, type) and is_dataclass(kind) and deep:
            own = name in {one.name for one in fields(kind)}
            within = [f"{name}=…"] if own else _further_in(kind, name, deep - 1)
            yield from (f"{argument}={kind.__name__}({one})" for one in within)


def expect(value: object, field: str, hint: Any) -> None:
    """Raise a `ScenarioError` at this field for a value of another type."""
    if wrong := _mistakes(field, value, hint, arrays=False):
        raise together(wrong)


@cache
def _hints(of: Any) -> dict[str, object]:
    try:
        return get_type_hints(of)
    except Exception:  # one of them names nothing, or what only a type checker loads: the others say what they say
        found = dict[str, object]()
        for name, one in inspect.get_annotations(of).items():
            with suppress(Exception):
                alone = type("", (), {"__annotations__": {name: one}, "__module__": of.__module__})
                found |= get_type_hints(alone)
        return found


def _mistakes(field: str, value: object, hint: Any, arrays: bool) -> list[ScenarioError]:
    """What is wrong with a value: itself, or an entry of it."""
    if _test(hint, arrays)(value):
        return []
    for form in _forms(hint):
        inside = _entries(value, form)
        found = [one for name, entry, of in inside or () for one in _mistakes(f"{field}{name}", entry, of, arrays)]
        if found:
            return found[:1]
    why = "not an integer" if _forms(hint) == [int] else what(value) + _as_list(value, hint) + _lacking(value, hint)
    return [ScenarioError(field, value, why, ", or ".join(dict.fromkeys(map(_wanted, _forms(hint)))))]


def _as_list(value: object, hint: Any) -> str:
    """A question that offers a list of one, where a text or a number is an entry of the list that is wanted."""
    lists = [form for form in _forms(hint) if get_origin(form) in (tuple, Sequence, list)]
    alone = isinstance(value, str | Real) and any(_test(form, arrays=False)([value]) for form in lists)
    return f"; did you mean [{value!r}]?" if alone else ""


def _lacking(value: object, hint: Any) -> str:
    """What an object of somebody's own class has not of a protocol of which it has some."""
    for form in _forms(hint) if type(value).__module__.partition(".")[0] != "netsim" else ():
        members = _members(form) if getattr(form, "_is_protocol", False) and not isinstance(value, type) else ()
        missing = sorted(name for name in members if not _has(value, name))
        if 0 < len(missing) < len(members):
            return f"; it has no {', '.join(missing)}"
    return ""


def _forms(hint: Any) -> list[Any]:
    """The members of a union; the annotation itself where it is none. A name for an annotation, as NumPy's `NDArray`
    may be, is that."""
    named = getattr(get_origin(hint) or hint, "__value__", None)
    if named is not None:
        return _forms(named[get_args(hint)] if get_args(hint) else named)
    if get_origin(hint) is Annotated:
        return _forms(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return [form for one in get_args(hint) for form in _forms(one)]
    return [hint]


@cache
def _test(hint: Any, arrays: bool) -> Callable[[Any], bool]:
    """Whether a value is what an annotation allows: made once, for a network has very many laws and edges."""
    tests = tuple(_test_form(form, arrays) for form in _forms(hint))
    return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)


def _test_form(form: Any, arrays: bool) -> Callable[[Any], bool]:
    origin, inner = get_origin(form), get_args(form)
    if form in (None, type(None)):
        return lambda value: value is None
    if origin is Literal:
        return lambda value: any(type(value) is type(one) and value == one for one in inner)
    if form in _PLAIN:
        kinds, excluded = _PLAIN[form][0], () if form is bool else bool
        if arrays and form is float:
            kinds = (*kinds, np.ndarray)
        return lambda value: isinstance(value, kinds) and not isinstance(value, excluded)
    test = _test_list(origin, inner, arrays) or _test_object(form, origin)
    return (lambda value: value is None or test(value)) if arrays else test


def _test_list(origin: Any, inner: tuple[Any, ...], arrays: bool) -> Callable[[Any], bool] | None:
    """The test of a list or a mapping and its entries; None where the annotation is neither."""
    if origin not in (Mapping, dict, tuple, Sequence, list):
        return None
    tests = [one if one is Ellipsis else _test(one, arrays) for one in inner]
    if origin in (Mapping, dict):
        return lambda value: (
            isinstance(value, Mapping)
            and all(map(tests[0], cast("Mapping[object, object]", value)))
            and all(map(tests[1], cast("Mapping[object, object]", value).values()))
        )
    if origin is tuple and inner[-1] is not Ellipsis:
        return lambda value: (
            _is_list(value)
            and len(value) == len(tests)
            and all(test(entry) for test, entry in zip(tests, value, strict=True))
        )
    return lambda value: _is_list(value) and all(map(tests[0], value))


def _is_list(value: object) -> bool:
    return isinstance(value, (tuple, list, Sequence)) and not isinstance(value, (str, bytes))


def _test_object(form: Any, origin: Any) -> Callable[[Any], bool]:
    if origin is Callable or form is Callable:
        return callable
    if origin is Iterable:
        return lambda value: isinstance(value, Iterable) and not isinstance(value, str)
    if origin is np.ndarray:
        return lambda value: isinstance(value, np.ndarray)
    if form is Any or not isinstance(form, type):
        return lambda _: True
    if getattr(form, "_is_protocol", False):
        return lambda value: not isinstance(value, type) and all(_has(value, name) for name in _members(form))
    return lambda value: isinstance(value, form)


def _entries(value: object, form: Any) -> list[tuple[str, object, Any]] | None:
    """The entries of a list or a mapping: where each is, itself, and its annotation; None where it is neither of
    them, or the annotation is not."""
    origin, inner = get_origin(form), get_args(form)
    if origin in (Mapping, dict) and isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return [
            one for key, entry in pairs for one in ((f"[{key!r}]", key, inner[0]), (f"[{key!r}]", entry, inner[1]))
        ]
    if origin in (tuple, Sequence, list) and _is_list(value):
        entries = list(cast("Sequence[object]", value))
        if origin is tuple and inner[-1] is not Ellipsis:
            if len(entries) != len(inner):
                return None
            return [(f"[{k}]", entry, of) for k, (entry, of) in enumerate(zip(entries, inner, strict=True))]
        return [(f"[{k}]", entry, inner[0]) for k, entry in enumerate(entries)]
    return None


@cache
def _members(protocol: type) -> frozenset[str]:
    """What an object of a protocol has."""
    return frozenset(
        name
        for base in protocol.__mro__
        if getattr(base, "_is_protocol", False) and cast("object", base) is not Protocol
        for name in {*vars(base), *inspect.get_annotations(base)}
        if not name.startswith("_") or name == "__call__"
    )


def _has(value: object, name: str) -> bool:
    """Whether it is there; a property is not computed for that, unless something else stands in for it."""
    if name == "__call__":  # which every class has, for its objects or for itself
        return callable(value)
    return hasattr(type(value), name) or name in getattr(value, "__dict__", ()) or hasattr(value, name)


def _wanted(form: Any) -> str:
    """What an annotation allows, with an example where there is one."""
    origin, inner = get_origin(form), get_args(form)
    if form in (None, type(None)):
        return "None"
    if origin is Literal:
        return ", ".join(map(repr, inner))
    if form in _PLAIN:
        return _PLAIN[form][1]
    if origin in (Mapping, dict):
        return f"a dict {{{_short(inner[0])}: {_short(inner[1])}}}"
    if origin in (tuple, Sequence, list):
        several = origin is not tuple or inner[-1] is Ellipsis
        example = EXAMPLES.get(getattr(inner[0], "__name__", ""), "")
        text = f"{_short(inner[0])}, …" if several else ", ".join(map(_short, inner))
        example = f"({example.partition(' of ')[0]},)" if several and example else ""
        example = SEVERAL.get(getattr(inner[0], "__name__", ""), example)
        return f"a tuple ({text})" + (f", such as {example}" if example else "")
    if Callable in (origin, form):
        return "a function"
    if origin is np.ndarray:
        return "an array"
    if not isinstance(form, type):
        return str(form).replace("typing.", "")
    name = form.__name__
    return f"{a_or_an(name)}, such as {EXAMPLES[name]}" if name in EXAMPLES else a_or_an(name)


def _short(hint: Any) -> str:
    """The same as part of a list."""
    (form, *others) = _forms(hint)
    if get_origin(form) is tuple:
        return _wanted(form).removeprefix("a tuple ")
    if others or not isinstance(form, type) or form in _PLAIN:
        return _wanted(form)
    return f"{form.__name__}(…)"
