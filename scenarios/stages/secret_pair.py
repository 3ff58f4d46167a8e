"""The pair that costs most for who does not know an agent's private coins: which record differs, and where all others
lie.

Where it is secret which records are asked, what one of them does is hidden among what the others do, and a pair that
costs most at every toss may cost little at all of them together: opposite answers, whose signs are tossed, look
alike. So the record that differs goes between any two of some *places* of its gradient (0, both sides of the code's
bound, along the pair that was found and along coordinates), the others lie at any of these in both worlds, and are
turned to others as long as that costs more. Where all of an agent's data may differ, its whole gradient goes between
such places, and there are no others. What each does at every history of the coins, or at some that are drawn, is
replayed on a transcript that the audit does not use, of each kind of messages that the coins decide on: that ranks
pairs, and proves nothing. Where none costs more than is claimed, and other numbers are mixed otherwise with what is
private (`other_numbers.unlike`), pairs are ranked there too; at δ > 0 in transcripts as they are drawn, each way of
mixing at the δ that is left for its share.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, product
from operator import itemgetter
from typing import NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from attacks.audit.followed.asked import differing
from attacks.audit.loss.comparison import Sample
from attacks.audit.pair import Pair
from attacks.audit.verdict import exceeds
from attacks.replay import Hypothesis
from netsim.arrays import Array, evenly
from netsim.claims import Claim, Norm, length
from netsim.models.model import Regularizer
from netsim.problems import Objective, Sampled, Surrounded, Tilted
from netsim.simulation import Simulation
from scenarios.build.duration import Progress
from scenarios.build.experiment import Experiment, Subject
from scenarios.results.audit import BOTH_MOVED, PairSearch
from scenarios.stages import other_numbers
from scenarios.stages.coin_kinds import CoinKinds
from scenarios.stages.drawn_pairs import CROWD, SAME, Asking, bounds_releases, steepest
from scenarios.stages.hidden_values import HiddenValues
from scenarios.stages.worlds import agents_of, for_listener
from scenarios.stages.worst_pair import FAR, allows, constant_change, holds_for_any_change, pair_for

RECORDS, TURNED, TURNS, BEST = 16, 32, 6, 16
"""Records that are tried as the one that differs, and others that are turned, at most; how many in turn, and of how
many pairs, those that cost most."""
SAMES = 2
"""Of these, those that cost the same, at most."""
PLACES, COORDINATES = 12, 8
"""Places that are tried, and to which others are turned, at most where much is released; coordinates along which some
lie."""
ALIKE = 1e-3
"""Relative: places that differ by less are the same."""
HALVED = 3
"""Records of which others are split in halves, at least."""
EXCESS = 1e-9
"""Relative: by so much places may be farther apart than is allowed, by rounding."""
LARGE = 10.0, 1e3
"""Sizes of gradients about which they are moved, in units of the change that a claim allows."""
SEARCHED, STILL = 2, 3
"""Agents whose other records are turned: those whose pairs cost most among others that lie at one place, and of those
whose pairs cost nothing there."""
NEARER = 1e-2
"""Size of the others' gradients by that of a record moved beyond all bounds: it decides in a batch of both."""
_BEYOND = "by more than its clip or other bound lets through; the claim allows any change"
_CROWDED = (
    f"The claim counts on secret coins, and an agent has more than {CROWD:,} records: for which data of the others "
    "one record is hidden least is not searched there. Audit it with fewer records (`data.records`)."
)
NUMBERS, LEAST = (2**23, 2**20), 256
"""Numbers that are released at all histories where each record is tried among others at one place, and where others
are turned, about; and pairs that are tried so at least."""


