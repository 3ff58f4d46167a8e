"""Results of a scenario before anything has run: header, manifest, problem, and algorithms not yet reached."""

import platform
import re
from collections.abc import Container
from dataclasses import replace
from importlib.metadata import version
from itertools import count
from typing import cast

import numpy as np

from netsim.problems import Problem
from scenarios.build.experiment import Experiment, Subject
from scenarios.results.base import Counts, Setting, taken
from scenarios.results.network import network
from scenarios.results.tree import Manifest, ProblemResult, Results
from scenarios.schema import Scenario, own_code

SLUG = 80
"""Letters of an algorithm's name in file names: file systems take 255 bytes."""
NOTES = (
    "A gradient of many records does not determine them: for the pictures each agent holds one image; for "
    "convergence and the audit all records are split among the agents.",
    "The prior's guess is the mean of the images that no agent holds, of the right class: the rebuilt image has "
    "to beat a guesser who is given the label.",
    "ε_exact and the games are for one adjacent pair: a worse pair may exist, so 'consistent' is no proof.",
    "NumPy's Laplace and Gaussian samplers are models for experiments, not deployable mechanisms.",
)
REBUILT_NOTE = (
    "Reconstructions are of a second run, in which each agent holds as many records as the scenario says. The prior, "
    "and the guess that skill is measured against, come from the records that nobody holds."
)


def versions() -> dict[str, str]:
    """Of Python and of the packages that the numbers depend on."""
    names = ("netsim-lab", "numpy", "scipy", "simpy", "networkx", "scikit-learn")
    return {"python": platform.python_version()} | {name: version(name) for name in names}


def blank(scenario: Scenario, command: str) -> Results:
    """Results of a scenario of which nothing is built."""
    return Results(
        name=scenario.name,
        title=scenario.title or scenario.name,
        description=scenario.description,
        command=command,
        versions=versions(),
        seed=scenario.seed,
        scenario=scenario,
    )


def header(experiment: Experiment, command: str) -> Results:
    """Everything but the algorithms' results."""
    data, attacks, optimum = experiment.dataset, experiment.scenario.attacks, experiment.problem.optimum()
    rebuilt = (REBUILT_NOTE,) if attacks.reconstruct else ()
    return replace(
        blank(experiment.scenario, command),
        notes=(NOTES[:2] if attacks.images else ()) + rebuilt + NOTES[2:],
        problem=taken(
            ProblemResult,
            data,
            kind=experiment.scenario.problem.kind,
            data=data.name,
            held_out=None if experiment.held_out is None else experiment.held_out.records,
            optimum_residual=optimum.residual,
            optimum_is_zero=bool(np.all(optimum.point == 0)),
            optimum_is_stationary_only=optimum.stationary_only,
            **problem_facts(experiment.problem),
        ),
        network=network(experiment),
    )


def manifest(results: Results, experiment: Experiment | None = None) -> Manifest:
    """The scenario with every default written out, versions and seed, and the parameters computed from it."""
    return Manifest(
        name=results.name,
        command=results.command,
        versions=results.versions,
        seed=results.seed,
        scenario=results.scenario,
        problem=results.problem,
        names=() if results.network is None else results.network.names,
        resolved=() if experiment is None else tuple(map(_resolved, experiment.subjects)),
    )


def _resolved(subject: Subject) -> dict[str, Setting]:
    algorithm = subject.simulation.algorithm
    named: dict[str, Setting] = {"name": subject.spec.name, "algorithm": type(algorithm).__name__}
    found = named | {name: _plain(value) for name, value in vars(algorithm).items()}
    code = own_code.code_of(algorithm)
    if code is not None:  # which code, of an algorithm that does not come with netsim
        found |= {"file": str(own_code.load(getattr(subject.spec, "path", "")).file), "sha256": code}
    return found


def _plain(value: object) -> Setting:
    """Numbers, texts and lists as they are; a schedule or a clip as its kind and its fields."""
    if isinstance(value, np.ndarray | np.generic):
        return cast("Setting", value.tolist())
    if isinstance(value, tuple | list):
        return [_plain(one) for one in cast("list[object]", value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(value).__name__).lower()
    return {"kind": kind} | {name: _plain(one) for name, one in vars(value).items()}


def problem_facts(problem: Problem) -> dict[str, float | Counts]:
    """Facts that are known without solving a problem, under the names of `ProblemResult`: other data give others."""
    return {
        "agents": problem.agents,
        "dimension": problem.dimension,
        "records_per_agent": tuple(int(getattr(f, "records", 0)) for f in problem.objectives),
        "smoothness": problem.smoothness,
        "strong_convexity": problem.strong_convexity,
    }


def slug(name: str, taken: Container[str]) -> str:
    """An algorithm's name as a part of file names, cut to `SLUG` letters: one that is not taken."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:SLUG].rstrip("-") or "algorithm"
    return next(one for k in count(1) if (one := plain if k == 1 else f"{plain}-{k}") not in taken)
