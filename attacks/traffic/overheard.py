"""Times, sizes and endpoints, as a tap on links heard them: which packets are data, and what may have been missed."""

import bisect
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from attacks.traffic.found import Edge
from attacks.traffic.protocol import Protocol
from attacks.traffic.repeats import same
from netsim.adversary import AdversaryView
from netsim.errors import AttackError
from netsim.messages import ACK_BYTES, TAG_BYTES
from netsim.transcript import EVERYBODY
from netsim.transport import Transport


@dataclass(frozen=True)
class Overheard:
    """`stream`: (time, sender, receiver) of data packets in order; `data` and `acks`: times by directed link.

    `everywhere`: all links are tapped; `whole`: a tap missed nothing on its link; `missed`: the share that taps are
    known to miss; `late`: they began after the run did; `timed`: clocks agree. `unclear`: why data and
    acknowledgements cannot be told apart. `sizes`: those of sealed data packets.
    """

    transport: Transport
    neighbors: tuple[tuple[int, ...], ...]
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
        """Why it is not to be found who acted when, whatever was heard; `what` the taps' clocks have to order."""
        if self.transport.radio:
            return "on radio a frame waits for its turn, and is repeated for single neighbors"
        if self.unclear:
            return self.unclear
        if self.transport.reliable is None:
            return "some links repeat and others do not"
        if not self.transport.steady:
            return "links or agents are down at times: what is not heard may have been sent"
        if not self.timed:
            return f"the taps' clocks differ: {what} are in no certain order"
        return None

    @classmethod
    def of(cls, view: AdversaryView, protocol: Protocol) -> "Overheard":
        """You get an `AttackError` where no link was heard."""
        rows = [
            (r.time, r.sender, r.receiver, r.size, r.kind == "sealed") for r in view.transcript if r.event == "air"
        ]
        if not rows:
            raise AttackError("no packet was heard on a link: there are no times and sizes to analyse")
        transport, adversary = view.public.transport, view.adversary
        sizes = {size - TAG_BYTES * sealed for *_, size, sealed in rows}
        acknowledged, unclear = transport.reliable is not False, None
        if acknowledged and len(sizes) != 1 + len(protocol.vectors):
            unclear = (
                f"packets of {len(sizes)} sizes were heard, where messages and acknowledgements have "
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
        tapped = _tapped(view, {(i, j) for _, i, j, *_ in rows if j != EVERYBODY}, every)
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
        times, back = self.data.get(link, ()), self.acks.get(opposite(link), ())
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
        return back[after] if k + 1 == len(times) or before(back[after], times[k + 1]) else None

    @cached_property
    def end(self) -> float:
        """A moment at which the run was not over: a packet went on the air."""
        return max(link[-1] for link in [*self.data.values(), *self.acks.values()] if link)

    @cached_property
    def travel(self) -> float:
        """The longest time, in seconds, from a packet to an acknowledgement that came before the next packet."""
        longest = 0.0
        for link, times in self.data.items():
            back = self.acks.get(opposite(link), ())
            for k, sent in enumerate(times):
                after = bisect.bisect_left(back, sent)
                if after < len(back) and (k + 1 == len(times) or back[after] < times[k + 1]):
                    longest = max(longest, back[after] - sent)
        return longest


def before(one: float, other: float) -> bool:
    """Whether a time is before another, and not the same up to rounding: what happens at one moment has no order."""
    return one < other and not same(one, other)


def opposite(link: Edge) -> Edge:
    """The other direction."""
    return link[1], link[0]


def _tapped(view: AdversaryView, heard: set[Edge], every: set[Edge]) -> set[Edge]:
    """The directed links with a tap: those that it says, or (of a rule) those on which something was heard."""
    links = view.adversary.links
    if links == "all" or (links is None and not view.adversary.insiders):
        return every
    if isinstance(links, tuple):
        return {edge for i, j in links for edge in ((i, j), (j, i))}
    return {edge for i, j in heard for edge in ((i, j), (j, i))}