def audited_pair(
    experiment: Experiment, subject: Subject, claim: Claim, activations: int, progress: Progress
) -> tuple[Pair, PairSearch | None]:
    """`pair_for`; where it was searched for and the claim keeps coins secret, the pair that costs most for who does
    not know them."""
    kinds = dict[int, CoinKinds]()
    pair, search = pair_for(experiment, subject, claim, activations, progress, kinds)
    spec = experiment.scenario.audit
    assert spec is not None
    claim = for_listener(claim, spec)
    if search is None or claim.coins == "known" or math.isinf(search.winner.epsilon):
        return pair, search  # nothing costs more than what has no noise
    of_any = holds_for_any_change(subject, claim, activations)
    change = None if of_any else claim.adjacency.change or constant_change(subject, claim, activations)
    looked = _Search(subject, claim, activations, pair, change, kinds)
    if not (of_any or change) or (most := looked.cost) is None:
        return pair, search
    agents = agents_of(subject.simulation, spec.agent)
    found = looked.above(most, agents)
    records = subject.simulation.problem.records
    crowded = claim.adjacency.record and any(records[k] > CROWD for k in agents)
    if crowded and found.doubt is None and search.winner.epsilon > (claim.epsilon or 0.0) * (1 + SAME):
        found = replace(found, doubt=_CROWDED)
    if found.hypotheses is pair.hypotheses:
        return found, search
    if found.doubt is None:
        found = replace(found, doubt=other_numbers.doubt(subject.simulation, found, claim))
    winner = replace(search.winner, family=BOTH_MOVED, description=found.description, any_change=of_any)
    return found, replace(search, winner=winner)


@dataclass(frozen=True)
class _Search:
    """Search for what costs more than a pair; of a claim of constant changes by so much (`change`, of one record that
    of the agent with the fewest), or, None, of any."""

    subject: Subject
    claim: Claim
    activations: int
    pair: Pair
    change: float | None
    _kinds: dict[int, CoinKinds] = field(default_factory=dict[int, CoinKinds])

    def kinds(self, agent: int) -> CoinKinds:
        """Those of an agent's coins."""
        if agent not in self._kinds:
            self._kinds[agent] = CoinKinds.of(self.subject.simulation, agent)
        return self._kinds[agent]

    @property
    def cost(self) -> float | None:
        """What the pair costs for who does not know the coins; None where these choose receivers alone, or where it
        is not known."""
        agent = self.pair.agent
        samples = self.kinds(agent).samples(agent)
        if not samples[0].tossed or not samples[0].view.public.codec.lossless:
            return None
        hidden = HiddenValues.joined([HiddenValues.of(samples, agent, one) for one in self.pair.hypotheses])
        if hidden is None or hidden.histories == 1 or not hidden.finite:
            return None
        return float(hidden.costs(np.array([[0, 1]]), self.claim.delta)[0])

    def above(self, most: float, agents: Sequence[int]) -> Pair:
        """What costs most, and more than `most`, of some agents; else the pair, with what is then known of it."""
        pair, records = self.pair, self.subject.simulation.problem.records
        vectors = _places(self.subject, self.claim, pair, self.change, self.kinds(pair.agent).simulations)
        apart = None if self.change is None else _allowed(self.subject, self.claim, self.change)
        each = (_Among.of(self.subject, self.claim, k, pair, vectors, apart, self.kinds(k)) for k in agents)
        looked = [one for one in each if one is not None]
        looked.sort(key=lambda one: (-one.first, one.agent != pair.agent, records[one.agent]))
        found: Pair = pair
        tried = [one for one in _unlike(looked) if self._is_bounded(one)]
        for among in tried:
            cost, moved = among.best[1], self._moved(among)
            if moved is not None and among.agent == found.agent:
                found = among.known_of(found)
            if moved is not None and cost > most * (1 + SAME):
                found, most = moved, cost
        claimed = self.claim.epsilon
        if self.claim.delta > 0:
            return self._of_shares(tried) or found
        if claimed is None or exceeds(most, claimed):
            return found
        for among in tried:
            for samples in other_numbers.unlike(self.kinds(among.agent).simulations, among.samples, among.agent):
                there = replace(among, samples=samples)
                if exceeds(there.best[1], claimed) and (moved := self._moved(there)) is not None:
                    return moved  # it is refuted, or doubted
        return found

    def _of_shares(self, tried: "Sequence[_Among]") -> Pair | None:
        """Where an agent mixes what is private in several ways, by what was drawn: what costs most in one of them, at
        the δ that all transcripts leave for its share of them; None where there is one way."""
        found, most = None, 0.0
        for among in tried:
            ways = other_numbers.shares(self.kinds(among.agent).simulations, among.samples, among.agent)
            for share, samples in ways if len(ways) > 1 else ():
                if share > self.claim.delta:
                    there = replace(among, samples=samples, delta=self.claim.delta / share)
                    if there.best[1] > most * (1 + SAME) and (moved := self._moved(there)) is not None:
                        found, most = moved, there.best[1]
        return found

    def _moved(self, among: "_Among") -> Pair | None:
        """What costs most of an agent, as a pair; None where the claim does not allow its worlds."""
        place, both = among.best[0], among.worlds(among.best[0])
        if not all(allows(self.subject, self.claim, self.activations, among.agent, one) for one in both):
            return None
        words = _BEYOND if self.change is None else f"as far, about {among.about(place)}"
        words = f"the gradient of {among.whose(place)}, {words}"
        found = replace(self.pair, agent=among.agent, hypotheses=both, description=words)
        used = self._used(among.between(place))
        return replace(among.known_of(found), change_used=used, any_change=self.change is None)

    def _used(self, apart: Array) -> float:
        """Share of the change that is allowed of a gradient that differs by so much, (dimension,)."""
        if self.change is None:
            return 1.0
        most, norm = _allowed(self.subject, self.claim, self.change)
        return float(length(apart, norm)) / most

    def _is_bounded(self, among: "_Among") -> bool:
        """Whether the claim is of all that is tried: changes have a bound, or what the code releases has."""
        if self.change is not None or (self.pair.any_change and among.agent == self.pair.agent):
            return True
        return bounds_releases(self.kinds(among.agent).simulations, among.agent, among.record)


