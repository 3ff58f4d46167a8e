"""Where the parts meet: a problem, a topology, links, an algorithm, and who listens."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from netsim import clock
from netsim.adversary import Adversary, AdversaryView, PublicKnowledge, Tap
from netsim.algorithms import Algorithm, Setting
from netsim.arrays import Array
from netsim.clock import VirtualEnvironment, VirtualLoop
from netsim.errors import ScenarioError
from netsim.laws import ConstantDelay, DelayLaw
from netsim.links import AccessLaw, LinkLaw
from netsim.live import LiveNode, Place
from netsim.messages import Message
from netsim.metrics import Metrics
from netsim.network import Edge, Network
from netsim.problems import Problem
from netsim.randomness import Streams
from netsim.running import Running, Watch, WatchedLoop, traffic
from netsim.topology import Topology
from netsim.truth import Truth


@dataclass(frozen=True)
class Simulation:
    """One run to be: everything public or private that it needs, and nothing that happens yet.

    `replicas` independent draws of the noise share one network; `chunk` names which draws (chunks of one seed
    share routes, delays and losses). `link_laws` are directed links with a law of their own, `access_laws` agents
    with an access line of their own. `compute` is the law of the time a gradient takes. `measure` records
    convergence; `record` says how much of the private side is kept for scoring: everything, only what
    `privatize` returned (all that an audit grants its adversary), or nothing. With a folder `spool` every adversary's
    transcript is written there while the run goes on, to NAME.spool (`netsim.spool`), and loaded from there when an
    attack asks for it: memory stays bounded, and a run that is killed leaves what was written. Bad input is a
    `ScenarioError` here, before time 0.
    """

    problem: Problem
    topology: Topology
    algorithm: Algorithm
    links: LinkLaw = field(default_factory=LinkLaw)
    link_laws: Mapping[Edge, LinkLaw] = field(default_factory=dict[Edge, LinkLaw])
    access: AccessLaw = field(default_factory=AccessLaw)
    access_laws: Mapping[int, AccessLaw] = field(default_factory=dict[int, AccessLaw])
    adversaries: tuple[Adversary, ...] = ()
    replicas: int = 1
    seed: int = 0
    chunk: int = 0
    compute: DelayLaw | None = None
    measure: bool = True
    record: Literal["everything", "releases", "nothing"] = "everything"
    value_range: tuple[float, float] | None = None
    spool: Path | None = None

    def __post_init__(self) -> None:
        if self.problem.agents != self.topology.agents:
            raise ScenarioError(
                "problem",
                self.problem.agents,
                "as many objectives as agents",
                f"{self.topology.agents} objectives",
            )
        for name, least in (("replicas", 1), ("seed", 0), ("chunk", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise ScenarioError(name, value, "not a whole number in range", f"an int >= {least}")
        names = [adversary.name for adversary in self.adversaries]
        for index, name in enumerate(names if self.spool is not None else ()):
            if not name or Path(name).name != name:
                raise ScenarioError(f"adversaries[{index}].name", name, "names a file of the spool", "a file name")
        for index, name in enumerate(names):
            if name in names[:index]:
                raise ScenarioError(f"adversaries[{index}].name", name, "used twice", "a name of its own")
        for edge in self.link_laws:
            if not self.topology.has_edge(*edge):
                raise ScenarioError("link_laws", list(edge), "no such link", "an edge of the topology")
        for agent in self.access_laws:
            if not 0 <= agent < self.topology.agents:
                raise ScenarioError("access_laws", agent, "no such agent", f"0 … {self.topology.agents - 1}")
        for index, adversary in enumerate(self.adversaries):
            try:
                adversary.tapped(self.topology)
            except ScenarioError as error:
                raise error.under(f"adversaries[{index}]") from None
        try:
            self.algorithm.check(self.setting(0))
        except ScenarioError as error:
            raise error.under("algorithm") from None

    def setting(self, releases: int) -> Setting:
        """The public facts that the algorithm's conditions and claim depend on."""
        smoothness = tuple(f.smoothness for f in self.problem.objectives)
        return Setting(self.topology.agents, self.problem.dimension, smoothness, releases)

    def public(self) -> PublicKnowledge:
        """What everybody knows; holds no objective."""
        return PublicKnowledge(
            algorithm=self.algorithm,
            agents=self.topology.agents,
            dimension=self.problem.dimension,
            neighbors=tuple(self.topology.neighbors(i) for i in range(self.topology.agents)),
            weights=tuple(self.topology.row(i) for i in range(self.topology.agents)),
            regularizer=self.problem.regularizer,
            loss=self.problem.name,
            ridge=self.problem.ridge,
            value_range=self.value_range,
            query_time=_query_time(self.compute),
        )

    def run(self, watch: Watch | None = None, *, every: float | None = None) -> "Run":
        """Run to the end. Ctrl-C ends it early: the run that you get then has `interrupted` set.

        `watch` is called with the run as it is (`netsim.running.Running`) after every estimate; or every `every`
        seconds of real time, if that is given, also while time moves and nobody closes anything.
        """
        with clock.rare_garbage_collection():
            return _Execution(self, watch, every).run()


