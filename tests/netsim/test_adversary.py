"""What an adversary hears: exactly its taps, minus what it misses, and never anything private."""

import random
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from netsim.adversary import Adversary, Around, Cut, RandomShare, Tap
from netsim.algorithms import DPRecal, PrivateGradientDescent
from netsim.errors import ScenarioError
from netsim.network.laws import ConstantDelay, UniformDelay
from netsim.network.links import LinkLaw
from netsim.schedules import Constant
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Simulation
from netsim.topology import from_edges, path, ring
from netsim.transcript.message import EVERYBODY
from tests.worlds import refusal, regression_problem

FALSE_ALARM = 1e-8
ROUNDS = 6
ONE_SECOND = LinkLaw(ConstantDelay(1.0))


def simulation(*adversaries: Adversary, links: LinkLaw = ONE_SECOND, rounds=ROUNDS) -> Simulation:
    algorithm = PrivateGradientDescent(rounds, Constant(0.1), Constant(1.0))
    return Simulation(
        regression_problem(), ring(5), algorithm, NetworkSettings(links), adversaries=adversaries, seed=2,
        recording=Recording(measure=False),
    )  # fmt: skip


def keys(rows):
    return [(r.time, r.place, r.event, r.sender, r.receiver, r.kind, r.number, r.sequence, r.attempt) for r in rows]


# ── where it sits ───────────────────────────────────────────────────────────────────────────────────────
def test_it_hears_both_directions_of_its_links_and_no_other():
    adversary = Adversary(links=((1, 0), (0, 1), (2, 3), (1, 0)))  # named twice, captured once
    assert adversary.tapped(ring(5)) == {(0, 1), (1, 0), (2, 3), (3, 2)}
    run = simulation(adversary).run()
    heard = [(r.sender, r.receiver) for r in run.views[0].transcript]
    assert set(heard) == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert len(heard) == 4 * ROUNDS


def test_all_links_is_every_packet_of_the_run():
    links = LinkLaw(UniformDelay(0.1, 1.0), loss=0.3, reliable=True)
    run = simulation(Adversary(), links=links).run()
    assert len(run.views[0].transcript) == run.traffic["packets_sent"]
    assert sum(r.size for r in run.views[0].transcript) == run.traffic["bytes_sent"]


def test_a_node_tap_sees_each_message_once_although_links_repeat_it():
    links = LinkLaw(UniformDelay(0.1, 1.0), loss=0.3, reliable=True)
    run = simulation(Adversary(links=(), nodes=(2,)), links=links).run()
    rows = run.views[0].transcript.at_node(2)
    assert len(rows) == len(run.views[0].transcript)
    assert run.traffic["packets_lost"] > 0
    expected = {("sent", 2, EVERYBODY, k) for k in range(ROUNDS)}
    expected |= {("received", j, 2, k) for j in (1, 3) for k in range(ROUNDS)}
    seen = [(r.event, r.sender, r.receiver, r.number) for r in rows]
    assert len(seen) == len(set(seen))
    assert set(seen) == expected


def test_node_rows_are_in_the_order_in_which_the_agent_lived_them():
    """An agent's message of round k leaves after both of its neighbors' of round k − 1 came in."""
    run = simulation(Adversary(links=(), nodes=(2,)), links=LinkLaw(UniformDelay(0.0, 1.0))).run()
    rows = run.views[0].transcript.at_node(2)
    order = [(r.event, r.sender, r.number) for r in rows]
    times = [r.time for r in rows]
    assert times == sorted(times)
    for k in range(1, ROUNDS):
        sent = order.index(("sent", 2, k))
        last_received = max(order.index(("received", j, k - 1)) for j in (1, 3))
        assert last_received < sent
        assert times[last_received] == times[sent]  # at that very instant
    assert order[0] == ("sent", 2, 0)


