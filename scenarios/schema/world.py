"""World of a scenario. Its network: graph, links with their laws, the medium, messages, when agents act, adversaries.
Its problem: the data set, its split among the agents, and the loss."""

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np
from pydantic import Field, model_validator

from netsim import adversary, codecs, topology
from netsim.bounds import Count
from netsim.errors import ScenarioError
from netsim.network import active_adversaries, laws, links
from netsim.network.radio import Radio
from netsim.problems import ElasticNet, FusedLasso, LInf
from netsim.problems.data import files, named
from netsim.problems.problem import Kind
from netsim.readers import live
from scenarios.files.document import Tree
from scenarios.schema.spec import (
    OF_TYPE,
    Edge,
    Index,
    Model,
    NonNegative,
    Place,
    Positive,
    Share,
    Spec,
    derived,
    kinds_of,
    union,
)

# ── graph ───────────────────────────────────────────────────────────────────────────────────────────────


class _Graph(Spec):
    """Mixing weights and places, which all topologies share."""

    weights: topology.Rule | list[list[Annotated[float, Field(ge=0, le=1)]]] = "metropolis"
    """A rule for the mixing weights, or the matrix itself, row by row."""
    laziness: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """λ: the weights W are replaced by (1 − λ)W + λI, so that an agent gives itself more of the weight."""
    positions: list[Place] | None = None
    """A place [x, y] for each agent, in units of your own; none: those of the kind."""

    def build(self) -> topology.Topology:
        """The graph. You get a `ScenarioError` for weights in rows of different lengths."""
        graph = self._weighted()
        return graph.lazy(self.laziness) if self.laziness else graph

    def _weighted(self) -> topology.Topology:
        if isinstance(self.weights, str):
            return self.made(weights=self.weights)
        n = len(self.weights)
        for index, row in enumerate(self.weights):
            if len(row) != n:
                raise ScenarioError(f"weights[{index}]", len(row), f"{n} rows need as many columns", f"{n} weights")
        return self.made(weights=np.array(self.weights, dtype=np.float64).reshape(n, n))


Ring = derived("Ring", _Graph, topology.ring, "ring")
Complete = derived("Complete", _Graph, topology.complete, "complete")
Path = derived("Path", _Graph, topology.path, "path")
Star = derived("Star", _Graph, topology.star, "star")
Grid = derived("Grid", _Graph, topology.grid, "grid")
Torus = derived("Torus", _Graph, topology.torus, "torus")
Hypercube = derived("Hypercube", _Graph, topology.hypercube, "hypercube")
BalancedTree = derived("BalancedTree", _Graph, topology.balanced_tree, "balanced_tree")
RandomTree = derived("RandomTree", _Graph, topology.random_tree, "random_tree")
RandomRegular = derived("RandomRegular", _Graph, topology.random_regular, "random_regular")
ErdosRenyi = derived("ErdosRenyi", _Graph, topology.erdos_renyi, "erdos_renyi")
WattsStrogatz = derived("WattsStrogatz", _Graph, topology.watts_strogatz, "watts_strogatz")
BarabasiAlbert = derived("BarabasiAlbert", _Graph, topology.barabasi_albert, "barabasi_albert")
RandomGeometric = derived("RandomGeometric", _Graph, topology.random_geometric, "random_geometric")


class Edges(_Graph, of=topology.from_edges, kind="edges"):
    edges: list[Edge]
    """The undirected edges, as pairs of agents."""


class GraphFile(_Graph, of=topology.from_file, kind="file"):
    path: Annotated[str, Field(min_length=1)]
    """The file; a relative path starts at the scenario's file."""
    format: Literal["auto", "graphml", "edges", "csv"] = "auto"
    """How the file is written."""


# ── laws and codecs ─────────────────────────────────────────────────────────────────────────────────────


class ScheduledOutages(Spec, of=laws.Scheduled, kind="scheduled"):
    intervals: list[Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2, max_length=2)]]


class FixedPoint(Spec, of=codecs.FixedPoint, kind="fixed_point"):
    limit: Positive


