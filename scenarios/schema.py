"""What a scenario can say: one experiment as data, in the same words in YAML and in Python.

Every model is closed (an unknown field is an error), frozen, and knows how to build what it describes. Numbers
carry their bounds here; what depends on other parts (a step against the smoothness, a tap against the graph)
is checked where the parts meet, before time 0, as a `ScenarioError` with the path of the field.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from netsim import links, topology, wiretaps
from netsim.adversary import Adversary
from netsim.problems import Dataset, load
from netsim.schedules import Constant, Geometric, Polynomial, Schedule


class Model(BaseModel):
    """Closed and frozen; numbers are numbers (no text is turned into one)."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, lt=1)]
Probability = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
Index = Annotated[int, Field(ge=0)]
Edge = Annotated[list[Index], Field(min_length=2, max_length=2)]


# ── problem ─────────────────────────────────────────────────────────────────────────────────────────────


class Digits(Model):
    """Scikit-learn's 8×8 digits, two classes; the first is −1, the second +1. Pixels in [0, 1]."""

    name: Literal["digits"]
    classes: Annotated[list[Annotated[int, Field(ge=0, le=9)]], Field(min_length=2, max_length=2)] = [0, 1]
    norm_bound: Positive | None = None

    def load(self) -> Dataset:
        return load("digits", classes=tuple(self.classes), norm_bound=self.norm_bound)


class BreastCancer(Model):
    """Scikit-learn's breast cancer data, 569 × 30, standardized."""

    name: Literal["breast_cancer"]
    norm_bound: Positive | None = None

    def load(self) -> Dataset:
        return load("breast_cancer", norm_bound=self.norm_bound)


class Synthetic(Model):
    """Gaussian features, a drawn true x, and labels or noisy targets from it."""

    name: Literal["synthetic"]
    kind: Literal["classification", "regression"] = "classification"
    records: Count = 400
    dimension: Count = 10
    noise: NonNegative = 0.1
    seed: Index = 0
    norm_bound: Positive | None = None

    def load(self) -> Dataset:
        options = self.model_dump(exclude={"name"})
        return load("synthetic", **options)


Data = Annotated[Digits | BreastCancer | Synthetic, Field(discriminator="name")]


class ProblemSpec(Model):
    """min Σ_i f_i(x) + n·l1·‖x‖₁, where f_i is the mean loss of agent i's records plus ridge/2·‖x‖²."""

    kind: Literal["logistic", "ridge", "lasso"] = "logistic"
    data: Data = Digits(name="digits")
    ridge: NonNegative = 1.0
    l1: NonNegative = 0.0


# ── network ─────────────────────────────────────────────────────────────────────────────────────────────


class Ring(Model):
    """Agent i talks to i ± 1."""

    kind: Literal["ring"]
    agents: Annotated[int, Field(ge=3)]

    def build(self) -> topology.Topology:
        return topology.ring(self.agents)


class Complete(Model):
    """Everybody talks to everybody."""

    kind: Literal["complete"]
    agents: Annotated[int, Field(ge=2)]

    def build(self) -> topology.Topology:
        return topology.complete(self.agents)


class Path(Model):
    """A line of agents."""

    kind: Literal["path"]
    agents: Annotated[int, Field(ge=2)]

    def build(self) -> topology.Topology:
        return topology.path(self.agents)


class Star(Model):
    """Agent 0 in the middle."""

    kind: Literal["star"]
    agents: Annotated[int, Field(ge=2)]

    def build(self) -> topology.Topology:
        return topology.star(self.agents)


class ErdosRenyi(Model):
    """Every edge with `probability`."""

    kind: Literal["erdos_renyi"]
    agents: Annotated[int, Field(ge=2)]
    probability: Annotated[float, Field(gt=0, le=1)]
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.erdos_renyi(self.agents, self.probability, self.seed)


class RandomGeometric(Model):
    """Agents uniform in the unit square, edges up to `radius`."""

    kind: Literal["random_geometric"]
    agents: Annotated[int, Field(ge=2)]
    radius: Positive
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.random_geometric(self.agents, self.radius, self.seed)


