"""Radio: one frame for all neighbors, counted once; each neighbor loses for itself; taps hear who is in range."""

import math
import random
from dataclasses import replace
from itertools import combinations, pairwise

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from netsim.adversary import Adversary, Around, Cut, RandomShare, Within
from netsim.algorithms import PrivateGradientDescent, Recal
from netsim.clock import VirtualEnvironment
from netsim.errors import DeadlockError
from netsim.network.active_adversaries import ActiveAdversary, Drop
from netsim.network.laws import ConstantDelay, RandomOutages, Scheduled, UniformDelay
from netsim.network.links import AccessLaw, ExchangePolicy, LinkLaw
from netsim.network.radio import Radio, RadioNetwork
from netsim.randomness import Streams
from netsim.readers.live import Downtime
from netsim.schedules import Constant
from netsim.simulation import Simulation
from netsim.topology import complete, grid, random_geometric, ring, star
from netsim.transcript.message import ACK_BYTES, EVERYBODY, TAG_BYTES, Message
from netsim.transcript.pcapng import export
from netsim.transcript.stored import StreamedTranscript
from tests.worlds import refusal, regression_problem, simulated

FALSE_ALARM = 1e-8
ROUNDS = 7
SHEET = grid(3, 4)
ROUGH = LinkLaw(
    UniformDelay(0.01, 0.05), loss=0.3, bandwidth=5e3, duplication=0.2, outages=RandomOutages(1.0, 0.1),
    reordering=True, reliable=True,
)  # fmt: skip


def message(number: int, sender: int = 0, floats: int = 10) -> Message:
    return Message(sender, "direct", number, {"x": np.zeros((1, floats))})


SIZE = message(0).size


class Air:
    """A radio network without agents: what is put on it by hand, what is heard, and what arrives."""

    def __init__(self, topology, law: LinkLaw, radio: Radio | None = None, laws=None, seed: int = 0) -> None:
        self.environment = VirtualEnvironment()
        self.network = RadioNetwork(
            radio or Radio(), self.environment, topology, law, Streams(seed), laws,
            {i: [lambda message, i=i: self._delivered(i, message)] for i in range(topology.agents)},
        )  # fmt: skip
        self.heard, self.delivered = [], []
        for transmitter in self.network.transmitters:
            transmitter.tap(self.heard.append)
        self.broadcasters = [self.network.broadcaster(i) for i in range(topology.agents)]

    def _delivered(self, agent: int, message: Message) -> None:
        self.delivered.append((self.environment.now, agent, message.sender, message.number))

    def broadcast_at(self, time: float, sent: Message) -> None:
        self.environment.call_at(time, self.broadcasters[sent.sender], sent)

    def send_at(self, time: float, sent: Message, to: int) -> None:
        self.environment.call_at(time, self.network.channels[sent.sender, to].send, sent)

    def run(self) -> "Air":
        self.environment.run()
        return self


def simulation(topology=SHEET, law=None, *adversaries: Adversary, **options) -> Simulation:
    algorithm = options.pop("algorithm", PrivateGradientDescent(ROUNDS, Constant(0.1), Constant(1.0)))
    return simulated(
        regression_problem(topology.agents, 4 * topology.agents), topology, algorithm, law or LinkLaw(),
        adversaries=adversaries, medium=options.pop("medium", Radio()), seed=2, **options,
    )  # fmt: skip


# ── one frame ───────────────────────────────────────────────────────────────────────────────────────────
def test_a_broadcast_is_serialized_once_and_heard_by_every_neighbor():
    air = Air(star(5), LinkLaw(ConstantDelay(0.5), bandwidth=SIZE / 2.0))
    air.broadcast_at(1.0, message(0))
    air.broadcast_at(1.0, message(1))
    air.run()
    assert [(when, sender, receiver) for when, sender, receiver, _ in air.heard] == [
        (1.0, 0, EVERYBODY), (3.0, 0, EVERYBODY),
    ]  # fmt: skip
    assert air.delivered == [(when, j, 0, k) for k, when in ((0, 3.5), (1, 5.5)) for j in (1, 2, 3, 4)]
    assert air.network.on_air() == {"transmissions": 2, "transmitted_bytes": 2 * SIZE}


