"""Batches of m records from the gradients of several rounds, in the few dimensions that these span.

*A logistic loss* gives all records. With z_i = b_i a_i (label times features) and slopes w_ti = σ(−z_iᵀθ_t),

    G = −(1/m) W Z,   G (rounds, dimension), W (rounds, m), Z (m, dimension):

the rank of G is min(m, T, d), so that it shows m, and the rows of Z lie in the row space of G. In an orthonormal
basis V of it, z_i = c_iᵀV, and every gradient gives m equations, V∇f_t = −(1/m) Σ_i σ(−c_iᵀVθ_t) c_i: T·m equations
for m² numbers, whatever the dimension. T ≥ m + 1 suffices at generic points, T ≥ 2m comfortably.

*Starts.* Where margins are small, ∇f ≈ −z̄/2 + (ZᵀZ/4m) θ: a linear regression on Vθ gives z̄ and ZᵀZ/m, and with
them Z up to a rotation that keeps z̄. Rotations are drawn at random; each start goes through Levenberg and
Marquardt's method, and the attacker's own objective chooses.

*Noise.* Rounds are whitened with their covariance, V is that of the whitened gradients, and the residual is in units
of the noise. V has errors of its own, so the best start of each group goes on to the maximum likelihood in all
dimensions (`batch`). Where points are few or near each other, W is nearly singular and noise is amplified by its
condition: then `posterior` with a prior is the better attack.

*Least squares* give second moments, H = c AᵀA/m and h = c Aᵀt/m, and nothing else. ∇f(θ) = Hθ − h whatever the
rounds, and (QA, Qt) has the same H and h for every orthogonal Q (m, m): for m ≥ 2 the records are not identifiable,
from any number of exact gradients. H has rank m, so it does not take d + 1 rounds: with V as above, V∇f_t = S Vθ_t −
Vh is a linear regression with m + 1 unknowns for each of m outputs, and m + 1 gradients at generic points give
H = VᵀSV and h.

The answer is one of the pairs (A, t) with that H and h. With a prior (public records) it is the one of largest prior
density: for a Gaussian of one covariance the quadratic terms do not depend on Q, and the rest is a Procrustes
problem. Compare H and h with the truth, not A (`attacks.score.RecordScore.gram_error`). Under noise the start above
goes on to the maximum likelihood.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from attacks.estimates import Evidence
from attacks.reconstruction.attack import Case, Known, Needs, Reconstruction, Whitener, check_all, misfit
from attacks.reconstruction.map_estimate import Gaussian, Product, Weighted, minimize
from attacks.reconstruction.record_hypotheses import MIRRORED, preference, sign_is_open
from netsim.arrays import Array
from netsim.bounds import Count
from netsim.models import Linear

RANK = 1e-9
"""A singular value of exact gradients below this share of the largest is rounding."""
FOUND = 1e-11
"""Relative residual at which a start has succeeded, without noise."""
SMALLEST = 1e-3
"""Share of the largest second moment of the records: no direction starts with less."""
STEPS = 400
"""Steps of Levenberg and Marquardt's method."""
CALM = 2.0
"""Deviations above its mean at which χ² is what noise alone would leave."""
NOISY = 4
"""Groups of starts under noise, at most: what the row space of noisy gradients hides no start finds."""
EASIER, HARDER = 0.2, 4.0
"""Factors of the damping after a step that helps, and after one that does not."""
STALLED = 1e12
"""Damping beyond which no start moves any more."""
NOT_IDENTIFIABLE = (
    "the records are not identifiable from least squares, only AᵀA and Aᵀt: these are one of infinitely many batches "
    "with the same gradients everywhere"
)
IDENTIFIED = 1e-2
"""The deviation that public targets are taken to have."""


