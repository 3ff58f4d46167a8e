"""The view lattice: a leak is found from where it can be seen, and a sound mechanism is accused from nowhere."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from attacks.audit.pair import Pair, resemblance
from attacks.audit.trained import Scored, ViewScores, scored
from attacks.audit.views import View, ViewsResult, audit_views, contained, hasse, judged
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
from netsim.transcript.record import Record, Transcript
from scenarios.stages.worlds import look, seen_by, views_of


def claim_of(epsilon, delta=0.0):
    return Claim(epsilon, delta, "by hand", Adjacency(math.inf, "anything"), "ℓ1")


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
        assert contained(hasse(self.VIEWS), "abc") == {"a", "b", "ab", "also a"}

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
        return judged(self.VIEWS, PAIR, claim_of(1.0), scored, 0.95, np.random.default_rng(1))

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


@pytest.mark.parametrize(("until", "scores"), [(0, 1), (6, 2), (12, 2), (10**6, 2)])
def test_what_is_played_has_no_say_in_which_scores_there_are(until, scores):
    """One chunk of each world chooses, seen from three views: an attack that refused there is no score; one that
    refuses later is, and says nothing then."""
    chunks = range(4), range(4, 5), range(5, 10)
    sample = scored(Releases((1.0, 1.0, 1.0), 20, 0), PAIR, Refusing([], until), chunks, [0, 1, 2], 1, None)
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


def test_a_leak_on_one_link_is_found_from_where_that_link_is_seen():
    simulation, pair = world(TellsOneNeighbor(3), topology.ring(5))
    found = looked(simulation, pair, claim_of(3 * 2 * 0.2 * 0.5 / 1.0))
    refuted = {one.view.name for one in found.refuted}
    assert refuted == {"link 1-2", "door 1", "node 2", "coalition 0+2", "coalition 2+3", "coalition 2+4", "outsider"}
    assert [one.view.name for one in found.smallest] == ["link 1-2"]
    assert {one.view.name for one in found.views} > {"link 0-1", "node 0", "coalition 0+3", "link 3-4"}
    assert all(found[name].game.epsilon_audited == found[name].game.ceiling for name in refuted)
    assert found.inconsistent == ()


def test_a_view_contains_no_message_that_did_not_reach_it():
    """The tap on the link hears the last one, agent 2 never gets it: neither view contains the other."""
    for late in (False, True):
        simulation, pair = world(TellsOneNeighbor(2, late=late), topology.path(4))
        order = looked(simulation, pair, claim_of(1.0), trials=60).order
        assert ("link 1-2" in contained(order, "node 2")) is not late
        assert "link 1-2" in contained(order, "door 1")  # who sent it had it


def test_processes_share_the_work_and_change_nothing():
    simulation, pair = world(SecondMessage(3, scale=0.8), topology.path(4))
    claim = claim_of(1.0)
    alone, shared = (looked(simulation, pair, claim, "nodes", trials=200, jobs=jobs) for jobs in (1, 2))
    assert alone.views == shared.views
    assert list(alone.order.edges) == list(shared.order.edges)


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
    """The same noise as `scenarios.stages.runner.worlds`, whoever listens."""
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
