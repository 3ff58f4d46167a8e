"""A view as a table of numbers: a row for each transcript, a column for each number that was recorded in it.

Nothing here knows the algorithm: every value of every message that was heard, and what an insider knows of itself,
is a column, named by where it was recorded. When a row was heard and how many bytes it had is the same in all
transcripts of a sample: these are its facts.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.transcript import EVERYBODY, Record


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
