"""Exchanges inferred from packet times: every consistent reading, and when each agent began each exchange.

An exchange puts one message on each of the agent's links at one moment; each message is sent again T, 3T, 7T, … after
that until an acknowledgement has come. So of a timeout T a reading assigns each packet to a new message or to one
that is due at that moment. What is observed beside it excludes most of them: a message whose repetition does not come
had an acknowledgement on the air, and an agent begins its exchange k + 1 once k messages of each neighbor have
arrived, each of which it acknowledged at once. All readings are followed together, moment by moment, with bounded
effort: of those that agree on all that is to come it is enough to know that there are several.

How many exchanges there are is public. On links that repeat nothing so many different moments on an agent's links are
its exchanges, also where a tap missed some of the packets. On reliable links a link that carried just so many packets
repeated none; else all readings of its packets are followed: where times coincide, as
when the timeout is the time that computing takes, two of them may be left, and the times stay open.
"""

import bisect
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, product
from typing import Literal

import numpy as np

from attacks.traffic.packets import CLOSE, Activity, Amount, Event, ObservedPackets, due, same
from attacks.traffic.protocol import Protocol
from netsim.network.network import MAX_BACKOFF

MOST_STATES, MOST_A_MOMENT = 2_000, 10
"""So many states are looked at for one agent, and so many more for each of its moments, of all readings together,
before the search is given up."""
Pending = tuple[float, int, float]
"""A message that may be sent again: when, how often it was by then, when it first was."""
State = tuple[int, tuple[tuple[Pending, ...], ...]]
"""Number of exchanges that have begun, and what is pending on each link."""
Chain = tuple[float, ...] | Literal["none", "several"]
"""Beginnings of exchanges; of no reading, or of several that differ."""
_Times = Sequence[Sequence[float]]
"""Of the packets of each link."""


def readings(
    data: _Times, back: _Times, arrived: _Times | None, end: float, total: int, known: Sequence[float] | None
) -> Mapping[float, tuple[float, ...] | None] | None:
    """Beginnings of `total` exchanges of one agent for each timeout that explains all packets, None where there are
    several ways; nothing where looking was given up.

    `data`: times of its data packets on each link; `back`: of the acknowledgements that came back on each;
    `arrived[j]`: of those that it sent itself on each, None where its exchanges wait for nobody; `end`: a moment at
    which the run was not over. `known`: the beginnings, where only the timeout is looked for.
    """
    moments = _moments(data)
    found: dict[float, tuple[float, ...] | None] = {}
    search = _Search(moments, back, arrived or (), end, total, known)
    for timeout in _timeouts(moments):
        one = search.completed(timeout)
        if search.left <= 0:
            return None
        if one != "none":
            found[timeout] = None if one == "several" else one
    return found


@dataclass(frozen=True)
class _Moment:
    """Packets that each link carries at a time."""

    time: float
    counts: tuple[int, ...]


def _moments(links: Sequence[Sequence[float]]) -> list[_Moment]:
    packets = sorted((time, j) for j, link in enumerate(links) for time in link)
    found: list[tuple[float, list[int]]] = []
    for time, j in packets:
        if not found or not same(found[-1][0], time):
            found.append((time, [0] * len(links)))
        found[-1][1][j] += 1
    return [_Moment(time, tuple(counts)) for time, counts in found]


def _timeouts(moments: Sequence[_Moment]) -> list[float]:
    """Whatever T may be: the first repetition comes T after a new message, and at the latest with the first packet
    that is not on all links at once; that one is due, too."""
    uneven = next((k for k, one in enumerate(moments) if len(set(one.counts)) > 1), len(moments) - 1)
    times = np.array([one.time for one in moments[: uneven + 1]])
    ages = times[-1] - times[:-1]
    found = {round(age, 10) for age in ages.tolist()}
    for k in range(1, len(times) - 1):
        gaps = times[k] - times[:k]
        near = due(ages, gaps, float(times[-1])) if uneven < len(moments) - 1 else np.ones(gaps.size, bool)
        found.update(round(gap, 10) for gap in gaps[near].tolist())
    return sorted(found)


