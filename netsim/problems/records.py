"""What losses over m private records share: their products, and the replacement of one record.

Products run through `einsum`, not BLAS: BLAS picks its order of summation by the number of rows, so that
a replica's bits would depend on how many others travel with it.
"""

import numpy as np
from numpy.typing import ArrayLike

from netsim.arrays import Array
from netsim.checks import frozen, whole
from netsim.errors import ScenarioError


def times(rows: Array, matrix: Array) -> Array:
    """rows @ matrix.T, each row's bits independent of the other rows; `matrix` is contiguous."""
    return np.einsum("rk,mk->rm", np.ascontiguousarray(rows), matrix)


def half_square(x: Array) -> Array:
    """‖x‖² / 2 of each row."""
    x = np.ascontiguousarray(x)
    return 0.5 * np.einsum("rd,rd->r", x, x)


def replaced(features: Array, answers: Array, index: int, row: ArrayLike, answer: float) -> tuple[Array, Array]:
    """Copies of both, with one record replaced."""
    index, new_row = whole(index, "index", 0, len(features) - 1), frozen(row, "features_row", 1)
    if new_row.shape != features[0].shape:
        raise ScenarioError("features_row", new_row.shape, "wrong shape", str(features[0].shape))
    new_features, new_answers = features.copy(), answers.copy()
    new_features[index], new_answers[index] = new_row, answer
    return new_features, new_answers
