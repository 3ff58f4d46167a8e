"""Reading scenario files, by path or by name from the library: a file may extend another one, and `path=value` of the
command line overrides both. Nothing is validated or built, so that listing them is fast."""

import copy
import os
import re
import shlex
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from netsim.errors import ScenarioError, did_you_mean, near, together, what
from netsim.files import check_regular
from scenarios.files.document import Tree, keys_of, place_of, plain, put, read_yaml
from scenarios.files.folders import MANIFEST

EXTENDS = "extends"
TAGS = ("kind", "name")
VARIANT_NAME = r"^[a-z0-9][a-z0-9-]*(\.[0-9]+[a-z0-9-]*)*$"
"""Dots stand in numbers only: no folder of a variant has the name of a file."""


def label(path: str, value: Any) -> str:
    """A value of the grid in a variant's name: the field's last word and the value, or what kind of thing it is."""
    if isinstance(value, Mapping):
        mapping = cast("Tree", value)
        value = mapping.get("kind", mapping.get("name", "-".join(str(v) for v in mapping.values())))
    word = str(value).lower() if not isinstance(value, float) else f"{value:g}"
    named = [key for key in keys_of(path) if isinstance(key, str)]
    text = re.sub(r"[^a-z0-9.]+|\.(?![0-9])", "-", f"{named[-1]}-{word}".lower()).strip("-.")
    return text if re.match(VARIANT_NAME, text) else "value"


MOST = 400_000
"""Bytes of a file: YAML is read at some 50,000 a second."""
FORM = "name: …, topology: …, algorithms: …"
OTHERS = "other"
"""The group of a scenario that names none."""


@cache
def library() -> dict[str, str]:
    """Name → YAML text, by name."""
    folder = resources.files("scenarios") / "library"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".yaml")), key=lambda f: f.name)
    return {f.name.removesuffix(".yaml"): f.read_text(encoding="utf-8") for f in files}


def plain_tree(source: str) -> Tree:
    """The fields of a shipped scenario or a file, with those that it `extends`, as mappings and lists.

    Raises `ScenarioError` for a file that cannot be read.
    """
    return cast("Tree", full_tree(*read_source(source))[0])


def variant_names(tree: Tree) -> list[str]:
    """Names of the variants of such a tree, in their order."""
    grid: Mapping[str, list[Any]] = tree.get("grid") or {}
    variants: list[Tree] = tree.get("variants") or []
    axes = [[label(path, one) for one in values] for path, values in grid.items()]
    named = [str(one["name"]) for one in variants]
    if not axes and not named:
        return []
    return ["-".join([name] * bool(name) + list(point)) for name in named or [""] for point in product(*axes)]


def no_variant(name: str, names: Sequence[str]) -> ScenarioError:
    """The error of `--variant` for a name that none of the variants has."""
    if not names:
        return ScenarioError("--variant", name, "there are no variants here", "the same without --variant")
    return ScenarioError("--variant", name, f"no such variant{did_you_mean(near(name, names))}", ", ".join(names))


@dataclass(frozen=True)
class _Shipped:
    """A shipped scenario as a list has it. `fields` are those that its file says; `algorithms` kinds; `paper` and
    `item` are what it reproduces, empty where that is nothing."""

    name: str
    group: str
    title: str
    description: str
    extends: str | None
    fields: tuple[str, ...]
    variants: tuple[str, ...]
    algorithms: tuple[str, ...]
    data: str | None
    paper: str
    item: str


def shipped() -> list[_Shipped]:
    """All of them: groups that are no papers first, in the order of their first names, and then by name."""
    found: list[_Shipped] = []
    for name in library():
        text, place = read_source(name)
        tree = plain_tree(name)
        reproduces: Tree = tree.get("reproduces") or {}
        algorithms: list[Tree] = tree.get("algorithms") or []
        problem: Tree = tree.get("problem") or {}
        data: Tree = problem.get("data") or {}
        one = _Shipped(
            name,
            tree.get("group") or OTHERS,
            tree.get("title") or name,
            tree.get("description") or "",
            tree.get(EXTENDS),
            tuple(read_fields(text, place, FORM)),
            tuple(variant_names(tree)),
            tuple(one["kind"] for one in algorithms),
            data.get("name"),
            reproduces.get("paper", ""),
            reproduces.get("item", ""),
        )
        found.append(one)
    return sorted(found, key=lambda one: (one.group == OTHERS, one.group.startswith("papers"), one.group, one.name))


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────


