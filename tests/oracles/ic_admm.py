"""IC-ADMM, inexact consensus ADMM (Chang, Hong, Wang 2015), in stacked NumPy.

Agents minimize Σ_i (f_i + r). All agents know the common start x⁰, so x̃⁰ = x⁰ travels in no message; p⁰ = 0.
In round k agent i solves

    min_x ⟨∇f_i(x_i), x⟩ + r(x) + (b/2)‖x − x_i‖² + ⟨p_i, x⟩ + c Σ_{j∈N_i} ‖x − (x̃_i + x̃_j)/2‖²,   that is
    x_i⁺ = prox_{r/γ_i}( (b x_i − ∇f_i(x_i) − p_i + c Σ_j (x̃_i + x̃_j)) / γ_i ),   γ_i = b + 2c|N_i|
    sends x̃_i⁺ = x_i⁺ + noise_i to its neighbors, and after the exchange
    p_i⁺ = p_i + c Σ_{j∈N_i} (x̃_i⁺ − x̃_j⁺)

Consensus terms take what was sent at both ends; the gradient and the proximal center are exact (inferred: the
paper has no noise). Law: Σ_i p_i = 0 under any noise. b ≥ L is safe.
"""

import numpy as np

from tests.oracles.shapes import (
    Array,
    Gradients,
    History,
    Noise,
    Prox,
    differences,
    drawn,
    edges_of,
    pair_sums,
    stacked,
)


def ic_admm(
    gradients: Gradients, prox: Prox | None, adjacency: Array, penalty: float, proximal: float, start: Array,
    rounds: int, noise: Noise = None,
) -> History:  # fmt: skip
    """Run `rounds` rounds from the common `start` (d,); `penalty` is c, `proximal` is b, `noise` (rounds, n, d).

    Keys: x and dual (rounds + 1, n, d), index 0 the start; sent (rounds, n, d), sent[k] = x̃^{k+1}.
    """
    A = edges_of(adjacency)
    n, d = len(A), len(start)
    added = drawn(noise, (rounds, n, d))
    gamma = proximal + 2 * penalty * A.sum(axis=1)
    x = np.empty((rounds + 1, n, d))
    p = np.zeros((rounds + 1, n, d))
    sent = np.empty((rounds, n, d))
    x[0] = start
    known = x[0]
    for k in range(rounds):
        pull = proximal * x[k] - stacked(gradients, x[k]) - p[k] + penalty * pair_sums(A, known)
        for i in range(n):
            v = pull[i] / gamma[i]
            x[k + 1, i] = v if prox is None else prox(v, 1 / gamma[i])
        known = sent[k] = x[k + 1] + added[k]
        p[k + 1] = p[k] + penalty * differences(A, known)
    return {"x": x, "dual": p, "sent": sent}
