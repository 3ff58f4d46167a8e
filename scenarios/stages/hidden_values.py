"""Numbers that a transcript's releases hide under many hypotheses, at each history of an agent's private coins, and
what pairs of these cost for who does not know the coins.

What is seen is a mixture of laws, one for each history that sends the same messages: others are seen apart. Of
Laplace noise the ratio of two such mixtures is largest where one of its numbers bends, or far out; Gaussian noise is
seen along the largest difference. Both are of one transcript of each kind: that ranks pairs, and proves nothing.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats
from scipy.stats import qmc

from attacks.audit.loss.comparison import Sample
from attacks.audit.loss.far_out import is_own
from attacks.audit.loss.secret_coins import at_histories
from attacks.replay import ROUNDING, Hypothesis, Release, Replayed
from netsim.arrays import Array, evenly
from netsim.mechanisms import Gaussian
from scenarios.stages.coin_kinds import is_whole, messages_of

LISTED, DRAWN = 1024, 64
"""Histories that are read at most, fewer in long runs, and that are drawn where there are more."""
KINDS = 64
"""Kinds of histories, at most: those that release most often."""
_WORK = 2**16
"""Messages that are replayed at these, at most."""
OUTSIDE = 40.0
"""Scales beyond the outermost values, where noise of several scales tells most."""
POINTS, DISTANCES = 128, 2**25
"""Places of what is seen at which a cost is looked at, at most, fewer where much is released."""
WITHOUT = 1e-15, 1 - 1e-6
"""Share of an own law's noise that lies farther than half a deviation from the value, at least and at most."""
ALIKE = 1e-4
"""Relative: widths that differ by less do not depend on the value."""
_AT_ONCE = 2**16
"""Distances that are computed at once, about."""
MOST = 50.0
"""The largest ε that is looked for."""
GRID, WIDE = 501, 8.0
"""Points of an integral, and deviations of the noise beyond the outermost means."""
DRAWN_AT, LEAST = 1024, 128
"""Points of an integral in several directions, fewer where many values lie there."""
WAYS, MEANS, SAME = 32, 256, 1e-6
"""Directions, at most; values that they are found by; and the relative size of what does not count."""


@dataclass(frozen=True, eq=False)
class HiddenValues:
    """What a transcript's releases hide under each of many hypotheses, at each history: a mixture for each kind of
    history, which other messages and releases tell apart; `listed`: they are all."""

    kinds: "dict[Hashable, _Mixture]"
    listed: bool

    @classmethod
    def of(cls, samples: Sequence[Sample], agent: int, rows: Hypothesis) -> Self | None:
        """Of a transcript of each kind of messages that the coins decide on, as far as known. None where nothing is
        released, or where the code fails, whatever it raises."""
        made, every_listed, seen = dict[Hashable, _Mixture](), True, 0.0
        for copies in samples:
            try:
                with np.errstate(all="ignore"):
                    found, listed = _replays(copies, agent, rows)
            except Exception:  # an algorithm that fails on such data is not held to them
                return None
            every_listed &= listed
            every, alone = float(special.logsumexp([chance for chance, _ in found])), len(samples) == 1
            whole = [(chance - every, one) for chance, one in found if alone or is_whole(one)]
            seen += sum(math.exp(chance) for chance, _ in whole)  # those that part are in another transcript
            kinds = dict[Hashable, list[tuple[float, Replayed]]]()
            for chance, one in whole:
                if one.releases:
                    kinds.setdefault(_kind(one), []).append((chance, one))
            often = sorted(kinds, key=lambda kind: -len(kinds[kind][0][1].releases))[:KINDS]
            made |= {kind: _Mixture.of(kinds[kind]) for kind in often if kind not in made}
        made = {kind: replace(one, share=one.share / seen) for kind, one in made.items()}  # unseen ones do alike
        return cls(made, every_listed) if made else None

    @classmethod
    def joined(cls, some: "Sequence[HiddenValues | None]") -> "HiddenValues | None":
        """Of several hypotheses; None where one is not known, or where they toss other coins."""
        known = [one for one in some if one is not None]
        tossed = {tuple((kind, made.chances.tobytes()) for kind, made in one.kinds.items()) for one in known}
        if len(known) < len(some) or len(tossed) > 1:
            return None
        kinds = {kind: _Mixture.joined([one.kinds[kind] for one in known]) for kind in known[0].kinds}
        return replace(known[0], kinds=kinds)

    @property
    def histories(self) -> int:
        """How many are known."""
        return sum(len(one.chances) for one in self.kinds.values())

    @property
    def numbers(self) -> int:
        """How many are released at all histories together, by all hypotheses."""
        return sum(one.values.size for one in self.kinds.values())

    def covered(self, hypotheses: Sequence[int]) -> Self:
        """Of these alone, of each kind the numbers before the first whose noise drowns in the rounding of what it
        covers."""
        return replace(self, kinds={kind: one.covered(hypotheses) for kind, one in self.kinds.items()})

    @property
    def finite(self) -> bool:
        return all(bool(np.all(np.isfinite(one.values))) for one in self.kinds.values())

    def costs(self, pairs: NDArray[np.int64], delta: float) -> Array:
        """ε(δ) of pairs of hypotheses (pairs, 2) for who sees the releases alone, or less; 0 where not known."""
        normal = [one for one in self.kinds.values() if one.gaussian]
        costs = [one.costs(pairs, delta) for one in self.kinds.values() if not one.gaussian]
        if normal:
            with np.errstate(all="ignore"):
                found = np.array([_joint(normal, zero, other, delta) for zero, other in pairs])
            costs.append(np.where(np.isfinite(found), found, 0.0))
        return np.max(costs, axis=0)


