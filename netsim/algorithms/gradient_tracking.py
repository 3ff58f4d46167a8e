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
bound that is checked is the one past which agents of equal curvature L diverge (`tracking_step`; ATC: below), for
DIGing (1 + λ_min(W))²/(2L).

No claim: y holds all differences of gradients so far; see `DiaDSP` for what is claimed where noise decays.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from netsim.algorithms.algorithm import Setting
from netsim.algorithms.mixing import LaplaceInRounds, check_below, check_smooth, tracking_step
from netsim.arrays import Array, unknown
from netsim.bounds import Auto, Positive
from netsim.mechanisms import Laplace
from netsim.node import Node
from netsim.schedules import SILENT, Schedule

if TYPE_CHECKING:
    from netsim.topology import Topology

Variant = Literal["diging", "atc"]


async def diging(
    node: Node, rounds: int, step: float, scale_x: Schedule, scale_y: Schedule, start: Array | None = None
) -> None:
    """One agent of DIGing from `start` (none: 0), under Laplace noise of these scales by round."""
    x = node.zeros() if start is None else start
    gradient = y = await node.gradient(x)
    for k in range(rounds):
        noisy_x, noisy_y = node.privatize(x, Laplace(scale_x(k))), node.privatize(y, Laplace(scale_y(k)))
        received = await node.exchange(x=noisy_x, y=noisy_y)  # 1
        x = received.mix("x") - step * y  # 2
        before, gradient = gradient, await node.gradient(x)
        y = received.mix("y") + gradient - before  # 3
        node.estimate(x)


@dataclass(frozen=True)
class GradientTracking(LaplaceInRounds):
    """Gradient tracking in rounds, with Laplace noise on x and on the tracked gradient y. Minimizes Σ f_i."""

    step: Annotated[
        Positive,
        Auto(
            "half of the bound that is checked, (1 + λ_min(W))²/(4L) for DIGing",
            lambda at: {"diging": tracking_step, "atc": adapted_step}[at.variant](at.smoothness, at.topology) / 2,
        ),
    ]
    """α, the step size."""
    scale_x: Schedule = SILENT
    """The Laplace scale of the noise on x, per coordinate and round."""
    scale_y: Schedule = SILENT
    """The Laplace scale of the noise on the tracked gradient y, per coordinate and round."""
    variant: Variant = "diging"
    """ "diging" sends both in one message, "atc" (adapt, then combine) makes two exchanges a round."""

    noise_fields = ("scale_x", "scale_y")
    stackable = True

    async def run(self, node: Node) -> None:
        if self.variant == "diging":
            await diging(node, self.rounds, self.step, self.scale_x, self.scale_y)
            return
        x = node.zeros()
        gradient = y = await node.gradient(x)
        for k in range(self.rounds):
            received = await node.exchange(x=node.privatize(x - self.step * y, Laplace(self.scale_x(k))))  # 1
            x = received.mix("x")  # 2
            before, gradient = gradient, await node.gradient(x)
            received = await node.exchange(y=node.privatize(y + gradient - before, Laplace(self.scale_y(k))))
            y = received.mix("y")  # 3
            node.estimate(x)

    @property
    def summary(self) -> str:
        name = "DIGing" if self.variant == "diging" else "adapt, then combine"
        return f"Gradient tracking in rounds ({name}), {'Laplace' if self.noisy else 'no'} noise on what is sent."

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


def adapted_step(smoothness: float, topology: "Topology | None") -> float:
    """min(2, (1 + 1/λ_min(W))²/2)/L, the second where λ_min < 0: ATC's `tracking_step`.

    On the eigenvector of λ a round has the characteristic polynomial z² − (2λ − λ²αL)z + λ²(1 − αL).
    """
    least = 1.0 if topology is None else topology.least_eigenvalue
    swing = (1 + 1 / least) ** 2 / 2 if least < 0 else math.inf
    return min(2.0, swing) / smoothness
