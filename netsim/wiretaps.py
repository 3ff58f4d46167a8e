"""Which links an adversary taps, said by rule instead of one by one; and on radio, whose transmissions it hears."""

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from netsim.errors import ScenarioError
from netsim.topology import Topology

Edge = tuple[int, int]


class Wiretaps(Protocol):
    """A rule that picks undirected links (i < j) of a graph, or transmitters, the same ones every time.

    You get a `ScenarioError` for an agent that is not there, and for a rule that makes no sense on the medium.
    """

    def pick(self, topology: Topology) -> frozenset[Edge]:
        """The links it taps, where agents have links."""
        ...

    def transmitters(self, topology: Topology) -> frozenset[int]:
        """The agents whose transmissions it hears, where agents have radios."""
        ...


@dataclass(frozen=True)
class Around:
    """Every link of these agents: somebody at their access lines. On radio, what these agents transmit."""

    agents: tuple[int, ...]

    def pick(self, topology: Topology) -> frozenset[Edge]:
        chosen = _known(self.agents, "around", topology)
        return frozenset(edge for edge in topology.edges if not chosen.isdisjoint(edge))

    def transmitters(self, topology: Topology) -> frozenset[int]:
        return _known(self.agents, "around", topology)


@dataclass(frozen=True)
class Within:
    """Somebody at the place `at`, who reaches what is at most `range` away (units of `Topology.positions`).

    On links: every link of an agent there. On radio: what the agents there transmit, and nothing else, all with
    one receiver and its one clock. You get a `ScenarioError` where the agents have no places.
    """

    at: tuple[float, float]
    range: float

    def __post_init__(self) -> None:
        if len(self.at) != 2 or not all(map(math.isfinite, self.at)):
            raise ScenarioError("at", list(self.at), "not a place in the plane", "two finite numbers [x, y]")
        if not 0 <= self.range < math.inf:
            raise ScenarioError("range", self.range, "a distance", ">= 0")

    def pick(self, topology: Topology) -> frozenset[Edge]:
        return Around(tuple(self.transmitters(topology))).pick(topology)

    def transmitters(self, topology: Topology) -> frozenset[int]:
        if topology.positions is None:
            raise ScenarioError(
                "within", topology.name, "its agents have no places",
                "a topology with positions: grid, torus, path, random geometric, or positions of your own",
            )  # fmt: skip
        places: list[list[float]] = topology.positions.tolist()
        return frozenset(i for i, place in enumerate(places) if math.dist(self.at, place) <= self.range)


@dataclass(frozen=True)
class Cut:
    """Every link between these agents and the rest: all that crosses a border. Not on radio."""

    agents: tuple[int, ...]

    def pick(self, topology: Topology) -> frozenset[Edge]:
        side = _known(self.agents, "cut", topology)
        if not 0 < len(side) < topology.agents:
            raise ScenarioError("cut", list(self.agents), "not one side of a cut", "some of the agents, not all")
        return frozenset((i, j) for i, j in topology.edges if (i in side) != (j in side))

    def transmitters(self, topology: Topology) -> frozenset[int]:  # noqa: ARG002
        raise ScenarioError(
            "cut", list(self.agents), "a cut is made of links, and radio has none", "around, within or random"
        )


@dataclass(frozen=True)
class RandomShare:
    """This share of the links, on radio of the agents (rounded to a whole number), drawn without replacement."""

    share: float
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ScenarioError("share", self.share, "a share", "0 <= share <= 1")

    def pick(self, topology: Topology) -> frozenset[Edge]:
        count = round(self.share * len(topology.edges))
        return frozenset(random.Random(self.seed).sample(topology.edges, count))

    def transmitters(self, topology: Topology) -> frozenset[int]:
        count = round(self.share * topology.agents)
        return frozenset(random.Random(self.seed).sample(range(topology.agents), count))


def _known(agents: Iterable[int], field: str, topology: Topology) -> frozenset[int]:
    for index, agent in enumerate(agents):
        if not 0 <= agent < topology.agents:
            raise ScenarioError(f"{field}[{index}]", agent, "no such agent", f"0 … {topology.agents - 1}")
    return frozenset(agents)
