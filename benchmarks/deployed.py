"""Agents as processes against bare asyncio streams that send the same frames, on this machine's loopback.

    python -m benchmarks.deployed [--agents 5] [--rounds 2000] [--json]

Agents on a ring exchange ten floats a round, and compute nothing. The twin is a process for each
agent, too: it writes the bytes of a frame to both neighbors, and reads as many from each, round by round; it counts
nothing, checks nothing and keeps nothing. CPU time of all processes, system calls included, of a run less that of one
with a tenth of the rounds, so that starting costs neither side anything; both sides in turns, the median of each.
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from netsim import topology
from netsim.algorithms.algorithm import InRounds
from netsim.node import Node
from netsim.problems import LeastSquares, Problem
from netsim.readers.deployed.deploy import deploy
from netsim.settings import Recording
from netsim.simulation import Simulation
from netsim.transcript.message import HEADER_BYTES

DIMENSION = 10
FRAME = bytes(HEADER_BYTES + 8 * DIMENSION)


@dataclass(frozen=True)
class Chatter(InRounds):
    """Agents tell each other the same ten numbers."""

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            await node.exchange(x=x)


def seconds(side: Callable[[int, int], None], agents: int, rounds: int) -> float:
    """CPU seconds of all processes that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    side(agents, rounds)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def rate(side: Callable[[int, int], None], agents: int, rounds: int) -> float:
    """Messages per CPU second."""
    few = rounds // 10
    return 2 * agents * (rounds - few) / (seconds(side, agents, rounds) - seconds(side, agents, few))


def deployed(agents: int, rounds: int) -> None:
    rng = np.random.default_rng(1)
    objectives = tuple(LeastSquares(np.eye(DIMENSION), rng.normal(size=DIMENSION), 0.1) for _ in range(agents))
    simulation = Simulation(
        Problem(objectives),
        topology.ring(agents),
        Chatter(rounds),
        recording=Recording(measure=False, private="nothing"),
    )
    with tempfile.TemporaryDirectory() as folder:
        deploy(simulation, Path(folder))


def bare(agents: int, rounds: int) -> None:
    context = get_context("fork")
    ports = context.SimpleQueue()
    tables = [context.SimpleQueue() for _ in range(agents)]
    processes = [context.Process(target=_twin, args=(i, agents, rounds, ports, tables[i])) for i in range(agents)]
    for process in processes:
        process.start()
    known = dict(ports.get() for _ in range(agents))
    for table in tables:
        table.put(known)
    for process in processes:
        process.join()


def _twin(i: int, agents: int, rounds: int, ports: SimpleQueue, table: SimpleQueue) -> None:
    async def whole() -> None:
        there: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await there.put((reader, writer))

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        ports.put((i, server.sockets[0].getsockname()[1]))
        known = table.get()
        ends = [await asyncio.open_connection("127.0.0.1", known[(i + 1) % agents]), await there.get()]
        for _ in range(rounds):
            for _, writer in ends:
                writer.write(FRAME)
            for reader, _ in ends:
                await reader.readexactly(len(FRAME))

    asyncio.run(whole())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    pairs = [[rate(side, given.agents, given.rounds) for side in (deployed, bare)] for _ in range(given.repeats)]
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    found = {
        "deployed_vs_bare_streams": statistics.median(one / other for one, other in pairs),
        "deployed_messages_per_cpu_second": ours,
        "bare_messages_per_cpu_second": theirs,
    }
    print(json.dumps(found) if given.json else "\n".join(f"{name:36} {value:,.3g}" for name, value in found.items()))


if __name__ == "__main__":
    main()
