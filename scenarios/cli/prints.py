"""The standard output is netsim's own: what other code prints goes to the standard error."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from io import TextIOWrapper
from typing import IO, cast

from scenarios.render.terminal import console

_WHATEVER = cast("IO[str]", None)
"""What the standard output is at the time."""


@contextmanager
def prints_apart() -> Generator[None]:
    """Within, what somebody's own code prints, here and in processes that begin here, goes to the standard error:
    a document of `--json` stays one, and results are not lost among thousands of lines."""
    before = sys.stdout
    before.flush()
    if not _is(before, 1) or not _is(sys.stderr, 2):  # a test's, or a notebook's
        console.file = before
        try:
            with redirect_stdout(sys.stderr):
                yield
        finally:
            console.file = _WHATEVER
        return
    place = os.dup(1)
    with open(place, "w", encoding=before.encoding, errors=before.errors) as own:
        console.file = own
        os.dup2(2, 1)
        try:
            yield
        finally:
            before.flush()
            console.file = _WHATEVER
            os.dup2(place, 1)


def _is(stream: IO[str], descriptor: int) -> bool:
    """Whether a stream is written to this descriptor of the process."""
    try:
        return isinstance(stream, TextIOWrapper) and stream.fileno() == descriptor
    except OSError:
        return False
