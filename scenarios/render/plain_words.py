"""An audit for a first reader, in terminal and page alike: what the verdict says, the three epsilons, which data
sets, why, and what to do next."""

import math
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from attacks.audit.loss.comparison import ONE_AT_A_TIME
from attacks.audit.verdict import BROKEN, NOTHING_CLAIMED, at_most, cause
from attacks.replay.coins import HISTORIES
from netsim.claims import BY_HAND, SYMBOLS, UNCLAIMED, Norm
from scenarios.render.sentences import ELSEWHERE, ENDS, elsewhere, exceeded, word
from scenarios.results import findings
from scenarios.results.audit import BOTH_MOVED, AuditRefused, AuditResult, change_option
from scenarios.results.findings import Entry
from scenarios.results.numbers import at_least, exact, plural, show, show_epsilon
from scenarios.results.tree import AlgorithmResult, Results
from scenarios.results.views import ViewPrices
from scenarios.schema.algorithms import MONITOR_DELTA

EPSILONS = {
    "ε claimed": "the promise of the paper's formula or of the author",
    "ε exact": "what one pair of data sets really loses, computed from the noise",
    "ε audited": "what guessing the data set from the messages proves, measured (0: nothing)",
}
"""The three epsilons, each in plain words."""
COLUMNS = {
    "final_error": f"how far from the optimum a run ends ({ENDS})",
    "epsilon_claimed": f"{EPSILONS['ε claimed']}; a smaller one promises more privacy",
    "epsilon_exact_lower": f"{EPSILONS['ε exact']}, at least; smaller is more private",
    "epsilon_audited": "what guessing the data set from the messages proves, measured; at 0 the transcripts prove "
    "nothing, which need not be private: N of each world can prove about ln(N/3) at most",
    "gradient_error": "‖estimate − gradient‖ / max(1, ‖gradient‖), median; 0 is the gradient itself, larger is more "
    "private",
}
"""Columns of results, each in plain words, and which way is better."""
_TRIALS = 20_000
"""Transcripts beyond which no more are advised."""


@dataclass(frozen=True)
class _Step:
    """What to try next: in words, and the command, or the option of the same command, that does it, if any."""

    words: str
    command: str = ""


_DIVERGES = _Step("Use a smaller step or fewer rounds: the run diverges, and what it sends grows with it")
_APART = _Step(
    "Let your code decide for each replica by itself (axis=-1 in norms, sums and means; `np.where` for `if`), and "
    "send the same messages whatever the data are"
)
_KNOWN = _Step("Judge the claim for who knows the private coins, such as its batches", "-o audit.coins=known")


def says(entry: Entry) -> str:
    """The verdict in a sentence; before it one that this is a baseline, if it is."""
    claimed = findings.claimed(entry)
    claim = "the claim" if claimed is None else f"the claim ε = {show_epsilon(claimed)}"
    instead = "" if claimed is None else f", not {show_epsilon(claimed)} as claimed"
    words = {
        "refuted": f"{claim} is false",
        "unprotected": f"private data leaves in a message without noise: ε is ∞{instead}",
        ELSEWHERE: f"{claim} holds here, but not for everybody that it speaks of",
        "proven": f"{claim} is true, for every pair of data sets that it allows",
        "consistent": f"nothing found is against {claim}, which is no proof",
        "underpowered": f"what was seen does not decide whether {claim} is true",
        "vacuous": f"{claim} is too large to promise anything",
        "undefined": "there is no number to test: the formula's own conditions fail",
        "no claim": "no ε is claimed, so there is none to test",
        "not reached": "the run ended before this audit",
        findings.INTERRUPTED: f"this audit was interrupted{_kept(entry)}",
    }
    nothing = "nothing was audited" if claimed is None else f"{claim} was not audited"
    nothing += ", but membership is inferred better than it allows" * findings.membership_breaks_claim(entry)
    compared = "A baseline, to compare the others with. " if entry.baseline else ""
    return f"{compared}{findings.capitalized(words.get(word(entry), nothing))}."


def _kept(entry: Entry) -> str:
    """How far an interrupted audit was, behind a colon; "" where nothing of it is known to be kept."""
    begun = entry.audit_begun if isinstance(entry, AlgorithmResult) else None
    return "" if begun is None else f": {begun.kept}"


