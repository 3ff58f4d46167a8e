"""Curves and numbers of one algorithm, read from its entry in results."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from scenarios.results.numbers import items, number, numbers, part

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


def requested(entry: Result) -> dict[str, Any]:
    """Numbers that the run noted from all of its rounds or activations, because checks or figures ask for them."""
    return part(_measures(entry), "asked")


def answer(entry: Result, kind: str, **bound: object) -> Result | None:
    """The noted number of that kind, for the curve and the bounds asked for; None where the run noted none."""
    rows = cast("list[Result]", requested(entry).get(kind) or [])
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


Numbers: TypeAlias = Sequence[float] | NDArray[np.float64] | NDArray[np.int64]
GREW = 1e3
"""An error so many times its first value has diverged."""


def ends(counts: Numbers, errors: Numbers, accuracy: float, length: int) -> tuple[int, int | None]:
    """Between which counts, both included, the first lies from which on the error is at most `accuracy` until the
    end of a run of `length`. The second is None where the run ended above, or its end is not known.

    Both are the same where all points from the last one above are known.
    """
    at, error = np.asarray(counts, dtype=np.int64), np.asarray(errors, dtype=np.float64)
    above = np.flatnonzero(~(error <= accuracy))
    last = int(at[above[-1]]) if above.size else 0
    if at[-1] < length or last == at[-1]:
        return max(1, last), None
    gaps = np.flatnonzero(np.diff(at) > 1)
    known = int(at[gaps[-1] + 1] if gaps.size else at[0])
    return last + 1, max(last + 1, known)


def value(counts: Numbers, errors: Numbers, after: int) -> float:
    """The error at a count. You get a `NotMeasuredError` where it is not known there; one that is not a number grew
    beyond numbers."""
    at = np.flatnonzero(np.asarray(counts) == after)
    if not at.size:
        raise NotMeasuredError(_between(after))
    error = float(errors[int(at[0])])
    return np.inf if np.isnan(error) else error


def slope(counts: Numbers, errors: Numbers, start: int, end: int | None, floor: float) -> float:
    """Decades per count of the least-squares line through log₁₀ of all errors from `start` to `end`, or to where one
    is below `floor` or not finite. You get a `NotMeasuredError` where one of them is not known."""
    at, error = np.asarray(counts, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    gaps = np.flatnonzero(at != np.arange(1, len(at) + 1))
    known = int(gaps[0]) if gaps.size else len(at)
    out = np.flatnonzero(~(error[:known] >= floor) | ~np.isfinite(error[:known]))
    until = min(int(out[0]) if out.size else known, known if end is None else end)
    if until == known < len(at) and (end is None or known < end):
        raise NotMeasuredError(_between(known + 1))
    x, y = at[:until][at[:until] >= start], np.log10(error[:until][at[:until] >= start])
    if len(x) < 3:
        raise NotMeasuredError("there are fewer than three points for a slope")
    x = x - x.mean()
    return float(np.sum(x * (y - y.mean())) / np.sum(x * x))


def grew(errors: Numbers) -> bool:
    """Whether an error is not finite, or the last is more than `GREW` times the first."""
    return not np.all(np.isfinite(errors)) or float(errors[-1]) > GREW * float(errors[0])


def _between(count: int) -> str:
    return f"the curve is not known at {count:,} (`measures: {{every: 1}}` knows it everywhere)"


WORDS = {
    "gradient_error": "error of inferred gradients",
    "identifiable": "share of queries with an estimate",
    "image_skill": "skill of the rebuilt image",
}


def leakage_at_end(entry: Result, measure: str) -> float:
    """The median error of inferred gradients, the share of queries with an estimate, or the mean skill of images."""
    if measure == "image_skill":
        return fmean(number(one["skill"]) for one in _images(entry))
    found = part(entry, "gradients")
    if measure == "identifiable" and found.get("asked"):
        return number(found["estimated"]) / number(found["asked"])
    if found.get("median") is None:
        raise _absent(entry, "inferred gradients", found)
    return number(found["median"])


def leakage_curve(entry: Result, y: str, x: str) -> Curve:
    """A leak by the agents' own query, their degree, or their hops to the nearest tap; over equal agents the median,
    of shares the mean, with the least and the largest."""
    known = part(entry, "leakage")
    if not known:
        raise _absent(entry, "inferred gradients", part(entry, "gradients"))
    if x == "query":
        return _by_query(entry, part(known, "by_query"), y)
    agents = {row["agent"]: row for row in items(known, "by_agent")}
    values = _images(entry) if y == "image_skill" else agents.values()
    key = {"image_skill": "skill", "gradient_error": "error"}.get(y, y)
    groups: dict[float, list[float]] = {}
    for row in values:
        at = agents.get(row["agent"], {}).get(x)
        if at is not None and row[key] is not None:
            groups.setdefault(number(at), []).append(number(row[key]))
    middle = fmean if y == "identifiable" else median  # of shares the mean is the share of all their queries
    return _curve(entry, y, ((at, min(found), middle(found), max(found)) for at, found in sorted(groups.items())))


def _by_query(entry: Result, known: dict[str, Any], y: str) -> Curve:
    if y == "identifiable":
        share = [number(v) for v in known["identifiable"]]
        return Curve(tuple(number(k) for k in known["query"]), tuple(share))
    rows = zip(known["query"], known["low"], known["median"], known["high"], strict=True)
    return _curve(entry, y, (tuple(number(v) for v in row) for row in rows if row[2] is not None))


def _curve(entry: Result, y: str, rows: Iterable[tuple[float, ...]]) -> Curve:
    found = list(rows)
    if not found:
        raise _absent(entry, WORDS[y], {})
    x, low, middle, high = (tuple(row[k] for row in found) for k in range(4))
    return Curve(x, middle, low, high)


def _images(entry: Result) -> list[Any]:
    found = part(entry, "images")
    if not found.get("agents"):
        raise _absent(entry, "rebuilt images", found)
    return items(found, "agents")


def _absent(entry: Result, what: str, found: Result) -> NotMeasuredError:
    why = f": {found['refused']}" if found.get("refused") else ""
    return NotMeasuredError(f"results of {entry.get('name')} have no {what}{why}")


def number_of(entry: Result, attack: str, measure: str) -> float:
    """A measure of `scenarios.schema.checks.Rebuilt`."""
    found = _attack(entry, attack)
    value = part(found, "success").get("rate") if measure == "success" else found.get(measure)
    if math.isnan(number(value)):
        raise NotMeasuredError(f"{attack} on {entry.get('name')} has no {measure.replace('_', ' ')}")
    return number(value)


def verdict_of(entry: Result, attack: str) -> str:
    """What became of an attack."""
    return str(_attack(entry, attack)["verdict"])


def _attack(entry: Result, attack: str) -> dict[str, Any]:
    """A `NotMeasuredError` where it was not reached, or refused."""
    rows = items(part(entry, "reconstructions"), "attacks")
    found = next((row for row in rows if row["attack"] == attack), None)
    if found is None:
        raise NotMeasuredError(f"the run ended before {attack} on {entry.get('name')}")
    if found.get("refused"):
        raise NotMeasuredError(f"{attack} on {entry.get('name')} was refused: {found['refused']}")
    return found