ConstantDelay = derived("ConstantDelay", Spec, laws.ConstantDelay, "constant")
UniformDelay = derived("UniformDelay", Spec, laws.UniformDelay, "uniform")
LognormalDelay = derived("LognormalDelay", Spec, laws.LognormalDelay, "lognormal")
ExponentialDelay = derived("ExponentialDelay", Spec, laws.ExponentialDelay, "exponential")
TraceDelay = derived("TraceDelay", Spec, laws.TraceDelay, "trace")
BurstLoss = derived("BurstLoss", Spec, laws.GilbertElliott, "gilbert_elliott")
TraceLoss = derived("TraceLoss", Spec, laws.TraceLoss, "trace")
RandomOutages = derived("RandomOutages", Spec, laws.RandomOutages, "random")
TraceOutages = derived("TraceOutages", Spec, laws.TraceOutages, "trace")
RadioSpec = derived("RadioSpec", Spec, Radio, "radio")
Float64 = derived("Float64", Spec, codecs.Float64, "float64")
Float32 = derived("Float32", Spec, codecs.Float32, "float32")
Float16 = derived("Float16", Spec, codecs.Float16, "float16")
TopK = derived("TopK", Spec, codecs.TopK, "top_k")
RandomK = derived("RandomK", Spec, codecs.RandomK, "random_k")
Quantizer = derived("Quantizer", Spec, codecs.Quantizer, "quantizer")
ScaledSign = derived("ScaledSign", Spec, codecs.ScaledSign, "scaled_sign")

if TYPE_CHECKING:
    TopologySpec = _Graph
    Delay = Spec
    CodecSpec = Spec
    MediumSpec = Literal["links", "radio"] | Spec
else:
    TopologySpec = kinds_of(_Graph)
    Delay = union([ConstantDelay, UniformDelay, LognormalDelay, ExponentialDelay, TraceDelay])
    CodecSpec = union([Float64, Float32, Float16, FixedPoint, TopK, RandomK, Quantizer, ScaledSign])
    MediumSpec = Literal["links", "radio"] | RadioSpec
OF_TYPE[laws.DelayLaw] = Delay
OF_TYPE[laws.LossLaw] = union([BurstLoss, TraceLoss])
OF_TYPE[laws.Outages] = union([ScheduledOutages, RandomOutages, TraceOutages])

# ── links and messages ──────────────────────────────────────────────────────────────────────────────────


class LinkSpec(Spec, of=links.LinkLaw):
    reliable: bool = True


class LinkOverride(Model):
    """Some links, all of whose law is this one: both directions, or only from the first agent to the second."""

    between: Annotated[list[Edge], Field(min_length=1)]
    """The pairs of agents."""
    directed: bool = False
    """Only from the first agent of a pair to the second."""
    law: LinkSpec
    """The law of these links, in place of that of all links."""

    def directions(self, i: int, j: int) -> list[tuple[int, int]]:
        """The directed links between two agents that follow this law."""
        return [(i, j)] if self.directed else [(i, j), (j, i)]


class AccessSpec(Spec, of=links.AccessLaw):
    agents: list[Index] | None = None
    """The agents that have such a line; none: all."""


class MessageSpec(Model):
    """How values go on the wire, and the bytes of a message besides them."""

    codec: CodecSpec = Float64(kind="float64")
    """How a vector goes on the wire."""
    header: Index = 20
    """The bytes of a message besides its values."""


# ── when agents act ─────────────────────────────────────────────────────────────────────────────────────

Agents = Annotated[list[Index], Field(min_length=1)]


class PoissonClockSpec(Spec, of=live.PoissonClock, kind="poisson"): ...


class ExchangeSpec(Spec, of=links.ExchangePolicy): ...


class StragglerSpec(Model):
    """Agents whose private queries take a time of their own."""

    agents: Agents
    """The agents this is about."""
    compute: Delay
    """How long a private query takes these agents."""


class DowntimeSpec(Spec, of=live.Downtime):
    agents: Agents
    """The agents this is about."""


# ── adversaries ─────────────────────────────────────────────────────────────────────────────────────────

