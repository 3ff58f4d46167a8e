"""A bound of ε over **all** pairs of an adjacency, at the door of one agent, from the agent's own code.

The probe reads what the agent sends as O = o + C g + B z, given what passed its door before: g its private answers
(gradients, proximal points), z its noise. Releases that no message carries as they were made are granted: who has
them knows no less. Where each noise is in one message alone, B is diagonal, and what the door sees is a sequence of
releases, the r-th moved by Σ_t C_rt Δg_t against noise B_rr z_r. Where a message with answers in it has no noise but
that of such releases they are not granted: the code is then affine in them, too, each message has one noise in it
that none before has, and (B⁻¹C)_rt stands for C_rt/B_rr, B being triangular; no answer is at a point that is moved by
noise which is out only with it, or later. Δg_t, by how much the answers of two adjacent worlds differ, may depend on
all that was seen before, and on nothing else: given what was seen, the agent's state follows from its data.
With ‖Δg_t‖ ≤ Δ_t whatever was seen,

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
queries that it is in, or may be in at once (`attacks.audit.moved`). Unclipped, a batch moves by records/batch times
what the whole may.

Not enough is a bounded answer by itself where noise stays hidden: x = z, then O = clip(−x) + z is 0 in one world.

The map is checked at made-up transcripts (`attacks.audit.made_up`). The code is read at every history of its private
coins (`attacks.replay.coins`): what it does at one toss in 300 counts. Those that choose a receiver or a batch, and
nothing else, need not be tried.

The code may decide by public numbers and coins alone, and make what it sends by sums, multiples and clips: that is
followed for all values at once (`attacks.audit.followed`).

Random weights (`UniformLaplace`) are drawn without regard to the data, so that their noise loses no more than its
Laplace part. Nothing is proven of agents whose code is no affine function of its answers (projections, ℓ1 proximal
steps, top-k), of messages that have answers in them beside what was released, or of batches without a clip of which
it is not known which records may be in them at once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import linalg

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.clips import Clips, stretch
from attacks.audit.followed.reading import HISTORIES, Reading, in_words, reading
from attacks.audit.loss.comparison import Sample
from attacks.audit.made_up import SAME, drawn, moved_elsewhere
from attacks.audit.moved import Batches, moved_queries, sentences, weight
from attacks.audit.verdict import Bound
from attacks.audit.view_price import Order
from attacks.probe.mapping import Map, Mapper
from attacks.probe.node import RecordedAgent
from attacks.replay.coins import Coins, every
from attacks.replay.recorded import Recording
from netsim.arrays import Array, Mask
from netsim.claims import Adjacency, Clip
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian, Laplace, UniformLaplace
from netsim.shown import show

ALONE = 8
"""Made-up transcripts that are read by themselves, too: no value decides how code goes on, but their number might."""
_SOME = "at some of its private coins, "
_NOTHING = Bound(0.0, ())
"""Where nothing that is sent depends on answers."""
ANY_DATA = Adjacency(math.inf, "any data")


def bound_or_why(bound: Callable[[], Bound]) -> Bound | str:
    """The bound, or the reason why there is none: code may fail in any way at answers that no objective gives."""
    try:
        return bound()
    except Exception as error:
        return str(error) or type(error).__name__


def bound_at_door(
    samples: Sequence[Sample],
    agent: int,
    adjacency: Adjacency,
    delta: float,
    convexity: float | None = None,
    most: int = HISTORIES,
) -> Bound:
    """The bound of ε(δ) for `agent`, seen at its door, from transcripts of both worlds (one replica of each
    sample is read). `convexity` is the least eigenvalue that any of its Hessians may have, None: not known.

    You get an `AttackError` where there is no bound; it says which condition fails. So it does where private coins
    may fall in more than `most` ways.
    """
    ones = [one.replica(one.view.replicas - 1 if k else 0) for k, one in enumerate(samples)]
    found = list(every(partial(_at_coins, ones, agent, adjacency, delta, convexity), most))
    worst = max((bound for _, bound in found), key=lambda bound: bound.epsilon)
    if worst == _NOTHING:
        if any(row.sender == agent for one in ones for row in one.view.transcript.at_node(agent)):
            raise AttackError("nothing has noise")
        return Bound(0.0, (f"agent {agent} sends nothing in this run",))
    return replace(worst, conditions=(*worst.conditions, _of_coins(len(found))), histories=len(found))


def _at_coins(
    ones: Sequence[Sample], agent: int, adjacency: Adjacency, delta: float, convexity: float | None, coins: Coins
) -> Bound:
    """The bound where the agent's private coins fall as in this history."""
    try:
        doors = [_Door.of(replace(one, coins=coins.again), agent, coins, k, len(ones)) for k, one in enumerate(ones)]
        for one, door in zip(ones, doors, strict=True):
            if door.overran != Mapper(RecordedAgent(one.recording(agent))).base.overran:
                raise AttackError("it goes on to send where the run's record ends, or falls silent before")
    except AttackError as error:
        if not coins.used:
            raise
        if isinstance(error, BareError):
            raise BareError(error.what, coins) from error
        raise AttackError(f"{_SOME}{error}") from error
    return _of_doors(doors, agent, adjacency, delta, convexity)


