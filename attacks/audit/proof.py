"""A bound of ε over **all** pairs of an adjacency, at the door of one agent, from the agent's own code.

The probe reads what the agent sends as O = o + C g + B z, given what passed its door before: g its private answers
(gradients, proximal points), z its noise. Where each noise is in one message alone, B is diagonal, and what the door
sees is a sequence of releases, the r-th moved by Σ_t C_rt Δg_t against noise B_rr z_r. Δg_t, by how much the answers
of two adjacent worlds differ, may depend on all that was seen before, and on nothing else: given what was seen, the
agent's state follows from its data. With ‖Δg_t‖ ≤ Δ_t whatever was seen,

    Laplace:   the loss of every transcript is at most √2 Σ_r Σ_t |C_rt/B_rr| Δ_t, in ℓ1;
    Gaussian:  μ² of every transcript is at most Σ_ts |K_ts| Δ_t Δ_s, and releases that share a fixed μ² lose no more
               than one release of that μ (`attacks.audit.loss.envelopes` has the proof).

Δ_t is, whichever is least and holds:

- answers are clipped to a norm c: 2c, for any data. Where c is, and in which norm, is read off huge answers; within
  it the code is probed, and beyond it has to send what it sends of a clipped answer (`attacks.audit.clips`);
- the query is at a point that the view determines, the same in both worlds: sup ‖∇f − ∇f'‖ of the adjacency. A
  proximal point at a determined v moves by s‖∇f − ∇f'‖/(1 + sκ) at most, ∇²f ≥ κ (in ℓ2, √d times that in ℓ1).
  Where the answer is clipped as well, times the factor by which that clip may stretch a difference;
- the objective is perturbed: the noise is read off at the point that was sent, which both worlds share; the
  determinants of the densities differ by d·ln(1 + C/(dκ)) at most, which is added where noise is Laplace.

Where adjacent is one record, Δg_t is 0 for a batch without it at a determined point, so that the sums are over the
queries that it is in. Unclipped, a batch moves by records/batch times what the whole may.

Not enough is a bounded answer by itself where noise stays hidden: x = z, then O = clip(−x) + z is 0 in one world.

The code is read at every history of its private coins (`attacks.replay.coins`): what it does at one toss in 300
counts. Those that choose a receiver or a batch, and nothing else, need not be tried.

Branches of the code that more than public numbers decide have to go both ways where it is read
(`attacks.audit.branches`).

Random weights (`UniformLaplace`) are drawn without regard to the data, so that their noise loses no more than its
Laplace part. Nothing is proven of agents whose code is no affine function of its answers (projections, ℓ1 proximal
steps, top-k), of releases that are not on the wire as they were made, or of batches of records without a clip.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.branches.watched import Watch, counted, in_words, unrun, watching
from attacks.audit.clips import FAR, NEAR, Clips, stretch
from attacks.audit.loss.comparison import Sample
from attacks.audit.verdict import Bound
from attacks.audit.view_price import Order, worst_change
from attacks.probe.mapping import AFFINE, ROUNDING, Map, Mapper
from attacks.probe.node import Pass, RecordedAgent
from attacks.replay.coins import Coins, every
from attacks.replay.recorded import Recording
from netsim.arrays import Array, Mask
from netsim.claims import Adjacency, Clip, length
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian, Laplace, UniformLaplace
from netsim.shown import show

ANSWERS, VIEWS = (NEAR, FAR), (1e-3, 1e6)
"""Sizes between which random answers, and random values of what passed the door, are drawn, evenly in logarithm."""
DRAWN = 2048
"""So many transcripts are made up, at which the code has to be the same affine map of its answers."""
READ = 256
"""Histories of private coins that are read at most."""
SPREAD = 7.0
"""Where each value has a size of its own: ln of how far it is above or below that of the others, at most."""
ALONE = 8
"""So many of them are run by themselves, too."""
BATCHED = 256
"""And so many where batches are named."""
TURNED = slice(6, None, 8)
"""Those in which an answer is turned towards its point, or towards what was sent."""
SAME = 1e-9
"""Relative: numbers of two readings that are the same."""
ANY_DATA = Adjacency(math.inf, "any data")
SHOWS = 1e-3
"""Of the noise: what rounding may add to a number."""


def bound_or_why(bound: Callable[[], Bound]) -> Bound | str:
    """The bound, or the reason why there is none: code may fail in any way at answers that no objective gives."""
    try:
        return bound()
    except Exception as error:
        return str(error) or type(error).__name__


def bound_at_door(
    samples: Sequence[Sample], agent: int, adjacency: Adjacency, delta: float, convexity: float | None = None
) -> Bound:
    """The bound of ε(δ) for `agent`, seen at its door, from transcripts of both worlds (one replica of each
    sample is read). `convexity` is the least eigenvalue that any of its Hessians may have, None: not known.

    You get an `AttackError` where there is no bound; it says which condition fails.
    """
    ones = [one.replica(one.view.replicas - 1 if k else 0) for k, one in enumerate(samples)]
    with watching(Watch(samples[0].view.public.algorithm)) as watch, counted():
        found = list(every(partial(_at_coins, ones, agent, adjacency, delta, convexity), READ))
    if unread := unrun(watch.branches, watch.seen):
        raise AttackError(f"where its code was read, {in_words(unread)}")
    worst = max((bound for _, bound in found), key=lambda bound: bound.epsilon)
    return replace(worst, conditions=(*worst.conditions, _of_coins(len(found))))


def _at_coins(
    ones: Sequence[Sample], agent: int, adjacency: Adjacency, delta: float, convexity: float | None, coins: Coins
) -> Bound:
    """The bound where the agent's private coins fall as in this history."""
    try:
        doors = [_Door.of(replace(one, coins=coins.again), agent) for one in ones]
        for one, door in zip(ones, doors, strict=True):
            if door.overran != Mapper(RecordedAgent(_recording(one, agent))).base.overran:
                raise AttackError("it goes on to send where the run's record ends, or falls silent before")
    except AttackError as error:
        raise AttackError(f"at some of its private coins, {error}" if coins.used else str(error)) from error
    first = doors[0]
    for other in doors[1:]:
        first.check_same(other)
    order: Order = 2 if first.law == "gaussian" else 1
    used = np.any(first.vectors != 0, axis=0)
    limits = [one.limits(adjacency, order, convexity, used) for one in doors]
    highest = np.max([limit for limit, _ in limits], axis=0)
    moved = list(first.moved(adjacency, used, np.any([one.shared for one in doors], axis=0)))
    upper = max(worst_change(first.vectors[:, some], highest[some], order)[1] for some in moved)
    epsilon = gaussian_epsilon(upper, delta) if order == 2 else upper
    added, words = first.determinants(adjacency, convexity)
    what = "its gradients, clipped" if any(first.clips) else "its gradients or proximal points"
    affine = f"what it sends is an affine function of {what}, the same in {len(doors)} runs, of both data sets"
    law = first.law.capitalize()
    covered = (
        f"each of the {len(first.vectors)} noisy values that it sends has {law} noise of its own, and is sent as it"
    )
    return Bound(
        epsilon + added,
        (
            f"who listens has all that agent {agent} sends and receives, and knows the run's routes and delays",
            f"{affine}, and in {first.drawn} made-up ones with gradients from 10⁻⁶ to 10¹²",
            f"{covered} was made; nothing else that it sends depends on its data, given what was seen before",
            *dict.fromkeys(sentence for _, found in limits for sentence in found),
            *words,
            *_of_batches(moved, used),
        ),
    )


