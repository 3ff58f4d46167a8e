"""Commands `netsim ledger` and `netsim certificate`, audits of all that ships and of the auditor itself; and
`netsim papers`, what the papers state, item by item, and what came of it."""

import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from netsim.errors import ScenarioError
from netsim.files import not_written
from netsim.interrupts import stopped_once
from scenarios.cli.options import AsJson, Jobs, bounded, command, given, processes, taken
from scenarios.files.folders import check_writable, whole
from scenarios.files.folders import written as file_written
from scenarios.render import terminal
from scenarios.render.tables import Column, print_below, print_tables
from scenarios.results.numbers import show

if TYPE_CHECKING:
    from scenarios.certificate.certificate import Certificate
    from scenarios.certificate.ledger import Entry, Row
    from scenarios.papers.items import Item, Paper
    from scenarios.render.progress import Bars

DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
COLOURS = {
    "refuted": "bold red",
    "unprotected": "bold red",
    "proven": "bold green",
    "consistent": "green",
    "no claim": "dim",
    "agrees": "green",
    "agrees in shape": "green",
    "differs": "bold red",
    "cannot be run": "yellow",
}
"""Of verdicts, and of outcomes of papers' items."""


@command("ledger", "netsim ledger uniform-mean", "netsim ledger --out docs/ledger.md")
def _ledger(
    names: Annotated[list[str] | None, taken(help="Entries. Default: all.")] = None,
    out: Annotated[Path | None, given(help="The page, in Markdown. Default: FOLDER/ledger.md.")] = None,
    folder: Annotated[Path, typer.Option(help="Folder of the entries' results.")] = Path("results/ledger"),
    jobs: Jobs = -1,
    again: Annotated[bool, typer.Option("--again", help="Also run entries that have results.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print rows as JSON, in place of the table.")] = False,
) -> None:
    """Audit every shipped algorithm at its paper's own parameters, and write the table of verdicts.

    An entry that has results of the same scenario and code is not run again. The page is written when all entries
    have results.

    Exit status: 0 done, whatever was found; 2 wrong input, 70 an entry failed, 130 interrupted (finished entries are
    kept).
    """
    from scenarios.certificate.ledger import ENTRIES, chosen, rows, stored_entry, write_page

    said = terminal.apart(as_json)
    try:
        entries = chosen(names or ())
        if out is not None:  # before minutes are spent
            check_writable(out.parent)
            if (why := _unwritable(out)) is not None:
                raise ScenarioError("--out", str(out), why, "a file that can be written")
        status = _run_entries(entries, folder, jobs, again, said)
    except ScenarioError as error:
        terminal.fail(error, options={"folder": "--folder"}, as_json=as_json)
    found = {
        entry.name: rows(entry, one, folder) for entry in ENTRIES if (one := stored_entry(entry, folder)) is not None
    }
    shown = [row for entry in entries for row in found.get(entry.name, [])]
    if as_json:
        terminal.write_document([asdict(row) for row in shown])
    else:
        _print(shown)
        if shown:
            terminal.print_place("Results:", folder)
    missing = [entry.name for entry in ENTRIES if entry.name not in found]
    if not missing:
        page = out or folder / "ledger.md"
        try:
            written = write_page(page, [row for one in found.values() for row in one])
        except OSError as error:
            terminal.fail(ScenarioError("--out", str(page), not_written(error), "a file that can be written"))
        witnesses = f"and {len(written) - 1} witnesses beside it" if len(written) > 1 else ""
        terminal.print_place("Page:", page, to=said)
        if witnesses:
            said.say(witnesses)
    elif out is not None or not names:
        terminal.remark(f"No page: without results yet: {', '.join(missing)}")
    if status == terminal.INTERRUPTED:
        terminal.remark("Interrupted: finished entries are kept; the same command continues.")
    raise typer.Exit(status)


def _run_entries(entries: Sequence["Entry"], folder: Path, jobs: int, again: bool, said: Console) -> int:
    """Run the entries without results; the exit status."""
    from scenarios.certificate.ledger import run_entry, stored_entry
    from scenarios.render.progress import Bars

    status = terminal.DONE
    left = [entry for entry in entries if again or stored_entry(entry, folder) is None]
    with Bars(said) as bars:
        for place, entry in enumerate(left, start=1):
            said.print(f"[bold]{entry.name}[/] ({place} of {len(left)})", highlight=False)
            try:
                run_entry(entry, folder, progress=bars, jobs=jobs)
            except KeyboardInterrupt:
                return terminal.INTERRUPTED
            except ScenarioError:
                raise
            except Exception as error:  # whatever it is: the others go on
                terminal.print_error(error, f"{entry.name}: ")
                status = terminal.FAILED
    return status


