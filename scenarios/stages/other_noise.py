"""Noise with which a network is simulated where agents release other numbers than in a run, all of them possible."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, Self, cast

import numpy as np
from scipy import stats

from attacks.audit.pair import FIRST_CHUNK
from netsim.arrays import Array
from netsim.randomness import NoiseThrough
from netsim.simulation import Simulation
from scenarios.stages.worlds import worlds

COPIES = 64
"""Transcripts of other numbers."""
LARGEST = 1e6
"""By how much releases are made larger or smaller, at most, where all that is possible counts."""
_KINDS, _SEED = 4, 6

Place = Callable[[Array, Array], Array]
"""Where a value and its noise, both (replicas, dimension), are put together."""


class OtherNoise(Protocol):
    """What becomes of the noise of all agents."""

    def of(self, agent: int) -> NoiseThrough:
        """What becomes of one agent's."""
        ...


def elsewhere(simulation: Simulation, noise: OtherNoise) -> Simulation:
    """The simulation with that noise."""
    return replace(simulation, noise_through={i: noise.of(i) for i in range(simulation.topology.agents)})


# ── at δ = 0: any number ────────────────────────────────────────────────────────────────────────────
class _Noise:
    """Noise, and where a value to which it is added is put: so that it is the noise that takes it there."""

    __array_ufunc__ = None  # an array asks this what a sum with it is

    def __init__(self, noise: Array, place: Place) -> None:
        self._noise, self._place = noise, place

    def __mul__(self, scale: float | Array) -> "_Noise":
        return _Noise(self._noise * scale, self._place)

    __rmul__ = __mul__

    def __radd__(self, value: Array) -> Array:
        return np.where(self._noise == 0, value, self._place(value, self._noise))


class _Placed(np.random.Generator):
    """Laplace and Gaussian noise that puts a value elsewhere; in some `rows` of the copies as where all are drawn."""

    def __init__(self, _: np.random.Generator, place: Place, rows: slice, seed: tuple[int, ...]) -> None:
        super().__init__(np.random.default_rng(seed).bit_generator)
        self._place, self._rows = place, rows

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return _Noise(cast(Any, super()).laplace(loc, scale, (COPIES, *size[1:]))[self._rows], self._place)

    def standard_normal(self, size: Any = None, *_: Any, **__: Any) -> Any:
        return _Noise(cast(Any, super()).standard_normal((COPIES, *size[1:]))[self._rows], self._place)


@dataclass(frozen=True)
class Times:
    """All that is released is so many times as large, in one transcript."""

    size: float

    def of(self, agent: int) -> NoiseThrough:
        def place(value: Array, noise: Array) -> Array:
            return self.size * (value + noise)

        return partial(_Placed, place=place, rows=slice(1), seed=(_SEED, agent))


@dataclass(frozen=True)
class Anywhere:
    """All that is released is larger or smaller and may have another sign: in a quarter of the copies by one factor,
    in a quarter all of one sign, in a quarter each release by a factor of its own, and in a quarter each number. In
    the first copy all is as it is. `only`: that copy alone."""

    only: int | None = None

    def of(self, agent: int) -> NoiseThrough:
        rng, number = np.random.default_rng((_SEED, agent, 1)), np.arange(COPIES)[:, None]
        rows = slice(None) if self.only is None else slice(self.only, self.only + 1)
        common = np.where(number // _KINDS % 2 == 0, 1.0, -1.0) * np.geomspace(1 / LARGEST, LARGEST, COPIES)[:, None]
        common[0], of_one_sign = 1.0, (number % _KINDS == 2)[rows]

        def drawn(numbers: int) -> Array:
            exponents = rng.uniform(-2.0, 2.0, (COPIES // _KINDS, numbers))
            return np.copysign(np.exp(math.log(LARGEST) * (np.abs(exponents) - 1)), exponents)

        def place(value: Array, noise: Array) -> Array:
            seen, factors = value + noise, np.repeat(common, np.shape(noise)[-1], axis=1)
            factors[1::_KINDS], factors[3::_KINDS] = drawn(1), drawn(np.shape(noise)[-1])
            return factors[rows] * np.where(of_one_sign, np.abs(seen), seen)

        return partial(_Placed, place=place, rows=rows, seed=(_SEED, agent))


# ── at δ > 0: what is not left to δ ─────────────────────────────────────────────────────────────────
class _Resized(np.random.Generator):
    """Laplace and Gaussian noise of other lengths, by the number of the draw and the order of its norm."""

    def __init__(self, source: np.random.Generator, resized: Callable[[int, int, Array], Array]) -> None:
        super().__init__(source.bit_generator)
        self._resized, self._draws = resized, 0

    def laplace(self, *options: Any, **named: Any) -> Any:
        return self._next(1, cast(Any, super()).laplace(*options, **named))

    def standard_normal(self, *options: Any, **named: Any) -> Any:
        return self._next(2, cast(Any, super()).standard_normal(*options, **named))

    def _next(self, order: int, drawn: Array) -> Array:
        self._draws += 1
        return self._resized(self._draws - 1, order, drawn)


@dataclass(frozen=True)
class Typical:
    """Noise is of a length that is not left to `delta`: of all draws together in half of the copies, of one draw in
    the others; and it may have another sign. In the first copy all is as it is. `sizes`: how many numbers each draw
    of an agent has."""

    delta: float
    sizes: Mapping[int, tuple[int, ...]]

    @classmethod
    def counted(cls, simulation: Simulation, agent: int, delta: float) -> Self:
        """For what the agents of this simulation draw."""
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

        def resized(draw: int, order: int, drawn: Array) -> Array:
            size = np.shape(drawn)[-1]
            which = together | (chosen == every.index((agent, draw)))
            lengths = np.where(together, self._lengths(order, numbers, size), self._lengths(order, size, size))
            unit = drawn / np.linalg.norm(drawn, ord=order, axis=-1, keepdims=True)
            return np.where((which & (number > 0))[:, None], (signs * lengths)[:, None] * unit, drawn)

        return partial(_Resized, resized=resized)

    def _lengths(self, order: int, numbers: int, size: int) -> Array:
        """Lengths of `size` of so many numbers, from the shortest to the longest of which all but δ are: in ℓ1 of
        Laplace noise, in ℓ2 of Gaussian noise."""
        law = stats.gamma(numbers) if order == 1 else stats.chi(numbers)
        ends = law.ppf([self.delta / 2, 1 - self.delta / 2]) * (size / numbers) ** (1 / order)
        return np.linspace(float(ends[0]), float(ends[1]), COPIES)
