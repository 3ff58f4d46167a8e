"""DiaDSP: gradient tracking with Laplace noise that decays, so that the sum of all noise is finite.

    x^a = x + Lap(d_x q^k),  y^a = y + Lap(d_y q^k)       are sent
    x⁺ = W x^a − αy
    y⁺ = W y^a + ∇f(x⁺) − ∇f(x),  y⁰ = ∇f(x⁰)

It converges linearly to a point x^∞ that is not the optimum: Σ_i ∇f_i(x^∞) = −ΣΣ η_y, the sum of all the noise that
was ever put on any y. Source: Ding, Zhu, He, Chen, Guan 2021 (the form is sure). The claim is as the CPGT paper has
it, eq. 23, for two objectives of one agent whose gradients differ by a constant vector (Assumption 4), ‖·‖₂ ≤ δ:

    ε = τ q² δ/(q² − αL − qαL),  τ = α/d_x + 1/d_y,  if αL < ½ and q > (αL + √(α²L² + 4αL))/2.

What is known of it: y⁰ changes by δ, x^{k+1} by α times what y^k changes by, y^{k+1} by at most L times what x^{k+1}
and x^k change by together; dividing by the scales and summing gives a geometric series.
- x^{k+1} is sent under d_x q^{k+1}, while y^k was under d_y q^k: the sum has α/(q d_x) in place of the α/d_x of τ.
  Scalar quadratics of curvature L attain it, so the claim is broken by up to 1/q where d_x is the smaller noise.
- δ is an ℓ2 norm and Laplace noise protects ℓ1 distances: the claim is broken by up to ≈ √d, by a change that is
  equally large in all coordinates.
- Where gradients differ by more than a constant vector (one record replaced, say) it says nothing.
"""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Self

from annotated_types import Gt, Lt

from netsim.algorithms.algorithm import InRounds, Setting
from netsim.algorithms.gradient_tracking import diging
from netsim.algorithms.mixing import check_below, check_smooth, tracking_step, with_noise
from netsim.bounds import Auto, NonNegative, Positive
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.mechanisms import Laplace
from netsim.node import Node

SOURCE = "CPGT, eq. 23 (gradients that differ by a constant vector)"


@dataclass(frozen=True)
class DecayingNoise(InRounds):
    """Gradient tracking with Laplace noise of scales d_x q^k and d_y q^k per coordinate in round k = 0, 1, …"""

    step: Positive
    """α, the step size."""
    scale_x: NonNegative
    """d_x, the Laplace scale of the noise on x at k = 0."""
    scale_y: NonNegative
    """d_y, the Laplace scale of the noise on the tracked gradient y at k = 0."""
    ratio: Annotated[float, Gt(0), Lt(1)]
    """q, by what the noise is multiplied from one round to the next."""

    def noise_x(self, k: int) -> Laplace:
        """On x in round k."""
        return Laplace(self.scale_x * self.ratio**k)

    def noise_y(self, k: int) -> Laplace:
        """On y in round k."""
        return Laplace(self.scale_y * self.ratio**k)

    @property
    def noisy(self) -> bool:
        return self.scale_x > 0 or self.scale_y > 0

    @property
    def summary(self) -> str:
        return with_noise(super().summary, self.noisy)

    def scaled(self, factor: float) -> Self:
        return replace(self, scale_x=factor * self.scale_x, scale_y=factor * self.scale_y)

    def check(self, setting: Setting) -> None:
        """r = 0, a step that is positive, noise that decays.

        The step has no bound here: the theorem's is conservative, and the paper's own experiments lie outside it.
        """
        super().check(setting)
        check_smooth(setting, type(self).__name__)
        check_below("step", self.step, math.inf, "> 0 and finite")
        for name, scale in (("scale_x", self.scale_x), ("scale_y", self.scale_y)):
            if not 0 <= scale < math.inf:
                raise ScenarioError(name, scale, "no scale", ">= 0 and finite")
        if not 0 < self.ratio < 1:
            raise ScenarioError("ratio", self.ratio, "the noise has to decay", "0 < q < 1")

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del delta  # pure ε: holds with δ = 0, so with any δ
        failed = self._failed(adjacency, setting)
        epsilon = None
        if not failed:
            slope, q = self.step * max(setting.smoothness), self.ratio
            tau = self.step / self.scale_x + 1 / self.scale_y
            epsilon = tau * q**2 * adjacency.gradient_change / (q**2 - slope - q * slope)
        return Claim(epsilon, 0.0, SOURCE, adjacency, "ℓ2", tuple(failed))

    def _failed(self, adjacency: Adjacency, setting: Setting) -> list[str]:
        slope = self.step * max(setting.smoothness)
        least = (slope + math.sqrt(slope**2 + 4 * slope)) / 2
        failed = [f"{name} = 0: no noise" for name, d in (("d_x", self.scale_x), ("d_y", self.scale_y)) if d == 0]
        if not slope < 0.5:
            failed.append(f"αL = {slope:.6g} is not below 1/2")
        if not self.ratio > least:
            failed.append(f"q = {self.ratio:.6g} is not above (αL + √(α²L² + 4αL))/2 = {least:.6g}")
        if not math.isfinite(adjacency.gradient_change):
            failed.append("the change of a gradient has no finite bound δ")
        if not adjacency.constant:
            failed.append("Assumption 4: adjacent gradients differ by more than a constant vector")
        return failed


@dataclass(frozen=True)
class DiaDSP(DecayingNoise):
    """DiaDSP: gradient tracking in rounds with decaying noise.

    Minimizes Σ f_i up to the sum of its noise on y.
    """

    step: Annotated[Positive, Auto("(1 + λ_min(W))²/(4L)", lambda at: tracking_step(at.smoothness, at.topology) / 2)]

    async def run(self, node: Node) -> None:
        await diging(node, self.rounds, self.step, self.noise_x, self.noise_y)
