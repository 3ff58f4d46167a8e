"""Exchanges that go on without some messages: what is missing, what stands in, live and in a replay."""

import asyncio
import heapq
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pytest

from attacks.inference import infer
from attacks.replay import replay
from netsim import clock
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, PrivateGradientDescent
from netsim.errors import ScenarioError
from netsim.network.inbox import Inbox
from netsim.network.laws import ConstantDelay, ExponentialDelay, UniformDelay
from netsim.network.links import ExchangePolicy, LinkLaw, Shelf
from netsim.node import Node
from netsim.randomness import Streams, coins_of
from netsim.schedules import Constant
from netsim.simulation import Simulation
from netsim.topology import complete, path, ring
from netsim.transcript.message import Message
from tests.worlds import regression_problem, simulated

NEIGHBORS = (1, 2)


def message(sender: int, number: int, **fields: float) -> Message:
    fields = fields or {"x": float(number)}
    return Message(sender, "exchange", number, {name: np.full((1, 1), value) for name, value in fields.items()})


def simulation(algorithm: Algorithm, topology, links=None, **options) -> Simulation:
    return simulated(regression_problem(topology.agents, 60, 0.5), topology, algorithm, links or LinkLaw(), **options)


def descent(rounds: int, scale: float = 0.0) -> PrivateGradientDescent:
    return PrivateGradientDescent(rounds, Constant(0.1), Constant(scale))


# ── the shelf ───────────────────────────────────────────────────────────────────────────────────────────
def taken(shelf: Shelf, told: Message) -> list[int]:
    """Whose message, or which number of it, stands for neighbors 1 and 2; −1 for the agent's own."""
    return [-1 if m is told else m.number for m in shelf.collect(told)]


def test_the_message_of_the_exchange_comes_first():
    shelf = Shelf(NEIGHBORS, ExchangePolicy(1.0))
    for arrived in (message(1, 0), message(2, 1), message(2, 0)):
        shelf.put(arrived)
    assert taken(shelf, message(0, 0)) == [0, 0]


def test_the_newest_message_stands_in_however_late_or_early_it_came():
    shelf = Shelf(NEIGHBORS, ExchangePolicy(1.0))
    assert taken(shelf, message(0, 0)) == [-1, -1]
    shelf.put(message(1, 0))  # late
    assert taken(shelf, message(0, 1)) == [0, -1]
    shelf.put(message(2, 5))  # far ahead
    shelf.put(message(2, 3))  # overtaken: the newest is the one with the larger number
    assert taken(shelf, message(0, 2)) == [0, 5]
    assert taken(shelf, message(0, 3)) == [0, 3]
    assert taken(shelf, message(0, 4)) == [0, 5]


def test_a_message_with_other_fields_does_not_stand_in():
    shelf = Shelf(NEIGHBORS, ExchangePolicy(1.0))
    shelf.put(message(1, 0, x=1.0))
    shelf.put(message(1, 1, y=1.0))
    shelf.collect(message(0, 0, x=0.0))
    assert taken(shelf, message(0, 2, x=0.0)) == [0, -1]
    assert taken(shelf, message(0, 3, y=0.0)) == [1, -1]


def test_own_values_stand_in_where_that_is_asked():
    shelf = Shelf(NEIGHBORS, ExchangePolicy(1.0, "own_value"))
    shelf.put(message(1, 0))
    assert taken(shelf, message(0, 0)) == [0, -1]
    assert taken(shelf, message(0, 1)) == [-1, -1]


def test_a_neighbor_that_is_ahead_is_not_waited_for():
    shelf = Shelf(NEIGHBORS, ExchangePolicy(1.0))
    shelf.put(message(1, 0))
    assert shelf.missing(0) == (2,)
    shelf.put(message(2, 4))
    assert shelf.missing(0) == ()
    assert shelf.missing(1) == (1,)


# ── live ────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Gossip(Algorithm):
    """x ← W x, a gradient's time a round."""

    rounds: int

    async def run(self, node: Node) -> None:
        x = node.zeros() + node.id + np.arange(node.dimension) / 7
        for _ in range(self.rounds):
            heard = await node.exchange(x=x)
            await node.gradient(x)
            x = heard.mix("x")
            node.estimate(x)


