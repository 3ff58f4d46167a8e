"""Verdict: one word and a sentence from the three epsilons."""

import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum

from attacks.audit.accounting.intervals import check_delta
from attacks.audit.games.game import GameResult
from attacks.audit.games.sequential_test import SequentialTestResult
from netsim.claims import UNCLAIMED
from netsim.errors import PrivacyError
from netsim.shown import show

ROUNDING = 1e-9
"""Relative: an exact value equal to the claim but for rounding does not refute it."""
RESOLUTION = 1e-5
"""Absolute: an ε above the claim by less is not distinguished from rounding."""

LEAST_CHANGE = 0.25
"""Share of the allowed change below which a pair says too little: below a quarter a mistake by a factor of 4 is not
seen. A half cannot be asked for: near the start, where a logistic loss weighs records by ½, no record uses more."""
LEAST_SHARE = 0.1
"""Share of the claim below which a proven lower bound says too little: with a tenth of the noise that is claimed the
audit would have ended alike."""
WIDE = 2.0
"""Upper end of a sampled ε over its lower one from which on it could hardly have shown a claim in between false."""
REACHED = 0.9
"""Share of the estimate from which on a lower bound has followed it, so that nothing kept it below the claim."""
VACUOUS_ABOVE = 20.0
"""A claim above this is vacuous: odds of e^20 to 1."""


def exceeds(epsilon: float, claimed: float) -> bool:
    """Test whether an ε is above a claimed one by more than rounding: the one rule that refutes a claim."""
    return epsilon > claimed * (1 + ROUNDING) + RESOLUTION


class Verdict(StrEnum):
    """Verdict on a claim (`judge` has the order in which they apply)."""

    REFUTED = "refuted"
    UNPROTECTED = "unprotected"
    PROVEN = "proven"
    CONSISTENT = "consistent"
    UNDERPOWERED = "underpowered"
    VACUOUS = "vacuous"
    UNDEFINED = "undefined"
    NO_CLAIM = "no claim"


NOTHING_CLAIMED = "There is nothing to test: no ε is claimed."
_MEASURED = re.compile(r" ?(?:Exact ε of the pair: |The game proves ε ≥ |Nothing was measured).*?\.(?= |$)")

BROKEN = (Verdict.REFUTED, Verdict.UNPROTECTED)
"""Verdicts on a claim that does not hold."""


@dataclass(frozen=True)
class Bound:
    """`epsilon`: at most so much is lost, whatever the pair of the adjacency; `conditions`: the statements that were
    checked and that it rests on, in order; `histories`: ways in which private coins may fall that were read;
    `worst`: the agent that may lose so much, and the record and the query where most of it is, in words; `pure`: it
    is of δ = 0, and at a δ above that of the same releases less may be lost."""

    epsilon: float
    conditions: tuple[str, ...]
    histories: int = 1
    worst: str = ""
    pure: bool = False


@dataclass(frozen=True)
class Judgement:
    """Verdict, a sentence with the numbers, and `proven_share`: the proven lower bound over the claimed ε, if any."""

    verdict: Verdict
    reason: str
    proven_share: float | None

    def adding(self, sentence: str) -> "Judgement":
        """The same, with a sentence at the end of its reason; none where that is empty."""
        return replace(self, reason=f"{self.reason} {sentence}") if sentence else self

    def undecided(self, why: str) -> "Judgement":
        """Underpowered, for a reason that stands before the other one."""
        return replace(self, verdict=Verdict.UNDERPOWERED, reason=f"{why} {self.reason}")


