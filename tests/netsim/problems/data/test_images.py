"""Image sets, from tiny files in the published layouts."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.problems import Cache, load
from tests.netsim.problems.data import written


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
@pytest.mark.parametrize("classes", [(7, 3), (7, 3, 5)])
def test_two_classes_become_signs_more_are_numbered_and_pixels_are_fractions(
    tmp_path: Path, name: str, classes: tuple[int, ...]
) -> None:
    pixels, labels = written.images()
    written.write(tmp_path / name, written.mnist_files(pixels, labels))
    data = load(name, cache=Cache(tmp_path), classes=classes)
    chosen = np.flatnonzero(np.isin(labels, classes))
    assert np.array_equal(data.features, pixels[chosen].reshape(len(chosen), 784) / 255)
    numbers = data.labels > 0 if len(classes) == 2 else data.labels
    assert np.array_equal(np.array(classes)[numbers.astype(int)], labels[chosen])
    assert set(data.labels) == ({-1.0, 1.0} if len(classes) == 2 else {0.0, 1.0, 2.0})
    assert data.class_count == len(classes)
    assert (data.image_shape, data.value_range, data.part, data.note) == ((28, 28), (0.0, 1.0), "train", "")
    assert np.array_equal(load(name, cache=Cache(tmp_path)).labels, [-1, 1] * 3)


def test_the_test_part_is_another_file(tmp_path: Path) -> None:
    written.write(tmp_path / "mnist", written.mnist_files(*written.images()))
    with pytest.raises(ScenarioError, match="t10k-images"):
        load("mnist", cache=Cache(tmp_path), part="test")
    pixels, labels = written.images(20, seed=1)
    written.write(tmp_path / "mnist", written.mnist_files(pixels, labels, "t10k"))
    held_out = load("mnist", cache=Cache(tmp_path), part="test")
    assert held_out.part == "test"
    assert np.array_equal(held_out.features, pixels[labels < 2].reshape(-1, 784) / 255)


def test_some_records_are_drawn_by_the_seed_and_keep_their_order(tmp_path: Path) -> None:
    written.write(tmp_path / "mnist", written.mnist_files(*written.images(200)))
    cache = Cache(tmp_path)
    whole = load("mnist", cache=cache)
    drawn = [load("mnist", cache=cache, records=15, seed=seed) for seed in (0, 0, 1)]
    places = [[int(np.flatnonzero((whole.features == row).all(axis=1))[0]) for row in d.features] for d in drawn]
    assert places[0] == places[1] == sorted(set(places[0]))
    assert places[0] != places[2]
    assert [len(p) for p in places] == [15, 15, 15]
    assert set(places[0]) > set(_places(whole, load("mnist", cache=cache, records=9)))  # the first of one shuffle
    with pytest.raises(ScenarioError, match=r"records = 41: out of range.*<= 40"):
        load("mnist", cache=cache, records=41)


def _places(whole, some):
    return [int(np.flatnonzero((whole.features == row).all(axis=1))[0]) for row in some.features]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda raw: raw[:-3], "holds 23517 values, not 23520"),
        (lambda raw: b"\0\0\x0d" + raw[3:], "is no IDX file of bytes"),
        (lambda raw: raw[:7], "is no IDX file of bytes"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, spoil, said: str) -> None:
    files = written.mnist_files(*written.images())
    name = "train-images-idx3-ubyte.gz"
    files[name] = gzip.compress(spoil(gzip.decompress(files[name])))
    written.write(tmp_path / "mnist", files)
    with pytest.raises(ScenarioError, match=said) as caught:
        load("mnist", cache=Cache(tmp_path))
    assert name in caught.value.problem


@pytest.mark.parametrize("cut", [5, 100])
def test_a_truncated_archive_is_named(tmp_path: Path, cut: int) -> None:
    files = {name: content[:cut] for name, content in written.mnist_files(*written.images()).items()}
    written.write(tmp_path / "mnist", files)
    with pytest.raises(ScenarioError, match="cannot be read"):
        load("mnist", cache=Cache(tmp_path))


def test_as_many_labels_as_images(tmp_path: Path) -> None:
    (pixels, labels), files = written.images(), {}
    files |= written.mnist_files(pixels, labels[:-1])
    written.write(tmp_path / "mnist", files)
    with pytest.raises(ScenarioError, match="29 labels for 30 images"):
        load("mnist", cache=Cache(tmp_path))


def test_cats_and_dogs_of_the_binary_archive(tmp_path: Path) -> None:
    content, rows = written.cifar_binary()
    written.write(tmp_path / "cifar10", {"cifar-10-binary.tar.gz": content})
    data = load("cifar10_cat_dog", cache=Cache(tmp_path))
    assert (data.records, data.dimension, data.image_shape, data.note) == (10, 3072, (32, 32, 3), "")
    assert np.array_equal(data.labels, [-1, 1] * 5)
    second_cat = rows["data_batch_2.bin"][3, 1:]
    image = data.features[2].reshape(32, 32, 3) * 255
    for y, x, colour in ((0, 0, 0), (31, 5, 1), (7, 30, 2)):
        assert image[y, x, colour] == pytest.approx(second_cat[colour * 1024 + y * 32 + x], abs=1e-9)
    held_out = load("cifar10_cat_dog", cache=Cache(tmp_path), part="test")
    assert (held_out.records, held_out.part) == (2, "test")


def test_cats_and_dogs_of_jpegs_say_that_they_are_not_exact(tmp_path: Path) -> None:
    written.write(tmp_path / "cifar10", {"cifar10_cat_dog_jpegs.tar.gz": written.cifar_jpegs()})
    data = load("cifar10_cat_dog", cache=Cache(tmp_path))
    assert np.array_equal(data.labels, [-1, -1, -1, 1, 1])
    assert "JPEG" in data.note
    image = data.features[3].reshape(32, 32, 3) * 255
    np.testing.assert_allclose(image[16, 16], [200, 200, 55], atol=3)
    held_out = load("cifar10_cat_dog", cache=Cache(tmp_path), part="test")
    np.testing.assert_allclose(held_out.features[:, 0] * 255, [40, 220], atol=3)


def test_the_exact_archive_goes_first(tmp_path: Path) -> None:
    content, _ = written.cifar_binary()
    files = {"cifar-10-binary.tar.gz": content, "cifar10_cat_dog_jpegs.tar.gz": written.cifar_jpegs()}
    written.write(tmp_path / "cifar10", files)
    assert load("cifar10_cat_dog", cache=Cache(tmp_path)).note == ""
    written.write(tmp_path / "cifar10", {"cifar-10-binary.tar.gz": content[:200]})
    with pytest.raises(ScenarioError, match="cannot be read"):
        load("cifar10_cat_dog", cache=Cache(tmp_path))


def test_one_class_against_the_others(tmp_path: Path) -> None:
    pixels, labels = written.images()
    written.write(tmp_path / "mnist", written.mnist_files(pixels, labels))
    cache = Cache(tmp_path)
    data = load("mnist", cache=cache, classes=(7, 3, 5), positive=3)
    chosen = labels[np.isin(labels, (7, 3, 5))]
    assert np.array_equal(data.labels, np.where(chosen == 3, 1.0, -1.0))
    assert data.class_count == 2
    with pytest.raises(ScenarioError, match=r"positive = 4: not one of the classes"):
        load("mnist", cache=cache, positive=4)
