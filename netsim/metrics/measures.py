# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""Measures of one run, from outside, computed when they are read: nothing here is ever on the wire.

`Run.measures` has every measure as a curve, the costs so far at every round or activation, and what it cost to reach
a given accuracy. Definitions, with their symbols, are in `netsim.metrics.course`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array, unknown
from netsim.errors import ProtocolError, ScenarioError
from netsim.metrics import course as costs
from netsim.metrics import course as formulas
from netsim.metrics.course import Classified, Costs, Counts, Course, Point
from netsim.models.model import Zero
from netsim.problems.data import Dataset
from netsim.problems.modelled import Modelled
from netsim.problems.problem import Problem


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

    def write(self, path: Path, more: Mapping[str, NDArray[Any]] | None = None) -> None:
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


_DEFINITIONS = {
    "relative_error": "‖x − x*‖/‖x*‖ (absolute where x* = 0): in rounds the largest over the agents, in a walk of "
    "the estimate just closed; at every round or activation",
    "mean_error": "the same of x̄ = (1/n) Σ x_i; in a walk over the latest estimates of all agents that have closed",
    "consensus_error": "(1/n) Σ ‖x_i − x̄‖²; in a walk over the same estimates",
    "consensus_distance": "its root",
    "objective_gap": "F(x) + n r(x) − F*, where x is x̄, or in a walk the estimate just closed",
    "relative_gap": "the same over F*; only where F* > 0",
    "stationarity_gap": "‖∇F(x)/n‖² + (1/n) Σ ‖x_i − x̄‖²; only where r = 0",
    "proximal_residual": "‖x − prox_r(x − ∇F(x)/n)‖ in ℓ2",
    "training_accuracy": "the share of the training records with sign(aᵀx) = b, or whose class has the "
    "largest score; only for classes",
    "held_out_accuracy": "the same of records that no agent holds; only where the data has some",
}
"""The measures, by name, smaller is better but for the two shares. A `Curve` is of the replicas' 5 %, 50 %, 95 %."""
_ACCURACIES = ("training_accuracy", "held_out_accuracy")


@dataclass(frozen=True)
class Curve:
    """A measure over rounds or activations, `count`: median over the replicas, and 5 % and 95 %."""

    count: Counts
    low: Array
    median: Array
    high: Array


@dataclass(frozen=True)
class Reached:
    """What it had cost when a measure first stayed at a tolerance, and which round or activation, `count`, that was.

    The other fields are those of `Costs`; `time` is in virtual seconds.
    """

    count: int
    plf: int
    packets: int
    bytes: int
    messages: int
    message_bytes: int
    queries: int
    queries_of_one: int
    time: float


