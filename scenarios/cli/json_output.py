"""Document that `--json` prints of a run or an audit, and the exit status with its reason."""

import math
from pathlib import Path

from attacks.audit.verdict import BROKEN
from scenarios.files.folders import PAGE, RESULTS
from scenarios.render.terminal import DONE, FAILED, INTERRUPTED, REFUTED, UNDECIDED
from scenarios.results import findings
from scenarios.results.attacks import Membership, Property
from scenarios.results.audit import AuditRefused, AuditResult, EpsilonInterval, NoWitness, OtherAudit
from scenarios.results.base import Result, Setting, Status, Verdict, taken
from scenarios.results.findings import Entry
from scenarios.results.reproduction import Reproduction
from scenarios.results.run import OutsideProgram
from scenarios.results.tree import (
    AlgorithmResult,
    AuditStatus,
    MembershipSummary,
    Results,
    RunError,
    VariantResult,
    VariantStatus,
)


class _AuditedEpsilon(Result):
    """ε proven by a game: above its lower end nothing is known."""

    lower: float
    """Proven lower bound."""
    confidence: float
    """Its confidence."""
    upper: float = math.inf
    """Always "inf"."""


class _Algorithm(Result):
    """One algorithm: its verdict and the three epsilons.

    ε exact and audited are null without an audit, ε exact also where nothing is known of it. Without an audit the
    claim is that of the budget, of which adjacency and norm are not kept. Of several audits in one folder, the
    numbers are those of the one that decides.
    """

    variant: str | None
    """Name of the variant; null where there are none."""
    name: str
    """Name in the scenario."""
    kind: str | None
    """`kind` in the scenario; null of a variant without a folder."""
    baseline: bool
    """The scenario's mark: its verdict decides no exit status."""
    audit_status: AuditStatus | None
    """As in results.json."""
    verdict: Verdict | None
    """Verdict of all audits of the folder."""
    claim_broken: bool
    """Whether a claimed number was shown not to hold."""
    reason: str
    """The finding of the audit in a sentence."""
    epsilon_claimed: float | None
    """ε claimed, or null."""
    epsilon_exact: EpsilonInterval | None
    """ε of the audited pair; null without an audit, and where nothing is known of it."""
    epsilon_audited: _AuditedEpsilon | None
    """ε proven by the games; null without an audit."""
    delta: float | None
    """δ of the claim."""
    theorem: str | None
    """Whose claim it is."""
    adjacency: str | None = None
    """Adjacency of the claim, in words; null without an audit."""
    norm: str | None = None
    """Its norm; null without an audit."""
    gradient_change: float | None = None
    """Largest change of a gradient that the adjacency allows; null without an audit."""
    failed_conditions: tuple[str, ...]
    """Conditions of the formula that fail."""
    joint_confidence: float | None = None
    """Of this audit and all before it together; null where there is one alone."""
    earlier: tuple[OtherAudit, ...] = ()
    """Audits before this one in the folder."""
    later: tuple[OtherAudit, ...] = ()
    """Audits after it."""
    pair: str | None = None
    """The two worlds in words."""
    change_used: float | None = None
    """Share of the change that the claim allows by which the pair's worlds differ."""
    proven_share: float | None = None
    """The proven lower bound over the claimed ε."""
    first_violation: int | None = None
    """Activation at which the claim is first exceeded, or null."""
    outside_model: str | None
    """The sentence that no claim is about a run with an active adversary; null without one."""
    outside_programs: tuple[OutsideProgram, ...] = ()
    """Programs that took agents' places."""
    membership: Membership | MembershipSummary | None
    """The membership game, as in results.json."""
    property: Property | None
    """The property game, as in results.json."""
    witness: str | None
    """Path of the witness; null where there is none."""
    no_witness: NoWitness | None = None
    """Why a claim that does not hold has none; else null."""
    folder: str
    """Folder of its run."""
    report: str
    """Page of its run."""


