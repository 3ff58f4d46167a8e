"""What a scenario can say of the medium between its agents."""

from typing import Annotated, Literal

from pydantic import Field

from netsim.network.radio import Radio
from scenarios.schema.base import Model


class RadioSpec(Model):
    """One transmission is heard by all neighbors; agents at most `carrier_sense` hops apart take turns on the air."""

    kind: Literal["radio"] = "radio"
    carrier_sense: Annotated[int, Field(ge=0, le=2)] = 0

    def build(self) -> Radio:
        return Radio(self.carrier_sense)


MediumSpec = Literal["links", "radio"] | RadioSpec


def medium(spec: MediumSpec) -> Literal["links"] | Radio:
    """The word radio alone is a radio with its defaults."""
    if isinstance(spec, RadioSpec):
        return spec.build()
    return Radio() if spec == "radio" else "links"
