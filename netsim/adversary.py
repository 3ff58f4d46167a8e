"""Adversaries are data: what they tap, what they miss, what they know. What they get is a view.

Everybody knows the protocol (Kerckhoffs): the algorithm with its parameters, the graph, the weights, the public
part of the objective. Nobody's view holds an objective or a datum: those stay in `netsim.truth`.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netsim.arrays import Array
from netsim.errors import ScenarioError, TranscriptError
from netsim.messages import Fan, Heard, Message
from netsim.regularizers import Regularizer
from netsim.transcript import EVERYBODY, Door, Record, Transcript
from netsim.wiretaps import Wiretaps

if TYPE_CHECKING:
    from netsim.algorithms.algorithm import Algorithm
    from netsim.spool import Spool
    from netsim.topology import Topology


@dataclass(frozen=True)
class Adversary:
    """An eavesdropper outside the network.

    `links`: "all", undirected pairs (i, j), or a rule that picks some (`netsim.wiretaps`); both directions of a
    link are heard as packets go on the air. `nodes`: agents at whose door every message is seen, in order, as it
    leaves and as it is delivered. `capture_loss`: the share of packets that a link tap misses, independently (a
    node tap misses nothing). `clock_error`: standard deviation, in seconds, of the constant error of each link
    tap's clock; the transcript is in order of what the clocks said.
    """

    name: str = "eavesdropper"
    links: Literal["all"] | tuple[tuple[int, int], ...] | Wiretaps = "all"
    nodes: tuple[int, ...] = ()
    capture_loss: float = 0.0
    clock_error: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.clock_error < math.inf:
            raise ScenarioError("clock_error", self.clock_error, "a standard deviation in seconds", ">= 0")
        if not 0 <= self.capture_loss < 1:
            raise ScenarioError("capture_loss", self.capture_loss, "a share of packets", "0 <= capture_loss < 1")

    def tapped(self, topology: "Topology") -> frozenset[tuple[int, int]]:
        """The directed links it hears. You get a `ScenarioError` for a link or an agent that is not there."""
        edges = set(topology.edges)
        for index, agent in enumerate(self.nodes):
            if not 0 <= agent < topology.agents:
                raise ScenarioError(f"nodes[{index}]", agent, "no such agent", f"0 … {topology.agents - 1}")
        if self.links == "all":
            chosen = edges
        elif not isinstance(self.links, str | tuple):
            chosen = self._picked(self.links, topology)
        elif isinstance(self.links, str):
            raise ScenarioError("links", self.links, "neither 'all' nor pairs of agents", "all, or pairs")
        else:
            for index, (i, j) in enumerate(self.links):
                if (min(i, j), max(i, j)) not in edges:
                    shown = ", ".join(f"[{a}, {b}]" for a, b in topology.edges[:12])
                    more = ", …" if len(edges) > 12 else ""
                    raise ScenarioError(f"links[{index}]", [i, j], "a tap on a link that is not there", shown + more)
            chosen = set(self.links)
        return frozenset(chosen) | frozenset((j, i) for i, j in chosen)

    def _picked(self, rule: Wiretaps, topology: "Topology") -> set[tuple[int, int]]:
        try:
            return set(rule.pick(topology))
        except ScenarioError as error:
            raise error.under("links") from None


@dataclass(frozen=True)
class PublicKnowledge:
    """What everybody knows before the first message, the adversary too.

    `weights[i]` is agent i's row of W, (1 + degree,): its own weight, then its neighbors'. `loss` names the kind of
    the private objectives ("logistic", "least_squares", …) and `ridge` its public quadratic term ridge/2·‖x‖²;
    `value_range` is the declared range of a feature, if any. `query_time`: how many seconds a private query takes,
    None if that is random.
    """

    algorithm: "Algorithm"
    agents: int
    dimension: int
    neighbors: tuple[tuple[int, ...], ...]
    weights: tuple[Array, ...]
    regularizer: Regularizer
    loss: str
    ridge: float
    value_range: tuple[float, float] | None = None
    query_time: float | None = 0.0


@dataclass(frozen=True)
class AdversaryView:
    """All that an attack is given: the transcript the adversary recorded and what it knows."""

    adversary: Adversary
    transcript: Transcript
    public: PublicKnowledge

    def at_node(self, agent: int) -> tuple[Record, ...]:
        """Messages at a tapped agent's door, in order. You get a `TranscriptError` where no tap sat there."""
        if agent not in self.adversary.nodes:
            raise TranscriptError(f"no tap sat at agent {agent}: its messages were not recorded at its door")
        return self.transcript.at_node(agent)

    @property
    def replicas(self) -> int:
        """Length of the leading axis of every value."""
        return self.transcript.replicas


class Tap:
    """Records for one adversary while the network runs: in memory, or in a spool on disk."""

    def __init__(self, adversary: Adversary, rng: random.Random, spool: "Spool | None" = None) -> None:
        self.adversary = adversary
        self._rng, self._spool = rng, spool
        self._heard: list[Heard] = []
        self._doors: list[Door] = []

    def ear(self) -> Callable[[Heard], object]:
        """A tap on one link, to be called when a packet goes on the air. Its clock's error is drawn here."""
        loss = self.adversary.capture_loss
        late = self._rng.gauss(0.0, self.adversary.clock_error) if self.adversary.clock_error else 0.0
        keep: Callable[[Heard], object] = self._heard.append if self._spool is None else self._spool.hear
        draw = self._rng.random
        if not loss and not late:
            return keep

        def hear(heard: Heard) -> None:
            if not loss or draw() >= loss:
                when, sender, receiver, packet = heard
                keep((when + late, sender, receiver, packet))

        return hear

    def fan_of(self, ear: Callable[[Heard], object]) -> dict[Callable[[Heard], object], Callable[[Fan], object]]:
        """What hears a whole broadcast in place of an ear that misses nothing and writes to a spool."""
        return {ear: self._spool.fan} if self._spool is not None and ear is self._spool.hear else {}

    def sent(self, time: float, message: Message, receiver: int = EVERYBODY) -> None:
        """A message leaves a tapped agent."""
        if self._spool is None:
            self._doors.append((time, "sent", receiver, message))
        else:
            self._spool.sent(time, message, receiver)

    def received(self, time: float, message: Message, receiver: int) -> None:
        """A message is delivered to a tapped agent."""
        if self._spool is None:
            self._doors.append((time, "received", receiver, message))
        else:
            self._spool.received(time, message, receiver)

    def kept(self) -> dict[str, int]:
        """How much was heard: `rows` on disk with how many `bytes`, and rows `in_memory`."""
        if self._spool is None:
            return {"in_memory": len(self._heard) + len(self._doors)}
        return {"rows": self._spool.rows, "bytes": self._spool.bytes, "in_memory": self._spool.held}

    def flush(self) -> None:
        """Write what was heard so far, where it is written while the run goes on."""
        if self._spool is not None:
            self._spool.flush()

    def close(self) -> None:
        """Write what was heard so far, where it is written."""
        if self._spool is not None:
            self._spool.close()

    def transcript(self, replicas: int) -> Transcript:
        """Everything heard; holds messages, and no object of the network."""
        if self._spool is not None:
            return Transcript.stored(self._spool.close())
        return Transcript.heard(self._heard, self._doors, replicas)
