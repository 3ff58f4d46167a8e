"""The audited ε on the way there: the game, played with what had been lost by some activations."""

import math
from dataclasses import dataclass

import numpy as np

from attacks.audit.games.game import play
from attacks.audit.loss.exact import ExactLoss
from netsim.arrays import Array
from netsim.errors import PrivacyError

MOST = 24
"""Games are played at so many activations at most, spread over the run."""


@dataclass(frozen=True)
class Audited:
    """The game on all that the agent had released by the end of `activation`.

    `epsilon` is a lower bound of ε(δ) of that, for this activation by itself at the confidence of the game: not for
    all of them together. `ceiling` is what so many `trials` could prove at most.
    """

    activation: int
    epsilon: float
    ceiling: float
    trials: int


def audited_levels(
    exact: tuple[ExactLoss, ExactLoss], delta: float, confidence: float, rng: np.random.Generator
) -> tuple[Audited, ...]:
    """The white box's game at up to `MOST` activations; none where transcripts do not agree on what came when.

    Before the last one it looks at the first transcripts only (`attacks.audit.loss.pool.COURSE`). A transcript's
    score is its exact loss up to there, as it is for the whole run.
    """
    return tuple(_played(k, scores, delta, confidence, rng) for k, scores in _chosen(exact))


def _chosen(exact: tuple[ExactLoss, ExactLoss]) -> list[tuple[int, tuple[Array, Array]]]:
    """Activations, with both directions' losses by then."""
    first, second = exact
    levels = min(first.growth, second.growth, key=len)
    if not levels:
        return []
    rows = min(len(first.course), len(second.course))
    releases = [(level.activation, level.release) for level in levels]
    last_of = {k: t for k, t in releases if t is not None and t < rows}  # of each activation its last release
    last = max(level.activation for e in exact for level in e.growth)
    before = [k for k in sorted(last_of) if k < last]
    places = np.linspace(0, len(before) - 1, min(MOST - 1, len(before)))
    picked = [before[p] for p in sorted({int(place) for place in places})]
    chosen = [(k, (first.course[last_of[k]], second.course[last_of[k]])) for k in picked]
    return [*chosen, (last, (first.losses, second.losses))]


def _played(
    activation: int, scores: tuple[Array, Array], delta: float, confidence: float, rng: np.random.Generator
) -> Audited:
    try:
        game = play(-scores[0], scores[1], delta=delta, confidence=confidence, rng=rng)
    except PrivacyError:  # too few transcripts to toss coins: nothing is proven
        return Audited(activation, 0.0, math.nan, 0)
    return Audited(activation, game.epsilon_audited, game.ceiling, game.trials)
