"""Watches which ways the branches of an algorithm's code go while transcripts are replayed; others are not audited.

While it watches, own functions have code in which each reports that it ran, and each branch its answer: the same
source, compiled with a call around each question. Values, and so messages, are the same to the last bit.
"""

import builtins
import inspect
import marshal
from collections import defaultdict
from collections.abc import AsyncIterable, AsyncIterator, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from attacks.audit.branches.code import OwnCode, living_functions
from attacks.audit.branches.found import ITEMS, MASK, NO, TOOK, Branch, find_branches, instrumented
from attacks.audit.memory import function_in
from attacks.audit.verdict import Judgement, Verdict
from netsim.algorithms import Algorithm

_COPIED = "<dynamic-code>"
"""The file of functions that another process got."""
_COUNTS = frozenset([bool, int])
_SIZED = frozenset([str, bytes, tuple, list, dict, set, frozenset])
_PLAIN = frozenset([bool, int, float, type(None)])
_LOOPED = _SIZED | {range}


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


class Branches:
    """All branches of an algorithm's code; which of them count depends on which functions ran."""

    def __init__(self, algorithm: Algorithm, asked: int) -> None:
        self._key, self._asked = _Key(algorithm), asked

    def __len__(self) -> int:
        return self._asked

    def counting(self, seen: npt.NDArray[np.bool_]) -> tuple[Branch, ...]:
        """All of them, read from the source; those that do not count have no ways."""
        return _read(self._key, seen[:, 1].tobytes())


def unrun(branches: Branches, seen: npt.NDArray[np.bool_]) -> tuple[UnrunLines, ...]:
    """Ways that were not taken of branches that were asked, those inside others left out."""
    found = dict[tuple[str, int, int], UnrunLines]()
    if not branches:
        return ()
    for branch, (no, yes, of_value) in zip(branches.counting(seen), seen.tolist(), strict=True):
        if no == yes or (branch.of_form and not of_value):  # both, or nobody asked, or whether something is empty
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
    """How many questions an algorithm's code asks, and code that reports the answers (as bytes, which go to other
    processes: there the source may not be at hand)."""

    asked: int = 0
    codes: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, algorithm: Algorithm) -> "Prepared":
        """That of an algorithm, whose source is read once."""
        return _prepared(_Key(algorithm))


class Watch:
    """Branches of an algorithm, and `seen` (branches, 3): whether the answer was ever no, and ever yes, and whether
    what was asked was ever anything but whether a list, text or dict is empty. First are all functions: whether each
    ran.

    Without what was `prepared` the source is read here.
    """

    def __init__(self, algorithm: Algorithm, prepared: Prepared | None = None) -> None:
        self.algorithm, self.prepared = algorithm, prepared or Prepared.of(algorithm)
        self.branches = Branches(algorithm, self.prepared.asked)
        self._codes = _paired(_Key(algorithm), self.prepared) if self.branches else ()
        self.seen: npt.NDArray[np.bool_] = np.zeros((len(self.branches), 3), dtype=np.bool_)

    def took(self, number: int, value: Any, how: int, *beside: tuple[object, bool]) -> Any:
        """Note the answer to a question; it is its value. Nothing is noted where what is `beside` it decides."""
        if beside and any(bool(np.asarray(one).any()) is not wanted for one, wanted in beside):
            return value
        kind = cast("type[object]", type(value))
        if how == NO:
            self.seen[number, 0] = self.seen[number, 2] = True
        elif how == ITEMS:
            return self._looped(number, value, kind)
        elif issubclass(kind, np.ndarray) and how == MASK:
            self.seen[number] |= bool(np.any(np.logical_not(value))), bool(np.any(value)), True
        elif kind in _SIZED and how != MASK:
            self.seen[number, int(bool(value))] = True
        elif kind in (_COUNTS if how == MASK else _PLAIN) or issubclass(kind, np.generic | np.ndarray):
            self.seen[number, int(bool(value))] = self.seen[number, 2] = True
        else:  # to ask it would be to decide
            self.seen[number] = True
        return value

    def _looped(self, number: int, value: Any, kind: type[object]) -> Any:
        """What is looped over, which notes whether there is anything."""
        if kind in _LOOPED or (issubclass(kind, np.ndarray) and value.ndim):
            self.seen[number, int(len(value) > 0)] = self.seen[number, 2] = True
            return value
        if isinstance(value, AsyncIterable) and not isinstance(value, Iterable):
            return self._async_items(number, cast("AsyncIterable[object]", value))
        return self._items(number, value)

    def _items(self, number: int, value: Iterable[object]) -> Iterator[object]:
        there = False
        for one in value:
            if not there:
                self.seen[number, 1] = self.seen[number, 2] = there = True
            yield one
        if not there:
            self.seen[number, 0] = self.seen[number, 2] = True

    async def _async_items(self, number: int, value: AsyncIterable[object]) -> AsyncIterator[object]:
        there = False
        async for one in value:
            self.seen[number, 1] = self.seen[number, 2] = there = True
            yield one
        if not there:
            self.seen[number, 0] = self.seen[number, 2] = True

    @contextmanager
    def on(self) -> Generator[None]:
        """While it watches."""
        if not self._codes or getattr(builtins, TOOK, _passed) is not _passed:
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
            setattr(builtins, TOOK, _passed)


