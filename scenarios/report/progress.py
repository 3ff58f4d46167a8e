"""The measures of the runs: small figures beside each other, and what each algorithm cost to reach an accuracy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from netsim.arrays import Array
from scenarios import progress
from scenarios.report.figures import Result, Shown, across, errors, line
from scenarios.report.formats import MISSING, count, items, numbers, part, show
from scenarios.report.series import Series
from scenarios.report.svg import canvas, inline, series

WIDTH, HEIGHT = 330, 215
POINTS, FEWEST = 300, 24  # of all curves in a small figure, and of one
FLOOR = 1e-34  # a measure may be the square of what is rounding
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
    names = {name for a, _ in having for name in a["measures"]["curves"] if _median(a, name)}
    if "relative_gap" in names:
        names.discard("objective_gap")
    found: list[Small] = []
    for name in (name for name in KINDS if name in names):
        picture = _picture(name, [s for s in having if _median(s[0], name)])
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
def _median(algorithm: Result, name: str) -> list[float]:
    return [v for v in numbers(_curve(algorithm, name).get("median")) if v == v]


def _curve(algorithm: Result, name: str) -> Result:
    return part(part(part(algorithm, "measures"), "curves"), name)


def _picture(name: str, shown: Shown) -> Markup:
    units = sorted({str(a["measures"].get("unit", "activations")) for a, _ in shown})
    share = name.endswith("accuracy")
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        plot: Any = axes
        ends: list[str] = []
        for algorithm, look in shown:
            curve = _curve(algorithm, name)
            most = max(FEWEST, POINTS // len(shown))
            at, low, median, high = (_chosen(items(curve, key), most) for key in ("count", "low", "median", "high"))
            if not share:
                low, median, high = np.where(low > 0, low, np.minimum(high, FLOOR)), _above(median), _above(high)
            if (low != high).any():
                band: Any = {"color": look.colour, "alpha": 0.1 if share else 0.2, "linewidth": 0}
                plot.fill_between(at, low, high, **band, **series(look.index))
            line(plot, at.tolist(), median.tolist(), look)
            ends.append(f"{algorithm.get('name')}: {show(numbers(curve.get('median'))[-1])}")
        medians = [v for a, _ in shown for v in numbers(_curve(a, name).get("median"))]
        if share:
            _shares(plot, medians)
        else:
            errors(plot, [v for v in medians if v > 0], FLOOR)
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
