"""HTML pages of several runs: a comparison, with its cells, which the terminal prints too; and a sweep's quantities
over one or two of its fields, as lines or as heat maps, from its table's rows."""

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias, cast

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_hex

from netsim.arrays import unknown
from scenarios.render.comparison import ABSENT, CONFIDENCE, QUANTITIES, Comparison, Subject
from scenarios.render.page.charts import WIDTH
from scenarios.render.page.drawing import Chart, Drawing, Series, canvas
from scenarios.render.page.epsilons import epsilons
from scenarios.render.page.report import chart_of, environment, progress
from scenarios.render.sentences import Finding, headline, meanings, terms
from scenarios.render.terminal import leaves
from scenarios.results.attacks import GradientResult
from scenarios.results.audit import AuditResult
from scenarios.results.findings import ComparisonResult, Ratio
from scenarios.results.numbers import MISSING, at_least, count, exact, known, plural, setting, show
from scenarios.results.reproduction import FigureCurve, FigureResult

_LETTERS = 300
"""Of a value in the table of differences."""
_EXACT = "epsilon_exact"
_COSTS = {"plf": "Θ", "messages": "Messages", "bytes": "Bytes on the air", "queries": "Queries"}
_HEADS = ("Algorithm", "Final relative error [5 %, 95 %]", "Replicas", "Gradients inferred", "Median error")


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
            first="verdicts",
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
            unrecorded=comparison.unrecorded,
            quantities=list(QUANTITIES.values()),
            against=[_against(one) for one in comparison.against],
            confidence=show(100 * CONFIDENCE),
            curves_title="The runs and the attacks",
            run_title="How they end, and what they cost",
            run_rows=[
                (*_HEADS, *_COSTS.values(), "Virtual time, s"),
                *((one.label, *run_cells(one)) for one in subjects),
            ],
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
    paired = "paired, replica by replica" if any(r.paired for r in found) else "not paired" if found else MISSING
    return {
        "other": one.other,
        "base": one.base,
        "cells": [(words[name], r and r.told_apart) for name, r in ratios.items()],
        "replicas": paired,
        "exact": words[_EXACT],
    }


def _value(value: object) -> str:
    text = "absent" if value is ABSENT else setting(value)
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"


# ── cells, for the page and for the terminal ────────────────────────────────────────────────────────────
def _verdict_cells(one: Subject) -> list[str]:
    """The three epsilons of an algorithm, δ, and the first violating activation; dashes without an audit."""
    audit = one.entry.audit
    if not isinstance(audit, AuditResult):
        return [MISSING] * 5
    claimed, proven = show(audit.epsilon_claimed, 4), at_least(audit.epsilon_audited, 4)
    return [claimed, exact(audit.epsilon_exact), proven, show(audit.claim.delta), count(audit.first_violation)]


def run_cells(one: Subject) -> list[str]:
    """The end of a run, the gradients inferred, and the costs."""
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


def against_words(one: ComparisonResult.Against) -> dict[str, str]:
    """Each ratio with its interval, whether the exact ε is proven to be another one, and how sure that is; or why
    there is no such number."""
    found = {name: f"{MISSING} ({one.why[name]})" if one.why.get(name) else MISSING for name in (*QUANTITIES, _EXACT)}
    for name in QUANTITIES:
        ratio: Ratio | None = getattr(one, name)
        if ratio is not None:
            ends = f" [{show(ratio.low)}, {show(ratio.high)}]"
            few = " (too few replicas for an interval)"
            found[name] = f"{show(ratio.estimate)} ×{ends if ratio.low == ratio.low else few}"
    if one.epsilon_exact == "not told apart":
        found[_EXACT] = "no proven difference"
    elif one.epsilon_exact is not None:
        which = "smaller" if one.epsilon_exact == "below" else "larger"
        found[_EXACT] = f"{which}, proven at {show(100 * known(one.epsilon_exact_confidence))} %"
    return found


