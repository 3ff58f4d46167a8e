"""Worst pair of worlds within what a claim allows, found on a few transcripts that the audit does not use.

A claim whose ε stays the same however much a gradient may change holds for any data of the agent, because the
algorithm bounds what it releases (by clipping, or a bounded function). The pair that costs most then has a linear
change beyond that bound in each world, in opposite directions: what is released differs by 2C, not by C. Whether
there is a bound is seen in what the agent sends, and not believed: ten times the change must leave it there. Where
the scenario states a change, the claim depends on it, or nothing bounds what is sent, the pair stays within the
claim's adjacency. A claim that depends on no more of records than by how much they move a gradient is of every
constant change of that size: these are tried too.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from operator import attrgetter
from typing import Self, cast

import numpy as np

from attacks.audit.loss.aimed import WORST_CASE
from attacks.audit.loss.comparison import Sample, compare_worlds
from attacks.audit.loss.far_out import is_own
from attacks.audit.pair import (
    FIRST_CHUNK,
    Candidate,
    Direction,
    Pair,
    Searched,
    change_used,
    observed,
    scaled,
    search,
    worst,
)
from attacks.audit.verdict import ROUNDING
from netsim.arrays import Array, evenly
from netsim.claims import BY_HAND, Adjacency, Claim, Norm
from netsim.errors import NetsimError, ScenarioError, StalledError
from netsim.problems import Bent, Objective, Sampled, Tilted
from netsim.randomness import Streams
from netsim.shown import show
from netsim.simulation import Simulation
from scenarios.build.duration import Progress
from scenarios.build.experiment import Experiment, Subject
from scenarios.build.problem import AnyLogistic, curvature_of
from scenarios.build.search_spaces import Data, Moved, Records, Spaces
from scenarios.results.audit import BOTH_MOVED, PairSearch, change_option
from scenarios.results.base import taken
from scenarios.results.numbers import plural
from scenarios.schema.scenario import GradientChange
from scenarios.stages import other_numbers
from scenarios.stages.coin_kinds import SEEN, CoinKinds
from scenarios.stages.drawn_pairs import (
    CROWD,
    NEARER,
    SAME,
    SEEN_IN,
    TOGETHER,
    WIDTHS,
    Asking,
    EachRecord,
    Rows,
    bounds_releases,
    least_noise,
    plain,
    steepest,
    unit_of,
)
from scenarios.stages.worlds import AGENTS, activations_of, agents_of, for_listener, holding, worlds

FAR = 1e6
"""A change beyond every bound that data of this size would be clipped to: so many times the largest gradient seen."""
FARTHER = 10.0
"""Times that change, to see whether it still counts."""
SATURATED = 0.05
"""Share of the first change by which the second may still move what the agent sends."""
COORDINATES = 8
"""Coordinates along which changes are tried, at most: noise need not be the same in all."""
FEWER = 8
"""Times fewer candidates for the others, and again for those that are only looked at."""
CONSTANT = "the gradient of one agent moved by a constant vector"
"""An adjacency that is stated by how much a gradient changes alone."""
_BEYOND = "by more than its clip or other bound lets through; the claim allows any change"
"""How a pair that saturates is described."""
_UNBOUNDED = "; the claim allows any change, and no clip or other bound was seen: other data may cost more"
"""Addition to a pair within the adjacency; who claims by hand may know of a bound of the data."""
_ENTANGLED = (
    "The answer for one record moves points at which others are asked, before anything is released: these records "
    "may turn by it as far as their clips allow, which the search does not try. Ask all records at points that were "
    "released, or claim the cost of all that are asked after it."
)
_STILL = (
    "In the transcripts of the search nothing that is released depended on the data: no pair was better than "
    "another. Look at more of them (-o 'audit.search={candidates: 200, transcripts: 64}')."
)
_MISSED = (
    f"Private coins decide on more ways to send messages than were looked at ({SEEN}), and some of these release "
    "other noise, or other numbers, than all others: a way that was not seen may cost more. Audit fewer rounds, or "
    "let coins decide on what is released and not on which messages there are."
)
TRANSCRIPTS = 8
"""Transcripts on which a pair that was not searched for is looked at."""
KEPT = 32
"""Objectives of an agent whose transcripts are kept."""


def pair_for(
    experiment: Experiment,
    subject: Subject,
    claim: Claim,
    activations: int,
    progress: Progress,
    known: dict[int, CoinKinds] | None = None,
) -> tuple[Pair, PairSearch | None]:
    """The pair under audit, and the search that found it; without `audit.search` the experiment's own.

    `activations` is Θ, at which the claim was evaluated. The kinds of agents' coins that are found become `known`.
    Errors as `attacks.audit.pair.search`'s.
    """
    spec, pair = experiment.scenario.audit, experiment.pair
    assert spec is not None
    assert pair is not None
    claim, looked_at = for_listener(claim, spec), agents_of(subject.simulation, spec.agent)
    if (less := _seen_less(subject.simulation, looked_at if spec.search else [pair.agent])) is not None:
        pair = replace(pair, seen_less=less)
    if spec.search is None:
        sample = worlds(subject.simulation, pair.agent, cast("Objective", pair.hypotheses[1]), TRANSCRIPTS)
        points = observed(sample(0, FIRST_CHUNK), pair.agent, pair.hypotheses[0])
        record = 0 if spec.adjacency == "record" else None
        of_any = claim.norm != BY_HAND and holds_for_any_change(subject, claim, activations)  # by hand: of this pair
        of_any = of_any and bounds_releases([subject.simulation], pair.agent, record)
        pair = replace(pair, change_used=_used(subject, claim, pair, points), any_change=of_any)
        return replace(pair, doubt=other_numbers.doubt(subject.simulation, pair, claim)), None
    kinds = CoinKinds.of_each(subject.simulation, looked_at)
    if known is not None:
        known |= kinds
    networks = {k: one.unlike for k, one in kinds.items()}
    tried = sum(budget for *_, budget in _wanted(networks, spec.search.candidates))
    progress.begin(f"{subject.spec.name}: searching the worst pair", tried)  # and pairs with both worlds moved
    found: list[_Found] = []
    for one in _searched(experiment, subject, claim, activations, networks, progress):
        found.append(one if claim.delta > 0 else one.aimed)
        if np.isinf(one.searched.winner.epsilon):
            break  # nothing can cost more
    at, together = worst([one.searched for one in found])
    best, winner = found[at], together.winner
    description = f"{winner.candidate.description} (the worst of {together.tried:,} searched)"
    bound = {one.where for one in found if one.saturated is not None}
    some = {one.where: one.at for one in found if bound and one.agent in looked_at[:AGENTS]}
    free = sorted({k for (k, n), there in some.items() if (k, n) not in bound and not _is_still(there, k)})
    bounded = not free if bound else claim.norm == BY_HAND
    searched_all = winner.epsilon < np.inf  # else nothing was looked for but an unprotected message
    unheld = next((f"along {one.unheld} at agent {one.agent}" for one in found if one.unheld), "")
    unbounded = searched_all and (not bounded or bool(unheld))
    claimed_of_any = holds_for_any_change(subject, claim, activations)
    unbounded = unbounded and claimed_of_any
    if unbounded:
        description += _UNBOUNDED
    of_any = best.saturated is not None
    hypotheses = best.true, winner.candidate.hypothesis
    chosen = Pair(
        best.agent,
        hypotheses,
        description,
        any_change=of_any,
        claimed_of_any=claimed_of_any,
        seen_less=pair.seen_less,
    )
    shown = taken(PairSearch.WorstPair, winner.candidate, epsilon=winner.epsilon, any_change=of_any)
    used = _used(subject, claim, chosen, best.points) if best.saturated is None else best.saturated
    sentence = together.sentence
    networks.setdefault(pair.agent, (subject.simulation,))
    if claim.delta == 0 and (stated := _aimed(networks, pair)) > _aimed(networks, chosen):
        # where no cost of a release is known, few losses rank candidates badly; aimed noise costs nothing to validity
        chosen, used = pair, _used(subject, claim, pair, found[0].points)
        shown = PairSearch.WorstPair(family="as stated", description=pair.description, epsilon=stated)
        aimed = f"under noise that is aimed at the other world its ε is {show(stated)}"
        sentence = f"{pair.description}: {aimed}, above that of the costliest of {together.tried:,} that were tried"
    agents = f"at agent{'s' if len(free) > 1 else ''} {', '.join(map(str, free))}" if free else ""
    doubt = _doubt(
        shown, unbounded, agents or unheld, found[0].batched, claim.adjacency.gradient_change, claim.epsilon or 0.0
    )
    if doubt is None and of_any and any(one.entangled for one in found):
        doubt = _ENTANGLED
    if doubt is None:
        pairs = [(best.at, chosen), *((one.at, one.pair) for one in found if one.farthest)]
        doubts = (other_numbers.doubt(there, one, claim) for there, one in pairs)
        doubt = next((one for one in doubts if one is not None), None)
    if doubt is None and any(one.missed for one in kinds.values()):
        doubt = _MISSED
    return replace(chosen, change_used=used, doubt=doubt), taken(
        PairSearch,
        together,
        sentence=sentence,
        candidates=together.tried,
        winner=shown,
        families=tuple(taken(PairSearch.PairFamily, one, candidates=one.tried) for one in together.families),
        seed=experiment.scenario.seed,
        unbounded=unbounded,
    )


def _seen_less(simulation: Simulation, looked_at: Sequence[int]) -> str | None:
    """`Pair.seen_less` where another agent is active more often than each of those looked at."""
    if len(looked_at) == simulation.topology.agents or (times := activations_of(simulation)) is None:
        return None
    most, busiest = max(looked_at, key=times.__getitem__), int(np.argmax(times))
    if times[most] == times[busiest]:
        return None
    which = f"agent {most} was active {plural(times[most], 'time')} in this run"
    return (
        f"{which}, and the claim is of {times[busiest]}, as often as agent {busiest} was "
        f"(-o audit.agent={busiest} audits that one)"
    )


def _doubt(
    winner: PairSearch.WorstPair, unbounded: bool, where: str, batched: bool, gradient_change: float, claimed: float
) -> str | None:
    """`Pair.doubt` of a pair that was searched for, of an ε that is `claimed`; `where` no bound was seen, where there
    is one elsewhere, and `gradient_change` is what the adjacency lets a gradient change by."""
    if winner.epsilon == math.inf:
        return "The search for the pair saw an unprotected message, the audit none: it is rare."
    if winner.epsilon == 0 and claimed:
        return _STILL
    if unbounded:
        remedy = (
            "Clip the gradient of each batch, or have the claim depend on the adjacency"
            if batched  # of one record, in a share of the batches: another adjacency would be of another theorem
            else f"State the change that the theorem allows, such as {change_option(gradient_change)}"
        )
        where = f" {where}" if where else ""
        return (
            f"The claim allows any change, and no clip or other bound was seen{where}: a larger change than this "
            f"pair's may cost more. {remedy}."
        )
    return None


def _searched(
    experiment: Experiment,
    subject: Subject,
    claim: Claim,
    activations: int,
    networks: "_Networks",
    progress: Progress,
) -> Iterator["_Found"]:
    """Searches of all agents in turn, each in all networks, the first one with all candidates."""
    spec = experiment.scenario.audit
    assert spec is not None
    assert spec.search is not None
    most, transcripts = spec.search.candidates, spec.search.transcripts
    order = [*networks]
    for agent, there, budget in _wanted(networks, most):
        within = replace(subject, simulation=there)
        search = _Search(experiment, within, claim, activations, agent, budget, transcripts, progress.advance)
        for one in search.found(briefly=order.index(agent) >= AGENTS):
            yield replace(one, at=there, own_law=search.own_law)  # however patient


_Networks = dict[int, tuple[Simulation, ...]]
"""Those in which an agent's pairs are searched for (`CoinKinds.unlike`)."""


