"""Self-contained HTML page from results: one scenario, or a study over all its variants; with the figures that it
requests, and the outcome of a paper's item beside them."""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, TypeAlias, cast

from jinja2 import ChainableUndefined, Environment, FileSystemLoader
from markupsafe import Markup

from scenarios.files.document import setting
from scenarios.files.folders import whole
from scenarios.files.models import dump
from scenarios.render import plain_words, sentences
from scenarios.render.page import network, plan
from scenarios.render.page.charts import (
    FLOOR,
    HEIGHT,
    VERDICTS,
    WIDTH,
    Shown,
    charts,
    hidden,
    mark,
    measures,
    roc,
    strips,
)
from scenarios.render.page.drawing import (
    HIGHEST,
    INK,
    Chart,
    Drawing,
    Scale,
    Series,
    Style,
    canvas,
    picture,
    series,
    write_ticks,
)
from scenarios.render.page.epsilons import (
    ROWS,
    costliest,
    epsilon_exact,
    epsilons,
    loss_charts,
    method,
    noise,
    released,
)
from scenarios.render.sentences import Finding, Judged, headline, meanings, missing, terms
from scenarios.render.terminal import named
from scenarios.results import attacked, findings, numbers
from scenarios.results.audit import AuditResult
from scenarios.results.curves import COLUMNS, step
from scenarios.results.curves import rows as costs_of
from scenarios.results.findings import listener
from scenarios.results.numbers import alone, count, plural, show, show_epsilon
from scenarios.results.reproduction import CheckAnswer, FigureCurve, FigureResult
from scenarios.results.traffic import TrafficResult
from scenarios.results.tree import AlgorithmResult, AlgorithmSummary, Results
from scenarios.results.views import ViewPrices, ViewsResult

_MOST = 2
"""Algorithms in the line of a closed section; of more the first one, which has the strongest finding. And algorithms,
at most, whose prices of views stand open after the verdicts."""
_TRAFFIC = (
    "packets_sent", "packets_delivered", "packets_lost", "bytes_sent", "bytes_delivered", "bytes_lost",
    "bytes_in_flight",
)  # fmt: skip
"""Rows that are there even where all cells are 0."""


def render(results: Results, path: Path) -> None:
    """Write the page of a run, or of the variants of a study, to `path`, whole or not at all; parts that are missing
    are named there."""
    with whole(path) as draft:
        draft.write_text(page(results), encoding="utf-8")


def page(results: Results) -> str:
    """The page as text; the same results give the same page."""
    text = _run(results) if results.variants is None else _study(results)
    names = () if results.network is None else results.network.names
    shown, script, data = text.partition("<script")
    return named(shown, names, escape) + script + data


def figures(results: Results) -> list[Chart]:
    """Every figure of the page, and a plain network in place of the one that plays."""
    requested = cast("list[Chart]", _reproduction(results)["figures"])
    if results.variants is not None:
        return [*_epsilons_of(results), *requested]
    ordered = Finding.ranked(results)
    shown = [(one, Series(k)) for k, one in enumerate(ordered)]
    net = results.network
    taken = epsilons([(one.entry.name, one.entry) for one in ordered], terms(ordered))
    found = [*requested, *([taken] if taken else [])]
    drawn = [(one, loss_charts(one, f"loss-{k}")) for k, one in enumerate(ordered)]
    drawn += [(one, plan.view_charts(one, net, f"views-{k}")) for k, one in enumerate(ordered)]
    drawn += [(one, plan.price_charts(one, net, f"prices-{k}")) for k, one in enumerate(ordered)]
    found += [replace(chart, title=f"{one.entry.name}: {chart.title}") for one, own in drawn for chart in own]
    found += [*charts(shown, listener(results), apart=True), *measures(shown)]
    found += [game] if (game := roc(shown)) else []
    if net is not None and net.positions:
        found.append(
            Chart("Network", plan.network(net, "network"), plan.Marks.of(net).key, (f"The network: {net.name}.",))
        )
    return found


