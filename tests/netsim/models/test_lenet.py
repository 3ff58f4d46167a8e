"""LeNet against PyTorch's own modules, a convolution written out, differences of values and complex steps."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.models import stepped
from netsim.models.lenet import LeNet

HERE = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HERE, reason="PyTorch is not installed")


def drawn(model, lead=(), records=3, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.uniform(-0.5, 0.5, (*lead, model.dimension)),
        rng.random((*lead, records, model.width)),
        rng.dirichlet(np.ones(model.outputs), (*lead, records)),
    )


@pytest.mark.slow
def test_nothing_imports_pytorch_unless_asked():
    code = (
        "import sys, netsim.models.lenet, attacks.reconstruction, scenarios.cli.app; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("shape", [(8,), (8, 0), (8, 8, 3, 1)])
def test_shapes_that_are_no_image_are_refused(shape):
    with pytest.raises(ScenarioError, match="image_shape"):
        LeNet(shape, 10)


def written_out(model, theta, features):
    """The logits of one point, pixel by pixel."""
    start, images = 0, features.reshape(len(features), *model.image_shape[:2], -1).transpose(0, 3, 1, 2)
    for stride in (2, 2, 1):
        channels, (height, width) = images.shape[1], images.shape[2:]
        kernels = theta[start : start + 12 * channels * 25].reshape(12, channels, 5, 5)
        start += 12 * channels * 25 + 12
        wide = np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2)))
        images = np.array([
            [[[np.sum(k * one[:, i : i + 5, j : j + 5]) + b for j in range(0, width, stride)]
              for i in range(0, height, stride)]
             for k, b in zip(kernels, theta[start - 12 : start], strict=True)]
            for one in wide
        ])  # fmt: skip
        images = 1 / (1 + np.exp(-images))
    flat = images.reshape(len(images), -1)
    end = start + model.outputs * flat.shape[1]
    return flat @ theta[start:end].reshape(model.outputs, -1).T + theta[end:]


@pytest.mark.few("shape3")
@pytest.mark.parametrize("shape", [(8, 8), (7, 5), (6, 9, 2), (1, 1), (4, 3, 3)])
def test_logits_and_gradients_are_those_of_convolutions_written_out(shape):
    model = LeNet(shape, 3)
    theta, features, targets = drawn(model, records=2)
    assert np.allclose(model.scores(theta, features), written_out(model, theta, features), rtol=1e-12, atol=1e-13)
    moved = theta + 1e-20j * np.eye(model.dimension)[:: max(1, model.dimension // 200)]
    slopes = np.imag(model.value(moved, features, targets)) / 1e-20
    found = model.gradient(theta, features, targets)
    assert np.allclose(found[:: max(1, model.dimension // 200)], slopes, rtol=1e-11, atol=1e-15)


@needs_torch
def test_it_is_the_published_network():
    import torch
    from torch import nn

    model = LeNet((32, 32, 3), 10)
    act = nn.Sigmoid
    body = nn.Sequential(
        nn.Conv2d(3, 12, kernel_size=5, padding=5 // 2, stride=2), act(),
        nn.Conv2d(12, 12, kernel_size=5, padding=5 // 2, stride=2), act(),
        nn.Conv2d(12, 12, kernel_size=5, padding=5 // 2, stride=1), act(),
        nn.Flatten(), nn.Linear(768, 10),
    ).double()  # fmt: skip
    assert model.dimension == sum(p.numel() for p in body.parameters())
    theta, features, targets = drawn(model)
    torch.nn.utils.vector_to_parameters(torch.from_numpy(theta), body.parameters())
    images = torch.from_numpy(features.reshape(3, 32, 32, 3).transpose(0, 3, 1, 2).copy())
    loss = nn.functional.cross_entropy(body(images), torch.from_numpy(targets))
    assert np.isclose(model.value(theta, features, targets), loss.item(), rtol=1e-12)
    slopes = torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, tuple(body.parameters()))]).numpy()
    assert np.allclose(model.gradient(theta, features, targets), slopes, rtol=1e-10, atol=1e-13)
    assert np.allclose(model.scores(theta, features), body(images).detach().numpy(), rtol=1e-12)


def test_mixed_gradients_are_the_derivatives_of_input_gradients():
    model = LeNet((8, 6), 3)
    theta, features, targets = drawn(model)
    direction = np.random.default_rng(1).standard_normal(theta.shape)
    ours = model.mixed_gradient(theta, features, targets, direction)
    theirs = stepped(model, theta, features, targets, direction)
    assert all(np.allclose(a, b, rtol=1e-10, atol=1e-13) for a, b in zip(ours, theirs, strict=True))
    by_features, by_targets = model.input_gradient(theta, features, targets)
    step = 1e-6
    for array, slopes, moved in (
        (features, by_features, lambda a: model.value(theta, a, targets)),
        (targets, by_targets, lambda t: model.value(theta, features, t)),
    ):
        along = np.random.default_rng(2).standard_normal(array.shape)
        rise = (moved(array + step * along) - moved(array - step * along)) / (2 * step)
        assert np.isclose(rise, np.sum(slopes * along), rtol=1e-6)


def test_leading_axes_broadcast():
    model = LeNet((6, 6), 3)
    theta, features, targets = drawn(model, (2, 2))
    direction = np.random.default_rng(3).standard_normal((2, 1, model.dimension))
    for at in (theta, theta[0, 0], theta[:1]):
        gradients = model.gradient(at, features, targets[0, 0])
        mixed = model.mixed_gradient(at, features, targets[0, 0], direction)
        for i, j in np.ndindex(2, 2):
            alone = np.broadcast_to(at, theta.shape)[i, j], features[i, j], targets[0, 0]
            assert np.allclose(gradients[i, j], model.gradient(*alone), rtol=1e-10, atol=1e-13)
            expected = model.mixed_gradient(*alone, direction[i, 0])
            assert np.allclose(mixed[0][i, j], expected[0], rtol=1e-10, atol=1e-13)
            assert np.allclose(mixed[1][i, j], expected[1], rtol=1e-10, atol=1e-13)


def test_the_dense_layer_is_where_it_says_and_the_origin_is_added():
    model, plain = LeNet((8, 8), 4, seed=5), LeNet((8, 8), 4)
    theta, features, targets = drawn(plain)
    slopes = model.gradient(theta - model.origin, features, targets)
    assert np.allclose(slopes, plain.gradient(theta, features, targets), rtol=1e-9, atol=1e-13)
    shares = np.exp(plain.scores(theta, features))
    shares /= shares.sum(axis=-1, keepdims=True)
    assert np.allclose(model.last.offset(slopes), (shares - targets).mean(axis=0), rtol=1e-9)
    assert model.last.matrix(slopes).shape == (4, 12 * 2 * 2)
