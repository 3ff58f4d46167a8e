"""The source files of an algorithm of somebody's own: its file, and all of the user's own that it imports.

They are read from the text, not from what a module holds when it has run: a number that is imported has no module of
its own, and an import within a function has not happened yet.
"""

import ast
import hashlib
import importlib
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

OURS = ("netsim", "attacks", "scenarios")
Sources = Mapping[Path, bytes]


def sources(file: Path, text: bytes, package: str = "") -> dict[Path, bytes]:
    """`file` with its `text`, and every file of the user's own that it imports, anywhere in it, and so on. `package`
    is that of the file's module: what relative imports start from."""
    importlib.invalidate_caches()
    found: dict[Path, bytes] = {file: text}
    ahead = [(file, package)]
    while ahead:
        one, inside = ahead.pop()
        for name in _imports(found[one], inside):
            other = _file_of(name, file.parent)
            if other is not None and other not in found and is_own(name, other):
                found[other] = other.read_bytes()
                ahead.append((other, name if other.name == "__init__.py" else name.rpartition(".")[0]))
    return found


def digest(found: Sources) -> str:
    """SHA-256 of the files' names and texts, wherever they lie."""
    whole = hashlib.sha256()
    for name, text in sorted((file.name, text) for file, text in found.items()):
        whole.update(name.encode() + b"\0" + text + b"\0")
    return whole.hexdigest()


def is_own(name: str, file: Path) -> bool:
    """Whether a module is neither netsim's, nor Python's, nor an installed package's."""
    if name.partition(".")[0] in OURS or file.suffix != ".py":
        return False
    installed = {"site-packages", "dist-packages"} & set(file.parts)
    return not installed and not any(file.is_relative_to(sysconfig.get_path(one)) for one in ("stdlib", "platstdlib"))


def _imports(text: bytes, package: str) -> Iterator[str]:
    """Every module that a text may import: of `from a import b` both a and a.b."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield from _prefixes(one.name)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from _prefixes(base)
            yield from (f"{base}.{one.name}" for one in node.names if base)


def _prefixes(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[: k + 1]) for k in range(len(parts)) if parts[0])


def _file_of(name: str, folder: Path) -> Path | None:
    """The file of a module, which is not imported for that; None where there is none."""
    there: ModuleType | None = sys.modules.get(name)
    if there is not None:
        file = getattr(there, "__file__", None)
        return Path(file).absolute() if file else None
    where: list[str] | None = [str(folder), *sys.path]
    spec = None
    for before in _prefixes(name):
        spec = None if where is None else PathFinder.find_spec(before, where)
        where = None if spec is None else list(spec.submodule_search_locations or ()) or None
    return None if spec is None or not spec.origin or not spec.has_location else Path(spec.origin).absolute()
