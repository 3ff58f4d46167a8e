"""Private gradient descent: x_i ← Σ_j w_ij x̃_j − η_k g_i, where x̃ = x + Lap(b_k) and g_i = clip(∇f_i(x_i), C).

The noise may be Gaussian too, b_k then its standard deviation; the source has Laplace noise.

With an r ≠ 0 a proximal step follows, x ← prox_{η_k r}(·). It moves no coordinate more than it is moved itself, so
that all that is said of differences holds.

The sum runs over the neighbors and the agent itself, and its own term is the noisy x̃_i too: then everything in
x_i^{k+1} but −η_k g_i is known to whoever sees the wire, and release k + 1 depends on the data through one
clipped gradient only.

With `state` "released" the agent keeps nothing but what it sent: g_i is taken at x̃_i, and the noisy x̃_i is the state,
x̃_i⁺ = Σ_j w_ij x̃_j − η_k g_i + Lap(b_{k+1}). That is the reading of eq. 1.5 in which noise is added to the iterate;
"exact" is the one in which it is added to the copy that is sent.

Source: H. Xiao, Local Differential Privacy in Decentralized Optimization, MIT 2019, eq. 1.5. Condition:
0 < η_k < (1 + λ_min(W))/L. A constant step stops short of the optimum.

Claim (composition of the Laplace mechanism): ε = Σ_{k=0}^{K−2} 2C'η_k/b_{k+1} over K rounds, where C' = C for
clipping in ℓ1, √d·C for clipping in ℓ2 and d·C for clipping in ℓ∞ (Laplace noise protects ℓ1 distances). The first
release is the public starting point and costs nothing; the last gradient is never released. Holds for any change of
one agent's objective. Conditions: b_k > 0 for every k ≥ 1. Without clipping there is no claim that holds for all
objectives: undefined, save for released states and gradients of all records. There both worlds ask for the gradient
at the same public point, so it changes by at most B in ℓ1 (`Adjacency.in_norm`: √d times a bound in ℓ2), and
ε = Σ_{k=0}^{K−2} Bη_k/b_{k+1}.

With Gaussian noise the same changes in ℓ2 add up in ρ-zCDP: ρ = Σ_{k=0}^{K−2} (cη_k/b_{k+1})²/2 with c = 2C (2√d·C
for clipping in ℓ∞) or the bound in ℓ2, and ε = ρ + 2√(ρ ln 1/δ) (Bun, Steinke 2016, Propositions 1.3 and 1.6).
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from netsim.algorithms.algorithm import InRounds, Setting, silent_release, unmet
from netsim.algorithms.composition import Noise, zcdp_epsilon
from netsim.arrays import whole
from netsim.bounds import Auto, Count
from netsim.claims import Adjacency, Claim, Clip
from netsim.mechanisms import Gaussian, Laplace, Mechanism
from netsim.node import Node, subset
from netsim.schedules import SILENT, Constant, Schedule, first_outside

if TYPE_CHECKING:
    from netsim.topology import Topology


def stable_step(smoothness: float, topology: "Topology | None") -> float:
    """(1 + λ_min(W))/L: below it, noiseless rounds descend on ½xᵀ(I − W)x + η Σ f_i (Yuan, Ling, Yin 2016).

    Above it they swing ever wider, on some objectives with this L. Without a topology: 2/L, one agent alone.
    """
    return (2.0 if topology is None else 1 + topology.least_eigenvalue) / smoothness


def stable_bound(step: Schedule, rounds: int, setting: Setting) -> float:
    """`stable_step`; or where these steps are all positive and below what the diagonal of W guarantees, that: the
    search for λ_min takes minutes with a million agents."""
    smoothness, topology = max(setting.smoothness), setting.topology
    if topology is not None:
        enough = (1 + topology.least_eigenvalue_bound) / smoothness
        if first_outside(step, rounds, math.nextafter(0, 1), math.nextafter(enough, 0)) is None:
            return enough
    return stable_step(smoothness, topology)


@dataclass(frozen=True)
class PrivateGradientDescent(InRounds):
    """Gradient descent in rounds with Laplace or Gaussian noise on what is sent."""

    step: Annotated[
        Schedule,
        Auto(
            "half of what is stable, (1 + λ_min(W))/(2L)",
            lambda at: Constant(stable_step(at.smoothness, at.topology) / 2),
        ),
    ]
    """η_k, the step size by the round k = 0, 1, …"""
    scale: Schedule = SILENT
    """b_k, the Laplace scale or the Gaussian standard deviation per coordinate, by the round k = 0, 1, …"""
    clip: Clip | None = None
    """Gradients are clipped; none: they are not."""
    batch: Count | None = None
    """How many of its records an agent draws for a gradient, anew each round by its private coins; none: all."""
    state: Literal["exact", "released"] = "exact"
    """Whether an agent goes on with its exact x, or with the x̃ that it sent."""
    noise: Noise = "laplace"
    """The law of the noise."""

    noise_fields = ("scale",)
    stackable = True

    async def run(self, node: Node) -> None:
        x, drawn = node.zeros(), None
        for k in range(self.rounds):
            received = await node.exchange(x=node.privatize(x, self._mechanism(k)))
            if self.batch is not None:
                drawn = subset(node.coins, node.records, self.batch)
            gradient = await node.gradient(received.sent("x") if self.state == "released" else x, drawn)
            eta = self.step(k)
            x = received.mix("x") - eta * (self.clip(gradient) if self.clip else gradient)
            x = node.regularizer.proximal(x, eta)
            node.estimate(x)

    def _mechanism(self, k: int) -> Mechanism:
        return Gaussian(self.scale(k)) if self.noise == "gaussian" else Laplace(self.scale(k))

    @property
    def summary(self) -> str:
        batch = f"Stochastic gradient descent ({self.batch} records a batch)"
        name = "Gradient descent" if self.batch is None else batch
        where = "on what is sent" if self.state == "exact" else "in the state"
        return f"{name} in rounds, {self.noise.capitalize() if self.noisy else 'no'} noise {where}."

    def check(self, setting: Setting) -> None:
        """Steps within `stable_step`, batches no larger than what agents hold."""
        super().check(setting)
        if self.batch is not None:
            whole(self.batch, "batch", 1, min(setting.records, default=None))
        bound = stable_bound(self.step, self.rounds, setting)
        problem = "η_{k} is outside the stability condition"
        self._check_steps(self.step, bound, "0 < η_k < (1 + λ_min(W))/L", problem)

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        pure = self.noise == "laplace"
        change = math.inf  # in ℓ1 or ℓ2, of the gradient that is used, given what was sent
        if self.clip is not None:
            change = 2 * (self.clip.l1_bound if pure else self.clip.l2_bound)(setting.dimension)
        elif self.state == "released" and self.batch is None:
            change = adjacency.in_norm("l1", setting.dimension) if pure else adjacency.gradient_change
        silent = silent_release(self.scale, range(1, self.rounds))
        failed = unmet(
            (math.isfinite(change), "no clipping: the algorithm itself bounds no gradient"),
            (silent < 0, f"b_{silent} = 0: round {silent} has no noise"),
            (pure or 0 < delta < 1, f"δ = {delta:g} is not in (0, 1)"),
        )
        source = f"{self.noise.capitalize()} composition over the rounds; Xiao 2019, eq. 1.5"
        epsilon = None
        if not failed:
            moves = [change * self.step(k) / self.scale(k + 1) for k in range(self.rounds - 1)]
            epsilon = math.fsum(moves) if pure else zcdp_epsilon(math.fsum(m * m for m in moves) / 2, delta)
        return Claim(
            epsilon, 0.0 if pure else delta, source, adjacency, "ℓ1" if pure else "ℓ2", failed, coins="known"
        )
