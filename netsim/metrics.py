# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""Metrics of one run: how far it got and what it cost, measured from outside; nothing here is ever on the wire.

`Run.metrics` has the relative error of every estimate. `Run.measures` has every measure as a curve, the costs so far
at every round or activation, and what it cost to reach a given accuracy; they are computed when they are read, from
what `Metrics` keeps in bounded memory while the run goes on. Row r of every measure depends on row r alone.
"""

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from netsim.arguments import expect
from netsim.arrays import Array, unknown
from netsim.errors import ProtocolError, ScenarioError
from netsim.models.model import Zero
from netsim.network.wires import Air
from netsim.node import added
from netsim.problems.data import Dataset
from netsim.problems.losses import LeastSquares
from netsim.problems.minimizers import TOLERANCE
from netsim.problems.modelled import Modelled
from netsim.problems.objective import half_square, times
from netsim.problems.problem import Problem
from netsim.shown import Shown

Counts: TypeAlias = NDArray[np.int64]
"""Whole numbers, one for each round or activation."""
BLOCK = 2**21
"""Numbers held at once by a batch: 16 MB."""
MOST, FEWEST = 200, 16
MEMORY = 2**26
WORK = 10**9


# ── while the run goes on ───────────────────────────────────────────────────────────────────────────────


class _Round:
    """Estimates of one round, (agents, replicas, dimension), as agents close it; and how many have."""

    __slots__ = ("closed", "estimates")

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.closed, self.estimates = 0, np.empty(shape)


class _OwnGradients:
    """Σ ∇f_i(x_i) (replicas, dimension) and Σ ‖∇f_i(x_i)‖² (replicas,), one agent's own estimate after the other."""

    __slots__ = ("count", "squares", "total")

    def __init__(self, shape: tuple[int, int]) -> None:
        self.count = 0
        self.total, self.squares = np.zeros(shape), np.zeros(shape[0])

    def add(self, gradient: Array) -> None:
        self.count += 1
        self.total = self.total + gradient
        self.squares = self.squares + 2 * half_square(gradient)


@dataclass(frozen=True)
class _Point:
    """A round or an activation, number `count`, that closing `at` of the whole run completed.

    `answer` is what is judged, (replicas, dimension); `own` is of the agents' own estimates, where it is recorded;
    the others are (replicas,).
    """

    count: int
    at: int
    answer: Array
    mean_error: Array
    consensus: Array
    own: "_OwnGradients | None"


class Counted(Protocol):
    """An agent, as far as its costs are counted."""

    messages: int
    message_bytes: int
    queries: int


