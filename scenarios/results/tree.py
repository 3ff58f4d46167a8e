"""Results of a scenario: what results.json holds, all that terminal, page, ledger and sweep read; as text and back.

JSON has no infinities: they are the texts "inf" and "-inf", and NaN is "nan": so every JSON reader takes the file.
"""

from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeVar, cast

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from netsim.errors import ScenarioError
from netsim.files import parse_json
from netsim.network.active_adversaries import InterceptionReport
from netsim.shown import Shown
from scenarios.files.folders import MANIFEST, PAGE, RESULTS
from scenarios.results.attacks import Gradients, Images, Leakage, Membership, MembershipAllowed, Property
from scenarios.results.attacks import ReconstructionResult as Reconstructions
from scenarios.results.audit import Audit, AuditBegun, AuditResult, EpsilonExact, PlanResult
from scenarios.results.base import (
    TEXTS,
    Counts,
    Edge,
    Result,
    Setting,
    Status,
    Unit,
    Verdict,
    as_json,
    first_mistake,
    keys,
    numbers_of,
    write_text,
)
from scenarios.results.budgets import Budget, OverTime
from scenarios.results.reproduction import FigureResult, Reproduction
from scenarios.results.run import Convergence, LinkLoads, MeasureResults, OutsideProgram, RunSummary, Timeline
from scenarios.results.traffic import Traffic
from scenarios.results.views import Prices, Views
from scenarios.schema import Scenario
from scenarios.schema.spec import DRAFT, field_texts

SCHEMA_VERSION = 2
"""Of results.json; files without a number are version 1, of netsim 0.1."""
AuditStatus = Literal["done", "refused", "no claim", "not requested", "not reached", "interrupted"]
VariantStatus = Literal["running", "complete", "interrupted", "failed", "data not present", "not reached"]


class ProblemResult(Result):
    """The problem that was solved, and its optimum."""

    agents: int
    """Number of agents."""
    dimension: int
    """Length of x."""
    records_per_agent: Counts
    """Records of each agent; 0 of an objective without records."""
    smoothness: float
    """L, the largest smoothness constant of an agent's objective."""
    strong_convexity: float
    """μ, the smallest strong convexity constant; 0: none."""
    kind: str
    """`problem.kind` of the scenario."""
    data: str
    """Name of the data set."""
    part: str
    """Part of the published data set that was used."""
    note: str
    """Where the records are not the published ones; empty where they are."""
    records: int
    """Records of all agents."""
    held_out: int | None
    """Records that no agent holds; null where the scenario keeps none out."""
    optimum_residual: float
    """Residual of the optimality condition at the computed x*."""
    optimum_is_zero: bool
    """Whether x* is 0: errors are then absolute."""
    optimum_is_stationary_only: bool
    """Whether x* is only a stationary point, of a problem that is not convex."""


class NetworkResult(Result):
    """The graph, its taps and interceptions, and what is not at its default."""

    class Disc(Result):
        """A place and a range around it."""

        at: tuple[float, float]
        """Center."""
        range: float
        """Radius."""

    name: str
    """The graph in words."""
    medium: Literal["links", "radio"]
    """Whether agents are joined by `links` or send by `radio`."""
    edges: tuple[Edge, ...]
    """Pairs of neighbors, the smaller agent first."""
    positions: tuple[tuple[float, float], ...]
    """Places of the agents in the unit square of the drawing."""
    disc: Disc | None
    """Reach of an eavesdropper at a place, in the unit square."""
    eavesdropper: Disc | None
    """The eavesdropper's place and range in the units of the agents' places; null where its taps do not follow from a
    place."""
    tapped: tuple[Edge, ...]
    """Links with a tap."""
    tapped_transmitters: Counts
    """On radio: agents whose transmissions are recorded."""
    tapped_nodes: Counts
    """Agents with a tap at their doors."""
    insiders: Counts
    """Honest but curious agents."""
    sealed: tuple[Edge, ...]
    """Links encrypted both ways."""
    intercepted: tuple[Edge, ...]
    """Links with an active adversary."""
    spectral_gap: float
    """1 − the second largest modulus of the mixing weights' eigenvalues."""
    settings: tuple[tuple[str, str], ...]
    """Field and value, in words, of what is not at its default."""
    names: tuple[str, ...] = ()
    """The agents' names by the file of the topology; empty where they have numbers alone."""


