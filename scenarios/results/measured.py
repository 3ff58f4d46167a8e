"""Numbers of one run as results: errors by activation or round, curves of measures, costs to an accuracy."""

from dataclasses import fields
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array
from netsim.metrics import Measures
from netsim.simulation import Run
from scenarios.results.base import Counts
from scenarios.results.curves import FIRST_REPLICAS, evenly, thinned
from scenarios.results.run import Convergence, ExactNumbers, MeasureResults, ToAccuracy
from scenarios.schema.checks import MeasureSpec

T = TypeVar("T")
POINTS = 200
"""Of a measure's curve, at most."""


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
    with np.errstate(invalid="ignore"):  # of a run that diverged: ∞ − ∞
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


def measures_of(found: Measures, spec: MeasureSpec, exact: ExactNumbers | None) -> MeasureResults:
    """Curves of all measures but the relative error, which is `convergence`; costs so far, and to accuracies."""
    curves = {name: found.curve(name) for name in found.names if name != "relative_error"}
    chosen = thinned(len(found.counts("relative_error")), POINTS)
    return MeasureResults(
        unit="rounds" if found.unit == "rounds" else "activations",
        stride=found.stride,
        curves={
            name: _points(MeasureResults.MeasureCurve, curve, thinned(len(curve.count), POINTS))
            for name, curve in curves.items()
        },
        costs=_points(MeasureResults.CostCurves, found.costs, chosen, count=tuple(int(k) + 1 for k in chosen)),
        measure=spec.measure,
        to_accuracy=tuple(
            ToAccuracy(accuracy=one, reached=found.to_accuracy(one, spec.measure)) for one in spec.accuracies
        ),
        exact=exact,
    )


def _points(kind: type[T], source: object, chosen: NDArray[np.intp], **others: Counts) -> T:
    """Each array of `source` at these places, under the names of a result's fields."""
    names = [field.name for field in fields(cast("Any", kind)) if field.name not in others]
    return kind(**{name: tuple(getattr(source, name)[chosen].tolist()) for name in names}, **others)
