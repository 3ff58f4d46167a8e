"""Laws of a link: how long a packet travels, whether it is lost, and when a link or a node is down."""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import count
from pathlib import Path
from typing import Annotated, Protocol, TypeVar
from weakref import WeakKeyDictionary

from annotated_types import Gt, Le

from netsim.bounds import Checked, NonNegative, Positive, Probability, Share, check
from netsim.errors import ScenarioError, SimulationError
from netsim.files import MOST_BYTES, read_text

T = TypeVar("T")


# ── delay ───────────────────────────────────────────────────────────────────────────────────────────────


class DelayLaw(Protocol):
    """How long a packet travels, in seconds."""

    def draw(self, rng: random.Random) -> float: ...

    def mean(self) -> float: ...


@dataclass(frozen=True)
class ConstantDelay(Checked):
    """Always `seconds`."""

    seconds: NonNegative
    """The delay of every packet, in seconds."""

    def draw(self, rng: random.Random) -> float:  # noqa: ARG002
        return self.seconds

    def mean(self) -> float:
        return self.seconds


@dataclass(frozen=True)
class UniformDelay:
    """Uniform between `low` and `high` seconds."""

    low: NonNegative
    """The least delay, in seconds."""
    high: NonNegative
    """The greatest delay, in seconds."""

    def __post_init__(self) -> None:
        check(self)
        if self.high < self.low:
            raise ScenarioError("high", self.high, "below `low`", f">= {self.low}")

    def draw(self, rng: random.Random) -> float:
        return self.low + (self.high - self.low) * rng.random()

    def mean(self) -> float:
        return (self.low + self.high) / 2


@dataclass(frozen=True)
class LognormalDelay(Checked):
    """A median of `median` seconds and a heavy right tail: exp(N(ln median, sigma²))."""

    median: Positive
    """The median delay, in seconds."""
    sigma: NonNegative
    """The standard deviation of the delay's logarithm."""

    def draw(self, rng: random.Random) -> float:
        return self.median * math.exp(self.sigma * rng.gauss(0.0, 1.0))

    def mean(self) -> float:
        return self.median * math.exp(self.sigma**2 / 2)


@dataclass(frozen=True)
class ExponentialDelay(Checked):
    """`least` seconds, and on top of them an exponential time of mean `mean_excess` seconds."""

    mean_excess: Positive
    """The mean of what comes on top of the least delay, in seconds."""
    least: NonNegative = 0.0
    """The least delay, in seconds."""

    def draw(self, rng: random.Random) -> float:
        return self.least + rng.expovariate(1 / self.mean_excess)

    def mean(self) -> float:
        return self.least + self.mean_excess


@dataclass(frozen=True)
class TraceDelay:
    """The delays of `file`, one a line in seconds, in order and over and over.

    Each rng replays the trace for itself, from a place that it draws the first time, so that wires with rngs of
    their own do not march in step. The file (UTF-8; a first line `delay` and blank lines are skipped) is read
    once, here. A `ScenarioError` names its line where a delay is no number, negative or not finite.
    """

    file: str | Path
    """A text file, one delay a line in seconds; a relative path of a scenario starts at its file."""
    delays: tuple[float, ...] = field(init=False, repr=False, hash=False)

    def __post_init__(self) -> None:
        rows = _read_trace(self.file, ("delay",), "finite seconds >= 0", lambda delay: 0 <= delay < math.inf)
        object.__setattr__(self, "delays", tuple(delay for _, (delay,) in rows))

    def draw(self, rng: random.Random) -> float:
        replays = _replays.setdefault(rng, {})
        if self not in replays:
            replays[self] = _repeated(self.delays, rng)
        return next(replays[self])

    def mean(self) -> float:
        return math.fsum(self.delays) / len(self.delays)


_replays: WeakKeyDictionary[random.Random, dict[TraceDelay, Iterator[float]]] = WeakKeyDictionary()
"""How far each rng has come in each trace; forgotten together with the rng."""


# ── loss ────────────────────────────────────────────────────────────────────────────────────────────────

LossProcess = Callable[[float], bool]
"""Whether the packet that goes on the air at this time (seconds) is lost. Ask once a packet, in their order."""


class LossLaw(Protocol):
    """Which packets are lost: `process` is the fate of one wire's packets, `rate` their long-run share in [0, 1)."""

    def process(self, rng: random.Random) -> LossProcess: ...

    def rate(self) -> float: ...