def _laplace_scale(release: Release) -> Array:
    """Scale of Laplace noise as wide as that of a release, (rows, numbers): as its variance says, or, of somebody's
    own law, how much of it lies about the value, on which its width may depend."""
    law, unit = release.mechanism, release.stddev
    if not is_own(law):
        return unit * math.sqrt(0.5)
    here, about_0 = (_width(release, value) for value in (release.value, np.zeros_like(release.value)))
    return np.where(np.isclose(here, about_0, rtol=ALIKE, atol=0.0), about_0, here)


def _width(release: Release, value: Array) -> Array:
    """Scale of Laplace noise of which as much lies within half a deviation of a value: all but e^(−deviation/2b)."""
    unit = release.stddev
    low, high = (release.mechanism.quantiles(value + end * unit, value) for end in (-0.5, 0.5))
    return unit / (-2 * np.log(np.clip(1 - (high - low), *WITHOUT)))


def _replays(copies: Sample, agent: int, rows: Hypothesis) -> tuple[list[tuple[float, Replayed]], bool]:
    """`at_histories`, fewer in long runs."""
    messages = 1 + len(copies.view.transcript.at_node(agent))
    return at_histories(copies, agent, rows, min(LISTED, max(DRAWN, _WORK // messages)), DRAWN)


def _kind(found: Replayed) -> Hashable:
    """What is seen of a replay besides numbers with noise: its messages, and where they hold other numbers in the
    clear than were sent."""
    clear = tuple((c.message, c.name, _digits(c.predicted[0])) for c in found.comparisons if c.visible[0])
    return messages_of(found), clear


def _digits(values: Array) -> str:
    """Numbers to nine digits: what differs by rounding alone is the same."""
    return ",".join(f"{one:.9g}" for one in np.ravel(values).tolist())


@dataclass(frozen=True, eq=False)
class _Mixture:
    """What is hidden at the histories of one kind: `values` (histories, hypotheses, numbers), and the `units` of
    their noise, as many: deviations where all noise is Gaussian, else scales as of Laplace noise
    (`_laplace_scale`). `chances`
    (histories,) are ln of their probabilities, and `share` is that of the kind among all that were seen."""

    chances: Array
    values: Array
    units: Array
    gaussian: bool
    share: float

    @classmethod
    def of(cls, found: Sequence[tuple[float, Replayed]]) -> Self:
        """Of replays with the same releases."""
        made = [one.releases for _, one in found]
        gaussian = all(isinstance(release.mechanism, Gaussian) for some in made for release in some)
        values = np.array([np.concatenate([r.value for r in some], axis=-1) for some in made])
        noise = [[r.stddev if gaussian else _laplace_scale(r) for r in some] for some in made]
        units = np.array([np.concatenate(some, axis=-1) for some in noise])
        values, units = np.where(units > 0, values, 0.0), np.where(units > 0, units, 1.0)  # of those with noise
        chances = np.array([chance for chance, _ in found])
        return cls(chances, values, units, gaussian, math.exp(float(special.logsumexp(chances))))

    @classmethod
    def joined(cls, some: "Sequence[_Mixture]") -> "_Mixture":
        """Of several hypotheses."""
        values, units = (np.concatenate([getattr(one, k) for one in some], axis=1) for k in ("values", "units"))
        return replace(some[0], values=values, units=units)

    def covered(self, hypotheses: Sequence[int]) -> Self:
        """As `HiddenValues.covered`."""
        values, units = self.values[:, hypotheses], self.units[:, hypotheses]
        shown = ~np.logical_or.accumulate(np.any(units < ROUNDING * np.abs(values), axis=(0, 1)))
        return replace(self, values=values[..., shown], units=units[..., shown])

    def costs(self, pairs: NDArray[np.int64], delta: float) -> Array:
        """As `HiddenValues.costs`, of Laplace noise: at δ = 0, or as far out as it is with a probability of δ."""
        logs = self._log_densities(delta)
        return np.max(np.abs(logs[:, pairs[:, 0]] - logs[:, pairs[:, 1]]), axis=0)

    def _log_densities(self, delta: float) -> Array:
        """Of what is seen, with Laplace noise, at some points, (points, hypotheses)."""
        told = np.any((self.values != self.values[:1, :1]) | (self.units != self.units[:1, :1]), axis=(0, 1))
        values, units = self.values[..., told], self.units[..., told]
        heights: Array = self.chances[:, None] - np.sum(np.log(units), axis=-1)
        outside = OUTSIDE if delta == 0 else min(OUTSIDE, -math.log(delta))
        points = _points(values, units, outside)[:, None, None]
        at_once = math.ceil(points.size * values.size / (_AT_ONCE * max(1, values.shape[-1])))
        some = np.array_split(points, max(1, at_once))
        apart = (np.sum(np.abs(values - one) / units, axis=-1) for one in some)
        return np.concatenate([special.logsumexp(heights - far, axis=1) for far in apart])

    def masses(self, zero: int, other: int) -> Array:
        """Probabilities of about the same parts of what is seen, with Gaussian noise, in the worlds of two
        hypotheses, (2, points), as likely as the kind is: along what differs, or the largest of it."""
        means: Array = np.concatenate([self.values[:, zero], self.values[:, other]])
        units: Array = np.concatenate([self.units[:, zero], self.units[:, other]])
        if not np.all(np.isfinite(means / units)):
            return np.zeros((2, 0))
        count = len(self.chances)
        odds = self.share * np.exp(self.chances - special.logsumexp(self.chances))
        means = means - means[0]
        if np.any(units != units[0]):
            differ = np.any((means != 0) | (units != units[0]), axis=0)
            both: Array = np.asarray(np.kron(np.eye(2), odds), dtype=np.float64)
            return _at_random(means[:, differ], units[:, differ], both)
        means = means / units
        means = np.round(means @ _spanned(means), 9)
        _, first, which = np.unique(means, axis=0, return_index=True, return_inverse=True)
        some = means[first]
        each = [np.bincount(which.ravel()[side], odds, len(some)) for side in (slice(count), slice(count, None))]
        weights: Array = np.array(each, dtype=np.float64)
        if np.array_equal(*weights):
            return np.zeros((2, 0))
        return _on_grid(some[:, 0], weights) if some.shape[1] == 1 else _at_random(some, np.ones_like(some), weights)


def _spanned(apart: Array) -> Array:
    """Directions (numbers, some) in which values lie apart: all that count, the largest first."""
    if len(apart) > MEANS:
        apart = apart[[*evenly(len(apart), MEANS)]]
    _, sizes, ways = np.linalg.svd(apart, full_matrices=False)
    return np.transpose(ways[: max(1, min(WAYS, int(np.sum(sizes > SAME * np.max(sizes)))))])


def _on_grid(means: Array, weights: Array) -> Array:
    """`_Mixture.masses` of values on a line."""
    grid = np.linspace(float(np.min(means)) - WIDE, float(np.max(means)) + WIDE, GRID)
    return weights @ stats.norm.pdf(grid - means[:, None]) * (grid[1] - grid[0])


def _at_random(means: Array, units: Array, weights: Array) -> Array:
    """`_Mixture.masses` of values in several directions, or with noise of several scales, (laws, numbers), at points
    drawn from both worlds: always the same."""
    count = max(LEAST, min(DRAWN_AT, 2 ** int(math.log2(max(1, _AT_ONCE * 4 // len(means))))))
    both = np.sum(weights, axis=0)
    shares: Array = (np.arange(count) + 0.5) / count * float(np.sum(both))
    of = np.minimum(np.searchsorted(np.cumsum(both), shares), len(means) - 1)
    seen, sharp = means[of] + units[of] * _normal(means.shape[1], count), units**-2
    far = seen**2 @ sharp.T - 2 * seen @ (means * sharp).T + np.sum(means**2 * sharp + 2 * np.log(units), axis=1)
    densities = weights @ np.exp(-np.transpose(far - np.min(far, axis=1, keepdims=True)) / 2)
    return densities / np.sum(densities, axis=0) * np.sum(both) / count


@cache
def _normal(ways: int, count: int) -> Array:
    """Points (count, ways) of a normal law, evenly."""
    drawn = qmc.Sobol(ways, rng=np.random.default_rng(7)).random(count)
    return np.asarray(special.ndtri(np.random.default_rng(7).permutation(drawn)), dtype=np.float64)


def _joint(kinds: "Sequence[_Mixture]", zero: int, other: int, delta: float) -> float:
    """ε(δ) of two hypotheses, of all kinds together, which are seen apart."""
    one, two = np.concatenate([kind.masses(zero, other) for kind in kinds], axis=1)
    return max(_epsilon(one, two, delta), _epsilon(two, one, delta))


def _points(values: Array, units: Array, outside: float) -> Array:
    """Points (points, numbers) at which what is seen may tell most: of few numbers, and few values of each, all where
    a density bends; else what is hidden most often, and the corners on its side. Where units differ, also points that
    are so many of them `outside`."""
    numbers = int(values.shape[-1])
    unit: Array = np.max(units, axis=(0, 1))
    hidden: Array = np.reshape(values / unit, (math.prod(values.shape[:-1]), numbers))
    seen: Array = hidden[np.all(np.isfinite(hidden), axis=-1)].round(6)
    if not seen.size:
        return np.zeros((1, numbers))
    out = outside * (np.ptp(units, axis=(0, 1)) > 0)  # there the largest of several scales is all that counts
    low, high = np.min(seen, axis=0) - out, np.max(seen, axis=0) + out
    each = [np.unique(np.append(seen[:, k], [low[k], high[k]])).tolist() for k in range(numbers)]
    most = max(8, min(POINTS, DISTANCES // values.size))
    if math.prod(map(len, each)) <= most:
        return unit * np.array([*product(*each)])
    keys = np.sum(seen * np.random.default_rng(7).standard_normal(numbers), axis=-1).round(6)
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    often = seen[first[np.argsort(-times, kind="stable")]][: most // 2]
    center = (low + high) / 2
    sides = np.unique(np.concatenate([often > center, often >= center]), axis=0)
    corners = low + sides[: most - len(often)] * (high - low)
    return unit * np.concatenate([often, corners])


def _epsilon(p: Array, q: Array, delta: float) -> float:
    """ε(δ) of two laws of the same points: where no set of the likeliest ones of p is above it."""
    order = np.argsort(-(np.log(p) - np.log(q)))
    one, two = np.cumsum(p[order]), np.cumsum(q[order])
    above = one > delta
    return min(MOST, max(0.0, float(np.max(np.log((one - delta)[above] / two[above]), initial=0.0))))
