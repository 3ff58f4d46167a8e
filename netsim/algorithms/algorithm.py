"""What an algorithm is: a coroutine against the port, its conditions, and its privacy claim."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from netsim.algorithms.calibration import noise_factor
from netsim.checks import whole
from netsim.claims import Adjacency, Claim
from netsim.codecs import Codec
from netsim.errors import PrivacyError
from netsim.node import Node

if TYPE_CHECKING:
    from netsim.topology import Topology


@dataclass(frozen=True)
class Setting:
    """Public facts an algorithm's conditions and claim depend on.

    `smoothness[i]` is L_i, the Lipschitz constant of ∇f_i, `strong_convexity[i]` its μ_i ≥ 0, `weak_convexity[i]` the
    ρ_i ≥ 0 for which f_i + ρ_i/2 ‖x‖² is convex (none named: all f_i are convex) and `records[i]` how many records
    its mean runs over. L_i, μ_i and ρ_i are taken to hold for both objectives of an adjacent pair. `releases` is the
    largest number of times that one agent runs its mechanism: rounds, or the largest number of activations Θ (the
    papers' PLF). `topology` is the graph with its weights, None where nothing depends on it. `regularized`: there is
    an r ≠ 0.
    """

    agents: int
    dimension: int
    smoothness: tuple[float, ...]
    releases: int = 0
    topology: "Topology | None" = None
    strong_convexity: tuple[float, ...] = ()
    records: tuple[int, ...] = ()
    regularized: bool = False
    weak_convexity: tuple[float, ...] = ()

    def loosened(self, bending: float) -> Self:
        """The same where every L_i may be larger by `bending`."""
        return self if bending == 0 else replace(self, smoothness=tuple(L + bending for L in self.smoothness))


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

    @property
    def horizon(self) -> int | None:
        """How often one agent acts at most: rounds, or its activations. None where only chance ends it."""
        return self.stopping().per_agent

    @property
    def summary(self) -> str:
        """One sentence for a reader of results: the first line of the class's docstring, unless it says more."""
        return (type(self).__doc__ or type(self).__name__).strip().splitlines()[0]

    @property
    def codec(self) -> Codec | None:
        """What the algorithm itself makes of its vectors on the wire (a compressor); None: what the network has."""
        return None

    @property
    def needs_all_messages(self) -> bool:
        """Whether nothing can stand in for a message of an exchange: then its exchanges may have no deadline."""
        return False

    @property
    def noisy(self) -> bool:
        """Whether its agents add any randomness to what they release."""
        return False

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim | None:  # noqa: ARG002
        """What its paper claims; None for an algorithm that claims nothing."""
        return None

    def scaled(self, factor: float) -> Self:
        """The same algorithm with all its noise `factor` times as large; a `PrivacyError` if it has none."""
        raise PrivacyError(f"{type(self).__name__} has no noise to scale by {factor:g}")

    def calibrated(self, epsilon: float, delta: float, adjacency: Adjacency, setting: Setting) -> Self:
        """The same algorithm with the noise at which its paper claims (ε, δ) for `setting.releases` releases.

        Its noise keeps its shape over time: one factor multiplies all of it. You get a `PrivacyError` where the
        claim is undefined, where there is no noise to scale, or where no amount of it gives this ε.
        """

        def claimed(factor: float) -> Claim | None:
            return self.scaled(factor).claim(adjacency, setting, delta)

        return self.scaled(noise_factor(claimed, epsilon, delta))


@dataclass(frozen=True)
class InRounds(Algorithm):
    """An algorithm whose agents all do the same so many `rounds`."""

    rounds: int

    @property
    def horizon(self) -> int:
        return self.rounds

    def check(self, setting: Setting) -> None:  # noqa: ARG002
        """At least one round."""
        whole(self.rounds, "rounds", 1)
