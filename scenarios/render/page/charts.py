"""Curves of runs and attacks: errors, leakage, budgets and measures, with bands and a key; and attacks on records:
rebuilt ones side by side, membership with its ROC, hidden gradients."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from statistics import median
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from attacks.reconstruction.verdict import DEFENDED, FAILED, OPEN, PARTLY, RECOVERED
from attacks.score.robustness import approximate_bound
from scenarios.render.page.drawing import (
    HIGHEST,
    INK,
    Chart,
    Drawing,
    Entry,
    Scale,
    Series,
    Style,
    canvas,
    series,
    write_ticks,
)
from scenarios.render.sentences import Finding
from scenarios.results import attacked as words
from scenarios.results import findings
from scenarios.results.attacks import (
    GradientResult,
    GradientScores,
    Leakage,
    MembershipResult,
    ReconstructionResult,
    RecordAttack,
)
from scenarios.results.audit import AuditResult
from scenarios.results.curves import thinned, unit
from scenarios.results.numbers import MISSING, all_known, count, fixed, percent, plural, show
from scenarios.results.tree import AlgorithmResult

WIDTH, HEIGHT = 470, 310
FLOOR = 1e-17  # an error below it, 0 among them, is drawn here
_POINTS = 150  # of a curve; more would not be seen
_SMALL = (330, 215)
_SMALL_POINTS, _FEWEST = 300, 24  # of all curves in a small figure, and of one
_SMALL_FLOOR = 1e-34  # a measure may be the square of what is rounding
_CLAIM: Style = {"linewidth": 1.3, "linestyle": (0, (1, 3))}
"""Of a claim over time: the curves beside it may be dashed."""
_RELATIVE = "‖estimate − gradient‖ / max(1, ‖gradient‖)"
_ROUNDING = (
    "Near 10⁻¹⁵ it is rounding: the gradient itself; 1 is an error as large as the gradient, or of 1 where that is "
    "shorter."
)
_MEASURES = {
    "mean_error": ("Error of the mean", "‖x̄ − x*‖ / ‖x*‖: how far the agents are from the optimum together."),
    "consensus_error": ("Consensus error", "(1/n) Σ ‖xᵢ − x̄‖²: how far they are from each other."),
    "relative_gap": ("Objective gap", "(F(x) − F*) / F*, of the mean or, in a walk, of the estimate just closed."),
    "objective_gap": ("Objective gap", "F(x) − F*, of the mean or, in a walk, of the estimate just closed."),
    "stationarity_gap": ("Stationarity gap", "‖∇F(x)/n‖² + consensus error."),
    "optimality_gap": ("Optimality gap", "Σ ‖xᵢ − x̄‖² + ‖Σ ∇fᵢ(xᵢ)‖²/n, (31) of the DPP² paper."),
    "local_gradients": (
        "Local gradients",
        "Σ ‖∇fᵢ(xᵢ)‖²/n²: 0 only where every agent is at a stationary point of its own.",
    ),
    "proximal_residual": ("Proximal residual", "‖x − prox(x − ∇F(x)/n)‖: 0 at an optimum only."),
    "limit_residual": ("Distance to the limit", "Mean over the replicas of ‖x − x^∞‖_F, of all agents' x at once."),
    "training_accuracy": ("Accuracy, training", "The share of the agents' records that are classified rightly."),
    "held_out_accuracy": ("Accuracy, held out", "The same of records that no agent holds."),
}
"""Measures with a figure: heading and caption. The absolute gap only where there is no relative one."""
Shown = Sequence[tuple[Finding, Series]]


@dataclass(frozen=True)
class _Line:
    """A curve with a band from `low` to `high`, where it has one."""

    label: str
    look: Series
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def charts(shown: Shown, listener: str, *, apart: bool = False) -> list[Chart]:
    """Every figure of runs and attacks that there is something for; where the ε over time of each algorithm stands
    `apart`, those of all together only for one that has no such figure."""
    together = not apart or any(
        isinstance(audit := one.entry.audit, AuditResult) and audit.growth and one.entry.over_time is None
        for one, _ in shown
    )
    found = (_convergence(shown), *_leakage(shown, listener), _budget(shown) if together else None)
    return [one for one in found if one is not None]


def _convergence(shown: Shown) -> Chart | None:
    """Relative error over activations or rounds."""
    lines: list[_Line] = []
    units, finals = set[str](), list[str]()
    for one, look in shown:
        curve, name = one.entry.convergence, one.entry.name
        if curve is None or not curve.median:
            continue
        lines.append(_Line(name, look, curve.count, curve.median, curve.low, curve.high))
        units.add(curve.unit)
        finals.append(f"{name}: {show(curve.final)}")
    if not lines:
        return None
    unit = " or ".join(sorted(units))
    drowned, diverged = (
        _together([one.entry.name for one, _ in shown if found(one.entry)], len(lines))
        for found in (findings.drowned, findings.diverged)
    )
    caption = (
        "Distance of the agents' estimates to the optimum, relative to that of zero; line: median over replicas, "
        "band: 5 % to 95 %. Above 1 an estimate is worse than the starting point."
        + (f" Noise larger than the solution: {drowned}." if drowned else "")
        + (f" Diverged: {diverged}." if diverged else "")
    )
    words = f"Relative error by {unit}. At the end, {'; '.join(finals)}."
    return _chart("Does it converge?", "convergence", lines, unit, "relative error", words, caption)


def _together(names: Sequence[str], every: int) -> str:
    """Names of algorithms as one list, or all of them without their names; where a name has a comma of its own,
    semicolons stand between them."""
    if len(names) > 2 and len(names) == every:
        return f"all {every} algorithms"
    return ("; " if any("," in name for name in names) else ", ").join(names)


def _leakage(shown: Shown, listener: str) -> list[Chart]:
    """Errors of inferred gradients by the agents' queries, or in order of time where no query is known."""
    title = f"Does the {listener} learn the gradients?"
    inferred = [(one, look, found) for one, look in shown if isinstance(found := one.entry.gradients, GradientResult)]
    medians = "; ".join(f"{one.entry.name}: {show(found.median)}" for one, _, found in inferred)
    bands = [
        (one.entry.name, look, leakage.by_query) for one, look in shown
        if (leakage := one.entry.leakage) is not None and any(map(math.isfinite, all_known(leakage.by_query.median)))
    ]  # fmt: skip
    label = "error of the estimated gradient"
    if bands:
        lines = [
            _Line(name, look, one.query, *map(all_known, (one.median, one.low, one.high)))
            for name, look, one in bands
        ]
        caption = (
            f"{_RELATIVE} of an agent's first, second, … query. Line: median over agents and replicas; band: 5 % to "
            f"95 % of them. {_ROUNDING}"
        )
        words = f"Error of inferred gradients by the agents' queries. Medians: {medians}."
        first = _chart(title, "leakage", lines, "an agent's gradients, by number", label, words, caption)
        guesses = frozenset(one.entry.name for one, _, found in inferred if found.guessed)
        return [first, *_estimated(bands, guesses)]
    lines = list[_Line]()
    for one, look, found in inferred:
        if curve := found.curve:  # long ones by blocks of neighbours: their medians, least and largest values
            at = np.linspace(1, max(found.estimated, len(curve)), len(curve)).tolist()
            rows = (_every(curve, pick) for pick in (_middle, min, max))
            lines.append(_Line(one.entry.name, look, _every(at), *rows))
    if not lines:
        return []
    caption = (
        f"{_RELATIVE} of each estimate, median over replicas. {_ROUNDING} Band: the extremes of neighbouring "
        "estimates. Values below 10⁻¹⁷ are drawn there."
    )
    words = f"Error of inferred gradients over time. Medians: {medians}."
    return [_chart(title, "inference", lines, "estimated gradients, in order of time", label, words, caption)]


