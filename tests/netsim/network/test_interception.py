"""Meddlers at work: conservation, the links' own draws, what gets through unnoticed and what is caught."""

import asyncio
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from netsim.adversary import Adversary
from netsim.algorithms import Algorithm
from netsim.errors import DeadlockError, SimulationError
from netsim.network.active_adversaries import (
    ActiveAdversary,
    AddGaussian,
    Alter,
    Delay,
    Drop,
    FlipSign,
    Interception,
    InterceptionReport,
    Replay,
    ScaleBy,
)
from netsim.network.laws import ConstantDelay, ExponentialDelay, UniformDelay
from netsim.network.links import AccessLaw, LinkLaw
from netsim.network.wires import Pipe
from netsim.randomness import Streams
from netsim.topology import path
from netsim.transcript.message import TAG_BYTES, Tagged
from tests.architecture.test_truth_free_views import reachable
from tests.netsim.network.intercepted import FALSE_ALARM, Line, descending, descent, estimates, message, rows
from tests.worlds import EVERY_LAW

RELIABLE = LinkLaw(ExponentialDelay(0.05), loss=0.1, duplication=0.1, reordering=True, reliable=True)
EVERYTHING = (
    Alter(AddGaussian(1.0), 0.3), Delay(UniformDelay(0.0, 2.0), 0.3), Replay(0.7, 0.3, copies=2), Drop(0.2),
)  # fmt: skip
EARS = (Adversary(),)


def mallory(*actions, links="all", **options) -> tuple[ActiveAdversary, ...]:
    return (ActiveAdversary("mallory", links, actions, **options),)


# ── one wire ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("law", [EVERY_LAW, replace(EVERY_LAW, authenticated=True)], ids=["bare", "authenticated"])
def test_packets_and_bytes_are_conserved_at_every_moment_with_everything_on(law):
    two = (*mallory(*EVERYTHING), ActiveAdversary("other", "all", (Drop(0.1), Replay(1.5, 0.2))))
    line = Line(law, two, downlink=Pipe(2e4)).send_at(np.linspace(0, 20, 3000))
    wire, moments, size = line.wire, 0, message(0).size + (TAG_BYTES if law.authenticated else 0)
    for moment in np.linspace(0.1, 40, 80):
        line.run(float(moment))
        flying = [e[4] for e in line.environment._queue if len(e) == 5 and e[3] != wire.send]
        assert wire.packets.in_flight == len(flying)
        assert wire.bytes.in_flight == sum(packet.size for packet in flying) == size * len(flying)
        assert wire.bytes.sent + wire.bytes.duplicated == size * (wire.packets.sent + wire.packets.duplicated)
        assert (wire.bytes.received, wire.bytes.lost) == (size * wire.packets.received, size * wire.lost)
        assert wire.packets.received == len(line.arrived)
        moments += min(len(flying), wire.lost, wire.dropped, wire.packets.duplicated) > 0
    assert moments > 20
    assert wire.packets.in_flight == 0
    assert min(line.deeds.dropped, line.deeds.delayed, line.deeds.replayed, line.deeds.altered) > 100


def test_the_links_own_draws_are_undisturbed():
    """Whatever the meddler does, the link loses, delays and copies the packets it would have."""
    times = np.linspace(0, 20, 1000)
    honest = Line(EVERY_LAW).send_at(times).run()
    held = Line(EVERY_LAW, mallory(Delay(5.0))).send_at(times).run()
    assert [number for _, number in held.when] == [number for _, number in honest.when]
    np.testing.assert_allclose([time - 5.0 for time, _ in held.when], [time for time, _ in honest.when])
    thinned = Line(EVERY_LAW, mallory(Drop(0.5))).send_at(times).run()
    assert set(thinned.when) < set(honest.when)
    assert thinned.deeds.dropped == len(honest.when) - len(thinned.when)
    assert (
        [row[0] for row in held.captured]
        == [row[0] for row in thinned.captured]
        == [row[0] for row in honest.captured]
    )


@pytest.mark.slow
def test_each_packet_has_the_same_chance():
    line = Line(LinkLaw(), mallory(Drop(0.3))).send_at(range(20_000)).run()
    assert stats.binomtest(line.deeds.dropped, 20_000, 0.3).pvalue > FALSE_ALARM
    arrived = np.isin(np.arange(20_000), [number for _, number in line.when])
    again = arrived[1:][arrived[:-1]]  # after one that came through
    assert stats.binomtest(int(again.sum()), again.size, 0.7).pvalue > FALSE_ALARM


