"""What it costs to put on disk what a tap hears while it hears it, against keeping it in memory.

Messages of ten floats go over links, as a wire tells its taps: `degree` links carry each (10: a broadcast; 1: the
least favourable case). Making the messages is timed alone and taken off. CPU seconds, file system included;
medians. Peak memory is that of a process of its own which hears all the messages.

And what it costs a whole run: the gossip of `wire.py`, every link tapped and the transcript spooled, against the same
run with no tap, in one process; CPU and wall seconds, medians of pairs. Asked of ``--messages 10000000``: 70 % of the
speed, below 500 MB.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import networkx as nx
import numpy as np

from benchmarks import simpy_twin, wire
from netsim.adversary import Adversary
from netsim.network.laws import ConstantDelay
from netsim.network.links import LinkLaw
from netsim.problems import LeastSquares, Problem
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Simulation
from netsim.topology import Topology
from netsim.transcript import Transcript
from netsim.transcript.message import Capture, Message
from netsim.transcript.stored import StreamedTranscript
from netsim.transcript.stream import TranscriptStream

AGENTS, DIMENSION = 50, 10


def told(messages: int, degree: int, hear: Callable[[Capture], object]) -> None:
    """`messages` packets on the air, each message on `degree` links."""
    noise = np.random.default_rng(0).normal(size=(1, 2**20))
    for number in range(messages // degree):
        sender = number % AGENTS
        first = 11 * number % (2**20 - DIMENSION)
        message = Message(sender, "exchange", number // AGENTS, {"x": noise[:, first : first + DIMENSION].copy()})
        now = number * 1e-3
        for target in range(degree):
            hear((now, sender, target, message))


def spooled(messages: int, degree: int, path: Path) -> None:
    spool = TranscriptStream(path, 1)
    told(messages, degree, spool.capture)
    spool.close()


def appended(messages: int, degree: int) -> list[Capture]:
    heard: list[Capture] = []
    told(messages, degree, heard.append)
    return heard


def written(messages: int, degree: int, path: Path) -> None:
    Transcript.captured(appended(messages, degree), [], 1).write(path)


def converted(messages: int, degree: int, path: Path) -> None:
    spool = TranscriptStream(path.with_suffix(".spool"), 1)
    told(messages, degree, spool.capture)
    spool.close().to_parquet(path)


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def microseconds(messages: int, degree: int, folder: Path, repeats: int) -> dict[str, float]:
    """CPU time per row, without that of making the messages."""
    fewer = max(degree, messages // 10)  # a transcript in memory weighs gigabytes, and costs the same per row
    works: dict[str, tuple[int, Callable[[int], object]]] = {
        "made": (messages, lambda count: told(count, degree, _nothing)),
        "appended": (messages, lambda count: appended(count, degree)),
        "spooled": (messages, lambda count: spooled(count, degree, folder / "a.spool")),
        "appended, written as Parquet": (fewer, lambda count: written(count, degree, folder / "a.parquet")),
        "spooled, converted to Parquet": (fewer, lambda count: converted(count, degree, folder / "b.parquet")),
    }
    took = {name: [seconds(lambda w=work, c=count: w(c)) / count for _ in range(repeats)]
            for name, (count, work) in works.items()}  # fmt: skip
    made = statistics.median(took.pop("made"))
    return {name: max(1e-3, (statistics.median(values) - made) * 1e6) for name, values in took.items()}


def _nothing(_: Capture) -> None: ...


def gossip(messages: int, spool: Path | None) -> int:
    """The run of `wire.py` with about so many messages, tapped and spooled there, or not tapped; returns how many."""
    edges, delays, _ = simpy_twin.workload(wire.AGENTS, wire.EDGES)
    law = {
        directed: LinkLaw(ConstantDelay(delay))
        for (i, j), delay in zip(edges, delays, strict=True)
        for directed in ((i, j), (j, i))
    }
    objective = LeastSquares(np.eye(1, DIMENSION), np.zeros(1), 1.0)
    run = Simulation(
        Problem((objective,) * wire.AGENTS),
        Topology(nx.Graph(edges)),
        wire.Gossip(max(1, messages // (4 * wire.EDGES))),
        NetworkSettings(link_laws=law),
        adversaries=() if spool is None else (Adversary(),),
        recording=Recording(measure=False, private="nothing", spool=spool),
    ).run()
    assert spool is None or len(run.views[0].transcript) == run.traffic["packets_sent"]
    return run.traffic["packets_delivered"]


def slowdowns(messages: int, folder: Path, pairs: int) -> dict[str, float]:
    """Speed of the tapped, spooled run over that of the run with no tap, by CPU time and by wall time."""
    gossip(min(messages, 50_000), folder)  # imports, caches
    ratios: dict[str, list[float]] = {"cpu": [], "wall": []}
    for _ in range(pairs):
        took: list[tuple[float, float]] = []
        for spool in (None, folder):
            cpu, wall = time.process_time(), time.perf_counter()
            gossip(messages, spool)
            took.append((time.process_time() - cpu, time.perf_counter() - wall))
        (cpu, wall), (spooled_cpu, spooled_wall) = took
        ratios["cpu"].append(cpu / spooled_cpu)
        ratios["wall"].append(wall / spooled_wall)
    return {f"run_spooled_vs_untapped_{clock}": statistics.median(values) for clock, values in ratios.items()}


def peak(work: str, messages: int, degree: int, folder: Path) -> float:
    """Mebibytes of resident memory at most, in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.transcript",
        "--alone",
        work,
        "--messages",
        str(messages),
        "--degree",
        str(degree),
    ]
    done = subprocess.run([*command, "--folder", str(folder)], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def alone(work: str, messages: int, degree: int, folder: Path) -> None:
    """One piece of work, and how much memory this process had at most."""
    path = folder / "peak.spool"
    if work == "appended":
        appended(messages, degree)
    elif work == "spooled":
        spooled(messages, degree, path)
    elif work == "run":
        gossip(messages, folder)
    elif work == "read":
        assert sum(1 for _ in StreamedTranscript.open(path)) == messages
    elif work == "converted":
        StreamedTranscript.open(path).to_parquet(folder / "peak.parquet")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(most / 2**20 if sys.platform == "darwin" else most / 2**10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object of named ratios")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--messages", type=int, default=1_000_000, help="packets heard; up to 10,000,000")
    parser.add_argument("--run-only", action="store_true", help="only the whole runs")
    parser.add_argument("--degree", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--alone", default=None, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone is not None:
        alone(options.alone, options.messages, options.degree, options.folder)
        return
    ratios: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        works = ("nothing", "appended", "spooled", "read", "converted")
        sizes: dict[int, float] = {}
        peaks: dict[int, dict[str, float]] = {}
        for degree in (
            () if options.run_only else (10, 1)
        ):  # first of all: a child's peak is at least what its parent has at the time
            peaks[degree] = {work: peak(work, options.messages, degree, folder) for work in works}
            sizes[degree] = (folder / "peak.spool").stat().st_size / options.messages
        ratios["peak_run_vs_500_mb"] = peak("run", options.messages, 1, folder) * 2**20 / 500e6
        ratios |= slowdowns(options.messages, folder, options.repeats)
        for degree, suffix in () if options.run_only else ((10, ""), (1, "_degree_1")):
            cost, memory = microseconds(options.messages, degree, folder, options.repeats), peaks[degree]
            ratios[f"rows_per_second_spooled_vs_appended{suffix}"] = cost["appended"] / cost["spooled"]
            ratios[f"rows_per_second_parquet_spooled_vs_written{suffix}"] = (
                cost["appended, written as Parquet"] / cost["spooled, converted to Parquet"]
            )
            ratios[f"peak_spooled_vs_appended{suffix}"] = memory["spooled"] / memory["appended"]
            ratios[f"peak_spooled_vs_500_mb{suffix}"] = max(memory["spooled"], memory["converted"]) * 2**20 / 500e6
            if not options.json:
                print(f"{options.messages:,} packets, a message on {degree} links; {sizes[degree]:.0f} bytes a row")
                for work, value in cost.items():
                    print(f"  {work:30} {value:8.2f} µs a row {1e6 / value:>14,.0f} rows/s")
                print("  peak memory, MiB:  " + "   ".join(f"{work} {value:,.0f}" for work, value in memory.items()))
    if options.json:
        print(json.dumps(ratios))
        return
    for name, value in ratios.items():
        print(f"{name:52} {value:8.3f}")


if __name__ == "__main__":
    main()
