"""How far runs got and at what cost, as plain data: the `measures` of an entry of results.json."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.measures import Measures
from scenarios.schema.measures import MeasureSpec

Results = dict[str, Any]
POINTS = 200
"""Of a curve, at most."""


def measures(found: Measures, spec: MeasureSpec) -> Results:
    """Curves of all measures but the relative error, which is `convergence`; costs so far, and to accuracies."""
    length = len(found.counts("relative_error"))
    return {
        "unit": found.unit,
        "stride": found.stride,
        "curves": {name: _curve(found, name) for name in found.names if name != "relative_error"},
        "costs": _costs(found, length),
        "measure": spec.measure,
        "to_accuracy": [{"accuracy": one, "reached": _reached(found, one, spec)} for one in spec.accuracies],
    }


def _curve(found: Measures, name: str) -> Results:
    curve = found.curve(name)
    chosen = _thinned(len(curve.count))
    return {part: values[chosen].tolist() for part, values in vars(curve).items()}


def _costs(found: Measures, length: int) -> Results:
    chosen = _thinned(length)
    spent = {name: values[chosen].tolist() for name, values in vars(found.costs).items()}
    return {"count": [k + 1 for k in chosen]} | spent


def _reached(found: Measures, accuracy: float, spec: MeasureSpec) -> Results | None:
    reached = found.to_accuracy(accuracy, spec.measure)
    return None if reached is None else asdict(reached)


def _thinned(length: int) -> list[int]:
    return [int(k) for k in thinned(length, POINTS)]


def thinned(length: int, most: int) -> NDArray[np.intp]:
    """At most so many indices from first to last: evenly spaced, and some of them as on a logarithmic axis."""
    if length <= most:
        return np.arange(length)
    even = np.linspace(0, length - 1, most - most // 4)
    return np.unique(np.concatenate([even, np.geomspace(1, length, most // 4) - 1]).astype(np.intp))


Row = tuple[str, float | None, list[float | None]]
NONE = "none of them"
"""In place of an accuracy, where none was reached."""


# ── the table ───────────────────────────────────────────────────────────────────────────────────────────
COLUMNS = (
    ("plf", "Θ (PLF, LCI)", "the largest number of activations, or rounds, of one agent"),
    ("count", "Rounds or activations", "of the whole run"),
    ("messages", "Messages", "that agents sent, one for each receiver"),
    ("packets", "Packets", "on the air: acknowledgements and repeats too; on radio, transmissions"),
    ("bytes", "Bytes", "on the air"),
    ("queries", "Queries", "gradients and proximal steps of all agents"),
    ("time", "Seconds", "of virtual time"),
)
"""What is shown of the costs to an accuracy: the key, its heading, and what it counts."""


def rows(entries: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Algorithm × accuracy → a value for each of `COLUMNS`; None all along the row where it was never reached.

    An algorithm that reached none of several accuracies has one row, and None for the accuracy.
    """
    found: list[Row] = []
    for entry in entries:
        measured: Results = entry.get("measures") or {}
        asked: list[Results] = measured.get("to_accuracy") or []
        if len(asked) > 1 and not any(one["reached"] for one in asked):
            asked = [{"accuracy": None, "reached": None}]
        for one in asked:
            spent: Results = one["reached"] or {}
            found.append((str(entry["name"]), one["accuracy"], [spent.get(key) for key, _, _ in COLUMNS]))
    return found
