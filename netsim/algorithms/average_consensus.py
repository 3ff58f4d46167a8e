"""Average consensus whose messages are masked: five ways to let neighbors average without showing what they average.

c_i = −∇f_i(0) is private, and the agents look for its mean. W is the mixing matrix, L the graph's Laplacian. What
is said of each comes from the texts that were at hand, abstracts and programs: what they leave open is chosen, and
named.

All but the first reach the mean itself, so that no finite ε bounds them: who knows all other c_j and the mean knows
c_i. Their papers' claims are about who does not know the others', and rank decides these: a view *shows* c_i if some
combination of its messages is c_i and nothing else, free of noise and of all other data, and *hides* it if not
(`attacks.probe.probe_network`: identifiable, and without deviation). Code, graph, weights and laws of the noise are
public, as everywhere here; a secret of a paper that is none here is named.

**Noisy consensus** (`LaplacianConsensus`). θ = c at first; x = θ + η_k, which is sent, η_k ~ Lap(b_k); θ⁺ = θ − (x −
Σ_j w_ij x_j) + s η_k. That is W x − (1 − s) η_k, W = I − hL. Source: E. Nozari, P. Tallapragada, J. Cortés, of which
the abstract ("linearly perturb their state-transition and message-generating functions with exponentially decaying
Laplace noise […] the optimal choice of our design parameters […] corresponds to a one-shot perturbation of initial
states") and a program of other authors were at hand: qiongxiu/PrivacyOptimizationSubspace, `Synchronous_dp.m`
lines 18–29, b_k = σ q^{k+1}, |s − 1| < q < 1, s = 1. Condition: |s − 1| < 1.

Claim, netsim's own: given the messages two worlds' θ differ by (1 − s)^k Δ in round k, so ε = Σ |1 − s|^k Δ/b_k in
ℓ1. With s = 1 that is Δ/b_0: θ is made of messages, and noise is paid for once. It is reached.

**State decomposition** (`StateDecomposition`). α = c + z, β = c − z, z ~ N(0, σ²); α is sent; α⁺ = α + ε (Σ_j (α_j −
α) + β − α), β⁺ = β + ε (α − β). Source: Y. Wang, *Privacy-preserving average consensus via state decomposition*,
arXiv:1902.09576: of it the abstract was at hand ("able to prevent the disclosure of a node's initial state to
honest-but-curious neighbors, it can also provide protection against inference by external eavesdroppers"), and a
program of others, huital/-Python- at e9146e4, `methods/privacy2/privacy2_1.py`, all weights 1, ε = 0.3, which also
lets the weights of the first round be others, that nobody knows. Here they are public. The law of z is chosen.

With public weights it is a linear system of 2n sub-states, and whoever can observe it has all of them: on a path of
four the agent at the end has every other's c exactly, from the sixth round on, and an agent with all of an agent's
neighbors around it has that agent's after two. On the graphs that were tried only symmetry hides: the leaves of a
star from one another. What protects is the secret of the weights, of which the abstract says nothing. No claim.

**Zero-sum noise** (`ZeroSumNoise`). x = c at first; x + φ^k v_k − φ^{k−1} v_{k−1} is sent, v_k ~ N(0, σ²), the second
term from round 1 on; x⁺ is W times what was sent. Source: Y. Mo, R. Murray, *Privacy preserving average consensus*,
IEEE TAC 62(2), 2017: of it the abstract was at hand ("by adding and subtracting random noises to the consensus
process […] does not disclose any information more than necessary to achieve the average consensus"), and the program
huital/-Python- at 1971c05, `methods/privacy1/privacy1_1.py`. (Another program, "Based on NUMERICAL EXAMPLES in
Section VI", puts w_k in the place of v_k first, and its noise does not sum to zero.)

At its own door an agent's message k has c + φ^k v_k beside what was heard: it costs μ² = Δ²/σ² Σ φ^{−2k}, without
end, and c_i is shown in the limit. So it is to a neighbor of all its neighbors. To others an error is left: on a path
of four, σ = 1, φ = 0.9, the end has its neighbor's c with a deviation of 0.993 after 40 rounds, and of 0.994 after
10.

**Edge perturbation** (`EdgePerturbation`). c + ξ_ij, ξ_ij ~ N(0, σ²), goes to j alone; x_i = c_i + Σ_j w_ij (what j
sent to i − what i sent to j), which keeps the sum; then x⁺ = W x. Source: Y. Xiong, Z. Li, *Privacy-preserved average
consensus algorithms with edge-based additive perturbations*, arXiv:2109.02192, of which the abstract was at hand: two
phases, of which in the first "each agent is required to generate some perturbation signals and add them to the edges
leading out of it", and in the second "the agents update their states following a normal updating rule"; "an internal
honest-but-curious agent can obtain the privacy of a target agent if and only if no other agents can communicate with
the target agent", and external eavesdroppers "can never". How many rounds the first phase has and how a sum is kept
is chosen.

In this form the first half is so. So is the second for a listener who misses the first round; to one who hears all
links in the clear from the start every c_i is shown, as x_i less what the links said.

**Subspace perturbation** (`SubspacePerturbation`). z_{i|j} ~ N(0, σ²) goes from i to j, once; x_i = (c_i − Σ_j A_ij
z_{i|j})/(1 + p d_i), which is broadcast, A_ij = 1 for i > j, else −1; then z_{j|i}⁺ = z_{i|j} + 2p A_ij x_i, at both
ends. Source: Q. Li, R. Heusdens, M. Christensen, *Privacy-preserving distributed optimization via subspace
perturbation*, IEEE TSP 68, 2020; of the text the abstract was at hand ("the private data are protected, and the
accuracy of the desired solution is completely unaffected […] secure under two widely-used adversary models: passive
and eavesdropping"), and all of the authors' program, qiongxiu/PrivacyOptimizationSubspace at e58aef3,
`pdmm_syn_con_ave.m` lines 13 and 38–39, `RandomGraphGenerator.m` line 30, `test_all.m` lines 10 and 24: p = 0.1,
σ = 1000, which the program calls the variance of z. How z goes from end to end is not in the program: here it is a
message, for which links should be encrypted.

A neighbor has the c_i of an agent with no other neighbor, and of no other agent. Who hears all broadcasts, and not
the first messages, has no c_i; who hears these too has all of them, as x_i (1 + p d_i) + Σ_j A_ij z_{i|j}.
"""

