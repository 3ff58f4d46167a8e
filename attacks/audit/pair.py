"""Two adjacent worlds, and how transcripts of them come about."""

from collections.abc import Callable
from dataclasses import dataclass, field

from attacks.audit.loss.explain import Sample
from attacks.replay import Hypothesis

Simulate = Callable[[int, int], Sample]
"""(world 0 or 1, chunk) ↦ independent transcripts of that world."""


@dataclass(frozen=True)
class Pair:
    """Two adjacent worlds: `hypotheses[w]` is what `agent` holds in world w."""

    agent: int
    hypotheses: tuple[Hypothesis, Hypothesis] = field(repr=False)
    description: str
