"""`netsim trace`: a transcript asked afterwards. Who sent what to whom when, from a results folder or a file.

Nothing is loaded: rows are read until enough are shown; a summary reads times, agents, kinds and sizes only.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from netsim.errors import NetsimError, ScenarioError, TranscriptError
from netsim.spool import SpooledTranscript
from netsim.transcript import COLUMNS, EVERYBODY, Record

TALKERS = 10
"""Links that a summary names."""


@dataclass(frozen=True)
class Traced:
    """A transcript on disk and, where its folder's manifest says so, how many agents there were."""

    rows: SpooledTranscript
    agents: int | None

    @classmethod
    def open(cls, place: Path, algorithm: str | None = None) -> "Traced":
        """A results folder (and which algorithm of it), a Parquet file or a spool.

        You get a `ScenarioError` for an algorithm that is not there or not said, a `TranscriptError` for a file that
        is no transcript.
        """
        if not place.is_dir():
            return cls(SpooledTranscript.open(place), _agents(place))
        found = transcripts(place)
        if not found:
            raise ScenarioError(
                "folder", str(place), "holds no transcript", "a results folder, a .parquet or .spool file"
            )
        if algorithm is None and len(found) > 1:
            raise ScenarioError("algorithm", None, "the folder has several transcripts", ", ".join(found))
        slug = next(iter(found)) if algorithm is None else algorithm
        if slug not in found:
            raise ScenarioError("algorithm", slug, "no transcript of it", ", ".join(found))
        return cls(SpooledTranscript.open(found[slug]), _agents(found[slug]))

    def check(self, asked: dict[str, list[int] | None], chosen: SpooledTranscript) -> None:
        """You get a `ScenarioError` for an agent that was not there.

        Where no manifest says who was there, only if no row was chosen: who was heard is then looked for.
        """
        present: set[int] | None = None if self.agents is None else set(range(self.agents))
        for name, agents in asked.items():
            for agent in agents or ():
                if present is None:
                    if next(iter(chosen.columns()), None) is not None:
                        return
                    present = _heard(self.rows)
                if agent not in present and agent != EVERYBODY:
                    raise ScenarioError(name, agent, "no such agent", _listed(sorted(present)))


def transcripts(folder: Path) -> dict[str, Path]:
    """The transcripts of a results folder by the slug of their algorithm: files, and spools that have no file.

    Of several spools of one algorithm each is called SLUG.NAME, after its adversary.
    """
    found = {path.stem.removeprefix("transcript-"): path for path in folder.glob("transcript-*.parquet")}
    for inner in folder.glob("transcript-*/"):
        slug, spools = inner.name.removeprefix("transcript-"), sorted(inner.glob("*.spool"))
        if slug not in found:
            found |= {slug if len(spools) == 1 else f"{slug}.{path.stem}": path for path in spools}
    return dict(sorted(found.items()))


