"""Data sets, each agent's records and the problem on them; the records nobody has, and the prior from those; adjacent
objectives: papers' bounds on gradient changes, and the pairs of a scenario."""

import dis
import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

import numpy as np
from scipy.spatial.distance import cdist

from attacks.audit import witness_values as plain
from attacks.reconstruction import Prior
from netsim import problems
from netsim.arrays import Array
from netsim.claims import SYMBOLS, Adjacency, Norm, length
from netsim.errors import ScenarioError, TranscriptError
from netsim.problems import (
    Bent,
    Dataset,
    LogisticLoss,
    NonconvexLogistic,
    Objective,
    Problem,
    Tilted,
    build,
    load,
    scale_for,
)
from netsim.randomness import Streams
from netsim.topology import Topology
from scenarios.build.duration import check_data, check_problem
from scenarios.schema import Scenario
from scenarios.schema.scenario import GradientChange
from scenarios.schema.spec import built

AnyLogistic = LogisticLoss | NonconvexLogistic
MOST_PAIRS = 2**26
"""Pairs of records compared at most: 512 MB of distances."""
MOST_CLASSES = 100
"""More different labels than these are the targets of a regression."""


@contextmanager
def _under(field: str) -> Generator[None]:
    """A `ScenarioError` within has its fields under this one."""
    try:
        yield
    except ScenarioError as error:
        raise error.under(field) from None


# ── data and problem ────────────────────────────────────────────────────────────────────────────────────


def posed(scenario: Scenario, topology: Topology) -> tuple[Dataset, Dataset | None, Problem]:
    """The records of the agents, those held out, and the problem of every agent's part; features are scaled to the
    smoothness that the scenario names. You get a `ScenarioError` for what does not fit."""
    spec, agents = scenario.problem, topology.agents
    check_data(scenario)
    with _under("problem.data"):
        options = spec.data.model_dump()
        dataset, held_out = load(options.pop("name"), **options), None
    if spec.held_out:
        try:
            dataset, held_out = dataset.reserve(spec.held_out, scenario.seed)
        except ScenarioError as error:
            raise replace(error, field="problem.held_out") from None
    if agents > dataset.records:
        field = "topology.agents" if hasattr(scenario.topology, "agents") else "topology"
        why = f"every agent needs a record of its own, and {dataset.name} has {dataset.records}"
        raise ScenarioError(field, agents, why, f"<= {dataset.records} agents")
    parts = parts_of_agents(scenario, dataset, agents)
    problem = problem_of(scenario, parts)
    check_problem(scenario, agents, dataset.records, problem.dimension)
    if spec.smoothness is None:
        return dataset, held_out, problem
    if spec.data.norm_bound is not None:
        why = "scaling the features would undo problem.data.norm_bound"
        raise ScenarioError("problem.smoothness", spec.smoothness, why, "one of the two")
    with _under("problem"):
        factor = scale_for(problem, spec.smoothness)
    scaled = [part.scaled(factor) for part in (dataset, *parts)]
    held_out = None if held_out is None else held_out.scaled(factor)
    return scaled[0], held_out, problem_of(scenario, scaled[1:])


def parts_of_agents(scenario: Scenario, dataset: Dataset, agents: int) -> tuple[Dataset, ...]:
    """Each agent's records."""
    options = scenario.problem.split.model_dump()
    try:
        return dataset.split(agents, scenario.seed, by=options.pop("kind"), **options)
    except ScenarioError as error:
        if error.field == "by":
            raise ScenarioError("problem.split.kind", error.value, error.problem, error.allowed) from None
        raise error.under("problem.split") from None


def problem_of(scenario: Scenario, parts: Sequence[Dataset]) -> Problem:
    """The problem of these parts."""
    with _under("problem"):
        spec = scenario.problem
        apart = {"data", "split", "held_out", "smoothness", "regularizer", "gradient_bound"}
        options = spec.model_dump(exclude=apart)
        regularizer = None if spec.regularizer is None else built("regularizer", spec.regularizer)
        return build(parts=parts, regularizer=regularizer, **options)


