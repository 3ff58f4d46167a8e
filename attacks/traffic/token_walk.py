"""The token's walk: a token that was sent i → j is next sent by j, so new packets form a path of the graph.

A packet that does not continue the path is a repetition; one that continues it may be one too, where an earlier token
of the same link is due again at that very moment. Where nothing was missed, a timeout T under which every packet is
either the next step or due again decodes the walk; where no T does, or two walks are left, the walk stays open.
"""

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from attacks.traffic.packets import CLOSE, Activity, Amount, Event, ObservedPackets, due, sent_in_all
from netsim.adversary import Edge
from netsim.algorithms.algorithm import Stopping
from netsim.arrays import Array
from netsim.network.network import MAX_BACKOFF

MISSED = "the tap missed packets, or sits on some links only: what it observed did happen, but is not all"
MOST_READ = 100_000
"""Number of packets of all readings together (of 20 times those observed in a longer run) before the search is
given up."""
Move = tuple[float, int, int]
"""A new token: time, sender, receiver."""


@dataclass(frozen=True)
class _Walked:
    """The moves in order, all of them if the activity is complete."""

    moves: tuple[Move, ...]
    activity: Activity
    timeouts: frozenset[float] | None = None
    """Possible timeouts of the links, in seconds; None where nothing determines them."""


def walked(observed: ObservedPackets, first: int, stopping: Stopping) -> _Walked:
    """Moves of a walk from agent `first` on, as far as they were observed."""
    why = observed.obstacle("packets of different links")
    if why is None and observed.whole and observed.everywhere:
        decoded = _decoded(observed, first, stopping)
        if decoded is not None:
            moves, timeouts = decoded
            counts = [0] * len(observed.neighbors)
            for _, sender, _ in moves:
                counts[sender] += 1
            events = tuple(Event(time, sender) for time, sender, _ in moves)
            return _Walked(moves, Activity(events, tuple(map(Amount.exactly, counts)), complete=True), timeouts)
        why = "repetitions look like new tokens: not just one walk explains the times"
    certain = observed.transport.reliable is False and not observed.transport.radio
    events = tuple(Event(time, sender) for time, sender, _ in observed.stream) if certain and observed.timed else ()
    counts = _counts(observed, certain, stopping)
    why = why or (MISSED if certain else "the tap missed packets: a repetition looks like a new token")
    return _Walked((), Activity(events, tuple(counts), complete=False, refused=why))


def _decoded(
    observed: ObservedPackets, first: int, stopping: Stopping
) -> tuple[tuple[Move, ...], frozenset[float] | None] | None:
    """The only walk that explains every packet, and what the timeout may be, if one was repeated; None where there is
    no such walk, or more than one.

    As many packets as moves, of which everybody knows how many there are, are no repetitions. Else the first packet
    that is one comes a timeout T after an earlier one of its link, and before any packet that no token explains: for
    each such T, and wherever a packet may be the next step as well as due again, every reading is followed.
    """
    plain, holder = list[Move](), first  # the walk as far as every packet can be a new token
    for time, sender, receiver in observed.stream:
        if sender != holder:
            break
        plain.append((time, sender, receiver))
        holder = receiver
    if len(plain) == len(observed.stream) and (not observed.transport.reliable or stopping.activations == len(plain)):
        return (tuple(plain), None) if stopping.activations in (None, len(plain)) else None
    if not observed.transport.reliable or observed.transport.queues or not observed.transport.alike:
        return None
    found: dict[tuple[Move, ...], set[float]] = defaultdict(set)
    if len(plain) == len(observed.stream) and stopping.activations is None:
        found[tuple(plain)] = set()
    left = [max(MOST_READ, 20 * len(observed.stream))]
    for timeout in _timeouts(observed, len(plain)):
        for moves in _readings(observed, first, timeout, left):
            if stopping.activations in (None, len(moves)):
                found[moves].add(timeout)
        if len(found) > 1 or not left[0]:
            return None
    if not found:
        return None
    moves, timeouts = found.popitem()
    return moves, frozenset(timeouts) if len(moves) < len(observed.stream) else None


def _timeouts(observed: ObservedPackets, steps: int) -> list[float]:
    """Whatever T may be, if one of the packets up to the first that is no step is the first repetition: the token
    stays where it is then, and the next packet is its holder's or a repetition too."""
    before: dict[Edge, list[float]] = defaultdict(list)
    found = set[float]()
    for k, (time, sender, receiver) in enumerate(observed.stream[: steps + 1]):
        gaps: Array = time - np.array(before[sender, receiver], dtype=np.float64)
        gaps = gaps[gaps > 0]
        if gaps.size and k + 1 < len(observed.stream):
            after, other, to = observed.stream[k + 1]
            holder = sender if k < steps else observed.stream[k - 1][2]
            if other != holder:
                gaps = gaps[due(after - np.array(before[other, to], dtype=np.float64), gaps, after)]
        found.update(round(gap, 12) for gap in gaps.tolist())
        before[sender, receiver].append(time)
    return sorted(found)


