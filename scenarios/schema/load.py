"""From a YAML file to a `Scenario`, with errors that name file, line, field, value and what is allowed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError, together
from scenarios.files import mistakes
from scenarios.files.document import keys_of
from scenarios.files.library import full_tree, is_set, read_source
from scenarios.schema.scenario import Scenario


class Located:
    """A scenario and where each of its fields stands in its file."""

    def __init__(self, scenario: Scenario, file: str, tree: Any, settings: Sequence[str] = ()) -> None:
        self.scenario, self.file, self.tree, self.settings = scenario, file, tree, settings

    def locate(self, error: ScenarioError) -> ScenarioError:
        """The same error with the file and the line of its field (or of the nearest enclosing one). An error that has
        a place already, in a trace or a graph file, keeps it."""
        return together([self._located(one) for one in error.each()])

    def _located(self, error: ScenarioError) -> ScenarioError:
        if error.file is not None:
            return error
        if is_set(error.field, self.settings):
            return replace(error, field=f"-o {error.field}")
        place = mistakes.where(self.tree, keys_of(error.field), self.file)
        return replace(error, file=place.file, line=place.line)


def load_scenario(source: str | Path, settings: Sequence[str] = ()) -> Located:
    """A scenario from a YAML file, or by name from the library, with `settings` such as ``links.loss=0.2``.

    Raises `ScenarioError` for a file that is not there or is not YAML, and with every field that does not fit.
    """
    return parse(*read_source(str(source)), settings)


def parse(text: str, file: str = "<text>", settings: Sequence[str] = ()) -> Located:
    """A scenario from YAML text. Raises one `ScenarioError` with every mistake."""
    return validated(full_tree(text, file, settings), file, settings)


def validated(tree: Any, file: str, settings: Sequence[str] = ()) -> Located:
    """A scenario from the tree of a file, or from plain mappings and lists (whose errors are at line 1)."""
    return Located(mistakes.validated(Scenario, tree, file, settings), file, tree, settings)
