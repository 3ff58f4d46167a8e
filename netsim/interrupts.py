"""Signals that stop a command, while processes of its own are ended."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, what a batch system sends before it kills, and a closed terminal."""


@contextmanager
def stopped_once() -> Generator[None]:
    """After the first signal that stops a command, ignore all others until the end.

    Two come at once where a signal goes to a process and to its group. The second would end the programs that are
    started to end the worker processes, which inherit that it is ignored; nobody would end the workers then. In a
    thread that gets no signals nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: handler for number in STOPS if callable(handler := signal.getsignal(number))}

    def stop(number: int, frame: FrameType | None) -> None:
        for one in former:
            signal.signal(one, signal.SIG_IGN)
        former[signal.Signals(number)](number, frame)

    for number in former:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
