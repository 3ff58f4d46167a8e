"""Own code of an algorithm: all functions of the files that hold it, however code gets at them.

Own files are those of the user's modules, and of the published algorithms, that the algorithm's classes and fields
come from, and of all modules that these name or import. Libraries and the rest of netsim are not read; code without
its source is not found.
"""

import ast
import builtins
import gc
import importlib
import importlib.util
import inspect
import linecache
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, cast

from attacks.audit.memory import of_library
from netsim.algorithms import Algorithm
from netsim.own import is_own

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
UNKNOWN: Any = object()
"""In place of a value: not known before the run."""
PUBLISHED, _BASE = "netsim.algorithms.", "netsim.algorithms.algorithm"
_DEEP = 4
"""So deep in containers and objects is looked for own ones."""
_Space = dict[str, object]


@dataclass(frozen=True, eq=False)
class Own:
    """A function of own files: `node` in the tree of its `file`, the class whose body it is in, None: of none, and
    the names of its module."""

    node: FunctionNode
    file: str
    within: ast.ClassDef | None
    space: _Space

    @property
    def name(self) -> str:
        """As it is defined; a lambda has none."""
        return "" if isinstance(self.node, ast.Lambda) else self.node.name

    @property
    def method(self) -> bool:
        """Whether its first parameter is bound."""
        return self.within is not None and "staticmethod" not in self.decorators

    @property
    def decorators(self) -> list[str]:
        """Last names of its decorators."""
        found = [] if isinstance(self.node, ast.Lambda) else self.node.decorator_list
        return [name_of(one.func if isinstance(one, ast.Call) else one) for one in found]


@dataclass
class OwnCode:
    """Functions in the order of their files, `trees` of these, and names of own classes."""

    algorithm: Algorithm
    functions: list[Own] = field(default_factory=list[Own])
    trees: dict[str, ast.Module] = field(default_factory=dict[str, ast.Module])
    classes: dict[str, ast.ClassDef] = field(default_factory=dict[str, ast.ClassDef])

    @classmethod
    def of(cls, algorithm: Algorithm) -> "OwnCode":
        """What `run` may call."""
        code = cls(algorithm)
        for file, (tree, space) in sorted(_Search(algorithm).files.items()):
            code.trees[file] = tree
            within = {one: c for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for one in c.body}
            for node in functions_in(tree):
                code.functions.append(Own(node, file, within.get(cast("ast.stmt", node)), space))
            code.classes |= {one.name: one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)}
        code.functions.sort(key=lambda one: (one.file, one.node.lineno, one.node.col_offset))
        return code

    def value(self, e: ast.expr, own: Own, local: frozenset[str]) -> Any:
        """What a name, or a name in a module or class, stands for that is none of the `local` ones."""
        if isinstance(e, ast.Name):
            known = own.space.get(e.id, getattr(builtins, e.id, UNKNOWN))
            return UNKNOWN if e.id in local else known
        if not isinstance(e, ast.Attribute):
            return UNKNOWN
        if isinstance(e.value, ast.Name) and e.value.id == "self" and own.method:
            if own.within is None or own.within.name not in {one.__name__ for one in type(self.algorithm).__mro__}:
                return UNKNOWN
            return inspect.getattr_static(self.algorithm, e.attr, UNKNOWN)
        holder = self.value(e.value, own, local)
        return inspect.getattr_static(holder, e.attr, UNKNOWN) if isinstance(holder, ModuleType | type) else UNKNOWN