class AlgorithmResult(Result, Shown):
    """One algorithm, which one stage after the other fills; null: not requested, or not reached."""

    name: str
    """Name in the scenario."""
    slug: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    """ALGORITHM in the names of its files."""
    kind: str
    """`kind` in the scenario."""
    baseline: bool
    """The scenario's mark: its verdict decides no exit status."""
    summary: str
    """The algorithm in a sentence."""
    noise: bool
    """Whether agents put noise on what they send."""
    audit_status: AuditStatus
    """"done": there is a verdict. "refused": begun and could not judge (`audit.refused` says why). "no claim": none
    is known to netsim. "not requested". "not reached": the run ended before. "interrupted": the run ended within."""
    budget: Budget | None = None
    """The claimed ε by the length of the run; null where nothing is claimed."""
    unproven: tuple[str, ...] | None = None
    """Conditions of the paper's convergence theorem that fail; null where they are not computed (all but CPGT,
    DP-RECAL and DPP²)."""
    rate: float | None = None
    """ρ where the paper's theorem says that the error falls like ρ^k here; null where it does not."""
    convergence: Convergence | None = None
    """Relative error by activation or round."""
    run: RunSummary | None = None
    """Activations, time, traffic and queries."""
    outside_programs: tuple[OutsideProgram, ...] = ()
    """Programs that took agents' places."""
    active_adversaries: tuple[InterceptionReport, ...] = ()
    """Where one acted: what each did to packets."""
    rejected: int | None = None
    """Packets rejected by receivers of authenticated links; null without an active adversary."""
    outside_model: str | None = None
    """The sentence that no claim is about a run with an active adversary; null without one."""
    measures: MeasureResults | None = None
    """Curves of measures, and costs."""
    links: LinkLoads | None = None
    """Packets, bytes, losses and delays of each link."""
    timeline: Timeline | None = None
    """Packets of some windows of the run, as drawn on the page."""
    gradients: Gradients | None = None
    """Scores of inferred gradients, or why the attack was `refused`."""
    leakage: Leakage | None = None
    """Inferred gradients by query and by agent."""
    traffic_analysis: Traffic | None = None
    """What sizes and times give away; null unless the scenario asks (`attacks.traffic`)."""
    images: Images | None = None
    """Images rebuilt, or why that was `refused`."""
    reconstructions: Reconstructions | None = None
    """Attacks on records; null unless the scenario asks (`attacks.reconstruct`)."""
    membership: Membership | None = None
    """The membership game; null unless the scenario asks (`attacks.membership`)."""
    property: Property | None = None
    """The property game; null unless the scenario asks (`attacks.property`)."""
    plan: PlanResult | None = None
    """What the game of fixed size can find, known before it starts; null where no number is claimed."""
    audit: Audit | None = None
    """The audit, or why it was `refused`; null without one."""
    audit_begun: AuditBegun | None = None
    """How far an audit was that a Ctrl-C ended; null of any other."""
    over_time: OverTime | None = None
    """The three epsilons by activation; null without an audit."""
    views: Views | None = None
    """Games of all points of view, or why they were `refused`; null unless the scenario asks (`audit.views`)."""
    prices: Prices | None = None
    """Exact ε of points of view, or why they were `refused`; null unless the scenario asks (`exact` or `coalition` of
    `audit.views`)."""

    __repr__ = Shown.__repr__

    def facts(self) -> dict[str, object]:
        found: dict[str, object] = {"name": self.name, "kind": self.kind}
        if self.convergence is not None:
            found["final relative error"] = self.convergence.final
        if isinstance(self.audit, AuditResult):
            return found | self.audit.facts() | {"why": self.audit.reason}
        return found | {"audit": self.audit_status if self.audit is None else self.audit.refused}


# ── studies ─────────────────────────────────────────────────────────────────────────────────────────────
class AuditSummary(Result):
    """The three epsilons of one variant's audit."""

    class ClaimSummary(Result):
        """Terms of a claim."""

        delta: float | None
        """δ of the claim."""
        adjacency: str | None
        """Adjacency of the claim, in words."""

    class Ceiling(Result):
        """Largest ε that a game could prove."""

        ceiling: float | None
        """Largest ε that the game could prove."""

    verdict: Verdict | None
    """Verdict; null where the audit could not judge."""
    reason: str | None
    """The verdict's reason in a sentence."""
    refused: str | None
    """The reason why the audit could not judge; else null."""
    epsilon_claimed: float | None
    """ε by the paper's formula."""
    epsilon_exact: EpsilonExact | None
    """ε of the audited pair."""
    epsilon_audited: float | None
    """ε proven from below by the games."""
    confidence: float | None
    """Joint confidence."""
    claim: ClaimSummary
    """The claim's δ and adjacency."""
    white_box: Ceiling | None = None
    """The game with the exact loss."""
    black_box: Ceiling | None = None
    """The game with inferred gradients."""
    classifier: Ceiling | None = None
    """The game of a trained classifier."""


class MembershipSummary(Result):
    """What membership says of the claim."""

    claim: MembershipAllowed | None
    """What the claim allows, and whether the rates contradict it; null of a refused game."""


