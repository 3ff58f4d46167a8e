"""The probe reader: the victims' own code shows how their messages depend on their private gradients."""

from attacks.probe.linear import Assumption, Basis, Constant, Free, RandomWalk
from attacks.probe.mapping import Law, Prior
from attacks.probe.node import Field, Gap
from attacks.probe.probe import message_map, probe, probe_network
from attacks.probe.results import EXACT, UNMIXED, Functional, MessageMap, Probed, ProbedNetwork, Visible, recorded

__all__ = [
    "EXACT",
    "UNMIXED",
    "Assumption",
    "Basis",
    "Constant",
    "Field",
    "Free",
    "Functional",
    "Gap",
    "Law",
    "MessageMap",
    "Prior",
    "Probed",
    "ProbedNetwork",
    "RandomWalk",
    "Visible",
    "message_map",
    "probe",
    "probe_network",
    "recorded",
]
