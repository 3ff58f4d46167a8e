"""IC-ADMM, inexact consensus ADMM: each round takes one gradient in place of a solved subproblem.

x_i = p_i = 0 and x̃_i = 0 are public at first. In a round agent i, with d_i neighbors and γ_i = b + 2c d_i,

    x_i ← prox_{r/γ_i}((b x_i − ∇f_i(x_i) − p_i + c Σ_j (x̃_i + x̃_j)) / γ_i)          1
    sends x̃_i = x_i + noise                                                            2
    p_i ← p_i + c Σ_j (x̃_i − x̃_j)                                                     3

The gradient and b x_i are at the exact x_i. It minimizes Σ f_i + n r; Σ p_i = 0 under any noise.

Source: Chang, Hong, Wang, Multi-agent distributed optimization via inexact consensus ADMM, IEEE TSP 2015. How
sure: the algorithm high; where noise enters fair, the paper has none. b > max L_i / 2
converges: the round is a forward-backward step in the metric bI + c(D + A) ⪰ bI, D the degrees and A the adjacency
matrix, which L/2 has to stay below (Condat 2013, Vũ 2013); with little coupling b = 0.4 L diverges.

Claim (composition of the mechanism; the paper has none for privacy). Given the transcript, p_i and the sum over
neighbors are the same in both worlds and the exact x_i is not: with G bounding ‖∇f_i − ∇f_i'‖₂ it moves by
Δ⁺ = (qΔ + G)/γ_i, Δ⁰ = 0, q = max(b − μ_i + ρ_i, L_i − b), ρ_i the weak convexity of f_i, for the
eigenvalues of ∇²f_i lie in [μ_i − ρ_i, L_i] and prox does not expand. Release k moves by Δ^{k+1}.
Conditions: noise in every round, finite G.
"""

from dataclasses import dataclass
from typing import Annotated

from netsim.algorithms.algorithm import InRounds, Setting
from netsim.algorithms.composition import BALANCED, SMOOTH, Noisy
from netsim.bounds import Positive
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.node import Node


@dataclass(frozen=True)
class IcAdmm(Noisy, InRounds):
    """IC-ADMM: one gradient a round, noise on what is sent."""

    penalty: Annotated[Positive, BALANCED]
    """c, the penalty of the augmented Lagrangian."""
    proximal: Annotated[Positive, SMOOTH]
    """b > max L_i / 2, the weight of the proximal term."""

    stackable = True

    async def run(self, node: Node) -> None:
        c, b = self.penalty, self.proximal
        d = len(node.neighbors)
        gamma = b + 2 * c * d
        x = p = sums = node.zeros()
        for k in range(self.rounds):
            v = (b * x - await node.gradient(x) - p + c * sums) / gamma
            x = node.regularizer.proximal(v, 1 / gamma)  # 1
            received = await node.exchange(x=node.privatize(x, self.mechanism(k)))  # 2
            p = p + c * received.apart("x")  # 3
            sums = d * received.sent("x") + received.sum("x")
            node.estimate(x)

    @property
    def summary(self) -> str:
        return f"IC-ADMM, one gradient a round; {self.noise_in_words} on what is sent."

    def check(self, setting: Setting) -> None:
        """c > 0 and b > max L_i / 2."""
        super().check(setting)
        bound = max(setting.smoothness) / 2
        if not self.proximal > bound:
            why = "outside the convergence condition"
            raise ScenarioError("proximal", self.proximal, why, f"b > max L_i / 2 = {bound:.6g}")

    def moves(self, change: float, setting: Setting, agent: int) -> list[float]:
        """Δ of each release of one agent."""
        b, mu, smoothness = self.proximal, setting.convexity(agent), setting.smoothness[agent]
        q, gamma = max(b - mu, smoothness - b), b + 2 * self.penalty * setting.degree(agent)
        found = [0.0]
        for _ in range(self.rounds):
            found.append((q * found[-1] + change) / gamma)
        return found[1:]

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        change = adjacency.gradient_change
        source = f"composition of the {self.noise.capitalize()} mechanism of the rounds; IC-ADMM's paper has none"
        return self.claim_of_moves(
            adjacency, setting, delta, source, self.rounds, lambda i: self.moves(change, setting, i)
        )
