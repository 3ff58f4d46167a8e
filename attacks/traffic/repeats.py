"""When a reliable link sends again: an unacknowledged message goes on the air T, 3T, 7T, … after it first did.

The timeout T doubles up to 2^6 T (`netsim.reliable`). It is a setting of the transport and not told here.
"""

import numpy as np
import numpy.typing as npt

from netsim.arrays import Array
from netsim.reliable import MAX_BACKOFF

CLOSE = 1e-9


def same(one: float, other: float) -> bool:
    """Whether two times are one, up to rounding."""
    return abs(one - other) <= CLOSE * max(1.0, abs(one))


def due(ages: Array, timeouts: Array, now: float) -> npt.NDArray[np.bool_]:
    """For each timeout whether a message of one of these ages is due again: after T, 3T, 7T, … 127T, 191T, …"""
    often = ages[None, :] / timeouts[:, None]
    power = 2.0 ** np.clip(np.round(np.log2(np.maximum(often, 0) + 1)), 1, MAX_BACKOFF + 1) - 1
    last = 2.0**MAX_BACKOFF
    power = power + last * np.maximum(np.round((often - power) / last), 0) * (power >= 2 * last - 1)
    near = np.abs(often - power) * timeouts[:, None] <= 100 * CLOSE * max(1.0, now)
    return np.logical_or.reduce(near, axis=1)
