"""Arrays that know of what kind their values are, and note where Python asks what these are.

NumPy hands them its own operations, each of which gives another one. Whatever asks for the numbers themselves (an
`if`, `float`, an index, a text, a library) is a *reading*: what the code does then depends on them. It gets the
numbers, and goes on as it does in a run.
"""

import math
import operator
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, Protocol, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from attacks.audit.followed import kinds
from attacks.audit.followed.kinds import BENT, PUBLIC, Kind, Operand, What

_asarray = np.asarray


class _Cell:
    """Kind of the values in one piece of memory, which all views of it share; whether one that is not followed does
    is `escaped`."""

    __slots__ = ("escaped", "kind", "size")

    def __init__(self, kind: Kind, size: int) -> None:
        self.kind, self.size, self.escaped = kind, size, False

    def written(self, kind: Kind, size: int) -> None:
        """So many of the numbers are of this kind now."""
        if size < self.size and (kind.followed or self.kind.followed):
            kind = kinds.joined([self.kind, kind])
        self.kind = kind


class Noted(Protocol):
    """Is told what is read, and `answers` of a comparison that NumPy goes on with, or what a function gave that may
    have levels; `fails`: the values decide no more than whether it fails."""

    def __call__(self, how: str, answers: Any = None, *, fails: bool = False) -> None: ...


