"""RECAL: a baton (u, x) walks the graph and only its holder computes; DP-RECAL: the baton carries Gaussian noise.

RECAL's holder i of the baton (u, x), with dual λ_i, copy y_i, coupling β = 1/(2(n+1)) and step α_i ∈ (0, 2/(L_i+1)):

    λ½ = λ_i + β(x − y_i)                                1
    x⁺ = prox_{n r}(x − (u + λ½ − λ_i))                  2
    y⁺ = y_i − α_i(∇f_i(y_i) − λ½)                       3
    λ⁺ = λ½ + β[(x⁺ − x) − (y⁺ − y_i)]                   4    ( = λ_i + β(x⁺ − y⁺) )
    u⁺ = u + λ⁺ − λ_i                                    5

and (u⁺, x⁺) goes to a neighbor drawn uniformly. It starts from u = λ = 0 and any public x¹ and y_i¹, and minimizes
Σ f_i + n r.

Source: the DP-RECAL paper, (7) and Algorithm 1; RECAL is its non-private algorithm. Of its two versions the first
counts an agent's activations as local communication involvement (LCI), the second as Privacy Leakage Frequency (PLF);
items are numbered as in the second unless the first is named. Its Appendix A lets the adversary know y_i¹ and λ_i¹.
"""

import itertools
import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Literal, NamedTuple, Self, get_args

import numpy as np
from annotated_types import Ge

from netsim.algorithms.algorithm import Algorithm, Setting, Stopping, unmet
from netsim.algorithms.composition import zcdp_epsilon
from netsim.arrays import Array, unknown
from netsim.bounds import Auto, Count, Index, NonNegative, Positive
from netsim.claims import Adjacency, Claim
from netsim.errors import PrivacyError, ScenarioError
from netsim.mechanisms import Gaussian
from netsim.node import Node, choose
from netsim.randomness import Streams
from netsim.shown import show


def coupling(agents: int) -> float:
    """β = 1/(2(n+1))."""
    return 1 / (2 * (agents + 1))


class _Own(NamedTuple):
    """What an agent keeps between its activations, PRIVATE: its copy y_i and its dual λ_i."""

    y: Array
    dual: Array


@dataclass(frozen=True)
class Walk(Algorithm):
    """A baton that starts at agent `first` and is stopped after `activations` in all or `per_agent` of one."""

    step: Annotated[Positive, Auto("1/(L + 1)", lambda at: 1 / (at.smoothness + 1))]
    """α, the step size."""
    activations: Count | None = None
    """The walk ends after so many activations of all agents together."""
    per_agent: Count | None = None
    """The walk ends when one agent has been active so often."""
    first: Index = 0
    """The agent that is active first."""

    _: KW_ONLY
    steps: Annotated[
        tuple[Positive, ...],
        Auto("1/(L_i + 1) of each agent", lambda at: tuple(1 / (own + 1) for own in at.smoothnesses)),
    ] = ()
    """α_i of each agent, by number; none: `step` for all."""
    start: NonNegative = 0.0
    """Each coordinate of x¹ and of every y_i¹ is uniform on [−start, start], by public coins; 0: all are 0."""
    start_seed: Index = 0
    """The seed of these coins."""

    def check(self, setting: Setting) -> None:
        """Steps in (0, 2/(L_i + 1)), a first holder that exists, an end."""
        if self.steps and len(self.steps) != setting.agents:
            why = "not one for each agent"
            raise ScenarioError("steps", len(self.steps), why, f"{setting.agents} numbers, or none")
        largest = max(setting.smoothness)
        own = [(f"steps[{i}]", self.steps[i], setting.smoothness[i]) for i in range(len(self.steps))]
        for name, step, smoothness in own or [("step", self.step, largest)]:
            bound = 2 / (smoothness + 1)
            if not 0 < step < bound:
                allowed = f"0 < step < 2/(L+1) = {bound:.6g}"
                raise ScenarioError(name, step, "outside the convergence condition", allowed)
        if not 0 <= self.start < math.inf:
            raise ScenarioError("start", self.start, "out of range", ">= 0 and finite")
        self.stopping().check(self.first, setting.agents)

    def stopping(self) -> Stopping:
        return Stopping(self.activations, self.per_agent)

    def step_of(self, agent: int) -> float:
        """α_i."""
        return self.steps[agent] if self.steps else self.step

    def starts(self, agents: int, dimension: int) -> tuple[Array, Array]:
        """x¹, (dimension,), and every y_i¹, (agents, dimension); public."""
        if self.start == 0:
            return np.zeros(dimension), np.zeros((agents, dimension))
        drawn = Streams(self.start_seed).generator("start").uniform(-self.start, self.start, (agents + 1, dimension))
        return drawn[0], drawn[1:]

    def starting_point(self, agents: int, dimension: int) -> Array:
        return self.starts(agents, dimension)[0]

    def begin(self, node: Node) -> tuple[_Own, Array]:
        """What an agent starts from, and x¹."""
        x, y = self.starts(node.agents, node.dimension)
        return _Own(node.zeros() + y[node.id], node.zeros()), node.zeros() + x

    async def moved(self, node: Node, own: _Own, x: Array, half: Array, x_new: Array) -> _Own:
        """Lines 3 and 4."""
        y_new = own.y - self.step_of(node.id) * (await node.gradient(own.y) - half)
        dual = half + coupling(node.agents) * ((x_new - x) - (y_new - own.y))
        return _Own(y_new, dual)


