"""Who can be seen on a path of 50 agents: by structure, by precision, and from where all of them can."""

import numpy as np
import pytest

from attacks.probe import Basis, Constant, Free, probe_network
from netsim import schedules, topology
from netsim.adversary import Adversary
from netsim.algorithms import Dpp2, Extra, GradientTracking, PrivateGradientDescent
from tests.attacks.probe.scripted import drawn, given, observed, run_script, values, within_bounds, worst

AGENTS = 50
PATH = topology.path(AGENTS)
DESCENT = PrivateGradientDescent(24, schedules.Constant(0.05))
TRACKING = GradientTracking(20, 0.05)
DOOR = Adversary("end", links=(), nodes=(0,))
INSIDER = Adversary("insider", insiders=(0,))
END = {"an insider": INSIDER, "a tap at its door": DOOR}


def seen_from(adversary: Adversary, algorithm=DESCENT, *, constant: bool = False, assumption=None, graph=PATH):
    scripts = drawn(graph.agents, algorithm.rounds + 1, constant=constant)
    run = run_script(scripts, graph, algorithm, adversary)
    return probe_network(run.views[0], gradients=assumption or Free()), run


def seen_lines(hidden: int, algorithm):
    """Gradients that are straight lines in time, seen by an insider at the end of a path."""
    line = np.linspace(0, 1, algorithm.rounds + 1)[:, None, None]
    scripts = [a + line * b for a, b in np.random.default_rng(5).standard_normal((hidden + 1, 2, 1, 1, 2))]
    run = run_script(scripts, topology.path(hidden + 1), algorithm, INSIDER)
    return probe_network(run.views[0], gradients=Basis(degree=1)), run


class TestFromOneEnd:
    @pytest.mark.few("an insider")
    @pytest.mark.parametrize("place", END)
    def test_gradients_that_change_freely_stay_hidden_but_the_neighbors_first(self, place):
        """Every message of agent 1 brings one equation, and a new gradient of its own and of all behind it."""
        found, run = seen_from(END[place])
        own = {0: tuple(range(DESCENT.rounds - 1))} if place == "a tap at its door" else {}
        assert found.seen == own | {1: (0,)}
        assert worst(found, run) < 1e-13
        assert within_bounds(found, run)
        heard = 2 if place == "a tap at its door" else 1
        assert found.equations == heard * DESCENT.rounds
        assert found.rank == heard * (DESCENT.rounds - 1)  # x = 0 at first tells nothing

    def test_a_second_history_of_gradients_is_seen_as_the_same(self):
        """Through the simulator: other gradients of 49 agents in 24 rounds, and the same messages at the end node."""
        found, run = seen_from(DOOR)
        other = found.alternative(seed=1, size=3.0)
        scripts = [np.concatenate([other[i], np.zeros((1, 1, 2))]) for i in range(AGENTS)]
        again = run_script(scripts, PATH, DESCENT, DOOR)
        assert observed(again) == observed(run)
        np.testing.assert_allclose(values(again), values(run), rtol=0, atol=1e-12 * np.abs(values(run)).max())
        truth = given(run)
        changed = [np.abs(other[i] - truth[i]).max(axis=(1, 2)) > 1e-3 for i in range(AGENTS)]
        for i in range(1, AGENTS):
            reached = np.arange(DESCENT.rounds) > (0 if i == 1 else -1)
            assert np.all(changed[i][reached]), i

    def test_what_is_determined_is_sums_over_the_hidden_neighborhood(self):
        found, run = seen_from(INSIDER)
        sums = found.functionals()
        assert len(sums) == found.rank - found.identified == DESCENT.rounds - 2
        first = {(i, t): w for i, t, w in sums[0].terms}
        assert first == pytest.approx({(1, 1): 1.0, (2, 0): 1 / 3})  # agent 1's second gradient, and what 2 sent
        assert [max(i for i, _, _ in each.terms) for each in sums[:20]] == list(range(2, 22))  # one hop a round
        truth = given(run)
        for each in sums:
            assert np.abs(each.of(truth) - each.estimate).max() <= each.rounding
        assert max(each.rounding for each in sums) < 1e-10

    @pytest.mark.parametrize("agents", [10, 20])
    def test_constant_gradients_of_twenty_agents_are_all_seen(self, agents):
        """Where the older study's numbers break down: at 20."""
        algorithm = PrivateGradientDescent(2 * agents, schedules.Constant(0.05))
        graph = topology.path(agents)
        found, run = seen_from(DOOR, algorithm, constant=True, assumption=Constant(), graph=graph)
        assert len(found.seen) == agents
        assert worst(found, run) < 1e-5
        assert within_bounds(found, run)
        assert found.residual < 1e-12

    @pytest.mark.slow
    def test_constant_gradients_of_fifty_are_seen_as_far_as_precision_goes_and_no_further(self):
        found, run = seen_from(DOOR, PrivateGradientDescent(100, schedules.Constant(0.05)), constant=True,
                               assumption=Constant())  # fmt: skip
        last = max(found.seen)
        assert sorted(found.seen) == list(range(last + 1))
        assert 8 <= last < 20
        assert within_bounds(found, run)
        assert worst(found, run) < 1e-5
        conditions = [found.agents[i].amplification for i in range(1, last + 1)]
        assert conditions == sorted(conditions)  # worse with distance
        assert conditions[-1] > 1e4 * conditions[0]
        assert all(row.amplification == np.inf for row in found.visibility()[last + 1 :])
        assert 20 < found.rank < AGENTS
        truth = given(run)
        guesses = [np.abs(found.agents[i].gradients - truth[i][:100]).max() for i in range(30, AGENTS)]
        assert min(guesses) > 1e-2  # what it does not call identified it does not know

    @pytest.mark.slow
    def test_a_wrong_assumption_is_refuted_by_the_residual(self):
        right, _ = seen_from(DOOR, constant=True, assumption=Constant())
        wrong, _ = seen_from(DOOR, constant=False, assumption=Constant())
        assert right.residual < 1e-11
        assert wrong.residual > 1e-3
        assert wrong.assumption == Constant()

    @pytest.mark.parametrize("hidden", [2, 3, 4])
    def test_lines_in_time_are_more_than_one_end_can_tell_of_descent(self, hidden):
        """Of m hidden agents the first is heard. What it gets from the others answers lines by 1, k and λ^k, λ one of
        m − 1 eigenvalues, and its own adds nothing new: m + 1 sequences for 2m coefficients."""
        found, run = seen_lines(hidden, PrivateGradientDescent(30, schedules.Constant(0.05)))
        assert list(found.seen) == [1]  # it starts before the others are heard
        assert found.rank == hidden + 1
        assert worst(found, run) < 1e-9
        assert within_bounds(found, run)
        assert probe_network(run.views[0]).identified == 1

    def test_the_two_messages_of_tracking_tell_lines(self):
        found, run = seen_lines(3, GradientTracking(30, 0.05))
        assert list(found.seen) == [1, 2, 3]
        assert worst(found, run) < 1e-7
        assert within_bounds(found, run)


