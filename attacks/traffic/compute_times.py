"""Computing times of agents: from when their inputs are there until they send.

On reliable links an arrival is acknowledged at once, so its moment is on the wire. Without acknowledgements a gap
between two sendings holds the travel of a message too, and only bounds the work.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations
from statistics import NormalDist

import numpy as np
from scipy import special

from attacks.traffic.packets import ObservedPackets
from attacks.traffic.protocol import Protocol
from attacks.traffic.results import Amount, Computing
from attacks.traffic.token_walk import Move
from netsim.arrays import Array

CONFIDENCE = 0.95
"""Joint confidence of all statements that an agent is slower than another."""
FEWEST = 8
"""Fewer samples of an agent do not show who is slower."""


@dataclass
class _Gaps:
    """Gaps of one agent: seconds a query between what it waited for and what it sent (`seconds`), of `total` gaps."""

    seconds: list[float] = field(default_factory=list[float])
    total: int = 0
    without: int = 0
    """Gaps that began with no message's arrival."""

    def add(self, queries: int, gap: float | None, waits: float, *, travels: bool = True) -> None:
        """One gap, less the mean wait for a clock; None where its beginning is not known."""
        if not queries:
            return
        self.total += 1
        if gap is not None:
            self.seconds.append((gap - waits) / queries)
            self.without += not travels

    @property
    def mean(self) -> float:
        return float(np.mean(self.seconds))

    def error(self, whole: bool) -> float:
        """The standard error of the mean: of its law's mean, or (`whole`) of the run's mean, of which all but
        `total` − n are known."""
        n = len(self.seconds)
        if n < 2:
            return 0.0 if whole and n == self.total else math.inf
        spread = float(np.std(self.seconds, ddof=1)) / math.sqrt(n)
        return spread * math.sqrt(max(0.0, 1 - n / self.total)) if whole else spread


def computing_of_walk(observed: ObservedPackets, protocol: Protocol, moves: Sequence[Move]) -> Computing:
    """Computing times from all moves of a walk. Without acknowledgements a gap holds one message's travel."""
    (sent,) = protocol.sends
    gaps = [_Gaps() for _ in observed.neighbors]
    waits = _waits(observed)
    seen = _acknowledged(observed)
    for k, (time, sender, _) in enumerate(moves):
        since: float | None = 0.0
        if k:
            before, *link = moves[k - 1]
            since = observed.arrival((link[0], link[1]), before) if seen else before
        gaps[sender].add(sent.queries, None if since is None or since > time else time - since, waits, travels=k > 0)
    if seen:
        return _computing(observed, gaps, np.zeros(len(gaps)))
    known = [_at_most(np.array(one.seconds), len(gaps)) for one in gaps if not one.without]
    travel = min(known, default=math.inf) if observed.transport.alike else math.inf
    return _computing(observed, gaps, np.full(len(gaps), travel), same_travel=observed.transport.alike)


def computing_of_rounds(
    observed: ObservedPackets, protocol: Protocol, times: Sequence[Sequence[float] | None]
) -> Computing:
    """Computing times from the exchanges of agents whose neighbors' exchanges are known too. Without acknowledgements
    a gap holds as much of the neighbors' messages' travel as was not over when the agent itself sent."""
    gaps = [_Gaps(total=1 if protocol.after else 0) for _ in times]  # after its last exchange it asks once more
    seen, wait = _acknowledged(observed), _waits(observed)
    for i, own in enumerate(times):
        near = {j: times[j] or () for j in observed.neighbors[i] if times[j] is not None}
        if own is None or len(near) < len(observed.neighbors[i]):
            continue
        for k, sent in enumerate(protocol.sends):
            since: float | None = 0.0
            if k:  # when the exchange before was over; without acknowledgements a moment before which it was not
                begun = {j: their[k - 1] for j, their in near.items()}
                there = [observed.arrival((j, i), time) if seen else time for j, time in begun.items()]
                known = [one for one in there if one is not None]
                since = max(own[k - 1], *known) if len(known) == len(there) else None
            gap = None if since is None or since > own[k] else own[k] - since
            gaps[i].add(sent.queries, gap, wait if sent.closed else 0.0)
    if seen:
        return _computing(observed, gaps, np.zeros(len(gaps)))
    travel = _travel(observed, protocol, times) if observed.transport.alike else math.inf
    return _computing(observed, gaps, np.array([len(near) * travel for near in observed.neighbors]))


