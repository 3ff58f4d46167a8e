"""The JSON Schemas as files of this package, and the first line by which an editor finds them.

The line is that of the YAML language server (VS Code, Neovim, Emacs, JetBrains). A shipped file names its schema by
the path from itself, which works in a checkout and where the package is installed; a file that is written elsewhere
names the installed schema, by its address on this machine: no network is needed.
"""

import os
from pathlib import Path
from typing import Literal

Kind = Literal["scenario", "sweep"]
MARK = "# yaml-language-server: $schema="


def schema_file(kind: Kind = "scenario") -> Path:
    """Where the JSON Schema of a scenario file, or of a sweep file, is installed."""
    return Path(__file__).with_name(f"{kind}.schema.json")


def schema_line(kind: Kind = "scenario", beside: Path | None = None) -> str:
    """The first line of a YAML file, with its line break, by which editors find its schema.

    `beside`: the folder of the file, which then names the schema by a relative path (for files of this package).
    Without it the line names the installed schema, for a file that may be anywhere on this machine.
    """
    if beside is None:
        return f"{MARK}{schema_file(kind).as_uri()}\n"
    return f"{MARK}{os.path.relpath(schema_file(kind), beside).replace(os.sep, '/')}\n"


def with_schema_line(text: str, kind: Kind = "scenario", beside: Path | None = None) -> str:
    """A YAML text that begins with its schema line; one that it has is replaced."""
    first, _, rest = text.partition("\n")
    return schema_line(kind, beside) + (rest if first.startswith(MARK) else text)
