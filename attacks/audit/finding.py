"""What an audit has found."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from attacks.audit.anatomy.anatomy import Anatomy
from attacks.audit.blackbox.trained import Trained
from attacks.audit.games.anytime import Stopping
from attacks.audit.games.game import GameResult
from attacks.audit.loss.exact import ExactLoss
from attacks.audit.loss.explain import Uncovered
from attacks.audit.loss.pool import Level
from attacks.audit.pair import Pair
from attacks.audit.statistics.intervals import Interval, normal_mean
from attacks.audit.verdict import BROKEN, Judgement, exceeds
from attacks.audit.witnesses.witness import Place
from netsim.claims import Claim


@dataclass(frozen=True)
class Audit:
    """The three epsilons of one claim, the evidence and the verdict.

    `exact` has one entry per direction (transcripts of world 0 against 1, and back); `white_box` plays the game
    with the exact loss as its score, `black_box` with gradients inferred from the tapped links, if an attack
    was brought and did not refuse (`refused`), and `classifier` with the scores of one that was trained, as `trained`
    says, on what was heard on links, if that was asked for and did not refuse (`untrained`); it plays the transcripts
    that did not teach it. All intervals and games hold together at `confidence`.
    `trials` transcripts of each world were simulated. `anytime` is the game that may end at any coin; with `stop` it
    counts, and where it ended the audit (`stopped`), what is said of a fixed number of transcripts is said of the
    first chunk. `witness` is the transcript that shows best that the claim does not hold, None where it may.
    `anatomy` says what the loss is made of, and how ε grew. `summary` has the most important of it in a few lines.
    """

    claim: Claim
    pair: Pair
    exact: tuple[ExactLoss, ExactLoss] = field(repr=False)
    white_box: GameResult = field(repr=False)
    black_box: GameResult | None = field(repr=False)
    refused: str | None
    judgement: Judgement
    trials: int
    confidence: float
    anytime: Stopping = field(repr=False)
    stop: bool
    stopped: bool
    witness: Place | None
    anatomy: Anatomy = field(repr=False)
    classifier: GameResult | None = field(default=None, repr=False)
    trained: Trained | None = field(default=None, repr=False)
    untrained: str | None = None

    @property
    def summary(self) -> str:
        """Verdict and reason, the three epsilons, the pair and where the witness is, in a line each."""
        claimed, lower = self.claim.epsilon, max(e.epsilon.lower for e in self.exact)
        upper = max(e.epsilon.upper for e in self.exact)
        at, pair = self.witness, self.pair
        where = "none" if at is None else f"world {at.world}, chunk {at.chunk}, replica {at.replica}"
        return "\n".join(
            (
                f"{self.judgement.verdict}: {self.judgement.reason}",
                f"ε claimed: {'nothing' if claimed is None else _number(claimed)} (δ = {self.claim.delta:g})",
                f"ε exact:   {_number(self.epsilon_exact)} ({_number(lower)} to {_number(upper)})",
                f"ε audited: at least {_number(self.epsilon_audited)}",
                f"pair:      agent {pair.agent}, {pair.description}; {self.trials:,} transcripts of each world",
                f"witness:   {where}",
            )
        )

    @property
    def epsilon_exact(self) -> float:
        """The larger direction's estimate of ε(δ) for this pair."""
        return max(direction.epsilon.estimate for direction in self.exact)

    @property
    def average_loss(self) -> Interval | None:
        """E|loss| in nats of all that the agent sent, over transcripts of both worlds in equal parts.

        The interval is by itself at `confidence`, in the normal approximation. A share of infinite losses makes it
        infinite. None where something had to be granted, or noise drowned in rounding: losses are then of a part.
        """
        if any(math.isfinite(e.granted_from) or e.unreliable_from is not None or e.silent for e in self.exact):
            return None
        return normal_mean(np.abs(np.concatenate([e.losses for e in self.exact])), self.confidence)

    @property
    def epsilon_audited(self) -> float:
        """The best game's lower bound, of those that count."""
        best = best_of(self.white_box, self.black_box, self.classifier).epsilon_audited
        return max(best, self.anytime.epsilon_audited) if self.stop else best

    @property
    def activations(self) -> int:
        """How often the agent released something in the transcripts that were examined."""
        return max((level.activation for level in self.growth), default=0)

    @property
    def uncovered(self) -> Uncovered | None:
        """The first uncovered message that tells in more than δ of the transcripts, in either direction."""
        return first_uncovered(self.exact)

    @property
    def first_violation(self) -> int | None:
        """The activation by which ε is proven to exceed the claim, or that of the first uncovered message.

        None where the claim is not broken, or a game alone broke it.
        """
        if self.uncovered is not None:
            return self.uncovered.activation
        level = self.violated
        return None if level is None else level.activation

    @property
    def violated(self) -> Level | None:
        """The first level of a broken claim that is proven to be above it, of either direction."""
        claimed = self.claim.epsilon
        if claimed is None or self.judgement.verdict not in BROKEN:
            return None
        return next((level for level in self.growth if exceeds(level.lower, claimed)), None)

    @property
    def growth(self) -> tuple[Level, ...]:
        """The budget on the way there, of the worse direction at each point."""
        found: dict[tuple[int, float], Level] = {}
        for level in (level for direction in self.exact for level in direction.growth):
            point = level.activation, math.inf if level.release is None else level.release
            other = found.get(point, level)
            worse = max(level.lower, other.lower), max(level.estimate, other.estimate)
            found[point] = replace(level, lower=worse[0], estimate=worse[1])
        return tuple(found[point] for point in sorted(found))


def first_uncovered(exact: tuple[ExactLoss, ExactLoss]) -> Uncovered | None:
    found = [e.uncovered for e in exact if e.unprotected and e.uncovered is not None]
    return min(found, key=lambda u: u.message, default=None)


def best_of(white: GameResult, *others: GameResult | None) -> GameResult:
    """The game that proves most; of equals the first."""
    return max([white, *(game for game in others if game is not None)], key=lambda game: game.epsilon_audited)


def _number(value: float) -> str:
    return "∞" if value == math.inf else f"{value:.4g}"