class Followed(NDArrayOperatorsMixin):
    """An array of values of one kind, for whom it is an `ndarray`."""

    __slots__ = ("_cell", "_noted", "value")
    __array_priority__ = 1e6
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, kind: Kind, noted: Noted, cell: _Cell | None = None) -> None:
        self.value, self._noted = _asarray(value_of(value)), noted
        self._cell = cell or _Cell(kind, self.value.size)

    @property
    def __class__(self) -> type:  # type: ignore[override]
        """For code that asks whether it is an array. (Not of a number: C reads what says that it is one.)"""
        return np.ndarray

    @property
    def kind(self) -> Kind:
        """That of its memory; of a part of it, or of some of it twice, what holds of any numbers there."""
        kind = self._cell.kind
        if self.value.size == self._cell.size and not _repeats(self.value):
            return kind
        return kinds.linear([kind])

    # ── what is read ────────────────────────────────────────────────────────────────────────────────
    def _read(self, how: str) -> Any:
        if self.kind.followed:
            self._noted(how)
        return self.value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._cell.escaped = True
        value = self._read("as an array")
        return np.array(value, dtype=dtype, copy=True) if copy else _asarray(value, dtype)

    def __bool__(self) -> bool:
        return bool(self._read("as a condition"))

    def __float__(self) -> float:
        return float(self._read("as a number"))

    def __int__(self) -> int:
        return int(self._read("as a number"))

    def __complex__(self) -> complex:
        return complex(self._read("as a number"))

    def __index__(self) -> int:
        return operator.index(self._read("as an index"))

    def __contains__(self, other: object) -> bool:
        return other in self._read("by `in`")

    def __repr__(self) -> str:
        return repr(self._read("as a text"))

    def __str__(self) -> str:
        return str(self._read("as a text"))

    def __format__(self, how: str) -> str:
        return format(self._read("as a text"), how)

    def __reduce__(self) -> Any:
        return self._read("in a copy of its own").__reduce__()

    def __getattr__(self, name: str) -> Any:
        """Methods that are functions of NumPy too are these; all else reads."""
        if name.startswith("__"):
            raise AttributeError(name)
        function = _METHODS.get(name)
        if function is not None:
            return partial(function, self)
        if name in _VIEWS:  # on numbers that may be private later
            self._noted(f"by `{name}`")
        self._cell.escaped = True
        return getattr(self._read(f"by `{name}`"), name)

    # ── what is public of it ────────────────────────────────────────────────────────────────────────
    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def size(self) -> int:
        return self.value.size

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def nbytes(self) -> int:
        return self.value.nbytes

    @property
    def itemsize(self) -> int:
        return self.value.itemsize

    @property
    def flags(self) -> Any:
        return self.value.flags

    def setflags(self, **flags: bool) -> None:
        self.value.setflags(**flags)

    def __len__(self) -> int:
        return len(self.value)

    # ── views and copies ────────────────────────────────────────────────────────────────────────────
    def _view(self, value: Any) -> "Followed":
        """An array on the same memory, or a copy of some."""
        if np.may_share_memory(value, self.value):
            return Followed(value, self.kind, self._noted, self._cell)
        whole = np.size(value) == self.size
        if not whole:
            _lost(self)
        return Followed(value, self.kind if whole else kinds.linear([self.kind]), self._noted)

    @property
    def T(self) -> "Followed":  # noqa: N802
        return self._view(self.value.T)

    @property
    def real(self) -> "Followed":
        return self._view(np.real(self.value))

    def __getitem__(self, at: Any) -> "Followed":
        plain, read = _plain_index(at)
        if read is not None:
            self._noted("as an index", fails=not any(map(_are_bools, _parts(plain))))
        found = self._view(self.value[plain])
        if not np.may_share_memory(found.value, self.value):
            places = np.arange(self.size).reshape(self.shape)[plain]
            if np.unique(places).size < self.size:
                found = Followed(found.value, kinds.linear([self.kind]), self._noted)
        return found if read is None else Followed(found.value, kinds.bent((self.kind, read)), self._noted)

    def __setitem__(self, at: Any, other: Any) -> None:
        plain, read = _plain_index(at)
        if read is not None:
            self._noted("as an index", fails=True)
        if _is(at) and at.dtype == bool and at.shape == self.shape and np.size(value_of(other)) == 1:
            left = _operand(self)
            self.value[plain] = _plain(other)
            self._put(self, at, other, left)
            return
        _lost(at, other)
        self.value[plain] = _plain(other)
        kind = kind_of(other) if read is None else kinds.bent((kind_of(other), read))
        kind = _no_larger(kind, self.value[plain], [other], linear=kind.what in _SUMMED)
        whole = plain is Ellipsis or (isinstance(plain, slice) and plain == slice(None))
        self._into(self, kind, whole=whole)

    def __iter__(self) -> Iterator["Followed"]:
        return (self[k] for k in range(len(self)))

    def __copy__(self) -> "Followed":
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Followed":
        memo[id(self)] = copied = self.copy()
        return copied

    def copy(self, order: Any = "C") -> "Followed":
        if self.size != self._cell.size:
            _lost(self)
        return Followed(self.value.copy(order), self.kind, self._noted)

    def astype(self, dtype: Any, **named: Any) -> "Followed":
        found = self.value.astype(dtype, **named)
        if found.dtype.kind in "OSUV":  # as long as the longest text
            self._noted("as objects")
        _lost(self)
        if np.may_share_memory(found, self.value):
            return self._view(found)
        if found.dtype == bool:
            self._asked(found, kinds.bent([self.kind]))
        if np.issubdtype(found.dtype, np.floating) and found.dtype.itemsize >= 8:
            return Followed(found, self.kind, self._noted)
        self._levels(found, kinds.bent([self.kind]))
        return Followed(found, kinds.bent([self.kind]), self._noted)

    def flatten(self, order: Any = "C") -> "Followed":
        return self.copy(order).reshape(-1, order=order)

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, *args: Any, **named: Any) -> None:
        self.value.sort(*args, **named)
        self._cell.written(kinds.bent([self.kind]), self.size)

    def reshape(self, *shape: Any, **named: Any) -> "Followed":
        return self._view(self.value.reshape(*shape, **named))

    def clip(self, min: Any = None, max: Any = None, **named: Any) -> "Followed":  # noqa: A002
        return np.clip(self, min, max, **named)  # type: ignore[call-overload]

    def transpose(self, *axes: Any) -> "Followed":
        return self._view(self.value.transpose(*axes))

    # ── NumPy's operations ──────────────────────────────────────────────────────────────────────────
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **named: Any) -> Any:
        if (
            all(set(types) <= set("O->") for types in ufunc.types)
            or not all(map(_has_numbers, [*inputs, *out, *named.values()]))
            or _RAISING & set(np.geterr().values())
            or any(kind_of(one).followed for name, one in named.items() if name not in _VALUES)
        ):
            self._noted("by a function of Python's, or an error")
        places = inputs[1:2] if method in ("at", "reduceat") else inputs if ufunc is np.power else ()
        if any(kind_of(one).followed for one in places) and not (ufunc is np.power and _are_fractions(inputs)):
            self._noted("by an error", fails=True)
        into = {"out": tuple(map(value_of, out))} if out else {}
        left = _operand(out[0]) if len(out) == 1 and _is(named.get("where")) else None
        found = getattr(ufunc, method)(*map(value_of, inputs), **{k: value_of(v) for k, v in named.items()}, **into)
        if method == "at":
            return self._into(inputs[0], _bent(*inputs))
        linear = ufunc in _LINEAR and all(kind_of(one).what in _SUMMED for one in inputs)
        if left is None:
            kind = _kind_of_ufunc(ufunc, method, inputs, named)
        else:  # some of the results, and the rest as it was
            done = Operand(_kind_of_ufunc(ufunc, method, inputs, {k: v for k, v in named.items() if k != "where"}))
            kind = kinds.chosen(kind_of(named["where"]), done, left)
        kind = _no_larger(kind, found, [*inputs, *named.values()], linear=linear)
        _lost(() if left is not None and kind.what is not What.BENT else named)
        _lost(() if kind.what in kinds.MASKS or ufunc in _ASKS else inputs)
        for one in inputs if kind.what is What.BENT else ():  # a clip of a size may be level
            if _is(one) and one.kind.what in _OF_SIZES:
                self._noted("a size", one.value)
        if _are_bools(found):
            if ufunc not in _GUARDS or any(kind_of(one).what is What.BENT for one in inputs):
                self._asked(found, kind)
        elif ufunc not in _SMOOTH or _of_masks(inputs):
            self._levels(found, kind)
        if not out:
            return _followed(found, kind, self._noted)
        if kind.what in kinds.MASKS:
            self._noted("", found)
        for one in out:
            self._into(one, kind, whole=left is not None or "where" not in named)
        made = [_followed(found[k], kind, self._noted) if one is None else one for k, one in enumerate(out)]
        return made[0] if len(made) == 1 else tuple(made)

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        operands, others = _parted(function, args, named)
        followed = any(kind_of(one).followed for one in _leaves([args, named]))
        if (function not in _SAFE and followed) or any(kind_of(one).followed for one in others):
            fails = function in _FAILING and not kind_of(named.get("axis")).followed
            self._noted("by how many there are, or by an error", fails=fails)
        if not all(map(_has_numbers, [*operands, *others])):
            self._noted("by a function of Python's")
        done, left = np.zeros_like if function is np.empty_like else function, _operand(args[0] if args else None)
        found, given = done(*_plain(args), **_plain(named)), list(_leaves([args, named]))
        if function in _SHAPES:
            return found
        if function in _WRITES:
            target = args[0] if args else named[_WRITES[function]]
            if function is np.copyto and _is(target) and _is(named.get("where")):
                values = args[1] if len(args) > 1 else named["src"]
                return self._put(target, named["where"], values, left)
            _lost(*given)
            return self._into(target, _bent(args, named))
        written = [] if function in _SAME_VALUES else [one for one in given if one is found or value_of(one) is found]
        for one in written:  # into what it is given
            _lost(*given)
            self._into(one, _bent(args, named))
        if written:
            return next((one for one in written if _is(one)), found)
        kind = _kind_of_function(function, args, named)
        if function in _LEVELS or _of_masks(given):
            self._levels(found, kind)
        if function is np.where and _is(args[0]) and args[0].dtype != bool:
            self._asked(args[0].value != 0, args[0].kind)
        if function is not np.stack:  # whose numbers are all of different ones
            own = [args[1] if len(args) > 1 else named["fill_value"]] if function is np.full_like else given
            kind = _no_larger(kind, found, own, linear=function not in (np.clip, np.where))
        self._asked(found, kind)
        if not _are_bools(found) and (function is not np.where or kind.what is What.BENT):
            _lost(given)
        return _followed(found, kind, self._noted, given)

    def _put(self, target: Any, mask: Any, values: Any, left: Operand) -> None:
        """Some of these values are written into an array, as a mask has it."""
        kind = kinds.chosen(mask.kind, _operand(values), left)
        if kind.what is What.BENT or np.size(values) not in (1, target.size):
            _lost(mask, values)
            kind = _bent(target, mask, values)
        self._into(target, kind, whole=True)

    def _into(self, target: Any, kind: Kind, *, whole: bool = False) -> None:
        """Something of this kind is written into an array, or over the whole of it."""
        if _is(target):
            kind = kind if target.dtype == np.float64 else kinds.bent([kind])
            if kind.followed and target._cell.escaped:
                self._noted("into an array that is not followed everywhere")
            target._cell.written(kind, target.size if whole and not _repeats(target.value) else 0)
        elif isinstance(target, np.ndarray) and kind.followed:
            self._noted("into an array that cannot be followed")

    def _asked(self, found: Any, kind: Kind) -> None:
        """Note the answers to what was asked of each number, unless it is about a clip."""
        if kind.what in (What.BENT, What.SEEN) and _are_bools(found):
            self._noted("", found)

    def _levels(self, found: Any, kind: Kind) -> None:
        """Note what a function made of private numbers: one number of all may be another elsewhere."""
        if kind.what is What.BENT and not isinstance(found, tuple | list) and _asarray(found).dtype.kind in "iuf":
            self._noted("a level", found)


