"""What a scenario can say: one experiment as data, in the same words in YAML and in Python.

Every model is closed (an unknown field is an error), frozen, and knows how to build what it describes. Numbers
carry their bounds here; what depends on other parts (a step against the smoothness, a tap against the graph)
is checked where the parts meet, before time 0, as a `ScenarioError` with the path of the field.
"""

from typing import Annotated, Any, Literal, Protocol, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from netsim import laws, links, outages, topology, wiretaps
from netsim.adversary import Adversary
from netsim.errors import ScenarioError
from netsim.problems import Dataset, load
from netsim.schedules import Constant, Geometric, Polynomial, Schedule

Built = TypeVar("Built", covariant=True)


class Model(BaseModel):
    """Closed and frozen; numbers are numbers (no text is turned into one)."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, lt=1)]
Probability = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
Index = Annotated[int, Field(ge=0)]
MOST_AGENTS = 1_000_000
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


Weight = Annotated[float, Field(ge=0, le=1)]


class Graph(Model):
    """What all topologies share: `weights`, a rule or the matrix itself, row by row."""

    weights: topology.Rule | list[list[Weight]] = "metropolis"

    @property
    def mixing(self) -> topology.Weights:
        """The rule, or the matrix. You get a `ScenarioError` for rows of different lengths."""
        if isinstance(self.weights, str):
            return self.weights
        n = len(self.weights)
        for index, row in enumerate(self.weights):
            if len(row) != n:
                raise ScenarioError(f"weights[{index}]", len(row), f"{n} rows need as many columns", f"{n} weights")
        return np.array(self.weights, dtype=np.float64).reshape(n, n)


class Ring(Graph):
    """Agent i talks to i ± 1."""

    kind: Literal["ring"]
    agents: Annotated[int, Field(ge=3, le=MOST_AGENTS)]

    def build(self) -> topology.Topology:
        return topology.ring(self.agents, weights=self.mixing)


class Complete(Graph):
    """Everybody talks to everybody."""

    kind: Literal["complete"]
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]

    def build(self) -> topology.Topology:
        return topology.complete(self.agents, weights=self.mixing)


class Path(Graph):
    """A line of agents."""

    kind: Literal["path"]
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]

    def build(self) -> topology.Topology:
        return topology.path(self.agents, weights=self.mixing)


class Star(Graph):
    """Agent 0 in the middle."""

    kind: Literal["star"]
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]

    def build(self) -> topology.Topology:
        return topology.star(self.agents, weights=self.mixing)


class Grid(Graph):
    """A sheet: agent r·columns + c in row r and column c."""

    kind: Literal["grid"]
    rows: Annotated[int, Field(ge=1, le=1_000)]
    columns: Annotated[int, Field(ge=1, le=1_000)]

    def build(self) -> topology.Topology:
        return topology.grid(self.rows, self.columns, weights=self.mixing)


class Torus(Graph):
    """A grid whose opposite sides touch."""

    kind: Literal["torus"]
    rows: Annotated[int, Field(ge=3, le=1_000)]
    columns: Annotated[int, Field(ge=3, le=1_000)]

    def build(self) -> topology.Topology:
        return topology.torus(self.rows, self.columns, weights=self.mixing)


class Hypercube(Graph):
    """2^dimension agents; neighbors differ in one binary digit."""

    kind: Literal["hypercube"]
    dimension: Annotated[int, Field(ge=1, le=16)]

    def build(self) -> topology.Topology:
        return topology.hypercube(self.dimension, weights=self.mixing)


class BalancedTree(Graph):
    """Agent 0 is the root; `branching` children each, `height` levels below it."""

    kind: Literal["balanced_tree"]
    branching: Annotated[int, Field(ge=1, le=1_000)]
    height: Annotated[int, Field(ge=1, le=1_000)]

    def build(self) -> topology.Topology:
        return topology.balanced_tree(self.branching, self.height, weights=self.mixing)


class RandomTree(Graph):
    """Each tree on the agents with the same probability."""

    kind: Literal["random_tree"]
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.random_tree(self.agents, self.seed, weights=self.mixing)


class RandomRegular(Graph):
    """Every agent has `degree` neighbors, drawn by `seed`."""

    kind: Literal["random_regular"]
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]
    degree: Annotated[int, Field(ge=1, le=1_000)]
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.random_regular(self.agents, self.degree, self.seed, weights=self.mixing)


class ErdosRenyi(Graph):
    """Every edge with `probability`."""

    kind: Literal["erdos_renyi"]
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]
    probability: Annotated[float, Field(gt=0, le=1)]
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.erdos_renyi(self.agents, self.probability, self.seed, weights=self.mixing)


class WattsStrogatz(Graph):
    """A ring of the `nearest` (even) closest agents, each link rewired with `probability`."""

    kind: Literal["watts_strogatz"]
    agents: Annotated[int, Field(ge=3, le=MOST_AGENTS)]
    nearest: Annotated[int, Field(ge=2, le=1_000)]
    probability: Annotated[float, Field(ge=0, le=1)]
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.watts_strogatz(self.agents, self.nearest, self.probability, self.seed, weights=self.mixing)


class BarabasiAlbert(Graph):
    """Each new agent talks to `attach` others, popular ones more likely."""

    kind: Literal["barabasi_albert"]
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]
    attach: Annotated[int, Field(ge=1, le=1_000)]
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.barabasi_albert(self.agents, self.attach, self.seed, weights=self.mixing)


class RandomGeometric(Graph):
    """Agents uniform in the unit square, edges up to `radius`."""

    kind: Literal["random_geometric"]
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]
    radius: Positive
    seed: Index = 0

    def build(self) -> topology.Topology:
        return topology.random_geometric(self.agents, self.radius, self.seed, weights=self.mixing)


class Edges(Graph):
    """Exactly these undirected edges."""

    kind: Literal["edges"]
    agents: Annotated[int, Field(ge=2, le=MOST_AGENTS)]
    edges: list[Edge]

    def build(self) -> topology.Topology:
        return topology.from_edges(self.agents, [(i, j) for i, j in self.edges], weights=self.mixing)


class GraphFile(Graph):
    """The graph of a file, GraphML or two names a line; a relative `path` starts at the working directory."""

    kind: Literal["file"]
    path: Annotated[str, Field(min_length=1)]
    format: Literal["auto", "graphml", "edges"] = "auto"

    def build(self) -> topology.Topology:
        return topology.from_file(self.path, self.format, weights=self.mixing)


TopologySpec = Annotated[
    Ring
    | Complete
    | Path
    | Star
    | Grid
    | Torus
    | Hypercube
    | BalancedTree
    | RandomTree
    | RandomRegular
    | ErdosRenyi
    | WattsStrogatz
    | BarabasiAlbert
    | RandomGeometric
    | Edges
    | GraphFile,
    Field(discriminator="kind"),
]


class ConstantDelay(Model):
    """Always `seconds`."""

    kind: Literal["constant"]
    seconds: NonNegative

    def build(self) -> laws.DelayLaw:
        return laws.ConstantDelay(self.seconds)


class UniformDelay(Model):
    """Uniform between `low` and `high` seconds."""

    kind: Literal["uniform"]
    low: NonNegative
    high: NonNegative

    def build(self) -> laws.DelayLaw:
        return laws.UniformDelay(self.low, self.high)


class LognormalDelay(Model):
    """Median `median` seconds, heavy right tail."""

    kind: Literal["lognormal"]
    median: Positive
    sigma: NonNegative

    def build(self) -> laws.DelayLaw:
        return laws.LognormalDelay(self.median, self.sigma)


class ExponentialDelay(Model):
    """`least` seconds, and an exponential time of mean `mean_excess` on top."""

    kind: Literal["exponential"]
    mean_excess: Positive
    least: NonNegative = 0.0

    def build(self) -> laws.DelayLaw:
        return laws.ExponentialDelay(self.mean_excess, self.least)


class TraceDelay(Model):
    """The delays of a text file, one a line in seconds, over and over; paths are as seen from the working folder."""

    kind: Literal["trace"]
    file: str

    def build(self) -> laws.DelayLaw:
        return laws.TraceDelay(self.file)


Delay = Annotated[
    ConstantDelay | UniformDelay | LognormalDelay | ExponentialDelay | TraceDelay, Field(discriminator="kind")
]


class BurstLoss(Model):
    """Losses in bursts: from good to bad and back with these probabilities per packet, and lost with those."""

    kind: Literal["gilbert_elliott"]
    good_to_bad: Annotated[float, Field(ge=0, le=1)]
    bad_to_good: Annotated[float, Field(gt=0, le=1)]
    loss_good: Share = 0.0
    loss_bad: Annotated[float, Field(ge=0, le=1)] = 1.0

    def build(self) -> laws.LossLaw:
        return laws.GilbertElliott(self.good_to_bad, self.bad_to_good, self.loss_good, self.loss_bad)


class TraceLoss(Model):
    """The fates of a text file, one packet a line, 1 lost and 0 not, over and over."""

    kind: Literal["trace"]
    file: str

    def build(self) -> laws.LossLaw:
        return laws.TraceLoss(self.file)


class ScheduledOutages(Model):
    """Down in each of these intervals [from, to), seconds."""

    kind: Literal["scheduled"]
    intervals: list[Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2, max_length=2)]]

    def build(self) -> outages.Outages:
        return outages.Scheduled(tuple((begin, end) for begin, end in self.intervals))


class RandomOutages(Model):
    """Up and down in turns, for exponential times of these means in seconds; every link for itself."""

    kind: Literal["random"]
    mean_up: Positive
    mean_down: Positive

    def build(self) -> outages.Outages:
        return outages.RandomOutages(self.mean_up, self.mean_down)


class TraceOutages(Model):
    """The outages of a text file, `down,up` a line in seconds."""

    kind: Literal["trace"]
    file: str

    def build(self) -> outages.Outages:
        return outages.TraceOutages(self.file)


LossSpec = Share | Annotated[BurstLoss | TraceLoss, Field(discriminator="kind")]
OutageSpec = Annotated[ScheduledOutages | RandomOutages | TraceOutages, Field(discriminator="kind")]


class LinkSpec(Model):
    """What a link is: seconds, loss (a probability per packet, or a law), bytes per second, bytes that may wait for
    that, the share of packets that arrive twice, when it is down, and whether taps can read it."""

    delay: Delay = ConstantDelay(kind="constant", seconds=0.0)
    loss: LossSpec = 0.0
    bandwidth: Positive | None = None
    buffer: Index | None = None
    reliable: bool = True
    timeout: Positive | None = None
    reordering: bool = False
    duplication: Share = 0.0
    outages: OutageSpec | None = None
    encrypted: bool = False

    def build(self) -> links.LinkLaw:
        return links.LinkLaw(
            delay=_built("delay", self.delay),
            loss=self.loss if isinstance(self.loss, float | int) else _built("loss", self.loss),
            bandwidth=self.bandwidth,
            reliable=self.reliable,
            timeout=self.timeout,
            reordering=self.reordering,
            buffer=self.buffer,
            duplication=self.duplication,
            outages=None if self.outages is None else _built("outages", self.outages),
            encrypted=self.encrypted,
        )


class LinkOverride(Model):
    """Some links, all of whose law is this one: both directions, or only from the first agent to the second."""

    between: Annotated[list[Edge], Field(min_length=1)]
    directed: bool = False
    law: LinkSpec

    def edges(self) -> list[tuple[int, int]]:
        given = [(i, j) for i, j in self.between]
        return given if self.directed else given + [(j, i) for i, j in given]


class AccessSpec(Model):
    """An agent's access line, shared by all its links, in bytes per second each way; `agents`: only these have it."""

    uplink: Positive | None = None
    downlink: Positive | None = None
    agents: list[Index] | None = None

    def build(self) -> links.AccessLaw:
        return links.AccessLaw(self.uplink, self.downlink)


class _Buildable(Protocol[Built]):
    def build(self) -> Built: ...


def _built(field: str, spec: _Buildable[Built]) -> Built:
    """What a part describes; an error that has no place in another file is one of this field."""
    try:
        return spec.build()
    except ScenarioError as error:
        raise error if error.file is not None else error.under(field) from None


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
    link_overrides: list[LinkOverride] = []
    access: AccessSpec | None = None
    adversary: AdversarySpec = AdversarySpec()
    algorithms: Annotated[list[AlgorithmSpec], Field(min_length=1)]
    attacks: AttackSpec = AttackSpec()
    audit: AuditSpec | None = None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario file, for editors."""
    return Scenario.model_json_schema()
