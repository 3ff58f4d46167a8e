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

    Algorithms are matched by name; where every run has one alone, these are matched whatever they are called. A list
    of plain values is one value.
    """
    alone = all(len(run.scenario["algorithms"]) == 1 for run in runs)
    return [*_differing([_fields(run, alone) for run in runs]), *_differing([_versions(run) for run in runs])]


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
