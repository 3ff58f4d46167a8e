"""What is compared: runs, read from their results folders, and the algorithms in them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from netsim.errors import ScenarioError
from scenarios.places import MANIFEST, RESULTS
from scenarios.report.formats import items

Result = Mapping[str, Any]
OWN = "python"
"""The kind of an algorithm that does not come with netsim."""
_DATED = re.compile(r"\d{8}-\d{6}")
"""A folder named after when it was made: its parent says what it is."""


@dataclass(frozen=True)
class Run:
    """One run: the `folder` it was read from, a short `label` that no other run of the comparison has, its `results`
    (what results.json holds), the `slugs` of the algorithms that are compared, or None: all, and `resolved`: what its
    manifest holds of each algorithm's parameters and code, by name."""

    folder: Path
    label: str
    results: Result
    slugs: tuple[str, ...] | None = None
    resolved: Mapping[str, Result] = field(default_factory=dict[str, Result])

    @property
    def entries(self) -> list[Result]:
        """The algorithms that are compared."""
        found = cast("list[Result]", self.results.get("algorithms") or [])
        return [one for one in found if self.slugs is None or one.get("slug") in self.slugs]

    @property
    def scenario(self) -> Result:
        """The scenario with every default, of its algorithms only those that are compared."""
        whole: Result = self.results.get("scenario") or {}
        names = {entry.get("name") for entry in self.entries}
        specs = cast("list[Result]", whole.get("algorithms") or [])
        return {**whole, "algorithms": [self._whole(one) for one in specs if one.get("name") in names]}

    @property
    def unrecorded(self) -> list[str]:
        """Algorithms of somebody's own of which no manifest says what their class sets and which code it was."""
        own = [str(one.get("name")) for one in self.scenario["algorithms"] if one.get("kind") == OWN]
        return [name for name in own if name not in self.resolved]

    def _whole(self, spec: Result) -> Result:
        """An algorithm of somebody's own with what its class sets where the scenario does not, and with its code."""
        known = self.resolved.get(str(spec.get("name")))
        if spec.get("kind") != OWN or known is None:
            return spec
        said = {key: value for key, value in known.items() if key not in ("name", "algorithm", "file", "sha256")}
        return {**spec, "parameters": said, "code (SHA-256)": str(known.get("sha256"))[:12]}

    @property
    def own_code(self) -> dict[str, str]:
        """SHA-256 of the code of algorithms that do not come with netsim, by name, as manifest.json has it; those of
        which it is not known are not there."""
        try:
            manifest: Any = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
            return {str(one["name"]): str(one["sha256"]) for one in manifest["resolved"] if "sha256" in one}
        except (OSError, ValueError, KeyError, TypeError):
            return {}


@dataclass(frozen=True)
class Subject:
    """One algorithm of one run: its `label` is its own in the comparison; `entry` is its part of results.json."""

    label: str
    run: Run
    entry: Result

    @property
    def slug(self) -> str:
        return str(self.entry.get("slug", ""))


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
    """Every algorithm of every run, with what of its run and its own name it takes to tell them apart."""
    pairs = [(run, entry) for run in runs for entry in run.entries]
    names = [str(entry.get("name", "unnamed")) for _, entry in pairs]
    if len(runs) == 1:
        return [Subject(name, run, entry) for (run, entry), name in zip(pairs, names, strict=True)]
    if len(set(names)) == 1 and len(pairs) == len(runs):
        return [Subject(run.label, run, entry) for run, entry in pairs]
    return [Subject(f"{name} · {run.label}", run, entry) for (run, entry), name in zip(pairs, names, strict=True)]


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
    if "variants" not in found:
        yield folder
        return
    names = [str(variant["name"]) for variant in found["variants"]]
    there = [folder / name for name in names if (folder / name / RESULTS).exists()]
    if not there:
        raise ScenarioError("runs", place, "none of its variants left results", "a folder that netsim run wrote")
    yield from there


def _read(folder: Path, place: str | None = None) -> dict[str, Any]:
    file = folder / RESULTS
    try:
        found: Any = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise ScenarioError(
            "runs", place or str(folder), f"no {RESULTS} there", "a folder that netsim run wrote, or FOLDER:SLUG"
        ) from None
    except ValueError as error:
        raise ScenarioError("runs", str(file), f"not JSON: {error}", f"the {RESULTS} that netsim run wrote") from None
    if not isinstance(found, dict) or not ("algorithms" in found or "variants" in found):
        raise ScenarioError("runs", str(file), "not the results of a run", f"the {RESULTS} that netsim run wrote")
    return cast("dict[str, Any]", found)


def _resolved(folder: Path) -> dict[str, Result]:
    """What the manifest beside the results says of each algorithm; nothing where there is none that can be read."""
    try:
        found: Any = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    told: list[Result] = items(cast("Result", found), "resolved") if isinstance(found, dict) else []
    return {str(one["name"]): one for one in told if "name" in one}


def _check(run: Run) -> None:
    there = [str(one.get("slug")) for one in cast("list[Result]", run.results.get("algorithms") or [])]
    for slug in run.slugs or ():
        if slug not in there:
            raise ScenarioError("runs", f"{run.folder}:{slug}", "no such algorithm there", ", ".join(there) or "none")
    if not there:
        raise ScenarioError("runs", str(run.folder), "no algorithm was begun there", "a run that got farther")


def _labels(folders: Sequence[Path]) -> list[str]:
    """The last parts of each path, as many as tell them all apart."""
    parts = [folder.resolve().parts for folder in folders]
    dated = any(_DATED.fullmatch(one[-1]) for one in parts)
    for depth in range(2 if dated else 1, max(map(len, parts)) + 1):
        labels = ["/".join(one[-depth:]) for one in parts]
        if len(set(labels)) == len(labels):
            return labels
    return [str(folder) for folder in folders]
