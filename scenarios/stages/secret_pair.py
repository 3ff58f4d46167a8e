"""The pair that costs most for who does not know an agent's private coins: which record differs, and where all others
lie.

Where it is secret which records are asked, what one of them does is hidden among what the others do, and a pair that
costs most at every toss may cost little at all of them together: opposite answers, whose signs are tossed, look
alike. So the record that differs goes between any two of some *places* of its gradient (0, both sides of the code's
bound, those of the pair that was found), the others lie at any of these in both worlds, and are turned to others as
long as that costs more. What each does at every history of the coins, or at some that are drawn, is replayed on one
transcript that the audit does not use: that ranks pairs, and proves nothing.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from operator import itemgetter
from typing import NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from attacks.audit.followed.asked import differing
from attacks.audit.loss.comparison import Sample
from attacks.audit.pair import FIRST_CHUNK, Pair
from attacks.replay import Hypothesis
from netsim.arrays import Array, evenly
from netsim.claims import Claim
from netsim.models.model import Regularizer
from netsim.problems import Objective, Sampled, Surrounded
from scenarios.build.duration import Progress
from scenarios.build.experiment import Experiment, Subject
from scenarios.results.audit import BOTH_MOVED, PairSearch
from scenarios.stages.drawn_pairs import CROWD, SAME, Asking, bounds_releases, steepest
from scenarios.stages.hidden_values import HiddenValues
from scenarios.stages.worlds import agents_of, for_listener, worlds
from scenarios.stages.worst_pair import FAR, allows, constant_change, holds_for_any_change, pair_for

RECORDS, TURNED, TURNS, BEST = 16, 32, 6, 16
"""Records that are tried as the one that differs, and others that are turned, at most; how many in turn, and of how
many pairs, those that cost most."""
SAMES = 2
"""Of these, those that cost the same, at most."""
ALIKE = 1e-3
"""Relative: places that differ by less are the same."""
SEARCHED = 2
"""Agents whose other records are turned: those whose pairs cost most among others that lie at one place."""
TOSSES = 8
"""Tosses that are looked at, where they decide which messages there are."""
NEARER = 1e-2
"""Size of the others' gradients by that of a record moved beyond all bounds: it decides in a batch of both."""
_BEYOND = "by more than its clip or other bound lets through; the claim allows any change"
NUMBERS, LEAST = (2**23, 2**20), 256
"""Numbers that are released at all histories where each record is tried among others at one place, and where others
are turned, about; and pairs that are tried so at least."""


def audited_pair(
    experiment: Experiment, subject: Subject, claim: Claim, activations: int, progress: Progress
) -> tuple[Pair, PairSearch | None]:
    """`pair_for`; where it was searched for and the claim keeps coins secret, the pair that costs most for who does
    not know them."""
    pair, search = pair_for(experiment, subject, claim, activations, progress)
    spec = experiment.scenario.audit
    assert spec is not None
    claim = for_listener(claim, spec)
    if search is None or claim.coins == "known" or not claim.adjacency.record or math.isinf(search.winner.epsilon):
        return pair, search  # nothing costs more than what has no noise
    of_any = holds_for_any_change(subject, claim, activations)
    change = None if of_any else constant_change(subject, claim, activations)
    if not (of_any or change) or (most := _cost(subject, claim, pair)) is None:
        return pair, search
    agents = agents_of(subject.simulation, spec.agent)
    found = _Search(subject, claim, activations, pair, change).above(most, agents)
    if found.hypotheses is pair.hypotheses:
        return found, search
    winner = replace(search.winner, family=BOTH_MOVED, description=found.description, any_change=of_any)
    return found, replace(search, winner=winner)


def _cost(subject: Subject, claim: Claim, pair: Pair) -> float | None:
    """What a pair costs for who does not know the coins; None where these choose receivers alone, or where it
    is not known."""
    own = subject.simulation.problem.objectives[pair.agent]
    sample = _tossed(subject, pair.agent, own)
    if not sample.tossed or not sample.view.public.codec.lossless:
        return None
    hidden = HiddenValues.joined([HiddenValues.of(sample, pair.agent, one) for one in pair.hypotheses])
    if hidden is None or hidden.histories == 1 or not hidden.finite:
        return None
    return float(hidden.costs(np.array([[0, 1]]), claim.delta)[0])


