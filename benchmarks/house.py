"""Size of the house: files, lines, public definitions, single importers, import circles, untyped results.

`python -m benchmarks.house` prints JSON. Only the three packages are counted; tests, docs and data files are not.
Imports inside functions and under `TYPE_CHECKING` count like any other.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("netsim", "attacks", "scenarios")
ANY_DICT = re.compile(r"\b(?:dict|Mapping|MutableMapping)\[str, Any\]")


def modules() -> dict[str, Path]:
    """Dotted name → file, of every module in the three packages."""
    return {name_of(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.AST, known: Iterable[str]) -> Iterator[str]:
    """Modules of ours that a syntax tree names in an import, wherever the statement stands."""
    known = frozenset(known)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in known:
                    yield inner
                elif node.module in known:
                    yield node.module


def graph() -> nx.DiGraph:
    """An arrow from each module to every module that it imports."""
    files = modules()
    found = nx.DiGraph()
    found.add_nodes_from(files)
    for name, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found.add_edges_from((name, other) for other in imports(tree, files) if other != name)
    return found


def circles(found: nx.DiGraph) -> list[list[str]]:
    """Sets of modules that import one another, each sorted."""
    return sorted(sorted(group) for group in nx.strongly_connected_components(found) if len(group) > 1)


def public_definitions(tree: ast.Module) -> int:
    """Functions and classes at a module's top level whose names have no leading underscore."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return sum(isinstance(node, kinds) and not node.name.startswith("_") for node in tree.body)


def house() -> dict[str, int]:
    """All figures, by name."""
    files = modules()
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    found = graph()
    importers = Counter(target for _, target in found.edges)
    packages = {name for name, path in files.items() if path.name == "__init__.py"}
    return {
        "files": len(files),
        "lines": sum(text.count("\n") for text in texts.values()),
        "public_definitions": sum(public_definitions(ast.parse(text)) for text in texts.values()),
        "loose_scenarios_modules": sum(path.parent == ROOT / "scenarios" for path in files.values()),
        "imported_by_one": sum(importers[name] == 1 for name in files if name not in packages),
        "circles": len(circles(found)),
        "any_dicts": sum(bool(ANY_DICT.search(line)) for text in texts.values() for line in text.splitlines()),
    }


if __name__ == "__main__":
    print(json.dumps(house(), indent=2))
