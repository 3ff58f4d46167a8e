"""What has to be done whole or not at all, when somebody presses Ctrl-C."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def undisturbed() -> Generator[None]:
    """A Ctrl-C within waits until the end, and is a `KeyboardInterrupt` then: for the few milliseconds in which
    several files are brought in step. In a thread that gets no signals nothing is changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        pressed.append(number)

    former = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
    if pressed:
        raise KeyboardInterrupt
