"""Sequential test of (ε, δ)-DP: a bettor's wealth, valid whenever the game ends.

Under H_ε a fair coin and any rule fixed before the trial obey E[1_right − e^ε 1_wrong] ≤ δ, and ≤ δ/2 where the rule
names one world only (the definition for one direction, met by the coin with probability ½). So whoever stakes c ∈ [0,
1) on each world that the rule may name multiplies the wealth by

    (1 + c·e^{−ε} if right, 1 − c if wrong, 1 if silent) / (1 + Σ c·e^{−ε}·δ/2),

which has mean at most 1: the wealth is a nonnegative supermartingale that begins at 1. By Ville P(it ever reaches
1/α) ≤ α. Rule and stake may depend on all earlier trials, so none is held out; and on the score itself, if the stake
does not fall with the score's size: that is a mixture of rules, which pays δ for the largest c.

Half of the wealth takes scores *at face value*, as losses ln p₁/p₀, and stakes as Kelly would wherever the loss
exceeds ε: nothing has to be learned. The other half *learns* one threshold and one stake for each world from the
trials before, whatever the score. The mean of both is a supermartingale too.

**Every ε at once, at no price.** H_ε is nested: an (ε, δ)-DP mechanism is (ε', δ)-DP for all ε' ≥ ε. Each ε of a
fixed grid has bettors of its own, and the lower bound is the largest grid point such that it and all smaller ones are
rejected. Let ε* be the smallest ε that the mechanism satisfies at δ, and ε_k the smallest grid point ≥ ε*: it depends
on no trial. A bound of ε* or more has rejected ε_k, whose H is true: probability at most α, for all times together.
Nothing is paid for the number of grid points, and the wealth need not be monotone in ε. The claim is one of them, and
is refuted when the bound reaches it: one statement, at level α.

Sources: Ville 1939; Kelly 1956; Waudby-Smith, Ramdas 2023 (betting).
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from attacks.audit.games.game import candidates, checked
from netsim.arrays import Array, Mask
from netsim.errors import PrivacyError
from netsim.shown import show

_Coins: TypeAlias = NDArray[np.int64]

_LEFT = 1e-6  # a stake leaves at least so much of the wealth: one wrong guess ruins nobody
_LARGE = (0.5, 0.75, 0.9, 0.97)  # quantiles of the losses' sizes, tried as the one from which stakes grow no more
_DOUBT = 3.0  # trials at exactly ε, added to those counted before a stake is learned from them


class _Bets(NamedTuple):
    """Outcome of a block of trials for a bettor, at each ε: ln of the wealth's factor, guesses, right ones."""

    gain: Array
    spoken: Array
    right: Array


@dataclass(frozen=True)
class Block:
    """Trials that are settled together: sorted scores of those whose coin showed 0, and 1."""

    zeros: Array
    ones: Array

    @classmethod
    def of(cls, coins: _Coins, scores: Array) -> Self:
        return cls(np.sort(scores[coins == 0]), np.sort(scores[coins == 1]))

    @property
    def size(self) -> int:
        return self.zeros.size + self.ones.size

    @cached_property
    def at_face_value(self) -> tuple[Array, Array]:
        """(sizes of losses with the right sign, with the wrong sign), sorted; 0 has no sign."""
        right = np.sort(np.concatenate([-self.zeros[self.zeros < 0], self.ones[self.ones > 0]]))
        wrong = np.sort(np.concatenate([self.zeros[self.zeros > 0], -self.ones[self.ones < 0]]))
        return right, wrong

    def counts(self, thresholds: Array) -> tuple[Array, Array, Array, Array]:
        """(zeros below, ones below, zeros from it on, ones from it on) at each threshold; at ∞ the last two are 0"""
        below = [np.searchsorted(own, thresholds).astype(np.float64) for own in (self.zeros, self.ones)]
        sizes = self.zeros.size, self.ones.size
        above = [np.where(thresholds < np.inf, n - b, 0.0) for n, b in zip(sizes, below, strict=True)]
        return below[0], below[1], above[0], above[1]


