"""Runs compared: the fields that differ, the numbers of every algorithm, and what is known of their differences."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from scenarios import findings
from scenarios.comparing.cautions import cautions, same_objective
from scenarios.comparing.differences import ABSENT, Difference, differences
from scenarios.comparing.epsilons import Apart, exact_apart
from scenarios.comparing.medians import Ratio, ratio
from scenarios.comparing.subjects import Result, Run, Subject, subjects
from scenarios.report.formats import items, numbers, part
from scenarios.report.words import word

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
        "gradients": {key: inferred.get(key) for key in ("asked", "estimated", "median", "baseline")},
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
