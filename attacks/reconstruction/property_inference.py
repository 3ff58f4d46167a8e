"""Property inference: which of several public populations an agent's records are drawn from.

A hypothesis is a prior: a share of each class, or another public data set. Under it the mean gradient of m records is
a Gaussian (`informed.BatchLaw`, k = m), and its log density scores the hypothesis. Such scores are overconfident:
the Gaussian is an approximation, with a covariance from few records. So they are calibrated. From public records that
the fit has not seen, batches are drawn under every hypothesis and scored the same way at the same points; the score's
differences to the first hypothesis are a Gaussian under each (of estimated moments), and Bayes' rule on those gives
the posterior, with equal prior probabilities.

Source: property inference after Ateniese et al. 2015 and Melis et al. 2019 (theirs is a trained classifier; here the
likelihood is used, and the classifier is quadratic discriminant analysis of k − 1 log ratios).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import log_softmax

from attacks.reconstruction.attack import Case, Needs, Prior
from attacks.reconstruction.informed import BatchLaw, Population, rows_of
from attacks.reconstruction.residuals import Whitener
from netsim.arrays import Array
from netsim.errors import AttackError


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


RIDGE = 1e-9
"""Relative: what is added to the covariance of simulated scores."""


@dataclass(frozen=True)
class PropertyInference:
    """`hypotheses` by name, two or more; `draws` simulated batches under each calibrate the scores."""

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
