"""Statements that change nothing of what is sent: a way of a branch that has no others need not be taken.

These are prints and warnings of plain values, `node.estimate`, early ends that only what is seen decides, and errors
that certainly end the run.
"""

import ast
import builtins
import logging
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from enum import Enum
from types import ModuleType
from typing import Any

import numpy as np

from attacks.audit.branches.code import UNKNOWN, FunctionNode, Own, OwnCode, name_of, stored_in
from attacks.audit.branches.facts import Level
from attacks.audit.branches.levels import Levels

_LOGS = frozenset(["debug", "info", "warning", "error", "exception", "critical"])
_PLAIN = (
    ast.Name, ast.Attribute, ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.UnaryOp, ast.Compare,
    ast.Tuple, ast.Subscript, ast.Slice, ast.IfExp, ast.BoolOp, ast.expr_context, ast.operator, ast.unaryop,
    ast.cmpop,
)  # fmt: skip
_TASKS = frozenset(
    ["create_task", "ensure_future", "gather", "submit", "wait", "Thread", "run_in_executor", "TaskGroup"]
)
"""Those who start what may fail without ending the run."""
_SWALLOWED = LookupError, AttributeError, StopIteration, StopAsyncIteration, TimeoutError, Warning
"""Errors that Python or a library may take for an answer."""
_CALM = frozenset(["__init__", "__post_init__", "__call__", "__enter__", "__aenter__"])
"""Special methods whose errors nothing takes for an answer."""
_TEXTS = frozenset(["__str__", "__repr__", "__format__"])
_MANAGERS = (np.errstate, warnings.catch_warnings, nullcontext, np.printoptions, open)
_JUMPS = ast.Return | ast.Break | ast.Continue


class Kind(Enum):
    """What a body does: `COUNTS` if it may change what is sent."""

    COUNTS = 0
    SILENT = 1
    LEAVES = 2
    """It ends a loop or function early, as only what is seen decides."""
    FAILS = 3
    """It ends the run."""


