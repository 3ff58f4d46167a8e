"""Transcripts from elsewhere: rows of CSV, JSON lines and netsim's own pcapng files, by a map of columns.

A row is a packet that was captured on a link. Only `sender` and `receiver` are needed, and a column for each value;
of the others of `COLUMNS` a row has the default that `_DEFAULTS` gives, or the count that a sender of one message
after the other has. `netsim trace --jsonl --values --limit 0` writes JSON lines that need no map, to the last bit.
"""

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, cast

import numpy as np

from netsim.adversary import PublicKnowledge
from netsim.arrays import Array, unknown
from netsim.errors import NetsimError, ScenarioError, TranscriptError, did_you_mean, meant, near
from netsim.files import MOST_BYTES, parse_json, read_text
from netsim.readers.deployed.capture import rebuilt
from netsim.transcript import pcapng
from netsim.transcript.foreign import ForeignRows, raise_all
from netsim.transcript.frames import HEAD, KINDS
from netsim.transcript.message import COLUMNS, EVERYBODY, HEADER_BYTES, LARGEST, LEAST, WORDS, Record, Values

_LISTED = f"{', '.join(COLUMNS)}, or a value that the algorithm sends"
"""Names that `--column` takes."""
ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".pcapng")
"""Names of files that `read` takes."""
_DEFAULTS = {"place": "link", "event": "air", "kind": "exchange", "sequence": -1, "attempt": 0}
Row = Mapping[str, object]
"""By column, as the file has it."""
_NAMED = 12
"""Agents whose names a message lists."""
_NUMBER = "a whole number >= 0; -1 in an acknowledgement, and where sealed"
_NUMBERED = r"{}[._\[]?(\d+)\]?"
"""Columns that hold a vector together: w0, w.0, w_0, w[0]."""
_Vectors = dict[str, tuple[str, ...]]
"""By the name of a value, its columns: one, or one for each number."""


def read(
    path: Path,
    columns: Mapping[str, str],
    public: PublicKnowledge,
    agents: Sequence[str] = (),
    *,
    altered: bool = False,
) -> ForeignRows:
    """The rows of a file, in order of time and checked; values are (replicas, dimension).

    `columns`: from a name of `COLUMNS`, or of a value that messages carry, to the file's column; `agents` names the
    agents where the file has names; `altered`: whether copies of one message may differ, since somebody alters them.
    You get a `ScenarioError` with the file, line and column of all that is no such row, or contradicts another one.
    """
    try:
        if path.suffix == ".pcapng":
            found = _captured(path, public)
        else:
            text = read_text(path, MOST_BYTES)
            rows = _objects(path, text) if path.suffix in (".jsonl", ".ndjson") else _cells(path, text)
            found = _Reader(path, columns, public, agents).rows(rows)
    except TranscriptError as error:
        why = str(error).removeprefix(f"{path}: ")
        allowed = "a pcapng file of `netsim trace --pcapng`, or of the taps of `netsim deploy`"
        raise ScenarioError("file", str(path), why, allowed) from None
    except (OSError, ValueError) as error:
        why = f"cannot be read ({getattr(error, 'strerror', None) or error})"
        raise ScenarioError("file", str(path), why, "a text file in UTF-8") from None
    if not found.records:
        raise ScenarioError("file", str(path), "has no row", "a packet a row")
    found.check(public, altered=altered)
    return found


_Rows = Iterator[tuple[int, Row | ScenarioError]]
"""Lines with their rows, or with what is wrong with them."""


def _cells(path: Path, text: str) -> _Rows:
    """The rows of a CSV file, each by the names of the header; an empty cell is none."""
    first = text.partition("\n")[0]
    reader = csv.reader(StringIO(text), delimiter=max(",;\t|", key=first.count), skipinitialspace=True)
    try:
        names = [name.strip() for name in next(reader, list[str]())]
        if twice := sorted(name for name, count in Counter(names).items() if count > 1):
            why = f"the header has {', '.join(map(repr, twice))} more than once"
            raise ScenarioError("header", ", ".join(names), why, "a name for each column", str(path), 1)
        for row in reader:
            if any(map(str.strip, row)) and len(row) != len(names):
                why, allowed = f"has {len(row)} fields, not {len(names)}", "as many as the header"
                yield reader.line_num, ScenarioError("row", row, why, allowed, str(path), reader.line_num)
            elif any(map(str.strip, row)):
                yield reader.line_num, {name: cell.strip() for name, cell in zip(names, row, strict=True)}
    except csv.Error as error:
        raise ScenarioError("file", str(path), f"not CSV ({error})", "CSV", str(path), reader.line_num) from None