def _passed(number: int, value: Any, how: int, *beside: tuple[object, bool]) -> Any:  # noqa: ARG001
    """Where nobody watches: of functions that were made while somebody did, and are called later."""
    return value


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
        held = (one for value in values for one in _parts_of(value) if isinstance(one, FunctionType))
        self.algorithm, self._code = algorithm, (type(algorithm), *own, *held)

    def __hash__(self) -> int:
        return hash(self._code)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._code == other._code


def _parts_of(value: object) -> list[object]:
    """What is in a list, a tuple, or under the keys of a dict; nothing of what is none."""
    parts: Any = value
    return (
        list(parts.values() if isinstance(value, dict) else parts) if isinstance(value, list | tuple | dict) else []
    )


@lru_cache(maxsize=64)
def _prepared(key: _Key) -> Prepared:
    own_code = OwnCode.of(key.algorithm)
    asked = instrumented(own_code)
    if asked == len(own_code.functions):
        return Prepared()
    watched = [
        one
        for file, tree in own_code.trees.items()
        for one in _codes(compile(tree, file, "exec", dont_inherit=True))
        if one.co_flags & inspect.CO_NEWLOCALS
    ]
    return Prepared(asked, tuple(map(marshal.dumps, watched)))


@lru_cache(maxsize=8)
def _unchanged(key: _Key) -> OwnCode:
    return OwnCode.of(key.algorithm)


@lru_cache(maxsize=64)
def _read(key: _Key, yes: bytes) -> tuple[Branch, ...]:
    """Branches where these functions, which come first, ran."""
    code = _unchanged(key)
    ran = np.frombuffer(yes, dtype=np.bool_)[: len(code.functions)]
    return find_branches(code, ran.tolist())


@lru_cache(maxsize=64)
def _paired(key: _Key, prepared: Prepared) -> tuple[tuple[FunctionType, CodeType], ...]:  # noqa: ARG001
    """Functions, each with the code that reports its branches."""
    codes = defaultdict[tuple[str, int], list[CodeType]](list)
    for one in prepared.codes:
        code = cast("CodeType", marshal.loads(one))
        codes[_at(code)].append(code)
    return tuple(
        (function, code)
        for function in living_functions()
        for code in codes.get(_at(function.__code__), ())
        if _same(code, function.__code__)
    )


def _at(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Generator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _same(one: CodeType, code: CodeType) -> bool:
    names = "co_argcount", "co_kwonlyargcount", "co_freevars"
    same = code.co_filename in (one.co_filename, _COPIED) and all(
        cast(object, getattr(one, name)) == getattr(code, name) for name in names
    )
    if not same or code.co_name != "<lambda>":
        return same
    (first, last), (from_, to) = _columns(one), _columns(code)  # there may be several in a line
    return first <= to and from_ <= last


def _columns(code: CodeType) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where code begins and ends, as far as it is known."""
    found = [(a, b, c, d) for a, c, b, d in code.co_positions() if None not in (a, b, c, d) and (b, d) != (0, 0)]
    places = cast("list[tuple[int, int, int, int]]", found)
    if not places:
        return (0, 0), (2**31, 0)
    return min(one[:2] for one in places), max(one[2:] for one in places)
