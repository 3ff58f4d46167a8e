# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (networkx ships no types)
"""Audits of one claim from many views: links, nodes, coalitions, everything, ordered by their knowledge.

An (ε, δ) claim about one agent's messages is one about every view of the network: a link, an honest but curious
neighbor, a coalition sees a function of all that was sent. From every view the distinguishing game of
`attacks.audit.games.game` is played with transcripts of both worlds, simulated once for all views. A fair coin picks
a world, a rule guesses it or stays silent; under the claim E[1_right − e^ε 1_wrong] ≤ δ, so a stake on that
difference has no positive expected gain, and the wealth of a bettor who begins with 1 is an *e-value*: its mean is at
most 1. Of K e-values, dependent in whatever way, e-BH rejects the k largest, for the largest k with e_(k) ≥ K/(αk);
the expected share of wrong ones among the rejected is at most α. Source: Wang, Ramdas 2022, "False discovery rate
control with e-values", Theorem 2.

Trials are used in three parts, chunk by chunk: those that teach (a classifier for each view), those that choose (the
score and the rule), and those that are played. A view's score is the classifier's, which knows nothing of the
algorithm; the likelihood ratio of the gradients that an attack infers from the view; or that of a view that it
contains, which it could compute too: whichever promises most.

Of a view's two results only one is simultaneous. That the claim is `refuted` holds for all views together in the
sense of the false discovery rate. `game.epsilon_audited` is a lower bound for its view alone: of many such bounds at
95 % one in twenty may be wrong, so the largest of them proves nothing by itself.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy import special

from attacks.audit.accounting.intervals import error_rate, log_wealth
from attacks.audit.games.game import GameResult, play
from attacks.audit.games.sequential_test import dealt, tossed
from attacks.audit.pair import Infer, Pair
from attacks.audit.trained import Scored, ViewScores
from netsim.adversary import Adversary, AdversaryView
from netsim.arrays import Array, Mask
from netsim.claims import Claim
from netsim.errors import AttackError, PrivacyError

Kind = Literal["link", "transmitter", "door", "node", "coalition", "outside"]
Order: TypeAlias = Any
"""Type of a `networkx.DiGraph` on names of views (networkx ships no types)."""


@dataclass(frozen=True)
class View:
    """One adversary, by name. `knows` names the places it captures or controls: a view whose `knows` is a part of
    another's is contained in it, if what was recorded agrees (`hasse`): what it proves the other could prove too.

    `taps` gives its place in words; `links` and `agents` where to draw it.
    """

    name: str
    kind: Kind
    adversary: Adversary
    knows: frozenset[str]
    taps: str
    links: tuple[tuple[int, int], ...] = ()
    agents: tuple[int, ...] = ()


def hasse(views: Sequence[View], recorded: Mask | None = None) -> Order:
    """Order of inclusion: an edge from each view to the next larger ones, those with nothing in between.

    `recorded[k, m]`, (views, views): whether the m-th view recorded every value that the k-th one did. Where it did
    not, a message that never got there, there is no inclusion, whatever the views are said to know.
    """
    graph: Any = nx.DiGraph()
    for view in views:
        graph.add_node(view.name, kind=view.kind)
    for k, one in enumerate(views):
        for m, other in enumerate(views):
            if one.knows < other.knows and (recorded is None or recorded[k, m]):
                graph.add_edge(one.name, other.name)
    reduced: Any = nx.transitive_reduction(graph)
    reduced.add_nodes_from(graph.nodes(data=True))
    return reduced


_STAKES = (15 / 16, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)
"""Stakes for which a rule is chosen; `log_wealth` mixes these and smaller ones."""
_CAUTION = 2.0
"""Standard deviations by which rates are taken to be worse than those seen."""


class Rule(NamedTuple):
    """Rule of a guess: 1 at score ≥ `high`, 0 at score < `low`, nothing between. low ≤ high.

    `promise` is the growth of log wealth per coin that it was chosen for; none if at most 0.
    """

    low: float
    high: float
    promise: float

    @classmethod
    def chosen(cls, scores_0: Array, scores_1: Array, epsilon: float, delta: float) -> "Rule":
        """Most promising rule against (ε, δ), from scores of trials that are not played.

        Scores are larger the more a trial looks like world 1; ±∞ is allowed, NaN is not. The promise is the growth of
        log wealth at the best of `_STAKES`, at a rate of right guesses so much smaller and of wrong ones so much
        larger than those seen that it is seldom too good.
        """
        if np.isnan(scores_0).any() or np.isnan(scores_1).any():
            raise PrivacyError("some scores are NaN: score every trial")
        grid = _candidates(scores_0, scores_1)
        below_0 = np.searchsorted(np.sort(scores_0), grid) / scores_0.size
        below_1 = np.searchsorted(np.sort(scores_1), grid) / scores_1.size
        right = (below_0[:, None] + 1 - below_1[None, :]) / 2
        wrong = (below_1[:, None] + 1 - below_0[None, :]) / 2
        size = scores_0.size + scores_1.size
        right, wrong = _cautious(right, size, -_CAUTION), _cautious(wrong, size, _CAUTION)
        unit, stakes = math.exp(epsilon) + delta, np.array(_STAKES)[:, None, None]
        silent = np.maximum(1 - right - wrong, 0.0)
        gains = right * np.log1p(stakes * (1 - delta) / unit) + wrong * np.log1p(-stakes)
        growth = np.max(gains + silent * np.log1p(-stakes * delta / unit), axis=0)
        ordered = grid[:, None] <= grid[None, :]
        low, high = divmod(int(np.argmax(np.where(ordered, growth, -np.inf))), grid.size)
        return cls(float(grid[low]), float(grid[high]), float(growth[low, high]))


class Tally(NamedTuple):
    """Guesses of a rule: right, wrong, and `coins` in all, at the others of which it was silent.

    `trials` is the largest possible number of coins, which is fixed before the first is tossed.
    """

    right: int
    wrong: int
    coins: int
    trials: int

    def log_e_value(self, epsilon: float, delta: float) -> float:
        """ln of the e-value against (ε, δ). Gains are in units of the largest loss e^ε + δ.

        A coin that was not tossed gains 0: so the stakes, which depend on the number of gains, are fixed beforehand.
        """
        unit = math.exp(epsilon) + delta
        silent, untossed = self.coins - self.right - self.wrong, self.trials - self.coins
        gains = [(1 - delta) / unit, -1.0, -delta / unit, 0.0]
        return log_wealth(np.repeat(gains, [self.right, self.wrong, silent, untossed]))


@dataclass(frozen=True)
class Coins:
    """Fair coins, each with a trial of its own: coin k takes the next trial of `world[k]`.

    They are tossed until a world has no trial left. When to stop depends on the coins before alone, so that every
    coin tossed is fair, whatever the scores. `trials`, those of both worlds, is their largest possible number.
    """

    world: NDArray[np.int64]
    trials: int

    @classmethod
    def toss(cls, trials_0: int, trials_1: int, rng: np.random.Generator) -> "Coins":
        """Coins for these trials of each world."""
        return cls(tossed(trials_0, trials_1, rng), trials_0 + trials_1)

    def right_and_wrong(self, rule: Rule, scores_0: Array, scores_1: Array) -> tuple[Mask, Mask]:
        """(coins,) each: guessed right, guessed wrong. Scores are those of the trials played, by world."""
        score = dealt(self.world, scores_0, scores_1)
        one, zero = score >= rule.high, score < rule.low
        return np.where(self.world == 1, one, zero), np.where(self.world == 1, zero, one)

    def tally(self, rule: Rule, scores_0: Array, scores_1: Array) -> Tally:
        """Tally of a rule on these coins."""
        right, wrong = self.right_and_wrong(rule, scores_0, scores_1)
        return Tally(int(right.sum()), int(wrong.sum()), self.world.size, self.trials)


def e_bh(log_e: Array, alpha: float) -> Mask:
    """Mask of the hypotheses that e-BH rejects at level α, given ln of their e-values, (K,)."""
    if not 0 < alpha < 1:
        raise PrivacyError(f"alpha = {alpha!r}: must lie strictly between 0 and 1")
    order = np.argsort(-log_e, kind="stable")
    count = log_e.size
    needed = math.log(count / alpha) - np.log(np.arange(1, count + 1)) if count else np.empty(0)
    passed = np.flatnonzero(log_e[order] >= needed)
    rejected = np.zeros(count, dtype=bool)
    if passed.size:
        rejected[order[: passed[-1] + 1]] = True
    return rejected


def _cautious(rate: Array, size: int, z: float) -> Array:
    """Wilson's bound: from below for z < 0, from above for z > 0; a rate of 0 seen is 0 from below."""
    spread = z * np.sqrt(rate * (1 - rate) / size + z * z / (4 * size * size))
    return np.clip((rate + z * z / (2 * size) + spread) / (1 + z * z / size), 0.0, 1.0)


