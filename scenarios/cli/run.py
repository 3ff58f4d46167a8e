"""Command `netsim run`."""

import shlex
from typing import Annotated

import typer
from rich.markup import escape

from netsim.errors import ScenarioError
from scenarios.cli.options import AsJson, Jobs, Out, Scenario, Settings, Variant, dated_folder, repeated
from scenarios.render.terminal import INTERRUPTED, apart, fail, interrupted, print_page, write_result


def run(
    scenario: Scenario,
    out: Out = None,
    jobs: Jobs = -1,
    option: Settings = None,
    variant: Variant = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show time, packets, bytes and waiting agents while simulations run.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a scenario: simulate, tap, invert, audit, and write a folder with a report to look at.

    Exit status: 0 done, 1 an algorithm is refuted or unprotected, or membership is inferred better than its claim
    allows (unless the scenario marks it `baseline: true`), or a paper's finding differs, 2 wrong input, 70 the run
    (or a variant) failed midway, 130 interrupted.
    """
    from scenarios.build.variants import alone
    from scenarios.cli.json_output import document, ending
    from scenarios.cli.progress import Bars, Watcher
    from scenarios.render.verdicts import print_results
    from scenarios.schema.load import load_scenario
    from scenarios.stages.study import run_study

    apart_from_json, settings, folder = apart(as_json), option or [], out
    again = repeated("netsim run", scenario, settings, variant)
    watcher = Watcher(apart_from_json) if watch else None
    try:
        located = load_scenario(scenario, settings)
        located = located if variant is None else alone(located, variant)
        folder = out or dated_folder(located.scenario.name)
        apart_from_json.print(f"[bold]{escape(located.scenario.title or located.scenario.name)}[/]")
        look = None if watcher is None else watcher.look
        with Bars(apart_from_json, watcher) as bars:
            results = run_study(located, folder, command=again, progress=bars, watch=look, jobs=jobs)
    except ScenarioError as error:
        fail(error, options={"folder": "--out", "jobs": "--jobs"}, as_json=as_json)
    except Exception as error:  # of a run; or a defect, or an algorithm's own: no finding about a claim
        fail(error, folder, as_json=as_json)
    if as_json:
        write_result(document(results, folder))
    else:
        print_results(results, folder)
        print_page(folder)
    if results.status == "interrupted":
        interrupted("the folder holds what was done until then", f"{again} --out {shlex.quote(str(folder))}")
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(ending(results).status)