def _travel(observed: ObservedPackets, protocol: Protocol, times: Sequence[Sequence[float] | None]) -> float:
    """At most so long a message travels in the mean: the least mean time from a sending to what waited for it."""
    most = math.inf
    for i, own in enumerate(times):
        for j in observed.neighbors[i]:
            other = times[j]
            if own is None or other is None or len(own) < FEWEST or len(protocol.sends) < FEWEST:
                continue
            lags = np.array(own[1:]) - np.array(other[:-1])
            most = min(most, _at_most(lags, sum(map(len, observed.neighbors))))
    return most


def _at_most(seconds: Array, of: int) -> float:
    """The high end of a mean, so that so many of them hold together."""
    if len(seconds) < FEWEST:
        return math.inf
    quantile = float(special.stdtrit(len(seconds) - 1, 1 - (1 - CONFIDENCE) / (2 * max(1, of))))
    return float(np.mean(seconds)) + quantile * float(np.std(seconds, ddof=1)) / math.sqrt(len(seconds))


def _acknowledged(observed: ObservedPackets) -> bool:
    """Whether arrivals are on the wire, once and in order."""
    return bool(observed.transport.reliable) and observed.transport.in_order and not observed.transport.copies


def _waits(observed: ObservedPackets) -> float:
    """The mean wait for a clock's next tick, in seconds."""
    rate = observed.transport.clock_rate
    return 0.0 if rate is None else 1 / rate


def _computing(
    observed: ObservedPackets, gaps: Sequence[_Gaps], travel: np.ndarray, same_travel: bool = False
) -> Computing:
    """`travel[i]`: at most so many seconds of agent i's mean gap are a message's travel; `same_travel`: the same of
    all agents, whatever it is."""
    clocked = observed.transport.clock_rate is not None
    seen = _acknowledged(observed) and not observed.transport.queues
    if observed.transport.queues:
        travel, same_travel = np.full(len(gaps), math.inf), False
    kind = "bounded" if not seen else "estimated" if clocked else "measured"
    means = tuple(_mean(one, float(most), clocked) for one, most in zip(gaps, travel, strict=True))
    z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / max(2, len(gaps) * (len(gaps) - 1)))
    slower: set[tuple[int, int]] = set()  # by more than chance, and than a message's travel, could explain
    for i, j in permutations((i for i, one in enumerate(gaps) if len(one.seconds) >= FEWEST), 2):
        chance = z * math.hypot(gaps[i].error(whole=False), gaps[j].error(whole=False))
        if gaps[i].mean - gaps[j].mean > (0.0 if same_travel else float(travel[i])) + chance + 1e-9:
            slower.add((i, j))
    why = None if any(means) else "of no agent both the end and the beginning of its work were observed"
    return Computing(means, kind, tuple(len(one.seconds) for one in gaps), frozenset(slower), why)


def _mean(gaps: _Gaps, travel: float, clocked: bool) -> Amount | None:
    if not gaps.seconds:
        return None
    quantile = float(special.stdtrit(max(1, len(gaps.seconds) - 1), (1 + CONFIDENCE) / 2))  # Student's t
    mean, error = gaps.mean, quantile * gaps.error(whole=not clocked)
    # of the run's travel no more is known than its law
    below = quantile * gaps.error(whole=not clocked and not travel)
    return Amount(max(0.0, mean - travel - below), max(0.0, mean), max(0.0, mean + error))
