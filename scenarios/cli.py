"""The `netsim` command: which commands there are, in which group of the help, with an example each."""

import inspect
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Annotated

import typer

from scenarios.certifying import certificate
<<<<<<< HEAD
from scenarios.exporting import schema
from scenarios.ledger.command import ledger
from scenarios.reproduction import findings as reproduction
=======
from scenarios.shell.check import check, schema
from scenarios.shell.data import data
from scenarios.shell.ledger import ledger
from scenarios.shell.list import list_kinds
from scenarios.shell.new import new
from scenarios.shell.run import run
from scenarios.shell.show import show
>>>>>>> wt-cli
from scenarios.sweep.command import sweep
from scenarios.terminal import FAILED, tell
from scenarios.trace import trace
from scenarios.witness import witness

FIRST, EXPERIMENTS, RESULTS, MORE = "First steps", "Experiments", "Results", "More"
"""Groups of the help."""

app = typer.Typer(
    help="A laboratory for private decentralized optimization: simulate, eavesdrop, invert, audit.",
    epilog="Begin with: netsim list; then: netsim run private-descent. Every command's --help has an example.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def command(panel: str, function: Callable[..., None], *examples: str, name: str | None = None) -> None:
    """Register a command: its docstring is the help, in which a line break is one only between paragraphs."""
    text = inspect.cleandoc(function.__doc__ or "")
    flowed = "\n\n".join(" ".join(one.split()) for one in text.split("\n\n"))
    end = "\n\n".join(["Example:" if len(examples) == 1 else "Examples:", *examples])
    app.command(name, rich_help_panel=panel, help=flowed, epilog=end)(function)


command(FIRST, list_kinds, "netsim list", "netsim list algorithms", name="list")
command(FIRST, show, "netsim show lossy-tap", "netsim show lossy-tap --resolved", "netsim show dp_recal")
command(
    FIRST, run, "netsim run lossy-tap --out results/lossy", "netsim run private-descent -o audit.trials=100 --json"
)
<<<<<<< HEAD


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


app.command()(schema)
app.command()(trace)
app.command()(witness)
app.command()(ledger)
app.command()(sweep)
app.command()(certificate)
=======
command(FIRST, new, "netsim new first", "netsim new lossier --from lossy-tap", "netsim new my-descent --python")
command(EXPERIMENTS, check, "netsim check private-descent -o links.loss=0.2")
command(EXPERIMENTS, sweep, "netsim sweep sweep.yaml --out results/sweep")
app.add_typer(data, name="data", rich_help_panel=EXPERIMENTS)
command(RESULTS, trace, "netsim trace results/lossy --to 3 --until 1", "netsim trace results/lossy --summary")
command(RESULTS, witness, "netsim witness results/eq-23/even/witness-diadsp.json")
command(MORE, ledger, "netsim ledger thesis-gamma", "netsim ledger --out docs/ledger.md")
command(MORE, certificate, "netsim certificate --repetitions 5 --out certificate.md")
command(MORE, schema, "netsim schema > scenario.schema.json")
>>>>>>> wt-cli


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

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
    """The console command. A terminal that knows no ε shows another sign in its place.

    A defect is told in full, with exit status 70: it is no finding about a claim.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except Exception as error:
        tell(error)
        sys.exit(FAILED)


if __name__ == "__main__":
    main()
