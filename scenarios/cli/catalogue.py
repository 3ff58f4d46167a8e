"""Everything that netsim knows by name, and the smallest scenario that runs each algorithm."""

import importlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic import BaseModel, TypeAdapter

from netsim.errors import ScenarioError
from scenarios.schema.own import AlgorithmSpec

if TYPE_CHECKING:
    from netsim.algorithms import Algorithm
    from netsim.claims import Claim

_RELEASES = 20
_VALUES: Mapping[str, object] = {
    "rounds": 40,
    "per_agent": _RELEASES,
    "ratio": 0.95,
    "clip": {"bound": 1.0},
    "domain": {"kind": "ball", "radius": 10.0},
    "low": 0.0,
    "high": 1.0,
}
"""Values in a starter for fields that have to be given, or without which a walk does not end."""
NOISE = ("scale", "scale_x", "scale_y", "scale_w", "scale_e", "scale_v", "stddev")
"""Fields for the amount of noise; default: 0."""
PROBLEMS = {
    "logistic": "mean of log(1 + exp(−b aᵀx)), two classes",
    "ridge": "mean of (aᵀx − b)²/2, with an ℓ2 penalty",
    "lasso": "mean of (aᵀx − b)²/2, with an ℓ1 term",
    "nonconvex_logistic": "logistic, with a bounded penalty that is not convex",
    "sensors": "sum of (aᵀx − b)² of sensors that measure one point",
    "softmax": "mean of −log p_b, p = softmax(Wa + w), two classes or more",
    "mlp": "the same of a dense network: not convex, no smoothness, no proximal map",
}


def models() -> dict[str, type[BaseModel]]:
    """Every algorithm's model by the `kind` of a scenario, by name."""
    return dict(sorted(_kinds(AlgorithmSpec), key=lambda pair: pair[0]))


def starter(kind: str) -> dict[str, object]:
    """The fields of a scenario that runs such an algorithm, with noise where it takes some."""
    fields = models()[kind].model_fields
    found: dict[str, object] = {"kind": kind}
    for name, one in fields.items():
        if name != "kind" and name in _VALUES and (one.is_required() or name in ("per_agent", "clip")):
            found[name] = _VALUES[name]
        elif name != "kind" and one.is_required() and get_origin(one.annotation) is Literal:
            found[name] = get_args(one.annotation)[0]
    if "target" in fields:
        found["target"] = {"epsilon": 4.0}
        return found
    return found | {name: 1.0 for name in NOISE if name in fields and not fields[name].get_default()}


def built(kind: str) -> "tuple[Algorithm, Claim | None]":
    """Such an algorithm as its starter makes it, on a small complete graph; and its claim, if any."""
    from netsim.claims import Adjacency
    from netsim.problems import build, load
    from netsim.topology import complete
    from scenarios.schema.algorithms import Ground

    data = load("synthetic", records=12, dimension=2, norm_bound=1.0)
    adjacency = Adjacency(1.0, "a gradient that moves by a constant vector", 0.0, constant=True)
    ground = Ground(build("logistic", data.split(4), ridge=0.5), complete(4), adjacency)
    adapter: TypeAdapter[Any] = TypeAdapter(AlgorithmSpec)
    spec = adapter.validate_python({name: value for name, value in starter(kind).items() if name != "target"})
    algorithm = spec.build(ground)
    releases = algorithm.horizon or _RELEASES
    return algorithm, algorithm.claim(adjacency, ground.setting(releases), spec.delta or 0.0)


# ── rows of lists ───────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class _Row:
    """A line of a list: its fields for machines, its cells for people, and the heading that it stands under."""

    plain: dict[str, object]
    cells: tuple[str, ...] = ()
    group: str = field(default="")


def _scenarios() -> Iterator[_Row]:
    """The shipped ones, and whether their data are here (None where a variant names other data)."""
    from scenarios.cli.data import sets
    from scenarios.files.library import shipped

    here = {one.name: one.present for one in sets()}
    return (_Row({**asdict(one), "data_present": here.get(one.data or "digits")}) for one in shipped())


def _data() -> Iterator[_Row]:
    from scenarios.cli.data import sets
    from scenarios.results.serialize import plain

    return (_Row(plain(one)) for one in sets())