class _Variant(Result):
    """One variant of a study, and where its results are."""

    name: str
    """Its name."""
    fields: dict[str, Setting]
    """Values of the fields that it sets, by dotted path."""
    status: VariantStatus
    """How its run ended."""
    error: str | None
    """Why it failed, else null."""
    folder: str | None
    """Its folder; null where it was not reached."""
    report: str | None
    """Its page; null where it was not reached."""


class Document(Result):
    """A run or an audit: how it ended, and a row for each algorithm."""

    command: str
    """The command line."""
    name: str
    """Name of the scenario."""
    title: str
    """Its title."""
    status: Status
    """As in results.json."""
    exit_status: int
    """Exit status of the command."""
    exit_reason: str
    """The reason in a sentence."""
    error: RunError | None
    """Why the run failed; else null."""
    folder: str
    """The folder, as the command was given it."""
    report: str
    """Path of the page."""
    results: str
    """Path of results.json."""
    seed: int
    """Seed of the run."""
    versions: dict[str, str]
    """Of Python, netsim and the packages that the numbers depend on."""
    reproduction: Reproduction | None
    """The paper's item, or null."""
    variants: tuple[_Variant, ...]
    """The variants; empty where there are none."""
    algorithms: tuple[_Algorithm, ...]
    """A row for each algorithm that was begun, of all variants."""


def ending(results: Results, strict: bool = False) -> tuple[int, str]:
    """How `netsim run` and `netsim audit` end: the first that holds of interrupted (130), failed (70), an algorithm
    that is refuted or unprotected, if only at a priced view, and no baseline, a program in an agent's place that does
    not follow the algorithm, or a paper's finding that differs (1),
    an audit that could not judge (70); such a program of which nothing can be said and, if `strict`, an algorithm
    that is neither proven nor consistent and no baseline (3); done (0)."""
    variants = results.variants or ()
    if results.status == "interrupted":
        return INTERRUPTED, "interrupted: the folder has what was done until then"
    if results.status == "failed":
        names = ", ".join(one.name for one in variants if one.status == "failed")
        error = results.error
        return FAILED, f"failed: {f'{error.type}: {error.message}' if error else names}"
    entries: list[tuple[str, Entry]] = [("", one) for one in results.algorithms]
    entries += [(f"{variant.name}: ", one) for variant in variants for one in variant.algorithms]
    broken: list[str] = []
    bare: list[str] = []
    for where, one in entries:
        # No baseline of the scenario counts, and no verdict about a claim comes of a run with an active adversary.
        seen = findings.refuted_from(one)
        broke = findings.verdict(one) in BROKEN or findings.membership_breaks_claim(one) or seen
        if broke and not one.baseline and one.outside_model is None:
            how = f"membership is inferred better than the claim of {one.name} allows"
            if (verdict := findings.verdict(one)) in BROKEN:
                how = f"{one.name} is {verdict}"
            elif seen:
                how = f"{one.name} is {seen[0]}" + (f", and {len(seen) - 1} more" if len(seen) > 1 else "")
            claims = findings.has_claim(one) or findings.membership_breaks_claim(one) or seen
            (broken if claims else bare).append(where + how)
    apart, unjudged = (
        [f"agent {p.agent} of {e.name}" for e in results.algorithms for p in e.outside_programs if p.follows is said]
        for said in (False, None)
    )
    reasons = [f"a claim does not hold: {', '.join(broken)}"] if broken else []
    reasons += [f"nothing is claimed, and nothing is protected: {', '.join(bare)}"] if bare else []
    reasons += [f"a program does not follow the algorithm: {', '.join(apart)}"] if apart else []
    if (paper := results.reproduction) is not None and paper.outcome == "differs":
        reasons.append(f"{paper.item} of {paper.paper} differs")
    if reasons:
        return REFUTED, "; ".join(reasons)
    counted = [(where + one.name, one) for where, one in entries if not one.baseline]
    if refused := [name for name, one in counted if one.audit_status == findings.REFUSED]:
        return FAILED, f"not judged: {', '.join(refused)}"
    undecided = [f"{name} ({_undecided(one)})" for name, one in counted if strict and _undecided(one)]
    reasons = [f"neither proven nor consistent: {', '.join(undecided)}"] if undecided else []
    reasons += [f"whether a program follows the algorithm is not known: {', '.join(unjudged)}"] if unjudged else []
    if reasons:
        return UNDECIDED, "; ".join(reasons)
    return DONE, "done: nothing but baselines is refuted or unprotected"


