"""Arrays that know of what kind their values are, and note where Python asks what these are.

NumPy hands them its own operations, each of which gives another one. Whatever asks for the numbers themselves (an
`if`, `float`, an index, a text, a library) is a *reading*: what the code does then depends on them. It gets the
numbers, and goes on as it does in a run.
"""

import operator
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, Protocol, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from attacks.audit.followed import kinds, rules
from attacks.audit.followed.kinds import Kind, Operand, What
from attacks.audit.followed.operands import (
    Held,
    are_bools,
    are_fractions,
    asarray,
    has_numbers,
    is_followed,
    is_private,
    kind_of,
    leaves,
    of_masks,
    operand,
    parts_of,
    plain_index,
    plain_of,
    value_of,
)

AS_A_MASK, AS_A_FACTOR = "as a mask", "as a factor of what is private"
"""Two ways to read."""
LEVEL, SIZE = "a level", "a size"
"""Of what numbers it is noted which they are: not of masks."""


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


class Followed(NDArrayOperatorsMixin, Held):
    """An array of values of one kind, for whom it is an `ndarray`."""

    __slots__ = ("_cell", "_noted")
    __array_priority__ = 1e6
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, kind: Kind, noted: Noted, cell: _Cell | None = None) -> None:
        self._numbers, self._noted = asarray(value_of(value)), noted
        self._cell = cell or _Cell(kind, self._numbers.size)

    @property
    def __class__(self) -> type:  # type: ignore[override]
        """For code that asks whether it is an array. (Not of a number: C reads what says that it is one.)"""
        return np.ndarray

    @property
    def _kind(self) -> Kind:
        """That of its memory; of a part of it, or of some of it twice, what holds of any numbers there."""
        kind = self._cell.kind
        if self._numbers.size == self._cell.size and not _repeats(self._numbers):
            return kind
        return kinds.linear([kind])

    # ── what is read ────────────────────────────────────────────────────────────────────────────────
    def _read(self, how: str) -> Any:
        if self._kind.followed:
            self._noted(how)
        return self._numbers

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._cell.escaped = True
        value = self._read("as an array")
        return np.array(value, dtype=dtype, copy=True) if copy else asarray(value, dtype)

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
        if not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        if name in _VIEWS:  # on numbers that may be private later
            self._noted(f"by `{name}`")
        self._cell.escaped = True
        return getattr(self._read(f"by `{name}`"), name)

    # ── what is public of it ────────────────────────────────────────────────────────────────────────
    @property
    def shape(self) -> tuple[int, ...]:
        return self._numbers.shape

    @property
    def ndim(self) -> int:
        return self._numbers.ndim

    @property
    def size(self) -> int:
        return self._numbers.size

    @property
    def dtype(self) -> Any:
        return self._numbers.dtype

    @property
    def nbytes(self) -> int:
        return self._numbers.nbytes

    @property
    def itemsize(self) -> int:
        return self._numbers.itemsize

    @property
    def flags(self) -> Any:
        return self._numbers.flags

    def setflags(self, **flags: bool) -> None:
        self._numbers.setflags(**flags)

    def __len__(self) -> int:
        return len(self._numbers)

    # ── views and copies ────────────────────────────────────────────────────────────────────────────
    def _view(self, value: Any) -> "Followed":
        """An array on the same memory, or a copy of some."""
        if np.may_share_memory(value, self._numbers):
            return Followed(value, self._kind, self._noted, self._cell)
        whole = np.size(value) == self.size
        if not whole:
            _lost(self)
        return Followed(value, self._kind if whole else kinds.linear([self._kind]), self._noted)

    @property
    def T(self) -> "Followed":  # noqa: N802
        return self._view(self._numbers.T)

    @property
    def real(self) -> "Followed":
        return self._view(np.real(self._numbers))

    def __getitem__(self, at: Any) -> "Followed":
        plain, read = plain_index(at)
        if read is not None:
            masks = any(map(are_bools, parts_of(plain)))
            self._noted(AS_A_MASK if masks else "as an index", fails=not masks)
        found = self._view(self._numbers[plain])
        if not np.may_share_memory(found._numbers, self._numbers):
            places = np.arange(self.size).reshape(self.shape)[plain]
            if np.unique(places).size < self.size:
                found = Followed(found._numbers, kinds.linear([self._kind]), self._noted)
        if read is None:
            return found
        kind = kinds.bent((self._kind, read))
        self._weighed(kind, [self, at])
        return Followed(found._numbers, kind, self._noted)

    def __setitem__(self, at: Any, other: Any) -> None:
        plain, read = plain_index(at)
        if read is not None:
            self._noted("as an index", fails=True)
        self._may_be_seen(other)
        if is_followed(at) and at.dtype == bool and at.shape == self.shape and np.size(value_of(other)) == 1:
            left = operand(self)
            self._numbers[plain] = plain_of(other)
            self._put(self, at, other, left)
            return
        _lost(at, other)
        self._numbers[plain] = plain_of(other)
        kind = kind_of(other) if read is None else kinds.bent((kind_of(other), read))
        self._weighed(kind, [] if read is None else [self, at, other])
        kind = rules.no_larger(kind, self._numbers[plain], [other], linear=kind.what in rules.SUMMED)
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
        return Followed(self._numbers.copy(order), self._kind, self._noted)

    def astype(self, dtype: Any, **named: Any) -> "Followed":
        self._may_be_seen(self)
        found = self._numbers.astype(dtype, **named)
        if found.dtype.kind in "OSUV":  # as long as the longest text
            self._noted("as objects")
        _lost(self)
        if np.may_share_memory(found, self._numbers):
            return self._view(found)
        if found.dtype == bool:
            self._asked(found, kinds.bent([self._kind]))
        if np.issubdtype(found.dtype, np.floating) and found.dtype.itemsize >= 8:
            return Followed(found, self._kind, self._noted)
        self._levels(found, kinds.bent([self._kind]))
        return Followed(found, kinds.bent([self._kind]), self._noted)

    def flatten(self, order: Any = "C") -> "Followed":
        return self.copy(order).reshape(-1, order=order)

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, *args: Any, **named: Any) -> None:
        self._numbers.sort(*args, **named)
        self._cell.written(kinds.bent([self._kind]), self.size)

    def reshape(self, *shape: Any, **named: Any) -> "Followed":
        return self._view(self._numbers.reshape(*shape, **named))

    def clip(self, min: Any = None, max: Any = None, **named: Any) -> "Followed":  # noqa: A002
        return np.clip(self, min, max, **named)  # type: ignore[call-overload]

    def transpose(self, *axes: Any) -> "Followed":
        return self._view(self._numbers.transpose(*axes))

    # ── NumPy's operations ──────────────────────────────────────────────────────────────────────────
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **named: Any) -> Any:
        if (
            rules.of_objects(ufunc)
            or not all(map(has_numbers, [*inputs, *out, *named.values()]))
            or any(kind_of(one).followed for name, one in named.items() if name not in rules.VALUES)
        ):
            self._noted("by a function of Python's, or an error")
        self._may_be_seen(inputs, out, named)
        places = inputs[1:2] if method in ("at", "reduceat") else inputs if ufunc is np.power else ()
        if any(kind_of(one).followed for one in places) and not (ufunc is np.power and are_fractions(inputs)):
            self._noted("by an error", fails=True)
        into = {"out": tuple(map(value_of, out))} if out else {}
        left = operand(out[0]) if len(out) == 1 and is_followed(named.get("where")) else None
        found = getattr(ufunc, method)(*map(value_of, inputs), **{k: value_of(v) for k, v in named.items()}, **into)
        if method == "at":
            if ufunc not in rules.SUMS_OF_TWO:
                self._weighed(rules.bent(*inputs), inputs)
            return self._into(inputs[0], rules.bent(*inputs))
        linear = ufunc in rules.LINEAR and all(kind_of(one).what in rules.SUMMED for one in inputs)
        if left is None:
            kind = rules.of_ufunc(ufunc, method, inputs, named)
        else:  # some of the results, and the rest as it was
            done = Operand(rules.of_ufunc(ufunc, method, inputs, {k: v for k, v in named.items() if k != "where"}))
            kind = kinds.chosen(kind_of(named["where"]), done, left)
        kind = rules.no_larger(kind, found, [*inputs, *named.values()], linear=linear)
        _lost(() if left is not None and kind.what is not What.BENT else named)
        _lost(() if kind.what in kinds.MASKS or are_bools(found) else inputs)
        for one in inputs if kind.what is What.BENT else ():  # a clip of a size may be level
            if is_followed(one) and one._kind.what in rules.OF_SIZES:
                self._noted(SIZE, one._numbers)
        if are_bools(found):
            if ufunc not in rules.GUARDS or any(kind_of(one).what is What.BENT for one in inputs):
                self._asked(found, kind)
        elif ufunc not in rules.SMOOTH or of_masks(inputs) or (ufunc is np.subtract and all(map(is_private, inputs))):
            self._levels(found, kind)
        if ufunc not in rules.SUMS_OF_TWO and not are_bools(inputs):
            self._weighed(kind, inputs, together=ufunc is np.multiply and method != "__call__")
        if not out:
            return _followed(found, kind, self._noted)
        if kind.what in kinds.MASKS:
            self._noted("", found)
        for one in out:
            self._into(one, kind, whole=left is not None or "where" not in named)
        made = [_followed(found[k], kind, self._noted) if one is None else one for k, one in enumerate(out)]
        return made[0] if len(made) == 1 else tuple(made)

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        operands, others = rules.parted(function, args, named)
        followed = any(kind_of(one).followed for one in leaves([args, named]))
        if (function not in rules.SAFE and followed) or any(kind_of(one).followed for one in others):
            fails = function in rules.FAILING and not kind_of(named.get("axis")).followed
            self._noted("by how many there are, or by an error", fails=fails)
        if not all(map(has_numbers, [*operands, *others])):
            self._noted("by a function of Python's")
        self._may_be_seen(args, named)
        if named.get("overwrite_input") or len(args) > rules.SORTS.get(function, len(args)):
            self._into(args[0] if args else named["a"], rules.bent(args, named))
        done, left = np.zeros_like if function is np.empty_like else function, operand(args[0] if args else None)
        found, given = done(*plain_of(args), **plain_of(named)), leaves([args, named])
        if function in rules.SHAPES:
            return found
        if function in rules.WRITES:
            target = args[0] if args else named[rules.WRITES[function]]
            if function is np.copyto and is_followed(target) and is_followed(named.get("where")):
                values = args[1] if len(args) > 1 else named["src"]
                return self._put(target, named["where"], values, left)
            _lost(*given)
            kind = rules.bent(args, named)
            self._weighed(kind, given if function in rules.PLACED else ())
            return self._into(target, kind)
        written = [one for one in given if one is found or value_of(one) is found]
        written = [] if function in rules.SAME_VALUES else written
        for one in written:  # into what it is given
            _lost(*given)
            self._into(one, rules.bent(args, named))
        if written:
            return next((one for one in written if is_followed(one)), found)
        kind = rules.of_function(function, args, named)
        if function in rules.LEVELS or of_masks(given):
            self._levels(found, kind)
        if function is np.interp and any(map(is_private, operands)):
            self._noted("by a table")
        if function not in rules.BESIDE and not are_bools(given):
            self._weighed(kind, given, together=function in rules.TOGETHER)
        if function is np.where and is_followed(args[0]) and args[0].dtype != bool:
            self._asked(args[0]._numbers != 0, args[0]._kind)
        if function is not np.stack:  # whose numbers are all of different ones
            own = [args[1] if len(args) > 1 else named["fill_value"]] if function is np.full_like else given
            kind = rules.no_larger(kind, found, own, linear=function not in (np.clip, np.where))
        self._asked(found, kind)
        if not are_bools(found) and (function is not np.where or kind.what is What.BENT):
            _lost(given)
        return _followed(found, kind, self._noted, given)

    def _weighed(self, kind: Kind, given: Iterable[Any], *, together: bool = False) -> None:
        """Note where what was seen weighs private numbers, bounds them, or is compared with them: at what is hardly
        ever seen it may do so in any way. `together`: all numbers of an array weigh each other, whatever they are."""
        some = leaves(list(given))
        seen = together or any(kind_of(x).what is What.SEEN for x in some)
        if kind.what is What.BENT and seen and any(map(is_private, some)):
            self._noted(AS_A_FACTOR)

    def _may_be_seen(self, *given: Any) -> None:
        """Note an operation where code can see an error of NumPy's, or is told of one: a reading ignores all."""
        shown = _SHOWN & set(np.geterr().values())
        if shown and any(kind_of(one).followed for one in leaves(given)):
            self._noted("by an error", fails=shown == {"raise"})

    def _put(self, target: Any, mask: Any, values: Any, left: Operand) -> None:
        """Some of these values are written into an array, as a mask has it."""
        kind = kinds.chosen(mask._kind, operand(values), left)
        if kind.what is What.BENT or np.size(values) not in (1, target.size):
            _lost(mask, values)
            kind = rules.bent(target, mask, values)
        self._into(target, kind, whole=True)

    def _into(self, target: Any, kind: Kind, *, whole: bool = False) -> None:
        """Something of this kind is written into an array, or over the whole of it."""
        if is_followed(target):
            kind = kind if target.dtype == np.float64 else kinds.bent([kind])
            if kind.followed and target._cell.escaped:
                self._noted("into an array that is not followed everywhere")
            target._cell.written(kind, target.size if whole and not _repeats(target._numbers) else 0)
        elif isinstance(target, np.ndarray) and kind.followed:
            self._noted("into an array that cannot be followed")

    def _asked(self, found: Any, kind: Kind) -> None:
        """Note the answers to what was asked of each number, unless it is about a clip."""
        if kind.what in (What.BENT, What.SEEN) and are_bools(found):
            self._noted("", found)

    def _levels(self, found: Any, kind: Kind) -> None:
        """Note what a function made of private numbers: one number of all may be another elsewhere."""
        if kind.what is What.BENT and not isinstance(found, tuple | list) and asarray(found).dtype.kind in "iuf":
            self._noted(LEVEL, found)


