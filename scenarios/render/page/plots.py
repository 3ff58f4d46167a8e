"""Figures that a scenario requests, and the outcome of a paper's item beside them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from scenarios.render.page.charts import FLOOR, HEIGHT, WIDTH
from scenarios.render.page.drawing import (
    HIGHEST,
    INK,
    Chart,
    Drawing,
    Scale,
    Series,
    Style,
    canvas,
    series,
    write_ticks,
)
from scenarios.results.numbers import show
from scenarios.results.tree import CheckAnswer, FigureCurve, FigureResult, Results

Place: TypeAlias = Callable[[float], float]
Shown: TypeAlias = Sequence[tuple[FigureCurve, Series]]
MARKS = {
    "agrees": ("good", "✓"),
    "agrees in shape": ("good", "≈"),
    "differs": ("bad", "✕"),
    "cannot be run": ("open", "?"),
    "not finished": ("none", "–"),
    "holds": ("good", "✓"),
    "fails": ("bad", "✕"),
    "cannot be checked": ("open", "?"),
}
"""The severity class and the sign of outcomes, and of checks."""
ABSENT = "data not present"
"""The status of a variant whose data set is not on this machine."""
_FEW, _CROWDED, _SMALL = 4, 7, (300, 190)
"""Bands of more curves than a few are lighter; a crowd has small figures too, of so many pixels."""
_CHECK_LINES, _FIGURE_LINES = 4, 21
"""The height of a check with one answer, and of a figure, in lines of text."""


def reproduction(results: Results) -> dict[str, object]:
    """The figures that a scenario requests and, where it reproduces a paper's item, its checks, equal answers in one.

    `absent` is missing from two figures or more; `beside` counts the figures about as tall as the table of checks.
    """
    named = {
        f"variant {v.name} cannot be run, its data set is not present: {v.error}": f"{v.name}: {ABSENT}"
        for v in results.variants or () if v.error and v.status == ABSENT
    }  # fmt: skip
    requested = [
        replace(one, absent=tuple(dict.fromkeys(_reworded(line, named) for line in one.absent)))
        for one in results.figures or ()
    ]
    drawable = [one for one in requested if any(map(_drawn, one.curves))]
    labels = list(dict.fromkeys(curve.label for one in requested for curve in one.curves))
    look = {label: Series(k) for k, label in enumerate(labels)}  # the same in every figure
    lines = [line for one in drawable for line in one.absent]
    everywhere = [line for line in dict.fromkeys(lines) if lines.count(line) > 1]
    block = results.reproduction
    short = dict.fromkeys(named, ABSENT)  # an answer has the variant's name beside it
    checks = [(c.statement, c.criterion, _alike(c.answers, short)) for c in (block.checks if block else ())]
    height = sum(max(_CHECK_LINES, 2 * len(answers)) for _, _, answers in checks)
    undrawn = [(_title(one), "; ".join(one.absent)) for one in requested if one not in drawable]
    return {
        "block": block and replace(block, reasons=tuple(_reworded(one, short) for one in block.reasons)),
        "checks": checks,
        "figures": [
            chart_of(one, look, f"figure-{k}", everywhere) for k, one in enumerate(requested) if one in drawable
        ],
        "absent": everywhere,
        "undrawn": [f"{title} ({why})" if why else title for title, why in undrawn],
        "series": len(labels),
        "beside": max(1, round(height / _FIGURE_LINES)) if block else 0,
    }


def _reworded(text: str, words: Mapping[str, str]) -> str:
    """A long reason, which the page states in full once, as a word."""
    for long, short in words.items():
        text = text.replace(long, short)
    return text


def _alike(answers: Sequence[CheckAnswer], words: Mapping[str, str]) -> list[dict[str, str]]:
    """Equal answers to a check as one; `where` names their variants if there are other answers too."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in answers:
        groups.setdefault((one.result, _reworded(one.found or one.reason, words)), []).append(one.variant)
    single = len(groups) == 1
    return [
        {
            "result": result,
            "found": found,
            "where": "" if single or found.startswith("variant ") else ", ".join(names),
        }
        for (result, found), names in groups.items()
    ]


def _drawn(curve: FigureCurve) -> bool:
    return any(map(math.isfinite, (*curve.y, *curve.low)))


def _title(figure: FigureResult) -> str:
    return figure.title or f"{figure.y} by {figure.x}"


def chart_of(figure: FigureResult, look: Mapping[str, Series], name: str, everywhere: Sequence[str] = ()) -> Chart:
    """A figure, its curves with the looks of their labels; what is said `everywhere` is no part of its caption."""
    shown = [(curve, look[curve.label]) for curve in figure.curves if _drawn(curve)]
    caption: list[str] = []
    bare = [c.label for c, _ in shown if len(c.low) != len(c.x)]
    if not figure.points and len(bare) < len(shown):
        without = f" No band: {', '.join(bare)}." if bare else ""
        caption.append(f"Line: median over replicas; band: 5 % to 95 %.{without}")
    if figure.level is not None:
        starts = [f"{c.label} from {c.vacuous_from:g} on" for c, _ in shown if c.vacuous_from is not None]
        where = "; ".join(starts) or "No curve gets there"
        caption.append(f"Dashed: above {show(figure.level)} a claim promises nothing. {where}.")
    caption += [line for line in figure.absent if line not in everywhere]
    if figure.points and any(math.isinf(y) for c, _ in shown for y in c.y):
        caption.append("A hollow marker is a lower bound: the run ended before.")
    panels: tuple[tuple[str, Drawing], ...] = ()
    if len(shown) > _CROWDED and not figure.points:
        axes = [curve for curve, _ in shown]
        drawn = (_plot(figure, [one], f"{name}-{k}", axes, _SMALL) for k, one in enumerate(shown))
        panels = tuple(zip((curve.label for curve in axes), drawn, strict=True))
    key = tuple(one.entry(curve.label) for curve, one in shown)
    return Chart(_title(figure), _plot(figure, shown, name), key, tuple(caption), panels=panels)


