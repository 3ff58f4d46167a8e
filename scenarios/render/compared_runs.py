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
        names, specs = {entry.name for entry in self.entries}, list[Fields]()
        for one in self.results.scenario.algorithms:
            spec: dict[str, Setting] = one.model_dump(mode="json")
            if one.name in names and spec.get("kind") == OWN and (known := self.resolved.get(one.name)) is not None:
                parameters = {k: v for k, v in known.items() if k not in ("name", "algorithm", "file", "sha256")}
                spec |= {"parameters": parameters, "code (SHA-256)": str(known.get("sha256"))[:12]}
            specs += [spec] if one.name in names else []
        return specs

    @property
    def unrecorded(self) -> list[str]:
        """Algorithms of somebody's own whose parameters and code no manifest has."""
        return [str(one["name"]) for one in self.specs if one.get("kind") == OWN and one["name"] not in self.resolved]


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
        folder, slug = Path(place), None
        before, _, last = place.rpartition(":")
        if not folder.exists() and before and last:
            folder, slug = Path(before), last
        elif folder.name == RESULTS:
            folder = folder.parent
        for one in _folders(folder, place):
            known = wanted.get(one, ())
            wanted[one] = None if slug is None or known is None else tuple(dict.fromkeys((*known, slug)))
    runs: list[Run] = []
    for (folder, slugs), label in zip(wanted.items(), _labels(list(wanted)), strict=True):
        try:
            resolved = {str(one["name"]): one for one in read_manifest(folder).resolved}
        except ScenarioError:  # no manifest that can be read
            resolved = {}
        runs.append(Run(folder, label, _read(folder), slugs, resolved))
        there = [one.slug for one in runs[-1].results.algorithms]
        for slug in slugs or ():
            if slug not in there:
                allowed = ", ".join(there) or "none"
                raise ScenarioError("runs", f"{folder}:{slug}", "no such algorithm there", allowed)
        if not there:
            raise ScenarioError("runs", str(folder), "no algorithm was begun there", "a run that got farther")
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
    there = [{str(one.get("name")): one.get("kind") for one in run.specs} for run in runs]
    kinds = {
        f"algorithms[{name}]": tuple(one.get(name, ABSENT) for one in there)
        for name in dict.fromkeys(name for one in there for name in one)
        if not alone and any(name not in one for one in there)
    }
    within: list[Difference] = []
    for one in _differing([_fields(run, alone) for run in runs]):
        whole = next((name for name in kinds if one.field == name or one.field.startswith(f"{name}.")), None)
        known = zip(one.values, kinds[whole] if whole else one.values, strict=True)
        values = [value for value, kind in known if whole is None or kind is not ABSENT]
        if any(not _same(value, values[0]) for value in values):
            within.append(one)
    missing = [Difference(field, values) for field, values in kinds.items()]
    versions = [{f"version of {name}": value for name, value in run.results.versions.items()} for run in runs]
    return [*within, *missing, *_differing(versions)]


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
            name = cast("Fields", one).get("name") if isinstance(one, Mapping) else None
            yield from _flat(f"{path}[{place if name is None else name}]", cast("object", one))
    else:
        yield path, value
