"""Synchronous DGD with noise on what is sent, in stacked NumPy: the twin of an engine's run.

    x̃_i = x_i + noise_i
    x⁺_i = Σ_j W_ij x̃_j − η_k clip(∇f_i(x_i))

The sum runs over all j, i itself included, so an agent mixes its own *noisy* x̃_i; the gradient is taken at
the exact x_i.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def dgd(
    gradients: Sequence[Callable[[Array], Array]],
    weights: Array,
    steps: Sequence[float],
    start: Array,
    noise: Sequence[Array] | Array | None = None,
    clip: Callable[[Array], Array] | None = None,
) -> dict[str, Array]:
    """Run len(steps) rounds from `start`, shape (n, d).

    `weights` is W, shape (n, n), own weights on the diagonal; `steps[k]` is η_k; `noise[k][i]` is what
    agent i adds to its x in round k (None: zero), shape (rounds, n, d); `clip` maps one agent's (d,)
    gradient to the clipped one (None: identity).

    Keys: x (rounds + 1, n, d), x[0] the start; sent (rounds, n, d), the x̃ on the wire; gradient
    (rounds, n, d), after clipping.
    """
    rounds = len(steps)
    n, d = start.shape
    if len(gradients) != n or weights.shape != (n, n):
        raise ValueError(f"{len(gradients)} gradients and weights {weights.shape} for {n} agents")
    added = np.zeros((rounds, n, d)) if noise is None else np.asarray(noise, dtype=np.float64)
    if added.shape != (rounds, n, d):
        raise ValueError(f"noise has shape {added.shape}, needed {(rounds, n, d)}")

    x = np.empty((rounds + 1, n, d))
    sent = np.empty((rounds, n, d))
    gradient = np.empty((rounds, n, d))
    x[0] = start
    for k in range(rounds):
        sent[k] = x[k] + added[k]
        for i in range(n):
            g = gradients[i](x[k, i].copy())
            gradient[k, i] = g if clip is None else clip(g)
        x[k + 1] = weights @ sent[k] - steps[k] * gradient[k]
    return {"x": x, "sent": sent, "gradient": gradient}
