"""Progress on the terminal: bars, and a panel of the run above them."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console, RenderableType
from rich.filesize import decimal
from rich.markup import escape
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column, Table
from rich.text import Text

from scenarios.build.duration import duration, how_far

if TYPE_CHECKING:
    from netsim.running import Running

WINDOW = 1.0
"""Seconds of real time over which rates are taken."""
NARROW = 60
"""Columns of a terminal below which there is no bar beside the times."""
EVERY = 5.0
"""Seconds between plain lines."""
SILENCE = 8.0
"""Seconds without a line, where the output is no terminal, after which one says what is being done."""
SENTENCES = 3
"""Waiting agents that are named."""


class _Moment(NamedTuple):
    """Real and virtual seconds, and packets that had arrived."""

    real: float
    now: float
    delivered: int


@dataclass
class Watcher:
    """Looks at runs (`look`), and shows the last one: `panel` on a terminal, else lines on the console."""

    console: Console
    clock: Callable[[], float] = time.monotonic
    panel: RenderableType | None = None
    _moments: deque[_Moment] = field(default_factory=deque[_Moment])
    _running: "Running | None" = None
    _printed: float = 0.0

    def look(self, running: "Running") -> None:
        """Take in a run as it is now. A run not seen before is one that has just begun."""
        now = _Moment(self.clock(), running.now, running.traffic()["packets_delivered"])
        if running is not self._running:
            self._running, self._printed = running, now.real
            self._moments.clear()
        self._moments.append(now)
        while len(self._moments) > 2 and self._moments[1].real <= now.real - WINDOW:
            self._moments.popleft()
        if self.console.is_terminal:
            self.panel = self._table(running)
        elif now.real - self._printed >= EVERY:
            self._printed = now.real
            spooled, rates = running.spooled(), self._rates()
            words = (
                f"  t={running.now:.6g} s; closed: {_closed(running)}; {rates[0]} packets per real second, "
                f"{rates[1]} per virtual second; {_bytes(running)}; {len(running.waiting())} agents wait; "
                f"{spooled['rows'] + spooled['in_memory']:,} rows captured"
            )
            self.console.print(words, highlight=False, markup=False, soft_wrap=True)

    def _rates(self) -> tuple[str, str]:
        """Packets that arrived per real and per virtual second of late; 0 where no time has passed."""
        first, last = self._moments[0], self._moments[-1]
        packets, real, virtual = last.delivered - first.delivered, last.real - first.real, last.now - first.now
        return f"{packets / real if real > 0 else 0.0:,.0f}", f"{packets / virtual if virtual > 0 else 0.0:,.4g}"

    def _table(self, running: "Running") -> Table:
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True, min_width=len("virtual time"))
        table.add_column()
        carried, waiting, spooled, rates = running.traffic(), running.waiting(), running.spooled(), self._rates()
        table.add_row("virtual time", f"{running.now:,.6g} s")
        table.add_row("closed", _closed(running))
        table.add_row(
            "packets",
            f"{carried['packets_sent']:,} sent, {carried['packets_in_flight']:,} in flight; arriving: {rates[0]} "
            f"per real second, {rates[1]} per virtual second",
        )
        table.add_row("bytes", _bytes(running))
        named = "; ".join(waiting[:SENTENCES]) + ("; …" if len(waiting) > SENTENCES else "")
        agents = f"{len(waiting):,} of {len(running.activations):,} agents"
        table.add_row("waiting", Text(f"{agents}: {named}" if named else agents))
        rows = f"{spooled['rows']:,} rows on disk ({decimal(spooled['bytes'])}), {spooled['in_memory']:,} in memory"
        table.add_row("captured", rows)
        return table


def _closed(running: "Running") -> str:
    counts = running.activations
    return f"{sum(counts):,} rounds or activations, {min(counts):,} … {max(counts):,} by one agent"


def _bytes(running: "Running") -> str:
    carried = running.traffic()
    return ", ".join(
        f"{decimal(carried[f'bytes_{word}'])} {word}" for word in ("sent", "delivered", "lost", "dropped")
    )


class _Stacked(Progress):
    watcher: Watcher | None = None
    doing: tuple[str, ...] = ()

    def get_renderables(self) -> Iterable[RenderableType]:
        if self.watcher is not None and self.watcher.panel is not None:
            yield self.watcher.panel
        yield from (Text(f"    {line}", style="dim", no_wrap=True, overflow="ellipsis") for line in self.doing)
        yield from super().get_renderables()


class _Sign(SpinnerColumn):
    """A tick for a stage that is done, a cross for one that was broken off."""

    def render(self, task: Task) -> RenderableType:
        return Text("✗", style="red") if task.fields.get("broken") else super().render(task)


class _Left(TextColumn):
    """About how long a stage still takes."""

    def __init__(self) -> None:
        super().__init__("", style="cyan", table_column=Column(no_wrap=True, min_width=len("90 min left")))

    def render(self, task: Task) -> Text:
        return Text(_left(task), style=self.style)


def _left(task: Task) -> str:
    """About how long a stage still takes, in words: from the steps done, and before there are any, from the estimate;
    "" where that is not known, or over."""
    now, total = task.elapsed or 0.0, task.total or 0.0
    whole = task.fields["seconds"]
    if 0 < task.completed < total:
        whole = task.fields["stepped"] * total / task.completed
    left = whole - now
    return f"{duration(left)} left" if left > 0 and not task.finished else ""


class Bars:
    """A progress bar per stage, with the time taken, and where there is room the time left; where the output is no
    terminal, a line per stage, and one whenever a stage has been silent.

    What a `watcher` shows of the run is above the bars. Without `lines` an output that is no terminal gets nothing,
    and the bars of a terminal are gone when all is done: for a command whose answer is all that is to be read.
    `breaks_silence`: an output that is no terminal gets a line whenever a stage has been silent (default: as
    `lines`). `in_bytes`: steps are bytes.
    """

    def __init__(
        self,
        console: Console,
        watcher: Watcher | None = None,
        *,
        lines: bool = True,
        breaks_silence: bool | None = None,
        in_bytes: bool = False,
    ) -> None:
        self._console, self._lines = console, lines
        self._breaks_silence = lines if breaks_silence is None else breaks_silence
        self._progress = _Stacked(
            _Sign(finished_text="[green]✓[/]"), TextColumn("{task.description}", table_column=Column()),
            *([BarColumn(bar_width=16)] if console.width >= NARROW else []),
            *([DownloadColumn()] if in_bytes else []),
            TimeElapsedColumn(Column(no_wrap=True, min_width=len("0:00:00"))),
            *([_Left()] if console.width >= NARROW else []),
            console=console, disable=not console.is_terminal, transient=not lines,
        )  # fmt: skip
        self._progress.watcher = watcher
        self._task: TaskID | None = None
        self._over, self._stage, self._spoke = threading.Event(), "", time.monotonic()

    def __enter__(self) -> "Bars":
        self._progress.start()
        if self._breaks_silence and not self._console.is_terminal:
            threading.Thread(target=self._break_silence, daemon=True).start()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        if error is not None:
            self.broken()
        self._finish()
        self._progress.stop()

    def begin(self, stage: str, total: int | None, seconds: float = math.nan, /) -> None:
        """A new stage of so many steps, and about so many seconds; None, nan: nobody knows how many."""
        self._finish()
        self._stage, self._spoke = stage, time.monotonic()
        if self._lines and not self._console.is_terminal:
            self._console.print(f"· {stage}", highlight=False, markup=False)
        self._task = self._progress.add_task(escape(stage), total=total, seconds=seconds, stepped=0.0)

    def advance(self, steps: int) -> None:
        if self._task is not None:
            self._progress.update(self._task, advance=steps, stepped=self._at_hand.elapsed)

    def broken(self) -> None:
        """The stage at hand ends with a cross."""
        if self._task is not None:
            self._progress.update(self._task, broken=True)

    def say(self, sentence: str) -> None:
        self._spoke = time.monotonic()
        self._progress.console.print(Padding(escape(sentence), (0, 0, 0, 4)), style="dim", highlight=False)

    @property
    def _at_hand(self) -> Task:
        return next(task for task in self._progress.tasks if task.id == self._task)

    def doing(self, lines: list[str]) -> None:
        """What is done within the stage at this moment, a line for each process: above the bars, or where silence is
        broken."""
        self._progress.doing = tuple(lines)

    def _break_silence(self) -> None:
        while not self._over.wait(max(0.01, self._spoke + SILENCE - time.monotonic())):
            for task in self._progress.tasks[-1:]:
                if time.monotonic() - self._spoke >= SILENCE:
                    self._spoke = time.monotonic()
                    far = (how_far(task.completed, task.total), duration(task.elapsed or 0), _left(task))
                    first, *others = self._progress.doing or ("",)
                    more = f" (and {len(others)} more)" * bool(others)
                    words = f"… {self._stage}: {', '.join(filter(None, far))}{'; ' * bool(first)}{first}{more}"
                    self._console.print(f"    {words}", style="dim", highlight=False, markup=False, soft_wrap=True)

    def _finish(self) -> None:
        if self._progress.watcher is not None:
            self._progress.watcher.panel = None
        if self._task is not None:
            total = self._at_hand.total or 1
            self._progress.update(self._task, completed=total, total=total)