def judge(
    *,
    epsilon_claimed: float | None,
    delta: float,
    failed_conditions: tuple[str, ...] = (),
    exact_lower: float | None = None,
    exact_upper: float | None = None,
    exact_estimate: float | None = None,
    uncovered: str | None = None,
    audited: GameResult | None = None,
    anytime: SequentialTestResult | None = None,
    not_judged: str | None = None,
    change_used: float | None = None,
    doubt: str | None = None,
    bound: Bound | None = None,
    loose: str | None = None,
    vacuous_above: float = VACUOUS_ABOVE,
) -> Judgement:
    """Judge a claim (ε, δ). The first that applies:

    1. `uncovered` names a message that no noise protects: **unprotected**, whatever was claimed;
    2. **no claim**, or `failed_conditions` of its formula: **undefined**, with the measurements beside it;
    3. `exact_lower` or a game's lower bound above the claim: **refuted**, with the `bound` as what would hold;
    4. the claim above `vacuous_above`: **vacuous**, it allows odds of e^20 to 1 and no game can test it;
    5. `not_judged` names something that could not be looked at: **underpowered**;
    6. `bound`, of all pairs of the adjacency, is not above the claim but for `ROUNDING`: **proven**;
    7. `exact_estimate` is above the claim, which is not proven; or, at δ > 0, `exact_lower` to `exact_upper` reaches
       above the claim and is wider than a factor of `WIDE`, its lower end is below `REACHED` of the estimate, and no
       game's ceiling reaches the claim: **underpowered**. At δ = 0 any transcript could have refuted it: the exact
       loss has no ceiling;
    8. the `bound` is above the claim, and it is not known why it would be `loose`: what it allows no pair may lose,
       but none is known not to; the pair's `doubt`, its `change_used` (`attacks.audit.pair.Pair`;
       None: not known) below `LEAST_CHANGE`, or the proven share of the claim below `LEAST_SHARE`: **underpowered**;
    9. else **consistent**, with how tight: consistent is not proven, a worse pair may exist.

    `exact_lower`, `exact_upper` enclose ε(δ) of the pair examined (equal when a formula gave it). The proven share is
    the larger of the lower bounds over the claim.
    """
    for name, value in (
        ("epsilon_claimed", epsilon_claimed),
        ("exact_lower", exact_lower),
        ("exact_upper", exact_upper),
    ):
        if value is not None and not value >= 0:
            raise PrivacyError(f"{name} = {value!r}: must be at least 0, or None where there is none")
    if exact_lower is not None and exact_upper is not None and exact_lower > exact_upper:
        raise PrivacyError(f"exact_lower = {exact_lower!r} is above exact_upper = {exact_upper!r}")
    check_delta(delta)
    if audited is not None and audited.delta != delta:
        raise PrivacyError(
            f"the game was played at delta = {audited.delta!r}, the claim is at {delta!r}: play it there"
        )
    games = [game.epsilon_audited for game in (audited, anytime) if game is not None]
    found = max(exact_lower or 0.0, 0.0, *games)
    above = epsilon_claimed is not None and exceeds(found, epsilon_claimed)
    above_by_time = anytime is not None and anytime.refuted and anytime.claim_epsilon == epsilon_claimed
    refuted = above or above_by_time
    unheld = epsilon_claimed is not None and bound is not None and bound.epsilon > epsilon_claimed * (1 + ROUNDING)
    above_bound = bound if unheld and not refuted else None
    narrow = exact_lower is not None and exact_upper is not None and exact_upper <= WIDE * exact_lower
    within = epsilon_claimed is not None and exact_upper is not None and not exceeds(exact_upper, epsilon_claimed)
    enclosed_by_pair = exact_upper is not None and math.isfinite(exact_upper) and (narrow or within)
    if above_bound is not None:
        bound = None
        enclosed_by_pair = enclosed_by_pair and exact_upper is not None and exact_upper < above_bound.epsilon
        if exact_lower is not None and exact_upper is not None and loose is None:
            exact_upper = max(exact_lower, min(exact_upper, above_bound.epsilon))
    if bound is not None and exact_lower is not None and exact_upper is not None:
        exact_upper = max(exact_lower, min(exact_upper, bound.epsilon))
    measured = _measured(exact_lower, exact_upper, audited)
    if uncovered is not None:
        claim = "" if epsilon_claimed is None else f", not {show(epsilon_claimed, 4)} as claimed"
        return Judgement(Verdict.UNPROTECTED, f"{uncovered}: no noise protects it, so ε = ∞{claim}.", None)
    if epsilon_claimed is None or failed_conditions:
        if not_judged is not None:
            measured = f"Not everything could be judged: {not_judged}. {measured}"
        if failed_conditions in ((), (UNCLAIMED,)):
            reason = f"{NOTHING_CLAIMED} {measured}"
            if bound is not None and math.isfinite(bound.epsilon):
                reason += f" The mechanism costs at most {at_most(bound.epsilon)}, of all pairs."
            return Judgement(Verdict.NO_CLAIM, reason, None)
        why = "; ".join(failed_conditions)
        return Judgement(Verdict.UNDEFINED, f"The claim is undefined: {why}. {measured}", None)
    claim = f"claimed ε = {show(epsilon_claimed, 4)} at δ = {show(delta)}"
    if anytime is not None:
        measured += f" The anytime game: {anytime.sentence}"
    if epsilon_claimed == 0:
        proven_share = 1.0 if found == 0 else math.inf  # a claim of 0 that nothing exceeds is tight
    else:
        proven_share = None if math.isinf(epsilon_claimed) and math.isinf(found) else found / epsilon_claimed
    if refuted:
        end = "more than " if not above else "at least " if math.isfinite(found) else ""
        reason = f"ε is {end}{show(found, 4)}, above the {claim}. {measured}"
        if bound is not None and math.isfinite(bound.epsilon) and not exceeds(found, bound.epsilon):
            most = at_most(bound.epsilon)
            reason += f" The mechanism costs at most {most}: a claim of {most} would hold."
        return Judgement(Verdict.REFUTED, reason, proven_share)
    if epsilon_claimed > vacuous_above:
        odds = show(math.exp(epsilon_claimed), 2) if epsilon_claimed < 700 else f"e^{show(epsilon_claimed, 4)}"
        reason = f"The {claim} is above {show(vacuous_above, 4)}: it allows odds of {odds} to 1. {measured}"
        return Judgement(Verdict.VACUOUS, reason, proven_share)
    if not_judged is not None:
        reason = f"The {claim} is not refuted, but not everything could be judged: {not_judged}. {measured}"
        return Judgement(Verdict.UNDERPOWERED, reason, proven_share)
    if bound is not None:
        most = show(bound.epsilon, 4)
        reason = f"ε is at most {most} for every pair of adjacent data sets, within the {claim}. {measured}"
        return Judgement(Verdict.PROVEN, reason, proven_share)
    if exact_estimate is not None and exceeds(exact_estimate, epsilon_claimed):
        reason = f"The {claim} is not refuted, but the exact ε is estimated at {show(exact_estimate, 4)}. {measured}"
        return Judgement(Verdict.UNDERPOWERED, reason, proven_share)
    enclosed = exact_lower is not None and (delta == 0 or enclosed_by_pair)
    followed = exact_lower is not None and exact_estimate is not None and exact_lower >= REACHED * exact_estimate > 0
    if not enclosed and not followed and (audited is None or epsilon_claimed > audited.ceiling):
        reason = f"The {claim} could not have been refuted by what was done. {measured}"
        return Judgement(Verdict.UNDERPOWERED, reason, proven_share)
    proven = "" if proven_share is None else f"; the proven lower bound is {whole_percent(proven_share)} of the claim"
    changed = (
        "" if change_used is None else f"; the pair uses {whole_percent(change_used)} of the change that it allows"
    )
    reason, weak = f"Nothing measured is proven to exceed the {claim}{proven}{changed}.", True
    if doubt is not None:
        reason = f"{doubt} {reason}"
    elif above_bound is not None and loose is None:
        reason += f" {_unmatched(above_bound)}"
    elif change_used is not None and change_used < LEAST_CHANGE:
        remedy = "try more pairs of data sets, other agents, or a pair that uses more of it"
        reason += f" That is too little of the change to speak for the claim: {remedy}."
    elif proven_share is not None and proven_share < LEAST_SHARE:
        more = "more transcripts, " if delta > 0 else ""
        remedy = f"try {more}more pairs of data sets, or a difference that lasts; or the claim is that loose"
        reason += f" With a tenth of the noise the audit would have ended alike, so it says little: {remedy}."
    else:
        weak = False
    reason += f" {measured}"
    if above_bound is not None and loose is not None:
        reason += f" From above ε is at most {at_most(above_bound.epsilon)}, {loose}."
    elif above_bound is not None:
        reason += f" From above ε is at most {at_most(above_bound.epsilon)} for every pair of adjacent data sets."
    elif exact_upper is not None and math.isinf(exact_upper) and exact_upper > epsilon_claimed * (1 + ROUNDING):
        reason += " From above nothing is proven: what was never seen may cost more."
    elif exact_upper is not None and exact_upper > epsilon_claimed * (1 + ROUNDING):
        reason += " The exact interval reaches above the claim: more transcripts would narrow it."
    return Judgement(Verdict.UNDERPOWERED if weak else Verdict.CONSISTENT, reason, proven_share)


