"""Command `netsim list`."""

from enum import StrEnum
from itertools import groupby
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from scenarios.cli.options import AsJson
from scenarios.render.terminal import console, write_document

Rows = list[dict[str, Any]]


class Kind(StrEnum):
    """What there is to list: the names of `scenarios.cli.catalogue.KINDS`, which takes its time to load."""

    SCENARIOS = "scenarios"
    ALGORITHMS = "algorithms"
    ATTACKS = "attacks"
    PROBLEMS = "problems"
    DATA = "data"
    TOPOLOGIES = "topologies"
    CODECS = "codecs"
    FAULTS = "faults"
    LEDGER = "ledger"


KIND = typer.Argument(help="What to list; if not given, the scenarios (with --json: everything).", show_default=False)


def list_kinds(kind: Annotated[Kind | None, KIND] = None, as_json: AsJson = False) -> None:
    """List what comes with netsim: scenarios, algorithms, attacks, problems, data sets, and more.

    Exit status: 0 done, 2 wrong input.
    """
    if as_json:
        from scenarios.cli.catalogue import KINDS

        write_document({name: rows() for name, rows in KINDS.items() if kind in (None, name)})
        return
    chosen = kind or Kind.SCENARIOS
    if chosen == Kind.SCENARIOS:
        _scenarios()
    else:
        _table(chosen)
    others = ", ".join(one.value for one in Kind if one != chosen)
    console.print(f"\n[bold]netsim list KIND[/] also lists: {others}.", highlight=False)


def _scenarios() -> None:
    """By group, a title each: what a file does not say is not built for that."""
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


def _table(kind: Kind) -> None:
    from scenarios.cli.catalogue import KINDS
    from scenarios.cli.data import print_sets

    rows = KINDS[kind]()
    if kind == Kind.DATA:
        print_sets(rows)
        return
    if kind == Kind.ATTACKS:
        for on, some in groupby(rows, key=lambda row: row["on"]):
            console.print(f"[bold cyan]On {on}[/]", highlight=False)
            console.print(Padding(_laid_out(kind, list(some)), (0, 0, 1, 2)), highlight=False)
        return
    console.print(_laid_out(kind, rows), highlight=False)


def _laid_out(kind: str, rows: Rows) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    heads = {
        "algorithms": ("kind", "what it is", "claim"),
        "attacks": ("attack", "needs", "source"),
        "problems": ("kind", "loss of an agent"),
        "faults": ("fault", "lesson"),
        "ledger": ("entry", "algorithms"),
    }.get(kind, ("kind", "what it is"))
    for k, head in enumerate(heads):
        table.add_column(head, no_wrap=k == 0, style="bold" if k == 0 else None)
    for row in rows:
        table.add_row(*(escape(cell) for cell in _cells(kind, row)))
    return table


def _cells(kind: str, row: dict[str, Any]) -> tuple[str, ...]:
    if kind == Kind.ALGORITHMS:
        claim = row["claim"]
        return row["kind"], row["update"], "none" if claim is None else claim["source"]
    if kind == Kind.ATTACKS:
        return row["kind"] or row["name"], ", ".join(row["needs"]) or "nothing else", row["source"]
    if kind == Kind.PROBLEMS:
        return row["name"], row["loss"]
    if kind == Kind.FAULTS:
        return row["name"], row["lesson"]
    if kind == Kind.LEDGER:
        return row["name"], "; ".join(row["algorithms"])
    return row["name"], row["what"]
