"""Observation of a run while it happens: facts are computed when they are read, and change nothing."""

import time
from collections.abc import Callable, Mapping, Sequence
from operator import add
from typing import TYPE_CHECKING

from netsim.clock import VirtualEnvironment, VirtualLoop
from netsim.network.network import Network

if TYPE_CHECKING:
    from netsim.adversary import Tap

COUNTS = ("sent", "duplicated", "delivered", "lost", "dropped", "in_flight")
"""What becomes of a packet (`netsim.network.wires.Counts`, where those that are delivered are `received`)."""
LEISURE = 20
"""Watching takes at most about one part of so many of the time."""


class Running:
    """What can be seen of a run from outside. For who owns the simulation, not for an adversary."""

    def __init__(
        self, environment: VirtualEnvironment, network: Network, taps: "Sequence[Tap]", activations: Sequence[int]
    ) -> None:
        self._environment, self._network, self._taps = environment, network, taps
        self._activations = activations

    @property
    def now(self) -> float:
        """Virtual seconds."""
        return self._environment.now

    @property
    def estimates(self) -> int:
        """How many rounds or activations all agents have closed, together."""
        return sum(self._activations)

    @property
    def activations(self) -> tuple[int, ...]:
        """How many each agent has closed."""
        return tuple(self._activations)

    def traffic(self) -> dict[str, int]:
        """Packets and bytes over all wires: sent + duplicated = delivered + lost + dropped + in flight.

        On radio these are what the neighbors get of each transmitter; what was on the air is counted besides.
        """
        packets = sizes = [0] * len(COUNTS)
        for wire in self._network.wires.each():
            packets, sizes = list(map(add, packets, wire.packets)), list(map(add, sizes, wire.bytes))
        totals = {f"packets_{word}": count for word, count in zip(COUNTS, packets, strict=True)}
        totals |= {f"bytes_{word}": count for word, count in zip(COUNTS, sizes, strict=True)}
        return totals | self._network.on_air()

    def waiting(self) -> tuple[str, ...]:
        """A sentence for every agent that waits for a message."""
        return tuple(s for inbox in self._network.inboxes if (s := inbox.waits_for()) is not None)

    def spooled(self) -> Mapping[str, int]:
        """Captured rows: `rows` written to disk with how many `bytes`, and rows that are still `in_memory`."""
        total = {"rows": 0, "bytes": 0, "in_memory": 0}
        for tap in self._taps:
            for name, count in tap.kept().items():
                total[name] += count
        return total

    def flush(self) -> None:
        """Put on disk what spools hold in memory: a process killed after it leaves that too."""
        for tap in self._taps:
            tap.flush()


Watch = Callable[[Running], None]
"""Called with the run, after every estimate or every so often."""


class WatchedLoop(VirtualLoop):
    """A virtual loop that is looked at every `every` seconds of real time, whatever happens in virtual time.

    The clock is read when agents wake, and every `CHECK_EVERY` events where none does. Looks that take long come
    less often.
    """

    def __init__(self, environment: VirtualEnvironment, every: float, look: Callable[[], None]) -> None:
        super().__init__(environment)
        self._every, self._look, self._due, self.checks_wakes = every, look, 0.0, True

    def _check_instant(self, steps: int) -> None:
        super()._check_instant(steps)
        if (began := time.perf_counter()) >= self._due:
            self._look()
            ended = time.perf_counter()
            self._due = ended + max(self._every, LEISURE * (ended - began))
