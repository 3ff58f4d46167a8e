"""Command `netsim lab`."""

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.markup import escape
from rich.table import Table

from netsim.errors import ScenarioError, install
from scenarios.cli.options import command, given, taken
from scenarios.render.terminal import console, fail, line

if TYPE_CHECKING:
    from scenarios.lab.server import Lesson

COPIES = Path("netsim-lab")
"""Folder for the copy of a shipped lesson that `--edit` opens."""
NEEDED = ("marimo", "uvicorn", "zmq")


@command("lab", "netsim lab", "netsim lab noise", "netsim lab --list")
def _lab(
    lesson: Annotated[
        str | None, taken(help="A lesson's number or name, a notebook (.py), or a folder of them. Default: all.")
    ] = None,
    port: Annotated[int | None, given(min=1, max=65535, help="Port. Default: 2719 or the next free one.")] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    headless: Annotated[bool, typer.Option("--headless", help="The same as --no-browser.")] = False,
    edit: Annotated[
        bool, typer.Option("--edit", help="Open the lesson in marimo's editor; for a shipped one, a copy.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="Only print the lessons.")] = False,
    copy: Annotated[
        Path | None,
        given(help="Copy the lesson, or all, into this folder; existing files are kept.", metavar="FOLDER"),
    ] = None,
) -> None:
    """The teaching lab: lessons that run live in the browser, with sliders and questions.

    Everything runs on this machine, and the page is served to this machine only. Ctrl-C ends it. Exit status: 0 done,
    2 wrong input, or marimo is missing.
    """
    from scenarios.lab.server import HOST, Lesson, chosen, free_port, lessons, serve

    try:
        found, one = list(lessons()), cast("Lesson | None", None)
        if lesson and (place := Path(lesson)).is_dir():
            if not (found := list(lessons(place))):
                allowed = "a folder with marimo notebooks (.py)"
                raise ScenarioError("lesson", lesson, "a folder without a lesson", allowed)
        elif lesson is not None and lesson.endswith(".py"):
            if not Path(lesson).is_file() or (one := Lesson.of(Path(lesson))) is None:
                why = "no marimo notebook" if Path(lesson).is_file() else "no such file"
                raise ScenarioError("lesson", lesson, why, "a marimo notebook (.py)")
            found = [one]
        elif lesson is not None:
            one = chosen(lesson, found)
        if listed:
            table = Table(box=None, padding=(0, 2, 0, 0))
            for column in ("", "lesson", "subject"):
                table.add_column(column, no_wrap=column == "lesson")
            for number, each in enumerate(found, 1):
                table.add_row(str(number), f"[bold]{escape(each.name)}[/]", escape(f"{each.title}. {each.sentence}"))
            console.print(table)
            console.print("\nOpen one with [bold]netsim lab NAME[/], all with [bold]netsim lab[/].", highlight=False)
        elif edit:
            _edit(one, copy, port, browser and not headless)
        elif copy is not None:
            _copy(found if one is None else [one], copy)
        else:
            _need_marimo(one)
            number = free_port(port)
            token = secrets.token_urlsafe(16)
            page = f"http://{HOST}:{number}/{'' if one is None else f'{one.name}/'}?token={token}"
            console.print(f"The lab: [bold]{page}[/] Ctrl-C ends it.", highlight=False, soft_wrap=True)
            console.file.flush()
            serve(found, number, token, browser=page if browser and not headless else None)
            console.file.flush()
            os._exit(0)  # the lessons that were opened go on in threads, for which a normal end would wait
    except ScenarioError as error:
        fail(error)


def _copy(lessons: "list[Lesson]", folder: Path) -> "list[Path]":
    try:
        folder.mkdir(parents=True, exist_ok=True)
        copies = [folder / one.path.name for one in lessons]
        for one, target in zip(lessons, copies, strict=True):
            kept = target.exists()
            if not kept:
                target.write_text(one.path.read_text(encoding="utf-8"), encoding="utf-8")
            line(f"{target} is there already, and was kept" if kept else str(target))
    except OSError as error:
        why = f"cannot be written ({error.strerror or error})"
        raise ScenarioError("--copy", str(folder), why, "a folder to write to") from None
    return copies


def _edit(one: "Lesson | None", folder: Path | None, port: int | None, browser: bool) -> None:
    import subprocess
    import sys

    from scenarios.lab.server import HOST, SHIPPED, free_port

    if one is None:
        raise ScenarioError("lesson", None, "--edit opens one lesson", "the number, name or file of one")
    _need_marimo(one)
    path = _copy([one], folder or COPIES)[0] if folder or one.path.parent == SHIPPED else one.path
    command = [sys.executable, "-m", "marimo", "edit", str(path), "--host", HOST, "--port", str(free_port(port))]
    console.print(f"Editing [bold]{path}[/]. Ctrl-C ends it.", highlight=False)
    try:
        subprocess.run([*command, "--skip-update-check", *([] if browser else ["--headless"])], check=False)
    except KeyboardInterrupt:
        return


def _need_marimo(one: "Lesson | None") -> None:
    """You get a `ScenarioError` that names the extra where marimo is not installed."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in NEEDED):
        opened = "all" if one is None else one.name
        raise ScenarioError("lesson", opened, "needs marimo, which is not installed", install("lab"))
