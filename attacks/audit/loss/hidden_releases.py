"""Releases that no message carries as they were made: what they cost for who sees the wire alone, or little more.

*Inside affine messages*, Gaussian releases (`priced`): a sum, a multiple, a value mixed with them. All that the agent
sends is then a Gaussian vector. With z the noise of all releases in standard deviations, those on the wire and those
inside, the messages are y = F(0) + A z in one world and F'(0) + A z in the other. Replays on what was drawn give z₀
and z″, the noise that explains the same releases in either world, and Δ, by which the messages differ then; so with A
d = Δ, z′ = z″ + d explains the messages in the other world, and

    L = ½(‖P z′‖² − ‖P z₀‖²),   μ² = ‖P(z′ − z₀)‖²,   P the projector on the rows of A.

This is the loss of who sees the wire alone: nothing is granted. A is found by moving each number of a release in turn
and replaying the agent's code. Nothing is said (None) where a law is not Gaussian, where the map is not affine, is
another one in the other world or for another transcript, where a release moves nothing, unless it is of no data,
moves last bits, as what cancels does, and no more when it is drawn anew, and where its rank is not clear.

*Among decoys*, of any law that is public (`mixed`): a loss between that of the wire and that of who is granted the
noise. Releases z of a law that is the same whatever the data and all else are, inside messages that noise of their
own protects: p(o | D) = E_z[p(o | z, D)] of what is on the wire, o. Who is granted z_0, that of the run, knows more.
Put among M decoys, drawn from its law, in an order that nobody knows, it is seen with

    p(o, {z_0 … z_M} | D) = Π p(z_i) · mean_i p(o | z_i, D),   L = ln Σ_i p(o | z_i, D) − ln Σ_i p(o | z_i, D').

That is the exact loss of a mechanism of which the wire is a function: its ε is no less than that of the wire, comes
down to it as M grows, and is that of the grant for M = 0. It comes down slowly where few decoys explain in the other
world what was sent: Laplace noise of scale 1 in a sum with Gaussian noise of deviation ½, moved by 1.5, has ε = 1.45
at δ = 0.01, and 7.7 among 16. Without z_0 in the sums it is a function of the wire and of numbers that have nothing
to do with the data: a score for games, and no loss.

Each p(o | z_i, D) is one replay of the agent's code, and 0 where that sends something else. Nothing is said (None)
where the law of z depends on anything, where all decoys of one draw send something else, and where a transcript is
not judged.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast
from zlib import crc32

import numpy as np
from scipy import special

from attacks.replay import Perturbed, Release, Replayed
from netsim.arrays import Array
from netsim.errors import NetsimError
from netsim.mechanisms import Gaussian, Mechanism

MOST = 128
"""Numbers of noise inside messages, at most."""
FEWEST = 8
"""Transcripts, at least, whose maps are compared."""
_SAME = 1e-9
"""Relative: maps that differ by less are one."""
_ROOM = 64 * float(np.finfo(float).eps)
"""Relative: what rounding may change of a number that a noise does not move."""
_FACTORS = (1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Times so many deviations a noise that moves nothing is drawn anew, in every transcript: it has to do nothing."""
_CLEAR = 1e-7
_NONE = 1e-12
"""A singular value of the map, its rows scaled, is above this share of the largest (`_CLEAR`), or below this one."""

Again = Callable[[Sequence[Array | np.random.Generator]], Replayed]
"""Replay of one hypothesis on changed releases; a generator in the place of one draws it anew, by its law."""


class Priced(NamedTuple):
    """`steps` and `cost` as in `WorldComparison`, those of a message put down to the last release in it.

    `sent_in[t]`: the message by which a release is on the wire, in whatever form.
    """

    steps: Array
    cost: Array
    sent_in: tuple[float, ...]


class _Map(NamedTuple):
    """`rows` (rows, noises) of A for the messages `at` (rows,); `exposed[t]`: the first message that a release moves,
    ∞ if none does."""

    rows: Array
    at: Array
    exposed: tuple[float, ...]


