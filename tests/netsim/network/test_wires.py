"""What a wire does besides delaying and losing: waiting rooms, copies, outages, ciphers, shared access lines."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from netsim.adversary import Adversary
from netsim.clock import VirtualEnvironment
from netsim.errors import ScenarioError
from netsim.network.laws import (
    Bernoulli,
    ConstantDelay,
    ExponentialDelay,
    RandomOutages,
    Scheduled,
    Switch,
    UniformDelay,
)
from netsim.network.links import AccessLaw, LinkLaw
from netsim.network.wires import Pipe
from netsim.randomness import Streams
from netsim.topology import complete
from netsim.transcript.message import TAG_BYTES
from tests.netsim.network.intercepted import FALSE_ALARM, Line, descent, estimates, message
from tests.worlds import refusal

SIZE = message(0).size


class TestBuffer:
    def test_what_finds_no_room_is_dropped_and_never_heard(self):
        """A burst of ten into a wire that holds three waiting packets: one on the air, three wait, six drop."""
        law = LinkLaw(bandwidth=SIZE / 1.0, buffer=4 * SIZE)
        line = Line(law).send_at([0.0] * 10).run()
        assert line.wire.dropped == 6
        assert line.wire.bytes.dropped == 6 * SIZE
        assert line.when == [(1.0, 0), (2.0, 1), (3.0, 2), (4.0, 3)]
        assert len(line.captured) == 4

    def test_a_packet_always_fits_into_an_idle_wire(self):
        line = Line(LinkLaw(bandwidth=SIZE / 1.0, buffer=0)).send_at([0.0, 0.5, 1.0, 5.0]).run()
        assert [number for _, number in line.when] == [0, 2, 3]

    @pytest.mark.slow
    def test_the_blocking_probability_is_that_of_the_queue(self):
        """M/D/1 with room for one waiting packet (K = 2), ρ = 0.8: P(blocked) = 1 − 1/(e^{−ρ} + ρ)."""
        rate, arrivals = 0.8, 60_000
        times = np.cumsum(np.random.default_rng(1).exponential(1 / rate, arrivals))
        line = Line(LinkLaw(bandwidth=SIZE / 1.0, buffer=2 * SIZE)).send_at(times).run()
        expected = 1 - 1 / (math.exp(-rate) + rate)
        # 100 batches: blocked packets come in bunches
        numbers = {number for _, number in line.when}
        batches = np.array([k not in numbers for k in range(arrivals)]).reshape(100, -1).mean(axis=1)
        assert stats.ttest_1samp(batches, expected).pvalue > FALSE_ALARM
        assert abs(batches.mean() - expected) < 0.01


class TestLoss:
    def test_a_probability_and_its_law_lose_the_same_packets(self):
        lines = [
            Line(LinkLaw(UniformDelay(0, 1), loss=loss)).send_at(range(500)).run() for loss in (0.3, Bernoulli(0.3))
        ]
        assert lines[0].when == lines[1].when
        assert 100 < lines[0].wire.lost < 200


class TestDuplication:
    def test_copies_travel_on_their_own(self):
        line = Line(LinkLaw(ExponentialDelay(1.0), duplication=0.4, reordering=True)).send_at(range(5000)).run()
        counts = np.bincount([number for _, number in line.when], minlength=5000)
        assert set(counts) == {1, 2}
        assert stats.binomtest(int((counts == 2).sum()), 5000, 0.4).pvalue > FALSE_ALARM
        assert len(line.captured) == 5000  # one transmission each: the network made the copy
        apart = [b - a for (a, n), (b, m) in pairwise(sorted(line.when, key=lambda x: (x[1], x[0]))) if n == m]
        assert stats.kstest(apart, stats.expon().cdf).pvalue > FALSE_ALARM  # |X − Y| is exponential too

    def test_without_reordering_they_keep_their_place(self):
        line = Line(LinkLaw(UniformDelay(0, 5), duplication=0.4)).send_at(range(300)).run()
        numbers = [number for _, number in line.when]
        assert numbers == sorted(numbers)


class TestOutages:
    def test_a_link_that_is_down_carries_nothing_and_cuts_what_is_on_its_way(self):
        """Down in [2, 5): sent at 1.5 with 1 s to travel is cut, at 3 nobody hears it, at 5 all is well again."""
        law = LinkLaw(ConstantDelay(1.0), outages=Scheduled(((2.0, 5.0),)))
        line = Line(law).send_at([0.5, 1.5, 3.0, 4.5, 5.0]).run()
        assert line.when == [(1.5, 0), (6.0, 4)]
        assert [heard[0] for heard in line.captured] == [0.5, 1.5, 5.0]
        assert line.wire.lost == 3

    def test_what_waits_for_the_wire_is_judged_when_it_goes_on_the_air(self):
        law = LinkLaw(bandwidth=SIZE / 1.0, outages=Scheduled(((1.5, 2.5),)))
        line = Line(law).send_at([0.0, 0.0, 0.0, 0.0]).run()  # on the air at 0, 1, 2, 3
        assert [number for _, number in line.when] == [0, 3]

    def test_a_reliable_link_outlives_them(self):
        law = LinkLaw(ConstantDelay(0.05), outages=RandomOutages(1.0, 1.0), reliable=True)
        perfect, broken = descent(), descent(links=law)
        assert broken.traffic["packets_lost"] > 0
        assert estimates(perfect) == estimates(broken)

    def test_both_directions_are_down_together(self):
        law = LinkLaw(outages=RandomOutages(2.0, 2.0), reliable=True, delay=ConstantDelay(0.3))
        run = descent(links=law, adversaries=(Adversary(),))
        heard = {}
        for row in run.views[0].transcript:
            heard.setdefault((row.sender, row.receiver), []).append(row.time)
        flips = {
            e: law.outages.changes(Streams(run.simulation.seed).plain("outage", *sorted(e)))
            for e in heard
            if e[0] < e[1]
        }
        for (i, j), changes in flips.items():
            switch = Switch(changes)
            assert not any(switch.is_down(time) for time in sorted(heard[i, j] + heard[j, i]))


class TestEncryption:
    def test_a_tap_sees_time_size_and_endpoints_and_nothing_else(self):
        links = {edge: LinkLaw(encrypted=True) for edge in ((0, 1), (1, 0))}
        run = descent(link_laws=links, adversaries=(Adversary(),))
        sealed = [r for r in run.views[0].transcript if {r.sender, r.receiver} == {0, 1}]
        others = [r for r in run.views[0].transcript if {r.sender, r.receiver} != {0, 1}]
        assert {(r.kind, r.number, r.sequence, r.attempt) for r in sealed} == {("sealed", -1, -1, 0)}
        assert not any(r.values for r in sealed)
        assert {r.size for r in sealed} == {r.size + TAG_BYTES for r in others}
        assert all(r.values for r in others)
        assert not any({r.sender, r.receiver} == {0, 1} for r in run.views[0].transcript.on_links())

    def test_it_changes_nothing_else(self):
        plain, sealed = descent(), descent(links=LinkLaw(encrypted=True), adversaries=(Adversary(),))
        assert estimates(plain) == estimates(sealed)

    def test_acknowledgements_look_like_anything_else(self):
        run = descent(links=LinkLaw(encrypted=True, reliable=True), adversaries=(Adversary(),))
        assert {r.kind for r in run.views[0].transcript} == {"sealed"}
        assert len({r.size for r in run.views[0].transcript}) == 2  # but for their size


class TestAccessLines:
    def test_wires_share_an_uplink(self):
        environment, up = VirtualEnvironment(), Pipe(SIZE / 1.0)
        lines = [Line(LinkLaw(), environment=environment, uplink=up).send_at([0.0, 0.0]) for _ in range(3)]
        environment.run()
        assert sorted(time for line in lines for time, _ in line.when) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]

    def test_wires_share_a_downlink_in_order_of_arrival(self):
        environment, down = VirtualEnvironment(), Pipe(SIZE / 1.0)
        slow = Line(LinkLaw(ConstantDelay(5.0)), environment=environment, downlink=down).send_at([0.0])
        fast = Line(LinkLaw(ConstantDelay(4.5)), environment=environment, downlink=down).send_at([0.0])
        environment.run(4.9)
        assert fast.wire.packets.in_flight == 1  # it has arrived at the line, not at the agent
        environment.run()
        assert fast.when == [(5.5, 0)]
        assert slow.when == [(6.5, 0)]

    def test_a_saturated_uplink_carries_what_it_is_wide(self):
        """Agent 0 of a star sends to four others: all messages leave at the line's rate."""
        access = {0: AccessLaw(uplink=1000.0)}
        run = descent(adversaries=(Adversary(),), topology=complete(5), access_laws=access)
        sent = [r for r in run.views[0].transcript if r.sender == 0]
        size = sum(r.size for r in sent)
        assert run.time == pytest.approx(size / 1000.0)

    @pytest.mark.parametrize("field", ["uplink", "downlink"])
    def test_a_line_without_width_is_refused(self, field):
        assert refusal(AccessLaw, **{field: 0.0}).field == field

    def test_an_agent_that_is_not_there_has_none(self):
        with pytest.raises(ScenarioError, match="access_laws"):
            descent(access_laws={9: AccessLaw(uplink=1.0)})
