"""Agents as processes: what a tap captures on TCP is what the simulator says it would, to the last bit."""

import os
import signal
import socket
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attacks.inference import through_differences
from netsim.adversary import Adversary
from netsim.errors import ScenarioError, StalledError, TranscriptError
from netsim.network.laws import ConstantDelay, RandomOutages, UniformDelay
from netsim.network.links import ExchangePolicy, LinkLaw
from netsim.readers.deployed.capture import packets, rebuilt
from netsim.readers.deployed.deploy import DeployedRunning, Deployment, DeploymentError, checked, deploy
from netsim.readers.live import Downtime, PoissonClock
from netsim.settings import NetworkSettings, Timing
from netsim.simulation import Run, Simulation
from netsim.transcript.frames import Layouts
from netsim.transcript.record import Record
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


@pytest.mark.parametrize("name", ["walkman", "cpgt, with a quantizer"])
def test_a_deployed_run_is_the_simulated_one(tmp_path, name):
    simulation = EXAMPLES[name].simulation()
    assert_same(deploy(simulation, tmp_path), simulation.run())


def test_lost_packets_are_sent_again_and_the_gradients_follow_from_the_capture(tmp_path):
    """A fifth of the packets is lost on its way; attempts are rows, and what is inferred has the same bits."""
    lossy = NetworkSettings(links=LinkLaw(UniformDelay(0.0, 0.002), loss=0.2, reliable=True))
    simulation = replace(EXAMPLES["extra"].simulation(False), network=lossy)
    run, simulated = deploy(simulation, tmp_path), simulation.run()
    assert_same(run, simulated)
    assert run.traffic["packets_lost"] > 0
    assert max(row.attempt for row in run.views[0].transcript) > 0
    mine, its = (through_differences(one.views[0]) for one in (run, simulated))
    assert len(mine) == len(its) > 0
    for one, other in zip(mine, its, strict=True):
        assert (one.agent, one.estimate.tobytes()) == (other.agent, other.estimate.tobytes())


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


def killing(agent: int, when: Callable[[DeployedRunning], bool]) -> Callable[[DeployedRunning], None]:
    """Kills an agent once."""
    done = []

    def look(running: DeployedRunning) -> None:
        if not done and when(running) and (pid := running.pids[agent]) is not None:
            os.kill(pid, signal.SIGKILL)
            done.append(pid)

    return look


def halfway(running: DeployedRunning) -> bool:
    return running.estimates > 6


def test_an_agent_that_was_killed_begins_anew_and_says_nothing_else(tmp_path):
    simulation = replace(EXAMPLES["walkman"].simulation(), timing=SLOW)
    run = deploy(simulation, tmp_path, Deployment(restart=True, speed=4), killing(0, halfway))
    assert_same(run, simulation.run())
    assert "turned away" not in (tmp_path / "agent-0.log").read_text()


def test_without_restart_the_run_ends_with_the_agents_name_and_the_capture_stays(tmp_path):
    simulation = replace(EXAMPLES["extra"].simulation(), timing=SLOW)
    with pytest.raises(DeploymentError, match="agent 2 was killed by SIGKILL; its log: "):
        deploy(simulation, tmp_path, Deployment(), killing(2, lambda running: running.estimates > 0))
    public, names = simulation.public(), Layouts()
    assert rebuilt(tmp_path / "capture-ears.pcapng", public, names)


def test_an_agent_that_stands_still_ends_the_run(tmp_path):
    simulation = replace(EXAMPLES["extra"].simulation(), timing=SLOW)
    stopped = []

    def stop(running: DeployedRunning) -> None:
        if running.estimates > 0 and not stopped and (pid := running.pids[1]) is not None:
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)

    with pytest.raises(StalledError, match=r"nothing happened for 3 s: agent \d waits for exchange \d"):
        deploy(simulation, tmp_path, Deployment(patience=3), stop)


def test_strangers_are_turned_away_and_a_neighbor_that_lies_is_named(tmp_path):
    """Somebody without the run's number, and somebody with a capture of it, which has the number."""
    base = free_ports(6)
    simulation = replace(EXAMPLES["extra"].simulation(), timing=SLOW, adversaries=())
    done = []

    def knock(running: DeployedRunning) -> None:
        if running.estimates > 0 and not done:
            for data in (b"GET / HTTP/1.1\r\n\r\n" + bytes(100), bytes(200), b""):
                with socket.create_connection(("127.0.0.1", base)) as stranger:
                    stranger.sendall(data)
                    done.append(stranger)

    run = deploy(simulation, tmp_path, Deployment(port=base), knock)
    assert_same(run, simulation.run())
    assert (tmp_path / "agent-0.log").read_text().count("turned away: it greets as no agent does") == 2


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


def test_a_taken_port_is_said(tmp_path):
    base = free_ports(6)
    with socket.socket() as other:
        other.bind(("127.0.0.1", base + 3))
        other.listen()
        with pytest.raises(DeploymentError, match=f"agent 3: .*{base + 3}.*address already in use"):
            deploy(EXAMPLES["extra"].simulation(), tmp_path, Deployment(port=base))


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
    "doors under TLS": ({}, {"tls": True}, "nothing that passes a door"),
    "losses under TLS": (
        {"network": NetworkSettings(links=LinkLaw(loss=0.1)), "adversaries": ()}, {"tls": True}, "one stream"
    ),
    "no speed": ({}, {"speed": 0.0}, "speed = 0.0"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_processes_cannot_do_is_refused_before_anything_starts(tmp_path, case):
    changes, settings, words = REFUSED[case]
    simulation: Simulation = replace(EXAMPLES["private_gradient_descent"].simulation(), **changes)
    with pytest.raises(ScenarioError, match=words):
        checked(simulation, Deployment(**settings))


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
