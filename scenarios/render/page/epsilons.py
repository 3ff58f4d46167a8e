"""The three epsilons: as a picture of the page, and as LaTeX and CSV tables for a paper."""

import csv
import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from scenarios.render.former_sentences import word
from scenarios.render.page.drawing import BLUE, INK, ORANGE, PAPER, VERMILLION, Scale, canvas, inline
from scenarios.results.files import RESULTS
from scenarios.results.numbers import exact, items, number, part, show

_LANES = ("claimed", "exact", "audited")
_BLOCK = 4.7  # lanes an algorithm takes, its name among them
_LANE = 20  # pixels


def epsilons(algorithms: Sequence[Mapping[str, Any]], prefix: str, width: int) -> Markup:
    """Claimed, exact and audited ε of every audited algorithm on one logarithmic axis, `width` pixels wide."""
    rows = [Row.of(algorithm) for algorithm in algorithms]
    scale = Scale.over([value for row in rows for value in row.values])
    tops = [_BLOCK * i for i in range(len(rows))]
    with canvas(width, 50 + _LANE * _BLOCK * len(rows)) as (figure, axes):
        plot: Any = axes
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
        return inline(figure, prefix, "The three epsilons. " + " ".join(row.sentence for row in rows))


@dataclass(frozen=True)
class Row:
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
    def of(cls, algorithm: Mapping[str, Any]) -> "Row":
        audit = algorithm["audit"]
        measured = part(audit, "epsilon_exact")
        games = [game for game in map(audit.get, ("white_box", "black_box", "classifier")) if game]
        return cls(
            name=str(algorithm.get("name", "")),
            verdict=str(audit.get("verdict", "")),
            claimed=number(audit.get("epsilon_claimed")),
            lower=number(measured.get("lower")),
            estimate=number(measured.get("estimate")),
            upper=number(measured.get("upper")),
            at_most=bool(measured.get("upper_bound_only")),
            exact=exact(measured),
            audited=number(audit.get("epsilon_audited")),
            ceiling=max((number(game.get("ceiling")) for game in games), default=math.nan),
        )

    @property
    def values(self) -> list[float]:
        """All that the axis has to show."""
        return [self.claimed, self.lower, self.estimate, self.upper, self.audited, self.ceiling]

    @property
    def sentence(self) -> str:
        """The row for who cannot see it."""
        return (
            f"{self.name}: {self.verdict}; claimed {show(self.claimed)}, exact {self.exact}, "
            f"audited at least {show(self.audited)}."
        )


