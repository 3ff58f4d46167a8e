"""Inferred gradients as a score: which world they look like."""

from collections.abc import Callable, Sequence

import numpy as np

from attacks.audit.pair import Pair
from attacks.gradients.baton import GradientEstimate
from netsim.adversary import AdversaryView
from netsim.arrays import Array

Infer = Callable[[AdversaryView], list[GradientEstimate]]
INFERRED = "inferred gradients"
"""What these scores are called in an archive."""
EXACT = 1e-9
"""The deviation that an exact gradient estimate is credited with."""


def resemblance(estimates: Sequence[GradientEstimate], pair: Pair, replicas: int) -> Array | None:
    """How much more the inferred gradients of the agent look like world 1's than world 0's, (replicas,).

    ln of the likelihood ratio, times two, where errors are Gaussian of the deviation they are said to have. None
    where no gradient of the agent is among them.
    """
    own = [e for e in estimates if e.agent == pair.agent]
    score = np.zeros(replicas)
    for e in own:
        zero, one = (hypothesis.gradient(e.point) for hypothesis in pair.hypotheses)
        far_0 = np.sum((e.gradient - zero) ** 2, axis=-1)
        far_1 = np.sum((e.gradient - one) ** 2, axis=-1)
        score = score + (far_0 - far_1) / max(e.stddev, EXACT) ** 2
    return np.where(np.isnan(score), 0.0, score) if own else None
