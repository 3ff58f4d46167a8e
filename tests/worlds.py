"""Small worlds that several tests share."""

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, DPRecal
from netsim.claims import Adjacency
from netsim.errors import ScenarioError
from netsim.network.laws import GilbertElliott, RandomOutages, UniformDelay
from netsim.network.links import LinkLaw
from netsim.problems import LogisticLoss, Problem, least_squares, logistic
from netsim.problems import load as load_data
from netsim.randomness import Streams, coins_of
from netsim.settings import NetworkSettings, Recording, Timing
from netsim.simulation import Run, Simulation, setting_of

ROUGH = LinkLaw(UniformDelay(0.01, 0.03), loss=0.2, bandwidth=1e6, reliable=True)
"""Random delays, a fifth of the packets lost, a queue; and reliable all the same."""
EVERY_LAW = LinkLaw(
    UniformDelay(0.0, 3.0), loss=GilbertElliott(0.1, 0.3), bandwidth=1e4, buffer=500, duplication=0.2,
    outages=RandomOutages(2.0, 0.5), reordering=True,
)  # fmt: skip
"""All that may happen to a packet."""
SETTINGS = {"network": NetworkSettings, "timing": Timing, "recording": Recording}
FIELDS = {field for kind in (*SETTINGS.values(), Simulation) for field in kind.__dataclass_fields__}
READINGS = ("as_analysed", "as_deployable", "fresh_noise", "sent_state")
DELTA = 1e-3


def digits_problem(agents: int = 8, records: int | None = None) -> Problem:
    """Zeros against ones, all records split, or `records` images per agent."""
    data = load_data("digits", norm_bound=4.0)
    parts = data.split(agents, seed=0)
    if records is not None:
        parts = tuple(part.take(np.arange(records)) for part in parts)
    return logistic(parts, ridge=1.0)


def synthetic_problem(agents: int = 5, dimension: int = 6, records: int = 8) -> Problem:
    data = load_data("synthetic", records=agents * records, dimension=dimension, seed=3, norm_bound=1.0)
    return logistic(data.split(agents), ridge=0.5)


def regression_problem(agents: int = 5, records: int = 40, ridge: float = 0.1) -> Problem:
    data = load_data("synthetic", kind="regression", records=records, dimension=3)
    return least_squares(data.split(agents), ridge)


def dp_recal(problem: Problem, reading: str, per_agent: int = 15, epsilon: float = 1.0) -> DPRecal:
    """Calibrated by Theorem 4 to ε at δ = 1e-3 for one record of one agent."""
    records = min(f.records for f in problem.objectives if isinstance(f, LogisticLoss))
    adjacency = Adjacency(2 * 4.0 / records, "one record")
    algorithm = DPRecal(step=1 / (problem.smoothness + 1), per_agent=per_agent, ratio=1.02)
    return replace(algorithm, reading=reading).calibrated(
        epsilon, DELTA, adjacency, setting_of(problem, None, per_agent)
    )


def simulated(
    problem: Problem, graph: topology.Topology, algorithm: Algorithm, links: LinkLaw | None = None, **fields: Any
) -> Simulation:
    """A simulation, the fields of its settings by their own names, whatever group they are in."""
    if links is not None:
        fields["links"] = links
    assert not (unknown := fields.keys() - FIELDS), unknown
    groups = {name: kind(**_of(kind, fields)) for name, kind in SETTINGS.items()}
    return Simulation(problem, graph, algorithm, **groups, **_of(Simulation, fields))


def changed(simulation: Simulation, **fields: Any) -> Simulation:
    """The same with other values of fields, of its own or of its settings."""
    assert not (unknown := fields.keys() - FIELDS), unknown
    groups = {name: replace(getattr(simulation, name), **_of(kind, fields)) for name, kind in SETTINGS.items()}
    return replace(simulation, **groups | _of(Simulation, fields))


def _of(kind: type, fields: dict[str, Any]) -> dict[str, Any]:
    """Those that this dataclass has."""
    return {name: fields[name] for name in kind.__dataclass_fields__ if name in fields}


def tapped_ring(problem: Problem, algorithm: object, *, node: int = 1, **options: object) -> Simulation:
    """A ring with every link tapped, and a tap at one agent's door."""
    return simulated(
        problem, topology.ring(problem.agents), algorithm, adversaries=(Adversary("ears", "all", nodes=(node,)),),
        **options,
    )  # fmt: skip


def heard(
    algorithm: Algorithm, adversary: Adversary | None = None, graph: topology.Topology | None = None,
    problem: Problem | None = None, **options: Any,
) -> Run:  # fmt: skip
    """A run on a ring, if on no other graph; who listens hears all links, or has taps of its own."""
    problem = problem or synthetic_problem()
    ears = (adversary or Adversary(),)
    return simulated(problem, graph or topology.ring(problem.agents), algorithm, adversaries=ears, **options).run()


def refusal(make: Callable[..., object], *given: object, **named: object) -> ScenarioError:
    """The error of what is refused before time 0."""
    with pytest.raises(ScenarioError) as caught:
        make(*given, **named)
    return caught.value


def interrupted(code: str) -> str:
    """What a script prints that gets Ctrl-C once it has printed "ready"."""
    code = f"import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n{code}"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            return process.communicate(timeout=60)[0]
        finally:
            process.kill()


def coins(run: Run, agent: int) -> np.random.Generator:
    """An agent's private coins from their start."""
    return coins_of(Streams(run.simulation.seed), agent)
