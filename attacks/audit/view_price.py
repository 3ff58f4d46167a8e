"""The price of a view: ε of all that one listener sees, where that is linear in gradients and noise.

A view is O = o + C g + B z (`attacks.probe.MessageMap`): g the private answers, one column for each query, z
independent noise of mean 0 and variance 1 that the listener does not know, o what it knows. All coordinates share C
and B.

**Gaussian z.** A change Δg of the answers moves O by CΔg. If that leaves the range of B, some combination of messages
cancels all noise and not the change: ε = ∞, and the combination is the attack (`exposing`). Otherwise the view loses
what one Gaussian release with

    μ² = (CΔg)ᵀ (BBᵀ)⁺ CΔg = min {‖a‖² : Ba = CΔg}

loses (`accounting.formulas.gaussian_epsilon`). Over all changes with ‖Δg_t‖₂ ≤ Δ_t, in any dimension,

    max over signs s of Σ K_ts s_t s_s Δ_t Δ_s  ≤  sup μ²  ≤  Σ |K_ts| Δ_t Δ_s,     K = Cᵀ(BBᵀ)⁺C,

for ⟨Δg_t, Δg_s⟩ ≤ Δ_t Δ_s. The ends meet where one vector of signs agrees with all K_ts, so where K ≥ 0.

**Laplace z**, B square and invertible: the releases B⁻¹O = B⁻¹o + B⁻¹Cg + z hold as much as O, and lose at most
√2 Σ_r ‖(B⁻¹CΔg)_r‖₁ (a Laplace number of variance 1 has the scale 1/√2); over all changes with ‖Δg_t‖₁ ≤ Δ_t at most
√2 Σ_r Σ_t |B⁻¹C|_rt Δ_t.

**Rounding.** Each row of [C B] is divided by the length of its noise. A QR with pivots takes the messages in the
order in which they bring most that is new: |R_kk|, of 1, is the part of a message's noise that those before it lack.
Those that bring at least `SURE` give the lower end. It is the price, to a relative `DECIDED`, if all others follow
from them but for rounding, contradict them by no more than rounding, and a bound of what rounding makes of the
solution allows it. A combination without noise is a leak from `EXPOSED` of what is added up in it. Whatever lies
between is not decided: the price has two ends, and the upper is ∞, or that of a solution that needs none of this:
where an answer enters as its agent's own noise does, a column of C is a multiple a of one of B. Where B has full
column rank that is the only solution, and decided if what is left of C is small enough.

Numbers are taken to be known to about `ROUNDING`: messages that differ by less count as the same, and noise
of which no more than that is left in a combination, beside other noise, as none: ∞ may then be a finite price above
all that a claim allows. A row that is small beside its `scale` may be rounding and nothing else, and is never sure.

Source: this project. The quadratic form is the Gaussian mechanism's (Dong, Roth, Su 2022, Theorem 2.7); that answers
chosen by what was seen before cost no more is `attacks.audit.proof`'s to see to.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from netsim.arrays import Array, Mask
from netsim.errors import AttackError

SURE = 1e-6
"""A message is sure if at least this share of its noise is new, and its noise is at least this share of its scale."""
ROUNDING = 4e-15
"""Relative: what rounding may make of a number of a message, of all numbers that were added up in it."""
LOST = 1e-11
"""Relative: from here on rounding is too large to tell whether a message follows from others."""
EXPOSED = 1e-6
"""Relative: a combination without noise that shows so much of a change exposes it; less is not decided."""
TRACE = 1e-18
"""Relative to the largest: what refinement leaves of a noise that takes no part."""
DECIDED = 1e-9
"""Relative: ends of a price that count as one number."""
SQUARED = 1e-140
"""The square of a number of at least this size, and of its inverse, is one that a float holds to all digits."""
SKETCH = 6
"""From so many random directions a column that is a multiple of another is looked for; it is then checked entry by
entry."""
SCALED = 4 * float(np.finfo(np.float64).eps)
"""Relative: what scaling rows and columns may do to a number."""
_PASSES = 50
Indices = NDArray[np.intp]
Order = Literal[1, 2]
"""Norm in which releases add up: 1 for Laplace noise, 2 for Gaussian."""


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of unit changes, a column each, from one view.

    `vectors` (noises, columns): the changes in units of the noise, so that a change Σ_t column_t Δg_t costs
    μ = ‖Σ_t vectors_t Δg_t‖₂. `least` and `most` (columns,) enclose the μ of each alone: ∞ where it leaves the range
    of the noise, equal but for `DECIDED` where it is decided.
    """

    vectors: Array
    least: Array
    most: Array

    @property
    def decided(self) -> Mask:
        """(columns,)."""
        finite = np.isfinite(self.most)
        gap = np.where(finite, self.most, 0.0) - np.where(finite, self.least, 0.0)
        return (self.least == self.most) | (finite & (gap <= DECIDED * self.most))

    def worst(self, columns: slice, limits: Array) -> tuple[float, float]:
        """Ends of sup μ over all changes of these columns with ‖Δg_t‖₂ ≤ `limits` (columns,)."""
        _check_limits(limits)
        used = limits > 0
        limits, least, most = limits[used], self.least[columns][used], self.most[columns][used]
        apart, alone = float(np.sum(most * limits)), float(np.max(least * limits, initial=0.0))  # each at its worst
        if not np.all(self.decided[columns][used]) or np.any(np.isinf(most)):
            return alone, apart
        lower, upper = worst_change(self.vectors[:, columns][:, used], limits, 2)
        upper = min(upper, apart)
        return min(max(lower, alone), upper), upper