def epsilon_rows(entry: AlgorithmResult) -> list[tuple[str, str, str]]:
    """The three epsilons of an audit: name, number, and what it is here."""
    if not isinstance(audit := entry.audit, AuditResult):
        claimed = findings.claimed(entry)
        return [] if claimed is None else [("ε claimed", show_epsilon(claimed), EPSILONS["ε claimed"])]
    claim, ends = audit.claim, audit.epsilon_exact
    by = "nothing is claimed"
    if audit.epsilon_claimed is not None:
        by = f"promised{f' ({claim.source})' * bool(claim.source)}, at δ = {show(claim.delta)}"
        by += ", the default" * (entry.kind == "python" and claim.norm != BY_HAND and claim.delta == MONITOR_DELTA)
    found = "computed: what the two data sets below really lose"
    found += f" (∞: {audit.open_end})" if audit.open_end else ""
    guesses = f"measured: what guessing which data set it was proves, from {audit.trials:,} transcripts of each"
    games = [one.ceiling for one in (audit.white_box, audit.black_box, audit.classifier) if one is not None]
    if audit.epsilon_audited == 0 and games:
        guesses += f" (nothing here; they can prove {show_epsilon(max(games))} at most)"
    return [
        ("ε claimed", show_epsilon(audit.epsilon_claimed), by),
        ("ε exact", exact(ends), found),
        ("ε audited", at_least(audit.epsilon_audited), guesses),
    ]


def pair(audit: AuditResult) -> list[tuple[str, str]]:
    """The two data sets that were compared, and which the claim allows: a term and its words each."""
    described, search = audit.pair, audit.search
    found = None if search is None else search.winner
    if found is not None and math.isinf(found.epsilon) and described != found.description:
        # no bound of other pairs was looked for
        described = f"{found.description} (nothing costs more, so the search for a pair ended there)"
    used = "" if audit.change_used is None else f"; this pair uses {audit.used_of_allowed} of that"
    if audit.change_used is not None and audit.change_used < 0.995:
        used += " at the points where the run asked for gradients"
    return [
        ("data sets", f"{findings.capitalized(described)}."),
        ("allowed", f"{findings.capitalized(audit.allowed)}{used}.{_beyond_records(audit)}"),
    ]


def _beyond_records(audit: AuditResult) -> str:
    """Why a pair that moves a gradient by a constant speaks of a claim that is stated for records, and what records
    cost; "" of any other pair."""
    search, stated = audit.search, audit.claim.stated_adjacency
    if search is None or stated is None or search.winner.family != BOTH_MOVED or search.winner.any_change:
        return ""
    why = (
        f" The claim is stated for {stated}; its formula asks no more of it than how far a gradient moves, so it "
        "promises as much of every change of that size."
    )
    records = [one for one in search.families if one.name != BOTH_MOVED]
    if not records:
        return why
    dearest, tried = max(records, key=lambda one: one.epsilon), sum(one.candidates for one in records)
    most = f"none of {plural(tried, 'pair')} that were tried costs more than {show_epsilon(dearest.epsilon)}"
    return f"{why} Of other data themselves {most}, by estimate."


def why(results: Results, entry: AlgorithmResult) -> str:
    """The reason of the verdict, without the numbers that stand beside it; empty where `says` has it."""
    audit = entry.audit
    if audit is None and entry.audit_status in ("not reached", findings.INTERRUPTED):
        return ""
    if not isinstance(audit, AuditResult):
        return findings.capitalized(findings.sentence(entry).removeprefix("Not audited: "))
    reason = cause(audit.reason).removeprefix(NOTHING_CLAIMED).strip()
    if audit.verdict == "unprotected" and audit.unprotected is not None:  # the verdict says the rest
        reason = f"{audit.unprotected}: no noise protects it."
    away, agent = elsewhere(entry), audit.loss_breakdown.agent
    parts = (
        [away, f"For who records all that agent {agent} sends and receives, {reason}"]
        if away
        else [findings.capitalized(reason)]
    )
    if audit.epsilon_claimed is None and audit.verdict in BROKEN:
        conditions = "; ".join(one for one in audit.claim.failed_conditions if one != UNCLAIMED)
        parts = [f"Nothing is claimed{f' ({conditions})' if conditions else ''}.", *parts]
    parts += _mistaken_norm(audit) if audit.verdict == "refuted" else []
    if audit.verdict == "refuted" and (when := exceeded(entry.over_time, audit)):
        parts.append(when)
    spec = results.scenario.audit
    if audit.sequential_test.stopped and spec is not None:
        parts.append(f"The audit ended after {audit.trials:,} of {spec.trials:,} transcripts of each world: refuted.")
    parts += [audit.no_witness.sentence] if audit.no_witness else []
    parts += [audit.besides] if audit.besides else []
    return " ".join(parts)


