"""Entries of the ledger: their order, their results on disk, and their rows of the table."""

import difflib
import hashlib
import json
import math
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import TypeAdapter

from attacks.audit.verdict import ROUNDING
from netsim.errors import ScenarioError
from scenarios.build.progress import Progress, Silent
from scenarios.render.sentences import word
from scenarios.results import findings
from scenarios.results.audit import AuditResult, EpsilonExact
from scenarios.results.base import taken
from scenarios.results.files import write_json
from scenarios.results.folder import read_results
from scenarios.results.header import versions
from scenarios.results.numbers import MISSING, show
from scenarios.results.over_time import VACUOUS
from scenarios.results.tree import AlgorithmResult, Results
from scenarios.schema.load import Located, parse
from scenarios.stages.study import run_study
from scenarios.stages.worlds import program

FOLDER = Path(__file__).parent


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


_THESIS, _CPGT, _DPP2 = "reproduced/thesis.md", "reproduced/cpgt.md", "reproduced/dpp2.md"
ENTRIES: tuple[Entry, ...] = (
    Entry("private-gradient-descent", (_THESIS,), ("private-descent", "private-descent-noise-floor")),
    Entry("dmsp", (_THESIS,), ("private-admm-or-descent",)),
    Entry("diadsp", (_CPGT,), ("cpgt-eq-23",)),
    Entry("cpgt", (_CPGT,), ("cpgt-eq-23", "error-against-bytes")),
    Entry("cpgt-one-coordinate", (_CPGT,), ("cpgt-eq-23",)),
    Entry("dpp2", (_DPP2,), ("dpp2-theorem-3",)),
    Entry("dpp2-500-rounds", (_DPP2,), ("dpp2-growing-budget",)),
    Entry("dp-recal", ("evidence.md", "reproduced/dp-recal.md"), ("eavesdropper-on-dp-recal", "one-budget")),
    Entry("dp-recal-fresh-noise", ("evidence.md",)),
    Entry("dp-recal-l1", ("evidence.md",), ("walks-against-rounds",)),
    Entry("admm", ("reproduced/dp-recal.md",), ("one-budget",)),
    Entry("dp-admm"),
    Entry("r-admm"),
    Entry("walks", ("reproduced/dp-recal.md",), ("one-budget",)),
    Entry("thesis-algorithm-1", (_THESIS,), ("private-admm-or-descent",)),
    Entry("thesis-algorithm-2", (_THESIS,), ("uniform-mean-loss",)),
    Entry("uniform-mean", (_THESIS,), ("uniform-mean-loss",)),
    Entry("secret-sharing", (_THESIS,), ("secret-shares",)),
    Entry("without-claims", (), ("walks-against-rounds",)),
)


def chosen(names: Sequence[str]) -> tuple[Entry, ...]:
    """The entries of these names in the ledger's order, all for none; a `ScenarioError` for a name that is none."""
    known = [entry.name for entry in ENTRIES]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ScenarioError("entry", name, "no entry of the ledger", f"{hint}{', '.join(known)}")
    return tuple(entry for entry in ENTRIES if not names or entry.name in names)


NOTE = "ledger.json"


@dataclass(frozen=True)
class StoredEntry:
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


def stored_entry(entry: Entry, folder: Path) -> StoredEntry | None:
    """Results of the entry in `folder`; None unless they are complete, and of this text and code."""
    try:
        note = _NOTES.validate_json((folder / entry.name / NOTE).read_bytes())
        if note.fingerprint != _fingerprint(entry):
            return None
        results = read_results(folder / entry.name)
    except (OSError, ValueError, ScenarioError):
        return None
    return StoredEntry(results, note.seconds) if results.status == "complete" else None


def run_entry(entry: Entry, folder: Path, *, progress: Progress | None = None, jobs: int = 1) -> StoredEntry:
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
    write_json(place / NOTE, asdict(_Note(_fingerprint(entry), clock.seconds)))
    return StoredEntry(results, clock.seconds)


@dataclass
class _Clock:
    """Passes progress on, and adds up the real seconds of the stages of each algorithm: "NAME: …"."""

    progress: Progress
    names: list[str]
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    _of: str | None = None
    _since: float = 0.0

    def begin(self, stage: str, total: int) -> None:
        self.stop()
        self._of = next((name for name in self.names if stage.startswith(f"{name}: ")), None)
        self._since = time.monotonic()
        self.progress.begin(stage, total)

    def advance(self, steps: int) -> None:
        self.progress.advance(steps)

    def say(self, sentence: str) -> None:
        self.progress.say(sentence)

    def stop(self) -> None:
        """End the last stage."""
        if self._of is not None:
            self.seconds[self._of] = self.seconds.get(self._of, 0.0) + time.monotonic() - self._since
        self._of = None