def _estimated(bands: Sequence[tuple[str, Series, Leakage.LeakageByQuery]], guesses: Collection[str]) -> list[Chart]:
    """Share of the agents whose query of a number has an estimate, and which algorithms' are `guesses`; none where
    that is all of them."""
    if not any(share < 1 for _, _, one in bands for share in one.identifiable):
        return []
    lines = [
        _Line(f"{name}{' (guesses)' * (name in guesses)}", look, one.query, [100 * v for v in one.identifiable])
        for name, look, one in bands
    ]
    last = "; ".join(f"{line.label}: {show(line.y[-1])} %" for line in lines)
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        for line in lines:
            _draw(plot, line)
        _across(plot, [line.x for line in lines])
        plot.set_ylim(-4, 104)
        plot.grid(axis="y")
        plot.set_xlabel("an agent's gradients, by number")
        plot.set_ylabel("with an estimate, % of the agents")
        words = f"Share of the agents of whose gradient there is an estimate, by query. Last, {last}."
        drawing = Drawing("identifiable", words, figure)
    caption = (
        "The share of the agents that made so many queries of whose gradient there is an estimate at all, however "
        "bad: what was received determines the gradient but for noise. A count over all agents, without an interval."
        + " Guesses: noise makes the estimates no better than guessing."
        * any(name in guesses for name, _, _ in bands)
    )
    return [Chart("Of how many is there an estimate?", drawing, _key(lines), (caption,))]


