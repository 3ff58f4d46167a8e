"""Of what kind the results of NumPy's functions are, by those of their operands."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, cast

import numpy as np

from attacks.audit.followed import kinds
from attacks.audit.followed.kinds import BENT, PUBLIC, Kind, Operand, What
from attacks.audit.followed.operands import is_followed, kind_of, leaves, operand, value_of


def _itself(a: Operand) -> Kind:
    return a.kind


_PAIRS: dict[Any, Callable[[Operand, Operand], Kind]] = {
    np.add: kinds.plus, np.subtract: kinds.minus, np.divide: kinds.over,
    np.maximum: kinds.larger, np.minimum: kinds.smaller,
    np.greater: kinds.above, np.greater_equal: kinds.above, np.less: kinds.below,
    np.less_equal: kinds.below, np.equal: kinds.equal, np.not_equal: kinds.equal,
}  # fmt: skip
_CASTS = frozenset(["dtype", "casting", "signature", "sig"])
GUARDS = np.isnan, np.isinf, np.isfinite
"""Questions that a run asks to end well."""
SMOOTH = frozenset(
    [
        np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive, np.conjugate, np.absolute, np.fabs,
        np.matmul, np.square, np.sqrt, np.reciprocal,
    ]
)  # fmt: skip
"""Functions that are nowhere level, but for differences of the same."""
_SINGLES: dict[Any, Callable[[Operand], Kind]] = {
    np.absolute: kinds.absolute, np.fabs: kinds.absolute, np.square: kinds.square, np.sqrt: kinds.root,
    np.negative: lambda a: a.kind if a.what in (What.PUBLIC, What.SEEN, What.AFFINE) else BENT,
    np.positive: _itself, np.conjugate: _itself, np.reciprocal: kinds.inverse,
}  # fmt: skip


SUMS_OF_TWO = np.add, np.subtract
LINEAR = frozenset([*SUMS_OF_TWO, np.multiply, np.divide, np.matmul])
SUMMED = What.PUBLIC, What.SEEN, What.AFFINE
VALUES = frozenset(["where", "initial", "out"])
"""Arguments by name that decide numbers, and no form."""
_POWERS = {2.0: kinds.square, 0.5: kinds.root, -1.0: kinds.inverse, 1.0: _itself}


def _bilinear(inputs: Sequence[Any]) -> Kind:
    """Of a sum of products of one number of each."""
    some = [kind_of(one) for one in inputs if kind_of(one).followed]
    return kinds.linear(some) if len(some) == 1 and some[0].what is What.AFFINE else kinds.bent(some)


def _reduced(a: Any, *, all_alike: bool) -> Kind:
    """Of a sum or mean of some of its numbers."""
    kind = kind_of(a)
    if kind.what is What.AFFINE:
        return kinds.linear([kind])
    return _sized(a, What.ABSOLUTE, What.SQUARE) if all_alike else bent(a)


def _sized(a: Any, *of: What) -> Kind:
    """Of what is a size where it is made of these."""
    return kinds.size_of(operand(a)) if kind_of(a).what in of else bent(a)


def _are_one(a: Any, b: Any) -> bool:
    """Whether two followed arrays are the same numbers in the same places."""
    one, other = (value_of(x).__array_interface__ for x in (a, b))
    return all(one[name] == other[name] for name in ("data", "shape", "strides"))


def _squared(a: Any, b: Any) -> Kind:
    """Of the products of pairs."""
    twice = kind_of(a).what is kind_of(b).what is What.AFFINE
    return BENT if twice and not _are_one(a, b) else kinds.times(operand(a), operand(b))


def bent(*args: Any) -> Kind:
    return kinds.bent([kind_of(one) for one in leaves(args)])


@cache
def of_objects(ufunc: np.ufunc) -> bool:
    """Whether it is a function of Python's."""
    return all(set(types) <= set("O->") for types in ufunc.types)


def of_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], named: Mapping[str, object]) -> Kind:
    dtype = cast(Any, named.get("dtype"))
    narrowed = bool(_CASTS & named.keys()) and (dtype is None or np.dtype(dtype) != np.float64)
    if narrowed or any(kind_of(named.get(name)).followed for name in ("where", "initial")):
        return bent(*inputs, *named.values())
    if method == "__call__":
        if ufunc is np.multiply:
            return _squared(*inputs)
        if ufunc in _PAIRS:
            return _PAIRS[ufunc](*map(operand, inputs))
        if ufunc in _SINGLES:
            return _SINGLES[ufunc](operand(inputs[0]))
        if ufunc in (np.power, np.float_power):
            rule = _POWERS.get(operand(inputs[1]).number)
            return rule(operand(inputs[0])) if rule is not None else bent(*inputs)
        if ufunc is np.matmul:
            return _bilinear(inputs)
    elif method in ("reduce", "accumulate") and ufunc is np.add:
        return _reduced(inputs[0], all_alike=not VALUES & named.keys())
    elif method == "reduce" and ufunc is np.maximum and not VALUES & named.keys():
        return _sized(inputs[0], What.ABSOLUTE)
    return bent(*inputs)


