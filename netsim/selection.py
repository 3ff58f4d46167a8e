"""Which rows of a transcript are meant: the same words for rows in memory and rows on disk."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]
Words = str | Collection[str] | None
Numbers = int | Collection[int] | None
COLUMNS = {"senders": "sender", "receivers": "receiver", "places": "place", "kinds": "kind", "numbers": "number"}
"""What a selection's sets choose among; times are apart, for they have an order."""
COMPARED = tuple(COLUMNS.items())


class Asked(TypedDict, total=False):
    """What rows are chosen by besides their time."""

    sender: Numbers
    receiver: Numbers
    place: Words
    kind: Words
    number: Numbers


@dataclass(frozen=True)
class Selection:
    """since <= time < until (virtual seconds), and one of these senders, receivers, places, kinds and numbers.

    None is any; an empty set is none.
    """

    since: float = -math.inf
    until: float = math.inf
    senders: frozenset[int] | None = None
    receivers: frozenset[int] | None = None
    places: frozenset[str] | None = None
    kinds: frozenset[str] | None = None
    numbers: frozenset[int] | None = None

    @classmethod
    def of(cls, since: float = -math.inf, until: float = math.inf, **asked: Unpack[Asked]) -> "Selection":
        """Each one value, several, or (None) any."""
        sender, receiver, number = (_numbers(asked.get(name)) for name in ("sender", "receiver", "number"))
        place, kind = (_words(asked.get(name)) for name in ("place", "kind"))
        return cls(since, until, sender, receiver, place, kind, number)

    def narrowed(self, by: "Selection") -> "Selection":
        """What both choose."""
        sets = {name: _both(getattr(self, name), getattr(by, name)) for name in COLUMNS}
        return Selection(max(self.since, by.since), min(self.until, by.until), **sets)

    def meets(self, first: float, last: float) -> bool:
        """Whether anything between two times can be among them."""
        return last >= self.since and first < self.until

    def holds(self, row: Any) -> bool:
        """Whether a row (`netsim.transcript.Record`) is among them."""
        return self.since <= row.time < self.until and all(
            getattr(row, column) in chosen for name, column in COMPARED if (chosen := getattr(self, name)) is not None
        )

    def among(self, columns: dict[str, Column]) -> Column:
        """Their indices among rows given as columns, as far as the columns that are given decide."""
        time = columns["time"]
        chosen = (time >= self.since) & (time < self.until)
        for name, column in COMPARED:
            wanted: frozenset[Any] | None = getattr(self, name)
            if wanted is not None and column in columns:
                chosen &= np.isin(columns[column], sorted(wanted))
        return np.flatnonzero(chosen)


EVERY = Selection()


def _numbers(given: Numbers) -> frozenset[int] | None:
    return frozenset((given,)) if isinstance(given, int) else None if given is None else frozenset(given)


def _words(given: Words) -> frozenset[str] | None:
    return frozenset((given,)) if isinstance(given, str) else None if given is None else frozenset(given)


def _both(one: frozenset[Any] | None, other: frozenset[Any] | None) -> frozenset[Any] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