def carried_on(end: float, x: Sequence[float], *rows: Sequence[float]) -> list[Sequence[float]]:
    """Places and rows of a curve: where the first row ends at ∞ before the `end` it goes on to there, for what
    follows costs no less."""
    if x[-1] >= end or not math.isinf(rows[0][-1]):
        return [x, *rows]
    return [[*x, end], *([*row, row[-1]] for row in rows)]


def coinciding(curves: Iterable[tuple[str, Sequence[object], Sequence[float]]]) -> str:
    """Which curves, each a label with its places and values, are drawn one over the other, in a sentence; empty where
    each is seen."""
    found: dict[tuple[object, ...], list[str]] = {}
    for label, x, y in curves:
        if y:
            found.setdefault((tuple(x), tuple(f"{one:.6g}" for one in y)), []).append(label)
    groups = [labels for labels in found.values() if len(labels) > 1]
    parts = [[label.rpartition(" · ") for label in labels] for labels in groups]
    runs = {tuple(run for *_, run in own) for own in parts}
    if len(groups) == len(found) > 1 == len(runs) and all(len({front for front, *_ in own}) == 1 for own in parts):
        return f"Drawn one over the other for every algorithm: {'; '.join(*runs)}."
    return " ".join(f"Drawn one over the other: {'; '.join(labels)}." for labels in groups)


def _captions(lines: Sequence[_Line], caption: str) -> tuple[str, ...]:
    return tuple(filter(None, (caption, coinciding((one.label, one.x, one.y) for one in lines))))