def test_a_unicast_is_on_the_air_once_and_only_its_receiver_takes_it():
    air = Air(star(5), LinkLaw(ConstantDelay(0.5), bandwidth=SIZE / 2.0))
    air.send_at(1.0, message(0), to=3)
    air.run()
    assert [heard[:3] for heard in air.heard] == [(1.0, 0, 3)]
    assert air.delivered == [(3.5, 3, 0, 0)]
    assert {edge for edge, wire in air.network.wires.items() if wire.packets.sent} == {(0, 3)}


def test_every_neighbor_loses_frames_of_its_own():
    """Losses at two neighbors of one transmitter are independent, each with the law's probability."""
    air = Air(star(3), LinkLaw(loss=0.4))
    count = 4000
    for k in range(count):
        air.broadcast_at(float(k), message(k))
    air.run()
    got = {j: {k for _, agent, _, k in air.delivered if agent == j} for j in (1, 2)}
    table = [[len(got[1] & got[2]), len(got[1] - got[2])], [len(got[2] - got[1]), count - len(got[1] | got[2])]]
    assert stats.binomtest(len(got[1]), count, 0.6).pvalue > FALSE_ALARM
    assert stats.fisher_exact(table).pvalue > FALSE_ALARM
    assert len(air.heard) == count  # ears in range hear them all


def test_a_neighbor_has_delays_losses_and_outages_of_its_own():
    laws = {(0, 2): LinkLaw(ConstantDelay(3.0)), (0, 3): LinkLaw(outages=Scheduled(((0.5, 1.5),)))}
    air = Air(star(4), LinkLaw(ConstantDelay(0.25)), laws=laws)
    air.broadcast_at(1.0, message(0))
    air.broadcast_at(2.0, message(1))
    air.run()
    assert air.delivered == [(1.25, 1, 0, 0), (2.0, 3, 0, 1), (2.25, 1, 0, 1), (4.0, 2, 0, 0), (5.0, 2, 0, 1)]
    assert air.network.wires[0, 3].lost == 1
    assert len(air.heard) == 2  # who is out of reach of one neighbor is on the air all the same


def test_what_finds_no_room_is_dropped_for_all_and_never_heard():
    """A burst of ten into a transmitter that holds three: one on the air, three wait, six drop (as on a wire)."""
    air = Air(star(3), LinkLaw(bandwidth=SIZE / 1.0, buffer=4 * SIZE))
    for k in range(10):
        air.broadcast_at(0.0, message(k))
    air.run()
    assert [(when, k) for when, j, _, k in air.delivered if j == 1] == [(1.0, 0), (2.0, 1), (3.0, 2), (4.0, 3)]
    assert [air.network.wires[0, j].dropped for j in (1, 2)] == [6, 6]
    assert len(air.heard) == 4 == air.network.on_air()["transmissions"]


# ── counts ──────────────────────────────────────────────────────────────────────────────────────────────
def conserved(traffic) -> bool:
    return all(
        traffic[f"{unit}_sent"] + traffic[f"{unit}_duplicated"]
        == sum(traffic[f"{unit}_{end}"] for end in ("delivered", "lost", "dropped", "in_flight"))
        for unit in ("packets", "bytes")
    )


def on_the_way(air: Air) -> dict[tuple[int, int], tuple[int, int]]:
    """Packets and bytes for each neighbor that wait for their turn or travel, counted one by one."""
    found = {edge: [] for edge in air.network.wires}
    for transmitter in air.network.transmitters:
        for frame in (*transmitter._urgent, *transmitter._waiting):
            for reception in frame.receptions:
                found[reception.source, reception.target].append(frame.packet.size)
    arrivals = [entry for entry in air.environment._queue if len(entry) == 5]
    for edge, wire in air.network.wires.items():
        found[edge] += [entry[4].size for entry in arrivals if entry[3] == wire.arrive]
    return {edge: (len(sizes), sum(sizes)) for edge, sizes in found.items()}


