"""Repetitions and losses of each link, by counting: messages are numbered by the protocol, and arrivals acknowledged.

On a reliable link data packets less messages are repetitions. A data packet that arrived was acknowledged, so data
packets less acknowledgements of the other direction were lost. An attempt fails by the data or by the
acknowledgement, and a message is repeated at least as often as it failed: what is left of the repetitions bounds the
acknowledgements that were lost. At the end of a run a packet of each link is taken to be on its way still.
"""

from collections.abc import Mapping

from attacks.traffic.found import Amount, Edge, LinkTraffic
from attacks.traffic.overheard import Overheard, opposite
from attacks.traffic.walk import Z

NOT_KNOWN = "no packet is sent again or acknowledged here: a lost one looks like any other"


def carried(heard: Overheard, messages: Mapping[Edge, int] | None) -> LinkTraffic:
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
    return LinkTraffic(repeated, {link: _lost(heard, link, repeated) for link in heard.links}, None, None)


def _refused(why: str) -> LinkTraffic:
    return LinkTraffic({}, {}, why, why)


def _repeated(heard: Overheard, link: Edge, messages: int) -> Amount:
    packets = len(heard.data.get(link, ()))
    if heard.whole:
        return Amount.exactly(packets - messages)
    least = max(0, packets - messages)
    if not heard.missed or heard.late:
        return Amount(least, None, float("inf"))
    kept = 1 - heard.missed
    spread = Z * ((packets + 1) * heard.missed) ** 0.5 / kept
    total = packets / kept
    return Amount(
        max(least, total - spread - messages), max(0.0, total - messages), max(0.0, total + spread - messages)
    )


def _lost(heard: Overheard, link: Edge, repeated: Mapping[Edge, Amount]) -> Amount:
    data, (back, on_way) = _unacknowledged(heard, link), _failed(heard, opposite(link))
    low, high = data
    acks = max(0.0, repeated[opposite(link)].high - back)
    return Amount(low, high + acks if low == high else None, high + acks + on_way)


def _failed(heard: Overheard, link: Edge) -> tuple[int, int]:
    """Of the link's data packets: how many certainly were lost; how many may still be on their way, or their
    acknowledgements."""
    low, high = _unacknowledged(heard, link)
    return low, high - low + bool(heard.data.get(link))


def _unacknowledged(heard: Overheard, link: Edge) -> tuple[int, int]:
    """How many data packets of a link were lost, at least and at most."""
    data, acks = heard.data.get(link, ()), heard.acks.get(opposite(link), ())
    lost = len(data) - len(acks)
    on_way = bool(data) and (not acks or acks[-1] < data[-1])
    return max(0, lost - on_way), lost