def _are_bools(found: Any) -> bool:
    return all(_asarray(value_of(one)).dtype == bool for one in _leaves(found))


def _are_fractions(given: Sequence[Any]) -> bool:
    """Whether any has fractions: no power of a whole number is one."""
    return any(_asarray(value_of(one)).dtype.kind not in "bui" for one in given)


def _of_masks(given: Iterable[Any]) -> bool:
    """Whether numbers are made of masks, such as how many of them hold."""
    return any(_is(one) and one.dtype == bool and one.kind.followed for one in _leaves(list(given)))


def _repeats(value: Any) -> bool:
    """Whether a view has numbers of its memory twice."""
    return any(step == 0 and many > 1 for step, many in zip(value.strides, value.shape, strict=True))


def _lost(*given: Any) -> None:
    """Masks end here, in what is no clip: note the answers in them."""
    for one in _leaves(given):
        if _is(one) and one._cell.kind.what in kinds.MASKS:
            one._noted("a mask", one.value)


# ── operands ────────────────────────────────────────────────────────────────────────────────────────────
def _is(value: object) -> bool:
    return type(value) is Followed


def value_of(value: Any) -> Any:
    """Its plain numbers, if it is followed."""
    return value.value if _is(value) else value


def kind_of(value: Any) -> Kind:
    """Of what kind a value is, or those of a list."""
    if _is(value):
        return value.kind
    if isinstance(value, list | tuple | deque):
        return kinds.joined([kind_of(one) for one in cast("Sequence[Any]", value)])
    return PUBLIC


