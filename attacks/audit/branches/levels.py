"""On what values in an algorithm's code may depend, read from the code: public numbers, the view, or private data.

Coarse, and to the careful side: what is not known to be public is not. A name has one level in its whole function,
and functions inside share it; a container has that of the most private value ever put in it; what is assigned below a
branch is as private as what the branch asks. Public are constants, fields of the algorithm that its run does not
assign, numbers of the network and of the agent, counters of loops over these, and what is computed from them. What is
given to a function that is handed on as a value, or that code calls which is not read, is private; a call of what is
not known may have put what it was given into anything else that it was given.

The *form* of a value (type, shape, length, keys, whether it is None) has a level of its own: that of a gradient is
public.
"""

import ast
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from types import ModuleType
from typing import NamedTuple, TypeVar

from attacks.audit.branches.code import FunctionNode, Own, OwnCode, functions_in, name_of, parameters, root_of
from attacks.audit.branches.code import stored_in
from attacks.audit.branches.known import ASSIGNS, COMPUTED, READS, Known, keeps_form, known


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
_NODE: Mapping[str, Of] = {
    **dict.fromkeys(
        ("id", "agents", "neighbors", "weights", "replicas", "dimension", "records", "regularizer", "zeros"), PUBLIC
    ),
    **dict.fromkeys(("privatize", "exchange", "receive", "send", "broadcast", "estimate"), Of(Level.VIEW)),
    **dict.fromkeys(("gradient", "proximal", "perturbed_proximal", "split", "start"), Of(Level.PRIVATE)),
}
"""What the node gives; all else is private."""
_HEADER = frozenset(["sender", "kind", "number"])
"""Of a message, who sent it and the how manieth it is: public in a run's history."""
_FORM = frozenset(["shape", "ndim", "dtype", "size", "nbytes"])
_NETWORK = frozenset(["TimeoutError", "ProtocolError", "QueueEmpty", "CancelledError"])
"""Errors that say that something did not arrive."""
_PLAIN_DECORATORS = frozenset([
    "staticmethod", "classmethod", "cache", "lru_cache", "abstractmethod", "override", "contextmanager", "wraps",
    "property", "cached_property",
])  # fmt: skip
"""Those below which a function is given what its callers give."""
_PASSES = 24
_Key = TypeVar("_Key")


@dataclass(eq=False)
class _Scope:
    """Names of one function and of those inside it: levels, which are the node, and which are functions."""

    own: Own
    local: frozenset[str]
    names: dict[str, Of] = field(default_factory=dict[str, Of])
    nodes: dict[str, Of] = field(default_factory=dict[str, Of])
    functions: dict[str, FunctionNode] = field(default_factory=dict[str, FunctionNode])


class _Facts:
    """What is known of own code that ran: levels of what functions return, of the branches below which they are
    called, of what they put into what they are given, of attributes of whatever, of names of modules, and of how often
    loops run besides their own test; and which attributes hold the node."""

    def __init__(self, code: OwnCode, units: Sequence[Own]) -> None:
        self.code, self.units, self.changed = code, units, False
        self.scopes = dict[FunctionNode, _Scope]()
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
        self._hand_on()

    def _add_unit(self, one: Own) -> None:
        scope = _Scope(one, stored_in(one.node))
        for inner in functions_in(one.node):
            self.scopes[inner] = scope
            own = self.owns[inner]
            if inner is not one.node and own.name and not own.method:
                scope.functions[own.name] = inner
            if own.name and (inner is one.node or own.within is not None):
                self._by_name[own.within is not None].setdefault(own.name, []).append(inner)

    def _hand_on(self) -> None:
        """Functions that some code has as a value, or decorates: nobody knows what they are given."""
        values, computed = set[str](), False
        for tree in self.code.trees.values():
            called = {one.func for one in ast.walk(tree) if isinstance(one, ast.Call)}
            for one in ast.walk(tree):
                if isinstance(one, ast.Name | ast.Attribute) and one not in called:
                    values.add(name_of(one))
                elif isinstance(one, ast.Constant) and isinstance(one.value, str):
                    values.add(one.value)
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

    def give(self, scope: _Scope, node: FunctionNode, of: Of) -> None:
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

    def named(self, scope: _Scope, name: str) -> list[FunctionNode]:
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


