"""Which packets of a run are played: the beginning, what is around the message that breaks the claim, the end."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from netsim.diary import Diary, Passage, Sought

BEFORE_BREAK = 0.3
"""Of the packets around the break, the share before it."""


class Window(NamedTuple):
    """Passages without a gap, why these, and how many before them are left out."""

    why: str
    passages: list[Passage]
    left_out: int


class _Span(NamedTuple):
    """Packets from one to before another, by how many were before them, and why these."""

    why: str
    begin: int
    end: int


class _Part(NamedTuple):
    """Packets without a gap, in order of time, and how many were before them."""

    begin: int
    passages: list[Passage]

    @property
    def end(self) -> int:
        return self.begin + len(self.passages)


@dataclass(frozen=True)
class Known:
    """What diaries kept of a run of `total` packets: all, or its beginning, its end, and what they looked for."""

    total: int
    parts: tuple[_Part, ...]

    @classmethod
    def of(cls, diary: Diary, again: Diary | None = None) -> "Known":
        """`again`: the diary of the same run once more, which was asked to look for a message."""
        first, last = len(diary.head), diary.total - len(diary.tail)
        parts = [_Part(0, sorted(diary.head, key=_start)), _Part(last, sorted(diary.tail, key=_start))]
        if again is not None:
            begin, end = max(again.begins, first), min(again.begins + len(again.middle), last)
            middle = again.middle[begin - again.begins : max(begin, end) - again.begins]
            parts.insert(1, _Part(begin, sorted(middle, key=_start)))
        return cls(diary.total, tuple(_without_gaps(part for part in parts if part.passages)))

    @property
    def every(self) -> list[Passage]:
        """All of them, in order."""
        return [passage for part in self.parts for passage in part.passages]

    @property
    def all_there(self) -> bool:
        """Whether nothing of the run is left out."""
        return len(self.every) == self.total

    def place(self, message: Sought) -> int | None:
        """How many packets were before the first that carries a message; None where it is not known."""
        return next((p.begin + k for p in self.parts for k, one in enumerate(p.passages) if _is(one, message)), None)

    def windows(self, message: Sought | None, most: int) -> list[Window]:
        """At most so many packets, those around a message among them if it is known."""
        if self.total <= most:
            return [Window("everything", self.every, 0)]
        wanted = [("the beginning", 0, int(0.75 * most)), ("the end", self.total - most // 4, most // 4)]
        place = None if message is None else self.place(message)
        if place is not None and place > most // 2:
            around = int(0.4 * most)
            begin = place - int(BEFORE_BREAK * around)
            last = ("the end", self.total - most // 5, most // 5)
            wanted = [("the beginning", 0, around), ("around the break", begin, around), last]
        windows: list[Window] = []
        before = 0
        for why, begin, end in _joined(self._clipped(*one, place) for one in wanted):
            windows.append(Window(why, self._between(begin, end), begin - before))
            before = end
        return windows

    def _clipped(self, why: str, begin: int, size: int, place: int | None) -> _Span:
        """As much of so many packets as is in one part: in that of the message, if it is among them."""
        end = begin + size
        holding = [part for part in self.parts if place is not None and part.begin <= place < part.end]
        near = holding if place is not None and begin <= place < end else self.parts
        part = max(near, key=lambda part: min(end, part.end) - max(begin, part.begin))
        return _Span(why, max(begin, part.begin), min(end, part.end))

    def _between(self, begin: int, end: int) -> list[Passage]:
        return [p for first, part in self.parts for p in part[max(0, begin - first) : max(0, end - first)]]


def _without_gaps(parts: Iterable[_Part]) -> list[_Part]:
    """Parts that touch are one."""
    found: list[_Part] = []
    for part in parts:
        if found and found[-1].end == part.begin:
            before = found.pop()
            part = _Part(before.begin, before.passages + part.passages)
        found.append(part)
    return found


def _joined(spans: Iterable[_Span]) -> Sequence[_Span]:
    """Without those that are in one before them; those that touch as one."""
    found: list[_Span] = []
    for span in spans:
        if not found or span.begin > found[-1].end:
            found.append(span)
            continue
        before = found.pop()
        why = before.why if span.why in before.why else f"{before.why}, {span.why}"
        found.append(_Span(why, before.begin, max(before.end, span.end)))
    return found


def _is(passage: Passage, wanted: Sought) -> bool:
    """Whether a packet is the first attempt to carry a message."""
    return (passage.sender, passage.kind, passage.number) == wanted and passage.attempt == 0


def _start(passage: Passage) -> float:
    return passage.start
