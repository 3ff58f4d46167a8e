"""Command `netsim report`."""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from netsim.errors import ScenarioError
from scenarios.cli.options import complete_results, given, taken
from scenarios.render.terminal import console, fail, line, problems
from scenarios.results.files import PAGE, RESULTS

if TYPE_CHECKING:
    from scenarios.build.progress import Progress


def report(
    folder: Annotated[
        Path, taken(help="A results folder, or the results.json in it.", autocompletion=complete_results)
    ],
    out: Annotated[Path | None, given(help="The page. Default: report.html in the folder.")] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    figures: Annotated[bool, typer.Option("--figures", help="Also write the page's figures as files.")] = False,
    tables: Annotated[bool, typer.Option("--tables", help="Also write the three epsilons as LaTeX and CSV.")] = False,
    into: Annotated[Path | None, given(help="Folder of figures and tables. Default: FOLDER/figures.")] = None,
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
    from scenarios.render.page.epsilons import export_tables
    from scenarios.render.page.export import export_figures
    from scenarios.results.folder import read_results

    place = folder.parent if folder.name == RESULTS else folder
    lines: list[str] = []
    try:
        with Bars(problems, lines=False) as bars:
            pages = _pages(place, out, bars)
        results, target = read_results(place), into or place / "figures"
        if figures:
            with Bars(console) as bars:
                found = export_figures(
                    results, target, formats=kinds.split(","), dpi=dpi, width=width, source=str(place / RESULTS),
                    progress=bars,
                )  # fmt: skip
            lines.append(f"Figures: {len(found)}, in {target}, with their captions")
        if tables:
            names = [one.name for one in results.variants or () if (place / one.name / RESULTS).is_file()]
            runs = {name: read_results(place / name) for name in names} or {results.name: results}
            lines.append(f"Tables: {', '.join(export_tables(runs, target, str(place / RESULTS)))} in {target}")
    except ScenarioError as error:
        fail(error)
    console.print(f"Report: [bold]{escape(str(pages[0]))}[/]", highlight=False, soft_wrap=True)
    if len(pages) > 1:
        console.print(f"and {len(pages) - 1} of its variants", highlight=False)
    for one in lines:
        line(one)
    if show and not webbrowser.open(pages[0].absolute().as_uri()):
        fail(ScenarioError("--open", str(pages[0]), "no browser was found", "open the file by hand"))


def _pages(folder: Path, out: Path | None, progress: "Progress") -> list[Path]:
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
    variants = [folder / one.name for one in results.variants or () if out is None and one.report]
    progress.begin("writing the page", 1 + len(variants))
    pages = [folder / PAGE if out is None else out / PAGE if out.is_dir() else out]
    pages += [place / PAGE for place in variants if (place / RESULTS).is_file()]
    for page in pages:
        try:
            render(results if page is pages[0] else read_results(page.parent), page)
        except OSError as error:
            why = f"cannot be written ({error.strerror or error})"
            raise ScenarioError("--out", str(page), why, "a file") from None
        progress.advance(1)
    return pages
