"""Walkman (Mao, Yuan, Hu, Gu, Sayed, Yin 2020), proximal and gradient versions, in plain NumPy.

Agents minimize (1/n) Σ_i f_i(x) + r(x), the same minimizer as Σ f_i + n·r. A token carries u, the mean of
y_i − z_i/β over all agents; y_i = z_i = 0, hence u = 0, at first. The holder i = i_k of activation k, having
received ũ:

    x = prox_{r/β}(ũ)
    y_i⁺ = argmin_y f_i(y) + (β/2)‖y − x − z_i/β‖²        proximal version
    y_i⁺ = x + (z_i − ∇f_i(y_i))/β                        gradient version, the gradient at the old y_i
    z_i⁺ = z_i + β(x − y_i⁺)
    u⁺ = ũ + [(y_i⁺ − z_i⁺/β) − (y_i − z_i/β)]/n

and sends ũ⁺ = u⁺ + noise to i_{k+1}. The next holder has only ũ⁺, so noise accumulates in the token
(the paper has no noise). Law: u⁺ after activation k is mean_i(y_i − z_i/β) plus the noises of all activations
before k. In the gradient version z_i⁺ = ∇f_i(y_i), y_i the old one.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tests.oracles.shapes import Array, Exact, Gradients, History, Noise, Prox, drawn

Inner = Callable[[int, Array, Array, Array], Array]


def walkman_prox(
    exacts: Sequence[Exact], prox: Prox | None, route: Sequence[int], beta: float, dimension: int, noise: Noise = None
) -> History:
    """`exacts[i](v, s)` = argmin f_i + ‖· − v‖²/(2s), without r; `prox` is r's. Else as `walkman_gradient`."""

    def inner(i: int, x: Array, y: Array, z: Array) -> Array:
        return exacts[i](x + z / beta, 1 / beta)

    return _walk(inner, len(exacts), prox, route, beta, dimension, noise)


def walkman_gradient(
    gradients: Gradients, prox: Prox | None, route: Sequence[int], beta: float, dimension: int, noise: Noise = None
) -> History:
    """Run len(route) activations, `route[k]` the holder; `noise` (activations, d) is added to what is sent.

    Keys: x (the prox the holder takes), u = u⁺ before its noise, sent = ũ⁺, all (activations, d); y and z
    (activations + 1, n, d), all agents', index 0 the start.
    """

    def inner(i: int, x: Array, y: Array, z: Array) -> Array:
        return x + (z - gradients[i](y.copy())) / beta

    return _walk(inner, len(gradients), prox, route, beta, dimension, noise)


def _walk(
    inner: Inner, n: int, prox: Prox | None, route: Sequence[int], beta: float, dimension: int, noise: Noise
) -> History:
    activations = len(route)
    added = drawn(noise, (activations, dimension))
    x, u, sent = (np.empty((activations, dimension)) for _ in range(3))
    y, z = (np.zeros((activations + 1, n, dimension)) for _ in range(2))
    token = np.zeros(dimension)
    for k, i in enumerate(route):
        y[k + 1], z[k + 1] = y[k], z[k]
        x[k] = token if prox is None else prox(token, 1 / beta)
        y[k + 1, i] = inner(i, x[k], y[k, i], z[k, i])
        z[k + 1, i] = z[k, i] + beta * (x[k] - y[k + 1, i])
        gained = (y[k + 1, i] - z[k + 1, i] / beta) - (y[k, i] - z[k, i] / beta)
        u[k] = token + gained / n
        token = sent[k] = u[k] + added[k]
    return {"x": x, "u": u, "sent": sent, "y": y, "z": z}
