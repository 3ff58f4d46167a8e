"""The replay reader: rerun one agent's public code on what was observed, under a hypothesis about its data."""

from attacks.replay.replay import Hypothesis, replay
from attacks.replay.replayed import ULPS, Answer, Comparison, Departure, Perturbed, Release, Replayed, Sending, bits

__all__ = [
    "ULPS",
    "Answer",
    "Comparison",
    "Departure",
    "Hypothesis",
    "Perturbed",
    "Release",
    "Replayed",
    "Sending",
    "bits",
    "replay",
]
