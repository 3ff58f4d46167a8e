"""Noise that no message carries, among decoys: a loss between that of the wire and that of who is granted the noise.

Releases z of a law that is the same whatever the data and all else are, inside messages that noise of their own
protects: p(o | D) = E_z[p(o | z, D)] of what is on the wire, o. Who is granted z_0, that of the run, knows more. Put
among M decoys, drawn from its law, in an order that nobody knows, it is seen with

    p(o, {z_0 … z_M} | D) = Π p(z_i) · mean_i p(o | z_i, D),   L = ln Σ_i p(o | z_i, D) − ln Σ_i p(o | z_i, D').

That is the exact loss of a mechanism of which the wire is a function: its ε is no less than that of the wire, comes
down to it as M grows, and is that of the grant for M = 0. Without z_0 in the sums it is a function of the wire and of
numbers that have nothing to do with the data: a score for games, and no loss.

Each p(o | z_i, D) is one replay of the agent's code, and 0 where that sends something else. Nothing is said (None)
where the law of z depends on anything, where all decoys of one draw send something else, and where a transcript is
not judged.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast
from zlib import crc32

import numpy as np
from scipy import special

from attacks.replay import Replayed
from netsim.arrays import Array
from netsim.mechanisms import Mechanism

DECOYS = 16
"""M."""
FEWEST = 64
"""Transcripts, at least: the search for a pair compares fewer, and often."""

Again = Callable[[list[Array]], Replayed]
"""Replay of one hypothesis on changed releases."""


class Mixed(NamedTuple):
    """`steps` (releases, replicas) of the loss among decoys, and `scores` (replicas,) of the decoys alone."""

    steps: Array
    scores: Array


def mixed(mine: Replayed, theirs: Replayed, releases: Sequence[Array], again: tuple[Again, Again]) -> Mixed | None:
    """Loss of all that was sent, among decoys for the releases that no message carries; arguments as of
    `attacks.audit.loss.affine.priced`."""
    hidden = [t for t, release in enumerate(mine.releases) if release.sent_in is None]
    if not hidden or len(hidden) == len(mine.releases) or len(releases) != len(mine.releases):
        return None
    if len(mine.releases[0].value) < FEWEST or not _alike(mine, theirs, hidden):
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
        and all(np.array_equal(a.stddev, b.stddev) for a, b in (pairs[t] for t in hidden))
        and all(np.array_equal(a.value, b.value) for a, b in (pairs[t] for t in hidden))
    )


def _log_densities(one: Replayed, hidden: Sequence[int]) -> Array:
    """ln p(o | z, D) of the first releases, hidden ones left out, (releases, replicas); −∞ where it sends something
    else."""
    terms = [np.zeros(len(r.value)) if t in hidden else r.log_density() for t, r in enumerate(one.releases)]
    other = np.any([np.zeros(len(terms[0]), dtype=np.bool_), *(c.visible for c in one.comparisons)], axis=0)
    return np.where(other, -np.inf, np.cumsum(terms, axis=0))