class _Search:
    """All readings of one agent, timeout by timeout; `left` counts down the states that may still be looked at."""

    def __init__(
        self, moments: Sequence[_Moment], back: _Times, arrived: _Times, end: float, total: int,
        known: Sequence[float] | None,
    ) -> None:  # fmt: skip
        self.left = MOST_STATES + MOST_A_MOMENT * len(moments)
        self._moments, self._back, self._arrived, self._end = moments, back, arrived, end
        self._total, self._known = total, known
        fewest = [min(moment.counts) for moment in moments]
        self._ahead = [*accumulate(reversed(fewest), initial=0)][::-1]

    def completed(self, timeout: float) -> Chain:
        """The beginnings of all exchanges, moment by moment: of readings that agree on all that is to come, and not
        on what was, it is enough to know that there are several."""
        layer: dict[State, Chain] = {(0, ((),) * len(self._back)): ()}
        for at, moment in enumerate(self._moments):
            after: dict[State, Chain] = {}
            for state, chain in layer.items():
                self.left -= 1
                for one, new in self._next(at, state, timeout):
                    longer = chain if isinstance(chain, str) else chain + (moment.time,) * new
                    after[one] = longer if after.get(one, longer) == longer else "several"
            layer = after
            if not layer or self.left <= 0:
                return "none"
        only: Chain = "none"
        for state, chain in layer.items():
            begun, pending = state
            ends = [
                (j, one) for j, link in enumerate(pending) for one in link if one[0] < self._end - slack(self._end)
            ]
            if begun == self._total and all(self._acknowledged(j, one) for j, one in ends):  # or due after the end
                if only not in ("none", chain):
                    return "several"
                only = chain
        return only

    def _next(self, at: int, state: State, timeout: float) -> Iterator[tuple[State, int]]:
        """Possible states after a moment: so many exchanges begin, and the other packets are due again."""
        begun, pending = state
        moment = self._moments[at]
        for new in self._beginnings(at, begun):
            ways = [
                list(self._after(j, pending[j], moment, count - new, new, timeout))
                for j, count in enumerate(moment.counts)
            ]
            for links in product(*ways):
                yield (begun + new, links), new

    def _beginnings(self, at: int, begun: int) -> Iterator[int]:
        moment = self._moments[at]
        most = min(self._total - begun, *moment.counts)
        least = max(0, self._total - begun - self._ahead[at + 1])
        if self._known is not None:
            least = most = sum(same(time, moment.time) for time in self._known[begun : begun + most + 1])
        now = moment.time + slack(moment.time)
        there = [bisect.bisect_right(link, now) for link in self._arrived]  # of each neighbor's messages
        for new in range(least, most + 1):
            if new <= min(moment.counts) and (not new or all(count >= begun + new - 1 for count in there)):
                yield new

    def _after(
        self, link: int, pending: tuple[Pending, ...], moment: _Moment, repeated: int, new: int, timeout: float
    ) -> Iterator[tuple[Pending, ...]]:
        """Possible messages pending on a link after a moment at which so many packets repeat and so many are new."""
        time = moment.time
        near = slack(time)
        over = [one for one in pending if one[0] < time - near]
        now = [one for one in pending if abs(one[0] - time) <= near]
        if len(now) < repeated or not all(self._acknowledged(link, one) for one in over):
            return
        later = [one for one in pending if one[0] > time + near]
        begun = [(time + timeout, 0, time)] * new
        for chosen in set(combinations(range(len(now)), repeated)):
            if all(k in chosen or self._acknowledged(link, one) for k, one in enumerate(now)):
                again = [
                    (time + timeout * 2 ** min(one[1] + 1, MAX_BACKOFF), one[1] + 1, one[2])
                    for one in (now[k] for k in chosen)
                ]
                yield tuple(sorted((*later, *again, *begun)))

    def _acknowledged(self, link: int, one: Pending) -> bool:
        """Whether an acknowledgement that may be this message's was on the air before it was due."""
        again, _, sent = one
        back = self._back[link]
        k = bisect.bisect_left(back, sent - slack(sent))
        return k < len(back) and back[k] <= again + slack(again)


def slack(time: float) -> float:
    """Rounding of times that were added up."""
    return 10 * CLOSE * max(1.0, time)


def settled(link: Sequence[float], sent: Sequence[float], timeout: float, end: float) -> int:
    """Number of messages, first sent at these times on a link, that were acknowledged for certain: a
    repetition was due before `end`, and there was no packet."""
    found = 0
    for first in sent:
        again, often = first + timeout, 0
        while again < end - slack(end):
            k = bisect.bisect_left(link, again - slack(again))
            if k == len(link) or link[k] > again + slack(again):
                found += 1
                break
            often += 1
            again += timeout * 2 ** min(often, MAX_BACKOFF)
        if not math.isfinite(again):
            break
    return found


