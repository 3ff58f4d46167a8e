"""PPDC, a private primal-dual method (Xie et al. 2025), without its compression, in stacked NumPy.

Inferred, not read in the paper: the form of the recursion, what is sent, and that v⁰ = 0. With L the graph
Laplacian, in round k every agent i sends x_i^a = x_i + noise_x to its neighbors and nothing else, and

    v_i^a = v_i + noise_v                                                    inside the agent
    x_i⁺ = x_i^a − η(γ Σ_{j∈N_i}(x_i^a − x_j^a) + ω v_i^a + ∇f_i(x_i))        the gradient at the exact x_i
    v_i⁺ = v_i^a + ηω Σ_{j∈N_i}(x_i^a − x_j^a)

Law: Σ_i v_i^k = Σ_{t<k} Σ_i noise_v,i^t. Without noise_v the sum stays zero whatever noise_x; with it the
noise stays in the sum, and the limit has Σ_i ∇f_i = −ω Σ_i v_i ≠ 0: not exact.
"""

import numpy as np

from tests.oracles.shapes import Array, Gradients, History, Noise, differences, drawn, stacked


def ppdc(
    gradients: Gradients, adjacency: Array, step: float, gamma: float, omega: float, start: Array, rounds: int,
    noise_x: Noise = None, noise_v: Noise = None,
) -> History:  # fmt: skip
    """Run `rounds` rounds from `start` (n, d); `step` is η, the noises are (rounds, n, d).

    Weights of links may stand in `adjacency`: with those of W, L is I − W.

    Keys: x and v (rounds + 1, n, d), index 0 the start; sent = x^a (rounds, n, d).
    """
    n, d = start.shape
    w = drawn(noise_x, (rounds, n, d))
    e = drawn(noise_v, (rounds, n, d))
    x = np.empty((rounds + 1, n, d))
    v = np.zeros((rounds + 1, n, d))
    sent = np.empty((rounds, n, d))
    x[0] = start
    for k in range(rounds):
        sent[k] = x[k] + w[k]
        v_noisy = v[k] + e[k]
        apart = differences(adjacency, sent[k])
        x[k + 1] = sent[k] - step * (gamma * apart + omega * v_noisy + stacked(gradients, x[k]))
        v[k + 1] = v_noisy + step * omega * apart
    return {"x": x, "v": v, "sent": sent}
