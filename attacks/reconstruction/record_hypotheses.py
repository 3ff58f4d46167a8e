"""Hypotheses of one record: its label, a Gaussian law of its features, its mirror image, its direction and length.

Least squares and logistic losses have the same gradients for both, and so has a softmax of two outputs without an
intercept. A range of one sign distinguishes them; another range only where one of them lies outside; a prior as far
as ln p(record)/p(mirror image) is decisive. Public labels decide.

G = slope ⊗ x has rank 1 over all rounds and outputs: the first right singular vector u of the whitened gradients is
x's direction, the maximum likelihood one where slopes are free, and exact without noise. What is left is a number ρ,
x = ρu:

- with an intercept the last entry of x is 1: ρ = 1/u_last;
- least squares: uᵀG_t/c = ρ²(uᵀθ_t) − ρt for every round is linear in ρ² and ρt, c the loss's scale: two rounds do;
- else uᵀG_t = ρ·ℓ'(ρ Θ_t u): one unknown, found by looking along a grid of lengths and by Newton's method. At θ = 0
  the slope is known and the length with it. Where slopes saturate a second length may explain one gradient as well;
  more rounds decide.
"""

import math
from typing import NamedTuple

import numpy as np

from attacks.reconstruction.attack import FLOOR, Known, Prior
from attacks.reconstruction.map_estimate import Gaussian, Product
from netsim.arrays import Array, Mask
from netsim.models import Linear


class Hypotheses(NamedTuple):
    """One for each label that is possible, or a single one where the target is a number.

    `targets` (hypotheses, outputs), `prior` of x, `surprise` (hypotheses,): −ln of the prior probability of the label
    and of the density's constant, so that J + surprise compares hypotheses. `limits`: the least and the largest value
    that the prior allows, (entries,) each, where features have a declared range.
    """

    targets: Array
    prior: Gaussian
    surprise: Array
    limits: tuple[Array, Array] | None = None

    @property
    def choices(self) -> int:
        """Number of hypotheses."""
        return len(self.surprise)

    def repeated(self, times: int) -> "Hypotheses":
        """All of them so many times, one after the other."""
        prior = Gaussian(*(np.tile(part, (times, 1)) for part in self.prior))
        return Hypotheses(np.tile(self.targets, (times, 1)), prior, np.tile(self.surprise, times))

    @classmethod
    def of(cls, product: Product, known: Known) -> "Hypotheses":
        """All labels with the prior's law of each, or, without a prior, with none; of least squares one number, of
        mean and variance as among the public records."""
        labels = list(known.model.classes) if known.labels is None else [float(known.labels[0])]
        if isinstance(known.model, Linear):
            mean, precision = np.zeros((1, product.entries)), np.zeros((1, product.entries))
            if known.prior is not None:
                center, variance = known.prior.pooled
                middle, spread = _target_moments(known.prior)
                mean[0], precision[0] = np.append(center, middle), 1 / np.append(variance, spread)
            if known.labels is not None:
                mean[0, -1] = float(known.labels[0])
            return cls(np.zeros((1, 1)), Gaussian(mean, precision), np.zeros(1))
        targets = known.model.targets(np.array(labels)[:, None])[:, 0]
        mean = np.ones((len(labels), product.entries))
        precision = np.zeros_like(mean)
        surprise = np.zeros(len(labels))
        if known.prior is not None:
            for k, label in enumerate(labels):
                center, variance, share = known.prior.law(label)
                mean[k, : known.model.width], precision[k, : known.model.width] = center, 1 / variance
                surprise[k] = 0.5 * float(np.sum(np.log(variance))) - math.log(share)
        if known.prior is None or known.value_range is None:  # a prior alone is cut off at a range
            return cls(targets, Gaussian(mean, precision), surprise)
        low, high = np.full(product.entries, -np.inf), np.full(product.entries, np.inf)
        low[: known.model.width], high[: known.model.width] = known.value_range
        return cls(targets, Gaussian(mean, precision), surprise, (low, high))


def _target_moments(prior: Prior) -> tuple[float, float]:
    """Mean and variance of a target: as in the prior, or of its labels taken for numbers."""
    if prior.target is not None:
        return prior.target
    labels = np.array(prior.labels)
    shares = np.array([prior.share[label] for label in prior.labels])
    middle = float(np.sum(shares * labels))
    return middle, float(np.sum(shares * (labels - middle) ** 2)) + FLOOR


DECISIVE = math.log(1000)
"""ln of the odds from which a prior decides."""
OUTSIDE = 1e-6
"""Share of a range's width: so far outside is not rounding."""


def _one_signed(known: Known) -> bool:
    """Whether no feature can have the other sign."""
    return known.value_range is not None and (known.value_range[0] >= 0 or known.value_range[1] <= 0)


def _outside(known: Known, features: Array) -> Array:
    """Squared distance from the declared range, in units of its width, (…); 0 without one. `features` (…, width)."""
    if known.value_range is None:
        return np.zeros(features.shape[:-1])
    low, high = known.value_range
    return np.sum(((np.clip(features, low, high) - features) / (high - low)) ** 2, axis=-1)


