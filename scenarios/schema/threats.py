"""Adversaries of a scenario: taps and insiders, and active ones that drop, delay, replay or alter messages."""

import math
from typing import Annotated

from pydantic import Field

from netsim import adversary
from netsim.adversary import Adversary
from netsim.network import active_adversaries
from netsim.network.laws import DelayLaw
from scenarios.schema.base import NonNegative
from scenarios.schema.network import Delay
from scenarios.schema.spec import OF_TYPE, Spec


class AroundSpec(Spec, of=adversary.Around, kind="around"): ...


class WithinSpec(Spec, of=adversary.Within, kind="within"): ...


class CutSpec(Spec, of=adversary.Cut, kind="cut"): ...


class RandomShareSpec(Spec, of=adversary.RandomShare, kind="random"): ...


WiretapSpec = Annotated[AroundSpec | WithinSpec | CutSpec | RandomShareSpec, Field(discriminator="kind")]
OF_TYPE[adversary.Wiretaps] = WiretapSpec


class AdversarySpec(Spec, of=Adversary, without=("name",)):
    def build(self) -> Adversary:
        return self.made(name="eavesdropper")


# ── active adversaries ──────────────────────────────────────────────────────────────────────────────────


class GaussianNoise(Spec, of=active_adversaries.AddGaussian, kind="gaussian"): ...


class ScaleBy(Spec, of=active_adversaries.ScaleBy, kind="scale"): ...


class ConstantValue(Spec, of=active_adversaries.SetTo, kind="constant"): ...


class FlippedSign(Spec, of=active_adversaries.FlipSign, kind="flip_sign"): ...


AlterationSpec = Annotated[GaussianNoise | ScaleBy | ConstantValue | FlippedSign, Field(discriminator="kind")]
OF_TYPE.update({active_adversaries.Alteration: AlterationSpec, DelayLaw: Delay})


class DropSpec(Spec, of=active_adversaries.Drop, kind="drop"): ...


class DelaySpec(Spec, of=active_adversaries.Delay, kind="delay"): ...


class ReplaySpec(Spec, of=active_adversaries.Replay, kind="replay"): ...


class AlterSpec(Spec, of=active_adversaries.Alter, kind="alter"): ...


ActionSpec = Annotated[DropSpec | DelaySpec | ReplaySpec | AlterSpec, Field(discriminator="kind")]
OF_TYPE[active_adversaries.Action] = ActionSpec


class ActiveAdversarySpec(Spec, of=active_adversaries.ActiveAdversary):
    name: str = "meddler"
    end: NonNegative | None = None

    def build(self) -> active_adversaries.ActiveAdversary:
        return self.made(end=math.inf if self.end is None else self.end)
