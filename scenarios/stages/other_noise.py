"""Noise with which a network is simulated where agents release other numbers than in a run, all of them possible."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, Self

import numpy as np
from scipy import stats

from attacks.audit.pair import FIRST_CHUNK
from attacks.replay import covered, deviation, scale_of
from netsim.arrays import Array
from netsim.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    Releasing,
    UniformLaplace,
    UniformModulo,
)
from netsim.randomness import NoiseThrough
from netsim.simulation import Simulation
from scenarios.stages.worlds import worlds

COPIES = 64
"""Transcripts of other numbers."""
LARGEST = 1e6
"""By how much releases are made larger or smaller, at most, where all that is possible counts."""
_KINDS, _SEED = 4, 6

_KNOWN = Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian, UniformLaplace, UniformModulo

Place = Callable[[Array], Array]
"""Where what would be released, (replicas, dimension), is put."""


class OtherNoise(Protocol):
    """What becomes of the noise of all agents."""

    def of(self, agent: int) -> NoiseThrough:
        """What becomes of one agent's."""
        ...


def elsewhere(simulation: Simulation, noise: OtherNoise) -> Simulation:
    """The simulation with that noise."""
    return replace(simulation, noise_through={i: noise.of(i) for i in range(simulation.topology.agents)})


# ── at δ = 0: any number ────────────────────────────────────────────────────────────────────────────
class _Placed(Releasing):
    """Noise that puts what is released elsewhere, where its law can; of somebody's own law in any case, and of one
    that cannot the name is noted in `own`."""

    def __init__(self, _: np.random.Generator, place: Place, seed: tuple[int, ...], own: set[str]) -> None:
        super().__init__(np.random.default_rng(seed).bit_generator)
        self._place, self._own = place, own

    def released(self, mechanism: Mechanism, value: Array) -> Array:
        seen = mechanism.release(value, self)
        wanted = _with_noise(mechanism, seen, self._place(seen))
        possible = np.isfinite(mechanism.log_density(wanted, value))
        if is_unknown(mechanism) and not np.all(possible):
            self._own.add(type(mechanism).__name__)
            return wanted
        return np.where(possible[:, None], wanted, seen)


def _with_noise(mechanism: Mechanism, seen: Array, wanted: Array) -> Array:
    """What is wanted, on the mechanism's grid if it has one; what was seen where there is no noise."""
    return np.where(np.broadcast_to(deviation(mechanism), seen.shape) == 0, seen, covered(mechanism, wanted))


def is_unknown(mechanism: object) -> bool:
    """Whether of a law it is not known what its noise can take a value to: of somebody's own, or made of others."""
    return type(mechanism) not in _KNOWN


@dataclass(frozen=True)
class Times:
    """All that is released is so many times as large, in one transcript."""

    size: float

    def of(self, agent: int) -> NoiseThrough:
        def place(seen: Array) -> Array:
            return self.size * seen

        return partial(_Placed, place=place, seed=(_SEED, agent), own=set[str]())


