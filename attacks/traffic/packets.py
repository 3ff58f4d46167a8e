"""Packets as taps on links observed them: which carry data, which repeat another, how many were missed; and results.

A result of traffic analysis has its uncertainty, or why it is not identifiable.

The timeout T doubles up to 2^6 T (`netsim.network.network`). It is a setting of the transport: a tap does not
know it.

Each packet is observed or not by itself, so of N packets it observes Bin(N, 1 − missed). The interval holds at 95 %:
N with either tail below 2.5 % are excluded. It is known beforehand that N is no less than some number; above, the
tail is therefore compared with that of the least N (the CLs method, A. L. Read, J. Phys. G 28 (2002) 2693), which
excludes less, and never all.
"""

import bisect
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from attacks.traffic.protocol import Protocol
from netsim.adversary import AdversaryView, Edge
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.network.links import Transport
from netsim.network.network import MAX_BACKOFF
from netsim.transcript.message import ACK_BYTES, EVERYBODY, TAG_BYTES

CLOSE = 1e-9
TAIL = 0.025


class Amount(NamedTuple):
    """`low` ≤ truth ≤ `high`, and the best guess `value`, None where nothing between is likelier."""

    low: float
    value: float | None
    high: float

    @classmethod
    def exactly(cls, value: float) -> "Amount":
        return cls(value, value, value)

    @property
    def exact(self) -> bool:
        return self.low == self.high

    def holds(self, truth: float) -> bool:
        """Whether the truth is in the interval, up to rounding."""
        slack = 1e-9 * max(1.0, abs(truth))
        return self.low - slack <= truth <= self.high + slack


class Event(NamedTuple):
    """An agent put the first message of an activation on the air, at this time in virtual seconds."""

    time: float
    agent: int


@dataclass(frozen=True)
class Activity:
    """Activations of all agents. `events` in order of time; `counts[i]`: activations (rounds) of agent i; `complete`:
    every activation has its event. `refused`: why events are not identifiable, or not all of them; None where they
    are."""

    events: tuple[Event, ...]
    counts: tuple[Amount, ...]
    complete: bool
    refused: str | None = None


@dataclass(frozen=True)
class Computing:
    """Time that a private query takes each agent, in seconds.

    `means[i]`: of agent i, over the run; None where nothing is known. `kind`: "measured" (arrivals were acknowledged,
    so the work is seen from its first moment to its last), "estimated" (the mean wait for a public clock was
    subtracted), "bounded" (the travel of a message is in it; the interval bounds by how much). `slower`: pairs
    (i, j) of agents of which i is slower, at 95 % confidence of all of them together; `samples[i]`: how many of its
    activations were used.
    """

    means: tuple[Amount | None, ...]
    kind: str
    samples: tuple[int, ...]
    slower: frozenset[tuple[int, int]] = frozenset()
    refused: str | None = None

    @property
    def slowest(self) -> int | None:
        """The agent that is slower than every other one, where there is one."""
        others = len(self.means) - 1
        found = [i for i in range(len(self.means)) if sum(one == i for one, _ in self.slower) == others]
        return found[0] if found and others else None


@dataclass(frozen=True)
class LinkTraffic:
    """Repetitions and losses of each directed link that was tapped: second and later attempts (`repeated`), and
    packets that never arrived (`lost`), acknowledgements included."""

    repeated: Mapping[Edge, Amount] = field(default_factory=dict[Edge, Amount])
    lost: Mapping[Edge, Amount] = field(default_factory=dict[Edge, Amount])
    repeats_refused: str | None = None
    losses_refused: str | None = None


@dataclass(frozen=True)
class Dimension:
    """The length of a vector: all of `low` … `high` make packets of these sizes."""

    low: int = 0
    high: float = math.inf
    refused: str | None = None

    @property
    def value(self) -> int | None:
        """The dimension, where only one fits."""
        return self.low if self.low == self.high else None


