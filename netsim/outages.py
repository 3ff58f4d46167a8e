"""When a link or a node is down: as data, and as the answer at a moment.

`Outages` say when the state flips; a `Switch` reads the flips of one link or node as time goes by. What an outage
does to packets and agents is the network's affair.
"""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from netsim.errors import ScenarioError, SimulationError
from netsim.laws import read_trace

Interval = tuple[float, float]
"""Down from the first time on, up again at the second; seconds."""


class Outages(Protocol):
    """When something is down. It begins up, and flips at the times that `changes` gives, in seconds, increasing.

    The flips may never end and are drawn as they are asked for: give `changes` an rng of its own.
    """

    def changes(self, rng: random.Random) -> Iterator[float]: ...


@dataclass(frozen=True)
class Scheduled:
    """Down in each of `intervals` (from, to), in seconds; `to` = ∞ is for good.

    From is in the outage, to is not. A `ScenarioError` names the first interval that is empty, negative, or does
    not begin after the one before has ended.
    """

    intervals: tuple[Interval, ...]

    def __post_init__(self) -> None:
        if (found := _misplaced(self.intervals)) is not None:
            index, problem, allowed = found
            raise ScenarioError(f"intervals[{index}]", self.intervals[index], problem, allowed)

    def changes(self, rng: random.Random) -> Iterator[float]:  # noqa: ARG002
        return _flips(self.intervals)


@dataclass(frozen=True)
class RandomOutages:
    """Up for an exponential time of mean `mean_up` seconds, down for one of mean `mean_down`, and so on."""

    mean_up: float
    mean_down: float

    def __post_init__(self) -> None:
        for name, mean in (("mean_up", self.mean_up), ("mean_down", self.mean_down)):
            if not 0 < mean < math.inf:
                raise ScenarioError(name, mean, "must be positive and finite", "> 0")

    def changes(self, rng: random.Random) -> Iterator[float]:
        now, mean, other = 0.0, self.mean_up, self.mean_down
        while True:
            now = max(now + rng.expovariate(1 / mean), math.nextafter(now, math.inf))  # increasing, also when rounded
            yield now
            mean, other = other, mean


@dataclass(frozen=True)
class TraceOutages:
    """The outages of `file`: two columns `down,up`, when it went down and when it was up again, in seconds.

    The file (UTF-8; a first line `down,up` and blank lines are skipped) is read once, here, and must hold what
    `Scheduled` allows; a `ScenarioError` names the line that does not.
    """

    file: str | Path
    intervals: tuple[Interval, ...] = field(init=False, repr=False, hash=False)

    def __post_init__(self) -> None:
        rows = read_trace(self.file, ("down", "up"), "seconds: 0 <= down < up")
        object.__setattr__(self, "intervals", tuple(interval for _, interval in rows))
        if (found := _misplaced(self.intervals)) is not None:
            index, problem, allowed = found
            raise ScenarioError("down,up", self.intervals[index], problem, allowed, str(self.file), rows[index][0])

    def changes(self, rng: random.Random) -> Iterator[float]:  # noqa: ARG002
        return _flips(self.intervals)


def either(first: Iterator[float], second: Iterator[float]) -> Iterator[float]:
    """The flips of what is down whenever one of two things is."""
    flips, down, was = [next(first, math.inf), next(second, math.inf)], [False, False], False
    while (now := min(flips)) < math.inf:
        for which, source in enumerate((first, second)):
            if flips[which] == now:
                down[which] = not down[which]
                flips[which] = next(source, math.inf)
        if any(down) != was:
            was = not was
            yield now
        if any(is_down and flip == math.inf for is_down, flip in zip(down, flips, strict=True)):
            return  # down for good


def _misplaced(intervals: Sequence[Interval]) -> tuple[int, str, str] | None:
    """The first interval that cannot be: its index, the problem, what is allowed."""
    ended = -math.inf
    for index, (down, up) in enumerate(intervals):
        if not 0 <= down < math.inf:
            return index, "begins before 0, or at no finite time", "0 <= from"
        if not down > ended:
            return index, "begins before the one before it has ended", f"from > {ended}"
        if not up > down:
            return index, "does not end after it begins", f"to > {down}"
        ended = up
    return None


def _flips(intervals: Sequence[Interval]) -> Iterator[float]:
    return (time for interval in intervals for time in interval if time < math.inf)


class Switch:
    """Up or down, asked at finite times that never go back; in all it takes one step a flip.

    `flips` increase; between two questions only those that have passed are taken, and one more. At a flip the new
    state holds. You get a `SimulationError` for a time before the last flip that was passed: that state is
    forgotten.
    """

    __slots__ = ("_down", "_flips", "_since", "_until")

    def __init__(self, flips: Iterable[float]) -> None:
        self._flips = iter(flips)
        self._down = False
        self._since, self._until = -math.inf, next(self._flips, math.inf)

    def is_down(self, now: float) -> bool:
        """Whether it is down at `now`."""
        if not self._since <= now < self._until:
            self._pass(now)
        return self._down

    @property
    def gone(self) -> bool:
        """Whether it was down for good when it was last asked."""
        return self._down and self._until == math.inf

    def next_change(self, now: float) -> float:
        """The first flip after `now`, ∞ if there is none."""
        if not self._since <= now < self._until:
            self._pass(now)
        return self._until

    def _pass(self, now: float) -> None:
        if not self._since <= now < math.inf:
            raise SimulationError(f"a Switch was asked about {now} s, but it goes forward only, from {self._since} s")
        while self._until <= now:
            self._since, self._until = self._until, next(self._flips, math.inf)
            self._down = not self._down
