"""Results in words, for terminal and page alike: verdicts, headline, cautions, and what attacks found."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from attacks.audit.verdict import BROKEN, measured
from attacks.reconstruction.verdict import PARTLY, RECOVERED
from netsim.claims import UNCLAIMED
from scenarios.results import attacked, findings
from scenarios.results.attacks import GradientResult, GradientScores, ImageResult
from scenarios.results.audit import AuditResult
from scenarios.results.base import Refused
from scenarios.results.budgets import OverTime
from scenarios.results.findings import Entry
from scenarios.results.numbers import MISSING, between, exact, percent, show, show_epsilon
from scenarios.results.traffic import Traffic, TrafficResult
from scenarios.results.tree import AlgorithmResult, Results, VariantResult
from scenarios.results.views import Prices, ViewPrices, Views, ViewsResult

NOT_AUDITED = "not audited"
ELSEWHERE = "refuted elsewhere"
"""For another listener or a pair of agents, and not for who has all that the audited agent sends and receives."""
ATTACKED = "refuted by an attack"
"""Of a claim that was not audited: membership is inferred better than it allows."""
MARKS = {  # strongest finding first: (severity class, meaning)
    "unprotected": (
        "bad",
        "A message on the wire is a deterministic function of private data: no noise protects it and ε is "
        "infinite, whatever was claimed.",
    ),
    "refuted": ("bad", "The exact ε, or a lower bound proved by a game, is above the claimed ε."),
    ELSEWHERE: (
        "bad",
        "The claim was not refuted for who records all that the audited agent sends and receives, but what is "
        "claimed of other listeners, or of pairs of agents, does not hold.",
    ),
    ATTACKED: ("bad", "The claim was not audited, but membership was inferred at rates that it rules out."),
    "undefined": ("open", "There is no claimed number to test: the formula's own conditions fail here."),
    "vacuous": ("open", "The claim may hold, but it is so large that it promises nothing."),
    "underpowered": (
        "open",
        "Nothing that was done could have refuted the claim, or only one that is wrong by a factor: no conclusion.",
    ),
    "consistent": (
        "fair",
        "Nothing measured exceeds the claim. This is not a proof: another pair of adjacent worlds may do worse.",
    ),
    "proven": (
        "good",
        "For no pair of adjacent data sets is ε above the claim, for who records all that the agent sends and "
        "receives, under the conditions that are listed.",
    ),
    NOT_AUDITED: ("none", "No audit was made; the reason is given."),
    "not reached": ("none", "The run ended before this algorithm was audited."),
    findings.INTERRUPTED: (
        "none",
        "The run ended within this algorithm's audit, before its verdict. What the audit has kept is used when it "
        "goes on.",
    ),
    "no claim": (
        "none",
        "No claim of the algorithm is known to netsim, so there is none to test; an audit may say what it costs.",
    ),
}
_UNJUDGED = ("no claim", "not reached", findings.INTERRUPTED)
"""Statuses of an audit that stand in a verdict's place."""
_SYMBOLS = {"bad": "✕", "open": "?", "fair": "≈", "good": "✓", "none": "–"}
_REBUILT_SKILL = 0.999
_LABELS_FOUND = 0.05
"""Largest p-value of guesses independent of the labels at which they are said to depend on them."""
_ROUNDING = 1e-9
"""Seconds below which computing takes no time."""
_NOT_AFFINE = re.compile(r"is no affine function of (?:its|the|agent \d+'s) gradients(?:, before any clip of these)?")
_NOT_BEGUN = "not begun"
_MOST_HOPS = 12
"""Amounts by distance that are listed; there is one bound on those of all pairs that are farther."""
_MOST_VIEWS = 6
"""Refuted views that the terminal names."""
_UNRANKED = "nobody's computing is certainly slower than another's"
_WEAKER = (
    "Views are played with black-box scores, a trained classifier's or those of inferred gradients, which are weaker "
    "than the exact loss for who has all that the agent sends and receives"
)


# ── verdicts ────────────────────────────────────────────────────────────────────────────────────────────
def word(entry: Entry) -> str:
    """The verdict of an algorithm, or why it has none."""
    status = entry.audit_status
    if findings.verdict(entry) not in BROKEN and findings.refuted_from(entry):
        return ELSEWHERE
    if not findings.verdict(entry) and findings.membership_breaks_claim(entry):
        return ATTACKED
    return findings.verdict(entry) or (status if status in _UNJUDGED else NOT_AUDITED)


