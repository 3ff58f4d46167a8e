"""Traffic analysis of a view: dimension, repetitions and losses of links, activity and computing times.

The dimension is public knowledge too; it is not looked at here.

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
"""

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attacks.traffic.compute_times import computing_of_rounds, computing_of_walk
from attacks.traffic.exchanges import exchanged, settled, slack
from attacks.traffic.packets import ObservedPackets, sent_in_all
from attacks.traffic.protocol import Protocol
from attacks.traffic.results import Amount, Computing, Dimension, Edge, LinkTraffic, Sealed
from attacks.traffic.token_walk import walked
from netsim.adversary import AdversaryView
from netsim.codecs import Codec
from netsim.errors import AttackError

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
            work = computing_of_walk(observed, protocol, found.moves)
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
            work = computing_of_rounds(observed, protocol, found.times)
        if endless:
            followed = {link: own[-1] for link, own in times.items()}
    if isinstance(work, str):
        agents = len(observed.neighbors)
        work = Computing((None,) * agents, "bounded", (0,) * agents, refused=work)
    links = _carried(observed, messages, _Sendings(times, followed, found.timeouts))
    return Sealed(observed.packets, found.activity, work, links, _dimension(observed, protocol, view.public.codec))
