"""Curves, costs and numbers of algorithms, read from their results; thinning of curves."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from scenarios.results.attacks import GradientResult, ImageResult, RecordAttack
from scenarios.results.base import Refused
from scenarios.results.run import Convergence, MeasureResults, ToAccuracy
from scenarios.results.tree import AlgorithmResult, Results


class NotMeasuredError(Exception):
    """A number that results do not hold; the text says which, as the end of a sentence."""


@dataclass(frozen=True)
class Curve:
    """y over x, with the band between the 5 % and the 95 % quantile over replicas (empty where there is none)."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


def entry_of(results: Results, name: str) -> AlgorithmResult:
    """The results of an algorithm."""
    for entry in results.algorithms:
        if entry.name == name:
            return entry
    raise NotMeasuredError(f"the run ended before {name}")


def unit(entry: AlgorithmResult) -> str:
    """Unit in which a run is counted: "rounds", or "activations" of a walk."""
    return "activations" if entry.convergence is None else entry.convergence.unit


def step(entry: AlgorithmResult) -> str:
    """One of them: "round" or "activation"."""
    return unit(entry).removesuffix("s")


def curve(entry: AlgorithmResult, y: str, x: str) -> Curve:
    """A curve over an axis; a `NotMeasuredError` where results lack one of the two."""
    if y == "epsilon_claimed":
        return _claimed(entry, x)
    measured = {} if entry.measures is None else entry.measures.curves
    found: Convergence | MeasureResults.MeasureCurve | None = (
        entry.convergence if y == "relative_error" else measured.get(y)
    )
    if found is None or not found.median:
        raise NotMeasuredError(f"results of {entry.name} have no {y.replace('_', ' ')}")
    if _is_count(entry, x):
        spent: tuple[float, ...] = found.count
    else:  # between two points of the costs on a straight line
        spent = tuple(float(v) for v in np.interp(found.count, *_costs(entry, x)))
    return Curve(spent, found.median, found.low, found.high)


def _is_count(entry: AlgorithmResult, x: str) -> bool:
    return x == unit(entry) or (x == "plf" and unit(entry) == "rounds")


def bounds(entry: AlgorithmResult, x: str, low: float, high: float) -> tuple[float, float]:
    """How much of an axis is spent at least by one count of rounds or activations, and at most by another."""
    if _is_count(entry, x):
        return low, high
    at, spent = _costs(entry, x)
    before = [s for k, s in zip(at, spent, strict=True) if k <= low]
    beyond = [s for k, s in zip(at, spent, strict=True) if k >= high]
    return (before[-1] if before else 0.0), (beyond[0] if beyond else math.inf)


def _costs(entry: AlgorithmResult, x: str) -> tuple[Sequence[float], Sequence[float]]:
    costs = {} if entry.measures is None else asdict(entry.measures.costs)
    if not costs.get(x):
        raise NotMeasuredError(f"results of {entry.name} are by {unit(entry)}, not by {x.replace('_', ' ')}")
    return costs["count"], costs[x]


def _claimed(entry: AlgorithmResult, x: str) -> Curve:
    budget = entry.budget
    if budget is None:
        raise NotMeasuredError(f"{entry.name} claims nothing")
    if x not in ("plf", budget.unit):
        raise NotMeasuredError(f"the claim of {entry.name} is by {budget.unit}, not by {x}")
    known = [(float(k), e) for k, e in zip(budget.count, budget.epsilon, strict=True) if e is not None]
    if not known:
        raise NotMeasuredError(f"the claim of {entry.name} is undefined: {conditions(entry)}")
    return Curve(tuple(k for k, _ in known), tuple(e for _, e in known))


def conditions(entry: AlgorithmResult) -> str:
    """The conditions of a claim that fail, in a line."""
    failed = () if entry.budget is None else entry.budget.failed_conditions
    return "; ".join(failed) or "no number is claimed"


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
    """Whether an error is not finite, or the last is more than `GREW` times the first, which is not 0."""
    return not np.all(np.isfinite(errors)) or 0 < GREW * float(errors[0]) < float(errors[-1])


def _between(count: int) -> str:
    return f"the curve is not known at {count:,} (`measures: {{every: 1}}` knows it everywhere)"


WORDS = {
    "gradient_error": "error of inferred gradients",
    "identifiable": "share of queries with an estimate",
    "image_skill": "skill of the rebuilt image",
}


def leakage_at_end(entry: AlgorithmResult, measure: str) -> float:
    """The median error of inferred gradients, the share of queries with an estimate, or the mean skill of images."""
    if measure == "image_skill":
        return fmean(one.skill for one in _images(entry))
    found = entry.gradients
    if measure == "identifiable" and isinstance(found, GradientResult) and found.queries:
        return found.estimated / found.queries
    if not isinstance(found, GradientResult) or found.median is None:
        raise _absent(entry, "inferred gradients", found)
    return found.median


