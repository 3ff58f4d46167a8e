"""Errors in code of somebody's own: their line, a forgotten `await`, a port used wrongly, a `claim` that fails.

Code is somebody's own where its file is neither netsim's, nor Python's, nor an installed package's: that of a file, a
script, a cell of a notebook.
"""

import ast
import builtins
import dis
import inspect
import linecache
import re
import reprlib
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, Field, FrozenInstanceError, fields, is_dataclass, replace
from functools import cache
from numbers import Real
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, get_type_hints

import numpy as np

from netsim.algorithms.algorithm import Algorithm
from netsim.arguments import check_types, expect
from netsim.claims import Claim
from netsim.errors import NetsimError, ProtocolError, ScenarioError, SimulationError, did_you_mean, near, what
from netsim.files import text_of
from netsim.node import Exchange, Node

PACKAGE = Path(__file__).parent
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
OFFERED = frozenset(name for name, value in vars(Node).items() if inspect.iscoroutinefunction(value))
"""What a node offers that has to be awaited."""
_PORT = sorted(name for name in vars(Node) if not name.startswith("_"))
RUN = "async def run(self, node)"
CLAIM = "def claim(self, adjacency, setting, delta): return Claim(epsilon, delta, 'Theorem 1', adjacency, 'l1')"
"""The form of what a class may define."""
_RAISE = "raise netsim.errors.ScenarioError('step', self.step, 'too large', '< 1')"
"""How `check` says that a parameter is wrong."""
A_CLAIM = "a netsim.claims.Claim (its ε, δ, source, adjacency, norm), or None"
"""What `claim` returns."""
_OF_DATACLASSES = {("<string>", name) for name in ("__init__", "__setattr__", "__delattr__")}
"""Files and names of the methods that dataclasses write."""
Step = tuple[FrameType, int]


# ── where it comes from ─────────────────────────────────────────────────────────────────────────────────


@cache
def is_own(file: str) -> bool:
    """Whether a file of code is somebody's own."""
    if file.startswith("<"):
        return not file.startswith(("<frozen", "<__array_function__"))
    path = Path(file).absolute()
    libraries = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    ours = {PACKAGE, *(PACKAGE.parent / name for name in ("attacks", "scenarios"))}
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    return not installed and not any(path.is_relative_to(one) for one in (*ours, *libraries))


def _steps(error: BaseException) -> list[Step]:
    """Frames that an error came through, and their lines, the outermost first; what dataclasses write is left out."""
    found = list(traceback.walk_tb(error.__traceback__))
    return [(f, line) for f, line in found if (f.f_code.co_filename, f.f_code.co_name) not in _OF_DATACLASSES]


def _last_own(error: BaseException) -> Step | None:
    """The last frame of somebody's own that an error came through, and its line."""
    return next((one for one in reversed(_steps(error)) if is_own(one[0].f_code.co_filename)), None)


def _place(step: Step) -> str:
    return f"{Path(step[0].f_code.co_filename).name}:{step[1]}"


# ── a claim ─────────────────────────────────────────────────────────────────────────────────────────────


def stated(algorithm: object, name: str, *facts: object) -> Any:
    """What a method of an algorithm returns that only computes, such as `claim`.

    An error of somebody's own code in it is a `ScenarioError` with its file and line, which says the class, the
    method and what went wrong; so are `async def` and a change of a parameter. Another error of netsim's is as it is:
    a refusal with a reason.
    """
    label, before = type(algorithm).__name__, _parameters(algorithm)
    try:
        found = getattr(algorithm, name)(*facts)
    except (Exception, SystemExit) as error:
        own = _last_own(error)
        if isinstance(error, ScenarioError):
            if own is None or error.file is not None:
                raise
            file, line = Path(own[0].f_code.co_filename).name, own[1]
            why = error.problem + _as_set(algorithm, error.field in ("epsilon", "delta"))
            raise replace(error, field=f"{name}.{error.field}", problem=why, file=file, line=line) from None
        if isinstance(error, NetsimError):
            raise
        code = _code_of(algorithm, name)
        if own is None and (code is None or not is_own(code.co_filename)):
            raise
        place = _defined(algorithm, name) if own is None else (Path(own[0].f_code.co_filename).name, own[1])
        of_numbers = isinstance(error, ArithmeticError | ValueError)
        why = f"{type(error).__name__}: {error}{_as_set(algorithm, of_numbers)}"
        if of_numbers and name.startswith("claim") and facts and facts[-1] == 0:
            why += " with delta = 0: return None there, or hand it a delta > 0"
        raise ScenarioError(f"{name}()", label, why, _remedy(error, name, in_it=own is not None), *place) from error
    if inspect.iscoroutine(found):
        found.close()
        why = "is a coroutine: `def`, and not `async def`"
        raise ScenarioError(f"{name}()", label, why, _form_of(name), *_defined(algorithm, name))
    for field, value in _parameters(algorithm).items():
        if value is not before[field]:
            why = f"changes the parameter {field} from {reprlib.repr(before[field])} to {reprlib.repr(value)}"
            raise ScenarioError(f"{name}()", label, f"{why}: it is public and fixed", "", *_defined(algorithm, name))
    return found


