"""Views: e-values by hand, a leak found from where it can be seen, and a sound mechanism accused from nowhere."""

import math
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from attacks.audit.pair import Pair, resemblance
from attacks.audit.trained import Scored, ViewScores
from attacks.audit.views import (
    Coins,
    Rule,
    Tally,
    View,
    ViewsResult,
    audit_views,
    e_bh,
    hasse,
)
from attacks.inference import GradientEstimate, infer
from netsim import topology
from netsim.adversary import Adversary, AdversaryView
from netsim.algorithms import PrivateGradientDescent
from netsim.algorithms.algorithm import InRounds
from netsim.algorithms.planted_faults import SecondMessage
from netsim.claims import Adjacency, Claim, Clip
from netsim.errors import AttackError, PrivacyError
from netsim.mechanisms import Laplace
from netsim.node import Node
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.schedules import Constant
from netsim.simulation import Simulation
from netsim.transcript import Transcript
from netsim.transcript.message import Record
from scenarios.stages.worlds import look, seen_by, views_of


def claim_of(epsilon, delta=0.0):
    failed = () if epsilon is not None else ("a condition",)
    return Claim(epsilon, delta, "by hand", Adjacency(math.inf, "anything"), "ℓ1", failed)


def view(name, knows):
    return View(name, "link", Adversary(name, ((0, 1),)), frozenset(knows), name)


PAIR = Pair(1, (LeastSquares(np.eye(1), np.zeros(1)), LeastSquares(np.eye(1), np.ones(1))), "by hand")
SINGLE = (view("a", "a"), view("b", "b"), view("c", "c"))


@dataclass(frozen=True)
class Releases:
    """Every view hears one Laplace release of its own, of scale 1, which the worlds move by `moves`."""

    moves: tuple[float, ...]
    chunk: int
    seed: int

    def __call__(self, world, index):
        rng = np.random.default_rng([self.seed, world, index])
        values = [rng.laplace(world * move, 1.0, (self.chunk, 1)) for move in self.moves]
        rows = [Record(0.0, "link", "air", k, 0, "exchange", 0, -1, 0, 28, {"x": v}) for k, v in enumerate(values)]
        return tuple(AdversaryView(Adversary(), Transcript((row,), self.chunk), None) for row in rows)


