"""Recovery of one record from the gradients of a dense layer with an intercept alone.

The layer's slopes s are its intercept's gradient, and the gradient of its matrix is s ⊗ a, whatever comes after it: a
is a least squares problem with one unknown per feature,

    a = Σ_t G_Wᵀ G_b / Σ_t ‖G_b‖².

With noise of deviation σ in every coordinate its error is about σ√(1 + ‖a‖²/n)/‖G_b‖. `MeanOfRatios` divides row by
row, G_W[c]/G_b[c], and takes the mean: also exact without noise, but a row with a slope near 0 is noise over nothing
(the ratio of Gaussians has no mean), and it ruins the average. It is here to be compared with.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from attacks.estimates import Evidence
from attacks.reconstruction.attack import Case, Needs, Reconstruction, check_all
from attacks.reconstruction.residuals import Whitener, misfit
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.models import MLP, Softmax

NEGLIGIBLE = 1e-12
"""Relative to the largest: a slope so small is rounding."""


@dataclass(frozen=True)
class DenseLayerRecord:
    """The features of one record from the first layer of a softmax regression or a dense network, by least squares.

    The label is the one whose output's slope is negative in the last layer.
    """

    name = "dense-layer"
    source = "Geiping et al. 2020, Proposition 3.1; least squares over rows and rounds: this project"
    needs = Needs(models=("softmax", "mlp"), one_record=True, lengths=False)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:  # noqa: ARG002
        check_all(self, cases)
        return [_reconstructed(self.name, case, _least_squares) for case in cases]


@dataclass(frozen=True)
class MeanOfRatios:
    """The same from the mean of G_W[c]/G_b[c] over rows and rounds. A straw man under noise."""

    name = "mean-of-ratios"
    source = "a formula that reimplementations of Phong et al. 2017 use"
    needs = Needs(models=("softmax", "mlp"), one_record=True, lengths=False)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:  # noqa: ARG002
        check_all(self, cases)
        return [_reconstructed(self.name, case, _mean_of_ratios) for case in cases]


def _reconstructed(name: str, case: Case, rule: Callable[[Array, Array], Array]) -> Reconstruction:
    evidence, known = case
    model = known.model
    if not isinstance(model, Softmax | MLP) or not model.layers[0].bias:
        raise AttackError(f"{name} needs a first layer with an intercept")
    gradients = evidence.without(known.penalty)
    white = np.einsum("st,trd->rsd", Whitener.of(evidence).between, gradients)  # rows of one deviation, uncorrelated
    first, last = model.layers[0], model.layers[-1]
    matrix, slopes = first.matrix(white), first.offset(white)
    rows = white.shape[0], -1
    features = rule(matrix.reshape(*rows, model.width), slopes.reshape(rows))[:, None]
    labels = (
        np.argmin(np.sum(last.offset(gradients) * _weights(evidence), axis=0), axis=-1).astype(np.float64)[:, None]
        if known.labels is None
        else known.labels
    )
    targets = np.broadcast_to(model.targets(labels), (evidence.replicas, 1, model.outputs))
    fit = misfit(case, features, targets).squared
    return Reconstruction(
        name, evidence.agent, features, targets, fit, np.ones(evidence.replicas, np.bool_), evidence.queries
    )


def _weights(evidence: Evidence) -> Array:
    """1/variance of each round, (rounds, 1, 1); equal ones where estimates are exact."""
    variance = np.mean(evidence.stddev**2, axis=-1)[:, None, None]
    return np.ones_like(variance) if evidence.exact else 1 / np.maximum(variance, NEGLIGIBLE * np.max(variance))


def _least_squares(matrix: Array, slopes: Array) -> Array:
    """Least-squares record of matrix (rows, n, width) and slopes (rows, n)."""
    size = np.einsum("rn,rn->r", slopes, slopes)
    return np.einsum("rn,rnp->rp", slopes, matrix) / np.where(size > 0, size, np.inf)[:, None]


def _mean_of_ratios(matrix: Array, slopes: Array) -> Array:
    sound = np.abs(slopes) > NEGLIGIBLE * np.max(np.abs(slopes), axis=-1, keepdims=True)
    ratios = np.where(sound[..., None], matrix / np.where(sound, slopes, 1.0)[..., None], 0.0)
    return np.sum(ratios, axis=-2) / np.maximum(np.sum(sound, axis=-1), 1)[:, None]