def checked(algorithm: object, *facts: object) -> None:
    """Call its `check`, which raises for what is wrong. You get a `ScenarioError` where it returns that instead."""
    if (found := stated(algorithm, "check", *facts)) is not None:
        why = "what it returns says nothing: it raises where a parameter is wrong"
        raise ScenarioError("check()", found, why, _RAISE, *_defined(algorithm, "check"))


def _remedy(error: BaseException, name: str, *, in_it: bool) -> str:
    """What to write in place of what failed. Code that was called as it has to be, and whose numbers are wrong, is no
    matter of its form."""
    if isinstance(error, FrozenInstanceError):
        return "a variable of its own: parameters are fixed"
    if in_it and not isinstance(error, TypeError) and name == "check":
        return _RAISE
    of_numbers = isinstance(error, ArithmeticError | ValueError)
    return A_CLAIM if of_numbers and name.startswith("claim") else _form_of(name)


def _parameters(algorithm: object) -> dict[str, object]:
    known: tuple[Field[Any], ...] = fields(algorithm) if is_dataclass(algorithm) else ()
    return {one.name: getattr(algorithm, one.name, MISSING) for one in known}


def claimed(algorithm: object, name: str, *facts: object) -> Claim | None:
    """What its `claim`, or `claim_from`, returns. You get a `ScenarioError` where that is no `Claim`."""
    found = stated(algorithm, name, *facts)
    if found is None or isinstance(found, Claim):
        return found
    why = f"{type(algorithm).__name__}.{name} returned no Claim"
    raise ScenarioError(name, found, why, A_CLAIM, *_defined(algorithm, name))


def _as_set(algorithm: object, from_numbers: bool) -> str:
    """The parameters of an algorithm that are not as its class has them, where a wrong number may come of them."""
    known: tuple[Field[Any], ...] = fields(algorithm) if from_numbers and is_dataclass(algorithm) else ()
    values = {one.name: (getattr(algorithm, one.name, MISSING), one.default) for one in known}
    plain = {name: v for name, (v, default) in values.items() if isinstance(v, Real) and v != default}
    return f" (with {', '.join(f'{name} = {value!r}' for name, value in plain.items())})" if plain else ""


def _form_of(name: str) -> str:
    names = ", ".join(inspect.signature(getattr(Algorithm, name)).parameters)
    return CLAIM if name == "claim" else f"def {name}({names})"


def _code_of(of: object, name: str) -> CodeType | None:
    """The code of a method of an object, or of a property."""
    found: Any = getattr(type(of), name, None)
    found = getattr(found, "fget", getattr(found, "__func__", found))
    return getattr(inspect.unwrap(found) if callable(found) else found, "__code__", None)


def _defined(of: object, name: str) -> tuple[str | None, int | None]:
    """The file and the line where it is defined."""
    code = _code_of(of, name)
    return (None, None) if code is None else (Path(code.co_filename).name, code.co_firstlineno)


def run_place(algorithm: Algorithm) -> str:
    """Where what an agent does is written: the class and, of somebody's own, FILE:LINE."""
    code, name = _code_of(algorithm, "run"), f"{type(algorithm).__name__}.run"
    if code is None or not is_own(code.co_filename):
        return name
    return f"{name}, {Path(code.co_filename).name}:{code.co_firstlineno}"


