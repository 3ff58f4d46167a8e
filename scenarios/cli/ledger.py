"""Command `netsim ledger`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from scenarios.cli.options import Jobs, given, taken
from scenarios.render import terminal

if TYPE_CHECKING:
    from scenarios.ledger import Entry, Row

DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
COLOURS = {"refuted": "bold red", "unprotected": "bold red", "consistent": "green", "no claim": "dim"}


def ledger(
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
    from netsim.errors import ScenarioError
    from scenarios.ledger import ENTRIES, chosen, rows, stored_entry, write_page

    said = terminal.apart(as_json)
    try:
        entries = chosen(names or ())
        status = _run(entries, folder, jobs, again, said)
    except ScenarioError as error:
        terminal.fail(error, options={"folder": "--folder", "jobs": "--jobs"}, as_json=as_json)
    found = {
        entry.name: rows(entry, one, folder) for entry in ENTRIES if (one := stored_entry(entry, folder)) is not None
    }
    shown = [row for entry in entries for row in found.get(entry.name, [])]
    if as_json:
        terminal.write_document([asdict(row) for row in shown])
    else:
        _print(shown)
    missing = [entry.name for entry in ENTRIES if entry.name not in found]
    if not missing:
        page = out or folder / "ledger.md"
        try:
            written = write_page(page, [row for one in found.values() for row in one])
        except OSError as error:
            why = f"cannot be written ({error.strerror or error})"
            terminal.fail(ScenarioError("--out", str(page), why, "a file that can be written"))
        witnesses = f", and {len(written) - 1} witnesses beside it" if len(written) > 1 else ""
        said.print(f"Page: [bold]{escape(str(page))}[/]{witnesses}", soft_wrap=True)
    elif out is not None or not names:
        terminal.remark(f"No page: without results yet: {', '.join(missing)}")
    if status == terminal.INTERRUPTED:
        terminal.remark("Interrupted: finished entries are kept; the same command continues.")
    raise typer.Exit(status)


def _run(entries: Sequence["Entry"], folder: Path, jobs: int, again: bool, said: Console) -> int:
    """Run the entries without results; the exit status."""
    from netsim.errors import ScenarioError
    from scenarios.cli.progress import Bars
    from scenarios.ledger import run_entry, stored_entry

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
    """The table, and the reasons why claims do not hold."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("algorithm")
    for column in ("claimed", "δ", "exact", "audited", "verdict", "from", "s"):
        table.add_column(column, justify="left" if column == "verdict" else "right", no_wrap=True)
    for row in found:
        delta = row.numbers.delta
        claimed, exact = (  # powers of ten in few letters: 5.29e23
            text.replace(" × 10", "e").translate(DIGITS) for text in (row.claimed.partition(" at ")[0], row.exact)
        )
        table.add_row(
            escape(row.name), claimed, f"{delta:g}" if delta else "", exact, row.audited,
            f"[{COLOURS.get(row.verdict, 'yellow')}]{row.verdict}[/]",
            "" if row.violation is None else str(row.violation), f"{row.seconds:.1f}",
        )  # fmt: skip
    terminal.console.print(table)
    heads = "ε claimed, exact and audited; from: the agent's activation by which the claim is exceeded\n"
    terminal.console.print(heads, style="dim", highlight=False)
    for row in found:
        if row.broken:
            colour = COLOURS[row.verdict]
            terminal.console.print(f"[bold]{escape(row.name)}[/]: [{colour}]{row.verdict}[/]", highlight=False)
            terminal.console.print(Padding(escape(row.reason), (0, 0, 0, 2)), highlight=False)
