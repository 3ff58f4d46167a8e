"""Losses that are equal in exact arithmetic, made equal.

A loss that a mechanism attains with positive probability (a Laplace release's ±Δ/b) is computed as the difference of
two rounded logarithms. Its last bits depend on the noise, and on the world: x + Δ was rounded in one of the two. A
game with some ten thousand trials finds a threshold between two roundings of one number, and tells the worlds apart
by it more often than the mechanism with real numbers allows: it refutes a claim that is true and tight. (Floating
point does leak so much, Mironov 2012; an audit is about the mechanism.) So losses are rounded before a game sees
them.
"""

import numpy as np

from netsim.arrays import Array

PLACES = 9
"""Decimal places of a loss in nats that are kept; rounding makes errors of some 1e-13."""


def settled(losses: Array) -> Array:
    """The losses rounded to 1e-9 nats; infinite ones stay, and no zero is negative."""
    return np.round(losses, PLACES) + 0.0
