"""PPDC without its compression: a primal-dual method, with noise on what is sent and on the dual that is not.

With x = v = 0 at first and L the graph Laplacian, (L x^a)_i = Σ_j (x^a_i − x^a_j), or L = I − W, a round is

    x^a = x + w, which is sent                           1
    v^a = v + e, which stays with the agent              2
    x⁺ = x^a − η(γ (L x^a)_i + ω v^a + ∇f(x))            3    the gradient at the exact x
    v⁺ = v^a + ηω (L x^a)_i                              4

Source: Xie et al. 2025. The paper was not at hand: the form, what is sent, v⁰ = 0 and L are inferred. The DPP² paper
runs it at γ = 65, ω = 5, η = 0.01 on a graph of 50 agents and does not say what L is: with the graph's Laplacian it
diverges there, with I − W it does not. It is EXTRA with
W = I − ηγL, dual D = ηωv and D⁺ = D + (W̃ − W)x^a for W̃ = W + η²ω²L; with ηω² = γ/2 that is W̃ = (I + W)/2. EXTRA's
conditions on such a pair, (I + W)/2 ⪰ W̃ and η < 2λ_min(W̃)/L_f, are what is checked: ηω² ≤ γ/2 and
η L_f < 2(1 − (ηγ − η²ω²) λ_max(L)).

Law: Σ_i v_i^k = Σ_{t<k} Σ_i e_i^t. So e moves the limit, to where Σ_i ∇f_i = −ωΣΣ e; w that dies out does not.

No claim: v integrates all noisy differences and x all gradients, so that every release depends on all gradients so
far; what the paper claims is not at hand, and nothing is derived here.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from netsim.algorithms.algorithm import Setting
from netsim.algorithms.mixing import LaplaceInRounds, Matrix, check_smooth, largest_eigenvalue
from netsim.bounds import Auto, Positive, check
from netsim.errors import ScenarioError
from netsim.mechanisms import Laplace
from netsim.node import Node
from netsim.schedules import SILENT, Schedule

if TYPE_CHECKING:
    from netsim.topology import Topology


@dataclass(frozen=True)
class Ppdc(LaplaceInRounds):
    """PPDC without its compression: a primal-dual method in rounds, with Laplace noise on w and on the dual.
    Minimizes Σ f_i.
    """

    step: Annotated[
        Positive,
        Auto(
            "min(1/(L + 2·gamma·λ), gamma/(2·omega²)), λ the matrix's largest eigenvalue",
            lambda at: ppdc_step(at.smoothness, at.topology, at.gamma, at.omega, at.matrix),
        ),
    ]
    """η, the step size."""
    gamma: Positive = 1.0
    """γ, the weight of the neighbors' differences."""
    omega: Positive = 1.0
    """ω, the weight of the dual."""
    scale_x: Schedule = SILENT
    """The Laplace scale of the noise on w, which is sent, per coordinate and round."""
    scale_v: Schedule = SILENT
    """The Laplace scale of the noise on e, the dual's, which is not sent, per coordinate and round."""
    matrix: Matrix = "laplacian"
    """Which matrix L is."""

    noise_fields = ("scale_x", "scale_v")
    stackable = True

    async def run(self, node: Node) -> None:
        x = v = node.zeros()
        for k in range(self.rounds):
            received = await node.exchange(x=node.privatize(x, Laplace(self.scale_x(k))))  # 1
            noisy_v = node.privatize(v, Laplace(self.scale_v(k)))  # 2
            sent = received.sent("x")
            apart = received.apart("x") if self.matrix == "laplacian" else sent - received.mix("x")
            descent = self.gamma * apart + self.omega * noisy_v + await node.gradient(x)
            x = sent - self.step * descent  # 3
            v = noisy_v + self.step * self.omega * apart  # 4
            node.estimate(x)

    def check(self, setting: Setting) -> None:
        """r = 0, EXTRA's conditions on the pair W, W̃."""
        super().check(setting)
        check_smooth(setting, "PPDC")
        check(self)
        if self.step * self.omega**2 > self.gamma / 2 * (1 + 1e-12):
            bound = math.sqrt(self.gamma / (2 * self.step))
            condition = f"ω² <= γ/(2η), ω <= {bound:.6g}"
            raise ScenarioError("omega", self.omega, "outside the convergence condition", condition)
        smoothness, topology = max(setting.smoothness), setting.topology
        largest = 0.0 if topology is None else largest_eigenvalue(self.matrix, topology)
        least = 1 - (self.step * self.gamma - (self.step * self.omega) ** 2) * largest
        if not self.step * smoothness < 2 * least:
            safe = ppdc_step(smoothness, topology, self.gamma, self.omega, self.matrix)
            condition = f"ηL_f < 2λ_min(W̃) = {2 * least:.6g}: η = {safe:.6g} is safe"
            raise ScenarioError("step", self.step, "outside the convergence condition", condition)


def ppdc_step(
    smoothness: float,
    topology: "Topology | None",
    gamma: float = 1.0,
    omega: float = 1.0,
    matrix: Matrix = "laplacian",
) -> float:
    """min(1/(L_f + 2γλ_max(L)), γ/(2ω²)): a step η that meets both conditions."""
    largest = 0.0 if topology is None else largest_eigenvalue(matrix, topology)
    return min(1 / (smoothness + 2 * gamma * largest), gamma / (2 * omega**2))
