"""EXTRA (Shi, Ling, Wu, Yin 2015a) and PG-EXTRA (2015b) in their published two-step recursions.

Agents minimize Σ_i f_i(x) + n·r(x); W is symmetric and doubly stochastic, W̃ = (I + W)/2.

    EXTRA      x¹ = W x⁰ − α∇f(x⁰)
               x^{k+2} = (I + W) x^{k+1} − W̃ x^k − α[∇f(x^{k+1}) − ∇f(x^k)]
    PG-EXTRA   z¹ = W x⁰ − α∇f(x⁰),  x¹ = prox_{αr}(z¹)
               z^{k+2} = W x^{k+1} + z^{k+1} − W̃ x^k − α[∇f(x^{k+1}) − ∇f(x^k)],  x^{k+2} = prox_{αr}(z^{k+2})

Round k begins with every agent i sending x̃_i^k = x_i^k + noise_i^k to its neighbors, the public or private
start x⁰ included. Every product with W or W̃ takes x̃, the sender's own included; the gradients and the I of
(I + W), which is the agent's own memory of x^{k+1}, take the exact x:

    x^{k+2} = x^{k+1} + W x̃^{k+1} − W̃ x̃^k − α[∇f(x^{k+1}) − ∇f(x^k)]

The printed papers have no noise; its place is chosen so that the dual of the equivalent form
D^{k+1} = D^k + (W̃ − W)x̃^k, x^{k+1} = W x̃^k − α∇f(x^k) − D^k keeps a zero sum. Step: 0 < α < 2λ_min(W̃)/L.
"""

import numpy as np

from tests.oracles.shapes import Array, Gradients, History, Noise, Prox, by_row, drawn, square, stacked


def pg_extra(
    gradients: Gradients, prox: Prox | None, weights: Array, step: float, start: Array, rounds: int,
    noise: Noise = None,
) -> History:  # fmt: skip
    """Run `rounds` rounds from `start` (n, d); `noise` is (rounds, n, d), added to what round k sends.

    `prox(v, step)` = prox_{step·r}(v); None for EXTRA, where z is x.

    Keys: x (rounds + 1, n, d), x[0] the start; sent (rounds, n, d); gradient (rounds, n, d), ∇f_i(x_i^k); z (rounds,
    n, d), z[k] = z^{k+1}; dual (rounds, n, d), D^k = W x̃^k − α∇f(x^k) − z^{k+1} read off the iterates.
    """
    n, d = start.shape
    W = square(weights, n)
    W_tilde = (np.eye(n) + W) / 2
    added = drawn(noise, (rounds, n, d))
    x = np.empty((rounds + 1, n, d))
    z, sent, gradient = (np.empty((rounds, n, d)) for _ in range(3))
    x[0] = start
    for k in range(rounds):
        sent[k] = x[k] + added[k]
        gradient[k] = stacked(gradients, x[k])
        if k == 0:
            z[0] = W @ sent[0] - step * gradient[0]
        else:
            z[k] = z[k - 1] + W @ sent[k] - W_tilde @ sent[k - 1] - step * (gradient[k] - gradient[k - 1])
        x[k + 1] = by_row(prox, z[k], step)
    dual = np.einsum("ij,kjd->kid", W, sent) - step * gradient - z
    return {"x": x, "sent": sent, "gradient": gradient, "dual": dual, "z": z}
