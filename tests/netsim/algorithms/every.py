"""One or more examples of every algorithm: with noise and without, on a graph, and as a scenario would say it."""

import inspect
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, get_args

from pydantic import TypeAdapter

import netsim.algorithms
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Algorithm
from netsim.claims import Adjacency
from netsim.problems import Problem, build, load
from netsim.simulation import Simulation
from scenarios.schema import AlgorithmSpec, Ground
from tests.worlds import READINGS, simulated

AGENTS, DIMENSION, DOOR = 6, 4, 1
GRAPHS = {"ring": topology.ring(AGENTS), "complete": topology.complete(AGENTS), "star": topology.star(AGENTS)}
ADJACENCY = Adjacency(0.3, "one record", curvature_change=0.1)
MODULO, LOSSY = "UniformModulo", "changes what is sent"
"""Why a probe refuses."""


@dataclass(frozen=True)
class Example:
    """What a scenario says: `fields` without noise (or with scale 0), `noise` what else says it.

    `exact`: without noise its "auto" steps take it to 1e-6 of the optimum if it goes on as long as `enough` says; if
    not, that is when it was looked at. `hidden`: not all that it releases is on the wire as it was released.
    `refused`: what an `AttackError` of the probe says of the noiseless run; "" where the probe inverts it.
    """

    fields: dict[str, Any]
    noise: dict[str, Any]
    enough: dict[str, Any]
    exact: bool = True
    graph: str = "ring"
    hidden: bool = False
    refused: str = ""

    def algorithm(self, noisy: bool = True, **changed: Any) -> Algorithm:
        """Built by its scenario model."""
        spec: Any = TypeAdapter(AlgorithmSpec).validate_python(self.fields | (self.noise if noisy else {}) | changed)
        return spec.build(Ground(problem(), GRAPHS[self.graph], ADJACENCY))

    def simulation(self, noisy: bool = True, **options: Any) -> Simulation:
        """Everything tapped, and a tap at one door."""
        algorithm = options.pop("algorithm", None) or self.algorithm(noisy)
        ears = Adversary("ears", "all", nodes=(DOOR,))
        here = options.pop("problem", None) or problem()
        return simulated(here, GRAPHS[self.graph], algorithm, adversaries=(ears,), **options)


@cache
def problem() -> Problem:
    """Ridge regression of six agents with eight records each."""
    data = load("synthetic", kind="regression", records=8 * AGENTS, dimension=DIMENSION, seed=3)
    return build("ridge", data.split(AGENTS), ridge=0.5)


FALLING = {"kind": "geometric", "first": 0.3, "ratio": 0.97}
ONE, PAIR = {"scale": FALLING}, {"scale_x": FALLING, "scale_y": FALLING}
DEVIATION = {"stddev": 0.3}
ROUNDS, WALK = {"rounds": 8}, {"activations": 60}
DECAYING, DECAYS = {**ROUNDS, "scale_x": 0, "scale_y": 0, "ratio": 0.95}, {"scale_x": 0.3, "scale_y": 0.2}
COMPRESSED = DECAYING | {"gamma": 0.3, "compressor": {"kind": "quantizer", "bits": 4}}


def rounds(number: int) -> dict[str, int]:
    """So many are enough."""
    return {"rounds": number}


def activations(number: int) -> dict[str, int]:
    """So many are enough."""
    return {"activations": number}


def dp_recal(reading: str) -> Example:
    """In one of its readings."""
    silent = {"per_agent": 12, "reading": reading, "noise": {"stddev": 0}}
    noise = {"noise": {"stddev": 0.2}, "ratio": 1.1}
    return Example(silent, noise, {"per_agent": 800})


