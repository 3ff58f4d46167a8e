"""Fields in which runs differ, and parameters that they made of fields in which they do not."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from scenarios.render.compared_runs import Fields, Run
from scenarios.results.base import Setting
from scenarios.results.findings import ComparisonResult

_WORDS = ("name", "title", "description", "group", "variants", "grid", "figures", "reproduces")
"""Fields of a scenario that change nothing of a run."""
ABSENT = cast("Setting", object())
"""The value of a field that a scenario does not have."""
COMPUTED = " (computed)"
"""Behind a field that is the same, of which runs made different parameters: an automatic step, a scale for an ε."""
_KINDS = ("name", "kind")
"""Fields that say which fields a mapping has."""


def differences(runs: Sequence[Run]) -> list[ComparisonResult.Difference]:
    """The fields in which the scenarios differ, in the order of the scenario, parameters that runs made of fields
    which do not, and the versions that differ.

    Algorithms are matched by name; where every run has one alone, these are matched whatever they are called. One
    that some runs do not have is a field by itself, its value its kind: its fields are compared among those that do.
    Of an algorithm of somebody's own the fields of its class are compared, defaults and all, and its code; one of
    another kind, which has not such a field, differs in the kind, and in what is not at its default. A list of
    plain values is one value; a mapping that another run lacks is one as its file may have it, without defaults.
    """
    alone = all(len(run.specs) == 1 for run in runs)
    there = [{str(one.get("name")): one.get("kind") for one in run.specs} for run in runs]
    kinds = {
        f"algorithms[{name}]": tuple(one.get(name, ABSENT) for one in there)
        for name in dict.fromkeys(name for one in there for name in one)
        if not alone and any(name not in one for one in there)
    }
    scenarios, less = [run.results.scenario for run in runs], {*_WORDS, "algorithms"}
    trees = [one.model_dump(mode="json", exclude=less) for one in scenarios]
    short = [one.model_dump(mode="json", exclude=less, exclude_defaults=True) for one in scenarios]
    within = list(_differing("", trees, short))
    own = [{_path(str(one.get("name")), alone): one for one in run.specs} for run in runs]
    for name in dict.fromkeys(name for one in own for name in one):
        both = zip(runs, own, strict=True)
        idle = [run.at_default(str(one[name].get("name"))) if name in one else None for run, one in both]
        within += [one for one in _of_one(name, own) if not _of_another_kind(one, name, idle)]
    made = [{_path(name, alone): one for name, one in run.computed.items()} for run in runs]
    within += _computed(made, [one.field for one in within])
    missing = [ComparisonResult.Difference(field=field, values=values) for field, values in kinds.items()]
    versions = [{f"version of {name}": value for name, value in run.results.versions.items()} for run in runs]
    return [*within, *missing, *_differing("", versions)]


def _path(name: str, alone: bool) -> str:
    """The path to an algorithm's fields: one that is `alone` in its run needs no name."""
    return "algorithm" if alone else f"algorithms[{name}]"


def _of_one(path: str, own: Sequence[Mapping[str, Fields]]) -> Iterator[ComparisonResult.Difference]:
    """The fields of an algorithm that are not the same in all runs that have it."""
    for one in _differing(path, [there[path] for there in own if path in there]):
        values = iter(one.values)
        yield replace(one, values=tuple(next(values) if path in there else ABSENT for there in own))


def _computed(made: Sequence[Mapping[str, Fields]], listed: Sequence[str]) -> Iterator[ComparisonResult.Difference]:
    """Parameters that all have and that differ by more than rounding, though the fields are the same that they were
    made of: of none of them a field is `listed`."""
    for path in dict.fromkeys(path for one in made for path in one):
        every = [one[path].keys() for one in made if path in one]
        shared = [
            key for key in every[0] if all(key in keys for keys in every) and not _under(f"{path}.{key}", listed)
        ]
        less = [{path: {key: one[path][key] for key in shared}} if path in one else {} for one in made]
        for one in _of_one(path, less):
            if not _close([value for value in one.values if value is not ABSENT]):
                yield replace(one, field=f"{one.field}{COMPUTED}")


def _under(path: str, fields: Sequence[str]) -> bool:
    return any(one == path or one.startswith(f"{path}.") for one in fields)


def _close(values: Sequence[Setting]) -> bool:
    """Whether they are numbers that differ by rounding alone."""
    numbers = [value for value in values if isinstance(value, int | float)]
    return len(numbers) == len(values) and all(math.isclose(one, numbers[0], rel_tol=1e-9) for one in numbers)


def _differing(
    path: str, nodes: Sequence[object], short: Sequence[object] = ()
) -> Iterator[ComparisonResult.Difference]:
    """The fields below a path whose values are not the same in all trees: those within a mapping where every tree
    has one there, else the mapping as one value. With trees that are `short` of their defaults, mappings of two kinds
    that have other fields are one value, too, and one value has no defaults. An entry of a list goes by its name, if
    it has one, or its place."""
    inner, without = [_inner(one) for one in nodes], [_inner(one) for one in short]
    if all(inner) and not (short and _of_two_kinds(inner)):
        for key in dict.fromkeys(key for one in inner for key in one):
            below = [[one.get(key, ABSENT) for one in trees] for trees in (inner, without)]
            yield from _differing(f"{path}{key}".removeprefix("."), *below)
    elif any(not _same(value, nodes[0]) for value in nodes):
        values = [_brief(one, less) for one, less in zip(nodes, short or nodes, strict=True)]
        yield ComparisonResult.Difference(field=path, values=tuple(cast("Setting", one) for one in values))


def _of_another_kind(one: ComparisonResult.Difference, name: str, idle: Sequence[Collection[str] | None]) -> bool:
    """Whether some algorithms of this name have no such field, and the others have it at its default; `idle` are the
    fields at their defaults, None of a run that has no such algorithm."""
    field = one.field.removeprefix(f"{name}.").partition(".")[0]
    whose = [(fields, value) for fields, value in zip(idle, one.values, strict=True) if fields is not None]
    there = [fields for fields, value in whose if value is not ABSENT]
    return len(there) < len(whose) and all(field in fields for fields in there)


def _of_two_kinds(inner: Sequence[Mapping[str, object]]) -> bool:
    """Whether mappings are of two kinds, which have other fields."""
    kinds = {str([one.get(f".{key}") for key in _KINDS]) for one in inner}
    return len(kinds) > 1 and len({frozenset(one) for one in inner}) > 1


def _brief(node: object, short: object) -> object:
    """A mapping with its kind and what is not at its default; with all where everything is."""
    if isinstance(node, Mapping):
        fields, kept = cast("Fields", node), cast("Fields", short if isinstance(short, Mapping) else {})
        first = {key: fields[key] for key in _KINDS if key in fields}
        return first | {key: kept[key] for key in fields if key in kept and key not in first} or fields
    return node


def _inner(node: object) -> dict[str, object]:
    """The entries of a mapping, or of a list of mappings, by how a path goes on to each."""
    if isinstance(node, Mapping):
        return {f".{key}": one for key, one in cast("Fields", node).items()}
    entries = cast("list[object]", node) if isinstance(node, list) else []
    if not any(isinstance(one, Mapping) for one in entries):
        return {}
    names = [cast("Fields", one).get("name") if isinstance(one, Mapping) else None for one in entries]
    return {f"[{k if name is None else name}]": one for k, (name, one) in enumerate(zip(names, entries, strict=True))}


def _same(a: object, b: object) -> bool:
    """Equal, and of one kind: 1 and true are two values."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)