def _of_batches(moved: Sequence[Mask], used: Mask) -> tuple[str, ...]:
    most, all_of_them = max(np.count_nonzero(some) for some in moved), np.count_nonzero(used)
    return () if most == all_of_them else (f"a record is in {most} of its {all_of_them} queries at most",)


def _of_coins(histories: int) -> str:
    if histories > 1:
        return f"all {histories} ways in which its random choices may fall were read, for who knows them"
    return "its random choices, if any, decide only whom it sends to and which records are in a batch"


@dataclass(frozen=True, eq=False)
class _Door:
    """One transcript. `vectors` (releases, queries): what each answer moves of each release, in deviations of its
    noise (Laplace: in its scale). `clips` (queries,): by what each answer is clipped. `shared` (queries,): whether a
    query's point moves with others' answers; `steps` (queries,) by how much with its own. `perturbed`: the steps of
    releases by objective perturbation; `batches`: which of so many `records` a query is for, where it is not for all
    (None as in `Pass`); `overran`: whether the code goes on to send where the record ends; `drawn`: how many
    transcripts were made up."""

    law: str
    vectors: Array
    fields: tuple[object, ...]
    clips: tuple[Clip | None, ...]
    batches: Mapping[int, tuple[int, ...] | None]
    records: int
    dimension: int
    steps: Array
    shared: Mask
    perturbed: Array
    overran: bool
    drawn: int

    @classmethod
    def of(cls, sample: Sample, agent: int) -> "_Door":
        public = sample.view.public
        if not public.codec.lossless:
            raise AttackError(f"{public.codec} changes what is sent")
        recording = _recording(sample, agent)
        mapper = Mapper(RecordedAgent(recording))
        if mapper.base.gaps:
            raise AttackError("messages to the agent were not recorded")
        clips = Clips.of(recording, mapper)
        found = clips.map()
        if len(found.design) != 1:
            raise AttackError("coordinates have maps of their own")
        law, scale = _noise(mapper, found)
        noise = np.sum(abs(found.noise[0].toarray()) * scale, axis=1)  # of each message
        vectors, rows = _releases(mapper, found, noise)
        steps, shared = _points(clips)
        shared |= _check(mapper, clips, found, noise, steps)
        factors = np.array([mapper.base.equations[row].factor for row in rows])
        return cls(
            law,
            vectors,
            found.fields,
            clips.each,
            {t: batch for (_, t), batch in mapper.base.batches.items()},
            public.records[agent] if public.records else 1,
            mapper.shape[1],
            steps,
            shared,
            -factors[factors < 0],
            mapper.base.overran,
            _drawn(mapper),
        )

    def check_same(self, other: "_Door") -> None:
        """Another transcript has the same map."""
        same = self.fields == other.fields and self.batches == other.batches
        same = same and self.vectors.shape == other.vectors.shape and self.law == other.law
        if not same or not np.allclose(self.vectors, other.vectors, rtol=SAME, atol=0.0):
            raise AttackError("the map from answers to messages is not the same in all transcripts")

    def moved(self, adjacency: Adjacency, used: Mask, shared: Mask) -> Iterator[Mask]:
        """The queries whose answers an adjacent change may move, of those `used`, for each record that may be the one
        that differs; `shared`: those at points that other answers move, in any transcript."""
        named = {t: {k % self.records for k in some} for t, some in self.batches.items() if some is not None}
        without = [t for t in named if not shared[t]] if adjacency.record else []
        seen = set[bytes]()
        for record in range(self.records if without else 1):
            some = used.copy()
            some[[t for t in without if record not in named[t]]] = False
            if some.tobytes() not in seen:
                seen.add(some.tobytes())
                yield some

    def _weight(self, adjacency: Adjacency, t: int) -> float | None:
        """How many times what it may move the whole gradient a change may move that of the query; None: any number of
        times."""
        if t not in self.batches:
            return 1.0
        named = self.batches[t]
        if named is None or not named or not adjacency.record:
            return None
        most = max(Counter(k % self.records for k in named).values())
        return self.records * most / len(named)

    def limits(
        self, adjacency: Adjacency, order: Order, convexity: float | None, used: Mask
    ) -> tuple[Array, tuple[str, ...]]:
        """Δ_t of each query that is `used`, and on what it rests."""
        found, words = np.zeros(len(used)), list[str]()
        for t in np.flatnonzero(used).tolist():
            options = [self._clipped(order, t), self._determined(adjacency, order, convexity, t)]
            known = [one for one in options if one is not None and math.isfinite(one[0])]
            if not known:
                raise AttackError(self._why(adjacency, convexity, t))
            found[t], word = min(known)
            words.append(word)
        return found, tuple(dict.fromkeys(words))

    def determinants(self, adjacency: Adjacency, convexity: float | None) -> tuple[float, tuple[str, ...]]:
        """What the densities of perturbed minimizers add, and on what that rests."""
        bend, d = adjacency.curvature_change, self.dimension
        if not self.perturbed.size or bend == 0:
            return 0.0, ()
        kappas = None if convexity is None else 1 / self.perturbed + convexity
        if self.law == "gaussian" or not math.isfinite(bend) or kappas is None or not np.all(kappas > 0):
            raise AttackError(
                "the objective is perturbed, and the change of the Hessian is not bounded for this noise"
            )
        words = (
            f"sums of the positive eigenvalues of ∇²f − ∇²f' are at most {show(bend, 4)}, and f + κ/2‖·‖² is convex"
        )
        return math.fsum(d * math.log1p(bend / (d * kappa)) for kappa in kappas), (words,)

    def _clipped(self, order: Order, t: int) -> tuple[float, str] | None:
        clip = self.clips[t]
        if clip is None or self.steps[t] != 0:
            return None
        limit = 2 * (clip.l1_bound if order == 1 else clip.l2_bound)(self.dimension)
        return (
            limit,
            f"gradients are clipped, so that they change by at most {show(limit, 4)} in ℓ{order}, for any data",
        )

    def _determined(
        self, adjacency: Adjacency, order: Order, convexity: float | None, t: int
    ) -> tuple[float, str] | None:
        weight = self._weight(adjacency, t)
        if self.shared[t] or weight is None:
            return None
        change, pairs = weight * adjacency.gradient_change, adjacency.relation
        across, along = (stretch(self.clips[t], norm, self.dimension) for norm in (2, order))
        limit = change * across * (1.0 if order == 2 else math.sqrt(self.dimension))
        clipped = f", which clipping stretches by at most {show(along, 4)}" if along > 1 else ""
        if self.steps[t] == 0:
            if order == 1:
                limit = min(limit, along * weight * adjacency.in_norm("l1", self.dimension))
            where = (
                f"gradients are taken at points that who listens knows, and differ there by at most {show(limit, 4)}"
            )
            return limit, f"{where} in ℓ{order} ({pairs}{clipped})"
        if convexity is None or not 1 + self.steps[t] * convexity > 0:
            return None
        limit /= 1 + self.steps[t] * convexity
        where = (
            f"proximal points are of points that who listens knows, and the least curvature is {show(convexity, 4)}"
        )
        return limit, f"{where}; gradients differ by at most {show(change, 4)} in ℓ2 ({pairs}{clipped})"

    def _why(self, adjacency: Adjacency, convexity: float | None, t: int) -> str:
        if self._weight(adjacency, t) is None:
            return "gradients of batches are not clipped: a record weighs more in a batch than in the whole"
        if self.shared[t]:
            return f"gradient {t} is taken at a point that its other gradients move, and it is not clipped"
        if not math.isfinite(adjacency.gradient_change):
            return "the adjacency bounds no change of a gradient, and gradients are not clipped"
        return f"the curvature of the objectives is not known, and number {t} is a proximal point ({convexity})"