def _objects(path: Path, text: str) -> _Rows:
    """The rows of JSON lines; what an object `values` holds is a column each."""
    for line, one in enumerate(text.split("\n"), start=1):
        if not one.strip():
            continue
        try:
            row = parse_json(one, unique=True)
        except ValueError as error:
            yield line, ScenarioError("row", one, f"no JSON ({error})", "an object a line", str(path), line)
            continue
        if not isinstance(row, dict):
            yield line, ScenarioError("row", one, "no object", "an object a line", str(path), line)
            continue
        found = dict(cast("Row", row))
        inside: object = found.pop("values", None) or cast("Row", {})
        if isinstance(inside, dict):
            yield line, {**found, **cast("Row", inside)}
        else:
            yield line, ScenarioError("values", inside, "no object", '{"NAME": [numbers]}', str(path), line)


@dataclass(frozen=True)
class _Reader:
    """Rows by a map of columns, each by itself; what they are to each other is looked at when all are there."""

    path: Path
    columns: Mapping[str, str]
    public: PublicKnowledge
    agents: Sequence[str]
    vectors: _Vectors = field(default_factory=dict[str, tuple[str, ...]])
    """Columns of the values that were found."""
    odd: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    """Those that are no vector together, which is said once."""

    def rows(self, lines: _Rows) -> ForeignRows:
        mistakes, read = list[ScenarioError](), list[tuple[int, dict[str, object], Values]]()
        for line, row in lines:
            try:
                if isinstance(row, ScenarioError):
                    raise row
                if not (read or mistakes):
                    self._check_columns(row)
                read.append((line, *self._parsed(row, line)))
            except ScenarioError as error:
                if error.line is None or error.field == "columns":
                    raise
                mistakes.append(error)
        counted = not any("number" in given for _, given, _ in read)
        timed = any("time" in given for _, given, _ in read)
        columns = {name: (column,) for name, column in self.columns.items() if name in COLUMNS} | self.vectors
        named = self.agents if self._named else ()
        found = ForeignRows.of(
            str(self.path), self._records(read), "line", columns, counted=counted, timed=timed, names=named
        )
        mistakes += found.misfits(self.public)
        for name in ("number", "time"):
            lacking = [line for line, given, _ in read if name not in given]
            if len(lacking) < len(read):
                allowed = "one in every row, or in none"
                mistakes += [self._wrong(name, None, "missing: other rows have one", allowed, k) for k in lacking]
        sizes = [(line, len(value)) for line, _, values in read for value in values.values()]
        for line, size in sizes:
            if size != sizes[0][1]:
                why = f"not the {sizes[0][1]:,} of line {sizes[0][0]}"
                mistakes.append(
                    ScenarioError("replicas", size, why, "the same number in every row", str(self.path), line)
                )
        raise_all(sorted(mistakes, key=lambda one: one.line or 0))
        return found

    @property
    def _named(self) -> bool:
        """Whether agents have other names than their numbers."""
        return any(one != str(i) for i, one in enumerate(self.agents))

    def _records(self, read: "list[tuple[int, dict[str, object], Values]]") -> Iterator[tuple[int, Record]]:
        """What a row does not say is counted, or the default."""
        counts = Counter[tuple[object, ...]]()
        for k, (line, given, values) in enumerate(read):
            known: Any = _DEFAULTS | given
            whose: tuple[object, ...] = (known["sender"], known["kind"])
            whose += (known["receiver"],) if known["kind"] == "exchange" else ()
            known.setdefault("number", counts[whose] if known["kind"] in ("exchange", "direct") else -1)
            known.setdefault("time", float(k))
            known.setdefault("size", HEADER_BYTES + sum(8 * value.shape[1] for value in values.values()))
            counts[whose] += 1
            yield line, Record(**known, values=values)

    def _parsed(self, row: Row, line: int) -> tuple[dict[str, object], Values]:
        """One row. Its columns that are nowhere in `COLUMNS` and of no map are values in JSON lines alone."""
        cells = {name: row[self.columns.get(name, name)] for name in COLUMNS if self.columns.get(name, name) in row}
        given = {name: self._cell(name, value, line) for name, value in cells.items() if value != ""}
        for name in ("sender", "receiver"):
            if name not in given:
                raise self._wrong(name, None, "missing", f"a column of {name}s: --column {name}=COLUMN", line)
        return given, self._values(row, line)

    def _check_columns(self, row: Row) -> None:
        """A `ScenarioError` for a column of the map that the first row has not, and for no transcript."""
        for name, column in self.columns.items():
            if column not in row and not _together(column, row):
                raise unknown(f"--column {name}", column, list(row))
            if (first := next(other for other, one in self.columns.items() if one == column)) != name:
                raise ScenarioError(f"--column {name}", column, f"the column of {first}, too", "a column of its own")
        lacking = [name for name in ("sender", "receiver") if self.columns.get(name, name) not in row]
        for name in (one for one in self.columns if one not in COLUMNS):
            if slip := did_you_mean(near(name, lacking, 1)):
                raise ScenarioError(f"--column {name}", self.columns[name], f"no name of a column{slip}", _LISTED)
        if len(lacking) == 2:
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
            number = _number(value)
        except (TypeError, ValueError):
            why, allowed = "no number", "a number"
            if name in ("sender", "receiver"):
                why = f"no such agent in the scenario{meant(str(value), self.agents)}"
                known = ", ".join(self.agents[:_NAMED]) + ", …" * (len(self.agents) > _NAMED)
                allowed = f"0 … {self.public.agents - 1}" + f", or one of {known}" * self._named
            raise self._wrong(name, value, why, allowed, line) from None
        if name == "time":
            if not np.isfinite(number):
                raise self._wrong(name, value, "no time", "seconds", line)
            return number
        if not np.isfinite(number) or number != int(number) or not LEAST[name] <= number <= LARGEST:
            allowed = f"a whole number >= {LEAST[name]}"
            raise self._wrong(name, value, "out of range", _NUMBER if name == "number" else allowed, line)
        return int(number)

    def _values(self, row: Row, line: int) -> Values:
        if "norms" in row:
            raise self._wrong("norms", row["norms"], "norms are no values", "netsim trace --jsonl --values", line)
        found: Values = {}
        for name, columns in self._vectors(row).items():
            if columns in self.odd or all(row[one] in ("", []) or row[one] is None for one in columns):
                continue
            self.vectors[name] = columns
            match columns:
                case (column,):
                    numbers = self._vector(column, row, line)
                case _:
                    numbers = self._numbers(columns, row, line)
            value = np.array(numbers, dtype=np.float64)
            value = value.reshape(1, -1) if value.ndim < 2 else value
            value.setflags(write=False)
            found[name] = value
        return found

    def _vector(self, column: str, row: Row, line: int) -> object:
        """The vector in a cell, or one for each replica."""
        try:
            value = np.array(_vector(row[column]), dtype=np.float64)
            if value.ndim > 2 or not value.size:
                raise ValueError
        except (TypeError, ValueError):
            listed = isinstance(row[column], list)
            allowed = "a list of numbers, or of one such list for each replica" if listed else "numbers with blanks "
            allowed += "" if listed else "between them"
            raise self._of_column(f"column {column!r}", row[column], "no vector", allowed, line) from None
        return value

    def _numbers(self, columns: tuple[str, ...], row: Row, line: int) -> list[float]:
        """The vector in numbered columns, none of which may be left out."""
        said, places = f"columns {', '.join(map(repr, columns))}", list(map(_place, columns))
        needed, first = self.public.dimension, min(*places, 1)
        if places != list(range(first, first + needed)):
            self.odd.add(columns)
            whole = f"{needed:,} columns without a gap, from 0 or from 1 on: the dimension of the scenario"
            raise self._of_column(said, [row[one] for one in columns], "no vector together", whole, line)
        numbers = list[float]()
        for one in columns:
            try:
                numbers.append(_number(row[one]))
            except (TypeError, ValueError):
                why = "empty, beside columns that are not" if row[one] == "" else "no number"
                raise self._of_column(f"column {one!r}", row[one], why, "a number", line) from None
        return numbers

    def _vectors(self, row: Row) -> _Vectors:
        """The columns of each value: of the map, or else of all columns of a CSV file or an object."""
        named = {name: column for name, column in self.columns.items() if name not in COLUMNS}
        if named:
            both = {name: (column,) if column in row else _together(column, row) for name, column in named.items()}
            return {name: columns for name, columns in both.items() if columns}
        # JSON lines of `netsim trace`, and CSV with a column value.NAME each
        taken = {self.columns.get(name, name) for name in COLUMNS} | {"from", "to"}
        keys = dict.fromkeys(self._vector_of(key, row) for key in row if key not in taken)
        return {key.removeprefix("value."): (key,) if key in row else _together(key, row) for key in keys}

    def _vector_of(self, key: str, row: Row) -> str:
        """The name of the vector of which a column has one number, as others beside it; else the column's own."""
        match = re.fullmatch(_NUMBERED.format("(.*[^._\\[\\d])"), key)
        if match is None or self.public.dimension == 1 or match[1] in row:
            return key
        several = _together(match[1], row)
        single = all(isinstance(row[one], int | float) or not re.search(r"[\s;\[]", str(row[one])) for one in several)
        return match[1] if single and len(several) > 1 else key


