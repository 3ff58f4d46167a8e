"""How well the run solves its problem, measured from outside: nothing here is ever on the wire."""

from dataclasses import dataclass, field

import numpy as np

from netsim.arrays import Array


@dataclass
class Metrics:
    """Relative errors ‖x − x*‖/‖x⁰ − x*‖ (absolute where x* = 0) of every estimate, per replica.

    Row t is the t-th call of `Node.estimate` in the whole run: by `agents[t]`, at `times[t]` seconds.
    """

    optimum: Array
    times: list[float] = field(default_factory=list[float])
    agents: list[int] = field(default_factory=list[int])
    errors: list[Array] = field(default_factory=list[Array])

    def record(self, time: float, agent: int, x: Array) -> None:
        """One estimate x (replicas, dimension)."""
        scale = float(np.linalg.norm(self.optimum)) or 1.0
        self.times.append(time)
        self.agents.append(agent)
        self.errors.append(np.linalg.norm(x - self.optimum, axis=-1) / scale)

    def relative_errors(self) -> Array:
        """All errors, shape (estimates, replicas)."""
        return np.array(self.errors)

    def worst_by_round(self, agents: int) -> Array:
        """The largest error over the agents per round, (rounds, replicas); for algorithms in rounds."""
        errors = self.relative_errors()
        rounds = min(self.agents.count(i) for i in range(agents))
        seen = [0] * agents
        worst = np.zeros((rounds, errors.shape[1]))
        for agent, error in zip(self.agents, errors, strict=True):
            if seen[agent] < rounds:
                worst[seen[agent]] = np.maximum(worst[seen[agent]], error)
            seen[agent] += 1
        return worst
