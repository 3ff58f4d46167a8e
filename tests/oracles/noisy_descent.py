"""DGD with noise on what is sent or in its state (thesis of Xiao, eq. 1.5), and DMSP (Huang, Mitra, Vaidya 2015).

DGD: agent i sends x̃_i = x_i + noise_i^k, and then x_i⁺ = Σ_j W_ij x̃_j − η_k clip(∇f_i(x_i)): it mixes its own *noisy*
x̃_i, and takes the gradient at the exact x_i.

D(S)GD: agent i sends x_i^k, of which x_i⁰ is public, and then

    x_i⁺ = Σ_j W_ij x_j − α_k g_i^k + noise_i^k,   g_i^k = ∇f_i(x_i^k), over the batch of round k if there is one.

The noise is part of the state: the agent mixes its own noisy x_i and takes its next gradient there (inferred).
This differs from DGD that keeps an exact x and sends a noisy copy.

DMSP: agent i sends y_i = x_i + noise_i^k, Laplace of a scale that decays geometrically and slower than q, and

    z_i = Σ_j W_ij y_j                                      its own noisy y_i among them
    x_i⁺ = Proj_X[ z_i − c q^k ∇f_i(z_i) ],  k = 0, 1, …    the gradient at the mixed point

In all of them the sums run over all j, i included, and W is doubly stochastic.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tests.oracles.shapes import Array, Gradient, Gradients, History, Noise, drawn, square, stacked

BatchGradient = Callable[[Array, NDArray[np.int64]], Array]  # (point, indices of records) ↦ mean gradient


def dgd(
    gradients: Gradients, weights: Array, steps: Sequence[float], start: Array, noise: Noise = None,
    clip: Callable[[Array], Array] = lambda g: g,
) -> History:  # fmt: skip
    """Run len(steps) rounds from `start` (n, d); `noise` (rounds, n, d); `clip` maps one agent's (d,) gradient.

    Keys: x (rounds + 1, n, d), x[0] the start; sent (rounds, n, d), the x̃ on the wire.
    """
    W, added = square(weights, len(start)), drawn(noise, (len(steps), *start.shape))
    x, sent = np.empty((len(steps) + 1, *start.shape)), np.empty((len(steps), *start.shape))
    x[0] = start
    for k, step in enumerate(steps):
        sent[k] = x[k] + added[k]
        x[k + 1] = W @ sent[k] - step * np.array(
            [clip(g(row.copy())) for g, row in zip(gradients, x[k], strict=True)]
        )
    return {"x": x, "sent": sent}


def laplace_descent(
    gradients: Sequence[Gradient] | Sequence[BatchGradient], weights: Array, steps: Sequence[float], start: Array,
    noise: Noise = None, batches: Sequence[Sequence[NDArray[np.int64]]] | None = None,
) -> History:  # fmt: skip
    """Run len(steps) rounds from `start` (n, d); `noise` (rounds, n, d).

    With `batches`, gradients[i](point, batches[k][i]) is called in place of gradients[i](point).

    Keys: x (rounds + 1, n, d), x[k] is what round k sends; gradient (rounds, n, d).
    """
    rounds = len(steps)
    n, d = start.shape
    W = square(weights, n)
    added = drawn(noise, (rounds, n, d))
    x = np.empty((rounds + 1, n, d))
    gradient = np.empty((rounds, n, d))
    x[0] = start
    for k in range(rounds):
        for i in range(n):
            chosen = () if batches is None else (batches[k][i],)
            gradient[k, i] = gradients[i](x[k, i].copy(), *chosen)
        x[k + 1] = W @ x[k] - steps[k] * gradient[k] + added[k]
    return {"x": x, "gradient": gradient}


def dmsp(
    gradients: Gradients, weights: Array, c: float, q: float, project: Callable[[Array], Array], start: Array,
    rounds: int, noise: Noise = None,
) -> History:  # fmt: skip
    """Run `rounds` rounds from `start` (n, d); `project` maps one (d,) point into X; `noise` (rounds, n, d).

    Keys: x (rounds + 1, n, d), x[0] the start; sent = y and mixed = z (rounds, n, d).
    """
    n, d = start.shape
    W = square(weights, n)
    added = drawn(noise, (rounds, n, d))
    x = np.empty((rounds + 1, n, d))
    sent = np.empty((rounds, n, d))
    mixed = np.empty((rounds, n, d))
    x[0] = start
    for k in range(rounds):
        sent[k] = x[k] + added[k]
        mixed[k] = W @ sent[k]
        moved = mixed[k] - c * q**k * stacked(gradients, mixed[k])
        x[k + 1] = np.array([project(point) for point in moved])
    return {"x": x, "sent": sent, "mixed": mixed}


def ball(radius: float) -> Callable[[Array], Array]:
    """Projection onto {‖x‖₂ ≤ radius}."""

    def project(point: Array) -> Array:
        norm = np.sqrt((point * point).sum())
        return point.copy() if norm <= radius else point * (radius / norm)

    return project


def box(low: float, high: float) -> Callable[[Array], Array]:
    """Projection onto [low, high]^d."""
    return lambda point: np.minimum(np.maximum(point, low), high)