def _print(found: Sequence["Row"]) -> None:
    rows: list[tuple[str, ...]] = []
    for row in found:
        delta = row.numbers.delta
        claimed, exact = (  # powers of ten in few letters: 5.29e23
            text.replace(" × 10", "e").translate(DIGITS) for text in (row.claimed.partition(" at ")[0], row.exact)
        )
        rows.append((
            escape(row.name), claimed, show(delta) if delta else "", exact, row.audited,
            f"[{COLOURS.get(row.verdict, 'yellow')}]{row.verdict}[/]",
            "" if row.violation is None else str(row.violation), f"{row.seconds:.1f}",
        ))  # fmt: skip
    names = ("algorithm", "claimed", "δ", "exact", "audited", "verdict", "from", "seconds")
    columns = [
        Column(name, cells, right=name not in ("algorithm", "verdict"), whole=name != "algorithm")
        for name, cells in zip(names, zip(*rows, strict=True), strict=bool(rows))
        if name not in ("δ", "from") or any(cells)
    ]
    if rows:
        print_tables(columns[0], [columns[1:]], terminal.console)
    heads = "ε claimed, exact and audited"
    if any(row.violation is not None for row in found):
        heads += "; from: the agent's activation by which the claim is exceeded"
    terminal.console.print(f"{heads}\n", style="dim", highlight=False)
    for row in found:
        if row.broken:
            colour = COLOURS[row.verdict]
            terminal.console.print(f"[bold]{escape(row.name)}[/]: [{colour}]{row.verdict}[/]", highlight=False)
            terminal.console.print(Padding(escape(row.reason), (0, 0, 0, 2)), highlight=False)


@command("certificate", "netsim certificate --repetitions 5 --out certificate.md")
def _certificate(
    repetitions: Annotated[
        int,
        bounded(
            1,
            None,
            help="Audits of each sound mechanism; games are repeated more often, faults less.",
            show_default=True,
        ),
    ] = 1000,
    out: Annotated[Path | None, typer.Option(help="Where to write the page. Default: it is printed.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Where to write the page's numbers.")] = None,
    seed: Annotated[int, bounded(0, None, help="Seed of all draws.", show_default=True)] = 0,
    jobs: Annotated[int, processes(help="Processes; -1: one per core. Does not change the page.")] = -1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the numbers in --json, which are kept step by step.")
    ] = False,
) -> None:
    """Audit the auditor: its false alarms on sound mechanisms, and its power on planted faults.

    With --resume, repetitions that the file has are not done again; it has to be of the same seed and code.

    Exit status: 0 the auditor passes, 1 it does not, 2 wrong input.
    """
    from scenarios.certificate.certificate import cases, certify, failures, page, times
    from scenarios.render.progress import Bars

    try:
        for name, file in (("out", out), ("json", json)):  # before minutes are spent
            if file is not None and (why := _unwritable(file)) is not None:
                raise ScenarioError(name, str(file), why, "a file that can be written, in a folder that is there")
        if out is not None and json is not None and out.resolve() == json.resolve():
            raise ScenarioError("json", str(json), "the page is written there", "another file than --out")
        begun = _begun(json) if resume else None
        with Bars(terminal.problems) as bars:
            done = {} if begun is None else {(row.part, row.name): row.repetitions for row in begun.rows}
            left = (max(times(c.part, repetitions) - done.get((c.part, c.name), 0), 0) for c in cases())
            bars.begin("auditing the auditor", sum(left))
            keep = None if json is None else partial(_keep, json)
            found = certify(repetitions, seed=seed, jobs=jobs, progress=bars.advance, begun=begun, keep=keep)
    except ScenarioError as error:
        terminal.fail(replace(error, field=f"--{error.field}"))
    if out is None:
        terminal.write(page(found).removesuffix("\n"))
    else:
        with whole(out) as draft:
            draft.write_text(page(found), encoding="utf-8")
    wrong = failures(found)
    for one in wrong:
        terminal.remark(one)
    raise typer.Exit(terminal.REFUTED if wrong else terminal.DONE)


def _keep(file: Path, certificate: "Certificate") -> None:
    """Write the numbers; a file is there whole or as it was, a pipe or a terminal just gets them."""
    with whole(file) as draft:
        draft.write_text(certificate.as_json(), encoding="utf-8")


def _begun(file: Path | None) -> "Certificate | None":
    """Certificate in a file; None where there is none yet."""
    from scenarios.certificate.certificate import Certificate

    if file is None:
        raise ScenarioError("resume", True, "there is no file to go on from", "--json FILE")
    if not file.exists():
        return None
    try:
        return Certificate.from_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ScenarioError("json", str(file), f"no certificate ({error})", "a file of this command") from error


