# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""Folder of a sweep: manifest, a file for each finished point, and the table over them, which its page reads."""

import json
import os
import shutil
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, cast
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow
from pyarrow import ArrowException, parquet
from pydantic import JsonValue, TypeAdapter

from netsim.errors import ScenarioError
from netsim.files import check_regular, draft_of, not_written, parse_json, read_json
from scenarios.files.document import setting
from scenarios.files.folders import LOCK, is_draft, whole
from scenarios.files.folders import SWEEP as MANIFEST
from scenarios.files.folders import SWEPT as TABLE
from scenarios.render.page.sweep import Point as TablePoint
from scenarios.render.page.sweep import SweptTable
from scenarios.results import tables
from scenarios.results.base import Setting, Status, as_json, write_text
from scenarios.results.header import versions
from scenarios.results.tables import ATTACK_COLUMNS, Cell, Columns, Row
from scenarios.results.tree import Results
from scenarios.schema.load import Located
from scenarios.sweep.points import Point, Sweep

POINT: Columns = {
    "point": (pyarrow.int64(), "number of the point, from 0"),
    "seed": (pyarrow.int64(), "the scenario's seed"),
}
COLUMNS: Columns = {
    **POINT,
    "status": (pyarrow.string(), "complete, failed, or interrupted"),
    "error": (pyarrow.string(), "what went wrong, null where nothing did"),
    **tables.COLUMNS,
}
"""Columns with their types and meanings; before them is one for each field that the sweep varies."""


@dataclass(frozen=True)
class PointResult:
    """One point that was run: a row of the table for each algorithm, and one for each attack.

    `algorithms` is empty where the run did not get to any; the table then has one row without an algorithm.
    """

    fields: Mapping[str, Setting]
    """Fields that the sweep varies, by dotted path."""
    point: int
    seed: int
    status: Status
    error: str | None
    algorithms: tuple[Row, ...] = ()
    attacks: tuple[Row, ...] = ()

    @classmethod
    def of(cls, point: Point, results: Results) -> "PointResult":
        """A point that ran to its end."""
        rows = tuple(tables.algorithm_rows(results)), tuple(tables.attack_rows(results))
        return cls(point.fields, point.index, point.seed, "complete", None, *rows)

    @classmethod
    def failed(cls, point: Point, error: str) -> "PointResult":
        """A point that did not."""
        return cls(point.fields, point.index, point.seed, "failed", error)

    @property
    def rows(self) -> list[Row]:
        """Rows of the table, without the columns of `fields`."""
        own: Row = {"point": self.point, "seed": self.seed, "status": self.status, "error": self.error}
        return [own | row for row in self.algorithms or ({},)]


_FILE = TypeAdapter(PointResult)


def _read(text: str | None, point: Point) -> PointResult | None:
    """A point as it was before it was JSON, which has texts for infinities and NaN; None for other text."""
    try:
        found = _FILE.validate_python(parse_json(text or ""))

        def number(value: Cell, kind: Any) -> Cell:
            cell = float(value) if kind == pyarrow.float64() and isinstance(value, str) else value
            pyarrow.scalar(cell, kind)  # an error for what the column cannot have
            return cell

        algorithms, attacks = (
            tuple({key: number(value, columns[key][0]) for key, value in row.items()} for row in rows)
            for rows, columns in ((found.algorithms, COLUMNS), (found.attacks, ATTACK_COLUMNS))
        )
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
    return PointResult(point.fields, point.index, point.seed, found.status, found.error, algorithms, attacks)


def write_table(found: Iterable[PointResult], varied: Sequence[str], path: Path) -> None:
    """The table as Parquet, in order of points, and attacks.parquet beside it where there were attacks on records."""
    ordered = sorted(found, key=lambda one: one.point)
    rows = [(one, row) for one in ordered for row in one.rows]
    tables.write([row for _, row in rows], COLUMNS, path, _varied([one for one, _ in rows], varied))
    attacks: list[tuple[PointResult, Row]] = [
        (one, {"point": one.point, "seed": one.seed} | row) for one in ordered for row in one.attacks
    ]
    if attacks:
        columns, beside = {**POINT, **ATTACK_COLUMNS}, path.with_name(tables.ATTACKS)
        tables.write([row for _, row in attacks], columns, beside, _varied([one for one, _ in attacks], varied))


