"""Command `netsim trace`."""

import math
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from scenarios.cli.options import bounded, command, given, of_folder
from scenarios.render.terminal import WRONG_INPUT, console, fail, line, remark, write

KindName = StrEnum("KindName", ["exchange", "direct", "ack", "sealed"])
"""`netsim.transcript.message.Kind`, which takes its time to load."""
ROWS = 20
USES = {
    "--pcapng": ("--replica",),
    "--summary": ("--json",),
    "--json": ("--values", "--limit"),
    "--jsonl": ("--values", "--limit"),
}
"""Outputs, the first of those given, and the options that each takes."""
AGENT = "number of an agent; may be given several times"


@command("trace", "netsim trace results/lossy --to 3 --until 1", "netsim trace results/lossy --summary")
def _trace(
    place: Annotated[Path, of_folder(help="A results folder, a transcript (.parquet), or a spool (.spool).")],
    algorithm: Annotated[
        str | None, given(help="The algorithm whose transcript of a folder is shown.", metavar="SLUG")
    ] = None,
    sender: Annotated[
        list[int] | None, bounded(0, None, "--from", metavar="AGENT", help=f"Sent by: {AGENT}.")
    ] = None,
    receiver: Annotated[
        list[int] | None, bounded(-1, None, "--to", metavar="AGENT", help=f"For: {AGENT}; -1: all.")
    ] = None,
    since: Annotated[float, typer.Option(help="First virtual second.")] = -math.inf,
    until: Annotated[float, typer.Option(help="Virtual second before which rows are shown.")] = math.inf,
    at: Annotated[Literal["link", "node"] | None, given("--place", help="Only taps on links, or at agents.")] = None,
    kind: Annotated[list[KindName] | None, given(help="Kinds of packets; may be given several times.")] = None,
    number: Annotated[
        list[int] | None, bounded(-1, None, help="Number of a message: the sender's count of its kind; -1: none.")
    ] = None,
    limit: Annotated[int | None, bounded(0, None, help="Rows to show; 0: all.", show_default=str(ROWS))] = None,
    replica: Annotated[int | None, bounded(0, None, help="Replica whose values are shown.", show_default="0")] = None,
    values: Annotated[bool, typer.Option("--values", help="Show values in place of norms.")] = False,
    summary: Annotated[bool, typer.Option("--summary", help="Count all selected rows, by link and kind.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document: the list of rows, or the summary.")
    ] = False,
    as_lines: Annotated[bool, typer.Option("--jsonl", help="Print JSON Lines: one object a row, for jq.")] = False,
    pcapng: Annotated[
        Path | None, given(help="Write all selected rows for Wireshark, in place of showing any.")
    ] = None,
) -> None:
    """Show messages of a recorded transcript: sender, receiver, time, kind, size and values.

    Exit status: 0 done, 2 wrong input.
    """
    from netsim.errors import NetsimError, TranscriptError
    from netsim.transcript.message import Selection
    from scenarios.render.trace import Totals, Traced

    most, shown_replica = ROWS if limit is None else limit, replica or 0
    try:
        options: dict[str, object] = {"--pcapng": pcapng, "--summary": summary, "--json": as_json}
        options |= {"--jsonl": as_lines, "--values": values, "--limit": limit, "--replica": replica}
        names = [name for name, value in options.items() if value is not None and value is not False]
        way = next((way for way in USES if way in names), None)
        for name in names:
            if way is not None and name != way and name not in USES[way]:
                uses = " and ".join(USES[way])
                raise TranscriptError(f"{name} is of no use with {way}, which takes {uses} and what chooses rows")
        by = Selection.of(since, until, sender=sender, receiver=receiver, place=at, kind=kind, number=number)
        traced = Traced.open(place, algorithm, by, shown_replica)
        rows = traced.rows
        if pcapng is not None:
            line(f"{traced.export(pcapng, shown_replica, at):,} packets in {pcapng}")
        elif summary:
            totals = Totals.of(rows)
            if as_json:
                write(totals.as_json())
            else:
                for one in totals.tables(traced.name):
                    if one.row_count:
                        console.print(one)
                console.print(totals.sentence(), highlight=False, soft_wrap=True)
        elif as_json or as_lines:
            _objects(traced.as_json(most, values), as_lines)
        else:
            shown, totals, more = traced.table(most, shown_replica, values, console.width)
            if totals.rows:
                console.print(shown)
            rest = "; more match: --limit 0 shows them, --summary counts them" if more else ""
            console.print(totals.sentence() + rest, highlight=False, soft_wrap=True)
        remark(traced.nothing)
        remark(f"The spool was {rows.note}." if rows.note else "")
    except NetsimError as error:
        why = str(error)
        if isinstance(error, TranscriptError) and not place.exists():
            why = f"{place}: no such file or folder"
        elif isinstance(error, TranscriptError) and place.name.startswith("metrics-") and place.suffix == ".parquet":
            other = place.name.replace("metrics", "transcript", 1)
            why = f"{place}: the metrics of a run; its transcript is {other}"
        fail(error, status=WRONG_INPUT, said=why, as_json=as_json)


def _objects(rows: Iterable[str], as_lines: bool) -> None:
    """Row by row, however many: as lines, or as the one list that they make together."""
    waiting = "["  # in a list a row waits for the next, which decides on its comma
    for text in rows:
        if console.quiet:  # the reader has seen enough
            return
        if as_lines:
            write(text)
            continue
        write(waiting if waiting == "[" else f"{waiting},")
        waiting = text
    if not as_lines:
        write("[]" if waiting == "[" else f"{waiting}\n]")