def _mistaken_norm(audit: AuditResult) -> list[str]:
    """A sentence where all noise protects changes in one norm, and the claim counts them in one that is smaller."""
    laws = {one.where.mechanism.rpartition(" ")[2] for one in audit.loss_breakdown.releases if one.where}
    order, norm = [*SYMBOLS.values()], SYMBOLS.get(cast("Norm", audit.claim.norm), audit.claim.norm)
    for law, protects in (("Laplace", "ℓ1"), ("Gaussian", "ℓ2")):
        if laws and all(one.endswith(law) for one in laws) and norm in order[order.index(protects) + 1 :]:
            return [f"{law} noise protects changes in {protects}; the claim counts them in {norm}."]
    return []


# ── what to do next ─────────────────────────────────────────────────────────────────────────────────────
def _next_steps(results: Results, entry: AlgorithmResult, folder: Path | None = None) -> list[_Step]:
    """What to try next, the most telling first; files are those of `folder`, None: of the one where the reader is."""
    audit = entry.audit
    if isinstance(audit, AuditRefused) and all(one in audit.refused for one in ONE_AT_A_TIME):
        options = " ".join(f"-o {one}" for one in ONE_AT_A_TIME)
        return [_APART, _Step("Or audit one transcript at a time, which takes longer", options)]
    if not isinstance(audit, AuditResult):
        return []
    found: list[_Step] = []
    if audit.witness is not None:
        place = audit.witness if folder is None else str(folder / audit.witness)
        step = see(audit.epsilon_claimed, place)
        if entry.kind == "python" and folder is None:  # the code lies elsewhere, and a copy of it in the witness
            step = _Step(step.words, f"{step.command} --trust-code")
        found.append(step)
    own = entry.kind == "python"
    if audit.verdict == "unprotected":
        found.append(_Step(_protect(audit)))
    elif audit.verdict == "refuted":
        found += [_DIVERGES] if findings.diverged(entry) else []
        found.append(_claimable(audit, own=own))
    elif audit.verdict == "vacuous":
        found.append(_Step("Use more noise or fewer rounds, until the claim is small enough to mean something"))
        if own and audit.claim.norm == BY_HAND:
            found.append(_Step("Leave --epsilon out: the audit then looks for a bound of ε over all pairs"))
    elif audit.verdict == "undefined":
        found.append(_defined(results, entry, audit))
    elif audit.verdict == "no claim" and own:
        found.append(_Step("Test a number", "--epsilon E, or write its claim()"))
    if audit.verdict in ("consistent", "underpowered"):
        found += _as_made(audit) if own else []
        found += _harder(results, entry, audit)
    if word(entry) == ELSEWHERE:
        found.append(_where_refuted(results, entry))
    others = _elsewhere(results, audit) if audit.verdict not in BROKEN else []
    found += [one for one in others if own or _decides(one, audit)]
    return sorted(found, key=lambda one: not _decides(one, audit)) if audit.verdict == "underpowered" else found


def _where_refuted(results: Results, entry: AlgorithmResult) -> _Step:
    """Where to see that a claim does not hold which holds at the agent's door."""
    pairs = entry.prices.pairs if isinstance(entry.prices, ViewPrices) else None
    verb, _, what = results.command.partition(" run ")
    if pairs is not None and pairs.refuted and verb == "netsim" and "--variant" not in what:
        _, listener = pairs.refuted[0]
        command = f"netsim views {what} --algorithm {entry.slug} --listener {listener}"
        return _Step(f"See what agent {listener} learns of every other agent", command)
    return _Step("See in the section “The exact ε of every view” of the page who learns more than is claimed")


