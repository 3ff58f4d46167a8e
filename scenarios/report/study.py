"""The page over all variants of a scenario."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scenarios.report.epsilons import epsilons
from scenarios.report.formats import MISSING, exact, items, number, part, show
from scenarios.report.page import NARROW, WIDE, environment, manifest
from scenarios.report.plots import reproduction
from scenarios.report.reconstructions import section
from scenarios.report.words import headline, meanings, subject, terms

Result = Mapping[str, Any]


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


def _told(entry: Result) -> dict[str, Any]:
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
            manifest=manifest(part(results, "scenario")),
            notes=[],
            told=_told,
            **_verdicts(results),
            defences=_defences(results),
            **reproduction(results),
        )
    )
