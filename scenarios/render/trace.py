"""Transcript queries: packets selected from a folder or file, their totals by link and kind, as a table or JSON."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from netsim.errors import ScenarioError, TranscriptError
from netsim.files import not_written, read_json
from netsim.transcript.message import COLUMNS, EVERYBODY, Place, Record, Selection
from netsim.transcript.stored import StreamedTranscript
from scenarios.files.folders import MANIFEST
from scenarios.render.tables import Column
from scenarios.results.folder import is_results, no_results
from scenarios.results.header import chosen, slugs

_NAMED = 20
"""Agents that a message lists."""
_TALKERS = 10
"""Links that a summary names, by event."""
_EVENTS: dict[str, str] = {"air": "on air", "sent": "sent", "received": "received"}
"""A message passes each of these, so that they are never added up."""
_Count = tuple[int, int]
"""Rows, and their bytes together."""


@dataclass(frozen=True)
class _Known:
    """Of a manifest, of any version, what a trace needs; None where it does not say."""

    agents: int | None
    replicas: int | None
    names: tuple[str, ...]
    """The agents' names; empty where they have numbers alone."""
    messages: object
    """Of the scenario, not yet validated: an empty mapping where it says nothing, None where there is no scenario."""
    algorithms: tuple[str, ...]
    """The algorithms' names, as far as it has them."""


@dataclass(frozen=True)
class Traced:
    """Rows selected from a transcript on disk and, where there is one, the manifest of its results folder."""

    rows: StreamedTranscript
    manifest: _Known | None
    nothing: str = ""
    """Why no row was selected, if that is so and can be said."""

    @classmethod
    def open(cls, place: Path, algorithm: str | None, by: Selection, replica: int) -> "Traced":
        """A results folder (and which algorithm of it), a folder of spools, a Parquet file or a spool.

        You get a `ScenarioError` for times and numbers that no row can have, for an algorithm, an agent or a replica
        that is not there; a `TranscriptError` where an algorithm has to be chosen, and for a file that is no
        transcript. Without a manifest, which names all agents, agents are those of the transcript, and one that is
        not there is an error only if no row was selected.
        """
        for name, time in (("--since", by.since), ("--until", by.until)):
            if math.isnan(time):
                raise ScenarioError(name, time, "not a time", "virtual seconds")
        if by.until <= by.since:
            raise ScenarioError("--until", by.until, f"not after --since = {by.since:g}", "later times")
        file = _chosen(place, algorithm) if place.is_dir() else place
        if file is place and algorithm is not None:
            raise TranscriptError(f"{place}: one transcript already; --algorithm chooses among those of a folder")
        rows, manifest = StreamedTranscript.open(file), _manifest(file)
        if replica >= rows.replicas:
            allowed = f"0 … {rows.replicas - 1}"
            if rows.replicas == 1 and (manifest is None or manifest.replicas != 1):
                allowed += "; `transcript.replicas: all` in the scenario keeps them all"
            raise ScenarioError("--replica", replica, "the transcript has no such replica", allowed)
        agents = None if manifest is None else manifest.agents
        if agents is not None:
            _present(by, range(agents))
        if _any(chosen := rows.narrowed(by)):
            return cls(chosen, manifest)
        overview = _Overview(rows)
        if agents is None:
            _present(by, sorted({agent for link in overview.links for agent in link} - {EVERYBODY}))
        return cls(chosen, manifest, overview.without(by))

    def export(self, path: Path, replica: int, place: Place | None) -> int:
        """Write the rows captured on links, or at this place, for Wireshark; the number of packets.

        You get a `ScenarioError` for a file that cannot be written, a `TranscriptError` where all rows are of doors
        and these were not requested, for a manifest that says what no scenario can, and for rows that are not of the
        messages that it has; without a manifest, of the default ones.
        """
        from pydantic import ValidationError

        from netsim.transcript.pcapng import export
        from scenarios.schema.world import MessageSpec  # takes its time to load

        if place is None and _any(self.rows.select(place="node")) and not _any(self.rows.select(place="link")):
            raise TranscriptError(
                "--pcapng: none of these rows was captured on a link; --place node exports the others"
            )
        try:
            spec = MessageSpec.model_validate({} if self.manifest is None else self.manifest.messages)
        except ValidationError:
            raise TranscriptError(f"{MANIFEST} of {self.rows.path}: its scenario has no messages to go by") from None
        packets = (row for row in self.rows if row.event != "closed")
        try:
            codec, size = spec.codec.build(), spec.header
            return export(packets, path, replica=replica, place=place or "link", codec=codec, header_bytes=size)
        except OSError as error:
            raise ScenarioError("--pcapng", str(path), not_written(error), "a file to write to") from None
        except TranscriptError as error:
            if self.manifest is not None:
                raise
            raise TranscriptError(
                f"{error}. No {MANIFEST} beside {self.rows.path} says how its messages were sent, so this took them "
                "for float64 with a header of 20 bytes; trace it in its results folder"
            ) from None

    def table(self, limit: int, replica: int, values: bool, width: int) -> "tuple[Table | Group, Totals, bool]":
        """The first rows (all, for a limit of 0) as a table for a terminal `width` letters wide, what they come to,
        and whether there are more."""
        totals, read, cells = Totals(), iter(self.rows), list[tuple[str, ...]]()
        for row in islice(read, limit or None):
            totals.add(row)
            vectors = [(name, value[replica]) for name, value in sorted(row.values.items())]
            texts = [
                f"{name}=[{', '.join(f'{one:.6g}' for one in v)}]" if values else f"{name}={np.linalg.norm(v):.4g}"
                for name, v in vectors
            ]
            cells.append(
                (
                    f"{row.time:.6f}",
                    self.name(row.sender),
                    self.name(row.receiver),
                    _EVENTS.get(row.event, row.event),
                    row.kind,
                    "" if row.number < 0 else str(row.number),
                    str(row.attempt),
                    f"{row.size:,}",
                    "  ".join(texts),
                )
            )
        return _laid_out(cells, "values" if values else "norms", width), totals, next(read, None) is not None

    def name(self, agent: int) -> str:
        """An agent by its name, where a file gave it one, or its number."""
        names = () if self.manifest is None else self.manifest.names
        return "all" if agent == EVERYBODY else names[agent] if agent < len(names) else str(agent)

    def as_json(self, limit: int, values: bool) -> Iterator[str]:
        """Each of the first rows (all, for a limit of 0) as a JSON object: its columns, and per field the norm in
        each replica, or the values themselves.

        Numbers that JSON has no words for are the texts "inf", "-inf", "nan".
        """
        for row in islice(self.rows, limit or None):
            whole: dict[str, object] = {name: getattr(row, name) for name in COLUMNS}
            whole["values" if values else "norms"] = {
                name: _json_number((value if values else np.linalg.norm(value, axis=1)).tolist())
                for name, value in sorted(row.values.items())
            }
            if self.manifest is not None and self.manifest.names:
                whole |= {"from": self.name(row.sender), "to": self.name(row.receiver)}
            yield json.dumps(whole | {"time": _json_number(row.time)}, ensure_ascii=False, allow_nan=False)


