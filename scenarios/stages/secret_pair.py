"""The pair that costs most for who does not know an agent's private coins: which record differs, and where all others
lie.

Where it is secret which records are asked, what one of them does is hidden among what the others do, and least where
these lie on the other side of the code's bound. So beyond that bound each record is tried as the one that differs,
and the others, which are moved in both worlds, are turned one after the other as long as that costs more. What each
does at every history of the coins, or at some that are drawn, is replayed on one transcript that the audit does not
use: that ranks pairs, and proves nothing.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self, cast

import numpy as np
from scipy import special, stats

from attacks.audit.accounting.intervals import boundary
from attacks.audit.loss.comparison import Sample
from attacks.audit.loss.secret_coins import drawn_coins
from attacks.audit.pair import FIRST_CHUNK, Pair
from attacks.replay import Hypothesis, Replayed, replay
from attacks.replay.coins import Coins, DrawnCoins, every
from netsim.arrays import Array, evenly
from netsim.claims import Claim
from netsim.errors import AttackError, NetsimError
from netsim.mechanisms import Gaussian
from netsim.models.model import Regularizer
from netsim.problems import Objective, Sampled, Surrounded, Tilted
from scenarios.build.duration import Progress
from scenarios.build.experiment import Experiment, Subject
from scenarios.results.audit import BOTH_MOVED, PairSearch
from scenarios.stages.drawn_pairs import CROWD, SAME, Asking, bounds_releases
from scenarios.stages.worlds import agents_of, worlds
from scenarios.stages.worst_pair import FAR, allows, constant_change, holds_for_any_change, pair_for

LISTED, DRAWN = 1024, 64
"""Histories that are read at most, fewer in long runs, and that are drawn where there are more."""
_WORK = 2**16
"""Messages that are replayed at these, at most."""
RECORDS, TURNED, TURNS, BEST = 16, 32, 6, 8
"""Records that are tried as the one that differs, and others that are turned, at most; how many in turn, and of how
many pairs, those that cost most."""
NEARER = 1e-2
"""Size of the others' gradients by that of a record moved beyond all bounds: it decides in a batch of both."""
_BEYOND = "by more than its clip or other bound lets through; the claim allows any change"
SIGNS = 8
"""Directions in which noise points, at most."""
MOST = 50.0
"""The largest ε that is looked for."""
GRID, WIDE = 501, 8.0
"""Points of an integral, and deviations of the noise beyond the outermost means."""


def audited_pair(
    experiment: Experiment, subject: Subject, claim: Claim, activations: int, progress: Progress
) -> tuple[Pair, PairSearch | None]:
    """`pair_for`; where it was searched for and the claim keeps coins secret, the pair that costs most for who does
    not know them."""
    pair, search = pair_for(experiment, subject, claim, activations, progress)
    spec = experiment.scenario.audit
    about = claim.coins if spec is None or spec.coins is None else spec.coins
    if search is None or about == "known" or not claim.adjacency.record or math.isinf(search.winner.epsilon):
        return pair, search  # nothing costs more than what has no noise
    of_any = holds_for_any_change(subject, claim, activations)
    change = None if of_any else constant_change(subject, claim, activations)
    if not (of_any or change) or (most := _cost(subject, claim, pair)) is None:
        return pair, search
    found, records = pair, subject.simulation.problem.records
    fewest = min(agents_of(subject.simulation, None if spec is None else spec.agent), key=records.__getitem__)
    for agent in dict.fromkeys((pair.agent, fewest if records[fewest] < records[pair.agent] else pair.agent)):
        made = _about_0(subject, claim, agent, change) if change else _beyond(subject, claim, agent, pair)
        for among in made:
            if agent == found.agent:
                found = replace(found, of_all_records=among.of_all)
            if (best := among.above(most)) is None:
                continue
            both, (place, cost) = among.worlds(best[0]), best
            if all(allows(subject, claim, activations, agent, one) for one in both):
                whose = f"the gradient of record {place.record} of agent {agent} moved in both worlds, as others are"
                found, most = replace(pair, agent=agent, hypotheses=both, description=f"{whose}, {among.words}"), cost
                found = replace(found, change_used=1.0, any_change=of_any, of_all_records=among.of_all)
    if found.hypotheses is pair.hypotheses:
        return found, search
    winner = replace(search.winner, family=BOTH_MOVED, description=found.description, any_change=of_any)
    return found, replace(search, winner=winner)


