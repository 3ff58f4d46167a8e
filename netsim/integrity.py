"""What the receiver of an authenticated link does: it lets in what is genuine and new.

The sender tags every packet together with its number on the wire; who holds no key can neither change one nor make
one. What was altered is rejected for its tag, what came before for its number. On a reliable link the sender then
sends again, as if the packet had been lost; on a datagram link it is gone.

Source: RFC 4303 (IPsec ESP), section 3.4.3, the sliding window; DTLS 1.3 (RFC 9147) has the same.
"""

from collections.abc import Callable

from netsim.messages import Packet, Tagged
from netsim.wires import Wire

WINDOW = 1024
"""How many of the last numbers are known to have come or not. A packet from before them is rejected, for it may be a
repeat; what it carried is sent again on a reliable link."""


class ReplayWindow:
    """Which of a wire's numbers have come: the newest, and a bit for each of the `WINDOW` up to it."""

    __slots__ = ("_newest", "_seen")

    def __init__(self) -> None:
        self._newest, self._seen = -1, 0

    def admit(self, number: int) -> bool:
        """Whether this number is new, and not older than the window; from now on it is not."""
        behind = self._newest - number
        if behind < 0:
            self._seen = ((self._seen << min(-behind, WINDOW)) | 1) & ((1 << WINDOW) - 1)
            self._newest = number
            return True
        if behind >= WINDOW or self._seen >> behind & 1:
            return False
        self._seen |= 1 << behind
        return True


class Guard:
    """The receiver's end of an authenticated wire; counts what it rejects in the wire's `rejected`."""

    __slots__ = ("_deliver", "_window", "_wire")

    def __init__(self, wire: Wire, deliver: Callable[[Packet], None]) -> None:
        self._wire, self._deliver = wire, deliver
        self._window = ReplayWindow()

    def check(self, tagged: Tagged) -> None:
        """Hand on a packet that arrived, or reject it. A forged one leaves the window as it is."""
        if tagged.genuine and self._window.admit(tagged.number):
            self._deliver(tagged.packet)
            return
        self._wire.rejected += 1
        if tagged.by is not None:
            tagged.by.rejected += 1
