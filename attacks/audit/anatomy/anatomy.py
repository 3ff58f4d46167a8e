"""What an exact loss is made of: its parts, all that no noise covers, average against worst case, ε on the way."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from attacks.audit.anatomy.averages import Ratio, ratio
from attacks.audit.anatomy.breakdown import Breakdown
from attacks.audit.anatomy.fields import UncoveredField, pooled
from attacks.audit.anatomy.levels import Audited, audited_levels
from attacks.audit.loss.exact import ExactLoss
from attacks.audit.loss.explain import Explained
from netsim.arrays import Array

AVERAGED = 4_000_000
"""So many numbers of `attacks.audit.anatomy.averages` are kept, at least, if there are as many: of the first
samples."""


@dataclass(frozen=True)
class Anatomy:
    """Of the transcripts of both worlds together.

    `uncovered` are all fields that no noise covers, the first first. `average` is that of all releases and
    `averages[t]` of release t: None where a law has no value (`attacks.audit.anatomy.averages`). `audited` is the
    game at some activations, each by itself at the confidence of the audit.
    """

    breakdown: Breakdown
    uncovered: tuple[UncoveredField, ...]
    average: Ratio | None
    averages: tuple[Ratio | None, ...]
    audited: tuple[Audited, ...]


def anatomy(
    agent: int,
    parts: Iterable[Explained],
    exact: tuple[ExactLoss, ExactLoss],
    delta: float,
    confidence: float,
    rng: np.random.Generator,
) -> Anatomy:
    """Go through all samples once; what is kept of them does not grow with the transcripts."""
    fields, averages = tuple[UncoveredField, ...](), list[Array]()

    def noted() -> Iterator[Explained]:
        nonlocal fields
        room, seen = AVERAGED, 0
        for part in parts:
            fields = pooled([(fields, seen), (part.details.uncovered, part.replicas)])
            seen += part.replicas
            if room > 0:
                averages.append(part.details.averages)
                room -= part.details.averages.size
            yield part

    breakdown = Breakdown.of(agent, noted())
    return Anatomy(
        breakdown,
        fields,
        ratio(averages, None, confidence),
        tuple(ratio(averages, t, confidence) for t in range(len(breakdown.releases))),
        audited_levels(exact, delta, confidence, rng),
    )