class AlgorithmSummary(Result):
    """One algorithm in one variant."""

    name: str
    """Name in the scenario."""
    baseline: bool
    """The scenario's mark: its verdict decides no exit status."""
    unit: Unit | None
    """What `last` counts."""
    last: int | None
    """Number of the last round or activation."""
    final: float | None
    """Final relative error, median over replicas."""
    gradient_error: float | None
    """Median relative error of inferred gradients."""
    epsilon_claimed: float | None
    """ε by the paper's formula, at the end."""
    verdict: Verdict | None
    """Verdict of the audit; null without one."""
    refuted_from: tuple[str, ...] = ()
    """Priced views and pairs of agents at which a claim does not hold, in words."""
    witness: str | None
    """File of the witness in the variant's folder, or null."""
    outside_model: str | None
    """The sentence that no claim is about a run with an active adversary; null without one."""
    reconstructions: Reconstructions | None
    """With the records of one agent alone."""
    audit_status: AuditStatus | None
    """As in `algorithms[]`."""
    audit: AuditSummary | None
    """The three epsilons."""
    membership: MembershipSummary | None
    """Membership against the claim."""


class VariantResult(Result):
    """One variant of a study."""

    name: Annotated[str, Field(pattern=r"^([^/\\.][^/\\]*)?$")]
    """Its name and folder; empty of the only run of a scenario whose data are absent."""
    fields: dict[str, Setting]
    """Values of the fields that it sets, by dotted path."""
    status: VariantStatus
    """How its run ended."""
    error: str | None
    """Why it failed, else null."""
    report: str | None
    """Its page, relative to the folder; null where there is none."""
    problem: ProblemResult | None
    """The problem that it solved."""
    algorithms: tuple[AlgorithmSummary, ...]
    """Its algorithms in short; the rest is in the folder VARIANT."""


# ── all of it ───────────────────────────────────────────────────────────────────────────────────────────
class RunError(Result):
    """The error that ended a run."""

    type: str
    """Class of the error."""
    message: str
    """Its message."""
    hint: str
    """A hint at the scenario's field; empty where none is known."""


class Results(Result, Shown):
    """Results of a scenario; of a study `variants` stand in place of problem, network and algorithms."""

    schema_version: Annotated[int, Field(ge=1, le=SCHEMA_VERSION)] = SCHEMA_VERSION
    """Version of this format. Files of netsim 0.1 have none and are refused: run the scenario again."""
    name: str
    """Name of the scenario."""
    title: str
    """Its title."""
    description: str
    """Its description."""
    status: Status = "running"
    """"running"; "complete"; "interrupted" by Ctrl-C; "failed" by an error. The last two keep what was done until
    then."""
    error: RunError | None = None
    """Why the run failed; else null."""
    command: str
    """The command line that made them."""
    versions: dict[str, str]
    """Of Python, netsim and the packages that the numbers depend on."""
    seed: int
    """Seed of the run."""
    scenario: Scenario
    """The scenario with every default ([its fields](scenario-reference.md))."""
    notes: tuple[str, ...] = ()
    """Notes of the page on how to read its numbers."""
    problem: ProblemResult | None = None
    """The problem that was solved; null of a study."""
    network: NetworkResult | None = None
    """The graph, its taps and its settings; null of a study."""
    algorithms: tuple[AlgorithmResult, ...] = ()
    """One entry for each algorithm that was begun; empty of a study."""
    variants: tuple[VariantResult, ...] | None = None
    """Runs of the [variants](reproductions.md); null of a single run."""
    reproduction: Reproduction | None = None
    """The paper's item, where the scenario `reproduces` one; else null."""
    figures: tuple[FigureResult, ...] | None = None
    """Figures of the scenario; null where it has none."""

    __repr__ = Shown.__repr__

    def facts(self) -> dict[str, object]:
        found: dict[str, object] = {"name": self.name, "status": self.status, "seed": self.seed}
        for one in self.algorithms:
            found[one.name] = f"audit {one.audit_status}"
            if isinstance(one.audit, AuditResult):
                facts = one.audit.facts()
                epsilons = (f"{name} {facts[name]}" for name in ("ε claimed", "ε exact", "ε audited"))
                found[one.name] = f"{one.audit.verdict}: {', '.join(epsilons)}"
        return found | {one.name: one.status for one in self.variants or ()} | {"folder": self._folder}

    def at(self, folder: Path) -> "Results":
        """The same results, which say the folder where they are; it is in no file."""
        object.__setattr__(self, "_folder", str(folder / PAGE if (folder / PAGE).exists() else folder))
        return self

    _folder: ClassVar[str | None] = None


