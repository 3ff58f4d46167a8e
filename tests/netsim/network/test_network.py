"""Inboxes, wires between agents, and the port's rules as an algorithm meets them."""

import asyncio
import math
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from netsim import clock
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, Stopping
from netsim.clock import VirtualEnvironment
from netsim.errors import DeadlockError, ProtocolError
from netsim.network.laws import ConstantDelay, UniformDelay
from netsim.network.links import LinkLaw
from netsim.network.network import Inbox, Network, ReliableChannel
from netsim.network.wires import LossyWire, PlainWire, Wire
from netsim.node import Node
from netsim.randomness import Streams
from netsim.simulation import Simulation
from netsim.topology import Topology, path, ring
from netsim.transcript.message import Message
from tests.worlds import regression_problem, simulated

PERFECT = LinkLaw()


@dataclass(frozen=True)
class Script(Algorithm):
    """An algorithm that a test writes as one function."""

    agent: Callable[[Node], Awaitable[None]]

    async def run(self, node: Node) -> None:
        await self.agent(node)


def simulation(agent, topology: Topology, links: LinkLaw = PERFECT, **options) -> Simulation:
    return simulated(regression_problem(topology.agents), topology, Script(agent), links, measure=False, **options)


def message(sender: int, kind, number: int) -> Message:
    return Message(sender, kind, number, {"x": np.zeros((1, 1))})


async def collected(inbox: Inbox, number: int) -> tuple[Message, ...]:
    """What `LiveNode.exchange` does."""
    if not inbox.has(number):
        await inbox.woken(number)
    return inbox.collect(message(inbox.owner, "exchange", number))


# ── the inbox ───────────────────────────────────────────────────────────────────────────────────────────
def test_an_agent_is_woken_once_when_its_last_neighbor_has_answered():
    async def main():
        loop, inbox = asyncio.get_running_loop(), Inbox(VirtualEnvironment(), 0, (1, 2))
        put = inbox.enter
        loop.call_at(1.0, put, message(1, "exchange", 0))
        loop.call_at(2.0, put, message(1, "exchange", 1))  # one exchange ahead
        loop.call_at(3.0, put, message(2, "exchange", 0))
        loop.call_at(5.0, put, message(2, "exchange", 1))
        first, at = await collected(inbox, 0), loop.time()
        second = await collected(inbox, 1)
        return first, at, second, loop.time()

    first, at, second, end = clock.run(main())
    assert (at, end) == (3.0, 5.0)
    assert [(m.sender, m.number) for m in first] == [(1, 0), (2, 0)]
    assert [(m.sender, m.number) for m in second] == [(1, 1), (2, 1)]


def test_direct_messages_come_in_order_of_arrival_and_apart_from_exchanges():
    async def main():
        inbox = Inbox(VirtualEnvironment(), 0, (1,))
        put = inbox.enter
        for kind, number in [("direct", 0), ("exchange", 0), ("direct", 1)]:
            put(message(1, kind, number))
        taken = [await inbox.take(), await inbox.take()]
        return [m.number for m in taken], [m.kind for m in taken], [m.sender for m in await collected(inbox, 0)]

    assert clock.run(main()) == ([0, 1], ["direct", "direct"], [1])


def test_every_wire_counts_what_arrives_by_it():
    environment, inbox = VirtualEnvironment(), Inbox(VirtualEnvironment(), 0, (1, 2))
    left, right = PlainWire(environment, 1, 0, 0.5), PlainWire(environment, 2, 0, 0.5)
    left.deliver = right.deliver = inbox.enter
    messages = [message(1, "exchange", 0), message(1, "direct", 0)]
    for sent in messages:
        left.send(sent)
    environment.run()
    assert (left.packets.received, left.bytes.received) == (2, sum(m.size for m in messages))
    assert (right.packets.received, right.bytes.received) == (0, 0)


