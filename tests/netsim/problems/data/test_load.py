from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

from netsim.errors import ScenarioError
from netsim.problems import Dataset, LogisticLoss, load
from netsim.problems.data import named
from tests.worlds import refusal


def test_digits_zero_and_one_are_the_known_360_images() -> None:
    digits = load("digits")
    assert (digits.records, digits.dimension, digits.image_shape) == (360, 64, (8, 8))
    assert ((digits.labels == -1).sum(), (digits.labels == 1).sum()) == (178, 182)
    assert (digits.features.min(), digits.features.max()) == digits.value_range == (0.0, 1.0)
    ink = digits.features.reshape(-1, 8, 8)[:, 2:6, 3:5].mean(axis=(1, 2))
    assert ink[digits.labels == -1].mean() < 0.25 < 0.5 < ink[digits.labels == 1].mean()  # a 0 has a hole


def test_the_first_class_named_is_the_negative_one() -> None:
    there, back = load("digits", classes=(3, 8)), load("digits", classes=(8, 3))
    assert np.array_equal(there.features, back.features)
    assert np.array_equal(there.labels, -back.labels)


def test_breast_cancer_is_standardized() -> None:
    tumours = load("breast_cancer")
    assert tumours.features.shape == (569, 30)
    assert ((tumours.labels == -1).sum(), (tumours.labels == 1).sum()) == (212, 357)
    assert np.abs(tumours.features.mean(axis=0)).max() < 1e-12
    assert np.abs(tumours.features.std(axis=0) - 1).max() < 1e-12


def test_synthetic_data_come_from_one_true_point() -> None:
    exact = load("synthetic", records=50, dimension=4, seed=3, noise=0.0, kind="regression")
    truth, gap, _, _ = np.linalg.lstsq(exact.features, exact.labels, rcond=None)
    assert gap[0] < 1e-25
    signs = load("synthetic", records=50, dimension=4, seed=3, noise=0.0)
    assert np.array_equal(signs.labels, np.sign(exact.features @ truth))
    assert np.array_equal(signs.features, exact.features)
    noisy = load("synthetic", records=4000, dimension=4, seed=3, noise=0.5, kind="regression")
    assert np.std(noisy.labels - noisy.features @ truth) == pytest.approx(0.5, rel=0.1)
    other = load("synthetic", records=50, dimension=4, seed=4)
    assert not np.array_equal(other.features, signs.features)


def test_clipping_bounds_the_gradient_of_every_record() -> None:
    plain, clipped = load("digits"), load("digits", norm_bound=3.0)
    before, after = (np.linalg.norm(data.features, axis=1) for data in (plain, clipped))
    assert (before > 3).any()
    assert (before < 3).any()
    assert after.max() <= 3.0
    np.testing.assert_allclose(after, np.minimum(before, 3.0), rtol=1e-12)
    assert np.array_equal(clipped.features[before < 3], plain.features[before < 3])
    record = LogisticLoss(clipped.features[:1], clipped.labels[:1])
    x = 100 * np.random.default_rng(0).normal(size=(100, 64))
    assert np.linalg.norm(record.gradient(x), axis=1).max() <= 3.0 * (1 + 1e-12)


def test_a_row_whose_squares_are_no_numbers_is_clipped_and_not_made_0():
    row = np.random.default_rng(0).normal(size=(5, 4))
    huge = Dataset("huge", row * [[1e200], [1e305], [1e-200], [1.0], [0.0]], np.ones(5))
    with np.errstate(all="raise"):
        found = huge.clipped(1.5).features
    np.testing.assert_allclose(found[:2], 1.5 * (row / np.linalg.norm(row, axis=1, keepdims=True))[:2], rtol=1e-12)
    assert np.array_equal(found[2:3], huge.features[2:3])
    assert not found[4].any()


