"""Queries that an adjacent change moves: where one record differs, those of the batches that it may be in.

What `subset` drew is handed on unseen, one record after the other or all at once. Whichever they are, they are
different ones: of the queries for the places of one draw a record moves those of one place. So the most that it moves
is, of all draws, the most over their places; where effects add up in squares, each pair of draws counts by the two
places at which it costs most.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attacks.audit.view_price import Order, worst_change
from attacks.probe.node import Batch
from attacks.replay.coins import Drawn
from netsim.arrays import Array, Mask

Batches = Mapping[int, Batch]
"""Which of an agent's records a query is for, where it is not for all."""


class Moved(NamedTuple):
    """Queries that a change moves if it is of this `record`: `always` these, (queries,), and `either`, of each draw,
    those of one of its places, (places, queries)."""

    record: int
    always: Mask
    either: tuple[Mask, ...] = ()

    @property
    def any(self) -> Mask:
        """All that it may move, (queries,)."""
        return np.logical_or.reduce([self.always, *(np.any(places, axis=0) for places in self.either)])

    @property
    def most(self) -> int:
        """How many it moves at once, at most."""
        return int(np.count_nonzero(self.always) + sum(np.max(np.sum(places, axis=1)) for places in self.either))

    def farthest(self, vectors: Array, limits: Array, order: Order) -> float:
        """How far answers that change by `limits` (queries,) move releases at most: `vectors` (releases, queries) of
        them, in ℓ1 or ℓ2 as `order` says."""
        if not self.either:
            return worst_change(vectors[:, self.always], limits[self.always], order)[1]
        places = np.concatenate([self.always[None], *self.either]).astype(float)
        which = np.repeat(np.arange(1 + len(self.either)), [1, *map(len, self.either)])
        moved = vectors * limits
        if order == 1:
            each = places @ np.sum(np.abs(moved), axis=0)
            return float(sum(np.max(each[which == k]) for k in range(1 + len(self.either))))
        together = places @ np.abs(moved.T @ moved) @ places.T
        starts = np.flatnonzero(np.diff(which, prepend=-1))
        most = np.maximum.reduceat(np.maximum.reduceat(together, starts, axis=0), starts, axis=1)
        np.fill_diagonal(most, np.maximum.reduceat(np.diagonal(together), starts))  # one place, with itself
        return float(np.sqrt(np.sum(most)))


def _known(batch: Batch, records: int) -> bool:
    """Whether it is known which places of a draw, or which records, are in a batch: other ones are not the same."""
    return batch is not None and all(k.total <= records for k in batch if isinstance(k, Drawn))


def moved_queries(batches: Batches, records: int, used: Mask, shared: Mask, one: bool) -> Iterator[Moved]:
    """What a change moves of the queries that are `used`, for each record that may be the one that differs, the first
    of those that are in the same; of an agent with so many `records`. `shared`: queries at points that other answers
    move, in any transcript. `one`: the change is of one record."""
    named = {t: some for t, some in batches.items() if some is not None and _known(some, records)} if one else {}
    named = {t: some for t, some in named.items() if not shared[t] and used[t]}
    seen = set[tuple[bytes, ...]]()
    for record in range(records if named else 1):
        always, draws = used.copy(), dict[int, dict[int, Mask]]()
        for t, some in named.items():
            drawn = [k for k in some if isinstance(k, Drawn)]
            if (
                any(k % records == record for k in some if not isinstance(k, Drawn))
                or len({k.draw for k in drawn}) > 1
            ):
                continue
            always[t] = False
            for k in drawn:
                draws.setdefault(k.draw, {}).setdefault(k.place, np.zeros_like(used))[t] = True
        found = Moved(record, always, tuple(np.array([*places.values()]) for places in draws.values()))
        key = always.tobytes(), *(places.tobytes() for places in found.either)
        if key not in seen:
            seen.add(key)
            yield found


def weight(batches: Batches, records: int, t: int, one: bool) -> float | None:
    """How many times what it may move the whole gradient a change may move that of a query; None: any number."""
    if t not in batches:
        return 1.0
    batch = batches[t]
    if not batch or not one or not _known(batch, records):
        return None
    times = Counter(k if isinstance(k, Drawn) else k % records for k in batch)
    of_draws = Counter[int]()
    for k, count in times.items():
        if isinstance(k, Drawn):
            of_draws[k.draw] = max(of_draws[k.draw], count)
    most = max((count for k, count in times.items() if not isinstance(k, Drawn)), default=0) + of_draws.total()
    return records * most / len(batch)


def sentences(moved: Sequence[Moved], used: Mask) -> tuple[str, ...]:
    """How many queries a record is in, where that is not all of them."""
    most, all_of_them = max(one.most for one in moved), int(np.count_nonzero(used))
    return () if most == all_of_them else (f"a record is in {most} of its {all_of_them} queries at most",)
