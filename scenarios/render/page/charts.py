"""Curves of the page as SVG, and small figures of the runs' measures."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup

from netsim.arrays import Array
from scenarios.render.page.drawing import HIGHEST, INK, Scale, Series, canvas, inline, series
from scenarios.results import former_measures as progress
from scenarios.results.numbers import MISSING, count, items, number, numbers, part, show

WIDTH, HEIGHT = 470, 310
POINTS = 150  # of a curve; more would not be seen
FLOOR = 1e-17  # an error below it, 0 among them, is drawn here
Result = Mapping[str, Any]
Shown = Sequence[tuple[Result, Series]]


def convergence(shown: Shown, prefix: str) -> Markup:
    """Relative error over activations or rounds: the median over replicas and a band around it."""
    units = sorted({str(a["convergence"].get("unit", "activations")) for a, _ in shown})
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        plot: Any = axes
        for algorithm, look in shown:
            curve = algorithm["convergence"]
            at, median, low, high = (_every(numbers(curve.get(k)), _last) for k in ("count", "median", "low", "high"))
            if len(low) == len(high) == len(at):
                _band(plot, at, _positive(low), _positive(high), look)
            line(plot, at, _positive(median), look)
        errors(plot, [v for a, _ in shown for v in numbers(a["convergence"].get("median"))])
        across(plot, [numbers(a["convergence"].get("count")) for a, _ in shown])
        plot.set_xlabel(" or ".join(units))
        plot.set_ylabel("relative error")
        finals = "; ".join(f"{a.get('name')}: {show(a['convergence'].get('final'))}" for a, _ in shown)
        return inline(figure, prefix, f"Relative error by {' or '.join(units)}. At the end, {finals}.")


def inference(shown: Shown, prefix: str) -> Markup:
    """Error of the inferred gradients in order of time: block medians, with the blocks' extremes as a band."""
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        plot: Any = axes
        for algorithm, look in shown:
            curve = numbers(algorithm["gradients"].get("curve"))
            at = _every(_numbered(algorithm["gradients"], len(curve)), _last)
            low, middle, high = (_every(curve, pick) for pick in (_least, _median, _most))
            _band(plot, at, _positive(low), _positive(high), look)
            plot.plot(at, _positive(middle), **look.marked, **series(look.index))
        errors(plot, [v for a, _ in shown for v in numbers(a["gradients"].get("curve"))])
        across(plot, [_numbered(a["gradients"], 2) for a, _ in shown])
        plot.set_xlabel("estimated gradients, in order of time")
        plot.set_ylabel("relative error of the estimate")
        medians = "; ".join(f"{a.get('name')}: {show(a['gradients'].get('median'))}" for a, _ in shown)
        return inline(figure, prefix, f"Error of inferred gradients over time. Medians: {medians}.")


def leakage(shown: Shown, prefix: str) -> Markup:
    """Error of the inferred gradients by query: median and a band, 5 % to 95 %, over agents and replicas."""
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        plot: Any = axes
        bands = [(by_query(a), look) for a, look in shown]
        for band, look in bands:
            at, low, middle, high = (_every(numbers(band[key]), _last) for key in ("query", "low", "median", "high"))
            _band(plot, at, _positive(low), _positive(high), look)
            line(plot, at, _positive(middle), look)
        errors(plot, [v for band, _ in bands for v in numbers(band["median"])])
        across(plot, [numbers(band["query"]) for band, _ in bands])
        plot.set_xlabel("an agent's gradients, by number")
        plot.set_ylabel("relative error of the estimate")
        medians = "; ".join(f"{a.get('name')}: {show(a['gradients'].get('median'))}" for a, _ in shown)
        return inline(figure, prefix, f"Error of inferred gradients by the agents' queries. Medians: {medians}.")


