"""UCI Adult: does a person earn more than 50,000 dollars a year?

Rows with a '?' are dropped. The six numeric columns are scaled by the training part, the eight categorical ones
are one column for each of the training part's categories (a category that only the test part has is all 0).
"""

import csv
from pathlib import Path
from typing import Literal

import numpy as np

from netsim.arrays import Array
from netsim.checks import unknown
from netsim.problems.data.cache import Cache, Remote
from netsim.problems.data.choices import broken, some, to_unit
from netsim.problems.data.dataset import Dataset, Part

HOST = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
FILES: dict[Part, Remote] = {
    "train": Remote(
        "adult/adult.data",
        (HOST + "adult.data",),
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    "test": Remote(
        "adult/adult.test",
        (HOST + "adult.test",),
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
}
NUMERIC = (0, 2, 4, 10, 11, 12)
"""age, fnlwgt, education-num, capital-gain, capital-loss, hours-per-week"""
CATEGORICAL = (1, 3, 5, 6, 7, 8, 9, 13)
COLUMNS, ANSWER = 15, 14
RICH, POOR = ">50K", "<=50K"

Rows = list[list[str]]
Scaling = Literal["unit", "standardized"]


def adult(
    cache: Cache, part: Part = "train", numeric: Scaling = "unit", records: int | None = None, seed: int = 0
) -> Dataset:
    """+1 earns more than 50,000 dollars. Numeric columns "unit": to [0, 1]; "standardized": mean 0, deviation 1."""
    if numeric not in ("unit", "standardized"):
        raise unknown("numeric", numeric, ["unit", "standardized"])
    parts: tuple[Part, ...] = ("train",) if part == "train" else ("train", "test")
    _, paths = cache.files("adult", [FILES[one] for one in parts])
    known, rows = _rows(paths[0]), _rows(paths[-1])
    features = np.hstack([_numbers(rows, known, numeric), *(_one_hot(rows, known, c) for c in CATEGORICAL)])
    labels = np.array([1.0 if row[ANSWER] == RICH else -1.0 for row in rows])
    chosen = some(np.arange(len(rows)), records, seed)
    return Dataset(
        "adult",
        features[chosen],
        labels[chosen],
        value_range=(0.0, 1.0) if numeric == "unit" else None,
        part=part,
        note="rows with unknown values were dropped",
    )


def _rows(path: Path) -> Rows:
    """Whole rows, their fields stripped; blank lines, the test part's head and its full stops left out."""
    rows: Rows = []
    try:
        with path.open(encoding="ascii", newline="") as stream:
            for number, row in enumerate(csv.reader(stream, skipinitialspace=True), start=1):
                if not row or row[0].startswith("|"):
                    continue
                row[-1] = row[-1].removesuffix(".")
                if len(row) != COLUMNS or row[ANSWER] not in (RICH, POOR):
                    raise broken("adult", path, f"line {number} is no row of {COLUMNS} fields that ends in {RICH}")
                if "?" not in row:
                    rows.append(row)
        for column in NUMERIC:
            [float(row[column]) for row in rows]
    except (OSError, ValueError, csv.Error) as error:
        raise broken("adult", path, f"cannot be read ({error})") from error
    if not rows:
        raise broken("adult", path, "has no whole row")
    return rows


def _numbers(rows: Rows, known: Rows, numeric: Scaling) -> Array:
    values, base = (np.array([[float(row[c]) for c in NUMERIC] for row in some]) for some in (rows, known))
    if numeric == "unit":
        return to_unit(values, base.min(axis=0), base.max(axis=0))
    spread = base.std(axis=0)
    return (values - base.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _one_hot(rows: Rows, known: Rows, column: int) -> Array:
    categories = sorted({row[column] for row in known})
    return np.array([[float(row[column] == category) for category in categories] for row in rows])
