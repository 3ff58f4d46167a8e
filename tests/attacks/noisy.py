"""Evidence whose errors have exactly the law that it states."""

import numpy as np

from attacks.estimates import Evidence
from netsim.models import NOTHING


def noisy_evidence(model, points, features, targets, covariance, law, rng, penalty=NOTHING):
    """Of one agent's records (m, width), or one set for each replica (replicas, m, width); covariance (T, T, d)."""
    gradients = model.gradient(points, features, targets) + penalty.gradient(points)
    if law == "laplace":
        scale = np.sqrt(np.einsum("ttd->td", covariance) / 2)
        errors = rng.laplace(size=gradients.shape) * scale[:, None]
    else:
        roots = np.linalg.cholesky(np.moveaxis(covariance, -1, 0) + 1e-300 * np.eye(len(gradients)))
        errors = np.einsum("dts,srd->trd", roots, rng.standard_normal(gradients.shape))
    return Evidence(0, tuple(range(len(gradients))), points, gradients + errors, covariance, law)


def white_noise(stddev, rounds, dimension):
    """The covariance of independent errors, (rounds, rounds, dimension)."""
    return np.repeat(stddev**2 * np.eye(rounds)[..., None], dimension, axis=-1)


def correlated(stddev, rounds, dimension, rng):
    """Another covariance between rounds for each coordinate."""
    mixing = 0.4 * rng.standard_normal((dimension, rounds, rounds)) + np.eye(rounds)
    return stddev**2 * np.einsum("dts,dus->tud", mixing, mixing)