def meaning(word: str) -> str:
    """The meaning of a verdict, or of the word in its place."""
    return MARKS[word][1]


@dataclass(frozen=True)
class Judged:
    """One algorithm, of a run or of a variant, with its verdict in words."""

    entry: Entry

    @property
    def word(self) -> str:
        """The verdict, or why there is none."""
        return word(self.entry)

    @property
    def mark(self) -> str:
        """Severity class of the verdict: bad, open, good, none."""
        return MARKS.get(self.word, ("open", ""))[0]

    @property
    def symbol(self) -> str:
        """The class as one character."""
        return _SYMBOLS[self.mark]


@dataclass(frozen=True)
class Finding(Judged):
    """One algorithm of a run with its findings in words."""

    entry: AlgorithmResult
    deadline: str | None = None
    """Caution about exchanges with a deadline."""

    @classmethod
    def ranked(cls, results: Results) -> "list[Finding]":
        """The algorithms of a run, strongest finding first."""
        order = list(MARKS)
        found = [cls(one, findings.deadline_note(results, one)) for one in results.algorithms]
        return sorted(found, key=lambda one: order.index(one.word) if one.word in order else -1)


def meanings(ordered: Sequence[Judged]) -> list[tuple[str, str, str]]:
    """The verdict words used: (word, severity class, meaning)."""
    used = {one.word for one in ordered}
    return [(word, kind, meaning) for word, (kind, meaning) in MARKS.items() if word in used]


def headline(ordered: Sequence[Judged]) -> str:
    """The finding in a sentence or two; only a stated number counts as a claim."""
    with_verdict = [one for one in ordered if findings.verdict(one.entry)]
    judged = [one for one in with_verdict if one.entry.outside_model is None]
    claims = [one for one in judged if findings.has_claim(one.entry)]
    silent = tally([one.word for one in judged if not findings.has_claim(one.entry)])
    besides = "".join(
        [f" Audited without a claimed number: {silent}."] * bool(silent) + [f" {one}" for one in apart(ordered)]
    )
    if not with_verdict and (found := attacks_found(ordered)):
        return f"{found} No privacy claim was audited."
    if not claims:
        beyond = len(judged) < len(with_verdict)
        return f"No privacy claim was audited{' in its own threat model' if beyond else ''}.{besides}"
    broken = [one.word for one in claims if findings.claim_is_broken(one.entry)]
    others = [one.word for one in claims if not findings.claim_is_broken(one.entry)]
    if len(claims) == 1:
        ends = "does not hold" if broken else "holds" if others == ["proven"] else "was not shown to be false"
        return f"The audited privacy claim {ends}: {(broken or others)[0]}.{besides}"
    total = f"{len(claims)} audited privacy claims"
    if not broken:
        return f"Of {total}, none was shown to be false: {tally(others)}.{besides}"
    verb = "does" if len(broken) == 1 else "do"
    rest = f" The others: {tally(others)}." if others else ""
    if len(others) == 1:
        rest = f" The other one is {others[0]}."
    return f"{len(broken)} of {total} {verb} not hold: {tally(broken)}.{rest}{besides}"


def attacks_found(ordered: Sequence[Judged]) -> str:
    """What attacks of a run found, in a sentence for each kind; "" where there were none."""
    entries = [one.entry for one in ordered if isinstance(one.entry, AlgorithmResult)]
    several = len(entries) > 1
    parts = _membership(ordered)
    inferred = [(one.name, one.gradients) for one in entries if isinstance(one.gradients, GradientResult)]
    exact = [
        f"{f'{name}, ' * several}{found.estimated:,} of {found.queries:,}"
        for name, found in inferred
        if found.estimated and found.worst is not None and found.worst < findings.EXACT_GRADIENT
    ]
    learned = [name for name, found in inferred if found.estimated and not found.guessed]
    if exact:
        counts = "; ".join(exact)
        parts.append(
            f"Private gradients recovered: {counts}." if several else f"{counts} private gradients recovered."
        )
    elif learned:
        parts.append(f"Gradients are inferred better than by guessing: {'; '.join(learned)}.")
    elif inferred:
        parts.append("No private gradient is learned.")
    rebuilt = [
        f"{f'{one.name}, ' * several}{sum(own.skill > _REBUILT_SKILL for own in one.images.agents)} of "
        f"{len(one.images.agents)}"
        for one in entries
        if isinstance(one.images, ImageResult)
    ]
    if rebuilt:
        counts = "; ".join(rebuilt)
        parts.append(f"Training images rebuilt: {counts}." if several else f"{counts} training images rebuilt.")
    records: dict[str, list[str]] = {RECOVERED: [], PARTLY: [], "": []}
    for one in entries:
        if one.reconstructions is not None:
            verdicts = {attack.verdict for attack in one.reconstructions.attacks} | {""}
            records[next(verdict for verdict in records if verdict in verdicts)].append(one.name)
    known = [f"Records {verdict}: {'; '.join(names)}." for verdict, names in records.items() if verdict and names]
    return " ".join([*parts, *(known or ["No record is recovered."] * bool(records[""]))])


