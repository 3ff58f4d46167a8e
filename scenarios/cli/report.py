"""Commands `netsim report`, `netsim compare`, `netsim artifact` and `netsim trace`: pages, artifacts and messages of
results that are there."""

import math
import webbrowser
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from netsim.errors import ScenarioError
from netsim.files import not_written
from scenarios.cli.options import Settings, bounded, command, dated_folder, given, of_folder, of_run, refuse, repeated
from scenarios.files.folders import PAGE, RESULTS, SWEEP, SWEPT, check_new, written
from scenarios.render.tables import Column, have_room, print_tables
from scenarios.render.terminal import (
    INTERRUPTED,
    WRONG_INPUT,
    console,
    fail,
    line,
    of_progress,
    print_place,
    problems,
    remark,
    write,
    write_result,
)

if TYPE_CHECKING:
    from scenarios.build.duration import Progress
    from scenarios.render.comparison import Comparison
    from scenarios.render.page.drawing import Chart
    from scenarios.results.tree import Results

_COMPARED = Path("comparison.html")
_LETTERS, _FEWER = 24, 16
"""Letters of an algorithm's label that stand on one line where there is room, and where there is less."""


@command("report", "netsim report results/lossy --open")
def _report(
    folder: Annotated[Path, of_folder(help="A results folder, or the results.json in it; or the folder of a sweep.")],
    out: Annotated[Path | None, given(help="The page. Default: report.html in the folder.")] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    figures: Annotated[
        bool,
        typer.Option(
            "--figures",
            help="Also write the page's figures as files; of a sweep, those over its first fields, or over --over.",
        ),
    ] = False,
    tables: Annotated[bool, typer.Option("--tables", help="Also write the three epsilons as LaTeX and CSV.")] = False,
    into: Annotated[Path | None, given(help="Folder of figures and tables. Default: FOLDER/figures.")] = None,
    kinds: Annotated[
        str, typer.Option("--format", help="Formats of figures: svg, png, pdf, or several, with commas.")
    ] = "svg,png",
    dpi: Annotated[int, bounded(30, 2400, help="Dots per inch of PNG figures.", show_default=True)] = 300,
    width: Annotated[str, typer.Option(help="Width of figures: 3.5in, 89mm, 252pt; 3.5 is inches.")] = "3.5in",
    over: Annotated[
        str | None, given(help="Of a sweep: one or two columns of its table, with a comma. Default: each two fields.")
    ] = None,
    of: Annotated[
        str | None, given(help="Of a sweep: the quantities to draw, with commas, such as final_error. Default: all.")
    ] = None,
) -> None:
    """Write the page of a results folder again, from its results.json alone: nothing is run.

    For a run that was interrupted or killed, and for a page to put elsewhere. For a scenario with variants: the page
    over all of them, and without --out also those of each. For a sweep: its quantities over any two of its fields, as
    lines or heat maps, from its table.

    Exit status: 0 done, 2 wrong input.
    """
    from scenarios.render.page.export import checked, export_figures, export_tables
    from scenarios.render.page.report import figures as drawn
    from scenarios.render.progress import Bars
    from scenarios.results.folder import no_results, read_results

    place = folder.parent if folder.name == RESULTS else folder
    lines: list[str] = []
    words: list[str] = []
    results: Results | None = None
    source = place / RESULTS
    try:
        checked(kinds.split(","), width)
        with Bars(problems, lines=False) as bars:
            if (place / SWEEP).is_file():
                source = place / SWEPT
                bars.begin("writing the page", None)
                pages, charts, words = _of_sweep(place, out, (over or "", of or ""), tables)
            else:
                if not source.is_file():
                    raise no_results(place)
                for option, value in (("--over", over), ("--of", of)):
                    if value is not None:
                        raise ScenarioError(option, value, "the folder is no sweep's", "a folder of `netsim sweep`")
                results, pages = _pages(place, out, bars)
                charts = drawn(results) if figures else []
        target = into or place / "figures"
        if figures:
            for one in words:
                line(one)
            with Bars(of_progress()) as bars:
                found = export_figures(
                    charts, target, formats=kinds.split(","), dpi=dpi, width=width, source=str(source),
                    progress=bars,
                )  # fmt: skip
            lines.append(f"Figures: {len(found)}, in {target}, with their captions")
        if tables and results is not None:
            names = [one.name for one in results.variants or () if (place / one.name / RESULTS).is_file()]
            runs = {name: read_results(place / name) for name in names} or {results.name: results}
            lines.append(f"Tables: {', '.join(export_tables(runs, target, str(place / RESULTS)))} in {target}")
    except OSError as error:
        why = f"{error.filename or 'a file in it'} {not_written(error)}"
        fail(ScenarioError("--into", str(into or place / "figures"), why, "a folder to write to"))
    print_place("Report:", pages[0])
    if len(pages) > 1:
        console.print(f"and {len(pages) - 1} of its variants", highlight=False)
    for one in lines:
        console.say(one, markup=False)
    if show and not webbrowser.open(pages[0].absolute().as_uri()):
        fail(ScenarioError("--open", str(pages[0]), "no browser was found", "open the file by hand"))


