"""DP-RECAL: RECAL whose baton carries ũ = u + Gaussian noise, as the paper reads, and two changed protocols.

At its τ-th activation (τ = 1, 2, …) an agent does RECAL's lines 1–5 with ũ in place of u and then sends

    ũ⁺ = u⁺ + N(0, σ_τ² I),  σ_τ² = σ₁² R^{−(τ−1)},   and   x⁺.

The paper's text can be read in two ways, and there are two attempts at a repair (`reading`); each is one protocol
below: `as_analysed`, `as_deployable`, `fresh_noise`, `sent_state`.

Claim (Theorem 4): with ρ₁ = 8α²β²c²/σ₁² and ρ = ρ₁ (R^Θ − 1)/(R − 1), (ρ + 2√(ρ ln 1/δ), δ)-DP, where c bounds
‖∇f_i‖₂ (adjacent gradients differ by at most 2c) and Θ is the largest number of activations of one agent.

What is true of it:

- Section III-D: "It is obvious that Gaussian noise ε^k is coupled into the update of x^{k+1} when u^{k+1} is
  perturbed, so no additional protection is required for the passing of x^{k+1}." Yet for r = 0,
  x⁺ = x − ũ − β(x − y_i) reveals y_i, then λ_i, then every gradient but the last, exactly, at any ε: the first
  two readings are unprotected (`attacks.closed_form.recal`). ``as_analysed`` puts the exact u on the wire
  besides, which the paper's Algorithm 1 does not send.
- Lemma 5's sensitivity is ‖Δu⁺‖ = αβ‖Δ∇f‖ ≤ 2αβc if the state (y_i, λ_i) is the same in both worlds; the
  formula uses 4αβc. The state is *not* the same after the first activation: it has integrated the difference.
- ``fresh_noise`` hides x⁺, yet each release depends on all gradients so far through (y_i, λ_i); Theorem 4's
  sum does not count that. It is refuted for a gradient that changes by a constant vector, on least squares
  (scenarios/ledger/dp-recal-fresh-noise.yaml): no repair.
- ``sent_state`` makes the state a function of the transcript, so each release has sensitivity 2αβc and
  nothing else needs protection: it is ρ/4-zCDP with Theorem 4's ρ, and the theorem holds for it.
  The price is noise of σ_τ/β on y_i.
"""

import itertools
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

from annotated_types import Ge

from netsim.algorithms.algorithm import Setting
from netsim.algorithms.composition import zcdp_epsilon
from netsim.algorithms.recal import Own, Walk, coupling, geometric_sum, update
from netsim.arrays import unknown
from netsim.bounds import NonNegative
from netsim.claims import Adjacency, Claim
from netsim.errors import PrivacyError, ScenarioError
from netsim.mechanisms import Gaussian
from netsim.node import Node, choose

Reading = Literal["as_analysed", "as_deployable", "fresh_noise", "sent_state"]
"""The names of `READINGS`."""