@pytest.mark.parametrize("sense", [0, 1, 2])
@pytest.mark.parametrize("reliable", [False, True])
def test_packets_and_bytes_are_conserved_at_every_neighbor_and_every_moment(sense, reliable):
    law = replace(ROUGH, reliable=reliable, bandwidth=1e3, buffer=2 * SIZE)
    air = Air(SHEET, law, Radio(sense))
    rng = random.Random(5)
    for k in range(400):
        sender = rng.randrange(12)
        if rng.random() < 0.5:
            air.broadcast_at(rng.uniform(0, 6), message(k, sender))
        else:
            air.send_at(rng.uniform(0, 6), message(k, sender), rng.choice(SHEET.neighbors(sender)))
    flying = dropped = 0
    for moment in np.linspace(0.5, 8, 40):
        air.environment.run(float(moment))
        for edge, (count, size) in on_the_way(air).items():
            wire = air.network.wires[edge]
            gone = wire.packets.received + wire.lost + wire.dropped
            assert wire.packets.sent + wire.packets.duplicated == gone + count
            assert wire.bytes.sent + wire.bytes.duplicated == (
                wire.bytes.received + wire.bytes.lost + wire.bytes.dropped + size
            )
            flying, dropped = flying + count, dropped + wire.dropped
    air.run()
    assert flying > 0
    assert dropped > 0
    assert all(wire.packets.in_flight == wire.bytes.in_flight == 0 for wire in air.network.wires.values())
    assert air.network.on_air()["transmissions"] == len(air.heard)
    assert air.network.on_air()["transmitted_bytes"] == sum(heard[3].size for heard in air.heard)


@pytest.mark.parametrize("topology", [ring(6), complete(5), SHEET, star(7)], ids=lambda t: t.name)
def test_an_exchange_transmits_one_part_in_degree_of_what_links_send(topology):
    on_radio = simulation(topology, None, Adversary()).run()
    on_links = simulation(topology, medium="links").run()
    assert on_radio.traffic["packets_sent"] == on_links.traffic["packets_sent"] == ROUNDS * sum(topology.degrees)
    assert on_radio.traffic["transmissions"] == ROUNDS * topology.agents
    heard = dict.fromkeys(range(topology.agents), 0)
    for row in on_radio.views[0].transcript:
        heard[row.sender] += row.size
    for agent, degree in enumerate(topology.degrees):
        assert degree * heard[agent] == ROUNDS * degree * (20 + 8 * 3)
    assert sum(heard.values()) == on_radio.traffic["transmitted_bytes"]
    assert "transmissions" not in on_links.traffic


# ── carrier sense ───────────────────────────────────────────────────────────────────────────────────────
def hops(topology) -> dict[int, dict[int, int]]:
    return dict(nx.all_pairs_shortest_path_length(topology.graph))


@pytest.mark.few(2)
@pytest.mark.parametrize("sense", [0, 1, 2])
def test_who_is_near_never_transmits_at_the_same_time_and_no_turn_is_missed(sense):
    """Against an independent account: who is on the air when, and who could have been."""
    topology, rng = random_geometric(14, 0.45, seed=4), random.Random(1)
    away = hops(topology)
    air = Air(topology, LinkLaw(bandwidth=SIZE / 1.0), Radio(sense))
    asked = sorted((rng.uniform(0, 40), rng.randrange(14), k) for k in range(300))
    for time, sender, k in asked:
        air.broadcast_at(time, message(k, sender))
    air.run()
    starts = {packet.number: when for when, _, _, packet in air.heard}
    sender_of = {k: sender for _, sender, k in asked}
    for a, b in combinations(range(300), 2):
        if away[sender_of[a]][sender_of[b]] <= sense:
            assert abs(starts[a] - starts[b]) >= 1 - 1e-9
    busy = 0
    for time, sender, k in asked:  # while a frame waits, its sender or somebody near is on the air
        near = [starts[j] for j, other in sender_of.items() if away[sender][other] <= sense and j != k]
        for moment in np.arange(time + 1e-6, starts[k], 0.25):
            assert any(start - 1e-6 <= moment <= start + 1 + 1e-6 for start in near)
            busy += 1
    assert busy > 100
    for i in range(14):  # each agent's own frames keep their order
        own = [starts[k] for _, sender, k in asked if sender == i]
        assert own == sorted(own)


