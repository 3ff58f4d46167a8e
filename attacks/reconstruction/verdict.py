"""The attacker's own verdict on its reconstruction, without the truth.

In this order, for each replica:

- *failed to optimize*: the optimizer did not converge, or the residual is larger than noise explains: χ² above its
  quantile, so that the true records would be called so with probability `FALSE_ALARM` (of exact evidence: a relative
  residual above `RELATIVE`). A posterior mode under a prior that the record is far from leaves more, and may be
  called so too.
- *not identifiable*: it fits, and so does something else whatever the noise: the attack states what is `open`, or
  some direction of the records changes no gradient (the Jacobian's rank at the candidate, in its first replica).
- *defended*: noise alone is in the way: the posterior is as wide as the prior, the expected skill at most `WIDE`.
- *not identifiable* too, where `restarts` fit as well and are as far apart as two draws of the prior.
- *recovered*, where the expected skill is at least `CLOSE`; else *recovered in part*.

Expected skill is 1 − Σ posterior variance/Σ prior variance: of the attack's own `spread` and in Laplace's
approximation (Jᵀ Σ⁻¹ J + prior⁻¹)⁻¹ at the candidate, the smaller of the two. It is the model's expectation; the
scored verdict is what came of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from attacks.reconstruction.attack import Case, Known, Reconstruction, Whitener, misfit
from attacks.reconstruction.informed import alone
from netsim.arrays import Array, Mask

Name = Literal["failed to optimize", "not identifiable", "defended", "recovered in part", "recovered"]
FAILED: Final = "failed to optimize"
OPEN: Final = "not identifiable"
DEFENDED: Final = "defended"
PARTLY: Final = "recovered in part"
RECOVERED: Final = "recovered"
STEP = 1e-20
REAL_STEP = 1e-6
SINGULAR = 1e-14
LARGEST = 40_000_000
"""Numbers of a Jacobian, at most: of a larger one neither rank nor posterior is computed."""


FALSE_ALARM, RELATIVE = 1e-3, 1e-4
"""Probability, for each replica, that true records are judged not to fit, and the residual of exact evidence."""
WIDE, CLOSE = 0.1, 0.9
"""Skills up to which a record is defended, and from which it is recovered."""
RANK = 1e-9
"""Of the largest singular value: what is below is 0."""


@dataclass(frozen=True)
class _Seen:
    """The attacker's own verdict: `names` for each replica; `rank` of `unknowns`, None where it was not computed."""

    names: tuple[Name, ...]
    rank: int | None
    unknowns: int


def seen(case: Case, found: Reconstruction, restarts: Sequence[Reconstruction] = ()) -> _Seen:
    """The verdict that needs no truth, on the estimates that the attack used. `restarts`: other candidates with
    objectives as good."""
    case = used(case, found)
    fits = explains(case, found)
    jacobian, rank, unknowns = _sensitivity(case, found), None, 0
    if jacobian is not None:
        sizes, unknowns = np.linalg.svd(jacobian, compute_uv=False), jacobian.shape[1]
        rank = int(np.sum(sizes > RANK * sizes[0])) if sizes.size and sizes[0] > 0 else 0
    skill = _expected_skill(case, found, jacobian)
    open_ = bool(found.open) or (rank is not None and rank < unknowns)
    apart = np.zeros(case.evidence.replicas, dtype=np.bool_)  # another candidate fits as well and is as far as two
    before = _prior_variance(case.known)  # draws of the prior are from each other
    for other in restarts:
        cost = np.mean((found.features[:, :, None] - other.features[:, None]) ** 2, axis=-1)
        nearest = np.mean(np.min(cost, axis=2), axis=1)
        scale = np.mean(before) if before is not None else np.mean(found.features**2)
        apart |= explains(case, other) & (nearest > scale)

    def name(r: int) -> Name:
        if not (fits[r] and found.converged[r]):
            return FAILED
        if open_:
            return OPEN
        if skill[r] <= WIDE:
            return DEFENDED
        if apart[r]:
            return OPEN
        return RECOVERED if skill[r] >= CLOSE else PARTLY

    return _Seen(tuple(name(r) for r in range(len(fits))), rank, unknowns)


