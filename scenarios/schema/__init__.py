"""What a scenario can say: one experiment as data, in the same words in YAML and in Python.

Every model is closed (an unknown field is an error), frozen, and knows how to build what it describes. Numbers
carry their bounds here; what depends on other parts (a step against the smoothness, a tap against the graph)
is checked where the parts meet, before time 0, as a `ScenarioError` with the path of the field.
"""

from scenarios.schema.algorithms import (
    AlgorithmSpec,
    DPRecalSpec,
    Ground,
    PrivateGradientDescentSpec,
    PureTarget,
    RecalSpec,
    Stddev,
    schedule,
)
from scenarios.schema.links import LinkSpec
from scenarios.schema.media import medium
from scenarios.schema.scenario import Scenario, TranscriptSpec, json_schema

__all__ = [
    "AlgorithmSpec",
    "DPRecalSpec",
    "Ground",
    "LinkSpec",
    "PrivateGradientDescentSpec",
    "PureTarget",
    "RecalSpec",
    "Scenario",
    "Stddev",
    "TranscriptSpec",
    "json_schema",
    "medium",
    "schedule",
]
