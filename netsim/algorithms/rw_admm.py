"""RW-ADMM, read as node-sampled D-ADMM: only active agents solve and send; a random walk says who is active.

x_i = λ_i = 0 and x̃_i = 0 are public at first. An active agent i, with d_i neighbors and the last x̃_j that it heard,

    x_i ← argmin f_i(x) + r(x) + 2⟨λ_i, x⟩ + η Σ_j ‖x − (x̃_i + x̃_j)/2‖²                1
    sends x̃_i = x_i + noise to all neighbors                                            2
    λ_i ← λ_i + (η/2) Σ_j (x̃_i − x̃_j), and each neighbor j: λ_j ← λ_j + (η/2)(x̃_j − x̃_i)   3

``walk``: one agent is active at a time; neighbors confirm x̃_i with an empty message, and then a baton (an empty
message too) goes to a neighbor drawn uniformly. Confirmations keep activations apart whatever the network does, so
that both ends of an edge move their duals by the same numbers. ``everybody``: all are active in every round, and each
edge moves its duals once: D-ADMM with noise on the primal. Σ λ_i = 0 under any noise, once all have heard all.

Source: Shah, Avrachenkov, Linearly convergent asynchronous distributed ADMM via Markov sampling, 2018. How sure:
inferred; the reading as node-sampled D-ADMM, the confirmations and the noise (the paper has none) are decisions.

Claim (composition of the mechanism; the paper claims none): as D-ADMM's on the primal, a release moves by
G/(2ηd_i + μ_i − ρ_i) where 2ηd_i > ρ_i; `setting.releases` counts one agent's activations. Which agents are active
depends on no data.
"""

from dataclasses import dataclass
from typing import Literal

from netsim.algorithms.algorithm import Setting, Stopping
from netsim.algorithms.d_admm import ExactInner
from netsim.arrays import Array, whole
from netsim.bounds import Count, Index
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.node import Node, choose


class _State:
    """What an agent holds: λ_i, PRIVATE only before it is heard, its own x̃_i and the last x̃_j of each neighbor."""

    def __init__(self, node: Node, penalty: float) -> None:
        self.node, self.penalty = node, penalty
        self.dual = self.sent = node.zeros()
        self.received = {j: node.zeros() for j in node.neighbors}

    async def solved(self) -> Array:
        """Line 1."""
        eta, d = self.penalty, len(self.received)
        midpoints = sum(((self.sent + value) / 2 for value in self.received.values()), start=self.node.zeros())
        return await self.node.proximal(midpoints / d - self.dual / (eta * d), 1 / (2 * eta * d), regularized=True)

    def moved(self, j: int) -> None:
        """Line 3 for one edge."""
        self.dual = self.dual + self.penalty / 2 * (self.sent - self.received[j])


@dataclass(frozen=True)
class RwAdmm(ExactInner):
    """RW-ADMM: D-ADMM in which a walker, or everybody, is active; noise on what is sent. Where everybody is active
    there are `per_agent` rounds.
    """

    activation: Literal["walk", "everybody"] = "walk"
    """Whether one walker acts, or everybody."""
    activations: Count | None = None
    """The walk ends after so many activations of all agents together."""
    per_agent: Count | None = None
    """The walk ends when one agent has been active so often."""
    first: Index = 0
    """The agent that is active first."""

    async def run(self, node: Node) -> None:
        own = _State(node, self.penalty)
        if self.activation == "walk":
            await self._walk(node, own)
            return
        for k in range(self.per_agent or 0):
            x = await own.solved()  # 1
            received = await node.exchange(x=node.privatize(x, self.mechanism(k)))  # 2
            own.sent, own.received = received.sent("x"), received["x"]
            for j in node.neighbors:
                own.moved(j)  # 3
            node.estimate(x)

    async def _walk(self, node: Node, own: _State) -> None:
        active, k = node.id == self.first, 0
        while True:
            if active:
                x = await own.solved()  # 1
                own.sent = node.privatize(x, self.mechanism(k))
                node.broadcast(x=own.sent)  # 2
                for j in node.neighbors:
                    own.moved(j)  # 3
                for _ in node.neighbors:
                    await node.receive()  # confirmed
                node.send(choose(node.coins, node.neighbors))
                node.estimate(x)
                active, k = False, k + 1
                continue
            message = await node.receive()
            if not message.values:
                active = True
                continue
            own.received[message.sender] = message.values["x"]
            own.moved(message.sender)  # 3
            node.send(message.sender)

    def stopping(self) -> Stopping:
        return Stopping() if self.activation == "everybody" else Stopping(self.activations, self.per_agent)

    @property
    def horizon(self) -> int | None:
        return self.per_agent

    @property
    def summary(self) -> str:
        who = "a walker" if self.activation == "walk" else "everybody"
        return f"RW-ADMM, {who} active, exact inner problems; {self.noise_in_words} on what is sent."

    def check(self, setting: Setting) -> None:
        """η > 0, a walk that ends, or rounds."""
        super().check(setting)
        if self.activation not in ("walk", "everybody"):
            raise ScenarioError("activation", self.activation, "no such activation", "walk, everybody")
        if self.activation == "walk":
            self.stopping().check(self.first, setting.agents)
        else:
            whole(0 if self.per_agent is None else self.per_agent, "per_agent", 1)

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        return self.claim_of_primal(adjacency, setting, delta, setting.releases)
