"""Exact numbers of a curve known at some rounds or activations: `counts`, from 1, rising, and an error at each.

Nothing is said of what lies between two points that are not neighbors: an error can rise there and fall again.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scenarios.reproduction.series import NotMeasuredError

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
