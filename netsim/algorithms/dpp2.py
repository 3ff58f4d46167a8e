"""DPP²: a primal-dual method of two exchanges a round whose dual variables are relayed through what is sent.

In round k = 0, 1, … with d⁰ = q⁰ = 0 and a public x⁰ = 0, every agent i

    y  = x + (1 − η_k) d + w                              1    y goes to the neighbors
    z  = ∇f(x) + η_k q + ρ(Py)_i + e                      2    z goes to the neighbors
    x⁺ = x + w − α(z − e) + β(Pz)_i                       3
    d⁺ = η_k d + y                                        4
    q⁺ = η_k q + ρ(Py)_i                                  5

with w, e Laplace of the scales u_w r^k and u_e r^k per coordinate, and public η_k. An agent takes its own e out of z,
not its neighbors'. P is symmetric, positive semidefinite, P·1 = 0: I − W here unless you say otherwise.

Source: the DPP² paper; the form is read there, the choice of P is not. Laws: d^k = Σ_{t<k}(x^t + w^t), q^k = ρPd^k,
Σ_i q_i = 0, and x does not depend on η. With G = αI − βP, x⁺ = x + w − G(∇f(x) + q⁺) + βPe, so G has to be positive:
λ_max(P) < α/β. The paper's α = 0.1, β = 0.05 break that with the graph's Laplacian for P, whose λ_max is at least 2
on every graph: on the paper's the iterates overflow.

Claim (Theorem 3): ε = Σ_{k=1}^K √d(1/(αu_e) + 1/u_w) αδ/(r^k(1 − αM̄)) for agents whose gradients change by at most δ
in ℓ2, M̄ = max_i L_i, αM̄ < 1. Rounds are k = 0 … K, so K is `rounds` − 1.

What is true of it:

- Exact for r < 1: noise that dies out leaves no error. How soon depends on the slowest mode of the plain method: at
  r = 0.9, k = 500 the gap is 1e-12 on small problems, and can be 1e-1 on badly conditioned ones of the paper's size.
- The sum omits k = 0, in which z⁰ = ∇f(x⁰) + e⁰ is released; it grows as r^{−K}, at r = 0.9, K = 500 to some 1e24 for
  scales, α and δ of order 1. For no r ≤ 1 is the budget of all rounds finite.
- d grows without bound: it is k times the mean iterate. η_k hides nothing: every agent knows it, so d and q follow
  from the y and z that are sent, up to noise that dies out.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from netsim.algorithms.algorithm import InRounds, Setting, silent_release, unmet
from netsim.algorithms.mixing import check_smooth
from netsim.arrays import Array
from netsim.bounds import Auto, NonNegative, Positive
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.mechanisms import Laplace
from netsim.node import Exchange, Node
from netsim.schedules import SILENT, Constant, Schedule
from netsim.topology import Topology

Matrix = Literal["mixing", "laplacian"]
"""P: I − W, or the graph's Laplacian."""
_ONE = Constant(1.0)


def _largest_eigenvalue(matrix: Matrix, topology: Topology) -> float:
    """λ_max(P)."""
    return topology.largest_laplacian_eigenvalue if matrix == "laplacian" else 1 - topology.least_eigenvalue


