"""The three epsilons: as a picture of the page, and as LaTeX and CSV tables for a paper."""

import csv
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from scenarios.files.folders import RESULTS, whole
from scenarios.render.page.drawing import (
    BLUE,
    INK,
    ORANGE,
    PAPER,
    VERMILLION,
    Chart,
    Drawing,
    Entry,
    Scale,
    Style,
    canvas,
)
from scenarios.render.sentences import word
from scenarios.results.audit import AuditResult
from scenarios.results.base import write_text
from scenarios.results.findings import Entry as Algorithm
from scenarios.results.findings import judged
from scenarios.results.numbers import at_least, exact, known, show
from scenarios.results.tree import AlgorithmResult, AuditSummary, Results

_LANES = ("claimed", "exact", "audited")
_BLOCK = 4.7  # lanes an algorithm takes, its name among them
_LANE = 20  # pixels
_WIDE, _NARROW = 860, 370  # pixels: drawn for a desk, and for a phone
_KEY = (
    Entry("claimed: the paper's formula", ({"color": INK, "marker": "|", "linestyle": "none"},
                                           {"color": INK, "marker": "D", "linestyle": "none"})),
    Entry("exact: the mechanism itself, with its interval",
          ({"color": BLUE, "linewidth": 6, "alpha": 0.4}, {"color": BLUE, "marker": "o", "linestyle": "none"})),
    Entry("audited: at least this, proven by a game",
          ({"color": ORANGE, "linewidth": 2, "marker": "s", "markersize": 7.5},)),
    Entry("the most that so many trials can prove",
          ({"color": INK, "linewidth": 1, "alpha": 0.6, "linestyle": (0, (1, 2)), "marker": "|", "markersize": 8},)),
    Entry("above the claim: ε proven here contradicts it",
          ({"color": VERMILLION, "linewidth": 11, "alpha": 0.16},)),
)  # fmt: skip
_CAPTION = (
    "ε bounds how much anything on the wire can depend on one agent's data; smaller is more private.",
    "Exact and audited hold for the one pair of adjacent worlds examined: they can refute a claim. It is proven "
    "only by a bound over all pairs.",
)


def epsilons(algorithms: Sequence[tuple[str, Algorithm]], terms: str) -> Chart | None:
    """Claimed, exact and audited ε of every audited algorithm, by name, on one logarithmic axis."""
    rows = [_Row.of(name, entry, audit) for name, entry in algorithms if (audit := judged(entry)) is not None]
    if not rows:
        return None
    caption = f"{_CAPTION[0]} {terms} {_CAPTION[1]}".replace("  ", " ")
    wide, narrow = _picture(rows, "wide", _WIDE), _picture(rows, "narrow", _NARROW)
    return Chart("The three epsilons", wide, _KEY, (caption,), narrow)


def _picture(rows: Sequence["_Row"], name: str, width: int) -> Drawing:
    numbers = [(row.claimed, row.lower, row.estimate, row.upper, row.audited, row.ceiling) for row in rows]
    scale = Scale.over([value for row in numbers for value in row])
    tops = [_BLOCK * i for i in range(len(rows))]
    with canvas(width, 50 + _LANE * _BLOCK * len(rows)) as (figure, plot):
        left, right = scale.limits
        margin = 0.035 * (right - left)
        plot.set_xlim(left - margin, right + margin)
        plot.set_ylim(_BLOCK * len(rows) - 0.6, -0.7)
        plot.set_xlabel("ε (logarithmic)")
        scale.dress(plot.xaxis)
        plot.grid(axis="x")
        plot.set_yticks([top + lane for top in tops for lane in (1, 2, 3)], list(_LANES) * len(rows))
        plot.tick_params(axis="y", length=0)
        plot.spines["left"].set_visible(False)
        for at in [scale.low] * scale.has_zero + [scale.high] * scale.has_infinity:
            plot.axvline(at, color=INK, alpha=0.35, linestyle=(0, (1, 3)), linewidth=1)
        pixel = (right - left + 2 * margin) / (width - 75)
        for row, top in zip(rows, tops, strict=True):
            _Painter(plot, scale, pixel, row, top).draw()
        words = (
            f"{row.name}: {row.verdict}; claimed {show(row.claimed)}, exact {row.exact}, "
            f"audited at least {show(row.audited)}." for row in rows
        )  # fmt: skip
        return Drawing(name, "The three epsilons. " + " ".join(words), figure)


