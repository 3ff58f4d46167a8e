"""Where the console command begins: a Ctrl-C while everything is still being loaded is one, too, and it is said what
takes long to load."""

import gc
import os
import signal
import sys
import threading
import time
from types import FrameType

INTERRUPTED = 130
QUIET = 4.0
"""Seconds of loading after which that is said, and again after twice as long."""


def main() -> None:
    """`scenarios.cli.app.main`, loaded here."""
    leave = os._exit  # code of the user's may find another one there
    threading.Thread(target=_watch, args=(threading.get_ident(),), daemon=True).start()
    try:
        from scenarios.cli.app import main as command

        command()
    except KeyboardInterrupt:
        leave(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done, and said: only processes are left to end
        gc.freeze()  # nor is the rest of a large run looked for, to be freed piece by piece


def _watch(thread: int) -> None:
    """Say what a thread loads, whenever it does for long."""
    wait = since = 0.0
    while True:
        time.sleep(QUIET / 4)
        place, now = _loading(sys._current_frames().get(thread)), time.monotonic()  # pyright: ignore[reportPrivateUsage]
        if not place:
            since = wait = 0.0
        elif not since:
            since, wait = now, QUIET
        elif now - since >= wait:
            print(f"{place} ({now - since:.0f} s so far). Ctrl-C ends it.", file=sys.stderr, flush=True)
            wait *= 2


def _loading(frame: FrameType | None) -> str:
    """What is loaded in a frame, or in one that called it, in words: the line of a file that is no package's where it
    is at work; "" where nothing is."""
    own, loads = "", False
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib"):
            loads = True
        elif not (own or loads or file.startswith(("<", *_OURS)) or f"{os.sep}lib{os.sep}python" in file):
            own = f"{os.path.basename(file)}:{frame.f_lineno} is being imported: does this loop end?"
        frame = frame.f_back
    if not loads:
        return ""
    return own or "netsim loads its libraries: this machine or its disk is busy"


_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = tuple(os.path.join(_ROOT, name) + os.sep for name in ("netsim", "attacks", "scenarios"))


if __name__ == "__main__":
    main()
