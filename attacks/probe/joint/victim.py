"""What a joint probe tells of one agent."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from attacks.estimates import Evidence, GradientEstimate
from attacks.probe.probe import EXACT
from netsim.arrays import Array, Mask


@dataclass(frozen=True, eq=False)
class Victim:
    """Every query that the agent's code makes to its end, in order (whether the run went so far is not known where
    nothing was heard).

    `gradients` and `points` (queries, replicas, dimension): the estimates, and where the queries were made;
    `covariance` (queries, queries, dimension) of the errors of each coordinate, between queries. `identifiable`
    (queries,): where the view leaves a gradient open, its estimate means nothing; `located` (queries,): whether the
    point is known too, up to noise. `condition`: the largest factor by which a relative error of what was observed
    can grow in an identifiable estimate, ∞ without any.

    `rounding` (queries,): a bound of each estimate's error by the rounding of the numbers on the wire, in units of a
    gradient, if no hidden gradient is larger than the largest that is seen. `drowned` (queries,): what the equations
    determine but rounding makes worthless, so that it is not called identifiable.
    """

    agent: int
    gradients: Array
    points: Array
    covariance: Array
    identifiable: Mask
    located: Mask
    condition: float
    rounding: Array
    drowned: Mask

    @property
    def stddev(self) -> Array:
        """Of each estimate's error, (queries, dimension); ∞ where it is not identifiable."""
        spread = np.sqrt(np.maximum(np.einsum("ttc->tc", self.covariance), 0.0))
        return np.where(self.identifiable[:, None], spread, np.inf)

    @property
    def seen(self) -> tuple[int, ...]:
        """The identifiable queries."""
        return tuple(np.flatnonzero(self.identifiable).tolist())

    @property
    def usable(self) -> tuple[int, ...]:
        """The identifiable queries at known points: what a reconstruction can start from."""
        return tuple(np.flatnonzero(self.identifiable & self.located).tolist())

    @property
    def exact(self) -> Mask:
        """(queries,): identifiable, without noise, and rounding is below `EXACT` of its largest coordinate."""
        size = np.max(np.abs(self.gradients), axis=(1, 2), initial=0.0)
        silent = np.all(self.stddev <= self.rounding[:, None], axis=-1)
        return self.identifiable & silent & (self.rounding <= EXACT * size)

    def estimates(self) -> list[GradientEstimate]:
        """One for each that is usable; `stddev` is the root mean square over the coordinates, 0 where it is exact;
        rounding is counted in where it is larger."""
        stddev = np.sqrt(np.mean(self.stddev**2, axis=-1))
        drowning = ~self.exact & (stddev <= self.rounding)
        stddev = np.where(self.exact, 0.0, np.where(drowning, np.hypot(stddev, self.rounding), stddev))
        return [
            GradientEstimate(self.agent, t, self.points[t], self.gradients[t], float(stddev[t])) for t in self.usable
        ]

    def evidence(self, law: Literal["gaussian"] | None) -> Evidence:
        """All that are usable, with what is known of their errors; `law` is theirs."""
        known = list(self.usable)
        return Evidence(
            agent=self.agent,
            queries=self.usable,
            points=self.points[known],
            gradients=self.gradients[known],
            covariance=self.covariance[np.ix_(known, known)],
            law=law,
            hidden=len(self.identifiable) - len(known),
            rounding=self.rounding[known],
        )
