"""DiaDSP: gradient tracking with Laplace noise that decays, so that the sum of all noise is finite.

    x^a = x + Lap(d_x q^k),  y^a = y + Lap(d_y q^k)       are sent; d_x, d_y and q may be each agent's own
    x⁺ = W x^a − αy
    y⁺ = W y^a + ∇f(x⁺) − ∇f(x),  y⁰ = ∇f(x⁰)

It converges linearly to a point x^∞ that is not the optimum: Σ_i ∇f_i(x^∞) = −ΣΣ η_y, the sum of all the noise that
was ever put on any y. Source: Ding, Zhu, He, Chen, Guan 2021 (the form is sure). No bound on the step is checked: the
theorem's is conservative.

Claim (CPGT paper, eq. 23), for two objectives of one agent whose gradients differ by a constant vector (Assumption
4), ‖·‖₂ ≤ δ:

    ε = τ q² δ/(q² − αL − qαL),  τ = α/d_x + 1/d_y,  if αL < ½ and q > (αL + √(α²L² + 4αL))/2.

Theorem 2 has Assumption 1 too: every f_i is strongly convex. Where agents have their own d_x, d_y and q, each has an
ε of its own, and the claim for whichever agent differs is the largest. (That paper's Notation has E(x²) = θ² for
x ~ Lap(θ); it is 2θ². Nothing here rests on it.)

What is known of it: y⁰ changes by δ, x^{k+1} by α times what y^k changes by, y^{k+1} by at most L times what x^{k+1}
and x^k change by together; dividing by the scales and summing gives a geometric series.

- x^{k+1} is sent under d_x q^{k+1}, while y^k was under d_y q^k: the sum has α/(q d_x) in place of the α/d_x of τ.
  Scalar quadratics of curvature L attain it, so the claim is broken by up to 1/q where d_x is the smaller noise.
- δ is an ℓ2 norm and Laplace noise protects ℓ1 distances: the claim is broken by up to ≈ √d, by a change that is
  equally large in all coordinates.
- Where gradients differ by more than a constant vector (one record replaced, say) it says nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt, Lt

from netsim.algorithms.algorithm import Factors, Setting, unmet
from netsim.algorithms.gradient_tracking import diging
from netsim.algorithms.mixing import LaplaceInRounds, check_smooth, drawn_start, tracking_step
from netsim.arrays import Array
from netsim.bounds import Auto, NonNegative, Positive, check
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.mechanisms import Laplace
from netsim.node import Node
from netsim.schedules import Geometric

SPENT = 1e-16
"""A share of its first scale: noise below it no longer moves the limit."""
FURTHER = 10_000
"""So many rounds beyond the last are looked at for noise that moves the limit, at most."""


@dataclass(frozen=True)
class DecayingNoise(LaplaceInRounds):
    """Gradient tracking with Laplace noise of scales d_x q^k and d_y q^k per coordinate in round k = 0, 1, …

    Every agent may have d_x, d_y and q of its own, all of them public.
    """

    step: Positive
    """α, the step size."""
    scale_x: NonNegative
    """d_x, the Laplace scale of the noise on x at k = 0."""
    scale_y: NonNegative
    """d_y, the Laplace scale of the noise on the tracked gradient y at k = 0."""
    ratio: Annotated[float, Gt(0), Lt(1)]
    """q, by what the noise is multiplied from one round to the next."""

    _: KW_ONLY
    agent_scale_x: Factors = ()
    """By what `scale_x` is multiplied at each agent, for its own d_x; none: by 1 at all."""
    agent_scale_y: Factors = ()
    """By what `scale_y` is multiplied at each agent, for its own d_y; none: by 1 at all."""
    agent_ratio: Factors = ()
    """By what `ratio` is multiplied at each agent, for its own q < 1; none: by 1 at all."""
    start: NonNegative = 0.0
    """Each coordinate of x(0) is uniform on [0, start], by its agent's private coins (an audit's adversary knows
    them); 0: x(0) = 0."""

    noise_fields = ("scale_x", "scale_y")
    limit_of_noise = True

    def noise_x(self, agent: int) -> Geometric:
        """The Laplace scale on an agent's x by round."""
        return self._noise(self.scale_x, self.agent_scale_x, agent)

    def noise_y(self, agent: int) -> Geometric:
        """The Laplace scale on an agent's y by round."""
        return self._noise(self.scale_y, self.agent_scale_y, agent)

    def _noise(self, scale: float, factors: Factors, agent: int) -> Geometric:
        return Geometric(scale * (factors[agent] if factors else 1.0), self.ratios[agent if self.agent_ratio else 0])

    @property
    def ratios(self) -> tuple[float, ...]:
        """q_i of the agents; one for all of them where they are alike."""
        return tuple(self.ratio * factor for factor in self.agent_ratio) or (self.ratio,)

    def limit_offset(self, noise: Sequence[np.random.Generator], shape: tuple[int, int]) -> Array:
        """ΣΣ η_y, drawn again from the agents' streams as `run` draws it; and what a longer run would draw, until a
        scale is `SPENT`, but of `FURTHER` rounds beyond the last at most."""
        total, zeros = np.zeros(shape), np.zeros(shape)
        for agent, rng in enumerate(noise):
            scale_x, scale_y = self.noise_x(agent), self.noise_y(agent)
            spent = math.ceil(math.log(SPENT) / math.log(scale_y.ratio))
            for k in range(max(self.rounds, min(self.rounds + FURTHER, spent))):
                for scale, counts in ((scale_x(k), 0.0), (scale_y(k), 1.0)):
                    if not (law := Laplace(scale)).noiseless:
                        total += counts * law.release(zeros, rng)
        return total

    def check(self, setting: Setting) -> None:
        """r = 0, a step that is positive, noise that decays, and as many parameters of agents as agents.

        The step has no bound here: the theorem's is conservative, and the paper's own experiments lie outside it.
        """
        super().check(setting)
        check_smooth(setting, type(self).__name__)
        check(self)
        self._check_factors(("agent_scale_x", "agent_scale_y", "agent_ratio"), setting.agents)
        if max(self.ratios) >= 1:
            raise ScenarioError("agent_ratio", max(self.ratios), "noise that does not decay", "ratio · factor < 1")

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del delta  # pure ε: holds with δ = 0, so with any δ
        slope = self.step * max(setting.smoothness)
        q = min(self.ratios)
        least = (slope + math.sqrt(slope**2 + 4 * slope)) / 2
        failed = unmet(
            (self.scale_x != 0, "d_x = 0: no noise"),
            (self.scale_y != 0, "d_y = 0: no noise"),
            (slope < 0.5, f"αL = {slope:.6g} is not below 1/2"),
            (q > least, f"q = {q:.6g} is not above (αL + √(α²L² + 4αL))/2 = {least:.6g}"),
            (math.isfinite(adjacency.gradient_change), "the change of a gradient has no finite bound δ"),
            strongly_convex(setting),
            (adjacency.constant, "Assumption 4: adjacent gradients differ by more than a constant vector"),
        )
        epsilon = None
        if not failed:
            epsilon = max(self._epsilon(agent, slope, adjacency.gradient_change) for agent in range(setting.agents))
        source = "CPGT, eq. 23 (gradients that differ by a constant vector)"
        return Claim(epsilon, 0.0, source, adjacency, "ℓ2", failed, coins="known")

    def _epsilon(self, agent: int, slope: float, change: float) -> float:
        """Eq. 23 for the agent i_0 whose gradient changes."""
        x, y = self.noise_x(agent), self.noise_y(agent)
        tau, q = self.step / x.first + 1 / y.first, y.ratio
        return tau * q**2 * change / (q**2 - slope - q * slope)


def strongly_convex(setting: Setting) -> tuple[bool, str]:
    """Assumption 1 of the CPGT paper, and the sentence that says where it fails."""
    flat = [agent for agent in range(setting.agents) if not setting.convexity(agent) > 0]
    whose = "no f_i is" if len(flat) == setting.agents else f"f_i of {', '.join(map(str, flat[:8]))} is not"
    return not flat, f"Assumption 1: {whose} strongly convex"


@dataclass(frozen=True)
class DiaDSP(DecayingNoise):
    """DiaDSP: gradient tracking in rounds with decaying noise.

    Minimizes Σ f_i up to the sum of its noise on y.
    """

    step: Annotated[Positive, Auto("(1 + λ_min(W))²/(4L)", lambda at: tracking_step(at.smoothness, at.topology) / 2)]

    stackable = True

    async def run(self, node: Node) -> None:
        noise = self.noise_x(node.id), self.noise_y(node.id)
        await diging(node, self.rounds, self.step, *noise, drawn_start(node, self.start))
