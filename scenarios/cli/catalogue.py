"""Everything that netsim knows by name, and the smallest scenario that runs each algorithm."""

import importlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, Field, TypeAdapter
from pydantic.fields import FieldInfo

from netsim.errors import ScenarioError
from scenarios.results.base import Setting, result
from scenarios.schema.own import AlgorithmSpec

if TYPE_CHECKING:
    from attacks.reconstruction.attack import Needs
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
_TARGET = {"epsilon": 4.0}
CLAIMED = {"epsilon": 2.0}
"""The claim of a starter whose scale can be given by it; an audit of some hundred transcripts can test it."""


def takes_a_claim(kind: str) -> bool:
    """Whether an algorithm's scale may be given as the ε that it is to claim, and its starter clips."""
    from scenarios.schema.algorithms import PureTarget

    fields = models()[kind].model_fields
    return "scale" in fields and "clip" in starter(kind) and PureTarget in get_args(fields["scale"].annotation)


def models() -> dict[str, type[BaseModel]]:
    """Every algorithm's model by the `kind` of a scenario, by name."""
    found = [(kind, model) for model in _models(AlgorithmSpec) for kind in _kinds(model)]
    return dict(sorted(found, key=lambda pair: pair[0]))


def starter(kind: str) -> dict[str, object]:
    """The fields of a scenario that runs such an algorithm, with noise where it takes some."""
    model = models()[kind]
    fields = model.model_fields
    found: dict[str, object] = {"kind": kind}
    for name, field in fields.items():
        if name != "kind" and name in _VALUES and (field.is_required() or name in ("per_agent", "clip")):
            found[name] = _VALUES[name]
        elif name != "kind" and field.is_required() and get_origin(field.annotation) is Literal:
            found[name] = get_args(field.annotation)[0]
    silent = [name for name in NOISE if name in fields and not fields[name].get_default()]
    if "target" in fields:
        found["target"] = dict(_TARGET)
    elif silent:
        found |= dict.fromkeys(silent, 1.0)
    return found


def built(kind: str) -> "tuple[Algorithm, Claim | None]":
    """Such an algorithm as its starter makes it, on a small complete graph; and its claim, if any."""
    from netsim.claims import Adjacency
    from netsim.problems import build, load
    from netsim.topology import complete
    from scenarios.schema.algorithms import Ground

    data = load("synthetic", records=12, dimension=2, norm_bound=1.0)
    adjacency = Adjacency(1.0, "a gradient that moves by a constant vector", 0.0, constant=True)
    ground = Ground(build("logistic", data.split(4), ridge=0.5), complete(4), adjacency)
    fields = {name: value for name, value in starter(kind).items() if name != "target"}
    adapter: TypeAdapter[Any] = TypeAdapter(AlgorithmSpec)
    spec = adapter.validate_python(fields)
    algorithm = spec.build(ground)
    releases = algorithm.horizon or _RELEASES
    return algorithm, algorithm.claim(adjacency, ground.setting(releases), spec.delta or 0.0)


