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
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import currentframe
from itertools import islice, zip_longest
from os import PathLike, fsdecode
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, cast

import numpy as np

from attacks.audit.memory import OURS, emptied, kept, places, saved, written
from attacks.replay import Replayed, bits
from attacks.replay.recorded import RecordedNode
from netsim.algorithms import Algorithm
from netsim.arrays import Array
from netsim.errors import PrivacyError
from netsim.own import is_own, own_line
from netsim.shown import show

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
        raise _refused([f"{own} changes {_as_read(name)}, which outlives a run" for name in changed])


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
                own = f"{type(algorithm).__name__}'s code keeps {_as_read(what)} from one run to the next"
                raise _refused([f"{own}, which depends on private data or on noise"])


def unlike_itself(algorithm: Algorithm, replayed: Callable[[], Replayed]) -> str:
    """In what two replays of the same first differ, what usually does that, and what a replay changes; "" where they
    do not differ."""
    step = algorithm.stopping().unit
    with _noted_lines() as lines:
        first = _made(replayed(), step)
    before = kept(algorithm) | _generators()
    second = _made(replayed(), step)
    pairs = zip_longest(first, second)
    apart = next(((one, other) for one, other in pairs if one is None or not one.same(other)), None)
    if apart is None:
        return ""
    after = kept(algorithm) | _generators()
    changed = [name for name, value in after.items() if before.get(name) != value]
    one, other = apart if apart[0] is not None else apart[::-1]
    assert one is not None
    line = lines.get(one.place, "")
    found = f"; a replay changes {', '.join(map(_as_read, changed))}" if changed else _culprits(algorithm)
    return (
        f"the first that differs is {one.beside(other)}{f' ({line})' if line else ''}. Usual causes: randomness that "
        "is not its node's (use node.privatize, node.coins), the time, and what the code keeps between runs"
        f"{found}"
    )


_Place = tuple[str, int]
"""Name of what a reader calls for each release, or each message, and the number of that call."""


@dataclass(frozen=True)
class _Step:
    """A release, or a field of a message, of one replay."""

    place: _Place
    what: str
    value: Array

    def same(self, other: "_Step | None") -> bool:
        return other is not None and (self.what, self.value.tobytes()) == (other.what, other.value.tobytes())

    def beside(self, other: "_Step | None") -> str:
        """What it is, and the first number in which the other one is another."""
        if other is None or self.what != other.what or self.value.shape != other.value.shape:
            return f"{self.what}, which is there once, and not the next time"
        at = np.argmax(bits(self.value).ravel() != bits(other.value).ravel())
        ours, theirs = (float(one.value.ravel()[at]) for one in (self, other))
        return f"{self.what}: {show(ours, 6)} once, {show(theirs, 6)} the next time"


def _made(found: Replayed, step: str) -> list[_Step]:
    """What a replay made, in order: each release where it was made, each field where it was sent; `step` is a "round"
    or an "activation"."""
    steps = list[tuple[int, int, _Step]]()
    for k, one in enumerate(found.releases):
        what = f"what it privatizes in its {step} {found.activation_of(one.made_before)}"
        steps.append((one.made_before, 0, _Step(("_explained", k), what, one.value)))
    for one in found.comparisons:
        what = f"{one.name!r} of its message {one.message + 1}, in its {step} {found.activation_of(one.message)}"
        steps.append((one.message, 1, _Step(("_sent", one.message), what, one.predicted)))
    if found.departure is not None:
        end = found.departure.message
        steps.append((end, 2, _Step(("_sent", end), f"that it {found.departure.what}", np.zeros((1, 1)))))
    return [step for _, _, step in sorted(steps, key=lambda one: one[:2])]


@contextmanager
def _noted_lines() -> Generator[dict[_Place, str]]:
    """Lines of somebody's own code at which a replay within the block makes each release and sends each message."""
    lines, counts = dict[_Place, str](), Counter[str]()

    def called(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_name
        if event == "call" and name in ("_explained", "_sent") and isinstance(frame.f_locals["self"], RecordedNode):
            lines[name, counts[name]] = own_line(frame)
            counts[name] += 1

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        yield lines
    finally:
        sys.setprofile(before)


_UNLIKE = ("datetime", "numpy.random", "random", "secrets", "time", "uuid")
"""Modules whose functions answer otherwise each time."""


def _culprits(algorithm: Algorithm) -> str:
    """Where the class's code, or a function that it calls, uses one of these modules; "" where it uses none."""
    methods = [getattr(one, "__func__", one) for kind in type(algorithm).__mro__ for one in vars(kind).values()]
    ahead = [(one.__code__, one.__globals__) for one in methods if isinstance(one, FunctionType)]
    for code, names in ahead:
        if not is_own(code.co_filename):
            continue
        ahead += [(one, names) for one in code.co_consts if isinstance(one, CodeType)]
        called, found = "", cast("object", None)
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                called, found = str(step.argval), names.get(step.argval)
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and found is not None:
                called, found = f"{called}.{step.argval}", getattr(found, step.argval, None)
            else:
                found = None
            if isinstance(found, FunctionType) and (found.__code__, found.__globals__) not in ahead:
                ahead.append((found.__code__, found.__globals__))
            if callable(found) and _module_of(found).startswith(_UNLIKE):
                line = step.positions.lineno if step.positions else code.co_firstlineno
                return f"; here {Path(code.co_filename).name}:{line} calls {called}"
    return ""


def _module_of(found: object) -> str:
    own = getattr(found, "__module__", None)
    return str(own or type(getattr(found, "__self__", None)).__module__)


def _generators() -> dict[str, bytes]:
    """State of the random numbers that everybody shares."""
    states = {"random": random.getstate(), "numpy.random": np.random.get_state()}  # noqa: NPY002
    return {f"the generator of the module {name}": pickle.dumps(state) for name, state in states.items()}


def _as_read(place: str) -> str:
    """The name of a place with the file of a module that was loaded under a name of its own: own.py: KEPT."""
    for name in re.findall(r"\w+(?=\.)", place):
        file = Path(getattr(sys.modules.get(name), "__file__", None) or "")
        if file.stem and name.startswith(f"{file.stem}_"):
            place = place.replace(f"{name}.", f"{file.name}: ")
    return place


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
