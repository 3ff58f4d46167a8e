"""Commands `netsim run` and `netsim check`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from netsim.errors import ScenarioError
from scenarios.cli.options import (
    AsJson,
    Jobs,
    Out,
    Replace,
    Scenario,
    Settings,
    Strict,
    Variant,
    command,
    dated_folder,
    repeated,
)
from scenarios.render import terminal

if TYPE_CHECKING:
    from netsim.readers.deployed.deploy import Deployment


@command("run", "netsim run lossy-tap --out results/lossy", "netsim run private-descent -o audit.trials=100 --json")
def _run(
    scenario: Scenario,
    out: Out = None,
    jobs: Jobs = -1,
    option: Settings = None,
    variant: Variant = None,
    replace: Replace = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show time, packets, bytes and waiting agents while simulations run.")
    ] = False,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Run a scenario: simulate, tap, invert, audit, and write a folder with a report to look at.

    Finished results are not replaced without --replace: of the very same scenario they are shown again, for a run
    would repeat them; of another seed, or other fields, code or versions it is an error.

    Exit status: 0 done, 1 a claim does not hold, 2 wrong input, 3 no claim is refuted, and with --strict one is not
    proven or consistent, 70 failed, or an audit could not judge, 130 interrupted (docs/commands.md has the table).
    """
    carry_out("run", scenario, out, jobs, option or [], variant, replace, watch, strict, as_json)


def carry_out(
    word: str,
    scenario: str,
    out: Path | None,
    jobs: int,
    settings: list[str],
    variant: str | None,
    replace: bool,
    watch: bool,
    strict: bool,
    as_json: bool,
    deployed: "Deployment | None" = None,
) -> None:
    """Run a scenario, one way or the other, and print what came of it; or what a finished run of it left there."""
    from scenarios.cli.json_output import document, ending
    from scenarios.cli.progress import Bars, Watcher
    from scenarios.render.verdicts import print_results
    from scenarios.results.folder import standing
    from scenarios.schema.load import alone, load_scenario
    from scenarios.stages.study import finish, run_study

    apart_from_json, folder = terminal.apart(as_json), out
    again = repeated(f"netsim {word}", scenario, settings, variant)
    watcher = Watcher(apart_from_json) if watch else None
    try:
        located = load_scenario(scenario, settings)
        located = located if variant is None else alone(located, variant)
        folder = out or dated_folder(located.scenario.name)
        apart_from_json.print(f"[bold]{escape(located.scenario.title or located.scenario.name)}[/]")
        look = None if watcher is None else watcher.look
        results = None if replace else standing(folder, located.scenario, word.partition(" ")[0])
        if results is not None:
            terminal.remark(terminal.FINISHED)
            finish(folder, results, again)
        with Bars(apart_from_json, watcher) as bars:
            results = results or run_study(
                located, folder, command=again, progress=bars, watch=look, jobs=jobs, deployed=deployed
            )
    except ScenarioError as error:
        named = {
            name: f"--{name.replace('_', '-')}" for name in ("agents_on", "ssh", "outside", "kernel", "namespaces")
        }
        terminal.fail(error, options={"folder": "--out"} | named, as_json=as_json)
    except Exception as error:  # of a run; or a defect, or an algorithm's own: no finding about a claim
        terminal.fail(error, folder, as_json=as_json)
    if as_json:
        terminal.write_result(document(results, folder, strict))
    else:
        print_results(results, folder)
        terminal.print_page(folder)
    if results.status == "interrupted":
        terminal.interrupted("the folder holds what was done until then", f"{again} --out {shlex.quote(str(folder))}")
    raise typer.Exit(ending(results, strict)[0])


@command("check", "netsim check private-descent -o links.loss=0.2")
def _check(
    scenario: Scenario,
    option: Settings = None,
    no_code: Annotated[
        bool,
        typer.Option("--no-code", help="Run no file that the scenario names: of one that names any, only fields."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a scenario without running it: everything that can be known before time 0.

    Code that the scenario names (`kind: python`) is imported for that, which runs it; --no-code checks no more of
    such a scenario than its fields.

    Exit status: 0 it can be run, 2 wrong input, or data that are not on this machine.
    """
    from scenarios.cli.progress import Bars
    from scenarios.schema.load import load_scenario
    from scenarios.stages.study import own_files, planned

    try:
        with Bars(terminal.problems, lines=False) as bars:
            located = load_scenario(scenario, option or [])
            named = own_files(located) if no_code else []
            plan = None if named else planned(located, bars)
    except ScenarioError as error:
        terminal.fail(error, as_json=as_json)
    if plan is None:
        if as_json:
            found = {"exit_status": terminal.DONE, "name": located.scenario.name, "file": located.file}
            terminal.write_document(found | {"not_run": named})
        else:
            terminal.line(f"{located.scenario.name}: its fields fit; code that was not run: {', '.join(named)}")
        raise typer.Exit(terminal.DONE)
    first, spec, names = plan.first, located.scenario, [variant.name for variant in plan.variants]
    status = terminal.DONE if first is not None else terminal.WRONG_INPUT
    for name, why in plan.absent.items():
        terminal.remark(f"{name}: {why}".removeprefix(": "))
    if as_json:
        found: dict[str, object] = {"exit_status": status, "name": spec.name, "title": spec.title}
        found |= {"file": located.file, "can_be_run": first is not None, "variants": names}
        found["absent"] = dict(plan.absent)
        if first is not None:  # what follows is of the first that can be run
            found |= {"topology": first.topology.name, "agents": first.topology.agents}
            found |= {"data": first.dataset.name, "records": first.dataset.records}
            found["dimension"] = first.problem.dimension
            found["estimates"] = [
                {"of": what, "seconds": one.seconds, "bytes": one.memory} for what, one in plan.costs.items()
            ]
            found["algorithms"] = [{"name": s.spec.name, "kind": s.spec.kind} for s in first.subjects]
        terminal.write_document(found)
    elif first is not None:
        several = f"{len(names)} variants ({', '.join(names)}); the first: " if names else ""
        algorithms = f"{len(first.subjects)} algorithm{'s' * (len(first.subjects) > 1)}"
        terminal.line(
            f"{spec.name}: can be run: {several}{algorithms} on a {first.topology.name}, "
            f"{first.dataset.records} records. {plan.ahead}"
        )
    raise typer.Exit(status)