class _Row(NamedTuple):
    """The numbers of one algorithm; nan where there is none."""

    name: str
    verdict: str
    claimed: float
    lower: float
    estimate: float
    upper: float
    at_most: bool
    exact: str
    audited: float
    ceiling: float

    @classmethod
    def of(cls, name: str, entry: Algorithm, audit: AuditResult | AuditSummary) -> "_Row":
        interval = audit.epsilon_exact
        nowhere = math.nan, math.nan, math.nan
        low, middle, high = (interval.lower, interval.estimate, interval.upper) if interval else nowhere
        games = (audit.white_box, audit.black_box, audit.classifier)
        reach = max((game.ceiling for game in games if game and game.ceiling is not None), default=math.nan)
        at_most = interval is not None and interval.upper_bound_only
        claimed, proven = known(audit.epsilon_claimed), known(audit.epsilon_audited)
        return cls(name, word(entry), claimed, low, middle, high, at_most, exact(interval), proven, reach)


@dataclass(frozen=True)
class _Painter:
    plot: Any
    scale: Scale
    pixel: float
    row: _Row
    top: float

    def draw(self) -> None:
        left, right = self.plot.get_xlim()
        letters = max(14, round((right - left) / self.pixel / 7.2) - len(self.row.verdict))
        name = textwrap.shorten(self.row.name, letters, placeholder=" …")
        if name == " …" or (len(self.row.name) > letters and " " not in self.row.name):
            name = self.row.name[: letters - 1] + "…"
        self._text(left, 0, name, weight="bold", fontsize=12)
        self._text(right, 0, self.row.verdict, ha="right", style="italic", fontsize=12)
        for lane, value, draw, absent in (
            (1, self.row.claimed, self._claimed, "none, or undefined"),
            (2, self.row.estimate, self._exact, "not computed"),
            (3, self.row.audited, self._audited, "no game was played"),
        ):
            if math.isnan(value):
                self._text(left + 6 * self.pixel, lane, absent, style="italic", alpha=0.7)
            else:
                draw()

    # ── lanes ───────────────────────────────────────────────────────────────────────────────────────
    def _claimed(self) -> None:
        at, (top, bottom) = self.scale.at(self.row.claimed), (self.top + 0.5, self.top + 3.5)
        end = self.plot.get_xlim()[1]
        self.plot.fill_betweenx([top, bottom], at, end, color=VERMILLION, alpha=0.1, linewidth=0)
        self.plot.plot([at, at], [top, bottom], color=INK, linewidth=1.6)
        self.plot.plot([at], [self.top + 1], marker="D", color=INK, markersize=7.5)
        side = -1 if end - at < 55 * self.pixel else 1
        self._text(at + side * 10 * self.pixel, 1, show(self.row.claimed), ha="right" if side < 0 else "left")

    def _exact(self) -> None:
        row, scale, y = self.row, self.scale, self.top + 2
        inside = [scale.at(v) for v in (row.lower, row.estimate, row.upper) if math.isfinite(v)]
        if math.isinf(row.estimate) or math.isinf(row.upper):
            start = min(inside, default=scale.high - 24 * self.pixel)
            self._arrow(start, scale.infinity, 2, BLUE, 3)
            if not inside or math.isinf(row.estimate):
                self._text(start - 8 * self.pixel, 2, "∞", ha="right", fontsize=16, weight="bold", color=BLUE)
                return
        at = scale.at(row.estimate)
        if max(inside) > min(inside):
            bar: Style = {"color": BLUE, "linewidth": 6, "alpha": 0.4, "solid_capstyle": "butt"}
            self.plot.plot([min(inside), max(inside)], [y, y], **bar)
        if row.at_most:
            self._arrow(at, at - 26 * self.pixel, 2, BLUE)
        self.plot.plot([at], [y], marker="o", color=BLUE, markersize=8.5)
        left = at - 26 * self.pixel if row.at_most else at
        self._beside(min(left, *inside), math.inf if math.isinf(row.upper) else max(inside), row.exact)

    def _beside(self, low: float, high: float, text: str) -> None:
        """The number of the exact lane beside its interval from `low` to `high`, on the side where there is room."""
        first, last = self.plot.get_xlim()
        needed, gap = (18 + 7 * len(text)) * self.pixel, 10 * self.pixel
        right, left = last - high > needed, low - first > needed
        claim = self.scale.at(self.row.claimed)
        if right and not (left and 0 < claim - high < needed):
            self._text(high + gap, 2, text, backed=0 < claim - high < needed)
        elif left:
            self._text(low - gap, 2, text, ha="right", backed=0 < low - claim < needed)
        else:
            self._text(low + gap, 2, text, backed=True)

    def _audited(self) -> None:
        row, scale, y = self.row, self.scale, self.top + 3
        at = scale.at(row.audited)
        if not math.isnan(row.ceiling):
            ceiling = scale.at(row.ceiling)
            self.plot.plot([at, ceiling], [y, y], color=INK, linewidth=1, alpha=0.4, linestyle=(0, (1, 2)))
            self.plot.plot([ceiling, ceiling], [y - 0.32, y + 0.32], color=INK, linewidth=2.2, alpha=0.5)
        self._arrow(at, at + 30 * self.pixel, 3, ORANGE)
        face = PAPER if row.audited == 0 else ORANGE
        self.plot.plot([at], [y], marker="s", color=ORANGE, markersize=7.5, markerfacecolor=face, mew=1.6)
        if at - self.plot.get_xlim()[0] > 62 * self.pixel:
            self._text(at - 10 * self.pixel, 3, at_least(row.audited), ha="right")
        else:
            self._text(at + 37 * self.pixel, 3, at_least(row.audited), backed=True)

    # ── strokes ─────────────────────────────────────────────────────────────────────────────────────
    def _text(self, at: float, lane: int, text: str, *, backed: bool = False, **style: object) -> None:
        look: Style = {"va": "center", "ha": "left", "fontsize": 11.5} | style
        if backed:
            look["bbox"] = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}
        self.plot.text(at, self.top + lane, text, **look)

    def _arrow(self, start: float, end: float, lane: int, colour: str, width: float = 2) -> None:
        y = self.top + lane
        look: Style = {"arrowstyle": "-|>,head_width=0.28,head_length=0.55", "shrinkA": 0, "shrinkB": 0}
        self.plot.annotate("", (end, y), (start, y), arrowprops=look | {"color": colour, "linewidth": width})