def _membership(ordered: Sequence[Judged]) -> list[str]:
    """A sentence on the claims that an inference of membership breaks; none where none does."""
    false = [one.entry.name for one in ordered if findings.membership_breaks_claim(one.entry)]
    return [f"Membership is inferred better than the claim allows: {'; '.join(false)}."] * bool(false)


def apart(ordered: Sequence[Judged]) -> list[str]:
    """Sentences of a headline that are of no verdict on a claim: outside its threat model, and of membership."""
    acted = [one for one in ordered if findings.verdict(one.entry) and one.entry.outside_model is not None]
    beyond = tally([one.word for one in acted])
    outside = f"Outside the papers' threat model, with an active adversary on the links: {beyond}."
    return [*[outside] * bool(acted), *_membership(ordered)]


def terms(ordered: Sequence[Judged]) -> str:
    """δ, adjacency and confidence of the epsilons, each where it is the same for all algorithms."""
    audits = [audit for one in ordered if (audit := findings.judged(one.entry)) is not None]
    deltas = {show(audit.claim.delta) for audit in audits} - {MISSING}
    worlds = {audit.claim.adjacency for audit in audits} - {"", None}
    levels = {show(100 * audit.confidence) for audit in audits if audit.confidence is not None}
    stated = [f"δ = {one}" for one in deltas] if len(deltas) == 1 else []
    stated += [f"adjacent: {one}" for one in worlds] if len(worlds) == 1 else []
    parts = [f"{'; '.join(stated)}."] if stated else []
    if len(levels) == 1:
        parts.append(f"The intervals of one audit hold together at {levels.pop()}\u202f% confidence.")
    return " ".join(parts)


def tally(words: Sequence[str]) -> str:
    """How often each word is there, strongest finding first."""
    order = list(MARKS)
    ordered = sorted(dict.fromkeys(words), key=lambda word: order.index(word) if word in order else -1)
    return ", ".join(f"{words.count(word)} {word}" for word in ordered)


def missing(results: Results) -> list[str]:
    """Unfinished work of a scenario: variants and algorithms not begun, and the parts of the last one it reached."""
    if results.status == "complete":
        return []
    every = [one.name for one in results.scenario.algorithms]
    if results.variants is not None:
        return [line for one in results.variants for line in _missing_of_variant(one, every)]
    lines: list[str] = []
    if results.algorithms:
        last, attacks = results.algorithms[-1], results.scenario.attacks
        wanted = {
            "convergence": True,
            "run": True,
            "gradients": attacks.gradients,
            "images": attacks.images,
            "reconstructions": bool(attacks.reconstruct),
            "audit": last.audit_status == "not reached",
            "the rest of the audit": last.audit_status == findings.INTERRUPTED,
        }
        absent = [part for part, due in wanted.items() if due and getattr(last, part, None) is None]
        if (early := stopped_early(last)) is not None:
            absent.insert(0, f"the rest of the run, which {early[8:-1]}")
        if absent:
            lines.append(f"{last.name}: {', '.join(absent)}")
    return lines + _not_begun(every, results.algorithms)


def _missing_of_variant(variant: VariantResult, every: Sequence[str]) -> list[str]:
    if variant.status == "not reached":
        return [f"{variant.name}: {_NOT_BEGUN}"]
    if variant.status != "interrupted":
        return []
    left = {"not reached": "audit", findings.INTERRUPTED: "the rest of the audit"}
    lines = [f"{one.name}: {left[one.audit_status]}" for one in variant.algorithms if one.audit_status in left]
    return [f"{variant.name}: {line}" for line in (*lines, *_not_begun(every, variant.algorithms))]


def _not_begun(every: Sequence[str], reached: Sequence[Entry]) -> list[str]:
    """A line for each algorithm that the run did not reach."""
    there = {one.name for one in reached}
    return [f"{name}: {_NOT_BEGUN}" for name in every if name not in there]


