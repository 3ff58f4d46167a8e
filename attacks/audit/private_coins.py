"""Private coins in an audit: their price, and what is left of a verdict that was found at one toss of them.

All transcripts of an audit have one toss, and a few by themselves have tosses of their own. Where the audited agent's
coins change more than whom it sends to, the claim is judged by the price over all tosses
(`attacks.audit.loss.secret_coins`), for who knows them or for who does not, as the claim has it.

Where they are not priced, unprotected messages are for who does not know them: what the other world would not have
sent at the same toss it may have sent at another one, which is randomized response. So what was seen is explained
at every history of the other world's coins, up to `LISTED` of them, as far as it is on the wire: where none does,
its loss is infinite. Where there are more, some are drawn, the same for all transcripts, and a game is played with
whether those of either world explain a transcript: a lower end of ε, whatever the score.

A toss too rare to be among those is looked for in the code (`attacks.audit.rare_tosses`).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, groupby
from operator import itemgetter

import numpy as np

from attacks.audit.accounting.formulas import gaussian_epsilon, leaks
from attacks.audit.accounting.intervals import Interval
from attacks.audit.archive import Archive
from attacks.audit.followed.asked import asked_more
from attacks.audit.games.game import play
from attacks.audit.loss.comparison import Reproduced, Sample, WorldComparison
from attacks.audit.loss.exact import SINGLES, ExactLoss
from attacks.audit.loss.hiding_coins import may_hide
from attacks.audit.loss.secret_coins import (
    SECRET,
    SecretCoins,
    Shares,
    at_histories,
    drawn_coins,
    price_of_secret,
)
from attacks.audit.loss.unprotected import UnprotectedMessage
from attacks.audit.pair import Pair, Simulate
from attacks.audit.proof import BareError
from attacks.audit.rare_tosses import RareSending, RareTosses
from attacks.audit.verdict import BROKEN, Judgement, Verdict, exceeds
from attacks.replay import CombinedReleaseError, Hypothesis, attempted, attempted_replay
from attacks.replay.coins import Coins, every
from netsim.arrays import evenly
from netsim.claims import Claim
from netsim.errors import AttackError, NetsimError, PrivacyError
from netsim.mechanisms import Gaussian
from netsim.shown import show

_COMBINED = (
    "what `privatize` returned is sent inside another number, of which it does not come out, or not at every toss "
    "(such as one with a secret sign): that is priced only for who knows the coins (-o audit.coins=known)"
)


def ends(exact: Sequence[ExactLoss], over_tosses: Interval | None) -> tuple[float, float, float]:
    """Lower end, estimate and upper end of ε(δ), of the larger direction; those over all tosses, where it goes by
    these."""
    found = [e.epsilon for e in exact] if over_tosses is None else [over_tosses]
    return max(e.lower for e in found), max(e.estimate for e in found), max(e.upper for e in found)


def first_unprotected(
    exact: tuple[ExactLoss, ExactLoss], secret: SecretCoins | None, claim: Claim
) -> UnprotectedMessage | None:
    """None where it is so at some tosses of private coins alone, of a claim that is judged over all of them."""
    if secret is not None and secret.judged(claim) is not None and not _bare(secret, claim):
        return None
    found = [e.uncovered for e in exact if e.unprotected and e.uncovered is not None]
    return min(found, key=lambda u: u.message, default=None)


def _bare(secret: SecretCoins, claim: Claim) -> bool:
    """Whether more than δ of the mass is proven to have an infinite loss.

    For who does not know coins whose histories are not listed no sample proves that. It has to be so for who knows
    them, no history that was drawn may explain it in the other world, and the claim has to be refuted all the same:
    what so many do not explain is too rare for it, if it is at all."""
    if claim.coins == "known" or secret.histories is not None:
        return math.isinf(secret.epsilon.lower if claim.coins == "secret" else secret.known.lower)
    least = min(secret.epsilon.lower, secret.apart)
    return math.isinf(secret.known.lower) and exceeds(least, claim.epsilon or 0.0)


def at_most(found: Interval, bound: float) -> Interval:
    """The same where no pair of the adjacency loses more."""
    upper = max(found.lower, min(found.upper, bound))
    return replace(found, estimate=min(found.estimate, upper), upper=upper)


@dataclass(frozen=True)
class PrivateCoins:
    """Private coins of the agents in one audit of a `claim`.

    `alone`: transcripts of each world by themselves, one where no agent tosses coins, else each with tosses of its
    own. `secret` is the price where there is one to know, and `unpriced` the reason why it is not known; then
    `hidden` is whether who does not know the audited agent's coins may see less than who does
    (`attacks.audit.loss.hiding_coins`), and `at_any_toss` a lower end for who does not know them, by what no toss of
    the other world explains. `rare` is what the agent sends unprotected at some toss, be it one that nobody tossed.
    """

    claim: Claim
    alone: tuple[Sequence[WorldComparison], Sequence[WorldComparison]]
    hidden: bool = False
    secret: SecretCoins | None = None
    unpriced: str | None = None
    at_any_toss: float = 0.0
    rare: RareSending | None = None

    @classmethod
    def of(cls, kept: Archive, claim: Claim, tosses: int) -> "PrivateCoins":
        """Coins of transcripts in an archive."""
        one, two = ([kept.get(world, SINGLES + k).explained for k in range(tosses)] for world in (0, 1))
        return cls(claim, (one, two))

    @property
    def proven_rare(self) -> RareSending | None:
        """What is proven to be sent unprotected at tosses so rare that no transcript need have them."""
        return self.rare if self.rare is not None and self.rare.proven else None

    @property
    def tossed(self) -> bool:
        """Whether any agent tosses coins."""
        return len(self.alone[0]) > 1

    @property
    def over_tosses(self) -> Interval | None:
        """ε(δ) over all tosses by which the claim is judged; None where it goes by transcripts of one toss."""
        return None if self.secret is None else self.secret.judged(self.claim)

    def priced(
        self,
        simulate: Simulate,
        pair: Pair,
        confidence: float,
        kept: Archive,
        chunks: int,
        aimed: int,
        *,
        bare: bool,
        progress: Shares,
    ) -> "PrivateCoins":
        """The same with the price for who does not know them, or the reason why it is not known.

        So many `chunks` of both worlds are `kept`, and one of `aimed` or tilted noise. `bare`: some transcript has an
        unprotected message for who knows them. `progress` receives shares of all histories as they are read.
        """
        if not self.tossed:
            return self
        delta, simulate = self.claim.delta, attempted(simulate)
        tosses, rare = RareTosses(simulate, pair.agent, pair.hypotheses, self.claim, confidence, SINGLES), None
        costly: tuple[Sequence[Sample], Sequence[Sample]] = ((), ())
        transcripts = chunks * kept.transcripts(0, 0).replicas
        with suppress(NetsimError):
            rare = tosses.sending()
            costly = tosses.costly()
        try:
            secret = price_of_secret(
                simulate,
                pair.agent,
                pair.hypotheses,
                delta,
                confidence,
                transcripts=transcripts,
                bounded=self.claim.coins == "secret" or delta > 0,
                played=self.claim.coins == "secret",
                besides=costly,
                claimed=self.claim.epsilon,
                progress=progress,
            )
        except PrivacyError:
            raise
        except CombinedReleaseError:
            unpriced = _COMBINED
        except NetsimError as error:  # such as of code that fails at coins that nobody tossed
            unpriced = str(error)
        else:
            return replace(self, secret=secret)._with_rare(rare)
        found = 0.0
        if bare and self.claim.coins == "secret":
            with suppress(NetsimError):
                found = _epsilon_at_any_toss(simulate, pair.agent, pair.hypotheses, self.claim, confidence)
        looks = (simulate(world, SECRET + 2 * k) for k in range(LOOKS) for world in (0, 1))
        decides = self.claim.coins == "secret" or delta > 0
        alone = [SINGLES + k for k in range(len(self.alone[0]))]
        parts = [(world, part) for world in (0, 1) if decides for part in (range(chunks), alone, (aimed,))]
        those = (one for world, part in parts for one in _deciding(simulate, kept, part, world, self.claim))
        hidden = may_hide(chain(looks, those), pair.agent, pair.hypotheses)
        return replace(self, hidden=hidden, unpriced=unpriced, at_any_toss=found, rare=rare)

    def _with_rare(self, rare: RareSending | None) -> "PrivateCoins":
        """The same where that is sent at some toss."""
        secret = self.secret
        if secret is not None and rare is not None and rare.proven:  # an infinite loss
            known = replace(secret.known, lower=math.inf, estimate=math.inf, upper=math.inf)
            secret = replace(secret, known=known, epsilon=known if self.claim.coins == "secret" else secret.epsilon)
        return replace(self, secret=secret, rare=rare)

    def with_bare(self, bare: BareError, simulate: Simulate, pair: Pair, confidence: float) -> "PrivateCoins":
        """The same where the code was read and leaves the noise out at some history of the coins."""
        if bare.coins is None or self.rare is not None:
            return self
        history, chance = Coins.of(bare.coins.history), math.exp(bare.coins.log_chance)
        tosses = RareTosses(attempted(simulate), pair.agent, pair.hypotheses, self.claim, confidence, SINGLES)
        proven = tosses.proven(history)
        return self._with_rare(RareSending(f"of probability {show(chance)}", bare.what, bool(proven)))

    def with_bare_at(self, agent: int, bare: BareError) -> "PrivateCoins":
        """The same where another agent's code was read, and leaves the noise out where its coins fall one way."""
        if bare.coins is None or self.rare is not None:
            return self
        way = f"of probability {show(math.exp(bare.coins.log_chance))}"
        return replace(self, rare=RareSending(way, f"{bare.what} (-o audit.agent={agent})", agent=agent))

    @property
    def known_costs(self) -> Sequence[float]:
        """What the pair costs by toss, for who knows it: ε(δ) of Gaussian releases alone, else at δ = 0; 0 where that
        is not known."""
        costs = [(set(one.laws), float(np.max(np.sum(one.cost, axis=0), initial=0.0))) for one in self.alone[0]]
        known = [(laws, cost if math.isfinite(cost) else 0.0) for laws, cost in costs]
        delta = self.claim.delta
        return [gaussian_epsilon(math.sqrt(cost), delta) if laws == {Gaussian} else cost for laws, cost in known]

    def at_most(self, bound: float) -> "PrivateCoins":
        """The same where no pair of the adjacency loses more."""
        if (both := self.secret) is None:
            return self
        epsilon, known = (at_most(interval, bound) for interval in (both.epsilon, both.known))
        return replace(self, secret=replace(both, epsilon=epsilon, known=known))

    def judged(self, found: Judgement, exact: tuple[ExactLoss, ExactLoss]) -> Judgement:
        """Judgement where private coins are tossed, and who does not know them is priced, or is not.

        Where not, nothing is decided of a claim that may count on them, but by a bound that holds at every toss.
        """
        about = self.claim.coins
        if (rare := self.proven_rare) is not None:
            if found.verdict is Verdict.UNPROTECTED:
                return found
            claimed = "" if self.claim.epsilon is None else f", not {show(self.claim.epsilon, 4)} as claimed"
            above = "" if self.claim.delta == 0 else f", more often than δ = {show(self.claim.delta)}"
            reason = f"{rare}{above}: no noise protects it, so ε = ∞{claimed}."
            return Judgement(Verdict.UNPROTECTED, reason, None)
        enclosed = self.over_tosses is not None and math.isfinite(self.over_tosses.upper)  # with all tosses, then
        enclosed = enclosed and (self.rare is None or self.rare.agent is None)  # of this pair, and of no other agent
        if self.rare is not None and found.verdict in (Verdict.CONSISTENT, Verdict.UNDERPOWERED) and not enclosed:
            remedy = "It needs noise there too, or is not to be sent"
            found = found.undecided(f"{self.rare}. {remedy}.")
        if self.secret is not None:
            return found.adding(self.secret.sentence(about))
        hidden = self.unpriced is not None and self.hidden
        if about == "secret" and hidden and found.verdict in (Verdict.REFUTED, Verdict.CONSISTENT):
            why = (
                "Private coins change what the agent releases (a random batch), and the claim may count on nobody's "
                "knowing them; what was measured is for who does, at one toss"
            )
            return found.undecided(f"{why}. Their histories are not priced: {self.unpriced}.")
        bare = any(one.uncovered is not None for one in exact)
        if (
            about == "secret"
            and self.unpriced is not None
            and found.verdict in BROKEN
            and bare
            and not exceeds(self.at_any_toss, self.claim.epsilon or 0.0)
        ):
            why = (
                "This is of who knows the agent's private coins: another toss may explain it in the other world "
                f"(for a listener who does not know them, ε ≥ {show(self.at_any_toss, 4)} is proven)"
            )
            return found.undecided(f"{why}; their histories are not priced: {self.unpriced}.")
        broken = self.unpriced is not None and self.claim.delta > 0 and found.verdict in BROKEN
        alone = [one for some in self.alone for one in some]
        some = found.verdict is Verdict.UNPROTECTED and any(one.uncovered is None for one in alone)
        if broken and (hidden or some) and not self._at_all_tosses(found, exact):
            why = "This is of one toss of private coins that change what the agent releases, and not proven of all"
            return found.undecided(f"{why}: their histories are not priced: {self.unpriced}.")
        if self.tossed and found.verdict is Verdict.CONSISTENT:
            return found.adding(
                "The agents make random choices of their own: this is for a listener who knows them, and for those "
                f"of these runs, and {len(alone)} others exceed nothing."
            )
        return found

    def other_record(self, one: Sample, pair: Pair) -> str | None:
        """The doubt about a pair that differs in one record, where private coins ask another one more, of which it is
        not known that it costs no more."""
        if not self.tossed or pair.of_all_records:
            return None
        if (record := asked_more(one, pair.agent, pair.hypotheses)) is None:
            return None
        return (
            f"Private coins ask record {record} in some of the queries with more chance than the one in which this "
            "pair differs: a pair that differs in that one may cost more. Draw records by equal odds, each in any "
            "place of a batch, or claim what it costs for who knows the coins."
        )

    def one_way(self, one: Sample, pair: Pair) -> bool:
        """Whether, between the two worlds, no number that is released moves up at some toss of private coins and down
        at another: where one does, worlds that are far apart at each toss may look alike to who does not know them,
        and others, that are nearer, less so. `LISTED` histories, or so many that are drawn; not where that fails."""
        up, down = set[tuple[int, int]](), set[tuple[int, int]]()
        try:
            zero, other = (at_histories(one, pair.agent, each, LISTED, LISTED)[0] for each in pair.hypotheses)
        except Exception:  # whatever the code raises
            return False
        if len(zero) != len(other):
            return False
        for (_, here), (_, there) in zip(zero, other, strict=True):
            for t, (a, b) in enumerate(zip(here.releases, there.releases, strict=False)):
                if a.value.shape != b.value.shape:
                    return False
                moved = ((b.value - a.value) / np.where(a.stddev > 0, a.stddev, 1.0))[0]
                up |= {(t, int(k)) for k in np.flatnonzero(moved > _MOVED)}
                down |= {(t, int(k)) for k in np.flatnonzero(moved < -_MOVED)}
        return not up & down

    def _at_all_tosses(self, found: Judgement, exact: tuple[ExactLoss, ExactLoss]) -> bool:
        """Whether transcripts with tosses of their own prove it: a δ above 0 allows a toss that loses more."""
        alone = (one.over_tosses(some, self.claim.delta) for one, some in zip(exact, self.alone, strict=True))
        lower, claimed = max(one.epsilon.lower for one in alone), self.claim.epsilon
        if found.verdict is Verdict.UNPROTECTED or claimed is None:
            return math.isinf(lower)
        return exceeds(lower, claimed)