def _plain(value: Any) -> Any:
    """The same with the numbers of what is followed, within lists and mappings too."""
    if _is(value):
        return value.value
    if isinstance(value, list | tuple | deque):
        plain = list(map(_plain, cast("Sequence[Any]", value)))
        return tuple(plain) if isinstance(value, tuple) else plain
    if type(value) is dict:
        return {name: _plain(one) for name, one in cast("Mapping[str, object]", value).items()}
    return value


def _parts(at: Any) -> Sequence[Any]:
    return cast("tuple[Any, ...]", at) if isinstance(at, tuple) else (at,)


def _plain_index(at: Any) -> tuple[Any, Kind | None]:
    """An index in plain numbers, and of what kind these are, if they are followed."""
    kind = kinds.bent([kind_of(one) for one in _parts(at)])
    return _plain(at), kind if kind.followed else None


def _operand(value: Any) -> Operand:
    kind = kind_of(value)
    if kind.followed:
        return Operand(kind)
    plain = _asarray(_plain(value))
    numbers = plain.dtype.kind in "biuf"
    number = float(plain.flat[0]) if numbers and plain.size == 1 else math.nan
    sizes = np.abs(plain[plain != 0].astype(np.float64)) if numbers else np.ones(0)
    span = float(np.max(np.abs(np.log10(sizes)), initial=0.0)) if np.all(np.isfinite(sizes)) else math.inf
    positive = numbers and bool(np.all(plain >= 0))
    return Operand(kind, positive, numbers and not np.any(plain), plain.size == 1, number, span)


