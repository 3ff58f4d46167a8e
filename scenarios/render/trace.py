"""Transcript queries: packets selected from a folder or file, their totals by link and kind, as a table or JSON."""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from netsim.errors import NetsimError, ScenarioError, TranscriptError
from netsim.transcript.record import COLUMNS, EVERYBODY, Event, Place, Record, Selection
from netsim.transcript.stored import Rows, StreamedTranscript
from scenarios.results.files import MANIFEST

if TYPE_CHECKING:
    from scenarios.schema.network import MessageSpec

_NAMED = 20
"""Agents that a message lists."""
ALL = "`transcript.replicas: all` in the scenario keeps them all"


@dataclass(frozen=True)
class _Known:
    """Of a manifest, of any version, what a trace needs; None where it does not say."""

    agents: int | None
    replicas: int | None
    messages: object
    """Of the scenario, not yet validated: an empty mapping where it says nothing, None where there is no scenario."""

    @classmethod
    def of(cls, manifest: Any) -> "_Known":
        scenario, problem = _part(manifest, "scenario"), _part(manifest, "problem")
        agents, replicas = problem.get("agents"), scenario.get("replicas")
        return cls(
            agents if isinstance(agents, int) else None,
            replicas if isinstance(replicas, int) else None,
            scenario.get("messages", {}) if scenario else None,
        )


def _part(manifest: Any, name: str) -> dict[str, object]:
    found = manifest.get(name)
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]


@dataclass(frozen=True)
class Traced:
    """A transcript on disk and, where there is one, the manifest of its results folder."""

    rows: StreamedTranscript
    manifest: _Known | None

    @classmethod
    def open(cls, place: Path, algorithm: str | None = None) -> "Traced":
        """A results folder (and which algorithm of it), a folder of spools, a Parquet file or a spool.

        You get a `ScenarioError` for an algorithm that is not there, a `TranscriptError` where one has to be chosen,
        and for a file that is no transcript.
        """
        file = _chosen(place, algorithm) if place.is_dir() else place
        if file is place and algorithm is not None:
            raise TranscriptError(f"{place}: one transcript already; --algorithm chooses among those of a folder")
        return cls(StreamedTranscript.open(file), _manifest(file))

    @property
    def agents(self) -> int | None:
        """How many there were, where the manifest says so."""
        return None if self.manifest is None else self.manifest.agents

    def messages(self) -> "MessageSpec":
        """Codec and header of the run; without a manifest, the default ones.

        You get a `TranscriptError` for a manifest that says what no scenario can.
        """
        from pydantic import ValidationError

        from scenarios.schema.network import MessageSpec  # takes its time to load

        try:
            return MessageSpec.model_validate({} if self.manifest is None else self.manifest.messages)
        except ValidationError:
            raise TranscriptError(f"{MANIFEST} of {self.rows.path}: its scenario has no messages to go by") from None

    def has_replica(self, index: int) -> None:
        """You get a `ScenarioError` where the transcript lacks it, with what would keep it."""
        if index < self.rows.replicas:
            return
        allowed = f"0 … {self.rows.replicas - 1}"
        if self.rows.replicas == 1 and (self.manifest is None or self.manifest.replicas != 1):
            allowed += f"; {ALL}"
        raise ScenarioError("--replica", index, "the transcript has no such replica", allowed)

    def check(self, chosen: StreamedTranscript, by: Selection) -> str:
        """Why no row was chosen, if that is so and can be said; else "".

        You get a `ScenarioError` for an agent that was not there. Without a manifest, which names all agents, only if
        no row was chosen: agents are then those of the transcript.
        """
        if self.agents is not None:
            _present(by, range(self.agents))
        if _any(chosen):
            return ""
        overview = TranscriptOverview.of(self.rows)
        if self.agents is None:
            _present(by, sorted(overview.agents))
        return overview.without(by)

    def export(self, rows: StreamedTranscript, path: Path, replica: int, place: Place | None) -> int:
        """Write rows captured on links, or at this place, for Wireshark; the number of packets.

        You get a `ScenarioError` for a file that cannot be written, a `TranscriptError` where all rows are of doors
        and these were not asked for, and for rows that are not of these messages.
        """
        from netsim.transcript.pcapng import export

        if place is None and _any(rows.select(place="node")) and not _any(rows.select(place="link")):
            raise TranscriptError(
                "--pcapng: none of these rows was captured on a link; --place node exports the others"
            )
        spec = self.messages()
        packets = (row for row in rows if row.event != "closed")
        try:
            codec, size = spec.codec.build(), spec.header
            return export(packets, path, replica=replica, place=place or "link", codec=codec, header_bytes=size)
        except OSError as error:
            why = error.strerror or str(error)
            raise ScenarioError("--pcapng", str(path), f"cannot be written ({why})", "a file to write to") from None
        except TranscriptError as error:
            if self.manifest is not None:
                raise
            raise TranscriptError(
                f"{error}. No {MANIFEST} beside {self.rows.path} says how its messages were sent, so this took them "
                "for float64 with a header of 20 bytes; trace it in its results folder"
            ) from None


