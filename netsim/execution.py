"""One run while it happens: where the parts of a simulation meet."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from netsim import clock
from netsim.activity import Activity
from netsim.adversary import Adversary, AdversaryView, Tap
from netsim.arrays import Array
from netsim.clock import VirtualEnvironment, VirtualLoop
from netsim.codecs import Dither
from netsim.diary import Diary
from netsim.errors import StalledError, TranscriptError
from netsim.inside import Inside, Query
from netsim.live import LiveNode, Place
from netsim.measures import Course, Measures
from netsim.messages import Message
from netsim.metrics import Metrics
from netsim.network import Network, downs
from netsim.outages import Switch
from netsim.radio import Radio, RadioNetwork
from netsim.randomness import Streams, coins_of, dither_of, noise_of
from netsim.run import Run
from netsim.running import Running, Watch, WatchedLoop, traffic
from netsim.truth import Truth

if TYPE_CHECKING:
    from netsim.simulation import Simulation

FRUITLESS = 100_000
"""How often agents may begin anew while nobody closes a round."""


class Execution:
    """One run while it happens."""

    def __init__(
        self,
        simulation: "Simulation",
        watch: Watch | None,
        every: float | None = None,
        diary: Diary | None = None,
        rescue: Callable[[Run], None] | None = None,
    ) -> None:
        self.diary, self.rescue = diary, rescue
        self.simulation, self.watch = simulation, watch if every is None else None
        topology, problem = simulation.topology, simulation.problem
        streams = Streams(simulation.seed)
        self.environment = VirtualEnvironment()
        self.loop = VirtualLoop(self.environment)
        if watch is not None and every is not None:
            self.loop = WatchedLoop(self.environment, every, lambda: watch(self.running))
        self.taps = [self._tap(a, streams) for a in simulation.adversaries]
        self.network = self._network(streams)
        self.loop.on_idle = self._waiting
        for tap in self.taps:
            self.network.listen(tap)
        self.activations = [0] * topology.agents
        if diary is not None:
            diary.attend(self.network, self.activations)
        self.shape = (simulation.replicas, problem.dimension)
        self.metrics = Metrics(problem.optimum().point) if simulation.measure else None
        n = topology.agents
        self.truth = None
        if simulation.record != "nothing":
            self.truth = Truth(problem, [[] for _ in range(n)], [[] for _ in range(n)])
        insiders = {i for adversary in simulation.adversaries for i in adversary.insiders}
        self.queries: dict[int, list[Query]] = {i: [] for i in insiders}
        self.releases: dict[int, list[Array]] = {i: [] for i in insiders}
        if self.truth is not None:
            self.releases = dict(enumerate(self.truth.releases))
        if self.truth is not None and simulation.record == "everything":
            self.queries = dict(enumerate(self.truth.queries))
        self.noise = partial(noise_of, streams, simulation.chunk)
        self.coins = partial(coins_of, streams)
        self.activities = {i: self._activity(i, streams) for i in self._unsteady()}
        self.nodes = [self._node(i, streams) for i in range(n)]
        self.running = Running(self.environment, self.network, self.taps, self.activations)
        self.course = self._course() if simulation.measure else None
        self.total = 0
        self.stopping = simulation.algorithm.stopping()
        self.ended = 0.0
        self.tasks: list[asyncio.Task[None]] = []
        self.stopped = False
        self.going, self.anew = set(range(n) if self.activities else ()), set[int]()
        self.fruitless = self.total_then = 0

    def _course(self) -> Course:
        simulation = self.simulation
        return Course(
            simulation.problem,
            simulation.replicas,
            walk=simulation.algorithm.stopping().walks,
            air=self.network.air,
            nodes=self.nodes,
            every=simulation.measure_every,
            last=getattr(simulation.algorithm, "rounds", None),
        )

    def _network(self, streams: Streams) -> Network:
        simulation, topology = self.simulation, self.simulation.topology
        known = (self.environment, topology, simulation.links, streams, simulation.link_laws, self._observers())
        patience, downtimes = simulation.patience, {i: down.outages for i, down in simulation.downtimes.items()}
        if isinstance(simulation.medium, Radio):
            return RadioNetwork(simulation.medium, *known, patience, downtimes)
        access = {i: simulation.access_laws.get(i, simulation.access) for i in range(topology.agents)}
        return Network(
            *known, access, patience, downtimes, simulation.meddlers, simulation.chunk, simulation.wire_codec
        )

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
            for agent in tap.adversary.doors:
                observers.setdefault(agent, []).append(partial(self._received, tap, agent))
        return observers

    def _received(self, tap: Tap, agent: int, message: Message) -> None:
        tap.received(self.environment.now, message, agent)

    def _node(self, i: int, streams: Streams) -> LiveNode:
        simulation, topology = self.simulation, self.simulation.topology
        compute = simulation.compute_law(i)
        draws = partial(dither_of, streams, simulation.chunk, i)
        place = Place(
            i,
            topology.agents,
            topology.neighbors(i),
            topology.row(i),
            self.shape,
            simulation.problem.regularizer,
            simulation.problem.records[i],
        )
        return LiveNode(
            place,
            simulation.problem.objectives[i],
            self.network.inboxes[i],
            self.network.channels,
            self.network.broadcaster(i),
            noise=self._noise_of,
            coins=self.coins,
            closed=self._closed,
            queries=self.queries.get(i),
            releases=self.releases.get(i),
            taps=tuple(tap for tap in self.taps if i in tap.adversary.doors),
            compute=None if compute is None else partial(compute.draw, streams.plain("agent", i, "compute")),
            activity=self.activities.get(i),
            patient=not simulation.patience.endless,
            codec=simulation.wire_codec,
            dither=Dither(draws, simulation.replicas) if simulation.wire_codec.random else None,
            header_bytes=simulation.header_bytes,
        )

    def _noise_of(self, agent: int) -> np.random.Generator:
        through = self.simulation.noise_through.get(agent)
        return self.noise(agent) if through is None else through(self.noise(agent))

    def _unsteady(self) -> Iterable[int]:
        """The agents that do not act whenever their messages let them."""
        return self.simulation.downtimes if self.simulation.activation is None else range(len(self.network.inboxes))

    def _activity(self, i: int, streams: Streams) -> Activity:
        clock, down = self.simulation.activation, self.simulation.downtimes.get(i)
        tick = None if clock is None else partial(clock.wait, streams.plain("agent", i, "clock"))
        if down is None or down.effect == "offline":
            return Activity(tick, None)
        return Activity(tick, Switch(downs(i, down.outages, streams)))

    def _waiting(self) -> str:
        """Who waits for what, for a deadlock's message; unless the run is over."""
        if self.going and self._stop_if_over():
            return "the run is over"
        gone = [i for i, activity in self.activities.items() if activity.is_gone(self.environment.now)]
        return "; ".join([*(f"agent {i} is down for good" for i in gone[:8]), self.network.waiting()])

    def _closed(self, agent: int, x: Array) -> None:
        """An agent closed a round or an activation; the walk may end here."""
        if self.stopped:
            raise asyncio.CancelledError("the walk has ended")
        self.total += 1
        self.activations[agent] += 1
        self.ended = self.environment.now
        if self.metrics is not None and self.course is not None:
            self.metrics.record(self.environment.now, agent, x)
            self.course.closed(agent, x)
        if self.watch is not None:
            self.watch(self.running)
        stopping = self.stopping
        if self.total == stopping.activations or self.activations[agent] == stopping.per_agent:
            self._stop()
            raise asyncio.CancelledError("the walk has ended")

    async def _agent(self, node: LiveNode) -> None:
        """An agent that may be down, in a run where some are."""
        run, activity = self.simulation.algorithm.run, self.activities.get(node.id)
        if activity is not None and node.id in self.simulation.forgetful:
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
        interrupted = False
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # a diverging run is a result
                clock.run(self._agents(), loop=self.loop)
        except KeyboardInterrupt:
            interrupted = True
        except Exception as first:
            for other in self.loop.unheard():
                first.add_note(f"besides: {other!r}")
            self._rescued(first)
            raise
        for error in self.loop.unheard():
            raise error
        return self._finished(interrupted)

    async def _agents(self) -> None:
        run = self._agent if self.activities else self.simulation.algorithm.run
        self.tasks = [asyncio.create_task(run(node), name=f"agent {node.id}") for node in self.nodes]
        done, pending = await asyncio.wait(self.tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in filter(done.__contains__, self.tasks):
            if not task.cancelled() and (error := task.exception()) is not None:
                for other in pending:
                    other.cancel()
                error.add_note(f"in {task.get_name()}, at t={self.environment.now:g} s of virtual time")
                raise error
        await asyncio.gather(*pending, return_exceptions=self.stopped)

    def _inside(self, adversary: Adversary) -> dict[int, Inside]:
        objectives = self.simulation.problem.objectives
        return {i: Inside(objectives[i], tuple(self.queries[i]), tuple(self.releases[i])) for i in adversary.insiders}

    def _measures(self) -> Measures | None:
        if self.metrics is None or self.course is None:
            return None
        self.course.finish()
        return Measures(self.simulation.problem, self.metrics, self.course)

    def _finished(self, interrupted: bool) -> Run:
        self.network.drain()
        if self.diary is not None:
            self.diary.close(self.environment.now)
        run = self._ran(interrupted)
        self._let_go()
        return run

    def _rescued(self, error: Exception) -> None:
        """What there is of a run that failed, unless it is that what was heard cannot be written."""
        if self.rescue is not None and not isinstance(error, OSError | TranscriptError):
            self.rescue(self._finished(interrupted=True))
        for tap in self.taps:
            tap.close()

    def _let_go(self) -> None:
        """What simulated refers to itself in a ring, and lives until the collector comes: it must not keep the arrays
        of the run alive, of which audits make many."""
        self.truth = self.metrics = self.course = None
        self.queries, self.releases = {}, {}
        self.nodes, self.tasks = [], []

    def _ran(self, interrupted: bool) -> Run:
        views: tuple[AdversaryView, ...] = ()
        if self.taps:
            public = self.simulation.public()
            views = tuple(
                AdversaryView(
                    tap.adversary, tap.transcript(self.simulation.replicas), public, self._inside(tap.adversary)
                )
                for tap in self.taps
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
            self.network.meddling.deeds(),
            sum(wire.rejected for wire in self.network.wires.values()),
            tuple(node.asked for node in self.nodes),
            self._measures(),
        )
