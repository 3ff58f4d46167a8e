# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (what code keeps may be of any type)
"""Places where code of an algorithm may keep something from one run to the next: written down, emptied and put back.

They are found from the code: fields of the algorithm, attributes of its classes, and what its functions name, of
their module and of others, in closures, defaults and attributes. Code of libraries is not read; what own code stores
as an attribute of a library is found. Names made while code runs are not, nor what a `functools.cache` holds.
"""

import dis
import io
import pickle
import sys
import threading
from array import array
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from enum import Enum, EnumType
from functools import lru_cache, partial
from itertools import islice
from types import (
    CodeType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from netsim.algorithms import Algorithm
from netsim.own import is_own

OURS = frozenset(["netsim", "attacks", "scenarios"])
GONE: Any = object()
"""In place of a value: there is none."""
_MOST_BYTES = 2**24
"""Arrays that are larger are not compared, nor emptied."""
_PARTS = 8
"""Parts of a container that are emptied by themselves."""
_READ = 4096
"""Pieces of code whose names are kept, once read."""
_FLAT = bytearray | array  # pyright: ignore[reportMissingTypeArgument]
_ATOMS = frozenset([bool, int, float, complex, str, bytes, type(None)])
_HOLDERS = SimpleNamespace, threading.local, UserDict, UserList, ChainMap, WeakKeyDictionary, WeakValueDictionary
"""Types of libraries whose attributes are of who made the object."""


class _Place(NamedTuple):
    """`get`: what is there, or `GONE`. `put`: puts another value there; None: it is the value that changes."""

    get: Callable[[], object]
    put: Callable[[object], None] | None = None


def kept(algorithm: Algorithm) -> dict[str, bytes]:
    """What the algorithm, its own classes, and names that their code uses hold, by name."""
    found = ((name, written(place.get())) for name, place in places(algorithm).items())
    return {name: value for name, value in found if value is not None}


def written(value: object) -> bytes | None:
    """The value as bytes; None for code, for what is netsim's, for large arrays, and for what cannot be written."""
    ours = type(value).__module__.partition(".")[0] in OURS  # a topology keeps what it has computed
    if ours or isinstance(value, type | FunctionType | ModuleType) or getattr(value, "nbytes", 0) > _MOST_BYTES:
        return None
    out = io.BytesIO()
    try:
        _Writer(out).dump(value)
    except Exception:  # what cannot be written down is not compared
        return None
    return out.getvalue()


class _Bare:
    """In place of what has no pickled form; its state is what is in it."""


class _Writer(pickle.Pickler):
    """Pickles, for nobody to read, also code, generators, and objects with locks, or of classes within functions."""

    def reducer_override(self, obj: Any) -> Any:
        if obj is str or obj is _Bare or isinstance(obj, np.ndarray):
            return NotImplemented
        if isinstance(obj, type | ModuleType):
            return str, (getattr(obj, "__qualname__", obj.__name__),)
        if isinstance(obj, FunctionType):
            cells = [_attribute(one, "cell_contents") for one in obj.__closure__ or ()]
            return _Bare, (), (obj.__qualname__, obj.__code__.co_code, obj.__defaults__, vars(obj), cells)
        if isinstance(obj, GeneratorType):
            frame = obj.gi_frame
            return _Bare, (), (obj.__qualname__, frame and (frame.f_lasti, dict(frame.f_locals)))
        try:
            obj.__reduce_ex__(pickle.DEFAULT_PROTOCOL)
        except Exception:
            return _Bare, (), (type(obj).__qualname__, _content(obj))
        return NotImplemented


def emptied(place: _Place, deep: int = 5) -> Iterator[Callable[[], object]]:
    """Ways to empty a place that is not empty: None is put there, or nothing, or what is in it goes, or what is in
    one of its first parts, so many levels `deep`."""
    value = cast(Any, place.get())
    if value is None or value is GONE:
        return
    if place.put is not None:
        yield partial(place.put, None)
        yield partial(place.put, GONE)
    content = _content(value)
    if isinstance(value, np.ndarray | dict | list | set | deque | _FLAT) and content is not None and len(content):
        yield partial(_fill, value, ())
    for part in _places_in(value, content) if deep else ():
        yield from emptied(part, deep - 1)


def saved(algorithm: Algorithm) -> Callable[[], None]:
    """What puts back all that is kept, in place, as it is now."""
    held = [(place, place.get()) for place in places(algorithm).values()]
    contents, seen = list[tuple[Any, Any]](), set[int]()
    _save(vars(algorithm), contents, seen)
    for _, value in held:
        _save(value, contents, seen)

    def restore() -> None:
        for place, value in held:
            if place.put is not None and place.get() is not value:
                place.put(value)
        for value, content in contents:
            _fill(value, content)

    return restore


def _save(value: object, contents: list[tuple[Any, Any]], seen: set[int]) -> None:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or (content := _content(one)) is None:
            continue
        seen.add(id(one))
        if not isinstance(one, tuple):
            contents.append((one, content))
        waiting.extend(part for _, part in _parts(content))


def _content(value: Any) -> Any:
    """A copy of what a value holds; None where it holds nothing that may change."""
    if isinstance(value, np.ndarray):
        small = 0 < value.nbytes <= _MOST_BYTES
        return value.copy() if small and value.flags.writeable and value.ndim else None
    if isinstance(value, _FLAT):
        return value[:]
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, list | deque):
        return list(value)
    if isinstance(value, set):
        return set(value)
    if isinstance(value, tuple):
        return value
    if isinstance(value, type | FunctionType | ModuleType | CodeType | Enum):
        return None
    if isinstance(value, _HOLDERS) or not _of_library(type(value)):
        return _attributes(value)
    return None