def _unmatched(bound: Bound) -> str:
    """What nobody knows where the bound is above the claim, and what to do."""
    most = at_most(bound.epsilon)
    where = f" ({bound.worst})" if bound.worst else ""
    return (
        f"But over all pairs ε is only known to be at most {most}{where}, above the claim: a pair that costs more "
        f"may not have been found. A claim of {most} would hold; else try more pairs of data sets, or read why no "
        "pair costs that much."
    )


def cause(reason: str) -> str:
    """The reason of a `Judgement` without the numbers measured: the exact ε of the pair, and what the game proves."""
    return _MEASURED.sub("", reason).strip()


def measured(reason: str) -> str:
    """The sentences that `cause` leaves out."""
    return " ".join(one.strip() for one in _MEASURED.findall(reason))


def at_most(epsilon: float) -> str:
    """An upper end, to four digits, rounded up."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 3) if epsilon > 0 else 1.0
    return show(math.ceil(epsilon / unit * (1 - ROUNDING)) * unit, 4)


def whole_percent(share: float) -> str:
    """A share in whole per cent, as verdicts and what stands beside them have it."""
    return "less than 1\u202f%" if 0 < share < 0.01 else f"{100 * share:.0f}\u202f%"


def _measured(lower: float | None, upper: float | None, audited: GameResult | None) -> str:
    """Evidence in a sentence or two; a game above the exact ε is pointed out."""
    parts: list[str] = []
    if lower is not None or upper is not None:
        low, high = ("?" if end is None else show(end, 4) for end in (lower, upper))
        parts.append(f"Exact ε of the pair: {low if low == high else f'between {low} and {high}'}.")
    if audited is not None:
        digits = 4 if audited.confidence < 0.99995 else 7  # it is never 1
        parts.append(
            f"The game proves ε ≥ {show(audited.epsilon_audited, 4)} at {audited.confidence:.{digits}g} "
            "confidence with "
            f"{audited.trials} guesses, which could prove {show(audited.ceiling, 4)} at most."
        )
        if upper is not None and audited.epsilon_audited > upper:
            parts.append("The game exceeds the exact ε: they looked at different pairs, or one of them is wrong.")
    return " ".join(parts) or "Nothing was measured."
