"""What an algorithm is: a coroutine against the port, its conditions, and its privacy claim."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netsim.claims import Adjacency, Claim
from netsim.node import Node

if TYPE_CHECKING:
    from netsim.topology import Topology


@dataclass(frozen=True)
class Setting:
    """Public facts an algorithm's conditions and claim depend on.

    `smoothness[i]` is L_i, the Lipschitz constant of ∇f_i. `releases` is the largest number of times that one
    agent runs its mechanism: rounds, or the largest number of activations Θ (the papers' PLF). `topology` is the
    graph with its weights, None where nothing depends on it.
    """

    agents: int
    dimension: int
    smoothness: tuple[float, ...]
    releases: int = 0
    topology: "Topology | None" = None


@dataclass(frozen=True)
class Stopping:
    """When a walk without an end of its own is stopped: after so many activations in all, or of one agent."""

    activations: int | None = None
    per_agent: int | None = None

    @property
    def walks(self) -> bool:
        """Whether the algorithm is a walk, counted in activations, and not in rounds."""
        return bool(self.activations or self.per_agent)


@dataclass(frozen=True)
class Algorithm(ABC):
    """Frozen parameters and one coroutine. Everything in it is public: the adversary knows the protocol."""

    @abstractmethod
    async def run(self, node: Node) -> None:
        """What one agent does."""

    def check(self, setting: Setting) -> None:  # noqa: B027
        """Raise a `ScenarioError` (field relative to the algorithm) where a condition of its theory fails."""

    def stopping(self) -> Stopping:
        """For walks; an algorithm in rounds ends by itself."""
        return Stopping()

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim | None:  # noqa: ARG002
        """What its paper claims; None for an algorithm that claims nothing."""
        return None
