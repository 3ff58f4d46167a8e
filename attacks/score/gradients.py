"""Gradient estimates against the gradients that the agents got, and stated covariances against the errors."""

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from attacks.estimates import Evidence, GradientEstimate
from attacks.reconstruction.residuals import Whitener
from netsim.arrays import Array
from netsim.truth import Truth


@dataclass(frozen=True)
class GradientScore:
    """Quality of the inferred private gradients.

    `errors[k]` is ‖estimate − gradient‖/max(1, ‖gradient‖) of estimate k, (estimates, replicas), and `times[k]`
    the virtual time of the query; `estimated` of `asked` queries have an estimate at all; `queries[k]` counts
    those of its agent, from 0. `hidden[i]` counts
    agent i's queries without one. `baseline` is the median error of who infers nothing: of the gradient of the
    public quadratic term alone, at the true point.
    """

    errors: Array
    times: Array
    agents: tuple[int, ...]
    estimated: int
    asked: int
    queries: tuple[int, ...]
    hidden: tuple[int, ...]
    baseline: float

    @property
    def worst(self) -> float:
        """The largest error of any estimate."""
        return float(np.max(self.errors)) if self.errors.size else float("inf")

    @property
    def median(self) -> float:
        """The median error."""
        return float(np.median(self.errors)) if self.errors.size else float("inf")


def score_gradients(
    estimates: Sequence[GradientEstimate], truth: Truth, insiders: Container[int] = ()
) -> GradientScore:
    """Compare every estimate with the gradient its agent got at that query. No estimate is expected of `insiders`."""
    errors: list[Array] = []
    times: list[float] = []
    found = [0] * len(truth.queries)
    baseline: list[Array] = []
    for estimate in estimates:
        query = truth.queries[estimate.agent][estimate.query]
        errors.append(_error(estimate.gradient, query.gradient))
        baseline.append(_error(truth.problem.ridge * query.point, query.gradient))
        times.append(query.time)
        found[estimate.agent] += 1
    asked = [0 if i in insiders else len(queries) for i, queries in enumerate(truth.queries)]
    return GradientScore(
        np.array(errors),
        np.array(times),
        tuple(e.agent for e in estimates),
        len(estimates),
        sum(asked),
        tuple(e.query for e in estimates),
        tuple(a - f for a, f in zip(asked, found, strict=True)),
        float(np.median(baseline)) if baseline else float("nan"),
    )


def _error(estimate: Array, gradient: Array) -> Array:
    """‖estimate − gradient‖/max(1, ‖gradient‖), (replicas,)."""
    scale = np.maximum(1.0, np.linalg.norm(gradient, axis=-1))
    return np.linalg.norm(estimate - gradient, axis=-1) / scale


_VARIANCE_OF_SQUARES = {"gaussian": 2.0, "laplace": 5.0}
"""Var z² of a variable of variance 1."""


@dataclass(frozen=True)
class _Calibration:
    """Whether the errors of one agent's estimates are as large as was stated.

    `statistics` (replicas,): Σ of the squared whitened errors of what is noisy, whose mean is `degrees` where the
    covariance is right, each square having this `variance`; `exact_error` (replicas,): the largest error of a round
    that was stated to be exact, relative to max(1, ‖gradient‖).
    """

    agent: int
    statistics: Array
    degrees: int
    exact_error: Array
    variance: float = 2.0

    @property
    def ratio(self) -> float:
        """Mean squared error over its stated value: 1 where it is right, 4 where errors are twice as large."""
        return float(np.mean(self.statistics)) / self.degrees if self.degrees else float("nan")

    @property
    def p_value(self) -> float:
        """Two-sided, of the covariance being right: χ² for Gaussian errors, else the normal law of so large a sum."""
        total, degrees = float(np.sum(self.statistics)), self.degrees * self.statistics.size
        if not degrees:
            return float("nan")
        if self.variance == _VARIANCE_OF_SQUARES["gaussian"]:
            return 2 * min(float(special.chdtr(degrees, total)), float(special.chdtrc(degrees, total)))
        return 2 * float(special.ndtr(-abs(total - degrees) / math.sqrt(self.variance * degrees)))


def calibration(evidence: Evidence, truth: Truth) -> _Calibration:
    """χ² of the evidence's own covariance against its errors, round by round exact or noisy.

    With errors that are correlated between rounds and not Gaussian the p-value is that of uncorrelated ones: near.
    Where the law is not known it is taken for Gaussian.
    """
    gradients = np.array([truth.queries[evidence.agent][k].gradient for k in evidence.queries])
    errors = evidence.gradients - gradients
    noisy = np.any(evidence.stddev > 0, axis=-1)
    scale = np.maximum(1.0, np.max(np.linalg.norm(gradients, axis=-1), axis=0))
    exact = np.max(np.abs(errors[~noisy]), axis=(0, -1), initial=0.0) / scale
    statistics: Array = np.zeros(evidence.replicas)
    degrees = int(np.sum(noisy)) * errors.shape[-1]
    if degrees:
        whitener = Whitener.of(evidence.only(np.flatnonzero(noisy).tolist()))
        statistics = np.einsum("trd->r", whitener(errors[noisy]) ** 2)
    return _Calibration(evidence.agent, statistics, degrees, exact, _VARIANCE_OF_SQUARES[evidence.law or "gaussian"])