class Edges(Model):
    """Exactly these undirected edges."""

    kind: Literal["edges"]
    agents: Annotated[int, Field(ge=2)]
    edges: list[Edge]

    def build(self) -> topology.Topology:
        return topology.from_edges(self.agents, [(i, j) for i, j in self.edges])


TopologySpec = Annotated[
    Ring | Complete | Path | Star | ErdosRenyi | RandomGeometric | Edges, Field(discriminator="kind")
]


class ConstantDelay(Model):
    """Always `seconds`."""

    kind: Literal["constant"]
    seconds: NonNegative

    def build(self) -> links.DelayLaw:
        return links.ConstantDelay(self.seconds)


class UniformDelay(Model):
    """Uniform between `low` and `high` seconds."""

    kind: Literal["uniform"]
    low: NonNegative
    high: NonNegative

    def build(self) -> links.DelayLaw:
        return links.UniformDelay(self.low, self.high)


class LognormalDelay(Model):
    """Median `median` seconds, heavy right tail."""

    kind: Literal["lognormal"]
    median: Positive
    sigma: NonNegative

    def build(self) -> links.DelayLaw:
        return links.LognormalDelay(self.median, self.sigma)


Delay = Annotated[ConstantDelay | UniformDelay | LognormalDelay, Field(discriminator="kind")]


class LinkSpec(Model):
    """One link law for all links: seconds, loss probability per packet, bytes per second."""

    delay: Delay = ConstantDelay(kind="constant", seconds=0.0)
    loss: Share = 0.0
    bandwidth: Positive | None = None
    reliable: bool = True
    timeout: Positive | None = None
    reordering: bool = False

    def build(self) -> links.LinkLaw:
        return links.LinkLaw(
            self.delay.build(), self.loss, self.bandwidth, self.reliable, self.timeout, self.reordering
        )


class AroundSpec(Model):
    """Every link of these agents."""

    kind: Literal["around"]
    agents: Annotated[list[Index], Field(min_length=1)]

    def build(self) -> wiretaps.Wiretaps:
        return wiretaps.Around(tuple(self.agents))


class CutSpec(Model):
    """Every link between these agents and the others."""

    kind: Literal["cut"]
    agents: Annotated[list[Index], Field(min_length=1)]

    def build(self) -> wiretaps.Wiretaps:
        return wiretaps.Cut(tuple(self.agents))


class RandomShareSpec(Model):
    """This share of all links."""

    kind: Literal["random"]
    share: Annotated[float, Field(ge=0, le=1)]
    seed: Index = 0

    def build(self) -> wiretaps.Wiretaps:
        return wiretaps.RandomShare(self.share, self.seed)


WiretapSpec = Annotated[AroundSpec | CutSpec | RandomShareSpec, Field(discriminator="kind")]


class AdversarySpec(Model):
    """Who listens: on `links` ("all", pairs of agents, or a rule) and at the door of `nodes`; what it misses
    (share of packets), and the standard deviation of its taps' clocks (seconds)."""

    links: Literal["all"] | list[Edge] | WiretapSpec = "all"
    nodes: list[Index] = []
    capture_loss: Share = 0.0
    clock_error: NonNegative = 0.0

    def build(self) -> Adversary:
        return Adversary("eavesdropper", self._links(), tuple(self.nodes), self.capture_loss, self.clock_error)

    def _links(self) -> Literal["all"] | tuple[tuple[int, int], ...] | wiretaps.Wiretaps:
        if isinstance(self.links, list):
            return tuple((i, j) for i, j in self.links)
        return "all" if self.links == "all" else self.links.build()


# ── algorithms ──────────────────────────────────────────────────────────────────────────────────────────


class GeometricSpec(Model):
    """first · ratio^k."""

    kind: Literal["geometric"]
    first: Positive
    ratio: Positive

    def build(self) -> Schedule:
        return Geometric(self.first, self.ratio)


