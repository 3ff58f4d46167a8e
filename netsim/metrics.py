# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""How well the run solves its problem, measured from outside: nothing here is ever on the wire."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from netsim.arrays import Array
from netsim.errors import ProtocolError


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

    def write(self, path: Path, more: Mapping[str, Any] | None = None) -> None:
        """One Parquet row per estimate: count, time, agent, and the error's median, 5 % and 95 % over replicas; and
        `more` columns, null where they are masked."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        errors = self.relative_errors()
        low, median, high = np.quantile(errors, (0.05, 0.5, 0.95), axis=1) if errors.size else np.empty((3, 0))
        columns = {
            "count": np.arange(1, len(self.times) + 1),
            "time": np.array(self.times),
            "agent": np.array(self.agents),
            "error_low": low,
            "error_median": median,
            "error_high": high,
        } | dict(more or {})
        arrays = {name: pa.array(np.ma.getdata(c), mask=np.ma.getmaskarray(c)) for name, c in columns.items()}
        pq.write_table(pa.table(arrays), path, compression="zstd")

    def worst_by_round(self, agents: int) -> Array:
        """The largest error over the agents per round, (rounds, replicas); for algorithms in rounds.

        You get a `ProtocolError` where nobody ever called `Node.estimate`.
        """
        errors = self.relative_errors()
        if not len(errors):
            raise ProtocolError("no agent ever called `node.estimate`: there is no round to measure")
        rounds = min(self.agents.count(i) for i in range(agents))
        seen = [0] * agents
        worst = np.zeros((rounds, errors.shape[1]))
        for agent, error in zip(self.agents, errors, strict=True):
            if seen[agent] < rounds:
                worst[seen[agent]] = np.maximum(worst[seen[agent]], error)
            seen[agent] += 1
        return worst