def _algorithms() -> Iterator[_Row]:
    """Every `kind` of a scenario; class and module are null for code of one's own."""
    for kind, model in models().items():
        parameters = [dict(zip(("name", "required", "default"), one, strict=True)) for one in _parameters(model)]
        found: dict[str, object] = {"name": kind, "kind": kind, "title": model.model_fields["name"].get_default()}
        found |= {"parameters": parameters, "class": None, "module": None, "update": _first(model.__doc__)}
        found |= {"claim": None, "attacks": []}
        source = "none"
        if "path" not in model.model_fields:
            algorithm, claim = built(kind)
            found |= {"class": type(algorithm).__name__, "module": type(algorithm).__module__}
            found |= {"update": _module_sentence(type(algorithm)), "attacks": _inversions(algorithm)}
            if claim is not None:
                source, found["claim"] = claim.source, {"source": claim.source, "norm": claim.norm}
        yield _Row(found, (kind, str(found["update"]), source))


def _attacks() -> Iterator[_Row]:
    """On gradients, by inversions; then on records (the kinds of `attacks.reconstruct`) and on facts (membership and
    properties), by their words in a scenario."""
    from attacks.inference import inversions_of
    from attacks.reconstruction.membership import Membership
    from attacks.reconstruction.property_inference import PropertyInference
    from scenarios.schema.attacks import KINDS as RECORDS

    def row(on: str, name: str, kind: str | None, what: str, needs: list[str], source: str, tried: object) -> _Row:
        fields: dict[str, object] = {"name": name, "kind": kind, "on": on, "what": what, "needs": needs}
        cells = (kind or name, ", ".join(needs) or "nothing else", source)
        return _Row(fields | {"source": source, "algorithms": tried}, cells, f"On {on}")

    tried: dict[Callable[..., object], list[str]] = {}
    for kind, model in models().items():
        if "path" not in model.model_fields:
            for inversion in inversions_of(built(kind)[0]):
                tried.setdefault(inversion, []).append(kind)
    most = max(map(len, tried.values()))
    for inversion, kinds in sorted(tried.items(), key=lambda pair: -len(pair[1])):
        needs = "messages that are affine in the gradients" if len(kinds) == most else f"one of {', '.join(kinds)}"
        yield row("gradients", inversion.__name__, None, _module_sentence(inversion), [needs], "this project", kinds)
    facts = {"membership": Membership(), "property": PropertyInference({})}
    for kind, one in ({kind: made() for kind, made in RECORDS.items()} | facts).items():
        words = {
            f"a {' or '.join(one.needs.models)} model": one.needs.models,
            "one record an agent": one.needs.one_record,
            f"{one.needs.rounds} gradients": one.needs.rounds > 1,
            "the law of the noise": one.needs.law,
            "public labels": one.needs.labels,
            "a prior from public records": one.needs.prior,
            "images": one.needs.image,
            "all records but one": one.needs.others,
        }
        needed = [text for text, there in words.items() if there]
        on = "records" if kind in RECORDS else "facts"
        yield row(on, one.name, kind, _module_sentence(type(one)), needed, one.source, None)


def _problems() -> Iterator[_Row]:
    from netsim.problems.problem import Kind

    return (_Row({"name": kind, "loss": PROBLEMS[kind]}, (kind, PROBLEMS[kind])) for kind in get_args(Kind))


def _members(annotation: Any) -> Iterator[_Row]:
    """The kinds of a union of models, and what each is."""
    for kind, model in _kinds(annotation):
        what, parameters = _first(model.__doc__), [name for name in model.model_fields if name != "kind"]
        yield _Row({"name": kind, "what": what, "parameters": parameters}, (kind, what))


def _topologies() -> Iterator[_Row]:
    from scenarios.schema.network import TopologySpec

    return _members(TopologySpec)


def _codecs() -> Iterator[_Row]:
    from scenarios.schema.network import MessageSpec

    return _members(MessageSpec.model_fields["codec"].annotation)


def _faults() -> Iterator[_Row]:
    """The gallery of planted faults, for an auditor's exam."""
    from netsim.algorithms.planted_faults import FAULTS

    for one in FAULTS:
        fields: dict[str, object] = {"name": one.__name__, "what": _first(one.__doc__), "lesson": one.lesson}
        yield _Row(fields, (one.__name__, one.lesson))


