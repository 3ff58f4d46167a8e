"""Inboxes that know of messages before they arrive change nothing of a run: not one bit, nor the order of moments."""

import asyncio
from unittest.mock import patch

import pytest
import simpy
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from netsim import topology
from netsim.algorithms import PrivateGradientDescent
from netsim.clock import VirtualEnvironment, until
from netsim.errors import ScenarioError
from netsim.network.inbox import Inbox
from netsim.network.laws import ConstantDelay, RandomOutages
from netsim.network.links import LinkLaw
from netsim.readers.live import Downtime, PoissonClock
from netsim.running import Running
from netsim.schedules import Constant
from netsim.simulation import Run, Simulation
from tests.netsim.algorithms.every import EXAMPLES, GRAPHS
from tests.netsim.readers.test_stacked import EARS, EDGES, NETWORKS, same, world
from tests.worlds import ROUGH, changed, synthetic_problem

MORE = NETWORKS | {
    "some lose packets": {"link_laws": dict.fromkeys(EDGES[::3], ROUGH)},
    "some repeat packets": {"link_laws": {edge: LinkLaw(duplication=0.5) for edge in EDGES[::2]}},
    "clocks": {"activation": PoissonClock(1.0)},
    "somebody goes down": {
        "links": LinkLaw(reliable=True),
        "downtimes": {1: Downtime(RandomOutages(5.0, 1.0))},
    },
}


def runs(simulation: Simulation, stop_at: int | None = None) -> tuple[Run, Run]:
    """With foresight and without, interrupted at an estimate."""

    def watch(running: Running) -> None:
        if running.estimates == stop_at:
            raise KeyboardInterrupt

    def run() -> Run:
        return simulation.run(watch)

    with patch.object(Inbox, "foresees", False):
        without = run()
    return run(), without


def test_messages_are_foreseen_on_plain_links_and_on_links_with_random_delays():
    for network in ("one delay", "random delays"):
        made = changed(world(EXAMPLES["extra"].algorithm(), ears="none"), reader="live", **NETWORKS[network])
        with patch.object(VirtualEnvironment, "call_at", side_effect=AssertionError("an entry for one message")):
            made.run()
            with patch.object(Inbox, "foresees", False), pytest.raises(AssertionError):
                made.run()


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_foresight_changes_nothing(data):
    name = data.draw(st.sampled_from(sorted(EXAMPLES)))
    network, ears = data.draw(st.sampled_from(sorted(MORE))), data.draw(st.sampled_from(sorted(EARS)))
    graph = data.draw(st.sampled_from(list(GRAPHS.values())))
    try:
        simulation = changed(world(EXAMPLES[name].algorithm(data.draw(st.booleans())), graph, ears), **MORE[network])
    except ScenarioError:  # an algorithm that is for other graphs or networks
        reject()
    same(*runs(simulation, data.draw(st.none() | st.integers(1, 12))))


def at_one_second(kind: type[PrivateGradientDescent], agents: int) -> Simulation:
    """Agents that are all linked, and whose messages take a second."""
    graph, algorithm = topology.complete(agents), kind(1, Constant(0.1))
    simulation = Simulation(synthetic_problem(agents), graph, algorithm, reader="live")
    return changed(simulation, links=LinkLaw(ConstantDelay(1.0)))


class Urgent(PrivateGradientDescent):
    """Agent 0 exchanges at an urgent event of SimPy, which comes before all messages of the same instant."""

    async def run(self, node):
        if node.id == 0:
            environment = asyncio.get_running_loop().environment
            event = environment.event()
            event._ok, event._value = True, None
            environment.schedule(event, simpy.events.URGENT, 1.0)
            node.broadcast(x=node.zeros())
            await until(event)
            await node.exchange(x=node.zeros())
        else:
            exchange = asyncio.create_task(node.exchange(x=node.zeros()))
            await asyncio.sleep(0)
            exchange.cancel()
            await node.receive()
        node.estimate(node.zeros())


def test_what_an_urgent_event_of_simpy_precedes_has_not_arrived():
    one, other = runs(at_one_second(Urgent, 3))
    same(one, other)
    assert one.metrics is not None
    assert one.metrics.agents == [1, 2, 0]


class Stubborn(PrivateGradientDescent):
    """Agent 1 waits for ever when it is told to end."""

    async def run(self, node):
        if node.id == 0:
            await asyncio.sleep(0.5)
            node.estimate(node.zeros())
        try:
            await node.exchange(x=node.zeros())
        finally:
            await node.receive()


def test_messages_arrive_while_agents_that_were_told_to_end_still_wait():
    one, other = runs(at_one_second(Stubborn, 2), stop_at=1)
    same(one, other)
    assert one.traffic["packets_delivered"] == 1
