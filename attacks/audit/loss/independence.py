"""Are the replicas of a sample independent draws? Code that mixes them makes one transcript of many.

A norm without its axis, a mean over the wrong one, a branch for all by the values of some: each does what is meant
for one replica, and something else for many at once. So a few replicas are replayed alone, and must do what they did
together.
"""

from collections.abc import Callable, Sequence

import numpy as np

from attacks.audit.loss.leaks import variance_of
from attacks.replay import ULPS, Release, Replayed
from netsim.arrays import Array
from netsim.errors import PrivacyError

ALONE = 5
"""Replicas of each sample that are replayed alone too, under either hypothesis."""


def check_independent(agent: int, replicas: int, together: Replayed, alone: Callable[[int], Replayed]) -> None:
    """You get a `PrivacyError` where a replica `alone` makes other releases, or of other values or noise.

    What is sent besides is not looked at: a difference in it is an uncovered message, however it came about. Values
    may differ by rounding: by `ULPS` units in the last place of the largest number that was observed of it.
    """
    for r in sorted({int(k) for k in np.linspace(0, replicas - 1, ALONE)}) if replicas > 1 else ():
        if not _alike(together, alone(r), slice(r, r + 1)):
            raise PrivacyError(
                f"agent {agent} does something else for replica {r} alone than for all together: its code decides "
                "for all replicas by the values of some (a norm, sum or mean without axis=-1, a branch); decide for "
                "each by itself, or audit with `chunk` 1"
            )


def _alike(together: Replayed, alone: Replayed, one: slice) -> bool:
    if (alone.departure is None) != (together.departure is None):
        return False
    if len(alone.releases) != len(together.releases):
        return False
    room = ULPS * np.finfo(float).eps * _largest(alone)
    releases = zip(alone.releases, together.releases, strict=True)
    return all(_same_release(a, b, one, room) for a, b in releases)


def _same_release(alone: Release, together: Release, one: slice, room: float) -> bool:
    same = np.allclose(variance_of(alone), variance_of(together)[one], rtol=1e-9, atol=0.0, equal_nan=True)
    return bool(same) and _near(alone.value, together.value[one], room)


def _near(a: Array, b: Array, room: float) -> bool:
    with np.errstate(invalid="ignore"):
        return bool(np.all((np.abs(a - b) <= room) | (a == b) | (np.isnan(a) & np.isnan(b))))


def _largest(alone: Replayed) -> float:
    seen: Sequence[Array] = [r.observed for r in alone.releases] + [c.observed for c in alone.comparisons]
    seen = [*seen, *(r.value for r in alone.releases)]
    finite = (np.abs(array[np.isfinite(array)]) for array in seen)
    return max((float(np.max(array, initial=0.0)) for array in finite), default=0.0)
