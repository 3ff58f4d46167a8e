"""What a replay finds: releases with the noise that explains them, and everything else that was sent, compared."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from netsim.arrays import Array, Mask
from netsim.mechanisms import Mechanism

ULPS = 64
"""A difference below so many units in the last place of what a coordinate has carried may be rounding."""


@dataclass
class Release:
    """One `privatize` as this hypothesis explains it: `observed` = `value` + noise, both (replicas, dimension).

    `activation` counts the agent's rounds or activations from 1; `on_wire` is whether the release was sent
    verbatim; `judged` (replicas,) is false where the noise is below the rounding of what was observed, now or
    earlier in the same replica.
    """

    activation: int
    mechanism: Mechanism
    observed: Array
    value: Array
    judged: Mask
    on_wire: bool = False

    def log_density(self) -> Array:
        """log p(observed | hypothesis), (replicas,)."""
        return self.mechanism.log_density(self.observed, self.value)


class Comparison(NamedTuple):
    """A value on the wire that is no release, as observed and as the hypothesis would have sent it.

    `rounding` (replicas, dimension) is the largest difference that could be rounding: `ULPS` units in the last
    place of the largest number that this coordinate of the agent has carried; None where nothing differs.
    """

    activation: int
    name: str
    receiver: int
    observed: Array
    predicted: Array
    rounding: Array | None
    judged: Mask

    @property
    def identical(self) -> bool:
        """Equal to the last bit."""
        return self.rounding is None

    @property
    def visible(self) -> Mask:
        """Whether the two differ by more than rounding, (replicas,) of bool; NaN differs from everything."""
        if self.rounding is None:
            return np.zeros(len(self.observed), dtype=bool)
        within = np.abs(self.observed - self.predicted) <= self.rounding
        return np.logical_not(np.all(within, axis=-1)) & self.judged

    @property
    def difference(self) -> float:
        """The largest |observed − predicted| of the judged replicas; infinite for NaN."""
        difference = np.max(np.abs(self.observed - self.predicted), axis=-1)[self.judged]
        return float(np.max(np.nan_to_num(difference, nan=np.inf), initial=0.0))


class Departure(NamedTuple):
    """Where the code, under this hypothesis, sends another message than was sent: `what` it does instead."""

    activation: int
    what: str


@dataclass
class Replayed:
    """What one hypothesis says of everything the agent sent.

    `departure`: the first difference in which messages there are (number, receiver, fields); what comes after
    it is not replayed. `taken[k]` counts the messages it had received when it sent its k-th; `overran`:
    whether it wanted to send another one where the record ends. `unreliable_from` is the activation from which
    in some replica the noise is below the rounding of the values; nothing after it is judged there.
    """

    releases: list[Release] = field(default_factory=list[Release])
    comparisons: list[Comparison] = field(default_factory=list[Comparison])
    activations: int = 0
    departure: Departure | None = None
    taken: list[int] = field(default_factory=list[int])
    overran: bool = False
    unreliable_from: int | None = None

    @property
    def identical(self) -> bool:
        """Whether it sends the messages that were sent, and what no noise covers in them to the last bit."""
        return self.departure is None and all(c.identical for c in self.comparisons)
