"""What a run leaves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netsim import meddling
from netsim.adversary import AdversaryView
from netsim.measures import Measures
from netsim.meddling import Deeds
from netsim.metrics import Metrics
from netsim.truth import Truth

if TYPE_CHECKING:
    from netsim.simulation import Simulation


@dataclass(frozen=True)
class Run:
    """What happened. `views` is what each adversary saw; `truth` is for `attacks.score` only.

    `meddling` says what each active adversary did, and how much of it receivers caught; `rejected` counts the packets
    that receivers of authenticated links rejected, for whatever reason. Both are in nobody's view.
    """

    simulation: "Simulation"
    views: tuple[AdversaryView, ...]
    metrics: Metrics | None
    truth: Truth | None = field(repr=False)
    activations: tuple[int, ...]
    time: float
    traffic: Mapping[str, int]
    """Packets and bytes (see `traffic`); on radio also `transmissions` and `transmitted_bytes`."""
    interrupted: bool = False
    meddling: tuple[Deeds, ...] = ()
    rejected: int = 0
    queries: tuple[int, ...] = ()
    """How many gradients and proximal steps each agent asked of its objective."""
    measures: Measures | None = field(default=None, repr=False)
    """How far it got and at what cost; None where it was not measured. For who owns the run."""

    @property
    def outside_model(self) -> str | None:
        """The line that any result of a run with an active adversary has to carry; None for a run without."""
        return meddling.outside_model(self.meddling)

    @property
    def largest_activations(self) -> int:
        """Θ: the largest number of activations (or rounds) of one agent."""
        return max(self.activations)
