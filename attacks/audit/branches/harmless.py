"""Statements that change nothing of what is sent: a way of a branch that has no others need not be taken."""

import ast
from typing import cast

from attacks.audit.branches.code import Own, OwnCode
from attacks.audit.branches.levels import Level

_SILENT = frozenset(["print", "warn", "debug", "info", "warning", "error", "exception", "log", "estimate"])
"""Calls that tell whoever runs the code, and no agent."""
_PORT = frozenset(
    ["send", "broadcast", "exchange", "receive", "privatize", "split", "gradient", "proximal", "perturbed_proximal"]
)
_JUMPS = ast.Return | ast.Break | ast.Continue


class Harmless:
    """Harmless statements of an algorithm's own code."""

    def __init__(self, code: OwnCode) -> None:
        self._own = {name for one in code.functions for name in one.names}
        self._caught: list[tuple[ast.expr | None, Own]] = []
        self._procedures = set[ast.AST]()
        for own in code.functions:
            nodes = list(ast.walk(own.node))
            if not any(isinstance(n, ast.Return) and not _nothing(n) for n in nodes):
                self._procedures.add(own.node)
            for n in nodes:
                if isinstance(n, ast.ExceptHandler) and not _ends_with_raise(n.body):
                    self._caught += [(one, own) for one in _each(n.type)]
                elif isinstance(n, ast.Call) and name_of(n.func) == "suppress":
                    self._caught += [(one, own) for one in n.args]

    def body(self, body: list[ast.stmt], level: Level, own: Own) -> bool:
        """Whether nothing that is sent is another for this body's being run, or not; a test of this level decides."""
        return all(self._statement(s, level, own) for s in body)

    def ends(self, body: list[ast.stmt], own: Own) -> bool:
        """Whether a body does nothing but end the run with an error."""
        last = body[-1] if body else None
        return isinstance(last, ast.Raise) and all(self._statement(s, Level.PRIVATE, own) for s in body)

    def silent(self, s: ast.stmt) -> bool:
        """Whether a statement says something to nobody but who runs it."""
        if not isinstance(s, ast.Expr):
            return isinstance(s, ast.Pass)
        return isinstance(s.value, ast.Constant) or (isinstance(s.value, ast.Call) and self.silent_call(s.value))

    def silent_call(self, e: ast.Call) -> bool:
        """The same of a call."""
        inside = (name_of(n.func) for n in ast.walk(e) if isinstance(n, ast.Call) and n is not e)
        name = name_of(e.func)
        return name in _SILENT and name not in self._own and not any(n in _PORT or n in self._own for n in inside)

    @property
    def assertions(self) -> bool:
        """Whether an assertion that fails ends the run."""
        return not self._may_be_caught(AssertionError)

    def _statement(self, s: ast.stmt, level: Level, own: Own) -> bool:
        match s:
            case ast.Raise():
                error = s.exc.func if isinstance(s.exc, ast.Call) else s.exc
                return error is None or not self._may_be_caught(_class(error, own))
            case ast.Assert():
                return self.assertions
            case ast.Import() | ast.ImportFrom():
                return True
            case ast.Break() | ast.Continue():
                return level <= Level.VIEW
            case ast.Return():
                return _nothing(s) and level <= Level.VIEW and own.node in self._procedures
            case ast.If():
                return self.body(s.body, level, own) and self.body(s.orelse, level, own)
            case ast.For() | ast.While() | ast.With():
                return self.body(s.body, level, own)
            case _:
                return self.silent(s)

    def _may_be_caught(self, error: type[BaseException] | None) -> bool:
        """Whether own code goes on after such an error; None: one that is not known."""
        for one, where in self._caught:
            kind = None if one is None else _class(one, where)
            if kind is None or error is None or issubclass(error, kind):
                return True
        return False


def jumps(s: ast.stmt) -> bool:
    """Whether code does not go on after a statement."""
    return isinstance(s, _JUMPS)


def name_of(e: ast.expr) -> str:
    """The last name of what is called."""
    return e.attr if isinstance(e, ast.Attribute) else e.id if isinstance(e, ast.Name) else ""


def _nothing(s: ast.Return) -> bool:
    return s.value is None or (isinstance(s.value, ast.Constant) and s.value.value is None)


def _ends_with_raise(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Raise)


def _each(kind: ast.expr | None) -> list[ast.expr | None]:
    return list(kind.elts) if isinstance(kind, ast.Tuple) else [kind]


def _class(e: ast.expr, own: Own) -> type[BaseException] | None:
    """The class of errors that an expression names; None: not known."""
    found: object = None
    if isinstance(e, ast.Name):
        found = own.value(e.id)
    elif isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name):
        found = cast("object", getattr(own.value(e.value.id), e.attr, None))
    known = isinstance(found, type) and issubclass(cast("type[object]", found), BaseException)
    return cast("type[BaseException]", found) if known else None
