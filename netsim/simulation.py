"""A simulation: data in, a `Run` out, and the execution between them, where the parts of a simulation meet."""

import asyncio
import gc
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from netsim import clock
from netsim.adversary import Adversary, AdversaryView, InsiderState, PublicKnowledge, Query, Tap, Views
from netsim.algorithms import Algorithm, Setting
from netsim.algorithms.algorithm import Stopping
from netsim.arguments import check_types, expect, named
from netsim.arrays import Array, PerAgent, diverging, unknown
from netsim.claims import Adjacency, Claim, Standpoint
from netsim.clock import VirtualEnvironment, VirtualLoop
from netsim.codecs import Codec, Dither
from netsim.errors import ScenarioError, StalledError, TranscriptError, not_an_exit
from netsim.metrics import Counted, Measures, Metrics
from netsim.network.active_adversaries import InterceptionReport
from netsim.network.laws import Switch
from netsim.network.network import Network, downs
from netsim.network.radio import Radio, RadioNetwork
from netsim.network.wires import Air
from netsim.node import Backend, Computed, Device
from netsim.own import (
    await_hint,
    check_own,
    checked,
    claimed,
    close_coroutines,
    explained,
    not_a_coroutine,
    run_place,
    stated,
    unawaited,
    waits_at,
)
from netsim.problems import Problem
from netsim.problems.objective import weak_convexity
from netsim.randomness import EdgeNoise, NoiseThrough, Streams, coins_of, dither_of, noise_of
from netsim.readers.live import Activity, LiveNode, Surroundings
from netsim.readers.stacked import NotStackableError, obstacle, run_stacked
from netsim.running import COUNTS, Running, Watch, WatchedLoop
from netsim.settings import NetworkSettings, Recording, Timing
from netsim.shown import Shown, above
from netsim.topology import Topology
from netsim.transcript import Transcript
from netsim.transcript.message import Message, as_sent
from netsim.transcript.packet_log import PacketLog
from netsim.truth import Truth