def test_when_it_acts_and_in_which_order():
    """One second on the way; active from 2 on and before 4, by when a packet comes by."""
    law = LinkLaw(ConstantDelay(1.0))
    line = Line(law, mallory(Drop(), start=2.0, end=4.0)).send_at([0.5, 1.0, 2.5, 3.0, 5.0]).run()
    assert line.when == [(1.5, 0), (4.0, 3), (6.0, 4)]
    early = Line(law, mallory(Replay(0.5, copies=2), Delay(3.0), Alter(FlipSign()))).send_at([0.0]).run()
    assert early.when == [(1.5, 0), (2.0, 0), (4.0, 0)]  # the copies follow when it came by, unaltered
    assert [packet.values["x"][0, 0] for _, _, packet in early.arrived] == [1.0, 1.0, -1.0]
    late = Line(law, mallory(Alter(FlipSign()), Replay(0.5))).send_at([0.0]).run()
    assert [packet.values["x"][0, 0] for _, _, packet in late.arrived] == [-1.0, -1.0]
    gone = Line(law, mallory(Drop(), Replay())).send_at([0.0]).run()
    assert (gone.arrived, gone.deeds.replayed) == ([], 0)


def test_taps_hear_what_was_sent_and_the_receiver_gets_what_was_made_of_it():
    line = Line(LinkLaw(), mallory(Alter(ScaleBy(3.0)))).send_at([0.0]).run()
    (_, _, _, heard), (_, _, got) = line.captured[0], line.arrived[0]
    assert (heard.values["x"][0, 0], got.values["x"][0, 0]) == (1.0, 3.0)
    assert (got.kind, got.number, got.sender, got.size) == (heard.kind, heard.number, heard.sender, heard.size)


def test_what_comes_out_with_the_same_bits_was_not_altered():
    line = Line(LinkLaw(), mallory(Alter(ScaleBy(1.0)), Alter(FlipSign(), fields=("absent",)))).send_at([0.0]).run()
    assert line.deeds.altered == 0
    assert line.arrived[0][2] is line.captured[0][3]


def test_what_taps_of_an_authenticated_link_hear_is_never_marked():
    """Whether a packet was meddled with later is the truth's: no tap holds it."""
    line = Line(LinkLaw(authenticated=True), mallory(Alter(FlipSign()), Replay())).send_at(range(5)).run()
    for _, _, _, heard in line.captured:
        assert isinstance(heard, Tagged)
        assert heard.genuine
        assert heard.by is None
    assert all(not packet.genuine and packet.by is not None for _, _, packet in line.arrived)


def test_two_meddlers_have_numbers_of_their_own():
    """The first one's draws are the same, whatever the second one does behind it."""
    first = mallory(Drop(0.3), Delay(UniformDelay(0, 1), 0.5))
    alone = Line(LinkLaw(), first).send_at(range(500)).run()
    both = Line(LinkLaw(), (*first, ActiveAdversary("other", "all", (Drop(0.5),)))).send_at(range(500)).run()
    assert alone.deeds == both.deeds
    assert set(both.when) < set(alone.when)


# ── whole runs ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("law", [LinkLaw(), RELIABLE, LinkLaw(UniformDelay(0.1, 0.5), bandwidth=500.0)])
@pytest.mark.parametrize(
    "idle",
    [
        mallory(Drop(0.0), Delay(1.0, 0.0), Replay(1.0, 0.0), Alter(FlipSign(), 0.0)),
        mallory(*EVERYTHING, start=1e9),
        mallory(Alter(ScaleBy(1.0))),
    ],
    ids=["never", "later", "changes nothing"],
)
def test_a_meddler_that_does_nothing_changes_no_bit(law, idle):
    ears = (Adversary(nodes=(1,)),)
    honest, met = descent(law, ears), descent(law, ears, active_adversaries=idle)
    assert rows(honest) == rows(met)
    assert estimates(honest) == estimates(met)
    assert (honest.time, honest.traffic) == (met.time, met.traffic)
    assert honest.interceptions == ()
    assert honest.outside_model is None
    assert "meddled with links 0–1" in met.outside_model


