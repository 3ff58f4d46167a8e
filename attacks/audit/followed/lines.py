"""Lines of an algorithm's code, and conditions that only end its run.

A run that ends shows nothing: an `assert`, or an `if` that does nothing but `raise`, asks about private values for
nobody. It has to be no more than a question, of an error that nothing on the way up catches.
"""

import ast
import builtins
import contextlib
import inspect
import linecache
import math
import warnings
from collections.abc import Generator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

from attacks.replay.recorded import RecordedNode
from netsim.own import PACKAGE, is_own

_PORT = RecordedNode.read.__code__
_ASK = (
    abs, all, any, bool, enumerate, float, int, isinstance, len, list, max, min, range, repr, round, sorted, str, sum,
    tuple, type, zip, np.array, np.asarray,
)  # fmt: skip
"""Functions that keep nothing of what they are given."""
_CAUGHT = (
    StopIteration, StopAsyncIteration, GeneratorExit, AttributeError, LookupError, TypeError, NotImplementedError,
)  # fmt: skip
"""Errors that Python itself catches: of iterators, `hasattr`, sequences without an `__iter__`, operators."""
_OPEN = frozenset(["__init__", "__new__", "__post_init__", "__call__"])
"""Methods with names of Python's whose errors it hands on."""
_REDUCE = frozenset(["all", "any", "max", "mean", "min", "sum"])
_LEAVES = ast.Return | ast.Break | ast.Continue
_BINDS = ast.NamedExpr | ast.Lambda | ast.Await | ast.Yield | ast.YieldFrom
_KEYS = (
    ast.Constant | ast.Name | ast.Attribute | ast.Slice | ast.Tuple | ast.UnaryOp | ast.BinOp | ast.expr_context
    | ast.unaryop | ast.operator
)  # fmt: skip
Place = tuple[int, int, int, int]
"""First line, column, last line, column of a piece of code."""


@dataclass(frozen=True, order=True)
class ReadLine:
    """A line of an algorithm's code that decides by values that are private or were seen, or may."""

    file: str
    """Name of the file."""
    line: int
    """The line, from 1; 0 where it is no single one."""
    code: str
    """What stands there, or what decides."""

    def __str__(self) -> str:
        if not self.line:
            return self.code
        return f"line {self.line} of {self.file} (`{self.code}`)"


def line_of(code: CodeType, line: int, how: str) -> ReadLine:
    """A line in the file of some code; `how` it decides where nobody has the text."""
    return ReadLine(Path(code.co_filename).name, line, linecache.getline(code.co_filename, line).strip() or how)


def of_algorithm(code: CodeType) -> bool:
    """Whether it is code of an algorithm: somebody's own, or of netsim's."""
    file = code.co_filename
    made = file == "<string>" and code.co_name == "__init__"  # by `dataclass`
    return not made and (is_own(file) or file.startswith(str(PACKAGE / "algorithms")))


