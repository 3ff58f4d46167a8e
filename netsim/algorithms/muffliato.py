"""Muffliato: Gaussian noise goes in once, before the first message, and gossip does the rest.

    x_i = c_i + N(0, σ² I), where c_i = −∇f_i(0) is private                          1
    x⁺ = W x in the first round, then (1 + m) W x − m x⁻, x⁻ the x before            2    m = 0: plain gossip

`MuffliatoDescent` does that in every round to one step of descent, with fresh noise and one exchange:

    ψ_i = x_i − γ (clip(∇f_i(x_i)) + N(0, σ² I)), which is sent, from x = 0          1
    x⁺ = W ψ                                                                         2

Source: E. Cyffers, M. Even, A. Bellet, L. Massoulié 2022, of which the abstract and the authors' code were at hand:
totilas/muffliato at b72cc1a, `muffliato.py` lines 20–160 (`simulation` is m = 0, `acceleratedsimulation` has the m of
`_chebyshev`), `graphutils.py` lines 5–71, `versatile.py`. Its weights are Metropolis' (networkx counts a loop twice
in a degree). Its descent (`private.py`) differs: it clips after the noise, and gossips for many rounds.

Claims. At an agent's own door, who hears all links: ρ = B²/(2σ²) of zCDP, once or in each round, ε(α) = αρ of Rényi
DP, the "LDP loss" of the code's figures. It holds. And one for each ordered pair, ε_{u→v}(α) = α B²/(2σ²)·S_uv
(`pair_cost`):

- averaging, as the code has it: S_uv = Σ_t Σ_w ((W^t)_wu)²/‖(W^t)_w‖², over the neighbors w of v, cut at 1 by the
  figures. Every message counts as if its noise were its own. But all have the same noise: differences of messages
  are free of most of it. So it is no upper bound: on a ring of 16, after 7 rounds v knows each noisy number that is
  7 hops away or fewer as if it had been sent to it, S = 1 exactly, where the sum has 9e-5 at the seventh. On the
  hypercube of 16 with the code's σ = 1 and 5 rounds it has S = 0.413 for opposite corners, where the view costs
  S = 1; 5 of 15 agents cost more than claimed (the scenario gossip-pairs).
- descent, as later work has it (dimiarbre/MFDL at c852929, `muffliato_accounting.py` lines 15–53, "the original
  paper's CORRECTED formula (different from the NeurIPS paper)", Theorem 11 of arXiv:2206.05091):
  S_uv = Σ_{s<T} (T − s) Σ_w (W^s)_uw/‖(W^s)_w‖², cut at T. No pair that was looked at costs more,
  and it is loose: on that hypercube opposite corners cost 0.0227 rounds, of 5 claimed.

In three more things the code differs from itself. `simulation` counts W¹ … W^T, of which the last is never sent and
W⁰, the message that hides nothing of v's neighbors, is; `versatile.py` counts W⁰ … W^{T−1}. The accelerated gossip is
priced by the powers of W, which are not what it sends. And the noise of `private.py` is made for gradients that
change by ½ ("max sensibility = .5", line 113): the labels of a record of norm 1 with an intercept move it by √2.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from netsim.algorithms.algorithm import InRounds, Setting, unmet
from netsim.algorithms.composition import zcdp_epsilon
from netsim.algorithms.mixing import check_below, check_smooth
from netsim.arrays import Array
from netsim.bounds import Auto, NonNegative, Positive, Share, check
from netsim.claims import Adjacency, Claim, Clip, Standpoint
from netsim.mechanisms import Gaussian
from netsim.node import Node

if TYPE_CHECKING:
    from netsim.topology import Topology

Messages = Literal["counted", "sent"]
"""W¹ … W^T, which `simulation` counts, or W⁰ … W^{T−1}, which are sent and which `versatile.py` counts."""


def _chebyshev(topology: "Topology") -> float:
    """m = γ − 1 of the accelerated gossip: γ = 2(1 − √(λ(1 − λ/4)))/(1 − λ/2)², λ = 1 − λ₂(W)."""
    gap = 1 - float(np.linalg.eigvalsh(topology.weights)[-2])
    return 2 * (1 - math.sqrt(gap * (1 - gap / 4))) / (1 - gap / 2) ** 2 - 1


@dataclass(frozen=True)
class _NoisyGossip(InRounds):
    """Gaussian noise on what is mixed afterwards."""

    stddev: NonNegative = 0.0
    """σ, the standard deviation of the noise, per coordinate."""

    noise_fields = ("stddev",)

    def check(self, setting: Setting) -> None:
        """r = 0, parameters in their bounds."""
        super().check(setting)
        check(self)
        check_smooth(setting, "gossip")

    def _claim(self, adjacency: Adjacency, delta: float, change: float, releases: float, source: str) -> Claim:
        failed = unmet(
            (self.stddev > 0, "σ = 0: there is no noise"),
            (0 < delta < 1, f"δ = {delta:g} is not in (0, 1)"),
            (math.isfinite(change), "the change of what is private has no finite bound B"),
        )
        epsilon = None if failed else zcdp_epsilon(releases * (change / self.stddev) ** 2 / 2, delta)
        return Claim(epsilon, delta, source, adjacency, "ℓ2", failed, coins="known")

    @abstractmethod
    def pair_cost(self, topology: "Topology") -> Array:
        """S (agents, agents), S[u, v] what u's data cost at v over what one release costs at u's own door, as it is
        published; that of all releases on the diagonal. Public."""

    def _of_pair(self, claim: Claim, standpoint: Standpoint, setting: Setting, source: str) -> Claim | None:
        """The claim of one listener from that of the door: ρ times S over all releases."""
        if len(standpoint.listeners) != 1 or setting.topology is None:
            return None
        epsilon = claim.epsilon
        if epsilon is not None:
            rho = (math.sqrt(math.log(1 / claim.delta) + epsilon) - math.sqrt(math.log(1 / claim.delta))) ** 2
            cost = _costs(self, setting.topology)
            share = float(cost[standpoint.victim, standpoint.listeners[0]] / cost[0, 0])
            epsilon = zcdp_epsilon(share * rho, claim.delta)
        return replace(claim, epsilon=epsilon, source=source, standpoint=standpoint)


@lru_cache(maxsize=16)
def _costs(algorithm: _NoisyGossip, topology: "Topology") -> Array:
    return algorithm.pair_cost(topology)


@dataclass(frozen=True)
class Muffliato(_NoisyGossip):
    """Muffliato: the mean of private vectors −∇f_i(0) by gossip, after Gaussian noise that is added once."""

    momentum: Annotated[Share, Auto("γ − 1 of Chebyshev's polynomials", lambda at: _chebyshev(at.topology))] = 0.0
    """m, by how much a round goes beyond the mean; 0: plain gossip."""

    stackable = True

    async def run(self, node: Node) -> None:
        before = x = node.privatize(-await node.gradient(node.zeros()), Gaussian(self.stddev))  # 1
        for k in range(self.rounds):
            mixed = (await node.exchange(x=x)).mix("x")
            m = self.momentum if k else 0.0
            before, x = x, (1 + m) * mixed - m * before  # 2
            node.estimate(x)

    @property
    def _releases(self) -> int:
        return 1

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        """One Gaussian release: what comes later is made of messages."""
        del setting
        source = "the Gaussian mechanism, once: α/(2σ²) of Rényi DP, the LDP loss of Muffliato's figures"
        return self._claim(adjacency, delta, adjacency.gradient_change, 1, source)

    def claim_from(
        self, standpoint: Standpoint, adjacency: Adjacency, setting: Setting, delta: float
    ) -> Claim | None:
        """One listener's messages, added up: of any gossip as the authors' code adds up plain gossip's."""
        source = "α/(2σ²) times the sum over the messages of a pair, as in Muffliato's code"
        return self._of_pair(self.claim(adjacency, setting, delta), standpoint, setting, source)

    def pair_cost(self, topology: "Topology", messages: Messages = "counted") -> Array:
        """As the authors' code adds it up over the messages. It is no upper bound: see `attacks.audit.view_price`."""
        W, near = topology.weights, topology.adjacency.toarray()
        power, cost = (W if messages == "counted" else np.eye(len(W))), np.zeros_like(W)
        for _ in range(self.rounds):
            share = (power / np.linalg.norm(power, axis=1, keepdims=True)) ** 2  # of message w, in agent u's noise
            cost += (near @ share).T
            power = W @ power
        return _capped(cost, 1.0)


