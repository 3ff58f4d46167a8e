"""What a scenario can say of its algorithms: one model for each, which knows how to build it."""

from typing import Annotated

from pydantic import Field

from scenarios.schema.algorithms.admm import AdmmSpec
from scenarios.schema.algorithms.base import AlgorithmModel, Ground, PureTarget, Target, schedule
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
from scenarios.schema.algorithms.walks import DPRecalSpec, RecalSpec, Stddev

Mixing = ExtraSpec | PgExtraSpec | NidsSpec | GradientTrackingSpec | DiaDSPSpec | CpgtSpec | PpdcSpec
AlgorithmSpec = Annotated[
    RecalSpec | DPRecalSpec | PrivateGradientDescentSpec | Mixing | AdmmSpec, Field(discriminator="kind")
]

__all__ = [
    "AdmmSpec",
    "AlgorithmModel",
    "AlgorithmSpec",
    "CpgtSpec",
    "DPRecalSpec",
    "DiaDSPSpec",
    "ExtraSpec",
    "GradientTrackingSpec",
    "Ground",
    "NidsSpec",
    "PgExtraSpec",
    "PpdcSpec",
    "PrivateGradientDescentSpec",
    "PureTarget",
    "RecalSpec",
    "Stddev",
    "Target",
    "schedule",
]
