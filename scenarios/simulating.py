"""A simulation with a bar that shows the time left; a Ctrl-C in it is one of the caller's, too."""

from netsim.diary import Diary
from netsim.run import Run
from netsim.running import Running
from netsim.simulation import Simulation
from scenarios.telling import Progress

EVERY = 0.1
"""Seconds of real time between two looks at a simulation."""


def simulated(simulation: Simulation, stage: str, progress: Progress, diary: Diary | None = None) -> Run:
    """The run, to its end. You get a `KeyboardInterrupt` where it was interrupted."""
    progress.begin(stage, estimates(simulation))
    done = 0

    def look(running: Running) -> None:
        nonlocal done
        progress.advance(running.estimates - done)
        done = running.estimates

    run = simulation.run(look, every=EVERY, diary=diary)
    if run.interrupted:
        raise KeyboardInterrupt
    return run


def estimates(simulation: Simulation) -> int:
    """How many estimates a run makes, at most."""
    stopping = simulation.algorithm.stopping()
    per_agent: int = stopping.per_agent or getattr(simulation.algorithm, "rounds", 1)
    return stopping.activations or simulation.topology.agents * per_agent
