"""The command `netsim trace`."""

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

if TYPE_CHECKING:
    from netsim.spool import SpooledTranscript

WRONG_INPUT = 2
KindName = StrEnum("KindName", ["exchange", "direct", "ack", "sealed"])
"""`netsim.messages.Kind`, which takes its time to load."""
PLACE = typer.Argument(help="A results folder, a transcript (.parquet), or a spool (.spool).", show_default=False)
AGENT = "number of an agent; may be given several times"


def trace(
    place: Annotated[Path, PLACE],
    algorithm: Annotated[
        str | None, typer.Option(help="Which algorithm's transcript of a folder.", metavar="SLUG", show_default=False)
    ] = None,
    sender: Annotated[
        list[int] | None, typer.Option("--from", help=f"Sent by: {AGENT}.", metavar="AGENT", show_default=False)
    ] = None,
    receiver: Annotated[
        list[int] | None, typer.Option("--to", help=f"For: {AGENT}; -1: all.", metavar="AGENT", show_default=False)
    ] = None,
    since: Annotated[float, typer.Option(help="From this virtual second on.")] = -math.inf,
    until: Annotated[float, typer.Option(help="Before this virtual second.")] = math.inf,
    at: Annotated[
        Literal["link", "node"] | None,
        typer.Option("--place", help="Taps on links, or at agents.", show_default=False),
    ] = None,
    kind: Annotated[
        list[KindName] | None,
        typer.Option(help="Kinds of packets; may be given several times.", show_default=False),
    ] = None,
    number: Annotated[
        list[int] | None, typer.Option(help="The sender's count of messages of that kind.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Rows to show; 0: all.")] = 20,
    replica: Annotated[int, typer.Option(min=0, help="Whose values.")] = 0,
    values: Annotated[bool, typer.Option("--values", help="Show values, not norms.")] = False,
    summary: Annotated[bool, typer.Option("--summary", help="Count all rows, by link and kind.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a row.")] = False,
    pcapng: Annotated[
        Path | None,
        typer.Option(help="Write all chosen rows for Wireshark, in place of showing any.", show_default=False),
    ] = None,
) -> None:
    """Who sent what to whom when: ask a transcript that a run left.

    Exit status: 0 done, 2 wrong input.
    """
    from netsim.errors import NetsimError, ScenarioError, TranscriptError
    from scenarios.tracing import Traced, refused

    try:
        traced = Traced.open(place, algorithm)
        if replica >= traced.rows.replicas:
            raise ScenarioError("replica", replica, "no such replica", f"0 … {traced.rows.replicas - 1}")
        rows = traced.rows.select(
            since, until, sender=sender, receiver=receiver, place=at, kind=kind, number=number
        )  # fmt: skip
        traced.check({"from": sender, "to": receiver}, rows)
        if pcapng is not None:
            _export(rows, pcapng, replica, at or "link")
        elif summary:
            _summarize(rows, as_json)
        elif as_json:
            _objects(rows, limit, values)
        else:
            _show(rows, limit, replica, values)
    except (ScenarioError, TranscriptError) as error:
        if isinstance(error, ScenarioError):
            error = ScenarioError(f"--{error.field}", error.value, error.problem, error.allowed)
        _refuse(f"{type(error).__name__}: {refused(error, place)}")
    except NetsimError as error:
        _refuse(str(error))


def _show(rows: "SpooledTranscript", limit: int, replica: int, values: bool) -> None:
    from scenarios.tracing import table

    shown, totals, more = table(rows, limit, replica, values)
    console = _console()
    if totals.rows:
        console.print(shown)
    rest = "; more match: --limit 0 shows them, --summary counts them" if more else ""
    console.print(totals.sentence() + rest, highlight=False, soft_wrap=True)
    if rows.note:
        console.print(f"The spool was {rows.note}.", highlight=False, soft_wrap=True)


def _objects(rows: "SpooledTranscript", limit: int, values: bool) -> None:
    from itertools import islice

    from scenarios.tracing import as_json

    console = _console()
    try:
        for row in islice(rows, limit or None):
            console.file.write(as_json(row, values) + "\n")
        console.file.flush()
    except BrokenPipeError:
        console.on_broken_pipe()


def _summarize(rows: "SpooledTranscript", as_json: bool) -> None:
    from scenarios.tracing import Totals

    totals, console = Totals.of(rows), _console()
    if as_json:
        console.print(totals.as_json(), highlight=False, markup=False, soft_wrap=True)
        return
    if totals.rows:
        console.print(totals.talkers())
    console.print(totals.sentence(), highlight=False, soft_wrap=True)


def _export(rows: "SpooledTranscript", path: Path, replica: int, place: Literal["link", "node"]) -> None:
    from netsim.errors import ScenarioError
    from netsim.pcapng import export

    try:
        count = export(rows, path, replica=replica, place=place)
    except OSError as error:
        why = error.strerror or str(error)
        raise ScenarioError("pcapng", str(path), f"cannot be written ({why})", "a file to write to") from None
    _console().print(f"{count:,} packets in {path}", highlight=False, markup=False, soft_wrap=True)


def _console() -> Console:
    from scenarios.cli import console

    return console


def _refuse(why: str) -> None:
    from scenarios.cli import problems

    problems.print(f"[bold red]{why.split(':')[0]}[/]:", end="", highlight=False, soft_wrap=True)
    problems.print(why.partition(":")[2], highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(WRONG_INPUT)