def _no_larger(kind: Kind, found: Any, given: Any, *, linear: bool) -> Kind:
    """Of a result that has more numbers than what it is made of: several may be of one number, each with a threshold
    of its own, which together are no clip. What is `linear` stays so."""
    if kind.what in _OF_SIZES and not any(kind_of(one).what in _OF_NUMBERS for one in _leaves(given)):
        return kind
    own = [one for one in _leaves(given) if _is(one) and one.kind.followed]
    numbers = [one for one in own if one.kind.what is What.AFFINE]
    most = max((one.size for one in numbers or own), default=0)
    if kind.what in (What.PUBLIC, What.SEEN) or max(map(np.size, _leaves(found)), default=0) <= most:
        return kind
    return kinds.linear([kind]) if linear else BENT


def _has_numbers(value: Any) -> bool:
    """Whether it is a number, or an array or lists of such: no object that is handed them."""
    if _is(value) or isinstance(value, np.ndarray):
        return _asarray(value_of(value)).dtype != object
    if isinstance(value, list | tuple | deque):
        return all(map(_has_numbers, cast("Sequence[Any]", value)))
    plain = slice | range | bool | int | float | complex | str | np.generic | type | np.dtype
    return value is None or value is Ellipsis or isinstance(value, plain)


def _followed(found: Any, kind: Kind, noted: Noted, given: Iterable[Any] = ()) -> Any:
    """What an operation gave, on the memory of what it was `given` where it shares that; on memory that is not
    followed, that."""
    if isinstance(found, tuple | list):
        some = list(given)
        parts = [_followed(one, kind, noted, some) for one in cast("Sequence[Any]", found)]
        if not isinstance(found, tuple):
            return parts
        made: Any = getattr(cast(Any, found), "_make", tuple)
        return made(parts)
    if kind.what in _NUMBERS and _asarray(found).dtype != np.float64:
        kind = kinds.bent([kind])
    for one in given:
        if isinstance(value_of(one), np.ndarray) and np.may_share_memory(value_of(one), found):
            if not _is(one):
                return found
            if kind.what is What.BENT:
                one._cell.written(kind, 0)
            return Followed(found, kind, noted, one._cell)
    return Followed(found, kind, noted)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple | deque):
        for one in cast("Sequence[Any]", value):
            yield from _leaves(one)
    elif isinstance(value, dict):
        yield from _leaves(list(cast("Mapping[str, object]", value).values()))
    else:
        yield value


# ── rules ───────────────────────────────────────────────────────────────────────────────────────────────
def _itself(a: Operand) -> Kind:
    return a.kind


_PAIRS: dict[Any, Callable[[Operand, Operand], Kind]] = {
    np.add: kinds.plus, np.subtract: kinds.minus, np.divide: kinds.over,
    np.maximum: kinds.bounded, np.minimum: kinds.bounded,
    np.greater: kinds.compared, np.greater_equal: kinds.compared, np.less: kinds.compared,
    np.less_equal: kinds.compared, np.equal: kinds.equal, np.not_equal: kinds.equal,
}  # fmt: skip
_ASKS = frozenset(
    [
        np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, np.logical_and, np.logical_or,
        np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.signbit,
    ]
)  # fmt: skip
_CASTS = frozenset(["dtype", "casting", "signature", "sig"])
_GUARDS = np.isnan, np.isinf, np.isfinite
"""Questions that a run asks to end well."""
_SMOOTH = frozenset(
    [
        np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive, np.conjugate, np.absolute, np.fabs,
        np.matmul, np.square, np.sqrt, np.reciprocal,
    ]
)  # fmt: skip
"""Functions that are nowhere level."""
_SINGLES: dict[Any, Callable[[Operand], Kind]] = {
    np.absolute: kinds.absolute, np.fabs: kinds.absolute, np.square: kinds.square, np.sqrt: kinds.root,
    np.negative: lambda a: a.kind if a.what in (What.PUBLIC, What.SEEN, What.AFFINE) else BENT,
    np.positive: _itself, np.conjugate: _itself, np.reciprocal: kinds.inverse,
}  # fmt: skip


