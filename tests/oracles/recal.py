"""RECAL and DP-RECAL in stacked NumPy, line by line: the twin that an engine's run is compared with.

The holder i of the baton (ũ, x), with β = 1/(2(n+1)):

    λ½ = λ_i + β(x − y_i)
    x⁺ = prox_{nr}(x − (ũ + λ½ − λ_i))
    y⁺ = y_i − α_i(∇f_i(y_i) − λ½)
    λ⁺ = λ½ + β[(x⁺ − x) − (y⁺ − y_i)]
    ũ⁺ = u⁺ − ε, where u⁺ depends on the reading

It starts from λ = u = 0 and any x¹, y¹. Nothing is simplified on purpose, not λ⁺ = λ_i + β(x⁺ − y⁺) either.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tests.oracles.shapes import Array, History, Noise, drawn

READINGS = ("as_analysed", "as_deployable", "told", "shielded")


def recal(
    gradients: Sequence[Callable[[Array], Array]], prox: Callable[[Array, float], Array], route: Sequence[int],
    steps: Sequence[float], dimension: int, noise: Noise = None, shield: Noise = None,
    reading: str = "as_deployable", x_first: Array | float = 0.0, y_first: Array | float = 0.0,
) -> History:  # fmt: skip
    """Minimize Σ f_i + n·r along `route`; every returned array has shape (activations, dimension).

    `gradients[i]` is ∇f_i, `prox(v, step)` is prox_{step·r}(v), `route[k]` holds the baton at activation k,
    `steps[i]` is α_i, `noise[k]` is the ε subtracted from what activation k sends (None: zero) and
    `shield[k]` is added inside the prox argument (None: zero; only for the reading "shielded"). `x_first` is x¹,
    (dimension,), and `y_first` y¹, (agents, dimension).

    The readings differ in u⁺, in what the holder keeps, and in the prox argument:

    - as_analysed: an exact u travels beside ũ, u⁺ = u + λ⁺ − λ_i; the x-update uses ũ.
    - as_deployable: only ũ travels, u⁺ = ũ + λ⁺ − λ_i.
    - told: as deployable, then the holder keeps what its message told, λ_i + (ũ⁺ − ũ) and x⁺ − (ũ⁺ − ũ)/β.
    - shielded: as deployable, with x⁺ = prox_{nr}(x − (ũ + λ½ − λ_i) + shield).

    Keys: u is u⁺ before its noise, u_noisy is the ũ⁺ sent, x is the x⁺ sent, y and lam are what the holder
    keeps after the activation (in "told" the replaced pair), gradient is ∇f_i(point), and point is the
    holder's y_i before the activation.
    """
    if reading not in READINGS:
        raise ValueError(f"reading is {reading!r}; allowed: {', '.join(READINGS)}")
    if shield is not None and reading != "shielded":
        raise ValueError(f"a shield belongs to the reading 'shielded', not to {reading!r}")
    n = len(gradients)
    if len(steps) != n:
        raise ValueError(f"{len(steps)} steps for {n} agents")
    activations = len(route)
    epsilon = drawn(noise, (activations, dimension))
    shields = drawn(shield, (activations, dimension))
    keys = ("u", "u_noisy", "x", "y", "lam", "gradient", "point")
    history = {key: np.empty((activations, dimension)) for key in keys}
    beta = 1.0 / (2 * (n + 1))
    ys = np.zeros((n, dimension)) + y_first
    lams = np.zeros((n, dimension))
    u_exact = np.zeros(dimension)
    u_noisy = np.zeros(dimension)
    x = np.zeros(dimension) + x_first
    for k in range(activations):
        i = route[k]
        y_i = ys[i].copy()
        lam_i = lams[i].copy()
        gradient = gradients[i](y_i)
        lam_half = lam_i + beta * (x - y_i)
        argument = x - (u_noisy + lam_half - lam_i)
        if reading == "shielded":
            argument = argument + shields[k]
        x_next = prox(argument, n)
        y_next = y_i - steps[i] * (gradient - lam_half)
        lam_next = lam_half + beta * ((x_next - x) - (y_next - y_i))
        u_before = u_exact if reading == "as_analysed" else u_noisy
        u_next = u_before + lam_next - lam_i
        sent = u_next - epsilon[k]
        if reading == "told":
            ys[i] = x_next - (sent - u_noisy) / beta
            lams[i] = lam_i + (sent - u_noisy)
        else:
            ys[i] = y_next
            lams[i] = lam_next
        row = (u_next, sent, x_next, ys[i], lams[i], gradient, y_i)
        for key, value in zip(keys, row, strict=True):
            history[key][k] = value
        u_exact, u_noisy, x = u_next, sent, x_next
    return history