def bound_at_own_coins(
    sample: Sample, agent: int, adjacency: Adjacency, delta: float, convexity: float | None = None
) -> Bound:
    """The same where the agent's private coins fall as in a transcript of one replica. Errors as `bound_at_door`."""
    return _of_doors([_Door.of(sample, agent, Coins.of(()), 0, 1)], agent, adjacency, delta, convexity)


def _of_doors(
    doors: "Sequence[_Door]", agent: int, adjacency: Adjacency, delta: float, convexity: float | None
) -> Bound:
    """The bound of transcripts that all have one history of the coins."""
    first = doors[0]
    for other in doors[1:]:
        first.check_same(other)
    if not first.law:
        return _NOTHING
    adjacency = adjacency.at(first.records)
    order: Order = 2 if first.law == "gaussian" else 1
    used = np.any(first.vectors != 0, axis=0)
    limits = [one.limits(adjacency, order, convexity, used) for one in doors]
    highest = np.max([limit for limit, _ in limits], axis=0)
    shared = np.any([one.shared for one in doors], axis=0)
    moved = list(moved_queries(first.batches, first.records, used, shared, adjacency.record))
    uppers = [one.farthest(first.vectors, highest, order) for one in moved]
    upper = max(uppers)
    worst = moved[uppers.index(upper)]
    epsilon = gaussian_epsilon(upper, delta) if order == 2 else upper
    added, words = first.determinants(adjacency, convexity)
    what = "its gradients, clipped" if any(first.clips) else "its gradients or proximal points"
    affine = f"what it sends is an affine function of {what}, the same in {len(doors)} runs, of both data sets"
    law = first.law.capitalize()
    covered = (
        f"each of the {len(first.vectors)} noisy values that it sends has {law} noise of its own, and is sent as it"
    )
    rest = f"{covered} was made; nothing else that it sends depends on its data, given what was seen before"
    of_record = f", record {worst.record}" if len(moved) > 1 else ""
    listener = f"all that agent {agent} sends and receives"
    if any(door.granted for door in doors):
        listener = f"{listener}, its releases as they were made"
        rest = (
            f"each of its {len(first.vectors)} releases has {law} noise of its own; all else that it sends is made of"
            " these and of what was seen before"
        )
    if any(door.inside for door in doors):
        rest = (
            f"each of the {len(first.vectors)} noisy values that it sends has {law} noise in it that none before it "
            "has, with a factor that is the same in all runs; nothing else that it sends depends on its data, given "
            "what was seen before"
        )
    return Bound(
        epsilon + added,
        (
            f"who listens has {listener}, and knows the run's routes and delays",
            f"{affine}, and in {first.drawn} made-up ones with gradients from 10⁻¹⁵⁰ to 10¹⁵⁰",
            rest,
            *dict.fromkeys(sentence for _, found in limits for sentence in found),
            *words,
            *sentences(moved, used),
        ),
        pure=order == 1,
        worst=f"agent {agent}{of_record}{first.dearest(highest, worst.any, order)}",
    )


def _of_coins(histories: int) -> str:
    if histories > 1:
        return f"all {histories} ways in which its random choices may fall were read, for who knows them"
    return "its random choices, if any, decide only whom it sends to and which records are in a batch"


