"""One self-contained HTML page from the results of a scenario: no network, nothing else needed."""

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from jinja2 import ChainableUndefined, Environment, FileSystemLoader
from ruamel.yaml import YAML

from scenarios.findings import auditor, listener
from scenarios.progress import COLUMNS
from scenarios.report import figures, plots
from scenarios.report.anatomy import anatomies
from scenarios.report.deciding import decided
from scenarios.report.epsilons import epsilons
from scenarios.report.formats import count, exact, fixed, flow, items, number, numbers, part, percent, show
from scenarios.report.network import stage
from scenarios.report.pictures import picture
from scenarios.report.progress import measured_by, small_figures, spent
from scenarios.report.reconstructions import reconstructed
from scenarios.report.series import Series, looks
from scenarios.report.tables import evidence, hidden, hidden_in_full, network_facts, problem_facts, runs
from scenarios.report.views import views
from scenarios.report.words import headline, meanings, missing, subjects, terms
from scenarios.traffic_told import rows

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
            asked=_asked(results),
            auditor=auditor(results),
            listener=listener(results),
            outside=any(a["caution"] for a in ordered),
            evidence=evidence(_judged(ordered)),
            views=views(ordered, part(results, "network")),
            anatomies=anatomies(ordered),
            runs=runs(ordered),
            problem=problem_facts(part(results, "problem")),
            net=network_facts(part(results, "network")),
            manifest=manifest(part(results, "scenario")),
            notes=items(results, "notes"),
            **reconstructed(ordered),
            decided=decided(shown),
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
            "traffic_rows": rows,
        }
    )
    return environment


def _asked(results: Result) -> dict[str, bool]:
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


def manifest(scenario: Result) -> str:
    """The scenario as YAML; lists of plain values stay on a line."""
    if not scenario:
        return ""
    yaml: Any = cast("Any", YAML)()
    yaml.default_flow_style = None
    yaml.width = 100
    yaml.allow_unicode = True
    stream = io.StringIO()
    yaml.dump(_plain(scenario), stream)
    return stream.getvalue()


def _plain(value: Any) -> Any:
    """Mappings, lists and scalars only, so that YAML can write what a validated scenario holds."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("list[Any]", value)]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
