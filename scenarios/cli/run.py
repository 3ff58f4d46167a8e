"""Command `netsim run`."""

import shlex
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from netsim.errors import ScenarioError
from scenarios.cli.completing import AsJson, Jobs, Out, Scenario, Settings, Variant, again
from scenarios.render.terminal import INTERRUPTED, apart, console, fail, problems, write_document

Results = dict[str, Any]
OPTIONS = {"folder": "--out", "jobs": "--jobs"}


def run(
    scenario: Scenario,
    out: Out = None,
    jobs: Jobs = -1,
    option: Settings = None,
    variant: Variant = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show time, packets, bytes and who waits while simulations run.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a scenario: simulate, tap, invert, audit, and write a folder with a report to look at.

    Exit status: 0 done, 1 an algorithm is refuted or unprotected, or membership is told better than its claim allows
    (but for one that the scenario marks `baseline: true`), or what a paper shows differs, 2 wrong input, 70 the run
    (or a variant) failed midway, 130 interrupted.
    """
    from scenarios.cli.json_output import ending, verdicts_as_plain

    settings, said = option or [], apart(as_json)
    results, folder = _run(scenario, out, jobs, settings, variant, said, watch, as_json)
    if as_json:
        write_document(verdicts_as_plain(results, folder))
    else:
        _print(results, folder)
    if results["status"] == "interrupted":
        problems.print("[yellow]Interrupted: the folder holds what was done until then.[/]")
        same = f"{again('netsim run', scenario, settings, variant)} --out {shlex.quote(str(folder))}"
        problems.print(f"Go on with: [bold]{escape(same)}[/]", highlight=False, soft_wrap=True)
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(ending(results).status)


def _print(results: Results, folder: Path) -> None:
    """The verdicts, the reproduction's outcome, and where to look further."""
    from scenarios.papers.figures import line
    from scenarios.render.verdicts import print_variants, print_verdicts, print_witnesses

    (print_variants if "variants" in results else print_verdicts)(results)
    if (outcome := line(results)) is not None:
        console.print(escape(outcome), highlight=False)
    print_witnesses(results, folder)
    console.print(f"\nReport: [bold]{escape(str(folder / 'report.html'))}[/]", soft_wrap=True)


def _run(
    scenario: str,
    out: Path | None,
    jobs: int,
    settings: list[str],
    variant: str | None,
    said: Console,
    watch: bool,
    as_json: bool,
) -> tuple[Results, Path]:
    from scenarios.build.variants import alone
    from scenarios.cli.progress import Bars, Watcher
    from scenarios.schema.load import load_scenario
    from scenarios.stages.study import run_study

    folder, command = out, again("netsim run", scenario, settings, variant)
    watcher = Watcher(said) if watch else None
    try:
        located = load_scenario(scenario, settings)
        located = located if variant is None else alone(located, variant)
        name = located.scenario.name
        folder = out or Path("results") / name / datetime.now().strftime("%Y%m%d-%H%M%S")
        said.print(f"[bold]{escape(located.scenario.title or name)}[/]")
        look = None if watcher is None else watcher.look
        with Bars(said, watcher) as bars:
            results = run_study(located, folder, command=command, progress=bars, watch=look, jobs=jobs)
    except ScenarioError as error:
        fail(error, options=OPTIONS, as_json=as_json)
    except Exception as error:  # of a run; or a defect, or an algorithm's own: no finding about a claim
        fail(error, folder, as_json=as_json)
    return results, folder
