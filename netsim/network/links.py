"""Links as data: their laws, the exchange policy for missing messages, and the public side of the transport.

`netsim.network.wires` and `channels` do what a link's data says. Live agents and replays of them keep the
messages of their exchanges on a `Shelf`, which decides what is missing and what stands in for it.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

from netsim.arguments import named
from netsim.bounds import Index, NonNegative, Positive, Share
from netsim.errors import ScenarioError
from netsim.network.laws import Bernoulli, ConstantDelay, DelayLaw, LossLaw, Outages
from netsim.transcript.message import HEADER_BYTES, Message


@named
@dataclass(frozen=True)
class LinkLaw:
    """Everything a link is: how long, how lossy, how wide, and what its ends make of it.

    A wire serializes packets first in first out at `bandwidth` bytes per second (None: at once); at most `buffer`
    bytes wait for that, what comes on top is dropped (None: no limit; a packet always fits into an idle wire).
    Then each travels for a drawn `delay`, unless it is lost: `loss` is a probability, or a law. With probability
    `duplication` a packet that is not lost arrives twice, each copy after a delay of its own. A packet is lost too
    if the link is down (`outages`) at any moment of its travel. `reordering` lets packets of one wire overtake each
    other.

    `reliable` links acknowledge, retransmit after `timeout` seconds (None: four mean delays and four times the time
    to serialize a packet, at least 1 ms; from when the packet has left the sender), doubling at every attempt up to
    `timeout`·2^6, and deliver exactly once and in order.

    On an `authenticated` link every packet, acknowledgements too, carries a tag of 16 bytes more (`TAG_BYTES`), and
    the receiver rejects what was altered on its way and what it had before, the network's own copies included
    (`netsim.network.network`). An `encrypted` link is authenticated as well (AEAD): a tap sees time, size, endpoints
    of a packet, and nothing else.
    """

    delay: DelayLaw = field(default_factory=lambda: ConstantDelay(0.0))
    """The law of a packet's delay."""
    loss: Share | LossLaw = 0.0
    """The probability that a packet is lost, or a law of losses."""
    bandwidth: Positive | None = None
    """Bytes per second each way; none: no limit."""
    buffer: Index | None = None
    """Bytes that may wait for the bandwidth; none: no limit."""
    reliable: bool = False
    """Whether packets are acknowledged and sent again until they arrive."""
    timeout: Positive | None = None
    """Seconds without an acknowledgement after which a packet is sent again; none: by the link's delay."""
    reordering: bool = False
    """Whether packets may overtake each other."""
    duplication: Share = 0.0
    """The share of packets that arrive twice."""
    outages: Outages | None = None
    """When the link is down; none: never."""
    encrypted: bool = False
    """Whether taps see times and sizes alone."""
    authenticated: bool = False
    """Whether the receiver rejects what was altered or repeated."""

    def __post_init__(self) -> None:
        if isinstance(self.loss, int | float) and not 0 <= self.loss < 1:
            raise ScenarioError("loss", self.loss, "a loss probability", "0 <= loss < 1")
        if self.bandwidth is not None and not 0 < self.bandwidth < math.inf:
            raise ScenarioError("bandwidth", self.bandwidth, "bytes per second", "> 0, or leave it out")
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise ScenarioError("timeout", self.timeout, "seconds before a retransmission", "> 0")
        if self.buffer is not None and self.bandwidth is None:
            raise ScenarioError(
                "buffer", self.buffer, "nothing waits where bandwidth is unlimited", "a bandwidth too"
            )
        if self.buffer is not None and self.buffer < 0:
            raise ScenarioError("buffer", self.buffer, "bytes that may wait", ">= 0")
        if not 0 <= self.duplication < 1:
            raise ScenarioError("duplication", self.duplication, "a probability", "0 <= duplication < 1")

    @property
    def losses(self) -> LossLaw | None:
        """The law of loss, None where nothing is lost."""
        if self.loss == 0:
            return None
        law = Bernoulli(self.loss) if isinstance(self.loss, int | float) else self.loss
        return law if law.rate() > 0 else None

    @property
    def tagged(self) -> bool:
        """Whether packets carry a tag that the receiver checks."""
        return self.authenticated or self.encrypted

    @property
    def random(self) -> bool:
        """Whether a wire of this law draws random numbers."""
        constant = isinstance(self.delay, ConstantDelay)
        return self.losses is not None or not constant or self.duplication > 0 or self.outages is not None

    @property
    def plain(self) -> bool:
        """Constant delay and nothing else: every packet arrives, at once and once."""
        return not self.random and self.bandwidth is None and not self.tagged


