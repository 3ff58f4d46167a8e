"""Transcripts that lose most for who does not know an agent's private coins, also where noise seldom opens what these
decide.

Where a number that was seen lies in some band, code may release one of several secret records in place of their mean,
or say how its coins fell. Few transcripts show that. So a chunk is looked at: as it is, with coins that fall in other
ways, and with the noise of all agents scattered over many sizes. In each transcript the numbers that tell histories
or worlds apart are then put where the loss is larger (`attacks.audit.loss.aimed_mixture`); others stay where they
are, for that may be what opens it. All of this is possible, so that a loss counts at δ = 0; it is no sample.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import NamedTuple, Self

import numpy as np
from scipy import special

from attacks.audit.loss.aimed_mixture import BESIDE, Worlds
from attacks.audit.loss.comparison import Sample
from attacks.replay import Release, attempted
from attacks.replay.coins import Coins, DrawnCoins, are_whole
from netsim.arrays import Array, Mask, evenly
from netsim.errors import AttackError, NetsimError
from netsim.mechanisms import Gaussian, Laplace, Mechanism, Releasing
from netsim.randomness import NoiseThrough

RUNS, CLIMBED, BEST = 4, 3, 3
"""Chunks in which coins fall in other ways, at most, two of each way; transcripts of each whose numbers are set one
by one; and transcripts that are handed out, at most."""
NUMBERS, WORK = 2**20, 2**14
"""Values at all histories, about: of so many transcripts; and messages that are replayed, but for the `base`."""
WIDER, SIZES = 4.0, (1e-2, 1e2)
"""How many times as large scattered noise is in a third of the transcripts, and in others at least and at most."""
OUTSIDE = 40.0
"""Scales beyond the outermost values, where noise of several scales tells most."""
_DIGITS, _SAME = 6, 1e-9
"""Of losses, and relative: what differs by less is the same."""


class Numbers(NamedTuple):
    """Releases of the first transcripts with Laplace noise: what was seen of them, their values and the scales of
    their noise, all (replicas, numbers), and how many numbers each has."""

    seen: Array
    values: Array
    scales: Array
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, releases: Sequence[Release], replicas: int) -> Self | None:
        """None where another law has made one, or there is none."""
        if not releases or not all(isinstance(one.mechanism, Laplace) and np.all(one.scale > 0) for one in releases):
            return None
        each = ((one.observed, one.value, np.broadcast_to(one.scale, one.value.shape)) for one in releases)
        seen, values, scales = (np.concatenate(some, axis=1)[:replicas] for some in zip(*each, strict=True))
        return cls(seen, values, scales, tuple(one.value.shape[-1] for one in releases))


class Histories(NamedTuple):
    """Transcripts at some histories, under one hypothesis: ln of their odds, (histories,), which explain what was
    seen, (histories, replicas), and the values of what they release and the scales of its Laplace noise, both
    (histories, replicas, numbers)."""

    log_odds: Array
    explain: Mask
    values: Array
    scales: Array

    @classmethod
    def mixed(cls, log_odds: Sequence[float], explain: Mask, each: Sequence[Numbers | None], own: Numbers) -> Self:
        """Of what each history releases; those that do not release as many numbers as the `own` one are left out."""
        alike = [one is not None and one.sizes == own.sizes for one in each]
        some = [one if one is not None and one.sizes == own.sizes else own for one in each]
        values, scales = (np.array([getattr(one, name) for one in some]) for name in ("values", "scales"))
        return cls(np.array(log_odds), explain & np.array(alike)[:, None], values, scales)

    def end(self, far: float) -> Array:
        """The largest value, or the least for −1, of those histories that explain, (replicas, numbers)."""
        here = self.explain[..., None]
        return far * np.max(far * self.values, axis=0, where=here, initial=-np.inf)

    def log_density(self, seen: Array) -> Array:
        """ln of their odds and density together, but for a constant, of other releases (replicas, numbers)."""
        far = np.abs(seen - self.values) / self.scales + np.log(self.scales)
        terms = self.log_odds[:, None] - np.sum(far, axis=-1)
        return np.asarray(special.logsumexp(np.where(self.explain, terms, -np.inf), axis=0))

    def explaining(self, replica: int) -> list[tuple[float, Array | None]]:
        """Those that explain a transcript, as a mixture is made of."""
        values = self.values[:, replica] / self.scales[:, replica]
        return [(float(self.log_odds[h]), values[h]) for h in np.flatnonzero(self.explain[:, replica])]


class Look(NamedTuple):
    """Transcripts at all histories: their `losses`, (replicas,), −∞ where not known, and what makes the `coins` of
    each history; their own releases, None where another law than Laplace's has made one, and those of both worlds."""

    losses: Array
    coins: Sequence[Callable[[], Coins]]
    own: Numbers | None
    worlds: Sequence[Histories]

    def aimed(self) -> list[Array] | None:
        """Releases at which the loss is larger, (replicas, numbers) each; None where there are none."""
        if self.own is None:
            return None
        seen, scale = self.own.seen, np.max([np.max(one.scales, axis=0) for one in self.worlds], axis=0)
        several = np.any([np.any(one.scales < (1 - _SAME) * scale, axis=0) for one in self.worlds], axis=0)
        with np.errstate(all="ignore"):
            out = np.where(several, OUTSIDE * scale, 0.0)
            high = np.max([one.end(1.0) for one in self.worlds], axis=0) + out
            low = np.min([one.end(-1.0) for one in self.worlds], axis=0) - out
            moved = np.isfinite(low) & np.isfinite(high) & (high - low > _SAME * scale)
            if not np.any(moved):
                return None
            tried = np.array([np.where(moved, one, seen) for one in (high, low, *self._between(high, low))])
            losses = np.array([self._loss(one) for one in tried])
        found, most = tried[np.argmax(losses, axis=0), np.arange(len(seen))], np.max(losses, axis=0)
        for k in [] if np.any(several) else _largest(most, CLIMBED):
            if (known := Worlds.of(*(one.explaining(k) for one in self.worlds))) is not None:
                found[k] = np.where(moved[k], known.largest() * scale[k], seen[k])
        ends = np.cumsum(self.own.sizes)[:-1]
        return np.split(np.where(moved, found + BESIDE * scale, seen), ends, axis=1)

    @property
    def dearest(self) -> list[int]:
        """Histories, first those at which the worlds are farthest apart."""
        if self.own is None or self.worlds[0].values.shape != self.worlds[1].values.shape:
            return [*range(len(self.coins))]
        one, two = self.worlds
        apart = np.sum(np.abs(one.values - two.values) / one.scales, axis=-1) * one.explain
        return [int(k) for k in np.argsort(-np.max(apart, axis=1), kind="stable")]

    def _between(self, high: Array, low: Array) -> Iterator[Array]:
        """At the values of the history at which the worlds are farthest apart; or on that side of them, with other
        numbers far out or as they are there."""
        one, two = self.worlds
        if one.values.shape != two.values.shape:
            return
        apart = np.sum(np.abs(one.values - two.values), axis=-1)
        k = np.argmax(np.where(one.explain & two.explain, apart, -1.0), axis=0)[None, :, None]
        here, there = (np.take_along_axis(world.values, k, axis=0)[0] for world in (one, two))
        yield here
        for rest in (high, low, here):
            yield np.where(here > there, high, np.where(here < there, low, rest))

    def _loss(self, seen: Array) -> Array:
        one, two = (world.log_density(seen) for world in self.worlds)
        return np.where(np.isfinite(one) & np.isfinite(two), one - two, -np.inf)


