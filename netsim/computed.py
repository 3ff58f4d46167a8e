"""Who computed a run: the reader of its agents' code, and the backend of their gradients."""

from dataclasses import dataclass
from typing import Literal

Reader = Literal["live", "stacked", "deployed"]
"""Agent by agent, one run for all agents, or processes (`netsim.readers`)."""
Backend = Literal["numpy", "torch"]
Device = Literal["cpu", "cuda"]


@dataclass(frozen=True)
class Computed:
    """Who computed a run."""

    reader: Reader
    unstacked: str | None
    """Why it was not the stacked reader; null where it was."""
    backend: Backend = "numpy"
    """Who computed gradients."""
    device: Device | None = None
    """Where PyTorch computed them; null of NumPy."""