def oracle(topology, rounds, delays, work, deadline, instead, dimension=3):
    """The same in plain Python: a heap of (time, what), no messages lost, constant delays and times."""
    n = topology.agents
    x = [np.full((1, dimension), float(i)) + np.arange(dimension) / 7 for i in range(n)]
    heard = [{j: {} for j in topology.neighbors(i)} for i in range(n)]  # number → value
    rounds_done, waiting, order = [0] * n, [False] * n, 0
    heap = [(0.0, 1, i, "begin", i, None) for i in range(n)]
    history = [[] for _ in range(n)]

    def close(i, now):
        nonlocal order
        k, told, values = rounds_done[i], x[i], [x[i]]
        for j in topology.neighbors(i):
            numbers = heard[i][j]
            if k in numbers:
                values.append(numbers[k])
            elif instead == "last_received" and numbers:
                values.append(numbers[max(numbers)])
            else:
                values.append(told)
        waiting[i] = False
        x[i] = topology.row(i) @ np.concatenate(values)[None]
        rounds_done[i] += 1
        order += 1
        if rounds_done[i] < rounds:
            heapq.heappush(heap, (now + work[i], 2, order, "begin", i, None))

    def settled(i):
        return all(numbers and max(numbers) >= rounds_done[i] for numbers in heard[i].values())

    while heap:
        now, _, _, what, i, rest = heapq.heappop(heap)
        if what == "begin":
            waiting[i] = True
            history[i].append(x[i])
            for j in topology.neighbors(i):
                order += 1
                heapq.heappush(heap, (now + delays[i, j], 0, order, "arrive", j, (i, rounds_done[i], x[i])))
            order += 1
            heapq.heappush(heap, (now + deadline, 2, order, "deadline", i, rounds_done[i]))
            if settled(i):
                close(i, now)
        elif what == "arrive":
            sender, number, value = rest
            heard[i][sender][number] = value
            if waiting[i] and settled(i):
                close(i, now)
        elif waiting[i] and rounds_done[i] == rest:
            close(i, now)
    return history


@pytest.mark.parametrize("instead", ["last_received", "own_value"])
@pytest.mark.parametrize("deadline", [0.0, 0.013, 0.08])
def test_slow_neighbors_are_left_behind_as_a_plain_simulation_says(instead, deadline):
    topology, rounds = ring(5), 25
    delays = {(i, j): 0.01 + 0.007 * i + 0.003 * j for i in range(5) for j in topology.neighbors(i)}
    work = [0.02, 0.031, 0.0443, 0.11, 0.0271]
    run = simulation(
        Gossip(rounds), topology, link_laws={edge: LinkLaw(ConstantDelay(delay)) for edge, delay in delays.items()},
        compute_laws={i: ConstantDelay(seconds) for i, seconds in enumerate(work)},
        exchange_policy=ExchangePolicy(deadline, instead),
    ).run()  # fmt: skip
    expected = oracle(topology, rounds, delays, work, deadline, instead)
    mixed = oracle(topology, rounds, delays, work, 1e6, instead)
    for queries, points in zip(run.truth.queries, expected, strict=True):
        assert len(queries) == rounds
        for query, point in zip(queries, points, strict=True):
            np.testing.assert_allclose(query.point, point, rtol=0, atol=1e-13)
    if deadline < 0.05:  # what it costs to leave somebody behind shows
        assert max(np.abs(a[-1] - b[-1]).max() for a, b in zip(expected, mixed, strict=True)) > 1e-3


def test_on_a_perfect_network_nobody_is_missing():
    def points(**options):
        run = simulation(descent(20, 0.1), complete(4), LinkLaw(UniformDelay(0.01, 0.02)), seed=3, **options).run()
        return [query.point for queries in run.truth.queries for query in queries]

    for patient, endless in zip(points(exchange_policy=ExchangePolicy(0.5)), points(), strict=True):
        assert np.array_equal(patient, endless)


def test_a_message_that_arrives_at_the_deadline_is_in_time():
    slow = {(0, 1): LinkLaw(ConstantDelay(0.25))}
    waited = simulation(Gossip(10), ring(4), link_laws=slow).run()
    patient = simulation(Gossip(10), ring(4), link_laws=slow, exchange_policy=ExchangePolicy(0.25, "own_value")).run()
    hasty = simulation(Gossip(10), ring(4), link_laws=slow, exchange_policy=ExchangePolicy(0.2499, "own_value")).run()
    last = [run.truth.queries[1][-1].point for run in (waited, patient, hasty)]
    assert np.array_equal(last[0], last[1])
    assert not np.array_equal(last[0], last[2])