class Measures:
    """How far a run got and at what cost: for who owns the run, since it opens the private objectives.

    `unit` is "rounds" or "activations". Nothing is computed before it is asked for. `held_out`: records that no agent
    holds (features and labels), for `held_out_accuracy`.
    """

    def __init__(self, problem: Problem, metrics: Metrics, course: Course, held_out: Dataset | None = None) -> None:
        self._problem, self._metrics, self._course = problem, metrics, course
        self._held_out = held_out
        self._found: dict[str, Array] = {}

    def on(self, held_out: Dataset | None) -> "Measures":
        """The same, and the accuracy on records that no agent holds."""
        measures = Measures(self._problem, self._metrics, self._course, held_out)
        measures._found |= {name: values for name, values in self._found.items() if name != "held_out_accuracy"}
        return measures

    @property
    def unit(self) -> str:
        return "activations" if self._course.walk else "rounds"

    @property
    def stride(self) -> int:
        """How many rounds or activations lie between two points of all measures but the relative error."""
        return self._course.stride

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The measures that are `defined` here."""
        return defined(self._problem, self._held_out)

    def counts(self, name: str) -> Counts:
        """The rounds or activations, from 1, at which a measure is known."""
        if name == "relative_error":
            return np.arange(1, len(self.values(name)) + 1, dtype=np.int64)
        return np.array([point.count for point in self._points], dtype=np.int64)

    def values(self, name: str) -> Array:
        """A measure, (points, replicas). You get a `ScenarioError` for one that is none, or not defined here."""
        if name not in _DEFINITIONS:
            raise unknown("measure", name, _DEFINITIONS)
        if name not in self.names:
            raise ScenarioError("measure", name, f"not defined here: {_DEFINITIONS[name]}", ", ".join(self.names))
        if name not in self._found:
            with np.errstate(over="ignore", invalid="ignore"):  # a diverging run is a result
                self._found[name] = self._compute(name)
        return self._found[name]

    def curve(self, name: str) -> Curve:
        """A measure's median over the replicas, with 5 % and 95 %; NaN where a replica's value is none."""
        values = self.values(name)
        low, median, high = _quantiles(values) if values.size else np.empty((3, 0))
        return Curve(self.counts(name), low, median, high)

    @cached_property
    def costs(self) -> Costs:
        """What the run had cost by the end of every round or activation."""
        times = np.array(self._metrics.times)
        if self._course.walk:
            return costs.by_activation(self._course.ledger, times, np.array(self._metrics.agents, dtype=np.int64))
        return costs.by_round(self._course.ledger, times, self._closings)

    def queries_by_agent(self, count: int) -> tuple[int, ...]:
        """How many private queries each agent had made in `count` rounds, or by the end of activation `count`."""
        queries_so_far = self._course.ledger.queries
        if not self._course.walk:
            return tuple(queries_so_far[int(t)] for t in self._closings[:, count - 1])
        latest = [0] * self._problem.agents
        for agent, queries in zip(self._metrics.agents[:count], queries_so_far, strict=False):
            latest[agent] = queries
        return tuple(latest)

    def to_accuracy(self, tolerance: float, measure: str = "relative_error") -> Reached | None:
        """What it cost until the median over the replicas stayed at most at the tolerance, from there to the end.

        Not the first passage: a curve that falls below and rises again has not stayed. None if the last value is
        above, or is no number. All measures but the relative error are known every `stride` rounds or activations.
        """
        if measure in _ACCURACIES:
            raise ScenarioError("measure", measure, "more of it is better", "a measure of error")
        curve = self.curve(measure)
        above = np.flatnonzero(~(curve.median <= tolerance))
        first = 0 if not above.size else int(above[-1]) + 1
        return None if first >= len(curve.count) else self.reached(int(curve.count[first]))

    def reached(self, count: int) -> Reached:
        """The costs by the end of round or activation `count`, from 1."""
        spent = {name: values[count - 1].item() for name, values in vars(self.costs).items()}
        return Reached(count=count, **spent)

    def write(self, path: Path) -> None:
        """One Parquet row per estimate: the columns of `Metrics`, what had been sent and asked by then, and the
        measures' quantiles in the rows that complete a point, null in the others."""
        self._metrics.write(path, self._columns())

    # ── how they are found ──────────────────────────────────────────────────────────────────────────
    @cached_property
    def _points(self) -> list[Point]:
        return self._course.points()

    @cached_property
    def _answers(self) -> Array:
        """(points, replicas, dimension)."""
        shape = (0, 0, self._problem.dimension)
        return np.array([point.answer for point in self._points]) if self._points else np.empty(shape)

    @cached_property
    def _gradients(self) -> Array:
        """∇F/n at the answers."""
        return formulas.by_rows(self._problem.mean_gradient, self._answers, self._width)

    @cached_property
    def _consensus(self) -> Array:
        return self._of_points(lambda point: point.consensus)

    @property
    def _width(self) -> int:
        return max(int(getattr(f, "records", 1)) for f in self._problem.objectives)

    @cached_property
    def _closings(self) -> Counts:
        """Which closing was agent i's round k + 1, (agents, rounds)."""
        agents = np.array(self._metrics.agents, dtype=np.int64)
        each = np.bincount(agents, minlength=self._problem.agents)
        order = np.argsort(agents, kind="stable")
        starts = np.cumsum(each) - each
        places: Counts = starts[:, None] + np.arange(int(each.min()), dtype=np.int64)
        return order[places] if places.size else np.zeros(places.shape, dtype=np.int64)

    def _of_points(self, part: Callable[[Point], Array]) -> Array:
        return np.array([part(point) for point in self._points]) if self._points else np.empty((0, 0))

    def _compute(self, name: str) -> Array:
        problem, answers = self._problem, self._answers
        match name:
            case "relative_error" if self._course.walk:
                return self._metrics.relative_errors()
            case "relative_error":
                errors = self._metrics.relative_errors()
                return errors[self._closings].max(axis=0) if errors.size else np.empty((0, 0))
            case "mean_error":
                return self._of_points(lambda point: point.mean_error)
            case "consensus_error":
                return self._consensus
            case "consensus_distance":
                return np.sqrt(self._consensus)
            case "objective_gap":
                return formulas.by_rows(lambda x: formulas.objective_gap(problem, x), answers, self._width)
            case "relative_gap":
                return self.values("objective_gap") / problem.optimum().value
            case "stationarity_gap":
                rows = self._gradients.reshape(-1, problem.dimension)
                gap = formulas.stationarity_gap(rows, self._consensus.reshape(-1))
                return gap.reshape(answers.shape[:-1])
            case "proximal_residual":
                rows, gradients = (a.reshape(-1, problem.dimension) for a in (answers, self._gradients))
                return formulas.proximal_residual(problem, rows, gradients).reshape(answers.shape[:-1])
            case "training_accuracy":
                return formulas.by_rows(lambda x: formulas.accuracy(_classified(problem), x), answers, self._width)
            case _:
                return self._on_held_out(answers)

    def _on_held_out(self, answers: Array) -> Array:
        held_out = self._held_out
        assert held_out is not None
        judged = _judged(self._problem, held_out)
        return formulas.by_rows(lambda x: formulas.accuracy([judged], x), answers, held_out.records)

    def _columns(self) -> dict[str, NDArray[Any]]:
        ledger, length = self._course.ledger, len(self._metrics.times)
        names = ("packets", "bytes", "messages", "message_bytes")
        columns: dict[str, NDArray[Any]] = {name: np.array(getattr(ledger, name), dtype=np.int64) for name in names}
        columns["queries"] = np.array(ledger.queries, dtype=np.int64)
        at = [point.at for point in self._points]
        for name in self.names:
            if name == "relative_error":
                continue
            curve = self.curve(name)
            for part in ("low", "median", "high"):
                column = cast(Any, np.ma).masked_all(length, dtype=np.float64)
                column[at] = getattr(curve, part)
                columns[f"{name}_{part}"] = column
        return columns