class Levels:
    """Levels of all expressions in those functions of own code that ran: `units`, with those inside them."""

    def __init__(self, code: OwnCode, units: Sequence[Own]) -> None:
        self._facts = facts = _Facts(code, units)
        self._settle()
        for node, scope in facts.scopes.items():  # nobody that is read calls these
            if node not in facts.contexts:
                if not isinstance(node, ast.Lambda):
                    facts.contexts[node] = PRIVATE
                for name in parameters(node):
                    if name not in scope.names and name not in scope.nodes:
                        facts.raised(scope.names, name, PRIVATE)
        self._settle()

    def _settle(self) -> None:
        for _ in range(_PASSES):
            self._facts.changed = False
            for node in self._facts.scopes:
                _Reader(self._facts, node).read()
            if not self._facts.changed:
                break

    def know(self, function: FunctionNode) -> bool:
        """Whether the function, or one around it, ran."""
        return function in self._facts.scopes

    def of(self, expression: ast.expr, function: FunctionNode) -> Of:
        """Levels of an expression in a function."""
        return _Reader(self._facts, function).of(expression)

    def of_try(self, node: ast.Try | ast.TryStar, handler: ast.ExceptHandler, function: FunctionNode) -> Level:
        """On what it depends whether a handler runs; errors of the network are its history."""
        return _Reader(self._facts, function).handled(node, handler)

    def known(self, call: ast.Call, function: FunctionNode) -> Known | None:
        """The function of a library that is called."""
        return _Reader(self._facts, function).known(call.func)

    def is_node(self, e: ast.expr, function: FunctionNode) -> bool:
        """Whether this is the node."""
        return _Reader(self._facts, function).is_node(e)


