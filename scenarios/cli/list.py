"""Command `netsim list`."""

from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from scenarios.cli.options import AsJson
from scenarios.render.terminal import console, write_document

if TYPE_CHECKING:
    from scenarios.cli.catalogue import Row

_HEADS = {
    "algorithms": ("kind", "description", "claim"),
    "attacks": ("attack", "needs", "source"),
    "problems": ("kind", "loss of an agent"),
    "faults": ("fault", "lesson"),
    "ledger": ("entry", "algorithms"),
}


class Kind(StrEnum):
    """Lists by name; their rows are in `scenarios.cli.catalogue`, which takes its time to load."""

    SCENARIOS = "scenarios"
    ALGORITHMS = "algorithms"
    ATTACKS = "attacks"
    PROBLEMS = "problems"
    DATA = "data"
    TOPOLOGIES = "topologies"
    CODECS = "codecs"
    FAULTS = "faults"
    LEDGER = "ledger"


KIND = typer.Argument(help="What to list. Default: the scenarios (with --json: everything).", show_default=False)


def list_kinds(kind: Annotated[Kind | None, KIND] = None, as_json: AsJson = False) -> None:
    """List the scenarios, algorithms, attacks, problems, data sets, … that come with netsim.

    Exit status: 0 done, 2 wrong input.
    """
    if as_json:
        from scenarios.cli.catalogue import document

        write_document({one.value: document(one) for one in Kind if kind in (None, one)})
        return
    chosen = kind or Kind.SCENARIOS
    if chosen == Kind.SCENARIOS:
        _print_scenarios()
    elif chosen == Kind.DATA:
        from scenarios.cli.data import print_sets, sets

        print_sets(sets())
    else:
        _print_table(chosen)
    others = ", ".join(one.value for one in Kind if one != chosen)
    console.print(f"\n[bold]netsim list KIND[/] also lists: {others}.", highlight=False)


def _print_scenarios() -> None:
    """Names and titles by group, read from the files: nothing is built for that."""
    from scenarios.files.library import shipped

    found = shipped()
    width = max(len(one.name) for one in found)
    for group, members in groupby(found, key=lambda one: one.group):
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        table.add_column(no_wrap=True, style="bold", min_width=width)
        table.add_column()
        for one in members:
            several = f" [dim]({len(one.variants)} variants)[/]" if one.variants else ""
            table.add_row(one.name, escape(one.title) + several)
        console.print(f"[bold cyan]{escape(group[:1].upper() + group[1:])}[/]", highlight=False)
        console.print(Padding(table, (0, 0, 1, 2)), highlight=False)
    console.print("Run one with [bold]netsim run NAME[/], read it with [bold]netsim show NAME[/].", highlight=False)


def _print_table(kind: Kind) -> None:
    from scenarios.cli.catalogue import TABLES, AttackRow

    rows = TABLES[kind]()
    if kind != Kind.ATTACKS:
        console.print(_table(kind, rows), highlight=False)
        return
    for on, some in groupby(rows, key=lambda row: row.on if isinstance(row, AttackRow) else ""):
        console.print(f"[bold cyan]On {on}[/]", highlight=False)
        console.print(Padding(_table(kind, list(some)), (0, 0, 1, 2)), highlight=False)


def _table(kind: str, rows: "Sequence[Row]") -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for k, head in enumerate(_HEADS.get(kind, ("kind", "description"))):
        table.add_column(head, no_wrap=k == 0, style="bold" if k == 0 else None)
    for row in rows:
        table.add_row(*map(escape, row.cells))
    return table