def _cost(subject: Subject, claim: Claim, pair: Pair) -> float | None:
    """What a pair costs for who does not know the coins; None where these choose receivers alone, or where it
    is not known."""
    own = subject.simulation.problem.objectives[pair.agent]
    sample = worlds(subject.simulation, pair.agent, own, 1)(0, FIRST_CHUNK)
    if not sample.tossed or not sample.view.public.codec.lossless:
        return None
    hidden = _Hidden.joined([_Hidden.of(sample, pair.agent, one) for one in pair.hypotheses])
    return None if hidden is None or len(hidden.chances) == 1 else hidden.cost(0, 1, claim.delta)


class _Place(NamedTuple):
    """Which record differs, and where the others lie: `sides` (records,) −1 as it in world 0, 1 as in world 1."""

    record: int
    sides: tuple[int, ...]

    def turned(self, k: int) -> Self:
        """Another record on the other side."""
        return self._replace(sides=tuple(-side if j == k else side for j, side in enumerate(self.sides)))


@dataclass(frozen=True, eq=False)
class _Shifted:
    """A hypothesis for each replica: the gradient of each record moved by so much of either of two `ends`, (2,
    dimension): `shares` (replicas, records, 2)."""

    own: Objective
    ends: Array
    shares: Array

    @property
    def _moved(self) -> Array:
        """By how much all of the gradient is moved, (replicas, dimension)."""
        return self.shares.mean(axis=1) @ self.ends

    def gradient(self, x: Array) -> Array:
        return self.own.gradient(x) + self._moved

    def hessian(self, x: Array) -> Array:
        return self.own.hessian(x)

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        return self.own.proximal(v - step * self._moved, step, regularizer)

    def batch(self, indices: Sequence[int]) -> "_Shifted":
        chosen = np.asarray(indices)
        return replace(self, own=self.own.batch(chosen), shares=self.shares[:, chosen])


def _beyond(subject: Subject, claim: Claim, agent: int, pair: Pair) -> "Iterator[_Among]":
    """Beyond what bounds a change, if something does: as the pair is, where it is moved so far."""
    simulation, (zero, other) = subject.simulation, pair.hypotheses
    own = cast("Sampled", simulation.problem.objectives[agent])
    far = FAR * np.eye(own.dimension)[0]
    slopes, record = (-far, far), None
    if pair.any_change and isinstance(zero, Tilted) and isinstance(other, Tilted):
        slopes, record = (zero.slope, other.slope), zero.record if agent == pair.agent else None
    among = _Among.of(subject, claim, agent, own.records * np.array([one.tolist() for one in slopes]), _BEYOND)
    if among is None:
        return
    among = among if record is None else replace(among, record=record)
    if (pair.any_change and agent == pair.agent) or bounds_releases(simulation, agent, among.record):
        yield among


def _about_0(subject: Subject, claim: Claim, agent: int, change: float) -> "Iterator[_Among]":
    """By so much, of the agent with fewest records, to either side of a gradient of 0, and the others as far."""
    own, records = subject.simulation.problem.objectives[agent], subject.simulation.problem.records
    size, d = change * min(records), own.dimension
    for direction in (np.full(d, d**-0.5), np.eye(d)[0]):
        half: Array = size / 2 * direction
        among = _Among.of(subject, claim, agent, np.array([(-half).tolist(), half.tolist()]), "as far, about 0")
        if among is not None:
            start = np.zeros((1, d))
            still = [-among.own.batch([k]).gradient(start)[0] for k in range(among.own.records)]
            yield replace(among, still=np.array(still), nearer=1.0)


