"""The audit of one claim: three epsilons, games, loss breakdown, views, ε over time, and what was known before."""

import math
from typing import Literal, Self

from pydantic import model_validator

from attacks.audit.accounting.intervals import Interval
from attacks.audit.games.power import Prospect
from attacks.audit.loss.exact import Level
from attacks.audit.loss.wire_fields import Cause, Released
from attacks.audit.views import Kind as ViewKind
from netsim.node import Computed
from netsim.shown import Shown
from scenarios.results.base import Counts, Edge, Ends, Numbers, Refused, Result, Rows, Table, Unit, Verdict
from scenarios.results.numbers import at_least, exact, percent, show
from scenarios.schema.scenario import AuditSpec


# ── before the run ──────────────────────────────────────────────────────────────────────────────────────
class Budget(Table):
    """The claimed ε as a formula of the length of the run."""

    COLUMNS = ("count", "epsilon")

    class ClaimedLevel(Result):
        """Count after which the claimed ε is first above a level."""

        epsilon: float
        count: int | None
        """Null where it never is, or nothing is defined."""

    unit: Literal["rounds", "plf"]
    """"plf": activations of one agent."""
    last: int
    count: Counts
    epsilon: tuple[float | None, ...]
    """Null where the formula's conditions fail."""
    delta: float
    source: str
    failed_conditions: tuple[str, ...]
    vacuous_from: tuple[ClaimedLevel, ...]
    waived_conditions: tuple[str, ...] = ()
    """Stated conditions that fail, but that the theorem's proof does not need."""


class PlanResult(Result):
    """Reach of the game of fixed size, computed before it starts."""

    trials: int
    ceiling: float
    """Largest ε that all coins guessed right would prove."""
    trials_to_reach: float
    underpowered: bool
    summary: str
    warning: str | None
    prospects: tuple[Prospect, ...]


# ── claim, epsilons, games ──────────────────────────────────────────────────────────────────────────────
class EpsilonInterval(Result):
    """ε between two proven ends."""

    lower: float
    estimate: float
    upper: float

    @property
    def known(self) -> bool:
        """Whether anything is known of it, for who sees the wire alone."""
        return True


class EpsilonExact(EpsilonInterval):
    """ε(δ) of the audited pair, of the larger direction."""

    by_formula: bool
    upper_bound_only: bool
    """Whether the adversary was granted releases that are not on the wire: the estimate is for who knows them."""

    @property
    def known(self) -> bool:
        return not (self.upper_bound_only and self.lower == 0 and math.isinf(self.upper))


# ── loss breakdown ──────────────────────────────────────────────────────────────────────────────────────
class AverageCase(Result):
    """Average loss against the worst case of a release, in nats."""

    transcripts: int
    lost: Ends
    computed: float
    supremum: Ends
    """The largest loss over pairs, averaged over transcripts."""
    worst: float
    gap: Ends
    """lost − computed."""
    share_measured: Ends | None
    """`lost` over `worst`, of the audited pair."""
    share_computed: float | None
    gamma: Ends | None
    """`supremum` over `worst`: γ of Xiao 2019, Definition 2."""


class LossPart(Result):
    """Release cost and loss of some releases over all transcripts."""

    count: int
    """Releases."""
    cost: Ends
    """Smallest, mean, largest."""
    cost_unknown: float
    """Share of transcripts without a known cost."""
    step: Ends
    """Signed share of the loss: smallest, mean, largest."""
    step_size: float
    """Mean |step|."""
    share: Ends | None
    """E|loss| over the mean worst case; null without a bound."""


class LossBreakdown(Result):
    """The exact loss by release, activation and link; at most 120 of each, the costliest."""

    class LinkLoss(LossPart):
        """Loss on one directed link."""

        link: Edge

    class PartCounts(Result):
        """Numbers of parts before the cheapest are left out."""

        releases: int
        activations: int
        links: int

    class ReleaseLoss(LossPart):
        """Loss of one release."""

        release: int
        where: Released | None
        """Null where transcripts disagree."""
        average: AverageCase | None = None

    class ActivationLoss(LossPart):
        """Loss of one activation."""

        activation: int

    agent: int
    transcripts: int
    counts: PartCounts
    releases: tuple[ReleaseLoss, ...]
    activations: tuple[ActivationLoss, ...]
    links: tuple[LinkLoss, ...]
    hidden: LossPart | None
    """Sum over releases that are on no link as they were made."""
    total: LossPart