AroundSpec = derived("AroundSpec", Spec, adversary.Around, "around")
WithinSpec = derived("WithinSpec", Spec, adversary.Within, "within")
CutSpec = derived("CutSpec", Spec, adversary.Cut, "cut")
RandomShareSpec = derived("RandomShareSpec", Spec, adversary.RandomShare, "random")
GaussianNoise = derived("GaussianNoise", Spec, active_adversaries.AddGaussian, "gaussian")
ScaleBy = derived("ScaleBy", Spec, active_adversaries.ScaleBy, "scale")
ConstantValue = derived("ConstantValue", Spec, active_adversaries.SetTo, "constant")
FlippedSign = derived("FlippedSign", Spec, active_adversaries.FlipSign, "flip_sign")
OF_TYPE[adversary.Wiretaps] = union([AroundSpec, WithinSpec, CutSpec, RandomShareSpec])
OF_TYPE[active_adversaries.Alteration] = union([GaussianNoise, ScaleBy, ConstantValue, FlippedSign])
DropSpec = derived("DropSpec", Spec, active_adversaries.Drop, "drop")
DelaySpec = derived("DelaySpec", Spec, active_adversaries.Delay, "delay")
ReplaySpec = derived("ReplaySpec", Spec, active_adversaries.Replay, "replay")
AlterSpec = derived("AlterSpec", Spec, active_adversaries.Alter, "alter")
OF_TYPE[active_adversaries.Action] = union([DropSpec, DelaySpec, ReplaySpec, AlterSpec])


class AdversarySpec(Spec, of=adversary.Adversary, without=("name",)):
    def build(self) -> adversary.Adversary:
        return self.made(name="eavesdropper")


class ActiveAdversarySpec(Spec, of=active_adversaries.ActiveAdversary):
    name: str = "meddler"
    end: NonNegative | None = None

    def build(self) -> active_adversaries.ActiveAdversary:
        return self.made(end=math.inf if self.end is None else self.end)


class _DataSpec(Spec):
    """A data set; every field but the name is an option of `netsim.problems.load`."""

    norm_bound: Positive | None = None
    """Records are scaled down to this ℓ2 norm at most; none: as they are."""
    unit: bool = False
    """Whether each feature is brought to [0, 1] first, by its least and largest value."""


class Synthetic(_DataSpec, of=named.synthetic):
    name: Literal["synthetic"] = "synthetic"
    records: Count = 400


class _Kept(_DataSpec):
    """A set of the data folder."""

    download: bool = False
    """Whether the set is fetched where it is not there."""


_CACHE = ("cache",)
Digits = derived("Digits", _DataSpec, named.digits, "digits", "name")
BreastCancer = derived("BreastCancer", _DataSpec, named.breast_cancer, "breast_cancer", "name")
Sensors = derived("Sensors", _DataSpec, named.sensors, "sensors", "name")
Mnist = derived("Mnist", _Kept, named.mnist, "mnist", "name", without=_CACHE)
FashionMnist = derived("FashionMnist", _Kept, named.fashion_mnist, "fashion_mnist", "name", without=_CACHE)
CifarCatDog = derived("CifarCatDog", _Kept, named.cifar10_cat_dog, "cifar10_cat_dog", "name", without=_CACHE)
Ijcnn1 = derived("Ijcnn1", _Kept, named.ijcnn1, "ijcnn1", "name", without=_CACHE)
Covtype = derived("Covtype", _Kept, named.covtype, "covtype", "name", without=_CACHE)
Adult = derived("Adult", _Kept, named.adult, "adult", "name", without=_CACHE)
LibsvmFile = derived("LibsvmFile", _DataSpec, files.libsvm, "libsvm", "name")
CsvFile = derived("CsvFile", _DataSpec, files.csv_file, "csv", "name")

if TYPE_CHECKING:
    Data = _DataSpec
else:
    _ONLINE = [Mnist, FashionMnist, CifarCatDog, Ijcnn1, Covtype, Adult]
    Data = union([Digits, BreastCancer, Synthetic, Sensors, *_ONLINE, LibsvmFile, CsvFile], "name")


class EqualSplit(Model):
    """Every agent has as many records, and as many of each class, as any other, give or take one."""

    kind: Literal["equal"] = "equal"


