"""The audit of one claim: three epsilons, games, the search of the pair, and the plan before it."""

import math
from typing import Literal

from attacks.audit.accounting.intervals import Interval
from attacks.audit.followed.reading import ReadLine
from attacks.audit.games.power import Prospect
from attacks.audit.loss.exact import Level
from attacks.audit.loss.wire_fields import Cause
from attacks.audit.verdict import whole_percent
from netsim.node import Computed
from netsim.shown import Shown
from scenarios.results.base import Counts, Edge, Ends, Numbers, Result, Verdict
from scenarios.results.budgets import AverageCase, LossBreakdown
from scenarios.results.numbers import MISSING, at_least, exact, show, show_epsilon
from scenarios.schema.scenario import AuditSpec

# ── before the run ──────────────────────────────────────────────────────────────────────────────────────


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


def change_option(gradient_change: float) -> str:
    """The option that states by how much a gradient may change, in ℓ2: by as much as the data's bound lets it."""
    change = f"{gradient_change:.6g}" if math.isfinite(gradient_change) else "10"
    return f"-o 'audit.adjacency={{change: {change}}}'"


# ── search of the pair ──────────────────────────────────────────────────────────────────────────────────
BOTH_MOVED = "both worlds moved"
"""The family of pairs in both of whose worlds the gradient is moved."""


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

    @property
    def moved_both(self) -> bool:
        """Whether changes of a gradient were tried beside other data."""
        return any(one.name == BOTH_MOVED for one in self.families)


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


NoWitnessCause = Literal[
    "active adversary", "narrower listener", "private coins", "one loses too little", "no number claimed",
    "shared seeds", "set too large", "cannot be kept",
]  # fmt: skip


class NoWitness(Result):
    """Why a claim that does not hold has no witness file."""

    cause: NoWitnessCause
    """The reason as a word."""
    sentence: str
    """The reason in a sentence."""

    @classmethod
    def of(cls, cause: NoWitnessCause) -> "NoWitness":
        return cls(cause=cause, sentence=f"There is no witness file: {_NO_WITNESS[cause]}.")


_NO_WITNESS: dict[NoWitnessCause, str] = {
    "active adversary": "an active adversary interfered, and no claim is about such a run",
    "narrower listener": "the claim is about listeners who see less than a witness holds, which is all that passes "
    "the agent's door",
    "private coins": "it is shown over all tosses of the agent's private coins, and a transcript is of one toss",
    "one loses too little": "no transcript drawn loses more than the claim by itself; it is all of them together, or "
    "the law of their noise, that shows it",
    "no number claimed": "nothing is claimed that a set of transcripts could be held against",
    "shared seeds": "the listener knows seeds of the noise, which no witness holds",
    "set too large": "at δ > 0 it takes a set of transcripts, and none that is small enough for a file refutes the "
    "claim by itself",
    "cannot be kept": "at δ > 0 it takes a set of transcripts, and none can be kept where each has coins of its own "
    "or a codec changes what is sent",
}


class AuditBegun(Result):
    """What an audit that was interrupted has kept."""

    transcripts: int
    """Transcripts of each world that are kept: the audit goes on with these."""
    trials: int
    """Transcripts of each world that it asks for."""

    @property
    def kept(self) -> str:
        """How far it was, in words."""
        return f"{self.transcripts:,} of {self.trials:,} transcripts of each world are kept"


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


