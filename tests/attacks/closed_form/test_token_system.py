"""Sparse lines against dense linear algebra: what is determined is found, nothing else is, and ties hold."""

import numpy as np
import pytest

from attacks.closed_form.token_system import Line, determined


def system(seed: int, lines: int, unknowns: int, widest: int):
    """A matrix, a drawn truth, the names of the unknowns, and what each line adds up to: known as ("c", 0, line)."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((unknowns, 2, 3))
    matrix = np.zeros((lines, unknowns))
    for row in matrix:
        chosen = rng.choice(unknowns, int(rng.integers(1, widest + 1)), replace=False)
        row[chosen] = rng.choice([-1.0, 0.5, 1.0, 2.0], len(chosen))
    sums = np.einsum("ku,urd->krd", matrix, truth)
    names = [("v", 0, k) for k in range(unknowns)]
    return matrix, truth, names, {("c", 0, k): value for k, value in enumerate(sums)}


def lines_of(matrix, names, stddevs=None) -> list[Line]:
    found = []
    for k, row in enumerate(matrix):
        terms = {name: c for name, c in zip(names, row.tolist(), strict=True) if c}
        found.append(Line(terms | {("c", 0, k): -1.0}, 0.0 if stddevs is None else stddevs[k]))
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("lines", "widest"), [(12, 2), (20, 3), (14, 4)])
def test_exact_lines_determine_what_dense_algebra_says(seed, lines, widest):
    matrix, truth, names, known = system(seed, lines, 18, widest)
    found = determined(lines_of(matrix, names), known)
    _, sizes, right = np.linalg.svd(matrix)
    free = right[int(np.count_nonzero(sizes > 1e-10)) :]
    for k, name in enumerate(names):
        certain = np.linalg.norm(free[:, k]) < 1e-9
        assert (name in found.values) == certain
        if certain:
            np.testing.assert_allclose(found.values[name], truth[k], atol=1e-9)
    assert not found.covariance(names).any()


def test_ties_hold_for_the_truth():
    tied = 0
    for seed in range(8):
        matrix, truth, names, known = system(seed, 12, 18, 2)
        found = determined(lines_of(matrix, names), known)
        place = {name: k for k, name in enumerate(names)}
        for k, name in enumerate(names):
            if name not in found.values:
                root, factor, rest = found.ties.tie(name)
                np.testing.assert_allclose(truth[k], factor * truth[place[root]] + rest, atol=1e-9)
                tied += root != name
    assert tied > 5


@pytest.mark.parametrize("seed", range(6))
def test_noisy_lines_are_weighed_as_the_textbook_does(seed):
    rng = np.random.default_rng(seed)
    matrix, _, names, known = system(seed, 40, 10, 3)
    stddevs = rng.uniform(0.1, 2.0, 40)
    noise = stddevs[:, None, None] * rng.standard_normal((40, 2, 3))
    noisy = known | {("c", 0, k): known["c", 0, k] + noise[k] for k in range(40)}
    found = determined(lines_of(matrix, names, stddevs), noisy)
    weighed = matrix / stddevs[:, None]
    covariance = np.linalg.inv(weighed.T @ weighed)
    right = np.array([noisy["c", 0, k].ravel() / stddevs[k] for k in range(40)])
    expected = covariance @ weighed.T @ right
    for k, name in enumerate(names):
        np.testing.assert_allclose(found.values[name].ravel(), expected[k], atol=1e-9)
    np.testing.assert_allclose(found.covariance(names), covariance, atol=1e-10)


def test_a_combination_is_asked_for_only_where_its_parts_are_not_found():
    a, b, c, both = ("v", 0, 0), ("v", 0, 1), ("v", 0, 2), ("sum", 0, 0)
    known = {("c", 0, k): np.full((1, 1), float(k)) for k in range(3)}
    lines = [Line({a: 1.0, b: 1.0, c: 1.0, ("c", 0, 2): -1.0}), Line({c: 1.0, ("c", 0, 1): -1.0})]
    combined = [Line({both: 1.0, a: -1.0, b: -1.0})]
    found = determined(lines, known, combined)
    assert found.values[both] == pytest.approx(1.0)  # a + b = 2 − 1
    assert a not in found.values
    again = determined([*lines, Line({b: 1.0, ("c", 0, 0): -1.0})], known, combined)
    assert again.values[a] == pytest.approx(1.0)
    assert both not in again.values
