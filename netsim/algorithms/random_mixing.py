"""Private methods around uniform random points: ADMM with random penalties, and descent by groups or by extremes."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from netsim.algorithms.algorithm import Factors, InRounds, Setting, silent_release, unmet
from netsim.algorithms.composition import advanced_composition
from netsim.algorithms.mixing import check_smooth
from netsim.arrays import Array, whole
from netsim.bounds import Auto, Index, NonNegative, Positive, Share, check
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.mechanisms import UniformLaplace
from netsim.node import Node
from netsim.randomness import Streams
from netsim.schedules import SILENT, Constant, Geometric, Schedule

_FADING = Geometric(1.0, 1 / 1.02)
_COMPOSED = "Xiao 2019, footnote 2 (advanced composition of the worst case, without its second factor log δ)"
_SUMMED = "Xiao 2019, Theorem 2.2.1 (worst case), summed over releases"


def _worst_case(
    steps: list[float],
    scale: Schedule,
    adjacency: Adjacency,
    dimension: int,
    source: str = _SUMMED,
    total: Callable[[list[float]], float] = math.fsum,
) -> Claim:
    """d·B·step/scale of each release, in all."""
    silent = silent_release(scale, range(len(steps)))
    failed = unmet(
        (silent < 0, f"release {silent} has no Laplace noise"),
        (math.isfinite(adjacency.gradient_change), "the change of a gradient has no finite bound B"),
    )
    change = dimension * adjacency.in_norm("linf", dimension)
    epsilon = None if failed else total([change * step / scale(k) for k, step in enumerate(steps)])
    return Claim(epsilon, 0.0, source, adjacency, "ℓ∞", failed)


@dataclass(frozen=True)
class RandomPenaltyAdmm(InRounds):
    """Private ADMM with random penalties: each coordinate moves to a uniform point between the agent and its
    neighbors.

    All agents start from the public x⁰ = 0 with λ = 0. In round k = 0, 1, …, per coordinate θ ~ U(0, 1), every
    agent i

        x⁺ = θ x_i + (1 − θ) mean_{j∈N_i} x_j − (∇f_i(x_i) − λ_i)/D + Lap(1/β_k)      1   goes to the neighbors
        λ⁺ = λ_i + ζ Σ_{j∈N_i} (x_j⁺ − x_i⁺)                                          2

    with β_k = 1.02^k, D = 10, ζ = ½ in the source; the random penalties are Γ = θD and ρ̄ = (1 − θ)D/(N − 1), with a
    D_i of each agent for D. All D_i are public. The state is the release: an agent
    goes on with the x⁺ it sent, so ∇f_i is taken at a point that everybody on the wire knows, and λ_i is a sum of
    what was sent.

    Source: H. Xiao, Local Differential Privacy in Decentralized Optimization, MIT 2019, Algorithm 1. The sign of
    line 2 is the one that converges; the printed one diverges. Condition: D > L/2, and stability (below). Law: Σ_i
    λ_i = 0, under noise too. Without Laplace noise it is exact: θ multiplies a difference that vanishes at
    consensus.

    Stability: let all f_i be quadratics of one curvature h, and let Q = I − Deg⁻¹A and the Laplacian have the
    eigenvalues q and ℓ in a mode that is not consensus. On a regular graph they share their modes. There, without the
    randomness of θ, x_{t+1} − x_t = m(x_t − x_{t−1}) − gx_t, m = 1 − q/2 − h/D, g = ζℓ/D; and θ − ½, of variance
    1/12, adds noise of variance E‖Qx‖²/12. A unit of noise comes to Σ x_t² = 2/((1 − m)(2(1 + m) − g)) in all (the
    variance of an ARMA(2, 1)), so that second moments die out if q²/6 < (1 − m)(2(1 + m) − g) in every mode. With
    w = q + 2h/D that is

        ζℓ/D < 4 − w − q²/(3w),

    and with the largest q, ℓ and h = L it is what is asked for on every graph. It is sharp on complete graphs, for
    q = n/(n − 1) is their only one. Where degrees differ the mean dynamics are stable by it, q and ℓ being Rayleigh
    quotients there; second moments, unequal curvatures and unequal D_i, for whose least it is asked, are tested only:
    none of those that were tried grows.

    Claim (Theorem 2.2.1, worst case): a release loses at most dβ_kB/D_i, where B bounds the change of the gradient
    in ℓ∞, and K rounds lose ε = Σ_{k<K} dβ_kB/D_i, the most for the agent with the least D_i. With a
    `composed_delta` δ > 0 the losses ε_l = β_kB/D_i of the Kd coordinates are composed as in footnote 2, where that
    is less: ε = Σ ε_l (e^{ε_l} − 1)/(e^{ε_l} + 1) + √(−2 Σ ε_l² ln δ). The footnote multiplies this by log(δ),
    which makes it negative; its source (Kairouz, Oh, Viswanath 2017) does not. A bound in ℓ2 is one in ℓ∞
    (`Adjacency.in_norm`); the ℓ1 norm is at most √d times as large, so for changes known in ℓ2 the formula is loose
    by up to √d. θ is drawn without regard to the data, so the mixture of uniform and Laplace loses no more than
    Laplace noise alone. On average over what is released it loses a share γ of the worst case
    (`netsim.mechanisms.average_supremum_ratio`): 1 for Laplace noise, less where agent and neighbors differ; at
    consensus, where their difference dies out, 1 again.
    """

    penalty: Positive = 10.0
    """D, the greatest penalty."""
    dual_step: NonNegative = 0.5
    """ζ, the step of the dual."""
    scale: Schedule = _FADING
    """1/β_k, the Laplace scale per coordinate, by round; 0: only the penalties are random."""
    factors: Factors = ()
    """What each agent multiplies D by, D_i in all; empty: 1 for all."""
    composed_delta: Share = 0.0
    """δ of the claim: that of advanced composition (footnote 2); 0: losses are added up."""

    noise_fields = ("scale",)
    stackable = True

    async def run(self, node: Node) -> None:
        degree = len(node.neighbors)
        x = dual = mean = node.zeros()
        for k in range(self.rounds):
            center = mean - (await node.gradient(x) - dual) / self.own_penalty(node.id)
            law = UniformLaplace(x - mean, self.scale(k))
            received = await node.exchange(x=node.privatize(center, law))  # 1
            x, mean = received.sent("x"), received.sum("x") / degree
            dual = dual - self.dual_step * received.apart("x")  # 2
            node.estimate(x)

    def own_penalty(self, agent: int) -> float:
        """D_i."""
        return self.penalty * (self.factors[agent] if self.factors else 1.0)

    @property
    def noisy(self) -> bool:
        return True  # the penalties are random even where the scale is 0

    @property
    def summary(self) -> str:
        noise = "Laplace noise" if any(self.scale(k) > 0 for k in range(self.rounds)) else "no other noise"
        return f"ADMM whose penalties are random, with {noise} in the state."

    def check(self, setting: Setting) -> None:
        """D and ζ at which differences between agents die out (module docstring)."""
        super().check(setting)
        smoothness, least = max(setting.smoothness), self.penalty * min(self.factors, default=1.0)
        self._check_factors(("factors",), setting.agents)
        if not smoothness / 2 < least < math.inf:
            raise ScenarioError("penalty", self.penalty, "unstable", f"D > L/2 = {smoothness / 2:.6g}")
        check(self)
        if setting.topology is not None and setting.agents > 1:  # for one agent D > L/2 is what is asked for
            q = setting.topology.largest_walk_eigenvalue
            largest = setting.topology.largest_laplacian_eigenvalue
            w = q + 2 * (smoothness / least)
            room = 4 - w - q**2 / (3 * w)
            if room <= 0:
                why = "unstable: q + 2L/D + q²/(3(q + 2L/D)) reaches 4"
                raise ScenarioError("penalty", self.penalty, why, f"a larger D; here q = {q:.6g}")
            if not self.dual_step * largest < room * least:
                why = f"unstable: λ_max(Laplacian) = {largest:.6g}"
                raise ScenarioError("dual_step", self.dual_step, why, f"ζ < {room * least / largest:.6g}")
        check_smooth(setting, "random-penalty ADMM")

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del delta  # pure ε, or δ as the algorithm has it
        least, dimension = self.penalty * min(self.factors, default=1.0), setting.dimension
        claim = _worst_case([1 / least] * self.rounds, self.scale, adjacency, dimension)
        if claim.epsilon is None or not self.composed_delta > 0:
            return claim
        change = adjacency.in_norm("linf", dimension)
        losses = dimension * [change / (least * self.scale(k)) for k in range(self.rounds)]
        epsilon = min(claim.epsilon, advanced_composition(losses, self.composed_delta))
        return replace(claim, epsilon=epsilon, delta=self.composed_delta, source=_COMPOSED)


@dataclass(frozen=True)
class _RandomAggregates(InRounds):
    """What both share: steps α_k, Laplace scales b_k per coordinate (0: only the aggregate is random), by round."""

    step: Schedule
    """α_k, the step size by round."""
    scale: Schedule = SILENT
    """b_k, the Laplace scale per coordinate, by round; 0: only the aggregate is random."""

    noise_fields = ("scale",)

    @property
    def noisy(self) -> bool:
        return True  # the aggregates are random even where the scale is 0

    def check(self, setting: Setting) -> None:
        """Steps in (0, 2/L), r = 0."""
        super().check(setting)
        self._check_steps(self.step, 2 / max(setting.smoothness), "0 < step < 2/L")
        check_smooth(setting, type(self).__name__)


@dataclass(frozen=True)
class GroupedDescent(_RandomAggregates):
    """Descent in which each agent acts once, in one of two groups a round, over a complete graph.

    A public permutation, drawn from `shuffle`, deals the agents round-robin into 2K groups. The public references a,
    b start with `low` and `high` in all coordinates. In round k = 0 … K − 1 each agent i of the groups 2k and 2k + 1
    broadcasts

        x_i = θ∘a + (1 − θ)∘b − α_k ∇f_i(m) + Lap(b_k),   m = (a + b)/2,  θ ~ U(0, 1) per coordinate,

    (2.3), whose step η_{k+1}N is α_k here,

    then a is the mean of group 2k, b that of group 2k + 1, and m is everybody's estimate. One pass over the agents: a
    round's gradient is that of two groups, so the result is no exact minimizer of the whole.

    Source: H. Xiao, Local Differential Privacy in Decentralized Optimization, MIT 2019, Algorithm 2, which takes N ≥
    2K agents; the sizes of the groups and the start are not printed. Condition: steps below 2/L. The gradient is
    taken at a public point, so a release is exactly a uniform point of a known box, shifted by the gradient, plus
    Laplace noise (`netsim.mechanisms.UniformLaplace`).

    Claim (Theorem 2.2.1, worst case): a release loses at most dB·α_k/b_k, where B bounds the change of the gradient
    in ℓ∞, as a bound in ℓ2 does. (Appendix C replaces 1/D_i by η_{k+1}, and so has 1/N of this for (2.3).) An agent
    releases once: ε is the largest of these losses, not their sum.
    """

    step: Annotated[Schedule, Auto("1/L", lambda at: Constant(1.0 / at.smoothness))]

    low: float = 0.0
    """The coordinates of the first public reference at the start."""
    high: float = 0.0
    """The coordinates of the second public reference at the start."""
    shuffle: Index = 0
    """The seed of the public deal into groups."""

    def groups(self, agents: int) -> list[list[int]]:
        """The agents of each of the 2K groups; public."""
        order = Streams(self.shuffle).generator("groups").permutation(agents)
        return [[int(i) for i in order[g :: 2 * self.rounds]] for g in range(2 * self.rounds)]

    async def run(self, node: Node) -> None:
        groups = self.groups(node.agents)
        received: dict[int, Array] = {}
        references = node.zeros() + self.low, node.zeros() + self.high
        for k in range(self.rounds):
            active = groups[2 * k], groups[2 * k + 1]
            speakers = {*active[0], *active[1]}
            a, b = references
            if node.id in speakers:
                center = b - self.step(k) * await node.gradient((a + b) / 2)
                received[node.id] = node.privatize(center, UniformLaplace(a - b, self.scale(k)))
                node.broadcast(x=received[node.id])
            while not speakers <= received.keys():
                message = await node.receive()  # each agent sends once in its life, so its number says in which round
                received[message.sender] = message.values["x"]
            a, b = (sum((received[i] for i in group), node.zeros()) / len(group) for group in active)
            references = a, b
            node.estimate((a + b) / 2)

    @property
    def summary(self) -> str:
        return "Descent by groups of agents that act once each, around random points between two group means."

    def check(self, setting: Setting) -> None:
        """N ≥ 2K, a complete graph, finite references."""
        super().check(setting)
        if setting.agents < 2 * self.rounds:
            most = setting.agents // 2
            raise ScenarioError(
                "rounds", self.rounds, f"2K groups need N >= 2K agents, N = {setting.agents}", f"<= {most}"
            )
        self._check_complete(setting, "every agent receives from every other")
        for name, value in (("low", self.low), ("high", self.high)):
            if not math.isfinite(value):
                raise ScenarioError(name, value, "no coordinate", "finite numbers")
        whole(self.shuffle, "shuffle", 0)

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del delta  # pure ε
        steps = [self.step(k) for k in range(self.rounds)]
        source = "Xiao 2019, Theorem 2.2.1 (worst case); one release of each agent"
        return _worst_case(steps, self.scale, adjacency, setting.dimension, source, max)


@dataclass(frozen=True)
class NeighborRange(_RandomAggregates):
    """Descent from a uniform point, per coordinate, between the least and the greatest value nearby.

    From the public x⁰ = 0, in round k every agent sends and goes on with

        x_i⁺ = lo + θ∘(hi − lo) − α_k ∇f_i(x_i) + Lap(b_k),   θ ~ U(0, 1) per coordinate,

    lo and hi the least and greatest x_j over the neighbors and itself. The weights of such a mean are not doubly
    stochastic, so it is exact only where all objectives are alike.

    With `pairs` two of these d_i + 1 agents, j and l, are drawn in public for each agent and round, and

        x_i⁺ = m + (2θ − 1)∘(x_j − x_l)/(d_i + 1) − α_k ∇f_i(m) + Lap(b_k),

    m the mean over the neighbors and itself: weights 2θ/(d_i + 1) and 2(1 − θ)/(d_i + 1) of these two, 1/(d_i + 1) of
    the others.

    Source: H. Xiao, Local Differential Privacy in Decentralized Optimization, MIT 2019, Algorithm 2* (E.1), but for
    x⁰, which is not printed. Condition: steps below 2/L. The gradient is taken at a public point, so a release is
    exactly a uniform point of a known box, shifted by the gradient, plus Laplace noise
    (`netsim.mechanisms.UniformLaplace`). `pairs`: Algorithm 2 as Appendix C and Fig. 3-2 have it, on any graph and
    for as many rounds as one likes; Fig. 3-2 prints half of these two weights, with which rows do not sum to 1.

    Claim (Theorem 2.2.1, worst case): a release loses at most dB·α_k/b_k, where B bounds the change of the gradient
    in ℓ∞, as a bound in ℓ2 does. An agent releases in every round: ε is the sum.
    """

    step: Annotated[Schedule, Auto("1/(2L)", lambda at: Constant(0.5 / at.smoothness))]

    pairs: Index | None = None
    """The seed of public draws of pairs of agents, between whose values points lie; none: between the extremes."""
    middle: bool = False
    """Whether the point is the middle, θ = ½, in place of a random one: descent with fixed weights."""

    stackable = True

    async def run(self, node: Node) -> None:
        at = low = high = node.zeros()
        for k in range(self.rounds):
            start = (low + high) / 2 if self.middle else low
            law = UniformLaplace(0.0 if self.middle else high - low, self.scale(k))
            received = await node.exchange(x=node.privatize(start - self.step(k) * await node.gradient(at), law))
            x = at = received.sent("x")
            near = [x, *received.values("x")]
            if self.pairs is None:
                low, high = np.min(near, axis=0), np.max(near, axis=0)
            else:
                order: list[int] = Streams(self.pairs).generator("pair", node.id, k).permutation(len(near)).tolist()
                apart = (near[order[0]] - near[order[1]]) / len(near)
                at = (x + received.sum("x")) / len(near)
                low, high = at - apart, at + apart
            node.estimate(x)

    @property
    def summary(self) -> str:
        between = "the least and the greatest value" if self.pairs is None else "two values"
        return f"Descent from {'the middle' if self.middle else 'a random point'} between {between} nearby."

    @property
    def noisy(self) -> bool:
        return not self.middle or any(self.scale(k) > 0 for k in range(self.rounds))

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del delta  # pure ε
        steps = [self.step(k) for k in range(self.rounds)]
        return _worst_case(steps, self.scale, adjacency, setting.dimension)