class PolynomialSpec(Model):
    """first · (k + 1)^(−power)."""

    kind: Literal["polynomial"]
    first: Positive
    power: NonNegative

    def build(self) -> Schedule:
        return Polynomial(self.first, self.power)


ScheduleSpec = NonNegative | Annotated[GeometricSpec | PolynomialSpec, Field(discriminator="kind")]


def schedule(spec: ScheduleSpec) -> Schedule:
    """A number is a constant schedule."""
    return spec.build() if isinstance(spec, GeometricSpec | PolynomialSpec) else Constant(spec)


class Target(Model):
    """Noise from the claim backwards: the scale at which the paper's formula gives this (ε, δ)."""

    epsilon: Positive
    delta: Probability = 1e-3


class Stddev(Model):
    """Noise given outright: σ of the first activation."""

    stddev: NonNegative


class RecalSpec(Model):
    """RECAL, no noise. `step` "auto" is 1/(L + 1)."""

    kind: Literal["recal"]
    name: str = "RECAL"
    step: Literal["auto"] | Positive = "auto"
    activations: Count | None = None
    per_agent: Count | None = None
    first: Index = 0


class DPRecalSpec(Model):
    """DP-RECAL in one of its readings; the walk ends when one agent has been active `per_agent` times (Θ)."""

    kind: Literal["dp_recal"]
    name: str = "DP-RECAL"
    reading: Literal["as_analysed", "as_deployable", "fresh_noise", "told_state"] = "as_deployable"
    step: Literal["auto"] | Positive = "auto"
    per_agent: Count
    ratio: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 1.0
    noise: Target | Stddev = Target(epsilon=1.0)
    first: Index = 0


class ClipSpec(Model):
    """Gradients are clipped to this norm."""

    bound: Positive
    norm: Literal["l1", "l2"] = "l1"


class PureTarget(Model):
    """The constant Laplace scale at which composition gives this pure ε."""

    epsilon: Positive


class PrivateGradientDescentSpec(Model):
    """Gradient descent with Laplace noise on what is sent. `step` "auto" is 1/L."""

    kind: Literal["private_gradient_descent"]
    name: str = "private gradient descent"
    rounds: Count
    step: Literal["auto"] | ScheduleSpec = "auto"
    scale: ScheduleSpec | PureTarget = 0.0
    clip: ClipSpec | None = None


AlgorithmSpec = Annotated[RecalSpec | DPRecalSpec | PrivateGradientDescentSpec, Field(discriminator="kind")]


# ── what is asked of the runs ───────────────────────────────────────────────────────────────────────────


class AttackSpec(Model):
    """`gradients`: infer them from the transcript. `images`: a second run in which each agent holds one record,
    which is then rebuilt; its prior comes from the records that no agent holds."""

    gradients: bool = True
    images: bool = False


class AuditSpec(Model):
    """The distinguishing game and the exact loss for one adjacent pair of one agent.

    `adjacency` "record": one record of the agent replaced by the one of the others that moves its gradient
    most; "agent": all its labels flipped. `trials` transcripts of each world, `chunk` of them in one run.
    """

    agent: Index = 0
    adjacency: Literal["record", "agent"] = "record"
    trials: Annotated[int, Field(ge=50)] = 2000
    chunk: Count = 500
    confidence: Annotated[float, Field(ge=0.5, lt=1)] = 0.95


class Scenario(Model):
    """One experiment: the same problem, network and eavesdropper for each of its algorithms."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    title: str = ""
    description: str = ""
    seed: Index = 0
    replicas: Count = 1
    problem: ProblemSpec = ProblemSpec()
    topology: TopologySpec
    links: LinkSpec = LinkSpec()
    adversary: AdversarySpec = AdversarySpec()
    algorithms: Annotated[list[AlgorithmSpec], Field(min_length=1)]
    attacks: AttackSpec = AttackSpec()
    audit: AuditSpec | None = None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario file, for editors."""
    return Scenario.model_json_schema()
