"""R-ADMM, whose every other round reuses what was sent before, and MR-ADMM, whose penalties grow and differ.

x_i = λ_i = 0 are public at first. Rounds come in pairs t = 0, 1, …; agent i has d_i neighbors and the penalty
η = η_i(t) (R-ADMM: constant), and draws noise b once a pair. With S_i = Σ_j (x_i + x_j) and Δ_i = Σ_j (x_i − x_j),

    round 2t       x_i⁺ = argmin f_i(x) + ⟨b, x⟩ + 2⟨λ_i, x⟩ + η Σ_j ‖x − (x_i + x_j)/2‖²    1
                   g_i  = −2λ_i − 2ηd_i x_i⁺ + ηS_i    ( = ∇f_i(x_i⁺) + b )                  2
                   sends x_i⁺; λ_i ← λ_i + (θ/2) Δ_i(x⁺)                                     3
    round 2t + 1   x_i⁺ = x_i − [g_i + 2λ_i + ηΔ_i] / (2ηd_i + γ)                            4
                   sends x_i⁺; λ_i ← λ_i + (θ/2) Δ_i(x⁺)                                     5

λ and x on the right are those at the round's beginning. Line 4 touches no data: g_i is made of what was sent. θ = η
in R-ADMM; in MR-ADMM θ is fixed and θ ≤ η_i(t). r = 0 only; Σ λ_i = 0 under any noise.

Source: Zhang, Khalili, Liu 2018: Recycled ADMM (R-ADMM), and Improving the privacy and accuracy of ADMM-based
distributed algorithms (its penalties η_i(t)). How sure: R-ADMM fair (inferred: λ moves in both rounds of a pair);
MR-ADMM inferred: the combination of growing penalties with recycling. γ ≥ max L_i is safe; γ > max L_i / 2 is asked
for, so that a γ that fits one objective fits adjacent ones (it converged at L/4 too).

Claim (composition of objective perturbation, `netsim.algorithms.composition`, with κ = 2η_i(t)d_i − ρ_i, ρ_i the weak
convexity of f_i, which has to be positive; the paper's own theorem is not at hand): only rounds 2t release something,
so K rounds cost ⌈K/2⌉ releases.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated

from netsim.algorithms.algorithm import InRounds, Setting
from netsim.algorithms.composition import BALANCED, SMOOTH, Noisy, balanced
from netsim.arrays import whole
from netsim.bounds import Auto, Positive, check
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.node import Node
from netsim.schedules import Geometric, Schedule


@dataclass(frozen=True)
class _Recycled(Noisy, InRounds):
    """Every other round touches no data; noise in the objective (no ℓ1)."""

    linearization: Annotated[Positive, SMOOTH]
    """γ > max L_i / 2, the weight of the linearized steps."""

    @abstractmethod
    def eta(self, agent: int, t: int) -> float:
        """η_i(t)."""

    @property
    @abstractmethod
    def theta(self) -> float:
        """θ."""

    @property
    def pairs(self) -> int:
        """How many rounds touch the data: every other one, from the first on."""
        return (self.rounds + 1) // 2

    @property
    def _releases(self) -> int:
        return self.pairs

    async def run(self, node: Node) -> None:
        d, theta, gamma = len(node.neighbors), self.theta, self.linearization
        x = dual = sums = apart = g = node.zeros()
        for k in range(self.rounds):
            t, recycled = divmod(k, 2)
            eta = self.eta(node.id, t)
            if recycled:
                x = x - (g + 2 * dual + eta * apart) / (2 * eta * d + gamma)  # 4
            else:
                v = sums / (2 * d) - dual / (eta * d)
                x = await node.perturbed_proximal(v, 1 / (2 * eta * d), self.mechanism(t))  # 1
            received = await node.exchange(x=x)
            x, apart = received.sent("x"), received.apart("x")
            if not recycled:
                g = eta * sums - 2 * dual - 2 * eta * d * x  # 2
            dual = dual + theta / 2 * apart  # 3, 5
            sums = d * received.sent("x") + received.sum("x")
            node.estimate(x)

    def check(self, setting: Setting) -> None:
        """r = 0, γ > max L_i / 2."""
        super().check(setting)
        bound = max(setting.smoothness) / 2
        if not self.linearization > bound:
            why = "outside the convergence condition"
            raise ScenarioError("linearization", self.linearization, why, f"γ > max L_i / 2 = {bound:.6g}")
        self._refuse_regularizer(setting, "kind", type(self).__name__)

    def inner(self, setting: Setting, agent: int) -> float:
        return min(self._curvatures(setting, agent))

    def _curvatures(self, setting: Setting, agent: int) -> list[float]:
        """2η_i(t)d_i of each pair t."""
        return [2 * self.eta(agent, t) * setting.degree(agent) for t in range(self.pairs)]

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        source = "composition of objective perturbation over every other round"
        return self.claim_of_minimizers(
            adjacency, setting, delta, source, self.pairs, lambda i: self._curvatures(setting, i)
        )


@dataclass(frozen=True)
class RAdmm(_Recycled):
    """R-ADMM: every other round touches no data; noise in the objective (no ℓ1)."""

    penalty: Annotated[Positive, BALANCED]
    """η, the penalty of the augmented Lagrangian."""

    stackable = True

    def eta(self, agent: int, t: int) -> float:  # noqa: ARG002
        return self.penalty

    @property
    def theta(self) -> float:
        return self.penalty

    @property
    def summary(self) -> str:
        return f"R-ADMM, every other round recycled; {self.noise_in_words} in the objective."


@dataclass(frozen=True)
class MrAdmm(_Recycled):
    """MR-ADMM: R-ADMM whose penalties grow and differ: η_i(t) = min(`most`, factor_i · `penalty`(t)).

    They never fall, and are `dual_step` at least.
    """

    penalty: Annotated[
        Schedule, Auto("L/(2·mean degree), growing by 1 % a pair of rounds", lambda at: Geometric(balanced(at), 1.01))
    ]
    """The penalty of the augmented Lagrangian, by pairs of rounds."""
    dual_step: Annotated[
        Positive,
        Auto(
            "the least η_i(0)",
            lambda at: min(at.penalty(0) * min(at.factors, default=1.0), math.inf if at.most is None else at.most),
        ),
    ]
    """θ, the step of the dual."""
    factors: tuple[Positive, ...] = ()
    """A factor of the penalty for each agent; none: 1."""
    most: Positive | None = None
    """What the penalty grows to at most."""

    stackable = True

    def eta(self, agent: int, t: int) -> float:
        eta = (self.factors[agent] if self.factors else 1.0) * self.penalty(t)
        return eta if self.most is None else min(self.most, eta)

    @property
    def theta(self) -> float:
        return self.dual_step

    @property
    def summary(self) -> str:
        return f"MR-ADMM, every other round recycled, growing penalties; {self.noise_in_words} in the objective."

    def check(self, setting: Setting) -> None:
        """0 < θ ≤ η_i(t) ≤ η_i(t + 1), and what every form needs."""
        whole(self.rounds, "rounds", 1)
        check(self)
        if self.factors and len(self.factors) != setting.agents:
            why = "not one factor for each agent"
            raise ScenarioError("factors", len(self.factors), why, f"none, or {setting.agents} factors")
        for i in range(setting.agents):
            least = self.dual_step
            for t in range(self.pairs):
                if not least * (1 - 1e-12) <= self.eta(i, t) < math.inf:
                    why = f"η_{i}({t}) is below θ or the penalty before it"
                    raise ScenarioError("penalty", self.eta(i, t), why, f"finite and >= {least:.6g}")
                least = self.eta(i, t)
        super().check(setting)
