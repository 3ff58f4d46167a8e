"""Agents as processes: what a tap captures on TCP is what the simulator says it would, to the last bit."""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from attacks.inference import infer, through_differences
from netsim.adversary import Adversary
from netsim.algorithms import Extra
from netsim.codecs import FLOAT64
from netsim.errors import ScenarioError, SimulationError, StalledError, TranscriptError
from netsim.network.laws import ConstantDelay, RandomOutages, UniformDelay
from netsim.network.links import ExchangePolicy, LinkLaw
from netsim.node import Node
from netsim.readers.deployed import kernel
from netsim.readers.deployed.capture import CaptureFile, packets, rebuilt
from netsim.readers.deployed.deploy import Coordinator, DeployedRunning, Deployment, DeploymentError, checked, deploy
from netsim.readers.deployed.ends import GREETING, Home
from netsim.readers.deployed.hosts import Host, Hosts, Place
from netsim.readers.live import Downtime, PoissonClock
from netsim.settings import NetworkSettings, Timing
from netsim.simulation import Run, Simulation
from netsim.transcript.frames import Frame, Layouts, encoded, named
from netsim.transcript.message import Message, Record
from tests.netsim.algorithms.every import EXAMPLES

SLOW = Timing(compute=ConstantDelay(0.1))
"""So that there is time to do something to a run."""


def bits(values: dict[str, np.ndarray]) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in values.items()}


def key(row: Record) -> tuple[object, ...]:
    return row.place, row.event, row.sender, row.receiver, row.kind, row.number


def assert_same(run: Run, simulated: Run) -> None:
    """The same private side, estimates, and messages on links and at doors, whatever their times; acknowledgements
    of TCP are no rows."""
    assert run.activations == simulated.activations
    assert run.queries == simulated.queries
    assert run.tossed == simulated.tossed
    for mine, its in zip(run.truth.queries, simulated.truth.queries, strict=True):
        assert [q.gradient.tobytes() for q in mine] == [q.gradient.tobytes() for q in its]
        assert [q.point.tobytes() for q in mine] == [q.point.tobytes() for q in its]
    for mine, its in zip(run.truth.releases, simulated.truth.releases, strict=True):
        assert [value.tobytes() for value in mine] == [value.tobytes() for value in its]
    errors, expected = run.metrics.errors, simulated.metrics.errors
    assert sorted(e.tobytes() for e in errors) == sorted(e.tobytes() for e in expected)
    for view, other in zip(run.views, simulated.views, strict=True):
        found = {key(row): (row.size, bits(row.values)) for row in view.transcript}
        wanted = {key(row): (row.size, bits(row.values)) for row in other.transcript if row.kind != "ack"}
        assert found == wanted


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["walkman", "cpgt, with a quantizer"])
def test_a_deployed_run_is_the_simulated_one(tmp_path, name):
    """Also at every agent's door, of which each message passes two; a walk's last baton passes one."""
    doors = Adversary("doors", "all", insiders=(3,), nodes=tuple(range(6)))
    simulation = EXAMPLES[name].simulation()
    simulation = replace(simulation, adversaries=(*simulation.adversaries, doors))
    assert_same(deploy(simulation, tmp_path), simulation.run())


def test_a_run_inside_a_running_loop_leaves_it_as_it_was(tmp_path):
    """As in a notebook's cell."""

    async def cell() -> Run:
        run, loop = deploy(EXAMPLES["extra"].simulation(), tmp_path), asyncio.get_running_loop()
        await asyncio.sleep(0)
        assert asyncio.get_running_loop() is loop
        return run

    assert_same(asyncio.run(cell()), EXAMPLES["extra"].simulation().run())