@dataclass(frozen=True)
class Impatient(Gossip):
    """Gives an exchange up after half a second; then, without an answer, exchanges or receives."""

    then: str = "exchange"

    async def run(self, node):
        with suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                await node.exchange(x=node.zeros())
        if self.then == "exchange":
            await node.exchange(x=node.zeros())
        elif node.id:
            await asyncio.sleep(5.0)
            node.send(0, x=node.zeros())
        else:
            await node.receive()
        node.estimate(node.zeros())


@pytest.mark.parametrize(("then", "ended"), [("exchange", 1.5), ("receive", 15.5)])
def test_the_deadline_of_an_exchange_that_is_given_up_ends_nothing_else(then, ended):
    slow = LinkLaw(ConstantDelay(10.0))
    run = simulation(Impatient(1, then=then), path(2), slow, exchange_policy=ExchangePolicy(1.0, "own_value")).run()
    assert run.time == ended


def test_lost_messages_end_no_run_where_exchanges_have_a_deadline():
    lossy = LinkLaw(UniformDelay(0.01, 0.03), loss=0.3)
    run = simulation(descent(200), ring(6), lossy, exchange_policy=ExchangePolicy(0.1)).run()
    assert run.activations == (200,) * 6
    assert run.traffic["packets_lost"] > 0.2 * run.traffic["packets_sent"]
    assert run.metrics.relative_errors()[-6:].max() < 0.5  # constant steps end near the optimum, not at it


@pytest.mark.parametrize("deadline", [-1.0, np.inf, np.nan])
def test_a_deadline_is_a_time(deadline):
    with pytest.raises(ScenarioError, match="deadline"):
        ExchangePolicy(deadline)


# ── replay and inversion ────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("instead", ["last_received", "own_value"])
def test_a_replay_takes_what_the_agent_took_to_the_last_bit(instead):
    lossy = LinkLaw(ExponentialDelay(0.02), loss=0.25, duplication=0.2, reordering=True)
    adversary = Adversary(nodes=(1, 2))
    simulated = simulation(
        descent(40, 0.05), complete(4), lossy, exchange_policy=ExchangePolicy(0.03, instead),
        adversaries=(adversary,), replicas=3,
    )  # fmt: skip
    run = simulated.run()
    closed = [row for row in run.views[0].at_node(2) if row.event == "closed"]
    assert [row.number for row in closed] == list(range(40))
    for agent in adversary.nodes:
        objective = simulated.problem.objectives[agent]
        found = replay(run.views[0], agent, objective, coins_of(Streams(0), agent))
        assert found.identical
        assert len(found.releases) == 40
        wrong = replay(run.views[0], agent, simulated.problem.objectives[0], coins_of(Streams(0), agent))
        noise = [r.observed - r.value for r in found.releases[1:]]
        assert (
            max(np.abs(r.observed - r.value - n).max() for r, n in zip(wrong.releases[1:], noise, strict=True)) > 1e-3
        )


def test_what_an_agent_took_is_known_at_its_door_only():
    lossy = LinkLaw(UniformDelay(0.01, 0.05), loss=0.2)
    options = {"exchange_policy": ExchangePolicy(0.06), "topology": ring(5)}
    doors = simulation(descent(30), links=lossy, adversaries=(Adversary(links=(), nodes=(2,)),), **options).run()
    links = simulation(descent(30), links=lossy, adversaries=(Adversary(),), **options).run()
    estimates = infer(doors.views[0])
    assert [(e.agent, e.query) for e in estimates] == [(2, k) for k in range(29)]
    for e in estimates:
        query = doors.truth.queries[2][e.query]
        np.testing.assert_allclose(e.gradient, query.gradient, atol=1e-10)
    assert infer(links.views[0]) == []


@pytest.mark.parametrize("policy", [None, ExchangePolicy(1.0)])
@pytest.mark.parametrize(("wanted", "what"), [(None, "any message"), (4, "exchange 4")])
def test_who_waits_is_named_with_a_deadline_and_without(policy, wanted, what):
    async def main():
        inbox = Inbox.of(asyncio.get_running_loop().environment, 3, NEIGHBORS, policy)
        inbox.woken(wanted)
        named = inbox.waits_for()
        inbox.forget()
        return named, inbox.waits_for()

    assert clock.run(main()) == (f"agent 3 waits for {what} from agents 1, 2", None)
