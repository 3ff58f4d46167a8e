# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (networkx ships no types)
"""Audits of one claim from many views: links, nodes, coalitions, everything, ordered by what they know.

An (ε, δ) claim about what one agent sends is one about every view of the network: a link, an honest but curious
neighbor, a coalition sees a function of all that was sent. Of every view this plays the distinguishing game of
`attacks.audit.games.game` with transcripts of both worlds, simulated once for all views, and turns its wins
into an
e-value against the claim (`attacks.audit.games.betting`); e-BH then names the views for which the claim is
refuted,
such that of all that are named a share of at most α is wrong on average, however the views depend on each
other.

Trials are used in three parts, chunk by chunk: those that teach (a classifier for each view), those that
choose (the
score and the thresholds), and those that are played. A view's score is the classifier's, which knows nothing
of the
algorithm; the likelihood ratio of the gradients that an attack infers from the view; or that of a view that it
contains, which it could compute too: whichever promises most.

Two numbers are told of each view, and only one is simultaneous. That the claim is `refuted` holds for all views
together in the sense of the false discovery rate. `game.epsilon_audited` is a lower bound for its view
alone: of many
such bounds at 95 % one in twenty may be wrong, so the largest of them proves nothing by itself.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import networkx as nx
import numpy as np

from attacks.audit.accounting.intervals import error_rate, log_wealth
from attacks.audit.blackbox.trained import Scored, ViewScores, scored
from attacks.audit.games.betting import Coins, Rule, Tally, choose_rule, e_bh, log_e_ceiling, log_e_value
from attacks.audit.games.game import GameResult, play
from attacks.audit.pair import Infer, Pair
from netsim.adversary import Adversary, AdversaryView
from netsim.arrays import Array, Mask
from netsim.claims import Claim
from netsim.errors import AttackError, PrivacyError

Kind = Literal["link", "transmitter", "door", "node", "coalition", "outside"]
Order: TypeAlias = Any
"""A `networkx.DiGraph` on names of views (networkx ships no types)."""


@dataclass(frozen=True)
class View:
    """One adversary, by name. `knows` names what it hears or is: a view whose `knows` is a part of another's is
    contained in it, if what was recorded agrees (`hasse`), and all that it can tell the other one can tell too.

    `taps` says in words where it sits; `links` and `agents` where to draw it.
    """

    name: str
    kind: Kind
    adversary: Adversary
    knows: frozenset[str]
    taps: str
    links: tuple[tuple[int, int], ...] = ()
    agents: tuple[int, ...] = ()

    def within(self, other: "View") -> bool:
        """Whether the other one knows all that this one knows, and more."""
        return self.knows < other.knows


def _checked(views: Sequence[View]) -> tuple[View, ...]:
    """You get an `AttackError` for no view, and for two of one name."""
    names = [view.name for view in views]
    if not names:
        raise AttackError("no view to look from")
    for name in names:
        if names.count(name) > 1:
            raise AttackError(f"two views are called {name!r}")
    return tuple(views)


def hasse(views: Sequence[View], recorded: Mask | None = None) -> Order:
    """The order of inclusion: an edge from each view to the next larger ones, those with nothing in between.

    `recorded[k, m]`, (views, views): whether the m-th view recorded every value that the k-th one did. Where it did
    not, a message that never got there, there is no inclusion, whatever the views are said to know.
    """
    graph: Any = nx.DiGraph()
    for view in views:
        graph.add_node(view.name, kind=view.kind)
    for k, one in enumerate(views):
        for m, other in enumerate(views):
            if one.within(other) and (recorded is None or recorded[k, m]):
                graph.add_edge(one.name, other.name)
    reduced: Any = nx.transitive_reduction(graph)
    reduced.add_nodes_from(graph.nodes(data=True))
    return reduced


def contained(order: Order, name: str) -> frozenset[str]:
    """All views that a view contains."""
    smaller: set[str] = nx.ancestors(order, name)
    return frozenset(smaller)


SimulateViews = Callable[[int, int], tuple[AdversaryView, ...]]
"""(world 0 or 1, chunk) ↦ what each view saw of independent transcripts of that world, in the order of the views."""
TEACH, CHOOSE = 0.4, 0.15
"""The shares of the chunks that teach and that choose; the others are played."""
ODD = 0.01
"""Probability that some inconsistency is named where there is none."""


@dataclass(frozen=True)
class ViewResult:
    """What one view proves.

    `log_e` is ln of the e-value against the claim, and `refuted` what e-BH makes of all of them. `game` is the
    game of this view by itself: its `epsilon_audited` is marginal (see above), its `ceiling` what so many trials
    could prove. `score` says which score was played, `tally` how the rule did on the coins of the e-value.
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
    """A view did worse, beyond chance, than one that it contains: its score missed what is there to be seen."""

    smaller: str
    larger: str

    def __str__(self) -> str:
        return f"{self.larger} contains {self.smaller}, and did worse: its score missed what the smaller one saw"


