"""EXTRA, PG-EXTRA, NIDS and Exact diffusion: (proximal) gradient descent in rounds whose dual D takes away the error
that a constant step leaves. W̃ = (I + W)/2.

**EXTRA and PG-EXTRA.** With D⁰ = 0 and x⁰ = 0 at all agents, round k = 0, 1, … is

    send x̃ = x + noise                                   1
    z⁺ = W x̃ − α∇f(x) − D                                2
    D⁺ = D + (W̃ − W) x̃                                   3
    x⁺ = prox_{αr}(z⁺)                                   4    EXTRA: x⁺ = z⁺, r = 0

An agent mixes its own x̃ too; its gradient is that at the exact x. Without D this is the published two-step recursion
z^{k+2} = z^{k+1} + W x̃^{k+1} − W̃ x̃^k − α[∇f(x^{k+1}) − ∇f(x^k)], where for EXTRA the first term is the exact x^{k+1}.
Step: 0 < α < 2λ_min(W̃)/L = (1 + λ_min(W))/L.

Source: Shi, Ling, Wu, Yin 2015, "EXTRA" and "A proximal gradient algorithm for decentralized composite
optimization" (the form is sure). The papers have no noise: its place is that of the comparisons with DP-RECAL, and
inferred. It keeps Σ_i D_i = 0, so that noise that dies out leaves the limit where it was.

Claim: none of the papers. With noise, DP-EXTRA and DP-PG-EXTRA of the DP-RECAL paper have its Theorem 1
(`Noisy.claim_by_frequency`): x̃⁺ moves by αG for the gradient that is new in it. Given the transcript, W x̃ and D are
the same in both worlds and x is not: ‖Δ∇f(x)‖ may be G + L‖Δx‖, so a release may move by αG(1 + αL + (αL)² + …),
which the sum does not count. It is true of a constant change and α ≤ 1/L.

**NIDS.** Its step needs to know nothing of the graph. With D = 0 and x = 0 at first, round k = 0, 1, … is

    z = x − α∇f(x) − D                                   1
    x⁺ = prox_{αr}(z)                                    2
    send s̃ = 2x⁺ − x − α(∇f(x⁺) − ∇f(x)) + noise         3
    D⁺ = D + (I − W̃) s̃                                   4

Nothing is sent before the first x⁺, and what the last round sends nobody uses. Without D and noise this is the
published z^{k+1} = z^k − x^k + W̃ s^k; with noise z^{k+1} = z^k − x^k + s^k − (I − W̃) s̃^k: an agent's own s is exact
where it is not mixed. Step: 0 < α < 2/L, the same for all agents.

Source: Li, Shi, Yan 2019, with one common step (the form is sure). The paper has no noise: its place is that of the
comparisons with DP-RECAL, and only fairly sure. It keeps Σ_i D_i = 0.

Exact diffusion adapts, corrects, combines, for r = 0: with ψ = x = 0 at first, round k = 0, 1, … is

    ψ⁺ = x − α∇f(x)                                      1
    send φ̃ = ψ⁺ + x − ψ + noise                          2
    x⁺ = φ − (I − W̃) φ̃                                   3    without noise x⁺ = W̃ φ

Without noise x^{k+1} = W̃ [2x^k − x^{k−1} − α(∇f(x^k) − ∇f(x^{k−1}))] for k ≥ 1, which is NIDS for r = 0. Only the
starts differ: x¹ is W̃ (x⁰ − α∇f(x⁰)) here, and not mixed in NIDS. So it is NIDS whose dual starts at
(I − W̃)(x⁰ − α∇f(x⁰)) in place of 0, and NIDS's condition 0 < α < 2/L is its own. Its first message is the first
gradient, times −α.

Source: Yuan, Ying, Zhao, Sayed 2019, "Exact diffusion for distributed optimization and learning, Part I",
Algorithm 1, in the form of two of its authors' released code (BlueFog, examples/pytorch_optimization.py), which takes
W̃ for the matrix that combines. The paper also allows combinations that are not symmetric; here W is symmetric and
doubly stochastic. The noise is placed as in NIDS: that keeps Σ_i x_i⁺ = Σ_i (x_i − α∇f_i(x_i)).

Claim: none of the paper. With noise, DP-NIDS of the DP-RECAL paper has its Theorem 1
(`Noisy.claim_by_frequency`): s̃ moves by αG for the gradient that is new in it (the first one has two). But x is never
replaced by what was sent: given the transcript it has integrated every gradient, and where one changes by the vector
g in directions of little curvature, release k moves by about kαg. The sum does not count that.
Of exact diffusion the same is true.
"""

