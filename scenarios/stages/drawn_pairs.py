"""Hypotheses of one agent drawn by the hundred, and what one transcript's releases hide under each.

They are replayed together, a hypothesis for each replica: that ranks pairs, and proves nothing.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.spatial.distance import cdist

from attacks.audit.loss.comparison import Reproduced, Sample
from attacks.audit.pair import FIRST_CHUNK, scaled
from attacks.replay import Release
from netsim.arrays import Array, Mask, evenly
from netsim.claims import ORDERS, Norm
from netsim.errors import NetsimError
from netsim.mechanisms import Gaussian
from netsim.models.model import Regularizer
from netsim.problems import Bent, Objective, Sampled, Surrounded, Tilted
from netsim.simulation import Simulation
from scenarios.stages.steepest import Response, probes
from scenarios.stages.worlds import holding, worlds

NEARER = (1.0, 1e-2, 1e-4, 1e-6)
"""Shares of the largest changes: code may refuse data that are so far out."""
SMALL, LARGE = 1e-6, 1e3
"""And of gradients that are drawn about 0: code may do most to small ones."""
ROWS = 768
"""Objectives drawn at most, of which the two that are farthest apart in what is released are tried."""
WORK = 2e8
"""Differences of numbers taken at most to find these."""
DRAWN = (1e-3, 1e12)
"""Sizes of their changes, evenly in logarithm, in units of the gradient at 0 (of 1, where that is smaller)."""
GROWS = 1.25
"""Code bounds what it releases where changes of 10⁴ to 10⁶ units move it by no more than so many times what those of
10² to 10⁴ do; or the largest, from 10¹⁰ on, than those of up to 10⁶."""
JUDGED = 1e8
"""Deviations of the noise beyond which a release is not looked at: rounding would drown the noise."""
GENERATIONS, PARENTS = 4, 16
"""Times that pairs are drawn, and how many of the best so far others are then drawn about."""
BRED = 256
"""Others drawn about the best at a time, at most."""
WIDTHS = (0.5, 0.2, 0.1, 0.05)
"""By how much the others differ about the best, from one generation to the next: in logarithm of their size, and in
direction."""
SEEN_IN = 4
"""Transcripts in which these are seen together: what is farthest apart in one need not be in most."""
CROWD = 1000
"""Records of an agent, at most, where others than one are moved."""
SHARES = 17
"""Shares of the others, evenly, that are moved one way, at most."""
AMONG = 96
"""Rows among such others, at most."""
TOGETHER, MOVED = 256, 4096
"""Rows of records that are replayed together, and rows of all of them, at most, but for two directions of each."""
GATES, OPENED = 64, 2**14
"""Transcripts in which it is seen what each record costs, where little is moved: one that counts where noise opens a
gate costs nothing in others; and rows of all that are replayed in these, times messages, at most."""
SAME = 1e-6
"""Relative: points and costs that differ by less are the same."""
TURNED = 8
"""Coordinates along which a record is moved at most, to see what it costs."""
_OFF = 1e4
"""Size of their gradients, in units as above."""
PLACES = 1e6
"""Size of the largest gradient about which pairs are drawn, in units as above."""
ABOUT = 1e-2, 1e4
"""Sizes of gradients about 0, in units as above, at which it is measured what moves the releases most."""
RISES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Shares of its own size by which one that is far apart is moved to where it is farther."""
SIZES = 8
"""Sizes of changes along what moves the releases most."""
PLACED = (0.0, 1.0, 3.0, 10.0, 30.0)
"""Deviations by which what was released is moved, where a law is somebody's own: as many as ln 1/δ at most."""
STEP = 1e-3
"""Share of its size by which it is moved to see where that is."""


