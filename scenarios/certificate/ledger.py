"""The ledger: every shipped algorithm audited at its paper's own parameters, in one table.

An entry is a scenario NAME.yaml of the folder scenarios/ledger. Here are their order, their results on disk, their
rows, and the table as a Markdown page.
"""

import hashlib
import json
import math
import os
import re
import shutil
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib import resources
from itertools import groupby
from pathlib import Path

from pydantic import TypeAdapter

from attacks.audit.verdict import BROKEN, ROUNDING, VACUOUS_ABOVE
from netsim.errors import ScenarioError, meant
from scenarios.build.duration import PassedOn, Progress, Silent
from scenarios.files.folders import whole
from scenarios.render.sentences import meaning, word
from scenarios.results import findings
from scenarios.results.audit import AuditResult, EpsilonExact
from scenarios.results.base import as_json, taken, write_text
from scenarios.results.folder import read_results
from scenarios.results.header import versions
from scenarios.results.numbers import MISSING, percent, show
from scenarios.results.tree import AlgorithmResult, Results
from scenarios.schema.load import Located, parse
from scenarios.stages.study import run_study
from scenarios.stages.worlds import program

FOLDER = Path(__file__).parents[1] / "ledger"


@dataclass(frozen=True)
class Entry:
    """One scenario of the ledger. `see` are pages of docs/, `shipped` scenarios of the library that show more."""

    name: str
    see: tuple[str, ...] = ()
    shipped: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The scenario's file."""
        return FOLDER / f"{self.name}.yaml"

    @cached_property
    def text(self) -> str:
        """The scenario as it is written."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def located(self) -> Located:
        """The scenario, with where its fields stand."""
        return parse(self.text, str(self.path))


_ITEMS, _BESIDE = "papers.md", "beside-the-papers.md"
ENTRIES: tuple[Entry, ...] = (
    Entry("private-gradient-descent", (_ITEMS, _BESIDE), ("private-descent", "private-descent-noise-floor")),
    Entry("dmsp", (_ITEMS, _BESIDE), ("private-admm-or-descent",)),
    Entry("diadsp", (_ITEMS,), ("cpgt-eq-23",)),
    Entry("cpgt", (_ITEMS, _BESIDE), ("cpgt-eq-23", "error-against-bytes")),
    Entry("cpgt-one-coordinate", (_ITEMS,), ("cpgt-eq-23",)),
    Entry("dpp2", (_ITEMS,), ("dpp2-theorem-3",)),
    Entry("dpp2-500-rounds", (_ITEMS, _BESIDE), ("dpp2-growing-budget",)),
    Entry("dp-recal", ("evidence.md", _BESIDE), ("eavesdropper-on-dp-recal", "one-budget")),
    Entry("dp-recal-fresh-noise", ("evidence.md",)),
    Entry("dp-recal-l1", ("evidence.md",), ("walks-against-rounds",)),
    Entry("dp-recal-v1", ("evidence.md",)),
    Entry("admm", (_BESIDE,), ("one-budget",)),
    Entry("dp-admm"),
    Entry("r-admm"),
    Entry("walks", (_BESIDE,), ("one-budget",)),
    Entry("by-frequency", (_BESIDE,)),
    Entry("thesis-algorithm-1", (_ITEMS, _BESIDE), ("private-admm-or-descent",)),
    Entry("thesis-algorithm-2", (_ITEMS, _BESIDE), ("uniform-mean-loss",)),
    Entry("uniform-mean", (_ITEMS, _BESIDE), ("uniform-mean-loss",)),
    Entry("secret-sharing", (_ITEMS, _BESIDE), ("secret-shares",)),
    Entry("muffliato", ("algorithms.md",)),
    Entry("average-consensus", ("algorithms.md",)),
    Entry("correlated-noise"),
    Entry("without-claims", (), ("walks-against-rounds",)),
)


def chosen(names: Sequence[str]) -> tuple[Entry, ...]:
    """The entries of these names in the ledger's order, all for none; a `ScenarioError` for a name that is none."""
    known = [entry.name for entry in ENTRIES]
    for name in names:
        if name not in known:
            raise ScenarioError("entry", name, f"no entry of the ledger{meant(name, known)}", ", ".join(known))
    return tuple(entry for entry in ENTRIES if not names or entry.name in names)


