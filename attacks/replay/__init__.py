"""The replay reader: rerun one agent's public code on what was observed, under a hypothesis about its data."""

from attacks.replay.reader import Hypothesis, replay
from attacks.replay.replayed import Comparison, Departure, Release, Replayed

__all__ = ["Comparison", "Departure", "Hypothesis", "Release", "Replayed", "replay"]