def test_where_messages_are_repeated_the_first_holds_and_nothing_is_kept_of_the_others():
    async def main():
        inbox = Inbox(VirtualEnvironment(), 0, (1, 2))
        put = inbox.enter_once
        first, second = message(1, "exchange", 0), message(1, "exchange", 0)
        for arrived in (first, second, message(2, "exchange", 0)):
            put(arrived)
        taken = await collected(inbox, 0)
        put(second)
        return taken[0] is first, inbox.last_arrival

    assert clock.run(main()) == (True, -math.inf)


def test_a_message_after_a_timeout_is_not_lost():
    async def main():
        loop, inbox = asyncio.get_running_loop(), Inbox(VirtualEnvironment(), 0, (1,))
        loop.call_at(5.0, inbox.enter, message(1, "direct", 0))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(inbox.take(), 2)
        assert inbox.waits_for() is None
        return (await inbox.take()).number, loop.time()

    assert clock.run(main()) == (0, 5.0)


def test_who_waits_for_what_in_words():
    async def main():
        inbox = Inbox(VirtualEnvironment(), 4, (1, 2, 3))
        assert inbox.waits_for() is None
        collecting = asyncio.create_task(collected(inbox, 0))
        await asyncio.sleep(0)
        inbox.enter(message(2, "exchange", 0))
        sentences = [inbox.waits_for()]
        collecting.cancel()
        await asyncio.wait([collecting])
        taking = asyncio.create_task(inbox.take())
        await asyncio.sleep(0)
        sentences.append(inbox.waits_for())
        taking.cancel()
        return sentences

    assert clock.run(main()) == [
        "agent 4 waits for exchange 0 from agents 1, 3",
        "agent 4 waits for any message from agents 1, 2, 3",
    ]


# ── links between agents ────────────────────────────────────────────────────────────────────────────────
def test_every_edge_is_two_wires_with_their_own_streams_and_laws():
    slow = LinkLaw(ConstantDelay(9.0))
    network = Network(VirtualEnvironment(), path(3), LinkLaw(UniformDelay(0, 1)), Streams(0), {(1, 0): slow})
    assert set(network.wires) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    plain = network.wires[1, 0]
    assert isinstance(plain, PlainWire)
    assert plain.seconds == 9.0
    assert isinstance(network.wires[0, 1], LossyWire)
    assert all((wire.source, wire.target) == edge for edge, wire in network.wires.items())


def test_every_wire_draws_its_own_delays():
    """Equal by chance with probability 0: these are 53-bit numbers."""
    network = Network(VirtualEnvironment(), path(3), LinkLaw(UniformDelay(0, 1)), Streams(0))
    drawn = {edge: wire._rng.random() for edge, wire in network.wires.items()}
    assert len(set(drawn.values())) == 4
    larger = Network(VirtualEnvironment(), ring(5), LinkLaw(UniformDelay(0, 1)), Streams(0))
    assert all(larger.wires[edge]._rng.random() == drawn[edge] for edge in drawn)


def test_a_link_may_be_reliable_in_one_direction_only():
    """The acknowledgements of 0 → 1 share the wire 1 → 0 with its datagrams."""
    reliable = LinkLaw(ConstantDelay(1.0), loss=0.5, reliable=True)
    got: dict[int, list[float]] = {0: [], 1: []}

    async def agent(node: Node) -> None:
        for k in range(40):
            node.send(1 - node.id, x=np.full((1, 3), float(k)))
        while True:
            got[node.id].append(float((await node.receive()).values["x"][0, 0]))

    with pytest.raises(DeadlockError):
        simulation(agent, path(2), LinkLaw(ConstantDelay(1.0), loss=0.3), link_laws={(0, 1): reliable}).run()
    assert got[1] == list(range(40))
    assert got[0] == sorted(set(got[0]))
    assert 0 < len(got[0]) < 40
    network = Network(VirtualEnvironment(), path(2), LinkLaw(), Streams(0), {(0, 1): reliable})
    assert isinstance(network.channels[0, 1], ReliableChannel)
    assert isinstance(network.channels[1, 0], Wire)


