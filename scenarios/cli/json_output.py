"""Document that `--json` prints of a run or an audit, and the exit status with its reason."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scenarios.render.terminal import DONE, FAILED, INTERRUPTED, REFUTED
from scenarios.results import findings
from scenarios.results.attacks import Membership, Property
from scenarios.results.audit import AuditRefused, AuditResult, EpsilonInterval, OtherAudit
from scenarios.results.base import Setting, Status, Verdict, result
from scenarios.results.files import PAGE, RESULTS
from scenarios.results.findings import Entry
from scenarios.results.paper import Reproduction
from scenarios.results.tree import (
    AlgorithmResult,
    AlgorithmSummary,
    AuditStatus,
    MembershipSummary,
    Results,
    RunError,
    VariantResult,
    VariantStatus,
)


@dataclass(frozen=True)
class Ending:
    """The exit status of a command that ran a scenario, and why, in a sentence."""

    status: int
    reason: str


@result
class AuditedEpsilon:
    """ε proven by a game: above its lower end nothing is known."""

    lower: float
    confidence: float
    upper: float = math.inf


@result
class AlgorithmRow:
    """One algorithm: its verdict and the three epsilons.

    ε exact and audited are null without an audit; the claim is then that of the budget, of which adjacency and norm
    are not kept. Of several audits in one folder, the numbers are those of the one that decides.
    """

    variant: str | None
    name: str
    kind: str | None
    baseline: bool
    audit_status: AuditStatus | None
    verdict: Verdict | None
    """Of all audits of the folder."""
    claim_broken: bool
    reason: str
    epsilon_claimed: float | None
    epsilon_exact: EpsilonInterval | None
    epsilon_audited: AuditedEpsilon | None
    delta: float | None
    theorem: str | None
    adjacency: str | None
    norm: str | None
    gradient_change: float | None
    failed_conditions: tuple[str, ...]
    joint_confidence: float | None
    """Of this audit and all before it together; null where there is one alone."""
    earlier: tuple[OtherAudit, ...]
    later: tuple[OtherAudit, ...]
    pair: str | None
    first_violation: int | None
    outside_model: str | None
    membership: Membership | MembershipSummary | None
    property: Property | None
    witness: str | None
    folder: str
    report: str


@result
class VariantRow:
    """One variant of a study."""

    name: str
    fields: dict[str, Setting]
    status: VariantStatus
    error: str | None
    folder: str | None
    report: str | None


@result
class Document:
    """A run or an audit: how it ended, and a row for each algorithm."""

    command: str
    name: str
    title: str
    status: Status
    exit_status: int
    exit_reason: str
    error: RunError | None
    folder: str
    report: str
    results: str
    seed: int
    versions: dict[str, str]
    reproduction: Reproduction | None
    variants: tuple[VariantRow, ...]
    algorithms: tuple[AlgorithmRow, ...]


def ending(results: Results) -> Ending:
    """How `netsim run` and `netsim audit` end: the first that holds of interrupted (130), failed (70), an algorithm
    that is refuted or unprotected and no baseline, or a paper's finding that differs (1), done (0)."""
    if results.status == "interrupted":
        return Ending(INTERRUPTED, "interrupted: the folder has what was done until then")
    if results.status == "failed":
        return Ending(FAILED, _failed(results))
    failing = [(where, one) for where, one in _entries(results) if findings.decides_failure(one)]
    broken, bare = (
        [f"{where}{_how(one)}" for where, one in failing if _claims(one) is claimed] for claimed in (True, False)
    )
    reasons = [f"a claim does not hold: {', '.join(broken)}"] if broken else []
    reasons += [f"nothing is claimed, and nothing is protected: {', '.join(bare)}"] if bare else []
    if (paper := results.reproduction) is not None and paper.outcome == "differs":
        reasons.append(f"{paper.item} of {paper.paper} differs")
    if reasons:
        return Ending(REFUTED, "; ".join(reasons))
    return Ending(DONE, "done: nothing but baselines is refuted or unprotected")


def _entries(results: Results) -> Iterator[tuple[str, Entry]]:
    """Every algorithm that was begun, after its variant's name."""
    yield from (("", one) for one in results.algorithms)
    for variant in results.variants or ():
        yield from ((f"{variant.name}: ", one) for one in variant.algorithms)


