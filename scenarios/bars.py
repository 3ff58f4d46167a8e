"""How far a run is, on the terminal."""

from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from scenarios.watching import Watcher


class _Stacked(Progress):
    """Bars below what a watcher shows."""

    watcher: Watcher | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        if self.watcher is not None and self.watcher.panel is not None:
            yield self.watcher.panel
        yield from super().get_renderables()


class Bars:
    """A progress bar per stage, with the time left; where the output is no terminal, one line per stage.

    What a `watcher` shows of the run is above the bars. Without `lines` an output that is no terminal gets nothing,
    and the bars of a terminal are gone when all is done: for a command whose answer is all that is to be read.
    `in_bytes`: steps are bytes.
    """

    def __init__(
        self, console: Console, watcher: Watcher | None = None, *, lines: bool = True, in_bytes: bool = False
    ) -> None:
        self._console, self._watcher, self._lines = console, watcher, lines
        self._progress = _Stacked(
            SpinnerColumn(finished_text="[green]✓[/]"), TextColumn("{task.description}"), BarColumn(bar_width=16),
            *([DownloadColumn()] if in_bytes else []), TimeElapsedColumn(), TimeRemainingColumn(),
            console=console, disable=not console.is_terminal, transient=not lines,
        )  # fmt: skip
        self._progress.watcher = watcher
        self._task: TaskID | None = None

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()
        self._progress.stop()

    def begin(self, stage: str, total: int | None) -> None:
        """A new stage of so many steps; None: nobody knows how many."""
        self._finish()
        if self._lines and not self._console.is_terminal:
            self._console.print(f"· {stage}", highlight=False, markup=False)
        self._task = self._progress.add_task(escape(stage), total=total)

    def advance(self, steps: int) -> None:
        if self._task is not None:
            self._progress.advance(self._task, steps)

    def say(self, sentence: str) -> None:
        self._progress.console.print(Padding(escape(sentence), (0, 0, 0, 4)), style="dim", highlight=False)

    def _finish(self) -> None:
        if self._watcher is not None:
            self._watcher.clear()
        if self._task is not None:
            task = next(t for t in self._progress.tasks if t.id == self._task)
            self._progress.update(self._task, completed=task.total or 1, total=task.total or 1)
