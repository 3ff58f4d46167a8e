"""The published sets themselves, where `NETSIM_DATA` has them."""

import os
from typing import Any

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.problems import load

SETS = [
    ("mnist", "train", 5923, 6742, 784), ("mnist", "test", 980, 1135, 784),
    ("fashion_mnist", "train", 6000, 6000, 784), ("fashion_mnist", "test", 1000, 1000, 784),
    ("cifar10_cat_dog", "train", 5000, 5000, 3072), ("cifar10_cat_dog", "test", 1000, 1000, 3072),
    ("ijcnn1", "train", 45137, 4853, 22), ("adult", "train", 22654, 7508, 104), ("adult", "test", 11360, 3700, 104),
]  # fmt: skip


def there(name: str, **options: Any):
    if "NETSIM_DATA" not in os.environ:
        pytest.skip("NETSIM_DATA names no folder")
    try:
        return load(name, **options)
    except ScenarioError as error:
        if "not in the data folder" not in error.problem:
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize(("name", "part", "negative", "positive", "dimension"), SETS)
def test_counts_are_those_published(name: str, part: str, negative: int, positive: int, dimension: int) -> None:
    data = there(name, part=part)
    assert ((data.labels == -1).sum(), (data.labels == 1).sum()) == (negative, positive)
    assert data.dimension == dimension
    if data.value_range is not None:
        assert data.value_range == (data.features.min(), data.features.max())


def test_covtype_has_two_types_of_wilderness_and_soil() -> None:
    data = there("covtype")
    assert data.dimension == 54
    assert data.records == 581_012 or "subset" in data.note
    assert np.array_equal(data.features[:, 10:14].sum(axis=1), np.ones(data.records))  # one wilderness area
    assert np.array_equal(data.features[:, 14:].sum(axis=1), np.ones(data.records))  # one type of soil