def _attributes(value: Any) -> dict[str, object]:
    slots = [getattr(cls, "__slots__", ()) for cls in type(value).__mro__]
    names = [name for some in slots for name in ((some,) if isinstance(some, str) else some)]
    found = {name: _attribute(value, name) for name in names if not name.startswith("__")}
    return {name: one for name, one in found.items() if one is not GONE} | dict(getattr(value, "__dict__", {}))


def _attribute(value: Any, name: str) -> object:
    own = getattr(value, "__dict__", {})
    try:
        return own[name] if name in own else object.__getattribute__(value, name)
    except (AttributeError, ValueError):  # or a cell that is empty
        return GONE


def _parts(content: Any) -> list[tuple[Any, Any]]:
    """Keys of a value, and what is there, but for numbers and texts."""
    if isinstance(content, dict):
        return [(key, one) for key, one in content.items() if type(one) not in _ATOMS]
    if isinstance(content, list | tuple):
        return [(k, one) for k, one in enumerate(content) if type(one) not in _ATOMS]
    return []


def _places_in(value: Any, content: Any) -> list[_Place]:
    """The first of its parts, those that hold more than a number or a text before others."""
    keys = [key for key, _ in _parts(content)[:_PARTS]]
    if len(keys) < _PARTS and isinstance(content, dict | list | tuple):
        some = islice(content.items() if isinstance(content, dict) else enumerate(content), 2 * _PARTS)
        keys += [key for key, one in some if type(one) in _ATOMS][: _PARTS - len(keys)]
    if isinstance(content, tuple):
        return [_Place(partial(_held, content[k])) for k in keys]
    return [_Place(partial(_held, content[key]), partial(_put, value, key)) for key in keys]


def _held(value: object) -> object:
    return value


def _put(holder: Any, key: Any, value: object) -> None:
    """Put a value where a dict, a list, a class or an object has another; `GONE`: take that away."""
    if isinstance(holder, dict | list | deque):
        if value is not GONE:
            holder[key] = value
        elif not isinstance(holder, dict) or key in holder:
            del holder[key]
    elif isinstance(holder, type):
        type.__delattr__(holder, key) if value is GONE else type.__setattr__(holder, key, value)
    elif isinstance(getattr(type(holder), key, None), MemberDescriptorType | GetSetDescriptorType):
        object.__setattr__(holder, key, value) if value is not GONE else object.__delattr__(holder, key)
    else:
        _put(vars(holder), key, value)


def _fill(value: Any, content: Any) -> None:
    """Make this the content of a value; (): nothing."""
    if isinstance(value, np.ndarray):
        np.copyto(value, content if len(content) else 0)
    elif isinstance(value, _FLAT):
        cast(Any, value)[:] = content if len(content) else cast(Any, value)[:0]
    elif isinstance(value, dict | list | set | deque):
        value.clear()
        cast(Any, value.update if isinstance(value, dict | set) else value.extend)(content)
    else:
        for name in _attributes(value).keys() | content:
            if _attribute(value, name) is not (new := content.get(name, GONE)):
                _put(value, name, new)


def places(algorithm: Algorithm) -> dict[str, _Place]:
    """Where the algorithm, its own classes, and what their code names may keep something, by name."""
    found = _Found({}, set())
    stated = (
        {one.name for one in fields(algorithm) if one.default is not None} if is_dataclass(algorithm) else set[str]()
    )
    own = vars(algorithm)
    for name in own:
        place = _Place(partial(own.get, name, GONE), None if name in stated else partial(_put, own, name))
        found.add(f"the algorithm's {name}", place)
    for cls in type(algorithm).__mro__:
        found.add_class(cls)
    return found.places


