"""Course of a run: its costs and measures so far, kept in bounded memory while it goes on.

Costs are packets, bytes, private queries, activations and time. Row r of every measure depends on row r alone.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array
from netsim.network.wires import Air
from netsim.problems.modelled import Modelled
from netsim.problems.objective import half_square, times
from netsim.problems.problem import Problem

if TYPE_CHECKING:
    from netsim.readers.live import LiveNode

Counts: TypeAlias = NDArray[np.int64]
"""Whole numbers, one for each round or activation."""


@dataclass(frozen=True)
class Costs:
    """Entry k − 1 is what it had cost when round or activation k was closed, in a round by its last agent.

    `plf`: the largest number of activations of one agent so far, Θ in the DP-RECAL paper's privacy formula (PLF in
    one version of it, LCI in the other); in rounds the number of the round. `packets` and `bytes`: all on the air
    by then, acknowledgements, retransmissions and what other agents were ahead with included; on radio a
    transmission counts once. `messages` and `message_bytes`: what agents sent in their first k rounds, or in all
    activations closed so far, one for each receiver, before any link repeats, tags or loses it. `queries`: gradients
    and proximal steps of the private objectives in the same activations, by all agents, one for a batch of
    records too; `queries_of_one`: by the agent with most. `time` is in virtual seconds.
    """

    plf: Counts
    packets: Counts
    bytes: Counts
    messages: Counts
    message_bytes: Counts
    queries: Counts
    queries_of_one: Counts
    time: Array


class _Ledger:
    """What is noted at each closing, five whole numbers: what was on the air, and the closing agent's own counts."""

    __slots__ = ("_air", "_nodes", "bytes", "message_bytes", "messages", "packets", "queries")

    def __init__(self, air: Air, nodes: "Sequence[LiveNode]") -> None:
        self._air, self._nodes = air, nodes
        self.packets, self.bytes = array("q"), array("q")
        self.queries, self.messages, self.message_bytes = array("q"), array("q"), array("q")

    def closed(self, agent: int) -> None:
        """An agent closed a round or an activation, now."""
        node, air = self._nodes[agent], self._air
        self.packets.append(air.packets)
        self.bytes.append(air.bytes)
        self.queries.append(node.queries)
        self.messages.append(node.messages)
        self.message_bytes.append(node.message_bytes)


def by_round(ledger: _Ledger, times: Array, closings: Counts) -> Costs:
    """`closings[i, k]` is which closing of the whole run was agent i's round k + 1; shape (agents, rounds)."""
    last = closings.max(axis=0)

    def own(counts: "array[int]") -> Counts:
        return np.array(counts, dtype=np.int64)[closings]

    queries = own(ledger.queries)
    return Costs(
        plf=np.arange(1, len(last) + 1, dtype=np.int64),
        packets=np.array(ledger.packets, dtype=np.int64)[last],
        bytes=np.array(ledger.bytes, dtype=np.int64)[last],
        messages=own(ledger.messages).sum(axis=0),
        message_bytes=own(ledger.message_bytes).sum(axis=0),
        queries=queries.sum(axis=0),
        queries_of_one=queries.max(axis=0, initial=0),
        time=times[closings].max(axis=0, initial=0.0),
    )


def by_activation(ledger: _Ledger, times: Array, agents: Counts) -> Costs:
    """`agents[t]` closed activation t + 1 of the walk."""
    order = np.argsort(agents, kind="stable")
    first = np.ones(len(order), dtype=bool)
    first[1:] = agents[order][1:] != agents[order][:-1]

    def so_far(counts: "array[int]") -> Counts:
        """The sum over agents of their counts as of their latest closings."""
        values = np.array(counts, dtype=np.int64)
        steps = values[order]
        steps[~first] -= values[order][np.flatnonzero(~first) - 1]
        found = np.empty_like(steps)
        found[order] = steps
        return np.cumsum(found)

    starts = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    activation = np.empty(len(order), dtype=np.int64)
    activation[order] = np.arange(len(order)) - starts + 1
    return Costs(
        plf=np.maximum.accumulate(activation),
        packets=np.array(ledger.packets, dtype=np.int64),
        bytes=np.array(ledger.bytes, dtype=np.int64),
        messages=so_far(ledger.messages),
        message_bytes=so_far(ledger.message_bytes),
        queries=so_far(ledger.queries),
        queries_of_one=np.maximum.accumulate(np.array(ledger.queries, dtype=np.int64)),
        time=times,
    )


BLOCK = 2**21
"""Numbers held at once by a batch: 16 MB."""