def _decides(step: _Step, audit: AuditResult) -> bool:
    """Whether the reason of a verdict itself names what a step does."""
    pairs, runs = "more pairs of data sets", "more transcripts"
    named = bool(step.command) and step.command in audit.reason
    return named or (pairs in step.words and pairs in audit.reason and runs not in audit.reason)


def _defined(results: Results, entry: AlgorithmResult, audit: AuditResult) -> _Step:
    """Parameters of which the formula says something."""
    conditions = audit.claim.failed_conditions
    place = next((k for k, one in enumerate(results.algorithms) if one.name == entry.name), 0)
    if option := findings.clip_option(entry.kind, conditions, audit.claim.norm, place):
        return _Step("Clip the gradients, as the formula needs a bound of them", option)
    return _Step(f"Choose parameters within the conditions of the formula; here {'; '.join(conditions)}")


def _claimable(audit: AuditResult, *, own: bool) -> _Step:
    """What would hold in place of a claim that is refuted."""
    most = audit.bound.epsilon if audit.bound is not None else math.inf
    known = max(audit.epsilon_exact.lower, audit.epsilon_audited)
    if any(one.cause == "other message" for one in audit.unprotected_fields):
        return _Step(_always(audit))
    if 0 < most < math.inf:
        return _Step(f"Claim what is true: a claim of ε = {at_most(most)} would hold; or use more noise")
    if math.isfinite(known):
        costs = f"at least ε = {show(known, 4)}" if known > 0 else "claim more"
        return _Step(f"Claim what is true: {costs}; or use more noise")
    if audit.claim.delta > 0:
        return _Step("No ε holds at this δ: state a larger δ, or give each number noise that can take every value")
    gaussian = any("Gaussian" in one.where.mechanism for one in audit.loss_breakdown.releases if one.where)
    noise = "Gaussian noise has" if gaussian else "What is sent has"
    by_hand = own and audit.claim.norm == BY_HAND
    state = "state a δ, such as 1e-5" if by_hand else "claim a δ above 0, such as 1e-5"
    words = f"{noise} no finite ε at δ = 0: {state} (the audit then computes ε), or use Laplace noise"
    return _Step(words, f"--epsilon {audit.epsilon_claimed:g} --delta 1e-5" if by_hand else "")


def see(claimed: float | None, place: Path | str) -> _Step:
    """The command that replays a transcript which breaks a claim, or shows that nothing is protected."""
    what = "it" if claimed is None or math.isinf(claimed) else "how the claim breaks"
    return _Step(f"See {what} in one run, message by message", f"netsim witness {shlex.quote(str(place))}")


def _protect(audit: AuditResult) -> str:
    """What messages without protection need, those that everybody sees if there are any: noise, or noise of their
    own."""
    fields = sorted(audit.unprotected_fields, key=lambda one: one.granted)
    if fields and fields[0].cause == "other message":
        return _always(audit)
    names = list(dict.fromkeys(f"'{one.name}'" for one in fields if one.name and one.granted == fields[0].granted))
    field = " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:]))) or "the message that the verdict names"
    if any(one.cause == "too little noise" for one in fields if not one.granted):
        return (
            f"Give every number of {field} noise of its own: noise that other messages have too, that cancels, or "
            "that is left out where private data say so (a mask, a choice) hides nothing"
        )
    return f"Add noise to {field}, or do not send {'them' if len(names) > 1 else 'it'}"


def _always(audit: AuditResult) -> str:
    """What to do where it depends on private data whether, when or to whom something is sent."""
    at = f" ({'; '.join(map(str, audit.read_lines))})" if audit.read_lines else ""
    agent = audit.loss_breakdown.agent
    return (
        f"Let agent {agent} send the same messages at the same times whatever its data are{at}: noise in a message "
        "does not hide whether it is sent"
    )


