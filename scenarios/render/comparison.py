"""Comparison of runs: numbers of every algorithm side by side, and cautions where they must not be compared."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from scenarios.render.compared_runs import (
    ABSENT,
    Apart,
    Difference,
    Ratio,
    Result,
    Run,
    Subject,
    audited_agent,
    differences,
    exact_apart,
    ratio,
    subjects,
)
from scenarios.render.former_sentences import word
from scenarios.results import former_findings as findings
from scenarios.results.numbers import items, number, numbers, part, show

FACTS = (
    "kind", "data", "part", "agents", "dimension", "records", "records_per_agent", "smoothness", "strong_convexity",
)  # fmt: skip
"""What is known of an objective; the curvatures are computed from all its data, and tell most others."""

DIGITS = 8
"""Of a SHA-256 of code, to tell it from another."""


def cautions(runs: Sequence[Run], subjects: Sequence[Subject]) -> list[str]:
    """A sentence for each thing that is not the same, and for each run that is not whole."""
    audits = [(one, part(one.entry, "audit")) for one in subjects]
    judged = [(one, audit) for one, audit in audits if audit.get("verdict")]
    claims = [(one.label, part(audit, "claim")) for one, audit in judged]
    told = [
        _objectives(runs),
        _several("adjacency", "their epsilons bound different changes", _of(claims, "adjacency")),
        _several("δ", "an ε at one δ is none at another", _of(claims, "delta", show)),
        _several("norm of the claim", "a change of 1 is not the same in both", _of(claims, "norm")),
        _several(
            "change of the gradient between the worlds", "the more it changes, the larger is ε",
            _of(claims, "gradient_change", lambda v: show(v, 4)),
        ),
        _several("accuracy's measure", "what an accuracy costs is of different measures", _measures(subjects)),
        _several("unit of time", "curves by rounds and by activations share an axis", _units(runs, subjects)),
        _several(
            "number of trials", "what a game can prove at most grows with them",
            [(one.label, show(audit.get("trials"))) for one, audit in judged],
        ),
        _several(
            "confidence of the audit", "the surer, the wider is an interval of the same evidence",
            [(one.label, show(audit["confidence"])) for one, audit in judged if audit.get("confidence") is not None],
        ),
        *_audited(judged),
        *_own_code(runs),
        _several("version of netsim", "the same scenario may give other numbers", _versions(runs)),
    ]  # fmt: skip
    unfinished = [
        f"{run.label} is {run.results.get('status')}: what it has not done is missing here."
        for run in runs
        if run.results.get("status", "complete") != "complete"
    ]
    again = [_again(one.label, audit) for one, audit in judged if items(audit, "earlier")]
    beyond = [f"{one.label}: {one.entry['outside_model']}." for one in subjects if one.entry.get("outside_model")]
    return [line for line in told if line] + unfinished + again + beyond


def same_objective(a: Run, b: Run) -> bool:
    """Whether both solved the same problem, as far as its facts tell."""
    return _facts(a) == _facts(b)


def _facts(run: Run) -> tuple[str, ...]:
    """What is known of the objective, and the fields it was made of."""
    problem = part(run.results, "problem")
    return (str(part(run.scenario, "problem")), *(str(problem.get(name)) for name in FACTS))


def _objectives(runs: Sequence[Run]) -> str:
    groups: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        groups.setdefault(_facts(run), []).append(run.label)
    if len(groups) < 2:
        return ""
    told = "; ".join(", ".join(labels) for labels in groups.values())
    return f"Not the same objective ({told}): errors are relative to different optima."


def _of(claims: Sequence[tuple[str, Result]], key: str, tell: Callable[[Any], str] = str) -> list[tuple[str, str]]:
    return [(label, tell(claim[key])) for label, claim in claims if claim.get(key) is not None]


def _measures(subjects: Sequence[Subject]) -> list[tuple[str, str]]:
    found = [(one.label, part(one.entry, "measures")) for one in subjects]
    return [(label, str(own["measure"]).replace("_", " ")) for label, own in found if items(own, "to_accuracy")]


def _units(runs: Sequence[Run], subjects: Sequence[Subject]) -> list[tuple[str, str]]:
    """None where every run has algorithms of the same units: that they are different is no news then."""
    each = [{part(entry, "convergence").get("unit") for entry in run.entries} for run in runs]
    if len(each) > 1 and all(units == each[0] for units in each):
        return []
    found = [(one.label, part(one.entry, "convergence")) for one in subjects]
    return [(label, str(own["unit"])) for label, own in found if own.get("unit")]


def _audited(judged: Sequence[tuple[Subject, Result]]) -> list[str]:
    """Other agents; or, of the same agent, other pairs."""
    agents = [(one.label, agent) for one, audit in judged if (agent := audited_agent(audit)) is not None]
    if told := _several("audited agent", "each has its own data, and says other things", agents):
        return [told]
    pairs = [(one.label, str(audit["pair"])) for one, audit in judged if audit.get("pair")]
    return [_several("audited pair", "an exact ε is that of its pair", pairs)]


def _own_code(runs: Sequence[Run]) -> list[str]:
    """Of every place of somebody's own code: whether it held the same each time."""
    found: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        specs = {str(one.get("name")): one for one in items(run.scenario, "algorithms")}
        for name, code in run.own_code.items():
            if name in specs:
                place = str(specs[name].get("path"))
                found.setdefault(place, []).append((f"{name} · {run.label}", code[:DIGITS]))
    return [_several(f"code of {place}", "it was changed between the runs", told) for place, told in found.items()]


