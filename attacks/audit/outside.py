# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (what code keeps may be of any type)
"""What code reaches past its node: files, sockets, processes, the call stack, and state that outlives a run.

An audit is of what comes through the node. Code that asks a file whether to leak is sound while the file says so.
While an audit simulates and replays, Python's audit events are heard (`sys.addaudithook`), and those noticed that
code of an algorithm or of a mechanism brought about. So is what its module, its classes or the algorithm itself keep,
where replays change it. Imports, warnings, and files of the installation are nobody's data, and what a private
objective does is the problem's. Reading the computer's clock or its environment raises no event.
"""

import dis
import pickle
import random
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import fields, is_dataclass
from functools import partial
from inspect import currentframe
from itertools import islice
from os import PathLike, fsdecode
from types import CodeType, FrameType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from attacks.replay import Replayed
from netsim.algorithms import Algorithm
from netsim.errors import PrivacyError

_EVENTS = (
    "_thread.", "ctypes.", "fcntl.", "ftplib.", "glob.", "http.", "mmap.", "open", "os.", "pathlib.", "shutil.",
    "socket.", "sqlite3.", "subprocess.", "tempfile.", "time.", "urllib.",
)  # fmt: skip
_LOOKS = "sys._getframe", "sys._current_", "gc.get_"
"""Events of code that looks at who runs it; libraries do so for their own ends."""
_HEARD = _EVENTS + _LOOKS
_PROGRAMS = "os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess."
"""Events of which a path is a program."""
_QUIET = frozenset(["importlib", "linecache", "tokenize", "traceback", "warnings", "zipimport"])
_OURS = frozenset(["netsim", "attacks", "scenarios"])
_PARTS, _WAYS = 8, 64
"""Parts of a container, and ways to empty what an algorithm keeps, that are tried."""
_MOST_BYTES = 2**24
"""Arrays kept by a module that are larger are not compared."""


class _Heard(threading.local):
    """Events of this thread; None: nobody listens."""

    events: list[str] | None = None


_heard = _Heard()
_hooked = threading.Event()


class _Slot(NamedTuple):
    """A place where code may keep something. `put`: puts another value there, None: it is the value that changes."""

    get: Callable[[], object]
    put: Callable[[object], None] | None = None


@contextmanager
def inside_node() -> Generator[None]:
    """Raise a `PrivacyError` at the end where code of agents that was run here reached past its node."""
    if not _hooked.is_set():
        _hooked.set()
        sys.addaudithook(_hook)  # which stays: there is no way to remove one
    _heard.events = events = list[str]()
    try:
        yield
    finally:
        _heard.events = None
    if events:
        raise _refused(events)


@contextmanager
def nothing_kept(algorithm: Algorithm) -> Generator[None]:
    """Raise a `PrivacyError` at the end where replays changed what outlives them. What the first run of all wrote,
    once, is no change: a function of public numbers may be kept."""
    before = _kept(algorithm)
    yield
    changed = [name for name, value in _kept(algorithm).items() if before.get(name, value) != value]
    if changed:
        own = f"{type(algorithm).__name__}'s code"
        raise _refused([f"{own} changes {name}, which outlives a run" for name in changed])


def nothing_of_data_kept(algorithm: Algorithm, run: Callable[[int], object]) -> None:
    """Raise a `PrivacyError` where code, found without something that it keeps, writes there what it knows from one
    world: later runs of both, and replays, would go on with it. `run` runs a world, 0 or 1, with the same coins.

    What an earlier run wrote is taken away in turn. Code that fails without it has not written it.
    """
    if type(algorithm).__module__.partition(".")[0] in _OURS:
        return
    for name, slot in _slots(algorithm).items():
        if isinstance(value := slot.get(), type | FunctionType | ModuleType) or _written(value) is None:
            continue
        for empty, restore in islice(_ways(slot), _WAYS):
            filled = list[bytes | None]()
            try:
                empty()
            except Exception:  # it cannot be written to
                continue
            try:
                for world in (0, 1):
                    run(world)
                    filled.append(_written(slot.get()))
                    empty()
            except Exception:  # a constant, then
                continue
            finally:
                restore()
            if filled[0] != filled[1]:
                own = f"{type(algorithm).__name__}'s code keeps {name} from one run to the next"
                raise _refused([f"{own}, which depends on private data or on noise"])


_Way = tuple[Callable[[], object], Callable[[], object]]


