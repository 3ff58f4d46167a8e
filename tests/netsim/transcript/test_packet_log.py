"""A diary changes nothing; its passages agree with the wires' own counts and with a tap on everything."""

from collections import Counter

import pytest

from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import PrivateGradientDescent, Recal
from netsim.errors import DeadlockError
from netsim.network.active_adversaries import ActiveAdversary, Drop, Replay
from netsim.network.laws import Bernoulli, Scheduled, UniformDelay
from netsim.network.links import AccessLaw, LinkLaw
from netsim.network.radio import Radio
from netsim.problems import load, logistic
from netsim.readers.live import Downtime
from netsim.schedules import Constant
from netsim.transcript.packet_log import PacketLog
from tests.worlds import simulated

PROBLEM = logistic(load("digits").split(6), ridge=1.0)
ROUGH = LinkLaw(delay=UniformDelay(0.01, 0.03), loss=Bernoulli(0.2), bandwidth=1e5, reliable=True)
DESCENT = PrivateGradientDescent(rounds=5, step=Constant(0.1))
CASES = {
    "plain": {},
    "lossy": {"links": ROUGH},
    "radio": {"links": ROUGH, "medium": Radio(1)},
    "access": {"links": ROUGH, "access": AccessLaw(uplink=2e4, downlink=1e4)},
    "copies": {"links": LinkLaw(delay=UniformDelay(0.01, 0.03), duplication=0.3)},
    "buffer": {"links": LinkLaw(bandwidth=1e4, buffer=1500.0, reliable=True)},
    "meddled": {
        "links": ROUGH,
        "active_adversaries": (ActiveAdversary("mallory", links=((0, 1),), actions=(Drop(0.3), Replay(0.02, 0.3))),),
    },
    "down": {"links": ROUGH, "downtimes": {2: Downtime(Scheduled(((0.05, 0.4),)))}},
    "walk": {"links": ROUGH, "algorithm": Recal(step=0.2, activations=40)},
}


def simulation(case, **more):
    given = {"algorithm": DESCENT, "adversaries": (Adversary(nodes=(2,)),)} | CASES[case] | more
    return simulated(PROBLEM, topology.ring(6), seed=3, **given)


def rows(run):
    """A transcript to the last bit."""
    return [(r[:-1], [(name, value.tobytes()) for name, value in r.values.items()]) for r in run.views[0].transcript]


@pytest.mark.parametrize("case", CASES)
def test_a_run_is_the_same_with_a_diary(case):
    told, plain = simulation(case).run(packet_log=PacketLog()), simulation(case).run()
    assert rows(told) == rows(plain)
    assert (told.traffic, told.activations, told.time) == (plain.traffic, plain.activations, plain.time)


@pytest.mark.parametrize("case", CASES)
def test_passages_agree_with_the_wires_and_with_a_tap_on_everything(case):
    diary = PacketLog()
    run = simulation(case, adversaries=(Adversary(),)).run(packet_log=diary)
    every, traffic = [*diary.head, *diary.tail], run.traffic
    assert len(every) == diary.total
    counts = diary.links.values()
    assert sum(c.packets for c in counts) == traffic["packets_sent"]
    assert sum(c.bytes for c in counts) == traffic["bytes_sent"]
    assert sum(c.lost for c in counts) == traffic["packets_lost"]
    assert sum(c.dropped for c in counts) == sum(p.dropped for p in every) == traffic["packets_dropped"]
    there = sum(p.end is not None and p.end <= diary.ended for p in every)
    at_the_end = sum(p.end == diary.ended for p in every)  # the run may end before the last of that moment
    assert 0 <= there - traffic["packets_delivered"] <= at_the_end
    assert sum(c.arrived for c in counts) == sum(p.end is not None for p in every)
    assert sum(c.seconds for c in counts) == pytest.approx(sum(p.end - p.start for p in every if p.end is not None))
    if case == "radio":
        return
    heard = Counter((r.time, r.sender, r.receiver, r.kind, r.number, r.attempt) for r in run.views[0].transcript)
    mine = Counter(
        (p.start, p.sender, p.receiver, p.kind, p.number, p.attempt) for p in every if not (p.copy or p.dropped)
    )
    assert heard - mine == Counter()
    assert (mine - heard == Counter()) or case == "down"  # what is sent to a link that is down is not on the air


def test_messages_arrive_when_a_door_receives_them():
    diary = PacketLog()
    run = simulation("access").run(packet_log=diary)
    got = {(r.sender, r.kind, r.number): r.time for r in run.views[0].transcript if r.event == "received"}
    ends: dict[tuple[int, str, int], float] = {}
    for p in diary.head:
        if p.receiver == 2 and p.kind != "ack" and p.end is not None:
            key = p.sender, p.kind, p.number
            ends[key] = min(ends.get(key, p.end), p.end)
    assert got
    assert all(got[key] >= ends[key] for key in got)
    assert sum(got[key] == ends[key] for key in got) > len(got) / 2  # the others waited for one before them


def test_activations_are_those_of_the_senders():
    diary = PacketLog()
    run = simulation("walk").run(packet_log=diary)
    first = {key: passage for key, passage in diary.begun.items() if passage.kind == "direct"}
    for agent, closed in enumerate(run.activations):
        numbers = [first[agent, k].number for k in range(1, closed + 1) if (agent, k) in first]
        assert numbers == sorted(set(numbers))
        assert len(numbers) >= closed - 1


def test_a_diary_is_bounded():
    diary = PacketLog(first=30, last=10)
    simulation("lossy").run(packet_log=diary)
    full = PacketLog()
    simulation("lossy").run(packet_log=full)
    assert diary.total == full.total > 40
    assert (len(diary.head), len(diary.tail)) == (30, 10)
    assert [p.start for p in diary.tail] == [p.start for p in full.head[-10:]]
    assert diary.links.keys() == full.links.keys()
    assert [c.bytes for c in diary.links.values()] == [c.bytes for c in full.links.values()]


def test_a_diary_keeps_what_is_around_a_message():
    full = PacketLog()
    simulation("lossy").run(packet_log=full)
    every = full.head
    at = next(k for k in range(60, len(every)) if every[k].kind == "exchange" and every[k].attempt == 0)
    wanted = every[at]
    sought = (wanted.sender, wanted.kind, wanted.number)
    first = next(k for k, p in enumerate(every) if (p.sender, p.kind, p.number) == sought and p.attempt == 0)
    diary = PacketLog(0, 0, sought, around=20)
    simulation("lossy", adversaries=(), measure=False).run(packet_log=diary)
    assert diary.begins == first - 19
    assert [vars_of(p) for p in diary.middle] == [vars_of(p) for p in every[first - 19 : first + 21]]
    assert (diary.total, len(diary.head), len(diary.tail)) == (full.total, 0, 0)


def vars_of(passage):
    return [getattr(passage, name) for name in passage.__slots__]


def test_what_there_is_of_a_run_that_fails_is_handed_out_before_the_error():
    lost = LinkLaw(delay=UniformDelay(0.01, 0.03), loss=Bernoulli(0.2))
    diary, left = PacketLog(), []
    failing = simulation("plain", links=lost)
    with pytest.raises(DeadlockError):
        failing.run(packet_log=diary, rescue=left.append)
    (run,) = left
    assert run.interrupted
    assert diary.total == run.traffic["packets_sent"] == sum(c.packets for c in diary.links.values())
    assert diary.ended == max(p.end for p in diary.head if p.end is not None)
    assert len(run.views[0].transcript) > 0
    with pytest.raises(DeadlockError):
        failing.run()
