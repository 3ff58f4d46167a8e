"""Mechanisms whose pure ε is known, scored by their exact loss ln p₁/p₀; each draws n trials of either world."""

import math

import numpy as np

Worlds = tuple[np.ndarray, np.ndarray]


def randomized_response(epsilon: float, n: int, rng: np.random.Generator) -> Worlds:
    """The true bit with probability e^ε/(1 + e^ε)."""
    truth = 1 / (1 + math.exp(-epsilon))
    return np.where(rng.random(n) < truth, -epsilon, epsilon), np.where(rng.random(n) < truth, epsilon, -epsilon)


def laplace(epsilon: float, n: int, rng: np.random.Generator) -> Worlds:
    """0 or 1 with Laplace noise of scale 1/ε."""
    zero, one = rng.laplace(0, 1 / epsilon, n), rng.laplace(1, 1 / epsilon, n)
    return epsilon * (np.abs(zero) - np.abs(zero - 1)), epsilon * (np.abs(one) - np.abs(one - 1))


def discrete_laplace(epsilon: float, n: int, rng: np.random.Generator) -> Worlds:
    """0 or 1 with the difference of two geometric variables: P(z) ∝ e^{−ε|z|}."""
    share = 1 - math.exp(-epsilon)
    zero, one = (rng.geometric(share, n) - rng.geometric(share, n) + world for world in (0, 1))
    return epsilon * (np.abs(zero) - np.abs(zero - 1.0)), epsilon * (np.abs(one) - np.abs(one - 1.0))


def two_laplaces(epsilon: float, n: int, rng: np.random.Generator) -> Worlds:
    """Two coordinates, of ε/2 each."""
    first, second = laplace(epsilon / 2, n, rng), laplace(epsilon / 2, n, rng)
    return first[0] + second[0], first[1] + second[1]


def gaussian(mu: float, n: int, rng: np.random.Generator) -> Worlds:
    """0 or μ with standard normal noise."""
    return mu * rng.normal(0, 1, n) - mu**2 / 2, mu * rng.normal(mu, 1, n) - mu**2 / 2
