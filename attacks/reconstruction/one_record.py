"""One record from its gradients: closed forms of least squares, logistic and softmax losses, or the best attack.

- *Least squares*, f = c/2·(aᵀθ − t)²: ∇f = c(aᵀθ − t)a. Two gradients at points that differ along a give (a, t) up to
  a joint sign: (−a, −t) has the same gradients everywhere.
- *Logistic*: ∇f = (σ(aᵀθ) − τ)a. One gradient gives it: its length solves one equation (`rank_one`). With the other
  label −a has the same gradients everywhere, so that the sign is the attacker's knowledge of features, or open.
- *Softmax*: ∇f = (softmax(Wa + b) − e_y) ⊗ (a, 1). With an intercept any gradient gives a, and the label is the one
  output with a negative slope. Without one a is known up to its length and the length follows from the slopes.
- *A dense layer with an intercept*: its slopes give the features, whatever comes after it (`DenseLayerRecord`).

With many rounds all are used, weighted by the inverse of their covariance between rounds; under noise the closed form
is the start of the maximum likelihood estimate of the exact model. Two records that fit alike are distinguished by
the range of values or by the prior; where neither does, `open` names it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attacks.reconstruction.attack import Attack, Case, Needs, Reconstruction, Whitener, check_all, misfit
from attacks.reconstruction.map_estimate import MODELS, Product, minimize, objective
from attacks.reconstruction.posterior import PosteriorMode
from attacks.reconstruction.record_hypotheses import (
    AS_GOOD,
    MIRRORED,
    TIED,
    Hypotheses,
    implausibility,
    rank_one,
    sign_is_open,
)
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.models import MLP, Linear, Softmax

TWO_LENGTHS = "its length: at these points two of them give the same gradients"
NO_LENGTH = "its length and target: the points do not move along the record, or their noise hides it"

NEGLIGIBLE = 1e-12
"""Relative to the largest: a slope so small is rounding."""


class _ClosedForm:
    """The closed form of one model; subclasses differ in what they need."""

    name: str
    source: str
    needs: Needs

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:  # noqa: ARG002
        check_all(self, cases)
        return [self._one(case) for case in cases]

    def _one(self, case: Case) -> Reconstruction:
        evidence, known = case
        linear, width = isinstance(known.model, Linear), known.model.width
        product = Product.of([case])
        hypotheses = Hypotheses.of(product, replace(known, prior=None))
        found = rank_one(product, hypotheses)
        start = found.record
        if linear:  # both signs
            start = np.concatenate([start, -start], axis=1)
            found = found._replace(value=np.tile(found.value, (1, 2)), twofold=np.tile(found.twofold, (1, 2)))
            start = np.where(product.free, start, hypotheses.prior.mean)
        record, value, converged = start, found.value, np.ones(found.value.shape, np.bool_)
        if not evidence.exact:
            wide = hypotheses.repeated(start.shape[1] // hypotheses.choices)
            mode = minimize(objective(product, wide.targets, wide.prior), start)
            record, value, converged = mode.record, 2 * mode.value, mode.converged
        size = np.linalg.norm(product.gradients.reshape(len(value), -1), axis=-1) / product.unit
        slack = (AS_GOOD * size) ** 2 if evidence.exact else np.full(len(value), TIED)
        alike = value <= np.min(value, axis=1, keepdims=True) + slack[:, None]
        far = implausibility(known, record[..., :width], evidence.exact)
        chosen = np.argmin(np.where(alike, far, np.inf), axis=1)
        rows = np.arange(evidence.replicas)
        best = record[rows, chosen]
        label = best[:, -1] if linear else known.model.labels(hypotheses.targets[:, None])[:, 0][chosen]
        unsure = sign_is_open(known, best[:, :width], label, evidence.exact)
        left_open = MIRRORED if np.any((alike.sum(axis=1) > 1) & unsure) else ""
        if np.any(found.twofold[rows, chosen]):
            left_open = NO_LENGTH if linear else TWO_LENGTHS
        targets = best[:, None, width:] if linear else hypotheses.targets[chosen][:, None]
        fit, settled = value[rows, chosen], converged[rows, chosen]
        return Reconstruction.of(
            self.name, evidence, best[:, None, :width], targets, fit, settled, left_open=left_open
        )


@dataclass(frozen=True)
class LeastSquaresRecord(_ClosedForm):
    """Features and target of one record of least squares."""

    name = "least-squares-record"
    source = "folklore; stated with its sign in this project"
    needs = Needs(models=("linear",), one_record=True, rounds=2)


@dataclass(frozen=True)
class LogisticRecord(_ClosedForm):
    """Features and label of one record of a logistic loss."""

    name = "logistic-record"
    source = "this project; the direction is folklore"
    needs = Needs(models=("logistic",), one_record=True)


@dataclass(frozen=True)
class SoftmaxRecord(_ClosedForm):
    """Features and label of one record of softmax regression, with or without an intercept."""

    name = "softmax-record"
    source = "Geiping et al. 2020, Proposition 3.1, of one layer; without an intercept this project"
    needs = Needs(models=("softmax",), one_record=True)


class _DenseLayer(ABC):
    """A rule from the first layer's matrix (rows, n, width) and slopes (rows, n) to features (rows, width).

    The label is the one whose output's slope is negative in the last layer.
    """

    name: str
    source: str
    needs = Needs(models=("softmax", "mlp"), one_record=True, lengths=False)

    @staticmethod
    @abstractmethod
    def rule(matrix: Array, slopes: Array) -> Array: ...

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:  # noqa: ARG002
        check_all(self, cases)
        return [self._one(case) for case in cases]

    def _one(self, case: Case) -> Reconstruction:
        evidence, known = case
        model = known.model
        if not isinstance(model, Softmax | MLP) or not model.layers[0].bias:
            raise AttackError(f"{self.name} needs a first layer with an intercept")
        gradients = evidence.without(known.penalty)
        white = np.einsum("st,trd->rsd", Whitener.of(evidence).between, gradients)  # of one deviation, uncorrelated
        first, last = model.layers[0], model.layers[-1]
        rows = white.shape[0], -1
        features = self.rule(first.matrix(white).reshape(*rows, model.width), first.offset(white).reshape(rows))
        labels = known.labels
        if labels is None:
            variance = np.mean(evidence.stddev**2, axis=-1)[:, None, None]
            least = NEGLIGIBLE * np.max(variance)
            weights = np.ones_like(variance) if evidence.exact else 1 / np.maximum(variance, least)
            slopes = np.sum(last.offset(gradients) * weights, axis=0)
            labels = np.argmin(slopes, axis=-1).astype(np.float64)[:, None]
        targets = np.broadcast_to(model.targets(labels), (evidence.replicas, 1, model.outputs))
        fit = misfit(case, features[:, None], targets).squared
        return Reconstruction.of(self.name, evidence, features[:, None], targets, fit)


@dataclass(frozen=True)
class DenseLayerRecord(_DenseLayer):
    """Features of one record from the gradients of a dense layer with an intercept alone, by least squares.

    The layer, the first of a softmax regression or a dense network, has slopes s, its intercept's gradient; the
    gradient of its matrix is s ⊗ a, whatever comes after it: a is a least squares problem with one unknown per
    feature,

        a = Σ_t G_Wᵀ G_b / Σ_t ‖G_b‖².

    With noise of deviation σ in every coordinate its error is about σ√(1 + ‖a‖²/n)/‖G_b‖.
    """

    name = "dense-layer"
    source = "Geiping et al. 2020, Proposition 3.1; least squares over rows and rounds: this project"

    @staticmethod
    def rule(matrix: Array, slopes: Array) -> Array:
        size = np.einsum("rn,rn->r", slopes, slopes)
        return np.einsum("rn,rnp->rp", slopes, matrix) / np.where(size > 0, size, np.inf)[:, None]


@dataclass(frozen=True)
class MeanOfRatios(_DenseLayer):
    """Features of one record from a dense layer with an intercept, by the mean of the ratios G_W[c]/G_b[c].

    The mean is over rows and rounds. Also exact without noise, but a row with a slope near 0 is noise over nothing
    (the ratio of Gaussians has no mean), and it ruins the average. It is here to be compared with.
    """

    name = "mean-of-ratios"
    source = "a formula that reimplementations of Phong et al. 2017 use"

    @staticmethod
    def rule(matrix: Array, slopes: Array) -> Array:
        sound = np.abs(slopes) > NEGLIGIBLE * np.max(np.abs(slopes), axis=-1, keepdims=True)
        ratios = np.where(sound[..., None], matrix / np.where(sound, slopes, 1.0)[..., None], 0.0)
        return np.sum(ratios, axis=-2) / np.maximum(np.sum(sound, axis=-1), 1)[:, None]


_CLOSED: dict[str, Attack] = {
    "linear": LeastSquaresRecord(), "logistic": LogisticRecord(), "softmax": SoftmaxRecord(),
}  # fmt: skip


@dataclass(frozen=True)
class OneRecord:
    """One record of a linear, logistic or softmax model: its closed form, or under noise the best attack.

    Where some estimates are exact, these alone are used.
    """

    name = "one-record"
    source = "this project"
    needs = Needs(models=MODELS, one_record=True, prior=True)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:
        check_all(self, cases)
        found: dict[int, Reconstruction] = {}
        for k, (evidence, known) in enumerate(cases):
            attack = _CLOSED[known.model.name]
            exact = np.flatnonzero(np.all(evidence.stddev == 0, axis=-1) | evidence.exact).tolist()
            if len(exact) >= attack.needs.rounds:
                found[k] = attack.reconstruct([Case(evidence.only(exact), known)], rng)[0]
        noisy = [k for k in range(len(cases)) if k not in found]
        found |= zip(noisy, PosteriorMode(spread=False).reconstruct([cases[k] for k in noisy], rng), strict=True)
        return [found[k] for k in range(len(cases))]
