"""DiaDSP (Ding, Zhu, He, Chen, Guan 2021) in stacked NumPy: gradient tracking with decaying Laplace noise.

y⁰ = ∇f(x⁰); in round k agent i sends x^a = x + η_x and y^a = y + η_y in one message, and then

    x_i⁺ = Σ_j W_ij x_j^a − α y_i
    y_i⁺ = Σ_j W_ij y_j^a + ∇f_i(x_i⁺) − ∇f_i(x_i)

The sums run over all j, i itself included, so an agent mixes its own noisy copy; −αy and the gradients are
exact. In the paper η_x ~ Lap(d_x q^k) and η_y ~ Lap(d_y q^k) per coordinate, k = 0, 1, …

Law: Σ_i y_i^k = Σ_i ∇f_i(x_i^k) + Σ_{t<k} Σ_i η_y,i^t, hence the limit has Σ_i ∇f_i(x^∞) = −Σ_t Σ_i η_y,i^t.
"""

from collections.abc import Sequence

import numpy as np

from tests.oracles.shapes import Array, Gradient, drawn


def diadsp(
    gradients: Sequence[Gradient],
    weights: Array,
    step: float,
    start: Array,
    rounds: int,
    noise_x: Sequence[Array] | Array | None = None,
    noise_y: Sequence[Array] | Array | None = None,
) -> dict[str, Array]:
    """Run `rounds` rounds from `start` (n, d); both noises are (rounds, n, d). Agent by agent, as written above.

    Keys: x and y (rounds + 1, n, d), index 0 the start; sent_x = x^a and sent_y = y^a (rounds, n, d).
    """
    n, d = start.shape
    eta_x = drawn(noise_x, (rounds, n, d))
    eta_y = drawn(noise_y, (rounds, n, d))
    x = np.empty((rounds + 1, n, d))
    y = np.empty((rounds + 1, n, d))
    sent_x = np.empty((rounds, n, d))
    sent_y = np.empty((rounds, n, d))
    x[0] = start
    for i in range(n):
        y[0, i] = gradients[i](x[0, i].copy())
    for k in range(rounds):
        sent_x[k] = x[k] + eta_x[k]
        sent_y[k] = y[k] + eta_y[k]
        for i in range(n):
            x[k + 1, i] = sum(weights[i, j] * sent_x[k, j] for j in range(n)) - step * y[k, i]
            change = gradients[i](x[k + 1, i].copy()) - gradients[i](x[k, i].copy())
            y[k + 1, i] = sum(weights[i, j] * sent_y[k, j] for j in range(n)) + change
    return {"x": x, "y": y, "sent_x": sent_x, "sent_y": sent_y}