def test_a_broadcast_goes_to_every_neighbor_and_to_nobody_else():
    got = []

    async def agent(node: Node) -> None:
        if node.id == 2:
            node.broadcast(x=node.zeros())
        else:
            arrived = await asyncio.wait_for(node.receive(), 10) if node.id in (1, 3) else None
            got.append((node.id, arrived and (arrived.sender, arrived.kind, arrived.number)))

    simulation(agent, ring(5), LinkLaw(ConstantDelay(1.0))).run()
    assert sorted(got) == [(0, None), (1, (2, "direct", 0)), (3, (2, "direct", 0)), (4, None)]


def test_an_exchange_is_over_when_the_slowest_link_has_delivered():
    times = {}

    async def agent(node: Node) -> None:
        await node.exchange(x=node.zeros())
        times[node.id] = asyncio.get_running_loop().time()

    laws = {(0, 1): LinkLaw(ConstantDelay(7.0)), (3, 2): LinkLaw(ConstantDelay(3.0))}
    simulation(agent, ring(4), LinkLaw(ConstantDelay(1.0)), link_laws=laws).run()
    assert times == {0: 1.0, 1: 7.0, 2: 3.0, 3: 1.0}


# ── deadlocks ───────────────────────────────────────────────────────────────────────────────────────────
def test_a_lost_datagram_is_a_deadlock_that_names_who_waits_for_whom():
    async def agent(node: Node) -> None:
        for _ in range(3):
            await node.exchange(x=node.zeros())

    lost = {(1, 2): LinkLaw(loss=1 - 1e-12)}
    with pytest.raises(DeadlockError) as caught:
        simulation(agent, path(4), LinkLaw(ConstantDelay(0.5)), link_laws=lost).run()
    text = str(caught.value)
    assert "t=1.5 s" in text
    assert "agent 0 waits for exchange 2 from agent 1;" in text
    assert "agent 1 waits for exchange 1 from agent 2;" in text
    assert "agent 2 waits for exchange 0 from agent 1;" in text
    assert "agent 3 waits for exchange 1 from agent 2" in text
    assert "2 packets were lost; links that are `reliable` send them again" in text


def test_one_lost_packet_is_no_packets():
    async def agent(node: Node) -> None:
        await node.exchange(x=node.zeros())

    with pytest.raises(DeadlockError, match=r"\(1 packet was lost; links that are `reliable` send it again\)"):
        simulation(agent, path(2), LinkLaw(), link_laws={(0, 1): LinkLaw(loss=1 - 1e-12)}).run()


async def receives(node: Node) -> None:
    await node.receive()


async def all_but_one_exchange(node: Node) -> None:
    if node.id != 1:
        await node.exchange(x=node.zeros())


@pytest.mark.parametrize(
    ("agent", "graph", "said", "unsaid"),
    [
        (receives, ring(3), "agent 0 waits for any message from agents 1, 2", "lost"),
        (receives, ring(30), "; and 22 more;\nagent 0 is at ", "lost"),
        (all_but_one_exchange, path(3), "agent 0 waits for exchange 0 from agent 1;\nagent 2 waits", "agent 1 waits"),
    ],
)
def test_a_deadlock_without_losses_names_who_waits_in_short(agent, graph, said, unsaid):
    with pytest.raises(DeadlockError, match=said) as caught:
        simulation(agent, graph).run()
    assert unsaid not in str(caught.value)


# ── the port's rules ────────────────────────────────────────────────────────────────────────────────────
def test_an_algorithm_that_raises_ends_the_run_with_its_own_traceback_and_its_agent_in_a_note():
    cleaned = []

    async def the_line_that_fails(node: Node) -> None:
        await asyncio.sleep(2.5)
        raise ZeroDivisionError(f"in {node.id}")

    async def agent(node: Node) -> None:
        try:
            if node.id == 2:
                await the_line_that_fails(node)
            while True:
                await node.receive()
        finally:
            cleaned.append(node.id)

    with pytest.raises(ZeroDivisionError, match="in 2") as caught:
        simulation(agent, ring(4)).run()
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "the_line_that_fails"
    assert caught.value.__notes__ == ["in agent 2, at t=2.5 s of virtual time"]
    assert sorted(cleaned) == [0, 1, 2, 3]


