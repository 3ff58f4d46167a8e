"""The three epsilons of audits: as a picture, over time, and the loss breakdown by activation and by release."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from netsim.arrays import Array
from netsim.errors import a_or_an
from scenarios.render.page.charts import HEIGHT, WIDTH, carried_on, whole
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
    write_ticks,
)
from scenarios.render.sentences import Finding, moment, not_drawn, word
from scenarios.results.audit import AuditResult
from scenarios.results.budgets import LossBreakdown, LossPart, OverTime
from scenarios.results.curves import step
from scenarios.results.findings import Entry as Algorithm
from scenarios.results.findings import judged
from scenarios.results.numbers import MISSING, all_known, at_least, count, exact, known, percent, show, show_epsilon
from scenarios.results.tree import AuditSummary

_LANES = ("claimed", "exact", "audited")
_BLOCK = 4.7  # lanes an algorithm takes, its name among them
_LANE = 20  # pixels
_SIZE, _SMALLER = 11.5, 10  # of a number beside its mark, and of one that has room there only if it is smaller
_TICKS_APART = 0.05  # of the height, at least
_NEAR = 24  # pixels from a mark within which a number is beside it
_STEP = 8  # pixels by which an axis goes on that has no room for a number
_LETTER, _FEWEST = 7.2, 14  # pixels of a letter in a row's head, and letters of its name, at least
_WIDE, _NARROW = 860, 370  # pixels: drawn for a desk, and for a phone
_KEY = (
    Entry("claimed: the paper's formula, or the author's", ({"color": INK, "marker": "|", "linestyle": "none"},
                                           {"color": INK, "marker": "D", "linestyle": "none"})),
    Entry("exact: from proven below to proven above; dot: estimate",
          ({"color": BLUE, "linewidth": 6, "alpha": 0.4}, {"color": BLUE, "marker": "o", "linestyle": "none"})),
    Entry("audited: at least this, proven by a game",
          ({"color": ORANGE, "linewidth": 2, "marker": "s", "markersize": 7.5},)),
    Entry("the most that so many transcripts can prove",
          ({"color": INK, "linewidth": 1, "alpha": 0.6, "linestyle": (0, (1, 2)), "marker": "|", "markersize": 8},)),
    Entry("above the claim: ε proven here contradicts it",
          ({"color": VERMILLION, "linewidth": 11, "alpha": 0.16},)),
)  # fmt: skip
_CAPTION = (
    "ε bounds how much anything on the wire can depend on one agent's data; smaller is more private.",
    "Exact and audited hold for the one pair of adjacent worlds examined: they can refute a claim. It is proven "
    "only by a bound over all pairs.",
)


def epsilons(algorithms: Sequence[tuple[str, Algorithm]], terms: str, *, on_its_page: bool = False) -> Chart | None:
    """Claimed, exact and audited ε of every audited algorithm, by name, on one logarithmic axis. `on_its_page`:
    whether it stands on the page of their run."""
    rows = [_Row.of(name, entry, audit) for name, entry in algorithms if (audit := judged(entry)) is not None]
    if not rows:
        return None
    caption = f"{_CAPTION[0]} {terms} {_CAPTION[1]}".replace("  ", " ")
    wide, narrow = _picture(rows, "wide", _WIDE), _picture(rows, "narrow", _NARROW)
    away = tuple(filter(None, (not_drawn(name, entry, on_its_page=on_its_page) for name, entry in algorithms)))
    return Chart("The three epsilons", wide, _key(rows), (*away, caption), narrow)


def _key(rows: Sequence["_Row"]) -> tuple[Entry, ...]:
    """Every mark that occurs."""
    claimed, exact, audited = (
        any(not math.isnan(value) for value in values)
        for values in zip(*((row.claimed, row.estimate, row.audited) for row in rows), strict=True)
    )
    most = any(not math.isnan(row.ceiling) and not math.isnan(row.audited) for row in rows)
    occurs = claimed, exact, audited, most, claimed
    return tuple(entry for entry, there in zip(_KEY, occurs, strict=True) if there)


def _picture(rows: Sequence["_Row"], name: str, width: int) -> Drawing:
    numbers = [(row.claimed, row.lower, row.estimate, row.upper, row.audited, row.ceiling) for row in rows]
    scale = Scale.over([value for row in numbers for value in row])
    tops = [_BLOCK * i for i in range(len(rows))]
    with canvas(width, 50 + _LANE * _BLOCK * len(rows)) as (figure, plot):
        left, right = scale.limits
        margin = 0.035 * (right - left)
        plot.set_ylim(_BLOCK * len(rows) - 0.6, -0.7)
        beyond = " and ".join(["0"] * scale.has_zero + ["∞"] * scale.has_infinity)
        lines = f"; {beyond} beyond the dotted line{'s' * (' and ' in beyond)}" if beyond else ""
        plot.set_xlabel(f"ε (logarithmic{lines})")
        scale.dress(plot.xaxis)
        plot.grid(axis="x")
        plot.set_yticks([top + lane for top in tops for lane in (1, 2, 3)], list(_LANES) * len(rows))
        plot.tick_params(axis="y", length=0)
        plot.spines["left"].set_visible(False)
        for at in [scale.low] * scale.has_zero + [scale.high] * scale.has_infinity:
            plot.axvline(at, color=INK, alpha=0.35, linestyle=(0, (1, 3)), linewidth=1)
        before = after = 0  # pixels that the axis goes on for, so that numbers have room on their side of a claim
        names = _heads(rows, width - 75)
        while True:
            pixel = (right - left + 2 * margin) / (width - 75 - before - after)
            limits = left - margin - before * pixel, right + margin + after * pixel
            plot.set_xlim(*limits)
            painters = [_Painter(plot, scale, pixel, limits, *one) for one in zip(rows, names, tops, strict=True)]
            strayed = {side for one in painters for side in one.strayed()}
            if not strayed or before + after > width // 3:
                break
            before, after = before + _STEP * (-1 in strayed), after + _STEP * (1 in strayed)
        for one in painters:
            one.draw()
        words = (
            f"{row.name}: {row.verdict}; claimed {show_epsilon(row.claimed)}, exact {row.exact}, "
            f"audited at least {show_epsilon(row.audited)}." for row in rows
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


def _heads(rows: Sequence["_Row"], width: float) -> list[str]:
    """The name of each row as its head has room for it beside the verdict; names that are not the same stay so: of
    those that would not, what they have in common goes first."""
    room = [max(_FEWEST, round(width / _LETTER) - len(row.verdict)) for row in rows]
    found: dict[str, list[_Row]] = {}
    heads = [_shortened(row.name, letters) for row, letters in zip(rows, room, strict=True)]
    for row, head in zip(rows, heads, strict=True):
        found.setdefault(head, []).append(row)
    for k, (row, letters) in enumerate(zip(rows, room, strict=True)):
        fronts = dict.fromkeys(one.name.rpartition(" · ")[0] or one.name for one in found[heads[k]])
        if len({one.name for one in found[heads[k]]}) > 1:
            words = zip(*(one.split(" ") for one in fronts), strict=False)
            common = len(list(takewhile(lambda some: len({*some}) == 1, words))) if len(fronts) > 1 else 0
            heads[k] = _cut(row.name, common, letters)
    return heads


def _cut(name: str, common: int, letters: int) -> str:
    """A name without its first words, which others have too, and where that is still too long without its middle."""
    left = f"… {name.split(' ', common)[-1]}" if common else name
    half = letters // 2
    return left if len(left) <= letters else f"{left[: letters - half - 1]}…{left[-half:]}"


def _shortened(name: str, letters: int) -> str:
    """In so many letters; where a name ends in the run that it is of, "name · run", that stays whole."""
    front, point, run = name.rpartition(" · ")
    if len(name) <= letters:
        return name
    if point and letters > len(run) + 10:
        return f"{_shortened(front, letters - len(run) - 3)} · {run}"
    cut = textwrap.shorten(name, letters, placeholder=" …")
    return name[: letters - 1] + "…" if cut.strip() == "…" else cut


@dataclass(frozen=True)
class _Painter:
    plot: Any
    scale: Scale
    pixel: float
    limits: tuple[float, float]
    row: _Row
    name: str
    top: float

    def strayed(self) -> Iterator[int]:
        """The side of the claim, −1 or 1, of each mark whose number is not all on it."""
        claim, row = self.scale.at(self.row.claimed), self.row
        placed: list[tuple[float, float, float]] = []
        if not math.isnan(row.estimate):
            start, width, *_ = self._place(*self._interval())
            placed.append((self._exact_mark(), start, width))
        if not math.isnan(row.audited):
            start, width, _ = self._place_audited()
            placed.append((self.scale.at(row.audited), start, width))
        for at, start, width in placed:
            if not self._beyond(at, start, width):
                yield -1 if at < claim else 1

    def _beyond(self, at: float, start: float, width: float) -> bool:
        """Whether a text stands on the same side of the claim as a mark at `at`, or the mark on the claim itself."""
        claim = self.scale.at(self.row.claimed)
        return not (at < claim < start + width or start < claim < at)

    def draw(self) -> None:
        left, right = self.limits
        self._text(left, 0, self.name, weight="bold", fontsize=12)
        self._text(right, 0, self.row.verdict, ha="right", style="italic", fontsize=12)
        for lane, value, draw, absent in (
            (1, self.row.claimed, self._claimed, "none"),
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
        end = self.limits[1]
        self.plot.fill_betweenx([top, bottom], at, end, color=VERMILLION, alpha=0.1, linewidth=0)
        self.plot.plot([at, at], [top, bottom], color=INK, linewidth=1.6, zorder=4)  # over arrows to ∞
        self.plot.plot([at], [self.top + 1], marker="D", color=INK, markersize=7.5)
        side = -1 if end - at < 55 * self.pixel else 1
        self._text(at + side * 10 * self.pixel, 1, show_epsilon(self.row.claimed), ha="right" if side < 0 else "left")

    def _inside(self) -> list[float]:
        """Where the finite numbers of the exact interval are."""
        return [self.scale.at(v) for v in (self.row.lower, self.row.estimate, self.row.upper) if math.isfinite(v)]

    def _exact_mark(self) -> float:
        """Where ε exact is, or begins where its estimate is ∞ and its lower end is not."""
        if math.isinf(self.row.estimate) and (inside := self._inside()):
            return min(inside)
        return self.scale.at(self.row.estimate)

    def _interval(self) -> tuple[float, float, tuple[float, float]]:
        """Where what is drawn of ε exact begins and ends, ∞ where it is open, and where its mark does."""
        row, inside, at = self.row, self._inside(), self.scale.at(self.row.estimate)
        if math.isinf(row.estimate):
            mark = (math.nan, math.nan) if inside else self._mark(at)
            return min(inside, default=at), math.inf if inside else at, mark
        left = at - 26 * self.pixel if row.at_most else at
        return min(left, *inside), math.inf if math.isinf(row.upper) else max(inside), (left, self._mark(at)[1])

    def _exact(self) -> None:
        row, inside, y, at = self.row, self._inside(), self.top + 2, self.scale.at(self.row.estimate)
        start, width, size, backed = self._place(*self._interval())
        self._text(start, 2, row.exact, backed=backed, fontsize=size)
        if len(inside) > 1 and max(inside) > min(inside):
            bar: Style = {"color": BLUE, "linewidth": 6, "alpha": 0.4, "solid_capstyle": "butt"}
            self.plot.plot([min(inside), max(inside)], [y, y], **bar)
        if math.isfinite(row.estimate) and row.at_most:
            self._arrow(at, at - 26 * self.pixel, 2, BLUE)
        if math.isfinite(row.estimate) or not inside:
            self.plot.plot([at], [y], marker="o", color=BLUE, markersize=8.5)
        if math.isinf(row.upper) and inside:
            self._open(min(inside), (start, start + width))

    def _open(self, low: float, words: tuple[float, float]) -> None:
        """The arrow of an interval that goes on to ∞, which leaves out its number where that stands on it."""
        (begin, end), gap, infinity = words, 4 * self.pixel, self.scale.infinity
        if end <= low or begin >= infinity:
            self._arrow(low, infinity, 2, BLUE, 3)
            return
        after = infinity - end > 16 * self.pixel
        if begin - low > 16 * self.pixel:
            if after:
                self.plot.plot([low, begin - gap], [self.top + 2] * 2, color=BLUE, linewidth=3)
            else:
                self._arrow(low, begin - gap, 2, BLUE, 3)
        if after:
            self._arrow(end + gap, infinity, 2, BLUE, 3)

    def _mark(self, at: float) -> tuple[float, float]:
        """Where a mark begins and ends."""
        return at - 7 * self.pixel, at + 7 * self.pixel

    def _place(self, low: float, high: float, mark: tuple[float, float]) -> tuple[float, float, float, bool]:
        """The number of the exact lane beside its interval from `low` to `high`, or on it: where there is room, and
        it lies neither over the line of the claim, or beyond it, nor over the `mark` if that can be. Where it begins,
        how wide it is, its size, and whether it lies on a line."""
        gap, claim, at = 10 * self.pixel, self.scale.at(self.row.claimed), self._exact_mark()
        found: list[tuple[float, float, float, bool]] = []
        for size in (_SIZE, _SMALLER):
            width = _wide_as(self.row.exact) * size / _SIZE * self.pixel
            outside = [high + gap, low - gap - width]
            starts = [*outside, max(low, at) + gap, claim - gap - width, claim + gap]
            start, clear = self._room(starts, width, mark, at)
            found.append((start, width, size, not clear or start not in outside))
            near = max(mark[0] - start - width, start - mark[1]) <= _NEAR * self.pixel
            if self._beyond(at, start, width) and (not found[-1][3] or near):
                return found[-1]
        return found[self._beyond(at, *found[1][:2]) and not self._beyond(at, *found[0][:2])]

    def _room(
        self, starts: Sequence[float], width: float, mark: tuple[float, float], at: float
    ) -> tuple[float, bool]:
        """A place for a text so wide inside the picture, off its own `mark`, off the line of the claim and on the
        side of it that has the number itself, `at`, if that can be: the first or the second of `starts`, else the
        nearest to the mark; and whether it is off the line."""
        (left, last), claim = self.limits, self.scale.at(self.row.claimed)
        first = left + 6 * self.pixel  # apart from the name of the lane
        gap, tries = 3 * self.pixel, [*starts, mark[1] + 3 * self.pixel, mark[0] - 3 * self.pixel - width]
        tries += [first, last - width]
        inside = [start for start in tries if first <= start <= last - width]
        beyond = [start for start in inside if self._beyond(at, start, width)]
        off, on = (claim, claim), mark
        for places, taken in ((beyond, (off, on)), (inside, (off, on)), (inside, (on,)), (inside, (off,))):
            free = [s for s in places if not any(s - gap < end and begin < s + width + gap for begin, end in taken)]
            away = [max(mark[0] - s - width, s - mark[1]) for s in free]
            if beside := [s for s in free if s in starts[:2]]:
                return beside[0], off in taken
            if free:
                return free[int(np.argmin(away))], off in taken
        anywhere = [min(max(start, first), last - width) for start in starts if math.isfinite(start)]
        return (inside or anywhere)[0], False

    def _place_audited(self) -> tuple[float, float, bool]:
        """The same of the audited lane: where its number begins, how wide it is, and whether it lies on a line."""
        at, claim = self.scale.at(self.row.audited), self.scale.at(self.row.claimed)
        width, gap = _wide_as(at_least(self.row.audited)) * self.pixel, 11 * self.pixel
        beside = [at - gap - width, at + 37 * self.pixel]
        mark = self._mark(at)[0], at + 30 * self.pixel
        start, clear = self._room([*beside, claim - gap - width, claim + gap], width, mark, at)
        return start, width, not clear or start != beside[0] or self.row.audited > self.row.claimed

    def _audited(self) -> None:
        row, scale, y = self.row, self.scale, self.top + 3
        at = scale.at(row.audited)
        if not math.isnan(row.ceiling):
            ceiling = scale.at(row.ceiling)
            self.plot.plot([at, ceiling], [y, y], color=INK, linewidth=1, alpha=0.4, linestyle=(0, (1, 2)))
            self.plot.plot([ceiling, ceiling], [y - 0.32, y + 0.32], color=INK, linewidth=2.2, alpha=0.5)
        end, claim = at + 30 * self.pixel, scale.at(row.claimed)
        if at < claim < end:  # nothing beyond the claim is proven
            end = max(at + 14 * self.pixel, claim - 2 * self.pixel)
        self._arrow(at, end, 3, ORANGE)
        face = PAPER if row.audited == 0 else ORANGE
        self.plot.plot([at], [y], marker="s", color=ORANGE, markersize=7.5, markerfacecolor=face, mew=1.6)
        start, _, backed = self._place_audited()
        self._text(start, 3, at_least(row.audited), backed=backed)

    # ── strokes ─────────────────────────────────────────────────────────────────────────────────────
    def _text(self, at: float, lane: int, text: str, *, backed: bool = False, **style: object) -> None:
        look: Style = {"va": "center", "ha": "left", "fontsize": _SIZE} | style
        if backed:
            look["bbox"] = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}
        self.plot.text(at, self.top + lane, text, **look)

    def _arrow(self, start: float, end: float, lane: int, colour: str, width: float = 2) -> None:
        y = self.top + lane
        look: Style = {"arrowstyle": "-|>,head_width=0.28,head_length=0.55", "shrinkA": 0, "shrinkB": 0}
        self.plot.annotate("", (end, y), (start, y), arrowprops=look | {"color": colour, "linewidth": width})


@cache
def _wide_as(text: str) -> float:
    """Width of a text beside a mark, in pixels."""
    from matplotlib.textpath import TextPath

    return float(cast("Any", TextPath((0, 0), text, size=_SIZE)).get_extents().width)


# ── the evidence of the audits ──────────────────────────────────────────────────────────────────────────
def epsilon_exact(audit: AuditResult) -> str:
    """ε exact, and the estimate of the sample within it, where it is one for who sees the wire alone."""
    interval = audit.epsilon_exact
    text, middle = exact(interval), show_epsilon(interval.estimate)
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
    else:
        how = "from below by sampled losses" + ", from above by a bound on the cost" * closed
    how += f"; up to ∞, for {audit.open_end}" if audit.open_end else ""
    more = "; an upper bound, for some noise is not on the wire verbatim"
    return how + (more if interval.upper_bound_only else "")


# ── over time, and by release ───────────────────────────────────────────────────────────────────────────
P = TypeVar("P", bound=LossPart)
_SCALES = {"Gaussian": "σ", "Laplace": "b"}
ROWS = 12
"""Releases and links in a table, the costliest."""
_COSTS = {
    "Laplace": "Under Laplace noise the cost of a release is ‖Δ‖₁/b, in nats: it bounds the loss of the "
    "release, so what it adds to ε.",
    "Gaussian": "Under Gaussian noise the cost of a release is ‖Δ‖₂²/σ², a pure number: costs add up, and ε follows "
    "from their sum and δ; it is no ε itself.",
}
"""Units of the cost of a release, by the law of its noise."""
_BARS = 120
"""Activations with a bar each, at most."""
_CLAIMED: Style = {"color": INK, "linestyle": (0, (7, 3))}
_EXACT: Style = {"color": BLUE, "marker": "o", "markersize": 4.5}
_AUDITED: Style = {
    "color": ORANGE, "linestyle": "none", "marker": "s", "markersize": 5.5, "markerfacecolor": PAPER
}  # fmt: skip
_EXCEEDED: Style = {"color": VERMILLION, "linestyle": "none", "marker": "X", "markersize": 9}
_TIME_KEY = (
    Entry("claimed", (_CLAIMED,)),
    Entry("exact, of this pair; band: down to what is proven", (_EXACT,)),
    Entry("audited: at least", (_AUDITED,)),
    Entry("first above what is claimed of a run that ends there", (_EXCEEDED,)),  # where it is
)


def loss_charts(one: Finding, name: str) -> list[Chart]:
    """ε over time and the cost by activation of an algorithm, if it was audited; ids begin with `name`."""
    if not isinstance(one.entry.audit, AuditResult):
        return []
    drawn = (
        _over_time(one.entry.over_time, one.entry.audit, f"{name}-time") if one.entry.over_time else None,
        _bars(one.entry.audit, step(one.entry), f"{name}-bars"),
    )
    return [chart for chart in drawn if chart is not None]


# ── ε over time ─────────────────────────────────────────────────────────────────────────────────────────
def _over_time(time: OverTime, audit: AuditResult, name: str) -> Chart | None:
    """Claimed, exact and audited ε by activation, the region where ε means nothing, and the first violation.

    None where no curve has more than a point.
    """
    claimed = [(k, v) for k, v in zip(time.claimed.count, all_known(time.claimed.epsilon), strict=True) if v == v]
    exact: list[Sequence[float]] = [time.exact.count, time.exact.estimate, time.exact.lower]
    if time.exact.count:
        exact = carried_on(max((time.exact.count[-1], *time.claimed.count)), *exact)
    if max(len(claimed), len(exact[0])) < 2:
        return None
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        _curves(plot, time, claimed, exact)
        plot.set_xlabel("rounds" if time.unit == "rounds" else "activations of one agent (PLF)")
        plot.set_ylabel("ε by then")
        whole(plot)
        ends = [show(values[-1]) if values else MISSING for values in (all_known(time.claimed.epsilon), exact[1])]
        ends.append(show(time.audited.epsilon[-1]) if time.audited.epsilon else MISSING)
        last = f"claimed {ends[0]}; exact {ends[1]}; audited at least {ends[2]}"
        drawing = Drawing(name, f"The three epsilons by {time.unit}. At the end: {last}.", figure)
    caption = (
        *_notes(time),
        "The claim by then is the formula of a run that ends there. Each point holds by itself at the audit's "
        "confidence, not all of them together.",
        *_other_level(time, audit),
    )
    occurs = claimed, exact[0], time.audited.count, time.exceeds
    key = tuple(entry for entry, there in zip(_TIME_KEY, occurs, strict=True) if there)
    return Chart("The three epsilons over time", drawing, key, caption)


def _other_level(time: OverTime, audit: AuditResult) -> tuple[str, ...]:
    """Why the last point of ε audited is not the ε audited of the verdict, where it is not."""
    end, whole = next(iter(time.audited.epsilon[-1:]), None), audit.epsilon_audited
    games = (audit.white_box, audit.black_box, audit.classifier)
    levels = [one.confidence for one in games if one and one.confidence > audit.confidence]
    if end is None or not levels or math.isclose(end, whole, rel_tol=1e-6):
        return ()
    return (
        f"ε audited ends at {show_epsilon(end)} here and is {at_least(whole)} with the verdict: here a point is one "
        f"bound at {percent(audit.confidence)}; there several games hold together at that, each by itself at "
        f"{show(100 * max(levels), 4)}\u202f%, which proves less.",
    )


def _curves(
    plot: Any, time: OverTime, claimed: Sequence[tuple[int, float]], exact: Sequence[Sequence[float]]
) -> None:
    """Draw (activation, ε claimed), `exact`, which are its activations, estimates and lower ends, and ε audited."""
    at, *ends = exact
    stated, audited = [v for _, v in claimed], time.audited.epsilon
    values, above = [v for row in (stated, audited, *ends) for v in row], time.vacuous_above
    scale = Scale.over([*values, above] if any(v > above for v in values) else values)
    scale.set_up(plot)
    high, low = ([scale.at(v) for v in row] for row in ends)
    plot.fill_between(at, low, high, color=BLUE, alpha=0.2, linewidth=0)
    plot.plot([k for k, _ in claimed], [scale.at(v) for v in stated], **_CLAIMED)
    plot.plot(at, high, markevery=max(1, len(at) // 12), **_EXACT)
    plot.plot(time.audited.count, [scale.at(v) for v in audited], **_AUDITED)
    _vacuous(plot, scale, time.vacuous_above)
    if time.exceeds_from is not None and time.exceeds is not None:
        plot.axvline(time.exceeds_from, color=VERMILLION, linewidth=1, alpha=0.7)
        plot.plot([time.exceeds_from], [scale.at(time.exceeds.exact)], markeredgewidth=0, **_EXCEEDED)
    if time.undefined_from is not None:
        plot.axvline(time.undefined_from, color=INK, linewidth=1, alpha=0.5, linestyle=(0, (2, 2)))


def _vacuous(plot: Any, scale: Scale, above: float) -> None:
    """The region of a plot where ε means nothing, and its name where no curve crosses that."""
    bottom, top = cast("tuple[float, float]", plot.get_ylim())
    level = max(bottom, scale.at(above))
    if level >= top:
        return
    if level > bottom:  # a tick of its own, in place of those beside it
        apart = [tick for tick in scale.ticks() if abs(tick[0] - level) > _TICKS_APART * (top - bottom)]
        places, labels = zip(*apart, (level, show(above)), strict=True)
        plot.set_yticks(places, labels)
    plot.axhspan(level, top, color=INK, alpha=0.09, linewidth=0)
    words, (left, right) = f"ε > {show(above)}: vacuous", cast("tuple[float, float]", plot.get_xlim())
    wide, high = 1.1 * _wide_as(words) / WIDTH * (right - left), 18 / HEIGHT * (top - bottom)  # room of a marker, too
    lines: list[Array] = [np.asarray(one.get_data(), dtype=float) for one in plot.lines]
    lines = [one for one in lines if one.shape[1] > 1 and one[0, 0] < one[0, -1]]

    def crossed(place: tuple[str, str]) -> int:
        """How much of the curves runs where the words would be."""
        begin, low = right - wide if place[0] == "right" else left, level if place[1] == "bottom" else top - high
        across: Array = np.linspace(begin, begin + wide, 60)
        heights: list[Array] = [cast("Any", np).interp(across, *one, left=np.nan, right=np.nan) for one in lines]
        return sum(int(np.count_nonzero((y >= low) & (y <= low + high))) for y in heights)

    side, end = min([("right", "bottom"), ("left", "bottom"), ("right", "top"), ("left", "top")], key=crossed)
    style: Style = {"ha": side, "va": end, "fontsize": 10, "style": "italic"}
    at = 0.99 if side == "right" else 0.01, level if end == "bottom" else top
    plot.text(*at, words, transform=plot.get_yaxis_transform(), **style)


def _notes(time: OverTime) -> list[str]:
    """What begins at a moment, in order; ε that is above what means nothing is said to be so once."""
    level, exact, proven = show(time.vacuous_above), time.exact_vacuous_from, time.proven_vacuous_from
    excess = time.exceeds and f"{show_epsilon(time.exceeds.exact)}, not {show_epsilon(time.exceeds.claimed)}"
    if time.exceeds is not None and time.exceeds.exact > time.vacuous_above and time.exceeds_from == proven:
        exact, proven = (None if exact == proven else exact), None  # is said with the claim
    endless = any(k == proven and math.isinf(v) for k, v in zip(time.exact.count, time.exact.lower, strict=True))
    amount = "∞" if endless else f"proven to be above {level}"
    notes = (
        (
            time.exceeds_from,
            f"the exact ε is first proven to be above what is claimed of a run that ends there: {excess}",
        ),
        (time.claimed_vacuous_from, f"the claim is above {level} from there on: it promises nothing"),
        (None if exact == proven else exact, f"the exact ε of the pair is estimated above {level} from there on"),
        (proven, f"the exact ε of the pair is {amount} from there on"),
        (time.undefined_from, f"the claim is undefined from there on ({time.condition})"),
    )
    found = sorted(((k, words) for k, words in notes if k is not None), key=lambda one: one[0])
    moments = ((moment(time, k), words) for k, words in found)
    return [f"{when[0].upper()}{when[1:]}: {words}." for when, words in moments]


# ── loss breakdown ───────────────────────────────────────────────────────────────────────────────────────────────
def _bars(audit: AuditResult, step: str, name: str) -> Chart | None:
    """Cost of each `step`, a round or an activation: mean over transcripts, and a line from the least to the most; ∞
    where a field that no noise protects is first sent. None where that is one bar."""
    rows = [one for one in audit.loss_breakdown.activations if math.isfinite(one.cost[1])][:_BARS]
    last = rows[-1].activation if rows else _BARS
    bare = sorted({one.activation for one in audit.unprotected_fields if one.activation <= last})
    if len({*bare, *(one.activation for one in rows)}) < 2:
        return None
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        covered = [one for one in rows if one.activation not in bare]
        mean = [one.cost[1] for one in covered]
        plot.bar([one.activation for one in covered], mean, width=0.8, color=BLUE, alpha=0.75, linewidth=0)
        up = plot.get_xaxis_transform()
        for at in bare:
            plot.bar([at], [1.0], width=0.8, color=VERMILLION, alpha=0.25, linewidth=0, transform=up)  # off the axis
            look: Style = {"ha": "center", "va": "top", "color": VERMILLION, "fontsize": 16, "weight": "bold"}
            plot.text(at, 0.99, "∞", transform=up, **look)
        for one in covered:
            least, _, most = one.cost
            if most > least and math.isfinite(most):
                plot.plot([one.activation] * 2, [least, most], color=INK, linewidth=1.4)
        whole(plot)
        plot.set_xlabel(f"{step}s of the audited agent")
        plot.set_ylabel("cost of its releases")
        if covered:
            write_ticks(plot.yaxis)
            plot.grid(axis="y")
        else:
            plot.set_yticks([])
        words = f"It is ∞ in {step} {', '.join(map(count, bare))}, which nothing protects."
        if not bare:
            most = max(rows, key=lambda one: one.cost[1])
            words = f"The costliest is {step} {count(most.activation)}, at {show(most.cost[1])} on average."
        drawing = Drawing(name, f"Cost by {step}. {words}", figure)
    caption = f"Cost of all releases of {a_or_an(step)}: mean over transcripts, a line from the least to the most."
    laws = {one.where.mechanism for one in audit.loss_breakdown.releases if one.where}
    caption += "".join(f" {words}" for law, words in _COSTS.items() if any(one.endswith(law) for one in laws))
    fields = "∞: a field that no noise protects is first sent there, and the run's ε is ∞ from there on."
    fields += " The other bars are the cost of what has noise." if covered else ""
    return Chart("Where it is spent", drawing, (), (caption, fields) if bare else (caption,))


def costliest(parts: Sequence[P], most: int = ROWS) -> list[P]:
    """The parts with the highest mean cost."""
    return sorted(parts, key=lambda one: -1.0 if math.isnan(one.cost[1]) else one.cost[1], reverse=True)[:most]


def noise(one: LossBreakdown.ReleaseLoss) -> str:
    """The law of a release's noise with its scale, or the ends of it; empty where transcripts disagree."""
    if one.where is None:
        return ""
    law, ends = one.where.mechanism, list(dict.fromkeys(map(show, one.where.scale)))
    letter = next((letter for name, letter in _SCALES.items() if law.endswith(name)), "scale")
    return f"{law}, {letter} = {' to '.join(ends)}"


def released(one: LossBreakdown.ReleaseLoss, step: str) -> str:
    """In which `step` a release was made, and what carries it."""
    where = one.where
    if where is None:
        return f"Release {one.release} (not the same in all transcripts)"
    if where.carriers:
        first = where.carriers[0]
        return f"{step.capitalize()} {where.activation}: “{first.name}” to {', '.join(map(str, first.receivers))}"
    inside = where.inside
    out = f"inside “{inside.name}” of {inside.kind} {inside.number}" if inside else "not on the wire"
    return f"{step.capitalize()} {where.activation}: release {one.release}, {out}"
