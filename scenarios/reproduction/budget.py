"""The claimed ε as rounds go on: what the paper's formula says after k of them, before anything has run."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from netsim.claims import Adjacency, Claim
from netsim.simulation import Simulation
from scenarios.schema import Scenario
from scenarios.schema.checks import ClaimedAfter, VacuousFrom

POINTS = 60
VACUOUS = 20.0
"""The ε above which an audit calls a claim vacuous: odds of e^20 to 1."""


def horizon(simulation: Simulation) -> int | None:
    """How often an agent runs its mechanism: rounds, or the activations of one agent at which a walk ends."""
    return simulation.algorithm.horizon


def claim_after(simulation: Simulation, k: int, adjacency: Adjacency, delta: float) -> Claim | None:
    """The claim of the same algorithm had it k rounds, or k activations of its busiest agent."""
    if hasattr(simulation.algorithm, "rounds"):
        shorter: Any = simulation.algorithm
        simulation = replace(simulation, algorithm=replace(shorter, rounds=k))
    return simulation.claim(adjacency, k, delta)


def budget(simulation: Simulation, adjacency: Adjacency, delta: float, scenario: Scenario) -> dict[str, Any] | None:
    """`epsilon` after `count` rounds (`unit` "rounds") or activations of one agent ("plf"), None where the formula's
    conditions fail; `vacuous_from` says for some levels of ε from which k on it is above. None without a claim.

    The points are spread over the run, with those that the scenario's checks ask for.
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

    counts = sorted({*_spread(last), *_asked(scenario)})
    return {
        "unit": "plf" if simulation.algorithm.stopping().walks else "rounds",
        "last": last,
        "count": counts,
        "epsilon": [epsilon(k) for k in counts],
        "delta": final.delta,
        "source": final.source,
        "failed_conditions": list(final.failed_conditions),
        "vacuous_from": [
            {"epsilon": level, "count": None if final.epsilon is None else first_above(level, last, epsilon)}
            for level in sorted(_levels(scenario))
        ],
    }


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
    return (int(k) for k in np.unique(np.linspace(1, last, min(last, POINTS)).astype(int)))


def _asked(scenario: Scenario) -> set[int]:
    checks = scenario.reproduces.checks if scenario.reproduces is not None else []
    return {check.after for check in checks if isinstance(check, ClaimedAfter) and check.after is not None}


def _levels(scenario: Scenario) -> set[float]:
    block = scenario.reproduces
    if block is None:
        return {VACUOUS}
    stated = {block.vacuous_above} if block.vacuous_above is not None else set[float]()
    return {VACUOUS} | stated | {check.epsilon for check in block.checks if isinstance(check, VacuousFrom)}