@dataclass(frozen=True)
class Run(Shown):
    """What happened. `views` is what each adversary saw; `truth` is for `attacks.score` only.

    `interceptions` says what each active adversary did, and how much of it receivers caught; `rejected` counts the
    packets that receivers of authenticated links rejected, for whatever reason. Both are in nobody's view.
    """

    simulation: "Simulation"
    views: tuple[AdversaryView, ...]
    metrics: Metrics | None
    truth: Truth | None = field(repr=False)
    activations: tuple[int, ...]
    time: float
    traffic: Mapping[str, int]
    """Packets and bytes by name (`Running.traffic`); on radio also `transmissions` and `transmitted_bytes`."""
    interrupted: bool = False
    interceptions: tuple[InterceptionReport, ...] = ()
    rejected: int = 0
    queries: tuple[int, ...] = ()
    """How many gradients and proximal steps each agent computed."""
    measures: Measures | None = field(default=None, repr=False)
    """How far it got and at what cost; None where it was not measured. For who owns the run."""
    tossed: bool = False
    """Whether any agent tossed private coins."""
    deployed: bool = False
    """Whether its agents were processes (`netsim.readers.deployed`): times are then real ones."""
    unstacked: str | None = None
    """Why the live reader ran it, agent by agent; None where one run stood for all agents
    (`netsim.readers.stacked`)."""
    device: Device | None = None
    """Where PyTorch computed its gradients; None where NumPy did."""

    __repr__ = Shown.__repr__

    def __post_init__(self) -> None:
        object.__setattr__(self, "views", Views(self.views))

    def facts(self) -> dict[str, object]:
        simulation, measures = self.simulation, self.measures
        heard = zip(simulation.adversaries, self.views, strict=True)
        return {
            "algorithm": type(simulation.algorithm).__name__,
            "network": simulation.topology,
            "replicas": simulation.replicas,
            "activations of one agent": self.largest_activations,
            "virtual seconds": float(self.time),
            "packets": self.traffic.get("packets_sent"),
            "bytes": self.traffic.get("bytes_sent"),
            "final relative error": None if measures is None else measures.final_error,
            "messages recorded": ", ".join(f"{a.name}: {len(view.transcript):,}" for a, view in heard),
            "ended": "interrupted" if self.interrupted else "",
            "caution": self.outside_model,
        }

    def plot(self) -> Any:
        """The relative error by round or activation, as the page draws it; a notebook shows it."""
        return above("plot")(self)

    @property
    def computed(self) -> Computed:
        """Who ran the agents' code, and who computed gradients."""
        reader = "deployed" if self.deployed else "stacked" if self.unstacked is None else "live"
        return Computed(reader, self.unstacked, "numpy" if self.device is None else "torch", self.device)

    @property
    def outside_model(self) -> str | None:
        """The line that any result of a run with an active adversary has to carry; None for a run without."""
        reports = self.interceptions
        if not reports:
            return None
        ways = {edge for one in reports for edge in one.links}
        links = sorted({(min(edge), max(edge)) for edge in ways})
        names = [
            f"{i}–{j}" if {(i, j), (j, i)} <= ways else f"{i} → {j} only" if (i, j) in ways else f"{j} → {i} only"
            for i, j in links[:6]
        ]
        shown = ", ".join(names) + (f" and {len(links) - 6} more" if links[6:] else "")
        where = f"link{'s' * (len(links) != 1)} {shown}" if links else "no link"
        did = ". ".join(map(str, reports))
        return f"outside the paper's threat model: an active adversary meddled with {where} ({did})"

    @property
    def largest_activations(self) -> int:
        """Θ: the largest number of activations (or rounds) of one agent."""
        return max(self.activations)

    @property
    def longest_gap(self) -> int | None:
        """ℓ: the least number such that any ℓ activations of a walk in a row, as far as it went, hold one of every
        agent; None of an algorithm in rounds, and where nothing was measured."""
        if self.metrics is None or not self.metrics.walk:
            return None
        order = np.array(self.metrics.agents)
        ends = np.array([-1]), np.array([len(order)])
        active = [
            np.concatenate((ends[0], np.flatnonzero(order == i), ends[1])) for i in range(len(self.activations))
        ]
        return max(int((own[1:] - own[:-1]).max()) for own in active)


FRUITLESS = 100_000
"""How often agents may begin anew while nobody closes a round."""


class _Own:
    """An agent's private streams, from their start. PRIVATE."""

    __slots__ = ("agent", "simulation", "streams")

    def __init__(self, simulation: "Simulation", streams: Streams, agent: int) -> None:
        self.simulation, self.streams, self.agent = simulation, streams, agent

    def noise(self) -> np.random.Generator:
        return self.simulation.noise_stream(self.agent)

    def coins(self) -> np.random.Generator:
        return self.simulation.coins_stream(self.agent)