def identifiable(shown: Shown, prefix: str) -> Markup:
    """The share of the agents whose query of that number the adversary can estimate."""
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        plot: Any = axes
        bands = [(by_query(a), look) for a, look in shown]
        for band, look in bands:
            at, share = (_every(numbers(band[key]), _last) for key in ("query", "identifiable"))
            line(plot, at, [100 * v for v in share], look)
        across(plot, [numbers(band["query"]) for band, _ in bands])
        plot.set_ylim(-4, 104)
        plot.grid(axis="y")
        plot.set_xlabel("an agent's gradients, by number")
        plot.set_ylabel("identifiable, % of the agents")
        ends = "; ".join(f"{a.get('name')}: {show(100 * number(b['identifiable'][-1]))} %" for (a, _), (b, _) in zip(
            shown, bands, strict=True))  # fmt: skip
        return inline(figure, prefix, f"Share of the agents whose gradient is identifiable, by query. Last, {ends}.")


def by_query(algorithm: Result) -> dict[str, Any]:
    """What of an algorithm's leakage is known by query; empty where nothing is."""
    return part(part(algorithm, "leakage"), "by_query")


def budget(shown: Shown, prefix: str) -> Markup:
    """ε spent up to each activation, down to what is proven, against what is claimed for the whole run."""
    curves = [(growth(a["audit"]), number(a["audit"].get("epsilon_claimed")), look) for a, look in shown]
    scale = Scale.over([v for (_, e, p), claimed, _ in curves for v in [*e, *p, claimed] if v or not e[-1]])
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        plot: Any = axes
        claims = {claimed for _, claimed, _ in curves if not math.isnan(claimed)}
        floor = scale.limits[0]
        for (at, spent, proven), claimed, look in curves:
            if not math.isnan(claimed):
                colour = INK if len(claims) == 1 else look.colour
                plot.axhline(scale.at(claimed), color=colour, linewidth=1.3, linestyle=(0, (7, 3)))
            ends = [[max(floor, scale.at(v)) for v in values] for values in (proven, spent)]
            plot.fill_between(at, *ends, color=look.colour, alpha=0.2, linewidth=0, **series(look.index))
            plot.plot(at, ends[1], **look.marked, **series(look.index))
        if len(claims) == 1:
            style: Any = {"ha": "right", "va": "bottom", "fontsize": 10.5}
            plot.text(0.99, scale.at(*claims), "claimed", transform=plot.get_yaxis_transform(), **style)
        if scale.has_infinity:
            plot.axhline(scale.high, color=INK, alpha=0.35, linestyle=(0, (1, 3)), linewidth=1)
        pad = 0.03 * (scale.high - scale.low)
        plot.set_ylim(scale.limits[0] - pad, scale.limits[1] + pad)
        scale.dress(plot.yaxis)
        plot.grid(axis="y")
        plot.set_xlabel("activations of the audited agent")
        plot.set_ylabel("ε so far")
        last = "; ".join(f"{a.get('name')}: {show(growth(a['audit'])[1][-1])}" for a, _ in shown)
        return inline(figure, prefix, f"Privacy budget spent by activation. At the end, {last}.")


# ── parts ───────────────────────────────────────────────────────────────────────────────────────────────
def growth(audit: Result) -> tuple[list[float], list[float], list[float]]:
    """Activations, the ε spent by the end of each, and what of it is proven."""
    levels = {number(level["activation"]): level for level in items(audit, "growth")}
    spent, proven = ([number(level.get(end)) for level in levels.values()] for end in ("estimate", "lower"))
    return _every(list(levels), _last), _every(spent, _last), _every(proven, _last)


def _band(plot: Any, at: list[float], low: list[float], high: list[float], look: Series) -> None:
    plot.fill_between(at, low, high, color=look.colour, alpha=0.2, linewidth=0, **series(look.index))


def line(plot: Any, at: Sequence[float], values: Sequence[float], look: Series) -> None:
    """A curve with its markers; markers have no place on one that is all holes."""
    whole = any(map(math.isfinite, values))
    plot.plot(at, values, **(look.marked if whole else look.line), **series(look.index))


def errors(plot: Any, values: Sequence[float], floor: float = FLOOR) -> None:
    """A logarithmic axis of errors: at least three decades, and no decade of nothing."""
    plot.set_yscale("log")
    known = [v for v in _positive(values, floor) if math.isfinite(v)] or [1.0]
    low, high = math.log10(min(known)), math.log10(max(known))
    half = max(high - low, 3.0) / 2 * 1.08
    scale = Scale.around((low + high) / 2, half)
    plot.set_ylim(10**scale.low, 10**scale.high)
    ticks = scale.ticks()
    plot.set_yticks([10**place for place, _ in ticks], [label for _, label in ticks])
    plot.set_yticks([], minor=True)
    plot.grid(axis="y")