SAME_VALUES = frozenset(
    [
        np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.squeeze, np.expand_dims, np.copy, np.real,
        np.atleast_1d, np.atleast_2d, np.atleast_3d, np.flip, np.roll, np.broadcast_to,
    ]
)  # fmt: skip
_ARRANGED = frozenset(
    [
        np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, np.split, np.array_split, np.repeat, np.tile,
        np.append, np.diag, np.pad, np.broadcast_arrays, np.diagonal, np.delete, np.insert, np.take, np.rollaxis,
    ]
)  # fmt: skip
_JOINED = frozenset([np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, np.append, np.broadcast_arrays])
BESIDE = _JOINED | {np.insert, np.where, np.select}
"""Functions that put values beside each other, or choose among them."""
TOGETHER = np.prod, np.cumprod
"""Functions that multiply numbers of one array."""
_PADS = "constant", "edge", "wrap", "reflect", "symmetric"
_SUMS = frozenset([np.sum, np.mean, np.average, np.cumsum, np.trace])
_DIFFERENCES = frozenset([np.diff, np.ediff1d])
_PRODUCTS = frozenset([np.dot, np.matmul, np.inner, np.outer, np.tensordot, np.vdot, np.kron, np.cross])
LEVELS = frozenset(
    [
        np.interp, np.searchsorted, np.digitize, np.argmax, np.argmin, np.argsort, np.argpartition, np.round,
        np.around, np.fix, np.count_nonzero, np.clip, np.nan_to_num, np.sinc, np.i0,
    ]
)  # fmt: skip
"""Functions that may be level where all transcripts are."""
SHAPES = frozenset([np.shape, np.ndim, np.size, np.result_type, np.may_share_memory, np.shares_memory])
_LARGEST, _EINSUM = frozenset([np.max, np.amax]), np.einsum
OF_SIZES = What.SIZE, What.FACTOR, What.GATE, What.GATED, What.ZERO
"""Of all coordinates together."""
_OF_NUMBERS = What.AFFINE, What.ABSOLUTE, What.SQUARE, What.SIDE
"""Of each."""
_NEW = frozenset([np.zeros_like, np.ones_like])
SORTS = {np.median: 3, np.percentile: 4, np.quantile: 4}
"""Functions that may sort their argument where it is (`overwrite_input`), and the place of what says so."""
_NORMS = frozenset([np.linalg.norm, *([np.linalg.vector_norm] if hasattr(np.linalg, "vector_norm") else [])])
WRITES = {
    np.copyto: "dst", np.put: "a", np.place: "arr", np.putmask: "a", np.put_along_axis: "arr", np.fill_diagonal: "a",
}  # fmt: skip
"""Functions that write into an argument, and its name."""
PLACED = np.put, np.put_along_axis
"""Those that write at places which they are told."""


SAFE = SAME_VALUES | _ARRANGED | _SUMS | _DIFFERENCES | _PRODUCTS | SHAPES | _LARGEST | _NEW | _NORMS | frozenset(
    [
        np.full_like, np.where, np.einsum, np.linalg.solve, np.clip, np.nan_to_num, np.empty_like, np.average,
        np.median, np.min, np.amin, np.std, np.var, np.prod, np.cumprod, np.sort, np.argsort, np.argmax, np.argmin,
        np.percentile, np.quantile, np.round, np.around, np.fix, np.isclose, np.allclose, np.array_equal, np.any,
        np.all, np.take_along_axis, np.put_along_axis, np.copyto, np.put, np.place, np.putmask, np.fill_diagonal,
        np.partition, np.argpartition, np.searchsorted, np.digitize, np.interp, np.count_nonzero, np.isposinf,
        np.isneginf, np.angle,
        np.nansum, np.nanmean, np.nanmax, np.nanmin, np.ptp, np.tril, np.triu, np.convolve, np.select,
    ]
)  # fmt: skip
"""Functions whose result has a form that no value of an operand decides, and that do not fail by such values."""
_FIRST, _EVERY = (0,), tuple(range(64))
_OPERANDS: dict[Any, tuple[int, ...]] = dict.fromkeys(
    [*_PRODUCTS, np.append, np.full_like, np.isclose, np.allclose, np.array_equal, np.searchsorted, np.convolve,
     np.fill_diagonal, np.copyto], (0, 1),
) | dict.fromkeys([np.where, np.clip, np.interp, np.putmask, np.place, np.select], (0, 1, 2)) | dict.fromkeys(
    [np.put, np.put_along_axis, np.insert], (0, 2)
) | {np.linalg.solve: (1,), np.einsum: _EVERY, np.broadcast_arrays: _EVERY}  # fmt: skip
"""Places of their operands, where these are others than the first argument."""
FAILING = frozenset(
    [np.take, np.put, np.take_along_axis, np.put_along_axis, np.linalg.solve, np.percentile, np.quantile, np.digitize,
     np.partition, np.argpartition, np.average, np.roll]
)  # fmt: skip
"""Functions of which other arguments decide no form, but may make them fail."""
_NAMED = VALUES | frozenset(
    [
        "a", "x", "arr", "array", "ary", "m", "v", "A", "b", "y", "fill_value", "a_min", "a_max", "min", "max",
        "values", "vals", "val", "src", "dst", "default", "xp", "fp",
    ]
)  # fmt: skip
"""Names of operands."""