def test_two_neighbors_with_much_to_say_take_turns():
    air = Air(ring(3), LinkLaw(bandwidth=SIZE / 1.0), Radio(1))
    for k in range(5):
        for sender in (0, 1, 2):
            air.broadcast_at(0.1 * k, message(k, sender))
    heard = air.run().heard
    assert [sender for _, sender, _, _ in heard] == [0, 1, 2] * 5
    assert all(later[0] - earlier[0] == pytest.approx(1.0) for earlier, later in pairwise(heard))


def test_acknowledgements_go_before_what_waits():
    air = Air(star(3), LinkLaw(bandwidth=SIZE / 1.0, reliable=True, timeout=50.0), Radio(1))
    for k in range(3):
        air.broadcast_at(0.0, message(k))
    kinds = ["ack" if packet.message is None else packet.sequence for _, _, _, packet in air.run().heard]
    assert kinds == [0, "ack", "ack", 1, "ack", "ack", 2, "ack", "ack"]


# ── reliable ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("sense", [0, 2])
def test_reliable_radio_delivers_everything_once_and_in_order_whoever_it_is_for(sense):
    law = replace(ROUGH, loss=0.5)
    air, rng = Air(SHEET, law, Radio(sense)), random.Random(7)
    expected = {edge: [] for edge in air.network.wires}
    for k in range(600):
        sender, time = rng.randrange(12), 0.02 * k
        if rng.random() < 0.5:
            air.broadcast_at(time, message(k, sender))
            for j in SHEET.neighbors(sender):
                expected[sender, j].append(k)
        else:
            to = rng.choice(SHEET.neighbors(sender))
            air.send_at(time, message(k, sender), to)
            expected[sender, to].append(k)
    air.run()
    got = {edge: [] for edge in air.network.wires}
    for _, receiver, sender, number in air.delivered:
        got[sender, receiver].append(number)
    assert got == expected
    for channel in air.network.channels.values():  # and nothing is kept for later
        assert not any((channel._ahead, channel._early, channel._unacknowledged))


def test_only_who_missed_a_broadcast_is_sent_it_again():
    """The third of four neighbors is out of reach at first."""
    laws = {(0, 3): LinkLaw(outages=Scheduled(((0.0, 2.0),)), reliable=True, timeout=1.5)}
    air = Air(star(5), LinkLaw(reliable=True, timeout=1.5), laws=laws)
    air.broadcast_at(1.0, message(0))
    air.run()
    data = [(when, receiver, p.attempt, p.sequence) for when, _, receiver, p in air.heard if p.message is not None]
    assert data == [(1.0, EVERYBODY, 0, 0), (2.5, 3, 1, 0)]
    acks = [(when, sender, receiver) for when, sender, receiver, p in air.heard if p.message is None]
    assert acks == [(1.0, 1, 0), (1.0, 2, 0), (1.0, 4, 0), (2.5, 3, 0)]
    assert air.network.on_air()["transmitted_bytes"] == 2 * SIZE + 4 * ACK_BYTES


def test_a_timeout_counts_from_when_the_frame_has_left_not_from_when_it_was_handed_over():
    air = Air(star(2), LinkLaw(bandwidth=SIZE / 1.0, reliable=True, timeout=2.0))
    for k in range(20):  # the last waits nineteen seconds
        air.broadcast_at(0.0, message(k))
    assert {packet.attempt for *_, packet in air.run().heard} == {0}
    lossy = LinkLaw(bandwidth=SIZE / 1.0, reliable=True, timeout=2.0, outages=Scheduled(((0.0, 0.5),)))
    air = Air(star(2), lossy)
    air.broadcast_at(0.0, message(0))  # off the air at 1, so again at 3
    assert [heard[0] for heard in air.run().heard] == [0.0, 3.0, 4.0]


