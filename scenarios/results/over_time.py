"""Numbers over the time of a run: errors by activation or round, curves of measures, costs to an accuracy; and the
three epsilons, the claimed one before the run, and all of them after an audit."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from attacks.audit.result import AuditResult
from attacks.audit.verdict import VACUOUS_ABOVE, exceeds
from netsim.algorithms.algorithm import InRounds
from netsim.arrays import Array, evenly
from netsim.claims import Adjacency, Claim
from netsim.metrics import Measures
from netsim.simulation import Run, Simulation
from scenarios.results.base import Counts
from scenarios.results.budgets import Budget, OverTime
from scenarios.results.curves import CURVE_POINTS, FIRST_REPLICAS, thinned
from scenarios.results.run import Convergence, ExactNumbers, MeasureResults, ToAccuracy
from scenarios.schema import Scenario
from scenarios.schema.checks import ClaimedAfter, MeasureSpec, VacuousFrom

T = TypeVar("T")
POINTS, _BUDGET_POINTS = 200, 60
"""Of each curve, and of the claim's formula, at most; where a curve crosses a level is found between them too."""


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
    unit = "activations" if walk else "rounds"
    if not errors.size:
        return Convergence(unit=unit, count=(), median=(), low=(), high=(), final=None, finals=(), replicas=0)
    with np.errstate(invalid="ignore"):  # of a run that diverged: ∞ − ∞
        low, median, high = np.quantile(errors, (0.05, 0.5, 0.95), axis=1)
    chosen = evenly(len(errors), CURVE_POINTS)
    return Convergence(
        unit=unit,
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


def _claim_after(simulation: Simulation, k: int, adjacency: Adjacency, delta: float) -> Claim | None:
    """The claim of the same algorithm had it k rounds, or k activations of its busiest agent."""
    if isinstance(simulation.algorithm, InRounds):
        simulation = replace(simulation, algorithm=replace(simulation.algorithm, rounds=k))
    return simulation.claim(adjacency, k, delta)


def budget(simulation: Simulation, adjacency: Adjacency, delta: float, scenario: Scenario) -> Budget | None:
    """The claim as a function of the rounds, or of the activations of one agent; None without a claim.

    The points are spread over the run, with those that the scenario's checks need.
    """
    last, block = simulation.algorithm.horizon, scenario.reproduces
    final = None if last is None else _claim_after(simulation, last, adjacency, delta)
    if last is None or final is None:
        return None

    @cache
    def epsilon(k: int) -> float | None:
        claim = _claim_after(simulation, k, adjacency, delta)
        return None if claim is None else claim.epsilon

    checks = [] if block is None else block.checks
    counts = {int(k) for k in np.linspace(1, last, min(last, _BUDGET_POINTS))}
    counts |= {check.after for check in checks if isinstance(check, ClaimedAfter) and check.after is not None}
    levels = {VACUOUS_ABOVE} | {check.epsilon for check in checks if isinstance(check, VacuousFrom)}
    if block is not None and block.vacuous_above is not None:
        levels.add(block.vacuous_above)
    return Budget(
        unit="plf" if simulation.algorithm.stopping().walks else "rounds",
        last=last,
        count=tuple(sorted(counts)),
        epsilon=tuple(epsilon(k) for k in sorted(counts)),
        delta=final.delta,
        source=final.source,
        failed_conditions=tuple(final.failed_conditions),
        vacuous_from=tuple(
            Budget.ClaimedLevel(
                epsilon=level, count=None if final.epsilon is None else _first_above(level, last, epsilon)
            )
            for level in sorted(levels)
        ),
        waived_conditions=tuple(final.waived_conditions),
    )


def _first_above(level: float, last: int, epsilon: Callable[[int], float | None]) -> int | None:
    """The first k ≤ last with ε(k) > level: a formula's sum over releases never falls."""
    return _first(last, lambda k: (found := epsilon(k)) is not None and found > level)


def _first(last: int, holds: Callable[[int], bool]) -> int | None:
    """The first k ≤ last from which on something holds, by bisection."""
    if not last or not holds(last):
        return None
    return bisect_left(range(1, last), True, key=holds) + 1


def over_time(simulation: Simulation, adjacency: Adjacency, delta: float, found: AuditResult) -> OverTime:
    """ε claimed, exact and audited by the end of each activation of the audited agent, and where they mean nothing.

    The exact curve is of the larger direction; its lower end is proven for each activation by itself. In rounds an
    activation is a round, and what is sent after the last belongs to one more, of which the claim is that of the
    whole run. In a walk a claim counts the activations of the agent that has most (PLF).
    """
    # (Proven, estimated) ε by the end of each activation, of the worse direction; it does not fall.
    levels: dict[int, tuple[float, float]] = {}
    for level in found.growth:
        lower, estimate = levels.get(level.activation, (0.0, 0.0))
        levels[level.activation] = max(lower, level.lower), max(estimate, level.estimate)
    walks, end = simulation.algorithm.stopping().walks, simulation.algorithm.horizon
    rounds = None if walks else end
    last = max([end or 0, *levels, found.activations])

    @cache
    def claim(k: int) -> Claim | None:
        return _claim_after(simulation, k if rounds is None else min(k, rounds), adjacency, delta)

    def claimed(k: int) -> float | None:
        one = claim(k)
        return None if one is None else one.epsilon

    at = _thinned(sorted({*range(1, last + 1), *levels})) if last else []
    # A condition that fails for some releases fails for more of them.
    undefined = _first(last, lambda k: claimed(k) is None)
    defined = last if undefined is None else undefined - 1
    shown = _thinned(sorted(levels))
    failed = claim(undefined) if undefined is not None else None
    first, audited = _exceeds(levels, claimed), found.loss_breakdown.audited
    exceeded = None if first is None else claimed(first)
    return OverTime(
        unit="activations" if walks else "rounds",
        rounds=rounds,
        delta=found.claim.delta,
        confidence=found.confidence,
        vacuous_above=VACUOUS_ABOVE,
        claimed=OverTime.ClaimedCurve(count=tuple(at), epsilon=tuple(claimed(k) for k in at)),
        exact=OverTime.ExactCurve(
            count=tuple(shown), lower=tuple(levels[k][0] for k in shown), estimate=tuple(levels[k][1] for k in shown)
        ),
        audited=OverTime.AuditedCurve(
            count=tuple(one.activation for one in audited),
            epsilon=tuple(one.epsilon for one in audited),
            ceiling=tuple(one.ceiling for one in audited),
        ),
        claimed_vacuous_from=_first_above(VACUOUS_ABOVE, defined, claimed),
        exact_vacuous_from=next((k for k, level in levels.items() if level[1] > VACUOUS_ABOVE), None),
        proven_vacuous_from=next((k for k, level in levels.items() if level[0] > VACUOUS_ABOVE), None),
        undefined_from=undefined,
        condition=None if failed is None else "; ".join(failed.failed_conditions),
        exceeds_from=first,
        exceeds=None
        if first is None or exceeded is None
        else OverTime.Excess(exact=levels[first][0], claimed=exceeded),
    )


def _exceeds(levels: dict[int, tuple[float, float]], claimed: Callable[[int], float | None]) -> int | None:
    """The first activation at which the exact ε is proven to be above the claim of that activation.

    Of many, some are looked at, and all before the first of these that is.
    """
    known = list(levels)

    def above(k: int) -> bool:
        claim = claimed(k)
        return claim is not None and exceeds(levels[k][0], claim)

    before = 0
    for k in _thinned(known):
        if above(k):
            return next(one for one in known[known.index(before) + 1 if before else 0 :] if above(one))
        before = k
    return None


def _thinned(values: list[int]) -> list[int]:
    """At most `POINTS` of them, from the first to the last."""
    return [values[k] for k in evenly(len(values), POINTS)]
