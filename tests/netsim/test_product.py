"""Products whose bits depend on their own numbers alone."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from netsim.arrays import product
from netsim.problems.objective import times

SHAPES = [
    (1, 10, 30),
    (45, 64, 32),
    (45, 784, 64),
    (64, 784, 45),
    (1, 784, 64),
    (64, 784, 1),
    (1, 9000, 3),
    (3, 300_000, 2),
    (2, 20_000, 3),
    (3000, 2, 900),
    (0, 3, 4),
]


def matrices(m: int, k: int, n: int):
    """Three of each, the second also as the transpose of a contiguous one."""
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(3, m, k)), rng.normal(size=(3, k, n))
    return left, right, np.ascontiguousarray(right.swapaxes(-1, -2)).swapaxes(-1, -2)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_product_is_the_same_alone_and_with_more_threads(shape):
    left, *rights = matrices(*shape)
    for right in rights:
        found = product(left, right)
        np.testing.assert_allclose(found, np.einsum("rmk,rkn->rmn", left, right), rtol=1e-9, atol=1e-9)
        for alone, together in zip(zip(left, right, strict=True), found, strict=True):
            assert np.array_equal(product(*alone), together)
        assert np.array_equal(product(left, right[0])[1], product(left[1], right[0]))
        for threads in (1, 2, 3):
            with threadpool_limits(threads):
                assert np.array_equal(product(left, right), found)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape[0]], ids=str)
def test_a_row_times_a_matrix_is_the_same_alone_and_with_more_threads(shape):
    left, *rights = matrices(*shape)
    for right in rights:
        rows, matrix = left[0], right[0].T
        found = times(rows, matrix)
        for row, one in zip(rows[:5], found, strict=False):
            assert np.array_equal(times(row[None], matrix)[0], one)
        stacked = times(left, right.swapaxes(-1, -2))
        assert np.array_equal(stacked[0], found)
        with threadpool_limits(2):
            assert np.array_equal(times(rows, matrix), found)
