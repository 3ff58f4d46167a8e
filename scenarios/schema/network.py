"""Network of a scenario: its graph, links with their laws, the medium, messages, when agents act, and adversaries."""

import math
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from netsim import adversary, codecs, topology
from netsim.errors import ScenarioError
from netsim.network import active_adversaries, laws, links
from netsim.network.radio import Radio
from netsim.readers import live
from scenarios.schema.spec import (
    OF_TYPE,
    Edge,
    Index,
    Model,
    NonNegative,
    Place,
    Positive,
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
