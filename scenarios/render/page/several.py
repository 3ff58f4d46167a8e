"""The HTML page of a comparison of several runs, with its cells, which the terminal prints too."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypedDict, cast

from markupsafe import Markup, escape

from scenarios.files.document import setting
from scenarios.render.compared_headline import compared_headline
from scenarios.render.compared_runs import Run
from scenarios.render.comparison import COSTS, QUANTITIES, Comparison, Subject, delta
from scenarios.render.differing import ABSENT, COMPUTED
from scenarios.render.page.drawing import Series
from scenarios.render.page.epsilons import epsilons
from scenarios.render.page.report import environment, progress, summaries
from scenarios.render.sentences import ELSEWHERE, ENDS, Finding, meanings, terms, word
from scenarios.results import findings
from scenarios.results.attacks import GradientResult
from scenarios.results.audit import AuditResult
from scenarios.results.base import Setting
from scenarios.results.findings import ComparisonResult, Ratio, Side
from scenarios.results.numbers import MISSING, at_least, count, exact, known, percent, plural, show, show_epsilon
from scenarios.results.tree import AlgorithmResult

_LETTERS = 300
"""Of a value in the table of differences."""
_FIELDS = 12
"""Fields that differ beyond which their table is closed."""
_EXACT = "epsilon_exact"
_VERDICT_HEADS = ("ε claimed", "ε exact", "ε audited", "δ", "First violation: round or activation")
_SAME, _FEW, _CERTAIN = "the same in every replica", " (too few replicas)", " (no noise in it)"
_MOST_DIGITS = 6
"""Of a ratio near 1."""
_SIDES: dict[Side | None, str] = {
    "not told apart": "no proven difference",
    "equal": "the same",
    "both infinite": "both are infinite",
}
"""How two exact epsilons lie to each other where neither is larger."""
_FINAL, _FINAL_WITHIN = "Final error", "Final error [5\u202f%, 95\u202f%]"
_ESTIMATED, _ERRORS = "Gradients estimated", "Error of these"
_ACTIVATIONS, _AUDITED = "Most activations", "Audited agent's"
_MESSAGES, _BYTES = "Messages", "Bytes sent"
FOUND = (_FINAL, _ESTIMATED, _ERRORS)
"""Columns of a brief `run_table` that are no costs."""
_GUESSED, _MARK = "no better than guessing", " *"
_DISTANCE = f"Final error: distance to the optimum, relative to it, median over the replicas ({ENDS})."
_MEANINGS = {
    _FINAL: _DISTANCE,
    _FINAL_WITHIN: _DISTANCE,
    _ESTIMATED: "Gradients estimated: those of which the adversary has an estimate, of all that the agents computed.",
    _ERRORS: "Error of these: distance to the true gradient, divided by its length where that is above 1; the "
    "median. Near 10⁻¹⁵ the gradient is known but for rounding.",
    _ACTIVATIONS: "Most activations: of one agent, or its rounds.",
    _AUDITED: "Audited agent's: activations of the agent that was audited.",
    _MESSAGES: "Messages: one for each receiver.",
    _BYTES: "Bytes sent: of all packets, acknowledgements and repeats too.",
}
"""What columns of runs mean, where their heads do not say it."""


def comparison_page(comparison: Comparison) -> str:
    """The page as text, which loads nothing; the same results give the same page."""
    subjects, runs = comparison.subjects, comparison.runs
    ordered = [Finding(replace(one.entry, name=one.label)) for one in subjects]
    shown = list(zip(ordered, _looks(subjects), strict=True))
    own = plural(len({one.entry.slug for one in subjects}), "algorithm")
    name = f"{len(runs)} runs compared" + (f": {own}" if len(runs) != len(subjects) else "")
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
            first="differences",
            series=len(shown),
            runs=runs,
            columns=[(one.label, _whole(one.label)) for one in comparison.columns],
            compared=comparison.compared,
            again=shlex.join(["netsim", "compare", *places]),
            commands=[(run.label, run.results.command) for run in runs],
            headline=compared_headline(comparison),
            epsilons=epsilons([(one.entry.name, one.entry) for one in ordered], terms(ordered)),
            meanings=meanings(ordered),
            cautions=comparison.cautions,
            verdicts=list(zip(map(_named, subjects), ordered, strict=True)),
            epsilon_heads=list(heads := _verdict_columns(subjects)),
            epsilon_cells=list(zip(*heads.values(), strict=True)) or [()] * len(subjects),
            two_kinds=any(re.fullmatch(r"algorithm(s\[.*\])?\.kind", one.field) for one in comparison.differences),
            differences=[(field, list(map(_short, cells))) for field, cells in difference_rows(comparison)],
            computed=any(d.field.endswith(COMPUTED) for d in comparison.differences),
            most_fields=_FIELDS,
            unrecorded=comparison.unrecorded,
            quantities=list(comparison.quantities.values()),
            against=(rows := list(map(partial(_against, comparison), comparison.against, comparison.costs))),
            costs=list(COSTS.values()) if any(comparison.costs) else [],
            bold=any(apart for row in rows for _, apart in row["cells"]),
            redrawn=comparison.redrawn,
            paired=any(row["replicas"] != MISSING for row in rows),
            exact=any(row["exact"] != MISSING for row in rows),
            sided=any(one.epsilon_exact in ("above", "below") for one in comparison.against),
            certainty=comparison.certainty,
            intervals=any(one.has_interval and not (one.certain or one.same) for one in comparison.ratios),
            curves_title="The runs and the attacks",
            run_columns=(columns := run_table(subjects)),
            run_names=[_whole(one.label) for one in subjects],
            run_meanings=run_meanings(columns),
            summaries=summaries(ordered) | {"repeat": _seeds(runs)},
            version=" and ".join(dict.fromkeys(run.results.versions.get("netsim-lab", "") for run in runs)),
            **progress(shown, "eavesdropper"),
        )
    )


def _looks(subjects: Sequence[Subject]) -> list[Series]:
    """The looks of curves: one colour for each algorithm, and dashes and a marker for each run; of one algorithm
    alone, or of one run, a colour for each curve."""
    slugs = list(dict.fromkeys(one.entry.slug for one in subjects))
    runs = list(dict.fromkeys(one.run.label for one in subjects))
    if 1 in (len(slugs), len(runs)):
        return [Series(k) for k in range(len(subjects))]
    return [Series(k, slugs.index(s.entry.slug), runs.index(s.run.label)) for k, s in enumerate(subjects)]


class _Row(TypedDict):
    """One algorithm against its base: cells, each with whether it differs with confidence."""

    other: Markup
    base: Markup
    cells: list[tuple[str, bool]]
    replicas: str
    exact: str
    costs: list[str]


def _against(comparison: Comparison, one: ComparisonResult.Against, costs: Mapping[str, float]) -> _Row:
    alike = one.other not in comparison.redrawn
    words = against_words(one)
    ratios: dict[str, Ratio | None] = {name: getattr(one, name) for name in comparison.quantities}
    found = [r for r in ratios.values() if r is not None]
    found = [r for r in found if not (r.certain or r.same)]
    paired = "paired, replica by replica" if any(r.paired for r in found) else "not paired" if found else MISSING
    return {
        "other": _whole(one.other),
        "base": _whole(one.base),
        "cells": [(words[name], alike and r is not None and _apart(r)) for name, r in ratios.items()],
        "replicas": paired,
        "exact": words[_EXACT],
        "costs": list(cost_words(costs).values()),
    }


def _seeds(runs: Sequence[Run]) -> str:
    seeds = list(dict.fromkeys(str(run.results.seed) for run in runs))
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}"


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"


# ── cells, for the page and for the terminal ────────────────────────────────────────────────────────────
def difference_rows(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """Each field that differs and its values: one row for a field that has the same ones in several algorithms."""
    places: dict[tuple[str, ...], list[str]] = {}
    every = {f"algorithms[{one['name']}]" for run in comparison.runs for one in run.specs}
    for one in comparison.differences:
        place = next((place for place in every if one.field.startswith(f"{place}.")), "")
        field = one.field.removeprefix(place)
        places.setdefault((field, *difference_cells(one)), []).append(place)
    return [
        (f"{'algorithms[*]' if len(some) > 1 and {*some} == every else ', '.join(some)}{field}", cells)
        for (field, *cells), some in places.items()
    ]


def difference_cells(one: ComparisonResult.Difference) -> list[str]:
    """The values of a field that differs; a computed number with as few digits as tell it from the others."""
    there = [value for value in one.values if value is not ABSENT]
    if one.field.endswith(COMPUTED) and all(isinstance(value, float) for value in there):
        numbers = cast("list[float]", there)
        shown = (dict(zip(numbers, [show(value, n) for value in numbers], strict=True)) for n in range(4, 18))
        words = next(found for found in shown if len({*found.values()}) == len(found))
        return [MISSING if value is ABSENT else words[cast("float", value)] for value in one.values]
    return [MISSING if value is ABSENT else _setting(value) for value in one.values]


def _setting(value: Setting) -> str:
    """A field's value in words: a whole number without its fraction, digits in threes."""
    if isinstance(value, float) and value.is_integer():
        return f"{value:,.0f}"
    return "none" if value is None else setting(value)


