"""Command `netsim schema`; `python -m scenarios.cli.schema` writes the two schemas that the package installs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from netsim.errors import ScenarioError
from scenarios.cli.commands import command
from scenarios.cli.options import given
from scenarios.render.terminal import fail, write

if TYPE_CHECKING:
    from scenarios.schema.export import Kind


@command("schema", "netsim schema --out scenario.schema.json")
def _schema(
    what: Annotated[
        Literal["scenario", "sweep", "results"],
        typer.Argument(help="Whose schema: a file's, or that of results.json."),
    ] = "scenario",
    sweep: Annotated[bool, typer.Option("--sweep", help="The same as WHAT sweep.")] = False,
    out: Annotated[
        Path | None, given(help="Write it to this file, and print the line that a scenario names it by.")
    ] = None,
    where: Annotated[
        bool, typer.Option("--where", help="Print the path of the installed schema file, for an editor's settings.")
    ] = False,
) -> None:
    """Print the JSON Schema of a scenario file or a sweep file, by which editors complete and check files, or of
    results.json.

    A file names its schema in its first line, as every shipped file does, and everything that `netsim show` prints.

    Exit status: 0 done, 2 wrong input.
    """
    from scenarios.schema.export import MARK, schema_file

    name: Kind | None = None if what == "results" else "sweep" if sweep else what
    if where and name is not None:
        write(str(schema_file(name)))
        return
    text = _text(name)
    if out is None:
        write(text.removesuffix("\n"))
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        why = f"cannot be written ({error.strerror})"
        fail(ScenarioError("--out", str(out), why, "a file in a folder that is there"))
    if name is not None:
        write(f"First line of a file beside it: {MARK}{out.name}")


def _text(kind: "Kind | None") -> str:
    """The schema of such a file; None: that of results.json."""
    from scenarios.results.serialize import schema as results_schema
    from scenarios.schema import json_schema
    from scenarios.sweep.points import json_schema as sweep_schema

    found = results_schema() if kind is None else sweep_schema() if kind == "sweep" else json_schema()
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    from scenarios.schema.export import schema_file

    schema_file("scenario").write_text(_text("scenario"), encoding="utf-8")
    schema_file("sweep").write_text(_text("sweep"), encoding="utf-8")
