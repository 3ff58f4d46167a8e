"""Watches which ways the branches of an algorithm's code go while transcripts are replayed; others are not audited.

While it watches, own functions have code in which each branch reports its answer: the same source, compiled with a
call around each question. Values, and so messages, are the same to the last bit.
"""

import ast
import builtins
import marshal
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from attacks.audit.branches.code import OwnCode, functions_of, parts_of
from attacks.audit.branches.found import TOOK, Branch, find_branches
from attacks.audit.memory import function_in
from attacks.audit.verdict import Judgement, Verdict
from netsim.algorithms import Algorithm

_COUNTS = frozenset([bool, int])
_PLAIN = frozenset([bool, int, float, str, bytes, tuple, list, dict, set, frozenset, type(None)])


@dataclass(frozen=True)
class UnrunLines:
    """Lines of an algorithm's code that no transcript ran, or that all ran though a branch might skip them."""

    file: str
    """Name of the file."""
    first: int
    """The first line, from 1."""
    last: int
    """The last line."""
    line: int
    """Line of the branch that decides."""
    test: str
    """What it asks, as the code has it."""
    answer: bool
    """The answer in all transcripts."""
    skipped: bool
    """Whether the lines were run, and never skipped, or never with the other answer."""

    @property
    def where(self) -> str:
        """The lines, in words."""
        lines = f"line {self.first}" if self.first == self.last else f"lines {self.first}–{self.last}"
        return f"{lines} of {self.file}"

    def __str__(self) -> str:
        if not self.skipped:
            return f"{self.where} never ran (`{self.test}`, line {self.line})"
        return f"{self.where} never ran another way: `{self.test}` was always {str(self.answer).lower()}"


def unrun(branches: Sequence[Branch], seen: npt.NDArray[np.bool_]) -> tuple[UnrunLines, ...]:
    """Ways that were not taken of branches that were asked, those inside others left out."""
    found = dict[tuple[str, int, int], UnrunLines]()
    for branch, (no, yes) in zip(branches, seen.tolist(), strict=True):
        if no == yes:  # both, or nobody asked
            continue
        way = branch.ways[not yes]
        if way is not None:
            at = branch.where, way.first, way.last
            found.setdefault(at, UnrunLines(*at, branch.line, branch.test, yes, way.skipped))
    return tuple(one for _, one in sorted(found.items()))


def in_words(found: Iterable[UnrunLines], most: int = 3) -> str:
    """The first few, and how many more there are."""
    some = list(found)
    more = f" ({len(some) - most} more)" if len(some) > most else ""
    return "; ".join(map(str, some[:most])) + more


def not_all_audited(found: Iterable[UnrunLines]) -> str:
    """Which lines never ran, and what to do about it, in two sentences."""
    remedy = "Other data or parameters may run it; a branch on public numbers alone needs no run; else read it."
    return f"Not all of the code was audited: {in_words(found)}. {remedy}"


def judged_of_what_ran(found: Judgement, lines: Sequence[UnrunLines]) -> Judgement:
    """The judgement, where some lines never ran: a claim that nothing speaks against is underpowered then, unless a
    bound holds, which reads them for itself."""
    if not lines or found.verdict not in (Verdict.CONSISTENT, Verdict.UNDERPOWERED):
        return found
    return replace(found, verdict=Verdict.UNDERPOWERED, reason=f"{not_all_audited(lines)} {found.reason}")


@dataclass(frozen=True)
class Prepared:
    """Branches of an algorithm's code, and code that reports them (as bytes, which go to other processes: there the
    source may not be at hand)."""

    branches: tuple[Branch, ...] = ()
    codes: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, algorithm: Algorithm) -> "Prepared":
        """That of an algorithm, whose source is read once."""
        return _prepared(_Key(algorithm))