def released(moves, seed=0, trials=400, epsilon=1.0, confidence=0.9) -> ViewsResult:
    return audit_views(
        Releases(moves, trials // 10, seed), SINGLE, PAIR, claim_of(epsilon), trials=trials, chunk=trials // 10,
        confidence=confidence, rng=np.random.default_rng(seed),
    )  # fmt: skip


class TestCheapWorld:
    @pytest.mark.slow
    def test_a_sound_mechanism_is_accused_from_nowhere(self):
        """All three views spend all of the claim. 10 lattices at α = 0.1: more than 4 with a false alarm would have
        a probability below 0.2 % at the nominal rate, and e-values stay far below it."""
        assert sum(bool(released((1.0, 1.0, 1.0), seed).refuted) for seed in range(10)) <= 4

    def test_who_spends_more_is_named(self):
        found = released((1.0, 3.0, 1.0), trials=1500)
        assert [one.view.name for one in found.refuted] == ["b"]
        assert found["b"].game.epsilon_audited > 1
        assert found["b"].log_e > found.needed > found["a"].log_e
        assert found.powered
        assert found.above(1.0) == ("b",)
        assert found.above(3.0) == ()
        assert found.trials == 1500
        assert 0.8 * 2 * 0.45 * 1500 < found.played <= 2 * 0.45 * 1500

    def test_too_few_trials_are_said_to_be_too_few(self):
        assert not released((1.0, 1.0, 1.0), trials=400, epsilon=6.0).powered

    def test_nothing_to_refute_is_refused(self):
        for trials, epsilon, why in ((400, None, "no number"), (400, 1e3, "no number")):
            with pytest.raises(PrivacyError, match=why):
                released((1.0, 1.0, 1.0), trials=trials, epsilon=epsilon)
        with pytest.raises(PrivacyError, match="3 chunks"):
            audit_views(
                Releases((1.0,), 100, 0), SINGLE[:1], PAIR, claim_of(1.0), trials=200, chunk=100, confidence=0.9,
                rng=np.random.default_rng(0),
            )  # fmt: skip
        with pytest.raises(AttackError, match="two views"):
            audit_views(
                Releases((1.0, 1.0), 100, 0), (SINGLE[0], SINGLE[0]), PAIR, claim_of(1.0), trials=400, chunk=100,
                confidence=0.9, rng=np.random.default_rng(0),
            )  # fmt: skip


class TestOrder:
    VIEWS = (view("a", "a"), view("b", "b"), view("ab", "ab"), view("abc", "abc"), view("also a", "a"))

    def test_only_the_next_larger_ones_are_linked(self):
        edges = {("a", "ab"), ("b", "ab"), ("ab", "abc"), ("also a", "ab")}
        assert set(hasse(self.VIEWS).edges) == edges
        assert nx.ancestors(hasse(self.VIEWS), "abc") == {"a", "b", "ab", "also a"}

    def test_what_was_not_recorded_is_not_contained(self):
        recorded = np.ones((5, 5), dtype=bool)
        recorded[0, 2] = False
        assert set(hasse(self.VIEWS, recorded).edges) == {("a", "abc"), ("b", "ab"), ("ab", "abc"), ("also a", "ab")}

    def scored(self, **quality):
        rng = np.random.default_rng(0)

        def scores(name, label):
            shift = quality.get(name, 0.0)
            worlds = [[rng.laplace(w * shift, 1.0, (1, n)) for w in (0, 1)] for n in (300, 900)]
            return ViewScores((label,), tuple(worlds[0]), tuple(worlds[1]), 0)

        return Scored(tuple(scores(v.name, f"score {v.name}") for v in self.VIEWS), np.ones((5, 5), dtype=bool))

    def judged(self, scored):
        return ViewsResult.of(self.VIEWS, PAIR, claim_of(1.0), scored, 0.95, np.random.default_rng(1))

    def test_a_view_can_do_what_those_within_it_can(self):
        """The score of b refutes the claim for b, and for whoever contains it, whose own score says nothing."""
        found = self.judged(self.scored(b=3.0))
        assert {one.view.name for one in found.refuted} == {"b", "ab", "abc"}
        assert [one.view.name for one in found.smallest] == ["b"]
        assert found["abc"].score == "score b, of b"
        assert found["a"].score == "score a"
        assert found.inconsistent == ()

    def test_a_score_that_only_promised_is_pointed_out(self):
        """The larger view's own score does splendidly where it is chosen, and says nothing where it is played."""
        scored = self.scored(b=3.0)
        ab = scored.views[2]
        sure = (np.full((1, 300), -9.0), np.full((1, 300), 9.0))
        cheated = scored._replace(views=(*scored.views[:2], ab._replace(choosing=sure), *scored.views[3:]))
        found = self.judged(cheated)
        assert ("b", "ab") in [(one.smaller, one.larger) for one in found.inconsistent]
        assert "ab contains b, and did worse" in " ".join(map(str, found.inconsistent))


def test_the_resemblance_is_the_likelihood_ratio():
    """Twice ln of it, for Gaussian errors: by hand for one estimate of ∇f(x) = x − target at x = 0."""
    estimate = GradientEstimate(1, 0, np.zeros((3, 1)), np.array([[0.0], [-1.0], [-0.5]]), 0.5)
    zero, one = (float(f.gradient(np.zeros((1, 1)))[0, 0]) for f in PAIR.hypotheses)
    by_hand = [((g - zero) ** 2 - (g - one) ** 2) / 0.25 for g in (0.0, -1.0, -0.5)]
    assert resemblance([estimate], PAIR, 3).tolist() == pytest.approx(by_hand)
    assert resemblance([estimate._replace(agent=0)], PAIR, 3) is None


@dataclass(frozen=True)
class Refusing:
    """An attack that refuses from some call on."""

    calls: list
    until: int

    def __call__(self, view):
        self.calls.append(view)
        if len(self.calls) > self.until:
            raise AttackError("no more")
        return [GradientEstimate(1, 0, np.zeros((view.replicas, 1)), np.zeros((view.replicas, 1)), 1.0)]


@pytest.mark.few(3)
@pytest.mark.parametrize(("until", "scores"), [(0, 1), (6, 2), (12, 2), (10**6, 2)])
def test_what_is_played_has_no_say_in_which_scores_there_are(until, scores):
    """One chunk of each world chooses, seen from three views: an attack that refused there is no score; one that
    refuses later is, and says nothing then."""
    chunks = range(4), range(4, 5), range(5, 10)
    sample = Scored.of(Releases((1.0, 1.0, 1.0), 20, 0), PAIR, Refusing([], until), chunks, [0, 1, 2], 1, None)
    assert [len(view.labels) for view in sample.views] == [scores] * 3
    if scores == 2 and until < 10**6:
        left = [view.played[1][1][-20:] for view in sample.views]
        assert not np.any(left)


# ── on the network ──────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class TellsOneNeighbor(InRounds):
    """Noisy descent of which agent 1 sends its bare gradient to agent 2, who does not read it; if `late` once more
    after the exchange, so that the last one is on its way when the run ends."""

    step: float = 0.2
    bound: float = 0.5
    scale: float = 1.0
    late: bool = False

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            gradient = Clip(self.bound, "l1")(await node.gradient(x))
            if node.id == 1:
                node.send(2, bare=gradient)
            heard = await node.exchange(x=node.privatize(x, Laplace(self.scale)))
            if node.id == 1 and self.late:
                node.send(2, late=gradient)
            x = heard.mix("x") - self.step * gradient
            node.estimate(x)


def world(algorithm, graph, dimension=3, slope=1e3):
    """Agent 1's clipped gradient points one way, or the other."""
    eye = np.eye(dimension)
    parts = [LeastSquares(eye, np.full(dimension, float(i)), 0.5) for i in range(graph.agents)]
    away = slope * np.eye(dimension)[0]
    one, two = Tilted(parts[1], away), Tilted(parts[1], -away)
    problem = Problem((parts[0], one, *parts[2:]))
    return Simulation(problem, graph, algorithm, seed=3), Pair(1, (one, two), "turned round")


def looked(simulation, pair, claim, wanted="all", trials=600, jobs=1, attack=None):
    return look(
        simulation, wanted, pair, pair.hypotheses[1], claim, trials=trials, chunk=100, confidence=0.95, name="it",
        jobs=jobs, infer=attack,
    )  # fmt: skip


@pytest.mark.slow
def test_a_leak_on_one_link_is_found_from_where_that_link_is_seen():
    simulation, pair = world(TellsOneNeighbor(3), topology.ring(5))
    found = looked(simulation, pair, claim_of(3 * 2 * 0.2 * 0.5 / 1.0))
    refuted = {one.view.name for one in found.refuted}
    assert refuted == {"link 1-2", "door 1", "node 2", "coalition 0+2", "coalition 2+3", "coalition 2+4", "outsider"}
    assert [one.view.name for one in found.smallest] == ["link 1-2"]
    assert {one.view.name for one in found.views} > {"link 0-1", "node 0", "coalition 0+3", "link 3-4"}
    assert all(found[name].game.epsilon_audited == found[name].game.ceiling for name in refuted)
    assert found.inconsistent == ()


@pytest.mark.slow
def test_a_view_contains_no_message_that_did_not_reach_it():
    """The tap on the link hears the last one, agent 2 never gets it: neither view contains the other."""
    for late in (False, True):
        simulation, pair = world(TellsOneNeighbor(2, late=late), topology.path(4))
        order = looked(simulation, pair, claim_of(1.0), trials=60).order
        assert ("link 1-2" in nx.ancestors(order, "node 2")) is not late
        assert "link 1-2" in nx.ancestors(order, "door 1")  # who sent it had it


@pytest.mark.slow
def test_processes_share_the_work_and_change_nothing():
    simulation, pair = world(SecondMessage(3, scale=0.8), topology.path(4))
    claim = claim_of(1.0)
    alone, shared = (looked(simulation, pair, claim, "nodes", trials=200, jobs=jobs) for jobs in (1, 2))
    assert alone.views == shared.views
    assert list(alone.order.edges) == list(shared.order.edges)


@pytest.mark.slow
def test_inferred_gradients_are_a_score_where_they_can_be_inferred():
    """Their likelihood ratio needs no learning: with few trials it does what the classifier cannot yet. On a path the
    leaf's gradients can be inferred from its link."""
    algorithm = PrivateGradientDescent(6, Constant(0.2), Constant(0.05))
    simulation, pair = world(algorithm, topology.path(3), dimension=12, slope=0.15)
    views = views_of(simulation, 1, "links")
    assert [one.name for one in views] == ["link 0-1", "link 1-2"]
    found = looked(simulation, pair, claim_of(1.0), "nodes", trials=300, attack=infer)
    assert found["door 1"].score == "inferred gradients"
    assert found["door 1"].refuted
    assert not found["node 0"].score.startswith("inferred")  # it does not hear agent 2


def test_both_worlds_are_those_of_the_audit():
    """The same noise as `scenarios.stages.worlds.worlds`, whoever listens."""
    from scenarios.stages.worlds import worlds

    simulation, pair = world(TellsOneNeighbor(2), topology.ring(4))
    views = views_of(simulation, 1, "nodes")
    door = seen_by(simulation, 1, pair.hypotheses[1], 20, views)(1, 3)[0]
    audited = worlds(simulation, 1, pair.hypotheses[1], 20)(1, 3).view
    ours, theirs = (
        [(r.event, r.sender, r.number, *(v.tobytes() for v in r.values.values())) for r in seen.at_node(1)]
        for seen in (door, audited)
    )
    assert ours == theirs


ALWAYS = Rule(0.5, 0.5, 0.0)
"""Guesses every coin by a score of 0 or 1."""


@given(st.lists(st.floats(-5, 8), min_size=1, max_size=12), st.sampled_from([0.01, 0.05, 0.3]))
@settings(max_examples=150, deadline=None)
def test_e_bh_is_its_definition(log_e, alpha):
    """The largest k such that k of the e-values are at least K/(αk); these are rejected."""
    found = e_bh(np.array(log_e), alpha)
    ranked = sorted(log_e, reverse=True)
    count = len(log_e)
    sizes = [k for k in range(1, count + 1) if ranked[k - 1] >= math.log(count / alpha) - math.log(k)]
    k = max(sizes, default=0)
    assert found.sum() == k
    assert k == 0 or min(np.array(log_e)[found]) >= ranked[k - 1]


def test_e_bh_refuses_what_is_no_level():
    with pytest.raises(PrivacyError, match="alpha"):
        e_bh(np.zeros(3), 1.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 0.05), (3.0, 0.01)])
