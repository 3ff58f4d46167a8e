"""Private gradient descent: x_i ← Σ_j w_ij x̃_j − η_k g_i, where x̃ = x + Lap(b_k) and g_i = clip(∇f_i(x_i), C).

With an r ≠ 0 a proximal step follows, x ← prox_{η_k r}(·). It moves no coordinate more than it is moved itself, so
that all that is said of differences holds.

The sum runs over the neighbors and the agent itself, and its own term is the noisy x̃_i too: then everything in
x_i^{k+1} but −η_k g_i is known to whoever sees the wire, and release k + 1 depends on the data through one
clipped gradient only.

With `state` "released" the agent keeps nothing but what it sent: g_i is taken at x̃_i, and the noisy x̃_i is the state,
x̃_i⁺ = Σ_j w_ij x̃_j − η_k g_i + Lap(b_{k+1}). That is the reading of eq. 1.5 in which noise is added to the iterate;
"exact" is the one in which it is added to the copy that is sent.

Source: H. Xiao, Local Differential Privacy in Decentralized Optimization, MIT 2019, eq. 1.5.

Claim (composition of the Laplace mechanism): ε = Σ_{k=0}^{K−2} 2C'η_k/b_{k+1} over K rounds, where C' = C for
clipping in ℓ1, √d·C for clipping in ℓ2 and d·C for clipping in ℓ∞ (Laplace noise protects ℓ1 distances). The first
release is the public starting point and costs nothing; the last gradient is never released. Holds for any change of
one agent's objective. Conditions: b_k > 0 for every k ≥ 1. Without clipping there is no claim that holds for all
objectives: undefined, save for released states and gradients of all records. There both worlds ask for the gradient
at the same public point, so it changes by at most B in ℓ1 (`Adjacency.in_norm`: √d times a bound in ℓ2), and
ε = Σ_{k=0}^{K−2} Bη_k/b_{k+1}.
"""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal, Self

from netsim.algorithms.algorithm import InRounds, Setting
from netsim.arrays import whole
from netsim.bounds import Auto, Count
from netsim.claims import Adjacency, Claim, Clip
from netsim.errors import ScenarioError
from netsim.mechanisms import Laplace
from netsim.node import Node
from netsim.schedules import Constant, Schedule, scaled

if TYPE_CHECKING:
    from netsim.topology import Topology


def stable_step(smoothness: float, topology: "Topology | None") -> float:
    """(1 + λ_min(W))/L: below it, noiseless rounds descend on ½xᵀ(I − W)x + η Σ f_i (Yuan, Ling, Yin 2016).

    Above it they swing ever wider, on some objectives with this L. Without a topology: 2/L, one agent alone.
    """
    return (2.0 if topology is None else 1 + topology.least_eigenvalue) / smoothness


@dataclass(frozen=True)
class PrivateGradientDescent(InRounds):
    """Gradient descent in rounds with Laplace noise on what is sent."""

    step: Annotated[
        Schedule,
        Auto(
            "half of what is stable, (1 + λ_min(W))/(2L)",
            lambda at: Constant(stable_step(at.smoothness, at.topology) / 2),
        ),
    ]
    """η_k, the step size by the round k = 0, 1, …"""
    scale: Schedule = field(default_factory=lambda: Constant(0.0))
    """b_k, the Laplace scale per coordinate, by the round k = 0, 1, …"""
    clip: Clip | None = None
    """Gradients are clipped; none: they are not."""
    batch: Count | None = None
    """How many of its records an agent draws for a gradient, anew each round by its private coins; none: all."""
    state: Literal["exact", "released"] = "exact"
    """Whether an agent goes on with its exact x, or with the x̃ that it sent."""

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for k in range(self.rounds):
            sent = node.privatize(x, Laplace(self.scale(k)))
            received = await node.exchange(x=sent)
            point = received.sent("x") if self.state == "released" else x
            gradient = await node.gradient(point, self._drawn(node))
            eta = self.step(k)
            x = received.mix("x") - eta * (self.clip(gradient) if self.clip else gradient)
            x = node.regularizer.proximal(x, eta)
            node.estimate(x)

    def _drawn(self, node: Node) -> list[int] | None:
        """The records of this round's batch."""
        if self.batch is None:
            return None
        return sorted(int(k) for k in node.coins.choice(node.records, self.batch, replace=False))

    @property
    def noisy(self) -> bool:
        return any(self.scale(k) > 0 for k in range(self.rounds))

    @property
    def summary(self) -> str:
        name = (
            "Gradient descent"
            if self.batch is None
            else f"Stochastic gradient descent ({self.batch} records a batch)"
        )
        where = "on what is sent" if self.state == "exact" else "in the state"
        return f"{name} in rounds, {'Laplace' if self.noisy else 'no'} noise {where}."

    def scaled(self, factor: float) -> Self:
        return replace(self, scale=scaled(self.scale, factor))

    def check(self, setting: Setting) -> None:
        """Steps within `stable_step`, scales that are not negative, batches no larger than what agents hold."""
        super().check(setting)
        if self.batch is not None:
            whole(self.batch, "batch", 1, min(setting.records, default=None))
        bound = stable_step(max(setting.smoothness), setting.topology)
        for k in range(self.rounds):
            if not 0 < self.step(k) < bound:
                raise ScenarioError(
                    "step",
                    self.step(k),
                    f"η_{k} is outside the stability condition",
                    f"0 < η_k < (1 + λ_min(W))/L = {bound:.6g}",
                )
            if not 0 <= self.scale(k) < math.inf:
                raise ScenarioError("scale", self.scale(k), f"b_{k} is not a scale", ">= 0")

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del delta  # pure ε: holds with δ = 0, so with any δ
        failed: list[str] = []
        change = self._change(adjacency, setting)
        if not math.isfinite(change):
            failed.append("no clipping: the gradient has no bound that holds for every objective")
        failed += [f"b_{k} = 0: round {k} has no noise" for k in range(1, self.rounds) if self.scale(k) == 0][:1]
        epsilon = None
        if not failed:
            epsilon = math.fsum(change * self.step(k) / self.scale(k + 1) for k in range(self.rounds - 1))
        return Claim(
            epsilon,
            0.0,
            "Laplace composition over the rounds; Xiao 2019, eq. 1.5",
            adjacency,
            "ℓ1",
            tuple(failed),
        )

    def _change(self, adjacency: Adjacency, setting: Setting) -> float:
        """How far a gradient that is used may differ in ℓ1 between adjacent objectives, given what was sent."""
        if self.clip is not None:
            return 2 * self.clip.l1_bound(setting.dimension)
        if self.state == "released" and self.batch is None:
            return adjacency.in_norm("l1", setting.dimension)
        return math.inf