class _Execution:
    """One run while it happens."""

    def __init__(
        self,
        simulation: "Simulation",
        watch: Watch | None,
        every: float | None,
        packet_log: PacketLog | None,
        rescue: Callable[[Run], None] | None,
    ) -> None:
        self.packet_log, self.rescue = packet_log, rescue
        self.simulation, self.watch = simulation, watch if every is None else None
        topology, problem, recording = simulation.topology, simulation.problem, simulation.recording
        streams, n = Streams(simulation.seed), topology.agents
        self.environment = VirtualEnvironment()
        self.loop = VirtualLoop(self.environment)
        if watch is not None and every is not None:
            self.loop = WatchedLoop(self.environment, every, lambda: watch(self.running))
        self.taps = [self._tap(adversary, streams) for adversary in simulation.adversaries]
        self.network = self._network(streams)
        self.loop.on_idle = self._waiting
        self.loop.last = self.network.last_arrival
        for tap in self.taps:
            self.network.listen(tap)
        self.activations = [0] * n
        if packet_log is not None:
            packet_log.attend(self.network.wires, self.activations)
        self.truth = None
        everybody, insiders = range(n), {i for adversary in simulation.adversaries for i in adversary.insiders}
        self.queries: dict[int, list[Query]] = {
            i: [] for i in (everybody if recording.private == "everything" else insiders)
        }
        self.releases: dict[int, list[Array]] = {
            i: [] for i in (insiders if recording.private == "nothing" else everybody)
        }
        if recording.private != "nothing":
            queries = [self.queries[i] if recording.private == "everything" else [] for i in everybody]
            self.truth = Truth(problem, queries, [self.releases[i] for i in everybody])
        timing = simulation.timing
        unsteady = timing.downtimes if timing.activation is None else range(n)
        self.activities: dict[int, Activity] = {}
        for i in unsteady:
            ticks, down = timing.activation, timing.downtimes.get(i)
            tick = None if ticks is None else partial(ticks.wait, streams.plain("agent", i, "clock"))
            switch = None
            if down is not None and down.effect != "offline":
                switch = Switch(downs(i, down.outages, streams))
            self.activities[i] = Activity(tick, switch)
        shape = simulation.replicas, problem.dimension
        around = tuple(map(topology.neighbors, range(n)))
        self.edges = EdgeNoise(streams, simulation.chunk, shape, around, kept=recording.private != "nothing")
        if self.truth is not None:
            self.truth.edges = self.edges
        closed = self._closed  # one object for all
        self.nodes = [self._node(i, streams, closed) for i in range(n)]
        self.running = Running(self.environment, self.network, self.taps, self.activations)
        self.stopping = simulation.algorithm.stopping()
        self.metrics = None
        if recording.measure:
            self.metrics = simulation.metrics(self.network.air, self.nodes)
        self.total = 0
        self.ended = 0.0
        self.tasks: list[asyncio.Task[None]] = []
        self.stopped = False
        self.going, self.anew = set(range(n) if self.activities else ()), set[int]()
        self.fruitless = self.total_then = 0

    def _network(self, streams: Streams) -> Network:
        simulation, network = self.simulation, self.simulation.network
        observers: dict[int, list[Callable[[Message], None]]] = {}
        for tap in self.taps:
            for agent in tap.adversary.doors:
                observers.setdefault(agent, []).append(partial(self._received, tap, agent))
        known = (self.environment, simulation.topology, network.links, streams, network.link_laws, observers)
        policy = network.exchange_policy
        downtimes = {i: down.outages for i, down in simulation.timing.downtimes.items()}
        if isinstance(network.medium, Radio):
            return RadioNetwork(network.medium, *known, policy, downtimes)
        return Network(
            *known,
            {i: network.access_law(i) for i in range(simulation.topology.agents)},
            policy,
            downtimes,
            network.active_adversaries,
            simulation.chunk,
            simulation.wire_codec,
        )

    def _tap(self, adversary: Adversary, streams: Streams) -> Tap:
        folder, rng = self.simulation.recording.spool, streams.plain("adversary", adversary.name)
        if folder is None:
            return Tap(adversary, rng)
        from netsim.transcript.stream import TranscriptStream  # needs pyarrow, which takes its time to load

        folder.mkdir(parents=True, exist_ok=True)
        return Tap(adversary, rng, TranscriptStream(folder / f"{adversary.name}.spool", self.simulation.replicas))

    def _received(self, tap: Tap, agent: int, message: Message) -> None:
        tap.received(self.environment.now, message, agent)

    def _node(self, i: int, streams: Streams, closed: Callable[[int, Array], None]) -> LiveNode:
        return live_node(
            self.simulation,
            i,
            streams,
            self.network,
            edges=self.edges,
            queries=self.queries.get(i),
            releases=self.releases.get(i),
            taps=tuple(tap for tap in self.taps if i in tap.adversary.doors),
            activity=self.activities.get(i),
            closed=closed,
        )

    def _waiting(self) -> str:
        """Who waits for what, for a deadlock's message; unless the run is over."""
        if self.going and self._stop_if_over():
            return "the run is over"
        gone = [i for i, activity in self.activities.items() if activity.is_gone(self.environment.now)]
        wanted = {j for inbox in self.network.inboxes for j in inbox.waited_for()}
        returned = sorted(j for j in wanted if self.tasks[j].done())
        named = f"agent{'s' * (len(returned) > 1)} {', '.join(map(str, returned[:8]))}{', …' * (len(returned) > 8)}"
        left = [f"{named} {'have' if len(returned) > 1 else 'has'} returned from run()"] * bool(returned)
        down = [f"agent {i} is down for good" for i in gone[:8]]
        return ";\n".join([*down, *left, self.network.waiting(), *self._place()])

    def _place(self) -> list[str]:
        """The line at which the first agent that waits does so, where it is of somebody's own code, and how a walk is
        to end."""
        inboxes = zip(self.tasks, self.network.inboxes, strict=True)
        waiting = [(task.get_coro(), inbox) for task, inbox in inboxes if not task.done() and inbox.waits_for()]
        place = waits_at(waiting[0][0]) if waiting else ""
        if not place:
            return []
        found = [f"agent {waiting[0][1].owner} is at {place}"]
        if not self.stopping.walks and "any message" in (waiting[0][1].waits_for() or ""):
            found.append(
                "a walk ends for all agents at once, while they receive for ever: at its `stopping()`, such as "
                "netsim.algorithms.Stopping(per_agent=6)"
            )
        return found

    def _closed(self, agent: int, x: Array) -> None:
        """An agent closed a round or an activation; the walk may end here."""
        if self.stopped:
            raise asyncio.CancelledError("the walk has ended")
        self.total += 1
        self.activations[agent] += 1
        self.ended = self.environment.now
        if self.metrics is not None:
            self.metrics.closed(self.ended, agent, as_sent(x))
        if self.watch is not None:
            self.watch(self.running)
        stopping = self.stopping
        if self.total == stopping.activations or self.activations[agent] == stopping.per_agent:
            self._stop()
            raise asyncio.CancelledError("the walk has ended")

    async def _agent(self, node: LiveNode) -> None:
        """An agent that may be down, in a run where some are."""
        run, activity = self.simulation.algorithm.run, self.activities.get(node.id)
        if activity is not None and node.id in self.simulation.timing.forgetful:
            await activity.lives(partial(run, node), partial(self._begins_anew, node))
        else:
            if activity is not None:
                await activity.up()
            await run(node)
        self.going.discard(node.id)
        self._stop_if_over()

    def _begins_anew(self, node: LiveNode) -> None:
        node.forget()
        self.anew.add(node.id)
        self.fruitless = self.fruitless + 1 if self.total == self.total_then else 0
        self.total_then = self.total
        self._stop_if_over()
        if self.fruitless > FRUITLESS:
            raise StalledError(
                f"agents began anew {FRUITLESS:,} times, agent {node.id} last, and none closed a round: messages "
                "that they had read were lost with their state, and nobody sends them again; with a deadline for "
                "exchanges, agents go on"
            )

    def _stop_if_over(self) -> bool:
        """Some agents have ended, and all that are left began anew or are down for good: that is the end."""
        now, left = self.environment.now, self.going - self.anew
        over = len(self.going) < len(self.nodes) and all(
            i in self.activities and self.activities[i].is_gone(now) for i in left
        )
        if over and not self.stopped:
            self._stop()
        return over

    def _stop(self) -> None:
        """The run is over, whatever the agents wait for."""
        self.stopped = True
        for task in self.tasks:
            task.cancel()

    def run(self) -> Run:
        with unawaited() as forget:
            return self._ran(forget)

    def _ran(self, forget: Callable[[], None]) -> Run:
        """`run`; what `unawaited` holds back is to be forgotten where an error says it."""
        interrupted = False
        try:
            with diverging():
                clock.run(self._agents(), loop=self.loop)
        except KeyboardInterrupt:
            interrupted = True
        except (Exception, SystemExit) as raised:
            first = not_an_exit(raised)
            for other in dict.fromkeys(map(repr, self.loop.unretrieved())):
                if other != repr(raised):  # most agents fail alike
                    first.add_note(f"besides: {other}")
            if self.rescue is not None and not isinstance(first, OSError | TranscriptError):
                self.rescue(self._finished(interrupted=True))
            for tap in self.taps:
                tap.close()
            found = explained(first, LiveNode)
            for task in self.tasks:
                if task.done() and not task.cancelled() and (other := task.exception()) is not None:
                    close_coroutines(other)
            if await_hint(found):
                forget()
            if found is raised:
                raise
            raise found from found.__cause__
        for error in self.loop.unretrieved():
            if not isinstance(error, KeyboardInterrupt):  # that is no error of the last agent's
                raise error
        return self._finished(interrupted)

    async def _agents(self) -> None:
        run = self._agent if self.activities else self.simulation.algorithm.run
        lives = [run(node) for node in self.nodes]
        if lives and not inspect.iscoroutine(lives[0]):
            raise not_a_coroutine(self.simulation.algorithm, lives[0])
        self.tasks = [
            asyncio.create_task(life, name=f"agent {node.id}") for node, life in zip(self.nodes, lives, strict=True)
        ]
        del lives  # a task alone keeps its coroutine
        await clock.first_failure(self.tasks)
        pending = [task for task in self.tasks if not task.done()]
        for task in self.tasks:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                for other in pending:
                    other.cancel()
                error.add_note(f"in {task.get_name()}, at t={self.environment.now:g} s of virtual time")
                raise error
        await asyncio.gather(*pending, return_exceptions=self.stopped)

    def _finished(self, interrupted: bool) -> Run:
        """The run as data. The parts of a simulation refer to each other in a ring, and live until the collector
        comes: they must not keep the arrays of the run alive, of which audits make many."""
        self.network.drain()
        if self.packet_log is not None:
            self.packet_log.close(self.environment.now)
        simulation, objectives = self.simulation, self.simulation.problem.objectives
        inside = [
            {i: InsiderState(objectives[i], tuple(self.queries[i]), tuple(self.releases[i])) for i in a.insiders}
            for a in simulation.adversaries
        ]
        run = Run(
            simulation,
            views_of(simulation, [tap.transcript(simulation.replicas) for tap in self.taps], inside),
            self.metrics,
            self.truth,
            tuple(self.activations),
            self.ended,
            self.running.traffic(),
            interrupted,
            self.network.interception.reports,
            sum(wire.rejected for wire in self.network.wires.each()),
            tuple(node.queries for node in self.nodes),
            measures_of(simulation, self.metrics),
            any(node.tossed for node in self.nodes),
        )
        self.truth = self.metrics = None
        self.queries, self.releases = {}, {}
        self.nodes, self.tasks = [], []
        return run


