"""Command `netsim report`."""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from netsim.errors import ScenarioError
from scenarios.cli.options import complete_results
from scenarios.render.terminal import console, fail, problems
from scenarios.results.files import PAGE, RESULTS

if TYPE_CHECKING:
    from scenarios.build.progress import Progress

FOLDER = typer.Argument(
    help="A results folder, or the results.json in it.", show_default=False, autocompletion=complete_results
)


def report(
    folder: Annotated[Path, FOLDER],
    out: Annotated[
        Path | None, typer.Option(help="The page. Default: report.html in the folder.", show_default=False)
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    figures: Annotated[bool, typer.Option("--figures", help="Also write the page's figures as files.")] = False,
    tables: Annotated[bool, typer.Option("--tables", help="Also write the three epsilons as LaTeX and CSV.")] = False,
    into: Annotated[
        Path | None,
        typer.Option(help="Folder of figures and tables. Default: FOLDER/figures.", show_default=False),
    ] = None,
    kinds: Annotated[
        str, typer.Option("--format", help="Formats of figures: svg, png, pdf, or several, with commas.")
    ] = "svg,png",
    dpi: Annotated[int, typer.Option(help="Dots per inch of PNG figures.")] = 300,
    width: Annotated[str, typer.Option(help="Width of figures: 3.5in, 89mm, 252pt.")] = "3.5in",
) -> None:
    """Write the page of a results folder again, from its results.json alone: nothing is run.

    For a run that was interrupted or killed, and for a page to put elsewhere. For a scenario with variants: the page
    over all of them, and without --out also those of each.

    Exit status: 0 done, 2 wrong input.
    """
    from scenarios.cli.progress import Bars

    place = folder.parent if folder.name == RESULTS else folder
    try:
        with Bars(problems, lines=False) as bars:
            pages = make(place, out, bars)
        written = exported(place, into, figures, tables, kinds.split(","), dpi, width)
    except ScenarioError as error:
        fail(error)
    console.print(f"Report: [bold]{escape(str(pages[0]))}[/]", highlight=False, soft_wrap=True)
    if len(pages) > 1:
        console.print(f"and {len(pages) - 1} of its variants", highlight=False)
    for line in written:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if show and not webbrowser.open(pages[0].absolute().as_uri()):
        fail(ScenarioError("--open", str(pages[0]), "no browser was found", "open the file by hand"))


def exported(
    folder: Path, into: Path | None, figures: bool, tables: bool, kinds: list[str], dpi: int, width: str
) -> list[str]:
    """Write figures and tables for papers, as far as they are asked for; a sentence of each."""
    from scenarios.render.page.epsilons import export_tables
    from scenarios.render.page.export import export_figures
    from scenarios.results.folder import read_results

    if not (figures or tables):
        return []
    results, place, told = read_results(folder), into or folder / "figures", list[str]()
    if figures:
        from scenarios.cli.progress import Bars

        with Bars(console) as bars:
            found = export_figures(
                results,
                place,
                formats=kinds,
                dpi=dpi,
                width=width,
                source=str(folder / RESULTS),
                progress=bars,
            )
        told.append(f"Figures: {len(found)}, in {place}, with their captions")
    if tables:
        names = [one.name for one in results.variants or ()]
        there = [name for name in names if (folder / name / RESULTS).is_file()]
        runs = {name: read_results(folder / name) for name in there} or {results.name: results}
        told.append(f"Tables: {', '.join(export_tables(runs, place, str(folder / 'results.json')))} in {place}")
    return told


def make(folder: Path, out: Path | None = None, progress: "Progress | None" = None) -> list[Path]:
    """Write the page of a results folder, and of its variants where it is to lie in the folder; the paths, the page
    over all first.

    You get a `ScenarioError` for a folder without results, and for a page that cannot be written.
    """
    from scenarios.render.page.report import render
    from scenarios.results.folder import read_results

    if not (folder / RESULTS).is_file():
        why = "no results folder: it has no results.json" if folder.is_dir() else "no such folder"
        raise ScenarioError("folder", str(folder), why, "a folder that `netsim run` or `netsim audit` left")
    results = read_results(folder)
    page = folder / PAGE if out is None else out / PAGE if out.is_dir() else out
    inner = [folder / one.name for one in results.variants or () if out is None and one.report]
    if progress is not None:
        progress.begin("writing the page", 1 + len(inner))
    try:
        render(results, page)
    except OSError as error:
        raise ScenarioError("--out", str(page), f"cannot be written ({error.strerror or error})", "a file") from None
    pages = [page]
    for place in inner:
        if progress is not None:
            progress.advance(1)
        pages += make(place) if (place / RESULTS).is_file() else []
    return pages
