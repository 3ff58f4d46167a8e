"""Agents that this machine does not fork: started by command lines, and by ssh."""

import os
import shlex
import signal
import socket
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Extra
from netsim.errors import ScenarioError
from netsim.readers.deployed import hosts as places
from netsim.readers.deployed.agent import Errand, alone
from netsim.readers.deployed.deploy import DeployedRunning, Deployment, DeploymentError, checked, deploy
from netsim.readers.deployed.hosts import Host, Hosts, Place
from netsim.simulation import Simulation
from tests.netsim.algorithms.every import EXAMPLES, problem
from tests.netsim.readers.test_deployed import SLOW, assert_same, free_ports
from tests.scenarios.sweep.test_clusters import SSHD, sshd

HERE = "127.0.0.1"
ROOT = Path(__file__).parents[3]


def small(**changes) -> Simulation:
    """Two agents of a path, of which one is elsewhere."""
    one = Simulation(problem_of_two(), topology.path(2), Extra(6, 0.05), adversaries=(Adversary("ears", "all"),))
    return replace(one, **changes)


def problem_of_two():
    whole = problem()
    return type(whole)(whole.objectives[:2])


def here(*names: str | None) -> Hosts:
    """Places of this machine, as ssh calls them; none: not by ssh."""
    base = free_ports(20)
    agents = tuple(Host(HERE, base + 10 + i, name) for i, name in enumerate(names))
    return Hosts(Place(HERE, base), agents, sys.executable)