def used(case: Case, found: Reconstruction) -> Case:
    """The case with the estimates that an attack used; of an informed attacker, of the record that is left."""
    if case.known.others is not None and found.features.shape[1] == 1 < case.known.records:
        case = alone(case)
    if found.queries == case.evidence.queries:
        return case
    positions = [case.evidence.queries.index(query) for query in found.queries]
    return Case(case.evidence.only(positions), case.known)


def explains(case: Case, found: Reconstruction) -> Mask:
    """Whether the residual is what noise explains, (replicas,)."""
    if not np.all(np.isfinite(found.features)):
        return np.zeros(case.evidence.replicas, dtype=np.bool_)
    left = misfit(case, found.features, found.targets)
    if case.evidence.exact:
        return left.relative <= RELATIVE
    return left.squared <= left.quantile(FALSE_ALARM)


def _sensitivity(case: Case, found: Reconstruction) -> Array | None:
    """∂(whitened gradients of all rounds)/∂(records) at the first replica's candidate, (rounds·dimension, unknowns).

    Unknown are the features, and in a regression the targets; labels are taken for known. None where it is too large,
    or the candidate not finite.
    """
    evidence, known = case
    m, width = known.records, known.model.width
    free = 0 if known.model.classes else known.model.outputs
    unknowns = m * (width + free)
    if unknowns * evidence.rounds * evidence.points.shape[-1] > LARGEST or not np.all(np.isfinite(found.features[0])):
        return None
    moves = np.eye(unknowns).reshape(unknowns, m, width + free)
    to_features = moves[..., :width]
    to_targets = moves[..., width:] if free else np.zeros((unknowns, m, known.model.outputs))
    points, features, targets = evidence.points[:, :1], found.features[0], found.targets[0]
    if known.model.analytic:
        moved = known.model.gradient(points, features + 1j * STEP * to_features, targets + 1j * STEP * to_targets)
        changes = np.imag(moved) / STEP
    else:
        ahead, behind = (
            known.model.gradient(points, features + h * to_features, targets + h * to_targets)
            for h in (REAL_STEP, -REAL_STEP)
        )
        changes = (ahead - behind) / (2 * REAL_STEP)
    whitener = Whitener.of(evidence)
    white = replace(whitener, unit=whitener.unit[:1])(changes)
    return np.moveaxis(white, 1, -1).reshape(-1, unknowns)


def _prior_variance(known: Known) -> Array | None:
    """Variance of each coordinate before anything is observed, (width,): the prior's, or of the declared range."""
    if known.prior is not None and known.prior.mean:
        return known.prior.pooled[1]
    if known.value_range is not None:
        low, high = known.value_range
        return np.full(known.model.width, (high - low) ** 2 / 12)
    return None


def _expected_skill(case: Case, found: Reconstruction, jacobian: Array | None) -> Array:
    """1 − Σ posterior variance/Σ prior variance, (replicas,).

    The smaller one of the attack's own spread, which may be given a label that is itself a guess, and of the
    information at the first replica's candidate.
    """
    replicas = case.evidence.replicas
    before = _prior_variance(case.known)
    if case.evidence.exact and found.spread is None:
        return np.ones(replicas)
    if before is None:
        return np.full(replicas, np.nan)
    skill = np.full(replicas, np.nan)
    if found.spread is not None:
        skill = 1 - np.mean(found.spread**2, axis=(1, 2)) / np.mean(before)
    if jacobian is None:
        return skill
    # the posterior variance of a feature, on average: the diagonal of (JᵀJ + prior⁻¹)⁻¹
    m, unknowns = case.known.records, jacobian.shape[1]
    precision = np.tile(np.concatenate([1 / before, np.zeros(unknowns // m - len(before))]), m)
    sizes, axes = np.linalg.eigh(np.einsum("nu,nv->uv", jacobian, jacobian) + np.diag(precision))
    inverse = 1 / np.maximum(sizes, SINGULAR * sizes[-1])
    variance: Array = np.einsum("uv,v->u", axes**2, inverse).reshape(m, -1)[:, : len(before)]
    return np.fmin(skill, 1 - float(np.mean(variance)) / float(np.mean(before)))
