"""Cells of the page's tables: evidence of the audits, and hidden gradients."""

import math
from collections import Counter
from statistics import median

from scenarios.results.attacks import GradientScores
from scenarios.results.audit import AuditResult
from scenarios.results.numbers import MISSING, count, exact, plural, show

_MOST_AGENTS, _MOST_GROUPS = 8, 4
"""Agents whose hidden gradients are listed one by one, and kinds of agents that are distinguished beyond."""


# ── the evidence of the audits ──────────────────────────────────────────────────────────────────────────
def epsilon_exact(audit: AuditResult) -> str:
    """ε exact with its ends, where they say more."""
    interval = audit.epsilon_exact
    low, middle, high = (show(v, 4) for v in (interval.lower, interval.estimate, interval.upper))
    text = exact(interval, 4)
    open_above = interval.upper_bound_only and (interval.lower == 0 or math.isinf(interval.upper))
    if low == high or text == f"≥ {low}" == f"≥ {middle}" or open_above:
        return text
    return f"{text} (the sample's estimate: {middle})" if text == f"≥ {low}" else f"{text} ({low} to {high})"


def method(audit: AuditResult) -> str:
    """The way in which ε exact was found."""
    interval = audit.epsilon_exact
    if not interval.known:
        return "not at all: some noise is not on the wire verbatim, and at δ = 0 nothing bounds it"
    if math.isinf(interval.lower):
        return "the transcripts distinguish the two worlds with certainty"
    closed = math.isfinite(interval.upper)
    if interval.by_formula:
        how = "the estimate is by a formula, from the noise of the releases"
        if not closed and audit.claim.delta == 0:
            how += "; at δ = 0 the upper end stays open, for what was never recorded may cost more"
    else:
        how = "from below by sampled losses, from above " + ("by a bound on the cost" if closed else "not at all")
    more = "; an upper bound, for some noise is not on the wire verbatim"
    return how + (more if interval.upper_bound_only else "")


def hidden(gradients: GradientScores) -> tuple[str, str]:
    """How many gradients of each agent are not identifiable, shortly where all agree or there are many agents; and
    agent by agent where that is a summary, else "". An agent that computes none, an insider, has a dash."""
    pairs = list(zip(gradients.hidden, gradients.inferred, strict=True))
    each = [count(h) if h + f else MISSING for h, f in pairs]
    full = ", ".join(f"agent {i}: {one}" for i, one in enumerate(each)) if len(each) > _MOST_AGENTS else ""
    given = [h for h, f in pairs if h + f]
    if len(given) > 1 and len(set(given)) == 1:
        return f"{count(given[0])} each" + (f" ({plural(len(given), 'agent')})" * (len(given) < len(each))), full
    if not full:
        return ", ".join(each) or MISSING, full
    groups = Counter("all" if not f else "none" if not h else count(h) for h, f in pairs if h + f)
    if len(groups) <= _MOST_GROUPS:
        return "; ".join(f"{word}: {plural(n, 'agent')}" for word, n in groups.items()), full
    return f"{count(min(given))} to {count(max(given))}, median {show(median(given))}", full