@dataclass(frozen=True)
class Run:
    """What happened. `views` is what each adversary saw; `truth` is for `attacks.score` only."""

    simulation: Simulation
    views: tuple[AdversaryView, ...]
    metrics: Metrics | None
    truth: Truth | None = field(repr=False)
    activations: tuple[int, ...]
    time: float
    traffic: Mapping[str, int]
    interrupted: bool = False

    @property
    def largest_activations(self) -> int:
        """Θ: the largest number of activations (or rounds) of one agent."""
        return max(self.activations)


class _Execution:
    """One run while it happens."""

    def __init__(self, simulation: Simulation, watch: Watch | None, every: float | None = None) -> None:
        self.simulation, self.watch = simulation, watch if every is None else None
        topology, problem = simulation.topology, simulation.problem
        streams = Streams(simulation.seed)
        self.environment = VirtualEnvironment()
        self.loop = VirtualLoop(self.environment)
        if watch is not None and every is not None:
            self.loop = WatchedLoop(self.environment, every, lambda: watch(self.running))
        self.taps = [self._tap(a, streams) for a in simulation.adversaries]
        self.network = Network(
            self.environment,
            topology,
            simulation.links,
            streams,
            simulation.link_laws,
            self._observers(),
            {i: simulation.access_laws.get(i, simulation.access) for i in range(topology.agents)},
        )
        self.loop.on_idle = self.network.waiting
        for tap in self.taps:
            for i, j in sorted(edge for edge in tap.adversary.tapped(topology) if edge[0] < edge[1]):
                ear = tap.ear()
                self.network.fans |= tap.fan_of(ear)
                self.network.wires[i, j].tap(ear)
                self.network.wires[j, i].tap(ear)
        self.shape = (simulation.replicas, problem.dimension)
        self.metrics = Metrics(problem.optimum().point) if simulation.measure else None
        n = topology.agents
        self.truth = None
        if simulation.record != "nothing":
            self.truth = Truth(problem, [[] for _ in range(n)], [[] for _ in range(n)])
        self.noise = partial(noise_of, streams, simulation.chunk)
        self.coins = partial(coins_of, streams)
        self.nodes = [self._node(i, streams) for i in range(n)]
        self.activations = [0] * n
        self.running = Running(self.environment, self.network, self.taps, self.activations)
        self.total = 0
        self.stopping = simulation.algorithm.stopping()
        self.ended = 0.0
        self.tasks: list[asyncio.Task[None]] = []
        self.stopped = False

    def _tap(self, adversary: Adversary, streams: Streams) -> Tap:
        folder, rng = self.simulation.spool, streams.plain("adversary", adversary.name)
        if folder is None:
            return Tap(adversary, rng)
        from netsim.spool import Spool  # needs pyarrow, which takes its time to load

        folder.mkdir(parents=True, exist_ok=True)
        return Tap(adversary, rng, Spool(folder / f"{adversary.name}.spool", self.simulation.replicas))

    def _observers(self) -> dict[int, list[Callable[[Message], None]]]:
        observers: dict[int, list[Callable[[Message], None]]] = {}
        for tap in self.taps:
            for agent in tap.adversary.nodes:
                observers.setdefault(agent, []).append(partial(self._received, tap, agent))
        return observers

    def _received(self, tap: Tap, agent: int, message: Message) -> None:
        tap.received(self.environment.now, message, agent)

    def _node(self, i: int, streams: Streams) -> LiveNode:
        simulation, topology = self.simulation, self.simulation.topology
        compute = simulation.compute
        place = Place(
            i,
            topology.agents,
            topology.neighbors(i),
            topology.row(i),
            self.shape,
            simulation.problem.regularizer,
        )
        return LiveNode(
            place,
            simulation.problem.objectives[i],
            self.network.inboxes[i],
            self.network.channels,
            self.network.broadcaster(i),
            noise=self.noise,
            coins=self.coins,
            closed=self._closed,
            truth=self.truth,
            record_queries=simulation.record == "everything",
            taps=tuple(tap for tap in self.taps if i in tap.adversary.nodes),
            compute=None if compute is None else partial(compute.draw, streams.plain("agent", i, "compute")),
        )

    def _closed(self, agent: int, x: Array) -> None:
        """An agent closed a round or an activation; the walk may end here."""
        if self.stopped:
            raise asyncio.CancelledError("the walk has ended")
        self.total += 1
        self.activations[agent] += 1
        self.ended = self.environment.now
        if self.metrics is not None:
            self.metrics.record(self.environment.now, agent, x)
        if self.watch is not None:
            self.watch(self.running)
        stopping = self.stopping
        if self.total == stopping.activations or self.activations[agent] == stopping.per_agent:
            self.stopped = True
            for task in self.tasks:
                task.cancel()
            raise asyncio.CancelledError("the walk has ended")

    def run(self) -> Run:
        interrupted = False
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # a diverging run is a result
                clock.run(self._agents(), loop=self.loop)
        except KeyboardInterrupt:
            interrupted = True
        except Exception as first:
            for other in self.loop.unheard():
                first.add_note(f"besides: {other!r}")
            for tap in self.taps:
                tap.close()
            raise
        for error in self.loop.unheard():
            raise error
        return self._finished(interrupted)

    async def _agents(self) -> None:
        algorithm = self.simulation.algorithm
        self.tasks = [asyncio.create_task(algorithm.run(node), name=f"agent {node.id}") for node in self.nodes]
        done, pending = await asyncio.wait(self.tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in filter(done.__contains__, self.tasks):
            if not task.cancelled() and (error := task.exception()) is not None:
                for other in pending:
                    other.cancel()
                error.add_note(f"in {task.get_name()}, at t={self.environment.now:g} s of virtual time")
                raise error
        await asyncio.gather(*pending, return_exceptions=self.stopped)

    def _finished(self, interrupted: bool) -> Run:
        views: tuple[AdversaryView, ...] = ()
        if self.taps:
            public = self.simulation.public()
            views = tuple(
                AdversaryView(tap.adversary, tap.transcript(self.simulation.replicas), public) for tap in self.taps
            )
        return Run(
            self.simulation,
            views,
            self.metrics,
            self.truth,
            tuple(self.activations),
            self.ended,
            traffic(self.network),
            interrupted,
        )


def noise_of(streams: Streams, chunk: int, agent: int) -> np.random.Generator:
    """An agent's private noise, in this chunk of replicas."""
    return streams.generator("agent", agent, "noise", chunk)


def _query_time(law: DelayLaw | None) -> float | None:
    """How many seconds a private query takes, None if that is random."""
    if law is None:
        return 0.0
    return law.seconds if isinstance(law, ConstantDelay) else None


def coins_of(streams: Streams, agent: int) -> np.random.Generator:
    """An agent's private coins. An audit hands them to a replay: its adversary knows them."""
    return streams.generator("agent", agent, "coins")