def _tossed(subject: Subject, agent: int, own: Objective) -> Sample:
    """A transcript; where coins decide which messages there are, of several tosses the one that releases most."""
    simulation = subject.simulation
    first = worlds(simulation, agent, own, 1)(0, FIRST_CHUNK)
    hidden = HiddenValues.of(first, agent, own) if first.tossed else None
    if hidden is not None and len(hidden.kinds) == 1:
        return first
    tossed = (replace(simulation, tosses=FIRST_CHUNK + k) for k in range(TOSSES if first.tossed else 0))
    others = (worlds(one, agent, own, 1)(0, FIRST_CHUNK) for one in tossed)
    return max((first, *others), key=lambda one: sum(release.size for release in one.releases))


@dataclass(frozen=True)
class _Search:
    """Search for what costs more than a pair; of a claim of constant changes by so much (`change`, of the agent with
    the fewest records), or, None, of any."""

    subject: Subject
    claim: Claim
    activations: int
    pair: Pair
    change: float | None

    def above(self, most: float, agents: Sequence[int]) -> Pair:
        """What costs most, and more than `most`, of some agents; else the pair, with what is then known of it."""
        pair, records = self.pair, self.subject.simulation.problem.records
        vectors = _places(self.subject, pair, self.change)
        looked = [one for k in agents if (one := _Among.of(self.subject, self.claim, k, pair, vectors)) is not None]
        looked.sort(key=lambda one: (-one.first, one.agent != pair.agent, records[one.agent]))
        found, unlike = pair, {one.first: one for one in reversed(looked)}  # of agents that do alike the first
        for among in [*reversed(unlike.values())][:SEARCHED]:
            if among.agent == found.agent:
                found = among.known_of(found)
            if not self._is_bounded(among):
                continue
            (place, cost), words = among.best, _BEYOND if self.change is None else "as far, about 0"
            both = among.worlds(place)
            allowed = (allows(self.subject, self.claim, self.activations, among.agent, one) for one in both)
            if cost > most * (1 + SAME) and all(allowed):
                whose = f"the gradient of record {place.record} of agent {among.agent} moved in both worlds"
                found = replace(
                    pair, agent=among.agent, hypotheses=both, description=f"{whose}, as others are, {words}"
                )
                found = replace(among.known_of(found), change_used=1.0, any_change=self.change is None)
                most = cost
        return found

    def _is_bounded(self, among: "_Among") -> bool:
        """Whether the claim is of all that is tried: changes have a bound, or what the code releases has."""
        if self.change is not None or (self.pair.any_change and among.agent == self.pair.agent):
            return True
        return bounds_releases(self.subject.simulation, among.agent, among.record)


def _places(subject: Subject, pair: Pair, change: float | None) -> Array:
    """Gradients of a record (places, dimension) between which it is moved: 0 and others that are opposite. Of a claim
    of constant changes (`change`, of the agent with the fewest records) so far apart, along the pair, what moves the
    releases most, all coordinates and one; else where it is in the pair, or beyond all bounds, and nearer."""
    own = cast("Sampled", subject.simulation.problem.objectives[pair.agent])
    d, start = own.dimension, np.zeros((1, own.dimension))
    record, even, first = differing(pair.hypotheses, own.records, d), np.full(d, d**-0.5), np.eye(d)[0]
    ends = [] if record is None else [world.batch([record]).gradient(start)[0] for world in pair.hypotheses]
    if change is None:
        some = ends if pair.any_change and ends else [FAR * own.records * first]
        return _distinct([size * one for size in (0.0, 1.0, -1.0, NEARER, -NEARER) for one in some])
    half, ways = change * min(subject.simulation.problem.records) / 2, [even, first]
    if record is not None:
        place = -own.batch([record]).gradient(start)[0] / own.records
        steep = steepest(subject.simulation, pair.agent, record, place, half / own.records, "l2")
        ways = [ends[1] - ends[0], *steep, *ways]
    units = [way / np.linalg.norm(way) for way in ways if np.any(way)]
    return _distinct([size * one for size in (0.0, half, -half) for one in units])