def priced(mine: Replayed, theirs: Replayed, releases: Sequence[Array], again: tuple[Again, Again]) -> Priced | None:
    """Loss and cost of all that was sent, where all noise is Gaussian and some of it is inside messages.

    `mine` and `theirs` are the replays of the true and of the other hypothesis on the `releases` that were drawn,
    `again` repeat them on changed ones.
    """
    if not _fits(mine, theirs) or len(releases) != len(mine.releases):
        return None
    try:
        dataless = [np.array_equal(a.value, b.value) for a, b in zip(mine.releases, theirs.releases, strict=True)]
        here, there = (_mapped(one, releases, run, dataless) for one, run in zip((mine, theirs), again, strict=True))
    except NetsimError:
        return None
    if here is None or there is None or here.rows.shape != there.rows.shape:
        return None
    sizes = np.max(np.abs(here.rows), axis=1, keepdims=True)
    if np.any(np.abs(here.rows - there.rows) > _SAME * sizes) or here.exposed != there.exposed:
        return None
    own, others = _whitened(mine), _whitened(theirs)
    differences = [np.zeros_like(r.value) for r in mine.releases if r.sent_in is not None]
    differences += [c.observed - c.predicted for c in theirs.comparisons]
    wanted = np.concatenate([d.T for d in differences]) if differences else np.zeros((0, own.shape[1]))
    sent_in = _in_order([e if math.isfinite(e) else float(len(mine.sendings) - 1) for e in here.exposed])
    steps, cost = np.zeros((2, len(sent_in), own.shape[1]))
    before = np.zeros((2, own.shape[1]))
    for t, message in enumerate(sent_in):
        if t + 1 < len(sent_in) and sent_in[t + 1] == message:
            continue
        until = here.at <= message if t + 1 < len(sent_in) else np.ones(len(here.at), dtype=np.bool_)
        found = _spent(here.rows[until], wanted[until], own, others)
        if found is None:
            return None
        steps[t], cost[t] = found[0] - before[0], np.maximum(found[1] - before[1], 0.0)
        before = found
    return Priced(steps, cost, tuple(sent_in))


def _fits(mine: Replayed, theirs: Replayed) -> bool:
    hidden = [r for r in mine.releases if r.sent_in is None]
    pairs = list(zip(mine.releases, theirs.releases, strict=False))
    return (
        bool(hidden)
        and len(hidden[0].value) >= FEWEST
        and sum(r.value.shape[-1] for r in hidden) <= MOST
        and len(mine.releases) == len(theirs.releases)
        and [s.releases for s in mine.sendings] == [s.releases for s in theirs.sendings]
        and mine.departure is None
        and theirs.departure is None
        and all(isinstance(a.mechanism, Gaussian) and isinstance(b.mechanism, Gaussian) for a, b in pairs)
        and all(np.array_equal(a.stddev, b.stddev) and np.all(a.stddev > 0) for a, b in pairs)
        and all(np.all(a.stddev == a.stddev[:1]) and a.sent_in == b.sent_in and np.all(a.judged) for a, b in pairs)
        and all(np.all(c.judged) for c in theirs.comparisons)
    )


def _whitened(one: Replayed) -> Array:
    """Noise in standard deviations, (noises, replicas), release after release."""
    return np.concatenate([((r.observed - r.value) / r.stddev).T for r in one.releases])