def _largest(losses: Array, most: int) -> list[int]:
    """Numbers of so many that are largest, of those alike one."""
    _, first = np.unique(np.round(losses, _DIGITS), return_index=True)
    return [int(k) for k in first[::-1] if not np.isneginf(losses[k])][:most]


# ── noise that is possible ──────────────────────────────────────────────────────────────────────────
class Scattered(Releasing):
    """Laplace and Gaussian noise as drawn, times one number in some transcripts, and in others each by its own."""

    def __init__(self, source: np.random.Generator) -> None:
        super().__init__(source.bit_generator)

    def released(self, mechanism: Mechanism, value: Array) -> Array:
        seen = mechanism.release(value, self)
        if type(mechanism) not in (Laplace, Gaussian):
            return seen
        low, high = np.log(SIZES)
        times = np.exp(self.uniform(low, high, np.shape(seen)))
        times[::3], times[1::3] = WIDER, times[1::3, :1]
        return value + times * (seen - value)


class _Placed(Releasing):
    """Noise that puts Laplace releases, one after the other, to where they are `placed`, (replicas, numbers), in the
    first transcripts; it is as always in others."""

    def __init__(self, source: np.random.Generator, placed: Sequence[Array]) -> None:
        super().__init__(source.bit_generator)
        self._placed = list(reversed(placed))

    def released(self, mechanism: Mechanism, value: Array) -> Array:
        seen = np.array(mechanism.release(value, self))
        wanted = self._placed.pop() if self._placed else None
        if wanted is not None and isinstance(mechanism, Laplace) and wanted.shape[1:] == seen.shape[1:]:
            seen[: len(wanted)] = wanted
        return seen