# ── one run ─────────────────────────────────────────────────────────────────────────────────────────────
def _run(results: Results) -> str:
    ordered = Finding.ranked(results)
    shown = [(one, Series(k)) for k, one in enumerate(ordered)]
    net, paper = results.network, _reproduction(results)
    settings: dict[str, list[str]] = {}
    for term, text in net.settings if net else ():
        settings.setdefault(term, []).append(text)
    return (
        environment()
        .get_template("template.html.j2")
        .render(
            subjects=shown,
            headline=headline(ordered),
            epsilons=epsilons([(one.entry.name, one.entry) for one in ordered], terms(ordered), on_its_page=True),
            meanings=meanings(ordered),
            missing=missing(results),
            final_errors=sentences.final_errors(ordered),
            auditor=findings.auditor(results),
            listener=listener(results),
            outside=any(one.entry.outside_model for one in ordered),
            settings=settings,
            scene=network.scene(results, ordered),
            roc=roc(shown),
            curves_title="The run and the attack",
            run_title="Convergence and traffic",
            traffic=_traffic(ordered),
            summaries=_summaries(results, ordered),
            priced=(priced := [one for one in shown if isinstance(one[0].entry.prices, ViewPrices)]),
            prices_first=len(priced) <= _MOST,
            **progress(shown, listener(results), apart=True),
            **_shared(results, "verdicts", paper, len(shown)),
        )
    )


def _traffic(ordered: Sequence[Finding]) -> list[str]:
    """What was counted of the packets of runs, in the order of results; counts of 0 alone are left out."""
    counted = [one.entry.run.traffic for one in ordered if one.entry.run]
    names = dict.fromkeys(name for one in counted for name in one)
    return [name for name in names if name in _TRAFFIC or any(one.get(name) for one in counted)]


def _shared(results: Results, first: str, paper: Mapping[str, object], series: int = 0) -> dict[str, object]:
    """The part that the pages of a run and of a study have in common."""
    return {
        "results": results,
        "title": results.title or results.name,
        "first": first,
        "paper": paper,
        "series": max(series, cast("int", paper["series"])),
        "version": results.versions.get("netsim-lab", ""),
        "manifest": dump(results.scenario, full=True),
        "notes": results.notes if results.variants is None else (),
    }


def _coded(text: str) -> Markup:
    """A text, what stands in it between backticks as code."""
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text)))


def _whole_words(page: str) -> Markup:
    """A page on which code within a sentence is broken between its words, where those fit a line, or after dots of a
    long name, and an ε and its number, a power of ten or a number and its % nowhere: a browser breaks names of files
    and algorithms at their hyphens, too."""

    def kept(found: re.Match[str]) -> str:
        words = re.sub(r"[^\s-]+-\S+|-\S+", r"<span>\g<0></span>", found[2])
        words = re.sub(r"\b[a-z_]\w*(\.\w+){2,}", lambda name: name[0].replace(".", ".<wbr>"), words)
        return found[0] if found[1] else f"<code>{words}</code>"

    page = re.sub(r"(?<=\w) ([=≥≤]) (?=[\d∞])| (×) (?=10[⁻⁰¹²³⁴-⁹])", "\u00a0\\g<1>\\g<2>\u00a0", page)
    page = re.sub(r"(?<=\d) %", "\u202f%", page)
    return Markup(re.sub(r"(<pre[^>]*>)?<code>([^<]*)</code>", kept, page))


