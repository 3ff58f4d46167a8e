"""In what the scenarios of runs differ: field by field, and only the fields that differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from scenarios.comparing.subjects import Result, Run
from scenarios.report.formats import part

WORDS = ("name", "title", "description", "variants", "grid", "figures", "reproduces")
"""Fields of a scenario that change nothing of a run."""
ABSENT = object()
"""The value of a field that a scenario does not have."""


@dataclass(frozen=True)
class Difference:
    """A field that is not the same in all runs: its dotted path, and its value in each (`ABSENT`: not there)."""

    field: str
    values: tuple[Any, ...]


def differences(runs: Sequence[Run]) -> list[Difference]:
    """The fields in which the scenarios differ, in the order of the scenario, and then the versions that differ.

    Algorithms are matched by name; where every run has one alone, these are matched whatever they are called. One
    that some runs do not have is a field by itself, its value its kind: its fields are compared among those that do.
    Of an algorithm of somebody's own the fields of its class are compared, defaults and all, and its code. A list of
    plain values is one value.
    """
    alone = all(len(run.scenario["algorithms"]) == 1 for run in runs)
    found = list(_differing([_fields(run, alone) for run in runs]))
    kinds = {} if alone else {f"algorithms[{name}]": values for name, values in _kinds(runs).items()}
    missing = [Difference(field, values) for field, values in kinds.items()]
    within = [one for one in found if (whole := _above(one.field, kinds)) is None or _several(one, kinds[whole])]
    return [*within, *missing, *_differing([_versions(run) for run in runs])]


def _kinds(runs: Sequence[Run]) -> dict[str, tuple[Any, ...]]:
    """The kind in each run of every algorithm that some run does not have, by name."""
    there = [{str(one.get("name")): one.get("kind") for one in run.scenario["algorithms"]} for run in runs]
    names = dict.fromkeys(name for one in there for name in one)
    return {name: tuple(o.get(name, ABSENT) for o in there) for name in names if any(name not in o for o in there)}


def _above(field: str, wholes: Mapping[str, Any]) -> str | None:
    """The algorithm whose field this is, of those that some runs do not have."""
    return next((one for one in wholes if field == one or field.startswith(f"{one}.")), None)


def _several(found: Difference, whole: Sequence[Any]) -> bool:
    """Whether the runs that have the algorithm differ in this field of it."""
    values = [value for value, kind in zip(found.values, whole, strict=True) if kind is not ABSENT]
    return any(not _same(value, values[0]) for value in values)


def _differing(flat: Sequence[Mapping[str, Any]]) -> Iterator[Difference]:
    for field in dict.fromkeys(key for one in flat for key in one):
        values = tuple(one.get(field, ABSENT) for one in flat)
        if any(not _same(value, values[0]) for value in values):
            yield Difference(field, values)


def _same(a: object, b: object) -> bool:
    """Equal, and of one kind: 1 and true are two values."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _fields(run: Run, alone: bool) -> dict[str, Any]:
    scenario = {key: value for key, value in run.scenario.items() if key not in WORDS}
    algorithms = cast("list[Result]", scenario.pop("algorithms"))
    named = {"algorithm": algorithms[0]} if alone else {f"algorithms[{one.get('name')}]": one for one in algorithms}
    return dict(_flat("", scenario)) | dict(_flat("", named))


def _versions(run: Run) -> dict[str, Any]:
    return {f"version of {name}": value for name, value in part(run.results, "versions").items()}


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every leaf with its path; an entry of a list goes by its name, if it has one, or else by its place."""
    if isinstance(value, Mapping) and value:
        for key, one in cast("Mapping[str, Any]", value).items():
            yield from _flat(f"{path}.{key}" if path else str(key), one)
    elif isinstance(value, list) and any(isinstance(one, Mapping) for one in cast("list[Any]", value)):
        for place, one in enumerate(cast("list[Any]", value)):
            name = cast("Result", one).get("name") if isinstance(one, Mapping) else None
            yield from _flat(f"{path}[{place if name is None else name}]", one)
    else:
        yield path, value