def _of_sweep(
    folder: Path, out: Path | None, chosen: tuple[str, str], tables: bool
) -> "tuple[list[Path], list[Chart], list[str]]":
    """Write the page of a sweep, over `chosen` columns of the `chosen` quantities; its path, the figures over its
    first columns, and how many they are in words."""
    from scenarios.render.page.sweep import figures, sweep_page
    from scenarios.results.numbers import plural
    from scenarios.sweep.folder import swept

    if tables:
        raise ScenarioError("--tables", "true", "a sweep is a table", f"{SWEPT} in its folder")
    table = swept(folder)
    over, of = ([one.strip() for one in text.split(",") if one.strip()] for text in chosen)
    if len(over) > 2:
        raise ScenarioError("--over", chosen[0], f"{len(over)} columns", "one or two")
    path = _page_at(folder, out)
    found = figures(table, over, of)
    with written(path) as draft:
        draft.write_text(sweep_page(table, found), encoding="utf-8")
    if not found:
        return [path], [], []
    (pair, charts), *others = found
    rest = sum(len(more) for _, more in others)
    words = [f"Writing {plural(len(charts), 'figure')}, over {pair}"]
    if rest:
        words.append(f"The page has {rest} more, over other fields: choose them with --over, quantities with --of")
    return [path], charts, words


def _page_at(folder: Path, out: Path | None) -> Path:
    """Where the page of a folder goes: into it, into another folder, or to a file, which may replace a page alone."""
    if out is None or out.is_dir():
        return (out or folder) / PAGE
    return _named_page(out)


def _named_page(out: Path) -> Path:
    """A file for a page. You get a `ScenarioError` for a name of another kind, and where its folder is not there."""
    if out.is_dir() or out.suffix not in (".html", ".htm"):
        raise ScenarioError("--out", str(out), "not the name of a page", "a file that ends in .html")
    if not out.parent.is_dir():
        raise ScenarioError("--out", str(out), f"there is no folder {out.parent}", "a folder that is there")
    return out


def _pages(folder: Path, out: Path | None, progress: "Progress") -> "tuple[Results, list[Path]]":
    """Write the page of a results folder, and of its variants where it is to lie in the folder; what is in the
    results folder, and the paths."""
    from scenarios.render.page.report import page as text
    from scenarios.results.folder import read_results

    results = read_results(folder)
    variants = [folder / one.name for one in results.variants or () if out is None and one.report]
    progress.begin("writing the page", 1 + len(variants))
    pages = [_page_at(folder, out)]
    pages += [place / PAGE for place in variants if (place / RESULTS).is_file()]
    for page in pages:
        with written(page) as draft:
            draft.write_text(text(results if page is pages[0] else read_results(page.parent)), encoding="utf-8")
        progress.advance(1)
    return results, pages


