"""Comparison of runs: numbers of every algorithm side by side, and cautions where they must not be compared."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from statistics import median
from typing import cast

from scipy.stats import binom

from scenarios.render.compared_runs import ABSENT, Difference, Run, Subject, differences, subjects
from scenarios.render.sentences import word
from scenarios.results import compare, findings
from scenarios.results.attacks import GradientResult
from scenarios.results.audit import AuditResult
from scenarios.results.base import Setting
from scenarios.results.compare import ComparedAlgorithm, ComparisonResult, FinalError, InferredGradients, Ratio
from scenarios.results.numbers import show
from scenarios.results.tree import AlgorithmResult

CONFIDENCE = 0.95
"""Joint confidence of all intervals of ratios; the exact epsilons have their own."""
QUANTITIES = {"final_error": "final relative error", "gradient_error": "median error of the inferred gradients"}
"""Numbers known of every replica, which have intervals."""
SIDES = ("not told apart", "above", "below")
"""Of exact epsilons, by `Apart.side`."""
FACTS = (
    "kind", "data", "part", "agents", "dimension", "records", "records_per_agent", "smoothness", "strong_convexity",
)  # fmt: skip
"""Facts of an objective; the curvatures are computed from all its data, and distinguish most others."""
DIGITS = 8
"""Of a SHA-256 of code, to distinguish it from another."""


@dataclass(frozen=True)
class Apart:
    """`side`: −1 where the second exact ε is proven to be below the first, 1 above, 0 where their intervals meet.

    Both intervals hold at once at `confidence`: each fails with its own error rate, and either may (a union bound).
    """

    side: int
    confidence: float


@dataclass(frozen=True)
class Against:
    """One algorithm against its base: the subject of the first run that it is compared with."""

    base: Subject
    other: Subject
    ratios: Mapping[str, Ratio | None]
    """Of each of `QUANTITIES`; None with the reason in `why`."""
    why: Mapping[str, str]
    exact: Apart | None
    """None without two audits or, with the reason in `why`, where these are of different things."""


@dataclass(frozen=True)
class Comparison:
    """Some runs, side by side; the first of them is the base of the others."""

    runs: tuple[Run, ...]

    @cached_property
    def subjects(self) -> list[Subject]:
        """Every algorithm of every run."""
        return subjects(self.runs)

    @cached_property
    def differences(self) -> list[Difference]:
        """The fields in which the scenarios differ."""
        return differences(self.runs)

    @cached_property
    def unrecorded(self) -> list[str]:
        """Algorithms of somebody's own of which it is not known what else differs, as NAME · RUN."""
        return [f"{name} · {run.label}" for run in self.runs for name in run.unrecorded]

    @cached_property
    def cautions(self) -> list[str]:
        """A sentence for each thing that is not the same, and for each run that is not whole."""
        return _cautions(self.runs, self.subjects)

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
            alike = [one for one in first if one.entry.slug == other.entry.slug] or (first if len(first) == 1 else [])
            if other.run is not self.runs[0] and alike:
                yield alike[0], other

    def result(self) -> ComparisonResult:
        """All of it as the document of `netsim compare --json`."""
        return ComparisonResult(
            runs=tuple(_run(run) for run in self.runs),
            cautions=tuple(self.cautions),
            differences=tuple(compare.Difference(field=one.field, values=_settings(one)) for one in self.differences),
            algorithms=tuple(_algorithm(one) for one in self.subjects),
            confidence=CONFIDENCE,
            against=tuple(_against_result(one) for one in self.against),
        )


def compared(runs: Sequence[Run]) -> Comparison:
    """Runs as `read_runs` gives them, side by side."""
    return Comparison(tuple(runs))