_TIMES = ((60, "≤ 1 min"), (600, "≤ 10 min"), (3600, "≤ 1 h"))


@dataclass(frozen=True)
class RowNumbers:
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
    exact: str
    audited: str
    reason: str
    source: str
    pair: str
    violation: int | None
    """The agent's activation by which the claim is exceeded."""
    share: float | None
    """Mean |loss| over the claimed ε."""
    vacuous_from: int | None
    """After how many `unit` the claim is above 20."""
    last: int | None
    """Length of the run, in `unit`."""
    unit: str
    unseen: bool
    """Whether the formula's exact ε is above the claim, but that of no transcript that was simulated."""
    granted: str | None
    """ε for an adversary who knows the releases where the wire hides them."""
    seconds: float
    witness: str | None
    """File."""
    numbers: RowNumbers

    @property
    def short(self) -> str:
        """The first sentence of the reason, without parentheses."""
        return re.sub(r" \([^()]*\)", "", first_sentence(self.reason))

    @property
    def broken(self) -> bool:
        """Whether the claim was shown not to hold, or nothing was protected."""
        return self.verdict in findings.BROKEN

    @property
    def time(self) -> str:
        """Time in classes so coarse that a busy machine finds the same."""
        return next((words for most, words in _TIMES if self.seconds <= most), "> 1 h")

    @property
    def confidence(self) -> float | None:
        """Joint confidence of all of the row; None where nothing was audited."""
        return self.numbers.confidence


def rows(entry: Entry, stored: StoredEntry, folder: Path) -> list[Row]:
    """Rows of all algorithms of an entry, whose results are in `folder`/NAME."""
    return [_row(entry, one, stored.seconds.get(one.name, 0.0), folder) for one in stored.results.algorithms]


def _row(entry: Entry, found: AlgorithmResult, seconds: float, folder: Path) -> Row:
    budget, judged = found.budget, findings.judged(found)
    audit = judged if isinstance(judged, AuditResult) else None
    witness = None if audit is None or audit.witness is None else folder / entry.name / audit.witness
    epsilon = None if audit is None else audit.epsilon_exact
    levels = () if budget is None else budget.vacuous_from
    if audit is not None:
        claimed = _claimed(audit)
        numbers = taken(RowNumbers, audit, delta=audit.claim.delta)
    else:
        claimed = show(budget.epsilon[-1]) if budget is not None and budget.epsilon else "nothing"
        numbers = RowNumbers()
    return Row(
        entry=entry.name,
        name=found.name,
        kind=found.kind,
        verdict=word(found),
        claimed=claimed,
        exact=exact(epsilon),
        audited=MISSING if audit is None else f"≥ {show(audit.epsilon_audited)}",
        reason=findings.sentence(found) if audit is None else findings.capitalized(audit.reason),
        source="" if audit is None else audit.claim.source,
        pair="" if audit is None else audit.pair,
        violation=None if audit is None else audit.first_violation,
        share=None if audit is None else _share(audit),
        vacuous_from=next((level.count for level in levels if level.epsilon == VACUOUS), None),
        last=None if budget is None else budget.last,
        unit="activations of one agent" if budget is not None and budget.unit == "plf" else "rounds",
        unseen=audit is not None and _missed_by_audit(audit),
        granted=show(epsilon.estimate) if epsilon is not None and epsilon.upper_bound_only else None,
        seconds=seconds,
        witness=str(witness) if witness is not None and witness.is_file() else None,
        numbers=numbers,
    )


def _claimed(audit: AuditResult) -> str:
    if audit.epsilon_claimed is None:
        return "undefined"
    return show(audit.epsilon_claimed) + (f" at δ = {show(audit.claim.delta)}" if audit.claim.delta > 0 else "")


def exact(epsilon: EpsilonExact | None) -> str:
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


def _share(audit: AuditResult) -> float | None:
    claimed, loss = audit.epsilon_claimed, audit.average_loss
    if not claimed or loss is None:
        return None
    found = loss.estimate / claimed
    return found if math.isfinite(found) else None


def _missed_by_audit(audit: AuditResult) -> bool:
    claimed, epsilon = audit.epsilon_claimed, audit.epsilon_exact
    if claimed is None or not epsilon.by_formula or audit.verdict in findings.BROKEN:
        return False
    return epsilon.estimate > claimed * (1 + ROUNDING)


def first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence, without it."""
    return text.partition(". ")[0].removesuffix(".")
