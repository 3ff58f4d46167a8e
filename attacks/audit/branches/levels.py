"""On what a value in an algorithm's code may depend, read from the code: public numbers, the view, or private data.

Coarse, and to the careful side: what is not known to be public is not. A name has one level in its whole function,
and functions inside share it; a container has that of the most private value ever put in it; what is assigned below a
branch is as private as what the branch asks. Public are constants, fields of the algorithm that its run does not
assign, numbers of the network and of the agent, counters of loops over these, and what is computed from them.
"""

import ast
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeVar

from attacks.audit.branches.code import FunctionNode, Own, OwnCode, functions_in


class Level(IntEnum):
    """How much a value may depend on."""

    PUBLIC = 0
    VIEW = 1
    """What the agent released with noise, or received."""
    PRIVATE = 2
    """Its data, or its coins."""


_NODE: Mapping[str, Level] = {
    **dict.fromkeys(
        ("id", "agents", "neighbors", "weights", "replicas", "dimension", "records", "regularizer", "zeros"),
        Level.PUBLIC,
    ),
    **dict.fromkeys(("privatize", "exchange", "receive", "send", "broadcast", "estimate"), Level.VIEW),
}
"""What the node gives; all else is private."""
_HEADER = frozenset(["sender", "kind", "number", "shape", "ndim", "dtype"])
"""Of a message, who sent it and the how manieth it is, and of an array its form: public in a run's history."""
_NETWORK = frozenset(["TimeoutError", "ProtocolError", "NetsimError", "QueueEmpty", "CancelledError"])
"""Errors that say that something did not arrive."""
_MUTATORS = frozenset(["append", "extend", "insert", "add", "update", "setdefault", "appendleft", "fill", "put"])
_WRITERS = frozenset(["setattr", "__setattr__", "copyto", "put", "place", "putmask", "fill_diagonal"])
_PASSES = 24
_Key = TypeVar("_Key")


@dataclass(eq=False)
class _Scope:
    """Names of one function and of those inside it: levels, which are the node, and which are functions."""

    names: dict[str, Level] = field(default_factory=dict[str, Level])
    nodes: dict[str, Level] = field(default_factory=dict[str, Level])
    functions: dict[str, FunctionNode] = field(default_factory=dict[str, FunctionNode])


class _Facts:
    """What is known of own code: levels of what functions return, of the branches below which they are called, of
    attributes of whatever, and of how often loops run besides their own test; and which attributes hold the node."""

    def __init__(self, code: OwnCode) -> None:
        self.code, self.changed = code, False
        self.scopes = dict[FunctionNode, _Scope]()
        self.results, self.contexts = dict[FunctionNode, Level](), dict[FunctionNode, Level]()
        self.attributes, self.nodes = dict[str, Level](), dict[str, Level]()
        self.loops = dict[ast.AST, Level]()
        self.bound = {one.node: one.method for one in code.functions}
        """Whether a function's first parameter is the object whose method it is."""
        self._by_name = {True: dict[str, list[FunctionNode]](), False: dict[str, list[FunctionNode]]()}
        for one in sorted(code.functions, key=lambda own: own.node.lineno):
            for name in one.names:
                self._by_name[one.method].setdefault(name, []).append(one.node)
            self._add_scope(one)

    def _add_scope(self, one: Own) -> None:
        if one.node in self.scopes:
            return
        scope = _Scope()
        for inner in functions_in(one.node):
            self.scopes[inner] = scope
            if inner is not one.node and not isinstance(inner, ast.Lambda):
                scope.functions[inner.name] = inner
        if "run" in one.names and one.method and len(one.node.args.args) > 1:
            scope.nodes[one.node.args.args[1].arg] = Level.PRIVATE
        if one.method and one.node.args.args:
            scope.names.setdefault(one.node.args.args[0].arg, Level.PUBLIC)

    def raised(self, levels: dict[_Key, Level], key: _Key, level: Level) -> None:
        """Raise a level; note whether that changed anything."""
        if level > levels.get(key, -1):
            levels[key] = level
            self.changed = True

    def named(self, scope: _Scope, name: str) -> list[FunctionNode]:
        """Functions that a bare name may stand for."""
        if name in scope.functions:
            return [scope.functions[name]]
        if name in self.code.classes:
            return self._by_name[True].get("__init__", [])
        return self._by_name[False].get(name, [])

    def methods(self, name: str) -> list[FunctionNode]:
        """Methods, and functions of modules, of this name."""
        return [*self._by_name[True].get(name, ()), *self._by_name[False].get(name, ())]