@pytest.mark.slow
def test_lost_packets_are_sent_again_and_the_gradients_follow_from_the_capture(tmp_path):
    """A fifth of the packets is lost on its way; attempts are rows, and what is inferred has the same bits. A reader
    of captures that is not ours finds the same packets, with right checksums."""
    lossy = NetworkSettings(links=LinkLaw(UniformDelay(0.0, 0.002), loss=0.2, reliable=True))
    simulation = replace(EXAMPLES["private_gradient_descent"].simulation(False), network=lossy)
    run, simulated = deploy(simulation, tmp_path), simulation.run()
    assert_same(run, simulated)
    assert run.traffic["packets_lost"] > 0
    assert max(row.attempt for row in run.views[0].transcript) > 0
    mine, its = (through_differences(one.views[0]) for one in (run, simulated))
    assert len(mine) == len(its) > 0
    for one, other in zip(mine, its, strict=True):
        assert (*one[:2], one.gradient.tobytes()) == (*other[:2], other.gradient.tobytes())
    if (tshark := shutil.which("tshark")) is not None:
        path = tmp_path / "capture-ears.pcapng"
        fields = ["ip.src", "ip.dst", "tcp.seq_raw", "tcp.checksum.status", "tcp.payload"]
        asked = [word for name in fields for word in ("-e", name)]
        command = [tshark, "-n", "-r", str(path), "-o", "tcp.check_checksum:TRUE", "-T", "fields", *asked]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        right = "1"
        assert [line.split("\t") for line in lines] == [
            [f"10.0.0.{one.sender}", f"10.0.0.{one.receiver}", str(one.sequence), right, one.data.hex()]
            for one in packets(path)
        ]


def test_under_tls_a_tap_has_times_and_sizes(tmp_path):
    pytest.importorskip("trustme")
    sealed = NetworkSettings(links=LinkLaw(encrypted=True))
    simulation = replace(EXAMPLES["extra"].simulation(), network=sealed, adversaries=(Adversary(),))
    run, simulated = deploy(simulation, tmp_path), simulation.run()
    assert_same(replace(run, views=()), replace(simulated, views=()))
    rows, others = list(run.views[0].transcript), list(simulated.views[0].transcript)
    assert {row.kind for row in rows} == {"sealed"}
    assert not any(row.values for row in rows)
    size = others[0].size
    for way in {(row.sender, row.receiver) for row in others}:
        expected = sum((row.sender, row.receiver) == way for row in others)
        sizes = [row.size for row in rows if (row.sender, row.receiver) == way]
        assert sizes[-expected:] == [size] * expected
        assert len(sizes) > expected, "the handshake, the greeting and the names"
    data = (tmp_path / "capture-eavesdropper.pcapng").read_bytes()
    assert not [row for row in simulated.views[0].messages() for v in row.values.values() if v.tobytes() in data]


def at_doors(run: Run) -> dict[tuple[object, ...], tuple[int, dict[str, bytes]]]:
    return {key(row): (row.size, bits(row.values)) for row in run.views[0].transcript if row.place == "node"}


@pytest.mark.parametrize("name", ["walkman", pytest.param("extra", marks=pytest.mark.slow)])
def test_under_tls_an_agents_own_door_is_in_the_clear_and_its_links_are_not(tmp_path, name):
    """An insider's, and those of victims, of which each message passes two; gradients follow as in the clear."""
    pytest.importorskip("trustme")
    doors = Adversary("doors", "all", insiders=(3,), nodes=(0, 4))
    simulation = replace(
        EXAMPLES[name].simulation(), network=NetworkSettings(links=LinkLaw(encrypted=True)), adversaries=(doors,),
    )  # fmt: skip
    run, simulated = deploy(simulation, tmp_path), simulation.run()
    assert at_doors(run) == at_doors(simulated)
    assert {row.kind for row in run.views[0].transcript if row.place == "link"} == {"sealed"}
    assert {path.name for path in tmp_path.glob("door-*")} == {f"door-doors-{i}.pcapng" for i in (0, 3, 4)}
    mine, its = (sorted(infer(one.views[0]), key=lambda g: (g.agent, g.query)) for one in (run, simulated))
    assert len(mine) == len(its) > 0
    assert [g.gradient.tobytes() for g in mine] == [g.gradient.tobytes() for g in its]


@pytest.mark.slow
def test_under_tls_the_door_of_an_agent_that_began_anew_has_each_message_once(tmp_path):
    pytest.importorskip("trustme")
    simulation = replace(
        EXAMPLES["extra"].simulation(), network=NetworkSettings(links=LinkLaw(encrypted=True)),
        adversaries=(Adversary("doors", nodes=(0, 1)),), timing=SLOW,
    )  # fmt: skip
    run = deploy(simulation, tmp_path, Deployment(restart=True), killing(0, halfway))
    assert at_doors(run) == at_doors(simulation.run())