def test_a_meddled_run_repeats_itself_and_conserves_packets():
    law, active_adversaries = replace(RELIABLE, bandwidth=5e3), mallory(*EVERYTHING)
    options = {"active_adversaries": active_adversaries, "access": AccessLaw(uplink=5e3, downlink=5e3)}
    one, two = (descent(law, EARS, **options) for _ in range(2))
    assert rows(one) == rows(two)
    assert (one.interceptions, one.traffic, one.time) == (two.interceptions, two.traffic, two.time)
    assert rows(descent(law, EARS, seed=5, **options)) != rows(one)
    for unit in ("packets", "bytes"):
        ends = sum(one.traffic[f"{unit}_{end}"] for end in ("delivered", "lost", "dropped", "in_flight"))
        assert one.traffic[f"{unit}_sent"] + one.traffic[f"{unit}_duplicated"] == ends
    deeds = one.interceptions[0]
    assert hash(deeds) == hash(two.interceptions[0])  # nothing counts on in it
    assert 0 < deeds.dropped < one.traffic["packets_lost"]
    assert 0 < deeds.replayed < one.traffic["packets_duplicated"]


def test_unauthenticated_alterations_go_into_the_iterates_unnoticed():
    link = mallory(Alter(ScaleBy(5.0)), links=((0, 1),), directed=True)
    for law in (LinkLaw(), RELIABLE):
        honest, met = descent(law), descent(law, active_adversaries=link)
        assert estimates(honest) != estimates(met)
        assert met.interceptions[0].altered >= 12
        assert met.rejected == 0
        assert met.activations == honest.activations


def test_authenticated_and_reliable_links_catch_everything():
    """Iterates bit for bit those of an honest network; every alteration and every copy is rejected."""
    law = LinkLaw(ExponentialDelay(0.05), reliable=True, authenticated=True)
    honest = descent(law)
    met = descent(law, active_adversaries=mallory(Alter(AddGaussian(1.0), 0.4), Replay(0.0, 0.4, copies=2)))
    assert estimates(met) == estimates(honest) == estimates(descent())
    deeds = met.interceptions[0]
    assert min(deeds.altered, deeds.replayed) > 50
    assert deeds.rejected == met.rejected
    # at the end the last acknowledgements and their copies are still on the way
    assert 0 <= deeds.altered + deeds.replayed - deeds.rejected <= met.traffic["packets_in_flight"]


@pytest.mark.parametrize("law", [replace(RELIABLE, authenticated=True), replace(RELIABLE, encrypted=True)])
def test_whatever_is_done_to_them(law):
    actions = EVERYTHING if law.authenticated else EVERYTHING[1:]
    met = descent(law, active_adversaries=mallory(*actions))
    assert estimates(met) == estimates(descent())
    assert met.interceptions[0].rejected > 50
    assert met.rejected > met.interceptions[0].rejected  # the network's own copies are repeats too


def test_without_tags_reliable_links_bear_all_but_alterations():
    met = descent(RELIABLE, active_adversaries=mallory(*EVERYTHING[1:]))
    assert estimates(met) == estimates(descent())
    assert met.interceptions[0].replayed > 50
    assert met.rejected == 0


def test_delays_change_times_and_nothing_else():
    honest, held = descent(RELIABLE), descent(RELIABLE, active_adversaries=mallory(Delay(0.5)))
    assert estimates(honest) == estimates(held)
    assert held.time > honest.time + 0.5


def test_repeated_messages_are_harmless():
    copies = mallory(Replay(0.3, copies=3))
    assert estimates(descent(active_adversaries=copies)) == estimates(descent())
    assert heard_directly(LinkLaw(), copies) == [1.0, 2.0]
    assert heard_directly(LinkLaw(authenticated=True), copies) == [1.0, 2.0]
    assert heard_directly(LinkLaw(reliable=True), copies) == [1.0, 2.0]


def test_of_two_messages_of_one_exchange_the_first_holds():
    """The unaltered copy comes right behind the altered packet: too late."""
    copied, altered = mallory(Replay(), Alter(ScaleBy(5.0))), mallory(Alter(ScaleBy(5.0)))
    assert estimates(descent(active_adversaries=copied)) == estimates(descent(active_adversaries=altered))


