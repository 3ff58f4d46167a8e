"""Parameters of somebody's own algorithm, as a file gives them: names and types checked against the class."""

import difflib
import inspect
import json
from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

from netsim.claims import Clip
from netsim.errors import ScenarioError
from netsim.schedules import Schedule
from scenarios.schema.algorithms.base import ClipSpec, ScheduleSpec, schedule

FIELD = "algorithm.parameters"
SCHEDULE: TypeAdapter[Any] = TypeAdapter(ScheduleSpec)
CLIP: TypeAdapter[Any] = TypeAdapter(ClipSpec)


def names(of: type) -> dict[str, Any]:
    """The parameters of a class and their defaults (`inspect.Parameter.empty` where there is none)."""
    taken = inspect.signature(of).parameters
    return {name: one.default for name, one in taken.items() if one.kind is not inspect.Parameter.VAR_KEYWORD}


def told(of: type) -> str:
    """The parameters of a class for a reader: `rounds: int, step: float = 0.1`."""
    hints = _hints(of)
    parts: list[str] = []
    for name, default in names(of).items():
        kind = f": {_name(hints[name])}" if name in hints else ""
        parts.append(f"{name}{kind}" + ("" if default is inspect.Parameter.empty else f" = {default!r}"))
    return ", ".join(parts) or "none"


def checked(of: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the class is called with. You get a `ScenarioError` for a parameter that it does not have, that is
    missing, or that is of another type."""
    known, hints = names(of), _hints(of)
    for name, value in given.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ScenarioError(f"{FIELD}.{name}", value, f"{of.__name__} has no such parameter{hint}", told(of))
    missing = [name for name, default in known.items() if default is inspect.Parameter.empty and name not in given]
    if missing:
        more = f" (and {len(missing) - 1} more: {', '.join(missing[1:])})" if len(missing) > 1 else ""
        raise ScenarioError(
            f"{FIELD}.{missing[0]}", None, f"missing: {of.__name__} has no default for it{more}", told(of)
        )
    return {name: _value(name, value, hints.get(name, Any)) for name, value in given.items()}


def _hints(of: type) -> dict[str, Any]:
    try:
        return get_type_hints(of)
    except Exception:  # an annotation that names nothing: then nothing is checked
        return {}


def _value(name: str, value: Any, hint: Any) -> Any:
    """The value as its annotation says; where that says nothing that a file could, as it is."""
    field = f"{FIELD}.{name}"
    wanted = {hint, *get_args(hint)}
    try:
        if Schedule in wanted and not (value is None and type(None) in wanted):
            return schedule(SCHEDULE.validate_python(value, strict=True), field)
        if Clip in wanted and value is not None:
            return CLIP.validate_python(value, strict=True).build()
        return _plain(value, hint)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"[{key}]" if isinstance(key, int) else "" for key in first["loc"])
        raise ScenarioError(
            field + where, value, f"wrong type: {first['msg'].removeprefix('Input ')}", _allowed(hint)
        ) from None


def _plain(value: Any, hint: Any) -> Any:
    """A number, a text or a list of those; what only Python can make cannot be given in a file."""
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hint, config=ConfigDict(strict=True))
        text = json.dumps(value)
    except (PydanticUserError, TypeError):  # a type of somebody's own: the class has to cope
        return value
    return adapter.validate_json(text, strict=True)


def _allowed(hint: Any) -> str:
    if Schedule in {hint, *get_args(hint)}:
        return "a number, or {kind: geometric, first: …, ratio: …}, {kind: polynomial, …}, {kind: uniform_draws, …}"
    return _name(hint)


def _name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