def asking(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that is an algorithm's."""
    while frame is not None and not of_algorithm(frame.f_code):
        frame = frame.f_back
    return frame


# ── conditions that only end the run ────────────────────────────────────────────────────────────────────
def only_ends_the_run(frame: FrameType) -> bool:
    """Whether what a frame does now is to ask, in a condition that does no more than to end the run."""
    statement = _condition(frame.f_code, frame.f_lasti)
    if statement is None or not all(_only_asks(one, frame) for one in _asked(statement, frame)):
        return False
    raised = AssertionError if isinstance(statement, ast.Assert) else _raised(statement, frame)
    return raised is not None and not issubclass(raised, _CAUGHT) and not may_be_caught(frame)


@lru_cache(4096)
def _condition(code: CodeType, instruction: int) -> ast.Assert | ast.If | None:
    """The `assert`, or the `if` that only raises, whose question an instruction is part of."""
    place = _place(code, instruction)
    for node in _tree(code.co_filename).conditions:
        asks = node if isinstance(node, ast.Assert) else node.test
        if place is not None and (_within(place, asks) or place == _span(node)):  # the jump is the whole of an `if`
            return node
    return None


def _asked(statement: ast.Assert | ast.If, frame: FrameType) -> list[ast.AST]:
    """What a condition asks, and says where it ends the run; of netsim's own that is known to keep nothing."""
    if not is_own(frame.f_code.co_filename):
        return []
    if isinstance(statement, ast.Assert):
        return [statement.test, *([] if statement.msg is None else [statement.msg])]
    said: list[ast.AST] = []
    for one in statement.body:
        match one:
            case ast.Raise(exc=ast.Call(args=args, keywords=keywords)):  # the class is looked at apart
                said += [*args, *keywords]
            case ast.Expr(value=ast.Call(func=function, args=args, keywords=keywords)) if (
                _known(function, frame) is print
            ):
                said += [*args, *keywords]
            case ast.Expr(value=value):
                said.append(value)
            case ast.Assign(value=value):
                said.append(value)
            case _:
                pass
    return [statement.test, *said]


def _only_raises(node: ast.If) -> bool:
    """Whether an `if` does nothing but to raise an error, and to print or make what that says."""

    def says(one: ast.stmt) -> bool:
        match one:
            case ast.Assign(targets=[ast.Name()]) | ast.Expr(value=ast.Constant()):
                return True
            case ast.Expr(value=ast.Call(func=ast.Name("print"))):
                return True
            case _:
                return False

    *before, last = node.body
    return not node.orelse and isinstance(last, ast.Raise) and last.exc is not None and all(map(says, before))


def _raised(node: ast.If, frame: FrameType) -> type[BaseException] | None:
    """The class of what an `if` raises, if it is known and makes nothing of its own of its arguments."""
    raises = node.body[-1]
    assert isinstance(raises, ast.Raise)
    named = raises.exc.func if isinstance(raises.exc, ast.Call) else raises.exc
    found = _known(named, frame)
    if not isinstance(found, type) or not issubclass(found, BaseException):
        return None
    makers = (getattr(getattr(found, name), "__code__", None) for name in ("__init__", "__new__"))
    return found if not any(code is not None and is_own(code.co_filename) for code in makers) else None


def _only_asks(part: ast.AST, frame: FrameType) -> bool:
    """Whether code keeps nothing of what it asks: no name is bound, no table looked up, and only functions of
    Python's and NumPy's are called, that do the same."""
    for node in ast.walk(part):
        if isinstance(node, _BINDS):
            return False
        if isinstance(node, ast.Subscript) and not all(isinstance(one, _KEYS) for one in ast.walk(node.slice)):
            return False
        if isinstance(node, ast.Call) and not (_is_question(_known(node.func, frame)) or _reduces(node.func, frame)):
            return False
    return True


def _reduces(function: ast.expr, frame: FrameType) -> bool:
    """Whether it is a method of an array that gives one number: of a name, or of what a function of NumPy gave."""
    if not isinstance(function, ast.Attribute) or function.attr not in _REDUCE:
        return False
    if isinstance(function.value, ast.Call):
        return _is_question(_known(function.value.func, frame))
    return isinstance(_known(function.value, frame), np.ndarray)


def _is_question(function: Any) -> bool:
    """Whether a function keeps nothing, but for an array that it writes into, which is noted apart."""
    if not callable(function):
        return False
    plain = inspect.unwrap(function, stop=lambda one: hasattr(one, "_implementation"))
    if any(plain is one for one in _ASK) or isinstance(plain, np.ufunc):
        return True
    if isinstance(plain, type):
        return issubclass(plain, np.generic)
    module = getattr(plain, "__module__", None)
    if hasattr(plain, "_implementation"):
        return module in ("numpy", "numpy.linalg")
    return module == math.__name__


_NOWHERE = object()


def _known(name: ast.expr | None, frame: FrameType) -> Any:
    """What a name, or an attribute of a module, is in a frame."""
    if isinstance(name, ast.Attribute):
        of = _known(name.value, frame)
        return getattr(of, name.attr, _NOWHERE) if inspect.ismodule(of) else _NOWHERE
    if not isinstance(name, ast.Name):
        return _NOWHERE
    for names in (frame.f_locals, frame.f_globals, vars(builtins)):
        if name.id in names:
            return names[name.id]
    return _NOWHERE


# ── what may be caught ──────────────────────────────────────────────────────────────────────────────────
_HAND_ON = (np.errstate, np.printoptions, contextlib.nullcontext, warnings.catch_warnings)
"""Context managers that hand every error on."""


def may_be_caught(frame: FrameType | None) -> bool:
    """Whether an error that is raised here may be caught before it reaches the port, by Python or by code."""
    while frame is not None and frame.f_code is not _PORT:
        code = frame.f_code
        name = code.co_name
        if is_own(code.co_filename) and name.startswith("__") and name.endswith("__") and name not in _OPEN:
            return True
        guards = _guards(code, frame.f_lasti)
        if guards is None or any(not _hands_on(one, frame) for one in guards):
            return True
        frame = frame.f_back
    return frame is None


@lru_cache(4096)
def _guards(code: CodeType, instruction: int) -> tuple[ast.stmt, ...] | None:
    """Statements that may catch an error of an instruction; None where the code is not known."""
    place, tree = _place(code, instruction), _tree(code.co_filename)
    if place is None or not tree.known:
        return None
    return tuple(node for node, parts in tree.guards if any(_within(place, part) for part in parts))


def _hands_on(node: ast.stmt, frame: FrameType) -> bool:
    """Whether a `with` hands on every error."""
    if not isinstance(node, ast.With):
        return False
    for item in node.items:
        made = item.context_expr
        maker = _known(made.func, frame) if isinstance(made, ast.Call) else None
        if maker not in _HAND_ON and not _only_yields(maker):
            return False
    return True


def _only_yields(maker: Any) -> bool:
    """Whether it is made by `contextlib.contextmanager` of a generator that catches nothing."""
    if getattr(maker, "__code__", None) is not _MANAGER or not inspect.isgeneratorfunction(maker.__wrapped__):
        return False
    code: CodeType = maker.__wrapped__.__code__
    tree = _tree(code.co_filename)
    last = max(line for *_, line in code.co_lines() if line is not None)
    lines = range(code.co_firstlineno, last + 1)
    return tree.known and not any(node.lineno in lines for node, _ in tree.guards)


@contextlib.contextmanager
def _example() -> Generator[None]:
    yield


_MANAGER = _example.__code__


# ── source ──────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class _Source:
    """Of a file, if it is `known`: `conditions` that only end a run; and `guards`, statements that may catch an
    error, with the parts of them whose errors those are."""

    known: bool
    conditions: tuple[ast.Assert | ast.If, ...]
    guards: tuple[tuple[ast.stmt, tuple[ast.stmt, ...]], ...]


@cache
def _tree(file: str) -> _Source:
    text = "".join(linecache.getlines(file))
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        nodes, text = [], ""
    guards = list[tuple[ast.stmt, tuple[ast.stmt, ...]]]()
    for node in nodes:
        if isinstance(node, ast.With | ast.AsyncWith):
            guards.append((node, tuple(node.body)))
        elif isinstance(node, ast.Try | ast.TryStar):
            if any(isinstance(one, _LEAVES) for last in node.finalbody for one in ast.walk(last)):
                handled = [one for each in node.handlers for one in each.body]
                guards.append((node, (*node.body, *handled, *node.orelse)))
            elif node.handlers:
                guards.append((node, tuple(node.body)))
    conditions = (
        node for node in nodes if isinstance(node, ast.Assert) or (isinstance(node, ast.If) and _only_raises(node))
    )
    return _Source(bool(text), tuple(conditions), tuple(guards))


def _place(code: CodeType, instruction: int) -> Place | None:
    if instruction < 0:
        return None
    first, last, column, end = next(islice(code.co_positions(), instruction // 2, None))
    if first is None or last is None or column is None or end is None:
        return None
    return first, column, last, end


def _span(node: ast.stmt | ast.expr) -> Place:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _within(place: Place, node: ast.stmt | ast.expr) -> bool:
    span = _span(node)
    return span[:2] <= place[:2] and place[2:] <= span[2:]
