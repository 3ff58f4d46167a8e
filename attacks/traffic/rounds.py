"""When each agent began each exchange. It tells all neighbors at once: a moment at which its links carry data.

How many exchanges there are is public. On links that repeat nothing so many different moments on an agent's links are
its exchanges, also where a tap missed some of the packets. On reliable links a link that carried just so many packets
repeated none; else repetitions are what is on one link alone, or due again on all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from attacks.traffic.found import Activity, Amount, Event
from attacks.traffic.overheard import Overheard
from attacks.traffic.protocol import Protocol
from attacks.traffic.repeats import Pending, among, same, timeouts


@dataclass(frozen=True)
class Exchanged:
    """`times[i]`: when agent i began each of its exchanges, None where that is not identifiable."""

    times: tuple[tuple[float, ...] | None, ...]
    activity: Activity


def exchanged(heard: Overheard, protocol: Protocol, *, endless: bool = True) -> Exchanged:
    """What was heard of an algorithm in rounds, whose exchanges wait for all if `endless`. The number of rounds is
    public, the tap adds nothing to it."""
    agents, total = len(heard.neighbors), len(protocol.told)
    counts = tuple(Amount.exactly(protocol.rounds) for _ in range(agents))
    why = heard.obstacle("exchanges of different agents")
    times = tuple(None if why else _times(heard, i, total) for i in range(agents))
    if wrong := _caused(times, heard.neighbors) if endless else set[int]():
        times = tuple(None if i in wrong else own for i, own in enumerate(times))
    begins = [k for k, one in enumerate(protocol.told) if one.closed]
    events = sorted(Event(own[k], i) for i, own in enumerate(times) if own is not None for k in begins)
    hidden = sum(own is None for own in times)
    if hidden and not why and not heard.whole and heard.transport.reliable:
        why = "the tap did not hear all: a repetition cannot be told from a new exchange"
    if hidden and not why:
        why = f"the links of {hidden} of {agents} agents carry data at moments that are not those of exchanges alone"
    return Exchanged(times, Activity(tuple(events), counts, complete=not hidden, refused=why))


def _times(heard: Overheard, agent: int, total: int) -> tuple[float, ...] | None:
    links = [heard.data.get((agent, j), ()) for j in heard.neighbors[agent] if (agent, j) in heard.links]
    reliable = bool(heard.transport.reliable)
    if heard.whole:
        clean = [link for link in links if len(link) == total]
        all_of_them = len(clean) == len(heard.neighbors[agent])
        if clean and (all_of_them or not heard.transport.queues):  # what waits on one link is on the air on another
            return tuple(map(min, zip(*clean, strict=True)))
    if heard.transport.queues:
        return None
    found = _shared(heard, links, total) if reliable and heard.whole else None
    if not reliable:
        found = sorted({time for link in links for time in link})
    return tuple(found) if found is not None and len(found) == total else None


def _shared(heard: Overheard, links: Sequence[Sequence[float]], total: int) -> list[float] | None:
    """Moments at which all links of an agent carry data, less those at which all of them only repeat."""
    if len(links) < 2:
        return None
    common = [time for time in links[0] if all(among(link, time) for link in links[1:])]
    alone = [[b - a for a, b in pairwise(link) if not among(common, b)] for link in links]
    found: set[tuple[float, ...]] = set()
    for timeout in timeouts([(0.0, gap) for gaps in alone for gap in gaps]) if heard.transport.alike else ():
        pending: list[Pending] = []
        new: list[float] = []
        for time in common:
            pending = [one for one in pending if not one.over(time)]
            if not any(one.again(time) for one in pending):
                new.append(time)
                pending.append(Pending(time, timeout))
        if len(new) == total and all(_explained(link, new, timeout) for link in links):
            found.add(tuple(new))
    return list(found.pop()) if len(found) == 1 else None


def _explained(link: Sequence[float], new: Sequence[float], timeout: float) -> bool:
    """Whether all packets of a link are new at these times, or due again."""
    left, pending = list(reversed(new)), list[Pending]()
    for time in link:
        pending = [one for one in pending if not one.over(time)]
        if left and same(left[-1], time):
            pending.append(Pending(left.pop(), timeout))
        elif not any(one.again(time) for one in pending):
            return False
    return not left


def _caused(times: Sequence[tuple[float, ...] | None], neighbors: Sequence[Sequence[int]]) -> set[int]:
    """Agents whose exchanges begin before all of a neighbor's exchange before that one, which cannot be; with it."""
    wrong: set[int] = set()
    for i, own in enumerate(times):
        for j in neighbors[i]:
            other = times[j]
            if own and other and any(b < a - 1e-9 for a, b in zip(other, own[1:], strict=False)):
                wrong |= {i, j}
    return wrong