# ── transcripts of a place ──────────────────────────────────────────────────────────────────────────────────────


def _chosen(place: Path, algorithm: str | None) -> Path:
    found = transcripts(place)
    if not found:
        raise TranscriptError(f"{place}: holds no transcript; give a results folder, a .parquet or a .spool file")
    if algorithm is None:
        if len(found) > 1:
            raise TranscriptError(f"{place}: several transcripts; choose one with --algorithm: {', '.join(found)}")
        return next(iter(found.values()))
    if algorithm not in found:
        raise ScenarioError("--algorithm", algorithm, "no transcript of it", ", ".join(found))
    return found[algorithm]


def transcripts(folder: Path) -> dict[str, Path]:
    """The transcripts of a results folder by the slug of their algorithm: files, and spools that have no file.

    Of several spools of one algorithm each is called SLUG.NAME, after its adversary. In a folder that has none of
    these, the spools that lie in it by their names; one alone in transcript-SLUG by its slug.
    """
    found = {path.stem.removeprefix("transcript-"): path for path in folder.glob("transcript-*.parquet")}
    for inner in folder.glob("transcript-*/"):
        slug, spools = inner.name.removeprefix("transcript-"), sorted(inner.glob("*.spool"))
        if slug not in found:
            found |= {slug if len(spools) == 1 else f"{slug}.{path.stem}": path for path in spools}
    spools, name = sorted(folder.glob("*.spool")), folder.resolve().name
    if not found and len(spools) == 1 and name.startswith("transcript-"):
        return {name.removeprefix("transcript-"): spools[0]}
    return dict(sorted(found.items())) or {path.stem: path for path in spools}


