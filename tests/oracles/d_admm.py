"""D-ADMM with exact inner problems, and its two private forms PVP and DVP (Zhang, Zhu 2017), in stacked NumPy.

Agents minimize Σ_i (f_i + r). All agents know the common start x⁰, so x̃⁰ = x⁰ travels in no message; λ⁰ = 0.
In round k agent i

    solves x_i⁺ = argmin_x f_i(x) + r(x) + 2⟨μ_i, x⟩ + η Σ_{j∈N_i} ‖x − (x̃_i + x̃_j)/2‖²
    sends x̃_i⁺ to its neighbors, and after the exchange
    λ_i⁺ = λ_i + (η/2) Σ_{j∈N_i} (x̃_i⁺ − x̃_j⁺)

    D-ADMM   μ_i = λ_i,           x̃_i⁺ = x_i⁺
    PVP      μ_i = λ_i,           x̃_i⁺ = x_i⁺ + noise_i     primal variable perturbation: noise on what is sent
    DVP      μ_i = λ_i + noise_i, x̃_i⁺ = x_i⁺              dual variable perturbation: λ itself stays clean

In PVP the midpoints and the dual take x̃ at both ends, the agent's own included; the exact x_i⁺ serves nothing
further. In DVP the noise is not carried over into the next round's λ. In the paper DVP's noise is C·ε/(2B_i);
here the array is what is added to λ_i. Law: Σ_i λ_i = 0 under either noise.

Completing the square with m_i = |N_i|, the inner problem is argmin f_i + r + ‖x − v‖²/(2s) with
v = Σ_j(x̃_i + x̃_j)/(2m_i) − μ_i/(ηm_i) and s = 1/(2ηm_i); `exacts[i](v, s)` solves that.
"""

from collections.abc import Sequence

import numpy as np

from tests.oracles.shapes import Array, Exact, differences, drawn, edges_of, pair_sums


def d_admm(
    exacts: Sequence[Exact],
    adjacency: Array,
    penalty: float,
    start: Array,
    rounds: int,
    noise_primal: Sequence[Array] | Array | None = None,
    noise_dual: Sequence[Array] | Array | None = None,
) -> dict[str, Array]:
    """Run `rounds` rounds from the common `start` (d,); `penalty` is η, the noises are (rounds, n, d).

    Keys: x and dual = λ (rounds + 1, n, d), index 0 the start; used_dual = μ and sent (rounds, n, d),
    sent[k] = x̃^{k+1}.
    """
    A = edges_of(adjacency)
    n, d = len(A), len(start)
    m = A.sum(axis=1)
    on_primal = drawn(noise_primal, (rounds, n, d))
    on_dual = drawn(noise_dual, (rounds, n, d))
    x = np.empty((rounds + 1, n, d))
    lam = np.zeros((rounds + 1, n, d))
    mu = np.empty((rounds, n, d))
    sent = np.empty((rounds, n, d))
    x[0] = start
    known = x[0]
    for k in range(rounds):
        mu[k] = lam[k] + on_dual[k]
        sums = pair_sums(A, known)
        for i in range(n):
            v = sums[i] / (2 * m[i]) - mu[k, i] / (penalty * m[i])
            x[k + 1, i] = exacts[i](v, 1 / (2 * penalty * m[i]))
        known = sent[k] = x[k + 1] + on_primal[k]
        lam[k + 1] = lam[k] + penalty / 2 * differences(A, known)
    return {"x": x, "dual": lam, "used_dual": mu, "sent": sent}
