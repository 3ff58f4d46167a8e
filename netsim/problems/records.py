"""What losses over m private records share: their products, the replacement of one record, and batches.

Products run through `einsum`, not BLAS: BLAS picks its order of summation by the number of rows, so that
a replica's bits would depend on how many others travel with it.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


def sampled(indices: ArrayLike, records: int) -> NDArray[np.int64]:
    """Positions of records, one or more, repeats allowed."""
    chosen = np.asarray(indices)
    if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or not chosen.size:
        raise ScenarioError("indices", indices, "not a list of positions", "one integer or more")
    if chosen.min() < 0 or chosen.max() >= records:
        raise ScenarioError("indices", indices, "out of range", f"0 to {records - 1}")
    return chosen.astype(np.int64)