NOTE = "ledger.json"


@dataclass(frozen=True)
class _StoredEntry:
    """Results of an entry, and the seconds that each of its algorithms took, by name."""

    results: Results
    seconds: dict[str, float]


@dataclass(frozen=True)
class _Note:
    """The file `NOTE`: of which text and code results are, and how long they took."""

    fingerprint: str
    seconds: dict[str, float]


_NOTES = TypeAdapter(_Note)


def _fingerprint(entry: Entry) -> str:
    """SHA-256 of what an entry's results depend on: its text, the versions, and every line of code."""
    libraries = json.dumps(versions(), sort_keys=True)
    return hashlib.sha256(f"{entry.text}\0{libraries}\0{program()}".encode()).hexdigest()


def stored_entry(entry: Entry, folder: Path) -> _StoredEntry | None:
    """Results of the entry in `folder`; None unless they are complete, and of this text and code."""
    try:
        note = _NOTES.validate_json((folder / entry.name / NOTE).read_bytes())
        if note.fingerprint != _fingerprint(entry):
            return None
        results = read_results(folder / entry.name)
    except (OSError, ValueError, ScenarioError):
        return None
    return _StoredEntry(results, note.seconds) if results.status == "complete" else None


def run_entry(entry: Entry, folder: Path, *, progress: Progress | None = None, jobs: int = 1) -> _StoredEntry:
    """Run an entry into `folder`/NAME as `netsim run` does, whatever is there.

    Raises what `scenarios.stages.study.run_study` does, and a `KeyboardInterrupt` where it was interrupted.
    """
    place = folder / entry.name
    (place / NOTE).unlink(missing_ok=True)
    clock = _Clock(progress or Silent(), [one.name for one in entry.located.scenario.algorithms])
    results = run_study(entry.located, place, command=f"netsim ledger {entry.name}", progress=clock, jobs=jobs)
    clock.stop()
    if results.status != "complete":
        raise KeyboardInterrupt
    write_text(place / NOTE, as_json(asdict(_Note(_fingerprint(entry), clock.seconds))))
    return _StoredEntry(results, clock.seconds)


@dataclass
class _Clock(PassedOn):
    """Passes progress on, and adds up the real seconds of the stages of each algorithm: "NAME: …"."""

    names: list[str]
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    _of: str | None = None
    _since: float = 0.0

    def begin(self, stage: str, total: int, seconds: float = math.nan, /) -> None:
        self.stop()
        self._of = next((name for name in self.names if stage.startswith(f"{name}: ")), None)
        self._since = time.monotonic()
        super().begin(stage, total, seconds)

    def stop(self) -> None:
        """End the last stage."""
        if self._of is not None:
            self.seconds[self._of] = self.seconds.get(self._of, 0.0) + time.monotonic() - self._since
        self._of = None


@dataclass(frozen=True)
class _RowNumbers:
    """ε, δ and the confidence of a row, as results.json has them; null where nothing was audited."""

    epsilon_claimed: float | None = None
    epsilon_exact: EpsilonExact | None = None
    epsilon_audited: float | None = None
    confidence: float | None = None
    """Joint confidence of all of the row."""
    delta: float | None = None


@dataclass(frozen=True)
class Row:
    """One algorithm of an entry; fields without a unit are words."""

    entry: str
    name: str
    kind: str
    verdict: str
    claimed: str
    exact: str = MISSING
    audited: str = MISSING
    reason: str = ""
    source: str = ""
    pair: str = ""
    violation: int | None = None
    """The agent's activation by which the claim is exceeded."""
    share: float | None = None
    """Mean |loss| over the claimed ε."""
    vacuous_from: int | None = None
    """After how many `unit` the claim is above 20."""
    last: int | None = None
    """Length of the run, in `unit`."""
    unit: str = "rounds"
    unseen: bool = False
    """Whether the formula's exact ε is above the claim, but that of no transcript that was simulated."""
    granted: str | None = None
    """ε for an adversary who knows the releases where the wire hides them."""
    seconds: float = 0.0
    witness: str | None = None
    """File."""
    numbers: _RowNumbers = _RowNumbers()

    @property
    def broken(self) -> bool:
        """Whether the claim was shown not to hold, or nothing was protected."""
        return self.verdict in BROKEN