@dataclass(frozen=True)
class Dpp2(InRounds):
    """DPP²: two exchanges a round, dual variables hidden in what is sent, Laplace noise on both."""

    step: Annotated[Positive, Auto("1/(2L)", lambda at: 0.5 / at.smoothness)]
    """α, the step size."""
    beta: Annotated[
        NonNegative, Auto("α/(2λ_max(P))", lambda at: at.step / (2 * _largest_eigenvalue(at.matrix, at.topology)))
    ]
    """β of the method."""
    rho: Annotated[
        Positive, Auto("2L/λ_max(P)", lambda at: 2 * at.smoothness / _largest_eigenvalue(at.matrix, at.topology))
    ]
    """ρ of the method."""
    eta: Schedule = _ONE
    """η_k of the method, public."""
    scale_w: Schedule = SILENT
    """The Laplace scale of the noise on y, per coordinate, by round; the paper's is geometric."""
    scale_e: Schedule = SILENT
    """The Laplace scale of the noise on z, per coordinate, by round; the paper's is geometric."""
    matrix: Matrix = "mixing"
    """Which matrix P is."""

    noise_fields = ("scale_w", "scale_e")

    async def run(self, node: Node) -> None:
        x = d = q = node.zeros()
        for k in range(self.rounds):
            eta = self.eta(k)
            hidden = (1 - eta) * d
            received = await node.exchange(y=node.privatize(x + hidden, Laplace(self.scale_w(k))))  # 1
            y = received.sent("y")
            dual = eta * q + self.rho * self._coupled(received, "y")  # 5
            z = await node.gradient(x) + dual  # 2, without e
            received = await node.exchange(z=node.privatize(z, Laplace(self.scale_e(k))))
            x = y - hidden - self.step * z + self.beta * self._coupled(received, "z")  # 3
            d, q = eta * d + y, dual  # 4
            node.estimate(x)

    def _coupled(self, received: Exchange, name: str) -> Array:
        """(Pv)_i of what was exchanged."""
        return received.apart(name) if self.matrix == "laplacian" else received.sent(name) - received.mix(name)

    @property
    def summary(self) -> str:
        noise = "Laplace noise on both" if self.noisy else "no noise"
        return f"DPP²: two exchanges a round, dual variables hidden in what is sent, {noise}."

    def check(self, setting: Setting) -> None:
        """λ_max(P) < α/β, and steps at which noiseless rounds are stable on quadratics of any curvature up to L.

        There, in an eigenvector of P with eigenvalue p, it needs αL < 2 and (α − βp)(2L + ρp) < 4.
        """
        super().check(setting)
        for name, value in (("beta", self.beta), ("rho", self.rho)):
            if not 0 <= value < math.inf:
                raise ScenarioError(name, value, "not a coefficient", ">= 0 and finite")
        check_smooth(setting, "DPP²")
        for k in range(self.rounds):
            if not math.isfinite(self.eta(k)):
                raise ScenarioError("eta", self.eta(k), f"η_{k} is not finite", "finite numbers")
        smoothness = max(setting.smoothness)
        if not 0 < self.step < 2 / smoothness:
            raise ScenarioError("step", self.step, "unstable", f"0 < α < 2/L = {2 / smoothness:.6g}")
        if setting.topology is None:
            return
        largest = _largest_eigenvalue(self.matrix, setting.topology)
        if self.beta * largest >= self.step:
            name = "the graph's Laplacian" if self.matrix == "laplacian" else "I − W"
            why = f"αI − βP is not positive: λ_max(P) = {largest:.6g} for P = {name}"
            raise ScenarioError("beta", self.beta, why, f"0 <= β < α/λ_max(P) = {self.step / largest:.6g}")
        p = np.linspace(0, largest, 2001)[1:]
        bound = float(np.min((4 / (self.step - self.beta * p) - 2 * smoothness) / p))
        if not 0 < self.rho < bound:
            why = "unstable: (α − βp)(2L + ρp) reaches 4 at some p up to λ_max(P)"
            raise ScenarioError("rho", self.rho, why, f"0 < ρ < {bound:.6g}")

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del delta  # pure ε
        change, contraction = adjacency.gradient_change, 1 - self.step * max(setting.smoothness)
        rounds = range(1, self.rounds)
        w, e = (silent_release(scale, rounds) for scale in (self.scale_w, self.scale_e))
        failed = unmet(
            (contraction > 0, f"αM̄ = {1 - contraction:.6g}: the theorem needs αM̄ < 1"),
            (w < 0, f"w_{w} has scale 0"),
            (e < 0, f"e_{e} has scale 0"),
            (math.isfinite(change), "the change of a gradient has no finite bound δ"),
        )
        epsilon = None
        if not failed:
            weight = math.sqrt(setting.dimension) * self.step * change / contraction
            epsilon = weight * math.fsum(1 / (self.step * self.scale_e(k)) + 1 / self.scale_w(k) for k in rounds)
        return Claim(epsilon, 0.0, "DPP², Theorem 3", adjacency, "ℓ2", failed)