def _surprise(known: Known, features: Array, labels: Array) -> Array:
    """−ln of the prior's density of records (…, width) with labels or targets `labels` (…), but for a constant."""
    assert known.prior is not None
    if not known.model.classes:
        center, variance = known.prior.pooled
        middle, spread = _target_moments(known.prior)
        return 0.5 * (np.sum((features - center) ** 2 / variance, axis=-1) + (labels - middle) ** 2 / spread)
    found = np.zeros(features.shape[:-1])
    for label in known.model.classes:
        center, variance, share = known.prior.law(label)
        own = 0.5 * np.sum((features - center) ** 2 / variance + np.log(variance), axis=-1) - math.log(share)
        found = np.where(labels == label, own, found)
    return found


def preference(known: Known, features: Array, labels: Array, exact: bool) -> Array:
    """ln of the odds of records (…, width) with labels or targets `labels` (…) against their mirror images, (…).

    Infinite where a range decides. `exact`: features have no errors, so that one outside the range is impossible;
    with errors that is a hint, worth 1 at most.
    """
    far = _outside(known, -features) - _outside(known, features)
    if _one_signed(known):
        return np.where(far == 0, 0.0, np.copysign(np.inf, far))
    odds = np.clip(far, -1.0, 1.0)
    if known.prior is not None:
        mirrored = sum(known.model.classes) - labels
        odds = odds + _surprise(known, -features, mirrored) - _surprise(known, features, labels)
    if not exact:
        return odds
    own, other = _outside(known, features) > OUTSIDE**2, _outside(known, -features) > OUTSIDE**2
    return np.where(own == other, odds, np.where(own, -np.inf, np.inf))


def sign_is_open(known: Known, features: Array, labels: Array, exact: bool) -> Mask:
    """Mask of where nothing that is known decides for a record against its mirror image, (…)."""
    if known.labels is not None:
        return np.zeros(features.shape[:-1], np.bool_)
    return preference(known, features, labels, exact) < DECISIVE


IMPOSSIBLE = 1e6
"""In units of −ln p: what is outside a range, where nothing has errors."""


def implausibility(known: Known, features: Array, exact: bool) -> Array:
    """Distance of features (…, width) from what is known of them, (…)."""
    far = _outside(known, features)
    if _one_signed(known) or known.prior is None:
        return far
    impossible = np.where(exact & (far > OUTSIDE**2), IMPOSSIBLE * (1 + far), 0.0)
    mean, variance = known.prior.pooled  # of any label: less is lost where a record is like no class
    return np.sum((features - mean) ** 2 / variance, axis=-1) + impossible


LENGTHS = 160
"""Lengths on the grid, from the shortest that slopes of at most √2 allow."""
LONGEST = 1e6
"""Multiple of the shortest."""
POLISH = 40
"""Newton steps."""
SAME = 1e-6
"""Relative: lengths that differ by less are one."""
TIED = 2.0
"""Squared residuals that, under noise, differ by less do not distinguish two lengths or records."""
AS_GOOD = 1e-9
"""Relative to the gradients: a second length that leaves so little more explains them as well."""


class _RankOne(NamedTuple):
    """`record` (rows, hypotheses, entries), `value` (rows, hypotheses) its squared misfit along u in units of
    the noise, and `twofold` (rows, hypotheses): another length explains the gradients as well."""

    record: Array
    value: Array
    twofold: Mask


def rank_one(product: Product, hypotheses: Hypotheses) -> _RankOne:
    """A record for every hypothesis."""
    targets, white = hypotheses.targets, np.einsum("rst,rtcp->rscp", product.between, product.gradients)
    # u (rows, seen), of length 1 and either sign
    u = np.array([np.linalg.svd(one.reshape(-1, product.seen), full_matrices=False)[2][0] for one in white])
    if isinstance(product.model, Linear):
        return _least_squares(product, product.model.scale, u)
    if product.entries == product.model.width:
        return _searched(product, u, targets)
    last = np.where(np.abs(u[:, -1:]) > 1e-300, u[:, -1:], 1e-300)  # with an intercept
    lengths = np.repeat(1 / last, len(targets), axis=1)[..., None]
    value = _Lengths.of(product, u, targets).misfits(lengths)[..., 0]
    return _RankOne(np.repeat((u / last)[:, None], len(targets), axis=1), value, np.zeros(value.shape, np.bool_))