class _Search:
    """Files reached from the algorithm's class and fields, each with its tree and the names of its module."""

    def __init__(self, algorithm: Algorithm) -> None:
        self.files: dict[str, tuple[ast.Module, _Space]] = {}
        self._spaces = dict[int, _Space]()
        self._waiting, self._types = list[_Space](), set[type]()
        self._functions = defaultdict[int, list[FunctionType]](list)
        for one in living_functions():
            self._functions[id(one.__globals__)].append(one)
        for cls in type(algorithm).__mro__:
            self._look(cls)
        for value in cast("_Space", vars(algorithm)).values():
            self._look(value)
        while self._waiting:
            self._read(self._waiting.pop())

    def _read(self, space: _Space) -> None:
        for value in list(space.values()):
            self._look(value)
        files = {one.__code__.co_filename for one in self._functions[id(space)]}
        for file in files - self.files.keys():
            if (tree := _tree(file)) is not None:
                self.files[file] = tree, space
                for name in _imported(tree, str(space.get("__package__") or "")):
                    if (module := sys.modules.get(name)) is not None:
                        self._look(module)

    def _add(self, space: _Space) -> None:
        module = sys.modules.get(str(space.get("__name__")))
        if module is not None and vars(module) is space and not _own(module.__name__, module):
            return
        if id(space) not in self._spaces:
            self._spaces[id(space)] = space
            self._waiting.append(space)

    def _look(self, value: Any, deep: int = _DEEP) -> None:
        """Note the modules of own code that is, or is in, a value."""
        if isinstance(value, ModuleType):
            if _own(value.__name__, value):
                self._add(vars(value))
        elif isinstance(value, type):
            if value in self._types:
                return
            self._types.add(value)
            if _own(value.__module__, value):
                for one in vars(value).values():
                    self._look(one, min(deep, 1))
                self._add(vars(sys.modules[value.__module__]) if value.__module__ in sys.modules else {})
        elif isinstance(value, FunctionType):
            if _own(value.__module__ or "", value):
                self._add(value.__globals__)
        elif deep:
            self._look_into(value, deep - 1)

    def _look_into(self, value: Any, deep: int) -> None:
        if isinstance(value, dict | list | tuple | set | frozenset):
            for one in list(
                cast("_Space", value).values() if isinstance(value, dict) else cast("list[object]", value)
            )[:256]:
                self._look(one, deep)
        elif isinstance(value, partial | staticmethod | classmethod | property):
            for name in ("func", "__func__", "fget", "args", "keywords"):
                self._look(getattr(cast("object", value), name, None), deep)
        elif _own(type(value).__module__, type(value)):
            self._look(type(value))
            for one in list(getattr(value, "__dict__", {}).values()):
                self._look(one, deep)


def living_functions() -> list[FunctionType]:
    """All functions that there are."""
    return [one for one in gc.get_objects() if type(one) is FunctionType]


def _own(module: object, value: Any) -> bool:
    if not isinstance(module, str) or module == _BASE:  # a compiled class may have something else for its module
        return False
    return module.startswith(PUBLISHED) or not of_library(value)


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    """Modules that functions import, loaded where they are own."""
    for function in functions_in(tree):
        for one in ast.walk(function):
            if isinstance(one, ast.Import):
                names = [alias.name for alias in one.names]
            elif isinstance(one, ast.ImportFrom):
                above = package.split(".")[: len(package.split(".")) + 1 - one.level] if one.level else []
                start = ".".join([*above, *([one.module] if one.module else [])])
                names = [start, *(f"{start}.{alias.name}" for alias in one.names)]
            else:
                continue
            for name in names:
                _load(name)
                yield name


def _load(name: str) -> None:
    try:
        found = None if name in sys.modules else importlib.util.find_spec(name)
        if found is not None and found.origin and found.origin.endswith(".py") and is_own(found.origin):
            importlib.import_module(name)
    except Exception:  # then the run does not get at it either
        return


def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file))) if linecache.getlines(file) else None
    except SyntaxError:
        return None


def functions_in(tree: ast.AST) -> Iterator[FunctionNode]:
    """All functions in a tree, and the tree itself if it is one."""
    return (one for one in ast.walk(tree) if isinstance(one, FunctionNode))


def parameters(function: FunctionNode) -> list[str]:
    """Names of all parameters."""
    a = function.args
    found = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    return [one.arg for one in found]


def name_of(e: ast.expr) -> str:
    """The last name of what is called."""
    return e.attr if isinstance(e, ast.Attribute) else e.id if isinstance(e, ast.Name) else ""


def root_of(e: ast.expr) -> ast.expr:
    """What an attribute or item is finally one of."""
    while isinstance(e, ast.Attribute | ast.Subscript | ast.Starred):
        e = e.value
    return e


def stored_in(function: ast.AST) -> frozenset[str]:
    """Names that a function or those inside it bind, and does not take from its module."""
    found, away = set[str](), set[str]()
    for one in ast.walk(function):
        if isinstance(one, FunctionNode):
            found |= set(parameters(one))
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and one is not function:
            found.add(one.name)
        elif isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            found.add(one.id)
        elif isinstance(one, ast.Global):
            away |= set(one.names)
        elif isinstance(one, ast.alias):
            found.add((one.asname or one.name).partition(".")[0])
        elif isinstance(one, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and one.name:
            found.add(one.name)
        elif isinstance(one, ast.MatchMapping) and one.rest:
            found.add(one.rest)
    return frozenset(found - away)
