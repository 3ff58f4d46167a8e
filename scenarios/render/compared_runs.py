"""Runs of a comparison: the folders that they are read from, and what they solve."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import cast

from netsim.errors import ScenarioError
from scenarios.files.folders import RESULTS
from scenarios.results.base import Setting
from scenarios.results.folder import no_results, read_manifest, read_results
from scenarios.results.tree import AlgorithmResult, Results

Fields = Mapping[str, Setting]
"""A part of a scenario, as its file has it."""
_OWN = "python"
"""The kind of an algorithm that does not come with netsim."""
_IDENTITY = ("name", "algorithm", "file", "sha256")
"""What a manifest says of an algorithm beside its parameters."""
_POSED = ("kind", "data", "part", "agents", "dimension", "records")
"""Facts of an objective that no seed draws."""
_DRAWN = ("records_per_agent", "smoothness", "strong_convexity")
"""Facts of the split of its data; the curvatures are computed from all of them, and distinguish most others."""


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
        """Fields of the compared algorithms in the scenario, begun or not; of own code also those of its class, and
        its hash."""
        every, specs = self.results.scenario.algorithms, list[Fields]()
        names = {entry.name for entry in (every if self.slugs is None else self.entries)}
        for one in every:
            spec: dict[str, Setting] = one.model_dump(mode="json")
            if one.name in names and spec.get("kind") == _OWN and (known := self.resolved.get(one.name)) is not None:
                parameters = {k: v for k, v in known.items() if k not in _IDENTITY}
                place = str(spec.get("path")).removesuffix(f":{known.get('algorithm')}")
                spec |= {"path": f"{place}:{known.get('algorithm')}", "parameters": parameters}
                spec["code (SHA-256)"] = str(known.get("sha256"))[:12]
            specs += [spec] if one.name in names else []
        return specs

    @property
    def computed(self) -> dict[str, Fields]:
        """Parameters of the compared algorithms that were made of the fields, by name: a schedule that is constant is
        its value. Those of own code are among its `specs`."""
        names = {str(one.get("name")) for one in self.specs if one.get("kind") != _OWN}
        return {
            name: {key: _constant(value) for key, value in known.items() if key not in _IDENTITY}
            for name, known in self.resolved.items()
            if name in names
        }

    def at_default(self, name: str) -> set[str]:
        """Fields of an algorithm in the scenario that are what they are where its file does not say them."""
        return {
            field
            for one in self.results.scenario.algorithms
            if one.name == name
            for field in one.model_dump().keys() - one.model_dump(exclude_defaults=True).keys()
        }

    @cached_property
    def posed(self) -> tuple[str, ...]:
        """The problem, in its fields and facts, but for what the seed draws of it."""
        problem = self.results.problem
        return (
            self.results.scenario.problem.model_dump_json(),
            *(str(getattr(problem, one, None)) for one in _POSED),
        )

    @cached_property
    def split(self) -> tuple[str, ...]:
        """The facts of the split of its data, which the seed draws."""
        return tuple(str(getattr(self.results.problem, one, None)) for one in _DRAWN)

    @property
    def unrecorded(self) -> list[str]:
        """Algorithms of somebody's own that were begun, whose parameters and code no manifest has."""
        own = {str(one["name"]) for one in self.specs if one.get("kind") == _OWN}
        return [entry.name for entry in self.entries if entry.name in own - self.resolved.keys()]


def _constant(value: Setting) -> Setting:
    """The value of a schedule that is constant; anything else as it is."""
    if isinstance(value, dict) and value.keys() == {"kind", "value"} and value["kind"] == "constant":
        return cast("Setting", value["value"])
    return value


def redrawn(one: Run, other: Run) -> bool:
    """Whether two runs solve one problem, of which their seeds draw another split of the data."""
    return one.posed == other.posed and one.split != other.split and one.results.seed != other.results.seed


def read_runs(places: Sequence[str]) -> list[Run]:
    """The runs at places: a results folder or the page in it, the folder of a scenario with variants (each of them is
    a run), or FOLDER:SLUG for one algorithm of a folder. Several algorithms of a folder are one run.

    You get a `ScenarioError` for a place without results, an algorithm that is not there, and for less than two
    algorithms to compare.
    """
    wanted: dict[Path, tuple[str, ...] | None] = {}
    asked: dict[Path, list[str]] = {}
    there: dict[tuple[Path, str | None], str] = {}
    for place in places:
        folder, slug = Path(place), None
        before, _, last = place.rpartition(":")
        if not folder.exists() and before and last:
            folder, slug = Path(before), last
        elif folder.name == RESULTS or (_is_page(folder) and (folder.parent / RESULTS).is_file()):
            folder = folder.parent
        for one in _folders(folder, place):
            _once(there, one.resolve(), slug, place)
            asked.setdefault(one, []).extend([] if slug is None else [slug])
            known = wanted.get(one, ())
            wanted[one] = None if slug is None or known is None else tuple(dict.fromkeys((*known, slug)))
    runs: list[Run] = []
    parts = [folder.resolve().parts for folder in wanted]
    labels = [str(folder) for folder in wanted]
    dated = any(re.fullmatch(r"\d{8}-\d{6}", one[-1]) for one in parts)  # a date: the parent says what it is
    for depth in range(max(map(len, parts)), dated, -1):  # the fewest last parts that distinguish all paths
        shorter = ["/".join(one[-depth:]) for one in parts]
        labels = shorter if len(set(shorter)) == len(shorter) else labels
    for (folder, slugs), label in zip(wanted.items(), labels, strict=True):
        try:
            resolved = {str(one["name"]): one for one in read_manifest(folder).resolved}
        except ScenarioError:  # no manifest that can be read
            resolved = {}
        runs.append(Run(folder, label, _read(folder), slugs, resolved))
        begun = [one.slug for one in runs[-1].results.algorithms]
        for slug in asked[folder]:
            if slug not in begun:
                allowed = ", ".join(begun) or "none"
                raise ScenarioError("runs", f"{folder}:{slug}", "no such algorithm there", allowed)
        if not begun:
            raise ScenarioError("runs", str(folder), "no algorithm was begun there", "a run that got farther")
    if sum(len(run.entries) for run in runs) < 2:
        raise ScenarioError(
            "runs", " ".join(places), "one algorithm of one run has nothing beside it", "two algorithms, or two runs"
        )
    return runs


def _once(there: dict[tuple[Path, str | None], str], folder: Path, slug: str | None, place: str) -> None:
    """Note what a place names. You get a `ScenarioError` for what an earlier one names too."""
    for (path, other), earlier in there.items():
        if path == folder and (slug is None or other is None or slug == other):
            named = "named twice" if earlier == place else f"the same as {earlier}, or a part of it"
            once = "a run, or an algorithm of it, is compared once"
            raise ScenarioError("file", place, f"{named}; {once}", file=place)
    there[folder, slug] = place


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


def _is_page(place: Path) -> bool:
    return place.suffix == ".html" and place.is_file()


def _read(folder: Path, place: str | None = None) -> Results:
    if not (folder / RESULTS).is_file():
        if _is_page(folder):
            raise ScenarioError("runs", place or str(folder), "is a page; give its folder", "a results folder")
        error = no_results(folder, "runs")
        allowed = error.allowed.replace("`netsim run`, `audit` or `sweep` left", "`netsim run` or `audit` left")
        raise replace(error, value=place or error.value, allowed=f"FOLDER:SLUG, or {allowed}")
    return read_results(folder)
