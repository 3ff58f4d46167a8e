"""Adversaries are data: what they tap, what they miss, what they know. What they get is a view.

Everybody knows the protocol (Kerckhoffs): the algorithm with its parameters, the graph, the weights, the public
part of the objective. Nobody's view holds an objective or a datum: those stay in `netsim.truth`.
"""

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from netsim.arrays import Array
from netsim.errors import ScenarioError
from netsim.links import Wire
from netsim.messages import Message, Packet
from netsim.node import Regularizer
from netsim.transcript import EVERYBODY, Record, Transcript

if TYPE_CHECKING:
    from netsim.algorithms.algorithm import Algorithm
    from netsim.topology import Topology


@dataclass(frozen=True)
class Adversary:
    """An eavesdropper outside the network.

    `links`: "all" or undirected pairs (i, j), both directions of which are heard as packets go on the air.
    `nodes`: agents at whose door every message is seen, in order, as it leaves and as it is delivered.
    `capture_loss`: the share of packets that a link tap misses, independently (a node tap misses nothing).
    """

    name: str = "eavesdropper"
    links: Literal["all"] | tuple[tuple[int, int], ...] = "all"
    nodes: tuple[int, ...] = ()
    capture_loss: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.capture_loss < 1:
            raise ScenarioError(
                "capture_loss", self.capture_loss, "a share of packets", "0 <= capture_loss < 1"
            )

    def tapped(self, topology: "Topology") -> frozenset[tuple[int, int]]:
        """The directed links it hears. You get a `ScenarioError` for a link or an agent that is not there."""
        edges = set(topology.edges)
        for index, agent in enumerate(self.nodes):
            if not 0 <= agent < topology.agents:
                raise ScenarioError(f"nodes[{index}]", agent, "no such agent", f"0 … {topology.agents - 1}")
        if self.links == "all":
            chosen = edges
        else:
            for index, (i, j) in enumerate(self.links):
                if (min(i, j), max(i, j)) not in edges:
                    shown = ", ".join(f"[{a}, {b}]" for a, b in topology.edges[:12])
                    more = ", …" if len(edges) > 12 else ""
                    raise ScenarioError(f"links[{index}]", [i, j], "a tap on a link that is not there", shown + more)
            chosen = set(self.links)
        return frozenset(chosen) | frozenset((j, i) for i, j in chosen)


@dataclass(frozen=True)
class PublicKnowledge:
    """What everybody knows before the first message, the adversary too.

    `loss` names the kind of the private objectives ("logistic", "least_squares", …) and `ridge` its public
    quadratic term ridge/2·‖x‖²; `value_range` is the declared range of a feature, if any.
    """

    algorithm: "Algorithm"
    agents: int
    dimension: int
    neighbors: tuple[tuple[int, ...], ...]
    weights: Array
    regularizer: Regularizer
    loss: str
    ridge: float
    value_range: tuple[float, float] | None = None


@dataclass(frozen=True)
class AdversaryView:
    """All that an attack is given: the transcript the adversary recorded and what it knows."""

    adversary: Adversary
    transcript: Transcript
    public: PublicKnowledge

    @property
    def replicas(self) -> int:
        """Length of the leading axis of every value."""
        return self.transcript.replicas


@dataclass
class Tap:
    """Records for one adversary while the network runs; `transcript` makes plain rows of it afterwards."""

    adversary: Adversary
    rng: random.Random
    _heard: list[tuple[float, Wire, Packet]] = field(default_factory=list[tuple[float, Wire, Packet]])
    _doors: list[Record] = field(default_factory=list[Record])

    def hear(self, wire: Wire, time: float, packet: Packet) -> None:
        """A packet goes on the air of a tapped link."""
        if self.adversary.capture_loss and self.rng.random() < self.adversary.capture_loss:
            return
        self._heard.append((time, wire, packet))

    def sent(self, time: float, message: Message, receiver: int = EVERYBODY) -> None:
        """A message leaves a tapped agent."""
        self._doors.append(_at_door(time, "sent", message, receiver))

    def received(self, time: float, message: Message, receiver: int) -> None:
        """A message is delivered to a tapped agent."""
        self._doors.append(_at_door(time, "received", message, receiver))

    def transcript(self, replicas: int) -> Transcript:
        """Everything heard, in order of time, cut loose from the network's objects."""
        records = [_on_air(time, wire, packet) for time, wire, packet in self._heard] + self._doors
        records.sort(key=_time)
        return Transcript(tuple(records), replicas)


def _time(record: Record) -> float:
    return record.time


def _at_door(time: float, event: Literal["sent", "received"], message: Message, receiver: int) -> Record:
    return Record(
        time, "node", event, message.sender, receiver, message.kind, message.number, -1, 0, message.size,
        message.values,
    )  # fmt: skip


def _on_air(time: float, wire: Wire, packet: Packet) -> Record:
    ends = (wire.source, wire.target)
    if isinstance(packet, Message):
        return Record(
            time, "link", "air", *ends, packet.kind, packet.number, -1, 0, packet.size, packet.values
        )
    message = packet.message
    if message is None:
        return Record(time, "link", "air", *ends, "ack", -1, packet.sequence, packet.attempt, packet.size, {})
    return Record(
        time, "link", "air", *ends, message.kind, message.number, packet.sequence, packet.attempt, packet.size,
        message.values,
    )  # fmt: skip