@dataclass(frozen=True)
class AtFaceValue:
    """Bettor that takes a score s for the loss ln p₁/p₀, whose sign is wrong with probability σ(−|s|), σ(s) = 1/(1 +
    e^{−s}).

    Kelly's stake where |s| > ε: 1 − c = σ(−|s|)/σ(−ε), hence 1 + c·x = σ(|s|)/σ(ε). It grows with |s|, so that it
    is a mixture of rules, and δ is paid for the largest stake, that at |s| = `most`, one for each ε.
    """

    epsilons: Array
    delta: float
    most: Array

    @classmethod
    def bold(cls, epsilons: Array, delta: float) -> Self:
        """Bettor whose stake grows with the loss without a cap."""
        return cls(epsilons, delta, np.full(epsilons.size, np.inf))

    def taught(self, past: Block) -> Self:
        """Bettor with the `most` that would have grown past wealth most (δ > 0); silent where none would."""
        sizes = np.concatenate(past.at_face_value)
        sizes = sizes[np.isfinite(sizes)]
        if self.delta == 0 or sizes.size == 0:
            return self
        most = np.append(np.quantile(sizes, _LARGE), np.inf)
        tries = [type(self)(self.epsilons, self.delta, np.full(self.epsilons.size, m)) for m in most]
        grown = np.stack([one.settle(past).gain for one in tries])
        return type(self)(self.epsilons, self.delta, np.where(grown.max(axis=0) > 0, most[grown.argmax(axis=0)], 0.0))

    def settle(self, block: Block) -> _Bets:
        cap = np.minimum(self._ruin, np.maximum(self.most, self.epsilons))
        right, wrong = block.at_face_value
        won, spoken_right = self._sum(right, cap, 1)
        lost, spoken_wrong = self._sum(wrong, cap, -1)
        stake = 1 - np.exp(_log_share(-cap) - _log_share(-self.epsilons))
        cost = block.size * np.log1p(stake * np.exp(-self.epsilons) * self.delta)
        return _Bets(won + lost - cost, spoken_right + spoken_wrong, spoken_right)

    @cached_property
    def _ruin(self) -> Array:
        """Size of loss at which the stake would leave `_LEFT` only: σ(−s) = `_LEFT`·σ(−ε)."""
        return -special.logit(_LEFT * special.expit(-self.epsilons))

    def _sum(self, sizes: Array, cap: Array, sign: int) -> tuple[Array, Array]:
        """(Σ ln σ(±min(|s|, cap))/σ(±ε), number) over the sizes above ε."""
        logs = _log_share(sign * np.minimum(sizes, float(cap.max())))
        sums = np.concatenate([[0.0], np.cumsum(logs)])
        start = np.searchsorted(sizes, self.epsilons, side="right")
        end = np.maximum(np.searchsorted(sizes, cap, side="right"), start)
        spoken = sizes.size - start
        capped = (sizes.size - end) * _log_share(sign * cap)
        return sums[end] - sums[start] + capped - spoken * _log_share(sign * self.epsilons), spoken.astype(np.float64)


def _log_share(loss: Array) -> Array:
    """ln σ(loss) = −ln(1 + e^{−loss}): ln of the probability that a guess at this loss is right."""
    return -np.logaddexp(0.0, -loss)