_LINEAR = frozenset([np.add, np.subtract, np.multiply, np.divide, np.matmul])
_SUMMED = What.PUBLIC, What.SEEN, What.AFFINE
_VALUES = frozenset(["where", "initial", "out"])
"""Arguments by name that decide numbers, and no form."""
_POWERS = {2.0: kinds.square, 0.5: kinds.root, -1.0: kinds.inverse, 1.0: _itself}


def _bilinear(inputs: Sequence[Any]) -> Kind:
    """Of a sum of products of one number of each."""
    some = [kind_of(one) for one in inputs if kind_of(one).followed]
    return kinds.linear(some) if len(some) == 1 and some[0].what is What.AFFINE else kinds.bent(some)


def _reduced(a: Any, named: Mapping[str, object]) -> Kind:
    """Of a sum or mean of some of its numbers."""
    kind = kind_of(a)
    if kind.what is What.AFFINE:
        return kinds.linear([kind])
    sizes = kind.what in (What.ABSOLUTE, What.SQUARE) and not _VALUES & named.keys()
    return kinds.size_of(_operand(a)) if sizes else _bent(a)


def _largest(a: Any, named: Mapping[str, object]) -> Kind:
    sizes = kind_of(a).what is What.ABSOLUTE and not _VALUES & named.keys()
    return kinds.size_of(_operand(a)) if sizes else _bent(a)


def _are_one(a: Any, b: Any) -> bool:
    """Whether two followed arrays are the same numbers in the same places."""
    one, other = (value_of(x).__array_interface__ for x in (a, b))
    return all(one[name] == other[name] for name in ("data", "shape", "strides"))


def _squared(a: Any, b: Any) -> Kind:
    """Of the products of pairs."""
    twice = kind_of(a).what is kind_of(b).what is What.AFFINE
    return BENT if twice and not _are_one(a, b) else kinds.times(_operand(a), _operand(b))


def _bent(*args: Any) -> Kind:
    return kinds.bent([kind_of(one) for one in _leaves(args)])


def _kind_of_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], named: Mapping[str, object]) -> Kind:
    dtype = cast(Any, named.get("dtype"))
    narrowed = bool(_CASTS & named.keys()) and (dtype is None or np.dtype(dtype) != np.float64)
    if narrowed or any(kind_of(named.get(name)).followed for name in ("where", "initial")):
        return _bent(*inputs, *named.values())
    if method == "__call__":
        if ufunc is np.multiply:
            return _squared(*inputs)
        if ufunc in _PAIRS:
            return _PAIRS[ufunc](*map(_operand, inputs))
        if ufunc in _SINGLES:
            return _SINGLES[ufunc](_operand(inputs[0]))
        if ufunc in (np.power, np.float_power):
            rule = _POWERS.get(_operand(inputs[1]).number)
            return rule(_operand(inputs[0])) if rule is not None else _bent(*inputs)
        if ufunc is np.matmul:
            return _bilinear(inputs)
    elif method in ("reduce", "accumulate") and ufunc is np.add:
        return _reduced(inputs[0], named)
    elif method == "reduce" and ufunc is np.maximum:
        return _largest(inputs[0], named)
    return _bent(*inputs)


