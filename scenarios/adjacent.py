"""An adjacent objective as plain data: what is changed in the agent's own, which the scenario gives."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, cast

import numpy as np

from attacks.audit.witnesses import plain
from netsim import problems
from netsim.arrays import Array
from netsim.claims import Adjacency
from netsim.errors import ScenarioError, TranscriptError
from netsim.norms import SYMBOLS, Norm, length
from netsim.problems import Bent, LogisticLoss, NonconvexLogistic, Objective
from scenarios.problem import gradient_change

WITHIN = "objective"
"""The field of an objective that is another one, and something besides."""
ROUNDING = 1e-9


class _Moving(Protocol):
    """An objective whose gradient is that of another one, moved by at most this vector."""

    @property
    def slope(self) -> Array: ...


def change_of(own: Objective, other: Objective) -> dict[str, Any]:
    """What makes `other` of `own`: a gradient that is moved ({"moved": class, and its parameters}), or other records
    ({"records": field: {"rows", "values"}}; "rows" is None where there are more or fewer of them).

    You get a `ScenarioError` for an objective that is neither.
    """
    if getattr(other, WITHIN, None) is own:
        kept = {name: _plain(value) for name, value in _fields(other).items() if name != WITHIN}
        return {"moved": type(other).__name__} | kept
    if type(own) is not type(other):
        raise ScenarioError("pair", type(other).__name__, "no change of the agent's own objective that can be stored")
    before, after = _fields(own), _fields(other)
    return {
        "records": {name: _rows(before[name], after[name]) for name in before if _differ(before[name], after[name])}
    }


def changed(own: Objective, tree: dict[str, Any]) -> Objective:
    """The objective that `change_of` told of. You get a `ScenarioError` for what tells of none."""
    try:
        if "moved" in tree:
            kind = getattr(problems, str(tree["moved"]), None)
            if not (isinstance(kind, type) and is_dataclass(kind) and WITHIN in {one.name for one in fields(kind)}):
                raise TranscriptError(f"moved = {tree['moved']!r}: no objective that is another one, moved")
            rest = {name: _value(value, name) for name, value in tree.items() if name != "moved"}
            return cast(Objective, kind(**{WITHIN: own}, **rest))
        known = _fields(own)
        records = plain.entry(tree, "records")
        if not plain.is_mapping(records) or not records.keys() <= known.keys():
            raise TranscriptError("records: not fields of the agent's own objective")
        put = {name: _put(known[name], value, name) for name, value in records.items()}
        return cast(Objective, replace(cast(Any, own), **put))
    except (TranscriptError, TypeError, IndexError, ValueError) as error:
        raise ScenarioError("pair.change", "…", str(error), "what `netsim run` wrote") from None


def check_adjacent(own: Objective, other: Objective, adjacency: Adjacency) -> None:
    """You get a `ScenarioError` for an objective whose gradient is farther from the agent's than the claim's
    adjacency allows, in its norm where the gradient is moved and in ℓ2 elsewhere, or which is bent more: a claim says
    nothing of such a pair."""
    norm = adjacency.norm if getattr(other, WITHIN, None) is own else "l2"
    size, allowed = _distance(own, other, norm), adjacency.in_norm(norm, own.dimension)
    if not size <= allowed * (1 + ROUNDING):
        why = f"not adjacent: sup ‖∇f − ∇f'‖ in {SYMBOLS[norm]} is too large"
        raise ScenarioError("pair.change", size, why, f"<= {allowed:.6g}")
    if isinstance(other, Bent) and not other.curvature <= adjacency.bending * (1 + ROUNDING):
        why = "not adjacent: the Hessian differs by too much"
        raise ScenarioError("pair.change.curvature", other.curvature, why, f"<= {adjacency.bending:.6g}")


def _distance(own: Objective, other: Objective, norm: Norm) -> float:
    """A bound on sup ‖∇f − ∇f'‖, exact where one record differs and where the move is constant."""
    if getattr(other, WITHIN, None) is own:
        return float(length(cast(_Moving, other).slope, norm))
    if isinstance(own, LogisticLoss | NonconvexLogistic) and isinstance(other, LogisticLoss | NonconvexLogistic):
        one = gradient_change(own, other)
        norms = (float(np.max(np.linalg.norm(f.features, axis=1))) for f in (own, other))
        return one if np.isfinite(one) else sum(norms)
    return float("inf")


def _fields(value: object) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in fields(cast(Any, value))}


def _differ(before: object, after: object) -> bool:
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        return not np.array_equal(cast(Array, before), cast(Array, after))
    return before != after


def _rows(before: object, after: object) -> dict[str, Any]:
    if not isinstance(before, np.ndarray) or not isinstance(after, np.ndarray):
        raise ScenarioError("pair", repr(after), "another parameter, and no other records")
    one, two = cast(Array, before), cast(Array, after)
    if one.shape != two.shape:
        return {"rows": None, "values": _plain(two)}
    different = one != two
    rows = np.flatnonzero(different.reshape(len(one), -1).any(axis=1))
    return {"rows": [int(k) for k in rows], "values": [_plain(two[k]) for k in rows]}


def _put(before: object, tree: object, name: str) -> Array:
    rows, values = plain.entry(tree, "rows", name), plain.listed(tree, "values")
    told = np.array([_value(value, name) for value in values])
    if rows is None:
        return told
    after = np.array(before, dtype=np.float64)
    for k, value in zip(cast("list[int]", rows), told, strict=True):
        after[k] = value
    return after


def _plain(value: object) -> Any:
    """A number, or lists of numbers."""
    if isinstance(value, np.ndarray) and value.ndim:
        return [_plain(one) for one in cast(Array, value)]
    return plain.number(float(cast(float, value)))


def _value(tree: object, where: str) -> Any:
    """A number, or an array."""
    if plain.is_list(tree):
        return np.array([_value(one, where) for one in tree])
    return plain.to_number(tree, where)