# ── cautions ────────────────────────────────────────────────────────────────────────────────────────────
def _cautions(runs: Sequence[Run], subjects: Sequence[Subject]) -> list[str]:
    judged = [(one.label, audit) for one in subjects if isinstance(audit := one.entry.audit, AuditResult)]
    costed = [(one.label, one.entry.measures) for one in subjects if one.entry.measures is not None]
    versions = [(run.label, run.results.versions.get("netsim-lab", "")) for run in runs]
    changed = "change of the gradient between the worlds"
    found = [
        _objectives(runs),
        _several("adjacency", "their epsilons bound different changes",
                 ((label, audit.claim.adjacency) for label, audit in judged)),
        _several("δ", "an ε at one δ is none at another",
                 ((label, show(audit.claim.delta)) for label, audit in judged)),
        _several("norm of the claim", "a change of 1 is not the same in both",
                 ((label, audit.claim.norm) for label, audit in judged)),
        _several(changed, "the more it changes, the larger is ε",
                 ((label, show(audit.claim.gradient_change, 4)) for label, audit in judged)),
        _several("accuracy's measure", "what an accuracy costs is of different measures",
                 ((label, own.measure.replace("_", " ")) for label, own in costed if own.to_accuracy)),
        _several("unit of time", "curves by rounds and by activations share an axis", _units(runs, subjects)),
        _several("number of trials", "what a game can prove at most grows with them",
                 ((label, show(audit.trials)) for label, audit in judged)),
        _several("confidence of the audit", "the surer, the wider is an interval of the same evidence",
                 ((label, show(audit.confidence)) for label, audit in judged)),
        _several("audited agent", "each has its own data, and says other things", _agents(judged))
        or _several("audited pair", "an exact ε is that of its pair",
                    ((label, audit.pair) for label, audit in judged)),
        *_own_code(runs),
        _several("version of netsim", "the same scenario may give other numbers", versions),
    ]  # fmt: skip
    found += [
        f"{run.label} is {run.results.status}: what it has not done is missing here."
        for run in runs
        if run.results.status != "complete"
    ]
    found += [_again(label, audit) for label, audit in judged if audit.earlier]
    found += [f"{one.label}: {one.entry.outside_model}." for one in subjects if one.entry.outside_model]
    return [line for line in found if line]


def _facts(run: Run) -> tuple[str, ...]:
    """The facts of the objective, and the fields it was made of."""
    problem = run.results.problem
    return (run.results.scenario.problem.model_dump_json(), *(str(getattr(problem, name, None)) for name in FACTS))


def _objectives(runs: Sequence[Run]) -> str:
    groups: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        groups.setdefault(_facts(run), []).append(run.label)
    if len(groups) < 2:
        return ""
    listed = "; ".join(", ".join(labels) for labels in groups.values())
    return f"Not the same objective ({listed}): errors are relative to different optima."


def _units(runs: Sequence[Run], subjects: Sequence[Subject]) -> list[tuple[str, str]]:
    """Units of the curves; none where every run has algorithms of the same units, which is no news then."""
    each = [{entry.convergence.unit for entry in run.entries if entry.convergence} for run in runs]
    if len(each) > 1 and all(units == each[0] for units in each):
        return []
    return [(one.label, one.entry.convergence.unit) for one in subjects if one.entry.convergence]


def _agents(judged: Sequence[tuple[str, AuditResult]]) -> list[tuple[str, str]]:
    return [(label, str(audit.loss_breakdown.agent)) for label, audit in judged]


def _own_code(runs: Sequence[Run]) -> list[str]:
    """For every place of somebody's own code, whether it held the same each time."""
    found: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        places = {str(one.get("name")): str(one.get("path")) for one in run.specs}
        for name, code in run.own_code.items():
            if name in places:
                found.setdefault(places[name], []).append((f"{name} · {run.label}", code[:DIGITS]))
    return [_several(f"code of {place}", "it was changed between the runs", codes) for place, codes in found.items()]


def _again(label: str, audit: AuditResult) -> str:
    times = f"{len(audit.earlier)} time{'s' * (len(audit.earlier) > 1)}"
    joint = audit.joint_confidence
    sure = "" if joint is None else f", and all its audits hold together at {show(100 * joint)} %"
    return f"{label} was audited {times} before: its numbers are of the last audit{sure}."


def _several(what: str, why: str, values: Iterable[tuple[str, str]]) -> str:
    """A sentence where not all are the same; two numbers that print alike are the same."""
    labelled = [(label, value) for label, value in values if value]
    groups: dict[str, list[str]] = {}
    for label, value in labelled:
        groups.setdefault(value, []).append(label)
    if len(groups) < 2:
        return ""
    every = Counter(_run_of(label) for label, _ in labelled)
    listed = "; ".join(f"{value}: {', '.join(_named(labels, every))}" for value, labels in groups.items())
    return f"Not the same {what} ({listed}): {why}."


def _named(labels: Sequence[str], every: Mapping[str, int]) -> list[str]:
    """The labels, but one name of a run in place of all of its algorithms, if they are several."""
    here = Counter(map(_run_of, labels))
    whole = {run for run, count in here.items() if count > 1 and count == every[run]}
    return list(dict.fromkeys(_run_of(label) if _run_of(label) in whole else label for label in labels))


def _run_of(label: str) -> str:
    """The run in an algorithm's label, "NAME · RUN"."""
    return label.rpartition(" · ")[2]


