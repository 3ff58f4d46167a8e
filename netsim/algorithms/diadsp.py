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
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt, Lt

from netsim.algorithms.algorithm import Setting, unmet
from netsim.algorithms.gradient_tracking import diging
from netsim.algorithms.mixing import LaplaceInRounds, check_smooth, tracking_step
from netsim.bounds import Auto, NonNegative, Positive, check
from netsim.claims import Adjacency, Claim
from netsim.node import Node
from netsim.schedules import Geometric


@dataclass(frozen=True)
class DecayingNoise(LaplaceInRounds):
    """Gradient tracking with Laplace noise of scales d_x q^k and d_y q^k per coordinate in round k = 0, 1, …"""

    step: Positive
    """α, the step size."""
    scale_x: NonNegative
    """d_x, the Laplace scale of the noise on x at k = 0."""
    scale_y: NonNegative
    """d_y, the Laplace scale of the noise on the tracked gradient y at k = 0."""
    ratio: Annotated[float, Gt(0), Lt(1)]
    """q, by what the noise is multiplied from one round to the next."""

    noise_fields = ("scale_x", "scale_y")

    @property
    def noise_x(self) -> Geometric:
        """The Laplace scale on x by round."""
        return Geometric(self.scale_x, self.ratio)

    @property
    def noise_y(self) -> Geometric:
        """The Laplace scale on y by round."""
        return Geometric(self.scale_y, self.ratio)

    def check(self, setting: Setting) -> None:
        """r = 0, a step that is positive, noise that decays.

        The step has no bound here: the theorem's is conservative, and the paper's own experiments lie outside it.
        """
        super().check(setting)
        check_smooth(setting, type(self).__name__)
        check(self)

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del delta  # pure ε: holds with δ = 0, so with any δ
        slope, q = self.step * max(setting.smoothness), self.ratio
        least = (slope + math.sqrt(slope**2 + 4 * slope)) / 2
        failed = unmet(
            (self.scale_x != 0, "d_x = 0: no noise"),
            (self.scale_y != 0, "d_y = 0: no noise"),
            (slope < 0.5, f"αL = {slope:.6g} is not below 1/2"),
            (q > least, f"q = {q:.6g} is not above (αL + √(α²L² + 4αL))/2 = {least:.6g}"),
            (math.isfinite(adjacency.gradient_change), "the change of a gradient has no finite bound δ"),
            (adjacency.constant, "Assumption 4: adjacent gradients differ by more than a constant vector"),
        )
        epsilon = None
        if not failed:
            tau = self.step / self.scale_x + 1 / self.scale_y
            epsilon = tau * q**2 * adjacency.gradient_change / (q**2 - slope - q * slope)
        source = "CPGT, eq. 23 (gradients that differ by a constant vector)"
        return Claim(epsilon, 0.0, source, adjacency, "ℓ2", failed)


@dataclass(frozen=True)
class DiaDSP(DecayingNoise):
    """DiaDSP: gradient tracking in rounds with decaying noise.

    Minimizes Σ f_i up to the sum of its noise on y.
    """

    step: Annotated[Positive, Auto("(1 + λ_min(W))²/(4L)", lambda at: tracking_step(at.smoothness, at.topology) / 2)]

    async def run(self, node: Node) -> None:
        await diging(node, self.rounds, self.step, self.noise_x, self.noise_y)