class Metrics(Shown):
    """Relative errors ‖x − x*‖/‖x⁰ − x*‖ (absolute where x* = x⁰) of every estimate, and the facts that the measures
    of the run are made of; x⁰ is `start`, (dimension,), or 0.

    Row t of `errors`, one number per replica, is the t-th call of `Node.estimate` in the whole run: by `agents[t]`,
    at `times[t]` seconds. `ledger` has five whole numbers for each: what was on the air by then, and the closing
    agent's own counts. `every`: a stride that stays, whatever memory it takes. `own_gradients`: every estimate of a
    point costs a gradient. `place`: where the agents' code is, for an error.
    """

    def __init__(
        self,
        problem: Problem,
        replicas: int,
        *,
        walk: bool,
        air: Air | None = None,
        nodes: Sequence[Counted] = (),
        every: int | None = None,
        last: int | None = None,
        own_gradients: bool = False,
        start: Array | None = None,
        place: str = "",
    ) -> None:
        self.times, self.agents, self.errors = list[float](), list[int](), list[Array]()
        self.walk, self._place = walk, place
        self._air = air
        self._nodes: Sequence[Counted] = nodes
        names = ("packets", "bytes", "messages", "message_bytes", "queries")
        self.ledger: dict[str, array[int]] = {name: array("q") for name in names}
        self._optimum = problem.optimum().point
        self._scale = float(np.linalg.norm(self._optimum if start is None else self._optimum - start)) or 1.0
        self._shape = (replicas, problem.dimension)
        self.stride, self._fixed, self._last = every or 1, every is not None, last
        numbers = replicas * problem.dimension
        records = sum(problem.of_each(lambda f: int(getattr(f, "records", problem.dimension))))
        self.limit = max(FEWEST, min(MOST, MEMORY // (8 * numbers), WORK // (numbers * records)))
        """How many points there are at most, but for those at powers of two."""
        self._points: dict[int, _Point] = {}
        self._rounds: dict[int, _Round] = {}
        self._objectives = problem.objectives if own_gradients else None
        self._of = [0] * problem.agents
        self._latest = np.zeros((*self._shape, problem.agents)) if walk else None
        self._newest: Array | None = None

    def facts(self) -> dict[str, object]:
        last = float(np.median(self.errors[-1])) if self.errors else None
        each = "activations" if self.walk else "rounds"
        agents = len(set(self.agents))
        return {"estimates": len(self.errors), "of": each, "agents": agents, "error of the last estimate": last}

    def closed(self, time: float, agent: int, x: Array) -> None:
        """An agent closed a round or an activation with the estimate x (replicas, dimension), kept as it is."""
        self.times.append(time)
        self.agents.append(agent)
        self.errors.append(np.linalg.norm(x - self._optimum, axis=-1) / self._scale)
        node, air = self._nodes[agent], self._air
        assert air is not None, "the run is over"
        noted = (air.packets, air.bytes, node.messages, node.message_bytes, node.queries)
        for counts, count in zip(self.ledger.values(), noted, strict=True):
            counts.append(count)
        self._of[agent] += 1
        if self._latest is not None:
            self._latest[:, :, agent] = x
            self._newest = x
            if self._due(len(self.times)):
                self._of_walk()
                self._thin()
        elif self._due(count := self._of[agent]):
            if (found := self._rounds.get(count)) is None:
                found = self._rounds[count] = _Round((len(self._of), *self._shape))
            found.estimates[agent] = x
            found.closed += 1
            if found.closed == len(self._of):
                del self._rounds[count]
                self._of_round(count, found.estimates)
            self._thin()

    def closed_by_all(self, x: Array) -> Array:
        """All agents close a round, with estimates (agents, replicas, dimension), whose errors you get, (agents,
        replicas). When, and in which order, `noted` is told once the run is over."""
        self._of = [count + 1 for count in self._of]
        if self._due(self._of[0]):
            self._of_round(self._of[0], x)
            self._thin()
        return np.asarray(np.linalg.norm(x - self._optimum, axis=-1) / self._scale)

    def noted(self, times: Array, agents: Counts, errors: Array, ledger: Mapping[str, Counts]) -> None:
        """Every estimate in the order in which it was made, of runs in which all agents close their rounds together:
        errors (estimates, replicas)."""
        self.times, self.agents, self.errors = times.tolist(), agents.tolist(), list(errors)
        self.ledger = {name: array("q", ledger[name].astype(np.int64).tobytes()) for name in self.ledger}
        last = self.closings(len(self._of)).max(axis=0)
        whole = [count for count in self._points if count <= len(last)]  # the last may have been interrupted
        self._points = {count: replace(self._points[count], at=int(last[count - 1])) for count in whole}

    def relative_errors(self) -> Array:
        """All errors, shape (estimates, replicas)."""
        return np.array(self.errors)

    def closings(self, agents: int) -> Counts:
        """Which estimate of the whole run was agent i's of round k + 1, (agents, rounds)."""
        closed = np.array(self.agents, dtype=np.int64)
        each = np.bincount(closed, minlength=agents)
        order = np.argsort(closed, kind="stable")
        places: Counts = (np.cumsum(each) - each)[:, None] + np.arange(int(each.min()), dtype=np.int64)
        return order[places] if places.size else np.zeros(places.shape, dtype=np.int64)

    def worst_by_round(self, agents: int) -> Array:
        """The largest error over the agents per round, (rounds, replicas); for algorithms in rounds.

        You get a `ProtocolError` where nobody ever called `Node.estimate`.
        """
        if not self.errors:
            where = f" ({self._place})" if self._place else ""
            why = f"no agent ever called `node.estimate`{where}: there is no round to measure; call it last in each"
            raise ProtocolError(why)
        return self.relative_errors()[self.closings(agents)].max(axis=0)

    def finish(self) -> None:
        """The run is over: a walk's last activation is a point too, and what is no point is forgotten."""
        if self._newest is not None and len(self.times) not in self._points:
            with np.errstate(over="ignore", invalid="ignore"):  # a diverging run is a result
                self._of_walk()
        self._latest = self._newest = self._air = None
        self._nodes = ()  # private objectives are in them
        self._rounds.clear()

    def points(self) -> list[_Point]:
        """All points that are complete, in order."""
        return [self._points[count] for count in sorted(self._points)]

    def _due(self, count: int) -> bool:
        return count % self.stride == 0 or count & (count - 1) == 0 or count == self._last

    def _of_walk(self) -> None:
        assert self._latest is not None
        assert self._newest is not None
        seen = [i for i, times in enumerate(self._of) if times]
        estimates = self._latest if len(seen) == len(self._of) else self._latest[:, :, seen]
        mean = np.add.reduce(np.ascontiguousarray(estimates), axis=-1) / len(seen)
        deviations = (estimates - mean[..., None]).reshape(len(estimates), -1)
        own = self._own_gradients([(i, np.ascontiguousarray(estimates[:, :, k])) for k, i in enumerate(seen)])
        self._keep(len(self.times), self._newest, mean, 2 * half_square(deviations) / len(seen), own)

    def _of_round(self, count: int, estimates: Array) -> None:
        """A round is complete; sums are in the order of the agents, replica by replica."""
        n = len(estimates)
        mean = added(estimates) / n
        mean_square = added(2 * half_square((estimates - mean).reshape(-1, mean.shape[-1])).reshape(n, -1)) / n
        self._keep(count, mean, mean, mean_square, self._own_gradients(enumerate(estimates)))

    def _own_gradients(self, estimates: Iterable[tuple[int, Array]]) -> _OwnGradients | None:
        """Of agents at their own estimates; None where they are not recorded."""
        if self._objectives is None:
            return None
        own = _OwnGradients(self._shape)
        for agent, x in estimates:
            own.add(self._objectives[agent].gradient(x))
        return own

    def _keep(self, count: int, answer: Array, mean: Array, consensus: Array, own: _OwnGradients | None) -> None:
        mean_error = np.sqrt(2 * half_square(mean - self._optimum)) / self._scale
        self._points[count] = _Point(count, len(self.times) - 1, answer, mean_error, consensus, own)

    def _thin(self) -> None:
        powers = (max(self._of) if self._latest is None else len(self.times)).bit_length()
        while not self._fixed and len(self._points) + len(self._rounds) > self.limit + powers + 1:
            self.stride *= 2
            for kept in (self._points, self._rounds):
                for count in [count for count in kept if not self._due(count)]:
                    del kept[count]


# ── after the run ───────────────────────────────────────────────────────────────────────────────────────

DEFINITIONS = {
    "relative_error": "‖x − x*‖/‖x*‖ (absolute where x* = 0): in rounds the largest over the agents, in a walk of "
    "the estimate just closed; at every round or activation",
    "mean_error": "the same of x̄ = (1/n) Σ x_i; in a walk over the latest estimates of all agents that have closed",
    "consensus_error": "(1/n) Σ ‖x_i − x̄‖²; in a walk over the same estimates",
    "consensus_distance": "its root",
    "objective_gap": "F(x) + n r(x) − F*, where F = Σ f_i, r is the regularizer, and x is x̄ or in a walk the "
    "estimate just closed; near the optimum rounding, of either sign",
    "relative_gap": "the same over F*; only where F* > 0",
    "stationarity_gap": "‖∇F(x)/n‖² + (1/n) Σ ‖x_i − x̄‖²; only where r = 0",
    "optimality_gap": "Σ ‖x_i − x̄‖² + (1/n) ‖Σ ∇f_i(x_i)‖², (31) of the DPP² paper; only where r = 0, and in runs "
    "that record the agents' own gradients (asked for in `measures`, a check or a figure)",
    "local_gradients": "(1/n²) Σ ‖∇f_i(x_i)‖², ‖(1/n)∇f̃(x)‖² in the words of the DPP² paper (its Fig. 3); in the "
    "same runs. Not 0 at an optimum where objectives differ",
    "proximal_residual": "‖x − prox_r(x − ∇F(x)/n)‖ in ℓ2",
    "limit_residual": "mean over the replicas of ‖x(k) − x^∞‖_F, of all agents' x at once; only where the noise "
    "decides Σ ∇f_i(x^∞) (`Algorithm.limit_offset`: DiaDSP, CPGT), of least squares without r",
    "limit_shift": "mean over the replicas of ‖x^∞ − x*‖_F, the same in every round",
    "training_accuracy": "the share of the training records with sign(aᵀx) = b, or whose class has the "
    "largest score; only for classes. At x = 0 no record has a class",
    "held_out_accuracy": "the same of records that no agent holds; only where the data has some",
}
"""The measures, by name, smaller is better but for the two shares. A `Curve` is of the replicas' 5 %, 50 %, 95 %;
of a mean over the replicas all three are that."""
COLUMNS = {
    "count": "estimates so far in the whole run",
    "time": "virtual seconds",
    "agent": "who closed a round or an activation",
    "error_low": "5 % quantile over the replicas of the relative error ‖x − x*‖/‖x*‖ of this estimate",
    "error_median": "its median",
    "error_high": "its 95 % quantile",
    "packets": "packets on the air by then, of the whole run",
    "bytes": "their bytes",
    "messages": "messages that this agent had sent by then",
    "message_bytes": "their bytes",
    "queries": "queries that this agent had made by then",
}
"""Of a file of metrics, and after them those of `MEASURED`."""
MEASURED = {
    "MEASURE_low": "5 % quantile of a measure other than the relative error, in the row that completes a round or an "
    "activation at which it is measured; null in the others",
    "MEASURE_median": "its median",
    "MEASURE_high": "its 95 % quantile",
}
"""Of each measure but the relative error."""
OWN_GRADIENTS = ("optimality_gap", "local_gradients")
"""Measures of ∇f_i at the agents' own estimates."""
_ACCURACIES = ("training_accuracy", "held_out_accuracy")
_OF_LIMITS = ("limit_residual", "limit_shift")


@dataclass(frozen=True)
class Curve:
    """A measure over rounds or activations, `count`: median over the replicas, and 5 % and 95 %."""

    count: Counts
    low: Array
    median: Array
    high: Array


@dataclass(frozen=True)
class _Costs(Shown):
    """Entry k − 1 is what it had cost when round or activation k was closed, in a round by its last agent; fields are
    those of `Reached`. Messages and queries are those of the agents' first k rounds, or of all activations closed so
    far."""

    plf: Counts
    packets: Counts
    bytes: Counts
    messages: Counts
    message_bytes: Counts
    queries: Counts
    queries_of_one: Counts
    time: Array

    __repr__ = Shown.__repr__

    def facts(self) -> dict[str, object]:
        """How many entries there are, and the last of each field."""
        facts: dict[str, object] = {"entries": len(self.plf)}
        for one in fields(self) if len(self.plf) else ():
            facts[f"{one.name} at the end"] = getattr(self, one.name)[-1].item()
        return facts


@dataclass(frozen=True)
class Reached:
    """What it had cost when a measure first stayed at a tolerance, and which round or activation that was."""

    count: int
    """The round or activation."""
    plf: int
    """Largest number of activations of one agent by then, in rounds the number of the round."""
    packets: int
    """All on the air by then: acknowledgements, retransmissions and what other agents were ahead with too; on radio a
    transmission counts once."""
    bytes: int
    """Bytes of these packets."""
    messages: int
    """What agents had sent, one for each receiver, before a link repeats, tags or loses it."""
    message_bytes: int
    """Bytes of these messages."""
    queries: int
    """Gradients and proximal steps of the private objectives by all agents, one for a batch of records too."""
    queries_of_one: int
    """Those of the agent with most."""
    time: float
    """Virtual seconds."""


@runtime_checkable
class _Classified(Protocol):
    """Records with labels ±1, judged by sign(aᵀx): a logistic objective, or a data set of two classes."""

    @property
    def features(self) -> Array:
        """Shape (m, d)."""
        ...

    @property
    def labels(self) -> Array:
        """Shape (m,), each −1 or +1."""
        ...


class Measures(Shown):
    """How far a run got and at what cost: for who owns the run, since it opens the private objectives.

    Nothing is computed before it is read. `held_out`: records that no agent holds (features and labels), for
    `held_out_accuracy`. `offset` gives −Σ ∇f_i(x^∞), (replicas, dimension), where the noise decides the limit x^∞.
    """

    def __init__(
        self,
        problem: Problem,
        metrics: Metrics,
        held_out: Dataset | None = None,
        offset: Callable[[], Array | None] | None = None,
    ) -> None:
        self._problem, self._metrics, self._held_out, self._offset = problem, metrics, held_out, offset
        self._found: dict[str, Array] = {}
        self.unit = "activations" if metrics.walk else "rounds"
        self.stride = metrics.stride
        """How many rounds or activations lie between two points of all measures but the relative error."""

    def facts(self) -> dict[str, object]:
        """How far it got, and what there is to read."""
        count = len(self._metrics.times) if self._metrics.walk else self._closings.shape[1]
        return {self.unit: count, "final relative error": self.final_error, "names": ", ".join(self.names)}

    @property
    def final_error(self) -> float | None:
        """The relative error at the end, as a plot and a page have it: the median over the replicas; None where no
        round or activation was closed."""
        errors = self.values("relative_error")
        return float(np.median(errors[-1])) if errors.size else None

    def on(self, held_out: Dataset | None) -> "Measures":
        """The same, and the accuracy on records that no agent holds."""
        measures = Measures(self._problem, self._metrics, held_out, self._offset)
        measures._found |= {name: values for name, values in self._found.items() if name != "held_out_accuracy"}
        return measures

    @staticmethod
    def defined(
        problem: Problem, held_out: Dataset | None = None, own_gradients: bool = True, limited: bool = False
    ) -> tuple[str, ...]:
        """The measures that a problem has, and a run that records the agents' own gradients or does not.

        `limited`: the noise of its algorithm decides its limit.
        """
        absent = set[str]() if limited and _quadratic(problem) else set[str](_OF_LIMITS)
        if not problem.optimum().value > 0:
            absent.add("relative_gap")
        if not isinstance(problem.regularizer, Zero):
            absent.add("stationarity_gap")
        if not own_gradients or not isinstance(problem.regularizer, Zero):
            absent |= set(OWN_GRADIENTS)
        if not _classified(problem):
            absent |= set(_ACCURACIES)
        if held_out is None or not held_out.classes:
            absent.add("held_out_accuracy")
        return tuple(name for name in DEFINITIONS if name not in absent)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The measures that are defined here."""
        own = any(point.own is not None for point in self._points)
        limited = self._offset is not None and not self._metrics.walk
        return Measures.defined(self._problem, self._held_out, own, limited)

    def counts(self, name: str) -> Counts:
        """The rounds or activations, from 1, at which a measure is known."""
        if name == "relative_error":
            return np.arange(1, len(self.values(name)) + 1, dtype=np.int64)
        return np.array([point.count for point in self._points], dtype=np.int64)

    def values(self, name: str) -> Array:
        """A measure, (points, replicas), or (points, 1) of a mean over the replicas.

        You get a `ScenarioError` for one that is none, or not defined here.
        """
        if name not in DEFINITIONS:
            raise unknown("measure", name, DEFINITIONS)
        if name not in self.names:
            raise ScenarioError("measure", name, f"not defined here: {DEFINITIONS[name]}", ", ".join(self.names))
        if name not in self._found:
            with np.errstate(over="ignore", invalid="ignore"):  # a diverging run is a result
                self._found[name] = self._compute(name)
        return self._found[name]

    def curve(self, name: str) -> Curve:
        """A measure's median over the replicas, with 5 % and 95 %; NaN where a replica's value is none."""
        with np.errstate(invalid="ignore"):
            return Curve(self.counts(name), *_quantiles(self.values(name)))

    @cached_property
    def costs(self) -> _Costs:
        """What the run had cost by the end of every round or activation."""
        seconds = np.array(self._metrics.times)
        noted = {name: np.array(counts, dtype=np.int64) for name, counts in self._metrics.ledger.items()}
        if not self._metrics.walk:
            closings = self._closings
            last, queries = closings.max(axis=0), noted["queries"][closings]
            return _Costs(
                plf=np.arange(1, len(last) + 1, dtype=np.int64),
                packets=noted["packets"][last],
                bytes=noted["bytes"][last],
                messages=noted["messages"][closings].sum(axis=0),
                message_bytes=noted["message_bytes"][closings].sum(axis=0),
                queries=queries.sum(axis=0),
                queries_of_one=queries.max(axis=0, initial=0),
                time=seconds[closings].max(axis=0, initial=0.0),
            )
        agents = np.array(self._metrics.agents, dtype=np.int64)
        order = np.argsort(agents, kind="stable")
        first = np.ones(len(order), dtype=bool)
        first[1:] = agents[order][1:] != agents[order][:-1]
        starts = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
        activation = np.empty(len(order), dtype=np.int64)
        activation[order] = np.arange(len(order)) - starts + 1

        def so_far(counts: Counts) -> Counts:
            """The sum over agents of their counts as of their latest closings."""
            steps = counts[order]
            steps[~first] -= counts[order][np.flatnonzero(~first) - 1]
            found = np.empty_like(steps)
            found[order] = steps
            return np.cumsum(found)

        return _Costs(
            plf=np.maximum.accumulate(activation),
            packets=noted["packets"],
            bytes=noted["bytes"],
            messages=so_far(noted["messages"]),
            message_bytes=so_far(noted["message_bytes"]),
            queries=so_far(noted["queries"]),
            queries_of_one=np.maximum.accumulate(noted["queries"]),
            time=seconds,
        )

    def to_accuracy(self, tolerance: float, measure: str = "relative_error") -> Reached | None:
        """What it cost until the median over the replicas stayed at most at the tolerance, from there to the end.

        Not the first passage: a curve that falls below and rises again has not stayed. None if the last value is
        above, or is no number. All measures but the relative error are known every `stride` rounds or activations.
        """
        if measure in _ACCURACIES:
            raise ScenarioError("measure", measure, "more of it is better", "a measure of error")
        expect(tolerance, "tolerance", float)
        if not 0 < tolerance < math.inf:
            raise ScenarioError("tolerance", tolerance, "out of range", "> 0, and finite")
        curve = self.curve(measure)
        above = np.flatnonzero(~(curve.median <= tolerance))
        first = 0 if not above.size else int(above[-1]) + 1
        return None if first >= len(curve.count) else self.reached(int(curve.count[first]))

    def reached(self, count: int) -> Reached:
        """The costs by the end of round or activation `count`, from 1."""
        return Reached(count, **{name: values[count - 1].item() for name, values in vars(self.costs).items()})

    def write(self, path: Path) -> None:
        """One Parquet row per estimate, with the columns `COLUMNS` and those of the measures."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        metrics, length = self._metrics, len(self._metrics.times)
        low, median, high = _quantiles(metrics.relative_errors())
        columns: dict[str, NDArray[Any]] = {
            "count": np.arange(1, length + 1),
            "time": np.array(metrics.times),
            "agent": np.array(metrics.agents),
            "error_low": low,
            "error_median": median,
            "error_high": high,
        }
        columns |= {name: np.array(counts, dtype=np.int64) for name, counts in self._metrics.ledger.items()}
        at = [point.at for point in self._points]
        for name in self.names:
            if name == "relative_error":
                continue
            curve = self.curve(name)
            for part in ("low", "median", "high"):
                column = cast(Any, np.ma).masked_all(length, dtype=np.float64)
                column[at] = getattr(curve, part)
                columns[f"{name}_{part}"] = column
        arrays = {name: pa.array(np.ma.getdata(c), mask=np.ma.getmaskarray(c)) for name, c in columns.items()}
        pq.write_table(pa.table(arrays), path, compression="zstd")

    @cached_property
    def _points(self) -> list[_Point]:
        return self._metrics.points()

    @cached_property
    def _closings(self) -> Counts:
        return self._metrics.closings(self._problem.agents)

    @cached_property
    def _answers(self) -> Array:
        """(points, replicas, dimension)."""
        return np.array([point.answer for point in self._points] or np.empty((0, 0, self._problem.dimension)))

    @cached_property
    def _limit(self) -> Array:
        """x^∞ of each replica, (replicas, dimension): of quadratics, x* − H⁻¹ times the offset."""
        offset = None if self._offset is None else self._offset()
        assert offset is not None
        point = self._problem.optimum().point
        hessian = sum((f.hessian(point) for f in self._problem.objectives), start=np.zeros((len(point),) * 2))
        return point - np.linalg.solve(hessian, offset.T).T

    @cached_property
    def _gradients(self) -> Array:
        """∇F/n at the answers."""
        return self._by_rows(self._problem.mean_gradient)

    def _compute(self, name: str) -> Array:
        problem, answers = self._problem, self._answers
        match name:
            case "relative_error" if self._metrics.walk:
                return self._metrics.relative_errors()
            case "relative_error":
                errors = self._metrics.relative_errors()
                return errors[self._closings].max(axis=0) if errors.size else np.empty((0, 0))
            case "mean_error":
                return np.array([point.mean_error for point in self._points] or np.empty((0, 0)))
            case "consensus_error":
                return np.array([point.consensus for point in self._points] or np.empty((0, 0)))
            case "consensus_distance":
                return np.sqrt(self.values("consensus_error"))
            case "objective_gap":  # near the optimum it is rounding, of either sign; it is not clipped
                return self._by_rows(lambda x: problem.value(x) - problem.optimum().value)
            case "relative_gap":
                return self.values("objective_gap") / problem.optimum().value
            case "stationarity_gap":
                # 0 exactly where the agents agree on a stationary point, of a nonconvex F too
                gap = 2 * half_square(self._gradients.reshape(-1, problem.dimension))
                return (gap + self.values("consensus_error").reshape(-1)).reshape(answers.shape[:-1])
            case "optimality_gap":
                own = [point.own for point in self._points if point.own is not None]
                gaps = [2 * half_square(one.total) / one.count for one in own]
                count = np.array([[one.count] for one in own])
                return np.array(gaps) + count * self.values("consensus_error")
            case "local_gradients":
                own = [point.own for point in self._points if point.own is not None]
                return np.array([one.squares / one.count**2 for one in own])
            case "proximal_residual":  # at step 1: 0 at a stationary point and nowhere else
                rows, gradients = (a.reshape(-1, problem.dimension) for a in (answers, self._gradients))
                moved = rows - problem.regularizer.proximal(rows - gradients, 1.0)
                return np.sqrt(2 * half_square(moved)).reshape(answers.shape[:-1])
            case "limit_residual":  # ‖x − 1x̂‖_F² = Σ‖x_i − x̄‖² + n‖x̄ − x̂‖²
                apart = 2 * half_square((answers - self._limit).reshape(-1, problem.dimension))
                squares = self.values("consensus_error") + apart.reshape(answers.shape[:-1])
                return np.sqrt(problem.agents * squares).mean(axis=1, keepdims=True)
            case "limit_shift":
                moved = np.sqrt(2 * problem.agents * half_square(self._limit - problem.optimum().point))
                return np.full((len(answers), 1), moved.mean())
            case "training_accuracy":
                return self._by_rows(lambda x: _accuracy(_classified(problem), x))
            case _:
                held, first = self._held_out, problem.objectives[0]
                assert held is not None
                modelled = isinstance(first, Modelled)
                judged = first.with_records(held.features, held.class_numbers) if modelled else held
                return self._by_rows(lambda x: _accuracy([judged], x), held.records)

    def _by_rows(self, function: Callable[[Array], Array], records: int | None = None) -> Array:
        """`function` of every replica's answers, in batches that hold a number for each row and record."""
        x, dimension = self._answers, self._problem.dimension
        rows = x.reshape(-1, dimension)
        width = records or max(int(getattr(f, "records", 1)) for f in self._problem.objectives)
        size = max(1, BLOCK // max(width, dimension))
        parts = [function(rows[i : i + size]) for i in range(0, len(rows), size)]
        found = np.concatenate(parts) if parts else np.empty((0, *function(np.zeros((1, dimension))).shape[1:]))
        return found.reshape(*x.shape[:-1], *found.shape[1:])


def _quadratic(problem: Problem) -> bool:
    """Whether F is a quadratic with one minimizer, and r = 0."""
    if problem.regularized or not all(isinstance(f, LeastSquares) for f in problem.objectives):
        return False
    point = problem.optimum().point
    hessian = sum((f.hessian(point) for f in problem.objectives), start=np.zeros((len(point),) * 2))
    return bool(np.linalg.cond(hessian) < 1 / TOLERANCE)


def _quantiles(values: Array) -> Array:
    """5 %, median and 95 % over the replicas, the last axis: (3, points)."""
    with np.errstate(invalid="ignore"):  # of a run that diverged: ∞ − ∞
        return np.quantile(values, (0.05, 0.5, 0.95), axis=1) if values.size else np.empty((3, 0))


def _classified(problem: Problem) -> list[_Classified | Modelled]:
    """The objectives, if all of them are about classes."""
    found: list[_Classified | Modelled] = []
    for f in problem.objectives:
        if isinstance(f, Modelled):
            found += [f] if f.model.outputs > 1 else []
        elif isinstance(f, _Classified):
            found.append(f)
    return found if len(found) == problem.agents else []


def _accuracy(parts: Sequence[_Classified | Modelled], x: Array) -> Array:
    """The share of all records a, b = ±1 with sign(aᵀx) = b, or of the model's class, shape (replicas,). Where
    aᵀx = 0, or is no number, the class is wrong."""
    right = np.zeros(len(x))
    for part in parts:
        if isinstance(part, Modelled):
            right += part.right(x)
        else:
            right += (times(x, np.ascontiguousarray(part.features)) * part.labels > 0).sum(axis=1)
    return right / sum(len(part.labels) for part in parts)
