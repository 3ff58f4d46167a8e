"""The mode of the posterior under the known law of the noise, and what it is not: the best match of the gradients.

With estimates g̃ = ∇ℓ(θ; A, t) + noise of known law, and a prior of the record from public records of the same kind,

    −ln p(A, t | g̃) = ½ ‖R (g̃ − ∇ℓ(θ; A, t))‖² + Σ_records [½ ‖A − m_t‖²_{V_t⁻¹} + ½ ln det V_t − ln share_t],

R whitens the errors with their full covariance between rounds; for Laplace noise the first term is Σ |g̃ − ∇ℓ|/b. The
label is unknown: every one is tried, and the one of least −ln p with the width of its mode (Laplace's approximation,
½ ln det of the diagonal part of the Hessian) is the answer. Where slopes do not depend on the record (θ = 0) and the
noise is Gaussian the posterior is Gaussian, its mode is its mean, and no estimator has a smaller mean square error.
Without information the answer is the prior's mean.

`PureMatching` has no prior: argmin of the first term. Its error grows with the noise without any bound, so that it
makes defences look better than they are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from attacks.estimates import Evidence
from attacks.reconstruction.attack import Case, Known, Needs, Reconstruction, check_all
from attacks.reconstruction.map_estimate import (
    MODELS,
    Common,
    Gaussian,
    MAPEstimate,
    Positions,
    Product,
    Weighted,
    minimize,
    objective,
    posterior_deviation,
    with_intercept,
)
from attacks.reconstruction.record_hypotheses import Hypotheses, rank_one
from attacks.reconstruction.row_space import LeastSquaresGram, RowSpace
from netsim.arrays import Array
from netsim.bounds import Count
from netsim.errors import AttackError
from netsim.models import Linear, Logistic, Softmax

FEW_STEPS, MARGIN = 2, 30.0
"""A label whose −ln p stays so much above another's after so many steps has lost: odds of e³⁰."""
LOST = 6.0
"""Deviations of χ² above its mean: then another start is tried."""
CHUNK = 2**20
"""Numbers that are worked on together: what a processor's cache holds."""
SWEEPS = 40
"""Sweeps of reweighting, for Laplace noise."""
STILL = 1e-7
"""Relative: the reweighting ends for a record that moves by less."""
SMOOTHED = 1e-3
"""Residuals below this share of their deviation count as so large: |r| has no second derivative at 0."""


@dataclass(frozen=True)
class PosteriorMode:
    """The mode of one record's posterior under the known law of the noise.

    The record is of a linear, logistic or softmax model.
    `spread`: whether posterior standard deviations are wanted too.
    """

    spread: bool = True
    name = "posterior"
    averaged = False
    """Whether the answer is the mean over labels, not the mode of the likeliest one."""
    source = "this project, with known noise; the estimator is textbook Bayes"
    needs = Needs(models=MODELS, one_record=True, law=True, prior=True)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:  # noqa: ARG002
        check_all(self, cases)
        return _all(self.name, cases, self.spread, mean=self.averaged)


@dataclass(frozen=True)
class PosteriorMean(PosteriorMode):
    """The mean over labels, weighted by their posterior probability, of the posterior's mode for each.

    Where the label is clear it is `PosteriorMode`; where it is not, no single label's mode is the guess of least
    square error. Targets are the labels' mean too.
    """

    name = "posterior-mean"
    averaged = True


@dataclass(frozen=True)
class PureMatching:
    """The record whose gradients match best, in units of the noise: no prior. A straw man under noise."""

    name = "pure-matching"
    source = "the common core of gradient matching attacks, with its optimizer taken to the end"
    needs = Needs(models=MODELS, one_record=True, law=True)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:  # noqa: ARG002
        check_all(self, cases)
        return _all(self.name, [Case(case.evidence, replace(case.known, prior=None)) for case in cases], False)


