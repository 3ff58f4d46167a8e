"""Results of a scenario: what results.json holds, all that terminal, page, ledger and sweep read; as text and back.

JSON has no infinities: they are the texts "inf" and "-inf", and NaN is "nan": so every JSON reader takes the file.
"""

from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar, cast

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from netsim.errors import ScenarioError
from netsim.files import parse_json
from netsim.network.active_adversaries import InterceptionReport
from netsim.shown import Shown
from scenarios.files.folders import MANIFEST, RESULTS
from scenarios.results.attacks import Gradients, Images, Leakage, Membership, MembershipAllowed, Property, Traffic
from scenarios.results.attacks import ReconstructionResult as Reconstructions
from scenarios.results.audit import Audit, AuditResult, Budget, EpsilonExact, OverTime, PlanResult, Prices, Views
from scenarios.results.base import (
    TEXTS,
    Counts,
    Edge,
    Numbers,
    Result,
    Setting,
    Status,
    Unit,
    Verdict,
    as_json,
    numbers_of,
    write_text,
)
from scenarios.results.run import Convergence, LinkLoads, MeasureResults, OutsideProgram, RunSummary, Timeline
from scenarios.schema import Scenario
from scenarios.schema.spec import docstrings

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


# ── as text and back ────────────────────────────────────────────────────────────────────────────────────
T = TypeVar("T")
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REMEDY = f"schema_version {SCHEMA_VERSION}: the {RESULTS} of this version of netsim, or netsim run again"


def dumps(results: object) -> str:
    """A tree, or a part of it, as JSON, without a line end."""
    # Python mode, not pydantic's JSON: that would write "Infinity" and round-trip neither tuples nor our texts.
    return as_json(_adapter(type(results)).dump_python(results, by_alias=True))


@cache  # of the whole tree an adapter takes a quarter of a second to make
def _adapter(kind: type[object]) -> TypeAdapter[object]:
    return TypeAdapter(kind)


def save(folder: Path, results: Results) -> None:
    """Write results.json, whole or not at all."""
    write_text(folder / RESULTS, dumps(results))


def plain(found: object) -> dict[str, object]:
    """Any result as the mapping that JSON has of it, infinities and NaN as numbers."""
    return cast("dict[str, object]", _adapter(type(found)).dump_python(found, by_alias=True))


def loads(text: str, file: str = RESULTS) -> Results:
    """The tree that `dumps` wrote; trees without NaN are equal to the one written.

    You get a `ScenarioError` for text that is no JSON, for results of another schema version, and for keys or values
    that this version does not know; it names the `file` and the first such field.
    """
    tree = _mapping(text, file)
    version = tree.get("schema_version", 1)
    if version != SCHEMA_VERSION:
        newer = isinstance(version, int) and version > SCHEMA_VERSION
        why = "written by a newer netsim" if newer else "written by an older netsim"
        raise ScenarioError("schema_version", version, why, _REMEDY, file)
    return _validated(Results, tree, file)


def loads_manifest(text: str, file: str = MANIFEST) -> Manifest:
    """The manifest that `dumps` wrote. Errors as those of `loads`."""
    return _validated(Manifest, _mapping(text, file), file)


def _mapping(text: str, file: str) -> dict[str, object]:
    try:
        raw = parse_json(text)
    except ValueError as error:
        raise ScenarioError("results", file, f"not JSON: {error}", _REMEDY, file) from None
    if not isinstance(raw, dict):
        raise ScenarioError("results", file, "not the results of a run", _REMEDY, file)
    return cast("dict[str, object]", raw)


def _validated(kind: type[T], tree: dict[str, object], file: str) -> T:
    # The scenario is validated strictly, and takes no text for a number.
    tree["scenario"] = numbers_of(tree.get("scenario"))
    try:
        return cast("T", _adapter(kind).validate_python(tree))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ScenarioError(where or "results", first["input"], first["msg"], _REMEDY, file) from None


def schema() -> JsonSchemaValue:
    """The JSON Schema of results.json."""
    found = _adapter(Results).json_schema(mode="validation", by_alias=True, schema_generator=_Schema)
    return {"$schema": _DIALECT, "title": RESULTS, **found}


class _Schema(GenerateJsonSchema):
    """A number may be infinite or NaN, which is a text then; fields have their docstrings."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        found = super().float_schema(schema)
        return {"anyOf": [found, {"enum": list(TEXTS)}]}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        # Pydantic's `use_attribute_docstrings` reads them for every adapter, and parses a file once for each of its
        # classes: three quarters of the time that an adapter takes, and only the schema shows them.
        found = super().dataclass_schema(schema)
        for name, text in docstrings(schema["cls"]).items():
            if name in found["properties"]:
                found["properties"][name].setdefault("description", text)
        return found
