"""Check that the noise a replay recovers follows its declared law.

Under the true hypothesis every coordinate of every release has a quantile, uniform if the law is right; as normal
scores w_t they are independent standard normal vectors, whatever the law. Five properties are tested: the coordinates
themselves, also the sum of their squares, which shows a wrong scale first; the component along the difference Δ_t
that the two worlds make (all that a loss with Gaussian noise depends on, and fixed before the noise is drawn); the
length, ‖w_t‖² ~ χ²; the component along the noise of the release before, and along a sum with random signs of that of
all releases before. Noise that repeats, cancels, or is shared among coordinates, releases or transcripts fails one of
them.

Laws of somebody's own are tested by themselves as well: their density against their quantiles, and releases drawn
again of the same values by generators of their own, in which tails that are cut, and noise that is a function of the
value, show at once.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, cast
from zlib import crc32

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from attacks.replay import Perturbed, Release
from netsim.arrays import Array, Mask
from netsim.errors import PrivacyError
from netsim.mechanisms import DiscreteMechanism, Mechanism
from netsim.shown import show

ALPHA = 1e-4
"""False-alarm probability: that noise which follows its law fails the check."""
_SAMPLE = 20_000
"""Numbers tested per sample and property, spread over the releases."""
_CUBES, _HALVES, _APART = 32, (1e-3, 1e-5), 0.05
"""Transcripts in which a law's density is compared with its quantiles, half a cube's side in deviations of the noise
(in a small one seldom lies a jump of the density), and how far the logarithms may be apart in each coordinate."""
DRAWS, ALPHA_OF_DRAWS = 20_000, 1e-6
"""Numbers drawn anew of the laws of somebody's own in an audit, and the false-alarm probability of what they show."""
_TAIL = 5e-4
"""Probability of each of two tails: 20 numbers of both together, and of either up to twice that, are expected."""
_MOST_TIMES = 200
"""Draws of a release whose mechanism has arrays, so that it is drawn in the shape that it had."""
_RARE = 1e-9
"""Probability beyond what was observed, below which a density is not checked: no draw is there, but noise that is
aimed may be."""
_FARTHEST = 8.0  # normal scores beyond it cannot be told from infinity


class NoiseScores(NamedTuple):
    """Quantiles of five properties, each flat and uniform on (0, 1) if the noise follows its law."""

    coordinates: Array
    along_difference: Array
    length: Array
    along_previous: Array
    along_earlier: Array

    @classmethod
    def of(cls, releases: list[Release], differences: list[Array]) -> "NoiseScores":
        """Scores of one sample under the true hypothesis; `differences[t]` is Δ_t, (replicas, dimension)."""
        parts: list[NoiseScores] = []
        previous: Array | None = None
        earlier: Array | None = None
        signs = np.random.default_rng(0)
        seed = 0  # from what has atoms: samples must not share their draws within them
        for release in releases:
            if isinstance(release.mechanism, DiscreteMechanism):
                seed = crc32(release.observed.tobytes(), seed)
        within = np.random.default_rng(seed)
        rows = max(1, _SAMPLE // max(1, sum(r.value.shape[-1] for r in releases)))
        most = max(1, _SAMPLE // max(1, len(releases)))
        for release, difference in zip(releases, differences, strict=True):
            scores, noisy = _normal_scores(_first(release, most), within)
            scores, noisy = scores[:most], noisy[:most]
            freedom = noisy.sum(axis=-1)
            squares = np.sum(scores**2, axis=-1)[freedom > 0]
            length = np.asarray(stats.chi2.cdf(squares, freedom[freedom > 0]), dtype=np.float64)
            parts.append(
                cls(
                    np.asarray(special.ndtr(scores[:rows][noisy[:rows]]), dtype=np.float64),
                    _along(scores, np.where(noisy, difference[:most], 0.0)),
                    length,
                    np.empty(0) if previous is None else _along(scores, np.where(noisy, previous, 0.0)),
                    np.empty(0) if earlier is None else _along(scores, np.where(noisy, earlier, 0.0)),
                )
            )
            signed = signs.choice((-1.0, 1.0)) * scores
            earlier = signed if earlier is None else earlier + signed
            previous = scores
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True))) if parts else NOTHING


