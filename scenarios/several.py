"""Several audits of one claim in one folder: what each may spend, which decides, and what is kept of the rest.

An audit at confidence 1 − α says something wrong with probability α at most. Audits of a folder have noise of their
own, but how many there are, and at which confidence, may depend on what those before have said: who asks until one
refutes is refuted in the end. So error is spent and never given back. The first audit spends α₁ = 1 − confidence.
The n-th after it, asked for at confidence 1 − a, is made at 1 − a/(n(n + 1)); these parts of a add up to a, however
many there are. With S_j = α₁ + … + α_j, *together* of audit j is 1 − S_j: that it and all before it hold at once has
at least this probability, and so has, over all rules of when to go on, that no refutation with S_j ≤ s is wrong:
P(∃ j: S_j ≤ s, audit j is wrong) ≤ E Σ_j α_j·1[S_j ≤ s] ≤ s.

A refutation that holds therefore stays: an audit later on that does not refute takes nothing from it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from netsim.errors import ScenarioError
from scenarios.findings import BROKEN

Results = dict[str, Any]
LEAST = 0.5
"""The least confidence of all audits of a folder together; that of one cannot be less either."""


def audits(audit: Results | None) -> list[Results]:
    """All audits of a claim that were read, in the order in which they were made; `audit` is the one that decides."""
    if not audit:
        return []
    return [*audit.get("earlier", []), audit, *audit.get("later", [])]


def confidence_of(one: Results) -> float:
    """At which an audit was made, also one that could not judge."""
    asked: Results = one.get("asked") or {}
    found = one.get("confidence")
    return float(asked.get("confidence", 0.95) if found is None else found)


def draw_of(audit: Mapping[str, Any]) -> int:
    """Which noise an audit had."""
    asked: Results = audit.get("asked") or {}
    return int(asked.get("draw", 0))


def spent(made: Sequence[Results]) -> float:
    """The error probability that audits have spent."""
    return sum(1 - confidence_of(one) for one in made)


def share(confidence: float, before: int) -> float:
    """The confidence of an audit that was asked for at this confidence, where `before` audits were read."""
    return confidence if not before else 1 - (1 - confidence) / (before * (before + 1))


def check(confidence: float, made: Sequence[Results]) -> None:
    """A `ScenarioError` where another audit, asked for at this confidence, could not decide anything: all together
    would hold with a probability below `LEAST`."""
    together = 1 - spent(made) - (1 - share(confidence, len(made)))
    if made and together < LEAST:
        why = (
            f"the audits of this folder have spent {spent(made):.4g} of error probability: with one more they would "
            f"hold together at {max(0.0, together):.4g} only"
        )
        raise ScenarioError(
            "--confidence", confidence, why, "a higher confidence, or another folder with another seed"
        )


def decides(new: Results, old: Results | None) -> bool:
    """Whether a new audit is the one that the folder shows: unless the one that it shows broke the claim, and the new
    one does not."""
    return old is None or old.get("verdict") not in BROKEN or new.get("verdict") in BROKEN


def brief(audit: Mapping[str, Any], draft: str) -> Results:
    """An audit that another one is shown in place of. `draft` is what the names of its files have."""
    exact: Results = audit.get("epsilon_exact") or {}
    own = {"draw": draw_of(audit), "confidence": confidence_of(dict(audit))}
    told = ("trials", "verdict", "reason", "refused", "epsilon_audited", "first_violation", "together", "asked")
    ends = {key: exact.get(key) for key in ("lower", "estimate", "upper")} if exact else None
    witness = None if not audit.get("witness") else str(audit["witness"]).replace(".json", f"{draft}.json")
    return own | {key: audit.get(key) for key in told} | {"epsilon_exact": ends, "witness": witness}


def besides(audit: Results) -> str:
    """What is to be read together with what the audit that decides says."""
    parts: list[str] = []
    for key, when in (("earlier", "before"), ("later", "since")):
        if made := audit.get(key, []):
            count = "once" if len(made) == 1 else f"{len(made)} times"
            said = ", ".join(one["verdict"] or "refused" for one in made)
            parts.append(f"The claim was audited {count} {when}, with other noise: {said}.")
    if audit.get("later"):
        parts.append("No later audit takes a refutation back.")
    sure = f"This audit and all before it hold at once with probability {audit['together']:.4g} at least."
    return " ".join([*parts, sure]) if parts else ""