@dataclass(frozen=True)
class RowSpace:
    """All m records of a logistic loss from the gradients of several rounds, in the few dimensions that these
    span."""

    restarts: Count = 512
    """From how many random starts at most, until one explains the gradients."""
    at_once: Count = 32
    """How many starts are tried together."""
    name = "row-space"
    source = "this project; the rank of a batch's gradients: Kariyappa et al. 2023"
    needs = Needs(models=("logistic",), rounds=2)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:
        """Each replica has its own starts: its records do not depend on which others there are."""
        check_all(self, cases)
        seed = int(rng.integers(2**63))
        return [self._one(case, seed) for case in cases]

    def _one(self, case: Case, seed: int) -> Reconstruction:
        evidence, known = case
        product = Product.of([case])
        found = [
            self._solved(case, product.only(np.array([r])), r, np.random.default_rng((seed, evidence.agent, r)))
            for r in range(evidence.replicas)
        ]
        z, converged = np.array([one for one, _ in found]), np.array([success for _, success in found])
        # b of z = b·a, by the range of features or the prior, else 1; public labels are in no order that helps here
        labels = np.where(preference(known, z, np.ones(z.shape[:2]), evidence.exact) >= 0, 1.0, -1.0)
        features, targets = labels[..., None] * z, known.model.targets(labels)
        fit = misfit(case, features, targets).squared
        m, rounds = known.records, evidence.rounds
        left_open = ""
        if rounds <= m:
            left_open = f"{rounds} gradients do not determine {m} records: it takes {m + 1}"
        elif np.any(sign_is_open(replace(known, labels=None), features, labels, evidence.exact)):
            left_open = MIRRORED
        return Reconstruction.of(self.name, evidence, features, targets, fit, converged, left_open=left_open)

    def _solved(self, case: Case, product: Product, r: int, rng: np.random.Generator) -> tuple[Array, bool]:
        batch, exact = _Batch.of(case.evidence, case.known, r), case.evidence.exact
        best, least, enough = batch.whole(batch.starts(1, rng)[0]), np.inf, batch.enough
        if not exact:
            degrees = (batch.white.shape[0] - batch.records) * batch.white.shape[1]
            enough = 0.5 * (max(degrees, 0) + CALM * np.sqrt(2 * batch.white.size))
        for _ in range(0, self.restarts if exact else min(self.restarts, NOISY * self.at_once), self.at_once):
            unknowns, values = _least_squares(batch, batch.starts(self.at_once, rng))
            k = int(np.argmin(values))
            z, value = batch.whole(unknowns[k]), float(values[k])
            if not exact:  # maximum likelihood in all dimensions
                nothing = Gaussian(np.zeros((1, z.size)), np.zeros((1, z.size)))
                mode = minimize(Weighted(product, np.ones((1, len(z), 1)), nothing), z.reshape(1, 1, -1))
                z, value = mode.record.reshape(z.shape), float(mode.value[0, 0])
            if value < least:
                best, least = z, value
            if least <= enough:
                break
        return best, least <= enough


class _Batch(NamedTuple):
    """One replica: c = b L for unknowns b (starts, m·r) with the records' `scale` L in the `basis` V (r, d).

    `white` (T, d) is R G, `mixing` R, `along` (T, r) Θ Vᵀ Lᵀ, `along_basis` (T, r) R G Vᵀ M with a metric M of
    residuals: 1 under noise, else L⁻¹, so that no direction is lost beside a larger one; `shape` is L M, and `middle`
    (r,) the mean of b over records. `enough`: half the sum of squares at which a start has succeeded.
    """

    records: int
    basis: Array
    white: Array
    mixing: Array
    points: Array
    along: Array
    along_basis: Array
    scale: Array
    shape: Array
    middle: Array
    enough: float

    @classmethod
    def of(cls, evidence: Evidence, known: Known, r: int) -> "_Batch":
        whitener, m = Whitener.of(evidence), known.records
        gradients, points = evidence.without(known.penalty)[:, r], evidence.points[:, r]
        mixing = whitener.between
        white = mixing @ gradients
        _, sizes, basis = np.linalg.svd(white, full_matrices=False)
        size = min(m, len(sizes), max(1, int(np.sum(sizes > RANK * sizes[0]))))
        basis = basis[:size]
        scale, middle = _moments(gradients @ basis.T, points @ basis.T)
        metric = np.linalg.inv(scale) if evidence.exact else np.eye(size)
        along_basis = white @ basis.T @ metric
        degrees = max(1, along_basis.size - m * size)
        enough = 0.5 * (
            FOUND**2 * np.sum(along_basis**2) if evidence.exact else degrees + CALM * np.sqrt(2 * degrees)
        )
        along = points @ basis.T @ scale.T
        return cls(m, basis, white, mixing, points, along, along_basis, scale, scale @ metric, middle, float(enough))

    def starts(self, count: int, rng: np.random.Generator) -> Array:
        """b (count, m·r) with the mean and the second moment that the linear regression gives."""
        m, size = self.records, len(self.basis)
        if m != size:
            return (self.middle + rng.standard_normal((count, m, size))).reshape(count, -1)
        length = np.linalg.norm(self.middle)
        ahead = self.middle / length if length > 0 else np.eye(m)[0]
        into, out = _reflection(np.eye(m)[0], np.full(m, m**-0.5)), _reflection(ahead, np.eye(m)[0])
        turn = np.zeros((count, m, m))
        turn[:, 0, 0] = 1
        turn[:, 1:, 1:] = np.linalg.qr(rng.standard_normal((count, m - 1, m - 1)))[0]
        return np.sqrt(m) * (into @ turn @ out).reshape(count, -1)

    def residuals(self, unknowns: Array) -> Array:
        b = unknowns.reshape(len(unknowns), self.records, -1)
        predicted = np.einsum("sti,sir->str", self._slopes(b), b @ self.shape) / self.records
        return (self.along_basis + self._mixed(predicted)).reshape(len(b), -1)

    def jacobian(self, unknowns: Array) -> Array:
        b = unknowns.reshape(len(unknowns), self.records, -1)
        slopes = self._slopes(b) / self.records
        bent = slopes * (1 - self.records * slopes)
        found = -np.einsum("sti,tk,sir->strik", bent, self.along, b @ self.shape, optimize=True)
        found += np.einsum("sti,kr->strik", slopes, self.shape)
        return self._mixed(found.reshape(*found.shape[:2], -1)).reshape(len(b), -1, unknowns.shape[1])

    def whole(self, unknowns: Array) -> Array:
        """Z (m, d)."""
        return unknowns.reshape(self.records, -1) @ self.scale @ self.basis

    def _slopes(self, b: Array) -> Array:
        return np.asarray(expit(-np.einsum("sik,tk->sti", b, self.along)), dtype=np.float64)

    def _mixed(self, values: Array) -> Array:
        return np.einsum("ut,st...->su...", self.mixing, values)