def parted(function: Any, args: Sequence[Any], named: Mapping[str, object]) -> tuple[list[Any], list[Any]]:
    """The operands of a function, and its other arguments."""
    at = _OPERANDS.get(function, _FIRST)
    operands = [one for k, one in enumerate(args) if k in at]
    others = [one for k, one in enumerate(args) if k not in at]
    if function is np.where and len(args) < 3:  # by how many there are
        operands, others = [], [*args]
    for name, one in named.items():
        (operands if name in _NAMED and function is not np.linalg.solve else others).append(one)
    return operands, others


def of_function(function: Any, args: Sequence[Any], named: Mapping[str, object]) -> Kind:
    first = args[0] if args else next(iter(named.values()), None)
    others = [*args[1:], *named.values()]
    if function in _NEW:
        return PUBLIC
    if function is np.full_like:
        return kind_of(args[1] if len(args) > 1 else named["fill_value"])
    if function is np.where and len(args) == 3:
        return kinds.chosen(kind_of(args[0]), *map(operand, args[1:]))
    if function is _EINSUM:
        return _kind_of_einsum(args)
    if function is np.nan_to_num and not others and kind_of(first).what is What.FACTOR:
        return kind_of(first)  # where a size is 0
    if function is np.linalg.solve and not kind_of(args[0]).followed:
        return kinds.joined([kind_of(args[1]), PUBLIC])
    if function is np.clip and not any(kind_of(one).followed for one in leaves(others)):
        return _cut(operand(first), args[1:], named)
    if function in _PRODUCTS:
        return _bilinear(args[:2])
    if any(kind_of(one).followed for one in leaves(others)) and function not in _JOINED:
        return bent(args, named)
    if function in SAME_VALUES:
        return kind_of(first)
    if function is np.pad and named.get("mode", args[2] if len(args) > 2 else "constant") not in _PADS:
        return bent(args, named)
    if function is np.stack:
        return kinds.stacked([kind_of(one) for one in leaves(first)])
    if function in _ARRANGED:
        return kinds.joined([*(kind_of(one) for one in leaves([first, *others])), PUBLIC])
    all_alike = len(args) < 3 and not (VALUES | {"weights"}) & named.keys()
    if function in _SUMS:
        return _reduced(first, all_alike=all_alike)
    if function in _DIFFERENCES:
        return kinds.linear([kind_of(first)]) if kind_of(first).what is What.AFFINE else bent(args, named)
    if function in _NORMS:
        order = named.get("ord", args[1] if len(args) > 1 and function is np.linalg.norm else None)
        grows = order in (None, "fro", np.inf) or (isinstance(order, int | float) and 1 <= order <= 2)  # no step
        return kinds.size_of(operand(first)) if grows else bent(first)
    if function in _LARGEST and all_alike:
        return _sized(first, What.ABSOLUTE)
    return bent(args, named)


def _cut(one: Operand, bounds: Sequence[Any], named: Mapping[str, object]) -> Kind:
    """Of `np.clip` with public bounds."""
    for k, (name, rule) in enumerate((("min", kinds.larger), ("max", kinds.smaller))):
        bound = named.get(f"a_{name}", named.get(name, bounds[k] if len(bounds) > k else None))
        one = one if bound is None else Operand(rule(one, operand(bound)))
    return one.kind


def _kind_of_einsum(args: Sequence[Any]) -> Kind:
    """A product of one followed array with public ones; or a sum of squares."""
    if not isinstance(args[0], str):
        return bent(args)
    given, _, wanted = args[0].replace(" ", "").partition("->")
    parts = given.split(",")
    if len(args) == 3 and len(set(parts)) == 1 and wanted and set(wanted) <= set(parts[0]):
        product = _squared(*args[1:]) if all(map(is_followed, args[1:])) else BENT
        if product.what is What.SQUARE:
            return kinds.size_of(Operand(product))
    return _bilinear(args[1:])


def no_larger(kind: Kind, found: Any, given: Any, *, linear: bool) -> Kind:
    """Of a result that has more numbers than what it is made of: several may be of one number, each with a threshold
    of its own, which together are no clip. What is `linear` stays so."""
    if kind.what in OF_SIZES and not any(kind_of(one).what in _OF_NUMBERS for one in leaves(given)):
        return kind
    own = [one for one in leaves(given) if kind_of(one).followed]
    numbers = [one for one in own if kind_of(one).what is What.AFFINE]
    most = max((one.size for one in numbers or own), default=0)
    if kind.what in (What.PUBLIC, What.SEEN) or max(map(np.size, leaves(found)), default=0) <= most:
        return kind
    return kinds.linear([kind]) if linear else BENT
