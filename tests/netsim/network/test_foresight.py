"""Inboxes that know of messages before they arrive change nothing of a run: not one bit, nor the order of moments."""

from unittest.mock import patch

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from netsim.errors import ScenarioError
from netsim.network.inbox import Inbox
from netsim.network.laws import RandomOutages
from netsim.network.links import LinkLaw
from netsim.readers.live import Downtime, PoissonClock
from netsim.running import Running
from netsim.simulation import Run, Simulation
from tests.netsim.algorithms.every import EXAMPLES, GRAPHS
from tests.netsim.readers.test_stacked import EARS, EDGES, NETWORKS, same, world
from tests.worlds import ROUGH, changed

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
        with patch.object(Inbox, "expect", side_effect=AssertionError("foreseen")), pytest.raises(AssertionError):
            changed(world(EXAMPLES["extra"].algorithm(), ears="none"), reader="live", **NETWORKS[network]).run()


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