from dataclasses import dataclass
from typing import Annotated

from netsim.algorithms.algorithm import Setting
from netsim.algorithms.mixing import OneRelease, check_below, check_smooth
from netsim.algorithms.private_gradient_descent import stable_bound
from netsim.bounds import Auto, Positive
from netsim.node import Node
from netsim.schedules import Constant


@dataclass(frozen=True)
class PgExtra(OneRelease):
    """PG-EXTRA: exact proximal gradient descent in rounds.

    Exact with a constant `step`; minimizes Σ f_i + n r.
    """

    step: Annotated[
        Positive,
        Auto(
            "half of what is stable, (1 + λ_min(W))/(2L)",
            lambda at: (1 + at.topology.least_eigenvalue) / (2 * at.smoothness),
        ),
    ]

    stackable = True

    async def run(self, node: Node) -> None:
        x = dual = node.zeros()
        for k in range(self.rounds):
            received = await node.exchange(x=node.privatize(x, self.mechanism(k)))  # 1
            mixed = received.mix("x")
            z = mixed - self.step * await node.gradient(x) - dual  # 2
            dual = dual + 0.5 * (received.sent("x") - mixed)  # 3
            x = node.regularizer.proximal(z, self.step)  # 4
            node.estimate(x)

    def check(self, setting: Setting) -> None:
        """Step in (0, (1 + λ_min(W))/L)."""
        super().check(setting)
        bound = stable_bound(Constant(self.step), 1, setting)
        check_below("step", self.step, bound, "0 < α < (1 + λ_min(W))/L")


@dataclass(frozen=True)
class Extra(PgExtra):
    """EXTRA: exact gradient descent in rounds.

    PG-EXTRA for r = 0; minimizes Σ f_i.
    """

    stackable = True

    def check(self, setting: Setting) -> None:
        """PG-EXTRA's conditions, and r = 0."""
        super().check(setting)
        check_smooth(setting, "EXTRA")


@dataclass(frozen=True)
class Nids(OneRelease):
    """NIDS: exact proximal gradient descent in rounds, its step independent of the graph.

    Minimizes Σ f_i + n r.
    """

    step: Annotated[Positive, Auto("1/L", lambda at: 1 / at.smoothness)]

    stackable = True

    async def run(self, node: Node) -> None:
        x = dual = node.zeros()
        gradient = await node.gradient(x)
        for k in range(self.rounds):
            z = x - self.step * gradient - dual  # 1
            x_new = node.regularizer.proximal(z, self.step)  # 2
            gradient_new = await node.gradient(x_new)
            s = 2 * x_new - x - self.step * (gradient_new - gradient)
            received = await node.exchange(s=node.privatize(s, self.mechanism(k)))  # 3
            dual = dual + 0.5 * (received.sent("s") - received.mix("s"))  # 4
            x, gradient = x_new, gradient_new
            node.estimate(x)

    def check(self, setting: Setting) -> None:
        """Step in (0, 2/L)."""
        super().check(setting)
        check_below("step", self.step, 2 / max(setting.smoothness), "0 < α < 2/L")


@dataclass(frozen=True)
class ExactDiffusion(Nids):
    """Exact diffusion: exact gradient descent in rounds, its step independent of the graph.

    NIDS for r = 0 but for the first round; minimizes Σ f_i.
    """

    stackable = True

    async def run(self, node: Node) -> None:
        x = adapted = node.zeros()
        for k in range(self.rounds):
            adapted_new = x - self.step * await node.gradient(x)  # 1
            corrected = adapted_new + x - adapted
            received = await node.exchange(phi=node.privatize(corrected, self.mechanism(k)))  # 2
            x = corrected - 0.5 * (received.sent("phi") - received.mix("phi"))  # 3
            adapted = adapted_new
            node.estimate(x)

    def check(self, setting: Setting) -> None:
        """NIDS's condition, and r = 0."""
        super().check(setting)
        check_smooth(setting, "Exact diffusion")
