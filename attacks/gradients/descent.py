"""The gradients of private gradient descent from its own messages.

x_i^{k+1} = Σ_j w_ij x̃_j^k − η_k g_i^k, and everything but g is on the wire, up to the noise of one release:

    ĝ_i^k = (Σ_j w_ij x̃_j^k − x̃_i^{k+1})/η_k,   standard deviation √2·b_{k+1}/η_k per coordinate.

What is estimated is the gradient that was used: the clipped one, where the algorithm clips; the point is known
as the noisy x̃_i^k. It needs every message of the agent and of its neighbors in both rounds; the gradient of
the last round is never sent. Who may run it: an eavesdropper on all links around the agent, or at its door.
"""

import math

import numpy as np

from attacks.gradients.baton import GradientEstimate, check_lossless
from netsim.adversary import AdversaryView
from netsim.algorithms import PrivateGradientDescent
from netsim.arrays import Array
from netsim.errors import AttackError


def through_differences(view: AdversaryView) -> list[GradientEstimate]:
    """One estimate per agent and round for which nothing was missed.

    You get an `AttackError` where the algorithm is no private gradient descent, or a codec changes what is sent.
    """
    algorithm = view.public.algorithm
    if not isinstance(algorithm, PrivateGradientDescent):
        raise AttackError(f"{type(algorithm).__name__} is not private gradient descent: this inversion is its own")
    check_lossless(view)
    told: dict[tuple[int, int], Array] = {}
    for row in view.transcript:
        if row.kind == "exchange":
            told.setdefault((row.sender, row.number), row.values["x"])
    estimates: list[GradientEstimate] = []
    for agent, neighbors in enumerate(view.public.neighbors):
        for k in range(algorithm.rounds - 1):
            needed = [told.get((j, k)) for j in (agent, *neighbors)]
            after = told.get((agent, k + 1))
            here = [x for x in needed if x is not None]
            if after is None or len(here) < len(needed):
                continue
            mixed = np.tensordot(view.public.weights[agent], np.array(here), axes=1)
            step, scale = algorithm.step(k), algorithm.scale(k + 1)
            gradient = (mixed - after) / step
            estimates.append(GradientEstimate(agent, k, here[0], gradient, math.sqrt(2) * scale / step))
    return estimates
