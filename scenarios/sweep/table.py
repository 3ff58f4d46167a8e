# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""What a sweep's tables hold: one row for each algorithm of each point, and one for each attack on records."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow

from scenarios import summary
from scenarios.report.formats import flow
from scenarios.summary import ATTACK_COLUMNS, Row
from scenarios.sweep.points import Point

POINT: summary.Columns = {
    "point": (pyarrow.int64(), "number of the point, from 0"),
    "seed": (pyarrow.int64(), "the scenario's seed"),
}
COLUMNS: summary.Columns = {
    **POINT,
    "status": (pyarrow.string(), "complete, failed, or interrupted"),
    "error": (pyarrow.string(), "what went wrong, null where nothing did"),
    **summary.COLUMNS,
}
"""Columns with their types and meanings; before them is one for each field that the sweep varies."""
OF_ATTACKS = "attacks"
"""The key of a row under which the rows of its attacks are kept until they are written."""


def rows(point: Point, results: Mapping[str, Any], status: str, error: str | None) -> list[Row]:
    """A row for each algorithm; one without an algorithm where the run did not get to any."""
    base = dict(point.fields) | {"point": point.index, "seed": point.seed, "status": status, "error": error}
    found = [base | row for row in summary.algorithm_rows(results)] or [base]
    found[0][OF_ATTACKS] = summary.attack_rows(results)
    return found


def read(point: Point, found: Iterable[Mapping[str, Any]]) -> list[Row]:
    """A point's rows as they were before they were JSON, which has texts for infinities and NaN."""
    return [_restored(row, COLUMNS) | dict(point.fields) | _attacks(row) for row in found]


def _attacks(row: Mapping[str, Any]) -> Row:
    return {OF_ATTACKS: [_restored(one, ATTACK_COLUMNS) for one in row[OF_ATTACKS]]} if OF_ATTACKS in row else {}


def _restored(row: Mapping[str, Any], columns: summary.Columns) -> Row:
    floats = {name for name, (kind, _) in columns.items() if kind == pyarrow.float64()}
    return {key: float(value) if key in floats and isinstance(value, str) else value for key, value in row.items()}


def write(found: Iterable[Row], varied: Sequence[str], path: Path) -> None:
    """The table as Parquet, in order of points, and attacks.parquet beside it where there were attacks on records."""
    ordered = sorted(found, key=lambda row: row["point"])
    summary.write(ordered, COLUMNS, path, _varied(ordered, varied))
    attacks = [
        {name: row[name] for name in (*varied, *POINT)} | one for row in ordered for one in row.get(OF_ATTACKS, ())
    ]
    if attacks:
        columns = {**POINT, **ATTACK_COLUMNS}
        summary.write(attacks, columns, path.with_name(summary.ATTACKS), _varied(attacks, varied))


def _varied(found: Sequence[Row], names: Sequence[str]) -> dict[str, Any]:
    return {name: pyarrow.array(_values(found, name)) for name in names}


def _values(found: Sequence[Row], name: str) -> list[Any]:
    """A field's values: as they are where all are numbers, texts or truths, else as a file would say them."""
    values = [row[name] for row in found]
    kinds: set[type] = {type(value) for value in values}
    if kinds <= {int, float} or (len(kinds) == 1 and kinds <= {bool, str}):
        return [float(v) for v in values] if float in kinds else values
    return [flow(value) for value in values]
