"""Figures that a scenario requests, and the paper's outcome beside them."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from scenarios.render.page.charts import FLOOR, HEIGHT, WIDTH
from scenarios.render.page.drawing import HIGHEST, INK, Scale, Series, canvas, inline, looks, series
from scenarios.results.numbers import items, number, numbers, part, show

Result = Mapping[str, Any]
Place = Callable[[float], float]
MARKS = {
    "agrees": ("good", "✓"),
    "agrees in shape": ("good", "≈"),
    "differs": ("bad", "✕"),
    "cannot be reproduced": ("open", "?"),
    "not finished": ("none", "–"),
    "holds": ("good", "✓"),
    "fails": ("bad", "✕"),
    "cannot be checked": ("open", "?"),
}
"""The severity class and the sign of outcomes, and of checks."""
ABSENT = "data not present"
"""The status of a variant whose data set is not on this machine."""
FEW, CROWDED, SMALL = 4, 7, (300, 190)
"""Bands of more curves than a few are lighter; a crowd has small figures too, of so many pixels."""
CHECK_LINES, FIGURE_LINES = 4, 21
"""The height of a check with one answer, and of a figure, in lines of text."""


def reproduction(results: Result) -> dict[str, Any]:
    """What the templates need: the outcome, or None, and every figure drawn, with its key and its notes."""
    results = shortened(results)
    asked = items(results, "figures")
    labels = list(dict.fromkeys(curve["label"] for figure in asked for curve in figure["curves"]))
    look = dict(zip(labels, looks(labels), strict=True))  # the same in every figure
    everywhere = _everywhere([figure for figure in asked if _drawable(figure)])
    figures = [_shown(figure, look, f"figure-{k}", everywhere) for k, figure in enumerate(asked) if _drawable(figure)]
    block = results.get("reproduction")
    return {
        "reproduction": block,
        "drawn": figures,
        "absent": everywhere,
        "undrawn": [_undrawn(figure) for figure in asked if not _drawable(figure)],
        "series": len(labels),
        "beside": _beside(part(results, "reproduction")) if block else 0,
        "marks": MARKS,
        "alike": _alike,
    }


def _beside(block: Result) -> int:
    """How many figures are about as tall as the table of checks beside them, one at least."""
    lines = sum(max(CHECK_LINES, 2 * len(_alike(check["answers"]))) for check in items(block, "checks"))
    return max(1, round(lines / FIGURE_LINES))


def _drawable(figure: Result) -> bool:
    return any(map(math.isfinite, (y for curve in items(figure, "curves") for y in _drawn(curve))))


def _undrawn(figure: Result) -> str:
    why = "; ".join(dict.fromkeys(map(str, items(figure, "absent"))))
    return f"{_title(figure)}{f' ({why})' if why else ''}"


def _title(figure: Result) -> str:
    return str(figure.get("title") or f"{figure['y']} by {figure['x']}")


def shortened(results: Result) -> dict[str, Any]:
    """The same, where the reason why a variant was not run, told in full once on the page, is a word elsewhere."""
    absent = [v for v in items(results, "variants") if v.get("error") and v.get("status") == ABSENT]
    long = [f"variant {v['name']} cannot be run, its data set is not present: {v['error']}" for v in absent]
    named = dict(zip(long, (f"{v['name']}: {ABSENT}" for v in absent), strict=True))
    found = dict(results)
    if results.get("figures"):
        found["figures"] = _reworded(results["figures"], named)
    if results.get("reproduction"):  # its answers have the variant's name beside them
        found["reproduction"] = _reworded(results["reproduction"], dict.fromkeys(long, ABSENT))
    return found


def _reworded(value: Any, words: Mapping[str, str]) -> Any:
    """The same value with other words in every text of it."""
    if isinstance(value, Mapping):
        return {key: _reworded(one, words) for key, one in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_reworded(one, words) for one in cast("list[Any]", value)]
    if isinstance(value, str):
        for long, short in words.items():
            value = value.replace(long, short)
    return value


def _everywhere(figures: Sequence[Result]) -> list[str]:
    """What is absent from two figures or more: it is said once."""
    said = [str(line) for figure in figures for line in dict.fromkeys(items(figure, "absent"))]
    return [line for line in dict.fromkeys(said) if said.count(line) > 1]


def _banded(figure: Result, curves: Sequence[Result]) -> str:
    """What the bands are, and which curves have none."""
    if figure.get("points"):
        return ""
    bare = [c for c in curves if len(numbers(c.get("low"))) != len(c["x"])]
    if len(bare) == len(curves):
        return ""
    words = "Line: median over replicas; band: 5 % to 95 %."
    return words if not bare else f"{words} No band: {', '.join(str(c['label']) for c in bare)}."


def _panels(figure: Result, shown: Sequence[tuple[Result, Series]], prefix: str) -> list[tuple[str, Any]]:
    """A small figure of each curve, all on the same axes, where there are too many for one."""
    if len(shown) <= CROWDED or figure.get("points"):
        return []
    axes = [curve for curve, _ in shown]
    return [
        (str(curve["label"]), _plot(figure, [(curve, look)], f"{prefix}-{k}", axes, SMALL))
        for k, (curve, look) in enumerate(shown)
    ]


def _shown(figure: Result, look: Mapping[str, Series], prefix: str, everywhere: Sequence[str]) -> dict[str, Any]:
    curves = [curve for curve in items(figure, "curves") if any(map(math.isfinite, _drawn(curve)))]
    shown = [(curve, look[curve["label"]]) for curve in curves]
    notes = [str(line) for line in dict.fromkeys(items(figure, "absent")) if line not in everywhere]
    if figure.get("level") is not None:
        notes = [*_vacuous(curves, figure["level"]), *notes]
    if figure.get("points") and any(math.isinf(y) for c in curves for y in numbers(c["y"])):
        notes.append("A hollow marker is a lower bound: the run ended before.")
    return {
        "title": _title(figure),
        "svg": _plot(figure, shown, prefix),
        "key": [(one.index, one.swatch, curve["label"]) for curve, one in shown],
        "band": _banded(figure, curves),
        "panels": _panels(figure, shown, prefix),
        "notes": notes,
    }


def _drawn(curve: Result) -> list[float]:
    return numbers(curve["y"]) + numbers(curve.get("low"))


def _alike(answers: Sequence[Result]) -> list[dict[str, Any]]:
    """Answers to a check, those that say the same in one; `where` names their variants if not all do."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for one in answers:
        groups.setdefault((one["result"], one["found"], one["reason"]), []).append(one["variant"])
    said = [dict(zip(("result", "found", "reason"), key, strict=True)) for key in groups]
    places = groups.values()
    if len(groups) == 1:
        return [one | {"where": ""} for one in said]
    return [one | {"where": ", ".join(names)} for one, names in zip(said, places, strict=True)]