def _least_squares(product: Product, scale: float, u: Array) -> _RankOne:
    """Weighted least squares of uᵀG/c on uᵀθ and −1 gives ρ² and ρt."""
    white = product.between
    along_u = np.einsum("rst,rtp,rp->rs", white, product.gradients[:, :, 0] / scale, u)
    along = np.einsum("rst,rtp,rp->rs", white, product.points[:, :, 0, : product.seen], u)
    ones = -np.sum(white, axis=2)
    design = np.stack([along, ones], axis=-1)
    found = np.einsum("rkt,rt->rk", np.linalg.pinv(design, rcond=1e-12), along_u)
    length = np.sqrt(np.maximum(found[:, 0], 1e-300))
    residual = along_u - np.einsum("rtk,rk->rt", design, found)
    record = np.concatenate([length[:, None] * u, (found[:, 1] / length)[:, None]], axis=-1)
    value = np.sum(residual**2, axis=-1) * (scale / product.unit) ** 2
    singular = np.linalg.svd(design, compute_uv=False)
    unknown = (singular[:, -1] <= 1e-10 * singular[:, 0]) | (found[:, 0] <= 0)
    return _RankOne(record[:, None], value[:, None], unknown[:, None])


def _searched(product: Product, u: Array, targets: Array) -> _RankOne:
    """Two best minima along the grid, polished; the shorter one where both explain the gradients."""
    size = np.max(np.linalg.norm(product.gradients, axis=(-2, -1)), axis=1) / np.sqrt(2)
    half = np.geomspace(1.0, LONGEST, LENGTHS)
    grid = np.where(size > 0, size, 1.0)[:, None] * np.concatenate([-half[::-1], half])
    along = _Lengths.of(product, u, targets)
    found = np.concatenate([along.of_row(r).misfits(grid[r][None, None]) for r in range(len(u))])
    ends = np.pad(found, ((0, 0), (0, 0), (1, 1)), constant_values=np.inf)
    low = (found <= ends[..., :-2]) & (found < ends[..., 2:])  # the two lowest local minima; one of them twice
    lowest = np.argsort(np.where(low, found, np.inf), axis=-1, kind="stable")[..., :2]
    second = np.take_along_axis(low, lowest[..., 1:], axis=-1)
    lowest[..., 1:] = np.where(second, lowest[..., 1:], lowest[..., :1])
    starts = np.take_along_axis(np.broadcast_to(grid[:, None], found.shape), lowest, axis=2)
    polished = along.polished(starts)
    value = along.misfits(polished)
    noisy = product.unit == 1
    slack: Array = (AS_GOOD * np.linalg.norm(product.gradients.reshape(len(u), -1), axis=1) / product.unit) ** 2
    equal = np.abs(value[..., 0] - value[..., 1]) <= np.where(noisy, np.maximum(slack, TIED), slack)[:, None]
    apart = np.abs(polished[..., 0] - polished[..., 1]) > SAME * np.max(np.abs(polished), axis=-1)
    order = np.where(equal[..., None], np.argsort(np.abs(polished), axis=-1), np.argsort(value, axis=-1))[..., :1]
    length = np.take_along_axis(polished, order, axis=-1)
    return _RankOne(length * u[:, None], np.take_along_axis(value, order, axis=-1)[..., 0], equal & apart)


class _Lengths(NamedTuple):
    """x = ρu as a function of ρ alone: `along_u` uᵀG and `along` Θu (rows, 1, 1, rounds, outputs), R in `white`."""

    product: Product
    along_u: Array
    along: Array
    white: Array
    targets: Array

    @classmethod
    def of(cls, product: Product, u: Array, targets: Array) -> "_Lengths":
        along_u, along = (
            np.einsum("rtcp,rp->rtc", part[..., : product.seen], u)[:, None, None]
            for part in (product.gradients, product.points)
        )
        white = product.between / product.unit[:, None, None]
        return cls(product, along_u, along, white, targets[None, :, None, None])

    def of_row(self, r: int) -> "_Lengths":
        along_u, along, white = (part[r : r + 1] for part in (self.along_u, self.along, self.white))
        return self._replace(along_u=along_u, along=along, white=white)

    def misfits(self, lengths: Array) -> Array:
        """Squared whitened residuals, of lengths (rows, hypotheses, lengths)."""
        return np.sum(self._mixed(self.along_u - lengths[..., None, None] * self._slope(lengths)) ** 2, axis=(-2, -1))

    def polished(self, lengths: Array) -> Array:
        """Gauss-Newton on the length; a step is at most half of it, so that the sign stays."""
        for _ in range(POLISH):
            rho = lengths[..., None, None]
            slope = self._slope(lengths)
            bent = self.product.bend(rho * self.along)(np.broadcast_to(self.along, slope.shape))
            residual, moved = self._mixed(self.along_u - rho * slope), -self._mixed(slope + rho * bent)
            curvature = np.sum(moved**2, axis=(-2, -1))
            step = -np.sum(residual * moved, axis=(-2, -1)) / np.where(curvature > 0, curvature, np.inf)
            lengths = lengths + np.clip(step, -0.5 * np.abs(lengths), 0.5 * np.abs(lengths))
        return lengths

    def _slope(self, lengths: Array) -> Array:
        """ℓ' at x = ρu, (rows, hypotheses, lengths, rounds, outputs)."""
        return self.product.slope(lengths[..., None, None] * self.along, self.targets)

    def _mixed(self, values: Array) -> Array:
        return np.einsum("rst,rlktc->rlksc", self.white, values)


MIRRORED = (
    "whether it is this record or its mirror image, −features with the other label: both have the same gradients"
)
