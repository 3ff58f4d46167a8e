"""Second moments that a batch of least squares gives away: H = c AᵀA/m and h = c Aᵀt/m, and nothing else.

∇f(θ) = Hθ − h whatever the rounds, and (QA, Qt) has the same H and h for every orthogonal Q (m, m): for m ≥ 2 the
records are not identifiable, from any number of exact gradients. H has rank m, so it does not take d + 1 rounds: with
an orthonormal basis V (m, d) of the gradients' row space, V∇f_t = S Vθ_t − Vh is a linear regression with m + 1
unknowns for each of m outputs, and m + 1 gradients at generic points give H = VᵀSV and h.

The answer is one of the pairs (A, t) with that H and h. With a prior (public records) it is the one of largest prior
density: for a Gaussian of one covariance the quadratic terms do not depend on Q, and the rest is a Procrustes
problem. Compare H and h with the truth, not A (`attacks.score.RecordScore.gram_error`). Under noise the start above
goes on to the maximum likelihood.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attacks.reconstruction.attack import Case, Known, Needs, Reconstruction, check_all
from attacks.reconstruction.map_estimate import Gaussian, Product, Weighted, minimize
from attacks.reconstruction.record_hypotheses import MIRRORED, preference, sign_is_open
from attacks.reconstruction.residuals import Whitener, misfit
from netsim.arrays import Array
from netsim.models import Linear

NOT_IDENTIFIABLE = (
    "the records are not identifiable from least squares, only AᵀA and Aᵀt: these are one of infinitely many batches "
    "with the same gradients everywhere"
)
IDENTIFIED = 1e-2
"""The deviation that public targets are taken to have."""
RANK = 1e-9
"""A singular value below this share of the largest is rounding."""


@dataclass(frozen=True)
class LeastSquaresGram:
    """H and h of a batch of least squares, as one of the batches that have them."""

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