def _moments(along_basis: Array, points: Array) -> tuple[Array, Array]:
    """L and the mean of b, from ∇f ≈ −z̄/2 + (ZᵀZ/4m) θ: LᵀL = ZᵀZ/m, z̄ = (mean of b) L, in the basis."""
    design = np.column_stack([np.ones(len(points)), points])
    found = np.linalg.lstsq(design, along_basis, rcond=1e-10)[0]
    middle, second = -2 * found[0], 2 * (found[1:] + found[1:].T)
    sizes, axes = np.linalg.eigh(second)
    top = max(float(np.max(np.abs(sizes))), 1e-12 * float(middle @ middle), np.finfo(np.float64).tiny)
    scale = (axes * np.sqrt(np.maximum(sizes, SMALLEST * top))) @ axes.T
    return scale, np.asarray(np.linalg.solve(scale, middle), dtype=np.float64)


def _reflection(a: Array, b: Array) -> Array:
    """The Householder matrix that exchanges unit vectors a and b."""
    v = a - b
    length = float(v @ v)
    return np.eye(len(a)) - (2 / length * np.outer(v, v) if length > 1e-24 else 0.0)


def _least_squares(batch: _Batch, start: Array) -> tuple[Array, Array]:
    """min ½‖r(u)‖² from each start: unknowns (starts, size) and values (starts,).

    It ends where the best value is enough, after `STEPS`, or where all have stalled. Damping is in units of the
    normal matrix's diagonal (Marquardt), so that the scale of an unknown does not matter.
    """
    x, r = start.copy(), batch.residuals(start)
    value: Array = 0.5 * np.sum(r * r, axis=1)
    damping: Array = np.full(len(start), 1e-2)
    for _ in range(STEPS):
        if np.min(value) <= batch.enough or np.min(damping) > STALLED:
            break
        j = batch.jacobian(x)
        normal: Array = np.matmul(j.swapaxes(1, 2), j)
        slope: Array = np.einsum("seu,se->su", j, r)
        diagonal = np.einsum("suu->su", normal)
        diagonal += damping[:, None] * (diagonal + 1e-3 * np.max(diagonal, axis=1, keepdims=True) + 1e-300)
        step = np.asarray(np.linalg.solve(normal, slope[..., None]), dtype=np.float64)[..., 0]
        trial = x - step
        ahead = batch.residuals(trial)
        lower: Array = 0.5 * np.sum(ahead * ahead, axis=1)
        better = lower < value
        damping = np.where(better, np.maximum(EASIER * damping, 1e-14), HARDER * damping)
        x, r = np.where(better[:, None], trial, x), np.where(better[:, None], ahead, r)
        value = np.where(better, lower, value)
    return x, value


