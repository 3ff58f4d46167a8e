"""Costs of reaching accuracies, as rows of a table; thinning of curves."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scenarios.results.run import ToAccuracy
from scenarios.results.tree import AlgorithmResult

Row = tuple[str, float | None, list[float | None]]
"""Algorithm, accuracy, and a value for each of `COLUMNS`."""
NONE = "none of them"
"""In place of an accuracy, where none was reached."""
COLUMNS = (
    ("plf", "Θ (PLF, LCI)", "the largest number of activations, or rounds, of one agent"),
    ("count", "Rounds or activations", "of the whole run"),
    ("messages", "Messages", "that agents sent, one for each receiver"),
    ("packets", "Packets", "on the air: acknowledgements and repeats too; on radio, transmissions"),
    ("bytes", "Bytes", "on the air"),
    ("queries", "Queries", "gradients and proximal steps of all agents"),
    ("time", "Seconds", "of virtual time"),
)
"""Columns of the costs to an accuracy: the attribute of `Reached`, its heading, and what it counts."""
CURVE_POINTS = 400
"""Of the curve of errors, at most."""


def rows(entries: Sequence[AlgorithmResult]) -> list[Row]:
    """Algorithm × accuracy → a value for each of `COLUMNS`; None all along the row where it was never reached.

    An algorithm that reached none of several accuracies has one row, and None for the accuracy.
    """
    found: list[Row] = []
    for entry in entries:
        wanted: Sequence[ToAccuracy] = () if entry.measures is None else entry.measures.to_accuracy
        if len(wanted) > 1 and not any(one.reached for one in wanted):
            found.append((entry.name, None, [None] * len(COLUMNS)))
            continue
        for one in wanted:
            values = [None if one.reached is None else getattr(one.reached, key) for key, _, _ in COLUMNS]
            found.append((entry.name, one.accuracy, values))
    return found


def evenly(length: int) -> list[int]:
    """At most `CURVE_POINTS` indices from first to last, evenly spaced."""
    return [int(k) for k in np.unique(np.linspace(0, length - 1, min(length, CURVE_POINTS)).astype(int))]


def thinned(length: int, most: int) -> NDArray[np.intp]:
    """At most so many indices from first to last: evenly spaced, and some of them as on a logarithmic axis."""
    if length <= most:
        return np.arange(length)
    even = np.linspace(0, length - 1, most - most // 4)
    return np.unique(np.concatenate([even, np.geomspace(1, length, most // 4) - 1]).astype(np.intp))
