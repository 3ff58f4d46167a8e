"""The `netsim` command."""

import shlex
import sys
import traceback
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from netsim.errors import NetsimError, ScenarioError
from scenarios import findings
from scenarios.bars import Bars
from scenarios.certifying import certificate
from scenarios.lab.command import lab
from scenarios.ledger.command import ledger
from scenarios.reproduction import findings as reproduction
from scenarios.sweep.command import sweep
from scenarios.terminal import DONE, FAILED, INTERRUPTED, REFUTED, WRONG_INPUT, console, fail, problems
from scenarios.trace import trace
from scenarios.verdicts import print_variants, print_verdicts, print_witnesses
from scenarios.watching import Watcher
from scenarios.witness import witness

Results = dict[str, Any]

app = typer.Typer(
    help="A laboratory for private decentralized optimization: simulate, eavesdrop, invert, audit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command("list")
def list_scenarios() -> None:
    """The scenarios that come with netsim."""
    from scenarios.loader import library, parse
    from scenarios.reproduction.variants import expanded

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("scenario", no_wrap=True)
    table.add_column("what it shows")
    for name, text in library().items():
        located = parse(text, f"{name}.yaml")
        several = f" [dim]({count} variants)[/]" if (count := len(expanded(located))) else ""
        table.add_row(f"[bold]{name}[/]", (located.scenario.description or located.scenario.title) + several)
    console.print(table)
    console.print(
        "\nRun one with [bold]netsim run NAME[/], print it with [bold]netsim show NAME[/].", highlight=False
    )


@app.command()
def show(name: Annotated[str, typer.Argument(help="A shipped scenario.")]) -> None:
    """Print a shipped scenario's file: the start of one of your own. A last comment counts its variants."""
    from scenarios.loader import library, parse
    from scenarios.reproduction.variants import expanded

    shipped = library()
    if name not in shipped:
        fail(ScenarioError("scenario", name, "no shipped scenario", ", ".join(shipped)))
    console.print(Text(shipped[name]), end="", soft_wrap=True)
    if variants := [one.name for one in expanded(parse(shipped[name], f"{name}.yaml"))]:
        console.print(Text(f"# {len(variants)} variants: {', '.join(variants)}"), soft_wrap=True)


FILE = typer.Argument(help="A YAML file, or the name of a shipped scenario.")
SETTING = typer.Option(
    "-o",
    "--option",
    metavar="FIELD=VALUE",
    help="Set a field of the scenario: -o links.loss=0.2 -o algorithms[0].rounds=50; as often as you like.",
    show_default=False,
)


@app.command()
def run(
    scenario: Annotated[str, FILE],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The results folder, new or empty; if not given, results/NAME/DATE-TIME.", show_default=False
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes that share an audit's simulations; -1: one per core.")] = -1,
    option: Annotated[list[str] | None, SETTING] = None,
    variant: Annotated[
        str | None, typer.Option(help="Run this one of the scenario's variants alone.", show_default=False)
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show time, packets, bytes and who waits while simulations run.")
    ] = False,
) -> None:
    """Run a scenario: simulate, tap, invert, audit, and write a folder with a report to look at.

    Exit status: 0 done, 1 a claim does not hold, or what a paper shows differs, 2 wrong input, 70 the run (or a
    variant) failed midway, 130 interrupted.
    """
    settings = option or []
    results, folder = _run(scenario, out, jobs, Watcher(console) if watch else None, settings, variant)
    if "variants" in results:
        print_variants(results)
    else:
        print_verdicts(results)
    if (outcome := reproduction.line(results)) is not None:
        console.print(escape(outcome), highlight=False)
    print_witnesses(results, folder)
    console.print(f"\nReport: [bold]{escape(str(folder / 'report.html'))}[/]", soft_wrap=True)
    if results["status"] == "interrupted":
        problems.print("[yellow]Interrupted: the folder holds what was done until then.[/]")
        again = f"{_command('netsim run', scenario, settings, variant)} --out {shlex.quote(str(folder))}"
        problems.print(f"Go on with: [bold]{escape(again)}[/]", highlight=False, soft_wrap=True)
        raise typer.Exit(INTERRUPTED)
    if results["status"] == "failed":
        raise typer.Exit(FAILED)
    entries = [entry for one in results.get("variants", [results]) for entry in one["algorithms"]]
    broken = any(map(findings.claim_is_broken, entries)) or reproduction.differs(results)
    raise typer.Exit(REFUTED if broken else DONE)


def _run(
    scenario: str, out: Path | None, jobs: int, watcher: Watcher | None, settings: list[str], variant: str | None
) -> tuple[Results, Path]:
    from scenarios.loader import load_scenario
    from scenarios.reproduction.variants import alone
    from scenarios.study import run_study

    folder, command = out, _command("netsim run", scenario, settings, variant)
    try:
        located = load_scenario(scenario, settings)
        located = located if variant is None else alone(located, variant)
        name = located.scenario.name
        folder = out or Path("results") / name / datetime.now().strftime("%Y%m%d-%H%M%S")
        console.print(f"[bold]{escape(located.scenario.title or name)}[/]")
        look = None if watcher is None else watcher.look
        with Bars(console, watcher) as bars:
            results = run_study(
                located,
                folder,
                command=command,
                progress=bars,
                watch=look,
                jobs=jobs,
            )
    except ScenarioError as error:
        options = {"folder": "--out", "jobs": "--jobs"}
        fail(replace(error, field=options.get(error.field, error.field)))
    except NetsimError as error:
        fail(error, folder)
    except Exception as error:  # a defect, or an algorithm's own: told in full, and no finding about a claim
        traceback.print_exception(error)
        fail(error, folder)
    return results, folder


def _command(verb: str, scenario: str, settings: list[str], variant: str | None) -> str:
    """What repeats it."""
    chosen = [] if variant is None else [f"--variant {variant}"]
    return " ".join([verb, shlex.quote(scenario), *(f"-o {shlex.quote(one)}" for one in settings), *chosen])


@app.command()
def check(scenario: Annotated[str, FILE], option: Annotated[list[str] | None, SETTING] = None) -> None:
    """Check a scenario without running it: all that can be known before time 0.

    Exit status: 0 it can be run, 2 wrong input.
    """
    from scenarios.loader import load_scenario
    from scenarios.study import planned

    try:
        located = load_scenario(scenario, option or [])
        plan = planned(located)
    except ScenarioError as error:
        fail(error)
    for name, why in plan.absent.items():
        problems.print(f"{name}: {why}".removeprefix(": "), highlight=False, markup=False, soft_wrap=True)
    if (experiment := plan.first) is None:
        raise typer.Exit(WRONG_INPUT)
    algorithms = len(experiment.subjects)
    several = f"{len(plan.variants)} variants ({', '.join(v.name for v in plan.variants)}); the first: "
    console.print(
        f"{located.scenario.name}: can be run: {several if plan.variants else ''}"
        f"{algorithms} algorithm{'s' * (algorithms > 1)} on a {experiment.topology.name}, "
        f"{experiment.dataset.records} records",
        highlight=False, markup=False, soft_wrap=True,
    )  # fmt: skip


@app.command()
def schema() -> None:
    """Print the JSON Schema of a scenario file, for editors."""
    import json

    from scenarios.schema import json_schema

    console.print(Text(json.dumps(json_schema(), indent=1, ensure_ascii=False)), soft_wrap=True)


app.command()(trace)
app.command()(witness)
app.command()(ledger)
app.command()(sweep)
app.command()(certificate)
app.command()(lab)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"netsim {version('netsim-lab')}, Python {sys.version.split()[0]}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A laboratory for private decentralized optimization: simulate, eavesdrop, invert, audit."""


def main() -> None:
    """The console command. A terminal that knows no ε shows another sign in its place."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()


if __name__ == "__main__":
    main()
