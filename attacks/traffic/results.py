"""Results of a traffic analysis, each with its uncertainty, or with why it is not identifiable."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Edge = tuple[int, int]


class Amount(NamedTuple):
    """`low` ≤ truth ≤ `high`, and the best guess `value`, None where nothing between is likelier."""

    low: float
    value: float | None
    high: float

    @classmethod
    def exactly(cls, value: float) -> "Amount":
        return cls(value, value, value)

    @property
    def exact(self) -> bool:
        return self.low == self.high

    def holds(self, truth: float) -> bool:
        """Whether the truth is in the interval, up to rounding."""
        slack = 1e-9 * max(1.0, abs(truth))
        return self.low - slack <= truth <= self.high + slack


class Event(NamedTuple):
    """An agent put the first message of an activation on the air, at this time in virtual seconds."""

    time: float
    agent: int


@dataclass(frozen=True)
class Activity:
    """Activations of all agents. `events` in order of time; `counts[i]`: activations (rounds) of agent i; `complete`:
    every activation has its event. `refused`: why events are not identifiable, or not all of them; None where they
    are."""

    events: tuple[Event, ...]
    counts: tuple[Amount, ...]
    complete: bool
    refused: str | None = None


@dataclass(frozen=True)
class Computing:
    """Time that a private query takes each agent, in seconds.

    `means[i]`: of agent i, over the run; None where nothing is known. `kind`: "measured" (arrivals were acknowledged,
    so the work is seen from its first moment to its last), "estimated" (the mean wait for a public clock was
    subtracted), "bounded" (the travel of a message is in it; the interval bounds by how much). `slower`: pairs
    (i, j) of agents of which i is slower, at 95 % confidence of all of them together; `samples[i]`: how many of its
    activations were used.
    """

    means: tuple[Amount | None, ...]
    kind: str
    samples: tuple[int, ...]
    slower: frozenset[tuple[int, int]] = frozenset()
    refused: str | None = None

    @property
    def slowest(self) -> int | None:
        """The agent that is slower than every other one, where there is one."""
        others = len(self.means) - 1
        found = [i for i in range(len(self.means)) if sum(one == i for one, _ in self.slower) == others]
        return found[0] if found and others else None


@dataclass(frozen=True)
class LinkTraffic:
    """Repetitions and losses of each directed link that was tapped: second and later attempts (`repeated`), and
    packets that never arrived (`lost`), acknowledgements included."""

    repeated: Mapping[Edge, Amount] = field(default_factory=dict[Edge, Amount])
    lost: Mapping[Edge, Amount] = field(default_factory=dict[Edge, Amount])
    repeats_refused: str | None = None
    losses_refused: str | None = None


@dataclass(frozen=True)
class Dimension:
    """The length of a vector: all of `low` … `high` make packets of these sizes."""

    low: int = 0
    high: float = math.inf
    refused: str | None = None

    @property
    def value(self) -> int | None:
        """The dimension, where only one fits."""
        return self.low if self.low == self.high else None


@dataclass(frozen=True)
class Sealed:
    """All four. `packets`: rows that were looked at."""

    packets: int
    activity: Activity
    computing: Computing
    links: LinkTraffic
    dimension: Dimension