@dataclass(frozen=True, eq=False)
class _Door:
    """One transcript. `law` is that of its noise, empty where nothing that is sent depends on answers, and there is
    none. `vectors` (releases, queries): what each answer moves of each release, in deviations of its
    noise (Laplace: in its scale). `clips` (queries,): by what each answer is clipped. `shared` (queries,): whether a
    query's point moves with others' answers; `steps` (queries,) by how much with its own. `perturbed`: the steps of
    releases by objective perturbation; `batches`: which of so many `records` a query is for, where it is not for all
    (None as in `Pass`); `overran`: whether the code goes on to send where the record ends; `drawn`: how many
    transcripts were made up; `granted`: who listens is granted releases that no message carries; `inside`: they come
    out of messages."""

    law: str
    vectors: Array
    fields: tuple[object, ...]
    clips: tuple[Clip | None, ...]
    batches: Batches
    records: int
    dimension: int
    steps: Array
    shared: Mask
    perturbed: Array
    overran: bool
    drawn: int
    granted: bool
    inside: bool = False

    @classmethod
    def of(cls, sample: Sample, agent: int, coins: Coins, part: int, parts: int) -> "_Door":
        """Read at a `part` of all made-up transcripts, of so many `parts`; a few of these by themselves."""
        public = sample.view.public
        if not public.codec.lossless:
            raise AttackError(f"{public.codec} changes what is sent")
        recording = sample.recording(agent)
        followed = reading(recording)
        _check_followed(followed)
        mapper = Mapper(RecordedAgent(recording))
        if mapper.base.gaps:
            raise AttackError("messages to the agent were not recorded")
        if not followed.private and not any(mapper.base.mechanisms.values()):
            return cls.silent(followed, mapper)
        hidden = [release for _, release in mapper.base.unseen]
        if not hidden:
            return cls._read(sample, recording, mapper, coins, part, parts)
        granted = recording._replace(granted=tuple(sample.releases))
        try:
            return cls._read(sample, granted, Mapper(RecordedAgent(granted)), coins, part, parts)
        except BareError:
            _check_followed(reading(recording._replace(inside=tuple(hidden))))
            return cls._read(sample, recording, mapper, coins, part, parts)

    @classmethod
    def silent(cls, followed: Reading, mapper: Mapper) -> "_Door":
        """Of which nothing depends on answers, whatever these are."""
        none, fields = np.zeros(0), tuple(followed.messages)
        shared, overran = np.zeros(0, dtype=bool), mapper.base.overran
        return cls("", np.zeros((0, 0)), fields, (), {}, 1, mapper.shape[1], none, shared, none, overran, 0, False)

    @classmethod
    def _read(
        cls, sample: Sample, recording: Recording, mapper: Mapper, coins: Coins, part: int, parts: int
    ) -> "_Door":
        public = sample.view.public
        clips = Clips.of(recording, mapper)
        found = clips.map()
        if len(found.design) != 1:
            raise AttackError("coordinates have maps of their own")
        law, scale = _noise(mapper, found)
        inside = bool(mapper.base.unseen)
        own = found.noise[0].toarray() * scale
        noise = np.sum(abs(own), axis=1)  # of each message
        steps, shared = _points(clips)
        if inside:
            vectors, rows, moved = _inside(mapper, found, own)
            shared |= moved
        else:
            vectors, rows = _releases(mapper, found, noise)
        ends = np.linspace(0, drawn(mapper), parts + 1).astype(int)[part : part + 2].tolist()
        alone = np.random.default_rng([4, *coins.history]).permutation(ends[1] - ends[0])[:ALONE]
        shared |= moved_elsewhere(mapper, clips, found, noise, steps, slice(*ends), alone)
        factors = np.array([mapper.base.equations[row].factor for row in rows])
        return cls(
            law,
            vectors,
            found.fields,
            clips.each,
            {t: batch for (_, t), batch in mapper.base.batches.items()},
            public.records[recording.agent] if public.records else 1,
            mapper.shape[1],
            steps,
            shared,
            -factors[factors < 0],
            mapper.base.overran,
            drawn(mapper),
            bool(recording.granted),
            inside,
        )

    def check_same(self, other: "_Door") -> None:
        """Another transcript has the same map."""
        same = self.fields == other.fields and self.batches == other.batches
        same = same and self.vectors.shape == other.vectors.shape and self.law == other.law
        if not same or not np.allclose(self.vectors, other.vectors, rtol=SAME, atol=0.0):
            raise AttackError("the map from answers to messages is not the same in all transcripts")

    def dearest(self, limits: Array, some: Mask, order: Order) -> str:
        """The query that counts most of these, in words; nothing where it is the only one."""
        moved = np.abs(self.vectors * np.where(some, limits, 0.0))
        parts = np.sum(moved, axis=0) if order == 1 else np.sum(moved.T @ moved, axis=1)
        if np.count_nonzero(some) < 2:
            return ""
        return f"; query {int(np.argmax(parts))} counts most, of {np.count_nonzero(some)}"

    def _weight(self, adjacency: Adjacency, t: int) -> float | None:
        return weight(self.batches, self.records, t, adjacency.record)

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


