"""RW-ADMM (Shah, Avrachenkov 2018) as node-sampled D-ADMM, in plain NumPy.

Inferred: the reading of the paper's Markov-sampled ADMM as D-ADMM in which only active agents move. All agents
know the common start x⁰, so x̃_i⁰ = x⁰ travels in no message; λ⁰ = 0. At step k a set of agents is active (one
agent, the walker, in the algorithm proper; the next one is drawn among its neighbors). Each active i

    solves x_i⁺ = argmin_x f_i(x) + r(x) + 2⟨λ_i, x⟩ + η Σ_{j∈N_i} ‖x − (x̃_i + x̃_j)/2‖²
    with x̃_j the last value that j sent, and sends x̃_i⁺ = x_i⁺ + noise_i to all its neighbors.

Then on every edge {i, j} with an active end, once an edge, with the last sent values of both ends,

    λ_i += (η/2)(x̃_i − x̃_j)   and   λ_j += (η/2)(x̃_j − x̃_i),

the active agent with the neighbor's value it remembers, the neighbor when the message arrives. Agents that
are not active keep their x. Law: Σ_i λ_i = 0 under noise. All agents active in every step is D-ADMM with PVP.
"""

from collections.abc import Sequence

import numpy as np

from tests.oracles.shapes import Array, Exact, History, Noise, drawn, edges_of


def rw_admm(
    exacts: Sequence[Exact], adjacency: Array, penalty: float, active: Sequence[int | Sequence[int]], start: Array,
    noise: Noise = None,
) -> History:  # fmt: skip
    """Run len(active) steps from the common `start` (d,); `active[k]` is one agent or several; `penalty` is η.

    `noise[k, i]` is what agent i adds if active at step k, shape (steps, n, d).

    Keys: x, dual and told = x̃, each agent's last sent value (steps + 1, n, d), index 0 the start.
    """
    A = edges_of(adjacency)
    steps, n, d = len(active), len(A), len(start)
    added = drawn(noise, (steps, n, d))
    neighbors = [np.flatnonzero(row) for row in A]
    x = np.empty((steps + 1, n, d))
    lam = np.zeros((steps + 1, n, d))
    published = np.empty((steps + 1, n, d))
    x[0] = published[0] = start
    for k in range(steps):
        x[k + 1], lam[k + 1], published[k + 1] = x[k], lam[k], published[k]
        here = np.atleast_1d(active[k])
        for i in here:
            m = len(neighbors[i])
            midpoints = sum((published[k, i] + published[k, j]) / 2 for j in neighbors[i])
            v = midpoints / m - lam[k, i] / (penalty * m)
            x[k + 1, i] = exacts[i](v, 1 / (2 * penalty * m))
            published[k + 1, i] = x[k + 1, i] + added[k, i]
        touched = {(min(a, b), max(a, b)) for a in map(int, here) for b in map(int, neighbors[a])}
        for i, j in sorted(touched):
            apart = published[k + 1, i] - published[k + 1, j]
            lam[k + 1, i] += penalty / 2 * apart
            lam[k + 1, j] -= penalty / 2 * apart
    return {"x": x, "dual": lam, "sent": published}