class Levels:
    """Levels of all expressions in an algorithm's own code."""

    def __init__(self, code: OwnCode) -> None:
        self._facts = facts = _Facts(code)
        self._settle()
        for one in code.functions:  # of those that nobody calls by name, nobody knows what they are given
            scope = facts.scopes[one.node]
            for name in _parameters(one.node):
                if name not in scope.names and name not in scope.nodes:
                    facts.raised(scope.names, name, Level.PRIVATE)
        self._settle()

    def _settle(self) -> None:
        for _ in range(_PASSES):
            self._facts.changed = False
            for one in self._facts.code.functions:
                _Reader(self._facts, one.node).read()
            if not self._facts.changed:
                break

    def of(self, expression: ast.expr, function: FunctionNode) -> Level:
        """Level of an expression in a function."""
        return _Reader(self._facts, function).level(expression)

    def of_try(self, node: ast.Try, handler: ast.ExceptHandler, function: FunctionNode) -> Level:
        """On what it depends whether a handler runs; errors of the network are its history."""
        return _Reader(self._facts, function).handled(node, handler)


class _Reader:
    """One reading of a function."""

    def __init__(self, facts: _Facts, function: FunctionNode) -> None:
        self._all, self._function = facts, function
        self._scope = facts.scopes[function]
        self._context = facts.contexts.get(function, Level.PUBLIC)
        self._inside: list[ast.AST] = []  # loops
        self._tried = 0

    def read(self) -> None:
        if isinstance(self._function, ast.Lambda):
            self._all.raised(self._all.results, self._function, self.level(self._function.body))
            return
        self._defaults(self._function)
        self._block(self._function.body)

    # ── statements ──────────────────────────────────────────────────────────────────────────────────────
    def _block(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    @contextmanager
    def _below(self, level: Level, loop: ast.AST | None = None) -> Generator[None]:
        before = self._context
        self._context = max(before, level)
        if loop is not None:
            self._inside.append(loop)
            self._context = max(self._context, self._all.loops.get(loop, Level.PUBLIC))
        yield
        if loop is not None:
            self._inside.pop()
        self._context = before

    def _statement(self, s: ast.stmt) -> None:
        match s:
            case ast.Assign():
                for target in s.targets:
                    self._assign_value(target, s.value)
            case ast.AnnAssign() if s.value is not None:
                self._assign_value(s.target, s.value)
            case ast.AugAssign():
                self._assign(s.target, max(self.level(s.value), self.level(s.target)))
            case ast.If() | ast.While():
                loop = s if isinstance(s, ast.While) else None
                level = self.level(s.test)
                with self._below(level, loop):
                    self._block(s.body)
                with self._below(Level.PUBLIC if loop else level):
                    self._block(s.orelse)
            case ast.For() | ast.AsyncFor():
                level = self.level(s.iter)
                with self._below(level, s):
                    self._assign(s.target, level)
                    self._block(s.body)
                self._block(s.orelse)
            case ast.With() | ast.AsyncWith():
                for item in s.items:
                    level = self.level(item.context_expr)
                    if item.optional_vars is not None:
                        self._assign(item.optional_vars, level)
                self._block(s.body)
            case ast.Try() | ast.TryStar():
                self._try(s)
            case ast.Match():
                self._match(s)
            case ast.Return():
                level = max(Level.PUBLIC if s.value is None else self.level(s.value), self._context)
                self._all.raised(self._all.results, self._function, level)
                self._jump(self._inside)
            case ast.Break() | ast.Continue():
                self._jump(self._inside[-1:])
            case ast.Raise():
                if self._tried:
                    self._jump(self._inside)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._inner(s)
            case ast.Expr():
                self.level(s.value)
            case ast.Assert():
                self.level(s.test)
            case _:
                pass

    def _jump(self, loops: Iterable[ast.AST]) -> None:
        for loop in loops:
            self._all.raised(self._all.loops, loop, self._context)

    def _try(self, s: ast.Try | ast.TryStar) -> None:
        self._tried += 1
        self._block(s.body)
        self._tried -= 1
        for handler in s.handlers:
            level = Level.PRIVATE if isinstance(s, ast.TryStar) else self.handled(s, handler)
            with self._below(level):
                if handler.name:
                    self._set(handler.name, level)
                self._block(handler.body)
        self._block(s.orelse)
        self._block(s.finalbody)

    def handled(self, node: ast.Try, handler: ast.ExceptHandler) -> Level:
        """On what it depends whether a handler runs."""
        names = {n.id if isinstance(n, ast.Name) else n.attr for n in _types(handler)}
        if names and names <= _NETWORK and any(isinstance(n, ast.Await) for s in node.body for n in ast.walk(s)):
            return Level.PUBLIC
        inside = [n for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name | ast.Call | ast.Await)]
        return self._all_of(inside)

    def _match(self, s: ast.Match) -> None:
        level = self.level(s.subject)
        for case in s.cases:
            for one in ast.walk(case.pattern):
                name = getattr(one, "name", None) or getattr(one, "rest", None)
                if isinstance(name, str):
                    self._set(name, level)
            guard = Level.PUBLIC if case.guard is None else self.level(case.guard)
            with self._below(max(level, guard)):
                self._block(case.body)

    def _inner(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._defaults(function)
        inner = _Reader(self._all, function)
        inner._context = max(inner._context, self._context)
        inner._block(function.body)

    def _defaults(self, function: FunctionNode) -> None:
        for name, value in _defaults(function):
            self._set(name, self.level(value))

    def _assign_value(self, target: ast.expr, value: ast.expr) -> None:
        to, of = _parts(target), _parts(value)
        if to and len(to) == len(of) and not any(isinstance(one, ast.Starred) for one in (*to, *of)):
            for one, part in zip(to, of, strict=True):
                self._assign_value(one, part)
        elif self.is_node(value):
            if isinstance(target, ast.Name):
                self._all.raised(self._scope.nodes, target.id, Level.PRIVATE)
            elif isinstance(target, ast.Attribute):
                self._all.raised(self._all.nodes, target.attr, Level.PRIVATE)
        else:
            self._assign(target, self.level(value))

    def _assign(self, target: ast.expr, level: Level) -> None:
        level = max(level, self._context)
        match target:
            case ast.Name():
                self._set(target.id, level)
            case ast.Tuple() | ast.List():
                for one in target.elts:
                    self._assign(one, level)
            case ast.Starred():
                self._assign(target.value, level)
            case ast.Attribute():
                self._all.raised(self._all.attributes, target.attr, level)
                if not isinstance(target.value, ast.Name) or target.value.id != "self":
                    self._assign(target.value, level)
            case ast.Subscript():
                self._assign(target.value, max(level, self.level(target.slice)))
            case _:
                pass

    def _set(self, name: str, level: Level) -> None:
        self._all.raised(self._scope.names, name, max(level, self._context))

    # ── expressions ─────────────────────────────────────────────────────────────────────────────────────
    def is_node(self, e: ast.expr) -> bool:
        """Whether this is the node itself."""
        if isinstance(e, ast.Name):
            return e.id in self._scope.nodes
        return isinstance(e, ast.Attribute) and e.attr in self._all.nodes

    def level(self, e: ast.expr) -> Level:
        """On what the value may depend; what is inside is noted."""
        if self.is_node(e):
            return Level.PRIVATE
        match e:
            case ast.Constant():
                return Level.PUBLIC
            case ast.Name():
                return self._named(e)
            case ast.Attribute():
                return self._attribute(e)
            case ast.Call():
                return self._call(e)
            case ast.NamedExpr():
                self._assign_value(e.target, e.value)
                return self.level(e.value)
            case ast.Lambda():
                for one in _parameters(e):
                    self._set(one, Level.PRIVATE)
                return self.level(e.body)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(e)
            case ast.Compare() if _asks_for_fields(e) or self._asks_if_given(e):
                return Level.PUBLIC
            case ast.Yield() | ast.YieldFrom():
                return Level.PRIVATE
            case _:
                return self._all_of(ast.iter_child_nodes(e))

    def _asks_if_given(self, e: ast.Compare) -> bool:
        """Whether it asks if a parameter of default None was given: branches decide that, and they are looked at."""
        nothing = all(isinstance(one, ast.Constant) and one.value is None for one in e.comparators)
        default = dict(_defaults(self._function)).get(e.left.id) if isinstance(e.left, ast.Name) else None
        return nothing and isinstance(default, ast.Constant) and default.value is None

    def _all_of(self, parts: Iterable[ast.AST]) -> Level:
        found = [self.level(one) for one in parts if isinstance(one, ast.expr)]
        return max(found, default=Level.PUBLIC)

    def _named(self, e: ast.Name) -> Level:
        known = self._scope.names.get(e.id)
        if known is not None:
            return known
        for function in self._all.named(self._scope, e.id):  # it is handed on, for whoever to call
            if e.id not in self._all.code.classes:
                self._given(function, None)
        return Level.PUBLIC

    def _attribute(self, e: ast.Attribute) -> Level:
        if self.is_node(e.value):
            return _NODE.get(e.attr, Level.PRIVATE)
        of = self.level(e.value)
        if e.attr in _HEADER:
            return Level.PUBLIC if of <= Level.VIEW or e.attr in ("shape", "ndim", "dtype") else of
        return max(of, self._all.attributes.get(e.attr, Level.PUBLIC))

    def _comprehension(self, e: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Level:
        found = Level.PUBLIC
        for part in e.generators:
            level = self.level(part.iter)
            self._assign(part.target, level)
            found = max(found, level, *(self.level(test) for test in part.ifs))
        values = (e.key, e.value) if isinstance(e, ast.DictComp) else (e.elt,)
        return max(found, *map(self.level, values))

    def _call(self, e: ast.Call) -> Level:
        func = e.func
        given = [*e.args, *(one.value for one in e.keywords)]
        plain = [one for one in given if not self.is_node(one)]
        of_args = self._all_of(one for one in plain if not isinstance(one, ast.Lambda))
        with_node = len(plain) < len(given)
        if isinstance(func, ast.Attribute) and self.is_node(func.value):
            return _NODE.get(func.attr, Level.PRIVATE)
        if isinstance(func, ast.Attribute):
            base = Level.PUBLIC if _is_super(func.value) else self.level(func.value)
            targets = self._all.methods(func.attr)
            base = max(base, self._all.attributes.get(func.attr, Level.PUBLIC))
            if func.attr in _MUTATORS:
                self._changed(func.value, of_args)
        elif isinstance(func, ast.Name):
            base = self._scope.names.get(func.id, Level.PUBLIC)
            targets = self._all.named(self._scope, func.id)
        else:
            base, targets = self.level(func), []
        for one in plain:
            if isinstance(one, ast.Lambda):  # which is given what it is given beside, as a key to sort by is
                for name in _parameters(one):
                    self._set(name, max(base, of_args))
                of_args = max(of_args, self.level(one.body))
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        if name in _WRITERS and e.args:
            self._changed(e.args[0], of_args)
            for one in e.args[1:2]:
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    self._all.raised(self._all.attributes, one.value, max(of_args, self._context))
        for one in e.keywords:
            if one.arg == "out":
                self._changed(one.value, of_args)
        if not targets:
            return Level.PRIVATE if with_node else max(base, of_args)
        for function in targets:
            self._given(function, e)
            self._all.raised(self._all.contexts, function, max(base, self._context))
        results = (self._all.results.get(function, Level.PUBLIC) for function in targets)
        made = isinstance(func, ast.Name) and func.id in self._all.code.classes
        return max(base, *results, *([of_args] if made else []))

    def _changed(self, e: ast.expr, level: Level) -> None:
        """A call may have put what it was given into this; a module is no such thing."""
        if not isinstance(e, ast.Name) or e.id in self._scope.names:
            self._assign(e, level)

    def _given(self, function: FunctionNode, call: ast.Call | None) -> None:
        """Parameters get the levels of what a call gives them; of one that is not known, private."""
        scope, names = self._all.scopes[function], _parameters(function)
        positional = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
        if self._all.bound.get(function):
            positional, names = positional[1:], names[1:]
        if call is None or any(isinstance(one, ast.Starred) for one in call.args):
            level = Level.PRIVATE if call is None else self._all_of(one for one in call.args if not self.is_node(one))
            pairs = [(name, None, level) for name in names]
        else:
            rest = function.args.vararg.arg if function.args.vararg else None
            at = [positional[k] if k < len(positional) else rest for k in range(len(call.args))]
            keyword = [one.arg if one.arg in names else function.args.kwarg and function.args.kwarg.arg
                       for one in call.keywords]  # fmt: skip
            values = [*call.args, *(one.value for one in call.keywords)]
            found = zip((*at, *keyword), values, strict=True)
            pairs = [(name, value, self.level(value)) for name, value in found if name is not None]
        for name, value, level in pairs:
            if value is not None and self.is_node(value):
                self._all.raised(scope.nodes, name, Level.PRIVATE)
            elif name not in scope.nodes:
                self._all.raised(scope.names, name, level)


def _parameters(function: FunctionNode) -> list[str]:
    a = function.args
    found = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    return [one.arg for one in found]


def _defaults(function: FunctionNode) -> list[tuple[str, ast.expr]]:
    """Parameters that need not be given."""
    a = function.args
    found = list(zip(reversed([*a.posonlyargs, *a.args]), reversed(a.defaults), strict=False))
    found += [(one, value) for one, value in zip(a.kwonlyargs, a.kw_defaults, strict=True) if value is not None]
    return [(one.arg, value) for one, value in found]


def _parts(e: ast.expr) -> list[ast.expr]:
    return e.elts if isinstance(e, ast.Tuple | ast.List) else []


def _is_super(e: ast.expr) -> bool:
    return isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "super"


def _asks_for_fields(e: ast.Compare) -> bool:
    """Whether it asks which fields a message has, not what is in them."""
    fields = [one for one in e.comparators if isinstance(one, ast.Attribute) and one.attr == "values"]
    return isinstance(e.left, ast.Constant) and len(fields) == len(e.comparators) and all(
        isinstance(one, ast.In | ast.NotIn) for one in e.ops
    )  # fmt: skip


def _types(handler: ast.ExceptHandler) -> list[ast.Name | ast.Attribute]:
    if handler.type is None:
        return []
    some = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [one for one in some if isinstance(one, ast.Name | ast.Attribute)]
