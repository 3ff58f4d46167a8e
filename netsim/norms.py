"""The norms that clipping, adjacency and mechanisms are about: ℓ1, ℓ2, ℓ∞, and what one says of another."""

from typing import Literal

import numpy as np

from netsim.arrays import Array

Norm = Literal["l1", "l2", "linf"]
ORDERS: dict[Norm, float] = {"l1": 1.0, "l2": 2.0, "linf": float("inf")}
SYMBOLS: dict[Norm, str] = {"l1": "ℓ1", "l2": "ℓ2", "linf": "ℓ∞"}


def length(v: Array, norm: Norm) -> Array:
    """‖v‖ of each row of v, (…, dimension); shape (…)."""
    return np.asarray(np.linalg.norm(v, ord=ORDERS[norm], axis=-1))


def factor(known: Norm, wanted: Norm, dimension: int) -> float:
    """The least c with ‖v‖_wanted ≤ c‖v‖_known for all v of this dimension d.

    It is d^{1/q − 1/p} for ‖·‖_q wanted and ‖·‖_p known with q < p, else 1.
    """
    power = 1 / ORDERS[wanted] - 1 / ORDERS[known]
    return float(np.sqrt(dimension)) if power == 0.5 else float(dimension) if power == 1 else 1.0
