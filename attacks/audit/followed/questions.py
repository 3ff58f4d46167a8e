"""Code that is no more than a question: nothing of what it asks is kept anywhere when it is answered.

Every name in it has to be a number, a text, a list of such, an array, or a function or module that is known: none is
of a class of somebody's own, whose operators may keep what they are handed, and none is an iterator, which shows
later how far it was taken. Then whatever is made of them is such a value again, and only calls may write into one.
"""

import ast
import builtins
import inspect
import math
from collections import deque
from functools import cache
from types import FrameType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple, cast

import numpy as np

from attacks.audit.followed import arrays, rules
from attacks.audit.followed.arrays import Followed
from netsim.own import functions_of

NOWHERE = object()
"""What a name is that is not found."""
COMPREHENSIONS = frozenset(["<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"])
_PYTHON = (
    abs, all, any, bool, complex, dict, divmod, enumerate, float, format, frozenset, int, isinstance, len, list, max,
    min, pow, range, repr, reversed, round, set, sorted, str, sum, tuple, type, zip,
)  # fmt: skip
_LINALG = ("cond", "det", "eigh", "eigvals", "eigvalsh", "inv", "matrix_rank", "slogdet", "svd")
_MAKERS = (np.array, np.asarray, np.arange, np.eye, np.full, np.identity, np.linspace, np.ones, np.zeros)
_READS = (rules.SAFE | rules.FAILING | rules.LEVELS | rules.SHAPES) - rules.WRITES.keys()
_QUESTIONS = {
    id(one): one
    for one in (
        *_PYTHON, *_MAKERS, *_READS, np.isin, np.unique, np.isreal, np.iscomplex,
        *(getattr(np.linalg, name) for name in _LINALG), *(one for one in vars(math).values() if callable(one)),
    )
}  # fmt: skip
"""Functions that keep nothing of what they are given, but by the arguments below, by their place in memory."""
TESTS = tuple(
    getattr(np.testing, f"assert_{name}")
    for name in ("", "allclose", "array_less", "array_equal", "equal", "almost_equal", "array_almost_equal")
)
"""Functions that raise an `AssertionError`, and do no more."""
_WRITTEN = frozenset(["out", "copy", "overwrite_input", "key", "like", "subok"])
"""Arguments that are written into, or called."""
_NAMED = frozenset(
    [
        "a", "a_max", "a_min", "actual", "atol", "axes", "axis", "b", "ddof", "decimal", "decimals",
        "default", "desired", "dtype", "equal_nan", "err_msg", "fill_value", "initial", "keepdims", "max",
        "min", "nan", "ndigits", "ndmin", "neginf", "ord", "order", "posinf", "q", "reverse", "rtol", "start",
        "strict", "verbose", "weights", "where", "x", "y",
    ]
)  # fmt: skip
"""Names of arguments that are only read."""
_ANY = 64
_METHODS = dict.fromkeys(
    ["all", "any", "argmax", "argmin", "cumsum", "dot", "max", "mean", "min", "prod", "round", "std", "sum", "var",
     "astype", "copy", "count", "flatten", "index", "join", "ravel", "squeeze"], 1,
) | dict.fromkeys(["conj", "is_integer", "items", "keys", "tolist", "values"], 0) | dict.fromkeys(
    ["format", "item", "reshape", "transpose"], _ANY
) | {"clip": 2, "get": 2, "swapaxes": 2}  # fmt: skip
"""Methods of plain values and arrays that write nowhere, and how many arguments by place do not."""
_FORMS = frozenset(["T", "dtype", "imag", "itemsize", "kind", "name", "nbytes", "ndim", "real", "shape", "size"])
_SCALARS = frozenset(one for one in np.sctypeDict.values() if not issubclass(one, np.object_ | np.void))
_PLAIN = frozenset([bool, int, float, complex, str, bytes, range, type(None), type(...)]) | _SCALARS
_MANY = (tuple, list, set, frozenset, deque)
_CLASSES = frozenset([*_PLAIN, *_MANY, dict, np.ndarray, np.generic, np.number, np.floating, np.integer])
_PARTS = (
    ast.BoolOp | ast.BinOp | ast.UnaryOp | ast.IfExp | ast.Compare | ast.JoinedStr | ast.FormattedValue | ast.Constant
    | ast.Tuple | ast.List | ast.Dict | ast.Set | ast.Starred | ast.Subscript | ast.Slice | ast.keyword | ast.ListComp
    | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.comprehension | ast.expr_context | ast.boolop | ast.operator
    | ast.unaryop | ast.cmpop
)  # fmt: skip
"""Forms of code that keep nothing, if their parts do not. No name is bound but by a comprehension, to names."""


