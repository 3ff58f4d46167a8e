"""Structural similarity and the peak signal-to-noise ratio against another implementation and by hand."""

import numpy as np
import pytest

from attacks.score import psnr, ssim

SHAPES = ((8, 8), (28, 28), (32, 32, 3), (10, 12))
SCIKIT = (0.8608995430404699, 0.8074760075483814, 0.8224163241848181, 0.8035066580599883)
"""skimage.metrics.structural_similarity 0.26.0 of the pairs below, windows 5, 7, 7, 5, data_range 1."""


def pairs():
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        image = rng.random(shape)
        yield shape, image, np.clip(image + 0.2 * rng.standard_normal(shape), 0, 1)


def test_ssim_is_that_of_scikit_image():
    for (shape, image, other), expected in zip(pairs(), SCIKIT, strict=True):
        found = ssim(image.reshape(1, -1), other.reshape(1, -1), shape, 1.0)
        assert found[0] == pytest.approx(expected, abs=1e-12)


def test_ssim_of_equal_shifted_and_opposite_images():
    rng = np.random.default_rng(1)
    images = rng.random((3, 4, 64))
    assert ssim(images, images, (8, 8), 1.0) == pytest.approx(np.ones((3, 4)))
    assert np.all(ssim(images, 1 - images, (8, 8), 1.0) < 0)
    rows = ssim(images, images[:, ::-1], (8, 8), 1.0)
    assert rows[1, 2] == ssim(images[1, 2], images[1, 1], (8, 8), 1.0)  # one at a time, to the last bit


def test_psnr():
    np.testing.assert_allclose(psnr(np.array([1.0, 0.01, 0.0]), 1.0), [0.0, 20.0, np.inf])
    assert psnr(np.array(4.0), 2.0) == 0
