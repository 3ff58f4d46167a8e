"""What a pair costs where other numbers were received, and released, than in the run.

Code may mix what is private with what it has seen, such as |g + s| − |g − s|, so that a change of g moves what it
releases more where s is large than where it is small. The network is simulated with other noise: what agents release
is larger or smaller, and has another sign, by one factor or each by its own. So all that is received is possible in a
run, whatever a sender makes of its noise. The agent is replayed there under both hypotheses of a pair that differ by
a constant: then no gradient differs more for being asked elsewhere.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import numpy as np

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.loss.comparison import Sample
from attacks.audit.loss.release_cost import PURE, UNBOUNDED, cost_and_shifts, laws_with_cost
from attacks.audit.loss.secret_coins import LOOKED_AT, SECRET, losses_of
from attacks.audit.pair import FIRST_CHUNK, Pair, Simulate
from attacks.audit.verdict import exceeds
from attacks.replay import ROUNDING, Release
from netsim.arrays import Array, Mask
from netsim.claims import Claim
from netsim.problems import Objective, Tilted
from netsim.shown import show
from netsim.simulation import Simulation
from scenarios.stages.drawn_pairs import plain
from scenarios.stages.other_noise import COPIES, Anywhere, OtherNoise, Times, Typical, elsewhere
from scenarios.stages.worlds import holding, worlds

EXTREMES = 1e-6, 1e3
"""Factors of all releases, at which pairs are looked for."""
TRIED = 4
"""Transcripts of other numbers that are judged for who does not know the coins, those that cost most."""
MORE = 1e-3
"""Share by which a pair costs more, at least, where other numbers were seen."""


def doubt(simulation: Simulation, pair: Pair, claim: Claim) -> str | None:
    """`Pair.doubt` of a pair that costs more than is claimed where other numbers are received; None of others."""
    if claim.epsilon is None:
        return None
    epsilon = costliest(simulation, pair, claim)
    if epsilon is None or not exceeds(epsilon, claim.epsilon):
        return None
    return (
        f"Where agent {pair.agent} receives other numbers than in this run, a pair costs ε = {show(epsilon, 4)}: by "
        "how much its data move what it releases depends on what it has seen, and the claim is of any run. Bound "
        "what an answer can move a release by, whatever was received."
    )


def costliest(simulation: Simulation, pair: Pair, claim: Claim) -> float | None:
    """The largest ε(δ) of the pair where other numbers are received, if that is more than in the first transcript;
    None where it is not, where the pair does not differ by a constant, where no cost is known, or where the code
    fails."""
    zero, other = (cast("Objective", one) for one in pair.hypotheses)
    if not _constant(zero, other):
        return None
    try:
        with np.errstate(all="ignore"):
            return _Elsewhere(holding(simulation, pair.agent, zero), pair.agent, (zero, other), claim).costliest
    except Exception:  # an algorithm that fails at such numbers is not held to them
        return None


@dataclass(frozen=True)
class _Elsewhere:
    """A network whose `agent` holds the first of two hypotheses, where agents release other numbers."""

    simulation: Simulation
    agent: int
    hypotheses: tuple[Objective, Objective]
    claim: Claim

    @property
    def costliest(self) -> float | None:
        """`costliest`."""
        delta = self.claim.delta
        noise = Anywhere() if delta == 0 else Typical.counted(self.simulation, self.agent, delta)
        sample = self._of(noise, COPIES)(0, FIRST_CHUNK)
        if not sample.releases or not sample.view.public.codec.lossless:
            return None
        here, there = (sample.replayed(self.agent, one, "other numbers").releases for one in self.hypotheses)
        costs = _costs(list(zip(here, there, strict=False)), delta)
        if costs is None or not (most := float(np.max(costs))) > costs[0] * (1 + MORE):
            return None
        if sample.tossed and self.claim.coins == "secret" and self._hides:
            return self._secret(costs) if delta == 0 else None
        return most if delta == 0 else gaussian_epsilon(math.sqrt(most), delta)

    def _of(self, noise: OtherNoise, transcripts: int) -> Simulate:
        return worlds(elsewhere(self.simulation, noise), self.agent, self.hypotheses[1], transcripts)

    @property
    def _hides(self) -> bool:
        """Whether the coins change what is released, or it is not known whether they do."""
        simulate = worlds(self.simulation, self.agent, self.hypotheses[1], 1)
        found = losses_of([simulate(0, SECRET + 2 * k) for k in range(LOOKED_AT)], self.agent, *self.hypotheses)
        return found.secret is None or found.tried > 1 or not np.allclose(found.known, found.secret)

    def _secret(self, costs: Array) -> float | None:
        """The largest loss, for who does not know the coins, where those who do lose most; None where histories are
        not listed."""
        assert self.claim.epsilon is not None
        first = np.argsort(-costs, kind="stable")[:TRIED]
        chosen = [int(k) for k in first if exceeds(float(costs[k]), self.claim.epsilon)]
        simulates, most = [self._of(Anywhere(only=k), 1) for k in chosen], 0.0
        for world in (0, 1):
            samples = [simulate(world, SECRET + 1) for simulate in simulates]
            pair = self.hypotheses if world == 0 else self.hypotheses[::-1]
            losses = losses_of(samples, self.agent, *pair).secret if samples else None
            if losses is None:
                return None
            most = max(most, float(np.max(losses, initial=0.0, where=np.isfinite(losses))))
        return most


def _costs(releases: Sequence[tuple[Release, Release]], delta: float) -> Array | None:
    """What a pair costs in each transcript, (replicas,), by the releases before the first whose noise drowns in the
    rounding of what it covers, 0 where it is infinite; None where no cost is known."""
    judged = [(a, b) for a, b in releases if a.judged[0] and b.judged[0]]
    laws = laws_with_cost(type(one.mechanism) for both in judged for one in both)
    if not judged or not laws <= (PURE if delta == 0 else UNBOUNDED):
        return None
    shown = np.logical_and.accumulate([_covered(a) & _covered(b) for a, b in judged], axis=0)
    costs = np.where(shown, [cost_and_shifts(a, b)[0] for a, b in judged], 0.0).sum(axis=0)
    return np.where(np.isfinite(costs), costs, 0.0)


def _covered(release: Release) -> Mask:
    """Where noise is above the rounding of the value that it covers, (replicas,)."""
    silent, least = release.stddev == 0, ROUNDING * np.abs(release.value)
    return np.asarray(np.all(silent | (release.stddev >= least), axis=-1), dtype=np.bool_)


def _constant(zero: object, other: object) -> bool:
    """Whether two hypotheses differ by one constant change of the gradient of the same data."""
    bases = [(one.objective, one.record) if isinstance(one, Tilted) else (one, None) for one in (zero, other)]
    records = {record for (_, record), one in zip(bases, (zero, other), strict=True) if isinstance(one, Tilted)}
    return bases[0][0] is bases[1][0] and len(records) == 1


def extremes(simulation: Simulation, agent: int) -> list[Sample]:
    """A transcript where hardly anything is released, and one where all of it is large; none where the code fails."""
    found = list[Sample]()
    for size in EXTREMES:
        with suppress(Exception), np.errstate(all="ignore"):
            sample = plain(elsewhere(simulation, Times(size)), agent)
            found += [] if sample is None else [sample]
    return found
