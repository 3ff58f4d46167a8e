"""Runs to compare: read from results folders, the fields in which they differ, and the statistics of differences."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, cast

from scipy.stats import binom

from netsim.errors import ScenarioError
from scenarios.results.compare import Ratio
from scenarios.results.files import MANIFEST, RESULTS
from scenarios.results.numbers import items, number, part, show

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
    if not found.get("variants"):
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
    for path in dict.fromkeys(key for one in flat for key in one):
        values = tuple(one.get(path, ABSENT) for one in flat)
        if any(not _same(value, values[0]) for value in values):
            yield Difference(path, values)


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


SAME = {"delta": "δ", "adjacency": "adjacency", "norm": "norm of the claim"}
"""Of a claim: what both must have in common, and the change of the gradient."""


@dataclass(frozen=True)
class Apart:
    """`side`: −1 where the second exact ε is proven to be below the first, 1 above, 0 where their intervals meet.

    Both intervals hold at once at `confidence`: each fails with its own error rate, and either may (a union bound).
    """

    side: int
    confidence: float


def exact_apart(base: Result, other: Result) -> Apart | str | None:
    """Of two audits; None without both, or why they are not set against each other: they are of different things."""
    first, second = (part(audit, "epsilon_exact") for audit in (base, other))
    if not first or not second:
        return None
    if different := _different(base, other):
        return f"not the same {different}"
    confidence = number(base.get("confidence")) + number(other.get("confidence")) - 1
    return Apart(_side(first, second), max(0.0, confidence))


def _different(base: Result, other: Result) -> str | None:
    """What the two audits have not in common."""
    claims = part(base, "claim"), part(other, "claim")
    for key, name in SAME.items():
        if claims[0].get(key) != claims[1].get(key):
            return name
    change = [show(claim.get("gradient_change"), 4) for claim in claims]
    if change[0] != change[1]:
        return "change of the gradient"
    if audited_agent(base) != audited_agent(other):
        return "audited agent"
    return None if base.get("pair") == other.get("pair") else "audited pair"


def audited_agent(audit: Result) -> str | None:
    """Whose releases were looked at."""
    agent = part(audit, "breakdown").get("agent")
    return None if agent is None else str(agent)


def _side(first: Result, second: Result) -> int:
    if number(second.get("upper")) < number(first.get("lower")):
        return -1
    return 1 if number(second.get("lower")) > number(first.get("upper")) else 0


def median_interval(values: Sequence[float], confidence: float) -> tuple[float, float]:
    """Two order statistics with the median of the law between them, at that confidence, for every law: x₍ₖ₎ and
    x₍ₙ₊₁₋ₖ₎ with the largest k for which P(Bin(n, ½) < k) ≤ (1 − confidence)/2. nan, nan where there is none."""
    ordered, n = sorted(values), len(values)
    k = 0
    while 2 * (k + 1) <= n + 1 and float(binom.cdf(k, n, 0.5)) <= (1 - confidence) / 2:
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k else (math.nan, math.nan)


def ratio(first: Sequence[float], second: Sequence[float], *, paired: bool, confidence: float) -> Ratio:
    """The second sample over the first one; both are finite and above 0, and `paired` ones equally long.

    Without pairs the interval is made of one of each median, at (1 + confidence)/2 both: it holds whatever the laws
    are and however the samples depend on each other, and is wide.
    """
    counts = len(first), len(second)
    if paired:
        quotients = [b / a for a, b in zip(first, second, strict=True)]
        return Ratio(median(quotients), *median_interval(quotients, confidence), True, confidence, counts)
    (a_low, a_high), (b_low, b_high) = (median_interval(v, (1 + confidence) / 2) for v in (first, second))
    return Ratio(median(second) / median(first), b_low / a_high, b_high / a_low, False, confidence, counts)