def _budget(shown: Shown) -> Chart | None:
    """ε spent up to each activation, down to what is proven, against the claim, of a run that ends there or where
    no formula says that, for the whole run; None where no curve has more than a point."""
    lines: list[_Line] = []
    claims: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {}
    units = set[str]()
    for one, look in shown:
        if isinstance(audit := one.entry.audit, AuditResult) and audit.growth:
            levels = {level.activation: level for level in audit.growth}
            rows = zip(*((k, v.estimate, v.lower) for k, v in levels.items()), strict=True)
            end = max(audit.activations, *levels)
            lines.append(_Line(one.entry.name, look, *carried_on(end, *map(_every, rows))))
            claims[one.entry.name] = _claimed(one.entry, audit)
            units.add(unit(one.entry))
    if not any(len(one.x) > 1 for one in lines):
        return None
    values = [v for one in lines for v in (*one.y, *one.low, *claims[one.label][1]) if v or not one.y[-1]]
    scale, stated = Scale.over(values), {claim for claim in claims.values() if claim[1]}
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        floor = scale.limits[0]
        for one in lines:
            at, claim = claims[one.label]
            dotted: Style = {"color": INK if len(stated) == 1 else one.look.colour, **_CLAIM}
            if len(at) > 1:
                plot.plot(at, [scale.at(v) for v in claim], **dotted)
            elif claim:
                plot.axhline(scale.at(*claim), **dotted)
            low, top = ([max(floor, scale.at(v)) for v in row] for row in (one.low, one.y))
            plot.fill_between(
                one.x, low, top, color=one.look.colour, alpha=0.2, linewidth=0, **series(one.look.index)
            )
            look = one.look.marked if len(one.x) > 1 else one.look.line | one.look.point
            plot.plot(one.x, top, **look, **series(one.look.index))
        if len(stated) == 1:
            style: Style = {"ha": "right", "va": "bottom", "fontsize": 10.5}
            end = next(iter(stated))[1][-1]
            plot.text(0.99, scale.at(end), "claimed", transform=plot.get_yaxis_transform(), **style)
        scale.set_up(plot)
        whole(plot)
        plot.set_xlabel(f"{' or '.join(sorted(units))} of the audited agent")
        plot.set_ylabel("ε so far")
        last = "; ".join(f"{one.label}: {show(one.y[-1])}" for one in lines)
        drawing = Drawing("budget", f"Privacy budget spent over time. At the end, {last}.", figure)
    grown = any(len(at) > 1 for at, _ in stated)
    caption = (
        "Exact ε of the releases up to each point. Line: as the sample estimates it, a lower end where no "
        "formula and no bound closes it from above; band: down to what is proven at the audit's confidence. Fine "
        f"dots: the claim {'of a run that ends there' if grown else 'for the whole run'}. An unprotected message "
        f"makes it ∞ at once.{_once([one.entry for one, _ in shown])}"
    )
    return Chart("How fast is privacy spent?", drawing, _key(lines), _captions(lines, caption))


def _once(entries: Sequence[AlgorithmResult]) -> str:
    """Whose curve is one point, for the audited agent was active once: algorithms, or the run that all are of."""
    times = {one.name: one.audit.activations for one in entries if isinstance(one.audit, AuditResult)}
    labels = [name for name, count in times.items() if count == 1]
    runs = list(dict.fromkeys(label.rpartition(" · ")[2] for label in labels))
    names = runs[0] if len(runs) == 1 else _together(labels, len(times))
    return f" A single point at 1: the audited agent was active once ({names})." if labels else ""