@dataclass(frozen=True)
class _Painter:
    plot: Any
    scale: Scale
    pixel: float
    row: Row
    top: float

    def draw(self) -> None:
        left, right = self.plot.get_xlim()
        letters = max(14, round((right - left) / self.pixel / 7.2) - len(self.row.verdict))
        name = textwrap.shorten(self.row.name, letters, placeholder=" …") or self.row.name[: letters - 1] + "…"
        if len(self.row.name) > letters and " " not in self.row.name:
            name = self.row.name[: letters - 1] + "…"
        self._text(left, 0, name, weight="bold", fontsize=12)
        self._text(right, 0, self.row.verdict, ha="right", style="italic", fontsize=12)
        self._claimed()
        self._exact()
        self._audited()

    # ── lanes ───────────────────────────────────────────────────────────────────────────────────────
    def _claimed(self) -> None:
        claimed = self.row.claimed
        if math.isnan(claimed):
            self._absent(1, "none, or undefined")
            return
        at, (top, bottom) = self.scale.at(claimed), (self.top + 0.5, self.top + 3.5)
        self.plot.fill_betweenx([top, bottom], at, self.plot.get_xlim()[1], color=VERMILLION, alpha=0.1, linewidth=0)
        self.plot.plot([at, at], [top, bottom], color=INK, linewidth=1.6)
        self.plot.plot([at], [self.top + 1], marker="D", color=INK, markersize=7.5)
        self._label(at, 1, show(claimed))

    def _exact(self) -> None:
        row, scale, y = self.row, self.scale, self.top + 2
        if math.isnan(row.estimate):
            self._absent(2, "not computed")
            return
        inside = [scale.at(v) for v in (row.lower, row.estimate, row.upper) if math.isfinite(v)]
        if math.isinf(row.estimate) or math.isinf(row.upper):
            start = min(inside, default=scale.high - 24 * self.pixel)
            self._arrow(start, scale.infinity, 2, BLUE, 3)
            if not inside or math.isinf(row.estimate):
                self._text(start - 8 * self.pixel, 2, "∞", ha="right", fontsize=16, weight="bold", color=BLUE)
                return
        at = scale.at(row.estimate)
        if max(inside) > min(inside):
            bar = {"color": BLUE, "linewidth": 6, "alpha": 0.4, "solid_capstyle": "butt"}
            self.plot.plot([min(inside), max(inside)], [y, y], **bar)
        if row.at_most:
            self._arrow(at, at - 26 * self.pixel, 2, BLUE)
        self.plot.plot([at], [y], marker="o", color=BLUE, markersize=8.5)
        left = at - 26 * self.pixel if row.at_most else at
        self._beside(min(left, *inside), math.inf if math.isinf(row.upper) else max(inside), row.exact)

    def _beside(self, low: float, high: float, text: str) -> None:
        """The number of the exact lane beside its interval from `low` to `high`, on the side where there is room."""
        first, last = self.plot.get_xlim()
        needed = (18 + 7 * len(text)) * self.pixel
        right, left = last - high > needed, low - first > needed
        claim_in_the_way = 0 < self.scale.at(self.row.claimed) - high < needed
        if right and not (claim_in_the_way and left):
            self._text(high + 10 * self.pixel, 2, text, backed=claim_in_the_way)
        elif left:
            self._text(
                low - 10 * self.pixel, 2, text, ha="right", backed=0 < low - self.scale.at(self.row.claimed) < needed
            )
        else:
            self._text(low + 10 * self.pixel, 2, text, backed=True)

    def _audited(self) -> None:
        row, scale, y = self.row, self.scale, self.top + 3
        if math.isnan(row.audited):
            self._absent(3, "no game was played")
            return
        at = scale.at(row.audited)
        if not math.isnan(row.ceiling):
            ceiling = scale.at(row.ceiling)
            self.plot.plot([at, ceiling], [y, y], color=INK, linewidth=1, alpha=0.4, linestyle=(0, (1, 2)))
            self.plot.plot([ceiling, ceiling], [y - 0.32, y + 0.32], color=INK, linewidth=2.2, alpha=0.5)
        self._arrow(at, at + 30 * self.pixel, 3, ORANGE)
        face = PAPER if row.audited == 0 else ORANGE
        self.plot.plot([at], [y], marker="s", color=ORANGE, markersize=7.5, markerfacecolor=face, mew=1.6)
        if at - self.plot.get_xlim()[0] > 62 * self.pixel:
            self._text(at - 10 * self.pixel, 3, f"≥ {show(row.audited)}", ha="right")
        else:
            self._text(at + 37 * self.pixel, 3, f"≥ {show(row.audited)}", backed=True)

    # ── strokes ─────────────────────────────────────────────────────────────────────────────────────
    def _label(self, at: float, lane: int, text: str) -> None:
        """Beside a mark: to its right, or to its left near the end of the axis."""
        crowded = self.plot.get_xlim()[1] - at < 55 * self.pixel
        self._text(at + (-10 if crowded else 10) * self.pixel, lane, text, ha="right" if crowded else "left")

    def _absent(self, lane: int, text: str) -> None:
        self._text(self.plot.get_xlim()[0] + 6 * self.pixel, lane, text, style="italic", alpha=0.7)

    def _text(self, at: float, lane: int, text: str, *, backed: bool = False, **style: Any) -> None:
        look: dict[str, Any] = {"va": "center", "ha": "left", "fontsize": 11.5} | style
        if backed:
            look["bbox"] = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}
        self.plot.text(at, self.top + lane, text, **look)

    def _arrow(self, start: float, end: float, lane: int, colour: str, width: float = 2) -> None:
        y = self.top + lane
        style = {"arrowstyle": "-|>,head_width=0.28,head_length=0.55", "shrinkA": 0, "shrinkB": 0}
        look = style | {"color": colour, "linewidth": width}
        self.plot.annotate("", (end, y), (start, y), arrowprops=look)


