"""RECAL: a baton (u, x) walks the graph; only its holder computes.

The holder i of the baton (u, x), with dual λ_i, copy y_i, coupling β = 1/(2(n+1)) and step α ∈ (0, 2/(L_i+1)):

    λ½ = λ_i + β(x − y_i)                                1
    x⁺ = prox_{n r}(x − (u + λ½ − λ_i))                  2
    y⁺ = y_i − α(∇f_i(y_i) − λ½)                         3
    λ⁺ = λ½ + β[(x⁺ − x) − (y⁺ − y_i)]                   4    ( = λ_i + β(x⁺ − y⁺) )
    u⁺ = u + λ⁺ − λ_i                                    5

and (u⁺, x⁺) goes to a neighbor drawn uniformly. It starts from x = u = λ = y = 0 and minimizes Σ f_i + n r.
Not private: (u, x) on the wire determine every gradient (`attacks.closed_form.recal`).

Source: the DP-RECAL paper, its non-private algorithm. The step is the same for all agents, so the condition is
checked against the largest L_i, ridge included.
"""

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from netsim.algorithms.algorithm import Algorithm, Setting, Stopping
from netsim.arrays import Array
from netsim.bounds import Auto, Count, Index, Positive
from netsim.errors import ScenarioError
from netsim.node import Node, choose


def coupling(agents: int) -> float:
    """β = 1/(2(n+1))."""
    return 1 / (2 * (agents + 1))


class Own(NamedTuple):
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

    def check(self, setting: Setting) -> None:
        """Step in (0, 2/(max L_i + 1)), a first holder that exists, an end."""
        bound = 2 / (max(setting.smoothness) + 1)
        if not 0 < self.step < bound:
            raise ScenarioError(
                "step", self.step, "outside the convergence condition", f"0 < step < 2/(L+1) = {bound:.6g}"
            )
        check_walk(self.first, self.activations, self.per_agent, setting.agents)

    def stopping(self) -> Stopping:
        return Stopping(self.activations, self.per_agent)

    def begin(self, node: Node) -> Own:
        """λ = y = 0."""
        return Own(node.zeros(), node.zeros())


def check_walk(first: int, activations: int | None, per_agent: int | None, agents: int) -> None:
    """A first holder that exists, and an end."""
    if not 0 <= first < agents:
        raise ScenarioError("first", first, "no such agent", f"0 … {agents - 1}")
    if activations is None and per_agent is None:
        raise ScenarioError("activations", None, "a walk needs an end", "activations or per_agent, >= 1")
    for name, value in (("activations", activations), ("per_agent", per_agent)):
        if value is not None and value < 1:
            raise ScenarioError(name, value, "a number of activations", ">= 1")


async def update(node: Node, step: float, own: Own, x: Array, half: Array, x_new: Array) -> Own:
    """Lines 3 and 4."""
    y_new = own.y - step * (await node.gradient(own.y) - half)
    dual = half + coupling(node.agents) * ((x_new - x) - (y_new - own.y))
    return Own(y_new, dual)


@dataclass(frozen=True)
class Recal(Walk):
    """RECAL: a baton walks the graph, no noise; claims nothing.

    Exact, with linear convergence for strongly convex sums.
    """

    async def run(self, node: Node) -> None:
        own = self.begin(node)
        beta = coupling(node.agents)
        holding = node.id == self.first
        u = x = node.zeros()
        while True:
            if not holding:
                baton = await node.receive()
                u, x = baton.values["u"], baton.values["x"]
            half = own.dual + beta * (x - own.y)  # 1
            x_new = node.regularizer.proximal(x - (u + half - own.dual), node.agents)  # 2
            new = await update(node, self.step, own, x, half, x_new)  # 3, 4
            u_new = u + new.dual - own.dual  # 5
            node.send(choose(node.coins, node.neighbors), u=u_new, x=x_new)
            node.estimate(x_new)
            own, holding = new, False


def geometric_sum(ratio: float, terms: int) -> float:
    """1 + R + … + R^(terms−1)."""
    return terms if ratio == 1 else math.expm1(terms * math.log(ratio)) / (ratio - 1)