@command("compare", "netsim compare results/a results/b --out compared.html")
def _compare(
    places: Annotated[
        list[str],
        of_folder(
            metavar="FOLDER",
            help="Results folders, folders of scenarios with variants, or FOLDER:SLUG for one algorithm.",
        ),
    ],
    out: Annotated[Path | None, given(help=f"The page to write. Default: {_COMPARED}, or none with --json.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, in place of tables.")] = False,
) -> None:
    """Compare runs on one page: the fields in which they differ, all their epsilons, curves, leakage and costs.

    The first run that has an algorithm is the base of the others. What cannot be compared is named. Nothing is run
    again.

    Exit status: 0 done, 2 wrong input.
    """
    from scenarios.render.progress import Bars

    with Bars(problems, lines=False) as bars:
        bars.begin("comparing", 3)
        page = out if out is not None or as_json else _COMPARED
        if page is not None and (page.parent / RESULTS).is_file() and page.name == PAGE:
            raise ScenarioError("--out", str(page), "is the page of a run", "another name")
        if page is not None:
            _named_page(page)
        from scenarios.render.compared_headline import compared_headline
        from scenarios.render.compared_runs import read_runs
        from scenarios.render.comparison import Comparison
        from scenarios.render.page.several import comparison_page

        runs = read_runs(places)
        bars.advance(1)
        comparison = Comparison(runs)
        bars.advance(1)
        if page is not None:
            with written(page) as draft:
                draft.write_text(comparison_page(comparison), encoding="utf-8")
    if as_json:
        write_result(comparison.result(compared_headline(comparison)))
        return
    _print(comparison)
    if page is not None:
        console.print()
        print_place("Page:", page)


def _print(comparison: "Comparison") -> None:
    """The finding, what differs in what was asked, what cannot be compared, and then what came of it."""
    from scenarios.render.compared_headline import compared_headline

    line(compared_headline(comparison), style="bold")
    console.print()
    _print_differences(comparison)
    if comparison.cautions:
        line("Not all of this can be compared:", style="yellow")
    for caution in comparison.cautions:
        line(f"- {caution}", style="yellow")
    if comparison.cautions or comparison.unrecorded or not comparison.differences:  # else a table ends with one
        console.print()
    line("What came of it:")
    _print_numbers(comparison)
    _print_ratios(comparison)


def _print_differences(comparison: "Comparison") -> None:
    from scenarios.render.page.several import difference_rows

    if rows := difference_rows(comparison):
        line("In what they differ:")
        fields = [Column("field", [escape(field) for field, _ in rows])]
        values = [cells for _, cells in rows]
        for run, cells in zip(comparison.columns, zip(*values, strict=True), strict=True):
            fields.append(Column(run.label, [escape(cell) or '""' for cell in cells]))
        print_tables(fields[0], [fields[1:]], console)
    else:
        line(f"{comparison.compared.capitalize()} are the same in every field.")
    if comparison.unrecorded:
        whose = ", ".join(comparison.unrecorded)
        line(f"Not recorded of {whose}: the parameters of the class, and the code.", style="yellow")


def _print_numbers(comparison: "Comparison") -> None:
    from scenarios.render.comparison import delta
    from scenarios.render.page.several import FOUND, run_meanings, run_table
    from scenarios.render.sentences import elsewhere
    from scenarios.render.verdicts import coloured, epsilon_columns, print_meanings
    from scenarios.results.numbers import MISSING, show

    entries = [one.entry for one in comparison.subjects]
    deltas = [show(delta(one)) for one in entries]
    columns = [Column("verdict", list(map(coloured, entries)), whole=True), *epsilon_columns(entries)]
    columns += [Column("δ", deltas, right=True, whole=True)] * (len({*deltas} - {MISSING}) > 1)
    found = run_table(comparison.subjects, brief=True)
    costs = [Column(head.lower(), cells, right=True, whole=True) for head, cells in found.items()]
    names = Column("algorithm", [escape(one.label) for one in comparison.subjects], at_least=_LETTERS)
    groups = [columns, costs]
    if not have_room([names, *costs], console):
        groups = [columns, costs[: (n := sum(head in FOUND for head in found))], costs[n:]]
    if not all(have_room([names, *group], console) for group in groups):
        names = replace(names, at_least=_FEWER)
    print_tables(names, groups, console)
    print_meanings(columns)
    if len(one := {*deltas} - {MISSING}) == 1:
        line(f"δ = {', '.join(one)}.", style="dim")
    line(run_meanings(found), style="dim")
    for one in comparison.subjects:
        if said := elsewhere(one.entry):
            line(f"{one.label}: {said.removeprefix('It is ')}")
    console.print()