@pytest.mark.parametrize("radio", [Radio(), Radio(1), Radio(2)], ids=["apart", "1 hop", "2 hops"])
@pytest.mark.parametrize("algorithm", [None, Recal(step=0.2, activations=150)], ids=["descent", "recal"])
def test_iterates_over_lossy_reliable_radio_are_those_over_perfect_links_bit_for_bit(radio, algorithm):
    options = {} if algorithm is None else {"algorithm": algorithm}
    perfect = simulation(medium="links", **options).run()
    rough = simulation(SHEET, ROUGH, medium=radio, **options).run()
    assert rough.traffic["packets_lost"] > 0
    assert rough.activations == perfect.activations
    for one, other in zip(rough.truth.queries, perfect.truth.queries, strict=True):
        assert len(one) == len(other)
        assert all(
            (a.point == b.point).all() and (a.gradient == b.gradient).all() for a, b in zip(one, other, strict=True)
        )


@pytest.mark.parametrize("edges", [[(0, 1)], [(1, 0)], [(0, 1), (1, 0)]])
def test_a_neighbor_that_is_out_of_reach_for_good_is_given_up(edges):
    """Also where only acknowledgements cannot come back; the others go on, and who waits is named."""
    gone = LinkLaw(ConstantDelay(0.01), reliable=True, outages=Scheduled(((0.02, math.inf),)))
    sim = simulation(ring(4), replace(gone, outages=None), link_laws=dict.fromkeys(edges, gone))
    with pytest.raises(DeadlockError, match=f"agent {edges[0][1]} waits for exchange"):
        sim.run()