# ── where they are not priced ───────────────────────────────────────────────────────────────────────
LOOKED_AT, LISTED = 16, 64
"""Transcripts of each world whose histories are listed, and histories of each at most."""
LOOKS = 4
"""Transcripts of each world by which it is judged whether coins hide anything."""
_MOVED = 1e-6
"""Deviations of the noise by which a number moves, at least, that counts as moved."""
PLAYED, DRAWN = 100, 16
"""Transcripts of each world in a game, and histories that are drawn for it."""


def _deciding(simulate: Simulate, kept: Archive, chunks: Sequence[int], world: int, claim: Claim) -> Iterator[Sample]:
    """Transcripts of a world that refute a claim, where any of these chunks do: those that lose most; at δ > 0, where
    many do it together, some of all that lose more than is claimed."""
    claimed = claim.epsilon if claim.delta > 0 and claim.epsilon is not None else math.inf
    losses = [kept.transcripts(world, index).losses_on_wire(math.inf) for index in chunks]
    each = sorted(
        (-loss, index, k) for index, some in zip(chunks, losses, strict=True) for k, loss in enumerate(some)
    )
    above = sum(-loss > claimed for loss, _, _ in each)
    chosen = [each[k] for k in (evenly(above, 2 * LOOKS) if above > LOOKS else range(min(LOOKS, len(each))))]
    for index, some in groupby(sorted(chosen, key=itemgetter(1)), key=itemgetter(1)):
        sample = simulate(world, index)
        yield from (sample.replica(k) for _, _, k in some)


