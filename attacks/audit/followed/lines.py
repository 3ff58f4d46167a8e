"""Lines of an algorithm's code, and conditions that only end its run.

A run that ends shows nothing: an `assert`, or an `if` that does nothing but `raise`, asks about private values for
nobody. It has to be no more than a question, of an error that nothing on the way up catches.
"""

import ast
import contextlib
import dis
import inspect
import linecache
import sys
import warnings
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from io import BufferedWriter, FileIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, WrapperDescriptorType
from typing import Any, cast
from weakref import ReferenceType

import numpy as np

from attacks.audit.followed import questions
from attacks.replay.recorded import RecordedNode
from netsim.files import text_of
from netsim.own import PACKAGE, is_own

_PORT = RecordedNode.run_to_the_end.__code__
_CAUGHT = (
    StopIteration, StopAsyncIteration, GeneratorExit, AttributeError, LookupError, TypeError, NotImplementedError,
)  # fmt: skip
"""Errors that Python itself catches: of iterators, `hasattr`, sequences without an `__iter__`, operators."""
_OPEN = frozenset(["__init__", "__new__", "__post_init__", "__call__"])
"""Methods with names of Python's whose errors it hands on."""
_GOES_ON = (
    ast.Return | ast.Break | ast.Continue | ast.Await | ast.Yield | ast.YieldFrom | ast.Call | ast.Raise | ast.For
    | ast.While | ast.AsyncFor | ast.AsyncWith | ast.With
)  # fmt: skip
"""What a `finally` may do in place of handing an error on, or before."""
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
    how: str = field(default="", compare=False)
    """How it reads, where that is known."""

    def __str__(self) -> str:
        if not self.line:
            return self.code
        return f"line {self.line} of {self.file} (`{self.code}`)"


def line_of(code: CodeType, line: int, how: str) -> ReadLine:
    """A line in the file of some code; `how` it decides where nobody has the text."""
    return ReadLine(Path(code.co_filename).name, line, linecache.getline(code.co_filename, line).strip() or how, how)


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


def places_of(frame: FrameType | None) -> Iterator[int]:
    """Where the code of a frame is now, and that of its callers, as far as they are an algorithm's."""
    while (frame := asking(frame)) is not None:
        yield frame.f_lasti
        frame = frame.f_back


# ── conditions that only end the run ────────────────────────────────────────────────────────────────────
Condition = ast.Assert | ast.If | ast.Expr
"""An `assert`, an `if` that only raises, a call of one of NumPy's functions for tests, or a `print`."""
_PRINT = print


def only_ends_the_run(frame: FrameType) -> bool:
    """Whether what a frame does now is to ask, in a condition that does no more than to end the run, or to answer
    one; or to print, for whoever runs the agent."""
    if (caller := _answers_to(frame)) is not None:
        return only_ends_the_run(caller)
    condition, around = _condition(frame.f_code, frame.f_lasti), questions.function_of(frame)
    if condition is None or around is None:
        return False
    asked, made = _asked(condition, around), _made(condition)
    if is_own(frame.f_code.co_filename) and not questions.keep_nothing(asked, around, made):
        return False
    raised = _raised(condition, around)
    ends = raised is not None and issubclass(raised, Exception) and not issubclass(raised, _CAUGHT)
    return (ends or _prints(condition, around)) and not may_be_caught(frame)


def _prints(condition: Condition, frame: FrameType) -> bool:
    """Whether it is a `print` to a stream of the process, which keeps nothing that code could read."""
    match condition:
        case ast.Expr(value=ast.Call(func=function, keywords=named)):
            own = any(one.arg not in ("sep", "end", "flush") for one in named)
            return questions.found(function, frame) is _PRINT and not own and _is_of_the_process(sys.stdout)
        case _:
            return False


def _is_of_the_process(stream: object) -> bool:
    """Whether a stream writes to a file of the process, and no method of it is somebody's own."""
    if not isinstance(stream, TextIOWrapper):
        return False
    known = cast("TextIOWrapper[Any]", stream)
    own = "write" in vars(known) or type(known).write is not TextIOWrapper.write
    return not own and type(known.buffer) in (BufferedWriter, FileIO)


def _answers_to(frame: FrameType) -> FrameType | None:
    """The frame that calls this one, where it only answers a question (`questions.answers`)."""
    caller = frame.f_back
    call = None if caller is None else _call(caller.f_code, caller.f_lasti)
    if caller is None or call is None:
        return None
    called = questions.found(call.func, caller)
    return caller if questions.answers(called) and called.__code__ is frame.f_code else None


@lru_cache(4096)
def _condition(code: CodeType, instruction: int) -> Condition | None:
    """The condition whose question an instruction is part of."""
    place = _place(code, instruction)
    for node in _tree(code.co_filename).conditions:
        asks = node.test if isinstance(node, ast.Assert | ast.If) else node.value
        if place is not None and (_within(place, asks) or place == _span(node)):  # the jump is the whole of an `if`
            return node
    return None