# ── transcripts of a place ──────────────────────────────────────────────────────────────────────────────────────


def _chosen(place: Path, algorithm: str | None) -> Path:
    found = _transcripts(place)
    if not found:
        if place.is_dir() and not is_results(place):
            raise no_results(place, "PLACE")
        raise TranscriptError(f"{place}: holds no transcript; give a results folder, a .parquet or a .spool file")
    if algorithm is None and len(found) > 1:
        raise TranscriptError(f"{place}: several transcripts; choose one with --algorithm: {', '.join(found)}")
    if algorithm is None:
        return next(iter(found.values()))
    known = _manifest(next(iter(found.values())))
    names = {} if known is None else slugs(known.algorithms)
    return found[chosen(algorithm, {one: names.get(one, one) for one in found}, "no transcript of it")]


def _transcripts(folder: Path) -> dict[str, Path]:
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
            manifest: Any = read_json(one / MANIFEST)
        except (OSError, ValueError):
            continue
        if isinstance(manifest, dict):
            parts = [cast("Any", manifest).get(name) for name in ("scenario", "problem")]
            scenario, problem = (cast("dict[str, object]", part) if isinstance(part, dict) else {} for part in parts)
            agents, replicas = problem.get("agents"), scenario.get("replicas")
            names: Any = cast("Any", manifest).get("names")
            listed = cast("list[object]", scenario.get("algorithms") or [])
            return _Known(
                agents if isinstance(agents, int) else None,
                replicas if isinstance(replicas, int) else None,
                tuple(map(str, cast("list[object]", names))) if isinstance(names, list) else (),
                scenario.get("messages", {}) if scenario else None,
                tuple(str(cast("Any", one).get("name")) for one in listed if isinstance(one, dict)),
            )
    return None


# ── what was selected ─────────────────────────────────────────────────────────────────────────────────────


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


