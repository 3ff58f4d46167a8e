"""Result of an audit: the three epsilons of one claim, the evidence and the verdict."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from attacks.audit.accounting.intervals import Interval, normal_mean
from attacks.audit.followed.reading import ReadLine
from attacks.audit.games.game import GameResult
from attacks.audit.games.sequential_test import SequentialTestResult
from attacks.audit.loss.exact import ExactLoss, Level
from attacks.audit.loss.secret_coins import SecretCoins
from attacks.audit.loss.unprotected import UnprotectedMessage
from attacks.audit.loss_breakdown import LossBreakdown
from attacks.audit.pair import Pair
from attacks.audit.private_coins import ends, first_unprotected
from attacks.audit.trained import Trained
from attacks.audit.verdict import BROKEN, Bound, Judgement, exceeds
from attacks.audit.witness import Place
from netsim.claims import Claim
from netsim.node import Computed
from netsim.shown import Shown, show


@dataclass(frozen=True)
class AuditResult(Shown):
    """Result of an audit: the three epsilons of one claim, the evidence and the verdict.

    `exact` has one entry per direction (transcripts of world 0 against 1, and back). `white_box` is the game with the
    exact loss as its score; `black_box` that with gradients inferred from the tapped links, None without an attack or
    where it refused (`refused` has the reason); `classifier` that with a classifier `trained` on the rows captured on
    links, None if not requested or refused (`untrained`). All intervals and games hold together at `confidence`.
    `trials` transcripts of each world were simulated. `anytime` is the game that may end at any coin; with `stop` it
    counts, and where it ended the audit (`stopped`), results for a fixed number of transcripts are of the first
    chunk. `witness` is the transcript that refutes the claim best, None where it may hold. `loss_breakdown` is the
    breakdown of the loss. `bound` is one of ε over all pairs of the claim's adjacency, looked for where nothing
    refutes the claim, and `unbounded` says why there is none. `secret`: what it costs for who does not know the
    agent's private coins, and for who does, where these decide more than whom it sends to; `unpriced` says
    why that is not known. The claim is then judged by that (`over_tosses`), and by no game: these are of one toss.
    `computed` says who computed the transcripts, where their simulator does. `read` are lines of the algorithm's own
    code that decide by values that are private or were seen: what it does at others is not audited.
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
    anytime: SequentialTestResult = field(repr=False)
    stop: bool
    stopped: bool
    witness: Place | None
    loss_breakdown: LossBreakdown = field(repr=False)
    classifier: GameResult | None = field(default=None, repr=False)
    trained: Trained | None = field(default=None, repr=False)
    untrained: str | None = None
    bound: Bound | None = None
    unbounded: str | None = None
    secret: SecretCoins | None = None
    unpriced: str | None = None
    computed: Computed | None = None
    read: tuple[ReadLine, ...] = ()

    __repr__ = Shown.__repr__

    def facts(self) -> Mapping[str, object]:
        verdict, *lines = self.summary.splitlines()
        parts = [one.partition(":") for one in lines]
        return {"verdict": verdict} | {name: text.strip() for name, _, text in parts}

    @property
    def summary(self) -> str:
        """Verdict and reason, the three epsilons, the pair and the place of the witness, in a line each."""
        claimed, (lower, _, upper) = self.claim.epsilon, self.ends
        at, pair = self.witness, self.pair
        exact = _number(self.epsilon_exact) if lower > 0 or math.isfinite(upper) else "not known"
        if lower > 0 and math.isinf(upper) and any(math.isfinite(e.granted_from) for e in self.exact):
            exact = f"at least {_number(lower)}"  # the estimate is for who is granted what is not on the wire
        where = "none" if at is None else f"world {at.world}, chunk {at.chunk}, replica {at.replica}"
        return "\n".join(
            (
                f"{self.judgement.verdict}: {self.judgement.reason}",
                f"ε claimed: {'nothing' if claimed is None else _number(claimed)} (δ = {show(self.claim.delta)})",
                f"ε exact:   {exact} ({_number(lower)} to {_number(upper)})",
                f"ε audited: at least {_number(self.epsilon_audited)}",
                f"pair:      agent {pair.agent}, {pair.description}; {self.trials:,} transcripts of each world",
                f"witness:   {where}",
            )
        )

    @property
    def over_tosses(self) -> Interval | None:
        """ε(δ) over all tosses of the agent's private coins, for who knows them or not, as the claim has it; None
        where it is judged by transcripts of one toss: there is one only, or any refutes (δ = 0, coins are known)."""
        return None if self.secret is None else self.secret.judged(self.claim)

    @property
    def ends(self) -> tuple[float, float, float]:
        """Lower end, estimate and upper end of ε(δ) for this pair, of the larger direction."""
        return ends(self.exact, self.over_tosses)

    @property
    def epsilon_exact(self) -> float:
        """Larger direction's estimate of ε(δ) for this pair."""
        return self.ends[1]

    @property
    def average_loss(self) -> Interval | None:
        """E|loss| in nats of all that the agent sent, over transcripts of both worlds in equal parts.

        The interval is normal and by itself at `confidence`; infinite losses make it infinite. None where something
        had to be granted, or noise drowned in rounding: losses are then of a part only.
        """
        if any(math.isfinite(e.granted_from) or e.unreliable_from is not None or e.silent for e in self.exact):
            return None
        return normal_mean(np.abs(np.concatenate([e.losses for e in self.exact])), self.confidence)

    @property
    def epsilon_audited(self) -> float:
        """Lower bound of the best game, of those that count: they are of one toss of private coins."""
        if self.over_tosses is not None:
            return 0.0
        games = [self.white_box, self.black_box, self.classifier, self.anytime if self.stop else None]
        return max(game.epsilon_audited for game in games if game is not None)

    @property
    def activations(self) -> int:
        """Last activation at which the agent released something in the transcripts examined."""
        return max((level.activation for direction in self.exact for level in direction.growth), default=0)

    @property
    def uncovered(self) -> UnprotectedMessage | None:
        """First unprotected message of a direction in which more than δ of the transcripts hold one, proven."""
        return first_unprotected(self.exact, self.secret, self.claim)

    @property
    def first_violation(self) -> int | None:
        """Activation by which ε is proven to exceed the claim, or that of the first unprotected message.

        None where the claim is not broken, or a game alone broke it.
        """
        if self.uncovered is not None:
            return self.uncovered.activation
        level = self.violated
        return None if level is None else level.activation

    @property
    def violated(self) -> Level | None:
        """First level of a broken claim that is proven to be above it, of either direction."""
        claimed = self.claim.epsilon
        if claimed is None or self.judgement.verdict not in BROKEN:
            return None
        return next((level for level in self.growth if exceeds(level.lower, claimed)), None)

    @property
    def growth(self) -> tuple[Level, ...]:
        """Budget spent by each point, of the worse direction there; none over tosses of coins, for it is of one."""
        if self.over_tosses is not None:
            return ()
        found: dict[tuple[int, float], Level] = {}
        for level in (level for direction in self.exact for level in direction.growth):
            point = level.activation, math.inf if level.release is None else level.release
            other = found.get(point, level)
            worse = max(level.lower, other.lower), max(level.estimate, other.estimate)
            found[point] = replace(level, lower=worse[0], estimate=worse[1])
        return tuple(found[point] for point in sorted(found))


def _number(value: float) -> str:
    return show(value, 4)
