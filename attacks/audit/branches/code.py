"""Functions that an algorithm's run may call, found from its code by name, with their source.

Own code is that of the user's modules and of the published algorithms; functions of libraries and of the rest of
netsim are not read. Functions whose source is not at hand, or made by other code, are not found.
"""

import ast
import builtins
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

from attacks.audit.memory import function_in, names_of, of_library
from netsim.algorithms import Algorithm

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_PUBLISHED = "netsim.algorithms."


@dataclass(frozen=True, eq=False)
class Own:
    """A function of the algorithm's own, `node` in the tree of its file; `method`: its first parameter is bound;
    `names`: those by which code has it."""

    function: FunctionType
    node: FunctionNode
    file: str
    method: bool
    names: frozenset[str]

    def value(self, name: str) -> object:
        """What a name stands for that is none of its own; None: nothing that is known."""
        return cast("FunctionType", self.function).__globals__.get(name, getattr(builtins, name, None))


@dataclass
class OwnCode:
    """Own functions, `trees` of their files, and own classes by name."""

    functions: list[Own] = field(default_factory=list[Own])
    trees: dict[str, ast.Module] = field(default_factory=dict[str, ast.Module])
    classes: dict[str, type] = field(default_factory=dict[str, type])

    @classmethod
    def of(cls, algorithm: Algorithm) -> "OwnCode":
        """What `run` may call."""
        found = _Search(algorithm)
        code = cls(classes={one.__name__: one for one in found.classes})
        nodes = dict[str, list[FunctionNode]]()
        for function, (method, names) in found.functions.items():
            file = function.__code__.co_filename
            if file not in nodes:
                tree = _tree(file)
                nodes[file] = [] if tree is None else list(functions_in(tree))
                code.trees |= {} if tree is None else {file: tree}
            same = [node for node in nodes[file] if _is(node, function.__code__)]
            if len(same) == 1:
                (node,) = same
                code.functions.append(Own(function, node, file, method, frozenset(names)))
        return code


def functions_of(algorithm: Algorithm) -> list[FunctionType]:
    """Own functions, with a source at hand or not."""
    return list(_Search(algorithm).functions)


class _Search:
    """Functions that are reached from `run`, by the names that code uses; of each, whether it is a method, and by
    which names code has it."""

    def __init__(self, algorithm: Algorithm) -> None:
        self.functions: dict[FunctionType, tuple[bool, set[str]]] = {}
        self.classes: dict[type, None] = {}
        self._used: set[str] = {"run"}
        for cls in type(algorithm).__mro__:
            self._add_class(cls)
        for name, value in cast("dict[str, object]", vars(algorithm)).items():
            self._add(value, name)
            self._add_class(type(value))
        known = -1
        while known != (known := len(self.functions) + len(self.classes)):
            for cls in list(self.classes):
                self._add_methods(cls)

    def _add_class(self, cls: type) -> None:
        if _own(cls) and cls is not Algorithm:
            self.classes.setdefault(cls)

    def _add_methods(self, cls: type) -> None:
        for name, value in list(vars(cls).items()):
            if (name in self._used or name.startswith("__")) and (function := function_in(value)) is not None:
                self._add_function(function, name, method=not isinstance(value, staticmethod))

    def _add_function(self, function: FunctionType, name: str, *, method: bool) -> None:
        if function in self.functions:
            self.functions[function][1].add(name)
        if function in self.functions or not _own(function):
            return
        self.functions[function] = method, {name, function.__name__}
        names = set(names_of(function.__code__))
        self._used |= names
        for one in names:
            value = function.__globals__.get(one)
            self._add(value, one)
            if isinstance(value, ModuleType) and not of_library(value):
                for inner in names:
                    self._add(vars(value).get(inner), inner)
        for one, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                self._add(cell.cell_contents, one)
            except ValueError:  # it is empty
                continue

    def _add(self, value: object, name: str) -> None:
        if isinstance(value, type):
            self._add_class(value)
        elif isinstance(value, list | tuple | dict):
            for one in parts_of(cast("object", value)):
                if isinstance(one, FunctionType):
                    self._add(one, "")
        elif (function := function_in(value)) is not None:
            self._add_function(function, name, method=isinstance(value, MethodType))


def parts_of(value: object) -> list[object]:
    """What is in a list, a tuple, or under the keys of a dict; nothing of what is none."""
    parts: Any = value
    return (
        list(parts.values() if isinstance(value, dict) else parts) if isinstance(value, list | tuple | dict) else []
    )


def _own(value: type | FunctionType) -> bool:
    return not of_library(value) or (value.__module__ or "").startswith(_PUBLISHED)


def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file))) if linecache.getlines(file) else None
    except SyntaxError:
        return None


def functions_in(tree: ast.AST) -> Iterator[FunctionNode]:
    """All functions in a tree, and the tree itself if it is one."""
    return (one for one in ast.walk(tree) if isinstance(one, FunctionNode))


def _is(node: FunctionNode, code: CodeType) -> bool:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    same = [one.arg for one in arguments] == list(code.co_varnames[: len(arguments)])
    first = node.lineno if isinstance(node, ast.Lambda) else min(o.lineno for o in (node, *node.decorator_list))
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    return same and first == code.co_firstlineno and name == code.co_name
