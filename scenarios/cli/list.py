"""Command `netsim list`."""

from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby
from typing import Annotated

from rich.console import RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from scenarios.cli.options import AsJson, taken
from scenarios.render.terminal import console, write_document

Kind = StrEnum(
    "Kind", ["scenarios", "algorithms", "attacks", "problems", "data", "topologies", "codecs", "faults", "ledger"]
)
"""Lists by name; their rows are in `scenarios.cli.catalogue`, which takes its time to load."""


def list_kinds(
    kind: Annotated[
        Kind | None, taken(help="What to list. Default: the scenarios (with --json: everything).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the scenarios, algorithms, attacks, problems, data sets, … that come with netsim.

    Exit status: 0 done, 2 wrong input.
    """
    if as_json:
        from scenarios.cli.catalogue import LISTS

        wanted = [str(one) for one in Kind if kind in (None, one)]
        write_document({name: [row.plain for row in LISTS[name][0]()] for name in wanted})
        return
    chosen = kind or Kind.scenarios
    if chosen == Kind.scenarios:
        _print_scenarios()
    elif chosen == Kind.data:
        from scenarios.cli.data import print_sets

        print_sets()
    else:
        from scenarios.cli.catalogue import LISTS

        rows, heads = LISTS[chosen]
        for group, some in groupby(rows(), key=lambda row: row.group):
            _print_group(group, _table([row.cells for row in some], heads))
    others = ", ".join(str(one) for one in Kind if one != chosen)
    console.print(f"\n[bold]netsim list KIND[/] also lists: {others}.", highlight=False)


def _print_scenarios() -> None:
    """Names and titles by group, read from the files: nothing is built for that."""
    from scenarios.files.library import shipped

    found = shipped()
    width = max(len(one.name) for one in found)
    for group, members in groupby(found, key=lambda one: one.group):
        rows: list[tuple[str, str]] = []
        for one in members:
            several = f" [dim]({len(one.variants)} variants)[/]" if one.variants else ""
            rows.append((one.name, escape(one.title) + several))
        _print_group(group[:1].upper() + group[1:], _table(rows, width=width))
    console.print("Run one with [bold]netsim run NAME[/], read it with [bold]netsim show NAME[/].", highlight=False)


def _print_group(name: str, table: RenderableType) -> None:
    if name:
        console.print(f"[bold cyan]{escape(name)}[/]", highlight=False)
        table = Padding(table, (0, 0, 1, 2))
    console.print(table, highlight=False)


def _table(rows: Sequence[Sequence[str]], heads: Sequence[str] = ("", ""), width: int | None = None) -> Table:
    """Rows of plain cells below `heads`; without these, of marked-up ones at least `width` wide."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=width is None)
    for k, head in enumerate(heads):
        table.add_column(head, no_wrap=k == 0, style="bold" if k == 0 else None, min_width=None if k else width)
    for row in rows:
        table.add_row(*(row if width is not None else map(escape, row)))
    return table