import math
from dataclasses import dataclass
from typing import Annotated

from netsim.algorithms.algorithm import InRounds, Setting, silent_release, unmet
from netsim.algorithms.mixing import check_smooth
from netsim.arrays import Array
from netsim.bounds import Auto, NonNegative, Positive, check
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import Node
from netsim.schedules import SILENT, Schedule


@dataclass(frozen=True)
class _Consensus(InRounds):
    """Rounds of averaging: r = 0, parameters in their bounds."""

    def check(self, setting: Setting) -> None:
        super().check(setting)
        check(self)
        check_smooth(setting, "average consensus")


@dataclass(frozen=True)
class LaplacianConsensus(_Consensus):
    """Average consensus with decaying Laplace noise in what is sent and, `fed` times, in the state."""

    fed: float = 1.0
    """s, how much of its own noise an agent keeps in its state."""
    scale: Schedule = SILENT
    """b_k, the Laplace scale per coordinate, by round."""

    noise_fields = ("scale",)
    stackable = True

    async def run(self, node: Node) -> None:
        theta = -await node.gradient(node.zeros())
        for k in range(self.rounds):
            received = await node.exchange(x=node.privatize(theta, Laplace(self.scale(k))))
            theta = received.mix("x") - (1 - self.fed) * (received.sent("x") - theta)
            node.estimate(theta)

    def check(self, setting: Setting) -> None:
        """|s − 1| < 1: what is left of an agent's own noise dies out."""
        super().check(setting)
        if not abs(self.fed - 1) < 1:
            raise ScenarioError("fed", self.fed, "the noise in the state does not die out", "|s − 1| < 1")

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del delta  # pure ε
        change, releases = adjacency.in_norm("l1", setting.dimension), self.rounds if self.fed != 1 else 1
        silent = silent_release(self.scale, range(releases))
        failed = unmet(
            (silent < 0, f"b_{silent} = 0: round {silent} has no noise"),
            (math.isfinite(change), "the change of what is private has no finite bound"),
        )
        terms = (abs(1 - self.fed) ** k * change / self.scale(k) for k in range(releases))
        source = "composition of the Laplace mechanism over the rounds"
        return Claim(None if failed else math.fsum(terms), 0.0, source, adjacency, "ℓ1", failed, coins="known")