# ── coins that fall one way ─────────────────────────────────────────────────────────────────────────
def fallen(sample: Sample, coins: Coins | DrawnCoins, **noise: NoiseThrough | None) -> Sample:
    """Transcripts simulated anew with these coins; with other `noise` too, where that is named."""
    if sample.again is None:
        raise AttackError("a transcript that cannot be simulated anew")
    live = _at_once(coins.copied())
    made = attempted(sample.again)(coins=lambda _: live, **noise)
    history = live.history if isinstance(live, Coins) else None
    return replace(made, coins=lambda: _at_once(coins.copied() if history is None else Coins.of(history)))


def _at_once(coins: Coins | DrawnCoins) -> Coins | DrawnCoins:
    """These coins, of which a choice is tossed when it is made: the network has to know whom a message goes to."""
    choose = coins.choose

    def at_once(options: Sequence[int]) -> int:
        one = choose(options)
        return int(one) if are_whole(options) else one

    setattr(coins, "choose", at_once)  # noqa: B010
    return coins


# ── the search ──────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Search:
    """Search among transcripts like those of a `base`; `look` replays such a sample at all histories of the coins,
    and in so many `runs` these fall in one of these ways."""

    base: Sample
    look: Callable[[Sample], Look]
    runs: int

    def found(self) -> list[tuple[float, Sample]]:
        """Transcripts that lose most, of one replica each, and how much; that which loses most first."""
        if self.base.again is None:
            return []
        with suppress(NetsimError):
            found = self._seen(attempted(self.base.again), self.base, first := self.look(self.base))
            order = first.dearest
            ways = [(order[k], noise) for k in evenly(len(order), RUNS // 2) for noise in (Scattered, None)]
            for k, noise in ways[: self.runs]:
                with suppress(NetsimError):
                    again = partial(fallen, self.base, first.coins[k](), around=noise)
                    sample = again(noise=noise)
                    found += self._seen(again, sample, self.look(sample))
            return sorted(found, key=itemgetter(0), reverse=True)[:BEST]
        return []

    def _seen(self, again: Callable[..., Sample], sample: Sample, look: Look) -> list[tuple[float, Sample]]:
        """Those that lose most of a sample, and of it `again` with noise that loses more."""
        found = [(float(look.losses[k]), sample.replica(k)) for k in _largest(look.losses, 1)]
        if (aimed := look.aimed()) is not None:
            sample = again(noise=partial(_Placed, placed=aimed))
            losses = self.look(sample).losses
            found += [(float(losses[k]), sample.replica(k)) for k in _largest(losses, 1)]
        return found