def _print_ratios(comparison: "Comparison") -> None:
    from scenarios.render.comparison import COSTS
    from scenarios.render.page.several import against_words, cost_words

    for one, costs in zip(comparison.against, comparison.costs, strict=True):
        console.print(f"[bold]{escape(one.other)}[/] against {escape(one.base)}:", highlight=False)
        compared = against_words(one)
        for name, words in comparison.quantities.items():
            found = getattr(one, name)
            how = (
                ""
                if found is None or found.same or found.certain
                else f", replicas {'' if found.paired else 'not '}paired"
            )
            line(f"  {words}: {compared[name]}{how}")
        if one.epsilon_exact is not None or "epsilon_exact" in one.why:
            line(f"  exact ε: {compared['epsilon_exact']}")
        for name, words in cost_words(costs).items() if costs else ():
            line(f"  {COSTS[name]}: {words}")
    if comparison.certainty:
        line(" ".join(comparison.certainty))


@command("artifact", "netsim artifact results/mine --out artifact", "netsim artifact private-descent --out artifact")
def _artifact(
    what: Annotated[str, of_run(help="A results folder; or a scenario, which is run first.")],
    out: Annotated[Path, given(help="The folder to write: a new one.")],
    option: Settings = None,
) -> None:
    """Write a folder that a reviewer runs offline: `python run.py` repeats the scenario and compares every verdict.

    It has the scenario with its code and data, netsim itself, the versions of what it needs, and the results that are
    expected.

    Exit status: 0 done, 2 wrong input, 70 failed, 130 interrupted.
    """
    from scenarios.render.progress import Bars
    from scenarios.results.folder import no_results, read_results
    from scenarios.schema.load import load_scenario
    from scenarios.stages.outputs import write_artifact
    from scenarios.stages.study import run_study

    place = Path(what)
    try:
        if (place / RESULTS).is_file():
            refuse("-o", option, "a folder has its scenario", "only with a scenario")
            results = read_results(place)
        elif place.is_dir():
            raise no_results(place, "WHAT")
        else:
            located = load_scenario(what, option or [])
            check_new(out)
            place = dated_folder(located.scenario.name)
            with Bars(of_progress()) as bars:
                results = run_study(
                    located, place, command=repeated("netsim artifact", what, option or []), progress=bars
                )
        if results.status == "interrupted":
            raise typer.Exit(INTERRUPTED)
        write_artifact(results, place, out)
    except (ScenarioError, typer.Exit):
        raise
    except Exception as error:  # of a run, or of somebody's code
        fail(error, place)
    print_place("Artifact:", out)
    print_place("Repeat it with:", f"python {out}/run.py")


# ── trace ────────────────────────────────────────────────────────────────────────────────────────────────
KindName = StrEnum("KindName", ["exchange", "direct", "ack", "sealed"])
"""`netsim.transcript.message.Kind`, which takes its time to load."""
ROWS = 20
USES = {
    "--pcapng": ("--replica",),
    "--summary": ("--json",),
    "--json": ("--values", "--limit"),
    "--jsonl": ("--values", "--limit"),
}
"""Outputs, the first of those given, and the options that each takes."""
AGENT = "number of an agent; may be given several times"


