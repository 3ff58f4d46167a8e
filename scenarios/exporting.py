"""`netsim schema`."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from netsim.errors import ScenarioError
from scenarios.terminal import console, fail, write


def schema(
    sweep: Annotated[bool, typer.Option("--sweep", help="That of a sweep file, in place of a scenario's.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write it to this file, and print the line that names it.", show_default=False)
    ] = None,
) -> None:
    """Print the JSON Schema of a scenario file, or of a sweep file: editors complete and check files by it.

    A file names its schema in its first line; every shipped file does, and so does what `netsim show` prints.

    Exit status: 0 done, 2 a file that cannot be written.
    """
    from scenarios.schema import json_schema
    from scenarios.schema.files import MARK
    from scenarios.sweep.spec import json_schema as sweep_schema

    text = json.dumps(sweep_schema() if sweep else json_schema(), indent=1, ensure_ascii=False)
    if out is None:
        write(text)
        return
    try:
        out.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        fail(
            ScenarioError(
                "--out", str(out), f"cannot be written ({error.strerror})", "a file in a folder that is there"
            )
        )
    console.print(Text(f"First line of a file beside it: {MARK}{out.name}"), soft_wrap=True)
