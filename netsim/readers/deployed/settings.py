"""How agents run as processes, and what of a scenario cannot be deployed so: said before anything starts."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from netsim.errors import ScenarioError
from netsim.network.links import AccessLaw, LinkLaw
from netsim.readers.deployed import kernel
from netsim.readers.deployed.hosts import Hosts
from netsim.simulation import Simulation
from netsim.transcript.message import HEADER_BYTES


@dataclass(frozen=True)
class Deployment:
    """How agents run as processes of this machine."""

    tls: bool | None = None
    """Whether links are TLS 1.3 with certificates on both sides, of an authority made for the run (extra `deploy`);
    none: where the scenario's links are encrypted or authenticated."""
    speed: float = 1.0
    """Seconds of the scenario in one real second: its delays, deadlines and compute times pass so many times as
    fast."""
    restart: bool = False
    """Whether an agent that dies is started anew. Its code runs again from the beginning, on the same streams and the
    same messages in the same order, so that it says nothing else than it did."""
    patience: float = 30.0
    """Real seconds without any message or estimate, of anybody, after which the run is given up."""
    host: str = "127.0.0.1"
    """The address agents listen on."""
    port: int | None = None
    """Agent i listens on `port` + i; none: the system chooses."""
    hosts: Hosts | None = None
    """Where agents run, on this and other machines; none: all here, at `host`."""
    ssh: bool = False
    """Whether agents on other `hosts` are started by the system's `ssh`; or else somebody runs the command lines that
    are announced."""
    outside: Mapping[int, str] = field(default_factory=dict[int, str])
    """By agent, the command line of a program that takes its place and speaks the frame format. The name of a file
    with all that it has to know, as JSON, is added at its end."""
    kernel: bool = False
    """Whether the kernel captures, by a packet socket, what agents send each other directly; or else relays in the
    links do. Needs Linux and the right to capture, and links without laws of their own."""
    namespaces: bool = False
    """Whether every agent has a network namespace of its own, with an interface on a bridge of this machine. Needs
    Linux, root and `ip`."""
    announce: Callable[[str], object] = print
    """Called with each command line that somebody has to run."""

    def __post_init__(self) -> None:
        for name in ("speed", "patience"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ScenarioError(name, getattr(self, name), "no positive number", "> 0")

    @property
    def by_hand(self) -> bool:
        """Whether somebody else starts the agents."""
        return self.hosts is not None and not self.ssh

    def forks(self, agent: int) -> bool:
        """Whether its process is forked on this machine."""
        here = self.hosts is None or (self.ssh and self.hosts.agents[agent].host is None)
        return here and agent not in self.outside


def checked(simulation: Simulation, settings: Deployment) -> Deployment:
    """The settings with nothing left open. You get a `ScenarioError` for what agents as processes cannot do."""
    _check_scenario(simulation, settings)
    _check_places(simulation, settings)
    tls = any(law.tagged for law in _laws(simulation)) if settings.tls is None else settings.tls
    settings = replace(settings, tls=tls)
    _check_tls(simulation, settings)
    if settings.kernel:
        _check_kernel(simulation, settings)
    if settings.namespaces:
        _check_namespaces(simulation, settings)
    return settings


def _laws(simulation: Simulation) -> tuple[LinkLaw, ...]:
    return (simulation.network.links, *simulation.network.link_laws.values())


def _check_scenario(simulation: Simulation, settings: Deployment) -> None:
    """What is of a simulation alone, and what taps at doors could not record."""
    network, timing, policy = simulation.network, simulation.timing, simulation.network.exchange_policy
    for name, value, wrong, problem, allowed in (
        ("replicas", simulation.replicas, simulation.replicas != 1, "agents draw their noise once", "1"),
        ("header_bytes", network.header_bytes, network.header_bytes != HEADER_BYTES, "of a frame it is 20", "20"),
        ("medium", str(network.medium), network.medium != "links", "sockets are no radio", "links"),
        ("noise_through", "…", bool(simulation.noise_through), "it changes noise streams of a simulation", "none"),
        ("dither_through", "…", bool(simulation.dither_through), "it changes draws of a simulation's codecs", "none"),
        ("coins_through", "…", bool(simulation.coins_through), "it changes coins of a simulation", "none"),
        ("timing.activation", str(timing.activation), timing.activation is not None, "agents have no clocks", "none"),
        ("timing.downtimes", "…", bool(timing.downtimes), "processes go down when they are killed", "none"),
    ):
        if wrong:
            raise ScenarioError(name, value, f"cannot be deployed: {problem}", allowed)
    doors = bool(settings.outside) or any(adversary.doors for adversary in simulation.adversaries)
    if doors and not policy.endless:
        why = "cannot be deployed with taps at doors: no packet says when an agent closed its exchange"
        raise ScenarioError("exchange_policy.deadline", policy.deadline, why, "none, or taps on links")
    if doors and network.active_adversaries:
        why = "cannot be deployed with taps at doors: what an active adversary makes has no place in a stream"
        raise ScenarioError("active_adversaries", "…", why, "taps on links")
    if settings.restart and not policy.endless:
        why = "an agent that begins anew would close its exchanges with other messages"
        raise ScenarioError("restart", True, why, "exchanges without a deadline")


def _check_tls(simulation: Simulation, settings: Deployment) -> None:
    """What links cannot do under TLS, or without."""
    laws = _laws(simulation)
    if not settings.tls:
        if any(law.tagged for law in laws):
            why = "the scenario's links are encrypted or authenticated"
            raise ScenarioError("tls", False, why, "true, or links in the clear")
        return
    tapped = {agent for adversary in simulation.adversaries for agent in adversary.doors} - {*settings.outside}
    if not all(map(settings.forks, tapped)):
        why = "under TLS an agent's own process writes what passes its door, and an agent elsewhere has no file here"
        allowed = "agents with taps at their doors on this machine, or links in the clear"
        raise ScenarioError("tls", True, why, allowed)
    whole = all(law.reliable or not (law.losses or law.duplication or law.reordering) for law in laws)
    if not whole or simulation.network.active_adversaries:
        why = "what passes under TLS is one stream: whole, in order, and as it was sent"
        raise ScenarioError("tls", True, why, "reliable links or those that lose, repeat and reorder nothing")
    if settings.outside:
        why = "nothing that an outside program sends under TLS can be replayed"
        raise ScenarioError("tls", True, why, "links in the clear")


def _check_kernel(simulation: Simulation, settings: Deployment) -> None:
    """What cannot be captured without relays."""
    network, agents = simulation.network, range(simulation.topology.agents)
    of_tcp = {"encrypted": False, "authenticated": False, "reliable": False, "timeout": None, "reordering": False}
    bare = all(replace(law, **of_tcp) == LinkLaw() for law in _laws(simulation))  # TCP is reliable by itself
    bare = bare and all(network.access_law(i) == AccessLaw() for i in agents) and not network.active_adversaries
    for wrong, problem, allowed in (
        (not bare, "a law of a link, or an active adversary, needs a relay in it", "links without laws"),
        (settings.hosts is not None, "it sees the agents of this machine alone", "without agents_on"),
        (bool(settings.outside), "an outside program has no address of its own", "without outside programs"),
        (not kernel.may_capture(), "this process may not capture (Linux, and CAP_NET_RAW)", "captures by relays"),
    ):
        if wrong:
            raise ScenarioError("kernel", True, problem, allowed)


def _check_namespaces(simulation: Simulation, settings: Deployment) -> None:
    """What has no network namespace."""
    many = simulation.topology.agents > kernel.HOSTS
    for wrong, problem, allowed in (
        (settings.hosts is not None, "they are of this machine", "without agents_on"),
        (bool(settings.outside), "an outside program lives in none", "without outside programs"),
        (many, "the network has too few addresses", f"<= {kernel.HOSTS:,} agents"),
        (not kernel.may_make_namespaces(), "cannot be made (Linux, root, `ip`)", "without them"),
    ):
        if wrong:
            raise ScenarioError("namespaces", True, problem, allowed)


def _check_places(simulation: Simulation, settings: Deployment) -> None:
    """Who runs where, and what an agent that is not forked here cannot do."""
    agents, hosts = simulation.topology.agents, settings.hosts
    if hosts is not None and len(hosts.agents) != agents:
        why = f"places for agents; the scenario has {agents} agents"
        raise ScenarioError("agents_on", len(hosts.agents), why, f"{agents} places")
    if hosts is not None and (last := hosts.coordinator.port + simulation.topology.links) > 65535:
        why = "the ports of the relays follow it, one for each link"
        raise ScenarioError(
            "coordinator.port", hosts.coordinator.port, why, f"<= {65535 - last + hosts.coordinator.port}"
        )
    if settings.ssh and hosts is None:
        raise ScenarioError("ssh", True, "which machines?", "with agents_on")
    if settings.outside and hosts is not None:
        why = "an outside program is started on this machine"
        raise ScenarioError("outside", dict(settings.outside), why, "without agents_on")
    for agent, program in settings.outside.items():
        if not 0 <= agent < agents:
            raise ScenarioError("outside", agent, "no such agent", f"0 … {agents - 1}")
        try:
            empty = not shlex.split(program)
        except ValueError as error:
            raise ScenarioError("outside", program, f"no command line ({error})", "python3 mine.py") from None
        if empty:
            raise ScenarioError("outside", program, f"names no program for agent {agent}", "python3 mine.py")
    if settings.outside and simulation.algorithm.stopping().walks:
        why = "a walk ends when its activations are counted, which an outside program does not ask for"
        raise ScenarioError("outside", dict(settings.outside), why, "an algorithm in rounds")
    if settings.restart and not all(map(settings.forks, range(agents))):
        why = "only an agent that this machine forks can be started anew"
        raise ScenarioError("restart", True, why, "agents here, without outside programs")