# ── search of the pair ──────────────────────────────────────────────────────────────────────────────────
class PairSearch(Result):
    """The search for the worst adjacent pair."""

    class WorstPair(Result):
        """The pair found. `any_change`: far beyond the bound of what is released, for the claim is of any change."""

        family: str
        description: str
        epsilon: float
        any_change: bool = False

    class PairFamily(Result):
        """One family of candidates."""

        name: str
        candidates: int
        best: str
        epsilon: float

    sentence: str
    candidates: int
    budget: int
    transcripts: int
    chunk: int
    delta: float
    winner: WorstPair
    families: tuple[PairFamily, ...]
    seed: int
    unbounded: bool = False
    """Whether the claim is of any change, the pair of no stated one, and no bound of what is released was seen."""


# ── repeated audits, and the audit ──────────────────────────────────────────────────────────────────────
class OtherAudit(Result):
    """An audit of the same claim that the folder does not show."""

    draw: int
    confidence: float
    trials: int | None = None
    verdict: Verdict | None = None
    reason: str | None = None
    refused: str | None = None
    epsilon_exact: EpsilonInterval | None = None
    epsilon_audited: float | None = None
    first_violation: int | None = None
    joint_confidence: float | None = None
    options: AuditSpec | None = None
    witness: str | None = None


class _Repeated(Result):
    """Bookkeeping of audits repeated in one folder; defaults where there is one audit alone."""

    joint_confidence: float | None = None
    """Of this audit and all before it together."""
    options: AuditSpec | None = None
    """Null where the scenario's own options were used."""
    earlier: tuple[OtherAudit, ...] = ()
    later: tuple[OtherAudit, ...] = ()
    besides: str | None = None
    """Sentence about the other audits."""


class AuditRefused(_Repeated):
    """An audit that could not judge."""

    refused: str
    confidence: float | None = None


class Game(Result):
    """A distinguishing game of fixed size."""

    epsilon_audited: float
    trials: int
    correct: int
    guesses: int
    accuracy_lower: float
    """Lower bound of P(right | guessed)."""
    ceiling: float
    confidence: float


