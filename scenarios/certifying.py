"""The command `netsim certificate`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

DONE, BROKEN, WRONG_INPUT = 0, 1, 2


def certificate(
    repetitions: Annotated[
        int, typer.Option(help="Audits of each sound mechanism; games are more, audits of each fault fewer.")
    ] = 1000,
    out: Annotated[Path | None, typer.Option(help="Where to write the page; if not given, it is printed.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Where to write what it rests on.")] = None,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; -1: one per core. The page does not depend on it.")] = -1,
) -> None:
    """Audit the auditor: its false alarms on sound mechanisms, and its power on planted faults.

    Exit status: 0 it holds, 1 it does not, 2 wrong input.
    """
    from netsim.errors import ScenarioError
    from scenarios.bars import Bars
    from scenarios.certificate import cases, certify, failures, page, times

    problems = Console(stderr=True)
    try:
        _check(out, json)
        with Bars(problems) as bars:
            bars.begin("auditing the auditor", sum(times(case.part, repetitions) for case in cases()))
            found = certify(repetitions, seed=seed, jobs=jobs, progress=bars.advance)
    except ScenarioError as error:
        problems.print(f"[bold red]ScenarioError[/]: --{error}", highlight=False, soft_wrap=True)
        raise typer.Exit(WRONG_INPUT) from None
    if json is not None:
        json.write_text(found.as_json(), encoding="utf-8")
    if out is None:
        typer.echo(page(found), nl=False)
    else:
        out.write_text(page(found), encoding="utf-8")
    wrong = failures(found)
    for line in wrong:
        problems.print(line, highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(BROKEN if wrong else DONE)


def _check(*files: Path | None) -> None:
    """Files whose folder is there, before minutes are spent."""
    from netsim.errors import ScenarioError

    for name, file in zip(("out", "json"), files, strict=True):
        if file is not None and not file.parent.is_dir():
            raise ScenarioError(name, str(file), "its folder is not there", "a file in a folder that is")