def _headed(rows: str, heads: Sequence[str | tuple[str, str]]) -> Markup:
    """Rows of a table, each cell with the heading of its column, which stands beside it where a row is too narrow for
    its cells; so does that of a number which names its row."""
    names = [head if isinstance(head, str) else head[0] for head in heads]

    def row(found: re.Match[str]) -> str:
        tags = re.findall(r"<t[hd]\b", found[0])
        place = 0 if len(tags) == len(names) and "<th" not in tags else 1

        def cell(tag: re.Match[str]) -> str:
            nonlocal place
            span = int(wide[1]) if (wide := re.search(r'colspan="(\d+)"', tag[0])) else 1
            place, here = place + span, place
            return f'{tag[0][:-1]} data-head="{escape(names[here])}">' if span == 1 and here < len(names) else tag[0]

        numbered = re.sub(r'<th scope="row"(?=>[\d.,]+</th>)', rf'\g<0> data-head="{escape(names[0])}"', found[0])
        return re.sub(r"<td\b[^>]*>", cell, numbered)

    return Markup(re.sub(r"<tr\b.*?</tr>", row, str(rows), flags=re.DOTALL))


@cache
def environment() -> Environment:
    """Templates with the formats and tables that they use; compiled once, a third of a page's time."""
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    written = (
        show, show_epsilon, setting, plural, numbers.fixed, numbers.percent, numbers.at_least, numbers.e_to,
        numbers.exact, numbers.between,
    )  # fmt: skip
    cast("dict[str, object]", found.filters).update({one.__name__: one for one in written})
    cast("dict[str, object]", found.filters).update(n=count, coded=_coded, headed=_headed, whole_words=_whole_words)
    modules = attacked, findings, network, numbers, plain_words, plan, sentences
    cast("dict[str, object]", found.globals).update({one.__name__.rpartition(".")[2]: one for one in modules})
    cast("dict[str, object]", found.globals).update(
        picture=picture,
        frozenset=frozenset,
        signs=MARKS,
        exact_of=epsilon_exact,
        method_of=method,
        loss_charts=loss_charts,
        costliest=costliest,
        released=released,
        noise_of=noise,
        step=step,
        loss_rows=ROWS,
        hidden_of=hidden,
        strips_of=strips,
        mark_of=mark,
        attack_verdicts=VERDICTS,
    )
    return found


def progress(shown: Shown, listener: str, *, apart: bool = False) -> dict[str, object]:
    """Figures of runs and attacks (`charts`), and the cost of an accuracy."""
    entries, small = [one.entry for one, _ in shown], measures(shown)
    measured = [(one.entry.measures, look.entry(one.entry.name)) for one, look in shown]
    return {
        "charts": charts(shown, listener, apart=apart),
        "measures": small,
        "measured": [key for found, key in measured if found and found.curves] if small else (),
        "spent": costs_of(entries),
        "measured_by": " or ".join(sorted({one.measure.replace("_", " ") for one, _ in measured if one})),
        "cost_columns": COLUMNS,
    }


# ── lines of closed sections ────────────────────────────────────────────────────────────────────────────
def _summaries(results: Results, ordered: Sequence[Finding]) -> dict[str, str]:
    """The main number of each closed section of a run."""
    found = summaries(ordered)
    audits = [audit for one in ordered if isinstance(audit := one.entry.audit, AuditResult)]
    if audits:
        found["evidence"] = (
            f"{plural(audits[0].trials, 'transcript')} of each world, confidence {show(audits[0].confidence)}"
        )
    return found | {"repeat": f"seed {results.seed}"}


def summaries(ordered: Sequence[Finding]) -> dict[str, str]:
    """The main number of each closed section, by algorithm."""
    lines: dict[str, list[str]] = {}
    for one in ordered:
        for section, words in _main_numbers(one.entry).items():
            lines.setdefault(section, []).append(f"{one.entry.name}: {words}" if len(ordered) > 1 else words)
    return {
        section: "; ".join(each) if len(each) <= _MOST else f"{each[0]}; {plural(len(each) - 1, 'more algorithm')}"
        for section, each in lines.items()
    }