class AuditResult(_Repeated, Shown):
    """Three epsilons, evidence and verdict of one claim."""

    class ClaimResult(Result):
        """The claim under audit."""

        epsilon: float | None
        """Null exactly where a condition fails."""
        delta: float
        source: str
        adjacency: str
        norm: str
        gradient_change: float
        failed_conditions: tuple[str, ...]
        waived_conditions: tuple[str, ...] = ()
        """Stated conditions that fail, but that the theorem's proof does not need."""
        coins: Literal["known", "secret"] = "secret"
        """For whom it is judged: who knows the agent's private coins, or who does not."""

    class SequentialTest(Result):
        """The game that may stop at any coin."""

        claim_epsilon: float
        delta: float
        alpha: float
        trials: int
        refuted_at: int | None
        log_wealth: float
        epsilon_audited: float
        guesses: int
        correct: int
        counts: bool
        """Whether it enters `epsilon_audited`: `audit.stop` is "refuted"."""
        stopped: bool
        sentence: str

    class Leak(Result):
        """An unprotected message in one direction of the pair."""

        share: float
        """Of the transcripts."""
        message: str

    class SelfChecks(Result):
        """Checks of the exact loss, one entry a direction."""

        mean_exp_minus_loss: Numbers
        mean_passed: tuple[bool, ...]
        noise_law_p: Numbers
        noise_law_passed: tuple[bool, ...]

    class Bound(Result):
        """ε at most, for all pairs of the claim's adjacency at the agent's door."""

        epsilon: float
        conditions: tuple[str, ...]
        """What it rests on; each was checked."""

    class SecretCoins(Result):
        """ε(δ) of the pair over all tosses of the agent's private coins: lower end, estimate, upper end."""

        secret: Ends
        """For who does not know them."""
        known: Ends
        """For who does."""
        histories: int | None
        """How many explain one transcript, at most; null where they could not be listed, and `secret` is enclosed by
        what `known` costs and a game."""
        tosses: int
        """Transcripts of each world, each with tosses of its own."""
        unlisted: str | None
        """The reason why histories could not be listed."""

    class GameCurve(Result):
        """Lower bounds of ε by the end of some activations, each by itself."""

        activation: Counts
        epsilon: Numbers
        ceiling: Numbers

    class UnprotectedField(Result):
        """A field of a message that distinguishes the worlds and that no noise protects."""

        agent: int
        name: str
        """Empty of what is no field."""
        cause: Cause
        message: int
        activation: int
        kind: str
        number: int
        messages: int
        links: tuple[Edge, ...]
        difference: float | None
        distinguishing: int
        """Transcripts in which it distinguishes the worlds."""
        transcripts: int
        reason: str
        granted: bool
        share: float
        path: str

    class ClassifierGame(Game):
        """The game played with a trained classifier's scores."""

        model: str
        loss: float
        """Cross-validated log loss in nats."""
        training: int
        """Transcripts of each world that trained it."""

    verdict: Verdict
    reason: str
    pair: str
    change_used: float | None = None
    """Share of the change that the claim allows by which the pair's worlds differ; null: not known."""
    proven_share: float | None = None
    """The proven lower bound over the claimed ε; null without a claim."""
    trials: int
    """Transcripts of each world."""
    confidence: float
    """Of all intervals and games together."""
    activations: int
    first_violation: int | None
    unprotected: str | None
    """The first unprotected message, in words."""
    claim: ClaimResult
    epsilon_claimed: float | None
    epsilon_exact: EpsilonExact
    average_loss: Interval | None
    """E|loss| in nats."""
    epsilon_audited: float
    white_box: Game
    black_box: Game | None
    black_box_refused: str | None
    classifier: ClassifierGame | None
    classifier_refused: str | None
    sequential_test: SequentialTest
    growth: tuple[Level, ...]
    not_judged_from: int | None
    leaks: tuple[Leak, ...]
    checks: SelfChecks
    loss_breakdown: LossBreakdown
    unprotected_fields: tuple[UnprotectedField, ...]
    average_case: AverageCase | None
    audited_over_time: GameCurve
    search: PairSearch | None = None
    witness: str | None = None
    """File in the folder."""
    bound: Bound | None = None
    unbounded: str | None = None
    """The reason why nothing bounds all pairs, where that was asked."""
    secret_coins: SecretCoins | None = None
    """Where the agent tosses private coins that decide more than whom it sends to."""
    unpriced: str | None = None
    """The reason why `secret_coins` is not known, where somebody tosses some."""
    computed: Computed | None = None
    """Who computed its transcripts; null in results of earlier versions."""

    __repr__ = Shown.__repr__

    def facts(self) -> dict[str, object]:
        return {
            "verdict": self.verdict,
            "ε claimed": f"{show(self.epsilon_claimed)} at δ = {show(self.claim.delta)} ({self.claim.source})",
            "ε exact": f"{exact(self.epsilon_exact)}{', of this pair' * self.epsilon_exact.known}",
            "ε audited": at_least(self.epsilon_audited, 4),
            "change used": f"{percent(self.change_used)} of what the claim allows",
            "proven": f"{percent(self.proven_share)} of the claim",
            "pair": self.pair,
            "transcripts": f"{self.trials:,} of each world, at {show(self.confidence)} confidence",
        }


# ── over time ───────────────────────────────────────────────────────────────────────────────────────────
class OverTime(Result):
    """The three epsilons by activation, and from where on they mean nothing."""

    class ClaimedCurve(Table):
        """ε claimed had the run ended there."""

        count: Counts
        epsilon: tuple[float | None, ...]

    class ExactCurve(Table):
        """ε exact by the end of each activation."""

        count: Counts
        lower: Numbers
        estimate: Numbers

    class AuditedCurve(Table):
        """ε audited by the end of some activations."""

        count: Counts
        epsilon: Numbers
        ceiling: Numbers

    class Excess(Result):
        """Exact ε proven above the claim of its activation."""

        exact: float
        claimed: float

    unit: Unit
    rounds: int | None
    """Null in a walk."""
    delta: float
    confidence: float
    vacuous_above: float
    claimed: ClaimedCurve
    exact: ExactCurve
    audited: AuditedCurve
    claimed_vacuous_from: int | None
    exact_vacuous_from: int | None
    proven_vacuous_from: int | None
    undefined_from: int | None
    condition: str | None
    exceeds_from: int | None
    exceeds: Excess | None


