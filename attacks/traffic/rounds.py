"""When each agent began each exchange. It tells all neighbors at once: a moment at which its links carry data.

How many exchanges there are is public. On links that repeat nothing so many different moments on an agent's links are
its exchanges, also where a tap missed some of the packets. On reliable links a link that carried just so many packets
repeated none; else all readings of its packets are followed (`attacks.traffic.readings`): where times coincide, as
when the timeout is the time that computing takes, two of them may be left, and nothing is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attacks.traffic.found import Activity, Amount, Event
from attacks.traffic.overheard import Overheard
from attacks.traffic.protocol import Protocol
from attacks.traffic.readings import Wires, readings


@dataclass(frozen=True)
class Exchanged:
    """`times[i]`: when agent i began each of its exchanges, None where that is not identifiable."""

    times: tuple[tuple[float, ...] | None, ...]
    activity: Activity
    timeouts: frozenset[float] | None = None
    """What the links' timeout may be, in seconds; None where nothing tells it."""


def exchanged(heard: Overheard, protocol: Protocol, *, endless: bool = True) -> Exchanged:
    """What was heard of an algorithm in rounds, whose exchanges wait for all if `endless`. The number of rounds is
    public, the tap adds nothing to it."""
    agents, total = len(heard.neighbors), len(protocol.told)
    counts = tuple(Amount.exactly(protocol.rounds) for _ in range(agents))
    why = heard.obstacle("exchanges of different agents")
    counted = [None if why else _times(heard, i, total) for i in range(agents)]
    read, timeouts = _read(heard, counted, total, endless=endless) if not why else (counted, None)
    times = tuple(read)
    if wrong := _caused(times, heard.neighbors) if endless else set[int]():
        times = tuple(None if i in wrong else own for i, own in enumerate(times))
    begins = [k for k, one in enumerate(protocol.told) if one.closed]
    events = sorted(Event(own[k], i) for i, own in enumerate(times) if own is not None for k in begins)
    hidden = sum(own is None for own in times)
    if hidden and not why and not heard.whole and heard.transport.reliable:
        why = "the tap did not hear all: a repetition cannot be told from a new exchange"
    if hidden and not why:
        why = f"the links of {hidden} of {agents} agents carry data at moments that are not those of exchanges alone"
    return Exchanged(times, Activity(tuple(events), counts, complete=not hidden, refused=why), timeouts)


def _times(heard: Overheard, agent: int, total: int) -> tuple[float, ...] | None:
    """Where they follow from counting."""
    links = [heard.data.get((agent, j), ()) for j in heard.neighbors[agent] if (agent, j) in heard.links]
    if heard.whole:
        clean = [link for link in links if len(link) == total]
        all_of_them = len(clean) == len(heard.neighbors[agent])
        if clean and (all_of_them or not heard.transport.queues):  # what waits on one link is on the air on another
            return tuple(map(min, zip(*clean, strict=True)))
    if heard.transport.queues or heard.transport.reliable:
        return None
    found = sorted({time for link in links for time in link})
    return tuple(found) if len(found) == total else None


def _read(
    heard: Overheard, counted: Sequence[tuple[float, ...] | None], total: int, *, endless: bool
) -> tuple[list[tuple[float, ...] | None], frozenset[float] | None]:
    """The times of agents whose packets have one reading only, and what the timeout may be; of all agents it is one,
    None where no agent tells it. Where an agent's packets have two readings, and its neighbors do not exclude the
    timeout of one of them, nothing is said of it: no eavesdropper can tell them apart."""
    transport = heard.transport
    if not (transport.reliable and heard.whole and transport.alike) or transport.queues:
        return list(counted), None
    found = [_readings(heard, i, total, own, endless=endless) for i, own in enumerate(counted)]
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


def _readings(
    heard: Overheard, agent: int, total: int, known: Sequence[float] | None, *, endless: bool
) -> Mapping[float, tuple[float, ...] | None] | None:
    near = [j for j in heard.neighbors[agent] if (agent, j) in heard.links]
    data = [heard.data.get((agent, j), ()) for j in near]
    if len(near) < 2 or all(len(link) == total for link in data):
        return None
    wires = Wires(
        data,
        [heard.acks.get((j, agent), ()) for j in near],
        [heard.acks.get((agent, j), ()) for j in near] if endless else None,
        heard.end,
    )
    return readings(wires, total, known)


def _caused(times: Sequence[tuple[float, ...] | None], neighbors: Sequence[Sequence[int]]) -> set[int]:
    """Agents whose exchanges begin before all of a neighbor's exchange before that one, which cannot be; with it."""
    wrong: set[int] = set()
    for i, own in enumerate(times):
        for j in neighbors[i]:
            other = times[j]
            if own and other and any(b < a - 1e-9 for a, b in zip(other, own[1:], strict=False)):
                wrong |= {i, j}
    return wrong
