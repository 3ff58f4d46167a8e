"""Catalogue of all that netsim knows by name, and the least scenario that runs each algorithm."""

import importlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from netsim.errors import ScenarioError
from scenarios.schema.algorithms import AlgorithmModel
from scenarios.schema.own import AlgorithmSpec

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
    from scenarios.schema.algorithms import PureTarget

    fields = models()[kind].model_fields
    return "scale" in fields and "clip" in starter(kind) and PureTarget in get_args(fields["scale"].annotation)


def models() -> dict[str, Any]:
    """Every algorithm's model by the `kind` of a scenario, by name."""
    found = [(kind, model) for model in _member_models(AlgorithmSpec) for kind in _kinds(model)]
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


def _member_models(annotation: Any) -> Iterator[type[AlgorithmModel]]:
    """The models of a union, and of the unions in it."""
    if isinstance(annotation, type) and issubclass(annotation, AlgorithmModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _member_models(argument)


def _kinds(model: Any) -> tuple[str, ...]:
    return get_args(model.model_fields["kind"].annotation)


Rows = list[dict[str, Any]]
PROBLEMS = {
    "logistic": "mean of log(1 + exp(−b aᵀx)), two classes",
    "ridge": "mean of (aᵀx − b)²/2, with an ℓ2 penalty",
    "lasso": "mean of (aᵀx − b)²/2, with an ℓ1 term",
    "nonconvex_logistic": "logistic, with a bounded penalty that is not convex",
    "sensors": "sum of (aᵀx − b)² of sensors that measure one point",
    "softmax": "mean of −log p_b, p = softmax(Wa + w), two classes or more",
    "mlp": "the same of a dense network: not convex, no smoothness, no proximal map",
}


def scenarios() -> Rows:
    """The shipped ones, with whether their data are here (None where a variant names other data)."""
    from scenarios.files.library import shipped

    here = {one["name"]: one["present"] for one in data()}
    return [asdict(one) | {"data_present": here.get(one.data or "digits")} for one in shipped()]


def algorithms() -> Rows:
    """Every `kind` of a scenario: its class, update in a line, claim, and what of its parameters is at a default."""

    return [_algorithm(kind) for kind in models()]


def attacks() -> Rows:
    """On gradients, then on records (the kinds of `attacks.reconstruct`), then on membership and properties."""
    return [*_on_gradients(), *_on_records(), *_on_facts()]


def problems() -> Rows:
    """The kinds of `problem.kind`."""
    from netsim.problems.problem import Kind

    return [{"name": kind, "loss": PROBLEMS[kind]} for kind in get_args(Kind)]


def data() -> Rows:
    """The names of `problem.data.name`."""
    from scenarios.cli.data import sets

    return sets()


def topologies() -> Rows:
    """The kinds of `topology.kind`."""
    from scenarios.schema.topologies import TopologySpec

    return _members(TopologySpec)


def codecs() -> Rows:
    """The kinds of `messages.codec.kind`: what numbers on the wire are made of."""
    from scenarios.schema.network import MessageSpec

    return _members(MessageSpec.model_fields["codec"].annotation)


def faults() -> Rows:
    """The gallery of planted faults, for an auditor's exam (`netsim.algorithms.planted_faults`)."""
    from netsim.algorithms.planted_faults import FAULTS

    return [{"name": one.__name__, "what": _first(one.__doc__), "lesson": one.lesson} for one in FAULTS]


def ledger() -> Rows:
    """The entries of `netsim ledger`."""
    from scenarios.ledger import ENTRIES

    found = [(one.name, one.located.scenario) for one in ENTRIES]
    return [{"name": name, "title": s.title, "algorithms": [a.name for a in s.algorithms]} for name, s in found]


KINDS: dict[str, Callable[[], Rows]] = {
    one.__name__: one for one in (scenarios, algorithms, attacks, problems, data, topologies, codecs, faults, ledger)
}


# ── algorithms ──────────────────────────────────────────────────────────────────────────────────────────


def _algorithm(kind: str) -> dict[str, Any]:

    model = models()[kind]
    told: dict[str, Any] = {"name": kind, "kind": kind, "title": model.model_fields["name"].get_default()}
    told["parameters"] = [
        {"name": name, "required": field.is_required(), "default": _default(field)}
        for name, field in parameters(model)
    ]
    if "path" in model.model_fields:  # whatever is at the path
        return told | {"class": None, "module": None, "update": _first(model.__doc__), "claim": None, "attacks": []}
    from attacks.inference import inversions_of

    algorithm, claim = built(kind)
    module = importlib.import_module(type(algorithm).__module__)
    return told | {
        "class": type(algorithm).__name__,
        "module": type(algorithm).__module__,
        "update": _first(module.__doc__),
        "claim": None if claim is None else {"source": claim.source, "norm": claim.norm},
        "attacks": [one.__name__ for one in inversions_of(algorithm)],
    }


def algorithm_page(kind: str) -> str:
    """An algorithm for people: what its file says, its parameters, its claim. You get a `ScenarioError` for a kind
    that there is not."""
    from scenarios.files.library import library

    known = models()
    if kind not in known:
        from difflib import get_close_matches

        near = get_close_matches(kind, [*library(), *known], n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        allowed = f"{hint}a path, a scenario of `netsim list`, or an algorithm of `netsim list algorithms`"
        raise ScenarioError("name", kind, "no shipped scenario, no file, and no algorithm", allowed)
    told = _algorithm(kind)
    lines = [f"{told['title'] or kind} (kind: {kind})", ""]
    if told["module"] is not None:
        lines += [inspect.cleandoc(importlib.import_module(told["module"]).__doc__ or ""), ""]
    lines += ["In a scenario", "", *_indented(inspect.cleandoc(known[kind].__doc__ or "")), ""]
    width = max(len(one["name"]) for one in told["parameters"])
    for one in told["parameters"]:
        value = "required" if one["required"] else json.dumps(one["default"], ensure_ascii=False)
        lines.append(f"  {one['name']:<{width}}  {value}")
    claim, attacked = told["claim"], ", ".join(told["attacks"])
    lines += ["", f"Claim: {'none' if claim is None else claim['source'] + ' (' + claim['norm'] + ')'}"]
    lines += [f"Attacks on its gradients, in this order: {attacked}"] if attacked else []
    if told["class"] is not None:
        lines.append(f"Code: {told['module']}.{told['class']}")
        lines.append(f"Start with: netsim new mine --algorithm {kind}")
    return "\n".join(lines)


def _indented(text: str) -> Iterator[str]:
    return (f"  {line}" if line else "" for line in text.splitlines())


# ── attacks ─────────────────────────────────────────────────────────────────────────────────────────────


def _on_gradients() -> Iterator[dict[str, Any]]:
    """The probe and the own inversions, each with the algorithms for which it is tried."""
    from attacks.inference import inversions_of

    tried: dict[Any, list[str]] = {}
    for kind, model in models().items():
        if "path" not in model.model_fields:
            for one in inversions_of(built(kind)[0]):
                tried.setdefault(one, []).append(kind)
    for one, kinds in sorted(tried.items(), key=lambda pair: -len(pair[1])):
        everything = len(kinds) == max(map(len, tried.values()))
        needs = "messages that are affine in the gradients" if everything else f"one of {', '.join(kinds)}"
        module = _first(importlib.import_module(one.__module__).__doc__)
        yield {
            "name": one.__name__, "kind": None, "on": "gradients", "what": module, "needs": [needs],
            "source": "this project", "algorithms": kinds,
        }  # fmt: skip


def _on_records() -> Iterator[dict[str, Any]]:
    from scenarios.schema.attacks import KINDS as RECORDS

    for kind, made in RECORDS.items():
        attack = made()
        yield {
            "name": attack.name, "kind": kind, "on": "records",
            "what": _first(importlib.import_module(type(attack).__module__).__doc__),
            "needs": needs(attack.needs), "source": attack.source,
        }  # fmt: skip


def _on_facts() -> Iterator[dict[str, Any]]:
    """Attacks that decide, and rebuild nothing: by the words of a scenario."""
    from attacks.reconstruction.membership import Membership
    from attacks.reconstruction.property_inference import PropertyInference

    for kind, attack in (("membership", Membership()), ("property", PropertyInference({}))):
        yield {
            "name": attack.name, "kind": kind, "on": "facts",
            "what": _first(importlib.import_module(type(attack).__module__).__doc__),
            "needs": needs(attack.needs), "source": attack.source,
        }  # fmt: skip


def needs(asked: Any) -> list[str]:
    """What an attack needs, in words: of `attacks.reconstruction.Needs`."""
    said = [
        (bool(asked.models), f"a {' or '.join(asked.models)} model"),
        (asked.one_record, "one record an agent"),
        (asked.rounds > 1, f"{asked.rounds} gradients"),
        (asked.law, "the law of the noise"),
        (asked.labels, "public labels"),
        (asked.prior, "a prior from public records"),
        (asked.image, "images"),
        (asked.others, "all records but one"),
    ]
    return [words for there, words in said if there]


# ── models of the schema ────────────────────────────────────────────────────────────────────────────────


def _members(annotation: Any) -> Rows:
    """The kinds of a union of models, and what each is."""
    rows: Rows = []
    for model in _models(annotation):
        fields = [name for name in model.model_fields if name != "kind"]
        for kind in get_args(model.model_fields["kind"].annotation):
            rows.append({"name": kind, "what": _first(model.__doc__), "parameters": fields})
    return rows


def _models(annotation: Any) -> Iterator[Any]:
    if isinstance(annotation, type) and hasattr(annotation, "model_fields"):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _first(text: str | None) -> str:
    """The first sentence, in one line."""
    return " ".join((text or "").split("\n\n")[0].split()).partition(". ")[0].removesuffix(".")


def _default(field: Any) -> Any:
    """None where it has to be given."""
    value: Any = None if field.is_required() else field.get_default(call_default_factory=True)
    return value.model_dump() if hasattr(value, "model_dump") else value