@dataclass(frozen=True)
class Bernoulli:
    """Each packet is lost with `probability` in [0, 1), whatever became of the others."""

    probability: float

    def __post_init__(self) -> None:
        if not 0 <= self.probability < 1:
            raise ScenarioError("probability", self.probability, "a loss probability", "0 <= probability < 1")

    def process(self, rng: random.Random) -> LossProcess:
        draw, probability = rng.random, self.probability
        return lambda _: draw() < probability

    def rate(self) -> float:
        return self.probability


@dataclass(frozen=True)
class GilbertElliott(Checked):
    """Losses in bursts: a chain of two states, good and bad, that takes one step after every packet.

    From good to bad with probability `good_to_bad` in [0, 1], back with `bad_to_good` in (0, 1]; in them a packet
    is lost with probability `loss_good` in [0, 1) and `loss_bad` in [0, 1]. The first packet finds the chain in
    its stationary law. The chain counts packets, not seconds: a silent wire stays in its state.

    Sources: Gilbert, Capacity of a Burst-Noise Channel, 1960 (P = good_to_bad, p = bad_to_good,
    1 − h = loss_bad, loss_good = 0); Elliott, Estimates of Error Rates for Codes on Burst-Noise Channels, 1963
    (1 − k = loss_good). Theirs is about bits, here it is packets.
    """

    good_to_bad: Probability
    """The probability, per packet, that a good link turns bad."""
    bad_to_good: Annotated[float, Gt(0), Le(1)]
    """The probability, per packet, that a bad link turns good."""
    loss_good: Share = 0.0
    """The probability of a loss while the link is good."""
    loss_bad: Probability = 1.0
    """The probability of a loss while the link is bad."""

    def process(self, rng: random.Random) -> LossProcess:
        draw, good_to_bad, stay_bad = rng.random, self.good_to_bad, 1 - self.bad_to_good
        loss_good, loss_bad = self.loss_good, self.loss_bad
        bad = draw() < self._share_bad

        def lost(_: float) -> bool:
            nonlocal bad
            gone = draw() < (loss_bad if bad else loss_good)
            bad = draw() < (stay_bad if bad else good_to_bad)
            return gone

        return lost

    @property
    def _share_bad(self) -> float:
        """Long-run share of packets that find the bad state: P / (P + p)."""
        return self.good_to_bad / (self.good_to_bad + self.bad_to_good)

    def rate(self) -> float:
        return (1 - self._share_bad) * self.loss_good + self._share_bad * self.loss_bad


@dataclass(frozen=True)
class TraceLoss:
    """The fates of `file`, one packet a line, 1 lost and 0 not, in order and over and over.

    Each process replays the trace for itself, from a place that its rng draws. The file (UTF-8; a first line
    `lost` and blank lines are skipped) is read once, here. A `ScenarioError` names its line where a fate is
    neither 0 nor 1, and refuses a trace in which every packet is lost.
    """

    file: str | Path
    """A text file, one packet a line, 1 lost and 0 not; a relative path of a scenario starts at its file."""
    fates: tuple[bool, ...] = field(init=False, repr=False, hash=False)

    def __post_init__(self) -> None:
        rows = _read_trace(self.file, ("lost",), "0 or 1", lambda lost: lost in (0, 1))
        object.__setattr__(self, "fates", tuple(lost == 1 for _, (lost,) in rows))
        if all(self.fates):
            raise ScenarioError("file", str(self.file), "every packet is lost", "at least one 0")

    def process(self, rng: random.Random) -> LossProcess:
        fates = _repeated(self.fates, rng)
        return lambda _: next(fates)

    def rate(self) -> float:
        return sum(self.fates) / len(self.fates)


# ── traces ──────────────────────────────────────────────────────────────────────────────────────────────


def _read_trace(
    file: str | Path, columns: Sequence[str], allowed: str, fits: Callable[[float], bool] = lambda _: True
) -> list[tuple[int, tuple[float, ...]]]:
    """The rows of a text file of numbers, one for each of `columns`, separated by commas, with their line numbers.

    A first line that repeats `columns` and blank lines are skipped. You get a `ScenarioError` for a file that
    cannot be read or has no rows, and one with file and line for a row that is no `columns` or a number that does
    not fit; `allowed` says which do.
    """
    try:
        text = read_text(Path(file), MOST_BYTES)
    except (OSError, ValueError) as error:
        raise ScenarioError("file", str(file), f"cannot be read ({error})", "a readable UTF-8 text file") from error

    def number(column: str, cell: str, line: int) -> float:
        try:
            value = float(cell)
        except ValueError:
            raise ScenarioError(column, cell, "not a number", allowed, str(file), line) from None
        if not fits(value):
            raise ScenarioError(column, value, "out of range", allowed, str(file), line)
        return value

    rows: list[tuple[int, tuple[float, ...]]] = []
    for line, written in enumerate(text.split("\n"), start=1):
        cells = [cell.strip() for cell in written.split(",")]
        if not written.strip() or (line == 1 and cells == list(columns)):
            continue
        if len(cells) != len(columns):
            names, problem = ",".join(columns), f"{len(cells)} values in a row"
            raise ScenarioError(names, written, problem, f"{len(columns)}: {allowed}", str(file), line)
        rows.append((line, tuple(number(column, cell, line) for column, cell in zip(columns, cells, strict=True))))
    if not rows:
        raise ScenarioError("file", str(file), "holds no rows", f"{','.join(columns)} in every row: {allowed}")
    return rows


