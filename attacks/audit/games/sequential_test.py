"""Sequential test of (ε, δ)-DP: a bettor's wealth, valid whenever the game ends.

Under H_ε a fair coin and any rule fixed before the trial obey E[1_right − e^ε 1_wrong] ≤ δ, and ≤ δ/2 where the
rule names one world only (the definition for one direction, met by the coin with probability ½). So whoever
stakes
c ∈ [0, 1) on each world that the rule may name multiplies his wealth by

    (1 + c·e^{−ε} if right, 1 − c if wrong, 1 if silent) / (1 + Σ c·e^{−ε}·δ/2),

which has mean at most 1: the wealth is a nonnegative supermartingale that begins at 1. By Ville
P(it ever reaches 1/α) ≤ α. Rule and stake may depend on all earlier trials, so none is held out; and on the
score
itself, if the stake does not fall with the score's size: that is a mixture of rules, which pays δ for the
largest c.

Half of the wealth takes scores *at face value*, as losses ln p₁/p₀, and stakes what Kelly would wherever the
loss
exceeds ε: nothing has to be learned. The other half *learns* one threshold and one stake for each world from
the
trials before, whatever the score. The mean of both is a supermartingale too.

**Every ε at once, at no price.** H_ε is nested: what is (ε, δ)-DP is (ε', δ)-DP for all ε' ≥ ε. Each ε of a
fixed
grid has bettors of its own, and the lower bound is the largest grid point such that it and all smaller ones are
rejected. Let ε* be the smallest ε that the mechanism satisfies at δ, and ε_k the smallest grid point ≥ ε*: it
depends on no trial. A bound of ε* or more has rejected ε_k, whose H is true: probability at most α, for all
times
together. Nothing is paid for the number of grid points, and the wealth need not be monotone in ε. The claim
is one
of them, and is refuted when the bound reaches it: one statement, at level α.

Sources: Ville 1939; Kelly 1956; Waudby-Smith, Ramdas 2023 (betting).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from attacks.audit.games.betting import AtFaceValue, Block, CoinRows, Learner
from attacks.audit.games.game import checked
from netsim.arrays import Array, Mask
from netsim.errors import PrivacyError

MOST_EPSILON = 700.0
"""Above it no game can tell anything."""
_FIRST, _LOOK, _LEARN = 8, 16, 8
"""The first look comes after 8 trials, the next after each 16th part more; bets are learned each 8th part more."""


@dataclass(frozen=True)
class SequentialTestResult:
    """What a game proves that may be stopped at any trial: ε > `epsilon_audited` at `delta`.

    Where the bound is above 0 it errs with probability `alpha` at most, over all times at which it could be read.
    `trials` coins were tossed, `spoken` of them guessed by the richer of the claim's two bettors, `right` of these
    right. `refuted_at` is the trial after which all ε up to the claim were rejected, None if that has not happened;
    the bound is then the claim or more, and the claim is exceeded. `log_wealth` is ln of the wealth staked against
    the claim after `trials`, so that `e_value` has mean at most 1 if the claim is true, at whatever trial one stops;
    it may be combined with others (e-BH).
    """

    claim_epsilon: float
    delta: float
    alpha: float
    trials: int
    refuted_at: int | None
    log_wealth: float
    epsilon_audited: float
    spoken: int
    right: int

    @property
    def refuted(self) -> bool:
        """Whether the claim is proven false at level `alpha`."""
        return self.refuted_at is not None

    @property
    def e_value(self) -> float:
        """The wealth against the claim, ∞ where it exceeds all floats."""
        return math.exp(self.log_wealth) if self.log_wealth < 709 else math.inf

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        if self.refuted:
            return (
                f"ε ≤ {self.claim_epsilon:.4g} at δ = {self.delta:.3g} was refuted after {self.refuted_at} coins at "
                f"level {self.alpha:.3g}; ε > {self.epsilon_audited:.4g} after {self.trials}."
            )
        return (
            f"{self.trials} coins did not refute ε ≤ {self.claim_epsilon:.4g} at δ = {self.delta:.3g}, e-value "
            f"{self.e_value:.3g} of {1 / self.alpha:.3g}; ε > {self.epsilon_audited:.4g} at level {self.alpha:.3g}."
        )

    @staticmethod
    def play(
        scores_0: Array,
        scores_1: Array,
        claim_epsilon: float,
        delta: float,
        alpha: float,
        rng: np.random.Generator,
        *,
        to_the_end: bool = False,
    ) -> "SequentialTestResult":
        """Play with recorded scores of independent trials, larger the more they look like world 1; ±∞ is allowed.

        Each coin, tossed with `rng`, consumes the next trial of its world; before a coin could find its world
        empty, the game ends. It ends when the claim is refuted, or plays on for a larger ε (`to_the_end`).
        """
        worlds = checked(scores_0, "world 0"), checked(scores_1, "world 1")
        coins = tossed(worlds[0].size, worlds[1].size, rng)
        scores = np.empty(coins.size)
        for world, own in enumerate(worlds):
            mine = coins == world
            scores[mine] = own[: int(mine.sum())]
        wager = SequentialTest(claim_epsilon, delta, alpha, to_the_end=to_the_end)
        wager.update(coins, scores)
        return wager.result()


class SequentialTest:
    """The game while it is played: trials arrive in any portions, and the result is the same for all portions.

    The wealth is looked at after 8 trials, then whenever they have grown by a sixteenth (by 4 at least); rules and
    stakes are learned anew when they have grown by an eighth. Once the claim is refuted (`decided`), further trials
    are not looked at, unless the game is played `to_the_end`.
    """

    def __init__(self, claim_epsilon: float, delta: float, alpha: float, *, to_the_end: bool = False) -> None:
        _check(claim_epsilon, delta, alpha)
        self._to_the_end = to_the_end
        self._books = _Books.opened(claim_epsilon, delta, alpha)
        self._past: list[tuple[CoinRows, Array]] = []
        self._waiting: list[tuple[CoinRows, Array]] = []
        self._next = self._lesson = _FIRST

    @property
    def decided(self) -> bool:
        """Whether a look has found the claim refuted, so that nothing more needs to be simulated for that."""
        return self._books.refuted_at is not None

    def update(self, coins: CoinRows, scores: Array) -> None:
        """Play more trials, one `score` for each of the `coins` (0 or 1, fair, independent of all else)."""
        flat, scores = np.ravel(coins), checked(scores, "either world")
        if flat.size != scores.size or not np.isin(flat, (0, 1)).all():
            raise PrivacyError(f"{flat.size} coins for {scores.size} scores: need one coin, 0 or 1, for each score")
        self._waiting.append((flat.astype(np.int64), scores))
        if self._books.trials + sum(c.size for c, _ in self._waiting) < self._next:
            return
        coins, scores = _joined(self._waiting)
        start = 0
        while not self.over and start + self._next - self._books.trials <= coins.size:
            end = start + self._next - self._books.trials
            self._look(coins[start:end], scores[start:end])
            start = end
        self._waiting = [(coins[start:], scores[start:])]

    def result(self) -> SequentialTestResult:
        """What is proven by now; the trials since the last look are settled by the bets that stand."""
        coins, scores = _joined(self._waiting)
        books = self._books if self.over or coins.size == 0 else self._books.after(Block.of(coins, scores))
        return books.result()

    @property
    def over(self) -> bool:
        """Whether further trials are not looked at."""
        return self.decided and not self._to_the_end

    def _look(self, coins: CoinRows, scores: Array) -> None:
        self._past.append((coins, scores))
        self._books = self._books.after(Block.of(coins, scores))
        trials = self._books.trials
        if trials >= self._lesson and not self.over:
            self._past = [_joined(self._past)]
            self._books = self._books.taught(Block.of(*self._past[0]))
            self._lesson = trials + trials // _LEARN
        self._next = trials + max(trials // _LOOK, 4)


def _joined(parts: list[tuple[CoinRows, Array]]) -> tuple[CoinRows, Array]:
    if not parts:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    return np.concatenate([coins for coins, _ in parts]), np.concatenate([scores for _, scores in parts])


@dataclass(frozen=True)
class _Books:
    """The wealth of both bettors at each ε of the grid, and how they bet next."""

    claim: int
    alpha: float
    face: AtFaceValue
    learner: Learner
    log_face: Array
    log_learner: Array
    rejected: Mask
    trials: int
    spoken: int
    right: int
    refuted_at: int | None

    @classmethod
    def opened(cls, claim_epsilon: float, delta: float, alpha: float) -> "_Books":
        grid = np.unique(np.append(_GRID, claim_epsilon))
        nothing = np.zeros(grid.size)
        return cls(
            claim=int(np.searchsorted(grid, claim_epsilon)),
            alpha=alpha,
            face=AtFaceValue.bold(grid, delta),
            learner=Learner.silent(grid, delta),
            log_face=nothing,
            log_learner=nothing,
            rejected=np.zeros(grid.size, dtype=np.bool_),
            trials=0,
            spoken=0,
            right=0,
            refuted_at=None,
        )

    @property
    def log_wealth(self) -> Array:
        """ln of the mean of both bettors' wealth, for each ε."""
        return np.logaddexp(self.log_face, self.log_learner) - math.log(2)

    def after(self, block: Block) -> "_Books":
        """The books with the block settled."""
        face, learned = self.face.settle(block), self.learner.settle(block)
        speaker = face if self.log_face[self.claim] >= self.log_learner[self.claim] else learned
        then = replace(
            self,
            log_face=self.log_face + face.gain,
            log_learner=self.log_learner + learned.gain,
            trials=self.trials + block.size,
            spoken=self.spoken + int(speaker.spoken[self.claim]),
            right=self.right + int(speaker.right[self.claim]),
        )
        rejected = self.rejected | (then.log_wealth >= -math.log(self.alpha))
        refuted = bool(rejected[: self.claim + 1].all())
        at = self.refuted_at if self.refuted_at is not None or not refuted else then.trials
        return replace(then, rejected=rejected, refuted_at=at)

    def taught(self, past: Block) -> "_Books":
        """The books with the bets that follow from all trials so far."""
        grid, delta = self.face.epsilons, self.face.delta
        return replace(self, face=self.face.taught(past), learner=Learner.taught(grid, delta, past))

    def result(self) -> SequentialTestResult:
        """What the books say."""
        grid, proven = self.face.epsilons, int(np.append(~self.rejected, True).argmax())
        return SequentialTestResult(
            claim_epsilon=float(grid[self.claim]),
            delta=self.face.delta,
            alpha=self.alpha,
            trials=self.trials,
            refuted_at=self.refuted_at,
            log_wealth=float(self.log_wealth[self.claim]),
            epsilon_audited=float(grid[proven - 1]) if proven else 0.0,
            spoken=self.spoken,
            right=self.right,
        )


