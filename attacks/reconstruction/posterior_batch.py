"""The mode of the posterior of a small batch: as `posterior`, with every assignment of labels as a hypothesis.

Records of one label start apart, at draws of the prior, for their common mean is a saddle; a logistic batch also
starts where its row space says (`row_space`), a batch of least squares where its second moment does. The best of all
starts by −ln p is kept for each assignment, and the best assignment by −ln p with the width of its mode.

Records have no order, so that an assignment of n_k records to each label k stands for m!/∏ n_k! ordered ones, each of
prior probability ∏ share_k^(n_k). Within one of these, records of equal labels may change places: ∏ n_k! equal modes,
m! in all whatever the assignment, where the evidence keeps these records apart. Where it does not they are one mode.
What lies between is counted by how far two modes overlap, exp(−D²/8) at D deviations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from attacks.reconstruction.attack import Case, Known, Needs, Reconstruction, check_all
from attacks.reconstruction.least_squares_gram import LeastSquaresGram
from attacks.reconstruction.map_estimate import Batch, Gaussian, MAPEstimate, Positions, minimize
from attacks.reconstruction.product import MODELS, Product
from attacks.reconstruction.record_hypotheses import Hypotheses
from attacks.reconstruction.row_space import RowSpace
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.models import Linear, Logistic

ASSIGNMENTS = 256
"""Of labels to records, that are tried at most."""
APART = 0.5
"""Starts are draws of the prior with this share of its deviation."""


@dataclass(frozen=True)
class PosteriorBatch:
    """Small batches of linear, logistic and softmax models. `restarts`: draws of the prior for each assignment."""

    restarts: int = 4
    name = "posterior-batch"
    source = "this project, with known noise; the estimator is textbook Bayes"

    @property
    def needs(self) -> Needs:
        return Needs(models=MODELS, law=True, prior=True)

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
        j = Batch(product, m, targets, prior)
        rng = np.random.default_rng((seed, evidence.agent))
        starts = [*self._draws(product, prior, rng), *_informed(case, targets, rng)]
        mode: MAPEstimate | None = None
        everyone = np.arange(evidence.replicas)
        for start in starts:
            found = minimize(j, np.where(j.free, start, prior.mean))
            if mode is None:
                mode = found
            else:
                mode.improve(everyone, found)
        assert mode is not None
        total = mode.strength + prior.precision
        score = mode.value + surprise + 0.5 * np.sum(np.log(np.where(total > 0, total, 1.0)), axis=-1)
        score -= _multiplicity(mode.record, total, places)
        chosen = np.argmin(score, axis=1)
        record = mode.record[everyone, chosen].reshape(evidence.replicas, m, -1)
        return Reconstruction(
            self.name,
            evidence.agent,
            record[..., :width],
            record[..., width:] if isinstance(known.model, Linear) else targets[chosen],
            score[everyone, chosen],
            mode.converged[everyone, chosen],
            evidence.queries,
        )

    def _draws(self, product: Product, prior: Gaussian, rng: np.random.Generator) -> list[Array]:
        """Alike for all replicas, (1, hypotheses, m·entries), broadcast."""
        deviation = 1 / np.sqrt(np.where(prior.precision > 0, prior.precision, np.inf))
        shape = (len(product.points), *prior.mean.shape)
        draws = [prior.mean + APART * deviation * rng.standard_normal(prior.mean.shape) for _ in range(self.restarts)]
        return [np.broadcast_to(draw, shape).copy() for draw in draws]


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
    """Targets (assignments, m, outputs), the prior of all records side by side, −ln of what it says of labels in
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
