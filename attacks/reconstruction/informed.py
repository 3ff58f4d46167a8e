"""Attacks by populations of public records: the informed adversary, and property inference.

*The informed adversary* knows all of an agent's records but one, and so has a problem of one record.

m·(g̃_t − ∇penalty) − Σ_others ∇ℓ_s(θ_t) = ∇ℓ(θ_t; a, t) + m·error, and any attack for one record goes on from there.
Here by default it is `FinitePrior`: the likeliest of the public records, which is the best attack there is where the
record is known to be one of them, and so what a bound of reconstruction robustness has to stand.

Source: Balle, Cherubin, Hayes 2022.

*Property inference* tells which of several populations an agent's records are drawn from. A hypothesis is a prior: a
share of each class, or another public data set. Under it the mean gradient of m records is a Gaussian (`BatchLaw`,
k = m), and its log density scores the hypothesis. Such scores are overconfident: the Gaussian is an approximation,
with a covariance from few records. So they are calibrated. From public records that the fit has not seen, batches are
drawn under every hypothesis and scored the same way at the same points; the score's differences to the first
hypothesis are a Gaussian under each (of estimated moments), and Bayes' rule on those gives the posterior, with equal
prior probabilities.

Source: after Ateniese et al. 2015 and Melis et al. 2019 (theirs is a trained classifier; here the likelihood is used,
and the classifier is quadratic discriminant analysis of k − 1 log ratios).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import log_softmax

from attacks.reconstruction.attack import Attack, Case, Needs, Prior, Reconstruction, Whitener, check_all
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.models import NOTHING, Model

SMALL = 1e-12
"""Share of the largest eigenvalue: what is below is rounding."""
RIDGE = 1e-9
"""Relative: what is added to the covariance of simulated scores."""


@dataclass(frozen=True)
class Population:
    """Public records (n, width) with targets (n, outputs), and how likely each is, (n,)."""

    features: Array
    targets: Array
    weights: Array

    @classmethod
    def of(cls, prior: Prior, model: Model) -> "Population":
        """By the prior's shares; within a class all alike. You get an `AttackError` where it has no records."""
        labels = [label for label, share in prior.share.items() if share > 0]
        if not all(label in prior.records for label in labels):
            raise AttackError("a prior without its public records: their gradients are needed")
        rows = [prior.records[label] for label in labels]
        counts = [len(each) for each in rows]
        shares = [prior.share[label] / count for label, count in zip(labels, counts, strict=True)]
        weights = np.repeat(shares, counts)
        return cls(np.concatenate(rows), model.targets(np.repeat(labels, counts)), weights / np.sum(weights))

    def halves(self) -> tuple["Population", "Population"]:
        """Every second record: one half to learn from, the other to judge by."""
        parts = [(self.features[k::2], self.targets[k::2], self.weights[k::2]) for k in (0, 1)]
        learn, judge = (Population(a, t, w / np.sum(w)) for a, t, w in parts)
        return learn, judge

    def gradients(self, model: Model, points: Array) -> Array:
        """Gradients of each record at each of `points` (rounds, dimension), (rounds, n, dimension)."""
        return model.gradient(points[:, None, :], self.features[:, None, :], self.targets[:, None, :])

    def draw(self, gradients: Array, batches: int, records: int, rng: np.random.Generator) -> Array:
        """Mean gradients of batches of so many of its records: (batches, p) of `gradients` (n, p)."""
        shares = rng.multinomial(records, self.weights, size=batches) / records
        return np.einsum("bn,np->bp", shares, gradients)


