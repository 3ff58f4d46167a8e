"""What code reaches past its node: files, sockets, processes, the call stack, and state that outlives a run.

An audit is of what comes through the node. Code that asks a file whether to leak is sound while the file says so.
While an audit simulates and replays, Python's audit events are heard (`sys.addaudithook`), and those noticed that
code of an algorithm or of a mechanism brought about. So is what its module, its classes or the algorithm itself keep,
where replays change it. Imports, warnings, and files of the installation are nobody's data, and what a private
objective does is the problem's. Reading the computer's clock or its environment raises no event.
"""

import pickle
import random
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from inspect import currentframe
from itertools import islice
from os import PathLike, fsdecode
from types import FrameType
from typing import Any, cast

import numpy as np

from attacks.audit.memory import OURS, emptied, kept, places, saved, written
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
_WAYS = 64
"""Ways to empty a place where an algorithm keeps something that are tried."""


class _Heard(threading.local):
    """Events of this thread; None: nobody listens."""

    events: list[str] | None = None


_heard = _Heard()
_hooked = threading.Event()


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
    before = kept(algorithm)
    yield
    changed = [name for name, value in kept(algorithm).items() if before.get(name, value) != value]
    if changed:
        own = f"{type(algorithm).__name__}'s code"
        raise _refused([f"{own} changes {name}, which outlives a run" for name in changed])


def nothing_of_data_kept(algorithm: Algorithm, run: Callable[[int], object]) -> None:
    """Raise a `PrivacyError` where code, found without something that it keeps, writes, there or elsewhere, what it
    knows from one world: later runs of both, and replays, would go on with it. `run` runs a world, 0 or 1, with the
    same coins.

    What an earlier run wrote is taken away in turn, and all is put back. Code that fails without it did not write it.
    """
    if type(algorithm).__module__.partition(".")[0] in OURS:
        return
    restore = saved(algorithm)
    for name, place in places(algorithm).items():
        for empty in islice(emptied(place), _WAYS):
            filled = list[dict[str, bytes]]()
            try:
                for world in (0, 1):
                    empty()
                    run(world)
                    filled.append({name: written(place.get()) or b""} | kept(algorithm))
                    restore()
            except Exception:  # it cannot be written to, or it is a constant
                continue
            finally:
                restore()
            first, second = filled
            changed = [one for one in first.keys() | second if first.get(one) != second.get(one)]
            if changed:
                what = name if name in changed else min(changed)
                own = f"{type(algorithm).__name__}'s code keeps {what} from one run to the next"
                raise _refused([f"{own}, which depends on private data or on noise"])


def unlike_itself(algorithm: Algorithm, replayed: Callable[[], Replayed]) -> str:
    """Why the same replay does something else the second time, and what it changes; "" where it does the same."""
    first = _values(replayed())
    before = kept(algorithm) | _generators()
    second = _values(replayed())
    if first == second:
        return ""
    after = kept(algorithm) | _generators()
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
        if package in _QUIET or (package in OURS and not module.startswith("netsim.algorithms.")):
            return None
        first: object = frame.f_locals.get(next(iter(frame.f_code.co_varnames), ""))
        if isinstance(first, Algorithm) or hasattr(first.__class__, "log_density"):
            return first.__class__.__name__
        frame = frame.f_back
    return None


def _installed(path: str) -> bool:
    """Whether a file is one of Python's, of a library's, of compiled code, or of the system's about itself."""
    roots = (f"{root}/" for root in (sys.prefix, sys.base_prefix, "/proc", "/sys"))
    return path.startswith((*roots, "<frozen ")) or "__pycache__" in path


def _path(args: tuple[Any, ...]) -> str:
    first = args[0] if args else None
    return fsdecode(cast(str, first)) if isinstance(first, str | bytes | PathLike) else ""