def read_text(path: Path) -> str:
    """A text file in UTF-8, with or without a byte order mark. You get a `ScenarioError` for anything else."""
    try:
        check_regular(path, MOST)
        raw = path.read_bytes()
    except IsADirectoryError:
        inside = sorted(one.name for one in path.iterdir() if one.suffix in (".yaml", ".yml"))
        allowed = f"a file of it: {', '.join(inside[:5])}" if inside else "a YAML file"
        if (path / MANIFEST).is_file():
            allowed = f"a YAML file; of results: `netsim report {path}`, audit, attack, trace"
        raise ScenarioError("file", str(path), "is a folder", allowed) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        try:
            names = [one.name for one in path.parent.iterdir() if one.suffix in (".yaml", ".yml")]
        except OSError:
            names = []
        names = [name for name in names if name != path.name]  # that one cannot be read
        stems = {Path(name).stem: name for name in names}
        found = " or ".join(str(path.parent / stems[one]) for one in near(path.stem, stems, 2))
        allowed = f"did you mean {found}?" if found else "a YAML file"
        raise ScenarioError("file", str(path), f"no readable file ({reason})", allowed) from error
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ScenarioError("file", str(path), "is in UTF-16", "the same file, saved as UTF-8", str(path), 1)
    if b"\0" in raw:
        raise ScenarioError("file", str(path), "is no text file", "a YAML file", str(path), 1)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        why = f"is not in UTF-8 (byte {error.start}: {raw[error.start]:#04x})"
        raise ScenarioError("file", str(path), why, "the same file, saved as UTF-8", str(path), line) from error


_NOT_SCENARIOS = {
    ".py": ("is code", "`netsim audit {0}:CLASS` audits a class of it; a scenario names it under kind: python"),
    ".csv": ("is a table", "a scenario names it: problem: {{data: {{name: csv, path: {0}}}}}"),
    ".parquet": ("is a table", "`netsim trace {0}` shows a transcript, `netsim attack {0}` attacks it"),
    ".md": ("is a page of text", "`netsim list` shows scenarios, `netsim new NAME` writes one"),
    ".html": ("is a page", "open it in a browser"),
    ".json": ("is JSON", "its folder: `netsim report FOLDER`; a witness: `netsim witness {0}`"),
}
"""Endings of files that are something else than scenarios, and what is done with each."""


def read_source(source: str) -> tuple[str, str]:
    """Text and name of a file."""
    shipped = library()
    if not source:
        raise ScenarioError("scenario", source, "is empty", "a path, or a name that `netsim list` shows")
    if source in shipped:
        return shipped[source], f"{source}.yaml"
    path = Path(source)
    file = Path(source.rpartition(":")[0]) if ".py:" in source else path
    if file.suffix in _NOT_SCENARIOS and _is_there(file) and not file.is_dir():
        what, use = _NOT_SCENARIOS[file.suffix]
        raise ScenarioError("scenario", source, f"{what}, no scenario", f"a YAML file; {use.format(file)}")
    try:
        return read_text(path), source
    except ScenarioError as error:
        if error.file is not None or _is_there(path):
            raise
        hint = did_you_mean(near(path.name.removesuffix(".yaml"), shipped))
        hint = f"; {error.allowed}" if error.allowed.startswith("did you mean") else hint
        problem = f"no such file, and no shipped scenario of this name{hint}"
        raise ScenarioError("scenario", source, problem, "a path, or a name that `netsim list` shows") from error


def from_file(error: ScenarioError, name: str, file: str) -> ScenarioError:
    """The error of `read_source` for a name that stands in a file: paths start there."""
    folder, found = Path(file).parent, replace(error, value=name)
    if folder == Path() or not error.problem.startswith("no such file"):
        return found
    here = (
        f"; did you mean {os.path.relpath(name, folder)}?"
        if not Path(name).is_absolute() and _is_there(Path(name))
        else ""
    )
    why = error.problem.replace("no such file", f"no such file in {folder}", 1) + here
    return replace(found, problem=why, allowed=error.allowed.replace("a path", "a path from this file's folder", 1))


