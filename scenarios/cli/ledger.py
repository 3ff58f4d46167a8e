"""Commands `netsim ledger` and `netsim certificate`: audits of all that ships, and of the auditor itself."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from netsim.errors import ScenarioError
from scenarios.cli.options import Jobs, bounded, command, given, processes, taken
from scenarios.files.folders import whole
from scenarios.render import terminal

if TYPE_CHECKING:
    from scenarios.certificate.certificate import Certificate
    from scenarios.certificate.ledger import Entry, Row

DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
COLOURS = {
    "refuted": "bold red",
    "unprotected": "bold red",
    "proven": "bold green",
    "consistent": "green",
    "no claim": "dim",
}


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
        status = _run(entries, folder, jobs, again, said)
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
    from scenarios.certificate.ledger import run_entry, stored_entry
    from scenarios.cli.progress import Bars

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
    from scenarios.cli.progress import Bars

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
        return f"cannot be written ({error.strerror or error})"
    return None