@dataclass(frozen=True)
class BatchLaw:
    """ḡ (p,) and S = Σ_j sizes_j v_j v_jᵀ + rest·I, with orthonormal v_j = directions[j]; in units of the noise.

    The directions (k, p) are kept as axesᵀ · rows, of axes (n, k) and rows (n, p), which costs less.
    """

    mean: Array
    rows: Array
    axes: Array
    sizes: Array
    rest: float

    @property
    def directions(self) -> Array:
        return self.axes.T @ self.rows

    @classmethod
    def of(cls, gradients: Array, weights: Array) -> "BatchLaw":
        """Law from the whitened gradients (n, p) of a population's records."""
        mean = np.einsum("n,np->p", weights, gradients)
        rows = np.sqrt(weights)[:, None] * (gradients - mean)
        inner, p = rows @ rows.T, gradients.shape[-1]
        total = float(np.sum(inner**2))
        distance = total - p * (float(np.trace(inner)) / p) ** 2
        error = float(np.sum(np.einsum("nn->n", inner) ** 2)) - float(np.sum(weights**2)) * total  # Σ w² ‖x‖⁴ − …
        share = float(np.clip(error / distance, 0.0, 1.0)) if distance > 0 else 1.0  # Ledoit and Wolf's λ (2004)
        sizes, vectors = np.linalg.eigh(inner)
        kept = sizes > SMALL * max(float(sizes[-1]), 0.0)
        rest = share * float(np.sum(sizes[kept])) / p
        return cls(mean, rows, vectors[:, kept] / np.sqrt(sizes[kept]), (1 - share) * sizes[kept], rest)

    def log_density(self, values: Array, mean: Array, spread: float) -> Array:
        """ln N(values; mean, I + spread·S) but for a constant, (…) of values (…, p)."""
        residual = values - mean
        inside, squares = residual @ self.rows.T @ self.axes, np.einsum("...p,...p->...", residual, residual)
        base = 1 + spread * self.rest
        gain = spread * self.sizes / base
        explained = np.einsum("...k,k->...", inside**2, gain / (1 + gain))
        log_det = self.mean.size * np.log(base) + np.sum(np.log1p(gain))
        return -((squares - explained) / base + log_det) / 2


def rows_of(whitener: Whitener, replica: int) -> Callable[[Array], Array]:
    """Gradients of one replica in units of the noise, as rows: (rounds, n, dimension) to (n, rounds · dimension)."""
    own = replace(whitener, unit=whitener.unit[replica : replica + 1])

    def rows(values: Array) -> Array:
        white = np.tensordot(own.factor, values, 1) / own.unit if own.common else own(values)
        return np.moveaxis(white, 0, 1).reshape(white.shape[1], -1)

    return rows


@dataclass(frozen=True)
class FinitePrior:
    """The most probable of the prior's public records, weighted by their classes' shares, for a batch of one.

    The objective is −ln of likelihood × weight, but for a constant. Errors are Gaussian with their full covariance
    between rounds, or Laplace and independent. `spread` is the posterior's standard deviation.
    """

    name = "finite-prior"
    source = "Bayes' rule over a finite prior, as in Hayes, Mahloujifar, Balle 2023, section 4"
    needs = Needs(one_record=True, law=True, prior=True)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:  # noqa: ARG002
        check_all(self, cases)
        found: list[Reconstruction] = []
        for case in cases:
            evidence, known = case
            assert known.prior is not None
            prior = Population.of(known.prior, known.model)
            costs = _surprises(case, prior) - np.log(prior.weights)
            least, best = np.min(costs, axis=1), np.argmin(costs, axis=1)
            posterior = np.exp(least[:, None] - costs)
            posterior /= np.sum(posterior, axis=1, keepdims=True)
            mean = np.einsum("rn,nw->rw", posterior, prior.features)
            variance = np.einsum("rn,nw->rw", posterior, prior.features**2) - mean**2
            features, targets = prior.features[best][:, None], prior.targets[best][:, None]
            spread = np.sqrt(np.maximum(variance, 0.0))[:, None]
            found.append(Reconstruction.of(self.name, evidence, features, targets, least, spread=spread))
        return found


