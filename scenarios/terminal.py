"""What every command shares: the two consoles, the exit codes, and how an error is said."""

import os
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from netsim.errors import ScenarioError

DONE, REFUTED, WRONG_INPUT, FAILED, INTERRUPTED = 0, 1, 2, 70, 130


class _Console(Console):
    """A reader who has seen enough (`| head`) ends the output, not the run, and is no finding."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), self.file.fileno())


console = _Console()
problems = _Console(stderr=True)


def fail(error: Exception, folder: Path | None = None) -> NoReturn:
    """Say what is wrong, the error's notes too, and where the folder is that holds what was done."""
    told = [one.sentence() for one in error.each()] if isinstance(error, ScenarioError) else [str(error)]
    lines = [f"[bold red]{type(error).__name__}[/]: {escape(one)}" for one in told]
    lines += map(escape, _notes(error))
    if len(told) > 1:
        lines.append(f"{len(told)} mistakes")
    if folder is not None and (folder / "report.html").exists():
        lines.append(f"What was done until then: [bold]{escape(str(folder / 'report.html'))}[/]")
    for line in lines:
        problems.print(line, highlight=False, soft_wrap=True)
    raise typer.Exit(WRONG_INPUT if isinstance(error, ScenarioError) else FAILED)


def _notes(error: Exception) -> list[str]:
    notes: list[str] = getattr(error, "__notes__", [])
    return notes
