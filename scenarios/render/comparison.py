"""Comparison of runs: numbers of every algorithm side by side, and cautions where they must not be compared."""

import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import compress
from typing import TypeAlias

from attacks.audit.verdict import exceeds
from scenarios.render.compared_runs import Run, redrawn
from scenarios.render.differing import ABSENT, differences
from scenarios.render.ratios import Missing, no_ratio, ratio, replicas_needed, rounding
from scenarios.render.sentences import word
from scenarios.results import findings
from scenarios.results.attacks import GradientResult
from scenarios.results.audit import AuditResult, EpsilonExact
from scenarios.results.base import taken
from scenarios.results.findings import ComparedAlgorithm, ComparisonResult, Ratio, Side
from scenarios.results.numbers import plural, show
from scenarios.results.tree import AlgorithmResult

CONFIDENCE = 0.95
"""Joint confidence of all intervals of ratios; the exact epsilons have their own."""
QUANTITIES = {"final_error": "final relative error", "gradient_error": "median error of the estimated gradients"}
"""Numbers known of every replica, which have intervals."""
COSTS = {"bytes": "bytes sent", "time": "virtual time"}
"""Costs of a whole run, which are one number each, of one draw of the network."""
_NOTHING = {"final_error": "0 but for rounding", "gradient_error": "recovered"}
"""What an error is of which a ratio tells nothing."""
NOTHING_ESTIMATED = "nothing was estimated"
"""Why two algorithms have no ratio of gradient errors at all."""
_GUESSES = "those of both are no better than guessing"
ONE_REPLICA = "one replica, and two splits of the data"
"""Why numbers of two splits have no ratio: one replica does not tell a setting from the draw."""
_OPTIMA = "errors are relative to different optima"
_DIGITS = 8
"""Of a SHA-256 of code, to distinguish it from another."""
_SEARCHED = re.compile(r" \(the worst of [\d,]+ searched\)")
"""How many pairs were searched, which is not of the pair."""
_Term: TypeAlias = Callable[[AuditResult], object]
_ADJACENCY: Sequence[_Term] = (lambda a: a.claim.stated[0], lambda a: a.claim.adjacency)
_CHANGE: Sequence[_Term] = (lambda a: show(a.claim.stated[1], 4), lambda a: show(a.claim.gradient_change, 4))
"""As a claim states them, and as they were audited, which may be wider: two audits differ where both do."""
_TERMS: dict[str, Sequence[_Term]] = {
    "δ": (lambda a: a.claim.delta,),
    "adjacency": _ADJACENCY,
    "norm of the claim": (lambda a: a.claim.norm,),
    "change of the gradient": _CHANGE,
    "audited agent": (lambda a: a.loss_breakdown.agent,),
    "audited pair": (lambda a: _SEARCHED.sub("", a.pair),),
}
"""Terms of an audit: the exact epsilons of two that differ in one are not compared."""


@dataclass(frozen=True)
class Subject:
    """One algorithm of one run, with a label of its own in the comparison."""

    label: str
    run: Run
    entry: AlgorithmResult