def _candidates(scores_0: Array, scores_1: Array) -> Array:
    """−∞, ∞, and places halfway between neighboring scores, at some 60 ranks of both worlds, dense at the ends."""
    distinct = np.unique(np.clip(np.concatenate([scores_0, scores_1]), -1e300, 1e300))
    halfway = (distinct[:-1] + distinct[1:]) / 2
    if halfway.size > 60:
        ranks = np.rint(special.expit(np.linspace(-7, 7, 60)) * (halfway.size - 1)).astype(int)
        halfway = halfway[np.unique(ranks)]
    return np.concatenate([[-np.inf], halfway, [np.inf]])


SimulateViews = Callable[[int, int], tuple[AdversaryView, ...]]
"""(world 0 or 1, chunk) ↦ what each view saw of independent transcripts of that world, in the order of the views."""
_TEACH, _CHOOSE = 0.4, 0.15
"""Shares of the chunks that teach and that choose; the others are played."""
_ODD = 0.01
"""False-alarm probability of naming any inconsistency."""


@dataclass(frozen=True)
class _ViewResult:
    """Evidence of one view.

    `log_e` is ln of the e-value against the claim, and `refuted` the decision of e-BH on all of them. `game` is the
    game of this view by itself: its `epsilon_audited` is marginal (see above), its `ceiling` the most that so many
    trials could prove. `score` names the score that was played, `tally` the rule's guesses on the e-value's coins.
    """

    view: View
    log_e: float
    refuted: bool
    game: GameResult
    score: str
    tally: Tally

    @property
    def e_value(self) -> float:
        """∞ beyond what a float holds."""
        return math.exp(self.log_e) if self.log_e < 709 else math.inf