def _numbered(gradients: Result, points: int) -> list[float]:
    """Which estimate each point of a curve is: `points` of them stand for all that were made."""
    last = number(gradients.get("estimated"))
    last = last if last >= points else float(points)
    return [float(k) for k in np.linspace(1, last, points)] if points > 1 else [1.0] * points


def across(plot: Any, curves: Sequence[Sequence[float]]) -> None:
    """The horizontal axis: logarithmic where some curves would be squashed to a tenth of it."""
    ends = [max(curve) for curve in curves if curve]
    if not ends or max(ends) < 10 * min(ends) or min(ends) <= 1:
        return
    plot.set_xscale("log")
    scale = Scale(0.0, math.log10(max(ends)) * 1.02, False, False)
    plot.set_xlim(1, 10**scale.high)
    ticks = scale.ticks()
    plot.set_xticks([10**place for place, _ in ticks], [label for _, label in ticks])
    plot.set_xticks([], minor=True)


def _positive(values: Sequence[float], floor: float = FLOOR) -> list[float]:
    """For a logarithmic axis: what is below the floor is put on it, and ∞, or nearly, is a hole."""
    return [math.nan if abs(v) > 10**HIGHEST else max(v, floor) if v == v else v for v in values]


def _every(values: list[float], pick: Callable[[list[float]], float]) -> list[float]:
    """At most `POINTS` values: one picked of each block of neighbours."""
    if len(values) <= POINTS:
        return values
    edges = [0, *(int(edge) for edge in np.linspace(1, len(values), POINTS))]
    return [pick(values[a:b]) for a, b in pairwise(edges)]


def _last(block: list[float]) -> float:
    return block[-1]


def _least(block: list[float]) -> float:
    return min(block)


def _most(block: list[float]) -> float:
    return max(block)


def _median(block: list[float]) -> float:
    return float(np.median(block))


SMALL_WIDTH, SMALL_HEIGHT = 330, 215
SMALL_POINTS, FEWEST = 300, 24  # of all curves in a small figure, and of one
SMALL_FLOOR = 1e-34  # a measure may be the square of what is rounding
KINDS = {
    "mean_error": ("Error of the mean", "‖x̄ − x*‖ / ‖x*‖: how far the agents are from the optimum together."),
    "consensus_error": ("Consensus error", "(1/n) Σ ‖xᵢ − x̄‖²: how far they are from each other."),
    "relative_gap": ("Objective gap", "(F(x) − F*) / F*, of the mean or, in a walk, of the estimate just closed."),
    "objective_gap": ("Objective gap", "F(x) − F*, of the mean or, in a walk, of the estimate just closed."),
    "stationarity_gap": ("Stationarity gap", "‖∇F(x)/n‖² + consensus error, as in the DPP² paper."),
    "proximal_residual": ("Proximal residual", "‖x − prox(x − ∇F(x)/n)‖: 0 at an optimum only."),
    "training_accuracy": ("Accuracy, training", "The share of the agents' records that are classified rightly."),
    "held_out_accuracy": ("Accuracy, held out", "The same of records that no agent holds."),
}
"""What has a figure: its heading and what it shows. The absolute gap only where there is no relative one."""


@dataclass(frozen=True)
class Small:
    """A small figure: its heading, the picture, and the sentence below it."""

    title: str
    picture: Markup
    words: str


@dataclass(frozen=True)
class Spent:
    """A row of the table: what an algorithm cost to reach an accuracy, a cell for each of `progress.COLUMNS`."""

    name: str
    accuracy: str
    cells: tuple[str, ...]
    first: bool
    rows: int
    """Of the same algorithm, in its `first` row."""


def small_figures(shown: Shown) -> tuple[list[Small], list[tuple[Result, Series]]]:
    """A figure for each measure that some algorithm has, and whom the figures show."""
    having = [(a, look) for a, look in shown if part(a, "measures").get("curves")]
    names = {name for a, _ in having for name in a["measures"]["curves"] if _small_median(a, name)}
    if "relative_gap" in names:
        names.discard("objective_gap")
    found: list[Small] = []
    for name in (name for name in KINDS if name in names):
        picture = _picture(name, [s for s in having if _small_median(s[0], name)])
        found.append(Small(KINDS[name][0], picture, KINDS[name][1]))
    return found, having if found else []


