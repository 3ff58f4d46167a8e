"""Signals that stop a command: what becomes of them where it must not be stopped just then, or not twice."""

import _thread
import asyncio
import inspect
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, what a batch system sends before it kills, and a closed terminal."""
_Handler = Callable[[int, FrameType | None], Any]


@contextmanager
def undisturbed() -> Generator[None]:
    """Ctrl-C, or another signal that stops a command, waits until the end, and is a `KeyboardInterrupt` then.

    For the few milliseconds in which several files are brought in step.
    """
    stopped: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        stopped.append(number)

    with _handled(_handlers(), note):
        yield
    if stopped:
        raise KeyboardInterrupt


@contextmanager
def stopped_once() -> Generator[None]:
    """After the first signal that stops a command, ignore all others until the end.

    Two come at once where a signal goes to a process and to its group. The second would end the programs that are
    started to end the worker processes, which inherit that it is ignored; nobody would end the workers then.
    """
    former = _handlers()

    def stop(number: int, frame: FrameType | None) -> None:
        for one in former:
            signal.signal(one, signal.SIG_IGN)
        former[number](number, frame)

    with _handled(former, stop):
        yield


_UNHEARD = 1.0
"""Seconds after which an interrupt comes again that its loop has not got to."""


@contextmanager
def cancelled_by_interrupts(task: asyncio.Task[Any], loop: asyncio.AbstractEventLoop) -> Generator[None]:
    """Within, the first Ctrl-C cancels the main task, and is a `KeyboardInterrupt` once that has ended; the next one
    is raised wherever the program is. So is the first where the loop does not get to it: a callback that never ends,
    an endless loop of an agent's, would not be cancelled.
    """
    if _handlers().get(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    heard, from_here = threading.Event(), threading.Event()
    repeaters = list[threading.Thread]()

    def repeat() -> None:
        while not heard.wait(_UNHEARD):  # more than once: code may catch everything
            from_here.set()
            _interrupt_main()

    def interrupted(number: int, frame: FrameType | None) -> None:
        repeated = from_here.is_set()
        from_here.clear()
        if not repeaters and not task.done():
            task.cancel()
            loop.call_soon_threadsafe(heard.set)
            repeaters.append(threading.Thread(target=repeat, daemon=True))
            repeaters[0].start()
        elif not (repeated and heard.is_set()):
            signal.default_int_handler(number, frame)

    try:
        with _handled({signal.SIGINT: signal.default_int_handler}, interrupted):
            try:
                yield
            finally:
                heard.set()
                for one in repeaters:
                    one.join()
    except asyncio.CancelledError:
        if repeaters and task.uncancel() == 0:
            raise KeyboardInterrupt from None
        raise


_AGAIN = 0.05
"""Seconds after which an interrupt that was lost comes again."""


@contextmanager
def never_lost() -> Generator[None]:
    """Within, an interrupt that Python loses comes again a moment later.

    It is lost where an exception is: in a destructor, which is where one lands that came while the collector walked
    through gigabytes.
    """
    former = sys.unraisablehook

    def again(lost: "sys.UnraisableHookArgs") -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            former(lost)
            return
        here = inspect.currentframe()
        assert here is not None
        threading.Thread(target=_interrupt_after, args=(here,), daemon=True).start()

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = former


def _interrupt_after(frame: FrameType) -> None:
    """Interrupt the main thread once this frame of its has ended: an interrupt within would be lost again."""
    while True:
        time.sleep(_AGAIN)
        try:
            frame.clear()  # refused while it runs
        except RuntimeError:
            continue
        _interrupt_main()
        return


def _interrupt_main() -> None:
    """As Ctrl-C does: a real signal, where there are any, also ends a sleep."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _handlers() -> dict[int, _Handler]:
    """Who handles each signal that stops a command; nobody in a thread that gets none, or where it is ignored."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: handler for number in STOPS if callable(handler := signal.getsignal(number))}


@contextmanager
def _handled(former: dict[int, _Handler], handler: _Handler) -> Generator[None]:
    """Another handler in place of the former ones.

    Blocks may end in any order, as those of generators do that somebody still holds: one that ends before a later one
    leaves its former handlers to that.
    """
    for number in former:
        signal.signal(number, handler)
    _ACTIVE.append(former)
    try:
        yield
    finally:
        place = next(k for k, one in enumerate(_ACTIVE) if one is former)
        later = _ACTIVE[place + 1 :]
        del _ACTIVE[place]
        for number, one in former.items():
            above = next((other for other in later if number in other), None)
            if above is None:
                signal.signal(number, one)
            else:
                above[number] = one


_ACTIVE: list[dict[int, _Handler]] = []
"""Former handlers of the blocks that have not ended, in order."""
