"""Scenario files: load, extend, dump, mistakes with line numbers."""

from collections.abc import Callable

CODE_LISTENERS: list[Callable[[str, str], None]] = []
"""Called before code is run that a scenario names and that is not netsim's, with the place that the scenario names
and with the file or module: whoever gave the command sees a line."""