@dataclass(frozen=True, eq=False)
class _Factors:
    """The messages `sure` have noise that is new beyond doubt, and `inverse` (noises, sure) has B_sure⁺; those in
    `rest` follow from them but for rounding, by the `weights` (sure, rest). `complete`: there are no others with
    noise."""

    sure: Indices
    rest: Indices
    inverse: Array
    weights: Array
    complete: bool

    @classmethod
    def of(cls, unit: Array, size: Array, scale: Array, clear: Indices) -> "_Factors":
        """Factor the `clear` rows of B, each of length 1 (`unit`)."""
        if clear.size == 0:
            none = np.zeros(0, dtype=np.intp)
            return cls(none, none, np.zeros((unit.shape[1], 0)), np.zeros((0, 0)), not np.any(size))
        found = linalg.qr(unit[clear].T, mode="economic", pivoting=True)
        basis, triangle = (np.asarray(factor, dtype=np.float64) for factor in found[:2])
        order = clear[np.asarray(found[2], dtype=np.intp)]
        count = int(np.count_nonzero(np.abs(np.diag(triangle)) > SURE))
        square = triangle[:count, :count]
        inverse = _solved(square, basis[:, :count].T).T
        weights = _solved(square, triangle[:count, count:])
        off = ROUNDING * np.maximum(1.0, scale[order] / size[order])
        rounding = off[count:] + np.abs(weights).T @ off[:count]
        follows = (np.linalg.norm(triangle[count:, count:], axis=0) <= rounding) & (rounding <= LOST)
        complete = bool(np.all(follows)) and len(clear) == np.count_nonzero(size)
        return cls(order[:count], order[count:][follows], inverse, weights[:, follows], complete)


