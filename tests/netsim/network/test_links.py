"""Wires and transports against queueing theory, conservation of bytes, and what a tap must hear."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from netsim.clock import VirtualEnvironment
from netsim.network.laws import ConstantDelay, ExponentialDelay, LognormalDelay, Switch, UniformDelay
from netsim.network.links import LinkLaw
from netsim.network.network import MAX_BACKOFF, UNACKNOWLEDGED, ReliableChannel
from netsim.network.wires import LossyWire, PlainWire, fan_out
from netsim.transcript.message import ACK_BYTES, HEADER_BYTES, Message, Segment
from tests.netsim.network.intercepted import FALSE_ALARM, Line, message
from tests.worlds import refusal

SIZE = message(0).size


class Reliable:
    """A reliable channel over two wires, and everything that is heard on them."""

    def __init__(self, law: LinkLaw, seed: int = 0, down: str = "") -> None:
        self.environment = VirtualEnvironment()
        rng = random.Random(seed)
        there, back = (Switch(iter([0.0])) if way == down else None for way in ("forward", "backward"))
        self.forward = LossyWire(self.environment, 0, 1, law, random.Random(rng.random()), switch=there)
        self.backward = LossyWire(self.environment, 1, 0, law, random.Random(rng.random()), switch=back)
        self.delivered, self.attempts, self.acks = [], [], []
        self.channel = ReliableChannel(self.environment, self.forward, self.backward, law, self.delivered.append)
        self.forward.deliver = self.channel.on_data
        self.backward.deliver = self.channel.on_ack
        self.forward.tap(self.attempts.append)
        self.backward.tap(self.acks.append)


# ── laws ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: LinkLaw(loss=1.0), "loss"), (lambda: LinkLaw(loss=-0.1), "loss"),
        (lambda: LinkLaw(loss=math.nan), "loss"), (lambda: LinkLaw(bandwidth=0.0), "bandwidth"),
        (lambda: LinkLaw(bandwidth=math.inf), "bandwidth"), (lambda: LinkLaw(timeout=0.0), "timeout"),
        (lambda: LinkLaw(buffer=100), "buffer"), (lambda: LinkLaw(bandwidth=1.0, buffer=-1), "buffer"),
        (lambda: LinkLaw(duplication=1.0), "duplication"), (lambda: LinkLaw(duplication=math.nan), "duplication"),
    ],
)  # fmt: skip
def test_a_law_that_cannot_be_is_a_scenario_error(make, field):
    assert refusal(make).field == field


# ── the wire ────────────────────────────────────────────────────────────────────────────────────────────
def test_a_message_weighs_its_header_and_its_floats_of_one_replica():
    values = {"x": np.zeros((7, 3)), "y": np.zeros((7, 5))}
    assert Message(0, "exchange", 0, values).size == HEADER_BYTES + 8 * 8


@pytest.mark.parametrize("reordering", [False, True])
@pytest.mark.parametrize("delay", [LognormalDelay(1.0, 2.0), UniformDelay(0.0, 50.0)])
def test_packets_of_one_wire_overtake_each_other_with_reordering_only(delay, reordering):
    line = Line(LinkLaw(delay, reordering=reordering)).send_at(0.1 * np.arange(300)).run()
    assert (line.numbers != list(range(300))) is reordering
    assert sorted(line.numbers) == list(range(300))
    times = [time for time, _ in line.when]
    assert times == sorted(times)


def test_no_packet_arrives_before_its_delay_has_passed():
    line = Line(LinkLaw(UniformDelay(1.0, 2.0), bandwidth=SIZE / 0.5)).send_at(np.arange(50.0)).run()
    travelled = [time - packet.number for time, _, packet in line.arrived]
    assert min(travelled) >= 1.5
    assert len(travelled) == 50


def test_a_saturated_link_carries_its_bandwidth():
    rate, delay, count = 12_800.0, 0.75, 1_000
    line = Line(LinkLaw(ConstantDelay(delay), bandwidth=rate)).send_at(np.zeros(count)).run()
    times = np.array([time for time, _ in line.when])
    assert np.allclose(np.diff(times), SIZE / rate, rtol=1e-9)
    assert times[0] == pytest.approx(delay + SIZE / rate)
    assert line.wire.bytes.received / (times[-1] - delay) == pytest.approx(rate, rel=1e-9)


def test_a_tap_hears_a_queued_packet_when_it_goes_on_the_air():
    line = Line(LinkLaw(ConstantDelay(5.0), bandwidth=SIZE / 2.0)).send_at([0.0, 0.0, 1.0, 20.0]).run()
    assert [time for time, *_ in line.captured] == pytest.approx([0.0, 2.0, 4.0, 20.0])
    assert [heard[1:3] for heard in line.captured] == [(0, 1)] * 4
    assert [time for time, _ in line.when] == pytest.approx([7.0, 9.0, 11.0, 27.0])


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.3, 0.7])
def test_the_mean_wait_is_that_of_an_m_d_1_queue(load):
    """W = ρs/(2(1−ρ)) (Pollaczek–Khinchine), over 200 independent links by Student's t."""
    service, runs, warm, count = 1.0, 200, 150, 600
    means = []
    for run in range(runs):
        rng = np.random.default_rng([3, run])
        times = np.cumsum(rng.exponential(service / load, count))
        line = Line(LinkLaw(bandwidth=SIZE / service), seed=run).send_at(times)
        line.environment.run()
        waits = np.array([heard[0] for heard in line.captured]) - times
        means.append(waits[warm:].mean())
    expected = load * service / (2 * (1 - load))
    error = np.std(means, ddof=1) / math.sqrt(runs)
    assert error < 0.1 * expected  # the test has power
    assert abs(np.mean(means) - expected) < stats.t.isf(FALSE_ALARM / 2, runs - 1) * error


