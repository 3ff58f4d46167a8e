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
        """The level."""
        count: int | None
        """The count; null where it is never above, or nothing is defined."""

    unit: Literal["rounds", "plf"]
    """"plf": activations of one agent."""
    last: int
    """Count at the end of the run."""
    count: Counts
    """Rounds or activations of one agent, from 1."""
    epsilon: tuple[float | None, ...]
    """ε claimed had the run ended there; null where the formula's conditions fail."""
    delta: float
    """δ of the claim."""
    source: str
    """Source of the formula."""
    failed_conditions: tuple[str, ...]
    """Conditions of the formula that fail."""
    vacuous_from: tuple[ClaimedLevel, ...]
    """From where on the claim says nothing, by level."""
    waived_conditions: tuple[str, ...] = ()
    """Stated conditions that fail, but that the theorem's proof does not need."""


class PlanResult(Result):
    """Reach of the game of fixed size, computed before it starts."""

    trials: int
    """Coins of the game."""
    ceiling: float
    """Largest ε that all coins guessed right would prove."""
    trials_to_reach: float
    """Fewest coins, all guessed right, that prove more than the claim."""
    underpowered: bool
    """Whether the claim is at or above the ceiling: no outcome could refute it."""
    summary: str
    """The plan in a sentence."""
    warning: str | None
    """A warning of too little power, or null."""
    prospects: tuple[Prospect, ...]
    """Power of the game by law and by how far the claim is exceeded."""


# ── claim, epsilons, games ──────────────────────────────────────────────────────────────────────────────
class EpsilonInterval(Result):
    """ε between two proven ends."""

    lower: float
    """Proven lower end."""
    estimate: float
    """Estimate."""
    upper: float
    """Proven upper end; "inf" where nothing closes it."""

    @property
    def known(self) -> bool:
        """Whether anything is known of it, for who sees the wire alone."""
        return True


class EpsilonExact(EpsilonInterval):
    """ε(δ) of the audited pair, of the larger direction."""

    by_formula: bool
    """Whether a formula gives it."""
    upper_bound_only: bool
    """Whether the adversary was granted releases that are not on the wire: the estimate is for who knows them."""

    @property
    def known(self) -> bool:
        return not (self.upper_bound_only and self.lower == 0 and math.isinf(self.upper))


# ── loss breakdown ──────────────────────────────────────────────────────────────────────────────────────
class AverageCase(Result):
    """Average loss against the worst case of a release, in nats."""

    transcripts: int
    """Transcripts that were averaged, with noise as drawn: the worst case bounds no exact ε."""
    lost: Ends
    """Mean loss: lower end, estimate, upper end."""
    computed: float
    """Mean loss computed from the law."""
    supremum: Ends
    """Largest loss over pairs that differ by no more, averaged over transcripts."""
    worst: float
    """Mean worst case; infinite for Gaussian noise, which has none."""
    gap: Ends
    """lost − computed of the same transcripts: 0 is in its interval if the law is right."""
    share_measured: Ends | None
    """`lost` over `worst`, of the audited pair; null without a worst case."""
    share_computed: float | None
    """`computed` over `worst`; null without a worst case."""
    gamma: Ends | None
    """`supremum` over `worst`: γ of Xiao 2019, Definition 2; null without a worst case."""


class LossPart(Result):
    """Release cost and loss of some releases over all transcripts."""

    count: int
    """Number of releases."""
    cost: Ends
    """‖Δ‖₁/b under Laplace noise, ‖Δ‖₂²/σ² under Gaussian noise: smallest, mean, largest over transcripts."""
    cost_unknown: float
    """Share of transcripts without a known cost."""
    step: Ends
    """Its signed part of the loss: smallest, mean, largest over transcripts."""
    step_size: float
    """Mean |step|."""
    share: Ends | None
    """E|loss| over the mean worst case; null without a bound."""


