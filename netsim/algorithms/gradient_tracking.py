"""Gradient tracking: beside x every agent keeps y, which tracks the mean gradient.

With y = ∇f(x) and x = 0 at first, w and e being noise, a round is

    DIGing   send x̃ = x + w, ỹ = y + e                   1
             x⁺ = W x̃ − αy                               2
             y⁺ = W ỹ + ∇f(x⁺) − ∇f(x)                   3
    ATC      send x̃ = x − αy + w;  x⁺ = W x̃              1, 2    adapt, then combine
             send ỹ = y + ∇f(x⁺) − ∇f(x) + e;  y⁺ = W ỹ  3

DIGing sends both vectors in one message, ATC makes two exchanges a round. An agent mixes its own noisy vectors too;
−αy and the gradients are exact. Law: Σ_i y_i^k = Σ_i ∇f_i(x_i^k) + Σ_{t<k} Σ_i e_i^t. So noise on x that dies out
leaves the limit where it was, and noise on y moves it: to where Σ_i ∇f_i = −ΣΣ e.

Source: Nedić, Olshevsky, Shi 2017 (DIGing); Xu, Zhu, Soh, Xie 2015 and Di Lorenzo, Scutari 2016 (ATC). The papers
have no noise; `DiaDSP` is DIGing with noise that decays. Convergence is proven for steps that are small enough; the
bound that is checked is the one past which agents of equal curvature L diverge (`tracking_step`; ATC: below).

No claim: y holds all differences of gradients so far; see `DiaDSP` for what is claimed where noise decays.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal, Self, get_args

from netsim.algorithms.algorithm import InRounds, Setting
from netsim.algorithms.mixing import check_below, check_scale, check_smooth, silent, tracking_step, with_noise
from netsim.arrays import unknown
from netsim.bounds import Auto, Positive
from netsim.mechanisms import Laplace
from netsim.node import Node
from netsim.schedules import Schedule, scaled

if TYPE_CHECKING:
    from netsim.topology import Topology

Variant = Literal["diging", "atc"]
Noise = Callable[[int], Laplace]
"""The mechanism of round k."""


async def diging(node: Node, rounds: int, step: float, noise_x: Noise, noise_y: Noise) -> None:
    """One agent of DIGing."""
    x = node.zeros()
    gradient = y = await node.gradient(x)
    for k in range(rounds):
        received = await node.exchange(x=node.privatize(x, noise_x(k)), y=node.privatize(y, noise_y(k)))  # 1
        x = received.mix("x") - step * y  # 2
        before, gradient = gradient, await node.gradient(x)
        y = received.mix("y") + gradient - before  # 3
        node.estimate(x)


async def adapt_then_combine(node: Node, rounds: int, step: float, noise_x: Noise, noise_y: Noise) -> None:
    """One agent of the ATC variant."""
    x = node.zeros()
    gradient = y = await node.gradient(x)
    for k in range(rounds):
        received = await node.exchange(x=node.privatize(x - step * y, noise_x(k)))  # 1
        x = received.mix("x")  # 2
        before, gradient = gradient, await node.gradient(x)
        received = await node.exchange(y=node.privatize(y + gradient - before, noise_y(k)))
        y = received.mix("y")  # 3
        node.estimate(x)


@dataclass(frozen=True)
class GradientTracking(InRounds):
    """Gradient tracking in rounds, with Laplace noise on x and on the tracked gradient y. Minimizes Σ f_i."""

    step: Annotated[
        Positive,
        Auto(
            "half of the bound that is checked, (1 + λ_min(W))²/(4L) for DIGing",
            lambda at: {"diging": tracking_step, "atc": adapted_step}[at.variant](at.smoothness, at.topology) / 2,
        ),
    ]
    """α, the step size."""
    scale_x: Schedule = field(default_factory=silent)
    """The Laplace scale of the noise on x, per coordinate and round."""
    scale_y: Schedule = field(default_factory=silent)
    """The Laplace scale of the noise on the tracked gradient y, per coordinate and round."""
    variant: Variant = "diging"
    """ "diging" sends both in one message, "atc" (adapt, then combine) makes two exchanges a round."""

    async def run(self, node: Node) -> None:
        one = diging if self.variant == "diging" else adapt_then_combine
        await one(node, self.rounds, self.step, self.noise_x, self.noise_y)

    def noise_x(self, k: int) -> Laplace:
        """On x in round k."""
        return Laplace(self.scale_x(k))

    def noise_y(self, k: int) -> Laplace:
        """On y in round k."""
        return Laplace(self.scale_y(k))

    @property
    def noisy(self) -> bool:
        return any(self.scale_x(k) > 0 or self.scale_y(k) > 0 for k in range(self.rounds))

    @property
    def summary(self) -> str:
        name = "DIGing" if self.variant == "diging" else "adapt, then combine"
        return with_noise(f"Gradient tracking in rounds ({name})", self.noisy)

    def scaled(self, factor: float) -> Self:
        return replace(self, scale_x=scaled(self.scale_x, factor), scale_y=scaled(self.scale_y, factor))

    def check(self, setting: Setting) -> None:
        """r = 0, steps at which agents of equal curvature L are stable, scales that are not negative."""
        super().check(setting)
        check_smooth(setting, "gradient tracking")
        if self.variant not in get_args(Variant):
            raise unknown("variant", self.variant, get_args(Variant))
        smoothness = max(setting.smoothness)
        if self.variant == "diging":
            bound = tracking_step(smoothness, setting.topology)
            check_below("step", self.step, bound, "0 < α < (1 + λ_min(W))²/(2L)")
        else:
            bound = adapted_step(smoothness, setting.topology)
            check_below("step", self.step, bound, "0 < α < min(2, (1 + 1/λ_min(W))²/2)/L")
        check_scale("scale_x", self.scale_x, self.rounds)
        check_scale("scale_y", self.scale_y, self.rounds)


def adapted_step(smoothness: float, topology: "Topology | None") -> float:
    """min(2, (1 + 1/λ_min(W))²/2)/L, the second where λ_min < 0: ATC's `tracking_step`.

    On the eigenvector of λ a round has the characteristic polynomial z² − (2λ − λ²αL)z + λ²(1 − αL).
    """
    least = 1.0 if topology is None else topology.least_eigenvalue
    swing = (1 + 1 / least) ** 2 / 2 if least < 0 else math.inf
    return min(2.0, swing) / smoothness
