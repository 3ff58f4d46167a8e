"""A scenario: all parts, and what is asked of the runs."""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from netsim.claims import Norm
from scenarios.schema.activity import DowntimeSpec, ExchangeSpec, PoissonClockSpec, StragglerSpec
from scenarios.schema.adversaries import AdversarySpec
from scenarios.schema.algorithms import AlgorithmSpec
from scenarios.schema.attacks import Labels, RebuildSpec, Rounds
from scenarios.schema.base import Count, Index, Model, Positive
from scenarios.schema.deciding import MembershipSpec, PropertySpec
from scenarios.schema.links import AccessSpec, Delay, LinkOverride, LinkSpec
from scenarios.schema.measures import MeasureSpec
from scenarios.schema.meddlers import MeddlerSpec
from scenarios.schema.media import MediumSpec
from scenarios.schema.messages import MessageSpec
from scenarios.schema.outputs import OutputsSpec
from scenarios.schema.problem import ProblemSpec
from scenarios.schema.reproduction import FigureSpec, ReproducesSpec, VariantSpec
from scenarios.schema.topologies import TopologySpec

Victims = Literal["one_by_one", "jointly"]
"""Whose gradients are inferred from one system of equations: one agent's at a time, or all agents'."""


class AttackSpec(Model):
    """`gradients`: infer them from the transcript; `victims` "one_by_one": each agent's from what was observed
    around it; "jointly": those of all agents as one linear system, in which a message that was not observed is
    what its sender's code makes of its own gradients (for taps on a part of the network). `reconstruct`: a second
    run in which each agent is `holding` so many records, drawn from the data by the scenario's seed; every attack
    of the list rebuilds them from the inferred gradients. What an attacker believes beforehand comes from the
    records that no agent holds. `rounds`: which of an agent's gradients an attack gets; `labels`: whether it is
    told the labels; `success`: the root mean square error over a record's features up to which it counts as
    rebuilt. `images`: the short form for one record, rebuilt in closed form from exact gradients of a logistic
    loss, or as the mode of the posterior from noisy ones. `traffic`: say what the times and sizes of packets alone
    tell: who acted when, how long agents compute, what was repeated and lost, and the dimension. `membership` and
    `property` decide, in games of their own, whether a record is an agent's and what its records are like."""

    gradients: bool = True
    victims: Victims = "one_by_one"
    images: bool = False
    traffic: bool = False
    reconstruct: list[RebuildSpec] = []
    holding: Count = 1
    rounds: Rounds = "all"
    labels: Labels = "private"
    success: Positive = 0.1
    membership: MembershipSpec | None = None
    property: PropertySpec | None = None

    @field_validator("reconstruct")
    @classmethod
    def _names_of_their_own(cls, attacks: list[RebuildSpec]) -> list[RebuildSpec]:
        names = [attack.label for attack in attacks]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two attacks of the name {name!r}: give one a name of its own")
        return attacks


class GradientChange(Model):
    """The agent's gradient moves by at most `change` in this `norm`, wherever it is asked for: the adjacency of
    papers that bound a gradient's change. `constant`: by the same vector everywhere; else by one that varies with x,
    along the `direction` and back, and then `curvature` is by how much the Hessian may differ (if not given, a tenth
    of the largest L_i). `direction` "even": all coordinates the same, which Laplace noise hides worst; "coordinate":
    the first one alone; "random": drawn by the scenario's seed."""

    change: Positive
    norm: Norm = "l2"
    constant: bool = True
    curvature: Positive | None = None
    direction: Literal["even", "coordinate", "random"] = "even"


class SearchSpec(Model):
    """A search for the pair within the adjacency that costs most, for each algorithm by itself. So many `candidates`
    are each replayed on `transcripts` that the audit does not use again."""

    candidates: Count = 200
    transcripts: Count = 32


Wanted = Literal["none", "links", "nodes", "coalitions", "all"]
"""The points of view from which a claim is looked at, one by one."""


