"""View lattice as results: the loss seen from each view, and a few lines for the terminal."""

import math
from collections.abc import Mapping
from typing import Any, cast

from attacks.audit.views import ViewsResult, ViewResult

Results = dict[str, Any]
MOST_LINES = 6
"""Refuted views that the terminal names."""
_WEAKER = (
    "Views are played with black-box scores, a trained classifier's or those of inferred gradients, which are weaker "
    "than the exact loss at the door"
)


def view_results(found: ViewsResult | None) -> Results | None:
    """What every view proves, which of them refute the claim together, and how they contain each other."""
    if found is None:
        return None
    return {
        "agent": found.pair.agent,
        "pair": found.pair.description,
        "epsilon_claimed": found.claim.epsilon,
        "delta": found.claim.delta,
        "confidence": found.confidence,
        "false_discovery_rate": 1 - found.confidence,
        "trials": found.trials,
        "played": found.played,
        "log_e_needed_alone": found.needed,
        "log_e_ceiling": found.log_e_ceiling,
        "powered": found.powered,
        "views": [_view(one) for one in found.views],
        "refuted": [one.view.name for one in found.refuted],
        "smallest": [one.view.name for one in found.smallest],
        "order": sorted(list(edge) for edge in cast("list[tuple[str, str]]", found.order.edges)),
        "inconsistent": [str(one) for one in found.inconsistent],
    }


def _view(one: ViewResult) -> Results:
    view = one.view
    return {
        "name": view.name,
        "kind": view.kind,
        "taps": view.taps,
        "links": [list(link) for link in view.links],
        "agents": list(view.agents),
        "log_e": one.log_e,
        "refuted": one.refuted,
        "epsilon_audited": one.game.epsilon_audited,
        "ceiling": one.game.ceiling,
        "score": one.score,
        "right": one.tally.right,
        "wrong": one.tally.wrong,
        "coins": one.tally.coins,
    }


def strength(by_exact_loss: bool) -> str:
    """What kind of evidence a view has, in a sentence; `by_exact_loss`: whether that refutes the claim."""
    return f"{_WEAKER}, which does refute the claim." if by_exact_loss else f"{_WEAKER}."


def lines(found: Mapping[str, Any] | None, by_exact_loss: bool = False) -> list[str]:
    """For how many views the claim is refuted, and a line for each of the smallest of these, at most `MOST_LINES`.

    `by_exact_loss`: whether the main audit's exact loss, at the door, refutes the same claim.
    """
    if not found:
        return []
    if "refused" in found:
        return [f"No views: {found['refused']}"]
    views: list[Results] = found["views"]
    refuted, rate = [one for one in views if one["refuted"]], f"{100 * found['false_discovery_rate']:.3g}%"
    if not refuted:
        weak = "" if found["powered"] else " So few trials could not have refuted it for a single one."
        return [f"The claim is refuted for none of {len(views)} views.{weak} {strength(by_exact_loss)}"]
    smallest = [one for one in refuted if one["name"] in found["smallest"]]
    said = [
        f"The claim is refuted by black-box scores for {len(refuted)} of {len(views)} views "
        f"(false discovery rate at most {rate}):"
    ]
    said += [
        f"  {one['taps']}: {_money(one['log_e'])}, ε ≥ {one['epsilon_audited']:.3g} by itself"
        for one in _top(smallest)
    ]
    left = len(refuted) - min(len(smallest), MOST_LINES)
    which = ", which contain one of these" if len(smallest) <= MOST_LINES else ""
    return said + ([f"  and {left} more{which}"] if left else [])


def _top(views: list[Results]) -> list[Results]:
    return sorted(views, key=lambda one: -float(one["log_e"]))[:MOST_LINES]


def _money(log_e: float) -> str:
    """An e-value as a power of ten."""
    return f"e-value 10^{log_e / math.log(10):.1f}"