def _claimed(entry: AlgorithmResult, audit: AuditResult) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Counts and ε claimed of a run that ends there, where there is such a curve; else the only number, of the whole
    run, or none."""
    found: list[tuple[float, float]] = []
    if entry.over_time is not None:
        curve = entry.over_time.claimed
        found = [(float(k), v) for k, v in zip(curve.count, curve.epsilon, strict=True) if v is not None]
    if len(found) < 2 and audit.epsilon_claimed is not None:
        found = [(float(audit.activations), audit.epsilon_claimed)]
    return tuple(k for k, _ in found), tuple(v for _, v in found)


# ── measures ────────────────────────────────────────────────────────────────────────────────────────────
def measures(shown: Shown) -> list[Chart]:
    """A small figure for each measure that some algorithm has."""
    lines: dict[str, list[_Line]] = {}
    units = set[str]()
    for one, look in shown:
        found = one.entry.measures
        for name, curve in found.curves.items() if found is not None else ():
            if found is not None and name in _MEASURES and any(v == v for v in curve.median):
                line = _Line(one.entry.name, look, curve.count, curve.median, curve.low, curve.high)
                lines.setdefault(name, []).append(line)
                units.add(found.unit)
    if "relative_gap" in lines:
        lines.pop("objective_gap", None)
    unit, figures = " or ".join(sorted(units)), list[Chart]()
    for name, (title, caption) in _MEASURES.items():
        if drawn := lines.get(name):
            ends = "; ".join(f"{one.label}: {show(one.y[-1])}" for one in drawn)
            words, label = f"{title} by {unit}. At the end, {ends}.", name.replace("_", "-")
            shares = name.endswith("accuracy")
            figures.append(_chart(title, label, drawn, unit, "", words, caption, _SMALL, shares))
    return figures


# ── parts ───────────────────────────────────────────────────────────────────────────────────────────────
def _key(lines: Sequence[_Line]) -> tuple[Entry, ...]:
    return tuple(one.look.entry(one.label) for one in lines)


def _chart(
    title: str,
    name: str,
    lines: Sequence[_Line],
    x: str,
    y: str,
    words: str,
    caption: str,
    size: tuple[int, int] = (WIDTH, HEIGHT),
    shares: bool = False,
) -> Chart:
    """Curves with their bands on a logarithmic axis, or of `shares` on a linear one."""
    small = size == _SMALL
    floor = _SMALL_FLOOR if small else FLOOR
    most = max(_FEWEST, _SMALL_POINTS // len(lines)) if small else _POINTS
    with canvas(*size) as (figure, plot):
        for one in lines:
            _draw(plot, one, most, None if shares else floor, zero=not small)
        values = [v for one in lines for v in one.y if v > 0 or not small]
        if shares:  # from the least above 0 to 1: at x = 0 no record has a class
            least = min((v for v in values if v > 0), default=0.0)
            low = max(0.0, min(least, 0.95) - 0.02)
            plot.set_ylim(low, 1.0 + 0.03 * (1 - low))
            plot.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
            write_ticks(plot.yaxis, percent)
            plot.grid(axis="y")
        else:
            errors(plot, values, floor)
        _across(plot, [one.x for one in lines])
        plot.set_xlabel(x)
        plot.set_ylabel(y)
        said = (caption,) if small else _captions(lines, caption)
        return Chart(title, Drawing(name, words, figure), _key(lines), said)


def _draw(plot: Any, line: _Line, most: int = _POINTS, floor: float | None = None, zero: bool = True) -> None:
    """A curve and its band at so many points; below the `floor` of a logarithmic axis it stays there or, without
    `zero`, has a hole, as it has where it is infinite or nearly."""
    chosen = thinned(len(line.x), most)

    def placed(values: Sequence[float]) -> "np.ndarray[Any, Any]":
        found = np.array(values, dtype=np.float64)[chosen]
        found[np.abs(found) > 10**HIGHEST] = np.nan
        if floor is not None:
            found = np.maximum(found, floor) if zero else np.where(found > 0, found, np.nan)
        return found

    at, y = np.array(line.x)[chosen], placed(line.y)
    if len(line.low) == len(line.high) == len(line.x):
        low, high = placed(line.low), placed(line.high)
        low = np.where(np.isnan(low) & ~np.isnan(high), floor or np.nan, low)
        if (low != high).any():
            look: Style = {"color": line.look.colour, "alpha": 0.2 if floor else 0.1, "linewidth": 0}
            plot.fill_between(at, low, high, **look, **series(line.look.index))
    # A marker every so many points has no place on a curve that is all holes.
    style = line.look.marked if np.isfinite(y).any() else line.look.line
    plot.plot(at, y, **style, **series(line.look.index))


def errors(plot: Any, values: Sequence[float], floor: float = FLOOR) -> None:
    """A logarithmic axis of errors: at least three decades, and no decade of nothing."""
    given = [max(v, floor) for v in values if abs(v) <= 10**HIGHEST] or [1.0]
    low, high = math.log10(min(given)), math.log10(max(given))
    Scale.around((low + high) / 2, max(high - low, 3.0) / 2 * 1.08).logarithmic(plot)
    plot.grid(axis="y")


def whole(plot: Any) -> None:
    """Ticks of a horizontal axis that counts: at whole numbers alone."""
    from matplotlib.ticker import MaxNLocator

    plot.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))


def _across(plot: Any, curves: Sequence[Sequence[float]]) -> None:
    """The horizontal axis, which counts: logarithmic where some curves would be squashed to a tenth of it."""
    ends = [max(curve) for curve in curves if curve]
    if not ends or max(ends) < 10 * min(ends) or min(ends) <= 1:
        whole(plot)
        return
    plot.set_xscale("log")
    scale = Scale(0.0, math.log10(max(ends)) * 1.02, False, False)
    plot.set_xlim(1, 10**scale.high)
    plot.set_xticks([10**place for place, _ in scale.ticks()], [label for _, label in scale.ticks()])
    plot.set_xticks([], minor=True)


def _every(values: Sequence[float], pick: Callable[[Sequence[float]], float] = itemgetter(-1)) -> list[float]:
    """At most `_POINTS` values: one picked of each block of neighbours, the last if nothing else is said."""
    if len(values) <= _POINTS:
        return list(values)
    edges = [0, *(int(edge) for edge in np.linspace(1, len(values), _POINTS))]
    return [pick(values[a:b]) for a, b in pairwise(edges)]


def _middle(block: Sequence[float]) -> float:
    return float(np.median(block))


# ── attacks on records ──────────────────────────────────────────────────────────────────────────────────
VERDICTS = {
    RECOVERED: (
        "bad", "✕", "The record that is rebuilt is the agent's: within the distance of success, and with a skill of "
        "at least 0.9 against the best guess without the transcript.",
    ),
    PARTLY: (
        "bad", "◐", "It is nearer to the agent's than a guess, with a skill above 0.1, and not recovered.",
    ),
    DEFENDED: (
        "good", "✓", "It explains the gradients as well as the true record does, is no nearer to it than a guess, "
        "and the gradients have noise: that hides the record from this attack.",
    ),
    OPEN: (
        "open", "?", "The gradients do not determine the record, or the attack does not: another one explains them "
        "too, and no noise has to hide anything. This is no defence.",
    ),
    FAILED: (
        "open", "?", "It does not explain the gradients as the true record does, or did not arrive: another attack "
        "may do better. This protects nobody.",
    ),
}  # fmt: skip
"""Severity class, sign and meaning of an attack's verdict: a recovered record is the finding."""
_LARGE = 6.0
"""The border of what an ε from here on allows hugs the figure's frame."""
BEFORE = "at the start", "half way"