CAPTURES = pytest.mark.skipif(not kernel.may_capture(), reason="this process may not capture: Linux, and CAP_NET_RAW")


@CAPTURES
@pytest.mark.parametrize("name", ["walkman", pytest.param("private_gradient_descent", marks=pytest.mark.slow)])
def test_what_the_kernel_captures_is_the_simulated_transcript(tmp_path, name):
    """Of agents that talk to each other directly: on links, and at doors; no relay is there."""
    doors = Adversary("doors", "all", insiders=(3,), nodes=(0,))
    simulation = EXAMPLES[name].simulation()
    some = Adversary("some", ((0, 1), (2, 3)))
    as_tcp = NetworkSettings(links=LinkLaw(reliable=True))
    simulation = replace(simulation, adversaries=(some, doors), network=as_tcp)
    assert_same(deploy(simulation, tmp_path, Deployment(kernel=True)), simulation.run())
    assert {(one.sender, one.receiver) for one in packets(tmp_path / "capture-some.pcapng")} == {
        (0, 1), (1, 0), (2, 3), (3, 2)
    }  # fmt: skip


@CAPTURES
def test_where_the_kernel_had_to_drop_packets_the_run_is_an_error(tmp_path, monkeypatch):
    """Nobody reads, and the buffer is as small as it can be; captures stay."""
    monkeypatch.setattr(kernel, "BUFFER", 1)
    monkeypatch.setattr(kernel.Sniffer, "_read", lambda _: None)
    with pytest.raises(SimulationError, match=r"the kernel dropped [\d,]+ of [\d,]+ packets"):
        deploy(EXAMPLES["extra"].simulation(), tmp_path, Deployment(kernel=True))
    assert (tmp_path / "capture-ears.pcapng").exists()


