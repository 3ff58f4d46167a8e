"""ijcnn1, covtype and Adult, from tiny files in the published layouts."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.problems import Cache, LogisticLoss, load
from tests.netsim.problems.data import written


def table(seed: int = 0, records: int = 8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(records, 22)) * rng.integers(0, 2, (records, 22))
    features[:, -1] = 0  # a LIBSVM file says nothing of it
    return features, rng.choice([-1.0, 1.0], records)


def test_ijcnn1_as_libsvm_has_it(tmp_path: Path) -> None:
    (features, labels), held_out = table(), table(1)
    files = {"ijcnn1.bz2": written.svmlight(features, labels), "ijcnn1.t.bz2": written.svmlight(*held_out)}
    written.write(tmp_path / "ijcnn1", files)
    data = load("ijcnn1", cache=Cache(tmp_path))
    assert np.array_equal(data.features, features)
    assert np.array_equal(data.labels, labels)
    assert data.note == ""
    assert np.array_equal(load("ijcnn1", cache=Cache(tmp_path), part="test").features, held_out[0])


def test_the_rebuilt_ijcnn1_says_so_and_has_no_test_part(tmp_path: Path) -> None:
    features, labels = table()
    (tmp_path / "ijcnn1").mkdir()
    name = tmp_path / "ijcnn1" / "ijcnn1_22_onehot_RECONSTRUCTED.npz"
    np.savez_compressed(name, X=features, y=labels.astype(np.int8))
    data = load("ijcnn1", cache=Cache(tmp_path))
    assert np.array_equal(data.features, features)
    assert np.array_equal(data.labels, labels)
    assert "rebuilt" in data.note
    assert "permutation" in data.note
    with pytest.raises(ScenarioError, match="not in the data folder"):
        load("ijcnn1", cache=Cache(tmp_path), part="test")
    assert data.take([0]).note == data.note == data.split(2)[1].note


def test_covtype_as_published_is_scaled_to_the_unit_interval(tmp_path: Path) -> None:
    rows = written.covtype_rows()
    written.write(tmp_path / "covtype", {"covtype.data.gz": gzip.compress(written.comma(rows).encode())})
    data = load("covtype", cache=Cache(tmp_path))
    low, high = rows[:, :54].min(axis=0), rows[:, :54].max(axis=0)
    np.testing.assert_allclose(data.features, (rows[:, :54] - low) / np.maximum(high - low, 1), atol=1e-15)
    assert np.array_equal(data.labels == 1, rows[:, 54] == 2)
    assert (data.value_range, data.note) == ((0.0, 1.0), "")
    assert (data.features.min(), data.features.max()) == (0.0, 1.0)


def test_a_scaled_subset_of_covtype_says_that_it_is_one(tmp_path: Path) -> None:
    rows = written.covtype_rows()
    rows = np.hstack([rows[:, :10] / 4000, rows[:, 10:]])
    content = ",".join(f"c{k}" for k in range(55)) + "\n" + written.comma(rows)
    written.write(tmp_path / "covtype", {"covtype_ramp_test.csv.gz": gzip.compress(content.encode())})
    data = load("covtype", cache=Cache(tmp_path), records=5)
    assert (data.records, data.dimension) == (5, 54)
    assert "12 of 581,012 records" in data.note
    with pytest.raises(ScenarioError, match="option"):
        load("covtype", cache=Cache(tmp_path), part="test")


@pytest.fixture
def census(tmp_path: Path) -> Cache:
    files = {"adult.data": written.ADULT.encode(), "adult.test": written.ADULT_TEST.encode()}
    written.write(tmp_path / "adult", files)
    return Cache(tmp_path)


def test_adult_rows_are_whole_and_their_columns_in_the_unit_interval(census: Cache) -> None:
    data = load("adult", cache=census)
    assert (data.records, data.value_range) == (3, (0.0, 1.0))
    assert np.array_equal(data.labels, [-1, 1, 1])
    np.testing.assert_allclose(data.features[:, 0], [(39 - 28) / 22, 1, 0])  # age
    np.testing.assert_allclose(data.features[:, 3], [1, 0, 0])  # capital gain
    assert not data.features[:, 4].any()  # capital loss: the same everywhere
    work = data.features[:, 6:8]  # Private, State-gov
    assert np.array_equal(work, [[0, 1], [1, 0], [1, 0]])
    assert np.array_equal(data.features[:, 6:].sum(axis=1), [8, 8, 8])  # one category of each of eight
    assert "dropped" in data.note


def test_the_test_part_is_scaled_and_coded_by_the_training_part(census: Cache) -> None:
    whole, data = load("adult", cache=census), load("adult", cache=census, part="test")
    assert (data.records, data.dimension, data.part) == (2, whole.dimension, "test")
    assert np.array_equal(data.labels, [-1, 1])
    assert np.array_equal(data.features[:, 0], [0, 1])  # ages 25 and 99 beyond the ends of 28 to 50
    assert np.array_equal(data.features[:, 6:].sum(axis=1), [7, 8])  # nobody in training left school in the 11th


def test_adult_standardized(census: Cache) -> None:
    data = load("adult", cache=census, numeric="standardized")
    np.testing.assert_allclose(data.features[:, :4].mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(data.features[:, :4].std(axis=0), 1)
    assert data.value_range is None
    with pytest.raises(ScenarioError, match="standardized, unit"):
        load("adult", cache=census, numeric="standard")


def test_adult_as_fourteen_numbers_with_labels_zero_and_one(census: Cache) -> None:
    data, signs = load("adult", cache=census, encoding="codes", answers="zero_one"), load("adult", cache=census)
    assert data.dimension == 14
    np.testing.assert_allclose(data.features[0, [0, 1, 3, 10]], [(39 - 28) / 22, 1, 0, 1])  # age, class, school, gain
    assert np.array_equal(signs.labels, [-1, 1, 1])
    assert not data.features[1:].any()  # label 0: the loss is log 2 at any x
    x = np.arange(14.0)[None] / 10
    loss, z = LogisticLoss(data.features, data.labels), data.features[0]
    expected = (np.log1p(np.exp(-x[0] @ z)) + 2 * np.log(2)) / 3
    np.testing.assert_allclose(loss.value(x), expected)
    test = load("adult", cache=census, part="test", encoding="codes")
    assert np.array_equal(test.labels, [-1, 1])
    assert test.features.min() >= 0
    assert test.features.max() <= 1
    with pytest.raises(ScenarioError, match="codes, one_hot"):
        load("adult", cache=census, encoding="numbers")


def test_a_row_that_is_none_is_named_with_its_line(tmp_path: Path) -> None:
    written.write(tmp_path / "adult", {"adult.data": (written.ADULT + "1, 2, 3\n").encode()})
    with pytest.raises(ScenarioError, match="line 6"):
        load("adult", cache=Cache(tmp_path))


@pytest.mark.parametrize(("name", "path"), [("ijcnn1", "ijcnn1/ijcnn1.bz2"), ("covtype", "covtype/covtype.data.gz")])
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, path: str) -> None:
    written.write((tmp_path / path).parent, {Path(path).name: b"no such table"})
    with pytest.raises(ScenarioError, match="cannot be read") as caught:
        load(name, cache=Cache(tmp_path))
    assert Path(path).name in caught.value.problem