def test_the_mean_e_value_of_what_spends_all_of_the_claim_is_one(epsilon, delta):
    """It tells outright with probability δ, else by randomized response: exactly, by the binomial law."""
    coins = 60
    right = delta + (1 - delta) / (1 + math.exp(-epsilon))
    tallies = [Tally(k, coins - k, coins, coins) for k in range(coins + 1)]
    chances = stats.binom.pmf(np.arange(coins + 1), coins, right)
    mean = sum(c * math.exp(t.log_e_value(epsilon, delta)) for c, t in zip(chances, tallies, strict=True))
    assert mean == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("trials_0", "trials_1"), [(5, 5), (8, 2)])
def test_stopping_favors_no_world(trials_0, trials_1):
    """Who always bets on one world gains nothing on average, however few trials that world has."""
    rng = np.random.default_rng(0)
    worlds = [Coins.toss(trials_0, trials_1, rng).world for _ in range(4000)]
    gains = [2 * int(world.sum()) - world.size for world in worlds]
    assert abs(np.mean(gains)) < 4.5 * np.std(gains) / math.sqrt(len(gains))


def test_the_ceiling_is_all_right():
    coins = Coins.toss(300, 300, np.random.default_rng(1))
    tally = coins.tally(ALWAYS, np.zeros(300), np.ones(300))
    assert (tally.right, tally.wrong) == (coins.world.size, 0)
    all_right = Tally(coins.world.size, 0, coins.world.size, coins.trials)
    assert tally.log_e_value(1.0, 0.0) == all_right.log_e_value(1.0, 0.0)


