"""Facts about own code that ran, as they are known so far: levels of names, attributes, results and branches."""

import ast
from collections import Counter, defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, TypeVar

from attacks.audit.branches.code import FunctionNode, Own, OwnCode, functions_in, name_of, parameters, stored_in
from attacks.audit.branches.known import BY_TEXT, COMPUTED
from netsim.algorithms import Algorithm


class Level(IntEnum):
    """How much a value may depend on."""

    PUBLIC = 0
    VIEW = 1
    """What the agent released with noise, or received."""
    PRIVATE = 2
    """Its data, or its coins."""


class Of(NamedTuple):
    """Levels of a value and of its form."""

    value: Level = Level.PUBLIC
    form: Level = Level.PUBLIC

    def __or__(self, other: "tuple[object, ...]") -> "Of":
        value, form = other
        return Of(max(self.value, value), max(self.form, form))  # pyright: ignore[reportArgumentType]


def both(level: Level) -> Of:
    """A value whose form is as private as it is."""
    return Of(level, level)


PUBLIC, PRIVATE = both(Level.PUBLIC), both(Level.PRIVATE)
_ASKED = frozenset(vars(Algorithm)) - {"run"}
"""What netsim asks an algorithm, with public numbers."""
_PLAIN_DECORATORS = frozenset([
    "staticmethod", "classmethod", "cache", "lru_cache", "abstractmethod", "override", "contextmanager", "wraps",
    "property", "cached_property",
])  # fmt: skip
"""Those below which a function is given what its callers give."""
_Key = TypeVar("_Key")


@dataclass(eq=False)
class Scope:
    """Names of one function and of those inside it: levels, which are the node, and which are functions."""

    own: Own
    local: frozenset[str]
    names: dict[str, Of] = field(default_factory=dict[str, Of])
    nodes: dict[str, Of] = field(default_factory=dict[str, Of])
    functions: dict[str, FunctionNode] = field(default_factory=dict[str, FunctionNode])
    given: dict[str, list[FunctionNode]] = field(default_factory=dict[str, list[FunctionNode]])
    """Those that have a parameter of a name."""
    dicts: frozenset[str] = frozenset()
    """Names of what is always a dict."""
    values: frozenset[str] = frozenset()
    """Names of what is always the values of something."""
    lists: frozenset[str] = frozenset()
    """Names of what may be a list."""


