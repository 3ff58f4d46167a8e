"""What a scenario can say of who meddles with messages."""

import math
from typing import Annotated, Literal

from pydantic import Field

from netsim import adversary as wiretaps
from netsim.errors import ScenarioError
from netsim.network import active_adversaries as meddling
from scenarios.schema.adversaries import WiretapSpec
from scenarios.schema.base import Count, Edge, Model, NonNegative
from scenarios.schema.links import Delay

Chance = Annotated[float, Field(ge=0, le=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class GaussianNoise(Model):
    """Independent noise N(0, stddev²) on every coordinate."""

    kind: Literal["gaussian"] = "gaussian"
    stddev: NonNegative

    def build(self) -> meddling.Alteration:
        return meddling.AddGaussian(self.stddev)


class ScaleBy(Model):
    """Times `factor`."""

    kind: Literal["scale"] = "scale"
    factor: Finite

    def build(self) -> meddling.Alteration:
        return meddling.ScaleBy(self.factor)


class ConstantValue(Model):
    """`value` in every coordinate."""

    kind: Literal["constant"] = "constant"
    value: Finite

    def build(self) -> meddling.Alteration:
        return meddling.SetTo(self.value)


class FlippedSign(Model):
    """x becomes −x."""

    kind: Literal["flip_sign"] = "flip_sign"

    def build(self) -> meddling.Alteration:
        return meddling.FlipSign()


AlterationSpec = Annotated[GaussianNoise | ScaleBy | ConstantValue | FlippedSign, Field(discriminator="kind")]


class DropSpec(Model):
    """A packet that comes by is gone."""

    kind: Literal["drop"] = "drop"
    probability: Chance = 1.0

    def build(self) -> meddling.Action:
        return meddling.Drop(self.probability)


class DelaySpec(Model):
    """A packet is held back for `seconds`, a number or a law; others may overtake it."""

    kind: Literal["delay"] = "delay"
    seconds: NonNegative | Delay
    probability: Chance = 1.0

    def build(self) -> meddling.Action:
        if isinstance(self.seconds, float | int):
            return meddling.Delay(self.seconds, self.probability)
        try:
            return meddling.Delay(self.seconds.build(), self.probability)
        except ScenarioError as error:
            raise error if error.file is not None else error.under("seconds") from None


class ReplaySpec(Model):
    """`copies` of a packet follow it, `after`, 2·`after`, … seconds later."""

    kind: Literal["replay"] = "replay"
    after: NonNegative = 0.0
    probability: Chance = 1.0
    copies: Count = 1

    def build(self) -> meddling.Action:
        return meddling.Replay(self.after, self.probability, self.copies)


class AlterSpec(Model):
    """The values of a message's `fields` (none: of all of them) are changed; nobody notices, unless the link is
    authenticated. An encrypted link cannot be altered."""

    kind: Literal["alter"] = "alter"
    how: AlterationSpec
    probability: Chance = 1.0
    fields: Annotated[list[str], Field(min_length=1)] | None = None

    def build(self) -> meddling.Action:
        fields = None if self.fields is None else tuple(self.fields)
        return meddling.Alter(self.how.build(), self.probability, fields)


ActionSpec = Annotated[DropSpec | DelaySpec | ReplaySpec | AlterSpec, Field(discriminator="kind")]


class MeddlerSpec(Model):
    """An active adversary in the middle of `links` ("all", pairs of agents, or a rule), in both directions or (of
    pairs) only from the first agent to the second; it acts from `start` until `end` (none: to the end of the run). A
    packet meets the actions in their order. Outside the papers' threat model: every result of such a run says so."""

    name: str = "meddler"
    links: Literal["all"] | list[Edge] | WiretapSpec
    actions: Annotated[list[ActionSpec], Field(min_length=1)]
    start: NonNegative = 0.0
    end: NonNegative | None = None
    directed: bool = False

    def build(self) -> meddling.ActiveAdversary:
        """You get a `ScenarioError` with the field's path from here."""
        return meddling.ActiveAdversary(
            self.name,
            self._links(),
            tuple(_action(index, action) for index, action in enumerate(self.actions)),
            self.start,
            math.inf if self.end is None else self.end,
            self.directed,
        )

    def _links(self) -> Literal["all"] | tuple[tuple[int, int], ...] | wiretaps.Wiretaps:
        if isinstance(self.links, list):
            return tuple((i, j) for i, j in self.links)
        return "all" if self.links == "all" else self.links.build()


def _action(index: int, spec: ActionSpec) -> meddling.Action:
    try:
        return spec.build()
    except ScenarioError as error:
        raise error if error.file is not None else error.under(f"actions[{index}]") from None
