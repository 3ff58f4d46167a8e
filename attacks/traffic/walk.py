"""Who held the token when. A token that was sent i → j is next sent by j: new packets form a path of the graph.

A packet that does not continue the path is a repetition; one that continues it may be one too, where an earlier token
of the same link is due again at that very moment. Where nothing was missed, a timeout T under which every packet is
either the next step or due again decodes the walk; where no T does, nothing is said.
"""

import math
from collections import defaultdict
from dataclasses import dataclass

from attacks.traffic.found import Activity, Amount, Edge, Event
from attacks.traffic.overheard import Overheard
from attacks.traffic.repeats import Pending, timeouts
from netsim.algorithms.algorithm import Stopping

Z = 1.96
"""Of two-sided intervals of 95 %."""
MISSED = "the tap missed packets, or sits on some links only: what it heard did happen, but is not all"
Move = tuple[float, int, int]
"""A new token: time, sender, receiver."""


@dataclass(frozen=True)
class Walked:
    """The moves in order, all of them if `complete`."""

    moves: tuple[Move, ...]
    activity: Activity

    @property
    def complete(self) -> bool:
        return self.activity.complete


def walked(heard: Overheard, first: int, stopping: Stopping) -> Walked:
    """What was heard of a walk from agent `first` on."""
    why = heard.obstacle("packets of different links")
    if why is None and heard.whole and heard.everywhere:
        moves = _decoded(heard, first, stopping)
        if moves is not None:
            counts = [0] * len(heard.neighbors)
            for _, sender, _ in moves:
                counts[sender] += 1
            events = tuple(Event(time, sender) for time, sender, _ in moves)
            return Walked(tuple(moves), Activity(events, tuple(map(Amount.exactly, counts)), complete=True))
        why = "repetitions cannot be told from new tokens: no one timeout explains the times"
    certain = heard.transport.reliable is False and not heard.transport.radio
    events = tuple(Event(time, sender) for time, sender, _ in heard.stream) if certain and heard.timed else ()
    counts = _counts(heard, certain, stopping)
    why = why or (MISSED if certain else "the tap did not hear all: a repetition cannot be told from a new token")
    return Walked((), Activity(events, tuple(counts), complete=False, refused=why))


def _decoded(heard: Overheard, first: int, stopping: Stopping) -> list[Move] | None:
    tried: list[float | None] = [None]
    if heard.transport.reliable:
        tried += timeouts(heard.data.values())
    for timeout in tried:
        moves = _path(heard, first, timeout)
        if moves is not None and stopping.activations in (None, len(moves)):
            return moves
    return None


def _path(heard: Overheard, first: int, timeout: float | None) -> list[Move] | None:
    """Every packet a step or a repetition; None where one is neither."""
    holder, moves = first, list[Move]()
    pending: dict[Edge, list[Pending]] = defaultdict(list)
    for time, sender, receiver in heard.stream:
        waiting = pending[sender, receiver]
        waiting[:] = [one for one in waiting if not one.over(time)]
        if any(one.again(time) for one in waiting):
            continue
        if sender != holder:
            return None
        moves.append((time, sender, receiver))
        holder = receiver
        if timeout is not None:
            waiting.append(Pending(time, timeout))
    return moves


def _counts(heard: Overheard, certain: bool, stopping: Stopping) -> list[Amount]:
    """How often each agent passed the token on, from the packets on its tapped links alone; `certain`: each of them
    is a new token. The public number of activations leaves an agent what the others surely did not use."""
    agents = range(len(heard.neighbors))
    packets = [sum(1 for _, sender, _ in heard.stream if sender == i) for i in agents]
    least = [packets[i] if certain else sum(1 for j in heard.neighbors[i] if heard.data.get((i, j))) for i in agents]
    total = stopping.activations if stopping.activations is not None else math.inf
    each = stopping.per_agent if stopping.per_agent is not None else math.inf
    most = [min(each, total - sum(least) + least[i]) for i in agents]
    found = [_count(heard, i, packets[i], least[i], certain) for i in agents]
    return [one._replace(high=max(one.low, min(one.high, cap))) for one, cap in zip(found, most, strict=True)]


def _count(heard: Overheard, agent: int, packets: int, least: int, certain: bool) -> Amount:
    """Of one agent; a tap that misses a known share of the packets gives a 95 % interval."""
    if not heard.covered(agent) or not heard.transport.steady or heard.transport.radio:
        return Amount(least, None, math.inf)
    if heard.whole:
        return Amount(least, packets if certain else None, packets)
    if not heard.missed or heard.late:
        return Amount(least, None, math.inf)
    kept = 1 - heard.missed
    spread = Z * math.sqrt((packets + 1) * heard.missed) / kept
    low = max(least, packets / kept - spread) if certain else least
    return Amount(low, packets / kept if certain else None, (packets + 1) / kept + spread)