@dataclass(frozen=True, eq=False)
class GaussianView:
    """The noise of one view, factored once for all changes: `noise` B (messages, noises), each message divided by
    `size`, the length of its noise; 0 where that is 0.

    `scale` (messages,): the numbers that went into a message, 0 if its entries are exact but for their last digits.
    """

    noise: Array
    size: Array
    scale: Array

    @classmethod
    def of(cls, noise: Array, scale: Array | None = None) -> "GaussianView":
        """Scale B. `scale` (messages,) as `attacks.probe.MessageMap.seen_by` has it."""
        scale = np.zeros(len(noise)) if scale is None else scale
        _check_finite(scale)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            size = np.sqrt(np.einsum("rz,rz->r", noise, noise))
            rare = np.flatnonzero(~((size > SQUARED) & (size < 1 / SQUARED)))
            largest = np.max(np.abs(noise[rare]), axis=1, initial=0.0)
            size[rare] = largest * np.linalg.norm(noise[rare] / np.where(largest > 0, largest, 1.0)[:, None], axis=1)
        _check_finite(size)
        return cls(noise / np.where(size > 0, size, 1.0)[:, None], size, scale)

    def prices(self, design: Array) -> Prices:
        """Price the columns of C = `design` (messages, columns), each a change by 1."""
        _check_finite(design)
        source, factor, left = self._own(design)
        least, most, vectors = np.abs(factor), np.abs(factor), np.zeros((self.noise.shape[1], len(factor)))
        off = np.full(len(factor), np.inf)
        if np.any(equal := np.isfinite(factor)) and np.isfinite(self.stretch):
            off[equal] = left[equal] * self.stretch  # B has full column rank, and Ba = C no other solution
        alone = np.isfinite(off) & (off <= DECIDED * most)
        vectors[source[alone], np.flatnonzero(alone)] = factor[alone]
        others = np.flatnonzero(~alone)
        if others.size:
            solved = self.solve(design[:, others], np.abs(design[:, others]))
            lengths = np.linalg.norm(solved.vectors, axis=0)
            known, error = solved.covered & self.factors.complete, np.linalg.norm(solved.off, axis=0)
            good = known & (error <= DECIDED * lengths)
            error = np.where(good, 0.0, error)
            low = np.where(error < lengths, lengths - error, 0.0)
            apart = np.isfinite(off[others]) & ~good
            low[apart] = np.maximum(low[apart], most[others][apart] - off[others][apart])
            high = np.where(known, lengths + error, np.inf)
            high = np.where(good, high, np.maximum(low, np.minimum(high, most[others])))
            least[others] = np.where(solved.exposed, np.inf, low)
            most[others] = np.where(solved.exposed, np.inf, high)
            vectors[:, others] = solved.vectors
        return Prices(vectors, least, most)

    @cached_property
    def clear(self) -> Indices:
        """Messages with noise beyond doubt."""
        return np.flatnonzero((self.size > 0) & (self.size >= SURE * self.scale))

    @cached_property
    def stretch(self) -> float:
        """A bound of ‖B⁺‖ where the view determines every noise in it; ∞ where that is not sure.

        Rows that LU with partial pivoting takes bound it: PB = LU + E has ‖E‖ ≤ n·u·‖L‖‖U‖ (Higham 2002, Theorem
        9.3), B is known to a matrix F, and 1/‖B⁺‖ ≥ 1/‖(LU)⁻¹‖ − ‖E‖ − ‖F‖.
        """
        used = np.any(self.noise, axis=0)
        count = int(np.count_nonzero(used))
        if not 0 < count <= len(self.clear):
            return float("inf")
        some = self.noise if np.all(used) else self.noise[:, used]
        some = some if len(self.clear) == len(some) else some[self.clear]
        both, _, singular = linalg.lapack.dgetrf(some)
        if singular:
            return float("inf")
        both = np.asarray(both[:count], dtype=np.float64)
        inverse, singular = linalg.lapack.dgetri(both, np.arange(count, dtype=np.int32), lwork=64 * count)
        if singular:
            return float("inf")
        off = count * float(np.finfo(np.float64).eps) * (float(np.linalg.norm(both)) ** 2 + count) / 2
        off += ROUNDING * float(np.linalg.norm(np.maximum(1.0, self.scale[self.clear] / self.size[self.clear])))
        smallest = 1 / float(np.linalg.norm(inverse)) - off
        return 1 / smallest if smallest > LOST else float("inf")

    @cached_property
    def factors(self) -> "_Factors":
        """Which messages bring noise that is new, and which follow from them."""
        return _Factors.of(self.noise, self.size, self.scale, self.clear)

    def combination(self, vector: Array) -> Array:
        """Weights of messages (messages,), the largest 1: the sum of which most is seen of a change that costs this
        column of `Prices.vectors`, in deviations of the sum's own noise. Only messages that are sure have weights."""
        weights = np.zeros(len(self.noise))
        sure = self.factors.sure
        weights[sure] = self.factors.inverse.T @ vector / self.size[sure]
        largest = float(np.max(np.abs(weights), initial=0.0))
        return weights / (weights[np.argmax(np.abs(weights))] if largest else 1.0)

    def solve(self, design: Array, numbers: Array) -> "_Solution":
        """Least a with Ba = C, where `numbers` (messages, columns), absolute, were added up for the entries of C."""
        loud = self.size > 0
        with np.errstate(over="ignore"):
            units = self._units[:, None]
            numbers = np.maximum(numbers, np.where(design != 0, self.scale[:, None], 0.0)) / units
            scaled = design / units
        _check_finite(numbers)
        sure, rest, inverse = self.factors.sure, self.factors.rest, self.factors.inverse
        known, noise = scaled[sure], self.noise[sure]
        a = inverse @ known
        a += inverse @ (known - noise @ a)
        grown = np.maximum(1.0, self.scale / units[:, 0])[:, None]
        added = numbers[sure] + grown[sure] * (np.abs(noise) @ np.abs(a))
        trace = TRACE * np.max(np.abs(a), axis=0, initial=0.0)
        off = ROUNDING * np.abs(inverse) @ added + trace
        snapped = np.where(np.abs(a) <= off, 0.0, a)  # a noise that takes no part has no share in rounding
        dropped = trace + np.abs(self.noise) @ np.abs(a - snapped)
        left = np.maximum(0.0, np.abs(scaled - self.noise @ snapped) - dropped)
        added = numbers + grown * (np.abs(self.noise) @ np.abs(snapped))
        through = added[rest] + np.abs(self.factors.weights).T @ added[sure]
        silent, bare = added[~loud], np.abs(scaled[~loud])
        covered = (
            np.all(left[sure] <= 4 * ROUNDING * added[sure], axis=0)
            & np.all(left[rest] <= 4 * ROUNDING * through, axis=0)
            & ~np.any(bare, axis=0)
        )
        leaks = np.zeros(design.shape)
        clear = np.maximum(EXPOSED * through, LOST * np.linalg.norm(a, axis=0))
        leaks[rest] = np.where(left[rest] > clear, left[rest], 0.0)
        leaks[~loud] = np.where(bare > LOST * np.where(self.scale[~loud, None] > 0, silent, 0.0), bare, 0.0)
        return _Solution(a, off, covered, leaks)

    def _own(self, design: Array) -> tuple[Indices, Array, Array]:
        """The noise that each change enters as, factor a and length of C − Ba, (columns,); a = ∞ where there is none.

        An answer that enters as its agent's own noise does makes a column of C a multiple a of one of B. What scaling
        alone may have made of a multiple is no difference.
        """
        columns = int(design.shape[1])
        if self.noise.size == 0:
            return np.zeros(columns, dtype=np.intp), np.full(columns, np.inf), np.full(columns, np.inf)
        scaled = np.divide(design, self._units[:, None], order="F")
        sides = _sides(len(scaled))
        changes, noises = sides @ scaled, sides @ self.noise
        lengths = np.linalg.norm(noises, axis=0)
        across = (noises / np.where(lengths > 0, lengths, 1.0)).T @ changes  # (noises, columns)
        source: Indices = np.argmax(np.abs(across), axis=0)
        own = self.noise[:, source]  # laid out column by column, as is what it is compared with
        at, each = np.argmax(np.abs(own), axis=0), np.arange(columns, dtype=np.intp)
        factor = scaled[at, each] / np.where(own[at, each] == 0, 1.0, own[at, each])
        left = np.multiply(own, factor, out=own)
        np.abs(np.subtract(scaled, left, out=left), out=left)
        room = np.abs(scaled, out=scaled)
        room *= SCALED
        apart, size = np.flatnonzero(np.any(left > room, axis=0)), np.zeros(columns)
        if apart.size:
            far = np.any(left[:, apart] > 4 * ROUNDING / SCALED * room[:, apart], axis=0)
            factor[apart[far]], size[apart] = np.inf, np.where(far, np.inf, np.linalg.norm(left[:, apart], axis=0))
        return source, factor, size

    @cached_property
    def _units(self) -> Array:
        """What each message was divided by, (messages,)."""
        return np.where(self.size > 0, self.size, 1.0)


