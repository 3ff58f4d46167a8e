"""D-ADMM with exact inner problems, and its two private forms: noise on the primal (PVP) or on the dual (DVP).

x_i = λ_i = 0 and x̃_i = 0 are public at first. In a round agent i, with d_i neighbors,

    x_i ← argmin f_i(x) + r(x) + 2⟨μ_i, x⟩ + η Σ_j ‖x − (x̃_i + x̃_j)/2‖²               1
        = argmin f_i + r + ‖x − v‖²/(2s),   v = Σ_j (x̃_i + x̃_j)/(2d_i) − μ_i/(ηd_i),   s = 1/(2ηd_i)
    sends x̃_i                                                                          2
    λ_i ← λ_i + (η/2) Σ_j (x̃_i − x̃_j)                                                 3

    primal (PVP)   μ_i = λ_i,       x̃_i = x_i + w: midpoints and duals take x̃ at both ends, x_i serves nothing further
    dual (DVP)     μ_i = λ_i + w,   x̃_i = x_i: λ_i itself stays clean. 2⟨w, x⟩ is objective perturbation by b = 2w

It minimizes Σ f_i + n r (DVP: r = 0 only, for the density of a minimizer); Σ λ_i = 0 under any noise.

Source: T. Zhang, Q. Zhu, Dynamic differential privacy for ADMM-based distributed classification learning, IEEE TIFS
2017, Algorithms 1–3. How sure: D-ADMM high; where the noise enters fair. There DVP's noise has density ∝ exp(−ζ‖ε‖₂)
and is scaled by C/(2B_i), B_i the number of records; here w is Laplace or Gaussian per coordinate with scale `scale`.

Claims. G bounds ‖∇f_i − ∇f_i'‖₂.

- primal: given the transcript, v is the same in both worlds, so x_i moves by G/(2ηd_i + μ_i − ρ_i), μ_i the strong
  and ρ_i the weak convexity of f_i. Composition of the mechanism; the paper's own theorem for PVP is not at hand.
- dual: as in Theorem 1 of the paper, a term for the noise and one for the Jacobian of b ↦ x, summed over the rounds.
  Both are those of `netsim.algorithms.composition`, with κ = 2ηd_i − ρ_i and b = 2w, not the paper's: noise of
  density ∝ exp(−ζ‖ε‖₂) needs no √d, and the paper counts the ridge in κ too, which is not done here.

Where f_i is not convex both ask for 2ηd_i > ρ_i: below it the inner problem has no single minimizer. There the claims
without ρ_i are exceeded.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from netsim.algorithms.algorithm import InRounds, Setting
from netsim.algorithms.composition import BALANCED, Noisy
from netsim.bounds import Positive
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.node import Node


@dataclass(frozen=True)
class ExactInner(Noisy):
    """An algorithm whose agents solve inner problems of curvature 1/s = 2ηd_i and release the minimizers."""

    penalty: Annotated[Positive, BALANCED]
    """η, the penalty of the augmented Lagrangian."""

    def inner(self, setting: Setting, agent: int) -> float:
        return 2 * self.penalty * setting.degree(agent)

    def claim_of_primal(self, adjacency: Adjacency, setting: Setting, delta: float, releases: int) -> Claim:
        """Composition of releases of exact minimizers, each of which moves by G/(2ηd_i + μ_i − ρ_i)."""

        def moves(i: int) -> list[float]:
            return [adjacency.gradient_change / (self.inner(setting, i) + setting.convexity(i))] * releases

        source = f"composition of the {self.noise.capitalize()} mechanism over the releases of exact minimizers"
        return self.claim_of_moves(adjacency, setting, delta, source, releases, moves)


@dataclass(frozen=True)
class DAdmm(ExactInner, InRounds):
    """D-ADMM with exact inner problems; noise on the primal that is sent (PVP), or on the dual (DVP, no ℓ1)."""

    perturbation: Literal["primal", "dual"] = "primal"
    """Whether the primal or the dual carries the noise."""

    async def run(self, node: Node) -> None:
        eta, d = self.penalty, len(node.neighbors)
        dual = sums = node.zeros()
        for k in range(self.rounds):
            v, step = sums / (2 * d) - dual / (eta * d), 1 / (2 * eta * d)
            if self.perturbation == "dual":
                x = sent = await node.perturbed_proximal(v, step, self.mechanism(k, 2.0))  # 1
            else:
                x = await node.proximal(v, step, regularized=True)  # 1
                sent = node.privatize(x, self.mechanism(k))
            received = await node.exchange(x=sent)  # 2
            dual = dual + eta / 2 * received.apart("x")  # 3
            sums = d * received.sent("x") + received.sum("x")
            node.estimate(x)

    @property
    def summary(self) -> str:
        where = "what is sent" if self.perturbation == "primal" else "the dual"
        return f"D-ADMM, exact inner problems; {self.noise_in_words} on {where}."

    def check(self, setting: Setting) -> None:
        """What every form needs; no r where the objective is perturbed."""
        super().check(setting)
        if self.perturbation not in ("primal", "dual"):
            raise ScenarioError("perturbation", self.perturbation, "no such perturbation", "primal, dual")
        if self.perturbation == "dual":
            self._refuse_regularizer(setting, "perturbation", self.perturbation)

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        if self.perturbation == "primal":
            return self.claim_of_primal(adjacency, setting, delta, self.rounds)
        source = "composition of objective perturbation; in the manner of Zhang and Zhu 2017, Theorem 1"
        return self.claim_of_minimizers(
            adjacency, setting, delta, source, self.rounds, lambda i: [self.inner(setting, i)] * self.rounds, 2.0
        )