def _asked(condition: Condition, frame: FrameType) -> list[ast.AST]:
    """What a condition asks, and says where it ends the run."""
    match condition:
        case ast.Assert(test=test, msg=message):
            return [test, *([] if message is None else [message])]
        case ast.Expr(value=ast.Call(args=args, keywords=keywords)):
            return [*args, *keywords]
        case _:
            pass
    assert isinstance(condition, ast.If)
    said: list[ast.AST] = [condition.test]
    for one in condition.body:
        match one:
            case ast.Raise(exc=ast.Call(args=args, keywords=keywords), cause=cause):  # the class is looked at apart
                said += [*args, *keywords, *([] if cause is None else [cause])]
            case ast.Raise(cause=ast.expr() as cause):
                said.append(cause)
            case ast.Expr(value=ast.Call(func=function, args=args, keywords=keywords)) if (
                questions.found(function, frame) is _PRINT
            ):
                said += [*args, *keywords]
            case ast.Expr(value=value) | ast.Assign(value=value):
                said.append(value)
            case _:
                pass
    return said


def _made(condition: Condition) -> set[str]:
    """Names that an `if` sets, for the error that it raises."""
    body = condition.body if isinstance(condition, ast.If) else []
    return {
        one.id for each in body if isinstance(each, ast.Assign) for one in each.targets if isinstance(one, ast.Name)
    }


def _is_condition(node: ast.AST) -> bool:
    match node:
        case ast.Assert():
            return True
        case ast.If():
            return _only_raises(node)
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return name.startswith("assert_") or name == "print"
        case _:
            return False


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


def _raised(condition: Condition, frame: FrameType) -> type[BaseException] | None:
    """The class of what a condition raises, if it is known and makes nothing of its own of its arguments."""
    if isinstance(condition, ast.Assert):
        return AssertionError
    if isinstance(condition, ast.Expr):
        called = questions.found(condition.value.func, frame) if isinstance(condition.value, ast.Call) else None
        return AssertionError if any(called is one for one in questions.TESTS) else None
    raises = condition.body[-1]
    assert isinstance(raises, ast.Raise)
    name = raises.exc.func if isinstance(raises.exc, ast.Call) else raises.exc
    named = None if name is None or _made(condition) & set(_words(name)) else questions.found(name, frame)
    if type(named) is not type or not issubclass(named, BaseException):
        return None
    makers = [inspect.getattr_static(named, name) for name in ("__init__", "__new__")]
    return named if all(isinstance(one, _OF_PYTHON) or not _is_own(one) for one in makers) else None


_OF_PYTHON = WrapperDescriptorType | BuiltinFunctionType


def _is_own(maker: Any) -> bool:
    code = _code_of(maker)
    return code is None or is_own(code.co_filename)


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
        if guards is None or any(not _hands_on(one, frame) for one in guards) or not _is_called(frame):
            return True
        frame = frame.f_back
    return frame is None


_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _is_called(frame: FrameType) -> bool:
    """Whether code runs since its caller calls it there by name, or goes on with it: not as a callback of something
    that goes, whose errors Python drops."""
    code, caller = frame.f_code, frame.f_back
    if caller is None or caller.f_code is _PORT:
        return True
    call, resumed = _call(caller.f_code, caller.f_lasti), bool(code.co_flags & _RESUMED)
    if resumed and (_goes_on(caller.f_code, caller.f_lasti) or not _is_last(code, frame.f_lasti)):
        return True
    if code.co_name in questions.COMPREHENSIONS and not resumed:
        return code in caller.f_code.co_consts
    if call is None or resumed:
        return False
    if not of_algorithm(code):
        return True
    if any(isinstance(one, ReferenceType) for one in _arguments(frame)):  # of an argument that goes as the call ends
        return False
    return any(_code_of(one, code.co_name) is code for one in _called(call.func, caller))


def _arguments(frame: FrameType) -> Iterator[object]:
    """What a function was called with."""
    names, _, rest, values = inspect.getargvalues(frame)
    yield from (values.get(name) for name in names)
    yield from values.get(rest, ()) if rest is not None else ()


def _called(function: ast.expr, caller: FrameType) -> Iterator[Any]:
    """What a call may call, as far as that is known: of an object that is made there, a method of its class."""
    yield questions.found(function, caller)
    of, name = (function.value, function.attr) if isinstance(function, ast.Attribute) else (function, "__call__")
    if isinstance(of, ast.Call):
        made = questions.found(of.func, caller)
        above = type(caller.f_locals.get("self")).__mro__ if made is super else [made]
        yield from (inspect.getattr_static(one, name, None) for one in above if isinstance(one, type))


