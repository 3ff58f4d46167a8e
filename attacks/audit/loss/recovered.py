"""Releases that no message carries as they were made, and that come out of the messages they are inside.

`x = x − step·privatize(gradient)` sends x: who knows x has the release. Let z be the releases of an agent, hidden and
not, and y the messages, the same affine function of z in both worlds. Where one message after the other has one
release in it that is not known yet, with a factor that is not 0, y says what z was: the density of y is that of z but
for a constant, and the loss of who sees y is that of who is granted z, of any law.

What the other world adds to a message beside z is made up for by other releases: with y = h + C z in one world and
y = h' + C z' in the other, C (z' − z) = h − h'. Its releases are replayed at z', and put down as the same z with
another value, z less the noise: for Laplace and Gaussian noise, whose density is one of the noise.

C is found by moving all hidden releases at once, another way in each transcript, in both worlds and repeatedly. A
factor for each coordinate of a release, the same in all transcripts, is what counts as affine here: what mixes
coordinates, clips or rounds a release is not.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attacks.audit.loss.hidden_releases import Again
from attacks.replay import Perturbed, Release, Replayed
from netsim.arrays import Array
from netsim.mechanisms import Gaussian, Laplace

MOST = 256
"""Hidden releases, at most."""
_MOVES = (1.0, -4.0, 32.0, -1024.0, 1.0)
"""Releases are moved by so many times what they are of, at least this often."""
_MISSED = 1e-9
"""Share of what releases move that may be missing."""
_ROUNDING = 64 * float(np.finfo(float).eps)
"""Relative: what rounding may change."""
_CLEAR, _NONE = 1e-7, 1e-12
"""A factor, times how much its release was moved, is above this share of the largest of its message, or below."""


class Recovered(NamedTuple):
    """The other world's replay, its releases those of the first world with other values; and by which message each
    hidden release that comes out is out."""

    theirs: Replayed
    sent_in: dict[int, float]


def recovered(
    mine: Replayed, theirs: Replayed, releases: Sequence[Array], own: Array | None, again: Again
) -> Recovered | None:
    """The hidden releases that come out; None where none does.

    `mine` and `theirs` are the replays of the true and of the other hypothesis on the `releases` that were drawn,
    `own` are the `factors` of the first, and `again` repeats the second on changed ones.
    """
    if own is None or not _fit(mine, theirs):
        return None
    try:
        with np.errstate(all="ignore"):
            return _recovered(theirs, _hidden_in(mine), releases, own, again)
    except Exception:  # code may fail in any way at releases that nobody drew
        return None


def _recovered(
    theirs: Replayed, hidden: list[int], releases: Sequence[Array], own: Array, again: Again
) -> Recovered | None:
    there = _factors(theirs, releases, again, hidden)
    if there is None or np.any(np.abs(own - there) > _MISSED * np.abs(own)):
        return None
    order = _order(own, [c.message for c in theirs.comparisons])
    if not order:
        return None
    shifts = {hidden[t]: shift for t, shift in _shifts(theirs, own, order).items()}
    found: Replayed | None = theirs
    if any(np.any(shift) for shift in shifts.values()):
        found = _at(theirs, releases, again, shifts) if len(order) == len(hidden) else None
    if found is None:
        return None
    says = {k for k, _ in order.values()}  # up to rounding, which is nothing beside the noise
    comparisons = [
        c._replace(possible=None, predicted=c.observed) if k in says and not np.any(c.visible) else c
        for k, c in enumerate(found.comparisons)
    ]
    return Recovered(replace(found, comparisons=comparisons), {hidden[t]: until for t, (_, until) in order.items()})


def _hidden_in(mine: Replayed) -> list[int]:
    """Releases that no message carries as they were made."""
    return [t for t, release in enumerate(mine.releases) if release.sent_in is None]


def factors(mine: Replayed, releases: Sequence[Array], again: Again) -> Array | None:
    """C of the true hypothesis, (messages, hidden releases, dimension); None where it is no such map, or there is
    nothing to find."""
    hidden = _hidden_in(mine)
    if not 0 < len(hidden) <= MOST or len(releases) != len(mine.releases) or mine.departure is not None:
        return None
    if any(isinstance(mine.releases[t].mechanism, Perturbed) for t in hidden):
        return None
    try:
        with np.errstate(all="ignore"):
            return _factors(mine, releases, again, hidden)
    except Exception:  # as above
        return None


def all_come_out(found: Replayed, releases: Sequence[Array], again: Again) -> bool:
    """Whether a replay on these releases sends what was sent, and no other releases would have, whatever was drawn:
    then what was seen has the density of the releases, but for a constant that is that of the messages' map."""
    if found.departure is not None or len(found.releases) != len(releases):
        return False
    if not all(type(one.mechanism) in (Laplace, Gaussian) for one in found.releases):
        return False
    if any(np.any(c.visible) for c in found.comparisons) or (own := factors(found, releases, again)) is None:
        return False
    return len(_order(own, [c.message for c in found.comparisons])) == own.shape[1]