def _claims(entry: Entry) -> bool:
    return findings.has_claim(entry) or findings.membership_breaks_claim(entry)


def _how(entry: Entry) -> str:
    if (verdict := findings.verdict(entry)) in findings.BROKEN:
        return f"{entry.name} is {verdict}"
    return f"membership is inferred better than the claim of {entry.name} allows"


def _failed(results: Results) -> str:
    if error := results.error:
        return f"failed: {error.type}: {error.message}"
    return f"failed: {', '.join(one.name for one in results.variants or () if one.status == 'failed')}"


def document(results: Results, folder: Path) -> Document:
    """The document of a run with these results, in this folder, from which those of variants are read."""
    end = ending(results)
    rows = [_row(entry, folder) for entry in results.algorithms]
    for variant in results.variants or ():
        place = folder / variant.name
        rows += [_row(entry, place, variant.name) for entry in _full(variant, place)]
    return Document(
        command=results.command,
        name=results.name,
        title=results.title,
        status=results.status,
        exit_status=end.status,
        exit_reason=end.reason,
        error=results.error,
        folder=str(folder),
        report=str(folder / PAGE),
        results=str(folder / RESULTS),
        seed=results.seed,
        versions=results.versions,
        reproduction=results.reproduction,
        variants=tuple(_variant(one, folder / one.name) for one in results.variants or ()),
        algorithms=tuple(rows),
    )


def _variant(variant: VariantResult, place: Path) -> VariantRow:
    there = variant.report is not None
    return VariantRow(
        name=variant.name,
        fields=variant.fields,
        status=variant.status,
        error=variant.error,
        folder=str(place) if there else None,
        report=str(place / PAGE) if there else None,
    )


def _full(variant: VariantResult, place: Path) -> tuple[Entry, ...]:
    """A variant's algorithms as in its own folder, or else as summed up."""
    from netsim.errors import ScenarioError
    from scenarios.results.folder import read_results

    if not variant.algorithms:
        return ()
    try:
        return read_results(place).algorithms
    except ScenarioError:
        return variant.algorithms


def _row(entry: AlgorithmResult | AlgorithmSummary, folder: Path, variant: str | None = None) -> AlgorithmRow:
    whole = entry if isinstance(entry, AlgorithmResult) else None
    audit = entry.audit
    full = audit if isinstance(audit, AuditResult) else None
    repeated = audit if isinstance(audit, AuditResult | AuditRefused) else None
    judged, budget = findings.judged(entry), whole and whole.budget
    claim, exact = full and full.claim, judged and judged.epsilon_exact
    proven = None
    if judged is not None and judged.epsilon_audited is not None and judged.confidence is not None:
        proven = AuditedEpsilon(lower=judged.epsilon_audited, confidence=judged.confidence)
    source = claim or budget
    claimed = budget.epsilon[-1] if budget is not None and budget.epsilon else None
    return AlgorithmRow(
        variant=variant,
        name=entry.name,
        kind=whole and whole.kind,
        baseline=entry.baseline,
        audit_status=entry.audit_status,
        verdict=findings.verdict(entry),
        claim_broken=findings.claim_is_broken(entry),
        reason=findings.sentence(whole) if whole else (judged and judged.reason) or "",
        epsilon_claimed=judged.epsilon_claimed if judged is not None else claimed,
        epsilon_exact=exact and EpsilonInterval(lower=exact.lower, estimate=exact.estimate, upper=exact.upper),
        epsilon_audited=proven,
        delta=source and source.delta,
        theorem=source and source.source,
        adjacency=claim and claim.adjacency,
        norm=claim and claim.norm,
        gradient_change=claim and claim.gradient_change,
        failed_conditions=source.failed_conditions if source else (),
        joint_confidence=repeated and repeated.joint_confidence,
        earlier=repeated.earlier if repeated else (),
        later=repeated.later if repeated else (),
        pair=full and full.pair,
        first_violation=full and full.first_violation,
        outside_model=entry.outside_model,
        membership=entry.membership,
        property=whole and whole.property,
        witness=str(folder / full.witness) if full and full.witness else None,
        folder=str(folder),
        report=str(folder / PAGE),
    )
