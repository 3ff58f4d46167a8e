"""Several runs beside each other: what differs in them, what they found, and how sure it is that they differ."""

from scenarios.comparing.comparison import Comparison, compared
from scenarios.comparing.subjects import Run, Subject, read_runs

__all__ = ["Comparison", "Run", "Subject", "compared", "read_runs"]
