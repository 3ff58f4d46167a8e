"""Gradient descent over additive secret shares: everybody learns the noisy mean, nobody a single state.

On a complete graph with private links, modulo p, in round k = 0, 1, … every agent i

    v_i = x_i + N(0, σ_k² I),  e_i = round(s·v_i) mod p                       1    s fixed-point steps in one
    deals s_ij, uniform in {0, …, p − 1}, to every j ≠ i;  s_ii = e_i − Σ_{j≠i} s_ij  mod p      2    on private links
    broadcasts S_i = Σ_j s_ji  mod p, the sum of the shares it holds          3
    T = Σ_j S_j  mod p, in (−p/2, p/2);  mean = T/(s·n)                       4    the same float at every agent
    x_i⁺ = mean − α_k ∇f_i(x_i), the gradient at its exact x_i                5

from x⁰ = 0. Each e_i is cut off at ±(p − 1)/(2n), so T is Σ_i e_i exactly, whatever the states are. All residues are
whole numbers below 2^53 held in float64, and every sum is reduced as it is taken: arithmetic is exact. Up to 1/(2s)
per agent this is gradient descent with W = 11ᵀ/n and noise on what is sent, so constant steps stop short of the
optimum. With `state` "released" the noise is in the state, as printed in the source's Section 2.1: v_0 = x⁰ is public
and has none, and line 5 is x_i⁺ = mean − α_k ∇f_i(v_i), the gradient at the noisy state that only agent i knows.

Source: H. Xiao, Local Differential Privacy in Decentralized Optimization, MIT 2019, Section 2.1. How reals become
residues is open there. Condition: α_k < 1/L; exchanges may have no deadline.

Claim of "released" states (Theorem 2.1.1, N ≥ 3): (ε/√N', δ) central DP, where N' agents are `honest`, all others
collude, and (ε, δ) is what the same descent claims without shares, here by zCDP with Δ_{k+1} = α_k B. It is right for
a single gradient, and where all honest f_i have the same constant Hessian. Otherwise it is not: the gradient of the
next round is taken at a noisy state that the coalition does not know, so that what it sees carries the same noise
again, αh times with the other sign, and the difference of the worlds adds up where noise cancels. For many rounds,
quadratics of curvature h, a victim of curvature 0 and many honest agents μ² is (1 + αh)² times as large as claimed.

Claim of "exact" states, netsim's own (zCDP composition of the Gaussian mechanism on the sum): to an outsider who sees
every S_j and no share, a round shows Σ_i v_i, whose noise has variance nσ_k²: √n times less loss than one agent's
noise gives. x_i^k differs in ℓ2 by at most Δ_k, Δ_0 = 0, Δ_{k+1} = α_k(B + LΔ_k), between objectives whose gradients
differ by at most B, one of them L-smooth:

    ρ = Σ_{k=1}^{K−1} Δ_k²/(2nσ_k²),   ε = ρ + 2√(ρ ln 1/δ).

Rounding comes before the sum, and noise that is rounded away protects nobody: it is asked for that σ_k ≥ 4/s. A
rounded Gaussian has the probabilities h(m) of a Gaussian plus a uniform error U on (−½, ½), at the whole numbers m.
Would the sum's be those of the n-fold convolution of h, then the sum would be round(Σ v_i·s + n − 1 such errors),
which tells no more than Σ v_i + N(0, ·) does: ρ as it stands, and no wider sensitivity for the rounding. By Poisson
summation the two laws differ by aliases only, in total variation by about n·√n·sσ·exp(−π²s²σ²): below 1e−60 at 4/s,
n < 1e4. (Exact sums: no excess from sσ = ½ on; at sσ = ¼ the noise of all but one agent can be gone.) An agent whose
state reaches the cut-off loses its noise too: n counts those within.

It fails for whoever sees more than the broadcasts:

- who hears all links in the clear adds up the shares of each agent: only that agent's own σ_k protects it;
- an agent knows its own noise, and colluding agents know theirs: the noise of the `honest` ones is left, ρ·n/N';
- a tap at an agent's own door sees its shares: `attacks.replay`, granted v_i, prices σ_k alone.

So an audit is of `SumOfStates`, where an agent's door shows what the claim's listeners see of it. Whom shares tell
nothing has of the N' others' states the sums T' = Σ v_j alone; of exact states it knows all but that of one agent i,
for x_j^{k+1} follows from T, the data of j and x_j^k. What is left of T' is x_i + Σ_j N(0, σ_k² I): one Gaussian
release of agent i, with the noise of all N'.

Of released states it is of `SumOfReleasedStates`. Noise n_1 … n_N' of one round is its mean and, independent of that,
how far each is from it, r_j = n_j − Σ n_j/N'. With m_j = mean − α_k ∇f_j(v_j) the state before noise,

    T' = Σ_j m_j + N(0, N'σ² I),   v_j = m_j + r_j + (T' − Σ_j m_j)/N',

so that T' is one Gaussian release, and who has seen it, and has the r_j, knows every v_j that a hypothesis about the
data leads to. The r_j have the same law whatever the data are, and are not on the wire: granting them bounds what the
listeners lose from above. There the worlds differ by Δ_{k+1} = α_k (∇f_i' − ∇f_i), and by what has moved the v_j
apart before, v_i by −Δ_k (1 − 1/N') and each other one by Δ_k/N': nothing where all honest f_j have one constant
Hessian, α_k Δ_k (1 − 1/N') times the difference of agent i's curvature and the others' mean else. So the bound is
tight for the former, the case in which the theorem holds. Of quadratics an audit has the exact ε of the sums alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le
from scipy.linalg import helmert

from netsim.algorithms.algorithm import Algorithm, InRounds, Known, Setting, silent_release, unmet
from netsim.algorithms.composition import zcdp_epsilon
from netsim.algorithms.mixing import check_smooth
from netsim.arrays import Array, whole
from netsim.bounds import Auto, Count, Positive, check
from netsim.claims import Adjacency, Claim
from netsim.codecs import FLOAT64, Codec
from netsim.errors import PrivacyError
from netsim.mechanisms import Gaussian, UniformModulo
from netsim.node import Node
from netsim.schedules import SILENT, Constant, Schedule
from netsim.shown import show

PRIME = 2**53 - 111
"""The largest prime below 2^53."""
ROUNDED = 4.0
"""How many fixed-point steps σ has to be for the sum of rounded noise to protect as the rounded sum of noise does."""
FAR = 40.0
"""Deviations that no noise of a float goes beyond."""


@dataclass(frozen=True)
class SecretSharing(InRounds):
    """Gradient descent in which each agent learns only the sum of all states, from additive shares modulo p, on a
    complete graph whose links should be encrypted.
    """

    step: Annotated[Schedule, Auto("1/(2L)", lambda at: Constant(0.5 / at.smoothness))]
    """α_k, the step size by round."""
    stddev: Schedule = SILENT
    """σ_k, the standard deviation of each agent's Gaussian noise, per coordinate, by round."""
    resolution: Positive = 2.0**-20
    """1/s, the step of the fixed-point grid, in the units of the iterates."""
    modulus: Annotated[int, Ge(3), Le(2**53)] = PRIME
    """The prime p that shares are counted by."""
    state: Literal["exact", "released"] = "exact"
    """Whether an agent goes on with its exact x, or with the noisy one that it shares."""
    honest: Count | None = None
    """N', how many agents do not collude, of those that a claim is about; none: all, against an outsider."""

    noise_fields = ("stddev",)

    async def run(self, node: Node) -> None:
        x = node.zeros()
        early: dict[int, dict[int, Array]] = {}
        for k in range(self.rounds):
            own = self.state == "released"
            sent = node.privatize(x, Gaussian(0.0 if own and k == 0 else self.stddev(k)))  # 1
            most = self.largest(node.agents)  # more are cut off: n of them could wrap
            steps = np.remainder(np.clip(np.rint(sent / self.resolution), -most, most), float(self.modulus))
            held = await self._dealt(node, k, steps, early)  # 2
            received = await node.exchange(sum=held)  # 3
            total = received.sent("sum")
            for other in received.values("sum"):
                total = _plus(total, other, self.modulus)
            signed = np.where(2 * total > self.modulus, total - self.modulus, total)  # in (−p/2, p/2]
            mean = signed / (node.agents / self.resolution)  # 4
            x = mean - self.step(k) * await node.gradient(sent if own else x)  # 5
            node.estimate(x)

    async def _dealt(self, node: Node, k: int, secret: Array, early: dict[int, dict[int, Array]]) -> Array:
        """Deal shares of the secret, collect the others' and add up; what I hold, mod p.

        `early` has the shares that came before their round, by round and sender.
        """
        own, nothing, mask = secret, node.zeros(), UniformModulo(self.modulus)
        for j in node.neighbors:
            share = node.privatize(nothing, mask)
            node.send(j, share=share)
            own = np.remainder(own - share, float(self.modulus))
        early.setdefault(k, {})
        while len(early[k]) < len(node.neighbors):
            message = await node.receive()
            of_round = message.number // len(node.neighbors)
            if of_round >= k:  # a copy of an older share is not one of this round
                early.setdefault(of_round, {})[message.sender] = message.values["share"]
        for share in early.pop(k).values():  # in any order: sums of residues are exact
            own = _plus(own, share, self.modulus)
        return own

    def largest(self, agents: int) -> int:
        """The most fixed-point steps that a state may have, so that no sum of n wraps."""
        return (self.modulus - 1) // (2 * agents)

    @property
    def needs_all_messages(self) -> bool:
        return True  # a sum in which one share stands for another is noise

    @property
    def codec(self) -> Codec:
        """Residues arrive exactly or not at all."""
        return FLOAT64

    @property
    def summary(self) -> str:
        noise, where = (
            "Gaussian" if self.noisy else "no",
            "the state" if self.state == "released" else "what is shared",
        )
        return f"Gradient descent over additive secret shares, {noise} noise in {where}."

    def as_its_claim_sees(self, agent: int, objectives: Sequence[Known] = ()) -> Algorithm:
        """`SumOfStates`, or `SumOfReleasedStates` where the objectives are given; itself where noise is rounded
        away."""
        loud = all(sigma == 0 or sigma >= ROUNDED * self.resolution for sigma in map(self.stddev, range(self.rounds)))
        if type(self) is not SecretSharing or not loud:
            return self
        parameters = {one.name: getattr(self, one.name) for one in fields(self)}
        if self.state == "exact":
            return SumOfStates(**parameters, agent=agent)
        return SumOfReleasedStates(**parameters, agent=agent, objectives=tuple(objectives)) if objectives else self

    def check(self, setting: Setting) -> None:
        """Steps below 1/L, a complete graph, room for n states below p/2, N' ≤ n."""
        super().check(setting)
        if self.honest is not None:
            whole(self.honest, "honest", 1, setting.agents)
        whole(self.modulus, "modulus", 2 * setting.agents + 1, 2**53)
        check(self)
        self._check_steps(self.step, 1 / max(setting.smoothness), "0 < step < 1/L")
        check_smooth(setting, "secret sharing")
        self._check_complete(setting, "every agent deals a share to every other")

    def sensitivities(self, change: float, smoothness: float) -> list[float]:
        """Δ_k, k = 0 … K − 1: how far x_i^k may be apart in ℓ2; of released states, where v_i^{k−1} is the same."""
        apart, bend = [0.0], 0.0 if self.state == "released" else smoothness
        for k in range(self.rounds - 1):
            apart.append(self.step(k) * (change + bend * apart[-1]))
        return apart

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        rounds, grain = range(1, self.rounds), self.resolution
        silent = silent_release(self.stddev, rounds)
        rough = next((k for k in rounds if 0 < self.stddev(k) < ROUNDED * grain), -1)
        small = f"σ_{rough} = {self.stddev(max(rough, 0)):.6g}: below {ROUNDED:g} steps of {grain:.6g}"
        failed = unmet(
            (silent < 0, f"σ_{silent} = 0: round {silent} has no noise"),
            (rough < 0, f"{small}, rounding hides noise"),
            (0 < delta < 1, f"δ = {delta:g} is not in (0, 1)"),
            (math.isfinite(adjacency.gradient_change), "the change of a gradient has no finite bound B"),
            (self.state == "exact" or setting.agents >= 3, f"N = {setting.agents}: the theorem needs N >= 3"),
        )
        epsilon, honest = None, self.honest or setting.agents
        if not failed:
            apart = self.sensitivities(adjacency.gradient_change, max(setting.smoothness))
            rho = math.fsum((apart[k] / self.stddev(k)) ** 2 for k in rounds) / 2
            shared = self.state == "released"
            epsilon = zcdp_epsilon(rho, delta) / math.sqrt(honest) if shared else zcdp_epsilon(rho / honest, delta)
        whom = "to an outsider" if self.honest is None else f"to all but {honest} agents"
        source = f"zCDP composition of the Gaussian mechanism on the sum, {whom}"
        if self.state == "released":
            source = f"Xiao 2019, Theorem 2.1.1: 1/√{honest} of the local version's, {whom}"
        return Claim(epsilon, delta, source, adjacency, "ℓ2", failed)


