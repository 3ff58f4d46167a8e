"""Traffic analysis: what times and sizes of packets give away, when all else is sealed.

`analysed(view)` takes an `AdversaryView` and looks at four columns of the rows that taps on links observed: time,
sender, receiver and size (and whether a row was sealed). Number and values of a row are not looked at, even where a
link is in the clear. Beside them it uses what is public: the algorithm's code, the graph, the codec, and how messages
are carried (`netsim.network.links.Transport`). The public dimension is not used to estimate the dimension. Out come
the dimension, repetitions and losses of links, activity and computing times.

On a reliable link data packets less messages are repetitions. Of losses only this follows:

- Each data packet that arrives is acknowledged at once, so those without an acknowledgement were lost, or are on
  their way as the run ends. Where packets do not overtake each other, only those that went after the last message
  that arrived for certain can be on their way, and not all of them. (Of a network that copies packets two
  acknowledgements may be one arrival's.)
- An acknowledgement that arrives ends the repetitions of its message. So for each message that was due again, and was
  not sent again, one arrived; any other one may have been lost. When a message is due is known from the timeout,
  which the repetitions determine; where nothing is repeated it is not known, and all acknowledgements may have been
  lost.

A repetition is no proof of a loss: a timeout may be shorter than the way there and back.

Computing times go from when an agent's inputs are there until it sends. On reliable links an arrival is acknowledged
at once, so its moment is on the wire. Without acknowledgements a gap between two sendings holds the travel of a
message too, and only bounds the work.
"""

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from statistics import NormalDist

import numpy as np
from scipy import special

from attacks.traffic.exchanges import exchanged, settled, slack
from attacks.traffic.packets import (
    Activity,
    Amount,
    Computing,
    Dimension,
    Event,
    LinkTraffic,
    ObservedPackets,
    Sealed,
    sent_in_all,
)
from attacks.traffic.protocol import Protocol
from attacks.traffic.token_walk import Move, walked
from netsim.adversary import AdversaryView, Edge
from netsim.arrays import Array
from netsim.codecs import Codec
from netsim.errors import AttackError

__all__ = ["Activity", "Amount", "Computing", "Dimension", "Event", "LinkTraffic", "Sealed", "analysed"]

LARGEST = 2**48


def _dimension(observed: ObservedPackets, protocol: Protocol, codec: Codec) -> Dimension:
    """Every dimension for which sealed messages have the sizes that were observed."""
    if not observed.sizes:
        return Dimension(refused="no message was observed sealed: in the clear the values themselves show it")
    if observed.unclear is not None:
        return Dimension(refused=observed.unclear)
    if len(observed.sizes) != len(protocol.vectors):
        return Dimension(refused="messages of other sizes were observed than the protocol has")
    low, high = 1, float("inf")
    for count, size in zip(protocol.vectors, observed.sizes, strict=True):
        payload = size - observed.transport.header_bytes
        if not count:
            continue
        least, after = (  # the least dimension of which so many vectors take at least so many bytes
            1 + bisect.bisect_left(range(1, LARGEST + 1), some, key=lambda d, count=count: count * codec.size(d))
            for some in (payload, payload + 1)
        )
        if least == after:
            return Dimension(refused=f"no vector takes {payload} bytes: the header is not as public")
        low, high = max(low, least), min(high, math.inf if after > LARGEST else after - 1)
    return Dimension(low, high)


NOT_KNOWN = "no packet is sent again or acknowledged here: a lost one looks like any other"


@dataclass(frozen=True)
class _Sendings:
    """When messages were first sent (`times`), as far as that is known; of each link the first sending of the last
    message that arrived for certain (`followed`); and what the timeout may be, None where nothing determines it."""

    times: Mapping[Edge, Sequence[float]]
    followed: Mapping[Edge, float]
    timeouts: frozenset[float] | None


def _carried(observed: ObservedPackets, messages: Mapping[Edge, int] | None, sendings: _Sendings) -> LinkTraffic:
    """`messages`: how many messages each tapped link carried, None where that is not known."""
    transport, why = observed.transport, observed.unclear
    if transport.radio:
        why = "on radio a frame is for several receivers"
    elif why is None and transport.reliable is None:
        why = "some links repeat and others do not"
    elif why is None and not transport.reliable:
        return LinkTraffic(dict.fromkeys(observed.links, Amount.exactly(0)), {}, None, NOT_KNOWN)
    elif why is None and messages is None:
        why = "how many messages a link carried is not known, so neither is how many packets were repetitions"
    elif why is None and not transport.steady:
        why = "links or agents are down at times: a packet that finds a link down is not observed"
    if why is not None or messages is None:
        return LinkTraffic({}, {}, why, why)
    repeated: dict[Edge, Amount] = {}
    for link in observed.links:
        packets, known = len(observed.data.get(link, ())), messages[link]
        if observed.whole:
            repeated[link] = Amount.exactly(packets - known)
        elif not observed.missed or observed.late:
            repeated[link] = Amount(max(0, packets - known), None, float("inf"))
        else:
            repeated[link] = Amount._make(one - known for one in sent_in_all(packets, observed.missed, known))
    if not observed.whole:
        why = "the tap missed packets: an acknowledgement that is missing may have been missed, not lost"
        return LinkTraffic(repeated, {}, None, why)
    return LinkTraffic(repeated, {link: _lost(observed, link, repeated, sendings) for link in observed.links})


