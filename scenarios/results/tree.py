"""Results of a scenario: what results.json holds, and all that terminal, page, ledger and sweep read."""

from typing import Annotated, Literal

from pydantic import Field

from netsim.network.active_adversaries import InterceptionReport
from netsim.shown import Shown
from scenarios.results.attacks import Gradients, Images, Leakage, Membership, MembershipAllowed, Property, Traffic
from scenarios.results.attacks import ReconstructionResult as Reconstructions
from scenarios.results.audit import Audit, AuditResult, Budget, EpsilonExact, OverTime, PlanResult, Prices, Views
from scenarios.results.base import Counts, Edge, Numbers, Result, Setting, Status, Unit, Verdict
from scenarios.results.run import Convergence, LinkLoads, MeasureResults, OutsideProgram, RunSummary, Timeline
from scenarios.schema import Scenario

SCHEMA_VERSION = 2
"""Of results.json; files without a number are version 1, of netsim 0.1."""
AuditStatus = Literal["done", "refused", "no claim", "not requested", "not reached"]
VariantStatus = Literal["running", "complete", "interrupted", "failed", "data not present", "not reached"]


class ProblemResult(Result):
    """The problem that was solved, and its optimum."""

    agents: int
    dimension: int
    records_per_agent: Counts
    smoothness: float
    strong_convexity: float
    kind: str
    data: str
    part: str
    note: str
    records: int
    held_out: int | None
    optimum_residual: float
    optimum_is_zero: bool
    optimum_is_stationary_only: bool


class NetworkResult(Result):
    """The graph, its taps and interceptions, and what is not at its default."""

    class Disc(Result):
        """A place and a range around it."""

        at: tuple[float, float]
        range: float

    name: str
    medium: Literal["links", "radio"]
    edges: tuple[Edge, ...]
    positions: tuple[tuple[float, float], ...]
    """In the unit square of the drawing."""
    disc: Disc | None
    """Reach of an eavesdropper at a place, in the unit square."""
    eavesdropper: Disc | None
    """The same in the units of the agents' places."""
    tapped: tuple[Edge, ...]
    tapped_transmitters: Counts
    """On radio: agents whose transmissions are recorded."""
    tapped_nodes: Counts
    insiders: Counts
    sealed: tuple[Edge, ...]
    """Links encrypted both ways."""
    intercepted: tuple[Edge, ...]
    """Links with an active adversary."""
    spectral_gap: float
    settings: tuple[tuple[str, str], ...]
    """Field and value in words."""
    names: tuple[str, ...] = ()
    """The agents' names by the file of the topology; empty where they have numbers alone."""


class AlgorithmResult(Result):
    """One algorithm: stages fill it with `dataclasses.replace`; null: not requested, or not reached."""

    name: str
    slug: str
    """In the names of its files."""
    kind: str
    baseline: bool
    summary: str
    noise: bool
    audit_status: AuditStatus
    budget: Budget | None = None
    unproven: tuple[str, ...] | None = None
    """Conditions of the paper's convergence theorem that fail; null where they are not computed."""
    rate: float | None = None
    """ρ where the paper's theorem says that the error falls like ρ^k here; null where it does not."""
    convergence: Convergence | None = None
    run: RunSummary | None = None
    outside_programs: tuple[OutsideProgram, ...] = ()
    active_adversaries: tuple[InterceptionReport, ...] = ()
    rejected: int | None = None
    """Packets rejected by receivers of authenticated links."""
    outside_model: str | None = None
    """Caution of every result with an active adversary."""
    measures: MeasureResults | None = None
    links: LinkLoads | None = None
    timeline: Timeline | None = None
    gradients: Gradients | None = None
    leakage: Leakage | None = None
    traffic_analysis: Traffic | None = None
    images: Images | None = None
    reconstructions: Reconstructions | None = None
    membership: Membership | None = None
    property: Property | None = None
    plan: PlanResult | None = None
    audit: Audit | None = None
    over_time: OverTime | None = None
    views: Views | None = None
    prices: Prices | None = None


# ── studies ─────────────────────────────────────────────────────────────────────────────────────────────
class AuditSummary(Result):
    """The three epsilons of one variant's audit."""

    class ClaimSummary(Result):
        """Terms of a claim."""

        delta: float | None
        adjacency: str | None

    class Ceiling(Result):
        """Largest ε that a game could prove."""

        ceiling: float | None

    verdict: Verdict | None
    reason: str | None
    refused: str | None
    epsilon_claimed: float | None
    epsilon_exact: EpsilonExact | None
    epsilon_audited: float | None
    confidence: float | None
    claim: ClaimSummary
    white_box: Ceiling | None = None
    black_box: Ceiling | None = None
    classifier: Ceiling | None = None