def _ways(slot: _Slot, deep: int = 3) -> Iterator[_Way]:
    """How to empty a slot that is not empty, and to restore it: another value is put there, or what is in it goes, or
    what is in one of its first parts, so many levels `deep`."""
    value = cast(Any, slot.get())
    if slot.put is not None and value is not None:
        yield partial(slot.put, None), partial(slot.put, value)
    parts, put = list[tuple[Any, Any]](), cast(Any, None)
    if isinstance(value, np.ndarray):
        if value.size and value.flags.writeable:
            yield partial(value.fill, 0), partial(np.copyto, value, value.copy())
    elif isinstance(value, dict | list | set | deque):
        if value:
            yield partial(_fill, value, ()), partial(_fill, value, copy(cast(Any, value)))
        if not isinstance(value, set):
            put = cast(Any, value).__setitem__
            parts = list(cast(Any, value).items() if isinstance(value, dict) else enumerate(cast(Any, value)))
    elif isinstance(value, SimpleNamespace) or (hasattr(value, "__dict__") and not _of_library(type(value))):
        put, parts = partial(object.__setattr__, value), list(vars(value).items())
    for key, part in parts[: _PARTS if deep else 0]:
        yield from _ways(_Slot(partial(getattr, _Held(part), "value"), partial(put, key)), deep - 1)


def _fill(value: Any, content: Any) -> None:
    value.clear()
    cast(Any, value.update if isinstance(value, dict | set) else value.extend)(content)


def unlike_itself(algorithm: Algorithm, replayed: Callable[[], Replayed]) -> str:
    """Why the same replay does something else the second time, and what it changes; "" where it does the same."""
    first = _values(replayed())
    before = _kept(algorithm) | _generators()
    second = _values(replayed())
    if first == second:
        return ""
    after = _kept(algorithm) | _generators()
    changed = [name for name, value in after.items() if before.get(name) != value]
    seen = f"; a replay changes {', '.join(changed)}" if changed else ""
    return f"it draws randomness outside its node (use node.privatize, node.coins), or keeps state between runs{seen}"


def _values(found: Replayed) -> tuple[object, ...]:
    """What a replay made, to the last bit."""
    values = [*(one.value for one in found.releases), *(one.predicted for one in found.comparisons)]
    return found.departure, [one.tobytes() for one in values]


def _generators() -> dict[str, bytes]:
    """State of the random numbers that everybody shares."""
    states = {"random": random.getstate(), "numpy.random": np.random.get_state()}  # noqa: NPY002
    return {f"the generator of the module {name}": pickle.dumps(state) for name, state in states.items()}


def _refused(found: list[str]) -> PrivacyError:
    more = f" ({len(found) - 1} times more)" if len(found) > 1 else ""
    return PrivacyError(
        f"no verdict: {found[0]}{more}; all that an agent knows has to come through its node, else an audit is of "
        "what it happened to find elsewhere"
    )


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if event == "builtins.id":  # copies raise it tens of thousands of times
        return
    events = _heard.events
    if events is None or not event.startswith(_HEARD):
        return
    _heard.events = None  # to look at the stack is an event as well
    try:
        if (name := _culprit(event, args, currentframe())) is not None:
            what = f"{event} {_path(args)!r}"[:200] if _path(args) else event
            events.append(f"{name}'s code reaches past its node while an agent runs: {what}")
    finally:
        _heard.events = events


def _culprit(event: str, args: tuple[Any, ...], frame: FrameType | None) -> str | None:
    """Algorithm, or mechanism of somebody's own, whose code brought it about: nothing of netsim's is between the two,
    as it is where a private objective answers. None: it was none of these. `frame` is the hook's own."""
    frame = None if frame is None else frame.f_back
    if event.startswith(_LOOKS):
        while frame is not None and frame.f_globals.get("__name__") == "inspect":
            frame = frame.f_back
        if frame is not None and _installed(frame.f_code.co_filename):
            return None
    elif _installed(_path(args)) and not event.startswith(_PROGRAMS):
        return None
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        package = module.partition(".")[0]
        if package in _QUIET or (package in _OURS and not module.startswith("netsim.algorithms.")):
            return None
        first: object = frame.f_locals.get(next(iter(frame.f_code.co_varnames), ""))
        if isinstance(first, Algorithm) or hasattr(first.__class__, "log_density"):
            return first.__class__.__name__
        frame = frame.f_back
    return None


def _path(args: tuple[Any, ...]) -> str:
    first = args[0] if args else None
    return fsdecode(cast(str, first)) if isinstance(first, str | bytes | PathLike) else ""


def _installed(path: str) -> bool:
    """Whether a file is one of Python's, of a library's, of compiled code, or of the system's about itself."""
    roots = (f"{root}/" for root in (sys.prefix, sys.base_prefix, "/proc", "/sys"))
    return path.startswith((*roots, "<frozen ")) or "__pycache__" in path


