"""Ledger as a Markdown page; equal results give equal bytes."""

import os
import shutil
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import resources
from itertools import groupby
from pathlib import Path

from scenarios.ledger.entries import ENTRIES, Entry, Row
from scenarios.render.sentences import meaning
from scenarios.results.numbers import MISSING, percent, show

HEADS = (
    "algorithm", "ε claimed", "ε exact", "ε audited", "verdict", "reason", "first violation", "scenario", "time",
)  # fmt: skip
WITNESSES = "witnesses"
WIDTH = 118
INTRODUCTION = """\
# The ledger

Every algorithm that netsim ships, audited at its paper's own parameters; what a paper leaves open was chosen, and is
named below. `netsim ledger --out docs/ledger.md` makes this page: it runs the scenarios of `scenarios/ledger/`, one
command for each is `netsim ledger NAME`, and it does not run again what is there already.

Claimed is what the paper's formula gives; exact what the mechanism gives for one adjacent pair, seen at the agent's
door, between bounds where no formula gives it; audited is what a game proves from below. The first violation is the
activation of the agent by which the claim is exceeded. The seconds that each took are in the table of the terminal.
"""
CONFIDENCE = (
    "Each audit holds at {each} confidence, so that all {count} together hold at {all} or more: at 95 % each, so "
    "many would be wrong somewhere more often than not."
)


def write_page(path: Path, found: Sequence[Row]) -> list[Path]:
    """Write the page, and copy the witnesses of broken claims to `witnesses` beside it; all that was written.

    Links are relative to the page, to what is on this machine.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    copies = {row.name: _copied(row, path.parent) for row in found if row.broken and row.witness is not None}
    draft = path.with_name(path.name + ".part")
    draft.write_text(page(found, path.parent, copies), encoding="utf-8")
    draft.replace(path)
    return [path, *(path.parent / copy for copy in copies.values())]


def _copied(row: Row, beside: Path) -> str:
    assert row.witness is not None
    source = Path(row.witness)
    name = f"{WITNESSES}/{row.entry}-{source.name.removeprefix('witness-')}"
    (beside / WITNESSES).mkdir(exist_ok=True)
    shutil.copyfile(source, beside / name)
    return name


def page(found: Sequence[Row], beside: Path, witnesses: dict[str, str]) -> str:
    """The text. `witnesses` has the paths of copied witnesses by the name of the algorithm."""
    lines = [INTRODUCTION, *_together(found), "", *_meanings(found), ""]
    lines += [_row(HEADS), _row(["---"] * len(HEADS))]
    lines += [_row(_cells(row, beside, witnesses.get(row.name))) for row in found]
    for name, group in groupby(found, key=lambda row: row.entry):
        entry = next(one for one in ENTRIES if one.name == name)
        lines += ["", *_section(entry, list(group), beside, witnesses)]
    return "\n".join(lines) + "\n"


# ── above the table ─────────────────────────────────────────────────────────────────────────────────────
def _together(found: Sequence[Row]) -> list[str]:
    """Count of each verdict, and the confidence at which all of them hold."""
    tally = ", ".join(f"{count} {word}" for word, count in Counter(row.verdict for row in found).most_common())
    text = f"Of {len(found)} algorithms, variants counted: {tally}."
    wrong = [1 - row.confidence for row in found if row.confidence is not None]
    if wrong:
        each, together = percent(1 - max(wrong)), percent(max(0.0, 1 - sum(wrong)))
        text += f" {CONFIDENCE.format(each=each, count=len(wrong), all=together)}"
    return _wrapped(text)


def _meanings(found: Sequence[Row]) -> Iterable[str]:
    for word in dict.fromkeys(row.verdict for row in found):
        yield from _wrapped(f"- **{word}**: {meaning(word)}")


# ── the table ───────────────────────────────────────────────────────────────────────────────────────────
def _cells(row: Row, beside: Path, witness: str | None) -> list[str]:
    verdict = f"**{row.verdict}**" if row.broken else row.verdict
    if witness is not None:
        verdict += f" ([witness]({witness}))"
    violation = MISSING if row.violation is None else f"activation {row.violation}"
    link = f"[{row.entry}]({_relative(next(e.path for e in ENTRIES if e.name == row.entry), beside)})"
    return [
        row.name, row.claimed, row.exact, row.audited, verdict, row.short, violation, link, row.time,
    ]  # fmt: skip


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


# ── below the table ─────────────────────────────────────────────────────────────────────────────────────
def _section(entry: Entry, found: list[Row], beside: Path, witnesses: dict[str, str]) -> list[str]:
    """Choices, reasons of the verdicts, and what to read."""
    scenario = entry.located.scenario
    lines = [f"## {scenario.title}", "", *_wrapped(scenario.description.strip()), ""]
    if sources := list(dict.fromkeys(row.source for row in found if row.source)):
        lines += [*_wrapped(f"Claim: {' / '.join(sources)}. Pair: {found[0].pair}."), ""]
    notes = [f"- {row.name}: {note}" for row in found for note in _notes(row, witnesses.get(row.name))]
    lines += [line for one in notes for line in _wrapped(one)] + [""] * bool(notes)
    return lines + _wrapped(f"Again: `netsim ledger {entry.name} --again`.{_see(entry, beside)}")


def _wrapped(text: str) -> list[str]:
    """In lines; those of an item of a list after the first are indented."""
    indent = "  " if text.startswith("- ") else ""
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )  # fmt: skip


def _notes(row: Row, witness: str | None = None) -> list[str]:
    """Remarks on a row beyond its line in the table."""
    notes: list[str] = []
    if row.broken:
        notes.append(
            f"**{row.verdict}**. {row.reason}"
            + (f" A transcript that shows it: [{Path(witness).name}]({witness})." if witness else "")
        )
    if row.unseen:
        notes.append(
            f"the exact ε of this pair, {row.exact}, is above the claim, {row.claimed}; that no transcript reached "
            "it is why the verdict is not *refuted*."
        )
    if row.vacuous_from is not None:
        notes.append(
            f"the claim is above 20 after {row.vacuous_from} {row.unit}, and {row.claimed} after {row.last}."
        )
    if row.granted is not None:
        notes.append(f"who is granted what was released, which is not on the wire as it was, has ε = {row.granted}.")
    if row.share is not None and not row.broken:
        notes.append(f"the mean loss over the claimed ε is {show(row.share)}.")
    return notes


def _see(entry: Entry, beside: Path) -> str:
    """Links to what there is of the documentation, and names of library scenarios."""
    docs, library = _root() / "docs", _root() / "scenarios" / "library"
    links = [f"[{name}]({_relative(docs / name, beside)})" for name in entry.see if (docs / name).is_file()]
    links += [f"[`{name}`]({_relative(library / f'{name}.yaml', beside)})" for name in entry.shipped]
    return f" See {', '.join(links)}." if links else ""


def _root() -> Path:
    return Path(str(resources.files("scenarios"))).parent


def _relative(path: Path, beside: Path) -> str:
    return Path(os.path.relpath(path.resolve(), beside.resolve())).as_posix()
