"""Power of a game before it starts: its ceiling, and the trials that it would need.

The game is that of `attacks.audit.games.game`: coins, a rule, one Clopper–Pearson bound. Two mechanisms stand for all
that are worse than they claim. *Randomized response* shows its world with probability (e^ε + δ)/(1 + e^ε), which is
the worst law that (ε, δ) allows: no mechanism is found out more easily, so its power is an upper end. *Laplace*, one
release of one number, shows its whole ε only in its tails, in ½(1 + e^{−ε}) of the releases; the rule is silent in
the others. A composition of r such releases shows its whole ε only where all are in the tails, in 2^{−r}(1 + e^{−ε})
of the transcripts, so that its power is smaller still (`power`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special, stats

from attacks.audit.accounting.intervals import error_rate
from attacks.audit.games.game import BAND_SHARE, ceiling, coins_for, looks
from netsim.arrays import Array
from netsim.errors import PrivacyError
from netsim.shown import show

Law = Literal["randomized response", "Laplace"]
FACTORS = (1.25, 2.0, 4.0)
_WANTED = 0.8
"""Power for which `Prospect.trials_needed` are enough."""
_MOST = 10**10  # coins, a game no larger than that is planned
_BINS = 400


@dataclass(frozen=True)
class Prospect:
    """Forecast of a game against a mechanism of this `law` whose true ε is `epsilon` = `factor` × claim."""

    law: Law
    """Law of the mechanism's noise."""
    factor: float
    """Its true ε over the claim."""
    epsilon: float
    """Its true ε."""
    power: float
    """Probability of refuting the claim."""
    epsilon_expected: float
    """Mean of ε audited."""
    trials_needed: float
    """Coins for a power of 80 %; infinite where it would take more than 10¹⁰."""


@dataclass(frozen=True)
class Plan:
    """Plan of a game: `trials` coins against a claim of (`claim_epsilon`, `delta`), at `confidence`.

    `ceiling` is the largest ε that they prove, all of them right. `trials_to_reach` coins, all right, are the fewest
    that prove more than the claim (∞ above 10¹⁰).
    """

    trials: int
    claim_epsilon: float
    delta: float
    confidence: float
    ceiling: float
    trials_to_reach: float
    prospects: tuple[Prospect, ...]

    @classmethod
    def of(cls, trials: int, claim_epsilon: float, delta: float = 0.0, confidence: float = 0.95) -> "Plan":
        """Plan of a game of `trials` coins."""
        highest = ceiling(trials, delta, confidence)
        if not 0 <= claim_epsilon < math.inf:
            raise PrivacyError(f"claim_epsilon = {claim_epsilon!r}: must be finite and at least 0")
        test = _Test(claim_epsilon, delta, error_rate(confidence))
        prospects = tuple(
            test.prospect(law, factor, trials) for law in ("randomized response", "Laplace") for factor in FACTORS
        )
        return cls(trials, claim_epsilon, delta, confidence, highest, test.to_reach(), prospects)

    @classmethod
    def of_transcripts(cls, each: int, claim_epsilon: float, delta: float = 0.0, confidence: float = 0.95) -> "Plan":
        """Plan of `game.play` with `each` transcripts of each world, less those that choose the thresholds."""
        return cls.of(max(coins_for(each - looks(each)[0]), 1), claim_epsilon, delta, confidence)

    @property
    def underpowered(self) -> bool:
        """Whether the claim is at or above the ceiling, so that no outcome could refute it."""
        return self.claim_epsilon >= self.ceiling

    @property
    def warning(self) -> str | None:
        """Warning of a plan without power, in a sentence; None where it has enough."""
        if self.underpowered:
            return (
                f"underpowered before it starts: {self.trials:,} guesses prove at most ε = "
                f"{show(self.ceiling, 4)}, so the "
                f"claim of {show(self.claim_epsilon, 4)} cannot be refuted by this game, whatever the "
                "truth; that takes "
                f"{_count(self.trials_to_reach)} guesses at least"
            )
        doubled = self.prospect("randomized response", 2.0)
        if self.claim_epsilon > 0 and doubled.power < _WANTED:
            return (
                f"low power: a claim of {show(self.claim_epsilon, 4)} that is really "
                f"{show(doubled.epsilon, 4)} would be "
                f"refuted in {percent(doubled.power)} of audits at best; {percent(_WANTED)} takes "
                f"{_count(doubled.trials_needed)} guesses"
            )
        return None

    @property
    def summary(self) -> str:
        """Plan in one sentence; the power is that for one Laplace release."""
        start = f"{self.trials:,} guesses can prove ε up to {show(self.ceiling, 4)}; "
        if self.underpowered:
            return (
                f"{start}a claim of {show(self.claim_epsilon, 4)} cannot be refuted by the game, whatever the truth. "
                "The exact ε, which is computed, still can refute it."
            )
        if self.claim_epsilon == 0:
            return f"{start}a claim of 0 has no multiple: any proven ε refutes it."
        doubled = self.prospect("Laplace", 2.0)
        return (
            f"{start}a claim of {show(self.claim_epsilon, 4)} that is really {show(doubled.epsilon, 4)} "
            "would be refuted in "
            f"{percent(doubled.power)} of audits if all of it is in one Laplace release; many small releases show "
            "it less."
        )

    def prospect(self, law: Law, factor: float) -> Prospect:
        """Prospect of that law and factor."""
        return next(p for p in self.prospects if (p.law, p.factor) == (law, factor))