class LossBreakdown(Result):
    """The exact loss by release, activation and link; at most 120 of each, the costliest."""

    class LinkLoss(LossPart):
        """Loss on one directed link."""

        link: Edge
        """Sender and receiver. A broadcast is on every link in full."""

    class PartCounts(Result):
        """Numbers of parts before the cheapest are left out."""

        releases: int
        """Releases."""
        activations: int
        """Activations."""
        links: int
        """Links."""

    class ReleaseLoss(LossPart):
        """Loss of one release."""

        release: int
        """Number of the release, from 0."""
        where: Released | None
        """Where it went, and its noise; null where transcripts disagree."""
        average: AverageCase | None = None
        """Its average against its worst case; null where its law has none."""

    class ActivationLoss(LossPart):
        """Loss of one activation."""

        activation: int
        """The activation, from 1."""

    agent: int
    """The audited agent."""
    transcripts: int
    """Transcripts of both worlds."""
    counts: PartCounts
    """Numbers of parts before the cheapest are left out."""
    releases: tuple[ReleaseLoss, ...]
    """By release."""
    activations: tuple[ActivationLoss, ...]
    """By activation."""
    links: tuple[LinkLoss, ...]
    """By directed link."""
    hidden: LossPart | None
    """Sum over releases that are on no link as they were made; null where there are none."""
    total: LossPart
    """Sum over all releases."""


# ── search of the pair ──────────────────────────────────────────────────────────────────────────────────
class PairSearch(Result):
    """The search for the worst adjacent pair."""

    class WorstPair(Result):
        """The pair found. `any_change`: far beyond the bound of what is released, for the claim is of any change."""

        family: str
        """Its family of candidates."""
        description: str
        """The pair in words."""
        epsilon: float
        """Its estimated ε at `delta`."""
        any_change: bool = False
        """Whether it is far beyond the bound of what is released, for the claim is of any change."""

    class PairFamily(Result):
        """One family of candidates."""

        name: str
        """Name of the family."""
        candidates: int
        """Candidates tried."""
        best: str
        """The worst pair of the family, in words."""
        epsilon: float
        """Its estimated ε."""

    sentence: str
    """The search in a sentence."""
    candidates: int
    """Candidates tried."""
    budget: int
    """Candidates that were allowed."""
    transcripts: int
    """Transcripts that they were tried on."""
    chunk: int
    """Chunk of these transcripts, which no audit uses."""
    delta: float
    """δ of every ε here."""
    winner: WorstPair
    """The pair that is audited."""
    families: tuple[PairFamily, ...]
    """The best of each family."""
    seed: int
    """Seed of the search."""
    unbounded: bool = False
    """Whether the claim is of any change, the pair of no stated one, and no bound of what is released was seen."""


# ── repeated audits, and the audit ──────────────────────────────────────────────────────────────────────
class OtherAudit(Result):
    """An audit of the same claim that the folder does not show."""

    draw: int
    """Its `audit.draw`; its files are named by it."""
    confidence: float
    """Its confidence."""
    trials: int | None = None
    """Transcripts of each world; null where it could not judge."""
    verdict: Verdict | None = None
    """Its verdict; null where it could not judge."""
    reason: str | None = None
    """The reason in a sentence."""
    refused: str | None = None
    """Why it could not judge; else null."""
    epsilon_exact: EpsilonInterval | None = None
    """ε of its pair."""
    epsilon_audited: float | None = None
    """ε that its games prove."""
    first_violation: int | None = None
    """Activation at which it found the claim exceeded first, or null."""
    joint_confidence: float | None = None
    """Of it and all before it together."""
    options: AuditSpec | None = None
    """Requested fields of `audit`; null: the scenario's own."""
    witness: str | None = None
    """File of its witness, or null."""


class _Repeated(Result):
    """Bookkeeping of audits repeated in one folder; defaults where there is one audit alone."""

    joint_confidence: float | None = None
    """Probability, at least, that this audit and all before it are right: 1 − Σ(1 − `confidence`); null of the only
    audit."""
    options: AuditSpec | None = None
    """Requested fields of `audit`; null where the scenario's own were used."""
    earlier: tuple[OtherAudit, ...] = ()
    """Audits before this one in the folder."""
    later: tuple[OtherAudit, ...] = ()
    """Audits after it."""
    besides: str | None = None
    """The other audits in a sentence, or null."""


