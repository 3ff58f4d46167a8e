"""R-ADMM, recycled ADMM, and MR-ADMM (Zhang, Khalili, Liu 2018) in stacked NumPy, for r = 0.

All agents know the common start x⁰, λ⁰ = 0. Rounds come in pairs t = 0, 1, …: round 2t touches the data, round
2t + 1 does not. Exact iterates are sent; privacy comes from b_i^t, a random linear term in the objective.
MR-ADMM: agent i has its own penalty η_i(t), the same in both rounds of a pair and nondecreasing in t, and
the dual moves with a fixed θ ≤ η_i(t). R-ADMM is η_i(t) = θ = η.

    round 2t       x_i⁺ = argmin_x f_i(x) + ⟨b_i^t, x⟩ + 2⟨λ_i, x⟩ + η_i Σ_{j∈N_i} ‖x − (x_i + x_j)/2‖²
                   keep g_i = −2λ_i − 2η_i|N_i| x_i⁺ + η_i Σ_j (x_i + x_j)       which is ∇f_i(x_i⁺) + b_i^t
                   send x_i⁺;  λ_i⁺ = λ_i + (θ/2) Σ_j (x_i⁺ − x_j⁺)
    round 2t + 1   x_i⁺ = argmin_x ⟨g_i, x⟩ + (γ/2)‖x − x_i‖² + 2⟨λ_i, x⟩ + η_i Σ_j ‖x − (x_i + x_j)/2‖²
                        = x_i − [g_i + 2λ_i + η_i Σ_j (x_i − x_j)] / (2η_i|N_i| + γ)
                   send x_i⁺;  λ_i⁺ = λ_i + (θ/2) Σ_j (x_i⁺ − x_j⁺)

In both rounds x and λ on the right are those at the round's beginning: in round 2t + 1, x_i is the exact
round's result, where the linearization is taken. g_i comes from the exact round's optimality condition, so
round 2t + 1 evaluates no gradient. Law: Σ_i λ_i = 0.

Inferred: that λ moves in both rounds of a pair, and all of MR-ADMM's combination of a growing penalty with
recycling. γ ≥ L is safe.
"""

from collections.abc import Sequence

import numpy as np

from tests.oracles.shapes import Array, Exact, History, Noise, differences, drawn, edges_of, pair_sums


def mr_admm(
    exacts: Sequence[Exact], adjacency: Array, penalties: Array, dual_step: float, linearization: float,
    start: Array, perturbation: Noise = None,
) -> History:  # fmt: skip
    """Run 2·len(penalties) rounds from the common `start` (d,).

    `exacts[i](v, s)` = argmin f_i + ‖· − v‖²/(2s); `penalties` is η_i(t), shape (pairs, n); `dual_step` is θ;
    `linearization` is γ; `perturbation[t, i]` is b_i^t, shape (pairs, n, d).

    Keys: x and dual (2·pairs + 1, n, d), index 0 the start, index k + 1 after round k, and what round k sends is
    x[k + 1].
    """
    A = edges_of(adjacency)
    pairs, n, d = len(penalties), len(A), len(start)
    b = drawn(perturbation, (pairs, n, d))
    m = A.sum(axis=1)[:, None]
    x = np.empty((2 * pairs + 1, n, d))
    lam = np.zeros((2 * pairs + 1, n, d))
    x[0] = start
    for t in range(pairs):
        k = 2 * t
        eta = np.asarray(penalties[t], dtype=np.float64)[:, None]
        sums = pair_sums(A, x[k])
        centers = sums / (2 * m) - (2 * lam[k] + b[t]) / (2 * eta * m)
        steps = 1 / (2 * eta * m)[:, 0]
        for i in range(n):
            x[k + 1, i] = exacts[i](centers[i], float(steps[i]))
        g = -2 * lam[k] - 2 * eta * m * x[k + 1] + eta * sums
        lam[k + 1] = lam[k] + dual_step / 2 * differences(A, x[k + 1])
        force = g + 2 * lam[k + 1] + eta * differences(A, x[k + 1])
        x[k + 2] = x[k + 1] - force / (2 * eta * m + linearization)
        lam[k + 2] = lam[k + 1] + dual_step / 2 * differences(A, x[k + 2])
    return {"x": x, "dual": lam}