# ── drawing ─────────────────────────────────────────────────────────────────────────────────────────────
def _plot(
    figure: FigureResult,
    shown: Shown,
    name: str,
    over: Sequence[FigureCurve] = (),
    size: tuple[int, int] = (WIDTH, HEIGHT),
) -> Drawing:
    """The curves `shown`, on axes that have room for those `over` too."""
    curves = [*over] or [curve for curve, _ in shown]
    with canvas(*size) as (drawing, plot):
        place = _places(plot, figure, curves)
        shift = _log(plot, figure, curves) if figure.log else float
        if over:  # limits that show every curve
            ends = [place(v) for curve in curves for v in curve.x]
            margin = 0.04 * ((max(ends) - min(ends)) or 1.0)
            plot.set_xlim(min(ends) - margin, max(ends) + margin)
            finite = [y for curve in curves for y in curve.y if math.isfinite(y)]
            if not figure.log and finite:
                margin = 0.05 * ((max(finite) - min(finite)) or 1.0)
                plot.set_ylim(min(finite) - margin, max(finite) + margin)
        for curve, look in shown:
            if figure.points:
                _points(plot, curve, look, place, shift)
            else:
                _curve(plot, curve, look, place, shift, 0.2 if len(shown) <= _FEW else 0.1)
        if figure.level is not None:
            plot.axhline(figure.level, color=INK, linewidth=1.3, linestyle=(0, (7, 3)))
        plot.set_xlabel(figure.x)
        plot.set_ylabel(figure.y)
        plot.grid(axis="y")
        ends = "; ".join(f"{c.label}: {show(c.y[-1])}" for c, _ in shown)
        return Drawing(name, f"{figure.y} by {figure.x}. At the end, {ends}.", drawing)


def _curve(plot: Any, curve: FigureCurve, look: Series, place: Any, shift: Place, haze: float) -> None:
    at = [place(v) for v in curve.x]
    low, high = ([shift(v) for v in row] for row in (curve.low, curve.high))
    if len(low) == len(high) == len(at):
        plot.fill_between(at, low, high, color=look.colour, alpha=haze, linewidth=0, **series(look.index))
    every = max(1, len(at) // 5)  # about five markers, out of step with other curves
    marked = look.marked | {"markevery": (look.index * every // 5 % every, every)}
    plot.plot(at, [shift(v) for v in curve.y], **marked, **series(look.index))


def _points(plot: Any, curve: FigureCurve, look: Series, place: Any, shift: Place) -> None:
    """A marker for each point, a whisker from low to high; a hollow one where only a lower bound is known."""
    own: Style = {"color": look.colour, **series(look.index)}
    at, low, high = [place(v) for v in curve.x], [shift(v) for v in curve.low], [shift(v) for v in curve.high]
    bottoms = low or [math.nan] * len(at)
    tops = [bottom if math.isinf(y) else shift(y) for y, bottom in zip(curve.y, bottoms, strict=True)]
    plot.plot(at, tops, **look.line, alpha=0.45, **series(look.index))
    for x, bottom, top in zip(at, low, high, strict=False):  # no band: no whisker
        if math.isfinite(top) and top != bottom:
            plot.plot([x, x], [bottom, top], alpha=0.45, linewidth=2, **own)
    for x, y, top in zip(at, curve.y, tops, strict=True):
        face: Style = {"markerfacecolor": "none" if math.isinf(y) else look.colour, "marker": look.marker}
        plot.plot([x], [top], linestyle="none", markersize=8, markeredgewidth=1.8, **face, **own)


def _places(plot: Any, figure: FigureResult, curves: Sequence[FigureCurve]) -> Any:
    """Where an x goes: at its number, or in a row with others where it is a word.

    Few numbers have a tick each. The axis of a field is logarithmic where the figure says so (`log_x`), or where it
    goes over more than a decade and a half.
    """
    values: list[Any] = list(dict.fromkeys(x for curve in curves for x in curve.x))
    if not all(isinstance(x, int | float) for x in values):
        plot.set_xticks(range(len(values)), [str(x) for x in values])
        plot.margins(x=0.12)
        return values.index
    wide = figure.log_x or max(values) >= 30 * min(values)
    if figure.points and min(values) > 0 and wide:
        plot.set_xscale("log")
        plot.set_xticks([], minor=True)
    if len(values) <= 8:
        plot.set_xticks(sorted(values), [show(x) for x in sorted(values)])
    elif max(values) >= 1e5 or plot.get_xscale() == "log":
        write_ticks(plot.xaxis)
    return float


def _log(plot: Any, figure: FigureResult, curves: Sequence[FigureCurve]) -> Place:
    """A logarithmic axis; what is below the floor is put on it, and ∞, or nearly, is a hole."""
    values = [y for curve in curves for row in (curve.y, curve.low, curve.high) for y in row]
    values += [] if figure.level is None else [figure.level]
    floored = figure.level is None  # an error of 0 is shown, a budget of 0 is not there yet
    lowest = FLOOR if any(y > 1e3 * FLOOR for y in values) else 0.0
    given = [max(y, lowest) for y in values if math.isfinite(y) and y > 0] or [1.0]
    low, high = math.log10(min(given)), math.log10(max(given))
    scale = Scale.around((low + high) / 2, max(high - low, 1.0) / 2 * 1.1)
    scale.logarithmic(plot)

    def shift(y: float) -> float:
        return math.nan if abs(y) > 10**HIGHEST or (y <= 0 and not floored) else max(y, 10**scale.low)

    return shift
