"""Numbers that a transcript's releases hide under many hypotheses, at each history of an agent's private coins, and
what pairs of these cost for who does not know the coins.

What is seen is a mixture of laws, one for each history that sends the same messages: others are seen apart. Of
Laplace noise the ratio of two such mixtures is largest where one of its numbers bends, or far out; Gaussian noise is
seen along the largest difference. Both are of one transcript of each kind: that ranks pairs, and proves nothing.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from attacks.audit.accounting.intervals import boundary
from attacks.audit.loss.comparison import Sample
from attacks.audit.loss.secret_coins import at_histories
from attacks.replay import ROUNDING, Hypothesis, Replayed
from netsim.arrays import Array
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
_AT_ONCE = 2**16
"""Distances that are computed at once, about."""
MOST = 50.0
"""The largest ε that is looked for."""
GRID, WIDE = 501, 8.0
"""Points of an integral, and deviations of the noise beyond the outermost means."""


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
        made, every_listed = dict[Hashable, _Mixture](), True
        for copies in samples:
            try:
                with np.errstate(all="ignore"):
                    found, listed = _replays(copies, agent, rows)
            except Exception:  # an algorithm that fails on such data is not held to them
                return None
            every_listed &= listed
            kinds = dict[Hashable, list[tuple[float, Replayed]]]()
            for chance, one in found:
                if one.releases and (len(samples) == 1 or is_whole(one)):  # the others are in another transcript
                    kinds.setdefault(_kind(one), []).append((chance, one))
            every = float(special.logsumexp([chance for chance, _ in found]))
            often = sorted(kinds, key=lambda kind: -len(kinds[kind][0][1].releases))[:KINDS]
            made |= {kind: _Mixture.of(kinds[kind], every) for kind in often if kind not in made}
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
        return np.max([one.costs(pairs, delta) for one in self.kinds.values()], axis=0)


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
    their noise, as many: deviations where all noise is Gaussian, else scales as of Laplace noise. `chances`
    (histories,) are ln of their probabilities, but for a constant, and `share` is that of all of the kind."""

    chances: Array
    values: Array
    units: Array
    gaussian: bool
    share: float

    @classmethod
    def of(cls, found: Sequence[tuple[float, Replayed]], every: float) -> Self:
        """Of replays with the same releases, where ln of the probability of all of any kind is `every`."""
        made = [one.releases for _, one in found]
        gaussian = all(isinstance(release.mechanism, Gaussian) for release in made[0])
        values = np.array([np.concatenate([r.value for r in some], axis=-1) for some in made])
        noise = [[np.broadcast_to(r.stddev, r.value.shape) for r in some] for some in made]
        units = np.array([np.concatenate(some, axis=-1) for some in noise]) * (1.0 if gaussian else math.sqrt(0.5))
        values, units = np.where(units > 0, values, 0.0), np.where(units > 0, units, 1.0)  # of those with noise
        chances = np.array([chance for chance, _ in found])
        return cls(chances, values, units, gaussian, math.exp(float(special.logsumexp(chances)) - every))

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
        """As `HiddenValues.costs`, where it is of this kind by its chance."""
        with np.errstate(all="ignore"):
            if self.gaussian:
                found = np.array([self._gaussian(zero, other, delta / self.share) for zero, other in pairs])
            else:
                logs = self._log_densities
                found = np.max(np.abs(logs[:, pairs[:, 0]] - logs[:, pairs[:, 1]]), axis=0)
        return np.where(np.isfinite(found), found, 0.0)

    @property
    def _log_densities(self) -> Array:
        """Of what is seen, with Laplace noise, at some points, (points, hypotheses)."""
        told = np.any((self.values != self.values[:1, :1]) | (self.units != self.units[:1, :1]), axis=(0, 1))
        values, units = self.values[..., told], self.units[..., told]
        heights: Array = self.chances[:, None] - np.sum(np.log(units), axis=-1)
        points = _points(values, units)[:, None, None]
        at_once = math.ceil(points.size * values.size / (_AT_ONCE * max(1, values.shape[-1])))
        some = np.array_split(points, max(1, at_once))
        apart = (np.sum(np.abs(values - one) / units, axis=-1) for one in some)
        return np.concatenate([special.logsumexp(heights - far, axis=1) for far in apart])

    def _gaussian(self, zero: int, other: int, delta: float) -> float:
        """Of what is seen along the largest difference."""
        one, two = (self.values[:, k] / self.units[:, k] for k in (zero, other))
        apart = two - one
        lengths = np.linalg.norm(apart, axis=1)
        if not np.all(np.isfinite(lengths)) or np.max(lengths) == 0:
            return 0.0
        along = apart[np.argmax(lengths)] / np.max(lengths)
        one, two = one @ along, two @ along
        ends = float(np.min([one, two])) - WIDE, float(np.max([one, two])) + WIDE
        grid = np.linspace(*ends, GRID)
        odds = np.exp(self.chances - float(special.logsumexp(self.chances)))
        densities = [_density(grid, means, odds) for means in (one, two)]
        width = float(grid[1] - grid[0])
        return max(_epsilon(p * width, q * width, delta) for p, q in (densities, densities[::-1]))


def _points(values: Array, units: Array) -> Array:
    """Points (points, numbers) at which what is seen may tell most: of few numbers, and few values of each, all where
    a density bends; else what is hidden most often, and the corners on its side."""
    numbers = int(values.shape[-1])
    unit: Array = np.max(units, axis=(0, 1))
    hidden: Array = np.reshape(values / unit, (math.prod(values.shape[:-1]), numbers))
    seen: Array = hidden[np.all(np.isfinite(hidden), axis=-1)].round(6)
    if not seen.size:
        return np.zeros((1, numbers))
    out = OUTSIDE * (np.ptp(units, axis=(0, 1)) > 0)  # there the largest of several scales is all that counts
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
    """ε(δ) of two laws on a grid."""
    return boundary(lambda epsilon: bool(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)) <= delta), MOST, 0.0)


def _density(grid: Array, means: Array, odds: Array) -> Array:
    """A mixture of normal laws, most of which are the same."""
    some, which = np.unique(np.round(means, 9), return_inverse=True)
    return np.asarray(np.bincount(which, odds) @ stats.norm.pdf(grid - some[:, None]), dtype=np.float64)
