"""One pass over the whole network: what it is run on, and what it finds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.mechanisms import Mechanism
from netsim.transcript.message import Kind

Field = tuple[int, Kind, int, str]
"""A value on the wire: sender, kind and number of the message, name."""
Query = tuple[int, int]
"""An agent, and which of its private queries, from 0."""
Release = tuple[int, int]
"""An agent, and which of its releases with noise, from 0."""
Given = Callable[[int, int], Array]
"""The value of an unknown: of an agent's query, or of the noise of an agent's release, (replicas, dimension)."""
Shape = tuple[int, int]


class Equation(NamedTuple):
    """What the code makes of a value that was observed: value + factor · noise = observed, (replicas, dimension).

    `release` is the one whose noise (its mean taken out) lies between them, None if none does.
    """

    field: Field
    value: Array
    observed: Array
    release: Release | None
    factor: float


@dataclass
class Pass:
    """One run of the network: `points` of each agent's queries and `mechanisms` of its releases, in order.

    `unseen` are the releases that were observed nowhere as they were made; `carriers` the fields that each release
    was put in verbatim (only where the pass looks for them). `chancy`: whether anything happened by chance.
    """

    equations: list[Equation] = field(default_factory=list[Equation])
    points: dict[int, list[Array]] = field(default_factory=dict[int, list[Array]])
    mechanisms: dict[int, list[Mechanism]] = field(default_factory=dict[int, list[Mechanism]])
    unseen: list[Release] = field(default_factory=list[Release])
    carriers: dict[Release, list[Field]] = field(default_factory=dict[Release, list[Field]])
    chancy: bool = False

    @property
    def queries(self) -> list[Query]:
        """All of them, agent by agent."""
        return [(agent, t) for agent, points in sorted(self.points.items()) for t in range(len(points))]

    @property
    def releases(self) -> list[Release]:
        """All of them, agent by agent."""
        return [(agent, k) for agent, made in sorted(self.mechanisms.items()) for k in range(len(made))]


class Inputs(NamedTuple):
    """What a pass is run on. `observed` gives what was observed in the pass's own `shape`; `carriers` is what an
    earlier pass has found, None for the pass that finds them. `chance` draws what nobody saw. Without `points` their
    places are kept and they are not."""

    shape: Shape
    observed: Callable[[Field], Array]
    gradients: Given
    noises: Given
    carriers: dict[Release, list[Field]] | None
    chance: int = 0
    points: bool = True


class ShapeError(AttackError):
    """The code made an array whose shape is not (replicas, dimension), where these are not the run's own."""
