"""The `netsim` command: its subcommands by group of the help, and usage errors as JSON."""

import inspect
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from scenarios.cli.attack import attack
from scenarios.cli.audit import audit
from scenarios.cli.certificate import certificate
from scenarios.cli.compare import compare
from scenarios.cli.data import data
from scenarios.cli.lab import lab
from scenarios.cli.ledger import ledger
from scenarios.cli.list import list_kinds
from scenarios.cli.new import new
from scenarios.cli.report import report
from scenarios.cli.run import check, run
from scenarios.cli.schema import schema
from scenarios.cli.show import show
from scenarios.cli.sweep import sweep
from scenarios.cli.trace import trace
from scenarios.cli.witness import witness
from scenarios.render.terminal import FAILED, WRONG_INPUT, leave_if_stopped, print_error, write_document

_USAGE: type[Exception] = typer.BadParameter.__mro__[1]
"""The error of a missing argument, an unknown option or a value of a wrong type, whichever click typer has."""


class _Group(TyperGroup):
    """All commands. With `--json` a mistake of usage is also a document on the standard output, like every other
    error; the message for people and the exit status (2) stay as they are."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note whether `--json` is among the arguments, before any is parsed."""
        ctx.meta["netsim.json"] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the named command."""
        try:
            return super().invoke(ctx)
        except _USAGE as error:
            mistake: Any = error
            mistake.message = str(mistake.message).replace("Value error, ", "")
            if ctx.meta.get("netsim.json"):
                why, parameter = str(mistake.format_message()), getattr(error, "param", None)
                if parameter is None:
                    field = str(getattr(error, "option_name", None) or "command line")
                elif parameter.param_type_name == "option":
                    field = max(parameter.opts, key=len)
                else:
                    field = parameter.name.upper()
                one = {"file": None, "line": None, "field": field, "value": None, "problem": why, "allowed": ""}
                described = {"type": "ScenarioError", "message": why, "mistakes": [one]}
                write_document({"exit_status": WRONG_INPUT, "exit_reason": why, "error": described})
            raise


FIRST, EXPERIMENTS, RESULTS, MORE = "First steps", "Experiments", "Results", "More"
"""Groups of the help."""

app = typer.Typer(
    cls=_Group,
    help="A laboratory for private decentralized optimization: simulate, eavesdrop, invert, audit.",
    epilog="Begin with: netsim list; then: netsim run private-descent. Every command's --help has an example.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _command(panel: str, function: Callable[..., None], *examples: str, name: str | None = None) -> None:
    """Register a command: its docstring is the help, in which a line break is one only between paragraphs."""
    text = inspect.cleandoc(function.__doc__ or "")
    flowed = "\n\n".join(" ".join(one.split()) for one in text.split("\n\n"))
    end = "\n\n".join(["Example:" if len(examples) == 1 else "Examples:", *examples])
    app.command(name, rich_help_panel=panel, help=flowed, epilog=end)(function)


_command(FIRST, list_kinds, "netsim list", "netsim list algorithms", name="list")
_command(FIRST, show, "netsim show lossy-tap", "netsim show lossy-tap --resolved", "netsim show dp_recal")
_command(
    FIRST, run, "netsim run lossy-tap --out results/lossy", "netsim run private-descent -o audit.trials=100 --json"
)
_command(FIRST, new, "netsim new first", "netsim new lossier --from lossy-tap", "netsim new my-descent --python")
_command(
    FIRST, audit, "netsim audit mine.py:Mine -o rounds=20 -o scale=0.5 --epsilon 1", "netsim audit private-descent",
    "netsim audit results/mine --trials 10000",
)  # fmt: skip
_command(
    EXPERIMENTS, attack, "netsim attack results/lossy", "netsim attack results/lossy --attack posterior --attack dlg",
    "netsim attack captured.parquet --scenario mine.yaml",
)  # fmt: skip
_command(EXPERIMENTS, check, "netsim check private-descent -o links.loss=0.2")
_command(EXPERIMENTS, sweep, "netsim sweep sweep.yaml --out results/sweep")
app.add_typer(data, name="data", rich_help_panel=EXPERIMENTS)
_command(EXPERIMENTS, lab, "netsim lab", "netsim lab noise", "netsim lab --list")
_command(RESULTS, trace, "netsim trace results/lossy --to 3 --until 1", "netsim trace results/lossy --summary")
_command(RESULTS, report, "netsim report results/lossy --open")
_command(RESULTS, compare, "netsim compare results/a results/b --out compared.html")
_command(RESULTS, witness, "netsim witness results/eq-23/even/witness-diadsp.json")
_command(MORE, ledger, "netsim ledger uniform-mean", "netsim ledger --out docs/ledger.md")
_command(MORE, certificate, "netsim certificate --repetitions 5 --out certificate.md")
_command(MORE, schema, "netsim schema --out scenario.schema.json")


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"netsim {version('netsim-lab')}, Python {sys.version.split()[0]}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A laboratory for private decentralized optimization: simulate, eavesdrop, invert, audit."""


def main() -> None:
    """The console command. A terminal without ε shows another sign in its place.

    A defect is printed with its traceback, with exit status 70: it is no finding about a claim.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except Exception as error:
        leave_if_stopped(error)
        print_error(error)
        sys.exit(FAILED)


if __name__ == "__main__":
    main()