# ── one against the other ───────────────────────────────────────────────────────────────────────────────
def _against(base: Subject, other: Subject, level: float) -> Against:
    found = {name: _ratio(name, base, other, level) for name in QUANTITIES}
    why = {name: one for name, one in found.items() if isinstance(one, str)}
    exact = _exact_apart(base.entry, other.entry)
    if isinstance(exact, str):
        why["epsilon_exact"] = exact
    ratios = {name: one if isinstance(one, Ratio) else None for name, one in found.items()}
    return Against(base, other, ratios, why, exact if isinstance(exact, Apart) else None)


def _exact_apart(base: AlgorithmResult, other: AlgorithmResult) -> Apart | str | None:
    """None without two audits, or why they are not compared: they are of different things."""
    first, second = base.audit, other.audit
    if not isinstance(first, AuditResult) or not isinstance(second, AuditResult):
        return None
    terms = [
        {
            "δ": audit.claim.delta,
            "adjacency": audit.claim.adjacency,
            "norm of the claim": audit.claim.norm,
            "change of the gradient": show(audit.claim.gradient_change, 4),
            "audited agent": audit.loss_breakdown.agent,
            "audited pair": audit.pair,
        }
        for audit in (first, second)
    ]
    for name, value in terms[0].items():
        if terms[1][name] != value:
            return f"not the same {name}"
    one, two = first.epsilon_exact, second.epsilon_exact
    side = -1 if two.upper < one.lower else 1 if two.lower > one.upper else 0
    return Apart(side, max(0.0, first.confidence + second.confidence - 1))


def _ratio(name: str, base: Subject, other: Subject, level: float) -> Ratio | str:
    """The ratio, or why there is none."""
    first, second = (_by_replica(one.entry, name) for one in (base, other))
    if not first or not second:
        return "nothing was estimated" if name == "gradient_error" else "nothing was run"
    if _facts(base.run) != _facts(other.run):
        return "not the same objective"
    if not all(0 < v < math.inf for v in (*first, *second)):
        return "an error is 0 or no number"
    # replica r of both draws from streams of one seed, so that they belong together
    paired = len(first) == len(second) and base.run.results.seed == other.run.results.seed
    return ratio(first, second, paired=paired, confidence=level)


def _by_replica(entry: AlgorithmResult, name: str) -> Sequence[float]:
    if name == "final_error":
        return entry.convergence.finals if entry.convergence else ()
    return entry.gradients.by_replica if isinstance(entry.gradients, GradientResult) else ()


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


# ── as a document ───────────────────────────────────────────────────────────────────────────────────────
def _settings(found: Difference) -> tuple[Setting, ...]:
    return tuple(None if value is ABSENT else cast("Setting", value) for value in found.values)


def _run(run: Run) -> compare.ComparedRun:
    of = run.results
    return compare.ComparedRun(
        label=run.label,
        folder=str(run.folder),
        name=of.name,
        title=of.title,
        status=of.status,
        seed=of.seed,
        versions=of.versions,
    )


def _algorithm(subject: Subject) -> ComparedAlgorithm:
    entry = subject.entry
    audit = entry.audit if isinstance(entry.audit, AuditResult) else None
    found = entry.gradients if isinstance(entry.gradients, GradientResult) else None
    curve, claim = entry.convergence, audit and audit.claim
    return ComparedAlgorithm(
        label=subject.label,
        run=subject.run.label,
        name=entry.name,
        slug=entry.slug,
        verdict=word(entry),
        broken=findings.claim_is_broken(entry),
        epsilon_claimed=audit and audit.epsilon_claimed,
        epsilon_exact=audit and audit.epsilon_exact,
        epsilon_audited=audit and audit.epsilon_audited,
        first_violation=audit and audit.first_violation,
        delta=claim and claim.delta,
        adjacency=claim and claim.adjacency,
        norm=claim and claim.norm,
        error=FinalError(
            final=curve and curve.final, replicas=curve and curve.replicas, unit=curve.unit if curve else None
        ),
        gradients=InferredGradients(
            queries=found and found.queries,
            estimated=found and found.estimated,
            median=found and found.median,
            baseline=found and found.baseline,
        ),
        costs=_costs(entry),
    )


def _costs(entry: AlgorithmResult) -> dict[str, float | None]:
    """The costs of the whole run, and its virtual time."""
    spent = asdict(entry.measures.costs) if entry.measures else {}
    found: dict[str, float | None] = {key: values[-1] for key, values in spent.items() if key != "count" and values}
    return found | {"time": entry.run and entry.run.time}


def _against_result(one: Against) -> compare.Against:
    return compare.Against(
        base=one.base.label,
        other=one.other.label,
        epsilon_exact=SIDES[one.exact.side] if one.exact else None,
        epsilon_exact_confidence=one.exact and one.exact.confidence,
        final_error=one.ratios["final_error"],
        gradient_error=one.ratios["gradient_error"],
        why=dict(one.why),
    )
