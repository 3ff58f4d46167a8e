"""View lattice in the tree of results, and a few lines on it for the terminal."""

import math
from collections.abc import Mapping
from typing import Any

from attacks.audit import views
from scenarios.results.audit import ViewResult, ViewsResult
from scenarios.results.base import taken

Results = dict[str, Any]
MOST_LINES = 6
"""Refuted views that the terminal names."""
_WEAKER = (
    "Views are played with black-box scores, a trained classifier's or those of inferred gradients, which are weaker "
    "than the exact loss at the door"
)


def views_result(found: views.ViewsResult) -> ViewsResult:
    """Evidence of every view, the views that refute the claim together, and which view contains which."""
    return taken(
        ViewsResult,
        found,
        agent=found.pair.agent,
        pair=found.pair.description,
        epsilon_claimed=found.claim.epsilon,
        delta=found.claim.delta,
        false_discovery_rate=1 - found.confidence,
        log_e_needed_alone=found.needed,
        views=tuple(map(_view, found.views)),
        refuted=tuple(one.view.name for one in found.refuted),
        smallest=tuple(one.view.name for one in found.smallest),
        order=tuple(sorted((str(inner), str(outer)) for inner, outer in found.order.edges)),
        inconsistent=tuple(map(str, found.inconsistent)),
    )


def _view(one: views.ViewResult) -> ViewResult:
    view, game, tally = one.view, one.game, one.tally
    return taken(
        ViewResult,
        view,
        links=tuple(view.links),
        agents=tuple(view.agents),
        log_e=one.log_e,
        refuted=one.refuted,
        epsilon_audited=game.epsilon_audited,
        ceiling=game.ceiling,
        score=one.score,
        right=tally.right,
        wrong=tally.wrong,
        coins=tally.coins,
    )


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
    every: list[Results] = found["views"]
    refuted, rate = [one for one in every if one["refuted"]], f"{100 * found['false_discovery_rate']:.3g}%"
    if not refuted:
        weak = "" if found["powered"] else " So few trials could not have refuted it for a single one."
        return [f"The claim is refuted for none of {len(every)} views.{weak} {strength(by_exact_loss)}"]
    smallest = [one for one in refuted if one["name"] in found["smallest"]]
    said = [
        f"The claim is refuted by black-box scores for {len(refuted)} of {len(every)} views "
        f"(false discovery rate at most {rate}):"
    ]
    said += [
        f"  {one['taps']}: {_money(one['log_e'])}, ε ≥ {one['epsilon_audited']:.3g} by itself"
        for one in _top(smallest)
    ]
    left = len(refuted) - min(len(smallest), MOST_LINES)
    which = ", which contain one of these" if len(smallest) <= MOST_LINES else ""
    return said + ([f"  and {left} more{which}"] if left else [])


def _top(of: list[Results]) -> list[Results]:
    return sorted(of, key=lambda one: -float(one["log_e"]))[:MOST_LINES]


def _money(log_e: float) -> str:
    """An e-value as a power of ten."""
    return f"e-value 10^{log_e / math.log(10):.1f}"