@CAPTURES
@pytest.mark.skipif(not kernel.may_make_namespaces(), reason="no namespaces can be made: Linux, root, and ip")
@pytest.mark.parametrize("kernel", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_agents_in_network_namespaces_are_captured_on_their_interfaces(tmp_path, kernel):
    """By the kernel, or by the relays that they reach over the bridge; nothing of them stays."""

    def left() -> set[str]:
        listed = [subprocess.run(["ip", *what], capture_output=True, text=True, check=True).stdout.split()
                  for what in (["netns"], ["-o", "link"])]  # fmt: skip
        return {word for words in listed for word in words if word.startswith(("netsim-", "nsb", "nsv"))}

    before, looked = left(), []
    simulation = replace(EXAMPLES["private_gradient_descent"].simulation(), timing=SLOW)
    run = deploy(simulation, tmp_path, Deployment(kernel=kernel, namespaces=True), lambda _: looked.append(left()))
    assert_same(run, simulation.run())
    assert max(len(one - before) for one in looked) >= 6
    assert left() <= before


@CAPTURES
@pytest.mark.slow
def test_the_kernel_captures_records_of_tls_and_connections_that_were_taken_up_again(tmp_path):
    pytest.importorskip("trustme")
    simulation = replace(EXAMPLES["extra"].simulation(), timing=SLOW)
    simulation = replace(simulation, adversaries=(Adversary("doors", "all", nodes=(1,)),))
    run = deploy(simulation, tmp_path, Deployment(kernel=True, restart=True), killing(0, halfway))
    assert at_doors(run) == at_doors(simulation.run())
    sealed = deploy(simulation, tmp_path, Deployment(kernel=True, tls=True))
    assert at_doors(sealed) == at_doors(simulation.run())
    rows = [row for row in sealed.views[0].transcript if row.place == "link"]
    assert {row.kind for row in rows} == {"sealed"}
    assert len(rows) > 2 * sum(run.activations)


def killing(agent: int, when: Callable[[DeployedRunning], bool]) -> Callable[[DeployedRunning], None]:
    """Kills an agent once."""
    done = []

    def look(running: DeployedRunning) -> None:
        if not done and when(running) and (pid := running.pids[agent]) is not None:
            os.kill(pid, signal.SIGKILL)
            done.append(pid)

    return look


@pytest.mark.slow
def test_an_agent_that_was_killed_as_the_walk_ended_reports_what_it_had_done(tmp_path, monkeypatch):
    simulation, stop, killed = EXAMPLES["walkman"].simulation(), Coordinator.stop, []

    def stop_and_kill(self: Coordinator) -> None:
        if not killed and (pid := self.agents[0].pid) is not None:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
        stop(self)

    monkeypatch.setattr(Coordinator, "stop", stop_and_kill)
    assert_same(deploy(simulation, tmp_path, Deployment(restart=True, patience=10)), simulation.run())
    assert killed


@pytest.mark.slow
def test_a_ctrl_c_in_the_middle_of_something_leaves_a_run(tmp_path):
    simulation, pressed = replace(EXAMPLES["extra"].simulation(), timing=SLOW), []

    def press(running: DeployedRunning) -> None:
        if running.estimates > 0 and not pressed:
            pressed.append(running.pids)
            raise KeyboardInterrupt

    run = deploy(simulation, tmp_path, None, press)
    assert run.interrupted
    assert min(run.activations) > 0
    assert max(run.activations) < 8


@dataclass(frozen=True)
class _Fails(Extra):
    """Agent 2 ends in its own way."""

    status: int = 0

    async def run(self, node: Node) -> None:
        if node.id == 2:
            if self.status:
                os._exit(self.status)
            raise ValueError(f"my data are {np.pi}")
        await super().run(node)


@pytest.mark.slow
@pytest.mark.parametrize(("status", "words"), [(0, "agent 2: ValueError: my data are 3.14159"), (200, "status 200")])
def test_an_algorithm_that_fails_is_said_and_its_words_are_in_no_log(tmp_path, status, words):
    simulation = EXAMPLES["extra"].simulation(algorithm=_Fails(8, 0.05, status=status))
    with pytest.raises(DeploymentError, match=words):
        deploy(simulation, tmp_path, Deployment(patience=10))
    assert not [path for path in tmp_path.iterdir() if b"3.14159" in path.read_bytes()]


def test_a_run_whose_agents_cannot_be_started_ends_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.executable", shutil.which("false"))
    with pytest.raises(DeploymentError, match="the process that starts agents has ended"):
        deploy(EXAMPLES["extra"].simulation(), tmp_path)


@pytest.mark.slow
def test_under_tls_a_reliable_link_may_lose_packets(tmp_path):
    pytest.importorskip("trustme")
    lossy = NetworkSettings(links=LinkLaw(UniformDelay(0.0, 0.002), loss=0.2, reordering=True, reliable=True))
    simulation = replace(EXAMPLES["extra"].simulation(), network=lossy, adversaries=(Adversary(),))
    run = deploy(simulation, tmp_path, Deployment(tls=True, speed=0.2))
    assert_same(replace(run, views=()), replace(simulation.run(), views=()))
    assert max(row.attempt for row in run.views[0].transcript) > 0


def halfway(running: DeployedRunning) -> bool:
    return running.estimates > 6


@pytest.mark.slow
def test_an_agent_that_was_killed_begins_anew_and_says_nothing_else(tmp_path):
    simulation = replace(EXAMPLES["walkman"].simulation(), timing=SLOW)
    run = deploy(simulation, tmp_path, Deployment(restart=True, speed=4), killing(0, halfway))
    assert_same(run, simulation.run())
    assert "turned away" not in (tmp_path / "agent-0.log").read_text()


@pytest.mark.slow
def test_without_restart_the_run_ends_with_the_agents_name_and_the_capture_stays(tmp_path):
    simulation = replace(EXAMPLES["extra"].simulation(), timing=SLOW)
    with pytest.raises(DeploymentError, match="agent 2 was killed by SIGKILL; its log: "):
        deploy(simulation, tmp_path, Deployment(), killing(2, lambda running: running.estimates > 0))
    public, names = simulation.public(), Layouts()
    assert rebuilt(tmp_path / "capture-ears.pcapng", public, names)


@pytest.mark.slow
def test_an_agent_that_stands_still_ends_the_run(tmp_path):
    simulation = replace(EXAMPLES["extra"].simulation(), timing=SLOW)
    stopped = []

    def stop(running: DeployedRunning) -> None:
        if running.estimates > 0 and not stopped and (pid := running.pids[1]) is not None:
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)

    with pytest.raises(StalledError, match=r"nothing happened for 3 s: agent \d waits for exchange \d"):
        deploy(simulation, tmp_path, Deployment(patience=3), stop)