class _Overview:
    """Links, places, kinds and time span of a whole transcript, in bounded memory; values are not read."""

    def __init__(self, rows: StreamedTranscript) -> None:
        self.links, self.places, self.kinds = set[tuple[int, int]](), set[str](), set[str]()
        self.first, self.last = math.inf, -math.inf
        for part in rows.columns():
            if len(part["time"]):
                pairs = np.unique(np.stack([part["sender"], part["receiver"]]), axis=1)
                self.links.update(zip(*pairs.tolist(), strict=True))
                self.places.update(part["place"].tolist())
                self.kinds.update(part["kind"].tolist())
                self.first = min(self.first, float(part["time"].min()))
                self.last = max(self.last, float(part["time"].max()))

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
        if any((by.senders is None or i in by.senders) and (by.receivers is None or j in by.receivers)
               for i, j in self.links):  # fmt: skip
            return "Each selected value is in the transcript, but not together."
        found: list[str] = []
        for i in sorted(by.senders or ()):
            to = sorted(j for one, j in self.links if one == i)
            found.append(f"{i} was captured sending to {_listed(to)}" if to else f"{i} was never captured")
        for j in sorted(by.receivers or ()) if not found else ():
            of = sorted(i for i, one in self.links if one == j)
            found.append(f"{j} received from {_listed(of)}" if of else f"nothing for {j} was captured")
        return f"The transcript has no such link: {'; '.join(found[:3])}."


@dataclass
class Totals:
    """How many rows, from when to when, how many exchanges were closed, and the sums by event, link and kind."""

    rows: int = 0
    closed: int = 0
    first: float = math.inf
    last: float = -math.inf
    _sums: dict[tuple[str, tuple[int, int], str], _Count] = field(default_factory=dict[Any, _Count])

    @classmethod
    def of(cls, rows: StreamedTranscript) -> "Totals":
        """Of all rows, in bounded memory; values are not read."""
        totals, names = cls(), ["event", "sender", "receiver", "kind"]
        for part in rows.columns():
            if len(part["time"]):
                table = cast("Any", pa).table({name: part[name] for name in (*names, "size")})
                for one in table.group_by(names).aggregate([("size", "count"), ("size", "sum")]).to_pylist():
                    event, i, j, kind = (one[name] for name in names)
                    totals._count(event, (i, j), kind, one["size_count"], one["size_sum"])
                totals._meet(float(part["time"].min()), float(part["time"].max()))
        return totals

    def add(self, row: Record) -> None:
        """One more row."""
        self._meet(row.time, row.time)
        self._count(row.event, (row.sender, row.receiver), row.kind, 1, row.size)

    def _meet(self, first: float, last: float) -> None:
        self.first, self.last = min(self.first, first), max(self.last, last)

    def _count(self, event: str, link: tuple[int, int], kind: str, rows: int, size: int) -> None:
        self.rows += rows
        if event == "closed":
            self.closed += rows
        else:
            known = self._sums.get((event, link, kind), (0, 0))
            self._sums[event, link, kind] = known[0] + rows, known[1] + size

    def _of(self, event: str, part: int) -> dict[Any, _Count]:
        """The sums of an event by link (1) in order of bytes, by kind (2), or in all (0)."""
        found: dict[Any, _Count] = {}
        for key, (rows, size) in self._sums.items():
            if key[0] == event:
                known = found.get(key[part], (0, 0))
                found[key[part]] = known[0] + rows, known[1] + size
        return dict(sorted(found.items(), key=lambda item: (-item[1][1] if part == 1 else 0, item[0])))

    def _events(self) -> list[tuple[str, _Count]]:
        return [(event, all_of[event]) for event in _EVENTS if (all_of := self._of(event, 0))]

    def sentence(self) -> str:
        """Rows, bytes and span, by event: on air, sent and received."""
        span = f", {self.first:.6g} … {self.last:.6g} s" if self.rows else ""
        rows, sums = f"{self.rows:,} row{'s' * (self.rows != 1)}", self._events()
        if not self.closed and len(sums) < 2:
            return f"{rows}, {sum(size for _, (_, size) in sums):,} bytes{span}"
        parts = [f"{count:,} {_EVENTS[event]} ({size:,} bytes)" for event, (count, size) in sums]
        if self.closed:
            parts.append(f"{self.closed:,} exchange{'s' * (self.closed != 1)} closed")
        return f"{rows}: {', '.join(parts)}{span}"

    def tables(self, called: Callable[[int], str]) -> Iterator[list[Column]]:
        """The links with most bytes, between agents as `called`, and every kind; shares are of the bytes of the same
        event. Nothing where there is no row."""
        links, kinds = list[tuple[str, ...]](), list[tuple[str, ...]]()
        for event, (_, total) in self._events():
            talkers = list(self._of(event, 1).items())
            named = [(f"{called(i)} → {called(j)}", counts) for (i, j), counts in talkers[:_TALKERS]]
            if rest := [counts for _, counts in talkers[_TALKERS:]]:
                more = sum(rows for rows, _ in rest), sum(size for _, size in rest)
                named.append((f"… and {len(rest):,} more link{'s' * (len(rest) != 1)}", more))
            for table, lines in ((links, named), (kinds, self._of(event, 2).items())):
                for what, (rows, size) in lines:
                    share = f"{size / max(1, total):.1%}"
                    table.append((escape(str(what)), _EVENTS[event], f"{rows:,}", f"{size:,}", share))
        for what, table in (("from → to", links), ("kind", kinds)):
            if table:
                cells = zip((what, "event", "rows", "bytes", "share"), zip(*table, strict=True), strict=True)
                yield [
                    Column(head, own, right=head in ("rows", "bytes", "share"), whole=head != what)
                    for head, own in cells
                ]

    def as_json(self) -> str:
        """Everything as one JSON object; links of an event in order of bytes."""
        span = [_json_number(self.first), _json_number(self.last)] if self.rows else None
        events: dict[str, object] = {}
        for event, (rows, size) in self._events():
            links = [
                {"sender": i, "receiver": j, "rows": r, "bytes": b} for (i, j), (r, b) in self._of(event, 1).items()
            ]
            kinds = {kind: {"rows": r, "bytes": b} for kind, (r, b) in self._of(event, 2).items()}
            events[event] = {"rows": rows, "bytes": size, "links": links, "kinds": kinds}
        return json.dumps({"rows": self.rows, "span": span, "events": events, "closed": self.closed})