def _main_numbers(entry: AlgorithmResult) -> dict[str, str]:
    found: dict[str, str] = {}
    if entry.convergence and entry.convergence.final is not None:
        words = "diverged, final relative error" if findings.diverged(entry) else "final relative error"
        found["curves"] = f"{words} {show(entry.convergence.final)}"
    wanted = entry.measures.to_accuracy if entry.measures else ()
    reached = [one for one in wanted if one.reached]
    if wanted and not reached:
        found["progress"] = "no accuracy reached"
    elif reached and (last := reached[-1]).reached:
        unit = "round" if entry.convergence and entry.convergence.unit == "rounds" else "activation"
        found["progress"] = f"error {show(last.accuracy)} after {plural(last.reached.plf, unit)} of an agent"
    if isinstance(entry.traffic_analysis, TrafficResult):
        activity = entry.traffic_analysis.activity
        of = "" if activity.activations is None else f" of {count(activity.activations)}"
        found["traffic"] = f"{count(activity.found)}{of} activations identified"
    if isinstance(audit := entry.audit, AuditResult):
        parts = audit.loss_breakdown
        cost = show_epsilon(parts.total.cost[1])
        counted = f"{plural(parts.counts.releases, 'release')}, together at a mean cost of {cost}"
        bare = len(audit.unprotected_fields)
        found["breakdown"] = plural(bare, "unprotected field") if bare else counted
        if audit.search:
            worst, about = audit.search.winner, "≈" if math.isfinite(audit.search.winner.epsilon) else "="
            found["searched"] = f"ε {about} {show_epsilon(worst.epsilon)} before the audit, {worst.family}"
    if isinstance(seen := entry.views, ViewsResult):
        found["views"] = f"refuted for {len(seen.refuted)} of {plural(len(seen.views), 'view')}"
    if isinstance(costs := entry.prices, ViewPrices):
        priced = plural(len(costs.views), "view")
        found["prices"] = f"{priced} and all ordered pairs" if costs.pairs else priced
    if (game := entry.membership) and game.refused is None:
        rate = attacked.headline(game.levels).found
        found["membership"] = f"found {attacked.rate(rate)} of the time{_at(game.confidence) * (rate.of > 1)}"
    if (game := entry.property) and game.refused is None:
        found["property"] = f"right {attacked.rate(game.right)} of the time{_at(game.confidence)}"
    return found


def _at(confidence: float) -> str:
    """The confidence of an interval, behind it."""
    return f" ({numbers.percent(confidence)} interval)"


# ── all variants ────────────────────────────────────────────────────────────────────────────────────────
def _entries(results: Results) -> list[AlgorithmSummary]:
    """Every audited algorithm of every variant; the variant alone is its name where that is enough."""
    found = [(variant.name, entry) for variant in results.variants or () for entry in variant.algorithms]
    alone = len({entry.name for _, entry in found}) == 1
    return [
        replace(a, name=(name or a.name) if alone else f"{name} · {a.name}".strip(" ·"))
        for name, a in found if a.audit and a.audit.epsilon_exact
    ]  # fmt: skip


def _epsilons_of(results: Results) -> list[Chart]:
    entries = _entries(results)
    audited = [(one.name, one) for one in entries if findings.judged(one)]
    found = epsilons(audited, terms([Judged(one) for one in entries]))
    return [] if found is None else [found]


def _study(results: Results) -> str:
    entries, variants = [Judged(one) for one in _entries(results)], results.variants or ()
    return (
        environment()
        .get_template("study.html.j2")
        .render(
            missing=missing(results),
            unfinished=[v for v in variants if v.status != "complete"],
            headline=headline(entries),
            meanings=meanings(entries),
            judged=len(entries),
            epsilons=next(iter(_epsilons_of(results)), None),
            marked=Judged,
            defences=[
                (v, one)
                for v in variants
                for one in v.algorithms
                if one.reconstructions and one.reconstructions.attacks
            ],
            summaries={"repeat": f"seed {results.seed}"},
            **_shared(results, "variants", _reproduction(results)),
        )
    )


# ── figures that a scenario requests, and the outcome of a paper's item beside them ─────────────────────
_Place: TypeAlias = Callable[[float], float]
_Curves: TypeAlias = Sequence[tuple[FigureCurve, Series]]
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
_LARGE = 1e4
"""Numbers of an axis from which on they have commas between thousands."""
_CHECK_LINES, _FIGURE_LINES = 4, 21
"""The height of a check with one answer, and of a figure, in lines of text."""


