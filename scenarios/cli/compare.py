"""Command `netsim compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scenarios.cli.options import complete_results

if TYPE_CHECKING:
    from scenarios.render.comparison import Comparison

PLACES = typer.Argument(
    help="Results folders, folders of scenarios with variants, or FOLDER:SLUG for one algorithm.",
    show_default=False,
    metavar="FOLDER…",
    autocompletion=complete_results,
)
PAGE = Path("comparison.html")


def compare(
    places: Annotated[list[str], PLACES],
    out: Annotated[
        Path | None,
        typer.Option(help=f"The page to write; if not given, {PAGE}, or none with --json.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, in place of tables.")] = False,
) -> None:
    """Set runs beside each other: in what they differ, all their epsilons, curves, leakage and costs, on one page.

    The first run is the base of the others. Says what cannot be compared. Nothing is run again.

    Exit status: 0 done, 2 wrong input.
    """
    from netsim.errors import ScenarioError
    from scenarios.cli.progress import Bars
    from scenarios.render.terminal import console, fail, problems

    try:
        with Bars(problems, lines=False) as bars:
            bars.begin("comparing", 3)
            from scenarios.render.compared_runs import read_runs
            from scenarios.render.comparison import compared
            from scenarios.render.page.comparison import render_comparison

            runs = read_runs(places)
            bars.advance(1)
            comparison = compared(runs)
            bars.advance(1)
            page = out if out is not None or as_json else PAGE
            if page is not None:
                _writable(page)
                render_comparison(comparison, page)
    except ScenarioError as error:
        fail(error, as_json=as_json)
    if as_json:
        _print_json(comparison)
        return
    _print(comparison)
    console.print(f"\nPage: [bold]{page}[/]", soft_wrap=True, highlight=False)


def _writable(page: Path) -> None:
    from netsim.errors import ScenarioError

    if page.is_dir() or page.suffix not in (".html", ".htm"):
        raise ScenarioError("--out", str(page), "not the name of a page", "a file that ends in .html")
    if not page.parent.is_dir():
        raise ScenarioError("--out", str(page), f"there is no folder {page.parent}", "a folder that is there")


def _print_json(comparison: "Comparison") -> None:
    from scenarios.results.files import as_json

    typer.echo(as_json(comparison.as_plain()))


# ── in the terminal ─────────────────────────────────────────────────────────────────────────────────────
def _print(comparison: "Comparison") -> None:
    from rich.markup import escape

    from scenarios.render.terminal import console

    for line in comparison.cautions:
        console.print(f"[yellow]{escape(line)}[/]", highlight=False, soft_wrap=True)
    console.print(_verdicts(comparison))
    console.print(_ends(comparison))
    if len(comparison.runs) > 1:
        _print_differences(comparison)
    if comparison.against:
        _print_against(comparison)


def _table(*columns: tuple[str, Any]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, justify in columns:
        table.add_column(name, justify=justify, no_wrap=justify == "right", overflow="fold")
    return table


def _verdicts(comparison: "Comparison") -> Any:
    from rich.markup import escape

    from scenarios.render.page.comparison import typed, verdict_row
    from scenarios.render.sentences import word
    from scenarios.render.verdicts import COLOURS

    right = [(name, "right") for name in ("ε claimed", "ε exact [interval]", "ε audited", "δ")]
    table = _table(("algorithm", "left"), *right, ("verdict", "left"))
    for one in comparison.subjects:
        row, verdict = verdict_row(one), word(typed(one))
        coloured = f"[{COLOURS.get(verdict, 'dim')}]{verdict}[/]"
        table.add_row(escape(one.label), row.claimed, row.exact, row.audited, row.delta, coloured)
    return table


def _ends(comparison: "Comparison") -> Any:
    from rich.markup import escape

    from scenarios.render.page.comparison import run_cells

    names = ("final error", "inferred", "their error", "Θ", "messages", "bytes")
    table = _table(("algorithm", "left"), *((name, "right") for name in names))
    for one in comparison.subjects:
        cells = run_cells(one)
        table.add_row(escape(one.label), cells[0].partition(" [")[0], *cells[2:7])
    return table


def _print_differences(comparison: "Comparison") -> None:
    from rich.markup import escape

    from scenarios.render.compared_runs import ABSENT
    from scenarios.render.terminal import console
    from scenarios.results.numbers import flow

    if comparison.unrecorded:
        told = f"Not recorded of {', '.join(comparison.unrecorded)}: what the class sets, and which code it was."
        console.print(f"[yellow]{escape(told)}[/]", highlight=False, soft_wrap=True)
    if not comparison.differences:
        console.print("The scenarios are the same in every field.", highlight=False)
        return
    table = _table(("what differs", "left"), *((escape(run.label), "left") for run in comparison.runs))
    for one in comparison.differences:
        cells = ["–" if value is ABSENT else escape(flow(value)) for value in one.values]
        table.add_row(escape(one.field), *cells)
    console.print(table)


def _print_against(comparison: "Comparison") -> None:
    from rich.markup import escape

    from scenarios.render.comparison import CONFIDENCE, QUANTITIES
    from scenarios.render.page.comparison import exact_words, times
    from scenarios.render.terminal import console

    for one in comparison.against:
        console.print(f"[bold]{escape(one.other.label)}[/] against {escape(one.base.label)}:", highlight=False)
        for name, words in QUANTITIES.items():
            found = one.ratios[name]
            how = "" if found is None else ", replicas paired" if found.paired else ", replicas not paired"
            console.print(f"  {words}: {times(found, one.why.get(name, ''))}{how}", highlight=False, markup=False)
        if one.exact is not None or "epsilon_exact" in one.why:
            console.print(f"  exact ε: {exact_words(one)}", highlight=False)
    console.print(f"The intervals of ratios hold together at {CONFIDENCE:.0%}; × is times as large.", highlight=False)