class _Found(NamedTuple):
    """Places so far, and code that has been read."""

    places: dict[str, _Place]
    seen: set[object]

    def add(self, name: str, place: _Place) -> None:
        """A place; where it holds code, places of that instead."""
        value = cast(Any, place.get())
        if isinstance(value, ModuleType):
            return
        if isinstance(value, type):
            self.add_class(value)
        elif (function := _function_in(value)) is not None:
            self.add_function(function)
            if (whose := getattr(value, "__self__", None)) is not None:
                self.add(name, _Place(partial(_held, whose)))
            if isinstance(value, partial):
                self.add(f"what is given to {name}", _Place(partial(_held, (value.args, value.keywords))))
        elif isinstance(value, ContextVar):
            self.places[name] = _Place(partial(_of_context, value), partial(_into_context, value))
        else:
            self.places[name] = place
            self.add_class(type(value))

    def add_class(self, cls: type) -> None:
        if cls in self.seen or _of_library(cls):
            return
        self.seen.add(cls)
        for name, value in vars(cls).items():
            if (function := _function_in(value)) is not None:
                self.add_function(function)
            elif not (name.startswith("__") or hasattr(type(value), "__get__") or isinstance(cls, EnumType)):
                stated = getattr(getattr(cls, "__dataclass_fields__", {}).get(name), "default", None) is value
                put = None if stated and value is not None else partial(_put, cls, name)
                self.add(f"{cls.__name__}.{name}", _Place(partial(vars(cls).get, name, GONE), put))

    def add_function(self, function: FunctionType) -> None:
        """What a function's code names in its module and in others, its defaults and attributes, and what functions
        and classes do that it names, unless they are a library's."""
        if function in self.seen or _of_library(function):
            return
        self.seen.add(function)
        code, own, at = function.__code__, vars(function), function.__module__
        used, place = _names_in(code), f"{at}.{function.__name__}"
        self.add_named(at, function.__globals__, list(used), {name for name in used if used[name]}, set())
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self.add(
                f"{at}.{name}",
                _Place(partial(_attribute, cell, "cell_contents"), partial(_put, cell, "cell_contents")),
            )
        for name in own:
            self.add(f"{place}.{name}", _Place(partial(own.get, name, GONE), partial(_put, own, name)))
        for k, value in enumerate((*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())):
            self.add(f"default {k + 1} of {place}", _Place(partial(_held, value)))

    def add_named(self, at: str, holder: Any, names: list[str], stored: set[str], seen: set[int]) -> None:
        """What code that uses these `names`, and stores some, finds in a module's dict or a library's class, and in
        modules that it finds there: in those of libraries what it stores."""
        seen.add(id(holder))
        space = holder if isinstance(holder, dict) else vars(holder)
        for name in names:
            if (value := space.get(name, GONE)) is GONE:
                continue
            put = partial(_put, holder, name) if name in stored else None
            self.add(f"{at}.{name}", _Place(partial(space.get, name, GONE), put))
            library = isinstance(value, ModuleType | type) and _of_library(value)
            inner = vars(value) if isinstance(value, ModuleType) else value
            if (library or isinstance(value, ModuleType)) and id(inner) not in seen:
                known = [one for one in names if one in stored] if library else names
                self.add_named(cast(Any, value).__name__, inner, known, stored, seen)


def _function_in(value: Any) -> FunctionType | None:
    """The function in a method, a property, a partial, or a cache; None: it is none of these."""
    while not isinstance(value, FunctionType):
        names = ("__func__", "__wrapped__", "fget", "func")
        code = isinstance(value, type | ModuleType) or not _of_library(type(value))
        inner = None if code else next((one for n in names if (one := _attribute(value, n)) is not GONE), None)
        if inner is None:
            return None
        value = inner
    return value


def _of_context(variable: ContextVar[object]) -> object:
    try:
        return variable.get()
    except LookupError:
        return GONE


def _into_context(variable: ContextVar[object], value: object) -> None:
    variable.set(None if value is GONE else value)


def _of_library(value: Any) -> bool:
    """Whether a module, or a function or class of one, is netsim's or installed."""
    name = str(value.__name__ if isinstance(value, ModuleType) else value.__module__)
    package, file = name.partition(".")[0], getattr(sys.modules.get(name), "__file__", None) or ""
    builtin = package in sys.builtin_module_names or bool(file and not is_own(file))
    return package in OURS or (name != "__main__" and builtin)


@lru_cache(_READ)
def _names_in(code: CodeType) -> dict[str, bool]:
    """Names that code, or code within it, uses, and whether it stores something there."""
    stored = {one.argval for one in dis.get_instructions(code) if one.opname in ("STORE_GLOBAL", "STORE_ATTR")}
    found = {name: name in stored for name in code.co_names}
    for inner in (_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)):
        found |= {name: stores or found.get(name, False) for name, stores in inner.items()}
    return found
