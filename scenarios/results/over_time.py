"""The three epsilons over time: the claimed one before the run, and all of them after an audit."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from attacks.audit.audit import AuditResult
from attacks.audit.verdict import exceeds
from netsim.claims import Adjacency, Claim
from netsim.simulation import Simulation
from scenarios.results.audit import AuditedCurve, Budget, ClaimedCurve, ClaimedLevel, ExactCurve, Excess, OverTime
from scenarios.schema import Scenario
from scenarios.schema.checks import ClaimedAfter, VacuousFrom

_BUDGET_POINTS = 60
VACUOUS = 20.0
"""The ε above which an audit calls a claim vacuous: odds of e^20 to 1."""


def horizon(simulation: Simulation) -> int | None:
    """Length of a run: rounds, or the activations of one agent at which a walk ends."""
    return simulation.algorithm.horizon


def claim_after(simulation: Simulation, k: int, adjacency: Adjacency, delta: float) -> Claim | None:
    """The claim of the same algorithm had it k rounds, or k activations of its busiest agent."""
    if hasattr(simulation.algorithm, "rounds"):
        shorter: Any = simulation.algorithm
        simulation = replace(simulation, algorithm=replace(shorter, rounds=k))
    return simulation.claim(adjacency, k, delta)


def budget(simulation: Simulation, adjacency: Adjacency, delta: float, scenario: Scenario) -> Budget | None:
    """The claim as a function of the rounds, or of the activations of one agent; None without a claim.

    The points are spread over the run, with those that the scenario's checks need.
    """
    last = horizon(simulation)
    if last is None:
        return None
    final = claim_after(simulation, last, adjacency, delta)
    if final is None:
        return None

    def epsilon(k: int) -> float | None:
        claim = claim_after(simulation, k, adjacency, delta)
        return None if claim is None else claim.epsilon

    counts = sorted({*_spread(last), *_rounds_of_checks(scenario)})
    return Budget(
        unit="plf" if simulation.algorithm.stopping().walks else "rounds",
        last=last,
        count=tuple(counts),
        epsilon=tuple(epsilon(k) for k in counts),
        delta=final.delta,
        source=final.source,
        failed_conditions=tuple(final.failed_conditions),
        vacuous_from=tuple(
            ClaimedLevel(epsilon=level, count=None if final.epsilon is None else first_above(level, last, epsilon))
            for level in sorted(_budget_levels(scenario))
        ),
    )


def first_above(level: float, last: int, epsilon: Callable[[int], float | None]) -> int | None:
    """The first k ≤ last with ε(k) > level, by bisection: a formula's sum over releases never falls."""
    above = epsilon(last)
    if above is None or above <= level:
        return None
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        value = epsilon(middle)
        low, high = (low, middle) if value is not None and value > level else (middle, high)
    return high


def _spread(last: int) -> Iterable[int]:
    return (int(k) for k in np.unique(np.linspace(1, last, min(last, _BUDGET_POINTS)).astype(int)))


def _rounds_of_checks(scenario: Scenario) -> set[int]:
    checks = scenario.reproduces.checks if scenario.reproduces is not None else []
    return {check.after for check in checks if isinstance(check, ClaimedAfter) and check.after is not None}


def _budget_levels(scenario: Scenario) -> set[float]:
    block = scenario.reproduces
    if block is None:
        return {VACUOUS}
    stated = {block.vacuous_above} if block.vacuous_above is not None else set[float]()
    return {VACUOUS} | stated | {check.epsilon for check in block.checks if isinstance(check, VacuousFrom)}


POINTS = 200
"""Of a curve, at most; where it crosses a level is found between them too."""


def over_time(simulation: Simulation, adjacency: Adjacency, delta: float, found: AuditResult) -> OverTime:
    """ε claimed, exact and audited by the end of each activation of the audited agent, and where they mean nothing.

    The exact curve is of the larger direction; its lower end is proven for each activation by itself. In rounds an
    activation is a round, and what is sent after the last belongs to one more, of which the claim is that of the
    whole run. In a walk a claim counts the activations of the agent that has most (PLF).
    """
    levels = _levels(found)
    walks, end = simulation.algorithm.stopping().walks, horizon(simulation)
    rounds = None if walks else end
    last = max([end or 0, *levels, found.activations])

    @cache
    def claim(k: int) -> Claim | None:
        return claim_after(simulation, k if rounds is None else min(k, rounds), adjacency, delta)

    def claimed(k: int) -> float | None:
        one = claim(k)
        return None if one is None else one.epsilon

    at = _thinned(sorted({*range(1, last + 1), *levels})) if last else []
    undefined = _undefined_from(last, claimed)
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
        vacuous_above=VACUOUS,
        claimed=ClaimedCurve(count=tuple(at), epsilon=tuple(claimed(k) for k in at)),
        exact=ExactCurve(
            count=tuple(shown),
            lower=tuple(levels[k][0] for k in shown),
            estimate=tuple(levels[k][1] for k in shown),
        ),
        audited=AuditedCurve(
            count=tuple(one.activation for one in audited),
            epsilon=tuple(one.epsilon for one in audited),
            ceiling=tuple(one.ceiling for one in audited),
        ),
        claimed_vacuous_from=first_above(VACUOUS, defined, claimed) if defined else None,
        exact_vacuous_from=_first(levels, lambda level: level[1] > VACUOUS),
        proven_vacuous_from=_first(levels, lambda level: level[0] > VACUOUS),
        undefined_from=undefined,
        condition=None if failed is None else "; ".join(failed.failed_conditions),
        exceeds_from=first,
        exceeds=None if first is None or exceeded is None else Excess(exact=levels[first][0], claimed=exceeded),
    )


def _levels(found: AuditResult) -> dict[int, tuple[float, float]]:
    """(proven, estimated) ε by the end of each activation, of the worse direction; it does not fall."""
    levels: dict[int, tuple[float, float]] = {}
    for level in found.growth:
        lower, estimate = levels.get(level.activation, (0.0, 0.0))
        levels[level.activation] = max(lower, level.lower), max(estimate, level.estimate)
    return levels


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


def _first(levels: dict[int, tuple[float, float]], holds: Callable[[tuple[float, float]], bool]) -> int | None:
    return next((k for k, level in levels.items() if holds(level)), None)


def _undefined_from(last: int, claimed: Callable[[int], float | None]) -> int | None:
    """First k without a number: a condition that fails for some releases fails for more of them."""
    if not last or claimed(last) is not None:
        return None
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if claimed(middle) is None else (middle, high)
    return high


def _thinned(values: Iterable[int]) -> list[int]:
    """At most `POINTS` of them, from the first to the last."""
    known = list(values)
    if len(known) <= POINTS:
        return known
    return [known[int(k)] for k in np.unique(np.linspace(0, len(known) - 1, POINTS).astype(int))]