@pytest.mark.slow
def test_strangers_are_turned_away_and_a_neighbor_that_lies_is_named(tmp_path):
    """Somebody without the run's number, and somebody with a capture of it, which has the number."""
    base = free_ports(6)
    simulation = replace(EXAMPLES["extra"].simulation(), timing=SLOW)
    done = []

    def knock(running: DeployedRunning) -> None:
        if running.estimates > 0 and not done:
            said = b"GET / HTTP/1.1\r\n\r\n" + bytes(100), bytes(200), b"", b"\2\0\0\0\0\0\0\0[]", b"\xff" * 99
            for data in said:
                for port in (base, *own_ports()):  # an agent's, and those of the coordinator and its relay
                    with contextlib.suppress(ConnectionError):
                        stranger = socket.create_connection(("127.0.0.1", port))
                        done.append(stranger)
                        stranger.sendall(data)

    run = deploy(simulation, tmp_path, Deployment(port=base), knock)
    assert_same(run, simulation.run())
    assert (tmp_path / "agent-0.log").read_text().count("turned away: it greets as no agent does") == 3
    assert (tmp_path / "relay.log").read_text().count("it has no ticket") >= 3 * 6
    for stranger in done:
        stranger.close()


def own_ports() -> list[int]:
    """On which this process listens."""
    mine = set()
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            mine.add(str(each.readlink()))
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [int(one[1].split(":")[1], 16) for one in lines if one[3] == "0A" and f"socket:[{one[9]}]" in mine]


