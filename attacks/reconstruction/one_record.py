"""One record from its gradients: closed forms of least squares, logistic and softmax losses, or the best attack.

- *Least squares*, f = c/2·(aᵀθ − t)²: ∇f = c(aᵀθ − t)a. Two gradients at points that differ along a give (a, t) up to
  a joint sign: (−a, −t) has the same gradients everywhere.
- *Logistic*: ∇f = (σ(aᵀθ) − τ)a. One gradient gives it: its length solves one equation (`rank_one`). With the other
  label −a has the same gradients everywhere, so that the sign is the attacker's knowledge of features, or open.
- *Softmax*: ∇f = (softmax(Wa + b) − e_y) ⊗ (a, 1). With an intercept any gradient gives a, and the label is the one
  output with a negative slope. Without one a is known up to its length and the length follows from the slopes.

With many rounds all are used, weighted by the inverse of their covariance between rounds; under noise the closed form
is the start of the maximum likelihood estimate of the exact model. Two records that fit alike are distinguished by
the range of values or by the prior; where neither does, `open` names it.
"""

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attacks.reconstruction.attack import Attack, Case, Known, Needs, Reconstruction, check_all
from attacks.reconstruction.map_estimate import MODELS, Positions, Product, minimize, objective
from attacks.reconstruction.posterior import PosteriorMode
from attacks.reconstruction.record_hypotheses import (
    AS_GOOD,
    MIRRORED,
    OUTSIDE,
    TIED,
    Hypotheses,
    RankOne,
    one_signed,
    outside,
    pooled,
    rank_one,
    sign_is_open,
)
from netsim.arrays import Array, Mask
from netsim.models import Linear

TWO_LENGTHS = "its length: at these points two of them give the same gradients"
NO_LENGTH = "its length and target: the points do not move along the record, or their noise hides it"

IMPOSSIBLE = 1e6
"""In units of −ln p: what is outside a range, where nothing has errors."""


class _ClosedForm(ABC):
    """The closed form of one model; subclasses differ in what they need."""

    name: str
    source: str
    needs: Needs

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:  # noqa: ARG002
        check_all(self, cases)
        return [_reconstructed(self.name, case) for case in cases]


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


def _reconstructed(name: str, case: Case) -> Reconstruction:
    evidence, known = case
    product = Product.of([case])
    hypotheses = Hypotheses.of(product, replace(known, prior=None))
    found = rank_one(product, hypotheses)
    linear = isinstance(known.model, Linear)
    if linear:
        found = _both_signs(found)
        start = np.where(product.free, found.record, hypotheses.prior.mean)
    else:
        start = found.record
    record, value, converged = start, found.value, np.ones(found.value.shape, np.bool_)
    if not evidence.exact:
        wide = hypotheses.repeated(start.shape[1] // hypotheses.choices)
        mode = minimize(objective(product, wide.targets, wide.prior), start)
        record, value, converged = mode.record, 2 * mode.value, mode.converged
    labels = _label_or_target(record, hypotheses, known)
    chosen, tied = _chosen(product, record, value, known, evidence.exact)
    rows, width = np.arange(evidence.replicas), known.model.width
    best = record[rows, chosen]
    unsure = sign_is_open(known, best[:, :width], labels[rows, chosen], evidence.exact)
    targets = best[:, None, width:] if linear else hypotheses.targets[chosen][:, None]
    return Reconstruction(
        name,
        evidence.agent,
        best[:, None, :width],
        targets,
        value[rows, chosen],
        converged[rows, chosen],
        evidence.queries,
        open=_left_open(known, found, rows, chosen, tied, unsure),
    )


def _both_signs(found: RankOne) -> RankOne:
    record = np.concatenate([found.record, -found.record], axis=1)
    return RankOne(record, np.tile(found.value, (1, 2)), np.tile(found.twofold, (1, 2)))


def _chosen(product: Product, record: Array, value: Array, known: Known, exact: bool) -> tuple[Positions, Mask]:
    """The best hypothesis of each row, ties broken by what is known of features; and whether there is a tie."""
    size = np.linalg.norm(product.gradients.reshape(len(value), -1), axis=-1) / product.unit
    slack = (AS_GOOD * size) ** 2 if exact else np.full(len(value), TIED)
    alike = value <= np.min(value, axis=1, keepdims=True) + slack[:, None]
    worth = _implausibility(record, known, exact)
    best = np.argmin(np.where(alike, worth, np.inf), axis=1)
    return best, alike.sum(axis=1) > 1


def _label_or_target(record: Array, hypotheses: Hypotheses, known: Known) -> Array:
    """The label or the target of each record (rows, hypotheses, entries), (rows, hypotheses)."""
    if isinstance(known.model, Linear):
        return record[..., -1]
    labels = known.model.labels(hypotheses.targets[:, None])[:, 0]
    return np.broadcast_to(labels, record.shape[:2])


def _implausibility(record: Array, known: Known, exact: bool) -> Array:
    """Distance of records (rows, hypotheses, entries) from what is known of them, (rows, hypotheses)."""
    features = record[..., : known.model.width]
    far = outside(known, features)
    if one_signed(known) or known.prior is None:
        return far
    impossible = np.where(exact & (far > OUTSIDE**2), IMPOSSIBLE * (1 + far), 0.0)
    mean, variance = pooled(known.prior)  # of any label: less is lost where a record is like no class
    return np.sum((features - mean) ** 2 / variance, axis=-1) + impossible


def _left_open(known: Known, found: RankOne, rows: Positions, chosen: Positions, tied: Mask, unsure: Mask) -> str:
    if np.any(found.twofold[rows, chosen]):
        return NO_LENGTH if isinstance(known.model, Linear) else TWO_LENGTHS
    return MIRRORED if np.any(tied & unsure) else ""


CLOSED: dict[str, Attack] = {"linear": LeastSquaresRecord(), "logistic": LogisticRecord(), "softmax": SoftmaxRecord()}


@dataclass(frozen=True)
class OneRecord:
    """One record of a linear, logistic or softmax model. Where some estimates are exact, these alone are used."""

    name = "one-record"
    source = "this project"
    needs = Needs(models=MODELS, one_record=True, prior=True)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:
        check_all(self, cases)
        best = [_best(case) for case in cases]
        noisy = [k for k, (attack, _) in enumerate(best) if attack is None]
        found = dict(zip(noisy, PosteriorMode(spread=False).reconstruct([cases[k] for k in noisy], rng), strict=True))
        for k, (attack, case) in enumerate(best):
            if attack is not None:
                found[k] = attack.reconstruct([case], rng)[0]
        return [found[k] for k in range(len(cases))]


def _best(case: Case) -> tuple[Attack | None, Case]:
    """A closed form and what is exact of the evidence, where there is enough of it."""
    evidence, attack = case.evidence, CLOSED[case.known.model.name]
    exact = np.flatnonzero(np.all(evidence.stddev == 0, axis=-1) | evidence.exact)
    if len(exact) < attack.needs.rounds:
        return None, case
    return attack, Case(evidence.only(exact.tolist()), case.known)
