"""Rows of a transcript as a table to look at, and as JSON."""

import json
import math
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from netsim.spool import SpooledTranscript
from netsim.transcript import COLUMNS, EVERYBODY, Record
from scenarios.totals import HEARD, Totals

HEADS = ("time (s)", "from", "to", "heard", "kind", "no.", "try", "bytes")
LEFT = ("heard", "kind")
SPARED = ("heard", "try")
"""Columns that give way in a narrow terminal where they say the same in every row."""


def table(rows: SpooledTranscript, limit: int, replica: int, values: bool, width: int) -> tuple[Table, Totals, bool]:
    """The first rows as a table (all, for a limit of 0) for a terminal `width` letters wide, what they come to, and
    whether there are more."""
    totals, read, cells = Totals(), iter(rows), list[tuple[str, ...]]()
    for row in islice(read, limit or None):
        totals.add(row)
        cells.append(tuple(_cells(row, replica, values)))
    return _laid_out(cells, "values" if values else "norms", width), totals, next(read, None) is not None


def _laid_out(cells: list[tuple[str, ...]], told: str, width: int) -> Table:
    """Numbers stay whole, fields fold at spaces. Where the longest word of a field has no room, columns give way."""
    columns = dict(zip((*HEADS, told), zip(*cells, strict=True), strict=False))
    widths = {name: max(map(len, (name, *column))) for name, column in columns.items()}
    widths[told] = max(map(len, (told, *" ".join(columns.get(told, ())).split())))
    tight = sum(widths.values()) + 2 * len(widths) + 1 > width
    shown = Table(box=SIMPLE_HEAD, padding=(0, 0 if tight else 1, 0, 0), show_edge=not tight, caption_justify="left")
    for name in SPARED:
        if sum(widths.values()) + len(widths) - 1 > width and len(set(columns.get(name, ()))) == 1:
            shown.caption = f"{shown.caption or 'every row:'} {name} {columns.pop(name)[0]} "
            del widths[name]
    for name in columns:
        numbers = name != told and name not in LEFT
        shown.add_column(
            name,
            justify="right" if numbers else "left",
            no_wrap=name != told,
            overflow="fold" if name == told else "ellipsis",
        )
    for row in zip(*columns.values(), strict=True):
        shown.add_row(*(cell.replace("[", "\\[") for cell in row))
    return shown


def _cells(row: Record, replica: int, values: bool) -> Iterator[str]:
    yield f"{row.time:.6f}"
    yield str(row.sender)
    yield "all" if row.receiver == EVERYBODY else str(row.receiver)
    yield HEARD.get(row.event, row.event)
    yield row.kind
    yield "" if row.number < 0 else str(row.number)
    yield str(row.attempt)
    yield f"{row.size:,}"
    told = (f"{name}={_told(value[replica], values)}" for name, value in sorted(row.values.items()))
    yield "  ".join(told)


def _told(vector: Any, values: bool) -> str:
    return f"[{', '.join(f'{one:.6g}' for one in vector)}]" if values else f"{np.linalg.norm(vector):.4g}"


def as_json(row: Record, values: bool) -> str:
    """One row as a JSON object: its columns, and per field the norm in each replica, or the values themselves.

    Numbers that JSON has no words for are the texts "inf", "-inf", "nan".
    """
    whole: dict[str, Any] = {name: getattr(row, name) for name in COLUMNS}
    key = "values" if values else "norms"
    whole[key] = {
        name: _finite((value if values else np.linalg.norm(value, axis=1)).tolist())
        for name, value in sorted(row.values.items())
    }
    return json.dumps(whole | {"time": _finite(row.time)}, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(one) for one in cast(list[Any], value)]
    return value if math.isfinite(value) else str(value)