def _unwritable(file: Path) -> str | None:
    """Why a file cannot be written; None where it can. Leaves the folder as it is."""
    if not file.parent.is_dir():
        return "its folder is not there"
    if file.is_dir():
        return "a folder"
    there = file.exists()
    try:
        with file.open("ab"):
            pass
        if not there:
            file.unlink()
    except OSError as error:
        return not_written(error)
    return None


# ── papers ───────────────────────────────────────────────────────────────────────────────────────────────
FOLDER = Path("results/papers")


class _Ran(NamedTuple):
    """An item that was run: `expected` is the outcome that its paper's file has at this scale."""

    id: str
    scale: str
    outcome: str
    expected: str
    sentence: str
    seconds: float
    folder: str

    @property
    def surprising(self) -> bool:
        return self.outcome != self.expected


@command("papers", "netsim papers", "netsim papers cpgt-fig-3", "netsim papers dpp2 --run")
def _papers(
    names: Annotated[list[str] | None, taken(help="Items or papers. Default: all.")] = None,
    run: Annotated[bool, typer.Option("--run", help="Run all that are chosen, and compare the outcomes.")] = False,
    scale: Annotated[
        Literal["small", "paper"], typer.Option(help="Seconds and no network, or as the paper prints it.")
    ] = "small",
    folder: Annotated[Path, given(help="Folder of the items' results.")] = FOLDER,
    pages: Annotated[Path | None, given(help="Folder to write papers.md and claims.md to.")] = None,
    jobs: Jobs = -1,
    as_json: AsJson = False,
) -> None:
    """List what five papers state, item by item, with the outcome: agrees, agrees in shape, differs, cannot be run.

    An item that is named is shown whole and run: the scenario that repeats it, whose outcome is computed and compared
    with the one that is listed, the audits of the ledger, or in a clone the test that holds it.

    Exit status: 0 done, 1 an outcome is not the listed one, 2 wrong input, 70 a run failed, 130 interrupted.
    """
    from scenarios.papers.items import chosen
    from scenarios.papers.items import pages as written

    said, status = terminal.apart(as_json), terminal.DONE
    try:
        found = chosen(names or [])
        if pages is not None:  # before minutes are spent
            check_writable(pages, "--pages")
        items = [item for paper in found for item in paper.items]
        named = [item for item in items if run or item.id in (names or ())]
        ran: list[_Ran] = []
        if runnable := [item for item in named if item.scenario is not None]:
            status = _run_items(runnable, scale, folder, jobs, ran, as_json)
    except ScenarioError as error:
        terminal.fail(error, options={"folder": "--folder"}, as_json=as_json)
    by_id = {one.id: one for one in ran}
    if as_json:
        pairs = [(paper, item) for paper in found for item in paper.items]
        terminal.write_document([_document(paper, item, by_id.get(item.id)) for paper, item in pairs])
    elif names and all(name in {item.id for item in items} for name in names):
        for item in items:
            _print_item(item, by_id.get(item.id))
            status = status or _evidence(item, folder)
    else:
        for paper in found:
            _print_paper(paper, by_id)
    if pages is not None:
        for name, text in written().items():
            with file_written(pages / name, "--pages", "a folder that can be written") as draft:
                draft.write_text(text, encoding="utf-8")
            terminal.print_place("Page:", pages / name, to=said)
    for one in ran:
        if one.surprising:
            status = status or terminal.REFUTED
            other = f"{one.outcome} at scale {one.scale}, where {one.expected} is listed"
            terminal.remark(f"{one.id}: {other}: {one.sentence}")
    raise typer.Exit(status)


# ── running ─────────────────────────────────────────────────────────────────────────────────────────────
def _run_items(items: Sequence["Item"], scale: str, folder: Path, jobs: int, ran: list[_Ran], as_json: bool) -> int:
    """Run items into `ran`, as they end; the exit status. A single one spreads its variants over processes."""
    from scenarios.render.progress import Bars

    said, status = terminal.apart(as_json), terminal.DONE
    with Bars(said) as bars:
        try:
            if len(items) == 1:
                ran.append(_one(items[0], scale, folder, jobs, bars))
                return status
            bars.begin(f"running {len(items)} items", len(items))
            for one in _each(items, scale, folder, jobs):
                if isinstance(one, _Ran):
                    ran.append(one)
                else:
                    terminal.remark(one)
                    status = terminal.FAILED
                bars.advance(1)
        except KeyboardInterrupt:
            terminal.remark("Interrupted: the folders hold what was done until then.")
            return terminal.INTERRUPTED
    return status


