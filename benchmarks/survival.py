"""Whether what was proven survives: every proven row of the ledger against random pairs, and too little noise.

A row of docs/ledger.md that is *proven* has a bound of ε over all pairs of its adjacency. No random pair costs more:
the agent's data are drawn anew for every `EACH` pairs, and from each base adjacent data in many ways (a record
replaced, a gradient moved by a constant vector or by one that varies, any data where answers are clipped); and the
pair of the audit's search costs no more. And the bound notices noise: with a tenth less it is above itself; with a
tenth less than the least noise at which the claim holds the row is *refuted* by the pair of the search or not proven;
with a tenth more than the least it is. A row that claims more than it needs has a least noise below its own: a tenth
less than its own leaves its claim true.
"""

import argparse
import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.optimize import brentq

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.loss.aimed import WORST_CASE
from attacks.audit.loss.comparison import Reproduced, Sample, WorldComparison
from attacks.audit.loss.release_cost import UNBOUNDED, laws_with_cost
from attacks.audit.pair import Pair
from attacks.audit.proof import ANY_DATA, bound_at_door
from attacks.audit.verdict import ROUNDING, Bound, Verdict, judge
from netsim.arrays import Array
from netsim.claims import Claim, length
from netsim.problems import Bent, LogisticLoss, Objective, Tilted
from netsim.simulation import Simulation
from scenarios.build.duration import Silent
from scenarios.build.experiment import Experiment, Subject
from scenarios.certificate.ledger import ENTRIES
from scenarios.stages.worlds import holding, worlds
from scenarios.stages.worst_pair import holds_for_any_change, pair_for

PAGE = Path(__file__).parents[1] / "docs" / "ledger.md"
EACH = 20
"""Pairs that start from the same data of the agent."""
REPLICAS = 2
TENTH = 0.1
FAR = 1e6
"""Largest change of any data, where the claim is of any."""