# ── reconstructed records ───────────────────────────────────────────────────────────────────────────────
Strip = tuple[str, list[tuple[str, Sequence[float], str]]]
"""An agent's record, and what attacks make of it: label, values and a note of each."""


def mark(one: RecordAttack) -> tuple[str, str]:
    """Severity class and sign of an attack's verdict."""
    if one.verdict is None:
        return "none", "–"
    half = one.verdict == DEFENDED and not words.clearly(one, DEFENDED)
    return VERDICTS[OPEN if half else one.verdict][:2]  # half of the time is no defence


def strips(found: ReconstructionResult) -> list[Strip]:
    """For each agent and record the original, what each attack makes of it, and the prior's guess; an attacker who is
    given the other records rebuilds the first alone. None where records are no images."""
    strips: list[Strip] = []
    for original in found.originals if found.image else ():
        attempts = [
            (one.attack, own, own.rebuilt) for one in found.attacks for own in one.agents
            if own.agent == original.agent and own.rebuilt
        ]  # fmt: skip
        for index, record in enumerate(original.records):
            shown = [(name, own, values[index]) for name, own, values in attempts if index < len(values)]
            if attempts and not shown:
                continue
            tiles: list[tuple[str, Sequence[float], str]] = [("original", record, "")]
            for name, own, values in shown:
                tiles += [
                    (f"{name}, {when}", rows[index], "") for when, rows in zip(BEFORE, own.before, strict=False)
                ]
                note = f"skill {fixed(own.skill)}" if own.psnr is None else f"{fixed(own.psnr, 1)} dB"
                tiles.append((name, values, note))
            if shown and (guess := shown[-1][1].guess) is not None:
                tiles.append(("the prior's guess", guess[index], ""))
            which = f", record {index + 1}" if len(original.records) > 1 else ""
            strips.append((f"Agent {original.agent}{which}", tiles))
    return strips


# ── membership ──────────────────────────────────────────────────────────────────────────────────────────
Played = Sequence[tuple[str, MembershipResult, Series]]