def _manifest(file: Path) -> _Known | None:
    """Of the results folder a transcript lies in; a spool's is one further up."""
    folder = file.resolve().parent
    spooled = file.suffix == ".spool" and folder.name.startswith("transcript-")
    for one in (folder, folder.parent) if spooled else (folder,):
        try:
            manifest: Any = json.loads((one / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(manifest, dict):
            return _Known.of(manifest)
    return None


def refused(error: NetsimError, place: Path) -> str:
    """Why a place cannot be traced, with what would do."""
    if isinstance(error, TranscriptError) and not place.exists():
        return f"{place}: no such file or folder"
    if isinstance(error, TranscriptError) and place.name.startswith("metrics-") and place.suffix == ".parquet":
        other = place.name.replace("metrics", "transcript", 1)
        return f"{place}: the metrics of a run; its transcript is {other}"
    return str(error)


# ── what was selected ─────────────────────────────────────────────────────────────────────────────────────


def selection(asked: Selection) -> Selection:
    """The same, checked. You get a `ScenarioError` for times and numbers that no row can have."""
    for name, time in (("--since", asked.since), ("--until", asked.until)):
        if math.isnan(time):
            raise ScenarioError(name, time, "not a time", "virtual seconds")
    if asked.until <= asked.since:
        raise ScenarioError("--until", asked.until, f"not after --since = {asked.since:g}", "later times")
    for number in asked.numbers or ():
        if number < -1:
            raise ScenarioError("--number", number, "messages count from 0", "0 or more; -1: without a number")
    return asked


def _present(by: Selection, there: Iterable[int]) -> None:
    known = list(there)
    for name, agents, others in (("--from", by.senders, ()), ("--to", by.receivers, (EVERYBODY,))):
        for agent in sorted(agents or ()):
            if agent not in known and agent not in others:
                raise ScenarioError(name, agent, "no such agent", _listed(known))


def _listed(agents: list[int]) -> str:
    if len(agents) > 2 and agents == list(range(len(agents))):
        return f"0 … {agents[-1]}"
    names = ["all (-1)" if agent == EVERYBODY else str(agent) for agent in agents[:_NAMED]]
    return ", ".join(names) + (", …" if len(agents) > _NAMED else "") or "none: nothing was captured"


def _any(rows: StreamedTranscript) -> bool:
    return next((True for part in rows.columns() if len(part["time"])), False)


@dataclass
class TranscriptOverview:
    """Links, places, kinds and time span of a whole transcript."""

    links: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    places: set[str] = field(default_factory=set[str])
    kinds: set[str] = field(default_factory=set[str])
    first: float = math.inf
    last: float = -math.inf

    @classmethod
    def of(cls, rows: StreamedTranscript) -> "TranscriptOverview":
        """In bounded memory; values are not read."""
        found = cls()
        for part in rows.columns():
            if len(part["time"]):
                pairs = np.unique(np.stack([part["sender"], part["receiver"]]), axis=1)
                found.links.update(zip(*pairs.tolist(), strict=True))
                found.places.update(part["place"].tolist())
                found.kinds.update(part["kind"].tolist())
                found.first = min(found.first, float(part["time"].min()))
                found.last = max(found.last, float(part["time"].max()))
        return found

    @property
    def agents(self) -> set[int]:
        """Who sent or was sent something."""
        return {agent for link in self.links for agent in link} - {EVERYBODY}

    def without(self, by: Selection) -> str:
        """The selected thing that is nowhere in the transcript, in a sentence."""
        if not self.links:
            return "The transcript has no rows."
        if by.places is not None and not by.places & self.places:
            where = "on links" if "link" in by.places else "at doors: no tap sat at an agent, or nothing passed"
            return f"Nothing was captured {where}."
        if by.kinds is not None and not by.kinds & self.kinds:
            return f"The transcript has no such kind; it has {', '.join(sorted(self.kinds))}."
        if by.since > self.last or by.until <= self.first:
            return f"The transcript has no such times; it goes from {self.first:.6g} to {self.last:.6g} s."
        return self._who(by) or "Each selected value is in the transcript, but not together."

    def _who(self, by: Selection) -> str:
        sends = {i: sorted(j for one, j in self.links if one == i) for i in sorted(by.senders or ())}
        gets = {j: sorted(i for i, one in self.links if one == j) for j in sorted(by.receivers or ())}
        if any((by.senders is None or i in by.senders) and (by.receivers is None or j in by.receivers)
               for i, j in self.links):  # fmt: skip
            return ""
        found = [
            f"{i} was captured sending to {_listed(to)}" if to else f"{i} was never captured"
            for i, to in sends.items()
        ] or [f"{j} received from {_listed(of)}" if of else f"nothing for {j} was captured" for j, of in gets.items()]
        return f"The transcript has no such link: {'; '.join(found[:3])}."


_TALKERS = 10
"""Links that a summary names, by event."""
_EVENTS: dict[Event, str] = {"air": "on air", "sent": "sent", "received": "received"}
"""A message passes each of these, so that they are never added up."""
Link = tuple[int, int]


@dataclass
class Sum:
    """Rows and bytes, in all and per link and kind, of the rows of one event."""

    rows: int = 0
    bytes: int = 0
    links: dict[Link, tuple[int, int]] = field(default_factory=dict[Link, tuple[int, int]])
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])

    def count(self, link: Link, kind: str, rows: int, size: int) -> None:
        """So many rows more, `size` bytes together."""
        self.rows, self.bytes = self.rows + rows, self.bytes + size
        known = self.links.get(link, (0, 0))
        self.links[link] = known[0] + rows, known[1] + size
        known = self.kinds.get(kind, (0, 0))
        self.kinds[kind] = known[0] + rows, known[1] + size

    def talkers(self) -> list[tuple[Link, tuple[int, int]]]:
        """Every link, in order of bytes."""
        return sorted(self.links.items(), key=lambda item: (-item[1][1], item[0]))

    def plain(self) -> dict[str, object]:
        """The sums as JSON has them."""
        links = [{"sender": i, "receiver": j, "rows": r, "bytes": b} for (i, j), (r, b) in self.talkers()]
        kinds = {kind: {"rows": r, "bytes": b} for kind, (r, b) in sorted(self.kinds.items())}
        return {"rows": self.rows, "bytes": self.bytes, "links": links, "kinds": kinds}