def leakage_curve(entry: AlgorithmResult, y: str, x: str) -> Curve:
    """A leak by the agents' own query, their degree, or their hops to the nearest tap; over equal agents the median,
    of shares the mean, with the least and the largest."""
    if entry.leakage is None:
        raise _absent(entry, "inferred gradients", entry.gradients)
    if x == "query":
        known = entry.leakage.by_query
        if y == "identifiable":
            return Curve(known.query, known.identifiable)
        rows = zip(known.query, known.low, known.median, known.high, strict=True)
        return _curve(entry, y, (cast("tuple[float, ...]", row) for row in rows if row[2] is not None))
    agents = {row.agent: row for row in entry.leakage.by_agent}
    if y == "image_skill":
        values: dict[int, float | None] = {one.agent: one.skill for one in _images(entry)}
    else:
        values = {k: row.identifiable if y == "identifiable" else row.error for k, row in agents.items()}
    groups: dict[float, list[float]] = {}
    for agent, value in values.items():
        row = agents.get(agent)
        at = None if row is None else row.degree if x == "degree" else row.hops
        if at is not None and value is not None:
            groups.setdefault(float(at), []).append(value)
    middle = fmean if y == "identifiable" else median  # of shares the mean is the share of all their queries
    return _curve(entry, y, ((at, min(found), middle(found), max(found)) for at, found in sorted(groups.items())))


def _curve(entry: AlgorithmResult, y: str, rows: Iterable[tuple[float, ...]]) -> Curve:
    found = list(rows)
    if not found:
        raise _absent(entry, WORDS[y], None)
    x, low, middle, high = (tuple(row[k] for row in found) for k in range(4))
    return Curve(x, middle, low, high)


def _images(entry: AlgorithmResult) -> tuple[ImageResult.ImageOfAgent, ...]:
    if not isinstance(entry.images, ImageResult) or not entry.images.agents:
        raise _absent(entry, "rebuilt images", entry.images)
    return entry.images.agents


def _absent(entry: AlgorithmResult, what: str, found: object) -> NotMeasuredError:
    why = f": {found.refused}" if isinstance(found, Refused) else ""
    return NotMeasuredError(f"results of {entry.name} have no {what}{why}")


def record_attack(entry: AlgorithmResult, attack: str) -> RecordAttack:
    """An attack on records. You get a `NotMeasuredError` where it was not reached, or refused."""
    rows = () if entry.reconstructions is None else entry.reconstructions.attacks
    found = next((row for row in rows if row.attack == attack), None)
    if found is None:
        raise NotMeasuredError(f"the run ended before {attack} on {entry.name}")
    if found.refused:
        raise NotMeasuredError(f"{attack} on {entry.name} was refused: {found.refused}")
    return found


def search_curve(entry: AlgorithmResult, attack: str) -> Curve:
    """Mean squared error of an attack's records over the iterations of its search."""
    way = record_attack(entry, attack).way
    if way is None:
        raise NotMeasuredError(f"{attack} on {entry.name} kept no iterates (`snapshots` keeps them)")
    return Curve(tuple(map(float, way.iterations)), way.mse, way.low, way.high)


# ── costs of reaching accuracies ────────────────────────────────────────────────────────────────────────
Row = tuple[str, float | None, list[float | None]]
"""Algorithm, accuracy, and a value for each of `COLUMNS`."""
COLUMNS = (
    ("plf", "Θ (PLF, LCI)", "the largest number of activations, or rounds, of one agent"),
    ("count", "Rounds or activations", "of the whole run"),
    ("messages", "Messages", "that agents sent, one for each receiver"),
    ("packets", "Packets", "sent: acknowledgements and repeats too; on radio, transmissions"),
    ("bytes", "Bytes", "of all packets sent"),
    ("queries", "Queries", "gradients and proximal steps of all agents"),
    ("time", "Seconds", "of virtual time"),
)
"""Columns of the costs to an accuracy: the attribute of `Reached`, its heading, and what it counts."""
CURVE_POINTS = 400
"""Of the curve of errors, at most."""
FIRST_REPLICAS = 1000
"""Replicas of which results keep a number each, for comparisons with intervals."""


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


def thinned(length: int, most: int) -> NDArray[np.intp]:
    """At most so many indices from first to last: evenly spaced, and some of them as on a logarithmic axis."""
    if length <= most:
        return np.arange(length)
    even = np.linspace(0, length - 1, most - most // 4)
    return np.unique(np.concatenate([even, np.geomspace(1, length, most // 4) - 1]).astype(np.intp))