def _wanted(networks: _Networks, most: int) -> Iterator[tuple[int, Simulation, int]]:
    """Agents, in each network, and how many candidates they are searched with: fewer where it is not as it is."""
    for place, (agent, several) in enumerate(networks.items()):
        for n, there in enumerate(several):
            yield agent, there, _budget(place, most if n == 0 else max(1, most // FEWER))


def _budget(place: int, most: int) -> int:
    """Candidates of the agent at this place."""
    return max(1, most // FEWER ** (2 if place >= AGENTS else min(place, 1)))


def _aimed(networks: _Networks, pair: Pair) -> float:
    """Largest loss of a pair in a few transcripts of world 0 whose noise points away from the other world."""
    zero, other = (cast("Objective", one) for one in pair.hypotheses)
    losses = list[float]()
    for there in networks[pair.agent]:
        sample = worlds(holding(there, pair.agent, zero), pair.agent, other, TRANSCRIPTS)(0, WORST_CASE)
        losses.append(float(np.max(compare_worlds(sample, pair.agent, zero, other).losses_on_wire(np.inf))))
    return max(losses)


def _used(subject: Subject, claim: Claim, pair: Pair, points: Array) -> float | None:
    """Share of the change that the claim allows its agent which the pair uses."""
    return change_used(pair, points, claim.adjacency.at(subject.simulation.problem.records[pair.agent]))


def holds_for_any_change(subject: Subject, claim: Claim, activations: int) -> bool:
    """Whether a claim says the same of every change of the agent's objective, of which the scenario states none.

    A formula says so by its values where gradients change by more, the same everywhere or not, where curvatures do,
    and where both do: none is above the claim. A number that was claimed by hand has no formula: it is taken to be of
    all data.
    """
    if claim.adjacency.change is not None:
        return False
    if claim.norm == BY_HAND:
        return True
    simulation, allowed = subject.simulation, claim.adjacency
    larger, bent = (
        FAR * one if 0 < one < np.inf else FAR for one in (allowed.gradient_change, allowed.curvature_change)
    )
    constant = Adjacency.within(larger, "l2", simulation.problem.dimension, CONSTANT)
    tried = (
        replace(constant, record=allowed.record),
        *(replace(allowed, gradient_change=larger, curvature_change=c) for c in (allowed.curvature_change, bent)),
        replace(allowed, curvature_change=bent),
    )
    return all(_no_larger(_claim(simulation, one, activations, subject.delta), claim) for one in tried)


def constant_change(subject: Subject, claim: Claim, activations: int) -> float | None:
    """The size, in ℓ2, of all constant changes of a gradient of which the claim says the same as of other data of
    that size, where the scenario states no change; None: of these it says something else, or it is of any change."""
    size = claim.adjacency.gradient_change
    if claim.adjacency.change is not None or not 0 < size < np.inf:
        return None
    if holds_for_any_change(subject, claim, activations):
        return None
    moved = Adjacency.within(size, "l2", subject.simulation.problem.dimension, CONSTANT)
    there = _claim(subject.simulation, replace(moved, record=claim.adjacency.record), activations, subject.delta)
    return size if _no_larger(there, claim) else None


def _no_larger(there: Claim | None, claim: Claim) -> bool:
    """Whether another claim promises as much."""
    if there is None or there.epsilon is None or claim.epsilon is None:
        return False
    return there.epsilon <= claim.epsilon * (1 + ROUNDING) and there.delta <= claim.delta


def allows(subject: Subject, claim: Claim, activations: int, agent: int, objective: Objective) -> bool:
    """Whether the claim is no other where the agent holds this objective, whose Hessian may differ from its own."""
    try:
        held = holding(subject.simulation, agent, objective)
    except ScenarioError:  # where a condition of its theory fails
        return False
    return _no_larger(_claim(held, claim.adjacency, activations, subject.delta), claim)


def _claim(simulation: Simulation, adjacency: Adjacency, activations: int, delta: float) -> Claim | None:
    """What is claimed where nobody asked for a claim; None where it refuses: it is not of this."""
    try:
        return simulation.claim(adjacency, activations, delta)
    except NetsimError:
        return None


def share_left(
    simulation: Simulation, agent: int, slope: Array, record: int | None = None, transcripts: int = TRANSCRIPTS
) -> float | None:
    """Share that `FARTHER` times `slope`, of one `record` or of all, adds to the change by which it moves what the
    agent sends. Not a number where nothing moves, None where the code fails on such data.

    All three are simulated with the same noise: what an algorithm bounds is then the same but for a hair.
    """
    own = simulation.problem.objectives[agent]

    def seen(objective: Objective) -> Sample:
        return worlds(holding(simulation, agent, objective), agent, own, transcripts)(0, FIRST_CHUNK)

    return _share_left(seen, agent, own, *(Tilted(own, far * slope, record=record) for far in (1.0, FARTHER)))


def _share_left(
    seen: Callable[[Objective], Sample], agent: int, own: Objective, near: Objective, far: Objective
) -> float | None:
    """`share_left` of these objectives, by what is seen of each."""
    sent: list[list[Array]] = []
    for objective in (own, near, far):
        try:
            with np.errstate(all="ignore"):
                sample = seen(objective)
        except Exception:  # an algorithm that fails on such data is not held to them
            return None
        rows = sample.view.transcript.at_node(agent)
        sent.append([value for row in rows if row.sender == agent for value in row.values.values()])
    if len({tuple(value.shape for value in values) for values in sent}) > 1:
        return np.inf
    moved, more = (_farthest(*two) for two in (sent[:2], sent[1:]))
    return more / moved if moved else np.nan


def _is_still(simulation: Simulation, agent: int) -> bool:
    """Whether nothing that the agent sends moves with its data, as its coins fell."""
    left = share_left(simulation, agent, np.full(simulation.problem.dimension, FAR))
    return left is not None and math.isnan(left)


def _farthest(one: list[Array], other: list[Array]) -> float:
    return max((float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(one, other, strict=True)), default=0.0)


@dataclass(frozen=True)
class _Found:
    """A search from one true world; `saturated` is the share of the change that the algorithm's bound lets through,
    None where the pair is within the adjacency. `batched`: the claim is of a record, and gradients are of batches.
    `unheld`: a direction along which it bounds nothing, though it does along this one. `entangled`: a record's answer
    moves a point at which others are asked, before anything is released. `own_law`: a release is made by a law of
    somebody's own. `at`: the network."""

    searched: Searched
    agent: int
    true: Objective
    points: Array
    saturated: float | None
    batched: bool = False
    unheld: str | None = None
    entangled: bool = False
    farthest: bool = False
    own_law: bool = False
    at: Simulation = field(kw_only=True)

    @property
    def where(self) -> tuple[int, int]:
        """Agent and network."""
        return self.agent, id(self.at)

    @property
    def pair(self) -> Pair:
        """The costliest pair."""
        winner = self.searched.winner.candidate
        return Pair(self.agent, (self.true, winner.hypothesis), winner.description)

    @property
    def aimed(self) -> Self:
        """The same, ranked by what its winner loses under aimed noise as well, where a law is somebody's own: few
        losses say little of one whose loss has no bound."""
        winner = self.searched.winner
        if not self.own_law or not math.isfinite(winner.epsilon):
            return self
        most = max(winner.epsilon, _aimed({self.agent: (self.at,)}, self.pair))
        return replace(self, searched=replace(self.searched, winner=replace(winner, epsilon=most)))


@dataclass(frozen=True)
class _Apart:
    """Candidates that are given one by one."""

    family: str
    candidates: tuple[Candidate, ...]

    def families(self) -> Mapping[str, Iterator[Candidate]]:
        return {self.family: iter(self.candidates)}

    def near(self, candidate: Candidate) -> tuple[Callable[[], Candidate], ...]:  # noqa: ARG002
        return ()


def _one_of_each(batches: Sequence[tuple[int, ...]], most: int) -> list[int]:
    """At most so many of the records in the batches, spread over them: first one of each kind by the places at which
    they are in batches, then others."""
    places: dict[int, list[tuple[int, int]]] = {}
    for number, batch in enumerate(batches):
        for record, times in Counter(batch).items():
            places.setdefault(record, []).append((number, times))
    kinds = list({tuple(where): record for record, where in reversed(places.items())}.values())[::-1]
    firsts = set(kinds)
    others = [record for record in places if record not in firsts]
    first = [kinds[k] for k in evenly(len(kinds), most)]
    return first + [others[k] for k in evenly(len(others), most - len(first))]


@dataclass(frozen=True)
class _Search:
    """Searches of the pairs of one agent; of one `chosen` record, or of that which costs most."""

    experiment: Experiment
    subject: Subject
    claim: Claim
    activations: int
    agent: int
    candidates: int
    transcripts: int
    progress: Callable[[int], None]
    chosen: int | None = None
    _kept: dict[int, tuple[Objective, Sample]] = field(
        default_factory=dict[int, tuple[Objective, Sample]], init=False
    )
    """Transcripts by the identity of what the agent held, and that."""

    @property
    def own(self) -> Objective:
        return self.subject.simulation.problem.objectives[self.agent]

    @cached_property
    def own_law(self) -> bool:
        """Whether a release is made by a law of somebody's own."""
        made = self._sample(self.own).replica(0).replayed(self.agent, self.own, "its own data").releases
        return any(is_own(one.mechanism) for one in made)

    def found(self, *, briefly: bool) -> Iterator[_Found]:
        """Searches from the agent's own data, within the adjacency; then from other data, `briefly` from few."""
        sample = self._sample(self.own)
        points = observed(sample, self.agent, self.own)
        searched = self._searched(sample, self.own, self._space(points), self.candidates, alone=1)
        patient = self._patient(sample.most_queries)
        batched = patient._record is not None and bool(patient._batches)
        entangled = batched and patient._entangled
        at = self.subject.simulation
        yield _Found(searched, self.agent, self.own, points, None, batched, entangled=entangled, at=at)
        yield from patient._elsewhere(points, briefly=briefly)

    def _patient(self, queries: float) -> Self:
        """The same, where no agent may query more often."""
        simulation = replace(self.subject.simulation, most_queries=queries)
        return replace(self, subject=replace(self.subject, simulation=simulation))

    def _elsewhere(self, points: Array, *, briefly: bool) -> Iterator[_Found]:
        gradient = self.own.gradient(points).mean(axis=0) if len(points) else np.zeros(self.own.dimension)
        if holds_for_any_change(self.subject, self.claim, self.activations):
            if not briefly:
                yield from self._saturating(points, gradient)
                yield from self._dearest_elsewhere()
            yield from self._farthest()
        elif not briefly and (change := self._change) is not None:
            center = gradient if self._record is None else self._of_record(points)
            norm, agent = self.claim.adjacency.norm, self.agent
            steep = steepest(self.subject.simulation, agent, self._record, -center, change / 2, norm)
            along = [Direction("what moves its releases most", vector) for vector in steep]
            for one in (*self._directions(norm, gradient), *along):  # the same change about a gradient of 0
                half = change / 2 * one.vector
                zero, other = (Tilted(self.own, slope - center, record=self._record) for slope in (-half, half))
                yield from self._apart(zero, other, f"by {change:.4g} along {one.words}, about 0", None)
                if self.own_law:  # how wide its noise is may depend on the value
                    still, moved = (replace(zero, slope=slope - center) for slope in (0 * half, 2 * half))
                    yield from self._apart(moved, still, f"by {change:.4g} along {one.words}, from 0", None)
            if self.claim.adjacency.change is not None:  # elsewhere data are bounded, and farther out is none of them
                yield from self._stretched(change)

    def _saturating(self, points: Array, gradient: Array) -> Iterator[_Found]:
        """Changes beyond what the algorithm bounds its releases by: opposite ones, and one that turns on the way."""
        size = FAR * max(1.0, float(np.max(np.abs(gradient))))
        way = max(float(np.max(np.abs(points), initial=0.0)), 1e-3)
        tilted = partial(Tilted, self.own, record=self._record)
        borne = [(one, *self._borne(-size * one.vector)) for one in self._directions("l2", gradient)]
        borne = [(one, opposite, left) for one, opposite, left in borne if not np.isnan(left)]  # nothing moves there
        beyond = [one.words for one, _, left in borne if left > SATURATED]
        if not borne or borne[0][0].words in beyond:
            return
        unheld = min(beyond, key=lambda words: not words.startswith("coordinate"), default=None)
        for one, opposite, left in borne:
            if left > SATURATED:
                continue
            slope, words = -opposite.slope, f"along {one.words}, {_BEYOND}"
            for found in self._apart(opposite, tilted(slope), words, 1 - left):
                yield replace(found, unheld=unheld)
            turning = Bent(self.own, slope, float(np.linalg.norm(slope)) / way, record=self._record)
            if allows(self.subject, self.claim, self.activations, self.agent, turning):
                words = f"in one of them by a change that turns on the way, {words}"
                yield from self._apart(turning, tilted(slope), words, 1 - left)

    def _farthest(self) -> Iterator[_Found]:
        """Of many changes of all sizes the two between which one transcript's releases differ most, in units of their
        noise: a bounded function need not be farthest apart where its argument is."""
        simulation, agent = self.subject.simulation, self.agent
        rows = Rows.drawn(simulation, agent, self._record)
        if rows is None or not rows.bounded or (sample := plain(simulation, agent, SEEN_IN)) is None:
            return
        each = [sample.replica(k) for k in range(SEEN_IN)]
        others = other_numbers.extremes(simulation, agent) if self.claim.delta == 0 else []
        around = [rows.nearer(some, agent) for some in (each[:1], each)]
        around += [rows.anew([one], agent) for one in others]
        count = len(rows.slopes) + sum(len(WIDTHS) * len(one.slopes) for one in around)
        found = {one.changes: one for some in around for one in some.apart}
        tried = [(f"of {count:,} changes drawn", one) for one in found.values()]
        if self.own_law:
            dear = [one for k in (rows, *around) for one in k.by_density(each[0], agent, self.claim.delta)]
            tried += [("by its own law", max(dear, key=attrgetter("distance")))] if dear else []
        if self._record is not None and self._batches:  # code that asks for records one by one may not just add them
            ways = other_numbers.ways(simulation, agent, self.claim.delta)
            among = (Rows.surrounded(simulation, agent, self._record, way) for way in ways)
            apart = [one for some in chain.from_iterable(among) for one in some.apart[:1]]
            hardest = max(apart, key=attrgetter("distance"), default=None)
            nearer = max((one.distance for one in rows.apart), default=0.0)
            if hardest is not None and hardest.distance > nearer * (1 + ROUNDING):
                tried.append(("of many drawn among other records, which are moved in both", hardest))
        for drawn, one in tried:
            if all(allows(self.subject, self.claim, self.activations, self.agent, world) for world in one.worlds):
                words = f"to where its releases are farthest apart, {drawn}, {_BEYOND}"
                for pair in self._apart(*one.worlds, words, 1.0):
                    yield replace(pair, farthest=True)

    def _dearest_elsewhere(self) -> Iterator[_Found]:
        """At δ = 0 the record that costs most where other numbers mix what is private otherwise: whatever it costs in
        the run, it is asked what its pair costs there (`other_numbers.doubt`)."""
        tried = _one_of_each(self._batches, CROWD)
        if self.claim.delta > 0 or self._record is None or len(tried) < 2:
            return
        simulation, agent, own = self.subject.simulation, self.agent, self.own
        unlike = [one for (one,) in other_numbers.unlike([simulation], [self._one], agent)]
        costs = EachRecord.costs(simulation, agent, tried, 0.0, unlike) if unlike else None
        if costs is None:
            return
        record = tried[int(np.argmax(costs))]
        slope = FAR * unit_of(own) * np.eye(own.dimension)[0]
        zero, other = (Tilted(own, side * slope, record=record) for side in (1.0, -1.0))
        for pair in replace(self, chosen=record)._apart(zero, other, f"along coordinate 0, {_BEYOND}", 1.0):
            yield replace(pair, farthest=True)

    def _stretched(self, change: float) -> Iterator[_Found]:
        """Of many pairs of this change, about gradients of all sizes, the one whose releases differ most: what a clip
        in one norm does to a change in another is largest where the gradient has just been clipped."""
        rows = Rows.in_pairs(self.subject.simulation, self.agent, change, self.claim.adjacency.norm)
        if rows is None:
            return
        pair = rows.stretched
        if all(allows(self.subject, self.claim, self.activations, self.agent, one) for one in pair):
            words = f"by {change:.4g}, about where that moves its releases most, of many places drawn"
            yield from self._apart(*pair, words, None)

    def _borne(self, slope: Array) -> tuple[Tilted, float]:
        """The objective moved by the largest of `NEARER` times the slope on which the code does not fail, and
        `share_left` of that."""
        moved = partial(Tilted, self.own, record=self._record)
        for share in NEARER:
            near = moved(share * slope)
            left = _share_left(self._sample, self.agent, self.own, near, moved(FARTHER * near.slope))
            if left is not None:
                return near, left
        return moved(slope), np.nan

    @cached_property
    def _change(self) -> float | None:
        """By how much a gradient may be moved by any constant vector, in the adjacency's norm; None: not at all.

        A record of an agent that has more of them than others moves its gradient by less than the adjacency's bound.
        """
        stated = self.claim.adjacency.change
        if stated is not None:
            return stated
        size = constant_change(self.subject, self.claim, self.activations)
        records = self.subject.simulation.setting(1).records
        return size if size is None or self._record is None else size * min(records) / records[self.agent]

    def _of_record(self, points: Array) -> Array:
        """The part of the record that differs in the agent's gradient, in the mean over the points (dimension,)."""
        if not len(points):
            return np.zeros(self.own.dimension)
        whole = cast("Sampled", self.own)
        return whole.batch([cast("int", self._record)]).gradient(points).mean(axis=0) / whole.records

    @property
    def _record(self) -> int | None:
        """The record that differs between the worlds, where there are batches the one that costs most; None: all
        may."""
        assert self.experiment.scenario.audit is not None
        if self.experiment.scenario.audit.adjacency != "record":
            return None
        if self.chosen is not None:
            return self.chosen
        return max(self._costs, key=self._costs.__getitem__, default=0)

    @cached_property
    def _costs(self) -> dict[int, float]:
        """What each record that is in a batch costs (`EachRecord.costs`), the first ones where there are many more;
        where that is not known, or the same of all, how many batches it is in."""
        times = Counter(chain.from_iterable(self._batches))
        tried = _one_of_each(self._batches, CROWD)
        simulation, delta = self.subject.simulation, self.claim.delta
        costs = EachRecord.costs(simulation, self.agent, tried, delta) if len(tried) > 1 else None
        if costs is None or np.max(costs) <= np.min(costs) * (1 + SAME):
            return {record: float(count) for record, count in times.items()}
        return dict(zip(tried, costs.tolist(), strict=True))

    @property
    def _whose(self) -> str:
        """Whose gradient is moved, in words."""
        if self._record is None or not self._batches:
            return f"agent {self.agent}"
        tried, every = len(self._costs), len(set(chain.from_iterable(self._batches)))
        fewer = "" if tried == every else f" (the costliest of {tried:,} tried, of {every:,})"
        return f"record {self._record} of agent {self.agent}{fewer}"

    @cached_property
    def _entangled(self) -> bool:
        """Whether the answer for a record moves a point at which a batch without it is asked, given all releases."""
        tried, size = _one_of_each(self._batches, CROWD), unit_of(self.own)
        some = (tried[first : first + TOGETHER] for first in range(0, len(tried), TOGETHER))
        return any(Asking.of(self._one, self.agent, self.own, each, size).entangles(self._noted) for each in some)

    @property
    def _batches(self) -> list[tuple[int, ...]]:
        """Batches of one transcript, in their order."""
        return self._noted.batches

    @cached_property
    def _noted(self) -> Asking:
        """What the agent asks in one transcript."""
        return Asking.of(self._one, self.agent, self.own)

    @cached_property
    def _one(self) -> Sample:
        return worlds(self.subject.simulation, self.agent, self.own, 1)(0, FIRST_CHUNK)

    def _directions(self, norm: Norm, gradient: Array) -> list[Direction]:
        dimension = self.own.dimension
        found = [Direction(f"coordinate {k}", np.eye(dimension)[k]) for k in evenly(dimension, COORDINATES)]
        if dimension > 1:
            found.insert(1, Direction("all coordinates alike", scaled(np.ones(dimension), norm)))
        noise = least_noise(self.subject.simulation, self.agent)
        if noise is not None and not np.all(noise == noise[0]):
            least = np.min(noise) / noise if np.all(noise > 0) else np.equal(noise, 0.0).astype(np.float64)
            found.append(Direction("what has the least noise", scaled(least, norm)))
        if dimension > 1 and np.any(gradient):
            found.append(Direction("its mean gradient", scaled(gradient, norm)))
        return found

    def _apart(self, true: Objective, other: Objective, words: str, saturated: float | None) -> Iterator[_Found]:
        """The search of one pair, both of whose worlds are moved; nothing where the code has no end there."""
        try:
            yield self._of_pair(true, other, words, saturated)
        except StalledError:
            self.progress(1)

    def _of_pair(self, true: Objective, other: Objective, words: str, saturated: float | None) -> _Found:
        sample, family = self._sample(true), BOTH_MOVED
        sentence = f"the gradient of {self._whose} moved in both worlds, {words}"
        pair = _Apart(family, (Candidate(family, sentence, other, sentence),))
        points = observed(sample, self.agent, true)
        searched, at = self._searched(sample, true, pair, 1), self.subject.simulation
        return _Found(searched, self.agent, true, points, saturated, at=at)

    def _sample(self, true: Objective) -> Sample:
        """Transcripts where the agent holds this; those that were used last are kept."""
        kept = self._kept.pop(id(true), None)
        if kept is None:
            simulation = holding(self.subject.simulation, self.agent, true)
            kept = true, worlds(simulation, self.agent, self.own, self.transcripts)(0, FIRST_CHUNK)
        self._kept[id(true)] = kept
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return kept[1]

    def _searched(
        self, sample: Sample, true: Objective, space: "Spaces | _Apart", budget: int, alone: int = 0
    ) -> Searched:
        delta, progress = self.claim.delta, self.progress
        return search(sample, self.agent, true, space, delta=delta, budget=budget, alone=alone, progress=progress)

    def _space(self, points: Array) -> Spaces:
        scenario, problem, own = self.experiment.scenario, self.subject.simulation.problem, self.own
        assert scenario.audit is not None
        moved = scenario.audit.adjacency
        rng = Streams(scenario.seed).generator("search", self.subject.spec.name)
        if isinstance(moved, GradientChange):
            return Moved(self.agent, own, moved.change, moved.norm, curvature_of(moved, problem), points, rng)
        assert isinstance(own, AnyLogistic)
        made = Records if moved == "record" else Data
        return made(self.agent, own, problem, points, rng, self.candidates)
