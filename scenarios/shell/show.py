"""`netsim show`: a shipped scenario, a file of one's own as it resolves, or an algorithm."""

from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from netsim.errors import ScenarioError
from scenarios.shell import completing
from scenarios.shell.asked import Settings
from scenarios.terminal import fail, write

WHAT = typer.Argument(
    help="A shipped scenario, a YAML file, or the kind of an algorithm.",
    show_default=False,
    autocompletion=completing.shown,
)


def show(
    name: Annotated[str, WHAT],
    resolved: Annotated[
        bool,
        typer.Option("--resolved", help="A scenario with every default written out, and nothing left to extend."),
    ] = False,
    option: Settings = None,
) -> None:
    """Print a scenario, the start of one of your own, or say what an algorithm is.

    A shipped scenario is printed as it is written, a comment at the end counts its variants. A file that extends
    another is printed with what it takes from there. Of an algorithm: its update, parameters, and claim.

    Exit status: 0 done, 2 wrong input.
    """
    try:
        text = _scenario(name, resolved, option or []) or _algorithm(name)
    except ScenarioError as error:
        fail(error)
    write(text.rstrip("\n"))


def _scenario(name: str, resolved: bool, settings: list[str]) -> str | None:
    """None where the name is that of an algorithm."""
    from scenarios.shipped import library, variant_names

    there = name in library() or Path(name).is_file()
    if not there and name in dict(completing.kinds("")):
        return None
    if resolved or settings:
        return _resolved(name, settings)
    if name not in library():
        return _own(name)
    from scenarios.shipped import plain_tree

    text = library()[name]
    names = variant_names(plain_tree(name))
    counted = f"# {len(names)} variants: {', '.join(names)}\n" if names else ""
    return _with_schema(text) + counted


def _with_schema(text: str) -> str:
    """The text with a schema line that holds wherever it is written to on this machine."""
    from scenarios.schema.files import MARK, with_schema_line

    return with_schema_line(text) if text.startswith(MARK) else text


def _own(name: str) -> str:
    """A file as it is; where it extends another, with all that it takes from there."""
    from scenarios.inheritance import EXTENDS
    from scenarios.loader import load_scenario

    located = load_scenario(name)
    tree = located.tree
    if EXTENDS not in tree:
        return Path(name).read_text(encoding="utf-8")
    base = tree[EXTENDS]
    said = [key for key in _said(name) if key != EXTENDS]
    note = (
        f"# {name} extends {base}. Here is all that it comes to.\n"
        f"# The file itself says: {', '.join(said) or 'nothing else'}; the rest is from {base}.\n"
    )
    return note + _yaml({key: value for key, value in _plain(tree).items() if key != EXTENDS})


def _said(name: str) -> list[str]:
    """The fields that the file itself says."""
    from ruamel.yaml import YAML

    return list(cast(Any, YAML(typ="safe", pure=True)).load(Path(name).read_text(encoding="utf-8")))


def _resolved(name: str, settings: list[str]) -> str:
    from scenarios.loader import load_scenario
    from scenarios.schema.files import schema_line

    located = load_scenario(name, settings)
    note = f"# {name}{''.join(f' -o {one}' for one in settings)}, with every default.\n"
    return schema_line() + note + _yaml(located.scenario.model_dump())


def _plain(tree: Any) -> dict[str, Any]:
    from scenarios.mistakes import plain

    return plain(tree)


def _yaml(tree: Mapping[str, Any]) -> str:
    """YAML that says the same when it is read: lists and mappings that are short in a line of their own."""
    from ruamel.yaml import YAML

    yaml: Any = YAML()
    yaml.width, yaml.allow_unicode = 110, True
    yaml.indent(mapping=2, sequence=4, offset=2)
    out = StringIO()
    yaml.dump(_flowing(tree), out)
    return out.getvalue()


def _flowing(value: Any, top: bool = True) -> Any:
    """Ruamel's containers; what fits a line and is nested is written in one."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    if isinstance(value, Mapping):
        made: Any = CommentedMap({key: _flowing(one, False) for key, one in cast("Mapping[str, Any]", value).items()})
    elif isinstance(value, list):
        made = CommentedSeq([_flowing(one, False) for one in cast("list[Any]", value)])
    else:
        return value
    if not top and len(str(value)) < 90:
        made.fa.set_flow_style()
    return made


def _algorithm(kind: str) -> str:
    """What it is in words, its parameters, and its claim."""
    from scenarios.shell.catalogue import algorithm_page

    return algorithm_page(kind)
