"""Tables that fit the terminal: what must be read is never cut, and what matters least is left out first."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table


@dataclass(frozen=True)
class Column:
    """A column with its cells, in rich's markup.

    `whole`: its cells are never broken or cut; else they are broken between words, and within one if need be, but
    take `at_least` so many columns where they are that long. `spared`: where the table is too wide, columns go in
    this order, 1 first; 0 stays.
    """

    head: str
    cells: Sequence[str]
    right: bool = False
    whole: bool = False
    at_least: int = 0
    spared: int = 0


def fitted(columns: Sequence[Column], console: Console) -> Table:
    """The table, without those columns that there is no room for."""
    left = list(columns)
    while True:
        table = _table(left, console)
        going = sorted((one for one in left if one.spared), key=lambda one: one.spared)
        if not going or Measurement.get(console, console.options, table).minimum <= console.width:
            return table
        left.remove(going[0])


def leaves(fields: Sequence[str]) -> list[str]:
    """Dotted fields by their last part, with so many before it as tell them apart."""
    parts = [field.split(".") for field in fields]
    lengths = [1] * len(fields)
    while True:
        named = [".".join(one[-n:]) for one, n in zip(parts, lengths, strict=True)]
        double = [k for k, name in enumerate(named) if named.count(name) > 1 and lengths[k] < len(parts[k])]
        if not double:
            return named
        for k in double:
            lengths[k] += 1


def _table(columns: Sequence[Column], console: Console) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for one in columns:
        longest = max((console.render_str(cell).cell_len for cell in (escape(one.head), *one.cells)), default=0)
        table.add_column(
            escape(one.head), justify="right" if one.right else "left", no_wrap=one.whole,
            overflow="ellipsis" if one.whole else "fold", min_width=min(longest, one.at_least) or None,
        )  # fmt: skip
    for row in zip(*(one.cells for one in columns), strict=True):
        table.add_row(*row)
    return table