def _is_there(path: Path) -> bool:
    """Whether there is something of this name; a name that the file system does not take is of nothing."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def full_tree(text: str, file: str, settings: Sequence[str] = ()) -> tuple[Any, list[ScenarioError]]:
    """The fields of a scenario file with places: its own, those that it `extends`, and `settings` in their place; and
    the mistakes of all settings that are none, or whose paths lead nowhere."""
    tree = read_fields(text, file, FORM)
    if "scenario" in tree and "algorithms" not in tree:
        raise ScenarioError("file", file, "is a sweep, not a scenario: `netsim sweep` runs it", FORM, file, 1)
    return _overridden(_inherited(tree, file), settings)


def read_fields(text: str, file: str, form: str) -> Any:
    """Parse a file that has to be a mapping such as `form`; its fields know their places."""
    tree: Any = read_yaml(text, file)
    if tree is None:
        raise ScenarioError("file", file, "the file is empty", form, file, 1)
    if not isinstance(tree, Mapping):
        marks = "hyphens" if re.search(r"^ *-( |$)", text, re.MULTILINE) else "brackets"
        hint = f" (the {marks} make it a list)" if isinstance(tree, list) else ""
        raise ScenarioError("file", plain(tree), f"a mapping of fields is needed{hint}", form, file, 1)
    return cast("Any", tree)


_PATHS = ("path", "file")
"""Fields that name a file: data, a graph, an algorithm's code; a trace."""


# ── extending and overriding ────────────────────────────────────────────────────────────────────────────


def _inherited(tree: Any, file: str, below: tuple[str, ...] = ()) -> Any:
    """The tree with what it does not say taken from the file that it extends (a shipped scenario, or a path beside
    it), and that one from its own; every field keeps the place where it was said.

    You get a `ScenarioError` at the line of `extends` for a base that is not there, or that extends this one.
    """
    placed(tree, file)
    if EXTENDS not in tree:
        return tree
    name, at = tree[EXTENDS], place_of(tree, EXTENDS)
    line = 1 if at is None else at.line
    if not isinstance(name, str) or not name:
        allowed = "the name of a shipped scenario, or a path"
        raise ScenarioError(EXTENDS, plain(name), "wrong type", allowed, file, line)
    try:
        text, place = read_source(name if name in library() else str(Path(file).parent / name))
        base = read_fields(text, place, FORM)
    except ScenarioError as error:
        if error.file is not None:
            raise
        raise replace(from_file(error, name, file), field=EXTENDS, file=file, line=line) from error
    if place in (*below, file):
        why = f"extends itself ({' → '.join([*below, file, place])})"
        raise ScenarioError(EXTENDS, name, why, "a file that does not lead back here", file, line)
    _fill(tree, _inherited(base, place, (*below, file)))
    return tree


def placed(tree: Any, file: str) -> None:
    """Make the relative paths in the tree of a file start where the file is: those of fields `path` and `file`, by
    themselves or at the end of a dotted path, of which a grid has a list."""
    folder = Path(file).parent
    if folder != Path():
        _place(tree, folder, False, set())


def _place(node: dict[Any, Any] | list[Any], folder: Path, within: bool, done: set[int]) -> None:
    """`within`: every text in here is a path. `done`: what an alias of YAML names again is the same object."""
    if id(node) in done:
        return
    done.add(id(node))
    items: list[tuple[Any, Any]] = list(node.items() if isinstance(node, dict) else enumerate(node))
    for key, value in items:
        fields = str(key).split(".")
        path = fields[-1] in _PATHS or (within and fields != ["law"])
        if "parameters" in fields:  # an algorithm's own
            continue
        if isinstance(value, str) and path:
            node[key] = _from(folder, value)
        elif isinstance(value, dict | list):
            _place(cast("dict[Any, Any] | list[Any]", value), folder, path, done)


def _from(folder: Path, text: str) -> str:
    """A path from here, that was written from this folder: FILE, FILE.py:CLASS; a MODULE:CLASS is none."""
    module = re.fullmatch(r"[\w.]+:\w+", text) and ".py:" not in text
    return text if module or not text or text.startswith("~") else str(folder / text)


