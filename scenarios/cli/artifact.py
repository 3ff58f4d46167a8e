"""Command `netsim artifact`."""

from pathlib import Path
from typing import Annotated

import typer

from netsim.errors import ScenarioError
from scenarios.cli.options import command, dated_folder, given, of_run
from scenarios.files.folders import RESULTS
from scenarios.render.terminal import INTERRUPTED, console, fail


@command("artifact", "netsim artifact results/mine --out artifact", "netsim artifact private-descent --out artifact")
def _artifact(
    what: Annotated[str, of_run(help="A results folder; or a scenario, which is run first.")],
    out: Annotated[Path, given(help="The folder to write: a new one.")],
) -> None:
    """Write a folder that a reviewer runs offline: `python run.py` repeats the scenario and compares every verdict.

    It has the scenario with its code and data, netsim itself, the versions of what it needs, and the results that are
    expected.

    Exit status: 0 done, 2 wrong input, 70 failed, 130 interrupted.
    """
    from scenarios.cli.progress import Bars
    from scenarios.results.folder import read_results
    from scenarios.schema.load import load_scenario
    from scenarios.stages.artifact import write_artifact
    from scenarios.stages.study import run_study

    place = Path(what)
    try:
        if (place / RESULTS).is_file():
            results = read_results(place)
        else:
            if out.exists():
                raise ScenarioError("--out", str(out), "is there", "a new folder")
            located = load_scenario(what)
            place = dated_folder(located.scenario.name)
            with Bars(console) as bars:
                results = run_study(located, place, command=f"netsim artifact {what}", progress=bars)
        if results.status == "interrupted":
            raise typer.Exit(INTERRUPTED)
        write_artifact(results, place, out)
    except ScenarioError as error:
        fail(error)
    except typer.Exit:
        raise
    except Exception as error:  # of a run, or of somebody's code
        fail(error, place)
    console.print(f"Artifact: [bold]{out}[/] (python {out}/run.py)", highlight=False, soft_wrap=True)