def _allowed(subject: Subject, claim: Claim, change: float) -> tuple[float, Norm]:
    """How far apart gradients of a record may be, or all of an agent's, and in which norm."""
    of_one = min(subject.simulation.problem.records) if claim.adjacency.record else 1
    return change * of_one, "l2" if claim.adjacency.change is None else claim.adjacency.norm


def _places(
    subject: Subject, claim: Claim, pair: Pair, change: float | None, simulations: Sequence[Simulation]
) -> Array:
    """Gradients of a record, or all of an agent's, (places, dimension) between which it is moved: 0 and others that
    are opposite, along the pair, what moves the releases most, all coordinates, and a few. Of a claim of changes by
    so much so far apart, and where it is stated also about the middle of the pair and about large gradients, which
    secret coins hide least; else beyond all bounds, where they have any; along the pair as it is and nearer, too."""
    own = subject.simulation.problem.objectives[pair.agent]
    d, start = own.dimension, np.zeros((1, own.dimension))
    records = cast("Sampled", own).records if claim.adjacency.record else 1
    record = differing(pair.hypotheses, records, d) if records > 1 else None
    part = [one if record is None else one.batch([record]) for one in (own, *pair.hypotheses)]
    still, *ends = [one.gradient(start)[0] for one in part]
    if records > 1 and record is None:
        still, ends = np.zeros(d), []
    even, coordinates = np.full(d, d**-0.5), np.eye(d)[evenly(d, COORDINATES)]
    if change is None:
        some = ends if pair.any_change and ends else [FAR * records * coordinates[0]]
        found = [size * one for size in (0.0, 1.0, -1.0, NEARER, -NEARER) for one in some]
        if not bounds_releases(simulations, pair.agent, record):
            return _distinct(found)
        half, norm, turned, along = max(float(np.linalg.norm(one)) for one in some), "l2", NEARER, []
    else:
        most, norm = _allowed(subject, claim, change)
        half, turned, along = most / 2, most / 2 / records, [ends[1] - ends[0]] if ends else []
        found = [0.0 * even]
    steep = (steepest(one, pair.agent, record, -still / records, turned, norm) for one in simulations)
    ways = [*along, *chain.from_iterable(steep), even, *coordinates]
    units = [way / length(way, norm) for way in ways if np.any(way)]
    places = _distinct([*found, *(side * half * one for one in units for side in (1.0, -1.0))])
    if change is None or claim.adjacency.change is None:  # of data: farther out there may be none
        return places
    uneven = np.linspace(1.0, 2.0, d) / length(np.linspace(1.0, 2.0, d), norm)
    about = [(ends[0] + ends[1]) / 2] if ends else []
    about += [side * size * change * uneven for size in LARGE for side in (1.0, -1.0)]
    return np.concatenate([places, *(one + places[1:] for one in about)])


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
        if self.at.shape[1] == 1:  # all of them together
            return replace(self, own=self.own.batch(chosen))
        return _Placed(self.own.batch(chosen), self.vectors, self.found[chosen], self.at[:, chosen])


