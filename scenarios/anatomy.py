"""What a loss is made of, and the three epsilons over time, as plain data and in a sentence."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np

from attacks.audit.anatomy import averages, breakdown
from attacks.audit.anatomy.anatomy import Anatomy
from attacks.audit.audit import Audit
from attacks.audit.verdict import exceeds
from netsim.claims import Adjacency, Claim
from netsim.simulation import Simulation
from scenarios.reproduction.budget import VACUOUS, claim_after, first_above, horizon

Results = dict[str, Any]
POINTS = 200
"""Of a curve, at most; what is said of the first k that is so or so looks between them too."""


def described(found: Anatomy, confidence: float) -> Results:
    """Parts of the loss, what no noise covers, average against worst case, and the game on the way."""
    return {
        "breakdown": breakdown.described(found.breakdown, confidence, found.averages),
        "uncovered_fields": [asdict(one) | {"share": one.share, "path": one.path} for one in found.uncovered],
        "average_case": averages.described(found.average),
        "audited_over_time": {
            "activation": [one.activation for one in found.audited],
            "epsilon": [one.epsilon for one in found.audited],
            "ceiling": [one.ceiling for one in found.audited],
        },
    }


def over_time(simulation: Simulation, adjacency: Adjacency, delta: float, found: Audit) -> Results:
    """ε claimed, exact and audited by the end of each activation of the audited agent, and where they mean nothing.

    `claimed` is what the formula says had the run ended there (None where its conditions fail), `exact` the larger
    direction's `lower` end, proven for each activation by itself, and `estimate`. `claimed_vacuous_from`,
    `exact_vacuous_from` and `proven_vacuous_from` are the first activations at which the claim, the exact ε's
    estimate and its lower end are above 20; `undefined_from` is where the claim's conditions begin to fail, and
    `condition` which does; `exceeds_from` where the exact ε is first proven to be above what is claimed of that
    activation, and `exceeds` by how much.
    In rounds an activation is a round, `rounds` of them, and what is sent after the last belongs to one more, of
    which the claim is that of the whole run. In a walk (`rounds` None) a claim counts the activations of the agent
    that has most (PLF).
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
    first = _exceeds(levels, claimed)
    return {
        "unit": "activations" if walks else "rounds",
        "rounds": rounds,
        "delta": found.claim.delta,
        "confidence": found.confidence,
        "vacuous_above": VACUOUS,
        "claimed": {"count": at, "epsilon": [claimed(k) for k in at]},
        "exact": {
            "count": shown,
            "lower": [levels[k][0] for k in shown],
            "estimate": [levels[k][1] for k in shown],
        },
        "audited": {
            "count": [one.activation for one in found.anatomy.audited],
            "epsilon": [one.epsilon for one in found.anatomy.audited],
            "ceiling": [one.ceiling for one in found.anatomy.audited],
        },
        "claimed_vacuous_from": first_above(VACUOUS, defined, claimed) if defined else None,
        "exact_vacuous_from": _first(levels, lambda level: level[1] > VACUOUS),
        "proven_vacuous_from": _first(levels, lambda level: level[0] > VACUOUS),
        "undefined_from": undefined,
        "condition": None if failed is None else "; ".join(failed.failed_conditions),
        "exceeds_from": first,
        "exceeds": None if first is None else {"exact": levels[first][0], "claimed": claimed(first)},
    }


def sentence(over_time: Results | None) -> str | None:
    """Where the budget is exceeded, and where it stops to mean anything; None where neither is so."""
    if not over_time:
        return None
    said: list[str] = []
    if (k := over_time["exceeds_from"]) is not None:
        ends, when = over_time["exceeds"], moment(over_time, k, "at {}")
        exact, claimed = _number(ends["exact"]), _number(ends["claimed"])
        said.append(f"first exceeds the claim {when} ({exact} > {claimed}, claimed of a run that ends there)")
    level = over_time["vacuous_above"]
    if (k := over_time["exact_vacuous_from"]) is not None:
        said.append(f"is above {level:g} {moment(over_time, k, 'from {} on')}")
    parts = [f"The exact ε {' and '.join(said)}."] if said else []
    if (k := over_time["claimed_vacuous_from"]) is not None:
        parts.append(f"The claim is vacuous (ε > {level:g}) {moment(over_time, k, 'from {} on')}.")
    if (k := over_time["undefined_from"]) is not None:
        parts.append(f"The claim is undefined {moment(over_time, k, 'from {} on')}: {over_time['condition']}.")
    return " ".join(parts) or None


def moment(over_time: Mapping[str, Any], k: int, within: str = "{}") -> str:
    """The k-th round or activation in words, as `within` says it; what is sent after the last round is in none."""
    rounds = over_time.get("rounds")
    if rounds is not None and k > rounds:
        return f"after the last round ({rounds:,})"
    return within.format(f"{str(over_time['unit']).removesuffix('s')} {k:,}")


def _number(value: object) -> str:
    number = float(str(value))
    return "∞" if number == float("inf") else f"{number:.3g}"


def _levels(found: Audit) -> dict[int, tuple[float, float]]:
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
    """From where on there is no number: a condition that fails for some releases fails for more of them."""
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