# ── views ───────────────────────────────────────────────────────────────────────────────────────────────
class ViewsResult(Result):
    """All points of view, and which of them refute the claim together."""

    class ViewResult(Result):
        """One point of view on the audited agent."""

        name: str
        kind: ViewKind
        taps: str
        links: tuple[Edge, ...]
        agents: Counts
        log_e: float
        """ln of the e-value against the claim."""
        refuted: bool
        epsilon_audited: float
        ceiling: float
        score: str
        right: int
        wrong: int
        coins: int

    agent: int
    pair: str
    epsilon_claimed: float
    delta: float
    confidence: float
    false_discovery_rate: float
    trials: int
    played: int
    log_e_needed_alone: float
    log_e_ceiling: float
    powered: bool
    views: tuple[ViewResult, ...]
    refuted: tuple[str, ...]
    smallest: tuple[str, ...]
    order: tuple[tuple[str, str], ...]
    """Pairs of a view and one that contains it."""
    inconsistent: tuple[str, ...]


class Combination(Result):
    """A sum of messages that tells the worlds apart."""

    class Term(Result):
        """One message's field in the sum."""

        sender: int
        kind: str
        number: int
        name: str
        coordinate: int | None
        """Null: the coordinate along the change."""
        weight: float

    terms: tuple[Term, ...]
    shift: float
    """By how much the sum differs between the worlds."""
    stddev: float
    """Of the noise in the sum that the listener does not know; 0 where all of it cancels."""
    gradient_stddev: float
    """Of the estimate that it is of the gradient's part along the change."""


class ViewPrices(Result):
    """Exact ε of points of view on one agent, and of all ordered pairs of agents, of one algorithm."""

    class ViewPrice(Result):
        """One point of view."""

        name: str
        kind: ViewKind
        taps: str
        links: tuple[Edge, ...]
        agents: Counts
        epsilon_claimed: float | None
        claim: str
        """Source of the claim at this view."""
        pair: tuple[float, float] | None
        """Ends of ε of the audited pair; null: not linear, `refused` says why."""
        all_pairs: tuple[float, float] | None
        """Ends of ε over all pairs of the adjacency; null where nothing bounds them."""
        verdict: Verdict | None
        reason: str
        witness: Combination | None
        """Of a view that is refuted, or whose noise cancels."""
        refused: str | None = None
        epsilon_audited: float | None = None
        """Of the game from the same view, where it was played."""
        ceiling: float | None = None

    class CoalitionSearch(Result):
        """The search for the costliest coalition."""

        size: int
        name: str
        tried: int
        exhaustive: bool

    class PairPrices(Result):
        """ε over all pairs of the adjacency, victims by listeners; NaN where nothing bounds it."""

        lower: Rows
        upper: Rows
        hops: tuple[Counts, ...]
        claimed: Rows | None
        """The claim of each pair where the algorithm states one of pairs; NaN: none."""
        verdict: Verdict | None
        """Of the claims of pairs together."""
        refuted: tuple[tuple[int, int], ...]
        """Victim and listener, those farthest above their claims first."""
        witness: Combination | None
        """Of the first of them."""

        @model_validator(mode="after")
        def _square(self) -> Self:
            n = len(self.upper)
            matrices = [self.lower, self.upper, self.hops, *([] if self.claimed is None else [self.claimed])]
            if any(len(rows) != n or any(len(row) != n for row in rows) for rows in matrices):
                raise ValueError("lower, upper, hops and claimed are not all one row and one column an agent")
            return self

    agent: int
    pair: str
    delta: float
    adjacency: str
    gradient_change: float
    conditions: tuple[str, ...]
    """All prices rest on them; each was checked."""
    unbounded: str | None
    """The reason why nothing bounds all pairs of the adjacency."""
    views: tuple[ViewPrice, ...]
    coalition: CoalitionSearch | None
    pairs: PairPrices | None


Audit = AuditResult | AuditRefused
Prices = ViewPrices | Refused
Views = ViewsResult | Refused