class AuditRefused(_Repeated):
    """An audit that could not judge."""

    refused: str
    """The reason why it could not judge."""
    confidence: float | None = None
    """The confidence that it was made at."""


class Game(Result):
    """A distinguishing game of fixed size."""

    epsilon_audited: float
    """Lower bound of ε."""
    trials: int
    """Coins tossed."""
    correct: int
    """Coins guessed right."""
    guesses: int
    """Coins guessed."""
    accuracy_lower: float
    """Lower bound of P(right | guessed)."""
    ceiling: float
    """Largest ε that so many coins prove when all are guessed right."""
    confidence: float
    """Confidence of the bound."""


class AuditResult(_Repeated, Shown):
    """Three epsilons, evidence and verdict of one claim ([how an audit works](audit.md)). An audit has a tap of its
    own at its agent's door and on its links, on radio at the agent and its neighbors, whatever the scenario's
    adversary does."""

    class ClaimResult(Result):
        """The claim under audit."""

        epsilon: float | None
        """ε claimed; null exactly where a condition fails."""
        delta: float
        """δ."""
        source: str
        """Source of the claim."""
        adjacency: str
        """Adjacency, in words."""
        norm: str
        """Norm in which the change of a gradient is bounded."""
        gradient_change: float
        """Largest change of a gradient that the adjacency allows, in that norm."""
        failed_conditions: tuple[str, ...]
        """Conditions of the formula that fail."""
        waived_conditions: tuple[str, ...] = ()
        """Stated conditions that fail, but that the theorem's proof does not need."""
        coins: Literal["known", "secret"] = "secret"
        """For whom it is judged: who knows the agent's private coins, or who does not."""

    class SequentialTest(Result):
        """The game that may stop at any coin."""

        claim_epsilon: float
        """ε that it is against."""
        delta: float
        """δ that it is against."""
        alpha: float
        """Probability, at most, that its bound is wrong at any time at which it could be read."""
        trials: int
        """Coins tossed."""
        refuted_at: int | None
        """Coin at which the claim was refuted, or null."""
        log_wealth: float
        """ln of the wealth staked against the claim: an e-value."""
        epsilon_audited: float
        """Lower bound of ε."""
        guesses: int
        """Coins guessed."""
        correct: int
        """Coins guessed right."""
        counts: bool
        """Whether it counts for the verdict and enters `epsilon_audited`: `audit.stop` is "refuted"."""
        stopped: bool
        """Whether it stopped the audit."""
        sentence: str
        """The finding in a sentence."""

    class Leak(Result):
        """An unprotected message in one direction of the pair."""

        share: float
        """Share of the transcripts that have it."""
        message: str
        """The message in words."""

    class SelfChecks(Result):
        """Checks of the exact loss, one entry a direction."""

        mean_exp_minus_loss: Numbers
        """Mean of e^−loss, which is at most 1 of any privacy loss."""
        mean_passed: tuple[bool, ...]
        """Whether it is not proven to exceed 1."""
        noise_law_p: Numbers
        """p-value of the noise against its law."""
        noise_law_passed: tuple[bool, ...]
        """Whether the noise follows its law."""

    class Bound(Result):
        """ε at most, for all pairs of the claim's adjacency at the agent's door."""

        epsilon: float
        """ε at most."""
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
        """The activation."""
        epsilon: Numbers
        """Lower bound of ε by its end."""
        ceiling: Numbers
        """Largest ε that the game could prove there."""

    class UnprotectedField(Result):
        """A field of a message that distinguishes the worlds and that no noise protects."""

        agent: int
        """The audited agent."""
        name: str
        """Name of the field; empty of what is no field."""
        cause: Cause
        """Why no noise protects it: it is no release ("value"); a release has no noise in some coordinate ("bare
        release"); the other world's law cannot make it ("other support"); the other world sends another message, or
        at another time ("other message"); noise that is not on the wire cannot explain it ("too little noise")."""
        message: int
        """The agent's first message in which it distinguishes the worlds, from 0."""
        activation: int
        """Activation of that message, from 1."""
        kind: str
        """Kind of that message: "exchange" or "direct"."""
        number: int
        """The agent's count of messages of that kind."""
        messages: int
        """Messages in which it distinguishes the worlds."""
        links: tuple[Edge, ...]
        """Links over which these go."""
        difference: float | None
        """Largest difference of a number between the worlds; infinite where one is not finite, null where there is
        none to compare."""
        distinguishing: int
        """Transcripts in which it distinguishes the worlds."""
        transcripts: int
        """Transcripts looked at."""
        reason: str
        """Reason of the first one, in words."""
        granted: bool
        """Whether it distinguishes only for an observer who knows releases that are not on the wire."""
        share: float
        """`distinguishing` over `transcripts`."""
        path: str
        """Sender and receivers, field and message in words."""

    class ClassifierGame(Game):
        """The game played with a trained classifier's scores."""

        model: str
        """The model that was chosen."""
        loss: float
        """Cross-validated log loss in nats."""
        training: int
        """Transcripts of each world that trained it and are not played."""

    verdict: Verdict
    """Verdict of all audits of the folder: the one shown is the last that refuted the claim or found an unprotected
    message, else the last."""
    reason: str
    """Its reason in a sentence."""
    pair: str
    """The two worlds in words."""
    change_used: float | None = None
    """Share of the change that the claim allows by which the pair's worlds differ ([why it
    matters](audit.md#the-worst-pair)); null: nothing bounds it."""
    proven_share: float | None = None
    """The proven lower bound over the claimed ε; null without a claim."""
    trials: int
    """Transcripts of each world."""
    confidence: float
    """Of all intervals and games together."""
    activations: int
    """Activations of the agent that were examined."""
    first_violation: int | None
    """Activation at which the claim is first exceeded; null unless unprotected or refuted."""
    unprotected: str | None
    """The first message that no noise protects, in words; null where there is none."""
    claim: ClaimResult
    """The claim under audit."""
    epsilon_claimed: float | None
    """ε claimed; null where no number is (no noise, or failed conditions), and then no claim is broken."""
    epsilon_exact: EpsilonExact
    """ε of the pair."""
    average_loss: Interval | None
    """Mean of |loss| over all transcripts, in nats, with a normal interval at `confidence` by itself; null where not
    all of what was sent could be looked at."""
    epsilon_audited: float
    """The best lower bound that a game proves."""
    white_box: Game
    """The game with the exact loss."""
    black_box: Game | None
    """The game with how much more the inferred gradients look like those of one world; null where it was not
    played."""
    black_box_refused: str | None
    """Why it was not played; else null."""
    classifier: ClassifierGame | None
    """The game of a trained classifier; null where it was not played."""
    classifier_refused: str | None
    """Why it could not be played; null where it was, or was not asked for."""
    sequential_test: SequentialTest
    """The anytime game."""
    growth: tuple[Level, ...]
    """ε by the end of each release, of the worse direction."""
    not_judged_from: int | None
    """Activation from which noise is below rounding; null where it never is."""
    leaks: tuple[Leak, ...]
    """Messages that no noise protects, always or in a share of the transcripts, by direction."""
    checks: SelfChecks
    """Checks of the exact loss on itself."""
    loss_breakdown: LossBreakdown
    """What the exact loss is made of."""
    unprotected_fields: tuple[UnprotectedField, ...]
    """Every field that no noise protects."""
    average_case: AverageCase | None
    """Average against worst case of all releases; null where a law has none."""
    audited_over_time: GameCurve
    """The white box's game by the end of some activations."""
    search: PairSearch | None = None
    """The search for the pair; null without `audit.search`."""
    witness: str | None = None
    """File of the witness in the folder, or null."""
    bound: Bound | None = None
    """ε over all pairs of the adjacency; null where the claim is refuted, vacuous or undefined, or a condition
    fails."""
    unbounded: str | None = None
    """Why nothing bounds all pairs, where that was asked; else null."""
    secret_coins: SecretCoins | None = None
    """ε over the tosses of private coins; null where the agent tosses none that decide more than receivers."""
    unpriced: str | None = None
    """Why `secret_coins` is not known, where somebody tosses some; else null."""
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
        """Rounds, or activations of one agent (PLF), from 1."""
        epsilon: tuple[float | None, ...]
        """ε claimed of a run that ends there; null where undefined."""

    class ExactCurve(Table):
        """ε exact by the end of each activation."""

        count: Counts
        """The activation; a later one than the last is what is sent after it."""
        lower: Numbers
        """Proven lower end of what was released until then."""
        estimate: Numbers
        """Its estimate."""

    class AuditedCurve(Table):
        """ε audited by the end of some activations."""

        count: Counts
        """The activation."""
        epsilon: Numbers
        """What the game proves of what was released until then."""
        ceiling: Numbers
        """Largest ε that the game could prove there."""

    class Excess(Result):
        """Exact ε proven above the claim of its activation."""

        exact: float
        """The exact ε, proven lower end."""
        claimed: float
        """The claimed ε."""

    unit: Unit
    """What `count` counts: rounds, or activations of one agent (PLF)."""
    rounds: int | None
    """Number of rounds; null in a walk."""
    delta: float
    """δ of all ε here."""
    confidence: float
    """Of each point by itself."""
    vacuous_above: float
    """ε above which a claim promises nothing."""
    claimed: ClaimedCurve
    """ε claimed."""
    exact: ExactCurve
    """ε exact."""
    audited: AuditedCurve
    """ε audited."""
    claimed_vacuous_from: int | None
    """First activation at which the claim is above `vacuous_above`, or null."""
    exact_vacuous_from: int | None
    """The same of the estimate."""
    proven_vacuous_from: int | None
    """The same of the proven end."""
    undefined_from: int | None
    """First activation at which a condition of the formula fails, or null."""
    condition: str | None
    """That condition, or null."""
    exceeds_from: int | None
    """First activation at which the exact ε is proven above the claim, or null."""
    exceeds: Excess | None
    """Both there, or null."""


