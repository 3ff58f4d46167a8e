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
MORE = 1e-3
"""Share by which a pair costs more, at least, where other numbers were seen."""


def doubt(simulation: Simulation, pair: Pair, claim: Claim) -> str | None:
    """`Pair.doubt` of a pair that costs more than is claimed where other numbers are received; None of others."""
    if claim.epsilon is None:
        return None
    zero, other = (cast("Objective", one) for one in pair.hypotheses)
    sample = worlds(holding(simulation, pair.agent, zero), pair.agent, other, 2)(0, FIRST_CHUNK)
    if sample.tossed and claim.coins == "secret":
        return None  # at one toss a pair may cost more than at all of them
    epsilon = costliest(sample, pair, claim.delta)
    if epsilon is None or not exceeds(epsilon, claim.epsilon):
        return None
    return (
        f"Where agent {pair.agent} receives other numbers than in this run, a pair costs ε = {show(epsilon, 4)}: by "
        "how much its data move what it releases depends on what it has seen, and the claim is of any run. Bound "
        "what an answer can move a release by, whatever was received."
    )


def costliest(sample: Sample, pair: Pair, delta: float) -> float | None:
    """The largest ε(δ) of the pair where numbers of the first transcript are others, if that is more than there; None
    where it is not, where the pair does not differ by a constant, where no cost is known, or where the code fails."""
    zero, other = pair.hypotheses
    if not _constant(zero, other) or not sample.releases or not sample.view.public.codec.lossless:
        return None
    scaled = _with(sample, _factors(PURE_FACTORS if delta == 0 else FACTORS))
    try:
        with np.errstate(all="ignore"):
            here, there = (scaled.replayed(pair.agent, one, "other numbers").releases for one in (zero, other))
    except NetsimError:
        return None
    judged = [(a, b) for a, b in zip(here, there, strict=False) if a.judged[0] and b.judged[0]]
    laws = laws_with_cost(type(one.mechanism) for both in judged for one in both)
    if not judged or not laws <= (PURE if delta == 0 else UNBOUNDED):
        return None
    costs = np.sum([cost_and_shifts(a, b)[0] for a, b in judged], axis=0)
    most = float(np.max(costs, initial=0.0, where=np.isfinite(costs)))
    if not most > costs[0] * (1 + MORE):
        return None
    return most if delta == 0 else gaussian_epsilon(math.sqrt(most), delta)


def _constant(zero: object, other: object) -> bool:
    """Whether two hypotheses differ by one constant change of the gradient of the same data."""
    bases = [(one.objective, one.record) if isinstance(one, Tilted) else (one, None) for one in (zero, other)]
    records = {record for (_, record), one in zip(bases, (zero, other), strict=True) if isinstance(one, Tilted)}
    return bases[0][0] is bases[1][0] and len(records) == 1


def extremes(sample: Sample) -> list[Sample]:
    """The first transcript where hardly anything was sent, or released; and where all of it is large."""
    return [_with(sample, lambda size=size: np.full((1, 1), size)) for size in EXTREMES]


def _factors(largest: float) -> Callable[[], Array]:
    """Factors of a number in each copy, (`COPIES`, 1): in half of them the same of all numbers, in half one of its
    own. Of the first copy they are 1."""
    rng, number = np.random.default_rng(6), np.arange(COPIES)[:, None]
    common = np.geomspace(1 / largest, largest, COPIES)[:, None]

    def factors() -> Array:
        own = largest ** rng.uniform(-1, 1, (COPIES, 1))
        return np.select([number == 0, number % 2 == 0], [np.ones_like(own), common], own)

    return factors


def _with(sample: Sample, factors: Callable[[], Array]) -> Sample:
    """Copies of the first transcript, with all that was sent and released times such factors (copies, 1); what is the
    same in all transcripts of the sample is public, and stays."""
    copied = sample.copied(len(factors()))

    def other(value: Array, seen: Array) -> Array:
        return value if np.array_equal(seen, np.broadcast_to(seen[:1], seen.shape)) else value * factors()

    rows = [
        row._replace(values={name: other(value, was.values[name]) for name, value in row.values.items()})
        for row, was in zip(copied.view.transcript.records, sample.view.transcript.records, strict=True)
    ]
    view = replace(copied.view, transcript=Transcript(rows, copied.view.replicas))
    releases = [other(*both) for both in zip(copied.releases, sample.releases, strict=True)]
    return replace(copied, view=view, releases=releases)