class Facts:
    """What is known of own code that ran: levels of what functions return, of the branches below which they are
    called, of what they put into what they are given, of attributes of whatever, of names of modules, and of how
    often loops run besides their own test; and which attributes hold the node."""

    def __init__(self, code: OwnCode, units: Sequence[Own]) -> None:
        self.code, self.units, self.changed = code, units, False
        self.scopes = dict[FunctionNode, Scope]()
        self.results, self.contexts = dict[FunctionNode, Of](), dict[FunctionNode, Of]()
        self.written = dict[tuple[FunctionNode, str], Of]()
        self.attributes, self.nodes, self.globals = dict[str, Of](), dict[str, Of](), dict[str, Of]()
        self.loops = dict[ast.AST, Of]()
        self.owns = {one.node: one for one in code.functions}
        self._by_name = {True: dict[str, list[FunctionNode]](), False: dict[str, list[FunctionNode]]()}
        for one in units:
            self._add_unit(one)
        self.properties = {
            name for some in self._by_name[True].items() for name in some[:1]
            if any({"property", "cached_property"} & {*self.owns[node].decorators} for node in some[1])
        }  # fmt: skip
        of_run = {one.__name__ for one in type(code.algorithm).__mro__}
        for node, scope in self.scopes.items():
            own, names = self.owns[node], [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
            if own.method and names:
                scope.names.setdefault(names[0], PUBLIC)
            if own.name == "run" and own.within is not None and own.within.name in of_run and len(names) > 1:
                scope.nodes[names[1]] = PRIVATE
                self.contexts.setdefault(node, PUBLIC)
            elif own.method and own.name in _ASKED and own.within is not None and own.within.name in of_run:
                self.give(scope, node, PUBLIC)
                self.contexts.setdefault(node, PUBLIC)
        self._hand_on()

    def _add_unit(self, one: Own) -> None:
        dicts, values, lists = _bound_in(one.node)
        scope = Scope(one, stored_in(one.node), dicts=dicts, values=values, lists=lists)
        for inner in functions_in(one.node):
            self.scopes[inner] = scope
            for name in parameters(inner):
                scope.given.setdefault(name, []).append(inner)
            own = self.owns[inner]
            if inner is not one.node and own.name and not own.method:
                scope.functions[own.name] = inner
            if own.name and (inner is one.node or own.within is not None):
                self._by_name[own.within is not None].setdefault(own.name, []).append(inner)

    def _hand_on(self) -> None:
        """Functions that some code has as a value, or decorates: nobody knows what they are given."""
        values, computed = set[str](), False
        for part in (*self.code.trees.values(), *(unit.node for unit in self.units)):
            inside = isinstance(part, FunctionNode)
            nodes = list(ast.walk(part) if inside else _outside(part))
            called = {one.func for one in nodes if isinstance(one, ast.Call)}
            scope = self.scopes[part] if isinstance(part, FunctionNode) else None
            for one in nodes:
                if isinstance(one, ast.Attribute) and one not in called:
                    values.add(one.attr)
                elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one not in called:
                    if scope is None or one.id in scope.functions or one.id not in scope.local:
                        values.add(one.id)
                elif isinstance(one, ast.Call) and name_of(one.func) in BY_TEXT:
                    values |= {k.value for k in one.args if isinstance(k, ast.Constant) and isinstance(k.value, str)}
                elif isinstance(one, ast.alias) and one.asname and one.asname != one.name:
                    values.add(one.name.rpartition(".")[2])
        for unit in self.units:
            calls = [one for one in ast.walk(unit.node) if isinstance(one, ast.Call)]
            texts = [one for one in calls if name_of(one.func) in ("getattr", "getattr_static") and one.args[1:]]
            computed |= any(name_of(one.func) in COMPUTED for one in calls)
            computed |= any(not isinstance(one.args[1], ast.Constant) for one in texts)
        for node, scope in self.scopes.items():
            own = self.owns[node]
            called_so = own.name in self.properties or own.name == "run"
            if not isinstance(node, ast.Lambda) and not called_so and (
                computed or own.name in values or {*own.decorators} - _PLAIN_DECORATORS
            ):  # fmt: skip
                self.give(scope, node, PRIVATE)
                self.contexts[node] = PRIVATE

    def give(self, scope: Scope, node: FunctionNode, of: Of) -> None:
        """Give all parameters of a function, but for the object whose method it is, this level."""
        for name in parameters(node)[1 if self.owns[node].method else 0 :]:
            if name not in scope.nodes:
                self.raised(scope.names, name, of)

    def raised(self, levels: dict[_Key, Of], key: _Key, of: Of) -> None:
        """Raise a level; note whether that changed anything."""
        before = levels.get(key)
        after = of if before is None else before | of
        if after != before:
            levels[key] = after
            self.changed = True

    def named(self, scope: Scope, name: str) -> list[FunctionNode]:
        """Functions that a bare name may stand for."""
        if name in scope.functions:
            return [scope.functions[name]]
        if name in self.code.classes:
            inits = self._by_name[True].get("__init__", [])
            own = [one for one in inits if (c := self.owns[one].within) is not None and c.name == name]
            return own or inits
        return self._by_name[False].get(name, [])

    def methods(self, name: str) -> list[FunctionNode]:
        """Methods, and functions of modules, of this name."""
        if name in self.code.classes:
            return self._by_name[True].get("__init__", [])
        return [*self._by_name[True].get(name, ()), *self._by_name[False].get(name, ())]


def _bound_in(function: FunctionNode) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Names that are bound to dicts as they are written, and to nothing else; to values of a dict or message, and to
    nothing else; and those that may be bound to a list."""
    bound, values, stored = defaultdict[str, list[bool]](list), Counter[str](), Counter[str]()
    given = {name for one in functions_in(function) for name in parameters(one)}
    lists = set(given)
    for one in ast.walk(function):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            stored[one.id] += 1
        targets = one.targets if isinstance(one, ast.Assign) else []
        targets = [one.target] if isinstance(one, ast.AnnAssign) else targets
        for target in targets:
            if isinstance(target, ast.Name):
                value = getattr(one, "value", None)
                made = name_of(value.func) if isinstance(value, ast.Call) else ""
                bound[target.id].append(made in ("dict", "defaultdict") or isinstance(value, ast.Dict | ast.DictComp))
                values[target.id] += made in ("values", "items", "keys")
                if made in ("list", "tuple", "sorted", "str") or is_list(value):
                    lists.add(target.id)
    dicts = (n for n, some in bound.items() if all(some) and len(some) == stored[n] and n not in given)
    sized = (n for n, count in values.items() if count == stored[n] and n not in given)
    return frozenset(dicts), frozenset(sized), frozenset(lists)


def is_list(e: object) -> bool:
    """Whether it is a list, tuple or text as it is written."""
    text = isinstance(e, ast.JoinedStr) or (isinstance(e, ast.Constant) and isinstance(e.value, str))
    return text or isinstance(e, ast.List | ast.Tuple | ast.ListComp)


def _outside(tree: ast.AST) -> Generator[ast.AST]:
    """What is in no function."""
    for one in ast.iter_child_nodes(tree):
        if isinstance(one, FunctionNode):
            yield from (*one.decorator_list, *one.args.defaults) if not isinstance(one, ast.Lambda) else ()
        else:
            yield one
            yield from _outside(one)