# ── a sweep ─────────────────────────────────────────────────────────────────────────────────────────────
Point: TypeAlias = Mapping[str, object]
"""A row of the table: of one algorithm at one point."""
_REFUTED = "share refuted"
_COLUMNS = {
    "final_error": "Final relative error",
    _REFUTED: "Share of claims that are refuted or unprotected",
    "epsilon_claimed": "ε claimed",
    "epsilon_exact_lower": "ε exact, at least",
    "epsilon_audited": "ε audited, at least",
    "gradient_error": "Error of inferred gradients",
    "identifiable": "Share of gradients that are identifiable",
    "image_skill": "Skill of rebuilt images",
    "best_skill": "Skill of the best attack on records",
    "packets": "Packets",
    "bytes": "Bytes on the air",
    "time": "Virtual seconds",
}
"""Columns that are drawn, and a share of verdicts."""
_FIRST = 8
"""Quantities that stand open; the others are costs."""
_FEWEST, _CURVES = 4, 7
"""Values of both fields from which on a heat map is drawn, and curves of one figure at most."""
_MOST, _GROUPS = 12, 8
"""Values of a field beyond which neighbours are put together, into so many groups."""
_CELLS = 80
"""Cells of a heat map of which each has its number."""
_PAIRS, _ROWS = 6, 300


@dataclass(frozen=True)
class SweptTable:
    """A sweep's table: `fields` are those that it varies."""

    scenario: str
    command: str
    version: str
    fields: tuple[str, ...]
    rows: Sequence[Point]

    def values(self, name: str) -> list[object]:
        """What a column has, in order: numbers by size."""
        return sorted({_key(row[name]) for row in self.rows if row.get(name) is not None}, key=_order)


def figures(table: SweptTable, over: Sequence[str] = (), of: Sequence[str] = ()) -> list[tuple[str, list[Chart]]]:
    """Charts of the quantities `of` (default: all there are), over one or two columns, or over each pair of fields
    that take several values: the pair in words, and its charts.

    You get a `ScenarioError` for what is no column, or no quantity.
    """
    known = [*table.fields, *(name for name in _COLUMNS if name != _REFUTED)]
    for name in over:
        if name not in known:
            raise unknown("--over", name, known)
    there = [name for name in _COLUMNS if any(not math.isnan(_number(row, name)) for row in table.rows)]
    for name in of:
        if name not in there:
            raise unknown("--of", name, there)
    varied = [name for name in table.fields if len(table.values(name)) > 1] or list(table.fields[:1])
    pairs = [tuple(over)] if over else list(combinations(varied, min(2, len(varied))))[:_PAIRS]
    short = dict(zip(table.fields, leaves(list(table.fields)), strict=True))
    found: list[tuple[str, list[Chart]]] = []
    for k, pair in enumerate(pairs):
        drawn = [_charts(table, name, pair, f"s{k}-{n}", short) for n, name in enumerate(of or there)]
        words = " and ".join(short.get(name, _COLUMNS.get(name, name)) for name in pair)
        found.append((words, [one for charts in drawn for one in charts]))
    return found


def _constant(table: SweptTable) -> list[str]:
    """Quantities that are the same at every point, of each algorithm."""
    found: list[str] = []
    several = len({row.get("algorithm") for row in table.rows}) > 1
    for name, words in _COLUMNS.items():
        for algorithm, values in _each(table, name).items():
            if len(values) == 1:
                found.append(f"{algorithm}: " * several + f"{words[0].lower()}{words[1:]} {show(next(iter(values)))}")
    return found


def _each(table: SweptTable, quantity: str) -> dict[object, set[float]]:
    """The different numbers of each algorithm."""
    found: dict[object, set[float]] = {}
    for row in table.rows:
        if not math.isnan(value := _number(row, quantity)):
            found.setdefault(row.get("algorithm"), set()).add(value)
    return found


def sweep_page(table: SweptTable, over: Sequence[str] = (), of: Sequence[str] = ()) -> str:
    """The page as text, which loads nothing; the same table gives the same page."""
    drawn = figures(table, over, of)
    points = {row.get("point") for row in table.rows}
    failed = {str(row["error"]) for row in table.rows if row.get("error") is not None}
    columns = [name for name in (*table.fields, "algorithm", "verdict", *_COLUMNS) if name != _REFUTED]
    shown = [name for name in columns if any(row.get(name) is not None for row in table.rows)]
    return (
        environment()
        .get_template("sweep.html.j2")
        .render(
            title=f"A sweep of {table.scenario}",
            first="figures",
            series=_CURVES,
            points=len(points),
            fields=[(name, [setting(value) for value in table.values(name)]) for name in table.fields],
            failed=sorted(failed)[:_GROUPS],
            figures=drawn,
            heads=[*leaves(list(table.fields)), *(_COLUMNS.get(n, n) for n in shown if n not in table.fields)],
            cells=[[_cell(row.get(name)) for name in shown] for row in table.rows[:_ROWS]],
            more=max(0, len(table.rows) - _ROWS),
            command=table.command,
            constant=_constant(table),
            version=table.version,
        )
    )


