"""Part of a witness file that the checker reads alone (`attacks.audit.check_witness`, of a set `check_set`): the
agent's data, PRIVATE, and public facts.

As plain numbers, to the last bit; whoever gets it has the agent's records.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

import numpy as np

from attacks.audit import witness_values as plain
from netsim.arrays import Array
from netsim.claims import Adjacency
from netsim.codecs import Codec, Float64
from netsim.models.model import L1, ElasticNet, Regularizer, Zero
from netsim.problems import LeastSquares, LogisticLoss, NonconvexLogistic, Objective
from netsim.simulation import Simulation


class _Missing(Exception):  # noqa: N818
    """Something of which the checker has no ball arithmetic."""


def proof_of(simulation: Simulation, agent: int, adjacency: Adjacency, delta: float) -> Mapping[str, plain.Json]:
    """What a witness needs to be checked alone (`attacks.audit.check_witness`), as plain numbers: the agent's data,
    PRIVATE, and everything public; the graph, where nothing is claimed without. {"missing": why} where the checker
    could not read it."""
    public, setting, topology = simulation.public(), simulation.setting(0), simulation.topology
    alone = simulation.algorithm.claim(adjacency, replace(simulation.setting(1), topology=None), delta)
    claimed = simulation.claim(adjacency, 1, delta)
    degrees = (
        claimed is not None and not claimed.failed_conditions and (alone is None or bool(alone.failed_conditions))
    )
    try:
        l1, square = _weights(public.regularizer)
        return {
            "algorithm": _parameters(simulation.algorithm),
            "codec": _codec(public.codec),
            "neighbors": list(topology.neighbors(agent)),
            **({"graph": [list(topology.neighbors(i)) for i in range(topology.agents)]} if degrees else {}),
            "weights": _numbers(public.weights[agent]),
            "regularizer": [l1, square],
            "objective": _objective(simulation.problem.objectives[agent]),
            "setting": _parameters(replace(setting, topology=None)),
        }
    except _Missing as error:
        return {"missing": str(error)}


def _numbers(values: Array) -> list[plain.Json]:
    """Lists of numbers, to the last bit."""
    return cast("list[plain.Json]", values.tolist())


def _parameters(value: object) -> plain.Json:
    """Parameters of an algorithm: {"class": MODULE:NAME, and the fields} of every dataclass."""
    if is_dataclass(value) and not isinstance(value, type):
        kind = cast("Any", type(cast("Any", value)))
        own = {one.name: _parameters(getattr(value, one.name)) for one in fields(value) if one.init}
        return {"class": f"{kind.__module__}:{kind.__qualname__}", **own}
    if isinstance(value, tuple | list):
        return [_parameters(one) for one in cast("tuple[object, ...]", value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise _Missing(f"a parameter of the algorithm that is no number and no dataclass: {type(value).__name__}")


def _codec(codec: Codec) -> plain.Json:
    return None if isinstance(codec, Float64) else _parameters(codec)


def _weights(regularizer: Regularizer) -> tuple[float, float]:
    """The weights of ‖x‖₁ and of ‖x‖²."""
    match regularizer:
        case Zero():
            return 0.0, 0.0
        case L1(weight):
            return weight, 0.0
        case ElasticNet(l1, square):
            return l1, square
        case _:
            raise _Missing(f"the proximal map of {type(regularizer).__name__} has no ball arithmetic")


def _objective(own: Objective) -> plain.Json:
    """The agent's objective, PRIVATE: its records and parameters."""
    if not isinstance(own, LeastSquares | LogisticLoss | NonconvexLogistic):
        raise _Missing(f"the gradient of {type(own).__name__} has no ball arithmetic")
    found: dict[str, plain.Json] = {
        "features": _numbers(own.features),
        "answers": _numbers(np.asarray(getattr(own, own.answers))),
        "ridge": own.ridge,
        "weight": own.weight if isinstance(own, NonconvexLogistic) else 0.0,
        "shape": own.shape if isinstance(own, NonconvexLogistic) else 1.0,
    }
    if isinstance(own, LeastSquares):
        mass = own.records if own.divisor is None else own.divisor / 2
        return {"loss": "least squares", "mass": float(mass), **found}
    return {"loss": "logistic", "mass": own.records / own.scale, **found}
