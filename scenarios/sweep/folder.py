"""A sweep's folder: its manifest, a file for each point that is done, and the table of them.

Several processes may work in it at once, on one machine or on a shared file system. Every file is written whole under
a name of its own and then renamed, and whoever writes the table looks again at what it wrote it from: after the last
of them the table has all.
"""

import json
import os
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from zipfile import ZIP_DEFLATED, ZipFile

from netsim.errors import ScenarioError
from scenarios import describe
from scenarios.jsonfile import write_json
from scenarios.loader import Located
from scenarios.sweep import table
from scenarios.sweep.points import Point
from scenarios.sweep.spec import Sweep

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
        with whole(path) as draft:
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
def whole(path: Path) -> Generator[Path]:
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

    def rows(self, point: Point) -> list[table.Row] | None:
        """Those of a point, complete or failed; None of one that nobody did yet."""
        return self._rows(point, self._text(point))

    def add(self, point: Point, rows: list[table.Row]) -> None:
        with whole(self._place(point)) as draft:
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
                table.write([row for rows in found.values() for row in rows], self.varied, self.folder / TABLE)
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

    def _rows(self, point: Point, text: str | None) -> list[table.Row] | None:
        try:
            return None if text is None else table.read(point, json.loads(text)["rows"])
        except (ValueError, KeyError, TypeError):
            return None
