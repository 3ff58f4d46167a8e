"""How far a run is, on the terminal."""

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Bars:
    """A progress bar per stage, with the time left; where the output is no terminal, one line per stage."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓[/]"), TextColumn("{task.description}"), BarColumn(bar_width=16),
            TimeElapsedColumn(), TimeRemainingColumn(), console=console, disable=not console.is_terminal,
        )  # fmt: skip
        self._task: TaskID | None = None

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()
        self._progress.stop()

    def begin(self, stage: str, total: int) -> None:
        self._finish()
        if not self._console.is_terminal:
            self._console.print(f"· {stage}", highlight=False)
        self._task = self._progress.add_task(escape(stage), total=total)

    def advance(self, steps: int) -> None:
        if self._task is not None:
            self._progress.advance(self._task, steps)

    def _finish(self) -> None:
        if self._task is not None:
            task = next(t for t in self._progress.tasks if t.id == self._task)
            self._progress.update(self._task, completed=task.total)
