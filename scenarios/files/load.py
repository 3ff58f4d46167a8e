"""From a YAML file to a `Scenario`, with errors that name file, line, field, value and what is allowed."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from netsim.errors import ScenarioError, together
from scenarios.files.document import keys_of, plain, read_yaml
from scenarios.files.extend import EXTENDS, inherited, is_set, overridden
from scenarios.files.library import library
from scenarios.files.mistakes import mistakes, where
from scenarios.schema import Scenario

__all__ = ["Located", "library", "load_scenario", "parse", "validated"]

FORM = "name: …, topology: …, algorithms: …"
M = TypeVar("M", bound=BaseModel)


def load_scenario(source: str | Path, settings: Sequence[str] = ()) -> "Located":
    """A scenario from a YAML file, or by name from the library, with `settings` such as ``links.loss=0.2``.

    You get a `ScenarioError` for a file that is not there, that is no YAML, or that says what cannot be said.
    """
    return parse(*_read(str(source)), settings)


def read_text(path: Path) -> str:
    """A text file in UTF-8, with or without a byte order mark. You get a `ScenarioError` for anything else."""
    try:
        raw = path.read_bytes()
    except IsADirectoryError:
        inside = sorted(one.name for one in path.iterdir() if one.suffix in (".yaml", ".yml"))
        allowed = f"a file of it: {', '.join(inside[:5])}" if inside else "a YAML file"
        raise ScenarioError("file", str(path), "is a folder", allowed) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ScenarioError("file", str(path), f"no readable file ({reason})", _neighbors(path)) from error
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ScenarioError("file", str(path), "is in UTF-16", "the same file, saved as UTF-8", str(path), 1)
    if b"\0" in raw:
        raise ScenarioError("file", str(path), "is no text file", "a YAML file", str(path), 1)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        why = f"is not in UTF-8 (byte {error.start}: {raw[error.start]:#04x})"
        raise ScenarioError("file", str(path), why, "the same file, saved as UTF-8", str(path), line) from error


def _neighbors(path: Path) -> str:
    """What lies beside a file that is not there, under a near name."""
    try:
        names = [one.name for one in path.parent.iterdir() if one.suffix in (".yaml", ".yml")]
    except OSError:
        return "a YAML file"
    found = difflib.get_close_matches(path.name, names, n=2) or [n for n in names if Path(n).stem == path.name]
    return f"did you mean {' or '.join(str(path.parent / one) for one in found)}?" if found else "a YAML file"


def _read(source: str) -> tuple[str, str]:
    """Text and name of a file."""
    shipped = library()
    if source in shipped:
        return shipped[source], f"{source}.yaml"
    path = Path(source)
    try:
        return read_text(path), source
    except ScenarioError as error:
        if error.file is not None or path.exists():
            raise
        found = difflib.get_close_matches(path.name.removesuffix(".yaml"), shipped, n=3)
        hint = f"; did you mean {' or '.join(map(repr, found))}?" if found else ""
        hint = f"; {error.allowed}" if error.allowed.startswith("did you mean") else hint
        problem = f"no such file, and no shipped scenario of this name{hint}"
        raise ScenarioError("scenario", source, problem, "a path, or a name that `netsim list` shows") from error


def _base(name: str, file: str) -> tuple[Any, str]:
    """What a file extends: a shipped scenario, or a path beside the file."""
    text, place = _read(name) if name in library() else _read(str(Path(file).parent / name))
    return read_fields(text, place, FORM), place


class Located:
    """A scenario and where each of its fields stands in its file."""

    def __init__(self, scenario: Scenario, file: str, tree: Any, settings: Sequence[str] = ()) -> None:
        self.scenario, self.file, self.tree, self.settings = scenario, file, tree, settings

    def locate(self, error: ScenarioError) -> ScenarioError:
        """The same error with the file and the line of its field (or of the nearest enclosing one).

        An error that has a place already, in a trace or a graph file, keeps it.
        """
        return together([self._located(one) for one in error.each()])

    def _located(self, error: ScenarioError) -> ScenarioError:
        if error.file is not None:
            return error
        if is_set(error.field, self.settings):
            return replace(error, field=f"-o {error.field}")
        place = where(self.tree, keys_of(error.field), self.file)
        return replace(error, file=place.file, line=place.line)


def parse(text: str, file: str = "<text>", settings: Sequence[str] = ()) -> Located:
    """A scenario from YAML text. You get one `ScenarioError` that tells all its mistakes, if there are any."""
    tree = overridden(inherited(read_fields(text, file, FORM), file, _base), settings)
    try:
        found = validated(tree, file)
    except ScenarioError as error:
        raise together([_by_setting(one, settings) for one in error.each()]) from None
    return Located(found.scenario, file, found.tree, settings)


def _by_setting(error: ScenarioError, settings: Sequence[str]) -> ScenarioError:
    """An error in what the command line set has no place in a file."""
    if not is_set(error.field, settings):
        return error
    return replace(error, field=f"-o {error.field}", file=None, line=None)


def read_fields(text: str, file: str, form: str) -> Any:
    """What YAML makes of a file that is to be a mapping such as `form`, with places."""
    tree: Any = read_yaml(text, file)
    if tree is None:
        raise ScenarioError("file", file, "the file is empty", form, file, 1)
    if not isinstance(tree, Mapping):
        hint = " (the hyphens make it a list)" if isinstance(tree, list) else ""
        raise ScenarioError("file", plain(tree), f"a mapping of fields is needed{hint}", form, file, 1)
    return cast("Any", tree)


def validated(tree: Any, file: str) -> Located:
    """A scenario from what YAML made of a file, or from plain mappings and lists (their errors are at line 1)."""
    said = {key: value for key, value in plain(tree).items() if key != EXTENDS}
    return Located(as_model(Scenario, said, tree, file), file, tree)


def as_model(model: type[M], said: Mapping[str, Any], tree: Any, file: str) -> M:
    """What was said as a model. You get one `ScenarioError` with every mistake."""
    try:
        return model.model_validate(said)
    except ValidationError as error:
        raise mistakes(error, tree, file, model) from error