@dataclass(frozen=True)
class Sealed:
    """All four. `packets`: rows that were looked at."""

    packets: int
    activity: Activity
    computing: Computing
    links: LinkTraffic
    dimension: Dimension


def same(one: float, other: float) -> bool:
    """Whether two times are one, up to rounding."""
    return abs(one - other) <= CLOSE * max(1.0, abs(one))


def due(ages: Array, timeouts: Array, now: float) -> npt.NDArray[np.bool_]:
    """For each timeout whether a message of one of these ages is due again: after T, 3T, 7T, … 127T, 191T, …"""
    often = ages[None, :] / timeouts[:, None]
    power = 2.0 ** np.clip(np.round(np.log2(np.maximum(often, 0) + 1)), 1, MAX_BACKOFF + 1) - 1
    last = 2.0**MAX_BACKOFF
    power = power + last * np.maximum(np.round((often - power) / last), 0) * (power >= 2 * last - 1)
    near = np.abs(often - power) * timeouts[:, None] <= 100 * CLOSE * max(1.0, now)
    return np.logical_or.reduce(near, axis=1)


def sent_in_all(observed: int, missed: float, least: int) -> tuple[int, float, float]:
    """Low end, best guess and high end of N ≥ `least`, of which `observed` were; 0 < `missed` < 1. The ends differ:
    what was missed is never known for certain. The high end is ∞ where so few of `least` are so unlikely that no
    float64 tells it from 0: nothing is excluded."""
    least = max(least, observed)

    def at_least(total: int) -> float:
        return 1.0 if observed <= 0 else float(special.betainc(observed, total - observed + 1, 1 - missed))

    def at_most(total: int) -> float:
        return 1.0 if observed >= total else float(special.betainc(total - observed, observed + 1, missed))

    low = _first(least, lambda total: at_least(total) >= TAIL)
    floor = TAIL * at_most(least)
    high = _first(low + 1, lambda total: at_most(total + 1) < floor) if floor > 0 else math.inf
    return low, min(max(observed / (1 - missed), low), high), high


