"""Code that a scenario names, which is not netsim's: whoever gave the command sees a line before it is run."""

from collections.abc import Callable

LISTENERS: list[Callable[[str, str], None]] = []
"""Called with the place that the scenario names and with the file or module."""


def announce(place: str, what: str) -> None:
    """Say that this code is run now."""
    for listener in LISTENERS:
        listener(place, what)