def receives_at(algorithm: Algorithm) -> str:
    """Where the class, or a function of its file, waits for a single message with `node.receive`: the class and, of
    somebody's own, FILE:LINE; "" where nothing does."""
    kind = type(algorithm)
    run = inspect.unwrap(kind.run)
    methods = [value for one in kind.__mro__ if one is not Algorithm for value in vars(one).values()]
    beside = [value for value in run.__globals__.values() if inspect.isfunction(value)]
    codes = [getattr(inspect.unwrap(one) if callable(one) else one, "__code__", None) for one in (*methods, *beside)]
    for code in codes:
        if not isinstance(code, CodeType) or code.co_filename != run.__code__.co_filename:
            continue
        codes.extend(code.co_consts)  # functions within
        for one in dis.get_instructions(code):
            if one.argval == "receive" and one.opname in ("LOAD_ATTR", "LOAD_METHOD") and one.positions is not None:
                place = f", {Path(code.co_filename).name}:{one.positions.lineno}"
                return kind.__name__ + place * is_own(code.co_filename)
    return ""


def check_own(algorithm: Algorithm) -> None:
    """Raise a `ScenarioError` for an algorithm that cannot be run: parameters of other types than annotated, a `run`
    that does not take a node, a message that is made and never sent, for want of an `await`, and what is private to
    a node."""
    check_types(algorithm, arrays=True)
    if why := _unfit(type(algorithm)):
        raise ScenarioError("run", type(algorithm).__name__, why, RUN, *_defined(algorithm, "run"))
    for name, file, line, call in _thrown_away(type(algorithm)):
        why, allowed = f"is an `await` missing? {call}(...) is a coroutine, and nothing happens", f"await {call}(...)"
        if call.rpartition(".")[2].startswith("_"):
            why, allowed = f"{call} is no part of a node, but of how one is made", f"of a node: {', '.join(_PORT)}"
        raise ScenarioError(name, type(algorithm).__name__, why, allowed, Path(file).name, line)


@cache
def _unfit(kind: type[Any]) -> str:
    """Why `run` of an object of this class cannot be called with a node; "" where it can."""
    made: Any = object.__new__(kind)
    try:
        inspect.signature(made.run).bind(None)
    except TypeError as error:
        return f"{error}: it is called with a node"
    return ""


def not_a_coroutine(algorithm: object, found: object) -> ScenarioError:
    """The error for a `run` that returned something else."""
    yields = inspect.isasyncgen(found) or inspect.isgenerator(found)
    why = "it has a `yield`, and is a generator" if yields else f"it returned {found!r}, and is no coroutine"
    return ScenarioError("algorithm.run", type(algorithm).__name__, why, RUN, *_defined(algorithm, "run"))


def syntax(error: SyntaxError | ValueError, text: bytes) -> tuple[str, str]:
    """What is wrong with a text that is no Python, without its place, and what is allowed; "" where nobody knows."""
    if not isinstance(error, SyntaxError):
        return str(error), ""
    line, outside = error.lineno or 1, "outside async function" in error.msg
    inside = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.FunctionDef)] if outside else []
    around = [one for one in inside if one.lineno <= line <= (one.end_lineno or one.lineno)]
    if not around:
        return error.msg, ""
    last = max(around, key=lambda one: one.lineno)
    return error.msg, f"async def {last.name}({ast.unparse(last.args)})"


def field_line(text: bytes, name: str, of_class: int) -> int:
    """The line of a field of the class that begins at a line, or above which a decorator does; that line where the
    class has no such field."""
    for one in ast.walk(ast.parse(text)):
        if isinstance(one, ast.ClassDef) and of_class in (one.lineno, *(d.lineno for d in one.decorator_list)):
            for line in one.body:
                if isinstance(line, ast.AnnAssign) and getattr(line.target, "id", "") == name:
                    return line.lineno
    return of_class


# ── a run ───────────────────────────────────────────────────────────────────────────────────────────────


