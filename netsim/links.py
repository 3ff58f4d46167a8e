"""Everything a link is, as data; `netsim.wires` and `netsim.reliable` do what it says."""

import math
from dataclasses import dataclass, field

from netsim.errors import ScenarioError
from netsim.laws import Bernoulli, ConstantDelay, DelayLaw, LossLaw
from netsim.outages import Outages


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
    (`netsim.integrity`). An `encrypted` link is authenticated as well (AEAD), and a tap sees time, size and endpoints
    of a packet, and nothing else.
    """

    delay: DelayLaw = field(default_factory=ConstantDelay)
    loss: float | LossLaw = 0.0
    bandwidth: float | None = None
    reliable: bool = False
    timeout: float | None = None
    reordering: bool = False
    buffer: int | None = None
    duplication: float = 0.0
    outages: Outages | None = None
    encrypted: bool = False
    authenticated: bool = False

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

    uplink: float | None = None
    downlink: float | None = None

    def __post_init__(self) -> None:
        for name, rate in (("uplink", self.uplink), ("downlink", self.downlink)):
            if rate is not None and not 0 < rate < math.inf:
                raise ScenarioError(name, rate, "bytes per second", "> 0, or leave it out")
