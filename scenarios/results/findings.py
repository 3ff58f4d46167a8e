"""Findings of a run, derived once for terminal, exit status and page: verdicts, cautions, failures; and of runs side
by side (`netsim compare --json`)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal, TypeAlias

from attacks.audit.verdict import BROKEN
from netsim.claims import UNCLAIMED
from scenarios.results.attacks import GradientScores, MembershipResult
from scenarios.results.audit import AuditRefused, AuditResult, EpsilonExact
from scenarios.results.base import Result, Setting, Status, Unit, Verdict
from scenarios.results.curves import GREW
from scenarios.results.numbers import plural
from scenarios.results.tree import AlgorithmResult, AlgorithmSummary, AuditSummary, MembershipSummary, Results
from scenarios.results.views import ViewPrices

Entry: TypeAlias = AlgorithmResult | AlgorithmSummary
"""An algorithm of a run, or of one variant of a study."""
DONE: Final = "done"
INTERRUPTED: Final = "interrupted"
REFUSED: Final = "refused"
NO_CLAIM: Final = "no claim"
PASSED: tuple[Verdict, ...] = ("proven", "consistent")
"""Verdicts that a gate may let through."""
EXACT_GRADIENT = 1e-6
"""A gradient known to this relative error counts as recovered."""


def judged(entry: Entry) -> AuditResult | AuditSummary | None:
    """The audit of an algorithm; null where there is none, or where it could not judge."""
    audit = entry.audit
    return None if audit is None or isinstance(audit, AuditRefused) or audit.verdict is None else audit


def verdict(entry: Entry) -> Verdict | None:
    """The verdict of a finished audit."""
    audit = judged(entry)
    return None if audit is None else audit.verdict


def has_claim(entry: Entry) -> bool:
    """Whether a number is claimed. An algorithm without noise, or outside its formula's conditions, has none."""
    audit = judged(entry)
    return audit is not None and audit.epsilon_claimed is not None


def claimed(entry: Entry) -> float | None:
    """ε claimed, also where an audit could not judge it, or none was made; None where no number is."""
    audit = judged(entry)
    if isinstance(entry, AlgorithmSummary):
        return entry.epsilon_claimed if audit is None else audit.epsilon_claimed
    if audit is not None:
        return audit.epsilon_claimed
    return entry.budget.epsilon[-1] if entry.budget is not None and entry.budget.epsilon else None


def claim_is_broken(entry: Entry) -> bool:
    """Whether a claimed number was shown not to hold, at the door or elsewhere. No claim about listeners is broken by
    an active adversary."""
    broken = verdict(entry) in BROKEN or bool(refuted_from(entry))
    return has_claim(entry) and broken and entry.outside_model is None


def refuted_from(entry: Entry) -> tuple[str, ...]:
    """Points of view, in words, from which an exact price is above its claim, or nothing is protected."""
    if isinstance(entry, AlgorithmSummary):
        return entry.refuted_from
    if not isinstance(found := entry.prices, ViewPrices):
        return ()
    views = [f"{one.verdict} at {one.taps}" for one in found.views if one.verdict in BROKEN]
    pairs = 0 if found.pairs is None else len(found.pairs.refuted)
    return (*views, *([f"refuted for {plural(pairs, 'pair')} of agents"] if pairs else []))


def membership_breaks_claim(entry: Entry) -> bool:
    """Whether membership was inferred at rates that the claim rules out, with confidence."""
    match entry.membership:
        case MembershipResult(claim=claim) | MembershipSummary(claim=claim) if claim is not None:
            return bool(claim.broken)
        case _:
            return False


def exact_loss_refutes(entry: Entry) -> bool:
    """Whether a claim is broken, and the exact loss alone is proven to be above it."""
    audit = judged(entry)
    if audit is None or audit.epsilon_claimed is None or audit.epsilon_exact is None:
        return False
    return claim_is_broken(entry) and audit.epsilon_exact.lower > audit.epsilon_claimed


def sentence(entry: AlgorithmResult) -> str:
    """The outcome of the audit."""
    match entry.audit:
        case None:
            return {
                "not requested": "This scenario asks for no audit.",
                "no claim": "Nothing is claimed here: there is no ε to audit.",
            }.get(entry.audit_status, "The run ended before this algorithm's audit was done.")
        case AuditRefused(refused=why):
            return f"Not audited: {why}"
        case audit:
            reason = capitalized(audit.reason) + (f" {audit.besides}" if audit.besides else "")
            if audit.epsilon_claimed is not None or audit.verdict not in BROKEN:
                return reason
            why = "; ".join(one for one in audit.claim.failed_conditions if one != UNCLAIMED)
            return f"Nothing was claimed{f' ({why})' if why else ''}. {reason}"


