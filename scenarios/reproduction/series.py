"""Curves and numbers of one algorithm, read from its entry in results: the only place that knows their keys.

What is read: `convergence` (`unit`, `count`, `median`, `low`, `high`), `run`, `gradients.median`, `audit`, `budget`,
and, where results have them,

- `measures.count`, and `measures.curves.NAME` with `median`, `low`, `high`, as long, for NAME in `consensus_error`,
  `gap`, `accuracy` (`relative_error` is `convergence`);
- `measures.axes.AXIS`, as long, for AXIS in `messages`, `bytes`, `time`, `plf`: what was spent until then;
- `measures.to_accuracy`, a list with `accuracy` and what it took: `rounds`, `activations`, `plf`, `messages`,
  `bytes`, `time`, null where it was not reached.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from scenarios.report.formats import number, numbers, part

Result = Mapping[str, Any]


class NotMeasuredError(Exception):
    """Results do not hold what is asked of them; the text says what, as the end of a sentence."""


@dataclass(frozen=True)
class Curve:
    """y over x, with the band between the 5 % and the 95 % quantile over replicas (empty where there is none)."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


def entry_of(results: Result, name: str) -> Result:
    """The entry of an algorithm."""
    for entry in cast("list[Result]", results.get("algorithms") or []):
        if entry.get("name") == name:
            return entry
    raise NotMeasuredError(f"the run ended before {name}")


def unit(entry: Result) -> str:
    """What a run is counted in: "rounds", or "activations" of a walk."""
    return str(part(entry, "convergence").get("unit") or "activations")


def curve(entry: Result, y: str, x: str) -> Curve:
    """A curve over an axis; a `NotMeasuredError` where results lack one of the two."""
    if y == "epsilon_claimed":
        return _claimed(entry, x)
    if y == "relative_error":
        values, counts = part(entry, "convergence"), numbers(part(entry, "convergence").get("count"))
    else:
        values, counts = part(part(part(entry, "measures"), "curves"), y), numbers(_measures(entry).get("count"))
    median, low, high = (tuple(numbers(values.get(key))) for key in ("median", "low", "high"))
    if not median:
        raise NotMeasuredError(f"results of {entry.get('name')} have no {y.replace('_', ' ')}")
    banded = len(low) == len(high) == len(median)
    return Curve(_axis(entry, x, counts), median, low if banded else (), high if banded else ())


def axis(entry: Result, x: str) -> tuple[float, ...]:
    """The axis of the relative error: how much of `x` was spent until each point of it."""
    return _axis(entry, x, numbers(part(entry, "convergence").get("count")))


def tabled(entry: Result, accuracy: float, x: str) -> float | None:
    """What it took to an accuracy by the table in the results; None where the table does not have it."""
    rows = cast("list[Result]", _measures(entry).get("to_accuracy") or [])
    row = next((r for r in rows if math.isclose(number(r.get("accuracy")), accuracy, rel_tol=1e-9)), None)
    value = number(None if row is None else row.get(x))
    return None if math.isnan(value) else value


def _axis(entry: Result, x: str, counts: Sequence[float]) -> tuple[float, ...]:
    if x == unit(entry) or (x == "plf" and unit(entry) == "rounds"):
        return tuple(counts)
    spent = tuple(numbers(part(_measures(entry), "axes").get(x)))
    if len(spent) != len(counts) or not spent:
        raise NotMeasuredError(f"results of {entry.get('name')} are by {unit(entry)}, not by {x}")
    return spent


def _claimed(entry: Result, x: str) -> Curve:
    budget = part(entry, "budget")
    if not budget:
        raise NotMeasuredError(f"{entry.get('name')} claims nothing")
    if x not in ("plf", budget["unit"]):
        raise NotMeasuredError(f"the claim of {entry.get('name')} is by {budget['unit']}, not by {x}")
    pairs = [(number(k), number(e)) for k, e in zip(budget["count"], budget["epsilon"], strict=True)]
    known = [(k, e) for k, e in pairs if not math.isnan(e)]
    if not known:
        raise NotMeasuredError(f"the claim of {entry.get('name')} is undefined: {conditions(entry)}")
    return Curve(tuple(k for k, _ in known), tuple(e for _, e in known))


def conditions(entry: Result) -> str:
    """The conditions of a claim that fail, in a line."""
    return "; ".join(part(entry, "budget").get("failed_conditions") or []) or "no number is claimed"


def _measures(entry: Result) -> dict[str, Any]:
    return part(entry, "measures")