@dataclass(frozen=True)
class MuffliatoDescent(_NoisyGossip):
    """Muffliato's descent: in each round a gradient step with fresh Gaussian noise, then the mean over neighbors."""

    step: Annotated[Positive, Auto("1/L", lambda at: 1 / at.smoothness)] = 0.1
    """γ, the step size."""
    clip: Clip | None = None
    """Gradients are clipped, before the noise; none: they are not."""

    stackable = True

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            gradient = await node.gradient(x)
            psi = x - self.step * (self.clip(gradient) if self.clip else gradient)
            received = await node.exchange(psi=node.privatize(psi, Gaussian(self.step * self.stddev)))  # 1
            x = received.mix("psi")  # 2
            node.estimate(x)

    def check(self, setting: Setting) -> None:
        """r = 0, a step in (0, 2/L)."""
        super().check(setting)
        check_below("step", self.step, 2 / max(setting.smoothness), "0 < γ < 2/L")

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        """x is made of what was sent, so that ψ changes by γ∇f alone."""
        change = adjacency.gradient_change if self.clip is None else 2 * self.clip.l2_bound(setting.dimension)
        source = "zCDP composition of the Gaussian mechanism over the rounds: T times α/(2σ²) of Rényi DP"
        return self._claim(adjacency, delta, change, self.rounds, source)

    def claim_from(
        self, standpoint: Standpoint, adjacency: Adjacency, setting: Setting, delta: float
    ) -> Claim | None:
        """The corrected formula of later work, of one listener."""
        source = "Muffliato, Theorem 11 of arXiv:2206.05091 as in MFDL's code"
        return self._of_pair(self.claim(adjacency, setting, delta), standpoint, setting, source)

    def pair_cost(self, topology: "Topology") -> Array:
        """By the corrected formula of later work."""
        W, near = topology.weights, topology.adjacency.toarray()
        power, cost = np.eye(len(W)), np.zeros_like(W)
        for s in range(self.rounds):
            cost += (self.rounds - s) * (power / np.linalg.norm(power, axis=0) ** 2) @ near
            power = W @ power
        return _capped(cost, float(self.rounds))


def _capped(cost: Array, most: float) -> Array:
    np.fill_diagonal(cost, most)
    return np.minimum(cost, most)