@dataclass(frozen=True)
class SumOfStates(SecretSharing):
    """Secret sharing of exact states as it looks to those who learn sums and no share; for audits, not to be run.

    Every agent broadcasts its state: `agent` with the noise of all who do not collude, those who collude with their
    own, which the listeners know, and all others as it is, which the listeners can work out. What `agent` sends and
    receives is then a function of the sums and of the listeners' data, and the other way round; the means, and so the
    states, have the same law. Left out are the grid, whose steps no σ_k is near, and the cut-off: you get a
    `PrivacyError` where a state is so near to it that noise might be cut.
    """

    agent: int = 0
    """The agent whose data the claim is about."""

    async def run(self, node: Node) -> None:
        x = node.zeros()
        members = self.members(node.agents)
        for k in range(self.rounds):
            own = self.stddev(k)
            size = math.sqrt(node.agents - len(members)) * own if node.id == self.agent else 0.0
            noisy = node.privatize(x, Gaussian(own if node.id in members else size))
            self.check_room(x, k, node)
            x = await self.mean(node, noisy) - self.step(k) * await node.gradient(x)
            node.estimate(x)

    def members(self, agents: int) -> list[int]:
        """Those who collude: the last ones."""
        return [j for j in range(agents) if j != self.agent][(self.honest or agents) - 1 :]

    def check_room(self, x: Array, k: int, node: Node) -> None:
        """Raise a `PrivacyError` where noise might take a state of round k to the cut-off."""
        most = self.largest(node.agents) * self.resolution
        if not np.all(np.abs(x) + FAR * self.stddev(k) <= most):
            raise PrivacyError(
                f"a state of agent {node.id} is near the cut-off at {show(most, 4)}, and noise is lost"
            )

    async def mean(self, node: Node, state: Array) -> Array:
        """Mean of what all agents broadcast, this `state` being one's own."""
        received = await node.exchange(state=state)
        total = received.sent("state")
        for other in received.values("state"):
            total = total + other
        return total / node.agents

    def as_its_claim_sees(self, agent: int, objectives: Sequence[Known] = ()) -> Algorithm:  # noqa: ARG002
        return self

    @property
    def summary(self) -> str:
        whom = "an outsider" if self.honest is None else f"all but {self.honest} agents together"
        return f"Of secret shares, what {whom} can see: sums of noisy states."