@dataclass(frozen=True)
class Comparison:
    """Some runs, side by side; the first that has an algorithm is the base of the others that have it."""

    runs: Sequence[Run]

    @cached_property
    def subjects(self) -> list[Subject]:
        """Every algorithm of every run, those of one name beside each other; its label has as much of run and name
        as distinguishes it."""
        order = list(dict.fromkeys(entry.slug for run in self.runs for entry in run.entries))
        pairs = [(run, entry) for slug in order for run in self.runs for entry in run.entries if entry.slug == slug]
        if len(self.runs) == 1:
            return [Subject(entry.name, run, entry) for run, entry in pairs]
        if len({entry.name for _, entry in pairs}) == 1 and len(pairs) == len(self.runs):
            return [Subject(run.label, run, entry) for run, entry in pairs]
        return [Subject(f"{entry.name} · {run.label}", run, entry) for run, entry in pairs]

    @cached_property
    def columns(self) -> list[Run]:
        """What differs in fields: the runs, or the algorithms of a single run, each as a run of its own."""
        if len(self.runs) > 1:
            return list(self.runs)
        return [replace(one.run, label=one.label, slugs=(one.entry.slug,)) for one in self.subjects]

    @cached_property
    def differences(self) -> list[ComparisonResult.Difference]:
        """The fields in which the `columns` differ, and their values (`ABSENT`: not there)."""
        named = len(self.runs) == 1  # by its name each column goes
        return [one for one in differences(self.columns) if not (named and one.field == "algorithm.name")]

    @property
    def compared(self) -> str:
        """The word for what has these fields."""
        return "the scenarios" if len(self.runs) > 1 else "the algorithms"

    @cached_property
    def unrecorded(self) -> list[str]:
        """Algorithms of somebody's own of which it is not known what else differs, as NAME · RUN."""
        return [f"{name} · {run.label}" for run in self.runs for name in run.unrecorded]

    @cached_property
    def cautions(self) -> list[str]:
        """A sentence for each thing that is not the same, and for each run that is not whole."""
        return _cautions(self.runs, self.subjects, self.pairs)

    @cached_property
    def pairs(self) -> list[tuple[Subject, Subject]]:
        """Each algorithm of a later run behind the one of the same slug of the first run that has one, or behind the
        only one of the first run; within a single run behind its first."""
        first = [one for one in self.subjects if one.run is self.runs[0]]
        if len(self.runs) == 1:
            return [(first[0], other) for other in first[1:]]
        pairs: list[tuple[Subject, Subject]] = []
        for other in self.subjects:  # those of one slug in the order of the runs
            base = next(one for one in self.subjects if one.entry.slug == other.entry.slug)
            if base is other and len(first) == 1:
                base = first[0]
            if base is not other:
                pairs.append((base, other))
        return pairs

    @cached_property
    def against(self) -> list[ComparisonResult.Against]:
        """The second algorithm of each pair against the first."""
        level = 1 - (1 - CONFIDENCE) / max(1, len(self.pairs) * len(QUANTITIES))
        return [_against(base, other, level) for base, other in self.pairs]

    @cached_property
    def redrawn(self) -> set[str]:
        """Labels of the algorithms whose base solved another split of the data: a ratio is of the splits, too."""
        return {other.label for base, other in self.pairs if redrawn(base.run, other.run)}

    @cached_property
    def quantities(self) -> dict[str, str]:
        """Those of the quantities that some algorithm has."""
        some = {name for one in self.against for name in QUANTITIES if one.why.get(name) != NOTHING_ESTIMATED}
        return {name: words for name, words in QUANTITIES.items() if name in some}

    @cached_property
    def ratios(self) -> list[Ratio]:
        """Those of all pairs."""
        return [found for one in self.against for name in QUANTITIES if (found := getattr(one, name)) is not None]

    @cached_property
    def costs(self) -> list[dict[str, float]]:
        """Those of the second algorithm of each pair, divided by those of the first, where not one alone is 0."""
        found = list[dict[str, float]]()
        for pair in self.pairs:
            first, second = (algorithm(one).costs for one in pair)
            both = ((name, first.get(name), second.get(name)) for name in COSTS)
            known = [(name, a, b) for name, a, b in both if a is not None and b is not None]
            found.append({name: b / a if a else 1.0 for name, a, b in known if (a > 0) == (b > 0)})
        return found

    @cached_property
    def certainty(self) -> list[str]:
        """How sure each number is that is set beside another."""
        costs = any(value != 1 for one in self.costs for value in one.values())
        ratios = costs or any(not one.same for one in self.ratios)
        said = ["2 × means twice the number of the base."] if ratios else []
        if any(one.has_interval and not (one.certain or one.same) for one in self.ratios):
            said.append(f"Of ratios: all intervals hold together at {show(100 * CONFIDENCE)} %.")
        apart = (one for one in self.against if one.epsilon_exact in ("below", "above"))
        if any(one.epsilon_exact_confidence != 1 for one in apart):
            audits = [one.entry.audit for one in self.subjects if isinstance(one.entry.audit, AuditResult)]
            alone = sorted({audit.exact_confidence for audit in audits} - {1})
            each = " or ".join(f"{show(100 * one)} %" for one in alone)
            said.append(f"Of exact ε: one audit is right at {each}, and two together at less: error rates add up.")
        said += filter(None, [self.replicas_needed])
        if costs:
            said.append("Bytes and virtual time are of one draw of the network each, and have no interval.")
        return said

    @cached_property
    def replicas_needed(self) -> str:
        """How many replicas intervals take where there were too few, in a sentence; empty where there are enough."""
        needed = sorted({replicas_needed(one) for one in self.ratios if not (one.has_interval or one.same)})
        return f"An interval takes {' or '.join(map(str, needed))} replicas of each." if needed else ""

    def result(self, headline: str = "") -> ComparisonResult:
        """All of it, with its finding, as the document of `netsim compare --json`."""
        return ComparisonResult(
            headline=headline,
            runs=tuple(
                ComparisonResult.ComparedRun(
                    label=run.label,
                    folder=str(run.folder),
                    **{name: getattr(run.results, name) for name in ("name", "title", "status", "seed", "versions")},
                )
                for run in self.runs
            ),
            cautions=tuple(self.cautions),
            differences=tuple(
                replace(one, values=tuple(None if value is ABSENT else value for value in one.values))
                for one in self.differences
            ),
            algorithms=tuple(algorithm(one) for one in self.subjects),
            confidence=CONFIDENCE,
            against=tuple(self.against),
        )