# ── views ───────────────────────────────────────────────────────────────────────────────────────────────
class ViewsResult(Result):
    """All points of view, and which of them refute the claim together."""

    class ViewResult(Result):
        """One point of view on the audited agent."""

        name: str
        """Name of the view."""
        kind: ViewKind
        """Its kind."""
        taps: str
        """Where it taps, in words."""
        links: tuple[Edge, ...]
        """Links that it taps."""
        agents: Counts
        """Agents at whose doors it taps, or whom it controls."""
        log_e: float
        """ln of the e-value against the claim."""
        refuted: bool
        """Whether e-BH rejects it."""
        epsilon_audited: float
        """Lower bound of ε by a game that holds for it alone."""
        ceiling: float
        """Largest ε that this game could prove."""
        score: str
        """Score that was played."""
        right: int
        """Coins of the e-value guessed right."""
        wrong: int
        """Coins guessed wrong."""
        coins: int
        """Coins tossed."""

    agent: int
    """The audited agent."""
    pair: str
    """The two worlds in words."""
    epsilon_claimed: float
    """ε that all are against."""
    delta: float
    """δ that all are against."""
    confidence: float
    """1 − α, of e-BH and of each game alone."""
    false_discovery_rate: float
    """Rate of false discoveries, at most, among the views refuted."""
    trials: int
    """Transcripts of each world."""
    played: int
    """Coins tossed with the last of them."""
    log_e_needed_alone: float
    """ln of the e-value that one view alone needs to be refuted."""
    log_e_ceiling: float
    """ln of the largest e-value that so many coins give."""
    powered: bool
    """Whether one view alone could have been refuted."""
    views: tuple[ViewResult, ...]
    """All views."""
    refuted: tuple[str, ...]
    """Views that e-BH rejects together."""
    smallest: tuple[str, ...]
    """Those of them that contain no other."""
    order: tuple[tuple[str, str], ...]
    """Pairs of a view and one that contains it."""
    inconsistent: tuple[str, ...]
    """Where a view did worse, beyond chance, than one that it contains: its score missed evidence."""