def _first(low: int, holds: Callable[[int], bool]) -> int:
    """The least number from `low` on for which it holds; it does for all from some number on."""
    if holds(low):
        return low
    step = 1
    while not holds(low + step):
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class ObservedPackets:
    """`stream`: (time, sender, receiver) of data packets in order; `data` and `acks`: times by directed link.

    `everywhere`: all links are tapped; `whole`: a tap missed nothing on its link; `missed`: the share that taps are
    known to miss; `late`: they began after the run did; `timed`: clocks agree. `unclear`: why data and
    acknowledgements look alike. `sizes`: those of sealed data packets.
    """

    transport: Transport
    neighbors: Sequence[tuple[int, ...]]
    stream: tuple[tuple[float, int, int], ...]
    data: Mapping[Edge, Sequence[float]]
    acks: Mapping[Edge, Sequence[float]]
    links: tuple[Edge, ...]
    everywhere: bool
    whole: bool
    missed: float
    late: bool
    timed: bool
    packets: int
    sizes: tuple[int, ...]
    unclear: str | None

    def obstacle(self, what: str) -> str | None:
        """Why it is not to be found who acted when, whatever was observed; `what` the taps' clocks have to order."""
        if self.transport.radio:
            return "on radio a frame waits for its turn, and is repeated for single neighbors"
        if self.unclear:
            return self.unclear
        if self.transport.reliable is None:
            return "some links repeat and others do not"
        if not self.transport.steady:
            return "links or agents are down at times: what is not observed may have been sent"
        if not self.timed:
            return f"the taps' clocks differ: {what} are in no certain order"
        return None

    @classmethod
    def of(cls, view: AdversaryView, protocol: Protocol) -> "ObservedPackets":
        """You get an `AttackError` where no link was observed."""
        rows = [
            (r.time, r.sender, r.receiver, r.size, r.kind == "sealed") for r in view.transcript if r.event == "air"
        ]
        if not rows:
            raise AttackError("no packet was observed on a link: there are no times and sizes to analyse")
        transport, adversary = view.public.transport, view.adversary
        sizes = {size - TAG_BYTES * sealed for *_, size, sealed in rows}
        acknowledged, unclear = transport.reliable is not False, None
        if acknowledged and len(sizes) != 1 + len(protocol.vectors):
            unclear = (
                f"packets of {len(sizes)} size{'s' * (len(sizes) > 1)} were observed, where messages and "
                "acknowledgements have "
                f"{1 + len(protocol.vectors)}: which are which is not clear"
            )
        stream: list[tuple[float, int, int]] = []
        data: dict[Edge, list[float]] = defaultdict(list)
        acks: dict[Edge, list[float]] = defaultdict(list)
        for time, i, j, size, sealed in rows:
            if acknowledged and size - TAG_BYTES * sealed == ACK_BYTES:
                acks[i, j].append(time)
            else:
                data[i, j].append(time)
                stream.append((time, i, j))
        every = {(i, j) for i, near in enumerate(view.public.neighbors) for j in near}
        tapped, links = every, adversary.links
        if links != "all" and (
            links is not None or adversary.insiders
        ):  # a rule's links: where something was observed
            observed = {(i, j) for _, i, j, *_ in rows if j != EVERYBODY}
            named = links if isinstance(links, tuple) else observed
            tapped = {edge for i, j in named for edge in ((i, j), (j, i))}
        own = {size - TAG_BYTES for *_, size, sealed in rows if sealed} - ({ACK_BYTES} if acknowledged else set())
        return cls(
            transport, view.public.neighbors, tuple(stream), data, acks, tuple(sorted(tapped)), tapped == every,
            not adversary.capture_loss and not adversary.start, adversary.capture_loss, adversary.start > 0,
            not adversary.clock_error, len(rows), tuple(sorted(own)), unclear,
        )  # fmt: skip

    def covered(self, agent: int) -> bool:
        """Whether every link of an agent is tapped."""
        return self.everywhere or all((agent, j) in self.links for j in self.neighbors[agent])

    def arrival(self, link: Edge, sent: float) -> float | None:
        """When a message that was first sent at this time on a reliable link in order was there, if that is certain.

        Its receiver acknowledges at once whatever arrives: the next acknowledgement is this message's, unless an
        older packet is still on its way, or another follows before. Older packets are not on their way if all that
        could be were acknowledged. None travels longer than the longest travel that was seen (`travel`), as far as
        that is known.
        """
        times, back = self.data.get(link, ()), self.acks.get((link[1], link[0]), ())
        k = bisect.bisect_left(times, sent)
        first = k
        while first and times[first] - times[first - 1] <= self.travel:
            first -= 1
        begun = bisect.bisect_left(back, times[first]) if first < len(times) else len(back)
        after = bisect.bisect_left(back, sent)
        if after - begun < k - first or after == len(back):
            return None
        if k and same(times[k - 1], sent):
            return None
        if k + 1 == len(times):
            return back[after]
        before = back[after] < times[k + 1] and not same(back[after], times[k + 1])  # one moment has no order
        return back[after] if before else None

    @cached_property
    def end(self) -> float:
        """A moment at which the run was not over: a packet went on the air."""
        return max(link[-1] for link in [*self.data.values(), *self.acks.values()] if link)

    @cached_property
    def travel(self) -> float:
        """The longest time, in seconds, from a packet to an acknowledgement that came before the next packet."""
        longest = 0.0
        for link, times in self.data.items():
            back = self.acks.get((link[1], link[0]), ())
            for k, sent in enumerate(times):
                after = bisect.bisect_left(back, sent)
                if after < len(back) and (k + 1 == len(times) or back[after] < times[k + 1]):
                    longest = max(longest, back[after] - sent)
        return longest