Result = Mapping[str, Any]
COLUMNS = (
    "run", "algorithm", "verdict", "epsilon_claimed", "epsilon_exact_lower", "epsilon_exact_estimate",
    "epsilon_exact_upper", "epsilon_audited", "delta", "confidence", "trials", "adjacency", "source",
)  # fmt: skip
_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "ε": r"$\varepsilon$", "δ": r"$\delta$", "×": r"$\times$",
    "∞": r"$\infty$", "⁺": r"$^{+}$", "ℓ": r"$\ell$", "²": r"$^{2}$", "₂": r"$_{2}$", "₁": r"$_{1}$",
})  # fmt: skip


def export_tables(runs: Mapping[str, Result], folder: Path, source: str = RESULTS) -> list[str]:
    """Write `epsilons.csv` and `epsilons.tex` of runs (by name; results as results.json has them) to `folder`.

    The CSV has the numbers in full, "inf" for infinity, empty where there is none. The LaTeX table has three digits
    and needs booktabs. Their names are returned.
    """
    rows = epsilon_rows(runs)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "epsilons.csv").write_text(as_csv(rows), encoding="utf-8")
    (folder / "epsilons.tex").write_text(as_latex(rows, source), encoding="utf-8")
    return ["epsilons.csv", "epsilons.tex"]


def epsilon_rows(runs: Mapping[str, Result]) -> list[dict[str, Any]]:
    """A row for each algorithm of each run, with a value or None for each of `COLUMNS`."""
    return [_row(run, entry) for run, results in runs.items() for entry in items(results, "algorithms")]


def _row(run: str, entry: Result) -> dict[str, Any]:
    audit = part(entry, "audit")
    claim, measured = part(audit, "claim"), part(audit, "epsilon_exact")
    values = (
        run, entry.get("name"), word(entry), audit.get("epsilon_claimed"), measured.get("lower"),
        measured.get("estimate"), measured.get("upper"), audit.get("epsilon_audited"), claim.get("delta"),
        audit.get("confidence"), audit.get("trials"), claim.get("adjacency"), claim.get("source"),
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as CSV with a header."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list[str](COLUMNS), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in rows)
    return stream.getvalue()


def as_latex(rows: Sequence[Mapping[str, Any]], source: str) -> str:
    """The rows as a LaTeX tabular (booktabs), with the run where there are several."""
    several = len({row["run"] for row in rows}) > 1
    head = (["Run"] if several else []) + ["Algorithm", r"$\varepsilon$ claimed", r"$\varepsilon$ exact"]
    head += [r"$\varepsilon$ audited", r"$\delta$", "Verdict"]
    lines = [
        f"% The three epsilons; numbers: {source}. Exact: estimate [lower, upper]. Needs booktabs.",
        r"\begin{tabular}{" + "l" * (1 + several) + "rrrrl}",
        r"\toprule",
        " & ".join(head) + r" \\",
        r"\midrule",
        *(" & ".join(_cells(row, several)) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _cells(row: Mapping[str, Any], several: bool) -> list[str]:
    audited = _number(row["epsilon_audited"])
    return [
        *([_text(row["run"])] if several else []),
        _text(row["algorithm"]),
        _number(row["epsilon_claimed"]),
        _interval(*(row[f"epsilon_exact_{end}"] for end in ("lower", "estimate", "upper"))),
        audited if audited == "--" else f"$\\ge$ {audited}",
        _number(row["delta"]),
        _text(row["verdict"]),
    ]


def _interval(lower: Any, estimate: Any, upper: Any) -> str:
    low, middle, high = (_number(value) for value in (lower, estimate, upper))
    if low == high:
        return middle
    return f"$\\ge$ {low}" if math.isinf(number(upper)) else f"{middle} [{low}, {high}]"


def _number(value: Any) -> str:
    """Three digits in LaTeX."""
    x = number(value)
    if math.isnan(x):
        return "--"
    if math.isinf(x):
        return r"$\infty$"
    digits = f"{x:.3g}"
    if "e" not in digits:
        return digits
    mantissa, exponent = digits.split("e")
    return rf"${mantissa} \times 10^{{{int(exponent)}}}$"


def _text(value: Any) -> str:
    return str(value or "").translate(_LATEX)
