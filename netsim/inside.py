"""What an agent knows of itself. An adversary that is one of the agents, or several, has this of its members only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from netsim.arrays import Array


class Query(NamedTuple):
    """One private gradient: ∇f_agent(point) = gradient, both (replicas, dimension)."""

    time: float
    point: Array
    gradient: Array


class Oracles(Protocol):
    """A private objective, as far as an agent asks it."""

    def gradient(self, x: Array) -> Array: ...

    def proximal(self, v: Array, step: float) -> Array: ...


@dataclass(frozen=True)
class Inside:
    """One insider's private state: its objective, all it asked of it, and what its `privatize` calls returned."""

    objective: Oracles
    queries: Sequence[Query]
    releases: Sequence[Array]
