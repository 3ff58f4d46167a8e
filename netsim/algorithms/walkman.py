"""Walkman: a token u walks the graph; its holder takes one proximal or one gradient step on its own f_i.

y_i = z_i = 0, hence u = mean_i(y_i − z_i/β) = 0, at first. The holder i of the token, which carries ũ,

    x   = prox_{r/β}(ũ)                                                                1
    y_i⁺ = argmin f_i(y) + (β/2)‖y − x − z_i/β‖²                    proximal version    2
    y_i⁺ = x + (z_i − ∇f_i(y_i))/β, the gradient at the old y_i     gradient version
    z_i⁺ = z_i + β(x − y_i⁺)    ( = ∇f_i(y_i⁺), or ∇f_i(y_i) )                        3
    u⁺  = ũ + [(y_i⁺ − z_i⁺/β) − (y_i − z_i/β)]/n                                      4

and ũ⁺ = u⁺ + noise goes to a neighbor drawn uniformly, who has only ũ⁺: noise accumulates in the token. It minimizes
(1/n) Σ f_i + r, whose minimizer is that of Σ f_i + n r. Without noise u = mean_i(y_i − z_i/β) at all times.

Source: Mao, Yuan, Hu, Gu, Sayed, Yin, Walkman: a communication-efficient random-walk algorithm for decentralized
optimization, IEEE TSP 2020. How sure: high; the noise is a decision, the paper has none. β > 2 max L_i is the
paper's condition for the gradient version, which diverges at β = L. The proximal version takes any β > 0
where f_i is convex (it converges at 0.2 L), and otherwise any above its weak convexity ρ_i, for y_i⁺ to be one point.

Claim (composition of the mechanism; the paper claims none). Given the transcript all x are the same in both worlds,
and (y_i, z_i) is not. With G = sup‖∇f_i − ∇f_i'‖₂, over the agent's own activations τ = 1, 2, …:

    gradient version: ‖Δz_τ‖ ≤ D_τ, D_τ = G + (L_i/β)(D_{τ−1} + D_{τ−2}), for ‖Δy_τ‖ ≤ (D_{τ−1} + D_τ)/β; D_τ = 0 for
    τ ≤ 0, but D_2 = G + (L_i/β)D_1. With y_τ − z_τ/β = x + (z_{τ−1} − 2z_τ)/β a release moves by at most
    (2D_τ + 3D_{τ−1} + D_{τ−2})/(nβ).
    proximal version: with c_i = μ_i − ρ_i, ‖Δz_τ‖ ≤ Z_τ, Z_τ = aZ_{τ−1} + Gβ/(β + c_i), where a, the largest of
    |h/(h + β)| over the eigenvalues −ρ_i ≤ h ≤ L_i, is max(L_i/(L_i + β), ρ_i/(β − ρ_i)); and y_τ − z_τ/β = 2y_τ − v
    with v = x + z_{τ−1}/β moves by S_τ ≤ RZ_{τ−1}/β + 2G/(β + c_i), R the largest |β − h|/(β + h), which is
    (β + ρ_i)/(β − ρ_i), and 1 at most where f_i is convex: a release by (S_τ + S_{τ−1})/n.

`setting.releases` is the largest number of activations of one agent. The first release attains its bound. Later ones
stay far below (a tenth and less on smooth problems): the bound lets ∇f_i − ∇f_i' turn about between activations.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from netsim.algorithms.algorithm import Setting, Stopping
from netsim.algorithms.composition import Noisy
from netsim.bounds import Auto, Count, Index, Positive
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.node import Node, choose


@dataclass(frozen=True)
class Walkman(Noisy):
    """Walkman: a token walks; noise on the token."""

    penalty: Annotated[
        Positive,
        Auto(
            "3 L by gradients, L by proximal steps",
            lambda at: {"gradient": 3.0, "prox": 1.0}[at.version] * at.smoothness,
        ),
    ]
    """β, the penalty of the augmented Lagrangian."""
    version: Literal["gradient", "prox"] = "gradient"
    """By gradients, or by proximal steps."""
    activations: Count | None = None
    """The walk ends after so many activations of all agents together."""
    per_agent: Count | None = None
    """The walk ends when one agent has been active so often."""
    first: Index = 0
    """The agent that is active first."""

    async def run(self, node: Node) -> None:
        beta, n = self.penalty, node.agents
        y = z = u = node.zeros()
        holding, k = node.id == self.first, 0
        while True:
            if not holding:
                u = (await node.receive()).values["u"]
            x = node.regularizer.proximal(u, 1 / beta)  # 1
            if self.version == "prox":
                y_new = await node.proximal(x + z / beta, 1 / beta)  # 2
            else:
                y_new = x + (z - await node.gradient(y)) / beta  # 2
            z_new = z + beta * (x - y_new)  # 3
            u_new = u + ((y_new - z_new / beta) - (y - z / beta)) / n  # 4
            node.send(choose(node.coins, node.neighbors), u=node.privatize(u_new, self.mechanism(k)))
            node.estimate(x)
            y, z, holding, k = y_new, z_new, False, k + 1

    def stopping(self) -> Stopping:
        return Stopping(self.activations, self.per_agent)

    @property
    def summary(self) -> str:
        step = "gradient" if self.version == "gradient" else "proximal step"
        return f"Walkman, a token walks, one {step} an activation; {self.noise_in_words} on the token."

    def check(self, setting: Setting) -> None:
        """β > 2 max L_i (gradient) or 0 (prox), a walk that ends."""
        super().check(setting)
        if self.version not in ("gradient", "prox"):
            raise ScenarioError("version", self.version, "no such version", "gradient, prox")
        bound = 2 * max(setting.smoothness)
        if self.version == "gradient" and not self.penalty > bound:
            why = "outside the convergence condition"
            raise ScenarioError("penalty", self.penalty, why, f"β > 2 max L_i = {bound:.6g}")
        self.stopping().check(self.first, setting.agents)

    def inner(self, setting: Setting, agent: int) -> float | None:  # noqa: ARG002
        return self.penalty if self.version == "prox" else None

    def moves(self, change: float, setting: Setting, agent: int) -> list[float]:
        """How far each release of one agent moves at most."""
        beta, n, smoothness, found = self.penalty, setting.agents, setting.smoothness[agent], list[float]()
        if self.version == "gradient":
            past = last = 0.0
            for _ in range(setting.releases):
                now = change + smoothness / beta * (last + past)
                found.append((2 * now + 3 * last + past) / (n * beta))
                past, last = last, now
            return found
        curvature, rho = setting.convexity(agent), setting.weakness(agent)
        kept = max(smoothness / (smoothness + beta), rho / (beta - rho))
        z = before = 0.0
        for _ in range(setting.releases):
            reflected = (beta + rho) / (beta - rho) * z / beta + 2 * change / (beta + curvature)
            found.append((reflected + before) / n)
            z, before = kept * z + change * beta / (beta + curvature), reflected
        return found

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        change = adjacency.gradient_change
        source = f"composition of the {self.noise.capitalize()} mechanism over an agent's activations"
        return self.claim_of_moves(
            adjacency, setting, delta, source, setting.releases, lambda i: self.moves(change, setting, i)
        )