def _kept(algorithm: Algorithm) -> dict[str, bytes]:
    """What the algorithm, its own classes, and names that their code uses hold, by name."""
    written = ((name, _written(slot.get())) for name, slot in _slots(algorithm).items())
    return {name: value for name, value in written if value is not None}


def _written(value: object) -> bytes | None:
    """The value as bytes; None for code, for what is netsim's, for large arrays, and for what cannot be written."""
    ours = type(value).__module__.partition(".")[0] in _OURS  # a topology keeps what it has computed
    if ours or isinstance(value, type | FunctionType | ModuleType) or getattr(value, "nbytes", 0) > _MOST_BYTES:
        return None
    try:
        return pickle.dumps(value)
    except Exception:  # what cannot be written down is not compared
        return None


def _slots(algorithm: Algorithm) -> dict[str, _Slot]:
    found = dict[str, _Slot]()
    stated = (
        {one.name for one in fields(algorithm) if one.default is not None} if is_dataclass(algorithm) else set[str]()
    )
    for name in vars(algorithm):
        get = partial(vars(algorithm).get, name)
        found[f"the algorithm's {name}"] = _Slot(get, None if name in stated else partial(_keep, algorithm, name))
    for cls in type(algorithm).__mro__:
        if cls is not object and cls.__module__.partition(".")[0] not in _OURS:
            _add_class(cls, found, set())
    return found


def _keep(algorithm: Algorithm, name: str, value: object) -> None:
    """Put a value in the place of one that was computed when it was first asked for; None: nothing."""
    if value is None:
        vars(algorithm).pop(name, None)
    else:
        vars(algorithm)[name] = value


def _add_class(cls: type, found: dict[str, _Slot], seen: set[object]) -> None:
    seen.add(cls)
    for name, value in vars(cls).items():
        function = getattr(value, "__func__", getattr(value, "fget", value))
        if isinstance(function, FunctionType):
            _add_function(function, found, seen)
        elif not name.startswith("__"):
            stated = getattr(getattr(cls, "__dataclass_fields__", {}).get(name), "default", None) is value
            put = None if stated and value is not None else partial(setattr, cls, name)
            found[f"{cls.__name__}.{name}"] = _Slot(partial(vars(cls).get, name), put)


def _add_function(function: FunctionType, found: dict[str, _Slot], seen: set[object]) -> None:
    """Add what a function's code names in its module and in others, its defaults and attributes, and what functions
    and classes do that it names, unless they are a library's."""
    if function in seen:
        return
    seen.add(function)
    code, cells, at = function.__code__, function.__closure__ or (), function.__module__
    space, own, place = function.__globals__, vars(function), f"{at}.{function.__name__}"
    stored = {*_names(code, "STORE_GLOBAL"), *_names(code, "STORE_ATTR")}
    modules = [one for name in _names(code) if isinstance(one := space.get(name), ModuleType)]
    slots = {
        name: _Slot(partial(names.get, name), partial(names.__setitem__, name) if name in stored else None)
        for names in (*(vars(one) for one in modules if not _of_library(one)), space)
        for name in _names(code)
        if name in names
    }
    for name, cell in zip(code.co_freevars, cells, strict=True):
        slots[name] = _Slot(partial(getattr, cell, "cell_contents", None), partial(setattr, cell, "cell_contents"))
    for name, slot in slots.items():
        value = slot.get()
        if isinstance(value, FunctionType | type):
            if value not in seen and not _of_library(value):
                (_add_function if isinstance(value, FunctionType) else _add_class)(cast(Any, value), found, seen)
        else:
            found[f"{at}.{name}"] = slot
    for name in own:
        found[f"{place}.{name}"] = _Slot(partial(own.get, name), partial(own.__setitem__, name))
    for k, value in enumerate((*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())):
        found[f"default {k + 1} of {place}"] = _Slot(partial(getattr, _Held(value), "value"))


class _Held(NamedTuple):
    value: object


def _of_library(value: FunctionType | type | ModuleType) -> bool:
    """Whether a module, or a function or class of one, is netsim's or installed."""
    name = value.__name__ if isinstance(value, ModuleType) else value.__module__
    package, file = name.partition(".")[0], getattr(sys.modules.get(name), "__file__", None) or ""
    return package in _OURS or package in sys.builtin_module_names or _installed(file)


def _names(code: CodeType, operation: str | None = None) -> Iterator[str]:
    """Names that code, or code within it, uses; of which it does this."""
    if operation is None:
        yield from code.co_names
    else:
        yield from (str(one.argval) for one in dis.get_instructions(code) if one.opname == operation)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant, operation)