@dataclass(frozen=True)
class StateDecomposition(_Consensus):
    """Average consensus of two sub-states an agent, of which only one is ever sent."""

    step: Annotated[Positive, Auto("1/(d + 2), d the largest degree", lambda at: 1 / (max(at.topology.degrees) + 2))]
    """ε, the step size."""
    stddev: NonNegative = 0.0
    """σ, the standard deviation of z, per coordinate."""

    noise_fields = ("stddev",)
    stackable = True

    async def run(self, node: Node) -> None:
        own = -await node.gradient(node.zeros())
        alpha = node.privatize(own, Gaussian(self.stddev))
        beta = 2 * own - alpha
        for _ in range(self.rounds):
            apart = (await node.exchange(x=alpha)).apart("x")
            inner = self.step * (beta - alpha)
            alpha, beta = alpha - self.step * apart + inner, beta - inner
            node.estimate(alpha)

    def check(self, setting: Setting) -> None:
        """ε (d + 1) < 1, so that no sub-state weighs itself less than 0."""
        super().check(setting)
        most = math.inf if setting.topology is None else 1 / (max(setting.topology.degrees) + 1)
        if not self.step < most:
            raise ScenarioError("step", self.step, "a sub-state would swing over", f"ε < 1/(d + 1) = {most:.6g}")


@dataclass(frozen=True)
class ZeroSumNoise(_Consensus):
    """Average consensus with noise that is taken back a round later, so that all of it sums to what is left."""

    ratio: Positive = 0.9
    """φ, by which the noise falls from round to round, below 1."""
    stddev: NonNegative = 0.0
    """σ, the standard deviation of v, per coordinate."""

    noise_fields = ("stddev",)
    stackable = True

    async def run(self, node: Node) -> None:
        x, before = -await node.gradient(node.zeros()), node.zeros()
        for k in range(self.rounds):
            value = x - before
            sent = node.privatize(value, Gaussian(self.stddev * self.ratio**k))
            before = sent - value
            x = (await node.exchange(x=sent)).mix("x")
            node.estimate(x)

    def check(self, setting: Setting) -> None:
        """φ < 1: the noise dies out."""
        super().check(setting)
        if not self.ratio < 1:
            raise ScenarioError("ratio", self.ratio, "the noise does not die out", "0 < φ < 1")


@dataclass(frozen=True)
class EdgePerturbation(_Consensus):
    """Average consensus whose first round has other noise for each neighbor."""

    stddev: NonNegative = 0.0
    """σ, the standard deviation of each ξ, per coordinate."""

    noise_fields = ("stddev",)

    async def run(self, node: Node) -> None:
        own = -await node.gradient(node.zeros())
        noise = Gaussian(self.stddev)
        sent = await _dealt(node, [node.privatize(own, noise) for _ in node.neighbors])
        x = own
        for weight, (mine, other) in zip(node.weights[1:].tolist(), sent, strict=True):
            x = x + weight * (other - mine)
        for _ in range(self.rounds):
            x = (await node.exchange(x=x)).mix("x")
            node.estimate(x)

    @property
    def _releases(self) -> int:
        return 1


@dataclass(frozen=True)
class SubspacePerturbation(_Consensus):
    """Average consensus by PDMM, from dual variables that are random where they do not matter."""

    penalty: Positive = 0.1
    """p, the penalty of disagreement."""
    stddev: NonNegative = 0.0
    """σ, the standard deviation of each z, per coordinate."""

    noise_fields = ("stddev",)

    async def run(self, node: Node) -> None:
        own, noise = -await node.gradient(node.zeros()), Gaussian(self.stddev)
        duals = await _dealt(node, [node.privatize(node.zeros(), noise) for _ in node.neighbors])
        signs = [1.0 if node.id > j else -1.0 for j in node.neighbors]
        for _ in range(self.rounds):
            x = own
            for sign, (z, _) in zip(signs, duals, strict=True):
                x = x - sign * z
            x = x / (1 + self.penalty * len(signs))
            others = (await node.exchange(x=x)).values("x")
            turn = 2 * self.penalty
            pairs = zip(signs, duals, others, strict=True)
            duals = [(there - turn * sign * other, z + turn * sign * x) for sign, (z, there), other in pairs]
            node.estimate(x)

    @property
    def _releases(self) -> int:
        return 1


async def _dealt(node: Node, parts: list[Array]) -> list[tuple[Array, Array]]:
    """Send each neighbor its part; what each was sent and sent me, in the order of the neighbors."""
    for j, part in zip(node.neighbors, parts, strict=True):
        node.send(j, part=part)
    found: dict[int, Array] = {}
    while len(found) < len(node.neighbors):
        message = await node.receive()
        found[message.sender] = message.values["part"]
    return [(part, found[j]) for j, part in zip(node.neighbors, parts, strict=True)]