@dataclass(frozen=True)
class NoiseCheck:
    """Kolmogorov-Smirnov p-values of the five properties, χ² of all coordinates' size, and Bonferroni's of all."""

    p_values: tuple[float, ...]

    @classmethod
    def of(cls, samples: list[NoiseScores]) -> "NoiseCheck":
        """Test the pooled samples; a property of which nothing was seen has no p-value."""
        pooled = [np.concatenate(column) for column in zip(*samples, strict=True)]
        found = [float(stats.kstest(u, "uniform").pvalue) for u in pooled if u.size]
        if pooled and pooled[0].size:  # χ² of all coordinates' size, two-sided: the first to show a wrong scale
            scores = np.clip(special.ndtri(pooled[0]), -_FARTHEST, _FARTHEST)
            total = float(np.sum(scores**2))
            below, above = stats.chi2.cdf(total, scores.size), stats.chi2.sf(total, scores.size)
            found.append(float(min(1.0, 2 * min(below, above))))
        return cls(tuple(found))

    @property
    def p(self) -> float:
        """Bonferroni: the smallest p-value times their number; 1 where there was no noise."""
        return min(1.0, len(self.p_values) * min(self.p_values)) if self.p_values else 1.0

    @property
    def passed(self) -> bool:
        """Whether the law is not refuted at `ALPHA`."""
        return self.p >= ALPHA


def check_law(release: Release) -> None:
    """Raise a `PrivacyError` where a law of somebody's own has quantiles that are not those of its density, or says
    no size of its noise.

    Losses come from the density and the check of the noise from the quantiles: they have to speak of the same law. In
    a few transcripts the probability of a small cube around what was observed is compared, by one and by the other.
    """
    law = release.mechanism
    if not is_somebodys(law) or isinstance(law, DiscreteMechanism):
        return
    few = _first(release, _CUBES)
    if not np.all(np.isfinite(few.stddev)):
        raise PrivacyError(
            f"{type(law).__name__}: variance() is {show(float(np.max(law.variance())), 4)}; an audit takes its root "
            "for the size of the noise: for a law that has no variance return the square of its scale"
        )
    noisy, wrong = few.stddev > 0, few.judged & np.logical_not(few.drowned)
    with np.errstate(all="ignore"):
        below = law.quantiles(few.observed, few.value)
    wrong &= np.all(~noisy | ~(np.minimum(below, 1 - below) < _RARE), axis=-1)
    for share in _HALVES:
        half = share * few.stddev
        with np.errstate(all="ignore"):
            above, below = (law.quantiles(few.observed + way * half, few.value) for way in (1, -1))
            by_quantiles = np.sum(np.where(noisy, np.log(above - below) - np.log(2 * half), 0.0), axis=-1)
            apart = np.abs(by_quantiles - law.log_density(few.observed, few.value))
        wrong &= np.logical_not(np.less_equal(apart, _APART * np.sum(noisy, axis=-1)))
    if np.any(wrong):
        raise PrivacyError(
            f"{type(law).__name__}: its quantiles are not those of its density, so that nothing shows which law the "
            "noise has; declare both of one law"
        )


