"""What is known of functions of libraries: which change what they are given, and whose values have a form that
numbers do not decide. What is not known may change everything, and have any form.
"""

import ast
import inspect
from functools import lru_cache
from typing import Any

import numpy as np

from attacks.audit.branches.code import PUBLISHED, UNKNOWN, name_of

_PURE = frozenset([
    "numpy", "math", "cmath", "netsim", "scipy", "statistics", "itertools", "functools", "collections", "copy",
    "dataclasses", "fractions", "decimal", "enum", "typing", "types",
])  # fmt: skip
_BUILTINS = frozenset([
    "abs", "all", "any", "bool", "bytes", "callable", "chr", "complex", "dict", "divmod", "enumerate", "filter",
    "float", "format", "frozenset", "getattr", "hasattr", "hash", "id", "int", "isinstance", "issubclass", "iter",
    "len", "list", "map", "max", "min", "next", "ord", "pow", "print", "range", "repr", "reversed", "round", "set",
    "slice", "sorted", "str", "sum", "super", "tuple", "type", "zip",
])  # fmt: skip
_OPERATORS = frozenset([
    "gt", "lt", "ge", "le", "eq", "ne", "add", "sub", "mul", "truediv", "neg", "abs", "not_", "truth", "and_", "or_",
    "contains", "itemgetter", "attrgetter", "methodcaller", "getitem",
])  # fmt: skip
_WRITERS = frozenset(["copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "shuffle", "at"])
"""NumPy's functions that change what they are given first."""
ASSIGNS = frozenset(["setattr", "__setattr__"])
COMPUTED = frozenset(
    ["eval", "exec", "globals", "locals", "__import__", "import_module", "attrgetter", "methodcaller"]
)
"""Functions by which code gets at others by a text."""
BY_TEXT = frozenset(["getattr", "getattr_static", "attrgetter", "methodcaller", "hasattr"])
TAKES = frozenset([
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popleft", "put", "put_nowait",
    "remove", "setdefault", "update",
])  # fmt: skip
"""Methods that change their object, and not what they are given."""
READS = frozenset([
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "conj", "copy", "count", "cumsum", "diagonal",
    "dot", "endswith", "flatten", "format", "get", "index", "isdisjoint", "issubset", "item", "items", "join", "keys",
    "lower", "max", "mean", "min", "mix", "nonzero", "prod", "ravel", "replace", "repeat", "reshape", "round", "sent",
    "split", "squeeze", "startswith", "std", "strip", "sum", "swapaxes", "tolist", "trace", "transpose", "union",
    "upper", "values", "var", "view",
])  # fmt: skip
"""Methods that do not change their object."""
_KEEPING = frozenset([
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "conj", "copy", "cumsum", "diagonal", "dot",
    "flatten", "items", "keys", "max", "mean", "min", "mix", "prod", "ravel", "round", "sent", "squeeze", "std",
    "sum", "swapaxes", "tolist", "trace", "transpose", "values", "var", "item", "sort", "apart",
    "array", "asarray", "atleast_1d", "atleast_2d", "average", "zeros_like", "ones_like", "empty_like", "full_like",
    "norm", "median", "quantile", "percentile", "stack", "vstack", "hstack", "concatenate", "diff", "nan_to_num",
    "expand_dims", "broadcast_to", "outer", "inner", "vdot", "einsum", "isclose", "allclose", "amax", "amin",
    "square", "array_equal", "solve", "inv", "pinv", "real", "imag", "tensordot", "moveaxis", "linalg", "diag",
])  # fmt: skip
"""Functions and methods whose value has a form that only those of what is given, and other numbers, decide."""
_PAIRWISE = frozenset(["where", "clip", "dot", "inner", "outer", "vdot", "einsum", "isclose", "full_like", "solve"])
"""Those to which all that is given is an array."""
_OF_FORM = frozenset(["len", "isinstance", "type", "callable", "hasattr"])
_AS_GIVEN = frozenset([
    "enumerate", "zip", "reversed", "list", "tuple", "iter", "sorted", "dict", "min", "max", "sum", "abs", "round",
    "float", "int", "bool", "complex", "any", "all", "map", "pow", "divmod",
])  # fmt: skip


class Known:
    """A function of a library."""

    def __init__(self, value: Any, name: str) -> None:
        self.name = name
        self.ufunc = value if isinstance(value, np.ufunc) and name != "at" else None
        module = str(getattr(value, "__module__", None) or type(value).__module__).partition(".")[0]
        self.builtin = module == "builtins" or value is UNKNOWN
        self._writes = (module == "numpy" or isinstance(value, np.ufunc)) and name in _WRITERS
        self._out = -1 if self.builtin or self.ufunc is not None else _place_of_out(value)
        self.netsim = module == "netsim"

    def changed(self, call: ast.Call) -> list[ast.expr]:
        """What a call changes of what it is given."""
        out = [one.value for one in call.keywords if one.arg == "out"]
        if self._writes or (self.builtin and self.name in ASSIGNS):
            return [*out, *call.args[:1]]
        if self.ufunc is not None:
            return [*out, *call.args[self.ufunc.nin :]]
        if self._out >= 0:
            return [*out, *call.args[self._out : self._out + 1]]
        return out

    @property
    def of_form(self) -> bool:
        """Whether it asks for a form, and for nothing else."""
        return self.builtin and self.name in _OF_FORM

    def pairwise(self, call: ast.Call) -> bool:
        """Whether the forms of all arguments decide that of its value."""
        if self.builtin:
            return self.name in _AS_GIVEN
        if self.name == "where":
            return len(call.args) == 3
        return self.ufunc is not None or self.netsim or self.name in _PAIRWISE

    def keeps(self) -> bool:
        """Whether the form of its first argument decides that of its value, and all else that is given."""
        return not self.builtin and self.name in _KEEPING


def known(value: Any, func: ast.expr) -> Known | None:
    """What is known of a function that is called; None: nothing."""
    name = name_of(func)
    if value is UNKNOWN or value is None:
        return None
    if isinstance(value, np.ufunc):
        return Known(value, name)
    full = str(getattr(value, "__module__", None) or type(value).__module__)
    module = full.partition(".")[0]
    if module == "builtins":
        named = getattr(value, "__name__", "")
        return Known(value, named) if named in _BUILTINS or named in ASSIGNS else None
    if module in ("_operator", "operator"):
        return Known(value, name) if getattr(value, "__name__", name) in _OPERATORS else None
    return (
        Known(value, getattr(value, "__name__", name))
        if module.lstrip("_") in _PURE and not full.startswith(PUBLISHED)
        else None
    )


def keeps_form(method: str) -> bool:
    """Whether the value of a method has the form of its object."""
    return method in _KEEPING or method in ("pop", "popleft", "setdefault")


@lru_cache(maxsize=1024)
def _place_of_out(value: Any) -> int:
    """At which place an array may be given to be changed; −1: at none that is known."""
    try:
        names = list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return -1
    return names.index("out") if "out" in names else -1
