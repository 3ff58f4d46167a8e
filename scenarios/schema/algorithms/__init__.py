"""What a scenario can say of its algorithms: one model for each, which knows how to build it."""

from typing import Annotated

from pydantic import Field

from scenarios.schema.algorithms.admm import AdmmSpec
from scenarios.schema.algorithms.base import AlgorithmModel, Ground, PureTarget, ScheduleSpec, Target, schedule
from scenarios.schema.algorithms.decaying import DmspSpec, Dpp2Spec
from scenarios.schema.algorithms.descent import PrivateGradientDescentSpec
from scenarios.schema.algorithms.mixing import (
    CpgtSpec,
    DiaDSPSpec,
    ExtraSpec,
    GradientTrackingSpec,
    NidsSpec,
    PgExtraSpec,
    PpdcSpec,
)
from scenarios.schema.algorithms.planted import PlantedFaultSpec
from scenarios.schema.algorithms.random_mixing import (
    GroupedDescentSpec,
    NeighborRangeSpec,
    RandomPenaltyAdmmSpec,
    SecretSharingSpec,
)
from scenarios.schema.algorithms.walks import DPRecalSpec, RecalSpec, Stddev

Mixing = ExtraSpec | PgExtraSpec | NidsSpec | GradientTrackingSpec | DiaDSPSpec | CpgtSpec | PpdcSpec
Random = RandomPenaltyAdmmSpec | GroupedDescentSpec | NeighborRangeSpec | SecretSharingSpec
Decaying = Dpp2Spec | DmspSpec
AlgorithmSpec = Annotated[
    RecalSpec | DPRecalSpec | PrivateGradientDescentSpec | Mixing | Decaying | Random | AdmmSpec | PlantedFaultSpec,
    Field(discriminator="kind"),
]

__all__ = [
    "AdmmSpec",
    "AlgorithmModel",
    "AlgorithmSpec",
    "CpgtSpec",
    "DPRecalSpec",
    "DiaDSPSpec",
    "DmspSpec",
    "Dpp2Spec",
    "ExtraSpec",
    "GradientTrackingSpec",
    "Ground",
    "GroupedDescentSpec",
    "NeighborRangeSpec",
    "NidsSpec",
    "PgExtraSpec",
    "PlantedFaultSpec",
    "PpdcSpec",
    "PrivateGradientDescentSpec",
    "PureTarget",
    "RandomPenaltyAdmmSpec",
    "RecalSpec",
    "ScheduleSpec",
    "SecretSharingSpec",
    "Stddev",
    "Target",
    "schedule",
]