def _agents(file: Path) -> int | None:
    for folder in (file.parent, file.parent.parent):
        try:
            manifest: Any = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            return int(manifest["problem"]["agents"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


def _heard(rows: SpooledTranscript) -> set[int]:
    heard: set[int] = set()
    for part in rows.columns():
        heard.update(np.unique(part["sender"]).tolist(), np.unique(part["receiver"]).tolist())
    return heard - {EVERYBODY}


def _listed(agents: list[int]) -> str:
    if agents and agents == list(range(len(agents))):
        return f"0 … {agents[-1]}"
    return ", ".join(map(str, agents[:20])) + (", …" if len(agents) > 20 else "") or "none: nothing was heard"


# ── rows ────────────────────────────────────────────────────────────────────────────────────────────────


def table(rows: SpooledTranscript, limit: int, replica: int, values: bool) -> tuple[Table, "Totals", bool]:
    """The first rows as a table (all, for a limit of 0), what they come to, and whether there are more."""
    shown = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("time (s)", "from", "to"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("heard")
    shown.add_column("kind")
    for name in ("number", "attempt", "bytes"):
        shown.add_column(name, justify="right")
    shown.add_column("values" if values else "‖·‖₂ of the fields", overflow="fold")
    totals, read = Totals(), iter(rows)
    for row in islice(read, limit or None):
        totals.add(row)
        shown.add_row(*_cells(row, replica, values))
    return shown, totals, next(read, None) is not None


def _cells(row: Record, replica: int, values: bool) -> Iterator[str]:
    yield f"{row.time:.6f}"
    yield str(row.sender)
    yield "all" if row.receiver == EVERYBODY else str(row.receiver)
    yield row.event if row.place == "node" else "on air"
    yield row.kind
    yield "" if row.number < 0 else str(row.number)
    yield str(row.attempt)
    yield f"{row.size:,}"
    told = (f"{name}={_told(value[replica], values)}" for name, value in sorted(row.values.items()))
    yield "  ".join(told).replace("[", "\\[")


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


# ── sums ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Totals:
    """What rows come to: how many, bytes, from when to when, and (rows, bytes) per link and kind."""

    rows: int = 0
    bytes: int = 0
    first: float = math.inf
    last: float = -math.inf
    links: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict[tuple[int, int], tuple[int, int]])
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    @classmethod
    def of(cls, rows: SpooledTranscript) -> "Totals":
        """Of all rows, in bounded memory; values are not read."""
        totals = cls()
        for part in rows.columns():
            totals._add_columns(part)
        return totals

    def add(self, row: Record) -> None:
        """One more row."""
        self._count(row.sender, row.receiver, row.kind, 1, row.size)
        self.first, self.last = min(self.first, row.time), max(self.last, row.time)

    def _add_columns(self, part: dict[str, Any]) -> None:
        if not len(part["time"]):
            return
        self.first, self.last = min(self.first, part["time"].min()), max(self.last, part["time"].max())
        kinds, kind = np.unique(part["kind"].astype(str), return_inverse=True)
        receivers = int(part["receiver"].max()) - EVERYBODY + 1
        key = (part["sender"] * receivers + part["receiver"] - EVERYBODY) * len(kinds) + kind
        keys, group = np.unique(key, return_inverse=True)
        sizes = np.zeros(len(keys), np.int64)
        np.add.at(sizes, group, part["size"])
        rows = np.bincount(group, minlength=len(keys))
        for one, count, size in zip(keys.tolist(), rows.tolist(), sizes.tolist(), strict=True):
            link, what = divmod(one, len(kinds))
            sender, receiver = divmod(link, receivers)
            self._count(sender, receiver + EVERYBODY, str(kinds[what]), count, size)

    def _count(self, sender: int, receiver: int, kind: str, rows: int, size: int) -> None:
        self.rows, self.bytes = self.rows + rows, self.bytes + size
        for counts, key in ((self.links, (sender, receiver)), (self.kinds, kind)):
            counts = cast(dict[Any, tuple[int, int]], counts)
            known = counts.get(key, (0, 0))
            counts[key] = known[0] + rows, known[1] + size

    def sentence(self) -> str:
        """Rows, bytes and span."""
        span = f", {self.first:.6g} … {self.last:.6g} s" if self.rows else ""
        return f"{self.rows:,} row{'s' * (self.rows != 1)}, {self.bytes:,} bytes{span}"

    def talkers(self) -> Table:
        """The links with most bytes, and every kind."""
        shown = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        shown.add_column("link or kind", no_wrap=True)
        for name in ("rows", "bytes", "share of bytes"):
            shown.add_column(name, justify="right")
        most = sorted(self.links.items(), key=lambda item: (-item[1][1], item[0]))[:TALKERS]
        named = [(f"{i} → {'all' if j == EVERYBODY else j}", counts) for (i, j), counts in most]
        for name, (rows, size) in [*named, *sorted(self.kinds.items())]:
            shown.add_row(name, f"{rows:,}", f"{size:,}", f"{size / max(1, self.bytes):.1%}")
        return shown

    def as_json(self) -> str:
        """Everything as one JSON object; links as "SENDER-RECEIVER" are in order of bytes."""
        links = sorted(self.links.items(), key=lambda item: (-item[1][1], item[0]))
        span = [_finite(float(self.first)), _finite(float(self.last))] if self.rows else None
        return json.dumps(
            {
                "rows": self.rows,
                "bytes": self.bytes,
                "span": span,
                "links": [{"sender": i, "receiver": j, "rows": r, "bytes": b} for (i, j), (r, b) in links],
                "kinds": {kind: {"rows": r, "bytes": b} for kind, (r, b) in sorted(self.kinds.items())},
            }
        )


def refused(error: NetsimError, place: Path) -> str:
    """Why a place cannot be traced, with what would do."""
    if isinstance(error, TranscriptError) and not place.exists():
        return f"{place}: no such file or folder"
    return str(error)
