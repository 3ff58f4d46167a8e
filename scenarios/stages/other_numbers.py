"""What a pair costs where other numbers were received, and released, than in the run.

Code may mix what is private with what it has seen, such as |g + s| − |g − s|, so that a change of g moves what it
releases more where s is large than where it is small. The agent is replayed on one transcript whose numbers are made
larger and smaller, by one factor or each by its own, under both hypotheses of a pair that differ by a constant: then
no gradient differs more for being asked elsewhere. Noise on the whole line makes all of these numbers possible.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.loss.comparison import Sample
from attacks.audit.loss.release_cost import PURE, UNBOUNDED, cost_and_shifts, laws_with_cost
from attacks.audit.pair import FIRST_CHUNK, Pair
from attacks.audit.verdict import exceeds
from attacks.replay import Release
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.errors import NetsimError
from netsim.problems import Objective, Tilted
from netsim.shown import show
from netsim.simulation import Simulation
from netsim.transcript import Transcript
from scenarios.stages.worlds import holding, worlds

PURE_FACTORS, FACTORS = 1e6, 10.0
"""By how much numbers are made larger or smaller, at most: at δ = 0, where all that is possible counts, and above."""
EXTREMES = 1e-6, 1e3
"""Factors of all numbers, at which pairs are looked for."""
COPIES = 64
"""Transcripts made so."""


def doubt(simulation: Simulation, pair: Pair, claim: Claim) -> str | None:
    """`Pair.doubt` of a pair that costs more than is claimed where other numbers are received; None of others."""
    if claim.epsilon is None:
        return None
    zero, other = (cast("Objective", one) for one in pair.hypotheses)
    sample = worlds(holding(simulation, pair.agent, zero), pair.agent, other, 1)(0, FIRST_CHUNK)
    epsilon = costliest(sample, pair, claim.delta)
    if epsilon is None or not exceeds(epsilon, claim.epsilon):
        return None
    return (
        f"Where agent {pair.agent} receives other numbers than in this run, a pair costs ε = {show(epsilon, 4)}: by "
        "how much its data move what it releases depends on what it has seen, and the claim is of any run. Bound "
        "what an answer can move a release by, whatever was received."
    )


def costliest(sample: Sample, pair: Pair, delta: float) -> float | None:
    """The largest ε(δ) of the pair where numbers of the first transcript are others; None where it does not differ by
    a constant, where no cost is known, or where the code fails there."""
    zero, other = pair.hypotheses
    if not _constant(zero, other) or not sample.releases or not sample.view.public.codec.lossless:
        return None
    scaled = _with(sample, _factors(PURE_FACTORS if delta == 0 else FACTORS))
    try:
        with np.errstate(all="ignore"):
            here, there = (scaled.replayed(pair.agent, one, "other numbers").releases for one in (zero, other))
    except NetsimError:
        return None
    return _largest(list(zip(here, there, strict=False)), delta)


def _constant(zero: object, other: object) -> bool:
    """Whether two hypotheses differ by one constant change of the gradient of the same data."""
    bases = [(one.objective, one.record) if isinstance(one, Tilted) else (one, None) for one in (zero, other)]
    records = {record for (_, record), one in zip(bases, (zero, other), strict=True) if isinstance(one, Tilted)}
    return bases[0][0] is bases[1][0] and len(records) == 1


def _largest(pairs: list[tuple[Release, Release]], delta: float) -> float | None:
    """ε of the copy that costs most."""
    if not pairs:
        return None
    costs = np.sum([cost_and_shifts(a, b)[0] for a, b in pairs], axis=0)
    costs = costs[np.isfinite(costs)]
    laws = laws_with_cost(type(one.mechanism) for pair in pairs for one in pair)
    if not costs.size or not (laws <= (PURE if delta == 0 else UNBOUNDED)):
        return None
    most = float(np.max(costs))
    return most if delta == 0 else gaussian_epsilon(math.sqrt(most), delta)


def extremes(sample: Sample) -> list[Sample]:
    """The first transcript where hardly anything was sent, or released; and where all of it is large."""
    return [_with(sample, lambda size=size: np.full((1, 1), size)) for size in EXTREMES]


def _factors(largest: float) -> Callable[[], Array]:
    """Factors of a number in each copy, (`COPIES`, 1): in half of them the same of all numbers, in half one of its
    own; of either sign."""
    rng = np.random.default_rng(6)
    common = np.geomspace(1 / largest, largest, COPIES)[:, None] * rng.choice((-1.0, 1.0), (COPIES, 1))

    def factors() -> Array:
        own = largest ** rng.uniform(-1, 1, (COPIES, 1)) * rng.choice((-1.0, 1.0), (COPIES, 1))
        return np.where(np.arange(COPIES)[:, None] % 2, own, common)

    return factors


def _with(sample: Sample, factors: Callable[[], Array]) -> Sample:
    """Copies of the first transcript, with all that was sent and released times such factors (copies, 1)."""
    copied = sample.copied(len(factors()))
    rows = [
        row._replace(values={name: value * factors() for name, value in row.values.items()})
        for row in copied.view.transcript.records
    ]
    view = replace(copied.view, transcript=Transcript(rows, copied.view.replicas))
    return replace(copied, view=view, releases=[release * factors() for release in copied.releases])
