"""Command `netsim compare`."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from netsim.errors import ScenarioError
from scenarios.cli.options import complete_results, given, taken
from scenarios.render.terminal import console, fail, line, problems, write_result

if TYPE_CHECKING:
    from scenarios.render.comparison import Comparison

PAGE = Path("comparison.html")


def compare(
    places: Annotated[
        list[str],
        taken(
            metavar="FOLDER…",
            autocompletion=complete_results,
            help="Results folders, folders of scenarios with variants, or FOLDER:SLUG for one algorithm.",
        ),
    ],
    out: Annotated[Path | None, given(help=f"The page to write. Default: {PAGE}, or none with --json.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, in place of tables.")] = False,
) -> None:
    """Compare runs on one page: the fields in which they differ, all their epsilons, curves, leakage and costs.

    The first run is the base of the others. What cannot be compared is named. Nothing is run again.

    Exit status: 0 done, 2 wrong input.
    """
    from scenarios.cli.progress import Bars

    try:
        with Bars(problems, lines=False) as bars:
            bars.begin("comparing", 3)
            from scenarios.render.compared_runs import read_runs
            from scenarios.render.comparison import Comparison
            from scenarios.render.page.comparison import page as page_of

            runs = read_runs(places)
            bars.advance(1)
            comparison = Comparison(runs)
            bars.advance(1)
            page = out if out is not None or as_json else PAGE
            if page is not None:
                if page.is_dir() or page.suffix not in (".html", ".htm"):
                    raise ScenarioError("--out", str(page), "not the name of a page", "a file that ends in .html")
                if not page.parent.is_dir():
                    why = f"there is no folder {page.parent}"
                    raise ScenarioError("--out", str(page), why, "a folder that is there")
                page.write_text(page_of(comparison), encoding="utf-8")
    except ScenarioError as error:
        fail(error, as_json=as_json)
    if as_json:
        write_result(comparison.result())
        return
    _print(comparison)
    console.print(f"\nPage: [bold]{page}[/]", soft_wrap=True, highlight=False)


def _print(comparison: "Comparison") -> None:
    from scenarios.render.compared_runs import ABSENT
    from scenarios.render.comparison import CONFIDENCE, QUANTITIES
    from scenarios.render.page.comparison import exact_words, run_cells, times, verdict_cells
    from scenarios.render.verdicts import coloured
    from scenarios.results.numbers import MISSING, setting

    for caution in comparison.cautions:
        line(caution, style="yellow")
    verdicts = _table("algorithm", right=("ε claimed", "ε exact [interval]", "ε audited", "δ"), last="verdict")
    for one in comparison.subjects:
        verdicts.add_row(escape(one.label), *verdict_cells(one)[:4], coloured(one.entry))
    console.print(verdicts)
    ends = _table("algorithm", right=("final error", "inferred", "their error", "Θ", "messages", "bytes"))
    for one in comparison.subjects:
        cells = run_cells(one)
        ends.add_row(escape(one.label), cells[0].partition(" [")[0], *cells[2:7])
    console.print(ends)
    if len(comparison.runs) > 1:
        if comparison.unrecorded:
            names = ", ".join(comparison.unrecorded)
            line(f"Not recorded of {names}: the parameters of the class, and the code.", style="yellow")
        if not comparison.differences:
            line("The scenarios are the same in every field.")
        else:
            differences = _table("field", *(escape(run.label) for run in comparison.runs))
            for one in comparison.differences:
                cells = [MISSING if value is ABSENT else escape(setting(value)) for value in one.values]
                differences.add_row(escape(one.field), *cells)
            console.print(differences)
    for one in comparison.against:
        console.print(f"[bold]{escape(one.other)}[/] against {escape(one.base)}:", highlight=False)
        for name, words in QUANTITIES.items():
            found = getattr(one, name)
            how = "" if found is None else f", replicas {'' if found.paired else 'not '}paired"
            line(f"  {words}: {times(found, one.why.get(name, ''))}{how}")
        if one.epsilon_exact is not None or "epsilon_exact" in one.why:
            line(f"  exact ε: {exact_words(one)}")
    if comparison.against:
        line(f"The intervals of ratios hold together at {CONFIDENCE:.0%}; × is times as large.")


def _table(first: str, *left: str, right: Iterable[str] = (), last: str | None = None) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in (first, *left):
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right", no_wrap=True, overflow="fold")
    if last is not None:
        table.add_column(last, overflow="fold")
    return table
