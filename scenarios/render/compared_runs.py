"""Runs to compare: read from results folders, and the fields in which they differ."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from netsim.errors import ScenarioError
from scenarios.results.base import Setting
from scenarios.results.files import RESULTS
from scenarios.results.folder import read_manifest, read_results
from scenarios.results.tree import AlgorithmResult, Results

Fields = Mapping[str, Setting]
"""A part of a scenario, as its file has it."""
OWN = "python"
"""The kind of an algorithm that does not come with netsim."""
WORDS = ("name", "title", "description", "variants", "grid", "figures", "reproduces")
"""Fields of a scenario that change nothing of a run."""
ABSENT = object()
"""The value of a field that a scenario does not have."""
_DATED = re.compile(r"\d{8}-\d{6}")
"""A folder named after when it was made: its parent says what it is."""


@dataclass(frozen=True)
class Run:
    """One run of a comparison."""

    folder: Path
    label: str
    """Of no other run of the comparison."""
    results: Results
    slugs: tuple[str, ...] | None = None
    """Algorithms to compare; None: all."""
    resolved: Mapping[str, Fields] = field(default_factory=dict[str, Fields])
    """Parameters and code of each algorithm, by name, from the manifest."""

    @property
    def entries(self) -> list[AlgorithmResult]:
        """The algorithms that are compared."""
        return [one for one in self.results.algorithms if self.slugs is None or one.slug in self.slugs]

    @property
    def specs(self) -> list[Fields]:
        """Fields of the compared algorithms in the scenario; of own code also those of its class, and its hash."""
        names = {entry.name for entry in self.entries}
        specs = [one for one in self.results.scenario.algorithms if one.name in names]
        return [self._whole(one.model_dump(mode="json")) for one in specs]

    def _whole(self, spec: Fields) -> Fields:
        known = self.resolved.get(str(spec.get("name")))
        if spec.get("kind") != OWN or known is None:
            return spec
        parameters = {k: value for k, value in known.items() if k not in ("name", "algorithm", "file", "sha256")}
        return {**spec, "parameters": parameters, "code (SHA-256)": str(known.get("sha256"))[:12]}

    @property
    def unrecorded(self) -> list[str]:
        """Algorithms of somebody's own whose parameters and code no manifest has."""
        return [str(one["name"]) for one in self.specs if one.get("kind") == OWN and one["name"] not in self.resolved]

    @property
    def own_code(self) -> dict[str, str]:
        """SHA-256 of code that does not come with netsim, by algorithm."""
        return {name: str(one["sha256"]) for name, one in self.resolved.items() if "sha256" in one}


@dataclass(frozen=True)
class Subject:
    """One algorithm of one run, with a label of its own in the comparison."""

    label: str
    run: Run
    entry: AlgorithmResult


def read_runs(places: Sequence[str]) -> list[Run]:
    """The runs at places: a results folder, the folder of a scenario with variants (each of them is a run), or
    FOLDER:SLUG for one algorithm of a folder. Several algorithms of a folder are one run.

    You get a `ScenarioError` for a place without results, an algorithm that is not there, and for less than two
    algorithms to compare.
    """
    wanted: dict[Path, tuple[str, ...] | None] = {}
    for place in places:
        folder, slug = _place(place)
        for one in _folders(folder, place):
            before = wanted.get(one, ())
            wanted[one] = None if slug is None or before is None else tuple(dict.fromkeys((*before, slug)))
    labels = _labels(list(wanted))
    runs = [
        Run(folder, label, _read(folder), slugs, _resolved(folder))
        for (folder, slugs), label in zip(wanted.items(), labels, strict=True)
    ]
    for run in runs:
        _check(run)
    if sum(len(run.entries) for run in runs) < 2:
        raise ScenarioError(
            "runs", " ".join(places), "one algorithm of one run has nothing beside it", "two algorithms, or two runs"
        )
    return runs


def subjects(runs: Sequence[Run]) -> list[Subject]:
    """Every algorithm of every run; its label has as much of run and name as distinguishes it."""
    pairs = [(run, entry) for run in runs for entry in run.entries]
    if len(runs) == 1:
        return [Subject(entry.name, run, entry) for run, entry in pairs]
    if len({entry.name for _, entry in pairs}) == 1 and len(pairs) == len(runs):
        return [Subject(run.label, run, entry) for run, entry in pairs]
    return [Subject(f"{entry.name} · {run.label}", run, entry) for run, entry in pairs]


# ── folders ─────────────────────────────────────────────────────────────────────────────────────────────
def _place(place: str) -> tuple[Path, str | None]:
    """The folder and the algorithm that a place names."""
    folder, colon, slug = place.rpartition(":")
    if not Path(place).exists() and colon and folder and slug:
        return Path(folder), slug
    whole = Path(place)
    return (whole.parent if whole.name == RESULTS else whole), None


def _folders(folder: Path, place: str) -> Iterator[Path]:
    """The folder, or those of its variants that have results."""
    found = _read(folder, place)
    if found.variants is None:
        yield folder
        return
    there = [folder / one.name for one in found.variants if (folder / one.name / RESULTS).exists()]
    if not there:
        raise ScenarioError("runs", place, "none of its variants left results", "a folder that netsim run wrote")
    yield from there