def _together(column: str, row: Row) -> tuple[str, ...]:
    """The numbered columns that hold a vector, in order."""
    return tuple(sorted((key for key in row if re.fullmatch(_NUMBERED.format(re.escape(column)), key)), key=_place))


def _place(column: str) -> int:
    """The number at the end of a numbered column."""
    return int(re.findall(r"\d+", column)[-1])


def _number(value: object) -> float:
    """You get a `ValueError` or a `TypeError` for what is none, though Python would take it for one."""
    if isinstance(value, bool) or "_" in str(value):
        raise ValueError
    try:
        return float(cast("Any", value))
    except OverflowError:
        return math.inf


def _vector(given: object) -> object:
    if isinstance(given, str):
        return json.loads(given) if given.startswith("[") else [_number(one) for one in re.split(r"[\s;]+", given)]
    return given


# ── pcapng ──────────────────────────────────────────────────────────────────────────────────────────────
def _captured(path: Path, public: PublicKnowledge) -> ForeignRows:
    """What `netsim trace --pcapng` exported of one replica, or what a deployed run's taps captured."""
    bodies = enumerate(pcapng.packets(path), start=1)
    rows = [(k, row) for k, body in bodies if (row := _datagram(k, body, public)) is not None]
    return ForeignRows.of(str(path), rows or enumerate(rebuilt(path, public), start=1), "packet")


