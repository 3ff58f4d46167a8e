"""What every command shares: the two consoles, the exit codes, and how an error is said."""

import os
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from netsim.errors import NetsimError, ScenarioError, together
from scenarios.places import PAGE

DONE, REFUTED, WRONG_INPUT, FAILED, INTERRUPTED = 0, 1, 2, 70, 130


class _Console(Console):
    """A reader who has seen enough (`| head`) ends the output, not the run, and is no finding."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), self.file.fileno())


console = _Console()
problems = _Console(stderr=True)


def apart(as_json: bool) -> Console:
    """Where a command says what is for people: apart from the one document that `--json` prints."""
    return problems if as_json else console


def write(text: str) -> None:
    """A text on the standard output as it is, with a line end: no colours, nothing wrapped or cut."""
    try:
        console.file.write(text + "\n")
        console.file.flush()
    except BrokenPipeError:
        console.on_broken_pipe()


def write_document(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """The one JSON document of `--json`; infinities and NaN are the texts "inf", "-inf", "nan"."""
    from scenarios.jsonfile import as_json

    write(as_json(value))


def remark(text: str) -> None:
    """A plain sentence apart from what was asked, so that JSON stays JSON."""
    if text:
        problems.print(text, highlight=False, markup=False, soft_wrap=True)


def status_of(error: Exception) -> int:
    """The exit status of a command that this error ended: wrong input, or a failure."""
    return WRONG_INPUT if isinstance(error, ScenarioError) else FAILED


def stopped(error: BaseException | None) -> bool:
    """Whether a Ctrl-C is behind an error: an extension module that was just being loaded makes an ImportError of it.
    Such a module must not be asked anything any more, not even to clean up: see `leave`."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def leave() -> NoReturn:
    """End here and now, as interrupted."""
    for console_ in (console, problems):
        console_.file.flush()
    os._exit(INTERRUPTED)


def fail(
    error: Exception,
    folder: Path | None = None,
    *,
    status: int | None = None,
    said: str | None = None,
    options: Mapping[str, str] | None = None,
    as_json: bool = False,
) -> NoReturn:
    """`tell` what is wrong, where the folder is that holds what was done, and end with the exit status.

    `status`: in place of `status_of`. `said`: in place of the error's own words. `options`: a field of Python by the
    option's name on the command line. With `as_json` the standard output gets a document with the `error`, too.
    """
    if isinstance(error, ScenarioError) and options is not None:
        named = [replace(one, field=options.get(one.field, one.field)) for one in error.each()]
        error = together(named)
    if isinstance(error, ImportError | SystemError) and stopped(error):
        leave()
    code = status_of(error) if status is None else status
    told = str(error) if said is None else said
    if "coroutine" in str(error):  # Python would say of it, after the last line, that it was not awaited
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    kept: dict[str, Any] = {}
    page: Path | None = None
    if folder is not None and (folder / PAGE).exists():
        kept, page = {"folder": str(folder)}, folder / PAGE
    tell(error, said=said, page=page)
    if as_json:
        write_document({"exit_status": code, "exit_reason": told, "error": error_as_plain(error)} | kept)
    raise typer.Exit(code)


def tell(error: Exception, before: str = "", *, said: str | None = None, page: Path | None = None) -> None:
    """Say an error with its notes, a hint last; one that netsim does not raise on purpose, a defect, in full. `page`:
    of what was done until then."""
    if not isinstance(error, NetsimError):
        traceback.print_exception(error)
    if page is not None:
        done = f"What was done until then: [bold]{escape(str(page))}[/]"
        problems.print(done, highlight=False, soft_wrap=True)
    words = [str(error) if said is None else said]
    if said is None and isinstance(error, ScenarioError):
        words = [one.sentence() for one in error.each()]
    lines = [f"{escape(before)}[bold red]{type(error).__name__}[/]: {escape(one)}" for one in words]
    lines += map(escape, _notes(error))
    if len(words) > 1:
        lines.append(f"{len(words)} mistakes")
    for line in lines:
        problems.print(line, highlight=False, soft_wrap=True)


def error_as_plain(error: Exception) -> dict[str, Any]:
    """An error for machines: `type`, `message`, and of a `ScenarioError` all `mistakes`, each with where it is and
    what is allowed."""
    plain: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, ScenarioError):
        plain["mistakes"] = [_mistake(one) for one in error.each()]
    return plain


def _mistake(error: ScenarioError) -> dict[str, Any]:
    where: dict[str, Any] = {"file": error.file, "line": error.line, "field": error.field}
    return where | {"value": _value(error.value), "problem": error.problem, "allowed": error.allowed}


def _value(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _notes(error: Exception) -> list[str]:
    notes: list[str] = getattr(error, "__notes__", [])
    return notes
