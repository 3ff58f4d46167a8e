"""D-ADMM with exact inner problems, with noise on the primal (PVP), on the dual (DVP) or in the penalty (M-ADMM).

x_i = λ_i = 0 and x̃_i = 0 are public at first. In round k agent i, with d_i neighbors and the penalty
η = η_i(k) = η(0)·growth^k, over d_i where it is `divided`,

    x_i ← argmin f_i(x) + r(x) + 2⟨μ_i, x⟩ + η Σ_j ‖x − (x̃_i + x̃_j)/2‖²               1
        = argmin f_i + r + ‖x − v‖²/(2s),   v = ½ x̃_i + ½ mean_j x̃_j − μ_i/(ηd_i),   s = 1/(2ηd_i)
    sends x̃_i                                                                          2
    λ_i ← λ_i + (θ/2) Σ_j (x̃_i − x̃_j),   θ = η(0) if `dual_step` says nothing else      3

    primal (PVP)   μ_i = λ_i,       x̃_i = x_i + w: midpoints and duals take x̃ at both ends, x_i serves nothing further
    dual (DVP)     μ_i = λ_i + w,   x̃_i = x_i: λ_i itself stays clean. 2⟨w, x⟩ is objective perturbation by b = 2w
    penalty        each midpoint is moved by −w: objective perturbation by b = 2ηd_i w

With `shares` v is θ'∘x̃_i + (1 − θ')∘mean_j x̃_j − μ_i/(ηd_i), θ' ~ U(0, 1) for each agent, round and coordinate,
public draws: penalties Γ_i = 2ηd_iθ' of the own state and 2ηd_i(1 − θ') of the neighbors', whose sum is fixed.

It minimizes Σ f_i + n r (with noise in the objective: r = 0 only, for the density of a minimizer); Σ λ_i = 0 under
any noise, θ being the same at all agents.

Source: T. Zhang, Q. Zhu, Dynamic differential privacy for ADMM-based distributed classification learning, IEEE TIFS
2017, Algorithms 1–3. How sure: D-ADMM high; where the noise enters fair. There DVP's noise has density ∝ exp(−ζ‖ε‖₂)
and is scaled by C/(2B_i), B_i the number of records; here w is Laplace or Gaussian per coordinate with scale `scale`.
Penalties that grow, η_i(k) ≥ θ: X. Zhang, Khalili, Liu, ICML 2018 (M-ADMM), as H. Xiao, MIT 2019, Appendix E, has
them; that the noise moves the midpoints is inferred. `shares`: Xiao's (1.6) and (3.1), where each f_i is minimized
exactly, with Γ_i + ρ_id_i = D = 2ηd_i (`divided`, η(0) = D/2) and ζ = θ; there they are private.

Claims. G bounds ‖∇f_i − ∇f_i'‖₂.

- primal: given the transcript, v is the same in both worlds, so x_i moves by G/(2ηd_i + μ_i − ρ_i), μ_i the strong
  and ρ_i the weak convexity of f_i. Composition of the mechanism; the paper's own theorem for PVP is not at hand.
- dual, penalty: as in Theorem 1 of the paper, a term for the noise and one for the Jacobian of b ↦ x, summed over the
  rounds. Both are those of `netsim.algorithms.composition`, with κ = 2ηd_i − ρ_i and b as above, not the paper's:
  noise of density ∝ exp(−ζ‖ε‖₂) needs no √d, and the paper counts the ridge in κ too, which is not done here.

Where f_i is not convex all ask for 2ηd_i > ρ_i: below it the inner problem has no single minimizer. There the claims
without ρ_i are exceeded.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from netsim.algorithms.algorithm import InRounds, Setting
from netsim.algorithms.composition import BALANCED, Noisy
from netsim.arrays import whole
from netsim.bounds import Index, Positive
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.node import Node
from netsim.randomness import Streams


@dataclass(frozen=True)
class ExactInner(Noisy):
    """An algorithm whose agents solve inner problems of curvature 1/s = 2ηd_i and release the minimizers."""

    penalty: Annotated[Positive, BALANCED]
    """η, the penalty of the augmented Lagrangian."""

    def inner(self, setting: Setting, agent: int) -> float:
        return 2 * self.penalty * setting.degree(agent)

    def curvatures(self, setting: Setting, agent: int, releases: int) -> list[float]:
        """2ηd_i of each release."""
        return [self.inner(setting, agent)] * releases

    def claim_of_primal(self, adjacency: Adjacency, setting: Setting, delta: float, releases: int) -> Claim:
        """Composition of releases of exact minimizers, each of which moves by G/(2ηd_i + μ_i − ρ_i)."""

        def moves(i: int) -> list[float]:
            convexity = setting.convexity(i)
            return [
                adjacency.gradient_change / (kappa + convexity) for kappa in self.curvatures(setting, i, releases)
            ]

        source = f"composition of the {self.noise.capitalize()} mechanism over the releases of exact minimizers"
        return self.claim_of_moves(adjacency, setting, delta, source, releases, moves)


@dataclass(frozen=True)
class DAdmm(ExactInner, InRounds):
    """D-ADMM with exact inner problems; noise on the primal that is sent (PVP), or in the objective (no ℓ1)."""

    perturbation: Literal["primal", "dual", "penalty"] = "primal"
    """What carries the noise: the primal, the dual, or the midpoints of the penalty."""
    dual_step: Positive | None = None
    """θ, the step of the dual; none: η(0)."""
    growth: Annotated[float, Ge(1)] = 1.0
    """By what η grows from one round to the next."""
    divided: bool = False
    """Whether `penalty` is shared by an agent's links: η_i = penalty/d_i."""
    shares: Index | None = None
    """The seed of public draws from (0, 1), the own share of each agent's midpoints by round and coordinate; none:
    ½."""

    stackable = True

    async def run(self, node: Node) -> None:
        d, theta = len(node.neighbors), self.penalty if self.dual_step is None else self.dual_step
        x = dual = sums = node.zeros()
        for k in range(self.rounds):
            eta = self.penalty * self.growth**k / (d if self.divided else 1)
            middle, step = sums / (2 * d), 1 / (2 * eta * d)
            if self.shares is not None:
                share = Streams(self.shares).generator("share", node.id, k).random(node.dimension)
                middle = share * x + (1 - share) * (sums / d - x)
            v = middle - dual / (eta * d)
            if self.perturbation == "primal":
                exact = await node.proximal(v, step, regularized=True)  # 1
                sent = node.privatize(exact, self.mechanism(k))
            else:
                factor = 2.0 if self.perturbation == "dual" else 2 * eta * d
                exact = sent = await node.perturbed_proximal(v, step, self.mechanism(k, factor))  # 1
            received = await node.exchange(x=sent)  # 2
            dual = dual + theta / 2 * received.apart("x")  # 3
            x = received.sent("x")
            sums = d * x + received.sum("x")
            node.estimate(exact)

    @property
    def summary(self) -> str:
        where = {"primal": "what is sent", "dual": "the dual", "penalty": "the penalty"}[self.perturbation]
        how = ", random penalties" if self.shares is not None else ", growing penalties" if self.growth > 1 else ""
        return f"D-ADMM, exact inner problems{how}; {self.noise_in_words} on {where}."

    def check(self, setting: Setting) -> None:
        """What every form needs; no r where the objective is perturbed; one θ for all agents."""
        super().check(setting)
        if self.perturbation not in ("primal", "dual", "penalty"):
            raise ScenarioError("perturbation", self.perturbation, "no such perturbation", "primal, dual, penalty")
        if self.shares is not None:
            whole(self.shares, "shares", 0)
        if self.perturbation != "primal":
            self._refuse_regularizer(setting, "perturbation", self.perturbation)
        theta = self.dual_step
        if (theta is None and self.divided) or (theta is not None and not 0 < theta < math.inf):
            raise ScenarioError("dual_step", theta, "not a step that all agents have", "a number > 0")

    def inner(self, setting: Setting, agent: int) -> float:
        return 2 * self.penalty * (1 if self.divided else setting.degree(agent))

    def curvatures(self, setting: Setting, agent: int, releases: int) -> list[float]:
        return [self.inner(setting, agent) * self.growth**k for k in range(releases)]

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        if self.perturbation == "primal":
            return self.claim_of_primal(adjacency, setting, delta, self.rounds)
        source = "composition of objective perturbation; in the manner of Zhang and Zhu 2017, Theorem 1"

        def curvatures(i: int) -> list[float]:
            return self.curvatures(setting, i, self.rounds)

        factors = curvatures if self.perturbation == "penalty" else 2.0
        return self.claim_of_minimizers(adjacency, setting, delta, source, self.rounds, curvatures, factors)