def rows(entry: Entry, stored: _StoredEntry, folder: Path) -> list[Row]:
    """Rows of all algorithms of an entry, whose results are in `folder`/NAME."""
    return [_row(entry, one, stored.seconds.get(one.name, 0.0), folder) for one in stored.results.algorithms]


def _row(entry: Entry, found: AlgorithmResult, seconds: float, folder: Path) -> Row:
    budget, audit = found.budget, findings.judged(found)
    levels = () if budget is None else budget.vacuous_from
    row = Row(
        entry=entry.name,
        name=found.name,
        kind=found.kind,
        verdict=word(found),
        claimed=show(budget.epsilon[-1]) if budget is not None and budget.epsilon else "nothing",
        reason=findings.sentence(found),
        vacuous_from=next((level.count for level in levels if level.epsilon == VACUOUS_ABOVE), None),
        last=None if budget is None else budget.last,
        unit="activations of one agent" if budget is not None and budget.unit == "plf" else "rounds",
        seconds=seconds,
    )
    if not isinstance(audit, AuditResult):
        return row
    claimed, epsilon, delta, loss = audit.epsilon_claimed, audit.epsilon_exact, audit.claim.delta, audit.average_loss
    stated = "undefined" if claimed is None else show(claimed) + (f" at δ = {show(delta)}" if delta > 0 else "")
    share = loss.estimate / claimed if claimed and loss is not None else math.inf
    above = claimed is not None and epsilon.by_formula and epsilon.estimate > claimed * (1 + ROUNDING)
    witness = None if audit.witness is None else folder / entry.name / audit.witness
    return replace(
        row,
        claimed=stated,
        exact=exact_in_words(epsilon),
        audited=f"≥ {show(audit.epsilon_audited)}",
        reason=findings.capitalized(audit.reason),
        source=audit.claim.source,
        pair=audit.pair,
        violation=audit.first_violation,
        share=share if math.isfinite(share) else None,
        unseen=above and not row.broken,
        granted=show(epsilon.estimate) if epsilon.upper_bound_only else None,
        witness=str(witness) if witness is not None and witness.is_file() else None,
        numbers=taken(_RowNumbers, audit, delta=delta),
    )


def exact_in_words(epsilon: EpsilonExact | None) -> str:
    """ε exact: a number where a formula gives it, else the proven interval."""
    if epsilon is None:
        return MISSING
    lower, upper = epsilon.lower, epsilon.upper
    if math.isinf(lower):
        return "∞"
    if epsilon.by_formula or lower == upper:
        return show(epsilon.estimate)
    if lower > 0:
        return f"{show(lower)} … {show(upper)}" if math.isfinite(upper) else f"≥ {show(lower)}"
    return f"≤ {show(upper)}" if math.isfinite(upper) else "not known"


# ── the page ────────────────────────────────────────────────────────────────────────────────────────────
HEADS = (
    "algorithm", "ε claimed", "ε exact", "ε audited", "verdict", "reason", "first violation", "scenario", "time",
)  # fmt: skip
WITNESSES = "witnesses"
WIDTH = 118
TIMES = ((60, "≤ 1 min"), (600, "≤ 10 min"), (3600, "≤ 1 h"))
ROOT = Path(str(resources.files("scenarios"))).parent
INTRODUCTION = """\
# The ledger

Every algorithm that netsim ships, audited at its paper's own parameters; what a paper leaves open was chosen, and is
named below. `netsim ledger --out docs/ledger.md` makes this page: it runs the scenarios of `scenarios/ledger/`, one
command for each is `netsim ledger NAME`, and it does not run again what is there already.

Claimed is what the paper's formula gives; exact what the mechanism gives for one adjacent pair, seen at the agent's
door, or in sums of secret shares if the claim is about those, between bounds where no formula gives it; audited is
what a game proves from below. The first violation is the activation of the agent by which the claim is exceeded. The
seconds that each took are in the table of the terminal.
"""
CONFIDENCE = (
    "Each audit holds at {each} confidence, so that all {count} together hold at {all} or more: at 95 % each, so "
    "many would be wrong somewhere more often than not."
)