def algorithm(subject: Subject) -> ComparedAlgorithm:
    """An algorithm in the document."""
    entry = subject.entry
    audit = _audit(subject)
    found = entry.gradients if isinstance(entry.gradients, GradientResult) else None
    curve, claim = entry.convergence, audit and audit.claim
    spent = asdict(entry.measures.costs) if entry.measures else {}
    costs: dict[str, float | None] = {key: values[-1] for key, values in spent.items() if key != "count" and values}
    return taken(
        ComparedAlgorithm,
        entry,
        label=subject.label,
        run=subject.run.label,
        verdict=word(entry),
        broken=findings.claim_is_broken(entry),
        epsilon_claimed=findings.claimed(entry),
        epsilon_exact=audit and audit.epsilon_exact,
        epsilon_audited=audit and audit.epsilon_audited,
        first_violation=audit and audit.first_violation,
        delta=delta(entry),
        adjacency=claim and claim.stated[0],
        norm=claim and claim.norm,
        error=ComparedAlgorithm.FinalError(
            final=curve and curve.final, replicas=curve and curve.replicas, unit=curve.unit if curve else None
        ),
        gradients=ComparedAlgorithm.InferredGradients(
            **{name: found and getattr(found, name) for name in ("queries", "estimated", "median", "baseline")}
        ),
        costs=costs | {"time": entry.run and entry.run.time},
    )


def delta(entry: AlgorithmResult) -> float | None:
    """δ of an audit or, where none was made to its end, of what is claimed; None where no number is."""
    if isinstance(entry.audit, AuditResult):
        return entry.audit.claim.delta
    return entry.budget.delta if entry.budget is not None and findings.claimed(entry) is not None else None


