"""Transcripts from elsewhere: rows of CSV, JSON lines and netsim's own pcapng files, by a map of columns.

A row is a packet that was captured on a link. Only `sender` and `receiver` are needed, and a column for each value;
of the others of `COLUMNS` a row has the default that `_DEFAULTS` gives, or the count that a sender of one message
after the other has. `netsim trace --jsonl --values --limit 0` writes JSON lines that need no map, to the last bit.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import numpy as np

from netsim.adversary import PublicKnowledge
from netsim.arrays import Array, unknown
from netsim.errors import ScenarioError, TranscriptError
from netsim.files import MOST_BYTES, check_regular, parse_json
from netsim.readers.deployed.capture import rebuilt
from netsim.transcript import pcapng
from netsim.transcript.frames import HEAD, KINDS
from netsim.transcript.message import COLUMNS, EVERYBODY, HEADER_BYTES, LARGEST, LEAST, WORDS, Record, Values

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".pcapng")
"""Names of files that `read` takes."""
_DEFAULTS = {"place": "link", "event": "air", "kind": "exchange", "sequence": -1, "attempt": 0}
Row = Mapping[str, object]
"""By column, as the file has it."""
_NUMBERED = r"{}[._\[]?(\d+)\]?"
"""Columns that hold a vector together: w0, w.0, w_0, w[0]."""


def read(
    path: Path,
    columns: Mapping[str, str],
    public: PublicKnowledge,
    agents: Sequence[str] = (),
    *,
    altered: bool = False,
) -> list[Record]:
    """The rows of a file, in order of time; values are (replicas, dimension).

    `columns`: from a name of `COLUMNS`, or of a value that messages carry, to the file's column; `agents` names the
    agents where the file has names; `altered`: whether copies of one message may differ, since somebody alters them.
    You get a `ScenarioError` with the file, line and column of what is no such row, or contradicts another one.
    """
    try:
        check_regular(path, MOST_BYTES)
        if path.suffix == ".pcapng":
            return _captured(path, public)
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ScenarioError("file", str(path), f"cannot be read ({error})", "a text file in UTF-8") from None
    rows = _objects(path, text) if path.suffix in (".jsonl", ".ndjson") else _cells(path, text)
    reader = _Reader(path, columns, public, agents, altered, Counter(), set(), {})
    found = sorted([reader.record(row, line) for line, row in rows], key=attrgetter("time"))
    if not found:
        raise ScenarioError("file", str(path), "has no row", "a packet a row")
    return found


def _cells(path: Path, text: str) -> Iterator[tuple[int, Row]]:
    """The rows of a CSV file, each by the names of the header; an empty cell is none."""
    first = text.partition("\n")[0]
    reader = csv.reader(StringIO(text), delimiter=max(",;\t|", key=first.count), skipinitialspace=True)
    try:
        names = [name.strip() for name in next(reader, list[str]())]
        for row in reader:
            if row and len(row) != len(names):
                why = f"has {len(row)} fields, not {len(names)}"
                raise ScenarioError("row", row, why, "as many as the header", str(path), reader.line_num)
            if row:
                yield reader.line_num, {n: cell.strip() for n, cell in zip(names, row, strict=True) if cell.strip()}
    except csv.Error as error:
        raise ScenarioError("file", str(path), f"not CSV ({error})", "CSV", str(path), reader.line_num) from None


def _objects(path: Path, text: str) -> Iterator[tuple[int, Row]]:
    """The rows of JSON lines; what an object `values` holds is a column each."""
    for line, one in enumerate(text.splitlines(), start=1):
        if not one.strip():
            continue
        try:
            row = parse_json(one)
        except ValueError as error:
            raise ScenarioError("row", one, f"no JSON ({error})", "an object a line", str(path), line) from None
        if not isinstance(row, dict):
            raise ScenarioError("row", one, "no object", "an object a line", str(path), line)
        found = dict(cast("Row", row))
        inside = found.pop("values", None)
        yield line, {**found, **(cast("Row", inside) if isinstance(inside, dict) else {})}


@dataclass(frozen=True)
class _Reader:
    path: Path
    columns: Mapping[str, str]
    public: PublicKnowledge
    agents: Sequence[str]
    altered: bool
    counts: Counter[tuple[object, ...]]
    replicas: set[int]
    """How many there are: one number, once a row had values."""
    copies: dict[tuple[object, ...], tuple[int, Values]]
    """Of each exchange of a sender the line where it is first, and its values: every neighbor gets the same."""

    def record(self, row: Row, line: int) -> Record:
        """One row. Its columns that are nowhere in `COLUMNS` and of no map are values in JSON lines alone."""
        if not self.counts:
            self._check_columns(row)
        given = {name: row[self.columns.get(name, name)] for name in COLUMNS if self.columns.get(name, name) in row}
        known: Any = _DEFAULTS | {name: self._cell(name, value, line) for name, value in given.items()}
        for name in ("sender", "receiver"):
            if name not in known:
                raise self._wrong(name, None, "missing", f"a column of {name}s: --column {name}=COLUMN", line)
        values = self._values(row, line)
        self.replicas.update(map(len, values.values()))
        if len(self.replicas) > 1:
            allowed = "the same number in every row"
            raise ScenarioError("replicas", sorted(self.replicas), "differ", allowed, str(self.path), line)
        whose: tuple[object, ...] = (known["sender"], known["kind"])
        whose += (known["receiver"],) if known["kind"] == "exchange" else ()
        known.setdefault("number", self.counts[whose])
        known.setdefault("time", float(self.counts[()]))
        known.setdefault("size", HEADER_BYTES + sum(8 * value.shape[1] for value in values.values()))
        self.counts[whose] += 1
        self.counts[()] += 1
        if known["kind"] == "exchange" and values and not self.altered:
            self._check_copy(known["sender"], known["number"], values, line)
        return Record(**known, values=values)

    def _check_copy(self, sender: int, number: int, values: Values, line: int) -> None:
        """A `ScenarioError` where another copy of the same exchange has other values."""
        first, others = self.copies.setdefault((sender, number), (line, values))
        names = values.keys() | others.keys()
        apart = [one for one in names if not np.array_equal(values.get(one, ()), others.get(one, ()), equal_nan=True)]
        if apart:
            column, given = self.columns.get(min(apart), min(apart)), np.asarray(values.get(min(apart), ())).tolist()
            why = f"other values than in line {first}: both are of exchange {number} of agent {sender}"
            allowed = "the same to every neighbor; a column `number`, where rows are missing or in another order"
            raise self._of_column(f"column {column!r}", given, why, allowed, line)

    def _check_columns(self, row: Row) -> None:
        """A `ScenarioError` for a column of the map that the first row has not, and for no transcript."""
        for name, column in self.columns.items():
            if column not in row and not _together(column, row):
                raise unknown(f"--column {name}", column, list(row))
        if all(self.columns.get(name, name) not in row for name in ("sender", "receiver")):
            why = "no sender, no receiver: a row of a transcript is a message (records are a scenario's problem.data)"
            allowed = "--column sender=COLUMN --column receiver=COLUMN, and a column for each value that is sent"
            raise ScenarioError("columns", ", ".join(row), why, allowed, str(self.path), 1)

    def _wrong(self, name: str, value: object, problem: str, allowed: str, line: int) -> ScenarioError:
        return self._of_column(f"column {self.columns.get(name, name)!r}", value, problem, allowed, line)

    def _of_column(self, column: str, value: object, problem: str, allowed: str, line: int) -> ScenarioError:
        return ScenarioError(column, value, problem, allowed, str(self.path), line)

    def _cell(self, name: str, value: object, line: int) -> object:
        if name in WORDS:
            if value not in WORDS[name]:
                raise self._wrong(name, value, "no such word", ", ".join(WORDS[name]), line)
            return value
        if name in ("sender", "receiver") and str(value) in self.agents:
            return self.agents.index(str(value))
        try:
            number = float(cast("Any", value))
        except (TypeError, ValueError):
            known = f", or one of {', '.join(self.agents[:6])}" if name in ("sender", "receiver") else ""
            raise self._wrong(name, value, "no number", f"a number{known}", line) from None
        if name == "time":
            if not np.isfinite(number):
                raise self._wrong(name, value, "no time", "seconds", line)
            return number
        if number != int(number) or not LEAST[name] <= number <= LARGEST:
            raise self._wrong(name, value, "out of range", f"a whole number >= {LEAST[name]}", line)
        if name in ("sender", "receiver") and number >= self.public.agents:
            raise self._wrong(name, value, "no such agent in the scenario", f"0 … {self.public.agents - 1}", line)
        return int(number)

    def _values(self, row: Row, line: int) -> dict[str, Array]:
        if "norms" in row:
            raise self._wrong("norms", row["norms"], "norms are no values", "netsim trace --jsonl --values", line)
        names = {name: column for name, column in self.columns.items() if name not in COLUMNS}
        if not names:  # JSON lines of `netsim trace`, and CSV with a column value.NAME each
            taken = {self.columns.get(name, name) for name in COLUMNS} | {"from", "to"}
            alone = (key for key in row if key not in taken)
            keys = dict.fromkeys(self._vector_of(key, row) for key in alone)
            names = {key.removeprefix("value."): key for key in keys}
        found: dict[str, Array] = {}
        for name, column in names.items():
            parts = [] if column in row else _together(column, row)
            given = row.get(column, [row[one] for one in parts])
            said = f"columns {', '.join(map(repr, parts))}" if parts else f"column {column!r}"
            if given in ("", []) or given is None:
                continue
            try:
                value = np.array(_vector(given), dtype=np.float64)
            except (TypeError, ValueError):
                allowed = "a number each" if parts else "numbers with blanks between them"
                raise self._of_column(said, given, "no vector", allowed, line) from None
            value = value.reshape(1, -1) if value.ndim < 2 else value
            if value.ndim != 2 or value.shape[1] != self.public.dimension:
                allowed = f"{self.public.dimension} numbers, the dimension of the scenario"
                raise self._of_column(said, given, f"has the shape {value.shape}", allowed, line)
            value.setflags(write=False)
            found[name] = value
        return found

    def _vector_of(self, key: str, row: Row) -> str:
        """The name of the vector of which a column has one number, as others beside it; else the column's own."""
        match = re.fullmatch(_NUMBERED.format("(.*[^._\\[\\d])"), key)
        if match is None or self.public.dimension == 1 or match[1] in row:
            return key
        several = _together(match[1], row)
        single = all(isinstance(row[one], int | float) or not re.search(r"[\s;\[]", str(row[one])) for one in several)
        return match[1] if single and len(several) > 1 else key


