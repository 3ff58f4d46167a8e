"""SHA-256 of all that objectives hold, functions too: the same in every process, another for other contents."""

import dis
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

import numpy as np

from netsim.errors import ScenarioError

PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic)
NAMED = (type, ModuleType, BuiltinFunctionType, np.ufunc)
"""What its name tells."""
Seen = dict[int, tuple[int, object]]
"""By identity: the how-manyth it was, and the thing itself, which lives as long as its identity is used."""


def data_print(objectives: Sequence[object]) -> str:
    """Of arrays with their types and shapes, to the last bit, of parameters, of objectives within objectives, and of
    functions: their code, defaults, what they close over, and the globals of their own module that they use.

    You get a `ScenarioError` for what cannot be told from another of its kind, such as an open file.
    """
    digest = hashlib.sha256()
    seen: Seen = {}
    for one in objectives:
        for part in _parts(one, seen):
            digest.update(part)
    return digest.hexdigest()


def _parts(value: Any, seen: Seen) -> Iterator[bytes]:
    if isinstance(cast(object, value), np.ndarray) and cast("np.ndarray[Any, Any]", value).dtype != object:
        array = cast("np.ndarray[Any, Any]", value)
        yield f"array {array.dtype.str} {array.shape}\n".encode()
        yield array.tobytes()
    elif isinstance(value, PLAIN):
        yield f"{value!r}\n".encode()
    elif isinstance(value, NAMED):
        yield _name(value)
    elif isinstance(value, CodeType):
        yield from _code(value, seen)
    elif id(value) in seen and isinstance(value, FunctionType):  # one that calls itself
        yield f"function {seen[id(value)][0]} again\n".encode()
    elif isinstance(value, FunctionType):
        seen[id(value)] = len(seen), value
        yield from _function(value, seen)
    elif isinstance(value, Mapping):
        for key, one in cast("Mapping[object, object]", value).items():
            yield from _several("entry", (key, one), seen)
    elif isinstance(value, Sequence):
        yield from _several(str(type(cast(object, value)).__name__), cast("Sequence[object]", value), seen)
    elif isinstance(value, AbstractSet):
        inner = (b"".join(_parts(one, seen)) for one in cast("AbstractSet[object]", value))
        yield b"set\n" + b"".join(sorted(inner))
    else:
        yield from _object(value, seen)


def _object(value: Any, seen: Seen) -> Iterator[bytes]:
    """A dataclass by its fields, everything else by what a copy of it would be made from."""
    kind = cast(Any, type(value))
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
        yield from _several("object", _reduced(value), seen)
    if callable(value) and isinstance(call := vars(kind).get("__call__"), FunctionType):
        yield from _parts(call, seen)


def _reduced(value: Any) -> list[object]:
    try:
        made: Any = value.__reduce_ex__(4)
    except TypeError as error:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        why = f"an objective holds a {kind}, which cannot be told from another one ({error})"
        raise ScenarioError("problem", kind, why, "numbers, arrays, functions, and dataclasses of these") from None
    if isinstance(made, str):
        return [made]
    return [list(cast("Iterator[object]", one)) if isinstance(one, Iterator) else one for one in made]


def _several(kind: str, values: Sequence[object], seen: Seen) -> Iterator[bytes]:
    yield f"{kind} {len(values)}\n".encode()
    for one in values:
        yield from _parts(one, seen)


def _function(value: FunctionType, seen: Seen) -> Iterator[bytes]:
    yield _name(value)
    yield from _code(value.__code__, seen)
    cells = [_content(cell) for cell in value.__closure__ or ()]
    yield from _several("bound", (value.__defaults__, value.__kwdefaults__, *cells), seen)
    for name in sorted(set(_names(value.__code__))):
        used = value.__globals__.get(name)
        yield f"uses {name}\n".encode()
        if isinstance(used, FunctionType) and used.__module__ != value.__module__:
            yield _name(used)
        elif used is not None:
            yield from _parts(used, seen)


def _code(code: CodeType, seen: Seen) -> Iterator[bytes]:
    yield f"code {code.co_name} {code.co_names} {code.co_varnames} {code.co_freevars}\n".encode()
    yield code.co_code
    yield from _several("constants", code.co_consts, seen)


def _names(code: CodeType) -> Iterator[str]:
    """Every global name that code, or code within it, reads."""
    yield from (str(one.argval) for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _names(one)


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def _name(value: Any) -> bytes:
    """Where a thing is: module and name. A file that is run has another module name in each of its texts."""
    own = getattr(value, "__qualname__", getattr(value, "__name__", ""))
    return f"{getattr(value, '__module__', '')}.{own}\n".encode()
