"""One run in the tree of results: convergence, traffic, interceptions, measures and costs."""

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array
from netsim.metrics import Measures
from netsim.simulation import Run
from scenarios.results.base import Counts, taken
from scenarios.results.curves import evenly, thinned
from scenarios.results.run import Convergence, CostCurves, MeasureCurve, MeasureResults, RunSummary, ToAccuracy
from scenarios.schema.checks import MeasureSpec

FIRST_REPLICAS = 1000
"""Replicas of which results keep a number each, for comparisons with intervals."""
POINTS = 200
"""Of a measure's curve, at most."""


def run_summary(run: Run, *, failed: bool = False) -> RunSummary:
    """Length and traffic of a run; `failed`: an error ended it."""
    ending = "failed" if failed else "interrupted" if run.interrupted else None
    return taken(RunSummary, run, traffic=dict(run.traffic), stopped=ending)


def errors_of(run: Run) -> tuple[bool, Array]:
    """Whether a run counts activations, not rounds; ‖x − x*‖/‖x*‖ by activation or, of the farthest agent, by round:
    (count, replicas).

    You get a `ProtocolError` of a run that was to the end, in rounds, and in which no agent made an estimate.
    """
    assert run.metrics is not None
    stopping = run.simulation.algorithm.stopping()
    walk = bool(stopping.per_agent or stopping.activations)
    errors = run.metrics.relative_errors()
    if walk or (run.interrupted and not errors.size):
        return walk, errors
    return walk, run.metrics.worst_by_round(len(run.activations))


def convergence(run: Run) -> Convergence:
    """Errors by activation or round, thinned."""
    walk, errors = errors_of(run)
    if not errors.size:
        return Convergence(
            unit="activations", count=(), median=(), low=(), high=(), final=None, finals=(), replicas=0
        )  # fmt: skip
    low, median, high = np.quantile(errors, (0.05, 0.5, 0.95), axis=1)
    chosen = evenly(len(errors))
    return Convergence(
        unit="activations" if walk else "rounds",
        count=tuple(k + 1 for k in chosen),
        median=tuple(median[chosen].tolist()),
        low=tuple(low[chosen].tolist()),
        high=tuple(high[chosen].tolist()),
        final=float(median[-1]),
        finals=tuple(errors[-1, :FIRST_REPLICAS].tolist()),
        replicas=errors.shape[1],
    )


def measure_results(found: Measures, spec: MeasureSpec) -> MeasureResults:
    """Curves of all measures but the relative error, which is `convergence`; costs so far, and to accuracies."""
    return MeasureResults(
        unit="rounds" if found.unit == "rounds" else "activations",
        stride=found.stride,
        curves={name: _curve(found, name) for name in found.names if name != "relative_error"},
        costs=_costs(found),
        measure=spec.measure,
        to_accuracy=tuple(
            ToAccuracy(accuracy=one, reached=found.to_accuracy(one, spec.measure)) for one in spec.accuracies
        ),
    )


def _curve(found: Measures, name: str) -> MeasureCurve:
    curve = found.curve(name)
    chosen = thinned(len(curve.count), POINTS)
    return MeasureCurve(
        count=tuple(curve.count[chosen].tolist()),
        low=tuple(curve.low[chosen].tolist()),
        median=tuple(curve.median[chosen].tolist()),
        high=tuple(curve.high[chosen].tolist()),
    )


def _costs(found: Measures) -> CostCurves:
    spent, chosen = found.costs, thinned(len(found.counts("relative_error")), POINTS)

    def points(values: NDArray[np.int64]) -> Counts:
        return tuple(values[chosen].tolist())

    return CostCurves(
        count=tuple(int(k) + 1 for k in chosen),
        plf=points(spent.plf),
        packets=points(spent.packets),
        bytes=points(spent.bytes),
        messages=points(spent.messages),
        message_bytes=points(spent.message_bytes),
        queries=points(spent.queries),
        queries_of_one=points(spent.queries_of_one),
        time=tuple(spent.time[chosen].tolist()),
    )