def _surprises(case: Case, candidates: Population) -> Array:
    """−ln of the likelihood of each candidate as the one record, but for a constant; (replicas, n).

    You get an `AttackError` for Laplace errors that are not independent between rounds.
    """
    evidence, known = case
    given = evidence.without(known.penalty)
    absolute = evidence.law == "laplace" and not evidence.exact
    if absolute and not evidence.independent:
        raise AttackError(
            "Laplace errors that are correlated between rounds: their covariance does not determine their law"
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


@dataclass(frozen=True)
class Informed:
    """The informed adversary: all of an agent's records but one are known. `then` attacks the
    one that is left.
    """

    then: Attack = field(default_factory=FinitePrior)

    @property
    def name(self) -> str:
        return f"informed-{self.then.name}"

    @property
    def source(self) -> str:
        return f"Balle, Cherubin, Hayes 2022; then {self.then.source}"

    @property
    def needs(self) -> Needs:
        """Needs of the attack on the one record, and the others."""
        return replace(self.then.needs, one_record=False, others=True)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:
        """The record that is not known alone: `features` (replicas, 1, width)."""
        check_all(self, cases)
        found = self.then.reconstruct([alone(case) for case in cases], rng)
        return [replace(one, attack=self.name) for one in found]


def alone(case: Case) -> Case:
    """The case of one record that is left when the others are subtracted; its penalty is subtracted too.

    You get an `AttackError` where `Known.others` are not all but one.
    """
    evidence, known = case
    assert known.others is not None
    m = known.records
    if len(known.others[1]) != m - 1:
        raise AttackError(f"{len(known.others[1])} other records are known, and agent {evidence.agent} has {m}")
    gradients = m * evidence.without(known.penalty) - known.others_gradients(evidence.points)
    own = m**2 * (evidence.covariance[..., :1] if evidence.alike else evidence.covariance)
    left = replace(evidence, gradients=gradients, covariance=np.broadcast_to(own, evidence.covariance.shape))
    one = replace(known, records=1, penalty=NOTHING, others=None, labels=None)
    return Case(left, one)


@dataclass(frozen=True)
class Choice:
    """Which of several hypotheses holds of an agent's data. `log_posterior` (replicas, hypotheses), normalized."""

    attack: str
    agent: int
    hypotheses: tuple[str, ...]
    log_posterior: Array
    queries: tuple[int, ...]

    @property
    def posterior(self) -> Array:
        return np.exp(self.log_posterior)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The likeliest, for each replica."""
        return tuple(self.hypotheses[int(np.argmax(row))] for row in self.log_posterior)


@dataclass(frozen=True)
class PropertyInference:
    """Property inference: which of several public populations an agent's records are drawn from.

    `hypotheses` by name, two or more; `draws` simulated batches under each calibrate the scores.
    """

    hypotheses: Mapping[str, Prior] = field(repr=False)
    draws: int = 400

    name = "property-inference"
    source = "Ateniese et al. 2015; Melis et al. 2019; by likelihood"
    needs = Needs(law=True)

    def decide(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Choice]:
        """One for each case. You get an `AttackError` for fewer than two hypotheses, or priors without records."""
        if len(self.hypotheses) < 2:
            raise AttackError(f"{len(self.hypotheses)} hypotheses: there is nothing to choose between")
        for case in cases:
            self.needs.check(self.name, case)
        choices: list[Choice] = []
        for case in cases:
            evidence, model = case.evidence, case.known.model
            populations = [Population.of(prior, model) for prior in self.hypotheses.values()]
            found = np.array([self._replica(case, populations, r, rng) for r in range(evidence.replicas)])
            choices.append(Choice(self.name, evidence.agent, tuple(self.hypotheses), found, evidence.queries))
        return choices

    def _replica(
        self, case: Case, populations: Sequence[Population], replica: int, rng: np.random.Generator
    ) -> Array:
        """ln of the posterior, (hypotheses,)."""
        evidence, known = case
        points, m = evidence.points[:, replica], known.records
        white = rows_of(Whitener.of(evidence), replica)
        halves = [population.halves() for population in populations]
        laws = [BatchLaw.of(white(fit.gradients(known.model, points)), fit.weights) for fit, _ in halves]

        def ratios(values: Array) -> Array:
            scores = np.array([law.log_density(values, law.mean, 1 / m) for law in laws])
            return (scores[1:] - scores[0]).T

        given = ratios(white(evidence.without(known.penalty)[:, replica][:, None]))[0]
        noise = rng.standard_normal((self.draws, laws[0].mean.size))  # the same for all: what differs is the records
        simulated = [
            ratios(half.draw(white(half.gradients(known.model, points)), self.draws, m, rng) + noise)
            for _, half in halves
        ]
        return log_softmax([_log_predictive(given, each) for each in simulated])


def _log_predictive(value: Array, sample: Array) -> float:
    """ln of the density of one more draw from the Gaussian that the sample (draws, k) is from, but for a constant.

    Its mean and covariance are estimates: a Student law with draws − k degrees of freedom.
    """
    n, k = sample.shape
    away = sample - sample.mean(axis=0)
    covariance = np.einsum("np,nq->pq", away, away) / (n - 1)
    covariance = covariance + RIDGE * (np.trace(covariance) / k + np.finfo(np.float64).tiny) * np.eye(k)
    shape = covariance * (n - 1) * (n + 1) / (n * (n - k))
    sizes, axes = np.linalg.eigh(shape)
    along = np.einsum("k,kj->j", value - sample.mean(axis=0), axes)
    distance = float(np.sum(along**2 / sizes))
    return -float(np.sum(np.log(sizes))) / 2 - n / 2 * math.log1p(distance / (n - k))