# ── records that are farthest apart ─────────────────────────────────────────────────────────


def gradient_change(own: AnyLogistic, other: AnyLogistic) -> float:
    """sup_x ‖∇f − ∇f'‖₂ of two losses of one kind; infinite for two kinds."""
    return own.gradient_difference_bound(cast("Any", other)) if type(own) is type(other) else float("inf")


def farthest(own: Array, others: Array, most: int = MOST_PAIRS) -> tuple[int, int, int]:
    """The row of each that are farthest apart, the first such pair, and among how many pairs it was sought.

    Beyond `most` pairs only the longest rows of both are compared.
    """
    a, b = np.arange(len(own)), np.arange(len(others))
    if len(a) * len(b) > most:
        lengths = [np.argsort(-np.linalg.norm(rows, axis=1), kind="stable") for rows in (own, others)]
        a = np.sort(lengths[0][: min(len(a), max(int(most**0.5), most // len(b)))])
        b = np.sort(lengths[1][: min(len(b), most // len(a))])
    distance = cdist(own[a], others[b])
    row, column = np.unravel_index(np.argmax(distance), distance.shape)
    return int(a[row]), int(b[column]), distance.size


# ── records to rebuild ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Ownership:
    """The `parts` of the agents, as many records each, the `problem` of these, and a `prior` of what nobody holds
    (`unheld`)."""

    parts: tuple[Dataset, ...]
    problem: Problem
    prior: Prior | None
    unheld: Dataset | None = None

    @classmethod
    def of(cls, scenario: Scenario, dataset: Dataset, agents: int) -> "Ownership | None":
        """None where a scenario rebuilds nothing. You get a `ScenarioError` where the records do not suffice."""
        options = scenario.attacks
        if not (options.images or options.reconstruct or options.membership or options.property):
            return None
        if options.images and (dataset.image_shape is None or scenario.problem.kind != "logistic"):
            why = "images are rebuilt from logistic losses on image data"
            raise ScenarioError("attacks.images", True, why, "kind: logistic, and data: digits, mnist, …")
        if options.images and options.holding != 1:
            why = f"one image an agent is rebuilt in closed form, and agents hold {options.holding}"
            raise ScenarioError("attacks.images", True, why, "holding: 1, or reconstruct: [{kind: …}]")
        held = _dealt(scenario, dataset, agents)
        parts = tuple(dataset.take(own) for own in held)
        taken = {k for own in held for k in own}
        rest = dataset.take([k for k in range(dataset.records) if k not in taken])
        problem = problem_of(scenario, parts)
        return cls(parts, problem, prior_of(rest, problem), rest)

    @property
    def records(self) -> int:
        """Records of each agent."""
        return self.parts[0].records

    def labels(self, agent: int) -> Array:
        """Of an agent's records, as the model counts them: (m,), PRIVATE."""
        return counted(self.parts[agent].labels, self.parts[agent], self.problem)


def _dealt(scenario: Scenario, dataset: Dataset, agents: int) -> list[list[int]]:
    """Rows of each agent: the classes in turn, drawn by the scenario's seed; one of each is left over."""
    order = Streams(scenario.seed).generator("images").permutation(dataset.records)
    classes = np.zeros(dataset.records) if _numbers(dataset) else dataset.labels
    pools = [[int(k) for k in order if classes[k] == one] for one in np.unique(classes)]
    size, each = len(pools), scenario.attacks.holding
    most = size * (min(map(len, pools)) - 1)
    if agents * each > most and each == 1 and scenario.attacks.images:
        why = f"{agents} agents cannot hold an image each"
        raise ScenarioError("attacks.images", True, why, f"<= {most} agents")
    if agents * each > most:
        why = f"{agents} agents cannot hold so many each and leave a prior"
        raise ScenarioError("attacks.holding", each, why, f"<= {most // agents}")
    flat = [pools[k % size][k // size] for k in range(agents * each)]
    return [flat[i * each : (i + 1) * each] for i in range(agents)]


def _numbers(dataset: Dataset) -> bool:
    """Whether the labels are the targets of a regression."""
    return len(np.unique(dataset.labels)) > MOST_CLASSES


def prior_of(public: Dataset, problem: Problem) -> Prior:
    """Prior of a record, from public ones."""
    made = Prior.of_numbers if _numbers(public) else Prior.of
    return made(public.features, counted(public.labels, public, problem))


def counted(labels: Array, dataset: Dataset, problem: Problem) -> Array:
    """Labels of some of a data set's records as the problem's model counts them, (records,): two classes are −1 and 1
    in data, and 0 and 1 to a model of several outputs."""
    several = problem.model is not None and 0.0 in problem.model.classes
    return (labels + 1) / 2 if several and dataset.class_count == 2 else labels


PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic)
NAMED = (type, ModuleType, BuiltinFunctionType, np.ufunc)
"""Types whose values are known by their names."""
Seen = dict[int, tuple[int, object]]
"""By identity: the how-manyth it was, and the thing itself, which lives as long as its identity is used."""


def data_print(objectives: Sequence[object]) -> str:
    """SHA-256 of arrays with their types and shapes, to the last bit, of parameters, of objectives within objectives,
    and of functions: their code, defaults, what they close over, and the globals of their own module that they use.

    You get a `ScenarioError` for what cannot be told from another of its kind, such as an open file.
    """
    digest, seen = hashlib.sha256(), Seen()
    for one in objectives:
        for part in _parts(one, seen):
            digest.update(part)
    return digest.hexdigest()


def _parts(value: Any, seen: Seen) -> Iterator[bytes]:
    if isinstance(cast("object", value), np.ndarray) and cast("np.ndarray[Any, Any]", value).dtype != object:
        array = cast("np.ndarray[Any, Any]", value)
        yield f"array {array.dtype.str} {array.shape}\n".encode()
        yield array.tobytes()
    elif isinstance(value, PLAIN):
        yield f"{value!r}\n".encode()
    elif isinstance(value, NAMED):
        yield _name(value)
    elif isinstance(value, CodeType):
        yield f"code {value.co_name} {value.co_names} {value.co_varnames} {value.co_freevars}\n".encode()
        yield value.co_code
        yield from _several("constants", value.co_consts, seen)
    elif id(value) in seen and isinstance(value, FunctionType):  # one that calls itself
        yield f"function {seen[id(value)][0]} again\n".encode()
    elif isinstance(value, FunctionType):
        seen[id(value)] = len(seen), value
        yield from _function(value, seen)
    elif isinstance(value, Mapping):
        for key, one in cast("Mapping[object, object]", value).items():
            yield from _several("entry", (key, one), seen)
    elif isinstance(value, Sequence):
        yield from _several(str(type(cast("object", value)).__name__), cast("Sequence[object]", value), seen)
    elif isinstance(value, AbstractSet):
        inner = (b"".join(_parts(one, seen)) for one in cast("AbstractSet[object]", value))
        yield b"set\n" + b"".join(sorted(inner))
    else:
        yield from _object(value, seen)


def _object(value: Any, seen: Seen) -> Iterator[bytes]:
    """A dataclass by its fields, everything else by what a copy of it would be made from."""
    kind = cast("Any", type(value))
    yield _name(kind)
    if hasattr(kind, "__dataclass_fields__"):
        for one in fields(value):
            yield f"{one.name}\n".encode()
            yield from _parts(getattr(value, one.name), seen)
    elif kind is MethodType:
        yield from _several("method", (value.__func__, value.__self__), seen)
    elif kind is partial:
        yield from _several("partial", (value.func, value.args, value.keywords), seen)
    elif id(value) in seen:
        yield f"object {seen[id(value)][0]} again\n".encode()
        return
    else:
        seen[id(value)] = len(seen), value
        try:
            made: Any = value.__reduce_ex__(4)
        except TypeError as error:
            name = f"{kind.__module__}.{kind.__qualname__}"
            why = f"an objective holds a {name}, which cannot be told from another one ({error})"
            allowed = "numbers, arrays, functions, and dataclasses of these"
            raise ScenarioError("problem", name, why, allowed) from None
        parts = [made] if isinstance(made, str) else cast("tuple[object, ...]", made)
        read = [list(cast("Iterator[object]", one)) if isinstance(one, Iterator) else one for one in parts]
        yield from _several("object", read, seen)
    if callable(value) and isinstance(call := vars(kind).get("__call__"), FunctionType):
        yield from _parts(call, seen)


def _several(kind: str, values: Sequence[object], seen: Seen) -> Iterator[bytes]:
    yield f"{kind} {len(values)}\n".encode()
    for one in values:
        yield from _parts(one, seen)


def _function(value: FunctionType, seen: Seen) -> Iterator[bytes]:
    yield _name(value)
    yield from _parts(value.__code__, seen)
    cells: list[object] = []
    for cell in value.__closure__ or ():
        try:
            cells.append(cell.cell_contents)
        except ValueError:  # not bound yet
            cells.append(None)
    yield from _several("bound", (value.__defaults__, value.__kwdefaults__, *cells), seen)
    for name in sorted(set(_names(value.__code__))):
        used = value.__globals__.get(name)
        yield f"uses {name}\n".encode()
        if isinstance(used, FunctionType) and used.__module__ != value.__module__:
            yield _name(used)
        elif used is not None:
            yield from _parts(used, seen)


def _names(code: CodeType) -> Iterator[str]:
    """Every global name that code, or code within it, reads."""
    yield from (str(one.argval) for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _names(one)


def _name(value: Any) -> bytes:
    """Where a thing is: module and name. A file that is run has another module name in each of its texts."""
    own = getattr(value, "__qualname__", getattr(value, "__name__", ""))
    return f"{getattr(value, '__module__', '')}.{own}\n".encode()


SHARE = 0.1
"""Of the largest L_i: the curvature that an adjacent objective may have more, where none is named."""


def curvature_of(moved: GradientChange, problem: Problem) -> float | None:
    """By how much the Hessian of an adjacent objective may differ; None for a constant change."""
    if not moved.constant:
        return SHARE * problem.smoothness if moved.curvature is None else moved.curvature
    if moved.curvature is not None:
        why = "a constant change of the gradient leaves the Hessian as it is"
        raise ScenarioError("audit.adjacency.curvature", moved.curvature, why, "constant: false, or no curvature")
    return None


def in_words(words: str, slope: Array, other: Objective, norm: Norm) -> str:
    """How a gradient is moved, and its norms: "moved by a constant vector (even), ‖Δ∇f‖₂ = 1, ‖Δ∇f‖₁ = 3"."""
    bent = isinstance(other, Bent)
    how = f"a vector that varies with x ({words})" if bent else f"a constant vector ({words})"
    relation = "<" if bent else "="
    sizes = {"l2": ("‖Δ∇f‖₂", float(np.linalg.norm(slope))), "l1": ("‖Δ∇f‖₁", float(np.sum(np.abs(slope))))}
    if norm == "linf":
        sizes["linf"] = "‖Δ∇f‖∞", float(length(slope, "linf"))
    return f"moved by {how}, " + ", ".join(f"{symbol} {relation} {size:.4g}" for symbol, size in sizes.values())


WITHIN = "objective"
"""The field of an objective that is another one, and something besides."""
ROUNDING = 1e-9


def change_of(own: Objective, other: Objective) -> Mapping[str, object]:
    """The change from `own` to `other`: a moved gradient ({"moved": class, and its parameters}), or other records
    ({"records": field: {"rows", "values"}}; "rows" is None where there are more or fewer of them).

    You get a `ScenarioError` for an objective that is neither.
    """
    if getattr(other, WITHIN, None) is own:
        kept = {name: _plain(v) for name, v in _fields(other).items() if name != WITHIN and v is not None}
        return {"moved": type(other).__name__} | kept
    if type(own) is not type(other):
        raise ScenarioError("pair", type(other).__name__, "no change of the agent's own objective that can be stored")
    records, after = dict[str, object](), cast("dict[str, Array]", _fields(other))
    for name, one in cast("dict[str, Array]", _fields(own)).items():
        two = after[name]
        if not all(isinstance(cast("object", value), np.ndarray) for value in (one, two)):
            if one != two:
                raise ScenarioError("pair", two, "another parameter, and no other records")
        elif one.shape != two.shape:
            records[name] = {"rows": None, "values": _plain(two)}
        elif len(rows := np.flatnonzero((one != two).reshape(len(one), -1).any(axis=1))):
            records[name] = {"rows": [int(k) for k in rows], "values": [_plain(two[k]) for k in rows]}
    return {"records": records}


def changed(own: Objective, tree: Mapping[str, object]) -> Objective:
    """The objective that `change_of` described. Raises a `ScenarioError` for any other description."""
    try:
        if "moved" in tree:
            kind = getattr(problems, str(tree["moved"]), None)
            if not (isinstance(kind, type) and is_dataclass(kind) and WITHIN in {one.name for one in fields(kind)}):
                raise TranscriptError(f"moved = {tree['moved']!r}: no objective that is another one, moved")
            rest = {name: _value(value, name) for name, value in tree.items() if name != "moved"}
            return cast("Objective", kind(**{WITHIN: own}, **rest))
        known = _fields(own)
        records = plain.entry(tree, "records")
        if not plain.is_mapping(records) or not records.keys() <= known.keys():
            raise TranscriptError("records: not fields of the agent's own objective")
        put: dict[str, Array] = {}
        for name, inner in records.items():
            rows, values = plain.entry(inner, "rows", name), plain.listed(inner, "values")
            after = put[name] = np.array([_value(value, name) for value in values])
            if rows is not None:
                put[name] = np.array(known[name], dtype=np.float64)
                for k, value in zip(cast("list[int]", rows), after, strict=True):
                    put[name][k] = value
        return cast("Objective", replace(cast("Any", own), **put))
    except (TranscriptError, TypeError, IndexError, ValueError) as error:
        raise ScenarioError("pair.change", "…", str(error), "what `netsim run` wrote") from None


def check_adjacent(own: Objective, other: Objective, adjacency: Adjacency) -> None:
    """You get a `ScenarioError` for an objective whose gradient is farther from the agent's than the claim's
    adjacency allows, in its norm where the gradient is moved and in ℓ2 elsewhere, or which is bent more: a claim says
    nothing of such a pair."""
    norm = adjacency.norm if getattr(other, WITHIN, None) is own else "l2"
    adjacency = adjacency.at(int(getattr(own, "records", 1)))
    # a bound on sup ‖∇f − ∇f'‖, exact where one record differs and where the move is constant
    size, allowed = float("inf"), adjacency.in_norm(norm, own.dimension)
    if getattr(other, WITHIN, None) is own:
        size = float(length(cast("Tilted | Bent", other).slope, norm))
    elif isinstance(own, AnyLogistic) and isinstance(other, AnyLogistic):
        size = gradient_change(own, other)
        if not np.isfinite(size):
            size = sum(float(np.max(np.linalg.norm(f.features, axis=1))) for f in (own, other))
    if not size <= allowed * (1 + ROUNDING):
        why = f"not adjacent: sup ‖∇f − ∇f'‖ in {SYMBOLS[norm]} is too large"
        raise ScenarioError("pair.change", size, why, f"<= {allowed:.6g}")
    if isinstance(other, Bent) and not other.curvature <= adjacency.bending * (1 + ROUNDING):
        why = "not adjacent: the Hessian differs by too much"
        raise ScenarioError("pair.change.curvature", other.curvature, why, f"<= {adjacency.bending:.6g}")


def _fields(value: object) -> dict[str, object]:
    return {one.name: getattr(value, one.name) for one in fields(cast("Any", value))}


def _plain(value: object) -> Any:
    """A number, or lists of numbers."""
    if isinstance(value, np.ndarray) and value.ndim:
        return [_plain(one) for one in cast("Array", value)]
    return plain.number(float(cast("float", value)))


def _value(tree: object, where: str) -> Any:
    """A number, or an array."""
    if plain.is_list(tree):
        return np.array([_value(one, where) for one in tree])
    return plain.to_number(tree, where)
