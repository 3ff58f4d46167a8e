"""Numbers of all sizes put on one scale, without a look at which world they are from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from netsim.arrays import Array

MOST = 2000
"""Columns that are looked at; of more, so many are taken at even distances, in order."""
WILD = 1e3
"""Columns with values so many deviations from their median are looked at by rank."""
RUNGS = 65
"""Quantiles that ranks are read from."""
_LEVELS = (np.arange(RUNGS) + 0.5) / RUNGS
_SCORES = special.ndtri(_LEVELS)
HUGE = 1e150
"""What is larger is cut to this size before anything is computed with it."""


@dataclass(frozen=True)
class Columns:
    """Which numbers are looked at, and how they are put on one scale; learned without labels.

    Column k is (value − center)/spread; or, if `ladders` has quantiles of it, which it does where values are of all
    sizes, the normal score of the value's rank among them. What is missing is 0, and the columns `gaps` say with 1 or
    0 where it is.
    """

    names: tuple[str, ...]
    center: Array
    spread: Array
    ladders: Mapping[int, Array]
    gaps: tuple[int, ...]

    @classmethod
    def of(cls, names: Sequence[str], values: Array) -> "Columns":
        """Drops what is constant, and what repeats another column to the last bit."""
        distinct = _distinct(values)
        places: list[int] = np.linspace(0, len(distinct) - 1, min(MOST, len(distinct))).astype(int).tolist()
        chosen = [distinct[k] for k in places]
        part = values[:, chosen]
        gaps = tuple(k for k in range(len(chosen)) if bool(np.isnan(part[:, k]).any()))
        center, spread = _scale(part)
        return cls(
            tuple(names[k] for k in chosen),
            center,
            spread,
            {k: _ladder(part[:, k]) for k in range(len(chosen)) if _is_wild(part[:, k], center[k], spread[k])},
            gaps,
        )

    @property
    def count(self) -> int:
        """Columns of what `__call__` returns."""
        return len(self.names) + len(self.gaps)

    def __call__(self, values: Array) -> Array:
        """(rows, names) ↦ (rows, count)."""
        scaled = (np.clip(values, -HUGE, HUGE) - self.center) / self.spread
        for k, ladder in self.ladders.items():
            scaled[:, k] = np.interp(np.clip(values[:, k], -HUGE, HUGE), ladder, _SCORES)
        missing = np.isnan(values)
        scaled = np.clip(np.where(missing, 0.0, scaled), -10 * WILD, 10 * WILD)
        return np.concatenate([scaled, missing[:, list(self.gaps)].astype(np.float64)], axis=1)


def _distinct(values: Array) -> list[int]:
    """Columns that vary, each once."""
    kept: dict[bytes, int] = {}
    for k in range(values.shape[1]):
        column = values[:, k]
        if not np.array_equal(column, np.broadcast_to(column[:1], column.shape), equal_nan=True):
            kept.setdefault(np.ascontiguousarray(column).tobytes(), k)
    return list(kept.values())


def _scale(values: Array) -> tuple[Array, Array]:
    """Median and spread of each column: by quartiles, or where half the values agree by the standard deviation."""
    known = np.clip(values, -HUGE, HUGE)
    if not values.shape[1]:
        return np.empty(0), np.empty(0)
    low, center, high = (np.asarray(np.nanquantile(known, q, axis=0), dtype=np.float64) for q in (0.25, 0.5, 0.75))
    spread = (high - low) / 1.349
    with np.errstate(over="ignore"):
        deviation = np.nanstd(known, axis=0)
    spread = np.where(spread > 1e-12 * np.abs(center), spread, deviation)
    return center, np.where((spread > 0) & np.isfinite(spread), spread, 1.0)


def _ladder(column: Array) -> Array:
    """Quantiles, ascending."""
    return np.asarray(np.nanquantile(np.clip(column, -HUGE, HUGE), _LEVELS), dtype=np.float64)


def _is_wild(column: Array, center: float, spread: float) -> bool:
    return bool(np.nanmax(np.abs(np.clip(column, -HUGE, HUGE) - center)) > WILD * spread)