@dataclass
class Totals:
    """How many rows, from when to when, the sums by event, and how many exchanges were closed."""

    rows: int = 0
    closed: int = 0
    first: float = math.inf
    last: float = -math.inf
    events: dict[Event, Sum] = field(default_factory=dict[Event, Sum])

    @classmethod
    def of(cls, rows: StreamedTranscript) -> "Totals":
        """Of all rows, in bounded memory; values are not read."""
        totals = cls()
        for part in rows.columns():
            totals._add_columns(part)
        return totals

    def add(self, row: Record) -> None:
        """One more row."""
        self._meet(1, row.time, row.time)
        if row.event == "closed":
            self.closed += 1
        else:
            self._sum(row.event).count((row.sender, row.receiver), row.kind, 1, row.size)

    def _meet(self, rows: int, first: float, last: float) -> None:
        self.rows, self.first, self.last = self.rows + rows, min(self.first, first), max(self.last, last)

    def _sum(self, event: Event) -> Sum:
        return self.events.setdefault(event, Sum())

    def _add_columns(self, part: Rows) -> None:
        if not len(part["time"]):
            return
        self._meet(len(part["time"]), float(part["time"].min()), float(part["time"].max()))
        self.closed += int(np.count_nonzero(part["event"] == "closed"))
        for event in _EVENTS:
            chosen = np.flatnonzero(part["event"] == event)
            if len(chosen):
                names = ("sender", "receiver", "kind", "size")
                self._add_event(self._sum(event), *(part[name][chosen] for name in names))

    @staticmethod
    def _add_event(to: Sum, sender: Any, receiver: Any, kind: Any, size: Any) -> None:
        kinds, which = np.unique(kind.astype(str), return_inverse=True)
        receivers = int(receiver.max()) - EVERYBODY + 1
        keys, group = np.unique(
            (sender * receivers + receiver - EVERYBODY) * len(kinds) + which, return_inverse=True
        )  # fmt: skip
        sizes = np.zeros(len(keys), np.int64)
        np.add.at(sizes, group, size)
        rows = np.bincount(group, minlength=len(keys))
        for key, count, total in zip(keys.tolist(), rows.tolist(), sizes.tolist(), strict=True):
            link, what = divmod(key, len(kinds))
            i, j = divmod(link, receivers)
            to.count((i, j + EVERYBODY), str(kinds[what]), count, total)

    def _sums(self) -> list[tuple[str, Sum]]:
        return [(word, self.events[event]) for event, word in _EVENTS.items() if event in self.events]

    def sentence(self) -> str:
        """Rows, bytes and span, by event: on air, sent and received."""
        span = f", {self.first:.6g} … {self.last:.6g} s" if self.rows else ""
        rows, sums = f"{self.rows:,} row{'s' * (self.rows != 1)}", self._sums()
        if not self.closed and len(sums) < 2:
            return f"{rows}, {sum(one.bytes for _, one in sums):,} bytes{span}"
        parts = [f"{one.rows:,} {word} ({one.bytes:,} bytes)" for word, one in sums]
        if self.closed:
            parts.append(f"{self.closed:,} exchange{'s' * (self.closed != 1)} closed")
        return f"{rows}: {', '.join(parts)}{span}"

    def tables(self) -> tuple[Table, Table]:
        """The links with most bytes, and every kind; shares are of the bytes of the same event."""
        links, kinds = _table("from → to"), _table("kind")
        for word, one in self._sums():
            talkers = one.talkers()
            for (i, j), counts in talkers[:_TALKERS]:
                _add(links, word, f"{i} → {'all' if j == EVERYBODY else j}", counts, one)
            if rest := [counts for _, counts in talkers[_TALKERS:]]:
                more = sum(rows for rows, _ in rest), sum(size for _, size in rest)
                _add(links, word, f"… and {len(rest):,} more link{'s' * (len(rest) != 1)}", more, one)
            for kind, counts in sorted(one.kinds.items()):
                _add(kinds, word, kind, counts, one)
        return links, kinds

    def as_json(self) -> str:
        """Everything as one JSON object; links of an event in order of bytes."""
        span = [_finite(self.first), _finite(self.last)] if self.rows else None
        events = {event: self.events[event].plain() for event in _EVENTS if event in self.events}
        return json.dumps({"rows": self.rows, "span": span, "events": events, "closed": self.closed})