@dataclass(frozen=True, eq=False)
class _Solution:
    """`vectors` a (noises, columns) of the messages that are sure, each to ± `off`. `covered` (columns,): no message
    contradicts it, but for rounding; `leaks` (messages, columns): what a message without noise shows beyond doubt,
    alone or with those that are sure."""

    vectors: Array
    off: Array
    covered: Mask
    leaks: Array

    @property
    def exposed(self) -> Mask:
        """(columns,)."""
        return np.any(self.leaks, axis=0)


def exposing(design: Array, noise: Array, change: Array, scale: Array | None = None) -> Array | None:
    """Weights of messages (messages,), the largest 1, whose sum has no noise but for rounding and shows this `change`
    (columns,).

    None where there is none beyond doubt: the price of the change may be finite, or not decided.
    """
    view = GaussianView.of(noise, scale)
    _check_finite(change)
    leaks = view.solve((design @ change)[:, None], (np.abs(design) @ np.abs(change))[:, None]).leaks[:, 0]
    if not np.any(leaks):
        return None
    at, weights = int(np.argmax(leaks)), np.zeros(len(noise))
    weights[at] = 1.0
    if view.size[at]:
        factors = view.factors
        weights[factors.sure] = -factors.weights[:, np.flatnonzero(factors.rest == at)[0]]
        weights /= np.where(view.size > 0, view.size, 1.0)
    return weights / weights[np.argmax(np.abs(weights))]