def _readings(observed: ObservedPackets, first: int, timeout: float, left: list[int]) -> list[tuple[Move, ...]]:
    """Every walk under which each packet is a step or due again at this timeout; `left` counts down the packets that
    may still be looked at, and is 0 where that was not enough."""
    found: list[tuple[Move, ...]] = []
    ahead: list[_Reading] = [_Reading(0, first, None, {})]
    while ahead:
        one = ahead.pop()
        while one.at < len(observed.stream):
            if not left[0]:
                return []
            left[0] -= 1
            time, sender, receiver = observed.stream[one.at]
            ways = [one.repeated(again) for again in one.due(time, (sender, receiver))]
            if sender == one.holder:
                ways.append(one.stepped((time, sender, receiver), timeout))
            if not ways:
                break
            one = ways.pop()
            ahead += ways
        else:
            found.append(one.walk)
    return found


Chain = tuple["Chain", Move] | None
"""Moves, the last one outermost: readings share what they have in common."""


@dataclass(frozen=True)
class _Reading:
    """The packets before `at` read in one way; `pending`: of each link what may be sent again, (due, timeout, how
    often it was)."""

    at: int
    holder: int
    moves: Chain
    pending: dict[Edge, tuple[tuple[float, float, int], ...]]

    def due(self, time: float, link: Edge) -> list[tuple[Edge, int]]:
        """Which of a link's messages are due again at this time; of those sent equally often one."""
        found: dict[int, tuple[Edge, int]] = {}
        for k, (again, _, often) in enumerate(self.pending.get(link, ())):
            if abs(time - again) <= 10 * CLOSE * max(1.0, time):
                found.setdefault(often, (link, k))
        return list(found.values())

    def repeated(self, which: tuple[Edge, int]) -> "_Reading":
        link, k = which
        last, timeout, often = self.pending[link][k]
        again = last + timeout * 2 ** min(often + 1, MAX_BACKOFF), timeout, often + 1
        rest = self.pending[link][:k] + self.pending[link][k + 1 :]
        return _Reading(self.at + 1, self.holder, self.moves, {**self.pending, link: (*rest, again)})

    def stepped(self, move: Move, timeout: float) -> "_Reading":
        time, sender, receiver = move
        link = sender, receiver
        live = tuple(one for one in self.pending.get(link, ()) if one[0] >= time - 10 * CLOSE * max(1.0, time))
        pending = {**self.pending, link: (*live, (time + timeout, timeout, 0))}
        return _Reading(self.at + 1, receiver, (self.moves, move), pending)

    @property
    def walk(self) -> tuple[Move, ...]:
        found, left = list[Move](), self.moves
        while left is not None:
            left, move = left
            found.append(move)
        return tuple(reversed(found))


def _counts(observed: ObservedPackets, certain: bool, stopping: Stopping) -> list[Amount]:
    """Number of times that each agent passed the token on, from the packets on its tapped links alone; `certain`:
    each of them is a new token. The public number of activations leaves an agent what the others surely did not
    use."""
    agents = range(len(observed.neighbors))
    packets = [sum(1 for _, sender, _ in observed.stream if sender == i) for i in agents]
    least = [
        packets[i] if certain else sum(1 for j in observed.neighbors[i] if observed.data.get((i, j))) for i in agents
    ]
    total = stopping.activations if stopping.activations is not None else math.inf
    each = stopping.per_agent if stopping.per_agent is not None else math.inf
    most = [min(each, total - sum(least) + least[i]) for i in agents]
    counts: list[Amount] = []
    for i in agents:  # no more than is left; an interval that is a point only for it is what is certain, instead
        one = _count(observed, i, packets[i], least[i], certain)
        high = max(least[i], min(one.high, most[i]))
        low = min(one.low, high)
        low = least[i] if low == high else low
        counts.append(Amount(low, None if one.value is None else min(max(one.value, low), high), high))
    return counts


def _count(observed: ObservedPackets, agent: int, packets: int, least: int, certain: bool) -> Amount:
    """Count for one agent; a tap that misses a known share of the packets gives a 95 % interval."""
    if not observed.covered(agent) or not observed.transport.steady or observed.transport.radio:
        return Amount(least, None, math.inf)
    if observed.whole:
        return Amount(least, packets if certain else None, packets)
    if not observed.missed or observed.late:
        return Amount(least, None, math.inf)
    low, value, high = sent_in_all(packets, observed.missed, least)
    return Amount(low, value, high) if certain else Amount(least, None, high)