def _varied(of: Sequence[PointResult], names: Sequence[str]) -> Mapping[str, object]:
    """The columns of fields: values as they are where all are numbers, texts or truths, else as a file has them."""
    columns: dict[str, object] = {}
    for name in names:
        values = [one.fields[name] for one in of]
        kinds: set[type] = {type(value) for value in values}
        if kinds <= {int, float}:
            values = [float(str(value)) for value in values] if float in kinds else values
        elif not (len(kinds) == 1 and kinds <= {bool, str}):
            values = [setting(value) for value in values]
        columns[name] = pyarrow.array(values)
    return columns


DONE = "points"


def prepare(folder: Path, sweep: Sweep, base: Located, command: str) -> None:
    """The folder with its manifest; one of the same sweep is continued; any other is a `ScenarioError`."""
    own, path = _manifest(sweep, base), folder / MANIFEST
    try:
        (folder / DONE).mkdir(parents=True, exist_ok=True)
        there = check_folder(folder, sweep, base)
        with whole(path) as draft:
            write_text(draft, as_json(own | {"command": command}))
            try:
                if not there:
                    os.link(draft, path)  # by one process alone: another one may have come first
            except FileExistsError:
                _check_same(path, own, folder)
            except OSError:  # a file system without links, where nobody else is looked for
                pass
    except OSError as error:
        raise ScenarioError("folder", str(folder), not_written(error), "a folder to write to") from None


def _manifest(sweep: Sweep, base: Located) -> dict[str, JsonValue]:
    """What the folder of a sweep is of."""
    return {
        "sweep": sweep.model_dump(mode="json"),
        "scenario": base.scenario.model_dump(mode="json"),
        "versions": dict(versions()),
    }


def check_folder(folder: Path, sweep: Sweep, base: Located) -> bool:
    """Whether the folder is one of this sweep already; nothing is written. You get a `ScenarioError` for a file, and
    for a folder that holds something else."""
    if folder.is_file():
        raise ScenarioError("folder", str(folder), "is a file", "a folder to write to")
    if not folder.is_dir():
        return False
    others = [one for one in folder.iterdir() if one.name not in (DONE, LOCK) and not is_draft(one)]
    others = [one for one in others if not one.name.startswith(MANIFEST)]
    path = folder / MANIFEST
    for one in (folder / TABLE, path, *(folder / DONE).glob("*")):
        if one.is_dir():
            raise ScenarioError("folder", str(one), "is a folder, where a file is written", "a new or empty folder")
    if path.exists():  # after the look at the others: another process may just have made it
        _check_same(path, _manifest(sweep, base), folder)
        return True
    if others:
        raise ScenarioError("folder", str(folder), "holds files that are no sweep's", "a new or empty folder")
    return False


def _check_same(path: Path, own: Mapping[str, JsonValue], folder: Path) -> None:
    try:
        before = read_json(path)
    except ValueError as error:
        raise ScenarioError("folder", str(path), f"damaged ({error})", "a new or empty folder") from None
    if not isinstance(before, dict):
        raise ScenarioError("folder", str(path), "no manifest of a sweep", "a new or empty folder")
    for key, value in json.loads(json.dumps(own)).items():
        if cast("dict[str, object]", before).get(key) != value:
            what = {"versions": "was begun with other versions of netsim, Python or a library"}
            where = _differing_at(cast("dict[str, JsonValue]", before).get(key), value)
            why = what.get(key, f"holds the results of another {key}{f' (other: {where})' if where else ''}")
            raise ScenarioError("folder", str(folder), why, "a new or empty folder, or the one of this sweep")


