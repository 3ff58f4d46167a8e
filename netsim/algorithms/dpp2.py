"""DPP²: a primal-dual method of two exchanges a round whose dual variables are relayed through what is sent.

In round k = 0, 1, … with d⁰ = q⁰ = 0, every agent i

    y  = x + (1 − η_k) d + w                              1    y goes to the neighbors
    z  = ∇f(x) + η_k q + ρ(Py)_i + e                      2    z goes to the neighbors
    x⁺ = x + w − α(z − e) + β(Pz)_i                       3
    d⁺ = η_k d + y                                        4
    q⁺ = η_k q + ρ(Py)_i                                  5

with w_i, e_i Laplace of the scales u_{w,i} r_i^k and u_{e,i} r_i^k per coordinate, and public η_k. An agent takes
its own e out of z, not its neighbors'. P is symmetric, positive semidefinite, P·1 = 0: I − W here unless you say
otherwise.

Source: the DPP² paper, (16)–(19) and Algorithm 1. Open there: the law of η_k, "randomly generated within the interval
(0, 1)" and "predetermined as an input to the algorithm" (Section III-A): uniform here, one sequence for all agents;
x⁰, "arbitrary": 0 here unless `start` is given; P, of which it says "We can determine P as a graph Laplacian matrix".

Laws: d^k = Σ_{t<k}(x^t + w^t), q^k = ρPd^k, Σ_i q_i = 0, and x does not depend on η. With G = αI − βP,
x⁺ = x + w − G(∇f(x) + q⁺) + βPe, so G has to be positive: λ_max(P) < α/β. The paper's α = 0.1, β = 0.05 break that
with the graph's Laplacian for P, whose λ_max is at least 2 on every graph: on the paper's the iterates overflow.

Claim (Theorem 3): ε_i = Σ_{k=1}^K √d(1/(αu_{e,i}) + 1/u_{w,i}) αδ/(r_i^k(1 − αM̄)) for agents whose gradients change
by at most δ in ℓ2, M̄ = max_i L_i, αM̄ < 1; the largest over the agents. Rounds are k = 0 … K by Algorithm 1: K is
`rounds` − 1 here. By "K as the number of iterations" (Table I; "K = 500 iterations", Section VI) K is `rounds`.

Convergence (Theorems 1, 2): for parameters "selected by (24)–(27)"; `Parameters` has these conditions and constants.

What is true of it:

- Exact for r < 1: noise that dies out leaves no error. How soon depends on the slowest mode of the plain method: at
  r = 0.9, k = 500 the gap is 1e-12 on small problems, and can be 1e-1 on badly conditioned ones of the paper's size.
- With K = `rounds` Theorem 3 holds: round k loses at most √dδ(1/u_e + α/u_w)/((1 − αM̄)r^k), and Σ_{k<K} r^{−k} ≤
  Σ_{k=1}^K r^{−k}. By Algorithm 1's count the sum omits k = 0, in which z⁰ = ∇f(x⁰) + e⁰ is released, at a cost of up
  to √dδ/u_e. At the paper's αM̄ ≈ ½ what the last step of its proof drops is more than that from K = 3 on, for
  every r, and the formula holds. At steps that meet (27) it is less: for every K an objective of
  curvature −M̄ loses more than that.
- The sum grows as r^{−K}, at r = 0.9, K = 500 to some 1e24 for scales, α and δ of order 1. For no r ≤ 1 is the budget
  of all rounds finite.
- d grows without bound: it is k times the mean iterate. η_k hides nothing: every agent knows it, so d and q follow
  from the y and z that are sent, up to noise that dies out. An outsider on all links fits η, too
  (`attacks.closed_form.dpp2`).
- The paper's experiment is outside the conditions of Theorems 1 and 2: (27) needs α < ξ₆/ξ₇ = 9.2e-4 at M̄ = 5.03 on
  every graph, and α is 0.1; with P = I − W on a graph of its size (25) needs ρ > 143, and ρ is 10.
  Theorem 2 needs the P-Ł condition, too, which no logistic loss meets: its gradient is bounded, and f is not.
- Theorems 1 and 2 fail inside their conditions, too. Where all x_i⁰ = x* their V̂⁰ is 0, and so but for noise are
  their bounds; yet agents whose ∇f_i(x*) differ leave x*. The V̂⁰ of (53), which the proofs bound, has ‖∇f̃(x̄⁰)‖²_K
  where the theorems print (1/N)‖Σ∇f_i(x_i⁰)‖². Lemma 1 fails there as well: on a complete graph V¹ − V⁰ =
  ½λ̄_G²(1 − c̄_θ)‖s⁰‖²_K > 0, as (46) keeps (5/2)γ‖s‖² of ½‖g − g_a + s‖², and (5/2)γ < ½. And (58) has N‖∇f(x̄)‖²
  for ‖ḡ_a‖², which is ‖∇f(x̄)‖²/N: Theorem 2's ανN/4 is N² times too large.
- Lemma 2, and with it the noise terms of Theorems 1 and 2, bound E‖w^k‖² by 2Nr̄^{2k}ū². Laplace noise in d
  coordinates has 2dNr̄^{2k}ū²: the terms are d times too small.
- Corollary 1 does not follow from Theorem 3: of the sum Σ_{k=1}^K r^{−k} ≤ ε/c̃ its last term alone is above ε/c̃ where
  r^{K−1} is just above c̃/ε, and K terms are where r is near 1 and ε/c̃ < K.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from netsim.algorithms.algorithm import Factors, InRounds, Setting, silent_release, unmet
from netsim.algorithms.mixing import Matrix, check_smooth, drawn_start, largest_eigenvalue
from netsim.arrays import Array
from netsim.bounds import LARGEST, Auto, NonNegative, Positive
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.mechanisms import Laplace
from netsim.node import Exchange, Node
from netsim.schedules import SILENT, Schedule, UniformDraws, first_outside
from netsim.topology import Topology

_RANDOM = UniformDraws(0.0, 1.0)


def _of_agent(scales: Factors, ratios: Factors, agent: int, k: int) -> float:
    return (scales[agent] if scales else 1.0) * (ratios[agent] ** k if ratios else 1.0)


@dataclass(frozen=True)
class Parameters:
    """α, β, ρ, M̄ and the extreme positive eigenvalues of P: what (23)–(27) and Theorems 1 and 2 are made of.

    By (15) λ̄_G = α − βλ_L and λ_G = α − βλ̄_L, so that κ_G, κ_L and c̄_α = α/λ̄_G are known, and the equation of (27)
    holds; c̄_θ and γ are free. Public.
    """

    step: float
    """α."""
    beta: float
    """β."""
    rho: float
    """ρ."""
    smoothness: float
    """M̄."""
    least: float
    """λ_L, the least eigenvalue of P above 0."""
    largest: float
    """λ̄_L, the largest eigenvalue of P."""

    @property
    def upper(self) -> float:
        """λ̄_G, the second largest eigenvalue of G = αI − βP."""
        return self.step - self.beta * self.least

    @property
    def spread(self) -> float:
        """κ_G; negative where G is not positive."""
        return self.upper / (self.step - self.beta * self.largest)

    def xi(self, theta: float, gamma: float) -> tuple[float, ...]:
        """ξ₁ … ξ₉ of (23), for c̄_θ = `theta` and γ = `gamma`."""
        square, rho, c_alpha = self.smoothness**2, self.rho, self.step / self.upper
        room, descent = 1 / self.spread - theta, theta / 2 - 5 * gamma / 2
        cost = 1 + 3 * square / 4 + square * c_alpha / 2
        return (
            rho * self.largest / 2 * room - cost,
            (1 + 1 / gamma) * rho**2 * self.largest / 2
            + theta / 4
            + theta * rho * self.largest / 2
            + 11 / 4
            + square * (2 / gamma + theta * rho * self.largest / 4 + theta**2 / 2),
            descent - 1 / (rho * self.least) ** 2,
            theta**2 / 4,
            7 * theta**2 / 4,
            1 / 4,
            self.smoothness + 21 / 2 * square,
            4 * cost / (2 * self.largest * room),
            1 / math.sqrt(self.least**2 * descent),
        )

    def free(self) -> tuple[float, float]:
        """c̄_θ and γ of (24) at which the bound of (26) on λ̄_G is largest, to a grid of 100 by 100."""
        grid = (np.arange(100) + 0.5) / 100
        points = [(theta, share * theta / 5) for theta in grid / self.spread for share in grid]
        return max(points, key=lambda at: self.bound(*at))

    def bound(self, theta: float, gamma: float) -> float:
        """The right side of (26), −∞ where (25) fails."""
        xi1, xi2, xi3, xi4, xi5, xi6, xi7, xi8, xi9 = self.xi(theta, gamma)
        if self.rho <= max(xi8, xi9):
            return -math.inf
        root = (math.sqrt(xi4**2 + 4 * xi3 * xi5) - xi4) / (2 * xi5)
        return min(xi1 / xi2, root, xi6 * self.upper / (self.step * xi7))

    def unmet(self) -> tuple[str, ...]:
        """The inequalities of (24)–(27) that hold for no c̄_θ and γ.

        Of (25), ξ₈ grows with c̄_θ and ξ₉ falls from ∞: their maximum is least where they are equal.
        """
        if not (self.beta > 0 and 0 < self.spread < math.inf):
            return ("(24): G = αI − βP with β > 0 is not positive",)
        from scipy.optimize import brentq  # takes its time to load

        tiny = 1e-12  # ξ₉ falls with γ, too

        def apart(share: float) -> float:
            xi8, xi9 = self.xi(share / self.spread, tiny * share)[7:]
            return math.log(xi8 / xi9)

        share = brentq(apart, 1e-9, 1 - 1e-9)
        *_, xi6, xi7, least, _ = self.xi(share / self.spread, tiny * share)
        most = self.bound(*self.free())
        return unmet(
            (self.rho > least, f"(25): ρ = {self.rho:.6g} is not above {least:.6g}"),
            (
                self.upper < most,
                f"(26): λ̄_G = {self.upper:.6g} is not below "
                + (f"{most:.6g}" if most > 0 else "any number, as (25) fails"),
            ),
            (self.step < xi6 / xi7, f"(27): α = {self.step:.6g} is not below ξ₆/ξ₇ = {xi6 / xi7:.6g}"),
        )


@dataclass(frozen=True)
class Dpp2(InRounds):
    """DPP²: two exchanges a round, dual variables hidden in what is sent, Laplace noise on both."""

    step: Annotated[Positive, Auto("1/(2L)", lambda at: 0.5 / at.smoothness)]
    """α, the step size."""
    beta: Annotated[
        NonNegative, Auto("α/(2λ_max(P))", lambda at: at.step / (2 * largest_eigenvalue(at.matrix, at.topology)))
    ]
    """β of the method."""
    rho: Annotated[
        Positive, Auto("2L/λ_max(P)", lambda at: 2 * at.smoothness / largest_eigenvalue(at.matrix, at.topology))
    ]
    """ρ of the method."""
    eta: Schedule = _RANDOM
    """η_k of the method, public and the same at all agents; the paper's are random in (0, 1), or one number there. 1
    sends no dual variable along with x."""
    scale_w: Schedule = SILENT
    """The Laplace scale of the noise on y, per coordinate, by round; the paper's is geometric."""
    scale_e: Schedule = SILENT
    """The Laplace scale of the noise on z, per coordinate, by round; the paper's is geometric."""
    matrix: Matrix = "mixing"
    """Which matrix P is."""
    agent_scale_w: Factors = ()
    """By what `scale_w` is multiplied at each agent, for u_{w,i}; none: by 1 at all."""
    agent_scale_e: Factors = ()
    """By what `scale_e` is multiplied at each agent, for u_{e,i}; none: by 1 at all."""
    agent_ratio: Factors = ()
    """By what both scales of an agent are multiplied once more in each round, for r_i; none: by 1 at all."""
    start: NonNegative = 0.0
    """Each coordinate of every x_i⁰ is uniform on [0, start], by its agent's private coins (an audit's adversary
    knows them); 0: x⁰ = 0."""

    noise_fields = ("scale_w", "scale_e")
    stackable = True

    async def run(self, node: Node) -> None:
        x = drawn_start(node, self.start)
        d = q = node.zeros()
        for k in range(self.rounds):
            eta = self.eta(k)
            hidden = (1 - eta) * d
            received = await node.exchange(y=node.privatize(x + hidden, Laplace(self.noise_w(node.id, k))))  # 1
            y = received.sent("y")
            dual = eta * q + self.rho * self._coupled(received, "y")  # 5
            z = await node.gradient(x) + dual  # 2, without e
            received = await node.exchange(z=node.privatize(z, Laplace(self.noise_e(node.id, k))))
            x = y - hidden - self.step * z + self.beta * self._coupled(received, "z")  # 3
            d, q = eta * d + y, dual  # 4
            node.estimate(x)

    def noise_w(self, agent: int, k: int) -> float:
        """The Laplace scale of an agent's noise on y in round k, u_{w,i} r_i^k; public."""
        return self.scale_w(k) * _of_agent(self.agent_scale_w, self.agent_ratio, agent, k)

    def noise_e(self, agent: int, k: int) -> float:
        """The Laplace scale of an agent's noise on z in round k, u_{e,i} r_i^k; public."""
        return self.scale_e(k) * _of_agent(self.agent_scale_e, self.agent_ratio, agent, k)

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
        for name, value in (("beta", self.beta), ("rho", self.rho), ("start", self.start)):
            if not 0 <= value < math.inf:
                raise ScenarioError(name, value, "out of range", ">= 0 and finite")
        check_smooth(setting, "DPP²")
        self._check_factors(("agent_scale_w", "agent_scale_e", "agent_ratio"), setting.agents)
        k = first_outside(self.eta, self.rounds, -LARGEST, LARGEST)
        if k is not None:
            raise ScenarioError("eta", self.eta(k), f"η_{k} has no square", f"numbers up to {LARGEST:g}")
        smoothness = max(setting.smoothness)
        if not 0 < self.step < 2 / smoothness:
            raise ScenarioError("step", self.step, "unstable", f"0 < α < 2/L = {2 / smoothness:.6g}")
        if setting.topology is None:
            return
        largest = largest_eigenvalue(self.matrix, setting.topology)
        if self.beta * largest >= self.step:
            name = "the graph's Laplacian" if self.matrix == "laplacian" else "I − W"
            why = f"αI − βP is not positive: λ_max(P) = {largest:.6g} for P = {name}"
            raise ScenarioError("beta", self.beta, why, f"0 <= β < α/λ_max(P) = {self.step / largest:.6g}")
        p = np.linspace(0, largest, 2001)[1:]
        bound = float(np.min((4 / (self.step - self.beta * p) - 2 * smoothness) / p))
        if not 0 < self.rho < bound:
            why = "unstable: (α − βp)(2L + ρp) reaches 4 at some p up to λ_max(P)"
            raise ScenarioError("rho", self.rho, why, f"0 < ρ < {bound:.6g}")

    def unproven(self, setting: Setting) -> tuple[str, ...] | None:
        """The inequalities of (24)–(27) that fail; None without a topology.

        c̄_θ and γ are free in the theorems: each of the first three is taken at those that make it easiest.
        """
        if setting.topology is None or setting.agents < 2:
            return None
        return self.parameters(setting.topology, max(setting.smoothness)).unmet()

    def parameters(self, topology: Topology, smoothness: float) -> "Parameters":
        """What Theorems 1 and 2 call the parameters, for M̄ = `smoothness`."""
        if self.matrix == "laplacian":
            laplacian = np.diag(topology.degrees) - topology.adjacency.toarray()
        else:
            laplacian = np.eye(topology.agents) - topology.weights
        p = np.linalg.eigvalsh(laplacian)
        return Parameters(self.step, self.beta, self.rho, smoothness, float(p[1]), float(p[-1]))

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
            alike = not (self.agent_scale_w or self.agent_scale_e or self.agent_ratio)
            epsilon = weight * max(
                math.fsum(1 / (self.step * self.noise_e(i, k)) + 1 / self.noise_w(i, k) for k in rounds)
                for i in range(1 if alike else setting.agents)
            )
        return Claim(epsilon, 0.0, "DPP², Theorem 3", adjacency, "ℓ2", failed, coins="known")
