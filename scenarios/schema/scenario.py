"""A scenario: all of its parts, with the attacks and the audit of its runs."""

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic.json_schema import JsonSchemaValue

from netsim.arguments import checked
from netsim.bounds import MOST, Count
from netsim.claims import Norm
from netsim.node import Backend
from scenarios.files.library import as_arguments, full_tree
from scenarios.files.mistakes import validated
from scenarios.files.models import dump
from scenarios.schema.attacks import Labels, MembershipSpec, PropertySpec, RebuildSpec, Rounds
from scenarios.schema.checks import FigureSpec, MeasureSpec, ReproducesSpec, VariantSpec
from scenarios.schema.own import AlgorithmSpec
from scenarios.schema.spec import Index, Model, Name, Positive, Values, exported
from scenarios.schema.world import (
    AccessSpec,
    ActiveAdversarySpec,
    AdversarySpec,
    Delay,
    DowntimeSpec,
    ExchangeSpec,
    LinkOverride,
    LinkSpec,
    MediumSpec,
    MessageSpec,
    PoissonClockSpec,
    ProblemSpec,
    StragglerSpec,
    TopologySpec,
)

Victims = Literal["one_by_one", "jointly"]
"""Whose gradients are inferred from one system of equations: one agent's at a time, or all agents'."""


class OutputsSpec(Model):
    """What a run writes to its folder beside results.json, the manifest, the page and the transcripts."""

    metrics: bool = True
    """metrics-ALGORITHM.parquet: measures and costs, a row for each estimate."""
    tables: bool = True
    """algorithms.parquet and attacks.parquet: the numbers of results."""
    figures: list[Literal["svg", "png", "pdf"]] = []
    """The formats in which every figure of the page is written to the folder figures."""
    width: Annotated[float, Field(ge=1, le=40)] = 3.5
    """The width of a figure, in inches."""
    dpi: Annotated[int, Field(ge=30, le=2400)] = 300
    """The resolution of PNG figures, in dots per inch."""


class AttackSpec(Model):
    """What is inferred from what the eavesdropper received."""

    gradients: bool = True
    """Whether gradients are inferred from the transcript."""
    victims: Victims = "one_by_one"
    """"one_by_one": each agent's gradients from what was observed around it; "jointly": those of all agents as one
    linear system, in which a message that was not observed is what its sender's code makes of its own gradients
    (for taps on a part of the network)."""
    coins: Literal["known", "fitted"] = "known"
    """Whether the eavesdropper knows the algorithm's public coins, or fits them to what it received: η_k of DPP², of
    which it takes all links."""
    images: bool = False
    """The short form for one record an agent: rebuilt in closed form from exact gradients of a logistic loss, or
    as the mode of the posterior from noisy ones."""
    traffic: bool = False
    """Whether times and sizes of packets alone are analysed: who acted when, how long agents compute, what was
    repeated and lost, and the dimension."""
    reconstruct: list[RebuildSpec] = []
    """Attacks that rebuild records from the inferred gradients, in a second run in which each agent holds
    `holding` records. What an attacker believes beforehand comes from the records that no agent holds."""
    holding: Count = 1
    """How many records each agent holds where records are rebuilt, drawn from the data by the scenario's seed."""
    rounds: Rounds = "all"
    """Which of an agent's gradients an attack gets."""
    labels: Labels = "private"
    """Whether an attack gets the labels."""
    success: Positive = 0.1
    """The root mean square error over a record's features up to which it counts as rebuilt."""
    membership: MembershipSpec | None = None
    """A game that measures how well an attack decides whether a record is an agent's; none: not played."""
    property: PropertySpec | None = None
    """A game that measures how well an attack decides what an agent's records are like; none: not played."""

    @field_validator("reconstruct")
    @classmethod
    def _names_of_their_own(cls, attacks: list[RebuildSpec]) -> list[RebuildSpec]:
        names = [attack.label for attack in attacks]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two attacks of the name {name!r}: give one a name of its own")
        return attacks


class GradientChange(Model):
    """The agent's gradient moves by at most this wherever it is evaluated: the adjacency of papers that bound a
    gradient's change."""

    change: Positive
    """By how much the gradient may change."""
    norm: Norm = "l2"
    """The norm."""
    constant: bool = True
    """Whether the gradient changes by the same vector everywhere, or by one that varies with x, along the
    `direction` and back."""
    curvature: Positive | None = None
    """By how much the Hessian may differ where the change is not constant; none: a tenth of the largest L_i."""
    direction: Literal["even", "coordinate", "random"] = "even"
    """In which direction the gradient changes: all coordinates the same, which Laplace noise hides worst
    ("even"), the first one alone ("coordinate"), or drawn by the scenario's seed ("random")."""


class SearchSpec(Model):
    """A search for the pair that costs most within what the claim allows, for each algorithm by itself. A claim that
    holds however much a gradient changes is also tried on changes beyond the bound of what the algorithm releases, if
    there is one, in both worlds."""

    candidates: Count = 24
    """How many pairs within the adjacency are tried."""
    transcripts: Count = 8
    """On how many transcripts of the true world a pair is tried, none of which the audit uses again."""