@lru_cache(maxsize=64)
def _sides(messages: int) -> Array:
    """Random directions (`SKETCH`, messages): columns that are multiples of each other are so from all sides."""
    return np.random.default_rng(0).standard_normal((SKETCH, messages))


def _solved(triangle: Array, right: Array) -> Array:
    return np.asarray(linalg.solve_triangular(triangle, right), dtype=np.float64)


def _check_limits(limits: Array) -> None:
    if not np.all(np.isfinite(limits) & (limits >= 0)):
        raise AttackError("limits of changes are finite and not negative")


def _check_finite(values: Array) -> None:
    if not np.all(np.isfinite(values)):
        raise AttackError("a view with numbers that are not finite, in units of its noise, has no price")


def worst_change(vectors: Array, limits: Array, order: Order) -> tuple[float, float]:
    """Ends of sup ‖Σ_t vectors_t Δg_t‖ over all ‖Δg_t‖ ≤ `limits` (columns,), in ℓ2 or ℓ1 as `order` says.

    `vectors` (directions, columns). The lower end is that of one vector of signs, the same in one coordinate of all
    Δg_t; it is searched by turning signs until none is better.
    """
    _check_limits(limits)
    moved = vectors * limits
    if moved.size == 0:
        return 0.0, 0.0
    upper = float(np.sum(np.abs(moved))) if order == 1 else float(np.sqrt(np.sum(np.abs(moved.T @ moved))))
    lower = 0.0
    starts = [np.ones(len(limits)), (-1.0) ** np.arange(len(limits)), np.sign(moved[np.argmax(np.abs(moved).sum(1))])]
    for signs in starts:
        for _ in range(_PASSES):
            total = moved @ np.where(signs == 0, 1.0, signs)
            lower = max(lower, float(np.linalg.norm(total, order)))
            turned = np.sign(moved.T @ (np.sign(total) if order == 1 else total))
            if np.array_equal(turned, signs):
                break
            signs = turned
    return min(lower, upper), upper