# ── the run and its audit ───────────────────────────────────────────────────────────────────────────────
def about(results: Results, entry: AlgorithmResult) -> list[str]:
    """All that was found of an algorithm beside its verdict and pair, a sentence or two each: audit, run, attacks,
    other listeners."""
    return [*audited(entry), *ran(results, entry), *seen(entry)]


def audited(entry: AlgorithmResult) -> list[str]:
    """All that an audit found of an algorithm beside its verdict, the cause of that, and the pair."""
    audit, lines = entry.audit, list[str]()
    said = isinstance(audit, AuditResult) and audit.verdict == "refuted"  # with the cause
    if isinstance(audit, AuditResult):
        lines += filter(None, [measured(audit.reason)])
        lines += ["It rests on:", *(f"• {one}" for one in conditions)] if (conditions := rests_on(audit)) else []
        if (search := audit.search) is not None:
            there = math.isinf(search.winner.epsilon) or search.winner.description in audit.pair
            how = search.sentence.removeprefix(f"{search.winner.description}: ") if there else search.sentence
            lines.append(f"Search for the pair: {how}.")
        lines += games(audit)
    return lines + list(filter(None, [over_time(entry.over_time, exceeds=not said)]))


def ran(results: Results, entry: AlgorithmResult) -> list[str]:
    """All that was found of a run and by attacks on it, a sentence or two each."""
    run, lines = entry.run, list[str]()
    if entry.convergence is not None and findings.diverged(entry):
        final = show(entry.convergence.final)
        end = "is no number in the end" if final == MISSING else f"ends at {final}"
        lines.append(f"Diverged: the relative error {end}.")
    if run is not None:
        counts = run.traffic
        sent = f"{counts.get('packets_sent', 0):,} packets, {counts.get('bytes_sent', 0):,} bytes on the wire"
        if "transmissions" in counts:
            sent = f"{counts['transmissions']:,} transmissions, {counts['transmitted_bytes']:,} bytes on the air"
        clock = "between processes, captured on TCP" if run.deployed else "of virtual time"
        lines.append(f"{sent}, {run.time:.4g} s {clock}.")
    for one in entry.outside_programs:
        passed = "was not found to deviate" if one.noise_numbers else "follows the algorithm"
        word = {True: passed, False: "does not follow the algorithm", None: "was not judged"}
        lines.append(f"Agent {one.agent}, `{one.program}`, {word[one.follows]}: {one.reason}.")
    inferred = entry.gradients
    if isinstance(inferred, Refused) and isinstance(entry.audit, AuditResult):
        inferred = Refused(refused=_behind_a_clip(inferred.refused, entry.audit))
    lines += [*gradients(inferred, findings.listener(results)), *traffic(entry.traffic_analysis)]
    lines += filter(None, [findings.deadline_note(results, entry)])
    return [*lines, *images(entry.images, results.problem.agents if results.problem else 0), *attacked.lines(entry)]


ENDS = "0: the optimum, 1: as far from it as zero is, above 1: farther, by noise or too large a step"
"""What numbers of a final relative error mean."""


def final_errors(ordered: Sequence[Finding]) -> str:
    """How far from the optimum several algorithms ended, the nearest first; "" where fewer have such an error."""
    ends = [(one.entry.convergence.final, one.entry.name) for one in ordered if one.entry.convergence]
    known = sorted((final, name) for final, name in ends if final is not None)
    if len(known) < 2:
        return ""
    listed = "; ".join(f"{name} {show(final)}" for final, name in known)
    return f"Final relative error ({ENDS}): {listed}."


def seen(entry: AlgorithmResult) -> list[str]:
    """What other listeners learn: exact prices of views, and games from there."""
    said = bool(elsewhere(entry))  # with the verdict
    priced = [*prices(entry.prices, judged=not said), *filter(None, [of_the_same_door(entry)])]
    return [*priced, *views(entry.views, findings.exact_loss_refutes(entry))]


def rests_on(audit: AuditResult) -> tuple[str, ...]:
    """Conditions of the bound that the verdict names."""
    named = audit.bound is not None and audit.verdict in ("proven", "refuted")
    return audit.bound.conditions if audit.bound is not None and named else ()