def _fit(mine: Replayed, theirs: Replayed) -> bool:
    places = [[(c.message, c.name) for c in one.comparisons] for one in (mine, theirs)]
    pairs = list(zip(mine.releases, theirs.releases, strict=False))
    return (
        len(mine.releases) == len(theirs.releases)
        and [s.releases for s in mine.sendings] == [s.releases for s in theirs.sendings]
        and places[0] == places[1]
        and theirs.departure is None
        and all(a.sent_in == b.sent_in and np.all(a.judged) and np.all(b.judged) for a, b in pairs)
        and not any(isinstance(b.mechanism, Perturbed) for a, b in pairs if a.sent_in is None)
    )


def _factors(one: Replayed, releases: Sequence[Array], again: Again, hidden: Sequence[int]) -> Array | None:
    """C of one hypothesis, (messages, hidden releases, dimension); None where it is no such map."""
    rng, (replicas, dimension) = np.random.default_rng(0), releases[0].shape
    sizes = [np.max(np.abs(releases[t]), axis=0) + np.max(one.releases[t].stddev, axis=0) for t in hidden]
    if not one.comparisons or not np.all(np.isfinite(sizes)):
        return None
    base = np.array([c.predicted for c in one.comparisons])
    causes, effects = list[Array](), list[Array]()
    runs = max(len(_MOVES), math.ceil((2 * len(hidden) + 8) / replicas))
    for k in range(runs):
        way = rng.standard_normal((len(hidden), replicas, dimension))
        changed, by = list(releases), _MOVES[k % len(_MOVES)]
        for t, size, step in zip(hidden, sizes, way, strict=True):
            changed[t] = releases[t] + by * size * step
        run = again(changed)
        if run.departure is not None or len(run.comparisons) != len(base):
            return None
        causes.append(np.array([changed[t] - releases[t] for t in hidden]) / abs(by))
        effects.append((np.array([c.predicted for c in run.comparisons]) - base) / abs(by))
    cause, effect = np.concatenate(causes, axis=1), np.concatenate(effects, axis=1)
    if not np.all(np.isfinite(effect)):
        return None
    some = rng.permutation(cause.shape[1])[: 4 * len(hidden) + 32]
    found = np.zeros((len(base), len(hidden), dimension))
    for c in range(dimension):
        solved = np.linalg.lstsq(cause[:, some, c].T, effect[:, some, c].T, rcond=None)
        if solved[2] < len(hidden):
            return None
        found[:, :, c] = solved[0].T
    weights = np.abs(found) * np.array(sizes)
    largest = np.max(weights, axis=1, keepdims=True)
    floor = _ROUNDING * np.max(np.abs(base), axis=1)[:, None]
    none = weights <= np.maximum(_NONE * largest, floor)
    if np.any(~none & (weights <= np.maximum(_CLEAR * largest, 1e3 * floor))):
        return None
    found[none] = 0.0
    predicted = np.einsum("ktd,trd->krd", found, cause)
    room = _MISSED * np.einsum("ktd,trd->krd", np.abs(found), np.abs(cause))
    scale = np.max(np.abs(base), axis=1, keepdims=True) + np.max(np.abs(effect), axis=1, keepdims=True)
    return found if np.all(np.abs(effect - predicted) <= room + _ROUNDING * scale) else None


def _order(factors: Array, messages: Sequence[int]) -> dict[int, tuple[int, float]]:
    """Hidden releases in the order in which they come out: the value that says each, and by which message all that is
    in it is out."""
    inside = [set(np.flatnonzero(np.any(one != 0, axis=1)).tolist()) for one in factors]
    whole = np.all(factors != 0, axis=2)
    found = dict[int, tuple[int, float]]()
    while True:
        new = dict[int, tuple[int, float]]()
        for k, some in enumerate(inside):
            left = some - found.keys()
            if len(left) == 1 and whole[k, t := next(iter(left))] and t not in new:
                new[t] = k, max(float(messages[k]), *(found[s][1] for s in some if s != t), 0.0)
        if not new:
            return found
        found |= new


def _shifts(theirs: Replayed, factors: Array, order: dict[int, tuple[int, float]]) -> dict[int, Array]:
    """By how much each release is another one in the other world, so that it sends what was sent; 0 where the
    difference may be rounding."""
    found = dict[int, Array]()
    for t, (k, _) in order.items():
        c = theirs.comparisons[k]
        missing = np.where(c.visible[:, None], c.observed - c.predicted, 0.0)
        for s, shift in found.items():
            missing = missing - factors[k, s] * shift
        found[t] = missing / factors[k, t]
    return found


def _at(theirs: Replayed, releases: Sequence[Array], again: Again, shifts: dict[int, Array]) -> Replayed | None:
    """The other world's replay at shifted releases, put down as releases that were not shifted; None where it does
    not send what was sent, or the law is none of the noise."""
    if not all(type(theirs.releases[t].mechanism) in (Laplace, Gaussian) for t in shifts):
        return None
    moved = again([r + shifts[t] if t in shifts else r for t, r in enumerate(releases)])
    alike = len(moved.comparisons) == len(theirs.comparisons) and len(moved.releases) == len(theirs.releases)
    if moved.departure is not None or not alike or any(np.any(c.visible) for c in moved.comparisons):
        return None

    def put_down(t: int, release: Release) -> Release:
        if t not in shifts:
            return release
        return replace(release, observed=theirs.releases[t].observed, value=release.value - shifts[t])

    return replace(moved, releases=[put_down(t, release) for t, release in enumerate(moved.releases)])