class TestFromWhereAllFiftyAreSeen:
    """Gradients that change freely: one message must be heard for each."""

    @pytest.mark.slow
    @pytest.mark.parametrize(("algorithm", "adversary"), [
        (DESCENT, Adversary("every third door", links=(), nodes=tuple(range(1, AGENTS, 3)))),
        (DESCENT, Adversary("every second link", links=tuple((i, i + 1) for i in range(0, AGENTS, 2)))),
        (Extra(24, 0.3), Adversary("every second link", links=tuple((i, i + 1) for i in range(0, AGENTS, 2)))),
        (TRACKING, Adversary("every fifth door", links=(), nodes=tuple(range(2, AGENTS, 5)))),
        (Dpp2(20, 0.1, 0.02, 0.5), Adversary("every fifth door", links=(), nodes=tuple(range(2, AGENTS, 5)))),
        (GradientTracking(20, 0.05, variant="atc"),
         Adversary("every third door", links=(), nodes=tuple(range(1, AGENTS, 3)))),
    ], ids=lambda one: getattr(one, "name", type(one).__name__))  # fmt: skip
    def test_exact_recovery_of_all_fifty(self, algorithm, adversary):
        found, run = seen_from(adversary, algorithm)
        assert sorted(found.seen) == list(range(AGENTS))
        missing = {i: len(p.identifiable) - len(found.seen[i]) for i, p in found.agents.items()}
        assert max(missing.values()) <= 3  # the last ones, which no message had time to tell
        assert worst(found, run) < 1e-8
        assert within_bounds(found, run)

    @pytest.mark.slow
    def test_descent_is_not_seen_from_every_fourth_door_and_tracking_is(self):
        """Of three of four agents nobody hears every fourth: descent sends one number for one, tracking two."""
        doors = Adversary("doors", links=(), nodes=tuple(range(1, AGENTS, 4)))
        descent, _ = seen_from(doors)
        tracking, run = seen_from(doors, TRACKING)
        blind = [i for i in range(3, AGENTS, 4)]  # noqa: C416
        assert not set(blind) & {i for i, queries in descent.seen.items() if len(queries) > 2}
        assert all(len(tracking.seen[i]) >= TRACKING.rounds - 2 for i in blind)
        assert worst(tracking, run) < 1e-8

    def test_both_ends_with_their_links_are_not_enough(self):
        found, _ = seen_from(Adversary("ends", links=((0, 1), (48, 49)), nodes=(0, 49)), TRACKING)
        assert found.identified < 0.1 * found.queries
        assert not set(range(5, 45)) & found.seen.keys()


def test_the_table_of_who_is_seen():
    found, _ = seen_from(DOOR)
    table = found.visibility()
    assert [row.agent for row in table] == list(range(AGENTS))
    assert [row.hops for row in table] == list(range(AGENTS))
    assert (table[0].identified, table[0].queries) == (23, 24)
    assert table[1].identified == 1
    assert table[1].amplification >= 1
    assert table[1].stddev == 0
    assert table[2].amplification == table[2].stddev == table[2].rounding == np.inf