def _again(label: str, audit: Result) -> str:
    times = len(items(audit, "earlier"))
    together = number(audit.get("joint_confidence"))
    sure = f", and all its audits hold together at {show(100 * together)} %" if together == together else ""
    return (
        f"{label} was audited {times} {'time' if times == 1 else 'times'} before: its numbers are of the last audit"
        f"{sure}."
    )


def _versions(runs: Sequence[Run]) -> list[tuple[str, str]]:
    found: list[tuple[str, Mapping[str, Any]]] = [(run.label, part(run.results, "versions")) for run in runs]
    return [(label, str(own["netsim-lab"])) for label, own in found if own.get("netsim-lab")]


def _several(what: str, why: str, told: Sequence[tuple[str, str]]) -> str:
    """A sentence where not all say the same; two numbers that print alike are the same."""
    groups: dict[str, list[str]] = {}
    for label, value in told:
        groups.setdefault(value, []).append(label)
    if len(groups) < 2:
        return ""
    every = Counter(_run_of(label) for label, _ in told)
    listed = "; ".join(f"{value}: {', '.join(_named(labels, every))}" for value, labels in groups.items())
    return f"Not the same {what} ({listed}): {why}."


def _named(labels: Sequence[str], every: Mapping[str, int]) -> list[str]:
    """The labels, but one name of a run in place of all of its algorithms that say something, if they are several."""
    here = Counter(map(_run_of, labels))
    whole = {run for run, count in here.items() if count > 1 and count == every[run]}
    return list(dict.fromkeys(_run_of(label) if _run_of(label) in whole else label for label in labels))


def _run_of(label: str) -> str:
    """Of an algorithm's label, "NAME · RUN", the run."""
    return label.rpartition(" · ")[2]


CONFIDENCE = 0.95
"""Of all intervals of ratios together; the exact epsilons' own say how sure they are."""
QUANTITIES = {"final_error": "final relative error", "gradient_error": "median error of the inferred gradients"}
"""What is known of every replica, and so has intervals."""

SIDES = {-1: "below", 0: "not told apart", 1: "above"}


@dataclass(frozen=True)
class Against:
    """One algorithm against its base: the subject of the first run that it is set against.

    `ratios`: of each of `QUANTITIES`, None with the reason in `why` where there is no number. `exact`: whether
    its exact ε is proven to be another than that of the base, and at which confidence; None without two audits, or,
    with the reason in `why`, where these are of different things.
    """

    base: Subject
    other: Subject
    ratios: Mapping[str, Ratio | None]
    why: Mapping[str, str]
    exact: Apart | None


@dataclass(frozen=True)
class Comparison:
    """Some runs, side by side; the first of them is the base of the others."""

    runs: tuple[Run, ...]

    @cached_property
    def subjects(self) -> list[Subject]:
        return subjects(self.runs)

    @cached_property
    def differences(self) -> list[Difference]:
        return differences(self.runs)

    @cached_property
    def unrecorded(self) -> list[str]:
        """Algorithms of somebody's own of which it is not known what else differs, as NAME · RUN."""
        return [f"{name} · {run.label}" for run in self.runs for name in run.unrecorded]

    @cached_property
    def cautions(self) -> list[str]:
        return cautions(self.runs, self.subjects)

    @cached_property
    def against(self) -> list[Against]:
        """Every algorithm that has a base."""
        pairs = list(self._pairs())
        level = 1 - (1 - CONFIDENCE) / max(1, len(pairs) * len(QUANTITIES))
        return [_against(base, other, level) for base, other in pairs]

    def _pairs(self) -> Iterator[tuple[Subject, Subject]]:
        """Each algorithm of a later run with the one of the same slug of the first run, or with its only one; within
        a single run with its first."""
        first = [one for one in self.subjects if one.run is self.runs[0]]
        if len(self.runs) == 1:
            yield from ((first[0], other) for other in first[1:])
            return
        for other in self.subjects:
            alike = [one for one in first if one.slug == other.slug] or (first if len(first) == 1 else [])
            if other.run is not self.runs[0] and alike:
                yield alike[0], other

    def as_plain(self) -> dict[str, Any]:
        """All of it as one document: what `netsim compare --json` prints, and docs/results.md describes."""
        return {
            "runs": [_run(run) for run in self.runs],
            "cautions": self.cautions,
            "differences": [
                {"field": one.field, "values": [None if v is ABSENT else v for v in one.values]}
                for one in self.differences
            ],
            "algorithms": [_algorithm(one) for one in self.subjects],
            "confidence": CONFIDENCE,
            "against": [_plain(one) for one in self.against],
        }


