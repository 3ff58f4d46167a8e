"""What a scenario can say of its algorithms: one model for each, which knows how to build it."""

from typing import Annotated

from pydantic import Field

from scenarios.schema.algorithms.base import AlgorithmModel, Ground, PureTarget, Target, schedule
from scenarios.schema.algorithms.decaying import DmspSpec, Dpp2Spec
from scenarios.schema.algorithms.descent import PrivateGradientDescentSpec
from scenarios.schema.algorithms.random_mixing import (
    GroupedDescentSpec,
    NeighborRangeSpec,
    RandomPenaltyAdmmSpec,
    SecretSharingSpec,
)
from scenarios.schema.algorithms.walks import DPRecalSpec, RecalSpec, Stddev

AlgorithmSpec = Annotated[
    RecalSpec
    | DPRecalSpec
    | PrivateGradientDescentSpec
    | Dpp2Spec
    | DmspSpec
    | RandomPenaltyAdmmSpec
    | GroupedDescentSpec
    | NeighborRangeSpec
    | SecretSharingSpec,
    Field(discriminator="kind"),
]

__all__ = [
    "AlgorithmModel",
    "AlgorithmSpec",
    "DPRecalSpec",
    "DmspSpec",
    "Dpp2Spec",
    "Ground",
    "GroupedDescentSpec",
    "NeighborRangeSpec",
    "PrivateGradientDescentSpec",
    "PureTarget",
    "RandomPenaltyAdmmSpec",
    "RecalSpec",
    "SecretSharingSpec",
    "Stddev",
    "Target",
    "schedule",
]