class MembershipSummary(Result):
    """What membership says of the claim."""

    claim: MembershipAllowed | None
    """Null of a refused game."""


class AlgorithmSummary(Result):
    """One algorithm in one variant."""

    name: str
    baseline: bool
    unit: Unit | None
    last: int | None
    """Rounds or activations."""
    final: float | None
    gradient_error: float | None
    epsilon_claimed: float | None
    verdict: Verdict | None
    refuted_from: tuple[str, ...] = ()
    """Priced views and pairs of agents at which a claim does not hold, in words."""
    witness: str | None
    outside_model: str | None
    reconstructions: Reconstructions | None
    """With the records of one agent alone."""
    audit_status: AuditStatus | None
    audit: AuditSummary | None
    membership: MembershipSummary | None


class VariantResult(Result):
    """One variant of a study."""

    name: str
    """Empty of the only run of a scenario whose data are absent."""
    fields: dict[str, Setting]
    """By dotted path."""
    status: VariantStatus
    error: str | None
    report: str | None
    problem: ProblemResult | None
    algorithms: tuple[AlgorithmSummary, ...]


# ── a paper's item ──────────────────────────────────────────────────────────────────────────────────────
Outcome = Literal["agrees", "agrees in shape", "differs", "cannot be run", "not finished"]
Answered = Literal["holds", "fails", "cannot be checked"]


class CheckAnswer(Result):
    """One check in one variant, or over a group of variants."""

    variant: str
    """Empty where there are no variants."""
    result: Answered
    found: str
    reason: str


class Reproduction(Result):
    """A paper's item and whether it was reproduced."""

    class CheckResult(Result):
        """One check."""

        statement: str
        """Of the paper."""
        criterion: str
        """The check in words."""
        answers: tuple[CheckAnswer, ...]

    paper: str
    item: str
    shows: str
    missing: tuple[str, ...]
    """Parameters that the paper does not print."""
    outcome: Outcome
    sentence: str
    reasons: tuple[str, ...]
    checks: tuple[CheckResult, ...]


class FigureCurve(Result):
    """One line of a figure."""

    label: str
    algorithm: str
    variant: str
    x: tuple[Setting, ...]
    """Numbers, or values of a field."""
    y: Numbers
    low: Numbers
    high: Numbers
    vacuous_from: int | None = None
    """Of claimed ε alone."""


class FigureResult(Result):
    """One figure with its axes in words."""

    title: str
    x: str
    y: str
    log: bool
    log_x: bool
    points: bool
    """Whether curves are drawn with marks."""
    level: float | None
    """ε above which a claim is vacuous; of claimed ε alone."""
    curves: tuple[FigureCurve, ...]
    absent: tuple[str, ...]
    """What could not be drawn, and why."""


# ── all of it ───────────────────────────────────────────────────────────────────────────────────────────
class RunError(Result):
    """The error that ended a run."""

    type: str
    message: str
    hint: str
    """Empty where none is known."""


class Results(Result, Shown):
    """Results of a scenario; of a study `variants` stand in place of problem, network and algorithms."""

    schema_version: Annotated[int, Field(ge=1, le=SCHEMA_VERSION)] = SCHEMA_VERSION
    name: str
    title: str
    description: str
    status: Status = "running"
    error: RunError | None = None
    command: str
    versions: dict[str, str]
    seed: int
    scenario: Scenario
    notes: tuple[str, ...] = ()
    problem: ProblemResult | None = None
    network: NetworkResult | None = None
    algorithms: tuple[AlgorithmResult, ...] = ()
    variants: tuple[VariantResult, ...] | None = None
    """Null of a single run."""
    reproduction: Reproduction | None = None
    figures: tuple[FigureResult, ...] | None = None
    """Null where the scenario draws none."""

    __repr__ = Shown.__repr__

    def facts(self) -> dict[str, object]:
        found: dict[str, object] = {"name": self.name, "status": self.status, "seed": self.seed}
        for one in self.algorithms:
            found[one.name] = one.audit.verdict if isinstance(one.audit, AuditResult) else f"audit {one.audit_status}"
        return found | {one.name: one.status for one in self.variants or ()}


class Manifest(Result):
    """manifest.json: the scenario with every default, and the parameters computed from it."""

    name: str
    command: str
    versions: dict[str, str]
    seed: int
    scenario: Scenario
    problem: ProblemResult | None = None
    names: tuple[str, ...] = ()
    """The agents' names by the file of the topology; empty where they have numbers alone."""
    resolved: tuple[dict[str, Setting], ...] = ()
    """Of each algorithm `name`, class, parameters; of code of one's own also `file` and `sha256`."""
