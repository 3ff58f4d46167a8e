"""Which links an adversary taps, said by rule instead of one by one."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from netsim.errors import ScenarioError
from netsim.topology import Topology

Edge = tuple[int, int]


class Wiretaps(Protocol):
    """A rule that picks undirected links (i < j) of a graph, the same ones every time."""

    def pick(self, topology: Topology) -> frozenset[Edge]:
        """You get a `ScenarioError` for an agent that is not there."""
        ...


@dataclass(frozen=True)
class Around:
    """Every link of these agents: somebody at their access lines."""

    agents: tuple[int, ...]

    def pick(self, topology: Topology) -> frozenset[Edge]:
        chosen = _known(self.agents, "around", topology)
        return frozenset(edge for edge in topology.edges if not chosen.isdisjoint(edge))


@dataclass(frozen=True)
class Cut:
    """Every link between these agents and the rest: all that crosses a border."""

    agents: tuple[int, ...]

    def pick(self, topology: Topology) -> frozenset[Edge]:
        side = _known(self.agents, "cut", topology)
        if not 0 < len(side) < topology.agents:
            raise ScenarioError("cut", list(self.agents), "not one side of a cut", "some of the agents, not all")
        return frozenset((i, j) for i, j in topology.edges if (i in side) != (j in side))


@dataclass(frozen=True)
class RandomShare:
    """This share of the links (rounded to a whole number of them), drawn without replacement by `seed`."""

    share: float
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ScenarioError("share", self.share, "a share of the links", "0 <= share <= 1")

    def pick(self, topology: Topology) -> frozenset[Edge]:
        count = round(self.share * len(topology.edges))
        return frozenset(random.Random(self.seed).sample(topology.edges, count))


def _known(agents: Iterable[int], field: str, topology: Topology) -> frozenset[int]:
    for index, agent in enumerate(agents):
        if not 0 <= agent < topology.agents:
            raise ScenarioError(f"{field}[{index}]", agent, "no such agent", f"0 … {topology.agents - 1}")
    return frozenset(agents)
