# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (joblib ships no types)
"""Two adjacent worlds: simulation of their transcripts, scores from inferred gradients, and search for a worst pair.

The search is for the adjacent pair that costs an agent most, over directions of unit norm and families of objectives.
The cost of a change depends on the norm that the noise protects, on the agent's code, and on the agent's own data,
which turn one change into the next. Of a convex cost on a ball an extreme point is a worst one: of ℓ1 the
coordinates, of ℓ∞ the signs, of ℓ2 every direction.

World 0, the one that was simulated, is the same for all candidates, so a few dozen transcripts of it are replayed
under each: no candidate is simulated. They rank by the ε at the claim's δ that is estimated from these transcripts.
The audit of the winner needs transcripts of its own (`FIRST_CHUNK`): then choosing costs it no validity.
"""

import math
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from attacks.audit.accounting.formulas import epsilon_estimate, gaussian_epsilon
from attacks.audit.loss.comparison import Reproduced, Sample, WorldComparison
from attacks.audit.loss.release_cost import PURE, UNBOUNDED, laws_with_cost
from attacks.estimates import GradientEstimate
from attacks.replay import Hypothesis, replay
from netsim.adversary import AdversaryView
from netsim.arrays import Array, diverging, evenly
from netsim.claims import Adjacency, Norm, length
from netsim.errors import PrivacyError, StalledError
from netsim.interrupts import stopped_once
from netsim.models.model import Regularizer

Simulate = Callable[[int, int], Sample]
"""(world 0 or 1, chunk) ↦ independent transcripts of that world."""
INFERRED = "inferred gradients"
"""Name of these scores in an archive."""
_EXACT = 1e-9
"""Standard deviation that an exact gradient estimate is credited with."""
_STEPS = (0.5, 0.125)
"""Shares of the largest coordinate by which one is moved."""
FIRST_CHUNK = 2**40
"""Number of the search's chunk of transcripts: no audit has as many of its own."""
_FIRST_SHARE = 0.5
"""Share of the candidates that families propose; the others are near the best of these."""
_PROPOSALS = 10
"""Proposals of families, at most, in budgets: those tried before cost nothing."""
STARTS = 8
"""Candidates, at most, from which nearby ones are tried without success."""
_SAME = 1e-6
"""Relative: an ε that is larger by less counts as equal."""
_NOISE_FREE = 1e-10
"""Error that rounding may make in a cost."""
POINTS = 32
"""Points of a run that stand for all gradient queries of the agent."""


@dataclass(frozen=True)
class Pair:
    """Two adjacent worlds: `hypotheses[w]` is what `agent` holds in world w.

    `change_used` is the share of the change that the claim allows by which they differ, 0 to 1; None: not known
    (`attacks.audit.pair.change_used`). `doubt` is a sentence that says why nobody is comforted where nothing exceeds
    the claim on this pair; None: nothing is known that does. `any_change`: the claim is held to any data, for it is
    of any change (`claimed_of_any`) and the code bounds what it makes of one. `of_all_records`: of all records of the
    agent none costs more than the one that differs, where all histories of its private coins were counted.
    `over_all_tosses`: pairs were ranked by what they cost who does not know these coins. `seen_less` says that the
    claim is of more activations than any agent that was looked at had; None: it is not.
    """

    agent: int
    hypotheses: tuple[Hypothesis, Hypothesis] = field(repr=False)
    description: str
    change_used: float | None = None
    doubt: str | None = None
    any_change: bool = False
    claimed_of_any: bool = False
    of_all_records: bool = False
    over_all_tosses: bool = False
    seen_less: str | None = None


_T = TypeVar("_T")


