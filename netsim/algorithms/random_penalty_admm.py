"""Private ADMM with random penalties: each coordinate moves to a uniform point between the agent and its neighbors.

All agents start from the public x⁰ = 0 with λ = 0. In round k = 0, 1, …, per coordinate θ ~ U(0, 1), every agent i

    x⁺ = θ x_i + (1 − θ) mean_{j∈N_i} x_j − (∇f_i(x_i) − λ_i)/D + Lap(1/β_k)       1    goes to the neighbors
    λ⁺ = λ_i + ζ Σ_{j∈N_i} (x_j⁺ − x_i⁺)                                           2

with β_k = 1.02^k, D = 10, ζ = ½ in the source; the random penalty is Γ = θD. The state is the release: an agent goes
on with the x⁺ it sent, so ∇f_i is taken at a point that everybody on the wire knows, and λ_i is a sum of what was
sent.

Source: H. Xiao, Local Differential Privacy in Decentralized Optimization, MIT 2019, Algorithm 1. The sign of line 2
is the one that converges; the printed one diverges. Law: Σ_i λ_i = 0, under noise too. Without Laplace noise it is
exact: θ multiplies a difference that vanishes at consensus.

Stability: let all f_i be quadratics of one curvature h, and let Q = I − Deg⁻¹A and the Laplacian have the eigenvalues
q and ℓ in a mode that is not consensus. On a regular graph they share their modes. There, without the randomness of
θ, x_{t+1} − x_t = m(x_t − x_{t−1}) − gx_t, m = 1 − q/2 − h/D, g = ζℓ/D; and θ − ½, of variance 1/12, adds noise of
variance E‖Qx‖²/12. A unit of noise comes to Σ x_t² = 2/((1 − m)(2(1 + m) − g)) in all (the variance of an
ARMA(2, 1)), so that second moments die out if q²/6 < (1 − m)(2(1 + m) − g) in every mode. With w = q + 2h/D that is

    ζℓ/D < 4 − w − q²/(3w),

and with the largest q, ℓ and h = L it is what is asked for on every graph. It is sharp on complete graphs, for
q = n/(n − 1) is their only one. Where degrees differ the mean dynamics are stable by it, q and ℓ being Rayleigh
quotients there; second moments, and unequal curvatures, are tested only: none of those that were tried grows.

Claim (Theorem 2.2.1, worst case): a release loses at most dβ_kB/D, where B bounds the change of the gradient in ℓ∞,
and K rounds lose ε = Σ_{k<K} dβ_kB/D. A bound in ℓ2 is one in ℓ∞ (`Adjacency.in_norm`);
the ℓ1 norm is at most √d times as large, so for changes known in ℓ2 the formula is loose by up to √d. θ is drawn
without regard to the data, so the mixture of uniform and Laplace loses no more than Laplace noise alone. On average
over what is released it loses a share of the worst case (`netsim.mechanisms.average_ratio`), below that of Laplace
noise where agent and neighbors differ; at consensus, where their difference dies out, it returns to that.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Self

from netsim.algorithms.algorithm import InRounds, Setting
from netsim.algorithms.mixing import check_scale, check_smooth
from netsim.bounds import NonNegative, Positive
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.mechanisms import UniformLaplace
from netsim.node import Node
from netsim.schedules import Geometric, Schedule, scaled
from netsim.topology.weights import largest_laplacian_eigenvalue, largest_walk_eigenvalue

SOURCE = "Xiao 2019, Theorem 2.2.1 (worst case), summed over releases"


def worst_case(
    steps: list[float], scales: list[float], adjacency: Adjacency, dimension: int
) -> tuple[list[float], tuple[str, ...]]:
    """d·B·step/scale of each release, and the conditions that fail (then there are no values)."""
    failed = [f"release {k} has no Laplace noise" for k, b in enumerate(scales) if b == 0][:1]
    if not math.isfinite(adjacency.gradient_change):
        failed.append("the change of a gradient has no finite bound B")
    if failed:
        return [], tuple(failed)
    change = dimension * adjacency.in_norm("linf", dimension)
    return [change * step / b for step, b in zip(steps, scales, strict=True)], ()


@dataclass(frozen=True)
class RandomPenaltyAdmm(InRounds):
    """ADMM whose penalties are drawn anew for every coordinate and round, with Laplace noise in the state."""

    penalty: Positive = 10.0
    """D, the greatest penalty."""
    dual_step: NonNegative = 0.5
    """ζ, the step of the dual."""
    scale: Schedule = field(default_factory=lambda: Geometric(1.0, 1 / 1.02))
    """1/β_k, the Laplace scale per coordinate, by round; 0: only the penalties are random."""

    async def run(self, node: Node) -> None:
        degree = len(node.neighbors)
        x = dual = mean = node.zeros()
        for k in range(self.rounds):
            center = mean - (await node.gradient(x) - dual) / self.penalty
            law = UniformLaplace(x - mean, self.scale(k))
            received = await node.exchange(x=node.privatize(center, law))  # 1
            x, mean = received.sent("x"), received.sum("x") / degree
            dual = dual - self.dual_step * received.apart("x")  # 2
            node.estimate(x)

    @property
    def noisy(self) -> bool:
        return True  # the penalties are random even where the scale is 0

    @property
    def summary(self) -> str:
        noise = "Laplace noise" if any(self.scale(k) > 0 for k in range(self.rounds)) else "no other noise"
        return f"ADMM whose penalties are random, with {noise} in the state."

    def scaled(self, factor: float) -> Self:
        return replace(self, scale=scaled(self.scale, factor))

    def check(self, setting: Setting) -> None:
        """D and ζ at which differences between agents die out (module docstring); scales."""
        super().check(setting)
        bound = max(setting.smoothness) / 2
        if not bound < self.penalty < math.inf:
            raise ScenarioError("penalty", self.penalty, "unstable", f"D > L/2 = {bound:.6g}")
        if not 0 <= self.dual_step < math.inf:
            raise ScenarioError("dual_step", self.dual_step, "not a step", ">= 0 and finite")
        self._check_stable(setting)
        check_scale("scale", self.scale, self.rounds)
        check_smooth(setting, "random-penalty ADMM")

    def _check_stable(self, setting: Setting) -> None:
        if setting.topology is None or setting.agents == 1:
            return  # no differences, and D > L/2 is what is asked for
        q = largest_walk_eigenvalue(setting.topology.adjacency)
        largest = largest_laplacian_eigenvalue(setting.topology.adjacency)
        room = stable_room(q, max(setting.smoothness) / self.penalty)
        if room <= 0:
            why = "unstable: q + 2L/D + q²/(3(q + 2L/D)) reaches 4"
            raise ScenarioError("penalty", self.penalty, why, f"a larger D; here q = {q:.6g}")
        if not self.dual_step * largest < room * self.penalty:
            why = f"unstable: λ_max(Laplacian) = {largest:.6g}"
            raise ScenarioError("dual_step", self.dual_step, why, f"ζ < {room * self.penalty / largest:.6g}")

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del delta  # pure ε
        scales = [self.scale(k) for k in range(self.rounds)]
        losses, failed = worst_case([1 / self.penalty] * self.rounds, scales, adjacency, setting.dimension)
        return Claim(None if failed else math.fsum(losses), 0.0, SOURCE, adjacency, "ℓ∞", failed)


def stable_room(q: float, ratio: float) -> float:
    """4 − w − q²/(3w), w = q + 2L/D: what ζλ_max/D has to stay below; `ratio` is L/D."""
    w = q + 2 * ratio
    return 4 - w - q**2 / (3 * w)