def test_node_rows_of_links_without_delay_keep_that_order_too():
    run = simulation(Adversary(links=(), nodes=(1, 2)), links=LinkLaw()).run()
    for agent, others in ((1, (0, 2)), (2, (1, 3))):
        order = [(r.event, r.sender, r.number) for r in run.views[0].transcript.at_node(agent)]
        for k in range(1, ROUNDS):
            before = order[: order.index(("sent", agent, k))]
            assert {("received", j, k - 1) for j in others} <= set(before)
            assert ("received", others[0], k) not in before


def test_a_walk_passes_doors_in_turns():
    algorithm = DPRecal(0.1, activations=60, stddev=0.5)
    run = Simulation(regression_problem(4), path(4), algorithm, adversaries=(Adversary(links=(), nodes=(1,)),)).run()
    events = [r.event for r in run.views[0].transcript.at_node(1)]
    assert len(events) > 10
    assert events == (["received", "sent"] * len(events))[: len(events)]


GRID = from_edges(6, [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)])
"""Two rows of three."""


@pytest.mark.parametrize(
    ("rule", "links"),
    [
        (Around((4,)), {(3, 4), (4, 5), (1, 4)}), (Around((0, 1)), {(0, 1), (0, 3), (1, 2), (1, 4)}),
        (Cut((0, 3)), {(0, 1), (3, 4)}), (Cut((0, 1, 2, 3, 4)), {(4, 5), (2, 5)}),
        (RandomShare(1.0), set(GRID.edges)), (RandomShare(0.0), set()),
    ],
)  # fmt: skip
def test_rules_pick_links(rule, links):
    assert Adversary(links=rule).tapped(GRID) == links | {(j, i) for i, j in links}


def test_a_random_share_is_drawn_by_its_seed_and_every_link_gets_its_turn():
    picks = [RandomShare(3 / 7, seed).pick(GRID) for seed in range(300)]
    assert all(len(pick) == 3 for pick in picks)
    assert picks[5] == RandomShare(3 / 7, 5).pick(GRID)
    assert picks[5] == set(random.Random(5).sample(GRID.edges, 3))
    counts = [sum(edge in pick for pick in picks) for edge in GRID.edges]
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        (lambda: Around((1, 6)), "links.around[1]"), (lambda: Cut((-1,)), "links.cut[0]"),
        (lambda: Cut(tuple(range(6))), "links.cut"), (lambda: RandomShare(1.5), "share"),
    ],
)  # fmt: skip
def test_a_rule_that_picks_nothing_sensible_is_refused(rule, field):
    assert refusal(lambda: Adversary(links=rule()).tapped(GRID)).field == field


class TestClocks:
    def test_each_link_is_off_by_a_constant_of_its_own(self):
        exact, off = Adversary("exact"), Adversary("off", clock_error=0.25)
        run = simulation(exact, off, rounds=40).run()
        true, told = (view.transcript for view in run.views)
        assert len(true) == len(told)
        when = {(r.sender, r.receiver, r.number): r.time for r in true}
        errors = {}
        for r in told:
            edge = (min(r.sender, r.receiver), max(r.sender, r.receiver))
            errors.setdefault(edge, []).append(r.time - when[r.sender, r.receiver, r.number])
        assert len(errors) == 5
        assert all(np.ptp(each) < 1e-9 for each in errors.values())
        assert len({round(each[0], 6) for each in errors.values()}) == 5

    def test_the_errors_have_the_standard_deviation_that_was_asked_for(self):
        tap = Tap(Adversary(clock_error=0.5), random.Random(1))
        for _ in range(2000):
            tap.receiver()((0.0, 0, 1, None))
        errors = [heard[0] for heard in tap._captured]
        assert stats.kstest(errors, stats.norm(scale=0.5).cdf).pvalue > FALSE_ALARM
        assert np.std(errors) == pytest.approx(0.5, rel=0.1)

    def test_rows_are_in_the_order_of_the_clocks(self):
        run = simulation(Adversary(clock_error=3.0), rounds=20).run()
        times = [r.time for r in run.views[0].transcript]
        assert times == sorted(times)

    def test_a_negative_one_is_refused(self):
        with pytest.raises(ScenarioError, match="clock_error"):
            Adversary(clock_error=-1.0)