def _mapped(one: Replayed, releases: Sequence[Array], again: Again, dataless: Sequence[bool]) -> _Map | None:
    """A of one hypothesis, at the releases drawn; None where it is no affine map, or not the same for all. Releases
    that are `dataless` have the same value in both worlds."""
    stddev = np.concatenate([r.stddev[0] for r in one.releases])
    ends = np.cumsum([0, *(r.value.shape[-1] for r in one.releases)]).tolist()
    visible = [t for t, r in enumerate(one.releases) if r.sent_in is not None]

    def seen(run: Replayed) -> tuple[Array, Array]:
        """Values of all releases, and all that is compared, each (numbers, replicas)."""
        values = np.concatenate([r.value.T for r in run.releases])
        compared = [c.predicted.T for c in run.comparisons]
        return values, np.concatenate(compared) if compared else np.zeros((0, values.shape[1]))

    values, compared = seen(one)
    moves: Array = np.zeros((len(stddev), len(stddev)))
    effects: Array = np.zeros((len(compared), len(stddev)))
    in_bits = np.zeros(len(stddev), dtype=np.bool_)
    rng = np.random.default_rng(0)
    drawn = rng.standard_normal(len(stddev))
    drawn[[k for t in visible for k in range(ends[t], ends[t + 1])]] = 0.0
    together = list(releases)
    for t in sorted(set(range(len(one.releases))) - set(visible)):
        for c in range(ends[t + 1] - ends[t]):
            k, step = ends[t] + c, np.zeros_like(releases[t])
            step[:, c] = size = float(np.exp2(np.ceil(np.log2(max(stddev[k], np.max(np.abs(releases[t][:, c])))))))
            run = again([r + step if s == t else r for s, r in enumerate(releases)])
            if run.departure is not None or len(run.comparisons) != len(one.comparisons):
                return None
            both = list(zip(seen(run), (values, compared), strict=True))
            in_bits[k] = any(np.any(new != old) for new, old in both)
            moved = [_moved(new, old, size) / size for new, old in both]
            for column, change in zip((moves[:, k], effects[:, k]), moved, strict=True):
                if np.any(np.abs(change - change[:, :1]) > _SAME * np.max(np.abs(change), initial=_NONE)):
                    return None
                column[:] = change[:, 0]
            together[t] = together[t] + drawn[k] * step
            drawn[k] *= size
    idle = (drawn != 0) & ~np.any(effects != 0, axis=0) & ~np.any(moves != 0, axis=0)
    if any(np.any(idle[ends[t] : ends[t + 1]]) and not dataless[t] for t in range(len(dataless))):
        return None
    if np.any(idle & ~in_bits):
        return None  # it is in no sum: a gate that it passes once in ten thousand times looks like this
    for factor in _FACTORS if np.any(idle) else ():  # a threshold far away looks like this too
        deviations = np.where(idle, factor * stddev, 0.0)
        anew = [
            d * rng.standard_normal(r.shape) for r, d in zip(releases, np.split(deviations, ends[1:-1]), strict=True)
        ]
        run = again([r + change for r, change in zip(releases, anew, strict=True)])
        if run.departure is not None or len(run.comparisons) != len(one.comparisons):
            return None
        size = max(float(np.max(np.abs(change))) for change in anew)
        if any(np.any(_moved(*both, size)) for both in zip(seen(run), (values, compared), strict=True)):
            return None
    for factor in (1.0, -4.0):
        run = again([r + factor * (m - r) for r, m in zip(releases, together, strict=True)])
        if run.departure is not None or len(run.comparisons) != len(one.comparisons):
            return None
        for new, old, matrix in zip(seen(run), (values, compared), (moves, effects), strict=True):
            room = _SAME * 4 * (np.abs(matrix) @ np.abs(drawn))[:, None] + 64 * np.finfo(float).eps * np.abs(old)
            if np.any(np.abs(new - old - factor * (matrix @ drawn)[:, None]) > room):
                return None
    # a release is its value, which the noise of others moves, and its own noise; what is on the wire moves nothing
    change = np.linalg.solve(np.eye(len(stddev)) - moves, np.diag(stddev))
    on_wire = [moves[ends[t] : ends[t + 1]] @ change + np.diag(stddev)[ends[t] : ends[t + 1]] for t in visible]
    rows = np.concatenate([*on_wire, effects @ change])
    at = [float(one.releases[t].sent_in or 0) for t in visible for _ in range(ends[t + 1] - ends[t])]
    at += [float(c.message) for c in one.comparisons for _ in range(c.predicted.shape[-1])]
    places, exposed = np.array(at), list[float]()
    for t, release in enumerate(one.releases):
        touched = places[np.any(rows[:, ends[t] : ends[t + 1]] != 0, axis=1)]
        first = float(np.min(touched, initial=math.inf))
        exposed.append(first if release.sent_in is None else float(release.sent_in))
    return _Map(rows, places, tuple(exposed))


def _moved(new: Array, old: Array, size: float) -> Array:
    """Changes of numbers, (numbers, replicas), by noise that was moved by `size`; 0 where rounding may be all."""
    room = _ROOM * (np.max(np.abs(old), axis=1, keepdims=True, initial=0.0) + size)
    return np.where(np.abs(new - old) > room, new - old, 0.0)


def _in_order(exposed: Sequence[float]) -> list[float]:
    """The message by which each release and all before it are out; one for all where a later one is out first."""
    if list(exposed) == sorted(exposed):
        return list(exposed)
    return [max(exposed)] * len(exposed)


