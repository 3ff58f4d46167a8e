"""The HTML page of a comparison of several runs, with its cells, which the terminal prints too."""

import shlex
from collections.abc import Sequence
from dataclasses import replace

from scenarios.files.document import setting
from scenarios.render.comparison import ABSENT, QUANTITIES, Comparison, Subject
from scenarios.render.page.drawing import Series
from scenarios.render.page.epsilons import epsilons
from scenarios.render.page.report import environment, progress
from scenarios.render.sentences import Finding, headline, meanings, terms
from scenarios.results import findings
from scenarios.results.attacks import GradientResult
from scenarios.results.audit import AuditResult
from scenarios.results.findings import ComparisonResult, Ratio, Side
from scenarios.results.numbers import MISSING, at_least, count, exact, known, percent, show, show_epsilon

_LETTERS = 300
"""Of a value in the table of differences."""
_FIELDS = 12
"""Fields that differ beyond which their table is closed."""
_EXACT = "epsilon_exact"
_SAME, _FEW, _CERTAIN = "the same in every replica", " (too few replicas)", " (no noise in it)"
_MOST_DIGITS = 6
"""Of a ratio near 1."""
_SIDES: dict[Side | None, str] = {
    "not told apart": "no proven difference",
    "equal": "the same",
    "both infinite": "both are infinite",
}
"""How two exact epsilons lie to each other where neither is larger."""
_COSTS = {"plf": "Rounds", "messages": "Messages", "bytes": "Bytes on the air"}
_ACTIVATIONS = "Most activations"
"""Of one agent, where not everybody goes by rounds."""
_RUN_HEADS = ("Final error [5\u202f%, 95\u202f%]", "Replicas", "Gradients inferred", "Error of these")


def comparison_page(comparison: Comparison) -> str:
    """The page as text, which loads nothing; the same results give the same page."""
    subjects, runs = comparison.subjects, comparison.runs
    ordered = [Finding(replace(one.entry, name=one.label)) for one in subjects]
    shown = [(one, Series(k)) for k, one in enumerate(ordered)]
    name = f"{len(runs)} runs compared" + (f": {len(subjects)} algorithms" if len(runs) != len(subjects) else "")
    if len(runs) == 1:
        name = f"{len(subjects)} algorithms of {runs[0].label}"
    places = [
        str(run.folder) if run.slugs is None else f"{run.folder}:{slug}"
        for run in runs
        for slug in run.slugs or ("",)
    ]
    return (
        environment()
        .get_template("compare.html.j2")
        .render(
            title=name,
            first="verdicts" if len(runs) == 1 else "differences",
            series=len(shown),
            runs=runs,
            again=shlex.join(["netsim", "compare", *places]),
            commands=[(run.label, run.results.command) for run in runs],
            headline=headline(ordered),
            epsilons=epsilons([(one.entry.name, one.entry) for one in ordered], terms(ordered)),
            meanings=meanings(ordered),
            cautions=comparison.cautions,
            verdicts=[(_verdict_cells(one), found) for one, found in zip(subjects, ordered, strict=True)],
            differences=[(d.field, [_value(v) for v in d.values]) for d in comparison.differences],
            most_fields=_FIELDS,
            unrecorded=comparison.unrecorded,
            quantities=list(QUANTITIES.values()),
            against=[_against(one) for one in comparison.against],
            certainty=comparison.certainty,
            intervals=any(one.has_interval and not one.certain for one in comparison.ratios),
            curves_title="The runs and the attacks",
            run_title="How they end, and what they cost",
            run_heads=run_heads(subjects),
            run_rows=[(one.label, run_cells(one)) for one in subjects],
            run_meanings=run_meanings(subjects),
            summaries={},
            version=" and ".join(dict.fromkeys(run.results.versions.get("netsim-lab", "") for run in runs)),
            **progress(shown, "eavesdropper"),
        )
    )


def _against(one: ComparisonResult.Against) -> dict[str, object]:
    """One algorithm against its base: cells, each with whether it differs with confidence."""
    words = against_words(one)
    ratios: dict[str, Ratio | None] = {name: getattr(one, name) for name in QUANTITIES}
    found = [r for r in ratios.values() if r is not None]
    found = [r for r in found if not r.certain]
    paired = "paired, replica by replica" if any(r.paired for r in found) else "not paired" if found else MISSING
    return {
        "other": one.other,
        "base": one.base,
        "cells": [(words[name], r and _apart(r)) for name, r in ratios.items()],
        "replicas": paired,
        "exact": words[_EXACT],
    }


def _value(value: object) -> str:
    text = "absent" if value is ABSENT else setting(value)
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"