@dataclass(frozen=True)
class Recal(Walk):
    """RECAL: a baton (u, x) walks the graph and only its holder computes.

    There is no noise and no claim. Exact, with linear convergence for strongly convex sums. Not private: (u, x)
    on the wire determine every gradient (`attacks.closed_form.recal`).
    """

    async def run(self, node: Node) -> None:
        own, x = self.begin(node)
        beta = coupling(node.agents)
        holding = node.id == self.first
        u = node.zeros()
        while True:
            if not holding:
                baton = await node.receive()
                u, x = baton.values["u"], baton.values["x"]
            half = own.dual + beta * (x - own.y)  # 1
            x_new = node.regularizer.proximal(x - (u + half - own.dual), node.agents)  # 2
            new = await self.moved(node, own, x, half, x_new)  # 3, 4
            u_new = u + new.dual - own.dual  # 5
            node.send(choose(node.coins, node.neighbors), u=u_new, x=x_new)
            node.estimate(x_new)
            own, holding = new, False


Sensitivity = Literal["bound", "smoothness"]
Reading = Literal["as_analysed", "as_deployable", "fresh_noise", "sent_state"]
_READINGS: dict[str, str] = {
    "as_analysed": "DP-RECAL as its convergence proof reads: the exact u travels beside its noisy copy",
    "as_deployable": "DP-RECAL as it could be deployed: only the noisy ũ and x⁺ are sent",
    "fresh_noise": "An attempt at a repair: fresh noise also inside the proximal step that makes x⁺",
    "sent_state": "Repair: after sending, the agent keeps what it sent and forgets its exact state",
}