def power(
    trials: int, truth: float, claim: float, *, releases: int = 1, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """P(ε_audited > `claim`) after `trials` coins, for `releases` Laplace releases that together spend `truth`.

    Each release spends an equal part. The rule speaks only where all of them show their whole ε; one that speaks a
    little more often may do better, but not by much.
    """
    if trials < 1 or releases < 1 or not (0 <= truth < math.inf and 0 <= claim < math.inf):
        raise PrivacyError(f"trials = {trials!r}, releases = {releases!r}, truth = {truth!r}, claim = {claim!r}")
    return _Test(claim, delta, error_rate(confidence)).laplace(trials, truth, releases)


@dataclass(frozen=True)
class _Test:
    """Test that refutes (claim, δ) at level α, under the two laws."""

    claim: float
    delta: float
    alpha: float

    def prospect(self, law: Law, factor: float, trials: int) -> Prospect:
        truth = factor * self.claim
        power, expected = self.laplace, self.expected_laplace
        if law == "randomized response":
            power, expected = self.response, self.expected_response
        needed = _fewest(lambda n: power(n, truth)) if truth > self.claim else math.inf
        return Prospect(law, factor, truth, power(trials, truth), expected(trials, truth), needed)

    def allowed(self, delta: Array | float) -> Array:
        """Largest P(right | guessed) under the claim, (e^ε + δ)/(1 + e^ε)."""
        return np.minimum(special.expit(self.claim) + delta * special.expit(-self.claim), 1.0)

    def to_reach(self) -> float:
        """Fewest coins that, all right, refute the claim."""
        wrong = (1 - self.delta) * float(special.expit(-self.claim))
        needed = math.log(self.alpha) / math.log1p(-wrong) if wrong > 0 else math.inf
        return float(math.floor(needed) + 1) if needed < _MOST else math.inf

    def response(self, trials: int, truth: float) -> float:
        """Power under randomized response, exactly."""
        p = float(special.expit(truth) + self.delta * special.expit(-truth))
        least = _least(trials, self.allowed(self.delta), self.alpha)
        return float(stats.binom.sf(least - 1, trials, p))

    def expected_response(self, trials: int, truth: float) -> float:
        """E[ε_audited] under randomized response."""
        right, weight = _law(trials, float(special.expit(truth) + self.delta * special.expit(-truth)))
        return float(weight @ _epsilons(right, np.full_like(right, trials), self.alpha, self.delta))

    def laplace(self, trials: int, truth: float, releases: int = 1) -> float:
        """Power under Laplace: the guesses are binomial, and given them the right ones."""
        guesses, weight = _law(trials, (1 + math.exp(-truth)) * 0.5**releases)
        share, delta = self._spent(guesses, trials)
        least = _least(guesses, self.allowed(delta), share)
        return float(weight @ stats.binom.sf(least - 1, guesses, special.expit(truth)))

    def expected_laplace(self, trials: int, truth: float) -> float:
        """E[ε_audited] under Laplace."""
        guesses, weight = _law(trials, (1 + math.exp(-truth)) / 2, bins=40)
        share, delta = self._spent(guesses, trials)
        total = 0.0
        for one, part, spent in zip(guesses, weight, delta, strict=True):
            right, chance = _law(int(one), float(special.expit(truth)), bins=100)
            total += float(part) * float(chance @ _epsilons(right, np.full_like(right, one), share, spent))
        return total

    def _spent(self, guesses: Array, trials: int) -> tuple[float, Array]:
        """(α left for P(right | guessed), δ/P(guessed) at most), as the game does for a rule that abstains."""
        if self.delta == 0:
            return self.alpha, np.zeros(guesses.size)
        guessed = stats.beta.ppf(BAND_SHARE * self.alpha, guesses, trials - guesses + 1)
        return (1 - BAND_SHARE) * self.alpha, self.delta / np.maximum(guessed, 1e-300)


def _least(trials: Array | int, p: Array | float, alpha: float) -> Array:
    """Fewest right guesses k that prove more than p: P(Bin(trials, p) ≥ k) ≤ α; trials + 1 where none do."""
    return np.where(np.asarray(p) < 1, stats.binom.isf(alpha, trials, np.minimum(p, 1.0)) + 1, np.asarray(trials) + 1)


def _law(trials: int, p: float, bins: int = _BINS) -> tuple[Array, Array]:
    """(values, weights) of a binomial law: each value, or the middles of `bins` parts where there are more."""
    low, high = stats.binom.ppf(1e-12, trials, p), stats.binom.isf(1e-12, trials, p)
    edges = np.unique(np.rint(np.linspace(low - 1, high, min(int(high - low) + 1, bins) + 1)))
    weights = np.diff(stats.binom.cdf(edges, trials, p))
    return np.rint((edges[1:] + edges[:-1] + 1) / 2), weights / weights.sum()


def _epsilons(right: Array, guesses: Array, alpha: float, delta: float) -> Array:
    """ε_audited of these numbers of right guesses, as the game computes it."""
    wrong_most = np.where(right > 0, stats.beta.isf(alpha, guesses - right + 1, np.maximum(right, 1)), 1.0)
    odds = (1 - wrong_most - delta) / wrong_most
    return np.log(np.maximum(odds, 1.0))


def _fewest(power: Callable[[int], float]) -> float:
    """Coins from which on, roughly, the power is 80 %: it rises with the coins, but in a saw's teeth."""
    high = 4
    while power(high) < _WANTED:
        high *= 2
        if high > _MOST:
            return math.inf
    low = high // 2
    while high - low > max(low // 200, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= _WANTED else (middle, high)
    return float(high)


def percent(share: float) -> str:
    """Share in per cent, never rounded to 0 % or 100 %."""
    if share > 0.99:
        return "more than 99 %"
    return f"{share:.0%}".replace("%", " %") if share >= 0.01 else "less than 1 %"


def _count(trials: float) -> str:
    return f"{int(trials):,}" if trials < _MOST else "more than 10,000,000,000"