def stopped_early(entry: AlgorithmResult) -> str | None:
    """A note that a run failed or was interrupted, and when; None of one that was to its end."""
    if entry.run is None or entry.run.stopped is None:
        return None
    words = {"failed": "failed", "interrupted": "was interrupted"}[entry.run.stopped]
    ended = entry.run.time if entry.timeline is None else entry.timeline.ended
    return f"The run {words} at {ended:.4g} s of virtual time."


def games(audit: AuditResult) -> list[str]:
    """The bounds that white and black boxes prove; none without a classifier, since ε audited is the same then."""
    if not (audit.classifier or audit.classifier_refused):
        return []
    proved = [f"the exact loss proves ε ≥ {show_epsilon(audit.white_box.epsilon_audited)} (white box)"]
    for game, refused, what in (
        (audit.black_box, audit.black_box_refused, "inferred gradients"),
        (audit.classifier, audit.classifier_refused, "the trained classifier"),
    ):
        if game:
            proved.append(f"{what} ε ≥ {show_epsilon(game.epsilon_audited)}")
        elif refused:
            proved.append(f"{what} nothing ({_behind_a_clip(refused.rstrip('.'), audit)})")
    return [f"Games: {', '.join(proved)}."]


def _behind_a_clip(refused: str, audit: AuditResult) -> str:
    """Why a probe finds no gradients, where a bound says that what is sent is affine in them once clipped."""
    clipped = audit.bound is not None and any("its gradients, clipped" in one for one in audit.bound.conditions)
    return _NOT_AFFINE.sub("shows gradients only after a clip", refused) if clipped else refused


def exceeded(found: OverTime | None, audit: AuditResult | None = None) -> str:
    """From where on the exact ε is proven to be above the claim of the whole run, which the `audit` finds, and above
    what is claimed of a run that ends there, which may be earlier; "" where it is above neither."""
    if found is None:
        return ""
    first = None if audit is None or audit.verdict != "refuted" else audit.first_violation
    parts: list[str] = []
    if audit is not None and first is not None:
        parts.append(f"above {show_epsilon(audit.epsilon_claimed)} {moment(found, first, 'from {} on')}")
    if found.exceeds is not None and found.exceeds_from is not None and found.exceeds_from != first:
        numbers = f"{show_epsilon(found.exceeds.exact)}, claimed {show_epsilon(found.exceeds.claimed)}"
        when = moment(found, found.exceeds_from, "from {} on")
        parts.append(f"{when} above what is claimed of a run that ends there ({numbers})")
    return f"The exact ε is {'; '.join(parts)}." if parts else ""


def over_time(found: OverTime | None, *, exceeds: bool = True) -> str | None:
    """Where the budget is exceeded, if `exceeds`, and where it means nothing any more; None where neither is so."""
    if found is None:
        return None
    level, parts = found.vacuous_above, [exceeded(found)] if exceeds else []
    if found.exact_vacuous_from is not None:
        parts.append(f"The exact ε is above {level:g} {moment(found, found.exact_vacuous_from, 'from {} on')}.")
    if found.claimed_vacuous_from is not None:
        when = moment(found, found.claimed_vacuous_from, "from {} on")
        parts.append(f"The claim is vacuous (ε > {level:g}) {when}.")
    if found.undefined_from is not None and found.condition != UNCLAIMED:
        when = moment(found, found.undefined_from, "from {} on")
        parts.append(f"The claim is undefined {when}: {found.condition}.")
    return " ".join(filter(None, parts)) or None


def moment(found: OverTime, k: int, within: str = "{}") -> str:
    """The k-th round or activation in the words `within`; what is sent after the last round is in none."""
    if found.rounds is not None and k > found.rounds:
        return f"after the last round ({found.rounds:,})"
    return within.format(f"{found.unit.removesuffix('s')} {k:,}")


def prices(found: Prices | None, *, judged: bool = True) -> list[str]:
    """Exact ε of the costliest view of each kind, what breaks its claim, and of pairs by their distance; `judged`:
    and whether what is claimed of pairs holds."""
    if found is None:
        return []
    if not isinstance(found, ViewPrices):
        return [f"No exact ε of views: {found.refused}."]
    return _costliest(found) + ([found.unpriced_code] if found.unpriced_code else []) + searched(found, judged=judged)