def _fill(own: Any, base: Any) -> None:
    for key, value in base.items():
        if key == EXTENDS:
            continue
        if key not in own:
            own[key] = copy.deepcopy(value)
            if (place := place_of(base, key)) is not None:
                own.places[key] = place
        elif isinstance(own[key], Mapping) and isinstance(value, Mapping):
            ours, theirs = cast("Tree", own[key]), cast("Tree", value)
            if all(tag not in ours or ours[tag] == theirs.get(tag) for tag in TAGS):  # both are of one kind
                _fill(ours, theirs)


_SEVERAL = re.compile(r",\s*[A-Za-z_][\w.*\[\]]*\s*=")
"""Where a second setting begins in the value of a first one."""


def setting_of(text: str, form: str = "FIELD=VALUE, such as links.loss=0.2") -> tuple[str, Any]:
    """The path and the value of a setting of such a form, value as YAML says it: links.loss=0.2.

    You get a `ScenarioError` for a text that is none.
    """
    if not isinstance(cast("object", text), str):
        raise ScenarioError("-o", text, what(text), f"a text {form}")
    if text.startswith("-") and "=" in text:
        meant = re.sub(r"^-+\w+[ =]", "", text)
        raise ScenarioError("-o", text, f"an option of the command line; did you mean {meant!r}?", form)
    path, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not path:
        why = "no setting; a folder is --out" if "/" in text else "no setting"
        raise ScenarioError("-o", text, why, form)
    if value.startswith("=") or "/" in path:
        meant = f"{path.replace('/', '.')}={value.removeprefix('=').strip()}"
        raise ScenarioError("-o", text, f"no setting; did you mean {meant!r}?", form)
    if value[:1] not in tuple("\"'[{") and (more := _SEVERAL.search(value)):
        first = f"-o {shlex.quote(f'{path}={value[: more.start()].strip()}')}"
        meant = f"{first} -o {shlex.quote(value[more.start() + 1 :].strip())}"
        raise ScenarioError("-o", text, f"several settings; did you mean {meant}?", "one -o each; a text in quotes")
    if not value:
        raise ScenarioError("-o", text, "there is no value after the sign", f"{path}=VALUE; {path}=null is none")
    try:
        return path, plain(read_yaml(value, "-o"))
    except ScenarioError as error:
        why = f"the value is not valid YAML: {error.problem.removeprefix('not valid YAML: ')}"
        raise ScenarioError("-o", text, why, error.allowed) from None


@contextmanager
def as_arguments(names: Mapping[str, str] = MappingProxyType({})) -> Generator[None]:
    """Within, a wrong setting is a `ScenarioError` in the words of a call in Python: its field, or the argument that
    stands for it by `names`, and not the commands' -o."""
    try:
        yield
    except ScenarioError as error:
        found = [(one, one.field.removeprefix("-o").strip()) for one in error.each()]
        raise together([replace(one, field=names.get(f, f) or "options") for one, f in found]) from None


def _overridden(tree: Any, settings: Sequence[str]) -> tuple[Any, list[ScenarioError]]:
    """The tree with settings in their places, and the mistakes of those that have none."""
    mistakes: list[ScenarioError] = []
    for setting in settings:
        try:
            put(tree, *setting_of(setting))
        except ScenarioError as error:
            mistakes.append(error if error.field == "-o" else replace(error, field=f"-o {error.field}"))
    return tree, mistakes


def is_set(field: str, settings: Sequence[str], tree: Any = None) -> bool:
    """Whether a field, or what it is in, was set from the command line; of one that is in no file but in this tree,
    also whether something in it was."""
    keys, node = keys_of(field), tree
    paths = [path for setting in settings if (path := keys_of(setting.partition("=")[0].strip()))]
    with suppress(KeyError, IndexError, TypeError):
        for key in keys[:-1]:
            node = node[key]
    made = bool(keys) and isinstance(node, Mapping) and keys[-1] in node and place_of(node, keys[-1]) is None
    return any(
        all(one in (key, "*") for key, one in zip(keys, path, strict=False))
        for path in paths
        if made or len(path) <= len(keys)
    )