def _reproduction(results: Results) -> dict[str, object]:
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


def chart_of(
    figure: FigureResult,
    look: Mapping[str, Series],
    name: str,
    everywhere: Sequence[str] = (),
    level: Collection[str] = (),
) -> Chart:
    """A figure, its curves with the looks of their labels; what is said `everywhere` is no part of its caption.

    Curves whose labels are `level` are lines across, with a band and one marker, at the right end.
    """
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
    return Chart(_title(figure), _plot(figure, shown, name, level=level), key, tuple(caption), panels=panels)


# ── drawing ─────────────────────────────────────────────────────────────────────────────────────────────
def _plot(
    figure: FigureResult,
    shown: _Curves,
    name: str,
    over: Sequence[FigureCurve] = (),
    size: tuple[int, int] = (WIDTH, HEIGHT),
    level: Collection[str] = (),
) -> Drawing:
    """The curves `shown`, on axes that have room for those `over` too; `level` are labels of lines across."""
    curves = [*over] or [curve for curve, _ in shown]
    with canvas(*size) as (drawing, plot):
        place = _places(plot, figure, curves)
        shift = _log(plot, figure, curves) if figure.log else float
        if (
            not figure.log
            and max((y for curve in curves for y in curve.y if math.isfinite(y)), default=0.0) >= _LARGE
        ):
            write_ticks(plot.yaxis)
        if over:  # limits that show every curve
            ends = [place(v) for curve in curves for v in curve.x]
            margin = 0.04 * ((max(ends) - min(ends)) or 1.0)
            plot.set_xlim(min(ends) - margin, max(ends) + margin)
            finite = [y for curve in curves for y in curve.y if math.isfinite(y)]
            if not figure.log and finite:
                margin = 0.05 * ((max(finite) - min(finite)) or 1.0)
                plot.set_ylim(min(finite) - margin, max(finite) + margin)
        for curve, look in shown:
            if curve.label in level:
                _across(plot, curve, look, place, shift)
            elif figure.points:
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


def _curve(plot: Any, curve: FigureCurve, look: Series, place: Any, shift: _Place, haze: float) -> None:
    at = [place(v) for v in curve.x]
    low, high = ([shift(v) for v in row] for row in (curve.low, curve.high))
    if len(low) == len(high) == len(at):
        plot.fill_between(at, low, high, color=look.colour, alpha=haze, linewidth=0, **series(look.index))
    every = max(1, len(at) // 5)  # about five markers, out of step with other curves
    marked = look.marked | {"markevery": (look.index * every // 5 % every, every)}
    plot.plot(at, [shift(v) for v in curve.y], **marked, **series(look.index))


def _across(plot: Any, curve: FigureCurve, look: Series, place: Any, shift: _Place) -> None:
    """A line at the curve's only height with a marker at its end, and its band."""
    height, edge = shift(curve.y[0]), plot.get_yaxis_transform()
    if curve.low and curve.high:
        ends = shift(curve.low[0]), shift(curve.high[0])
        plot.axhspan(*ends, color=look.colour, alpha=0.1, linewidth=0, **series(look.index))
    plot.update_datalim([(place(x), height) for x in curve.x])
    plot.plot([0, 1], [height] * 2, **look.line, transform=edge, **series(look.index))
    plot.plot(
        [1],
        [height],
        color=look.colour,
        **look.point | {"markersize": 8},
        transform=edge,
        clip_on=False,
        **series(look.index),
    )


def _points(plot: Any, curve: FigureCurve, look: Series, place: Any, shift: _Place) -> None:
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
        plot.set_xticks(sorted(values), [alone(x) for x in sorted(values)])
    elif max(values) >= _LARGE or plot.get_xscale() == "log":
        write_ticks(plot.xaxis)
    return float


def _log(plot: Any, figure: FigureResult, curves: Sequence[FigureCurve]) -> _Place:
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