def _undecided(entry: Entry) -> str:
    """Why an algorithm does not pass where a verdict is required; empty for one that does."""
    if entry.outside_model is not None:
        return "an active adversary interfered"
    verdict = findings.verdict(entry)
    return "" if verdict in findings.PASSED else verdict or str(entry.audit_status)


def document(results: Results, folder: Path, strict: bool = False) -> Document:
    """The document of a run with these results, in this folder, from which those of variants are read; `strict` as of
    `ending`."""
    status, reason = ending(results, strict)
    rows = [_algorithm(entry, folder) for entry in results.algorithms]
    variants: list[_Variant] = []
    for one in results.variants or ():
        place, there = folder / one.name, one.report is not None
        rows += [_algorithm(entry, place, one.name) for entry in _in_full(one, place)]
        links = {"folder": str(place) if there else None, "report": str(place / PAGE) if there else None}
        variants.append(taken(_Variant, one, **links))
    return taken(
        Document, results, exit_status=status, exit_reason=reason, folder=str(folder),
        report=str(folder / PAGE), results=str(folder / RESULTS), variants=tuple(variants), algorithms=tuple(rows),
    )  # fmt: skip


def _in_full(variant: VariantResult, place: Path) -> tuple[Entry, ...]:
    """A variant's algorithms as in its own folder, or else as summed up."""
    from netsim.errors import ScenarioError
    from scenarios.results.folder import read_results

    if not variant.algorithms:
        return ()
    try:
        return read_results(place).algorithms
    except ScenarioError:
        return variant.algorithms


def _algorithm(entry: Entry, folder: Path, variant: str | None = None) -> _Algorithm:
    whole = entry if isinstance(entry, AlgorithmResult) else None
    full = entry.audit if isinstance(entry.audit, AuditResult) else None
    judged, budget = findings.judged(entry), whole and whole.budget
    exact, proven = judged and judged.epsilon_exact, None
    if judged is not None and judged.epsilon_audited is not None and judged.confidence is not None:
        proven = _AuditedEpsilon(lower=judged.epsilon_audited, confidence=judged.confidence)
    claim = full and full.claim
    source = claim or budget
    found: dict[str, object] = {}
    if isinstance(entry.audit, AuditResult | AuditRefused):
        found |= {name: getattr(entry.audit, name) for name in ("joint_confidence", "earlier", "later")}
    if full is not None:
        own = ("pair", "change_used", "proven_share", "first_violation", "no_witness")
        found |= {name: getattr(full, name) for name in own}
        found |= {name: getattr(full.claim, name) for name in ("adjacency", "norm", "gradient_change")}
    return taken(
        _Algorithm,
        entry,
        variant=variant,
        kind=whole and whole.kind,
        verdict=findings.verdict(entry),
        claim_broken=findings.claim_is_broken(entry),
        reason=findings.sentence(whole) if whole else (judged and judged.reason) or "",
        epsilon_claimed=findings.claimed(entry),
        epsilon_exact=EpsilonInterval(lower=exact.lower, estimate=exact.estimate, upper=exact.upper)
        if exact and exact.known
        else None,
        epsilon_audited=proven,
        delta=source and source.delta,
        theorem=source and source.source,
        failed_conditions=source.failed_conditions if source else (),
        property=whole and whole.property,
        outside_programs=whole.outside_programs if whole else (),
        witness=str(folder / full.witness) if full and full.witness else None,
        folder=str(folder),
        report=str(folder / PAGE),
        **found,
    )