class _Named(NamedTuple):
    one: int


_STORED = (MemberDescriptorType, cast(Any, type(vars(_Named)["one"])))
"""What looks an attribute up in an object itself: of `__slots__`, and of a tuple with names."""
_LOOKS = tuple(vars(one)["__getattribute__"] for one in (object, type, tuple))


def function_of(frame: FrameType) -> FrameType | None:
    """The frame whose names code has, if it is a comprehension's the one that it is in; None if that is not known."""
    while frame.f_code.co_name in COMPREHENSIONS:
        around = frame.f_back
        if around is None or frame.f_code not in around.f_code.co_consts:
            return None
        frame = around
    plain = type(frame.f_globals) is dict and type(frame.f_builtins) is dict
    return frame if plain and frame.f_code.co_flags & inspect.CO_OPTIMIZED else None


def found(name: ast.AST | None, frame: "FrameType | _Names") -> Any:
    """What a name in a frame is, or an attribute of a module or object that nothing computes; else `NOWHERE`."""
    if isinstance(name, ast.Attribute) and not _mangled(name.attr):
        of = found(name.value, frame)
        return NOWHERE if of is NOWHERE else stored(of, name.attr)
    if isinstance(name, ast.Name) and not _mangled(name.id):
        for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if name.id in names:
                return names[name.id]
    return NOWHERE


def _mangled(name: str) -> bool:
    """Whether it is another one within a class."""
    return name.startswith("__") and not name.endswith("__")


def stored(of: object, name: str) -> Any:
    """What an attribute is, as it is stored in an object or its class, where no code is run to look it up."""
    if type(of) is ModuleType:
        return vars(of).get(name, NOWHERE)
    kind: type = type(of)
    look = inspect.getattr_static(kind, "__getattribute__")
    if not any(look is one for one in _LOOKS):
        return NOWHERE
    shared: Any = inspect.getattr_static(kind, name, NOWHERE)
    if type(shared) in _STORED:
        return getattr(of, name, NOWHERE)
    if any(hasattr(cast(Any, type(shared)), one) for one in ("__set__", "__delete__")):
        return NOWHERE
    return inspect.getattr_static(of, name, NOWHERE)


def is_plain(value: Any, depth: int = 8) -> bool:
    """Whether it is a number, a text, a class of such, an array, or lists of these, all of Python's and NumPy's."""
    kind = type(cast(object, value))
    if kind in _PLAIN or kind is Followed or issubclass(kind, np.dtype):
        return True
    if kind is np.ndarray:
        return not value.dtype.hasobject
    if kind is type:
        return value in _CLASSES
    if kind is dict:
        some = cast("dict[Any, Any]", value)
        return depth > 0 and all(is_plain(one, depth - 1) for pair in some.items() for one in pair)
    return kind in _MANY and depth > 0 and all(is_plain(one, depth - 1) for one in value)


@cache
def _most(function: Any) -> int:
    """How many arguments a function may be given by place, so that it writes into none."""
    try:
        places = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return _ANY if function in _PYTHON else 2
    names = [_ANY if one.kind is one.VAR_POSITIONAL else one.name for one in places if one.kind != one.KEYWORD_ONLY]
    if _ANY in names:
        return _ANY
    return next((k for k, name in enumerate(names) if name in _WRITTEN), len(names))


def most_places(function: Any) -> int | None:
    """How many arguments it may be given by place, if it keeps nothing of these; else None."""
    if type(function) is FunctionType and function.__code__.co_filename == arrays.__file__:
        function = getattr(function, "__wrapped__", None)
    if _is_ufunc(function):
        return cast("np.ufunc", function).nin
    known = _QUESTIONS.get(id(function)) is function or (type(function) is type and function in _SCALARS)
    return _most(function) if known else None