@dataclass(frozen=True)
class Learner:
    """Bettor with a threshold and a stake per world and ε: score < `low` names world 0, ≥ `high` world 1."""

    epsilons: Array
    delta: float
    low: Array
    high: Array
    stake_0: Array
    stake_1: Array

    @classmethod
    def silent(cls, epsilons: Array, delta: float) -> Self:
        """Bettor without a past: stakes nothing."""
        nothing = np.zeros(epsilons.size)
        return cls(epsilons, delta, nothing - np.inf, nothing + np.inf, nothing, nothing)

    @classmethod
    def taught(cls, epsilons: Array, delta: float, past: Block) -> Self:
        """Bettor with the thresholds and stakes that would have grown past wealth most, with some doubt."""
        if past.zeros.size == 0 or past.ones.size == 0:
            return cls.silent(epsilons, delta)
        at = candidates(past.zeros, past.ones)
        below_0, below_1, above_0, above_1 = past.counts(at)
        stakes_0, grown_0 = _stakes(below_0, below_1, past.size, epsilons, delta)
        stakes_1, grown_1 = _stakes(above_1, above_0, past.size, epsilons, delta)
        rows = np.arange(epsilons.size)
        best_0, best_1 = grown_0.argmax(axis=1), grown_1.argmax(axis=1)
        gain_0, gain_1 = grown_0[rows, best_0], grown_1[rows, best_1]
        clash = at[best_0] > at[best_1]
        speaks_0 = (gain_0 > 0) & ~(clash & (gain_0 < gain_1))
        speaks_1 = (gain_1 > 0) & ~(clash & (gain_0 >= gain_1))
        return cls(
            epsilons,
            delta,
            np.where(speaks_0, at[best_0], -np.inf),
            np.where(speaks_1, at[best_1], np.inf),
            np.where(speaks_0, stakes_0[rows, best_0], 0.0),
            np.where(speaks_1, stakes_1[rows, best_1], 0.0),
        )

    def settle(self, block: Block) -> _Bets:
        x = np.exp(-self.epsilons)
        right_0, wrong_0, _, _ = block.counts(self.low)
        _, _, wrong_1, right_1 = block.counts(self.high)
        cost = block.size * np.log1p((self.stake_0 + self.stake_1) * x * self.delta / 2)
        gain = right_0 * np.log1p(self.stake_0 * x) + wrong_0 * np.log1p(-self.stake_0)
        gain = gain + right_1 * np.log1p(self.stake_1 * x) + wrong_1 * np.log1p(-self.stake_1)
        right = right_0 + right_1
        return _Bets(gain - cost, right + wrong_0 + wrong_1, right)