def _repeated(values: Sequence[T], rng: random.Random) -> Iterator[T]:
    """`values` in order, over and over, from a place that `rng` draws now."""
    length = len(values)
    return (values[place % length] for place in count(rng.randrange(length)))


Interval = tuple[float, float]
"""Down from the first time on, up again at the second; seconds."""


class Outages(Protocol):
    """When something is down. It begins up, and flips at the times that `changes` gives, in seconds, increasing.

    The flips may never end and are drawn as they are read: give `changes` an rng of its own.
    """

    def changes(self, rng: random.Random) -> Iterator[float]: ...


@dataclass(frozen=True)
class Scheduled:
    """Down in each of `intervals` (from, to), in seconds; `to` = ∞ is for good.

    From is in the outage, to is not. A `ScenarioError` names the first interval that is empty, negative, or does
    not begin after the one before has ended.
    """

    intervals: tuple[Interval, ...]
    """When it is down: pairs [from, to) in seconds, in their order."""

    def __post_init__(self) -> None:
        if (found := _misplaced(self.intervals)) is not None:
            index, problem, allowed = found
            raise ScenarioError(f"intervals[{index}]", self.intervals[index], problem, allowed)

    def changes(self, rng: random.Random) -> Iterator[float]:  # noqa: ARG002
        return _flips(self.intervals)


@dataclass(frozen=True)
class RandomOutages(Checked):
    """Up for an exponential time of mean `mean_up` seconds, down for one of mean `mean_down`, and so on."""

    mean_up: Positive
    """For how long it is up on average, in seconds."""
    mean_down: Positive
    """For how long it is down on average, in seconds."""

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
    """A text file, `down,up` a line in seconds; a relative path of a scenario starts at its file."""
    intervals: tuple[Interval, ...] = field(init=False, repr=False, hash=False)

    def __post_init__(self) -> None:
        rows = _read_trace(self.file, ("down", "up"), "seconds: 0 <= down < up")
        object.__setattr__(self, "intervals", tuple(interval for _, interval in rows))
        if (found := _misplaced(self.intervals)) is not None:
            index, problem, allowed = found
            raise ScenarioError("down,up", self.intervals[index], problem, allowed, str(self.file), rows[index][0])

    def changes(self, rng: random.Random) -> Iterator[float]:  # noqa: ARG002
        return _flips(self.intervals)


def _either(first: Iterator[float], second: Iterator[float]) -> Iterator[float]:
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
    """Up or down, read at finite times that never go back; in all it takes one step a flip.

    Each of `flips` increases; where there are several, it is down whenever one of them is. Between two reads only
    those that have passed are taken, and one more. At a flip the new state holds. You get a `SimulationError` for a
    time before the last flip that was passed: that state is forgotten.
    """

    __slots__ = ("_down", "_flips", "_since", "_until")

    def __init__(self, *flips: Iterable[float]) -> None:
        self._flips = reduce(_either, map(iter, flips))
        self._down = False
        self._since, self._until = -math.inf, next(self._flips, math.inf)

    def is_down(self, now: float) -> bool:
        """Whether it is down at `now`."""
        if not self._since <= now < self._until:
            self._pass(now)
        return self._down

    @property
    def gone(self) -> bool:
        """Whether it was down for good when it was last read."""
        return self._down and self._until == math.inf

    def down_from(self, now: float) -> float:
        """The first time from `now` on at which it is down, ∞ if there is none."""
        return now if self.is_down(now) else self._until

    def next_change(self, now: float) -> float:
        """The first flip after `now`, ∞ if there is none."""
        if not self._since <= now < self._until:
            self._pass(now)
        return self._until

    def _pass(self, now: float) -> None:
        if not self._since <= now < math.inf:
            raise SimulationError(f"a Switch was read at {now} s, but it goes forward only, from {self._since} s")
        while self._until <= now:
            self._since, self._until = self._until, next(self._flips, math.inf)
            self._down = not self._down