def _is_ufunc(function: Any) -> bool:
    """Whether it is a ufunc, and no function of Python's."""
    return type(function) is np.ufunc and not rules.of_objects(function)


class _Names(NamedTuple):
    """Names that a function has before it is called, as a frame has them."""

    f_globals: dict[str, object]
    f_builtins: dict[str, object]
    f_locals: dict[str, object] = {}  # noqa: RUF012


def answers(function: Any) -> bool:
    """Whether a function does no more than to answer a question about plain values: it returns one expression, which
    calls none of somebody's own."""
    if type(function) is not FunctionType or function.__closure__ or function.__kwdefaults__:
        return False
    code = function.__code__
    match functions_of(code):
        case [ast.FunctionDef(body=[*before, last], decorator_list=[])]:
            pass
        case _:
            return False
    if not is_plain(function.__defaults__ or ()) or type(function.__globals__) is not dict:
        return False
    said = all(isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in before)
    if not said or not isinstance(last, ast.Return) or last.value is None or code.co_flags & _UNKNOWN:
        return False
    names = _Names(function.__globals__, dict(vars(builtins)))
    return _Question([last.value], names, set(code.co_varnames), alone=True).keeps_nothing(last.value)


_UNKNOWN = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR
"""Functions that may be called with other things than their parameters."""


class _Question:
    """Code in a frame, or in a function that is called there; `alone`: it may call none of somebody's own."""

    def __init__(
        self, parts: list[ast.AST], frame: "FrameType | _Names", made: set[str], alone: bool = False
    ) -> None:
        self._frame, self._alone = frame, alone
        loops = (one for part in parts for one in ast.walk(part) if isinstance(one, ast.comprehension))
        self._bound = {one.id for loop in loops for one in ast.walk(loop.target) if isinstance(one, ast.Name)} | made

    def keeps_nothing(self, part: ast.AST) -> bool:
        match part:
            case ast.Name(id=name):
                value = found(part, self._frame)
                return name in self._bound if value is NOWHERE else is_plain(value)
            case ast.Attribute(value=of, attr=name):
                value = found(part, self._frame)
                return is_plain(value) or (name in _FORMS and self.keeps_nothing(of))
            case ast.Call(func=function, args=args, keywords=keywords):
                most = self._most(function)
                given = all(map(self.keeps_nothing, [*args, *(one.value for one in keywords)]))
                known = all(one.arg in _NAMED for one in keywords)
                unpacked = any(isinstance(one, ast.Starred) for one in args)
                return most is not None and given and known and (most == _ANY if unpacked else len(args) <= most)
            case ast.comprehension(target=target, is_async=waits):
                names = ast.Name | ast.Tuple | ast.List | ast.Starred | ast.expr_context
                return (
                    not waits
                    and all(isinstance(one, names) for one in ast.walk(target))
                    and all(map(self.keeps_nothing, [part.iter, *part.ifs]))
                )
            case _:
                return isinstance(part, _PARTS) and all(map(self.keeps_nothing, ast.iter_child_nodes(part)))

    def _most(self, function: ast.expr) -> int | None:
        """How many arguments by place may be given to what a call names; None if it may keep some."""
        root = function
        while isinstance(root, ast.Attribute):
            root = root.value
        bound = isinstance(root, ast.Name) and root.id in self._bound
        if isinstance(function, ast.Attribute):
            if function.attr in _METHODS and self.keeps_nothing(function.value):
                return _METHODS[function.attr]
            if function.attr in ("reduce", "accumulate", "outer") and not bound:
                return 2 if _is_ufunc(found(function.value, self._frame)) else None
        called = NOWHERE if bound else found(function, self._frame)
        if not self._alone and answers(called):
            return cast(FunctionType, called).__code__.co_argcount
        return None if bound else most_places(called)


def keep_nothing(parts: list[ast.AST], frame: FrameType, made: set[str]) -> bool:
    """Whether code, in this frame of a function, keeps nothing of what it asks; `made`: names that it is to set to
    some of these parts."""
    question = _Question(parts, frame, made)
    return all(map(question.keeps_nothing, parts))