def free_ports(count: int) -> int:
    """The first of so many ports in a row that nobody listens on."""
    for base in range(21000, 60000, 100):
        try:
            for port in range(base, base + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return base
    raise AssertionError


@pytest.mark.slow
def test_a_taken_port_is_said(tmp_path):
    base = free_ports(6)
    with socket.socket() as other:
        other.bind(("127.0.0.1", base + 3))
        other.listen()
        with pytest.raises(DeploymentError, match=f"agent 3: .*{base + 3}.*address already in use"):
            deploy(EXAMPLES["extra"].simulation(), tmp_path, Deployment(port=base))


ELSEWHERE = Hosts(Place("127.0.0.1", 7000), tuple(Host("127.0.0.1", 7100 + i) for i in range(6)))
REFUSED = {
    "replicas": ({"replicas": 2}, {}, "replicas = 2: cannot be deployed: agents draw their noise once"),
    "a clock": ({"timing": Timing(activation=PoissonClock(1.0))}, {}, "timing.activation"),
    "downtimes": ({"timing": Timing(downtimes={0: Downtime(RandomOutages(1.0, 1.0))})}, {}, "timing.downtimes"),
    "long headers": ({"network": NetworkSettings(header_bytes=40)}, {}, "header_bytes = 40"),
    "deadlines with doors": (
        {"network": NetworkSettings(exchange_policy=ExchangePolicy(deadline=1.0))}, {}, "taps at doors"
    ),
    "deadlines with restarts": (
        {"network": NetworkSettings(exchange_policy=ExchangePolicy(deadline=1.0)), "adversaries": ()},
        {"restart": True}, "other messages"
    ),
    "sealed links in the clear": (
        {"network": NetworkSettings(links=LinkLaw(encrypted=True)), "adversaries": ()}, {"tls": False}, "encrypted"
    ),
    "doors under TLS elsewhere": ({}, {"tls": True, "hosts": ELSEWHERE}, "has no file here"),
    "losses under TLS": (
        {"network": NetworkSettings(links=LinkLaw(loss=0.1)), "adversaries": ()}, {"tls": True}, "one stream"
    ),
    "a law without a relay": (
        {"network": NetworkSettings(links=LinkLaw(ConstantDelay(0.1)))}, {"kernel": True}, "needs a relay"
    ),
    "a program without a relay": ({}, {"kernel": True, "outside": {1: "mine"}}, "no address of its own"),
    "no speed": ({}, {"speed": 0.0}, "speed = 0.0"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_processes_cannot_do_is_refused_before_anything_starts(tmp_path, case):
    changes, settings, words = REFUSED[case]
    simulation: Simulation = replace(EXAMPLES["private_gradient_descent"].simulation(), **changes)
    with pytest.raises(ScenarioError, match=words):
        checked(simulation, Deployment(**settings))


@pytest.mark.slow
def test_a_capture_that_begins_late_and_misses_packets_has_what_it_has(tmp_path):
    """Every message that is rebuilt is one that was sent; of those that were captured whole none is missing."""
    poor = Adversary("poor", capture_loss=0.3, start=0.1, clock_error=0.01)
    simulation = replace(EXAMPLES["walkman"].simulation(), adversaries=(poor, Adversary("ears")), timing=SLOW)
    run = deploy(simulation, tmp_path, Deployment(speed=4))
    few, all_ = ({key(row): bits(row.values) for row in view.transcript} for view in run.views)
    assert 0 < len(few) < len(all_)
    assert few.items() <= all_.items()
    captured = sum(len(one.data) > 20 and one.data[8] in (0, 1) for one in packets(tmp_path / "capture-poor.pcapng"))
    assert len(few) == captured


def direct(number: int, seed: float) -> Message:
    return Message(1, "direct", number, {"x": np.full((1, 4), seed)}, 52)


def test_a_packet_of_a_former_connection_is_none_of_the_next(tmp_path):
    """A link sends again what was on its way when an agent died: the place in its stream is that of other bytes."""
    file, path = CaptureFile(tmp_path / "it.pcapng"), tmp_path / "it.pcapng"
    first, second = (encoded(direct(k, k / 8), 0) for k in (5, 6))
    names = named(1, 0, ["x"])
    file.opened(1, 0, 0.0, 1)
    file.said(1, 0, 0.1, 0, names, 1)
    file.said(1, 0, 0.2, len(names), first, 1)
    file.opened(1, 0, 1.0, 2)
    file.said(1, 0, 1.1, 0, names, 2)
    file.said(1, 0, 1.2, len(names), second, 2)
    file.said(1, 0, 1.3, len(names), first, 1)
    file.close()
    rows = rebuilt(path, EXAMPLES["extra"].simulation().public())
    assert [(row.number, row.attempt, row.values["x"][0, 0]) for row in rows] == [
        (5, 0, 0.625), (6, 0, 0.75), (5, 1, 0.625),
    ]  # fmt: skip


@pytest.mark.parametrize(("reordered", "wanted"), [(False, 6), (True, 0)])
def test_after_a_break_nothing_is_missing_that_came_late(reordered, wanted):
    """Where a link reorders, number 4 may have been behind number 5."""

    async def wants() -> int:
        home = Home(0, (1,), bytes(16), 4, FLOAT64, ExchangePolicy(), reordered=reordered)
        end = home.ends[1]
        greeting = Frame(1, 0, 255, 0, 0, bytes(20) + GREETING.pack(bytes(16), 0, 0), 0)
        reader = end.begins(Mock(), greeting)
        for frame in reader.feed(
            named(direct(5, 0.0).sender, 0, tuple(direct(5, 0.0).values)) + encoded(direct(5, 0.0), 0)
        ):
            end.came(reader, frame)
        return GREETING.unpack(end.greeting()[20:])[2]

    assert asyncio.run(wants()) == wanted


BAD = {
    "nothing of the kind": b"hello, world, this is no capture",
    "a block without end": bytes.fromhex("0a0d0d0a ffffffff"),
    "another link": None,
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_capture_is_refused(tmp_path, case):
    path, data = tmp_path / "it.pcapng", BAD[case]
    if data is None:
        opening = bytes.fromhex("0a0d0d0a 1c000000 4d3c2b1a 01000000 ffffffffffffffff 1c000000")
        data = opening + bytes.fromhex("01000000 14000000 01000000 00000000 14000000")
    path.write_bytes(data)
    with pytest.raises(TranscriptError, match=r"it\.pcapng"):
        list(packets(path))
    with pytest.raises(TranscriptError, match="No such file"):
        list(packets(tmp_path / "none"))


def main() -> None:
    """Compare every example of every algorithm; takes minutes."""
    for name, example in EXAMPLES.items():
        simulation = example.simulation()
        with tempfile.TemporaryDirectory() as folder:
            assert_same(deploy(simulation, Path(folder)), simulation.run())
        print(f"{name}: the same")


if __name__ == "__main__":
    main()
