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
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from attacks.audit.branches.code import FunctionNode, Own, OwnCode, name_of, parameters
from attacks.audit.branches.facts import PRIVATE, PUBLIC, Facts, Level, Of, both
from attacks.audit.branches.known import Known
from attacks.audit.branches.values import Values

_NETWORK = frozenset(["TimeoutError", "ProtocolError", "QueueEmpty", "CancelledError"])
"""Errors that say that something did not arrive."""
_PASSES = 24


class Levels:
    """Levels of all expressions in those functions of own code that ran: `units`, with those inside them."""

    def __init__(self, code: OwnCode, units: Sequence[Own]) -> None:
        self._facts = facts = Facts(code, units)
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


class _Reader(Values):
    """One reading of a function."""

    def __init__(self, facts: Facts, function: FunctionNode) -> None:
        super().__init__(facts, function)
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
                level = self.truth(s.test)
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
            level = max(level, Level.PUBLIC if case.guard is None else self.truth(case.guard))
            with self._below(level):
                self._block(case.body)


def _defaults(function: FunctionNode) -> list[tuple[str, ast.expr]]:
    """Parameters that need not be given."""
    a = function.args
    found = list(zip(reversed([*a.posonlyargs, *a.args]), reversed(a.defaults), strict=False))
    found += [(one, value) for one, value in zip(a.kwonlyargs, a.kw_defaults, strict=True) if value is not None]
    return [(one.arg, value) for one, value in found]


def _types(handler: ast.ExceptHandler) -> list[ast.expr]:
    if handler.type is None:
        return []
    return handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
