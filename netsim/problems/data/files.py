"""Data from a LIBSVM or a CSV file by its path, plain or compressed."""

import csv
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Len, MinLen
from numpy.typing import NDArray

from netsim.arrays import Array, unknown, whole
from netsim.bounds import Count
from netsim.errors import ScenarioError, together
from netsim.files import check_regular, decoded, unreadable
from netsim.problems.data.dataset import Dataset, some
from netsim.problems.data.named import Chosen, Seed, Task, finite, svmlight

Column = Annotated[str, MinLen(1)] | int
_Class = str | float
File = Annotated[str | Path, MinLen(1), "The file; a relative path of a scenario starts at its file."]
_TwoClasses = Annotated[
    Annotated[Sequence[_Class], Len(2, 2)] | None,
    "Of more than two labels, the one that is −1 and the one that is +1; none: the smaller of two is −1.",
]


def libsvm(
    path: File,
    kind: Task = "classification",
    classes: _TwoClasses = None,
    dimension: Annotated[Count | None, "How many features; none: as many as the file has."] = None,
    records: Chosen = None,
    seed: Seed = 0,
) -> Dataset:
    """A LIBSVM file: a number as the label, then index:value with indices from 1 on. `dimension` is needed where the
    file leaves out the last features."""
    _check(kind, classes)
    file = _file(path)
    if dimension is not None:
        whole(dimension, "dimension")
    try:
        features, answers = svmlight(file, dimension)
    except (OSError, EOFError, ValueError) as error:
        raise ScenarioError(
            "path",
            str(path),
            f"not readable as LIBSVM ({error})",
            "LABEL INDEX:VALUE …, numbers, with indices from 1",
        ) from error
    return _dataset(file, features, answers, kind, classes, records, seed)


def csv_file(
    path: File,
    label: Annotated[Column, "The column of the label: a name, or a position from 0 (−1 is the last)."] = -1,
    features: Annotated[
        Annotated[Sequence[Column], MinLen(1)] | None, "The columns of the features; none: all others."
    ] = None,
    header: Annotated[bool, "Whether the first line has the columns' names."] = True,
    delimiter: Annotated[str, Len(1, 1), "What stands between two values."] = ",",
    kind: Task = "classification",
    classes: _TwoClasses = None,
    records: Chosen = None,
    seed: Seed = 0,
) -> Dataset:
    """A CSV file. Columns go by the header's names, or by their positions from 0 (−1 is the last).

    `features` is every column but the label unless some are named. Features are numbers, and none is missing.
    """
    _check(kind, classes)
    file = _file(path)
    names, rows, wrong = _cells(file, header, delimiter)
    if not rows:
        raise _as_one(str(path), wrong, len(wrong))
    try:
        answer = _column("label", label, names)
    except ScenarioError as error:
        if not header or not all(map(_is_number, names)):
            raise
        raise replace(error, allowed="header: false where the first line is a record; then a position") from None
    others = [k for k in range(len(names)) if k != answer]
    chosen = others if features is None else [_column("features", name, names) for name in features]
    if len(names) == 1 and features is None:
        why = f"has one column, the label {names[answer]!r}: there is no column of a feature"
        raise ScenarioError("path", str(path), why, "a column or more beside the label")
    read = isinstance(label, str) and not _is_of_a_record(label, [row[answer].strip() for _, row in rows])
    if header and not read and _like_a_record([names[k] for k in chosen]):
        why = f"line 1 of {file.name} looks like a record, which would be lost: its features are numbers"
        by_name = "the label by its name" if not isinstance(label, str) else "a name of the label that is no label"
        allowed = f"header: false where it is one, and columns by their positions; else {by_name}"
        raise ScenarioError("header", True, why, allowed)
    if answer in chosen or len(set(chosen)) < len(chosen) or not chosen:
        raise ScenarioError(
            "features", features, "not different columns beside the label", "columns of " + ", ".join(names)
        )
    real = kind == "regression"
    try:
        values = np.array([[finite(row[k], _cell(line, names[k])) for k in chosen] for line, row in rows])
        answers = np.array([_label(row[answer], _cell(line, names[answer]), real) for line, row in rows])
    except ValueError:
        values = answers = np.empty(0)
        wrong += _no_values(rows, names, chosen, answer, real, header)
    if wrong:
        raise _as_one(str(path), wrong, len(rows))
    return _dataset(file, values, answers, kind, classes, records, seed, ("label", names[answer]))


def _check(kind: Task, classes: Sequence[_Class] | None) -> None:
    if kind not in ("classification", "regression"):
        raise unknown("kind", kind, ["classification", "regression"])
    if kind == "regression" and classes is not None:
        raise ScenarioError("classes", classes, "a regression has none", "kind: classification")


