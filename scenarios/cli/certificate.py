"""Command `netsim certificate`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from scenarios.render.terminal import DONE, REFUTED, fail, problems, remark, write


def certificate(
    repetitions: Annotated[
        int, typer.Option(help="Audits of each sound mechanism; games are repeated more often, faults less.")
    ] = 1000,
    out: Annotated[Path | None, typer.Option(help="Where to write the page. Default: it is printed.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Where to write the page's numbers.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; -1: one per core. Does not change the page.")] = -1,
) -> None:
    """Audit the auditor: its false alarms on sound mechanisms, and its power on planted faults.

    Exit status: 0 the auditor passes, 1 it does not, 2 wrong input.
    """
    from netsim.errors import ScenarioError
    from scenarios.certificate import cases, certify, failures, page, times
    from scenarios.cli.progress import Bars

    try:
        for name, file in (("out", out), ("json", json)):  # before minutes are spent
            if file is not None and (why := _unwritable(file)) is not None:
                raise ScenarioError(name, str(file), why, "a file that can be written, in a folder that is there")
        if out is not None and json is not None and out.resolve() == json.resolve():
            raise ScenarioError("json", str(json), "the page is written there", "another file than --out")
        with Bars(problems) as bars:
            bars.begin("auditing the auditor", sum(times(case.part, repetitions) for case in cases()))
            found = certify(repetitions, seed=seed, jobs=jobs, progress=bars.advance)
    except ScenarioError as error:
        fail(replace(error, field=f"--{error.field}"))
    if json is not None:
        json.write_text(found.as_json(), encoding="utf-8")
    if out is None:
        write(page(found).removesuffix("\n"))
    else:
        out.write_text(page(found), encoding="utf-8")
    wrong = failures(found)
    for line in wrong:
        remark(line)
    raise typer.Exit(REFUTED if wrong else DONE)


def _unwritable(file: Path) -> str | None:
    """Why a file cannot be written; None where it can. Leaves the folder as it is."""
    if not file.parent.is_dir():
        return "its folder is not there"
    if file.is_dir():
        return "a folder"
    there = file.exists()
    try:
        with file.open("ab"):
            pass
        if not there:
            file.unlink()
    except OSError as error:
        return f"cannot be written ({error.strerror or error})"
    return None