@dataclass(frozen=True)
class DPRecal(Walk):
    """DP-RECAL in one of its readings; the walk ends when one agent has been active `per_agent` times (Θ)."""

    stddev: NonNegative = 0.0
    """σ₁, the standard deviation at the first activation."""
    ratio: Annotated[float, Ge(1)] = 1.0
    """R, by what the variance of the noise falls from one activation to the next; 1: constant noise."""
    reading: Reading = "as_deployable"
    """How the paper's algorithm is read where it leaves something open."""

    @property
    def noisy(self) -> bool:
        return self.stddev > 0

    @property
    def summary(self) -> str:
        text = (READINGS[self.reading].__doc__ or "").splitlines()[0].removesuffix(".")
        return text + ("." if self.noisy else "; here σ = 0, there is no noise.")

    def noise(self, activation: int) -> Gaussian:
        """The noise of an agent's τ-th activation, τ = 1, 2, …"""
        return Gaussian(self.stddev * self.ratio ** (-(activation - 1) / 2))

    async def run(self, node: Node) -> None:
        await READINGS[self.reading](self, node)

    def check(self, setting: Setting) -> None:
        """RECAL's conditions, and R ≥ 1."""
        super().check(setting)
        if self.reading not in READINGS:
            raise unknown("reading", self.reading, READINGS)
        if not 1 <= self.ratio < math.inf:
            raise ScenarioError("ratio", self.ratio, "the factor by which the variance falls", ">= 1")
        if not 0 <= self.stddev < math.inf:
            raise ScenarioError("stddev", self.stddev, "a standard deviation", ">= 0")

    def rho(self, adjacency: Adjacency, setting: Setting) -> float:
        """Theorem 4's ρ; infinite without noise."""
        if self.stddev == 0:
            return math.inf
        c = adjacency.gradient_change / 2
        first = 8 * (self.step * coupling(setting.agents) * c / self.stddev) ** 2
        return first * geometric_sum(self.ratio, setting.releases)

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        failed: list[str] = []
        if self.stddev == 0:
            failed.append("σ₁ = 0: the theorem needs noise")
        if not 0 < delta < 1:
            failed.append(f"δ = {delta:g} is not in (0, 1)")
        if not math.isfinite(adjacency.gradient_change):
            failed.append("the change of a gradient has no finite bound c")
        rho = math.inf if failed else self.rho(adjacency, setting)
        epsilon = None if failed else zcdp_epsilon(rho, delta)
        return Claim(epsilon, delta, "DP-RECAL, Theorem 4", adjacency, "ℓ2", tuple(failed))

    def scaled(self, factor: float) -> Self:
        return replace(self, stddev=factor * self.stddev)

    def calibrated(self, epsilon: float, delta: float, adjacency: Adjacency, setting: Setting) -> Self:
        """The same algorithm with the σ₁ at which Theorem 4 claims (ε, δ) for `setting.releases` activations."""
        if not (epsilon > 0 and 0 < delta < 1):
            raise PrivacyError(f"cannot calibrate to ε = {epsilon:g}, δ = {delta:g}: need ε > 0 and 0 < δ < 1")
        log = math.log(1 / delta)
        rho = (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2
        unit = replace(self, stddev=1.0).rho(adjacency, setting)
        return replace(self, stddev=math.sqrt(unit / rho))


async def _as_analysed(parameters: DPRecal, node: Node) -> None:
    """DP-RECAL as its convergence proof reads: the exact u travels beside its noisy copy.

    u⁺ = u + λ⁺ − λ_i, and noise enters one x-update.
    """
    own, beta = parameters.begin(node), coupling(node.agents)
    holding = node.id == parameters.first
    u = noisy = x = node.zeros()
    for activation in itertools.count(1):
        if not holding:
            baton = (await node.receive()).values
            u, noisy, x = baton["u"], baton["u_noisy"], baton["x"]
        half = own.dual + beta * (x - own.y)  # 1
        x_new = node.regularizer.proximal(x - (noisy + half - own.dual), node.agents)  # 2
        new = await update(node, parameters.step, own, x, half, x_new)  # 3, 4
        u_new = u + new.dual - own.dual  # 5
        sent = node.privatize(u_new, parameters.noise(activation))
        node.send(choose(node.coins, node.neighbors), u_noisy=sent, x=x_new, u=u_new)
        node.estimate(x_new)
        own, holding = new, False


async def _as_deployable(parameters: DPRecal, node: Node) -> None:
    """DP-RECAL as it could be deployed: only the noisy ũ and x⁺ are sent.

    u⁺ = ũ + λ⁺ − λ_i, and noise accumulates. The paper's accounting needs this one.
    """
    own, beta = parameters.begin(node), coupling(node.agents)
    holding = node.id == parameters.first
    u = x = node.zeros()
    for activation in itertools.count(1):
        if not holding:
            baton = (await node.receive()).values
            u, x = baton["u_noisy"], baton["x"]
        half = own.dual + beta * (x - own.y)  # 1
        x_new = node.regularizer.proximal(x - (u + half - own.dual), node.agents)  # 2
        new = await update(node, parameters.step, own, x, half, x_new)  # 3, 4
        sent = node.privatize(u + new.dual - own.dual, parameters.noise(activation))  # 5
        node.send(choose(node.coins, node.neighbors), u_noisy=sent, x=x_new)
        node.estimate(x_new)
        own, holding = new, False


async def _fresh_noise(parameters: DPRecal, node: Node) -> None:
    """An attempt that fails: fresh noise also inside the proximal step that makes x⁺.

    As deployable, with noise of the same σ_τ on line 2's argument; the agent goes on with the x⁺ that it sent.
    """
    own, beta = parameters.begin(node), coupling(node.agents)
    holding = node.id == parameters.first
    u = x = node.zeros()
    for activation in itertools.count(1):
        if not holding:
            baton = (await node.receive()).values
            u, x = baton["u_noisy"], baton["x"]
        noise = parameters.noise(activation)
        half = own.dual + beta * (x - own.y)  # 1
        argument = node.privatize(x - (u + half - own.dual), noise)
        x_new = node.regularizer.proximal(argument, node.agents)  # 2
        new = await update(node, parameters.step, own, x, half, x_new)  # 3, 4
        sent = node.privatize(u + new.dual - own.dual, noise)  # 5
        node.send(choose(node.coins, node.neighbors), u_noisy=sent, x=x_new)
        node.estimate(x_new)
        own, holding = new, False


async def _sent_state(parameters: DPRecal, node: Node) -> None:
    """Repair: after sending, the agent keeps what it sent and forgets its exact state.

    As deployable, then λ_i ← λ_i + (ũ⁺ − ũ) and y_i ← x⁺ − (ũ⁺ − ũ)/β: x⁺ is a function of what was already released.
    """
    own, beta = parameters.begin(node), coupling(node.agents)
    holding = node.id == parameters.first
    u = x = node.zeros()
    for activation in itertools.count(1):
        if not holding:
            baton = (await node.receive()).values
            u, x = baton["u_noisy"], baton["x"]
        half = own.dual + beta * (x - own.y)  # 1
        x_new = node.regularizer.proximal(x - (u + half - own.dual), node.agents)  # 2
        new = await update(node, parameters.step, own, x, half, x_new)  # 3, 4
        sent = node.privatize(u + new.dual - own.dual, parameters.noise(activation))  # 5
        node.send(choose(node.coins, node.neighbors), u_noisy=sent, x=x_new)
        node.estimate(x_new)
        change = sent - u
        own, holding = Own(x_new - change / beta, own.dual + change), False


READINGS: dict[str, Callable[[DPRecal, Node], Awaitable[None]]] = {
    "as_analysed": _as_analysed,
    "as_deployable": _as_deployable,
    "fresh_noise": _fresh_noise,
    "sent_state": _sent_state,
}
"""Each protocol; the first line of its docstring is the run's summary."""
