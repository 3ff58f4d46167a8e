"""The coordinator: starts a process for each agent, tells them where their neighbors are, and gathers the run."""

import asyncio
import contextlib
import json
import os
import secrets
import shlex
import signal
import sys
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import numpy as np

from netsim.adversary import Adversary, InsiderState, Query
from netsim.clock import outer_loop_hidden
from netsim.errors import SimulationError, StalledError
from netsim.metrics import Metrics
from netsim.network.wires import Air
from netsim.readers.deployed import kernel
from netsim.readers.deployed.agent import BORN, GO_ON, LAST, OVER, TURN, Errand, RealLoop
from netsim.readers.deployed.capture import CaptureFile, at_door, rebuilt
from netsim.readers.deployed.ends import PATIENCE, RUN_BYTES, Address, Certificate, certificates
from netsim.readers.deployed.hosts import sealed
from netsim.readers.deployed.notes import (
    Alive,
    Arrays,
    Failed,
    Here,
    Note,
    Over,
    Report,
    Start,
    Stop,
    Turnstile,
    packed,
    read,
)  # fmt: skip
from netsim.readers.deployed.relay import Relay, capture_path, doors_path
from netsim.readers.deployed.settings import Deployment, checked
from netsim.running import COUNTS, Running, Watch
from netsim.simulation import Run, Simulation, measures_of, views_of
from netsim.transcript import Transcript
from netsim.transcript.frames import Layouts, layout
from netsim.transcript.packet_log import PacketLog
from netsim.truth import Truth

STARTING, BY_HAND = 60.0, 600.0
"""Real seconds that a process has to come up, and one that somebody starts by hand."""
ENDING = 5.0
"""Real seconds that one has to go."""
LOOK = 0.5
"""Real seconds between two looks at who moves."""
NURSERY = "agents.log"
LIVES = 100
"""How often an agent is started anew, at most."""


class DeploymentError(SimulationError):
    """An agent's process ended, or said what it cannot go on with."""


class DeployedRunning(Running):
    """A deployed run while it happens; packets are those that passed the relay."""

    def __init__(self, relay: Relay, activations: Sequence[int], agents: "Sequence[_Agent]") -> None:
        super().__init__(relay.environment, relay.wires, (), activations)
        self._processes = agents

    def waiting(self) -> tuple[str, ...]:
        return tuple(agent.waits for agent in self._processes if agent.waits)

    @property
    def pids(self) -> tuple[int | None, ...]:
        """The process of each agent; None while there is none."""
        return tuple(agent.pid for agent in self._processes)


@dataclass
class _Agent:
    """One agent's process, as the coordinator knows it."""

    pid: int | None = None
    """Its process, while there is one."""
    ended: "asyncio.Future[int] | None" = None
    """How its process ended: a status, or minus the signal."""
    leads: bool = False
    """Whether it leads a group of processes, which ends with it."""
    writer: asyncio.StreamWriter | None = None
    port: int = 0
    lives: int = 0
    messages: int = 0
    waits: str | None = None
    report: tuple[Report, Arrays] | None = None
    counted: int = 0
    """Activations of a walk that were counted; a later life repeats those of the former."""


def deploy(
    simulation: Simulation,
    folder: Path,
    settings: Deployment | None = None,
    watch: Watch | None = None,
    packet_log: PacketLog | None = None,
) -> Run:
    """Run every agent as a process of its own; links are TCP on this machine, adversaries tap what passes there.

    The run that you get has what `Simulation.run` gives: views, rebuilt from the captured packets alone
    (`capture-NAME.pcapng` in `folder`), truth and metrics, from what the agents report. Values are those of the
    simulator to the last bit where messages do not depend on the order in which others arrive; times are real.
    Each agent's log is `agent-I.log`. You get a `ScenarioError` before anything starts for what cannot be deployed,
    and a `DeploymentError` where an agent dies and is not to be started anew; captures stay. A Ctrl-C ends the run
    as it ends a simulated one.
    """
    settings = checked(simulation, settings or Deployment())
    folder.mkdir(parents=True, exist_ok=True)
    loop = RealLoop(settings.speed)
    with outer_loop_hidden(), contextlib.closing(loop):
        return Coordinator(simulation, folder, settings, watch, packet_log, loop).run()