def defined(problem: Problem, held_out: Dataset | None = None) -> tuple[str, ...]:
    """The measures, of `_DEFINITIONS`, that a problem has."""
    absent: set[str] = set()
    if not problem.optimum().value > 0:
        absent.add("relative_gap")
    if not isinstance(problem.regularizer, Zero):
        absent.add("stationarity_gap")
    if not _classified(problem):
        absent |= set(_ACCURACIES)
    if held_out is None or not held_out.classes:
        absent.add("held_out_accuracy")
    return tuple(name for name in _DEFINITIONS if name not in absent)


def _classified(problem: Problem) -> list[Classified | Modelled]:
    """The objectives, if all of them are about classes."""
    found: list[Classified | Modelled] = []
    for f in problem.objectives:
        if isinstance(f, Modelled):
            found += [f] if f.model.outputs > 1 else []
        elif isinstance(f, Classified):
            found.append(f)
    return found if len(found) == problem.agents else []


def _judged(problem: Problem, held_out: Dataset) -> Classified | Modelled:
    """Records that no agent holds, as the agents' loss judges them."""
    first = problem.objectives[0]
    if isinstance(first, Modelled):
        return first.holding(held_out.features, held_out.class_numbers)
    return held_out


def _quantiles(values: Array) -> Array:
    """5 %, median and 95 % over the last axis, the replicas; (3, points). NaN where any replica is NaN."""
    with np.errstate(invalid="ignore"):
        return np.quantile(values, (0.05, 0.5, 0.95), axis=1)
