"""When agents act: Poisson clocks, compute times, agents that go down and come back."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from attacks.inference import infer
from attacks.replay import replay
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, Clip, PrivateGradientDescent, Recal
from netsim.claims import Adjacency
from netsim.errors import DeadlockError, ProtocolError, ScenarioError, StalledError, TranscriptError
from netsim.network.laws import ConstantDelay, RandomOutages, Scheduled, Switch, UniformDelay
from netsim.network.links import AccessLaw, ExchangePolicy, LinkLaw
from netsim.node import Node
from netsim.randomness import Streams, coins_of
from netsim.readers.live import Downtime, PoissonClock
from netsim.schedules import Constant
from netsim.simulation import Simulation
from netsim.topology import complete, ring
from tests.worlds import regression_problem, simulated

RELIABLE = LinkLaw(UniformDelay(0.01, 0.03), loss=0.1, reliable=True)
AT_ONCE = ExchangePolicy(0.0)


def simulation(algorithm: Algorithm, topology, links=RELIABLE, **options) -> Simulation:
    return simulated(regression_problem(topology.agents, 60, 0.5), topology, algorithm, links, **options)


def descent(rounds: int, scale: float = 0.0) -> PrivateGradientDescent:
    return PrivateGradientDescent(rounds, Constant(0.1), Constant(scale))


def points(run) -> list[np.ndarray]:
    return [query.point for queries in run.truth.queries for query in queries]


def same(one, other) -> bool:
    pairs = zip(points(one), points(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


# ── clocks ──────────────────────────────────────────────────────────────────────────────────────────────
def test_rounds_begin_at_the_ticks_of_a_poisson_clock():
    run = simulation(
        descent(400), ring(5), LinkLaw(), activation=PoissonClock(4.0), exchange_policy=AT_ONCE, seed=2
    ).run()
    waits = []
    for queries in run.truth.queries:
        times = [0.0, *(query.time for query in queries)]
        waits += list(np.diff(times))
    assert len(waits) == 2000
    assert stats.kstest(waits, stats.expon(scale=0.25).cdf).pvalue > 1e-3
    first, second = (np.diff([q.time for q in run.truth.queries[i]]) for i in (0, 1))
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(len(first))  # clocks of their own


def test_clocks_change_when_rounds_happen_and_not_what_where_agents_wait_for_all():
    plain = simulation(descent(30), ring(5)).run()
    ticking = simulation(descent(30), ring(5), activation=PoissonClock(2.0)).run()
    assert same(plain, ticking)
    assert ticking.time > 30 * 0.5  # the slowest of five clocks, thirty times


def test_a_token_waits_for_its_holders_clock():
    walk = Recal(step=0.1, activations=600)
    plain = simulation(walk, ring(5), LinkLaw()).run()
    ticking = simulation(walk, ring(5), LinkLaw(), activation=PoissonClock(5.0)).run()
    assert same(plain, ticking)
    assert plain.time == 0
    assert stats.gamma(600, scale=0.2).cdf(ticking.time) == pytest.approx(0.5, abs=0.499)


# ── compute times ───────────────────────────────────────────────────────────────────────────────────────
def test_everybody_waits_for_a_straggler():
    slow = simulation(
        descent(20), ring(5), LinkLaw(), compute=ConstantDelay(0.1), compute_laws={3: ConstantDelay(1.0)}
    )
    run = slow.run()
    assert run.time == pytest.approx(20 * 1.0)
    assert run.activations == (20,) * 5
    assert slow.public().query_times == (0.1, 0.1, 0.1, 1.0, 0.1)
    assert same(run, simulation(descent(20), ring(5), LinkLaw()).run())


def test_nobody_waits_for_a_straggler_where_exchanges_have_a_deadline():
    run = simulation(
        descent(20), ring(5), LinkLaw(), compute=ConstantDelay(0.1), compute_laws={3: ConstantDelay(1.0)},
        exchange_policy=ExchangePolicy(0.05),
    ).run()  # fmt: skip
    ends = [max(query.time for query in queries) for queries in run.truth.queries]
    assert ends[3] == pytest.approx(20 * 1.0)
    # a round of a straggler's neighbor takes its work, and the deadline where the straggler has not answered
    assert max(ends[2], ends[4]) == pytest.approx(20 * 0.1 + 19 * 0.05)
    assert max(ends[:2]) <= max(ends[2], ends[4]) + 1e-9


# ── down and up ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("algorithm", [descent(40, 0.3), Recal(step=0.1, activations=400)], ids=["rounds", "token"])
@pytest.mark.parametrize("effect", ["offline", "restart_with_state"])
def test_agents_that_keep_their_state_change_when_things_happen_and_not_what(algorithm, effect):
    often = Downtime(RandomOutages(mean_up=0.5, mean_down=0.3), effect)
    plain = simulation(algorithm, ring(5), seed=4).run()
    down = simulation(algorithm, ring(5), seed=4, downtimes={1: often, 3: often}).run()
    assert same(plain, down)
    assert down.time > 1.2 * plain.time
    assert down.traffic["packets_lost"] > plain.traffic["packets_lost"]


def test_an_agent_that_stands_still_does_nothing_while_it_is_down():
    down = Downtime(Scheduled(((0.0, 0.4), (1.0, 3.0))))
    run = simulation(
        descent(60), ring(5), LinkLaw(), compute=ConstantDelay(0.1), downtimes={2: down},
        exchange_policy=ExchangePolicy(0.05),
    ).run()  # fmt: skip
    times = [query.time for query in run.truth.queries[2]]
    assert not [t for t in times if 0 <= t < 0.4 or 1.0 <= t < 3.0]
    others = [query.time for query in run.truth.queries[0]]
    assert len([t for t in others if 1.0 <= t < 3.0]) > 10


def test_an_agent_that_is_offline_goes_on_alone():
    away = Downtime(Scheduled(((1.0, 3.0),)), "offline")
    run = simulation(
        descent(60), ring(5), LinkLaw(ConstantDelay(0.01)), compute=ConstantDelay(0.1), downtimes={2: away},
        exchange_policy=ExchangePolicy(0.05), adversaries=(Adversary(nodes=(2,)),),
    ).run()  # fmt: skip
    assert len([q for q in run.truth.queries[2] if 1.0 <= q.time < 3.0]) > 10
    door = run.views[0].at_node(2)
    assert [row for row in door if row.event == "sent" and 1.0 <= row.time < 3.0]
    assert not [row for row in door if row.event == "received" and 1.0 <= row.time < 3.0]
    air = [row for row in run.views[0].transcript if row.event == "air" and 2 in (row.sender, row.receiver)]
    assert not [row for row in air if 1.0 <= row.time < 3.0]  # nobody hears who is not on the air


def test_an_agent_that_lost_its_state_begins_anew():
    lost = Downtime(Scheduled(((2.0, 2.5),)), "restart_without_state")
    options = {"compute": ConstantDelay(0.1), "exchange_policy": ExchangePolicy(0.05)}
    run = simulation(descent(60), complete(4), LinkLaw(), downtimes={2: lost}, **options).run()
    queries = run.truth.queries[2]
    begun = [k for k, query in enumerate(queries) if not query.point.any()]
    assert [queries[k].time >= 2.5 for k in begun] == [False, True]
    assert not [query for query in queries if 2.0 < query.time < 2.5]
    for i in (0, 1, 3):  # the others went on, and the run ended when they did
        assert run.activations[i] == 60
        assert np.abs(run.truth.queries[i][-1].point).max() > 0.1
    assert run.activations[2] < 60 + begun[1]


@dataclass(frozen=True)
class Counting(Algorithm):
    """Tells how many rounds of its own it has done."""

    rounds: int

    async def run(self, node: Node) -> None:
        for k in range(self.rounds):
            await node.exchange(x=node.zeros() + k)
            await node.gradient(node.zeros())
            node.estimate(node.zeros())


def test_numbers_of_messages_go_on_where_the_code_begins_anew():
    lost = Downtime(Scheduled(((2.0, 2.5),)), "restart_without_state")
    run = simulation(
        Counting(40), ring(4), RELIABLE, downtimes={2: lost}, compute=ConstantDelay(0.1),
        adversaries=(Adversary(links=(), nodes=(2,)),), measure=False,
    ).run()  # fmt: skip
    sent = [row for row in run.views[0].at_node(2) if row.event == "sent"]
    assert [row.number for row in sent] == list(range(len(sent)))
    received = [int(row.values["x"][0, 0]) for row in sent]
    restart = received.index(0, 1)
    assert received[:restart] == list(range(restart))
    assert received[restart:] == list(range(len(received) - restart))
    assert all(count == 40 for i, count in enumerate(run.activations) if i != 2)  # nobody waited in vain


def test_a_token_that_is_lost_with_its_holder_is_named():
    lost = Downtime(Scheduled(((1.01, 1.02),)), "restart_without_state")  # the 68th holder is 1 or 3, never 0
    holders = {1: lost, 3: lost}
    with pytest.raises(DeadlockError, match="waits for any message"):
        simulation(
            Recal(step=0.1, activations=4000), ring(4), LinkLaw(), compute=ConstantDelay(0.015), downtimes=holders
        ).run()


def test_agents_that_begin_anew_for_ever_are_named(monkeypatch):
    monkeypatch.setattr("netsim.simulation.FRUITLESS", 1_000)
    often = Downtime(RandomOutages(0.01, 0.01), "restart_without_state")
    with pytest.raises(StalledError, match=r"began anew 1,000 times.*none closed a round"):
        simulation(
            descent(5), ring(4), LinkLaw(), compute=ConstantDelay(1.0), downtimes=dict.fromkeys(range(4), often)
        ).run()


def test_an_agent_that_is_down_for_good_is_named():
    gone = Downtime(Scheduled(((0.5, np.inf),)))
    for links in (LinkLaw(ConstantDelay(0.1)), RELIABLE):  # reliable links do not send for ever to nobody
        with pytest.raises(DeadlockError, match="agent 1 is down for good"):
            simulation(descent(50), ring(4), links, downtimes={1: gone}).run()


def test_a_link_that_is_down_for_good_ends_in_a_deadlock_that_is_named():
    gone = LinkLaw(ConstantDelay(0.1), outages=Scheduled(((0.5, np.inf),)), reliable=True)
    with pytest.raises(DeadlockError, match="agent 1 waits for exchange"):
        simulation(descent(50), ring(4), link_laws={(0, 1): gone}).run()


def test_nothing_is_inferred_of_who_may_have_begun_anew_and_no_replay_follows_it():
    lost = Downtime(Scheduled(((0.11, 0.2),)), "restart_without_state")
    run = simulation(
        descent(12), ring(4), RELIABLE, downtimes={2: lost}, compute=ConstantDelay(0.05),
        adversaries=(Adversary(nodes=(1, 2)),),
    ).run()  # fmt: skip
    view = run.views[0]
    agents = {e.agent for e in infer(view)}
    assert 2 not in agents
    assert {0, 1, 3} <= agents
    with pytest.raises(TranscriptError, match="begun anew"):
        replay(view, 2, run.simulation.problem.objectives[2], coins_of(Streams(0), 2))
    objective = run.simulation.problem.objectives[1]
    assert replay(view, 1, objective, coins_of(Streams(0), 1)).identical


def test_a_run_with_downtimes_conserves_packets_and_is_the_same_every_time():
    often = Downtime(RandomOutages(0.5, 0.3), "restart_without_state")

    def run():
        return simulation(
            descent(40), ring(5), LinkLaw(UniformDelay(0.01, 0.03), loss=0.2), downtimes={1: often, 3: often},
            compute=UniformDelay(0.01, 0.1), activation=PoissonClock(5.0), exchange_policy=ExchangePolicy(0.1),
            adversaries=(Adversary(nodes=(1,)),),
        ).run()  # fmt: skip

    one, two = run(), run()
    t = one.traffic
    for unit in ("packets", "bytes"):
        ends = sum(t[f"{unit}_{end}"] for end in ("delivered", "lost", "dropped", "in_flight"))
        assert t[f"{unit}_sent"] + t[f"{unit}_duplicated"] == ends
    assert same(one, two)
    assert [row[:10] for row in one.views[0].transcript] == [row[:10] for row in two.views[0].transcript]


# ── what is wrong ───────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("rate", [0.0, -1.0, np.inf, np.nan])
def test_a_clock_has_a_rate(rate):
    with pytest.raises(ScenarioError, match="rate"):
        PoissonClock(rate)


@pytest.mark.parametrize("field", ["compute_laws", "downtimes"])
def test_agents_are_there(field):
    law = {7: ConstantDelay(1.0) if field == "compute_laws" else Downtime(Scheduled(()))}
    with pytest.raises(ScenarioError, match=f"{field} = 7: no such agent"):
        simulation(descent(5), ring(4), **{field: law})


# ── either is down ──────────────────────────────────────────────────────────────────────────────────────
def flips_of(switch: Switch) -> list[float]:
    flips = [switch.next_change(0.0)]
    while flips[-1] < np.inf:
        flips.append(switch.next_change(flips[-1]))
    return flips[:-1]


def test_what_depends_on_two_is_down_while_either_is():
    first, second = Scheduled(((1.0, 3.0), (5.0, 6.0))), Scheduled(((2.0, 4.0), (6.0, 7.0), (9.0, np.inf)))
    rng = Streams(0).plain("x")
    assert flips_of(Switch(first.changes(rng), second.changes(rng))) == [1.0, 4.0, 5.0, 7.0, 9.0]


def test_what_is_down_for_good_asks_no_more():
    endless = RandomOutages(1.0, 1.0).changes(Streams(0).plain("x"))
    flips = flips_of(Switch(Scheduled(((2.5, np.inf),)).changes(Streams(0).plain("y")), endless))
    assert flips[-1] <= 2.5
    assert len(flips) % 2 == 1


# ── ends ────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_run_is_over_when_the_last_who_is_left_begins_anew_or_is_gone():
    slow = {"compute_laws": {1: ConstantDelay(1.0)}}
    anew = Downtime(Scheduled(((4.5, 4.6),)), "restart_without_state")
    run = simulation(descent(5), ring(5), downtimes={1: anew}, **slow).run()
    assert run.activations[0] == 5
    assert run.time < 4.7
    for effect in ("restart_with_state", "restart_without_state", "offline"):
        gone = Downtime(Scheduled(((0.02, np.inf),)), effect)
        run = simulation(descent(5), ring(5), exchange_policy=ExchangePolicy(0.05), downtimes={1: gone}).run()
        assert run.activations[0] == 5


@pytest.mark.slow
def test_a_straggler_outlasts_many_restarts():
    often = Downtime(RandomOutages(0.05, 0.05), "restart_without_state")
    run = simulation(descent(3), ring(5), compute_laws={3: ConstantDelay(200.0)}, downtimes={1: often}).run()
    assert [run.activations[i] for i in (0, 2, 3, 4)] == [3, 3, 3, 3]
    assert run.time > 3 * 200


def test_a_claim_speaks_of_one_life():
    sound = PrivateGradientDescent(10, Constant(0.1), Constant(1.0), Clip(0.5))
    anew = Downtime(Scheduled(((4.5, 4.6),)), "restart_without_state")
    adjacency = Adjacency(np.inf, "any")
    claim = simulation(sound, ring(5)).claim(adjacency, 10, 0.0)
    assert claim.epsilon is not None
    failed = simulation(sound, ring(5), downtimes={1: anew}).claim(adjacency, 10, 0.0)
    assert failed.epsilon is None
    assert "agents [1] may begin anew" in failed.failed_conditions[-1]


class Alternating(Algorithm):
    """One exchange in five has one more field."""

    async def run(self, node: Node) -> None:
        for k in range(20):
            heard = await node.exchange(x=node.zeros(), **({"extra": node.zeros()} if k % 5 == 3 else {}))
            await node.gradient(node.zeros())
            heard.values("extra" if k % 5 == 3 else "x")
            node.estimate(node.zeros())


@pytest.mark.parametrize("policy", [ExchangePolicy(), ExchangePolicy(0.02)])
def test_exchanges_that_no_longer_fit_together_are_named(policy):
    anew = {1: Downtime(Scheduled(((0.05, 0.08),)), "restart_without_state")}
    options = {"compute": ConstantDelay(0.01), "downtimes": anew, "exchange_policy": policy, "measure": False}
    if policy.endless:
        with pytest.raises(ProtocolError, match=r"wants 'extra' of exchange \d+, in which agent \d sent 'x'"):
            simulation(Alternating(), ring(5), **options).run()
    else:
        assert max(simulation(Alternating(), ring(5), **options).run().activations) >= 20


def test_what_waits_in_the_senders_queue_is_not_sent_twice():
    """Timeouts count from when a packet has left: a slow access line delays, and nothing multiplies."""
    narrow = LinkLaw(reliable=True)
    wide = simulation(descent(5), complete(5), narrow).run()
    for uplink in (1e4, 1e3):
        run = simulation(descent(5), complete(5), narrow, access=AccessLaw(uplink=uplink)).run()
        assert same(run, wide)
        assert run.traffic["packets_sent"] < 3 * wide.traffic["packets_sent"]
    eager = LinkLaw(bandwidth=1000.0, timeout=1e-4, reliable=True)
    run = simulation(descent(5), complete(5), eager).run()
    assert same(run, wide)
    assert run.time < 20