class Coordinator:
    """One deployed run while it happens."""

    def __init__(
        self,
        simulation: Simulation,
        folder: Path,
        settings: Deployment,
        watch: Watch | None,
        packet_log: PacketLog | None,
        loop: RealLoop,
    ) -> None:
        self.simulation, self.folder, self.settings, self.loop = simulation, folder, settings, loop
        self.watch, self.packet_log = watch, packet_log
        n = simulation.topology.agents
        self.number, self.secret = secrets.token_bytes(RUN_BYTES), secrets.token_bytes(32)
        self.trust: list[Certificate | None] = [*certificates(n)] if settings.tls else [None] * n
        self.agents, self.activations = [_Agent() for _ in range(n)], [0] * n
        self.stopping = simulation.algorithm.stopping()
        self.total, self.address = 0, ("", 0)
        hosts, port = settings.hosts, settings.port
        self.places: list[Address] = [(settings.host, 0 if port is None else port + i) for i in range(n)]
        if hosts is not None:
            self.places = [(one.address, one.port) for one in hosts.agents]
        if settings.kernel or settings.namespaces:
            network = kernel.NETWORK if settings.namespaces else kernel.LOOPBACK
            self.places = [(kernel.address_of(i, network), at) for i, (_, at) in enumerate(self.places)]
        self.rooms: tuple[str, ...] = ()
        self.sniffer: kernel.Sniffer | None = None
        self.changed = asyncio.Event()
        self.began: float | None = None
        self.stopped = self.over = False
        self.failed: Exception | None = None
        self.relay: Relay | None = None
        self.running: DeployedRunning | None = None
        self.nursery: _Nursery | None = None
        self.server: asyncio.Server | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.secrets: list[Path] = []
        """Files that agents began with: keys and private data."""

    def run(self) -> Run:
        if not self.settings.namespaces:
            return self._run()
        with kernel.namespaces(len(self.agents)) as self.rooms:
            return self._run()

    def _run(self) -> Run:
        whole, interrupted = self._keep(self._whole()), False
        try:
            self.loop.run_until_complete(whole)
        except KeyboardInterrupt:  # whatever it stopped in the middle of
            if self.running is None:
                raise
            interrupted = True
            whole.cancel()
            self.stop()
            reports = self._keep(asyncio.wait_for(self._reported(), ENDING * self.settings.speed))
            with contextlib.suppress(SimulationError, asyncio.TimeoutError):
                self.loop.run_until_complete(reports)
        finally:
            self.loop.run_until_complete(self._clear_away())
        return self._gathered(interrupted)

    async def _whole(self) -> None:
        settings = self.settings
        hosts, host, port = settings.hosts, settings.host, None
        if hosts is not None:
            host, port = hosts.coordinator.address, hosts.coordinator.port
        elif settings.namespaces:
            host = kernel.address_of(-1)
        tls, own = bool(settings.tls), not settings.kernel
        self.relay = Relay(self.simulation, self.folder, host, settings.speed, tls=tls, taps=own)
        if not own:
            addresses = [address for address, _ in self.places]
            self.sniffer = kernel.Sniffer(
                self.simulation, self.folder, addresses, lambda i: self.agents[i].port, settings.speed
            )
        try:
            await self.relay.open(None if port is None else port + 1)
            self.server = await asyncio.start_server(self._hear, host, port or 0)
        except OSError as error:
            raise DeploymentError(f"the coordinator cannot listen at {host}, port {port}: {error}") from None
        self.address = host, self.server.sockets[0].getsockname()[1]
        if self.packet_log is not None:
            self.packet_log.attend(self.relay.wires.wires, self.activations)
        self.running = DeployedRunning(self.relay, self.activations, self.agents)
        forked = [i for i in range(len(self.agents)) if settings.forks(i)]
        if forked:
            self.nursery = await _Nursery.begin(self.agents, self.folder / NURSERY)
            self._keep(self._attend(self.nursery))
        if settings.by_hand:
            settings.announce(f"Run these here within {BY_HAND:g} s; each starts an agent:")
        for i in range(len(self.agents)):
            self._keep(self._live(i) if i in forked else self._start_elsewhere(i))
        await self._reported()

    async def _reported(self) -> None:
        """Every agent has sent its report; until then the run is looked after."""
        settings, relay, running = self.settings, self.relay, self.running
        assert relay is not None
        assert running is not None
        began = moved = time.monotonic()
        seen: object = None
        while not all(agent.report for agent in self.agents):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.changed.wait(), LOOK * settings.speed)
            self.changed.clear()
            if relay.failed.done():
                relay.failed.result()
            if self.failed is not None:
                raise self.failed
            if self.began is None and all(agent.port for agent in self.agents):
                began = moved = self.began = time.monotonic()
                self.loop.begin()
                for i in range(len(self.agents)):
                    self._start(i)
            now = time.monotonic()
            starting = BY_HAND if settings.by_hand else STARTING
            if self.began is None and now - began > starting:
                late = [i for i, agent in enumerate(self.agents) if not agent.port]
                raise DeploymentError(
                    f"agents {late} did not come up in {starting:g} s; see {self.folder}/agent-*.log"
                )
            state = [*self.activations, *((a.messages, a.lives, a.report is None) for a in self.agents)]
            if state != seen:
                seen, moved = state, now
            elif self.began is not None and now - moved > settings.patience:
                waits = [agent.waits for agent in self.agents if agent.waits]
                silent = f"agents {[i for i, agent in enumerate(self.agents) if not agent.report]} are not done"
                raise StalledError(f"nothing happened for {settings.patience:g} s: {'; '.join(waits[:8]) or silent}")
            if self.watch is not None:
                self.watch(running)

    async def _attend(self, nursery: "_Nursery") -> None:
        """Hear of all agents' processes, until nobody says any more what becomes of them."""
        await nursery.listen()
        if not self.over:
            log = self.folder / NURSERY
            last = "".join(log.read_text(errors="replace").splitlines()[-1:])
            self._fail(
                DeploymentError(f"the process that starts agents has ended: {last or 'killed'}; its log: {log}")
            )

    # ── one agent ───────────────────────────────────────────────────────────────────────────────────────
    async def _live(self, i: int) -> None:
        """Its process; and the next one, where it died and is to be started anew."""
        agent = self.agents[i]
        while True:
            agent.lives += 1
            agent.ended = self.loop.create_future()
            assert self.nursery is not None
            self.nursery.send(sealed(self._errand(i)))
            status = await agent.ended
            if self.over:
                return
            if not self.settings.restart or agent.lives >= LIVES:
                if agent.report is None:
                    log = self.folder / f"agent-{i}.log"
                    self._fail(DeploymentError(f"agent {i} {_ending(status)}; its log: {log}"))
                return  # (begun anew also after its report: another that begins anew wants what it sent)
            agent.writer = None
            self.changed.set()

    async def _start_elsewhere(self, i: int) -> None:
        """Its process, where this machine does not fork it: by `ssh`, by somebody's hand, or an outside program's."""
        settings, agent, hosts = self.settings, self.agents[i], self.settings.hosts
        file, given = self.folder / f"agent-{i}.errand", b""
        if hosts is None:
            file = file.with_suffix(".json")
            self._write_secret(file, json.dumps(self._known(i)).encode())
            command = [*shlex.split(settings.outside[i]), str(file)]
        elif settings.ssh:
            command, given = hosts.command(i, file), sealed(replace(self._errand(i), watched=True))
        else:
            self._write_secret(file, sealed(self._errand(i)))
            settings.announce(hosts.line(i, file))
            return
        agent.ended, agent.leads = self.loop.create_future(), True
        log = self.folder / f"agent-{i}.log"
        try:
            with log.open("wb") as said:
                process = await asyncio.create_subprocess_exec(
                    *command, stdin=asyncio.subprocess.PIPE, stdout=said, stderr=said, start_new_session=True
                )
        except OSError as error:
            raise DeploymentError(f"agent {i} cannot be started: {error}") from None
        assert process.stdin is not None
        agent.pid = process.pid
        process.stdin.write(given)  # and stays open: an agent on another machine ends with it
        status = await process.wait()
        agent.pid = None
        agent.ended.set_result(status)
        if agent.report is None and not self.over:
            last = "".join(log.read_text(errors="replace").splitlines()[-1:])
            raise DeploymentError(f"agent {i} {_ending(status)}: {last or 'it said nothing'}; its log: {log}")

    def _write_secret(self, file: Path, data: bytes) -> None:
        """A file that nobody but its owner reads, for as long as the run lasts."""
        self.secrets.append(file)
        file.unlink(missing_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
            opened.write(data)

    def _known(self, i: int) -> dict[str, object]:
        """All that an outside program has to know of the run to be agent i, with the agent's records."""
        public, objective = self.simulation.public(), self.simulation.problem.objectives[i]
        return {
            "agent": i,
            "neighbors": public.neighbors[i],
            "weights": public.weights[i].tolist(),
            "dimension": public.dimension,
            "data": {name: one.tolist() for name, one in vars(objective).items() if isinstance(one, np.ndarray)},
            "run": self.number.hex(),
            "coordinator": self.address,
            "secret": self.secret.hex(),
            "listen": self.places[i],
        }

    def _errand(self, i: int) -> Errand:
        settings = self.settings
        order = self.folder / f"order-{i}.txt"
        tapped = [one for one in self.simulation.adversaries if (settings.tls or settings.kernel) and i in one.doors]
        doors = [doors_path(self.folder, one, i) for one in tapped]
        if self.agents[i].lives == 1:
            for path in (order, self.folder / f"agent-{i}.log"):
                path.unlink(missing_ok=True)
            for path in doors:
                CaptureFile(path).close()  # with nothing in it, should the agent not come that far
        forked = settings.forks(i)
        return Errand(
            simulation=replace(self.simulation, adversaries=()),
            agent=i,
            run=self.number,
            secret=self.secret,
            coordinator=self.address,
            host=self.places[i][0],
            port=self.agents[i].port or self.places[i][1],
            speed=settings.speed,
            log=self.folder / f"agent-{i}.log" if forked else None,
            order=order if forked else None,
            counted=self.agents[i].counted,
            certificate=self.trust[i],
            doors=tuple(doors),
            known_by_address=settings.kernel,
            namespace=self.rooms[i] if self.rooms else None,
        )

    def _start(self, i: int) -> None:
        agent, relay = self.agents[i], self.relay
        assert relay is not None
        assert self.began is not None
        if agent.writer is None:
            return
        addresses = {
            j: relay.address(i, j, (self.places[j][0], self.agents[j].port))
            for j in self.simulation.topology.neighbors(i)
            if j < i
        }
        agent.writer.write(packed(Start(time.monotonic() - self.began, addresses)))
        if self.stopped:
            agent.writer.write(packed(Stop()))

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Somebody connects: an agent, with what it has to say, or to be counted; nobody else is heard."""
        self._keep(self._heard(reader, writer))

    async def _heard(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        i, agent = -1, _Agent()
        try:
            first, _ = await asyncio.wait_for(read(reader, trusted=False), PATIENCE * self.settings.speed)
            if not isinstance(first, Here | Turnstile | Failed):
                return
            if not secrets.compare_digest(first.secret.encode(), self.secret.hex().encode()):
                return
            i, agent = first.agent, self.agents[first.agent]
            if isinstance(first, Turnstile):
                await self._count(i, reader, writer)
                return
            if isinstance(first, Failed):
                self._told(i, first, {})
                return
            agent.writer, agent.port = writer, first.port
            if self.over:
                writer.write(packed(Over()))
            elif self.began is not None:
                self._start(i)
            self.changed.set()
            while True:
                self._told(i, *await read(reader))
                self.changed.set()
        except (asyncio.IncompleteReadError, OSError, ValueError, IndexError):
            pass  # its process is over, and whoever waits for that knows
        finally:
            writer.close()
            if self.settings.by_hand and agent.writer is writer and agent.report is None and not self.over:
                self._fail(DeploymentError(f"agent {i} is gone; what its process printed says why"))

    def _told(self, i: int, said: Note, arrays: Arrays) -> None:
        agent = self.agents[i]
        if isinstance(said, Alive):
            agent.messages, agent.waits = said.messages, said.waits
            self.activations[i] = max(self.activations[i], said.closed)
        elif isinstance(said, Report):
            arrays = arrays or _nothing(self.simulation.problem.dimension)  # of an outside program
            agent.report, self.activations[i] = (said, arrays), len(arrays["times"])
        elif isinstance(said, Failed):
            self._fail(DeploymentError(f"agent {i}: {said.error}"))

    async def _count(self, i: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """An agent closes activations of a walk, one by one; those of a former life were counted then."""
        agent, stopping = self.agents[i], self.stopping
        while True:
            number = TURN.unpack(await reader.readexactly(TURN.size))[0]
            answer = GO_ON
            if self.stopped:
                answer = OVER if number > agent.counted or not number else LAST if number == agent.counted else GO_ON
            elif number > agent.counted:
                agent.counted = number
                self.total += 1
                if self.total == stopping.activations or number == stopping.per_agent:
                    self.stop()
                    answer = LAST
            writer.write(answer)

    def stop(self) -> None:
        """The walk is over, or the run was interrupted: agents report what they have."""
        self.stopped = True
        if self.relay is not None:
            self.relay.over = True
        for agent in self.agents:
            if agent.writer is not None:
                agent.writer.write(packed(Stop()))

    def _fail(self, error: Exception) -> None:
        self.failed = self.failed or error
        self.changed.set()

    def _keep(self, what: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Something that is done besides; an error in it ends the run."""

        def done(task: "asyncio.Task[None]") -> None:
            self.tasks.discard(task)
            if not task.cancelled() and isinstance(error := task.exception(), Exception):
                self._fail(error)

        task = self.loop.create_task(what)
        self.tasks.add(task)
        task.add_done_callback(done)
        return task

    async def _clear_away(self) -> None:
        """Processes hear that the run is over; those that do not go are killed."""
        self.over = True
        for agent in self.agents:
            if agent.writer is not None and not agent.writer.is_closing():
                agent.writer.write(packed(Over()))
        there = [agent for agent in self.agents if agent.pid is not None]
        ends = [agent.ended for agent in there if agent.ended is not None and not agent.ended.done()]
        if ends:
            await asyncio.wait(ends, timeout=ENDING * self.settings.speed)
        for agent in self.agents:
            if agent.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    (os.killpg if agent.leads else os.kill)(agent.pid, signal.SIGKILL)
        if left := [one for one in ends if not one.done()]:
            await asyncio.wait(left, timeout=ENDING * self.settings.speed)
        if self.server is not None:
            self.server.close()
        for file in self.secrets:
            file.unlink(missing_ok=True)
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        if self.relay is not None:
            self.relay.close()
        if self.nursery is not None:
            await self.nursery.close()
        await asyncio.sleep(0)  # so that what was closed lets go of its sockets
        if self.sniffer is not None:
            self.sniffer.close()

    # ── the run as data ─────────────────────────────────────────────────────────────────────────────────
    def _gathered(self, interrupted: bool) -> Run:
        simulation, objectives = self.simulation, self.simulation.problem.objectives
        problem, recording = simulation.problem, simulation.recording
        each = [agent.report or (Report(), _nothing(problem.dimension)) for agent in self.agents]
        reports, arrays = [report for report, _ in each], [one for _, one in each]
        queries, releases = [_queries(one) for one in arrays], [list(one["releases"]) for one in arrays]
        truth = None
        if recording.private != "nothing":
            truth = Truth(problem, queries if recording.private == "everything" else [[] for _ in reports], releases)
        metrics, ended = self._metrics(arrays)
        if self.packet_log is not None:
            self.packet_log.close(ended)
        relay = self.relay
        assert relay is not None
        inside = [
            {i: InsiderState(objectives[i], tuple(queries[i]), tuple(releases[i])) for i in adversary.insiders}
            for adversary in simulation.adversaries
        ]
        names = Layouts({layout(one): tuple(one) for report in reports for one in report.names})
        transcripts = [self._transcript(adversary, names) for adversary in simulation.adversaries]
        return Run(
            simulation,
            views_of(simulation, transcripts, inside),
            metrics,
            truth,
            tuple(len(one["times"]) for one in arrays),
            ended,
            self._traffic(relay, reports),
            interrupted,
            relay.wires.interception.reports,
            queries=tuple(one.queries for one in reports),
            measures=measures_of(simulation, metrics),
            tossed=any(one.tossed for one in reports),
            deployed=True,
            unstacked="its agents were processes",
        )

    def _transcript(self, adversary: Adversary, names: Layouts) -> Transcript:
        """What an adversary has, from its captures alone; `names` is what the algorithm calls its values."""
        public = self.simulation.public()
        rows = rebuilt(capture_path(self.folder, adversary), public, names, sealed=bool(self.settings.tls))
        for agent in adversary.doors:
            rows += at_door(rebuilt(doors_path(self.folder, adversary, agent), public, names), agent)
        return Transcript(sorted(rows, key=attrgetter("time")), 1)

    def _metrics(self, arrays: Sequence[Arrays]) -> tuple[Metrics | None, float]:
        """All agents' estimates in the order of their times, and the last time."""
        simulation, air = self.simulation, Air()
        counts = [_Counts() for _ in arrays]
        events = sorted((when, i, k) for i, one in enumerate(arrays) for k, when in enumerate(one["times"].tolist()))
        metrics = simulation.metrics(air, counts) if simulation.recording.measure else None
        for when, i, k in events if metrics is not None else ():
            assert metrics is not None
            count = counts[i]
            air.packets, air.bytes = air.packets - count.messages, air.bytes - count.message_bytes
            count.messages, count.message_bytes, count.queries = map(int, arrays[i]["counts"][k])
            air.packets, air.bytes = air.packets + count.messages, air.bytes + count.message_bytes
            metrics.closed(when, i, arrays[i]["estimates"][k])
        return metrics, events[-1][0] if events else 0.0

    def _traffic(self, relay: Relay, reports: Sequence[Report]) -> dict[str, int]:
        """What went over wires of the relay as they count it, the rest as its senders do."""
        found = {f"{unit}_{word}": 0 for unit in ("packets", "bytes") for word in COUNTS}
        for i, one in enumerate(reports):
            for j, (count, size) in one.sent.items():
                if (min(i, j), max(i, j)) not in relay.links:
                    for word in ("sent", "delivered"):
                        found[f"packets_{word}"] += count
                        found[f"bytes_{word}"] += size
        for i, j in relay.links:
            for wire in (relay.wires.wires[i, j], relay.wires.wires[j, i]):
                for unit, counts in (("packets", wire.packets), ("bytes", wire.bytes)):
                    for word, count in zip(COUNTS, counts, strict=True):
                        found[f"{unit}_{word}"] += count
        return found


@dataclass
class _Counts:
    """What an agent had sent and asked when it made an estimate."""

    messages: int = 0
    message_bytes: int = 0
    queries: int = 0


def _queries(arrays: Arrays) -> list[Query]:
    return [
        Query(*one) for one in zip(arrays["query_times"].tolist(), arrays["points"], arrays["gradients"], strict=True)
    ]


def _ending(status: int) -> str:
    """How a process ended, in words."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was killed by {signal.Signals(-status).name if -status in set(signal.Signals) else f'signal {-status}'}"


def _nothing(dimension: int) -> Arrays:
    """The arrays of an agent that reported none."""
    empty = np.zeros((0, 1, dimension))
    times = np.zeros(0)
    arrays = {"times": times, "estimates": empty, "counts": np.zeros((0, 3)), "query_times": times}
    return {**arrays, "points": empty, "gradients": empty, "releases": empty}


class _Nursery:
    """The process that forks the agents'."""

    def __init__(self, process: asyncio.subprocess.Process, agents: Sequence[_Agent]) -> None:
        self._process, self._agents = process, agents

    @classmethod
    async def begin(cls, agents: Sequence[_Agent], log: Path) -> "_Nursery":
        path = os.pathsep.join(one or os.getcwd() for one in sys.path)  # agents find what this process finds
        with log.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "netsim.readers.deployed.agent",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=file,
                start_new_session=True,  # a Ctrl-C is for the coordinator, who lets the agents report
                env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        return cls(process, agents)

    def send(self, errand: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(errand)

    async def listen(self) -> None:
        """Note who begins and who ends, for as long as it lives."""
        assert self._process.stdout is not None
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                i, said = BORN.unpack(await self._process.stdout.readexactly(BORN.size))
                agent = cast(_Agent, self._agents[i])
                agent.pid = said if said > 0 else None
                if said < 0 and agent.ended is not None and not agent.ended.done():
                    agent.ended.set_result(-256 - said)

    async def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()