def _cell(value: object) -> str:
    return show(value) if isinstance(value, float) else MISSING if value is None else setting(value)


# ── numbers ─────────────────────────────────────────────────────────────────────────────────────────────
def _number(row: Point, name: str) -> float:
    """A quantity of a row; nan where it has none."""
    if name == _REFUTED:
        verdict = row.get("verdict")
        return math.nan if verdict is None else float(verdict in ("refuted", "unprotected"))
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else math.nan


def _key(value: object) -> object:
    return value if isinstance(value, int | float | str) else setting(value)


def _order(value: object) -> tuple[bool, float, str]:
    numeric = isinstance(value, int | float)
    return not numeric, float(value) if numeric else 0.0, str(value)


def _places(table: SweptTable, name: str) -> dict[object, object]:
    """Where each value of a column goes: to itself, or to the median of its group where there are many."""
    values = table.values(name)
    if len(values) <= _MOST or not all(isinstance(value, int | float) for value in values):
        return {value: value for value in values}
    groups = np.array_split(np.array(values, dtype=np.float64), _GROUPS)
    found = {float(value): float(np.median(group)) for group in groups for value in group}
    return {value: found[float(cast("float", value))] for value in values}


def _by(
    table: SweptTable, quantity: str, pair: Sequence[str], algorithm: object
) -> dict[tuple[object, ...], list[float]]:
    """The numbers of one algorithm at each place of the columns `pair`."""
    places = [_places(table, name) for name in pair]
    found: dict[tuple[object, ...], list[float]] = {}
    for row in table.rows:
        value = _number(row, quantity)
        if row.get("algorithm") != algorithm or math.isnan(value) or any(row.get(name) is None for name in pair):
            continue
        at = tuple(place[_key(row[name])] for place, name in zip(places, pair, strict=True))
        found.setdefault(at, []).append(value)
    return found


def _middle(values: Sequence[float], quantity: str) -> float:
    return float(np.mean(values)) if quantity == _REFUTED else float(np.median(values))


# ── figures ─────────────────────────────────────────────────────────────────────────────────────────────
def _charts(
    table: SweptTable, quantity: str, pair: Sequence[str], name: str, short: Mapping[str, str]
) -> list[Chart]:
    """A quantity over one or two columns: a heat map of each algorithm where both take several values, else lines."""
    algorithms = list(dict.fromkeys(row.get("algorithm") for row in table.rows))
    several = len(algorithms) > 1
    found = {one: _by(table, quantity, pair, one) for one in algorithms}
    varies = {one for one, values in _each(table, quantity).items() if len(values) > 1}
    found = {one: cells for one, cells in found.items() if cells and one in varies}
    axes = [short.get(one, _COLUMNS.get(one, one)) for one in pair]
    every = [len(values) for cells in found.values() for values in cells.values()]
    most = max(every, default=1)
    about = "Mean" if quantity == _REFUTED else "Median"
    caption = [f"{about} of {most} numbers at most."] if most > 1 else []
    caption += [
        f"{plural(len(table.values(one)), 'value')} of {word}, in {_GROUPS} groups at their medians."
        for one, word in zip(pair, axes, strict=True)
        if len(set(_places(table, one).values())) < len(table.values(one))
    ]
    if len(pair) == 2 and all(len({at[k] for cells in found.values() for at in cells}) >= _FEWEST for k in (0, 1)):
        return [
            _heat(quantity, axes, one if several else None, cells, f"{name}-{k}", caption)
            for k, (one, cells) in enumerate(found.items())
        ]
    lines: list[list[FigureCurve]] = []
    for one, cells in found.items():
        own: list[FigureCurve] = []
        for second in sorted({at[1:] for at in cells}, key=lambda at: _order(at[0]) if at else (False, 0.0, "")):
            words = [str(one)] * (several or not second) + [f"{axes[1]} {_cell(value)}" for value in second]
            own.append(_curve(", ".join(words), str(one), quantity, cells, second))
        lines.append(own)
    together = sum(map(len, lines)) <= _CURVES
    chosen = [[curve for own in lines for curve in own]] if together else lines
    return [_lines(quantity, axes[0], one, f"{name}-{k}", caption) for k, one in enumerate(chosen) if one]