def _repeats(value: Any) -> bool:
    """Whether a view has numbers of its memory twice."""
    return 0 in value.strides and any(n > 1 for step, n in zip(value.strides, value.shape, strict=True) if step == 0)


def _lost(*given: Any) -> None:
    """Masks end here, in what is no clip: note the answers in them."""
    for one in leaves(given):
        if is_followed(one) and one._cell.kind.what in kinds.MASKS:
            one._noted("a mask", one._numbers)


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
    if kind.what not in kinds.MASKS and asarray(found).dtype != np.float64:
        kind = kinds.bent([kind])
    for one in given:
        if isinstance(value_of(one), np.ndarray) and np.may_share_memory(value_of(one), found):
            if not is_followed(one):
                return found
            if kind.what is What.BENT:
                one._cell.written(kind, 0)
            return Followed(found, kind, noted, one._cell)
    return Followed(found, kind, noted)


_VIEWS = frozenset(["view", "flat", "data", "base", "ctypes", "getfield", "byteswap", "newbyteorder"])
_SHOWN = {"raise", "call", "warn", "print", "log"}
"""What NumPy may do at an error, but to go on."""

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
            one = next((one for one in leaves(given) if is_followed(one)), None)
            if one is None:
                return make(given, *args, **named)
            kind = given._kind if is_followed(given) else kinds.stacked([kind_of(one) for one in leaves(given)])
            one._may_be_seen(given)
            found = make(plain_of(given), *args, **named)
            if not is_followed(given):
                _lost(given)
            if asarray(found).dtype == bool and kind.what is What.BENT:
                one._noted("", found)
            return _followed(found, kind, one._noted, [given])

        return made

    make = made_by(np.array)

    def of_arrays(function: Any) -> Callable[..., Any]:
        @wraps(function)
        def done(*args: Any, **named: Any) -> Any:
            lists = (isinstance(one, list | tuple) and any(map(is_followed, leaves(one))) for one in args)
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