def _datagram(which: int, body: bytes, public: PublicKnowledge) -> Record | None:
    """The row of an exported packet; None of any other."""
    seconds, size, data, comment = pcapng.parts(body)
    ports = int.from_bytes(data[20:22]), int.from_bytes(data[22:24])
    if len(data) < 28 + HEADER_BYTES or data[9] != pcapng.UDP or ports[0] != ports[1]:
        return None
    sender, receiver, kind, number, length = HEAD.unpack_from(data, 28)
    names = re.findall(r"(\w+)\[\d+\]", comment)
    if kind & 0xFF not in KINDS or (length and not names):
        raise TranscriptError(f"packet {which} (at {seconds:g} s) says no names of its values in a comment")
    word, payload, each = KINDS[kind & 0xFF], data[28 + HEADER_BYTES :], length // max(1, len(names))
    if length < 0 or length > len(payload):
        raise TranscriptError(f"packet {which} (at {seconds:g} s) is cut off: {len(payload):,} of {length:,} bytes")
    values: dict[str, Array] = {}
    for k, name in enumerate(names):
        try:
            vector = public.codec.unpack(payload[k * each : (k + 1) * each], public.dimension)
        except (NetsimError, ValueError) as error:
            why = f"packet {which} (at {seconds:g} s): {name!r} is no vector of the scenario ({error})"
            raise TranscriptError(why) from None
        values[name] = vector[None]
        values[name].setflags(write=False)
    tries = re.search(r"sequence (\d+), attempt (\d+)", comment)
    sequence, attempt = (int(tries[1]), int(tries[2])) if tries else (-1, 0)
    number = -1 if word in ("ack", "sealed") else number
    receiver = EVERYBODY if receiver < 0 else receiver
    return Record(seconds, "link", "air", sender, receiver, word, number, sequence, attempt, size, values)