def _curve(
    label: str, algorithm: str, quantity: str, cells: Mapping[tuple[object, ...], Sequence[float]], second: object
) -> FigureCurve:
    at = sorted((place for place in cells if place[1:] == second), key=lambda place: _order(place[0]))
    each = [cells[place] for place in at]
    few = all(len(values) == 1 for values in each)
    return FigureCurve(
        label=label,
        algorithm=algorithm,
        variant="",
        x=tuple(cast("Any", place[0]) for place in at),
        y=tuple(_middle(values, quantity) for values in each),
        low=() if few or quantity == _REFUTED else tuple(map(min, each)),
        high=() if few or quantity == _REFUTED else tuple(map(max, each)),
    )


def _lines(quantity: str, x: str, curves: Sequence[FigureCurve], name: str, caption: Sequence[str]) -> Chart:
    """Infinite values are counted in the caption: they have no place on an axis of numbers."""
    seen: list[FigureCurve] = []
    for one in curves:
        kept = [k for k, y in enumerate(one.y) if math.isfinite(y)]
        low, high = (tuple(row[k] for k in kept) if row else () for row in (one.low, one.high))
        places, middle = tuple(one.x[k] for k in kept), tuple(one.y[k] for k in kept)
        seen.append(replace(one, x=places, y=middle, low=low, high=high))
    infinite = sum(math.isinf(y) for one in curves for y in one.y)
    words = [*caption, "Whiskers: from the least to the most."] if any(one.low for one in seen) else [*caption]
    words += [f"∞ at {plural(infinite, 'place')}, not drawn."] if infinite else []
    figure = FigureResult(
        title=_COLUMNS[quantity],
        x=x,
        y=_COLUMNS[quantity],
        log=_logarithmic(y for one in seen for y in one.y),
        log_x=False,
        points=True,
        level=None,
        curves=tuple(seen),
        absent=tuple(words),
    )
    return chart_of(figure, {one.label: Series(k) for k, one in enumerate(seen)}, name)


def _logarithmic(values: Iterable[float]) -> bool:
    given = [value for value in values if math.isfinite(value)]
    return bool(given) and min(given) > 0 and max(given) > 10 * min(given)


def _heat(
    quantity: str,
    axes: Sequence[str],
    algorithm: object,
    cells: Mapping[tuple[object, ...], Sequence[float]],
    name: str,
    caption: Sequence[str],
) -> Chart:
    """Dark is little and bright is much; a cell without a number is empty."""
    across, up = (sorted({at[k] for at in cells}, key=_order) for k in (0, 1))
    middles = {at: _middle(values, quantity) for at, values in cells.items()}
    finite = [value for value in middles.values() if math.isfinite(value)]
    log = _logarithmic(finite)
    low, high = (f(map(math.log10, finite) if log else finite) for f in (min, max)) if finite else (0.0, 1.0)
    colours: Any = cast("Any", mpl).colormaps["cividis"]
    with canvas(WIDTH, max(190, 60 + 26 * len(up))) as (figure, plot):
        for (x, y), value in middles.items():
            share = 1.0 if math.isinf(value) else ((math.log10(value) if log else value) - low) / ((high - low) or 1)
            at = across.index(x), up.index(y)
            plot.fill_between(
                [at[0] - 0.5, at[0] + 0.5], at[1] - 0.5, at[1] + 0.5, color=to_hex(colours(share)), lw=0
            )
            if len(across) * len(up) <= _CELLS:
                ink = "#ffffff" if share < 0.5 else "#000000"
                plot.text(*at, show(value, 2), ha="center", va="center", fontsize=9, color=ink)
        plot.set_xlim(-0.5, len(across) - 0.5)
        plot.set_ylim(-0.5, len(up) - 0.5)
        plot.set_xticks(range(len(across)), [_cell(value) for value in across], rotation=45 if len(across) > 7 else 0)
        plot.set_yticks(range(len(up)), [_cell(value) for value in up])
        plot.tick_params(length=0)
        for side in ("left", "bottom"):
            plot.spines[side].set_visible(False)
        plot.set_xlabel(axes[0])
        plot.set_ylabel(axes[1])
        of = "" if algorithm is None else f"{algorithm}: "
        words = f"{of}{_COLUMNS[quantity]} by {axes[0]} and {axes[1]}"
        ends = f"from {show(min(finite))} to {show(max(finite))}" if finite else "infinite everywhere"
        drawing = Drawing(name, f"{words}, {ends}.", figure)
    scale = f"Dark: {show(min(finite))}; bright: {show(max(finite))}{', on a logarithmic scale' * log}."
    return Chart(f"{of}{_COLUMNS[quantity]}", drawing, (), (*([scale] if finite else ["∞ everywhere."]), *caption))
