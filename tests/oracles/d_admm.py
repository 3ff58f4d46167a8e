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

M-ADMM and Xiao's (3.1). η may be η_i(k), by round and agent, with a dual step θ of its own. Noise on the midpoints
replaces (x̃_i + x̃_j)/2 by that less w_i. Shares θ' replace it, in the sum over j, by θ'x̃_i + (1 − θ')x̃_j:

    x_i⁺ = argmin f_i(x) + r(x) + 2⟨λ_i, x⟩ + ½‖x − x̃_i‖²_Γ + ½ Σ_j ‖x − x̃_j‖²_ρ,   Γ = 2ηm_iθ', ρ = 2η(1 − θ').
"""

from collections.abc import Sequence

import numpy as np

from tests.oracles.shapes import Array, Exact, History, Noise, differences, drawn, edges_of


def d_admm(
    exacts: Sequence[Exact], adjacency: Array, penalty: float | Array, start: Array, rounds: int,
    noise_primal: Noise = None, noise_dual: Noise = None, noise_penalty: Noise = None,
    dual_step: float | None = None, shares: Array | None = None,
) -> History:  # fmt: skip
    """Run `rounds` rounds from the common `start` (d,); `penalty` is η or (rounds, n), the noises are (rounds, n, d).

    `shares` (rounds, n, d) are the θ'; None: ½. Keys: x and dual = λ (rounds + 1, n, d), index 0 the start;
    sent (rounds, n, d), sent[k] = x̃^{k+1}.
    """
    A = edges_of(adjacency)
    n, d = len(A), len(start)
    m = A.sum(axis=1)
    eta = np.broadcast_to(penalty, (rounds, n))
    theta = float(eta[0, 0]) if dual_step is None else dual_step
    on_primal = drawn(noise_primal, (rounds, n, d))
    on_dual = drawn(noise_dual, (rounds, n, d))
    on_penalty = drawn(noise_penalty, (rounds, n, d))
    own = np.full((rounds, n, d), 0.5) if shares is None else shares
    x = np.empty((rounds + 1, n, d))
    lam = np.zeros((rounds + 1, n, d))
    sent = np.empty((rounds, n, d))
    x[0] = start
    known = np.tile(start, (n, 1))
    for k in range(rounds):
        mu = lam[k] + on_dual[k]
        for i in range(n):
            gamma, rho = 2 * eta[k, i] * m[i] * own[k, i], 2 * eta[k, i] * (1 - own[k, i])
            pulled = gamma * known[i] + rho * (A[i] @ known) - 2 * eta[k, i] * m[i] * on_penalty[k, i] - 2 * mu[i]
            D = 2 * eta[k, i] * m[i]
            x[k + 1, i] = exacts[i](pulled / D, 1 / D)
        known = sent[k] = x[k + 1] + on_primal[k]
        lam[k + 1] = lam[k] + theta / 2 * differences(A, known)
    return {"x": x, "dual": lam, "sent": sent}