# ── what it misses ──────────────────────────────────────────────────────────────────────────────────────
def test_it_misses_its_share_of_what_is_on_the_air_and_nothing_at_doors():
    rounds = 400
    deaf, keen = Adversary("deaf", nodes=(0,), capture_loss=0.3), Adversary("keen", nodes=(0,))
    run = simulation(deaf, keen, rounds=rounds).run()
    missed, complete = (view.transcript for view in run.views)
    air = [r for r in missed if r.place == "link"]
    assert len(complete.on_links()) == 10 * rounds
    assert stats.binomtest(len(air), 10 * rounds, 0.7).pvalue > FALSE_ALARM
    assert set(keys(air)) < set(keys(complete))
    assert keys(missed.at_node(0)) == keys(complete.at_node(0))
    assert len(missed.at_node(0)) == 3 * rounds


def test_every_attempt_is_a_chance_to_hear():
    """With retransmissions an eavesdropper that misses half hears more than half of the messages."""
    links = LinkLaw(ConstantDelay(0.1), loss=0.6, reliable=True)
    run = simulation(Adversary(capture_loss=0.5), links=links, rounds=60).run()
    heard = len(run.views[0].transcript.on_links())
    assert stats.binomtest(heard, 600, 0.5, alternative="greater").pvalue < FALSE_ALARM


def test_two_adversaries_miss_different_packets():
    one, two = Adversary("one", capture_loss=0.5), Adversary("two", capture_loss=0.5)
    run = simulation(one, two, rounds=40).run()
    first, second = (set(keys(view.transcript)) for view in run.views)
    assert first - second
    assert second - first


# ── what it is handed ───────────────────────────────────────────────────────────────────────────────────
def test_what_is_public():
    sim = replace(simulation(Adversary()), value_range=(0.0, 1.0))
    public = sim.run().views[0].public
    assert public.algorithm == sim.algorithm
    assert (public.agents, public.dimension, public.loss, public.ridge) == (5, 3, "ridge", 0.1)
    assert public.neighbors[0] == (1, 4)
    for agent, row in enumerate(public.weights):
        assert np.array_equal(row, ring(5).weights[agent, [agent, *public.neighbors[agent]]])
    assert public.value_range == (0.0, 1.0)


def test_a_view_has_as_many_replicas_as_the_run():
    run = replace(simulation(Adversary()), replicas=7).run()
    assert run.views[0].replicas == 7
    assert all(r.values["x"].shape == (7, 3) for r in run.views[0].transcript)


# ── errors ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_capture_loss_that_is_no_share_is_a_scenario_error(share):
    assert refusal(Adversary, capture_loss=share).field == "capture_loss"


def test_a_tap_that_is_not_there_is_a_scenario_error_that_says_what_is():
    error = refusal(simulation, Adversary(), Adversary("second", links=((0, 1), (0, 2))))
    assert error.field == "adversaries[1].links[1]"
    assert "[0, 1], [0, 4], [1, 2]" in str(error)
    for wrong in (5, -1):
        error = refusal(simulation, Adversary(nodes=(0, wrong)))
        assert error.field == "adversaries[0].nodes[1]"
        assert "0 … 4" in str(error)


def test_two_adversaries_of_one_name_would_miss_the_same_packets():
    with pytest.raises(ScenarioError, match="used twice") as caught:
        simulation(Adversary(), Adversary())
    assert caught.value.field == "adversaries[1].name"


def test_links_that_are_no_links_are_a_scenario_error():
    with pytest.raises(ScenarioError, match="links = 'some': is a text; allowed: 'all', or "):
        Adversary(links="some")
