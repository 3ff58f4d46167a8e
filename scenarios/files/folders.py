"""Files that are there whole or not at all, and folders that one command at a time writes to."""

import os
import re
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType
from uuid import uuid4

from netsim.errors import ScenarioError

try:
    import fcntl
except ImportError:  # a system without it has no locks
    fcntl = None

STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that stop a command as Ctrl-C does."""
LOCK = ".netsim-lock"
"""While a command writes to a folder: which, since when. One that nobody holds any more is taken over."""
_DRAFT = re.compile(r".+\.[0-9a-f]{32}\.part")


def is_draft(path: Path) -> bool:
    """Whether it was a draft of `whole`, which a process that was killed leaves behind."""
    return _DRAFT.fullmatch(path.name) is not None


@contextmanager
def whole(path: Path) -> Generator[Path]:
    """A draft to write, of this process alone, that becomes the file when all of it is there, and else is removed.

    An `OSError` of a full disk names the file.
    """
    draft = path.with_name(f"{path.name}.{uuid4().hex}.part")
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def undisturbed() -> Generator[None]:
    """Ctrl-C, or another signal that stops a command, waits until the end, and is a `KeyboardInterrupt` then.

    For the few milliseconds in which several files are brought in step. In a thread that gets no signals nothing is
    changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stopped: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        stopped.append(number)

    heard = [number for number in STOPS if callable(signal.getsignal(number))]
    former = {number: signal.signal(number, note) for number in heard}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    if stopped:
        raise KeyboardInterrupt


@contextmanager
def held(folder: Path, command: str = "") -> Generator[None]:
    """Nobody else writes to this folder until the end. You get a `ScenarioError` that says who does already.

    A process that is killed holds it no more. Where there is no folder, or none to write to, nothing is held.
    """
    path = folder / LOCK
    own = _taken(path, folder)
    if own is None:
        yield
        return
    try:
        os.ftruncate(own, 0)
        what = command or "a command"
        os.write(own, f"{what} (process {os.getpid()}, since {datetime.now():%Y-%m-%d %H:%M:%S})".encode())
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(own)


def _taken(path: Path, folder: Path) -> int | None:
    """The open file of the lock, which is this process's; None where there can be none."""
    while fcntl is not None:
        try:
            own = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError:
            return None
        try:
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(own), path.stat()):
                return own
        except BlockingIOError:
            who = os.read(own, 500).decode(errors="replace") or "another command"
            os.close(own)
            why = f"is being written by {who}"
            raise ScenarioError("folder", str(folder), why, "another folder, or wait until that has ended") from None
        except FileNotFoundError:  # somebody else's, which was there a moment ago
            pass
        except OSError:  # a file system without locks
            os.close(own)
            return None
        os.close(own)  # whoever held it has removed it
    return None