@runtime_checkable
class Classified(Protocol):
    """Records with labels ±1, judged by sign(aᵀx): a logistic objective, or a data set of two classes."""

    @property
    def features(self) -> Array:
        """(m, d)."""
        ...

    @property
    def labels(self) -> Array:
        """(m,), each −1 or +1."""
        ...


def distance(x: Array, optimum: Array) -> Array:
    """‖x − x*‖ / ‖x*‖, absolute where x* = 0; x is (replicas, dimension), the result (replicas,)."""
    scale = float(np.linalg.norm(optimum)) or 1.0
    return np.sqrt(2 * half_square(x - optimum)) / scale


def spread(estimates: Array) -> tuple[Array, Array]:
    """x̄ and (1/n) Σ ‖x_i − x̄‖² of estimates (replicas, dimension, agents): (replicas, dimension), (replicas,)."""
    agents = estimates.shape[-1]
    mean = np.add.reduce(np.ascontiguousarray(estimates), axis=-1) / agents
    deviations = (estimates - mean[..., None]).reshape(len(estimates), -1)
    return mean, 2 * half_square(deviations) / agents


class RunningSpread:
    """The same, one estimate (replicas, dimension) after the other, without keeping them (Welford 1962)."""

    __slots__ = ("_squares", "count", "mean")

    def __init__(self, shape: tuple[int, int]) -> None:
        self.count = 0
        self.mean = np.zeros(shape)
        self._squares = np.zeros(shape)

    def add(self, x: Array) -> None:
        self.count += 1
        before = x - self.mean
        self.mean = self.mean + before / self.count
        self._squares = self._squares + before * (x - self.mean)

    @property
    def mean_square(self) -> Array:
        """(1/n) Σ ‖x_i − x̄‖², shape (replicas,)."""
        return np.einsum("rd->r", self._squares) / self.count


def objective_gap(problem: Problem, x: Array) -> Array:
    """F(x) + n r(x) − F*, shape (replicas,). Near the optimum it is rounding, of either sign; it is not clipped."""
    return problem.value(x) - problem.optimum().value


def stationarity_gap(gradient: Array, consensus: Array) -> Array:
    """‖∇F(x)/n‖² + (1/n) Σ ‖x_i − x̄‖² from ∇F(x)/n, for r = 0.

    Not the optimality gap (31) of the DPP² paper: that takes Σ∇f_i at the agents' own x_i, and is n times as large.

    0 exactly where the agents agree on a stationary point, of a nonconvex F too.
    """
    return 2 * half_square(gradient) + consensus


def proximal_residual(problem: Problem, x: Array, gradient: Array) -> Array:
    """‖x − prox_r(x − ∇F(x)/n)‖ in ℓ2 at step 1, from ∇F(x)/n: 0 at a stationary point and nowhere else."""
    return np.sqrt(2 * half_square(x - problem.regularizer.proximal(x - gradient, 1.0)))


def accuracy(parts: Sequence[Classified | Modelled], x: Array) -> Array:
    """The share of all records a, b = ±1 with sign(aᵀx) = b, or of the model's class, shape (replicas,). Where
    aᵀx = 0, or is no number, the class is wrong."""
    right = np.zeros(len(x))
    for part in parts:
        if isinstance(part, Modelled):
            right += part.right(x)
            continue
        right += (times(x, np.ascontiguousarray(part.features)) * part.labels > 0).sum(axis=1)
    return right / sum(len(part.labels) for part in parts)


def by_rows(function: Callable[[Array], Array], x: Array, width: int) -> Array:
    """`function` of the rows of x (…, dimension), in batches that hold `width` numbers for each row."""
    rows = x.reshape(-1, x.shape[-1])
    size = max(1, BLOCK // max(width, x.shape[-1]))
    with np.errstate(over="ignore", invalid="ignore"):  # a diverging run is a result
        parts = [function(rows[i : i + size]) for i in range(0, len(rows), size)]
    found = np.concatenate(parts) if parts else np.empty((0, *function(np.zeros((1, x.shape[-1]))).shape[1:]))
    return found.reshape(*x.shape[:-1], *found.shape[1:])


MOST, FEWEST = 200, 16
MEMORY = 2**26
WORK = 10**9


@dataclass(frozen=True)
class Point:
    """A round or an activation, number `count`, that closing `at` of the whole run completed.

    `answer` is what is judged (`netsim.metrics.course`), (replicas, dimension); the others are (replicas,).
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
        self.walk, self.ledger = walk, _Ledger(air, nodes)
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