def _lost(observed: ObservedPackets, link: Edge, repeated: Mapping[Edge, Amount], sendings: _Sendings) -> Amount:
    """Data packets, and acknowledgements of the other direction's."""
    back = link[1], link[0]
    acknowledged = 0  # messages of the other direction of which an acknowledgement arrived for sure
    low, data = _data_lost(observed, link, sendings)
    if sendings.timeouts and observed.transport.alike and not observed.transport.queues:
        times, packets = sendings.times.get(back, ()), observed.data.get(back, ())
        acknowledged = min(settled(packets, times, timeout, observed.end) for timeout in sendings.timeouts)
    high = data + len(observed.acks.get(link, ())) - acknowledged
    if low < data or observed.transport.copies:
        return Amount(low, None, high)
    acks = max(0.0, repeated[back].high - _data_lost(observed, back, sendings)[1])  # if each repetition is for a loss
    return Amount(low, min(data + acks, high), high)


def _data_lost(observed: ObservedPackets, link: Edge, sendings: _Sendings) -> tuple[int, int]:
    """Number of data packets of a link that were lost, at least and at most."""
    data, acks = observed.data.get(link, ()), observed.acks.get((link[1], link[0]), ())
    least = (len(acks) + 1) // 2 if observed.transport.copies else len(acks)
    since = sendings.followed.get(link)
    on_way = len(data)
    if since is not None and observed.transport.in_order and not observed.transport.queues:
        on_way = sum(time >= since - slack(since) for time in data) - 1
    return max(0, len(data) - len(acks) - on_way), len(data) - least


def analysed(view: AdversaryView) -> Sealed:
    """You get an `AttackError` where no link was observed, where agents may begin anew and count anew, and for a
    protocol that is neither one token that walks nor exchanges in rounds."""
    if view.public.forgetful:
        raise AttackError("agents may be stopped and begin anew: how many messages each of them sends is not public")
    protocol = Protocol.of(view.public)
    observed = ObservedPackets.of(view, protocol)
    endless = view.public.exchange_policy.endless
    times, followed = dict[Edge, Sequence[float]](), dict[Edge, float]()
    messages: dict[Edge, int] | None = None
    work: Computing | str
    if protocol.walk:
        found = walked(observed, protocol.first, view.public.algorithm.stopping())
        sendings: dict[Edge, list[float]] = {}
        for k, (time, sender, receiver) in enumerate(found.moves):
            sendings.setdefault((sender, receiver), []).append(time)
            if k + 1 < len(found.moves):  # who passes a token on had it; the last one may not have arrived
                followed[sender, receiver] = time
        times.update(sendings)
        if found.activity.complete:
            messages = {link: len(times.get(link, ())) for link in observed.links}
            work = _computing_of_walk(observed, protocol, found.moves)
        else:
            work = "where visits may have been missed, a gap may hold several of them"
    else:
        found = exchanged(observed, protocol, endless=endless)
        messages = dict.fromkeys(observed.links, len(protocol.sends))
        # an agent sends to all neighbors at once, and where exchanges wait for all the last arrives before the end
        times.update((link, own) for link in observed.links if (own := found.times[link[0]]) is not None)
        if not endless:
            work = "exchanges end at a deadline: what an agent waited for is not known"
        elif all(own is None for own in found.times):
            work = "when exchanges began is not known"
        elif observed.transport.reliable and not observed.whole:
            work = "the tap missed packets: which acknowledgement belongs to which arrival is not known"
        else:
            work = _computing_of_rounds(observed, protocol, found.times)
        if endless:
            followed = {link: own[-1] for link, own in times.items()}
    if isinstance(work, str):
        agents = len(observed.neighbors)
        work = Computing((None,) * agents, "bounded", (0,) * agents, refused=work)
    links = _carried(observed, messages, _Sendings(times, followed, found.timeouts))
    return Sealed(observed.packets, found.activity, work, links, _dimension(observed, protocol, view.public.codec))


# ── computing times ─────────────────────────────────────────────────────────────────────────────────────
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


def _computing_of_walk(observed: ObservedPackets, protocol: Protocol, moves: Sequence[Move]) -> Computing:
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


def _computing_of_rounds(
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