class DirichletSplit(Model):
    """Each class is cut at shares drawn from Dir(concentration, …): the smaller, the more agents differ."""

    kind: Literal["dirichlet"] = "dirichlet"
    concentration: Positive
    """The smaller, the more agents differ: each class is cut at shares drawn from Dir(concentration, …)."""


class LabelSplit(Model):
    """Every agent has records of one class only."""

    kind: Literal["label"] = "label"


Split = Annotated[EqualSplit | DirichletSplit | LabelSplit, Field(discriminator="kind")]

ElasticNetSpec = derived("ElasticNetSpec", Spec, ElasticNet, "elastic_net")
LInfSpec = derived("LInfSpec", Spec, LInf, "linf")
FusedLassoSpec = derived("FusedLassoSpec", Spec, FusedLasso, "fused_lasso")

if TYPE_CHECKING:
    RegularizerSpec = Spec
else:
    RegularizerSpec = union([ElasticNetSpec, LInfSpec, FusedLassoSpec])

WITHOUT_RIDGE = ("nonconvex_logistic", "sensors", "mlp")
Hidden = Annotated[list[Count], Field(min_length=1)]


class ProblemSpec(Model):
    """min Σ_i f_i(x) + n·r(x), where f_i is the mean loss of agent i's records plus ridge/2·‖x‖², and r is l1·‖x‖₁ or
    the `regularizer`.

    `nonconvex_logistic` adds Σ_t λω x_t²/(1+ω x_t²) to every f_i. `poisson` has exp(aᵀx) − b·aᵀx for counts b.
    `sensors` has f_i = ‖A_i x − b_i‖²/divisor, and the data set `sensors` if no other is named. `softmax` has two
    classes or more, and x = (W, b). `mlp` is a dense network with a softmax output; its x is counted from a public
    random start, and so is its ridge.
    """

    kind: Kind = "logistic"
    """The loss of a record."""
    data: Data = Digits(name="digits")
    """The data set."""
    split: Split = EqualSplit(kind="equal")
    """How the records are split among the agents."""
    ridge: NonNegative = 1.0
    """The weight of ridge/2·‖x‖² in every agent's objective; if not given 0 in nonconvex_logistic, sensors and
    mlp."""
    l1: NonNegative = 0.0
    """The weight of the public term n·l1·‖x‖₁."""
    regularizer: RegularizerSpec | None = None
    """r of the public term n·r(x), in place of an l1; none: l1·‖x‖₁."""
    held_out: Share = 0.0
    """The share of the records that no agent gets, drawn by the scenario's seed: they measure how well x
    classifies."""
    scale: Positive = 1.0
    """All f_i and r are multiplied by this number, of logistic, ridge and lasso: 1/n where a text prints a mean over
    the agents and its algorithm has a step that does not follow L. The optimum stays."""
    nonconvex_weight: NonNegative = 0.001
    """λ of the nonconvex term."""
    nonconvex_shape: Positive = 1.0
    """ω of the nonconvex term."""
    divisor: Positive = 36.0
    """By what the squares of the sensors' residuals are divided."""
    largest_rate: Positive | None = None
    """The largest mean count exp(aᵀx) of poisson, which needs one: its L holds where no record's mean exceeds it, and
    nowhere else."""
    hidden: Hidden = [32]
    """The hidden units of each layer of an mlp."""
    activation: Literal["sigmoid", "tanh", "softplus", "relu"] = "sigmoid"
    """The activation function of an mlp."""
    start: Index = 0
    """The seed of an mlp's random starting point, which is public."""
    smoothness: Positive | None = None
    """The largest L_i: all features are multiplied by one number that gives it; none: they stay as they are."""
    gradient_bound: Positive | None = None
    """c, a bound on ‖∇ℓ(x)‖₂ of a record's loss that is assumed where the loss has none, as least squares: the
    adjacency is by it, and claims say nothing of iterates that leave it. None: nothing is assumed."""

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_a_kind(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = cast("Tree", given)
        if fields.get("kind") in WITHOUT_RIDGE:
            fields = {"ridge": 0.0, **fields}
        if fields.get("kind") == "sensors":
            fields = {"data": {"name": "sensors"}, **fields}
        return fields
