"""The page over all variants of a scenario."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scenarios.report.formats import items, part
from scenarios.report.page import environment, manifest
from scenarios.report.plots import reproduction

Result = Mapping[str, Any]


def render_study(results: Result, path: Path) -> None:
    """Write the page of `results` (what results.json of a scenario with variants holds) to `path`."""
    path.write_text(study(results), encoding="utf-8")


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
            **reproduction(results),
        )
    )
