"""The path of a run through an algorithm's code: its lines, and which way each jump of them goes.

A reader that hands out other objects than a run does may be told from a run (`type(x) is np.ndarray`). Then its path
through the code is another one than that with plain arrays, for the same numbers.
"""

import dis
import sys
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise, zip_longest
from types import CodeType, FrameType
from typing import Any

import numpy as np

from attacks.audit.followed.lines import ReadLine, line_of, of_algorithm

Step = tuple[CodeType, int, int]
"""Code, the line that begins or 0, and the place in it where another way would have been to be gone, or 0."""


@contextmanager
def walked() -> Generator[list[Step]]:
    """The steps of what runs within the block, as far as they are in an algorithm's code.

    As long as that looks at Python's warnings, NumPy is to give them.
    """
    filters, many, shows, ignored = warnings.filters, len(warnings.filters), _shown_at_first(), list[Any]()
    steps, before, known = list[Step](), sys.gettrace(), dict[CodeType, bool]()

    def inside(frame: FrameType, event: str, arg: Any) -> Any:
        del arg
        if event == "line":
            steps.append((frame.f_code, frame.f_lineno, 0))
            frame.f_trace_opcodes = frame.f_lineno in _turning(frame.f_code)
        elif event == "opcode" and frame.f_lasti in _turns(frame.f_code):
            steps.append((frame.f_code, 0, frame.f_lasti))
        return inside

    def look() -> None:
        if (_shows() != shows) != bool(ignored):
            ignored.append(np.seterr(all="warn")) if not ignored else np.seterr(**ignored.pop())

    def called(frame: FrameType, event: str, arg: Any) -> Any:
        del event, arg
        other = warnings.filters is not filters or len(filters) != many or warnings.showwarning is not shows[0]
        if other or ignored:
            look()
        code = frame.f_code
        if (walks := known.get(code)) is None:
            walks = known[code] = _walks(code, frame.f_globals.get("__name__", ""))
        return inside if walks else None

    look()
    sys.settrace(called)
    try:
        yield steps
    finally:
        sys.settrace(before)


def _shows() -> tuple[Any, ...]:
    """What is done with a warning: who shows it, and which ones are errors."""
    errors = [one[1:] for one in warnings.filters if one[0] == "error"]
    return warnings.showwarning, getattr(warnings, "_showwarnmsg_impl", None), errors


def _shown_at_first() -> tuple[Any, ...]:
    """What is done with a warning, but for those that a module has made errors since Python began."""
    shower, sender, errors = _shows()
    return shower, sender, errors if any(one.startswith("error") for one in sys.warnoptions) else []


def parts_at(one: Sequence[Step], other: Sequence[Step]) -> ReadLine | None:
    """The line at which two paths part; None where they do not."""
    for some in zip_longest(one, other):
        if some[0] != some[1]:
            known = [step for step in some if step is not None]
            lines = [_turns(code).get(place) or line for code, line, place in known]
            return line_of(known[0][0], next(filter(None, lines), 0), "another path than with plain arrays")
    return None


def decided_at(one: Sequence[Step], other: Sequence[Step]) -> ReadLine | None:
    """The line before two paths part, which decides where they go; None where they do not part."""
    before: Step | None = None
    for some in zip_longest(one, other):
        if some[0] != some[1]:
            return None if before is None else line_of(before[0], before[1], "")
        before = some[0] if some[0] is not None and some[0][1] else before
    return None


def _walks(code: CodeType, module: str) -> bool:
    """Whether it is an algorithm's, and not of a class of tuples, or of ours, that Python wrote."""
    written = code.co_filename == "<string>" and module.startswith(
        ("namedtuple_", "attacks.", "netsim.", "scenarios.")
    )
    return of_algorithm(code) and not written


@lru_cache(1024)
def _turning(code: CodeType) -> frozenset[int]:
    """Lines within which there is more than one way."""
    lines = [positions[0] or 0 for positions in code.co_positions()]
    return frozenset(lines[place // 2] for place in _turns(code))


@lru_cache(1024)
def _turns(code: CodeType) -> Mapping[int, int]:
    """Places that a jump leads to, or passes by, each with the line of that, if it is known, or 0."""
    found, line = dict[int, int](), 0
    lines = [positions[0] or 0 for positions in code.co_positions()]
    for one, after in pairwise(dis.get_instructions(code)):
        line = lines[one.offset // 2] or line
        if one.opcode in _JUMPS:
            found[after.offset] = line
        if after.is_jump_target:
            found.setdefault(after.offset, 0)
    return found


_JUMPS = frozenset(dis.hasjrel + dis.hasjabs)
