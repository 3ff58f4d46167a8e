"""Progress of work in other processes: each keeps a file of what it does now, which a thread of this one reads."""

import math
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from joblib import effective_n_jobs

from scenarios.build.duration import Progress, Silent, how_far

EVERY = 1.0
"""Seconds between two looks at the files, and between two that one process writes."""


@dataclass
class Noted(Silent):
    """Progress of work called `name`, as a line in a file."""

    file: Path
    name: str
    _stage: str = ""
    _total: int = 0
    _done: int = 0
    _written: float = 0.0

    def begin(self, stage: str, total: int, _seconds: float = math.nan, /) -> None:
        self._stage, self._total, self._done = stage, total, 0
        self._write()
        self._written = 0.0  # the first step is written at once

    def advance(self, steps: int) -> None:
        self._done += steps
        if self._done >= self._total or time.monotonic() >= self._written + EVERY:
            self._write()

    def _write(self) -> None:
        self._written = time.monotonic()
        said = ": ".join(filter(None, (self.name, self._stage, how_far(self._done, self._total))))
        with suppress(OSError):  # the folder is gone where the command was interrupted
            self.file.write_text(said, encoding="utf-8")

    def over(self) -> None:
        """There is no more to say."""
        with suppress(OSError):
            self.file.unlink(missing_ok=True)


def at_once(jobs: int, tasks: int) -> int:
    """How many of the tasks are at work at a time in `jobs` processes (−1: one per core)."""
    count: Any = effective_n_jobs  # joblib ships no types
    return max(1, min(count(jobs), tasks))


@contextmanager
def followed(progress: Progress) -> Generator[Path]:
    """A folder for files of `Noted`: within, `progress` is told what is in them."""
    over = threading.Event()
    with TemporaryDirectory(prefix="netsim-progress-") as place:
        folder = Path(place)

        def look() -> None:
            while not over.wait(EVERY):
                lines = list[str]()
                for file in sorted(folder.iterdir()):
                    with suppress(OSError):  # its work has just ended
                        lines.append(file.read_text(encoding="utf-8"))
                progress.doing([line for line in lines if line])

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield folder
        finally:
            over.set()
            thread.join()
            progress.doing([])
