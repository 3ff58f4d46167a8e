"""The gradient of a batch whose records are unknown draws of a public population, as a Gaussian.

At the points θ_1 … θ_T a record has the gradients g = (g_1, …, g_T), with mean ḡ and covariance S over the
population: the same record in all rounds, hence S reaches across rounds. The mean gradient of k unknown records is
about N(ḡ, S/k). In units of the noise (whitened) S is taken from n public records, and since n is small beside the
T·d coordinates, with Ledoit and Wolf's shrinkage to a multiple of the identity: (1 − λ)S + λ(tr S/p)I. Densities
need the n directions only.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from attacks.reconstruction.attack import Prior
from attacks.reconstruction.residuals import Whitener
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.models import Model

SMALL = 1e-12
"""Of the largest eigenvalue: what is below is rounding."""


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
        told = np.concatenate([np.full(len(each), label) for each, label in zip(rows, labels, strict=True)])
        weights = [
            np.full(len(each), prior.share[label] / len(each)) for each, label in zip(rows, labels, strict=True)
        ]
        found = np.concatenate(weights)
        return cls(np.concatenate(rows), model.targets(told), found / np.sum(found))

    def halves(self) -> tuple["Population", "Population"]:
        """Every second record: one half to learn from, the other to judge by."""
        return self._part(slice(0, None, 2)), self._part(slice(1, None, 2))

    def _part(self, chosen: slice) -> "Population":
        weights = self.weights[chosen]
        return Population(self.features[chosen], self.targets[chosen], weights / np.sum(weights))

    def gradients(self, model: Model, points: Array) -> Array:
        """Of each record at each of `points` (rounds, dimension), (rounds, n, dimension)."""
        return model.gradient(points[:, None, :], self.features[:, None, :], self.targets[:, None, :])

    def draw(self, gradients: Array, batches: int, records: int, rng: np.random.Generator) -> Array:
        """Mean gradients of batches of so many of its records: (batches, p) of `gradients` (n, p)."""
        if not records:
            return np.zeros((batches, gradients.shape[-1]))
        counts = rng.multinomial(records, self.weights, size=batches) / records
        return np.einsum("bn,np->bp", counts, gradients)


@dataclass(frozen=True)
class BatchLaw:
    """ḡ (p,) and S = Σ_j sizes_j v_j v_jᵀ + rest·I, with orthonormal v_j = directions[j]; in units of the noise."""

    mean: Array
    directions: Array
    sizes: Array
    rest: float

    @classmethod
    def of(cls, gradients: Array, weights: Array) -> "BatchLaw":
        """From the whitened gradients (n, p) of a population's records."""
        mean = np.einsum("n,np->p", weights, gradients)
        rows = np.sqrt(weights)[:, None] * (gradients - mean)
        inner = np.einsum("np,mp->nm", rows, rows)
        share = _shrinkage(inner, weights, gradients.shape[-1])
        sizes, vectors = np.linalg.eigh(inner)
        kept = sizes > SMALL * max(float(sizes[-1]), 0.0)
        directions = np.einsum("nk,np->kp", vectors[:, kept] / np.sqrt(sizes[kept]), rows)
        rest = share * float(np.sum(sizes[kept])) / gradients.shape[-1]
        return cls(mean, directions, (1 - share) * sizes[kept], rest)

    def log_density(self, values: Array, mean: Array, spread: float) -> Array:
        """ln N(values; mean, I + spread·S) but for a constant, (…) of values (…, p)."""
        residual = values - mean
        base = 1 + spread * self.rest
        inside = np.einsum("...p,kp->...k", residual, self.directions)
        gain = spread * self.sizes / base
        squares = np.einsum("...p,...p->...", residual, residual)
        explained = np.einsum("...k,k->...", inside**2, gain / (1 + gain))
        log_det = residual.shape[-1] * np.log(base) + np.sum(np.log1p(gain))
        return -((squares - explained) / base + log_det) / 2


def _shrinkage(inner: Array, weights: Array, p: int) -> float:
    """Ledoit and Wolf's λ (2004), from the rows' inner products, scaled by √weights."""
    total = float(np.sum(inner**2))
    level = float(np.trace(inner)) / p
    distance = total - p * level**2
    fourth = float(np.sum(np.einsum("nn->n", inner) ** 2))  # Σ w² ‖x‖⁴
    error = fourth - float(np.sum(weights**2)) * total
    return float(np.clip(error / distance, 0.0, 1.0)) if distance > 0 else 1.0


def rows_of(whitener: Whitener, replica: int) -> Callable[[Array], Array]:
    """Gradients of one replica in units of the noise, as rows: (rounds, n, dimension) to (n, rounds · dimension)."""
    own = replace(whitener, unit=whitener.unit[replica : replica + 1])

    def rows(values: Array) -> Array:
        white = own(values)
        return np.moveaxis(white, 0, 1).reshape(white.shape[1], -1)

    return rows
