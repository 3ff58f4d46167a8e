"""Self-contained HTML page from results: one scenario, or a study over all its variants."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from jinja2 import ChainableUndefined, Environment, FileSystemLoader

from scenarios.files.dump import as_yaml
from scenarios.render.former_sentences import headline, meanings, missing, subject, subjects, terms, traffic_rows
from scenarios.render.page import charts as figures
from scenarios.render.page import plots
from scenarios.render.page.attacks import inference_section, reconstructed, section
from scenarios.render.page.charts import measured_by, small_figures, spent
from scenarios.render.page.drawing import Series, looks, picture
from scenarios.render.page.epsilons import epsilons
from scenarios.render.page.loss_breakdown import loss_breakdowns
from scenarios.render.page.network import stage
from scenarios.render.page.plots import reproduction
from scenarios.render.page.tables import evidence, hidden, hidden_in_full, network_facts, problem_facts, runs
from scenarios.render.page.views import views
from scenarios.results.former_findings import auditor, listener
from scenarios.results.former_measures import COLUMNS
from scenarios.results.numbers import MISSING, count, exact, fixed, flow, items, number, numbers, part, percent, show

Result = Mapping[str, Any]
_DEFAULTS = dict.fromkeys(
    ("name", "title", "description", "command", "versions", "seed", "problem", "network", "scenario")
)
WIDE, NARROW = 860, 370  # pixels: the epsilons are drawn for a desk and for a phone


def render(results: Result, path: Path) -> None:
    """Write the page of `results` (what results.json holds) to `path`; parts that are missing are named there."""
    path.write_text(page(results), encoding="utf-8")


def page(results: Result) -> str:
    """The page as text; the same results give the same page."""
    ordered = subjects(results)
    shown = list(zip(ordered, looks(ordered), strict=True))
    return (
        environment()
        .get_template("template.html.j2")
        .render(
            results=_DEFAULTS | dict(results),
            subjects=shown,
            headline=headline(ordered),
            terms=terms(ordered),
            meanings=meanings(ordered),
            missing=missing(results),
            asked=_requested_sections(results),
            auditor=auditor(results),
            listener=listener(results),
            outside=any(a["caution"] for a in ordered),
            evidence=evidence(_judged(ordered)),
            views=views(ordered, part(results, "network")),
            anatomies=loss_breakdowns(ordered),
            runs=runs(ordered),
            problem=problem_facts(part(results, "problem")),
            net=network_facts(part(results, "network")),
            manifest=as_yaml(scenario) if (scenario := part(results, "scenario")) else "",
            notes=items(results, "notes"),
            **reconstructed(ordered),
            decided=inference_section(shown),
            **progress(ordered, shown),
            **plots.reproduction(results),
            **charts(ordered, shown),
            **stage(results, ordered),
        )
    )


def environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"show": show, "n": count, "flow": flow, "fixed": fixed, "percent": percent}
    cast("dict[str, Any]", environment.globals).update(
        {
            "picture": picture,
            "number": number,
            "isnan": math.isnan,
            "hidden": hidden,
            "hidden_in_full": hidden_in_full,
            "exact": exact,
            "traffic_rows": traffic_rows,
        }
    )
    return environment


def _requested_sections(results: Result) -> dict[str, bool]:
    """Whether the scenario asks for an audit, and for images; what it does not ask for has no section."""
    scenario = part(results, "scenario")
    return {"audit": scenario.get("audit") is not None, "images": bool(part(scenario, "attacks").get("images"))}


def _judged(ordered: Sequence[Result]) -> list[Result]:
    return [a for a in ordered if a["audit"].get("verdict")]


def charts(ordered: Sequence[Result], shown: Sequence[tuple[Result, Series]]) -> dict[str, Any]:
    """Every chart there is something for, with the series it shows; None in place of the others."""
    judged = _judged(ordered)
    known = [s for s in shown if any(map(math.isfinite, numbers(figures.by_query(s[0]).get("median"))))]
    parts = {
        "convergence": (figures.convergence, [s for s in shown if numbers(s[0]["convergence"].get("median"))]),
        "inference": (figures.inference, [s for s in shown if not known and numbers(s[0]["gradients"].get("curve"))]),
        "leakage": (figures.leakage, known),
        "identifiable": (figures.identifiable, known if any(map(_partly, known)) else []),
        "budget": (figures.budget, [s for s in shown if s[0]["audit"].get("growth")]),
    }
    drawn: dict[str, Any] = {
        name: (draw(series, name), series) if series else None for name, (draw, series) in parts.items()
    }
    drawn["epsilons_wide"] = epsilons(judged, "wide", WIDE) if judged else None
    drawn["epsilons_narrow"] = epsilons(judged, "narrow", NARROW) if judged else None
    return drawn


def _partly(series: tuple[Result, Series]) -> bool:
    """Whether some gradients of an agent cannot be identified, or some can and others cannot."""
    return any(share < 1 for share in numbers(figures.by_query(series[0])["identifiable"]))


def progress(ordered: Sequence[Result], shown: Sequence[tuple[Result, Series]]) -> dict[str, Any]:
    """The small figures with the series they show, and what an accuracy costs."""
    small, measured = small_figures(shown)
    table = {"spent": spent(ordered), "measured_by": measured_by(ordered), "cost_columns": COLUMNS}
    return {"small": small, "measured": measured} | table


def render_study(results: Result, path: Path) -> None:
    """Write the page of `results` (what results.json of a scenario with variants holds) to `path`."""
    path.write_text(study(results), encoding="utf-8")


def _defences(results: Result) -> list[dict[str, Any]]:
    """What attacks rebuilt, for each algorithm of each variant."""
    found = [(v, entry) for v in items(results, "variants") for entry in items(v, "algorithms")]
    sections = [(v, section(entry)) for v, entry in found if items(part(entry, "reconstructions"), "attacks")]
    return [{"variant": v["name"], "report": v["report"]} | one for v, one in sections]


def _entries(results: Result) -> list[dict[str, Any]]:
    """Every algorithm of every variant as the page shows it; the variant alone is its name where that is enough."""
    found = [
        (str(v.get("name") or ""), entry) for v in items(results, "variants") for entry in items(v, "algorithms")
    ]
    alone = len({str(entry.get("name")) for _, entry in found}) == 1
    return [subject({**a, "name": (v or a["name"]) if alone else f"{v} · {a['name']}".strip(" ·")}) for v, a in found]


def _row_of_entry(entry: Result) -> dict[str, Any]:
    """The verdict of an algorithm, and its exact and audited ε, in words."""
    audit = part(entry, "audit")
    told, audited = subject(entry), number(audit.get("epsilon_audited"))
    silent = entry.get("audit_status") is None and not audit  # written before results had a word for it
    shown = {} if silent else {key: told[key] for key in ("word", "mark", "symbol")}
    measured = exact(audit["epsilon_exact"]) if audit.get("epsilon_exact") else MISSING
    return shown | {"exact": measured, "audited": MISSING if audited != audited else f"≥ {show(audited, 4)}"}


def _verdicts(results: Result) -> dict[str, Any]:
    """The headline and the picture of the three epsilons, where any audit has them."""
    judged = [one for one in _entries(results) if part(one, "audit").get("epsilon_exact")]
    if not judged:
        return {"judged": []}
    return {
        "judged": judged,
        "headline": headline(judged),
        "terms": terms(judged),
        "meanings": meanings(judged),
        "epsilons_wide": epsilons(judged, "wide", WIDE),
        "epsilons_narrow": epsilons(judged, "narrow", NARROW),
    }


def study(results: Result) -> str:
    """The page as text; the same results give the same page."""
    return (
        environment()
        .get_template("study.html.j2")
        .render(
            results=dict(results),
            unfinished=[v for v in items(results, "variants") if v["status"] != "complete"],
            manifest=as_yaml(scenario) if (scenario := part(results, "scenario")) else "",
            notes=[],
            told=_row_of_entry,
            **_verdicts(results),
            defences=_defences(results),
            **reproduction(results),
        )
    )