def test_each_feature_is_brought_to_the_unit_interval_before_rows_are_clipped():
    plain, unit = load("breast_cancer"), load("breast_cancer", unit=True, norm_bound=2.0)
    low, high = plain.features.min(axis=0), plain.features.max(axis=0)
    expected = (plain.features - low) / (high - low)
    short = np.linalg.norm(expected, axis=1) < 2
    assert 0 < short.sum() < len(short)
    np.testing.assert_allclose(unit.features[short], expected[short], rtol=1e-15, atol=0)
    assert (unit.value_range, unit.features.min()) == ((0.0, 1.0), 0.0)
    same = load("digits", unit=True).features
    assert np.isfinite(same).all()  # a corner of digits has no ink in any image
    assert not same[:, 0].any()


def test_real_targets_are_split_by_shuffling_alone() -> None:
    data = load("synthetic", records=31, dimension=2, kind="regression")
    parts = data.split(4)
    assert not data.classes
    assert sorted(np.concatenate([part.labels for part in parts])) == sorted(data.labels)
    assert len({part.records for part in parts}) == 2


def test_take_keeps_order_and_facts() -> None:
    digits = load("digits")
    few = digits.take([5, 2])
    assert np.array_equal(few.features, digits.features[[5, 2]])
    assert (few.image_shape, few.value_range) == (digits.image_shape, digits.value_range)
    for indices in ([], [360], [-1], [0.5], [[0]]):
        with pytest.raises(ScenarioError, match="indices"):
            digits.take(indices)


@pytest.mark.parametrize(
    ("name", "options", "field", "allowed"),
    [
        ("digit", {}, "name", "digits, "), ("breast-cancer", {}, "name", "breast_cancer, "),
        ("digits", {"clases": (0, 1)}, "option", "classes, "),
        ("digits", {"classes": (1, 1)}, "classes", "two of 0 to 9"),
        ("digits", {"classes": (0, 10)}, "classes", "<= 9"), ("digits", {"norm_bound": 0.0}, "norm_bound", "> 0"),
        ("synthetic", {"records": 0}, "records", ">= 1"), ("synthetic", {"dimension": 2.5}, "dimension", ">= 1"),
        ("synthetic", {"noise": -1.0}, "noise", ">= 0"), ("synthetic", {"kind": "regresion"}, "kind", "regression, "),
    ],
)  # fmt: skip
def test_bad_input_is_named_with_what_is_allowed(
    name: str, options: dict[str, Any], field: str, allowed: str
) -> None:
    error = refusal(load, name, **options)
    assert error.field == field
    assert allowed in error.allowed


def test_a_data_set_must_fit_together() -> None:
    with pytest.raises(ScenarioError, match="labels"):
        Dataset("bad", np.ones((3, 2)), np.ones(2))


def test_more_than_two_digits_are_numbered_in_their_order() -> None:
    _, labels = load_digits(return_X_y=True)
    data = load("digits", classes=(4, 1, 9, 0))
    assert np.array_equal(np.array([4, 1, 9, 0])[data.labels.astype(int)], labels[np.isin(labels, (4, 1, 9, 0))])
    assert (data.class_count, data.classes) == (4, True)
    assert load("digits", classes=range(10)).records == 1797
    alone = data.take(np.flatnonzero(data.labels == 1))  # all labels are 1, and yet there are four classes
    assert alone.class_count == 4
    assert np.array_equal(alone.class_numbers, alone.labels)


def test_data_say_how_many_classes_they_have() -> None:
    two = load("digits")
    assert two.class_count == 2
    assert np.array_equal(two.class_numbers, two.labels > 0)
    targets = load("sensors")
    assert (targets.class_count, targets.classes) == (0, False)
    with pytest.raises(ScenarioError, match="real targets have no classes"):
        _ = targets.class_numbers
    for labels, count in (([0.0, 3.0], 3), ([0.0, 1.5], 3), ([0.0, 1.0], 2), ([1.0, 1.0], 1)):
        with pytest.raises(ScenarioError):
            Dataset("bad", np.ones((2, 2)), labels, class_count=count)


def test_the_data_that_come_along_are_scikit_learns_to_the_last_bit():
    images, classes = load_digits(return_X_y=True)
    features, benign = load_breast_cancer(return_X_y=True)
    for name, skipped, expected in (("digits", 0, (images, classes)), ("breast_cancer", 1, (features, benign))):
        found = named._carried(f"{name}.csv.gz", skipped)
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