@dataclass(frozen=True)
class LeastSquaresGram:
    """Second moments that a batch of least squares gives away: H = c AᵀA/m and h = c Aᵀt/m, and nothing else.

    A reconstruction is one of the batches that have them.
    """

    name = "least-squares-gram"
    source = "this project; that only H and h are identifiable is folklore"
    needs = Needs(models=("linear",), rounds=2)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:  # noqa: ARG002
        check_all(self, cases)
        return [_reconstructed(self.name, case) for case in cases]


def _reconstructed(name: str, case: Case) -> Reconstruction:
    evidence, known = case
    model = known.model
    assert isinstance(model, Linear)
    between = Whitener.of(evidence).between
    gradients = evidence.without(known.penalty)
    ones = between.sum(axis=1)
    pairs = [
        _from_moments(between @ gradients[:, r], between @ evidence.points[:, r], ones, known, model.scale)
        for r in range(evidence.replicas)
    ]
    features, targets = np.array([a for a, _ in pairs]), np.array([t for _, t in pairs])
    converged = None
    if not evidence.exact:
        # the maximum likelihood, which is flat along Q, from a pair near it
        product, m = Product.of([Case(evidence, replace(known, labels=None))]), known.records
        start = np.concatenate([features, targets], axis=-1)
        nothing = Gaussian(*(np.zeros((1, m * product.entries)) for _ in range(2)))
        mode = minimize(Weighted(product, np.zeros((1, m, 1)), nothing), start.reshape(len(start), 1, -1))
        found, converged = mode.record.reshape(start.shape), mode.converged[:, 0]
        features, targets = found[..., :-1], found[..., -1:]
    features, targets = _turned(features, targets, known)
    if known.records == 1 and known.labels is None:
        likes = preference(known, features[:, 0], targets[:, 0, 0], evidence.exact)
        sign = np.where(likes < 0, -1.0, 1.0)[:, None, None]
        features, targets = sign * features, sign * targets
    left_open = NOT_IDENTIFIABLE
    if (rounds := evidence.rounds) <= known.records:
        left_open = (
            f"{rounds} gradients do not determine the second moment of {known.records} records: it takes one more"
        )
    elif known.records == 1:
        mirrored = sign_is_open(known, features[:, 0], targets[:, 0, 0], evidence.exact)
        left_open = MIRRORED if np.any(mirrored) else ""
    fit = misfit(case, features, targets).squared
    return Reconstruction.of(name, evidence, features, targets, fit, converged, left_open=left_open)


def _from_moments(white: Array, points: Array, ones: Array, known: Known, scale: float) -> tuple[Array, Array]:
    """One A (m, width) and t (m, 1), from RG, RΘ (rounds, dimension) and R1."""
    _, sizes, basis = np.linalg.svd(white, full_matrices=False)
    size = min(known.records, len(sizes), max(1, int(np.sum(sizes > RANK * sizes[0]))))
    basis = basis[:size]
    design = np.column_stack([points @ basis.T, -ones])
    found = np.linalg.lstsq(design, white @ basis.T, rcond=1e-12)[0]
    second, offset = (found[:-1] + found[:-1].T) / 2, found[-1]
    values, axes = np.linalg.eigh(second)
    root = np.sqrt(np.maximum(values, RANK * np.max(np.abs(values))) * known.records / scale)
    features, targets = np.zeros((known.records, white.shape[1])), np.zeros((known.records, 1))
    features[:size] = (root * axes).T @ basis
    targets[:size, 0] = known.records / scale * (axes.T @ offset) / root
    return features, targets


def _turned(features: Array, targets: Array, known: Known) -> tuple[Array, Array]:
    """The pair (QA, Qt) of largest prior density; as it is without a prior."""
    if known.prior is None:
        return features, targets
    middle, variance = known.prior.pooled
    means = np.repeat(middle[None], known.records, axis=0)
    if known.labels is not None:
        means = np.array([known.prior.law(float(label))[0] for label in known.labels])
    pull = np.einsum("ip,rjp->rij", means / variance, features)  # what row i of QA should be like
    if known.labels is not None:
        pull = pull + np.einsum("i,rj->rij", known.labels, targets[..., 0]) / IDENTIFIED**2
    elif known.prior.target is not None:
        center, spread = known.prior.target
        pull = pull + center / spread * targets[..., 0][:, None, :]
    left, _, right = np.linalg.svd(pull)
    turn = left @ right
    return turn @ features, turn @ targets