def test_a_lost_packet_is_heard_and_takes_its_time_on_the_wire():
    lossy = Line(LinkLaw(loss=0.5, bandwidth=SIZE / 1.0), seed=1).send_at(np.zeros(50)).run()
    sound = Line(LinkLaw(bandwidth=SIZE / 1.0)).send_at(np.zeros(50)).run()
    assert 0 < lossy.wire.lost < 50
    assert [h[0] for h in lossy.captured] == [h[0] for h in sound.captured]
    arrivals = {packet.number: time for time, _, packet in sound.arrived}
    assert all(time == arrivals[packet.number] for time, _, packet in lossy.arrived)


@pytest.mark.parametrize("tapped", [False, True])
def test_the_fast_broadcast_does_what_wires_do_one_by_one(tapped):
    def outcome(loss: float):
        environment = VirtualEnvironment()
        log = []
        wires = [
            PlainWire(environment, 0, j, delay)
            if loss == 0
            else LossyWire(environment, 0, j, LinkLaw(ConstantDelay(delay), loss=loss), random.Random(j))
            for j, delay in [(1, 0.5), (2, 0.0), (3, 0.5)]
        ]
        for wire in wires:
            wire.deliver = lambda m, j=wire.target: log.append(("arrived", environment.now, j, m.number))
            if tapped:
                wire.tap(lambda heard: log.append(("heard", *heard[:3], heard[3].number)))
        broadcast = fan_out(environment, wires, {})
        for number in range(3):
            environment.call_at(0.25 * number, broadcast, message(number))
        environment.run()
        return log, [(w.packets, w.bytes) for w in wires]

    assert outcome(0.0) == outcome(1e-300)  # a loss that never happens takes the slow way


def test_a_wire_counts_what_it_sends_alone_and_in_every_broadcast():
    environment = VirtualEnvironment()
    left, right = (PlainWire(environment, 0, j, 1.0) for j in (1, 2))
    left.deliver = right.deliver = lambda _: None
    for wires in ([left, right], [left]):
        fan_out(environment, wires, {})(message(0))
    left.send(message(1))
    assert [(w.packets.sent, w.bytes.sent) for w in (left, right)] == [(3, 3 * SIZE), (1, SIZE)]
    assert [w.bytes.in_flight for w in (left, right)] == [3 * SIZE, SIZE]
    environment.run()
    assert [(w.packets.received, w.bytes.in_flight) for w in (left, right)] == [(3, 0), (1, 0)]


