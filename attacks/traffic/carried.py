"""Repetitions and losses of each link, by counting: messages are numbered by the protocol, and arrivals acknowledged.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from attacks.traffic.found import Amount, Edge, LinkTraffic
from attacks.traffic.missed import sent_in_all
from attacks.traffic.overheard import Overheard, opposite
from attacks.traffic.readings import settled, slack

NOT_KNOWN = "no packet is sent again or acknowledged here: a lost one looks like any other"


@dataclass(frozen=True)
class Sendings:
    """When messages were first sent (`times`), as far as that is known; of each link the first sending of the last
    message that arrived for certain (`followed`); and what the timeout may be, None where nothing tells it."""

    times: Mapping[Edge, Sequence[float]] = field(default_factory=dict[Edge, Sequence[float]])
    followed: Mapping[Edge, float] = field(default_factory=dict[Edge, float])
    timeouts: frozenset[float] | None = None


def carried(heard: Overheard, messages: Mapping[Edge, int] | None, sendings: Sendings) -> LinkTraffic:
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


def _repeated(heard: Overheard, link: Edge, messages: int) -> Amount:
    packets = len(heard.data.get(link, ()))
    if heard.whole:
        return Amount.exactly(packets - messages)
    if not heard.missed or heard.late:
        return Amount(max(0, packets - messages), None, float("inf"))
    low, value, high = sent_in_all(packets, heard.missed, messages)
    return Amount(low - messages, value - messages, high - messages)


def _lost(heard: Overheard, link: Edge, repeated: Mapping[Edge, Amount], sendings: Sendings) -> Amount:
    """Data packets, and acknowledgements of the other direction's."""
    back = opposite(link)
    low, data = _data_lost(heard, link, sendings)
    high = data + len(heard.acks.get(link, ())) - _acknowledged(heard, back, sendings)
    if low < data or heard.transport.copies:
        return Amount(low, None, high)
    acks = max(0.0, repeated[back].high - _data_lost(heard, back, sendings)[1])  # if each repetition is for a loss
    return Amount(low, min(data + acks, high), high)


def _data_lost(heard: Overheard, link: Edge, sendings: Sendings) -> tuple[int, int]:
    """How many data packets of a link were lost, at least and at most."""
    data, acks = heard.data.get(link, ()), heard.acks.get(opposite(link), ())
    least = (len(acks) + 1) // 2 if heard.transport.copies else len(acks)
    since = sendings.followed.get(link)
    on_way = len(data)
    if since is not None and heard.transport.in_order and not heard.transport.queues:
        on_way = sum(time >= since - slack(since) for time in data) - 1
    return max(0, len(data) - len(acks) - on_way), len(data) - least


def _acknowledged(heard: Overheard, link: Edge, sendings: Sendings) -> int:
    """Of how many messages of a link an acknowledgement arrived, for certain."""
    if not sendings.timeouts or heard.transport.queues or not heard.transport.alike:
        return 0
    times, data = sendings.times.get(link, ()), heard.data.get(link, ())
    return min(settled(data, times, timeout, heard.end) for timeout in sendings.timeouts)
