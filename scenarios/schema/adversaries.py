"""What a scenario can say of who listens."""

from typing import Annotated, Literal

from pydantic import Field

from netsim import adversary as wiretaps
from netsim.adversary import Adversary
from scenarios.schema.base import Edge, Index, Model, NonNegative, Place, Share


class AroundSpec(Model):
    """Every link of these agents; on radio, what they transmit."""

    kind: Literal["around"] = "around"
    agents: Annotated[list[Index], Field(min_length=1)]

    def build(self) -> wiretaps.Wiretaps:
        return wiretaps.Around(tuple(self.agents))


class WithinSpec(Model):
    """At the place `at`: every link of the agents within `range`; on radio, what these agents transmit."""

    kind: Literal["within"] = "within"
    at: Place
    range: NonNegative

    def build(self) -> wiretaps.Wiretaps:
        x, y = self.at
        return wiretaps.Within((x, y), self.range)


class CutSpec(Model):
    """Every link between these agents and the others; not on radio."""

    kind: Literal["cut"] = "cut"
    agents: Annotated[list[Index], Field(min_length=1)]

    def build(self) -> wiretaps.Wiretaps:
        return wiretaps.Cut(tuple(self.agents))


class RandomShareSpec(Model):
    """This share of all links; on radio, of all agents."""

    kind: Literal["random"] = "random"
    share: Annotated[float, Field(ge=0, le=1)]
    seed: Index = 0

    def build(self) -> wiretaps.Wiretaps:
        return wiretaps.RandomShare(self.share, self.seed)


WiretapSpec = Annotated[AroundSpec | WithinSpec | CutSpec | RandomShareSpec, Field(discriminator="kind")]


class AdversarySpec(Model):
    """Who listens: on `links` ("all", pairs of agents, or a rule; left out: all, or none where there are insiders)
    and at the door of `nodes`; `insiders` are honest but curious agents, who add what they know of themselves; what
    the taps on links miss (share of packets), and the standard deviation of their clocks (seconds). Taps on links
    hear from `start` on. Pairs are no taps on radio."""

    links: Literal["all"] | list[Edge] | WiretapSpec | None = None
    nodes: list[Index] = []
    insiders: list[Index] = []
    capture_loss: Share = 0.0
    clock_error: NonNegative = 0.0
    start: NonNegative = 0.0

    def build(self) -> Adversary:
        return Adversary(
            "eavesdropper",
            self._links(),
            tuple(self.nodes),
            tuple(self.insiders),
            capture_loss=self.capture_loss,
            clock_error=self.clock_error,
            start=self.start,
        )

    def _links(self) -> Literal["all"] | tuple[tuple[int, int], ...] | wiretaps.Wiretaps | None:
        if isinstance(self.links, list):
            return tuple((i, j) for i, j in self.links)
        return self.links.build() if isinstance(self.links, Model) else self.links
