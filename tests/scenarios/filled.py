"""Results from a few of their keys: every other field is empty, 0, or null."""

import types
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from scenarios.results.tree import Results
from scenarios.schema import Scenario

SCENARIO = {
    "name": "sample",
    "topology": {"kind": "ring", "agents": 8},
    "algorithms": [{"kind": "private_gradient_descent", "name": "only", "rounds": 4, "step": 0.1, "scale": 0.1}],
}


def tree(results: dict[str, Any]) -> Results:
    """The tree of results with at least these keys, as results.json has them; a scenario with the same algorithms."""
    names = list(dict.fromkeys(one.get("name", "") for one in results.get("algorithms", ()))) or ["only"]
    scenario = SCENARIO | {"algorithms": [SCENARIO["algorithms"][0] | {"name": name} for name in names]}
    return filled(Results, results | {"scenario": scenario | results.get("scenario", {})})


def filled(hint: Any, value: Any = MISSING) -> Any:
    """A value of the annotated type, with what is missing filled in."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return filled(args[0], value)
    if origin in (Union, types.UnionType):
        return _one_of(args, value)
    if hint is Scenario:
        return Scenario.model_validate(SCENARIO | (value or {}) if value is not MISSING else SCENARIO)
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return hint.model_validate(value)
    if is_dataclass(hint):
        return value if isinstance(value, hint) else _made(hint, {} if value is MISSING else value)
    if origin is tuple:
        given = () if value is MISSING else value
        each = args[:1] * len(given) if args[-1] is Ellipsis else args
        given = given if len(given) == len(each) else [MISSING] * len(each)
        return tuple(filled(kind, one) for kind, one in zip(each, given, strict=True))
    if origin is dict:
        return {key: filled(args[1], one) for key, one in ({} if value is MISSING else value).items()}
    if origin is Literal:
        return args[0] if value is MISSING else value
    if hint in (int, float, str, bool):
        return hint() if value is MISSING else hint(value) if hint is float else value
    return None if value is MISSING else value


def _one_of(args: tuple[Any, ...], value: Any) -> Any:
    """The alternative that the keys fit: one that was refused has a reason."""
    if value is None or (value is MISSING and type(None) in args):
        return None
    kinds = [one for one in args if one is not type(None)]
    if isinstance(value, dict):
        kinds = [one for one in kinds if is_dataclass(one) or get_origin(one) in (Annotated, dict)]
    if isinstance(value, dict) and len(kinds) > 1:
        refused = bool(value.get("refused"))
        kinds = [one for one in kinds if is_dataclass(one) and (get_type_hints(one).get("refused") is str) == refused]
    return filled(kinds[0], value)


def _made(kind: Any, given: dict[str, Any]) -> Any:
    hints, made = get_type_hints(kind, include_extras=True), {}
    for one in fields(kind):
        alias = next((a.alias for a in get_args(hints[one.name]) if isinstance(a, FieldInfo) and a.alias), one.name)
        if alias in given or (one.default is MISSING and one.default_factory is MISSING):
            made[one.name] = filled(hints[one.name], given.get(alias, MISSING))
    unknown = set(given) - {one.name for one in fields(kind)} - {"break", "from"}
    assert not unknown, (kind.__name__, unknown)
    return kind(**made)