def _vacuous(curves: Sequence[Result], level: float) -> list[str]:
    """From where on each claim promises nothing."""
    starts = [f"{c['label']} from {c['vacuous_from']:g} on" for c in curves if c.get("vacuous_from") is not None]
    return [f"Dashed: above {show(level)} a claim promises nothing. {'; '.join(starts) or 'No curve gets there'}."]


def _plot(
    figure: Result,
    shown: Sequence[tuple[Result, Series]],
    prefix: str,
    over: Sequence[Result] = (),
    size: tuple[int, int] = (WIDTH, HEIGHT),
) -> Any:
    """The curves `shown`, on axes that have room for those `over` too."""
    curves = [*over] or [curve for curve, _ in shown]
    with canvas(*size) as (drawing, axes):
        plot: Any = axes
        place = _places(plot, figure, curves)
        shift = _log(plot, figure, curves) if figure.get("log") else _as_it_is
        if over:
            _same_axes(plot, figure, curves, place)
        for curve, look in shown:
            if figure.get("points"):
                _points(plot, curve, look, place, shift)
            else:
                _curve(plot, curve, look, place, shift, 0.2 if len(shown) <= FEW else 0.1)
        if figure.get("level") is not None:
            plot.axhline(number(figure["level"]), color=INK, linewidth=1.3, linestyle=(0, (7, 3)))
        plot.set_xlabel(figure["x"])
        plot.set_ylabel(figure["y"])
        plot.grid(axis="y")
        ends = "; ".join(f"{c['label']}: {show(c['y'][-1])}" for c, _ in shown)
        return inline(drawing, prefix, f"{figure['y']} by {figure['x']}. At the end, {ends}.")


def _same_axes(plot: Any, figure: Result, curves: Sequence[Result], place: Any) -> None:
    """Limits that show every curve."""
    ends = [place(v) for curve in curves for v in curve["x"]]
    margin = 0.04 * ((max(ends) - min(ends)) or 1.0)
    plot.set_xlim(min(ends) - margin, max(ends) + margin)
    known = [y for curve in curves for y in numbers(curve["y"]) if math.isfinite(y)]
    if not figure.get("log") and known:
        margin = 0.05 * ((max(known) - min(known)) or 1.0)
        plot.set_ylim(min(known) - margin, max(known) + margin)