def _named(one: Subject) -> tuple[Markup, str]:
    """The label of an algorithm, and from where its claim does not hold that holds at the door."""
    return _whole(one.label), "; ".join(findings.refuted_from(one.entry)) * (word(one.entry) == ELSEWHERE)


def _whole(label: str) -> Markup:
    """A label whose words are not broken at their hyphens where they fit a line."""
    words = (f'<b class="whole">{escape(one)}</b>' if "-" in one else escape(one) for one in label.split(" "))
    return Markup(" ".join(words))


def _verdict_columns(subjects: Sequence[Subject]) -> dict[str, list[str]]:
    """The epsilons, δ and the first violation: the cells of each column, by its head, without those that no algorithm
    has anything in."""
    rows = list(map(_verdict_cells, subjects))
    columns = dict(zip(_VERDICT_HEADS, map(list, zip(*rows, strict=True)), strict=True))
    return {head: cells for head, cells in columns.items() if {*cells} != {MISSING}}


def _verdict_cells(one: Subject) -> list[str]:
    """The three epsilons of an algorithm, δ, and the first violating activation; without an audit what is claimed,
    and its δ."""
    audit, claimed = one.entry.audit, show_epsilon(findings.claimed(one.entry))
    if not isinstance(audit, AuditResult):
        return [claimed, MISSING, MISSING, show(delta(one.entry)), MISSING]
    proven = at_least(audit.epsilon_audited)
    return [claimed, exact(audit.epsilon_exact), proven, show(delta(one.entry)), count(audit.first_violation)]


