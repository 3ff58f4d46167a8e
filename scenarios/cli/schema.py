"""Command `netsim schema`; `python -m scenarios.cli.schema` writes the two schemas that the package installs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from netsim.errors import ScenarioError
from scenarios.render.terminal import fail, write

if TYPE_CHECKING:
    from scenarios.schema.export import Kind


def schema(
    what: Annotated[
        Literal["scenario", "sweep", "results"],
        typer.Argument(help="Whose schema: a file's, or that of results.json."),
    ] = "scenario",
    sweep: Annotated[bool, typer.Option("--sweep", help="The same as WHAT sweep.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write it to this file, and print the line that a scenario names it by.", show_default=False
        ),
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

    if what == "results":
        _print_results_schema(out)
        return
    kind: Kind = "sweep" if sweep or what == "sweep" else "scenario"
    if where:
        write(str(schema_file(kind)))
        return
    text = _text(kind)
    if out is None:
        write(text.removesuffix("\n"))
        return
    _save(out, text)
    write(f"First line of a file beside it: {MARK}{out.name}")


def _save(out: Path, text: str) -> None:
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        why = f"cannot be written ({error.strerror})"
        fail(ScenarioError("--out", str(out), why, "a file in a folder that is there"))


def _print_results_schema(out: Path | None) -> None:
    from scenarios.results.serialize import schema as results_schema

    text = json.dumps(results_schema(), indent=1, ensure_ascii=False)
    if out is None:
        write(text)
    else:
        _save(out, text + "\n")


def _text(kind: "Kind") -> str:
    from scenarios.schema import json_schema
    from scenarios.sweep.points import json_schema as sweep_schema

    return json.dumps(sweep_schema() if kind == "sweep" else json_schema(), indent=1, ensure_ascii=False) + "\n"


def _install() -> None:
    from scenarios.schema.export import schema_file

    for kind in ("scenario", "sweep"):
        schema_file(kind).write_text(_text(kind), encoding="utf-8")


if __name__ == "__main__":
    _install()