_NEEDED = 6.0
"""Transcripts of each world times δ, about, from which on they bound ε from above."""


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
        stated_adjacency: str | None = None
        """Adjacency as the claim states it, in words, where the audited pair is of a wider one; else null."""
        stated_change: float | None = None
        """Largest change of a gradient that this one allows; null where `stated_adjacency` is."""
        failed_conditions: tuple[str, ...]
        """Conditions of the formula that fail."""
        waived_conditions: tuple[str, ...] = ()
        """Stated conditions that fail, but that the theorem's proof does not need."""
        coins: Literal["known", "secret"] = "secret"
        """For whom it is judged: who knows the agent's private coins, or who does not."""

        @property
        def stated(self) -> tuple[str, float]:
            """The adjacency that the claim states, in words, and its largest change of a gradient."""
            if self.stated_adjacency is None or self.stated_change is None:
                return self.adjacency, self.gradient_change
            return self.stated_adjacency, self.stated_change

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
    no_witness: NoWitness | None = None
    """Why a claim that does not hold has none; null where there is one, where nothing is broken, and in results of
    earlier versions."""
    bound: Bound | None = None
    """ε over all pairs of the adjacency, the highest of all agents that were looked at where none is named; null
    where the claim is vacuous or undefined, something is unprotected, or a condition fails. Of a refuted claim it is
    what would hold, and without a claim what the mechanism costs at most."""
    unbounded: str | None = None
    """Why nothing bounds all pairs, where that was asked; else null."""
    secret_coins: SecretCoins | None = None
    """ε over the tosses of private coins; null where the agent tosses none that decide more than receivers."""
    unpriced: str | None = None
    """Why `secret_coins` is not known, where somebody tosses some; else null."""
    computed: Computed | None = None
    """Who computed its transcripts; null in results of earlier versions."""
    read_lines: tuple[ReadLine, ...] = ()
    """Lines of the algorithm's own code that decide by values that are private or were seen: what it sends at others
    was not audited."""

    __repr__ = Shown.__repr__

    @property
    def exact_confidence(self) -> float:
        """Confidence of the ends of ε exact: at δ = 0 they take none (one transcript is enough below, and a bound
        above holds for all), but for who does not know private coins."""
        certain = self.claim.delta == 0 and self.secret_coins is None
        return 1.0 if certain else self.confidence

    @property
    def open_end(self) -> str:
        """Why the upper end of ε exact is ∞ where its lower one is not, in words; empty where it is not so."""
        ends, delta = self.epsilon_exact, self.claim.delta
        if not ends.known or math.isfinite(ends.upper) or math.isinf(ends.lower):
            return ""
        if self.not_judged_from is not None:
            return "noise below the rounding of the values it covers was not judged"
        if self.leaks:
            return "no noise protects a message of some transcripts"
        if delta > 0 and self.trials < (needed := round(_NEEDED / delta)):
            few = f"{self.trials:,} transcripts of each world are too few"
            return f"{few}: at δ = {show(delta)} it takes about {needed:,}"
        reason = "a transcript that was not seen may cost more"
        if self.bound is not None:
            return reason
        found = f"looked for, as the claim is {self.verdict}" if self.verdict in ("vacuous", "undefined") else "found"
        return f"{reason}, and no bound over all of them was {found}"

    @property
    def used_of_allowed(self) -> str:
        """The change by which the pair differs beside the one that the claim allows, in words."""
        return MISSING if self.change_used is None else whole_percent(self.change_used)

    @property
    def proven_of_claim(self) -> str:
        """The proven lower bound beside the claim, in words."""
        share = self.proven_share
        return (
            f"{MISSING if share is None else whole_percent(share)} of the claim"
            if share is None or share < 1.005
            else f"{show(share, 4)} times the claim"
        )

    @property
    def allowed(self) -> str:
        """The adjacency that was audited, with the size of its change where its words have none."""
        size = self.claim.gradient_change
        stated = " moved by " in self.claim.adjacency or not math.isfinite(size)
        by = "" if stated else f" (a gradient by {show(size)} at most, in ℓ2, as data are bounded)"
        return f"{self.claim.adjacency}{by}"

    def facts(self) -> dict[str, object]:
        claimed = show_epsilon(self.epsilon_claimed)
        return {
            "verdict": self.verdict,
            "ε claimed": f"{claimed} at δ = {show(self.claim.delta)} ({self.claim.source})",
            "ε exact": f"{exact(self.epsilon_exact)}{', of this pair' * self.epsilon_exact.known}",
            "ε audited": at_least(self.epsilon_audited),
            "change used": f"{self.used_of_allowed} of what the claim allows",
            "proven of it": None if self.proven_share is None else f"at least {self.proven_of_claim}",
            "pair": self.pair,
            "transcripts": f"{self.trials:,} of each world, at {show(self.confidence)} confidence",
        }


Audit = AuditResult | AuditRefused