def capitalized(sentence: str) -> str:
    """A sentence's first letter in upper case, but for one that is a symbol."""
    return sentence if sentence.startswith(("ε", "δ", "η", "λ")) else sentence[:1].upper() + sentence[1:]


def clip_option(kind: str, conditions: Iterable[str], norm: str, place: int) -> str:
    """The option that clips the gradients of the algorithm at this place, where a formula's conditions want a clip;
    code of one's own has no such field."""
    if kind == "python" or not any(one.startswith("no clipping") for one in conditions):
        return ""
    return f"-o 'algorithms[{place}].clip={{bound: 1.0, norm: {'l1' if norm in ('l1', 'ℓ1') else 'l2'}}}'"


def caution(entry: Entry) -> str | None:
    """A caution about every result of a run with an active adversary; None if there is none."""
    if entry.outside_model is None:
        return None
    line = capitalized(entry.outside_model) + "."
    if not verdict(entry):
        return line
    return (
        f"{line} The claim is about adversaries that only listen: what the audit found is exact for what the agent "
        "received from this active adversary, and neither confirms nor refutes the claim in its own model."
    )


def auditor(results: Results) -> str | None:
    """Who listens in the audit, whoever does in the scenario; None where no audit was made."""
    spec = results.scenario.audit
    if spec is None or all(one.audit is None for one in results.algorithms):
        return None
    whose = "the audited agent" if spec.agent is None else f"agent {spec.agent}"
    if _on_radio(results):
        return f"The audit's listener records all that {whose} and its neighbors transmit, and knows the algorithm."
    return f"The audit's listener records all that {whose} sends and receives, and knows the algorithm."


def listener(results: Results) -> str:
    """The word for who infers: "eavesdropper", or "adversary" where agents themselves listen or there is no wire."""
    inside = results.network is not None and results.network.insiders
    return "adversary" if inside or _on_radio(results) else "eavesdropper"


def deadline_note(results: Results, entry: AlgorithmResult) -> str | None:
    """Why nothing, or only what passes the adversary's own doors, was inferred from exchanges with a deadline."""
    network, curve = results.network, entry.convergence
    if not isinstance(entry.gradients, GradientScores) or results.scenario.exchange.deadline is None:
        return None
    if network is None or curve is None or curve.unit != "rounds":
        return None
    doors = {*network.tapped_nodes, *network.insiders}
    if any(found and agent not in doors for agent, found in enumerate(entry.gradients.inferred)):
        return None
    return "Exchanges have a deadline: what an agent took is known at its door only."


def diverged(entry: AlgorithmResult) -> bool:
    """Whether the relative error ended a thousand times above where the run began, or was no number."""
    curve = _errors(entry)
    return bool(curve) and not curve[-1] <= GREW * max(1.0, curve[0])


def drowned(entry: AlgorithmResult) -> bool:
    """Whether noise, and nothing else that is known of, kept a run farther from the optimum than it started.

    There is noise, no active adversary, and the errors are finite, above 1 in most of the later half, and no larger
    there than twice what they were before.
    """
    curve = _errors(entry)
    if not entry.noise or entry.outside_model is not None or not all(map(math.isfinite, curve)):
        return False
    half = len(curve) // 2
    return half > 0 and median(curve[half:]) > 1 and max(curve[half:]) <= 2 * max(curve[:half])


def _errors(entry: AlgorithmResult) -> tuple[float, ...]:
    return () if entry.convergence is None else entry.convergence.median


def _on_radio(results: Results) -> bool:
    return results.network is not None and results.network.medium == "radio"


# ── runs side by side ───────────────────────────────────────────────────────────────────────────────────
Side = Literal["below", "above", "equal", "both infinite", "not told apart"]


@dataclass(frozen=True)
class Ratio:
    """A second sample divided by a first one, with an interval that holds for every law."""

    estimate: float
    """Median of the ratios where paired, else ratio of the medians."""
    low: float
    """Lower end of its interval; NaN where there are too few replicas for the `confidence`. Without any noise the
    ratio itself."""
    high: float
    """Upper end."""
    paired: bool
    """Whether number r of both samples belongs together."""
    confidence: float
    """Confidence of the interval."""
    counts: tuple[int, int]
    """Sizes of the first and of the second sample."""
    same: bool = False
    """Whether both samples are the same numbers, to the last bit."""

    @property
    def has_interval(self) -> bool:
        """Whether there are replicas enough for one."""
        return not math.isnan(self.low)

    @property
    def certain(self) -> bool:
        """Whether no noise is in it: one number over another."""
        return self.counts == (1, 1) and self.low == self.high

    @property
    def told_apart(self) -> bool:
        """Whether the interval is there and has not 1 in it."""
        return self.low > 1 or self.high < 1


