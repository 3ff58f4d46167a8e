"""DP-ADMM (Huang, Hu, Guo, Chan-Tin, Gong 2020) on a star, in stacked NumPy.

Agent 0 is the hub and also holds data; agents minimize Σ_i (f_i + r) over n agents, the hub among them. All
agents know the common start: w̃_i⁰ = w⁰ = start, γ_i⁰ = 0. In round k, with step η_k:

    every agent i, the hub too, minimizes the approximate augmented Lagrangian
        ⟨∇f_i(w̃_i), x⟩ + r(x) − ⟨γ_i, x − w⟩ + (ρ/2)‖x − w‖² + ‖x − w̃_i‖²/(2η_k),   that is
        w_i⁺ = prox_{r/c_k}( (w̃_i/η_k + ρw + γ_i − ∇f_i(w̃_i)) / c_k ),   c_k = ρ + 1/η_k
    and draws w̃_i⁺ = w_i⁺ + noise_i; a leaf sends w̃_i⁺ to the hub, the hub keeps its own w̃_0⁺
    the hub broadcasts w⁺ = (1/n) Σ_i (w̃_i⁺ − γ_i/ρ), the sum over all n agents
    every agent: γ_i⁺ = γ_i − ρ(w̃_i⁺ − w⁺)

The gradient and the proximal center are at the noisy w̃_i, as printed. The hub adds noise to its own value,
for w⁺ is public. Law: Σ_i γ_i = 0 after every round, so w⁺ is the plain mean of the w̃_i⁺ and the hub needs
no leaf's γ_i. Inferred: r through a prox on the agents' side (the paper takes a subgradient of f_i + r), and
that the server of the paper is one of the agents. A constant η_k ≤ 1/L is exact without noise; under noise
the paper lets η_k decay like 1/√k.
"""

from collections.abc import Sequence

import numpy as np

from tests.oracles.shapes import Array, Gradients, History, Noise, Prox, by_row, drawn, stacked


def dp_admm(
    gradients: Gradients, prox: Prox | None, penalty: float, steps: Sequence[float], start: Array, noise: Noise = None
) -> History:
    """Run len(steps) rounds from the common `start` (d,); `penalty` is ρ, `steps[k]` is η_k, `noise` (rounds, n, d).

    Keys: exact = w_i⁺, sent = w̃_i⁺ (row 0 never on the wire) (rounds, n, d); center = w (rounds + 1, d),
    center[0] the start, center[k + 1] what round k broadcasts; dual = γ (rounds + 1, n, d).
    """
    rounds, n, d = len(steps), len(gradients), len(start)
    added = drawn(noise, (rounds, n, d))
    exact = np.empty((rounds, n, d))
    sent = np.empty((rounds, n, d))
    center = np.empty((rounds + 1, d))
    dual = np.zeros((rounds + 1, n, d))
    center[0] = start
    held = np.tile(start, (n, 1))
    for k in range(rounds):
        c = penalty + 1 / steps[k]
        pull = held / steps[k] + penalty * center[k] + dual[k] - stacked(gradients, held)
        exact[k] = by_row(prox, pull / c, 1 / c)
        held = sent[k] = exact[k] + added[k]
        center[k + 1] = (held - dual[k] / penalty).sum(axis=0) / n
        dual[k + 1] = dual[k] - penalty * (held - center[k + 1])
    return {"exact": exact, "sent": sent, "center": center, "dual": dual}