_SAME_VALUES = frozenset(
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
_PADS = "constant", "edge", "wrap", "reflect", "symmetric"
_SUMS = frozenset([np.sum, np.mean, np.cumsum, np.trace])
_DIFFERENCES = frozenset([np.diff, np.ediff1d])
_PRODUCTS = frozenset([np.dot, np.matmul, np.inner, np.outer, np.tensordot, np.vdot, np.kron, np.cross])
_LEVELS = frozenset(
    [
        np.interp, np.searchsorted, np.digitize, np.argmax, np.argmin, np.argsort, np.argpartition, np.round,
        np.around, np.fix, np.count_nonzero, np.clip, np.nan_to_num, np.sinc, np.i0,
    ]
)  # fmt: skip
"""Functions that may be level where all transcripts are."""
_SHAPES = frozenset([np.shape, np.ndim, np.size, np.result_type, np.may_share_memory, np.shares_memory])
_LARGEST, _EINSUM, _AVERAGE = frozenset([np.max, np.amax]), np.einsum, np.average
_VIEWS = frozenset(["view", "flat", "data", "base", "ctypes", "getfield", "byteswap", "newbyteorder"])
_RAISING = {"raise", "call", "warn", "print", "log"}
"""What code can see of an error; a reading ignores all."""
_OF_SIZES = What.SIZE, What.FACTOR, What.GATE, What.GATED, What.ZERO
_OF_NUMBERS = What.AFFINE, What.ABSOLUTE, What.SQUARE, What.SIDE
_NUMBERS = What.AFFINE, What.ABSOLUTE, What.SQUARE, What.SIZE, What.FACTOR, What.GATED
_NEW = frozenset([np.zeros_like, np.ones_like])
_NORMS = frozenset([np.linalg.norm, *([np.linalg.vector_norm] if hasattr(np.linalg, "vector_norm") else [])])
_WRITES = {
    np.copyto: "dst", np.put: "a", np.place: "arr", np.putmask: "a", np.put_along_axis: "arr", np.fill_diagonal: "a",
}  # fmt: skip
"""Functions that write into an argument, and its name."""


_SAFE = _SAME_VALUES | _ARRANGED | _SUMS | _DIFFERENCES | _PRODUCTS | _SHAPES | _LARGEST | _NEW | _NORMS | frozenset(
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
_FAILING = frozenset(
    [np.take, np.put, np.take_along_axis, np.put_along_axis, np.linalg.solve, np.percentile, np.quantile, np.digitize,
     np.partition, np.argpartition, np.average, np.roll]
)  # fmt: skip
"""Functions of which other arguments decide no form, but may make them fail."""
_NAMED = _VALUES | frozenset(
    [
        "a", "x", "arr", "array", "ary", "m", "v", "A", "b", "y", "fill_value", "a_min", "a_max", "min", "max",
        "values", "vals", "val", "src", "dst", "default", "xp", "fp",
    ]
)  # fmt: skip
"""Names of operands."""


def _parted(function: Any, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """The operands of a function, and its other arguments."""
    at = _OPERANDS.get(function, _FIRST)
    operands = [one for k, one in enumerate(args) if k in at]
    others = [one for k, one in enumerate(args) if k not in at]
    if function is np.where and len(args) < 3:  # by how many there are
        operands, others = [], [*args]
    for name, one in named.items():
        (operands if name in _NAMED and function is not np.linalg.solve else others).append(one)
    return operands, others


def _kind_of_function(function: Any, args: Sequence[Any], named: Mapping[str, object]) -> Kind:
    first = args[0] if args else next(iter(named.values()), None)
    others = [*args[1:], *named.values()]
    if function in _NEW:
        return PUBLIC
    if function is np.full_like:
        return kind_of(args[1] if len(args) > 1 else named["fill_value"])
    if function is np.where and len(args) == 3:
        return kinds.chosen(kind_of(args[0]), *map(_operand, args[1:]))
    if function is _EINSUM:
        return _kind_of_einsum(args)
    if function is np.nan_to_num and not others and kind_of(first).what is What.FACTOR:
        return kind_of(first)  # where a size is 0
    if function is np.linalg.solve and not kind_of(args[0]).followed:
        return kinds.joined([kind_of(args[1]), PUBLIC])
    if function is np.clip and not any(kind_of(one).followed for one in _leaves(others)):
        return kinds.bounded(_operand(first), Operand(PUBLIC))
    if function in _PRODUCTS:
        return _bilinear(args[:2])
    if any(kind_of(one).followed for one in _leaves(others)) and function not in _JOINED:
        return _bent(args, named)
    if function in _SAME_VALUES:
        return kind_of(first)
    if function is np.pad and named.get("mode", args[2] if len(args) > 2 else "constant") not in _PADS:
        return _bent(args, named)
    if function is np.stack:
        return kinds.stacked([kind_of(one) for one in _leaves(first)])
    if function in _ARRANGED:
        return kinds.joined([*(kind_of(one) for one in _leaves([first, *others])), PUBLIC])
    if function in _SUMS:
        return _reduced(first, named)
    if function in _DIFFERENCES or (function is _AVERAGE and "weights" in named):
        return kinds.linear([kind_of(first)]) if kind_of(first).what is What.AFFINE else _bent(args, named)
    if function in _NORMS:
        order = named.get("ord", args[1] if len(args) > 1 and function is np.linalg.norm else None)
        grows = order is None or order == "fro" or (isinstance(order, int | float) and order >= 1)
        return kinds.size_of(_operand(first)) if grows else _bent(first)
    if function in _LARGEST:
        return _largest(first, named)
    return _bent(args, named)


def _kind_of_einsum(args: Sequence[Any]) -> Kind:
    """A product of one followed array with public ones; or a sum of squares."""
    if not isinstance(args[0], str):
        return _bent(args)
    given, _, wanted = args[0].replace(" ", "").partition("->")
    parts = given.split(",")
    if len(args) == 3 and len(set(parts)) == 1 and wanted and set(wanted) <= set(parts[0]):
        product = _squared(*args[1:]) if all(map(_is, args[1:])) else BENT
        if product.what is What.SQUARE:
            return kinds.size_of(Operand(product))
    return _bilinear(args[1:])


_METHODS: dict[str, Callable[..., Any]] = {
    name: getattr(np, name)
    for name in (
        "sum", "mean", "max", "min", "std", "var", "prod", "any", "all", "argmax", "argmin", "argsort", "cumsum",
        "dot", "ravel", "swapaxes", "squeeze", "repeat", "take", "round", "trace", "diagonal", "nonzero",
        "searchsorted", "conj",
    )
}  # fmt: skip


_MADE = ("array", "asarray", "asanyarray", "ascontiguousarray")
_OF_LISTS = (
    "sum", "mean", "median", "max", "min", "amax", "amin", "std", "var", "sort", "prod", "average", "percentile",
    "quantile", "abs", "any", "all", "argmax", "argmin", "argsort", "cumsum", "einsum", "dot", "array_equal",
)  # fmt: skip
"""Functions that are often given lists of arrays, which NumPy makes arrays of without asking anybody."""


@contextmanager
def arrays_followed() -> Generator[None]:
    """NumPy's makers of arrays, which it hands to nobody, follow what they are given, too.

    Those of empty ones do not: compiled code of NumPy's calls them, too, and takes what they make for its own.
    """

    def made_by(make: Any) -> Callable[..., Any]:
        @wraps(make)
        def made(given: Any, *args: Any, **named: Any) -> Any:
            one = next((one for one in _leaves(given) if _is(one)), None)
            if one is None:
                return make(given, *args, **named)
            kind = given.kind if _is(given) else kinds.stacked([kind_of(one) for one in _leaves(given)])
            found = make(_plain(given), *args, **named)
            if not _is(given):
                _lost(given)
            if _asarray(found).dtype == bool and kind.what is What.BENT:
                one._noted("", found)
            return _followed(found, kind, one._noted, [given])

        return made

    make = made_by(np.array)

    def of_arrays(function: Any) -> Callable[..., Any]:
        @wraps(function)
        def done(*args: Any, **named: Any) -> Any:
            lists = (isinstance(one, list | tuple) and any(map(_is, _leaves(one))) for one in args)
            return function(
                *(make(one) if is_list else one for one, is_list in zip(args, lists, strict=True)), **named
            )

        return done

    ways: dict[str, Callable[[Any], Callable[..., Any]]] = dict.fromkeys(_OF_LISTS, of_arrays)
    ways |= dict.fromkeys(_MADE, made_by)
    before = {name: getattr(np, name) for name in ways}
    try:
        for name, function in before.items():
            setattr(np, name, ways[name](function))
        yield
    finally:
        for name, function in before.items():
            setattr(np, name, function)