def _table(what: str) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("event", no_wrap=True)
    table.add_column(what, no_wrap=True)
    for name in ("rows", "bytes", "share"):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _add(table: Table, word: str, name: str, counts: tuple[int, int], of: Sum) -> None:
    rows, size = counts
    table.add_row(word, name, f"{rows:,}", f"{size:,}", f"{size / max(1, of.bytes):.1%}")


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


_HEADS = ("time (s)", "from", "to", "event", "kind", "no.", "try", "bytes")
_LEFT = ("event", "kind")
_SPARED = ("event", "try")
"""Columns that give way in a narrow terminal where they say the same in every row."""


def table(rows: StreamedTranscript, limit: int, replica: int, values: bool, width: int) -> tuple[Table, Totals, bool]:
    """The first rows as a table (all, for a limit of 0) for a terminal `width` letters wide, what they come to, and
    whether there are more."""
    totals, read, cells = Totals(), iter(rows), list[tuple[str, ...]]()
    for row in islice(read, limit or None):
        totals.add(row)
        cells.append(tuple(_cells(row, replica, values)))
    return _laid_out(cells, "values" if values else "norms", width), totals, next(read, None) is not None


def _laid_out(cells: list[tuple[str, ...]], last: str, width: int) -> Table:
    """Numbers stay whole, fields fold at spaces. Where the longest word of a field has no room, columns give way."""
    columns = dict(zip((*_HEADS, last), zip(*cells, strict=True), strict=False))
    widths = {name: max(map(len, (name, *column))) for name, column in columns.items()}
    widths[last] = max(map(len, (last, *" ".join(columns.get(last, ())).split())))
    tight = sum(widths.values()) + 2 * len(widths) + 1 > width
    shown = Table(box=SIMPLE_HEAD, padding=(0, 0 if tight else 1, 0, 0), show_edge=not tight, caption_justify="left")
    for name in _SPARED:
        if sum(widths.values()) + len(widths) - 1 > width and len(set(columns.get(name, ()))) == 1:
            shown.caption = f"{shown.caption or 'every row:'} {name} {columns.pop(name)[0]} "
            del widths[name]
    for name in columns:
        numbers = name != last and name not in _LEFT
        shown.add_column(
            name,
            justify="right" if numbers else "left",
            no_wrap=name != last,
            overflow="fold" if name == last else "ellipsis",
        )
    for row in zip(*columns.values(), strict=True):
        shown.add_row(*(cell.replace("[", "\\[") for cell in row))
    return shown


def _cells(row: Record, replica: int, values: bool) -> Iterator[str]:
    yield f"{row.time:.6f}"
    yield str(row.sender)
    yield "all" if row.receiver == EVERYBODY else str(row.receiver)
    yield _EVENTS.get(row.event, row.event)
    yield row.kind
    yield "" if row.number < 0 else str(row.number)
    yield str(row.attempt)
    yield f"{row.size:,}"
    told = (f"{name}={_vector_text(value[replica], values)}" for name, value in sorted(row.values.items()))
    yield "  ".join(told)


def _vector_text(vector: Any, values: bool) -> str:
    return f"[{', '.join(f'{one:.6g}' for one in vector)}]" if values else f"{np.linalg.norm(vector):.4g}"


def as_json(row: Record, values: bool) -> str:
    """One row as a JSON object: its columns, and per field the norm in each replica, or the values themselves.

    Numbers that JSON has no words for are the texts "inf", "-inf", "nan".
    """
    whole: dict[str, object] = {name: getattr(row, name) for name in COLUMNS}
    key = "values" if values else "norms"
    whole[key] = {
        name: _json_number((value if values else np.linalg.norm(value, axis=1)).tolist())
        for name, value in sorted(row.values.items())
    }
    return json.dumps(whole | {"time": _json_number(row.time)}, ensure_ascii=False, allow_nan=False)


def _json_number(value: Any) -> Any:
    if isinstance(value, list):
        return [_json_number(one) for one in cast(list[Any], value)]
    return value if math.isfinite(value) else str(value)
