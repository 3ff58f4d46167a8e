"""From a YAML file to a `Scenario`, or to the hosts of `netsim deploy --agents-on` (which agent runs where), with
errors that name file, line, field, value and what is allowed; and the line by which an editor finds its JSON Schema.

The line is that of the YAML language server (VS Code, Neovim, Emacs, JetBrains). A shipped file names its schema by
the path from itself, which works in a checkout and where the package is installed; a file that is written elsewhere
names the installed schema, by its address on this machine: no network is needed.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from netsim.errors import ScenarioError, together
from netsim.readers.deployed import hosts
from scenarios.files import mistakes
from scenarios.files.document import keys_of
from scenarios.files.library import full_tree, is_set, read_fields, read_source, read_text
from scenarios.schema.scenario import Scenario
from scenarios.schema.spec import OF_TYPE, Spec


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


# ── hosts of a deployment ───────────────────────────────────────────────────────────────────────────────
class _PlaceSpec(Spec, of=hosts.Place): ...


class _HostSpec(Spec, of=hosts.Host): ...


OF_TYPE[hosts.Place], OF_TYPE[hosts.Host] = _PlaceSpec, _HostSpec


class _HostsSpec(Spec, of=hosts.Hosts): ...


def load_hosts(path: Path) -> hosts.Hosts:
    """Hosts of a YAML file. You get one `ScenarioError` with all its mistakes: file, line, field, value, what is
    allowed."""
    file = str(path)
    tree = read_fields(read_text(path), file, "coordinator: {address: …, port: …}, agents: […]")
    spec = mistakes.validated(cast("Any", _HostsSpec), tree, file)
    try:
        return spec.build()
    except ScenarioError as error:
        place = mistakes.where(tree, keys_of(error.field), file)
        raise replace(error, file=place.file, line=place.line) from None


# ── the line by which an editor finds the schema ────────────────────────────────────────────────────────
Kind = Literal["scenario", "sweep"]
MARK = "# yaml-language-server: $schema="


def schema_file(kind: Kind = "scenario") -> Path:
    """The installed JSON Schema of a scenario file, or of a sweep file."""
    return Path(__file__).with_name(f"{kind}.schema.json")


def schema_line(kind: Kind = "scenario", beside: Path | None = None) -> str:
    """The first line of a YAML file, with its line break, by which editors find its schema.

    `beside`: the folder of the file, which then names the schema by a relative path (for files of this package).
    Without it the line names the installed schema, for a file that may be anywhere on this machine.
    """
    file = schema_file(kind)
    return f"{MARK}{file.as_uri() if beside is None else os.path.relpath(file, beside).replace(os.sep, '/')}\n"


def with_schema_line(text: str, kind: Kind = "scenario", beside: Path | None = None) -> str:
    """A YAML text that begins with its schema line; one that it has is replaced."""
    first, _, rest = text.partition("\n")
    return schema_line(kind, beside) + (rest if first.startswith(MARK) else text)