@dataclass(frozen=True)
class _Exchanged:
    """`times[i]`: when agent i began each of its exchanges, None where that is not identifiable."""

    times: tuple[tuple[float, ...] | None, ...]
    activity: Activity
    timeouts: frozenset[float] | None = None
    """Possible timeouts of the links, in seconds; None where nothing determines them."""


def exchanged(observed: ObservedPackets, protocol: Protocol, *, endless: bool = True) -> _Exchanged:
    """Exchanges of an algorithm in rounds, which wait for all if `endless`. The number of rounds is
    public, the tap adds nothing to it."""
    agents, total = len(observed.neighbors), len(protocol.sends)
    counts = tuple(Amount.exactly(protocol.rounds) for _ in range(agents))
    why = observed.obstacle("exchanges of different agents")
    counted = [None if why else _times(observed, i, total) for i in range(agents)]
    read, timeouts = _read(observed, counted, total, endless=endless) if not why else (counted, None)
    times = tuple(read)
    if endless:  # of agents whose exchanges begin before all of a neighbor's exchange before that one nothing holds
        wrong: set[int] = set()
        for i, own in enumerate(times):
            for j in observed.neighbors[i]:
                other = times[j]
                if own and other and any(b < a - 1e-9 for a, b in zip(other, own[1:], strict=False)):
                    wrong |= {i, j}
        times = tuple(None if i in wrong else own for i, own in enumerate(times))
    begins = [k for k, one in enumerate(protocol.sends) if one.closed]
    events = sorted(Event(own[k], i) for i, own in enumerate(times) if own is not None for k in begins)
    hidden = sum(own is None for own in times)
    if hidden and not why and not observed.whole and observed.transport.reliable:
        why = "the tap missed packets: a repetition looks like a new exchange"
    if hidden and not why:
        why = f"the links of {hidden} of {agents} agents carry data at moments that are not those of exchanges alone"
    return _Exchanged(times, Activity(tuple(events), counts, complete=not hidden, refused=why), timeouts)


def _times(observed: ObservedPackets, agent: int, total: int) -> tuple[float, ...] | None:
    """Times that follow from counting."""
    links = [observed.data.get((agent, j), ()) for j in observed.neighbors[agent] if (agent, j) in observed.links]
    if observed.whole:
        clean = [link for link in links if len(link) == total]
        all_of_them = len(clean) == len(observed.neighbors[agent])
        if clean and (
            all_of_them or not observed.transport.queues
        ):  # what waits on one link is on the air on another
            return tuple(map(min, zip(*clean, strict=True)))
    if observed.transport.queues or observed.transport.reliable:
        return None
    found = sorted({time for link in links for time in link})
    return tuple(found) if len(found) == total else None


def _read(
    observed: ObservedPackets, counted: Sequence[tuple[float, ...] | None], total: int, *, endless: bool
) -> tuple[list[tuple[float, ...] | None], frozenset[float] | None]:
    """The times of agents whose packets have one reading only, and what the timeout may be; of all agents it is one,
    None where no agent's packets determine it. Where an agent's packets have two readings, and its neighbors do not
    exclude the timeout of one of them, its times stay open: no eavesdropper can distinguish them."""
    transport = observed.transport
    if not (transport.reliable and observed.whole and transport.alike) or transport.queues:
        return list(counted), None
    found: list[Mapping[float, tuple[float, ...] | None] | None] = []
    for i, own in enumerate(counted):
        near = [j for j in observed.neighbors[i] if (i, j) in observed.links]
        data = [observed.data.get((i, j), ()) for j in near]
        if len(near) < 2 or all(len(link) == total for link in data):
            found.append(None)
            continue
        back = [observed.acks.get((j, i), ()) for j in near]
        arrived = [observed.acks.get((i, j), ()) for j in near] if endless else None
        found.append(readings(data, back, arrived, observed.end, total, own))
    timeouts: set[float] | None = None
    for one in found:
        if one:
            may = {round(timeout, 9) for timeout in one}
            timeouts = may if timeouts is None else timeouts & may
    times = list(counted)
    for i, one in enumerate(found):
        if times[i] is None and one:
            left = {own for timeout, own in one.items() if round(timeout, 9) in (timeouts or ())}
            times[i] = left.pop() if len(left) == 1 else None
    return times, None if timeouts is None else frozenset(timeouts)
