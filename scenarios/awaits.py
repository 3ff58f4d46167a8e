"""The hint at an `await` that somebody forgot in an algorithm of their own."""

import ast
import inspect
import linecache
import traceback
from collections.abc import Iterator
from pathlib import Path

from netsim.node import Node
from scenarios import owncode

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
OFFERED = frozenset(name for name, value in vars(Node).items() if inspect.iscoroutinefunction(value))
"""What a node offers that has to be awaited."""


def hint(error: BaseException) -> str:
    """Where an `await` is probably missing, where an error is about a coroutine and came through a file of the user's
    that was loaded here; "" for any other error."""
    if not isinstance(error, TypeError | AttributeError) or "coroutine" not in str(error):
        return ""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if owncode.is_loaded(Path(frame.filename))]
    if not own:
        return ""
    file, line = own[-1].filename, own[-1].lineno or 1
    call = _call("".join(linecache.getlines(file)), line)
    at, what = (line, "what is used there") if call is None else (call.lineno, f"{ast.unparse(call.func)}(...)")
    return f"{Path(file).name}:{at}: is an `await` missing? {what} is a coroutine"


def _call(text: str, line: int) -> ast.Call | None:
    """The call without `await` that a line suffers from: on it, or else the last above it in the same function, first
    of all one whose result has a name that the line uses."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    around = [one for one in ast.walk(tree) if isinstance(one, FUNCTIONS) and _spans(one, line)]
    if not around:
        return None
    inner = max(around, key=lambda one: one.lineno)
    coroutines = OFFERED | {one.name for one in ast.walk(tree) if isinstance(one, ast.AsyncFunctionDef)}
    calls = sorted(_not_awaited(inner, coroutines), key=lambda one: (one.lineno, one.col_offset))
    statements = [one for one in ast.walk(inner) if isinstance(one, ast.stmt) and one is not inner]
    there = [one for one in statements if _spans(one, line)]
    if there:
        smallest = min(there, key=lambda one: (one.end_lineno or one.lineno) - one.lineno)
        if on_it := [one for one in calls if _spans(smallest, one.lineno)]:
            return next((one for one in on_it if _spans(one, line)), on_it[0])
        used = {one.id for one in ast.walk(smallest) if isinstance(one, ast.Name)}
        named = [call for name, call in _assigned(inner, calls) if name in used and call.lineno < line]
        if named:
            return max(named, key=lambda one: one.lineno)
    return next((one for one in reversed(calls) if one.lineno < line), None)


def _spans(node: ast.stmt | ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _not_awaited(function: ast.AST, coroutines: frozenset[str]) -> Iterator[ast.Call]:
    awaited = {id(one.value) for one in ast.walk(function) if isinstance(one, ast.Await)}
    for one in ast.walk(function):
        if isinstance(one, ast.Call) and id(one) not in awaited:
            name = one.func.attr if isinstance(one.func, ast.Attribute) else getattr(one.func, "id", "")
            if name in coroutines:
                yield one


def _assigned(function: ast.AST, calls: list[ast.Call]) -> Iterator[tuple[str, ast.Call]]:
    """The names that such calls are given."""
    for one in ast.walk(function):
        if isinstance(one, ast.Assign):
            for call in (call for call in calls if call is one.value):
                yield from ((inner.id, call) for to in one.targets for inner in ast.walk(to)
                            if isinstance(inner, ast.Name))  # fmt: skip
