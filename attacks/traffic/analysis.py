"""Traffic analysis of a view: dimension, repetitions and losses of links, activity and computing times.

PublicKnowledge says the dimension too; it is not looked at here.

On a reliable link data packets less messages are repetitions. Of losses only what follows is said:

- Each data packet that arrives is acknowledged at once, so those without an acknowledgement were lost, or are on
  their way as the run ends. Where packets do not overtake each other, only those that went after the last message
  that arrived for certain can be on their way, and not all of them. (Of a network that copies packets two
  acknowledgements may be one arrival's.)
- An acknowledgement that arrives ends the repetitions of its message. So for each message that was due again, and was
  not sent again, one arrived; any other one may have been lost. When a message is due is known from the timeout,
  which the repetitions tell; where nothing is repeated it is not known, and all acknowledgements may have been lost.

A repetition is no proof of a loss: a timeout may be shorter than the way there and back.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from attacks.traffic import compute_times as computing
from attacks.traffic.exchanges import Exchanged, exchanged, settled, slack
from attacks.traffic.packets import ObservedPackets, opposite, sent_in_all
from attacks.traffic.protocol import Protocol, read
from attacks.traffic.results import Amount, Computing, Dimension, Edge, LinkTraffic, Sealed
from attacks.traffic.token_walk import Move, walked
from netsim.adversary import AdversaryView
from netsim.codecs import Codec
from netsim.errors import AttackError

LARGEST = 2**48


def _dimension(heard: ObservedPackets, protocol: Protocol, codec: Codec) -> Dimension:
    """Every dimension for which sealed messages have the sizes that were heard."""
    if not heard.sizes:
        return Dimension(refused="no message was heard sealed: in the clear the values themselves say it")
    if heard.unclear is not None:
        return Dimension(refused=heard.unclear)
    if len(heard.sizes) != len(protocol.vectors):
        return Dimension(refused="messages of other sizes were heard than the protocol has")
    payloads = {
        count: size - heard.transport.header_bytes for count, size in zip(protocol.vectors, heard.sizes, strict=True)
    }
    low, high = 1, float("inf")
    for count, payload in payloads.items():
        if not count:
            continue
        least = _first(codec, count, payload)
        after = _first(codec, count, payload + 1)
        if least == after:
            return Dimension(
                payloads=payloads, refused=f"no vector takes {payload} bytes: the header is not as public"
            )
        low, high = max(low, least), min(high, math.inf if after > LARGEST else after - 1)
    return Dimension(low, high, payloads)


def _first(codec: Codec, count: int, payload: int) -> int:
    """The least dimension of which so many vectors take at least so many bytes."""
    low, high = 1, LARGEST + 1
    while low < high:
        middle = (low + high) // 2
        if count * codec.size(middle) >= payload:
            high = middle
        else:
            low = middle + 1
    return low


NOT_KNOWN = "no packet is sent again or acknowledged here: a lost one looks like any other"


@dataclass(frozen=True)
class _Sendings:
    """When messages were first sent (`times`), as far as that is known; of each link the first sending of the last
    message that arrived for certain (`followed`); and what the timeout may be, None where nothing tells it."""

    times: Mapping[Edge, Sequence[float]] = field(default_factory=dict[Edge, Sequence[float]])
    followed: Mapping[Edge, float] = field(default_factory=dict[Edge, float])
    timeouts: frozenset[float] | None = None


def _carried(heard: ObservedPackets, messages: Mapping[Edge, int] | None, sendings: _Sendings) -> LinkTraffic:
    """`messages`: how many messages each tapped link carried, None where that is not known."""
    transport = heard.transport
    if transport.radio:
        return _refused("on radio a frame is for several receivers")
    if heard.unclear is not None:
        return _refused(heard.unclear)
    if transport.reliable is None:
        return _refused("some links repeat and others do not")
    if not transport.reliable:
        return LinkTraffic(dict.fromkeys(heard.links, Amount.exactly(0)), {}, None, NOT_KNOWN)
    if messages is None:
        return _refused(
            "how many messages a link carried is not known, so neither is how many packets were repetitions"
        )
    if not transport.steady:
        return _refused("links or agents are down at times: a packet that finds a link down is not heard")
    repeated = {link: _repeated(heard, link, messages[link]) for link in heard.links}
    if not heard.whole:
        why = "the tap missed packets: an acknowledgement that is missing may have been missed, not lost"
        return LinkTraffic(repeated, {}, None, why)
    return LinkTraffic(repeated, {link: _lost(heard, link, repeated, sendings) for link in heard.links}, None, None)


def _refused(why: str) -> LinkTraffic:
    return LinkTraffic({}, {}, why, why)


def _repeated(heard: ObservedPackets, link: Edge, messages: int) -> Amount:
    packets = len(heard.data.get(link, ()))
    if heard.whole:
        return Amount.exactly(packets - messages)
    if not heard.missed or heard.late:
        return Amount(max(0, packets - messages), None, float("inf"))
    low, value, high = sent_in_all(packets, heard.missed, messages)
    return Amount(low - messages, value - messages, high - messages)


def _lost(heard: ObservedPackets, link: Edge, repeated: Mapping[Edge, Amount], sendings: _Sendings) -> Amount:
    """Data packets, and acknowledgements of the other direction's."""
    back = opposite(link)
    low, data = _data_lost(heard, link, sendings)
    high = data + len(heard.acks.get(link, ())) - _acknowledged(heard, back, sendings)
    if low < data or heard.transport.copies:
        return Amount(low, None, high)
    acks = max(0.0, repeated[back].high - _data_lost(heard, back, sendings)[1])  # if each repetition is for a loss
    return Amount(low, min(data + acks, high), high)


