"""Moments at which agents act, and their order: what the loop and its one heap do, computed for all agents at once.

The same coroutine runs for every agent, so all take the same steps. At a step an agent begins, is woken by the last
message of an exchange or by a timer, or (where all that it waits for is here already) simply goes on in the moment
of its step before. The heap orders by (time, deliveries before timers, sequence number), and sequence numbers are
given as messages and timers are pushed: by the order of the moments in which agents pushed them, then by the
receiver's place among the sender's neighbors. So of two moments at different times the earlier is first, and of
two at one time

- two deliveries, or two timers, are as those in which they were pushed;
- a delivery is before a timer where it was pushed before that timer fires, for the heap prefers deliveries.

Equal times of different steps are rare but where all delays are 0; they alone are compared one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array

Whole: TypeAlias = NDArray[np.int64]
BEGUN, DELIVERED, TIMER = 0, 1, 2


class _Moment(NamedTuple):
    """One moment. `born`: the step of its agents' common program; pushed by agent `pusher` at the step before, for
    its neighbor number `place`."""

    time: float
    kind: int
    born: int
    pusher: int
    place: int


@dataclass(frozen=True)
class Rows:
    """Moments by column, and what happens in each: `after` orders what happens in one moment."""

    time: Array
    kind: Whole
    born: Whole
    pusher: Whole
    place: Whole
    after: Whole

    @staticmethod
    def joined(parts: "Sequence[Rows]") -> "Rows":
        """All rows, one part after the other."""
        names = ("time", "kind", "born", "pusher", "place", "after")
        return Rows(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))


class Moments:
    """The steps of all agents: `now` (agents,) in virtual seconds. `ordered`: their order is kept too, for who
    records (in memory of steps times agents)."""

    def __init__(self, agents: int, *, ordered: bool) -> None:
        self.now: Array = np.zeros(agents)
        self.ordered = ordered
        self._agents: Whole = np.arange(agents, dtype=np.int64)
        none = np.zeros(agents, dtype=np.int64)
        self._steps: list[Rows] = [Rows(self.now, none, none, self._agents, none, none)]
        self._ranks: list[Whole] = [self._agents]
        self._instant = True
        """Whether all has happened at time 0, by deliveries alone: then step after step."""

    @property
    def step(self) -> int:
        """How many steps all have taken."""
        return len(self._steps) - 1

    @property
    def rank(self) -> Whole:
        """Place of each agent in the order in which they took the last step."""
        return self._ranks[-1]

    def time(self, step: int) -> Array:
        """When each agent took a step, where the order is kept."""
        return self._steps[step].time

    def acted(self, step: int, agents: Whole, after: Whole) -> Rows:
        """Rows of what these agents do at a step."""
        rows = self._steps[step]
        columns = rows.kind[agents], rows.born[agents], rows.pusher[agents], rows.place[agents]
        return Rows(rows.time[agents], *columns, after)

    @staticmethod
    def delivered(step: int, time: Array, senders: Whole, places: Whole) -> Rows:
        """Rows of the arrival of what these agents sent at a step."""
        born = np.full(len(senders), step + 1, dtype=np.int64)
        return Rows(time, np.full_like(born, DELIVERED), born, senders, places, np.full_like(born, -1))

    # ── steps ───────────────────────────────────────────────────────────────────────────────────────────
    def wait(self, seconds: Array, who: NDArray[np.bool_]) -> None:
        """These agents sleep, each for so many seconds; the others go on."""
        then = np.where(who, self.now + seconds, self.now)
        self._instant = False
        self._take(then, who, TIMER, self._agents, np.zeros_like(self._agents))

    def receive(self, arrival: Array, senders: Whole, places: Whole, starts: Whole) -> None:
        """Every agent waits for all its messages, whose `arrival` (links,) stands agent by agent from `starts` on."""
        last = np.maximum.reduceat(arrival, starts)
        if not self.ordered:
            self.now = np.maximum(self.now, last)
            return
        width = int(places.max()) + 1
        code = self.rank[senders] * width + places
        degrees = np.diff(np.append(starts, len(arrival)))
        newest = np.maximum.reduceat(np.where(arrival == np.repeat(last, degrees), code, -1), starts)
        order = np.empty_like(self.rank)
        order[self.rank] = self._agents
        pusher, place = order[newest // width], newest % width
        waits = last > self.now
        self._instant &= not last.any()
        if self._instant:
            waits[:] = True
        for agent in np.flatnonzero((last == self.now) & ~waits).tolist():
            moment = _Moment(float(last[agent]), DELIVERED, self.step + 1, int(pusher[agent]), int(place[agent]))
            waits[agent] = self._compared(self._moment(agent, self.step), moment) < 0
        self._take(np.where(waits, last, self.now), waits, DELIVERED, pusher, place)

    def _take(self, then: Array, new: NDArray[np.bool_], kind: int, pusher: Whole, place: Whole) -> None:
        self.now = then
        if not self.ordered:
            return
        former, born = self._steps[-1], self.step + 1
        rows = Rows(
            then,
            np.where(new, kind, former.kind),
            np.where(new, born, former.born),
            np.where(new, pusher, former.pusher),
            np.where(new, place, former.place),
            np.zeros_like(self._agents),
        )
        self._steps.append(rows)
        rank = np.empty_like(self._agents)
        rank[self.order(rows)] = self._agents
        self._ranks.append(rank)

    # ── order ───────────────────────────────────────────────────────────────────────────────────────────
    def order(self, rows: Rows) -> Whole:
        """The places of rows in the order in which they happened."""
        pushed = self._pushed(rows)
        found = np.lexsort((rows.after, rows.place, pushed, rows.kind, rows.born, rows.time))
        if self._instant or not len(found):
            return found
        time, kind, born = rows.time[found], rows.kind[found], rows.born[found]
        same = time[1:] == time[:-1]
        mixed = same & ((kind[1:] != kind[:-1]) | (born[1:] != born[:-1]))
        if not mixed.any():
            return found
        bounds = np.flatnonzero(np.concatenate(([True], ~same, [True])))
        unlike = np.concatenate(([0], np.cumsum(mixed)))
        for first, end in pairwise(bounds.tolist()):
            if unlike[end - 1] > unlike[first]:
                found[first:end] = self._sorted(rows, found[first:end].tolist())
        return found

    def _pushed(self, rows: Rows) -> Whole:
        """The rank, among all at that step, of the moment in which each row's was pushed."""
        pushed = rows.pusher.copy()
        for born in np.unique(rows.born).tolist():
            if born:
                who = rows.born == born
                pushed[who] = self._ranks[born - 1][rows.pusher[who]]
        return pushed

    def _sorted(self, rows: Rows, places: Sequence[int]) -> list[int]:
        columns = (rows.time, rows.kind, rows.born, rows.pusher, rows.place)
        moments = {k: _Moment(*(column[k].item() for column in columns)) for k in places}

        def compared(a: int, b: int) -> int:
            return self._compared(moments[a], moments[b]) or int(rows.after[a]) - int(rows.after[b])

        return sorted(places, key=cmp_to_key(compared))

    def _moment(self, agent: int, step: int) -> _Moment:
        """The moment of an agent's step."""
        rows = self._steps[step]
        columns = (rows.time, rows.kind, rows.born, rows.pusher, rows.place)
        return _Moment(*(column[agent].item() for column in columns))

    def _compared(self, a: _Moment, b: _Moment) -> int:
        """Below 0 where the first is earlier, 0 where they are the same."""
        if a == b:
            return 0
        if a.time != b.time:
            return -1 if a.time < b.time else 1
        if BEGUN in (a.kind, b.kind):  # the agents' order, before anything in the heap
            return a.kind - b.kind or a.pusher - b.pusher
        if a.kind != b.kind:
            if a.kind == TIMER:
                return -self._compared(b, a)
            return -1 if self._compared(self._moment(a.pusher, a.born - 1), b) < 0 else 1
        if a.born == b.born:
            ranks = self._ranks[a.born - 1]
            return int(ranks[a.pusher] - ranks[b.pusher]) or a.place - b.place
        earlier = self._compared(self._moment(a.pusher, a.born - 1), self._moment(b.pusher, b.born - 1))
        return earlier or a.born - b.born or a.place - b.place
