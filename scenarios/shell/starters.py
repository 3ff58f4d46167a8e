"""The least that a scenario has to say of an algorithm so that it runs: from its model, with values by field."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from scenarios.schema.algorithms import AlgorithmModel, AlgorithmSpec

VALUES: Mapping[str, Any] = {
    "rounds": 40,
    "per_agent": 20,
    "ratio": 0.95,
    "clip": {"bound": 1.0},
    "domain": {"kind": "ball", "radius": 10.0},
    "low": 0.0,
    "high": 1.0,
}
"""What a starter says of a field that has to be given, or without which a walk does not end."""
NOISE = ("scale", "scale_x", "scale_y", "scale_w", "scale_e", "scale_v", "stddev")
"""Fields that say how much noise there is, 0 where nobody says."""
TARGET = {"epsilon": 4.0}
CLAIMED = {"epsilon": 2.0}
"""Where a scale can be given by what it is to claim: so much, which an audit of some hundred transcripts can test."""


def takes_a_claim(kind: str) -> bool:
    """Whether an algorithm's scale may be said as the ε that it is to claim, and its starter clips."""
    from scenarios.schema.algorithms.base import PureTarget

    fields = models()[kind].model_fields
    return "scale" in fields and "clip" in starter(kind) and PureTarget in get_args(fields["scale"].annotation)


def models() -> dict[str, type[AlgorithmModel]]:
    """Every algorithm's model by the `kind` of a scenario, by name."""
    found = [(kind, model) for model in _members(AlgorithmSpec) for kind in _kinds(model)]
    return dict(sorted(found, key=lambda pair: pair[0]))


def starter(kind: str) -> dict[str, Any]:
    """What a scenario says of such an algorithm to run it, with noise where it takes some."""
    model = models()[kind]
    fields = model.model_fields
    said: dict[str, Any] = {"kind": kind}
    for name, field in fields.items():
        if name != "kind" and name in VALUES and (field.is_required() or name in ("per_agent", "clip")):
            said[name] = VALUES[name]
        elif name != "kind" and field.is_required() and get_origin(field.annotation) is Literal:
            said[name] = get_args(field.annotation)[0]
    silent = [name for name in NOISE if name in fields and not fields[name].get_default()]
    if "target" in fields:
        said["target"] = dict(TARGET)
    elif silent:
        said |= dict.fromkeys(silent, 1.0)
    return said


def built(kind: str) -> Any:
    """Such an algorithm as its starter makes it, on a small complete graph; and what is claimed of it, or None."""
    from netsim.claims import Adjacency
    from netsim.problems import build, load
    from netsim.topology import complete
    from scenarios.schema.algorithms import Ground

    data = load("synthetic", records=12, dimension=2, norm_bound=1.0)
    adjacency = Adjacency(1.0, "a gradient that moves by a constant vector", 0.0, constant=True)
    ground = Ground(build("logistic", data.split(4), ridge=0.5), complete(4), adjacency)
    said = {name: value for name, value in starter(kind).items() if name != "target"}
    spec: Any = TypeAdapter(AlgorithmSpec).validate_python(said)
    algorithm = spec.build(ground)
    releases = algorithm.horizon or VALUES["per_agent"]
    return algorithm, algorithm.claim(adjacency, ground.setting(releases), spec.delta or 0.0)


def parameters(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """The fields of a model but its kind and name."""
    return ((name, field) for name, field in model.model_fields.items() if name not in ("kind", "name"))


def _members(annotation: Any) -> Iterator[type[AlgorithmModel]]:
    """The models of a union, and of the unions in it."""
    if isinstance(annotation, type) and issubclass(annotation, AlgorithmModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _members(argument)


def _kinds(model: type[BaseModel]) -> tuple[str, ...]:
    return get_args(model.model_fields["kind"].annotation)