class _Reader:
    """One reading of a function."""

    def __init__(self, facts: _Facts, function: FunctionNode) -> None:
        self._all, self._function = facts, function
        self._scope = facts.scopes[function]
        self._context = facts.contexts.get(function, PUBLIC).value
        self._inside: list[ast.AST] = []  # loops
        self._tried = 0

    def read(self) -> None:
        function = self._function
        if isinstance(function, ast.Lambda):
            self._all.raised(self._all.results, function, self.of(function.body))
            return
        for name, value in _defaults(function):
            self._set(name, self.of(value))
        self._block(function.body)

    # ── statements ──────────────────────────────────────────────────────────────────────────────────────
    def _block(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    @contextmanager
    def _below(self, level: Level, loop: ast.AST | None = None) -> Generator[None]:
        before, left = self._context, self._left
        self._context = max(before, level)
        if loop is not None:
            self._inside.append(loop)
            self._context = max(self._context, self._all.loops.get(loop, PUBLIC).value)
        yield
        if loop is not None:
            self._inside.pop()
        self._context = before if self._left is left else max(before, self._left)

    _left = Level.PUBLIC
    """Level of branches that have left the function before."""

    def _statement(self, s: ast.stmt) -> None:
        match s:
            case ast.Assign():
                for target in s.targets:
                    self._assign_value(target, s.value)
            case ast.AnnAssign() if s.value is not None:
                self._assign_value(s.target, s.value)
            case ast.AugAssign():
                self._assign(s.target, self.of(s.value) | self.of(s.target))
            case ast.If() | ast.While():
                loop = s if isinstance(s, ast.While) else None
                level = self.of(s.test).value
                with self._below(level, loop):
                    self._block(s.body)
                with self._below(Level.PUBLIC if loop else level):
                    self._block(s.orelse)
            case ast.For() | ast.AsyncFor():
                with self._below(self._bind(s.target, s.iter), s):
                    self._bind(s.target, s.iter)
                    self._block(s.body)
                self._block(s.orelse)
            case ast.With() | ast.AsyncWith():
                for item in s.items:
                    of = self.of(item.context_expr)
                    if item.optional_vars is not None:
                        self._assign(item.optional_vars, of)
                self._block(s.body)
            case ast.Try() | ast.TryStar():
                self._try(s)
            case ast.Match():
                self._match(s)
            case ast.Return():
                of = PUBLIC if s.value is None else self.of(s.value)
                self._all.raised(self._all.results, self._function, of | both(self._context))
                self._left = max(self._left, self._context)
                self._jump(self._inside)
            case ast.Break() | ast.Continue():
                self._jump(self._inside[-1:])
            case ast.Raise():
                if self._tried:
                    self._jump(self._inside)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for name, value in _defaults(s):
                    self._set(name, self.of(value))
                if not self._all.owns[s].method:
                    self._all.raised(self._all.contexts, s, both(self._context))
            case ast.ClassDef():
                self._block(s.body)
            case ast.Delete():
                for one in s.targets:
                    if not isinstance(one, ast.Name):
                        self._assign(one, PUBLIC)
            case ast.Expr():
                self.of(s.value)
            case ast.Assert():
                self.of(s.test)
            case _:
                pass

    def _jump(self, loops: Iterable[ast.AST]) -> None:
        for loop in loops:
            self._all.raised(self._all.loops, loop, both(self._context))

    def _try(self, s: ast.Try | ast.TryStar) -> None:
        self._tried += 1
        self._block(s.body)
        self._tried -= 1
        levels = [self.handled(s, handler) for handler in s.handlers]
        for handler, level in zip(s.handlers, levels, strict=True):
            with self._below(level):
                if handler.name:
                    self._set(handler.name, both(level))
                self._block(handler.body)
        with self._below(max(levels, default=Level.PUBLIC)):  # how far its body got decides what it assigned
            self._block(s.body)
            self._block(s.orelse)
        self._block(s.finalbody)

    def handled(self, node: ast.Try | ast.TryStar, handler: ast.ExceptHandler) -> Level:
        """On what it depends whether a handler runs."""
        names = {name_of(n) for n in _types(handler)}
        if names and names <= _NETWORK and any(isinstance(n, ast.Await) for s in node.body for n in ast.walk(s)):
            return Level.PUBLIC
        inside = [n for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name | ast.Call | ast.Await)]
        return self._all_of(inside).value

    def _match(self, s: ast.Match) -> None:
        of = self.of(s.subject)
        level = of.value
        for case in s.cases:
            for one in ast.walk(case.pattern):
                name = getattr(one, "name", None) or getattr(one, "rest", None)
                if isinstance(name, str):
                    self._set(name, of)
            level = max(level, Level.PUBLIC if case.guard is None else self.of(case.guard).value)
            with self._below(level):
                self._block(case.body)

    def _bind(self, target: ast.expr, e: ast.expr) -> Level:
        """Assign what is iterated over; on what it depends how often."""
        of, name = self.of(e), name_of(e.func) if isinstance(e, ast.Call) else ""
        to, given = _parts(target), e.args if isinstance(e, ast.Call) else []
        if name == "enumerate" and len(to) == 2 and given:
            self._assign(to[0], Of(max(of.form, self._all_of(given[1:]).value)))
            self._bind(to[1], given[0])
        elif name == "zip" and len(to) == len(given) and not any(isinstance(one, ast.Starred) for one in given):
            for one, part in zip(to, given, strict=True):
                self._bind(one, part)
        elif name == "items" and len(to) == 2 and isinstance(e, ast.Call) and not self._all.methods("items"):
            self._assign(to[0], Of(of.form))
            self._assign(to[1], of)
        else:
            self._assign(target, of)
        return of.form

    def _assign_value(self, target: ast.expr, value: ast.expr) -> None:
        to, of = _parts(target), _parts(value)
        if to and len(to) == len(of) and not any(isinstance(one, ast.Starred) for one in (*to, *of)):
            for one, part in zip(to, of, strict=True):
                self._assign_value(one, part)
        elif self.is_node(value):
            if isinstance(target, ast.Name):
                self._all.raised(self._scope.nodes, target.id, PRIVATE)
            elif isinstance(target, ast.Attribute):
                self._all.raised(self._all.nodes, target.attr, PRIVATE)
        else:
            self._assign(target, self.of(value))

    def _assign(self, target: ast.expr, of: Of) -> None:
        of |= both(self._context)
        match target:
            case ast.Name():
                self._set(target.id, of)
            case ast.Tuple() | ast.List():
                for one in target.elts:
                    self._assign(one, of)
            case ast.Starred():
                self._assign(target.value, of)
            case ast.Attribute():
                self._all.raised(self._all.attributes, target.attr, of)
                self._put_into(target.value, of)
            case ast.Subscript():
                at = self.of(target.slice).value
                self._put_into(target.value, of | both(at))
            case ast.Call():  # a view of what it was given
                if name_of(target.func) == "vars":
                    self._all.raised(self._all.attributes, "__dict__", of)
                for one in (*target.args, *([target.func.value] if isinstance(target.func, ast.Attribute) else [])):
                    self._put_into(one, of)
            case _:
                pass

    def _put_into(self, e: ast.expr, of: Of) -> None:
        """Something was put into this."""
        root = root_of(e)
        if isinstance(root, ast.Name):
            if root is e and root.id == "self":
                return
            for inner in functions_in(self._scope.own.node):
                if root.id in parameters(inner):
                    self._all.raised(self._all.written, (inner, root.id), of | both(self._context))
        self._assign(e, of)

    def _set(self, name: str, of: Of) -> None:
        of |= both(self._context)
        if name in self._scope.local:
            self._all.raised(self._scope.names, name, of)
        elif of != PUBLIC and not isinstance(self._scope.own.space.get(name), ModuleType):
            self._all.raised(self._all.globals, name, of)

    # ── expressions ─────────────────────────────────────────────────────────────────────────────────────
    def is_node(self, e: ast.expr) -> bool:
        """Whether this is the node itself."""
        if isinstance(e, ast.Name):
            return e.id in self._scope.nodes
        return isinstance(e, ast.Attribute) and e.attr in self._all.nodes

    def of(self, e: ast.expr) -> Of:
        """On what the value and its form may depend; what is inside is noted."""
        if self.is_node(e):
            return Of(Level.PRIVATE)
        match e:
            case ast.Constant():
                return PUBLIC
            case ast.Name():
                return self._named(e)
            case ast.Attribute():
                return self._attribute(e)
            case ast.Call():
                return self._call(e)
            case ast.NamedExpr():
                self._assign_value(e.target, e.value)
                return self.of(e.value)
            case ast.Lambda():
                for one in parameters(e):
                    self._set(one, PRIVATE)
                return self._results([e])
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(e)
            case ast.Yield() | ast.YieldFrom():
                if e.value is not None:
                    self.of(e.value)
                return PRIVATE
            case ast.Subscript():
                at = self.of(e.slice).value
                return self.of(e.value) | both(at)
            case ast.Await() | ast.Starred():
                return self.of(e.value)
            case ast.Tuple() | ast.List() | ast.UnaryOp():
                return self._all_of(ast.iter_child_nodes(e))
            case _:
                return self._combined(e)

    def _combined(self, e: ast.expr) -> Of:
        """Of several parts."""
        of = self._all_of(ast.iter_child_nodes(e))
        match e:
            case ast.Compare():
                nothing = all(isinstance(one, ast.Constant) and one.value is None for one in e.comparators)
                if nothing and len(e.ops) == 1:
                    return Of(of.form)
                return Of(Level.PUBLIC if self._asks_for_fields(e) else of.value, of.form)
            case ast.BinOp() if isinstance(e.op, ast.Mult):
                numbers = self.of(e.left).value, self.of(e.right).value
                return of if Level.PUBLIC in numbers else Of(of.value, of.value)  # it may be a list, so many times
            case ast.BinOp() if not isinstance(e.op, ast.Mod):
                return of
            case ast.IfExp():
                return of | both(self.of(e.test).value)
            case ast.BoolOp() if len(e.values) == 2 and isinstance(e.op, ast.Or) and _is_empty(e.values[1]):
                return of
            case ast.Slice():
                return of
            case ast.Dict():
                keys = self._all_of(one for one in e.keys if one is not None)
                return of | both(keys.value)
            case _:
                return both(of.value)

    def _asks_for_fields(self, e: ast.Compare) -> bool:
        """Whether it asks which fields a message has, not what is in them."""
        return "values" not in self._all.attributes and isinstance(e.left, ast.Constant) and all(
            isinstance(one, ast.Attribute) and one.attr == "values" and self.of(one.value).value <= Level.VIEW
            for one in e.comparators
        ) and isinstance(e.left.value, str) and all(isinstance(one, ast.In | ast.NotIn) for one in e.ops)  # fmt: skip

    def _all_of(self, parts: Iterable[ast.AST]) -> Of:
        of = PUBLIC
        for one in parts:
            if isinstance(one, ast.expr):
                of |= self.of(one)
        return of

    def _named(self, e: ast.Name) -> Of:
        of = self._scope.names.get(e.id, PUBLIC)
        if e.id not in self._scope.local:
            of |= self._all.globals.get(e.id, PUBLIC)
        if e.id not in self._all.code.classes:  # it is handed on, for whoever to call
            of |= self._results(self._all.named(self._scope, e.id))
        return of

    def _results(self, functions: Iterable[FunctionNode]) -> Of:
        of = PUBLIC
        for function in functions:
            of |= self._all.results.get(function, PUBLIC)
        return of

    def _attribute(self, e: ast.Attribute) -> Of:
        if self.is_node(e.value):
            return _NODE.get(e.attr, PRIVATE)
        of, put = self.of(e.value), self._all.attributes.get(e.attr)
        if put is None and e.attr in _FORM:
            return Of(of.form)
        if put is None and e.attr in _HEADER and of.value <= Level.VIEW:
            return PUBLIC
        functions = self._all.methods(e.attr) if e.attr not in self._all.code.classes else []
        for function in functions:
            if e.attr in self._all.properties:
                self._all.raised(self._all.contexts, function, both(self._context))
        return of | (put or PUBLIC) | self._all.attributes.get("__dict__", PUBLIC) | self._results(functions)

    def _comprehension(self, e: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Of:
        of = PUBLIC
        for part in e.generators:
            form = self._bind(part.target, part.iter)
            of |= both(max(form, *(self.of(test).value for test in part.ifs), Level.PUBLIC))
        if isinstance(e, ast.DictComp):
            return of | both(self.of(e.key).value) | self.of(e.value)
        return both((of | self.of(e.elt)).value) if isinstance(e, ast.SetComp) else of | self.of(e.elt)

    # ── calls ───────────────────────────────────────────────────────────────────────────────────────────
    def known(self, func: ast.expr) -> Known | None:
        """The function of a library that is called, if it is known."""
        if isinstance(func, ast.Call):  # an object of a class of netsim's
            made = self.known(func.func)
            return made if made is not None and made.netsim else None
        if isinstance(func, ast.Attribute) and name_of(func) == "at":
            return known(self._all.code.value(func.value, self._scope.own, self._scope.local), func)
        own = self._all.owns[self._function]
        value = self._all.code.value(func, own if own.method else self._scope.own, self._scope.local - {"self"})
        return known(value, func)

    def _call(self, e: ast.Call) -> Of:
        func = e.func
        given = [*e.args, *(one.value for one in e.keywords)]
        plain = [one for one in given if not self.is_node(one)]
        of_args = self._all_of(one for one in plain if not isinstance(one, ast.Lambda))
        if isinstance(func, ast.Attribute) and self.is_node(func.value):
            return _NODE.get(func.attr, PRIVATE)
        library, base, targets, sure = self.known(func), PUBLIC, list[FunctionNode](), True
        if isinstance(func, ast.Attribute):
            if not _is_super(func.value):
                base = self.of(func.value)
                sure = isinstance(func.value, ast.Name) and (
                    func.value.id in ("self", "cls") or self._of_module(func.value)
                )
            targets = self._all.methods(func.attr)
            base |= self._all.attributes.get(func.attr, PUBLIC)
        elif isinstance(func, ast.Name):
            base = self._scope.names.get(func.id, PUBLIC)
            targets = self._all.named(self._scope, func.id)
        else:
            base = self.of(func)
        for one in plain:
            if isinstance(one, ast.Lambda):  # which is given what it is given beside, as a key to sort by is
                for name in parameters(one):
                    self._set(name, of_args | base if library is not None else PRIVATE)
                of_args |= self._results([one])
        if library is not None or not targets:
            made = func.id if isinstance(func, ast.Name) else name_of(func)
            if library is None and made in self._all.code.classes:
                return self._made(made, of_args | base)
            return self._elsewhere(e, library, base, of_args, len(plain) < len(given))
        of = base | self._results(targets)
        for function in targets:
            self._given(function, e)
            above = Level.PUBLIC if sure else base.value
            self._all.raised(self._all.contexts, function, both(max(above, self._context)))
            self._after(function, e)
        if name_of(func) in self._all.code.classes:
            return of | self._made(name_of(func), of_args)
        return of if sure else of | self._elsewhere(e, None, base, of_args, False)

    def _made(self, name: str, of: Of) -> Of:
        """An object of an own class: its fields, where no function assigns them."""
        for one in self._all.code.classes[name].body:
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and of != PUBLIC:
                self._all.raised(self._all.attributes, one.target.id, of | both(self._context))
        return of

    def _elsewhere(self, e: ast.Call, library: Known | None, base: Of, of_args: Of, with_node: bool) -> Of:
        """What code gives that is not read; it may change what it is given."""
        func, of = e.func, base | of_args
        if library is not None:
            self._changes(library.changed(e), of)
            if library.builtin and library.name in ASSIGNS and len(e.args) > 1:
                name = e.args[1].value if isinstance(e.args[1], ast.Constant) else "__dict__"
                self._all.raised(self._all.attributes, str(name), of | both(self._context))
            if library.of_form:
                return Of(self._all_of(e.args[:1]).form)
            if library.pairwise(e):
                return Of(of.value, max(of.form, self._all_of(k.value for k in e.keywords if k.arg != "out").value)) \
                    if library.builtin is False and not library.netsim else of  # fmt: skip
            if library.keeps():
                rest = [*e.args[1:], *(k.value for k in e.keywords if k.arg != "out")]
                return Of(of.value, max(self._all_of(e.args[:1]).form, self._all_of(rest).value))
            return both(of.value)
        receiver = func.value if isinstance(func, ast.Attribute) else None
        reads = isinstance(func, ast.Attribute) and func.attr in READS
        given = [*e.args, *(one.value for one in e.keywords)]
        self._changes([] if reads else [one for one in given if not self.is_node(one)], of)
        self._changes([one.value for one in e.keywords if one.arg == "out"], of)
        if receiver is not None and not reads and not self._of_module(receiver):
            self._put_into(receiver, of_args)
        if with_node:
            return PRIVATE
        if isinstance(func, ast.Attribute) and keeps_form(func.attr):
            form = Of(base.form) if func.attr == "keys" else Of(of.value, base.form)
            return form | (PUBLIC if not given else Of(Level.PUBLIC, of_args.value))
        return both(of.value)

    def _of_module(self, e: ast.expr) -> bool:
        value = self._all.code.value(e, self._scope.own, self._scope.local)
        return isinstance(value, ModuleType | type)

    def _changes(self, some: Iterable[ast.expr], of: Of) -> None:
        """A call may have put what it was given into these; a module is no such thing."""
        for one in some:
            if isinstance(one, ast.Name | ast.Attribute | ast.Subscript) and not self._of_module(one):
                if not (isinstance(one, ast.Name) and one.id == "self") and of != PUBLIC:
                    self._put_into(one, of)

    def _pairs(self, function: FunctionNode, call: ast.Call) -> list[tuple[str, ast.expr]]:
        """Parameters of a function, each with what a call gives it, or may."""
        names, a = parameters(function), function.args
        positional = [one.arg for one in (*a.posonlyargs, *a.args)]
        if self._all.owns[function].method and not self._whole(call.func):
            positional, names = positional[1:], names[1:]
        values = [*call.args, *(one.value for one in call.keywords)]
        if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
            return [(name, value) for name in names for value in values]
        rest = a.vararg.arg if a.vararg else None
        at = [positional[k] if k < len(positional) else rest for k in range(len(call.args))]
        keyword = [one.arg if one.arg in names else a.kwarg and a.kwarg.arg for one in call.keywords]
        return [(name, value) for name, value in zip((*at, *keyword), values, strict=True) if name is not None]

    def _whole(self, func: ast.expr) -> bool:
        """Whether a method is called of its class, with its object."""
        return isinstance(func, ast.Attribute) and name_of(func.value) in self._all.code.classes

    def _given(self, function: FunctionNode, call: ast.Call) -> None:
        """Parameters get the levels of what a call gives them."""
        scope = self._all.scopes[function]
        for name, value in self._pairs(function, call):
            if self.is_node(value):
                self._all.raised(scope.nodes, name, PRIVATE)
            elif name not in scope.nodes:
                self._all.raised(scope.names, name, self.of(value))

    def _after(self, function: FunctionNode, call: ast.Call) -> None:
        """What a function put into what it was given."""
        for name, value in self._pairs(function, call):
            if (of := self._all.written.get((function, name))) is not None:
                self._changes([value], of)
        names = parameters(function)
        if self._all.owns[function].method and names and isinstance(call.func, ast.Attribute):
            if (of := self._all.written.get((function, names[0]))) is not None:
                self._changes([call.func.value], of)


def _defaults(function: FunctionNode) -> list[tuple[str, ast.expr]]:
    """Parameters that need not be given."""
    a = function.args
    found = list(zip(reversed([*a.posonlyargs, *a.args]), reversed(a.defaults), strict=False))
    found += [(one, value) for one, value in zip(a.kwonlyargs, a.kw_defaults, strict=True) if value is not None]
    return [(one.arg, value) for one, value in found]


def _parts(e: ast.expr) -> list[ast.expr]:
    return e.elts if isinstance(e, ast.Tuple | ast.List) else []


def _is_empty(e: ast.expr) -> bool:
    elements = e.keys if isinstance(e, ast.Dict) else _parts(e)
    return isinstance(e, ast.Dict | ast.Tuple | ast.List) and not elements


def _is_super(e: ast.expr) -> bool:
    return isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "super"


def _types(handler: ast.ExceptHandler) -> list[ast.expr]:
    if handler.type is None:
        return []
    return handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
