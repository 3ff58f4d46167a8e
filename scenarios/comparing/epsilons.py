"""Whether two exact epsilons are proven to be different, and how sure that is."""

from dataclasses import dataclass

from scenarios.comparing.subjects import Result
from scenarios.report.formats import number, part, show

SAME = {"delta": "δ", "adjacency": "adjacency", "norm": "norm of the claim"}
"""Of a claim: what both must have in common, and the change of the gradient."""


@dataclass(frozen=True)
class Apart:
    """`side`: −1 where the second exact ε is proven to be below the first, 1 above, 0 where their intervals meet.

    Both intervals hold at once at `confidence`: each fails with its own error rate, and either may (a union bound).
    """

    side: int
    confidence: float


def exact_apart(base: Result, other: Result) -> Apart | str | None:
    """Of two audits; None without both, or why they are not set against each other: they are of different things."""
    first, second = (part(audit, "epsilon_exact") for audit in (base, other))
    if not first or not second:
        return None
    if different := _different(base, other):
        return f"not the same {different}"
    confidence = number(base.get("confidence")) + number(other.get("confidence")) - 1
    return Apart(_side(first, second), max(0.0, confidence))


def _different(base: Result, other: Result) -> str | None:
    """What the two audits have not in common."""
    claims = part(base, "claim"), part(other, "claim")
    for key, name in SAME.items():
        if claims[0].get(key) != claims[1].get(key):
            return name
    change = [show(claim.get("gradient_change"), 4) for claim in claims]
    if change[0] != change[1]:
        return "change of the gradient"
    if audited_agent(base) != audited_agent(other):
        return "audited agent"
    return None if base.get("pair") == other.get("pair") else "audited pair"


def audited_agent(audit: Result) -> str | None:
    """Whose releases were looked at."""
    agent = part(audit, "breakdown").get("agent")
    return None if agent is None else str(agent)


def _side(first: Result, second: Result) -> int:
    if number(second.get("upper")) < number(first.get("lower")):
        return -1
    return 1 if number(second.get("lower")) > number(first.get("upper")) else 0
