"""The public Python interface: load a scenario, dump it, run it."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from scenarios.files.dump import dump
from scenarios.results.tree import Results
from scenarios.schema.scenario import Scenario

__all__ = ["dump", "load", "run"]


def load(source: str | Path, *options: str) -> Scenario:
    """A scenario: a shipped one by its name, a file by its path, or YAML itself (text with a line break).

    `options` set fields, such as ``links.loss=0.2``. You get one `ScenarioError` that tells every mistake.
    """
    from scenarios.schema.load import load_scenario, parse

    if isinstance(source, str) and "\n" in source:
        return parse(source, "<text>", options).scenario
    return load_scenario(source, options).scenario


def run(
    scenario: Scenario | str | Path,
    folder: str | Path | None = None,
    *,
    options: Sequence[str] = (),
    jobs: int = 1,
    page: bool = True,
) -> Results:
    """Run a scenario, as ``netsim run`` does, with its variants if it has some; returns what results.json holds.

    `scenario` may be what `load` reads. `folder`: new or empty, or one with results of a scenario of the same
    name, which are replaced; results/NAME/DATE-TIME if not given. `jobs` processes (−1: one per core) share an
    audit's simulations, with the same numbers. Without `page`, results.json is there, but no report.html, figures or
    tables. You get a `ScenarioError` for wrong input.
    """
    from scenarios.stages.study import run_study

    chosen = load(scenario, *options) if not isinstance(scenario, Scenario) else scenario.with_options(*options)
    place = (
        Path("results") / chosen.name / datetime.now().strftime("%Y%m%d-%H%M%S") if folder is None else Path(folder)
    )
    return run_study(chosen, place, jobs=jobs, page=page)
