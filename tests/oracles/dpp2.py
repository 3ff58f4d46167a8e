"""DPP² in stacked NumPy: two exchanges a round, decaying noise, exact convergence.

P is symmetric positive semidefinite with P·1 = 0 and λ_max(P) < α/β (I − W, W doubly stochastic, is the usual
choice). d⁰ = q⁰ = 0, and in round k

    y = x + (1 − η_k)d + w            first exchange: y_i to every neighbor
    z = ∇f(x) + η_k q + ρ P y + e     second exchange: z_i to every neighbor
    x⁺ = x + w − α(z − e) + β P z     an agent takes its own e out of z, not its neighbors'
    d⁺ = η_k d + y
    q⁺ = η_k q + ρ P y

w, e ~ Lap(u_w r^k), Lap(u_e r^k) per coordinate in the paper, k = 0, 1, …

Laws: d^k = Σ_{t<k}(x^t + w^t); q^k = ρ P d^k; neither they nor x depend on η; Σ_i q_i = 0.
"""

from collections.abc import Sequence

import numpy as np

from tests.oracles.shapes import Array, Gradients, History, Noise, drawn, square, stacked


def dpp2(
    gradients: Gradients, coupling: Array, alpha: float, beta: float, rho: float, etas: Sequence[float],
    start: Array, noise_w: Noise = None, noise_e: Noise = None,
) -> History:  # fmt: skip
    """Run len(etas) rounds from `start` (n, d); `coupling` is P, `etas[k]` is η_k, noises are (rounds, n, d).

    Keys: x, d and q (rounds + 1, n, d), index 0 the start; sent_y and sent_z (rounds, n, d).
    """
    rounds = len(etas)
    n, dimension = start.shape
    P = square(coupling, n)
    w = drawn(noise_w, (rounds, n, dimension))
    e = drawn(noise_e, (rounds, n, dimension))
    x, d, q = (np.zeros((rounds + 1, n, dimension)) for _ in range(3))
    sent_y, sent_z = (np.empty((rounds, n, dimension)) for _ in range(2))
    x[0] = start
    for k in range(rounds):
        eta = etas[k]
        y = x[k] + (1 - eta) * d[k] + w[k]
        z = stacked(gradients, x[k]) + eta * q[k] + rho * (P @ y) + e[k]
        x[k + 1] = x[k] + w[k] - alpha * (z - e[k]) + beta * (P @ z)
        d[k + 1] = eta * d[k] + y
        q[k + 1] = eta * q[k] + rho * (P @ y)
        sent_y[k], sent_z[k] = y, z
    return {"x": x, "d": d, "q": q, "sent_y": sent_y, "sent_z": sent_z}