def _responses(epsilon: float, shape: tuple[int, ...], rng: np.random.Generator):
    truth = 1 / (1 + math.exp(-epsilon))
    return (rng.random(shape) > truth).astype(float), (rng.random(shape) < truth).astype(float)


@pytest.mark.few(1)
@pytest.mark.parametrize("dependent", [False, True], ids=["independent", "all the same noise"])
def test_the_false_discovery_rate_stays_at_or_below_nominal(dependent):
    """Seven sound views that spend all of the claim, three that spend twice as much; 400 repetitions at α = 0.2."""
    rng, alpha, repetitions, count = np.random.default_rng(5), 0.2, 400, 120
    shares, power = [], []
    for _ in range(repetitions):
        zero, one = _responses(1.0, (10, count), rng)
        if dependent:
            zero[:7], one[:7] = zero[0], one[0]
        zero[7:], one[7:] = _responses(2.0, (3, count), rng)
        coins = Coins.toss(count, count, rng)
        log_e = [coins.tally(ALWAYS, z, o).log_e_value(1.0, 0.0) for z, o in zip(zero, one, strict=True)]
        found = e_bh(np.array(log_e), alpha)
        shares.append(found[:7].sum() / max(found.sum(), 1))
        power.append(found[7:].mean())
    room = 4 * np.std(shares) / math.sqrt(repetitions)
    assert np.mean(shares) <= alpha + room
    assert np.mean(power) > 0.5


def test_a_rule_is_chosen_for_its_claim():
    """Scores of a Laplace release: against a larger claim only rarer, surer guesses pay."""
    rng = np.random.default_rng(2)
    zero, one = rng.laplace(0, 0.25, 4000), rng.laplace(1, 0.25, 4000)
    small, large = Rule.chosen(zero, one, 1.0, 0.0), Rule.chosen(zero, one, 3.0, 0.0)
    assert small.low <= small.high
    assert large.high - large.low > small.high - small.low
    assert small.promise > large.promise > 0
    nothing = Rule.chosen(zero, zero[::-1], 1.0, 0.0)
    assert nothing.promise <= 0


def test_infinite_scores_are_scores_and_nan_is_none():
    zero, one = np.full(50, -np.inf), np.full(50, np.inf)
    rule = Rule.chosen(zero, one, 2.0, 0.0)
    coins = Coins.toss(50, 50, np.random.default_rng(0))
    assert coins.tally(rule, zero, one).right == coins.world.size
    with pytest.raises(PrivacyError, match="NaN"):
        Rule.chosen(np.array([np.nan]), one, 2.0, 0.0)