def of_the_same_door(entry: AlgorithmResult) -> str:
    """Why the audit's exact ε is an interval and the price of the same door a number; "" where that is not so."""
    found, audit = entry.prices, entry.audit
    if not isinstance(found, ViewPrices) or not isinstance(audit, AuditResult) or found.delta != audit.claim.delta:
        return ""
    ends = audit.epsilon_exact
    door = next((one.pair for one in found.views if one.kind == "door" and one.pair is not None), None)
    if door is None or between(door) != show_epsilon(door[1]) or between(door) == exact(ends):
        return ""
    return (
        f"The audit's exact ε of the same door, {exact(ends)}, is proven from below by its transcripts; here the "
        f"covariance of all noise gives {between(door)} without any."
    )


def _costliest(found: ViewPrices) -> list[str]:
    lines: list[str] = []
    for kind in dict.fromkeys(one.kind for one in found.views):
        some = [one for one in found.views if one.kind == kind]
        worst = max(some, key=lambda one: (one.pair or one.all_pairs or (0.0, -1.0))[1])
        game = "" if worst.epsilon_audited is None else f"; its game proves ≥ {show_epsilon(worst.epsilon_audited)}"
        most = f" (of {len(some)}, the costliest)" if len(some) > 1 else ""
        price = between(worst.pair or worst.all_pairs)
        lines.append(f"  {worst.taps}{most}: {price if price != MISSING else worst.refused}{game}")
    if lines:
        what = "of this pair" if any(one.pair for one in found.views) else "over all pairs of adjacent data sets"
        lines.insert(0, f"Exact ε at δ = {show(found.delta)} of views on agent {found.agent}, {what}:")
    return lines


def searched(found: ViewPrices, *, judged: bool = True) -> list[str]:
    """The search for a coalition, what breaks its claim, and pairs by their distance; `judged`: and their verdict."""
    lines: list[str] = []
    if found.coalition is not None:
        tried = f"{found.coalition.tried:,} coalitions of {found.coalition.size}"
        how = f"all {tried}" if found.coalition.exhaustive else f"the {tried} or fewer that a greedy search tried"
        lines.append(f"{found.coalition.name.capitalize()} is the costliest of {how}.")
    broken = [one for one in found.views if one.verdict in BROKEN]
    lines += [
        f"{one.verdict.capitalize()} at {one.taps}: {one.reason}" for one in broken[:_MOST_VIEWS] if one.verdict
    ]
    lines += [f"and at {len(broken) - _MOST_VIEWS} more views"] if len(broken) > _MOST_VIEWS else []
    return lines + ([] if found.pairs is None else _pairs(found.pairs, judged=judged))


def by_hops(found: ViewPrices.PairPrices) -> list[tuple[int, list[tuple[float, float]]]]:
    """Ends of ε of all ordered pairs at each distance in hops, nearest first, the cheapest pair first; pairs without
    a bound are left out."""
    groups: dict[int, list[tuple[float, float]]] = {}
    for hops, *ends in zip(found.hops, found.lower, found.upper, strict=True):
        for hop, lower, upper in zip(hops, *ends, strict=True):
            if hop and not math.isnan(upper):
                groups.setdefault(hop, []).append((lower, upper))
    return [(hop, sorted(some, key=lambda ends: ends[1])) for hop, some in sorted(groups.items())]


def at_hops(amounts: Sequence[tuple[int, str]]) -> list[str]:
    """Amounts by distance in hops, nearest first: those alike in a row are together."""
    parts: list[str] = []
    for text, alike in groupby(amounts, key=lambda one: one[1]):
        hops = [hop for hop, _ in alike]
        last = hops[-1] == amounts[-1][0]
        where = f"at {hops[0]}" if len(hops) == 1 else f"at {hops[0]} {'to' if len(hops) > 2 else 'and'} {hops[-1]}"
        where = f"from {hops[0]} hops on" if last and len(hops) > 1 < hops[0] else f"{where} hop{'s' * (hops != [1])}"
        parts.append(f"{text} {where}")
    return parts


def _pairs(found: ViewPrices.PairPrices, *, judged: bool) -> list[str]:
    groups = by_hops(found)
    if not groups:
        return ["No pair of agents has an exact ε over all pairs of adjacent data sets."]
    parts = at_hops([(hop, between(some[-1])) for hop, some in groups])
    if len(parts) > _MOST_HOPS:
        near, far = groups[: _MOST_HOPS - 1], groups[_MOST_HOPS - 1 :]
        parts = at_hops([(hop, between(some[-1])) for hop, some in near])
        parts.append(f"at most {show_epsilon(max(some[-1][1] for _, some in far))} from {far[0][0]} hops on")
    count = sum(len(some) for _, some in groups)
    lines = [f"The largest ε of {count:,} ordered pairs of a victim and a listener, by distance: {', '.join(parts)}."]
    if judged and found.verdict is not None:
        clearest = _clearest(found)
        refuted = f" for {len(found.refuted):,} of them; most clearly, {clearest}" if clearest else ""
        lines.append(f"What is claimed of pairs is {found.verdict}{refuted}.")
    return lines