def _spent(rows: Array, wanted: Array, own: Array, others: Array) -> Array | None:
    """Loss and cost by these rows, (2, replicas); None where the rank is not clear, or no noise explains them."""
    sizes = np.max(np.abs(rows), axis=1)
    some = sizes > 0
    if np.any(wanted[~some]):
        return None
    scaled, target = rows[some] / sizes[some, None], wanted[some] / sizes[some, None]
    if not len(scaled):
        return np.zeros((2, own.shape[1]))
    left, found, right = np.linalg.svd(scaled, full_matrices=False)
    clear = found > _CLEAR * found[0]
    if np.any(~clear & (found > _NONE * found[0])):
        return None
    left, found, right = left[:, clear], found[clear], right[clear]
    within = left.T @ target
    if np.any(np.abs(target - left @ within) > _SAME * np.max(np.abs(target), axis=0, initial=1e-6)):
        return None
    here, there = right @ own, right @ others + within / found[:, None]
    loss = 0.5 * (np.sum(there**2, axis=0) - np.sum(here**2, axis=0))
    return np.array([loss, np.sum((there - here) ** 2, axis=0)])


# ── among decoys ─────────────────────────────────────────────────────────────────────────────────────
DECOYS = 16
"""M."""
FEWEST_AMONG_DECOYS = 64
"""Transcripts, at least: the search for a pair compares fewer, and often."""


class Mixed(NamedTuple):
    """`steps` (releases, replicas) of the loss among decoys, and `scores` (replicas,) of the decoys alone."""

    steps: Array
    scores: Array


def mixed(mine: Replayed, theirs: Replayed, releases: Sequence[Array], again: tuple[Again, Again]) -> Mixed | None:
    """Loss of all that was sent, among decoys for the releases that no message carries; arguments as of
    `priced`."""
    hidden = [t for t, release in enumerate(mine.releases) if release.sent_in is None]
    if not hidden or len(hidden) == len(mine.releases) or len(releases) != len(mine.releases):
        return None
    if len(mine.releases[0].value) < FEWEST_AMONG_DECOYS or not _alike(mine, theirs, hidden):
        return None
    if any(np.any(c.visible) for c in theirs.comparisons):
        return None
    rng = np.random.default_rng([1, *(crc32(release.tobytes()) for release in releases)])
    logs: tuple[list[Array], list[Array]] = ([_log_densities(mine, hidden)], [_log_densities(theirs, hidden)])
    for _ in range(DECOYS):
        drawn = list(releases)
        for t in hidden:
            drawn[t] = cast("Mechanism", mine.releases[t].mechanism).release(mine.releases[t].value, rng)
        for found, run in zip(logs, again, strict=True):
            one = run(drawn)
            if not _alike(mine, one, hidden):
                return None
            found.append(_log_densities(one, hidden))
        if not np.any(np.isfinite(logs[0][-1])):
            return None
    with np.errstate(invalid="ignore"):
        here, there = (special.logsumexp(found, axis=0) for found in logs)
        alone, apart = (special.logsumexp([one[-1] for one in found[1:]], axis=0) for found in logs)
        scores = np.where(alone == apart, 0.0, alone - apart)
    return Mixed(np.diff(here - there, axis=0, prepend=0.0), scores)


def _alike(mine: Replayed, one: Replayed, hidden: Sequence[int]) -> bool:
    """Whether a replay makes the same messages and releases, the hidden ones of the same law and value."""
    shapes = [[(s.receiver, s.kind, s.number, s.names, s.releases) for s in run.sendings] for run in (mine, one)]
    pairs = list(zip(mine.releases, one.releases, strict=False))
    return (
        one.departure is None
        and not one.out_of_releases
        and shapes[0] == shapes[1]
        and len(mine.releases) == len(one.releases)
        and len(mine.comparisons) == len(one.comparisons)
        and all(np.all(a.judged) and np.all(b.judged) and a.sent_in == b.sent_in for a, b in pairs)
        and all(type(a.mechanism) is type(b.mechanism) for a, b in pairs)
        and all(np.array_equal(a.value, b.value) and _same_law(a, b) for a, b in (pairs[t] for t in hidden))
    )


def _same_law(a: Release, b: Release) -> bool:
    """Whether what the second released has the same density in both: laws of one deviation may differ."""
    if isinstance(a.mechanism, Perturbed) or isinstance(b.mechanism, Perturbed):
        return False
    return np.array_equal(a.mechanism.log_density(b.observed, b.value), b.log_density())


def _log_densities(one: Replayed, hidden: Sequence[int]) -> Array:
    """ln p(o | z, D) of the first releases, hidden ones left out, (releases, replicas); −∞ where it sends something
    else."""
    terms = [np.zeros(len(r.value)) if t in hidden else r.log_density() for t, r in enumerate(one.releases)]
    other = np.any([np.zeros(len(terms[0]), dtype=np.bool_), *(c.visible for c in one.comparisons)], axis=0)
    return np.where(other, -np.inf, np.cumsum(terms, axis=0))
