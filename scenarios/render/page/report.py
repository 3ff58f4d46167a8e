"""Self-contained HTML page from results: one scenario, or a study over all its variants."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from jinja2 import ChainableUndefined, Environment, FileSystemLoader

from scenarios.files.dump import dump
from scenarios.render.page import tables
from scenarios.render.page.attacks import Rebuilt, membership, properties, rebuilt, reconstructed
from scenarios.render.page.charts import Shown, charts, measures
from scenarios.render.page.drawing import Chart, looks, picture
from scenarios.render.page.epsilons import epsilons
from scenarios.render.page.loss_breakdown import loss_breakdowns
from scenarios.render.page.network import scene
from scenarios.render.page.plan import Marks, network
from scenarios.render.page.plots import MARKS, reproduction
from scenarios.render.page.views import views
from scenarios.render.sentences import Finding, Judged, headline, meanings, missing, ranked, terms, traffic_rows
from scenarios.results import numbers
from scenarios.results.attack_words import headline as level_of
from scenarios.results.attack_words import rate
from scenarios.results.attacks import TrafficResult
from scenarios.results.audit import AuditResult, ViewsResult
from scenarios.results.curves import COLUMNS, NONE
from scenarios.results.curves import rows as costs_of
from scenarios.results.findings import Entry, auditor, diverged, judged, listener
from scenarios.results.numbers import count, plural, show
from scenarios.results.tree import AlgorithmResult, AlgorithmSummary, Results, VariantResult

_MOST = 2
"""Algorithms in the line of a closed section; of more the first one, which has the strongest finding."""


def render(results: Results, path: Path) -> None:
    """Write the page of a run, or of the variants of a study, to `path`; parts that are missing are named there."""
    path.write_text(page(results), encoding="utf-8")


def page(results: Results) -> str:
    """The page as text; the same results give the same page."""
    return _run(results) if results.variants is None else _study(results)


def figures(results: Results) -> list[Chart]:
    """Every figure of the page, and a plain network in place of the one that plays."""
    requested = list(reproduction(results).figures)
    if results.variants is not None:
        return [*_epsilons_of(results), *requested]
    ordered = ranked(results)
    shown = list(zip(ordered, looks(ordered), strict=True))
    game = membership(shown)
    found: list[Chart | None] = [
        *requested,
        epsilons(_named(ordered), terms(ordered)),
        *(chart for one in loss_breakdowns(ordered) for chart in _of(one.name, one.charts)),
        *(chart for one in views(ordered, results.network) for chart in _of(one.name, one.charts)),
        *charts(shown, listener(results)),
        *measures(shown),
        game.chart if game else None,
        _network(results),
    ]
    return [one for one in found if one is not None]


def _of(name: str, charts: Sequence[Chart]) -> list[Chart]:
    return [replace(one, title=f"{name}: {one.title}") for one in charts]


def _network(results: Results) -> Chart | None:
    net = results.network
    if net is None or not net.positions:
        return None
    return Chart("Network", network(net, "network"), Marks.of(net).key, (f"The network: {net.name}.",))


# ── one run ─────────────────────────────────────────────────────────────────────────────────────────────
def _run(results: Results) -> str:
    ordered = ranked(results)
    shown = list(zip(ordered, looks(ordered), strict=True))
    audits = [(one.entry.audit, one.entry.plan) for one in ordered if isinstance(one.entry.audit, AuditResult)]
    net = results.network
    return environment().get_template("template.html.j2").render(
        results=results,
        title=results.title or results.name,
        first="verdicts",
        subjects=shown,
        headline=headline(ordered),
        epsilons=epsilons(_named(ordered), terms(ordered)),
        meanings=meanings(ordered),
        missing=missing(results),
        auditor=auditor(results),
        listener=listener(results),
        outside=any(one.caution for one in ordered),
        evidence=tables.evidence(audits) if audits else [],
        views=views(ordered, net),
        breakdowns=loss_breakdowns(ordered),
        problem=tables.problem_facts(results.problem),
        settings=tables.network_settings(net.settings) if net else {},
        scene=scene(results, ordered),
        reconstructions=reconstructed(ordered),
        membership=membership(shown),
        property=properties(shown),
        paper=reproduction(results),
        curves_title="The run and the attack",
        run_title="Convergence and traffic",
        run_rows=tables.runs(ordered),
        series=max(len(shown), reproduction(results).series),
        **progress(shown, listener(results)),
        **_repeated(results),
        summaries=_summaries(results, ordered),
    )  # fmt: skip


def environment() -> Environment:
    """Templates with the formats and tables that they use."""
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    names = ("show", "fixed", "percent", "at_least", "setting")
    cast("dict[str, object]", found.filters).update({name: getattr(numbers, name) for name in names} | {"n": count})
    cast("dict[str, object]", found.globals).update(
        picture=picture,
        exact=numbers.exact,
        hidden=tables.hidden,
        hidden_in_full=tables.hidden_in_full,
        traffic_rows=traffic_rows,
        weak=_weak,
        marks=MARKS,
    )
    return found


def _named(ordered: Sequence[Finding]) -> list[tuple[str, Entry]]:
    return [(one.entry.name, one.entry) for one in ordered]


def _weak(entry: AlgorithmResult) -> bool:
    found = rebuilt(entry.name, entry.reconstructions)
    return found is not None and found.weak


def progress(shown: Shown, listener: str) -> dict[str, object]:
    """Figures of runs and attacks, and the cost of an accuracy."""
    entries = [one.entry for one, _ in shown]
    spent = [
        (name, NONE if accuracy is None else show(accuracy), *(_cost(value) for value in values))
        for name, accuracy, values in costs_of(entries)
    ]
    known = [one.measures for one in entries if one.measures]
    small = measures(shown)
    named = [(one.entry, look) for one, look in shown]
    return {
        "charts": charts(shown, listener),
        "measures": small,
        "measured": tuple(look.entry(a.name) for a, look in named if a.measures and a.measures.curves)
        if small
        else (),
        "spent": spent,
        "measured_by": " or ".join(sorted({one.measure.replace("_", " ") for one in known})),
        "cost_columns": COLUMNS,
    }


def _cost(value: float | None) -> str:
    return show(value, 4) if isinstance(value, float) else count(value)


def _repeated(results: Results) -> dict[str, object]:
    return {
        "version": results.versions.get("netsim-lab", ""),
        "manifest": dump(results.scenario, full=True),
        "notes": results.notes if results.variants is None else (),
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
        words = "diverged, final relative error" if diverged(entry) else "final relative error"
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
    if isinstance(entry.audit, AuditResult):
        found |= _audited(entry.audit)
    if isinstance(seen := entry.views, ViewsResult):
        found["views"] = f"refuted for {len(seen.refuted)} of {plural(len(seen.views), 'view')}"
    if (game := entry.membership) and game.refused is None:
        level = level_of(game.levels)
        found["membership"] = f"found {rate(level.found)} of the time"
    if (game := entry.property) and game.refused is None:
        found["property"] = f"right {rate(game.right)} of the time"
    return found


def _audited(audit: AuditResult) -> dict[str, str]:
    parts = audit.loss_breakdown
    found = {"breakdown": f"{plural(parts.counts.releases, 'release')}, mean cost {show(parts.total.cost[1])}"}
    if audit.unprotected_fields:
        found["breakdown"] = plural(len(audit.unprotected_fields), "unprotected field")
    if audit.search:
        winner = audit.search.winner
        found["searched"] = f"ε = {show(winner.epsilon)}, {winner.family}"
    return found


# ── all variants ────────────────────────────────────────────────────────────────────────────────────────
def _summarized(results: Results) -> list[tuple[VariantResult, AlgorithmSummary]]:
    return [(variant, entry) for variant in results.variants or () for entry in variant.algorithms]


def _entries(results: Results) -> list[AlgorithmSummary]:
    """Every audited algorithm of every variant; the variant alone is its name where that is enough."""
    found = _summarized(results)
    alone = len({entry.name for _, entry in found}) == 1
    return [
        replace(a, name=(v.name or a.name) if alone else f"{v.name} · {a.name}".strip(" ·"))
        for v, a in found if a.audit and a.audit.epsilon_exact
    ]  # fmt: skip


def _epsilons_of(results: Results) -> list[Chart]:
    entries = _entries(results)
    found = epsilons([(one.name, one) for one in entries if judged(one)], terms([Judged(one) for one in entries]))
    return [] if found is None else [found]


def _defences(results: Results) -> list[tuple[VariantResult, Rebuilt]]:
    """The records that attacks rebuilt, for each algorithm of each variant."""
    found = [(v, rebuilt(entry.name, entry.reconstructions)) for v, entry in _summarized(results)]
    return [(v, one) for v, one in found if one is not None]


def _study(results: Results) -> str:
    entries = [Judged(one) for one in _entries(results)]
    paper = reproduction(results)
    return environment().get_template("study.html.j2").render(
        results=results,
        title=results.title or results.name,
        first="variants",
        unfinished=[v for v in results.variants or () if v.status != "complete"],
        headline=headline(entries),
        meanings=meanings(entries),
        judged=len(entries),
        epsilons=next(iter(_epsilons_of(results)), None),
        marked=Judged,
        defences=_defences(results),
        paper=paper,
        series=paper.series,
        summaries={"repeat": f"seed {results.seed}"},
        **_repeated(results),
    )  # fmt: skip