class Combination(Result):
    """A sum of messages that tells the worlds apart."""

    class Term(Result):
        """One message's field in the sum."""

        sender: int
        """Sender of the message."""
        kind: str
        """Kind of the message."""
        number: int
        """The sender's count of messages of that kind."""
        name: str
        """Field of the message."""
        coordinate: int | None
        """Coordinate of the field; null: that along the change."""
        weight: float
        """Its weight."""

    terms: tuple[Term, ...]
    """Weights of messages."""
    shift: float
    """How much the sum differs between the worlds."""
    stddev: float
    """Deviation of the noise in the sum that the listener does not know; 0 where all of it cancels."""
    gradient_stddev: float
    """Deviation of what it says of the gradient along the change, in units of the gradient."""


class ViewPrices(Result):
    """Exact ε of points of view on one agent, and of all ordered pairs of agents, of one algorithm."""

    class ViewPrice(Result):
        """One point of view."""

        name: str
        """Name of the view."""
        kind: ViewKind
        """Its kind."""
        taps: str
        """Where it taps, in words."""
        links: tuple[Edge, ...]
        """Links that it taps."""
        agents: Counts
        """Agents at whose doors it taps, or whom it controls."""
        epsilon_claimed: float | None
        """ε claimed at this view; null where nothing is claimed."""
        claim: str
        """Source of the claim at this view."""
        pair: tuple[float, float] | None
        """Ends of ε of the audited pair; null: not linear, `refused` says why."""
        all_pairs: tuple[float, float] | None
        """Ends of ε over all pairs of the adjacency; null where nothing bounds them."""
        verdict: Verdict | None
        """Verdict of this claim; null where nothing is claimed."""
        reason: str
        """Its reason in a sentence."""
        witness: Combination | None
        """The sum of messages that shows it, of a view that is refuted or whose noise cancels; else null."""
        refused: str | None = None
        """Why it could not be priced; else null."""
        epsilon_audited: float | None = None
        """Of the game from the same view, where it was played."""
        ceiling: float | None = None
        """Largest ε that this game could prove."""

    class CoalitionSearch(Result):
        """The search for the costliest coalition."""

        size: int
        """Members of the coalition."""
        name: str
        """Name of the costliest one."""
        tried: int
        """Coalitions tried."""
        exhaustive: bool
        """Whether these are all."""

    class PairPrices(Result):
        """ε over all pairs of the adjacency, victims by listeners; NaN where nothing bounds it."""

        lower: Rows
        """Lower end, a row a victim and a column a listener."""
        upper: Rows
        """Upper end."""
        hops: tuple[Counts, ...]
        """Hops between the two; −1: no path."""
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
    """The audited agent."""
    pair: str
    """The two worlds in words."""
    delta: float
    """δ of all ε here."""
    adjacency: str
    """Adjacency, in words."""
    gradient_change: float
    """Largest change of a gradient that the adjacency allows."""
    conditions: tuple[str, ...]
    """All prices rest on them; each was checked."""
    unbounded: str | None
    """Why nothing bounds all pairs of the adjacency; else null."""
    views: tuple[ViewPrice, ...]
    """All views."""
    coalition: CoalitionSearch | None
    """How the costliest coalition was searched; null where none was."""
    pairs: PairPrices | None
    """ε of all ordered pairs of agents; null where it was not computed."""


Audit = AuditResult | AuditRefused
Prices = ViewPrices | Refused
Views = ViewsResult | Refused