def live_node(
    simulation: "Simulation",
    agent: int,
    streams: Streams,
    carrier: Surroundings,
    *,
    edges: EdgeNoise,
    queries: list[Query] | None,
    releases: list[Array] | None,
    closed: Callable[[int, Array], None],
    taps: Sequence[Tap] = (),
    activity: Activity | None = None,
) -> LiveNode:
    """An agent of a simulation, with its own streams; `carrier` has its messages (see `LiveNode`)."""
    network, codec = simulation.network, simulation.wire_codec
    compute = simulation.timing.compute_law(agent)
    return LiveNode(
        agent,
        simulation.topology,
        simulation.problem,
        streams=_Own(simulation, streams, agent),
        edges=edges,
        queries=queries,
        most_queries=simulation.most_queries,
        releases=releases,
        network=carrier,
        taps=taps,
        may_close_early=not network.exchange_policy.endless,
        codec=codec,
        dither=Dither(partial(simulation.dither_stream, agent), simulation.replicas) if codec.random else None,
        header_bytes=network.header_bytes,
        compute=None if compute is None else partial(compute.draw, streams.plain("agent", agent, "compute")),
        activity=activity,
        closed=closed,
    )


def views_of(
    simulation: "Simulation", transcripts: Sequence[Transcript], inside: Sequence[Mapping[int, InsiderState]]
) -> tuple[AdversaryView, ...]:
    public = simulation.public() if transcripts else None
    return tuple(
        AdversaryView(adversary, transcript, public, own)
        for adversary, transcript, own in zip(simulation.adversaries, transcripts, inside, strict=True)
        if public is not None
    )


