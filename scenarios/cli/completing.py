"""Shell completion of names, files and fields, fast because nothing is built; and options shared by commands."""

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from scenarios.results.files import MANIFEST

Node = Mapping[str, Any]
Offer = tuple[str, str]
"""What is offered, and a word on it (shells that can, show it)."""
SCHEMA = Path(__file__).parents[1] / "schema" / "scenario.schema.json"
RESULTS = Path("results")
YAML = (".yaml", ".yml")
VALUES = ("number", "integer", "string", "boolean")
MOST = 40
"""Results folders that are offered."""


def scenarios(incomplete: str) -> list[Offer]:
    """Shipped scenarios with their titles, and YAML files."""
    from scenarios.files.library import library

    title = re.compile(r"^title: *(.*)$", re.MULTILINE)
    named = [
        (name, found[1].strip("\"'") if (found := title.search(text)) else "") for name, text in library().items()
    ]
    return [one for one in named if one[0].startswith(incomplete)] + files(incomplete, *YAML)


def files(incomplete: str, *suffixes: str) -> list[Offer]:
    """Folders, and files with these suffixes."""
    start = Path(incomplete)
    folder = start if incomplete.endswith("/") or not incomplete else start.parent
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return []
    found = [f"{one}/" if one.is_dir() else str(one) for one in inside if one.is_dir() or one.suffix in suffixes]
    return [(one, "") for one in found if one.startswith(incomplete) and not Path(one).name.startswith(".")]


def variants(incomplete: str) -> list[str]:
    """Of the scenario on the command line."""
    from scenarios.files.library import variant_names

    return [name for name in variant_names(_tree()) if name.startswith(incomplete)]


def kinds(incomplete: str) -> list[Offer]:
    """Algorithms, by the word of a scenario."""
    mapping: Node = _items(_schema()["properties"]["algorithms"])["discriminator"]["mapping"]
    told = ((kind, _first_sentence(_resolved({"$ref": where}))) for kind, where in mapping.items())
    return [one for one in told if one[0].startswith(incomplete)]


def fetchable(incomplete: str) -> list[Offer]:
    """Data sets that can be fetched."""
    members: list[Node] = _schema()["$defs"]["ProblemSpec"]["properties"]["data"]["oneOf"]
    forms = [_resolved(one)["properties"] for one in members]
    names = [str(one["name"]["const"]) for one in forms if "download" in one]
    return [(name, "") for name in names if name.startswith(incomplete)]


def shown(incomplete: str) -> list[Offer]:
    """What `netsim show` can show."""
    return scenarios(incomplete) + kinds(incomplete)


def results(incomplete: str) -> list[Offer]:
    """Results folders, the latest first, and folders on the way to others."""
    found = sorted(_folders(RESULTS, 3), key=lambda one: one.stat().st_mtime, reverse=True)[:MOST]
    named = [(str(one), "") for one in found if str(one).startswith(incomplete)]
    return named or files(incomplete)


def transcripts(incomplete: str) -> list[Offer]:
    """Results folders, transcripts and spools."""
    return list(dict.fromkeys([*results(incomplete), *files(incomplete, ".parquet", ".spool")]))


def witnesses(incomplete: str) -> list[Offer]:
    """Witness files of results folders, and files on the way to others."""
    found = [str(file) for folder in _folders(RESULTS, 3) for file in sorted(folder.glob("witness-*.json"))]
    return [(one, "") for one in found if one.startswith(incomplete)] or files(incomplete, ".json")


def settings(incomplete: str) -> list[str]:
    """FIELD=VALUE: one level of fields at a time, and the values of a field that has a list of them."""
    path, equals, value = incomplete.partition("=")
    tree = _tree()
    if equals:
        return [f"{path}={one}" for one in _values(tree, path) if one.startswith(value)]
    inner = re.match(r"(.*[.\]])?", path)
    prefix = (inner[0] if inner else "").removesuffix(".")
    offered = [one for one in _level(tree, prefix) if one.startswith(path)]
    while len(offered) == 1 and not offered[0].endswith("="):
        offered = list(_level(tree, offered[0].removesuffix(".")))
    if len(offered) == 1:  # a second one, so that no space is put after the sign
        offered += [offered[0] + one for one in _values(tree, offered[0].removesuffix("="))] or [offered[0] + "…"]
    return offered


# ── fields ──────────────────────────────────────────────────────────────────────────────────────────────


@cache
def _schema() -> Node:
    return json.loads(SCHEMA.read_text(encoding="utf-8"))


def _tree() -> Node:
    """What the scenario on the command line says; nothing where there is none, or one that cannot be read."""
    from netsim.errors import ScenarioError
    from scenarios.files.library import library, plain_tree

    names = library()
    found = (word for word in _words() if word in names or (Path(word).suffix in YAML and Path(word).is_file()))
    try:
        source = next(found, None)
        return plain_tree(source) if source is not None else {}
    except (OSError, ValueError, ScenarioError):
        return {}


