# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""Folder of a sweep: manifest, a file for each finished point, and the table over them."""

import json
import os
import shutil
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow

from netsim.errors import ScenarioError
from scenarios.results import entries as describe
from scenarios.results import summary
from scenarios.results.files import write_json
from scenarios.results.numbers import flow
from scenarios.results.summary import ATTACK_COLUMNS, Row
from scenarios.schema.load import Located
from scenarios.sweep.points import Point, Sweep

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


def _read(point: Point, found: Iterable[Mapping[str, Any]]) -> list[Row]:
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


MANIFEST, TABLE, DONE = "sweep.json", "sweep.parquet", "points"


def prepare(folder: Path, sweep: Sweep, base: Located, command: str) -> None:
    """The folder with its manifest; one of the same sweep is gone on with; any other is a `ScenarioError`."""
    own = {"sweep": sweep.model_dump(mode="json"), "scenario": base.scenario.model_dump(mode="json")}
    own |= {"versions": describe.versions()}
    path = folder / MANIFEST
    try:
        (folder / DONE).mkdir(parents=True, exist_ok=True)
        others = [one for one in folder.iterdir() if one.name != DONE and not one.name.startswith(MANIFEST)]
        there = path.exists()  # after the look at the others: another process may just have made it
        if there:
            _check_same(json.loads(path.read_text(encoding="utf-8")), own, folder)
        elif others:
            raise ScenarioError("folder", str(folder), "holds files that are no sweep's", "a new or empty folder")
        with _whole(path) as draft:
            write_json(draft, own | {"command": command})
            if not (there or _begun(draft, path)):
                _check_same(json.loads(path.read_text(encoding="utf-8")), own, folder)
    except OSError as error:
        why = f"cannot be written ({error.strerror or error})"
        raise ScenarioError("folder", str(folder), why, "a folder to write to") from None


def _begun(draft: Path, path: Path) -> bool:
    """The manifest of a new sweep, by one process alone: whether it is this one and no other that came first."""
    try:
        os.link(draft, path)
    except OSError as error:  # of another kind: a file system without links, where nobody else is looked for
        return not isinstance(error, FileExistsError)
    return True


def _check_same(before: dict[str, Any], own: dict[str, Any], folder: Path) -> None:
    for key, value in json.loads(json.dumps(own)).items():
        if before.get(key) != value:
            what = {"versions": "was begun with other versions of netsim, Python or a library"}
            why = what.get(key, f"holds the results of another {key}")
            raise ScenarioError("folder", str(folder), why, "a new or empty folder, or the one of this sweep")


@contextmanager
def _whole(path: Path) -> Generator[Path]:
    """A draft to write, of this process alone, that becomes the file when all of it is there."""
    draft = path.with_name(f"{path.name}.{uuid4().hex}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def packed(folder: Path) -> bytes:
    """A folder's files as one archive."""
    archive = BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as into:
        for path in sorted(folder.rglob("*")):
            into.write(path, path.relative_to(folder))
    return archive.getvalue()


class Points:
    """The points of a sweep that are done, in a folder."""

    def __init__(self, folder: Path, found: Sequence[Point], varied: Sequence[str]) -> None:
        self.folder, self.points, self.varied = folder, found, varied

    def rows(self, point: Point) -> list[Row] | None:
        """Those of a point, complete or failed; None of one that nobody did yet."""
        return self._rows(point, self._text(point))

    def add(self, point: Point, rows: list[Row]) -> None:
        with _whole(self._place(point)) as draft:
            write_json(draft, {"rows": rows})

    def forget(self, point: Point) -> None:
        """Of a point that failed and is tried again."""
        self._place(point).unlink(missing_ok=True)

    def write_table(self) -> int:
        """The table of all points that are there, whoever did them; returns how many."""
        texts = self._texts()
        while True:
            found = {k: rows for k, text in texts.items() if (rows := self._rows(self.points[k], text)) is not None}
            if found:
                write([row for rows in found.values() for row in rows], self.varied, self.folder / TABLE)
            now = self._texts()
            if now == texts:
                return len(found)
            texts = now

    def keep(self, point: Point, archive: bytes) -> None:
        """A point's results folder, which came as an archive (`packed`) from a worker."""
        place = self.kept(point)
        draft = place.with_name(f"{place.name}.{uuid4().hex}")
        with ZipFile(BytesIO(archive)) as packed:
            packed.extractall(draft)
        shutil.rmtree(place, ignore_errors=True)
        draft.replace(place)

    def kept(self, point: Point) -> Path:
        return self.folder / f"{point.index:06d}"

    def _place(self, point: Point) -> Path:
        return self.folder / DONE / f"{point.index:06d}.json"

    def _texts(self) -> dict[int, str]:
        texts = {k: self._text(point) for k, point in enumerate(self.points)}
        return {k: text for k, text in texts.items() if text is not None}

    def _text(self, point: Point) -> str | None:
        try:
            return self._place(point).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None

    def _rows(self, point: Point, text: str | None) -> list[Row] | None:
        try:
            return None if text is None else _read(point, json.loads(text)["rows"])
        except (ValueError, KeyError, TypeError):
            return None
