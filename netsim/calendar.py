# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Calendar of what is to happen: SimPy's one heap, of which large ones are kept in pages of time.

A heap of very many entries spends its time waiting for memory. From `PAGES_ABOVE` entries on it keeps only the first
page of the future, a stretch of time of about `PAGE` entries; later ones lie unsorted in pages of their own until the
heap is empty. The order in which entries come is the same.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

import simpy
from simpy.core import SimTime

PAGES_ABOVE = 1 << 15
"""Entries on the heap from which on the later ones are kept in pages."""
PAGE = 1 << 11
"""Entries that a page is meant to hold."""
_LAST_PAGE = 1 << 60


class Calendar(simpy.Environment):
    """A SimPy environment whose heap is paged. An entry is a tuple that begins (time, priority, sequence)."""

    _queue: list[Any]

    def __init__(self, initial_time: SimTime = 0.0) -> None:
        super().__init__(initial_time)
        self.paged = False
        self._pages: dict[int, list[Any]] = {}
        self._numbers: list[int] = []  # a heap: which pages there are
        self._first = 0  # the page that is on the heap
        self._pages_per_second = 0.0
        self._later = 0  # entries on other pages
        self.pages_above = PAGES_ABOVE

    def put(self, entry: tuple[Any, ...]) -> None:
        """Put an entry where it belongs, its time first: on the heap, or in a later page."""
        if self.paged and (number := self._page_of(entry)) > self._first:
            page = self._pages.get(number)
            if page is None:
                self._pages[number] = [entry]
                heappush(self._numbers, number)
            else:
                page.append(entry)
            self._later += 1
        else:
            heappush(self._queue, entry)

    def _page_of(self, entry: tuple[Any, ...]) -> int:
        """Never falls as time grows, so entries of different pages are in order."""
        place = entry[0] * self._pages_per_second
        return int(place) if place < _LAST_PAGE else _LAST_PAGE

    def turn_page(self) -> bool:
        """Get the next page on the empty heap; False if there is none."""
        while self._numbers:
            self._first = heappop(self._numbers)
            self._queue[:] = self._pages.pop(self._first)
            if self._queue:  # `keep` may have emptied it
                self._later -= len(self._queue)
                heapify(self._queue)
                return True
        return False

    def spread(self) -> None:
        """Leave on the heap what comes first, now that it is too large."""
        queue = self._queue
        entries = [*queue, *(entry for page in self._pages.values() for entry in page)]
        times = sorted(entry[0] for entry in queue)
        half = times[len(times) // 2] - times[0]
        if half <= 0:  # most come at once
            self.pages_above *= 2
            return
        self._pages_per_second = min(len(queue) / (2 * half * PAGE), _LAST_PAGE)
        self._pages.clear()
        self._numbers.clear()
        queue.clear()
        self.paged, self._later = True, 0
        self._first = min(map(self._page_of, entries))
        for entry in entries:
            self.put(entry)
        self.pages_above = max(PAGES_ABOVE, 2 * len(queue))

    def keep(self, wanted: Callable[[Any], bool]) -> None:
        """Drop the entries that are not wanted; the heap stays the same list."""
        for entries in (self._queue, *self._pages.values()):
            entries[:] = filter(wanted, entries)
        heapify(self._queue)
        self._later = sum(map(len, self._pages.values()))

    def size(self) -> int:
        """How many entries are to come."""
        return len(self._queue) + self._later