@command("trace", "netsim trace results/lossy --to 3 --until 1", "netsim trace results/lossy --summary")
def _trace(
    place: Annotated[Path, of_folder(help="A results folder, a transcript (.parquet), or a spool (.spool).")],
    algorithm: Annotated[
        str | None, given(help="The algorithm whose transcript of a folder is shown (name or slug).", metavar="NAME")
    ] = None,
    sender: Annotated[
        list[int] | None, bounded(0, None, "--from", metavar="AGENT", help=f"Sent by: {AGENT}.")
    ] = None,
    receiver: Annotated[
        list[int] | None, bounded(-1, None, "--to", metavar="AGENT", help=f"For: {AGENT}; -1: all.")
    ] = None,
    since: Annotated[float, typer.Option(help="First virtual second.")] = -math.inf,
    until: Annotated[float, typer.Option(help="Virtual second before which rows are shown.")] = math.inf,
    at: Annotated[Literal["link", "node"] | None, given("--place", help="Only taps on links, or at agents.")] = None,
    kind: Annotated[list[KindName] | None, given(help="Kinds of packets; may be given several times.")] = None,
    number: Annotated[
        list[int] | None, bounded(-1, None, help="Number of a message: the sender's count of its kind; -1: none.")
    ] = None,
    limit: Annotated[int | None, bounded(0, None, help=f"Rows to show; 0: all. Default: {ROWS}.")] = None,
    replica: Annotated[int | None, bounded(0, None, help="Replica whose values are shown. Default: 0.")] = None,
    values: Annotated[bool, typer.Option("--values", help="Show values in place of norms.")] = False,
    summary: Annotated[bool, typer.Option("--summary", help="Count all selected rows, by link and kind.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document: the list of rows, or the summary.")
    ] = False,
    as_lines: Annotated[bool, typer.Option("--jsonl", help="Print JSON Lines: one object a row, for jq.")] = False,
    pcapng: Annotated[
        Path | None, given(help="Write all selected rows for Wireshark, in place of showing any.")
    ] = None,
) -> None:
    """Show messages of a recorded transcript: sender, receiver, time, kind, size and values.

    Exit status: 0 done, 2 wrong input.
    """
    from netsim.errors import NetsimError, TranscriptError
    from netsim.transcript.message import Selection
    from scenarios.render.trace import Totals, Traced

    most, shown_replica = ROWS if limit is None else limit, replica or 0
    try:
        options: dict[str, object] = {"--pcapng": pcapng, "--summary": summary, "--json": as_json}
        options |= {"--jsonl": as_lines, "--values": values, "--limit": limit, "--replica": replica}
        names = [name for name, value in options.items() if value is not None and value is not False]
        way = next((way for way in USES if way in names), None)
        for name in names:
            if way is not None and name != way and name not in USES[way]:
                uses = " and ".join(USES[way])
                raise TranscriptError(f"{name} is of no use with {way}, which takes {uses} and what chooses rows")
        by = Selection.of(since, until, sender=sender, receiver=receiver, place=at, kind=kind, number=number)
        traced = Traced.open(place, algorithm, by, shown_replica)
        rows = traced.rows
        if pcapng is not None:
            print_place(f"{traced.export(pcapng, shown_replica, at):,} packets in", pcapng)
        elif summary:
            totals = Totals.of(rows)
            if as_json:
                write(totals.as_json())
            else:
                for one in totals.tables(traced.name):
                    print_tables(one[0], [one[1:]], console)
                line(f"{totals.sentence()}; values were not read")
        elif as_json or as_lines:
            _objects(traced.as_json(most, values), as_lines)
        else:
            shown, totals, more = traced.table(most, shown_replica, values, console.width)
            if totals.rows:
                console.print(shown)
            rest = "; more match: --limit 0 shows them, --summary counts them" if more else ""
            line(totals.sentence() + rest)
        remark(traced.nothing)
        remark(f"The spool was {rows.note}." if rows.note else "")
    except NetsimError as error:
        why = str(error)
        if isinstance(error, TranscriptError) and not place.exists():
            allowed = "a results folder, or a transcript-….parquet or spool of one"
            error = ScenarioError("PLACE", str(place), "no such file or folder", allowed)
            why = str(error)
        elif isinstance(error, TranscriptError) and place.name.startswith("metrics-") and place.suffix == ".parquet":
            other = place.name.replace("metrics", "transcript", 1)
            why = f"{place}: the metrics of a run; its transcript is {other}"
        elif isinstance(error, TranscriptError) and place.suffix in (".yaml", ".yml"):
            why = f"{place}: neither a spool nor a transcript; a scenario is run first: `netsim run {place}`"
        elif (inside := place / "transcript.parquet").is_file():
            error = ScenarioError("PLACE", str(place), "a challenge's folder", f"its transcript: {inside}")
            why = str(error)
        fail(error, status=WRONG_INPUT, said=why, as_json=as_json)


def _objects(rows: Iterable[str], as_lines: bool) -> None:
    """Row by row, however many: as lines, or as the one list that they make together."""
    waiting = "["  # in a list a row waits for the next, which decides on its comma
    for text in rows:
        if console.quiet:  # the reader has seen enough
            return
        if as_lines:
            write(text)
            continue
        write(waiting if waiting == "[" else f"{waiting},")
        waiting = text
    if not as_lines:
        write("[]" if waiting == "[" else f"{waiting}\n]")
