"""Unprotected messages for who does not know an agent's private coins, where these are not priced.

What the other world would not have sent at the same toss it may have sent at another one: randomized response. So
what was seen is explained at every history of the other world's coins, up to `LISTED` of them, as far as it is on the
wire: where none does, its loss is infinite. Where there are more, some are drawn, the same for all transcripts, and a
game is played with whether those of either world explain a transcript: a lower end of ε, whatever the score.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from attacks.audit.accounting.formulas import leaks
from attacks.audit.games.game import play
from attacks.audit.loss.comparison import Reproduced, Sample
from attacks.audit.loss.secret_coins import SECRET, drawn_coins
from attacks.replay import Hypothesis, replay
from attacks.replay.coins import Coins, every
from netsim.errors import AttackError

LOOKED_AT, LISTED = 16, 64
"""Transcripts of each world whose histories are listed, and histories of each at most."""
PLAYED, DRAWN = 100, 16
"""Transcripts of each world in a game, and histories that are drawn for it."""


def epsilon_at_any_toss(
    simulate: Callable[[int, int], Sample],
    agent: int,
    hypotheses: tuple[Hypothesis, Hypothesis],
    delta: float,
    confidence: float,
) -> float:
    """Lower end of ε(δ) for who does not know the coins, by unprotected messages alone; ∞ where histories are listed
    and more than δ of the mass is proven to have one that none explains."""
    sure = 1 - (1 - confidence) / 2  # two directions
    try:
        some = any(_bare(simulate, agent, world, hypotheses, delta, 1 - sure) for world in (0, 1))
        return math.inf if some else 0.0
    except AttackError:
        scores = [_scores(simulate, agent, world, hypotheses) for world in (0, 1)]
        rng = np.random.default_rng(0)
        return play(*scores, delta=delta, confidence=confidence, rng=rng).epsilon_audited


def _samples(simulate: Callable[[int, int], Sample], world: int, count: int) -> Iterator[Sample]:
    return (simulate(world, SECRET + 2 * k) for k in range(count))


def _bare(
    simulate: Callable[[int, int], Sample],
    agent: int,
    world: int,
    hypotheses: tuple[Hypothesis, Hypothesis],
    delta: float,
    alpha: float,
) -> bool:
    """Whether more than δ of the mass of one direction is proven to be explained by no history."""
    true, other = hypotheses[world], hypotheses[1 - world]
    bare = 0
    for sample in _samples(simulate, world, LOOKED_AT):
        seen = Reproduced.of(sample, agent, true)

        def explains(coins: Coins, seen: Reproduced = seen) -> bool:
            one = seen.sample
            replay(one.view, agent, other, coins, one.releases, one.dither)  # notes what is tossed
            return _explains(seen, other, coins.copied)

        bare += not any(found for _, found in every(explains, LISTED))
        if bare and delta == 0:
            return True
    return delta > 0 and leaks(bare, LOOKED_AT, delta, alpha)


def _explains(seen: Reproduced, hypothesis: Hypothesis, coins: Callable[[], np.random.Generator]) -> bool:
    """Whether a hypothesis, at these coins, may have sent all that is on the wire."""
    found = seen.compared(hypothesis, scored=False, coins=coins)
    return not np.any(np.isfinite(found.on_wire(found.granted_from).leaked))


def _scores(
    simulate: Callable[[int, int], Sample], agent: int, world: int, hypotheses: Sequence[Hypothesis]
) -> np.ndarray:
    """Whether some history that is drawn explains a transcript in world 1, less whether one does in world 0."""
    found = list[int]()
    for sample in _samples(simulate, world, PLAYED):
        seen = Reproduced.of(sample, agent, hypotheses[world])
        zero, one = (any(_explains(seen, f, drawn_coins(k).copied) for k in range(DRAWN)) for f in hypotheses)
        found.append(one - zero)
    return np.array(found, dtype=np.float64)
