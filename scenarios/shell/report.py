"""The command `netsim report`."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from netsim.errors import ScenarioError
from scenarios.terminal import console, fail

FOLDER = typer.Argument(help="A results folder, or the results.json in it.", show_default=False)
PAGE = "report.html"


def report(
    folder: Annotated[Path, FOLDER],
    out: Annotated[
        Path | None, typer.Option(help="The page; if not given, report.html in the folder.", show_default=False)
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> None:
    """Make the page of a results folder again, from its results.json alone: nothing is run.

    For a run that was interrupted or killed, for results that were written by another release of netsim, and for a
    page to put elsewhere. Of a scenario with variants: the page over all of them, and without --out theirs too.

    Exit status: 0 done, 2 wrong input.
    """
    try:
        pages = make(folder.parent if folder.name == "results.json" else folder, out)
    except ScenarioError as error:
        fail(error)
    console.print(f"Report: [bold]{escape(str(pages[0]))}[/]", highlight=False, soft_wrap=True)
    if len(pages) > 1:
        console.print(f"and {len(pages) - 1} of its variants", highlight=False)
    if show and not webbrowser.open(pages[0].absolute().as_uri()):
        fail(ScenarioError("--open", str(pages[0]), "no browser was found", "open the file by hand"))


def make(folder: Path, out: Path | None = None) -> list[Path]:
    """Write the page of a results folder, and of its variants where it is to lie in the folder; the paths, the page
    over all first.

    You get a `ScenarioError` for a folder without results, and for a page that cannot be written.
    """
    from scenarios.kept import read_results
    from scenarios.report import render
    from scenarios.report.study import render_study

    results = read_results(folder)
    for key in ("name", "status"):
        if key not in results:
            raise ScenarioError("folder", str(folder), f"results.json has no {key!r}", "what `netsim run` wrote")
    page = folder / PAGE if out is None else out / PAGE if out.is_dir() else out
    try:
        (render_study if "variants" in results else render)(results, page)
    except OSError as error:
        raise ScenarioError("--out", str(page), f"cannot be written ({error.strerror or error})", "a file") from None
    inner = [folder / one["name"] for one in results.get("variants", []) if out is None and one.get("report")]
    return [page, *(one for place in inner if (place / "results.json").is_file() for one in make(place))]
