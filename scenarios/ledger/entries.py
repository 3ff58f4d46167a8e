"""Entries of the ledger: their order, their results on disk, and their rows of the table."""

import difflib
import hashlib
import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from attacks.audit.verdict import ROUNDING
from netsim.errors import ScenarioError
from scenarios.build.progress import Progress, Silent
from scenarios.render.former_sentences import word
from scenarios.results import entries as describe
from scenarios.results import former_findings as findings
from scenarios.results.entries import Results
from scenarios.results.files import RESULTS, write_json
from scenarios.results.loss_breakdown import VACUOUS
from scenarios.results.numbers import MISSING, items, number, part, show
from scenarios.schema.load import Located, parse
from scenarios.stages.study import COMPLETE, run_study
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
    """An entry's results, and the seconds that each of its algorithms took, by name."""

    results: Results
    seconds: dict[str, float]


def _fingerprint(entry: Entry) -> str:
    """Of what an entry's results depend on: its text, the versions, and every line of code."""
    versions = json.dumps(describe.versions(), sort_keys=True)
    return hashlib.sha256(f"{entry.text}\0{versions}\0{program()}".encode()).hexdigest()


def stored_entry(entry: Entry, folder: Path) -> StoredEntry | None:
    """The entry's results in `folder`, if they are complete and of this text and code; else None."""
    note, results = _read(folder / entry.name / NOTE), _read(folder / entry.name / RESULTS)
    if note.get("fingerprint") != _fingerprint(entry) or results.get("status") != COMPLETE:
        return None
    return StoredEntry(results, note["seconds"])


def run_entry(entry: Entry, folder: Path, *, progress: Progress | None = None, jobs: int = 1) -> StoredEntry:
    """Run an entry into `folder`/NAME as `netsim run` does, whatever is there.

    Raises what `scenarios.stages.study.run_study` does, and a `KeyboardInterrupt` where it was interrupted.
    """
    place = folder / entry.name
    (place / NOTE).unlink(missing_ok=True)
    clock = _Clock(progress or Silent(), [one.name for one in entry.located.scenario.algorithms])
    results = run_study(entry.located, place, command=f"netsim ledger {entry.name}", progress=clock, jobs=jobs)
    clock.stop()
    if results["status"] != COMPLETE:
        raise KeyboardInterrupt
    write_json(place / NOTE, {"fingerprint": _fingerprint(entry), "seconds": clock.seconds})
    found = stored_entry(entry, folder)  # read again: what is printed now and what is printed later are the same
    assert found is not None
    return found


