"""Radio beside links: one transmission, serialized once, is heard by all neighbors and by every tap in range.

What a `LinkLaw` says is divided between the two ends. The transmitter has the bandwidth, first in first out, the
buffer, the encryption and the tags. Each neighbor has the delay, the losses, the copies, the outages and the
reordering, all drawn for itself: a broadcast may reach one neighbor and miss another. `exchange` and `broadcast` are
one frame; `send` is a frame that only its receiver takes, though all in range hear it.

There is no model of collisions. Without carrier sense every transmitter has a channel of its own; with it, those
near each other take turns, at once and without fail.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from netsim import acknowledged
from netsim.acknowledged import Acknowledged
from netsim.adversary import Tap
from netsim.clock import VirtualEnvironment
from netsim.errors import ScenarioError
from netsim.links import AccessLaw, LinkLaw
from netsim.messages import Message
from netsim.network import UNUSED, Edge, Network, Observer, downs
from netsim.outages import Outages, Switch
from netsim.patience import Patience
from netsim.randomness import Streams
from netsim.reliable import ReliableChannel
from netsim.topology import Topology
from netsim.transmitters import Reception, Transmitter
from netsim.wires import Wire
from netsim.wiretaps import Within

TRANSMITTERS = ("bandwidth", "buffer", "encrypted", "authenticated", "reliable")
"""What in a law is the transmitter's, the same whoever listens."""


@dataclass(frozen=True)
class Radio:
    """The broadcast medium: `Simulation(medium=Radio())`.

    `carrier_sense`: agents at most this many hops apart take turns on the air, in the order in which their frames
    came, acknowledgements first. 0: each has a channel of its own. 1: an agent waits while it hears a neighbor. 2: no
    agent ever hears two at once, so that nothing could collide.
    """

    carrier_sense: int = 0

    def __post_init__(self) -> None:
        if type(self.carrier_sense) is not int or not 0 <= self.carrier_sense <= 2:
            raise ScenarioError("carrier_sense", self.carrier_sense, "a number of hops", "0, 1 or 2")

    def check(
        self,
        links: LinkLaw,
        link_laws: Mapping[Edge, LinkLaw],
        access: Sequence[AccessLaw],
        meddlers: Sequence[str] = (),
    ) -> None:
        """You get a `ScenarioError` for laws that no radio follows, and for who sits in the middle of a link."""
        if meddlers:
            why = "a meddler sits in the middle of a link, and radio has none"
            raise ScenarioError("meddlers", list(meddlers), why, "medium: links, or no meddlers")
        if self.carrier_sense and links.bandwidth is None:
            raise ScenarioError(
                "medium.carrier_sense", self.carrier_sense,
                "there are no turns to take: without a bandwidth no frame takes time on the air", "a bandwidth too",
            )  # fmt: skip
        for (i, j), law in link_laws.items():
            for name in TRANSMITTERS:
                own, common = getattr(law, name), getattr(links, name)
                if own != common:
                    why = (
                        f"({i}, {j}) differs from the default law, but on radio this is the transmitter's own affair"
                    )
                    raise ScenarioError(f"link_laws.{name}", own, why, f"{common}, as in the default law")
        for law in access:
            if law != AccessLaw():
                raise ScenarioError(
                    "access", law, "radio has no access lines", "the links' bandwidth, or medium: links"
                )


class RadioNetwork(Network):
    """The network of agents with radios. `wires` are what each neighbor hears of each transmitter."""

    def __init__(
        self,
        radio: Radio,
        environment: VirtualEnvironment,
        topology: Topology,
        default: LinkLaw,
        streams: Streams,
        laws: Mapping[Edge, LinkLaw] | None = None,
        observers: Mapping[int, Sequence[Observer]] | None = None,
        patience: Patience | None = None,
        downtimes: Mapping[int, Outages] | None = None,
    ) -> None:
        off = {i: Switch(downs(i, outages, streams)) for i, outages in (downtimes or {}).items()}
        self.transmitters = [Transmitter(environment, i, default, off.get(i)) for i in range(topology.agents)]
        if radio.carrier_sense:
            for i, transmitter in enumerate(self.transmitters):
                transmitter.yield_to([self.transmitters[j] for j in _near(topology, i, radio.carrier_sense)])
        super().__init__(
            environment, topology, default, streams, laws, observers, patience=patience, downtimes=downtimes
        )
        for transmitter in self.transmitters:
            transmitter.air = self.air

    def listen(self, tap: Tap) -> None:
        """Let an adversary hear its transmitters: with a receiver at each, or one for all where it has a place."""
        heard = sorted(tap.adversary.transmitters(self._topology))
        shared = tap.ear() if isinstance(tap.adversary.links, Within) else None
        for agent in heard:
            self.transmitters[agent].tap(tap.ear() if shared is None else shared)

    def broadcaster(self, agent: int) -> Callable[[Message], None]:
        """Sends a message to all neighbors of an agent in one frame."""
        channels = [self.channels[agent, j] for j in self.inboxes[agent].neighbors]
        if isinstance(channels[0], Acknowledged):
            return acknowledged.broadcaster(cast("list[Acknowledged]", channels))
        return self.transmitters[agent].transmit

    def drain(self) -> None:
        """At the end of a run: let what waits for its turn go on the air, where taps hear it.

        So it is with what waits for a wire. It reaches no agent any more: it stays in flight.
        """
        after = VirtualEnvironment(self._environment.now)
        for transmitter in self.transmitters:
            transmitter.speak_to_nobody(after)
        after.run()

    def on_air(self) -> dict[str, int]:
        """Frames and bytes that were on the air, counted once each, whoever heard them."""
        return {
            "transmissions": sum(transmitter.transmissions for transmitter in self.transmitters),
            "transmitted_bytes": sum(transmitter.transmitted_bytes for transmitter in self.transmitters),
        }

    def _wire(self, edge: Edge, streams: Streams) -> Wire:
        law, transmitter = self._law(edge), self.transmitters[edge[0]]
        rng = streams.plain("link", *edge) if law.random else UNUSED
        reception = Reception(transmitter, self._environment, edge[1], law, rng, self._switch(edge, streams))
        transmitter.receptions.append(reception)
        return reception

    def _reliable(self, edge: Edge, deliver: Callable[[Message], None]) -> ReliableChannel:
        forward, backward = self.wires[edge], self.wires[edge[1], edge[0]]
        assert isinstance(forward, Reception)
        return Acknowledged(self._environment, forward, backward, self._law(edge), deliver)


def _near(topology: Topology, agent: int, hops: int) -> list[int]:
    """The other agents at most so many hops away, ascending."""
    near = {agent}
    for _ in range(hops):
        near |= {j for i in near for j in topology.neighbors(i)}
    return sorted(near - {agent})