@dataclass(frozen=True, eq=False)
class _Among:
    """Pairs of one agent that differ in a record's gradient, among others that are moved too: to places, `vectors`
    (places, dimension), by what each is `still`, (records, dimension), at 0; or in all of its gradient, (1,
    dimension). In the pair that was `found` the others are moved so from there. `record` is one that is in a batch of
    the `samples`, or the one by which that differs, None where all may; all histories of its coins are `listed`, or
    not, and release so many `numbers`."""

    own: Objective
    vectors: Array
    still: Array
    found: Array | None
    record: int | None
    listed: bool
    numbers: int
    samples: tuple[Sample, ...]
    agent: int
    delta: float
    apart: tuple[float, Norm] | None

    @classmethod
    def of(
        cls,
        subject: Subject,
        claim: Claim,
        agent: int,
        pair: Pair,
        vectors: Array,
        apart: tuple[float, Norm] | None,
        kinds: CoinKinds,
    ) -> Self | None:
        """None where there are many records, or where the code cannot be replayed."""
        own = subject.simulation.problem.objectives[agent]
        records = cast("Sampled", own).records if claim.adjacency.record else 1
        if records > CROWD:
            return None
        samples = kinds.samples(agent)
        if (hidden := HiddenValues.of(samples, agent, own)) is None:
            return None
        record, found = None, None
        if claim.adjacency.record:
            batches = chain.from_iterable(Asking.of(one, agent, own).batches for one in samples)
            record = next((batch[0] for batch in batches), 0)
        still = _gradients(own, records)
        differs = differing(pair.hypotheses, records, own.dimension) if agent == pair.agent and records > 1 else None
        if differs is not None:
            record, found = differs, _gradients(pair.hypotheses[0], records)
        some = math.isqrt(NUMBERS[1] // (min(records, RECORDS) * hidden.numbers))
        vectors = vectors[: max(PLACES, some)]
        return cls(
            own, vectors, -still, found, record, hidden.listed, hidden.numbers, samples, agent, claim.delta, apart
        )

    def known_of(self, pair: Pair) -> Pair:
        """A pair of this agent, with whether all its records were tried, and others turned about each, and pairs
        ranked by all histories."""
        ranked, tried = self.listed and self.best[1] > 0, self._records
        of_all = ranked and self.record is not None and len(tried) == self.records
        return replace(pair, of_all_records=of_all, over_all_tosses=ranked)

    def whose(self, pair: _Pair) -> str:
        """Whose gradient is moved, and whose besides, in words."""
        agent = f"agent {self.agent}"
        if self.record is None:
            return f"{agent} moved in both worlds"
        return f"record {pair.record} of {agent} moved in both worlds, as others are"

    def about(self, pair: _Pair) -> str:
        """Where its middle lies, in words."""
        middle = np.mean(self.vectors[[*pair.ends]], axis=0)
        near = np.linalg.norm(middle) <= np.linalg.norm(self.between(pair))
        return "0" if near else "a large gradient"

    def between(self, pair: _Pair) -> Array:
        """What lies between its ends, (dimension,)."""
        one, two = self.vectors[[*pair.ends]]
        return two - one

    @property
    def records(self) -> int:
        """How many gradients are moved: 1 where it is all of the agent's."""
        return len(self.still)

    @cached_property
    def first(self) -> float:
        """What costs most where all others lie at one place: to three digits, for agents that do alike."""
        return float(f"{max((cost for _, cost in self._first_tried), default=0.0):.3g}")

    @property
    def _records(self) -> list[int]:
        """Those that are tried as the one that differs: by histories that are drawn they differ by chance, and there
        it is one."""
        rows = max(1, NUMBERS[0] // (self.numbers * len(self.vectors) ** 2))
        return evenly(self.records, min(RECORDS, rows)) if self.listed else [self.record or 0]

    @cached_property
    def _first_tried(self) -> Sequence[tuple[_Pair, float]]:
        """Each record between each two places, among others that all lie at one, and what that costs."""
        last, records = len(self.vectors), self.records
        whole = [(place,) * records for place in range(last if records > 1 else 1)]
        ends = sorted(filter(self._allows, combinations(range(last), 2)), key=self._nearness)
        pairs = [_Pair(k, two, others) for k in self._records for others in whole for two in ends]
        pairs += self._among_halves
        if self.found is not None:
            pairs += [_Pair(self.record or 0, two, (last,) * records) for two in ends]
        return [*zip(pairs, self._costs(pairs), strict=True)]

    @property
    def _among_halves(self) -> list[_Pair]:
        """Each record between 0 and two opposite places, among others of which every second one lies at each: there a
        median moves, and not where all others lie at one."""
        both = [two for two in combinations(range(1, len(self.vectors)), 2) if self._opposite(two)]
        if self.records < HALVED:
            return []
        found = list[_Pair]()
        for k, (one, two) in product(self._records, both):
            half = [(one, two)[place % 2] for place in range(self.records - 1)]
            others = (*half[:k], one, *half[k:])
            found += [_Pair(k, ends, others) for ends in ((0, one), (0, two), (one, two)) if self._allows(ends)]
        return found

    def _opposite(self, two: tuple[int, int]) -> bool:
        one, other = self.vectors[[*two]]
        return bool(np.allclose(one, -other, rtol=ALIKE))

    def _allows(self, ends: tuple[int, int]) -> bool:
        """Whether places are as far `apart` as is allowed, at most."""
        one, two = self.vectors[[*ends]]
        return self.apart is None or float(length(two - one, self.apart[1])) <= self.apart[0] * (1 + EXCESS)

    def _nearness(self, ends: tuple[int, int]) -> float:
        """Less for places that are farther apart."""
        one, two = self.vectors[[*ends]]
        return -float(np.linalg.norm(two - one))

    @cached_property
    def best(self) -> tuple[_Pair, float]:
        """What costs most of all that is tried, and how much."""
        tried = self._first_tried
        best = max(tried, key=itemgetter(1))
        some, places, rows = evenly(self.records, TURNED), self._dearest_places, NUMBERS[1] // self.numbers
        for _ in range(TURNS if self.listed and self.records > 1 else 0):
            starts = _dearest(tried, places, rows // (len(some) * len(places)))
            turns = (one.turned(k, place) for one in starts for k in some for place in places)
            turned = [*dict.fromkeys(chain.from_iterable(turns))]
            turned = [turned[k] for k in evenly(len(turned), max(LEAST, rows))]
            tried = [*zip(turned, self._costs(turned), strict=True)]
            dearest = max(tried, key=itemgetter(1))
            if dearest[1] <= best[1] * (1 + SAME):
                break
            best = dearest
        return best[0], self._costs([best[0]])[0]

    @cached_property
    def _dearest_places(self) -> list[int]:
        """Those of the ends of what costs most among others at one place, and of these."""
        found = dict[int, None]()
        for one, _ in sorted(self._first_tried, key=lambda one: -round(one[1], 9)):
            found |= dict.fromkeys((*one.ends, *one.others[:1]))
            if len(found) >= PLACES:
                break
        return [place for place in found if place < len(self.vectors)]

    def worlds(self, pair: _Pair) -> tuple[Tilted, Tilted]:
        """Both worlds."""
        if self.records == 1:
            one, two = (Tilted(self.own, self.still[0] + self.vectors[end]) for end in pair.ends)
            return one, two
        others, last = np.array(pair.others), len(self.vectors)
        lie = self.still + np.concatenate([self.vectors, self.vectors[:1]])[others]
        if self.found is not None:
            lie = np.where((others == last)[:, None], self.still + self.found, lie)
        lie[pair.record] = self.still[pair.record]
        slopes = self.vectors[[*pair.ends]] / self.records
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
        none = np.zeros(self.own.dimension)
        own = Tilted(self.own, self.still[0])
        if self.records > 1:
            own = Surrounded(self.own, none, record=0, others=self.still)
        found = np.zeros_like(self.still) if self.found is None else self.found
        placed = _Placed(own, self.vectors, found, at)
        hidden = HiddenValues.of([one.copied(len(rows)) for one in self.samples], self.agent, placed)
        return [0.0] * len(pairs) if hidden is None else hidden.costs(np.array(both), self.delta).tolist()


def _unlike(looked: Sequence[_Among]) -> list[_Among]:
    """Of agents, in their order, those whose other records are turned: where pairs among others at one place cost as
    much, one of each number of records. Where none costs anything, as of a median, that says nothing of what they do:
    first of each number of releases one, then others."""
    costly = {(one.first, one.records): one for one in reversed(looked) if one.first}
    still = [one for one in looked if not one.first]
    new = {one.numbers: one for one in reversed(still)}
    still.sort(key=lambda one: new[one.numbers] is not one)
    return [*[*reversed(costly.values())][:SEARCHED], *still[:STILL]]


def _gradients(objective: Hypothesis, records: int) -> Array:
    """Gradient of each record by itself at 0, (records, dimension); of all where it is 1."""
    start = np.zeros((1, cast("Objective", objective).dimension))
    each = [objective.batch([k]) for k in range(records)] if records > 1 else [objective]
    return np.concatenate([one.gradient(start) for one in each])


def _dearest(tried: Sequence[tuple[_Pair, float]], places: Sequence[int], most: int) -> list[_Pair]:
    """The pairs that cost most, `SAMES` at most of those that cost the same (others are their mirror images), or of
    one record among others at one of these places: any may be where turning them begins. Of these `most`, first one
    of each record and each place."""
    times, found = Counter[Hashable](), list[_Pair]()
    first, others, records, lying = list[_Pair](), list[_Pair](), set[int](), set[int]()
    for one, cost in sorted(tried, key=lambda one: -round(one[1], 9)):
        lie = {*one.others}
        turned = len(lie) > 1 or not lie <= {*places}
        kind = f"{cost:.6g}" if turned else (one.record, *lie)
        times[kind] += 1
        if times[kind] > SAMES:
            continue
        if turned:
            found.append(one)
            continue
        (others if one.record in records and lie <= lying else first).append(one)
        records.add(one.record)
        lying |= lie
    return [*found[:BEST], *first, *others[: max(0, most - len(first))]]