class BareError(AttackError):
    """A message has answers in it and no noise, but that of releases which who listens was granted; where private
    coins are tossed, at these `coins`."""

    def __init__(self, what: str, coins: Coins | None = None) -> None:
        super().__init__(what if coins is None else f"{_SOME}{what}")
        self.what, self.coins = what, coins


def _check_followed(followed: Reading) -> None:
    if followed.failed:
        raise AttackError(f"its code cannot be followed at {followed.failed}")
    if followed.read:
        raise AttackError(f"its code decides by what is private or was seen: {in_words(followed.read)}")
    if followed.bent:
        raise AttackError(followed.bent)


def _inside(mapper: Mapper, found: Map, own: Array) -> tuple[Array, list[int], Mask]:
    """`_releases` where some come out of messages: each row with noise has one noise in it that none before has, so
    that L z = O − o − C g has one solution, row after row; `own` is L, (equations, noises). And which queries' points
    noise moves, (queries,): all of it is out before the first message that the query moves."""
    design, loud = found.design[0].toarray(), np.any(own != 0, axis=1)
    rows, out = np.flatnonzero(loud).tolist(), dict[int, int]()
    for row in rows:
        fresh = [k for k in np.flatnonzero(own[row]).tolist() if k not in out]
        if len(fresh) != 1:
            raise AttackError("some noise is in several messages, or neighbors know it: it does not come out of them")
        out[fresh[0]] = row
    if mapper.base.seeds or any(mapper.base.equations[row].factor < 0 for row in rows):
        raise AttackError(
            "there are perturbed minimizers, or noise that neighbors share, beside noise inside messages"
        )
    _check_covered(found, loud)
    hidden, queries = [found.releases.index(one) for one in mapper.base.unseen], design.shape[1]
    moved, answered = _moved_by(mapper, hidden), _moved_by(mapper, None)
    for _ in range(queries):  # and by what its noise moves before
        moved = moved | ((answered.astype(int) @ moved.astype(int)) > 0)
    for j, k in enumerate(hidden):
        for t in np.flatnonzero(moved[:, j]).tolist():
            first = int(np.flatnonzero(design[:, t])[0]) if np.any(design[:, t]) else len(design)
            if first <= out.get(k, len(design)) and first < len(design):
                raise AttackError("it asks at a point that noise moves which is sent only afterwards")
    triangle = own[np.ix_(rows, list(out))]
    return linalg.solve_triangular(triangle, design[rows], lower=True), rows, np.any(moved, axis=1)


def _moved_by(mapper: Mapper, noises: Sequence[int] | None) -> Mask:
    """Which queries' points these noises move, or the answers, each by itself, (queries, noises or queries)."""
    queries = len(mapper.base.queries)
    count, total = (queries, queries) if noises is None else (len(noises), len(mapper.base.releases))
    impulses = np.zeros((total, count, mapper.shape[1]))
    impulses[list(range(queries)) if noises is None else list(noises), np.arange(count)] = 1.0
    there = mapper.at(*((impulses, None) if noises is None else (None, impulses)), copies=count)
    base = mapper.points(mapper.base)[:, 0]
    points = np.array([there.points[i][t] for i, t in mapper.base.queries]).reshape(queries, count, -1)
    return np.any(points != base[:, None], axis=-1)


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
    if not laws:
        _check_covered(found, np.zeros(len(found.fields), dtype=bool))
        raise AttackError("nothing has noise")
    if len(laws) > 1:
        raise AttackError("there are releases with Laplace noise and with Gaussian")
    return laws.pop(), scale


def _check_covered(found: Map, loud: Mask) -> None:
    """No answer is in an equation that has no noise, (equations,)."""
    bare = ~loud & np.any(found.design[0].toarray(), axis=1)
    if np.any(bare):
        _, kind, number, name = found.fields[int(np.flatnonzero(bare)[0])]
        raise BareError(f"{name!r} of {kind} message {number} depends on answers, and no noise is in it")


def _releases(mapper: Mapper, found: Map, noise: Array) -> tuple[Array, list[int]]:
    """Rows of C in units of their noise, (releases, queries), and which equations they are; `noise` (equations,)."""
    own, design = found.noise[0].toarray() != 0, found.design[0].toarray()
    loud = noise > 0
    hidden = own[:, [found.releases.index(release) for release in mapper.base.unseen]]
    if np.any(hidden) or np.any(np.count_nonzero(own, axis=0) > 1) or np.any(np.count_nonzero(own, axis=1) > 1):
        raise AttackError("some noise is in several messages, or neighbors know it")
    _check_covered(found, loud)
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