def _words() -> list[str]:
    """What is on the command line so far, as the shell says it."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    try:
        return shlex.split(line)
    except ValueError:  # a quotation mark that is still open
        return line.split()


def _level(tree: Node, prefix: str) -> Iterator[str]:
    """The paths one level below: `links.` has more below it, `links.loss=` is a field."""
    node, said = _at(tree, prefix)
    start = f"{prefix}." if prefix else ""
    for name, inner in _properties(node, said).items():
        one, given = _chosen(inner, _inside(said, name)), _inside(said, name)
        if _items(one):
            count = len(cast("Sequence[Any]", given)) if isinstance(given, list) else 0
            yield from (f"{start}{name}[{k}]" for k in range(count))
            yield f"{start}{name}="
        elif _properties(one, given) and (isinstance(given, Mapping) or not _may_be_value(inner)):
            yield f"{start}{name}."
        else:
            yield f"{start}{name}="


def _at(tree: Node, path: str) -> tuple[Node, Any]:
    """The schema of a place, and what the tree says there."""
    node = _schema()
    said: Any = tree
    for key in re.findall(r"[^.\[\]]+", path):
        if key.isdigit():
            said = _entry(said, int(key))
            node = _chosen(_items(node), said)
        else:
            inner = _properties(node, said).get(key, {})
            said = _inside(said, key)
            node = _chosen(inner, said)
    return node, said


def _properties(node: Node, said: Any) -> Node:
    return _chosen(node, said).get("properties") or {}


def _chosen(node: Node, said: Any) -> Node:
    """The one of several forms that the tree says, by its kind or name; else the first that has fields or entries."""
    node = _resolved(node)
    forms: list[Node] = node.get("oneOf") or node.get("anyOf") or []
    several = [_resolved(one) for one in forms]
    if not several or "properties" in node:
        return node
    for tag in ("kind", "name"):
        word = _inside(said, tag)
        for one in several:
            properties: Node = one.get("properties") or {}
            if word is not None and properties.get(tag, {}).get("const") == word:
                return one
    flat = [_chosen(one, said) for one in several]
    return next((one for one in flat if "properties" in one or "items" in one), node)


def _may_be_value(node: Node) -> bool:
    """Whether a number, a text or a truth value may stand here, in place of a mapping."""
    forms = [_resolved(one) for one in (node, *node.get("anyOf", []), *node.get("oneOf", []))]
    return any("const" in form or "enum" in form or form.get("type") in VALUES for form in forms)


def _values(tree: Node, path: str) -> list[str]:
    """The words or truth values that a field may have, or its default."""
    prefix, _, name = path.rpartition(".")
    node, said = _at(tree, prefix)
    field: Node = _properties(node, said).get(name, {})
    forms = [_resolved(one) for one in [field, *field.get("anyOf", []), *field.get("oneOf", [])]]
    words = [
        word for form in forms for word in [*form.get("enum", []), *([form["const"]] if "const" in form else [])]
    ]
    if any(form.get("type") == "boolean" for form in forms):
        words += [True, False]
    if not words and field.get("default") is not None:
        words = [field["default"]]
    return [word if isinstance(word, str) else json.dumps(word) for word in words]


def _items(node: Node) -> Node:
    return _resolved(_resolved(node).get("items") or {})


def _resolved(node: Node) -> Node:
    while "$ref" in node:
        node = _schema()["$defs"][str(node["$ref"]).rpartition("/")[2]]
    return node


def _inside(said: Any, key: str) -> Any:
    return cast("Mapping[str, Any]", said).get(key) if isinstance(said, Mapping) else None


def _entry(said: Any, place: int) -> Any:
    entries = cast("list[Any]", said) if isinstance(said, list) else []
    return entries[place] if place < len(entries) else None


def _first_sentence(node: Node) -> str:
    """The first sentence of what the schema says of a thing."""
    return " ".join(str(node.get("description", "")).split()).partition(". ")[0]


# ── folders ─────────────────────────────────────────────────────────────────────────────────────────────


def _folders(place: Path, depth: int) -> Iterator[Path]:
    """Folders below that have a manifest."""
    try:
        inside = [one for one in place.iterdir() if one.is_dir()]
    except OSError:
        return
    for one in inside:
        if (one / MANIFEST).is_file():
            yield one
        if depth > 1:
            yield from _folders(one, depth - 1)


Scenario = Annotated[
    str, typer.Argument(help="A YAML file, or the name of a shipped scenario.", autocompletion=scenarios)
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--option",
        metavar="FIELD=VALUE",
        help="Set a field of the scenario: -o links.loss=0.2 -o algorithms[0].rounds=50; as often as you like.",
        show_default=False,
        autocompletion=settings,
    ),
]
Variant = Annotated[
    str | None,
    typer.Option(help="This one of the scenario's variants alone.", show_default=False, autocompletion=variants),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="The results folder, new or empty, or a former one of a scenario of this name, to go on with or to "
        "replace; if not given, results/NAME/DATE-TIME.",
        show_default=False,
        autocompletion=results,
    ),
]
Jobs = Annotated[int, typer.Option(help="Processes that share an audit's simulations; -1: one per core.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document for machines; all else goes to the standard error.")
]


def again(verb: str, scenario: str, settings: list[str], variant: str | None = None) -> str:
    """The command that repeats this one."""
    chosen = [] if variant is None else [f"--variant {shlex.quote(variant)}"]
    return " ".join([verb, shlex.quote(scenario), *(f"-o {shlex.quote(one)}" for one in settings), *chosen])
