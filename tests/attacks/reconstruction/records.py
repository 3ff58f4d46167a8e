"""Evidence about records that a test makes up: public models, random points, errors of a covariance."""

import numpy as np

from attacks.estimates import Evidence
from attacks.reconstruction import Case, Known
from netsim.models import NOTHING


def evidence_of(
    model, features, targets, points, *, stddev=0.0, rng=None, law="gaussian", penalty=NOTHING, roots=None
):
    """`features` (replicas, m, width), `points` (rounds, replicas, dimension); errors independent of deviation
    `stddev`, or root times white with roots (dimension, rounds, rounds)."""
    gradients = model.gradient(points, features, targets) + penalty.gradient(points)
    rounds, _, dimension = points.shape
    covariance = np.broadcast_to((stddev**2 * np.eye(rounds))[..., None], (rounds, rounds, dimension))
    if roots is not None:
        gradients = gradients + np.einsum("dts,srd->trd", roots, rng.standard_normal(gradients.shape))
        covariance = np.einsum("dts,dus->tud", roots, roots)
    elif stddev:
        white = (
            rng.standard_normal(gradients.shape) if law == "gaussian" else rng.laplace(size=gradients.shape) / 2**0.5
        )
        gradients = gradients + stddev * white
    return Evidence(0, tuple(range(rounds)), points, gradients, covariance, law)


def case_of(model, features, labels, points, *, penalty=NOTHING, known=None, **noise):
    """`labels` (replicas, m), or (m,) for all; `known` are further fields of `Known`."""
    targets = np.broadcast_to(model.targets(labels), (*features.shape[:2], model.outputs))
    evidence = evidence_of(model, features, targets, points, penalty=penalty, **noise)
    return Case(evidence, Known(model, features.shape[1], penalty, **(known or {})))