@dataclass(frozen=True, eq=False)
class _Among:
    """Pairs of one agent that differ in a record's gradient, which is moved to either of two `ends`, (2, dimension)
    of a record by itself, from where it is `still`, (records, dimension); the others are moved by so much of either.
    `record` is one that is in a batch of the `sample`, all histories of whose coins are `listed`, or not."""

    own: Sampled
    ends: Array
    still: Array
    nearer: float
    words: str
    record: int
    listed: bool
    sample: Sample
    agent: int
    delta: float

    @classmethod
    def of(cls, subject: Subject, claim: Claim, agent: int, ends: Array, words: str) -> Self | None:
        """None where there is one record, or many, or where the code cannot be replayed."""
        own = cast("Sampled", subject.simulation.problem.objectives[agent])
        if not 1 < own.records <= CROWD:
            return None
        sample = worlds(subject.simulation, agent, own, 1)(0, FIRST_CHUNK)
        if (hidden := _Hidden.of(sample, agent, own)) is None:
            return None
        batches = Asking.of(sample, agent, own).batches
        record, still = batches[0][0] if batches else 0, np.zeros((own.records, own.dimension))
        return cls(own, ends, still, NEARER, words, record, hidden.listed, sample, agent, claim.delta)

    @property
    def of_all(self) -> bool:
        """Whether all records are tried, and it is known what each costs."""
        known = any(cost > 0 for _, cost in self._first_tried)
        return known and self.listed and self.own.records <= RECORDS

    @cached_property
    def _first_tried(self) -> Sequence[tuple[_Place, float]]:
        """Each record among others that all lie on one side, and what that costs. By histories that are drawn records
        differ by chance: there it is one record."""
        records = self.own.records
        some = evenly(records, RECORDS) if self.listed else [self.record]
        places = [_Place(k, (side,) * records) for k in some for side in (-1, 1)]
        return [*zip(places, self._costs(places), strict=True)]

    def above(self, most: float) -> tuple[_Place, float] | None:
        """What costs most of all that is tried, and how much; None where that is not above what is known."""
        best, tried = None, self._first_tried
        for _ in range(1 + TURNS * self.listed):
            ranked = sorted(tried, key=lambda one: -one[1])[:BEST]
            if not ranked or ranked[0][1] <= most * (1 + SAME):
                break
            best = ranked[0]
            most = best[1]
            some = evenly(self.own.records, TURNED)
            turned = dict.fromkeys(place.turned(k) for place, _ in ranked for k in some if k != place.record)
            tried = [*zip(turned, self._costs([*turned]), strict=True)]
        return best

    def worlds(self, place: _Place) -> tuple[Surrounded, Surrounded]:
        """Both worlds."""
        others = self.still + self._shares(place) @ self.ends
        slopes = self.ends / self.own.records
        one, two = (Surrounded(self.own, slope, record=place.record, others=others) for slope in slopes)
        return one, two

    def _shares(self, place: _Place) -> Array:
        """How much of either end the others are moved by in both worlds, (records, 2)."""
        shares: Array = self.nearer * np.eye(2)[(np.array(place.sides) + 1) // 2]
        shares[place.record] = 0.0
        return shares

    def _costs(self, places: Sequence[_Place]) -> Sequence[float]:
        """What each pair costs; 0 where that is not known."""
        if not places:
            return []
        shares = np.array([self._shares(place) for place in places for _ in self.ends])
        for k, place in enumerate(places):
            shares[2 * k : 2 * k + 2, place.record] = np.eye(2)
        own = Surrounded(self.own, np.zeros(self.own.dimension), record=0, others=self.still)
        rows = _Shifted(own, self.ends, shares)
        hidden = _Hidden.of(self.sample.copied(len(shares)), self.agent, rows)
        costs = [0.0 if hidden is None else hidden.cost(2 * k, 2 * k + 1, self.delta) for k in range(len(places))]
        return [cost if math.isfinite(cost) else 0.0 for cost in costs]


@dataclass(frozen=True, eq=False)
class _Hidden:
    """What the releases of one transcript hide under each of many hypotheses, at each history: `values` (histories,
    hypotheses, numbers), in deviations of Gaussian noise, else in scales of Laplace noise. `chances` (histories,) are
    ln of their probabilities; `listed`: they are all."""

    chances: Array
    values: Array
    gaussian: bool
    listed: bool

    @classmethod
    def of(cls, copies: Sample, agent: int, rows: Hypothesis) -> Self | None:
        """None where histories release other numbers, or where the code fails."""

        def read(coins: Coins | DrawnCoins) -> Replayed:
            most = copies.most_queries
            return replay(copies.view, agent, rows, coins, copies.releases, copies.dither, most_queries=most)

        messages = 1 + len(copies.view.transcript.at_node(agent))
        try:
            with np.errstate(all="ignore"):
                try:
                    found, listed = list(every(read, min(LISTED, max(DRAWN, _WORK // messages)))), True
                except AttackError:
                    listed = False
                    found = [(0.0, read(drawn_coins(k))) for k in range(DRAWN)]
        except (NetsimError, ValueError, ArithmeticError, LookupError, TypeError):
            return None
        made = [one.releases for _, one in found]
        if len({tuple(release.value.shape for release in some) for some in made}) != 1 or not made[0]:
            return None
        gaussian = all(isinstance(release.mechanism, Gaussian) for release in made[0])
        unit = 1.0 if gaussian else math.sqrt(0.5)
        with np.errstate(all="ignore"):
            values = [
                np.concatenate([np.where(r.stddev > 0, r.value / (unit * r.stddev), 0.0) for r in some], axis=-1)
                for some in made
            ]
        return cls(np.array([chance for chance, _ in found]), np.array(values), gaussian, listed)

    @classmethod
    def joined(cls, some: "Sequence[_Hidden | None]") -> "_Hidden | None":
        """Of several hypotheses; None where one is not known, or where they toss other coins."""
        known = [one for one in some if one is not None]
        if len(known) < len(some) or len({(one.values.shape, one.chances.tobytes()) for one in known}) > 1:
            return None
        return replace(known[0], values=np.concatenate([one.values for one in known], axis=1))

    def cost(self, zero: int, other: int, delta: float) -> float:
        """ε(δ) of two hypotheses for who sees the releases alone, or less."""
        one, two = self.values[:, zero], self.values[:, other]
        if self.gaussian:
            return self._gaussian(one, two, delta)
        signs = np.unique(np.sign(two - one), axis=0)[:SIGNS]
        losses = [_mass(self.chances + two @ way) - _mass(self.chances + one @ way) for way in signs]
        return float(np.max(np.abs(losses)))

    def _gaussian(self, one: Array, two: Array, delta: float) -> float:
        """Of what is seen along the largest difference."""
        apart = two - one
        lengths = np.linalg.norm(apart, axis=1)
        if not np.all(np.isfinite(lengths)) or np.max(lengths) == 0:
            return 0.0
        along = apart[np.argmax(lengths)] / np.max(lengths)
        one, two = one @ along, two @ along
        ends = np.min([one, two]) - WIDE, np.max([one, two]) + WIDE
        grid = np.linspace(*ends, GRID)
        odds = np.exp(self.chances - _mass(self.chances))
        densities = [_density(grid, means, odds) for means in (one, two)]
        width = float(grid[1] - grid[0])
        return max(_epsilon(p * width, q * width, delta) for p, q in (densities, densities[::-1]))


def _epsilon(p: Array, q: Array, delta: float) -> float:
    """ε(δ) of two laws on a grid."""
    return boundary(lambda epsilon: bool(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)) <= delta), MOST, 0.0)


def _density(grid: Array, means: Array, odds: Array) -> Array:
    """A mixture of normal laws, most of which are the same."""
    some, which = np.unique(np.round(means, 9), return_inverse=True)
    return np.asarray(np.bincount(which, odds) @ stats.norm.pdf(grid - some[:, None]), dtype=np.float64)


def _mass(terms: Array) -> float:
    return float(special.logsumexp(terms))
