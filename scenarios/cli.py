"""The `netsim` command."""

import sys
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from netsim.errors import NetsimError, ScenarioError

DONE, REFUTED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130
COLOURS = {
    "refuted": "bold red",
    "unprotected": "bold red",
    "consistent": "green",
    "underpowered": "yellow",
    "vacuous": "yellow",
    "undefined": "yellow",
}

app = typer.Typer(
    help="A laboratory for private decentralized optimization: simulate, eavesdrop, invert, audit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console()
problems = Console(stderr=True)


@app.command("list")
def list_scenarios() -> None:
    """The scenarios that come with netsim."""
    from scenarios.loader import library, parse

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("scenario", no_wrap=True)
    table.add_column("what it shows")
    for name, text in library().items():
        scenario = parse(text, f"{name}.yaml").scenario
        table.add_row(f"[bold]{name}[/]", scenario.description or scenario.title)
    console.print(table)
    console.print(
        "\nRun one with [bold]netsim run NAME[/], print it with [bold]netsim show NAME[/].", highlight=False
    )


@app.command()
def show(name: Annotated[str, typer.Argument(help="A shipped scenario.")]) -> None:
    """Print a shipped scenario's file: the start of one of your own."""
    from scenarios.loader import library

    shipped = library()
    if name not in shipped:
        _fail(ScenarioError("scenario", name, "no shipped scenario", ", ".join(shipped)))
    typer.echo(shipped[name], nl=False)


@app.command()
def run(
    scenario: Annotated[str, typer.Argument(help="A YAML file, or the name of a shipped scenario.")],
    out: Annotated[
        Path | None,
        typer.Option(help="The results folder [default: results/NAME/DATE-TIME].", show_default=False),
    ] = None,
) -> None:
    """Run a scenario: simulate, tap, invert, audit, and write a folder with a report to look at."""
    from scenarios.loader import load_scenario
    from scenarios.runner import run_scenario

    try:
        located = load_scenario(scenario)
        name = located.scenario.name
        folder = out or Path("results") / name / datetime.now().strftime("%Y%m%d-%H%M%S")
        console.print(f"[bold]{located.scenario.title or name}[/]")
        with _Bars() as bars:
            results = run_scenario(located, folder, command=f"netsim run {scenario}", progress=bars)
    except NetsimError as error:
        _fail(error)
    _print_verdicts(results)
    console.print(f"\nReport: [bold]{folder / 'report.html'}[/]  (results, manifest and transcripts beside it)")
    if results["status"] == "interrupted":
        problems.print("[yellow]Interrupted: the folder holds what was done until then.[/]")
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(REFUTED if _refuted(results) else DONE)


def _refuted(results: dict[str, Any]) -> bool:
    return any((entry["audit"] or {}).get("verdict") in ("refuted", "unprotected") for entry in results["algorithms"])


def _print_verdicts(results: dict[str, Any]) -> None:
    table = Table(title="Is the claim true?", title_justify="left", show_lines=False)
    table.add_column("algorithm")
    for column in ("ε claimed", "ε exact", "ε audited"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("gradients inferred", justify="right")
    table.add_column("images", justify="right")
    reasons: list[str] = []
    for entry in results["algorithms"]:
        audit = entry["audit"] or {}
        verdict = str(audit.get("verdict", "no verdict" if audit else "claims nothing"))
        style = COLOURS.get(verdict, "dim")
        table.add_row(
            entry["name"],
            _number(audit.get("epsilon_claimed")),
            _exact(audit.get("epsilon_exact")),
            f"≥ {_number(audit['epsilon_audited'])}" if "epsilon_audited" in audit else "–",
            f"[{style}]{verdict}[/]",
            _gradients(entry["gradients"]),
            _images(entry["images"]),
        )
        if sentence := audit.get("reason") or audit.get("refused"):
            reasons.append(f"[{style}]{entry['name']}[/]: {sentence}")
    console.print(table)
    for reason in reasons:
        console.print(reason, highlight=False)


def _number(value: object) -> str:
    if value is None:
        return "–"
    return "∞" if float(str(value)) == float("inf") else f"{float(str(value)):.3g}"


def _exact(interval: dict[str, Any] | None) -> str:
    if interval is None:
        return "–"
    if interval["lower"] == interval["upper"]:
        return _number(interval["estimate"])
    return f"{_number(interval['estimate'])} (≥ {_number(interval['lower'])})"


def _gradients(entry: dict[str, Any] | None) -> str:
    if not entry or "refused" in entry:
        return "–"
    return f"{entry['estimated']}/{entry['asked']}, error {_number(entry['median'])}"


def _images(entry: dict[str, Any] | None) -> str:
    if not entry or "refused" in entry:
        return "–"
    skills = [agent["skill"] for agent in entry["agents"]]
    rebuilt = sum(skill > 0.999 for skill in skills)
    return f"{rebuilt} of {len(skills)} rebuilt" if rebuilt else "no better than a guess"


def _fail(error: NetsimError) -> None:
    problems.print(f"[bold red]{type(error).__name__}[/]: {error}", highlight=False, soft_wrap=True)
    raise typer.Exit(WRONG_INPUT if isinstance(error, ScenarioError) else 70)


class _Bars:
    """A rich progress bar per stage; on a terminal that is none, one line per stage."""

    def __init__(self) -> None:
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓[/]"), TextColumn("{task.description}"), BarColumn(bar_width=24),
            TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=False,
        )  # fmt: skip
        self._task: TaskID | None = None

    def __enter__(self) -> "_Bars":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()
        self._progress.stop()

    def begin(self, stage: str, total: int) -> None:
        self._finish()
        self._task = self._progress.add_task(stage, total=total)

    def advance(self, steps: int) -> None:
        if self._task is not None:
            self._progress.advance(self._task, steps)

    def _finish(self) -> None:
        if self._task is not None:
            task = next(t for t in self._progress.tasks if t.id == self._task)
            self._progress.update(self._task, completed=task.total)


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
    """The console command."""
    app()
