"""Curves and numbers of one algorithm, read from its entry in results: the only place that knows their keys.

What is read: `convergence` (`unit`, `count`, `median`, `low`, `high`), `gradients.median`, `audit`, `budget`; and,
where results have them,

- `measures.curves.NAME`: `count`, `median`, `low`, `high`;
- `measures.costs`: `count`, and what was spent by then: `plf`, `messages`, `message_bytes`, `packets`, `bytes`,
  `queries`, `time`;
- `measures.asked`: exact numbers, which thinned curves do not have (`scenarios.reproduction.asked`).
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


def bounds(entry: Result, x: str, low: float, high: float) -> tuple[float, float]:
    """How much of an axis is spent at least by one count of rounds or activations, and at most by another."""
    if x == unit(entry) or (x == "plf" and unit(entry) == "rounds"):
        return low, high
    at, spent = _costs(entry, x)
    before = [s for k, s in zip(at, spent, strict=True) if k <= low]
    beyond = [s for k, s in zip(at, spent, strict=True) if k >= high]
    return (before[-1] if before else 0.0), (beyond[0] if beyond else math.inf)


def asked(entry: Result) -> dict[str, Any]:
    """Numbers that the run noted from all of its rounds or activations, because checks or figures ask for them."""
    return part(_measures(entry), "asked")


def answer(entry: Result, kind: str, **bound: object) -> Result | None:
    """The noted number of that kind, for the curve and the bounds asked for; None where the run noted none."""
    rows = cast("list[Result]", asked(entry).get(kind) or [])
    return next((row for row in rows if all(row.get(key) == value for key, value in bound.items())), None)


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
