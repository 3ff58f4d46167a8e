"""Algorithm: a coroutine against the port, with its conditions, its privacy claim, and noise calibrated to it."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.optimize import brentq

from netsim.arrays import whole
from netsim.bounds import Count
from netsim.claims import Adjacency, Claim
from netsim.codecs import Codec
from netsim.errors import PrivacyError
from netsim.node import Node

if TYPE_CHECKING:
    from netsim.topology import Topology

_FARTHEST = 80
"""No noise is made more than 2^80 times as large, or as small."""
TOLERANCE = 1e-13
ROUNDING = float(np.finfo(np.float64).eps)


def noise_factor(claimed: Callable[[float], Claim | None], epsilon: float, delta: float) -> float:
    """The factor on the noise at which `claimed` says ε, for a formula that falls as the noise grows.

    You get a `PrivacyError` where nothing is claimed, a condition fails, or no factor up to 2^80 gives this ε.
    """
    if not (0 < epsilon < math.inf and 0 <= delta < 1):
        raise PrivacyError(f"cannot calibrate to ε = {epsilon:g}, δ = {delta:g}: need ε > 0 and 0 <= δ < 1")

    def excess(log_factor: float) -> float:
        claim = claimed(2.0**log_factor)
        if claim is None:
            raise PrivacyError("cannot calibrate: nothing is claimed")
        if claim.epsilon is None:
            raise PrivacyError(f"cannot calibrate: the claim is undefined ({'; '.join(claim.failed_conditions)})")
        return math.log(claim.epsilon / epsilon) if claim.epsilon > 0 else -math.inf

    first = claimed(1.0)
    if first is not None and first.epsilon:
        inverse = first.epsilon / epsilon  # exact where ε falls as 1/noise
        if abs(excess(math.log2(inverse))) <= 4 * ROUNDING:
            return inverse
    low = high = 0.0
    while excess(low) < 0 and low > -_FARTHEST:
        low -= 1
    while excess(high) > 0 and high < _FARTHEST:
        high += 1
    if excess(low) < 0 or excess(high) > 0:
        raise PrivacyError(f"cannot calibrate: no noise up to 2^±{_FARTHEST} times this gives ε = {epsilon:g}")
    if low == high:
        return 2.0**low
    return 2.0 ** float(brentq(lambda t: max(excess(t), -1e3), low, high, xtol=TOLERANCE, rtol=TOLERANCE))


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

    rounds: Count
    """How many rounds."""

    @property
    def horizon(self) -> int:
        return self.rounds

    def check(self, setting: Setting) -> None:  # noqa: ARG002
        """At least one round."""
        whole(self.rounds, "rounds", 1)