def explained(error: BaseException, port: type) -> BaseException:
    """An error of an agent's code in a run, with what explains it: its own line, and where an `await` is missing.

    An error that comes from within the `port`, or from how it was called, is a `ProtocolError` that says what it was
    called with; a `ScenarioError` that code of somebody's own brought about is a `SimulationError`, for time has
    started. Any other error of the code's own is the same, with its traceback.
    """
    steps = _steps(error)
    last = max((k for k, one in enumerate(steps) if is_own(one[0].f_code.co_filename)), default=None)
    if last is None or isinstance(error, SystemExit):
        return error
    own, call = steps[last], next((one for one in steps[last + 1 :] if _is_port(one[0], port)), None)
    hint = await_hint(error)
    if isinstance(error, Exception) and not isinstance(error, NetsimError) and (call or not hint):
        why = _misused(error, port, call)
        if why:
            found = ProtocolError(f"{_place(own)}: {why}")
            found.__notes__ = [*getattr(error, "__notes__", []), *([hint] if hint else [])]
            found.__cause__ = None if isinstance(error, AttributeError) else error  # Python suggests private names
            return found.with_traceback(error.__traceback__)
    if isinstance(error, NameError) and not hint and any(found := not_imported(error, own[0].f_globals)):
        hint = f"{_place(own)}: {''.join(found)}"
    if "'await' expression" in str(error):
        hint = f"{_place(own)}: an `await` too many? Only {', '.join(sorted(OFFERED))} are awaited"
    if isinstance(error, ValueError) and "read-only" in str(error):
        hint = f"{_place(own)}: what was sent, received or privatized stays as it is: x = x + 1 is a new array"
    if isinstance(error, FrozenInstanceError) and not call:
        hint = f"{_place(own)}: an algorithm is fixed, and is all agents'; what one agent keeps is a variable in run"
    if isinstance(error, ScenarioError):
        if error.file is None and not error.others and not hint:
            error.file, error.line = Path(own[0].f_code.co_filename).name, own[1]
        return _in_time(error, hint, of_port=call is not None)
    if isinstance(error, NetsimError) and _place(own) not in str(error) and not hint:
        source = linecache.getline(own[0].f_code.co_filename, own[1]).strip()
        error.add_note(f"In your code: {_place(own)}, in {own[0].f_code.co_name}: {source}")
    if hint:
        error.add_note(hint)
    return error


def not_imported(error: NameError, names: Mapping[str, object]) -> tuple[str, str]:
    """What brings a name that is not there, netsim's import; else a question, by one of these names that is near."""
    name = error.name or ""
    if name in vars(sys.modules[__name__.partition(".")[0]])["__all__"]:
        return f"from netsim import {name}", ""
    slip = did_you_mean(near(name, [*names, *dir(builtins)], 1)).removeprefix("; ")
    return "", slip or ("is an import missing?" if name else "")


def _in_time(error: ScenarioError, hint: str, *, of_port: bool) -> SimulationError:
    """A mistake of an agent's code as an error of the run."""
    found: SimulationError = (ProtocolError if of_port else SimulationError)(str(error))
    found.__notes__ = [*getattr(error, "__notes__", []), *([hint] if hint else [])]
    return found.with_traceback(error.__traceback__)


def own_line(frame: FrameType | None) -> str:
    """File and line of the innermost code of somebody's own that a frame was called from; "" where there is none."""
    while frame is not None and not is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return "" if frame is None else _place((frame, frame.f_lineno))


def waits_at(coroutine: object) -> str:
    """The innermost line of somebody's own at which a coroutine waits; "" where it has none."""
    found = ""
    while inspect.iscoroutine(coroutine) and (frame := coroutine.cr_frame) is not None:
        code = frame.f_code
        if is_own(code.co_filename):
            source = linecache.getline(code.co_filename, frame.f_lineno).strip()
            found = f"{_place((frame, frame.f_lineno))}, in {code.co_name}: {source}"
        coroutine = coroutine.cr_await
    return found


def _is_port(frame: FrameType, port: type) -> bool:
    return isinstance(frame.f_locals.get("self"), port) and not frame.f_code.co_name.startswith("_")