_GRID = np.concatenate([np.arange(20) / 50, 0.4 * 1.025 ** np.arange(150)])  # 0 to 15.9, by 0.02, then by 2.5 %


def _check(claim_epsilon: float, delta: float, alpha: float) -> None:
    if not 0 <= claim_epsilon <= MOST_EPSILON:
        raise PrivacyError(
            f"claim_epsilon = {claim_epsilon!r}: must lie in [0, {MOST_EPSILON:g}], above no game can tell"
        )
    if not 0 <= delta < 1:
        raise PrivacyError(f"delta = {delta!r}: must lie in [0, 1)")
    if not 0 < alpha < 1:
        raise PrivacyError(f"alpha = {alpha!r}: must lie strictly between 0 and 1")


def tossed(size_0: int, size_1: int, rng: np.random.Generator) -> CoinRows:
    """Fair coins, as many as can be tossed until one world has no trial left: that is known before the next coin."""
    coins = rng.integers(0, 2, size_0 + size_1)
    ones = np.cumsum(coins)
    zeros = np.arange(1, coins.size + 1) - ones
    empty = (ones >= size_1) | (zeros >= size_0)
    end = int(np.argmax(empty)) + 1 if empty.any() else coins.size
    return coins[: end if min(size_0, size_1) > 0 else 0]