# ── cautions ────────────────────────────────────────────────────────────────────────────────────────────
def _cautions(
    runs: Sequence[Run], subjects: Sequence[Subject], pairs: Sequence[tuple[Subject, Subject]]
) -> list[str]:
    judged = [(one.label, audit) for one in subjects if (audit := _audit(one)) is not None]
    whose = {one.label: one.run.label for one in subjects}
    paired = {one.label for pair in pairs for one in pair}
    costed = [(one.label, one.entry.measures) for one in subjects if one.entry.measures is not None]
    versions = [(run.label, run.results.versions.get("netsim-lab", "")) for run in runs]

    def differ(
        what: str, why: str, get: Callable[[AuditResult], str], *, terms: Sequence[_Term] = (), axis: bool = True
    ) -> str:
        """A sentence of the algorithms that are not the same to their base, in the words that `get` has for each; of
        an `axis` that all share also of all algorithms where one has no base, unless every run has the same. `terms`:
        what else differs wherever they do."""
        values = {label: get(audit) for label, audit in judged}
        held = {label: [term(audit) for term in terms] for label, audit in judged}
        of_runs = {frozenset(values[label] for label in values if whose[label] == run) for run in whose.values()}
        alike = len(runs) > 1 and len(of_runs - {frozenset()}) == 1
        apart = {
            one.label
            for pair in pairs
            if all(values.get(one.label) for one in pair)
            and len({values[one.label] for one in pair}) > 1
            and all(a != b for a, b in zip(*(held[one.label] for one in pair), strict=True))
            for one in pair
        }
        same = any(len(set(map(str, column))) == 1 for column in zip(*held.values(), strict=True))
        whole = axis and not (alike or same or values.keys() <= paired)
        return _several(what, why, values.items(), None if whole else apart)

    each = [{entry.convergence.unit for entry in run.entries if entry.convergence} for run in runs]
    usual = len(each) > 1 and all(units == each[0] for units in each)  # the same units in every run are no news
    units = [(one.label, one.entry.convergence.unit) for one in subjects if one.entry.convergence and not usual]
    found = [
        *_objectives(runs),
        _lengths(pairs),
        differ("adjacency", "their epsilons bound different changes", lambda a: a.claim.stated[0], terms=_ADJACENCY)
        or differ("change of the gradient", "the more it changes, the larger is ε",
                  lambda a: f"{show(a.claim.gradient_change, 4)} in ℓ2", terms=_CHANGE),
        differ("δ", "an ε at one δ is none at another", lambda a: show(a.claim.delta)),
        differ("norm of the claim", "a change of 1 is not the same in both", lambda a: a.claim.norm),
        _several("accuracy's measure", "what an accuracy costs is of different measures",
                 ((label, own.measure.replace("_", " ")) for label, own in costed if own.to_accuracy)),
        _several("unit of time", "curves by rounds and by activations share an axis", units),
        differ("number of activations of the audited agent", "ε can only grow with them",
               lambda a: f"{a.activations:,}", axis=False),
        differ("number of transcripts of each world", "what a game can prove at most grows with them",
               lambda a: f"{a.trials:,}", axis=False),
        differ("confidence of the audit", "the surer, the wider is an interval of the same evidence",
               lambda a: show(a.confidence), axis=False),
        *_other_pairs(pairs),
        *_own_code(runs),
        _several("version of netsim", "the same scenario may give other numbers", versions),
    ]  # fmt: skip
    found += [_unfinished(run) for run in runs if run.results.status != "complete"]
    if len(runs) > 1:
        found.append(_alone(whose, paired))
    for label, audit in judged:
        if audit.earlier:
            times, joint = f"{len(audit.earlier)} time{'s' * (len(audit.earlier) > 1)}", audit.joint_confidence
            sure = "" if joint is None else f", and all its audits hold together at {show(100 * joint)} %"
            found.append(f"{label} was audited {times} before: its numbers are of the last audit{sure}.")
    found += [f"{one.label}: {one.entry.outside_model}." for one in subjects if one.entry.outside_model]
    return [line for line in found if line]


def length(one: Subject) -> str:
    """For how many rounds or activations an algorithm ran; empty where it did not."""
    curve = one.entry.convergence
    return f"{curve.count[-1]:,} {curve.unit}" if curve is not None and curve.count else ""


def other_length(base: Subject, other: Subject) -> bool:
    """Whether one algorithm ran for two lengths."""
    return base.entry.slug == other.entry.slug and len({length(base), length(other)} - {""}) > 1


def _lengths(pairs: Sequence[tuple[Subject, Subject]]) -> str:
    """A sentence of the algorithms that ran for another length than their base."""
    found = {one.label: length(one) for pair in pairs if other_length(*pair) for one in pair}
    return _several("length", "errors that fall or grow along a run are of two places in it", found.items())


def _other_pairs(pairs: Sequence[tuple[Subject, Subject]]) -> Iterator[str]:
    """A sentence of all whose exact ε is not compared with their base's since they were audited at another agent, and
    one for each base of those that were audited with another pair of data sets."""
    agents: dict[str, Subject] = {}
    bases: dict[str, list[Subject]] = {}
    for base, other in pairs:
        terms = _withheld(base, other)
        if "audited agent" in terms:
            agents |= {base.label: base, other.label: other}
        elif "audited pair" in terms:
            bases.setdefault(base.label, [base]).append(other)

    def said(what: str, why: str, some: Iterable[Subject]) -> str:
        audits = [(one.label, audit) for one in some if (audit := _audit(one)) is not None]
        return _several(what, why, [(label, str(_TERMS[what][0](audit))) for label, audit in audits])

    yield said("audited agent", "each has its own data, and sends other messages", agents.values())
    for some in bases.values():
        yield said("audited pair", "an exact ε is that of its pair", some)


def _alone(whose: Mapping[str, str], paired: Collection[str]) -> str:
    """A sentence of the algorithms, each with its run, that are in no other run: all of a run by its name."""
    single = [label for label in whose if label not in paired]
    if len(single) == len(whose) > 2:
        return f"None of the {len(single)} algorithms is in two runs, so that nothing is set beside another."
    here, every = (Counter(whose[label] for label in labels) for labels in (single, whose))
    whole = {run for run, count in here.items() if count == every[run] > 2}
    named = dict.fromkeys(
        f"all {every[run]} of {run}" if (run := whose[label]) in whole else label for label in single
    )
    return f"In no other run, so that nothing is set beside it: {', '.join(named)}." if named else ""


