"""NIDS: proximal gradient descent in rounds whose step needs to know nothing of the graph.

With W̃ = (I + W)/2, D = 0 and x = 0 at first, round k = 0, 1, … is

    z = x − α∇f(x) − D                                   1
    x⁺ = prox_{αr}(z)                                    2
    send s̃ = 2x⁺ − x − α(∇f(x⁺) − ∇f(x)) + noise         3
    D⁺ = D + (I − W̃) s̃                                   4

Nothing is sent before the first x⁺, and what the last round sends nobody uses. Without D and noise this is the
published z^{k+1} = z^k − x^k + W̃ s^k; with noise z^{k+1} = z^k − x^k + s^k − (I − W̃) s̃^k: an agent's own s is exact
where it is not mixed. Step: 0 < α < 2/L, the same for all agents.

Source: Li, Shi, Yan 2019, with one common step (the form is sure). The paper has no noise: its place is that of the
comparisons with DP-RECAL, and only fairly sure. It keeps Σ_i D_i = 0.

No claim: s and D hold differences of gradients and of all that was sent before, so that every release depends on all
gradients so far; the composition of one release per gradient does not cover that, and nothing is derived here.
"""

from dataclasses import dataclass
from typing import Annotated

from netsim.algorithms.algorithm import Setting
from netsim.algorithms.mixing import OneRelease, check_below
from netsim.bounds import Auto, Positive
from netsim.node import Node


@dataclass(frozen=True)
class Nids(OneRelease):
    """NIDS: exact proximal gradient descent in rounds, its step independent of the graph.

    Minimizes Σ f_i + n r.
    """

    step: Annotated[Positive, Auto("1/L", lambda at: 1 / at.smoothness)]

    async def run(self, node: Node) -> None:
        x = dual = node.zeros()
        gradient = await node.gradient(x)
        for k in range(self.rounds):
            z = x - self.step * gradient - dual  # 1
            x_new = node.regularizer.proximal(z, self.step)  # 2
            gradient_new = await node.gradient(x_new)
            s = 2 * x_new - x - self.step * (gradient_new - gradient)
            received = await node.exchange(s=node.privatize(s, self.noise(k)))  # 3
            dual = dual + 0.5 * (received.sent("s") - received.mix("s"))  # 4
            x, gradient = x_new, gradient_new
            node.estimate(x)

    def check(self, setting: Setting) -> None:
        """Step in (0, 2/L)."""
        super().check(setting)
        check_below("step", self.step, 2 / max(setting.smoothness), "0 < α < 2/L")