def _read(folder: Path, place: str | None = None) -> Results:
    if not (folder / RESULTS).is_file():
        allowed = "a folder that netsim run wrote, or FOLDER:SLUG"
        raise ScenarioError("runs", place or str(folder), f"no {RESULTS} there", allowed)
    return read_results(folder)


def _resolved(folder: Path) -> dict[str, Fields]:
    """The algorithms of the manifest beside the results; none where there is none that can be read."""
    try:
        return {str(one["name"]): one for one in read_manifest(folder).resolved}
    except ScenarioError:
        return {}


def _check(run: Run) -> None:
    there = [one.slug for one in run.results.algorithms]
    for slug in run.slugs or ():
        if slug not in there:
            raise ScenarioError("runs", f"{run.folder}:{slug}", "no such algorithm there", ", ".join(there) or "none")
    if not there:
        raise ScenarioError("runs", str(run.folder), "no algorithm was begun there", "a run that got farther")


def _labels(folders: Sequence[Path]) -> list[str]:
    """The last parts of each path, as many as distinguish them all."""
    parts = [folder.resolve().parts for folder in folders]
    dated = any(_DATED.fullmatch(one[-1]) for one in parts)
    for depth in range(2 if dated else 1, max(map(len, parts)) + 1):
        labels = ["/".join(one[-depth:]) for one in parts]
        if len(set(labels)) == len(labels):
            return labels
    return [str(folder) for folder in folders]


# ── fields that differ ──────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Difference:
    """A field that is not the same in all runs: its dotted path, and its value in each (`ABSENT`: not there)."""

    field: str
    values: tuple[object, ...]


def differences(runs: Sequence[Run]) -> list[Difference]:
    """The fields in which the scenarios differ, in the order of the scenario, and then the versions that differ.

    Algorithms are matched by name; where every run has one alone, these are matched whatever they are called. One
    that some runs do not have is a field by itself, its value its kind: its fields are compared among those that do.
    Of an algorithm of somebody's own the fields of its class are compared, defaults and all, and its code. A list of
    plain values is one value.
    """
    alone = all(len(run.specs) == 1 for run in runs)
    found = list(_differing([_fields(run, alone) for run in runs]))
    kinds = {} if alone else {f"algorithms[{name}]": values for name, values in _kinds(runs).items()}
    missing = [Difference(field, values) for field, values in kinds.items()]
    within = [one for one in found if (whole := _above(one.field, kinds)) is None or _several(one, kinds[whole])]
    versions = [{f"version of {name}": value for name, value in run.results.versions.items()} for run in runs]
    return [*within, *missing, *_differing(versions)]


def _kinds(runs: Sequence[Run]) -> dict[str, tuple[object, ...]]:
    """The kind in each run of every algorithm that some run does not have, by name."""
    there = [{str(one.get("name")): one.get("kind") for one in run.specs} for run in runs]
    names = dict.fromkeys(name for one in there for name in one)
    return {name: tuple(o.get(name, ABSENT) for o in there) for name in names if any(name not in o for o in there)}


def _above(field: str, wholes: Mapping[str, object]) -> str | None:
    """The algorithm whose field this is, of those that some runs do not have."""
    return next((one for one in wholes if field == one or field.startswith(f"{one}.")), None)


def _several(found: Difference, whole: Sequence[object]) -> bool:
    """Whether the runs that have the algorithm differ in this field of it."""
    values = [value for value, kind in zip(found.values, whole, strict=True) if kind is not ABSENT]
    return any(not _same(value, values[0]) for value in values)


def _differing(flat: Sequence[Mapping[str, object]]) -> Iterator[Difference]:
    for path in dict.fromkeys(key for one in flat for key in one):
        values = tuple(one.get(path, ABSENT) for one in flat)
        if any(not _same(value, values[0]) for value in values):
            yield Difference(path, values)


def _same(a: object, b: object) -> bool:
    """Equal, and of one kind: 1 and true are two values."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _fields(run: Run, alone: bool) -> dict[str, object]:
    scenario = run.results.scenario.model_dump(mode="json", exclude={*WORDS, "algorithms"})
    named = {"algorithm" if alone else f"algorithms[{one.get('name')}]": one for one in run.specs}
    return dict(_flat("", scenario)) | dict(_flat("", named))


def _flat(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Every leaf with its path; an entry of a list goes by its name, if it has one, or else by its place."""
    if isinstance(value, Mapping) and value:
        for key, one in cast("Fields", value).items():
            yield from _flat(f"{path}.{key}" if path else str(key), one)
    elif isinstance(value, list) and any(isinstance(one, Mapping) for one in cast("list[object]", value)):
        for place, one in enumerate(cast("list[object]", value)):
            name = _name(one)
            yield from _flat(f"{path}[{place if name is None else name}]", one)
    else:
        yield path, value


def _name(entry: object) -> Setting:
    return cast("Fields", entry).get("name") if isinstance(entry, Mapping) else None
