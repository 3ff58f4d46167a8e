"""One audit: simulate both worlds, explain every transcript, play the game, judge the claim.

The caller brings the two hypotheses and the way to simulate each world; an audit opens no truth of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attacks.audit.exact import ExactLoss, Explained, Sample, Uncovered, combine, explain
from attacks.audit.game import GameResult, play
from attacks.audit.verdict import Judgement, decide
from attacks.gradients.baton import GradientEstimate
from attacks.replay import Hypothesis
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.errors import PrivacyError

Simulate = Callable[[int, int], Sample]
"""(world 0 or 1, chunk) ↦ independent transcripts of that world."""
Infer = Callable[[AdversaryView], list[GradientEstimate]]
EXACT = 1e-9
"""The deviation that an exact gradient estimate is credited with in a score."""


@dataclass(frozen=True)
class Pair:
    """Two adjacent worlds: `hypotheses[w]` is what `agent` holds in world w."""

    agent: int
    hypotheses: tuple[Hypothesis, Hypothesis]
    description: str


@dataclass(frozen=True)
class Audit:
    """The three epsilons of one claim, the evidence and the verdict.

    `exact` has one entry per direction (transcripts of world 0 against 1, and back); `white_box` plays the game
    with the exact loss as its score, `black_box` with gradients inferred from the tapped links, if an attack
    was brought.
    """

    claim: Claim
    pair: Pair
    exact: tuple[ExactLoss, ExactLoss]
    white_box: GameResult
    black_box: GameResult | None
    judgement: Judgement
    trials: int
    confidence: float

    @property
    def epsilon_exact(self) -> float:
        """The larger direction's estimate of ε(δ) for this pair."""
        return max(direction.epsilon.estimate for direction in self.exact)

    @property
    def epsilon_audited(self) -> float:
        """The better game's lower bound; each is valid at its confidence, so the pair of them at twice the α."""
        return max(game.epsilon_audited for game in (self.white_box, self.black_box) if game is not None)

    @property
    def uncovered(self) -> Uncovered | None:
        """The first uncovered message, in either direction."""
        return next((e.uncovered for e in self.exact if e.uncovered is not None), None)

    @property
    def first_violation(self) -> int | None:
        """The activation at which the exact budget first exceeds the claim, or the first uncovered message's."""
        if self.uncovered is not None:
            return self.uncovered.activation
        claimed = self.claim.epsilon
        over = [k for e in self.exact for k, level in e.growth if claimed is not None and level > claimed]
        return min(over, default=None)


def audit(
    simulate: Simulate,
    pair: Pair,
    claim: Claim,
    *,
    trials: int,
    chunk: int,
    confidence: float,
    rng: np.random.Generator,
    infer: Infer | None = None,
    progress: Callable[[int], None] | None = None,
) -> Audit:
    """Audit `claim` on one pair with `trials` transcripts of each world, `chunk` at a time.

    Each of the two games has confidence 1 − (1 − confidence)/2, so that all that is said holds at `confidence`.
    You get a `PrivacyError` if a self-check fails: then there is no verdict.
    """
    explained: tuple[list[Explained], list[Explained]] = ([], [])
    guesses: tuple[list[Array], list[Array]] = ([], [])
    for index in range(-(-trials // chunk)):
        for world in (0, 1):
            sample = simulate(world, index)
            true, other = pair.hypotheses[world], pair.hypotheses[1 - world]
            explained[world].append(explain(sample, pair.agent, true, other))
            if infer is not None:
                guesses[world].append(_resemblance(infer(sample.view), pair))
            if progress is not None:
                progress(sample.view.replicas)
    each = 1 - (1 - confidence) / 2
    exact = tuple(combine(parts, claim.delta, each) for parts in explained)
    if not all(direction.passed for direction in exact):
        raise PrivacyError(_failed_check(exact))
    scores_0, scores_1 = -exact[0].losses, exact[1].losses
    white = play(scores_0, scores_1, delta=claim.delta, confidence=each, rng=rng)
    black = None
    if infer is not None:
        black = play(
            np.concatenate(guesses[0]),
            np.concatenate(guesses[1]),
            delta=claim.delta,
            confidence=each,
            rng=rng,
        )
    best = white if black is None or white.epsilon_audited >= black.epsilon_audited else black
    uncovered = next((e.uncovered for e in exact if e.uncovered is not None), None)
    judgement = decide(
        epsilon_claimed=claim.epsilon,
        delta=claim.delta,
        failed_conditions=claim.failed_conditions,
        exact_lower=max(e.epsilon.lower for e in exact),
        exact_upper=max(e.epsilon.upper for e in exact),
        uncovered=None if uncovered is None else str(uncovered),
        audited=best,
    )
    return Audit(claim, pair, (exact[0], exact[1]), white, black, judgement, trials, confidence)


def _resemblance(estimates: list[GradientEstimate], pair: Pair) -> Array:
    """How much more the inferred gradients look like world 1's than world 0's, per replica."""
    score = np.zeros(1)
    for e in estimates:
        if e.agent != pair.agent:
            continue
        zero, one = (hypothesis.gradient(e.point) for hypothesis in pair.hypotheses)
        far_0 = np.sum((e.gradient - zero) ** 2, axis=-1)
        far_1 = np.sum((e.gradient - one) ** 2, axis=-1)
        score = score + (far_0 - far_1) / max(e.stddev, EXACT) ** 2
    return score


def _failed_check(exact: tuple[ExactLoss, ...]) -> str:
    checks = ", ".join(
        f"E[e^−L] = {e.self_check.mean:.4g} (at least {e.self_check.lower:.4g}), noise law p = {e.noise_law_p:.2g}"
        for e in exact
    )
    return f"no verdict: a self-check failed ({checks}); the replay or the declared noise law is wrong"