def _stakes(right: Array, wrong: Array, trials: int, epsilons: Array, delta: float) -> tuple[Array, Array]:
    """(stakes, ln of what they would have earned): ε × threshold, from guesses that would have been right and wrong.

    The stake c maximizes R ln(1 + cx) + W ln(1 − c) − n ln(1 + cxd), d = δ/2, with `_DOUBT` trials at exactly ε added
    to R, W and n; the derivative vanishes where A c² + B c + C = 0, with C = Rx − W − ndx, A = dx²(n − R − W) ≥ 0.
    Where C ≤ 0 nothing is to be earned.
    """
    x, d = np.exp(-epsilons)[:, None], delta / 2
    R = right + _DOUBT * special.expit(epsilons)[:, None]
    W = wrong + _DOUBT * special.expit(-epsilons)[:, None]
    n = trials + _DOUBT
    C = R * x - W - n * d * x
    B = R * x * (d * x - 1) - W * x * (1 + d) - n * d * x * (x - 1)
    A = d * x * x * (n - R - W)
    root = np.sqrt(np.maximum(B * B - 4 * A * C, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        stake = np.where(C > 0, np.clip(2 * C / (root - B), 0.0, 1 - _LEFT), 0.0)
    earned = right * np.log1p(stake * x) + wrong * np.log1p(-stake) - trials * np.log1p(stake * x * d)
    return stake, np.where(np.isfinite(earned), earned, -np.inf)


MOST_EPSILON = 700.0
"""Largest ε of a claim that a game can test."""
_FIRST, _LOOK, _LEARN = 8, 16, 8
"""Trials before the first look; then a look after each 16th part more, and bets learned after each 8th part more."""


@dataclass(frozen=True)
class SequentialTestResult:
    """Result of a game that may be stopped at any trial: ε > `epsilon_audited` at `delta`.

    The bound, where above 0, errs with probability `alpha` at most, over all times at which it could be read.
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
        """Wealth against the claim, ∞ where it exceeds all floats."""
        return math.exp(self.log_wealth) if self.log_wealth < 709 else math.inf

    @property
    def sentence(self) -> str:
        """Result in one sentence."""
        if self.refuted:
            return (
                f"ε ≤ {show(self.claim_epsilon, 4)} at δ = {show(self.delta)} was refuted after "
                f"{self.refuted_at:,} coins at "
                f"level {show(self.alpha)}; ε > {show(self.epsilon_audited, 4)} after {self.trials:,}."
            )
        return (
            f"{self.trials:,} coins did not refute ε ≤ {show(self.claim_epsilon, 4)} at δ = "
            f"{show(self.delta)}, e-value "
            f"{show(self.e_value)} of {show(1 / self.alpha)}; ε > {show(self.epsilon_audited, 4)} at "
            f"level {show(self.alpha)}."
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
        wager = SequentialTest(claim_epsilon, delta, alpha, to_the_end=to_the_end)
        wager.update(coins, dealt(coins, *worlds))
        return wager.result()


class SequentialTest:
    """Game in progress: trials arrive in portions, and the result is the same for all ways to portion them.

    The wealth is looked at after 8 trials, then whenever they have grown by a sixteenth (by 4 at least); rules and
    stakes are learned anew when they have grown by an eighth. Once the claim is refuted (`decided`), further trials
    are not looked at, unless the game is played `to_the_end`.
    """

    def __init__(self, claim_epsilon: float, delta: float, alpha: float, *, to_the_end: bool = False) -> None:
        _check(claim_epsilon, delta, alpha)
        self._to_the_end = to_the_end
        self._books = _Books.opened(claim_epsilon, delta, alpha)
        self._past: list[tuple[_Coins, Array]] = []
        self._waiting: list[tuple[_Coins, Array]] = []
        self._next = self._lesson = _FIRST

    @property
    def decided(self) -> bool:
        """Whether a look has found the claim refuted."""
        return self._books.refuted_at is not None

    def update(self, coins: _Coins, scores: Array) -> None:
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
        """Result by now; the trials since the last look are settled by the bets that stand."""
        coins, scores = _joined(self._waiting)
        books = self._books if self.over or coins.size == 0 else self._books.after(Block.of(coins, scores))
        return books.result()

    @property
    def over(self) -> bool:
        """Whether further trials are not looked at."""
        return self.decided and not self._to_the_end

    def _look(self, coins: _Coins, scores: Array) -> None:
        self._past.append((coins, scores))
        self._books = self._books.after(Block.of(coins, scores))
        trials = self._books.trials
        if trials >= self._lesson and not self.over:
            self._past = [_joined(self._past)]
            self._books = self._books.taught(Block.of(*self._past[0]))
            self._lesson = trials + trials // _LEARN
        self._next = trials + max(trials // _LOOK, 4)


def _joined(parts: list[tuple[_Coins, Array]]) -> tuple[_Coins, Array]:
    if not parts:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    return np.concatenate([coins for coins, _ in parts]), np.concatenate([scores for _, scores in parts])


@dataclass(frozen=True)
class _Books:
    """Wealth of both bettors at each ε of the grid, and how they bet next."""

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
        """Books with bets learned from all trials so far."""
        grid, delta = self.face.epsilons, self.face.delta
        return replace(self, face=self.face.taught(past), learner=Learner.taught(grid, delta, past))

    def result(self) -> SequentialTestResult:
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


def tossed(size_0: int, size_1: int, rng: np.random.Generator) -> _Coins:
    """Fair coins, as many as can be tossed until one world has no trial left: that is known before the next coin."""
    coins = rng.integers(0, 2, size_0 + size_1)
    ones = np.cumsum(coins)
    zeros = np.arange(1, coins.size + 1) - ones
    empty = (ones >= size_1) | (zeros >= size_0)
    end = int(np.argmax(empty)) + 1 if empty.any() else coins.size
    return coins[: end if min(size_0, size_1) > 0 else 0]


def dealt(coins: _Coins, scores_0: Array, scores_1: Array) -> Array:
    """Score of each coin's trial: every coin takes the next trial of its world."""
    scores = np.empty(coins.size)
    for world, own in enumerate((scores_0, scores_1)):
        mine = coins == world
        scores[mine] = own[: np.count_nonzero(mine)]
    return scores
