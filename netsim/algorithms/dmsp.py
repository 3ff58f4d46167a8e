"""DMSP: distributed subgradients with decaying Laplace noise, the gradient taken at the mixed point.

In round k = 0, 1, … with x⁰ the public point of X nearest to 0, every agent i

    y  = x + w,  w ~ Lap(b p^k) per coordinate         1    y goes to the neighbors
    z  = Σ_j w_ij y_j                                  2    its own noisy y among them
    x⁺ = Proj_X(z − c q^k ∇f_i(z))                     3

with 0 < q < p < 1 and X convex and bounded, the same at all agents and public.

Source: Z. Huang, S. Mitra, N. Vaidya, Differentially private distributed optimization, ICDCN 2015. Condition: steps
in (0, 2/L). A probe inverts it where the projection does nothing.

Claim: composition of the Laplace mechanism with the paper's sensitivity 2C₂√n c q^k of x^{k+1} in ℓ1 (n is the
dimension, C₂ bounds ‖∇f_i‖₂ on X, so 2C₂ the change of a gradient: `Adjacency.gradient_change`). Given what was sent
before, x^{k+1} depends on the private objective through one gradient at the known z, and Proj_X does not lengthen ℓ2
distances. x^{k+1} is covered by the noise of round k + 1, and x⁰ is public:

    ε = Σ_{k=0}^{K−2} 2C₂√n c q^k/(b p^{k+1})  →  2C₂√n c/(b(p − q))  for K → ∞.

The paper prints a bound of the same order; its constant depends on which round's noise covers which gradient, and the
one here is what these indices give. Holds for any change of one agent's objective whose gradients change by at most
that much.

What is true of it: steps that shrink geometrically move an agent by at most C₂ c/(1 − q) in all rounds together, so
it stops short of the optimum even without noise. A step that sums to infinity gets there; the limit of ε is then
infinite.
"""

import math
from dataclasses import dataclass
from typing import Annotated

from netsim.algorithms.algorithm import InRounds, Setting, silent_release, unmet
from netsim.algorithms.mixing import check_smooth
from netsim.bounds import Auto
from netsim.claims import Adjacency, Claim
from netsim.mechanisms import Laplace
from netsim.models.model import Ball, Box
from netsim.node import Node
from netsim.schedules import SILENT, Geometric, Schedule


@dataclass(frozen=True)
class Dmsp(InRounds):
    """DMSP: mix noisy states, then a projected gradient step at the mixed point. The paper's `step` c·q^k and
    `scale` b·p^k are geometric with 0 < q < p < 1.
    """

    step: Annotated[Schedule, Auto("c = 1/L and q = 0.9", lambda at: Geometric(1 / at.smoothness, 0.9))]
    """c q^k, the step size by round."""
    domain: Ball | Box
    """X, the set that x stays in."""
    scale: Schedule = SILENT
    """b p^k, the Laplace scale per coordinate, by round."""

    noise_fields = ("scale",)
    stackable = True

    async def run(self, node: Node) -> None:
        x = self.domain.project(node.zeros())
        for k in range(self.rounds):
            received = await node.exchange(y=node.privatize(x, Laplace(self.scale(k))))  # 1
            z = received.mix("y")  # 2
            x = self.domain.project(z - self.step(k) * await node.gradient(z))  # 3
            node.estimate(x)

    @property
    def summary(self) -> str:
        noise = "Laplace" if self.noisy else "no"
        return f"DMSP: projected gradient steps at the mixed point, {noise} noise on what is sent."

    def check(self, setting: Setting) -> None:
        """Steps in (0, 2/L), r = 0."""
        super().check(setting)
        self._check_steps(self.step, 2 / max(setting.smoothness), "0 < step < 2/L")
        check_smooth(setting, "DMSP")

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del delta  # pure ε
        change = math.sqrt(setting.dimension) * adjacency.gradient_change
        silent = silent_release(self.scale, range(1, self.rounds))
        failed = unmet(
            (silent < 0, f"round {silent} has no noise"),
            (math.isfinite(change), "the change of a gradient has no finite bound 2C₂"),
        )
        terms = (change * self.step(k) / self.scale(k + 1) for k in range(self.rounds - 1))
        source = "composition of the Laplace mechanism with the sensitivity of Huang, Mitra, Vaidya 2015"
        return Claim(None if failed else math.fsum(terms), 0.0, source, adjacency, "ℓ1", failed)

    def limit(self, adjacency: Adjacency, setting: Setting) -> float:
        """What the claim tends to as rounds go on: 2C₂√n c/(b(p − q)); infinite unless q < p, or for other shapes."""
        step, scale = self.step, self.scale
        if not isinstance(step, Geometric) or not isinstance(scale, Geometric) or step.ratio >= scale.ratio:
            return math.inf
        change = math.sqrt(setting.dimension) * adjacency.gradient_change
        return change * step.first / (scale.first * (scale.ratio - step.ratio))
