"""Gaussian releases that travel inside affine messages: a sum, a multiple, a value mixed with them.

All that the agent sends is then a Gaussian vector. With z the noise of all releases in standard deviations, those on
the wire and those inside, the messages are y = F(0) + A z in one world and F'(0) + A z in the other. Replays on what
was drawn give z₀ and z″, the noise that explains the same releases in either world, and Δ, by which the messages
differ then; so with A d = Δ, z′ = z″ + d explains the messages in the other world, and

    L = ½(‖P z′‖² − ‖P z₀‖²),   μ² = ‖P(z′ − z₀)‖²,   P the projector on the rows of A.

This is the loss of who sees the wire alone: nothing is granted. A is found by moving each number of a release in turn
and replaying the agent's code. Nothing is said (None) where a law is not Gaussian, where the map is not affine, is
another one in the other world or for another transcript, where a release moves nothing, unless it is of no data and
does nothing when it is drawn anew, and where its rank is not clear.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from attacks.replay import Replayed
from netsim.arrays import Array
from netsim.errors import NetsimError
from netsim.mechanisms import Gaussian

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

Again = Callable[[list[Array]], Replayed]
"""Replay of one hypothesis on changed releases."""


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
            moved = [_moved(*both, size) / size for both in zip(seen(run), (values, compared), strict=True)]
            for column, change in zip((moves[:, k], effects[:, k]), moved, strict=True):
                if np.any(np.abs(change - change[:, :1]) > _SAME * np.max(np.abs(change), initial=_NONE)):
                    return None
                column[:] = change[:, 0]
            together[t] = together[t] + drawn[k] * step
            drawn[k] *= size
    idle = (drawn != 0) & ~np.any(effects != 0, axis=0) & ~np.any(moves != 0, axis=0)
    if any(np.any(idle[ends[t] : ends[t + 1]]) and not dataless[t] for t in range(len(dataless))):
        return None
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