def spread(work: Callable[..., _T], tasks: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[_T]:
    """work(*task) for each task, in order. `jobs` processes (−1: one per core); with 1, in this one."""
    with stopped_once(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A worker stopped")  # its memory had grown: another one starts
        warnings.filterwarnings("ignore", message=r"\d+ tasks (have|which)")  # a generator closed early
        yield from cast(
            Iterator[_T],
            Parallel(n_jobs=jobs, return_as="generator")(delayed(_quietly)(work, *task) for task in tasks),
        )


def _quietly(work: Callable[..., _T], *task: Any) -> _T:
    with diverging():
        return work(*task)


Infer = Callable[[AdversaryView], list[GradientEstimate]]


def resemblance(estimates: Sequence[GradientEstimate], pair: Pair, replicas: int) -> Array | None:
    """Score of the inferred gradients of the agent, larger the more they look like world 1's, (replicas,).

    Twice the ln of the likelihood ratio, with Gaussian errors of the estimates' `stddev`. None where no gradient of
    the agent is among them.
    """
    own = [e for e in estimates if e.agent == pair.agent]
    score = np.zeros(replicas)
    for e in own:
        zero, one = (hypothesis.gradient(e.point) for hypothesis in pair.hypotheses)
        far_0 = np.sum((e.gradient - zero) ** 2, axis=-1)
        far_1 = np.sum((e.gradient - one) ** 2, axis=-1)
        score = score + (far_0 - far_1) / max(e.stddev, _EXACT) ** 2
    return np.where(np.isnan(score), 0.0, score) if own else None


class Direction(NamedTuple):
    """Vector (dimension,) of norm 1, and its name in words."""

    words: str
    vector: Array


def families(
    norm: Norm, dimension: int, suggested: Mapping[str, Array], rng: np.random.Generator
) -> dict[str, Iterator[Direction]]:
    """Directions by family; `suggested` are vectors, by name, with a reason to be tried (zeros are left out).

    "signs" and "random" never end.
    """
    return {
        "even": _both("even", np.ones(dimension), norm),
        "signs": _signs(norm, dimension, rng),
        "coordinates": _coordinates(norm, dimension),
        "data": _suggested(norm, suggested),
        "random": _random(norm, dimension, rng),
    }


def near(direction: Direction, norm: Norm) -> list[Callable[[], Direction]]:
    """Moves from one direction to others of norm 1, in the same order for all of one dimension.

    The signs of a half of the coordinates changed, of a quarter, … and of one; then one coordinate moved by a share
    of the largest, up and down. In ℓ1 the other extreme points come first, for none is near another.
    """
    words, vector = direction
    words = words if words.endswith(", refined") else f"{words}, refined"
    moves: list[Callable[[], Direction]] = []
    if norm == "l1":
        moves += [partial(Direction, *one) for one in _coordinates(norm, len(vector))]
    everywhere = np.arange(len(vector))
    halvings = [2**k for k in range(1, len(vector).bit_length()) if 2**k < len(vector)]
    blocks = [block for parts in halvings for block in np.array_split(everywhere, parts)]
    moves += [partial(_flipped, words, vector, block) for block in (*blocks, *everywhere[:, None])]
    return moves + [
        partial(_pushed, words, vector, c, share, norm)
        for step in _STEPS
        for c in range(len(vector))
        for share in (step, -step)
    ]


def _flipped(words: str, vector: Array, block: NDArray[np.intp]) -> Direction:
    flipped = vector.copy()
    flipped[block] = 0.0 - flipped[block]
    return Direction(words, flipped)


def _pushed(words: str, vector: Array, c: int, share: float, norm: Norm) -> Direction:
    pushed = vector.copy()
    pushed[c] += share * float(np.max(np.abs(vector)))
    return Direction(words, scaled(pushed, norm) if np.any(pushed) else vector)


def scaled(vector: Array, norm: Norm) -> Array:
    """Scale a vector to norm 1."""
    return vector / length(vector, norm)


def _both(words: str, vector: Array, norm: Norm) -> Iterator[Direction]:
    unit = scaled(vector, norm)
    yield Direction(words, unit)
    yield Direction(f"minus {words}", -unit)


def _signs(norm: Norm, dimension: int, rng: np.random.Generator) -> Iterator[Direction]:
    while dimension > 1:
        yield Direction("signs drawn", scaled(rng.choice((-1.0, 1.0), dimension), norm))


def _coordinates(norm: Norm, dimension: int) -> Iterator[Direction]:
    for c in range(dimension):
        yield from _both(f"coordinate {c}", np.eye(dimension)[c], norm)


def _suggested(norm: Norm, suggested: Mapping[str, Array]) -> Iterator[Direction]:
    """Suggestions as they are, and the signs of each."""
    for words, vector in suggested.items():
        if np.all(np.isfinite(vector)) and np.any(vector):
            yield from _both(words, vector, norm)
            yield from _both(f"signs of {words}", np.where(vector < 0, -1.0, 1.0), norm)


def _random(norm: Norm, dimension: int, rng: np.random.Generator) -> Iterator[Direction]:
    while dimension > 1:
        yield Direction("drawn", scaled(rng.standard_normal(dimension), norm))


@dataclass(frozen=True)
class Candidate:
    """Objective adjacent to the true one, of a `family` of them; equal ones have the same `key`."""

    family: str
    description: str
    hypothesis: Hypothesis
    key: Hashable


class _Space(Protocol):
    """Space of adjacent objectives, as far as they are searched."""

    def families(self) -> Mapping[str, Iterator[Candidate]]:
        """Candidates by family, the most promising first; they may never end."""
        ...

    def near(self, candidate: Candidate) -> Sequence[Callable[[], Candidate]]:
        """Moves to candidates that differ a little from it."""
        ...


@dataclass(frozen=True)
class _Ranked:
    """Candidate with the ε estimated for it, and its mean cost (or loss), which decides between equals."""

    candidate: Candidate
    epsilon: float
    cost: float

    def beats(self, other: "_Ranked") -> bool:
        """Whether it costs more, by more than rounding."""
        if _larger(self.epsilon, other.epsilon) or _larger(other.epsilon, self.epsilon):
            return self.epsilon > other.epsilon
        return _larger(self.cost, other.cost)


@dataclass(frozen=True)
class _Family:
    """Number of candidates of a family that were tried, and the worst of them."""

    name: str
    tried: int
    worst: _Ranked

    @property
    def best(self) -> str:
        """The worst one in words."""
        return self.worst.candidate.description

    @property
    def epsilon(self) -> float:
        """The ε estimated for it."""
        return self.worst.epsilon


@dataclass(frozen=True)
class Searched:
    """Result of a search; every ε is estimated at `delta` from `transcripts` of world 0."""

    winner: _Ranked
    families: tuple[_Family, ...]
    tried: int
    budget: int
    transcripts: int
    chunk: int
    delta: float

    @property
    def sentence(self) -> str:
        """Summary in a sentence."""
        what = f"{self.winner.candidate.description}: "
        if math.isinf(self.winner.epsilon):
            return f"{what}found after {self.tried:,} tried; nothing can cost more"
        where = f"on {self.transcripts:,} transcripts that the audit does not use"
        return f"{what}the costliest of {self.tried:,} that were tried, {where}"


def search(
    sample: Sample,
    agent: int,
    true: Hypothesis,
    space: _Space,
    *,
    delta: float,
    budget: int,
    alone: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Searched:
    """Rank at most `budget` candidates of the space on one sample of the true world.

    First the families have their turns, one candidate each at a time; then moves from the best one are tried in turn,
    each improvement being where the next move starts, until none is left; then moves from the next best, of `STARTS`
    at most. An unprotected message ends the search. `sample` has to be of a chunk that the audit does not use; so
    many of its replicas are replayed `alone`, too. Errors as of `compare_worlds`, and a `PrivacyError` for a space
    that is empty.
    """
    reproduced = Reproduced.of(sample, agent, true, alone=alone)
    tried = _Trials(reproduced, delta, budget, progress)
    for candidate in islice(_in_turn(space.families()), _PROPOSALS * budget):
        if tried.count >= math.ceil(_FIRST_SHARE * budget) or not tried.open:
            break
        tried.judge(candidate)
    for _ in range(STARTS):
        start = tried.next_start()
        if start is not None:
            _climb(tried, space, start)
    return tried.result(sample.view.replicas)


def worst(found: Sequence[Searched]) -> tuple[int, Searched]:
    """Several searches as one, each from another true world; and the position of the one whose winner costs most."""
    at, families = 0, dict[str, list[_Family]]()
    for k, one in enumerate(found):
        at = k if one.winner.beats(found[at].winner) else at
        for family in one.families:
            families.setdefault(family.name, []).append(family)
    winner = found[at].winner
    worst_of = {name: _best([part.worst for part in parts]) or winner for name, parts in families.items()}
    worst_of[winner.candidate.family] = winner  # of some that cost the same it is the one that is audited
    together = tuple(
        _Family(name, sum(one.tried for one in parts), worst_of[name]) for name, parts in families.items()
    )
    tried, budget = sum(one.tried for one in found), sum(one.budget for one in found)
    return at, replace(found[at], families=together, tried=tried, budget=budget)


def observed(sample: Sample, agent: int, true: Hypothesis) -> Array:
    """Points of the agent's gradient queries, and results of its proximal map: (points, dimension).

    At most `POINTS`, spread over the run, each of another transcript as far as there are so many.
    """
    watching = _Watching(true, [])
    replay(sample.view, agent, watching, sample.coins(), sample.releases, sample.dither)
    seen = watching.points
    chosen = evenly(len(seen), POINTS)
    points = [seen[t][k % len(seen[t])] for k, t in enumerate(chosen)]
    finite = [point for point in points if np.isfinite(point).all()]
    return np.array(finite, dtype=np.float64).reshape(len(finite), sample.view.public.dimension)


def change_used(pair: Pair, points: Array, adjacency: Adjacency) -> float | None:
    """Share of the allowed change that a pair uses: the largest ‖∇f'(x) − ∇f(x)‖ at `points` (points, dimension) of
    the agent's queries over the adjacency's bound, both in its norm; 1 at most. None where nothing bounds the change.
    """
    allowed = adjacency.gradient_change if adjacency.change is None else adjacency.change
    if not math.isfinite(allowed) or not len(points):
        return None
    zero, one = (hypothesis.gradient(points) for hypothesis in pair.hypotheses)
    return min(1.0, float(np.max(length(one - zero, adjacency.norm))) / allowed)


def estimated(explained: WorldComparison, delta: float) -> tuple[float, float]:
    """(ε at δ of these transcripts, their mean cost, or mean loss where no cost is known); both ∞ where more than δ
    of them hold an unprotected message.

    δ = 0: the largest cost of pure laws, which the loss of a transcript reaches only where noise is large at every
    release; ∞ for Gaussian noise over a difference; else the largest loss. δ > 0: of Gaussian releases the ε of their
    mean cost; else from the losses, which say little below δ = 1/transcripts.
    """
    exposed = np.logical_or(explained.leaked < explained.granted_from, np.isfinite(explained.bare))
    if np.count_nonzero(exposed) > delta * explained.replicas:
        return math.inf, math.inf
    losses, costs = explained.losses(), np.sum(explained.cost, axis=0)
    laws = laws_with_cost(explained.laws)
    bounded = bool(np.all(np.isfinite(costs)))
    mean = float(np.mean(costs if bounded else losses))
    if bounded and float(np.max(costs)) <= _NOISE_FREE:
        return 0.0, 0.0
    if delta == 0:
        if laws <= PURE and bounded:
            return float(np.max(costs)), mean
        pairs = zip(explained.laws, explained.cost, strict=True)
        if any(law in UNBOUNDED and float(np.max(cost)) > _NOISE_FREE for law, cost in pairs):
            return math.inf, mean
        return max(0.0, float(np.max(losses))), mean
    if laws <= UNBOUNDED and bounded:
        return gaussian_epsilon(math.sqrt(mean), delta), mean
    return epsilon_estimate(losses, delta), mean


def _larger(a: float, b: float) -> bool:
    return a > b + _SAME * abs(b) if math.isfinite(b) else a > b


class _Trials:
    """Candidates judged so far, each once."""

    def __init__(self, known: Reproduced, delta: float, budget: int, progress: Callable[[int], None] | None) -> None:
        self._known, self._delta, self._budget, self._progress = known, delta, budget, progress
        self._ranked: list[_Ranked] = []
        self._keys: set[Hashable] = set()
        self.left: set[Hashable] = set()
        self._endless: StalledError | None = None

    @property
    def count(self) -> int:
        return len(self._ranked)

    @property
    def open(self) -> bool:
        """Whether another candidate may be tried, and may be worse."""
        return self.count < self._budget and not any(math.isinf(one.epsilon) for one in self._ranked[-1:])

    def judge(self, candidate: Candidate) -> _Ranked | None:
        """Estimate the cost of a candidate; None for one that was judged before, or where the code has no end."""
        if candidate.key in self._keys:
            return None
        self._keys.add(candidate.key)
        try:
            explained = self._known.compared(candidate.hypothesis, scored=False)
        except StalledError as error:  # on such data it is not held to its claim
            self._endless = error
            return None
        finally:
            if self._progress is not None:
                self._progress(1)
        ranked = _Ranked(candidate, *estimated(explained, self._delta))
        self._ranked.append(ranked)
        return ranked

    def next_start(self) -> _Ranked | None:
        """Best candidate from which no moves were tried."""
        best = _best([one for one in self._ranked if one.candidate.key not in self.left])
        if best is not None:
            self.left.add(best.candidate.key)
        return best

    def result(self, transcripts: int) -> Searched:
        winner = _best(self._ranked)
        if winner is None:
            raise self._endless or PrivacyError("the search has no adjacent objective to try")
        by_family: dict[str, list[_Ranked]] = {}
        for one in self._ranked:
            by_family.setdefault(one.candidate.family, []).append(one)
        families = tuple(
            _Family(name, len(ranked), best)
            for name, ranked in by_family.items()
            if (best := _best(ranked)) is not None
        )
        return Searched(winner, families, self.count, self._budget, transcripts, FIRST_CHUNK, self._delta)


def _best(ranked: Sequence[_Ranked]) -> _Ranked | None:
    """First candidate that no later one beats."""
    best = None
    for one in ranked:
        if best is None or one.beats(best):
            best = one
    return best


def _climb(tried: _Trials, space: _Space, start: _Ranked) -> None:
    """Hill climbing: after an improvement the next move starts from there, until no move is one."""
    moves, turn, failed = space.near(start.candidate), 0, 0
    while tried.open and failed < len(moves):
        found = tried.judge(moves[turn % len(moves)]())
        turn, failed = turn + 1, failed + 1
        if found is not None and found.beats(start):
            start, failed = found, 0
            moves = space.near(start.candidate)
            tried.left.add(start.candidate.key)


def _in_turn(families: Mapping[str, Iterator[Candidate]]) -> Iterator[Candidate]:
    """Candidates of all families in turn, as long as any has one."""
    left = list(families.values())
    while left:
        going: list[Iterator[Candidate]] = []
        for family in left:
            candidate = next(family, None)
            if candidate is not None:
                going.append(family)
                yield candidate
        left = going


@dataclass(frozen=True)
class _Watching:
    """Hypothesis that notes the points of its queries."""

    hypothesis: Hypothesis
    points: list[Array]

    def gradient(self, x: Array) -> Array:
        self.points.append(x.copy())
        return self.hypothesis.gradient(x)

    def hessian(self, x: Array) -> Array:
        return self.hypothesis.hessian(x)

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        x = self.hypothesis.proximal(v, step, regularizer)
        self.points.append(x.copy())
        return x

    def batch(self, indices: Sequence[int]) -> Hypothesis:
        return _Watching(self.hypothesis.batch(indices), self.points)
