"""Command `netsim show`: a shipped scenario, a file as it resolves, or an algorithm."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from netsim.errors import ScenarioError
from scenarios.cli import options
from scenarios.cli.options import Settings
from scenarios.files.document import Fields, place_of
from scenarios.render.terminal import fail, write

WHAT = typer.Argument(
    help="A shipped scenario, a YAML file, or the kind of an algorithm.",
    show_default=False,
    autocompletion=options.complete_subject,
)


def show(
    name: Annotated[str, WHAT],
    resolved: Annotated[
        bool,
        typer.Option("--resolved", help="Print a scenario with every default, and without `extends`."),
    ] = False,
    option: Settings = None,
) -> None:
    """Print a scenario, to start one of your own, or describe an algorithm: its update, parameters, and claim.

    A shipped scenario is printed as it is written, with its variants in a comment at the end. A file that extends
    another is printed with the fields that it takes from there.

    Exit status: 0 done, 2 wrong input.
    """
    try:
        text = _scenario(name, resolved, option or []) or _algorithm(name)
    except ScenarioError as error:
        fail(error)
    write(text.rstrip("\n"))


def _scenario(name: str, resolved: bool, settings: list[str]) -> str | None:
    """None where the name is that of an algorithm."""
    from scenarios.files.library import library, variant_names

    there = name in library() or Path(name).is_file()
    if not there and "/" not in name and not name.endswith(options.YAML):
        return None
    if resolved or settings:
        return _resolved(name, settings)
    if name not in library():
        return _own(name)
    from scenarios.files.library import plain_tree

    text = library()[name]
    names = variant_names(plain_tree(name))
    counted = f"# {len(names)} variants: {', '.join(names)}\n" if names else ""
    return _with_schema(text) + counted


def _with_schema(text: str) -> str:
    """The text with a schema line that holds wherever it is written to on this machine."""
    from scenarios.schema.export import MARK, with_schema_line

    return with_schema_line(text) if text.startswith(MARK) else text


def _own(name: str) -> str:
    """A file as it is; where it extends another, with all that it takes from there."""
    from scenarios.files.dump import dump
    from scenarios.files.extend import EXTENDS
    from scenarios.schema.export import schema_line
    from scenarios.schema.load import load_scenario

    located = load_scenario(name)
    if EXTENDS not in located.tree:
        return Path(name).read_text(encoding="utf-8-sig")
    base = located.tree[EXTENDS]
    changed = ", ".join(_fields_of_file(located.tree, name)) or "nothing else"
    note = (
        f"# {name} extends {base}: all that it comes to, without what is at its default.\n"
        f"# The file itself says: {changed}. The rest is from {base}.\n"
    )
    return schema_line() + note + dump(located.scenario)


def _fields_of_file(tree: Any, file: str, before: str = "") -> Iterator[str]:
    """The fields that stand in this file, as dotted paths; of a mapping that it says in part, those in it."""
    from scenarios.files.extend import EXTENDS

    for key, value in tree.items():
        if isinstance(value, Fields) and any(place.file != file for place in value.places.values()):
            yield from _fields_of_file(value, file, f"{before}{key}.")
        elif key != EXTENDS and (place := place_of(tree, key)) is not None and place.file == file:
            yield f"{before}{key}"


def _resolved(name: str, settings: list[str]) -> str:
    from scenarios.files.dump import dump
    from scenarios.schema.export import schema_line
    from scenarios.schema.load import load_scenario

    located = load_scenario(name, settings)
    note = f"# {name}{''.join(f' -o {one}' for one in settings)}, with every default.\n"
    return schema_line() + note + dump(located.scenario, full=True)


def _algorithm(kind: str) -> str:
    """What it is in words, its parameters, and its claim."""
    from scenarios.cli.catalogue import algorithm_page

    return algorithm_page(kind)
