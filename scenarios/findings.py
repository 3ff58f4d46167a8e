"""What results say, read in one way by the terminal, the exit status and the page.

An entry is one algorithm's results. Its `audit_status` is one of

- "done": there is a verdict;
- "refused": an audit was begun and could not judge; the reason is in `audit.refused`;
- "no claim": the algorithm promises no privacy, so there was nothing to audit;
- "not asked": the scenario asks for no audit;
- "not reached": the run ended before.
"""

from collections.abc import Mapping
from typing import Any

Result = Mapping[str, Any]

DONE, REFUSED, NO_CLAIM = "done", "refused", "no claim"
NOT_ASKED, NOT_REACHED = "not asked", "not reached"
BROKEN = ("unprotected", "refuted")
"""The verdicts under which a claim does not hold."""


def audit_status(entry: Result) -> str:
    """How far the audit of an algorithm got; "not reached" where nothing is said."""
    return str(entry.get("audit_status") or NOT_REACHED)


def verdict(entry: Result) -> str | None:
    """The verdict of a finished audit."""
    return _audit(entry).get("verdict")


def has_claim(entry: Result) -> bool:
    """Whether a number is claimed. An algorithm without noise, or outside its formula's conditions, has none."""
    return _audit(entry).get("epsilon_claimed") is not None


def outside_model(entry: Result) -> str | None:
    """The line to be shown wherever results are, if an active adversary meddled: no claim is about that."""
    return entry.get("outside_model")


def claim_is_broken(entry: Result) -> bool:
    """Whether a claimed number was shown not to hold. What was never claimed cannot be broken, and neither can a
    claim about listeners be by what came of an active adversary."""
    return has_claim(entry) and verdict(entry) in BROKEN and outside_model(entry) is None


def sentence(entry: Result) -> str:
    """What became of the audit."""
    audit = _audit(entry)
    if audit.get("refused"):
        return f"Not audited: {audit['refused']}"
    if not audit.get("verdict"):
        return {
            NOT_ASKED: "This scenario asks for no audit.",
            NO_CLAIM: "Claims no privacy: there is no ε to audit.",
        }.get(audit_status(entry), "The run ended before this algorithm's audit was done.")
    reason = str(audit.get("reason", ""))
    reason = reason[:1].upper() + reason[1:]
    if has_claim(entry) or audit["verdict"] not in BROKEN:
        return reason
    claim: Result = audit.get("claim") or {}
    why = "; ".join(claim.get("failed_conditions") or [])
    return f"Nothing was claimed{f' ({why})' if why else ''}. {reason}"


def caution(entry: Result) -> str | None:
    """What to read together with everything else that is said of an algorithm; None if there is nothing."""
    line = outside_model(entry)
    if line is None:
        return None
    line = line[:1].upper() + line[1:] + "."
    if not verdict(entry):
        return line
    return (
        f"{line} The claim is about adversaries that only listen: what the audit found is exact for what the agent "
        "received from this meddler, and neither confirms nor refutes the claim in its own model."
    )


def _audit(entry: Result) -> Result:
    audit: Result = entry.get("audit") or {}
    return audit