class Draws(NamedTuple):
    """P-values of noise drawn anew from laws of somebody's own: the five properties and size, and the tails."""

    law: tuple[float, ...]
    tails: tuple[float, ...]
    numbers: int

    @classmethod
    def of(cls, releases: list[Release]) -> "Draws":
        """Make each release again and again of the values that it had, every time by a generator of its own."""
        again = list[Release]()
        for k, release in enumerate(releases):
            replicas: int = -(-DRAWS // (2 * len(releases) * release.value.shape[-1]))
            some = _of_replicas(release, np.arange(replicas) % len(release.value))
            times = min(_MOST_TIMES, max(2, -(-DRAWS // (len(releases) * some.value.size))))
            law, rngs = cast(Mechanism, some.mechanism), np.random.default_rng(k).spawn(times)
            again += [replace(some, observed=law.release(some.value.copy(), rng)) for rng in rngs]
        scores = NoiseScores.of(again, [np.zeros_like(r.value) for r in again])
        u = scores.coordinates
        sides = (np.minimum(u, 1 - u), u / 2, (1 - u) / 2) if u.size else ()
        tails = (stats.binomtest(int(np.sum(side < _TAIL)), u.size, 2 * _TAIL).pvalue for side in sides)
        return cls(NoiseCheck.of([scores]).p_values, tuple(map(float, tails)), u.size)

    @property
    def p(self) -> float:
        """Bonferroni's of all; 1 where there was no noise."""
        every = self.law + self.tails
        return min(1.0, len(every) * min(every)) if every else 1.0


def check_draws(releases: list[Release]) -> None:
    """Raise a `PrivacyError` where laws of somebody's own draw other noise than they declare: noise drawn anew has to
    follow the law, in its tails as well, and may not be what it was the time before."""
    own = [r for r in releases if is_somebodys(r.mechanism)]
    if (found := Draws.of(own)).p < ALPHA_OF_DRAWS:
        names = ", ".join(dict.fromkeys(type(r.mechanism).__name__ for r in own))
        least = min(found.law + found.tails)
        wrong = "by its tails" if least in found.tails else "it repeats, depends on the value, or has another law"
        raise PrivacyError(
            f"{names}: {found.numbers:,} numbers of noise, drawn again for the same values, do not follow the noise "
            f"law that is declared: {wrong} (p = {show(least, 1)}); draw it from the generator that "
            "`release` is handed"
        )


def is_somebodys(law: object) -> bool:
    """Whether a law is neither one of netsim's nor one made of these."""
    return not type(law).__module__.startswith("netsim.") and not isinstance(law, Perturbed)


def _first(release: Release, replicas: int) -> Release:
    """Release cut to the first replicas, where no number of the mechanism is an array; else as it is."""
    return _of_replicas(release, np.arange(min(replicas, len(release.value))))


def _of_replicas(release: Release, which: npt.NDArray[np.intp]) -> Release:
    numbers = getattr(release.mechanism, "__dict__", None)
    if numbers is None or isinstance(release.mechanism, Perturbed):
        return release
    if any(isinstance(v, np.ndarray) for v in numbers.values()):
        return release
    observed, value, judged = release.observed[which], release.value[which], release.judged[which]
    drowned = np.broadcast_to(release.drowned, release.judged.shape)[which]
    return replace(release, observed=observed, value=value, judged=judged, drowned=drowned)


def _normal_scores(release: Release, within: np.random.Generator) -> tuple[Array, Mask]:
    """Normal scores (replicas, dimension), 0 where the law has no noise or nothing is judged; and where it has some.

    `within` draws where in its atom a discrete release is.
    """
    noisy = release.stddev > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        quantiles = release.quantiles(within)
    scores = np.clip(special.ndtri(np.where(noisy, quantiles, 0.5)), -_FARTHEST, _FARTHEST)
    noisy = np.logical_and(noisy, np.logical_and(release.judged, np.logical_not(release.drowned))[:, None])
    return np.where(noisy, scores, 0.0), noisy


def _along(scores: Array, direction: Array) -> Array:
    size = np.linalg.norm(direction, axis=-1)
    seen = size > 0
    return np.asarray(special.ndtr(np.sum(scores * direction, axis=-1)[seen] / size[seen]), dtype=np.float64)


NOTHING = NoiseScores(*(np.empty(0) for _ in NoiseScores._fields))
