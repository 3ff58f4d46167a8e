"""DP-ADMM on a star: agent 0 is the hub and holds data too; every agent sends its noisy primal.

γ_i = 0 and w̃_i = w = 0 are public at first. In round k every agent, the hub too, with c_k = ρ + 1/η_k,

    w_i = prox_{r/c_k}((w̃_i/η_k + ρw + γ_i − ∇f_i(w̃_i)) / c_k)                        1
    w̃_i = w_i + noise; the leaves send it to the hub                                    2
    hub: w = (1/n) Σ_i (w̃_i − γ_i/ρ), its own included, broadcast                       3
    γ_i ← γ_i − ρ(w̃_i − w)                                                             4

The gradient and the proximal center are at the noisy w̃_i. Σ γ_i = 0 at all times, so line 3 is the mean of the w̃_i
and the hub needs no γ of others. It minimizes Σ f_i + n r; what an agent answers is w.

Source: Huang, Hu, Guo, Chan-Tin, Gong, DP-ADMM: ADMM-based distributed learning with differential privacy, IEEE TIFS
2020. How sure: lines 1–4 fair; inferred: that the paper's server is one of the agents, and r by a prox (the paper
takes a subgradient of f_i + r). Without noise a constant η < 2/L is exact (2.1/L diverges where ρ is small); under
noise the paper's η_k decays.

Claim: all of line 1 but the gradient is in the transcript, so a release moves by G/c_k, G = sup‖∇f_i − ∇f_i'‖₂. That
is the paper's 2c₁/(m(ρ + 1/η)) for record gradients bounded by c₁. The paper accounts its Gaussian noise by (ε, δ) a
round and the moments accountant; the number here is the composition of the rounds in zCDP. The hub's own w̃ is not on
the wire, but follows from what is: w̃_0 = nw − Σ w̃_i over the leaves. Σ γ_i = 0 makes that hold. (An audit
of the hub is granted it, and bounds from above; audit a leaf.)
"""

from dataclasses import dataclass, field
from typing import Annotated

from netsim.algorithms.algorithm import InRounds, Setting
from netsim.algorithms.composition import SMOOTH, Noise, Noisy
from netsim.arrays import Array
from netsim.bounds import Auto, Positive
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.node import Node
from netsim.schedules import Constant, Schedule

_HUB = 0


@dataclass(frozen=True)
class DpAdmm(Noisy, InRounds):
    """DP-ADMM on a star with agent 0 in the middle, one gradient a round."""

    penalty: Annotated[Positive, SMOOTH]
    """ρ, the penalty of the augmented Lagrangian."""
    step: Annotated[Schedule, Auto("1/L", lambda at: Constant(1 / at.smoothness))]
    """η_k in (0, 2/max L_i), the step size by round."""
    noise: Noise = field(default="gaussian", kw_only=True)

    async def run(self, node: Node) -> None:
        rho = self.penalty
        sent = center = gamma = node.zeros()
        for k in range(self.rounds):
            eta = self.step(k)
            c = rho + 1 / eta
            v = (sent / eta + rho * center + gamma - await node.gradient(sent)) / c
            w = node.regularizer.proximal(v, 1 / c)  # 1
            sent = node.privatize(w, self.mechanism(k))  # 2
            if node.id == _HUB:
                leaves: dict[int, Array] = {}
                while len(leaves) < len(node.neighbors):  # a leaf that began anew sends twice
                    message = await node.receive()
                    leaves[message.sender] = message.values["w"]
                center = sent
                for j in node.neighbors:  # in their order, whoever came first
                    center = center + leaves[j]
                center = center / node.agents  # 3
                node.broadcast(center=center)
            else:
                node.send(_HUB, w=sent)
                center = (await node.receive()).values["center"]
            gamma = gamma - rho * (sent - center)  # 4
            node.estimate(center)

    @property
    def summary(self) -> str:
        return f"DP-ADMM on a star, one gradient a round; {self.noise_in_words} on what is sent."

    def check(self, setting: Setting) -> None:
        """A star around agent 0, ρ > 0, 0 < η_k < 2/max L_i."""
        super().check(setting)
        bound = 2 / max(setting.smoothness)
        problem = "η_{k} is outside the convergence condition"
        self._check_steps(self.step, bound, "0 < η_k < 2/L", problem)
        if setting.topology is not None:
            star = {_HUB: tuple(range(1, setting.agents))}
            for i in range(setting.agents):
                if setting.topology.neighbors(i) != star.get(i, (_HUB,)):
                    raise ScenarioError("kind", "dp_admm", f"agent {i} is not where a star has it", "a star around 0")

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        moves = [adjacency.gradient_change / (self.penalty + 1 / self.step(k)) for k in range(self.rounds)]
        source = f"composition of the {self.noise.capitalize()} mechanism; the sensitivity is Huang et al. 2020's"
        return self.claim_of_moves(adjacency, setting, delta, source, self.rounds, lambda _: moves)
