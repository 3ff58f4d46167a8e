"""Command `netsim show`: a shipped scenario, a file as it resolves, or an algorithm."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from netsim.errors import ScenarioError
from scenarios.cli.options import YAML, Settings, Subject
from scenarios.files.document import Fields, place_of
from scenarios.render.terminal import fail, write


def show(
    name: Subject,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Print a scenario with every default, and without `extends`.")
    ] = False,
    option: Settings = None,
) -> None:
    """Print a scenario, to start one of your own, or describe an algorithm: its update, parameters, and claim.

    A shipped scenario is printed as it is written, with its variants in a comment at the end. A file that extends
    another is printed with the fields that it takes from there.

    Exit status: 0 done, 2 wrong input.
    """
    try:
        text = _text(name, resolved, option or [])
    except ScenarioError as error:
        fail(error)
    write(text.rstrip("\n"))


def _text(name: str, resolved: bool, settings: list[str]) -> str:
    from scenarios.files.dump import dump
    from scenarios.files.library import library, plain_tree, variant_names
    from scenarios.schema.export import MARK, schema_line, with_schema_line

    if not (name in library() or Path(name).is_file() or "/" in name or name.endswith(YAML)):
        from scenarios.cli.catalogue import algorithm_page

        return algorithm_page(name)
    if resolved or settings:
        from scenarios.schema.load import load_scenario

        note = f"# {name}{''.join(f' -o {one}' for one in settings)}, with every default.\n"
        return schema_line() + note + dump(load_scenario(name, settings).scenario, full=True)
    if name not in library():
        return _own(name)
    text, names = library()[name], variant_names(plain_tree(name))
    text = with_schema_line(text) if text.startswith(MARK) else text  # it holds wherever the text is written to
    return text + (f"# {len(names)} variants: {', '.join(names)}\n" if names else "")


def _own(name: str) -> str:
    """A file as it is; where it extends another, with all that it takes from there."""
    from scenarios.files.dump import dump
    from scenarios.files.library import EXTENDS
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
    from scenarios.files.library import EXTENDS

    for key, value in tree.items():
        if isinstance(value, Fields) and any(place.file != file for place in value.places.values()):
            yield from _fields_of_file(value, file, f"{before}{key}.")
        elif key != EXTENDS and (place := place_of(tree, key)) is not None and place.file == file:
            yield f"{before}{key}"