def _unfinished(run: Run) -> str:
    """That a run is not whole, and how it goes on where it was interrupted."""
    said = f"{run.label} is {run.results.status}: what it has not done is missing here."
    if run.results.status != "interrupted" or not run.results.command:
        return said
    return f"{said} Continue it with `{run.results.command} --out {shlex.quote(str(run.folder))}`."


def _objectives(runs: Sequence[Run]) -> list[str]:
    """A sentence where not all solve one problem, and one where their seeds split its data in other ways."""
    posed: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        posed.setdefault(run.posed, []).append(run)
    facts = [_facts(alike[0]) for alike in posed.values()]
    apart = [len(set(values)) > 1 for values in zip(*facts, strict=True)]  # those that are not the same in all
    listed = [
        ": ".join(filter(None, (_labels(alike), ", ".join(compress(own, apart)))))
        for alike, own in zip(posed.values(), facts, strict=True)
    ]
    fields = [one.field for one in differences(runs) if one.field.startswith("problem")]
    by = f", by {', '.join(fields)}" if fields and not any(apart) else ""
    said = "; ".join(listed) + by
    other = [f"Not the same objective ({said}): {_OPTIMA}."] if len(posed) > 1 else []
    return [*other, *filter(None, map(_splits, posed.values()))]


def _facts(run: Run) -> tuple[str, ...]:
    """The problem in a few words."""
    problem = run.results.problem
    if problem is None:
        return ("nothing was run", "", "")
    kind, data = problem.kind.replace("_", " "), f"{problem.records:,} records of {problem.data}"
    return kind, data, plural(problem.agents, "agent")


def _splits(alike: Sequence[Run]) -> str:
    """A sentence where runs of one problem have not the same objectives: by their seeds, or by other data."""
    splits: dict[tuple[str, ...], list[Run]] = {}
    for run in alike:
        splits.setdefault(run.split, []).append(run)
    if len(splits) < 2:
        return ""
    listed = "; ".join(map(_labels, splits.values()))
    if not all(redrawn(a, b) for a in alike for b in alike if a.split != b.split):
        return f"Not the same objective ({listed}): {_OPTIMA}."
    return (
        f"Not the same split of the data ({listed}): the seed draws which agent holds which records. Errors are "
        "relative to the optimum of each run, and a ratio has what the draw does in it. Like with like: one seed, "
        "and more `replicas`, which draw the noise anew for the same split."
    )


def _labels(runs: Sequence[Run]) -> str:
    return ", ".join(run.label for run in runs)


def _own_code(runs: Sequence[Run]) -> list[str]:
    """For every place of somebody's own code, whether it held the same each time."""
    found: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        places = {str(one.get("name")): str(one.get("path")) for one in run.specs}
        for name, one in run.resolved.items():
            if name in places and (code := str(one.get("sha256", ""))):
                found.setdefault(places[name], []).append((f"{name} · {run.label}", code[:_DIGITS]))
    return [_several(f"code of {place}", "it was changed between the runs", codes) for place, codes in found.items()]


def _several(
    what: str, why: str, values: Iterable[tuple[str, str | None]], among: Collection[str] | None = None
) -> str:
    """A sentence where not all are the same, of those `among` which it is asked; two numbers that print alike are the
    same. A run of several algorithms with one value goes by its own name."""
    groups: dict[str, list[str]] = {}
    every = Counter[str]()
    for label, value in values:
        if value:
            if among is None or label in among:
                groups.setdefault(value, []).append(label)
            every[_run_of(label)] += 1
    if len(groups) < 2:
        return ""
    listed: list[str] = []
    for value, labels in groups.items():
        here = Counter(map(_run_of, labels))
        whole = {run for run, count in here.items() if count > 1 and count == every[run]}
        named = dict.fromkeys(_run_of(label) if _run_of(label) in whole else label for label in labels)
        listed.append(f"{value}: {', '.join(named)}")
    return f"Not the same {what} ({'; '.join(listed)}): {why}."


def _run_of(label: str) -> str:
    """The run in an algorithm's label, "NAME · RUN"."""
    return label.rpartition(" · ")[2]