# ── tables ──────────────────────────────────────────────────────────────────────────────────────────────
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "ε": r"$\varepsilon$", "δ": r"$\delta$", "×": r"$\times$",
    "∞": r"$\infty$", "⁺": r"$^{+}$", "ℓ": r"$\ell$", "²": r"$^{2}$", "₂": r"$_{2}$", "₁": r"$_{1}$",
})  # fmt: skip


class _TableRow(NamedTuple):
    """One algorithm of one run; the fields are the columns of the CSV."""

    run: str
    algorithm: str
    verdict: str
    epsilon_claimed: float | None = None
    epsilon_exact_lower: float | None = None
    epsilon_exact_estimate: float | None = None
    epsilon_exact_upper: float | None = None
    epsilon_audited: float | None = None
    delta: float | None = None
    confidence: float | None = None
    trials: int | None = None
    adjacency: str | None = None
    source: str | None = None


def export_tables(runs: Mapping[str, Results], folder: Path, source: str = RESULTS) -> list[str]:
    """Write `epsilons.csv` and `epsilons.tex` of runs, by name, to `folder`; their names are returned.

    The CSV has the numbers in full, "inf" for infinity, empty where there is none. The LaTeX table has three digits
    and needs booktabs.
    """
    rows = [_table_row(run, entry) for run, results in runs.items() for entry in results.algorithms]
    folder.mkdir(parents=True, exist_ok=True)
    with whole(folder / "epsilons.csv") as draft, draft.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([_TableRow._fields, *rows])
    several = len({row.run for row in rows}) > 1
    head = ["Run"] * several + ["Algorithm", *(rf"$\varepsilon$ {lane}" for lane in _LANES), r"$\delta$", "Verdict"]
    lines = [
        f"% The three epsilons; numbers: {source}. Exact: estimate [lower, upper]. Needs booktabs.",
        r"\begin{tabular}{" + "l" * (1 + several) + "rrrrl}",
        r"\toprule",
        " & ".join(head) + r" \\",
        r"\midrule",
        *(" & ".join(_cells(row)[not several :]) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    write_text(folder / "epsilons.tex", "\n".join(lines))
    return ["epsilons.csv", "epsilons.tex"]


def _table_row(run: str, entry: AlgorithmResult) -> _TableRow:
    audit = entry.audit
    if not isinstance(audit, AuditResult):
        return _TableRow(run, entry.name, word(entry))
    interval, claim = audit.epsilon_exact, audit.claim
    estimate = interval.estimate if interval.known else None
    return _TableRow(
        run, entry.name, word(entry), audit.epsilon_claimed, interval.lower, estimate, interval.upper,
        audit.epsilon_audited, claim.delta, audit.confidence, audit.trials, claim.adjacency, claim.source,
    )  # fmt: skip


def _cells(row: _TableRow) -> list[str]:
    """The cells in LaTeX, the run first."""
    ends = row.epsilon_exact_lower, row.epsilon_exact_estimate, row.epsilon_exact_upper
    low, middle, high = map(_number, ends)
    interval = middle if low == high else f"{middle} [{low}, {high}]"
    if low != high and row.epsilon_exact_upper == math.inf:
        interval = f"$\\ge$ {low}"
    audited = _number(row.epsilon_audited)
    proven = audited if row.epsilon_audited is None else f"$\\ge$ {audited}"
    names = [text.translate(_LATEX) for text in (row.run, row.algorithm, row.verdict)]
    return [*names[:2], _number(row.epsilon_claimed), interval, proven, _number(row.delta), names[2]]


def _number(value: float | None) -> str:
    """Three digits in LaTeX."""
    if value is None or math.isnan(value):
        return "--"
    if math.isinf(value):
        return r"$\infty$"
    mantissa, _, exponent = f"{value:.3g}".partition("e")
    return rf"${mantissa} \times 10^{{{int(exponent)}}}$" if exponent else mantissa


# ── the evidence of the audits ──────────────────────────────────────────────────────────────────────────
def epsilon_exact(audit: AuditResult) -> str:
    """ε exact, and the estimate of the sample within it, where it is one for who sees the wire alone."""
    interval = audit.epsilon_exact
    text, middle = exact(interval, 4), show(interval.estimate, 4)
    inside = not interval.upper_bound_only and middle not in text.split(" … ")
    return f"{text} (the sample's estimate: {middle})" if inside else text


def method(audit: AuditResult) -> str:
    """The way in which ε exact was found."""
    interval = audit.epsilon_exact
    if not interval.known:
        return "not at all: some noise is not on the wire verbatim, and at δ = 0 nothing bounds it"
    if math.isinf(interval.lower):
        return "the transcripts distinguish the two worlds with certainty"
    closed = math.isfinite(interval.upper)
    if interval.by_formula:
        how = "the estimate is by a formula, from the noise of the releases"
        if not closed and audit.claim.delta == 0:
            how += "; at δ = 0 the upper end stays open, for what was never recorded may cost more"
    else:
        how = "from below by sampled losses, from above " + ("by a bound on the cost" if closed else "not at all")
    more = "; an upper bound, for some noise is not on the wire verbatim"
    return how + (more if interval.upper_bound_only else "")
