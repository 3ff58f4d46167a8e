"""Network of a scenario: links, their laws and outages, the medium, messages, and when agents act."""

from typing import Annotated, Literal

from pydantic import Field

from netsim import codecs
from netsim.network import laws, links
from netsim.network.links import ExchangePolicy
from netsim.network.radio import Radio
from netsim.readers import live
from scenarios.schema.base import Edge, Index, Model, Positive
from scenarios.schema.spec import OF_TYPE, Spec

# ── laws ────────────────────────────────────────────────────────────────────────────────────────────────


class ConstantDelay(Spec, of=laws.ConstantDelay, kind="constant"): ...


class UniformDelay(Spec, of=laws.UniformDelay, kind="uniform"): ...


class LognormalDelay(Spec, of=laws.LognormalDelay, kind="lognormal"): ...


class ExponentialDelay(Spec, of=laws.ExponentialDelay, kind="exponential"): ...


class TraceDelay(Spec, of=laws.TraceDelay, kind="trace"): ...


Delay = Annotated[
    ConstantDelay | UniformDelay | LognormalDelay | ExponentialDelay | TraceDelay, Field(discriminator="kind")
]


class BurstLoss(Spec, of=laws.GilbertElliott, kind="gilbert_elliott"): ...


class TraceLoss(Spec, of=laws.TraceLoss, kind="trace"): ...


LossSpec = Annotated[BurstLoss | TraceLoss, Field(discriminator="kind")]


class ScheduledOutages(Spec, of=laws.Scheduled, kind="scheduled"):
    intervals: list[Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2, max_length=2)]]


class RandomOutages(Spec, of=laws.RandomOutages, kind="random"): ...


class TraceOutages(Spec, of=laws.TraceOutages, kind="trace"): ...


OutageSpec = Annotated[ScheduledOutages | RandomOutages | TraceOutages, Field(discriminator="kind")]
OF_TYPE.update({laws.DelayLaw: Delay, laws.LossLaw: LossSpec, laws.Outages: OutageSpec})

# ── links ───────────────────────────────────────────────────────────────────────────────────────────────


class LinkSpec(Spec, of=links.LinkLaw):
    reliable: bool = True

    def build(self) -> links.LinkLaw:
        return self.made()


class LinkOverride(Model):
    """Some links, all of whose law is this one: both directions, or only from the first agent to the second."""

    between: Annotated[list[Edge], Field(min_length=1)]
    """The pairs of agents."""
    directed: bool = False
    """Only from the first agent of a pair to the second."""
    law: LinkSpec
    """The law of these links, in place of that of all links."""

    def edges(self) -> list[tuple[int, int]]:
        """The directed links it speaks of."""
        return [edge for i, j in self.between for edge in self.directions(i, j)]

    def directions(self, i: int, j: int) -> list[tuple[int, int]]:
        """Those between two agents."""
        return [(i, j)] if self.directed else [(i, j), (j, i)]


class AccessSpec(Spec, of=links.AccessLaw):
    agents: list[Index] | None = None
    """The agents that have such a line; none: all."""


class RadioSpec(Spec, of=Radio, kind="radio"): ...


MediumSpec = Literal["links", "radio"] | RadioSpec


def medium(spec: MediumSpec) -> Literal["links"] | Radio:
    """The word radio alone is a radio with its defaults."""
    return "links" if spec == "links" else Radio() if spec == "radio" else spec.build()


# ── messages ────────────────────────────────────────────────────────────────────────────────────────────


class Float64(Spec, of=codecs.Float64, kind="float64"): ...


class Float32(Spec, of=codecs.Float32, kind="float32"): ...


class Float16(Spec, of=codecs.Float16, kind="float16"): ...


class FixedPoint(Spec, of=codecs.FixedPoint, kind="fixed_point"):
    limit: Positive


class TopK(Spec, of=codecs.TopK, kind="top_k"): ...


class RandomK(Spec, of=codecs.RandomK, kind="random_k"): ...


class Quantizer(Spec, of=codecs.Quantizer, kind="quantizer"): ...


class ScaledSign(Spec, of=codecs.ScaledSign, kind="scaled_sign"): ...


CodecSpec = Annotated[
    Float64 | Float32 | Float16 | FixedPoint | TopK | RandomK | Quantizer | ScaledSign, Field(discriminator="kind")
]


class MessageSpec(Model):
    """How values go on the wire, and the bytes of a message besides them."""

    codec: CodecSpec = Float64(kind="float64")
    """How a vector goes on the wire."""
    header: Index = 20
    """The bytes of a message besides its values."""


# ── when agents act ─────────────────────────────────────────────────────────────────────────────────────

Agents = Annotated[list[Index], Field(min_length=1)]


class ExchangeSpec(Spec, of=ExchangePolicy): ...


class PoissonClockSpec(Spec, of=live.PoissonClock, kind="poisson"): ...


class StragglerSpec(Model):
    """Agents whose private queries take a time of their own."""

    agents: Agents
    """The agents this is about."""
    compute: Delay
    """How long a private query takes these agents."""


class DowntimeSpec(Spec, of=live.Downtime):
    agents: Agents
    """The agents this is about."""