@dataclass(frozen=True)
class ViewsResult:
    """All views of one claim. `views` are in the order given, `order` is their Hasse diagram, from small to large.

    `trials` transcripts of each world were simulated, `played` coins tossed with the last of them; `log_e_ceiling`
    is ln of the largest e-value that these can give. `confidence` is 1 − α, of e-BH and of each game alone.
    """

    claim: Claim
    pair: Pair
    views: tuple[ViewResult, ...]
    order: Order
    inconsistent: tuple[_Inconsistency, ...]
    trials: int
    played: int
    log_e_ceiling: float
    confidence: float

    @property
    def refuted(self) -> tuple[ViewResult, ...]:
        """The views for which the claim is refuted, at a false discovery rate of at most 1 − confidence."""
        return tuple(one for one in self.views if one.refuted)

    @property
    def smallest(self) -> tuple[ViewResult, ...]:
        """Those of them that contain no other: where the claim breaks first."""
        names = {one.view.name for one in self.refuted}
        return tuple(one for one in self.refuted if not names & contained(self.order, one.view.name))

    @property
    def needed(self) -> float:
        """ln of the e-value at which a view is refuted even if it is the only one: K/α."""
        return math.log(len(self.views) / error_rate(self.confidence))

    @property
    def powered(self) -> bool:
        """Whether one view alone could have been refuted; if not, that none is says nothing."""
        return self.log_e_ceiling >= self.needed

    def __getitem__(self, name: str) -> ViewResult:
        return next(one for one in self.views if one.view.name == name)

    def above(self, epsilon: float) -> tuple[str, ...]:
        """The views that are proven, as in `refuted`, to exceed an ε at the claim's δ.

        Where ε is an upper end of the exact loss, which no view can exceed, one of the two is wrong.
        """
        e_values = np.array([log_e_value(one.tally, epsilon, self.claim.delta) for one in self.views])
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
    """Look at `claim` on one pair from all `views`, with at least `trials` transcripts of each world.

    `simulate_views` gives `chunk` transcripts at a time, seen from every view; `infer` is the attack on gradients, if
    there is one. `jobs` processes share the work (−1: one per core); the result is the same. You get a `PrivacyError`
    without a claimed number, for ε beyond all floats, and for fewer than three chunks: some transcripts teach, some
    choose, some are played.
    """
    _checked(views)
    epsilon = claim.epsilon
    if epsilon is None or not epsilon < 700:
        raise PrivacyError(f"epsilon_claimed = {epsilon!r}: there is no number that views could refute")
    parts = _split(trials, chunk)
    seeds = [int(seed) for seed in rng.integers(2**62, size=len(views))]
    scores = scored(simulate_views, pair, infer, parts, seeds, jobs, progress)
    return judged(views, pair, claim, scores, confidence, rng)


