"""NIDS (Li, Shi, Yan 2019) in its published recursion with one common step α, and Exact diffusion, in stacked NumPy.

Agents minimize Σ_i f_i(x) + n·r(x); W is symmetric and doubly stochastic, W̃ = (I + W)/2.

    z¹ = x⁰ − α∇f(x⁰),  x¹ = prox_{αr}(z¹)
    s^k = 2x^k − x^{k−1} − α(∇f(x^k) − ∇f(x^{k−1}))                       k ≥ 1, what is sent
    z^{k+1} = z^k − x^k + W̃ s^k,  x^{k+1} = prox_{αr}(z^{k+1})

Nothing is sent before s¹. Agent i sends s̃_i^k = s_i^k + noise_i, and both ends of every difference
s_i − s_j take the sent values: s_i itself is exact, (I − W̃)s is not,

    z^{k+1} = z^k − x^k + s^k − (I − W̃) s̃^k,

so that D^k = D^{k−1} + (I − W̃)s̃^k, D⁰ = 0, z^{k+1} = x^k − α∇f(x^k) − D^k keeps a zero sum. The paper has
no noise. Step: 0 < α < 2/L, whatever the graph.

Numbering: round k = 0, 1, … computes z^{k+1} and x^{k+1}, then sends s^{k+1}; noise[k] belongs to s^{k+1}.
The message of the last round is sent, and nobody uses it.

Exact diffusion (Yuan, Ying, Zhao, Sayed 2019), for r = 0, is φ¹ = x⁰ − α∇f(x⁰),
φ^{k+1} = 2x^k − x^{k−1} − α(∇f(x^k) − ∇f(x^{k−1})), x^{k+1} = W̃ φ^{k+1}; agent i sends φ̃_i = φ_i + noise_i, and
x^{k+1} = φ^{k+1} − (I − W̃) φ̃^{k+1}. noise[k] belongs to φ^{k+1}.
"""

import numpy as np

from tests.oracles.shapes import Array, Gradients, History, Noise, Prox, by_row, drawn, square, stacked


def nids(
    gradients: Gradients, prox: Prox | None, weights: Array, step: float, start: Array, rounds: int,
    noise: Noise = None,
) -> History:  # fmt: skip
    """Run `rounds` rounds from `start` (n, d); `noise` is (rounds, n, d).

    Keys: x (rounds + 1, n, d), x[0] the start; z (rounds, n, d), z[k] = z^{k+1}; sent (rounds, n, d),
    sent[k] = s̃^{k+1}; dual (rounds, n, d), D^k = x^k − α∇f(x^k) − z^{k+1} read off the iterates.
    """
    n, d = start.shape
    apart = np.eye(n) - (np.eye(n) + square(weights, n)) / 2
    added = drawn(noise, (rounds, n, d))
    x = np.empty((rounds + 1, n, d))
    z = np.empty((rounds, n, d))
    sent = np.empty((rounds, n, d))
    gradient = np.empty((rounds + 1, n, d))
    x[0] = start
    gradient[0] = stacked(gradients, x[0])
    s = np.empty((n, d))
    for k in range(rounds):
        if k == 0:
            z[0] = x[0] - step * gradient[0]
        else:
            z[k] = z[k - 1] - x[k] + s - apart @ sent[k - 1]
        x[k + 1] = by_row(prox, z[k], step)
        gradient[k + 1] = stacked(gradients, x[k + 1])
        s = 2 * x[k + 1] - x[k] - step * (gradient[k + 1] - gradient[k])
        sent[k] = s + added[k]
    dual = x[:-1] - step * gradient[:-1] - z
    return {"x": x, "z": z, "sent": sent, "dual": dual}


def exact_diffusion(
    gradients: Gradients, weights: Array, step: float, start: Array, rounds: int, noise: Noise = None
) -> History:
    """Run `rounds` rounds from `start` (n, d); `noise` is (rounds, n, d).

    Keys: x (rounds + 1, n, d), x[0] the start; sent (rounds, n, d), sent[k] = φ̃^{k+1}; dual (rounds, n, d),
    D^{k+1} = x^k − α∇f(x^k) − x^{k+1} read off the iterates.
    """
    n, d = start.shape
    apart = (np.eye(n) - square(weights, n)) / 2
    added = drawn(noise, (rounds, n, d))
    x = np.empty((rounds + 1, n, d))
    gradient, sent = np.empty((rounds, n, d)), np.empty((rounds, n, d))
    x[0] = start
    for k in range(rounds):
        gradient[k] = stacked(gradients, x[k])
        phi = x[0] - step * gradient[0]
        if k > 0:
            phi = 2 * x[k] - x[k - 1] - step * (gradient[k] - gradient[k - 1])
        sent[k] = phi + added[k]
        x[k + 1] = phi - apart @ sent[k]
    return {"x": x, "sent": sent, "dual": x[:-1] - step * gradient - x[1:]}