@dataclass(frozen=True)
class _Inconsistency:
    """View that did worse, beyond chance, than one that it contains: its score missed evidence that it had."""

    smaller: str
    larger: str

    def __str__(self) -> str:
        return f"{self.larger} contains {self.smaller}, and did worse: its score missed what the smaller one saw"


@dataclass(frozen=True)
class ViewsResult:
    """Result for all views of one claim. `views` are in the order given, `order` is their Hasse diagram, from small
    to large.

    `trials` transcripts of each world were simulated, `played` coins tossed with the last of them; `log_e_ceiling`
    is ln of the largest e-value that these can give. `confidence` is 1 − α, of e-BH and of each game alone.
    """

    claim: Claim
    pair: Pair
    views: tuple[_ViewResult, ...]
    order: Order
    inconsistent: tuple[_Inconsistency, ...]
    trials: int
    played: int
    log_e_ceiling: float
    confidence: float

    @classmethod
    def of(
        cls,
        views: Sequence[View],
        pair: Pair,
        claim: Claim,
        scores: Scored,
        confidence: float,
        rng: np.random.Generator,
    ) -> "ViewsResult":
        """Result from the scores of every view: coins, e-values, e-BH, and the order of the views."""
        epsilon, delta, alpha = claim.epsilon, claim.delta, error_rate(confidence)
        assert epsilon is not None
        order = hasse(views, scores.recorded)
        first = scores.views[0]
        coins = Coins.toss(first.played[0].shape[1], first.played[1].shape[1], rng)
        own = {view.name: one for view, one in zip(views, scores.views, strict=True)}
        chosen = [_chosen(view.name, order, own, epsilon, delta) for view in views]
        tallies = [coins.tally(one.rule, *one.played) for one in chosen]
        log_e = np.array([tally.log_e_value(epsilon, delta) for tally in tallies])
        rejected = e_bh(log_e, alpha)
        games: list[GameResult] = []
        for one, spawned in zip(chosen, rng.spawn(len(views)), strict=True):  # the first trials are those that choose
            zero, other = (np.concatenate(parts) for parts in zip(one.choosing, one.played, strict=True))
            share = one.played[0].size / zero.size
            games.append(play(zero, other, delta=delta, confidence=confidence, rng=spawned, holdout=share))
        results = tuple(
            _ViewResult(view, float(e), bool(refuted), game, one.label, tally)
            for view, e, refuted, game, one, tally in zip(views, log_e, rejected, games, chosen, tallies, strict=True)
        )
        return cls(
            claim=claim,
            pair=pair,
            views=results,
            order=order,
            inconsistent=_inconsistent(order, dict(zip(own, chosen, strict=True)), coins, epsilon, delta),
            trials=first.taught + first.choosing[0].shape[1] + first.played[0].shape[1],
            played=coins.world.size,
            log_e_ceiling=Tally(coins.world.size, 0, coins.world.size, coins.trials).log_e_value(epsilon, delta),
            confidence=confidence,
        )

    @property
    def refuted(self) -> tuple[_ViewResult, ...]:
        """Views for which the claim is refuted, at a false discovery rate of at most 1 − confidence."""
        return tuple(one for one in self.views if one.refuted)

    @property
    def smallest(self) -> tuple[_ViewResult, ...]:
        """Those of them that contain no other: where the claim breaks first."""
        names = {one.view.name for one in self.refuted}
        return tuple(one for one in self.refuted if not names & nx.ancestors(self.order, one.view.name))

    @property
    def needed(self) -> float:
        """ln of the e-value at which a view is refuted even if it is the only one: K/α."""
        return math.log(len(self.views) / error_rate(self.confidence))

    @property
    def powered(self) -> bool:
        """Whether one view alone could have been refuted; if not, that none was is no evidence."""
        return self.log_e_ceiling >= self.needed

    def __getitem__(self, name: str) -> _ViewResult:
        return next(one for one in self.views if one.view.name == name)

    def above(self, epsilon: float) -> tuple[str, ...]:
        """Names of views proven, as in `refuted`, to exceed an ε at the claim's δ.

        Where ε is an upper end of the exact loss, which no view can exceed, one of the two is wrong.
        """
        e_values = np.array([one.tally.log_e_value(epsilon, self.claim.delta) for one in self.views])
        found = e_bh(e_values, error_rate(self.confidence))
        return tuple(one.view.name for one, is_above in zip(self.views, found, strict=True) if is_above)


