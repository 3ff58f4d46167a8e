"""Findings of a run, derived once for terminal, exit status and page: verdicts, cautions, failures."""

import math
from collections.abc import Mapping
from statistics import median
from typing import Any, cast

Result = Mapping[str, Any]

DONE, REFUSED, NO_CLAIM = "done", "refused", "no claim"
NOT_ASKED, NOT_REACHED = "not asked", "not reached"
BROKEN = ("unprotected", "refuted")
"""The verdicts under which a claim does not hold."""
DIVERGED = 1e3
EXACT_GRADIENT = 1e-6
"""A gradient known to this relative error counts as recovered."""


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


def decides_failure(entry: Result) -> bool:
    """Whether this algorithm makes the exit status 1: it is refuted or unprotected, whatever number is claimed of it,
    or membership is told better than its claim allows; it is no baseline of the scenario, and nobody meddled (no
    verdict about a claim comes of that)."""
    broken = verdict(entry) in BROKEN or membership_breaks_claim(entry)
    return broken and not entry.get("baseline") and outside_model(entry) is None


def membership_breaks_claim(entry: Result) -> bool:
    """Whether membership was told at rates that the claim rules out, with confidence."""
    return bool(_part(_part(entry, "membership"), "claim").get("broken"))


def exact_loss_refutes(entry: Result) -> bool:
    """Whether a claim is broken, and the exact loss alone is proven to be above it."""
    lower = _part(_audit(entry), "epsilon_exact").get("lower")
    return claim_is_broken(entry) and lower is not None and float(lower) > float(_audit(entry)["epsilon_claimed"])


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
    reason = capitalized(reason)
    if audit.get("besides"):
        reason += f" {audit['besides']}"
    if has_claim(entry) or audit["verdict"] not in BROKEN:
        return reason
    claim: Result = audit.get("claim") or {}
    why = "; ".join(claim.get("failed_conditions") or [])
    return f"Nothing was claimed{f' ({why})' if why else ''}. {reason}"


def capitalized(sentence: str) -> str:
    """A sentence's first letter in upper case, but for one that is a symbol."""
    return sentence if sentence.startswith(("ε", "δ", "η", "λ")) else sentence[:1].upper() + sentence[1:]


def caution(entry: Result) -> str | None:
    """What to read together with everything else that is said of an algorithm; None if there is nothing."""
    line = outside_model(entry)
    if line is None:
        return None
    line = capitalized(line) + "."
    if not verdict(entry):
        return line
    return (
        f"{line} The claim is about adversaries that only listen: what the audit found is exact for what the agent "
        "received from this meddler, and neither confirms nor refutes the claim in its own model."
    )


def auditor(results: Result) -> str | None:
    """What an audit listens to, whatever the scenario's adversary does; None where no audit is asked."""
    spec = _part(_part(results, "scenario"), "audit")
    if "agent" not in spec:
        return None
    agent = spec["agent"]
    if _on_radio(results):
        return (
            f"The audit has a tap of its own at agent {agent}'s door, and hears what it and its neighbors transmit."
        )
    return f"The audit has a tap of its own at agent {agent}'s door and on its links."


def listener(results: Result) -> str:
    """Who it is that infers: "eavesdropper", or "adversary" where agents themselves listen or there is no wire."""
    inside = _part(results, "network").get("insiders")
    return "adversary" if inside or _on_radio(results) else "eavesdropper"


def misled(gradients: Result) -> bool:
    """Whether most estimates are the gradient itself, and some are not: the median alone would hide them."""
    middle, worst = gradients.get("median"), gradients.get("worst")
    return middle is not None and worst is not None and float(middle) < EXACT_GRADIENT <= float(worst)


def deadline_note(results: Result, entry: Result) -> str | None:
    """Why nothing, or only what passes the adversary's own doors, was inferred from exchanges with a deadline."""
    inferred = _part(entry, "gradients").get("inferred")
    patience = _part(_part(results, "scenario"), "exchange")
    if inferred is None or patience.get("deadline") is None or _part(entry, "convergence").get("unit") != "rounds":
        return None
    network = _part(results, "network")
    doors = {*(network.get("tapped_nodes") or ()), *(network.get("insiders") or ())}
    if any(found and agent not in doors for agent, found in enumerate(cast("list[int]", inferred))):
        return None
    return "Exchanges have a deadline: what an agent took is known at its door only."


def diverged(entry: Result) -> bool:
    """Whether the relative error ended a thousand times above where the run began, or was no number."""
    curve = [float(v) for v in cast("list[Any]", _part(entry, "convergence").get("median") or [])]
    return bool(curve) and not curve[-1] <= DIVERGED * max(1.0, curve[0])


def drowned(entry: Result) -> bool:
    """Whether noise, and nothing else that is known of, kept a run farther from the optimum than it started.

    There is noise, nobody meddled, and the errors are finite, above 1 in most of the later half, and no larger there
    than twice what they were before.
    """
    curve = [float(v) for v in cast("list[Any]", _part(entry, "convergence").get("median") or [])]
    if not entry.get("noise") or outside_model(entry) is not None or not all(map(math.isfinite, curve)):
        return False
    half = len(curve) // 2
    return half > 0 and median(curve[half:]) > 1 and max(curve[half:]) <= 2 * max(curve[:half])


def _on_radio(results: Result) -> bool:
    return _part(results, "network").get("medium") == "radio"


def _part(results: Result, key: str) -> Result:
    part: object = results.get(key)
    return cast(Result, part) if isinstance(part, Mapping) else {}


def _audit(entry: Result) -> Result:
    audit: Result = entry.get("audit") or {}
    return audit
