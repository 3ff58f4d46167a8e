"""Progress of long work: bars, and a simulation with a bar."""

from typing import Protocol

from netsim.running import Running
from netsim.simulation import Run, Simulation
from netsim.transcript.packet_log import PacketLog


class Progress(Protocol):
    """Receiver of how far the run is: `begin` a stage of `total` steps, `advance` by some, and what else to `say`."""

    def begin(self, stage: str, total: int) -> None: ...

    def advance(self, steps: int) -> None: ...

    def say(self, sentence: str) -> None: ...


class Silent:
    """Tells nobody."""

    def begin(self, stage: str, total: int) -> None:
        pass

    def advance(self, steps: int) -> None:
        pass

    def say(self, sentence: str) -> None:
        pass


EVERY = 0.1
"""Seconds of real time between two looks at a simulation."""


def simulated(simulation: Simulation, stage: str, progress: Progress, packet_log: PacketLog | None = None) -> Run:
    """The run, to its end. You get a `KeyboardInterrupt` where it was interrupted."""
    progress.begin(stage, estimates(simulation))
    done = 0

    def look(running: Running) -> None:
        nonlocal done
        progress.advance(running.estimates - done)
        done = running.estimates

    run = simulation.run(look, every=EVERY, packet_log=packet_log)
    if run.interrupted:
        raise KeyboardInterrupt
    return run


def estimates(simulation: Simulation) -> int:
    """How many estimates a run makes, at most."""
    algorithm = simulation.algorithm
    return algorithm.stopping().activations or simulation.topology.agents * (algorithm.horizon or 1)