def audit_views(
    simulate_views: SimulateViews,
    views: Sequence[View],
    pair: Pair,
    claim: Claim,
    *,
    trials: int,
    chunk: int,
    confidence: float,
    rng: np.random.Generator,
    jobs: int = 1,
    infer: Infer | None = None,
    progress: Callable[[int], None] | None = None,
) -> ViewsResult:
    """Audit `claim` on one pair from all `views`, with at least `trials` transcripts of each world.

    `simulate_views` gives `chunk` transcripts at a time, seen from every view; `infer` is the attack on gradients, if
    there is one. `jobs` processes share the work (−1: one per core); the result is the same. Raises `PrivacyError`
    without a claimed number, for ε beyond all floats, and for fewer than three chunks: some transcripts teach, some
    choose, some are played.
    """
    names = [view.name for view in views]
    if not names:
        raise AttackError("no view to look from")
    for name in names:
        if names.count(name) > 1:
            raise AttackError(f"two views are called {name!r}")
    epsilon = claim.epsilon
    if epsilon is None or not epsilon < 700:
        raise PrivacyError(f"epsilon_claimed = {epsilon!r}: there is no number that views could refute")
    parts = _split(trials, chunk)
    seeds = [int(seed) for seed in rng.integers(2**62, size=len(views))]
    scores = Scored.of(simulate_views, pair, infer, parts, seeds, jobs, progress)
    return ViewsResult.of(views, pair, claim, scores, confidence, rng)


@dataclass(frozen=True)
class _Chosen:
    """Score that a view is played with: its origin, its values by world, and the rule."""

    label: str
    choosing: tuple[Array, Array]
    played: tuple[Array, Array]
    rule: Rule


def _chosen(name: str, order: Order, own: dict[str, ViewScores], epsilon: float, delta: float) -> _Chosen:
    """Most promising score of a view and of those that it contains; where none promises anything, its own."""
    smaller: set[str] = nx.ancestors(order, name)
    options: list[_Chosen] = []
    for other in (name, *(one for one in own if one in smaller)):
        scores = own[other]
        for k, label in enumerate(scores.labels):
            choosing = scores.choosing[0][k], scores.choosing[1][k]
            played = scores.played[0][k], scores.played[1][k]
            rule = Rule.chosen(*choosing, epsilon, delta)
            options.append(_Chosen(label if other == name else f"{label}, of {other}", choosing, played, rule))
    best = max(options, key=lambda option: option.rule.promise)
    return best if best.rule.promise > 0 else options[0]


def _inconsistent(
    order: Order, chosen: dict[str, _Chosen], coins: Coins, epsilon: float, delta: float
) -> tuple[_Inconsistency, ...]:
    """Pairs where a view's rule gained more than that of a larger one, coin by coin, beyond chance."""
    unit = math.exp(epsilon) + delta
    edges: list[tuple[str, str]] = sorted(order.edges)

    def gains(name: str) -> Array:
        right, wrong = coins.right_and_wrong(chosen[name].rule, *chosen[name].played)
        return right / unit - wrong * (unit - delta) / unit

    found = {name: gains(name) for edge in edges for name in edge}
    bar = math.log(max(len(edges), 1) / _ODD)
    padding = np.zeros(coins.trials - coins.world.size)
    return tuple(
        _Inconsistency(smaller, larger)
        for smaller, larger in edges
        if log_wealth(np.concatenate([(found[smaller] - found[larger]) * unit / (1 + unit), padding])) >= bar
    )


def _split(trials: int, chunk: int) -> tuple[range, range, range]:
    """Chunks that teach, that choose, and that are played."""
    for name, value in (("trials", trials), ("chunk", chunk)):
        if value < 1:
            raise PrivacyError(f"{name} = {value!r}: must be at least 1")
    count = -(-trials // chunk)
    if count < 3:
        raise PrivacyError(f"{trials} trials in chunks of {chunk} make {count}: views need 3 chunks or more")
    teach, choose = max(1, round(_TEACH * count)), max(1, round(_CHOOSE * count))
    return range(teach), range(teach, teach + choose), range(teach + choose, count)