def _file(path: str | Path) -> Path:
    file = Path(path).expanduser()
    try:
        check_regular(file)
    except OSError as error:
        raise unreadable(path, error) from None
    return file


_LIBSVM = re.compile(r"[-+]?[\d.]+(?: +\d+:\S+)+")
"""A record of a LIBSVM file."""
_Rows = list[tuple[int, list[str]]]
"""Rows of a file, each with the number of its first line."""
_MOST = 10
"""Mistakes of a file that are said one by one."""


class _Wrong(NamedTuple):
    """A mistake of a row, and what it has in common with others: its column, a text, or how many fields it has."""

    line: int
    of: str | int
    problem: str
    allowed: str


def _as_one(path: str, wrong: Sequence[_Wrong], records: int) -> ScenarioError:
    """One error of the first mistakes of a file with so many records, by line, and how many more there are; one that
    all records have in common is one mistake."""
    every = dict[tuple[int, str | int], _Wrong]()
    common = [of for of, times in Counter(one.of for one in wrong).items() if times == records > 1]
    for one in sorted(wrong, key=lambda one: one.line):
        if one.of in common:
            every.setdefault((0, one.of), one._replace(problem=f"{one.problem}; so in every row"))
        else:
            every[one.line, one.of] = one
    errors = [ScenarioError("path", path, one.problem, one.allowed) for one in [*every.values()][:_MOST]]
    if more := len(every) - len(errors):
        last = errors[-1]
        errors[-1] = replace(last, problem=f"{last.problem}; and {more:,} more mistake{'s' * (more > 1)}")
    return together(errors)


def _cells(path: Path, header: bool, delimiter: str) -> tuple[list[str], _Rows, list[_Wrong]]:
    """The columns' names (their positions, without a header), the rows, and those that are of another width."""
    if len(delimiter) != 1:
        raise ScenarioError("delimiter", delimiter, "not one character", "one character, such as , or ;")
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            text = decoded(stream.read())
        rows = list(_rows(text, delimiter))
    except (OSError, EOFError, ValueError, csv.Error, zlib.error) as error:
        raise ScenarioError("path", str(path), f"not readable as CSV ({error})", "a CSV file") from error
    if len(rows) <= header:
        raise ScenarioError("path", str(path), "has no record", "one row or more")
    first, width = rows[0][1], len(rows[0][1])
    if width == 1 and _LIBSVM.fullmatch(first[0].strip()):
        raise ScenarioError("path", str(path), "is no table: line 1 is one of a LIBSVM file", "name: libsvm")
    others = [one for one in DELIMITERS if one != delimiter and all(one in cell for cell in first)]
    if len({(len(row), row[0].count(" ")) for _, row in rows}) == 1 and " " in first[0].strip():
        others.append(" ")
    other = next(iter(others), None)
    if width == 1 and other is not None:
        why = f"not what stands between the values of {path.name}; did you mean {json.dumps(other)}?"
        raise ScenarioError("delimiter", delimiter, why, "one character, such as , or ;")
    wrong: list[_Wrong] = []
    for line, row in rows:
        if len(row) != width:
            lines = sum(cell.count("\n") for cell in row)
            quote = f", with the {lines} after it in a quote that opens there," if lines else ""
            as_in = f"{width} as line {rows[0][0]}"
            why = f"line {line}{quote} has {len(row)} fields, not {as_in}"
            wrong.append(_Wrong(line, len(row), why, "equal rows"))
    names = [name.strip() for name in first] if header else [str(k) for k in range(width)]
    return names, [one for one in rows[header:] if len(one[1]) == width], wrong


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not empty. You get a `ValueError` for a quote that is not closed."""
    lines = list(StringIO(text))
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    before = 0
    for row in reader:
        first, before = before + 1, reader.line_num
        if before == len(lines) and _is_open(lines[first - 1 :], delimiter):
            raise ValueError(f"no quote closes the one that opens in line {first}")
        if row:
            yield first, row


def _is_open(lines: Sequence[str], delimiter: str) -> bool:
    """Whether the lines of a row end within a quote."""
    try:
        list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error as error:
        return "unexpected end of data" in str(error)
    return False


DELIMITERS = (",", ";", "\t", "|")
"""What stands between the values of CSV files."""


def _is_of_a_record(name: str, labels: Sequence[str]) -> bool:
    """Whether the name of the labels' column is itself a label, or a number with a fraction: no header has one."""
    return name in labels or (_is_number(name) and not name.isdecimal())