_HEADS = ("time (s)", "from", "to", "event", "kind", "no.", "try", "bytes")
_LEFT = ("event", "kind")
_INDENTED = (0, 0, 0, 4)
_SPARED = ("event", "try")
"""Columns that give way in a narrow terminal where they say the same in every row."""


def _laid_out(cells: list[tuple[str, ...]], last: str, width: int) -> "Table | Group":
    """Numbers stay whole, fields fold at spaces. Where the longest word of a field has no room, columns give way, and
    where that is not enough the fields stand below their row."""
    columns = dict(zip((*_HEADS, last), zip(*cells, strict=True), strict=False))
    widths = {name: max(map(len, (name, *column))) for name, column in columns.items()}
    widths[last] = max(map(len, (last, *" ".join(columns.get(last, ())).split())))
    tight = sum(widths.values()) + 2 * len(widths) + 1 > width
    shown = Table(box=SIMPLE_HEAD, padding=(0, 0 if tight else 1, 0, 0), show_edge=not tight, caption_justify="left")
    for name in _SPARED:
        if sum(widths.values()) + len(widths) - 1 > width and len(set(columns.get(name, ()))) == 1:
            shown.caption = f"{shown.caption or 'every row:'} {name} {columns.pop(name)[0]} "
            del widths[name]
    if sum(widths.values()) + len(widths) - 1 > width:
        below = columns.pop(last)
        del widths[last]
        return _with_fields_below(columns, widths, below, last, str(shown.caption or ""))
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


def _with_fields_below(
    columns: dict[str, tuple[str, ...]], widths: dict[str, int], fields: Sequence[str], last: str, caption: str
) -> Group:
    def line(cells: Iterable[str]) -> str:
        named = zip(columns, cells, strict=True)
        each = (one.ljust(widths[k]) if k in _LEFT else one.rjust(widths[k]) for k, one in named)
        return " ".join(each).rstrip()

    lines: list[Text | Padding] = [
        Text(line(columns)),
        Padding(Text(last), _INDENTED),
        Text("─" * len(line(columns))),
    ]
    for row, texts in zip(zip(*columns.values(), strict=True), fields, strict=True):
        lines += [Text(line(row)), *([Padding(Text(texts), _INDENTED)] if texts else [])]
    return Group(*lines, *([Text(caption, "dim italic")] if caption else []))


def _json_number(value: Any) -> Any:
    if isinstance(value, list):
        return [_json_number(one) for one in cast("list[Any]", value)]
    return value if math.isfinite(value) else str(value)