def _epsilon_at_any_toss(
    simulate: Callable[[int, int], Sample],
    agent: int,
    hypotheses: tuple[Hypothesis, Hypothesis],
    claim: Claim,
    confidence: float,
) -> float:
    """Lower end of ε(δ) for who does not know the coins, by unprotected messages alone; ∞ where histories are listed
    and more than δ of the mass is proven to have one that none explains."""
    sure = 1 - (1 - confidence) / 2  # two directions
    try:
        some = any(_unexplained(simulate, agent, world, hypotheses, claim, 1 - sure) for world in (0, 1))
        return math.inf if some else 0.0
    except AttackError:
        scores = [_scores(simulate, agent, world, hypotheses) for world in (0, 1)]
        rng = np.random.default_rng(0)
        return play(*scores, delta=claim.delta, confidence=confidence, rng=rng).epsilon_audited


def _samples(simulate: Callable[[int, int], Sample], world: int, count: int) -> Iterator[Sample]:
    return (simulate(world, SECRET + 2 * k) for k in range(count))


def _unexplained(
    simulate: Callable[[int, int], Sample],
    agent: int,
    world: int,
    hypotheses: tuple[Hypothesis, Hypothesis],
    claim: Claim,
    alpha: float,
) -> bool:
    """Whether more than δ of the mass of one direction is proven to be explained by no history."""
    true, other = hypotheses[world], hypotheses[1 - world]
    bare = 0
    for sample in _samples(simulate, world, LOOKED_AT):
        seen = Reproduced.of(sample, agent, true)

        def explains(coins: Coins, seen: Reproduced = seen) -> bool:
            one = seen.sample
            attempted_replay(one.view, agent, other, coins, one.releases, one.dither)  # notes what is tossed
            return _explains(seen, other, coins.copied, claim.epsilon)

        bare += not any(found for _, found in every(explains, LISTED))
        if bare and claim.delta == 0:
            return True
    return claim.delta > 0 and leaks(bare, LOOKED_AT, claim.delta, alpha)


def _explains(
    seen: Reproduced,
    hypothesis: Hypothesis,
    coins: Callable[[], np.random.Generator],
    claimed: float | None = None,
) -> bool:
    """Whether a hypothesis, at these coins, may have sent all that is on the wire."""
    found = seen.compared(hypothesis, scored=False, coins=coins, claimed=claimed)
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