def _misused(error: Exception, port: type, call: Step | None) -> str:
    """How the port was used wrongly, where it was."""
    if isinstance(error, AttributeError) and isinstance(error.obj, (port, Exchange)) and error.name and call is None:
        is_node = isinstance(error.obj, port)
        has = _PORT if is_node else [name for name in vars(Exchange) if not name.startswith("_")]
        whose, wanted = "a node" if is_node else "what node.exchange gave", did_you_mean(near(error.name, has, 1))
        return f"{whose} has no {error.name!r}{wanted}; it has {', '.join(has)}"
    if isinstance(error, TypeError | AttributeError) and call is None and re.search("'?Message'? object", str(error)):
        named = "message.values['x'] is the array that was sent as x=..., message.sender the agent that sent it"
        return f"{error}. It is what node.receive() gave: {named}"
    if isinstance(error, TypeError) and call is None and str(error).startswith(f"{port.__name__}."):
        name = str(error).removeprefix(f"{port.__name__}.").partition("(")[0]
        how = "; values are sent by name, as in node.exchange(x=value)" if name in ("exchange", "send") else ""
        said = str(error).replace(f"{port.__name__}.", "node.")
        return f"{said}{how}; it is {_form(name)}"
    if call is None:
        return ""
    frame, name = call[0], call[0].f_code.co_name
    taken = [one for one in inspect.signature(getattr(port, name)).parameters.values() if one.name != "self"]
    given = [(one, frame.f_locals.get(one.name)) for one in taken]
    shown = ", ".join(f"{one.name} {_described(value)}" for one, value in given if value is not one.default)
    why = _unsuited(frame.f_locals["self"], name, given) or f"{type(error).__name__}: {error}"
    return f"node.{name} was given {shown}: {why}; it is {_form(name)}"


def _unsuited(node: Node, name: str, given: Sequence[tuple[inspect.Parameter, object]]) -> str:
    """Which argument of a node's method is not what the method takes; "" where all are."""
    hints = get_type_hints(getattr(Node, name))
    for one, value in given:
        if one.kind is one.VAR_KEYWORD or one.name not in hints or value is one.default:
            continue
        try:
            expect(value, one.name, hints[one.name])
        except ScenarioError as error:
            problem = "is None" if value is None else error.problem
            return f"{one.name} {problem}; allowed: {error.allowed}"
        shape = node.replicas, node.dimension
        if isinstance(value, np.ndarray) and value.shape != shape:  # pyright: ignore[reportUnknownMemberType]
            return f"expected is shape (replicas, dimension) = {shape}"
    return ""


def _form(name: str) -> str:
    """How a method of a node is declared."""
    method = getattr(Node, name, None)
    if method is None:
        return f"node.{name}"
    words = [str(one).partition(":")[0] for one in list(inspect.signature(method).parameters.values())[1:]]
    call = f"{'await ' if name in OFFERED else ''}node.{name}({', '.join(words)})"
    return f"{call}, arrays of float64 and shape (replicas, dimension)"


def _described(value: object) -> str:
    shape = getattr(value, "shape", None)
    if shape is not None and not isinstance(value, type):
        return f"of type {getattr(value, 'dtype', '')} and shape {shape}"
    return f"({what(value)})" if inspect.iscoroutine(value) else f"= {reprlib.repr(value)}"


# ── a forgotten `await` ─────────────────────────────────────────────────────────────────────────────────