def _read(path: Path) -> dict[str, Any]:
    """A JSON file; empty where it is missing or was cut off."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


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
        """The last stage is over."""
        if self._of is not None:
            self.seconds[self._of] = self.seconds.get(self._of, 0.0) + time.monotonic() - self._since
        self._of = None


TIMES = ((60, "≤ 1 min"), (600, "≤ 10 min"), (3600, "≤ 1 h"))
BROKEN = findings.BROKEN
NUMBERS = ("epsilon_claimed", "epsilon_exact", "epsilon_audited", "confidence")


@dataclass(frozen=True)
class Row:
    """One algorithm of an entry.

    `claimed`, `exact` and `audited` are ε in words, `reason` what the audit says, `violation` the agent's activation
    by which the claim is exceeded. `share` is the mean |loss| over the claimed ε, `vacuous_from`
    after how many `unit` the claim is above 20, `last` of how many, `seconds` what it took. `unseen`: the formula's
    exact ε is above the claim, but that of no transcript that was seen. `granted` is ε for who knows the releases
    where the wire hides them. `witness` is a file, or None; `numbers` are ε, δ and the confidence as results.json has
    them.
    """

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
    share: float | None
    vacuous_from: int | None
    last: int | None
    unit: str
    unseen: bool
    granted: str | None
    seconds: float
    witness: str | None
    numbers: Mapping[str, Any]

    @property
    def short(self) -> str:
        """The first sentence of the reason, without what stands in brackets."""
        return re.sub(r" \([^()]*\)", "", first_sentence(self.reason))

    @property
    def broken(self) -> bool:
        """Whether the claim was shown not to hold, or nothing was protected."""
        return self.verdict in BROKEN

    @property
    def time(self) -> str:
        """In so coarse classes that a busy machine finds the same."""
        return next((told for most, told in TIMES if self.seconds <= most), "> 1 h")

    @property
    def confidence(self) -> float | None:
        """At which all that is said of the row holds together; None where nothing was audited."""
        return self.numbers["confidence"]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def rows(entry: Entry, kept: StoredEntry, folder: Path) -> list[Row]:
    """Of all algorithms of an entry, whose results are in `folder`/NAME."""
    return [_row(entry, one, kept, folder) for one in kept.results["algorithms"]]


def _row(entry: Entry, found: dict[str, Any], kept: StoredEntry, folder: Path) -> Row:
    audit, budget = part(found, "audit"), part(found, "budget")
    claim = part(audit, "claim")
    witness = folder / entry.name / str(audit["witness"]) if audit.get("witness") else None
    return Row(
        entry=entry.name,
        name=found["name"],
        kind=found["kind"],
        verdict=word(found),
        claimed=_claimed(audit, items(budget, "epsilon")),
        exact=exact(part(audit, "epsilon_exact")),
        audited=f"≥ {show(audit['epsilon_audited'])}" if "epsilon_audited" in audit else MISSING,
        reason=findings.capitalized(str(audit["reason"])) if audit.get("verdict") else findings.sentence(found),
        source=str(claim.get("source", "")),
        pair=str(audit.get("pair", "")),
        violation=audit.get("first_violation"),
        share=_share(audit),
        vacuous_from=next((v["count"] for v in items(budget, "vacuous_from") if v["epsilon"] == VACUOUS), None),
        last=budget.get("last"),
        unit="activations of one agent" if budget.get("unit") == "plf" else "rounds",
        unseen=_missed_by_audit(audit),
        granted=_attacker_knowledge(part(audit, "epsilon_exact")),
        seconds=kept.seconds.get(found["name"], 0.0),
        witness=str(witness) if witness is not None and witness.is_file() else None,
        numbers={name: audit.get(name) for name in NUMBERS} | {"delta": claim.get("delta")},
    )


def _claimed(audit: dict[str, Any], budget: list[Any]) -> str:
    if "claim" not in audit:
        return show(budget[-1]) if budget else "nothing"
    epsilon, delta = audit["epsilon_claimed"], number(audit["claim"]["delta"])
    if epsilon is None:
        return "undefined"
    return show(epsilon) + (f" at δ = {show(delta)}" if delta > 0 else "")


def exact(epsilon: dict[str, Any]) -> str:
    """ε exact: a number where a formula gives it, else what it is proven to lie between."""
    if not epsilon:
        return MISSING
    lower, upper = number(epsilon["lower"]), number(epsilon["upper"])
    if math.isinf(lower):
        return "∞"
    if epsilon["by_formula"] or lower == upper:
        return show(epsilon["estimate"])
    if lower > 0:
        return f"{show(lower)} … {show(upper)}" if math.isfinite(upper) else f"≥ {show(lower)}"
    return f"≤ {show(upper)}" if math.isfinite(upper) else "not known"


def _share(audit: dict[str, Any]) -> float | None:
    claimed, mean = number(audit.get("epsilon_claimed")), number(part(audit, "average_loss").get("estimate"))
    found = mean / claimed if claimed > 0 else math.nan
    return found if math.isfinite(found) else None


def _missed_by_audit(audit: dict[str, Any]) -> bool:
    epsilon = part(audit, "epsilon_exact")
    claimed, estimate = number(audit.get("epsilon_claimed")), number(epsilon.get("estimate"))
    return bool(epsilon.get("by_formula")) and audit["verdict"] not in BROKEN and estimate > claimed * (1 + ROUNDING)


def _attacker_knowledge(epsilon: dict[str, Any]) -> str | None:
    return show(epsilon["estimate"]) if epsilon.get("upper_bound_only") else None


def first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence, without it."""
    return text.partition(". ")[0].removesuffix(".")