@dataclass(frozen=True)
class DPRecal(Walk):
    """DP-RECAL: RECAL whose baton carries ũ = u + Gaussian noise, in one of four readings. The walk ends when one
    agent has been active `per_agent` times (Θ).

    At its τ-th activation (τ = 1, 2, …) an agent does RECAL's lines 1–5 with ũ in place of u and then sends

        ũ⁺ = u⁺ + N(0, σ_τ² I),  σ_τ² = σ₁² R^{−(τ−1)},   and   x⁺.

    The paper's text can be read in two ways, and there are two attempts at a repair (`reading`):

        as_analysed    as the convergence proof reads: the exact u travels beside ũ, u⁺ = u + λ⁺ − λ_i on line 5,
                       and noise enters one x-update
        as_deployable  only ũ and x⁺ are sent, u⁺ = ũ + λ⁺ − λ_i, and noise accumulates; the paper's accounting
                       needs this
        fresh_noise    as deployable, with noise of the same σ_τ on line 2's argument; the agent goes on with
                       this x⁺
        sent_state     as deployable, then λ_i ← λ_i + (ũ⁺ − ũ) and y_i ← x⁺ − (ũ⁺ − ũ)/β: x⁺ is a function of
                       what was already released

    Claim (Theorem 4): with ρ₁ = 8α²β²c²/σ₁² and ρ = ρ₁ (R^Θ − 1)/(R − 1), (ρ + 2√(ρ ln 1/δ), δ)-DP, where α is the
    largest α_i, c bounds ‖∇f_i‖₂ (adjacent gradients differ by at most 2c) and Θ is the largest number of activations
    of one agent.

    What is true of it:

    - Section III-D: "It is obvious that Gaussian noise ε^k is coupled into the update of x^{k+1} when u^{k+1} is
      perturbed, so no additional protection is required for the passing of x^{k+1}." Yet for r = 0,
      x⁺ = x − ũ − β(x − y_i) reveals y_i, then λ_i, then every gradient but the last, exactly, at any ε: the first
      two readings are unprotected (`attacks.closed_form.recal`). ``as_analysed`` puts the exact u on the wire
      besides, which the paper's Algorithm 1 does not send.
    - Assumption 3, ‖∇f_i‖ ≤ c, holds for no c where f_i is strongly convex, as with the ½‖x‖² of the paper's
      experiments, read into f_i. The proof of Lemma 5 has c for ‖∇f_D − ∇f_D̂‖ ≤ 2c alone: that is what c is here.
    - Theorem 3 of the first version has L = max L_i for c, which bounds no change of the data: a target that is
      replaced in least squares refutes it (scenarios/ledger/dp-recal-v1.yaml).
    - Lemma 5's sensitivity is ‖Δu⁺‖ = αβ‖Δ∇f‖ ≤ 2αβc if the state (y_i, λ_i) is the same in both worlds; the formula
      uses 4αβc. The state is *not* the same after the first activation: it has integrated the difference.
    - ``fresh_noise`` hides x⁺, yet each release depends on all gradients so far through (y_i, λ_i); Theorem 4's sum
      does not count that. It is refuted for a gradient that changes by a constant vector, on least squares
      (scenarios/ledger/dp-recal-fresh-noise.yaml): no repair.
    - ``sent_state`` makes the state a function of the transcript, so each release has sensitivity 2αβc and nothing
      else needs protection: it is ρ/4-zCDP with Theorem 4's ρ, and the theorem holds for it. The price is noise of
      σ_τ/β on y_i.
    """

    stddev: NonNegative = 0.0
    """σ₁, the standard deviation at the first activation."""
    ratio: Annotated[float, Ge(1)] = 1.0
    """R, by what the variance of the noise falls from one activation to the next; 1: constant noise."""
    reading: Reading = "as_deployable"
    """How the paper's algorithm is read where it leaves something open."""
    sensitivity: Sensitivity = "bound"
    """c of the claim: "bound", half of what adjacent gradients differ by (Theorem 4 of the paper's second version);
    "smoothness", the largest L_i (Theorem 3 of its first version)."""

    noise_fields = ("stddev",)

    async def run(self, node: Node) -> None:
        beta, reading = coupling(node.agents), self.reading
        (own, x), holding = self.begin(node), node.id == self.first
        u = noisy = node.zeros()
        for activation in itertools.count(1):
            if not holding:
                baton = (await node.receive()).values
                noisy, x = baton["u_noisy"], baton["x"]
                u = baton["u"] if reading == "as_analysed" else noisy
            noise = self.noise(activation)
            half = own.dual + beta * (x - own.y)  # 1
            argument = x - (noisy + half - own.dual)
            if reading == "fresh_noise":
                argument = node.privatize(argument, noise)
            x_new = node.regularizer.proximal(argument, node.agents)  # 2
            new = await self.moved(node, own, x, half, x_new)  # 3, 4
            u_new = u + new.dual - own.dual  # 5
            sent = node.privatize(u_new, noise)
            exact = {"u": u_new} if reading == "as_analysed" else {}
            node.send(choose(node.coins, node.neighbors), u_noisy=sent, x=x_new, **exact)
            node.estimate(x_new)
            if reading == "sent_state":
                change = sent - u
                new = _Own(x_new - change / beta, own.dual + change)
            own, holding = new, False

    def noise(self, activation: int) -> Gaussian:
        """The noise of an agent's τ-th activation, τ = 1, 2, …"""
        return Gaussian(self.stddev * self.ratio ** (-(activation - 1) / 2))

    @property
    def summary(self) -> str:
        return _READINGS[self.reading] + ("." if self.noisy else "; here σ = 0, there is no noise.")

    def check(self, setting: Setting) -> None:
        """RECAL's conditions, and R ≥ 1."""
        super().check(setting)
        if self.reading not in _READINGS:
            raise unknown("reading", self.reading, _READINGS)
        if self.sensitivity not in get_args(Sensitivity):
            raise unknown("sensitivity", self.sensitivity, get_args(Sensitivity))
        if not 1 <= self.ratio < math.inf:
            raise ScenarioError("ratio", self.ratio, "the factor by which the variance falls", ">= 1")
        if not 0 <= self.stddev < math.inf:
            raise ScenarioError("stddev", self.stddev, "a standard deviation", ">= 0")

    def unproven(self, setting: Setting) -> tuple[str, ...]:
        """Conditions of Theorems 2 and 3 that fail. Two of three agents may keep the baton for any length of time, on
        any graph, so that ℓ has no bound; in K activations it is some log K (`Run.longest_gap`)."""
        return unmet(
            (
                self.reading == "as_analysed" or not self.noisy,
                "(9b): what is passed on keeps all noise so far, and the theorems' u^k none",
            ),
            (
                self.ratio > 1 or not self.noisy,
                "Theorem 2: Σ‖ε^k‖ < ∞ (Appendix D), yet R = 1: the noise does not fade",
            ),
            (
                setting.agents < 3 or not self.noisy,
                "Theorem 3: (φ/(φ+1))^ℓ R > 1, yet ℓ has no bound for a random walk: no φ and R meet it for good",
            ),
        )

    def rho(self, adjacency: Adjacency, setting: Setting, agent: int | None = None) -> float:
        """Theorem 4's ρ for `setting.releases` activations, with the largest α_i, or with the one of this agent;
        infinite without noise."""
        if self.stddev == 0:
            return math.inf
        step = max(self.steps, default=self.step) if agent is None else self.step_of(agent)
        c = max(setting.smoothness) if self.sensitivity == "smoothness" else adjacency.gradient_change / 2
        first = 8 * (step * coupling(setting.agents) * c / self.stddev) ** 2
        R, terms = self.ratio, setting.releases
        try:
            return first * (terms if R == 1 else math.expm1(terms * math.log(R)) / (R - 1))  # 1 + R + … + R^(Θ−1)
        except OverflowError:
            return math.inf

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float, agent: int | None = None) -> Claim:
        """The theorem with α = max α_i; of one `agent` with its own α_i (Remark 2), for as many activations."""
        of_first = self.sensitivity == "smoothness"
        failed = unmet(
            (self.stddev != 0, "σ₁ = 0: the theorem needs noise"),
            (0 < delta < 1, f"δ = {delta:g} is not in (0, 1)"),
            (of_first or math.isfinite(adjacency.gradient_change), "the change of a gradient has no finite bound c"),
        )
        convex = [i for i in range(setting.agents) if setting.convexity(i) > 0]
        whose = "every f_i is" if len(convex) == setting.agents else f"f_i of {', '.join(map(str, convex[:8]))} is"
        waived = unmet(
            (self.ratio > 1, "R > 1: R = 1, where ρ₁Θ is the limit of ρ₁(R^Θ − 1)/(R − 1)"),
            (
                of_first or not convex,
                f"Assumption 3, ‖∇f_i(x)‖ ≤ c for all x: {whose} strongly convex, so that no c bounds it; the proof "
                "of Lemma 5 uses it for ‖∇f_D − ∇f_D̂‖ ≤ 2c alone, which c is taken from",
            ),
        )
        epsilon = None if failed else zcdp_epsilon(self.rho(adjacency, setting, agent), delta)
        source = "DP-RECAL, first version, Theorem 3" if of_first else "DP-RECAL, Theorem 4"
        return Claim(epsilon, delta, source, adjacency, "ℓ2", failed, waived)

    def calibrated(self, epsilon: float, delta: float, adjacency: Adjacency, setting: Setting) -> Self:
        """The same algorithm with the σ₁ at which Theorem 4 claims (ε, δ) for `setting.releases` activations."""
        if not (epsilon > 0 and 0 < delta < 1):
            raise PrivacyError(f"cannot calibrate to ε = {epsilon:g}, δ = {show(delta)}: need ε > 0 and 0 < δ < 1")
        log = math.log(1 / delta)
        rho = (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2
        unit = replace(self, stddev=1.0).rho(adjacency, setting)
        if unit == math.inf:
            raise PrivacyError(f"cannot calibrate: with R = {self.ratio:g} no σ₁ gives ε = {epsilon:g}")
        return replace(self, stddev=math.sqrt(unit / rho))