# ── the reliable transport ──────────────────────────────────────────────────────────────────────────────
def test_every_attempt_and_every_acknowledgement_is_heard():
    link = Reliable(LinkLaw(UniformDelay(0.1, 1.0), loss=0.5, reliable=True, reordering=True), seed=9)
    for number in range(100):
        link.environment.call_at(0.3 * number, link.channel.send, message(number))
    link.environment.run()
    assert len(link.attempts) == link.forward.packets.sent == link.forward.packets.received + link.forward.lost
    assert len(link.acks) == link.backward.packets.sent == link.forward.packets.received
    attempts: dict[int, list[int]] = {}
    for _, source, target, segment in link.attempts:
        assert (source, target) == (0, 1)
        assert segment.message is not None
        assert segment.message.number == segment.sequence
        attempts.setdefault(segment.sequence, []).append(segment.attempt)
    assert sorted(attempts) == list(range(100))
    assert all(counts == list(range(len(counts))) for counts in attempts.values())
    assert max(len(counts) for counts in attempts.values()) > 2
    for _, source, target, segment in link.acks:
        assert (source, target) == (1, 0)
        assert segment.message is None
        assert segment.size == ACK_BYTES
    acknowledged = [(segment.sequence, segment.attempt) for *_, segment in link.acks]
    sent = {(segment.sequence, segment.attempt) for *_, segment in link.attempts}
    assert len(set(acknowledged)) == len(acknowledged)
    assert set(acknowledged) < sent


def test_the_timeout_doubles_up_to_its_largest():
    """Every attempt is lost; one of the ten arrives with probability 1e-11."""
    link = Reliable(LinkLaw(loss=1 - 1e-12, reliable=True, timeout=0.5))
    link.channel.send(message(0))
    link.environment.run(until=0.5 * (2**MAX_BACKOFF * 4 + 1))
    times = [time for time, *_ in link.attempts]
    waits = [b - a for a, b in pairwise(times)]
    assert waits == [0.5 * 2**k for k in range(MAX_BACKOFF)] + [0.5 * 2**MAX_BACKOFF] * (len(waits) - MAX_BACKOFF)
    assert len(waits) > MAX_BACKOFF + 1
    assert [segment.attempt for *_, segment in link.attempts] == list(range(len(times)))


def test_without_losses_nothing_is_sent_twice():
    link = Reliable(LinkLaw(UniformDelay(0.0, 1.0), bandwidth=100 * SIZE, reliable=True))
    for number in range(100):
        link.environment.call_at(3.0 * number, link.channel.send, message(number))
    link.environment.run()
    assert (link.forward.packets.sent, link.backward.packets.sent) == (100, 100)


def test_an_acknowledgement_exactly_at_the_timeout_is_in_time():
    link = Reliable(LinkLaw(ConstantDelay(1.0), reliable=True, timeout=2.0))
    link.channel.send(message(0))
    link.environment.run()
    assert link.forward.packets.sent == 1
    late = Reliable(LinkLaw(ConstantDelay(1.0), reliable=True, timeout=math.nextafter(2.0, 0)))
    late.channel.send(message(0))
    late.environment.run()
    assert late.forward.packets.sent == 2
    assert len(late.delivered) == 1


@pytest.mark.parametrize(("gone", "attempts"), [("forward", 1), ("backward", UNACKNOWLEDGED + 1)])
def test_it_gives_up_where_one_way_alone_is_down_for_good(gone, attempts):
    link = Reliable(LinkLaw(reliable=True, timeout=1.0), down=gone)
    link.channel.send(message(0))
    link.environment.run()
    assert link.forward.packets.sent == attempts
    assert len(link.delivered) == (gone == "backward")


def test_segments_that_come_early_wait_for_the_missing_one():
    link = Reliable(LinkLaw(reliable=True))
    messages = [message(number) for number in range(4)]
    for sequence in (2, 1, 1, 3):
        link.channel.on_data(Segment(sequence, 0, messages[sequence]))
    assert link.delivered == []
    link.channel.on_data(Segment(0, 1, messages[0]))
    assert link.delivered == messages
    link.channel.on_data(Segment(2, 5, messages[2]))
    assert link.delivered == messages
    assert not link.channel._early  # nothing is kept that was delivered
    assert link.backward.packets.sent == 6  # also what it already had is acknowledged


@pytest.mark.parametrize("seed", range(4))
def test_exactly_once_and_in_order_under_loss_copies_and_reordering(seed):
    law = LinkLaw(ExponentialDelay(0.2), loss=0.5, duplication=0.3, reordering=True, reliable=True)
    link = Reliable(law, seed)
    for number, time in enumerate(np.linspace(0, 20, 400)):
        link.environment.call_at(float(time), link.channel.send, message(number))
    link.environment.run()
    assert [message.number for message in link.delivered] == list(range(400))
    assert min(link.forward.lost, link.forward.duplicated, link.backward.lost) > 100