def _recording(sample: Sample, agent: int) -> Recording:
    rows, shared = sample.view.at_node(agent), sample.view.shared.get(agent)
    return Recording(sample.view.public, agent, rows, sample.view.replicas, sample.coins(), shared)


def _check(mapper: Mapper, clips: Clips, found: Map, noise: Array, steps: Array) -> Mask:
    """The code does with answers of all sizes, whatever was seen, what its map says, as far as its noise shows it; by
    itself what it does beside others. Whether each query's point moves there but by its own `steps`, (queries,)."""
    largest = np.max([np.max(np.abs(e.value), initial=1.0) for e in mapper.base.equations])
    if ROUNDING * largest > SHOWS * np.min(noise[noise > 0]):
        raise AttackError(
            f"its numbers are up to {show(largest, 2)}: rounding is not small beside noise that is so much less"
        )
    answers, scales, copies = _answers(mapper, clips), _scales(mapper.base), _drawn(mapper)
    noises = _unseen(mapper, found)
    moves = np.zeros(len(answers), dtype=bool)
    alone = [slice(k, k + 1) for k in range(0, copies, copies // ALONE + 1)]

    def run(some: slice, other: bool, given: Array | None = None) -> Pass:
        seen = _made_up(mapper, some) if other else None
        return mapper.at(given, noises[:, some], len(range(copies)[some]), seen=seen)

    pace = copies // BATCHED + 1
    for k in range(0, copies, pace) if mapper.base.batches else ():  # one for all copies: by themselves they differ
        if run(slice(k, k + 1), k // pace % 4 > 0, answers[:, k : k + 1]).batches != mapper.base.batches:
            raise AttackError("which records are in a batch depends on what it computes with or on what was seen")
    for other in (False, True):
        turned = _along(answers, run(TURNED, other, answers[:, TURNED]), mapper)
        for some in (slice(None), *alone):
            given = turned[:, some]
            still, there = run(some, other), run(some, other, given)
            mapper.check_elsewhere(found, still, there, clips(given), noise)
            if not all(np.allclose(a, b, rtol=SAME, atol=0.0) for a, b in zip(_scales(there), scales, strict=True)):
                raise AttackError("how much noise there is depends on what was seen before")
            for t, (i, k) in enumerate(mapper.base.queries):
                before, own = still.points[i][k], steps[t] * given[t]
                room = SAME * (1 + np.abs(before) + np.abs(own))
                moves[t] |= np.any(~(np.abs(there.points[i][k] - before + own) <= room))
    return moves


def _unseen(mapper: Mapper, found: Map) -> Array:
    """Random noise of every release, (noises, copies, dimension), of up to a hundred deviations: code may use that
    which is in no message as coins."""
    rng, shape = np.random.default_rng(2), (len(found.stddev), _drawn(mapper), mapper.shape[1])
    return found.stddev[:, None] * _sizes(rng, (1e-2, 1e2), (*shape[:2], 1)) * rng.standard_normal(shape)


def _along(answers: Array, found: Pass, mapper: Mapper) -> Array:
    """The answers, of which in the copies `TURNED` one is along its point, or along what the agent sent (in the pass
    `found` of these copies), but for a share of any size: at any size, or as long.

    The points before an answer are those of the answers before it, and stay where they are.
    """
    rng, turned = np.random.default_rng(3), answers.copy()
    some = turned[:, TURNED]
    for k in range(some.shape[1] if len(answers) else 0):
        t = int(rng.integers(len(answers)))
        i, nth = mapper.base.queries[t]
        along = found.points[i][nth][k]
        if rng.random() < 0.5 and found.equations:
            along = found.equations[rng.integers(len(found.equations))].observed[k]
        if 0 < (long := np.linalg.norm(along)) < math.inf:
            off = (rng.random() < 0.5) * np.exp(rng.uniform(math.log(SAME), 0)) * rng.standard_normal(len(along))
            size = np.linalg.norm(some[t, k]) / long if rng.random() < 0.5 else 1.0
            some[t, k] = rng.choice((-1.0, 1.0)) * size * (along + long * off)
    return turned


def _scales(found: Pass) -> list[Array]:
    """Of each release, agent by agent: what hides answers, a mixture's Laplace noise alone, for its width is drawn
    without regard to them."""
    made = (mechanism for _, some in sorted(found.mechanisms.items()) for mechanism in some)
    hidden = (Laplace(m.scale) if isinstance(m, UniformLaplace) else m for m in made)
    return [np.asarray(m.variance(), dtype=np.float64) for m in hidden]


def _drawn(mapper: Mapper) -> int:
    """How many made-up transcripts: fewer where they are long."""
    return max(64, min(DRAWN, 2**24 // (1 + len(mapper.base.equations) * mapper.shape[1])))


def _sizes(rng: np.random.Generator, ends: tuple[float, float], shape: tuple[int, ...]) -> Array:
    low, high = (math.log(end) for end in ends)
    return np.exp(rng.uniform(low, high, shape))


def _answers(mapper: Mapper, clips: Clips, seed: int = 0) -> Array:
    """Random answers to all queries, (queries, copies, dimension): each of a size of its own; in half of the
    transcripts all of one size, but that in an eighth of these one is of another, and in an eighth sizes grow or
    shrink by one factor; an eighth with one coordinate that is not 0, and an eighth with some.

    In an eighth of the transcripts each all answers have one direction, at one size, or nearly, and at any, and all
    coordinates of an answer one size; half of these have signs of their own. In another eighth each is above or below
    the bound that it is clipped to by a share of it that is of any size."""
    rng, copies, d = np.random.default_rng(seed), _drawn(mapper), mapper.shape[1]
    shape = len(mapper.base.queries), copies, d
    size = _sizes(rng, ANSWERS, (shape[0], copies, 1))
    one = np.where(np.arange(copies) % 16 == 6, rng.integers(shape[0] or 1, size=copies), -1)  # whose size stays
    alike = np.arange(shape[0])[:, None] != one
    alike &= (np.arange(copies) % 2 == 0) & (np.arange(copies) % 16 != 2)
    size = np.where(alike[..., None], size[:1], size)
    ratios = np.exp(rng.uniform(-2, 2, (copies, 1))) ** np.arange(shape[0])[:, None, None]
    size[:, 10::16] = np.clip(size[:1, 10::16] * ratios[:, 10::16], *ANSWERS)
    answers = size * rng.standard_normal(shape)
    answers[:, ::8] *= np.arange(d) == rng.integers(d, size=(copies, 1))[::8]
    answers[:, 4::8] *= rng.random((shape[0], copies, d))[:, 4::8] < rng.random((copies, 1))[4::8]
    signs = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    signs[:, (np.arange(copies) // 8) % 2 == 0] = 1.0
    answers[:, 1::8] = answers[:1, 1::8] * signs[:, 1::8, :1]
    near = answers[:, 9::16]
    near += size[:1, 9::16] * _sizes(rng, (SAME, 1.0), (copies, 1))[9::16] * rng.standard_normal(near.shape)
    answers[:, 3::8] = answers[:1, 3::8] * signs[:, 3::8, :1] * size[:, 3::8] / size[:1, 3::8]
    answers[:, 5::8] = answers[:, 5::8, :1] * signs[:, 5::8]
    near = answers[:, 7::8]
    sides, off = rng.choice((-1.0, 1.0), near.shape[:2]), _sizes(rng, (AFFINE, 1.0), near.shape[:2])
    for clip, v, by in zip(clips.each, near, 1 + sides * off, strict=True):
        if clip is not None:
            v *= (by * clip.bound / np.maximum(length(v, clip.norm), NEAR * clip.bound))[:, None]
    return answers


def _made_up(mapper: Mapper, some: slice) -> Callable[[Array], Array]:
    """Another value of each that was observed, (copies, dimension), in `some` of the copies: what was seen, at
    another size; numbers that have nothing to do with it, all of one size, each of its own, some of them 0, or such
    that grow or shrink; and numbers that are all near each other, by a share of any size. The same value always
    becomes the same."""
    rng, copies, d = np.random.default_rng(1), _drawn(mapper), mapper.shape[1]
    size, kind = _sizes(rng, VIEWS, (copies, 1))[some], rng.integers(6, size=(copies, 1))[some]
    pitch, phase = 1e3 * rng.standard_normal((copies, 1))[some], rng.uniform(0, 2 * math.pi, (copies, d))[some]
    share = _sizes(rng, (NEAR**2, 1.0), (copies, 1))[some]
    common = np.where(kind == 5, rng.standard_normal((copies, d))[some], 0.0)
    rate, order = rng.uniform(-1, 1, (copies, 1))[some], dict[bytes, int]()

    def made_up(value: Array) -> Array:
        nth = order.setdefault(value[0].tobytes(), len(order))
        each = np.sin(pitch * np.sum(value, axis=-1, keepdims=True) + phase[:, :1])
        later = np.clip(size * np.exp(rate * nth), *VIEWS) / size
        factors = [1 + 0 * each, np.exp(SPREAD * each), 1.0 * (each > 0), later, share]
        factor = np.select([kind == k for k in range(1, 6)], factors)
        return size * np.where(kind == 0, value, factor * np.sin(pitch * value + phase) + common)

    return made_up


def _noise(mapper: Mapper, found: Map) -> tuple[str, Array]:
    """The law of all noise, and the scale of each that is sent: deviations, or Laplace's b, (noises,)."""
    made = [m for _, some in sorted(mapper.base.mechanisms.items()) for m in some]
    sent = np.flatnonzero(np.asarray(abs(found.noise[0]).sum(axis=0)).ravel())
    laws, scale = set[str](), np.ones(found.noise[0].shape[1])
    for k in sent.tolist():
        law = "laplace" if isinstance(made[k], UniformLaplace) else found.laws[k]
        if law is None or type(made[k]) not in (Laplace, Gaussian, UniformLaplace):  # another may draw as it likes
            raise AttackError(f"a bound is for Laplace or Gaussian noise, not for {type(made[k]).__name__}")
        laws.add(law)
        mechanism = made[k]
        if isinstance(mechanism, UniformLaplace):
            scale[k] = float(np.min(mechanism.scale))
        else:
            scale[k] = float(np.min(found.stddev[k])) / (math.sqrt(2) if law == "laplace" else 1.0)
    if len(laws) != 1:
        raise AttackError("there are releases with Laplace noise and with Gaussian" if laws else "nothing has noise")
    return laws.pop(), scale


def _releases(mapper: Mapper, found: Map, noise: Array) -> tuple[Array, list[int]]:
    """Rows of C in units of their noise, (releases, queries), and which equations they are; `noise` (equations,)."""
    own, design = found.noise[0].toarray() != 0, found.design[0].toarray()
    loud = noise > 0
    hidden = own[:, [found.releases.index(release) for release in mapper.base.unseen]]
    if np.any(hidden) or np.any(np.count_nonzero(own, axis=0) > 1) or np.any(np.count_nonzero(own, axis=1) > 1):
        raise AttackError("some release is not on the wire as it was made, or its noise is in several messages")
    if np.any(design[~loud]):
        field = found.fields[int(np.flatnonzero(~loud & np.any(design, axis=1))[0])]
        raise AttackError(f"{field[3]!r} of {field[1]} message {field[2]} depends on answers, and no noise is in it")
    return design[loud] / noise[loud, None], np.flatnonzero(loud).tolist()


def _points(clips: Clips) -> tuple[Array, Mask]:
    """By how much each query's point moves with its own answer, and whether it moves with any other, (queries,)."""
    mapper = clips.mapper
    count, d = len(mapper.base.queries), mapper.shape[1]
    if not count:
        return np.zeros(0), np.zeros(0, dtype=bool)
    base = mapper.points(mapper.base)[:, 0]
    impulses = np.broadcast_to(np.eye(count)[:, :, None], (count, count, d))
    there = mapper.at(np.array(impulses), copies=count)
    moved = np.array([there.points[i][t] for i, t in mapper.base.queries]) - base[:, None]
    steps = -np.mean(np.einsum("ttd->td", moved), axis=-1)
    room = SAME * (1 + np.max(np.abs(base), axis=-1, initial=0.0))
    steps = np.where(np.abs(steps) <= room, 0.0, steps)
    shared = np.zeros(count, dtype=bool)
    answers = np.random.default_rng(7).standard_normal((count, *mapper.shape))
    left = mapper.points(mapper.at(answers))[:, 0] - base + steps[:, None] * answers[:, 0]
    shared |= np.max(np.abs(left), axis=-1) > room * (1 + np.max(np.abs(answers)))
    own = moved + steps[:, None, None] * impulses
    shared |= np.max(np.abs(own), axis=(1, 2)) > room
    return steps / clips.units, shared