def roc(shown: Sequence[tuple[Finding, Series]]) -> Chart | None:
    """Found against false alarms, each level with its intervals, and the border of what the claim allows; None where
    no membership game was played."""
    games = ((one.entry.name, one.entry.membership, look) for one, look in shown)
    played = [(name, game, look) for name, game, look in games if isinstance(game, MembershipResult)]
    if not played:
        return None
    edges = _borders(played)
    with canvas(WIDTH, HEIGHT) as (figure, plot):
        plot.plot([0, 1], [0, 1], color=INK, alpha=0.5, linewidth=1, linestyle=(0, (2, 2)))
        for _, game, look in played:
            plot.plot(game.roc.alarms, game.roc.found, **look.line, **series(look.index))
            style: Style = {"color": look.colour, "linewidth": 1, **series(look.index)}
            for x, y in ((one.alarms, one.found) for one in game.levels):
                plot.plot([x.low, x.high], [y.rate] * 2, **style)
                plot.plot([x.rate] * 2, [y.low, y.high], **style)
                plot.plot([x.rate], [y.rate], **(look.point | {"markeredgewidth": 1}), linestyle="none", **style)

        at = np.linspace(0, 1, 201)
        for epsilon, delta, colour in edges:
            y = [approximate_bound(float(x), epsilon, delta) for x in at]
            plot.plot(at, y, color=colour, linewidth=1.2, linestyle=(0, (7, 3)), alpha=0.8)
        plot.set_xlim(-0.01, 1.01)
        plot.set_ylim(-0.01, 1.01)
        plot.grid()
        plot.set_xlabel("false alarms")
        plot.set_ylabel("found")
        areas = "; ".join(f"{label}: {show(game.auc.estimate)}" for label, game, _ in played)
        text = f"Membership: found against false alarms. Area under the curve, {areas}."
        drawing = Drawing("roc", text, figure)
    level = percent(played[0][1].confidence)
    whose = ", in the colour of the algorithm that claims it" if edges and edges[0][2] != INK else ""
    caption = (
        "How often the record is found where it is there, against how often it is where it is not, for every "
        f"threshold. Marks: the thresholds of the levels below, with {level} intervals both ways. Dotted: chance."
        + (f" Dashed: the most that the claimed ε allows{whose}." if edges else "")
    )
    key = tuple(look.entry(label) for label, _, look in played)
    return Chart("How well is it recognized?", drawing, key, (caption,))


def _borders(played: Played) -> list[tuple[float, float, str]]:
    """ε, δ and colour of each border: in ink where all algorithms claim the same, else in that of its own, so that
    nobody is measured by what another one claims. One that is no more than the figure's frame is left out."""
    claims = [(game.claim, look) for _, game, look in played]
    found = {(c.epsilon, c.delta or 0.0): look for c, look in claims if c.epsilon is not None}
    several = len({(c.epsilon, c.delta) for c, _ in claims}) > 1
    return [
        (epsilon, delta, look.colour if several else INK)
        for (epsilon, delta), look in found.items()
        if epsilon < _LARGE
    ]


# ── hidden gradients ────────────────────────────────────────────────────────────────────────────────────
_MOST_AGENTS, _MOST_GROUPS = 8, 4
"""Agents whose hidden gradients are listed one by one, and kinds of agents that are distinguished beyond."""


def hidden(gradients: GradientScores) -> tuple[str, str]:
    """How many gradients of each agent are not identifiable, shortly where all agree or there are many agents; and
    agent by agent where that is a summary, else "". An agent that computes none, an insider, has a dash."""
    pairs = list(zip(gradients.hidden, gradients.inferred, strict=True))
    each = [count(h) if h + f else MISSING for h, f in pairs]
    full = ", ".join(f"agent {i}: {one}" for i, one in enumerate(each)) if len(each) > _MOST_AGENTS else ""
    given = [h for h, f in pairs if h + f]
    if len(given) > 1 and len(set(given)) == 1:
        return f"{count(given[0])} each" + (f" ({plural(len(given), 'agent')})" * (len(given) < len(each))), full
    if not full:
        return ", ".join(each) or MISSING, full
    groups = Counter("all" if not f else "none" if not h else count(h) for h, f in pairs if h + f)
    if len(groups) <= _MOST_GROUPS:
        return "; ".join(f"{word}: {plural(n, 'agent')}" for word, n in groups.items()), full
    return f"{count(min(given))} to {count(max(given))}, median {show(median(given))}", full
