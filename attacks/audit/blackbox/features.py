"""Features of transcripts: a row a transcript, a column a recorded number, all columns on one scale.

Nothing here knows the algorithm: every value of every message that was heard, and what an insider knows of
itself,
is a column, named by where it was recorded. When a row was heard and how many bytes it had is the same in all
transcripts of a sample: these are its facts.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.transcript.record import EVERYBODY, Record

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


@dataclass(frozen=True)
class Features:
    """What one sample's transcripts hold: `values` (replicas, columns) under `names`, and `facts` common to all.

    Who may see it: whoever had the view. NaN and ±∞ are as they were recorded.
    """

    names: tuple[str, ...]
    values: Array
    facts: Mapping[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.names):
            shape, names = self.values.shape, len(self.names)
            raise AttackError(f"features of shape {shape} under {names} names: (replicas, {names}) is wanted")

    @classmethod
    def of(cls, values: Array) -> "Features":
        """A bare table, (replicas, columns); a column's name is its number."""
        return cls(tuple(map(str, range(values.shape[1]))), values)

    @property
    def replicas(self) -> int:
        """Transcripts."""
        return len(self.values)


def features(view: AdversaryView, most: int | None = None) -> Features:
    """Every number that a view recorded, in order of its rows, of a row's fields by name, and of coordinates.

    A value that was recorded more than once, being one broadcast, is one set of columns, named by the place that
    comes first in the alphabet. An insider adds its private queries, with the answers, and its releases. Where that
    makes more than `most` columns, only some coordinates are kept, the same ones of every vector and at least one:
    what vectors have to do with each other is mostly a matter of each coordinate by itself.
    """
    facts: dict[str, float] = {}
    places: dict[int, str] = {}
    columns: dict[int, Array] = {}
    for where, value in _recorded(view, facts):
        columns[id(value)] = value
        places[id(value)] = min(where, places.get(id(value), where))
    kept = _coordinates([value.shape[-1] for value in columns.values()], most)
    names = tuple(f"{places[k]}[{c}]" for k, value in columns.items() for c in kept if c < value.shape[-1])
    values = [value[:, [c for c in kept if c < value.shape[-1]]] for value in columns.values()]
    return Features(names, np.concatenate(values, axis=1) if values else np.empty((view.replicas, 0)), facts)


def _coordinates(dimensions: Sequence[int], most: int | None) -> list[int]:
    """Which coordinates are kept of vectors of these dimensions, evenly spaced."""
    largest = max(dimensions, default=0)
    if most is None or sum(dimensions) <= most:
        return list(range(largest))
    wanted = min(max(1, most // len(dimensions)), largest)
    places: list[int] = np.linspace(0, largest - 1, wanted).astype(int).tolist()
    return places


def recorded_ids(view: AdversaryView) -> frozenset[int]:
    """Which arrays a view has, by identity: comparable among views of one run, while these are kept."""
    return frozenset(id(value) for _, value in _recorded(view, {}))


def _recorded(view: AdversaryView, facts: dict[str, float]) -> Iterator[tuple[str, Array]]:
    """Where something was recorded, and the values, each (replicas, dimension); fills in the facts."""
    seen = Counter[str]()
    for row in view.transcript:
        where = _place(row)
        seen[where] += 1
        if seen[where] > 1:
            where = f"{where} again {seen[where] - 1}"
        facts[f"{where} time"], facts[f"{where} size"] = row.time, float(row.size)
        for name in sorted(row.values):
            yield f"{where} {name}", row.values[name]
    for agent in sorted(view.inside):
        inside = view.inside[agent]
        for k, query in enumerate(inside.queries):
            yield f"inside {agent} query {k} point", query.point
            yield f"inside {agent} query {k} gradient", query.gradient
        for k, release in enumerate(inside.releases):
            yield f"inside {agent} release {k}", release


def _place(row: Record) -> str:
    receiver = "*" if row.receiver == EVERYBODY else row.receiver
    return f"{row.event} {row.sender}→{receiver} {row.kind} {row.number} {row.sequence} {row.attempt}"


def table(samples: Sequence[Features]) -> tuple[tuple[str, ...], Array]:
    """Some samples below each other: (names, values), NaN where a sample lacks a column.

    Facts that are not the same in all samples are columns too; the names are in order of first appearance.
    """
    names = tuple(dict.fromkeys(name for sample in samples for name in sample.names))
    told = dict.fromkeys(name for sample in samples for name in sample.facts)
    differing = [name for name in told if len({sample.facts.get(name) for sample in samples}) > 1]
    names = (*names, *differing)
    return names, np.concatenate([aligned(sample, names) for sample in samples])


def aligned(sample: Features, names: Sequence[str]) -> Array:
    """One sample's columns of these names, (replicas, names); NaN where it has none."""
    if names == sample.names:
        return sample.values
    place = {name: k for k, name in enumerate(sample.names)}
    found = np.full((sample.replicas, len(names)), np.nan)
    here = [(k, place[name]) for k, name in enumerate(names) if name in place]
    if here:
        to, source = (list(side) for side in zip(*here, strict=True))
        found[:, to] = sample.values[:, source]
    for k, name in enumerate(names):
        if name in sample.facts:
            found[:, k] = sample.facts[name]
    return found