def _distinct(vectors: Sequence[Array]) -> Array:
    """Those (some, dimension) that are about the same as none before."""
    found = list[Array]()
    for one in vectors:
        if not any(np.linalg.norm(one - other) <= ALIKE * np.linalg.norm(one) for other in found):
            found.append(one)
    return np.array([one.tolist() for one in found])


class _Pair(NamedTuple):
    """Which record differs, between which two places, and at which the others lie, (records,)."""

    record: int
    ends: tuple[int, int]
    others: tuple[int, ...]

    def turned(self, k: int, place: int) -> Iterator[Self]:
        """With another record at another place; or with this one there, in either world."""
        if k != self.record:
            yield self._replace(others=(*self.others[:k], place, *self.others[k + 1 :]))
        elif place not in self.ends:
            yield from (self._replace(ends=(end, place)) for end in self.ends)


@dataclass(frozen=True, eq=False)
class _Placed:
    """A hypothesis for each replica: the gradient of each record moved by the vector (places, dimension) of its place
    in `at` (replicas, records); at the place after the last by what it was `found` to be moved by, (records,
    dimension)."""

    own: Objective
    vectors: Array
    found: Array
    at: NDArray[np.int8]

    @cached_property
    def _moved(self) -> Array:
        """By how much all of the gradient is moved, (replicas, dimension)."""
        last = len(self.vectors)
        counts = np.stack([np.count_nonzero(self.at == k, axis=1) for k in range(last)], axis=1)
        return np.asarray((counts @ self.vectors + (self.at == last) @ self.found) / self.at.shape[1])

    def gradient(self, x: Array) -> Array:
        return self.own.gradient(x) + self._moved

    def hessian(self, x: Array) -> Array:
        return self.own.hessian(x)

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        return self.own.proximal(v - step * self._moved, step, regularizer)

    def batch(self, indices: Sequence[int]) -> "_Placed":
        chosen = np.asarray(indices)
        return _Placed(self.own.batch(chosen), self.vectors, self.found[chosen], self.at[:, chosen])