def _curve(plot: Any, curve: Result, look: Series, place: Any, shift: Place, haze: float = 0.2) -> None:
    at = [place(v) for v in numbers(curve["x"])]
    low, high = ([shift(v) for v in numbers(curve.get(key))] for key in ("low", "high"))
    if len(low) == len(high) == len(at):
        plot.fill_between(at, low, high, color=look.colour, alpha=haze, linewidth=0, **series(look.index))
    every = max(1, len(at) // 5)  # about five markers, out of step with other curves
    marked = look.marked | {"markevery": (look.index * every // 5 % every, every)}
    plot.plot(at, [shift(v) for v in numbers(curve["y"])], **marked, **series(look.index))


def _points(plot: Any, curve: Result, look: Series, place: Any, shift: Place) -> None:
    """A marker for each point, a whisker from low to high; a hollow one where only a lower bound is known."""
    at, y = [place(v) for v in curve["x"]], numbers(curve["y"])
    low = [shift(v) for v in numbers(curve["low"])]
    tops = [bottom if math.isinf(top) else shift(top) for top, bottom in zip(y, low, strict=True)]
    plot.plot(at, tops, **look.line, alpha=0.45, **series(look.index))
    marker: Any = {"linestyle": "none", "marker": look.marker, "markersize": 8, "markeredgewidth": 1.8}
    high = [shift(v) for v in numbers(curve["high"])]
    for x, bottom, top in zip(at, low, high, strict=False):  # no band: no whisker
        if math.isfinite(top) and top != bottom:
            plot.plot([x, x], [bottom, top], color=look.colour, alpha=0.45, linewidth=2, **series(look.index))
    for x, value, top in zip(at, y, tops, strict=True):
        face = "none" if math.isinf(value) else look.colour
        plot.plot([x], [top], markeredgecolor=look.colour, markerfacecolor=face, **marker, **series(look.index))


def _places(plot: Any, figure: Result, curves: Sequence[Result]) -> Any:
    """Where an x goes: at its number, or in a row with others where it is a word.

    Few numbers have a tick each. The axis of a field is logarithmic where the figure says so (`log_x`), or where it
    goes over more than a decade and a half.
    """
    values = list(dict.fromkeys(x for curve in curves for x in curve["x"]))
    if all(isinstance(x, int | float) for x in values):
        wide = figure.get("log_x") or max(values) >= 30 * min(values)
        if figure.get("points") and min(values) > 0 and wide:
            plot.set_xscale("log")
            plot.set_xticks([], minor=True)
        if len(values) <= 8:
            plot.set_xticks(sorted(values), [show(x) for x in sorted(values)])
        elif max(values) >= 1e5 or plot.get_xscale() == "log":
            plot.xaxis.set_major_formatter(_large)
        return number
    plot.set_xticks(range(len(values)), [str(x) for x in values])
    plot.margins(x=0.12)
    return values.index


def _log(plot: Any, figure: Result, curves: Sequence[Result]) -> Place:
    """A logarithmic axis; what is below the floor is put on it, and ∞, or nearly, is a hole."""
    values = [y for curve in curves for key in ("y", "low", "high") for y in numbers(curve.get(key))]
    values.append(number(figure.get("level")))
    floored = figure.get("level") is None  # an error of 0 is shown, a budget of 0 is not there yet
    lowest = FLOOR if any(y > 1e3 * FLOOR for y in values) else 0.0
    known = [max(y, lowest) for y in values if math.isfinite(y) and y > 0] or [1.0]
    low, high = math.log10(min(known)), math.log10(max(known))
    half = max(high - low, 1.0) / 2 * 1.1
    scale = Scale.around((low + high) / 2, half)
    plot.set_yscale("log")
    plot.set_ylim(10**scale.low, 10**scale.high)
    ticks = scale.ticks()
    plot.set_yticks([10**place for place, _ in ticks], [label for _, label in ticks])
    plot.set_yticks([], minor=True)

    def shift(y: float) -> float:
        return math.nan if abs(y) > 10**HIGHEST or (y <= 0 and not floored) else max(y, 10**scale.low)

    return shift


def _large(value: float, _: object) -> str:
    return show(value)


def _as_it_is(y: float) -> float:
    return y