def _together(column: str, row: Row) -> list[str]:
    """The numbered columns that hold a vector, in order."""
    found = {key: re.fullmatch(_NUMBERED.format(re.escape(column)), key) for key in row}
    return sorted((key for key, match in found.items() if match), key=lambda key: int(cast("Any", found[key])[1]))


def _vector(given: object) -> object:
    if isinstance(given, str):
        return json.loads(given) if given.startswith("[") else [float(one) for one in re.split(r"[\s;]+", given)]
    return given


# ── pcapng ──────────────────────────────────────────────────────────────────────────────────────────────
def _captured(path: Path, public: PublicKnowledge) -> list[Record]:
    """What `netsim trace --pcapng` exported of one replica, or what a deployed run's taps captured."""
    rows = [row for body in pcapng.packets(path) if (row := _datagram(path, body, public)) is not None]
    return sorted(rows, key=attrgetter("time")) if rows else rebuilt(path, public)


def _datagram(path: Path, body: bytes, public: PublicKnowledge) -> Record | None:
    """The row of an exported packet; None of any other."""
    seconds, size, data, comment = pcapng.parts(body)
    ports = int.from_bytes(data[20:22]), int.from_bytes(data[22:24])
    if len(data) < 28 + HEADER_BYTES or data[9] != pcapng.UDP or ports[0] != ports[1]:
        return None
    sender, receiver, kind, number, length = HEAD.unpack_from(data, 28)
    names = re.findall(r"(\w+)\[\d+\]", comment)
    if kind & 0xFF not in KINDS or (length and not names):
        raise TranscriptError(f"{path}: a packet at {seconds:g} s says no names of its values in a comment")
    word, payload, each = KINDS[kind & 0xFF], data[28 + HEADER_BYTES :], length // max(1, len(names))
    values: dict[str, Array] = {}
    for k, name in enumerate(names):
        values[name] = public.codec.unpack(payload[k * each : (k + 1) * each], public.dimension)[None]
        values[name].setflags(write=False)
    tries = re.search(r"sequence (\d+), attempt (\d+)", comment)
    sequence, attempt = (int(tries[1]), int(tries[2])) if tries else (-1, 0)
    number = -1 if word in ("ack", "sealed") else number
    receiver = EVERYBODY if receiver < 0 else receiver
    return Record(seconds, "link", "air", sender, receiver, word, number, sequence, attempt, size, values)
