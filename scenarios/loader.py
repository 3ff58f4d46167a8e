"""From a YAML file to a `Scenario`, with errors that name file, line, field, value and what is allowed."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from netsim.errors import ScenarioError
from scenarios.inheritance import EXTENDS, inherited, is_set, overridden
from scenarios.mistakes import first_error, line_of, plain
from scenarios.schema import Scenario
from scenarios.shipped import library
from scenarios.tree import keys_of

__all__ = ["Located", "library", "load_scenario", "parse", "validated"]

FORM = "name: …, topology: …, algorithms: …"


def load_scenario(source: str | Path, settings: Sequence[str] = ()) -> "Located":
    """A scenario from a YAML file, or by name from the library, with `settings` such as ``links.loss=0.2``.

    You get a `ScenarioError` for a file that is not there, that is no YAML, or that says what cannot be said.
    """
    return parse(*_read(str(source)), settings)


def _read(source: str) -> tuple[str, str]:
    """Text and name of a file."""
    shipped = library()
    if source in shipped:
        return shipped[source], f"{source}.yaml"
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        near = difflib.get_close_matches(str(source), shipped, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ScenarioError(
            "scenario", str(source), f"no readable file and no shipped scenario ({error})",
            f"{hint}a path, or one of {', '.join(shipped)}",
        ) from error  # fmt: skip
    return text, source


def _base(name: str, file: str) -> tuple[Any, str]:
    """What a file extends: a shipped scenario, or a path beside the file."""
    if name in library():
        text, place = _read(name)
    else:
        text, place = _read(str(Path(file).parent / name))
    return _tree(text, place), place


class Located:
    """A scenario and where each of its fields stands in its file."""

    def __init__(self, scenario: Scenario, file: str, tree: Any, settings: Sequence[str] = ()) -> None:
        self.scenario, self.file, self.tree, self.settings = scenario, file, tree, settings

    def locate(self, error: ScenarioError) -> ScenarioError:
        """The same error with the file and the line of its field (or of the nearest enclosing one).

        An error that has a place already, in a trace or a graph file, keeps it.
        """
        if error.file is not None:
            return error
        if is_set(error.field, self.settings):
            return replace(error, field=f"-o {error.field}")
        return replace(error, file=self.file, line=line_of(self.tree, keys_of(error.field)))


def parse(text: str, file: str = "<text>", settings: Sequence[str] = ()) -> Located:
    """A scenario from YAML text."""
    located = inherited(_tree(text, file), file, _base)
    try:
        found = validated(overridden(located, settings), file)
    except ScenarioError as error:
        if is_set(error.field, settings):
            raise replace(error, field=f"-o {error.field}", file=None, line=None) from None
        raise
    return Located(found.scenario, file, found.tree, settings)


def _tree(text: str, file: str) -> Any:
    """What YAML makes of a file, with lines."""
    try:
        tree: Any = cast(Any, YAML(typ="rt")).load(StringIO(text))
    except MarkedYAMLError as error:
        mark, problem = cast(Any, error).problem_mark, cast(Any, error).problem
        line = mark.line + 1 if mark else 1
        raise ScenarioError("file", file, f"not valid YAML: {problem}", "YAML 1.2", file, line) from error
    except YAMLError as error:
        raise ScenarioError("file", file, f"not valid YAML: {error}", "YAML 1.2", file, 1) from error
    if tree is None:
        raise ScenarioError("file", file, "the file is empty", FORM, file, 1)
    if not isinstance(tree, Mapping):
        raise ScenarioError("file", plain(tree), "a mapping of fields is needed", FORM, file, 1)
    return cast(Any, tree)


def validated(tree: Any, file: str) -> Located:
    """A scenario from what YAML made of a file, or from plain mappings and lists (their errors are at line 1)."""
    try:
        said = {key: value for key, value in plain(tree).items() if key != EXTENDS}
        return Located(Scenario.model_validate(said), file, tree)
    except ValidationError as error:
        raise first_error(error, tree, file, Scenario) from error