def _parameters(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """The fields of a model but its kind and name."""
    return ((name, field) for name, field in model.model_fields.items() if name not in ("kind", "name"))


def _kinds(model: type[BaseModel]) -> tuple[str, ...]:
    return get_args(model.model_fields["kind"].annotation)


# ── rows of lists ───────────────────────────────────────────────────────────────────────────────────────
@result
class Parameter:
    """A parameter of an algorithm."""

    name: str
    required: bool
    default: Setting
    """Null where it is required."""


@result
class ClaimForm:
    """The source of an algorithm's claim, and its norm."""

    source: str
    norm: str


@result
class AlgorithmRow:
    """A kind of algorithm; class and module are null for code of one's own."""

    name: str
    kind: str
    title: str | None
    parameters: tuple[Parameter, ...]
    class_: Annotated[str | None, Field(alias="class")] = None
    module: str | None = None
    update: str
    claim: ClaimForm | None = None
    attacks: tuple[str, ...] = ()

    @property
    def cells(self) -> tuple[str, ...]:
        """Kind, update and claim."""
        return self.kind, self.update, "none" if self.claim is None else self.claim.source


@result
class AttackRow:
    """An attack on gradients, on records, or on facts (membership and properties)."""

    name: str
    kind: str | None
    """Its word in a scenario; null of an inversion."""
    on: Literal["gradients", "records", "facts"]
    what: str
    needs: tuple[str, ...]
    source: str
    algorithms: tuple[str, ...] | None = None
    """Kinds for which an inversion is tried."""

    @property
    def cells(self) -> tuple[str, ...]:
        """Name, needs and source."""
        return self.kind or self.name, ", ".join(self.needs) or "nothing else", self.source


@result
class ProblemRow:
    """A kind of problem."""

    name: str
    loss: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Name and loss."""
        return self.name, self.loss


@result
class KindRow:
    """A kind of a field that has several."""

    name: str
    what: str
    parameters: tuple[str, ...]

    @property
    def cells(self) -> tuple[str, ...]:
        """Name and description."""
        return self.name, self.what


@result
class FaultRow:
    """A planted fault."""

    name: str
    what: str
    lesson: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Name and lesson."""
        return self.name, self.lesson


@result
class LedgerRow:
    """An entry of the ledger."""

    name: str
    title: str
    algorithms: tuple[str, ...]

    @property
    def cells(self) -> tuple[str, ...]:
        """Name and algorithms."""
        return self.name, "; ".join(self.algorithms)


Row = AlgorithmRow | AttackRow | ProblemRow | KindRow | FaultRow | LedgerRow
PROBLEMS = {
    "logistic": "mean of log(1 + exp(−b aᵀx)), two classes",
    "ridge": "mean of (aᵀx − b)²/2, with an ℓ2 penalty",
    "lasso": "mean of (aᵀx − b)²/2, with an ℓ1 term",
    "nonconvex_logistic": "logistic, with a bounded penalty that is not convex",
    "sensors": "sum of (aᵀx − b)² of sensors that measure one point",
    "softmax": "mean of −log p_b, p = softmax(Wa + w), two classes or more",
    "mlp": "the same of a dense network: not convex, no smoothness, no proximal map",
}


def scenarios() -> list[dict[str, object]]:
    """The shipped scenarios, and whether their data are here (None where a variant names other data)."""
    from scenarios.cli.data import sets
    from scenarios.files.library import shipped

    here = {one.name: one.present for one in sets()}
    return [{**asdict(one), "data_present": here.get(one.data or "digits")} for one in shipped()]


def algorithms() -> list[AlgorithmRow]:
    """Every `kind` of a scenario: its class, update, claim, and defaults of parameters."""
    return [_algorithm(kind) for kind in models()]


def attacks() -> list[AttackRow]:
    """On gradients, then on records (the kinds of `attacks.reconstruct`), then on membership and properties."""
    from attacks.reconstruction.membership import Membership
    from attacks.reconstruction.property_inference import PropertyInference
    from scenarios.schema.attacks import KINDS as RECORDS

    facts = {"membership": Membership(), "property": PropertyInference({})}
    records = {kind: made() for kind, made in RECORDS.items()}
    rows = [*_on_gradients()]
    for kind, one in (records | facts).items():
        what, needs = _module_sentence(one), tuple(_needs(one.needs))
        on: Literal["records", "facts"] = "records" if kind in records else "facts"
        rows.append(AttackRow(name=one.name, kind=kind, on=on, what=what, needs=needs, source=one.source))
    return rows


def problems() -> list[ProblemRow]:
    """The kinds of `problem.kind`."""
    from netsim.problems.problem import Kind

    return [ProblemRow(name=kind, loss=PROBLEMS[kind]) for kind in get_args(Kind)]


def topologies() -> list[KindRow]:
    """The kinds of `topology.kind`."""
    from scenarios.schema.topologies import TopologySpec

    return _members(TopologySpec)


def codecs() -> list[KindRow]:
    """The kinds of `messages.codec.kind`: encodings of numbers on the wire."""
    from scenarios.schema.network import MessageSpec

    return _members(MessageSpec.model_fields["codec"].annotation)


def faults() -> list[FaultRow]:
    """The gallery of planted faults, for an auditor's exam (`netsim.algorithms.planted_faults`)."""
    from netsim.algorithms.planted_faults import FAULTS

    return [FaultRow(name=one.__name__, what=_first(one.__doc__), lesson=one.lesson) for one in FAULTS]


def ledger() -> list[LedgerRow]:
    """The entries of `netsim ledger`."""
    from scenarios.ledger import ENTRIES

    found = [(one.name, one.located.scenario) for one in ENTRIES]
    return [LedgerRow(name=n, title=s.title, algorithms=tuple(a.name for a in s.algorithms)) for n, s in found]


TABLES: dict[str, Callable[[], Sequence[Row]]] = {
    one.__name__: one for one in (algorithms, attacks, problems, topologies, codecs, faults, ledger)
}
"""What is listed as a table of rows; scenarios and data sets have forms of their own."""


def document(kind: str) -> list[dict[str, object]]:
    """The rows of a list for machines."""
    from scenarios.cli.data import sets
    from scenarios.results.serialize import plain

    if kind == "scenarios":
        return scenarios()
    return [plain(row) for row in (sets() if kind == "data" else TABLES[kind]())]


# ── algorithms ──────────────────────────────────────────────────────────────────────────────────────────
def _algorithm(kind: str) -> AlgorithmRow:
    from attacks.inference import inversions_of

    model = models()[kind]
    title: str | None = model.model_fields["name"].get_default()
    parameters = tuple(
        Parameter(name=name, required=field.is_required(), default=_default(field))
        for name, field in _parameters(model)
    )
    if "path" in model.model_fields:  # of somebody's own: whatever is at the path
        return AlgorithmRow(name=kind, kind=kind, title=title, parameters=parameters, update=_first(model.__doc__))
    algorithm, claim = built(kind)
    return AlgorithmRow(
        name=kind,
        kind=kind,
        title=title,
        parameters=parameters,
        class_=type(algorithm).__name__,
        module=type(algorithm).__module__,
        update=_module_sentence(algorithm),
        claim=None if claim is None else ClaimForm(source=claim.source, norm=claim.norm),
        attacks=tuple(one.__name__ for one in inversions_of(algorithm)),
    )


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
    found = _algorithm(kind)
    lines = [f"{found.title or kind} (kind: {kind})", ""]
    if found.module is not None:
        lines += [inspect.cleandoc(importlib.import_module(found.module).__doc__ or ""), ""]
    about = inspect.cleandoc(known[kind].__doc__ or "").splitlines()
    lines += ["In a scenario", "", *(f"  {line}" if line else "" for line in about), ""]
    width = max(len(one.name) for one in found.parameters)
    for one in found.parameters:
        value = "required" if one.required else json.dumps(one.default, ensure_ascii=False)
        lines.append(f"  {one.name:<{width}}  {value}")
    lines += ["", f"Claim: {'none' if found.claim is None else f'{found.claim.source} ({found.claim.norm})'}"]
    lines += [f"Attacks on its gradients, in this order: {', '.join(found.attacks)}"] if found.attacks else []
    if found.class_ is not None:
        lines.append(f"Code: {found.module}.{found.class_}")
        lines.append(f"Start with: netsim new mine --algorithm {kind}")
    return "\n".join(lines)


# ── attacks ─────────────────────────────────────────────────────────────────────────────────────────────
def _on_gradients() -> Iterator[AttackRow]:
    """The probe and the closed-form inversions, each with the algorithms for which it is tried."""
    from attacks.inference import inversions_of

    tried: dict[Callable[..., object], list[str]] = {}
    for kind, model in models().items():
        if "path" not in model.model_fields:
            for one in inversions_of(built(kind)[0]):
                tried.setdefault(one, []).append(kind)
    most = max(map(len, tried.values()))
    for one, kinds in sorted(tried.items(), key=lambda pair: -len(pair[1])):
        needs = "messages that are affine in the gradients" if len(kinds) == most else f"one of {', '.join(kinds)}"
        yield AttackRow(
            name=one.__name__, kind=None, on="gradients",
            what=_first(importlib.import_module(one.__module__).__doc__), needs=(needs,), source="this project",
            algorithms=tuple(kinds),
        )  # fmt: skip


def _needs(needs: "Needs") -> list[str]:
    """The needs of an attack in words."""
    words = [
        (bool(needs.models), f"a {' or '.join(needs.models)} model"),
        (needs.one_record, "one record an agent"),
        (needs.rounds > 1, f"{needs.rounds} gradients"),
        (needs.law, "the law of the noise"),
        (needs.labels, "public labels"),
        (needs.prior, "a prior from public records"),
        (needs.image, "images"),
        (needs.others, "all records but one"),
    ]
    return [text for there, text in words if there]


# ── models of the schema ────────────────────────────────────────────────────────────────────────────────
def _members(annotation: Any) -> list[KindRow]:
    """The kinds of a union of models, and what each is."""
    return [
        KindRow(name=kind, what=_first(model.__doc__), parameters=tuple(f for f in model.model_fields if f != "kind"))
        for model in _models(annotation)
        for kind in _kinds(model)
    ]


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _module_sentence(made: object) -> str:
    """The first sentence of the module in which an object's class is."""
    return _first(importlib.import_module(type(made).__module__).__doc__)


def _first(text: str | None) -> str:
    """The first sentence, in one line."""
    return " ".join((text or "").split("\n\n")[0].split()).partition(". ")[0].removesuffix(".")


def _default(field: FieldInfo) -> Any:
    """None where it has to be given."""
    value: Any = None if field.is_required() else field.get_default(call_default_factory=True)
    return value.model_dump() if isinstance(value, BaseModel) else value
