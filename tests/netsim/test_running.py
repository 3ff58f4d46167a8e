"""A run that is watched: what it says of itself is true, it goes on as if nobody looked, and stalls are seen."""

import asyncio
from dataclasses import dataclass
from itertools import pairwise

import pytest

from netsim.algorithms import Algorithm, PrivateGradientDescent, Recal
from netsim.network.laws import ConstantDelay, UniformDelay
from netsim.network.links import LinkLaw
from netsim.node import Node
from netsim.running import WatchedLoop
from netsim.schedules import Constant
from netsim.settings import NetworkSettings
from netsim.simulation import Simulation
from netsim.topology import ring
from netsim.transcript.stored import StreamedTranscript
from tests.worlds import ROUGH, changed, synthetic_problem, tapped_ring


def walk(**options) -> Simulation:
    return tapped_ring(synthetic_problem(), Recal(0.2, activations=80), links=ROUGH, **options)


def rows(run) -> list[tuple]:
    return [(*r[:-1], *((n, v.tobytes()) for n, v in r.values.items())) for r in run.views[0].transcript]


@pytest.mark.parametrize("every", [None, 0.0])
def test_what_is_seen_adds_up_at_every_moment(every):
    seen = []

    def look(running):
        carried = running.traffic()
        gone = sum(carried[f"packets_{end}"] for end in ("delivered", "lost", "dropped", "in_flight"))
        assert carried["packets_sent"] + carried["packets_duplicated"] == gone
        assert min(carried.values()) >= 0
        assert running.estimates == sum(running.activations)
        assert running.spooled()["rows"] == 0
        assert running.spooled()["in_memory"] <= 2 * carried["packets_sent"]
        seen.append((running.now, running.estimates, carried["bytes_sent"]))

    run = walk().run(look, every=every)
    assert all(a <= b for one, other in pairwise(seen) for a, b in zip(one, other, strict=True))
    assert seen[-1][1] <= sum(run.activations) == 80
    assert len(seen) >= 80 if every is None else len(seen) > 1


def test_a_watched_run_is_the_run_that_nobody_watches(tmp_path):
    alone = walk().run()
    for options in ({}, {"every": 0.0}):
        watched = walk(spool=tmp_path).run(lambda running: (running.traffic(), running.waiting()), **options)
        assert rows(watched) == rows(alone)
        assert watched.traffic == alone.traffic


def test_a_run_is_interrupted_in_the_code_of_the_last_agent_that_goes_on():
    simulation = tapped_ring(synthetic_problem(), PrivateGradientDescent(3, Constant(0.1)))

    def stop(running):
        if running.estimates == 3 * simulation.topology.agents:
            raise KeyboardInterrupt

    run = simulation.run(stop)
    assert run.interrupted
    assert set(run.activations) == {3}


def test_who_waits_is_told_while_the_run_goes_on():
    sentences = set()
    walk().run(lambda running: sentences.update(running.waiting()))
    assert "agent 0 waits for any message from agents 1, 4" in sentences


@dataclass(frozen=True)
class Chatter(Algorithm):
    """Agents that talk and never close anything, as fast as they can."""

    messages: int

    async def run(self, node: Node) -> None:
        for _ in range(self.messages):
            node.broadcast(x=node.zeros())
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("links", [LinkLaw(ConstantDelay(0.5)), LinkLaw(UniformDelay(0.1, 0.9), loss=0.5)])
def test_a_run_in_which_nobody_closes_anything_is_seen_all_the_same(links, monkeypatch):
    monkeypatch.setattr("netsim.running.LEISURE", 0)
    seen = []
    world = Simulation(synthetic_problem(), ring(5), Chatter(200), NetworkSettings(links))
    run = world.run(lambda running: seen.append((running.now, running.estimates)), every=0.0)
    assert sum(run.activations) == 0
    assert len({now for now, _ in seen}) > 100
    called = []
    world.run(called.append)
    assert called == []


class Deaf(Algorithm):
    """Waits for an answer that is lost again and again: time moves, and no agent wakes."""

    async def run(self, node: Node) -> None:
        if node.id == 0:
            node.send(1, x=node.zeros())
        if node.id == 1:
            await node.receive()
            node.estimate(node.zeros())


def test_packets_that_fly_while_no_agent_wakes_are_seen(monkeypatch):
    monkeypatch.setattr("netsim.clock.CHECK_EVERY", 8)
    monkeypatch.setattr("netsim.running.LEISURE", 0)
    seen = []
    links = LinkLaw(ConstantDelay(0.1), loss=0.995, reliable=True, timeout=0.3)
    world = Simulation(synthetic_problem(), ring(5), Deaf(), NetworkSettings(links), seed=2)
    world.run(lambda running: seen.append((running.traffic()["packets_sent"], running.waiting())), every=0.0)
    alone = [sent for sent, waiting in seen if waiting == ("agent 1 waits for any message from agents 0, 2",)]
    assert len(set(alone)) > 3


def test_looks_that_take_long_come_less_often(monkeypatch):
    clock = [0.0]
    looks = []
    monkeypatch.setattr("netsim.running.time.perf_counter", lambda: clock[0])

    def look():
        looks.append(clock[0])
        clock[0] += 0.5

    loop = WatchedLoop(None, 0.1, look)
    for _ in range(400):
        loop._check_instant(1)
        clock[0] += 0.1
    loop.close()
    assert all(later - earlier >= 20 * 0.5 for earlier, later in pairwise(looks))
    assert len(looks) >= 3


def test_what_was_flushed_is_on_disk_and_the_rows_are_the_same(tmp_path):
    left = []

    def look(running):
        if running.estimates == 40:
            running.flush()
            assert running.spooled()["in_memory"] == 0
            left.append(len(StreamedTranscript.open(tmp_path / "ears.spool")))
            assert left[0] == running.spooled()["rows"] > 40

    assert rows(walk(spool=tmp_path).run(look)) == rows(walk().run())
    assert len(left) == 1


def test_what_a_spool_holds_is_told(tmp_path):
    seen = []
    simulation = changed(walk(), spool=tmp_path)
    run = simulation.run(lambda running: seen.append(running.spooled()))
    assert seen[-1]["rows"] + seen[-1]["in_memory"] <= len(run.views[0].transcript)
    assert seen[-1]["bytes"] > 0
    totals = [one["rows"] + one["in_memory"] for one in seen]
    assert totals == sorted(totals)
    assert totals[-1] > 80