_MOVED = "slopes", "curvatures", "offsets"
"""What each of the `Rows` has of its own."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A hypothesis for each replica: `Tilted` by its row of `slopes`, or, where `curvatures` is not 0, `Bent`. A
    proximal point of a bent one is that of the tilted one: it only ranks. `releases` (rows, numbers) are what one
    transcript's releases hide under each, in deviations of their noise; `order` is the norm that counts. `bare`
    (rows,): whether a message without noise shows that this is not the agent's own objective."""

    own: Objective
    slopes: Array
    curvatures: Array
    offsets: Array
    record: int | None
    releases: Array
    order: int = 1
    bare: Mask | None = None

    @classmethod
    def tilted(cls, own: Objective, slopes: Array) -> "Rows":
        """Rows moved by constant vectors; what they do is not known."""
        still = np.zeros(len(slopes))
        return Rows(own, slopes, still, still, None, np.zeros((len(slopes), 0)))

    @classmethod
    def drawn(
        cls, simulation: Simulation, agent: int, record: int | None, transcript: int | None = None
    ) -> "Rows | None":
        """Along coordinates, signs, random vectors (a quarter of them from a gradient of 0), and along what moves the
        releases most, in one transcript or in that of `GATES`; the first row moves nothing. Fewer where much is
        released. None where nothing is, where a codec rounds it, or where the code fails on such data."""
        own, rng = simulation.problem.objectives[agent], np.random.default_rng(0)
        if (sample := plain(simulation, agent, 1 if transcript is None else GATES)) is None:
            return None
        sample = sample if transcript is None else sample.replica(transcript)
        count = max(64, min(ROWS, math.isqrt(int(WORK / (own.dimension * len(sample.releases))))))
        vectors = unit_of(own) * _directions(rng, count, own.dimension)
        bends = unit_of(own) * np.exp(rng.uniform(-3, 5, count)) * (rng.random(count) < 0.5)
        if isinstance(own, Surrounded):  # along or against the others
            count = min(count, AMONG)
            vectors, bends = vectors[:count], 0 * bends[:count]
            vectors[1::2] = unit_of(own) * _even(own.dimension) * rng.choice((-1.0, 1.0), (count // 2, 1))
        vectors[0] = 0.0
        still = replace(cls.tilted(own, np.zeros((1, own.dimension))), record=record)
        steep = vectors[:0] if isinstance(own, Surrounded) else still._steepest(sample, agent)
        for share in NEARER:
            size = np.exp(rng.uniform(math.log(DRAWN[0]), math.log(share * DRAWN[1]), count))
            offsets, nothing = rng.standard_normal(count), np.zeros((count, 0))
            slopes = size[:, None] * vectors
            small = np.exp(rng.uniform(math.log(SMALL), math.log(LARGE), len(slopes[3::4])))
            slopes[3::4] = _center(own) + (small / size[3::4])[:, None] * slopes[3::4]
            rows = cls(own, slopes, np.where(np.arange(count) % 4 == 3, 0.0, size * bends), offsets, record, nothing)
            if (seen := rows._and(steep, share)._seen(sample, agent)) is not None:
                return seen
        return None

    def anew(self, samples: Sequence[Sample], agent: int) -> "Rows":
        """`nearer`, from where these are farthest apart in those transcripts."""
        rows = self._together(samples, agent)
        return self if rows is None else rows.nearer(samples, agent)

    def nearer(self, samples: Sequence[Sample], agent: int) -> "Rows":
        """Others about those of these that are farthest apart, of about their size and direction, in transcripts of
        `plain` together: a bounded function that falls again is farthest apart where hardly any were drawn. The
        farthest of these are among them."""
        if not samples or not self.apart:
            return self
        best, rng, center, d = self, np.random.default_rng(1), _center(self.own), self.own.dimension
        count = min(BRED, len(self.slopes))
        for width in WIDTHS:
            ends = best._ends
            parents = best._only(ends[np.arange(count) % len(ends)])
            away = parents.slopes - center
            turns = rng.standard_normal((count, d)) * (rng.random((count, 1)) < 0.5)
            turns *= np.linalg.norm(away, axis=1, keepdims=True) * d**-0.5
            moved = np.exp(width * rng.standard_normal((count, 1))) * (away + width * turns)
            moved[: len(ends)] = away[: len(ends)]
            rows = replace(parents, slopes=center + moved)
            if best is not self:
                rows = rows._beside(best._farther(samples[0], agent))
            together = rows._together(samples, agent)
            if together is None or not together.apart:
                break
            best = together
        return best

    def _together(self, samples: Sequence[Sample], agent: int) -> "Rows | None":
        """The rows with what the releases of several transcripts hide (`_seen`), those in which the code does not
        fail."""
        seen = [one for sample in samples if (one := self._seen(sample, agent)) is not None]
        return replace(seen[0], releases=np.concatenate([one.releases for one in seen], axis=1)) if seen else None

    def _beside(self, others: "Rows") -> "Rows":
        """These, and others; what they do is not known."""
        both = {k: np.concatenate([getattr(one, k) for one in (self, others)]) for k in _MOVED}
        return replace(self, **both)

    def _and(self, vectors: Array, share: float) -> "Rows":
        """These, and from a gradient of 0 changes of all sizes along and against vectors (vectors, dimension)."""
        sizes = unit_of(self.own) * np.geomspace(DRAWN[0], share * DRAWN[1], SIZES)
        both = np.concatenate([vectors, -vectors])
        slopes = _center(self.own) + (sizes[:, None, None] * both).reshape(-1, both.shape[1])
        return self._beside(Rows.tilted(self.own, slopes))

    def _steepest(self, sample: Sample, agent: int) -> Array:
        """Vectors (some, dimension) along which the releases move most: about this row, and about a gradient of 0."""
        unit, center, found = unit_of(self.own), _center(self.own), [self.slopes[:0]]
        for place, size in ((self.slopes, ABOUT[0]), *((center[None], size) for size in ABOUT)):
            about = replace(self, slopes=place).responses(sample, agent, np.array([size * unit]))
            found += [one.steepest(norm) for one in about for norm in ORDERS]
        vectors = np.concatenate(found)
        _, first = np.unique(np.round(vectors, 3), axis=0, return_index=True)
        return vectors[np.sort(first)]

    def _farther(self, sample: Sample, agent: int) -> "Rows":
        """The ends of the farthest pairs, each moved to where the two are farther apart in the first transcript of
        those that were seen, by shares of its size, or turned there."""
        pairs = [rows[list(divmod(int(np.argmax(far)), len(rows)))] for rows, far in self._distances]
        ends, center = self._only(np.concatenate(pairs)), _center(self.own)
        size = np.maximum(np.linalg.norm(ends.slopes - center, axis=1), DRAWN[0] * unit_of(self.own))
        about = ends.responses(sample, agent, STEP * size)
        if not about:
            return ends._only(np.zeros(0, dtype=np.int64))
        seen = self.releases[np.concatenate(pairs), : about[0].values.shape[1]]
        apart = seen - seen[np.arange(len(size)) ^ 1]  # from the other one of its pair
        uphill = np.array([one.uphill(far) for one, far in zip(about, np.nan_to_num(apart), strict=True)])
        moved = ends.slopes - center + np.multiply.outer(RISES, size[:, None] * uphill)
        long = np.linalg.norm(moved, axis=-1)
        turned = moved * np.divide(size, long, out=np.zeros_like(long), where=long > 0)[..., None]
        slopes = center + np.concatenate([moved, turned])
        many = ends._only(np.tile(np.arange(len(size)), 2 * len(RISES)))
        return replace(many, slopes=slopes.reshape(many.slopes.shape))

    def responses(self, sample: Sample, agent: int, steps: Array) -> tuple[Response, ...]:
        """What the releases do about each row, seen where it moves by a step (rows,) either way; nothing where the
        code fails there."""
        count, d = self.slopes.shape
        numbers = sum(release[0].size for release in sample.releases)
        directions = probes(d, 2 * count * numbers)
        moves = steps[:, None, None] * np.concatenate([directions, -directions])
        many = self._only(np.repeat(np.arange(len(steps)), moves.shape[1]))
        rows = replace(many, slopes=many.slopes + moves.reshape(-1, d))._seen(sample, agent)
        if rows is None:
            return ()
        seen = np.where(rows._known[:, None], rows.releases, np.nan).reshape(count, 2, len(directions), -1)
        values = np.nan_to_num((seen[:, 0] - seen[:, 1]) / (2 * steps[:, None, None]))
        return tuple(Response(one, directions, rows.order) for one in values)

    def _only(self, some: NDArray[np.int64]) -> "Rows":
        """Some of the rows; what they do is not known."""
        return replace(self, slopes=self.slopes[some], curvatures=self.curvatures[some], offsets=self.offsets[some])

    @property
    def _ends(self) -> NDArray[np.int64]:
        """Rows of the farthest pairs, those first: `PARENTS` of all rows, and of those that turn nowhere."""
        found = [np.empty(0, dtype=np.int64)]
        for rows, far in self._distances:
            far = np.triu(far)
            most = min(PARENTS**2, far.size)
            pairs = np.argpartition(far, far.size - most, axis=None)[far.size - most :]
            pairs = pairs[np.argsort(-far.ravel()[pairs], kind="stable")]
            both = np.stack(np.unravel_index(pairs, far.shape), axis=1).ravel()
            _, first = np.unique(both, return_index=True)
            found.append(rows[both[np.sort(first)[:PARENTS]]])
        return np.concatenate(found)

    @cached_property
    def _distances(self) -> tuple[tuple[NDArray[np.int64], Array], ...]:
        """Rows, and how far the releases of two are apart: of all rows, and of those that turn nowhere."""
        rows = np.flatnonzero(self._known)
        straight = np.flatnonzero(self.curvatures[rows] == 0)
        metric = "euclidean" if self.order == 2 else "cityblock"
        far = cdist(self.releases[rows], self.releases[rows], metric)
        found = (rows, far), (rows[straight], far[np.ix_(straight, straight)])
        return tuple(one for one in found if len(one[0]) > 1)

    @classmethod
    def in_pairs(cls, simulation: Simulation, agent: int, change: float, norm: Norm) -> "Rows | None":
        """Of the rows the second quarter is `change` in `norm` away from the first, and the third from the last,
        which moves nothing; None as in `drawn`."""
        own, rng = simulation.problem.objectives[agent], np.random.default_rng(0)
        if (sample := plain(simulation, agent)) is None:
            return None
        count, d = ROWS // 2, own.dimension
        places = unit_of(own) * _directions(rng, count, d)
        places *= np.exp(rng.uniform(math.log(DRAWN[0]), math.log(PLACES), (count, 1)))
        center = _center(own)
        places[1::2] += center  # so that all of a gradient is of that size
        largest = np.arange(d) == np.argmax(np.abs(places - center), axis=1)[:, None]
        turns = _directions(rng, count, d)
        turns[: count // 2] *= ~largest[: count // 2] if d > 1 else 1.0  # along the others alone
        best: Rows | None = None
        about = cls.tilted(own, np.array([0 * center, center]))
        for _ in range(GENERATIONS):
            steep = about._pairs_along_steepest(sample, agent, change, norm)
            some = slice(count // 2 - len(steep[0]), count // 2)
            places[some], turns[some] = steep
            turns[np.all(turns == 0, axis=1)] = 1.0
            moved = np.array([change * scaled(turn, norm) for turn in turns])
            slopes = np.concatenate([places, places + moved, moved, 0 * moved])
            rows = cls.tilted(own, slopes)._seen(sample, agent)
            if rows is None:  # nearer
                places = center + NEARER[1] * (places - center)
                continue
            best = rows if best is None or np.max(rows._apart) > np.max(best._apart) else best
            # others are about the best ones, and about where a change is longer than about 0, which turn there
            stretch = rows._apart / np.maximum(rows._apart_about_0, np.finfo(float).tiny)
            chosen = np.concatenate([np.argsort(best._apart)[-PARENTS:], np.argsort(stretch)[-PARENTS:]])
            parents = chosen[np.arange(count) % len(chosen)]
            old = np.arange(count) % len(chosen) < PARENTS
            source = np.where(old[:, None], best.slopes[:count][parents], rows.slopes[:count][parents])
            longer = np.exp(0.1 * rng.standard_normal((count, 1)) * (rng.random((count, 1)) < 0.5))
            places = center + (source - center) * longer
            wide = 0.3 * rng.standard_normal((count, d)) * (rng.random((count, d)) < 0.5)
            turned = best.slopes[2 * count : 3 * count][parents] + change * wide
            fresh, beside = _directions(rng, count, d), rng.random((count, 1)) < 0.5
            fresh[beside & (np.arange(d) == np.argmax(np.abs(source - center), axis=1)[:, None])] = 0.0
            turns = np.where(old[:, None], turned, fresh)
            k = int(np.argmax(best._apart))
            about = best._only(np.array([k, count + k]))
        return best

    def _pairs_along_steepest(self, sample: Sample, agent: int, change: float, norm: Norm) -> tuple[Array, Array]:
        """Pairs of this change along what the releases do most about each of these rows: where they begin, and their
        directions (pairs, dimension)."""
        steps = np.full(len(self.slopes), change / 2)
        turns = [one.steepest(norm) for one in self.responses(sample, agent, steps)]
        if not turns:
            return self.slopes[:0], self.slopes[:0]
        directions = np.concatenate(turns)
        return np.repeat(self.slopes, [*map(len, turns)], axis=0) - change / 2 * directions, directions

    @classmethod
    def surrounded(cls, simulation: Simulation, agent: int, record: int, transcript: int | None) -> "Iterator[Rows]":
        """Rows of one record among others that were moved: so many of them far along one vector, the rest far along
        its opposite, or to a gradient of 0; in the transcript that `drawn` takes. What code makes of several records
        together, such as their median, moves most where it hangs on a single one."""
        own = cast("Sampled", simulation.problem.objectives[agent])
        if not 1 < own.records <= CROWD:
            return
        start, far = np.zeros((1, own.dimension)), _OFF * unit_of(own) * _even(own.dimension)
        still = -np.concatenate([own.batch([k]).gradient(start) for k in range(own.records)])
        rest = np.delete(np.arange(own.records), record)
        for high in sorted({1, len(rest) - 1, *np.linspace(0, len(rest), SHARES, dtype=int)}):
            for low in (-far, 0 * far):
                others = still + low
                others[rest[:high]] = far
                around = Surrounded(own, 0 * far, record=record, others=others)
                rows = cls.drawn(holding(simulation, agent, around), agent, record, transcript)
                if rows is not None:
                    yield rows

    def _seen(self, sample: Sample, agent: int) -> "Rows | None":
        """The rows with what a transcript's releases hide; None where the code fails on such data, to which it is
        then not held, or releases nothing there."""
        try:
            with np.errstate(all="ignore"):
                copies = sample.copied(len(self.slopes))
                there = copies.replayed(agent, self, "other data")
                hidden = any(release.sent_in is None for release in there.releases)  # noise that was drawn apart, say
                if hidden:
                    mine = copies.replayed(agent, self.own, "its own data")
                    out = Reproduced(copies, agent, self.own, mine).recovered(there, self, copies)
                    there = there if out is None else out.theirs
                if not (made := there.releases):
                    return None
                seen = np.concatenate([_in_deviations(r) for r in made], axis=-1)
        except NetsimError:
            return None
        shown = [c.visible for c in there.comparisons]
        bare = None if hidden or not shown else np.any(shown, axis=0)
        order = 2 if all(isinstance(r.mechanism, Gaussian) for r in made) else 1
        return replace(self, releases=seen, order=order, bare=bare)

    def _between(self, one: int, other: int) -> Array:
        """How far the releases of two quarters of the rows are apart, (rows / 4,); 0 where that is not known."""
        quarter = len(self.slopes) // 4
        first, second = (slice(k * quarter, (k + 1) * quarter) for k in (one, other))
        with np.errstate(invalid="ignore"):  # where that is not known
            far = np.linalg.norm(self.releases[second] - self.releases[first], ord=self.order, axis=1)
        return np.where(self._known[first] & self._known[second], far, 0.0)

    def mirrored(self, delta: float) -> Array:
        """What the releases of the first half of the rows lose against those of the second (`_lost`), (rows / 2,); ∞
        where a message has no noise, and 0 where that is not known."""
        half = len(self.slopes) // 2
        with np.errstate(invalid="ignore"):
            far = _lost(self.releases[half:] - self.releases[:half], self.order, delta)
        far = np.where(self._known[half:] & self._known[:half], far, 0.0)
        return far if self.bare is None else np.where(self.bare[half:] | self.bare[:half], np.inf, far)

    @property
    def _apart(self) -> Array:
        """Of rows `in_pairs`, those of each pair."""
        return self._between(0, 1)

    @property
    def _apart_about_0(self) -> Array:
        """And those of the same change about the agent's own gradient."""
        return self._between(3, 2)

    @property
    def stretched(self) -> tuple[Objective, Objective]:
        """Of rows `in_pairs` the pair that is farthest apart."""
        k = int(np.argmax(self._apart))
        return self._one(k), self._one(len(self.slopes) // 4 + k)

    @property
    def moves(self) -> bool:
        """Whether any change moves the releases, as far as known."""
        return not self._known[0] or bool(np.any(self.releases[self._known] != self.releases[0]))

    @property
    def bounded(self) -> bool:
        """Whether the largest changes move the releases by no more than smaller ones."""
        size, known = np.linalg.norm(self.slopes, axis=1) / unit_of(self.own), self._known
        moved = np.max(np.abs(self.releases - self.releases[0]), axis=-1)
        near, far = (np.max(moved[known & (size > s) & (size <= 100 * s)], initial=0.0) for s in (1e2, 1e4))
        inside, out = np.max(moved[known & (size <= 1e6)], initial=0.0), size > 1e10
        beyond = np.max(moved[out], initial=0.0) if np.any(out) and np.all(known[out]) else np.inf
        return bool(known[0] and (0 < far <= GROWS * near or 0 < beyond <= GROWS * inside))

    @property
    def apart(self) -> "tuple[Apart, ...]":
        """The two objectives that are farthest apart; and the two of those that turn nowhere. Empty where of no two
        it is known how far they are apart."""
        found = list[Apart]()
        for rows, far in self._distances:
            zero, other = np.unravel_index(int(np.argmax(far)), far.shape)
            found.append(Apart(far[zero, other], (self._one(int(rows[zero])), self._one(int(rows[other])))))
        return tuple(found)

    def by_density(self, sample: Sample, agent: int, delta: float) -> "tuple[Apart, ...]":
        """The two objectives that a transcript tells apart most by the densities of its laws, where its releases are
        or some of their deviations away: how wide noise is may depend on the value, and what is far out is likelier
        where it is wide. Empty where that is not known."""
        with suppress(NetsimError), np.errstate(all="ignore"):
            made = sample.copied(len(self.slopes)).replayed(agent, self, "other data").releases
            if any(one.sent_in is None for one in made):
                return ()
            most = PLACED[-1] if delta == 0 else -math.log(delta)
            away = [sign * far for far in PLACED if far <= most for sign in (1.0, -1.0)]
            each = np.array([sum((_log_density(one, far) for one in made), np.zeros(1)) for far in away])
            each = each[:, self._known]
            each = each[np.all(np.isfinite(each), axis=1)]
            if each.size:
                best, rows = each[np.argmax(np.ptp(each, axis=1))], np.flatnonzero(self._known)
                zero, other = (int(rows[k]) for k in (np.argmax(best), np.argmin(best)))
                return (Apart(float(np.ptp(best)), (self._one(zero), self._one(other))),)
        return ()

    @property
    def _known(self) -> Mask:
        return np.all(np.abs(self.releases) <= JUDGED, axis=-1)

    def _one(self, k: int) -> Objective:
        if isinstance(self.own, Surrounded):
            return replace(self.own, slope=self.slopes[k])
        if self.curvatures[k] == 0 or not np.any(self.slopes[k]):
            return Tilted(self.own, self.slopes[k], record=self.record)
        return Bent(self.own, self.slopes[k], float(self.curvatures[k]), float(self.offsets[k]), record=self.record)

    def gradient(self, x: Array) -> Array:
        square = np.maximum(np.sum(self.slopes**2, axis=1), np.finfo(float).tiny)
        along = np.sum(x * self.slopes, axis=1) * self.curvatures / square + self.offsets
        return self.own.gradient(x) + np.where(self.curvatures == 0, 1.0, np.tanh(along))[:, None] * self.slopes

    def hessian(self, x: Array) -> Array:
        return self.own.hessian(x)

    def proximal(self, v: Array, step: float, regularizer: Regularizer | None = None) -> Array:
        return self.own.proximal(v - step * self.slopes, step, regularizer)

    def batch(self, indices: Sequence[int]) -> "Rows":
        every = int(getattr(self.own, "records", 1))
        share = 1.0 if self.record is None else every * float(np.mean(np.equal(indices, self.record)))
        slopes, curvatures = share * self.slopes, share * self.curvatures
        return replace(self, own=self.own.batch(indices), slopes=slopes, curvatures=curvatures, record=None)


@dataclass(frozen=True, eq=False)
class EachRecord(Rows):
    """Rows of which each moves a record of its own, (rows,)."""

    moved: NDArray[np.int64] = field(kw_only=True)

    @classmethod
    def costs(
        cls,
        simulation: Simulation,
        agent: int,
        records: Sequence[int],
        delta: float,
        seen: Sequence[Sample] = (),
    ) -> Array | None:
        """What releases lose at δ (`_lost`) where the gradient of each of these records goes one way and the other,
        (records,): the most of some directions and sizes, and of some transcripts but for a share δ of these, those
        that were `seen` if any; ∞ where a message has no noise. None where that is not known."""
        sample = seen[0] if seen else plain(simulation, agent, GATES)
        if not records or sample is None:
            return None
        own = simulation.problem.objectives[agent]
        d, unit = own.dimension, unit_of(own)
        directions = np.concatenate([_even(d)[None], np.eye(d)[evenly(d, TURNED)]])
        work = 2 * 2 * len(directions) * len(records) * (1 + len(sample.view.transcript.at_node(agent)))
        each = seen or [sample.replica(k) for k in range(max(1, min(GATES, OPENED // work)))]
        for share in NEARER:
            ways = np.concatenate([size * unit * directions for size in (share * _OFF, 1.0)])
            ways = ways[: max(2, MOVED // (2 * len(records)))]
            looked = [cls._costs(own, one, agent, records, ways, delta) for one in each]
            found = [one for one in looked if one is not None]
            if len(found) == len(each):
                return np.sort(found, axis=0)[-1 - int(delta * len(found))]
        return None

    @classmethod
    def _costs(
        cls, own: Objective, sample: Sample, agent: int, records: Sequence[int], ways: Array, delta: float
    ) -> Array | None:
        """The same of one transcript, and where gradients go these ways."""
        together, found = max(1, TOGETHER // (2 * len(ways))), list[Array]()
        for first in range(0, len(records), together):
            some = np.repeat(np.array(records[first : first + together]), len(ways))
            slopes = np.tile(ways, (len(some) // len(ways), 1))
            still, nothing = np.zeros(2 * len(some)), np.zeros((2 * len(some), 0))
            both, moved = np.concatenate([-slopes, slopes]), np.concatenate([some, some])
            rows = cls(own, both, still, still, None, nothing, moved=moved)._seen(sample, agent)
            if rows is None:
                return None
            found.append(np.max(rows.mirrored(delta).reshape(-1, len(ways)), axis=1))
        return np.concatenate(found)

    def batch(self, indices: Sequence[int]) -> Rows:
        share = int(getattr(self.own, "records", 1)) * np.mean(np.equal.outer(self.moved, indices), axis=-1)
        slopes, still = share[:, None] * self.slopes, self.curvatures
        return Rows(self.own.batch(indices), slopes, still, self.offsets, None, self.releases, self.order)


@dataclass(frozen=True, eq=False)
class Asking(EachRecord):
    """Rows that note the `batches` of records that are asked, in their order, and the `points` at which gradients of
    each are, (rows, dimension)."""

    batches: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]], kw_only=True)
    points: list[tuple[tuple[int, ...], Array]] = field(
        default_factory=list[tuple[tuple[int, ...], Array]], kw_only=True
    )
    asked: tuple[int, ...] | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, sample: Sample, agent: int, own: Objective, records: Sequence[int] = (), size: float = 0.0) -> Self:
        """What the agent of a transcript asks, where nothing is moved, or in a row each the gradient of one of these
        records, in all coordinates by `size`; no more where its code fails."""
        moved = np.array(records if len(records) else [-1])
        slopes, still = np.full((len(moved), own.dimension), size), np.zeros(len(moved))
        asking = cls(own, slopes, still, still, None, np.zeros((len(moved), 0)), moved=moved)
        with suppress(NetsimError), np.errstate(all="ignore"):
            sample.copied(len(moved)).replayed(agent, asking, "other data")
        return asking

    def batch(self, indices: Sequence[int]) -> Rows:
        asked = tuple(int(k) for k in np.ravel(indices))
        self.batches.append(asked)
        part = super().batch(asked)
        return replace(self, own=part.own, slopes=part.slopes, asked=asked)

    def gradient(self, x: Array) -> Array:
        if self.asked is not None:
            self.points.append((self.asked, np.array(x)))
        return super().gradient(x)

    def entangles(self, still: "Asking") -> bool:
        """Whether any of these records moves a point at which a batch without it is asked."""
        for (batch, there), (other, here) in zip(self.points, still.points, strict=False):
            moved = ~np.all(np.isclose(there, here, rtol=SAME, atol=SAME), axis=-1)
            if batch == other and np.any(moved & ~np.isin(self.moved, batch)):
                return True
        return False


class Apart(NamedTuple):
    """Two objectives, and how far apart they move one transcript's releases, in deviations of their noise."""

    distance: float
    worlds: tuple[Objective, Objective]

    @property
    def changes(self) -> tuple[bytes, ...]:
        """By what the two are moved."""
        return tuple(cast("Tilted | Bent | Surrounded", one).slope.tobytes() for one in self.worlds)


def plain(simulation: Simulation, agent: int, transcripts: int = 1) -> Sample | None:
    """Transcripts whose releases can be read; None where there are none, or where a codec rounds them."""
    sample = worlds(simulation, agent, simulation.problem.objectives[agent], transcripts)(0, FIRST_CHUNK)
    return sample if sample.view.public.codec.lossless and sample.releases else None


def _lost(apart: Array, order: int, delta: float) -> Array:
    """What releases lose whose values are so many deviations of their noise `apart`, (rows, numbers) to (rows,):
    their norm. For δ > 0, of Laplace noise: the mean loss and as many of its deviations as leave δ beyond, at most
    the largest; one number that is far apart loses more than many that are little."""
    norm = np.asarray(np.linalg.norm(apart, ord=order, axis=1))
    if order == 2 or delta == 0:
        return norm
    far = math.sqrt(2) * np.abs(apart)  # in scales of the noise
    mean = far + np.expm1(-far)
    spread = far**2 - 2 * far + 4 - np.exp(-far) * (2 * far + 4) - mean**2
    around = np.sum(mean, axis=1) + special.ndtri(1 - delta) * np.sqrt(np.maximum(np.sum(spread, axis=1), 0.0))
    return np.minimum(norm, around / math.sqrt(2))


def _log_density(release: Release, away: float) -> Array:
    """ln of the density under each row, (rows,), so many deviations of the first away from what was released."""
    return release.mechanism.log_density(release.observed + away * release.stddev[:1], release.value)


def _in_deviations(release: Release) -> Array:
    """What a release hides, (rows, numbers); a number without noise that is the same in all rows is 0."""
    same = np.all(release.value == release.value[:1], axis=0) & np.all(np.equal(release.stddev, 0), axis=0)
    return np.where(same, 0.0, release.value / release.stddev)


def _directions(rng: np.random.Generator, count: int, dimension: int) -> Array:
    """Unit vectors (count, dimension): signs, coordinates, and random ones in turn."""
    vectors = rng.standard_normal((count, dimension))
    vectors[::3] = np.where(vectors[::3] < 0, -1.0, 1.0)
    vectors[1::3] *= np.arange(dimension) == rng.integers(dimension, size=(count, 1))[1::3]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _even(dimension: int) -> Array:
    """The unit vector (dimension,) of equal coordinates."""
    return np.full(dimension, dimension**-0.5)


def _center(own: Objective) -> Array:
    """The change (dimension,) by which the gradient at 0 becomes 0."""
    return np.asarray(-own.gradient(np.zeros((1, own.dimension)))[0], dtype=np.float64)


def unit_of(own: Objective) -> float:
    """Size of a gradient of the agent's own records, 1 at least."""
    own = own.objective if isinstance(own, Surrounded) else own
    return max(1.0, float(np.max(np.abs(own.gradient(np.zeros((1, own.dimension)))))))


def bounds_releases(simulations: Sequence[Simulation], agent: int, record: int | None) -> bool:
    """Whether changes of the agent's gradient (`record`: of one record's), however large, move one transcript's
    releases by no more than `GROWS` allows: of each of these where they move any, and they do in one."""
    drawn = [Rows.drawn(one, agent, record) for one in simulations]
    known = [one for one in drawn if one is not None and (len(drawn) == 1 or one.moves)]
    return bool(known) and all(one.bounded for one in known)


def steepest(simulation: Simulation, agent: int, record: int | None, place: Array, size: float, norm: Norm) -> Array:
    """Vectors of norm 1 (some, dimension) along which one transcript's releases move most where the gradient, that of
    one `record` or of all, is moved by `place` (dimension,) and then by `size`; none where that is not known."""
    own = simulation.problem.objectives[agent]
    if own.dimension == 1 or (sample := plain(simulation, agent)) is None:
        return np.zeros((0, own.dimension))
    about = replace(Rows.tilted(own, place[None]), record=record).responses(sample, agent, np.array([size]))
    return np.concatenate([place[None][:0], *(one.steepest(norm) for one in about)])


def least_noise(simulation: Simulation, agent: int) -> Array | None:
    """The least standard deviation of one transcript's releases in each coordinate, (dimension,); None where that is
    not known, or where a release is of some coordinates alone."""
    if (sample := plain(simulation, agent)) is None:
        return None
    own = simulation.problem.objectives[agent]
    made = sample.replayed(agent, own, "its own data").releases
    if any(r.value.shape != (1, own.dimension) for r in made):
        return None
    return np.min([np.broadcast_to(r.stddev, (1, own.dimension))[0] for r in made], axis=0)