# ── cells, for the page and for the terminal ────────────────────────────────────────────────────────────
def _verdict_cells(one: Subject) -> list[str]:
    """The three epsilons of an algorithm, δ, and the first violating activation; without an audit what is claimed."""
    audit, claimed = one.entry.audit, show_epsilon(findings.claimed(one.entry))
    if not isinstance(audit, AuditResult):
        return [claimed, *[MISSING] * 4]
    proven = at_least(audit.epsilon_audited)
    return [claimed, exact(audit.epsilon_exact), proven, show(audit.claim.delta), count(audit.first_violation)]


def run_heads(subjects: Sequence[Subject]) -> list[str]:
    """The heads of `run_cells`."""
    costs = _COSTS if _by_rounds(subjects) else _COSTS | {"plf": _ACTIVATIONS}
    return [*_RUN_HEADS, *costs.values(), "Virtual time, s"]


def run_meanings(subjects: Sequence[Subject]) -> str:
    """What the heads mean."""
    most = "" if _by_rounds(subjects) else "Most activations: of one agent, or its rounds. "
    return (
        "Final error: distance to the optimum, relative to it, median over the replicas. Gradients inferred: those "
        "of which the adversary has an estimate, of all that the agents computed; error of these: the median, "
        "relative to the gradient (near 10⁻¹⁵ it is known but for rounding; at 1 the error is as large as the "
        "gradient). "
        f"{most}Messages: one for each receiver. Bytes on the air: of all packets, acknowledgements and repeats too."
    )


def _by_rounds(subjects: Sequence[Subject]) -> bool:
    """Whether every algorithm that was run goes by rounds."""
    return all(one.entry.convergence.unit == "rounds" for one in subjects if one.entry.convergence)


def run_cells(one: Subject) -> list[str]:
    """The end of a run, the gradients that were estimated, and the costs."""
    entry = one.entry
    curve, inferred = entry.convergence, entry.gradients
    final = show(curve and curve.final)
    if curve and curve.final is not None and curve.replicas > 1 and curve.low and curve.high:
        final = f"{show(curve.final)} [{show(curve.low[-1])}, {show(curve.high[-1])}]"
    got, median = MISSING, MISSING
    if isinstance(inferred, GradientResult):
        got, median = f"{count(inferred.estimated)} of {count(inferred.queries)}", show(inferred.median)
    spent: list[Sequence[int]] = [getattr(entry.measures.costs, key) if entry.measures else () for key in _COSTS]
    costs = [count(one[-1] if one else None) for one in spent]
    return [final, count(curve and curve.replicas), got, median, *costs, show(entry.run and entry.run.time, 4)]


def _digits(ratio: Ratio) -> int:
    """As many as show that a ratio is not 1, where it is told apart from 1."""
    if not ratio.told_apart:
        return 3
    ends = (ratio.low, ratio.high)
    return next((n for n in range(3, _MOST_DIGITS) if "1" not in [show(end, n) for end in ends]), _MOST_DIGITS)


def _apart(ratio: Ratio) -> bool:
    """Whether it is not 1, in the digits that are shown."""
    return ratio.told_apart and "1" not in [show(end, _MOST_DIGITS) for end in (ratio.low, ratio.high)]


def against_words(one: ComparisonResult.Against) -> dict[str, str]:
    """Each ratio with its interval, whether the exact ε is proven to be another one, and how sure that is; or why
    there is no such number."""
    found = {name: f"{MISSING} ({one.why[name]})" if one.why.get(name) else MISSING for name in (*QUANTITIES, _EXACT)}
    for name in QUANTITIES:
        ratio: Ratio | None = getattr(one, name)
        if ratio is not None:
            digits = _digits(ratio)
            ends = f" [{show(ratio.low, digits)}, {show(ratio.high, digits)}]" if ratio.has_interval else _FEW
            found[name] = f"{show(ratio.estimate, digits)} ×{_CERTAIN if ratio.certain else ends}"
            if ratio.certain and not _apart(ratio):
                found[name] = f"the same to {_MOST_DIGITS} digits"
            if ratio.same:
                found[name] = "the same" if ratio.certain else _SAME
    if one.epsilon_exact in _SIDES:
        found[_EXACT] = _SIDES[one.epsilon_exact]
    elif one.epsilon_exact is not None:
        which = "smaller" if one.epsilon_exact == "below" else "larger"
        sure = known(one.epsilon_exact_confidence)
        found[_EXACT] = f"{which}, proven" + (f" at {percent(sure)} (both audits)" if sure < 1 else "")
    return found