@dataclass(frozen=True)
class SumOfReleasedStates(SumOfStates):
    """The same of released states, whose noise comes back in later sums: in the hands of `agent` are the states of
    all who do not collude, of whom it broadcasts the sum.

    The noise of a round is that of the sum, one release, and how each agent's differs from their mean: releases of
    zeros, one fewer than agents, that no message carries. Those who collude broadcast their own states, which the
    listeners know, and all others zeros. The grid is left out here too, which moves states by its steps alone.
    """

    objectives: tuple[Known, ...] = field(default=(), repr=False)
    """Of all agents; that of `agent` itself is not looked at: its data come from its node."""

    async def run(self, node: Node) -> None:
        members = self.members(node.agents)
        await (self._sums(node, members) if node.id == self.agent else self._others(node, node.id in members))

    async def _sums(self, node: Node, members: list[int]) -> None:
        honest = [j for j in range(node.agents) if j not in members]
        apart, own = np.asarray(helmert(len(honest))), honest.index(node.id)  # orthonormal rows, each of sum 0
        states = [node.zeros() for _ in honest]
        for k in range(self.rounds):
            noise = Gaussian(self._released(k))
            for x in states:
                self.check_room(x, k, node)
            value = sum(states[1:], states[0])
            total = node.privatize(value, Gaussian(math.sqrt(len(honest)) * noise.stddev))
            mean = await self.mean(node, total)
            noisy = [x + (total - value) / len(honest) for x in states]
            for row in apart if k + 1 < self.rounds else ():
                drawn = node.privatize(node.zeros(), noise)
                noisy = [v + share * drawn for v, share in zip(noisy, row.tolist(), strict=True)]
            gradients = [self.objectives[j].gradient(noisy[i]) for i, j in enumerate(honest) if j != node.id]
            gradients.insert(own, await node.gradient(noisy[own]))
            states = [mean - self.step(k) * gradient for gradient in gradients]
            node.estimate(states[own])

    async def _others(self, node: Node, member: bool) -> None:
        x = node.zeros()
        for k in range(self.rounds):
            v = node.privatize(x, Gaussian(self._released(k))) if member else node.zeros()
            mean = await self.mean(node, v)
            x = mean - self.step(k) * await node.gradient(v) if member else x
            node.estimate(x)

    def _released(self, k: int) -> float:
        """σ_k; 0 of the public start, which is no release."""
        return 0.0 if k == 0 else self.stddev(k)

    @property
    def summary(self) -> str:
        return f"{super().summary[:-1]}, whose noise comes back in later ones."


def _plus(a: Array, b: Array, modulus: int) -> Array:
    """a + b mod p of residues, exactly: a + b may exceed 2^53, a − (p − b) does not."""
    return np.remainder(a - (modulus - b), float(modulus))