SAYS = {
    "exchange": lambda node, bad: node.exchange(good=node.zeros(), bad=bad),
    "send": lambda node, bad: node.send(node.neighbors[0], bad=bad),
    "broadcast": lambda node, bad: node.broadcast(bad=bad),
    "estimate": lambda node, bad: node.estimate(bad),
}
BAD = [np.zeros(shape) for shape in [(3,), (1, 3), (2, 4), (2, 3, 1), ()]]
BAD += [[[0.0] * 3] * 2, np.zeros((2, 3), complex), np.zeros((2, 3), np.float32)]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("how", SAYS)
def test_a_value_of_another_type_or_shape_is_a_protocol_error(how, bad):
    async def agent(node: Node) -> None:
        done = SAYS[how](node, bad)
        if done is not None:
            await done

    what = "estimates 'x'" if how == "estimate" else "sends 'bad'"
    is_what = "= .* which is a list" if isinstance(bad, list) else "of type .* and shape"
    with pytest.raises(ProtocolError, match=rf"agent 0 {what} {is_what}.*float64.* = \(2, 3\)"):
        simulation(agent, ring(3), replicas=2).run()


def test_sending_to_somebody_who_is_no_neighbor_is_a_protocol_error():
    async def agent(node: Node) -> None:
        if node.id == 0:
            node.send(2, x=node.zeros())

    with pytest.raises(ProtocolError, match=r"agent 0 sends to agent 2, .*neighbors: 1, 3"):
        simulation(agent, ring(4)).run()


@pytest.mark.parametrize("how", ["exchange", "send", "broadcast"])
def test_what_arrives_is_read_only_and_the_senders_own_array_is_not_what_travels(how):
    checked = []

    async def agent(node: Node) -> None:
        x = np.full((1, 3), float(node.id))
        if how == "exchange":
            heard = await node.exchange(x=x)
            arrived = heard["x"][node.neighbors[0]]
        else:
            if how == "send":
                node.send(node.neighbors[0], x=x)
                node.send(node.neighbors[1], x=x)
            else:
                node.broadcast(x=x)
            arrived = (await node.receive()).values["x"]
        with pytest.raises(ValueError, match="read-only"):
            arrived += 1
        x += 100
        assert arrived.max() < 3
        checked.append(node.id)

    simulation(agent, ring(3)).run()
    assert sorted(checked) == [0, 1, 2]


def test_waiting_twice_at_once_is_a_protocol_error():
    async def agent(node: Node) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(node.exchange(x=node.zeros()))
            group.create_task(node.receive())

    with pytest.raises(ExceptionGroup) as caught:
        simulation(agent, path(2), LinkLaw(ConstantDelay(1.0))).run()
    assert "waits twice at once" in str(caught.value.exceptions[0])


def test_a_background_task_that_fails_ends_the_run():
    async def bad() -> None:
        raise ValueError("in the background")

    kept = []

    async def agent(node: Node) -> None:
        kept.append(asyncio.create_task(bad()))
        await asyncio.sleep(1)

    with pytest.raises(ValueError, match="in the background"):
        simulation(agent, path(2)).run()


def test_a_walk_stops_where_it_should_even_with_a_backlog():
    """Twenty messages wait when the fifth activation closes: the agent does not go on without suspending."""

    class Backlog(Algorithm):
        async def run(self, node: Node) -> None:
            for _ in range(20):
                node.broadcast(x=node.zeros())
            await asyncio.sleep(1)
            while True:
                await node.receive()
                node.estimate(node.zeros())

        def stopping(self) -> Stopping:
            return Stopping(activations=5)

    run = replace(simulation(None, path(2)), algorithm=Backlog()).run()
    assert sum(run.activations) == 5


def test_numbers_count_each_kind_apart_and_per_sender():
    async def agent(node: Node) -> None:
        for _ in range(2):
            await node.exchange(x=node.zeros())
            node.broadcast(x=node.zeros())

    run = simulation(agent, path(2), adversaries=(Adversary(links=(), nodes=(0,)),)).run()
    sent = [(r.kind, r.number) for r in run.views[0].transcript.at_node(0) if r.event == "sent"]
    assert sent == [("exchange", 0), ("direct", 0), ("exchange", 1), ("direct", 1)]