class Harmless:
    """What is harmless in code of which these `units` ran."""

    def __init__(self, code: OwnCode, levels: Levels, units: Sequence[Own]) -> None:
        self._code, self._levels = code, levels
        self._own = {one.name for one in code.functions}
        self._owns = {one.node: one for one in code.functions}
        self._local = {one.node: stored_in(one.node) for one in units}
        self._around = {one: unit for unit in units for one in ast.walk(unit.node)}
        self._caught: list[type[BaseException] | None] = []
        """Errors after which code that ran goes on; None: whichever."""
        self._procedures = set[ast.AST]()
        for unit in units:
            for n in ast.walk(unit.node):
                self._note(n, unit)
        for one in code.functions:
            if not any(isinstance(n, ast.Return) and not _nothing(n) for n in ast.walk(one.node)):
                self._procedures.add(one.node)

    def _note(self, n: ast.AST, unit: Own) -> None:
        match n:
            case ast.ExceptHandler():
                again = isinstance(n.body[-1], ast.Raise) and n.body[-1].exc is None
                if not again or any(isinstance(one, _JUMPS) for s in n.body for one in ast.walk(s)):
                    self._caught += [
                        None if one is None else self._class(one, unit.node)
                        for one in (n.type.elts if isinstance(n.type, ast.Tuple) else [n.type])
                    ]
            case ast.Try() | ast.TryStar():
                if any(isinstance(one, _JUMPS) for s in n.finalbody for one in ast.walk(s)):
                    self._caught.append(None)
            case ast.With() | ast.AsyncWith():
                for item in n.items:
                    self._caught += self._of_manager(item.context_expr, unit.node)
            case ast.Name() | ast.Attribute() if name_of(n) in _TASKS:
                self._caught.append(None)
            case _:
                pass

    def _of_manager(self, e: ast.expr, function: FunctionNode) -> list[type[BaseException] | None]:
        value = self._value(e.func, function) if isinstance(e, ast.Call) else UNKNOWN
        if value is suppress and isinstance(e, ast.Call):
            return [self._class(one, function) for one in e.args]
        return [] if any(value is one for one in _MANAGERS) else [None]

    def _value(self, e: ast.expr, function: ast.AST) -> Any:
        unit = self._around.get(function)
        return UNKNOWN if unit is None else self._code.value(e, unit, self._local[unit.node])

    def _class(self, e: ast.expr | None, function: ast.AST) -> type[BaseException] | None:
        """The class of errors that an expression names; None: not known."""
        found: object = UNKNOWN if e is None else self._value(e, function)
        return found if isinstance(found, type) and issubclass(found, BaseException) else None

    def kind(self, body: list[ast.stmt], level: Level, own: Own) -> Kind:
        """What a body does that a test of this level decides about."""
        kinds = [self._statement(s, level, own) for s in body]
        if Kind.COUNTS in kinds:
            return Kind.COUNTS
        return next((one for one in (Kind.FAILS, Kind.LEAVES) if one in kinds), Kind.SILENT)

    def silent_call(self, e: ast.Call, own: Own) -> bool:
        """Whether a call says something to nobody but who runs the code."""
        func, name, node = e.func, name_of(e.func), own.node
        if (
            name in self._own
            or self._own & _TEXTS
            or not all(self._plain(one, own) for one in (*e.args, *e.keywords))
        ):
            return False
        if name == "print":
            files = [one for one in e.keywords if one.arg == "file"]
            return self._value(func, node) is builtins.print and all(
                isinstance(one.value, ast.Attribute) and name_of(one.value) in ("stderr", "stdout") for one in files
            )
        if name == "warn":
            return self._value(func, node) is warnings.warn and not self.may_be_caught(UserWarning)
        if not isinstance(func, ast.Attribute):
            return False
        if name == "estimate":
            return self._levels.is_node(func.value, node)
        if name == "log":
            return isinstance(self._value(func.value, node), logging.Logger)
        module = self._value(func.value, node)
        return name in _LOGS and (not isinstance(module, ModuleType) or module is logging)

    def _plain(self, e: ast.expr | ast.keyword, own: Own) -> bool:
        """Whether nothing is changed where this is evaluated."""
        if isinstance(e, ast.keyword):
            return e.arg is not None and e.arg != "out" and self._plain(e.value, own)
        if isinstance(e, ast.Call):
            library = self._levels.known(e, own.node)
            if library is None or library.changed(e) or library.name in ("next", "setattr", "getattr", "super"):
                return False
            return all(self._plain(one, own) for one in (*e.args, *e.keywords))
        if isinstance(e, ast.Attribute) and e.attr in self._own:
            return False
        return isinstance(e, _PLAIN) and all(
            self._plain(one, own) for one in ast.iter_child_nodes(e) if isinstance(one, ast.expr)
        )

    @property
    def assertions(self) -> bool:
        """Whether an assertion that fails ends the run."""
        return not self.may_be_caught(AssertionError)

    def _statement(self, s: ast.stmt, level: Level, own: Own) -> Kind:
        leaves = Kind.LEAVES if level <= Level.VIEW else Kind.COUNTS
        match s:
            case ast.Raise():
                return Kind.FAILS if self._ends_run(s, own) else Kind.COUNTS
            case ast.Assert():
                return Kind.SILENT if self.assertions else Kind.COUNTS
            case ast.Import() | ast.ImportFrom() | ast.Pass():
                return Kind.SILENT
            case ast.Break() | ast.Continue():
                return leaves
            case ast.Return():
                return leaves if _nothing(s) and own.node in self._procedures else Kind.COUNTS
            case ast.If():
                kinds = {self.kind(s.body, level, own), self.kind(s.orelse, level, own)}
                plain = self._plain(s.test, own) and kinds <= {Kind.SILENT, Kind.FAILS}
                return Kind.SILENT if plain else Kind.COUNTS
            case ast.For() | ast.While():
                plain = self._plain(s.iter if isinstance(s, ast.For) else s.test, own)
                plain &= isinstance(s, ast.While) or isinstance(s.target, ast.Name)
                return Kind.SILENT if plain and self.kind(s.body, level, own) is Kind.SILENT else Kind.COUNTS
            case ast.Expr():
                silent = isinstance(s.value, ast.Call) and self.silent_call(s.value, own)
                return Kind.SILENT if silent or isinstance(s.value, ast.Constant) else Kind.COUNTS
            case _:
                return Kind.COUNTS

    def _ends_run(self, s: ast.Raise, own: Own) -> bool:
        error = s.exc
        if isinstance(error, ast.Call):
            if not all(self._plain(one, own) for one in (*error.args, *error.keywords)):
                return False
            error = error.func
        if own.name.startswith("__") and own.name not in _CALM:
            return False
        return not (self._caught if error is None else self.may_be_caught(self._class(error, own.node)))

    def may_be_caught(self, error: type[BaseException] | None) -> bool:
        """Whether own code, or a library, may go on after such an error; None: one that is not known."""
        if error is None:
            return True
        swallowed = not issubclass(error, Exception) or (issubclass(error, _SWALLOWED) and error is not UserWarning)
        return swallowed or any(kind is None or issubclass(error, kind) for kind in self._caught)


def _nothing(s: ast.Return) -> bool:
    return s.value is None or (isinstance(s.value, ast.Constant) and s.value.value is None)
