"""Self-contained HTML page from results: one scenario, or a study over all its variants."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from typing import cast

from jinja2 import ChainableUndefined, Environment, FileSystemLoader

from scenarios.files.folders import whole
from scenarios.files.models import dump
from scenarios.render import sentences
from scenarios.render.page import network, plan, sections
from scenarios.render.page.charts import Shown, charts, measures
from scenarios.render.page.drawing import Chart, Series, picture
from scenarios.render.page.epsilons import epsilon_exact, epsilons, method
from scenarios.render.page.plots import MARKS, reproduction
from scenarios.render.sentences import Finding, Judged, headline, meanings, missing, terms
from scenarios.render.terminal import named
from scenarios.results import attacked, findings, numbers
from scenarios.results.attacks import TrafficResult
from scenarios.results.audit import AuditResult, ViewPrices, ViewsResult
from scenarios.results.curves import COLUMNS
from scenarios.results.curves import rows as costs_of
from scenarios.results.findings import listener
from scenarios.results.numbers import count, plural, show
from scenarios.results.tree import AlgorithmResult, AlgorithmSummary, Results

_MOST = 2
"""Algorithms in the line of a closed section; of more the first one, which has the strongest finding."""
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
    requested = cast("list[Chart]", reproduction(results)["figures"])
    if results.variants is not None:
        return [*_epsilons_of(results), *requested]
    ordered = Finding.ranked(results)
    shown = [(one, Series(k)) for k, one in enumerate(ordered)]
    net = results.network
    taken = epsilons([(one.entry.name, one.entry) for one in ordered], terms(ordered))
    found = [*requested, *([taken] if taken else [])]
    drawn = [(one, sections.charts(one, f"loss-{k}")) for k, one in enumerate(ordered)]
    drawn += [(one, plan.view_charts(one, net, f"views-{k}")) for k, one in enumerate(ordered)]
    drawn += [(one, plan.price_charts(one, net, f"prices-{k}")) for k, one in enumerate(ordered)]
    found += [replace(chart, title=f"{one.entry.name}: {chart.title}") for one, own in drawn for chart in own]
    found += [*charts(shown, listener(results), apart=True), *measures(shown)]
    found += [game] if (game := sections.roc(shown)) else []
    if net is not None and net.positions:
        found.append(
            Chart("Network", plan.network(net, "network"), plan.Marks.of(net).key, (f"The network: {net.name}.",))
        )
    return found


# ── one run ─────────────────────────────────────────────────────────────────────────────────────────────
def _run(results: Results) -> str:
    ordered = Finding.ranked(results)
    shown = [(one, Series(k)) for k, one in enumerate(ordered)]
    net, paper = results.network, reproduction(results)
    settings: dict[str, list[str]] = {}
    for term, text in net.settings if net else ():
        settings.setdefault(term, []).append(text)
    return (
        environment()
        .get_template("template.html.j2")
        .render(
            subjects=shown,
            headline=headline(ordered),
            epsilons=epsilons([(one.entry.name, one.entry) for one in ordered], terms(ordered)),
            meanings=meanings(ordered),
            missing=missing(results),
            auditor=findings.auditor(results),
            listener=listener(results),
            outside=any(one.entry.outside_model for one in ordered),
            settings=settings,
            scene=network.scene(results, ordered),
            roc=sections.roc(shown),
            curves_title="The run and the attack",
            run_title="Convergence and traffic",
            run_rows=[],
            traffic=_traffic(ordered),
            summaries=_summaries(results, ordered),
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
    names = ("show", "fixed", "percent", "at_least", "setting", "e_to", "plural", "exact", "between")
    cast("dict[str, object]", found.filters).update({name: getattr(numbers, name) for name in names} | {"n": count})
    modules = attacked, findings, network, numbers, plan, sections, sentences
    cast("dict[str, object]", found.globals).update({one.__name__.rpartition(".")[2]: one for one in modules})
    cast("dict[str, object]", found.globals).update(
        picture=picture, frozenset=frozenset, signs=MARKS, exact_of=epsilon_exact, method_of=method
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
    """The main number of each closed section, by algorithm."""
    lines: dict[str, list[str]] = {}
    for one in ordered:
        for section, words in _main_numbers(one.entry).items():
            lines.setdefault(section, []).append(f"{one.entry.name}: {words}" if len(ordered) > 1 else words)
    found = {
        section: "; ".join(each) if len(each) <= _MOST else f"{each[0]}; {plural(len(each) - 1, 'more algorithm')}"
        for section, each in lines.items()
    }
    audits = [audit for one in ordered if isinstance(audit := one.entry.audit, AuditResult)]
    if audits:
        found["evidence"] = (
            f"{plural(audits[0].trials, 'transcript')} of each world, confidence {show(audits[0].confidence)}"
        )
    return found | {"repeat": f"seed {results.seed}"}


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
        found["progress"] = f"{show(last.accuracy)} after Θ = {count(last.reached.plf)}"
    if isinstance(entry.traffic_analysis, TrafficResult):
        activity = entry.traffic_analysis.activity
        of = "" if activity.activations is None else f" of {count(activity.activations)}"
        found["traffic"] = f"{count(activity.found)}{of} activations identified"
    if isinstance(audit := entry.audit, AuditResult):
        parts = audit.loss_breakdown
        counted = f"{plural(parts.counts.releases, 'release')}, mean cost {show(parts.total.cost[1])}"
        bare = len(audit.unprotected_fields)
        found["breakdown"] = plural(bare, "unprotected field") if bare else counted
        if audit.search:
            found["searched"] = f"ε = {show(audit.search.winner.epsilon)}, {audit.search.winner.family}"
    if isinstance(seen := entry.views, ViewsResult):
        found["views"] = f"refuted for {len(seen.refuted)} of {plural(len(seen.views), 'view')}"
    if isinstance(costs := entry.prices, ViewPrices):
        priced = plural(len(costs.views), "view")
        found["prices"] = f"{priced} and all ordered pairs" if costs.pairs else priced
    if (game := entry.membership) and game.refused is None:
        found["membership"] = f"found {attacked.rate(attacked.headline(game.levels).found)} of the time"
    if (game := entry.property) and game.refused is None:
        found["property"] = f"right {attacked.rate(game.right)} of the time"
    return found


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
            **_shared(results, "variants", reproduction(results)),
        )
    )