def compared(runs: Sequence[Run]) -> Comparison:
    """Runs as `read_runs` gives them, side by side."""
    return Comparison(tuple(runs))


# ── one against the other ───────────────────────────────────────────────────────────────────────────────
def _against(base: Subject, other: Subject, level: float) -> Against:
    ratios: dict[str, Ratio | None] = {}
    why: dict[str, str] = {}
    for name in QUANTITIES:
        found = _ratio(name, base, other, level)
        ratios[name] = found if isinstance(found, Ratio) else None
        if isinstance(found, str):
            why[name] = found
    exact = exact_apart(part(base.entry, "audit"), part(other.entry, "audit"))
    if isinstance(exact, str):
        why["epsilon_exact"] = exact
    return Against(base, other, ratios, why, exact if isinstance(exact, Apart) else None)


def _ratio(name: str, base: Subject, other: Subject, level: float) -> Ratio | str:
    """The ratio, or why there is none."""
    first, second = (by_replica(one.entry, name) for one in (base, other))
    if first is None or second is None:
        return "not known by replica"
    if not first or not second:
        return "nothing was estimated" if name == "gradient_error" else "nothing was run"
    if not same_objective(base.run, other.run):
        return "not the same objective"
    if not all(0 < v < math.inf for v in (*first, *second)):
        return "an error is 0 or no number"
    return ratio(first, second, paired=_paired(base, other, len(first), len(second)), confidence=level)


def _paired(base: Subject, other: Subject, first: int, second: int) -> bool:
    """Whether replica r of both draws from streams of one seed, so that they belong together."""
    return first == second and base.run.results.get("seed") == other.run.results.get("seed")


def by_replica(entry: Result, name: str) -> list[float] | None:
    """A number of each replica; None where results have none (they are of an older version)."""
    where = {"final_error": ("convergence", "finals"), "gradient_error": ("gradients", "by_replica")}[name]
    held = part(entry, where[0])
    if where[1] in held:
        return numbers(held[where[1]])
    return [] if name == "gradient_error" and (not held or held.get("refused")) else None


# ── as a document ───────────────────────────────────────────────────────────────────────────────────────
def _run(run: Run) -> dict[str, Any]:
    known = {key: run.results.get(key) for key in ("name", "title", "status", "seed", "versions")}
    return {"label": run.label, "folder": str(run.folder)} | known


def _algorithm(subject: Subject) -> dict[str, Any]:
    entry = subject.entry
    audit, told = part(entry, "audit"), ("epsilon_claimed", "epsilon_exact", "epsilon_audited", "first_violation")
    claim, inferred = part(audit, "claim"), part(entry, "gradients")
    convergence = part(entry, "convergence")
    return {
        "label": subject.label,
        "run": subject.run.label,
        "name": entry.get("name"),
        "slug": subject.slug,
        "verdict": word(entry),
        "broken": findings.claim_is_broken(entry),
        **{key: audit.get(key) for key in told},
        **{key: claim.get(key) for key in ("delta", "adjacency", "norm")},
        "error": {key: convergence.get(key) for key in ("final", "replicas", "unit")},
        "gradients": {key: inferred.get(key) for key in ("queries", "estimated", "median", "baseline")},
        "costs": costs(entry),
    }


def costs(entry: Result) -> dict[str, Any]:
    """What the whole run cost: the last of its costs so far, and what it took in virtual time."""
    spent = part(part(entry, "measures"), "costs")
    found = {key: values[-1] for key, values in spent.items() if key != "count" and items(spent, key)}
    return found | {"time": part(entry, "run").get("time")}


def _plain(one: Against) -> dict[str, Any]:
    return {
        "base": one.base.label,
        "other": one.other.label,
        "epsilon_exact": None if one.exact is None else SIDES[one.exact.side],
        "epsilon_exact_confidence": None if one.exact is None else one.exact.confidence,
        **{name: None if found is None else asdict(found) for name, found in one.ratios.items()},
        "why": dict(one.why),
    }