def _each(items: Sequence["Item"], scale: str, folder: Path, jobs: int) -> Iterator["_Ran | str"]:
    """Outcomes as they come, items spread over processes."""
    from joblib import Parallel, delayed  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    with stopped_once(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)  # another takes its place
        yield from parallel(delayed(_guarded)(item, scale, folder) for item in items)  # pyright: ignore


def _guarded(item: "Item", scale: str, folder: Path) -> "_Ran | str":
    """An item's run, or why it failed: not every error can be passed between processes."""
    try:
        return _one(item, scale, folder, 1, None)
    except Exception as error:  # whatever it is: the other items go on
        return f"{item.id}: {type(error).__name__}: {error}"


def _one(item: "Item", scale: str, folder: Path, jobs: int, bars: "Bars | None") -> _Ran:
    from scenarios.schema.load import load_scenario, small
    from scenarios.stages.study import run_study

    assert item.scenario is not None
    located, place, start = load_scenario(item.scenario), folder / scale / item.id, time.monotonic()
    located = small(located) if scale == "small" else located
    again, page = f"netsim papers {item.id} --scale {scale}", bars is not None
    results = run_study(located, place, command=again, progress=bars, jobs=jobs, page=page)
    found, expected = results.reproduction, item.small if scale == "small" else item.outcome
    if results.status == "interrupted":
        raise KeyboardInterrupt
    outcome, why = ("not finished", "it reproduces nothing") if found is None else (found.outcome, found.sentence)
    return _Ran(item.id, scale, outcome, str(expected), why, time.monotonic() - start, str(place))


# ── showing ─────────────────────────────────────────────────────────────────────────────────────────────
def _document(paper: "Paper", item: "Item", ran: _Ran | None) -> dict[str, object]:
    """An item as `--json` has it: the fields of its file, its paper, the command that shows it, and the run."""
    known: dict[str, object] = {"paper": paper.key, **item.model_dump(mode="json"), "command": item.command}
    return known | {"ran": None if ran is None else ran._asdict()}


def _print_paper(paper: "Paper", ran: "dict[str, _Ran]") -> None:
    console = terminal.console
    console.print(f"[bold cyan]{escape(paper.paper)}[/]", highlight=False)
    width = max(len(item.id) for item in paper.items)
    for item in paper.items:
        one = ran.get(item.id)
        outcome = item.outcome if one is None else one.outcome
        said = f"[{COLOURS.get(outcome, 'dim')}]{outcome}[/]" + (f" [dim]({one.seconds:.0f} s)[/]" if one else "")
        if console.width < terminal.NARROW:
            print_below(item.id, [said, escape(item.in_short)], console)
            continue
        console.print(f"  [bold]{item.id:{width}}[/]  {said}", highlight=False)
        console.print(Padding(escape(item.in_short), (0, 0, 0, 6)), highlight=False)
    console.print()


def _print_item(item: "Item", ran: _Ran | None) -> None:
    console = terminal.console
    console.print(f"[bold]{escape(item.item)}[/] [dim]{escape(item.place)}[/]", highlight=False)
    console.print(Padding(escape(item.states), (0, 0, 1, 2)), highlight=False)
    if (claim := item.claim) is not None:
        terminal.line(f"  Formula: {claim.formula}")
        for one in claim.conditions:
            met = {True: "met", False: "[bold red]not met[/]", None: "cannot be told"}[one.met]
            said = f"Condition {escape(one.condition)}: {met}. {escape(one.found)}"
            console.print(Padding(said, (0, 0, 0, 2)), highlight=False)
        console.print()
    console.print(f"Outcome: [{COLOURS[item.outcome]}]{item.outcome}[/]. {escape(item.found)}", highlight=False)
    for what in item.missing:
        terminal.line(f"  Missing in the text: {what}")
    if ran is not None:
        console.print(
            f"Run at scale {ran.scale} ({ran.seconds:.0f} s): [{COLOURS.get(ran.outcome, 'dim')}]{ran.outcome}[/]. "
            f"{escape(ran.sentence)}",
            highlight=False,
        )
        terminal.print_page(Path(ran.folder))
    elif item.command is not None:
        terminal.print_place("See it:", item.command)


def _evidence(item: "Item", folder: Path) -> int:
    """Run what an item without a scenario rests on, in a process whose output is shown; the exit status."""
    root = Path(__file__).parents[2]
    if item.ledger is not None:
        words = ["scenarios.entry", "ledger", item.ledger, "--folder", str(folder.absolute() / "ledger")]
    elif item.test is not None and (root / item.test.partition("::")[0]).exists() and find_spec("pytest"):
        words = ["pytest", item.test]
    else:
        return terminal.DONE
    sys.stdout.flush()
    status = subprocess.run([sys.executable, "-m", *words], cwd=root, check=False).returncode
    return terminal.REFUTED if status and item.test is not None else status
