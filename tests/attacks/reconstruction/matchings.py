"""Cases whose truth the test keeps for itself."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from attacks.estimates import Evidence
from attacks.reconstruction import Case, Known
from netsim.models import NOTHING
from netsim.problems import load

DIGITS = load("digits", classes=tuple(range(10)))


class Secret(NamedTuple):
    """A case, and what is behind it."""

    case: Case
    features: np.ndarray
    labels: np.ndarray


def digits(*classes, skip=0):
    """One image of each class, and the labels."""
    rows = [np.flatnonzero(DIGITS.labels == c)[skip] for c in classes]
    return DIGITS.features[rows], np.array(classes, dtype=float)


def point(model, seed, rounds=1):
    """As a new network's parameters are drawn, U(±1/√inputs) of the first layer."""
    return np.random.default_rng(seed).uniform(-1, 1, (rounds, model.dimension)) / np.sqrt(model.width)


def secret(model, features, labels, seed=0, rounds=1, replicas=1, stddev=0.0, penalty=NOTHING, agent=0, **known):
    """Gradients of these records at random points, with Gaussian errors where there is a deviation."""
    points = np.repeat(point(model, seed, rounds)[:, None], replicas, axis=1)
    gradients = model.gradient(points, features, model.targets(labels)) + penalty.gradient(points)
    gradients = gradients + stddev * np.random.default_rng(seed + 99).standard_normal(gradients.shape)
    covariance = np.repeat(stddev**2 * np.eye(rounds)[..., None], model.dimension, axis=-1)
    evidence = Evidence(agent, tuple(range(3, 3 + rounds)), points, gradients, covariance)
    return Secret(Case(evidence, Known(model, len(features), penalty, **known)), features, labels)


def psnr(found, truth):
    """Of records in [0, 1], matched; the worst of the replicas."""
    worst = np.inf
    for features in found:
        costs = np.mean((features[:, None] - truth[None]) ** 2, axis=-1)
        i, j = linear_sum_assignment(costs)
        worst = min(worst, -10 * np.log10(max(costs[i, j].mean(), 1e-30)))
    return worst
