"""Command `netsim schema`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from netsim.errors import ScenarioError
from scenarios.render.terminal import fail, write


def schema(
    sweep: Annotated[bool, typer.Option("--sweep", help="That of a sweep file, in place of a scenario's.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write it to this file, and print the line that names it.", show_default=False)
    ] = None,
    where: Annotated[
        bool, typer.Option("--where", help="Print where the installed schema file is, for an editor's settings.")
    ] = False,
) -> None:
    """Print the JSON Schema of a scenario file, or of a sweep file: editors complete and check files by it.

    A file names its schema in its first line; every shipped file does, and so does what `netsim show` prints.

    Exit status: 0 done, 2 wrong input.
    """
    from scenarios.schema import json_schema
    from scenarios.schema.export import MARK, schema_file
    from scenarios.sweep.points import json_schema as sweep_schema

    if where:
        write(str(schema_file("sweep" if sweep else "scenario")))
        return
    text = json.dumps(sweep_schema() if sweep else json_schema(), indent=1, ensure_ascii=False)
    if out is None:
        write(text)
        return
    try:
        out.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        why = f"cannot be written ({error.strerror})"
        fail(ScenarioError("--out", str(out), why, "a file in a folder that is there"))
    write(f"First line of a file beside it: {MARK}{out.name}")