def measures_of(simulation: "Simulation", metrics: Metrics | None) -> Measures | None:
    if metrics is None:
        return None
    metrics.finish()
    offset = simulation.limit_offset if simulation.algorithm.limit_of_noise else None
    return Measures(simulation.problem, metrics, offset=offset)


def _stacked(simulation: "Simulation") -> Run:
    """The run by one coroutine for all agents. You get a `NotStackableError` where it is none."""
    found, agents = run_stacked(simulation), simulation.topology.agents
    counts = {"packets": found.packets, "bytes": found.bytes}
    traffic = {f"{unit}_{word}": 0 for unit in counts for word in COUNTS}
    traffic |= {f"{unit}_{word}": count for unit, count in counts.items() for word in ("sent", "delivered")}
    return Run(
        simulation,
        views_of(simulation, found.transcripts, found.inside),
        found.metrics,
        found.truth,
        (found.rounds,) * agents,
        found.ended,
        traffic,
        found.interrupted,
        queries=(found.queries,) * agents,
        measures=measures_of(simulation, found.metrics),
        device=found.device,
    )


@named
@dataclass(frozen=True)
class Simulation:
    """One run to be: everything public or private that it needs, and nothing that happens yet.

    Bad input is a `ScenarioError` here, before time 0.
    """

    problem: Problem
    """The agents' objectives, PRIVATE each to its agent."""
    topology: Topology
    """Who has links to whom, and the weights of mixing."""
    algorithm: Algorithm
    """What every agent runs."""
    network: NetworkSettings = field(default_factory=NetworkSettings)
    """Links or radio, what they do to messages, and how messages are encoded. Default: perfect links."""
    adversaries: tuple[Adversary, ...] = ()
    """Who listens where; each gets a view of its own (`Run.views`)."""
    timing: Timing = field(default_factory=Timing)
    """How long agents compute, when they act and when they are down. Default: they act at once."""
    recording: Recording = field(default_factory=Recording)
    """What is measured, and what of the private side is kept."""
    replicas: int = 1
    """Independent draws of the noise, which share one network."""
    seed: int = 0
    """The seed of every random stream."""
    chunk: int = 0
    """Which draws of the noise: chunks of one seed share routes, delays and losses."""
    tosses: int = 0
    """Which tosses of the agents' private coins: with others routes and batches are others, and the rest the same."""
    most_queries: float = math.inf
    """How often an agent may query its objective; more end the run with a `StalledError`: a loop that has no end at
    these data."""
    value_range: tuple[float, float] | None = None
    """The public range of a record's values, where they have one (pixels)."""
    reader: Literal["auto", "live", "stacked"] = "auto"
    """Who runs the agents' code: "live", agent by agent; "stacked", one run for all (`netsim.readers.stacked`), or a
    `ScenarioError` where agents are unlike; "auto": stacked where it can be and nobody watches, to the same bits."""
    backend: Backend = "numpy"
    """Who computes gradients: "torch", of all agents' networks at once, on a GPU where there is one, equal to a
    tolerance (`netsim.readers.torch_gradients`). You get a `ScenarioError` where the stacked reader is none."""
    noise_through: Mapping[int, NoiseThrough] = field(default_factory=dict[int, NoiseThrough])
    """Changes agents' noise streams on their way to the agent: for an auditor who looks for rare transcripts; what
    comes of it is no sample of anything."""
    dither_through: Mapping[int, NoiseThrough] = field(default_factory=dict[int, NoiseThrough])
    """The same for what their random codecs draw."""
    coins_through: Mapping[int, NoiseThrough] = field(default_factory=dict[int, NoiseThrough])
    """The same for their private coins."""

    def __post_init__(self) -> None:
        check_types(self)
        if self.problem.agents != self.topology.agents:
            wanted = f"{self.topology.agents} objectives, or a topology of {self.problem.agents}"
            raise ScenarioError("problem", self.problem.agents, "not an objective for each agent", wanted)
        for name, least in (("replicas", 1), ("seed", 0), ("chunk", 0), ("tosses", 0)):
            value = int(getattr(self, name))
            object.__setattr__(self, name, value)  # it may be NumPy's
            if value < least:
                raise ScenarioError(name, value, "not a whole number in range", f"an int >= {least}")
        names = [adversary.name for adversary in self.adversaries]
        self.recording.check(names)
        for index, name in enumerate(names):
            if name in names[:index]:
                raise ScenarioError(f"adversaries[{index}].name", name, "used twice", "a name of its own")
        self.timing.check(self.topology)
        self.network.check(self.topology, self.algorithm)
        for index, adversary in enumerate(self.adversaries):
            try:
                if self.network.medium == "links":
                    adversary.tapped(self.topology)
                else:
                    adversary.transmitters(self.topology)
            except ScenarioError as error:
                raise error.under(f"adversaries[{index}]") from None
        try:
            check_own(self.algorithm)
            expect(stated(self.algorithm, "stopping"), "stopping()", Stopping)
            checked(self.algorithm, self.setting(0))
        except ScenarioError as error:
            raise error.under("algorithm") from None
        if self.backend not in get_args(Backend):
            raise unknown("backend", self.backend, get_args(Backend))
        if self.backend != "numpy":
            why = "the live reader was asked for" if self.reader == "live" else obstacle(self)
            if why is not None:
                raise ScenarioError("backend", self.backend, why, "numpy")

    def setting(self, releases: int) -> Setting:
        """The public facts that the algorithm's conditions and claim depend on."""
        return setting_of(self.problem, self.topology, releases)

    def noise_stream(self, agent: int) -> np.random.Generator:
        """The stream of an agent's noise, from its start. PRIVATE."""
        stream, through = noise_of(Streams(self.seed), self.chunk, agent), self.noise_through.get(agent)
        return through(stream) if through else stream

    def dither_stream(self, agent: int) -> np.random.Generator:
        """The stream of what an agent's random codec draws, from its start. PRIVATE."""
        stream, through = dither_of(Streams(self.seed), self.chunk, agent), self.dither_through.get(agent)
        return through(stream) if through else stream

    def coins_stream(self, agent: int) -> np.random.Generator:
        """An agent's private coins, from their start. PRIVATE."""
        coins, through = coins_of(Streams(self.seed), agent, self.tosses), self.coins_through.get(agent)
        return through(coins) if through else coins

    def metrics(self, air: Air | None = None, agents: Sequence[Counted] = ()) -> Metrics:
        """What measures a run: what is on the `air`, and the counts of its agents, are read as they are then."""
        return Metrics(
            self.problem,
            self.replicas,
            walk=self.algorithm.stopping().walks,
            air=air,
            nodes=agents,
            every=self.recording.measure_every,
            own_gradients=self.recording.own_gradients,
            last=getattr(self.algorithm, "rounds", None),
            place=run_place(self.algorithm),
            start=self.algorithm.starting_point(self.topology.agents, self.problem.dimension),
        )

    def limit_offset(self) -> Array | None:
        """−Σ_i ∇f_i(x^∞), (replicas, dimension), where the noise of this run alone decides its limit; else None."""
        agents = range(self.topology.agents)
        shape = self.replicas, self.problem.dimension
        return self.algorithm.limit_offset([self.noise_stream(agent) for agent in agents], shape)

    def claim(
        self, adjacency: Adjacency, releases: int, delta: float, standpoint: Standpoint | None = None
    ) -> Claim | None:
        """What the algorithm's paper claims here, or claims of one `standpoint` (None where it states nothing of
        single ones); its formula speaks of one life of every agent. It is of the adjacency, or of more pairs."""

        def claim_at(setting: Setting) -> Claim | None:
            if standpoint is None:
                return claimed(self.algorithm, "claim", adjacency, setting, delta)
            return claimed(self.algorithm, "claim_from", standpoint, adjacency, setting, delta)

        expect(adjacency, "adjacency", Adjacency)
        setting = self.setting(releases).loosened(adjacency.bending)
        claim = claim_at(setting)
        if claim is None:
            return None
        stated = claim.adjacency
        if not stated.allows(adjacency, setting.dimension):  # of fewer pairs than it was asked about
            claim = replace(claim, adjacency=adjacency)
        elif stated.fewest is not None and not adjacency.allows(stated, setting.dimension):  # bounds of its author's
            claim = replace(claim, adjacency=replace(stated, fewest=None))
        failed: list[str] = []
        if math.inf in setting.weak_convexity:
            other = claim_at(setting.loosened(1.0))
            if other is None or other.epsilon != claim.epsilon:
                failed.append(
                    "the formula needs an L: that of a network is measured near its start, and none holds everywhere"
                )
        if forgetful := self.timing.forgetful:
            failed.append(
                f"agents {sorted(forgetful)} may begin anew without their state: the formula counts one life"
            )
        if not failed:
            return claim
        return replace(claim, epsilon=None, failed_conditions=(*claim.failed_conditions, *failed))

    def public(self) -> PublicKnowledge:
        """What everybody knows; holds no objective."""
        agents = self.topology.agents
        return PublicKnowledge(
            algorithm=self.algorithm,
            agents=agents,
            dimension=self.problem.dimension,
            neighbors=PerAgent(agents, self.topology.neighbors),
            weights=PerAgent(agents, self.topology.row),
            regularizer=self.problem.regularizer,
            loss=self.problem.name,
            ridge=self.problem.ridge,
            value_range=self.value_range,
            query_times=self.timing.query_times(agents),
            exchange_policy=self.network.exchange_policy,
            forgetful=self.timing.forgetful,
            codec=self.wire_codec,
            records=self.problem.records,
            model=self.problem.model,
            penalty=self.problem.penalty,
            transport=self.network.transport(self.timing, self.topology),
        )

    @property
    def wire_codec(self) -> Codec:
        """What every value is encoded by: the algorithm's own compressor, or the network's codec."""
        return self.network.codec_of(self.algorithm)

    def run(
        self,
        watch: Watch | None = None,
        *,
        every: float | None = None,
        packet_log: PacketLog | None = None,
        rescue: Callable[[Run], None] | None = None,
    ) -> "Run":
        """Run to the end. Ctrl-C ends it early: the run that you get then has `interrupted` set.

        `watch` is called with the run as it is (`netsim.running.Running`) after every estimate; or every `every`
        seconds of real time, if that is given, also while time moves and nobody closes anything. A `packet_log`
        records what becomes of every packet, and changes nothing. `rescue` is given what there is of a run that an
        error ends, as of one that is interrupted, before the error is raised.
        """
        expect(watch, "watch", Callable | None)
        watched = watch is not None or packet_log is not None
        why = "somebody watches it" if watched else "the live reader was asked for" if self.reader == "live" else None
        thresholds = gc.get_threshold()
        gc.set_threshold(100_000, 50, 100)  # messages are freed by reference counts: it only walks what lives long
        try:
            if why is None or self.reader == "stacked" or self.backend == "torch":
                try:
                    return _stacked(self)
                except NotStackableError as refusal:
                    why = str(refusal)
                except Exception as error:  # the live reader says what is wrong, of which agent and when
                    why = f"{type(error).__name__}: {error}"
                if self.backend != "numpy":
                    raise ScenarioError("backend", self.backend, why, "numpy")
                if self.reader == "stacked":
                    raise ScenarioError("reader", "stacked", why, "auto, or live")
            return replace(_Execution(self, watch, every, packet_log, rescue).run(), unstacked=why)
        finally:
            gc.set_threshold(*thresholds)


def setting_of(problem: Problem, topology: Topology | None, releases: int = 0) -> Setting:
    """The public facts of a problem on a graph that conditions and claims depend on."""
    return Setting(
        agents=problem.agents,
        dimension=problem.dimension,
        smoothness=problem.of_each(lambda f: f.smoothness),
        releases=releases,
        topology=topology,
        strong_convexity=problem.of_each(lambda f: f.strong_convexity),
        records=problem.records,
        regularized=problem.regularized,
        weak_convexity=problem.of_each(weak_convexity),
    )