@dataclass(frozen=True, eq=False)
class _Among:
    """Pairs of one agent that differ in a record's gradient, among others that are moved too: to places, `vectors`
    (places, dimension), by what each is `still`, (records, dimension), at 0. In the pair that was `found` the others
    are moved so from there. `record` is one that is in a batch of the `sample`, or the one by which that differs; all
    histories of its coins are `listed`, or not, and release so many `numbers`."""

    own: Sampled
    vectors: Array
    still: Array
    found: Array | None
    record: int
    listed: bool
    numbers: int
    sample: Sample
    agent: int
    delta: float

    @classmethod
    def of(cls, subject: Subject, claim: Claim, agent: int, pair: Pair, vectors: Array) -> Self | None:
        """None where there is one record, or many, or where the code cannot be replayed."""
        own = cast("Sampled", subject.simulation.problem.objectives[agent])
        if not 1 < own.records <= CROWD:
            return None
        sample = _tossed(subject, agent, own)
        if (hidden := HiddenValues.of(sample, agent, own)) is None:
            return None
        batches = Asking.of(sample, agent, own).batches
        record, found = batches[0][0] if batches else 0, None
        still = _gradients(own, own.records)
        if agent == pair.agent and (differs := differing(pair.hypotheses, own.records, own.dimension)) is not None:
            record, found = differs, _gradients(pair.hypotheses[0], own.records)
        return cls(own, vectors, -still, found, record, hidden.listed, hidden.numbers, sample, agent, claim.delta)

    def known_of(self, pair: Pair) -> Pair:
        """A pair of this agent, with whether all its records were tried, and pairs ranked by all histories."""
        ranked, tried = self.first > 0 and self.listed, self._records
        return replace(pair, of_all_records=ranked and len(tried) == self.own.records, over_all_tosses=ranked)

    @cached_property
    def first(self) -> float:
        """What costs most where all others lie at one place: to three digits, for agents that do alike."""
        return float(f"{max((cost for _, cost in self._first_tried), default=0.0):.3g}")

    @property
    def _records(self) -> list[int]:
        """Those that are tried as the one that differs: by histories that are drawn they differ by chance, and there
        it is one."""
        rows = max(1, NUMBERS[0] // (self.numbers * len(self.vectors) ** 2))
        return evenly(self.own.records, min(RECORDS, rows)) if self.listed else [self.record]

    @cached_property
    def _first_tried(self) -> Sequence[tuple[_Pair, float]]:
        """Each record between each two places, among others that all lie at one, and what that costs."""
        last, records = len(self.vectors), self.own.records
        whole = [(place,) * records for place in range(last)]
        ends = sorted(combinations(range(last), 2), key=self._nearness)
        pairs = [_Pair(k, two, others) for k in self._records for others in whole for two in ends]
        if self.found is not None:
            pairs += [_Pair(self.record, two, (last,) * records) for two in ends]
        return [*zip(pairs, self._costs(pairs), strict=True)]

    def _nearness(self, ends: tuple[int, int]) -> float:
        """Less for places that are farther apart."""
        one, two = self.vectors[[*ends]]
        return -float(np.linalg.norm(two - one))

    @cached_property
    def best(self) -> tuple[_Pair, float]:
        """What costs most of all that is tried, and how much."""
        tried = self._first_tried
        best = max(tried, key=itemgetter(1))
        some, last = evenly(self.own.records, TURNED), len(self.vectors)
        for _ in range(TURNS if self.listed else 0):
            turns = (one.turned(k, place) for one in _dearest(tried) for k in some for place in range(last))
            turned = [*dict.fromkeys(chain.from_iterable(turns))]
            turned = [turned[k] for k in evenly(len(turned), max(LEAST, NUMBERS[1] // self.numbers))]
            tried = [*zip(turned, self._costs(turned), strict=True)]
            dearest = max(tried, key=itemgetter(1))
            if dearest[1] <= best[1] * (1 + SAME):
                break
            best = dearest
        return best[0], self._costs([best[0]])[0]

    def worlds(self, pair: _Pair) -> tuple[Surrounded, Surrounded]:
        """Both worlds."""
        others, last = np.array(pair.others), len(self.vectors)
        lie = self.still + np.concatenate([self.vectors, self.vectors[:1]])[others]
        if self.found is not None:
            lie = np.where((others == last)[:, None], self.still + self.found, lie)
        lie[pair.record] = self.still[pair.record]
        slopes = self.vectors[[*pair.ends]] / self.own.records
        one, two = (Surrounded(self.own, slope, record=pair.record, others=lie) for slope in slopes)
        return one, two

    def _costs(self, pairs: Sequence[_Pair]) -> list[float]:
        """What each pair costs; 0 where that is not known."""
        if not pairs:
            return []
        rows = dict[tuple[int, int, tuple[int, ...]], int]()
        both = [[rows.setdefault((k, end, rest), len(rows)) for end in ends] for k, ends, rest in pairs]
        at = np.array([rest for _, _, rest in rows], dtype=np.int8)
        at[np.arange(len(rows)), [k for k, _, _ in rows]] = [end for _, end, _ in rows]
        own = Surrounded(self.own, np.zeros(self.own.dimension), record=0, others=self.still)
        found = np.zeros_like(self.still) if self.found is None else self.found
        placed = _Placed(own, self.vectors, found, at)
        hidden = HiddenValues.of(self.sample.copied(len(rows)), self.agent, placed)
        return [0.0] * len(pairs) if hidden is None else hidden.costs(np.array(both), self.delta).tolist()


def _gradients(objective: Hypothesis, records: int) -> Array:
    """Gradient of each record by itself at 0, (records, dimension)."""
    start = np.zeros((1, cast("Objective", objective).dimension))
    return np.concatenate([objective.batch([k]).gradient(start) for k in range(records)])


def _dearest(tried: Sequence[tuple[_Pair, float]]) -> list[_Pair]:
    """The pairs that cost most, `SAMES` at most of those that cost the same (others are their mirror images), or that
    lie among others at one place: any may be where turning them begins."""
    times, found = Counter[str | int](), list[_Pair]()
    for one, cost in sorted(tried, key=lambda one: -round(one[1], 9)):
        lie = set(one.others)
        kind = f"{cost:.6g}" if len(lie) > 1 else lie.pop()
        times[kind] += 1
        if times[kind] <= SAMES and (len(found) < BEST or isinstance(kind, int)):
            found.append(one)
    return found
