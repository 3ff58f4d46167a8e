"""Gradient tracking in stacked NumPy: DIGing (Nedić, Olshevsky, Shi 2017) and its adapt-then-combine form.

W is symmetric and doubly stochastic, y⁰ = ∇f(x⁰).

    DIGing   send x̃ = x + w and ỹ = y + e;  x⁺ = W x̃ − αy;  y⁺ = W ỹ + ∇f(x⁺) − ∇f(x)
    ATC      send ã = x − αy + w;  x⁺ = W ã;  then send b̃ = y + ∇f(x⁺) − ∇f(x) + e;  y⁺ = W b̃

An agent mixes its own sent (noisy) values; −αy and the gradients take the exact ones. DIGing exchanges once
a round (both vectors together), ATC twice. The papers have no noise.

Law: Σ_i y_i^k = Σ_i ∇f_i(x_i^k) + Σ_{t<k} Σ_i e_i^t, so noise on y stays in the tracked sum for ever.
"""

import numpy as np

from tests.oracles.shapes import Array, Gradients, History, Noise, drawn, square, stacked


def diging(
    gradients: Gradients, weights: Array, step: float, start: Array, rounds: int, noise_x: Noise = None,
    noise_y: Noise = None,
) -> History:  # fmt: skip
    """Run `rounds` rounds from `start` (n, d); `noise_x` is w and `noise_y` is e, both (rounds, n, d).

    Keys: x, y and gradient (rounds + 1, n, d), index 0 the start; sent_x, sent_y (rounds, n, d).
    """
    history, W, w, e = _begin(gradients, weights, start, rounds, noise_x, noise_y)
    x, y, gradient = history["x"], history["y"], history["gradient"]
    for k in range(rounds):
        history["sent_x"][k] = x[k] + w[k]
        history["sent_y"][k] = y[k] + e[k]
        x[k + 1] = W @ history["sent_x"][k] - step * y[k]
        gradient[k + 1] = stacked(gradients, x[k + 1])
        y[k + 1] = W @ history["sent_y"][k] + gradient[k + 1] - gradient[k]
    return history


def adapt_then_combine(
    gradients: Gradients, weights: Array, step: float, start: Array, rounds: int, noise_x: Noise = None,
    noise_y: Noise = None,
) -> History:  # fmt: skip
    """As `diging`; sent_x is ã and sent_y is b̃."""
    history, W, w, e = _begin(gradients, weights, start, rounds, noise_x, noise_y)
    x, y, gradient = history["x"], history["y"], history["gradient"]
    for k in range(rounds):
        history["sent_x"][k] = x[k] - step * y[k] + w[k]
        x[k + 1] = W @ history["sent_x"][k]
        gradient[k + 1] = stacked(gradients, x[k + 1])
        history["sent_y"][k] = y[k] + gradient[k + 1] - gradient[k] + e[k]
        y[k + 1] = W @ history["sent_y"][k]
    return history


def _begin(gradients, weights, start, rounds, noise_x, noise_y):
    n, d = start.shape
    history = {key: np.empty((rounds + 1, n, d)) for key in ("x", "y", "gradient")}
    history |= {key: np.empty((rounds, n, d)) for key in ("sent_x", "sent_y")}
    history["x"][0] = start
    history["gradient"][0] = history["y"][0] = stacked(gradients, start)
    return history, square(weights, n), drawn(noise_x, (rounds, n, d)), drawn(noise_y, (rounds, n, d))