def _like_a_record(names: Sequence[str]) -> bool:
    """Whether all are numbers, and not those of columns, 0, 1, 2, … or 1, 2, 3, …, as a data frame writes them."""
    numbered = [[str(k) for k in range(first, first + len(names))] for first in (0, 1)]
    return bool(names) and all(map(_is_number, names)) and list(names) not in numbered


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cell(line: int, name: str) -> str:
    return f"line {line}, column {name!r}"


def _no_values(
    rows: _Rows, names: Sequence[str], chosen: Sequence[int], answer: int, real: bool, header: bool
) -> Iterator[_Wrong]:
    """A mistake for each cell that is no number, or no label."""
    for line, row in rows:
        for k in sorted([*chosen, answer]):
            try:
                _label(row[k], _cell(line, names[k]), real) if k == answer else finite(row[k], _cell(line, names[k]))
            except ValueError as error:
                first = not header and line == rows[0][0]
                allowed = "header: true where line 1 has names" if first else _VALUES
                yield _Wrong(line, str(k), str(error), allowed)


_VALUES = "numbers and labels, or fewer rows or features"


def _label(text: str, where: str, real: bool) -> str:
    """A label as it is written. You get a `ValueError` for a missing one, and for a target that is no number."""
    written = text.strip()
    if real or not written or written.lower() == "nan":
        finite(written, where)
    return written


def _column(field: str, column: Column, names: list[str]) -> int:
    if isinstance(column, str):
        if column not in names:
            raise unknown(field, column, names)
        if names.count(column) > 1:
            places = " or ".join(str(k) for k, name in enumerate(names) if name == column)
            raise ScenarioError(field, column, "the name of several columns", f"its position: {places}")
        return names.index(column)
    return whole(column, field, -len(names), len(names) - 1) % len(names)


def _dataset(
    path: Path,
    features: Array,
    answers: Array | NDArray[np.str_],
    kind: Task,
    classes: Sequence[_Class] | None,
    records: int | None,
    seed: int,
    column: tuple[str, str] | None = None,
) -> Dataset:
    if kind == "regression":
        labels, kept, names = answers.astype(np.float64), np.arange(len(features)), None
    else:
        labels, kept, names = _two_classes(path, answers, classes, column)
    chosen = some(kept, records, seed)
    return Dataset(path.name, features[chosen], labels[chosen], class_names=names)


def _two_classes(
    path: Path,
    answers: Array | NDArray[np.str_],
    classes: Sequence[_Class] | None,
    column: tuple[str, str] | None,
) -> tuple[Array, NDArray[np.int64], tuple[str, str]]:
    """±1 for every record, which records are of the two classes, and what the file calls these; without `classes`
    there are just two.

    `column`: the field that names the labels' column, and its name.
    """
    try:
        values = answers.astype(np.float64)  # numbers where all are numbers, so that 1 is 1.0
    except ValueError:
        values = answers
    if classes is None:
        found = np.unique(values)
        if len(found) == 1:
            field, name = column or ("path", str(path))
            why = f"all {len(values):,} labels in {path.name} are {_shown(found)}: there is nothing to tell apart"
            raise ScenarioError(field, name, why, "a column of two labels at least, or kind: regression")
        if len(found) != 2:
            where = "the labels" if column is None else f"column {column[1]!r} has {len(found)} labels, which"
            allowed = "two of them: [the −1, the +1]; or kind: regression"
            raise ScenarioError("classes", classes, f"{where} are {_shown(found)}", allowed)
        negative, positive = found
    else:
        if len(classes) != 2 or classes[0] == classes[1]:
            raise ScenarioError("classes", classes, "not two different labels", "[the −1, the +1]")
        named: list[_Class] = []
        for one in classes:
            try:
                named.append(float(one) if values.dtype.kind == "f" else str(one))
            except ValueError:
                raise ScenarioError("classes", one, "the labels are numbers", "[the −1, the +1]") from None
        negative, positive = named
    kept = np.flatnonzero((values == negative) | (values == positive))
    if len(np.unique(values[kept])) < 2:
        raise ScenarioError("classes", classes, "not both among the labels", _shown(np.unique(values)))
    names = _shown(np.array([negative])), _shown(np.array([positive]))
    return np.where(values == positive, 1.0, -1.0), kept, names


def _shown(labels: "NDArray[np.float64 | np.str_]") -> str:
    """Some labels, as a scenario names them."""
    some = [f"{one:.6g}" if isinstance(one, float) else str(one) for one in labels[:8].tolist()]
    return ", ".join([*some, *(["…"] if len(labels) > 8 else [])])