def _as_made(audit: AuditResult) -> list[_Step]:
    """To send releases as they were made, where one goes into another number and does not come out of it, or only for
    who knows the agent's private coins."""
    inside = (one.where.inside for one in audit.loss_breakdown.releases if one.where and not one.where.carriers)
    name = next((one.name for one in inside if one), "x")
    words = f"Privatize the very numbers that you send: sent = node.privatize(…); await node.exchange({name}=sent)"
    if _unpriced(audit) and name:
        return [_Step(f"{words}. Then coins that are secret can be priced")]
    return [_Step(f"{words}. Then ε can be exact")] if audit.epsilon_exact.upper_bound_only else []


def _unpriced(audit: AuditResult) -> bool:
    """Whether a claim may count on secret coins, and the price for who does not know them is not known."""
    return audit.verdict == "underpowered" and audit.unpriced is not None and audit.claim.coins == "secret"


def _harder(results: Results, entry: AlgorithmResult, audit: AuditResult) -> list[_Step]:
    """The same claim, tried harder."""
    spec, found = results.scenario.audit, list[_Step]()
    coins = audit.secret_coins
    if _unpriced(audit):  # no number of runs prices them
        return [_KNOWN]
    if coins is not None and coins.unlisted and audit.claim.coins == "secret":  # no number of runs lists them
        if "histories" not in coins.unlisted:
            return [_KNOWN]
        listed = f"so that the histories of its private coins can be listed ({HISTORIES:,} at most)"
        if audit.activations < 2:
            return [_Step(f"Audit fewer records, {listed}"), _KNOWN]
        fewer = _rounds(results, entry, min(2, audit.activations - 1))
        return [_Step(f"Audit fewer records or rounds, {listed}", fewer), _KNOWN]
    if audit.search is not None and audit.search.unbounded:  # nor bounds a change
        return []
    if 4 * audit.trials <= _TRIALS:
        found.append(_Step("Record more runs", f"-o audit.trials={4 * audit.trials}"))
    if spec is None or spec.search is None or spec.search.candidates < 200:
        found.append(_Step("Try more pairs of data sets", "-o 'audit.search={candidates: 200, transcripts: 32}'"))
    return found


def _rounds(results: Results, entry: AlgorithmResult, rounds: int) -> str:
    """The option of the same command with which the algorithm takes so many rounds."""
    if results.command.startswith("netsim audit") and entry.kind == "python":
        return f"-o rounds={rounds}"
    place = next((k for k, one in enumerate(results.algorithms) if one.name == entry.name), 0)
    inside = "parameters." if entry.kind == "python" else ""
    return f"-o 'algorithms[{place}].{inside}rounds={rounds}'"


def _elsewhere(results: Results, audit: AuditResult) -> list[_Step]:
    """Other data sets, and another agent; a proof is of all of these within the adjacency, and of every agent."""
    spec, found = results.scenario.audit, list[_Step]()
    if spec is None or spec.adjacency == "record":
        found.append(_Step("Let all data of the agent differ, in place of one record", "-o audit.adjacency=agent"))
    if audit.verdict == "proven":
        return found
    moved = audit.search is not None and audit.search.moved_both
    if not moved and (spec is None or isinstance(spec.adjacency, str)):
        option = change_option(audit.claim.gradient_change)
        found.append(_Step("State by how much its gradient may differ", option))
    agents = results.problem.agents if results.problem is not None else 0
    if agents > 1:
        found.append(_Step("Audit another agent", f"-o audit.agent={(audit.loss_breakdown.agent + 1) % agents}"))
    return found


def all_steps(results: Results, folder: Path | None = None) -> list[_Step]:
    """The steps of all algorithms but baselines, each once; of several with the names of those that it is for."""
    audited = [one for one in results.algorithms if one.audit is not None]
    names: dict[_Step, list[str]] = {}
    for entry in (one for one in audited if not one.baseline):  # which is as it is to compare others with
        for step in _next_steps(results, entry, folder):
            names.setdefault(step, []).append(entry.name)
    return [
        step
        if len(who) == len(audited)
        else _Step(f"{', '.join(who)}: {step.words[:1].lower()}{step.words[1:]}", step.command)
        for step, who in names.items()
    ]
