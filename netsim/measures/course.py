"""What is kept of a run, while it goes on, for its measures: in bounded memory, and little work at each estimate.

The relative error and the costs are noted at every estimate. All else is of a thinned set of rounds or activations:
their numbers are the multiples of a stride, the powers of two, and the last. The stride is 1 at first and doubles,
with every other point forgotten, whenever there are more points than the limit, powers of two aside: `MOST` of them,
or fewer where those would hold more than `MEMORY` bytes of answers, or cost more than `WORK` multiplications to
judge, but no fewer than `FEWEST`. So in the end there are about half as many as the limit, or more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netsim.arrays import Array
from netsim.measures.costs import Ledger
from netsim.measures.formulas import RunningSpread, distance, spread
from netsim.problems.problem import Problem
from netsim.wires import Air

if TYPE_CHECKING:
    from netsim.live import LiveNode

MOST, FEWEST = 200, 16
MEMORY = 2**26
WORK = 10**9


@dataclass(frozen=True)
class Point:
    """A round or an activation, number `count`, that closing `at` of the whole run completed.

    `answer` is what is judged (`netsim.measures.formulas`), (replicas, dimension); the others are (replicas,).
    """

    count: int
    at: int
    answer: Array
    mean_error: Array
    consensus: Array


class Course:
    """What the measures of one run are made of. `every`: a stride that stays, whatever memory it takes."""

    def __init__(
        self,
        problem: Problem,
        replicas: int,
        *,
        walk: bool,
        air: Air,
        nodes: "Sequence[LiveNode]",
        every: int | None = None,
        last: int | None = None,
    ) -> None:
        self.walk, self.ledger = walk, Ledger(air, nodes)
        self._optimum, self._agents = problem.optimum().point, problem.agents
        self._shape = (replicas, problem.dimension)
        self._stride, self._fixed, self._last = every or 1, every is not None, last
        self.limit = limit(problem, replicas)
        self._closed = 0
        self._points: dict[int, Point] = {}
        self._rounds: dict[int, RunningSpread] = {}
        self._of = [0] * problem.agents
        self._latest = np.zeros((*self._shape, problem.agents)) if walk else None
        self._newest: Array | None = None

    @property
    def stride(self) -> int:
        """Between the numbers of two points."""
        return self._stride

    def closed(self, agent: int, x: Array) -> None:
        """An agent closed a round or an activation with the estimate x (replicas, dimension), kept as it is."""
        self.ledger.closed(agent)
        self._closed += 1
        self._of[agent] += 1
        if self._latest is None:
            self._in_round(self._of[agent], x)
            return
        self._latest[:, :, agent] = x
        self._newest = x
        if self._due(self._closed):
            self._of_walk()
            self._thin()

    def finish(self) -> None:
        """The run is over: a walk's last activation is a point too, and what is no point is forgotten."""
        if self._latest is not None and self._newest is not None and self._closed not in self._points:
            with np.errstate(over="ignore", invalid="ignore"):  # a diverging run is a result
                self._of_walk()
        self._latest = self._newest = None
        self._rounds.clear()

    def points(self) -> list[Point]:
        """All points that are complete, in order."""
        return [self._points[count] for count in sorted(self._points)]

    def _due(self, count: int) -> bool:
        return count % self._stride == 0 or count & (count - 1) == 0 or count == self._last

    def _in_round(self, count: int, x: Array) -> None:
        if not self._due(count):
            return
        if (found := self._rounds.get(count)) is None:
            found = self._rounds[count] = RunningSpread(self._shape)
        found.add(x)
        if found.count == self._agents:
            del self._rounds[count]
            self._keep(count, found.mean, found.mean, found.mean_square)
        self._thin()

    def _of_walk(self) -> None:
        assert self._latest is not None
        assert self._newest is not None
        seen = [i for i, times in enumerate(self._of) if times]
        mean, consensus = spread(self._latest if len(seen) == self._agents else self._latest[:, :, seen])
        self._keep(self._closed, self._newest, mean, consensus)

    def _keep(self, count: int, answer: Array, mean: Array, consensus: Array) -> None:
        self._points[count] = Point(count, self._closed - 1, answer, distance(mean, self._optimum), consensus)

    def _thin(self) -> None:
        powers = max(self._of).bit_length() if self._latest is None else self._closed.bit_length()
        while not self._fixed and len(self._points) + len(self._rounds) > self.limit + powers + 1:
            self._stride *= 2
            for kept in (self._points, self._rounds):
                for count in [count for count in kept if not self._due(count)]:
                    del kept[count]


def limit(problem: Problem, replicas: int) -> int:
    """How many points there are at most."""
    numbers = replicas * problem.dimension
    records = sum(int(getattr(f, "records", problem.dimension)) for f in problem.objectives)
    return max(FEWEST, min(MOST, MEMORY // (8 * numbers), WORK // (numbers * records)))
