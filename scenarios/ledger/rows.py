"""An entry's results as rows of the table: one algorithm each, numbers as people read them."""

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from attacks.audit.verdict import ROUNDING
from scenarios import findings
from scenarios.ledger.catalogue import Entry
from scenarios.ledger.keeping import Kept
from scenarios.report.formats import MISSING, items, number, part, show
from scenarios.report.words import word
from scenarios.reproduction.budget import VACUOUS

TIMES = ((60, "≤ 1 min"), (600, "≤ 10 min"), (3600, "≤ 1 h"))
BROKEN = findings.BROKEN
NUMBERS = ("epsilon_claimed", "epsilon_exact", "epsilon_audited", "confidence")


@dataclass(frozen=True)
class Row:
    """One algorithm of an entry.

    `claimed`, `exact` and `audited` are ε in words, `reason` what the audit says, `violation` the agent's activation
    by which the claim is exceeded. `share` is the mean |loss| over the claimed ε (the thesis' γ), `vacuous_from`
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


def rows(entry: Entry, kept: Kept, folder: Path) -> list[Row]:
    """Of all algorithms of an entry, whose results are in `folder`/NAME."""
    return [_row(entry, one, kept, folder) for one in kept.results["algorithms"]]


def _row(entry: Entry, found: dict[str, Any], kept: Kept, folder: Path) -> Row:
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
        unseen=_unseen(audit),
        granted=_granted(part(audit, "epsilon_exact")),
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


def _unseen(audit: dict[str, Any]) -> bool:
    epsilon = part(audit, "epsilon_exact")
    claimed, estimate = number(audit.get("epsilon_claimed")), number(epsilon.get("estimate"))
    return bool(epsilon.get("by_formula")) and audit["verdict"] not in BROKEN and estimate > claimed * (1 + ROUNDING)


def _granted(epsilon: dict[str, Any]) -> str | None:
    return show(epsilon["estimate"]) if epsilon.get("upper_bound_only") else None


def first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence, without it."""
    return text.partition(". ")[0].removesuffix(".")
