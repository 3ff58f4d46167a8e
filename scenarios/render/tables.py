"""Tables that fit the width of a terminal: without the columns that can be spared, in parts, or as lists."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from scenarios.render.terminal import NARROW, PARTS, in_parts

_SHORTEST = 8
"""Letters of a broken word in a line, at least."""


@dataclass(frozen=True)
class Column:
    """A column with its cells, in rich's markup.

    `whole`: its cells are never broken or cut, and its head only between words; else they are broken between words,
    and within one if need be, but take `at_least` so many columns where they are that long. `spared`: where the
    table is too wide, columns go in this order, 1 first; 0 stays.
    """

    head: str
    cells: Sequence[str]
    right: bool = False
    whole: bool = False
    at_least: int = 0
    spared: int = 0


def fitted(columns: Sequence[Column], console: Console) -> Table:
    """The table, without those columns that there is no room for; these are named below it."""
    left, gone = list(columns), set[str]()
    while True:
        table, needed = _table(left, console)
        going = sorted((one for one in left if one.spared), key=lambda one: one.spared)
        if not going or needed <= console.width:
            break
        gone.add(going[0].head)
        left.remove(going[0])
    if gone:
        table.caption = f"No room for: {escape(', '.join(one.head for one in columns if one.head in gone))}"
        table.caption_justify = "left"
    return table


def stacked(columns: Sequence[Column], console: Console) -> Iterator[Table]:
    """All columns, in as many tables as that takes, each of which begins with the first of them. A column without a
    head stays with the one before it, and none is alone in the last table where another one can join it."""
    first, *others = columns
    while others:
        count = len(others)
        while count > 1 and not have_room([first, *others[:count]], console):
            count -= 1
        beside = 1 < count < len(others) and not others[count].head
        last = count > 2 and len(others) == count + 1 and others[count - 1].head
        count -= bool(beside or last)
        yield _table([first, *others[:count]], console)[0]
        others = others[count:]


def print_tables(first: Column, groups: Sequence[Sequence[Column]], console: Console) -> None:
    """Groups of columns behind a first one, each a table, or two on a wide terminal; where there is no room,
    each row as a list of its fields, below the first cell."""
    tables = [list(stacked([first, *group], console)) for group in groups]
    roomy = all(have_room([first, *group], console) for group in groups)
    if roomy or (console.width >= NARROW and max(map(len, tables)) <= 2):
        for k, table in enumerate(one for group in tables for one in group):
            table.show_edge = k == 0  # a blank line above; the edge of the next one would be a second
            console.print(table if k == 0 else Padding(table, (0, 0, 1, 1)), highlight=False)
        return
    columns = [one for group in groups for one in group]
    for name, *cells in zip(first.cells, *(one.cells for one in columns), strict=True):
        fields = list[str]()
        for one, cell in zip(columns, cells, strict=True):
            if one.head and cell:
                fields.append(f"{escape(one.head)}: {cell}" if len(columns) > 1 else cell)
            elif cell:
                fields[-1] += f" {cell}"
        print_below(f"{escape(first.head)} {name}" if name.isdecimal() else name, fields, console)
    console.print()


def have_room(columns: Sequence[Column], console: Console) -> bool:
    """Whether one table has all of them without a word that is broken."""
    return _table(columns, console)[1] <= console.width


def print_below(name: str, texts: Iterable[str], console: Console) -> None:
    """An entry of a list, in rich's markup, and what is said of it below, where there is no room beside it."""
    console.print(Padding(f"[bold]{name}[/]", (0, 0, 0, 2)), highlight=False)
    for text in texts:
        console.print(Padding(in_parts(console.render_str(text, highlight=False), console.width - 4), (0, 0, 0, 4)))


def _table(columns: Sequence[Column], console: Console) -> tuple[Table, int]:
    """A table, and how wide it is at least."""
    texts = [[console.render_str(cell) for cell in (escape(one.head), *one.cells)] for one in columns]
    longest = [max(text.cell_len for text in column) for column in texts]
    words = [[word for text in column for word in text.plain.split()] or [""] for column in texts]
    least = [
        max([cell_len(word) for word in one.head.split()] + [text.cell_len for text in own[1:]], default=0)
        if one.whole
        else max(max(map(cell_len, spoken)), min(long, one.at_least))
        for one, own, spoken, long in zip(columns, texts, words, longest, strict=True)
    ]
    room, needed = console.width - 2 * len(columns) - 1, sum(least) + 2 * len(columns) + 1
    if sum(least) > room:  # long names are broken where they have parts
        parts = [max(cell_len(part) for word in own for part in PARTS.split(word)) for own in words]
        least = [n if one.whole else min(n, part) for one, n, part in zip(columns, least, parts, strict=True)]
    while sum(least) > room and (
        long := [k for k, one in enumerate(columns) if not one.whole and least[k] > _SHORTEST]
    ):
        least[max(long, key=least.__getitem__)] -= 1  # and then anywhere, before a number is cut
    widths = _shared(least, longest, room)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for one, width in zip(columns, widths, strict=True):
        table.add_column(
            "", justify="right" if one.right else "left", no_wrap=one.whole,
            overflow="ellipsis" if one.whole else "fold", width=width,
        )  # fmt: skip
    for column, own, width in zip(table.columns, texts, widths, strict=True):
        head, *own[1:] = (in_parts(text, width) for text in own)
        column.header = Text("\n").join(head.wrap(console, width))  # also of a column whose cells are whole
    for row in zip(*(own[1:] for own in texts), strict=True):
        table.add_row(*row)
    return table, needed


def _shared(least: Sequence[int], longest: Sequence[int], room: int) -> list[int]:
    """The widths of columns: what each needs, and of the rest as much as it can use, in equal shares."""
    widths, left = list(least), room - sum(least)
    while left > 0 and (open_ := [k for k, width in enumerate(widths) if width < longest[k]]):
        for k in open_[:left]:
            widths[k] += 1
        left -= len(open_[:left])
    return widths