@dataclass(frozen=True)
class Anywhere:
    """All that is released is larger or smaller and may have another sign: in a quarter of the copies by one factor,
    in a quarter all of one sign, in a quarter each release by a factor of its own, and in a quarter each number. In
    the first copy all is as it is. `largest`: by how much, at most. `own`: names of laws of somebody's own, of which
    it is not known that they can take a release there."""

    largest: float = LARGEST
    own: set[str] = field(default_factory=set[str])

    def of(self, agent: int) -> NoiseThrough:
        rng, number = np.random.default_rng((_SEED, agent, 1)), np.arange(COPIES)[:, None]
        common = np.geomspace(1 / self.largest, self.largest, COPIES)[:, None]
        common *= np.where(number // _KINDS % 2 == 0, 1.0, -1.0)
        common[0], of_one_sign = 1.0, number % _KINDS == 2

        def drawn(numbers: int) -> Array:
            exponents = rng.uniform(-2.0, 2.0, (COPIES // _KINDS, numbers))
            return np.copysign(np.exp(math.log(self.largest) * (np.abs(exponents) - 1)), exponents)

        def place(seen: Array) -> Array:
            factors = np.repeat(common, seen.shape[-1], axis=1)
            factors[1::_KINDS], factors[3::_KINDS] = drawn(1), drawn(seen.shape[-1])
            return factors * np.where(of_one_sign, np.abs(seen), seen)

        return partial(_Placed, place=place, seed=(_SEED, agent), own=self.own)


# ── at δ > 0: what is not left to δ ─────────────────────────────────────────────────────────────────
class _Resized(Releasing):
    """Noise of other lengths, by the number of the release and the order of the norm of its noise in scales."""

    def __init__(
        self, source: np.random.Generator, resized: Callable[[int, int, Array], Array], own: set[str] | None = None
    ) -> None:
        super().__init__(source.bit_generator)
        self._resized, self._made, self._own = resized, 0, set[str]() if own is None else own

    def released(self, mechanism: Mechanism, value: Array) -> Array:
        seen, self._made = mechanism.release(value, self), self._made + 1
        if isinstance(mechanism, UniformLaplace | UniformModulo):
            return seen
        if is_unknown(mechanism):  # how long its noise may be is not known
            self._own.add(type(mechanism).__name__)
        hidden, scale = covered(mechanism, value), np.broadcast_to(scale_of(mechanism), value.shape)
        silent = scale == 0
        drawn = np.where(silent, 0.0, (seen - hidden) / np.where(silent, 1.0, scale))
        order = 1 if isinstance(mechanism, Laplace | DiscreteLaplace) else 2
        wanted = self._resized(self._made - 1, order, drawn)
        noise = scale * wanted
        if isinstance(
            mechanism, DiscreteLaplace | DiscreteGaussian
        ):  # toward 0: that is at least as likely as so long a noise on the line
            noise = mechanism.step * np.trunc(noise / mechanism.step)
        return np.where(silent | (wanted == drawn), seen, hidden + noise)


@dataclass(frozen=True)
class Typical:
    """Noise is of a length that is not left to `delta`: of all releases together in half of the copies, of one in the
    others; and it may have another sign. In the first copy all is as it is. `sizes`: how many numbers each release
    of an agent has. `own`: names of laws of somebody's own."""

    delta: float
    sizes: Mapping[int, tuple[int, ...]]
    own: set[str] = field(default_factory=set[str])

    @classmethod
    def counted(cls, simulation: Simulation, agent: int, delta: float) -> Self:
        """For what the agents of this simulation release."""
        sizes = {i: list[int]() for i in range(simulation.topology.agents)}

        def counted(_: int, __: int, drawn: Array, some: list[int]) -> Array:
            some.append(np.shape(drawn)[-1])
            return drawn

        through = {i: partial(_Resized, resized=partial(counted, some=some)) for i, some in sizes.items()}
        own = simulation.problem.objectives[agent]
        worlds(replace(simulation, noise_through=through), agent, own, 1)(0, FIRST_CHUNK)
        return cls(delta, {i: tuple(some) for i, some in sizes.items()})

    def of(self, agent: int) -> NoiseThrough:
        every = [(i, t) for i, some in self.sizes.items() for t in range(len(some))]
        rng, number, numbers = np.random.default_rng(_SEED), np.arange(COPIES), sum(map(sum, self.sizes.values()))
        chosen = rng.integers(max(1, len(every)), size=COPIES)
        signs, together = rng.choice([-1.0, 1.0], COPIES), number % 2 == 0

        def resized(release: int, order: int, drawn: Array) -> Array:
            size = np.shape(drawn)[-1]
            which = together | (chosen == every.index((agent, release)))
            lengths = np.where(together, self._lengths(order, numbers, size), self._lengths(order, size, size))
            norms = np.linalg.norm(drawn, ord=order, axis=-1, keepdims=True)
            unit = drawn / np.where(norms == 0, 1.0, norms)
            return np.where((which & (number > 0))[:, None], (signs * lengths)[:, None] * unit, drawn)

        return partial(_Resized, resized=resized, own=self.own)

    def _lengths(self, order: int, numbers: int, size: int) -> Array:
        """Lengths of `size` of so many numbers, from the shortest to the longest of which all but δ are: in ℓ1 of
        Laplace noise, in ℓ2 of Gaussian noise."""
        law = stats.gamma(numbers) if order == 1 else stats.chi(numbers)
        ends = law.ppf([self.delta / 2, 1 - self.delta / 2]) * (size / numbers) ** (1 / order)
        return np.linspace(float(ends[0]), float(ends[1]), COPIES)
