# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Hops between agents."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csgraph

from netsim.arrays import Array

if TYPE_CHECKING:
    from netsim.topology.weights import Sparse


def hops(adjacency: "Sparse", agent: int) -> Array:
    """The number of hops from one agent to each."""
    search: Any = csgraph.dijkstra
    return search(adjacency, unweighted=True, indices=agent)


def diameter_bounds(adjacency: "Sparse", searches: int | None = None) -> tuple[int, int]:
    """Bounds on the diameter, equal unless `searches` ran out.

    Each search from v bounds the eccentricity e of every w by max(d, e(v) − d) ≤ e(w) ≤ e(v) + d, d = d(v, w);
    an agent whose upper bound is no larger than an eccentricity already found needs no search of its own
    (Takes, Kosters 2011). The next v has, in turn, the largest upper and the smallest lower bound.
    """
    n = adjacency.shape[0]
    lower, upper = np.zeros(n), np.full(n, np.inf)
    found, done = 0.0, 0
    while upper.max() > found and (searches is None or done < searches):
        is_open = upper > found
        v = int(np.argmax(np.where(is_open, upper if done % 2 == 0 else -lower, -np.inf)))
        d = hops(adjacency, v)
        eccentricity = float(d.max())
        lower = np.maximum(lower, np.maximum(d, eccentricity - d))
        upper = np.minimum(upper, eccentricity + d)
        upper[v] = eccentricity
        found, done = max(found, float(lower.max())), done + 1
    return int(found), int(max(found, upper.max()))