_descent, _everybody = "private_gradient_descent", {"activation": "everybody", "per_agent": 8}
SAID: dict[str, Example] = {
    _descent: Example(ROUNDS, ONE, rounds(250), exact=False),
    f"{_descent}, state: released": Example(ROUNDS | {"state": "released"}, ONE, rounds(250), exact=False),
    f"{_descent}, with a batch": Example(ROUNDS | {"batch": 3}, ONE, rounds(250), exact=False),
    "dmsp": Example(ROUNDS | {"domain": {"kind": "ball", "radius": 1e3}}, ONE, rounds(250), exact=False),
    "extra": Example(ROUNDS, ONE, rounds(250)), "pg_extra": Example(ROUNDS, ONE, rounds(250)),
    "nids": Example(ROUNDS, ONE, rounds(250)), "exact_diffusion": Example(ROUNDS, ONE, rounds(250)),
    "gradient_tracking": Example(ROUNDS, PAIR, rounds(350)),
    "gradient_tracking, variant: atc": Example(ROUNDS | {"variant": "atc"}, PAIR, rounds(350)),
    "diadsp": Example(DECAYING, DECAYS, rounds(350)), "cpgt": Example(DECAYING, DECAYS, rounds(350)),
    "cpgt, with a quantizer": Example(COMPRESSED, DECAYS, rounds(600), hidden=True, refused=LOSSY),
    "ppdc": Example(ROUNDS, {"scale_x": FALLING, "scale_v": FALLING}, rounds(250), hidden=True),
    "dpp2": Example(ROUNDS, {"scale_w": FALLING, "scale_e": FALLING}, rounds(350)),
    "muffliato": Example(ROUNDS, DEVIATION, rounds(50), exact=False),
    "muffliato, with momentum": Example(ROUNDS | {"momentum": 0.5}, DEVIATION, rounds(50), exact=False),
    "muffliato_descent": Example(ROUNDS | {"step": "auto"}, DEVIATION, rounds(250), exact=False),
    "laplacian_consensus": Example(ROUNDS | {"fed": 0.8}, ONE, rounds(50), exact=False),
    "state_decomposition": Example(ROUNDS | {"step": "auto"}, DEVIATION, rounds(50), exact=False),
    "zero_sum_noise": Example(ROUNDS, DEVIATION, rounds(50), exact=False),
    "edge_perturbation": Example(ROUNDS, DEVIATION, rounds(50), exact=False),
    "subspace_perturbation": Example(ROUNDS, DEVIATION, rounds(50), exact=False),
    "ic_admm": Example(ROUNDS, ONE, rounds(250)), "d_admm": Example(ROUNDS, ONE, rounds(250)),
    "d_admm, perturbation: dual": Example(ROUNDS | {"perturbation": "dual"}, ONE, rounds(250)),
    "d_admm, perturbation: penalty": Example(ROUNDS | {"perturbation": "penalty", "growth": 1.01}, ONE, rounds(250)),
    "dp_admm": Example(ROUNDS, ONE, rounds(250), graph="star"), "r_admm": Example(ROUNDS, ONE, rounds(250)),
    "mr_admm": Example(ROUNDS, ONE, rounds(250)), "rw_admm": Example(WALK, ONE, activations(1500)),
    "rw_admm, activation: everybody": Example(_everybody, ONE, {"per_agent": 250}),
    "walkman": Example(WALK, ONE, activations(4500)),
    "walkman, version: prox": Example(WALK | {"version": "prox"}, ONE, activations(4500)),
    "recal": Example(WALK, {}, activations(4500)),
    **{f"dp_recal, reading: {reading}": dp_recal(reading) for reading in READINGS},
    "random_penalty_admm": Example(ROUNDS | {"scale": 0}, ONE, rounds(250)),
    "grouped_descent": Example({"rounds": 3}, ONE, rounds(3), exact=False, graph="complete"),
    "decor": Example(ROUNDS, {"stddev": 0.3, "correlated": 0.6}, rounds(250), exact=False),
    "zip_dl": Example(ROUNDS, {"stddev": 0.3}, rounds(250), exact=False),
    "neighbor_range": Example(ROUNDS, ONE, rounds(250), exact=False),
    "secret_sharing": Example(ROUNDS, {"stddev": FALLING}, rounds(250), False, "complete", True, MODULO),
}  # fmt: skip
EXAMPLES = {
    name: replace(example, fields={"kind": name.partition(",")[0], **example.fields})
    for name, example in SAID.items()
}
"""By the `kind` in a scenario, and after a comma what is chosen of it."""


def exported() -> set[type[Algorithm]]:
    """Every algorithm that `netsim.algorithms` exports."""
    found = (getattr(netsim.algorithms, name) for name in netsim.algorithms.__all__)
    return {
        one for one in found if inspect.isclass(one) and issubclass(one, Algorithm) and not inspect.isabstract(one)
    }


def kinds() -> set[str]:
    """Every `kind` of algorithm that a scenario may name."""
    return {get_args(model.model_fields["kind"].annotation)[0] for model in _models(AlgorithmSpec)}


def _models(annotation: Any) -> list[Any]:
    if hasattr(annotation, "model_fields"):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]