def write_page(path: Path, found: Sequence[Row]) -> list[Path]:
    """Write the page, and copy the witnesses of broken claims to `witnesses` beside it; all that was written.

    Links are relative to the page, to what is on this machine. Equal rows give equal bytes.
    """
    beside, copies = path.parent, dict[str, str]()
    beside.mkdir(parents=True, exist_ok=True)
    for row in found:
        if row.broken and row.witness is not None:
            source = Path(row.witness)
            copies[row.name] = f"{WITNESSES}/{row.entry}-{source.name.removeprefix('witness-')}"
            (beside / WITNESSES).mkdir(exist_ok=True)
            shutil.copyfile(source, beside / copies[row.name])
    lines = [INTRODUCTION, *_together(found), ""]
    for verdict in dict.fromkeys(row.verdict for row in found):
        lines += _wrapped(f"- **{verdict}**: {meaning(verdict)}")
    lines += ["", _line(HEADS), _line(["---"] * len(HEADS))]
    lines += [_line(_cells(row, beside, copies.get(row.name))) for row in found]
    for name, group in groupby(found, key=lambda row: row.entry):
        lines += ["", *_section(chosen([name])[0], list(group), beside, copies)]
    with whole(path) as draft:
        draft.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [path, *(beside / copy for copy in copies.values())]


# ── above the table ─────────────────────────────────────────────────────────────────────────────────────
def _together(found: Sequence[Row]) -> list[str]:
    """Count of each verdict, and the confidence at which all of them hold."""
    tally = ", ".join(f"{count} {verdict}" for verdict, count in Counter(row.verdict for row in found).most_common())
    text = f"Of {len(found)} algorithms, variants counted: {tally}."
    wrong = [1 - level for row in found if (level := row.numbers.confidence) is not None]
    if wrong:
        each, together = percent(1 - max(wrong)), percent(max(0.0, 1 - sum(wrong)))
        text += f" {CONFIDENCE.format(each=each, count=len(wrong), all=together)}"
    return _wrapped(text)


# ── the table ───────────────────────────────────────────────────────────────────────────────────────────
def _cells(row: Row, beside: Path, witness: str | None) -> list[str]:
    verdict = f"**{row.verdict}**" if row.broken else row.verdict
    if witness is not None:
        verdict += f" ([witness]({witness}))"
    violation = MISSING if row.violation is None else f"activation {row.violation}"
    link = f"[{row.entry}]({_relative(chosen([row.entry])[0].path, beside)})"
    # the reason's first sentence, without parentheses, and the time in classes that a busy machine finds again
    reason = re.sub(r" \([^()]*\)", "", row.reason.partition(". ")[0].removesuffix("."))
    time = next((words for most, words in TIMES if row.seconds <= most), "> 1 h")
    return [row.name, row.claimed, row.exact, row.audited, verdict, reason, violation, link, time]


def _line(cells: Iterable[str]) -> str:
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
    docs, library = ROOT / "docs", ROOT / "scenarios" / "library"
    links = [f"[{name}]({_relative(docs / name, beside)})" for name in entry.see if (docs / name).is_file()]
    links += [f"[`{name}`]({_relative(library / f'{name}.yaml', beside)})" for name in entry.shipped]
    see = f" See {', '.join(links)}." if links else ""
    return lines + _wrapped(f"Again: `netsim ledger {entry.name} --again`.{see}")


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
        one = row.verdict != "refuted" or " at δ = " not in row.claimed  # else a set of them
        shows = "A transcript that shows it" if one else "Transcripts that show it"
        notes.append(
            f"**{row.verdict}**. {row.reason}" + (f" {shows}: [{Path(witness).name}]({witness})." if witness else "")
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


def _relative(path: Path, beside: Path) -> str:
    return Path(os.path.relpath(path.resolve(), beside.resolve())).as_posix()