Wanted = Literal["none", "links", "nodes", "coalitions", "all"]
"""The points of view from which a claim is looked at, one by one."""


class ViewsSpec(Model):
    """Points of view on the audited agent: whose games are played, and which are priced exactly."""

    game: Wanted = "none"
    """Single points of view whose games are played: every link, every agent honest but curious ("nodes"),
    "coalitions" of two and all links at once, or "all" of these; and those that are priced."""
    exact: list[Literal["door", "links", "neighbors", "pairs"]] = []
    """Points of view whose exact ε is computed from the code of all agents: the audited agent's door, links, its
    neighbors as honest but curious agents, and all ordered "pairs" of a victim and a listener."""
    coalition: Count | None = None
    """The size of coalitions of other agents among which the costliest is searched; none: no search."""

    @property
    def prices(self) -> bool:
        """Whether anything is priced."""
        return bool(self.exact) or self.coalition is not None


class AuditSpec(Model):
    """The distinguishing game and the exact loss for one adjacent pair of one agent."""

    agent: Index | None = None
    """The agent whose data differ between the two worlds, from 0; none: the one that the search finds, 0 without."""
    adjacency: Literal["record", "agent"] | GradientChange = "record"
    """Which data are adjacent: one record of the agent replaced by the one of the others that moves its gradient
    most ("record"), all its labels flipped ("agent"), or a change of its gradient."""
    search: SearchSpec | None = SearchSpec()
    """A search for the pair that costs most; none: the one pair that `adjacency` states. Not said: a search, unless
    `adjacency` names a `direction`."""
    trials: Annotated[int, Field(ge=50, le=MOST)] = 2000
    """How many transcripts of each world are played."""
    chunk: Count = 500
    """How many transcripts are simulated at once; all of them where this is more than `trials`."""
    confidence: Annotated[float, Field(ge=0.5, lt=1)] = 0.95
    """The joint confidence of all bounds."""
    coins: Literal["known", "secret"] | None = None
    """Whether claims are judged for who knows the agent's private coins (its routes, its batches), or for who does
    not; none: as the claim has it."""
    stop: Literal["never", "refuted"] = "never"
    """ "refuted": the audit ends after the first chunk by which the sequential test has refuted the claim;
    `trials` is then the most."""
    classifier: bool | None = None
    """Whether one more game is played, with a classifier as its score that was trained on what some of the chunks
    put on the agent's links; it needs two chunks or more, and `stop` "never". None: where releases are not on the
    wire in a form whose law is known."""
    views: Wanted | ViewsSpec = "none"
    """Single points of view: whose games are played too, in a word, or also which of them are priced exactly."""
    draw: Annotated[int, Field(ge=0, lt=1_000_000)] = 0
    """Which draw of the audit's noise; another number gives an independent audit. `netsim audit FOLDER` counts it
    up."""

    @property
    def together(self) -> int:
        """Transcripts that are simulated at once: no more than are asked for."""
        return min(self.chunk, self.trials)

    @property
    def chunks(self) -> int:
        """How often so many are simulated in each world."""
        return -(-self.trials // self.together)

    @property
    def seen_from(self) -> ViewsSpec:
        """`views` in full."""
        return self.views if isinstance(self.views, ViewsSpec) else ViewsSpec(game=self.views)

    @model_validator(mode="after")
    def _states_its_pair(self) -> "AuditSpec":
        """A direction that is named is the pair."""
        named = isinstance(self.adjacency, GradientChange) and "direction" in self.adjacency.model_fields_set
        if named and "search" not in self.model_fields_set:
            object.__setattr__(self, "search", None)
        return self

    @field_validator("classifier")
    @classmethod
    def _stops_or_learns(cls, classifier: bool | None, info: ValidationInfo) -> bool | None:
        if classifier and info.data.get("stop") == "refuted":
            raise ValueError(
                "classifier and stop cannot be combined: a classifier needs chunks to learn from and others to play, "
                "and an audit that stops says what it says of the first one alone"
            )
        return classifier


class TranscriptSpec(Model):
    """What is kept of what the eavesdropper received."""

    replicas: Literal["first", "all"] = "first"
    """Whether the values of all replicas are kept, or of the first."""
    spool: Literal["temporary", "kept", "none"] = "temporary"
    """What becomes of the file that is written while a run goes on: removed when the Parquet file is there, kept,
    or none, and the transcript is in memory."""


class Scenario(Model):
    """One experiment: the same problem, network and eavesdropper for each of its algorithms."""

    name: Annotated[Name, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    """What results and folders call the scenario: small letters, digits and hyphens."""
    group: str = ""
    """Under which heading a list of scenarios has it."""
    title: str = ""
    """A title in words."""
    description: str = ""
    """What the scenario shows, in a sentence or two."""
    seed: Index = 0
    """The seed of all that is drawn in a run, but for what has a seed of its own."""
    replicas: Count = 1
    """How many draws of the noise are run at once, over the same routes, delays and losses."""
    backend: Backend = "numpy"
    """Who computes the gradients of the runs: NumPy, or PyTorch ("torch", the extra `torch`) those of all agents'
    networks at once, on a GPU where there is one. Values are then equal to 1e-12, and there is no packet log and no
    playback. For what the stacked reader runs: rounds, links that neither lose nor acknowledge
    (`links.reliable: false`), the problems softmax and mlp. Audits and games have NumPy."""
    problem: ProblemSpec = ProblemSpec()
    """What the agents minimize, and on which data."""
    topology: TopologySpec
    """The graph of neighbors, and its mixing weights."""
    medium: MediumSpec = "links"
    """Links between pairs, or radio, on which all neighbors receive a transmission."""
    links: LinkSpec = LinkSpec()
    """The law of all links: delay, loss, bandwidth, encryption."""
    link_overrides: list[LinkOverride] = []
    """Links that follow another law."""
    access: AccessSpec | None = None
    """Access lines that an agent's links share."""
    messages: MessageSpec = MessageSpec()
    """How values go on the wire, and how many bytes they are."""
    exchange: ExchangeSpec = ExchangeSpec()
    """What an exchange does when messages are missing."""
    activation: Literal["rounds"] | PoissonClockSpec = "rounds"
    """When agents begin their rounds: together, or at ticks of clocks of their own."""
    compute: Delay | None = None
    """How long a private query takes an agent; none: no time."""
    stragglers: list[StragglerSpec] = []
    """Agents whose private queries take a time of their own."""
    downtimes: list[DowntimeSpec] = []
    """Agents that go down and come back."""
    adversary: AdversarySpec = AdversarySpec()
    """The eavesdropper: its taps, its insiders, and the share of messages it captures."""
    active_adversaries: list[ActiveAdversarySpec] = []
    """Active adversaries that drop, delay, replay or alter messages."""
    algorithms: Annotated[list[AlgorithmSpec], Field(min_length=1)]
    """The algorithms, each run on the same problem, network and eavesdropper."""
    measures: MeasureSpec = MeasureSpec()
    """What runs are measured by."""
    attacks: AttackSpec = AttackSpec()
    """What is inferred from what the eavesdropper received."""
    transcript: TranscriptSpec = TranscriptSpec()
    """What is kept of what the eavesdropper received."""
    outputs: OutputsSpec = OutputsSpec()
    """What else is written to the results folder."""
    audit: AuditSpec | None = None
    """The audit of the algorithms' claims; none: no audit."""
    variants: list[VariantSpec] = []
    """The scenario with some fields replaced, one run each."""
    grid: dict[str, Values] = {}
    """Fields by dotted path, with the values that they take: a variant for each combination (of each of the
    `variants`)."""
    figures: list[FigureSpec] = []
    """Plots of the report."""
    reproduces: ReproducesSpec | None = None
    """Which figure or table of a paper this is, and the checks that decide it."""

    @property
    def several(self) -> bool:
        """Whether it has variants: several runs."""
        return bool(self.variants or self.grid)

    @checked
    def with_options(self, *options: str) -> "Scenario":
        """The same with fields set as ``netsim run -o`` sets them: ``links.loss=0.2``, ``algorithms[0].rounds=50``.

        Raises a `ScenarioError` with every mistake.
        """
        with as_arguments():
            tree, wrong = full_tree(dump(self), "", options)
            return validated(type(self), tree, "", options, wrong)

    @property
    def waits_forever(self) -> str:
        """Why who waits for a packet may wait forever, and the remedy; "" where every packet gets there."""
        laws = {"links": self.links} | {f"link_overrides[{k}].law": o.law for k, o in enumerate(self.link_overrides)}
        for where, law in laws.items():
            meets = self.downtimes or self.active_adversaries or law.outages is not None or law.buffer is not None
            if not law.reliable and (meets or law.loss != 0):
                less = "" if meets else f", or {where}.loss: 0"
                return (
                    f"{where}.reliable is false: a packet that is lost or rejected is not sent again, and who waits "
                    f"for it waits forever. Set {where}.reliable: true{less}. (Exchanges go on without it at "
                    "exchange.deadline.)"
                )
        return ""


def json_schema() -> JsonSchemaValue:
    """The JSON Schema of a scenario file, for editors: one that `extends` another need not say all itself."""
    schema = exported(Scenario)
    meaning = "A shipped scenario's name, or the path of a file from this one: what is not said here is as it says."
    extends: JsonSchemaValue = {"title": "Extends", "type": "string", "minLength": 1, "description": meaning}
    schema["properties"] = {"extends": extends} | schema["properties"]
    schema["anyOf"] = [{"required": schema.pop("required")}, {"required": ["extends"]}]
    return schema