@dataclass(frozen=True)
class AccessLaw:
    """An agent's access line: all it sends shares `uplink`, all it gets `downlink`, in bytes per second.

    Each is a queue, first in first out and without limit (None: no limit on the rate). What it sends waits for the
    uplink first and for the link's own bandwidth after; what it gets passes the downlink after its travel.
    """

    uplink: Positive | None = None
    """What an agent can send, in bytes per second; none: no limit."""
    downlink: Positive | None = None
    """What an agent can receive, in bytes per second; none: no limit."""

    def __post_init__(self) -> None:
        for name, rate in (("uplink", self.uplink), ("downlink", self.downlink)):
            if rate is not None and not 0 < rate < math.inf:
                raise ScenarioError(name, rate, "bytes per second", "> 0, or leave it out")


_FieldNames = tuple[str, ...]


@dataclass(frozen=True)
class ExchangePolicy:
    """How long an exchange waits for its neighbors, and what stands in for a message that did not come. Public.

    `deadline` seconds after it began, an exchange goes on with what is here (0: with what is here now; None: never,
    it waits for all). A message that arrives at the deadline is in time. A neighbor is waited for until its message
    of that exchange or a later one is here: who is ahead does not answer any more.

    `instead` of a missing message stands the newest message of that neighbor with the same fields, late ones and
    those of later exchanges too (`last_received`; before the first: the agent's own), or what the agent itself sent
    in this exchange (`own_value`).
    """

    deadline: NonNegative | None = None
    """How long an exchange waits for messages, in seconds; none: for all of them."""
    instead: Literal["last_received", "own_value"] = "last_received"
    """What stands in for a message that is missing at the deadline."""

    def __post_init__(self) -> None:
        if self.deadline is not None and not 0 <= self.deadline < math.inf:
            raise ScenarioError("deadline", self.deadline, "seconds that an exchange waits", ">= 0, or leave it out")

    @property
    def endless(self) -> bool:
        """Whether every exchange waits for all."""
        return self.deadline is None


WAIT_FOR_ALL = ExchangePolicy()
"""What exchanges do where nothing else is said."""


class Shelf:
    """The messages of exchanges at one agent, as an agent keeps them whose exchanges have a deadline."""

    __slots__ = ("_ahead", "_collected", "_last_received", "_neighbors", "_newest", "_slots", "_wanted", "awaited")

    def __init__(self, neighbors: tuple[int, ...], policy: ExchangePolicy) -> None:
        self._neighbors, self._last_received = neighbors, policy.instead == "last_received"
        self._slots: dict[int, dict[int, Message]] = {}
        self._newest: dict[tuple[int, _FieldNames], Message] = {}
        self._ahead = dict.fromkeys(neighbors, -1)
        self._collected = 0
        self._wanted = -1
        self.awaited = 0
        """How many neighbors the exchange that was looked up last still waits for."""

    def put(self, message: Message) -> None:
        """A message has arrived, early, in time, late, or once more."""
        sender, number = message.sender, message.number
        ahead = self._ahead[sender]
        if number > ahead:
            self._ahead[sender] = number
            if ahead < self._wanted <= number:
                self.awaited -= 1
        if number >= self._collected:
            self._slots.setdefault(number, {}).setdefault(sender, message)
        if self._last_received:
            key = sender, _names(message)
            if key not in self._newest or self._newest[key].number < number:
                self._newest[key] = message

    def complete(self, number: int) -> bool:
        """Whether exchange `number` waits for nobody; from now on `awaited` is about it."""
        self._wanted, self.awaited = number, len(self.missing(number))
        return not self.awaited

    def missing(self, number: int) -> tuple[int, ...]:
        """The neighbors that exchange `number` still waits for."""
        return tuple(j for j, ahead in self._ahead.items() if ahead < number)

    def collect(self, sent: Message) -> tuple[Message, ...]:
        """One message for each neighbor, in their order: exchange `sent.number` is over."""
        number, names = sent.number, _names(sent)
        here = {j: message for j, message in self._slots.get(number, {}).items() if _names(message) == names}
        self._collected = number + 1
        for old in [k for k in self._slots if k <= number]:
            del self._slots[old]
        return tuple([here[j] if j in here else self._newest.get((j, names), sent) for j in self._neighbors])


def _names(message: Message) -> _FieldNames:
    return tuple(sorted(message.values))


@dataclass(frozen=True)
class Transport:
    """What a protocol's documents say of the network, and no secret of anybody.

    `header_bytes` of a message; `radio`: one medium for all; `reliable`: acknowledged and sent again, None where only
    some links are. `steady`: whatever an agent sends goes on the air (no outages, no downtimes, no full buffers).
    `queues`: packets may wait before they do. `in_order`: packets of a link do not overtake each other. `alike`: all
    links follow one law. `clock_rate`: ticks per second of the agents' Poisson clocks, None where they have none.
    `copies`: the network may deliver a packet twice, and nobody rejects the copy.
    """

    header_bytes: int = HEADER_BYTES
    radio: bool = False
    reliable: bool | None = False
    steady: bool = True
    queues: bool = False
    in_order: bool = True
    alike: bool = True
    clock_rate: float | None = None
    copies: bool = False


PLAIN = Transport()
"""Links that repeat nothing and lose nothing before it is on the air."""
