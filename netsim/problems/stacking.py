"""Gradients of many objectives at once, bit for bit those of one call an objective.

Objectives of one kind with equally many records are one batched expression, whose inner sums run as in a call of its
own (`LeastSquares.stacked`, `LogisticLoss.stacked`). Others are called one after the other.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from netsim.arrays import Array
from netsim.problems.losses import LeastSquares, LogisticLoss
from netsim.problems.objective import Objective

MANY = 1024
"""Of so many numbers an objective calls are one after the other: they stay in the processor's cache."""
Gradients: TypeAlias = Callable[[Array], Array]
"""x (agents, replicas, dimension) ↦ ∇f_i(x_i), the same shape."""


def stacked_gradients(objectives: Sequence[Objective]) -> Gradients:
    """Every objective's own gradient at its own x. PRIVATE, as the objectives are."""
    squares, logistic, others = dict[int, list[int]](), dict[int, list[int]](), list[int]()
    for i, f in enumerate(objectives):
        if type(f) is LeastSquares:
            squares.setdefault(f.records, []).append(i)
        elif type(f) is LogisticLoss:
            logistic.setdefault(f.records, []).append(i)
        else:
            others.append(i)
    parts: list[tuple[list[int], Gradients]] = []
    for who in squares.values():
        parts.append((who, LeastSquares.stacked([f for i in who if isinstance(f := objectives[i], LeastSquares)])))
    for who in logistic.values():
        parts.append((who, LogisticLoss.stacked([f for i in who if isinstance(f := objectives[i], LogisticLoss)])))
    if others:
        parts.append((others, lambda x: np.array([objectives[i].gradient(x[k]) for k, i in enumerate(others)])))
    places = [(np.array(who), gradients) for who, gradients in parts]

    def each(x: Array) -> Array:
        if x[0].size >= MANY:
            return np.array([f.gradient(own) for f, own in zip(objectives, x, strict=True)])
        if len(places) == 1:
            return places[0][1](x)
        found = np.empty_like(x)
        for who, gradients in places:
            found[who] = gradients(x[who])
        return found

    return each