def _clearest(found: ViewPrices.PairPrices) -> str:
    """What the first pair that refutes what is claimed of pairs costs, and is claimed to; "" where none does."""
    if not (found.refuted and found.claimed):
        return ""
    u, v = found.refuted[0]
    claimed = show_epsilon(found.claimed[u][v])
    return f"agent {v} learns ε = {show_epsilon(found.lower[u][v])} of agent {u}, where {claimed} is claimed"


def elsewhere(entry: AlgorithmResult) -> str:
    """From where a claim does not hold that holds at the agent's door, and by how much; "" of any other."""
    if word(entry) != ELSEWHERE:
        return ""
    found = entry.prices.pairs if isinstance(entry.prices, ViewPrices) else None
    clearest = "" if found is None else _clearest(found)
    where = "; ".join(findings.refuted_from(entry))
    return f"It is {where}{f': {clearest}' if clearest else ''}."


def not_drawn(name: str, entry: Entry, *, on_its_page: bool) -> str:
    """A pointer from the epsilons of the audited agent to what refutes a claim elsewhere; "" of any other claim.
    `on_its_page`: whether that stands on the same page."""
    if word(entry) != ELSEWHERE:
        return ""
    away = ""
    if isinstance(entry, AlgorithmResult):
        where = "" if on_its_page else " on the page of its run"
        away = f" {elsewhere(entry)} See “The exact ε of every view”{where}."
    return f"{name} is refuted elsewhere, which is not in the figure: that is of the audited agent alone.{away}"


def view_strength(by_exact_loss: bool) -> str:
    """The evidence that a view is; `by_exact_loss`: whether the exact loss refutes the claim."""
    return f"{_WEAKER}, which does refute the claim." if by_exact_loss else f"{_WEAKER}."


def views(found: Views | None, by_exact_loss: bool = False) -> list[str]:
    """The number of views that refute the claim, and a line for each of the smallest of these."""
    if found is None:
        return []
    if not isinstance(found, ViewsResult):
        return [f"No views: {found.refused}"]
    refuted = [one for one in found.views if one.refuted]
    if not refuted:
        weak = "" if found.powered else " So few transcripts could not have refuted it for a single one."
        return [f"The claim is refuted for none of {len(found.views)} views.{weak} {view_strength(by_exact_loss)}"]
    smallest = sorted((one for one in refuted if one.name in found.smallest), key=lambda one: -one.log_e)
    lines = [
        f"The claim is refuted by black-box scores for {len(refuted)} of {len(found.views)} views "
        f"(false discovery rate at most {percent(found.false_discovery_rate)}):"
    ]
    lines += [
        f"  {one.taps}: e-value 10^{one.log_e / math.log(10):.1f}, ε ≥ {show_epsilon(one.epsilon_audited)} by itself"
        for one in smallest[:_MOST_VIEWS]
    ]
    left = len(refuted) - len(lines) + 1
    which = ", which contain one of these" if len(smallest) <= _MOST_VIEWS else ""
    return lines + ([f"  and {left} more{which}"] if left else [])


# ── attacks ─────────────────────────────────────────────────────────────────────────────────────────────
def gradients(found: GradientScores | Refused | None, who: str) -> list[str]:
    """The gradients inferred by `who` (`findings.listener`), and how well; or why there was no attack."""
    if found is None:
        return []
    if isinstance(found, Refused):
        return [f"No attack on the gradients: {found.refused.rstrip('.')}."]
    outside = "from the wire" if found.estimated else "from what was tapped"
    source = outside if who == "eavesdropper" else f"by the {who}"
    if found.worst is None or not found.estimated:
        return [f"None of {found.queries:,} private gradients could be inferred {source}."]
    last = " (all but each agent's last)" if found.but_each_last else ""
    count = f"{found.estimated:,} of {found.queries:,} private gradients{last}"
    if found.worst < findings.EXACT_GRADIENT:
        return [f"{count} recovered {source}, the worst to an error of {show(found.worst)}."]
    public = f"{show(found.baseline)} for who knows only the public quadratic term"
    if found.guessed:
        return [
            f"No gradient learned: estimates of {count} {source} are no better than guessing, median error "
            f"{show(found.median)} ({public})."
        ]
    # Where most estimates are the gradient itself, and some are not, the median alone would hide these.
    middle = found.median
    worst = f", the worst {show(found.worst)}" if middle is not None and middle < findings.EXACT_GRADIENT else ""
    return [f"{count} estimated {source}, median error {show(found.median)}{worst} ({public})."]


