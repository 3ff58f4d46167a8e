"""The informed adversary: who knows all of an agent's records but one has a problem of one record.

m·(g̃_t − ∇penalty) − Σ_others ∇ℓ_s(θ_t) = ∇ℓ(θ_t; a, t) + m·error, and any attack for one record goes on from there.
Here by default it is `FinitePrior`: the likeliest of the public records, which is the best attack there is where the
record is known to be one of them, and so what a bound of reconstruction robustness has to stand.

Source: Balle, Cherubin, Hayes 2022 (the informed adversary).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from attacks.estimates import Evidence
from attacks.reconstruction.attack import Attack, Case, Known, Needs, Reconstruction, check_all
from attacks.reconstruction.populations import Population
from attacks.reconstruction.residuals import Whitener
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.models import NOTHING


@dataclass(frozen=True)
class FinitePrior:
    """The posterior mode over the prior's public records, weighted by their classes' shares, for a batch of one.

    The objective is −ln of likelihood × weight, but for a constant. Errors are Gaussian with their full covariance
    between rounds, or Laplace and independent. `spread` is the posterior's standard deviation.
    """

    @property
    def name(self) -> str:
        return "finite-prior"

    @property
    def source(self) -> str:
        return "Bayes' rule over a finite prior, as in Hayes, Mahloujifar, Balle 2023, section 4"

    @property
    def needs(self) -> Needs:
        return Needs(one_record=True, law=True, prior=True)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:  # noqa: ARG002
        check_all(self, cases)
        return [self._one(case) for case in cases]

    def _one(self, case: Case) -> Reconstruction:
        evidence, known = case
        assert known.prior is not None
        prior = Population.of(known.prior, known.model)
        costs = _surprises(case, prior) - np.log(prior.weights)
        best = np.argmin(costs, axis=1)
        posterior = np.exp(np.min(costs, axis=1, keepdims=True) - costs)
        posterior /= np.sum(posterior, axis=1, keepdims=True)
        mean = np.einsum("rn,nw->rw", posterior, prior.features)
        variance = np.einsum("rn,nw->rw", posterior, prior.features**2) - mean**2
        rows = np.arange(evidence.replicas)
        return Reconstruction(
            self.name,
            evidence.agent,
            prior.features[best][:, None],
            prior.targets[best][:, None],
            costs[rows, best],
            np.ones(evidence.replicas, dtype=np.bool_),
            evidence.queries,
            np.sqrt(np.maximum(variance, 0.0))[:, None],
        )


def _surprises(case: Case, candidates: Population) -> Array:
    """−ln of the likelihood of each candidate as the one record, but for a constant; (replicas, n).

    You get an `AttackError` for Laplace errors that are not independent between rounds.
    """
    evidence, known = case
    given = evidence.without(known.penalty)
    absolute = evidence.law == "laplace" and not evidence.exact
    if absolute and not independent(evidence):
        raise AttackError(
            "Laplace errors that are correlated between rounds: their covariance does not tell their law"
        )
    whitener = Whitener.of(evidence)
    scale = np.maximum(evidence.stddev, np.finfo(np.float64).tiny)[:, None] / np.sqrt(2)
    found = np.empty((evidence.replicas, len(candidates.weights)))
    for n, (record, target) in enumerate(zip(candidates.features, candidates.targets, strict=True)):
        residual = given - known.model.gradient(evidence.points, record[None], target[None])
        if absolute:
            found[:, n] = np.einsum("trd->r", np.abs(residual) / scale)
        else:
            white = whitener(residual)
            found[:, n] = np.einsum("trd,trd->r", white, white) / 2
    return found


def independent(evidence: Evidence) -> bool:
    """Whether the errors of different rounds are uncorrelated."""
    between = evidence.covariance[..., :1] if evidence.alike else evidence.covariance
    return not np.any(between[~np.eye(evidence.rounds, dtype=np.bool_)])


def sum_of_others(known: Known, points: Array) -> Array:
    """Σ of the gradients of all records but one, the shape of `points`; 0 where there are no others."""
    assert known.others is not None
    features, labels = known.others
    if not len(labels):
        return np.zeros_like(points)
    return len(labels) * known.model.gradient(points, features, known.model.targets(labels))


@dataclass(frozen=True)
class Informed:
    """All records but one are known; `then` attacks the one that is left."""

    then: Attack = field(default_factory=FinitePrior)

    @property
    def name(self) -> str:
        return f"informed-{self.then.name}"

    @property
    def source(self) -> str:
        return f"Balle, Cherubin, Hayes 2022; then {self.then.source}"

    @property
    def needs(self) -> Needs:
        """What the attack on the one record needs, and the others."""
        return replace(self.then.needs, one_record=False, others=True)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:
        """The record that is not known alone: `features` (replicas, 1, width)."""
        check_all(self, cases)
        return [
            replace(found, attack=self.name) for found in self.then.reconstruct([alone(case) for case in cases], rng)
        ]


def alone(case: Case) -> Case:
    """The case of one record that is left when the others are subtracted; its penalty is subtracted too.

    You get an `AttackError` where `Known.others` are not all but one.
    """
    evidence, known = case
    assert known.others is not None
    m = known.records
    if len(known.others[1]) != m - 1:
        raise AttackError(f"{len(known.others[1])} other records are known, and agent {evidence.agent} has {m}")
    gradients = m * evidence.without(known.penalty) - sum_of_others(known, evidence.points)
    own = m**2 * (evidence.covariance[..., :1] if evidence.alike else evidence.covariance)
    left = replace(evidence, gradients=gradients, covariance=np.broadcast_to(own, evidence.covariance.shape))
    one = replace(known, records=1, penalty=NOTHING, others=None, labels=None)
    return Case(left, one)