class Manifest(Result):
    """manifest.json: the scenario with every default, and the parameters computed from it."""

    name: str
    """Name of the scenario."""
    command: str
    """The command line."""
    versions: dict[str, str]
    """Of Python, netsim and the packages that the numbers depend on."""
    seed: int
    """Seed of the run."""
    scenario: Scenario
    """The scenario with every default ([its fields](scenario-reference.md))."""
    problem: ProblemResult | None = None
    """The problem; null until it is built."""
    names: tuple[str, ...] = ()
    """The agents' names by the file of the topology; empty where they have numbers alone."""
    resolved: tuple[dict[str, Setting], ...] = ()
    """Of each algorithm its `name`, class and parameters, the steps and noise computed from the scenario among them;
    of your own code the `file` and `sha256` too, with the files of yours that it imports."""


# ── as text and back ────────────────────────────────────────────────────────────────────────────────────
T = TypeVar("T")
_REMEDY = f"the {RESULTS} that this version of netsim wrote, or netsim run again"
_MANIFEST_REMEDY = f"the {MANIFEST} that this version of netsim wrote, or netsim run again"


def dumps(results: object) -> str:
    """A tree, or a part of it, as JSON, without a line end."""
    # Python mode, not pydantic's JSON: that would write "Infinity" and round-trip neither tuples nor our texts.
    return as_json(adapter(type(results)).dump_python(results, by_alias=True))


@cache  # of the whole tree an adapter takes a quarter of a second to make
def adapter(kind: type[object]) -> TypeAdapter[object]:
    return TypeAdapter(kind)


def save(folder: Path, results: Results) -> None:
    """Write results.json, whole or not at all."""
    write_text(folder / RESULTS, dumps(results))


def plain(found: object) -> dict[str, object]:
    """Any result as the mapping that JSON has of it, infinities and NaN as numbers."""
    return cast("dict[str, object]", adapter(type(found)).dump_python(found, by_alias=True))


def loads(text: str, file: str = RESULTS) -> Results:
    """The tree that `dumps` wrote; trees without NaN are equal to the one written.

    You get a `ScenarioError` for text that is no JSON, for results of another schema version, and for keys or values
    that this version does not know; it names the `file` and the first such field.
    """
    tree = _mapping(text, file, _REMEDY)
    version = tree.get("schema_version")
    if version != SCHEMA_VERSION:
        why = (
            "missing: written by an older netsim (0.1), or not by netsim"
            if version is None
            else "no version of results"
        )
        if isinstance(version, int):
            why = f"written by {'a newer' if version > SCHEMA_VERSION else 'an older'} netsim"
        raise ScenarioError("schema_version", version, why, f"{SCHEMA_VERSION}: {_REMEDY}", file)
    return _validated(Results, tree, file, _REMEDY)


def loads_manifest(text: str, file: str = MANIFEST) -> Manifest:
    """The manifest that `dumps` wrote. Errors as those of `loads`."""
    return _validated(Manifest, _mapping(text, file, _MANIFEST_REMEDY), file, _MANIFEST_REMEDY)


def _mapping(text: str, file: str, remedy: str) -> dict[str, object]:
    try:
        raw = parse_json(text)
    except ValueError as error:
        why = f"not JSON: {error}" if text.strip() else "an empty file"
        raise ScenarioError("file", file, why, remedy, file) from None
    if not isinstance(raw, dict):
        raise ScenarioError("file", file, "not what a run writes", remedy, file)
    return cast("dict[str, object]", raw)


def _validated(kind: type[T], tree: dict[str, object], file: str, remedy: str) -> T:
    # The scenario is validated strictly, and takes no text for a number.
    tree["scenario"] = numbers_of(tree.get("scenario"))
    try:
        return cast("T", adapter(kind).validate_python(tree))
    except ValidationError as error:
        raise first_mistake(error, tree, file, remedy) from None


def schema() -> JsonSchemaValue:
    """The JSON Schema of results.json."""
    found = adapter(Results).json_schema(mode="validation", by_alias=True, schema_generator=_Schema)
    return {"$schema": DRAFT, "title": RESULTS, **found}


class _Schema(GenerateJsonSchema):
    """A number may be infinite or NaN, which is a text then; fields have their docstrings."""

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        found = super().float_schema(schema)
        return {"anyOf": [found, {"enum": list(TEXTS)}]}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        # Pydantic's `use_attribute_docstrings` reads them for every adapter, and parses a file once for each of its
        # classes: three quarters of the time that an adapter takes, and only the schema shows them.
        found = super().dataclass_schema(schema)
        texts = field_texts(schema["cls"])
        for name, key, _ in keys(schema["cls"]):
            found["properties"][key].setdefault("description", texts[name])
        return found