def proven(page: Path = PAGE) -> frozenset[str]:
    """The algorithms that the ledger's table calls proven."""
    rows = [line.split(" | ") for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return frozenset(row[0].removeprefix("| ") for row in rows if len(row) > 4 and row[4] == "proven")


@dataclass(frozen=True, eq=False)
class Row:
    """A row of the ledger: its claim at the length of its run, the pair of the worst-pair search, and whether the
    claim is of any data of the agent."""

    name: str
    simulation: Simulation
    claim: Claim
    pair: Pair
    of_any: bool

    @classmethod
    def of(cls, experiment: Experiment, subject: Subject) -> "Row":
        activations = subject.simulation.run().largest_activations
        claim = subject.simulation.claim(experiment.adjacency, activations, subject.delta)
        assert claim is not None
        pair, _ = pair_for(experiment, subject, claim, activations, Silent())
        name, of_any = subject.spec.name, holds_for_any_change(subject, claim, activations)
        return cls(name, subject.simulation, claim, pair, of_any)

    @property
    def own(self) -> Objective:
        return self.simulation.problem.objectives[self.pair.agent]

    def samples(self, factor: float = 1.0) -> tuple[Sample, Sample]:
        """Transcripts of both of the pair's worlds with `factor` times the noise, which is aimed at δ = 0."""
        zero, one = (cast("Objective", hypothesis) for hypothesis in self.pair.hypotheses)
        algorithm = self.simulation.algorithm
        noisy = replace(self.simulation, algorithm=algorithm if factor == 1.0 else algorithm.scaled(factor))
        simulate = worlds(holding(noisy, self.pair.agent, zero), self.pair.agent, one, REPLICAS)
        return simulate(0, WORST_CASE), simulate(1, WORST_CASE)

    def bound(self, samples: Sequence[Sample]) -> Bound:
        convexity = self.simulation.setting(1).convexity(self.pair.agent)
        pairs = ANY_DATA if self.of_any else self.claim.adjacency
        return bound_at_door(samples, self.pair.agent, pairs, self.claim.delta, convexity)

    def judged(self, factor: float, claimed: float) -> tuple[Verdict, float]:
        """Verdict on ε = `claimed` with `factor` times the noise, by the bound and by what the pair loses; and the
        bound."""
        samples, (zero, one) = self.samples(factor), self.pair.hypotheses
        bound, delta = self.bound(samples), self.claim.delta
        lost = compared(samples[0], self.pair.agent, zero, one)
        found = judge(
            epsilon_claimed=claimed, delta=delta, exact_lower=least(lost, delta), exact_upper=math.inf, bound=bound
        )
        return found.verdict, bound.epsilon

    def least_noise(self, bound: float) -> float:
        """Factor of the noise at which the bound becomes the claim."""
        claimed, delta = self.claim.epsilon, self.claim.delta
        assert claimed is not None
        return bound / claimed if delta == 0 else mu_of(bound, delta) / mu_of(claimed, delta)

    # ── pairs ───────────────────────────────────────────────────────────────────────────────────────
    def worst_of(self, pairs: int, rng: np.random.Generator) -> float:
        """Largest ε of so many random adjacent pairs, each on transcripts of its own world 0."""
        worst, agent = 0.0, self.pair.agent
        for start in range(0, pairs, EACH):
            zero = self.base(rng) if start else self.own
            near = [self.adjacent(zero, k, rng) for k in range(min(EACH, pairs - start))]
            simulate = worlds(holding(self.simulation, agent, zero), agent, near[0], REPLICAS)
            reproduced = Reproduced.of(simulate(0, WORST_CASE), agent, zero)
            worst = max(worst, *(most(reproduced.compared(one, scored=False), self.claim.delta) for one in near))
        return worst

    def base(self, rng: np.random.Generator) -> Objective:
        """Other data of the agent: records turned, with other labels; or another gradient at 0."""
        own = self.own
        if isinstance(own, LogisticLoss):
            turn = np.linalg.qr(rng.standard_normal((own.dimension, own.dimension)))[0]
            own = replace(own, features=own.features @ turn, labels=rng.choice((-1.0, 1.0), own.records))
            return Tilted(own, self._far(rng)) if self.of_any else own
        return Tilted(own, rng.standard_normal(own.dimension))

    def adjacent(self, zero: Objective, kind: int, rng: np.random.Generator) -> Objective:
        """A random neighbor of `zero` in the claim's adjacency, of several kinds in turn."""
        adjacency, d = self.claim.adjacency, zero.dimension
        if self.of_any and kind % 2:
            return Tilted(zero, self._far(rng))
        if isinstance(zero, LogisticLoss) and not adjacency.constant and kind % 3 == 0:
            row = rng.standard_normal(d)
            row *= adjacency.gradient_change * zero.records / (2 * zero.scale * float(np.linalg.norm(row)))
            return zero.with_record(int(rng.integers(zero.records)), row, float(rng.choice((-1.0, 1.0))))
        slope = _vector(kind, rng, d)
        if adjacency.change is None:
            size, norm = adjacency.gradient_change, "l2"
        else:
            size, norm = adjacency.change, adjacency.norm
        size = size if math.isfinite(size) else float(np.exp(rng.uniform(-3, math.log(FAR))))
        slope *= size * (1.0 if kind % 5 else rng.random()) / float(length(slope, norm))
        bend = adjacency.curvature_change
        if adjacency.constant or bend == 0 or kind % 3 == 1:
            return Tilted(zero, slope)
        bend = min(bend, 1.0) * rng.random()
        return Bent(zero, slope, bend, 2 * float(rng.standard_normal()))

    def _far(self, rng: np.random.Generator) -> Array:
        return np.exp(rng.uniform(-3, math.log(FAR))) * _vector(int(rng.integers(3)), rng, self.own.dimension)


def _vector(kind: int, rng: np.random.Generator, dimension: int) -> Array:
    """A random direction: any, of signs, or of one coordinate."""
    drawn = rng.standard_normal(dimension)
    if kind % 3 == 1:
        return np.where(drawn < 0, -1.0, 1.0)
    return drawn if kind % 3 else drawn * (np.arange(dimension) == rng.integers(dimension))


def compared(sample: Sample, agent: int, zero: Any, one: Any) -> WorldComparison:
    return Reproduced.of(sample, agent, zero).compared(one, scored=False)


def most(found: WorldComparison, delta: float) -> float:
    """ε(δ) of the costliest transcript: ∞ with an unprotected message; the largest loss seen where a release has no
    cost of its own (a perturbed objective)."""
    if np.any(np.isfinite(found.leaked)) or not found.complete:
        return math.inf
    cost = float(np.max(np.sum(found.cost, axis=0)))
    if laws_with_cost(found.laws) <= UNBOUNDED and delta > 0:
        return gaussian_epsilon(math.sqrt(cost), delta)
    return max(cost if math.isfinite(cost) else 0.0, float(np.max(found.losses())))


def least(found: WorldComparison, delta: float) -> float:
    """ε(δ) that the transcripts prove: Gaussian by the least cost, which all have; else the largest loss."""
    if laws_with_cost(found.laws) <= UNBOUNDED and delta > 0:
        return gaussian_epsilon(math.sqrt(float(np.min(np.sum(found.cost, axis=0)))), delta)
    return float(np.max(found.losses()))


def mu_of(epsilon: float, delta: float) -> float:
    """The μ of a Gaussian release with this ε(δ)."""
    return float(brentq(lambda mu: gaussian_epsilon(mu, delta) - epsilon, 1e-9, 1e3, xtol=1e-13))


@dataclass(frozen=True)
class Survived:
    """Figures of one row. `random` and `searched`: the worst of random pairs and that of the search, over the bound;
    `noise`: the least factor of its noise at which the claim holds; `tenth`: by how much a tenth less noise raises
    the bound. Verdicts: of the claim with a tenth more than the least noise (`enough`) and with a tenth less
    (`planted`), and of the bound as the claim with a tenth less noise than the row has (`tight`)."""

    name: str
    claimed: float
    bound: float
    random: float
    searched: float
    noise: float
    tenth: float
    enough: Verdict
    planted: Verdict
    tight: Verdict
    seconds: float

    @classmethod
    def of(cls, row: Row, pairs: int, seed: int = 0) -> "Survived":
        start, claimed = time.process_time(), row.claim.epsilon
        assert claimed is not None
        samples, (zero, one) = row.samples(), row.pair.hypotheses
        bound = row.bound(samples).epsilon
        searched = most(compared(samples[0], row.pair.agent, zero, one), row.claim.delta)
        noise = row.least_noise(bound)
        tight, quieter = row.judged(1 - TENTH, bound)
        return cls(
            row.name,
            claimed,
            bound,
            row.worst_of(pairs, np.random.default_rng(seed)) / bound,
            searched / bound,
            noise,
            quieter / bound - 1,
            row.judged((1 + TENTH) * noise, claimed)[0],
            row.judged((1 - TENTH) * noise, claimed)[0],
            tight,
            time.process_time() - start,
        )

    @property
    def holds(self) -> bool:
        """Whether no pair costs more than the bound, and too little noise is noticed."""
        within = max(self.random, self.searched) <= 1 + ROUNDING and self.bound <= self.claimed * (1 + ROUNDING)
        noticed = Verdict.PROVEN not in (self.planted, self.tight)
        return within and noticed and self.enough is Verdict.PROVEN


def rows(names: Sequence[str] = ()) -> Iterator[Row]:
    """The proven rows of the ledger, or those of these names."""
    wanted = names or proven()
    for entry in ENTRIES:
        if not any(spec.name in wanted for spec in entry.located.scenario.algorithms):
            continue
        experiment = Experiment.of(entry.located.scenario)
        yield from (Row.of(experiment, subject) for subject in experiment.subjects if subject.spec.name in wanted)


def of_rows(names: Sequence[str], pairs: int, show: bool) -> dict[str, float]:
    """Named numbers of the proven rows."""
    found = list[Survived]()
    for row in rows(names):
        found.append(one := Survived.of(row, pairs))
        if show:
            print(
                f"{one.name:36} claim {one.claimed:7.4f} bound {one.bound:7.4f} random {one.random:.3f} searched "
                f"{one.searched:.3f} | least noise {one.noise:.3f}: +10 % {one.enough}, -10 % {one.planted}; "
                f"bound {one.tenth:+.1%} {one.tight} | {'holds' if one.holds else 'FAILS'} {one.seconds:.0f} s",
                flush=True,
            )
    return {
        "proven_rows": len(found),
        "rows_that_survive": sum(one.holds for one in found),
        "pairs_of_each": pairs,
        "largest_share_of_a_bound": max((one.random for one in found), default=0.0),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="one JSON object of named numbers")
    parser.add_argument("--pairs", type=int, default=1000, help="random pairs of each row")
    parser.add_argument("--rows", nargs="*", default=[], help="only these rows")
    given = parser.parse_args()
    numbers = of_rows(given.rows, given.pairs, not given.json)
    if given.json:
        print(json.dumps(numbers))
        return
    for name, value in numbers.items():
        print(f"{name:30} {value:10.3f}")


if __name__ == "__main__":
    main()