def run_table(subjects: Sequence[Subject], *, brief: bool = False) -> dict[str, list[str]]:
    """How runs end, the gradients that were estimated, and the costs: the cells of each column, by its head, without
    those that no run has anything in. `brief`: without intervals and replicas."""
    rounds = all(one.entry.convergence.unit == "rounds" for one in subjects if one.entry.convergence)
    columns = {
        _FINAL if brief else _FINAL_WITHIN: [_final(one.entry, brief) for one in subjects],
        "Replicas": [count(curve and curve.replicas) for curve in (one.entry.convergence for one in subjects)],
        _ESTIMATED: [_estimated(one.entry, brief)[0] for one in subjects],
        _ERRORS: [_estimated(one.entry, brief)[1] for one in subjects],
        "Rounds" if rounds else _ACTIVATIONS: [_spent(one.entry, "plf") for one in subjects],
        _AUDITED: _examined(subjects),
        _MESSAGES: [_spent(one.entry, "messages") for one in subjects],
        _BYTES: [_spent(one.entry, "bytes") for one in subjects],
        "Virtual time, s": [show(one.entry.run and one.entry.run.time, 4) for one in subjects],
    }
    if brief:
        columns.pop("Replicas")
    return {head: cells for head, cells in columns.items() if {*cells} != {MISSING}}


def run_meanings(columns: Mapping[str, Sequence[str]]) -> str:
    """What the heads and the marks of a `run_table` mean."""
    said = [words for head, words in _MEANINGS.items() if head in columns]
    marked = any(cell.endswith(_MARK) for cells in columns.values() for cell in cells)
    return " ".join([*said, *[f"*: {_GUESSED}; no gradient is learned."] * marked])


def _final(entry: AlgorithmResult, brief: bool) -> str:
    curve = entry.convergence
    if brief or not (curve and curve.final is not None and curve.replicas > 1 and curve.low and curve.high):
        return show(curve and curve.final)
    return f"{show(curve.final)} [{show(curve.low[-1])}, {show(curve.high[-1])}]"


def _estimated(entry: AlgorithmResult, brief: bool) -> tuple[str, str]:
    """How many gradients of how many have an estimate, its median error, and whether that is a guess."""
    found = entry.gradients
    if not isinstance(found, GradientResult):
        return MISSING, MISSING
    learned = f"{_MARK if brief else f', {_GUESSED}'}" if found.guessed else ""
    return f"{count(found.estimated)} of {count(found.queries)}", show(found.median) + learned


def _examined(subjects: Sequence[Subject]) -> list[str]:
    """Activations of the audited agents, where these are not the same."""
    audits = [one.entry.audit for one in subjects]
    cells = [count(audit.activations) if isinstance(audit, AuditResult) else MISSING for audit in audits]
    return cells if len({*cells} - {MISSING}) > 1 else [MISSING] * len(cells)


def _spent(entry: AlgorithmResult, cost: str) -> str:
    """A cost of the whole run."""
    amounts: Sequence[int] = getattr(entry.measures.costs, cost) if entry.measures else ()
    return count(amounts[-1] if amounts else None)


def _digits(ratio: Ratio) -> int:
    """As many as show that a ratio is not 1, where it is told apart from 1."""
    if not ratio.told_apart:
        return 3
    ends = (ratio.low, ratio.high)
    return next((n for n in range(3, _MOST_DIGITS) if "1" not in [show(end, n) for end in ends]), _MOST_DIGITS)


def _apart(ratio: Ratio) -> bool:
    """Whether it is not 1, in the digits that are shown."""
    return ratio.told_apart and "1" not in [show(end, _MOST_DIGITS) for end in (ratio.low, ratio.high)]


def cost_words(costs: Mapping[str, float]) -> dict[str, str]:
    """The ratio of each cost of a run, or that it is the same."""
    found = {name: costs.get(name) for name in COSTS}
    return {name: "the same" if one == 1 else f"{show(one, 3)} ×" if one else MISSING for name, one in found.items()}


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
        first, second = one.audited_activations or (0, 0)
        if first != second:
            found[_EXACT] += f", but after {plural(second, 'activation')} of the audited agent, not {first:,}"
    return found