def images(found: ImageResult | Refused | None, agents: int) -> list[str]:
    """The number of images rebuilt, or why none was; and of how many agents there is nothing to rebuild one from."""
    if found is None:
        return []
    if isinstance(found, Refused):
        return [f"No image was rebuilt: {found.refused.rstrip('.')}."]
    skills = [agent.skill for agent in found.agents]
    if rebuilt := sum(skill > _REBUILT_SKILL for skill in skills):
        rest = agents - len(skills)
        left = "agents left no gradients" if rest > 1 else "agent left no gradient"
        others = f"{rest} more {left} to rebuild one from"
        return [f"{rebuilt} of {len(skills)} training images rebuilt{f' ({others})' if rest > 0 else ''}."]
    best = max(skills)
    by = f" by more than {percent(best)}" if best > 0.001 else ""
    if found.labels is None:
        return [f"No training image rebuilt: none is better than the prior's guess{by}."]
    right, constant = map(percent, found.labels)
    rates = f"right {right} of the time, {constant} for who always says the same one"
    by_chance = found.labels_by_chance
    nothing = f"No training image rebuilt: none is better than the prior's guess{by}."
    if by_chance <= _LABELS_FOUND:
        return [f"{nothing} But guessed labels depend on the true ones (p = {show(by_chance)}): they are {rates}."]
    among = sum(not math.isnan(agent.label_correct) for agent in found.agents)
    return [f"{nothing} Guessed labels are {rates}; of {among} agents that may be chance (p = {show(by_chance)})."]


def traffic(found: Traffic | None) -> list[str]:
    """Traffic analysis in two sentences at most."""
    if found is None:
        return []
    if isinstance(found, Refused):
        return [f"No traffic analysis: {found.refused.rstrip('.')}."]
    activity, size, known = found.activity, found.dimension, list[str]()
    if activity.found or activity.wrong:
        of = "" if activity.activations is None else f" of {activity.activations:,}"
        wrong, guess = "", ""
        if activity.activations is not None:
            wrong = f", {activity.wrong:,} wrong" if activity.wrong else ""
            guess = "" if activity.guessed is None else f" (a guess without the tap: {percent(activity.guessed)})"
        known.append(f"who acted when, {activity.found:,}{of} activations{wrong}{guess}")
    known += [] if found.computing.refused else [_slower(found.computing)]
    dimension = "not the dimension"
    if size.low is not None and size.high is not None:
        dimension = f"a dimension from {size.low:,} to {whole(size.high)}"
        if size.low == size.high:
            dimension = f"dimension {size.low:,}{'' if size.truth in (None, size.low) else ' (wrongly)'}"
    lines = [f"Times and sizes alone reveal: {'; '.join([*known, dimension])}."]
    if activity.refused:
        what = "All of who acted when" if known else "Who acted when"
        lines.append(f"{what} is not identifiable: {activity.refused.rstrip('.')}.")
    return lines


def _slower(work: TrafficResult.ComputingResult) -> str:
    """The slowest agent, or the number of ranked pairs; what is wrong is marked where the truth is known."""
    scored = work.truth is not None
    no_time = all(mean is not None and mean[2] < _ROUNDING for mean in work.means)
    if work.truth is not None and not any(work.truth):
        return "that computing takes no time" if no_time else "no order of computing times"
    if work.slowest is not None:
        wrong = " (wrongly)" if scored and work.slowest != work.slowest_truth else ""
        return f"agent {work.slowest} computes slowest{wrong}"
    if no_time and not scored:
        return "that computing takes no time"
    if not work.ranked:
        return _UNRANKED
    of = f" of {work.pairs}" if scored else ""
    wrong = 0 if work.rightly is None else work.ranked - work.rightly
    mistaken = f", {wrong} wrongly" if wrong else ""
    return f"which of two agents computes slower for {work.ranked}{of} pairs{mistaken}"


def whole(value: float) -> str:
    """A number without decimals."""
    return "∞" if math.isinf(value) else f"{value:,.0f}"