def _data_lost(heard: ObservedPackets, link: Edge, sendings: _Sendings) -> tuple[int, int]:
    """How many data packets of a link were lost, at least and at most."""
    data, acks = heard.data.get(link, ()), heard.acks.get(opposite(link), ())
    least = (len(acks) + 1) // 2 if heard.transport.copies else len(acks)
    since = sendings.followed.get(link)
    on_way = len(data)
    if since is not None and heard.transport.in_order and not heard.transport.queues:
        on_way = sum(time >= since - slack(since) for time in data) - 1
    return max(0, len(data) - len(acks) - on_way), len(data) - least


def _acknowledged(heard: ObservedPackets, link: Edge, sendings: _Sendings) -> int:
    """Of how many messages of a link an acknowledgement arrived, for certain."""
    if not sendings.timeouts or heard.transport.queues or not heard.transport.alike:
        return 0
    times, data = sendings.times.get(link, ()), heard.data.get(link, ())
    return min(settled(data, times, timeout, heard.end) for timeout in sendings.timeouts)


def analysed(view: AdversaryView) -> Sealed:
    """You get an `AttackError` where no link was heard, where agents may begin anew and count anew, and for a
    protocol that is neither one token that walks nor exchanges in rounds."""
    if view.public.forgetful:
        raise AttackError("agents may be stopped and begin anew: how many messages each of them sends is not public")
    protocol = read(view.public)
    heard = ObservedPackets.of(view, protocol)
    if protocol.walk:
        return _of_walk(view, protocol, heard)
    found = exchanged(heard, protocol, endless=view.public.exchange_policy.endless)
    messages = dict.fromkeys(heard.links, len(protocol.told))
    return Sealed(
        heard.packets,
        found.activity,
        _rounds_computing(view, protocol, heard, found.times),
        _carried(heard, messages, _exchange_sendings(heard, found, endless=view.public.exchange_policy.endless)),
        _dimension(heard, protocol, view.public.codec),
    )


def _exchange_sendings(heard: ObservedPackets, found: Exchanged, *, endless: bool) -> _Sendings:
    """An agent tells all neighbors at once, and where exchanges wait for all of them no run ends before the last
    message arrived."""
    times = {link: own for link in heard.links if (own := found.times[link[0]]) is not None}
    return _Sendings(times, {link: own[-1] for link, own in times.items()} if endless else {}, found.timeouts)


def _walk_sendings(moves: Sequence[Move], timeouts: frozenset[float] | None) -> _Sendings:
    """Who passes a token on had it; the last one may not have arrived."""
    times: dict[Edge, list[float]] = defaultdict(list)
    followed: dict[Edge, float] = {}
    for k, (time, sender, receiver) in enumerate(moves):
        times[sender, receiver].append(time)
        if k + 1 < len(moves):
            followed[sender, receiver] = time
    return _Sendings(times, followed, timeouts)


def _of_walk(view: AdversaryView, protocol: Protocol, heard: ObservedPackets) -> Sealed:
    found = walked(heard, protocol.first, view.public.algorithm.stopping())
    messages: dict[Edge, int] | None = None
    if found.complete:
        messages = dict.fromkeys(heard.links, 0)
        for _, sender, receiver in found.moves:
            messages[sender, receiver] += 1
        work = computing.of_walk(heard, protocol, found.moves)
    else:
        work = _no_work(heard, "where visits may have been missed, a gap may hold several of them")
    return Sealed(
        heard.packets,
        found.activity,
        work,
        _carried(heard, messages, _walk_sendings(found.moves, found.timeouts)),
        _dimension(heard, protocol, view.public.codec),
    )


def _rounds_computing(
    view: AdversaryView, protocol: Protocol, heard: ObservedPackets, times: tuple[tuple[float, ...] | None, ...]
) -> Computing:
    if not view.public.exchange_policy.endless:
        return _no_work(heard, "exchanges end at a deadline: what an agent waited for is not known")
    if all(own is None for own in times):
        return _no_work(heard, "when exchanges began is not known")
    if heard.transport.reliable and not heard.whole:
        return _no_work(heard, "the tap missed packets: which acknowledgement tells of which arrival is not known")
    return computing.of_rounds(heard, protocol, times)


def _no_work(heard: ObservedPackets, why: str) -> Computing:
    agents = len(heard.neighbors)
    return Computing((None,) * agents, "bounded", (0,) * agents, refused=why)