class AuditSpec(Model):
    """The distinguishing game and the exact loss for one adjacent pair of one agent.

    `adjacency` "record": one record of the agent replaced by the one of the others that moves its gradient most;
    "agent": all its labels flipped; or a `change` of its gradient. With a `search` the pair is the worst that it
    finds within the same adjacency. `trials` transcripts of each world, `chunk` of them in one run (all, where that
    is more). `stop` "refuted": the audit ends after the first chunk by which the anytime game has refuted the claim;
    `trials` is then the most. `classifier`: one more game, with a classifier as its score that was trained on what
    some of the chunks put on the agent's links; it needs two chunks or more and cannot be had with `stop`. `views`:
    also play the game of single points of view, and say for which of them the claim is refuted: every "links", every
    agent honest but curious ("nodes"), "coalitions" of two and all links at once, or "all" of these. `draw`: each has
    noise of its own, so that what two of them say is independent; `netsim audit FOLDER` counts it up where an audit
    was read before.
    """

    agent: Index = 0
    adjacency: Literal["record", "agent"] | GradientChange = "record"
    search: SearchSpec | None = None
    trials: Annotated[int, Field(ge=50)] = 2000
    chunk: Count = 500
    confidence: Annotated[float, Field(ge=0.5, lt=1)] = 0.95
    stop: Literal["never", "refuted"] = "never"
    classifier: bool = False
    views: Wanted = "none"
    draw: Annotated[int, Field(ge=0, lt=1_000_000)] = 0

    @property
    def together(self) -> int:
        """Transcripts that are simulated at once: no more than are asked for."""
        return min(self.chunk, self.trials)

    @field_validator("classifier")
    @classmethod
    def _stops_or_learns(cls, classifier: bool, info: ValidationInfo) -> bool:
        if classifier and info.data.get("stop") == "refuted":
            raise ValueError(
                "classifier and stop cannot be combined: a classifier needs chunks to learn from and others to play, "
                "and an audit that stops says what it says of the first one alone"
            )
        return classifier


class TranscriptSpec(Model):
    """What is kept of what the eavesdropper hears: of every packet the values of the first of the `replicas`, or of
    all. The `spool` is the file that is written while a run goes on, which a run that is killed leaves behind;
    "temporary": removed when the Parquet file is there; "kept"; or "none", the transcript is then in memory."""

    replicas: Literal["first", "all"] = "first"
    spool: Literal["temporary", "kept", "none"] = "temporary"


class Scenario(Model):
    """One experiment: the same problem, network and eavesdropper for each of its algorithms.

    `variants` are the same with some fields replaced, one run each; a `grid` gives a field some values and makes a
    variant of each combination (of each of the `variants`, where there are some). `group`: under which heading a list
    of scenarios has it.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    group: str = ""
    title: str = ""
    description: str = ""
    seed: Index = 0
    replicas: Count = 1
    problem: ProblemSpec = ProblemSpec()
    topology: TopologySpec
    medium: MediumSpec = "links"
    links: LinkSpec = LinkSpec()
    link_overrides: list[LinkOverride] = []
    access: AccessSpec | None = None
    messages: MessageSpec = MessageSpec()
    exchange: ExchangeSpec = ExchangeSpec()
    activation: Literal["rounds"] | PoissonClockSpec = "rounds"
    compute: Delay | None = None
    stragglers: list[StragglerSpec] = []
    downtimes: list[DowntimeSpec] = []
    adversary: AdversarySpec = AdversarySpec()
    meddlers: list[MeddlerSpec] = []
    algorithms: Annotated[list[AlgorithmSpec], Field(min_length=1)]
    measures: MeasureSpec = MeasureSpec()
    attacks: AttackSpec = AttackSpec()
    transcript: TranscriptSpec = TranscriptSpec()
    outputs: OutputsSpec = OutputsSpec()
    audit: AuditSpec | None = None
    variants: list[VariantSpec] = []
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}
    figures: list[FigureSpec] = []
    reproduces: ReproducesSpec | None = None

    def with_options(self, *options: str) -> "Scenario":
        """The same with fields set as ``netsim run -o`` sets them: ``links.loss=0.2``, ``algorithms[0].rounds=50``.

        You get a `ScenarioError` that tells every mistake.
        """
        from scenarios.files.dump import dump
        from scenarios.files.load import parse

        return parse(dump(self), "", options).scenario


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario file, for editors: one that `extends` another need not say all itself."""
    from scenarios.schema.export import exported, extending

    return extending(exported(Scenario))