# ── one against the other ───────────────────────────────────────────────────────────────────────────────
def _against(base: Subject, other: Subject, level: float) -> ComparisonResult.Against:
    found = {name: _ratio(name, base, other, level) for name in QUANTITIES}
    why = {name: one for name, one in found.items() if isinstance(one, str)}
    ratios = {name: one if isinstance(one, Ratio) else None for name, one in found.items()}
    first, second = _audit(base), _audit(other)
    side: Side | None = None
    confidence: float | None = None
    activations: tuple[int, int] | None = None
    if first is not None and second is not None:
        activations = first.activations, second.activations
        side = _side(first.epsilon_exact, second.epsilon_exact)
        if different := _withheld(base, other):
            why["epsilon_exact"], side = f"not the same {next(iter(different))}", None
        else:  # both intervals hold at once: each fails with its own error rate, and either may (a union bound)
            confidence = max(0.0, round(first.exact_confidence + second.exact_confidence - 1, 12))
    return ComparisonResult.Against(
        base=base.label,
        other=other.label,
        epsilon_exact=side,
        epsilon_exact_confidence=confidence,
        audited_activations=activations,
        why=why,
        **ratios,
    )


def _audit(one: Subject) -> AuditResult | None:
    """The audit of an algorithm, where it was made."""
    return one.entry.audit if isinstance(one.entry.audit, AuditResult) else None


def _withheld(base: Subject, other: Subject) -> dict[str, None]:
    """The terms in which two audits differ, in order: for these their exact epsilons are not compared. None where
    both are infinite."""
    first, second = _audit(base), _audit(other)
    if first is None or second is None or _side(first.epsilon_exact, second.epsilon_exact) == "both infinite":
        return {}
    return dict.fromkeys(name for name, terms in _TERMS.items() if all(one(first) != one(second) for one in terms))


def _side(one: EpsilonExact, two: EpsilonExact) -> Side:
    """Where the second interval is, beside the first."""
    if math.isinf(one.lower) and math.isinf(two.lower):
        return "both infinite"
    if exceeds(two.lower, one.upper):
        return "above"
    if exceeds(one.lower, two.upper):
        return "below"
    alike = one.known and two.known and (one.lower, one.estimate, one.upper) == (two.lower, two.estimate, two.upper)
    return "equal" if alike or (one.lower == one.upper and two.lower == two.upper) else "not told apart"


def _ratio(name: str, base: Subject, other: Subject, level: float) -> Ratio | str:
    """The ratio, or why there is none."""
    entries = base.entry, other.entry
    if name == "final_error":
        first, second = (one.convergence.finals if one.convergence else () for one in entries)
    else:
        first, second = (
            one.gradients.by_replica if isinstance(one.gradients, GradientResult) else () for one in entries
        )
    if not first or not second:
        nothing = NOTHING_ESTIMATED if name == "gradient_error" else "nothing was run"
        whose = other.label if first else base.label
        return f"{nothing} of {whose}" if first or second else nothing
    if (base.run.posed, base.run.split) != (other.run.posed, other.run.split) and not redrawn(base.run, other.run):
        return "not the same objective"
    # replica r of both draws from streams of one seed, so that they belong together
    paired = len(first) == len(second) and base.run.results.seed == other.run.results.seed
    exact = findings.EXACT_GRADIENT, findings.EXACT_GRADIENT
    least = exact if name == "gradient_error" else (rounding(base.run.results), rounding(other.run.results))
    if (why := no_ratio(first, second, least=least, paired=paired)) is not None:
        return _without_ratio(name, why, base, other)
    if redrawn(base.run, other.run) and 1 in (len(first), len(second)):
        return ONE_REPLICA
    certain = tuple(len(one) == 1 and not entry.noise for one, entry in zip((first, second), entries, strict=True))
    found = ratio(first, second, paired=paired, confidence=level, certain=certain)
    guessed = (isinstance(one.gradients, GradientResult) and one.gradients.guessed for one in entries)
    return _GUESSES if name == "gradient_error" and not found.same and all(guessed) else found


def _without_ratio(name: str, why: Missing, base: Subject, other: Subject) -> str:
    """Why there is no ratio, with the name of the one that is nothing."""
    if why == "no number":
        return "an error is no number"
    are = name == "gradient_error"
    if why == "both":
        return f"{'those of both' if are else 'both'} are {_NOTHING[name]}"
    label = (base if why == "base" else other).label
    return f"{'those' if are else 'that'} of {label} {'are' if are else 'is'} {_NOTHING[name]}"