class Shell:
    """Somebody who runs the lines that are printed."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []
        self.files: list[Path] = []

    def __call__(self, line: str) -> None:
        if line.endswith(":"):
            return
        self.files.append(Path(shlex.split(line)[-1]))
        assert stat.S_IMODE(self.files[-1].stat().st_mode) == 0o600
        self.processes.append(subprocess.Popen(line, shell=True, stderr=subprocess.PIPE, text=True, cwd="/"))


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    one = Shell()
    yield one
    for process in one.processes:
        process.kill()
        process.communicate()


def test_the_lines_that_are_printed_start_the_agents(tmp_path, shell):
    """As they stand, in a shell, wherever it is; what they began with is gone afterwards."""
    simulation = small()
    run = deploy(simulation, tmp_path, Deployment(hosts=here(None, None), announce=shell))
    assert_same(run, simulation.run())
    said = [process.communicate(timeout=30)[1] for process in shell.processes]
    assert [process.returncode for process in shell.processes] == [0, 0], said
    assert "agent 1 is done" in said[1]
    assert len(shell.files) == 2
    assert not any(file.exists() for file in shell.files)


def test_an_agent_somebody_started_that_dies_ends_the_run(tmp_path, shell):
    simulation, killed = small(timing=SLOW), []

    def kill(running: DeployedRunning) -> None:
        if running.estimates and not killed:
            killed.append(os.kill(shell.processes[1].pid, signal.SIGKILL))

    def start(line: str) -> None:
        shell(line if line.endswith(":") else f"exec {line}")

    with pytest.raises(DeploymentError, match="agent 1 is gone; what its process printed says why"):
        deploy(simulation, tmp_path, Deployment(hosts=here(None, None), announce=start), kill)
    assert shell.processes[0].wait(30) in (0, 3)


SSH = """\
#!/bin/sh
# what an sshd does with a command
[ "$1 $2" = "-o BatchMode=yes" ] || exit 9
[ "$3" = node ] || { echo "ssh: Could not resolve hostname $3" >&2; exit 255; }
cd / && exec sh -c "$4"
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """An `ssh` to a machine called node, which is this one."""
    path = tmp_path / "bin"
    path.mkdir()
    (path / "ssh").write_text(SSH)
    (path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_ssh_starts_those_on_other_machines(tmp_path, stand_in):
    """Their logs come back, and no file of a secret is written."""
    simulation = small()
    run = deploy(simulation, tmp_path, Deployment(hosts=here(None, "node"), ssh=True))
    assert_same(run, simulation.run())
    assert "agent 1 is done" in (tmp_path / "agent-1.log").read_text()
    assert not list(tmp_path.glob("*.errand"))


def test_a_machine_that_ssh_does_not_reach_ends_the_run_at_once(tmp_path, stand_in):
    with pytest.raises(
        DeploymentError, match="agent 1 ended with status 255: ssh: Could not resolve hostname nowhere"
    ):
        deploy(small(), tmp_path, Deployment(hosts=here(None, "nowhere"), ssh=True))


def errand(**changes) -> Errand:
    fixed = {"run": bytes(16), "secret": bytes(32), "host": HERE, "port": 0, "speed": 1.0, "log": None, "order": None}
    return Errand(small(), 0, coordinator=(HERE, 9), counted=0, certificate=None, **(fixed | changes))


def test_an_agent_by_ssh_ends_with_its_coordinator(tmp_path, monkeypatch):
    """Whose end of the standard input is closed, when nobody says anything on the network."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with socket.create_server((HERE, 0)) as silent:
        one = replace(errand(), coordinator=silent.getsockname(), watched=True)
        command = [sys.executable, "-m", places.MODULE, places.STANDARD_INPUT]
        process = subprocess.Popen(command, stdin=subprocess.PIPE)
        process.stdin.write(places.sealed(one))
        process.stdin.flush()
        silent.settimeout(60)
        connection, _ = silent.accept()
        with connection:
            assert process.poll() is None
            process.stdin.close()
            assert process.wait(30) == 3


NO_ERRANDS = {
    "something else": (lambda data: b"name: small", "is no agent's file, or not all of it"),
    "not all of it": (lambda data: data[:-5], "is no agent's file, or not all of it"),
    "another version's": (
        lambda data: data.replace(b"Python 3.", b"Python 2."),
        "the bits would be others; allowed: ",
    ),
    "nothing": (lambda data: b"", "EOFError"),
    "of a coordinator that is gone": (lambda data: data, "Connect call failed"),
}


@pytest.mark.parametrize("case", NO_ERRANDS)
def test_a_file_that_starts_no_agent_is_said_in_a_line(tmp_path, capfd, case):
    change, words = NO_ERRANDS[case]
    path = tmp_path / "agent-0.errand"
    path.write_bytes(change(places.sealed(errand())))
    assert alone(str(path)) == 2
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert words in said


REFUSED = {
    "too few places": ({"hosts": here("node")}, "agents_on = 1: places for agents; the scenario has 2"),
    "ssh to nowhere": ({"ssh": True}, "ssh = True"),
    "a restart there": ({"hosts": here(None, "node"), "restart": True}, "restart"),
    "nobody": ({"outside": {2: "true"}}, "outside = 2: no such agent"),
    "no program": ({"outside": {1: " "}}, "names no program for agent 1"),
    "half a word": ({"outside": {1: "'x"}}, "no command line"),
    "a program and places": ({"outside": {1: "true"}, "hosts": here(None, None)}, "started on this machine"),
    "a program under TLS": ({"outside": {1: "true"}, "tls": True}, "tls = True"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_before_anything_starts(case):
    settings, words = REFUSED[case]
    with pytest.raises(ScenarioError, match=words):
        checked(small(), Deployment(**settings))


def test_a_walk_is_no_place_for_an_outside_program():
    with pytest.raises(ScenarioError, match="a walk ends when its activations are counted"):
        checked(EXAMPLES["walkman"].simulation(), Deployment(outside={0: "true"}))


@pytest.mark.parametrize(
    ("agents", "words"),
    [((Host(HERE, 7000),), "the coordinator listens there"), ((Host(HERE, 7001, "-oProxyCommand=x"),), "no name")],
)
def test_places_that_are_none(agents, words):
    with pytest.raises(ScenarioError, match=words):
        Hosts(Place(HERE, 7000), agents)


@pytest.mark.cluster
@pytest.mark.skipif(SSHD is None, reason="no sshd here")
def test_a_real_sshd(tmp_path, monkeypatch, tmp_path_factory):
    simulation, folder = small(), tmp_path_factory.mktemp("sshd")
    with sshd(folder) as port:
        (folder / "config").write_text(
            f"Host node\n HostName {HERE}\n Port {port}\n IdentityFile {folder}/user\n StrictHostKeyChecking no\n"
            f" UserKnownHostsFile {folder}/known\n LogLevel ERROR\n"
        )
        path = folder / "bin"
        path.mkdir()
        (path / "ssh").write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {folder}/config "$@"\n')
        (path / "ssh").chmod(0o755)
        monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")
        (path / "python").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} "$@"\n')
        (path / "python").chmod(0o755)
        over = replace(here("node", "node"), python=str(path / "python"))
        assert_same(deploy(simulation, tmp_path, Deployment(hosts=over, ssh=True)), simulation.run())
