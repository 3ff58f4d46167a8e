"""Conditions that algorithms which mix by W share, and Laplace noise on the one vector that they send."""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from netsim.algorithms.algorithm import InRounds, Setting
from netsim.arrays import Array
from netsim.bounds import Positive
from netsim.errors import ScenarioError
from netsim.mechanisms import Laplace
from netsim.schedules import Constant, Schedule, scaled

if TYPE_CHECKING:
    from netsim.topology import Topology


def silent() -> Schedule:
    """No noise in any round."""
    return Constant(0.0)


def half_apart(sent: Array, mixed: Array) -> Array:
    """((I − W)/2 v)_i from what was sent, v_i, and mixed, (W v)_i: I − W̃ = W̃ − W, with W̃ = (I + W)/2. It sums to zero
    over the agents."""
    return 0.5 * (sent - mixed)


def tracking_step(smoothness: float, topology: "Topology | None") -> float:
    """(1 + λ_min(W))²/(2L): from this step on gradient tracking swings ever wider where every f_i is L/2 ‖x‖².

    On the eigenvector of λ_min the step of DIGing has the characteristic polynomial z² − (2λ − αL)z + λ² − αL, and
    both its roots lie inside the unit circle where 2αL < (1 + λ)². Agents whose curvatures differ may need less, or
    stand more. Without a topology: 2/L, one agent alone.
    """
    return 2 / smoothness if topology is None else (1 + topology.least_eigenvalue) ** 2 / (2 * smoothness)


def check_smooth(setting: Setting, name: str) -> None:
    """r = 0: the algorithm has no proximal step."""
    if setting.regularized:
        allowed = "r = 0 (problem.l1: 0), or one that takes an r: pg_extra, nids, d_admm, ic_admm, walkman, recal, …"
        raise ScenarioError("", name, "has no proximal step, and the problem has r ≠ 0", allowed)


def check_steps(step: Schedule, rounds: int, setting: Setting) -> None:
    """Every step in (0, 2/L)."""
    bound = 2 / max(setting.smoothness)
    for k in range(rounds):
        if not 0 < step(k) < bound:
            raise ScenarioError("step", step(k), f"unstable at round {k}", f"0 < step < 2/L = {bound:.6g}")


def check_below(field: str, value: float, bound: float, condition: str) -> None:
    """0 < value < bound; `condition` says so in the paper's letters."""
    if not 0 < value < bound:
        problem = "outside the convergence condition" if math.isfinite(bound) else "not a step"
        raise ScenarioError(field, value, problem, condition + (f" = {bound:.6g}" if math.isfinite(bound) else ""))


def check_scale(field: str, scale: Schedule, rounds: int) -> None:
    """A schedule, finite and not negative in every round."""
    if not callable(scale):
        raise ScenarioError(field, scale, "not a schedule", "netsim.schedules.Constant, or any function of the round")
    for k in range(rounds):
        if not 0 <= scale(k) < math.inf:
            raise ScenarioError(field, scale(k), f"no scale, in round {k}", ">= 0 and finite")


def with_noise(text: str, noisy: bool) -> str:
    """A summary that says whether there is noise."""
    return f"{text.removesuffix('.')}, {'Laplace' if noisy else 'no'} noise on what is sent."


@dataclass(frozen=True)
class OneRelease(InRounds):
    """An algorithm whose agents send one vector a round, with Laplace noise."""

    step: Positive
    """α, the step size."""
    scale: Schedule = field(default_factory=silent)
    """The Laplace scale per coordinate of the k-th release, k = 0, 1, …"""

    @property
    def noisy(self) -> bool:
        return any(self.scale(k) > 0 for k in range(self.rounds))

    @property
    def summary(self) -> str:
        return with_noise(super().summary, self.noisy)

    def noise(self, k: int) -> Laplace:
        """Of the k-th release."""
        return Laplace(self.scale(k))

    def scaled(self, factor: float) -> Self:
        return replace(self, scale=scaled(self.scale, factor))

    def check(self, setting: Setting) -> None:
        """Rounds, and scales that are not negative."""
        super().check(setting)
        check_scale("scale", self.scale, self.rounds)
