"""EXTRA and PG-EXTRA: gradient descent in rounds whose dual D takes away the error that a constant step leaves.

With W̃ = (I + W)/2, D⁰ = 0, and x⁰ = 0 at all agents, round k = 0, 1, … is

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

The papers claim nothing of privacy. With noise, DP-EXTRA and DP-PG-EXTRA of the DP-RECAL paper have its Theorem 1
(`Noisy.claim_by_frequency`): x̃⁺ moves by αG for the gradient that is new in it. Given the transcript, W x̃ and D are
the same in both worlds and x is not: ‖Δ∇f(x)‖ may be G + L‖Δx‖, so a release may move by αG(1 + αL + (αL)² + …),
which the sum does not count.
"""

from dataclasses import dataclass
from typing import Annotated

from netsim.algorithms.algorithm import Setting
from netsim.algorithms.mixing import OneRelease, check_below, check_smooth
from netsim.algorithms.private_gradient_descent import stable_step
from netsim.bounds import Auto, Positive
from netsim.node import Node


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
        bound = stable_step(max(setting.smoothness), setting.topology)
        check_below("step", self.step, bound, "0 < α < (1 + λ_min(W))/L")


@dataclass(frozen=True)
class Extra(PgExtra):
    """EXTRA: exact gradient descent in rounds.

    PG-EXTRA for r = 0; minimizes Σ f_i.
    """

    def check(self, setting: Setting) -> None:
        """PG-EXTRA's conditions, and r = 0."""
        super().check(setting)
        check_smooth(setting, "EXTRA")
