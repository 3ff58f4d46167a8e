"""What a scenario can say of its algorithms: one model for each, which knows how to build it."""

from typing import Annotated

from pydantic import Field

from scenarios.schema.algorithms.admm import AdmmSpec
from scenarios.schema.algorithms.base import AlgorithmModel, Ground, PureTarget, Target, schedule
from scenarios.schema.algorithms.descent import PrivateGradientDescentSpec
from scenarios.schema.algorithms.walks import DPRecalSpec, RecalSpec, Stddev

AlgorithmSpec = Annotated[
    RecalSpec | DPRecalSpec | PrivateGradientDescentSpec | AdmmSpec, Field(discriminator="kind")
]

__all__ = [
    "AdmmSpec",
    "AlgorithmModel",
    "AlgorithmSpec",
    "DPRecalSpec",
    "Ground",
    "PrivateGradientDescentSpec",
    "PureTarget",
    "RecalSpec",
    "Stddev",
    "Target",
    "schedule",
]
