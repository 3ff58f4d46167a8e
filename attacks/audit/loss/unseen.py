"""Where releases are not on the wire: could any noise have made what was, under the other hypothesis?

An adversary who is granted such releases may tell the worlds apart by them; one who sees the wire alone has to ask
whether the messages can be explained by *some* noise. Let them be y = a + B n under the other hypothesis, where n is
the noise of the unseen releases: if y − a is not in the range of B, that world cannot have sent them, whatever it
drew, and no density is needed to say so. So it is where one number of noise covers a vector, or one draw two
messages. a and B are found by replaying the agent's code; where y is no affine function of n nothing is said.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from attacks.replay import Comparison, Release, Replayed
from netsim.arrays import Array, Mask
from netsim.errors import NetsimError

MOST = 128
"""Unseen numbers of noise that are looked at; with more, nothing is said."""
AFFINE = 1e-7
RANK = 1e-9
SHARE = 1e-6
"""What is left unexplained counts from this share of the difference on."""
ROUNDING = 1e-10
"""And from this share of the largest number observed on."""

Again = Callable[[list[Array]], Replayed]
"""Replay the other hypothesis on these releases."""


class Inexplicable(NamedTuple):
    """The first `message` that no noise of the other world explains, its field, and in which replicas."""

    message: int
    name: str
    receiver: int
    where: Mask


def inexplicable(foil: Replayed, releases: list[Array], again: Again) -> Inexplicable | None:
    """What of the messages that `foil`, the other hypothesis on the granted `releases`, would have sent otherwise
    cannot be put right by other noise in the releases that are not on the wire. None where nothing is known of."""
    unseen = [(t, c) for t, r in enumerate(foil.releases) if r.sent_in is None for c in _noisy(r)]
    if not unseen or len(unseen) > MOST or foil.departure is not None or all(c.identical for c in foil.comparisons):
        return None
    try:
        effects = _effects(foil, releases, unseen, again)
    except NetsimError:
        return None
    if effects is None:
        return None
    missing = np.array([_missing(c) for c in foil.comparisons])
    observed = float(np.max(np.abs(np.array([c.observed for c in foil.comparisons])), initial=0.0))

    def left(messages: int) -> Mask:
        return _left(missing, effects, messages, observed) & foil.comparisons[messages - 1].judged

    last = sum(bool(np.any(c.judged)) for c in foil.comparisons)  # what is not judged any more stays so
    if not last or not np.any(left(last)):
        return None
    low, high = 0, last  # the fewest messages that cannot be explained together
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if np.any(left(middle)) else (middle, high)
    first = foil.comparisons[high - 1]
    return Inexplicable(first.message, first.name, first.receiver, left(high))


def _missing(c: Comparison) -> Array:
    """What was observed beyond what was predicted; nothing where that may be rounding."""
    if c.possible is None:
        return np.zeros_like(c.observed)
    with np.errstate(invalid="ignore"):
        return np.where(c.possible, 0.0, c.observed - c.predicted)


def _noisy(release: Release) -> list[int]:
    """The coordinates that have noise."""
    spread = np.broadcast_to(release.mechanism.variance(), release.value.shape)
    return [int(c) for c in np.flatnonzero(np.all(spread > 0, axis=0))]


def _effects(foil: Replayed, releases: list[Array], unseen: list[tuple[int, int]], again: Again) -> Array | None:
    """B: how each unseen number of noise moves what is sent, (messages, replicas, dimension, noises)."""
    base = np.array([c.predicted for c in foil.comparisons])

    def moved(change: dict[int, Array]) -> Array | None:
        other = again([r + change[t] if t in change else r for t, r in enumerate(releases)])
        if other.departure is not None or len(other.comparisons) != len(foil.comparisons):
            return None
        return np.array([c.predicted for c in other.comparisons]) - base

    columns: list[Array] = []
    drawn = np.random.default_rng(0).standard_normal(len(unseen))
    together: dict[int, Array] = {}
    for (t, c), size in zip(unseen, drawn, strict=True):
        step = np.zeros_like(releases[t])
        step[:, c] = 1.0
        column = moved({t: step})
        if column is None:
            return None
        columns.append(column)
        together[t] = together.get(t, 0.0) + size * step
    effects = np.stack(columns, axis=-1)
    all_moved = moved(together)
    predicted = np.einsum("mrdn,n->mrd", effects, drawn)
    scale = 1 + np.max(np.abs(base)) + np.max(np.abs(predicted))
    if all_moved is None or not np.max(np.abs(all_moved - predicted)) <= AFFINE * scale:
        return None
    return effects


def _left(missing: Array, effects: Array, messages: int, observed: float) -> Mask:
    """In which replicas the first so many differences are not explained, (replicas,)."""
    replicas = missing.shape[1]
    wanted = missing[:messages].transpose(1, 0, 2).reshape(replicas, -1)
    matrix = effects[:messages].transpose(1, 0, 2, 3).reshape(replicas, wanted.shape[1], -1)
    if np.all(np.abs(matrix - matrix[:1]) <= AFFINE * (1 + np.abs(matrix[:1]))):
        matrix = matrix[:1]
    basis, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    basis = basis * (sizes > RANK * np.maximum(sizes[:, :1], np.finfo(float).tiny))[:, None, :]
    basis = np.broadcast_to(basis, (replicas, *basis.shape[1:]))
    within = np.einsum("rmk,rk->rm", basis, np.einsum("rmk,rm->rk", basis, wanted))
    left = np.max(np.abs(wanted - within), axis=-1, initial=0.0)
    least = np.maximum(SHARE * np.max(np.abs(wanted), axis=-1, initial=0.0), ROUNDING * observed)
    return np.asarray(left > least)