def test_what_waits_when_the_run_ends_is_still_heard_and_reaches_nobody():
    """Its times are those it would have had; and it stays in flight."""
    law = LinkLaw(bandwidth=SIZE / 1.0)
    cut, whole = Air(SHEET, law, Radio(1)), Air(SHEET, law, Radio(1))
    for air in (cut, whole):
        for k in range(8):
            air.broadcast_at(0.1 * k, message(k, sender=k // 2))
    cut.environment.run(1.5)
    delivered = len(cut.delivered)
    cut.network.drain()
    whole.run()
    assert [heard[:3] for heard in cut.heard] == [heard[:3] for heard in whole.heard]
    assert len(cut.delivered) == delivered < len(whole.delivered)
    assert cut.network.on_air() == whole.network.on_air()
    assert sum(wire.packets.in_flight for wire in cut.network.wires.values()) == len(whole.delivered) - delivered


@pytest.mark.parametrize(("when", "fits"), [(0.25, False), (0.75, True)])
def test_what_is_left_of_the_frame_on_the_air_takes_room_in_the_buffer(when, fits):
    air = Air(SHEET, LinkLaw(bandwidth=SIZE / 1.0, buffer=int(1.5 * SIZE)))
    for k, time in enumerate((0.0, when)):
        air.broadcast_at(time, message(k))
    assert len(air.run().heard) == 1 + fits


def test_what_waits_when_the_run_ends_is_neither_lost_nor_received():
    air = Air(SHEET, LinkLaw(bandwidth=SIZE / 1.0, loss=0.5), Radio(1))
    for k in range(8):
        air.broadcast_at(0.1 * k, message(k, sender=k // 2))
    air.environment.run(1.5)
    before = [(wire.packets, wire.bytes) for wire in air.network.wires.values()]
    heard = len(air.heard)
    air.network.drain()
    assert len(air.heard) > heard
    assert [(wire.packets, wire.bytes) for wire in air.network.wires.values()] == before


def test_who_is_down_transmits_nothing_that_anybody_hears():
    """Its frames are lost at once, take no time on the air, and a reliable radio sends them again."""
    down = {0: Scheduled(((1.5, 10.0),))}
    law = LinkLaw(bandwidth=SIZE / 1.0, reliable=True, timeout=6.0)
    environment = VirtualEnvironment()
    network = RadioNetwork(Radio(1), environment, star(3), law, Streams(0), downtimes=down)
    heard, say = [], network.broadcaster(0)
    network.transmitters[0].tap(heard.append)
    for k, time in enumerate((0.0, 2.0, 3.0)):
        environment.call_at(time, say, message(k))
    environment.run(9.9)
    assert [(when, receiver, p.sequence) for when, _, receiver, p in heard] == [(0.0, EVERYBODY, 0)]
    assert network.wires[0, 1].lost == 4  # two broadcasts, and each of them again, alone
    environment.run()
    assert {p.sequence for *_, p in heard} == {0, 1, 2}
    assert network.inboxes[1]._direct is not None
    assert [m.number for m in network.inboxes[1]._direct] == [0, 1, 2]


def test_agents_that_go_down_and_do_not_wait_forever_do_so_on_radio_too():
    run = simulation(
        SHEET, LinkLaw(ConstantDelay(0.01), loss=0.2), Adversary(links=Within((0.0, 0.0), 1.0), nodes=(5,)),
        downtimes={5: Downtime(Scheduled(((0.1, 0.3),)))}, exchange_policy=ExchangePolicy(0.1),
    ).run()  # fmt: skip
    assert run.activations == (ROUNDS,) * 12
    assert conserved(run.traffic)
    assert {r.sender for r in run.views[0].transcript if r.place == "link"} == {0, 1, 4}


def test_insiders_hear_at_their_doors_only_unless_they_have_receivers():
    curious, armed = Adversary("curious", insiders=(5,)), Adversary("armed", links=Around((0,)), insiders=(5,))
    run = simulation(SHEET, None, curious, armed).run()
    air = [{r.sender for r in view.transcript if r.place == "link"} for view in run.views]
    assert air == [set(), {0}]
    doors = [[r[:10] for r in view.at_node(5)] for view in run.views]
    assert doors[0] == doors[1] != []


@pytest.mark.parametrize("reliable", [False, True])
def test_authenticated_frames_are_tagged_once_and_let_in_once(reliable):
    """Copies are rejected by whoever gets them; what is new comes through, whoever it was for."""
    law = LinkLaw(bandwidth=1e4, duplication=0.5, authenticated=True, reliable=reliable)
    run = simulation(SHEET, law, Adversary(), medium=Radio(1)).run()
    plain = simulation(SHEET, LinkLaw(), medium="links").run()
    rows = [r for r in run.views[0].transcript if r.kind == "exchange"]
    assert {(r.receiver, r.size) for r in rows if r.attempt == 0} == {(EVERYBODY, 20 + 8 * 3 + TAG_BYTES)}
    assert run.rejected > 100
    for one, other in zip(run.truth.queries, plain.truth.queries, strict=True):
        assert all((a.point == b.point).all() for a, b in zip(one, other, strict=True))


# ── taps ────────────────────────────────────────────────────────────────────────────────────────────────
def heard_from(rule, topology=SHEET) -> set[int]:
    run = simulation(topology, None, Adversary(links=rule)).run()
    rows = list(run.views[0].transcript)
    assert all((r.receiver, r.place, r.event) == (EVERYBODY, "link", "air") for r in rows)
    senders = {r.sender for r in rows}
    assert len(rows) == ROUNDS * len(senders)  # one row a frame
    return senders


def test_taps_hear_the_transmitters_they_reach_and_no_other():
    assert heard_from("all") == set(range(12))
    assert heard_from(Around((2, 7))) == {2, 7}
    assert heard_from(Within((0.0, 0.0), 1.0)) == {0, 1, 4}
    assert len(heard_from(RandomShare(0.5, seed=3))) == 6
    assert heard_from(()) == set()


def test_a_unicast_is_one_row_with_its_receiver():
    run = simulation(SHEET, None, Adversary(), algorithm=Recal(step=0.2, activations=60)).run()
    rows = list(run.views[0].transcript)
    assert len(rows) == run.traffic["transmissions"] == run.traffic["packets_sent"]
    assert all(SHEET.has_edge(r.sender, r.receiver) for r in rows)


def test_a_broadcast_that_is_repeated_is_one_message():
    run = simulation(SHEET, ROUGH, Adversary()).run()
    rows = run.views[0].transcript.on_links()
    assert sorted((r.sender, r.receiver, r.number) for r in rows) == [
        (i, EVERYBODY, k) for i in range(12) for k in range(ROUNDS)
    ]
    repeated = [r for r in run.views[0].transcript if r.kind == "exchange" and r.receiver != EVERYBODY]
    assert len(repeated) > 50
    assert all(r.attempt > 0 for r in repeated)


def test_encrypted_radio_tells_time_size_sender_and_receiver():
    law = LinkLaw(encrypted=True)
    plain, sealed = (simulation(SHEET, each, Adversary()).run().views[0].transcript for each in (LinkLaw(), law))
    assert {r.kind for r in sealed} == {"sealed"}
    assert not any(r.values for r in sealed)
    told = [(r.time, r.sender, r.receiver, r.size + TAG_BYTES) for r in plain]
    assert told == [(r.time, r.sender, r.receiver, r.size) for r in sealed]


@pytest.mark.parametrize(("rule", "clocks"), [(Within((0.0, 0.0), 1.5), 1), (Around((0, 1, 4, 5)), 4)])
def test_a_receiver_has_one_clock(rule, clocks):
    """Who sits at a place has one receiver; who is at several agents has one at each."""
    law = LinkLaw(ConstantDelay(1.0))
    off, exact = Adversary("off", links=rule, clock_error=0.3), Adversary("exact", links=rule)
    run = simulation(SHEET, law, off, exact).run()
    when = {(r.sender, r.number): r.time for r in run.views[1].transcript}
    errors = {round(r.time - when[r.sender, r.number], 9) for r in run.views[0].transcript}
    assert len(when) == 4 * ROUNDS
    assert len(errors) == clocks


def test_doors_see_what_they_see_on_links():
    """Every message as it leaves and as it is delivered, whatever the air repeats."""
    door = Adversary(links=(), nodes=(5,))
    over = [simulation(SHEET, law, door, medium=m).run() for law, m in ((LinkLaw(), "links"), (ROUGH, Radio(1)))]
    rows = [
        sorted((r.event, r.sender, r.receiver, r.number, r.values["x"].tobytes()) for r in run.views[0].at_node(5))
        for run in over
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 5 * ROUNDS


def test_broadcasts_can_be_spooled_and_exported(tmp_path):
    sim = simulation(SHEET, ROUGH, Adversary(), spool=tmp_path / "taps")
    rows = list(sim.run().views[0].transcript)
    spooled = StreamedTranscript.open(tmp_path / "taps" / "eavesdropper.spool")
    assert [r[:10] for r in spooled] == [r[:10] for r in rows]
    assert len(spooled.select(receiver=EVERYBODY)) == 12 * ROUNDS
    assert export(spooled, tmp_path / "air.pcapng") == len(rows)
    everybody = bytes([10, 255, 255, 255])
    assert (tmp_path / "air.pcapng").read_bytes().count(bytes([10, 0, 0, 3]) + everybody) == ROUNDS


# ── errors ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Radio(3), "carrier_sense"), (lambda: Radio(-1), "carrier_sense"),
        (lambda: Radio(True), "carrier_sense"), (lambda: simulation(medium=Radio(1)), "medium.carrier_sense"),
        (lambda: simulation(medium="radio"), "medium"), (lambda: simulation(access=AccessLaw(uplink=1e3)), "access"),
        (lambda: simulation(access_laws={2: AccessLaw(downlink=1e3)}), "access"),
        (lambda: simulation(link_laws={(0, 1): LinkLaw(bandwidth=10.0)}), "link_laws.bandwidth"),
        (lambda: simulation(link_laws={(0, 1): LinkLaw(encrypted=True)}), "link_laws.encrypted"),
        (lambda: simulation(link_laws={(0, 1): LinkLaw(reliable=True)}), "link_laws.reliable"),
        (lambda: simulation(link_laws={(0, 1): LinkLaw(authenticated=True)}), "link_laws.authenticated"),
        (lambda: simulation(active_adversaries=(ActiveAdversary("m", "all", (Drop(),)),)), "active_adversaries"),
        (lambda: simulation(SHEET, None, Adversary(links=((0, 1),))), "adversaries[0].links"),
        (lambda: simulation(SHEET, None, Adversary(links=Cut((0,)))), "adversaries[0].links.cut"),
        (lambda: simulation(SHEET, None, Adversary(links=Around((12,)))), "adversaries[0].links.around[0]"),
        (lambda: simulation(SHEET, None, Adversary(nodes=(12,))), "adversaries[0].nodes[0]"),
        (lambda: simulation(ring(4), None, Adversary(links=Within((0.0, 0.0), 1.0))), "adversaries[0].links.within"),
    ],
)  # fmt: skip
def test_what_radio_cannot_do_is_said_before_time_0(make, field):
    assert refusal(make).field == field