def judged(
    views: Sequence[View],
    pair: Pair,
    claim: Claim,
    scores: Scored,
    confidence: float,
    rng: np.random.Generator,
) -> ViewsResult:
    """What the scores of every view say of the claim: coins, e-values, e-BH, and the order of the views."""
    epsilon, delta, alpha = claim.epsilon, claim.delta, error_rate(confidence)
    assert epsilon is not None
    order = hasse(views, scores.recorded)
    first = scores.views[0]
    coins = Coins.toss(first.played[0].shape[1], first.played[1].shape[1], rng)
    own = {view.name: one for view, one in zip(views, scores.views, strict=True)}
    chosen = [_chosen(view.name, order, own, epsilon, delta) for view in views]
    tallies = [coins.tally(one.rule, *one.played) for one in chosen]
    log_e = np.array([log_e_value(tally, epsilon, delta) for tally in tallies])
    rejected = e_bh(log_e, alpha)
    games = [
        _game(one, delta, confidence, spawned) for one, spawned in zip(chosen, rng.spawn(len(views)), strict=True)
    ]
    results = tuple(
        ViewResult(view, float(e), bool(refuted), game, one.label, tally)
        for view, e, refuted, game, one, tally in zip(views, log_e, rejected, games, chosen, tallies, strict=True)
    )
    return ViewsResult(
        claim=claim,
        pair=pair,
        views=results,
        order=order,
        inconsistent=_inconsistent(
            order, dict(zip([v.name for v in views], chosen, strict=True)), coins, epsilon, delta
        ),
        trials=first.taught + first.choosing[0].shape[1] + first.played[0].shape[1],
        played=coins.count,
        log_e_ceiling=log_e_ceiling(coins, epsilon, delta),
        confidence=confidence,
    )


@dataclass(frozen=True)
class _Chosen:
    """The score that a view is played with: where it is from, its values by world, and the rule."""

    label: str
    choosing: tuple[Array, Array]
    played: tuple[Array, Array]
    rule: Rule


def _chosen(name: str, order: Order, own: dict[str, ViewScores], epsilon: float, delta: float) -> _Chosen:
    """The most promising score of a view and of those that it contains; where none promises anything, its own."""
    smaller = contained(order, name)
    options: list[_Chosen] = []
    for other in (name, *(one for one in own if one in smaller)):
        scores = own[other]
        for k, label in enumerate(scores.labels):
            choosing = scores.choosing[0][k], scores.choosing[1][k]
            played = scores.played[0][k], scores.played[1][k]
            rule = choose_rule(*choosing, epsilon, delta)
            options.append(_Chosen(label if other == name else f"{label}, of {other}", choosing, played, rule))
    best = max(options, key=lambda option: option.rule.promise)
    return best if best.rule.promise > 0 else options[0]


def _game(chosen: _Chosen, delta: float, confidence: float, rng: np.random.Generator) -> GameResult:
    """The game of one view: its first trials are those that choose."""
    zero, one = (np.concatenate(parts) for parts in zip(chosen.choosing, chosen.played, strict=True))
    share = chosen.played[0].size / zero.size
    return play(zero, one, delta=delta, confidence=confidence, rng=rng, holdout=share)


def _inconsistent(
    order: Order, chosen: dict[str, _Chosen], coins: Coins, epsilon: float, delta: float
) -> tuple[_Inconsistency, ...]:
    """Where a view's rule gained more than that of a larger one, coin by coin, beyond chance."""
    unit = math.exp(epsilon) + delta
    edges: list[tuple[str, str]] = sorted(order.edges)

    def gains(name: str) -> Array:
        right, wrong = coins.right_and_wrong(chosen[name].rule, *chosen[name].played)
        return right / unit - wrong * (unit - delta) / unit

    found = {name: gains(name) for edge in edges for name in edge}
    bar = math.log(max(len(edges), 1) / ODD)
    padding = np.zeros(coins.trials - coins.count)
    return tuple(
        _Inconsistency(smaller, larger)
        for smaller, larger in edges
        if log_wealth(np.concatenate([(found[smaller] - found[larger]) * unit / (1 + unit), padding])) >= bar
    )


def _split(trials: int, chunk: int) -> tuple[range, range, range]:
    """Which chunks teach, choose, and are played."""
    for name, value in (("trials", trials), ("chunk", chunk)):
        if value < 1:
            raise PrivacyError(f"{name} = {value!r}: must be at least 1")
    count = -(-trials // chunk)
    if count < 3:
        raise PrivacyError(f"{trials} trials in chunks of {chunk} make {count}: views need 3 chunks or more")
    teach, choose = max(1, round(TEACH * count)), max(1, round(CHOOSE * count))
    return range(teach), range(teach, teach + choose), range(teach + choose, count)