def _code_of(called: Any, name: str = "") -> CodeType | None:
    """The code of a function, or of the method by which an object is called, or made: the one of that name."""
    while isinstance(called, staticmethod | classmethod | MethodType) or type(called) is partial:
        called = cast(Any, called).func if isinstance(called, partial) else cast(Any, called).__func__
    if isinstance(called, FunctionType):
        return called.__code__
    if name not in _OPEN or called is questions.NOWHERE:
        return None
    return _code_of(inspect.getattr_static(called if isinstance(called, type) else type(called), name, None))


@lru_cache(4096)
def _call(code: CodeType, instruction: int) -> ast.Call | None:
    """The call that an instruction is."""
    place = _place(code, instruction)
    return None if place is None else _tree(code.co_filename).calls.get(place)


@lru_cache(4096)
def _goes_on(code: CodeType, instruction: int) -> bool:
    """Whether an instruction goes on with a generator or a coroutine."""
    return dis.opname[code.co_code[instruction]] in ("SEND", "FOR_ITER")


@lru_cache(4096)
def _is_last(code: CodeType, instruction: int) -> bool:
    """Whether an instruction may run when a generator is closed."""
    place = _place(code, instruction)
    return place is None or any(_within(place, one) for one in _tree(code.co_filename).last)


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
        maker = questions.found(made.func, frame) if isinstance(made, ast.Call) else None
        known = any(maker is one for one in _HAND_ON) or _only_yields(maker)
        if not known or not isinstance(made, ast.Call) or not _bound_once(made.func, frame.f_code.co_filename):
            return False
    return True


def _bound_once(name: ast.AST, file: str) -> bool:
    """Whether a name means one thing in all of a file, so that it is now what it was where a block began."""
    bound = _tree(file).bound
    return all(len(bound.get(one, ())) <= 1 for one in _words(name))


def _words(name: ast.AST) -> list[str]:
    """The words in `module.name`."""
    return [getattr(one, "id", None) or getattr(one, "attr", "") for one in ast.walk(name)]


def _only_yields(maker: Any) -> bool:
    """Whether it is made by `contextlib.contextmanager` of a generator that catches nothing."""
    if type(maker) is not FunctionType or maker.__code__ is not _MANAGER:
        return False
    made = inspect.getclosurevars(maker).nonlocals["func"]
    if type(made) is not FunctionType or not inspect.isgeneratorfunction(made):
        return False
    code = made.__code__
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
    """Of a file, if it is `known`: `conditions` that only end a run; `guards`, statements that may catch an error,
    with the parts of them whose errors those are; what runs `last`, after an error; the `calls`, by their place; and
    what each name is `bound` to."""

    known: bool
    conditions: tuple[Condition, ...]
    guards: tuple[tuple[ast.stmt, tuple[ast.stmt, ...]], ...]
    last: tuple[ast.stmt, ...]
    calls: Mapping[Place, ast.Call]
    bound: Mapping[str, set[object]]


def _tree(file: str) -> _Source:
    return _read(text_of(file))


@cache
def _read(text: str) -> _Source:
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        nodes, text = [], ""
    guards, last = list[tuple[ast.stmt, tuple[ast.stmt, ...]]](), list[ast.stmt]()
    for node in nodes:
        if isinstance(node, ast.With | ast.AsyncWith):
            guards.append((node, tuple(node.body)))
        elif isinstance(node, ast.Try | ast.TryStar):
            handled = [one for each in node.handlers for one in each.body]
            last += [*handled, *node.finalbody]
            if any(isinstance(one, _GOES_ON) for each in node.finalbody for one in ast.walk(each)):
                guards.append((node, (*node.body, *handled, *node.orelse)))
            elif node.handlers:
                guards.append((node, tuple(node.body)))
    conditions = tuple(cast("Condition", node) for node in nodes if _is_condition(node))
    calls = {place: node for node in nodes if isinstance(node, ast.Call) for place in _places(node)}
    return _Source(bool(text), conditions, tuple(guards), tuple(last), calls, _bound(nodes))


def _places(call: ast.Call) -> Iterator[Place]:
    """Places of a call's instruction: that of a method may begin at its name."""
    line, column, *end = _span(call)
    yield line, column, end[0], end[1]
    if isinstance(call.func, ast.Attribute):
        line, column = call.func.end_lineno or 0, (call.func.end_col_offset or 0) - len(call.func.attr)
        yield line, column, end[0], end[1]


def _bound(nodes: Iterable[ast.AST]) -> Mapping[str, set[object]]:
    """What each name, or attribute, is set to: a module's name where it is imported, or the code that does so."""
    bound = defaultdict[str, set[object]](set)
    for node in nodes:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for one in names:
                    of = getattr(node, "module", "")
                    bound[one.asname or one.name.partition(".")[0]].add((of, one.name if one.asname or of else ""))
            case (
                ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.Attribute(attr=name, ctx=ast.Store() | ast.Del())
            ):
                bound[name].add(node)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound[name].add(node)
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound[name].add(node)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                bound[name].add(node)
            case _:
                pass
    return bound


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