def spent(ordered: Sequence[Mapping[str, Any]]) -> list[Spent]:
    """The table of costs to an accuracy; a dash where it was never reached."""
    rows = progress.rows(ordered)
    names = [name for name, _, _ in rows]
    found: list[Spent] = []
    for place, (name, accuracy, values) in enumerate(rows):
        cells = [MISSING if v is None else show(v, 4) if isinstance(v, float) else count(v) for v in values]
        reached = progress.NONE if accuracy is None else show(accuracy)
        found.append(Spent(name, reached, tuple(cells), names.index(name) == place, names.count(name)))
    return found


def measured_by(ordered: Sequence[Mapping[str, Any]]) -> str:
    """Which measure the table's accuracies are of, in words."""
    names = {str(part(a, "measures").get("measure", "")).replace("_", " ") for a in ordered} - {""}
    return " or ".join(sorted(names))


# ── parts ───────────────────────────────────────────────────────────────────────────────────────────────
def _small_median(algorithm: Result, name: str) -> list[float]:
    return [v for v in numbers(_curve(algorithm, name).get("median")) if v == v]


def _curve(algorithm: Result, name: str) -> Result:
    return part(part(part(algorithm, "measures"), "curves"), name)


def _picture(name: str, shown: Shown) -> Markup:
    units = sorted({str(a["measures"].get("unit", "activations")) for a, _ in shown})
    share = name.endswith("accuracy")
    with canvas(SMALL_WIDTH, SMALL_HEIGHT) as (figure, axes):
        plot: Any = axes
        ends: list[str] = []
        for algorithm, look in shown:
            curve = _curve(algorithm, name)
            most = max(FEWEST, SMALL_POINTS // len(shown))
            at, low, median, high = (_chosen(items(curve, key), most) for key in ("count", "low", "median", "high"))
            if not share:
                low, median, high = (
                    np.where(low > 0, low, np.minimum(high, SMALL_FLOOR)),
                    _above(median),
                    _above(high),
                )
            if (low != high).any():
                band: Any = {"color": look.colour, "alpha": 0.1 if share else 0.2, "linewidth": 0}
                plot.fill_between(at, low, high, **band, **series(look.index))
            line(plot, at.tolist(), median.tolist(), look)
            ends.append(f"{algorithm.get('name')}: {show(numbers(curve.get('median'))[-1])}")
        medians = [v for a, _ in shown for v in numbers(_curve(a, name).get("median"))]
        if share:
            _shares(plot, medians)
        else:
            errors(plot, [v for v in medians if v > 0], SMALL_FLOOR)
        across(plot, [numbers(_curve(a, name).get("count")) for a, _ in shown])
        plot.set_xlabel(" or ".join(units))
        words = f"{KINDS[name][0]} by {' or '.join(units)}. At the end, {'; '.join(ends)}."
        return inline(figure, name.replace("_", "-"), words)


def _shares(plot: Any, values: Sequence[float]) -> None:
    """A linear axis of shares, from the least above 0 to 1: at x = 0 no record has a class."""
    least = min((v for v in values if v > 0), default=0.0)
    low = max(0.0, min(least, 0.95) - 0.02)
    plot.set_ylim(low, 1.0 + 0.03 * (1 - low))
    plot.yaxis.set_major_locator(_locator())
    plot.yaxis.set_major_formatter(_percent)
    plot.grid(axis="y")


def _percent(value: float, _: int) -> str:
    return f"{100 * value:g}\u202f%"


def _locator() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])


def _chosen(values: Sequence[Any], most: int) -> Array:
    """At most so many points of a curve, the first and the last among them; what is infinite is a hole."""
    given = np.array(numbers(values))[progress.thinned(len(values), most)]
    return np.where(np.isinf(given), np.nan, given)


def _above(values: Array) -> Array:
    """For a logarithmic axis: what is not above 0 is a hole."""
    return np.where(values > 0, values, np.nan)