def _ledger() -> Iterator[_Row]:
    from scenarios.ledger import ENTRIES

    for one in ENTRIES:
        scenario = one.located.scenario
        names = [algorithm.name for algorithm in scenario.algorithms]
        fields: dict[str, object] = {"name": one.name, "title": scenario.title, "algorithms": names}
        yield _Row(fields, (one.name, "; ".join(names)))


LISTS: dict[str, tuple[Callable[[], Iterator[_Row]], tuple[str, ...]]] = {
    "scenarios": (_scenarios, ()),
    "algorithms": (_algorithms, ("kind", "description", "claim")),
    "attacks": (_attacks, ("attack", "needs", "source")),
    "problems": (_problems, ("kind", "loss of an agent")),
    "data": (_data, ()),
    "topologies": (_topologies, ("kind", "description")),
    "codecs": (_codecs, ("kind", "description")),
    "faults": (_faults, ("fault", "lesson")),
    "ledger": (_ledger, ("entry", "algorithms")),
}
"""The rows of each list, and the heads of its columns; scenarios and data sets are printed in forms of their own."""


# ── one algorithm ───────────────────────────────────────────────────────────────────────────────────────
def algorithm_page(kind: str) -> str:
    """An algorithm for people: the docstring of its file, its parameters, its claim. You get a `ScenarioError` for an
    unknown kind."""
    from scenarios.files.library import library

    known = models()
    if kind not in known:
        from difflib import get_close_matches

        near = get_close_matches(kind, [*library(), *known], n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        allowed = f"{hint}a path, a scenario of `netsim list`, or an algorithm of `netsim list algorithms`"
        raise ScenarioError("name", kind, "no shipped scenario, no file, and no algorithm", allowed)
    model = known[kind]
    algorithm, claim = (None, None) if "path" in model.model_fields else built(kind)
    lines = [f"{model.model_fields['name'].get_default() or kind} (kind: {kind})", ""]
    if algorithm is not None:
        lines += [inspect.cleandoc(importlib.import_module(type(algorithm).__module__).__doc__ or ""), ""]
    about = inspect.cleandoc(model.__doc__ or "").splitlines()
    lines += ["In a scenario", "", *(f"  {line}" if line else "" for line in about), ""]
    parameters = list(_parameters(model))
    width = max(len(name) for name, _, _ in parameters)
    for name, required, default in parameters:
        lines.append(f"  {name:<{width}}  {'required' if required else json.dumps(default, ensure_ascii=False)}")
    lines += ["", f"Claim: {'none' if claim is None else f'{claim.source} ({claim.norm})'}"]
    if algorithm is not None:
        names = _inversions(algorithm)
        lines += [f"Attacks on its gradients, in this order: {', '.join(names)}"] if names else []
        lines.append(f"Code: {type(algorithm).__module__}.{type(algorithm).__name__}")
        lines.append(f"Start with: netsim new mine --algorithm {kind}")
    return "\n".join(lines)


def _inversions(algorithm: "Algorithm") -> list[str]:
    """Inversions that are tried on it, in this order."""
    from attacks.inference import inversions_of

    return [one.__name__ for one in inversions_of(algorithm)]


def _parameters(model: type[BaseModel]) -> Iterator[tuple[str, bool, Any]]:
    """Name, whether it has to be given, and default (else None) of every field but kind and name."""
    for name, one in model.model_fields.items():
        if name not in ("kind", "name"):
            value: Any = None if one.is_required() else one.get_default(call_default_factory=True)
            yield name, one.is_required(), value.model_dump() if isinstance(value, BaseModel) else value


def _kinds(annotation: Any) -> Iterator[tuple[str, type[BaseModel]]]:
    """The models of a union, each by the words of its `kind`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from ((kind, annotation) for kind in get_args(annotation.model_fields["kind"].annotation))
    for argument in get_args(annotation):
        yield from _kinds(argument)


def _module_sentence(made: Any) -> str:
    """The first sentence of the module in which a class or a function is."""
    return _first(importlib.import_module(made.__module__).__doc__)


def _first(text: str | None) -> str:
    """The first sentence, in one line."""
    return " ".join((text or "").split("\n\n")[0].split()).partition(". ")[0].removesuffix(".")
