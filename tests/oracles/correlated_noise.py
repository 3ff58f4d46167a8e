"""DECOR and Zip-DL in plain NumPy, one replica; noise is given.

DECOR:   x_i^{t+½} = x_i − η (g_i + ξ_i + Σ_{j>i} z_ij − Σ_{j<i} z_ji),   x_i⁺ = Σ_j w_ij x_j^{t+½}
Zip-DL:  m_{a→v} = x_a − γ g_a + Z_av,  x_a⁺ = Σ_v w_av m_{v→a},  Z_av for each v with w_av > 0, Σ_v w_av Z_av = 0
"""

from collections.abc import Mapping

import numpy as np

from tests.oracles.shapes import Array, Gradients


def decor(
    gradients: Gradients, weights: Array, step: float, own: Array, shared: Mapping[tuple[int, int], Array]
) -> tuple[Array, Array]:
    """`own` (rounds, n, d), `shared[i, j]` (rounds, d) for each edge i < j. States (rounds + 1, n, d) from 0 and
    messages (rounds, n, d)."""
    rounds, n, d = own.shape
    x, sent = np.zeros((rounds + 1, n, d)), np.zeros((rounds, n, d))
    for t in range(rounds):
        for i in range(n):
            pairs = [z[t] if i == a else -z[t] for (a, b), z in shared.items() if i in (a, b)]
            sent[t, i] = x[t, i] - step * (gradients[i](x[t, i]) + own[t, i] + sum(pairs))
        x[t + 1] = weights @ sent[t]
    return x, sent


def zip_dl(gradients: Gradients, weights: Array, step: float, noise: Array) -> tuple[Array, Array]:
    """`noise` (rounds, n, n, d): Z of each pair; its diagonal is made of the rest. States and messages."""
    rounds, n, _, d = noise.shape
    x, sent = np.zeros((rounds + 1, n, d)), np.zeros((rounds, n, n, d))
    for t in range(rounds):
        for a in range(n):
            half, z = x[t, a] - step * gradients[a](x[t, a]), noise[t, a].copy()
            z[a] = -sum(weights[a, v] * z[v] for v in range(n) if v != a) / weights[a, a]
            sent[t, a] = half + z
        x[t + 1] = np.einsum("av,vad->ad", weights, sent[t])
    return x, sent