@contextmanager
def kept_back(pattern: str) -> Generator[list[tuple[Any, ...]]]:
    """Warnings whose text has this pattern, each with where it is from, in place of showing them within the block."""
    kept: list[tuple[Any, ...]] = []
    show = warnings.showwarning

    def keep(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        warning = message, category, filename, lineno, file, line
        kept.append(warning) if re.search(pattern, str(message)) else show(*warning)

    warnings.showwarning = keep
    try:
        yield kept
    finally:
        warnings.showwarning = show


@contextmanager
def unawaited() -> Generator[Callable[[], None]]:
    """Hold back Python's warnings of coroutines that nobody awaited until the block ends. What it yields forgets
    them, for an error that says the same."""
    kept: list[tuple[Any, ...]] = []
    try:
        with kept_back("^coroutine '.*never awaited") as kept:
            yield kept.clear
    finally:
        for warning in kept:
            warnings.showwarning(*warning)


def close_coroutines(error: BaseException) -> None:
    """Close the coroutines that an error and its frames still hold, and that nobody awaits any more."""
    held = [value for frame, _ in traceback.walk_tb(error.__traceback__) for value in frame.f_locals.values()]
    for value in (*held, getattr(error, "obj", None)):
        if inspect.iscoroutine(value) and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
            value.close()


def await_hint(error: BaseException) -> str:
    """Where an `await` is probably missing, for an error about a coroutine that came through code of somebody's own;
    "" for any other error."""
    if not isinstance(error, TypeError | AttributeError | ProtocolError) or "coroutine" not in str(error):
        return ""
    own = _last_own(error)
    if own is None:
        return ""
    file, line = own[0].f_code.co_filename, own[1]
    call = _forgotten_call(text_of(file), line)
    at, called = (line, "what is used there") if call is None else (call.lineno, f"{ast.unparse(call.func)}(...)")
    return f"{Path(file).name}:{at}: is an `await` missing? {called} is a coroutine"


@cache
def _thrown_away(kind: type) -> list[tuple[str, str, int, str]]:
    """Calls of a node's coroutines in the methods of somebody's own class that are statements of their own, without
    `await`: method, file, line, and what is called. Python only warns of these, at a time of its own. And private
    names of a node."""
    methods = (getattr(value, "__code__", None) for one in kind.__mro__ for value in vars(one).values())
    codes = [one for one in methods if isinstance(one, CodeType) and is_own(one.co_filename)]
    return [
        (code.co_name, code.co_filename, *call)
        for code in codes
        for function in functions_of(code)
        for call in _bare_calls(function)
    ]


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_of(code: CodeType) -> list[_Function]:
    """The function that code is of, in its file as it is now; several where no line tells them apart."""
    return _functions_in(text_of(code.co_filename)).get((code.co_name, code.co_firstlineno), [])


@cache
def _functions_in(text: str) -> dict[tuple[str, int], list[_Function]]:
    """Functions of the text of a file by name and first line (that of a decorator, where there is one)."""
    found: dict[tuple[str, int], list[_Function]] = {}
    with suppress(SyntaxError):
        for one in ast.walk(ast.parse(text)):
            if isinstance(one, FUNCTIONS):
                first = min((by.lineno for by in one.decorator_list), default=one.lineno)
                found.setdefault((one.name, first), []).append(one)
    return found


def _bare_calls(function: _Function) -> Iterator[tuple[int, str]]:
    """Line and name of each such call, or private name, of an argument that is a node by its name or annotation."""
    given = [(one.arg, "" if one.annotation is None else ast.unparse(one.annotation)) for one in function.args.args]
    nodes = {name for name, kind in given if name == "node" or "Node" in kind}
    nodes |= {name for name, _ in given[1:2] if function.name == "run"}
    for one in ast.walk(function):
        call = one.value.func if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) else None
        if isinstance(call, ast.Attribute) and call.attr in OFFERED and ast.unparse(call.value) in nodes:
            yield call.lineno, ast.unparse(call)
        if isinstance(one, ast.Attribute) and one.attr.startswith("_") and ast.unparse(one.value) in nodes:
            yield one.lineno, ast.unparse(one)


def _forgotten_call(text: str, line: int) -> ast.Call | None:
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
    nodes = list(ast.walk(inner))
    awaited = {id(one.value) for one in nodes if isinstance(one, ast.Await)}
    calls = [
        one
        for one in nodes
        if isinstance(one, ast.Call)
        and id(one) not in awaited
        and getattr(one.func, "attr", getattr(one.func, "id", "")) in coroutines
    ]
    calls.sort(key=lambda one: (one.lineno, one.col_offset))
    there = [one for one in nodes if isinstance(one, ast.stmt) and one is not inner and _spans(one, line)]
    if there:
        smallest = min(there, key=lambda one: (one.end_lineno or one.lineno) - one.lineno)
        if on_it := [one for one in calls if _spans(smallest, one.lineno)]:
            return next((one for one in on_it if _spans(one, line)), on_it[0])
        used = {one.id for one in ast.walk(smallest) if isinstance(one, ast.Name)}
        named = [
            one.value
            for one in nodes
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and one.value in calls
            if one.value.lineno < line
            if any(isinstance(name, ast.Name) and name.id in used for to in one.targets for name in ast.walk(to))
        ]
        if named:
            return max(named, key=lambda one: one.lineno)
    return next((one for one in reversed(calls) if one.lineno < line), None)


def _spans(node: ast.stmt | ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)
