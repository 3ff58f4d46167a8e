"""Curves and numbers of one algorithm, read from its entry in results: the only place that knows their keys.

What is read: `convergence` (`unit`, `count`, `median`, `low`, `high`), `gradients.median`, `audit`, `budget`; and,
where results have them,

- `measures.curves.NAME`: `count`, `median`, `low`, `high`;
- `measures.costs`: `count`, and what was spent by then: `plf`, `messages`, `message_bytes`, `packets`, `bytes`,
  `queries`, `time`;
- `measures.to_accuracy`, of the measure `measures.measure`: `accuracy`, and `reached`: `count` and costs, or null.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

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
    values = part(part(_measures(entry), "curves"), y) if y != "relative_error" else part(entry, "convergence")
    median, low, high = (tuple(numbers(values.get(key))) for key in ("median", "low", "high"))
    if not median:
        raise NotMeasuredError(f"results of {entry.get('name')} have no {y.replace('_', ' ')}")
    banded = len(low) == len(high) == len(median)
    counts = numbers(values.get("count"))
    return Curve(_spent(entry, x, counts), median, low if banded else (), high if banded else ())


def bounds(entry: Result, x: str, after: float, until: float) -> tuple[float, float]:
    """How much of an axis is spent at least after one count of rounds or activations, and at most until another."""
    if x == unit(entry) or (x == "plf" and unit(entry) == "rounds"):
        return after, until
    at, spent = _costs(entry, x)
    before = [s for k, s in zip(at, spent, strict=True) if k <= after]
    beyond = [s for k, s in zip(at, spent, strict=True) if k >= until]
    return (before[-1] if before else 0.0), (beyond[0] if beyond else math.inf)


def tabled(entry: Result, name: str, accuracy: float, x: str) -> float | None:
    """What it took to an accuracy by the table in the results; None where the table does not have it."""
    if _measures(entry).get("measure") != name:
        return None
    rows = cast("list[Result]", _measures(entry).get("to_accuracy") or [])
    row = next((r for r in rows if math.isclose(number(r.get("accuracy")), accuracy, rel_tol=1e-9)), None)
    reached = {} if row is None else part(row, "reached")
    value = number(reached.get("count" if x == unit(entry) else x))
    return None if math.isnan(value) else value


def _spent(entry: Result, x: str, counts: Sequence[float]) -> tuple[float, ...]:
    """An axis at every count; between two points of the costs on a straight line."""
    if x == unit(entry) or (x == "plf" and unit(entry) == "rounds"):
        return tuple(counts)
    at, spent = _costs(entry, x)
    return tuple(float(v) for v in np.interp(counts, at, spent))


def _costs(entry: Result, x: str) -> tuple[list[float], list[float]]:
    costs = part(_measures(entry), "costs")
    at, spent = numbers(costs.get("count")), numbers(costs.get(x))
    if len(spent) != len(at) or not spent:
        raise NotMeasuredError(f"results of {entry.get('name')} are by {unit(entry)}, not by {x.replace('_', ' ')}")
    return at, spent


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
