"""One agent as a process: the algorithm's coroutine on a `LiveNode` whose network is its ends of TCP links.

An agent has an `Errand`. On the coordinator's machine it is forked by a `_nursery` that has loaded the libraries
(`python -m netsim.readers.deployed.agent`); elsewhere it is a process by itself, which reads its errand from a file
(`… agent FILE`, or `-`: the standard input). It logs what it does, with nobody's values; its estimates, queries and
releases go to the coordinator alone, in its report.
"""

import asyncio
import contextlib
import gc
import logging
import os
import selectors
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, cast

import numpy as np

from netsim.adversary import Query
from netsim.arrays import Array, diverging
from netsim.errors import NetsimError, ProtocolError
from netsim.randomness import EdgeNoise, Streams
from netsim.readers.deployed import kernel
from netsim.readers.deployed.ends import PATIENCE, Address, Certificate, Door, Home
from netsim.readers.deployed.hosts import STANDARD_INPUT, opened
from netsim.readers.deployed.notes import Alive, Failed, Here, Over, Report, Start, Stop, Turnstile, packed, read
from netsim.readers.live import LiveNode
from netsim.simulation import Simulation, live_node
from netsim.transcript.message import HEADER_BYTES, as_sent

PULSE = 0.5
"""Real seconds between two signs of life."""
TURN = struct.Struct("<I")
"""What an agent says when it closes an activation of a walk: its number, from 1; 0 before one."""
GO_ON, LAST, OVER = b"\0", b"\1", b"\2"
"""The answer: go on; that was the last of all; there was a last one before."""
_logger = logging.getLogger("netsim.deployed")


@dataclass(frozen=True)
class Errand:
    """What one agent's process has to do. PRIVATE: its data are in the simulation."""

    simulation: Simulation
    agent: int
    run: bytes
    """The number of the run."""
    secret: bytes
    """By which the coordinator knows its agents."""
    coordinator: Address
    host: str
    port: int
    """Where it listens; 0: the system chooses."""
    speed: float
    """Seconds of the run in one real second."""
    log: Path | None
    """None: the standard error."""
    order: Path | None
    """File of the senders whose direct messages it read, in order: a life that follows reads it. None: none does."""
    counted: int
    """Activations of a walk that a former life closed: this one repeats them, also where the walk is over."""
    certificate: Certificate | None
    """Its own, and whose it trusts; None: links are in the clear."""
    doors: tuple[Path, ...] = ()
    """Files of taps at its own door, where no relay sees what passes: the process writes them itself."""
    namespace: str | None = None
    """The network namespace that it lives in; none: that of who forks it."""
    known_by_address: bool = False
    """Whether it speaks from its own address on links, by which a capture knows it."""
    watched: bool = False
    """Whether it ends with its standard input, of which the coordinator has the other end."""


PASSES = 4
"""How often a loop does what was called for before it looks at its sockets."""


class RealLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time()` is seconds of the run: real ones since `begin`, `speed` times as fast."""

    _ready: Any  # asyncio's own deque of handles
    _stopping: bool

    def __init__(self, speed: float) -> None:
        self._origin, self._speed = time.monotonic(), speed
        super().__init__(_Scaled(speed) if speed != 1 else None)

    def begin(self, ago: float = 0.0) -> None:
        """The run began so many real seconds ago."""
        self._origin = time.monotonic() - ago

    def time(self) -> float:
        return (time.monotonic() - self._origin) * self._speed

    def _run_once(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """As asyncio has it; but what callbacks lead to, such as the next round of an agent that has all messages, is
        done before sockets are asked again."""
        cast(Any, super())._run_once()
        for _ in range(PASSES):
            for _ in range(len(self._ready)):
                if self._stopping:
                    return
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()


class _Scaled(selectors.DefaultSelector):
    """Waits for real seconds where the loop names those of the run."""

    def __init__(self, speed: float) -> None:
        super().__init__()
        self._speed = speed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout / self._speed if timeout else timeout)


# ── the agent ───────────────────────────────────────────────────────────────────────────────────────────
class _AgentProcess:
    """An agent's run, from its errand to its report."""

    def __init__(self, errand: Errand, loop: RealLoop) -> None:
        self.errand, self.loop = errand, loop
        simulation, agent, network = errand.simulation, errand.agent, errand.simulation.network
        self._me = errand.secret.hex(), agent
        self._walks = simulation.algorithm.stopping().walks
        self._turnstile: socket.socket | None = None
        self._running: asyncio.Task[None] | None = None
        self._closed: list[tuple[float, Array, tuple[int, int, int]]] = []
        self._queries, self._releases = list[Query](), list[Array]()
        file = errand.order
        order = file.read_text(encoding="ascii").split() if file is not None and file.exists() else ()
        self._order = None if file is None else file.open("a", encoding="ascii", buffering=1)
        self.home = Home(
            agent,
            simulation.topology.neighbors(agent),
            errand.run,
            simulation.problem.dimension,
            simulation.wire_codec,
            simulation.network.exchange_policy,
            speed=errand.speed,
            reordered=any(law.reordering for law in (network.links, *network.link_laws.values())),
            order=tuple(map(int, order)),
            noted=self._note,
            refused=_logger.warning,
            admitted=self._admitted if self._walks else None,
            door=Door(agent, errand.doors, loop.time) if errand.doors else None,
        )
        self.node = self._node()

    def _admitted(self) -> bool:
        """Whether the walk goes on; what a former life did is repeated in any case."""
        return len(self._closed) < self.errand.counted or self._ask(0) == GO_ON

    def _note(self, sender: int) -> None:
        """It reads a direct message of this neighbor."""
        if self._order is not None:
            self._order.write(f"{sender}\n")

    def _node(self) -> LiveNode:
        simulation = self.errand.simulation
        topology, shape = simulation.topology, (1, simulation.problem.dimension)
        streams, around = Streams(simulation.seed), tuple(map(topology.neighbors, range(topology.agents)))
        return live_node(
            simulation,
            self.errand.agent,
            streams,
            self.home,
            edges=EdgeNoise(streams, simulation.chunk, shape, around, kept=False),
            queries=self._queries,
            releases=self._releases,
            closed=self._close,
        )

    def _close(self, agent: int, x: Array) -> None:  # noqa: ARG002
        node, number = self.node, len(self._closed) + 1
        said = self._ask(number) if self._walks and number >= self.errand.counted else GO_ON
        if said != OVER:
            self._closed.append((self.loop.time(), as_sent(x), (node.messages, node.message_bytes, node.queries)))
        if said != GO_ON:
            raise asyncio.CancelledError("the walk has ended")

    def _ask(self, number: int) -> bytes:
        """What the coordinator, who counts everybody's activations, says to one that is closed (its number of this
        agent's, from 1), or before one (0); nothing else happens here meanwhile."""
        if self._turnstile is None:
            self._turnstile = socket.create_connection(self.errand.coordinator)
            self._turnstile.sendall(packed(Turnstile(*self._me)))
        self._turnstile.sendall(TURN.pack(number))
        answer = self._turnstile.recv(1)
        if not answer:
            raise ProtocolError("the coordinator is gone")
        return answer

    async def live(self) -> None:
        """The whole of it."""
        errand, trust = self.errand, self.errand.certificate
        patience = PATIENCE * errand.speed
        reader, writer = await asyncio.wait_for(asyncio.open_connection(*errand.coordinator), patience)
        try:
            server = await self.home.listen(errand.host, errand.port, None if trust is None else trust.server())
        except OSError as error:
            writer.write(packed(Failed(*self._me, str(error))))
            await writer.drain()
            raise
        writer.write(packed(Here(*self._me, server.sockets[0].getsockname()[1])))
        start, _ = await read(reader)
        if not isinstance(start, Start):
            return
        self.loop.begin(start.ago)
        context = None if trust is None else trust.client()
        dialing = [
            self.loop.create_task(
                self.home.dial(
                    j, (host, at), context, bytes.fromhex(ticket), errand.host if errand.known_by_address else None
                )
            )
            for j, (host, at, ticket) in start.addresses.items()
        ]
        pulse = self.loop.create_task(self._beat(writer))
        self._running = running = self.loop.create_task(errand.simulation.algorithm.run(self.node), name="algorithm")
        over = self.loop.create_task(self._until_over(reader))
        try:
            await asyncio.wait({running, over, self.home.failed}, return_when=asyncio.FIRST_COMPLETED)
            if self.home.failed.done():
                self.home.failed.result()
            if running.done() and not running.cancelled():
                running.result()
            _logger.info("agent %d is done", errand.agent)
            pulse.cancel()
            writer.write(self._report())
        except Exception as error:
            writer.write(packed(Failed(*self._me, f"{type(error).__name__}: {error}")))
            if not isinstance(error, NetsimError):
                _log_failure(error)
        finally:
            with contextlib.suppress(ConnectionError):
                await writer.drain()
            await over  # neighbors may still want what it sent
            for task in (pulse, running, *dialing):
                task.cancel()
            server.close()

    async def _until_over(self, reader: asyncio.StreamReader) -> None:
        """The coordinator's word, or its silence, ends the process."""
        try:
            while not isinstance(said := (await read(reader))[0], Over):
                if isinstance(said, Stop) and self._running is not None and len(self._closed) >= self.errand.counted:
                    self._running.cancel()
        except (asyncio.IncompleteReadError, OSError):
            _logger.error("agent %d: the coordinator is gone", self.errand.agent)
            sys.exit(3)

    async def _beat(self, writer: asyncio.StreamWriter) -> None:
        while True:
            await asyncio.sleep(PULSE * self.errand.speed)
            node, waits = self.node, self.home.inbox.waits_for()
            writer.write(packed(Alive(len(self._closed), node.messages, waits)))

    def _report(self) -> bytes:
        shape = (-1, 1, self.errand.simulation.problem.dimension)

        def stacked(values: list[Array]) -> Array:
            return np.array(values).reshape(shape)

        arrays = {
            "times": np.array([time for time, _, _ in self._closed]),
            "estimates": stacked([x for _, x, _ in self._closed]),
            "counts": np.array([counts for _, _, counts in self._closed], dtype=np.float64).reshape(-1, 3),
            "query_times": np.array([query.time for query in self._queries]),
            "points": stacked([query.point for query in self._queries]),
            "gradients": stacked([query.gradient for query in self._queries]),
            "releases": stacked(self._releases),
        }
        node = self.node
        ends = self.home.ends
        sizes = {j: [HEADER_BYTES + len(values) for _, _, values in end.sent] for j, end in ends.items()}
        sent, names = {j: (len(each), sum(each)) for j, each in sizes.items()}, sorted({*self.home.names.values()})
        return packed(Report(node.queries, node.tossed, sent, names), arrays)


def _log_failure(error: BaseException) -> None:
    """Which error, and where; not its text, which may have values."""
    _logger.error("%s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))


def _unexpected(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:  # noqa: ARG001
    """An error in a callback, whose arguments asyncio would log."""
    _log_failure(context.get("exception") or RuntimeError())


def run(errand: Errand) -> None:
    """One agent's whole life in this process; its log goes to the errand's file."""
    logging.basicConfig(filename=errand.log, level=logging.INFO, format="%(asctime)s %(message)s", force=True)
    loop = RealLoop(errand.speed)
    loop.set_exception_handler(_unexpected)

    async def whole() -> None:
        with diverging():
            await _AgentProcess(errand, loop).live()

    loop.run_until_complete(whole())


BORN = struct.Struct("<ii")
"""What the nursery says: an agent's number, and its process when it begins, or −256 − its status at its end (0 to
255, or minus the signal)."""


def _nursery() -> None:
    """Forks a process for every errand on standard input, so that libraries are loaded once, and says on standard
    output which it is and how it ended. Ends with its input, and all of them with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the coordinator's
    gc.freeze()  # what is loaded is never looked at again, nor copied for that in each agent
    children: dict[int, int] = {}
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, _heard)
    signal.set_wakeup_fd(wake)
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
        selector.register(awake, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == awake:
                    os.read(awake, 4096)
                    continue
                try:
                    agent = cast(Errand, opened(_exactly))
                except EOFError:  # the coordinator is gone: nobody wants what its agents do
                    for pid in children:
                        os.kill(pid, signal.SIGKILL)
                    return
                pid = os.fork()
                if not pid:
                    _be(agent)
                children[pid] = agent.agent
                os.write(1, BORN.pack(agent.agent, pid))
            while children:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                os.write(1, BORN.pack(children.pop(pid), -256 - os.waitstatus_to_exitcode(status)))


def _heard(number: int, frame: FrameType | None) -> None:
    """A child has ended; the pipe says so."""


def _exactly(count: int) -> bytes:
    """So many bytes of standard input; nothing at its end."""
    data = bytearray()
    while len(data) < count:
        part = os.read(0, count - len(data))
        if not part:
            return b""
        data += part
    return bytes(data)


def _be(errand: Errand) -> NoReturn:
    """The agent, in the process that was forked for it."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)
    status = 70
    try:
        if errand.namespace is not None:
            kernel.enter(errand.namespace)
        run(errand)
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException as error:
        _log_failure(error)
    finally:
        logging.shutdown()
        os._exit(status)


def alone(file: str) -> int:
    """One agent in this process, of a file or of the standard input; its exit status. An error is one line."""
    try:
        with open(0 if file == STANDARD_INPUT else file, "rb", closefd=file != STANDARD_INPUT) as stream:
            errand = cast(Errand, opened(stream.read))
        if errand.watched:
            threading.Thread(target=_end_with_input, daemon=True).start()
        run(errand)
    except (OSError, EOFError, NetsimError) as error:
        print(f"agent: {str(error) or type(error).__name__}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _end_with_input() -> None:
    """Nobody may be left behind whose coordinator is gone, whatever the algorithm is at."""
    while os.read(0, 4096):
        pass
    os._exit(3)


if __name__ == "__main__":
    sys.exit(alone(sys.argv[1]) if len(sys.argv) > 1 else _nursery())
