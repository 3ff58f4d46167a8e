"""The `netsim` command: which commands there are, in which group of the help, with an example each."""

import inspect
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Annotated

import typer

from scenarios.certifying import certificate
from scenarios.lab.command import lab
from scenarios.shell.attack import attack
from scenarios.shell.audit import audit
from scenarios.shell.check import check
from scenarios.shell.compare import compare
from scenarios.shell.data import data
from scenarios.shell.ledger import ledger
from scenarios.shell.list import list_kinds
from scenarios.shell.new import new
from scenarios.shell.report import report
from scenarios.shell.run import run
from scenarios.shell.schema import schema
from scenarios.shell.show import show
from scenarios.shell.usage import Group
from scenarios.sweep.command import sweep
from scenarios.terminal import FAILED, leave, stopped, tell
from scenarios.trace import trace
from scenarios.witness import witness

FIRST, EXPERIMENTS, RESULTS, MORE = "First steps", "Experiments", "Results", "More"
"""Groups of the help."""

app = typer.Typer(
    cls=Group,
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
command(FIRST, new, "netsim new first", "netsim new lossier --from lossy-tap", "netsim new my-descent --python")
command(
    FIRST, audit, "netsim audit mine.py:Mine -o rounds=20 -o scale=0.5 --epsilon 1", "netsim audit private-descent",
    "netsim audit results/mine --trials 10000",
)  # fmt: skip
command(
    EXPERIMENTS, attack, "netsim attack results/lossy", "netsim attack results/lossy --attack posterior --attack dlg",
    "netsim attack heard.parquet --scenario mine.yaml",
)  # fmt: skip
command(EXPERIMENTS, check, "netsim check private-descent -o links.loss=0.2")
command(EXPERIMENTS, sweep, "netsim sweep sweep.yaml --out results/sweep")
app.add_typer(data, name="data", rich_help_panel=EXPERIMENTS)
command(EXPERIMENTS, lab, "netsim lab", "netsim lab noise", "netsim lab --list")
command(RESULTS, trace, "netsim trace results/lossy --to 3 --until 1", "netsim trace results/lossy --summary")
command(RESULTS, report, "netsim report results/lossy --open")
command(RESULTS, compare, "netsim compare results/a results/b --out compared.html")
command(RESULTS, witness, "netsim witness results/eq-23/even/witness-diadsp.json")
command(MORE, ledger, "netsim ledger thesis-gamma", "netsim ledger --out docs/ledger.md")
command(MORE, certificate, "netsim certificate --repetitions 5 --out certificate.md")
command(MORE, schema, "netsim schema --out scenario.schema.json")


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
        if stopped(error):
            leave()
        tell(error)
        sys.exit(FAILED)


if __name__ == "__main__":
    main()