def test_an_altered_packet_on_an_authenticated_datagram_link_is_gone():
    law = LinkLaw(authenticated=True)
    with pytest.raises(DeadlockError, match="agent 1 waits for exchange 0 from agent 0"):
        descent(law, active_adversaries=mallory(Alter(FlipSign()), links=((0, 1),), directed=True))


def test_dropped_packets_are_named_where_agents_wait_for_them():
    with pytest.raises(DeadlockError, match=r"2 packets were lost \(2 to active adversaries\)"):
        descent(active_adversaries=mallory(Drop(), links=((0, 1),), directed=True))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("action", "authenticated"), [(Drop(), False), (Alter(FlipSign()), True)], ids=["dropped", "altered"]
)
@pytest.mark.parametrize("link", [(0, 1), (1, 0)])
def test_a_reliable_link_that_is_cut_for_good_ends_the_run(action, authenticated, link):
    law = LinkLaw(ConstantDelay(0.1), reliable=True, authenticated=authenticated)
    with pytest.raises(SimulationError, match=r"link [01] → [01]: packet 0 was sent 10,000 times .* 'mallory'"):
        descent(law, active_adversaries=mallory(action, links=(link,), directed=True))


@pytest.mark.parametrize(("action", "named"), [(Drop(), "'mallory'"), (Alter(FlipSign()), "")])
def test_on_the_way_back_only_who_drops_cuts_a_link(action, named):
    """What comes back are acknowledgements, which nobody alters."""
    there = Interception(mallory(action, links=((1, 0),), directed=True), path(2), Streams(0), 0)
    assert there.who_cuts((0, 1), tagged=True) == named
    assert there.who_cuts((1, 0), tagged=True) == "'mallory'"


def test_a_reliable_link_outlives_a_meddler_that_ends():
    law = LinkLaw(ConstantDelay(0.1), reliable=True)
    met = descent(law, active_adversaries=mallory(Drop(), end=5000.0))
    assert estimates(met) == estimates(descent())
    assert met.time > 5000


def test_an_alteration_that_is_wrong_ends_the_run_with_its_reason():
    with pytest.raises(SimulationError, match=r"gave back 'x' of type float64 and shape \(1, 2\)"):
        descent(active_adversaries=mallory(Alter(lambda values: {"x": values["x"][:, :2]})))


def test_chunks_share_what_is_done_to_packets_and_not_the_noise_in_them():
    active_adversaries = mallory(Alter(AddGaussian(1.0), 0.5), Replay(0.1, 0.3))
    one, two = (descent(active_adversaries=active_adversaries, chunk=chunk) for chunk in (0, 1))
    assert one.interceptions == two.interceptions
    noises = [np.random.default_rng(), np.random.default_rng()]
    for chunk in (0, 1):
        noises[chunk] = Streams(4).generator("meddler", "mallory", 0, 1, "noise", chunk)
    assert noises[0].random() != noises[1].random()


def test_no_view_holds_what_was_done():
    law = replace(RELIABLE, authenticated=True)
    met = descent(law, (Adversary("mallory", nodes=(1,)),), active_adversaries=mallory(*EVERYTHING))
    len(met.views[0].transcript.records)
    assert not [item for item in reachable(met.views[0]) if isinstance(item, ActiveAdversary | InterceptionReport)]
    assert [item for item in reachable(met) if isinstance(item, InterceptionReport)]


# ── messages that are no exchange ───────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Telling(Algorithm):
    """Agent 0 tells agent 1 two things; agent 1 writes down what it hears within ten seconds."""

    heard: list

    async def run(self, node) -> None:
        if node.id == 0:
            for number in (1.0, 2.0):
                node.send(1, x=node.zeros() + number)
                await asyncio.sleep(5.0)
            return
        try:
            async with asyncio.timeout(10.0):
                while True:
                    self.heard.append(float((await node.receive()).values["x"][0, 0]))
        except TimeoutError:
            pass


def heard_directly(law, active_adversaries) -> list[float]:
    simulation = descending(law, active_adversaries=active_adversaries, agents=2, topology=path(2), measure=False)
    heard = []
    replace(simulation, algorithm=Telling(heard)).run()
    return heard
