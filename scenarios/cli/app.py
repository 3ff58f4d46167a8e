"""The `netsim` command with all its subcommands, each declared in the module of its subject."""

import signal
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from netsim.interrupts import STOPS, never_lost
from scenarios.cli import (
    attack,
    audit,
    catalogue,
    challenge,
    data,
    lab,
    ledger,
    new,
    report,
    run,
    witness,
)
from scenarios.cli.options import app
from scenarios.files import CODE_LISTENERS
from scenarios.render.terminal import FAILED, leave_if_stopped, print_error, remark

MODULES = (
    attack, audit, catalogue, challenge, data, lab, ledger, new, report, run, witness,
)  # fmt: skip
"""Every one registers its commands."""


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
    CODE_LISTENERS[:] = [_announce]


def _announce(place: str, what: str) -> None:
    """Say that a scenario's code is run, unless who gave the command named that file."""
    if not any(word in (place, what) or word.partition(":")[0] == place.partition(":")[0] for word in sys.argv[1:]):
        remark(f"The scenario has code of its own, which is run: {what}")


def main() -> None:
    """The console command. A terminal without ε shows another sign in its place.

    A defect is printed with its traceback, with exit status 70: it is no finding about a claim. SIGTERM, which a
    batch system sends before it kills, and the SIGHUP of a closed terminal end a command as Ctrl-C does.
    """
    for name in STOPS[1:]:
        if signal.getsignal(name) is signal.SIG_DFL:  # under nohup a SIGHUP is ignored
            signal.signal(name, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        with never_lost():
            app()
    except Exception as error:
        leave_if_stopped(error)
        print_error(error)
        sys.exit(FAILED)


if __name__ == "__main__":
    main()
