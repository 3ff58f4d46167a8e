"""An algorithm out of a text: read, built, and its mistakes told with the line.

The text is Python and is run as it is, with all the rights of who runs the lab: it is for code of one's own. Nobody
else can have it run, for the lab answers this machine only.
"""

import ast
import time
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import isabstract
from typing import Any, TypeVar, cast

from netsim.algorithms import Algorithm

FILENAME = "<your algorithm>"
MODULE = "your_algorithm"
SECONDS = 60.0
"""So long a loop of the text may go on, in all, before it is stopped."""
_TICK = "_netsim_lab_tick"
_DONE = {
    "read": "read",
    "build": "built",
    "run": "run",
    "claim": "asked for its claim",
    "probe": "probed",
    "replay": "replayed",
    "audit": "audited",
}
T = TypeVar("T")


@dataclass(frozen=True)
class Mistake:
    """What is wrong with the text: in which `line` (from 1; None where it is in none of them), and that line.

    `stage` is what was being done: "read", "build", "claim", "run", "probe", "replay", "audit".
    """

    stage: str
    line: int | None
    excerpt: str
    says: str

    @property
    def doing(self) -> str:
        """What could not be done, as in "it could not be …"."""
        return _DONE[self.stage]

    def __str__(self) -> str:
        where = "" if self.line is None else f"line {self.line}: "
        return f"{where}{self.says}"


class Stopped(Exception):  # noqa: N818
    """A loop of the text went on for too long."""


class CodeError(Exception):
    """The text could not do what was asked of it; the mistake says where and why."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


@dataclass(frozen=True)
class Code:
    """A text that was read: the algorithm it builds. What of it is called later goes through `doing`."""

    source: str
    algorithm: Algorithm

    def doing(self, stage: str, task: Callable[[], T]) -> T:
        """Do the task. An error of any kind in it is a `CodeError` with the line of the text that it came from."""
        return _doing(self.source, stage, task)


def read(source: str, seconds: float = SECONDS) -> Code:
    """Run the text and build the last algorithm that it defines, or the one that it calls `algorithm`.

    Every field of the class needs a default. `seconds` is what all loops of the text may take together. You get a
    `CodeError` where the text is no Python, fails, or defines no algorithm.
    """
    try:
        tree = ast.parse(source, FILENAME)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise CodeError(
            Mistake("read", line, _line(source, line), f"no Python: {getattr(error, 'msg', error)}")
        ) from None
    module = types.ModuleType(MODULE)
    setattr(module, _TICK, _clock(seconds))
    ticking = ast.fix_missing_locations(_Ticking().visit(tree))
    _doing(source, "read", lambda: exec(compile(ticking, FILENAME, "exec"), vars(module)))
    return Code(source, _doing(source, "build", lambda: _algorithm(source, vars(module))))


def _algorithm(source: str, defined: dict[str, Any]) -> Algorithm:
    named = defined.get("algorithm")
    if isinstance(named, Algorithm):
        return named
    classes = [
        one
        for one in defined.values()
        if isinstance(one, type) and issubclass(one, Algorithm) and one.__module__ == MODULE
    ]
    if not classes:
        says = "there is no algorithm in it: define a class that derives from netsim.algorithms.Algorithm"
        raise CodeError(Mistake("build", None, "", says))
    last = classes[-1]
    if isabstract(last):
        says = f"{last.__name__} has no `async def run(self, node)`"
        raise CodeError(Mistake("build", _class_line(source, last.__name__), f"class {last.__name__}", says))
    try:
        return last()
    except TypeError as error:
        line = _class_line(source, last.__name__)
        says = f"{error}: give every field a default, or name an instance `algorithm`"
        raise CodeError(Mistake("build", line, _line(source, line), says)) from None


def _class_line(source: str, name: str) -> int | None:
    nodes = ast.walk(ast.parse(source))
    return next((node.lineno for node in nodes if isinstance(node, ast.ClassDef) and node.name == name), None)


def _doing(source: str, stage: str, task: Callable[[], T]) -> T:
    try:
        return task()
    except CodeError:
        raise
    except (
        Exception,
        SystemExit,
    ) as error:  # not our text: what it raises is told, and ends nothing
        raise CodeError(_mistake(source, stage, error)) from error


def _mistake(source: str, stage: str, error: BaseException) -> Mistake:
    line = next((found for one in _chain(error) if (found := _line_of(one)) is not None), None)
    kind = "" if isinstance(error, Stopped) else f"{type(error).__name__}: "
    hint = " (`await` is missing)" if "'coroutine'" in str(error) else ""
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()) if not note.startswith("besides"))
    return Mistake(stage, line, _line(source, line), f"{kind}{error}{hint}{notes}")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, what is in it if it is a group, and what it came from."""
    if error is None:
        return
    yield error
    if isinstance(error, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _chain(one)
    yield from _chain(error.__cause__ or error.__context__)


def _line_of(error: BaseException) -> int | None:
    """The innermost line of the text that the error passed through."""
    inside = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == FILENAME]
    return inside[-1] if inside else None


def _line(source: str, line: int | None) -> str:
    lines = source.splitlines()
    return lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else ""


def _clock(seconds: float) -> Callable[[], None]:
    until = time.monotonic() + seconds

    def tick() -> None:
        if time.monotonic() > until:
            raise Stopped(f"this loop was still going on after {seconds:g} seconds: does it end?")

    return tick


class _Ticking(ast.NodeTransformer):
    """Every loop of the text looks at the clock, so that one without an end does not hold up the page."""

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._ticking(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._ticking(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        return self._ticking(node)

    def _ticking(self, node: ast.While | ast.For | ast.AsyncFor) -> ast.AST:
        self.generic_visit(node)
        tick = ast.Expr(ast.Call(ast.Name(_TICK, ast.Load()), [], []))
        node.body.insert(0, ast.copy_location(tick, node))
        return node