def _differing_at(one: "JsonValue", other: "JsonValue") -> str:
    """The first field at which two trees differ, as a file names it; "" where they differ as a whole."""
    match one, other:
        case dict(), dict():
            pairs = [(name, one.get(name), other.get(name)) for name in {**one, **other}]
            name, mine, theirs = next(pair for pair in pairs if pair[1] != pair[2])
            inside = _differing_at(mine, theirs)
            return f"{name}{'' if inside[:1] in ('', '[') else '.'}{inside}"
        case list(), list() if len(one) == len(other):
            place = next(k for k, (mine, theirs) in enumerate(zip(one, other, strict=True)) if mine != theirs)
            inside = _differing_at(one[place], other[place])
            return f"[{place}]{'.' * bool(inside)}{inside}"
        case _:
            return ""


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

    def result(self, point: Point) -> PointResult | None:
        """A point that was run, complete or failed; None of one that was not."""
        return _read(self._text(point), point)

    def add(self, found: PointResult) -> None:
        with whole(self._place(found.point)) as draft:
            write_text(draft, as_json(_FILE.dump_python(found)))

    def forget(self, point: Point) -> None:
        """Remove a point that failed and is tried again."""
        self._place(point.index).unlink(missing_ok=True)

    def write_table(self) -> int:
        """Write the table of all points that are there, whoever ran them; returns how many."""
        texts = self._texts()
        while True:
            found = [one for k, text in texts.items() if (one := _read(text, self.points[k])) is not None]
            if found:
                write_table(found, self.varied, self.folder / TABLE)
            now = self._texts()
            if now == texts:
                return len(found)
            texts = now

    def keep(self, point: Point, archive: bytes) -> None:
        """Unpack a point's results folder, which came as an archive (`packed`) from a worker."""
        place = self.kept(point)
        draft = draft_of(place)
        with ZipFile(BytesIO(archive)) as packed:
            packed.extractall(draft)
        shutil.rmtree(place, ignore_errors=True)
        draft.replace(place)

    def kept(self, point: Point) -> Path:
        return self.folder / f"{point.index:06d}"

    def _place(self, index: int) -> Path:
        return self.folder / DONE / f"{index:06d}.json"

    def _texts(self) -> dict[int, str]:
        texts = {k: self._text(point) for k, point in enumerate(self.points)}
        return {k: text for k, text in texts.items() if text is not None}

    def _text(self, point: Point) -> str | None:
        try:
            return self._place(point.index).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None


def swept(folder: Path) -> SweptTable:
    """The points that are done. You get a `ScenarioError` for a folder without a table, or with a file that is
    damaged."""
    path = folder / TABLE
    if not path.exists():
        raise ScenarioError("folder", str(folder), f"has no {TABLE}", "a sweep of which a point is done")
    with _reading(folder / MANIFEST, "the manifest of a sweep: a new sweep writes one"):
        manifest = cast("dict[str, dict[str, object]]", read_json(folder / MANIFEST))
        scenario, command = str(manifest["scenario"]["name"]), str(manifest.get("command", ""))
        listed = cast("Sequence[Mapping[str, object]]", manifest["scenario"].get("algorithms", ()))
        algorithms = tuple(str(one["name"]) for one in listed)
        drawn = tuple(cast("Mapping[str, object]", manifest.get("sweep", {}).get("random", {})))
        version = str(manifest["versions"].get("netsim-lab", ""))
    with _reading(path, f"the table of a sweep: `netsim sweep FILE --out {folder}` writes it again"):
        check_regular(path)
        table = parquet.read_table(path)
        names: list[str] = table.column_names
        for name in COLUMNS:
            if name not in names and name != "learned":  # which tables of older versions have not
                raise ValueError(f"it has no column {name!r}")
        if not table.num_rows:
            raise ValueError("it has no rows")
        fields = tuple(names[: names.index(next(iter(POINT)))])
        rows = cast("list[TablePoint]", table.to_pylist())
    return SweptTable(scenario, command, version, fields, rows, algorithms, drawn)


@contextmanager
def _reading(path: Path, allowed: str) -> Generator[None]:
    """A `ScenarioError` that names the file, and what is allowed, where it cannot be read, or is of another kind."""
    try:
        yield
    except (LookupError, TypeError, AttributeError):
        raise ScenarioError("file", str(path), "has other contents", allowed, str(path)) from None
    except (ArrowException, OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise ScenarioError("file", str(path), f"damaged ({why})", allowed, str(path)) from None
