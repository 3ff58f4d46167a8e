"""What a scenario can say of its links."""

from typing import Annotated, Literal

from pydantic import Field

from netsim.network import laws, links
from netsim.network import laws as outages
from scenarios.schema.base import Edge, Index, Model, NonNegative, Positive, Share, built


class ConstantDelay(Model):
    """Always `seconds`."""

    kind: Literal["constant"] = "constant"
    seconds: NonNegative

    def build(self) -> laws.DelayLaw:
        return laws.ConstantDelay(self.seconds)


class UniformDelay(Model):
    """Uniform between `low` and `high` seconds."""

    kind: Literal["uniform"] = "uniform"
    low: NonNegative
    high: NonNegative

    def build(self) -> laws.DelayLaw:
        return laws.UniformDelay(self.low, self.high)


class LognormalDelay(Model):
    """Median `median` seconds, heavy right tail."""

    kind: Literal["lognormal"] = "lognormal"
    median: Positive
    sigma: NonNegative

    def build(self) -> laws.DelayLaw:
        return laws.LognormalDelay(self.median, self.sigma)


class ExponentialDelay(Model):
    """`least` seconds, and an exponential time of mean `mean_excess` on top."""

    kind: Literal["exponential"] = "exponential"
    mean_excess: Positive
    least: NonNegative = 0.0

    def build(self) -> laws.DelayLaw:
        return laws.ExponentialDelay(self.mean_excess, self.least)


class TraceDelay(Model):
    """The delays of a text file, one a line in seconds, over and over; paths are as seen from the working folder."""

    kind: Literal["trace"] = "trace"
    file: str

    def build(self) -> laws.DelayLaw:
        return laws.TraceDelay(self.file)


Delay = Annotated[
    ConstantDelay | UniformDelay | LognormalDelay | ExponentialDelay | TraceDelay, Field(discriminator="kind")
]


class BurstLoss(Model):
    """Losses in bursts: from good to bad and back with these probabilities per packet, and lost with those."""

    kind: Literal["gilbert_elliott"] = "gilbert_elliott"
    good_to_bad: Annotated[float, Field(ge=0, le=1)]
    bad_to_good: Annotated[float, Field(gt=0, le=1)]
    loss_good: Share = 0.0
    loss_bad: Annotated[float, Field(ge=0, le=1)] = 1.0

    def build(self) -> laws.LossLaw:
        return laws.GilbertElliott(self.good_to_bad, self.bad_to_good, self.loss_good, self.loss_bad)


class TraceLoss(Model):
    """The fates of a text file, one packet a line, 1 lost and 0 not, over and over."""

    kind: Literal["trace"] = "trace"
    file: str

    def build(self) -> laws.LossLaw:
        return laws.TraceLoss(self.file)


class ScheduledOutages(Model):
    """Down in each of these intervals [from, to), seconds."""

    kind: Literal["scheduled"] = "scheduled"
    intervals: list[Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2, max_length=2)]]

    def build(self) -> outages.Outages:
        return outages.Scheduled(tuple((begin, end) for begin, end in self.intervals))


class RandomOutages(Model):
    """Up and down in turns, for exponential times of these means in seconds; every link for itself."""

    kind: Literal["random"] = "random"
    mean_up: Positive
    mean_down: Positive

    def build(self) -> outages.Outages:
        return outages.RandomOutages(self.mean_up, self.mean_down)


class TraceOutages(Model):
    """The outages of a text file, `down,up` a line in seconds."""

    kind: Literal["trace"] = "trace"
    file: str

    def build(self) -> outages.Outages:
        return outages.TraceOutages(self.file)


LossSpec = Share | Annotated[BurstLoss | TraceLoss, Field(discriminator="kind")]
OutageSpec = Annotated[ScheduledOutages | RandomOutages | TraceOutages, Field(discriminator="kind")]


class LinkSpec(Model):
    """What a link is: seconds, loss (a probability per packet, or a law), bytes per second, bytes that may wait for
    that, the share of packets that arrive twice, when it is down, whether taps can read it, and whether the receiver
    rejects what was altered or repeated (`authenticated`, 16 bytes a packet; an encrypted link does so too)."""

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
    authenticated: bool = False

    def build(self) -> links.LinkLaw:
        return links.LinkLaw(
            delay=built("delay", self.delay),
            loss=self.loss if isinstance(self.loss, float | int) else built("loss", self.loss),
            bandwidth=self.bandwidth,
            reliable=self.reliable,
            timeout=self.timeout,
            reordering=self.reordering,
            buffer=self.buffer,
            duplication=self.duplication,
            outages=None if self.outages is None else built("outages", self.outages),
            encrypted=self.encrypted,
            authenticated=self.authenticated,
        )


class LinkOverride(Model):
    """Some links, all of whose law is this one: both directions, or only from the first agent to the second."""

    between: Annotated[list[Edge], Field(min_length=1)]
    directed: bool = False
    law: LinkSpec

    def edges(self) -> list[tuple[int, int]]:
        """The directed links it speaks of."""
        return [edge for i, j in self.between for edge in self.directions(i, j)]

    def directions(self, i: int, j: int) -> list[tuple[int, int]]:
        """Those between two agents."""
        return [(i, j)] if self.directed else [(i, j), (j, i)]


class AccessSpec(Model):
    """An agent's access line, shared by all its links, in bytes per second each way; `agents`: only these have it."""

    uplink: Positive | None = None
    downlink: Positive | None = None
    agents: list[Index] | None = None

    def build(self) -> links.AccessLaw:
        return links.AccessLaw(self.uplink, self.downlink)