class Watch:
    """Branches of an algorithm, and `seen` (branches, 2): whether the answer was ever no, and ever yes.

    Without what was `prepared` the source is read here.
    """

    def __init__(self, algorithm: Algorithm, prepared: Prepared | None = None) -> None:
        self.algorithm, self.prepared = algorithm, prepared or Prepared.of(algorithm)
        self.branches = self.prepared.branches
        self._codes = _paired(_Key(algorithm), self.prepared) if self.branches else ()
        self.seen: npt.NDArray[np.bool_] = np.zeros((len(self.branches), 2), dtype=np.bool_)

    def took(self, number: int, value: Any, mask: bool, *beside: tuple[object, bool]) -> Any:
        """Note the answer to a question; it is its value. Nothing is noted where what is `beside` it decides."""
        if any(bool(np.asarray(one).any()) is not wanted for one, wanted in beside):
            return value
        kind = cast("type[object]", type(value))
        if issubclass(kind, np.ndarray) and mask:
            self.seen[number] |= bool(np.any(np.logical_not(value))), bool(np.any(value))
        elif kind in (_COUNTS if mask else _PLAIN) or issubclass(kind, np.generic | np.ndarray):
            self.seen[number, int(bool(value))] = True
        else:  # to ask it would be to decide
            self.seen[number] = True
        return value

    @contextmanager
    def on(self) -> Generator[None]:
        """While it watches."""
        if not self._codes or hasattr(builtins, TOOK):
            yield
            return
        setattr(builtins, TOOK, self.took)
        before = [function.__code__ for function, _ in self._codes]
        try:
            for function, code in self._codes:
                function.__code__ = code
            yield
        finally:
            for (function, _), code in zip(self._codes, before, strict=True):
                function.__code__ = code
            delattr(builtins, TOOK)


_W = TypeVar("_W", Watch, Watch | None)
_watch: ContextVar[Watch | None] = ContextVar("_watch", default=None)


@contextmanager
def watching(watch: _W) -> Generator[_W]:
    """Watch what counts of what is run here; None: nothing."""
    token = _watch.set(watch)
    try:
        yield watch
    finally:
        _watch.reset(token)


@contextmanager
def counted() -> Generator[None]:
    """What is run here counts: it is a transcript that is compared, or that a proof reads."""
    watch = _watch.get()
    if watch is None:
        yield
        return
    with watch.on():
        yield


class _Key:
    """An algorithm, equal to those with the same code."""

    def __init__(self, algorithm: Algorithm) -> None:
        values = cast("dict[str, object]", vars(algorithm)).values()
        own = (function_in(value) or type(value) for value in values)
        held = (one for value in values for one in parts_of(value) if isinstance(one, FunctionType))
        self.algorithm, self._code = algorithm, (type(algorithm), *own, *held)

    def __hash__(self) -> int:
        return hash(self._code)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._code == other._code


@lru_cache(maxsize=64)
def _prepared(key: _Key) -> Prepared:
    own_code = OwnCode.of(key.algorithm)
    branches = find_branches(own_code)
    if not branches:
        return Prepared()
    codes = {file: list(_codes(compile(tree, file, "exec", dont_inherit=True)))
             for file, tree in own_code.trees.items()}  # fmt: skip
    watched = list[CodeType]()
    for own in own_code.functions:
        code = cast("FunctionType", own.function).__code__
        same = [one for one in codes[own.file] if _same(one, code)]
        if len(same) == 1 and any(isinstance(one, ast.Name) and one.id == TOOK for one in ast.walk(own.node)):
            watched += same
    return Prepared(branches, tuple(map(marshal.dumps, watched)))


@lru_cache(maxsize=64)
def _paired(key: _Key, prepared: Prepared) -> tuple[tuple[FunctionType, CodeType], ...]:
    """Functions, each with the code that reports its branches."""
    codes = [cast("CodeType", marshal.loads(one)) for one in prepared.codes]
    own = functions_of(key.algorithm)
    return tuple((function, code) for function in own for code in codes if _same(code, function.__code__))


def _codes(code: CodeType) -> Generator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _same(one: CodeType, code: CodeType) -> bool:
    names = "co_qualname", "co_firstlineno", "co_argcount", "co_kwonlyargcount", "co_freevars"
    return all(cast(object, getattr(one, name)) == getattr(code, name) for name in names)