def _all(name: str, cases: Sequence[Case], spread: bool, mean: bool = False) -> list[Reconstruction]:
    """Cases of one kind are solved together: with the same model, prior, labels and number of rounds; alone what has
    one covariance for each coordinate, or errors of Laplace's law."""
    groups: dict[object, list[int]] = {}
    for k, (evidence, known) in enumerate(cases):
        alone = k if evidence.law == "laplace" or not (evidence.alike or evidence.exact) else None
        labels = None if known.labels is None else tuple(known.labels.tolist())
        groups.setdefault((known.model, id(known.prior), evidence.rounds, labels, alone), []).append(k)
    found: dict[int, Reconstruction] = {}
    for places in groups.values():
        size = max(1, CHUNK // (2 * cases[places[0]].evidence.points.size))
        for first in range(0, len(places), size):
            some = places[first : first + size]
            found |= zip(some, _together(name, [cases[k] for k in some], spread, mean), strict=True)
    return [found[k] for k in range(len(cases))]


def _together(name: str, cases: Sequence[Case], spread: bool, mean: bool) -> list[Reconstruction]:
    known = cases[0].known
    product = Product.of(cases)
    hypotheses = Hypotheses.of(product, known)
    evidence = cases[0].evidence
    if np.any(hypotheses.prior.precision):
        start = np.repeat(hypotheses.prior.mean[None], len(product.points), axis=0)
    else:
        start = np.where(product.free, rank_one(product, hypotheses).record, hypotheses.prior.mean)
    if evidence.law == "laplace" and evidence.independent and np.all(evidence.stddev > 0):
        j, mode = _laplace(evidence, product, hypotheses, start)
    else:  # of errors that depend on each other, combinations of several are nearly Gaussian
        j, mode = _gauss(product, hypotheses, start)
    scores = _weighed(mode, hypotheses) + 0.5 * _breadth(mode, hypotheses)
    chosen = np.argmin(scores, axis=1)
    rows, width = np.arange(len(chosen)), known.model.width
    record = mode.record[rows, chosen]
    targets = record[:, None, width:] if isinstance(known.model, Linear) else hypotheses.targets[chosen][:, None]
    deviation = posterior_deviation(j, mode, chosen)[:, None, :width] if spread else None
    if mean:
        weights = np.exp(np.min(scores, axis=1, keepdims=True) - scores)
        weights /= np.sum(weights, axis=1, keepdims=True)
        middle = np.einsum("rl,rln->rn", weights, mode.record)
        if deviation is not None:
            apart = np.einsum("rl,rln->rn", weights, (mode.record - middle[:, None]) ** 2)
            deviation = np.sqrt(deviation**2 + apart[:, None, :width])
        record = middle
        if not isinstance(known.model, Linear):
            targets = np.einsum("rl,lc->rc", weights, hypotheses.targets)[:, None]
    found, first = list[Reconstruction](), 0
    for evidence, _ in cases:
        part = slice(first, first := first + evidence.replicas)
        score, converged = scores[rows, chosen][part], mode.converged[rows, chosen][part]
        spreads = None if deviation is None else deviation[part]
        found.append(
            Reconstruction.of(name, evidence, record[part, None, :width], targets[part], score, converged, spreads)
        )
    return found


def _gauss(product: Product, hypotheses: Hypotheses, start: Array) -> tuple[Common | Weighted, MAPEstimate]:
    """Modes from the start, and, where that does not explain the gradients, from a closed form too."""
    j, mode = _descended(product, hypotheses, start)
    off = mode.record - hypotheses.prior.mean
    squared = 2 * mode.value - np.sum(hypotheses.prior.precision * off * off, axis=-1)
    best = np.min(np.where(np.isfinite(mode.value), squared, np.inf), axis=1)
    degrees = product.gradients[0].size  # more than noise leaves to the best hypothesis: it is the wrong place
    lost = np.flatnonzero(best > degrees + LOST * np.sqrt(2 * degrees))
    if len(lost) and np.any(hypotheses.prior.precision):
        some = product.only(lost)
        closed = rank_one(some, hypotheses).record
        for sign in (1, -1) if isinstance(product.model, Linear) else (1,):
            _, other = _descended(some, hypotheses, np.where(product.free, sign * closed, hypotheses.prior.mean))
            mode.improve(lost, other)
    _rounded(j, hypotheses, mode)
    if isinstance(product.model, Linear):
        # (−a, −t) has the same gradients of least squares: where the prior likes it better, from there too
        mean, precision = hypotheses.prior
        off, mirrored = (np.sum(precision * (s * mode.record - mean) ** 2, axis=-1) for s in (1, -1))
        rows = np.flatnonzero(np.any(mirrored < off, axis=1))
        if len(rows):
            there, other = _descended(
                product.only(rows), hypotheses, np.where(product.free, -mode.record[rows], mean)
            )
            _rounded(there, hypotheses, other)
            mode.improve(rows, other)
    return j, mode


def _rounded(j: Common | Weighted, hypotheses: Hypotheses, mode: MAPEstimate) -> None:
    """Squared residuals down to rounding distinguish no labels: below it the prior decides."""
    off = mode.record - hypotheses.prior.mean
    surprise = 0.5 * np.sum(hypotheses.prior.precision * off * off, axis=-1)
    mode.value[...] = surprise + np.maximum(mode.value - surprise, j.slack)


def _descended(product: Product, hypotheses: Hypotheses, start: Array) -> tuple[Common | Weighted, MAPEstimate]:
    """All hypotheses for a few steps; where one is left that can win, that one alone to the end."""
    j = objective(product, hypotheses.targets, hypotheses.prior)
    if not isinstance(j, Common) or hypotheses.choices == 1:
        return j, minimize(j, start)
    mode = minimize(j, start, FEW_STEPS)
    value = _weighed(mode, hypotheses) + 0.5 * _breadth(mode, hypotheses)
    contends = value - 2 * mode.reach <= np.min(value, axis=1, keepdims=True) + MARGIN
    single = contends.sum(axis=1) == 1
    mode.value[~contends] = np.inf
    winners = np.argmin(np.where(contends, value, np.inf), axis=1)
    parts = [(np.flatnonzero(single), winners[single])]
    for hypothesis in range(hypotheses.choices):
        rows = np.flatnonzero(~single & contends[:, hypothesis])
        parts.append((rows, np.full(len(rows), hypothesis)))
    for rows, places in parts:
        if len(rows):
            mode.put(rows, places, minimize(j.only(rows, places), mode.record[rows, places][:, None]))
    return j, mode


def _laplace(
    evidence: Evidence, product: Product, hypotheses: Hypotheses, start: Array
) -> tuple[Common | Weighted, MAPEstimate]:
    """Σ|r|/b by reweighting: |r|/b ≤ r²/(2b|r₀|) + |r₀|/(2b), with equality where r = r₀."""
    scale = evidence.stddev / np.sqrt(2)  # b of every number, (rounds, outputs, seen)
    scale = with_intercept(product.model, scale) if isinstance(product.model, Softmax) else scale[:, None]
    targets = hypotheses.targets[:, None]

    def reweighted(x: Array) -> Weighted:
        size = np.abs(Weighted(product, targets, hypotheses.prior, scale).residual(x))
        weights = 1 / np.sqrt(scale * np.maximum(size, SMOOTHED * scale))
        return Weighted(product, targets, hypotheses.prior, weights)

    _, mode = _gauss(product, hypotheses, start)
    x, still = mode.record, np.ones(mode.value.shape, np.bool_)
    for _ in range(SWEEPS):
        mode = minimize(reweighted(x), x, 3)
        moved = np.max(np.abs(mode.record - x), axis=-1) > STILL * np.max(np.abs(x), axis=-1)
        x = np.where(still[..., None], mode.record, x)
        still &= moved
        if not still.any():
            break
    j = reweighted(x)
    off = x - hypotheses.prior.mean
    value: Array = np.sum(np.abs(j.residual(x)) / scale, axis=(-3, -2, -1))
    value += 0.5 * np.sum(hypotheses.prior.precision * off * off, axis=-1)
    return j, MAPEstimate(x, value, j.at(x).strength, ~still, np.zeros(value.shape))


def _weighed(mode: MAPEstimate, hypotheses: Hypotheses) -> Array:
    """−ln p of each hypothesis at its mode, but for the mode's width and a constant, (rows, hypotheses).

    The prior of features with a declared range is a Gaussian cut off at its ends: a mode beyond them costs about ½
    (distance/deviation)², the posterior's deviation. Where gradients are exact that alone distinguishes a logistic
    record from its mirror image, which has the same gradients; under noise it is hardly anything.
    """
    value = mode.value + hypotheses.surprise
    if hypotheses.limits is None:
        return value
    outside = mode.record - np.clip(mode.record, *hypotheses.limits)
    return value + 0.5 * np.sum((mode.strength + hypotheses.prior.precision) * outside**2, axis=-1)


def _breadth(mode: MAPEstimate, hypotheses: Hypotheses) -> Array:
    """ln det of the Hessian's diagonal part, (replicas, hypotheses); 0 without a prior."""
    if not np.any(hypotheses.prior.precision):
        return np.zeros(mode.value.shape)
    total = mode.strength + hypotheses.prior.precision
    return np.sum(np.log(np.where(total > 0, total, 1.0)), axis=-1)


ASSIGNMENTS = 256
"""Assignments of labels to records that are tried at most."""


APART = 0.5
"""Starts are draws of the prior with this share of its deviation."""


@dataclass(frozen=True)
class PosteriorBatch:
    """The mode of the posterior of a small batch under the known law of the noise.

    The batch is of a linear, logistic or softmax model.
    """

    restarts: Count = 4
    """From how many draws of the prior for each assignment of labels."""
    name = "posterior-batch"
    source = "this project, with known noise; the estimator is textbook Bayes"
    needs = Needs(models=MODELS, law=True, prior=True)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:
        """You get an `AttackError` where labels can be assigned in more than 256 ways and are not public."""
        check_all(self, cases)
        seed = int(rng.integers(2**63))
        return [self._one(case, seed) for case in cases]

    def _one(self, case: Case, seed: int) -> Reconstruction:
        evidence, known = case
        m, width = known.records, known.model.width
        product = Product.of([Case(evidence, replace(known, labels=None))])
        targets, prior, surprise, places = _assignments(product, known)
        j = Weighted(product, targets, prior)
        rng = np.random.default_rng((seed, evidence.agent))
        deviation = 1 / np.sqrt(np.where(prior.precision > 0, prior.precision, np.inf))
        draws = [prior.mean + APART * deviation * rng.standard_normal(prior.mean.shape) for _ in range(self.restarts)]
        shape = (evidence.replicas, *prior.mean.shape)  # alike for all replicas
        starts = [*(np.broadcast_to(draw, shape) for draw in draws), *_informed(case, targets, rng)]
        mode, *others = (minimize(j, np.where(j.free, start, prior.mean)) for start in starts)
        everyone = np.arange(evidence.replicas)
        for found in others:
            mode.improve(everyone, found)
        total = mode.strength + prior.precision
        score = mode.value + surprise + 0.5 * np.sum(np.log(np.where(total > 0, total, 1.0)), axis=-1)
        score -= _multiplicity(mode.record, total, places)
        chosen = np.argmin(score, axis=1)
        record = mode.record[everyone, chosen].reshape(evidence.replicas, m, -1)
        aims = record[..., width:] if isinstance(known.model, Linear) else targets[chosen]
        best, converged = score[everyone, chosen], mode.converged[everyone, chosen]
        return Reconstruction.of(self.name, evidence, record[..., :width], aims, best, converged)


def _multiplicity(record: Array, total: Array, places: Positions) -> Array:
    """ln of how many equal modes each assignment has, (replicas, assignments).

    `record` and its precisions `total` (replicas, assignments, m·entries); `places` (assignments, m): which label.
    """
    m = places.shape[1]
    x, weight = (values.reshape(*values.shape[:2], m, -1) for values in (record, total))
    found = np.zeros(record.shape[:2])
    for j in range(1, m):
        equal = places[:, :j] == places[:, j : j + 1]
        both = weight[:, :, :j] + weight[:, :, j : j + 1]
        apart = np.sum(both * (x[:, :, :j] - x[:, :, j : j + 1]) ** 2, axis=-1)
        merged = np.sum(np.where(equal, np.exp(-apart / 8), 0.0), axis=-1)
        found += np.log((j + 1) / (1 + merged))
    return found


def _assignments(product: Product, known: Known) -> tuple[Array, Gaussian, Array, Positions]:
    """Targets (assignments, m, outputs), the prior of all records side by side, −ln of the probability of labels in
    order, and the labels' positions (assignments, m)."""
    single = Hypotheses.of(product, replace(known, labels=None))
    m, count = known.records, single.choices
    if known.labels is not None and not isinstance(known.model, Linear):
        chosen = [tuple(known.model.classes.index(float(label)) for label in known.labels)]
    elif math.comb(m + count - 1, m) <= ASSIGNMENTS:
        chosen = list(combinations_with_replacement(range(count), m))
    else:
        raise AttackError(f"posterior-batch needs labels that are public for {m} records of {count} classes")
    places = np.array(chosen)
    prior = Gaussian(*(part[places].reshape(len(places), -1) for part in single.prior))
    return single.targets[places], prior, single.surprise[places].sum(axis=1), places


def _informed(case: Case, targets: Array, rng: np.random.Generator) -> list[Array]:
    """Starts from closed forms, in the order of the assignment's labels."""
    evidence, known = case
    model, m = known.model, known.records
    if evidence.rounds <= m:
        return []
    if isinstance(model, Linear):
        found = LeastSquaresGram().reconstruct([case], rng)[0]
        start = np.concatenate([found.features, found.targets], axis=-1)
        return [start.reshape(len(start), 1, -1)]
    if not isinstance(model, Logistic):
        return []
    found = RowSpace(restarts=64).reconstruct([case], rng)[0]
    z = found.labels(model)[..., None] * found.features
    order = np.argsort(found.labels(model), axis=1, kind="stable")
    z = np.take_along_axis(z, order[..., None], axis=1)
    signs = 2 * targets[..., 0] - 1
    return [(signs[None, :, :, None] * z[:, None]).reshape(len(z), len(targets), -1)]