class ComparedAlgorithm(Result):
    """One algorithm of one run."""

    class FinalError(Result):
        """Relative error at the end."""

        final: float | None
        """Relative error at the end, median over replicas."""
        replicas: int | None
        """Number of replicas."""
        unit: Unit | None
        """What the run counts."""

    class InferredGradients(Result):
        """Inferred gradients in short."""

        queries: int | None
        """Gradient queries of all agents."""
        estimated: int | None
        """Queries with an estimate."""
        median: float | None
        """Median relative error."""
        baseline: float | None
        """Median error of an attacker that knows the public quadratic term alone."""

    label: str
    """Its label in the comparison."""
    run: str
    """Label of its run."""
    name: str | None
    """Name in the scenario."""
    slug: str
    """ALGORITHM in the names of its files."""
    verdict: str
    """Verdict, or why there is none."""
    broken: bool
    """Whether a claimed number was shown not to hold."""
    epsilon_claimed: float | None
    """ε by the paper's formula; null where nothing is claimed."""
    epsilon_exact: EpsilonExact | None
    """ε of the audited pair."""
    epsilon_audited: float | None
    """Lower bound by the games."""
    first_violation: int | None
    """Activation at which the claim is first exceeded, or null."""
    delta: float | None
    """δ of the claim."""
    adjacency: str | None
    """Adjacency of the claim, in words."""
    norm: str | None
    """Its norm."""
    error: FinalError
    """Convergence in short."""
    gradients: InferredGradients
    """Inferred gradients in short."""
    costs: dict[str, float | None]
    """Costs of the whole run, by the names of `measures.costs`."""


class ComparisonResult(Result):
    """Runs side by side."""

    class ComparedRun(Result):
        """One run of a comparison."""

        label: str
        """Its label here."""
        folder: str
        """Its folder."""
        name: str | None
        """Name of the scenario."""
        title: str | None
        """Title of the scenario."""
        status: Status | None
        """How it ended."""
        seed: int | None
        """Its seed."""
        versions: dict[str, str] | None
        """Its versions."""

    class Difference(Result):
        """A field of the scenario that is not the same in all runs, or in all algorithms of a single run."""

        field: str
        """Dotted path of the field; of your own algorithm also what its class sets, and its code's SHA-256. With
        "(computed)": of a parameter that differs though the field is the same that it was made of."""
        values: tuple[Setting, ...]
        """Its values, one a run, or an algorithm of a single run; null where it has no such field, and of a mapping
        that another lacks what is not at its default."""

    class Against(Result):
        """One algorithm against its base."""

        base: str
        """Label of the base."""
        other: str
        """Label of the other algorithm."""
        epsilon_exact: Side | None
        """"below" or "above" where the intervals of two audits of the same pair are apart by more than rounding,
        "equal" where both are the same number, or the same interval; "both infinite", of whatever pairs; else "not
        told apart"."""
        epsilon_exact_confidence: float | None
        """Confidence of that; null without it."""
        audited_activations: tuple[int, int] | None
        """Activations of the audited agent, of the base and of the other: ε grows with them. null unless both were
        audited."""
        final_error: Ratio | None
        """Ratio of the final errors, or null (`why`)."""
        gradient_error: Ratio | None
        """Ratio of the errors of inferred gradients, or null (`why`)."""
        why: dict[str, str]
        """Why a number is missing, by its name."""

    headline: str
    """The finding in a few sentences, as the terminal and the page begin."""
    runs: tuple[ComparedRun, ...]
    """The runs; the first is the base."""
    cautions: tuple[str, ...]
    """Why numbers must not be compared: another objective, split of the data, adjacency, δ, norm, change of the
    gradient, measure, unit, number of transcripts or version; unfinished runs."""
    differences: tuple[Difference, ...]
    """Fields of the scenarios that differ."""
    algorithms: tuple[ComparedAlgorithm, ...]
    """The algorithms of all runs."""
    confidence: float
    """Of all ratios together."""
    against: tuple[Against, ...]
    """Each algorithm against its base."""
